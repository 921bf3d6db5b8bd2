"""dse.pricing.requirements: whether a study may leave the algorithm to the library."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.errors import OutsideCalibration, StudyError
from dse.pricing.load import load
from tests.pricing import studies
from tests.pricing.priced import point

STUDY = studies.LIBRARY_CHOICE
GLOO = STUDY.replace("auto-nccl", "auto-gloo")  # a library without rules of its own
WHEN = "when:\n  - {axis: ps_servers, values: [1, 2], if: {aggregation: ps-grpc}}\n"


@pytest.mark.parametrize(
    ("study", "line"),
    [
        (GLOO, "aggregation: [auto-gloo"),
        (GLOO.replace("[auto-gloo, ring-nccl, ps-grpc]", "auto-gloo").replace(WHEN, ""),
         "aggregation: auto-gloo\n"),
        (GLOO.replace("[auto-gloo, ring-nccl", "[ring-nccl"), "batch_per_gpu: 32, precision"),
    ],
)  # fmt: skip
def test_without_such_a_profile_the_place_and_the_remedy_are_named(
    tmp_path: Path, study: str, line: str
) -> None:
    with pytest.raises(StudyError) as caught:
        load(studies.written(tmp_path, study))
    expected = next(at for at, text in enumerate(study.splitlines(), 1) if line.strip() in text)
    assert caught.value.line == expected
    assert "which algorithm gloo chooses" in caught.value.problem
    assert "dse calibrate import" in caught.value.remedy


def test_a_point_asked_for_by_hand_is_refused_in_one_line(tmp_path: Path) -> None:
    bare = load(studies.written(tmp_path, studies.SMALL))
    with pytest.raises(OutsideCalibration, match=r"auto-gloo: neither rules nor a profile.*; "):
        bare.point(point(bare, aggregation="auto-gloo"))["step"]


@pytest.mark.parametrize(
    ("wrong", "problem", "remedy"),
    [
        ("auto-mpich-nccl", "mpich does not choose over nccl", "auto-mpich-mpi"),
        ("auto-openmpi-gloo", "openmpi does not choose over gloo", "auto-openmpi-mpi"),
        ("auto-mpich", "auto-mpich", "auto-mpich-mpi"),
    ],
)
def test_a_library_that_does_not_run_over_the_transport_is_refused(
    tmp_path: Path, wrong: str, problem: str, remedy: str
) -> None:
    with pytest.raises(StudyError) as caught:
        load(studies.written(tmp_path, studies.RULES.replace("auto-mpich-mpi", wrong)))
    assert problem in caught.value.problem
    assert remedy in caught.value.remedy
    assert caught.value.line > 1
