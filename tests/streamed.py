"""Small problems that are streamed as if they had very many columns."""

from dataclasses import replace

from cardqp.branch_and_bound.settings import SearchSettings
from cardqp.branch_and_bound.streamed.settings import StreamedSettings
from cardqp.branch_and_bound.streamed.size import is_worth_streaming
from cardqp.methods.exact import Exact
from cardqp.problem.column_blocks import BlockSizes


def settings(**fields):
    """Settings that stream problems of any size."""
    return StreamedSettings(**{"min_columns": 0} | fields)


def search_settings(nodes=4, **fields):
    """Settings of searches, with such settings; nodes are processed so many at once."""
    streamed = settings(**fields)
    return SearchSettings(batch_size=nodes, streamed=streamed)


def exact(nodes=4, **fields):
    """The exact search, with such settings; nodes are processed so many at once."""
    return Exact(search_settings(nodes, **fields))


def in_blocks(problem, **sizes):
    """The problem with its data read in blocks of another size."""
    form = replace(problem.quadratic, block_sizes=BlockSizes(**sizes))
    return problem.with_quadratic(form)


def stream_everything(monkeypatch, **fields):
    """For methods that carry no settings of the streamed search, and for estimators."""
    found = search_settings(**fields)
    for module in ("searches", "solve"):
        path = f"cardqp.pipeline.{module}.search_settings"
        monkeypatch.setattr(path, lambda _: found)
    monkeypatch.setattr(
        "cardqp.regression.design.is_worth_streaming",
        lambda n_samples, n: is_worth_streaming(n_samples, n, found.streamed),
    )
