"""Downloads from a server on this machine that ends with the test."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from cardqp.exceptions import DataError
from experiments.datasets import download, load_uci
from tests.experiments.datasets.originals import (
    FEATURES,
    FILES,
    ROWS,
    SLUGS,
    original,
    packed,
)

NAME = "crime"
ARCHIVE = "communities+and+crime.zip"


def archive(name=NAME):
    inner = packed({f"Dataset/Training/{FILES[name]}": original(name)})
    return packed({"index.html": b"", "Dataset.zip": inner})


class Server(HTTPServer):
    """Gives its answers one after the other, the last one again and again."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = []
        self.asked = []


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        answers, asked = self.server.answers, self.server.asked
        status, data, length = answers[min(len(asked), len(answers) - 1)]
        asked.append(self.path)
        self.send_response(status)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(request, monkeypatch):
    request.getfixturevalue("few_rows")
    with Server() as running:
        address = f"http://127.0.0.1:{running.server_port}"
        monkeypatch.setattr(download, "_ARCHIVE_URL", address)
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def good(data):
    return 200, data, len(data)


def files_below(folder):
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", FILES)
def test_download_is_kept(server, cache, name):
    server.answers = [good(archive(name))]
    first, again = load_uci(name), load_uci(name)
    assert server.asked == [f"/{SLUGS[name]}"]
    assert first.X.shape == again.X.shape == (ROWS, FEATURES[name])
    assert first.source == again.source
    kept = SLUGS[name].partition("/")[2]
    assert files_below(cache) == [kept, f"{kept}.sha256"]
    assert (cache / name / kept).read_bytes() == archive(name)
    record = (cache / name / f"{kept}.sha256").read_text()
    assert record == f"{download.sha256(archive(name))}  {kept}\n"


def test_file_put_into_the_cache_by_hand(server, cache):
    (cache / NAME).mkdir(parents=True)
    (cache / NAME / FILES[NAME]).write_bytes(original(NAME))
    assert load_uci(NAME).X.shape == (ROWS, FEATURES[NAME])
    assert server.asked == []


def test_archive_put_into_the_cache_by_hand(server, cache):
    (cache / NAME).mkdir(parents=True)
    (cache / NAME / ARCHIVE).write_bytes(archive())
    assert load_uci(NAME).X.shape == (ROWS, FEATURES[NAME])
    assert server.asked == []


@pytest.mark.parametrize("status", [500, 503, 429])
def test_errors_that_pass(server, status):
    server.answers = [(status, b"", 0), (status, b"", 0), good(archive())]
    assert load_uci(NAME).X.shape == (ROWS, FEATURES[NAME])
    assert len(server.asked) == 3


def test_pauses_grow(server, monkeypatch):
    pauses = []
    monkeypatch.setattr(download, "_PAUSE", 0.5)
    monkeypatch.setattr(download.time, "sleep", pauses.append)
    server.answers = [(500, b"", 0)]
    with pytest.raises(DataError, match="500"):
        load_uci(NAME)
    assert pauses == [0.5, 1.0, 2.0]
    assert len(server.asked) == 4


def test_not_there(server, cache):
    server.answers = [(404, b"gone", 4)]
    with pytest.raises(DataError, match=r"183/communities\+and\+crime.zip.*404"):
        load_uci(NAME)
    assert len(server.asked) == 1
    assert files_below(cache) == []


def flipped(data):
    """A member's contents are damaged, the list of members is not."""
    middle = len(data) // 2
    return data[:middle] + bytes(b ^ 255 for b in data[middle:-400]) + data[-400:]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((200, archive()[:-100], len(archive())), "bytes came instead of"),
        ((200, archive()[:-100], None), "not a readable zip"),
        (good(b"<html>We are down for maintenance</html>"), "not a readable zip"),
        (good(b""), "not a readable zip"),
        (good(packed({"Readme.txt": b"moved"})), "holds no file of the data set"),
        (good(packed({FILES[NAME] + ".gz": b"junk"})), "is damaged"),
        (good(flipped(packed({FILES[NAME]: original(NAME)}))), "is damaged"),
    ],
)
def test_wrong_contents_are_never_kept(server, cache, answer, message):
    server.answers = [answer]
    with pytest.raises(DataError, match=message):
        load_uci(NAME)
    assert files_below(cache) == []
    assert len(server.asked) == 4
    server.answers = [good(archive())]
    assert load_uci(NAME).X.shape == (ROWS, FEATURES[NAME])


def test_endless_answers(server, cache, monkeypatch):
    monkeypatch.setattr(download, "_LARGEST", 1000)
    server.answers = [good(archive())]
    with pytest.raises(DataError, match="more than 1000 bytes"):
        load_uci(NAME)
    assert files_below(cache) == []


def test_silent_servers(cache, monkeypatch):
    monkeypatch.setattr(download, "_TIMEOUT", 0.05)
    monkeypatch.setattr(download, "_RETRIES", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setattr(download, "_ARCHIVE_URL", address)
        with pytest.raises(DataError, match="timed out"):
            load_uci(NAME)
    assert not cache.exists()


@pytest.mark.parametrize("failing", [1, 2])
def test_full_disks_leave_nothing(server, cache, monkeypatch, failing):
    calls = []

    def fsync(_):
        calls.append(1)
        if len(calls) == failing:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(download.os, "fsync", fsync)
    server.answers = [good(archive())]
    with pytest.raises(DataError, match=r"cannot be written: .*No space left"):
        load_uci(NAME)
    assert files_below(cache) == []


def test_changed_archives_are_refused(server, cache):
    server.answers = [good(archive())]
    load_uci(NAME)
    (cache / NAME / ARCHIVE).write_bytes(archive()[:-1])
    with pytest.raises(DataError, match=r"must have the SHA-256 .* remove the file"):
        load_uci(NAME)
    assert len(server.asked) == 1


def test_expected_checksum(server, cache):
    server.answers = [good(archive())]
    with pytest.raises(DataError, match="must have the SHA-256 f00: it has"):
        load_uci(NAME, sha256="f00")
    assert files_below(cache) == []
    expected = download.sha256(archive()).upper()
    assert load_uci(NAME, sha256=expected).X.shape == (ROWS, FEATURES[NAME])
    with pytest.raises(DataError, match="must have the SHA-256 f00: it has"):
        load_uci(NAME, sha256="f00")


@pytest.mark.parametrize("named", ["data_dir", "CARDQP_DATA"])
def test_no_download_when_a_folder_is_named(server, tmp_path, monkeypatch, named):
    empty = tmp_path / "empty"
    empty.mkdir()
    if named == "CARDQP_DATA":
        monkeypatch.setenv("CARDQP_DATA", str(empty))
    server.answers = [good(archive())]
    with pytest.raises(DataError, match="is not in"):
        load_uci(NAME, empty if named == "data_dir" else None)
    assert server.asked == []


def test_offline(cache):
    with pytest.raises(DataError) as caught:
        load_uci("superconductivity")
    url = "http://127.0.0.1:9/464/superconductivty+data.zip"
    folder = str(cache / "superconductivity")
    for part in (url, folder, "CARDQP_DATA", "`data_dir`", "`train.csv`"):
        assert part in str(caught.value)
    assert not cache.exists()


def test_address_of_the_archive():
    assert download.archive_url(464, "superconductivty+data") == (
        "https://archive.ics.uci.edu/static/public/464/superconductivty+data.zip"
    )


@pytest.mark.parametrize(
    ("system", "variables", "folder"),
    [
        ("Linux", {"XDG_CACHE_HOME": "{root}/x"}, "x/cardqp"),
        ("Linux", {"XDG_CACHE_HOME": "not/absolute"}, "home/.cache/cardqp"),
        ("Linux", {}, "home/.cache/cardqp"),
        ("Darwin", {"XDG_CACHE_HOME": "{root}/x"}, "home/Library/Caches/cardqp"),
        ("Windows", {"LOCALAPPDATA": "{root}/local"}, "local/cardqp"),
        ("Windows", {}, "home/AppData/Local/cardqp"),
    ],
)
def test_cache_folder(tmp_path, monkeypatch, system, variables, folder):
    monkeypatch.setattr(download.platform, "system", lambda: system)
    monkeypatch.setattr(download.Path, "home", lambda: tmp_path / "home")
    for variable in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value.format(root=tmp_path))
    assert download.cache_folder() == tmp_path / folder
