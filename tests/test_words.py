"""Words of earlier versions, private to the project, do not come back."""

import re
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "cardqp"
WORDS = (
    *("shake", "liking", "graft", "replant", "rung", "settle", "drag"),
    *("excursion", "tally", "tilt", "lean", "narrowing", "anchor"),
)
PATTERN = re.compile(rf"\b({'|'.join(WORDS)})\b", re.IGNORECASE)


def test_modules_speak_the_words_of_the_field() -> None:
    paths = sorted(SOURCE.rglob("*.py"))
    found = [
        f"{path.relative_to(SOURCE)}:{number}: {match[0]}"
        for path in paths
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        for match in PATTERN.finditer(line)
    ]
    assert len(paths) > 100
    assert found == []
