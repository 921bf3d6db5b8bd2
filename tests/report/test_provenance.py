"""Whose facts stand behind a run, and which of them the answer rests on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dse.pricing.load import load
from dse.report import provenance, sections
from dse.report.document import AxisRow
from tests.pricing import studies
from tests.report.documents import document

PRICES = """
currencies: {EUR: 1.08 USD}
host: {value: 9000 EUR, discount: 10 %, quote: Q-1, valid_until: 2099-12-31}
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
    assert host.value == "9000 EUR, 10 % off (EUR at USD 1.08)"
    assert host.source == "offer.yaml, quotation Q-1, valid until 2099-12-31"
    card = own["accelerators.p100-sxm2-16gb.purchase"]
    assert (card.value, card.date, card.source) == ("6 kUSD", "2026-11-02", "offer.yaml")
    assert own["extras.spares"].value == "3 %"
    for fact in own:
        assert [row.item for row in rows if row.fact == fact] == [provenance.OWN]
    run = replace(document(), sources=tuple(reversed(rows)))
    item, facts, _ = sections.groups(run)[0]
    assert item == provenance.OWN
    assert "spares" in {row.fact for row in facts}


def test_the_answer_rests_on_what_its_points_have_and_on_what_all_share() -> None:
    run = document()
    more = AxisRow(name="node", values=("dgx-a100-80gb", "dgx-h100"), default=False, conditional="")
    best = replace(
        run.recommended,
        config={**run.recommended.config, "node": "dgx-h100", "inter_node": "25gbe"},
    )
    links = AxisRow(name="inter_node", values=("25gbe", "ib-ndr"), default=False, conditional="")
    axes = [axis for axis in run.axes if axis.name != "inter_node"]
    named = provenance.rests_on(replace(run, recommended=best, axes=(*axes, links, more)))
    for item in ("node dgx-h100", "accelerator h100-sxm", "fabric 25gbe", "fabric nvlink3",
                 "transport nccl", "prices", provenance.OWN):  # fmt: skip
        assert named(item), item
    for item in ("node dgx-a100-80gb", "accelerator t4", "fabric ib-ndr"):
        assert not named(item), item


def test_what_is_ordered_comes_first_among_the_inputs_and_the_baselines_last() -> None:
    """Of an axis of three accelerators the second is recommended, the first is the baseline's."""
    run = document()
    names = ("p100-sxm2-16gb", "v100-sxm2-16gb", "a10")
    axis = AxisRow(name="accelerator", values=names, default=False, conditional="")
    base, best = (
        replace(point, config={**point.config, "accelerator": name})
        for point, name in zip((run.baseline, run.recommended), names, strict=False)
    )
    (cited, *_) = run.sources
    own = [replace(cited, item=provenance.OWN, fact=f"accelerators.{name}.purchase",
                   status="sourced") for name in names]  # fmt: skip
    host = replace(own[0], fact="host")
    facts = [replace(cited, item=f"accelerator {name}", status="sourced") for name in names]
    run = replace(run, axes=(axis,), baseline=base, recommended=best, sources=(*facts, *own, host))
    first, *others = sections.groups(run)
    assert [row.fact for row in first[1]] == ["v100-sxm2-16gb", "host", "a10", "p100-sxm2-16gb"]
    assert [item for item, *_ in others] == [
        "accelerator v100-sxm2-16gb", "accelerator a10", "accelerator p100-sxm2-16gb"
    ]  # fmt: skip
