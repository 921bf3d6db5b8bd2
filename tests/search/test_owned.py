"""Searches of studies that own hardware: exact fronts, and rules where something costs nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.pricing.drawn_points import drawn_quantities
from dse.pricing.draws import Variation
from dse.pricing.load import load
from dse.report.recommendation import recommended
from dse.search import bounds, exhaustive
from dse.search.certainty import flips as price_flips
from dse.search.certainty.sensitivity import effects
from dse.search.certainty.sources import sources
from dse.search.certainty.study_draws import purchases
from dse.search.certainty.usefulness import Priced, above_nothing, regret, worth
from dse.search.guided.acquisition import losses_of
from dse.search.pareto import Front, front_of
from dse.search.run import FrontPoint, run
from dse.search.runners_up import Collector
from tests.evidence import beyond
from tests.pricing import priced, studies
from tests.pricing.test_owned import GROW, OURS
from tests.search.test_screening import WIDE, fewer_are_priced_for_the_same

RULES = ("cheapest", "fastest", "speed-per-dollar", "cheapest-within-5%")
STANDS = """\
owned:
  - {accelerator: v100-sxm2-16gb, gpus: 12, gpus_per_node: 4, inter_node: 10gbe, nics_per_node: 2}
  - {accelerator: a100-sxm4-80gb, gpus: 8, gpus_per_node: 8, inter_node: ib-hdr}
"""


@pytest.mark.parametrize(
    "least", beyond(["capital, power"], ["capital", "tco", "capital, power", "power, capital"])
)
@pytest.mark.parametrize("market", ["new", "used"])
def test_bounds_stay_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, least: str, market: str
) -> None:
    monkeypatch.setattr(bounds, "SCREENED_FROM", 1)
    text = WIDE.replace("minimize: capital", f"minimize: [{least}]") + STANDS
    problem = load(studies.written(tmp_path, f"{text}market: {market}\n"))
    fewer_are_priced_for_the_same(problem)


def test_the_front_is_that_of_a_plain_loop(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, GROW + OURS))
    points = list(priced.feasible(problem))
    best: dict[float, float] = {}
    for _, (gain, cost) in points:
        best[cost] = max(gain, best.get(cost, 0.0))
    expected, top = [], 0.0
    for cost in sorted(best):
        if best[cost] > top:
            expected.append((best[cost], cost))
            top = best[cost]
    front = exhaustive.search(problem, problem.space.boxes(700)).front
    assert list(zip(front.gain.tolist(), front.cost.tolist(), strict=True)) == expected
    assert expected[0][1] == 0.0, "what stands there"


def test_a_guided_search_finds_what_costs_nothing(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, GROW + OURS))
    exact = run(problem, "exhaustive", None, None, lambda *_: None, 1000, 0)
    found = run(problem, "guided", None, None, lambda *_: None, 2000, 0)
    assert found.front[0].cost == exact.front[0].cost == 0.0
    assert [point.gain for point in found.front] == [point.gain for point in exact.front]


def point(gain: float, cost: float) -> FrontPoint:
    return FrontPoint({}, {}, gain, cost, 0.0, 0, ())


def test_speed_per_dollar_is_of_what_is_added() -> None:
    free, small, large = point(2.0, 0.0), point(2.5, 100.0), point(6.0, 400.0)
    assert recommended([free, small, large], "speed-per-dollar") == 2, "4 for 400, not 0.5 for 100"
    assert recommended([small, large], "speed-per-dollar") == 0, "2.5 for 100, not 6 for 400"
    assert recommended([free], "speed-per-dollar") == 0
    assert recommended([free, point(2.0, 10.0)], "speed-per-dollar") == 0, "nothing is added"
    assert recommended([free, small, large], "cheapest") == 0
    assert recommended([free, small, large], "cheapest-within-5%") == 2


@given(st.lists(st.tuples(st.floats(0.1, 1e4), st.sampled_from([0.0, 1.0, 50.0, 1e6]),
                          st.booleans()), min_size=1, max_size=12))  # fmt: skip
def test_what_is_gained_for_the_cost_is_as_by_hand(rows: list[tuple[float, float, bool]]) -> None:
    gain, cost, met = (np.array([column]) for column in zip(*rows, strict=True))
    stands = max((g for g, c, m in rows if m and c == 0), default=0.0)
    added = [(g - stands) / c if m and c > 0 else 0.0 for g, c, m in rows]
    expected = []
    for (g, c, m), each in zip(rows, added, strict=True):
        if m and c == 0:
            expected.append(g if max(added) <= 0 else 0.0)
        else:
            expected.append(max(each, 0.0))
    found = worth("speed-per-dollar", Priced(gain, [cost], met))
    assert found[0] == pytest.approx(expected)


@pytest.mark.parametrize("rule", RULES)
def test_regrets_of_points_that_cost_nothing_are_numbers(rule: str) -> None:
    gain = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 1.5]])
    cost = np.array([[0.0, 10.0, 30.0], [0.0, 11.0, 0.0]])
    worths = worth(rule, Priced(gain, [cost], np.ones(gain.shape, bool)))
    lost = regret(worths)
    assert np.isfinite(lost).all()
    assert (lost.min(axis=1) == 0).all()
    assert (lost >= 0).all()


def test_costs_of_nothing_on_a_logarithmic_scale() -> None:
    assert above_nothing(np.array([0.0, 5.0, 7.0])).tolist() == [5.0, 5.0, 7.0]
    assert above_nothing(np.array([0.0, 0.0])).min() > 0
    assert above_nothing(np.array([3.0, 4.0])).tolist() == [3.0, 4.0]


def front(*rows: tuple[float, ...]) -> Front:
    gain, cost, *other = (np.array(column) for column in zip(*rows, strict=True))
    return front_of(gain, cost, np.arange(len(rows)), *other)


def test_distances_from_a_point_that_costs_nothing() -> None:
    two = Collector(front((1.0, 0.0), (2.0, 100.0)), 0.1, 5)
    values = [np.array([0.95, 0.99, 1.95]), np.array([0.0, 5.0, 105.0])]
    assert two.wanted(values).tolist() == [True, False, True]
    two.add([column[[0, 2]] for column in values], np.arange(2))
    three = Collector(front((1.0, 0.0, 5.0), (2.0, 100.0, 5.0)), 0.1, 5, objectives=3)
    rows = [np.array([0.95, 1.95]), np.array([0.0, 105.0]), np.array([5.0, 5.0])]
    assert three.wanted(rows).all()
    three.add(rows, np.arange(2))
    for one in (two, three):
        assert one.found.of.tolist() == [0, 1]
        assert one.found.distance == pytest.approx([0.05, 0.05])


def test_what_costs_nothing_teaches_a_guided_search() -> None:
    numbers = np.array([[2.0, 0.0, 0.0], [3.0, 100.0, 0.0], [3.0, 200.0, 1.0]])
    within = np.array([[0.0], [0.0], [1.0]])
    losses, usable = losses_of(numbers, within)
    assert usable.all()
    assert np.isfinite(losses).all()
    assert losses[0, 1] < losses[1, 1] < losses[2, 1]
    assert losses_of(numbers[:1], within[:1])[1].all()
    assert numbers[0, 1] == 0.0, "the archive is left as it is"


# To nine digits: logarithms of numbers one unit in the last place apart are the same.
AMOUNTS = st.floats(1e-6, 1e12).map(lambda usd: float(f"{usd:.9g}"))
COSTS = st.one_of(st.just(0.0), AMOUNTS, st.sampled_from([1.0, 100.0]))
ROWS = st.lists(st.tuples(st.floats(1e-6, 1e6), COSTS, COSTS), min_size=1, max_size=15)


@given(ROWS, st.lists(st.tuples(COSTS, COSTS), max_size=4))
def test_the_front_of_losses_is_that_of_the_numbers(
    rows: list[tuple[float, float, float]], later: list[tuple[float, float]]
) -> None:
    """Whatever stands in for a cost of nothing, and however cheap what is found later."""
    rows += [(1e-9, *costs) for costs in later]
    numbers = np.array([(*row, 0.0) for row in rows])
    losses, usable = losses_of(numbers, np.zeros((len(rows), 1)))
    assert usable.all()

    def front_by(table: np.ndarray) -> set[int]:
        return {
            at for at, one in enumerate(table)
            if not any((other <= one).all() and (other < one).any() for other in table)
        }  # fmt: skip

    assert front_by(losses[:, :3]) == front_by(numbers[:, :3] * [-1.0, 1.0, 1.0])


def test_nothing_moves_what_is_owned_costs(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, GROW + OURS))
    asked = set[str]()
    values = priced.point(problem, gpus=32)
    drawn_quantities(problem, [values], ["speedup", "capital"], Variation(asked=asked), 1)
    found = effects(problem, values, sources(asked))
    assert found
    for effect in found:
        assert np.isfinite(effect.gain)
        assert effect.cost == 0.0


def test_prices_of_what_stands_there_flip_nothing(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, f"{GROW}{OURS}market: used\n"))
    points = [priced.point(problem), priced.point(problem, gpus=128)]
    own = purchases(problem, points)
    assert price_flips.flips(problem, points, "cheapest", own, 0) == []
    found = {flip.part: flip for flip in price_flips.flips(problem, points, "fastest", own, 1)}
    assert set(found) == {"v100-sxm2-16gb", "host", "network 100gbe"}
    shares = {part: flip.share for part, flip in found.items()}
    whole = 64 * 10_664 + 8 * (85_000 + 686)  # accelerators; hosts with their part of a network
    assert shares["v100-sxm2-16gb"] == pytest.approx(64 * 10_664 / whole)
    assert shares["network 100gbe"] == pytest.approx(8 * 686 / whole)
