"""Proofs that are written in parts."""

import numpy as np

from cardqp.certificate import Kind, ProofLog


def write(log, first, second, offset):
    """Go on from two open nodes, with nodes that are numbered from ``offset`` on."""
    entries = np.array([0, 4]), np.array([0.5, 2.0])
    beta, fixed = np.array([7.0]), np.array([3, -2])
    index, value = entries
    log.record(first, Kind.POINT, index=index, value=value, beta=beta, scale=3.0)
    assert log.split(first, 0, np.array([1, 2])) == offset
    log.record(
        second, Kind.POINT, index=index, value=value, beta=beta, fixed=fixed, scale=5.0
    )
    assert log.split(second, 5) == offset + 2
    log.record(offset, Kind.RAY, beta=-beta)
    log.record(offset + 1, Kind.COMPLETED)
    assert log.split(offset + 2, 1, np.array([0, 3])) == offset + 4


def begin():
    """A log whose root has a record and a cluster; nodes 1 and 2 are open."""
    log = ProofLog(1, 6)
    log.open(1)
    log.record(
        0,
        Kind.POINT,
        index=np.array([2]),
        value=np.ones(1),
        beta=np.zeros(1),
        fixed=np.array([6]),
        scale=2.0,
    )
    log.split(0, 0, np.array([0, 1, 4]))
    return log


def test_parts_that_were_written_elsewhere():
    """Open nodes are gone on from in any order, with everything that is recorded."""
    for order in ([1, 2], [2, 1]):
        whole, log, part = begin(), begin(), ProofLog(1, 6)
        write(whole, *order, 3)
        part.open(2)
        write(part, 0, 1, 2)
        log.append_below(np.array(order), part.tree())
        expected = whole.tree().arrays()
        assert set(expected["scale"]) == {1.0, 2.0, 3.0, 5.0}
        for name, array in log.tree().arrays().items():
            assert array.dtype == expected[name].dtype
            np.testing.assert_array_equal(array, expected[name], err_msg=name)
