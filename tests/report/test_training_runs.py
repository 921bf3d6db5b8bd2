"""dse.report.training_runs: what stands beside a speed, and from when a start-up is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dse.report import offers, tables, training_runs
from dse.report.design_point import Point, Run
from tests.report.documents import document, front_rows

DAYS_S = 86_400.0 * 3.2


def aimed(point: Point, start_up_h: float | None = None) -> Point:
    """A point of the toy document with a run of 3.2 days."""
    run = Run(samples=2e6, time_to_target=DAYS_S, per_run=1234.5, energy=7.2e9,
              start_up_s=start_up_h and 3600 * start_up_h)  # fmt: skip
    objectives = {name: point.objectives[name] for name in ("speedup", "capital")}
    return replace(point, objectives=objectives, run=run)


def test_the_time_stands_beside_every_speed() -> None:
    plain = document()
    front = tuple(map(aimed, plain.front))
    run = replace(plain, target="2 M samples", recommended=aimed(plain.recommended), front=front)
    facts = {fact.label: fact for fact in offers.facts(run, run.recommended)}
    assert facts["Time of the run"].value == "3.2 days"
    header, _ = front_rows(run)
    assert {"time_to_target_s", "run_usd", "run_energy_j", "samples_to_target"} <= {*header}
    assert ("Time to target", True) in tables.front_table(run).heads


@pytest.mark.parametrize(("start_up_h", "told"), [(None, False), (7.6, False), (7.7, True)])
def test_a_start_up_of_a_tenth_of_the_time_is_told(start_up_h: float | None, told: bool) -> None:
    """A tenth of 3.2 days is 7.68 h."""
    assert bool(training_runs.start(aimed(document().recommended, start_up_h))) == told
