"""Passes over data, folds and replications on a real cluster of two processes."""

import warnings
from pathlib import Path

import dask
import dask.array as da
import joblib
import numpy as np
import pytest

from cardqp import SparseQP, SparseRidgeCV, solve
from experiments.reproduce.command import reproduce
from tests.estimators.data import regression
from tests.streamed import exact

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster) as found,
    ):
        yield found


def wide_data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 200)).astype(np.float32)
    y = X[:, 5] - 2.0 * X[:, 90] + 0.3 * rng.standard_normal(30)
    return X, y


@pytest.mark.parametrize("chunks", [(30, 200), (30, 17), (11, 64)])
def test_columns_in_any_chunks(chunks):
    X, y = wide_data()
    lazy = SparseQP.from_data(da.from_array(X, chunks=chunks), y, eta=5.0, sparsity=2)
    plain = SparseQP.from_data(X, y, eta=5.0, sparsity=2)
    with dask.config.set(scheduler="synchronous"):
        np.testing.assert_allclose(lazy.c, plain.c, rtol=1e-12, atol=1e-14)
        found = solve(lazy, method=exact())
        assert found.certificate.is_streamed(found.problem)
        assert found.verify().ok
    other = solve(plain, method=exact())
    assert found.support.tolist() == other.support.tolist() == [5, 90]


@pytest.mark.usefixtures("client")
def test_columns_on_a_cluster():
    X, y = wide_data()
    lazy = da.from_array(X, chunks=(30, 50)).persist()
    problem = SparseQP.from_data(lazy, y, eta=5.0, sparsity=2)
    found = solve(problem, method=exact())
    assert found.support.tolist() == [5, 90]
    assert found.verify().ok


@pytest.mark.usefixtures("client")
def test_folds_on_a_cluster():
    X, y = regression()
    alone = SparseRidgeCV([1, 3, 12], cv=3, time_limit=None).fit(X, y)
    with joblib.parallel_config("dask"), warnings.catch_warnings():
        # Dask says that problems are large to be sent.
        warnings.filterwarnings("ignore", "Sending large graph")
        together = SparseRidgeCV([1, 3, 12], cv=3, time_limit=None).fit(X, y)
    np.testing.assert_array_equal(
        together.cv_results_["errors"], alone.cv_results_["errors"]
    )


def test_replications_on_a_cluster(client, tmp_path):
    def numbers(folder: Path) -> list[str]:
        text = (folder / "tables" / "tab7.csv").read_text(encoding="utf-8")
        return text.splitlines()[:3]

    address = client.scheduler.address
    reproduce(["tab7"], out=tmp_path / "there", quick=True, scheduler=address)
    reproduce(["tab7"], out=tmp_path / "here", quick=True)
    assert numbers(tmp_path / "there") == numbers(tmp_path / "here")
