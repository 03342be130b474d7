"""The line that tells of compilation: only if there is some, and it takes a while."""

import io
import os
import subprocess
import sys

import pytest

from cardqp.cli import compile_notice

LINE = "cardqp: compiling once, for ten to thirty seconds\n"

PROBE = """
from cardqp._compiled import compiled

@compiled
def double(x):
    return 2 * x
"""

RUN = """
from cardqp.cli import compile_notice
compile_notice.AFTER = 0.0
import probe
with compile_notice.compile_notice():
    print(probe.double(21), probe.double(4))
"""


def test_nothing_is_said_of_what_is_kept_on_disk(tmp_path):
    (tmp_path / "probe.py").write_text(PROBE)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    kept = {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    for said in (LINE, ""):
        run = subprocess.run(
            [sys.executable, "-c", RUN],
            env=os.environ | kept,
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout == "42 8\n"
        assert run.stderr == said


@pytest.fixture
def noted(monkeypatch):
    """A function that plays events, each after some seconds, and what is then said."""
    monkeypatch.setattr(compile_notice, "AFTER", 0.5)

    def play(*events, stream=None):
        stream, now = stream or io.StringIO(), 0.0
        listener = compile_notice._listener(stream, lambda: now)
        for seconds, name in events:
            now += seconds
            getattr(listener, f"on_{name}")(None)
        return stream.getvalue()

    return play


def test_short_compilations_are_not_worth_a_line(noted):
    assert noted((0, "start"), (0.4, "end")) == ""
    # What passes in between is no compilation.
    assert noted((0, "start"), (0.1, "end"), (60, "start"), (0.1, "end")) == ""


def test_one_line_tells_of_long_ones(noted):
    long = [(0, "start"), (0.4, "start"), (0.3, "end"), (0.1, "start"), (0, "end")]
    assert noted(*long, (0, "end")) == LINE
    assert noted(*long, (9, "start"), (9, "end"), (0, "end")) == LINE
    short = [(1, "start"), (0.2, "end")]
    assert noted(*short, *short, *short, *short) == LINE


def test_what_progress_wrote_is_cleared(noted):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    assert noted((0, "start"), (1, "start"), stream=terminal) == f"\r\033[K{LINE}"


def test_what_is_not_kept_is_compiled_more_than_once(noted, monkeypatch):
    monkeypatch.setattr("cardqp._compiled.is_kept", lambda: False)
    assert "once" not in noted((0, "start"), (1, "start"))
