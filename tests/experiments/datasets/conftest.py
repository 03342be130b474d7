"""No test reads the user's cache, the user's data or another machine."""

from dataclasses import replace

import pooch
import pytest

from experiments.datasets import catalogue, download
from experiments.datasets.catalogue import SPECS
from tests.experiments.datasets.originals import ROWS


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and no folder of data; an address where nobody answers."""
    monkeypatch.delenv("CARDQP_DATA", raising=False)
    monkeypatch.setattr(download, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(catalogue, "ARCHIVE_URL", "http://127.0.0.1:9")
    monkeypatch.setattr(pooch.core.time, "sleep", lambda _: None)
    monkeypatch.setattr(download, "_TIMEOUT", 5.0)
    return tmp_path / "cache" / "uci"


@pytest.fixture
def few_rows(cache, monkeypatch):
    """Files of the data sets are expected to have a few rows only."""
    for name, spec in SPECS.items():
        layouts = tuple(replace(layout, rows=ROWS) for layout in spec.layouts)
        monkeypatch.setitem(SPECS, name, replace(spec, layouts=layouts))
    return cache
