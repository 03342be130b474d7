import json

from cardqp.cli import bench
from cardqp.cli.main import main


def test_bench_prints_a_table(capsys):
    assert main(["bench", "--quick"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("cardqp ")
    table = lines[lines.index(bench.HEADER) + 1 :]
    assert [line.split()[:3] for line in table] == [
        ["regression", "100", "5"],
        ["portfolio", "50", "5"],
    ]
    assert all(line.endswith("OPTIMAL, proof verified") for line in table)


def test_bench_prints_json(capsys):
    assert main(["bench", "--quick", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["n"] for row in answer["rows"]] == [100, 50]
    for row in answer["rows"]:
        assert row["verified"]
        assert row["gap"] <= 1e-4
        assert 0 < row["seconds"] <= bench.SECONDS


def test_a_refuted_proof_is_told(capsys, monkeypatch):
    def refuted(name, problem, threads):
        del threads
        return bench.Row(name, problem.n, 1, 0.1, None, "FEASIBLE", verified=False)

    monkeypatch.setattr(bench, "measure", refuted)
    assert main(["bench", "--quick"]) == 1
    assert "-  FEASIBLE, PROOF REFUTED" in capsys.readouterr().out


def test_larger_problems_are_of_several_sizes():
    sizes = [(name, n, s) for name, _, n, s in bench.cases(quick=False)]
    assert len(set(sizes)) == len(sizes) == 6
    assert {name for name, _, _ in sizes} == {"regression", "portfolio"}
