import os
import time
from pathlib import Path

import pytest

import cardqp
from tests import compiled_cache
from tests.compiled_cache import PREFIX, compiled_sources, fingerprint, use

PACKAGE = Path(cardqp.__file__).parent

FILES = {
    "__init__.py": "from mini.plain import say\n",
    "_compiled.py": "def compiled(function):\n    return function\n",
    "numbers.py": '"""Numbers."""\nfrom mini.units import UNIT\nTWO = 2 * UNIT\n',
    "units/__init__.py": "from mini.units.one import UNIT\n",
    "units/one.py": "UNIT = 1\n",
    "plain.py": "from mini.kernel import double\ndef say():\n    print(double(1))\n",
    "types.py": "Number = int\n",
    "kernel.py": '''"""A kernel."""
from mini._compiled import compiled
from mini.numbers import TWO
from mini.types import Number

@compiled
def double(x: Number) -> Number:
    """Twice x."""
    return TWO * x  # exactly
''',
}


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "mini"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text)
    return folder


def edited(package, name, old, new):
    path = package / name
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return fingerprint(package)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("kernel.py", "A kernel.", "The kernel."),
        ("kernel.py", "Twice x.", "Two times x."),
        ("kernel.py", "  # exactly", ""),
        ("kernel.py", "@compiled", "\n\n@compiled"),
        ("kernel.py", "x: Number", "x: float"),
        ("numbers.py", "Numbers.", "A number."),
        ("types.py", "int", "float"),
        ("plain.py", "double(1)", "double(2)"),
    ],
)
def test_what_the_compiler_does_not_see_changes_nothing(package, name, old, new):
    before = fingerprint(package)
    assert edited(package, name, old, new) == before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("kernel.py", "TWO * x", "TWO * x + 0"),
        ("kernel.py", "(x: Number)", "(x: Number, y=0)"),
        ("numbers.py", "2 *", "3 *"),
        ("units/one.py", "1", "10"),
        ("units/__init__.py", "mini.units.one", "mini.numbers"),
        ("_compiled.py", "return function", "return lambda x: function(x)"),
        ("plain.py", "def say", "from mini._compiled import compiled\n\ndef say"),
    ],
)
def test_what_is_compiled_changes_the_fingerprint(package, name, old, new):
    before = fingerprint(package)
    assert edited(package, name, old, new) != before


def test_constants_of_the_package_count_and_the_pipeline_does_not():
    names = {path.relative_to(PACKAGE).as_posix() for path in compiled_sources(PACKAGE)}
    assert {
        "_compiled.py",
        "arithmetic/rounding.py",
        "relaxation/scaled_data.py",
        "relaxation/prox.py",
    } <= names
    assert (
        not {"pipeline/solve.py", "branch_and_bound/node.py", "problem/sparse_qp.py"}
        & names
    )


def test_folders_that_nobody_uses_are_removed(tmp_path):
    folders = {name: tmp_path / f"{PREFIX}{name}" for name in ("old", "new", "mine")}
    other = tmp_path / "other"
    long_ago = time.time() - (compiled_cache.DAYS + 1) * 86400
    for folder in (*folders.values(), other):
        folder.mkdir()
        (folder / "kernel.nbc").touch()
    for folder in (folders["old"], folders["mine"], other):
        os.utime(folder, (long_ago, long_ago))
    use(folders["mine"])
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{PREFIX}new",
        f"{PREFIX}mine",
        "other",
    }
