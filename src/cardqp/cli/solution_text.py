"""A solution as text for people."""

from collections.abc import Iterable

from cardqp.backends import BackendInfo, Claim
from cardqp.cli.codes import INFEASIBLE, SOLVED, STOPPED_EARLY, UNKNOWN
from cardqp.cli.messages import one_line
from cardqp.solution import Solution, Status


def solution_table(solution: Solution) -> str:
    """Status, numbers, chosen variables and where the time went."""
    reason = one_line(solution.reason)
    lines = [
        f"status       {solution.status.name}: {solution.status.value}",
        *([f"reason       {reason}"] if reason else []),
        f"stopped      {solution.stop.value}",
        f"objective    {solution.objective:.8g}",
        f"lower bound  {solution.lower_bound:.8g}",
        f"gap          {solution.gap:.2e}",
        f"branches     {solution.n_nodes}",
        *_claim(solution.claim),
        "",
        *_variables(solution),
        "",
        *_stages(solution),
    ]
    if not solution.has_gap:
        lines += ["", f"advice: {solution.advice}"]
    return "\n".join(lines)


def _claim(claim: Claim | None) -> list[str]:
    """Lines on the claim of another solver."""
    if claim is None:
        return []
    return [
        f"claimed      {claim.status.name} by {claim.solver} ({claim.message}): bound "
        f"{claim.bound:.8g}, gap {claim.gap:.2e}, not proved here"
    ]


def backend_table(found: list[BackendInfo]) -> str:
    """Other solvers, a paragraph each."""
    parts = []
    for info in found:
        state = f"{info.package} {info.version}"
        if not info.is_installed:
            state = f"not installed: {info.install}"
        lines = [
            f"{info.name}  ({state})",
            f"  licence       {info.licence}",
            f"  formulations  {', '.join(info.formulations)}",
        ]
        if info.supports:
            lines.append(f"  supports      {', '.join(info.supports)}")
        parts.append("\n".join(lines))
    own = "cardqp's own branch and bound needs none of these."
    return "\n\n".join([*parts, own])


def _variables(solution: Solution) -> list[str]:
    if solution.x is None:
        return ["no feasible point"]
    values = solution.x[solution.support]
    return coefficient_lines("variable", zip(solution.names, values, strict=True))


def coefficient_lines(what: str, entries: Iterable[tuple[str, float]]) -> list[str]:
    """Names of something with their coefficients, side by side."""
    named = [(one_line(name), value) for name, value in entries]
    width = max(len(name) for name in (what, *dict(named)))
    rows = [f"{name:<{width}}  {value:>13.6g}" for name, value in named]
    return [f"{what:<{width}}  {'coefficient':>13}", *rows]


def _stages(solution: Solution) -> list[str]:
    rows = [
        f"{stage.name:<12} {stage.seconds:8.3f} "
        f"{stage.size_before:7d} -> {stage.size_after:<7d} {stage.detail}".rstrip()
        for stage in solution.stages
    ]
    total = f"{'total':<12} {solution.seconds:8.3f}"
    return [f"{'stage':<12} {'seconds':>8} {'variables':>11}", *rows, total]


def exit_code(solution: Solution) -> int:
    """0 when the method ran to its end, else why not."""
    if solution.status is Status.INFEASIBLE:
        return INFEASIBLE
    if solution.status is Status.UNKNOWN:
        return UNKNOWN
    if solution.status is Status.FEASIBLE and solution.stop.is_early:
        return STOPPED_EARLY
    return SOLVED
