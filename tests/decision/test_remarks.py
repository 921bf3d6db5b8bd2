"""dse.decision.remarks: which remarks are found in which studies, with their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from dse.calibration.throughput_part import Throughput
from dse.decision import remarks as decision
from dse.decision.remarks import (
    BY_NAME,
    ROWS,
    Answer,
    Doubt,
    Facts,
    Remark,
    Side,
    state,
)
from dse.pricing import anchors
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report.remarks import line
from tests.calibration import library_profiles, server_profiles
from tests.pricing import studies
from tests.pricing.priced import problem_of

BOTH = studies.SMALL.replace("[p100-sxm2-16gb, v100-sxm2-16gb]", "[p100-sxm2-16gb, a10]")


def told(folder: Path, text: str, name: str) -> list[Facts]:
    """The facts of a kind of remark on a study."""
    return of(load(studies.written(folder, text)), name)


def of(problem: Problem, name: str) -> list[Facts]:
    return [one.facts for one in decision.remarks(problem) if one.row is BY_NAME[name]]


def test_there_are_at_most_forty_rows_each_with_its_own_name() -> None:
    assert len(ROWS) == len(BY_NAME) <= 40
    assert all(row.sentence.endswith(".") and not row.action.endswith(".") for row in ROWS)


def test_the_heaviest_come_first(tmp_path: Path) -> None:
    found = decision.remarks(load(studies.written(tmp_path, studies.CAVEATS)))
    weights = [one.row.weight for one in found]
    assert weights == sorted(weights, reverse=True)


def test_what_is_no_longer_sold_new_is_left_out(tmp_path: Path) -> None:
    assert told(tmp_path, BOTH, "left out") == [{"machines": "NVIDIA Tesla P100 SXM2 16 GB"}]
    assert told(tmp_path, BOTH + "market: used\n", "left out") == []
    assert told(tmp_path, studies.SMALL, "left out") == [], "then all may be recommended"


def test_offers_past_their_validity_are_counted(tmp_path: Path) -> None:
    """The H100 is not of this study, and the host's offer is valid."""
    offers = (
        "prices: {as_of: 2026-11-20, accelerators: {a10: {purchase: {value: 2 kUSD, quote: Q-3, "
        "valid_until: 2026-10-31}}, h100-sxm: {purchase: {value: 2 USD, valid_until: 2026-01}}}, "
        "host: {value: 9 kUSD, valid_until: 2026-12-31}}\n"
    )
    (found,) = told(tmp_path, BOTH + offers, "offers past")
    assert found["count"] == 1
    assert "a10" in str(found["part"])


RENTED = BOTH.replace("minimize: capital", "minimize: hourly").replace(
    '"capital <= 350 kUSD", ', ""
)


def test_rents_of_several_classes_of_sellers_are_told(tmp_path: Path) -> None:
    """Nobody but hyperscalers rents a P100 SXM2; of an A10 each class has an offer."""
    assert told(tmp_path, RENTED, "rents of several classes") == []
    (found,) = told(tmp_path, f"{RENTED}rent_class: neocloud\n", "rents of several classes")
    assert found["machines"] == "NVIDIA Tesla P100 SXM2 16 GB"
    assert (found["kind"], found["usual"]) == ("hyperscaler", "neocloud")
    assert told(tmp_path, f"{BOTH}rent_class: neocloud\n", "rents of several classes") == []


def test_links_that_cost_what_another_speed_costs_are_told(tmp_path: Path) -> None:
    before, rest = studies.SMALL.split("  inter_node:\n")
    _, _, after = rest.partition("cable: 60 USD}\n")
    links = "{bandwidth: [25 Gbps, 100 Gbps], fabric: 100gbe}"
    found = told(tmp_path, f"{before}  inter_node: {links}\n{after}", "links priced alike")
    assert [one["link"] for one in found] == ["25 Gbps"]


def test_a_profile_that_prices_nothing_is_told_with_the_reason(tmp_path: Path) -> None:
    forced = studies.CAVEATS.replace("[auto-nccl, ring-nccl]", "[ring-mpi, ps-grpc]").replace(
        "aggregation: auto-nccl", "aggregation: ring-mpi"
    )
    theirs = library_profiles.theirs("theirs")
    (found,) = of(problem_of(tmp_path, forced, theirs), "profile unused")
    assert found["profile"] == "theirs"
    assert of(problem_of(tmp_path, studies.CAVEATS, theirs), "profile unused") == []


@pytest.mark.parametrize(("device", "known"), [("cpu", False), ("NVIDIA A100-SXM4-40GB", True)])
def test_a_profile_of_computing_is_used_where_the_study_has_the_device(
    device: str, known: bool, tmp_path: Path
) -> None:
    part = server_profiles.compute_part(device=device)
    profile = server_profiles.profile(name="fast", transport="none", ps={}, compute=(part,))
    found = of(problem_of(tmp_path, studies.CAVEATS, profile), "profile unused")
    assert [one["profile"] for one in found] == ([] if known else ["fast"])


def test_rates_that_contradict_one_another_are_told(tmp_path: Path) -> None:
    def found(second: float) -> list[Facts]:
        rate = Throughput("resnet50", "a100-sxm4-40gb", "fp16", "vendor", 32.0, 1500.0)
        rows = (rate, replace(rate, samples_per_s=second))
        profiles = [
            server_profiles.profile(name=name, transport="none", ps={}, throughput=(row,))
            for name, row in zip(("ours", "theirs"), rows, strict=True)
        ]
        return of(problem_of(tmp_path, studies.CAVEATS, *profiles), "rates contradict")

    assert [(one["low"], one["high"]) for one in found(4000.0)] == [(1500.0, 4000.0)]
    assert found(1520.0) == []


def test_algorithms_that_nccl_does_not_have_are_no_remark_of_those_it_has(tmp_path: Path) -> None:
    text = studies.SMALL.replace("[ring-mpi,", "[ring-nccl, halving-doubling-nccl, ring-mpi,")
    found = told(tmp_path, text, "not of NCCL")
    assert [one["aggregation"] for one in found] == ["halving-doubling-nccl"]


def test_cards_shared_where_machines_are_sold_with_more(tmp_path: Path) -> None:
    text = (
        studies.SMALL.replace("gpus_per_node: [1, 4]", "gpus_per_node: [1, 8]")
        .replace("v100-sxm2-16gb]", "v100-sxm2-16gb, a100-sxm4-80gb]")
        .replace("gpus_per_node: 4", "gpus_per_node: 1")
    )
    (found,) = told(tmp_path, text, "cards shared")
    assert found["count"] == 8
    for other in ("gpus_per_node: [1, 4]\n  nics_per_node: [1, 8]", "gpus_per_node: [1, 2]"):
        assert told(tmp_path, text.replace("gpus_per_node: [1, 8]", other), "cards shared") == []


def remark(name: str, **facts: str | float) -> Remark:
    return Remark(BY_NAME[name], facts)


QUOTE = remark("price turns the answer", part="H100", usd=1.0, at=2.0, unit="USD", instead="B200",
               side="above")  # fmt: skip
MEMORY = remark("memory ignored", lacking=8.6e11)
NOTE = remark("guided", priced=1000)


@pytest.mark.parametrize(
    ("found", "rival", "expected"),
    [
        ([NOTE], 0.1, "ready"),
        ([QUOTE, NOTE], 0.1, "nearly"),
        ([QUOTE] * 3, 0.44, "nearly"),
        ([QUOTE] * 4, 0.1, "not ready"),
        ([MEMORY], 0.1, "not ready"),
        ([QUOTE], 0.45, "open"),
    ],
)
def test_the_four_states(found: Sequence[Remark], rival: float, expected: str) -> None:
    assert state(found, rival) == expected


def test_numbers_are_written_with_their_units() -> None:
    said = line(MEMORY)
    assert said.blocks
    assert "801 GiB" in said.sentence
    assert "USD 2 " in f"{line(QUOTE).sentence[:-1]} "


RATE, PATH, STEP = "training rate decides", "communication decides", "communication unmeasured"
UNTIMED = "computing untimed"


@pytest.mark.parametrize(
    ("source", "regret", "computing", "batch", "expected"),
    [
        ("computing", 0.1, anchors.ALIKE, 64, [RATE]),
        ("computing", 0.08, anchors.ALIKE, 64, []),
        ("computing", 0.1, anchors.OWN, 64, []),
        ("communication: ps", 0.1, anchors.OWN, 64, [PATH]),
        ("communication: ps", 0.08, anchors.OWN, 64, []),
        ("communication: ps", 0.1, anchors.OWN, 32, [STEP]),  # 16 % of the step, not 9 %
        ("price: a10", 0.4, anchors.ALIKE, 64, []),
        ("price: a10", 0.4, anchors.NOBODY, 64, [UNTIMED]),
    ],
)
def test_what_decides_most_and_was_not_measured_blocks_where_much_is_at_stake(
    tmp_path: Path, source: str, regret: float, computing: str, batch: int, expected: list[str]
) -> None:
    problem = load(studies.written(tmp_path, studies.SMALL))
    values = {**problem.study.baseline.values, "batch_per_gpu": batch}
    side = Side(values=values, evaluation=problem.point(values), bill=(), computing=computing,
                extrapolated=False)  # fmt: skip
    doubt = Doubt(source=source, share=0.6, regret=regret)
    found = Answer(problem=problem, recommended=side, baseline=side, doubt=doubt)
    kinds = (RATE, PATH, STEP, UNTIMED)
    blocking = [one.row for one in decision.remarks(problem, found) if one.row.name in kinds]
    assert [row.name for row in blocking] == expected
    assert all(row.blocks for row in blocking)


@pytest.mark.parametrize(("accelerator", "what"), [("mi300x", "AMD"), ("a10", "your code")])
def test_the_maker_is_named_of_whom_nobody_timed_anything(
    tmp_path: Path, accelerator: str, what: str
) -> None:
    text = BOTH.replace("a10]", f"{accelerator}]\n  stack: plain")
    problem = load(studies.written(tmp_path, text))
    values = {**problem.study.baseline.values, "accelerator": accelerator}
    known = problem.computing_known(problem.points_at(values))
    side = Side(values=values, evaluation=problem.point(values), bill=(), computing=known,
                extrapolated=False)  # fmt: skip
    every = decision.remarks(problem, Answer(problem=problem, recommended=side, baseline=side))
    assert [one.facts for one in every if one.row.name == UNTIMED] == [{"what": what}]
