"""What upgrades are worth once the jobs have moved that a move makes faster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.fleet.answers import answer
from dse.fleet.document import FleetDocument
from dse.fleet.intervals import AFTER_MOVE, FLEET, GPU_HOURS, PORT, UPGRADE
from dse.fleet.moved_jobs import after_move
from dse.fleet.other_models import paper
from dse.fleet.population import Group
from dse.fleet.reader import read_fleet
from dse.fleet.upgrades import Upgrade
from dse.model.pai import ALLREDUCE_LOCAL, ONE_WORKER_ONE_GPU, PS_WORKER, Hardware, Jobs
from tests.fleet.small import STUDY, written

BASE = Hardware(11e12, 1e12, 10e9, 25e9 / 8, 50e9, 0.7, 8.0, True)
FASTER = Upgrade("faster", {"ethernet": 100e9 / 8}, {"ethernet": "100 Gbps"})
HOURS_A_YEAR = 100 * 8760 * 0.5  # of the GPUs of STUDY


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> FleetDocument:
    return answer(read_fleet(written(tmp_path_factory.mktemp("fleet"))))


def step_s(job: tuple[float, ...], ethernet: float, local: bool) -> float:
    """One PS/Worker job by hand, where it is or as AllReduce-Local."""
    cnodes, flops, memory, data, weights = job
    sharing = min(cnodes, 8.0) if local else 1.0
    times = data * sharing / 10e9 + flops / 11e12 + memory / 1e12
    times += weights / 50e9 if local else weights / ethernet + weights / 10e9
    return times / 0.7


job = st.tuples(
    st.integers(2, 64).map(float), st.floats(1e10, 1e13), st.floats(1e9, 1e12),
    st.floats(1e5, 1e10), st.floats(1e6, 1e10),
)  # fmt: skip


@settings(max_examples=60)
@given(st.lists(job, min_size=1, max_size=6), st.floats(0.1, 10.0))
def test_every_job_is_where_it_is_faster_on_each_hardware(
    jobs: list[tuple[float, ...]], alone_hours: float
) -> None:
    columns = np.array(jobs).T
    hours = columns[0] * 3.0
    moving = Group(PS_WORKER, Jobs(*columns), hours, np.zeros(len(jobs)))
    one = np.ones(1)
    single = Group(ONE_WORKER_ONE_GPU, Jobs(one, one * 1e12, one * 1e11, one * 1e7, one * 0.0),
                   one * alone_hours, np.zeros(1))  # fmt: skip
    seen = after_move(
        [(moving, 1.0), (single, 1.0)], ALLREDUCE_LOCAL, BASE, [FASTER], paper(False), None
    )
    left = {}
    for name, ethernet in (("base", 25e9 / 8), ("faster", 100e9 / 8)):
        left[name] = alone_hours + sum(
            held * min(step_s(one, ethernet, False), step_s(one, ethernet, True))
            / step_s(one, 25e9 / 8, False)
            for one, held in zip(jobs, hours, strict=True)
        )  # fmt: skip
    assert seen.move == pytest.approx((hours.sum() + alone_hours) / left["base"], rel=1e-6)
    assert seen.upgrades["faster"] == pytest.approx(left["base"] / left["faster"], rel=1e-6)
    assert seen.upgrades["faster"] >= 1 - 1e-9


def test_a_job_whose_state_does_not_fit_stays_and_gains_as_before() -> None:
    columns = np.array([[16.0, 1e12, 5e10, 1e7, 5e8]]).T
    held = Group(PS_WORKER, Jobs(*columns), np.ones(1), np.array([32e9]))
    stays = after_move([(held, 1.0)], ALLREDUCE_LOCAL, BASE, [FASTER], paper(False), 16e9)
    goes = after_move([(held, 1.0)], ALLREDUCE_LOCAL, BASE, [FASTER], paper(False), 64e9)
    assert stays.move == 1.0
    assert stays.upgrades["faster"] > 1.5
    assert goes.move > 1.5
    assert goes.upgrades["faster"] == pytest.approx(1.0)


def test_the_upgrade_is_worth_what_both_save_less_what_the_move_saves(found: FleetDocument) -> None:
    assert found.money is not None
    move = max(found.ports, key=lambda port: port.fleet_speedup_by_gpu_hours)
    for row in found.money.upgrades:
        then = row.after_move
        assert then is not None
        assert then.target == move.target
        m, s = move.fleet_speedup_by_gpu_hours, then.speedup
        saved = 2 * HOURS_A_YEAR * ((1 - 1 / (m * s)) - (1 - 1 / m))
        assert then.saved_usd_per_year == pytest.approx(saved)
        if row.cost_usd_per_year is not None:
            assert then.net_usd_per_year == pytest.approx(saved - row.cost_usd_per_year)
        # Together never less than either alone.
        as_it_is = next(one for one in found.upgrades if one.name == row.name)
        assert m * s >= as_it_is.speedup[found.whole].gpu_hours * (1 - 1e-12)


def test_the_intervals_are_of_the_same_numbers_and_draws(found: FleetDocument) -> None:
    assert found.intervals is not None
    assert found.money is not None
    numbers = {(row.kind, row.of, row.way): row for row in found.intervals.numbers}
    bands = {(row.kind, row.name): row for row in found.intervals.money}
    for row in found.money.upgrades:
        then = row.after_move
        assert then is not None
        assert numbers[AFTER_MOVE, row.name, GPU_HOURS].best == pytest.approx(then.speedup)
        seen, as_is = bands[AFTER_MOVE, row.name], bands[UPGRADE, row.name]
        low, high = seen.saved_usd_per_year
        assert low <= then.saved_usd_per_year <= high
        assert seen.capital_usd == as_is.capital_usd
        if seen.pays is not None and as_is.pays is not None and row.name == "100 Gbps Ethernet":
            assert seen.pays <= as_is.pays
    move = max(found.ports, key=lambda port: port.fleet_speedup_by_gpu_hours)
    assert (PORT, move.target, FLEET) in numbers


def test_other_models_price_it_after_the_same_move(found: FleetDocument) -> None:
    assert found.money is not None
    costs = {row.name: row.cost_usd_per_year for row in found.money.upgrades}
    targets = {row.after_move.target for row in found.money.upgrades if row.after_move}
    for row in found.by_model:
        assert row.after_move is not None
        assert {row.after_move.target} == targets
        cost = costs[row.upgrade]
        if cost is not None:
            saved = row.after_move.saved_usd_per_year
            assert row.after_move.net_usd_per_year == pytest.approx(saved - cost)


@pytest.mark.parametrize("part", ["ports: [allreduce-local, pearl]\n", "money"])
def test_without_a_move_or_money_nobody_asks(part: str, tmp_path: Path) -> None:
    study = STUDY.replace(part, "") if part.startswith("ports") else STUDY[: STUDY.index("money")]
    bare = answer(read_fleet(written(tmp_path, study)))
    rows: list[Any] = [*bare.by_model, *(bare.money.upgrades if bare.money else ())]
    assert all(row.after_move is None for row in rows)
    assert bare.intervals is not None
    assert all(row.kind != AFTER_MOVE for row in bare.intervals.numbers)
