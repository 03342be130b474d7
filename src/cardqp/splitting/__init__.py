"""Splits of Q into a convex part and a diagonal for the ridge."""
