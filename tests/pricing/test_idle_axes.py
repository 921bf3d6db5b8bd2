"""dse.pricing.requirements: axes that only some aggregations have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dse.commands.explain import explain_point
from dse.errors import StudyError
from dse.pricing.load import load
from dse.report.points import describe
from tests.pricing import studies
from tests.pricing.priced import point


def test_fusion_is_an_axis_of_what_fuses(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, studies.APPROACHES))
    seen = set()
    for index in range(0, problem.space.size, 7):
        values = problem.space.point(index)
        name = values["aggregation"]
        assert (values["fusion_buffer"] is not None) == (name in ("horovod-mpi", "horovod-nccl"))
        assert (values["fusion_cycle"] is not None) == (name == "horovod-mpi")
        assert (values["bucket"] is None) == (name not in ("ring-mpi", "ps-grpc")) or (
            values["bucket"] in (2.0**20, 25 * 2.0**20)
        )
        seen.add(name)
    assert seen == set(problem.study.aggregations)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("[grpc, grpc-gdr, baidu", "[grcp, grpc-gdr, baidu", "'grcp': no such aggregation; did you"
         " mean grpc?"),
        ("[1 MiB, 64 MiB], if: {aggregation: [horovod-mpi, horovod-nccl]}",
         "[1 MiB, 64 MiB], if: {aggregation: [horovod-mpi, grpc]}",
         "grpc fuses no tensors; put it under when, if: {aggregation: [horovod-mpi]}"),
        ("if: {aggregation: horovod-mpi}}", "if: {aggregation: ring-mpi}}",
         "fusion_cycle: ring-mpi fuses no tensors; drop fusion_cycle"),
        ("if: {aggregation: [ring-mpi, ps-grpc]}}", "if: {aggregation: [ring-mpi, grpc]}}",
         "bucket: grpc sends messages of its own, no buckets; put it under when"),
        ("[1 ms, 20 ms]", "[1, 20 ms]", "1 has no unit; write for example 5 ms"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert studies.APPROACHES.count(old) == 1
    with pytest.raises(StudyError) as found:
        load(studies.written(tmp_path, studies.APPROACHES.replace(old, new)))
    assert words in str(found.value)
    assert re.match(r".*study\.yaml:\d+:\d+: ", str(found.value))
    assert "\n" not in str(found.value)


def test_one_bucket_for_all_does_no_harm(tmp_path: Path) -> None:
    text = studies.APPROACHES.replace("  overlap: [none", "  bucket: 4 MiB\n  overlap: [none")
    text = "".join(line for line in text.splitlines(True) if "axis: bucket" not in line)
    assert load(studies.written(tmp_path, text)).space.size > 0


def test_studies_of_approaches_alone_have_no_bucket(tmp_path: Path) -> None:
    paper = load(studies.written(tmp_path, studies.PAPER))
    assert paper.study.axis("bucket") is None
    assert "bucket" not in describe(paper, point(paper, aggregation="grpc")).config


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"aggregation": "grpc", "fusion_buffer": "4 MiB"},
         "fusion_buffer: grpc fuses no tensors; drop fusion_buffer"),
        ({"aggregation": "ring-mpi", "fusion_cycle": "1 ms"}, "ring-mpi fuses no tensors"),
        ({"aggregation": "grpc", "bucket": "4 MiB"}, "bucket: grpc sends messages of its own"),
        ({"aggregation": "horovod-nccl", "fusion_cycle": "1 ms"},
         "fusion_cycle: the study has it only under a condition, see its when; drop fusion_cycle, "
         "or set the other as well"),
        ({"aggregation": "baidu-mpi", "ps_servers": "3"},
         "ps_servers: the study has it only under a condition"),
    ],
)  # fmt: skip
def test_one_point_is_refused_what_would_not_change_it(
    tmp_path: Path, given: dict[str, str], words: str
) -> None:
    path = studies.written(tmp_path, studies.APPROACHES)
    with pytest.raises(StudyError) as found:
        explain_point(str(path), [f"{axis}={value}" for axis, value in given.items()], False)
    assert words in str(found.value)
    assert str(found.value).startswith("--set: ")
