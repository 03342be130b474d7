"""All best subsets against enumeration."""

import pytest

import cardqp
from tests.subsets.tables import KINDS, enumerated, random_table


def assert_same(found, table, n_best):
    """Every size and rank is that of the enumeration."""
    total = ((table.y - table.y.mean()) ** 2).sum() + 1e-300
    expected = enumerated(table)
    assert found.sizes == tuple(expected)
    for size, rows in expected.items():
        listed = [each for each in found if each.size == size]
        assert len(listed) == min(n_best, len(rows))
        for each, (rss, support) in zip(listed, rows, strict=False):
            assert each.rss == pytest.approx(rss, rel=1e-8, abs=1e-11 * total)
            assert each.lower_bound <= rss + 1e-12 * total
            assert each.status == "OPTIMAL"
            same = [s for value, s in rows if abs(value - rss) <= 1e-9 * total]
            assert tuple(each.support.tolist()) in same
            assert len(set(map(tuple, same))) == len(same)
            assert support in same


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", range(4))
def test_every_size_and_rank_is_that_of_enumeration(kind, part):
    for seed in range(18 * part, 18 * part + 18):
        table, n_best = random_table(seed, kind), 1 + seed % 4
        found = cardqp.all_subsets(
            table.X, table.y, max_size=12, n_best=n_best, **table.options
        )
        assert_same(found, table, n_best)
