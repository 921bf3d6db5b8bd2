"""dse.pricing.problem: the step models of a study; ``model: pai`` asks for the closed one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dse import Study
from dse.errors import StudyError
from dse.pricing.devices import software
from dse.pricing.load import load
from dse.pricing.problem import Problem
from tests.pricing import studies


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    return load(studies.written(tmp_path, studies.CLOSED))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("overlap: [none, ideal]", "overlap: [none, bucketed]", "model pai has no 'bucketed'"),
        ("sgd, aggregation: ps-grpc, overlap: none", "sgd, aggregation: ps-grpc, overlap: bucketed",
         "use none or ideal"),
        ("model: pai\n", "", "model calibrated has no 'ideal'; use bucketed or none"),
    ],
)  # fmt: skip
def test_an_overlap_of_the_other_model_is_refused(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(StudyError, match=said) as found:
        load(studies.written(tmp_path, studies.CLOSED.replace(old, new)))
    assert found.value.line > 0


def test_scattered_points_come_by_structure(tmp_path: Path) -> None:
    """Sizes of buckets share a structure, unless another axis depends on them."""
    together = load(studies.written(tmp_path))
    every = [together.space.point(at) for at in range(0, together.space.size, 7)]
    found = together.rows(every)
    structures = {(values["precision"], str(values["aggregation"])) for values in every}
    assert len(found) == len(structures)
    assert sorted(np.concatenate([where for where, _ in found])) == list(range(len(every)))
    for where, priced in found:
        sizes = np.broadcast_to(priced["bucket"], where.shape)
        assert sizes.tolist() == [every[at]["bucket"] for at in where]
    text = studies.SMALL.replace("{aggregation: ps-grpc}", "{bucket: 4 MiB}")
    apart = load(studies.written(tmp_path, text))
    assert len(apart.rows(every)) == 2 * len(structures)


def test_accumulated_passes_make_the_batch_larger_and_the_sum_no_dearer(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path))
    axes = {"gpus": 16, "gpus_per_node": 4, "accumulation": [1, 4], "precision": "fp16"}
    found = Study(problem).price(axes)
    assert found["accumulation"].tolist() == [1, 4]
    assert found["global_batch"][1] == 4 * found["global_batch"][0]
    for same in ("comm_s", "capital_usd", "memory_slack_bytes"):
        assert found[same][0] == found[same][1] > 0
    assert found["step_s"][0] < found["step_s"][1] < 4 * found["step_s"][0]
    assert found["speedup"][1] > found["speedup"][0]


def test_gradients_of_16_bits_cost_half_the_wire_and_less_memory(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path))
    point = {"gpus": 16, "gpus_per_node": 4, "aggregation": "ring-mpi", "precision": "fp16"}
    found = Study(problem).price([{**point, "gradient": name} for name in ("fp32", "fp16", "bf16")])
    wide, half, brain = (float(seconds) for seconds in found["comm_s"])
    assert 0.5 <= half / wide < 0.7
    assert half == brain
    spared = found["memory_slack_bytes"][1] - found["memory_slack_bytes"][0]
    slack = software("vendor").footprint.slack
    assert spared == pytest.approx((1 + slack) * 2 * problem.layers.total_params)


@pytest.mark.parametrize("axis", ["gradient", "precision"])
def test_formats_may_be_conditional(tmp_path: Path, axis: str) -> None:
    text = studies.SMALL.replace("  precision: [fp32, fp16]\n", "").replace("precision: fp32,", "")
    other = "precision: [fp32, fp16]" if axis == "gradient" else "gradient: [fp32, fp16]"
    text = text.replace("  bucket: [4 MiB", f"  {other}\n  bucket: [4 MiB").replace(
        "when:\n",
        f"when:\n  - {{axis: {axis}, values: [fp16, fp32], if: {{{other.split(':')[0]}: fp16}}}}\n",
    )
    problem = load(studies.written(tmp_path, text))
    found = Study(problem).price({other.split(":")[0]: ["fp32", "fp16"], "gpus": 8})
    assert np.all(np.isfinite(found["step_s"]))


@pytest.mark.parametrize("overlap", ["none", "ideal"])
def test_by_the_closed_model_earlier_passes_hide_no_communication(
    tmp_path: Path, overlap: str
) -> None:
    text = studies.SMALL.replace("study: small", "study: small\nmodel: pai")
    problem = load(studies.written(tmp_path, text))
    point = {"gpus": 16, "gpus_per_node": 1, "accumulation": [1, 16], "overlap": overlap}
    found = Study(problem).price(point)
    once, often = found["step_s"]
    earlier = found["compute_s"][1] - found["compute_s"][0]
    assert often - once >= earlier * (1 - 1e-3) > 0


def test_parameter_servers_update_the_weights_where_they_serve(tmp_path: Path) -> None:
    study = Study(load(studies.written(tmp_path)))
    point = {"gpus_per_node": 4, "aggregation": "ps-grpc", "ps_servers": 1}
    alone, one, two, ring = (
        study.explain({**point, **other}).point.terms["optimizer_s"] or 0.0
        for other in (
            {"gpus": 4}, {"gpus": 16}, {"gpus": 16, "ps_servers": 2},
            {"gpus": 16, "aggregation": "ring-mpi"},
        )
    )  # fmt: skip
    assert alone == ring
    assert one == pytest.approx(2 * two)
    assert one > ring, "a host's memory is slower than an accelerator's"


def test_points_that_compute_the_same_may_be_priced_in_any_number(tmp_path: Path) -> None:
    """What they compute is remembered, however many ask for it."""
    problem = load(studies.written(tmp_path))
    baseline = problem.study.baseline.values
    points = [{**baseline, "batch_per_gpu": 64, "gpus": gpus, "bucket": bucket}
              for gpus in (4, 8, 16) for bucket in (2.0**22, 25 * 2.0**20)]  # fmt: skip
    other = load(studies.written(tmp_path))
    alone = [float(np.ravel(other.point(point)["step"])[0]) for point in points]
    for count in (6, 2, 4, 1):
        for where, evaluation in problem.rows(points[:count]):
            found = np.broadcast_to(evaluation["step"], where.shape)
            np.testing.assert_allclose(found, np.take(alone, where), rtol=1e-14)
