"""What is compiled before the clock starts."""

import pytest

from cardqp.branch_and_bound import dropping, precompile
from cardqp.certificate import dropping as checker


@pytest.mark.parametrize(
    ("module", "name"),
    [(dropping, "estimate_steps"), (dropping, "advance"), (checker, "largest_left")],
)
def test_the_kernels_that_drop_variables_are_called(module, name, monkeypatch):
    calls, kernel = [], getattr(module, name)

    def counted(*arguments):
        calls.append(name)
        return kernel(*arguments)

    monkeypatch.setattr(module, name, counted)
    precompile.load_dropping.__wrapped__()
    assert calls == [name]
