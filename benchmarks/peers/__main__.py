"""Time to a proven optimum: other solvers against ours.

``python -m benchmarks.peers`` solves each instance of the exact benchmark with
``cardqp`` and with each peer on one thread, and prints for each solver its seconds, its
status and its gap.  The ratio is the time of the fastest peer that proves its optimum,
divided by ours; the last column counts peers, too, that are told what we found.

The rules favour the peers.  Each runs in a virtual environment of its own, after a
small warm-up solve, and only its solve is timed: no imports, no compilation, no reading
or building of models.  Data with many samples are compressed to n + 1 rows.  l0bnb and
el0ps know only a price per nonzero: they have to find one that leads to the wanted
number, by their own path, coarsely solved, and bisection.  As ``l0bnb_told`` and
``el0ps_told`` they are told a price at which our certified optimum is also theirs, and
l0bnb bounds the coefficients with our optimum, as SCIP does always.  A peer proves a
row if it claims a gap of 1e-4, relative to the penalised mean squared error, within the
time limit, and if its objective, which we compute again, agrees with ours.  abess has
no bound: it is there for its objective and its time.

Our own clock runs from ``(Q, c)``, all stages included.  Real data sets are included
when the environment variable ``CARDQP_DATA`` names their folder.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse
import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

import cardqp
from benchmarks.instances import SYNTHETIC, UCI, Maker, synthetic
from benchmarks.peers import runner
from benchmarks.peers.environments import (
    PEERS,
    NotInstallableError,
    Peer,
    interpreter,
)
from benchmarks.peers.records import OURS, Record, Records, geometric_mean, ratio
from benchmarks.peers.referee import TOLERANCE, judge
from benchmarks.peers.tasks import Reference, Task, price_of_a_nonzero
from cardqp.branch_and_bound.precompile import load_kernels, load_tree_kernels


@dataclass(frozen=True)
class Row:
    """One instance with one seed; everything is computed when first needed."""

    instance: str
    seed: int
    make: Maker
    time_limit: float
    records: Records

    @cached_property
    def problem(self) -> cardqp.SparseQP:
        """The problem."""
        return self.make(self.seed)

    @cached_property
    def task(self) -> Task:
        """The problem as peers see it."""
        return Task.of(self.problem)

    @cached_property
    def penalty(self) -> float | None:
        """The price of a nonzero for peers that need one."""
        return price_of_a_nonzero(self.problem, self.ours.objective)

    @cached_property
    def ours(self) -> Record:
        """Our own result."""
        return self.recall(OURS, self._solve)

    def recall(self, solver: str, work: Callable[[], Record]) -> Record:
        """A solver's record from the file, or from work that is then recorded."""
        known = self.records.find(self.instance, self.seed, solver, self.time_limit)
        return known or self.records.add(work())

    def record(self, solver: str, status: str, **numbers: float) -> Record:
        """A record of this row."""
        return Record(
            self.instance, self.seed, solver, self.time_limit, status, **numbers
        )

    def _solve(self) -> Record:
        problem = self.problem
        start = time.perf_counter()
        solution = cardqp.solve(problem, gap=TOLERANCE, time_limit=self.time_limit)
        seconds = time.perf_counter() - start
        is_proved = solution.status is cardqp.Status.OPTIMAL
        return self.record(
            OURS,
            "proved" if is_proved else "open",
            seconds=seconds,
            objective=solution.objective,
            gap=solution.gap,
            certified_gap=solution.gap,
            bound=solution.lower_bound,
            largest=0.0 if solution.x is None else float(abs(solution.x).max()),
        )

    def peer(self, peer: Peer, environments: Path) -> Record:
        """A peer's result; a peer that cannot be installed is not written down."""
        try:
            return self.recall(peer.name, lambda: self._run(peer, environments))
        except NotInstallableError as error:
            return self.record(peer.name, f"not installable: {error}")

    def _run(self, peer: Peer, environments: Path) -> Record:
        python = interpreter(peer, environments)
        penalty = self.penalty if peer.is_told else None
        if peer.is_told and penalty is None:
            return self.record(peer.name, "no price")
        ours = self.ours
        reference = Reference(ours.objective, ours.bound, ours.largest)
        with tempfile.TemporaryDirectory() as name:
            folder, limit = Path(name), self.time_limit
            path = folder / "task.npz"
            self.task.save(path, reference, penalty, TOLERANCE, limit)
            try:
                claim = runner.run(python, peer.adapter, folder, self.task.units, limit)
            except runner.OverTimeError:
                return self.record(peer.name, "open", seconds=limit)
            except runner.AdapterError as error:
                return self.record(peer.name, f"failed: {error}")
        return self.record(
            peer.name, **asdict(judge(self.problem, reference, claim, limit))
        )


def cell(record: Record) -> str:
    """Seconds, status and gap; with a tilde the gap is to our bound, not the peer's."""
    if math.isnan(record.seconds):
        return f"{record.status.split(':')[0]:>25}"
    has_bound = not math.isnan(record.gap)
    gap, mark = (record.gap, " ") if has_bound else (record.certified_gap, "~")
    shown = f"{'-':>8}" if math.isnan(gap) else f"{mark}{gap:7.1e}"
    return f"{record.seconds:8.3f} {record.status:8}{shown}"


def parse_arguments() -> argparse.Namespace:
    """The options of the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--only", nargs="*", help="names of instances")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument(
        "--out", type=Path, help="JSON lines; what is already there is not run again"
    )
    parser.add_argument(
        "--environments", type=Path, default=Path(".peers"), help="folder of the peers"
    )
    return parser.parse_args()


def main() -> None:
    """Run the table and print it as it grows."""
    options = parse_arguments()
    records = Records(options.out)
    peers = [PEERS[name] for name in options.peers]
    instances = SYNTHETIC | (UCI if "CARDQP_DATA" in os.environ else {})
    load_kernels()
    load_tree_kernels()
    cardqp.solve(synthetic(n=60, N=60, sparsity=3)(0))  # imports
    header = " | ".join(f"{solver:^25}" for solver in (OURS, *options.peers))
    print(f"{'instance':30} {'seed':>4} | {header} | {'ratio':>8} | {'told':>8}")
    ratios, told, notes = [], [], set()
    for instance, make in instances.items():
        if options.only and instance not in options.only:
            continue
        for seed in range(options.seeds):
            row = Row(instance, seed, make, options.time_limit, records)
            found = {peer.name: row.peer(peer, options.environments) for peer in peers}
            alone = {p.name: found[p.name] for p in peers if not p.is_told}
            ratios.append(ratio(row.ours, alone))
            told.append(ratio(row.ours, found))
            notes |= {f"{r.solver}: {r.status}" for r in found.values()}
            cells = " | ".join(cell(record) for record in (row.ours, *found.values()))
            shown = f"{ratios[-1]:8.2f} | {told[-1]:8.2f}"
            print(f"{instance:30} {seed:4d} | {cells} | {shown}", flush=True)
    for note in sorted(note for note in notes if note.count(":") > 1):
        print(note)
    for values, whose in ((ratios, "a peer proves"), (told, "one proves that is told")):
        proved = sum(not math.isnan(value) for value in values)
        print(
            f"geometric mean of the ratio over the {proved} of {len(values)} rows that "
            f"{whose}: {geometric_mean(values):.2f}"
        )


if __name__ == "__main__":
    main()
