from __future__ import annotations

import numpy as np

from benchmarks import price_spread
from benchmarks.price_spread import Pair, fitted


def test_the_file_is_what_the_observations_give() -> None:
    assert price_spread.OUT.read_text(encoding="utf-8") == price_spread.text()


def test_the_fit_finds_what_pairs_were_drawn_from() -> None:
    rng = np.random.default_rng(3)
    sellers, root_year = 0.2, 0.5
    drawn = []
    for years in rng.uniform(0, 6, size=6000):
        spread = np.sqrt(2 * sellers**2 + root_year**2 * years)
        drawn.append(Pair(float(years), float(spread * rng.standard_normal()), 1.0))
    found = fitted(drawn)
    np.testing.assert_allclose([found.sellers, found.root_year], [sellers, root_year], rtol=0.1)


def test_prices_of_an_accelerator_left_out_lie_in_the_interval_of_the_others() -> None:
    """Pairs of one accelerator, judged by the parameters that all others give."""
    by_accelerator = price_spread.priced("purchase")
    inside = []
    for name in by_accelerator:
        others = {other: rows for other, rows in by_accelerator.items() if other != name}
        drift = fitted(price_spread.pairs_of(others))
        for pair in price_spread.pairs_of({name: by_accelerator[name]}):
            variance = 2 * drift.sellers**2 + drift.root_year**2 * pair.years
            inside.append(abs(pair.log_ratio) < 1.645 * np.sqrt(variance))
    assert len(inside) > 100
    assert 0.83 <= np.mean(inside) <= 0.98
