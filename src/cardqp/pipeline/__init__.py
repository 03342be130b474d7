"""The whole pipeline: ``solve``, and functions that call it many times."""
