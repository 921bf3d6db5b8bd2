"""dse.pricing.aggregations.Choice: which of several profiles prices a point."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.calibration.evidence.joined import ByLayoutEvidence
from dse.errors import StudyError
from dse.pricing.load import load
from dse.pricing.problem import Problem
from tests.pricing import studies

STUDY = """\
study: two
workload: bert-large-s128
calibration: {calibration}
space:
  accelerator: [a100-sxm4-40gb, h100-sxm]
  gpus: [1, 8, 16, 64]
  gpus_per_node: [8]
  nics_per_node: [8]
  inter_node: [ib-hdr, 200gbe]
  batch_per_gpu: [16]
  aggregation: [{aggregation}]
baseline: {{accelerator: h100-sxm, gpus: 1}}
objectives: {{maximize: speedup, minimize: capital}}
"""


def problem(folder: Path, calibration: str, aggregation: str = "auto-nccl") -> Problem:
    text = STUDY.format(calibration=calibration, aggregation=aggregation)
    return load(studies.written(folder, text))


def priced_by(problem: Problem, **values: Any) -> str | None:
    """Name of the profile that prices the baseline with other values."""
    points = problem.points_at({**problem.study.baseline.values, **values})
    evidence = points.summing.evidence
    if isinstance(evidence, ByLayoutEvidence):
        ((part, _),) = evidence.used(points.gradients, points)
        return part.profile.name if part.profile else None
    return evidence.profile.name if evidence.profile else None


def comm_s(problem: Problem, **values: Any) -> float:
    points = problem.points_at({**problem.study.baseline.values, **values})
    return float(np.ravel(points.step_time().comm_s)[0])


def test_each_layout_has_the_half_that_was_measured_there(tmp_path: Path) -> None:
    """One profile of a node and one of several nodes of the same accelerators are a whole."""
    both = problem(tmp_path, "[polaris-ofi, a100-node]")
    one, many = ({"gpus": gpus, "accelerator": "a100-sxm4-40gb"} for gpus in (8, 64))
    assert priced_by(both, **one) == "a100-node"
    assert priced_by(both, **many) == "polaris-ofi"
    alone, bare = problem(tmp_path, "[a100-node]"), problem(tmp_path, "[]")
    assert comm_s(both, **one) == comm_s(alone, **one)
    assert comm_s(both, **many) != comm_s(bare, **many) == comm_s(alone, **many)


def test_what_is_of_another_kind_than_measured_takes_the_catalogues_price(tmp_path: Path) -> None:
    """Another accelerator, another kind of network, or several nodes where one was measured."""
    bare = problem(tmp_path, "[]")
    for name, here, elsewhere in (
        ("h100-node", {"gpus": 8}, {"gpus": 8, "accelerator": "a100-sxm4-40gb"}),
        ("polaris-ofi", {"gpus": 64, "accelerator": "a100-sxm4-40gb"}, {"gpus": 64}),
        ("polaris-ofi", {"gpus": 16, "accelerator": "a100-sxm4-40gb", "inter_node": "200gbe"},
         {"gpus": 8, "accelerator": "a100-sxm4-40gb"}),
        ("h100-cluster01", {"gpus": 64}, {"gpus": 64, "accelerator": "a100-sxm4-40gb"}),
    ):  # fmt: skip
        measured = problem(tmp_path, f"[{name}]")
        assert priced_by(measured, **here) == name
        assert priced_by(measured, **elsewhere) is None
        assert comm_s(measured, **elsewhere) == comm_s(bare, **elsewhere)


def test_another_kind_of_network_takes_the_catalogues_price(tmp_path: Path) -> None:
    efa = problem(tmp_path, "[aws-p5-efa]")
    assert priced_by(efa, gpus=64) is None
    by_name = problem(tmp_path, "{ib-hdr: aws-p5-efa}")
    assert priced_by(by_name, gpus=64, inter_node="ib-hdr") == "aws-p5-efa"


def test_a_profile_for_a_network_applies_there_whatever_it_measured(tmp_path: Path) -> None:
    named = problem(tmp_path, "{ib-hdr: [polaris-ofi]}")
    assert priced_by(named, gpus=64, inter_node="ib-hdr") == "polaris-ofi"
    assert priced_by(named, gpus=64, inter_node="200gbe") is None


def test_each_accelerator_has_its_own(tmp_path: Path) -> None:
    for order in ("[h100-node, a100-node]", "[a100-node, h100-node]"):
        both = problem(tmp_path, order)
        assert priced_by(both, gpus=8, accelerator="a100-sxm4-40gb") == "a100-node"
        assert priced_by(both, gpus=8, accelerator="h100-sxm") == "h100-node"
        assert comm_s(both, gpus=8, accelerator="a100-sxm4-40gb") > comm_s(both, gpus=8)


def test_networks_by_name_tell_two_vendors_apart(tmp_path: Path) -> None:
    by_name = problem(
        tmp_path, "{ib-hdr: [polaris-ofi, h100-node], 200gbe: [polaris-tcp, h100-node]}"
    )
    assert priced_by(by_name, gpus=64, inter_node="ib-hdr") == "polaris-ofi"
    assert priced_by(by_name, gpus=64, inter_node="200gbe") == "polaris-tcp"
    assert comm_s(by_name, gpus=64, inter_node="ib-hdr") < comm_s(
        by_name, gpus=64, inter_node="200gbe"
    )
    assert priced_by(by_name, gpus=8) == "h100-node"


def test_the_catalogue_prices_networks_that_no_profile_is_for(tmp_path: Path) -> None:
    profile = Path(__file__).parents[1] / "golden/calibrations/this-machine.yaml"
    only = problem(tmp_path, f'{{ib-hdr: "{profile}"}}', "ring-mpi")
    assert priced_by(only, gpus=64, inter_node="ib-hdr") == "this-machine"
    assert priced_by(only, gpus=64, inter_node="200gbe") is None
    bare = problem(tmp_path, "[]", "ring-mpi")
    assert comm_s(only, gpus=64, inter_node="200gbe") == comm_s(bare, gpus=64, inter_node="200gbe")


@pytest.mark.parametrize("links", ["ib-hdr, 200gbe", "200gbe, ib-hdr"])
def test_rules_choose_on_networks_that_no_profile_is_for(tmp_path: Path, links: str) -> None:
    text = STUDY.replace("ib-hdr, 200gbe", links)
    only, bare = (
        load(studies.written(tmp_path, text.format(calibration=named, aggregation="auto-nccl")))
        for named in ("{ib-hdr: polaris-ofi}", "[]")
    )
    at = {"gpus": 64, "accelerator": "a100-sxm4-40gb"}
    assert priced_by(only, **at, inter_node="ib-hdr") == "polaris-ofi"
    assert priced_by(only, **at, inter_node="200gbe") is None
    found = comm_s(only, **at, inter_node="200gbe")
    assert np.isfinite(found)
    assert found == comm_s(bare, **at, inter_node="200gbe")
    points = [only.space.point(index) for index in range(only.space.size)]
    alone = [float(only.point(point)["step"][0]) for point in points]
    (box,) = only.space.boxes(1 << 20)
    grid = np.broadcast_to(only.box(box)["step"], box.shape).ravel()
    np.testing.assert_array_equal(grid, alone)


def test_a_grid_and_a_company_have_the_prices_of_each_point(tmp_path: Path) -> None:
    both = problem(tmp_path, "[aws-p5-efa, aws-p5-node, a100-node]")
    points = [both.space.point(index) for index in range(both.space.size)]
    alone = [float(both.point(point)["step"][0]) for point in points]
    ((where, together),) = both.rows(points)
    np.testing.assert_array_equal(np.broadcast_to(together["step"], where.shape), alone)
    (box,) = both.space.boxes(1 << 20)
    grid = np.broadcast_to(both.box(box)["step"], box.shape).ravel()
    np.testing.assert_array_equal(grid, alone)


def test_draws_of_several_profiles_go_together(tmp_path: Path) -> None:
    """As many of each, whatever its file holds."""
    both = problem(tmp_path, "[h100-node, a100-node]")
    point = {**both.study.baseline.values, "gpus": 8}
    drawn = both.sampled.point(point, speedup=False)["step"]
    assert drawn.shape == (both.sampled.draws, 1)
    assert np.isfinite(drawn).all()


@pytest.mark.parametrize(
    ("calibration", "said"),
    [
        ("{ib-hdrr: h100-node}", "ib-hdr"),
        ("{ib-hdr: h100-nod}", "no calibration profile 'h100-nod'"),
        ("{ib-hdr: [h100-node, h100-node]}", "duplicate"),
    ],
)
def test_mistakes_are_told_where_they_are(tmp_path: Path, calibration: str, said: str) -> None:
    with pytest.raises(StudyError) as caught:
        problem(tmp_path, calibration)
    assert said in str(caught.value)
    assert caught.value.line == 3
