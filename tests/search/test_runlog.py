"""dse.search.runlog: what is finished survives, and is not taken for another search."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import dse
from dse import catalog
from dse.errors import DseError
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.search import exhaustive, runlog
from dse.search.fingerprint import fingerprint, version
from dse.search.run import Outcome, run
from dse.search.runlog import RunLog
from tests.pricing import studies


@pytest.fixture
def problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Problem:
    monkeypatch.setattr(exhaustive, "CHUNK_POINTS", 200)
    monkeypatch.setattr(exhaustive, "BOX_POINTS", 100)
    return load(studies.written(tmp_path))


def logged(problem: Problem, path: Path, resume: bool) -> RunLog:
    return RunLog(path, fingerprint(problem, "exhaustive"), resume)


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


def same(found: Outcome, expected: Outcome) -> bool:
    """Whether two searches found the same, however much of it they had to price."""
    alike = {"front": expected.tally.front, "priced": expected.tally.priced}
    return found.front == expected.front and replace(found.tally, **alike) == expected.tally


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
    assert before > 3
    assert 0 < log.before.points < problem.space.size
    found = searched(problem, log)
    assert (found.resumed_units, found.units) == (before, exhaustive.units(problem.space))
    assert same(found, expected)
    log.discard()
    assert not (tmp_path / "run.log").exists()


@pytest.mark.evidence
def test_a_log_cut_at_any_byte_loses_but_the_unit_that_was_cut(
    problem: Problem, whole: Path
) -> None:
    """As a kill in the midst of a write, or a power cut, leaves it."""
    content, expected = whole.read_bytes(), searched(problem, None)
    ends = [match.end() for match in re.finditer(rb"\n", content)]
    shown = random.randrange(2**32)
    print(f"seed {shown}")
    generator = random.Random(shown)
    for cut in [0, 1, ends[0] - 1, *ends, *generator.sample(range(len(content)), 20)]:
        whole.write_bytes(content[:cut])
        log = logged(problem, whole, True)
        lines = sum(end <= cut for end in ends)
        assert len(log.done) == max(0, lines - 1), f"cut at {cut}"
        assert log.damaged == 0
        assert same(searched(problem, log), expected), f"cut at {cut}"
        log.close()
        again = logged(problem, whole, True)
        assert again.done == set(range(exhaustive.units(problem.space)))
        again.close()


def test_a_damaged_line_is_passed_over_and_its_unit_done_again(
    problem: Problem, whole: Path
) -> None:
    """A flipped bit, wherever it is, costs at most the two units whose lines it joins."""
    content, expected = whole.read_bytes(), searched(problem, None)
    units = exhaustive.units(problem.space)
    first = content.index(b"\n") + 1
    shown = random.randrange(2**32)
    print(f"seed {shown}")
    generator = random.Random(shown)
    for _ in range(20):
        at, bit = generator.randrange(first, len(content)), generator.randrange(8)
        damaged = bytearray(content)
        damaged[at] ^= 1 << bit
        whole.write_bytes(damaged)
        log = logged(problem, whole, True)
        assert units - 2 <= len(log.done) < units, f"bit {bit} of byte {at}"
        found = searched(problem, log)
        assert same(found, expected), f"bit {bit} of byte {at}"
        log.close()
        again = logged(problem, whole, True)
        assert again.done == set(range(units))
        assert same(searched(problem, again), expected)
        again.close()


def test_a_log_whose_first_line_is_damaged_is_refused_and_kept(
    problem: Problem, whole: Path
) -> None:
    content = whole.read_bytes().replace(b"small", b"smell", 1)
    whole.write_bytes(content)
    with pytest.raises(DseError, match="what its run searched cannot be read"):
        logged(problem, whole, True)
    assert whole.read_bytes() == content
    log = logged(problem, whole, False)
    assert log.kept == whole.with_name("run.log.1")
    assert log.kept.read_bytes() == content
    assert log.done == set()
    log.close()


def test_an_interrupted_run_is_not_dropped_by_one_that_does_not_resume(
    problem: Problem, whole: Path, tmp_path: Path
) -> None:
    content = whole.read_bytes()
    other = load(studies.written(tmp_path, studies.SMALL.replace("64, 256", "64"), "other.yaml"))
    log = logged(other, whole, False)
    assert (log.kept, log.done) == (tmp_path / "run.log.1", set())
    searched(other, log)
    log.close()
    log = logged(problem, whole, False)
    assert log.kept == tmp_path / "run.log.2"
    log.discard()
    shutil.move(tmp_path / "run.log.1", whole)
    assert whole.read_bytes() == content
    log = logged(problem, whole, True)
    assert len(log.done) == exhaustive.units(problem.space)
    assert log.kept is None
    log.close()


def test_what_holds_no_finished_unit_is_not_kept(problem: Problem, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    for resume, left in [(True, None), (True, b""), (True, b'{"crc32'), (False, b'{"crc32')]:
        if left is not None:
            path.write_bytes(left)
        log = logged(problem, path, resume)
        assert (log.done, log.before.points, log.kept) == (set(), 0, None)
        log.close()
    log = RunLog(path, {"engine": "other"}, True)  # it had a header, but nothing to lose
    assert (log.done, log.kept) == (set(), None)
    log.close()


PRICES = "prices: {accelerators: {v100-sxm2-16gb: {purchase: %s USD}}}\n"


@pytest.mark.parametrize(
    ("text", "differences"),
    [
        (
            studies.SMALL.replace("350 kUSD", "100 kUSD"),
            ["constraints[2] of the study was capital <= 350 kUSD, is capital <= 100 kUSD"],
        ),
        (
            studies.SMALL.replace("[32, 64, 256]", "[32, 64]"),
            ["space.batch_per_gpu[3] of the study was 256, is absent"],
        ),
        (
            studies.SMALL + PRICES % 12000,
            ["accelerator_usd.v100-sxm2-16gb of the prices was 10,664 USD, is 12,000 USD"],
        ),
        (
            studies.SMALL.replace("workload: resnet50", "workload: vgg16"),
            ["workload of the study was resnet50, is vgg16"],
        ),
        (studies.SMALL.replace("study: small", "study: little"), ["was small, is little"]),
    ],
)
def test_the_log_of_another_study_is_refused_and_told_apart(
    text: str, differences: list[str], problem: Problem, whole: Path, tmp_path: Path
) -> None:
    content = whole.read_bytes()
    other = load(studies.written(tmp_path, text, "other.yaml"))
    with pytest.raises(DseError) as caught:
        logged(other, whole, True)
    line = str(caught.value)
    assert line.startswith(f"{whole}: cannot be resumed, its run was another: ")
    assert all(difference in line for difference in differences), line
    assert "\n" not in line
    assert whole.read_bytes() == content
    logged(problem, whole, True).close()  # the refusal leaves it free


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("search: {budget: 6000}", "search: {budget: 60, seed: 4}\nexecutor: {kind: ray}"),
        ("study: small", "study: small\ndescription: the same\nrecommend: fastest"),
    ],
)
def test_what_changes_no_point_and_no_price_does_not_matter(
    before: str, after: str, whole: Path, tmp_path: Path
) -> None:
    other = load(studies.written(tmp_path, studies.SMALL.replace(before, after), "other.yaml"))
    log = logged(other, whole, True)
    assert len(log.done) == exhaustive.units(other.space)
    log.close()


def refusal(problem: Problem, path: Path) -> str:
    with pytest.raises(DseError) as caught:
        logged(problem, path, True)
    return str(caught.value)


def test_the_log_of_another_catalogue_is_refused(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = shutil.copytree(catalog.models_dir(), tmp_path / "models")
    monkeypatch.setenv("DSE_MODELS", str(models))
    prices = models / "prices" / "list-prices.yaml"
    changed = prices.read_text().replace("10664 USD", "12000 USD")
    assert changed != prices.read_text()
    prices.write_text(changed)
    fabric = models / "fabrics" / "10gbe.yaml"
    fabric.write_text(fabric.read_text() + "# looked at again\n")
    line = refusal(load(tmp_path / "study.yaml"), whole)
    assert "accelerator_usd.v100-sxm2-16gb of the prices was 10,664 USD, is 12,000 USD" in line
    assert "file of the catalogue fabrics/10gbe.yaml has changed" in line
    assert "file of the catalogue prices/list-prices.yaml has changed" in line


def test_the_log_of_another_profile_is_refused(whole: Path, tmp_path: Path) -> None:
    text = studies.SMALL + "calibration: [lassen-mpi]\n"
    calibrated = load(studies.written(tmp_path, text, "calibrated.yaml"))
    assert "profile lassen-mpi is new" in refusal(calibrated, whole)
    log = RunLog(tmp_path / "other.log", fingerprint(calibrated, "exhaustive"), False)
    searched(calibrated, log)
    log.close()
    profile = calibrated.profiles["lassen-mpi"]
    calibrated.profiles = {"lassen-mpi": replace(profile, date="1999-12-31")}
    assert "profile lassen-mpi has changed" in refusal(calibrated, tmp_path / "other.log")


@pytest.mark.parametrize(
    ("group", "now", "expected"),
    [
        ("dse", "9.9.9 (code 0123456789ab)", r"dse was [\d.]+ \(code \w{12}\), is 9\.9\.9 \(code"),
        ("numpy", "9.9", r"numpy was [\d.]+, is 9\.9"),
        ("engine", "guided", "engine was exhaustive, is guided"),
        ("points per unit of work", 7, "points per unit of work was 200, is 7"),
    ],
)
def test_the_log_of_another_version_is_refused(
    group: str, now: Any, expected: str, problem: Problem, whole: Path
) -> None:
    with pytest.raises(DseError, match=expected):
        RunLog(whole, {**fingerprint(problem, "exhaustive"), group: now}, True)


def test_every_unit_is_on_the_disk_before_it_counts(
    problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is in the log when a unit is told as done has been synced, unit by unit."""
    path, sync, synced = tmp_path / "run.log", os.fsync, list[int]()

    def noted(file: int) -> None:
        sync(file)
        if os.path.samestat(os.fstat(file), path.stat()):
            synced.append(path.stat().st_size)

    monkeypatch.setattr(os, "fsync", noted)
    log = logged(problem, path, False)
    told = list[int]()

    def progress(*_: int) -> None:
        assert path.stat().st_size == synced[-1]
        told.append(synced[-1])

    run(problem, "exhaustive", None, log, progress, 0, 0)
    log.close()
    assert len(set(told)) == len(synced) == 1 + exhaustive.units(problem.space)


def test_every_line_is_json_under_its_checksum(problem: Problem, whole: Path) -> None:
    records = [json.loads(line) for line in whole.read_text().splitlines()]
    assert all(re.fullmatch("[0-9a-f]{8}", record["crc32"]) for record in records)
    assert records[0]["process"] == os.getpid()
    assert [record["unit"] for record in records[1:]] == list(exhaustive.scattered(problem.space))
    assert sum(record["points"] for record in records[1:]) == problem.space.size


def test_a_unit_logged_twice_counts_once(problem: Problem, whole: Path) -> None:
    whole.write_bytes(whole.read_bytes() + whole.read_bytes().splitlines(keepends=True)[-1])
    log = logged(problem, whole, True)
    assert log.before.points == problem.space.size
    log.close()


def test_repeated_units_are_remembered(problem: Problem, tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    log = logged(problem, path, False)
    for unit, attempts in ((0, 1), (1, 3), (2, 2)):
        boxes = exhaustive.unit_boxes(problem.space, unit)
        log.append(unit, exhaustive.search(problem, boxes), attempts)
    log.close()
    log = logged(problem, path, True)
    assert (log.done, log.repeated) == ({0, 1, 2}, 3)
    found = searched(problem, log)
    assert (found.resumed_units, found.repeated_units) == (3, 3)
    log.close()


@pytest.mark.parametrize("name", ["units.py", "yaml_source.py", "model/step.py"])
def test_code_that_decides_prices_is_part_of_the_version(tmp_path: Path, name: str) -> None:
    package = Path(dse.__file__).parent
    shutil.copytree(package, tmp_path / "dse", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "dse" / name).open("a") as file:
        file.write("# changed\n")
    asked = "from dse.search.fingerprint import version; print(version())"
    changed = subprocess.run(
        [sys.executable, "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert changed.stdout.strip() != version()
    assert changed.stdout.startswith(f"{dse.__version__} (code ")


HOLDER = """
import sys
from pathlib import Path
from dse.search.runlog import RunLog
log = RunLog(Path(sys.argv[1]), {}, True)
print("held", flush=True)
sys.stdin.read()
"""


def test_one_folder_has_one_run_and_the_lock_goes_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    RunLog(path, {}, False).close()
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        for resume in (False, True):
            with pytest.raises(DseError, match=rf"another run \(process {holder.pid}\) is writing"):
                RunLog(path, {}, resume)
        holder.kill()
        holder.wait()
        RunLog(path, {}, True).close()  # the file is there still, and no lock


def test_another_kind_of_processor_is_told(
    problem: Problem, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(logged(problem, whole, True)) as log:
        assert log.elsewhere == ""
    here = runlog.processor()
    monkeypatch.setattr(runlog, "processor", lambda: "SSE9")
    with closing(logged(problem, whole, True)) as log:
        assert log.elsewhere == here
        assert log.done == set(range(exhaustive.units(problem.space)))
