"""Lower bounds, fixings and Farkas rays (``docs/theory.md#bounds``), and gaps."""
