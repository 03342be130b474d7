"""The dual function: Theorem 1 (bounds) and Theorem 2 (fixings)."""
