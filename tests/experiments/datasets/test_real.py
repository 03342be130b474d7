"""The real files, where there are any: shapes, and how fast the spectra decay."""

import os
from pathlib import Path

import numpy as np
import pytest

import cardqp
from experiments.datasets import files, load_uci
from experiments.datasets.catalogue import SPECS

K_HAT = {
    "superconductivity": {21_263: (9,)},
    "online-news": {39_644: (20,)},
    "crime": {1_994: (12, 13)},
    "crime-as-published": {1_994: (52, 53)},
    "ujindoor": {19_937: (48, 49)},
    "facebook": {40_949: (15,), 199_030: (14,)},
}
"""By number of rows: Facebook's variant 1 (measured) and variant 5 (the paper's)."""


@pytest.fixture(params=K_HAT)
def table(request):
    folder = os.environ.get("CARDQP_DATA")
    if not folder:
        pytest.skip("CARDQP_DATA does not name a folder with the data sets")
    spec = SPECS[request.param]
    found = files.locate(Path(folder), spec.archives)
    names = [layout.file for layout in spec.layouts]
    if not any(located.is_called(name) for located in found for name in names):
        pytest.skip(f"no file of {request.param} in the folder CARDQP_DATA")
    return load_uci(request.param)


def test_shape_and_spectrum(table):
    assert len(table.y) in K_HAT[table.name]
    assert table.X.shape[1] == SPECS[table.name].n_features
    assert np.isfinite(table.X).all()
    rows = table.split(seed=0)
    eta = np.sqrt(len(rows.y_train))
    problem = cardqp.SparseQP.from_regression(
        rows.X_train, rows.y_train, eta=eta, sparsity=10
    )
    assert cardqp.spectrum(problem).k_hat() in K_HAT[table.name][len(table.y)]
