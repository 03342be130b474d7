"""Branch and bound on the perspective relaxation."""
