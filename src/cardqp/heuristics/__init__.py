"""Feasible points: rounding, swaps, iterated local search, dives."""
