"""Prices moved in the page, in a browser: costs and recommendation are those that Python finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dse.pricing.load import shipped_studies
from dse.report import words
from dse.report.document import Repricing, RunDocument
from dse.report.page import render_page
from dse.report.recommendation import recommended
from dse.report.repricing import RULES, _name
from dse.search.run import FrontPoint
from tests.evidence import beyond
from tests.pricing import studies
from tests.report import browser
from tests.report.searched import Searched, searched

pytestmark = [pytest.mark.slow, browser.needs_chromium]

NEW = """\
prices:
  accelerators: {p100-sxm2-16gb: {purchase: 8100 USD, hourly: 1.2 USD/hour},
                 v100-sxm2-16gb: {purchase: 7300.5 USD, hourly: 2.9 USD/hour}}
  fabrics: {10gbe: {nic: 77 USD, switch_port: 33 USD, cable: 11 USD}}
  host: 4321 USD
  electricity: 0.31 USD/kWh
"""
COSTS = """
return Object.fromEntries([...document.querySelectorAll("#repricing-points tbody tr")].map(
  (row) => [row.dataset.point, Number(row.lastChild.dataset.value)]));
"""
RESET = """() => [...document.querySelectorAll("#repricing-points tbody tr")].every(
  (row) => row.cells[2].dataset.value === row.cells[3].dataset.value)"""
TYPE = """([values, rule]) => {
  values.forEach((value, at) => { document.getElementById(`price-${at}`).value = value; });
  document.getElementById("repricing-rule").value = rule;
  document.getElementById("repricing-form").dispatchEvent(new Event("input"));
  return document.getElementById("repricing").dataset.chosen;
}"""


def study(minimize: str, more: str = "") -> str:
    """SMALL with another cost, and what ``more`` adds."""
    text = studies.SMALL.replace("minimize: capital", f"minimize: {minimize}")
    return text + "target: {samples: 50e6}\n" + more


def of(document: RunDocument) -> Repricing:
    assert document.repricing is not None
    return document.repricing


def costs(found: Repricing, usd: list[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.asarray(np.array(usd) @ np.array(found.quantities) + np.array(found.constant))


def exact(anew: Searched, found: Repricing) -> list[float]:
    """The costs of the page's points as the model prices them in another study."""
    problem = anew.outcome.problem
    most, least, *_ = (objective.name for objective in problem.study.objectives)
    priced: dict[tuple[str, str], float] = {}
    for at in range(problem.space.size):
        values = problem.space.point(at)
        if (name := _name(problem, values)) in found.points:
            point = problem.point(values)
            priced[name, f"{point[most].item():.9g}"] = point[least].item()
    keys = zip(found.points, (f"{gain:.9g}" for gain in found.gain), strict=True)
    return [priced[key] for key in keys]


@pytest.mark.parametrize("minimize", beyond(["capital"], ["capital", "tco", "hourly", "per_run"]))
def test_costs_and_recommendation_are_those_of_a_study_with_these_prices(
    tmp_path: Path, minimize: str
) -> None:
    text = study(minimize, "recommend: speed-per-dollar\n")
    before, anew = searched(tmp_path, text), searched(tmp_path, text + NEW)
    found, new = of(before.document), of(anew.document)
    usd = dict(zip(zip(new.parts, new.units, strict=True), new.usd, strict=True))
    typed = [usd[key] for key in zip(found.parts, found.units, strict=True)]
    with browser.opened(render_page(before.document), tmp_path) as seen:
        untouched = seen.run(COSTS)
        chosen = seen.page.evaluate(TYPE, [typed, "speed-per-dollar"])
        moved = seen.run(COSTS)
        seen.page.locator("#repricing").get_by_role("button", name="Reset").click()
        seen.page.wait_for_function(RESET)
        assert seen.run(COSTS) == untouched
    assert seen.console == []
    everywhere = [str(at) for at in range(len(found.points))]
    assert [untouched[at] for at in everywhere] == pytest.approx(exact(before, found), rel=1e-9)
    assert [moved[at] for at in everywhere] == pytest.approx(exact(anew, found), rel=1e-9)
    assert found.points[int(chosen)] == words.describe(anew.document.recommended)


@pytest.mark.parametrize("name", beyond(["ethernet-upgrade"], ["ethernet-upgrade", "billion"]))
def test_at_any_prices_the_rules_are_those_of_python(tmp_path: Path, name: str) -> None:
    text = shipped_studies()[name].read_text(encoding="utf-8")
    document = searched(tmp_path, text).document
    found, random = of(document), np.random.default_rng(7)
    with browser.opened(render_page(document), tmp_path) as seen:
        for _ in range(20):
            usd = [round(one, 2) for one in found.usd * random.lognormal(0, 0.7, len(found.usd))]
            cost = costs(found, usd)
            able = [at for at in range(len(cost)) if cost[at] <= (found.most or np.inf)]
            able.sort(key=lambda at: (cost[at], -found.gain[at]))
            front = [FrontPoint({}, {}, found.gain[at], cost[at], 0.0, 0, ()) for at in able]
            for rule in RULES:
                chosen = seen.page.evaluate(TYPE, [usd, rule])
                wanted = str(able[recommended(front, rule)]) if front else ""
                assert chosen == wanted, (rule, usd)
    assert seen.console == []


@pytest.mark.parametrize("rule", beyond(RULES[:1], RULES))
def test_untouched_it_recommends_what_the_report_does(tmp_path: Path, rule: str) -> None:
    owned = "owned: {accelerator: v100-sxm2-16gb, gpus: 8, gpus_per_node: 4, inter_node: 10gbe}\n"
    for more in ("", f"market: used\n{owned}"):
        document = searched(tmp_path, study("capital", f"{more}recommend: {rule}\n")).document
        with browser.opened(render_page(document), tmp_path) as seen:
            chosen = int(seen.run("return document.getElementById('repricing').dataset.chosen"))
        assert chosen == of(document).recommended
        assert of(document).points[chosen] == words.describe(document.recommended)


@pytest.mark.parametrize("look", beyond(browser.LOOKED_AT, browser.LOOKS), ids=str)
def test_it_fits_is_accessible_and_refuses_what_is_no_price(
    tmp_path: Path, look: browser.Look
) -> None:
    width, scheme = look
    document = searched(tmp_path, study("capital", "recommend: speed-per-dollar\n")).document
    with browser.opened(render_page(document), tmp_path, width, scheme) as seen:
        seen.run('document.querySelectorAll("details").forEach((part) => { part.open = true; });')
        assert [line for line in browser.grave(seen) if "repricing" in line] == []
        assert seen.run("return document.documentElement.scrollWidth") <= width
        host = seen.page.get_by_label("Host")
        chosen = seen.run("return document.getElementById('repricing').dataset.chosen")
        for wrong in ("-1", ""):
            host.fill(wrong)
            assert host.get_attribute("aria-invalid") == "true"
            assert seen.run("return document.getElementById('repricing').dataset.chosen") == chosen
        host.fill("900000")
        assert host.get_attribute("aria-invalid") == "false"
        seen.page.emulate_media(media="print")
        assert not seen.page.locator("#repricing").is_visible()
    assert (seen.console, seen.requests) == ([], [])


def test_where_no_price_counts_there_is_nothing_to_move(tmp_path: Path) -> None:
    document = searched(tmp_path, study("step")).document
    assert document.repricing is None
    assert 'id="repricing"' not in render_page(document)


def test_the_matrix_is_small(tmp_path: Path) -> None:
    text = shipped_studies()["ethernet-upgrade"].read_text(encoding="utf-8")
    found = of(searched(tmp_path, text).document)
    assert len(repr(found)) < 20_000
