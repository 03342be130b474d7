import io
import json
import re
import signal
import sys

import numpy as np
import pytest

from cardqp import Progress, Solution, SparseQP
from cardqp.backends.program import FORMULATIONS
from cardqp.cli.main import main
from cardqp.cli.progress import ProgressLine, describe
from cardqp.methods import METHODS
from tests.problems import random_problem


@pytest.fixture
def archive(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    y = 3.0 * X[:, 1] - 2.0 * X[:, 3] + 0.1 * rng.standard_normal(60)
    path = tmp_path / "data.npz"
    problem = SparseQP.from_regression(X, y, eta=10.0, sparsity=2, names=[*"abcde"])
    problem.save(path)
    return path


def run(*arguments):
    return main([str(a) for a in arguments])


@pytest.mark.parametrize("method", METHODS)
def test_solve_by_any_method(archive, capsys, method):
    code = run("solve", archive, "--method", method)
    captured = capsys.readouterr()
    assert code == 0
    assert captured.err == ""
    assert "OPTIMAL" in captured.out
    first_words = [line.split(" ")[0] for line in captured.out.splitlines()]
    assert [word for word in first_words if len(word) == 1] == ["b", "d"]


def test_all_methods_and_formulations_can_be_named(capsys):
    with pytest.raises(SystemExit):
        run("solve", "--help")
    assert "{" + ",".join(FORMULATIONS) + "}" in capsys.readouterr().out


def test_json_is_json(archive, capsys):
    method = ("--method", "dual-program", "--level", 3)
    code = run("solve", archive, "--sparsity", 2, "--json", *method)
    answer = json.loads(capsys.readouterr().out)
    assert code == 0
    assert answer["names"] == ["b", "d"]
    assert answer["gap"] <= 1e-4


def test_solve_archive(tmp_path, capsys):
    path = tmp_path / "p.npz"
    random_problem("rows", 0).save(path)
    assert run("solve", path, "--method", "exact") == 0
    assert "OPTIMAL" in capsys.readouterr().out
    assert run("solve", path, "--sparsity", 0, "--json") in (0, 4)


def test_infeasible_archive(tmp_path, capsys):
    path = tmp_path / "p.npz"
    random_problem("infeasible", 0).save(path)
    assert run("solve", path) == 4
    out = capsys.readouterr().out
    assert "INFEASIBLE" in out
    assert "advice: relax the rows" in out
    assert re.search(r"\nreason       .* must be ", out)


@pytest.fixture
def hard_archive(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((100, 200)), rng.standard_normal(100)
    path = tmp_path / "p.npz"
    SparseQP.from_regression(X, y, eta=1e3, sparsity=20).save(path)
    return path


def test_stopped_early(hard_archive, capsys):
    arguments = ("solve", hard_archive, "--method", "exact", "--time-limit")
    assert run(*arguments, 0.5) == 3
    assert run(*arguments, 0) == 3
    assert "advice" in capsys.readouterr().out


BAD = [
    (["solve", "missing.npz"], "does not exist"),
    (["solve", "data.csv"], "use `cardqp fit`"),
    (["solve", "{archive}", "--sparsity", 9], "`--sparsity` must lie"),
    (["solve", "{archive}", "--gap", -1], "`--gap`"),
    (["solve", "{archive}", "--method", "dual-program", "--level", 99], "`--level`"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input_is_one_line(archive, capsys, arguments, message):
    code = run(*[str(a).replace("{archive}", str(archive)) for a in arguments])
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert captured.err.startswith("cardqp: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err


def test_help_is_quick_and_lists_exit_codes(capsys):
    with pytest.raises(SystemExit) as end:
        run("--help")
    assert end.value.code == 0
    assert "4 infeasible" in capsys.readouterr().out


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_ctrl_c_prints_the_best_answer(hard_archive, capsys, monkeypatch):
    def press_ctrl_c(_, progress):
        if progress.n_iter >= 3:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(ProgressLine, "__call__", press_ctrl_c)
    monkeypatch.setattr("sys.stderr", Terminal())
    assert run("solve", hard_archive) == 3
    assert "interrupted from the keyboard" in capsys.readouterr().out


def test_a_long_run_is_described_in_full():
    event = Progress("search", 3000, 2.0, 1.5, 1.25, 40, 0.25, 12345.0)
    line = ", ".join(describe(event))
    for part in ("gap 16.67%", "3000 branches (1500/s)", "40 open", "25.00% closed"):
        assert part in line
    assert "about 1e+04 in all" in line


def test_solutions_are_stored_resumed_and_verified(hard_archive, tmp_path, capsys):
    path = tmp_path / "s.npz"
    arguments = ("solve", hard_archive, "--save", path, "--node-limit")
    assert run(*arguments, 20) == 3
    assert run("verify", hard_archive, path) == 0
    assert "beyond the tolerance of 1.00e-04" in capsys.readouterr().out
    assert run("verify", hard_archive, path, "--gap", 1e-4) == 1
    assert "not within 1.00e-04, which was asked for" in capsys.readouterr().out
    assert run("verify", hard_archive, path, "--gap", 1e6) == 0
    assert "within the tolerance of 1.00e+06" in capsys.readouterr().out
    before = Solution.load(path, SparseQP.load(hard_archive))
    assert run(*arguments, 60, "--resume", path, "--threads", 2) == 3
    after = Solution.load(path, SparseQP.load(hard_archive))
    assert after.n_nodes > before.n_nodes
    assert after.lower_bound >= before.lower_bound - 1e-12
    other = tmp_path / "other.npz"
    SparseQP.load(hard_archive).with_limits(sparsity=13).save(other)
    capsys.readouterr()
    assert run("verify", other, path) == 2
    assert "`problem` must be the one that was solved" in capsys.readouterr().err


def test_solutions_are_verified_by_the_checker(archive, tmp_path, capsys, monkeypatch):
    path = tmp_path / "s.npz"
    assert run("solve", archive, "--save", path) == 0
    assert run("verify", archive, path, "--exact", "--threads", 2) == 0
    assert "Every claim follows." in capsys.readouterr().out
    arrays = dict(np.load(path))
    np.savez(path, **arrays | {"lower_bound": arrays["lower_bound"] + 1.0})
    assert run("verify", archive, path, "--exact") == 1
    assert "refused: the bound" in capsys.readouterr().out
    assert run("verify", archive, path, "--exact", "--gap", 1e-4) == 2
    assert "`--gap` is not for `--exact`" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "cardqp_check", None)
    assert run("verify", archive, path, "--exact") == 2
    assert "pip install 'cardqp[check]'" in capsys.readouterr().err


def test_columns_in_a_file_of_their_own(tmp_path, capsys):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "X.npy", rng.standard_normal((20, 9)))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    problem = SparseQP.from_data(X, rng.standard_normal(20), eta=10.0, sparsity=3)
    archive, path = tmp_path / "p.npz", tmp_path / "s.npz"
    problem.save(archive)
    assert run("solve", archive, "--save", path) == 0
    assert run("verify", archive, path) == 0
    moved = (tmp_path / "X.npy").rename(tmp_path / "moved.npy")
    capsys.readouterr()
    assert run("verify", archive, path) == 2
    assert "`--data` must say where the data of" in capsys.readouterr().err
    assert run("verify", archive, path, "--data", moved) == 0
    assert run("solve", archive, "--data", moved, "--sparsity", 2) == 0


def test_a_solution_is_not_written_nowhere(hard_archive, tmp_path, capsys):
    path = tmp_path / "missing" / "s.npz"
    assert run("solve", hard_archive, "--save", path) == 2
    assert "`--save` must be in an existing folder" in capsys.readouterr().err


def test_progress_only_on_terminals():
    event = Progress("branch and bound", 7, 3.0, 1.5, 1.25, n_open=4)
    for stream, quiet in ((io.StringIO(), False), (Terminal(), True)):
        with ProgressLine(stream, quiet=quiet) as line:
            line(event)
        assert stream.getvalue() == ""
    terminal = Terminal()
    with ProgressLine(terminal) as line:
        line(event)
        line(event)
    assert terminal.getvalue().count("bound 1.25") == 1
    assert terminal.getvalue().endswith("\r\033[K")


@pytest.mark.parametrize(
    ("content", "suffix"),
    [(b"", ".npz"), (b"\xff\xfe\x00a", ".csv"), (b"PK\x03\x04junk", ".npz")],
)
def test_broken_files(tmp_path, capsys, content, suffix):
    path = tmp_path / f"broken{suffix}"
    path.write_bytes(content)
    assert run("solve", path, "--sparsity", 1) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_an_array_instead_of_an_archive(tmp_path, capsys):
    path = tmp_path / "array.npz"
    with path.open("wb") as stream:
        np.save(stream, np.eye(3))
    assert run("solve", path) == 2
    assert "must be a .npz archive" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["solve"], ["solve", "x.npz", "--gap", "small"]])
def test_usage_errors_are_one_line(capsys, arguments):
    with pytest.raises(SystemExit) as end:
        run(*arguments)
    assert end.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
