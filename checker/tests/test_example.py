"""The example of docs/certificate.md: its files, and the numbers on the page."""

from fractions import Fraction
from pathlib import Path

import numpy as np

from cardqp_check import check
from example import problem_arrays, run_arrays, write

PAGE = Path(__file__).parents[2] / "docs" / "certificate.md"


def test_claims_of_the_example_follow(tmp_path):
    verdict = check(*write(tmp_path, problem_arrays(), run_arrays()))
    assert verdict.ok, str(verdict)
    assert -4 - 1e-12 < verdict.lower_bound <= -4
    assert verdict.counts == {"inherited": 1, "point": 2}
    assert "Every claim follows." in str(verdict)


def row(name, a, free, inside):
    """A row of the table, in fractions, by the formulas of section 3."""
    problem = problem_arrays()
    Q = [[Fraction(entry) for entry in line] for line in problem["Q"]]
    slope = [2 * sum(q * x for q, x in zip(line, a, strict=True)) for line in Q]
    base = -sum(g * x for g, x in zip(slope, a, strict=True)) / 2
    gamma = [Fraction(c) + g for c, g in zip(problem["c"], slope, strict=True)]
    costs = [-(g**2) / 4 for g in gamma]
    places = 1 - len(inside)
    chosen = sorted(min(costs[j], 0) for j in free)[:places]
    bound = base + sum(costs[j] for j in inside) + sum(chosen)
    cells = [name, *(listed(part) for part in (a, [base], gamma, costs))]
    cells += [f"{listed(free)}; {listed(inside)}".strip(), listed([bound])]
    return "| " + " | ".join(cells) + " |", base, costs, bound


def listed(numbers):
    return ", ".join(str(number) for number in numbers)


def test_numbers_on_the_page():
    run, half, page = run_arrays(), Fraction(1, 2), PAGE.read_text()
    assert run["root.0.value"].tolist() == [half] * 3
    root, base, costs, floor = row("root", [half] * 3, [0, 1, 2], [])
    first, _, _, left = row("node 1", [1, 0, 0], [1], [0])
    second, _, _, right = row("node 2", [0, 1, 0], [1], [])
    for line in (root, first, second):
        assert line in page
    on = base + costs[2]
    assert f"\\phi = {floor}$ and $\\lambda = {on}$" in page
    least = min(on, max(floor, left), max(floor, right))
    assert f"\\lambda = \\min({on}, {left}, {right}) = {least} = J(1, 0, 0)" in page
    for key in ("kind", "branch", "child", "record", "scale", "point_end", "index"):
        numbers = listed(run[f"tree.{key}"].astype(int).tolist())
        assert numbers in page[page.index("In the tree, `kind`") :].replace("\n", " ")


def test_nothing_of_cardqp_is_imported():
    folder = Path(__file__).parents[1] / "src"
    for path in folder.rglob("*.py"):
        for line in path.read_text().splitlines():
            assert not line.strip().startswith(("import cardqp.", "from cardqp."))
            assert line.strip().split()[:2] not in (
                ["import", "cardqp"],
                ["from", "cardqp"],
            )


def test_the_optimum_is_what_the_page_says():
    arrays = problem_arrays()
    G = arrays["Q"].diagonal() + 1
    assert (-(arrays["c"] ** 2) / (4 * G)).min() == -4
    assert np.flatnonzero(run_arrays()["x"]).tolist() == [0]


def test_a_ridge_that_is_added_is_paid_for(tmp_path):
    """Without a ridge and within [-1, 1] the least is -8 + 3 = -5, at 1."""
    one = np.ones(3)
    bounds = {"eta": np.inf * one, "lower": -one, "upper": one}
    run = run_arrays() | {"start.added": one}
    verdict = check(*write(tmp_path, problem_arrays() | bounds, run))
    assert -5 - 1e-12 < verdict.lower_bound <= -5
    unbounded = bounds | {"upper": np.inf * one}
    verdict = check(*write(tmp_path, problem_arrays() | unbounded, run))
    assert verdict.complaints == ("start.added needs finite bounds",)
