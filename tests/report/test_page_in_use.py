"""The page in use: filters, the table as CSV, colours by night, words explained, and whether those
who hear it or use the keyboard only can read it."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dse.report import front_filters, page
from dse.report.document import Choice, Choices
from dse.report.style import NIGHT, PAPER
from tests.evidence import beyond
from tests.report import browser
from tests.report.documents import read, written

PAPER_PX = 688  # A4 without the margins of the style sheet


@pytest.mark.parametrize("look", beyond(browser.LOOKED_AT, browser.LOOKS), ids=str)
def test_axe_finds_nothing_serious(tmp_path: Path, look: browser.Look) -> None:
    width, scheme = look
    with browser.opened(page.render_page(read(written())), tmp_path, width, scheme) as seen:
        seen.run('document.querySelectorAll("details").forEach((part) => { part.open = true; });')
        assert browser.grave(seen) == []


def shown(seen: browser.Seen) -> tuple[list[str], list[str]]:
    """(rows of the table that are shown, points of the front that the chart draws), by id."""
    found: tuple[list[str], list[str]] = seen.run("""
        const rows = [...document.querySelectorAll("#front-table > tbody")].filter(
          (row) => !row.hidden).map((row) => row.id);
        const traces = document.getElementById("front-chart").data.filter((trace) =>
          trace.name.startsWith("Front,"));
        return [rows, traces.flatMap((trace) => trace.ids)];""")
    return found


def test_filters_leave_what_fits_in_table_and_chart(tmp_path: Path) -> None:
    run = read(written())
    by_title = {one.title: one for one in front_filters.filters(run)}
    gpus = by_title["GPUs"]
    fitting = [f"point-{at + 1}" for at, places in enumerate(gpus.of_rows) if 1 in places]
    with browser.opened(page.render_page(run), tmp_path) as seen:
        choose = seen.page.get_by_label("GPUs", exact=True)
        choose.select_option(label=gpus.values[1])
        rows, points = shown(seen)
        assert rows == fitting
        assert sorted(points) == sorted(fitting)
        assert seen.page.get_by_role("status").inner_text() == (
            f"{len(fitting)} of {len(run.front)} rows"
        )
        seen.page.get_by_role("button", name="Show all").click()
        rows, points = shown(seen)
        assert len(rows) == len(points) == len(run.front)
    assert seen.console == []


def test_a_row_is_shown_where_one_of_its_alternatives_fits(tmp_path: Path) -> None:
    run = read(written())
    rest = [Choice(front=(at,)) for at in range(2, len(run.front))]
    both = Choice(front=(0, 1), varies={"aggregation": ("ring-nccl", "tree-nccl")})
    run = replace(run, choices=Choices(resolution=0.01, rows=(both, *rest)))
    with browser.opened(page.render_page(run), tmp_path) as seen:
        for algorithm in ("tree-nccl", "ring-nccl"):
            seen.page.get_by_label("Algorithm", exact=True).select_option(label=algorithm)
            rows, points = shown(seen)
            assert "point-1" in rows
            assert {"point-1", "point-2"} <= set(points)
    assert seen.console == []


def test_the_table_is_downloaded_as_it_is_shown(tmp_path: Path) -> None:
    run = read(written())
    with browser.opened(page.render_page(run), tmp_path) as seen:
        gpus = next(one for one in front_filters.filters(run) if one.title == "GPUs")
        seen.page.get_by_label("GPUs", exact=True).select_option(label=gpus.values[0])
        with seen.page.expect_download() as waited:
            seen.page.get_by_role("button", name="Download as CSV").click()
        waited.value.save_as(tmp_path / "front.csv")
        assert waited.value.suggested_filename == f"{run.study.name}-front.csv"
    rows = list(csv.DictReader((tmp_path / "front.csv").read_text().splitlines()))
    kept = [p for p, place in zip(run.front, gpus.of_rows, strict=True) if 0 in place]
    assert [float(row["Purchase price (USD)"]) for row in rows] == [
        point.quantity("capital") for point in kept
    ]
    assert [float(row["Speedup (x)"]) for row in rows] == [point.speedup for point in kept]
    assert [float(row["Step (s)"]) for row in rows] == [point.step_s for point in kept]


def test_charts_are_dark_by_night_and_light_on_paper(tmp_path: Path) -> None:
    ground = "return document.getElementById('front-chart').layout.paper_bgcolor"
    with browser.opened(page.render_page(read(written())), tmp_path, scheme="dark") as seen:
        assert seen.run(ground) == NIGHT[PAPER]
        seen.run("dispatchEvent(new Event('beforeprint'))")
        assert seen.run(ground) == PAPER
        seen.run("dispatchEvent(new Event('afterprint'))")
        assert seen.run(ground) == NIGHT[PAPER]
        seen.page.emulate_media(color_scheme="light")
        seen.page.wait_for_function(f"() => {{ {ground} === '{PAPER}'; }}")
    assert seen.console == []


def test_nothing_sticks_out_of_the_paper(tmp_path: Path) -> None:
    run = written(also="power")
    for at in range(4):
        name = f"axis_{at}"
        run["axes"].append({"name": name, "values": ["x", "y" * 20], "default": False,
                            "conditional": ""})  # fmt: skip
        for turn, item in enumerate([run["baseline"], run["recommended"], *run["front"]]):
            item["config"] = {**item["config"], name: "y" * 20 if turn % 2 else "x"}
    with browser.opened(page.render_page(read(run)), tmp_path, PAPER_PX) as seen:
        seen.run("dispatchEvent(new Event('beforeprint'))")
        seen.page.emulate_media(media="print")
        out = seen.run(f"""
            return [...document.querySelectorAll("main *")].filter((part) =>
              part.getBoundingClientRect().right > {PAPER_PX} + 1).map((part) => part.outerHTML);
            """)
    assert out == []


def test_words_are_explained_where_they_stand(tmp_path: Path) -> None:
    with browser.opened(page.render_page(read(written())), tmp_path) as seen:
        told: list[list[Any]] = seen.run("""
            return [...document.querySelectorAll("#front abbr")].map(
              (mark) => [mark.textContent.toLowerCase(), mark.title]);""")
        listed: dict[str, str] = seen.run("""
            return Object.fromEntries([...document.querySelectorAll("#glossary dt")].map((term) =>
              [term.textContent.toLowerCase(), term.nextElementSibling.textContent]));""")
    assert told
    assert len({word for word, _ in told}) == len(told)
    assert all(listed[word] == meaning for word, meaning in told)


@pytest.mark.evidence
def test_the_keyboard_reaches_all_that_the_mouse_does(tmp_path: Path) -> None:
    with browser.opened(page.render_page(read(written())), tmp_path) as seen:
        keys = seen.page.keyboard
        keys.press("Tab")
        assert seen.run("return document.activeElement.className") == "skip"
        keys.press("Enter")
        assert seen.run("return document.activeElement.id") == "main"
        heading = seen.page.locator("#front-table thead button").nth(1)
        heading.focus()
        keys.press("Enter")
        keys.press("Enter")
        assert heading.locator("..").get_attribute("aria-sort") == "descending"
        seen.page.get_by_label("GPUs", exact=True).focus()
        keys.press("ArrowDown")
        assert "of" in seen.page.get_by_role("status").inner_text()
