"""Options of the test suite, and a cache of compiled code that is never stale."""

import os
from pathlib import Path

import pytest

from tests.compiled_cache import cache_folder, use

FEW = 6
"""Random problems of each kind that are not marked as slow."""

_folder = cache_folder(Path(__file__).parents[1] / "src" / "cardqp")
os.environ["NUMBA_CACHE_DIR"] = str(_folder)
if "PYTEST_XDIST_WORKER" not in os.environ:
    use(_folder)


def pytest_addoption(parser):
    parser.addoption(
        "--seeds",
        type=int,
        default=32,
        help="random problems of each kind that are compared with enumeration",
    )


def pytest_generate_tests(metafunc):
    if "any_seed" in metafunc.fixturenames:
        seeds = range(metafunc.config.getoption("--seeds"))
        many = [pytest.param(seed, marks=pytest.mark.slow) for seed in seeds[FEW:]]
        metafunc.parametrize("any_seed", [*seeds[:FEW], *many])
