"""What the page prices points from: it gives every cost again, and fits into a page."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.pricing.composition import composition
from dse.report import json_form
from dse.report.document import RunDocument
from dse.report.markdown import render_markdown
from dse.report.page import MOST_BYTES, render_page
from dse.report.repricing.build import DRAWS
from dse.report.repricing.candidates import _other_fronts
from dse.report.repricing.facts import Repricing
from dse.report.repricing.section import facts, label
from dse.search.run import labels_of
from tests.evidence import beyond
from tests.report.documents import document
from tests.report.repricing.studies import MINIMIZED, Searched, priced_anew, searched, study

EXTRAS = """\
ownership: {residual_value: 0.2, utilisation: 0.7}
prices:
  rack: 3000 USD
  extras: {support: 8 %/year, storage: 40 kUSD, management: 300 USD/node, power: 5 kUSD/year}
"""


def of(found: Searched) -> Repricing:
    assert found.document.repricing is not None
    return found.document.repricing


def owned(found: Repricing, at: int) -> dict[str, float]:
    """What a point costs, summed part by part."""
    point, terms = found.points[at], found.terms
    years = terms.amortisation_years
    assert years is not None
    assert point.housed_w is not None
    assert terms.pue is not None
    assert terms.electricity_usd_per_kwh is not None
    hardware = 0.0
    for part, count in point.bought:
        hardware += (count or 0.0) * (found.parts[part].usd or 0.0)
    capital = hardware
    capital += hardware * (terms.extras.share[0] + terms.extras.share[1] * years)
    capital += terms.extras.once_usd[0] + terms.extras.once_usd[1] * years
    capital += point.hosts * (terms.extras.node_usd[0] + terms.extras.node_usd[1] * years)
    host = next((part.usd or 0.0 for part in found.parts if part.part == "host"), 0.0)
    hourly = point.servers * host / (years * 8760)
    for part, count in point.rented:
        hourly += (count or 0.0) * (found.parts[part].usd or 0.0) * terms.rent_share
    power = point.housed_w * terms.pue
    lost = capital - hardware * terms.residual_value
    tco = lost / (years * 8760 * terms.utilisation)
    tco += power * terms.electricity_usd_per_kwh / 1000
    return {"capital": capital, "hourly": hourly, "tco": tco, "power": power}


def test_a_rent_of_the_studys_term_is_embedded_as_paid(tmp_path: Path) -> None:
    """By hand: USD 2 an hour for a year; the page multiplies prices on demand by the share that
    the term costs, and draws no discount of this one."""
    own = "prices: {accelerators: {v100-sxm2-16gb: {hourly: {value: 2 USD/hour, term: 1-year}}}}\n"
    found = of(searched(tmp_path, study("hourly", f"{own}rental: 1-year\n")))
    rented = {part.part: part for part in found.parts if part.rented}
    part = rented.pop("v100-sxm2-16gb for rent")
    assert part.of_term
    assert (part.usd or 0.0) * found.terms.rent_share == pytest.approx(2.0)
    assert found.terms.rent_share < 1
    assert not any(other.of_term for other in rented.values())


OWN_HOST = """\
prices: {host: 9 kUSD, accelerators: {v100-sxm2-16gb: {host: 31 kUSD}}}
"""


@pytest.mark.parametrize("minimize", beyond(["tco", "per_run"], MINIMIZED))
@pytest.mark.parametrize("more", beyond([EXTRAS], ["", EXTRAS, OWN_HOST]))
def test_costs_follow_from_what_is_embedded(tmp_path: Path, minimize: str, more: str) -> None:
    found = searched(tmp_path, study(minimize, more))
    problem, document = found.outcome.problem, of(found)
    by_labels = {
        tuple(labels_of(problem, values).items()): values
        for values in (problem.space.point(at) for at in range(problem.space.size))
    }
    for at, point in enumerate(document.points):
        values = by_labels[tuple(point.config.items())]
        exact = problem.point(values)
        for name, value in owned(document, at).items():
            assert value == pytest.approx(exact[name].item(), rel=1e-12), name
        assert point.numbers["speedup"] == exact["speedup"].item()
        if minimize == "per_run":
            assert point.numbers["billed_s"] == exact.billed_s.item()
    assert document.points[document.recommended].config == found.document.recommended.config


def test_cables_between_switches_may_be_moved_by_themselves(tmp_path: Path) -> None:
    prices = "prices: {fabrics: {10gbe: {uplink: 950 USD, switch_port: 500 USD}}}\n"
    many = study("capital", prices).replace("gpus: [1, 2, 3, 4, 8, 16]", "gpus: [16, 64, 256]")
    many = many.replace('"capital <= 200 kUSD", ', "").replace('"global_batch <= 2048"', "")
    found = searched(tmp_path, many.replace("gpus_per_node: [1, 4]", "gpus_per_node: [1]"))
    document = of(found)
    assert "uplink of 10gbe" in {part.part for part in document.parts}
    labels = {label(document, part) for part in document.parts}
    assert any(text.startswith("Cable between switches, 10 Gbps") for text in labels)
    problem = found.outcome.problem
    by_labels = {
        tuple(labels_of(problem, values).items()): values
        for values in (problem.space.point(at) for at in range(problem.space.size))
    }
    for at, point in enumerate(document.points):
        exact = problem.point(by_labels[tuple(point.config.items())])["capital"].item()
        assert owned(document, at)["capital"] == pytest.approx(exact, rel=1e-12)


def test_what_is_not_bought_is_no_part_of_a_point(tmp_path: Path) -> None:
    problem = searched(tmp_path, study("capital")).outcome.problem
    points = problem.points_at({**problem.study.baseline.values, "gpus": 4, "gpus_per_node": 4})
    alone = composition(points)
    assert [(price.part, count) for price, count in alone.bought] == [
        ("p100-sxm2-16gb", 4.0), ("host", 1.0)
    ]  # fmt: skip
    assert (alone.servers, alone.hosts) == (0.0, 1.0)


def test_draws_are_the_first_of_the_intervals(tmp_path: Path) -> None:
    found = searched(tmp_path, study("capital"))
    document = of(found)
    drawn = np.frombuffer(base64.b64decode(document.drawn.columns["speedup"]), "<f4")
    shares = drawn.reshape(DRAWS, len(document.points))[:, document.recommended]
    interval = found.document.recommended.interval
    best = document.points[document.recommended].numbers["speedup"]
    assert interval is not None
    assert interval.speedup is not None
    assert best is not None
    assert np.percentile(shares, 5) * best == pytest.approx(interval.speedup[0], rel=0.1)
    assert np.percentile(shares, 95) * best == pytest.approx(interval.speedup[1], rel=0.1)


@pytest.mark.parametrize(
    "objectives",
    ["{maximize: speedup, minimize: step}", "{maximize: throughput, minimize: time_to_target}"],
)
def test_where_no_price_counts_there_is_nothing_to_move(tmp_path: Path, objectives: str) -> None:
    text = (
        study("capital", "target: {samples: 50e6}\n")
        .replace("{maximize: speedup, minimize: capital}", objectives)
        .replace('"capital <= 200 kUSD", ', "")
    )
    found = searched(tmp_path, text).document
    assert found.repricing is None
    assert facts(found) is None
    assert 'id="repricing"' not in render_page(found)


def test_a_limit_on_money_may_be_moved_where_the_study_compares_none(tmp_path: Path) -> None:
    found = searched(tmp_path, study("step")).document
    assert found.repricing is not None
    assert found.repricing.limits == ("capital <= 200 kUSD",)


def test_documents_keep_it_and_older_ones_do_not_have_it(tmp_path: Path) -> None:
    found = searched(tmp_path, study("tco")).document
    plain = json_form.plain(found)
    assert json_form.parsed(RunDocument, plain) == found
    assert len(json.dumps(plain["repricing"])) < 400_000
    del plain["repricing"]
    older: Any = json_form.parsed(RunDocument, plain)
    assert older.repricing is None
    assert 'id="repricing"' not in render_page(older)
    assert document().repricing is None


def test_page_and_text_have_the_prices(tmp_path: Path) -> None:
    found = searched(tmp_path, priced_anew(study("tco"))).document
    page, text = render_page(found), render_markdown(found)
    assert len(page.encode()) < MOST_BYTES
    assert 'value="7300.5"' in page
    assert "| Port of a switch, 10 Gbps Ethernet | 33 USD |" in text
    assert "| Network card of the study | 200 USD |" in text
    assert "does not depend on" not in text
    assert "does not depend on the electricity, the PUE and the amortisation" in render_markdown(
        searched(tmp_path, study("capital")).document
    )


def test_hosts_of_an_accelerator_have_their_own_price_in_page_and_text(tmp_path: Path) -> None:
    found = searched(tmp_path, study("capital", OWN_HOST)).document
    assert 'value="31000"' in render_page(found)
    text = render_markdown(found)
    assert "| Host of NVIDIA Tesla V100 SXM2 16 GB | 31000 USD |" in text
    assert "| Host | 9000 USD |" in text


def test_the_page_says_what_counts_at_a_price_of_ones_own_alone(tmp_path: Path) -> None:
    mixed = study("capital").replace("[p100-sxm2-16gb, v", "[a100-sxm4-40gb, v")
    told = render_markdown(searched(tmp_path, mixed).document)
    assert "price of your own: NVIDIA Tesla V100 SXM2 16 GB." in told
    assert "No longer sold new, so counted" not in render_markdown(
        searched(tmp_path, study("capital")).document
    )


def test_the_page_has_all_that_another_price_may_bring_within_a_budget(tmp_path: Path) -> None:
    """Also what misses it by little, which is near the front in every draw but not feasible."""
    found = searched(tmp_path, study("capital"))
    problem = found.outcome.problem
    offered = {json.dumps(point.config, sort_keys=True) for point in of(found).points}
    wanted = [labels_of(problem, values) for values in _other_fronts(problem)]
    prices = [float(problem.point(values)["capital"][0]) for values in _other_fronts(problem)]
    assert max(prices) > 200e3
    for config, usd in zip(wanted, prices, strict=True):
        assert json.dumps(config, sort_keys=True) in offered, usd
