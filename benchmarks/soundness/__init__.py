"""Is what the solver says so?  Random small problems against rational arithmetic.

``python -m benchmarks.soundness --problems 100000`` makes problems of every kind, knows
the exact optimum of each, asks, has all certificates checked, forges some, and counts
what is not so.  It takes a tenth of a second of one processor for each problem.  A run
that was stopped goes on; ``--first`` begins elsewhere, and ``--publish docs/soundness``
writes a page about all runs that are in ``--out``, of all seeds.

What is asked
-------------
The exact search is asked about each problem, and again with the optimum as a start
about one in three.  All other methods are asked about every eleventh, so that each
kind has its turn in all units: they take most of the time otherwise.  Wide
problems are solved with settings (:mod:`~benchmarks.soundness.tuning`) with which a
dozen variables are proved in the ways that thousands are, and some runs are stopped:
their weaker bounds must be true, too.  The table says which parts of certificates
occurred.  A part that never does is not tested.

What is true
------------
Data are floats, and floats are rational numbers: objectives, rows and optima are
computed without rounding (:mod:`~benchmarks.soundness.truth`).  Nothing of the solver
is used for that, only the attributes of a problem.  Bounds of many supports at once are
computed in floats, whose rounding is accounted for
(:mod:`~benchmarks.soundness.many`); what they do not decide is decided in rationals.
Without a ridge and with dependent columns, only points with independent nonzeros count,
as docs/certificate.md says.

What is checked and forged
--------------------------
Solutions of the exact searches are written to files.  ``cardqp_check``, which shares
nothing with the library, checks each of them, if it is installed; the library replays
them in memory, and from the file for every eleventh.  Then some files are changed
(:mod:`~benchmarks.soundness.forge`, :mod:`~benchmarks.soundness.claims`) so that they
claim too much: a bound above the optimum with entries of the certificate changed to
support it, another status, objective, gap, support or point.  Exact arithmetic decides
that a claim is false, and then nobody may accept it, nor compute a bound above the
optimum from what is in the file.

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
- ``disputed``: an honest solution that the independent checker does not confirm.
- ``forged``: a false claim that a checker accepts, or a bound above the optimum that it
  computes from a forged file.
- ``error`` and ``time``: exceptions, also out of checkers, and runs far beyond their
  time limit.

UNKNOWN on a problem that has a point must be rarer than one in a thousand, where the
search was not stopped.  Without a ridge not every problem can be solved: ``declined``
counts what the library refuses to.

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
