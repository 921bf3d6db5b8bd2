"""A user's own jobs: what is read, and the one line about the first thing that is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dse.errors import StudyError
from dse.fleet.job_table import read_table
from tests.fleet.small import HEADER, ROWS, TABLE


def table(folder: Path, text: str) -> Path:
    path = folder / "jobs.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_jobs_are_parted_by_class_in_any_spelling(tmp_path: Path) -> None:
    found = read_table(table(tmp_path, TABLE))
    assert [(group.architecture, group.size) for group in found.groups] == [
        ("1w1g", 1), ("1wng", 1), ("ps-worker", 2), ("allreduce-local", 1),
    ]  # fmt: skip
    servers = found.groups[2]
    assert servers.cnodes.tolist() == [16, 4]
    assert np.asarray(servers.jobs.weight_bytes).tolist() == [500e6, 100e6]
    assert not found.hours_given
    assert servers.gpu_hours.tolist() == [16, 4]
    assert found.base is None


def test_optional_columns_in_any_order(tmp_path: Path) -> None:
    text = (
        "gpu_hours,name,owner,state_bytes,embedding_bytes,weight_bytes,input_bytes,memory_bytes,"
        'flops,cnodes,class\n320,recommender,"Li, W.",54e9,1e9,2e9,1e6,25e9,3e11,8,pearl\n'
    )
    (group,) = read_table(table(tmp_path, text)).groups
    assert group.gpu_hours.tolist() == [320]
    assert group.run_hours.tolist() == [40]
    assert group.state_bytes.tolist() == [54e9]
    assert np.asarray(group.jobs.embedding_bytes).tolist() == [1e9]


def test_remarks_blank_lines_and_windows_files(tmp_path: Path) -> None:
    text = "\ufeff# Jobs of May\r\n" + TABLE.replace("\n", "\r\n") + "\r\n\r\n"
    found = read_table(table(tmp_path, text))
    assert found.size == len(ROWS)
    assert found.title == "Jobs of May"


@pytest.mark.parametrize(
    ("row", "place", "problem", "remedy"),
    [
        ("PS/Wroker,4,1,1,1,1", "8:1", "class: 'PS/Wroker' is not known", "mean ps-worker?"),
        (",4,1,1,1,1", "8:1", "class: empty", "use 1w1g, 1wng"),
        ("ps-worker,4.5,1,1,1,1", "8:11", "cnodes: '4.5' will not do", "a whole number from 1"),
        ("1w1g,2,1,1,1,1", "8:6", "cnodes: '2' of a 1w1g job", "write 1, or another class"),
        ("ps-worker,4,-1,1,1,1", "8:13", "flops: '-1' will not do", "write 0, or a number from"),
        ("ps-worker,4,1e12,5 GB,1,1", "8:18", "memory_bytes: '5 GB' is not a number", "1.6e12"),
        ("ps-worker,4,1e12,,1,1", "8:18", "memory_bytes: empty", "write a number"),
        ("ps-worker,4,1e12,1,1", "8:1", "5 values where the header has 6", "one value a column"),
        ("ps-worker,4,0,0,1,1", "8:13", "the job computes nothing", "give flops"),
        ("ps-worker,8,1,1,1,1e308", "8:19", "weight_bytes: '1e308' will not do", "0.001 to 1e+30"),
    ],
)  # fmt: skip
def test_the_first_bad_value_is_named(
    row: str, place: str, problem: str, remedy: str, tmp_path: Path
) -> None:
    path = table(tmp_path, f"{TABLE}\n{row}\nps-worker,-1,-1,-1,-1,-1\n")
    with pytest.raises(StudyError) as caught:
        read_table(path)
    line = str(caught.value)
    assert line.startswith(f"{path}:{place}: {problem}"), line
    assert remedy in line
    assert "\n" not in line


@pytest.mark.parametrize("hours", ["0", "1e308", "1e-9", "nan"])
def test_hours_beyond_any_fleet_are_refused(hours: str, tmp_path: Path) -> None:
    path = table(tmp_path, f"{HEADER},gpu_hours\nps-worker,8,1e12,1,1,1,{hours}\n")
    with pytest.raises(StudyError) as caught:
        read_table(path)
    assert str(caught.value).startswith(f"{path}:2:24: gpu_hours: '{hours}' will not do; write a")


@pytest.mark.parametrize("kind", ["allreduce-local", "1wng"])
def test_a_job_in_one_server_has_no_more_cnodes_than_it(kind: str, tmp_path: Path) -> None:
    path = table(tmp_path, f"{HEADER}\n{kind},8,1e12,1,1,1\n{kind},9,1e12,1,1,1\n")
    assert read_table(path, 16.0).size == 2
    with pytest.raises(StudyError) as caught:
        read_table(path, 8.0)
    line = str(caught.value)
    assert line.startswith(f"{path}:3:{len(kind) + 2}: cnodes: '9' of a job of class {kind}"), line
    assert "write at most 8" in line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty; write a header"),
        (HEADER + "\n", "no job in it"),
        (TABLE.replace("flops", "flop", 1), "unknown column 'flop'; did you mean flops?"),
        (TABLE.replace(",flops", ",work", 1), "missing column 'flops'"),
        (TABLE.replace("input_bytes", "flops", 1), "column 'flops' is there twice"),
    ],
)
def test_a_wrong_header_is_named(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=message.replace("?", r"\?")):
        read_table(table(tmp_path, text))


@pytest.mark.parametrize("mark", [";", "\t"])
def test_semicolons_and_tabs_part_cells_as_commas_do(mark: str, tmp_path: Path) -> None:
    found = read_table(table(tmp_path, TABLE.replace(",", mark)))
    same = read_table(table(tmp_path, TABLE))
    for own, other in zip(found.groups, same.groups, strict=True):
        assert own.architecture == other.architecture
        assert list(np.asarray(own.jobs.flops)) == list(np.asarray(other.jobs.flops))
    wrong = f"{HEADER}\n1w1g,1,1,1,many,1\n".replace(",", mark)
    with pytest.raises(StudyError, match=r":2:12: input_bytes: 'many' is not a number"):
        read_table(table(tmp_path, wrong))


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_bytes(TABLE.encode() + b"\xff\xfe\x00,1,1,1,1,1\n")
    with pytest.raises(StudyError, match="not UTF-8 text"):
        read_table(path)
