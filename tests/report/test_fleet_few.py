"""The page of a fleet of few jobs draws and says only what a handful of jobs has."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.report import fleet_figures, fleet_page, fleet_words
from dse.report.fleet_ranges import times
from tests.fleet.small import HEADER, STUDY
from tests.report import browser
from tests.report.test_fleet import Page, document

ONE = f"{HEADER}\nps-worker,16,1.6e12,60e9,30e6,700e6\n"
# Of four PS/Worker jobs one gains from AllReduce-Local in samples per second, two per cNode.
FIVE = f"""{ONE}ps-worker,2,8e12,60e9,300e6,1e6
ps-worker,64,1e12,90e9,30e6,70e6
ps-worker,200,1e12,5e9,30e6,2e6
allreduce-local,8,12e12,900e9,80e6,350e6
"""
MOSTLY_COMPUTING = f"{HEADER}\n1w1g,1,1e12,400e9,1e6,0\n1w1g,1,2e12,400e9,1e6,0\n"


def shares_of_time(sentence: str) -> list[float]:
    """Percentages of the parts of a step, without what stands in brackets."""
    return [float(text) for text in re.findall(r"([\d.]+) %", re.sub(r"\(.*?\)", "", sentence))]


@pytest.mark.parametrize("table", [ONE, FIVE, MOSTLY_COMPUTING])
def test_the_headline_counts_every_part_of_the_time_once(tmp_path: Path, table: str) -> None:
    first = fleet_words.answer_lines(document(tmp_path, table=table))[1]
    shares = shares_of_time(first)
    assert sum(shares) == pytest.approx(100, abs=1)
    assert shares == sorted(shares, reverse=True)
    assert len(re.findall(r"computing", first)) == 1
    (inside,) = re.findall(r"([\d.]+) % (?:of the \S+ time goes )?to computing", first)
    bound = re.findall(r"([\d.]+) % (?:memory|compute)-bound", first)
    assert sum(map(float, bound)) == pytest.approx(float(inside), abs=1)


def test_a_part_that_takes_no_time_is_not_named(tmp_path: Path) -> None:
    first = fleet_words.answer_lines(document(tmp_path, table=MOSTLY_COMPUTING))[1]
    assert "goes to computing (" in first
    assert "weights" not in first


def test_all_jobs_stand_before_the_classes_in_the_table_of_upgrades(tmp_path: Path) -> None:
    found = document(tmp_path, table=FIVE)
    said = fleet_page.sections(found)
    assert said["upgrade_heads"] == ["All jobs", "PS/Worker", "AllReduce-Local"]
    for (_, cells), row in zip(said["upgrades"], found.upgrades, strict=True):
        ways = row.speedup["all"]
        assert cells[0] == [times(getattr(ways, way)) for way in fleet_words.WAYS]
        assert cells[2] == [times(row.speedup["allreduce-local"].gpu_hours)]
    assert "| Upgrade | All jobs | PS/Worker | AllReduce-Local |" in fleet_page.render_markdown(
        found
    )
    heads = re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', fleet_page.render_page(found))
    at = heads.index("All jobs")
    assert heads[at - 1 : at + 3] == ["Upgrade", "All jobs", "PS/Worker", "AllReduce-Local"]


def test_distributions_of_few_jobs_are_steps_from_zero(tmp_path: Path) -> None:
    found = document(tmp_path, table=FIVE)
    traces = json.loads(fleet_figures.cdf_figure(found))["data"]
    assert {trace["name"] for trace in traces} == {"PS/Worker", "All jobs"}, (
        "of one job there is none"
    )
    for trace in traces:
        assert (trace["x"][0], trace["y"][0]) == (0, 0)
        assert (trace["x"][-1], trace["y"][-1]) == (1, 1)
        assert trace["line"]["shape"] == "hv"
        assert (np.diff(trace["y"]) >= 0).all()
        jobs = 5 if trace["name"] == "All jobs" else 4
        by_jobs = trace in traces[: len(traces) // 2]
        if by_jobs:
            assert set(np.round(np.array(trace["y"]) * jobs, 3)) <= set(range(jobs + 1))


def test_distributions_of_many_jobs_are_lines(tmp_path: Path) -> None:
    rows = [f"ps-worker,4,{1 + at / 50}e12,50e9,10e6,500e6" for at in range(fleet_words.FEW)]
    found = document(tmp_path, table="\n".join([HEADER, *rows]) + "\n")
    traces = json.loads(fleet_figures.cdf_figure(found))["data"]
    assert {trace["line"]["shape"] for trace in traces} == {"linear"}
    assert {(trace["x"][0], trace["y"][0]) for trace in traces} == {(0, 0)}


def test_a_single_job_is_said_and_not_drawn_as_many(tmp_path: Path) -> None:
    found = document(tmp_path, table=ONE)
    html = fleet_page.render_page(found)
    assert "cdf-chart" not in html
    assert "ports-chart" not in html
    text = Page(html).text
    assert "One job has no distribution" in text
    assert "Mean of ratios" not in text
    bars = json.loads(fleet_figures.bars_figure(found))["data"]
    assert {tuple(trace["y"]) for trace in bars} == {("PS/Worker · 1 job",)}
    upgrades = json.loads(fleet_figures.upgrades_figure(found))["data"]
    assert [trace["name"] for trace in upgrades if trace["mode"] == "markers"] == ["Speedup"]
    assert fleet_page.class_rows(found)[0][:5] == ["PS/Worker", "1", "100 %", "100 %", "16"]
    assert fleet_page.tiles(found)[-1] == ("Job", "1", "16 cNodes")


def test_bars_of_gains_are_of_bins_with_jobs_and_say_zero(tmp_path: Path) -> None:
    found = document(tmp_path, table=FIVE)
    figure = json.loads(fleet_figures.ports_figure(found))
    first = figure["data"][1]
    assert first["name"] == "More samples per second"
    assert first["x"] == ["1-2", "9-16", "33-64", "> 128"], "no bin without a job"
    assert first["y"] == [0, 1, 0, 0]
    assert first["text"] == ["0%", "", "0%", "0%"]
    assert "<b>9-16</b>, 1 job<br>" in first["customdata"][1]
    two = f"{ONE}ps-worker,2,8e12,60e9,300e6,1e6\n"
    narrow = json.loads(fleet_figures.ports_figure(document(tmp_path, table=two)))
    assert narrow["layout"]["bargap"] > figure["layout"]["bargap"], "two bins are no wider bars"


@pytest.mark.parametrize("table", [ONE, FIVE])
def test_one_of_a_thing_is_not_said_as_several(tmp_path: Path, table: str) -> None:
    study = STUDY.replace("gpus: 100,", "gpus: 1,")
    found = document(tmp_path, study, table)
    page = Page(fleet_page.render_page(found)).text
    said = "\n".join([page, fleet_page.render_markdown(found), *fleet_words.answer_lines(found)])
    assert not re.findall(r"(?<![\d.,])1 (?:jobs|GPUs|cNodes|facts|PS/Worker jobs)\b", said)
    assert "On 1 GPU, busy" in said
    assert f"{len(table.splitlines()) - 1} job" in page


def test_of_few_jobs_it_is_said_how_many_gain(tmp_path: Path) -> None:
    said = fleet_words.answer_lines(document(tmp_path, table=FIVE))[3]
    assert said == (
        "After moving from PS/Worker to AllReduce-Local, 1 of 4 jobs trains more samples per "
        "second, and 2 train more per cNode."
    )
    one = fleet_words.answer_lines(document(tmp_path, table=ONE))[3]
    assert "1 of 1 job trains more samples per second, and 1 trains more per cNode." in one
    found = document(tmp_path, table=FIVE)
    row = replace(found.ports[0], jobs=290_000, gain_throughput=0.63, gain_per_cnode=0.87)
    many = fleet_words.answer_lines(replace(found, ports=(row,), intervals=None))[3]
    assert (
        "63 % of 290,000 jobs train more samples per second, and 87 % train more per cNode." in many
    )


@pytest.mark.slow
@browser.needs_chromium
def test_a_browser_draws_the_charts_of_one_job(tmp_path: Path) -> None:
    html = fleet_page.render_page(document(tmp_path, table=ONE))
    script = """return [...document.querySelectorAll(".chart")].map(
      (chart) => [chart.id, chart.querySelectorAll(".main-svg").length > 0]);"""
    with browser.opened(html, tmp_path) as seen:
        assert seen.run(script) == [["bars-chart", True], ["upgrades-chart", True]]
    assert seen.console == seen.requests == []
