"""Price lists as tables, in other currencies, with discounts, one over the other."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from dse.catalog import default_prices, read_prices
from dse.catalog.price_terms import CLOUD, QUOTE, RENTAL_TERMS, USED
from dse.currencies import Rate
from dse.errors import StudyError
from dse.study.rental import TERMS

HEADER = "item,price,currency,date,valid_until,quote,discount,class,rate\n"


def table(tmp_path: Path, rows: str, header: str = HEADER, name: str = "vendor.csv") -> Path:
    path = tmp_path / name
    path.write_text(header + rows)
    return path


def test_a_table_has_what_a_list_in_yaml_has(tmp_path: Path) -> None:
    rows = (
        "# accelerators, then the rest\n\n"
        "h100-sxm,26000,USD,2026-10-02,2026-11-30,Q-17,10 %,,\n"
        "h100-sxm hourly,2.1,USD,,,,,cloud,\n"
        "h100-sxm host,31000,USD,2026-10-03,2026-12-31,Q-18,,,\n"
        'dgx-h100,"290,000",USD,,,,,,\n'
        "25gbe nic,90 USD,,,,,,,\n"
        "25gbe switch port,80,USD,,,,,used,\n"
        "host,9 kUSD,,,,,,,\n"
        "pue,1.2,,,,,,,\n"
        "accelerators h100-sxm sold_in,8,,,,,,,\n"
        "accelerators h100-sxm boards 8,HGX H100 8-GPU,,,,,,,\n"
        "extras spares,10 %,,,,,,,\n"
        "as_of,2026-11-20,,,,,,,\n"
    )
    prices = read_prices(table(tmp_path, rows))
    own = prices.accelerator_usd["h100-sxm"]
    assert (own.value, own.date, own.source) == (23_400, "2026-10-02", "vendor.csv")
    assert own.offer is not None
    assert (own.offer.before_discount, own.offer.discount) == (26_000, 0.1)
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
    host = prices.host_of("h100-sxm")
    assert (host.value, host.date, host.offer and host.offer.quote) == (
        31_000,
        "2026-10-03",
        "Q-18",
    )
    assert prices.host_of("a100-sxm4-80gb") is prices.host_usd, "others have the common price"
    assert prices.sold_in["h100-sxm"].value == 8
    assert {many: fact.text for many, fact in prices.boards["h100-sxm"].items()} == {
        8: "HGX H100 8-GPU"
    }
    assert prices.extras["spares"].fact.value == 0.1
    assert (prices.as_of, prices.stated) == (datetime.date(2026, 11, 20), True)


def test_a_row_says_what_its_price_includes(tmp_path: Path) -> None:
    header = "item,price,quote,includes\n"
    prices = read_prices(table(tmp_path, "h200-sxm,31800 USD,Q-1,card\nt4,2 kUSD,,\n", header))
    assert prices.includes["h200-sxm"] == "card"
    both = "h200-sxm,31800 USD,Q-1,node-share\nb200-sxm,40 kUSD,Q-1,card\nt4,2 kUSD,,node-share\n"
    prices = read_prices(table(tmp_path, both, header))
    assert [prices.includes[name] for name in ("h200-sxm", "b200-sxm", "t4")] == [
        "node-share", "card", "node-share",
    ]  # fmt: skip
    assert not prices.unsaid


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            "host,9 kUSD,card",
            "vendor.csv:2:13: 'includes' does not apply to host; it belongs to an",
        ),
        ("pue,1.2,card", "vendor.csv:2:9: 'includes' does not apply to pue"),
        ("extras support,6 %,card", "'includes' does not apply to extras.support"),
        ("dgx-h100,290 kUSD,card", "'includes' does not apply to dgx-h100, which is sold whole"),
        ("h200-sxm hourly,3 USD/hour,card", "'includes' does not apply to accelerators.h200-sxm."),
        (
            "h200-sxm,31 kUSD,servers",
            "vendor.csv:2:18: includes 'servers'; write card or node-share",
        ),
        (
            "h200-sxm,31 kUSD,card\nh200-sxm includes,node-share,",
            "includes 'card', and 'node-share'",
        ),
    ],
)
def test_what_a_price_includes_is_said_of_accelerators_to_buy(
    tmp_path: Path, row: str, message: str
) -> None:
    with pytest.raises(StudyError) as caught:
        read_prices(table(tmp_path, f"{row}\n", "item,price,includes\n"))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            "h100-sxm hourly,2.60 USD/month,",
            "vendor.csv:2:17: '2.60 USD/month' is a rent by the month, and rents are by the hour; "
            "write 0.00356 USD/hour if a month is meant as 730 hours",
        ),
        (
            "h100-sxm hourly,1900/month,EUR",
            "'1900 EUR/month' is a rent by the month, and rents are",
        ),
        ("h100-sxm hourly,1900 EUR per month,", "write 2.6 EUR/hour if a month is meant as 730"),
        ("dgx-h100 hourly,2 kUSD a month,", "write 0.00274 kUSD/hour if a month"),
        (
            "h100-sxm hourly,2.60 USD/fortnight,",
            "'2.60 USD/fortnight' has a unit that is not known",
        ),
        ("h100-sxm hourly,2.60 USX/hour,", "USX"),
    ],
)
def test_a_rent_by_another_time_is_told_as_one_by_the_hour(
    tmp_path: Path, row: str, message: str
) -> None:
    rates = "currencies EUR,1.08 USD,\n"
    header = "item,price,currency\n"
    with pytest.raises(StudyError) as caught:
        read_prices(table(tmp_path, f"{row}\n{rates}", header))
    assert message in str(caught.value)
    # What it advises is read.
    for good in ("h100-sxm hourly,2.6 EUR/hour,", "h100-sxm hourly,2.6/hour,EUR"):
        prices = read_prices(table(tmp_path, f"{good}\n{rates}", header))
        assert prices.accelerator_hourly_usd["h100-sxm"].value == pytest.approx(2.808)


def test_items_are_named_as_on_a_quotation(tmp_path: Path) -> None:
    rows = "NVIDIA H200,31000,USD\nH100 SXM hourly,2.5,USD\nInfiniBand NDR switch port,700,USD\n"
    prices = read_prices(table(tmp_path, rows, "item,price,currency\n"))
    assert prices.accelerator_usd["h200-sxm"].value == 31_000
    assert prices.accelerator_hourly_usd["h100-sxm"].value == 2.5
    assert prices.fabric_usd["ib-ndr"]["switch_port"].value == 700
    unclear = table(tmp_path, "NVIDIA H100,24500,USD\n", "item,price,currency\n")
    with pytest.raises(StudyError, match=r"'NVIDIA H100' is no .*; did you mean .*h100-"):
        read_prices(unclear)


def test_items_may_be_named_as_bills_print_them(tmp_path: Path) -> None:
    rows = (
        "NVIDIA H100 SXM5 80 GB,26000,USD,,,,,,\n"
        "NVIDIA H100 SXM5 80 GB host,31000,USD,,,,,,\n"
        "nvidia dgx b200,400000,USD,,,,,,\n"
        "InfiniBand NDR switch port,900,USD,,,,,,\n"
    )
    prices = read_prices(table(tmp_path, rows))
    assert prices.accelerator_usd["h100-sxm"].value == 26_000
    assert prices.host_of("h100-sxm").value == 31_000
    assert prices.node_usd["dgx-b200"].value == 400_000
    assert prices.fabric_usd["ib-ndr"]["switch_port"].value == 900


@pytest.mark.parametrize("mark", [";", "\t"])
def test_spreadsheets_part_cells_in_other_ways(tmp_path: Path, mark: str) -> None:
    text = HEADER.replace(",", mark)
    path = table(tmp_path, f"t4{mark}900{mark}USD\r\n", text.replace("\n", "\r\n"))
    assert read_prices(path).accelerator_usd["t4"].value == 900


def test_spreadsheets_with_decimal_commas(tmp_path: Path) -> None:
    rows = "t4;8000,50;EUR;1,08;2,5 %\nhost;9.000;USD;;\na10;1.234.567;USD;;\n"
    prices = read_prices(table(tmp_path, rows, "item;price;currency;rate;discount\n"))
    assert prices.accelerator_usd["t4"].value == pytest.approx(8000.5 * 1.08 * 0.975, abs=0.005)
    assert prices.host_usd.value == 9000
    assert prices.accelerator_usd["a10"].value == 1_234_567


def test_a_point_and_a_comma_in_one_table(tmp_path: Path) -> None:
    """Each is read as far as it tells; what does not tell is asked for."""
    header = "item;price;currency\n"
    prices = read_prices(table(tmp_path, "t4;8000,50;USD\nhost;99.5;USD\n", header))
    assert (prices.accelerator_usd["t4"].value, prices.host_usd.value) == (8000.5, 99.5)
    for rows in ("t4;8.000;USD\n", "t4;8,000;USD\n", "host;99.5;USD\na10;9,5;USD\nt4;8.000;USD\n"):
        with pytest.raises(
            StudyError, match=r":4: '8[.,]000' may be 8000 or 8.000; write 8000, or"
        ):
            read_prices(table(tmp_path, rows, header))


def test_three_decimals_of_a_price_are_asked_about_unless_another_price_has_a_point(
    tmp_path: Path,
) -> None:
    """A rate, which always has decimals, does not tell how prices are written."""
    header = "item,price,currency,rate\n"
    with pytest.raises(StudyError, match=r":3:10: '395.000' may be 395000 or 395.000; write 3950"):
        read_prices(table(tmp_path, "t4,900,EUR,1.08\ndgx-b200,395.000,EUR,1.08\n", header))
    told = read_prices(table(tmp_path, "t4,900.5,EUR,1.08\ndgx-b200,395.000,EUR,1.08\n", header))
    assert told.node_usd["dgx-b200"].value == pytest.approx(395 * 1.08)
    parted = read_prices(table(tmp_path, 't4,900,EUR,1.08\ndgx-b200,"395,000",EUR,1.08\n', header))
    assert parted.node_usd["dgx-b200"].value == pytest.approx(395_000 * 1.08)


def test_a_quoted_decimal_comma_between_commas(tmp_path: Path) -> None:
    prices = read_prices(table(tmp_path, 't4,"8000,5",USD\nhost,"9,000.5",USD\n'))
    assert (prices.accelerator_usd["t4"].value, prices.host_usd.value) == (8000.5, 9000.5)


def test_other_currencies_count_at_the_stated_rate(tmp_path: Path) -> None:
    rates = tmp_path / "rates.yaml"
    rates.write_text("currencies: {EUR: 1.08 USD, JPY: 0.0065 USD}\n")
    rows = (
        "t4,900,EUR,,,,,,\n"
        "a10,450000,JPY,,,,,,\n"
        "l40s,7 kEUR,,,,,,,\n"
        "h100-sxm hourly,2,EUR,,,,,,\n"
        "electricity,0.2,EUR,,,,,,\n"
        "h100-pcie,20000,GBP,,,,5 %,,1.25\n"
    )
    prices = read_prices(rates, table(tmp_path, rows))
    bought = {name: fact.value for name, fact in prices.accelerator_usd.items()}
    assert bought["t4"] == 972
    assert bought["a10"] == 2_925
    assert bought["l40s"] == 7_560
    assert bought["h100-pcie"] == pytest.approx(20_000 * 1.25 * 0.95, abs=0.005)
    assert prices.accelerator_hourly_usd["h100-sxm"].value == 2.16
    assert prices.electricity_usd_per_kwh.value == pytest.approx(0.216)
    offer = prices.accelerator_usd["t4"].offer
    assert offer is not None
    assert offer.converted == "EUR at USD 1.08"


def test_a_rate_has_the_day_that_is_said_of_it_else_that_of_its_list(tmp_path: Path) -> None:
    """A rate in a row is of the day of the row; of a list for today nobody says the day."""

    def rates(text: str, rows: str = "t4,900,EUR,,,,,,\n") -> tuple[str, dict[str, Rate]]:
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
    assert rates("pue: 1.3\n", "t4,900,EUR,2026-11-05,,,,,1.1\n") == (
        "EUR at USD 1.1 of 2026-11-05", {}
    )  # fmt: skip
    row = "currencies EUR,1.08 USD,,2026-11-03,,,,,\nt4,900,EUR,,,,,,\n"
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


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("h100-sxm,20000,USD,1-year\n", ":2:20: term is of rents; drop it, or give the rent"),
        ("h100-sxm hourly,2,USD,monthly\n", ":2:23: term 'monthly'; write on-demand, 1-year, 3-"),
        ("h100-sxm hourly,2,USD,spot\nh100-sxm hourly,3,USD,spot\n",
         ":3:17: a second price spot; keep one for each term"),
        ("h100-sxm hourly,2,USD,\nh100-sxm hourly,3,USD,on-demand\n",
         ":3:17: a second price on-demand"),
    ],
)  # fmt: skip
def test_what_is_no_term_of_a_rent_is_told_in_one_line(
    tmp_path: Path, rows: str, said: str
) -> None:
    with pytest.raises(StudyError) as caught:
        read_prices(table(tmp_path, rows, "item,price,currency,term\n"))
    (line,) = str(caught.value).splitlines()
    assert said in line


def test_a_price_is_one_of_whole_cents(tmp_path: Path) -> None:
    prices = read_prices(table(tmp_path, "t4,999.99,EUR,,,,33 %,,1.0837\n"))
    assert prices.accelerator_usd["t4"].value == 726.07  # 33 % off 1,083.69


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


def test_terms_of_an_offer_in_yaml(tmp_path: Path) -> None:
    path = tmp_path / "offer.yaml"
    path.write_text(
        "currencies: {EUR: 1.1 USD}\n"
        "accelerators:\n"
        "  t4: {purchase: {value: 1 kEUR, discount: 12.5 %, quote: Q-9, valid_until: 2026-12}}\n"
    )
    fact = read_prices(path).accelerator_usd["t4"]
    assert fact.value == 962.5
    assert fact.offer is not None
    assert fact.offer.valid_until == datetime.date(2026, 12, 31)
    assert not fact.offer.expired(datetime.date(2026, 12, 31))
    assert fact.offer.expired(datetime.date(2027, 1, 1))


def test_offers_must_be_valid_today_unless_a_list_says_when(tmp_path: Path) -> None:
    silent = read_prices(table(tmp_path, "t4,900,USD\n"))
    assert silent.valid_on >= datetime.date(2026, 11, 16)
    assert silent.as_of == default_prices().as_of, "ages do not hang on the day of the run"
    said = read_prices(table(tmp_path, "t4,900,USD\nas_of,2020-05-04\n"))
    assert said.valid_on == said.as_of == datetime.date(2020, 5, 4)
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
        ("t4,1,UDS\n", "no rate of the currency UDS is given; did you mean USD?"),
        ("t4,,USD\n", ":2:1: t4 has no price; write one, or unknown"),
        ("t4,1e12,USD\n", ":2:4: 1e12 USD is absurd for one; write the price of one item"),
        ("t4,10,\n", ":2:4: 10 has no unit; write for example 2 MUSD or 35000 USD"),
        ("t4,$28000,\n", ":2:4: '$28000' is not a quantity; write 28000 USD"),
        ("t4,$28000,USD\n", ":2:4: '$28000' beside the currency USD; write 28000"),
        ("t4,28k,USD\n", ":2:4: '28k' beside the currency USD; write 28000"),
        ("t4,28000 €,USD\n", "beside the currency USD; write the number alone, and EUR if that"),
        ("pue,0.9,\n", ":2:5: pue 0.9 is too small: it must be at least 1; PUE is"),
        ("pue,1.2,USD\n", ":2:5: unknown key 'currency' in pue"),
        ("t4,10,USD,,,,100 %\n", ":2:14: a discount of 100 % is not between 0 and 100 %"),
        ("t4,10,USD,,,,5\n", ":2:14: a discount of 5 is 500 %; write 5 %"),
        ("t4,10,USD,,,,-5 %\n", "a discount of -5 % is not between 0 and 100 %"),
        ("t4,10,USD,,,,some\n", "discount 'some' is not a quantity; write for example 10 %"),
        ("t4,10,USD,soon\n", ":2:11: 'soon' is no date"),
        ("t4,10,USD,,31.12.2026\n", ":2:12: '31.12.2026' is no date"),
        ("t4,10,USD,,,,,stolen\n", "class 'stolen'; write list, quote, used, cloud or estimate"),
        ("t4,10,EUR,,,,,,-1\n", "rate -1 is not positive"),
        ("dgx-h100 host,10,USD\n", ":2:1: 'dgx-h100 host' is nothing that has a price of its own: "
         "NVIDIA DGX H100 is sold with its host; write dgx-h100 for the whole machine, or "
         "'h100-sxm host' for the host of NVIDIA H100 SXM5 80 GB bought apart"),
        ("NVIDIA DGX H100 rent,10,USD\n", "'NVIDIA DGX H100 rent' is nothing that has a price of "
         "its own; write dgx-h100 or dgx-h100 hourly"),
        ("h100-sxm cable,10,USD\n", "write h100-sxm, h100-sxm hourly, h100-sxm used"),
        ("25gbe,10,USD\n", "'25gbe' is no part that is sold; write 25gbe nic, 25gbe switch_port"),
        ("t4,1,USD\nt4,2,USD\n", ":3:1: t4 again, first on line 2; keep one of them"),
        ("t4,1,2,3,4,5,6,7,8,9\n", "10 cells, but 9 columns; put a value with a comma in quotes"),
        ("currencies euro,1.08 USD\n", "'euro' is no code of a currency; write EUR, GBP, JPY"),
        ('t4,"10,USD\na10,11,USD\n', ":2:4: this quote is not closed on its line; close it, or "
         "leave it out"),
        ('t4,10,"USD\na10,"11",USD\n', ":2:7: this quote is not closed on its line"),
        ('t4,10,USD\n"a10,11,USD\n', ":3:1: this quote is not closed on its line"),
        ('"t4"x,10,USD\n', ":2:1: not CSV"),
        ("extras spares,many\n", "'many' is not a quantity; write 10 %, 8 %/year, 25 kUSD"),
        ("extras spares,-10 %\n", "-10 % is negative"),
        ("accelerators t4 sold_until,soon\n", "sold_until 'soon'; write 2022, 2022-03"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_table_is_one_line(tmp_path: Path, rows: str, message: str) -> None:
    with pytest.raises(StudyError) as caught:
        read_prices(table(tmp_path, rows))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'vendor.csv'}:")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("item,cost\n", ":1:6: unknown column 'cost', and no price; columns are item, price"),
        ("item,price,prise\n", "unknown column 'prise'; did you mean price?"),
        ("item,price,price\n", "column price twice; keep one"),
        ("item,currency\n", "no column price; begin with item,price"),
        ("\n", "the file is empty; begin it with item,price"),
    ],
)
def test_a_mistake_in_the_header_is_one_line(tmp_path: Path, header: str, message: str) -> None:
    with pytest.raises(StudyError) as caught:
        read_prices(table(tmp_path, "", header))
    assert message in str(caught.value)


def test_what_is_no_text_is_told(tmp_path: Path) -> None:
    path = tmp_path / "vendor.csv"
    path.write_bytes(b"item,price\nh\xf6st,1\n")
    with pytest.raises(StudyError, match=r"vendor\.csv:2:2: not UTF-8 text; save it as CSV"):
        read_prices(path)
    with pytest.raises(StudyError, match=r"none\.csv: cannot be read: No such file"):
        read_prices(tmp_path / "none.csv")


def test_all_that_is_wrong_in_a_table_is_told_at_once(tmp_path: Path) -> None:
    header = "item,price,date,rate,currency,valid until\n"
    rows = (
        "t4,245000,16/11/2026,x,EUR,31.12.2026\n"
        "25gbe nic,xx,2026-11-16,1.08,EUR,2026-12-31\n"
        "25gbe cable,80,2026-13-16,1.08,EUR,2026-12-31\n"
    )
    with pytest.raises(StudyError) as caught:
        read_prices(table(tmp_path, rows, header))
    told = [str(one).partition(".csv:")[2] for one in caught.value.mistakes]
    assert told[0] == "2:11: '16/11/2026' is no date; write 2026-11-16"
    assert told[1].startswith("2:22: rate 'x' is not a quantity")
    assert told[2] == "2:28: '31.12.2026' is no date; write 2026-12-31"
    assert told[3].startswith("3:11: 'xx EUR' is not a quantity")
    assert told[4].startswith("4:16: '2026-13-16' is no date; write 2026-11-16, 2026-11 or 2026")
    assert len(told) == 5


def test_no_mistake_of_a_row_hides_another(tmp_path: Path) -> None:
    header = "item,price,date,currency,class,discount\n"
    rows = (
        "hh100,abc,2026-13-01,EUR,foo,900 %\n"  # what is it, and everything else
        "t4,,never,,,\n"
        "25gbe nic,9.000 USD,2026-13-16,,,\n"  # nine or nine thousand
        "a10,12.50,,,,\n"
        "25gbe cable,2.50 USD,,,used,\n"
    )
    with pytest.raises(StudyError) as caught:
        read_prices(table(tmp_path, rows, header))
    told = "\n".join(str(one).partition(".csv:")[2] for one in caught.value.mistakes)
    for said in (
        "2:1: 'hh100' is no accelerator", "2:7: 'abc EUR': no rate of the currency EUR",
        "2:7: 'abc EUR' is not a quantity", "2:11: '2026-13-01' is no date", "2:26: class 'foo'",
        "2:30: a discount of 900 %", "3:1: t4 has no price", "3:5: 'never' is no date",
        "4:21: '2026-13-16' is no date", "5:5: 12.50 has no unit",
    ):  # fmt: skip
        assert said in told


@pytest.mark.parametrize("euro", ["EUR", "€", "EURO", "Euro"])
def test_the_euro_is_known_as_people_write_it(tmp_path: Path, euro: str) -> None:
    prices = read_prices(table(tmp_path, f"t4,1000,{euro},1.1\n", "item,price,currency,rate\n"))
    assert prices.accelerator_usd["t4"].value == pytest.approx(1100)


def test_columns_of_another_table_are_named_together_as_they_are_written(tmp_path: Path) -> None:
    with pytest.raises(StudyError) as caught:
        read_prices(table(tmp_path, "t4,1000\n", "article,unit price\n"))
    assert "unknown columns 'article' and 'unit price', and no item and price" in str(caught.value)


def test_a_list_of_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="holds only a header"):
        read_prices(table(tmp_path, ""))
