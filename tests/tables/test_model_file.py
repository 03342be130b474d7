import json

import numpy as np
import pandas
import pytest

import cardqp
from cardqp.exceptions import DataError
from cardqp.tables import ModelFile, Proof, TableEncoder

PROOF = Proof("OPTIMAL", 1.5, 1.4999, 1e-5, 10.0, 2, 5)


@pytest.fixture
def frame():
    return pandas.DataFrame(
        {
            "unused": [1, 2, 3, 4, 5],
            "city": ["Rome", "Paris", "Rome", "Oslo", "Rome"],
            "größe": [1.5, 2.5, 0.5, 1.0, 4.0],
            "y": [1.0, 2.0, 3.0, 4.0, 5.0],
        }
    )


@pytest.fixture
def model(frame):
    encoder = TableEncoder.from_table(frame, "y", missing="drop")
    return ModelFile.of(encoder, np.array([0.0, 0.0, 2.0, -1.0]), 0.5, PROOF)


def test_predictions(model, frame):
    # The features are unused, city=Oslo, city=Paris and größe.
    expected = 0.5 + 2.0 * (frame["city"] == "Paris") - frame["größe"]
    assert model.predict(frame).tolist() == expected.tolist()
    assert model.coefficients == {"city=Paris": 2.0, "größe": -1.0}
    assert model.target == "y"


def test_only_the_columns_that_are_used_are_needed(model, frame):
    new = frame[["größe", "city"]].copy()
    assert model.predict(new).tolist() == model.predict(frame).tolist()
    new.loc[1, "größe"] = np.nan
    assert np.isnan(model.predict(new)).tolist() == [False, True, False, False, False]
    with pytest.raises(DataError, match="it lacks `größe`"):
        model.predict(frame[["city"]])


def test_stored_models(model, frame, tmp_path):
    path = tmp_path / "model.json"
    path.write_text("old")
    model.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]
    again = ModelFile.load(path)
    assert again == model
    assert again.cardqp == cardqp.__version__
    assert again.predict(frame).tolist() == model.predict(frame).tolist()


def test_a_failed_write_keeps_the_old_file(model, tmp_path):
    path = tmp_path / "model.json"
    path.write_text("old")
    broken = ModelFile(model.encoder, {"größe": float("nan")}, 0.0, PROOF)
    with pytest.raises(ValueError, match="not JSON compliant"):
        broken.save(path)
    assert path.read_text() == "old"


def change(entry, key, value):
    inner = entry["proof"] if key in entry["proof"] else entry
    inner[key] = value


TAMPERED = [
    ("format", "pickle", "it is another file"),
    ("version", 2, "its version is 2, not 1"),
    ("recipe", None, "`recipe` is missing"),
    ("coefficients", [1], "`coefficients` is missing"),
    ("proof", None, "`proof` is missing"),
    ("cardqp", None, "`cardqp` is missing"),
    ("intercept", 10**400, "`intercept` must be a finite number"),
    ("intercept", "0", "`intercept` must be a finite number, it is '0'"),
    ("intercept", True, "`intercept` must be a finite number"),
    ("coefficients", {"größe": None}, "`größe` must be a finite number"),
    ("coefficients", {"weight": 1.0}, "the coefficient of 'weight' has no column"),
    ("recipe", {"target": "y"}, "`recipe` must say how columns are encoded"),
    ("status", 1, "`status` is missing"),
    ("eta", "x", "`eta` must be a finite number, it is 'x'"),
    ("n_rows", None, "`n_rows` must be a finite number, it is None"),
    ("gap", "x", "`gap` must be a finite number, it is 'x'"),
]


@pytest.mark.parametrize(("key", "value", "message"), TAMPERED)
def test_tampered_models(model, tmp_path, key, value, message):
    path = tmp_path / "model.json"
    model.save(path)
    entry = json.loads(path.read_text())
    change(entry, key, value)
    path.write_text(json.dumps(entry))
    with pytest.raises(
        DataError, match=f"must be a model of cardqp: .*{message}"
    ) as err:
        ModelFile.load(path)
    assert "\n" not in str(err.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b"\x80\x04]", b"[" * 100_000])
def test_what_is_no_json(tmp_path, content):
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match="must be a model in JSON") as err:
        ModelFile.load(path)
    assert "\n" not in str(err.value)


def test_foreign_json(tmp_path):
    path = tmp_path / "model.json"
    for content in ("[]", "3", "{}"):
        path.write_text(content)
        with pytest.raises(DataError, match="it is another file"):
            ModelFile.load(path)


def test_what_is_no_file(tmp_path):
    for path in (tmp_path, tmp_path / "missing.json"):
        with pytest.raises(DataError, match="there is no such file"):
            ModelFile.load(path)


def test_half_letters(model, tmp_path):
    path = tmp_path / "model.json"
    model.save(path)
    path.write_text(path.read_text().replace('"y"', r'"\ud800"'))
    with pytest.raises(DataError, match=r"must be a model in JSON: .*surrogates"):
        ModelFile.load(path)
