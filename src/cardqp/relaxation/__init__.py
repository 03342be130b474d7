"""The perspective relaxation of a branch: accelerated proximal gradient, compiled."""
