"""How the seconds allowed for measuring are shared out."""

from __future__ import annotations

from time import monotonic

import pytest

from dse.calibration.runners.parameter_servers import turns
from dse.calibration.runners.plan import MAX_RUNS, MeasurePlan, affordable, run_texts, shared
from dse.calibration.runners.registry import Request
from dse.errors import MeasurementError


def test_small_budgets_lose_the_largest_counts_but_keep_an_odd_one() -> None:
    plan = MeasurePlan(ranks=(2, 3, 4, 8))
    assert affordable(plan, 1000.0, 3.0) == ([2, 3, 4, 8], MAX_RUNS)
    assert affordable(plan, 12.0, 3.0) == ([2, 3, 4], 1)
    assert affordable(MeasurePlan(ranks=(2, 4, 8, 16, 17)), 12.0)[0] == [2, 4, 17]
    with pytest.raises(MeasurementError, match="budget_s 6 or more"):
        affordable(plan, 4.0, 3.0)


def test_starts_that_take_long_leave_fewer_runs() -> None:
    plan = MeasurePlan(ranks=(2, 3))
    assert [affordable(plan, 60.0, 12.0, again_s)[1] for again_s in (0.0, 12.0)] == [5, 3]


def test_servers_go_round_as_often_as_they_can() -> None:
    starts = [(1, 1), (2, 1)]
    done = [(run, start) for run, start, _ in turns(starts, Request(1000.0), cores=2)]
    assert done == [(run, one) for run in range(1, MAX_RUNS + 1) for one in starts]
    assert sum(share for _, _, share in turns(starts, Request(20.0), cores=2)) < 60.0


def test_what_is_left_is_shared_among_the_runs_and_told() -> None:
    told = list[tuple[int, int, str]]()
    texts = run_texts((2, 4), 2)
    turns = shared(texts, 30.0, lambda *what: told.append(what), monotonic(), 3.0)
    shares = [share_s for _, share_s in turns]
    assert shares == pytest.approx([12.0, 27.0], abs=0.5)  # nothing was spent in the first
    assert told == [(0, 2, "2, 4 ranks, run 1 of 2"), (1, 2, "2, 4 ranks, run 2 of 2"),
                    (2, 2, "done")]  # fmt: skip
