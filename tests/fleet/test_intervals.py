"""Intervals of a fleet: what they hold of a truth that is known, and what moves them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.fleet.answers import answer, base_hardware, load_population
from dse.fleet.breakdown import priced
from dse.fleet.document import FleetDocument
from dse.fleet.intervals import (
    FLEET,
    GAIN_PER_CNODE,
    GAIN_THROUGHPUT,
    GPU_HOURS,
    PORT,
    SPREADS,
    TIME,
    UPGRADE,
    Drawn,
    Number,
    drawn,
    ends,
    parts,
    slowed,
)
from dse.fleet.population import Group, Population
from dse.fleet.reader import read_fleet
from dse.fleet.study import FleetStudy
from dse.model.pai import Hardware, Jobs
from tests.fleet.small import STUDY, written

TRUTHS = 60
SEEN = 200  # jobs of each sample


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> FleetStudy:
    return read_fleet(written(tmp_path_factory.mktemp("fleet")))


@pytest.fixture(scope="module")
def found(study: FleetStudy) -> FleetDocument:
    return answer(study)


def fleet_of(jobs: int, random: np.random.Generator) -> Population:
    """Jobs of two classes that differ by factors, sizes from 1 to 64."""

    def some(median: float, count: int) -> np.ndarray:
        return np.asarray(median * np.exp(0.8 * random.standard_normal(count)))

    groups = []
    for name, count in (("1w1g", jobs // 2), ("ps-worker", jobs - jobs // 2)):
        sizes = np.ones(count) if name == "1w1g" else 2.0 ** random.integers(0, 7, count)
        weights = some(3e8, count) if name == "ps-worker" else np.zeros(count)
        own = Jobs(sizes, some(2e12, count), some(5e10, count), some(3e8, count), weights)
        groups.append(Group(name, own, sizes * some(10, count), np.zeros(count)))
    return Population("fleet", "fleet", "fleet.csv", tuple(groups), None, True, False)


def sample_of(whole: Population, jobs: int, random: np.random.Generator) -> Population:
    """So many jobs of a fleet, drawn at random."""
    at = np.sort(random.choice(whole.size, jobs, replace=False))
    groups, first = [], 0
    for group in whole.groups:
        mine = at[(at >= first) & (at < first + group.size)] - first
        first += group.size
        own = group.jobs
        some = Jobs(*(np.asarray(part)[mine] for part in (
            own.cnodes, own.flops, own.memory_bytes, own.input_bytes, own.weight_bytes,
        )))  # fmt: skip
        groups.append(replace(group, jobs=some, gpu_hours=group.gpu_hours[mine],
                              state_bytes=group.state_bytes[mine]))  # fmt: skip
    return replace(whole, groups=tuple(groups))


def numbers(study: FleetStudy, population: Population, hardware: Hardware) -> dict[Number, Drawn]:
    return drawn(study, priced(population.groups, hardware, study.overlapped), hardware)


def truth(
    study: FleetStudy, whole: Population, hardware: Hardware, factors: dict[str, np.ndarray]
) -> dict[Number, float]:
    """Every number of all jobs where resources are slower by these factors."""
    place = slowed(hardware, factors)
    sums: dict[Number, np.ndarray] = {}
    for entry in priced(whole.groups, place, study.overlapped):
        wide = replace(entry, total_s=np.ravel(entry.total_s))
        for number, above, below in parts(wide, study, hardware, factors):
            own = np.array([np.sum(np.broadcast_to(np.ravel(part), wide.group.size))
                            for part in (above, below)])  # fmt: skip
            sums[number] = sums.get(number, 0.0) + own
    return {number: float(above / below) for number, (above, below) in sums.items()}


def test_they_hold_the_truth_of_a_whole_fleet_nine_times_in_ten(study: FleetStudy) -> None:
    """A sample of the jobs, and constants that the model does not know."""
    random = np.random.default_rng(5)
    whole = fleet_of(20_000, random)
    hardware = base_hardware(study, whole)
    inside: dict[Number, list[bool]] = {}
    for _ in range(TRUTHS):
        factors = {
            name: np.maximum(np.exp(spread * random.standard_normal((1, 1))), hardware.efficiency)
            for name, spread in SPREADS.items()
        }
        true = truth(study, whole, hardware, factors)
        seen = numbers(study, sample_of(whole, SEEN, random), hardware)
        for number, own in seen.items():
            low, high = ends(own.best, own.both)
            inside.setdefault(number, []).append(low <= true[number] <= high)
    held = {number: np.mean(values) for number, values in inside.items()}
    assert len(held) > 15
    assert 0.83 <= np.mean(list(held.values())) <= 0.98, held
    assert min(held.values()) >= 0.75, held  # 60 truths: 0.90 +- 0.04 each


def test_those_by_the_jobs_alone_hold_a_fleet_whose_constants_are_known(study: FleetStudy) -> None:
    random = np.random.default_rng(6)
    whole = fleet_of(20_000, random)
    hardware = base_hardware(study, whole)
    known = {name: np.ones((1, 1)) for name in SPREADS}
    true = truth(study, whole, hardware, known)
    inside = []
    for _ in range(TRUTHS):
        for number, own in numbers(study, sample_of(whole, SEEN, random), hardware).items():
            low, high = ends(own.best, own.jobs)
            inside.append(low <= true[number] <= high)
    assert 0.83 <= np.mean(inside) <= 0.98


def test_best_estimates_are_the_numbers_of_the_document(found: FleetDocument) -> None:
    assert found.intervals is not None
    best = {(row.kind, row.of, row.way): row.best for row in found.intervals.numbers}
    means = found.all_jobs.levels
    assert best[TIME, "weights", "job"] == pytest.approx(means.job.mean["weights"])
    assert best[TIME, "data", "cnode"] == pytest.approx(means.cnode.mean["data"])
    assert best[TIME, "computing", "job"] == pytest.approx(
        means.job.mean["flops"] + means.job.mean["memory"]
    )
    for row in found.upgrades:
        assert best[UPGRADE, row.name, GPU_HOURS] == pytest.approx(row.speedup["all"].gpu_hours)
    for port in found.ports:
        assert best[PORT, port.target, GAIN_PER_CNODE] == pytest.approx(port.gain_per_cnode)
        assert best[PORT, port.target, GAIN_THROUGHPUT] == pytest.approx(port.gain_throughput)
        assert best[PORT, port.target, FLEET] == pytest.approx(port.fleet_speedup_by_gpu_hours)
    for row in found.intervals.numbers:
        assert row.low <= row.best <= row.high
        assert row.jobs_low <= row.best <= row.jobs_high


def test_many_jobs_narrow_what_is_seen_and_not_the_constants() -> None:
    study = read_fleet(Path("search_spaces/papers/pai-ps-worker.yaml"))
    wide, narrow = (
        numbers(few, population, base_hardware(few, population))[Number(TIME, "weights", "job")]
        for few in (replace(study, jobs=500), replace(study, jobs=50_000))
        for population in (load_population(few),)
    )
    assert np.ptp(ends(narrow.best, narrow.jobs)) < 0.2 * np.ptp(ends(wide.best, wide.jobs))
    assert np.ptp(ends(narrow.best, narrow.both)) == pytest.approx(
        np.ptp(ends(wide.best, wide.both)), rel=0.3
    )


def test_a_given_price_is_certain_and_a_network_of_the_catalogue_is_not(
    found: FleetDocument,
) -> None:
    assert found.intervals is not None
    rows = {row.name: row for row in found.intervals.money}
    assert rows["both"].capital_usd == (50_000, 50_000)
    network = rows["100 Gbps Ethernet"].capital_usd
    assert network is not None
    assert network[0] < network[1]
    without_price = rows["Ethernet 40 Gbps"]
    assert without_price.net_usd_per_year is None
    assert without_price.capital_usd is None


def test_money_follows_from_the_speedup_draw_by_draw(found: FleetDocument) -> None:
    """The price of a GPU-hour is given, so that savings are as sure as the speedup."""
    assert found.intervals is not None
    assert found.money is not None
    speedup = next(row for row in found.intervals.numbers
                   if (row.of, row.way) == ("both", GPU_HOURS))  # fmt: skip
    row = next(row for row in found.intervals.money if row.name == "both")
    for end, saved in zip((speedup.low, speedup.high), row.saved_usd_per_year, strict=True):
        expected = found.money.gpu_hours_per_year * (1 - 1 / end) * 2.0
        assert saved == pytest.approx(expected, rel=1e-3)
    assert row.net_usd_per_year is not None
    cost = 50_000 / 4
    assert row.net_usd_per_year[0] == pytest.approx(row.saved_usd_per_year[0] - cost)


def test_one_job_is_as_sure_as_the_constants(tmp_path: Path) -> None:
    table = "class,cnodes,flops,memory_bytes,input_bytes,weight_bytes\n1w1g,1,1e12,50e9,1e6,0\n"
    one = answer(read_fleet(written(tmp_path, STUDY, table))).intervals
    assert one is not None
    assert one.few_jobs
    assert all(row.jobs_low == pytest.approx(row.jobs_high) for row in one.numbers)
    assert not [row for row in one.numbers if row.kind == PORT]
    computing = next(row for row in one.numbers if (row.of, row.way) == ("computing", "job"))
    assert computing.low < computing.high <= 1


def test_no_resource_reaches_more_than_its_peak(study: FleetStudy) -> None:
    population = load_population(study)
    full = replace(base_hardware(study, population), efficiency=1.0)
    own = numbers(study, population, full)[Number(TIME, "data", "job")]
    usual = numbers(study, population, base_hardware(study, population))
    assert own.best == pytest.approx(usual[Number(TIME, "data", "job")].best)
    assert np.all(np.isfinite(own.both))


def test_draws_without_a_value_do_not_count() -> None:
    low, high = ends(2.0, np.array([1.0, np.nan, 3.0, np.inf]))
    assert (low, high) == pytest.approx((1.1, 2.9))
    assert ends(2.0, np.array([np.nan])) == (2.0, 2.0)
