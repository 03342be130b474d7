"""The whole command, in its quick version."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cardqp.cli.main import main
from experiments.reproduce.cli import TaskLine, duration
from experiments.reproduce.command import reproduce
from experiments.reproduce.runner import State, run_studies, tasks_of

SYNTHETIC = ("tab1", "tab2", "tab6", "tab7", "figA")
PROCESSES = Path("/proc")
REAL = ("fig1", "fig2", "tab3", "tab4", "tab5", "tab8", "fig4")

needs_data = pytest.mark.skipif(
    "CARDQP_DATA" not in os.environ,
    reason="CARDQP_DATA does not name a folder with the UCI files",
)


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("synthetic")
    states = []
    sections = reproduce(
        SYNTHETIC, out=folder, quick=True, jobs=2, watcher=states.append
    )
    return folder, sections, states


def test_every_file_is_there(synthetic):
    folder, sections, _ = synthetic
    assert not any(section.missing for section in sections)
    for name in SYNTHETIC:
        for ending in ("md", "tex", "csv"):
            assert (folder / "tables" / f"{name}.{ending}").stat().st_size > 100
    for ending in ("png", "svg", "pdf"):
        assert (folder / "figures" / f"figA.{ending}").stat().st_size > 1000
    assert not list(folder.rglob("*.part"))


def test_watcher_sees_every_task(synthetic):
    _, sections, states = synthetic
    studies = {
        section.exhibit.study.name: section.exhibit.study for section in sections
    }
    total = sum(len(tasks_of(study, None)) for study in studies.values())
    assert [state.n_done for state in states] == list(range(1, total + 1))
    assert states[-1].n_tasks == total
    assert states[-1].seconds_left == 0.0


def test_rows_say_what_they_are(synthetic):
    folder, sections, _ = synthetic
    row = sections[1].rows[0]
    assert {"study", "correlation", "replication", "method", "mse", "gap"} <= set(row)
    with (folder / "rows.csv").open(newline="") as stream:
        raw = list(csv.DictReader(stream))
    assert len(raw) == sum(len(section.rows) for section in sections)


def test_no_method_beats_the_certified_optimum(synthetic):
    _, sections, _ = synthetic
    for section in sections:
        study = section.exhibit.study
        best = {
            (row[study.vary], row["replication"]): row
            for row in section.rows
            if row["method"] == "exact"
        }
        for row in section.rows:
            if "objective" in row:
                certified = best[row[study.vary], row["replication"]]
                assert row["objective"] >= certified["lower_bound"] - 1e-9


def test_page_needs_nothing_else(synthetic):
    page = (synthetic[0] / "report.html").read_text()
    assert "://" not in page
    assert page.count("<table>") >= 5
    assert "data:image/png;base64," in page
    assert "cardqp reproduce" in page


def test_what_is_done_is_not_done_again(synthetic, tmp_path):
    original, sections, _ = synthetic
    folder = tmp_path / "copy"
    shutil.copytree(original, folder)
    states = []
    again = reproduce(SYNTHETIC, out=folder, quick=True, watcher=states.append)
    assert states == []
    assert [s.rows for s in again] == [s.rows for s in sections]
    more = reproduce(["tab1"], out=folder, quick=True, replications=3)
    assert {row["replication"] for row in more[0].rows} == {0, 1, 2}
    fewer = reproduce(["tab1"], out=folder, quick=True, replications=1)
    assert {row["replication"] for row in fewer[0].rows} == {0}


def test_missing_data_are_said_and_the_rest_is_run(tmp_path, capsys):
    empty = tmp_path / "data"
    empty.mkdir()
    out = tmp_path / "out"
    options = ["--quick", "--out", str(out), "--data", str(empty)]
    assert main(["reproduce", "tab1", "tab3", *options]) == 2
    captured = capsys.readouterr()
    assert "tab3 was not run" in captured.err
    assert "Not run" in (out / "report.html").read_text()
    assert (out / "tables" / "tab1.md").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tab99"], "`ids` must be all or some of"),
        (["tab1", "--jobs", "0"], "`--jobs` must be an integer, at least 1"),
        (["tab1", "--replications", "0"], "`--replications` must be an integer"),
    ],
)
def test_bad_arguments_are_one_line(tmp_path, capsys, arguments, message):
    assert main(["reproduce", *arguments, "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def _tables(folder):
    """All tables that do not depend on the machine's speed."""
    files = (folder / "tables").glob("*.*")
    kept = (f for f in files if "times" not in f.stem and f.stem != "figA")
    return {file.name: file.read_bytes() for file in kept}


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9 needs POSIX")
def test_killed_runs_go_on_where_they_were(synthetic, tmp_path):
    command = [sys.executable, "-m", "cardqp.cli.main", "reproduce", *SYNTHETIC]
    command += ["--quick", "--jobs", "2", "--out", str(tmp_path)]
    kept = 0
    for _ in range(3):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while process.poll() is None and _stored_bytes(tmp_path) <= kept:
            time.sleep(0.02)
        was_running = process.poll() is None
        process.kill()
        process.wait()
        assert was_running
        kept = _stored_bytes(tmp_path)
    subprocess.run(command, check=True, capture_output=True)
    assert _tables(tmp_path) == _tables(synthetic[0])


def _stored_bytes(folder):
    return sum(file.stat().st_size for file in folder.rglob("*.jsonl"))


@pytest.mark.slow
def test_workers_end_with_their_parent(tmp_path):
    if not PROCESSES.is_dir():
        pytest.skip("looks for processes in /proc")
    command = [sys.executable, "-m", "cardqp.cli.main", "reproduce", "tab1"]
    process = subprocess.Popen([*command, "--out", str(tmp_path), "--jobs", "1"])
    deadline = time.monotonic() + 60
    while not (workers := _children(process.pid)) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.kill()
    process.wait()
    while any(_is_alive(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert workers
    assert not any(_is_alive(pid) for pid in workers)


def _children(parent):
    found = []
    for entry in PROCESSES.glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(entry.name))
    return found


def _is_alive(pid):
    try:
        status = (PROCESSES / str(pid) / "stat").read_text()
        return status.rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_progress_is_told_on_terminals():
    class Terminal(list):
        def isatty(self):
            return True

        def write(self, text):
            self.append(text)

        def flush(self):
            pass

    stream = Terminal()
    with TaskLine(stream) as line:
        line(State("tab1", 3, 10, 100.0))
    assert "tab1: 3 of 10 tasks done, about 2 min left" in stream[0]
    assert stream[-1] == "\r\033[K"
    assert (duration(20.0), duration(2 * 3600.0)) == ("20 s", "2.0 h")


@needs_data
def test_real_data(tmp_path):
    sections = reproduce(REAL, out=tmp_path, quick=True, jobs=2)
    assert not any(section.missing for section in sections)
    for name in ("fig1", "fig2", "fig4"):
        assert (tmp_path / "figures" / f"{name}.png").stat().st_size > 1000
    shapes = (tmp_path / "tables" / "tab3.md").read_text()
    assert "81 (paper: 81, agrees)" in shapes
    ratios = (tmp_path / "tables" / "fig1.md").read_text()
    value = float(re.search(r"lambda_10 \| ([0-9.]+)", ratios)[1])
    assert 300 < value < 400
    for line in (tmp_path / "rows").glob("tab4-*.jsonl"):
        entry = json.loads(line.read_text().splitlines()[0])
        assert entry["rows"][0]["source"]


def test_nothing_to_do_is_done_at_once(tmp_path):
    assert run_studies([], tmp_path, jobs=1) == {}
