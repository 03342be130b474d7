"""Branch and bound where the columns are too many for memory, and are streamed.

The relaxation is solved on a working set of columns, and passes over the data bound
its leaves over all columns: ``docs/theory.md#many-columns``.
"""
