"""Rental in a study: terms, whole machines, what a run is billed, spot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dse
from dse import catalog
from dse.errors import StudyError
from dse.pricing.draws import DRAWS
from dse.pricing.load import load
from dse.pricing.problem import Problem
from tests.pricing import studies
from tests.pricing.priced import point

TARGET = "target: {samples: 1e8}\n"
H100 = (
    studies.SMALL.replace("[p100-sxm2-16gb, v100-sxm2-16gb]", "[p100-sxm2-16gb, h100-sxm]") + TARGET
)


def problem(folder: Path, more: str = "", text: str = H100) -> Problem:
    return load(studies.written(folder, text + more))


def priced(of: Problem, name: str, **values: object) -> float:
    return float(np.ravel(of.point(point(of, **values))[name])[0])


def test_machines_are_rented_whole(tmp_path: Path) -> None:
    """An H100 of a p5 is an eighth of a machine of which nobody rents an eighth."""
    usual = problem(tmp_path)
    each = usual.prices.accelerator_hourly_usd["h100-sxm"].value
    assert each is not None
    one = {"accelerator": "h100-sxm", "gpus_per_node": 1, "aggregation": "ring-mpi"}
    assert priced(usual, "hourly", gpus=1, **one) == pytest.approx(8 * each)
    assert priced(usual, "hourly", gpus=3, **one) == pytest.approx(24 * each)
    four = {**one, "gpus_per_node": 4}
    assert priced(usual, "hourly", gpus=8, **four) == pytest.approx(16 * each)
    singly = problem(tmp_path, "rental: {rented_in: 1}\n")
    assert priced(singly, "hourly", gpus=3, **one) == pytest.approx(3 * each)
    old = usual.prices.accelerator_hourly_usd["p100-sxm2-16gb"].value
    assert old is not None
    singles = {**one, "accelerator": "p100-sxm2-16gb"}
    assert priced(usual, "hourly", gpus=3, **singles) == pytest.approx(3 * old)


def test_a_term_is_a_share_of_the_price_on_demand(tmp_path: Path) -> None:
    whole = priced(problem(tmp_path), "hourly")
    known = catalog.rental_facts()
    assert known.discount("marketplace", "spot") == known.discount("neocloud", "spot")
    for term, discount in known.discounts["hyperscaler"].items():
        found = priced(problem(tmp_path, f"rental: {term}\n"), "hourly")
        assert found == pytest.approx(whole * (1 - discount.value))
        assert 0 < discount.value < 1
    own = problem(tmp_path, "rental: {term: 1-year, discount: 0.2}\n")
    assert priced(own, "hourly") == pytest.approx(0.8 * whole)
    assert np.ndim(own.sampled.rental().share_of(None)) == 0
    unsure = problem(tmp_path, "rental: 1-year\n").sampled.rental().share_of(None)
    assert np.shape(unsure) == (DRAWS,)


def test_spot_machines_are_taken_away_and_not_paid_meanwhile(tmp_path: Path) -> None:
    """By hand: machines stay 3 h and are away for 1 h, so they are held 3/4 of the time. Each time
    costs 10 min to recover and 20 min to start. A checkpoint takes 1 min and is due every
    sqrt(360) (1 + sqrt(1 / 360) / 3 + 1 / 3240) - 1 = 18.313 min. Of the time that they are held,
    18.313 / (180 * exp(30 / 180) * (exp(19.313 / 180) - 1)) = 76.036 % trains; 3/4 of it is
    57.027 %."""
    more = (
        "failures: {per_accelerator_month: 0, per_job_day: 0, recover: 10 min, checkpoint: 1 min}\n"
        "rental: {term: spot, discount: 0.6, spell: 3 h, wait: 1 h, start_up: 20 min}\n"
    )
    found = problem(tmp_path, more)
    at = found.point(point(found, gpus=16))
    assert float(at["goodput"][0]) == pytest.approx(0.57027, abs=1e-5)
    assert float(at.running.held[0]) == 0.75
    took = float(at["time_to_target"][0])
    due = float(np.ravel(at["hourly"])[0]) * (0.75 * took + 1200) / 3600
    assert float(at["per_run"][0]) == pytest.approx(due, rel=1e-3)
    watts = float(np.ravel(at["power"])[0])  # what is away draws nothing
    assert float(at["energy"][0]) == pytest.approx(watts * 0.75 * took)


def test_more_spot_machines_stay_together_for_less_time(tmp_path: Path) -> None:
    found = problem(tmp_path, "rental: spot\n")
    shares = [priced(found, "goodput", gpus=gpus, gpus_per_node=1) for gpus in (1, 4, 16)]
    assert 0.2 < shares[2] < shares[1] < shares[0] < 0.7
    low, high = np.percentile(
        next(iter(found.sampled.rows([point(found, gpus=16)], speedup=False)))[1]["goodput"],
        (5, 95),
    )
    assert low < shares[2] < high


AXIS = "rental "  # beside a space that has it
SPACE = H100.replace("when:\n", "  rental: [on-demand, spot, 1-year]\nwhen:\n")


def test_terms_are_an_axis_whose_points_cost_what_each_term_alone_costs(tmp_path: Path) -> None:
    own = "prices: {accelerators: {h100-sxm: {hourly: {value: 1.5 USD/hour, term: spot}}}}\n"
    several = problem(tmp_path, f"{own}rental: {{discount: {{1-year: 0.3}}, spell: 5 h}}\n",
                      SPACE.replace("minimize: capital", "minimize: per_run"))  # fmt: skip
    found = several.box(next(several.space.boxes(10**6)))
    slab = several.space.slabs[0]
    axis = [one.name for one in slab.axes].index("rental")
    for at, term in enumerate(("on-demand", "{term: spot, spell: 5 h}",
                               "{term: 1-year, discount: 0.3}")):  # fmt: skip
        alone = problem(tmp_path, f"{own}rental: {term}\n",
                        H100.replace("minimize: capital", "minimize: per_run"))  # fmt: skip
        box, shape = alone.box(next(alone.space.boxes(10**6))), alone.space.slabs[0].shape
        assert several.space.size == 3 * alone.space.size
        for name in ("hourly", "per_run", "time_to_target", "goodput", "energy", "throughput"):
            one = np.broadcast_to(found[name], slab.shape).take([at], axis=axis)
            other = np.broadcast_to(box[name], shape)
            np.testing.assert_allclose(np.ravel(one), np.ravel(other), rtol=1e-12)
        values = {**point(alone, accelerator="h100-sxm"), "rental": slab.axes[axis].values[at]}
        drawn = (of.sampled.point(values, speedup=False)["per_run"] for of in (several, alone))
        np.testing.assert_allclose(*map(np.ravel, drawn), rtol=1e-12)


def test_a_layout_is_chosen_with_the_term_that_it_is_rented_on(tmp_path: Path) -> None:
    text = """\
study: s
workload: llama3-8b
space: {node: [dgx-h100, aws-p5.48xlarge], gpus: [32, 64], tensor_parallel: [1, 2],
        global_batch: 256, rental: [on-demand, spot]}
objectives: {maximize: speedup, minimize: hourly}
target: {tokens: 1e9}
"""
    found = dse.run(studies.written(tmp_path, text), out=tmp_path / "out", executor="local")
    assert {point["config"]["rental"] for point in found["front"]} == {"spot", "on-demand"}


def test_a_term_alone_counts_where_nothing_is_rented(tmp_path: Path) -> None:
    bought = problem(tmp_path, "", f"{SPACE}what_if: rental\n")
    assert bought.space.size == problem(tmp_path).space.size
    assert bought.study.what_if is None
    assert any("nothing is rented" in line for line in bought.study.told)
    limited = problem(tmp_path, "", SPACE.replace("capital <= 350 kUSD", "hourly <= 90 USD/hour"))
    assert limited.space.size == 3 * bought.space.size


def test_a_discount_is_that_of_the_sellers_of_the_machine(tmp_path: Path) -> None:
    """A cloud's node type keeps its own price, and its own class's terms."""
    space = "node: [dgx-h100, aws-p5.48xlarge], gpus: [8, 16], batch_per_gpu: 32"
    text = f"study: s\nworkload: resnet50\nspace: {{{space}, aggregation: auto-nccl}}\n"
    text += "rent_class: neocloud\nobjectives: {maximize: speedup, minimize: hourly}\n"
    usual, year = (problem(tmp_path, f"rental: {term}\n", text) for term in ("on-demand", "1-year"))
    known = catalog.rental_facts().discounts
    for node, kind in (("dgx-h100", "neocloud"), ("aws-p5.48xlarge", "hyperscaler")):
        share = priced(year, "hourly", node=node) / priced(usual, "hourly", node=node)
        assert share == pytest.approx(1 - known[kind]["1-year"].value), node


@pytest.mark.parametrize(
    ("section", "given", "words"),
    [
        ("rental", "reserved", "no such term"),
        ("rental", "{term: weekly}", "no such term"),
        ("rental", "{minimum: 1 GB}", "minimum: "),
        ("rental", "{minimum: -1 h}", "minimum: '-1 h' is negative"),
        ("rental", "{discount: 1.5}", "discount: 1.5 is beyond"),
        ("rental", "{discount: -0.1}", "discount: -0.1 is negative"),
        ("rental", "{rented_in: 2.5}", "rented_in: 2.5 is not a whole number"),
        ("rental", "{rented_in: 0}", "rented_in: 0 is zero"),
        ("rental", "{spell: 2 h}", "spell is of spot machines"),
        (
            "rental",
            "{term: 1-year, start_up: 10 min}",
            "start_up is of machines that are rented",
        ),
        ("rental", "{hours: 2}", "unknown key 'hours'"),
        ("rental", "[spot, 1-year]", "rental: a list is not a name"),
        (AXIS, "spot", "rental stands in space, too"),
        (AXIS, "{term: spot}", "rental stands in space, too"),
        (AXIS, "{discount: 0.3}", "discount of several terms; write for each"),
        (AXIS, "{discount: {3-year: 0.3}}", "unknown key '3-year'"),
        ("ownership", "{residual_value: 1.2}", "residual_value: 1.2 is more than 1"),
        ("ownership", "{utilisation: 0}", "utilisation: 0 is zero"),
        ("ownership", "{utilisation: -1}", "utilisation: -1 is negative"),
        ("ownership", "{years: 3}", "unknown key 'years'"),
    ],
)
def test_bad_terms_are_one_clear_line(tmp_path: Path, section: str, given: str, words: str) -> None:
    text = SPACE if section == AXIS else H100
    with pytest.raises(StudyError) as caught:
        problem(tmp_path, f"{section.strip()}: {given}\n", text)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.line == text.count("\n") + 1


def test_what_is_left_and_how_much_it_is_used_are_in_the_cost_of_ownership(tmp_path: Path) -> None:
    usual = problem(tmp_path)
    other = problem(tmp_path, "ownership: {residual_value: 0.3, utilisation: 0.5}\n")
    years = usual.prices.amortisation_years.value
    assert years is not None
    bought = priced(usual, "capital") / (years * 8760)
    electricity = priced(usual, "tco") - bought * 1.4  # with operation
    assert priced(other, "tco") == pytest.approx(bought * 1.1 / 0.5 + electricity)
    assert priced(other, "capital") == priced(usual, "capital")


@pytest.mark.parametrize("term", ["1-year", "3-year"])
def test_the_machines_of_a_commitment_stand_there_and_are_paid_all_the_time(
    tmp_path: Path, term: str
) -> None:
    rents = H100.replace("minimize: capital", "minimize: per_run") + f"rental: {term}\n"
    busy, idle = (
        problem(tmp_path, more, rents) for more in ("", "ownership: {utilisation: 0.25}\n")
    )
    at = busy.point(point(busy))
    assert float(at["time_to_target"][0]) == pytest.approx(float(np.ravel(at.running_s)[0]))
    hours = priced(busy, "time_to_target") / 3600
    assert priced(busy, "per_run") == pytest.approx(priced(busy, "hourly") * hours)
    # In use for a quarter of the hours, which are all paid.
    assert priced(idle, "hourly") == priced(busy, "hourly")
    assert priced(idle, "per_run") == pytest.approx(4 * priced(busy, "per_run"))
    assert priced(idle, "time_to_target") == priced(busy, "time_to_target")
    on_demand = problem(
        tmp_path, "rental: {start_up: 1 h}\n", rents.replace(f"rental: {term}\n", "")
    )
    assert priced(on_demand, "time_to_target") == pytest.approx(hours * 3600 + 3600)
