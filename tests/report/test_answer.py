"""The study's answer in a hundred words: its numbers, each once, and what keeps it from being
signed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dse.decision.remarks import BY_NAME, STEPS, Remark
from dse.report import remarks, words
from dse.report.answer import answer, every_remark, facts
from dse.report.certainty.facts import Certainty, Choice
from dse.report.design_point import WaterfallStep
from dse.report.document import Confidence, RemarkLine, RunDocument
from tests.pricing import studies
from tests.report.documents import COSTS, THREE, document, read, written
from tests.report.searched import searched
from tests.report.test_sizes import MOST_LINES, MOST_WORDS, QUANTITY

OWNS = "owned: [{accelerator: p100-sxm2-16gb, gpus: 4, gpus_per_node: 4, inter_node: 10gbe}]\n"


def remark(name: str, **numbers: str | float) -> RemarkLine:
    return remarks.line(Remark(BY_NAME[name], numbers))


MEMORY = remark("memory ignored", lacking=8.6e11)
QUOTE = remark("price turns the answer", part="A100 SXM4 80 GB", usd=15e3, at=2.3e4, unit="USD",
               instead="16 x V100", side="above")  # fmt: skip
UNMEASURED = remark("communication unmeasured", share=0.31)
ZERO = remark("price of zero", part="the hosts", source="offer.csv")
EXPIRED = remark("offer expired", part="the switches", source="old.csv", until="2026-05")
NOTE = remark("guided", priced=14_663)


def held(run: RunDocument, *found: RemarkLine, state: Any = "ready") -> RunDocument:
    return replace(run, remarks=found, state=state)


def purchase(config: dict[str, str], cost: float, better: float, **more: Any) -> Choice:
    return Choice(**{"config": config, "gain": int(config["gpus"]) / 1.7, "cost": cost, "bands": {},
                     "on_front": 0.5, "best": better, "met": {}, "meets_all": 1.0,
                     "beaten": 1.0 - better, "decided": 1.0, "regret": 0.02, "alike": False,
                     **more})  # fmt: skip


def rival(run: RunDocument, gpus: int, better: float, cost: float) -> Choice:
    return purchase({**run.recommended.config, "gpus": str(gpus)}, cost, better)


def beside(run: RunDocument, *rivals: Choice) -> RunDocument:
    own = purchase(dict(run.recommended.config), 2e5, 0.5, role="recommended", beaten=None,
                   alike=True)  # fmt: skip
    sure = Certainty(draws=1000, points=40, purchases=3, whole=True, rule="fastest", best=0.5,
                     choices=(own, *rivals), sources=(), flips=())  # fmt: skip
    return replace(run, certainty=sure)


def short(lines: Sequence[str]) -> None:
    """An answer has a dozen lines, 150 words, and no quantity of a point twice."""
    text = "\n".join(lines)
    assert 1 <= len(lines) <= MOST_LINES
    assert len(text.split()) <= MOST_WORDS
    quantities = QUANTITY.findall(text)
    assert sorted(quantities) == sorted(set(quantities)), text
    assert not re.search(r"None|\bnan\b|\binf\b|[{}]|, \.|\(\)", text), text


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("gain", ["speedup", "throughput"])
def test_every_objective_is_answered_with_its_numbers(gain: str, cost: str) -> None:
    run = document(gain, cost)
    lines = answer(run)
    short(lines)
    assert words.show(run, run.recommended, gain) in lines[1]
    assert cost == "time_to_target" or words.show(run, run.recommended, cost) in lines[0]
    assert (facts(run)["verb"] == "Rent") == (cost in ("hourly", "per_run"))
    assert lines[-1] == "Ready to sign."


@pytest.mark.parametrize(("cost", "also"), THREE)
def test_two_costs_are_both_given(cost: str, also: str) -> None:
    run = document("speedup", cost, also)
    short(answer(run))
    told = facts(run)["best"]["cost"].split(" and ")
    shown = [words.show(run, run.recommended, name) for name in (cost, also)
             if name != "time_to_target"]  # fmt: skip
    assert [one.removesuffix(" per run") for one in told] == shown


def test_the_run_to_the_target_stands_with_its_interval() -> None:
    run = replace(document(), target="115 M samples")
    assert facts(run)["run"]["time"] == words.duration(run.recommended.quantity("time_to_target"))
    assert facts(document())["run"] is None
    short(answer(run))


def test_where_the_baseline_is_the_best_it_is_kept() -> None:
    run = written()
    run["recommended"] = {**run["baseline"], "rule": "fastest", "why": ""}
    found = facts(read(run))
    assert (found["verb"], found["best"]["gain"], found["present"]) == ("Keep", "1x", None)
    short(answer(read(run)))


def test_ignored_memory_is_the_first_line_and_blocks() -> None:
    run = held(document(), QUOTE, MEMORY, state="not ready")
    assert answer(run)[0] == MEMORY.whole
    assert "801 GiB" in answer(run)[0]
    assert facts(run)["blockers"] == 2
    short(answer(run))
    short(answer(held(document(), MEMORY, state="not ready")))


def test_an_undecided_answer_names_two_purchases() -> None:
    run = document()
    run = held(beside(run, rival(run, 24, 0.48, 4.1e5), rival(run, 8, 0.2, 1.4e5)), QUOTE,
               state="open")  # fmt: skip
    head = answer(run)[0]
    assert "12 x NVIDIA A100" in head
    assert "24 x A100" in head
    assert [facts(run)["rival"]["wins"], facts(run)["rival"]["cost"]] == ["48 %", "USD 410 k"]
    assert [one["name"].split()[0] for one in facts(run)["next"]] == ["8"]
    short(answer(run))


def test_a_rival_is_of_other_machines_and_as_sure_as_was_asked() -> None:
    run = document()
    lone = held(beside(run, rival(run, 12, 0.6, 2.1e5)), QUOTE, state="open")
    assert (facts(lone)["state"], facts(lone)["rival"]) == ("nearly", None)
    unsure = replace(rival(run, 8, 0.6, 1.4e5), meets_all=0.7)
    both = beside(run, unsure, rival(run, 24, 0.2, 4.1e5))
    assert [remarks.wins(one) for one in remarks.rivals(both)] == pytest.approx([0.6, 0.2])
    asked = Confidence(asked=0.9, reached=True, recommended=0.95, best_estimate=1, front=())
    (left,) = remarks.rivals(replace(both, confidence=asked))
    assert left.config["gpus"] == "24"


def test_the_next_purchases_lie_on_both_sides_of_the_price() -> None:
    run = document()
    others = [rival(run, 24, 0.3, 4.1e5), rival(run, 32, 0.2, 5.2e5), rival(run, 8, 0.1, 1.4e5)]
    run = beside(run, *others)
    assert [one["cost"] for one in facts(run)["next"]] == ["USD 410 k", "USD 140 k"]
    short(answer(run))


@pytest.mark.parametrize("count", range(5))
def test_blockers_are_counted_and_those_beyond_three_are_named(count: int) -> None:
    blocking = [ZERO, EXPIRED, QUOTE, UNMEASURED][:count]
    state = "ready" if not count else "nearly" if count <= STEPS else "not ready"
    run = held(document(), *blocking, NOTE, state=state)
    found = facts(run)
    assert (found["blockers"], found["steps"]) == (count, blocking)
    assert found["others"] == ", ".join(one.name for one in blocking[STEPS:])
    assert bool(found["notes"]) == (count < STEPS - 1), "three remarks at most"
    lines = answer(run)
    assert ("Ready to sign." in lines) == (not count)
    assert count <= STEPS or any(f"{count} steps" in line for line in lines)
    short(lines)


def test_software_is_told_where_it_is_not_all() -> None:
    run = document()
    step = WaterfallStep(changes=(), software=True, factor=1.4, speedup=1.4, cost=None)
    assert facts(replace(run, waterfall=(step,)))["software"] == "1.4x"
    whole = replace(step, factor=run.recommended.speedup)
    assert facts(replace(run, waterfall=(whole,)))["software"] == ""


@pytest.mark.parametrize(
    "more", ["", "memory: ignore\n", "recommend: fastest\n", "recommend: cheapest\n", OWNS]
)
def test_small_studies_are_answered_in_a_dozen_lines(more: str, tmp_path: Path) -> None:
    text = studies.SMALL.replace("fits_memory, ", "") if "memory" in more else studies.SMALL
    run = searched(tmp_path, text + more).document
    short(answer(run))
    remaining = every_remark(run)
    assert len(remaining) == len(run.remarks) > 0
    blocking = [one for one in run.remarks if one.blocks]
    assert facts(run)["blockers"] == len(blocking) == sum(one[0] == "!" for one in remaining)
    assert run.state == "open" or (run.state == "ready") == (not blocking)
