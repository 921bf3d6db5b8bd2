"""Whose facts stand behind a run, and which of them the report shows."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

from dse.pricing.load import load
from dse.report import provenance
from dse.report.document import AxisRow
from dse.report.write import write_report
from tests.pricing import studies
from tests.report.documents import document

PRICES = """
currencies: {EUR: 1.08 USD}
host: {value: 9000 EUR, quote: Q-1, valid_until: 2099-12-31}
fabrics: {25gbe: {nic: 180 USD}}
accelerators: {p100-sxm2-16gb: {purchase: {value: 6 kUSD, date: 2026-11-02}}}
extras: {spares: 3 %}
"""


def test_the_users_prices_are_told_as_they_are_written_and_once(tmp_path: Path) -> None:
    (tmp_path / "offer.yaml").write_text(PRICES, encoding="utf-8")
    text = studies.SMALL.replace("[25 Gbps, 100 Gbps]", "[25gbe]") + "prices: offer.yaml\n"
    rows = provenance.sources(load(studies.written(tmp_path, text)))
    own = {row.fact: row for row in rows if row.item == provenance.OWN}
    host = own["host"]
    assert host.value == "9000 EUR (EUR at USD 1.08)"
    assert host.source == "offer.yaml, quotation Q-1, valid until 2099-12-31"
    card = own["accelerators.p100-sxm2-16gb.purchase"]
    assert (card.value, card.date, card.source) == ("6 kUSD", "2026-11-02", "offer.yaml")
    assert own["extras.spares"].value == "3 %"
    for fact in own:
        assert [row.item for row in rows if row.fact == fact] == [provenance.OWN]


def test_what_is_ordered_comes_first_among_the_inputs() -> None:
    """Of an axis of three accelerators the second is recommended, the first is the baseline's."""
    run = document()
    names = ("p100-sxm2-16gb", "v100-sxm2-16gb", "a10")
    axis = AxisRow(name="accelerator", values=names, default=False, conditional="")
    base, best = (
        replace(point, config={**point.config, "accelerator": name})
        for point, name in zip((run.baseline, run.recommended), names, strict=False)
    )
    (cited, *_) = run.sources
    rows = [replace(cited, item=f"accelerator {name}", fact=fact, url="")
            for name in names for fact in ("tdp", "memory_bandwidth")]  # fmt: skip
    rows += [replace(cited, item=provenance.OWN, fact=f"accelerators.{name}.purchase",
                     url="ftp://a") for name in names]  # fmt: skip
    rows += [replace(cited, item="prices", fact="host")]
    run = replace(run, axes=(axis,), baseline=base, recommended=best, sources=tuple(rows))
    found = [(row.item, row.fact) for row in provenance.foremost(run)]
    assert found[:5] == [
        (provenance.OWN, "v100-sxm2-16gb"), ("accelerator v100-sxm2-16gb", "memory_bandwidth"),
        (provenance.OWN, "p100-sxm2-16gb"), ("accelerator p100-sxm2-16gb", "memory_bandwidth"),
        ("prices", "host"),
    ]  # fmt: skip
    assert {row.url for row in provenance.foremost(run) if row.item != "prices"} == {""}
    assert len(provenance.foremost(replace(run, sources=tuple(rows) * 9))) == provenance.FOREMOST


def test_sources_csv_has_every_fact(tmp_path: Path) -> None:
    run = document()
    write_report(run, tmp_path)
    with (tmp_path / "sources.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["item"], row["fact"], row["source"]) for row in rows] == [
        (one.item, one.fact, one.source) for one in run.sources
    ]
