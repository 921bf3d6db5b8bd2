"""Lines of prices, samples to a quality, watts, failures and spot machines."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from benchmarks.accuracy import money, power, prices, quality, reliability
from benchmarks.accuracy.board import Line
from benchmarks.accuracy.prices import Price
from benchmarks.convergence import observed
from dse import catalog


@pytest.fixture(scope="module")
def lines() -> list[Line]:
    return money.lines()


def test_a_price_is_told_by_years_before_its_own() -> None:
    rows = [Price(date(2020, 1, 1), 10.0, "a"), Price(date(2020, 9, 1), 8.0, "b"),
            Price(date(2021, 3, 1), 6.0, "a")]  # fmt: skip
    ((price, by),) = prices.of_years_before(rows)
    assert (price, by) == (rows[2], rows[1])


def test_a_price_is_told_by_another_seller_of_the_same_half_year() -> None:
    rows = [Price(date(2020, 1, 1), 10.0, "a"), Price(date(2020, 2, 1), 9.0, "a"),
            Price(date(2020, 3, 1), 8.0, "b"), Price(date(2022, 1, 1), 7.0, "c")]  # fmt: skip
    found = prices.of_other_sellers(rows)
    assert [(pair.price.usd, pair.by.usd) for pair in found] == [(10, 8), (9, 8), (8, 9)]


def test_boards_never_fitted_on_are_none_of_the_catalogue() -> None:
    by_name = prices.prices()
    assert "NVIDIA Tesla K80" in by_name
    assert not any(name in by_name for name in prices.UNCLEAR)
    assert not any("tpu" in name.lower() for name in by_name)


def test_batches_beyond_those_fitted_are_the_largest() -> None:
    for benchmark, left_out in quality.largest_batches():
        batches = observed(benchmark.key)[0]
        assert batches[left_out].min() > batches[~left_out].max()


def test_samples_of_a_batch_left_out_are_predicted_in_the_unit_that_they_were_told_in() -> None:
    """Epochs of a few dozen, too, fewer than samples of a batch, which no run can do with."""
    for line in quality.lines():
        assert np.all((line.ratio > 0.5) & (line.ratio < 2.0))


def test_without_a_source_its_rate_does_not_count() -> None:
    whole = (2.34 * 2.89 * 3.789 * 6.5) ** 0.25
    assert reliability.node_rate() == pytest.approx(whole)
    assert reliability.node_rate("RSC-1") == pytest.approx((2.34 * 2.89 * 3.789) ** (1 / 3))
    assert reliability.node_rate("OPT-175B") == pytest.approx(whole)  # no source of the default


def test_rates_are_found_as_those_of_the_catalogue() -> None:
    """The rule that leaves a source out gives models/failures.yaml where none is."""
    terms = catalog.failure_terms().terms
    per_month = reliability.node_rate() / 1000 / 8 * 365 / 12
    assert per_month == pytest.approx(terms["per_accelerator_month"].value, rel=0.01)
    assert reliability.job_rate_per_day() == pytest.approx(terms["per_job_day"].value, rel=0.02)


def test_spot_levels_are_found_as_those_of_the_catalogue() -> None:
    known = catalog.rental_facts()
    traces = reliability.rows("spot_availability.csv")
    up = [float(row["mean_up_h"]) * (int(row["nodes"]) * int(row["gpus_per_node"]))
          ** known.spell_power for row in traces]  # fmt: skip
    assert np.exp(np.mean(np.log(up))) == pytest.approx(known.spell_s.value / 3600, rel=0.03)
    assert np.std(np.log(up), ddof=1) == pytest.approx(known.spell_s.draws, rel=0.03)


def test_the_share_of_hosts_is_that_of_the_catalogue() -> None:
    share = catalog.default_prices().host_power_share_switched.value
    assert power.share(list(power.machines())) == pytest.approx(share, abs=0.01)


def test_half_of_every_line_is_predicted_within_three_fifths(lines: list[Line]) -> None:
    assert len(lines) == 18
    apart = [line for line in lines if "counted apart" in line.data]
    assert len(apart) == 3
    assert all(np.abs(line.ratio - 1).max() < 0.01 for line in apart), "of rounded medians"
    for line in lines:
        assert line.median < 0.6, line.data
