"""Downloads from a server on this machine that ends with the test."""

import socket
import sys
import threading
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from cardqp.exceptions import BackendNotFoundError, DataError
from experiments.datasets import catalogue, download, load_uci
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
        monkeypatch.setattr(catalogue, "ARCHIVE_URL", address)
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
    assert files_below(cache) == [kept]
    assert (cache / name / kept).read_bytes() == archive(name)


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


def test_errors_that_pass(server):
    server.answers = [(503, b"", 0), good(b"<html>Busy</html>"), good(archive())]
    assert load_uci(NAME).X.shape == (ROWS, FEATURES[NAME])
    assert len(server.asked) == 3


def test_not_there(server, cache):
    server.answers = [(404, b"gone", 4)]
    with pytest.raises(DataError, match=r"183/communities\+and\+crime.zip.*404"):
        load_uci(NAME)
    assert files_below(cache) == []


def flipped(data):
    """A member's contents are damaged, the list of members is not."""
    middle = len(data) // 2
    return data[:middle] + bytes(b ^ 255 for b in data[middle:-400]) + data[-400:]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((200, archive()[:-100], len(archive())), "IncompleteRead"),
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


def test_silent_servers(cache, monkeypatch):
    monkeypatch.setattr(download, "_TIMEOUT", 0.05)
    monkeypatch.setattr(download, "_RETRIES", 1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setattr(catalogue, "ARCHIVE_URL", address)
        with pytest.raises(DataError, match="timed out"):
            load_uci(NAME)
    assert files_below(cache) == []


def test_folders_that_cannot_be_written_to(server, cache):
    cache.parent.mkdir()
    cache.touch()
    server.answers = [good(archive())]
    with pytest.raises(DataError, match=r"could not be downloaded: .*CARDQP_DATA"):
        load_uci(NAME)


def test_changed_archives_are_refused(server, cache):
    server.answers = [good(packed({FILES[NAME]: original(NAME)}))]
    load_uci(NAME)
    kept = cache / NAME / ARCHIVE
    kept.write_bytes(flipped(kept.read_bytes()))
    with pytest.raises(DataError, match=r"is damaged: .* get the archive again"):
        load_uci(NAME)
    assert len(server.asked) == 1


def test_expected_checksum(server, cache):
    server.answers = [good(archive())]
    with pytest.raises(DataError, match=r"hash of downloaded file .* does not match"):
        load_uci(NAME, sha256="f00")
    assert files_below(cache) == []
    expected = sha256(archive()).hexdigest().upper()
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
    assert files_below(cache) == []


def test_address_of_the_archive():
    assert catalogue.SPECS["superconductivity"].url == (
        "https://archive.ics.uci.edu/static/public/464/superconductivty+data.zip"
    )


def test_cache_is_the_users(tmp_path, monkeypatch):
    if sys.platform != "linux":
        pytest.skip("other systems have other variables")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert download.cache_folder() == tmp_path / "cardqp"


@pytest.mark.usefixtures("cache")
def test_pooch_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(BackendNotFoundError, match=r"pip install '\.\[experiments\]'"):
        load_uci(NAME)


def test_platformdirs_is_asked_for(monkeypatch):
    monkeypatch.delenv("CARDQP_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    with pytest.raises(BackendNotFoundError, match="Downloads need platformdirs"):
        load_uci(NAME)
