"""What accelerators that work together lose, in a study: fitted to published runs, or ideal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse import catalog, load_study
from dse.model.scale import IDEAL, Scale, largest_of
from dse.pricing.aggregations import few_nodes
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.study.space import Box
from tests.calibration.library_profiles import profile
from tests.pricing import studies
from tests.pricing.priced import point

AGGREGATIONS = ["ring-mpi", "halving-doubling-gloo", "ps-grpc", "auto-nccl", "horovod-mpi"]
STUDY = (
    studies.SMALL.replace(
        "[ring-mpi, halving-doubling-gloo, ps-grpc]", f"[{', '.join(AGGREGATIONS)}]"
    )
    .replace("  bucket: [4 MiB, 25 MiB]\n", "")
    .replace(", bucket: 25 MiB", "")
)


def problem(folder: Path, text: str = STUDY, more: str = "") -> Problem:
    return load(studies.written(folder, text + more))


def boxes(of: Problem) -> list[Box]:
    return list(of.space.boxes(1 << 18))


def test_the_terms_of_the_catalogue_are_on_unless_a_study_says_ideal(tmp_path: Path) -> None:
    terms = catalog.scale_terms()
    assert problem(tmp_path).scale == Scale(
        terms.spread.value, terms.slowdown.value, terms.sharing.value, terms.cloud_sharing.value
    )
    assert problem(tmp_path, more="scale: ideal\n").scale == IDEAL
    translating = STUDY.replace("fits_memory, ", "").replace("resnet50", "gnmt-v2")
    varying = problem(tmp_path, translating)
    assert varying.scale.spread == terms.varying_spread.value > terms.spread.value
    for term in (terms.spread, terms.varying_spread, terms.slowdown, terms.sharing):
        assert term.value > 0
        assert term.draws > 0


def test_no_aggregation_is_faster_than_by_ideal_scale_nor_than_without_communication(
    tmp_path: Path,
) -> None:
    fitted = problem(tmp_path)
    wide = replace(fitted, scale=Scale(0.1, 1.5, 0.5))
    ideal = replace(fitted, scale=IDEAL)
    for box in boxes(fitted):
        placed = [of.placed(box) for of in (ideal, fitted, wide)]
        steps = [points.step_time().step_s for points in placed]
        assert np.all((steps[1] >= steps[0]) | np.isnan(steps[0]))
        assert np.all((steps[2] >= steps[1]) | np.isnan(steps[1]))
        for points, step in zip(placed, steps, strict=True):
            bound = points.without_communication().step_s
            assert np.all((step >= bound) | np.isnan(step))
            terms = points.step_time()
            parts = (terms.compute_s, terms["slowed_s"], terms["waiting_s"], terms["exposed_s"],
                     terms["optimizer_s"], terms["stalled_s"])  # fmt: skip
            np.testing.assert_allclose(
                np.broadcast_to(sum(parts), step.shape), step, rtol=1e-9, equal_nan=True
            )


def test_one_accelerator_loses_nothing(tmp_path: Path) -> None:
    fitted = problem(tmp_path)
    alone = [
        np.asarray(of.point(point(of, gpus=1))["step"])
        for of in (fitted, replace(fitted, scale=IDEAL))
    ]
    assert alone[0] == alone[1]


def test_a_step_waits_for_the_slowest_of_all(tmp_path: Path) -> None:
    fitted = replace(problem(tmp_path), scale=Scale(spread=0.02))
    for gpus in (2, 8, 16):
        terms = fitted.point(point(fitted, gpus=gpus)).step
        expected = 0.02 * largest_of(gpus) * terms.compute_s
        np.testing.assert_allclose(terms["waiting_s"], expected, rtol=1e-12)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_many_nodes_share_what_few_have_alone(tmp_path: Path, aggregation: str) -> None:
    ideal = replace(problem(tmp_path), scale=IDEAL)
    shared = replace(ideal, scale=Scale(sharing=0.5))
    two, four = (
        [
            float(np.ravel(of.point(point(of, gpus=nodes, gpus_per_node=1,
                                          aggregation=aggregation)).step.comm_s)[0])
            for of in (ideal, shared)
        ]
        for nodes in (2, 16)
    )  # fmt: skip
    assert two[0] == two[1]
    assert four[0] < four[1] < four[0] * 8**0.5 * (1 + 1e-9)


def test_tenants_of_a_cloud_share_the_ethernet_that_a_node_is_rented_on() -> None:
    """Not InfiniBand, a network that the study names, nor one that sockets leave idle."""
    terms = catalog.scale_terms()
    for name, chosen, usual in (
        ("aws-p5.48xlarge", "", terms.cloud_sharing), ("aws-p3.16xlarge", "", terms.sharing),
        ("azure-nd96isr-h100-v5", "", terms.sharing), ("aws-p5.48xlarge", "ib-ndr", terms.sharing),
    ):  # fmt: skip
        space = {"node": name, "gpus": 512, "batch_per_gpu": 64, "aggregation": "auto-nccl"}
        space |= {"inter_node": chosen} if chosen else {}
        of = load_study({
            "study": "cloud", "workload": "resnet50", "space": space,
            "objectives": {"maximize": "throughput", "minimize": "power"},
        }).problem  # fmt: skip
        at = of.points_at({axis.name: axis.values[0] for axis in of.study.axes})
        assert np.ravel(at.sharing) == usual.value
        assert np.ravel(at.sharing_spread) == usual.draws


def test_a_network_is_as_fast_as_measured_up_to_as_many_nodes() -> None:
    assert few_nodes(None) == 2
    assert few_nodes(replace(profile(), max_nodes=8)) == 8
    assert few_nodes(replace(profile(), max_nodes=1)) == 2


def test_the_closed_model_knows_of_none(tmp_path: Path) -> None:
    closed = STUDY.replace("study: small", "study: small\nmodel: pai")
    assert problem(tmp_path, closed).scale == IDEAL
