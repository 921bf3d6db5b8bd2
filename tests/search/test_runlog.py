"""dse.search.runlog: what is finished survives, and is not taken for another search."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.errors import DseError
from dse.search import exhaustive
from dse.search.load import load
from dse.search.problem import Problem
from dse.search.run import header, run
from dse.search.runlog import RunLog
from tests.search import studies


@pytest.fixture
def problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Problem:
    monkeypatch.setattr(exhaustive, "CHUNK_POINTS", 200)
    monkeypatch.setattr(exhaustive, "BOX_POINTS", 100)
    monkeypatch.setattr(exhaustive.chunks, "__defaults__", (200,))
    return load(studies.written(tmp_path))


def logged(problem: Problem, path: Path, resume: bool) -> RunLog:
    return RunLog(path, header(problem, ""), resume)


def test_resume_after_an_interrupt_gives_the_same_front(problem: Problem, tmp_path: Path) -> None:
    expected = run(problem, "exhaustive", None, None, lambda *_: None, 0, 0)

    def interrupt(done: int, whole: int) -> None:
        if done > whole / 2:
            raise KeyboardInterrupt

    log = logged(problem, tmp_path / "run.log", False)
    with pytest.raises(KeyboardInterrupt):
        run(problem, "exhaustive", None, log, interrupt, 0, 0)
    log.close()
    log = logged(problem, tmp_path / "run.log", True)
    before = len(log.done)
    assert before > 3
    found = run(problem, "exhaustive", None, log, lambda *_: None, 0, 0)
    assert found.resumed_units == before
    assert found.front == expected.front
    assert found.tally.feasible == expected.tally.feasible
    log.discard()
    assert not (tmp_path / "run.log").exists()


@pytest.mark.parametrize("cut", [1, 20, 300])
def test_a_record_cut_short_is_done_again(problem: Problem, tmp_path: Path, cut: int) -> None:
    path = tmp_path / "run.log"
    log = logged(problem, path, False)
    expected = run(problem, "exhaustive", None, log, lambda *_: None, 0, 0)
    log.close()
    path.write_bytes(path.read_bytes()[:-cut])
    log = logged(problem, path, True)
    assert 0 < len(log.done) < len(exhaustive.chunks(problem))
    assert run(problem, "exhaustive", None, log, lambda *_: None, 0, 0).front == expected.front
    log.close()


def test_a_damaged_record_and_all_after_it_are_done_again(problem: Problem, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    log = logged(problem, path, False)
    run(problem, "exhaustive", None, log, lambda *_: None, 0, 0)
    log.close()
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = b"\x00\xff garbage\n"
    path.write_bytes(b"".join(lines))
    log = logged(problem, path, True)
    assert len(log.done) == 2
    log.close()


def test_the_log_of_another_study_is_refused(problem: Problem, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    logged(problem, path, False).close()
    other = load(studies.written(tmp_path, studies.SMALL.replace("64, 256", "64"), "other.yaml"))
    with pytest.raises(DseError, match="another study"):
        logged(other, path, True)
    assert path.exists()
