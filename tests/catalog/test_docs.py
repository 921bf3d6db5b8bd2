"""The price lists of docs/prices.md, read and put together as the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dse.pricing.bill_of_materials import bill_of_materials
from dse.pricing.load import load
from dse.report.remarks import of_study
from tests.pricing import priced, studies

PAGE = Path(__file__).parents[2] / "docs" / "prices.md"


def blocks() -> list[str]:
    return re.findall(r"```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_lists_of_the_page_make_a_bill(tmp_path: Path) -> None:
    named, table, rates = blocks()
    (tmp_path / "vendor-a.csv").write_text(table)
    (tmp_path / "rates.yaml").write_text(rates)
    text = studies.SMALL.replace("p100-sxm2-16gb, v100-sxm2-16gb", "a10, h100-sxm")
    text = text.replace("p100-sxm2-16gb", "a10").replace("- 10gbe", "- ib-ndr")
    text = text.replace("inter_node: 10gbe", "inter_node: ib-ndr").replace("200 kUSD", "2 MUSD")
    problem = load(studies.written(tmp_path, text + named))
    items = bill_of_materials(
        problem.points_at(priced.point(problem, accelerator="h100-sxm", gpus=16))
    )
    h100 = 26_000 * 1.08
    nodes = 4
    hardware = (
        16 * h100 + nodes * 9_000 + (nodes + 1) * (1_190 + 1_100) * 1.08
        + 64 * 640 * 1.08 + 9_000
    )  # fmt: skip
    assert items[0].unit_usd == pytest.approx(h100)
    support, installation = 0.06 * 4, 15_000 * 1.08
    expected = hardware * (1 + support + 0.05) + installation + 1_200 * (nodes + 1)
    assert sum(item.usd or 0.0 for item in items) == pytest.approx(expected, abs=0.01)
    bought = {item.source for item in items if item.usd}
    assert bought == {"vendor-a.csv", "rates.yaml", "study.yaml"}
    assert not [one for one in of_study(problem) if one.name == "offers past"]
