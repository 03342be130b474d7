"""Lower bounds: Theorem 1 (bounds), Theorem 2 (fixings), Farkas rays, gaps."""
