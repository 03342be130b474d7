"""Links and pictures of the pages: what they point to is in the repository."""

import html
import re
import subprocess
from collections import Counter
from pathlib import Path, PurePosixPath
from posixpath import normpath
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[1]

FENCE = re.compile(r"^ *(```|~~~).*?^ *\1[^\n]*$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
TARGETS = (
    re.compile(r"\]\(\s*<?([^\s)<>]+)>?(?:\s+[\"'][^)]*)?\)"),
    re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?(\S+?)>?(?:\s|$)", re.MULTILINE),
    re.compile(r"\b(?:src|href)\s*=\s*[\"']([^\"']+)[\"']"),
)
HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$", re.MULTILINE)
IDENTITY = re.compile(r"<\w+[^>]*\b(?:id|name)\s*=\s*[\"']([^\"']+)[\"']")
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


def tracked():
    """Files that git knows; what it ignores does not exist for anybody else."""
    try:
        run = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this is no clone, so nobody knows what is part of the repository")
    return [name for name in run.stdout.decode().split("\0") if name]


def targets(page):
    """What a page points to, apart from code."""
    bare = CODE.sub("", FENCE.sub("", page))
    return [html.unescape(found) for each in TARGETS for found in each.findall(bare)]


def anchors(page):
    """Places of a page that can be linked to, headings as GitHub names them."""
    bare = FENCE.sub("", page)
    seen, names = Counter(), set(IDENTITY.findall(bare))
    for heading in HEADING.findall(bare):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)|<[^>]*>", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        names.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        seen[slug] += 1
    return names


def broken(pages, files):
    """Links of pages, texts by path, that lead to no file, folder or place."""
    known = set(files)
    known |= {str(each) for file in files for each in PurePosixPath(file).parents}
    places = {path: anchors(page) for path, page in pages.items()}
    for path, page in pages.items():
        for target in targets(page):
            if ELSEWHERE.match(target):
                continue
            name, _, place = unquote(target).partition("#")
            home = PurePosixPath(path)
            led = normpath(home.parent / name) if name else path
            is_lost = place and led in places and place not in places[led]
            if led not in known or is_lost:
                yield f"{path}: {target}"


def test_links_and_pictures_are_in_the_repository():
    files = tracked()
    pages = {
        name: (ROOT / name).read_text("utf-8")
        for name in files
        if name.endswith(".md") and (ROOT / name).is_file()
    }
    assert {"README.md", "docs/theory.md", "docs/subsets/hitters.md"} <= set(pages)
    assert any(t.endswith(".png") for page in pages.values() for t in targets(page))
    assert list(broken(pages, files)) == []


@pytest.mark.parametrize(
    ("page", "lost"),
    [
        ("![a picture](pictures/seen.png)", []),
        ("![a picture](pictures/lost.png)", ["pictures/lost.png"]),
        ('![a picture](pictures/lost.png "with a title")', ["pictures/lost.png"]),
        ('<img src="pictures/lost.png">', ["pictures/lost.png"]),
        ("<a href='lost.md'>x</a>", ["lost.md"]),
        ("[up](../README.md#try-it)", []),
        ("[up](../README.md#lost)", ["../README.md#lost"]),
        ("[up](../../README.md)", ["../../README.md"]),
        ("[folder](pictures)", []),
        ("[folder](pictures/)", []),
        ("[here](#own-place)\n<a id='own-place'></a>", []),
        ("[here](#an-own-place-1)\n# An *own* place\n## An own place", []),
        ("[here](#lost)", ["#lost"]),
        ("[by name][1]\n\n[1]: lost.md", ["lost.md"]),
        ("[web](https://example.org/lost) <a href='mailto:a@b.c'>", []),
        ("`[code](lost.md)`\n```\n[code](lost.md)\n```", []),
        ("`a`[after code](lost.md)`b`", ["lost.md"]),
    ],
)
def test_a_broken_link_is_found(page, lost):
    pages = {"README.md": "# Try it", "docs/page.md": page}
    found = list(broken(pages, [*pages, "docs/pictures/seen.png"]))
    assert found == [f"docs/page.md: {each}" for each in lost]
