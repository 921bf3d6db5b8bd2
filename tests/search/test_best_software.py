"""The best software on given hardware, against every point priced one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from dse.pricing import constraints
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.search.best_software import best_software, missed
from dse.study import Value
from dse.study.axes import AXES, HARDWARE, SOFTWARE
from tests.pricing import studies

# Hardware that the space of studies.SMALL does not have.
OUTSIDE = studies.SMALL.replace("gpus: 4, gpus_per_node: 4", "gpus: 24, gpus_per_node: 8").replace(
    "accelerator: p100-sxm2-16gb, gpus: 24", "accelerator: a100-sxm4-40gb, gpus: 24"
)
TIGHT = studies.SMALL.replace('"global_batch <= 2048"', '"global_batch <= 2048", "power <= 1 W"')
SERVERS = studies.SMALL.replace("[ring-mpi, halving-doubling-gloo, ps-grpc]", "[ps-grpc]").replace(
    "values: [1, 2]", "values: [1, 2, 4]"
)


def by_hand(problem: Problem, owned: Mapping[str, Value | None]) -> float:
    """The gain of the best, from every combination of software by itself."""
    study = problem.study
    cost, bought = problem.point(owned).cost, problem.points_at(owned).bill.servers.item()
    names = [a.name for a in (*study.axes, *study.defaults) if a.name in SOFTWARE]
    found: list[tuple[int, float]] = []
    points = [dict(owned)]
    for values in product(*(study.axis(name).values for name in names)):  # type: ignore[union-attr]
        point = {**owned, **dict(zip(names, values, strict=True)), "ps_servers": None}
        servers = (1, 2, 4) if str(point["aggregation"]) == "ps-grpc" else (None,)
        points += [{**point, "ps_servers": count} for count in servers
                   if count is None or study.has("ps_servers", count)]  # fmt: skip
    for point in points:
        evaluation = replace(problem.point(point), paid=cost)
        failed = [name for name, mask in constraints.demands(evaluation, study) if not mask.all()]
        if problem.points_at(point).bill.servers.item() > bought:
            continue
        if not {constraints.COMPUTABLE, constraints.KNOWN, constraints.FITS} & set(failed):
            found.append((len(failed), -evaluation["speedup"].item()))
    return -min(found)[1]


@pytest.mark.parametrize("text", [studies.SMALL, OUTSIDE, TIGHT, SERVERS])
def test_it_is_the_fastest_on_that_hardware(tmp_path: Path, text: str) -> None:
    problem = load(studies.written(tmp_path, text))
    owned = problem.study.baseline.values
    found = best_software(problem, owned)
    assert found is not None
    assert problem.point(found)["speedup"].item() == pytest.approx(by_hand(problem, owned), 1e-12)
    assert all(found[axis] == owned[axis] for axis in HARDWARE if axis in owned)
    assert problem.points_at(found).bill.servers <= problem.points_at(owned).bill.servers
    assert ("power <= 1 W" in missed(problem, owned, found)) == (text == TIGHT)


def test_limits_on_what_is_bought_do_not_apply_to_what_stands_there(tmp_path: Path) -> None:
    """Buying nothing costs nothing; its electricity, power and time are still limited."""
    limits = (
        '"capital <= 1 USD"', '"tco <= 1 USD/hour"', '"tco <= 0.01 USD/hour"', '"power <= 1 W"',
        '"step <= 1 us"', '"capital <= 350 kUSD"',
    )  # fmt: skip
    text = studies.SMALL.replace('"capital <= 350 kUSD"', ", ".join(limits))
    problem = load(studies.written(tmp_path, text))
    owned = problem.study.baseline.values
    priced = problem.point(owned)
    assert priced["capital"] > 1
    assert priced["tco"] > 1
    found = missed(problem, owned, owned)
    assert found == ("tco <= 0.01 USD/hour", "power <= 1 W", "step <= 1 us")
    rented = text.replace("minimize: capital", "minimize: hourly").replace(
        '"tco <= 1 USD/hour"', '"hourly <= 0.01 USD/hour"'
    )
    renting = load(studies.written(tmp_path, rented))
    assert "hourly <= 0.01 USD/hour" in missed(renting, owned, owned), "rent is paid on"


def test_the_baseline_itself_wins_where_nothing_is_faster(tmp_path: Path) -> None:
    text = studies.SMALL.replace("[ring-mpi, halving-doubling-gloo, ps-grpc]", "[ps-grpc]")
    text = text.replace("batch_per_gpu: [32, 64, 256]", "batch_per_gpu: [1]")
    text = text.replace("precision: [fp32, fp16]", "precision: [fp32]")
    problem = load(studies.written(tmp_path, text))
    owned = problem.study.baseline.values
    found = best_software(problem, owned)
    assert found is not None
    assert {axis: found[axis] for axis in owned} == dict(owned)


def test_software_that_is_kept_stays(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, studies.SMALL))
    owned = problem.study.baseline.values
    found = best_software(problem, owned, ["precision"])
    assert found is not None
    assert found["precision"] == owned["precision"] == "fp32"
    assert problem.point(found)["speedup"] > 1


def test_continuous_axes_take_the_values_of_points_that_are_tried(tmp_path: Path) -> None:
    text = studies.SMALL.replace("bucket: [4 MiB, 25 MiB]",
                                 "bucket: {from: 1 MiB, to: 64 MiB, continuous: true}")  # fmt: skip
    problem = load(studies.written(tmp_path, text))
    owned = problem.study.baseline.values
    found = best_software(problem, owned, tried=[{**owned, "bucket": 2.0**20}])
    assert found is not None
    assert found["bucket"] in (25 * 2.0**20, 2.0**20)


def test_every_axis_is_software_or_hardware() -> None:
    assert sorted((*SOFTWARE, *HARDWARE)) == sorted(AXES)
    assert not set(SOFTWARE) & set(HARDWARE)
