"""What is said of the offers of a study's price lists."""

from __future__ import annotations

from pathlib import Path

from dse.pricing import price_doubts
from dse.pricing.load import load
from dse.report.certainty.known_prices import known_price
from tests.pricing import studies

HEAD = "item,price,currency,quote,vendor\n"


def test_offers_of_what_only_the_baseline_has_are_named_last(tmp_path: Path) -> None:
    """The baseline's accelerator is the first of the axis."""
    past = "item,price,date,valid_until\np100-sxm2-16gb,3000 USD,2024-01-02,2024-02-01\n"
    (tmp_path / "q.csv").write_text(f"{past}v100-sxm2-16gb,9000 USD,2024-01-02,2024-02-01\n")
    problem = load(studies.written(tmp_path, f"{studies.SMALL}prices: [q.csv]\n"))
    (note,) = price_doubts.expired(problem)
    assert ": v100-sxm2-16gb, p100-sxm2-16gb (q.csv, valid until 2024-02-01)." in note


MACHINES = """\
study: two-machines
workload: gpt2-xl-1.5b
prices: [offer.csv]
space: {node: [dgx-a100-80gb, dgx-h100], gpus: [16, 32], %s, batch_per_gpu: 8, precision: bf16,
        optimizer: adam, aggregation: auto-nccl}
baseline: {node: dgx-a100-80gb, gpus: 32, inter_node: ib-hdr, batch_per_gpu: 8}
constraints: [fits_memory]
objectives: {maximize: speedup, minimize: capital}
"""


def test_cards_that_no_machine_pays_are_no_price_of_the_network(tmp_path: Path) -> None:
    """Switches and cables are offered, and the catalogue's cards were never checked."""
    offer = "ib-ndr switch port,600,USD,A-1,North\nib-ndr cable,900,USD,A-1,North\n"
    (tmp_path / "offer.csv").write_text(f"{HEAD}dgx-h100,300000,USD,A-1,North\n{offer}")
    study = MACHINES.replace("[dgx-a100-80gb, dgx-h100]", "[%s]") % ("%s", "inter_node: [ib-ndr]")
    own = load(studies.written(tmp_path, study % "dgx-h100"))
    known = known_price(own, "network ib-ndr")
    assert known is not None
    assert known.own
    assert known.bounds == (1.0, 1.0)
    both = load(studies.written(tmp_path, study % "dgx-a100-80gb, dgx-h100", "both.yaml"))
    known = known_price(both, "network ib-ndr")
    assert known is not None
    assert not known.own
    assert not known.checked


def test_links_of_other_speeds_that_cost_what_their_fabric_costs_are_told_of(
    tmp_path: Path,
) -> None:
    def told(links: str, text: str = studies.SMALL) -> list[str]:
        before, rest = text.split("  inter_node:\n")
        _, _, after = rest.partition("cable: 60 USD}\n")
        given = f"{before}  inter_node: {links}\n{after}"
        return price_doubts.other_speeds(load(studies.written(tmp_path, given)))

    (line,) = told("{bandwidth: [25 Gbps, 100 Gbps, 400 Gbps], fabric: 100gbe}")
    assert line.startswith("25 Gbps, 400 Gbps: priced as 100gbe, whose prices are of 100 Gbps. ")
    (line,) = told("{bandwidth: {from: 10 Gbps, to: 90 Gbps, continuous: true}, fabric: 100gbe}")
    assert line.startswith("10 Gbps, 90 Gbps: priced as 100gbe")
    own = "nic: 300 USD, switch_port: 200 USD, cable: 60 USD"
    assert told(f"{{bandwidth: [25 Gbps, 400 Gbps], fabric: 100gbe, {own}}}") == []
    assert told("{bandwidth: 100 Gbps, fabric: 100gbe}") == []
    assert told("[25gbe, 100gbe]") == []
    inside = "{bandwidth: 200 GB/s, latency: 1 us, fabric: nvlink3}"
    assert told(f"[25gbe, 100gbe]\n  intra_node: {inside}") == []
