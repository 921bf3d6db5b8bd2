"""How the seconds allowed for measuring are shared out."""

from __future__ import annotations

import pytest

from dse.calibration.runners.plan import (
    MAX_PASSES,
    Budget,
    MeasurePlan,
    affordable_counts,
    affordable_groups,
    server_budget,
    weight,
)
from dse.errors import MeasurementError


def test_small_budgets_lose_the_largest_counts_but_keep_an_odd_one() -> None:
    plan = MeasurePlan(ranks=(2, 3, 4, 8, 16))
    assert affordable_counts(plan, 1000, 2) == ((2, 3, 4, 8, 16), MAX_PASSES)
    counts, passes = affordable_counts(plan, 12, 2)
    assert counts == (2, 3, 4)
    assert passes == 1
    assert affordable_counts(MeasurePlan(ranks=(2, 4, 8, 16, 17)), 12, 8)[0][-1] == 17


def test_small_torch_budgets_lose_the_largest_counts_and_hopeless_ones_are_refused() -> None:
    plan = MeasurePlan(ranks=(2, 3, 4, 8))
    assert affordable_groups(plan, 1000.0) == ([2, 3, 4, 8], MAX_PASSES)
    assert affordable_groups(plan, 12.0) == ([2, 3, 4], 1)
    with pytest.raises(MeasurementError, match="budget_s 6 or more"):
        affordable_groups(plan, 4.0)


def test_the_budget_goes_round_as_often_as_it_can() -> None:
    starts = [(1, 1), (2, 1)]
    turns = [(run, start) for run, start, _ in server_budget(starts, 1000.0, cores=2).turns()]
    assert turns == [(run, one) for run in range(1, MAX_PASSES + 1) for one in starts]
    assert sum(share for _, _, share in server_budget(starts, 20.0, cores=2).turns()) < 60.0


def test_what_is_left_is_shared_by_weight_and_told() -> None:
    told = list[tuple[int, int, str]]()
    budget = Budget(
        (2, 4),
        1,
        30.0,
        lambda run, ranks: f"{ranks} ranks, run {run}",
        lambda *what: told.append(what),
        weight=lambda ranks: weight(ranks, 2),
    )
    shares = [(run, ranks, share_s) for run, ranks, share_s in budget.turns()]
    assert [turn[:2] for turn in shares] == [(1, 2), (1, 4)]
    assert shares[0][2] == pytest.approx(10.0, abs=0.5)  # nothing was spent in it
    assert shares[1][2] == pytest.approx(30.0, abs=0.5)
    assert told == [(0, 2, "2 ranks, run 1"), (1, 2, "4 ranks, run 1"), (2, 2, "done")]


def test_slow_starts_leave_less_to_measure() -> None:
    budget = server_budget([(1, 1), (2, 1)], 20.0, cores=2)
    turns = budget.turns()
    _, first, share_s = next(turns)
    budget.spent(first, share_s + 8.0, [{"kind": "end", "seconds": share_s}])
    _, _, after_s = next(turns)
    quick = server_budget([(1, 1), (2, 1)], 20.0, cores=2).turns()
    next(quick)
    assert after_s == pytest.approx(next(quick)[2] - 3.75, abs=0.5)  # 2.5 s, guessed 2.5x as long
