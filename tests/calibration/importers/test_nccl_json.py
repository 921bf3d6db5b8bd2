"""The JSON of nccl-tests, with and without percentiles."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dse.errors import MeasurementError, StudyError
from tests.calibration.importers import samples as s
from tests.calibration.importers.reading import read


def changed(change: Callable[[dict[str, Any]], object]) -> str:
    data = json.loads(s.nccl_json())
    change(data)
    return json.dumps(data)


def test_times_and_where_they_were_measured(tmp_path: Path) -> None:
    found = read(tmp_path, s.nccl_json())
    assert [x.median_s for x in found.samples] == [
        pytest.approx(s.time_us(size) * 1e-6) for size in s.SIZES
    ]
    assert {(x.ranks, x.nodes, x.ranks_per_node, x.repetitions) for x in found.samples} == {
        (4, 2, 2, 30)
    }
    assert {(x.collective, x.version, x.device) for x in found.samples} == {
        ("allreduce", "2.27.3", "Acme G1")
    }
    assert found.date == "2026-03-04"


def test_percentiles(tmp_path: Path) -> None:
    first = read(tmp_path, s.nccl_json(iterations=True)).samples[0]
    time = s.time_us(s.SIZES[0]) * 1e-6
    assert (first.min_s, first.median_s, first.p95_s) == pytest.approx(
        (0.9 * time, 0.95 * time, 1.5 * time)
    )


def test_several_gpus_of_one_process_are_listed_once(tmp_path: Path) -> None:
    def change(data: dict[str, Any]) -> None:
        data["config"]["ngpus"] = 4
        data["config"]["devices"] = [
            {**data["config"]["devices"][0], "rank": 4 * node, "hostname": f"host{node}"}
            for node in range(2)
        ]

    found = read(tmp_path, changed(change))
    assert {(x.ranks, x.nodes, x.ranks_per_node) for x in found.samples} == {(8, 2, 4)}


def test_broken_and_wrong_results(tmp_path: Path) -> None:
    def change(data: dict[str, Any]) -> None:
        data["results"][0]["out_of_place"] = None
        data["results"][1]["out_of_place"]["time"] = "nan"
        data["results"][2]["in_place"] = {"nwrong": 2.0}

    found = read(tmp_path, changed(change))
    assert [x.verified for x in found.samples] == [False, True]
    assert found.dropped == 2


def test_what_is_missing_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="give --ranks N"):
        read(tmp_path, changed(lambda data: data["config"].pop("devices")))
    with pytest.raises(StudyError, match="give --collective"):
        read(tmp_path, changed(lambda data: data.pop("args")))
    with pytest.raises(MeasurementError, match=r"no usable result \(read as nccl-tests JSON"):
        read(tmp_path, changed(lambda data: data["results"].clear()))
    with pytest.raises(StudyError, match=r"run.log:\d+:1: the JSON is damaged or incomplete"):
        read(tmp_path, s.nccl_json()[:-40])
