"""Sums of gradients of layouts: by the study's aggregation, with its profile and its evidence."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.calibration.evidence import Grade
from dse.catalog.stacks import layout_stacks
from dse.model.parallel.exchanges import Tiers
from dse.pricing.laid_out import LaidOut
from dse.pricing.load import load
from dse.pricing.points import Points
from dse.pricing.problem import Problem
from dse.report.points import explained
from tests.pricing import studies

STUDY = """\
study: sums
workload: llama3.2-1b
calibration: [{profile}]
space:
  node: aws-p5.48xlarge
  gpus: [8, 16, 64]
  stack: [nanotron, megatron, vendor]
  aggregation: [auto-nccl, ring-nccl, tree-nccl, ring-mpi]
  bucket: [1 MiB, 25 MiB]
  zero: [0, 1]
  global_batch: 64
{degrees}
objectives: {{maximize: speedup, minimize: hourly}}
"""
DEGREES = "  tensor_parallel: [1, 2, 8]\n  pipeline_parallel: [1, 2]"


def problem(folder: Path, profile: str = "aws-p5-efa", degrees: str = "") -> Problem:
    text = STUDY.format(profile=profile, degrees=degrees)
    if degrees:
        text = text.replace(", vendor]", "]")
    return load(studies.written(folder, text))


def at(found: Problem, **values: Any) -> Points:
    base = found.study.baseline.values
    own = {"micro_batch": None, "zero": "0", "stack": "nanotron", **values}
    names = {str(n): n for n in found.study.values("aggregation")}
    if "aggregation" in own:
        own["aggregation"] = names[own["aggregation"]]
    return found.points_at({**base, **{k: v for k, v in own.items() if v is not None}})


def layout(found: Problem, **values: Any) -> LaidOut:
    points = at(found, **values)
    assert isinstance(points, LaidOut)
    return points


def gradients_s(points: Points) -> float:
    return float(np.ravel(points.step_time()["gradients_s"])[0])


def test_data_parallel_layouts_sum_as_every_other_study_does(tmp_path: Path) -> None:
    """nanotron hides nothing, so that all of it is in the step."""
    found = problem(tmp_path)
    names = found.study.values("aggregation")
    for name, gpus, bucket in product(map(str, names), (8, 16, 64), (2.0**20, 25 * 2.0**20)):
        values = {"aggregation": name, "gpus": gpus, "bucket": bucket}
        one, other = layout(found, **values), at(found, stack="vendor", **values)
        if (name, gpus) == ("auto-nccl", 8):  # nobody measured one node
            assert "aggregation" in one.immaterial()
            continue
        assert gradients_s(one) == pytest.approx(float(other.step_time().comm_s[0]), rel=1e-9)
        assert {"aggregation", "bucket"}.isdisjoint(one.immaterial())
        assert one.grade().tolist() == np.broadcast_to(other.grade(), (1,)).tolist()
        assert one.why_outside() == other.why_outside()


def test_sharded_states_and_what_nobody_measured_stay_with_the_tiers(tmp_path: Path) -> None:
    found = problem(tmp_path)
    some, other = (gradients_s(layout(found, aggregation=name, gpus=16, zero="1"))
                   for name in ("auto-nccl", "tree-nccl"))  # fmt: skip
    assert some == other
    without = problem(tmp_path, "h100-node")  # of one node
    plain = layout(without, aggregation="auto-nccl", gpus=64)
    (one,) = plain.hardware
    tiers: Tiers = one.model.tiers
    whole = 4.0 * plain.problem.tables.model.params
    assert gradients_s(plain) == pytest.approx(
        tiers.all_reduce_s(one.layouts.mesh.gradients, whole).item(), rel=1e-6
    )
    assert plain.grade().tolist() == [Grade.CATALOGUE]
    assert plain.why_outside() == ["no profile of this study has measured the exchanges of layouts"]


def test_groups_share_the_cards_of_their_nodes(tmp_path: Path) -> None:
    """Eight tensor ranks a node: eight groups of one rank a node, with four of 32 cards each."""
    found = problem(tmp_path, degrees=DEGREES)
    split = layout(found, aggregation="ring-nccl", gpus=64, tensor_parallel=8)
    ((place, _),) = split._hardware
    data = split._data_group(place)
    assert data is not None
    (one,) = split.hardware
    own = data.layout(one.layouts.mesh.gradients)
    assert [v.item() for v in (own.gpus, own.gpus_per_node, np.asarray(own.rails))] == [8, 1, 4]
    alone = layout(found, aggregation="ring-nccl", gpus=64, tensor_parallel=1)
    assert gradients_s(split) > gradients_s(alone) / 8


def test_oversubscribed_leaves_hold_up_layouts(tmp_path: Path) -> None:
    """Groups that share a node's cards share its leaf's links up, too."""
    text = STUDY.format(profile="aws-p5-efa", degrees=DEGREES).replace(", vendor]", "]")
    text = text.replace("gpus: [8, 16, 64]", "gpus: [16, 512]\n  oversubscription: [1, 8]")
    text = text.replace("global_batch: 64", "global_batch: 512")
    found = load(studies.written(tmp_path, text))
    cases: list[dict[str, Any]] = [{"aggregation": "tree-nccl"}, {"zero": "1"},
                                   {"tensor_parallel": 8}]  # fmt: skip
    for gpus, values in product((16, 512), cases):
        free, held = (gradients_s(layout(found, gpus=gpus, oversubscription=n, **values))
                      for n in (1.0, 8.0))  # fmt: skip
        if gpus == 16:  # on one switch
            assert held == pytest.approx(free)
        else:
            assert held > 1.5 * free
    slower = []
    for tensor in (1, 8):
        one = layout(found, gpus=512, oversubscription=8.0, tensor_parallel=tensor)
        ((place, _, at_place),) = one._by_place
        data = one._data_group(place)
        assert data is not None
        leaf = data.layout(at_place.mesh.gradients).leaf
        assert leaf is not None
        slower.append(leaf.slower(1.0).item())
    assert slower[0] == pytest.approx(slower[1])
    assert slower[0] > 1


def test_only_what_was_not_measured_is_said(tmp_path: Path) -> None:
    found = problem(tmp_path, degrees=DEGREES)
    inside = layout(found, aggregation="auto-nccl", gpus=16, tensor_parallel=1)
    assert inside.grade().tolist() == [Grade.INSIDE]
    assert inside.why_outside() == []
    beyond = layout(found, aggregation="auto-nccl", gpus=64, tensor_parallel=1)
    assert beyond.grade()[0] > Grade.INSIDE
    assert any("64 ranks" in why for why in beyond.why_outside())
    split = layout(found, aggregation="auto-nccl", gpus=64, tensor_parallel=2)
    assert split.grade().tolist() == [Grade.CATALOGUE]


def test_sums_are_as_sure_as_their_evidence(tmp_path: Path) -> None:
    found = problem(tmp_path, degrees=DEGREES)

    def width(**values: Any) -> float:
        drawn = layout(found.sampled, aggregation="auto-nccl", **values)
        seconds = drawn.step_time()["gradients_s"]
        return float(np.std(np.log(np.broadcast_to(seconds, (found.sampled.draws, 1)))))

    near, far = (width(gpus=n, tensor_parallel=1, pipeline_parallel=1) for n in (16, 64))
    usual = width(gpus=16, zero="1", tensor_parallel=1)
    assert near < far
    assert near < 0.2 < usual
    assert usual == pytest.approx(layout_stacks()["nanotron"].exchange_spread, rel=0.1)


def test_a_grid_and_its_points_sum_alike(tmp_path: Path) -> None:
    found = problem(tmp_path, degrees=DEGREES)
    pick, seen = np.random.default_rng(0), 0
    for box in found.space.boxes(10**6):
        grid = found.box(box)
        step, grade = (np.broadcast_to(one, box.shape) for one in (grid["step"], grid.grade))
        for at in pick.choice(box.size, min(box.size, 2), replace=False):
            place = np.unravel_index(at, box.shape)
            alone = found.point(found.space.point(box.first + int(at)))
            assert alone["step"].item() == pytest.approx(step[place], nan_ok=True)
            assert alone.grade.item() == grade[place]
            seen += bool(np.isfinite(step[place]))
    assert seen > 20


@pytest.mark.parametrize("aggregation", ["horovod-mpi", "ps-grpc", "ring-gloo"])
def test_every_kind_of_aggregation_sums_layouts(tmp_path: Path, aggregation: str) -> None:
    """Approaches go tensor by tensor, servers and gloo by the memory of hosts."""
    text = STUDY.format(profile="aws-p5-efa", degrees="").replace("[1 MiB, 25 MiB]", "25 MiB")
    text = text.replace("[auto-nccl, ring-nccl, tree-nccl, ring-mpi]", f"[{aggregation}]")
    text = text.replace("  bucket: 25 MiB\n", "")
    found = load(studies.written(tmp_path, text))
    one, other = (at(found, gpus=16, stack=stack) for stack in ("nanotron", "vendor"))
    assert gradients_s(one) == pytest.approx(float(np.ravel(other.step_time().comm_s)[0]), rel=0.01)
    drawn = at(found.sampled, gpus=16, stack="nanotron").step_time()["gradients_s"]
    assert np.median(drawn) == pytest.approx(gradients_s(one), rel=0.1)
    assert np.std(drawn) > 0


def test_what_an_approach_of_layouts_takes_is_in_their_step(tmp_path: Path) -> None:
    """nanotron hides nothing, so that a step without sums is shorter by these."""
    text = STUDY.format(profile="aws-p5-efa", degrees="").replace("  bucket: [1 MiB, 25 MiB]\n", "")
    text = text.replace("[auto-nccl, ring-nccl, tree-nccl, ring-mpi]", "[horovod-mpi]")
    found = load(studies.written(tmp_path, text))
    values = {**found.study.baseline.values, "stack": "nanotron", "gpus": 16, "zero": "0"}
    known = explained(found, values)
    assert known.approach is not None
    for part, added in known.approach.items():
        assert 0 < (added or 0.0) < (known.terms["gradients_s"] or 0.0), part
