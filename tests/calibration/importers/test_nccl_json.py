"""The JSON of nccl-tests, with and without percentiles, and JSON and CSV of rccl-tests."""

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


BEFORE_2026 = "numCycle,collective,ranks,rankspernode,gpusperrank,size,type,redop,inplace,time,"


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(map(json.dumps, s.rccl())),
        json.dumps(s.rccl(), indent=1),
        "[\n" + ",\n".join(map(json.dumps, s.rccl())),
        s.rccl_csv(s.rccl(), ",".join(s.RCCL_COLUMNS)),
        s.rccl_csv(s.rccl(), f"{BEFORE_2026}algbw,busbw,#wrong"),
    ],
)
def test_files_of_rccl_tests(tmp_path: Path, text: str) -> None:
    found = read(tmp_path, text)
    times = [(x.bytes, x.median_s) for x in found.samples]
    assert times == [(size, pytest.approx(s.time_us(size) / 1e6)) for size in s.SIZES]
    assert {(x.ranks, x.nodes, x.ranks_per_node, x.library) for x in found.samples} == {
        (16, 2, 8, "rccl")
    }
    assert {x.collective for x in found.samples} == {"allreduce"}
    assert found.dropped == 0


def test_rccl_tests_without_mpi_and_damaged(tmp_path: Path) -> None:
    old = [{"gpus": 4, **{key: row[key] for key in s.RCCL_COLUMNS[6:13]}} for row in s.rccl()]
    rows = [json.dumps(row | {"name": "ReduceScatter", "#wrong": "3"}) for row in old]
    found = read(tmp_path, "\n".join([*rows, rows[0][:-30]]))
    assert {(x.ranks, x.nodes, x.collective) for x in found.samples} == {(4, 1, "reduce_scatter")}
    assert ([x.verified for x in found.samples], found.dropped) == ([False] * 4, 1)


def test_nodes_of_rccl_tests_are_communicators(tmp_path: Path) -> None:
    """One may lie on several nodes; of two the bandwidth tells that each has half of the ranks."""
    text = json.dumps(s.rccl(nodes=1))
    assert any("--nodes" in note for note in read(tmp_path, text).notes)
    assert read(tmp_path, text, nodes=2).samples[0].ranks_per_node == 8
    split = [row | {"ranks": 16, "nodes": 2} for row in s.rccl(nodes=1, ranks=8)]
    with pytest.raises(StudyError, match=r"8 ranks .* and 16 ranks .*; give --ranks N"):
        read(tmp_path, json.dumps(split))
