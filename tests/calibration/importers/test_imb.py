"""Intel MPI Benchmarks."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.errors import MeasurementError, StudyError
from tests.calibration.importers import samples as s
from tests.calibration.importers.reading import read


def test_tables_of_several_rank_counts(tmp_path: Path) -> None:
    found = read(tmp_path, s.IMB)
    assert [(x.collective, x.ranks, x.bytes) for x in found.samples] == [
        ("ping-pong", 2, 8), ("ping-pong", 2, 1048576), ("allreduce", 8, 1024),
        ("allreduce", 8, 1048576), ("allreduce", 16, 1024), ("allreduce", 16, 1048576),
    ]  # fmt: skip
    assert found.samples[3].median_s == pytest.approx(420e-6)
    assert found.samples[3].repetitions == 40
    assert (found.dropped, found.date) == (0, "2026-03-04")
    assert {(x.library, x.version) for x in found.samples} == {("openmpi", "4.1.2a1")}
    assert [x.dtype for x in found.samples[1:3]] == ["uint8", "float32"]
    assert any("'Barrier'" in note for note in found.notes)


def test_ranks_must_be_one_of_those_in_the_log(tmp_path: Path) -> None:
    assert len(read(tmp_path, s.IMB, ranks=16, nodes=2).samples) == 6
    with pytest.raises(
        StudyError, match="8 ranks according to #processes and 16 ranks according to #processes"
    ):
        read(tmp_path, s.IMB, ranks=4)


def test_a_row_that_is_cut_off(tmp_path: Path) -> None:
    found = read(tmp_path, s.IMB.replace("540.00       520.00", "540.00       52"))
    assert (len(found.samples), found.dropped) == (5, 1)


def test_no_processes_line(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="give --ranks N"):
        read(tmp_path, s.IMB.replace("#processes", "processes"))


def test_a_run_that_stopped_before_the_first_table(tmp_path: Path) -> None:
    with pytest.raises(MeasurementError, match=r"no usable result \(read as IMB"):
        read(tmp_path, s.IMB[: s.IMB.index("# Benchmarking")])


def test_a_table_without_a_column_of_times(tmp_path: Path) -> None:
    found = read(tmp_path, s.IMB.replace("t_avg[usec]", "t_mean"))
    assert {x.collective for x in found.samples} == {"ping-pong"}
    assert found.dropped == 6
