"""Prices moved in the page, in a browser: costs and recommendation are those of a study that has
these prices."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dse.report.certainty import words as certainty_words
from dse.report.document import RunDocument
from dse.report.page import render_page
from dse.search.run import labels_of
from tests.evidence import beyond
from tests.report import browser
from tests.report.repricing.studies import (
    MINIMIZED,
    TYPED,
    Searched,
    priced_anew,
    searched,
    study,
)

pytestmark = [pytest.mark.slow, browser.needs_chromium]

RULES = ("cheapest", "fastest", "speed-per-dollar", "cheapest-within-5%", "knee", "least-regret")
OFTEN = ("speed-per-dollar", "least-regret")
POINTS = """
return Object.fromEntries([...document.querySelectorAll("#repricing-points tbody tr")].map(
  (row) => [row.dataset.point, [...row.querySelectorAll("[data-value]")].map(
    (cell) => Number(cell.dataset.value))]));
"""
CHOSEN = "return document.getElementById('repricing').dataset.chosen"


def ids(document: RunDocument, typed: Mapping[str, str]) -> dict[str, str]:
    """The same by the inputs of the page, those that it has."""
    found = document.repricing
    assert found is not None
    at = {part.part: f"price-{number}" for number, part in enumerate(found.parts)}
    at.update({key: key for key in ("electricity", "pue", "amortisation_years", "confidence")})
    return {at[key]: value for key, value in typed.items() if key in at}


def enter(seen: browser.Seen, typed: Mapping[str, str]) -> None:
    """Type the numbers whose inputs the page has."""
    seen.run('document.querySelectorAll("#repricing details").forEach((one) => one.open = true)')
    for key, value in typed.items():
        where = seen.page.locator(f"#{key}")
        if where.count():
            where.fill(value)


def answer(seen: browser.Seen) -> str:
    return seen.page.locator("#repricing-answer").inner_text().replace("\u00a0", " ")


def config(document: RunDocument, seen: browser.Seen) -> Mapping[str, str]:
    """Of the point that the page recommends."""
    assert document.repricing is not None
    return document.repricing.points[int(seen.run(CHOSEN))].config


def costs_at(anew: Searched, before: RunDocument, at: int) -> list[float]:
    """Speedup and cost of an embedded point, as Python prices it at the new prices."""
    problem = anew.outcome.problem
    assert before.repricing is not None
    wanted = before.repricing.points[at].config
    points = (problem.space.point(number) for number in range(problem.space.size))
    values = next(one for one in points if labels_of(problem, one) == wanted)
    exact = problem.point(values)
    return [exact[objective.name].item() for objective in problem.study.objectives]


@pytest.mark.parametrize("minimize", beyond(MINIMIZED[:1], MINIMIZED))
def test_costs_and_recommendation_are_those_of_a_study_with_these_prices(
    tmp_path: Path, minimize: str
) -> None:
    text = study(minimize, "recommend: speed-per-dollar\n")
    before, anew = searched(tmp_path, text), searched(tmp_path, priced_anew(text))
    with browser.opened(render_page(before.document), tmp_path) as seen:
        untouched = seen.run(POINTS)
        enter(seen, ids(before.document, TYPED))
        moved: dict[str, list[float]] = seen.run(POINTS)
        assert config(before.document, seen) == anew.document.recommended.config
        seen.page.get_by_role("button", name="Reset", exact=True).click()
        assert seen.run(POINTS) == untouched
        assert answer(seen).startswith("As in the report: ")
    assert seen.console == []
    assert moved != untouched
    assert before.document.repricing is not None
    assert len(moved) == len(before.document.repricing.points)
    for at in sorted(moved, key=int)[::7]:
        assert untouched[at] == pytest.approx(costs_at(before, before.document, int(at)), rel=1e-9)
        assert moved[at] == pytest.approx(costs_at(anew, before.document, int(at)), rel=1e-9)


@pytest.mark.parametrize("rule", beyond(OFTEN, RULES))
@pytest.mark.parametrize("confidence", [None, 0.9])
def test_where_nothing_is_moved_the_answer_is_that_of_the_run(
    tmp_path: Path, rule: str, confidence: float | None
) -> None:
    more = f"recommend: {rule}\n" + (f"confidence: {confidence}\n" if confidence else "")
    found = searched(tmp_path, study("capital", more)).document
    with browser.opened(render_page(found), tmp_path) as seen:
        assert config(found, seen) == found.recommended.config
        assert answer(seen).startswith("As in the report: ")
    assert seen.console == []


@pytest.mark.evidence
@pytest.mark.parametrize("rule", beyond(OFTEN, RULES[:-1]))
def test_every_rule_recommends_what_a_new_run_does(tmp_path: Path, rule: str) -> None:
    text = study("tco", f"recommend: {rule}\n")
    before, anew = searched(tmp_path, text).document, searched(tmp_path, priced_anew(text)).document
    with browser.opened(render_page(before), tmp_path) as seen:
        enter(seen, ids(before, TYPED))
        assert config(before, seen) == anew.recommended.config


@pytest.mark.parametrize("rule", beyond(OFTEN, ["fastest", "cheapest", "speed-per-dollar"]))
def test_a_confidence_asked_in_the_page_is_that_of_a_run(tmp_path: Path, rule: str) -> None:
    text = study("capital", f"recommend: {rule}\n")
    likely = searched(tmp_path, text).document
    sure = searched(tmp_path, f"{text}confidence: 0.95\n").document
    with browser.opened(render_page(likely), tmp_path) as seen:
        enter(seen, {"confidence": "95"})
        assert config(likely, seen) == sure.recommended.config
        assert "of simulated outcomes" in answer(seen)


def test_a_dearer_accelerator_changes_the_answer_and_says_from_what(tmp_path: Path) -> None:
    found = searched(tmp_path, study("capital", "recommend: speed-per-dollar\n")).document
    bought = found.recommended.config["accelerator"]
    (other,) = {"p100-sxm2-16gb", "v100-sxm2-16gb"} - {bought}
    with browser.opened(render_page(found), tmp_path) as seen:
        # Neither is sold new any more, so that each counts at a price of one's own.
        enter(seen, ids(found, {bought: "900000", other: "7500"}))
        assert answer(seen).startswith("The recommendation changes: ")
        assert ", in place of " in answer(seen)
        assert config(found, seen)["accelerator"] != bought
        assert seen.page.get_by_role("status").filter(has_text="changes").count() == 1


@pytest.mark.evidence
def test_where_no_point_meets_the_limits_the_page_says_so(tmp_path: Path) -> None:
    found = searched(tmp_path, study("capital", "recommend: fastest\n")).document
    with browser.opened(render_page(found), tmp_path) as seen:
        enter(seen, ids(found, {"p100-sxm2-16gb": "1e6", "v100-sxm2-16gb": "1e6"}))
        assert answer(seen) == "At these prices no point meets every limit."
        assert seen.run(CHOSEN) == ""
    assert seen.console == []


WRONG = (
    ("pue", "0.5", "PUE must be a number from 1 to 10."),
    ("pue", "", "PUE must be a number from 1 to 10."),
    ("host", "-1", "Host must be a number from 0 to 1,000,000,000."),
    ("amortisation_years", "0", "Amortisation must be a number from 0.1 to 100."),
    ("confidence", "100", "Confidence in the limits must be a number between 0 and 100."),
)


def test_a_number_that_cannot_be_is_told(tmp_path: Path) -> None:
    found = searched(tmp_path, study("capital", "recommend: fastest\n")).document
    with browser.opened(render_page(found), tmp_path) as seen:
        for key, value, said in WRONG:
            typed = ids(found, {key: value})
            enter(seen, typed)
            assert answer(seen) == said
            field = seen.page.locator(f"#{next(iter(typed))}")
            assert field.get_attribute("aria-invalid") == "true"
            seen.page.get_by_role("button", name="Reset", exact=True).click()
            assert answer(seen).startswith("As in the report: ")
    assert seen.console == []


@pytest.mark.parametrize("look", beyond(browser.LOOKED_AT, browser.LOOKS), ids=str)
def test_it_fits_and_is_accessible(tmp_path: Path, look: browser.Look) -> None:
    width, scheme = look
    found = searched(tmp_path, study("capital")).document
    with browser.opened(render_page(found), tmp_path, width, scheme) as seen:
        seen.run('document.querySelectorAll("details").forEach((part) => { part.open = true; });')
        assert [line for line in browser.grave(seen) if "repricing" in line] == []
        assert seen.run("return document.documentElement.scrollWidth") <= width
        box: Any = seen.page.locator("#repricing-table").bounding_box()
        assert box["x"] + box["width"] <= width
        for label in ("Electricity", "PUE", "Amortisation", "Host", "Confidence in the limits"):
            assert seen.page.get_by_label(label).count() >= 1
        seen.page.locator("#pue").focus()
        seen.page.keyboard.press("ArrowUp")
        assert float(seen.page.locator("#pue").input_value()) > (
            found.repricing.terms.pue or 0.0 if found.repricing else 0.0
        )
        seen.page.emulate_media(media="print")
        assert not seen.page.locator("#repricing").is_visible()
    assert seen.console == []
    assert seen.requests == []


OWNED = """\
market: used
owned: {accelerator: v100-sxm2-16gb, gpus: 8, gpus_per_node: 4, inter_node: 10gbe}
prices: {extras: {installation: 2 kUSD, support: 5 %}}
"""


@pytest.mark.evidence
@pytest.mark.parametrize("rule", beyond(OFTEN, RULES[:-1]))
def test_what_stands_there_costs_nothing_in_the_page_too(tmp_path: Path, rule: str) -> None:
    text = study("capital", f"{OWNED}recommend: {rule}\n")
    dearer = text.replace("extras:", "host: 90 kUSD, extras:")
    before, anew = searched(tmp_path, text), searched(tmp_path, dearer)
    with browser.opened(render_page(before.document), tmp_path) as seen:
        assert config(before.document, seen) == before.document.recommended.config
        untouched: dict[str, list[float]] = seen.run(POINTS)
        enter(seen, ids(before.document, {"host": "90000"}))
        moved: dict[str, list[float]] = seen.run(POINTS)
        assert config(before.document, seen) == anew.document.recommended.config
    assert seen.console == []
    assert 0.0 in [costs[1] for costs in untouched.values()]
    for at in sorted(moved, key=int)[::7]:
        assert untouched[at] == pytest.approx(costs_at(before, before.document, int(at)), rel=1e-9)
        assert moved[at] == pytest.approx(costs_at(anew, before.document, int(at)), rel=1e-9)


MIXED = study("capital", "recommend: speed-per-dollar\n").replace(
    "accelerator: [p100-sxm2-16gb, v100-sxm2-16gb]",
    "accelerator: [v100-sxm2-16gb, a100-sxm4-40gb, h100-sxm]",
)  # the first of them is no longer sold new


TYPED_ALONE = [
    {"a100-sxm4-40gb": "8000"},
    {"a100-sxm4-40gb": "25000", "h100-sxm": "90000"},
    {"v100-sxm2-16gb": "9000"},
]


@pytest.mark.evidence
@pytest.mark.parametrize("typed", beyond(TYPED_ALONE[2:], TYPED_ALONE))
def test_what_is_no_longer_sold_counts_where_its_price_is_typed_as_in_a_run(
    tmp_path: Path, typed: Mapping[str, str]
) -> None:
    own = ", ".join(f"{name}: {{purchase: {usd} USD}}" for name, usd in typed.items())
    before = searched(tmp_path, MIXED).document
    anew = searched(tmp_path, f"{MIXED}prices: {{accelerators: {{{own}}}}}\n").document
    assert anew.certainty is not None
    with browser.opened(render_page(before), tmp_path) as seen:
        enter(seen, ids(before, typed))
        assert config(before, seen) == anew.recommended.config
        shares = seen.page.locator("#repricing-table tr", has_text="Best choice").inner_text()
        rows = seen.page.locator("#repricing-points tbody tr").all_inner_texts()
    assert seen.console == []
    shown = float(shares.split("\t")[-1].strip("\u00a0%<> ")) / 100  # "> 99 %" is within 0.04, too
    alike, _ = certainty_words.alike_and_rivals(anew)
    best = certainty_words.best_of(anew.certainty.choices[0], alike)
    assert shown == pytest.approx(best, abs=0.04)
    retired = any("no longer sold new" in row for row in rows)
    assert retired == ("v100-sxm2-16gb" not in typed)


@pytest.mark.evidence
def test_a_price_of_ones_own_leaves_out_what_nobody_sells_any_more(tmp_path: Path) -> None:
    text = study("capital", "recommend: fastest\n")
    own = f"{text}prices: {{accelerators: {{p100-sxm2-16gb: {{purchase: 9000 USD}}}}}}\n"
    before, anew = searched(tmp_path, text).document, searched(tmp_path, own).document
    assert before.recommended.config["accelerator"] == "v100-sxm2-16gb"
    with browser.opened(render_page(before), tmp_path) as seen:
        enter(seen, ids(before, {"p100-sxm2-16gb": "9000"}))
        assert config(before, seen) == anew.recommended.config
        assert ", which is no longer sold new" in answer(seen)
    assert anew.recommended.config["accelerator"] == "p100-sxm2-16gb"


@pytest.mark.evidence
def test_a_rent_in_the_page_is_that_of_the_term(tmp_path: Path) -> None:
    text = study("per_run", "recommend: cheapest\n")
    before = searched(tmp_path, text + "rental: spot\n").document
    assert before.repricing is not None
    share = before.repricing.terms.rent_share
    assert share < 1
    rents = {part.part: part.usd or 0.0 for part in before.repricing.parts if part.rented}
    dearer = {part: f"{2 * usd * share:.6g}" for part, usd in rents.items()}
    with browser.opened(render_page(before), tmp_path) as seen:
        untouched = seen.run(POINTS)
        fields = ids(before, {part: part for part in rents})
        for where, part in fields.items():
            value = float(seen.page.locator(f"#{where}").input_value())
            assert value == pytest.approx(rents[part] * share, rel=1e-5)
        # The rent of the offer, typed, is the rent of the offer.
        enter(seen, {where: f"{rents[part] * share:.9f}" for where, part in fields.items()})
        for at, costs in seen.run(POINTS).items():
            assert costs == pytest.approx(untouched[at], rel=1e-5)
        enter(seen, ids(before, dearer))
        for at, (speed, usd) in seen.run(POINTS).items():
            assert [speed, usd] == pytest.approx([untouched[at][0], 2 * untouched[at][1]], rel=1e-5)
    assert seen.console == []
    page = render_page(before)
    assert "Rents are what is paid on the spot market" in page
