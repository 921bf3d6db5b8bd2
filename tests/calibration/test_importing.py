"""The import command and its Python form: files that are none, several files, the result."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dse.calibration.experiment import read_experiment
from dse.calibration.importing import import_logs, import_to_file
from dse.errors import DseError, StudyError
from tests.calibration.importers import samples as s


def log(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def dse(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dse.cli", "calibrate", "import", *map(str, words)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_the_command_writes_a_measurement_file_and_says_what_it_found(tmp_path: Path) -> None:
    out = tmp_path / "acme.measurements.json"
    nccl, osu = log(tmp_path, "a.log", s.nccl()), log(tmp_path, "b.out", s.OSU)
    done = dse(nccl, osu, "--system", "acme", "--link", "hdr-ib", "--out", out)
    assert done.returncode == 0, done.stderr
    assert "a.log: nccl-tests, nccl; allreduce, 8 ranks on 2 nodes: 4 rows; 0 rows dropped" in (
        done.stdout
    )
    assert "b.out: OSU, openmpi 4.1.4; allreduce, 4 ranks on 2 nodes: 3 rows; ping-pong" in (
        done.stdout
    )
    found = read_experiment(out)
    assert (found.name, found.machine, len(found.samples)) == ("acme", None, 9)
    assert found.source == "a.log (nccl-tests); b.out (OSU)"
    assert {(x.system, x.link) for x in found.samples} == {("acme", "hdr-ib")}


def test_a_failed_command_writes_nothing_and_says_one_line(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = dse(log(tmp_path, "x.log", s.OSU_FULL), "--out", out)
    assert (done.returncode, done.stdout, out.exists()) == (2, "", False)
    assert done.stderr.count("\n") == 1
    assert "give --ranks N" in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("# Benchmarking guide\n\nUse 2 nodes.\n", "is no benchmark output that is known"),
        ("# Soup\n\nTake two onions.\n", "is no benchmark output that is known"),
        ('{"format": "dse-measurements/1", "name": "x"}', "is a measurement file already"),
        ("\x00\x01\x02\x7f", "is no benchmark output that is known"),
    ],
)
def test_files_of_other_kinds(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(DseError, match=said):
        import_logs([log(tmp_path, "other.txt", text)])


def test_no_files(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="is a folder"):
        import_logs([tmp_path])
    with pytest.raises(StudyError, match=r"nothing.log: cannot be read: No such file"):
        import_logs([tmp_path / "nothing.log"])
    with pytest.raises(StudyError, match="no log is given"):
        import_logs([])


@pytest.mark.parametrize("told", [{"ranks": 0}, {"nodes": -1}, {"nodes": 16}])
def test_counts_that_cannot_be(tmp_path: Path, told: dict[str, int]) -> None:
    with pytest.raises(StudyError, match=r"no count|16 nodes for 3 ranks"):
        import_logs([log(tmp_path, "g.txt", s.GLOO_NOW)], **told)  # type: ignore[arg-type]


def test_the_log_is_not_overwritten(tmp_path: Path) -> None:
    path = log(tmp_path, "a.log", s.nccl())
    with pytest.raises(StudyError, match="is one of the logs"):
        import_to_file([path], path)
    assert path.read_text(encoding="utf-8") == s.nccl()


def test_the_same_configuration_again_is_another_run(tmp_path: Path) -> None:
    first, second = log(tmp_path, "1.log", s.nccl()), log(tmp_path, "2.log", s.nccl())
    found = import_logs([first, second])
    assert [x.run for x in found.samples] == [1] * 4 + [2] * 4


@pytest.mark.parametrize(
    ("told", "field", "value"),
    [
        ({"library": "mpich-4.2"}, "version", "4.2"),
        ({"library": "mpich"}, "library", "mpich"),
        ({"algorithm": "ring"}, "algorithm", "ring"),
    ],
)
def test_what_the_user_adds(tmp_path: Path, told: Any, field: str, value: str) -> None:
    found = import_logs([log(tmp_path, "imb.txt", s.IMB)], **told)
    assert {getattr(x, field) for x in found.samples} == {value}
