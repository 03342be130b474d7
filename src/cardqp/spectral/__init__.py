"""Eigenvalues, eigenvectors and the levels of the hierarchy."""
