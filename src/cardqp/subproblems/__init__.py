"""Convex subproblems: quadratic programs on a support, least violation of rows."""
