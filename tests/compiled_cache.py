"""Where the machine code of the tests is kept: one folder per state of what compiles.

Numba notices changes in the file of the function that is called, not in files that it
calls into or takes constants from.  So the folder's name is a hash of all of them.
"""

import ast
import contextlib
import hashlib
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PREFIX = "cardqp-compiled-"

DAYS = 7
"""Folders of other states are removed when they have not been used for so long."""


class _WithoutWords(ast.NodeTransformer):
    """Leave out what the compiler does not look at: docstrings and annotations."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        value = node.value
        is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
        return None if is_text else self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)


def compiled_sources(package: Path) -> dict[Path, ast.AST]:
    """The modules that compile something, and those that they make use of.

    Parameters
    ----------
    package : Path
        The folder of the package, with its name.

    Returns
    -------
    sources : dict
        For each file its syntax tree, without comments, docstrings and annotations.
    """
    compiler = f"{package.name}._compiled"
    waiting = [p for p in package.rglob("*.py") if compiler in p.read_text("utf-8")]
    sources: dict[Path, ast.AST] = {}
    while waiting:
        path = waiting.pop()
        if path not in sources:
            sources[path] = _WithoutWords().visit(ast.parse(path.read_bytes()))
            waiting += _used_files(path, sources[path], package)
    return sources


def _used_files(path: Path, source: ast.AST, package: Path) -> Iterator[Path]:
    """The files of the package from which a file imports names that it uses.

    A package's ``__init__`` uses all of them: it hands them on.
    """
    nodes = list(ast.walk(source))
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            names = [
                (f"{node.module}.{a.name}", a.asname or a.name) for a in node.names
            ]
        elif isinstance(node, ast.Import):
            names = [(a.name, a.asname or a.name.split(".")[0]) for a in node.names]
        else:
            continue
        for target, name in names:
            if name in used or path.name == "__init__.py":
                yield from _files_of(target, package)


def _files_of(target: str, package: Path) -> Iterator[Path]:
    """The files that a dotted name may stand for: a module, or something in one."""
    first, *parts = target.split(".")
    if first != package.name:
        return
    for place in (package.joinpath(*parts), package.joinpath(*parts[:-1])):
        for file in (place.with_suffix(".py"), place / "__init__.py"):
            if file.is_file():
                yield file


def fingerprint(package: Path) -> str:
    """A hash of the code that compiled functions are made of."""
    parts = [
        f"{path.relative_to(package).as_posix()}\n{ast.dump(source)}\n"
        for path, source in sorted(compiled_sources(package).items())
    ]
    return hashlib.sha256("".join(parts).encode()).hexdigest()[:16]


def cache_folder(package: Path) -> Path:
    """The folder for the present state of a package."""
    return Path(tempfile.gettempdir()) / f"{PREFIX}{fingerprint(package)}"


def use(folder: Path) -> None:
    """Note that a folder is in use, and remove others that nobody uses any more."""
    folder.mkdir(exist_ok=True)
    folder.touch()
    for other in folder.parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # it is another user's, or just removed
            if time.time() - other.stat().st_mtime > DAYS * 86400:
                shutil.rmtree(other)
