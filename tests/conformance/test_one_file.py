"""A transport, an approach or an accelerator is added to the catalogue by one file, no code."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from dse import Study, catalog
from dse.errors import StudyError
from dse.pricing.load import known_names, load
from dse.pricing.problem import Problem
from dse.report import assembly
from dse.report.json_form import text as json_text
from dse.search.run import Outcome, run
from dse.study.schema import study_schema
from tests.evidence import beyond
from tests.pricing import studies

STUDY = """\
study: added
workload: resnet50
space:
  accelerator: [{accelerators}]
  gpus: [2, 16]
  gpus_per_node: [1, 4]
  inter_node: [25gbe, ib-edr]
  batch_per_gpu: [32, 64]
  aggregation: [{aggregations}]
baseline: {{gpus: 16, gpus_per_node: 4}}
constraints: [fits_memory]
objectives: {{maximize: throughput, minimize: power}}
"""
NEW = "brand-new"


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the catalogue that the package reads."""
    copy = tmp_path / "models"
    shutil.copytree(catalog.models_dir(), copy)
    monkeypatch.setenv("DSE_MODELS", str(copy))
    return copy


def add(models: Path, kind: str, name: str) -> None:
    """A copy of a file of the catalogue under the new name."""
    text = (models / kind / f"{name}.yaml").read_text(encoding="utf-8")
    assert text.count(f"name: {name}\n") == 1
    copy = text.replace(f"name: {name}\n", f"name: {NEW}\n")
    (models / kind / f"{NEW}.yaml").write_text(copy, encoding="utf-8")


def loaded(
    folder: Path, aggregations: str, accelerators: str = "p100-sxm2-16gb", more: str = ""
) -> Problem:
    text = STUDY.format(accelerators=accelerators, aggregations=aggregations) + more
    return load(studies.written(folder, text))


def ran(problem: Problem) -> Outcome:
    """The whole study, with a report that can be written."""
    outcome = run(problem, "exhaustive", None, None, lambda *_: None, 0, 0)
    assert outcome.tally.points == problem.space.size
    assert outcome.front
    assert json_text(assembly.build(outcome, "dse run added", 0, 1.0, {}))
    return outcome


def alike(problem: Problem, axis: str, names: tuple[str, str]) -> None:
    """Both values of the axis cost the same at every other choice."""
    rest = [{"gpus": n, "gpus_per_node": g, "inter_node": link, "batch_per_gpu": batch}
            for n in (2, 16) for g in (1, 4) for link in ("25gbe", "ib-edr")
            for batch in (32, 64)]  # fmt: skip
    one, other = (Study(problem).price([{**point, axis: name} for point in rest])
                  for name in names)  # fmt: skip
    assert np.isfinite(one["step_s"]).all()
    for column in ("step_s", "comm_s", "power_w", "evidence"):
        np.testing.assert_array_equal(one[column], other[column])


@pytest.mark.parametrize("name", beyond(["mpi"], catalog.names("transports")))
def test_a_transport(tmp_path: Path, models: Path, name: str) -> None:
    add(models, "transports", name)
    assert NEW in known_names().transports
    assert f"ring-{NEW}" in json.dumps(study_schema(known_names()))
    problem = loaded(tmp_path, f"ring-{NEW}, ring-{name}, ps-{NEW}, ps-{name}")
    assert set(problem.study.transports) == {NEW, name}
    (ring, *_) = problem.study.aggregations
    assert (ring, ring.algorithm, ring.transport) == (f"ring-{NEW}", "ring", NEW)
    assert problem.aggregation(ring).transport.name == NEW
    for algorithm in ("ring", "ps"):
        alike(problem, "aggregation", (f"{algorithm}-{NEW}", f"{algorithm}-{name}"))
    found = assembly.build(ran(problem), "dse run added", 0, 1.0, {})
    assert {row.name for row in found.transports} == {NEW, name}
    if catalog.transport(NEW).libraries:
        chosen = loaded(tmp_path, f"auto-{NEW}, auto-{name}")
        alike(chosen, "aggregation", (f"auto-{NEW}", f"auto-{name}"))
    else:
        with pytest.raises(StudyError, match="neither rules nor a profile"):
            loaded(tmp_path, f"auto-{NEW}")  # what its library chooses nobody can know


@pytest.mark.parametrize("name", beyond(["grpc"], catalog.names("approaches")))
def test_an_approach(tmp_path: Path, models: Path, name: str) -> None:
    add(models, "approaches", name)
    assert NEW in known_names().approaches
    assert f'"{NEW}"' in json.dumps(study_schema(known_names()))
    problem = loaded(tmp_path, f"{NEW}, {name}")
    assert [each.approach for each in problem.study.aggregations] == [NEW, name]
    assert problem.study.transports == ()
    alike(problem, "aggregation", (NEW, name))
    ran(problem)


def test_a_new_approach_of_servers_has_their_axes(tmp_path: Path, models: Path) -> None:
    add(models, "approaches", "grpc")
    when = f"when:\n  - {{axis: ps_servers, values: [1, 4], if: {{aggregation: {NEW}}}}}\n"
    problem = loaded(tmp_path, f"{NEW}, baidu-mpi", more=when)
    point = {"aggregation": NEW, "gpus_per_node": 1}
    few, many = Study(problem).price([{**point, "ps_servers": n} for n in (1, 4)])["comm_s"]
    assert many < few
    power = Study(problem).price([{**point, "ps_servers": n} for n in (1, 4)])["power_w"]
    assert power[0] < power[1], "servers on machines of their own"
    ran(problem)
    fused = when.replace("ps_servers", "fusion_cycle").replace("[1, 4]", "[1 ms, 5 ms]")
    with pytest.raises(StudyError, match=f"fusion_cycle: {NEW} fuses no tensors"):
        loaded(tmp_path, NEW, more=fused)


@pytest.mark.evidence
def test_a_new_approach_that_fuses_has_the_axes_of_fusion(tmp_path: Path, models: Path) -> None:
    add(models, "approaches", "horovod-mpi")
    only = f"if: {{aggregation: {NEW}}}"
    when = (
        f"when:\n  - {{axis: fusion_cycle, values: [1 ms, 200 ms], {only}}}\n"
        f"  - {{axis: fusion_buffer, values: [1 B, 64 MiB], {only}}}\n"
    )
    problem = loaded(tmp_path, NEW, more=when)
    points = [
        {"fusion_cycle": cycle, "fusion_buffer": buffer}
        for cycle in ("1 ms", "200 ms")
        for buffer in ("1 B", "64 MiB")
    ]
    assert len(set(Study(problem).price(points)["comm_s"].tolist())) > 1
    ran(problem)
    with pytest.raises(StudyError, match=f"bucket: {NEW} sends messages of its own"):
        loaded(tmp_path, NEW, more=f"when:\n  - {{axis: bucket, values: [1 MiB, 4 MiB], {only}}}\n")


@pytest.mark.parametrize(
    "name", beyond(["l40s"], ["p100-sxm2-16gb", "v100-sxm2-32gb", "a100-sxm4-80gb", "l40s"])
)
def test_an_accelerator(tmp_path: Path, models: Path, name: str) -> None:
    add(models, "accelerators", name)
    sums, both = "auto-nccl, ring-mpi, horovod-nccl", f"{NEW}, {name}"
    # What published training says of the other by its name it cannot say of a new one.
    # How many are sold at once is of the price list.
    sold = catalog.default_prices().sold_in.get(name)
    same = f"prices: {{accelerators: {{{NEW}: {{sold_in: {sold.value:g}}}}}}}\n" if sold else ""
    alone = loaded(tmp_path, sums, both, f"efficiency: {{compute: 0.5}}\n{same}")
    alike(alone, "accelerator", (NEW, name))
    problem = loaded(tmp_path, sums, both)
    # What NCCL takes goes by the generation, which the file tells, not by how a name begins.
    points = [problem.points_at({**problem.study.baseline.values, "accelerator": each})
              for each in (NEW, name)]  # fmt: skip
    choices = [point.aggregation.choices(point.gradients, point) for point in points]
    assert choices[0] == choices[1] != ()
    ran(problem)
