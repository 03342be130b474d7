"""A solution as text for people."""

from cardqp.solution import Solution, Status


def solution_table(solution: Solution) -> str:
    """Status, numbers, chosen variables and where the time went."""
    lines = [
        f"status       {solution.status.name}: {solution.status.value}",
        f"stopped      {solution.stop.value}",
        f"objective    {solution.objective:.8g}",
        f"lower bound  {solution.lower_bound:.8g}",
        f"gap          {solution.gap:.2e}",
        f"branches     {solution.n_nodes}",
        "",
        *_variables(solution),
        "",
        *_stages(solution),
    ]
    if solution.status is not Status.OPTIMAL:
        lines += ["", f"advice: {solution.advice}"]
    return "\n".join(lines)


def _variables(solution: Solution) -> list[str]:
    if solution.x is None:
        return ["no feasible point"]
    names = solution.names
    width = max([len("variable"), *(len(name) for name in names)])
    values = [solution.x[j] for j in solution.support]
    rows = [
        f"{name:<{width}}  {value:>13.6g}"
        for name, value in zip(names, values, strict=True)
    ]
    return [f"{'variable':<{width}}  {'coefficient':>13}", *rows]


def _stages(solution: Solution) -> list[str]:
    rows = [
        f"{stage.name:<12} {stage.seconds:8.3f} "
        f"{stage.size_before:7d} -> {stage.size_after:<7d} {stage.detail}".rstrip()
        for stage in solution.stages
    ]
    total = f"{'total':<12} {solution.seconds:8.3f}"
    return [f"{'stage':<12} {'seconds':>8} {'variables':>11}", *rows, total]
