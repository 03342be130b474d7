"""Convex subproblems: a quadratic program on a support, least violation of rows."""
