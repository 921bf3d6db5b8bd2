"""How sure the answer is: in the document of a run, in the answer, and in its own section."""

from __future__ import annotations

import html
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.calibration.importers.throughput import throughput_profile
from dse.pricing.hardware import host_price
from dse.pricing.load import load, shipped_studies
from dse.pricing.part_prices import part_prices
from dse.report import assembly, json_form, offers
from dse.report import words as report_words
from dse.report.answer import answer
from dse.report.certainty import next_best, price_flips, words
from dse.report.certainty.advice import DECIDES, means_for, measured, raising
from dse.report.certainty.build import certainty, drawn_answer
from dse.report.certainty.facts import (
    Certainty,
    Choice,
    Decider,
    Knowledge,
    KnownPrice,
    NextBest,
    Ordered,
    PriceFlip,
    SeenPrice,
    SourceEffect,
    Turn,
)
from dse.report.certainty.figure import certainty_figure
from dse.report.certainty.known_prices import known_price, seen_prices
from dse.report.certainty.purchases import named
from dse.report.certainty.titles import Place, how, price_title, title
from dse.report.certainty.verdict import COMPUTING, verdict
from dse.report.design_point import Interval
from dse.report.document import Choices as RowsOfChoices
from dse.report.document import Confidence, RunDocument
from dse.report.markdown import render_markdown
from dse.report.page import render_page
from dse.report.points import describe
from dse.search.certainty.sensitivity import Effect
from dse.search.certainty.usefulness import CHEAPEST
from dse.search.run import run
from tests.pricing import priced, studies
from tests.report.documents import document, read_point, written


def built(path: Path) -> RunDocument:
    outcome = run(load(path), "exhaustive", None, None, lambda *_: None, 1000, 0)
    return assembly.build(outcome, "dse run small", 0, 1.0, {})


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> RunDocument:
    return built(studies.written(tmp_path_factory.mktemp("small"), studies.SMALL))


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> RunDocument:
    return built(studies.written(tmp_path_factory.mktemp("closed"), studies.CLOSED))


def of(found: RunDocument) -> Certainty:
    assert found.certainty is not None
    return found.certainty


def test_a_rival_that_misses_a_limit_is_named_with_it_and_never_offered(
    small: RunDocument, tmp_path: Path
) -> None:
    cheaper = small.front[1]
    limit = f"speedup >= {1.01 * (cheaper.speedup or 0.0)}"
    text = studies.SMALL.replace("constraints: [", f'constraints: ["{limit}", ')
    found = built(studies.written(tmp_path, text))
    (rival,) = (one for one in of(found).choices if one.config == cheaper.config)
    assert rival.misses == (limit,)
    assert 0.1 < rival.meets_all < 0.7
    assert 0.0 < rival.decided < 1.0
    said = "\n".join(answer(found))
    assert f"(which misses {limit} in the best estimate)" in said
    assert "of those in which one is the better buy" in said
    instead = of(found).next_best
    assert instead is None or not any(
        one.misses for one in (instead.by_regret, instead.usual) if one is not None
    )
    assert all(not one.misses for one in of(small).choices if one.meets_all > 0.9)


def test_the_document_says_how_sure_it_is(small: RunDocument) -> None:
    found = of(small)
    assert found.draws == 1000
    assert found.choices[0].role == "recommended"
    assert found.choices[0].config == small.recommended.config
    assert found.choices[0].beaten is None
    assert all(choice.beaten is not None for choice in found.choices[1:])
    assert 0.9 < sum(choice.best for choice in found.choices) <= 1.0 + 1e-9
    assert found.word == "estimated"
    assert "would settle most" in found.raised_by
    assert found.all_known >= max((item.worth for item in found.knowledge), default=0.0)
    again = json.loads(json_form.text(small))["certainty"]
    assert again["choices"][0]["met"]["capital <= 200 kUSD"] == pytest.approx(
        found.choices[0].met["capital <= 200 kUSD"]
    )
    assert json_form.parsed(RunDocument, json_form.plain(small)) == small


def test_its_bands_are_the_intervals_of_the_points(small: RunDocument) -> None:
    """The same draws, whatever is priced beside a point."""
    interval = small.recommended.interval
    assert interval is not None
    bands = of(small).choices[0].bands
    assert bands["speedup"] == pytest.approx(interval.speedup)
    assert bands["step"] == pytest.approx(interval.step_s)
    assert bands["capital"] == pytest.approx(interval.costs["capital"])


def test_a_best_estimate_off_the_middle_of_its_draws_says_so(small: RunDocument) -> None:
    found, own = of(small), of(small).choices[0]
    name, (low, high) = small.objectives.maximize, own.bands[small.objectives.maximize]
    assert low < own.middles[name] < high
    assert own.gain is not None

    def said(factor: float) -> str:
        assert own.gain is not None
        moved = replace(own, middles={name: own.gain * factor})
        choices = (moved, *found.choices[1:])
        return words.middle(replace(small, certainty=replace(found, choices=choices)))

    assert said(0.96) == ""
    assert said(0.8) == f", and half of the simulated outcomes lie below {own.gain * 0.8:.3g}x"
    assert said(1.2) == f", and half of the simulated outcomes lie above {own.gain * 1.2:.3g}x"
    older = replace(found, choices=(replace(own, middles={}),))
    assert words.middle(replace(small, certainty=older)) == ""


def test_the_same_study_is_as_sure_again(small: RunDocument, tmp_path: Path) -> None:
    again = built(studies.written(tmp_path, studies.SMALL))
    found = of(again)
    assert found.choices == of(small).choices
    assert found.knowledge == of(small).knowledge
    assert found.flips == of(small).flips


def test_numbers_that_decide_nothing_are_not_worth_knowing(tmp_path: Path) -> None:
    """Thirty that no point depends on, drawn beside those of the study."""
    outcome = run(load(studies.written(tmp_path, studies.SMALL)), "exhaustive", None, None,
                  lambda *_: None, 1000, 0)  # fmt: skip
    found, at = drawn_answer(outcome, "speed-per-dollar", {})
    point = describe(outcome.problem, found.near.points[at])
    before = certainty(found, at, {}, point).knowledge
    assert before
    random = np.random.default_rng(7)
    for number in range(30):
        found.record.noted[f"rate: idle {number}"] = random.standard_normal(1000)
    assert certainty(found, at, {}, point).knowledge == before
    assert all(item.worth >= 0.005 for item in before)


def test_a_part_that_only_the_baseline_has_is_not_worth_a_quote(tmp_path: Path) -> None:
    """No price of it is drawn, and none is correlated by chance with the price that decides."""
    text = (
        studies.SMALL.replace(
            "[p100-sxm2-16gb, v100-sxm2-16gb]", "[a100-sxm4-40gb, a100-sxm4-80gb, h100-sxm]"
        )
        .replace("gpus: [1, 2, 3, 4, 8, 16]", "gpus: [8, 16]")
        .replace("gpus_per_node: [1, 4]", "gpus_per_node: [4, 8]")
    )
    outcome = run(load(studies.written(tmp_path, text)), "exhaustive", None, None,
                  lambda *_: None, 1000, 0)  # fmt: skip
    found, at = drawn_answer(outcome, "speed-per-dollar", {})
    assert "p100-sxm2-16gb" not in {one["accelerator"] for one in found.near.points}
    name = "price: p100-sxm2-16gb"
    assert name not in found.record.noted
    point = describe(outcome.problem, found.near.points[at])
    told = [item.name for item in certainty(found, at, {}, point).knowledge]
    assert "price: a100-sxm4-40gb" in told
    assert name not in told
    assert found.value_of_knowing(name) == 0


def test_the_answer_and_the_section_say_it(small: RunDocument) -> None:
    sentence = next(line for line in answer(small) if line.startswith("Estimated: "))
    assert "of 1,000 simulated outcomes" in sentence
    assert "it beats its nearest rival" in sentence
    text, page = render_markdown(small), render_page(small)
    assert "may exceed 100 %" in text
    for said in ("## How sure", "Which prices would change the answer", "Knowing everything"):
        assert said in text
    assert 'id="certainty-chart"' in page
    figure = json.loads(certainty_figure(small))
    assert {trace["type"] for trace in figure["data"]} == {"bar"}
    assert not any(word in text for word in ("None", "nan", "inf "))


@pytest.mark.parametrize("name", ["small", "closed"])
def test_no_report_says_that_there_is_no_interval(
    name: str, request: pytest.FixtureRequest
) -> None:
    found: RunDocument = request.getfixturevalue(name)
    for point in (found.baseline, found.recommended, found.fastest, *found.front):
        assert point.interval is not None
        assert point.interval.speedup is not None
        assert point.interval.step_s is not None
    text = render_markdown(found).lower()
    assert "no interval" not in text
    assert "interval can be given" not in text


def test_a_speed_of_the_closed_model_is_as_wide_as_its_errors(closed: RunDocument) -> None:
    interval = closed.recommended.interval
    assert interval is not None
    assert interval.speedup is not None
    assert 1.5 < interval.speedup[1] / interval.speedup[0] < 20
    assert any("judgement" in line for line in closed.assumptions)


def test_least_regret_is_never_the_default_and_is_what_it_says(
    small: RunDocument, tmp_path: Path
) -> None:
    assert small.recommended.rule != "least-regret"
    asked = built(studies.written(tmp_path, studies.SMALL + "recommend: least-regret\n"))
    assert asked.recommended.rule == "least-regret"
    assert "miss least" in asked.recommended.why
    own, *others = of(asked).choices
    assert all(own.regret <= choice.regret for choice in others)
    assert own.regret <= of(small).choices[0].regret
    assert render_page(asked)
    assert answer(asked)[0].startswith("Recommended: ")


def test_an_older_document_says_nothing_of_it() -> None:
    old = document()
    assert old.certainty is None
    assert words.NOTHING in render_markdown(old)
    assert not any("simulated" in line for line in answer(old))


def sure(**more: object) -> RunDocument:
    """A document of the toy model with certainty written by hand."""
    old = document()
    config = old.recommended.config
    rival = {**config, "gpus": "64"}
    choice = Choice(config=config, gain=3.0, cost=1e5, on_front=0.9, best=0.931, meets_all=0.88,
                    regret=0.02, role="recommended", met={"capital <= 1.2 MUSD": 0.88})  # fmt: skip
    other = Choice(config=rival, gain=2.0, cost=1e5, on_front=0.3, best=0.05, meets_all=1.0,
                   regret=0.2, beaten=0.94, met={"capital <= 1.2 MUSD": 1.0})  # fmt: skip
    found = Certainty(
        draws=1000, points=40, purchases=12, whole=True, rule="speed-per-dollar", word="near",
        why="it is near", raised_by="A quote would settle most.", choices=(choice, other),
        sources=(SourceEffect(source="launch", title="launches", gain=(0.9, 1.2),
                              cost_per_gain=(0.8, 1.1), gain_total=0.7, cost_total=0.6),),
        flips=(
            PriceFlip(part="host", title="the price of the hosts", share=0.25,
                      rise=Turn(factor=1.18, config=rival), fall=Turn(factor=0.4)),
            PriceFlip(part="x", title="the price of cables", share=0.01),
        ),
    )  # fmt: skip
    return replace(old, certainty=replace(found, **more))  # type: ignore[arg-type]


def test_the_sentence_names_rival_price_and_limit() -> None:
    odds, turns, means = words.sentences(sure())
    assert odds.startswith("Near what was measured: in 93 % of 1,000 simulated outcomes")
    assert "it beats its nearest rival, 64 x NVIDIA" in odds
    assert odds.endswith("in 94 %.")
    assert words.met(sure()) == "It meets capital <= 1.2 MUSD in 88 % of simulated outcomes"
    assert turns.endswith(
        "until the price of the hosts rises by 18 %; then the answer is 64 x NVIDIA A100 SXM4 80 "
        "GB."
    )
    assert means == "A quote would settle most."


def test_how_likely_limits_are_met_is_told_right_below_the_headline() -> None:
    """With what is surer; where a confidence was asked for and is had, that says it."""
    rival = replace(of(sure()).choices[1], cost=9e4)
    found = sure(next_best=NextBest(confidence=0.9, usual=rival))
    meets = "It meets capital <= 1.2 MUSD in 88 % of simulated outcomes"
    assert answer(found)[1] == f"{meets}; --confidence 90% recommends 64 x NVIDIA A100 SXM4 80 GB."
    alone = sure(next_best=NextBest(confidence=0.9, usual=rival, reached=False))
    assert answer(alone)[1] == answer(sure())[1] == f"{meets}."
    own = of(sure()).choices[0]
    certain = replace(own, met={"capital <= 1.2 MUSD": 1.0})
    assert "It meets" not in " ".join(answer(sure(choices=(certain, rival))))


def test_what_decides_whether_a_limit_is_met_is_told() -> None:
    parts = (
        Decider(limit="capital <= 1.2 MUSD", quantity="capital", source="price: host",
                title="the price of the hosts", share=0.834),
        Decider(limit="capital <= 1.2 MUSD", quantity="capital", source="price: x",
                title="the price of cables", share=0.122),
        Decider(limit="power / gpus <= 1 kW", quantity="", source="PUE",
                title="the PUE of the site", share=0.97),
    )  # fmt: skip
    told = sure(deciding=parts)
    budget = (
        "meets capital <= 1.2 MUSD depends on the price of the hosts (83 % of the variance of its "
        "purchase price) and the price of cables (12 %)."
    )
    site = (
        "meets power / gpus <= 1 kW depends on the PUE of the site (97 % of the variance of what "
        "is limited)."
    )
    _, limits, _ = words.sentences(told)
    assert limits.startswith(f"Whether it {budget} It stays")
    assert site not in limits, "the answer has that of the limit that is missed most often"
    page = html.unescape(render_page(told)).replace("\N{NO-BREAK SPACE}", " ")
    markdown = render_markdown(told).replace("\\", "")
    for sentence in (budget, site):
        assert f"Whether the recommended purchase {sentence}" in page
        assert f"Whether the recommended purchase {sentence}" in markdown
    assert "Whether the recommended" not in render_markdown(sure())


def test_what_decides_is_told_of_limits_that_may_be_missed_alone(tmp_path: Path) -> None:
    """The power that a limit is close to hangs on no price, and the price on no watts."""
    text = studies.SMALL.replace("200 kUSD", "5 MUSD")
    text = text.replace("constraints: [", 'constraints: ["power <= 3 kW", ')
    found = built(studies.written(tmp_path, text))
    own = of(found).choices[0]
    assert own.met["capital <= 5 MUSD"] >= words.SURE > own.met["power <= 3 kW"]
    deciding = of(found).deciding
    assert deciding
    assert {one.limit for one in deciding} == {"power <= 3 kW"}
    assert {one.source for one in deciding} <= {"PUE", "watts"}
    shares = [one.share for one in deciding]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) <= 1 or len(shares) == 1
    assert not {one.title for one in deciding} & set(of(found).dead_sources)
    assert not any(one.source in ("PUE", "watts") for one in of(found).sources), "nor is it drawn"


def test_a_rival_that_is_the_better_buy_in_most_draws_is_named() -> None:
    """However often another is the best of all."""
    own, rival = of(sure()).choices
    often = replace(rival, best=0.3, beaten=0.55)
    better = replace(rival, config={**rival.config, "gpus": "32"}, best=0.2, beaten=0.44)
    found = sure(choices=(replace(own, best=0.25), often, better))
    for said in (words.sentences(found)[0], words.odds(found)):
        assert "; its nearest rival, 32 x NVIDIA" in said
        assert ", beats it in 56 % of them, and is the best of all in 20 %" in said


def test_the_nearest_rival_is_the_one_that_most_often_wins() -> None:
    """Not the one that is most often the best of all; two of the same machines tell their networks
    apart, in the sentence and in the table."""
    own, rival = of(sure()).choices
    often = replace(rival, best=0.12, beaten=0.63)
    near = replace(rival, config={**rival.config, "gpus": "32", "inter_node": "ib-edr"}, best=0.11,
                   beaten=0.55)  # fmt: skip
    other = replace(near, config={**near.config, "inter_node": "25gbe"}, best=0.09, beaten=0.56)
    found = sure(choices=(own, often, near, other))
    line = words.sentences(found)[0]
    assert "its nearest rival, 32 x NVIDIA A100 SXM4 80 GB, on InfiniBand EDR, in 55 %" in line
    names = [row.name for row in words.rows(found)]
    assert len(set(names)) == 4
    assert names[-1].endswith(", on 25 Gbps Ethernet")
    assert names[1] == named(found, rival.config) == "64 x NVIDIA A100 SXM4 80 GB"


def test_a_rival_of_fewer_accelerators_than_are_sold_is_named_as_it_is_ordered(
    tmp_path: Path,
) -> None:
    """Two of a board of four, as the bill has them; so is what a price turns to."""
    own, rival = of(sure()).choices
    whole = Ordered(accelerators=128, boards="32 HGX A100 4-GPU baseboards")
    turn = Turn(factor=1.2, config={**rival.config, "gpus": "2"}, ordered=Ordered(accelerators=4))
    flips = (PriceFlip(part="host", title="the price of the hosts", share=0.25, rise=turn),)
    found = sure(choices=(own, replace(rival, ordered=whole)), flips=flips)
    named = "128 x NVIDIA A100 SXM4 80 GB on 32 HGX A100 4-GPU baseboards (64 in use)"
    assert f"its nearest rival, {named}, in 94 %" in words.sentences(found)[0]
    assert "then 4 x NVIDIA A100 SXM4 80 GB (2 in use)" in price_flips.flip_lines(found)[0]
    few = studies.SMALL.replace("gpus: [1, 2, 3, 4, 8, 16]", "gpus: [1]")
    few = few.replace("v100-sxm2-16gb]", "h100-sxm]").replace("halving-doubling-gloo, ", "")
    told = [one for one in of(built(studies.written(tmp_path, few))).choices if one.ordered]
    assert told
    for one in told:
        assert one.ordered is not None
        assert int(one.config["gpus"]) < one.ordered.accelerators == 4


def test_what_is_never_the_best_is_no_nearest_rival_where_another_may_be() -> None:
    own, rival = of(sure()).choices
    never = replace(rival, config={**rival.config, "gpus": "32"}, best=0.0, beaten=0.85)
    may = replace(rival, best=0.01, beaten=0.98)
    line = words.sentences(sure(choices=(own, never, may)))[0]
    assert "its nearest rival, 64 x NVIDIA A100 SXM4 80 GB, in 98 %" in line
    assert "32 x NVIDIA" in words.sentences(sure(choices=(own, never)))[0]


def test_of_rivals_that_miss_as_much_the_cheapest_is_the_nearest() -> None:
    """Where what is recommended costs nothing to add, all others miss everything."""
    own, rival = of(sure()).choices
    dear = replace(rival, best=0.0, beaten=1.0, regret=1.0, cost=2e6)
    cheap = replace(dear, config={**rival.config, "gpus": "16"}, cost=1e5)
    line = words.sentences(sure(choices=(own, dear, cheap)))[0]
    assert "its nearest rival, 16 x NVIDIA A100 SXM4 80 GB" in line


def test_a_purchase_within_the_resolution_is_no_rival() -> None:
    """Half as likely each, and as good: together they are the answer, and no price between them
    changes it."""
    found = sure()
    own, rival = of(found).choices
    twin = replace(rival, config={**own.config, "inter_node": "ib-edr"}, best=0.06, beaten=0.4)
    gain = report_words.gain(found, found.recommended)
    cost = report_words.cost(found, found.recommended)
    twin = replace(twin, gain=gain and gain * 1.004, cost=cost)
    turn = PriceFlip(part="network", title="the price of the network", share=0.1,
                     rise=Turn(factor=1.01, config=twin.config))  # fmt: skip
    flips = (turn, *of(found).flips)
    alike = sure(choices=(own, twin, rival), flips=flips)
    alike = replace(alike, choices=RowsOfChoices(resolution=0.01, rows=()))
    line = " ".join(words.sentences(alike))
    assert "in 99 % of 1,000 simulated outcomes this purchase, or" in line
    assert "on InfiniBand EDR, which is as good to 1 %, is the best choice" in line
    assert "it beats its nearest rival, 64 x NVIDIA" in line
    assert "until the price of the hosts rises by 18 %; then the answer is" in line
    odds = "It, or what is as good to 1 %, is the best choice in 99 % of simulated outcomes."
    assert odds in words.odds(alike)
    assert "then" in price_flips.flip_lines(alike)[0]
    assert price_flips.flip_lines(alike)[0].count("as good to 1 %") == 1
    first, second, third = (row.cells[0] for row in words.rows(alike))
    assert first == "99 %", "as the sentence says"
    assert second == words.WITH_IT
    assert third == words.chance(rival.best)
    assert "count with it" in words.scope(alike, of(alike))
    exact = replace(alike, choices=None)  # without a resolution every point is its own choice
    assert ", beats it in 60 % of them, and is the best of all" in words.sentences(exact)[0]


def test_a_choice_that_misses_as_little_or_is_surer_is_told_beside_the_certainty() -> None:
    rival = of(sure()).choices[1]
    other = replace(rival, cost=9e4, regret=0.0196, meets_all=0.97)

    def told(**found: Choice) -> str:
        return " ".join(next_best.said(sure(next_best=NextBest(confidence=0.9, **found))))

    both = told(by_regret=other, usual=other)
    assert both == (
        "64 x NVIDIA A100 SXM4 80 GB, for USD 90 k, gives up as little of what the best choice "
        "brings (2 % on average, this purchase 2 %), and is what --confidence 90% recommends: it "
        "meets every limit in 97 % of simulated outcomes, this purchase in 88 %."
    )
    steadier = replace(other, config={**other.config, "gpus": "32"}, regret=0.005)
    least = (
        "32 x NVIDIA A100 SXM4 80 GB, for USD 90 k, gives up less of what the best choice brings "
        "(0.5 % on average, this purchase 2 %)."
    )
    assert told(by_regret=steadier) == least
    # The least is named also where what the confidence recommends misses no more than this one.
    assert told(by_regret=steadier, usual=other) == (
        f"{least} --confidence 90% recommends 64 x NVIDIA A100 SXM4 80 GB, for USD 90 k: it meets "
        "every limit in 97 % of simulated outcomes, this purchase in 88 %."
    )
    dear = replace(other, regret=0.3)
    surer = (
        "--confidence 90% recommends 64 x NVIDIA A100 SXM4 80 GB, for USD 90 k: it meets every "
        "limit in 97 % of simulated outcomes, this purchase in 88 %, and on average gives up "
        "30 % of what the best choice brings, this one 2 %."
    )
    assert told(usual=dear) == surer
    assert told(by_regret=steadier, usual=dear).endswith(
        f"(0.5 % on average, this purchase 2 %). {surer}"
    )
    found = sure(next_best=NextBest(confidence=0.9, usual=dear))
    assert surer in answer(found)
    assert surer in render_markdown(found).replace("\\", "")
    assert next_best.said(sure()) == []


def test_what_is_all_or_nothing_is_told_by_how_often_it_is_the_best_choice() -> None:
    """By the rule cheapest-within-5% a choice a little slower than that is worth nothing, though it
    brings nearly as much: that it gives up most of what the best one brings would not be true."""
    rival = of(sure()).choices[1]
    other = replace(rival, cost=9e4, regret=0.89, best=0.13, meets_all=0.97)

    def told(**found: Choice) -> str:
        best = NextBest(confidence=0.9, **found)
        return " ".join(next_best.said(sure(rule="cheapest-within-5%", next_best=best, best=0.72)))

    assert told(usual=other) == (
        "--confidence 90% recommends 64 x NVIDIA A100 SXM4 80 GB, for USD 90 k: it meets every "
        "limit in 97 % of simulated outcomes, this purchase in 88 %, and is the best choice in "
        "13 %, this one in 72 %."
    )
    oftener = replace(other, config={**other.config, "gpus": "32"}, best=0.8)
    assert told(by_regret=oftener) == (
        "32 x NVIDIA A100 SXM4 80 GB, for USD 90 k, is the best choice in 80 % of simulated "
        "outcomes, this purchase in 72 %."
    )
    assert told(by_regret=oftener, usual=oftener).startswith(
        "32 x NVIDIA A100 SXM4 80 GB, for USD 90 k, is the best choice in 80 % of simulated "
        "outcomes, this purchase in 72 %, and is what --confidence 90% recommends: it meets"
    )
    assert told(by_regret=other) == "", "which is the best less often"


def test_what_the_usual_confidence_recommends_is_what_it_does_recommend(
    small: RunDocument, tmp_path: Path
) -> None:
    """It is another purchase, since the recommended one may well miss its limit; what to do says
    which."""
    assert of(small).choices[0].meets_all < 0.9
    found = of(small).next_best
    assert found is not None
    assert found.usual is not None
    asked = built(studies.written(tmp_path, studies.SMALL + "confidence: 0.9\n"))
    assert asked.recommended.config == found.usual.config
    assert found.usual.meets_all == of(asked).choices[0].meets_all >= 0.9
    assert of(asked).next_best is None or of(asked).next_best.usual is None
    name = named(small, found.usual.config)
    assert f"--confidence 90%, which recommends {name}: this meets" in " ".join(answer(small))
    told = f"--confidence 90% recommends {name}, for USD"
    assert told in html.unescape(render_page(small)).replace("\N{NO-BREAK SPACE}", " ")


def test_where_nothing_is_usually_sure_the_surest_is_told_and_no_question_advised(
    small: RunDocument, tmp_path: Path
) -> None:
    """A budget that even the cheapest may well miss: to ask for a confidence finds nothing."""
    least = min(point.costs["capital"] or np.inf for point in small.front)
    text = studies.SMALL.replace("200 kUSD", f"{least * 1.0001:.2f} USD")
    run = built(studies.written(tmp_path, text))
    found = of(run).next_best
    assert found is not None
    assert found.usual is not None
    assert not found.reached
    asked = built(studies.written(tmp_path, text + "confidence: 0.9\n"))
    assert asked.confidence is not None
    assert not asked.confidence.reached
    assert asked.recommended.config == found.usual.config
    assert asked.confidence.recommended == found.usual.meets_all < 0.9
    told = " ".join(answer(run))
    assert "--confidence" not in told
    does = f"does in {words.chance(found.usual.meets_all)}"
    assert "no purchase meets every limit with 90 % probability: this is the surest and" in told
    assert does in told
    assert words.LOOSEN in told
    (other, *_) = of(small).choices[1:]
    elsewhere = replace(found, usual=replace(other, cost=9e4, meets_all=0.85))
    surest = next_best.surest(replace(run, certainty=replace(of(run), next_best=elsewhere)))
    assert f"the surest, {named(small, other.config)}" in surest
    assert surest.endswith("for USD 90 k, does in 85 %")


def test_software_that_can_be_chosen_later_costs_no_regret(small: RunDocument) -> None:
    """Whoever has the purchase that is best in 70 % of the draws misses something in 30 %."""
    for choice in of(small).choices:
        assert choice.regret <= 1 - choice.best + 1e-9
    study = load(shipped_studies() / "ps-vs-allreduce.yaml")
    outcome = run(study, "exhaustive", None, None, lambda *_: None, 1000, 0)
    found, position = drawn_answer(outcome, "cheapest-within-5%", {})
    point = describe(outcome.problem, found.near.points[position])
    sure = certainty(found, position, {}, point)
    assert sure.choices[0].regret <= 1 - sure.choices[0].best + 1e-9
    assert not [item for item in sure.knowledge if item.name.startswith("communication")]


def test_what_is_expected_to_miss_least_is_told_where_it_is_another_choice(tmp_path: Path) -> None:
    """Not of the same choice, nor beside what was chosen for that."""
    outcome = run(load(studies.written(tmp_path, studies.SMALL)), "exhaustive", None, None,
                  lambda *_: None, 1000, 0)  # fmt: skip
    found = drawn_answer(outcome, "speed-per-dollar", {})[0]
    worst, least = int(np.argmax(found.regrets)), int(np.argmin(found.regrets))
    of_worst = certainty(found, worst, {}, describe(outcome.problem, found.near.points[worst]))
    assert of_worst.next_best is not None
    told = of_worst.next_best.by_regret
    assert told is not None
    assert told.regret == pytest.approx(found.regrets.min())
    assert told.config in [choice.config for choice in of_worst.choices]
    of_least = certainty(found, least, {}, describe(outcome.problem, found.near.points[least]))
    assert of_least.next_best is None


def test_the_chance_to_meet_the_limits_is_known_of_purchases() -> None:
    found = sure()
    rival = of(found).choices[1].config
    assert words.chances(found, found.recommended.config) == 0.88
    assert words.chances(found, rival) == 1.0
    assert words.chances(found, {**rival, "gpus": "3"}) is None
    told = {fact.label: fact.value for fact in offers.facts(found, found.recommended)}
    assert told["Meets every limit"] == "88 %"
    others = {fact.label: fact.value for fact in offers.facts(found, found.front[0])}
    assert others["Meets every limit"] == "unknown"
    assert others.keys() == told.keys()  # a column for each in the text


def test_what_each_price_decides() -> None:
    first, second = price_flips.flip_lines(sure())
    assert first.startswith("The price of the hosts (25 % of the cost): the answer holds up to +18")
    assert "then 64 x NVIDIA" in first
    assert "down to -60 %, then nothing meets the constraints" in first
    assert "no price up to 10 times, or down to a tenth, changes the answer" in second


def test_a_price_says_of_which_cost_it_is_a_share() -> None:
    """That of an older version does not know."""
    found = sure()
    first, *others = of(found).flips
    owned = replace(of(found), flips=(replace(first, of="tco"), *others))
    told = price_flips.flip_lines(replace(found, certainty=owned))[0]
    assert told.startswith("The price of the hosts (25 % of the cost of ownership): the answer")
    assert price_flips.flip_lines(found)[0].startswith(
        "The price of the hosts (25 % of the cost): the"
    )


def test_rows_have_as_many_cells_as_there_are_heads() -> None:
    found = sure()
    assert {len(row.cells) for row in words.rows(found)} == {len(words.heads(found))}
    assert "Meets capital <= 1.2 MUSD" in words.heads(found)
    assert words.source_rows(of(found)) == [("launches", "-10 % to +20 %", "-20 % to +10 %",
                                             "70 %", "60 %")]  # fmt: skip


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


@pytest.mark.parametrize(
    ("evidence", "spans", "word"),
    [("inside", 1.4, "measured"), ("silent", 1.4, "measured"), ("inside", 2.0, "near"),
     ("near", 1.4, "near"), ("near", 4.0, "estimated"), ("far", 1.1, "estimated"),
     ("catalogue", 1.1, "estimated"), ("formula", 1.1, "estimated"), ("inside", 9.0, "estimated")],
)  # fmt: skip
def test_one_word_by_evidence_and_width(evidence: str, spans: float, word: str) -> None:
    interval = Interval(speedup=None, step_s=None, throughput_samples_per_s=(10.0, 10.0 * spans))
    point = replace(read_point(written()["recommended"]), evidence=evidence, interval=interval)
    assert verdict(point)[0] == word
    assert verdict(replace(point, interval=None))[0] == "estimated"


def test_a_run_whose_time_nobody_knows_is_estimated_however_sure_its_rate_is() -> None:
    """As on spot machines, which may be taken away at any time."""
    rate, time = (10.0, 14.0), {"time_to_target": (12.0, 810.0)}
    interval = Interval(speedup=None, step_s=None, throughput_samples_per_s=rate, costs=time)
    point = replace(read_point(written()["recommended"]), evidence="inside", interval=interval)
    assert verdict(point)[0] == "estimated"
    assert "the 90 % interval of the time of its run spans a factor of 68" in verdict(point)[1]
    steady = replace(interval, costs={"time_to_target": (12.0, 16.0)})
    assert verdict(replace(point, interval=steady))[0] == "measured"


def test_what_comes_closest_to_its_limits_is_not_weighed_by_another_rule(
    small: RunDocument,
) -> None:
    assert small.certainty is not None
    own, *others = small.certainty.choices
    rival = replace(others[0], alike=False, beaten=0.01)
    unsure = replace(
        small,
        certainty=replace(small.certainty, choices=(own, rival)),
        confidence=Confidence(asked=0.9, reached=False, recommended=0.54, best_estimate=1,
                              front=(), considered=3, limits=("power <= 1 kW",)),
    )  # fmt: skip
    said = words.sentences(unsure)[0]
    assert "no purchase meets the limits more often than this one, in 54 % of 1,000" in said
    assert said.endswith("is the better buy in 99 %.")
    assert "best choice" not in said


@pytest.mark.parametrize(
    ("computing", "word"),
    [("own", "measured"), ("published", "measured"), ("", "measured"), ("alike", "near"),
     ("nobody", "estimated"), ("given", "estimated")],
)  # fmt: skip
def test_what_nobody_timed_is_not_measured(computing: str, word: str) -> None:
    interval = Interval(speedup=None, step_s=None, throughput_samples_per_s=(10.0, 12.0))
    point = replace(
        read_point(written()["recommended"]), evidence="inside", interval=interval,
        computing=computing,
    )  # fmt: skip
    found, why = verdict(point)
    assert found == word
    assert COMPUTING[computing] in why


@pytest.mark.parametrize(
    ("name", "said", "found_out"),
    [
        ("price: h100-sxm", "the price of NVIDIA H100 SXM5 80 GB",
         "a quote for NVIDIA H100 SXM5 80 GB"),
        ("price: dgx-b200 for rent", "the rent of NVIDIA DGX B200",
         "a quote for renting NVIDIA DGX B200"),
        ("price: cable of ib-ndr", "the price of the network (InfiniBand NDR)",
         "a quote for the network (InfiniBand NDR)"),
        ("price: host", "the price of the hosts", "a quote for the hosts"),
        ("communication: ring, outside", "communication by ring",
         "half an hour of nccl-tests on two such nodes on InfiniBand NDR "
         "('dse calibrate import LOG --name mine --link ib-ndr')"),
        ("rate: a100-sxm4-40gb, fp16, vendor", "the training rate on NVIDIA A100 SXM4 40 GB",
         "one training rate measured on NVIDIA A100 SXM4 40 GB "
         "('dse calibrate import-throughput')"),
        ("computing: family cnn", "how fast accelerators compute",
         "one training rate measured on it ('dse calibrate import-throughput')"),
        ("scale: sharing", "networks shared by many nodes",
         "a short training run on as many nodes as recommended"),
        ("failures per_accelerator_month", "how often accelerators fail",
         "a count of failures and checkpoints in your own cluster ('failures' in the study)"),
        ("critical batch", "the batch from which on a quality needs many more samples",
         "runs to that quality at two batch sizes"),
        ("time to recover", "time to recover", "a measurement of time to recover"),
    ],
)  # fmt: skip
def test_sources_in_words(name: str, said: str, found_out: str) -> None:
    assert title(name) == said
    assert how(name, Place("it", "nccl", nodes=8, network="ib-ndr")) == found_out


@pytest.mark.parametrize(
    ("place", "found_out"),
    [
        (Place("it", "nccl"), "half an hour of nccl-tests on one such node "
         "('dse calibrate import LOG --name mine')"),
        (Place("it", "mpi", nodes=4, network="25gbe"),
         "'dse calibrate run --hostfile HOSTS --link 25gbe' on two such nodes on 25 Gbps Ethernet"),
        (Place("it", "mpi", servers=True, nodes=4, network="25gbe"),
         "'dse calibrate run --runner mpi-ps --hostfile HOSTS --link 25gbe' on two such nodes on "
         "25 Gbps Ethernet"),
        (Place("it", "mpi", servers=True), "'dse calibrate run --runner mpi-ps' on one such node"),
        (Place("it", "gloo", nodes=2),
         "'dse calibrate run --runner torch' on two such nodes"),
        (Place("it", "mpi-gdr", nodes=2, network="ib-hdr"),
         "a measurement on two such nodes on InfiniBand HDR"),
    ],
)  # fmt: skip
def test_what_to_measure_is_what_the_recommended_point_crosses(
    place: Place, found_out: str
) -> None:
    assert how("communication: ring, outside", place) == found_out


def test_only_what_may_change_the_answer_is_said_to_settle_it() -> None:
    """Not what is worth less than 1 % to know, nor what only makes most of the spread."""
    problem = load(shipped_studies() / "gpu-generations.yaml")
    point, place = problem.study.baseline.values, Place("NVIDIA A100 SXM4 80 GB")
    computing = "computing: families"
    spread = Effect(computing, (0.7, 1.4), (0.8, 1.3), gain_total=0.42, cost_total=0.31)
    price = Knowledge(name="price: host", title="the price of the hosts", worth=DECIDES,
                      how="a quote for the hosts")  # fmt: skip

    def said(knowledge: list[Knowledge], sources: list[Effect]) -> str:
        names = {computing: frozenset({"computing: family cnn"})}
        return raising(problem, point, sources, names, knowledge, place, CHEAPEST)

    assert said([price], [spread]) == (
        "A quote for the hosts would settle most: to have it before deciding is worth 1 % of the "
        "cost, on average."
    )
    less = [replace(price, worth=0.99 * DECIDES)]
    for knowledge in (less, []):
        line = said(knowledge, [spread])
        assert "settle" not in line
        assert line.startswith("No single measurement or quote would change the answer by much")
        assert "worth less than 1 % of the cost" in line
        assert (
            "The largest part of the spread of its speed, 42 %, comes from how fast accelerators "
            "compute; one training rate measured on NVIDIA A100 SXM4 80 GB "
        ) in line
    dearer = replace(spread, cost_total=0.6)
    assert "of the spread of its cost per speed, 60 %" in said([], [dearer])
    assert said([], []).endswith("Nothing uncertain moves the recommended point's speedup or cost.")


def test_who_has_a_rate_of_the_recommended_configuration_is_not_asked_for_one(
    tmp_path: Path,
) -> None:
    text = """\
study: own
workload: resnet50
space:
  accelerator: [a100-sxm4-40gb, h100-sxm]
  gpus: 1
  batch_per_gpu: 128
  precision: fp16
  aggregation: ring-nccl
baseline: {accelerator: a100-sxm4-40gb}
objectives: {maximize: speedup, minimize: capital}
"""
    header = "workload,accelerator,samples_per_s,precision,batch_per_gpu\n"
    rows = {name: f"resnet50,{name},{rate},fp16,128\n" for name, rate in
            (("h100-sxm", 3000), ("a100-sxm4-40gb", 1500))}  # fmt: skip

    def said(*rated: str) -> str:
        (tmp_path / "ours.csv").write_text(header + "".join(rows[name] for name in rated))
        profile = throughput_profile(tmp_path / "ours.csv", "ours")
        problem = priced.problem_of(tmp_path, text, profile)
        point = {**problem.study.baseline.values, "accelerator": "h100-sxm"}
        spread = Effect("computing: families", (0.7, 1.4), (0.8, 1.3), 0.42, 0.31)
        names = {spread.source: frozenset({"computing: family cnn"})}
        return raising(problem, point, [spread], names, [], Place("it"), CHEAPEST)

    assert "one training rate measured on it ('dse" in said("a100-sxm4-40gb")
    assert "measured on NVIDIA A100 SXM4 40 GB ('dse calibrate import-throughput'), as the b" in (
        said("h100-sxm")
    )
    assert said("h100-sxm", "a100-sxm4-40gb").endswith(
        "compute; your own training rate of this very configuration is counted in already."
    )


def test_what_moves_the_baseline_alone_is_measured_there() -> None:
    problem = load(shipped_studies() / "speed-price-power.yaml")
    point = {**problem.study.baseline.values, "accelerator": "a100-sxm4-80gb", "gpus": 8}
    one_node = problem.applicable({**point, "gpus_per_node": 8})
    ring = frozenset({"communication: ring, outside"})
    place = Place("it", "nccl")
    assert "the baseline's network or of the time of its step" in means_for(
        problem, one_node, ring, place
    )
    assert means_for(problem, one_node, frozenset({"computing: family cnn"}), place) == ""


def test_advice_names_a_study_that_can_be_read_or_says_that_it_must_be_saved() -> None:
    problem = load(shipped_studies() / "gpu-generations.yaml")
    point = {**problem.study.baseline.values, "node": "aws-p5.48xlarge"}
    assert measured(problem, point, "nccl").endswith("--study gpu-generations')")
    for name in ("mine.yaml", "study"):  # neither is a file: of dse ask, and of a mapping
        unsaved = replace(problem, study=replace(problem.study, path=name))
        said = f"--study {name}', once the study is saved there)"
        assert measured(unsaved, point, "nccl").endswith(said)


def test_runs_are_advised_for_a_profile_of_the_recommended_machines_alone() -> None:
    """Runs on one P5 say nothing of another machine, nor of several P5 on their network."""
    problem = load(shipped_studies() / "gpu-generations.yaml")
    base = {**problem.study.baseline.values, "node": "aws-p5.48xlarge"}
    assert "dse calibrate suggest aws-p5-node" in measured(problem, base, "nccl")
    assert measured(problem, {**base, "gpus": 32}, "nccl") == ""
    assert measured(problem, {**base, "node": "dgx-b200"}, "nccl") == ""


def test_what_differs_in_a_purchase_is_told_after_a_comma(small: RunDocument) -> None:
    own = small.recommended.config
    machines = named(small, own)
    other = {**own, "gpus_per_node": "1", "inter_node": "ib-edr"}
    assert named(small, other) == f"{machines}, 1 per node, on InfiniBand EDR"
    assert report_words.phrase("nics_per_node", "2") == "with 2 network cards per node"


def test_a_price_that_turns_the_answer_is_told_with_what_else_the_catalogue_has(
    tmp_path: Path,
) -> None:
    """A share of a complete server counts without the server that the study buys apart."""
    text = studies.SMALL.replace("v100-sxm2-16gb]", "a100-sxm4-40gb, a10]")
    found = built(studies.written(tmp_path, text.replace("capital <= 200 kUSD", "speedup >= 3")))
    mine = {flip.part: flip for flip in of(found).flips if flip.share}
    assert mine
    for flip in mine.values():
        assert flip.known is not None
        low, high = flip.known.bounds
        assert low < 1 < high
        for seen in flip.seen:
            assert flip.known.usd is not None
            assert flip.rise or flip.fall
            turn = flip.rise if seen.above else flip.fall
            assert turn is not None
            assert (seen.usd >= flip.known.usd * turn.factor) or not seen.above
    flip = PriceFlip(
        part="a100-sxm4-40gb", title="the price of NVIDIA A100 SXM4 40 GB", share=0.8,
        rise=Turn(factor=1.1, config=of(found).choices[-1].config),
        known=KnownPrice(usd=12_500.0, own=False),
        seen=(SeenPrice(usd=24_875.0, date="2020-05-21", source="epoch-prices",
                        detail="DGX A100 $199,000 / 8", with_server=True),),
    )  # fmt: skip
    told = replace(found, certainty=replace(of(found), flips=(flip,)))
    also = (
        "the catalogue also has USD 24,875 of 2020-05-21 (DGX A100 $199,000 / 8, with a share of "
        "the server, epoch-prices)"
    )
    then = f"then the answer is {named(found, of(found).choices[-1].config)}"
    assert f"rises by 10 %, to USD 13,800; {then}; {also}." in price_flips.flip(told)
    assert "up to +10 % (USD 13,800), then" in price_flips.flip_lines(told)[0]
    assert f"T{also[1:]}." in price_flips.flip_lines(told)[0]
    unknown = replace(flip, rise=None, compared=False)
    told = replace(found, certainty=replace(of(found), flips=(unknown,)))
    assert price_flips.turn_lines(told) == price_flips.flip_lines(told) == []


def test_the_highest_price_of_the_catalogue_beyond_the_turn_is_found(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, studies.SMALL.replace(
        "v100-sxm2-16gb]", "a100-sxm4-40gb]")))  # fmt: skip
    point, part = problem.study.baseline.values, "a100-sxm4-40gb"
    each = 20_000 / 4  # of its host, which has four
    (seen,) = seen_prices(problem, part, point, {1: Turn(factor=1.1)})
    assert (seen.usd, seen.date, seen.above, seen.with_server) == (24_875, "2020-05-21", True, True)
    beyond = (24_875 - each) / 12_500
    assert [*seen_prices(problem, part, point, {1: Turn(factor=beyond - 1e-9)})]
    assert not [*seen_prices(problem, part, point, {1: Turn(factor=beyond + 1e-9)})]
    assert not [*seen_prices(problem, part, point, {-1: Turn(factor=0.99)})]
    assert not [*seen_prices(problem, "host", point, {1: Turn(factor=1.1)})]


def test_hosts_of_an_accelerator_are_asked_for_by_its_name(tmp_path: Path) -> None:
    own = "prices: {accelerators: {v100-sxm2-16gb: {host: {value: 31 kUSD, date: 2025-05-02}}}}\n"
    problem = load(studies.written(tmp_path, studies.SMALL + own))
    part = host_price(problem.prices, "v100-sxm2-16gb").part
    assert price_title(part) == "the price of the hosts of NVIDIA Tesla V100 SXM2 16 GB"
    apart, common = known_price(problem, part), known_price(problem, "host")
    assert apart is not None
    assert common is not None
    assert (apart.usd, apart.date, apart.own) == (31_000, "2025-05-02", True)
    assert (common.usd, common.own) == (20_000, False)
    titles = [item.item for item in part_prices(problem)]
    assert "Host for NVIDIA Tesla V100 SXM2 16 GB" in titles
    assert "Host for accelerators" in titles  # those of the P100


def test_the_price_that_counts_is_told_with_who_asks_it(tmp_path: Path) -> None:
    """What it would have to become is asked by nobody."""
    text = studies.SMALL.replace("minimize: capital", "minimize: hourly")
    found = load(studies.written(tmp_path, text))
    rent = known_price(found, "dgx-b200 for rent")
    assert rent is not None
    flip = PriceFlip(part="dgx-b200 for rent", title="", share=1.0, known=rent)
    assert price_flips.usd(flip) == "USD 44/h from Nebius"
    assert price_flips.usd(flip, 1.5) == "USD 66/h"
    nobody = replace(flip, known=replace(rent, seller=""))
    assert price_flips.usd(nobody) == "USD 44/h"


def test_rents_are_those_of_the_term(tmp_path: Path) -> None:
    """What is paid an hour on the spot market, not the price on demand that it is off."""
    term = "rental: {term: spot, discount: 0.5}\n"
    text = studies.SMALL.replace("minimize: capital", "minimize: hourly")
    text = text.replace("v100-sxm2-16gb]", "h100-sxm]")
    usual = load(studies.written(tmp_path, text))
    spot = load(studies.written(tmp_path, text + term))
    part, point = "h100-sxm for rent", usual.study.baseline.values
    paid, listed = known_price(spot, part), known_price(usual, part)
    assert paid is not None
    assert listed is not None
    assert listed.usd is not None
    assert paid.usd == pytest.approx(listed.usd / 2)
    assert paid.bounds == listed.bounds
    host = known_price(spot, "host")
    assert host == known_price(usual, "host")  # is bought
    (dear,) = seen_prices(usual, part, point, {1: Turn(factor=1.1)})
    (half,) = seen_prices(spot, part, point, {1: Turn(factor=1.1)})
    assert half.usd == pytest.approx(dear.usd / 2)
    assert (half.on_demand_usd, dear.on_demand_usd) == (dear.usd, None)
    assert f"USD {half.usd:,.2f}/h of" in price_flips.seen_price(half, hourly=True)
    assert f"(USD {dear.usd:,.2f}/h on demand, " in price_flips.seen_price(half, hourly=True)


def test_the_nearest_rival_of_what_is_always_the_best_is_what_misses_least(tmp_path: Path) -> None:
    """Not the fastest within the limits, which the answer names for another reason."""
    certain = (
        "prices: {as_of: 2026-11-20, accelerators: {p100-sxm2-16gb: {purchase: 3 kUSD, sold_in: 1}"
        ", v100-sxm2-16gb: {purchase: 9 kUSD, sold_in: 1}}, host: 9 kUSD}\nrecommend: cheapest\n"
    )
    found = built(studies.written(tmp_path, studies.SMALL + certain))
    assert found.certainty is not None
    own, *others = found.certainty.choices
    assert own.best > 0.99
    rivals = [one for one in others if not one.alike]
    assert len(rivals) > 1, "the fastest, and another"
    nearest = words.nearest(rivals)
    assert nearest.regret == min(one.regret for one in rivals)
    assert nearest.role == ""
    assert nearest.cost == min(one.cost or 0.0 for one in rivals)
    listed = f"of which the table has {len(found.certainty.choices)}"
    assert listed in words.scope(found, found.certainty)


def test_a_named_choice_that_is_less_sure_than_was_asked_says_so(tmp_path: Path) -> None:
    found = built(studies.written(tmp_path, studies.SMALL + "recommend: cheapest\n"))
    sure = found.certainty
    assert sure is not None
    asked = Confidence(asked=0.9, reached=True, recommended=0.95, best_estimate=1,
                       front=(0.95,) * len(found.front),
                       considered=3, limits=("capital <= 200 kUSD",))  # fmt: skip
    named = found.cheapest_within_5_percent.config
    assert named != found.recommended.config

    def said(meets: float) -> str:
        known = [one for one in sure.choices if one.config != named]
        known.append(replace(known[0], config=named, meets_all=meets))
        lines = answer(
            replace(found, certainty=replace(sure, choices=tuple(known)), confidence=asked)
        )
        return next(line for line in lines if "within 5 % of" in line)

    less = "; it meets the limits in 51 % of simulated outcomes only, and 90 % was asked for."
    assert said(0.51).endswith(less)
    assert "of simulated outcomes only" not in said(0.93)
