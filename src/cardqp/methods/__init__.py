"""The methods of solve, one file each, and their registry."""
