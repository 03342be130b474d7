"""Options of the test suite, and a fresh start for compiled code."""

import hashlib
import os
import tempfile
from pathlib import Path


def _fingerprint() -> str:
    """A hash of the sources: Numba notices changes only in the file that is called."""
    folder = Path(__file__).parents[1] / "src" / "cardqp"
    sources = sorted(folder.rglob("*.py"))
    return hashlib.sha256(b"".join(p.read_bytes() for p in sources)).hexdigest()[:16]


os.environ["NUMBA_CACHE_DIR"] = str(
    Path(tempfile.gettempdir()) / f"cardqp-compiled-{_fingerprint()}"
)


def pytest_addoption(parser):
    parser.addoption(
        "--seeds",
        type=int,
        default=32,
        help="random problems of each kind that are compared with enumeration",
    )


def pytest_generate_tests(metafunc):
    if "any_seed" in metafunc.fixturenames:
        metafunc.parametrize("any_seed", range(metafunc.config.getoption("--seeds")))
