"""Numbers and points as people read them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.report import answer, figures, offers, words
from dse.report.design_point import Interval, Point
from tests.report.documents import document


def placed(config: dict[str, str], gpus: int, nodes: int) -> Point:
    return replace(document().fastest, config=config, gpus=gpus, nodes=nodes)


def test_describe_leaves_the_network_out_of_a_single_node() -> None:
    config = {"accelerator": "t4", "gpus": "4", "gpus_per_node": "4", "inter_node": "10gbe",
              "aggregation": "ring-mpi"}  # fmt: skip
    assert words.describe(placed(config, 4, 1)) == "4 x NVIDIA T4 16 GB, in one node, ring-mpi"
    assert "on 10 Gbps Ethernet" in words.describe(placed(config, 8, 2))
    amd = {**config, "accelerator": "mi300x", "aggregation": "auto-nccl"}
    assert words.describe(placed(amd, 4, 1)).endswith(", auto-nccl (RCCL)")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(3.4, "x", "3.4x"), (153.27, "x", "153x"), (1_230_000, "USD", "USD 1.23 M"),
     (999_999, "USD", "USD 1 M"), (12.34, "USD/hour", "USD 12.3/h"), (0.0421, "s", "42.1 ms"),
     (103_680, "s", "1.2 days"), (5464.3, "W", "5.46 kW"), (300, "W", "300 W"),
     (92_800, "samples/s", "92.8 k samples/s"), (0, "s", "0 s"), (0, "USD", "USD 0"),
     (None, "USD", "unknown"), (float("nan"), "x", "unknown"), (2e-10, "s", "0.2 ns")],
)  # fmt: skip
def test_numbers_for_people(value: float | None, unit: str, text: str) -> None:
    assert words.shown(value, unit) == text


@pytest.mark.parametrize(("share", "text"), [(0, "0 %"), (1e-5, "< 0.1 %"), (0.0042, "0.42 %"),
                                             (0.243, "24 %"), (0.999, "100 %")])  # fmt: skip
def test_percentages(share: float, text: str) -> None:
    assert words.percent(share) == text


def test_sizes() -> None:
    assert words.size(8) == "8 B"
    assert words.size(16 * 2**20) == "16 MiB"
    assert words.size(-(3 * 2**30)) == "-3 GiB"
    assert words.size(None) == "unknown"


@pytest.mark.parametrize(
    ("value", "unit", "digits", "said"),
    [(996e3, "USD", 2, "USD 1 M"), (999.6, "USD", 4, "USD 999.6"), (999.96, "USD", 4, "USD 1 k"),
     (59.98, "s", 3, "1 min"), (59.98, "s", 4, "59.98 s"), (86_399.0, "s", 3, "1 day"),
     (0.0004, "kg CO2e", 3, "0.4 g CO2e"), (0.0, "kg CO2e", 3, "0 kg CO2e"),
     (-7.2e9, "J", 3, "-2 MWh"), (5e-10, "s", 3, "0.5 ns")],
)  # fmt: skip
def test_a_number_has_the_largest_unit_that_it_reaches_when_rounded(
    value: float, unit: str, digits: int, said: str
) -> None:
    assert words.shown(value, unit, digits) == said


def test_a_value_never_lies_outside_of_the_interval_beside_it() -> None:
    assert words.interval((1.688e6, 1.8e6), "USD") == "USD 1.7 M to USD 1.8 M"
    assert words.interval((1.688e6, 1.8e6), "USD", 1.692e6) == "USD 1.69 M to USD 1.8 M"
    assert words.interval((1.5e6, 1.81e6), "USD", 1.814e6) == "USD 1.5 M to USD 1.81 M"
    assert words.interval((1.5e6, 1.9e6), "USD", 1.7e6) == "USD 1.5 M to USD 1.9 M"
    assert words.interval((2.0, 2.0), "x", 2.0) == "2x"


@given(st.lists(st.floats(1e-3, 1e6), min_size=3, max_size=3), st.booleans())
def test_shown_ends_hold_the_shown_value(numbers: list[float], tight: bool) -> None:
    low, value, high = sorted(numbers)
    if tight:
        low, high = max(low, 0.999 * value), min(high, 1.001 * value)
    shown, ends = words.with_interval(value, (low, high), "x")
    one, *_, other = (float(end.rstrip("x").replace(",", "")) for end in (ends + " to " + ends)
                      .split(" to "))  # fmt: skip
    assert one <= float(shown.rstrip("x").replace(",", "")) <= other


def test_every_place_gives_the_value_to_its_interval() -> None:
    """An end of 2.955 is no 3x beside a value of 2.956."""
    run = document()
    interval = Interval(speedup=(2.955, 3.9), step_s=None, costs={"capital": (9_955.0, 20_000.0)})
    best = run.recommended
    own = replace(best, interval=interval,
                  objectives={**best.objectives, "speedup": 2.956, "capital": 9_956.0},
                  costs={**best.costs, "capital": 9_956.0})  # fmt: skip
    run = replace(run, recommended=own)
    assert own.quantity("speedup") == 2.956
    told = [fact.note for fact in offers.facts(run, own)]
    told += [figures.hover(run, "recommended", own), *answer.answer(run)]
    texts = [text for text in told if " to 3.9x" in text]
    assert len(texts) == 3, told
    assert all("2.96x to 3.9x" in text for text in texts), texts
    money = [text for text in told if "to USD 20 k" in text]
    assert len(money) == 1, told
    assert all("USD 9.96 k to USD 20 k" in text for text in money), money


@pytest.mark.parametrize(
    ("probability", "said"),
    [(0.0, "0 %"), (0.001, "< 1 %"), (0.5, "50 %"), (0.999, "> 99 %"), (1.0, "100 %")],
)
def test_what_may_happen_is_not_said_never_to(probability: float, said: str) -> None:
    assert words.chance(probability) == said


@pytest.mark.parametrize(
    ("probability", "asked", "said"),
    [(0.899, 0.9, "89.9 %"), (0.9, 0.9, "90 %"), (0.9041, 0.904, "90.4 %"), (0.95, 0.9, "95 %"),
     (0.998, 0.999, "99.8 %"), (0.999, 0.9, "99.9 %"), (1.0, 0.9, "100 %"), (0.57, 0.57, "57 %"),
     (0.001, 0.9, "0.1 %")],
)  # fmt: skip
def test_a_chance_reads_on_its_side_of_what_is_asked(
    probability: float, asked: float, said: str
) -> None:
    assert words.chance(probability, asked) == said
    assert words.exactly(0.999) == "99.9 %"
