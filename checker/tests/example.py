"""The example of docs/certificate.md, section 7, as arrays; and a writer of files."""

import hashlib

import numpy as np


def problem_arrays():
    """Three variables, of which one may be nonzero."""
    infinite = np.full(3, np.inf)
    return {
        "Q": np.array([[3.0, 2.0, 0.0], [2.0, 3.0, 0.0], [0.0, 0.0, 3.0]]),
        "c": np.array([-8.0, -8.0, -4.0]),
        "eta": np.ones(3),
        "constant": np.array(0.0),
        "sparsity": np.array(1),
        "A": np.zeros((0, 3)),
        "b": np.zeros(0),
        "A_eq": np.zeros((0, 3)),
        "b_eq": np.zeros(0),
        "lower": -infinite,
        "upper": infinite,
        "forced_in": np.zeros(0, np.int64),
        "forced_out": np.zeros(0, np.int64),
    }


def run_arrays():
    """The answer: a step at the root, and a tree of three nodes."""
    return {
        "format": np.array("cardqp-solution-2"),
        "x": np.array([1.0, 0.0, 0.0]),
        "support": np.array([0]),
        "objective": np.array(-4.0),
        "lower_bound": np.array(-4.000001),
        "gap": np.array(2.5e-7),
        "tolerance": np.array(1e-4),
        "status": np.array("OPTIMAL"),
        "root.count": np.array(1),
        "root.0.index": np.array([0, 1, 2]),
        "root.0.value": np.array([0.5, 0.5, 0.5]),
        "root.0.beta": np.zeros(0),
        "root.0.fixed_in": np.zeros(0, np.int64),
        "root.0.fixed_out": np.array([2]),
        "tree.kind": np.array([0, 1, 1], np.int8),
        "tree.branch": np.array([0, -1, -1], np.int32),
        "tree.child": np.array([1, 0, 0], np.int32),
        "tree.record": np.array([-1, 0, 1], np.int32),
        "tree.beta": np.zeros((2, 0)),
        "tree.scale": np.ones(2),
        "tree.point_end": np.array([1, 2]),
        "tree.index": np.array([0, 1], np.int16),
        "tree.value": np.array([1.0, 1.0], np.float32),
        "tree.fixed_end": np.array([0, 0]),
        "tree.fixed": np.zeros(0, np.int16),
        "tree.cluster_end": np.zeros(0, np.int64),
        "tree.cluster": np.zeros(0, np.int16),
    }


def digest(arrays):
    """The digest of a problem without streamed data, written apart from the checker."""
    text = hashlib.sha256()
    for key, array in sorted(arrays.items()):
        if key != "names":
            shape = "x".join(str(length) for length in array.shape)
            text.update(f"{key}\0{array.dtype.str}\0{shape}\0".encode())
            text.update(array.tobytes())
    return text.hexdigest()


def write(folder, problem, run):
    """Write both files, and return their paths."""
    paths = folder / "problem.npz", folder / "run.npz"
    run = {"problem_digest": np.array(digest(problem))} | run
    for path, arrays in zip(paths, (problem, run), strict=True):
        np.savez(path, **arrays)
    return paths
