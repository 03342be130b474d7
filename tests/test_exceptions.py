"""Errors: their fields, how they are written, and that all are made of fields."""

import ast
import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

import cardqp
from cardqp import ParameterError, ProblemError, SparseQP, solve
from cardqp.exceptions import CardQPError, DataError, InputError, Phrase, Setting
from cardqp.tables import TableEncoder

SOURCES = Path(cardqp.__file__).parent
CLASSES = {
    "ProblemError",
    "ParameterError",
    "DataError",
    "ColumnError",
    "NotNumbersError",
}


def loud(setting):
    return str(setting).upper()


def test_fields_of_a_problem():
    with pytest.raises(ProblemError) as caught:
        SparseQP([[1.0, 0.5], [0.0, 1.0]], [0.0, 0.0], eta=1.0, sparsity=1)
    error = caught.value
    assert error.argument == "Q"
    assert error.rule == "must be symmetric"
    assert error.given == "max |Q - Q.T| is 5.0e-01"
    assert error.remedy == "pass (Q + Q.T) / 2"
    assert str(error) == (
        "`Q` must be symmetric: max |Q - Q.T| is 5.0e-01; pass (Q + Q.T) / 2."
    )


def test_fields_of_a_parameter():
    problem = SparseQP(np.eye(2), [0.0, 0.0], eta=1.0, sparsity=1)
    with pytest.raises(ParameterError) as caught:
        solve(problem, threads=0)
    error = caught.value
    assert error.argument == "threads"
    assert error.given == "it is 0"
    assert error.remedy is None


def test_fields_of_data():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"drop": [1.0, None, 2.0, 4.0], "y": [1, 2, 3, 5]})
    with pytest.raises(DataError) as caught:
        TableEncoder.from_table(frame, "y")
    error = caught.value
    assert error.argument is None
    assert error.rule == "column `drop` must not miss values"
    assert error.given == "1 of 4 are missing (25 %), the first in row 2"
    assert error.remedy.endswith("or `drop=['drop']`")
    assert error.render(loud).endswith("or `DROP=['DROP']`.")
    assert error.render(loud).startswith("column `drop` must not miss values")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "`eta` must be positive."),
        ({"given": "it is -1"}, "`eta` must be positive: it is -1."),
        ({"remedy": "leave it out"}, "`eta` must be positive: leave it out."),
        (
            {"given": "it is -1", "remedy": "leave it out"},
            "`eta` must be positive: it is -1; leave it out.",
        ),
    ],
)
def test_message(fields, message):
    error = InputError("eta", "must be positive", **fields)
    assert str(error) == error.render() == message
    assert error.render(loud) == message.replace("eta", "ETA")
    assert error.args == (message,)


def test_text_alone():
    error = DataError("`drop` is what it is")
    assert str(error) == error.render(loud) == "`drop` is what it is"
    assert (error.argument, error.rule, error.given, error.remedy) == (None,) * 4


def test_phrase_is_a_text():
    phrase = Phrase("use {} or {}", Setting("drop", ["{a}"]), "{b}")
    assert phrase == "use `drop=['{a}']` or {b}"
    assert phrase.spelled(loud) == "use `DROP=['{A}']` or {b}"


def test_classes():
    assert issubclass(InputError, CardQPError)
    assert issubclass(ProblemError, ValueError)
    assert issubclass(ParameterError, ValueError)
    assert issubclass(DataError, OSError)


@pytest.mark.parametrize("kind", [ProblemError, ParameterError, DataError])
@pytest.mark.parametrize("same", [copy.copy, lambda e: pickle.loads(pickle.dumps(e))])
def test_copies_are_equal(kind, same):
    """As errors must be that come from another process."""
    remedy = Phrase("use {}, {}", Setting("drop", ["a"]), "{b}")
    error = kind("eta", "must be positive", given="it is -1", remedy=remedy)
    error.add_note("It is in chunk 3.")
    found = same(error)
    assert type(found) is kind
    assert found.args == error.args
    assert vars(found) == vars(error)
    assert found.render(loud) == error.render(loud)
    assert found.render(loud) != str(error)


def calls():
    """All errors that are made in the package."""
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in CLASSES:
                yield f"{path.relative_to(SOURCES)}:{node.lineno}", node


def names_an_argument(text):
    """Whether a text, as it is in the source, starts with a name in backticks."""
    if isinstance(text, ast.JoinedStr):
        text = text.values[0]
    is_text = isinstance(text, ast.Constant) and isinstance(text.value, str)
    return is_text and text.value.startswith("`")


def test_errors_are_made_of_fields():
    """A text alone must not start with the name of an argument."""
    found = list(calls())
    assert len(found) > 200
    wrong = [
        place
        for place, call in found
        if len(call.args) == 1 and names_an_argument(call.args[0])
    ]
    assert not wrong, f"name the argument and the rule apart: {wrong}"


def test_arguments_are_bare_names():
    """Backticks, colon and full stop are added when an error is written."""
    for place, call in calls():
        fields = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
        for field in fields:
            if isinstance(field, ast.Constant) and isinstance(field.value, str):
                assert not field.value.endswith((".", ":", ";")), place
        if len(call.args) == 2:
            assert not names_an_argument(call.args[0]), place


@pytest.mark.parametrize(
    ("source", "verdict"),
    [
        ('ProblemError("`Q` must be square.")', True),
        ('ProblemError(f"`{name}` must be square: it is {M.shape}.")', True),
        ('ProblemError(f"{name} must be square.")', False),
        ('ProblemError("A branch decides a variable twice.")', False),
        ("ProblemError(text)", False),
    ],
)
def test_the_walk_sees_names(source, verdict):
    call = ast.parse(source).body[0].value
    assert names_an_argument(call.args[0]) is verdict
