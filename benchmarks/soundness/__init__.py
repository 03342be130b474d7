"""Is what the solver says so?  Random small problems against rational arithmetic.

``python -m benchmarks.soundness --problems 20000`` makes problems of every kind, knows
the exact optimum of each, asks every method, and counts what is not so.

What is true
------------
Data are floats, and floats are rational numbers: objectives, rows and optima are
computed without rounding (:mod:`~benchmarks.soundness.truth`).  Nothing of the solver
is used for that, only the attributes of a problem.

What is counted
---------------
:data:`benchmarks.soundness.referee.MUST_BE_ZERO` names what must not happen at all.

- ``infeasible``: a point with too many nonzeros (in all, or in a group), without what
  is forced, out of bounds by more than ``1e-6 |x_j|``, or off a row by more than
  ``1e-6`` of its own terms ``sum_j |a_ij x_j| + |b_i|``.
- ``status``: OPTIMAL although the optimum is below the point by more than the gap that
  was asked for; INFEASIBLE although there is a point; OPTIMAL or FEASIBLE without a
  point; FEASIBLE although the gap is closed.
- ``bound``: a lower bound above the optimum, however little.
- ``objective``: a value that is not that of the point.
- ``beyond``: a point better than its own proof says is possible.
- ``contradiction``: two methods that cannot both be right.
- ``refused``: an honest solution that its own ``verify`` does not confirm, at once or
  after it was written and read.
- ``error`` and ``time``: exceptions, and runs far beyond their time limit.

UNKNOWN on a problem that has a point must be rarer than one in a thousand.

What the tolerance explains
---------------------------
A point may be off its rows by the tolerance, and is then better than the optimum of
the problem as it is stated.  How much better has a limit: if ``x`` breaks rows by
``r`` and ``beta`` are multipliers of the optimum on its support, its objective is no
less than that optimum minus ``beta'r``, by convexity.  As this always holds, a point
that passes ``infeasible`` cannot be blamed for being too good; where that is more than
the gap it is counted under ``tolerance``, with points of problems that are infeasible
by less than the tolerance.  Contradictions of this sort are counted there, too; and
under ``rounding`` instead if the point is off by 1e-12 at most, as no float is nearer.
That the optimum is below a point by more than the gap is never explained in this way.
"""
