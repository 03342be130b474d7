"""Branch and bound whose subtrees are grown by the workers of a Dask cluster.

The presolve and the first nodes are processed here, so that small trees never leave.
Then open nodes are handed out (``search.py``, ``workers.py``), a few with each task; a
worker grows trees below them for a while (``subtrees.py``) and returns their proof and
what it leaves open, which goes back to all other open nodes.  Nodes that are away stay
open in the proof, so that the least bound over all leaves is a bound at any time, and a
task whose worker dies is done by another one, or its nodes are handed out again.
"""
