"""Numbers: rationals, sums without cancellation, rounding margins."""
