"""Tables as people have them: what a newcomer sees, and that the advice works.

All have 24 rows in which the target is twice the first number less the second one, and
noise.  Each comes with what is said at first, and what is noted once it works.
"""

import json
import shlex

import pytest

from cardqp.cli.main import main

ROWS = range(24)
FIRST = [(37 * i) % 97 + 1 for i in ROWS]
SECOND = [(53 * i) % 89 + 1 for i in ROWS]
TARGET = [2 * a - b + i % 3 for i, a, b in zip(ROWS, FIRST, SECOND, strict=True)]
TRIPLES = list(zip(FIRST, SECOND, TARGET, strict=True))


def table(header, cells, mark=",", end="\n"):
    """A header, and a line for each row of what a function makes of its numbers."""
    rows = (cells(i, *TRIPLES[i]) for i in ROWS)
    return end.join([header, *(mark.join(map(str, row)) for row in rows), ""])


def german(value, decimals=2):
    return f"{value:,.{decimals}f}".translate(str.maketrans(",.", ".,"))


def grouped(value, mark=","):
    return f"{value:,}".replace(",", mark)


PLAIN = table("a,b,y", lambda _, a, b, y: (a, b, y))

TABLES = {
    "Excel in German": (
        table(
            "Ort;Umsatz (€);Größe;Datum;y",
            lambda i, a, b, y: (
                ["Köln", "Münster"][i % 2],
                german(100 * a),
                german(b / 8, 3),
                f"{i + 1:02d}.{i % 12 + 1:02d}.2024",
                german(y),
            ),
            mark=";",
            end="\r\n",
        ).encode("cp1252"),
        [],
        {"Umsatz (€)": 0.02, "Größe": -8},
        [
            "read as Windows-1252 (Western Europe), for it is not UTF-8; if letters "
            "are wrong, use `--encoding`",
            "commas separate decimals in `Umsatz (€)`, `Größe`, `y`",
            "days since the first one: `Datum` (2024-01-01, day first)",
        ],
    ),
    "Unicode text of Excel": (
        table(
            "Miasto\ta\tb\ty",
            lambda i, *row: (["Łódź", "Kraków"][i % 2], *row),
            mark="\t",
            end="\r\n",
        ).encode("utf-16"),
        [],
        {"a": 2, "b": -1},
        ["read as UTF-16", "1 column of labels became 1 feature"],
    ),
    "dollars, percent and American dates": (
        table(
            "price,share,sold,y",
            lambda i, a, b, y: (
                f'"${grouped(1000 * a)}"',
                f"{b} %",
                f"{i % 12 + 1}/{i + 1}/2024",
                y,
            ),
        ),
        [],
        {"price": 0.002, "share": -1},
        [
            "commas separate thousands in `price`; `--decimal ,` reads decimals",
            "read without their units: `price` ($), `share` (%)",
            "`sold` (2024-01-01, month first)",
        ],
    ),
    "French, with spaces between thousands": (
        table(
            "surface;âge;y",
            lambda _, a, b, y: (grouped(1000 * a, "\u202f"), f"{b},50", y),
            mark=";",
        ).encode("utf-8-sig"),
        [],
        {"surface": 0.002, "âge": -1},
        ["commas separate decimals in `âge`"],
    ),
    "Swiss": (
        table("lohn,b,y", lambda _, a, b, y: (grouped(1000 * a, "'") + ".50", b, y)),
        [],
        {"lohn": 0.002, "b": -1},
        [],
    ),
    "points between thousands": (
        table("a;b;y", lambda _, a, b, y: (grouped(10000 * a, "."), f"{b},5", y), ";"),
        [],
        {"a": 0.0002, "b": -1},
        ["commas separate decimals in `a`, `b`"],
    ),
    "commas that may be either": (
        table("a;b;y", lambda _, a, b, y: (f"{a},{b:03d}", b, y), ";"),
        ["must show what its commas separate: '1,001' may have decimals or thousands"],
        {"a": 2, "b": -1},
        [],
    ),
    "passengers": (
        table(
            "Id,Name,Ticket,Sex,a,b,Cabin,y",
            lambda i, a, b, y: (
                i + 1,
                f'"Doe, Person {i}"',
                f"A/{i // 2}",
                ["male", "female"][i % 2],
                "" if i % 5 == 0 else a,
                b,
                f"C{i}" if i % 7 == 0 else "",
                y,
            ),
        ),
        [
            "2 complaints about",
            "a       must not miss values: 5 of 24 are missing (20.8 %), the first in "
            "row 1 -> --missing mean\n",
            "Ticket  must have at most 9 different labels: it has 12, such as 'A/0' -> "
            "--drop Ticket\n",
        ],
        {"a": None, "b": None},
        [
            "1 column for missing cells, as `--max-missing` says: `Cabin` (83.3 %)",
            "left out 1 column of texts that are all different: `Name`",
            "by the mean or the most frequent label: `a` (20.8 %)",
        ],
    ),
    "an index of pandas": (
        table(",a,b,y", lambda i, *row: (i, *row)),
        [],
        {"a": 2, "b": -1},
        ["left out the first column, which has no name and another value in each row"],
    ),
    "row names of R": (
        table('"a" "b" "y"', lambda i, *row: (f'"{i + 1}"', *row), " "),
        ["try `--delimiter ' '`"],
        {"a": 2, "b": -1},
        ["left out the first column, which has no name"],
    ),
    "a title above": (
        f"Quarterly report\nExported 2024-12-31\n\n{PLAIN}",
        ["'Quarterly report', has one cell, others 3; remove what is above, or use"],
        {"a": 2, "b": -1},
        [],
    ),
    "a total below": (
        f"{PLAIN}Total,,\n",
        ["a  must hold numbers: row 25 has 'Total' -> --missing-values Total"],
        {"a": 2, "b": -1},
        ["left out 1 row with missing cells (4 %)"],
    ),
    "a line that states the delimiter": (
        "sep=;\n" + PLAIN.replace(",", ";"),
        [],
        {"a": 2, "b": -1},
        [],
    ),
    "delimiters at the ends of rows": (
        table("a;b;y", lambda _, *row: (*row, ""), ";") + ";;;\n;;;\n",
        [],
        {"a": 2, "b": -1},
        ["left out 1 column without any value: `column 4`"],
    ),
    "words for what is missing": (
        table(
            "a,b,y",
            lambda i, a, b, y: (
                "-" if i == 3 else a,
                "n.a." if i == 5 else "unknown" if i == 8 else b,
                y,
            ),
        ),
        [
            "a  must hold numbers: row 4 has '-' -> --missing-values -\n",
            "b  must hold numbers: row 6 has 'n.a.' (and 1 more such cells) -> "
            "--missing-values n.a.,unknown\n",
            "--missing-values=-,n.a.,unknown",
        ],
        {"a": None, "b": None},
        ["`b` (8.33 %), `a` (4.17 %)"],
    ),
    "errors of Excel": (
        table("a,b,y", lambda i, a, b, y: ("#DIV/0!" if i == 3 else a, b, y)),
        ["1 of 24 are missing (4.17 %), the first in row 4"],
        {"a": 2, "b": -1},
        ["left out 1 row with missing cells (4.17 %)"],
    ),
    "dates that may be either": (
        table(
            "when,a,b,y",
            lambda i, *row: (f"0{i % 9 + 1}/0{i % 7 + 1}/2024", *row),
        ),
        ["must show whether days or months come first: no number in its dates is"],
        {"a": 2, "b": -1},
        ["`when` (2024-01-01, month first)"],
    ),
    "two columns of one name": (
        table("a,b,a,y", lambda i, a, b, y: (a, b, i % 4, y)),
        [],
        {"a": 2, "b": -1},
        ["column 3 is called `a (2)`, for `a` is another"],
    ),
    "odd lines": (
        table(
            "a,b,y",
            lambda i, a, b, y: (a, b, "see note", y) if i in (4, 9) else (a, b, y),
        ),
        ["line 6 has 4 (and 1 more such lines); correct or remove it, or use `"],
        {"a": 2, "b": -1},
        [],
    ),
    "units": (
        table("weight,area,y", lambda _, a, b, y: (f"{a} kg", f"{b}m²", f"{y} €")),
        [],
        {"weight": 2, "area": -1},
        ["numbers were read without their units: `weight` (kg), `area` (m²)"],
    ),
    "another name of the target": (
        PLAIN.replace("y", "Y", 1),
        ["`--target` must name columns: 'y' is none of `a`, `b`, `Y`; perhaps 'Y' is"],
        {"a": 2, "b": -1},
        [],
    ),
    "a survey": (
        table(
            "Timestamp,Email,Experience,Member,a,b,y",
            lambda i, a, b, y: (
                f"2024/01/{i + 1:02d} 10:15:00",
                f"user{i}@example.org",
                ["1 year", "2 years", "10+ years"][i % 3],
                ["Yes", "No"][i % 2],
                a,
                b,
                y if i else "",
            ),
        ),
        ["the target `y` must not miss values: 1 of 24 are missing"],
        {"a": 2, "b": -1},
        [
            "left out 1 column of texts that are all different: `Email`",
            "days since the first one: `Timestamp` (2024-01-02 10:15:00)",
        ],
    ),
    "DOS": (
        table(
            "Käufer;a;b;y", lambda i, *row: (["Müller", "Groß"][i % 2], *row), ";"
        ).encode("cp850"),
        [],
        {"a": 2, "b": -1},
        ["read as code page 850 (Western Europe, DOS)", "`Käufer`"],
    ),
    "months by name": (
        table("when,a,b,y", lambda i, *row: (f"{i + 1}-Jan-24", *row)),
        [],
        {"a": 2, "b": -1},
        ["days since the first one: `when` (2024-01-01)"],
    ),
    "a damaged letter": (
        table("Ort,a,b,y", lambda i, *row: (["Köln", "Münster"][i % 2], *row))
        .encode()
        .replace("ö".encode(), b"\xf6", 1),
        [],
        {"a": 2, "b": -1},
        ["letters that are not UTF-8, in line 2, were replaced"],
    ),
    "many columns with gaps": (
        table(
            ",".join(["a", "b", *(f"x{j}" for j in range(30)), "y"]),
            lambda i, a, b, y: (
                *(a, b),
                *("" if (i + j) % 9 == 0 else (i * j) % 13 for j in range(30)),
                y,
            ),
        ),
        [
            "30 complaints about",
            "...  must not miss values: 26 other columns -> --missing mean\n",
        ],
        {"a": 2, "b": -1},
        [],
    ),
}


@pytest.mark.parametrize(
    ("content", "said", "coefficients", "noted"), TABLES.values(), ids=TABLES
)
def test_messy_tables(tmp_path, capsys, content, said, coefficients, noted):
    path = tmp_path / "my table.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    words = ["fit", str(path), "--target", "y", "-s", "2", "--no-ridge", "--json"]
    assert main([*words, "--max-levels", "9"]) == (2 if said else 0)
    captured = capsys.readouterr()
    for sentence in said:
        assert sentence in captured.err
    if said:
        _, _, command = captured.err.partition("This works:\n")
        assert main(shlex.split(command)[1:]) == 0
        captured = capsys.readouterr()
    found = json.loads(captured.out)["coefficients"]
    assert set(found) == set(coefficients)
    for name, value in coefficients.items():
        if value is not None:
            assert found[name] == pytest.approx(value, rel=0.02)
    for sentence in noted:
        assert sentence in captured.err


def test_labels_are_no_target(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text(table("a,b,y", lambda _, a, b, y: (a, b, "yes" if y > 9 else "no")))
    assert main(["fit", str(path), "--target", "y", "-s", "2"]) == 2
    assert capsys.readouterr().err == (
        "cardqp: the target `y` must hold numbers: it is a category, such as 'no' or "
        "'yes'; name another column, or write 1 for some labels and 0 for others.\n"
    )
