"""`dse calibrate predict, compare, suggest, show` as a user has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dse.calibration import write_profile
from tests.calibration import library_profiles
from tests.calibration.importers import samples
from tests.commands import command

STUDY = """\
study: small
workload: resnet50
space:
  accelerator: [a100-sxm4-40gb]
  gpus: [1, 8, 32]
  gpus_per_node: [4]
  inter_node: [100gbe]
  batch_per_gpu: [64]
  precision: [fp32]
  aggregation: [ring-nccl, ps-grpc]
  bucket: [25 MiB]
baseline: {gpus: 8, aggregation: ring-nccl}
constraints: [fits_memory]
objectives: {maximize: speedup, minimize: capital}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, slower in (("fast", 1.0), ("slow", 4.0)):
        path = tmp_path / "calibrations" / f"{name}.yaml"
        write_profile(library_profiles.profile(name, slower, error=0.3), path)
    write_profile(library_profiles.one_node(), tmp_path / "calibrations" / "inside.yaml")
    (tmp_path / "study.yaml").write_text(STUDY, encoding="utf-8")
    (tmp_path / "a.log").write_text(samples.nccl(), encoding="utf-8")
    return tmp_path


def test_predict_gives_json_and_a_table(folder: Path) -> None:
    ask = ("calibrate", "predict", "fast", "--ranks", "8,128", "--ranks-per-node", "4",
           "--bytes", "4KiB,1MiB,1GiB")  # fmt: skip
    done = command.dse(*ask, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [row["in_range"] for row in found] == [True, True, False, False, False, False]
    assert all(row["low"] < row["seconds"] < row["high"] for row in found)
    text = command.dse(*ask, cwd=folder).stdout
    assert "128 ranks (measured: 8-32)" in text
    assert "1 GiB (measured: 1 KiB to 256 MiB)" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("predict", "fast", "--ranks", "0", "--bytes", "1"), "--ranks: '0' is not between 1"),
        (("predict", "fast", "--ranks", "2", "--bytes", "1", "--algorithm", "tre"), "mean tree"),
        (
            ("predict", "fast", "--ranks", "8", "--bytes", "1", "--link-bandwidth", "9"),
            "--link-bandwidth: 9 has no unit",
        ),
        (
            ("predict", "fast", "--ranks", "8", "--bytes", "1", "--link-bandwidth", "25 Gbps"),
            "does not state the link speed",
        ),
        (("predict", "fasst", "--ranks", "2", "--bytes", "1"), "did you mean fast"),
        (("predict", "study.yaml", "--ranks", "2", "--bytes", "1"), "has no 'format"),
        (("suggest", "fast", "--study", "study.yaml", "--budget", "0"), "must be positive"),
        (("suggest", "fast", "--study", "nope.yaml"), "no such file"),
        (("fit", "m.json", "./m.json", "--out", "b.yaml"), "m.json: is given twice"),
        (("fit", "m.json", "--out", "study.yaml"), "is another kind of file"),
        (("fit", "a.log", "--out", "b.yaml"), "to make one from a log: dse calibrate import"),
        (("run", "--link", "100 Gbps"), "--link-bandwidth '100 Gbps', and --link a name"),
        (("show", "fst"), "did you mean fast?"),
    ],
)
def test_bad_input_is_one_line(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    before = command.files(folder)
    assert said in command.refused(command.dse("calibrate", *arguments, cwd=folder))
    assert command.files(folder) == before


def test_what_cannot_be_priced_does_not_hide_the_rest(folder: Path) -> None:
    study = STUDY.replace("[1, 8, 32]", "[4, 8, 32]")
    (folder / "study.yaml").write_text(study, encoding="utf-8")
    done = command.dse("calibrate", "suggest", "inside", "--study", "study.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "more of its points cannot be priced" in done.stdout


def test_suggest_names_runs_for_a_study(folder: Path) -> None:
    ask = ("calibrate", "suggest", "fast", "--study", "study.yaml")
    done = command.dse(*ask, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {run["ranks"] for run in found["runs"]} <= {8, 32}
    assert found["runs"]
    assert found["cost_s"] <= 60
    assert all(run["ranks_per_node"] <= 4 for run in found["runs"])
    assert found["width_then"] < found["width_now"]
    assert "next runs for fast" in command.dse(*ask, cwd=folder).stdout


def test_suggest_refuses_a_profile_of_another_transport(folder: Path) -> None:
    path = folder / "study.yaml"
    path.write_text(STUDY.replace("ring-nccl", "ring-gloo"), encoding="utf-8")
    done = command.dse("calibrate", "suggest", "fast", "--study", "study.yaml", cwd=folder)
    assert "over gloo, grpc, not over nccl" in command.refused(done)


def test_logs_become_a_profile_in_one_step(folder: Path) -> None:
    done = command.dse("calibrate", "import", "a.log", "--name", "mine", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "wrote calibrations/mine.measurements.json" in done.stdout
    assert "wrote calibrations/mine.yaml" in done.stdout
    assert "of little use" in done.stdout
    assert done.stdout.endswith("a study uses it by calibration: [mine]\n")
    again = ("calibrate", "fit", "calibrations/mine.measurements.json", "--out")
    before = (folder / "calibrations" / "mine.yaml").read_bytes()
    assert command.dse(*again, "calibrations/mine.yaml", cwd=folder).returncode == 0
    assert (folder / "calibrations" / "mine.yaml").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "--name: is missing, and so is --out; write for example --name mine"),
        (("--name", "a/b"), "--name: 'a/b' is not a file name"),
        (("--name", ""), "--name: '' is not a file name"),
        (("--name", "mine", "--collective", "broadcast"), "no measurement that a profile can be"),
    ],
)
def test_what_makes_no_profile_writes_nothing(
    options: tuple[str, ...], said: str, folder: Path
) -> None:
    if "broadcast" in options:
        text = samples.nccl_named("broadcast_perf", samples.nccl_rows(8, "broadcast", "none  0"))
        (folder / "a.log").write_text(text, encoding="utf-8")
        options = options[:2]
    before = command.files(folder)
    assert said in command.refused(
        command.dse("calibrate", "import", "a.log", *options, cwd=folder)
    )
    assert command.files(folder) == before
