"""Marks that launchers, containers and collectors of logs put before every line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.calibration.experiment import Experiment
from dse.errors import MeasurementError
from tests.calibration.importers import samples as s
from tests.calibration.importers.reading import read

MARKS: dict[str, str] = {
    "one blank": " ",
    "a tab": "\t",
    "mpirun --tag-output": "[1,0]<stdout>:",
    "Open MPI 5": "[prterun-login-77@1,0]<stdout>: ",
    "Open MPI 5 with hosts": "[1,0][login:77]<stdout>: ",
    "torchrun": "[default0]:",
    "srun -l": " 0: ",
    "kubectl": "[pod/bench-launcher-x7k2p/main] ",
    "kubectl with times": "[pod/bench/main] 2026-03-04T05:06:{second:02d}.{part:06d}Z ",
    "stern": "bench-launcher-x7k2p main ",
    "pdsh": "host0: ",
    "compose": "bench-1  | ",
    "syslog": "Mar  {day} 05:06:{second:02d} host0 bench[{part}]: ",
    "Ray": "(Bench pid={day}, ip=10.0.0.1) ",
}
LOGS = {"nccl": s.nccl(), "osu": s.OSU, "imb": s.IMB}


def facts(found: Experiment) -> list[tuple[object, ...]]:
    return [(x.collective, x.bytes, x.median_s, x.ranks, x.nodes) for x in found.samples]


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("launcher", MARKS)
def test_a_mark_of_all_lines_is_taken_off(tmp_path: Path, log: str, launcher: str) -> None:
    marked = [
        MARKS[launcher].format(day=4 + n // 40, second=n % 60, part=700 + n) + line
        for n, line in enumerate(LOGS[log].splitlines())
    ]
    assert facts(read(tmp_path, "\n".join(marked))) == facts(read(tmp_path, LOGS[log]))


def test_a_mark_of_some_lines_is_taken_off_those(tmp_path: Path) -> None:
    """A job prints by itself what comes before and after the benchmark."""
    marked = "".join(f"bench-1  | {line}\n" for line in s.OSU.splitlines())
    text = f"pulling image 3 of 4\n{marked}bench-1 exited with code 0\n8 of 8 done\n"
    assert facts(read(tmp_path, text)) == facts(read(tmp_path, s.OSU))


@pytest.mark.parametrize("log", ["nccl", "osu"])
def test_rows_that_begin_with_what_differs_are_shown(tmp_path: Path, log: str) -> None:
    ends = "abcdefghijklmnopqrstuvwxyz" * 4
    marked = [f"<{end}> {line}" for end, line in zip(ends, LOGS[log].splitlines(), strict=False)]
    with pytest.raises(MeasurementError, match=r"its lines begin with something else, such as '<"):
        read(tmp_path, "\n".join(marked))
