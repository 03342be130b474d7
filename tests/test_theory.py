"""The theory page and the code refer to each other, and neither to what is gone."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "cardqp"
THEORY = ROOT / "docs" / "theory.md"
PAGES = (THEORY, ROOT / "docs" / "symbols.md")
MODULES = sorted(SOURCE.rglob("*.py"))


def defined_names(tree: ast.AST, prefix: str = "") -> set[str]:
    """Functions, classes, methods, fields and constants, dotted within classes.

    Members are known by their own name too, as the pages cite several of one class.
    """
    names: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names |= {prefix + node.name, node.name}
            if isinstance(node, ast.ClassDef):
                names |= defined_names(node, f"{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        names |= {prefix + name.id, name.id}
    return names


def citations(page: Path) -> list[tuple[str, str]]:
    """Pairs of a file and a name in it; the name is empty if a file alone is cited."""
    found = []
    text = page.read_text(encoding="utf-8")
    for code in re.findall(r"`([^`]+)`", text):
        match = re.fullmatch(r"([\w/]+\.py)(?::\s*(.+))?", code, re.DOTALL)
        if match:
            names = re.split(r",\s*", match[2]) if match[2] else [""]
            found += [(match[1], name.strip()) for name in names]
    found += [
        (match[2], match[1])
        for match in re.finditer(r"`([A-Za-z_][\w.]*)` in `([\w/]+\.py)`", text)
    ]
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_cite_what_is_there(page: Path) -> None:
    cited = citations(page)
    assert len(cited) > 20
    missing = []
    for file, name in cited:
        path = SOURCE / file
        if not path.is_file():
            missing.append(file)
        elif name and name not in defined_names(ast.parse(path.read_text("utf-8"))):
            missing.append(f"{file}: {name}")
    assert missing == []


def test_anchors_that_modules_mention_exist() -> None:
    anchors = set(re.findall(r'<a id="([\w-]+)">', THEORY.read_text("utf-8")))
    mentioned = {
        (str(path.relative_to(SOURCE)), anchor)
        for path in MODULES
        for anchor in re.findall(r"theory\.md#([\w-]+)", path.read_text("utf-8"))
    }
    assert mentioned
    assert {pair for pair in mentioned if pair[1] not in anchors} == set()


def test_theorems_that_modules_mention_are_stated() -> None:
    stated = set(re.findall(r"^#+ Theorem (\d+)", THEORY.read_text("utf-8"), re.M))
    mentioned = {
        (str(path.relative_to(SOURCE)), number)
        for path in MODULES
        for number in re.findall(r"Theorem\s+(\d+)", path.read_text("utf-8"))
    }
    assert mentioned
    assert {pair for pair in mentioned if pair[1] not in stated} == set()
