"""Cross-validations in processes of their own that are interrupted."""

import sys

import pytest
from benchmarks.interrupts import interrupted


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to other processes")
@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("prove", ["final", "all"])
def test_a_first_signal_is_honoured(prove, n_jobs):
    found = interrupted({"prove": prove, "n_jobs": n_jobs}, after=2.0)
    assert found.is_honoured, found
