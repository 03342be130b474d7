import json
from dataclasses import replace

import numpy as np
import pytest

from cardqp import ParameterError
from experiments.reproduce.config import load_study
from experiments.reproduce.store import Store, fingerprint, locked
from experiments.reproduce.work import Task


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "rows", load_study("tab1", quick=True))


def entry(store, replication):
    rows = [{"eta": 10.0, "replication": replication, "size": np.int64(3)}]
    store.append(Task(store.study, 10.0, replication), rows)


def test_rows_come_back(store):
    assert store.read() == {}
    entry(store, 0)
    entry(store, 1)
    assert store.read()["10.0/1"] == [{"eta": 10.0, "replication": 1, "size": 3}]
    line = json.loads(store.path.read_text().splitlines()[0])
    assert {"cardqp", "numpy", "python"} <= set(line["versions"])


@pytest.mark.parametrize("left", [1, 10, -1])
def test_unfinished_line_is_cut_off(store, left):
    entry(store, 0)
    whole = store.path.read_bytes()
    with store.path.open("ab") as stream:
        stream.write(whole[:left])
    assert list(store.read()) == ["10.0/0"]
    store.repair()
    assert store.path.read_bytes() == whole
    entry(store, 1)
    assert list(store.read()) == ["10.0/0", "10.0/1"]


def test_other_configuration_has_other_rows(store):
    study = store.study
    settings = {**study.settings, "snr": 3.0}
    other = Store(store.folder, replace(study, settings=settings))
    more = Store(store.folder, replace(study, replications=9))
    entry(store, 0)
    assert other.path != store.path
    assert other.read() == {}
    assert more.path == store.path
    assert fingerprint(load_study("tab1")) != fingerprint(study)


def test_two_runs_do_not_write_to_one_folder(tmp_path):
    pytest.importorskip("fcntl", reason="locks need POSIX")
    with (
        locked(tmp_path),
        pytest.raises(ParameterError, match="another run"),
        locked(tmp_path),
    ):
        pass
    with locked(tmp_path):
        pass


@pytest.mark.parametrize("name", ["file", "file/within"])
def test_no_folder_where_a_file_is(tmp_path, name):
    (tmp_path / "file").touch()
    with (
        pytest.raises(ParameterError, match="`out` must be a folder: a file is where"),
        locked(tmp_path / name),
    ):
        pass


def test_a_lock_empties_no_file(tmp_path):
    victim, folder = tmp_path / "victim", tmp_path / "rows"
    victim.write_text("mine")
    folder.mkdir()
    (folder / ".lock").symlink_to(victim)
    with locked(folder):
        assert victim.read_text() == "mine"
