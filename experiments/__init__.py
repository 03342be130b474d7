"""The experiments of the paper; they come with the source, not with the package."""
