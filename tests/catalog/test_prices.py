from __future__ import annotations

from pathlib import Path

import pytest

from dse.catalog import default_prices, read_prices
from dse.errors import StudyError


def test_a_users_list_overrides_entry_by_entry(tmp_path: Path) -> None:
    path = tmp_path / "offer.yaml"
    path.write_text(
        "title: Offer of May\n"
        "host: 15000 USD\n"
        "accelerators:\n"
        "  h100-sxm: {purchase: {value: 27000 USD, date: 2026-05-02, source: quote 17,"
        " includes: node-share}}\n"
        "  mi325x: {hourly: 2.50 USD/hour}\n"
        "fabrics:\n  ib-ndr: {nic: 1500 USD}\n"
        "nodes:\n  dgx-h100: {purchase: 290000 USD}\n"
    )
    prices, ours = read_prices(path), default_prices()
    assert prices.title == "Offer of May"
    assert prices.host_usd.value == 15000
    assert prices.host_usd.source == "offer.yaml"
    own = prices.accelerator_usd["h100-sxm"]
    assert (own.value, own.date, own.source) == (27000, "2026-05-02", "quote 17")
    assert prices.includes["h100-sxm"] == "node-share"
    assert prices.accelerator_hourly_usd["h100-sxm"] == ours.accelerator_hourly_usd["h100-sxm"]
    assert prices.accelerator_hourly_usd["mi325x"].value == 2.5
    assert prices.fabric_usd["ib-ndr"]["nic"].value == 1500
    assert prices.node_usd["dgx-h100"].value == 290_000
    assert prices.pue == ours.pue
    assert ours.accelerator_usd["h100-sxm"].value == 22375, "the default is left as it was"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("host: 15000\n", "offer.yaml:1:7: 15000 has no unit"),
        ("hots: 15000 USD\n", "unknown key 'hots'; did you mean host?"),
        ("accelerators:\n  h10: {hourly: 1 USD/hour}\n", "offer.yaml:2:8: h10: no such accel"),
        ("accelerators:\n  t4: {hourly: 1 USD}\n", "'1 USD' has the wrong unit"),
        ("accelerators:\n  t4: {includes: card}\n", "offer.yaml:2:18: unknown key 'includes'"),
        (
            "accelerators:\n  t4: {purchase: {value: 1 kUSD, includes: box}}\n",
            "offer.yaml:2:44: includes 'box'; write card or node-share",
        ),
        (
            "nodes:\n  dgx-h100: {purchase: {value: 1 kUSD, includes: card}}\n",
            "'includes' does not apply to dgx-h100, which is sold whole; drop it",
        ),
        (
            "accelerators:\n  b200-sxm: {host: 30 kUSD}\n",
            "offer.yaml:2:20: the price of b200-sxm already includes its host; add includes: card",
        ),
        ("accelerators:\n  t4: {host: 3 kUSD/h}\n", "offer.yaml:2:14: '3 kUSD/h' has the wrong"),
        ("nodes:\n  dgx-h100: {host: 30 kUSD}\n", "offer.yaml:2:20: unknown key 'host'"),
        ("fabrics: {ib-ndr: {nick: 3 USD}}\n", "unknown key 'nick'; did you mean nic?"),
        (
            "accelerators:\n  t4: {sold_in: 0}\n",
            "sold_in 0 is no number of accelerators; write 1, 4",
        ),
        ("accelerators:\n  t4: {boards: {0: HGX}}\n", "boards of '0'; write how many stand on one"),
        (
            "host: {value: 9 kUSD, date: 15-Nov-2024}\n",
            "'15-Nov-2024' is no date; write 2026-11-16",
        ),
        ("as_of: soon\n", "as_of 'soon'; write a day: 2026-11-16"),
    ],
)
def test_a_mistake_in_a_users_list_is_told(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "offer.yaml"
    path.write_text(text)
    with pytest.raises(StudyError) as caught:
        read_prices(path)
    assert message in str(caught.value)


@pytest.mark.parametrize("host", ["host: 30 kUSD\n", ""], ids=("beside", "without"))
def test_a_list_that_offers_hosts_beside_a_price_pays_no_host_with_it(
    tmp_path: Path, host: str
) -> None:
    path = tmp_path / "offer.yaml"
    path.write_text(f"{host}accelerators:\n  b200-sxm: {{purchase: 33 kUSD}}\n")
    prices = read_prices(path)
    assert prices.includes["b200-sxm"] == ("card" if host else "node-share")
    assert prices.includes["v100-sxm2-32gb"] == "node-share", "its price is the catalogue's"


def test_it_is_known_of_which_prices_nobody_says_whether_they_include_servers(
    tmp_path: Path,
) -> None:
    """A later list may say it, and an offer of a later one may again not."""
    silent, says, again = (tmp_path / f"{name}.yaml" for name in ("silent", "says", "again"))
    silent.write_text("accelerators: {h200-sxm: {purchase: 31 kUSD}, t4: {purchase: 1 kUSD}}\n")
    says.write_text(
        "accelerators: {h200-sxm: {purchase: {value: 31 kUSD, includes: node-share}}}\n"
    )
    again.write_text("accelerators: {h200-sxm: {purchase: 30 kUSD}}\n")
    assert not default_prices().unsaid
    assert read_prices(silent).unsaid == {"h200-sxm"}, "that of a T4 is a card's in the catalogue"
    assert not read_prices(silent, says).unsaid
    assert read_prices(silent, says, again).unsaid == {"h200-sxm"}
    again.write_text("accelerators: {h200-sxm: {purchase: 31 kUSD, host: 9 kUSD}}\n")
    assert not read_prices(silent, again).unsaid
