"""dse.model.goodput"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.goodput import IDEAL, SECONDS_PER_DAY, SECONDS_PER_MONTH, Failures, goodput

MINUTE, HOUR = 60.0, 3600.0
# 419 unplanned stops of 16,384 accelerators in 54 days.
LLAMA3 = Failures(419 / (54 * SECONDS_PER_DAY) / 16_384, recover_s=300.0, checkpoint_s=20.0)


def reference(
    accelerators: float, failures: Failures, interval_s: float | None = None
) -> tuple[float, float, float]:
    """Seconds between stops, seconds between checkpoints, share: one point, step by step."""
    rate = accelerators * failures.per_accelerator_s
    rate += min(accelerators / failures.whole_job, 1.0) * failures.per_job_s
    between = math.inf if rate == 0 else 1 / rate
    saving = failures.checkpoint_s
    if interval_s is not None:
        interval = interval_s
    elif rate == 0:
        interval = math.inf
    elif saving == 0:
        interval = 0.0
    elif saving < between * 2:
        part = saving / (2 * between)
        interval = math.sqrt(2 * saving * between) * (1 + math.sqrt(part) / 3 + part / 9) - saving
    else:
        interval = between
    if rate == 0:
        return between, interval, 1 / (1 + saving / interval)
    if interval + saving == 0:
        return between, interval, math.exp(-failures.recover_s / between)
    if (interval + saving + failures.recover_s) / between > 600:  # too little for a float
        return between, interval, 0.0
    spoilt = between * math.expm1((interval + saving) / between)
    return between, interval, interval / (spoilt * math.exp(failures.recover_s / between))


counts = st.one_of(st.just(0), st.just(1), st.just(3), st.integers(0, 2_000_000))
rates = st.one_of(st.just(0.0), st.floats(1e-12, 1e-2))
seconds = st.one_of(st.just(0.0), st.floats(1e-3, 1e7))


@given(st.lists(counts, min_size=1, max_size=5), rates, rates, seconds, seconds,
       st.one_of(st.none(), st.floats(1.0, 1e8)))  # fmt: skip
def test_it_is_the_formula_at_every_point(
    accelerators: list[int], each: float, job: float, recover: float, saving: float,
    interval: float | None,
) -> None:  # fmt: skip
    failures = Failures(each, job, 1024, recover, saving, interval)
    found = goodput(np.array(accelerators), failures)
    for at, count in enumerate(accelerators):
        between, every, share = reference(count, failures, interval)
        assert found.between_stops_s[at] == pytest.approx(between, rel=1e-12)
        assert np.broadcast_to(found.interval_s, found.share.shape)[at] == pytest.approx(
            every, rel=1e-9, abs=1e-9
        )
        assert found.share[at] == pytest.approx(share, rel=1e-9, abs=1e-12)
        assert 0 <= found.share[at] <= 1


def test_a_run_that_stops_before_it_has_recovered_trains_hardly_at_all() -> None:
    failures = Failures(per_job_s=1 / 600, whole_job=1.0, recover_s=6600.0, checkpoint_s=40.0)
    found = goodput([1, 1_000_000], failures)
    assert (found.share < 2e-5).all()
    assert (found.share > 0).all()
    assert found.between_stops_s.tolist() == [600.0, 600.0]


def simulated(between: float, recover: float, saving: float, interval: float, seed: int) -> float:
    """The share that trains, of a run that is played stop by stop."""
    random = np.random.default_rng(seed)
    time, saved, next_stop = 0.0, 0, random.exponential(between)
    while saved < 20_000:
        needed = interval + saving
        if time + needed <= next_stop:
            time, saved = time + needed, saved + 1
            continue
        while True:  # recovering may be stopped as well
            time = next_stop
            next_stop = time + random.exponential(between)
            if time + recover <= next_stop:
                time += recover
                break
    return saved * interval / time


@pytest.mark.parametrize("accelerators", [1_024, 16_384, 100_000, 400_000])
def test_runs_played_stop_by_stop_come_to_the_same(accelerators: int) -> None:
    failures = Failures(0.0137 / SECONDS_PER_MONTH, 2.2 / SECONDS_PER_DAY, 1024, 660.0, 40.0)
    found = goodput(accelerators, failures)
    played = simulated(float(found.between_stops_s), 660.0, 40.0, float(found.interval_s), 7)
    assert played == pytest.approx(float(found.share), rel=0.02)


def test_spot_accelerators_count_whatever_machines_they_are_in() -> None:
    """Machines of 8 V100 stayed 0.76 and 1.16 h in two zones, machines of one 2.69 and 3.70 h."""
    spot = Failures(interruptions_per_s=1 / 11_520, interruption_power=0.37, wait_s=5_400.0)
    held = goodput([1, 8, 64], spot).held
    spells = 5_400.0 * held / (1 - held) / HOUR
    assert spells.tolist() == pytest.approx([3.2, 3.2 / 8**0.37, 3.2 / 64**0.37])
    assert spells[1] / spells[0] < 0.5


def test_without_failures_all_of_the_time_trains() -> None:
    found = goodput([0, 1, 3, 10**6], IDEAL)
    assert found.share.tolist() == [1.0] * 4
    assert np.isinf(found.between_stops_s).all()
    assert np.isinf(found.interval_s).all()


@given(counts, rates, rates, seconds, seconds)
def test_more_accelerators_and_longer_stops_never_gain(
    accelerators: int, each: float, job: float, recover: float, saving: float
) -> None:
    failures = Failures(each, job, 1024, recover, saving)
    worse = Failures(each, job, 1024, recover * 2 + 1, saving)
    share = goodput(accelerators, failures).share
    assert goodput(accelerators, worse).share <= share
    if saving < goodput(2 * accelerators + 1, failures).between_stops_s:
        assert goodput(2 * accelerators + 1, failures).share <= share * (1 + 1e-12)


@given(st.integers(1, 20_000), st.floats(0.1, 10.0))
def test_hardly_any_other_interval_is_better(accelerators: int, factor: float) -> None:
    failures = Failures(0.0137 / SECONDS_PER_MONTH, 2.2 / SECONDS_PER_DAY, 1024, 660.0, 40.0)
    best = goodput(accelerators, failures)
    other = Failures(*list(vars(failures).values())[:-1], float(best.interval_s) * factor)
    assert goodput(accelerators, other).share <= best.share * 1.001


def test_draws_come_before_points() -> None:
    failures = Failures(np.array([[1e-7], [1e-6]]), 0.0, 1.0, 600.0, np.array([[40.0], [20.0]]))
    found = goodput(np.array([1, 8, 64]), failures)
    assert found.share.shape == (2, 3)
    for row, (each, saving) in enumerate(((1e-7, 40.0), (1e-6, 20.0))):
        alone = goodput(np.array([1, 8, 64]), Failures(each, 0.0, 1.0, 600.0, saving))
        assert found.share[row].tolist() == alone.share.tolist()


def test_llama_3_had_over_90_percent_with_automatic_restarts_within_minutes() -> None:
    found = goodput(16_384, LLAMA3)
    assert float(found.between_stops_s) / HOUR == pytest.approx(54 * 24 / 419)
    # sqrt(2 * 20 s * 11,135 s) (1 + sqrt(0.000898) / 3 + 0.0001) - 20 s
    assert float(found.interval_s) == pytest.approx(654.1, abs=0.1)
    # 654.1 / (11,135 exp(300 / 11,135) (exp(674.1 / 11,135) - 1))
    assert float(found.share) == pytest.approx(0.9163, abs=1e-4)


def test_opt_175b_had_59_percent_with_people_restarting_it() -> None:
    """About 90 restarts in 33 days; where people had to look, hours went by."""
    failures = Failures(0.0, 90 / (33 * SECONDS_PER_DAY), 1, 4 * HOUR, 2 * MINUTE, HOUR)
    assert float(goodput(1024, failures).share) == pytest.approx(0.59, abs=0.02)
    automatic = Failures(0.0, 90 / (33 * SECONDS_PER_DAY), 1, 11 * MINUTE, 40.0)
    assert float(goodput(1024, automatic).share) > 0.92


def test_nodes_alone_do_not_explain_the_stops_of_1024_accelerators() -> None:
    """RSC-1: 6.5 failures in 1,000 node-days leave 28.8 h, measured were 7.9 h."""
    each = 6.5e-3 / 8 / SECONDS_PER_DAY
    nodes = goodput(1024, Failures(each))
    assert float(nodes.between_stops_s) / HOUR == pytest.approx(28.8, abs=0.1)
    jobs = goodput([8, 1024], Failures(each, 2.2 / SECONDS_PER_DAY, 1024))
    assert float(jobs.between_stops_s[1]) / HOUR == pytest.approx(7.9, abs=0.05)
    assert float(jobs.between_stops_s[0]) / HOUR / 24 == pytest.approx(47.7, rel=0.2)
