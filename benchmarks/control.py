"""Seconds per step of a closed loop with few nonzero inputs.

``python -m benchmarks.control`` steers random stable systems under disturbances: 4
inputs, a horizon of 10, at most 8 of the 40 inputs nonzero and each between -1 and 1.
Every step is solved to a gap of 1e-4 on one thread, hot, all stages included.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import argparse

import numpy as np

from cardqp import Status
from cardqp.models import ControlStep, SparseControl

WARM_UP = 3
"""Steps before those that are measured: imports, and what is loaded at first use."""


def random_control(
    n_states: int, radius: float, weight: float, seed: int
) -> SparseControl:
    """A random system with a given spectral radius and weight of the inputs."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n_states, n_states))
    A *= radius / np.abs(np.linalg.eigvals(A)).max()
    return SparseControl(
        A,
        rng.standard_normal((n_states, 4)),
        np.eye(n_states),
        weight * np.eye(4),
        horizon=10,
        max_actuations=8,
        input_lower=-1.0,
        input_upper=1.0,
    )


def closed_loop(
    control: SparseControl, n_steps: int, limit: float, seed: int
) -> list[ControlStep]:
    """The steps of a loop with disturbances."""
    rng = np.random.default_rng(seed)
    x, steps = 3.0 * rng.standard_normal(control.n_states), []
    for _ in range(WARM_UP + n_steps):
        step = control.step(x, time_limit=limit)
        steps.append(step)
        disturbance = 0.5 * rng.standard_normal(control.n_states)
        x = control.A @ x + control.B @ step.first + disturbance
    return steps[WARM_UP:]


def measure(
    n_states: int, radius: float, weight: float, seed: int, options: argparse.Namespace
) -> None:
    """Print one row."""
    control = random_control(n_states, radius, weight, seed)
    steps = closed_loop(control, options.steps, options.time_limit, seed)
    seconds = np.array([step.seconds for step in steps])
    nodes = np.array([step.solution.n_nodes for step in steps])
    proven = sum(step.status is Status.OPTIMAL for step in steps)
    gap = max(step.gap for step in steps)
    print(
        f"{n_states:6d} {radius:6g} {weight:6g} {seed:4d} {np.median(seconds):8.4f} "
        f"{seconds.max():8.4f} {np.median(nodes):8g} {proven:4d}/{len(steps)} "
        f"{gap:9.1e}",
        flush=True,
    )


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--time-limit", type=float, default=1.0)
    options = parser.parse_args()
    print(
        f"{'states':>6} {'radius':>6} {'R':>6} {'seed':>4} {'median':>8} "
        f"{'largest':>8} {'nodes':>8} {'proven':>8} {'gap':>9}"
    )
    for n_states, radius in ((6, 0.8), (6, 0.95), (8, 0.95)):
        for weight in (0.1, 1.0):
            for seed in range(options.seeds):
                measure(n_states, radius, weight, seed, options)


if __name__ == "__main__":
    main()
