"""Several studies as one table, speeds of one workload over one baseline."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from dse.report.document import RunDocument
from dse.report.studies_table import Answered, studies_csv
from tests.report.documents import document


def named(name: str, workload: str = "resnet50", baseline_rate: float | None = None) -> RunDocument:
    found = document()
    base = found.baseline
    if baseline_rate is not None:
        config = {**base.config, "gpus": "4"}
        base = replace(base, throughput_samples_per_s=baseline_rate, config=config)
    study = replace(found.study, name=name, workload=workload)
    return replace(found, study=study, baseline=base)


def table(*documents: RunDocument | None) -> list[dict[str, str]]:
    answers = [
        Answered(f"{number}.yaml", found, f"reports/{number}", "" if found else "line 3: wrong")
        for number, found in enumerate(documents)
    ]
    return list(csv.DictReader(io.StringIO(studies_csv(answers))))


def test_each_study_has_a_line_with_its_point_price_and_speed() -> None:
    one = named("one")
    (row,) = table(one)
    best = one.recommended
    assert (row["study"], row["workload"], row["report"]) == ("one", "resnet50", "reports/0")
    assert float(row["capital_usd"]) == best.costs["capital"]
    assert float(row["speedup"]) == best.speedup
    assert best.throughput_samples_per_s is not None
    assert float(row["sample_s"]) == pytest.approx(1 / best.throughput_samples_per_s)
    assert int(row["gpus"]) == best.gpus
    assert "x NVIDIA" in row["recommended"]


def test_studies_of_one_workload_share_the_first_one_s_baseline() -> None:
    one, other = named("one"), named("other", baseline_rate=10.0)
    first, second = table(one, other)
    rate = one.baseline.throughput_samples_per_s
    assert rate is not None
    assert first["common_baseline_of"] == second["common_baseline_of"] == "one"
    mine = other.recommended.throughput_samples_per_s
    assert mine is not None
    assert float(second["speedup_common"]) == pytest.approx(mine / rate)
    assert first["note"] == ""
    assert second["note"] == "its own baseline differs from that of one"


def test_a_study_alone_with_its_workload_says_so() -> None:
    _, _, alone = table(named("one"), named("two"), named("three", "vgg16"))
    assert alone["common_baseline_of"] == "three"
    assert alone["note"].startswith("the only study of vgg16: its speed cannot be compared")


def test_a_study_that_failed_has_a_line_as_well() -> None:
    good, bad = table(named("one"), None)
    assert good["study"] == "one"
    assert (bad["study"], bad["note"], bad["speedup"]) == ("1.yaml", "failed: line 3: wrong", "")
