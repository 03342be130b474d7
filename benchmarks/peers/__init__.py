"""Other solvers on the instances of the exact benchmark."""
