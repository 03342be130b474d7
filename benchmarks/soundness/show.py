"""One problem: its data, what is true, and what each method says."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import cardqp
from benchmarks.soundness.evidence import ALONE
from benchmarks.soundness.trial import Trial, describe
from cardqp.problem.streamed_form import StreamedForm


def show(trial: Trial, folder: Path) -> Iterator[str]:
    """Lines to print; the problem is written to a file."""
    case, truth = trial.case, trial.truth
    yield f"{case.number}: {case.kind}, units {case.units}, {case.problem!r}"
    yield f"settings: {case.tuning}; limits: {case.limits or 'none'}"
    yield from _data(case.problem)
    yield f"{describe(truth)}: {_exact(truth.value)}"
    if truth.x is not None:
        yield f"x = {[float(v) for v in truth.x]}"
    for one in trial.said:
        yield f"{one.method:20} {one.error or one.status} {one.objective!r}"
        yield f"{'':20} bound {one.lower_bound!r}, replayed {one.proved!r}"
        yield f"{'':20} x = {None if one.x is None else one.x.tolist()}"
        yield from (f"{'':20} verify: {text}" for text in one.complaints)
        yield from (f"{'':20} {name} proves {v!r}" for name, v in one.checked.items())
        yield from (f"{'':20} {ALONE}: {text}" for text in one.disputes)
        if one.features:
            yield f"{'':20} {', '.join(one.features)}"
    for finding in trial.findings:
        yield f"{finding.what:14} {finding.method}: {finding.detail}"
    yield f"written to {_save(case.problem, folder / f'{case.number}.npz')}"


def _data(problem: cardqp.SparseQP) -> Iterator[str]:
    form = problem.quadratic
    yield f"{type(form).__name__} = {form.array.tolist()}"
    for name in ("c", "eta", "lower", "upper", "A", "b", "A_eq", "b_eq"):
        yield f"{name} = {getattr(problem, name).tolist()}"
    for name in ("sparsity", "penalty", "forced_in", "forced_out", "groups"):
        yield f"{name} = {getattr(problem, name)}"
    for name in ("group_sparsity", "blocks", "constant"):
        yield f"{name} = {getattr(problem, name)}"


def _exact(value: object) -> str:
    return "no point" if value is None else f"the optimum is {float(value)!r}"


def _save(problem: cardqp.SparseQP, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(problem.quadratic, StreamedForm):
        form = problem.quadratic
        problem = problem.with_quadratic(form.restrict(np.arange(form.n)))
    problem.save(path)
    return path
