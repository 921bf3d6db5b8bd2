"""What a study asks for that nothing can tell, and why points lie outside of what was measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dse.pricing.outside import why_outside

from dse.calibration import Profile
from dse.errors import StudyError
from dse.pricing.caveats import cautions, unsupported, why_unpriced
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report import assembly, check
from dse.report.design_point import Explained
from dse.report.explain import lines
from dse.report.points import describe
from dse.search.run import run
from tests.calibration import library_profiles
from tests.pricing import studies

STUDY = """\
study: asked
workload: resnet50
space:
  accelerator: [a100-sxm4-40gb, p100-sxm2-16gb]
  gpus: [1, 4, 8, 16]
  gpus_per_node: [4]
  inter_node: [100gbe, 200gbe, ib-hdr]
  batch_per_gpu: [64]
  precision: [fp32, fp16]
  aggregation: [auto-nccl, ring-nccl]
  bucket: [25 MiB]
baseline: {gpus: 4, aggregation: auto-nccl}
constraints: [fits_memory]
objectives: {maximize: speedup, minimize: capital}
"""


def problem_of(folder: Path, profile: Profile, study: str = STUDY) -> Problem:
    path = library_profiles.written(folder, profile)
    return load(studies.written(folder, f"{study}calibration: [{path}]\n"))


def reasons(problem: Problem, **values: object) -> list[str]:
    point = {**problem.study.baseline.values, **values}
    return why_outside(problem.setting(problem.applicable(point)))  # type: ignore[arg-type]


def test_layouts_without_a_price_are_named_with_the_reason(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, library_profiles.one_node())
    (said,) = cautions(problem)
    assert said == (
        "auto-nccl has no price between nodes, since profile inside was measured inside one node "
        "only; rejected: gpus 8, 16 at gpus_per_node 4."
    )
    point = {**problem.study.baseline.values, "gpus": 16}
    assert why_unpriced(problem, point) in said
    assert why_unpriced(problem, problem.study.baseline.values) == ""
    assert f"note: {said}" in check.lines(problem)
    assert check.checked(problem).cautions[0] == said
    described = Explained(**vars(describe(problem, point)), why_unpriced=said)
    assert said in lines(described)[-1]


def test_they_are_rejected_as_what_they_are(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, library_profiles.one_node())
    outcome = run(problem, "exhaustive", None, None, lambda *_: None, 100, 0)
    # 2 accelerators x 2 counts x 3 networks x 2 precisions
    assert outcome.tally.rejected["layout priced by its profile"] == 24
    assert not outcome.tally.rejected.get("facts known")
    found = assembly.build(outcome, "dse run", 0, 1.0, {})
    assert found.cautions[0] in found.assumptions


def test_a_baseline_without_a_price_says_why(tmp_path: Path) -> None:
    study = STUDY.replace("gpus: 4, aggr", "gpus: 8, aggr")
    with pytest.raises(StudyError, match="auto-nccl has no price between nodes, since profile in"):
        problem_of(tmp_path, library_profiles.one_node(), study)


def test_networks_that_look_alike_are_warned_of(tmp_path: Path) -> None:
    unknown = replace(library_profiles.profile(layouts=((4, 4), (16, 4))), link_bytes_per_s=None)
    (said,) = cautions(problem_of(tmp_path, unknown))
    assert said.startswith("Profile fabric does not say how fast the network was")
    alone = STUDY.replace("[100gbe, 200gbe, ib-hdr]", "[100gbe]")
    assert cautions(problem_of(tmp_path, unknown, alone)) == []
    assert cautions(problem_of(tmp_path, replace(unknown, link_bytes_per_s=25e9))) == []


def test_a_precision_that_an_accelerator_lacks_is_named(tmp_path: Path) -> None:
    study = STUDY.replace("[fp32, fp16]", "[fp32, bf16]")
    (said,) = unsupported(problem_of(tmp_path, library_profiles.one_node(), study))
    assert said == "p100-sxm2-16gb: speed in bf16 unknown; such points are rejected"


def test_every_reason_is_told(tmp_path: Path) -> None:
    known = library_profiles.theirs(
        auto=library_profiles.part(), device="a100", link_bytes_per_s=25e9, ranks=(8, 32)
    )
    problem = problem_of(tmp_path, known)
    assert reasons(problem, gpus=8, inter_node="200gbe") == []
    assert reasons(problem, gpus=1) == []
    assert (
        "another link: 100 Gbps a node (100gbe); measured 200 Gbps a node"
        in (reasons(problem, gpus=8, inter_node="100gbe")[0])
    )
    assert reasons(problem, gpus=8, inter_node="200gbe", accelerator="p100-sxm2-16gb") == [
        "another accelerator; measured on a100"
    ]
    assert reasons(problem, gpus=8, inter_node="200gbe", gpus_per_node=2) == [
        "2 ranks per node; measured 4"
    ]
    assert reasons(problem, gpus=8, inter_node="200gbe", precision="fp16") == [
        "gradients of 2 bytes an element; measured 4"
    ]
    many = reasons(problem, gpus=128, inter_node="200gbe")
    assert "128 ranks; measured 8-32" in many
    assert any(reason.startswith("32 nodes; measured 1-") for reason in many)
    short = replace(known, message_bytes=(1024.0, 65536.0))
    (size,) = reasons(problem_of(tmp_path, short), gpus=8, inter_node="200gbe")
    assert size.endswith("; measured 1 KiB to 64 KiB")
    assert reasons(problem, aggregation="ring-nccl") == [
        "no profile of this study has measured ring over nccl"
    ]


def test_a_reason_is_told_exactly_where_a_point_is_outside(tmp_path: Path) -> None:
    """What a search flags over a block of points is what each of them is told by itself."""
    for profile in (library_profiles.theirs(link_bytes_per_s=25e9), library_profiles.profile()):
        problem = problem_of(tmp_path, profile)
        points = [problem.space.point(at) for at in range(problem.space.size)]
        inside = np.zeros(len(points), dtype=bool)
        for where, evaluation in problem.rows(points):
            inside[where] = evaluation.in_range
        told = [not why_outside(problem.setting(point)) for point in points]
        assert inside.tolist() == told
        assert inside.any()
        assert not inside.all()


def test_a_profile_that_prices_nothing_of_the_study_is_said(tmp_path: Path) -> None:
    forced = STUDY.replace("[auto-nccl, ring-nccl]", "[ring-mpi, ps-grpc]").replace(
        "aggregation: auto-nccl", "aggregation: ring-mpi"
    )
    problem = problem_of(tmp_path, library_profiles.theirs("theirs"), forced)
    assert any("prices nothing here" in text for text in cautions(problem))
    used = problem_of(tmp_path, library_profiles.theirs("theirs"))
    assert not any("prices nothing here" in text for text in cautions(used))


@pytest.mark.parametrize(
    ("accelerators", "cost", "said"),
    [
        ("[a100-sxm4-40gb, v100-sxm2-32gb]", "capital", True),
        ("[a100-sxm4-40gb, v100-sxm2-32gb]", "power", False),
        ("[a100-sxm4-40gb, p100-sxm2-16gb]", "capital", False),
        ("[v100-sxm2-32gb]", "capital", False),
    ],
)
def test_prices_with_and_without_a_host_are_told_apart(
    tmp_path: Path, accelerators: str, cost: str, said: bool
) -> None:
    text = STUDY.replace("[a100-sxm4-40gb, p100-sxm2-16gb]", accelerators)
    text = text.replace("minimize: capital", f"minimize: {cost}").replace("auto-nccl", "ring-mpi")
    found = [line for line in cautions(load(studies.written(tmp_path, text))) if "host" in line]
    assert found == [
        "The price of v100-sxm2-32gb is its share of a complete node, host included, even where "
        "a node holds fewer; a node of a100-sxm4-40gb is charged for its host separately."
    ] * said  # fmt: skip
