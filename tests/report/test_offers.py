"""The offers side by side: which they are, what they say of themselves, what they give up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dse.report import offers, words
from dse.report.document import Choice, Choices, RunDocument
from dse.report.page import render_page
from tests.report.documents import document, read, written


def by_title(run: RunDocument) -> dict[str, offers.Offer]:
    return {one.title: one for one in offers.offers(run)}


def facts(offer: offers.Offer) -> dict[str, str]:
    return {fact.label: fact.value for fact in offer.facts}


def test_the_offers_are_cheapest_recommended_and_fastest() -> None:
    run = document()
    found = by_title(run)
    assert list(found) == ["Cheapest", "Recommended", "Fastest"]
    for offer, point in zip(found.values(), (run.front[0], run.recommended, run.fastest),
                            strict=True):  # fmt: skip
        assert facts(offer)["Purchase price"] == words.show(run, point, "capital")
        assert facts(offer)["Speed"] == f"{words.shown(point.speedup, 'x')} the baseline"
        assert facts(offer).keys() == facts(found["Recommended"]).keys()  # a row each in the text
        assert offer.settings
    assert [one.recommended for one in found.values()] == [False, True, False]
    assert "NVIDIA" in found["Fastest"].machines


def same(run: dict[str, Any], *names: str) -> RunDocument:
    for name in names:
        run[name] = {**run["fastest"], "rule": "fastest", "why": ""}
    return read(run)


def test_what_is_two_things_stands_once() -> None:
    assert list(by_title(same(written(), "recommended"))) == ["Cheapest", "Recommended and fastest"]
    run = written()
    run["front"] = [run["fastest"]]
    alone = same(run, "recommended", "cheapest_within_5_percent")
    (only,) = offers.offers(alone)
    assert only.title == "Recommended, cheapest and fastest"
    assert only.recommended
    assert only.against is None
    assert 'class="offers"' not in render_page(alone)


def test_offers_that_differ_by_less_than_the_resolution_are_one() -> None:
    run = written()
    best = run["recommended"]
    config = {**best["config"], "gpus": "4"}
    run["fastest"] = {**best, "gpus": 4, "config": config, "speedup": 1.004 * best["speedup"],
                      "capital": 1.003 * best["capital"]}  # fmt: skip
    found = replace(read(run), choices=Choices(resolution=0.01, rows=(Choice(front=(0,)),)))
    assert list(by_title(found)) == ["Cheapest", "Recommended and fastest"]
    apart = replace(found, choices=Choices(resolution=0.002, rows=()))
    assert list(by_title(apart)) == ["Cheapest", "Recommended", "Fastest"]


def test_an_offer_tells_its_price_and_speed_against_the_recommended() -> None:
    run = written()
    run["recommended"].update(capital=200_000.0, speedup=10.0)
    cheap, fast = run["front"][0], run["fastest"]
    cheap.update(capital=50_000.0, speedup=2.5)
    fast.update(capital=300_000.0, speedup=15.0)
    found = by_title(read(run))
    assert found["Cheapest"].against == ("0.25x", "0.25x")
    assert found["Fastest"].against == ("1.5x", "1.5x")
    assert found["Recommended"].against is None


def test_the_time_of_the_run_stands_where_there_is_a_target() -> None:
    run = document("speedup", "time_to_target", "per_run")
    facts = {fact.label: fact.value for fact in offers.facts(run, run.recommended)}
    assert facts["Time of the run"] == words.duration(run.recommended.quantity("time_to_target"))
    without = written()
    del without["recommended"]["time_to_target"]
    bare = read(without)
    assert "Time of the run" not in {fact.label for fact in offers.facts(bare, bare.recommended)}
