import pytest

from cardqp.cli import compile_notice


@pytest.fixture(autouse=True)
def _is_compiled_silently(monkeypatch):
    """What a command says does not depend on what other tests compiled."""
    monkeypatch.setattr(compile_notice, "AFTER", float("inf"))
