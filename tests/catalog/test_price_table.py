"""Price lists as tables, in other currencies, one over the other."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

import pytest

from dse.catalog import default_prices, read_prices
from dse.catalog.facts import CLOUD, QUOTE, RENTAL_TERMS, USED
from dse.catalog.price_table import COLUMNS
from dse.currencies import Rate
from dse.errors import StudyError
from dse.study.terms import TERMS

HEADER = "item,price,currency,date,valid_until,quote,class\n"
PAGE = Path(__file__).parents[2] / "docs" / "prices.md"


def table(tmp_path: Path, rows: str, header: str = HEADER, name: str = "vendor.csv") -> Path:
    path = tmp_path / name
    path.write_text(header + rows)
    return path


def told(path: Path) -> list[str]:
    """The mistakes in a list, without the name of its file."""
    with pytest.raises(StudyError) as caught:
        read_prices(path)
    lines = [str(one) for one in caught.value.mistakes]
    assert all(line.startswith(f"{path}:") and "\n" not in line for line in lines)
    return [line.removeprefix(str(path)) for line in lines]


def test_a_table_has_what_a_list_in_yaml_has(tmp_path: Path) -> None:
    rows = (
        "# accelerators, then the rest\n\n"
        "h100-sxm,23400,USD,2026-10-02,2026-11-30,Q-17\n"
        "h100-sxm hourly,2.1,USD,,,,cloud\n"
        "h100-sxm host,31000,USD,2026-10-03,2026-12-31,Q-18\n"
        "h100-sxm sold_in,8,,,,,,\n"
        'dgx-h100,"290,000",USD\n'
        "25gbe nic,90 USD\n"
        "25gbe switch port,80,USD,,,,used\n"
        "host,9 kUSD,,,,,,\n"
        "electricity,0.12,USD,,,,,,\n"
        "pue,1.2\n"
        "extras spares,10 %\n"
        "as_of,2026-11-20\n"
    )
    prices = read_prices(table(tmp_path, rows))
    own = prices.accelerator_usd["h100-sxm"]
    assert (own.value, own.date, own.source) == (23_400, "2026-10-02", "vendor.csv")
    assert own.offer is not None
    assert (own.offer.quote, own.offer.price_class) == ("Q-17", QUOTE)
    assert own.offer.valid_until == datetime.date(2026, 11, 30)
    rent = prices.accelerator_hourly_usd["h100-sxm"]
    assert rent.offer is not None
    assert (rent.value, rent.offer.price_class) == (2.1, CLOUD)
    assert prices.node_usd["dgx-h100"].value == 290_000
    assert prices.fabric_usd["25gbe"]["nic"].value == 90
    port = prices.fabric_usd["25gbe"]["switch_port"]
    assert port.offer is not None
    assert (port.value, port.offer.price_class) == (80, USED)
    assert (prices.host_usd.value, prices.pue.value) == (9_000, 1.2)
    assert prices.electricity_usd_per_kwh.value == 0.12
    host = prices.host_of("h100-sxm")
    assert (host.value, host.date, host.offer and host.offer.quote) == (
        31_000, "2026-10-03", "Q-18"
    )  # fmt: skip
    assert prices.host_of("a100-sxm4-80gb") is prices.host_usd, "others have the common price"
    assert prices.sold_in["h100-sxm"].value == 8
    assert prices.extras["spares"].fact.value == 0.1
    assert (prices.as_of, prices.stated) == (datetime.date(2026, 11, 20), True)


def test_the_page_has_every_column() -> None:
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {*re.findall(r"\w+", " ".join(rows))} == {*COLUMNS}


def test_items_have_names_and_clear_aliases_of_the_catalogue(tmp_path: Path) -> None:
    rows = "NVIDIA H200,31000,USD\nH100 SXM hourly,2.5,USD\nInfiniBand NDR switch port,700,USD\n"
    prices = read_prices(table(tmp_path, rows))
    assert prices.accelerator_usd["h200-sxm"].value == 31_000
    assert prices.accelerator_hourly_usd["h100-sxm"].value == 2.5
    assert prices.fabric_usd["ib-ndr"]["switch_port"].value == 700
    (line,) = told(table(tmp_path, "NVIDIA H100,24500,USD\n"))
    assert re.search(r":2:1: 'NVIDIA H100' is no .*; did you mean .*h100-", line)


def test_other_currencies_count_at_the_stated_rate(tmp_path: Path) -> None:
    rates = tmp_path / "rates.yaml"
    rates.write_text("currencies: {EUR: 1.08 USD, JPY: 0.0065 USD}\n")
    rows = (
        "t4,900,EUR\n"
        "a10,450000,JPY\n"
        "l40s,7 kEUR\n"
        "h100-sxm hourly,2,EUR\n"
        "electricity,0.2,EUR\n"
        "currencies GBP,1.2537 USD\n"
        "h100-pcie,19999.99,GBP\n"
    )
    prices = read_prices(rates, table(tmp_path, rows))
    bought = {name: fact.value for name, fact in prices.accelerator_usd.items()}
    assert bought["t4"] == 972
    assert bought["a10"] == 2_925
    assert bought["l40s"] == 7_560
    assert bought["h100-pcie"] == 25_073.99, "of whole cents"
    assert prices.accelerator_hourly_usd["h100-sxm"].value == 2.16
    assert prices.electricity_usd_per_kwh.value == pytest.approx(0.216)
    offer = prices.accelerator_usd["t4"].offer
    assert offer is not None
    assert offer.converted == "EUR at USD 1.08"


def test_a_rate_has_the_day_that_is_said_of_it_else_that_of_its_list(tmp_path: Path) -> None:
    """Of a list for today nobody says the day."""

    def rates(text: str, rows: str = "t4,900,EUR\n") -> tuple[str, dict[str, Rate]]:
        (tmp_path / "rates.yaml").write_text(text)
        prices = read_prices(tmp_path / "rates.yaml", table(tmp_path, rows))
        offer = prices.accelerator_usd["t4"].offer
        assert offer is not None
        return offer.converted, dict(prices.rates)

    own = "currencies: {EUR: {value: 1.08 USD, date: 2026-11-02}}\nas_of: 2026-11-20\n"
    assert rates(own) == ("EUR at USD 1.08 of 2026-11-02", {"EUR": Rate(1.08, "2026-11-02")})
    listed = "currencies: {EUR: 1.08 USD}\nas_of: 2026-11-20\n"
    assert rates(listed)[0] == "EUR at USD 1.08 of 2026-11-20"
    assert rates(listed.replace("2026-11-20", "today"))[0] == "EUR at USD 1.08"
    row = "currencies EUR,1.08 USD,,2026-11-03\nt4,900,EUR\n"
    assert rates("pue: 1.3\n", row)[0] == "EUR at USD 1.08 of 2026-11-03"


def test_rents_for_several_terms_are_read_from_tables_and_yaml_alike(tmp_path: Path) -> None:
    rows = ("h100-sxm hourly,2.1,USD,\nh100-sxm hourly,1.5,USD,1-year\n"
            "dgx-h100 hourly,9,USD,spot\nt4,900,USD,\n")  # fmt: skip
    (tmp_path / "own.yaml").write_text(
        "accelerators: {t4: {purchase: 900 USD}, h100-sxm: {hourly: [2.1 USD/hour, "
        "{value: 1.5 USD/hour, term: 1-year}]}}\n"
        "nodes: {dgx-h100: {hourly: {value: 9 USD/hour, term: spot}}}\n"
    )
    for prices in (
        read_prices(table(tmp_path, rows, "item,price,currency,term\n")),
        read_prices(tmp_path / "own.yaml"),
    ):
        assert prices.accelerator_hourly_usd["h100-sxm"].value == 2.1
        assert prices.accelerator_terms_usd["h100-sxm"]["1-year"].value == 1.5
        assert prices.node_terms_usd["dgx-h100"]["spot"].value == 9
        assert "dgx-h100" not in prices.node_hourly_usd
        assert prices.rented("1-year").accelerator_hourly_usd["h100-sxm"].value == 1.5
        assert prices.rented("spot").accelerator_hourly_usd["h100-sxm"].value == 2.1
    assert RENTAL_TERMS == TERMS, "the words of a study"


def test_the_later_list_counts_more(tmp_path: Path) -> None:
    first = table(tmp_path, "t4,900,USD\nhost,9000,USD\n", name="a.csv")
    second = tmp_path / "b.yaml"
    second.write_text("accelerators: {t4: {purchase: 800 USD}}\n")
    prices = read_prices(first, second)
    assert prices.accelerator_usd["t4"].value == 800
    assert prices.accelerator_usd["t4"].source == "b.yaml"
    assert (prices.host_usd.value, prices.host_usd.source) == (9_000, "a.csv")
    assert read_prices(second, first).accelerator_usd["t4"].value == 900
    assert default_prices().accelerator_usd["t4"].value == 2_200


def test_offers_must_be_valid_today_unless_a_list_says_when(tmp_path: Path) -> None:
    ended = "item,price,currency,valid_until\nt4,900,USD,2026-06-30\n"
    silent = read_prices(table(tmp_path, ended, ""))
    assert silent.lapsed(silent.accelerator_usd["t4"])
    assert silent.as_of == default_prices().as_of, "ages do not hang on the day of the run"
    said = read_prices(table(tmp_path, f"{ended}as_of,2020-05-04,,\n", ""))
    assert said.as_of == datetime.date(2020, 5, 4)
    assert not said.lapsed(said.accelerator_usd["t4"])
    today = read_prices(table(tmp_path, "as_of,today\n"))
    assert today.as_of == datetime.date.today()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("h100-smx,1,USD\n", ":2:1: 'h100-smx' is no accelerator, node, part of a network or other "
         "item; did you mean h100-sxm?"),
        ("t4,-1,USD\n", ":2:4: -1 USD is negative; write a value of at least 0"),
        ("t4,1,CHF\n", ":2:4: '1 CHF': no rate of the currency CHF is given; add "
         "'currencies: {CHF: ... USD}'"),
        ("t4,,USD\n", ":2:1: t4 has no price; write one, or unknown"),
        (",5,USD\n", ":2:1: '' is no accelerator"),
        ("t4,10,\n", ":2:4: 10 has no unit; write for example 2 MUSD or 35000 USD"),
        ("t4,$28000,\n", ":2:4: '$28000' is not a quantity; write for example 2 MUSD or 35000"),
        ('t4,"8000,50",USD\n', ":2:4: '8000,50 USD' is not a quantity; write for example 2 MUSD"),
        ("h100-sxm hourly,2 USD\n", ":2:17: '2 USD' has the wrong unit; write for example 3.06"),
        ("pue,0.9,\n", ":2:5: pue 0.9 is too small: it must be at least 1; PUE is"),
        ("pue,1.2,,,,,used\n", ":2:13: unknown key 'class' in pue"),
        ("t4,10,USD,soon\n", ":2:11: 'soon' is no date"),
        ("t4,10,USD,,31.12.2026\n", ":2:12: '31.12.2026' is no date; write 2026-11-16, 2026-11"),
        ("t4,10,USD,,,,stolen\n", ":2:14: class 'stolen'; write list, quote, used, cloud or est"),
        ("dgx-h100 host,10,USD\n", ":2:1: 'dgx-h100 host' is no item with a price; write dgx-h100 "
         "or dgx-h100 hourly"),
        ("t4,1,USD\nt4,2,USD\n", ":3:1: t4 again, first on line 2; keep one of them"),
        ("t4,1,2,3,4,5,6,7,8,9\n", ":2:1: 10 values where the header has 7 columns"),
        ("currencies euro,1.08 USD\n", "'euro' is no code of a currency; write EUR, GBP, JPY"),
        ('t4,10,USD\n"a10,11,USD\n', ":3:1: not CSV: unexpected end of data"),
        ("extras spares,many\n", "'many' is not a quantity; write 10 %, 8 %/year, 25 kUSD"),
        ("", ": holds no price; begin it with item,price,currency,date, and add a row for each"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_table_is_one_line(tmp_path: Path, rows: str, message: str) -> None:
    (line,) = told(table(tmp_path, rows))
    assert message in line


@pytest.mark.parametrize(
    ("header", "row", "message"),
    [
        ("item,price,includes", "host,9 kUSD,card", ":2:13: unknown key 'includes' in host; use"),
        ("item,price,includes", "dgx-h100,9 kUSD,card", ":2:17: 'includes' does not apply to dgx"),
        ("item,price,term", "t4,9 kUSD,spot", ":2:11: term 'spot'; drop it: term is of rents"),
        ("item,price,term", "t4 hourly,9 USD/hour,soon", ":2:22: term 'soon'; write on-demand, 1-"),
        ("item,price", "t4 hourly,9 USD/hour\nt4 hourly,8 USD/hour", ":3:11: a second price on-"),
        ("item,cost", "t4,9", ":1:6: unknown column 'cost'; columns are item, price, currency"),
        ("item,price,price", "t4,9,9", ":1:12: a second column 'price'"),
        ("", "", ": is empty; write a header"),
    ],
)
def test_a_mistake_in_other_columns_is_one_line(
    tmp_path: Path, header: str, row: str, message: str
) -> None:
    (line,) = told(table(tmp_path, f"{row}\n", f"{header}\n"))
    assert message in line


def test_all_that_is_wrong_in_a_table_is_told_at_once(tmp_path: Path) -> None:
    header = "item,price,date,currency,class\n"
    rows = (
        "hh100,abc,2026-13-01,EUR,foo\n"  # what is it, and everything else but the price
        "t4,,never,,\n"
        "currencies GBP,x,\n"
        "25gbe nic,9.000 USD,2026-13-16,,\n"
        "a10,12.50,,,\n"
        "l40s,xx,,EUR,\n"
        "25gbe cable,2.50 USD,,,used\n"
        "h100-sxm,xx USD,,,\n"  # of one accelerator several
        "h100-sxm hourly,3 USD,,,\n"
        "h100-sxm hourly,4 USD,,,\n"
        "h100-sxm sold_in,0.5,,,\n"
        "extras support,many,,,\n"
        "extras spares,some,,,\n"
    )
    lines = told(table(tmp_path, rows, header))
    places = [line.split(" ")[0] for line in lines]
    assert places == [":2:1:", ":2:11:", ":2:26:", ":3:1:", ":3:5:", ":4:16:", ":5:21:",
                      ":6:5:", ":7:6:", ":7:6:", ":9:10:", ":10:17:", ":11:17:", ":12:18:",
                      ":13:16:", ":14:15:"]  # fmt: skip
