"""Whether a fleet's answer can be acted on, and where it turns."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from dse.errors import StudyError
from dse.fleet import other_models
from dse.fleet.document import FleetDocument
from dse.report import (
    fleet_models,
    fleet_page,
    fleet_readiness,
    fleet_side_by_side,
    fleet_words,
)
from dse.report.words import shown
from tests.fleet.small import HEADER, STUDY, TABLE
from tests.report.test_fleet import Page, document

MANY = "\n".join((HEADER, *("PS/Worker,16,1e12,50e9,10e6,500e6",) * 40)) + "\n"
CATALOGUE = STUDY.replace("gpu_hour: 2 USD/hour", "accelerator: p100-sxm2-16gb")
FASTER = "upgrades:\n  - {name: both, pcie: 50 GB/s, gpu: 64 TFLOP/s, price_per_gpu: 500 USD}\n"
# Of its own jobs, with its own prices, and nothing else that could be bought or done.
OWN = re.sub(r"upgrades:\n(  - .*\n)+ports: .*\n", FASTER, STUDY)


def kinds(found: FleetDocument) -> list[str]:
    told = fleet_readiness.readiness(found)
    assert told is not None
    return [reason.kind for reason in told.reasons]


def test_own_jobs_and_own_prices_are_ready_and_say_what_is_accepted(tmp_path: Path) -> None:
    found = document(tmp_path, OWN, MANY)
    assert kinds(found) == []
    said = fleet_readiness.verdict(found)
    assert said.startswith("Ready to sign, if you accept: ")
    assert "by the Alibaba-PAI paper's formula, which has no latency" in said
    assert "installation, downtime, electricity, freight and taxes are not counted" in said
    signed = fleet_page.render_page(found).partition('<div class="sign">')[2].partition("</dl>")[0]
    assert "<b>Whoever signs accepts:</b>" in signed
    assert Page(signed).text.replace("\u00a0", " ").count("freight and taxes are not counted.") == 1
    assert "<dt>Signature</dt>" in signed
    assert "ready" in fleet_page.render_page(found)


def test_what_is_missing_is_asked_for_in_every_output(tmp_path: Path) -> None:
    found = document(tmp_path, CATALOGUE)
    first, *rest = fleet_readiness.lines(found)
    assert first == "Not ready to sign. First:"
    assert (
        "  1. Give the jobs of a longer time: 5 jobs are too few to tell how jobs differ." in rest
    )
    (hour,) = (line for line in rest if "what a GPU-hour is worth to you" in line)
    assert re.search(r"USD 2\.07 is a rent of NVIDIA Tesla P100 SXM2 16 GB of 20\d\d", hour)
    page, text = Page(fleet_page.render_page(found)).text, fleet_page.render_markdown(found)
    for action in fleet_readiness.actions(found):
        assert action in page.replace("\u00a0", " ")
        assert action in text.replace("\\", "")
    assert fleet_readiness.turns(found) in text


def test_the_least_that_pays_is_where_nothing_is_left(tmp_path: Path) -> None:
    """At each of the four numbers the upgrade saves exactly what it costs."""
    found = document(tmp_path, OWN, MANY)
    row = fleet_models.worthwhile(found)
    assert row is not None
    assert found.money is not None
    said = fleet_readiness.turns(found)
    numbers = re.search(
        r"no more than USD ([\d.]+)( k)? per GPU, a GPU-hour is worth USD ([\d.]+) or more, the "
        r"GPUs are busy ([\d.]+) % of the time or more, and the fleet does ([\d.]+)x", said,
    )  # fmt: skip
    assert numbers is not None, said
    price = float(numbers[1]) * (1e3 if numbers[2] else 1)
    hour, busy, speedup = float(numbers[3]), float(numbers[4]) / 100, float(numbers[5])
    money, cost = found.money, row.cost_usd_per_year
    assert price * money.gpus / money.years == pytest.approx(row.saved_usd_per_year, rel=0.01)
    hours = money.gpus * 8760 * money.busy
    speed = 1 - row.gpu_hours_saved_per_year / hours
    assert money.gpus * 8760 * money.busy * (1 - speed) * hour == pytest.approx(cost, rel=0.02)
    assert money.gpus * 8760 * busy * (1 - speed) * 2.0 == pytest.approx(cost, rel=0.05)
    assert hours * (1 - 1 / speedup) * 2.0 == pytest.approx(cost, rel=0.05)


def test_jobs_that_could_move_for_nothing_come_before_what_is_bought(tmp_path: Path) -> None:
    found = document(tmp_path, OWN.replace("money:", "ports: [allreduce-local]\nmoney:"), MANY)
    assert found.money is not None
    (port,) = found.money.ports
    best = fleet_models.worthwhile(found)
    assert best is not None
    assert best.net_usd_per_year is not None
    more = replace(port, saved_usd_per_year=1.1 * best.net_usd_per_year, finish_later=0)
    less = replace(port, saved_usd_per_year=0.9 * best.net_usd_per_year)
    (action,) = fleet_readiness.actions(replace(found, money=replace(found.money, ports=(more,))))
    assert action.startswith("Move jobs to AllReduce-Local where servers have NVLink: that frees")
    assert "finish later" not in action
    assert kinds(replace(found, money=replace(found.money, ports=(less,)))) == []


def test_an_upgrade_without_a_price_is_asked_for_where_it_may_be_better(tmp_path: Path) -> None:
    """And below which price it is: there it leaves as much as the one that is recommended."""
    found = document(tmp_path, OWN, MANY)
    assert found.money is not None
    (best,) = found.money.upgrades
    assert best.net_usd_per_year is not None
    unknown = replace(best, name="all new", net_usd_per_year=None, capital_usd=None,
                      saved_usd_per_year=best.net_usd_per_year + 25_000.0)  # fmt: skip
    small = replace(unknown, name="hardly", saved_usd_per_year=best.net_usd_per_year - 1.0)
    money = replace(found.money, upgrades=(best, unknown, small))
    (action,) = fleet_readiness.actions(replace(found, money=money))
    assert action == (  # 25,000 a year for 4 years, of 100 GPUs
        "Get a price ('price_per_gpu') for all new (it is the better answer below USD 1 k per "
        "GPU): it counts for nothing here without one."
    )


def test_a_speedup_that_may_not_pay_is_measured_first(tmp_path: Path) -> None:
    found = document(tmp_path, OWN.replace("500 USD", "9 kUSD"), MANY)
    found = replace(found, by_model=())  # those of other models are asked of another test
    best = fleet_models.worthwhile(found)
    if best is None or best.cost_usd_per_year is None:
        pytest.fail("the price is to be below what it is worth")
    assert found.intervals is not None
    assert found.money is not None
    freed = best.gpu_hours_saved_per_year / found.money.gpu_hours_per_year
    least = 1 / (1 - best.cost_usd_per_year / best.saved_usd_per_year * freed)
    for low, expected in ((least * 0.99, ["measurement"]), (least * 1.01, [])):
        numbers = tuple(
            replace(one, low=low) if (one.kind, one.way) == ("upgrade", "gpu_hours") else one
            for one in found.intervals.numbers
        )
        moved = replace(found, intervals=replace(found.intervals, numbers=numbers))
        assert kinds(moved) == expected


def test_the_catalogues_network_needs_a_quote(tmp_path: Path) -> None:
    study = re.sub(
        r"upgrades:\n(  - .*\n)+ports: .*\n", "upgrades:\n  - {ethernet: 100gbe}\n", STUDY
    )
    found = document(tmp_path, study.replace("2 USD/hour", "4 USD/hour"), MANY)
    (action,) = [one for one in fleet_readiness.actions(found) if "quote" in one]
    assert action.startswith("Get a quote for 100 Gbps Ethernet: the catalogue's USD ")
    assert "was not checked and may be USD " in action
    assert action.endswith("that moves the sum, not the answer.")
    assert found.money is not None
    (row,) = found.money.upgrades
    assert found.intervals is not None
    high = found.intervals.money[0].capital_usd
    assert high is not None
    dear = replace(row, worth_usd_per_gpu=0.9 * high[1] / found.money.gpus)
    (action,) = [
        one for one in fleet_readiness.actions(replace(found, money=replace(
            found.money, upgrades=(dear,)))) if "quote" in one
    ]  # fmt: skip
    assert action.endswith("it no longer pays.")


def test_without_money_or_a_gain_nothing_is_bought(tmp_path: Path) -> None:
    poor = document(tmp_path, re.sub(r"money: .*\n", "", OWN), MANY)
    assert fleet_readiness.verdict(poor) == "Not enough is known to buy. First:"
    heading, why = fleet_words.decision(poor)
    assert heading == "both gains the most; whether it pays is not known"
    assert why.startswith("Say how many GPUs there are and what an hour of one is worth ('money').")
    assert "what their hours are worth ('money')" in fleet_readiness.actions(poor)[0]
    assert fleet_readiness.turns(poor) == ""
    dear = document(tmp_path, OWN.replace("500 USD", "90 kUSD"), MANY)
    assert fleet_readiness.lines(dear) == ["Nothing to buy."]
    old = replace(document(tmp_path), intervals=None)
    assert fleet_readiness.lines(old) == []
    assert fleet_readiness.accepted(dear) == []
    assert "sign" not in Page(fleet_page.render_page(old)).text
    one = document(tmp_path, OWN, "\n".join(TABLE.splitlines()[:2]) + "\n")
    assert "1 job is too few" in fleet_readiness.actions(one)[0]


# Sixteen jobs whose exchange takes most of a step by the formula, and is hidden behind computing.
SPREAD = "\n".join((
    f"{HEADER},name", *(f"allreduce-cluster,16,4e12,300e9,10e6,600e6,job {at}" for at in range(40))
)) + "\n"  # fmt: skip
LINK = "upgrades:\n  - {name: faster, ethernet: 100 Gbps, price_per_gpu: 3 kUSD}\n"
HANGS = re.sub(r"upgrades:\n(  - .*\n)+ports: .*\n", LINK, STUDY)


def test_an_upgrade_that_other_models_deny_is_undecided(tmp_path: Path) -> None:
    """It pays where nothing overlaps, and does not where computing hides the exchange; which of the
    two holds, a measured step tells, and the study then says it."""
    found = document(tmp_path, HANGS, SPREAD)
    best = fleet_models.worthwhile(found)
    assert best is not None, "by the formula it pays"
    heading, why = fleet_words.decision(found)
    assert heading == "Nothing to buy yet"
    assert re.search(r"faster is undecided\. By the best estimate it saves USD .* but it loses USD "
                     r"[\d.]+ k a year net with ideal overlap \(1\.\d\dx\) and USD [\d.]+ k a year "
                     r"net in dse's own model \(1\.\d\dx\)", why)  # fmt: skip
    assert kinds(found) == ["model"]
    (action,) = fleet_readiness.actions(found)
    assert action.startswith("Time a step of job 0, or trace it with a profiler")
    job = found.named[0]
    assert f"takes {shown(job.step_s, 's')} by the formula" in action
    assert f"and {shown(job.own_model.step_s, 's')} in dse's own model" in action
    assert "all else as it is. But it loses USD " in fleet_readiness.turns(found)
    text = fleet_page.render_markdown(found)
    (ideal, own) = found.by_model
    assert ideal.net_usd_per_year is not None
    assert (
        "| Upgrade | Without overlap: this report | With ideal overlap | In dse's own model |"
        in text
    )
    (row,) = (
        line
        for line in text.splitlines()
        if line.startswith("| faster | 1.") and "USD" in line and "x, " in line
    )
    assert f"| {ideal.speedup:.2f}x, −{shown(-ideal.net_usd_per_year, 'USD')} |" in row
    assert f"| {own.speedup:.2f}x, −USD " in row
    assert "Upgrade to" not in text


@pytest.mark.parametrize(("said", "bought"), [("none", True), ("ideal", False)])
def test_an_overlap_that_the_study_tells_is_no_question(
    said: str, bought: bool, tmp_path: Path
) -> None:
    found = document(tmp_path, f"{HANGS}overlap: {said}\n", SPREAD)
    assert kinds(found) == []
    assert {row.model for row in found.by_model} == {"own-unhidden" if bought else "own"}
    heading, why = fleet_words.decision(found)
    assert heading == ("Upgrade to faster" if bought else "Keep the hardware")
    other = "The models agree on the decision but not on the amount" if bought else "So it is in"
    assert other in why
    if bought:
        assert "nothing overlaps, as the study says" in fleet_readiness.verdict(found)


def test_other_models_count_the_jobs_by_their_hours(tmp_path: Path) -> None:
    """By hand: with ideal overlap a step is its longest part."""
    found = document(tmp_path, HANGS, SPREAD)
    (ideal,) = (row for row in found.by_model if row.model == "ideal")
    computing = (4e12 / 11e12 + 300e9 / 1e12) / 0.7
    weights = (600e6 / (25e9 / 8) + 600e6 / 50e9) / 0.7
    faster = (600e6 / (100e9 / 8) + 600e6 / 50e9) / 0.7
    assert ideal.speedup == pytest.approx(max(computing, weights) / max(computing, faster))
    freed = 100 * 8760 * 0.5 * (1 - 1 / ideal.speedup)
    assert ideal.net_usd_per_year == pytest.approx(2 * freed - 100 * 3000 / 4)


def test_models_that_agree_on_every_job_agree_on_the_fleet_though_some_are_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs that only compute, each another share of it memory-bound: nothing can overlap."""
    monkeypatch.setattr(other_models, "FOLLOWED", 30)
    jobs = (f"1w1g,1,{at}e11,{200 - at}e9,0,0" for at in range(1, 200))
    memory = "upgrades:\n  - {name: faster, memory: 2 TB/s, price_per_gpu: 3 kUSD}\n"
    study = re.sub(r"upgrades:\n(  - .*\n)+ports: .*\n", memory, STUDY)
    found = document(tmp_path, study, "\n".join((HEADER, *jobs)) + "\n")
    (upgrade,) = found.upgrades
    assert found.money is not None
    (worth,) = found.money.upgrades
    assert {row.model for row in found.by_model} == {"ideal", "own"}
    for row in found.by_model:
        assert row.speedup == pytest.approx(upgrade.speedup[found.whole].gpu_hours, rel=1e-12)
        assert row.net_usd_per_year == pytest.approx(worth.net_usd_per_year, rel=1e-9)
    assert fleet_models.contrary(found) == []


@pytest.mark.parametrize("pays", [0.46, 0.54])
def test_what_likelier_does_not_pay_is_not_recommended(pays: float, tmp_path: Path) -> None:
    found = document(tmp_path, OWN, MANY)
    assert found.intervals is not None
    assert fleet_words.decision(found)[0] == "Upgrade to both"
    money = tuple(replace(row, pays=pays) for row in found.intervals.money)
    odd = replace(found, intervals=replace(found.intervals, money=money))
    heading, why = fleet_words.decision(odd)
    told = fleet_readiness.readiness(odd)
    assert told is not None
    if pays < 0.5:
        assert heading == "Nothing to buy yet"
        assert "the probability that it saves more than it costs is 46 %" in why
        assert not told.ready
    else:
        assert heading == "Upgrade to both"
        assert told.ready


def test_what_loses_on_average_is_not_recommended(tmp_path: Path) -> None:
    found = document(tmp_path, OWN, MANY)
    assert found.intervals is not None
    money = tuple(replace(row, mean_net_usd_per_year=-12e3) for row in found.intervals.money)
    odd = replace(found, intervals=replace(found.intervals, money=money))
    heading, why = fleet_words.decision(odd)
    assert heading == "Nothing to buy yet"
    assert "over all simulated outcomes it loses USD 12 k a year on average" in why


# Jobs that the parameter servers hold up. AllReduce in one server takes them off Ethernet.
SERVED = "\n".join((HEADER, *("PS/Worker,8,1e12,50e9,10e6,500e6",) * 40)) + "\n"
BOTH = HANGS.replace("money:", "ports: [allreduce-local]\nmoney:")


def test_a_purchase_that_a_free_move_makes_useless_comes_after_it(tmp_path: Path) -> None:
    found = document(tmp_path, BOTH, SERVED)
    best = fleet_models.worthwhile(found)
    assert best is not None, "with jobs as they are it pays"
    assert best.after_move is not None
    assert best.after_move.speedup == pytest.approx(1.0), "nobody is left on Ethernet"
    cost = shown(best.cost_usd_per_year, "USD")
    heading, why = fleet_words.decision(found)
    assert heading == "Move jobs to AllReduce-Local first"
    assert f"After it faster loses {cost} a year net by the formula without overlap" in why
    assert f"and {cost} in dse's own model" in why
    assert "the probability that it saves more than it costs is then under 1 %" in why
    first, move, *rest = fleet_readiness.lines(found)
    assert first == "Not ready to sign. First:"
    assert move.startswith("  1. Move jobs to AllReduce-Local where servers have NVLink, and ask "
                           "again: that frees GPU-hours worth USD ")  # fmt: skip
    assert f"after it faster loses {cost} a year net" in move
    assert move.endswith("Where they cannot move, leave allreduce-local out of 'ports'.")
    assert rest == []
    page, text = Page(fleet_page.render_page(found)).text, fleet_page.render_markdown(found)
    for said in (heading, "Speedup after the move", f"−{cost}"):
        assert said in page.replace("\u00a0", " ")
        assert said in text
    assert "Upgrade to" not in text
    labels = [label for label, *_ in fleet_page.tiles(found)]
    assert labels[:3] == ["Move to AllReduce-Local: frees a year", "After it faster: net a year",
                          "Net a year by 3 models, jobs as they are"]  # fmt: skip
    assert "Jobs stay as they are: after a move to AllReduce-Local faster loses" in " ".join(
        fleet_readiness.accepted(found)
    )


MOVING = OWN.replace("money:", "ports: [allreduce-local]\nmoney:")


def test_a_purchase_that_pays_after_the_move_is_still_recommended(tmp_path: Path) -> None:
    """Faster GPUs gain moved jobs, too."""
    found = document(tmp_path, MOVING, SERVED)
    heading, why = fleet_words.decision(found)
    assert heading == "Upgrade to both"
    assert "After jobs have moved to AllReduce-Local, both leaves USD " in why
    (move,) = fleet_readiness.actions(found)
    assert "after it both leaves USD " in move
    assert "and ask again" not in move
    assert "After the move it pays below USD " in fleet_readiness.turns(found)


def test_a_purchase_that_one_model_denies_after_the_move_comes_after_it(tmp_path: Path) -> None:
    found = document(tmp_path, MOVING, SERVED)
    other = found.by_model[-1]
    assert other.after_move is not None
    denied = replace(other, after_move=replace(other.after_move, net_usd_per_year=-8e3))
    odd = replace(found, by_model=(*found.by_model[:-1], denied))
    heading, why = fleet_words.decision(odd)
    assert heading == "Move jobs to AllReduce-Local first"
    assert "and loses USD 8 k in dse's own model" in why


GPUS = BOTH.replace("ethernet: 100 Gbps, price_per_gpu: 3 kUSD",
                    "gpu: 64 TFLOP/s, memory: 4 TB/s, price_per_gpu: 500 USD")  # fmt: skip


@pytest.mark.parametrize("overlap", ["", "overlap: ideal\n"])
def test_what_all_models_recommend_only_after_the_move_is_said(
    overlap: str, tmp_path: Path
) -> None:
    """Jobs that wait for parameter servers may gain nothing from faster GPUs before they move."""
    found = document(tmp_path, f"{GPUS}{overlap}", SERVED)
    heading, why = fleet_words.decision(found)
    assert heading == "Move jobs to AllReduce-Local first"
    assert "After it faster leaves USD " in why
    pays = fleet_models.worthwhile(found) is not None
    assert ("With jobs as they are, faster is undecided." in why) == pays
    (action,) = fleet_readiness.actions(found)
    assert "after it faster leaves USD " in action


def test_models_that_agree_on_the_decision_alone_are_told_side_by_side(tmp_path: Path) -> None:
    found = document(tmp_path, f"{HANGS}overlap: none\n", SPREAD)
    best = fleet_models.worthwhile(found)
    assert best is not None
    assert best.cost_usd_per_year is not None
    (own,) = found.by_model
    assert own.net_usd_per_year is not None
    assert best.net_usd_per_year is not None
    assert own.net_usd_per_year < 0.8 * best.net_usd_per_year
    _, why = fleet_words.decision(found)
    nets = [shown(net, "USD") for net in (own.net_usd_per_year, best.net_usd_per_year)]
    assert f"agree on the decision but not on the amount: {nets[0]} to {nets[1]} a year net" in why
    years = [best.capital_usd / (net + best.cost_usd_per_year)
             for net in (best.net_usd_per_year, own.net_usd_per_year)]  # fmt: skip
    rows = fleet_side_by_side.rows(found)
    assert [row[2:4] for row in rows] == [
        [nets[1], f"{years[0]:.1f} years"], [nets[0], f"{years[1]:.1f} years"]
    ]  # fmt: skip
    said = fleet_side_by_side.lines(found)[-1]
    assert said.startswith("All 90 % intervals are of the first model alone")
    first, _, back = fleet_page.tiles(found)[:3]
    assert first[:2] == ("Net a year by 2 models", f"{nets[0]} to {nets[1]}")
    assert back[1] == f"{years[0]:.1f} to {years[1]:.1f} years"
    far = replace(found, by_model=(replace(own, speedup=1.01),))
    assert "does not hold the 1.01x in dse's own model" in fleet_side_by_side.lines(far)[-1]
    near = replace(found, by_model=(replace(own, net_usd_per_year=1.1 * best.net_usd_per_year),))
    assert "All models agree: USD " in fleet_words.decision(near)[1]


def test_an_upgrade_for_nothing_is_no_offer(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"price_per_gpu: '0 USD' is zero; write a value above 0"):
        document(tmp_path, STUDY.replace("500 USD", "0 USD"))


@pytest.mark.parametrize(
    ("upgrade", "usd", "basis"),
    [
        ("node: dgx-h100", 13 * 375_000, "13 of NVIDIA DGX H100 at USD 375,000"),
        ("accelerator: h100-sxm", 100 * 31_250, "100 of NVIDIA H100 SXM5 80 GB at USD 31,250, "),
    ],
)
def test_a_machine_of_the_catalogue_costs_what_it_does_there_and_needs_a_quote(
    upgrade: str, usd: float, basis: str, tmp_path: Path
) -> None:
    money = "money: {gpus: 100, busy: 0.9, gpu_hour: 20 USD/hour, amortisation_years: 4}\n"
    study = (
        "fleet: f\npopulation: jobs.csv\nhardware: {node: dgx-a100-80gb}\n"
        f"upgrades:\n  - {{{upgrade}}}\n{money}"
    )
    found = document(tmp_path, study, MANY)
    assert found.money is not None
    (row,) = found.money.upgrades
    assert row.capital_usd == usd
    assert row.basis.startswith(basis)
    assert found.intervals is not None
    low, high = found.intervals.money[0].capital_usd or (0.0, 0.0)
    assert low < usd < high, "a price of the catalogue is not certain"
    assert any(one.fact.endswith(".purchase") for one in found.sources)
    (action,) = [one for one in fleet_readiness.actions(found) if "quote" in one]
    assert action.startswith(f"Get a quote for {row.name}: the catalogue's USD ")
    kind, name = upgrade.split(": ")
    own = f"{kind}s: {{{name}: {{purchase: 30 USD}}}}\nas_of: 2026-01-01\n"
    (tmp_path / "own.yaml").write_text(own)
    priced = document(tmp_path, study.replace("money: {", "money: {prices: own.yaml, "), MANY)
    assert any("Check the price of NVIDIA" in one for one in fleet_readiness.actions(priced))
    assert not any("quote" in one for one in fleet_readiness.actions(priced))
