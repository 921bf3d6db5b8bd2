"""dse.study.quantities: what every point has a number of."""

from __future__ import annotations

from dse.study.quantities import COSTS, QUANTITIES
from dse.units import DIMENSIONS


def test_the_costs_of_a_cluster_do_not_hang_on_a_run() -> None:
    """What a study may minimise without saying how long it trains, and pays for all the same."""
    assert {row.name for row in COSTS} == {"capital", "hourly", "tco", "power"}
    assert all(row.phrase is not None for row in COSTS)


def test_every_row_has_a_dimension_and_a_column_of_its_own() -> None:
    assert all(row.dimension in DIMENSIONS for row in QUANTITIES.values())
    assert len({row.column for row in QUANTITIES.values()}) == len(QUANTITIES)
