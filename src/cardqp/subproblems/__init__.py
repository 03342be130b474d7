"""Convex subproblems: the quadratic program on a support, least violation of rows."""
