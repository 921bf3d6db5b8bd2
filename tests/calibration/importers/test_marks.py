"""Marks that launchers, containers and collectors of logs put before every line."""

from __future__ import annotations

from itertools import permutations
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
    "mpirun -prepend-rank": "[0] ",
    "mail": "> ",
    "srun -l": " 0: ",
    "kubectl": "[pod/bench-launcher-x7k2p/main] ",
    "kubectl with times": "[pod/bench/main] 2026-03-04T05:06:{second:02d}.{part:06d}Z ",
    "stern": "bench-launcher-x7k2p main ",
    "pdsh": "host0: ",
    "compose": "bench-1  | ",
    "syslog": "Mar  {day} 05:06:{second:02d} host0 bench[{part}]: ",
    "Ray": "(Bench pid={day}, ip=10.0.0.1) ",
    "cat -n": "{part:6d}\t",
    "hosts and addresses": "{host} 10.0.0.{second} ",
    "noon": "11/28/2026 {second:02d}:59:59 {noon} n1: ",
    "a new month": "{month} {day} 05:06:{second:02d} n1 bench[7]: ",
}
OSU = s.OSU.replace("v5.9\n", "v7.4\n# Datatype: MPI_INT.\n")
LOGS = {"nccl": s.nccl(), "osu": OSU, "imb": s.IMB}


def facts(found: Experiment) -> list[tuple[object, ...]]:
    return [(x.collective, x.bytes, x.median_s, x.ranks, x.nodes, x.dtype) for x in found.samples]


def marked(text: str, launcher: str) -> str:
    return "".join(
        MARKS[launcher].format(
            day=4 + n // 40, second=n % 60, part=700 + n, host=("n1", "gpu2")[n % 2],
            noon=("AM", "PM")[n > 14], month=("Nov", "Dec")[n > 14],
        ) + line + "\n" for n, line in enumerate(text.splitlines())
    )  # fmt: skip


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("launcher", MARKS)
def test_a_mark_of_all_lines_is_taken_off(tmp_path: Path, log: str, launcher: str) -> None:
    found = read(tmp_path, marked(LOGS[log], launcher))
    assert facts(found) == facts(read(tmp_path, LOGS[log]))


@pytest.mark.parametrize("launcher", sorted(MARKS.keys() - {"cat -n"}))
def test_marks_before_tables_of_gloo(tmp_path: Path, launcher: str) -> None:
    for text in (s.GLOO_2018, s.GLOO_NOW):
        assert facts(read(tmp_path, marked(text, launcher))) == facts(read(tmp_path, text))


def test_a_mark_of_some_lines_is_taken_off_those(tmp_path: Path) -> None:
    """A job prints by itself what comes before and after the benchmark."""
    text = f"pulling image 3 of 4\n{marked(s.OSU, 'compose')}bench-1 exited with code 0\n8 of 8\n"
    assert facts(read(tmp_path, text)) == facts(read(tmp_path, s.OSU))


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("launcher", ["cat -n", "noon", "Open MPI 5"])
def test_a_mark_holds_for_its_table(tmp_path: Path, log: str, launcher: str) -> None:
    """And marks of two kinds, one after the other, each for its own."""
    once = facts(read(tmp_path, LOGS[log]))
    kinds = [LOGS[log], marked(LOGS[log], launcher), marked(LOGS[log], "pdsh")]
    for one, other in permutations(kinds, 2):
        assert facts(read(tmp_path, one + other)) == once * 2


@pytest.mark.parametrize(("log", "heading"), [("nccl", "# nT"), ("osu", "# OSU"), ("imb", "# Ben")])
@pytest.mark.parametrize("launcher", ["cat -n", "noon", None])
def test_a_heading_on_the_line_of_a_row(
    tmp_path: Path, log: str, heading: str, launcher: str | None
) -> None:
    """As of files without a last line break that are put together."""
    text = LOGS[log].partition("# Out of bounds")[0].partition("# Benchmarking Barrier")[0]
    text = text[text.index(heading) :]
    after = marked(text, launcher) if launcher else text
    told = {"ranks": 4} if log == "osu" else {}
    found = read(tmp_path, text.rstrip() + text + after, **told)
    assert facts(found) == facts(read(tmp_path, text, **told)) * 3
    assert found.dropped == 0


@pytest.mark.parametrize("number", ["0 ", "16 ", " 3\t"])
@pytest.mark.parametrize("log", LOGS)
def test_a_number_before_one_heading_is_no_mark(tmp_path: Path, log: str, number: str) -> None:
    lines = LOGS[log].splitlines()
    for at, line in enumerate(lines):
        if line.startswith(("# OSU", "# Size", "# nThread", "#       size", "# Benchmarking Ping")):
            text = "\n".join([*lines[:at], number + line, *lines[at + 1 :]])
            assert facts(read(tmp_path, text)) == facts(read(tmp_path, LOGS[log]))


@pytest.mark.parametrize("log", ["nccl", "osu"])
def test_rows_that_begin_with_something_else_are_shown(tmp_path: Path, log: str) -> None:
    """Those of a table that is read otherwise count as lost."""
    lines = LOGS[log].splitlines()
    other = [f"{'<' * n} {line}" for n, line in enumerate(lines, 1)]
    with pytest.raises(MeasurementError, match=r"its lines begin with something else, such as '<"):
        read(tmp_path, "\n".join(other))
    last = max(n for n, line in enumerate(lines) if line[:13].strip().isdigit())
    found = read(tmp_path, "\n".join([*lines[:last], other[last], *lines[last + 1 :]]))
    assert len(found.samples) == len(read(tmp_path, LOGS[log]).samples) - 1
    assert found.dropped == 1
    assert any("1 row is lost" in note and "'<<" in note for note in found.notes)
