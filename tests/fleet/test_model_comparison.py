"""dse's own model on a fleet's jobs: where it agrees with the paper's, and where it does not."""

from __future__ import annotations

import numpy as np
import pytest

from dse.fleet.breakdown import priced
from dse.fleet.model_comparison import (
    EXCHANGES,
    Effects,
    aggregation_s,
    compare_models,
    step_s,
)
from dse.fleet.recipe import population_path, read_recipe
from dse.fleet.sampling import draw
from dse.model import pai
from dse.model.pai import Hardware, Jobs

BASE = Hardware(11e12, 1e12, 10e9, 25e9 / 8, 50e9)
JOBS = Jobs(np.array([2.0, 8.0, 64.0]), 1e12, 50e9, 1e6, 400e6)


def test_every_architecture_of_the_paper_exchanges_in_one_way() -> None:
    assert set(EXCHANGES) == set(pai.ARCHITECTURES)
    for architecture in ("1w1g", "1wng"):
        ours = aggregation_s(architecture, JOBS, BASE, Effects(True, 4.0, True))
        paper = pai.step_times(architecture, JOBS, BASE).weights_s
        np.testing.assert_array_equal(ours, paper)


def test_push_and_pull_without_software_is_the_papers_ps_worker() -> None:
    ours = aggregation_s("ps-worker", JOBS, BASE, Effects())
    np.testing.assert_allclose(ours, pai.step_times("ps-worker", JOBS, BASE).weights_s)


def test_a_ring_moves_all_but_one_part_in_n_of_the_papers_bytes() -> None:
    jobs = Jobs(np.array([2.0, 4.0, 8.0]), 1e12, 50e9, 1e6, 400e6)
    ours = aggregation_s("allreduce-local", jobs, BASE, Effects())
    paper = pai.step_times("allreduce-local", jobs, BASE).weights_s
    np.testing.assert_allclose(ours, np.array([1 / 2, 3 / 4, 7 / 8]) * paper)


@pytest.mark.parametrize("architecture", ["ps-worker", "allreduce-cluster", "pearl"])
def test_software_costs_and_overlap_spares_but_never_more_than_the_backward_pass(
    architecture: str,
) -> None:
    bare, *_ = step_s(architecture, JOBS, BASE, Effects())
    software, _, comm = step_s(architecture, JOBS, BASE, Effects(True))
    hidden, _, exposed = step_s(architecture, JOBS, BASE, Effects(True, 1.0, True))
    assert (software > bare).all()
    assert (hidden < software).all()
    backward = 2 / 3 * pai.step_times(architecture, JOBS, BASE).compute_s
    assert (comm - exposed <= backward * (1 + 1e-12)).all()
    assert (exposed >= comm / 8 * (1 - 1e-12)).all(), "the last bucket has nothing to hide behind"


def test_a_job_spread_over_servers_exchanges_between_them() -> None:
    """Eight accelerators, four in each of two servers: by hand, the ring of a quarter between them
    over the card that four share, and both phases inside; not the ring of eight within one."""
    whole = Jobs(8.0, 1e12, 50e9, 1e6, 400e6)
    spread = Jobs(8.0, 1e12, 50e9, 1e6, 400e6, per_server=4.0)
    inside = aggregation_s("allreduce-cluster", whole, BASE, Effects())
    across = aggregation_s("allreduce-cluster", spread, BASE, Effects())
    nvlink, card = 50e9 * 0.7, 25e9 / 8 * 0.7
    assert float(inside) == pytest.approx(2 * 7 / 8 * 200e6 / nvlink)
    by_hand = 2 * 3 / 4 * 200e6 / nvlink + 2 * 1 / 2 * 200e6 / card
    assert float(across) == pytest.approx(by_hand)
    half = pai.step_times("allreduce-cluster", spread, BASE).data_s
    assert half == pytest.approx(pai.step_times("allreduce-cluster", whole, BASE).data_s / 2)


def test_fewer_servers_take_longer() -> None:
    many = aggregation_s("ps-worker", JOBS, BASE, Effects())
    few = aggregation_s("ps-worker", JOBS, BASE, Effects(False, 4.0))
    assert (few >= many).all()
    assert few[-1] > 2 * many[-1]


def test_the_table_begins_with_the_paper_and_its_numbers() -> None:
    recipe = read_recipe(population_path("pai-ps-worker"))
    rows = compare_models(priced(draw(recipe, 100_000, 0), recipe.base, False), recipe.base)
    assert [rows[0].speedup, rows[0].gain] == pytest.approx([1.683, 0.612], abs=0.008)
    assert rows[1].speedup == pytest.approx(rows[0].speedup)
    assert rows[2].speedup < 1.4, "copies of gRPC bind, not the link"
    assert rows[2].communication > rows[1].communication
    assert rows[-1].communication < rows[1].communication


def test_without_servers_there_is_nothing_to_compare() -> None:
    assert compare_models([], BASE) == ()
