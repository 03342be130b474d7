import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cardqp

LOAD = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from cardqp.relaxation import kernels
    import probe
    print(probe.double(21))
print(*(warning.message for warning in caught), sep="\\n")
"""

PROBE = """
from cardqp._compiled import compiled

@compiled
def double(x):
    return 2 * x
"""


@pytest.fixture
def nowhere(tmp_path):
    """An environment with a copy of the package where nothing can be kept.

    Permissions do not stop root, so files are where folders would have to be.
    """
    package = tmp_path / "cardqp"
    no_caches = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(cardqp.__file__).parent, package, ignore=no_caches)
    (tmp_path / "probe.py").write_text(PROBE)
    for folder in (tmp_path, package, *package.rglob("*")):
        if folder.is_dir():
            (folder / "__pycache__").touch()
    blocked = {"HOME": os.devnull, "LOCALAPPDATA": os.devnull}
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG"))}
    return kept | blocked | {"PYTHONPATH": str(tmp_path)}


def load(environment):
    return subprocess.run(
        [sys.executable, "-c", LOAD],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_cannot_be_kept_is_compiled_nevertheless(nowhere):
    run = load(nowhere)
    assert run.returncode == 0, run.stderr
    answer, *warned = run.stdout.splitlines()
    assert answer == "42"
    assert len(warned) == 1
    assert "set NUMBA_CACHE_DIR to a folder that can" in warned[0]


def test_the_remedy_helps(nowhere, tmp_path):
    run = load(nowhere | {"NUMBA_CACHE_DIR": str(tmp_path / "kept")})
    assert run.stdout.split() == ["42"]
    assert list((tmp_path / "kept").rglob("probe.double*.nbi"))
