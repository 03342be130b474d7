import numpy as np
import pytest

from cardqp import ParameterError, SparseQP, safe_screen
from cardqp.datasets import make_regression
from experiments.published_screening import _switches, screen_as_published


def regression(eta, **settings):
    data = make_regression(300, 300, sparsity=5, correlation=0.5, snr=6.0, seed=0)
    return SparseQP.from_regression(data.X, data.y, eta=eta, sparsity=5, **settings)


@pytest.mark.slow
def test_faults_of_the_script_make_it_keep_more():
    sizes = [
        (
            len(screen_as_published(regression(eta), 300)),
            len(safe_screen(regression(eta)).candidates),
        )
        for eta in (10.0, 1.0, 0.1, 0.01, 0.001)
    ]
    published, right = zip(*sizes, strict=True)
    assert published[0] == 300
    assert published[-1] == 5
    assert list(published) == sorted(published, reverse=True)
    assert all(p >= r for p, r in sizes)
    assert right[1] == 5 < published[1]


@pytest.mark.parametrize("seed", range(5))
def test_switches_are_optimal(seed):
    rng = np.random.default_rng(seed)
    size, s = np.abs(rng.standard_normal(20)) ** 3, 4
    z = _switches(size, s)
    assert z.max() <= 1.0
    assert z.sum() == pytest.approx(s)
    # Where it is not at one, what another bit of a switch saves is the same for all.
    saved = (size / z) ** 2
    inside = z < 1
    assert np.allclose(saved[inside], saved[inside][0])
    assert (saved[~inside] >= saved[inside][0] * (1 - 1e-12)).all()


def test_switches_of_fewer_entries_than_slots():
    assert np.array_equal(_switches(np.array([0.0, 2.0, 0.0, 1.0]), 3), [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (regression(1.0, lower=np.zeros(300)), "`problem` must be a regression with"),
        (regression(1.0, penalty=0.1), "`problem` must be a regression with"),
        (regression(np.linspace(1, 2, 300)), "`problem` must be a regression with"),
        (regression(1.0).with_limits(sparsity=300), "`sparsity` must be between"),
    ],
)
def test_only_plain_regressions_are_taken(problem, message):
    with pytest.raises(ParameterError, match=message):
        screen_as_published(problem, 300)
