"""dse.search.runlog: what is finished survives, and is not taken for another search."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dse.errors import DseError
from dse.search import exhaustive
from dse.search.load import load
from dse.search.problem import Problem
from dse.search.run import Outcome, header, run
from dse.search.runlog import RunLog
from tests.search import studies


@pytest.fixture
def problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Problem:
    monkeypatch.setattr(exhaustive, "CHUNK_POINTS", 200)
    monkeypatch.setattr(exhaustive, "BOX_POINTS", 100)
    return load(studies.written(tmp_path))


def logged(problem: Problem, path: Path, resume: bool) -> RunLog:
    return RunLog(path, header(problem, ""), resume)


def searched(problem: Problem, log: RunLog | None) -> Outcome:
    return run(problem, "exhaustive", None, log, lambda *_: None, 0, 0)


@pytest.fixture
def whole(problem: Problem, tmp_path: Path) -> Path:
    """The log of a search that came to its end."""
    path = tmp_path / "run.log"
    log = logged(problem, path, False)
    searched(problem, log)
    log.close()
    return path


def test_resume_after_an_interrupt_gives_the_same_front(problem: Problem, tmp_path: Path) -> None:
    expected = searched(problem, None)

    def interrupt(done: int, whole: int) -> None:
        if done > whole / 2:
            raise KeyboardInterrupt

    log = logged(problem, tmp_path / "run.log", False)
    with pytest.raises(KeyboardInterrupt):
        run(problem, "exhaustive", None, log, interrupt, 0, 0)
    log.close()
    log = logged(problem, tmp_path / "run.log", True)
    before = len(log.done)
    assert log.resumed
    assert before > 3
    assert 0 < log.before.points < problem.space.size
    found = searched(problem, log)
    assert found.resumed_units == before
    assert found.front == expected.front
    assert found.tally == replace(expected.tally, front=found.tally.front)
    log.discard()
    assert not (tmp_path / "run.log").exists()


@pytest.mark.parametrize("cut", [1, 20, 300])
def test_a_record_cut_short_is_done_again(problem: Problem, whole: Path, cut: int) -> None:
    whole.write_bytes(whole.read_bytes()[:-cut])
    log = logged(problem, whole, True)
    assert 0 < len(log.done) < exhaustive.units(problem.space)
    assert searched(problem, log).front == searched(problem, None).front
    log.close()


def test_a_damaged_record_and_all_after_it_are_done_again(problem: Problem, whole: Path) -> None:
    lines = whole.read_bytes().splitlines(keepends=True)
    lines[3] = b"\x00\xff garbage\n"
    whole.write_bytes(b"".join(lines))
    log = logged(problem, whole, True)
    assert len(log.done) == 2
    log.close()


def test_the_log_of_another_study_is_refused(problem: Problem, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    logged(problem, path, False).close()
    other = load(studies.written(tmp_path, studies.SMALL.replace("64, 256", "64"), "other.yaml"))
    with pytest.raises(DseError, match="another study"):
        logged(other, path, True)
    assert path.exists()


def test_nothing_to_resume_can_be_told(problem: Problem, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    for resume, left, expected in [
        (True, None, False),
        (True, b"", False),
        (True, b'{"format', False),
        (False, b"", False),
    ]:
        if left is not None:
            path.write_bytes(left)
        log = logged(problem, path, resume)
        assert (log.resumed, log.done, log.before.points) == (expected, set(), 0)
        log.close()
    log = logged(problem, path, True)  # a header alone: a run that was stopped in its first unit
    assert log.resumed
    log.close()


def test_a_unit_logged_twice_counts_once(problem: Problem, whole: Path) -> None:
    whole.write_bytes(whole.read_bytes() + whole.read_bytes().splitlines(keepends=True)[-1])
    log = logged(problem, whole, True)
    assert log.before.points == problem.space.size
    log.close()


def test_one_folder_has_one_run(problem: Problem, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    first = logged(problem, path, False)
    searched(problem, first)
    content = path.read_bytes()
    for resume in (False, True):
        with pytest.raises(DseError) as caught:
            logged(problem, path, resume)
        assert str(caught.value) == (
            f"{tmp_path}: another run (process {os.getpid()}) is writing here; "
            "wait for it or use --out"
        )
    assert path.read_bytes() == content
    first.close()
    second = logged(problem, path, True)
    first.discard()  # too late: the log is the second run's
    assert path.exists()
    second.discard()
    assert not path.exists()


def test_a_refused_resume_leaves_the_folder_free(problem: Problem, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    logged(problem, path, False).close()
    with pytest.raises(DseError, match="another study"):
        RunLog(path, {**header(problem, ""), "study": "other"}, True)
    logged(problem, path, True).close()


HOLDER = """
import sys
from pathlib import Path
from dse.search.runlog import RunLog
log = RunLog(Path(sys.argv[1]), {}, len(sys.argv) > 2)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("arguments", [(), ("resume",)])
def test_the_lock_goes_with_its_process(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    path = tmp_path / "run.log"
    RunLog(path, {}, False).close()
    command = [sys.executable, "-c", HOLDER, str(path), *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(DseError, match=rf"another run \(process {holder.pid}\) is writing"):
            RunLog(path, {}, True)
        holder.kill()
        holder.wait()
        log = RunLog(path, {}, True)
    assert log.resumed
    log.close()
