"""Tables of times and the choice of rows in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dse.calibration.experiment import Experiment
from dse.calibration.importers.logs import import_logs
from dse.errors import StudyError
from tests.calibration.importers import samples as s
from tests.calibration.importers.reading import log


def read(tmp_path: Path, text: str = s.TABLE, **told: Any) -> Experiment:
    return import_logs([log(tmp_path, "times.csv", text)], **told)


def test_all_rows(tmp_path: Path) -> None:
    found = read(tmp_path)
    assert len(found.samples) == 5
    first, last = found.samples[0], found.samples[-1]
    assert (first.library, first.version, first.transport) == ("nccl", "2.18", "nccl")
    assert (first.link, first.system, first.device) == ("ofi", "acme", "G1")
    assert (last.library, last.version, last.transport) == ("spectrum-mpi", "unknown", "mpi")
    assert (last.repetitions, last.median_s) == (20, pytest.approx(4.5e-6))
    assert found.source == "times.csv (table: acme/bench, borg/runs)"


@pytest.mark.parametrize(
    ("select", "microseconds"),
    [
        ("system=acme,library=nccl-2.18,transport=ofi,ranks=8", [25.5, 120.25]),
        ("transport=tcp", [80.5]),
        ("bytes=1024,nodes=8,nodes=4", [50.5, 4.5]),
    ],
)
def test_selection(tmp_path: Path, select: str, microseconds: list[float]) -> None:
    found = read(tmp_path, select=select)
    assert [x.median_s * 1e6 for x in found.samples] == pytest.approx(microseconds)


@pytest.mark.parametrize(
    ("select", "said"),
    [
        ("colour=red", "there is no column 'colour'; the columns are system, device"),
        (
            "library=nccl",
            "no row that is left has library=nccl; choose from nccl-2.18,",
        ),
        ("system=borg,transport=ofi", "no row that is left has transport=ofi; choose from edr-ib"),
        ("transport", "'transport' is not column=value"),
    ],
)
def test_a_selection_of_nothing(tmp_path: Path, select: str, said: str) -> None:
    with pytest.raises(StudyError, match=said):
        read(tmp_path, select=select)


def test_selection_is_for_tables(tmp_path: Path) -> None:
    with pytest.raises(
        StudyError, match=r"^select: applies to tables only, and .*times.csv is IMB"
    ):
        read(tmp_path, s.IMB, select="system=acme")


def test_every_broken_row_is_named(tmp_path: Path) -> None:
    text = s.TABLE.replace("25.5", "fast")
    with pytest.raises(StudyError, match=r"times.csv:2:\d+: time_us: 'fast' is no time"):
        read(tmp_path, text)
    with pytest.raises(StudyError, match=r"times.csv:2:\d+: bytes: '-1024' is no count"):
        read(tmp_path, s.TABLE.replace(",all_reduce,", ",all_reduce,-"))
    with pytest.raises(StudyError, match=r"times.csv:2:1: 11 values where the header has 12"):
        read(tmp_path, s.TABLE.replace(",acme/bench\nacme,G1,2", "\nacme,G1,2", 1))


def test_what_contradicts_or_is_not_known(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"times.csv:2:1: 2 nodes x 4 .* contradicts 9 ranks"):
        read(tmp_path, s.TABLE.replace("2,4,8", "2,4,9"))
    with pytest.raises(StudyError, match="the library 'tcp' is not NCCL, MPI or gloo"):
        read(tmp_path, s.TABLE.replace("spectrum-mpi", "tcp"))
    with pytest.raises(StudyError, match="the column 'system' is missing"):
        read(tmp_path, s.TABLE.replace("system,", "machine,"))
    with pytest.raises(StudyError, match="--ranks 16 contradicts the log"):
        read(tmp_path, ranks=16, select="transport=tcp")
