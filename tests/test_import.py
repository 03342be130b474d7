import subprocess
import sys

import pytest

import cardqp

HEAVY = ("sklearn", "matplotlib", "pandas", "numba", "scipy", "clarabel", "daqp")


def test_bare_import_is_light():
    code = (
        "import sys, cardqp; "
        f"print([m for m in {HEAVY!r} if m in sys.modules], cardqp.__version__)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == f"[] {cardqp.__version__}"


def test_solving_does_not_load_the_front_ends():
    code = (
        "import sys, numpy, cardqp; "
        "p = cardqp.SparseQP(numpy.eye(2), [1, 1], eta=1, sparsity=1); "
        "cardqp.solve(p, method='exact'); "
        "print([m for m in ('sklearn', 'matplotlib', 'pandas') if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


def test_public_names():
    for name in cardqp.__all__:
        assert getattr(cardqp, name) is not None
    assert set(cardqp.__all__) == set(dir(cardqp))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = cardqp.nonsense
