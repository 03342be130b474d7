"""The perspective relaxation of a node: accelerated proximal gradient, compiled."""
