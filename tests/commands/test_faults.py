"""What survives Ctrl-C, kill -9, a disk that fills and a folder that cannot be written."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from dse.calibration.experiment import write_experiment
from dse.calibration.files import check_writable
from dse.errors import OutputError
from dse.pricing.load import load
from dse.search.fingerprint import fingerprint
from tests.calibration import synthetic
from tests.commands.command import DEADLINE_S, dse, dse_process, environment, files, refused, start
from tests.commands.reports import REPORT
from tests.evidence import beyond
from tests.pricing.studies import LARGE, SMALL, written
from tests.processes import text, until
from tests.ray_head import beside_a_head

LOG = "run.log.jsonl"
KEPT = "{} keeps what is done; continue with --resume"
EXHAUSTIVE = ("--engine", "exhaustive")
GUIDED = ("--engine", "guided", "--points", "300")
ENGINES = (EXHAUSTIVE, GUIDED)
CUT = "the last line cut"


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """front.csv of the large study, run in one go."""
    folder = tmp_path_factory.mktemp("whole")
    written(folder, LARGE)
    done = dse("run", "study.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert set(files(folder / "reports" / "large")) == REPORT
    return (folder / "reports" / "large" / "front.csv").read_bytes()


def stopped_midway(folder: Path, how: signal.Signals, *options: str) -> tuple[int, str, str]:
    """Send the signal once a record is in the log; (status, stdout, stderr)."""
    written(folder, LARGE)
    log = folder / "reports" / "large" / LOG
    log.unlink(missing_ok=True)
    running = start("run", "study.yaml", *options, cwd=folder)

    def logged() -> bool:
        assert running.poll() is None, running.communicate()
        return text(log).count("\n") >= 2

    until(logged, DEADLINE_S)
    running.send_signal(how)
    out, err = running.communicate(timeout=DEADLINE_S)
    return running.returncode, out, err


@pytest.mark.parametrize(
    "how", beyond([signal.SIGKILL], [signal.SIGINT, signal.SIGKILL]), ids=("ctrl-c", "kill -9")
)
@pytest.mark.usefixtures("brief")
def test_a_run_that_was_stopped_goes_on(
    how: signal.Signals, uninterrupted: bytes, tmp_path: Path
) -> None:
    status, out, err = stopped_midway(tmp_path, how)
    folder = tmp_path / "reports" / "large"
    assert "Traceback" not in err
    assert "Report:" not in out
    if how is signal.SIGINT:
        assert status == 130
        assert err.splitlines()[-1] == f"interrupted; {KEPT.format('reports/large')}"
    else:
        assert status == -signal.SIGKILL
    assert set(files(folder)) == {LOG}
    done = dse("run", "study.yaml", "--resume", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "resuming: " in done.stdout
    assert set(files(folder)) == REPORT
    assert (folder / "front.csv").read_bytes() == uninterrupted


@pytest.mark.parametrize(
    ("imported", "asked"),
    [
        ("typer", "check study.yaml"),
        ("dse.pricing.load", "check study.yaml"),
        ("scipy.optimize", "calibrate fit measured.json --out new.yaml"),
        ("dse.calibration.runners.hosts", "calibrate run --budget 5"),
    ],
)
def test_ctrl_c_at_any_time_is_one_line(imported: str, asked: str, tmp_path: Path) -> None:
    """The signal comes when a command begins to import a module, however early that is."""
    written(tmp_path)
    write_experiment(synthetic.experiment(), tmp_path / "measured.json")
    before = files(tmp_path)
    code = f"""
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {imported!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
sys.argv = ["dse", *{asked.split()!r}]
from dse.commands.main import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment(), capture_output=True,
        text=True, timeout=DEADLINE_S, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\ninterrupted\n")
    assert files(tmp_path) == before


@pytest.mark.usefixtures("brief")
def test_ctrl_c_leaves_the_previous_report(tmp_path: Path) -> None:
    written(tmp_path)
    assert dse("run", "study.yaml", "--out", "reports/large", cwd=tmp_path).returncode == 0
    before = files(tmp_path / "reports" / "large")
    assert stopped_midway(tmp_path, signal.SIGINT)[0] == 130
    after = files(tmp_path / "reports" / "large")
    assert after.pop(LOG)
    assert after == before


@pytest.mark.usefixtures("brief")
def test_resuming_another_study_is_refused(tmp_path: Path) -> None:
    stopped_midway(tmp_path, signal.SIGKILL)
    written(tmp_path, LARGE.replace("350 kUSD", "100 kUSD"))
    before = files(tmp_path)
    line = refused(dse("run", "study.yaml", "--resume", cwd=tmp_path))
    assert "run.log.jsonl" in line
    assert "constraints[2] of the study was capital <= 350 kUSD, is capital <= 100 kUSD" in line
    assert files(tmp_path) == before


@pytest.mark.evidence
@pytest.mark.usefixtures("brief")
def test_starting_another_study_keeps_the_log_of_an_interrupted_one(
    uninterrupted: bytes, tmp_path: Path
) -> None:
    stopped_midway(tmp_path, signal.SIGKILL)
    folder = tmp_path / "reports" / "large"
    log = (folder / LOG).read_bytes()
    written(tmp_path, SMALL.replace("study: small", "study: large"), "other.yaml")
    for options in ((), GUIDED):
        done = dse("run", "other.yaml", *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert (f"its log is kept in reports/large/{LOG}.1" in done.stdout) is not options
        assert (folder / f"{LOG}.1").read_bytes() == log
    (folder / f"{LOG}.1").rename(folder / LOG)
    done = dse("run", "study.yaml", "--resume", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "resuming: " in done.stdout
    assert (folder / "front.csv").read_bytes() == uninterrupted


@pytest.mark.evidence
@pytest.mark.parametrize("engine", beyond([EXHAUSTIVE], ENGINES))
@pytest.mark.usefixtures("brief")
def test_two_runs_in_one_folder(engine: tuple[str, ...], tmp_path: Path) -> None:
    """The second is refused, whatever it searches and however; the first goes on."""
    written(tmp_path, LARGE)
    written(tmp_path, name="other.yaml")
    log = tmp_path / "here" / LOG
    first = start("run", "study.yaml", *engine, "--out", "here", cwd=tmp_path)
    until(lambda: text(log).count("\n") >= 1, DEADLINE_S)
    first.send_signal(signal.SIGSTOP)
    for second in ("study.yaml", "--resume"), ("other.yaml",), ("other.yaml", "--engine=guided"):
        line = refused(dse("run", *second, "--out", "here", cwd=tmp_path))
        assert line == (
            f"dse: here: another run (process {first.pid}) is writing here; "
            "wait for it or use --out"
        )
    assert set(files(tmp_path / "here")) == {LOG}
    first.send_signal(signal.SIGCONT)
    _, err = first.communicate(timeout=DEADLINE_S)
    assert first.returncode == 0, err
    assert set(files(tmp_path / "here")) - {"points.csv"} == REPORT


@pytest.mark.evidence
@pytest.mark.parametrize("damage", beyond([CUT], [CUT, "the last line", "a line in the midst"]))
@pytest.mark.usefixtures("brief")
def test_a_damaged_log_is_resumed(damage: str, uninterrupted: bytes, tmp_path: Path) -> None:
    stopped_midway(tmp_path, signal.SIGKILL)
    log = tmp_path / "reports" / "large" / LOG
    lines = log.read_bytes().splitlines(keepends=True)
    at = 1 if damage == "a line in the midst" else len(lines) - 1
    lines[at] = lines[at][:-30] if damage.endswith("cut") else lines[at].replace(b"1", b"2")
    log.write_bytes(b"".join(lines))
    done = dse("run", "study.yaml", "--resume", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert ("1 damaged lines of the log" in done.stdout) is not damage.endswith("cut")
    assert (log.parent / "front.csv").read_bytes() == uninterrupted
    assert set(files(log.parent)) == REPORT


@pytest.mark.evidence
def test_killed_at_random(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A run that is killed and goes on, again and again; `make kills` asks for fifty times."""
    kills = os.environ.get("KILLS", "15")
    study = written(tmp_path, LARGE.replace("to: 1024", "to: 256"))  # 19 units
    command = [sys.executable, "-c", KILLING, "", str(study), str(seed()), kills]
    done = subprocess.run(
        command, env=environment(), capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )
    with capfd.disabled():
        print(f"\n{done.stdout}", end="")
    assert done.returncode == 0, done.stderr
    assert f"{kills} kills" in done.stdout


@pytest.mark.slow
@pytest.mark.evidence
def test_killed_at_random_with_several_workers(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The driver of a Ray cluster that outlives it; fewer kills, since joining takes seconds:
    `make kills` asks for fifty.
    """
    kills = int(os.environ.get("KILLS", "5"))
    study, limit_s = str(written(tmp_path, LARGE)), 60.0 + 15.0 * kills
    printed = beside_a_head(KILLING, study, str(seed()), str(kills), cpus=2, limit_s=limit_s)
    with capfd.disabled():
        print(f"\n{printed}", end="")
    assert f" {kills} kills" in printed


KILLING = (
    f"import sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r}); "
    "from tests.commands.killing import main; main(*sys.argv[1:])"
)


def seed() -> int:
    return random.randrange(2**32)


@pytest.mark.evidence
@pytest.mark.slow
def test_ctrl_c_with_ray_workers(uninterrupted: bytes, tmp_path: Path) -> None:
    status, _, err = stopped_midway(tmp_path, signal.SIGINT, "--executor", "ray")
    assert status == 130
    assert "Traceback" not in err
    assert f"interrupted; {KEPT.format('reports/large')}" in err
    done = dse("run", "study.yaml", "--resume", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "reports" / "large" / "front.csv").read_bytes() == uninterrupted


def limited(largest_file: int, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run dse where no file can grow beyond so many bytes, as on a disk that is full."""
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({largest_file},) * 2)"
    code = f"{limit}; import sys; sys.argv[0] = 'dse'; from dse.commands.main import main; main()"
    return subprocess.run(
        [sys.executable, "-B", "-c", code, *arguments], cwd=cwd, env=environment(),
        capture_output=True, text=True, timeout=DEADLINE_S, check=False,
    )  # fmt: skip


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="needs a limit on file sizes")
@pytest.mark.parametrize(
    ("largest_file", "engine"),
    [
        pytest.param(64, EXHAUSTIVE, id="the log's first line", marks=pytest.mark.evidence),
        pytest.param(10_000, EXHAUSTIVE, id="the document"),
        pytest.param(500_000, EXHAUSTIVE, id="the page", marks=pytest.mark.evidence),
        pytest.param(10_000, GUIDED, id="the document, guided", marks=pytest.mark.evidence),
    ],
)
def test_a_file_that_cannot_grow_leaves_the_previous_report(
    largest_file: int, engine: tuple[str, ...], tmp_path: Path
) -> None:
    written(tmp_path)
    assert dse("run", "study.yaml", cwd=tmp_path).returncode == 0
    before = files(tmp_path)
    done = limited(largest_file, "run", "study.yaml", *engine, cwd=tmp_path)
    lines = done.stderr.splitlines()
    assert done.returncode == 2
    assert "cannot be written: File too large" in lines[-1]
    assert "Traceback" not in done.stderr
    assert "Report:" not in done.stdout
    after = files(tmp_path)
    after.pop(f"reports/small/{LOG}", None)  # a run that is done but not reported may be resumed
    assert after == before


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1.2 MB: room for one report, not for two."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root may mount a small file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1200k", "tmpfs", str(disk)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.evidence
def test_a_disk_that_fills_in_the_midst_of_a_run_loses_nothing(
    uninterrupted: bytes, small_disk: Path, tmp_path: Path
) -> None:
    study = written(tmp_path, LARGE)
    header = len(json.dumps(fingerprint(load(study), "exhaustive")))
    room = -(-(header + 4000) // 4096) * 4096  # the log's first line, and a few of its units
    filler = small_disk / "other"
    filler.write_bytes(b"x" * (shutil.disk_usage(small_disk).free - room))
    command = ("run", "study.yaml", "--out", "disk/large")
    line = refused(dse(*command, cwd=tmp_path))
    assert line == (
        f"dse: disk/large/{LOG}: cannot be written: No space left on device; free some space and "
        "continue with --resume, or choose another --out"
    )
    assert set(files(small_disk / "large")) == {LOG}
    assert refused(dse(*command, "--resume", cwd=tmp_path)).startswith("dse: disk/large/")
    filler.unlink()
    done = dse(*command, "--resume", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    resumed = re.search(r"resuming: (\d+) units", done.stdout)
    assert resumed is not None
    assert int(resumed[1]) >= 1
    assert (small_disk / "large" / "front.csv").read_bytes() == uninterrupted
    assert set(files(small_disk / "large")) == REPORT


@pytest.mark.parametrize(
    "fill", beyond([False], [False, True]), ids=("in the report", "from the start")
)
def test_a_full_disk_leaves_the_previous_report(
    fill: bool, small_disk: Path, tmp_path: Path
) -> None:
    written(tmp_path)
    assert dse("run", "study.yaml", "--out", "disk/small", cwd=tmp_path).returncode == 0
    before = files(small_disk / "small")
    if fill:
        room = shutil.disk_usage(small_disk).free
        (small_disk / "other").write_bytes(b"x" * room)
    line = refused(dse("run", "study.yaml", "--out", "disk/small", cwd=tmp_path))
    assert "disk/small" in line
    assert "cannot be written: No space left on device" in line
    after = files(small_disk / "small")
    after.pop(LOG, None)
    assert after == before


@pytest.mark.parametrize("out", ["taken", "taken/below", "study.yaml", "dangling"])
@pytest.mark.parametrize("engine", ["exhaustive", "guided"])
def test_something_else_in_place_of_the_folder(engine: str, out: str, tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "taken").write_text("a file")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    done = dse("run", "study.yaml", "--engine", engine, "--out", out, cwd=tmp_path)
    line = refused(done)
    assert line.startswith(f"dse: {out}: ")
    assert "is not a folder; choose another --out" in line
    assert line.count(out) == 1
    assert done.stdout == ""
    assert (tmp_path / "taken").read_text() == "a file"
    assert {path.name for path in tmp_path.iterdir()} == {"study.yaml", "taken", "dangling"}


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("init", "{}/study.yaml"), "file"),
        (("ask", "--workload", "resnet50", "--out", "{}"), "--out"),
    ],
)
@pytest.mark.skipif(not os.path.isdir("/proc"), reason="no folder that root cannot write")
def test_a_first_study_has_a_place_before_anything_is_asked(
    arguments: tuple[str, ...], option: str, tmp_path: Path
) -> None:
    line = refused(dse(*(word.format("/proc") for word in arguments), cwd=tmp_path))
    assert line == f"dse: /proc: cannot be written; choose another {option}"
    (tmp_path / "notes").touch()
    line = refused(dse(*(word.format("notes") for word in arguments), cwd=tmp_path))
    assert line == f"dse: notes: is not a folder; choose another {option}"
    assert set(files(tmp_path)) == {"notes"}


def test_a_folder_is_tried_and_left_as_it_was(tmp_path: Path) -> None:
    check_writable(tmp_path / "reports" / "mine")
    assert not list(tmp_path.iterdir())
    (tmp_path / "mine").mkdir()
    check_writable(tmp_path / "mine")
    check_writable(tmp_path / "missing" / ".." / ".." / "mine")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    with pytest.raises(OutputError, match="cannot be written; choose another out"):
        check_writable(tmp_path / ("n" * 300))


@pytest.mark.parametrize(
    "command", beyond([("schema",)], [("schema",), ("catalog",), ("run", "study.yaml", "--json")])
)
def test_output_that_goes_nowhere_is_one_line(command: tuple[str, ...], tmp_path: Path) -> None:
    written(tmp_path)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "dse", *command], cwd=tmp_path, env=environment(),
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=DEADLINE_S, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "dse: output cannot be written: No space left on device\n"


def test_json_after_ctrl_c_is_nothing(tmp_path: Path) -> None:
    status, out, err = stopped_midway(tmp_path, signal.SIGINT, "--json")
    assert (status, out) == (130, "")
    assert "--resume" in err


@pytest.mark.evidence
def test_a_log_that_cannot_grow_stops_the_run_and_keeps_what_it_has(tmp_path: Path) -> None:
    written(tmp_path, LARGE)
    line = refused(limited(1500, "run", "study.yaml", cwd=tmp_path))
    assert "run.log.jsonl: cannot be written: File too large; " in line
    assert "--resume" in line
    done = dse("run", "study.yaml", "--resume", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert set(files(tmp_path / "reports" / "large")) == REPORT


def test_a_disk_that_is_read_only(small_disk: Path, tmp_path: Path) -> None:
    written(tmp_path)
    assert dse("run", "study.yaml", "--out", "disk/small", cwd=tmp_path).returncode == 0
    before = files(small_disk)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    line = refused(dse("run", "study.yaml", "--out", "disk/small", cwd=tmp_path))
    assert line.startswith("dse: disk/small: ")
    assert "cannot be written" in line
    assert files(small_disk) == before


def test_a_closed_output_is_no_failure(tmp_path: Path) -> None:
    """And no file takes its place."""
    written(tmp_path, SMALL)
    for closing in (">&-", "2>&-", ">&- 2>&-"):
        shutil.rmtree(tmp_path / "reports", ignore_errors=True)
        command = f"{sys.executable} -m dse run study.yaml {closing}"
        done = subprocess.run(command, shell=True, cwd=tmp_path, env=environment(), check=False)
        assert done.returncode == 0, closing
        assert set(files(tmp_path / "reports" / "small")) == REPORT


def test_a_full_disk_takes_no_table_and_no_storage(small_disk: Path, tmp_path: Path) -> None:
    written(tmp_path, SMALL)
    assert dse("run", "study.yaml", cwd=tmp_path).returncode == 0
    folder = tmp_path / "reports" / "small"
    fill = small_disk / "fill"
    with suppress(OSError), fill.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1024))
    for out in (small_disk / "x.xlsx", f"sqlite:///{small_disk}/x.db"):
        done = dse_process("export", folder, str(out), cwd=tmp_path)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert os.listdir(small_disk) == ["fill"]
