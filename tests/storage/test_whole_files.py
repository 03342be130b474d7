import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from cardqp import storage

SAVES = 20

WRITER = """
import sys
import numpy as np
from cardqp import storage
path, number, saves = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for _ in range(saves):
    storage.write_arrays(path, {"a": np.full(1000 * (1 + number), number)})
"""


def test_a_link_stays_a_link(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    storage.write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def write_half(path):
    with storage.replacing(path) as stream:
        stream.write(b"half")
        stream.write("\ud800".encode())


def test_a_failed_write_leaves_nothing(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_half(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def is_whole(path):
    array = storage.read_arrays(path)["a"]
    return len(array) == 1000 * (1 + array[0]) and bool(np.all(array == array[0]))


def test_threads_that_save_and_read_one_file(tmp_path):
    path = tmp_path / "run.npz"
    storage.write_arrays(path, {"a": np.zeros(1000, dtype=int)})

    def save(number):
        for _ in range(SAVES):
            storage.write_arrays(path, {"a": np.full(1000 * (1 + number), number)})
        return True

    def read(_):
        return all(is_whole(path) for _ in range(SAVES))

    with ThreadPoolExecutor(6) as pool:
        jobs = [pool.submit(save, number) for number in range(4)]
        jobs += [pool.submit(read, number) for number in range(2)]
        assert all(job.result() for job in jobs)
    assert list(tmp_path.iterdir()) == [path]


def test_processes_that_save_one_file(tmp_path):
    path = tmp_path / "run.npz"
    storage.write_arrays(path, {"a": np.zeros(1000, dtype=int)})
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(number), str(5 * SAVES)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    while any(run.poll() is None for run in runs):
        assert is_whole(path)
    assert [run.communicate()[1] for run in runs] == ["", "", ""]
    assert list(tmp_path.iterdir()) == [path]


def test_a_planted_link_is_not_followed(tmp_path, monkeypatch):
    victim, path = tmp_path / "victim", tmp_path / "run.txt"
    victim.write_text("mine")
    (tmp_path / "run.txt.part").symlink_to(victim)
    storage.write_text(path, "new")
    # Even one who guesses the name of the temporary file gets nothing.
    monkeypatch.setattr("secrets.token_hex", lambda _: "guessed")
    (tmp_path / ".cardqp-guessed.part").symlink_to(victim)
    with pytest.raises(FileExistsError, match=r"run\.txt"):
        storage.write_text(path, "newer")
    assert path.read_text() == "new"
    assert victim.read_text() == "mine"
    assert (tmp_path / ".cardqp-guessed.part").is_symlink()


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_modes(tmp_path):
    def mode_of(path):
        return stat.S_IMODE(path.stat().st_mode)

    ordinary, kept = tmp_path / "ordinary", tmp_path / "kept"
    ordinary.touch()
    storage.write_text(tmp_path / "new", "text")
    assert mode_of(tmp_path / "new") == mode_of(ordinary)
    kept.touch()
    for mode in (0o600, 0o664, 0o444):
        kept.chmod(mode)
        storage.write_text(kept, "text")
        assert mode_of(kept) == mode


def test_a_secret_is_never_open_to_others(tmp_path):
    path = tmp_path / "secret"
    path.touch()
    path.chmod(0o600)
    with storage.replacing(path) as stream:
        assert stat.S_IMODE(os.fstat(stream.fileno()).st_mode) & 0o077 == 0


def test_errors_name_the_file_that_was_asked_for(tmp_path):
    path = tmp_path / "nowhere" / "run.npz"
    with pytest.raises(FileNotFoundError) as caught:
        storage.write_arrays(path, {"a": np.zeros(2)})
    assert caught.value.filename == str(path)


def test_contents_are_on_the_disk_before_the_file_is_replaced(tmp_path, monkeypatch):
    done = []
    fsync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda fd: done.append("fsync") or fsync(fd))
    monkeypatch.setattr(
        Path, "replace", lambda a, b: done.append("replace") or replace(a, b)
    )
    storage.write_text(tmp_path / "file", "text")
    assert done == ["fsync", "replace"]
