import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from cardqp import ProblemError, SparseQP, storage
from cardqp.storage import memory

LITTLE = 2_000_000
"""Bytes that a refusal may take: the zip reader's own, far from what files ask for."""


def header(shape, kind="<f8"):
    stream = io.BytesIO()
    described = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_2_0(stream, described)
    return stream.getvalue()


def archive(path, method=zipfile.ZIP_DEFLATED, **parts):
    with zipfile.ZipFile(path, "w", method) as opened:
        for name, data in parts.items():
            opened.writestr(f"{name}.npy", data)
    return path


def with_size(path, said, packed=None):
    """Write another size into the directory of an archive."""
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    if packed is not None:
        data[at + 20 : at + 24] = struct.pack("<I", packed)
    data[at + 24 : at + 28] = struct.pack("<I", said)
    path.write_bytes(data)
    return path


def refusal(path):
    """The message of a refusal that takes next to no memory."""
    tracemalloc.start()
    try:
        with pytest.raises(ProblemError) as caught:
            storage.read_arrays(path)
        assert tracemalloc.get_traced_memory()[1] < LITTLE
    finally:
        tracemalloc.stop()
    return str(caught.value)


@pytest.mark.parametrize("kind", ["<f8", "<U0", "|V0", "|S0"])
def test_a_header_that_asks_for_terabytes(tmp_path, kind):
    path = archive(tmp_path / "p.npz", Q=header((10**6, 10**6), kind) + bytes(24))
    message = refusal(path)
    assert str(path) in message
    assert "Q.npy says that its entries take" in message
    assert "there are 24" in message


def test_a_header_and_a_directory_that_agree_on_a_lie(tmp_path):
    said, head = 4_000_000_000, header((10**6, 500))
    path = archive(tmp_path / "p.npz", Q=head + bytes(24))
    message = refusal(with_size(path, said))
    assert "Q.npy says that it unpacks to 4000000000 bytes, at most" in message


def test_parts_that_share_their_bytes(tmp_path):
    path = tmp_path / "p.npz"
    storage.write_arrays(path, {"a": np.random.default_rng(0).bytes(10_000)})
    with zipfile.ZipFile(path, "a") as opened:
        for number in range(20):
            twin = zipfile.ZipInfo(f"{number}.npy")
            first = opened.infolist()[0]
            for name in ("compress_type", "compress_size", "file_size", "CRC"):
                setattr(twin, name, getattr(first, name))
            opened.filelist.append(twin)
            opened.NameToInfo[twin.filename] = twin
            twin.header_offset = first.header_offset
        opened._didModify = True
    assert "it says that it holds" in refusal(path)


def test_an_archive_that_unpacks_to_more_than_memory(tmp_path, monkeypatch):
    path = tmp_path / "p.npz"
    storage.write_arrays(path, {"Q": np.zeros((2000, 2000))})
    assert path.stat().st_size < 50_000
    monkeypatch.setattr("cardqp.storage.sizes.available_memory", lambda: 3e7)
    message = refusal(path)
    assert "`path` must fit into memory" in message
    assert "it unpacks to 0.032 GB, 0.03 GB are free" in message


@pytest.mark.parametrize("array", [np.zeros((1500, 1500)), np.eye(1500), np.ones(0)])
def test_zeros_are_as_good_as_any_numbers(tmp_path, array):
    storage.write_arrays(tmp_path / "p.npz", {"a": array})
    again = storage.read_arrays(tmp_path / "p.npz")["a"]
    np.testing.assert_array_equal(again, array)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_of_packing(tmp_path, method):
    path = archive(tmp_path / "p.npz", method, Q=header((1,)) + bytes(8))
    assert "not packed as NumPy does it" in refusal(path)


def test_a_bare_array_that_asks_for_terabytes(tmp_path):
    (tmp_path / "p.npz").write_bytes(header((10**6, 10**6)))
    assert "must be a .npz archive" in refusal(tmp_path / "p.npz")


@pytest.mark.parametrize("shape", ["(" * 300, "(1,", "-1", "(-2, -4)", "(True,)"])
def test_headers_that_make_no_sense(tmp_path, shape):
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    head = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text
    path = archive(tmp_path / "p.npz", Q=head + bytes(64))
    assert refusal(path).startswith("`path` must be a .npz archive")


def test_an_array_that_goes_on_beyond_the_end(tmp_path):
    said = 600
    head = header((said - len(header((100,), "|S1")),), "|S1")
    path = archive(tmp_path / "p.npz", zipfile.ZIP_STORED, Q=head + bytes(380))
    assert len(path.read_bytes()) >= said
    message = refusal(with_size(path, said, packed=said))
    # The zip reader's own error has no words.
    assert message.endswith(f"{path}: EOFError.")


def test_problems_are_read_with_care(tmp_path):
    path = archive(tmp_path / "p.npz", Q=header((10**6, 10**6)))
    with pytest.raises(ProblemError, match="says that its entries take 8000000000000"):
        SparseQP.load(path)


def test_memory_that_the_system_tells_of(tmp_path, monkeypatch):
    use, cap = tmp_path / "use", tmp_path / "cap"
    monkeypatch.setattr(memory, "_USE", use)
    monkeypatch.setattr(memory, "_CAPS", (cap, tmp_path / "none"))
    assert memory.available_memory() > 0
    use.write_text("MemTotal: 9 kB\nMemAvailable: 4 kB\nSwapFree: 1 kB\n")
    assert memory.available_memory() == 5 * 1024
    cap.write_text("max\n")
    assert memory.available_memory() == 5 * 1024
    cap.write_text("2000\n")
    assert memory.available_memory() == 2000
