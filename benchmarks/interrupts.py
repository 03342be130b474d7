"""Cross-validations that are interrupted at random times, in processes of their own.

``python -m benchmarks.interrupts`` starts 20 of them, half with folds in two processes,
half with every fold proved, sends each the signal of Ctrl-C once, and prints what it
answered and how many seconds later.  The exit code is 1 if a signal was lost, or if an
answer took more than two seconds or did not say that something is missing.  A signal
that comes before anything is compared ends a process without an answer, which is said.
"""

import argparse
import json
import signal
import subprocess
import sys
import time
from itertools import cycle, islice, product
from typing import Any, NamedTuple

import numpy as np

PATIENCE = 2.0
"""Seconds that an answer may take."""

LONGEST = 4.0
"""The latest signal, in seconds after the start of a fit that takes far longer."""

CHILD = """
import json, sys, time, warnings
import numpy as np
from cardqp import SparseRidgeCV

settings = json.loads(sys.argv[1])
rng = np.random.default_rng(0)
X = rng.standard_normal((150, 300)) + 2.0 * rng.standard_normal((150, 1))
y = X[:, :12].sum(axis=1) + 10.0 * rng.standard_normal(150)
etas = np.geomspace(1e3, 1e5, 40)
model = SparseRidgeCV(range(8, 16), eta=etas, time_limit=None, **settings)
warnings.simplefilter("ignore")
SparseRidgeCV([1, 2, 3], cv=2).fit(X, y)  # compiles
print("ready", flush=True)
answer = {"notes": [], "stop": "none", "gap": None}
try:
    model.fit(X, y)
    answer = {"notes": model.notes_, "stop": model.solution_.stop.name,
              "gap": model.gap_}
except KeyboardInterrupt:
    answer["stop"] = "KeyboardInterrupt"
print(json.dumps({**answer, "ended": time.time()}), flush=True)
"""
"""What a process does; the clock that it tells is that of all processes."""


class Outcome(NamedTuple):
    """What became of one cross-validation.

    Attributes
    ----------
    settings : dict
        Of the estimator.
    after : float
        When the signal came, in seconds after the start.
    seconds : float
        From the signal to the answer.
    stop : str
        Why the answer says that it ended; KeyboardInterrupt if there is none.
    notes : list of str
        What the answer says is missing.
    gap : float or None
        What is proved of it.
    """

    settings: dict[str, Any]
    after: float
    seconds: float
    stop: str
    notes: list[str]
    gap: float | None

    @property
    def is_honoured(self) -> bool:
        """Whether one signal was enough, and what is missing is said in time."""
        is_said = self.stop in ("INTERRUPTED", "KeyboardInterrupt")
        return is_said and self.seconds <= PATIENCE


def interrupted(settings: dict[str, Any], after: float) -> Outcome:
    """Run a cross-validation, and interrupt it once."""
    run = subprocess.Popen(
        [sys.executable, "-c", CHILD, json.dumps(settings)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert run.stdout is not None
        assert run.stdout.readline().strip() == "ready"
        time.sleep(after)
        sent = time.time()
        run.send_signal(signal.SIGINT)
        out, _ = run.communicate(timeout=60.0)
    finally:
        run.kill()
    found = json.loads(out.splitlines()[-1])
    seconds = found.pop("ended") - sent
    return Outcome(settings, after, seconds, **found)


def main() -> int:
    """Interrupt as many as are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    kinds = cycle(product(("final", "all"), (None, 2)))
    outcomes = []
    for prove, n_jobs in islice(kinds, options.count):
        found = interrupted({"prove": prove, "n_jobs": n_jobs}, rng.uniform(0, LONGEST))
        outcomes.append(found)
        is_empty = found.stop == "KeyboardInterrupt"
        whole = "nothing was compared yet" if is_empty else "all pairs were compared"
        said = "; ".join(found.notes) or whole
        print(
            f"prove={prove:5} n_jobs={n_jobs!s:4} signal after {found.after:4.1f} s, "
            f"answer {found.seconds:5.2f} s later: {found.stop}, {said}",
            flush=True,
        )
    n_honoured = sum(outcome.is_honoured for outcome in outcomes)
    print(f"{n_honoured} of {len(outcomes)} first signals honoured")
    return 0 if n_honoured == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
