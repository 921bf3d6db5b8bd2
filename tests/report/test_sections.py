"""The sections of a run's report: which there are, and what they say of what binds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from jinja2 import meta, nodes

from dse.pricing.constraints import unmet
from dse.report import page, sections, templating
from tests.pricing import studies
from tests.report.documents import document, read, written
from tests.report.laid_out import laid_out
from tests.report.searched import searched


def test_page_and_text_have_every_section_under_its_heading() -> None:
    run = document()
    kept = [section for section in sections.SECTIONS if section.facts(run) is not None]
    titles = [section.title for section in kept]
    html, text = page.render_page(run), page.render_markdown(run)
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [
        section.title for section in kept if not section.page_only
    ]
    assert re.findall(r"<h2 id=\"[\w-]+\">(.*)</h2>", html) == titles
    links = re.findall(r"<a href=\"#(\w+)\">(.*)</a>", html)
    assert links[: len(titles)] == [(section.name, section.link) for section in kept]


def test_a_template_says_the_facts_of_its_section_and_nothing_else(tmp_path: Path) -> None:
    """It has nothing else of the document, and no fact is handed over in vain."""
    mixed = studies.SMALL.replace("workload: resnet50", "mix: {resnet50: 100 %}")
    run = searched(tmp_path, mixed + "what_if: accelerator\n").document
    layouts = laid_out(tmp_path).document
    environment = templating.environment("html")
    assert environment.loader is not None
    for section in sections.SECTIONS:
        source, *_ = environment.loader.get_source(environment, f"sections/{section.name}.j2")
        tree = environment.parse(source)
        own = {name.name for name in tree.find_all(nodes.Name) if name.ctx == "store"}
        said = meta.find_undeclared_variables(tree) - own - environment.globals.keys()
        facts = section.facts(run) or section.facts(layouts) or {}
        assert said == set(facts), section.name


def test_page_and_text_are_made_of_the_same_blocks() -> None:
    page_, text = (
        {name: macro.arguments for name, macro in templating.environment(kind).globals.items()
         if hasattr(macro, "arguments")} for kind in ("html", "md")
    )  # fmt: skip
    assert page_ == text


def test_what_binds_names_front_points_near_a_bound() -> None:
    run = written()
    run["front"][-1]["capital"] = run["front"][-1]["costs"]["capital"] = 1.19e6
    run["constraints"] += ["capital / gpus <= 50 kUSD", "gpus >= 1", "no constraint at all"]
    run["constraints"].append("global_batch <= 4096")
    run["recommended"]["global_batch"] = 512
    found = sections.bounds(read(run))
    assert [text for text, _, _ in found] == ["capital <= 1.2 MUSD", "global_batch <= 4096"]
    assert len(run["front"]) in found[0][2]
    assert found[1][1] == "512 of the 4,096"


def test_rejections_are_sorted_and_relative_to_the_space() -> None:
    run = document()
    rows = sections.rejected(run)
    assert [why for why, _, _ in rows] == [
        "capital <= 1.2 MUSD is not met",
        unmet("fits_memory"),
        "the last node is only partly filled",
    ]
    assert rows[0][2] == pytest.approx(rows[0][1] / run.counts.points)


def test_a_bound_of_the_space_at_the_fastest_point_is_pointed_out() -> None:
    run = written()
    run["fastest"]["config"]["gpus"] = "128"
    assert "GPUs = 128" in sections.edges(read(run))
