"""The page in use: colours by night, words explained, and whether those who hear it or use the
keyboard only can read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dse.report import page
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
