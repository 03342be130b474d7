"""The functions of the commands ``solve``, ``verify`` and ``backends``."""

import argparse
import sys
from dataclasses import asdict, replace
from pathlib import Path

from cardqp.backends import Backend, find, installed
from cardqp.cli.codes import REFUTED, SOLVED
from cardqp.cli.outputs import check_folder, print_json
from cardqp.cli.progress import ProgressLine
from cardqp.cli.solution_text import backend_table, exit_code, solution_table
from cardqp.exceptions import ParameterError, ProblemError, optional
from cardqp.pipeline.solve import solve
from cardqp.problem import SparseQP
from cardqp.solution import Solution


def solve_file(options: argparse.Namespace) -> int:
    """``cardqp solve FILE``."""
    if options.save is not None:
        check_folder("--save", options.save)
    problem = _load(options)
    resume = options.resume and Solution.load(options.resume, problem)
    solution = _solve(problem, options, resume, _backend(options))
    if options.save is not None:
        solution.save(options.save)
    _show(solution, options)
    return exit_code(solution)


def verify_file(options: argparse.Namespace) -> int:
    """``cardqp verify PROBLEM SOLUTION``."""
    if options.exact:
        return _check_file(options)
    problem = SparseQP.load(options.file, data=options.data)
    solution = Solution.load(options.solution, problem)
    found = solution.verify(threads=options.threads, gap=options.gap)
    print(f"claimed: {solution!r}")
    print(
        f"found: objective {found.objective:.10g}, "
        f"lower bound {found.lower_bound:.10g}, gap {found.gap:.2e}"
    )
    for complaint in found.complaints:
        print(f"refused: {complaint}")
    print(found.verdict)
    return SOLVED if found.ok else REFUTED


def _check_file(options: argparse.Namespace) -> int:
    """``cardqp verify --exact``: by the checker, which uses nothing of cardqp."""
    if options.gap is not None:
        raise ParameterError("--gap", "is not for `--exact`", remedy="leave it out")
    checker = optional("cardqp_check", "`--exact` needs the checker", "check")
    verdict = checker.check(
        options.file, options.solution, data=options.data, jobs=options.threads
    )
    print(verdict)
    return SOLVED if verdict.ok else REFUTED


def list_backends(options: argparse.Namespace) -> int:
    """``cardqp backends``."""
    found = installed()
    if options.json:
        print_json([asdict(info) for info in found])
    else:
        print(backend_table(found))
    return SOLVED


def _load(options: argparse.Namespace) -> SparseQP:
    if Path(options.file).suffix.lower() != ".npz":
        raise ProblemError(
            "file",
            "must be a problem that ends in .npz",
            given=f"it is {options.file}",
            remedy="for tables, use `cardqp fit`",
        )
    limits = {"sparsity": options.sparsity, "penalty": options.penalty}
    given = {name: value for name, value in limits.items() if value is not None}
    problem = SparseQP.load(options.file, data=options.data)
    return problem.with_limits(**given) if given else problem


def _backend(options: argparse.Namespace) -> Backend | None:
    """The other solver that was asked for, with its settings."""
    chosen = {} if options.formulation is None else {"formulation": options.formulation}
    if options.backend is not None:
        return replace(find(options.backend), **chosen)
    if chosen:
        raise ParameterError(
            "--formulation", "is for another solver", remedy="`--backend`"
        )
    return None


def _solve(
    problem: SparseQP,
    options: argparse.Namespace,
    resume: Solution | None = None,
    backend: Backend | None = None,
) -> Solution:
    with ProgressLine(sys.stderr, quiet=options.json) as progress:
        return solve(
            problem,
            method=options.method,
            level=options.level,
            gap=options.gap,
            time_limit=options.time_limit,
            node_limit=options.node_limit,
            threads=options.threads,
            callback=progress if progress.active else None,
            resume=resume,
            backend=backend,
        )


def _show(solution: Solution, options: argparse.Namespace) -> None:
    if options.json:
        print_json(solution.to_dict())
    else:
        print(solution_table(solution))
