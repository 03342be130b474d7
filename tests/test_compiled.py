import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import cardqp
from cardqp._compiled import inner, inner_fast

LOAD = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from cardqp.relaxation import kernels
    import probe
    print(probe.double(21))
print(*(warning.message for warning in caught), sep="\\n")
"""

PROBE = """
from cardqp._compiled import compiled

@compiled
def double(x):
    return 2 * x
"""


@pytest.fixture
def nowhere(tmp_path):
    """An environment with a copy of the package where nothing can be kept.

    Permissions do not stop root, so files are where folders would have to be.
    """
    package = tmp_path / "cardqp"
    no_caches = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(cardqp.__file__).parent, package, ignore=no_caches)
    (tmp_path / "probe.py").write_text(PROBE)
    for folder in (tmp_path, package, *package.rglob("*")):
        if folder.is_dir():
            (folder / "__pycache__").touch()
    blocked = {"HOME": os.devnull, "LOCALAPPDATA": os.devnull}
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG"))}
    return kept | blocked | {"PYTHONPATH": str(tmp_path)}


def load(environment):
    return subprocess.run(
        [sys.executable, "-c", LOAD],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_cannot_be_kept_is_compiled_nevertheless(nowhere):
    run = load(nowhere)
    assert run.returncode == 0, run.stderr
    answer, *warned = run.stdout.splitlines()
    assert answer == "42"
    assert len(warned) == 1
    assert "set NUMBA_CACHE_DIR to a folder that can" in warned[0]


def test_the_remedy_helps(nowhere, tmp_path):
    run = load(nowhere | {"NUMBA_CACHE_DIR": str(tmp_path / "kept")})
    assert run.stdout.split() == ["42"]
    assert list((tmp_path / "kept").rglob("probe.double*.nbi"))


def made(decorate):
    """A function that is compiled as a part, and one that calls it, not from disk."""

    @decorate
    def half(x):
        if x < 0:
            raise ValueError("a negative number")
        return x / 2

    @numba.njit(nogil=True)
    def total(values):
        result = 0.0
        for value in values:
            result += half(value)
        return result

    return half, total


def machine_code(function):
    """The machine code that is kept for a function's only signature, or None."""
    (result,) = function.overloads.values()
    return getattr(result.library, "_compiled_object", None)


@pytest.mark.parametrize("decorate", [inner, inner_fast])
def test_parts_have_no_machine_code_of_their_own(decorate):
    half, total = made(decorate)
    assert total(np.array([1.0, 3.0])) == 2.0
    assert machine_code(half) is None
    assert machine_code(total)
    with pytest.raises(ValueError, match="a negative number"):
        total(np.array([1.0, -1.0]))


def test_numba_of_another_version_compiles_parts_as_usual(monkeypatch):
    for version in ((0, 59), (0, 69), (1, 0)):
        known = numba.version_info._replace(short=version)
        monkeypatch.setattr(numba, "version_info", known)
        half, total = made(inner)
        assert total(np.array([1.0, 3.0])) == 2.0
        assert machine_code(half)
