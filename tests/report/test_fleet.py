"""The page of a fleet: its sections, that it loads nothing, and that its charts are drawn."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Literal

import pytest

from dse.errors import OutputError
from dse.fleet.answers import answer
from dse.fleet.document import FleetDocument, PaperFact
from dse.fleet.reader import read_fleet
from dse.report import fleet_figures, fleet_models, fleet_page, fleet_words
from dse.report import page as run_page
from dse.report.fleet_facts import fact_lines, fact_notes
from dse.report.fleet_ranges import (
    probability,
    shares_text,
    times_text,
    usd_text,
    years_text,
)
from dse.report.fleet_write import write_fleet
from tests.evidence import beyond
from tests.fleet.small import STUDY, TABLE, written
from tests.report import browser

EVIL = "<script>alert(1)</script>"


class Page(HTMLParser):
    """Sections, what would be loaded, and the text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.loads: list[str] = []
        self.text = ""
        self._hidden = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self._hidden = tag in ("script", "style")
        if tag == "section":
            self.sections.append(str(found["id"]))
        if tag != "a":
            target = found.get("src") or found.get("href") or ""
            self.loads += [target] if target and not target.startswith("data:") else []

    def handle_endtag(self, _tag: str) -> None:
        self._hidden = False

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.text += data


def document(folder: Path, study: str = STUDY, table: str = TABLE, **more: Any) -> FleetDocument:
    asked = read_fleet(written(folder, study, table))
    found = answer(asked, command="dse fleet study.yaml", versions={"dse": "0.1.0"})
    timings = replace(found.timings, total_s=1.0)
    return replace(found, timings=timings, created="2026-11-21T12:00:00+00:00", **more)


def test_sections_follow_what_was_asked(tmp_path: Path) -> None:
    page = Page(fleet_page.render_page(document(tmp_path)))
    assert page.sections == ["answer", "money", "sure", "time", "upgrades", "ports", "inputs",
                             "reproduce", "glossary"]  # fmt: skip
    assert page.loads == []
    bare = STUDY[: STUDY.index("upgrades")]
    page = Page(fleet_page.render_page(document(tmp_path, bare)))
    assert page.sections == [
        "answer",
        "sure",
        "time",
        "upgrades",
        "inputs",
        "reproduce",
        "glossary",
    ]


def test_how_sure_stands_beside_the_dollars_and_in_a_table(tmp_path: Path) -> None:
    found = document(tmp_path)
    assert found.intervals is not None
    worth = next(row for row in found.intervals.money if row.name == "both")
    assert worth.net_usd_per_year is not None
    net = usd_text(worth.net_usd_per_year)
    (dollars,) = (line for line in fleet_words.answer_lines(found) if line.startswith("On 100"))
    whose = "90 % confidence by the formula without overlap alone"
    assert f"{whose}: {net} net a year, paid back in " in dollars
    assert "The probability that it saves more than it costs is over 99 %" in dollars
    page, text = Page(fleet_page.render_page(found)).text, fleet_page.render_markdown(found)
    for said in (page, text):
        assert net in said
        assert "Not in them: whether the model's form holds" in said
        assert "To AllReduce-Local: jobs that gain per cNode" in said
        assert "too few jobs to tell how much jobs differ" in said
    assert "How sure" in page
    assert "## How sure" in text


def test_a_report_of_before_there_were_intervals_reads_as_it_did(tmp_path: Path) -> None:
    old = replace(document(tmp_path), intervals=None)
    page = Page(fleet_page.render_page(old))
    assert "sure" not in page.sections
    assert "90 %" not in page.text
    assert "How sure" not in fleet_page.render_markdown(old)


def test_intervals_in_words() -> None:
    assert shares_text(0.561, 0.682) == "56 to 68 %"
    assert shares_text(0.6001, 0.6002) == "60 %"
    assert times_text(1.331, 1.709) == "1.33x to 1.71x"
    assert usd_text((-1.39e6, 85e6)) == "−USD 1.39 M to USD 85 M"
    assert usd_text(None) == "–"
    assert years_text((0.3, 4.41)) == "0.3 to 4.4 years"
    assert years_text((0.3, None)) == "0.3 years at the earliest, possibly never"
    assert years_text((1.21, 3.4)) == "1.2 to 3.4 years"
    assert years_text((1.21, 1.24)) == "1.2 years"
    assert [probability(share) for share in (0.0, 0.004, 0.934, 0.999)] == [
        "under 1 %", "under 1 %", "93 %", "over 99 %",
    ]  # fmt: skip


def test_the_terms_of_the_classes_that_occur_are_told(tmp_path: Path) -> None:
    found = document(tmp_path)
    for text in (Page(fleet_page.render_page(found)).text, fleet_page.render_markdown(found)):
        assert "A cNode is one accelerator of a job. " in text
        assert "PS/Worker: gradients go to parameter servers" in text
        assert ("1wng: several" in text) == any(row.architecture == "1wng" for row in found.classes)


def test_a_fact_that_disagrees_is_seen(tmp_path: Path) -> None:
    fact = PaperFact("p", "the share", 0.6, 0.9, 0.55, 0.65, "check", "abstract", "", ok=False)
    found = document(tmp_path, facts=(fact,), assumptions=())
    page = Page(fleet_page.render_page(found))
    assert "facts" in page.sections
    assert "! disagrees" in page.text
    assert " NO " in fleet_page.render_markdown(found)
    assert any(line.endswith("NO") for line in fact_lines(found))


def test_a_fact_that_is_assumed_neither_agrees_nor_fails(tmp_path: Path) -> None:
    fact = PaperFact("p", "the share", 0.6, 0.9, 0.55, 0.65, "assumed", "abstract", "", ok=None)
    found = document(tmp_path, facts=(fact,), assumptions=())
    note = "Facts marked assumed depend on unverified values and count neither as agreement nor as "
    note += "failure."
    page, text = Page(fleet_page.render_page(found)), fleet_page.render_markdown(found)
    assert "! disagrees" not in page.text
    assert note in page.text
    assert note in text
    assert "| 0.55 to 0.65 | assumed |  |" in text
    lines = list(fact_lines(found))
    assert note in lines
    assert any(line.endswith("assumed") for line in lines)


@pytest.mark.parametrize("ports", ["allreduce-cluster, pearl", "allreduce-cluster", "pearl"])
def test_it_is_said_that_a_cluster_has_no_single_server(ports: str, tmp_path: Path) -> None:
    found = document(tmp_path, STUDY.replace("allreduce-local, pearl", ports))
    note = "AllReduce-Cluster is priced over Ethernet even for a job that fits into one server"
    for text in (Page(fleet_page.render_page(found)).text, fleet_page.render_markdown(found)):
        assert (note in text) == ("allreduce-cluster" in ports)


def test_texts_of_the_user_are_never_markup(tmp_path: Path) -> None:
    study = STUDY.replace("name: both", f'name: "{EVIL}"') + f'description: "{EVIL}"\n'
    html = fleet_page.render_page(document(tmp_path, study))
    assert EVIL not in html
    assert "&lt;script&gt;alert(1)" in html


def test_markdown_holds_every_table(tmp_path: Path) -> None:
    text = fleet_page.render_markdown(document(tmp_path))
    for heading in ("Where the time goes", "Faster hardware", "Other architectures", "Money"):
        assert f"## {heading}" in text
    assert "| Upgrade | All jobs | 1w1g | 1wng | PS/Worker | AllReduce-Local |" in text
    assert re.search(r"\| 100 Gbps Ethernet \| 1\.\d\dx / 1\.\d\dx / 1\.\d\dx \| 1\.00x \|", text)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    blocks = [block for block in text.split("\n\n") if block.startswith("|")]
    assert len(rows) == sum(len(block.splitlines()) for block in blocks)
    for block in blocks:
        assert len({line.count("|") for line in block.splitlines()}) == 1, block


def test_single_jobs_are_told_by_both_models(tmp_path: Path) -> None:
    rows = TABLE.splitlines()
    names = ("name", "alone", "local", "served", "small", "ring")
    table = "\n".join(f"{row},{name}" for row, name in zip(rows, names, strict=True)) + "\n"
    found = document(tmp_path, table=table)
    job = next(job for job in found.named if job.name == "served")
    own = job.own_model
    assert 0 < own.exposed_s <= own.comm_s
    whole = job.data_s + job.flops_s + job.memory_s + own.exposed_s
    assert own.step_s == pytest.approx(whole)
    (row,) = (row for row in fleet_page.own_rows(found) if row[0] == "served")
    assert len(row) == len(fleet_page.OWN_HEADS)
    assert "Communication not hidden" in Page(fleet_page.render_page(found)).text


def test_no_chart_of_ports_that_nobody_gains_by(tmp_path: Path) -> None:
    study = STUDY.replace("  gpus_per_server: 8\n", "  gpus_per_server: 8\n  gpu_memory: 1 GB\n")
    rows = TABLE.splitlines()
    table = "\n".join([f"{rows[0]},state_bytes", *(f"{row},900e9" for row in rows[1:])]) + "\n"
    found = document(tmp_path, study, table)
    html = fleet_page.render_page(found)
    assert "ports-chart" not in html
    assert "ports-figure" not in html
    assert "ports" in Page(html).sections
    said = "None of 2 jobs can move from PS/Worker to AllReduce-Local: their state does not fit"
    assert f"{said} in memory." in fleet_words.answer_lines(found)


def test_bars_of_a_class_sum_to_one(tmp_path: Path) -> None:
    figure = json.loads(fleet_figures.bars_figure(document(tmp_path)))
    assert [trace["name"] for trace in figure["data"]] == [
        "Input", "Compute-bound work", "Memory-bound work", "Weights and gradients",
    ]  # fmt: skip
    for column in zip(*(trace["x"] for trace in figure["data"]), strict=True):
        assert sum(column) == pytest.approx(1)


def test_the_report_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    found = document(tmp_path)
    folder = tmp_path / "report"
    assert write_fleet(found, folder) == folder / "report.html"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert set(before) == {"fleet.json", "report.html", "report.md"}
    blocked = tmp_path / "blocked"
    blocked.write_text("a file, not a folder")
    with pytest.raises(OutputError):
        write_fleet(found, blocked)
    with pytest.raises(ValueError, match="JSON"):
        write_fleet(replace(found, timings=replace(found.timings, model_s=float("nan"))), folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.slow
@browser.needs_chromium
def test_a_browser_draws_the_charts_and_complains_of_nothing(tmp_path: Path) -> None:
    html = fleet_page.render_page(document(tmp_path))
    script = """return {
      charts: [...document.querySelectorAll(".chart")].map(
        (chart) => chart.querySelectorAll(".main-svg").length > 0),
      wide: document.documentElement.scrollWidth > innerWidth,
    };"""
    for width in (1200, 390):
        with browser.opened(html, tmp_path, width) as seen:
            assert seen.run(script) == {"charts": [True] * 4, "wide": False}
        assert seen.console == seen.requests == []


def test_the_answer_names_the_upgrade_that_leaves_most_money(tmp_path: Path) -> None:
    study = STUDY.replace(
        "  - {name: both,",
        "  - {name: dear, pcie: 51 GB/s, price_per_gpu: 90000 USD}\n  - {name: both,",
    )
    found = document(tmp_path, study)
    assert found.money is not None
    rows = {row.name: row.net_usd_per_year for row in found.money.upgrades}
    priced = {name: net for name, net in rows.items() if net is not None}
    first = max(priced, key=lambda name: priced[name])
    assert priced["dear"] < 0 < priced[first]
    (said,) = (line for line in fleet_words.answer_lines(found) if line.startswith("On 100 GPUs"))
    assert f", {first} frees GPU-hours worth" in said
    dear = tuple(row for row in found.money.upgrades if row.name == "dear")
    best = next(row for row in found.money.upgrades if row.name == first)
    blank = replace(best, name="blank", net_usd_per_year=None)
    one_saves = replace(found, money=replace(found.money, upgrades=(*dear, best, blank)),
                        intervals=None)  # fmt: skip
    assert fleet_words.answer_lines(one_saves)[0].endswith(
        "It is the only upgrade with a known price that saves money; give price_per_gpu for the "
        "others."
    )
    only_dear = replace(found, money=replace(found.money, upgrades=dear))
    assert fleet_words.answer_lines(only_dear)[0].endswith(
        "no upgrade whose price is known saves more than it costs."
    )


@pytest.mark.parametrize(("memory", "notes"), [(16e9, 2), (None, 1)])
def test_facts_say_that_they_leave_memory_aside(
    memory: float | None, notes: int, tmp_path: Path
) -> None:
    fact = PaperFact("p", "the share", 0.6, 0.6, 0.55, 0.65, "identity", "", "", ok=True)
    bare = document(tmp_path)
    bare = replace(bare, hardware=replace(bare.hardware, gpu_memory_bytes=memory))
    said = fact_notes(replace(bare, facts=(fact,)))
    assert len(said) == notes
    assert said[-1].startswith("Facts and models ignore memory, as the paper does") == (
        memory is not None
    )
    assert fact_notes(bare) == []


def test_the_decision_and_its_dollars_come_first(tmp_path: Path) -> None:
    found = document(tmp_path)
    best = fleet_models.worthwhile(found)
    assert best is not None
    assert found.money is not None
    assert best.net_usd_per_year == max(row.net_usd_per_year or 0 for row in found.money.upgrades)
    assert fleet_words.decision(found)[0] == f"Upgrade to {best.name}"
    saves, costs, back = fleet_page.tiles(replace(found, by_model=()))[:3]
    assert saves[:2] == ("Net a year, jobs as they are", fleet_page.usd(best.net_usd_per_year))
    assert costs[:2] == ("Costs to buy", fleet_page.usd(best.capital_usd))
    assert back[1] == f"{best.payback_years:.1f} years"
    for text in (Page(fleet_page.render_page(found)).text, fleet_page.render_markdown(found)):
        assert text.index(f"Upgrade to {best.name}") < text.index("of the fleet's time goes")


def test_without_a_price_the_decision_says_so(tmp_path: Path) -> None:
    found = document(tmp_path)
    assert found.money is not None
    blank = tuple(
        replace(row, net_usd_per_year=None, capital_usd=None) for row in found.money.upgrades
    )
    unpriced = replace(found, money=replace(found.money, upgrades=blank))
    heading = "both gains the most; whether it pays is not known"
    assert fleet_words.decision(unpriced)[0] == heading
    assert "price_per_gpu" in fleet_words.decision(unpriced)[1]
    dear = tuple(
        replace(row, net_usd_per_year=-1.0, after_move=None) for row in found.money.upgrades
    )
    kept = replace(found, money=replace(found.money, upgrades=dear), by_model=())
    heading, why = fleet_words.decision(kept)
    assert heading == "Keep the hardware"
    gained = next(row for row in found.upgrades if row.name == "both").speedup["all"].gpu_hours
    assert why.startswith(
        f"both gains the most ({gained:.2f}x), but no upgrade whose price is known saves more than "
        "it costs."
    )
    said = " ".join(fleet_words.answer_lines(kept))
    assert said.count(", but it costs more than it saves.") == 2, "the best of one, and of several"
    assert ", but it costs" not in " ".join(fleet_words.answer_lines(unpriced))
    assert not any(label.startswith("Net a year") for label, _, _ in fleet_page.tiles(kept))


@pytest.mark.slow
@browser.needs_chromium
@pytest.mark.parametrize("scheme", beyond(["dark"], ["light", "dark"]))
def test_axe_finds_nothing_serious(tmp_path: Path, scheme: Literal["light", "dark"]) -> None:
    with browser.opened(fleet_page.render_page(document(tmp_path)), tmp_path, 390, scheme) as seen:
        seen.run('document.querySelectorAll("details").forEach((part) => { part.open = true; });')
        assert browser.grave(seen) == []


def test_the_page_is_small(tmp_path: Path) -> None:
    assert len(fleet_page.render_page(document(tmp_path)).encode()) < run_page.MOST_BYTES
