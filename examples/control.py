"""Hold a row of carts still by few thrusts: ``python -m examples.control loop.png``.

Carts between two walls are held by springs and pushed about at random.  Each has a
thruster; over the next ten stages only so many thrusts may be planned.  The picture has
the positions, and which thruster fires when.
"""

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

from cardqp.models import ControlStep, SparseControl
from cardqp.plot import BLUE, ORANGE, new_axes

INTERVAL = 0.4
"""Seconds from one stage to the next."""


def carts(count: int, max_actuations: int) -> SparseControl:
    """The controller of a row of carts with unit masses and springs."""
    stiffness = 2.0 * np.eye(count) - np.eye(count, k=1) - np.eye(count, k=-1)
    motion = np.zeros((3 * count, 3 * count))
    motion[:count, count : 2 * count] = np.eye(count)
    motion[count : 2 * count, :count] = -stiffness
    motion[count : 2 * count, 2 * count :] = np.eye(count)
    after = scipy.linalg.expm(INTERVAL * motion)[: 2 * count]
    return SparseControl(
        after[:, : 2 * count],
        after[:, 2 * count :],
        np.eye(2 * count),
        0.1 * np.eye(count),
        horizon=10,
        max_actuations=max_actuations,
        input_lower=-1.0,
        input_upper=1.0,
        names=[f"thruster {i}" for i in range(count)],
    )


def run(
    control: SparseControl, n_steps: int, seed: int
) -> tuple[np.ndarray, list[ControlStep]]:
    """A closed loop with disturbances: the states, and the steps."""
    rng = np.random.default_rng(seed)
    states, steps = [rng.standard_normal(control.n_states)], []
    for _ in range(n_steps):
        step = control.step(states[-1])
        if step.inputs is None:
            raise RuntimeError(f"no inputs were found: {step.status.value}")
        disturbance = 0.05 * rng.standard_normal(control.n_states)
        states.append(control.simulate(states[-1], step.inputs[:1])[1] + disturbance)
        steps.append(step)
    return np.array(states), steps


def draw(control: SparseControl, states: np.ndarray, steps: list[ControlStep]) -> Any:
    """Positions above, thrusts below; returns the figure."""
    above, below = new_axes(2)
    seconds, count = INTERVAL * np.arange(len(states)), control.n_inputs
    above.plot(seconds, states[:, :count], color="black", linewidth=0.8)
    above.set_ylabel("positions")
    above.set_title(f"{count} carts, few thrusts")
    thrusts = np.array([step.inputs[0] for step in steps])
    for sign, color, label in ((1, ORANGE, "to the right"), (-1, BLUE, "to the left")):
        when, which = np.nonzero(sign * thrusts > 0)
        size = 60.0 * np.abs(thrusts[when, which])
        below.scatter(seconds[when], which, s=size, color=color, label=label)
    below.set_yticks(range(count), [f"thruster {i}" for i in range(count)])
    below.set_xlim(above.get_xlim())
    below.set_xlabel("seconds")
    below.set_ylim(-0.5, count + 0.5)
    below.legend(loc="upper right", ncols=2, frameon=False)
    return above.figure


def main(argv: Sequence[str] | None = None) -> None:
    """Run the loop and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("picture", help="where to write it, such as loop.png")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--carts", type=int, default=3)
    parser.add_argument("--thrusts", type=int, default=4, help="in ten stages")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    control = carts(options.carts, options.thrusts)
    states, steps = run(control, options.steps, options.seed)
    draw(control, states, steps).savefig(options.picture)
    n_thrusts = sum(int(np.count_nonzero(step.first)) for step in steps)
    print(
        f"{n_thrusts} thrusts in {len(steps)} stages; largest gap to the best plan "
        f"{max(step.gap for step in steps):.1e}; picture in {options.picture}"
    )


if __name__ == "__main__":
    main()
