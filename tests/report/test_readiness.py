"""Whether an answer is ready to be signed, and what to get first."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from dse.pricing.anchors import NOBODY
from dse.pricing.bill_of_materials import RACK, TIERS, UNSOLD, Item, Rent, Terms
from dse.pricing.load import load
from dse.report import answer, assembly, none_feasible, one_age, readiness, words
from dse.report.certainty import knowledge
from dse.report.certainty.facts import (
    Certainty,
    Choice,
    Deciding,
    Knowledge,
    KnownPrice,
    PriceFlip,
    SeenPrice,
    Turn,
)
from dse.report.certainty.purchases import named
from dse.report.design_point import Change, Point, Run, WaterfallStep, WithoutBuying
from dse.report.document import (
    Choices,
    Confidence,
    NoneFeasible,
    OneAge,
    PriceDays,
    Readiness,
    RunDocument,
)
from dse.report.json_form import parsed, plain
from dse.report.markdown import render_markdown
from dse.report.page import render_page
from dse.report.signature import signature
from dse.search.run import run
from tests.pricing import studies
from tests.report.documents import document

OTHER = {"accelerator": "v100-sxm2-16gb", "gpus": "8"}
LISTED = KnownPrice(usd=12_500.0, bounds=(0.5, 2.0), own=False, date="2022-07-01", age_years=4.4)
OWN = KnownPrice(usd=12_500.0, own=True, date="2026-11-01", age_years=0.1)
A100 = PriceFlip(part="a100-sxm4-40gb", title="the price of NVIDIA A100 SXM4 40 GB", share=0.8,
                 known=OWN)  # fmt: skip
ITEM = Item(item="NVIDIA A100 SXM4 40 GB", quantity=8, unit_usd=12_500.0, usd=1e5,
            price_class="quote", price_date="2026-11-01", age_years=0.1, checked=True,
            source="vendor.csv")  # fmt: skip


def made(bill: tuple[Item, ...] = (ITEM,), **changed: Any) -> RunDocument:
    """A document of which nothing keeps from being signed but what is changed: of its certainty,
    else of itself."""
    run = document()
    run = replace(run, recommended=replace(run.recommended, evidence="inside"))
    own = Choice(role="recommended", config=run.recommended.config, gain=1.0, cost=1.0,
                 on_front=1.0, best=1.0, met={"capital <= 2 MUSD": 1.0}, meets_all=1.0,
                 regret=0.0)  # fmt: skip
    sure: dict[str, Any] = {
        "draws": 1000, "points": 3, "purchases": 2, "whole": True, "rule": "cheapest",
        "word": "measured", "why": "", "raised_by": "", "choices": (own,), "flips": (A100,),
    }  # fmt: skip
    sure |= {name: changed.pop(name) for name in tuple(changed) if name in sure or name in
             ("knowledge",)}  # fmt: skip
    bills = {"recommended": bill, **changed.pop("bills", {})}
    run = replace(run, certainty=Certainty(**sure), bills=bills, prices=(), **changed)
    return replace(run, readiness=readiness.readiness(run))


def reasons(run: RunDocument) -> list[str]:
    assert run.readiness is not None
    return [reason.kind for reason in run.readiness.reasons]


def test_own_valid_offers_and_nothing_uncertain_are_ready() -> None:
    run = made()
    assert run.readiness == Readiness(ready=True)
    (line,) = readiness.lines(run)
    assert line.startswith("Ready to sign: every limit is met, no large price is")
    assert line in answer.answer(run)
    assert "Ready to sign" in render_page(run)
    assert json.loads(json.dumps(plain(run)))["readiness"] == {"ready": True, "reasons": []}
    assert parsed(RunDocument, plain(run)) == run


def test_without_draws_nobody_knows() -> None:
    older = replace(document(), certainty=None)
    assert readiness.readiness(older) is None
    assert readiness.lines(older) == []
    assert "eady to sign" not in "".join(answer.answer(older))
    assert 'class="readiness' not in render_page(older)


def test_a_price_that_changes_the_answer_within_its_interval_asks_for_a_quote() -> None:
    seen = SeenPrice(usd=24_875.0, date="2020-05-21", source="epoch-prices", detail="DGX A100 / 8")
    flip = replace(A100, known=LISTED, rise=Turn(factor=1.12, config=OTHER), seen=(seen,))
    (line,) = readiness.actions(made(flips=(flip,)))
    assert line == (
        "Get a quote for NVIDIA A100 SXM4 40 GB (80 % of the cost): the catalogue's USD 12,500 is "
        "4.4 years old, and offers may be USD 6,250 to USD 25,000; above USD 14,000 the answer is "
        "8 x NVIDIA Tesla V100 SXM2 16 GB; the catalogue also has USD 24,875 of 2020-05-21 (DGX "
        "A100 / 8, epoch-prices)."
    )
    own = replace(flip, known=replace(OWN, bounds=(1.0, 1.0)))
    assert reasons(made(flips=(own,))) == []
    beyond = replace(flip, share=0.1, rise=Turn(factor=2.1, config=OTHER))
    assert reasons(made(flips=(beyond,))) == [], "that is beyond what sellers may ask"
    nothing = replace(flip, rise=Turn(factor=1.12), seen=())
    assert "above USD 14,000 nothing meets" in readiness.actions(made(flips=(nothing,)))[0]
    several = replace(flip, known=replace(LISTED, usd=None), seen=())
    line = readiness.actions(made(flips=(several,)))[0]
    assert "offers may be 50 % lower to 100 % higher; at prices 12 % higher the answer is 8" in line
    rival = replace(several, share=0.0, rise=None, fall=Turn(factor=0.82, config=OTHER))
    line = readiness.actions(made(flips=(rival,)))[0]
    assert "(the answer at prices 18 % lower)" in line
    falls = replace(flip, rise=None, fall=Turn(factor=0.6, config=OTHER), seen=())
    assert "below USD 7,500 the answer is 8 x" in readiness.actions(made(flips=(falls,)))[0]


def test_a_quote_is_asked_for_what_is_ordered() -> None:
    """Modules are sold on boards; also of what must be found, or offered again."""
    board = "NVIDIA A100 SXM4 40 GB on one HGX A100 8-GPU baseboard"
    item = replace(ITEM, boards="one HGX A100 8-GPU baseboard")
    flip = replace(A100, known=LISTED, rise=Turn(factor=1.12, config=OTHER))
    (quote,) = readiness.actions(made((item,), flips=(flip,)))
    assert quote.startswith(f"Get a quote for {board} (80 % of the cost): ")
    host = replace(flip, part="host")
    (quote,) = readiness.actions(made((item,), flips=(host,)))
    assert quote.startswith("Get a quote for the hosts (")
    past = replace(item, terms=Terms(quote="Q-1", valid_until="2026-11-19", expired=True))
    gone = replace(past, item=f"{ITEM.item}, sold in units of 4", obstacle=UNSOLD, remark="gone")
    offer, seller = readiness.actions(made((gone,)))
    assert offer.startswith(f"Get a new offer for {board}: ")
    assert seller.startswith(f"Find a seller of {board} and get an offer: ")


def test_a_turn_to_the_same_choice_changes_no_answer() -> None:
    twin = next(one for one in document().front if one.config != document().recommended.config)
    flip = replace(A100, share=0.1, known=LISTED, rise=Turn(factor=1.1, config=twin.config))
    run = made(flips=(flip,))
    assert reasons(replace(run, choices=None)) == ["price"]
    alike = replace(run, choices=Choices(resolution=1e9, rows=()))
    assert readiness.readiness(alike) == Readiness(ready=True)


def test_prices_of_rivals_that_change_the_answer_are_asked_for_together() -> None:
    names = ("h100-sxm", "a100-sxm4-80gb", "l40s", "a10")
    flips = tuple(
        replace(A100, part=name, title=name, share=0.0, known=LISTED,
                fall=Turn(factor=0.9, config=OTHER))
        for name in names
    )  # fmt: skip
    worth = Knowledge(name="price: l40s", title="", worth=0.2, how="a quote")
    run = made(flips=(A100, *flips), knowledge=(worth,))
    (line,) = readiness.actions(run)
    assert line.startswith("Get quotes for NVIDIA L40S 48 GB (the answer below USD 11,200), ")
    assert line.endswith("and 1 more: within what sellers may ask, another purchase is the answer.")


def test_one_quote_is_asked_for_once() -> None:
    """Whether it is called by the line of the bill, by its draws or by the part that turns."""
    switch = replace(ITEM, item="Switch of 64 ports, 10 Gbps Ethernet", price_class="list",
                     price_date="", age_years=None, checked=False, source="recalled")  # fmt: skip
    network = replace(A100, part="network 10gbe", share=0.5, known=replace(LISTED, usd=None),
                      rise=Turn(factor=1.3, config=OTHER))  # fmt: skip
    port = Knowledge(name="price: switch_port of 10gbe", title="the price of the network",
                     worth=0.05, how="a quote for the network")  # fmt: skip
    (line,) = readiness.actions(made((switch,), flips=(network,), knowledge=(port,)))
    assert line.startswith("Get a quote for the network (10 Gbps Ethernet) (50 % of the cost)")
    past = Terms(quote="Q-2", valid_until="2026-11-19", expired=True)
    for name, part in (("Host for accelerators", "host"),
                       ("Host for NVIDIA A100 SXM4 40 GB", "host of a100-sxm4-40gb")):  # fmt: skip
        host = replace(switch, item=name)
        flip = replace(network, part=part, known=LISTED)
        assert reasons(made((host,), flips=(flip,))) == ["price"]
        lapsed = replace(flip, known=replace(OWN, bounds=(0.7, 1.4), expired=True))
        (line,) = readiness.actions(made((replace(ITEM, item=name, terms=past),), flips=(lapsed,)))
        assert line.startswith(f"Get a new offer for {name}: quotation Q-2")
        assert "above USD 16,200 the answer is 8 x" in line


def test_what_least_regret_recommends_asks_for_what_is_worth_knowing() -> None:
    """At which price its answer turns is not known."""
    mine = Knowledge(name="price: a100-sxm4-40gb", title="", worth=0.05, how="a quote")
    theirs = Knowledge(name="price: h100-sxm", title="", worth=0.06, how="a quote")
    little = Knowledge(name="price: a10", title="", worth=0.006, how="a quote")
    flip = replace(A100, known=LISTED, compared=False)
    own, rival = readiness.actions(made(flips=(flip,), knowledge=(mine, theirs, little)))
    assert own.endswith("to know it before deciding is worth 5 % of the cost.")
    assert rival.startswith("Get a quote for NVIDIA H100 SXM5 80 GB (worth 6 % of the cost")


def test_what_was_never_measured_and_decides_is_asked_for() -> None:
    ring = Knowledge(name="communication: ring, outside", title="communication by ring", worth=0.1,
                     how="half an hour of nccl-tests on two such nodes")  # fmt: skip
    (line,) = readiness.actions(made(knowledge=(ring,)))
    assert line == (
        "Get half an hour of nccl-tests on two such nodes: to know communication by ring before "
        "deciding is worth 10 % of the cost, on average."
    )
    assert reasons(made(knowledge=(replace(ring, worth=0.009),))) == []
    assert len(readiness.actions(made(knowledge=(ring, replace(ring, name="rate: a, b"))))) == 1


def test_a_rate_to_measure_tells_from_which_on_the_answer_is_another() -> None:
    rate = Knowledge(
        name="rate: a100-sxm4-40gb, fp16, vendor", title="the rate", worth=0.1, how="one rate",
        deciding=Deciding(
            accelerator="a100-sxm4-40gb", precision="fp16", batch=128.0, optimizer="adam",
            samples_per_s=900.0, lower=Turn(factor=0.9, likely=0.2),
            higher=Turn(factor=1.1, config=OTHER, likely=0.3),
        ),
    )  # fmt: skip
    run = made(knowledge=(rate,))
    (line,) = readiness.actions(run)
    assert line == (
        "Get one rate: to know the rate before deciding is worth 10 % of the cost, on average; "
        "estimated are 900 samples/s on one NVIDIA A100 SXM4 40 GB at batch 128 in fp16 with adam; "
        f"from 990 up (30 % probability) the answer is another, first {named(run, OTHER)}; from "
        "810 down (20 % probability) nothing meets the constraints."
    )
    assert any(text.endswith("nothing meets the constraints.") for text in knowledge.lines(run))


def test_what_cannot_be_ordered_so_comes_first() -> None:
    past = Terms(quote="Q-1", valid_until="2026-11-19", expired=True)
    items = (
        replace(ITEM, item="Switch", obstacle=TIERS, remark="three tiers join 100 cards, not 200"),
        replace(ITEM, item="Rack", obstacle=RACK,
                remark="a node draws 13 kW, more than such a rack feeds (rack_power)"),
        replace(ITEM, item="NVIDIA Tesla P100", obstacle=UNSOLD, remark="no longer sold new"),
        replace(ITEM, item="Host", terms=past), replace(ITEM, item="Cable", terms=past),
    )  # fmt: skip
    flip = replace(A100, known=LISTED, rise=Turn(factor=1.12, config=OTHER))
    run = made(items, flips=(flip,))
    assert reasons(run) == ["expired offer", "not sold", "tiers", "rack", "price"]
    first, second, third, *_ = readiness.actions(run)
    assert first == (
        "Get a new offer for Host and Cable: quotation Q-1 (vendor.csv) was valid until 2026-11-19."
    )
    assert second.startswith("Find a seller of NVIDIA Tesla P100 and get an offer: it is no longer")
    assert third.startswith("Get a design and an offer for so large a network: three tiers")
    rack, quote = readiness.actions(run)[3:]
    say = "Plan racks that feed such a node, and say what they supply: prices: {rack_power: 40 kW}"
    assert rack.startswith(f"{say}: ")
    assert quote.startswith("Get a quote for NVIDIA A100 SXM4 40 GB (80 % of the cost):")


def test_terminal_page_text_and_notes_tell_it_in_one_order() -> None:
    past = Terms(quote="Q-1", valid_until="2026-11-19", expired=True)
    gone = replace(ITEM, item="NVIDIA P100", obstacle=UNSOLD, remark="no longer sold new")
    idle = replace(ITEM, item="Board", idle=7)
    flip = replace(A100, known=LISTED, rise=Turn(factor=1.12, config=OTHER))
    run = made((gone, replace(ITEM, terms=past), idle), flips=(flip,))
    lines = answer.answer(run)
    at = lines.index("Not ready to sign. First:")
    assert lines[at + 1].startswith("  1. Get a new offer")
    assert lines[at + 4].startswith("  4. Fill the nodes, or find a seller of fewer Board: 7 of")
    assert not any(line.startswith("Note") for line in lines[:at])
    page, text = render_page(run), render_markdown(run)
    said = ("Get a new offer", "Find a seller", "Get a quote for", "Fill the nodes")
    for body in (text, page[page.index('class="readiness') :]):
        places = [body.index(one) for one in said]
        assert places == sorted(places)
    head, paper = page.split('class="sign"', 1)
    assert "Not ready to sign." in head
    assert paper.index("Not ready to sign.") < paper.index("<dt>Signature</dt>")


def test_an_expired_offer_counts_with_what_the_next_may_be() -> None:
    """And of a rival, where that changes the answer."""
    past = Terms(quote="Q-2", valid_until="2026-11-19", expired=True)
    theirs = replace(ITEM, item="NVIDIA H100", terms=past, source="b.csv")
    assert reasons(made(bills={"baseline": (theirs,)})) == [], "the baseline is not bought"
    lapsed = replace(OWN, bounds=(0.7, 1.4), expired=True)
    rival = replace(A100, part="h100-sxm", share=0.0, known=lapsed,
                    fall=Turn(factor=0.9, config=OTHER))  # fmt: skip
    assert reasons(made(flips=(rival,))) == ["rival prices"]
    assert reasons(made(flips=(replace(rival, fall=Turn(factor=0.6, config=OTHER)),))) == []
    mine = replace(A100, known=lapsed, rise=Turn(factor=1.12, config=OTHER))
    (line,) = readiness.actions(made((replace(ITEM, terms=past),), flips=(mine,)))
    assert line.startswith("Get a new offer for NVIDIA A100 SXM4 40 GB: quotation Q-2 (vendor.csv)")
    assert "offers may be USD 8,750 to USD 17,500; above USD 14,000 the answer is 8 x" in line
    board = replace(ITEM, terms=past, boards="one HGX A100 8-GPU baseboard")
    (line,) = readiness.actions(made((board,), flips=(mine,)))
    assert line.startswith("Get a new offer for NVIDIA A100 SXM4 40 GB on one HGX A100 8-GPU")
    assert "above USD 14,000 the answer is 8 x" in line


def test_what_is_ordered_for_nothing_has_its_price_asked_for(tmp_path: Path) -> None:
    """What stands there already costs nothing, and some parts may."""
    nothing = OFFERS.replace("3 kUSD", "0 USD").replace("9 kUSD", "0 USD")
    alone = studies.SMALL.replace("gpus: [1, 2, 3, 4, 8, 16]", "gpus: [4]")
    alone = alone.replace("gpus_per_node: [1, 4]", "gpus_per_node: [4]")
    found = built(studies.written(tmp_path, alone + nothing))
    assert found.recommended.quantity("capital") == 0
    assert reasons(found)[0] == "price of 0"
    device, host, *_ = found.bills["recommended"]
    assert (device.quantity, device.unit_usd, host.item) == (4, 0.0, "Host for accelerators")
    assert readiness.actions(found)[0] == (
        f"Give the price of {device.item} and Host for accelerators, or write what stands there "
        "already under owned: study.yaml says USD 0, so that this purchase seems to cost nothing."
    )
    name = found.recommended.config["accelerator"]
    ours = f"owned: {{accelerator: {name}, gpus: 4, gpus_per_node: 4}}\n"
    stands = built(studies.written(tmp_path, alone + OFFERS + ours, "ours.yaml"))
    assert "price of 0" not in reasons(stands)


def test_a_part_at_a_price_of_nothing_is_accepted() -> None:
    host = replace(ITEM, item="Host for accelerators", quantity=1, unit_usd=0.0, usd=0.0)
    found = made((ITEM, host))
    assert reasons(found) == []
    assert readiness.conditions(found) == ["Host for accelerators costs USD 0, as vendor.csv says"]
    site = replace(host, item="Rack", price_class="of the site", source="")
    assert readiness.conditions(made((ITEM, site))) == []
    rented = Rent(term="on-demand", hours=1.0)
    machine = replace(ITEM, unit_usd=0.0, usd=0.0, rent=rented)
    (line,) = readiness.actions(made((machine,)))
    assert line.startswith("Give the rent of NVIDIA A100 SXM4 40 GB: vendor.csv says USD 0")


def test_what_another_offer_gives_away_is_not_signed_for() -> None:
    """It may be in the price of that offer's machine."""
    card = replace(ITEM, item="Network card, InfiniBand NDR", unit_usd=0.0, usd=0.0,
                   source="north.csv", terms=Terms(quote="A-1"))  # fmt: skip
    found = made((ITEM, card))
    assert reasons(found) == ["price of 0"]
    assert readiness.actions(found) == [
        "Get the price of Network card, InfiniBand NDR with NVIDIA A100 SXM4 40 GB: USD 0 is the "
        "price of quotation A-1 (north.csv), which does not sell NVIDIA A100 SXM4 40 GB and may "
        "have it in the price of something else."
    ]
    machine = replace(ITEM, source="north.csv", terms=Terms(quote="A-1"))
    assert reasons(made((machine, card))) == [], "it is of the machine's own offer"


def test_a_bill_of_two_quotations_is_not_signed_for() -> None:
    """What a vendor asks for installation is for that vendor's machines."""
    ours = replace(ITEM, terms=Terms(quote="A-1"))
    board = replace(ITEM, item="NVIDIA B200", source="b.csv", terms=Terms(quote="B-2"))
    cable = replace(board, item="Cable, InfiniBand NDR")
    extra = replace(board, item="Installation", quantity=1, extra=True)
    with_rival = readiness.readiness(replace(made((ours, cable, extra)), prices=(ours, board)))
    assert with_rival is not None
    (reason,) = with_rival.reasons
    assert not with_rival.ready
    assert reason.action == (
        "Get Cable and Installation offered with NVIDIA A100 SXM4 40 GB, or ask whether they hold "
        "for that, too"
    )
    assert reason.because == (
        "this bill has them from quotation B-2 (b.csv), which sells NVIDIA B200; NVIDIA A100 SXM4 "
        "40 GB is of quotation A-1 (vendor.csv)"
    )
    alone = readiness.readiness(replace(made((ours, cable, extra)), prices=(ours,)))
    assert alone == Readiness(ready=True), "who sells no machines offers for any"


def test_own_prices_of_many_years_ago_are_no_offers(tmp_path: Path) -> None:
    """Unless they say that they are still valid; of no date they are the buyer's word."""
    old = OFFERS.replace("host: 9 kUSD", "host: {value: 9 kUSD, date: 2019-03-01%s}")
    found = built(studies.written(tmp_path, studies.SMALL + old % ""))
    assert reasons(found)[0] == "expired offer"
    assert readiness.actions(found)[0].startswith(
        "Get a new offer for Host for accelerators: the offer in study.yaml is of 2019-03-01, more "
        "than 2 years old without a last day"
    )
    (line,) = [line for line in answer.answer(found) if "Past their validity" in line]
    assert "host (study.yaml, of 2019-03-01, without a last day). Ask for new offers." in line
    assert "years old, too old to be an offer; study.yaml" in render_markdown(found)
    interval = found.recommended.interval
    assert interval is not None
    assert interval.costs["capital"][0] < interval.costs["capital"][1]
    held = built(studies.written(tmp_path, studies.SMALL + old % ", valid_until: 2099-12-31", "b"))
    assert "expired offer" not in reasons(held)


@pytest.mark.parametrize(("known", "share", "part", "found"), [
    (LISTED, 0.8, "host", ["doubtful sum"]),
    (LISTED, 0.1, "host", []),
    (replace(LISTED, checked=False), 0.3, "host", ["doubtful sum"]),
    (OWN, 0.8, "host", []),
    (replace(LISTED, age_years=0.5), 0.8, "a100-sxm4-40gb for rent", []),
    (replace(LISTED, age_years=None), 0.8, "a100-sxm4-40gb for rent", ["doubtful sum"]),
])  # fmt: skip
def test_a_large_share_of_the_sum_is_not_signed_on_a_doubtful_price(
    known: KnownPrice, share: float, part: str, found: list[str]
) -> None:
    """A rent that a cloud publishes of late is what it asks."""
    assert reasons(made(flips=(replace(A100, part=part, known=known, share=share),))) == found


def test_limits_count_with_the_probability_that_was_asked_for() -> None:
    run = made()
    assert run.certainty is not None
    own = replace(run.certainty.choices[0], met={"speedup >= 2": 0.78}, meets_all=0.78)
    (line,) = readiness.actions(made(choices=(own,)))
    assert line == (
        "Run it again with --confidence 90%, which recommends what meets the limits with that "
        "probability: this meets speedup >= 2 in 78 % "
        "of simulated outcomes only."
    )
    asked = Confidence(asked=0.95, reached=False, recommended=0.78, best_estimate=1, front=(),
                       considered=3, limits=("speedup >= 2",))  # fmt: skip
    missed = made(choices=(own,), confidence=asked)
    assert reasons(missed) == ["limits"]
    assert (
        "no point meets speedup >= 2 with 95 % probability; this one does with 78 %"
        in (readiness.actions(missed)[0])
    )
    met = replace(asked, asked=0.7, reached=True)
    unlikely = made(choices=(own,), confidence=met)
    assert reasons(unlikely) == []
    assert readiness.conditions(unlikely) == [
        "it meets speedup >= 2 in 78 % of simulated outcomes only"
    ], "whoever signs knows"
    likely = replace(met, recommended=0.93)
    assert readiness.conditions(made(confidence=likely)) == []


def test_what_the_baseline_once_cost_is_accepted_and_another_answer_is_not() -> None:
    run = made()
    mine, theirs = (point.quantity("capital") for point in (run.recommended, run.baseline))
    assert mine
    assert theirs
    turned = OneAge(month="2022-07", capital=theirs, baseline_capital=mine * 1.1)
    if mine < theirs:
        turned = OneAge(month="2022-07", capital=theirs * 1.1, baseline_capital=mine)
    gone = replace(ITEM, obstacle=UNSOLD)
    found = made(one_age=turned, bills={"baseline": (gone,)})
    assert one_age.reversal(found) is not None
    (line,) = readiness.lines(found)
    assert line.startswith("Ready to sign, if you accept: the comparison with the baseline's price")
    assert line.endswith("at prices of one age (2022-07).")
    same = OneAge(month="2022-07", capital=mine, baseline_capital=theirs)
    assert readiness.conditions(made(one_age=same)) == []
    other = made(one_age=replace(same, instead=1))
    assert reasons(other) == ["prices of different ages"]
    name = words.title("accelerator", other.recommended.config["accelerator"])
    assert name in readiness.actions(other)[0].split(": at prices of one age (2022-07) ")[0]


def test_a_baseline_at_old_prices_is_accepted_by_whoever_signs() -> None:
    """Not one of valid offers, nor one whose price nobody compares."""
    run = made()
    theirs = replace(ITEM, item="NVIDIA Tesla P100", usd=9e4, price_class="list", age_years=8.4,
                     source="epoch-prices")  # fmt: skip
    small = replace(theirs, item="Host for accelerators", usd=1e4, age_years=0.1)
    found = made(bills={"baseline": (theirs, small)})
    mine, base = (point.quantity("capital") for point in (run.recommended, run.baseline))
    assert mine
    assert base
    assert readiness.verdict(found) == (
        "Ready to sign, if you accept: the comparison with the baseline's price, "
        f"{words.change(mine / base)}, rests on old or unchecked prices for 90 % of the "
        "baseline's sum."
    )
    recalled = made(bills={"baseline": (replace(theirs, age_years=0.1, checked=False), small)})
    assert len(readiness.conditions(recalled)) == 1
    for fine in (replace(theirs, age_years=0.1), replace(theirs, source="vendor.csv"),
                 replace(theirs, usd=2e3)):  # fmt: skip
        assert readiness.conditions(made(bills={"baseline": (fine, small)})) == []
    same = made(bills={"baseline": (theirs,)}, baseline=run.recommended)
    assert readiness.conditions(same) == []
    powered = replace(run.objectives, minimize="power")
    assert readiness.conditions(made(bills={"baseline": (theirs,)}, objectives=powered)) == []


def test_conditions_are_what_the_lines_above_say_and_three_at_most() -> None:
    run = made()
    assert run.certainty is not None
    own = replace(run.certainty.choices[0], best=0.4)
    rival = replace(own, role="", config=OTHER, best=0.3, beaten=0.55)
    far = replace(run.recommended, evidence="far", computing=NOBODY)
    beyond = Run(samples=1e9, time_to_target=1.0, per_run=1.0, energy=1.0, extrapolated=True)
    found = made(choices=(own, rival), recommended=far, baseline=replace(run.baseline, run=beyond))
    assert readiness.lines(found) == [
        "Ready to sign, if you accept: it is the best choice in 40 % of simulated outcomes only; "
        "its communication lies far outside the measured range; nobody timed computing like it."
    ]
    assert "if you accept: it is the best" in render_page(found)
    timed = replace(far, computing="")
    found = made(recommended=timed, baseline=replace(run.baseline, run=beyond))
    assert "the baseline's samples to the target are extrapolated" in readiness.verdict(found)
    few = made(engine="guided", counts=replace(run.counts, points=6, space=100))
    assert readiness.conditions(few) == ["the search priced 6 points, and others may be better"]
    all_of_them = made(engine="guided", counts=replace(run.counts, points=100, space=100))
    assert readiness.conditions(all_of_them) == []


def test_what_the_present_machines_do_for_nothing_comes_first() -> None:
    run = document()
    speed = run.recommended.quantity("speedup")
    assert speed
    change = Change(axis="bucket", before="25 MiB", after="1 MiB")
    step = WaterfallStep(changes=(change,), software=True, speedup=1.6, factor=1.6, cost=None)
    faster = {**run.baseline.objectives, "speedup": 1.3 * speed}
    config = {**run.baseline.config, "accelerator": "v100-sxm2-16gb", "bucket": "1 MiB"}
    base = {one.name: getattr(run.baseline, one.name) for one in fields(Point)}
    stands = WithoutBuying(**base, steps=(step,))
    stands = replace(stands, objectives=faster, config=config, interval=None)
    past = replace(ITEM, terms=Terms(quote="Q", valid_until="2026-11-19", expired=True))
    found = made((past,), without_buying=stands)
    assert reasons(found) == ["without buying", "expired offer"]
    first = readiness.actions(found)[0]
    assert first.startswith(
        "Use the baseline's machines with bucket 1 MiB first if they are yours, or make yours the "
        "baseline: they are faster for nothing, "
    )
    free = replace(run.baseline, costs={**run.baseline.costs, "capital": 0.0})
    free = replace(free, objectives={**free.objectives, "capital": 0.0})
    owned = made(without_buying=stands, owned=("64 x P100",), baseline=free)
    assert readiness.actions(owned)[0].startswith("Use your present machines with bucket 1 MiB")
    assert reasons(made(without_buying=stands, owned=("1 x P100",))) == [], "these are not owned"
    slower = replace(stands, objectives={**faster, "speedup": 0.9 * speed})
    assert reasons(made(without_buying=slower)) == []
    same = replace(stands, config=run.recommended.config, objectives=run.recommended.objectives)
    assert reasons(made(without_buying=same)) == ["without buying"]
    assert "is of the same machines" in readiness.actions(made(without_buying=same))[0]


def test_what_stands_there_is_not_signed_for() -> None:
    run = document()
    costs = {**run.recommended.costs, "capital": 0.0}
    free = {**run.recommended.objectives, "capital": 0.0}
    stands = replace(run.recommended, costs=costs, objectives=free)
    found = made(recommended=stands, owned=("64 x A100",))
    said = "Nothing has to be bought: what is recommended stands there already."
    assert readiness.verdict(found).startswith(said)
    assert "sign" not in readiness.verdict(found)
    paid = made(recommended=stands)
    assert "Nothing has to be bought" not in readiness.verdict(paid), "a price of 0 is in doubt"
    flip = replace(A100, known=LISTED, rise=Turn(factor=1.12, config=OTHER))
    unsure = made(recommended=stands, owned=("64 x A100",), flips=(flip,))
    assert readiness.verdict(unsure) == f"{said} To be surer that nothing more should be, first:"


def test_what_would_settle_most_is_asked_for_first() -> None:
    """As the answer says it, though a price of the purchase turns the answer, too."""
    flip = replace(A100, known=LISTED, rise=Turn(factor=1.12, config=OTHER))
    rival = replace(flip, part="h100-sxm", share=0.0, rise=None,
                    fall=Turn(factor=0.9, config=OTHER))  # fmt: skip
    worth = Knowledge(name="price: h100-sxm", title="its price", worth=0.11, how="a quote")
    ring = Knowledge(name="communication: ring", title="communication by ring", worth=0.09,
                     how="half an hour of nccl-tests")  # fmt: skip
    assert reasons(made(flips=(flip, rival))) == ["price", "rival prices"]
    run = made(flips=(flip, rival), knowledge=(worth, ring))
    assert reasons(run) == ["rival prices", "price", "measurement"]
    asked = Confidence(asked=0.9, reached=True, recommended=0.95, best_estimate=1, front=(),
                       considered=3)  # fmt: skip
    sure = made(flips=(flip,), knowledge=(ring,), confidence=asked)
    assert reasons(sure) == ["measurement", "price"]
    assert readiness.actions(sure)[0].startswith("Get half an hour of nccl-tests: to know")
    assert reasons(made(knowledge=(ring,), confidence=asked)) == ["measurement"], "by itself, too"
    little = replace(ring, worth=0.009)
    assert reasons(made(knowledge=(little,), confidence=asked)) == []


def test_idle_accelerators_are_a_reason_and_odds_are_accepted() -> None:
    run = made()
    assert run.certainty is not None
    own = replace(run.certainty.choices[0], best=0.4)
    rival = replace(own, role="", config=OTHER, best=0.3, beaten=0.55)
    odds = ["it is the best choice in 40 % of simulated outcomes only"]
    odd = made(choices=(own, rival))
    assert reasons(odd) == [], "nobody can do anything about them"
    assert readiness.conditions(odd) == odds
    assert readiness.conditions(made(choices=(replace(own, best=0.6), rival))) == []
    asked = Confidence(asked=0.9, reached=True, recommended=0.95, best_estimate=1, front=(),
                       considered=3)  # fmt: skip
    run = made(choices=(own, rival), confidence=asked)
    assert readiness.conditions(run) == [], "it beats what is as sure"
    beaten = replace(rival, beaten=0.45)
    (said,) = readiness.conditions(made(choices=(own, beaten), confidence=asked))
    assert said.startswith("it is the better buy than another that is as sure in 45 % of")
    unsure = replace(beaten, meets_all=0.5)
    assert readiness.conditions(made(choices=(own, unsure), confidence=asked)) == []
    assert reasons(made((replace(ITEM, idle=4),))) == ["idle"]
    rented = replace(ITEM, idle=4, rent=Rent(term="spot", hours=1.0))
    (told,) = readiness.actions(made((rented,)))
    assert told.startswith("Fill the nodes, or find somebody who rents out fewer NVIDIA")
    assert "fewer are not rented out at once" in readiness.actions(made((rented,)))[0]


def test_offers_that_expired_after_the_day_of_the_list_are_accepted_by_name() -> None:
    until = replace(ITEM, terms=Terms(quote="Q-1018", valid_until="2026-07-05"))
    run = made((until,))
    day = run.created[:10]
    then = replace(run, price_days=PriceDays(ages="2026-07-01", offers="2026-07-01"))
    assert day > "2026-07-05"
    assert readiness.conditions(then) == [
        "it is the answer of 2026-07-01 (as_of), and offers have expired since: Q-1018 until "
        "2026-07-05"
    ]
    valid = replace(until, terms=Terms(quote="Q-1018", valid_until=day))
    for items, days in (((valid,), then.price_days), ((until,), None), ((ITEM,), then.price_days)):
        assert readiness.conditions(replace(made(items), price_days=days)) == []


def test_a_rent_by_the_accelerator_is_accepted_by_name() -> None:
    rented = replace(ITEM, rent=Rent(term="on-demand", hours=1.0))
    said = ["the rent is by the accelerator, and nobody said that such machines are let at it"]
    run = made((rented,))
    run = replace(run, objectives=replace(run.objectives, minimize="hourly"))
    assert run.recommended.config["accelerator"]
    assert readiness.conditions(run) == said
    assert readiness.conditions(made((ITEM,))) == [], "a purchase"
    alone = replace(run, recommended=replace(run.recommended, gpus=1))
    assert readiness.conditions(alone) == []


OFFERS = (
    "prices: {as_of: 2026-11-20, accelerators: {p100-sxm2-16gb: {purchase: 3 kUSD, sold_in: 1}, "
    "v100-sxm2-16gb: {purchase: 9 kUSD, sold_in: 1}}, host: 9 kUSD, "
    "fabrics: {10gbe: {nic: 100 USD, switch_port: 100 USD, cable: 20 USD}}}\n"
)


def built(path: Path) -> RunDocument:
    outcome = run(load(path), "exhaustive", None, None, lambda *_: None, 1000, 0)
    return assembly.build(outcome, "dse run small", 0, 1.0, {})


def test_a_study_of_own_offers_asks_for_no_quote(tmp_path: Path) -> None:
    """And one of the catalogue's prices does, of the accelerator."""
    own = built(studies.written(tmp_path, studies.SMALL + OFFERS))
    assert not {"price", "rival prices", "doubtful sum", "expired offer"} & set(reasons(own))
    listed = built(studies.written(tmp_path, studies.SMALL, "listed.yaml"))
    assert listed.readiness is not None
    assert not listed.readiness.ready
    assert any("Get a quote for" in line for line in readiness.actions(listed))
    past = OFFERS.replace("host: 9 kUSD", "host: {value: 9 kUSD, valid_until: 2026-11-19}")
    late = built(studies.written(tmp_path, studies.SMALL + past, "late.yaml"))
    assert reasons(late)[0] == "expired offer"
    assert readiness.actions(late)[0].startswith("Get a new offer for Host for accelerators")
    sure, unsure = (
        one.recommended.interval.costs["capital"] for one in (own, late) if one.recommended.interval
    )
    assert sure[0] == sure[1]
    assert unsure[0] < late.recommended.quantity("capital") < unsure[1]


@pytest.mark.evidence
def test_own_prices_that_are_hardly_meant_are_checked_first(tmp_path: Path) -> None:
    """Those of what is ordered, and those of what may be the better buy at another price."""
    study = studies.SMALL.replace("accelerator: [p100-sxm2-16gb, v100-sxm2-16gb]",
                                  "accelerator: [p100-sxm2-16gb, v100-sxm2-16gb, a10]")  # fmt: skip
    offers = OFFERS.replace("v100-sxm2-16gb: {", "a10: {purchase: %s}, v100-sxm2-16gb: {")
    assert built(studies.written(tmp_path, study + offers % "2 kUSD")).readiness is not None
    for price, said in (("2 USD", "USD 2.00 is more than"), ("2 MUSD", "USD 2,000,000.00 is")):
        found = built(studies.written(tmp_path, study + offers % price))
        assert reasons(found)[0] == "unlikely price", price
        assert readiness.actions(found)[0].startswith(
            f"Check the price of NVIDIA A10 24 GB: {said}"
        )


def test_an_accelerator_at_a_price_of_nothing_is_not_signed_for(tmp_path: Path) -> None:
    """Its hosts have a price, so that the whole is not for nothing."""
    gift = OFFERS.replace("{purchase: 9 kUSD", "{purchase: 0 USD")
    found = built(studies.written(tmp_path, studies.SMALL + gift))
    assert found.recommended.config["accelerator"] == "v100-sxm2-16gb"
    assert reasons(found)[0] == "unlikely price"
    assert "NVIDIA Tesla V100 SXM2 16 GB: USD 0.00 is more" in readiness.actions(found)[0]


@pytest.mark.evidence
def test_a_sum_says_only_the_causes_of_its_interval_that_its_bill_has(tmp_path: Path) -> None:
    def why(offers: str, name: str) -> str:
        told = answer.answer(built(studies.written(tmp_path, studies.SMALL + offers, name)))
        (said,) = [line for line in told if line.startswith("90 % confidence")]
        return said.rpartition(" Its purchase price is ")[2]

    assert why("", "listed.yaml").endswith(
        ": sellers differ, prices age and one was never checked."
    )
    assert why(OFFERS, "own.yaml") == "computed with your own prices."
    past = "{value: 9 kUSD, valid_until: 2026-11-19}"
    late = OFFERS.replace("host: 9 kUSD", f"host: {past}")
    assert why(late, "late.yaml").endswith(": an offer has expired.")
    recalled = OFFERS.replace("host: 9 kUSD", "host: {value: 9 kUSD, status: unverified}")
    assert why(recalled, "recalled.yaml").endswith(": a price was never checked.")


SERVERS = (
    "prices: {as_of: 2026-11-20, accelerators: {v100-sxm2-32gb: {purchase: {value: 9 kUSD, "
    "quote: Q-1%s}, sold_in: 1%s}}, "
    "fabrics: {10gbe: {nic: 100 USD, switch_port: 100 USD, cable: 20 USD}}}\n"
)


@pytest.mark.evidence
def test_whether_an_offer_includes_servers_is_asked_unless_the_list_says_it(tmp_path: Path) -> None:
    """The catalogue's price of this accelerator includes them, and the bill follows."""
    study = studies.SMALL.replace("[p100-sxm2-16gb, v100-sxm2-16gb]",
                                  "[p100-sxm2-16gb, v100-sxm2-32gb]")  # fmt: skip
    silent = built(studies.written(tmp_path, study + SERVERS % ("", "")))
    ask = [line for line in readiness.actions(silent) if line.startswith("Ask whether quotation")]
    assert ask == [
        "Ask whether quotation Q-1 (study.yaml) of NVIDIA Tesla V100 SXM2 32 GB includes the "
        "servers, and write includes: card or includes: node-share with it: it is taken to include "
        "them, as the catalogue's price does."
    ]
    told = " ".join(answer.answer(silent))
    assert (
        "The price of v100-sxm2-32gb is taken to contain its part of the server, as in the "
        "catalogue. For p100-sxm2-16gb a server of"
    ) in told
    assert "already contain" not in told
    # What it advises settles it.
    whole = built(studies.written(tmp_path, study + SERVERS % (", includes: node-share", "")))
    assert "unsaid server" not in reasons(whole)
    assert whole.recommended.quantity("capital") == silent.recommended.quantity("capital")
    for said in ((", includes: card", ""), ("", ", host: 9 kUSD")):
        cards = built(studies.written(tmp_path, study + SERVERS % said))
        assert "unsaid server" not in reasons(cards)
        (of_hosts,) = (item for item in cards.bills["recommended"] if "Host for" in item.item)
        assert of_hosts.usd
    assert not any("Host for" in item.item for item in silent.bills["recommended"])


@pytest.mark.parametrize(
    ("values", "rest"),
    [("ab c d", ""), ("a b c def g", "Nor is any with 4 other choices."),
     ("ab c d e", "Nor is any with 1 other choice.")],
)  # fmt: skip
def test_of_many_choices_that_nothing_fits_the_rest_is_counted(values: str, rest: str) -> None:
    """Those of a word share their reason; three reasons are told."""
    none = tuple(
        NoneFeasible(axis="aggregation", value=value, points=1, because=f"why {word}")
        for word in values.split()
        for value in word
    )
    told = none_feasible.said(replace(document(), none_feasible=none))
    first, *_ = values.split()
    assert told[0] == f"No point with {' or '.join(first)} is feasible: why {first}."
    assert told[3:] == [rest] * bool(rest)


def test_a_machine_of_which_nothing_fits_is_told_and_accepted(tmp_path: Path) -> None:
    """In the answer, in the section on limits, and by whoever signs."""
    study = studies.SMALL
    for old, new in (
        ("accelerator: [p100-sxm2-16gb, v100-sxm2-16gb]", "accelerator: [h100-pcie, a10]"),
        ("{accelerator: p100-sxm2-16gb,", "{accelerator: h100-pcie,"),
        ("batch_per_gpu: [32, 64, 256]", "batch_per_gpu: [512]"),
        ("batch_per_gpu: 32,", "batch_per_gpu: 512,"),
        ('"capital <= 200 kUSD", "global_batch <= 2048"', '"global_batch <= 4096"'),
    ):
        assert old in study
        study = study.replace(old, new)
    found = built(studies.written(tmp_path, study))
    told = [line for line in answer.said(found) if line.startswith("No point with ")]
    assert told, found.rejected
    assert all("is feasible: too little memory (short by " in line for line in told)
    assert told[0].endswith(" GiB at least).")
    clause = f"{told[0][:1].lower()}{told[0][1:-1]}"
    assert clause in readiness.conditions(found)
    assert told[0] in render_markdown(found)
    why = "does not model sharding (ZeRO, FSDP, tensor or pipeline parallelism)."
    assert [line for line in answer.said(found) if line.endswith(why)]
    assert why in render_markdown(found)


def test_whoever_signs_a_commitment_is_told_its_sum(tmp_path: Path) -> None:
    renting = studies.SMALL.replace("minimize: capital", "minimize: per_run")
    renting += "target: {samples: 1e8}\nrental: 1-year\n"
    found = built(studies.written(tmp_path, renting))
    (said,) = [line for line in answer.said(found) if " are committed over 1 year" in line]
    assert readiness.conditions(found)[0] == said.removesuffix(".")
    assert said in signature(found).prices
    assert said in render_markdown(found)
    demand = built(studies.written(tmp_path, renting.replace("rental: 1-year\n", ""), "b.yaml"))
    assert not any("are committed over" in line for line in answer.said(demand))


def test_own_prices_from_memory_are_no_offers(tmp_path: Path) -> None:
    unsure = OFFERS.replace("host: 9 kUSD", "host: {value: 9 kUSD, status: unverified}")
    assert unsure != OFFERS
    found = built(studies.written(tmp_path, studies.SMALL + unsure))
    assert any("your own USD 9,000 is unchecked" in line for line in readiness.actions(found))


def test_a_study_that_weighs_no_money_is_not_signed_on_catalogue_prices(tmp_path: Path) -> None:
    assert "minimize: capital" in studies.SMALL
    limited = studies.SMALL.replace("minimize: capital", "minimize: power")
    powered = limited.replace('"capital <= 200 kUSD", ', "")
    found = built(studies.written(tmp_path, powered))
    assert found.certainty is not None
    assert found.readiness is not None
    assert "doubtful sum" in reasons(found)
    offered = built(studies.written(tmp_path, powered + OFFERS, "offered.yaml"))
    assert "doubtful sum" not in reasons(offered)
    told = readiness.actions(built(studies.written(tmp_path, limited, "limited.yaml")))
    assert any("(62 % of the purchase price)" in line and "above USD 18,300 the answer" in line
               for line in told), "a limit turns it"  # fmt: skip


def test_a_single_point_is_judged_by_its_own_prices(tmp_path: Path) -> None:
    text = json.dumps({
        "study": "one", "workload": "resnet50", "calibration": [],
        "space": {"accelerator": ["a10"], "gpus": [4], "gpus_per_node": [4],
                  "inter_node": ["10gbe"], "batch_per_gpu": [32], "precision": ["fp16"],
                  "aggregation": ["ring-mpi"], "bucket": ["25 MiB"]},
        "baseline": {"accelerator": "a10", "gpus": 4, "gpus_per_node": 4, "inter_node": "10gbe",
                     "batch_per_gpu": 32, "precision": "fp16", "aggregation": "ring-mpi",
                     "bucket": "25 MiB"},
        "objectives": {"maximize": "speedup", "minimize": "capital"},
        "prices": {"accelerators": {"a10": {"purchase": "2 kUSD"}}, "host": "9 kUSD"},
    })  # fmt: skip
    assert built(studies.written(tmp_path, text)).readiness == Readiness(ready=True)
