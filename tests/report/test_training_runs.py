"""dse.report.training_runs: what stands beside a speed, and what is said of a run's length."""

from __future__ import annotations

from dataclasses import replace

from dse.report import offers, tables
from dse.report.design_point import Run
from dse.report.document import RunDocument
from tests.report.documents import document, front_rows

FITTED = (64.0, 1024.0)


def timed(batch: int, base_batch: int, *, fitted: bool = True) -> RunDocument:
    """The toy document with a target: of samples observed at FITTED, or given."""

    def aimed(point, samples, time_s):  # type: ignore[no-untyped-def]
        inside = FITTED[0] <= point.global_batch <= FITTED[1]
        objectives = {name: point.objectives[name] for name in ("speedup", "capital")}
        return replace(point, objectives=objectives, run=Run(
            samples=samples, time_to_target=time_s, per_run=1234.5, energy=7.2e9,
            fitted_batches=FITTED if fitted else None, extrapolated=fitted and not inside,
        ))  # fmt: skip

    plain = document()
    best = replace(plain.recommended, global_batch=batch)
    base = replace(plain.baseline, global_batch=base_batch)
    return replace(
        plain,
        target="accuracy 0.9" if fitted else "2 M samples",
        recommended=aimed(best, 2e6, 86400 * 3.2),
        baseline=aimed(base, 1e6, 86400 * 33.0),
        cheapest_within_5_percent=aimed(plain.cheapest_within_5_percent, 2e6, 5e5),
        fastest=aimed(plain.fastest, 2e6, 1e5),
        front=tuple(aimed(point, 2e6, 1e5) for point in plain.front),
    )


def test_the_time_stands_beside_every_speed() -> None:
    run = timed(512, 128)
    facts = {fact.label: fact for fact in offers.facts(run, run.recommended)}
    assert facts["Time of the run"].value == "3.2 days"
    header, rows = front_rows(run)
    for name in ("time_to_target_s", "run_usd", "run_energy_j", "samples_to_target",
                 "batch_extrapolated"):  # fmt: skip
        assert name in header
    assert {len(row) for row in rows} == {len(header)}
    front = tables.front_table(run)
    assert ("Time to target", True) in front.heads
    assert {len(row.cells) for row in front.rows} == {len(front.heads) - 1}
