"""dse.pricing.bill_of_materials: a dozen bills by hand, and where their prices are from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.catalog.facts import ESTIMATE, LIST, QUOTE, USED
from dse.pricing.bill_of_materials import OF_SITE, UNSAID, Item, bill_of_materials
from dse.pricing.load import load, shipped_studies
from dse.pricing.problem import Problem
from tests.pricing import priced, studies

P100, V100, A100, H100, B200 = 7_400, 10_664, 15_000, 22_375, 64_375
HOST = 85_000  # H200 and B200 come with theirs
# of a study: values that differ from its baseline, and the sum as a buyer adds it up
STUDIES = {**shipped_studies(), "billion": Path(__file__).with_name("billion.yaml")}
BILLS: tuple[tuple[str, dict[str, Any], float], ...] = (
    # 16 P100 in 4 nodes, 4 servers with a card each, one switch of 64 ports
    ("ps-vs-allreduce", {}, 16 * P100 + 4 * HOST + 8 * 469 + 64 * 200 + 8 * 52 + 4 * HOST),
    # without servers
    ("ps-vs-allreduce", {"aggregation": "ring-mpi"},
     16 * P100 + 4 * HOST + 4 * 469 + 64 * 200 + 4 * 52),
    # 64 nodes of one, sold in fours: just one switch
    ("ps-vs-allreduce", {"aggregation": "ring-mpi", "gpus": 64, "gpus_per_node": 1},
     256 * P100 + 64 * HOST + 64 * 469 + 64 * 200 + 64 * 52),
    # 64 nodes on switches of 32 ports: 4 leaves with 16 up each, 2 spines
    ("ps-vs-allreduce",
     {"aggregation": "ring-mpi", "gpus": 64, "gpus_per_node": 1, "inter_node": "100gbe"},
     256 * P100 + 64 * HOST + 64 * 429 + (4 + 2) * 32 * 375 + (64 + 64) * 257),
    # 8 nodes of V100, one card each
    ("billion", {}, 64 * V100 + 8 * HOST + 8 * 429 + 32 * 375 + 8 * 257),
    # one node: no network
    ("billion", {"gpus": 8}, 8 * V100 + HOST),
    # 16 nodes of A100 with 8 cards: 128 endpoints on 64 ports, 4 leaves and 2 spines
    ("billion", {"accelerator": "a100-sxm4-80gb", "gpus": 128, "nics_per_node": 8,
                 "inter_node": "ib-ndr"},
     128 * A100 + 16 * HOST + 128 * 1_893.5 + (4 + 2) * 64 * 513.6 + (128 + 128) * 1_267.5),
    # 13 nodes with 4 cards on HDR's 40 ports: 52 endpoints, 3 leaves of which the last is part full
    ("billion", {"accelerator": "h100-sxm", "gpus": 104, "nics_per_node": 4,
                 "inter_node": "ib-hdr"},
     104 * H100 + 13 * HOST + 52 * 1_864 + (3 + 2) * 40 * 468.5 + (52 + 60) * 657),
    # a price that contains the host
    ("billion", {"accelerator": "b200-sxm", "gpus": 16, "inter_node": "400gbe"},
     16 * B200 + 2 * 1_893.5 + 64 * 406.2 + 2 * 1_267.5),
    # 2 to 1 on 32 ports: 21 down and 11 up, 7 leaves, 3 spines to each of which a leaf has 4 links
    ("billion", {"gpus": 1024, "oversubscription": 2},
     1024 * V100 + 128 * HOST + 128 * 429 + (7 + 3) * 32 * 375 + (128 + 7 * 11) * 257),
    # 4 to 1: 25 down and 7 up, 6 leaves with 5 links to each of 2 spines
    ("billion", {"gpus": 1024, "oversubscription": 4},
     1024 * V100 + 128 * HOST + 128 * 429 + (6 + 2) * 32 * 375 + (128 + 6 * 7) * 257),
    # 128 nodes with 8 cards on 32 ports: above 512 a third tier, 64 leaves, 64 spines, 32 cores
    ("billion", {"gpus": 1024, "nics_per_node": 8},
     1024 * V100 + 128 * HOST + 1024 * 429 + (64 + 64 + 32) * 32 * 375 + 3 * 1024 * 257),
)  # fmt: skip


def bill(problem: Problem, **values: Any) -> tuple[Item, ...]:
    return bill_of_materials(problem.points_at(priced.point(problem, **values)))


@pytest.mark.parametrize(("study", "values", "usd"), BILLS)
def test_the_sum_of_a_bill_is_the_purchase_price_to_the_cent(
    study: str, values: dict[str, Any], usd: float
) -> None:
    problem = load(STUDIES[study])
    items = bill(problem, **values)
    assert round(sum(np.nan if item.usd is None else item.usd for item in items), 2) == usd
    point = problem.point(priced.point(problem, **values))
    assert round(float(np.ravel(point["capital"])[0]), 2) == usd
    assert all(item.usd == item.quantity * (item.unit_usd or 0.0) for item in items)


@pytest.mark.parametrize(
    ("offer", "obstacle"),
    [("{}", None), ("{purchase: 40 kUSD}", UNSAID),
     ("{purchase: {value: 40 kUSD, includes: node-share}}", None)],
)  # fmt: skip
def test_a_quote_that_does_not_say_whether_it_pays_servers_is_to_be_asked_of(
    tmp_path: Path, offer: str, obstacle: str | None
) -> None:
    studies.written(tmp_path, f"accelerators: {{b200-sxm: {offer}}}\n", "offer.yaml")
    study = STUDIES["billion"].read_text() + "prices: offer.yaml\n"
    problem = load(studies.written(tmp_path, study))
    device = bill(problem, accelerator="b200-sxm", gpus=8, gpus_per_node=8)[0]
    assert device.obstacle == obstacle
    assert (device.remark == "its part of a server is in the price") == (obstacle is None)


@pytest.mark.parametrize(
    ("usd", "said"),
    [(90, "USD 90.00 is more than a factor of 3 off the USD 12,500"), (9_000, None),
     (900_000, "USD 900,000.00 is more than a factor of 3 off the USD 12,500")],
)  # fmt: skip
def test_an_own_price_far_from_the_catalogues_is_remarked(
    tmp_path: Path, usd: float, said: str | None
) -> None:
    offer = f"accelerators: {{a100-sxm4-40gb: {{purchase: {{value: {usd} USD, date: 2026-11}}}}}}\n"
    studies.written(tmp_path, offer, "offer.yaml")
    study = STUDIES["billion"].read_text() + "prices: offer.yaml\n"
    problem = load(studies.written(tmp_path, study))
    device = bill(problem, accelerator="a100-sxm4-40gb", gpus=16, gpus_per_node=8)[0]
    assert (device.remark or "").startswith(said) if said else device.remark is None
    assert device.obstacle == ("unlikely price" if said else None)


@pytest.mark.parametrize(
    ("accelerator", "gpus", "per_node", "boards"),
    [
        ("a100-sxm4-40gb", 8, 4, "2 HGX A100 4-GPU baseboards"),
        ("a100-sxm4-80gb", 6, 2, "3 HGX A100 4-GPU baseboards"),
        ("h100-sxm", 12, 8, "one HGX H100 8-GPU baseboard and one HGX H100 4-GPU baseboard"),
        ("b200-sxm", 8, 2, "4 HGX B200 8-GPU baseboards with their servers"),
        ("v100-sxm2-16gb", 8, 8, None),
    ],
)
def test_modules_say_on_which_boards_they_are_ordered(
    accelerator: str, gpus: int, per_node: int, boards: str | None
) -> None:
    problem = load(STUDIES["billion"])
    device, *rest = bill(problem, accelerator=accelerator, gpus=gpus, gpus_per_node=per_node)
    assert device.boards == boards
    assert not any(item.boards for item in rest)


def test_a_list_that_sells_modules_otherwise_has_its_own_boards_or_none(tmp_path: Path) -> None:
    for text, boards in (
        ("sold_in: 16", None),
        ("sold_in: 8", "2 HGX A100 8-GPU baseboards"),
        ("boards: {8: Delta P/N 935-23587}", "2 Delta P/N 935-23587"),
    ):
        offer = f"accelerators: {{a100-sxm4-40gb: {{{text}}}}}\n"
        studies.written(tmp_path, offer, "offer.yaml")
        problem = offered(tmp_path, "offer.yaml")
        device = bill(problem, accelerator="a100-sxm4-40gb", gpus=16, gpus_per_node=8)[0]
        assert device.boards == boards


def test_what_is_bought_beyond_those_that_train_is_idle() -> None:
    problem = load(STUDIES["billion"])
    (device, *_) = bill(problem, accelerator="h100-sxm", gpus=64, gpus_per_node=2)
    assert (device.quantity, device.idle) == (128, 64)
    (device, *_) = bill(problem, accelerator="h100-sxm", gpus=64, gpus_per_node=4)
    assert (device.quantity, device.idle) == (64, 0)


def test_racks_are_counted_and_bought_where_they_have_a_price(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, studies.SMALL))
    own = "prices: {rack: 3 kUSD, rack_power: 6 kW, rack_units: 42}\n"
    bought = load(studies.written(tmp_path, studies.SMALL + own, "own.yaml"))
    link = problem.study.values("inter_node")[1]
    values = {"accelerator": "p100-sxm2-16gb", "gpus": 16, "inter_node": link,
              "aggregation": "ring-mpi"}  # fmt: skip
    *_, free = bill(problem, **values)
    assert (free.item, free.quantity, free.usd) == ("Rack of 27 kW and 42 units", 1, 0.0)
    assert (free.price_class, free.checked) == (OF_SITE, True)
    # Four nodes of 4 x 300 W x 1.25 + 500 W, 2 kW each, and 236 W of network: two racks of 6 kW.
    *_, paid = bill(bought, **values)
    assert (paid.item, paid.quantity) == ("Rack of 6 kW and 42 units", 2)
    assert (paid.unit_usd, paid.price_class) == (3000.0, QUOTE)
    before, after = (
        float(np.ravel(one.point(priced.point(one, **values))["capital"])[0])
        for one in (problem, bought)
    )
    assert after - before == paid.usd == 3000.0 * paid.quantity


@pytest.mark.parametrize(
    ("node", "feeds", "own"),
    [("dgx-h100", 40, ""), ("gb200-nvl72-tray", 130, ""), ("dgx-h100", 17, "17 kW")],
)
def test_a_rack_feeds_what_such_nodes_need(tmp_path: Path, node: str, feeds: int, own: str) -> None:
    text = studies.SMALL.replace(
        "  accelerator: [p100-sxm2-16gb, v100-sxm2-16gb]", f"  node: {node}"
    ).replace("accelerator: p100-sxm2-16gb, gpus: 4, gpus_per_node: 4", f"node: {node}, gpus: 8")
    text = text.replace("  gpus_per_node: [1, 4]\n", "").replace(
        "gpus: [1, 2, 3, 4, 8, 16]", "gpus: [8, 16]"
    )
    text = text.replace('"capital <= 350 kUSD", ', "").replace(
        "minimize: capital", "minimize: power"
    )
    problem = load(studies.written(tmp_path, text + f"prices: {{rack_power: {own}}}\n" * bool(own)))
    (rack,) = (item for item in bill(problem) if item.item.startswith("Rack"))
    assert rack.item == f"Rack of {feeds} kW and 42 units"


def test_a_price_says_where_it_is_from_and_how_old_it_is() -> None:
    problem = load(STUDIES["billion"])
    device, host, *_ = bill(problem, accelerator="h100-sxm")
    assert (device.price_class, device.price_date, device.checked) == (LIST, "2026-09-25", True)
    assert device.age_years == pytest.approx(52 / 365.25, abs=0.01)
    assert (host.price_class, host.price_date, host.checked) == (ESTIMATE, "2026-09", True)
    old, *_ = bill(problem)
    assert (device.stale, host.stale, old.stale) == (False, False, True), "a V100 of 2018"


def test_own_prices_are_quotes(tmp_path: Path) -> None:
    own = "prices: {accelerators: {p100-sxm2-16gb: {purchase: 5 kUSD}}}\n"
    problem = load(studies.written(tmp_path, studies.SMALL + own))
    link = problem.study.values("inter_node")[1]
    device, host, card, *_ = bill(
        problem, accelerator="p100-sxm2-16gb", gpus=16, inter_node=link, aggregation="ring-mpi"
    )
    assert (device.unit_usd, device.price_class, device.checked) == (5000.0, QUOTE, True)
    assert host.price_class == ESTIMATE
    assert (card.item, card.unit_usd) == ("Network card, 25 Gbps", 200.0)
    assert (card.price_class, card.source) == (QUOTE, Path(problem.study.path).name)


def test_what_has_no_known_price_has_no_sum(tmp_path: Path) -> None:
    bare = studies.SMALL.replace(", switch_port: 200 USD", "").replace(
        "minimize: capital", "minimize: power"
    )
    problem = load(studies.written(tmp_path, bare.replace('"capital <= 350 kUSD", ', "")))
    link = problem.study.values("inter_node")[1]
    items = bill(problem, gpus=16, inter_node=link, aggregation="ring-mpi")
    (switch,) = (item for item in items if item.item.startswith("Switch"))
    assert (switch.quantity, switch.unit_usd, switch.usd) == (1, None, None)


# prices of a study, the values of a point, and the sum as a buyer adds it up
OFFERS: tuple[tuple[str, dict[str, Any], float], ...] = (
    # everything else by the catalogue
    ("{accelerators: {h100-sxm: {purchase: 28125 USD}}}",
     {"accelerator": "h100-sxm", "gpus": 16},
     16 * 28_125 + 2 * HOST + 2 * 429 + 32 * 375 + 2 * 257),
    # EUR 25,000 at 1.08, hosts in francs
    ("{currencies: {EUR: 1.08 USD, CHF: 1.25 USD}, host: 8 kCHF, accelerators: {h100-sxm: "
     "{purchase: 25 kEUR}}}",
     {"accelerator": "h100-sxm", "gpus": 16},
     16 * 27_000 + 2 * 10_000 + 2 * 429 + 32 * 375 + 2 * 257),
    # hosts of H100 at their own price, those of others at the common one
    ("{host: 9 kUSD, accelerators: {h100-sxm: {host: 31 kUSD}}}",
     {"accelerator": "h100-sxm", "gpus": 16},
     16 * H100 + 2 * 31_000 + 2 * 429 + 32 * 375 + 2 * 257),
    ("{host: 9 kUSD, accelerators: {h100-sxm: {host: 31 kUSD}}}",
     {"gpus": 16}, 16 * V100 + 2 * 9_000 + 2 * 429 + 32 * 375 + 2 * 257),
    # a switch is 32 ports
    ("{fabrics: {100gbe: {switch_port: 87.99 USD}}}",
     {"gpus": 16}, 16 * V100 + 2 * HOST + 2 * 429 + 32 * 87.99 + 2 * 257),
    # optics between switches at their own price: 128 cables to cards, 128 from 8 leaves up
    ("{fabrics: {100gbe: {cable: 80 USD, uplink: 950 USD}}}",
     {"gpus": 1024},
     1024 * V100 + 128 * HOST + 128 * 429 + (8 + 4) * 32 * 375 + 128 * 80 + 128 * 950),
    # storage once, spares of 10 %, a management network by the node
    ("{extras: {storage: 250 kUSD, spares: 10 %, management_network: 1200 USD/node}}",
     {"gpus": 16},
     (16 * V100 + 2 * HOST + 2 * 429 + 32 * 375 + 2 * 257) * 1.1 + 250_000 + 2 * 1_200),
    # support of 8 % a year for three years, installation once, in EUR
    ("{amortisation_years: 3, currencies: {EUR: 1.1 USD}, extras: {support: 8 %/year, "
     "installation: 20 kEUR}}",
     {"gpus": 8}, (8 * V100 + HOST) * 1.24 + 22_000),
    # licences by the node and year, servers count as nodes
    ("{extras: {licences: 100 USD/node/year}}",
     {"gpus": 16, "aggregation": "ps-grpc", "ps_servers": 2},
     16 * V100 + 2 * HOST + 4 * 429 + 32 * 375 + 4 * 257 + 2 * HOST + 4 * 400),
)  # fmt: skip


def offered(tmp_path: Path, prices: str) -> Problem:
    text = STUDIES["billion"].read_text()
    return load(studies.written(tmp_path, f"{text}prices: {prices}\n"))


@pytest.mark.parametrize(("prices", "values", "usd"), OFFERS)
def test_offers_currencies_and_extras_are_in_the_sum(
    tmp_path: Path, prices: str, values: dict[str, Any], usd: float
) -> None:
    problem = offered(tmp_path, prices)
    items = bill(problem, **values)
    assert round(sum(np.nan if item.usd is None else item.usd for item in items), 2) == round(
        usd, 2
    )
    point = problem.point(priced.point(problem, **values))
    assert round(float(np.ravel(point["capital"])[0]), 2) == round(usd, 2)
    assert float(np.ravel(point["tco"])[0]) > usd / (problem.prices.amortisation_years.value * 8760)  # type: ignore[operator]


def test_cables_between_switches_are_a_line_where_they_have_their_own_price(tmp_path: Path) -> None:
    """Else all cables are one, as where one switch joins all."""
    many = {"gpus": 1024}
    (one,) = cables(bill(offered(tmp_path, "{fabrics: {100gbe: {cable: 80 USD}}}"), **many))
    assert (one.item, one.quantity, one.unit_usd) == ("Cable, 100 Gbps Ethernet", 256, 80.0)
    problem = offered(tmp_path, "{fabrics: {100gbe: {uplink: 950 USD}}}")
    short, long = cables(bill(problem, **many))
    assert (short.item, short.quantity, short.unit_usd) == ("Cable, 100 Gbps Ethernet", 128, 257.0)
    assert (long.item, long.quantity, long.unit_usd) == (
        "Cable between switches, 100 Gbps Ethernet", 128, 950.0,
    )  # fmt: skip
    assert long.price_class == QUOTE != short.price_class
    assert len(cables(bill(problem, gpus=16))) == 1


def cables(items: tuple[Item, ...]) -> list[Item]:
    return [item for item in items if item.item.startswith("Cable")]


def test_owned_cables_are_taken_for_cards_first(tmp_path: Path) -> None:
    text = STUDIES["billion"].read_text()
    prices = "prices: {fabrics: {100gbe: {uplink: 950 USD}}}\n"
    owned = "owned: {accelerator: t4, gpus: 512, gpus_per_node: 8, inter_node: 100gbe}\n"
    short, long = cables(bill(load(studies.written(tmp_path, text + prices + owned)), gpus=1024))
    # 64 cables to cards and 64 between switches stand there
    assert (short.to_buy, long.to_buy) == (0, 128)


def test_extras_are_lines_of_their_own(tmp_path: Path) -> None:
    problem = offered(
        tmp_path,
        "{extras: {spares: 10 %, support: {value: 8 %/year, quote: S-1}, storage: 25 kUSD, "
        "management_network: 300 USD/node}}",
    )
    items = [item for item in bill(problem, gpus=16) if item.extra]
    assert [(item.item, item.quantity) for item in items] == [
        ("Spares, 10 % of the hardware", 1),
        ("Support, 8 % of the hardware a year for 4 years", 1),
        ("Storage", 1),
        ("Management network", 2),
    ]
    assert items[1].terms is not None
    assert items[1].terms.quote == "S-1"
    assert {item.price_class for item in items} == {QUOTE}


def test_the_interval_of_extras_is_that_of_the_hardware(tmp_path: Path) -> None:
    problem = offered(tmp_path, "{extras: {spares: 10 %}}")
    without = load(STUDIES["billion"])
    values = priced.point(problem, gpus=16)
    drawn, plain = (
        np.ravel(one.sampled.point(values, speedup=False)["capital"]) for one in (problem, without)
    )
    np.testing.assert_allclose(drawn, 1.1 * plain)


def test_a_line_has_the_terms_of_its_offer(tmp_path: Path) -> None:
    vendor = tmp_path / "vendor.csv"
    vendor.write_text(
        "item,price,currency,date,valid_until,quote,class\n"
        "as_of,2026-11-20\n"
        "currencies EUR,1.1 USD,,2026-10-02\n"
        "v100-sxm2-16gb,1800,EUR,2026-10-02,2026-10-31,Q-17,used\n"
        "100gbe switch port,95,USD,,2026-12-31,Q-18\n"
    )
    device, host, _, switch, _, _ = bill(offered(tmp_path, "vendor.csv"), gpus=16)
    assert (device.unit_usd, device.price_class, device.source) == (1_980, USED, "vendor.csv")
    assert device.terms is not None
    assert (device.terms.quote, device.terms.converted) == (
        "Q-17", "EUR at USD 1.1 of 2026-10-02"
    )  # fmt: skip
    assert (device.terms.valid_until, device.terms.expired) == ("2026-10-31", True)
    assert host.terms is None
    assert switch.terms is not None
    assert switch.unit_usd == 32 * 95
    assert not switch.terms.expired


def test_a_network_beyond_three_tiers_is_told() -> None:
    problem = load(STUDIES["billion"])
    large = bill(problem, gpus=8 * 1_025, nics_per_node=8)  # 8,200 cards on switches of 32 ports
    (core,) = (item for item in large if item.item.startswith("Core"))
    assert "8,192 network cards, not 8,200" in (core.remark or "")
    just = bill(problem, gpus=8 * 1_024, nics_per_node=8)
    assert all(item.remark is None for item in just if "switch" in item.item)
