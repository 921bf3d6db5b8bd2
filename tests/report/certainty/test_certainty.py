"""How sure the answer is: in the document of a run, and in its own section."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.pricing.hardware import host_price
from dse.pricing.load import load, shipped_studies
from dse.report import assembly, json_form, offers, recommendation
from dse.report.certainty import section
from dse.report.certainty.build import certainty, drawn_answer, known_price
from dse.report.certainty.facts import (
    SURE,
    Certainty,
    Choice,
    KnownPrice,
    PriceFlip,
    SourceEffect,
    Turn,
)
from dse.report.certainty.titles import price_title
from dse.report.document import RunDocument
from dse.report.page import render_markdown, render_page
from dse.search.run import Outcome, run
from tests.pricing import studies
from tests.report.documents import document


def searched(path: Path) -> Outcome:
    return run(load(path), "exhaustive", None, None, lambda *_: None, 1000, 0)


def built(path: Path) -> RunDocument:
    return assembly.build(searched(path), "dse run small", 0, 1.0, {})


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> RunDocument:
    return built(studies.written(tmp_path_factory.mktemp("small"), studies.SMALL))


def of(found: RunDocument) -> Certainty:
    assert found.certainty is not None
    return found.certainty


def test_the_document_says_how_sure_it_is(small: RunDocument) -> None:
    found = of(small)
    own, *others = found.choices
    assert found.draws == 1000
    assert own.role == "recommended"
    assert own.config == small.recommended.config
    assert own.beaten is None
    assert all(choice.beaten is not None for choice in others)
    assert 0.9 < sum(choice.best for choice in found.choices) <= 1.0 + 1e-9
    assert found.best >= own.best
    written = json_form.plain(small)
    assert json_form.plain(json_form.parsed(RunDocument, written)) == written


def test_its_bands_are_the_intervals_of_the_points(small: RunDocument) -> None:
    """The same draws, whatever is priced beside a point."""
    interval = small.recommended.interval
    assert interval is not None
    bands = of(small).choices[0].bands
    assert bands["speedup"] == pytest.approx(interval.speedup)
    assert bands["step"] == pytest.approx(interval.step_s)
    assert bands["capital"] == pytest.approx(interval.costs["capital"])


def test_a_rival_that_misses_a_limit_is_listed_with_how_likely_it_meets_it(
    small: RunDocument, tmp_path: Path
) -> None:
    cheaper = small.front[1]
    limit = f"speedup >= {1.01 * (cheaper.speedup or 0.0)}"
    text = studies.SMALL.replace("constraints: [", f'constraints: ["{limit}", ')
    found = built(studies.written(tmp_path, text))
    rival = of(found).choice(cheaper.config)
    assert rival is not None
    assert 0.1 < rival.meets_all <= rival.met[limit] < 0.7
    assert 0.0 < rival.decided < 1.0
    assert limit in of(found).unsure_limits


@pytest.mark.parametrize("text", [studies.SMALL, studies.CLOSED])
def test_every_point_of_a_report_has_an_interval(text: str, tmp_path: Path) -> None:
    found = built(studies.written(tmp_path, text))
    for point in (found.baseline, found.recommended, found.fastest, *found.front):
        assert point.interval is not None
        assert point.interval.speedup is not None
        assert point.interval.step_s is not None
    if text == studies.CLOSED:  # as wide as its judged errors
        low, high = found.recommended.interval.speedup  # type: ignore[union-attr,misc]
        assert 1.5 < high / low < 20


def test_least_regret_is_never_the_default_and_is_what_it_says(
    small: RunDocument, tmp_path: Path
) -> None:
    assert small.recommended.rule != "least-regret"
    asked = built(studies.written(tmp_path, studies.SMALL + "recommend: least-regret\n"))
    assert asked.recommended.rule == "least-regret"
    own, *others = of(asked).choices
    assert all(own.regret <= choice.regret for choice in others)
    assert own.regret <= of(small).choices[0].regret


def test_software_that_can_be_chosen_later_costs_no_regret(small: RunDocument) -> None:
    """Whoever has the purchase that is best in 70 % of the draws misses something in 30 %."""
    for choice in of(small).choices:
        assert choice.regret <= 1 - choice.best + 1e-9
    outcome = searched(shipped_studies()["ps-vs-allreduce"])
    found, position = drawn_answer(outcome, "cheapest-within-5%", {})
    sure = certainty(found, position, {})
    assert sure.choices[0].regret <= 1 - sure.choices[0].best + 1e-9


def test_what_is_expected_to_miss_least_is_listed(tmp_path: Path) -> None:
    outcome = searched(studies.written(tmp_path, studies.SMALL))
    found = drawn_answer(outcome, "speed-per-dollar", {})[0]
    worst = int(np.argmax(found.regrets))
    least = min(choice.regret for choice in certainty(found, worst, {}).choices)
    assert least == pytest.approx(found.regrets.min())


def test_what_the_usual_confidence_recommends_is_listed(small: RunDocument, tmp_path: Path) -> None:
    """It is another purchase, since the recommended one may well miss its limit."""
    assert of(small).choices[0].meets_all < recommendation.USUAL
    asked = built(studies.written(tmp_path, studies.SMALL + "confidence: 0.9\n"))
    listed = of(small).choice(asked.recommended.config)
    assert listed is not None
    assert listed.meets_all == of(asked).choices[0].meets_all >= recommendation.USUAL


def test_where_nothing_is_likely_what_misses_least_is_the_rival(tmp_path: Path) -> None:
    """Not the fastest within the limits, which the answer names for another reason."""
    certain = (
        "prices: {as_of: 2026-11-20, accelerators: {p100-sxm2-16gb: {purchase: 3 kUSD, sold_in: 1}"
        ", v100-sxm2-16gb: {purchase: 9 kUSD, sold_in: 1}}, host: 9 kUSD}\nrecommend: cheapest\n"
    )
    own, *others = of(built(studies.written(tmp_path, studies.SMALL + certain))).choices
    assert own.best > 0.99
    rivals = [one for one in others if not one.alike]
    (nearest,) = (one for one in rivals if not one.role)
    assert nearest.regret == min(one.regret for one in rivals)


def test_what_decides_whether_a_limit_is_met_is_told(tmp_path: Path) -> None:
    """The power that a limit is close to hangs on no price, and the price on no watts."""
    text = studies.SMALL.replace("350 kUSD", "5 MUSD")
    limit = "power <= 3 kW"
    text = text.replace("constraints: [", f'constraints: ["{limit}", ')
    found = of(built(studies.written(tmp_path, text)))
    own = found.choices[0]
    assert own.met["capital <= 5 MUSD"] >= SURE > own.met[limit]
    assert own.missed == (limit,)
    shares = {one.source: one.limits[limit] for one in found.sources}
    assert max(shares, key=lambda source: shares[source]) in ("PUE", "watts")
    assert shares["PUE"] + shares["watts"] == pytest.approx(1.0, abs=0.1)


def sure(**more: object) -> RunDocument:
    """A document of the toy model with certainty written by hand."""
    old = document()
    config = old.recommended.config
    rival = {**config, "gpus": "64"}
    limit = "capital <= 1.2 MUSD"
    choice = Choice(config=config, gain=3.0, cost=1e5, bands={}, on_front=0.9, best=0.931,
                    met={limit: 0.88}, meets_all=0.88, beaten=None, decided=0.0, regret=0.02,
                    role="recommended", alike=True)  # fmt: skip
    other = Choice(config=rival, gain=2.0, cost=1e5, bands={}, on_front=0.3, best=0.05,
                   met={limit: 1.0}, meets_all=1.0, beaten=0.94, decided=1.0, regret=0.2,
                   alike=False)  # fmt: skip
    known = KnownPrice(usd=1e4, bounds=(0.5, 2.0), date="2025-05-02", own=False, checked=True,
                       expired=False, age_years=1.5, estimate=False)  # fmt: skip
    found = Certainty(
        draws=1000, points=40, purchases=12, whole=True, rule="speed-per-dollar", best=0.931,
        choices=(choice, other),
        sources=(SourceEffect(source="launch", title="launches", gain_total=0.7, cost_total=0.6,
                              limits={limit: 0.25}),),
        flips=(
            PriceFlip(part="host", title="the price of the hosts", share=0.25, of="capital",
                      rise=Turn(factor=1.18, config=rival), fall=Turn(factor=0.4, config={}),
                      known=known),
            PriceFlip(part="x", title="the price of cables", share=0.01, of="tco", rise=None,
                      fall=None, known=None),
        ),
    )  # fmt: skip
    return replace(old, certainty=replace(found, **more))  # type: ignore[arg-type]


def test_the_section_has_a_table_of_purchases_of_prices_and_of_sources() -> None:
    found = section.facts(sure())
    assert found is not None
    assert {len(cells) for _, _, cells in found["rows"]} == {len(found["heads"])}
    own, rival = (cells for _, _, cells in found["rows"])
    assert own[:4] == ["93 %", "90 %", "", "2 %"]
    assert rival[:4] == ["5 %", "30 %", "94 %", "20 %"]
    assert (found["heads"][-1], own[-1], rival[-1]) == (
        "Meets capital <= 1.2 MUSD", "88 %", "100 %"
    )  # fmt: skip
    host, cables = found["flips"]
    assert host[1:4] == ("USD 10 k", "USD 5 k to USD 20 k", "2025-05-02")
    for shown, cell in (("25 %", host[4]), ("USD 11.8 k", host[5]), ("64 x", host[5]),
                        ("USD 4 k", host[6]), ("1 %", cables[4])):  # fmt: skip
        assert shown in cell
    assert cables[-2:] == ("", "")
    assert found["sources"] == [("Launches", "70 %", "60 %", "25 %")]
    assert found["limits"] == ("capital <= 1.2 MUSD",)


def test_the_section_stands_on_the_page_and_in_the_text(small: RunDocument) -> None:
    text = render_markdown(small).replace("\\", "")
    page = render_page(small).replace("\u00a0", " ")
    told = section.facts(small)
    assert told is not None
    assert len(told["rows"]) == min(len(of(small).choices), section.MOST_ROWS)
    for shown in (page, text):
        assert all(name in shown for name, _, _ in told["rows"])
        assert all(row[0] in shown for row in (*told["flips"], *told["sources"]))
    assert 'id="certainty-chart"' in page
    figure = json.loads(section.certainty_figure(small))
    assert [trace["type"] for trace in figure["data"]] == ["bar", "bar"]
    assert len(figure["data"][0]["y"]) == min(len(of(small).sources), section.MOST_BARS)
    assert not any(word in text for word in ("None", "nan", "inf "))
    assert section.facts(document()) is None


def test_purchases_of_the_same_machines_are_told_apart() -> None:
    own, rival = of(sure()).choices
    other = replace(rival, config={**rival.config, "inter_node": "ib-edr"})
    found = section.facts(sure(choices=(own, rival, other)))
    assert found is not None
    names = [name for name, _, _ in found["rows"]]
    assert len(set(names)) == 3
    assert names[-1].endswith("InfiniBand EDR")


def test_a_purchase_within_the_resolution_counts_with_the_recommended_one() -> None:
    own, rival = of(sure()).choices
    alike = sure(choices=(own, replace(rival, alike=True)), best=0.981)
    found = section.facts(alike)
    assert found is not None
    first, second = (cells[0] for _, _, cells in found["rows"])
    assert first == "98 %"
    assert second == "with the recommended"


def test_an_offer_tells_how_likely_it_is_the_best_and_meets_its_limits() -> None:
    found = sure()
    told = {fact.label: fact.value for fact in offers.facts(found, found.recommended)}
    assert (told["Meets every limit"], told["Best choice"]) == ("88 %", "93 %")
    others = {fact.label: fact.value for fact in offers.facts(found, found.front[0])}
    assert (others["Meets every limit"], others["Best choice"]) == ("unknown", "unknown")
    assert others.keys() == told.keys()  # a column for each in the text


def test_prices_that_turn_the_answer_are_told_with_what_is_known_of_them(tmp_path: Path) -> None:
    text = studies.SMALL.replace("v100-sxm2-16gb]", "a100-sxm4-40gb, a10]")
    found = built(studies.written(tmp_path, text.replace("capital <= 350 kUSD", "speedup >= 3")))
    mine = [flip for flip in of(found).flips if flip.share]
    assert mine
    for flip in mine:
        assert flip.known is not None
        low, high = flip.known.bounds
        assert low < 1 < high
        assert not flip.known.offered


def test_hosts_of_an_accelerator_are_asked_for_by_its_name(tmp_path: Path) -> None:
    own = "prices: {accelerators: {v100-sxm2-16gb: {host: {value: 31 kUSD, date: 2025-05-02}}}}\n"
    problem = load(studies.written(tmp_path, studies.SMALL + own))
    part = host_price(problem.prices, "v100-sxm2-16gb").part
    assert price_title(part) == "the price of the hosts of NVIDIA Tesla V100 SXM2 16 GB"
    apart, common = (known_price(problem, one, problem.rental()) for one in (part, "host"))
    assert apart is not None
    assert common is not None
    assert (apart.usd, apart.date, apart.own) == (31_000, "2025-05-02", True)
    assert (common.usd, common.own) == (85_000, False)
    assert known_price(problem, "electricity", problem.rental()) is None


def test_rents_are_those_of_the_term(tmp_path: Path) -> None:
    """What is paid an hour on the spot market, not the price on demand that it is off."""
    term = "rental: {term: spot, discount: 0.5}\n"
    text = studies.SMALL.replace("minimize: capital", "minimize: hourly")
    text = text.replace("v100-sxm2-16gb]", "h100-sxm]")
    usual = load(studies.written(tmp_path, text))
    spot = load(studies.written(tmp_path, text + term))
    paid, listed = (known_price(one, "h100-sxm for rent", one.rental()) for one in (spot, usual))
    assert paid is not None
    assert listed is not None
    assert listed.usd is not None
    assert paid == replace(listed, usd=listed.usd / 2)
    hosts = [known_price(one, "host", one.rental()) for one in (spot, usual)]
    assert hosts[0] == hosts[1], "is bought"
