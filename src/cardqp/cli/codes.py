"""Exit codes of the command line."""

SOLVED, REFUTED, BAD_INPUT, STOPPED_EARLY, INFEASIBLE, UNKNOWN = 0, 1, 2, 3, 4, 5

EXIT_CODES = """\
exit codes: 0 solved, or verified; 1 not verified; 2 bad input; 3 stopped early with a
feasible point; 4 infeasible (proved); 5 stopped without a feasible point"""
