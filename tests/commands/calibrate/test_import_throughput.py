"""`dse calibrate import-throughput` as a user has it."""

from __future__ import annotations

import shutil
from pathlib import Path

from dse import catalog
from tests.calibration.importers import samples
from tests.commands import command
from tests.commands.reports import document
from tests.pricing.studies import SMALL, written

TABLE = """\
workload,accelerator,samples_per_s,precision,batch_per_gpu
resnet50,a100-sxm4-40gb,900,fp16,128
"""


def test_it_writes_a_profile_that_show_prints(tmp_path: Path) -> None:
    (tmp_path / "ours.csv").write_text(TABLE, encoding="utf-8")
    done = command.dse("calibrate", "import-throughput", "ours.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "wrote calibrations/ours.yaml: 1 rate\n"
    shown = command.dse("calibrate", "show", "ours", cwd=tmp_path).stdout
    assert "measured training" in shown
    assert "none" not in shown
    study = SMALL.replace("workload: resnet50", "workload: resnet50\ncalibration: [ours]")
    written(tmp_path, study)
    assert command.dse("run", "study.yaml", "--out", "report", cwd=tmp_path).returncode == 0
    (profile,) = document(tmp_path / "report")["calibration"]
    assert profile["name"] == "ours"
    assert [rate["samples_per_s"] for rate in profile["rates"]] == [900]
    other = ("--name", "mine", "--out", "elsewhere")
    assert command.dse("calibrate", "import-throughput", "ours.csv", *other, cwd=tmp_path).stdout
    assert (tmp_path / "elsewhere" / "mine.yaml").exists()


def test_mistakes_are_one_line_and_write_nothing(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text(TABLE.replace("a100-sxm4-40gb", "a1oo"), encoding="utf-8")
    (tmp_path / "good.csv").write_text(TABLE, encoding="utf-8")
    for arguments, said in (
        (("bad.csv",), "bad.csv:2:10: accelerator: 'a1oo' is not known; did you mean a100-"),
        (("none.csv",), "none.csv: cannot be read: No such file or directory"),
        (("good.csv", "--name", "../x"), "--name: '../x' is not a file name"),
    ):
        done = command.dse("calibrate", "import-throughput", *arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        assert said in line
    assert not (tmp_path / "calibrations").exists()


def test_profiles_of_rates_and_of_measurements_do_not_replace_one_another(tmp_path: Path) -> None:
    (tmp_path / "ours.csv").write_text(TABLE, encoding="utf-8")
    (tmp_path / "a.log").write_text(samples.ALL["nccl"], encoding="utf-8")
    rates = ("calibrate", "import-throughput", "ours.csv", "--name")
    for _ in range(2):  # again of its kind
        assert command.dse(*rates, "rates", cwd=tmp_path).returncode == 0
    shipped = catalog.models_dir() / "calibrations" / "lassen-mpi.yaml"
    shutil.copy(shipped, tmp_path / "calibrations" / "measured.yaml")
    logs = ("calibrate", "import", "a.log", "--name")
    run = ("calibrate", "run", "--budget", "5", "--name")
    for lost, kind, commands in (
        ("rates", "training rates", (logs, run)), ("measured", "measurements", (rates,))
    ):  # fmt: skip
        path = tmp_path / "calibrations" / f"{lost}.yaml"
        before = path.read_bytes()
        for words in commands:
            done = command.dse(*words, lost, cwd=tmp_path)
            said = f"--name: 'calibrations/{lost}.yaml' is a profile of {kind}, which would be lost"
            assert (done.returncode, done.stdout) == (2, "")
            assert said in done.stderr
            assert path.read_bytes() == before
    lab = Path(__file__).parents[3] / "benchmarks" / "lab" / "results" / "mpi-400mbps.json"
    done = command.dse("calibrate", "fit", lab, "--out", "calibrations/rates.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert "--out: 'calibrations/rates.yaml' is a profile of training rates" in done.stderr


def test_what_is_strange_is_said_and_written(tmp_path: Path) -> None:
    rows = (
        "bert-large-s512,a100-sxm4-80gb,70,bf16,16",
        "bert-large-s512,a100-sxm4-80gb,15,bf16,16",
        "resnet50,a100-sxm4-80gb,900,fp8,64",
    )
    header = TABLE.splitlines()[0]
    (tmp_path / "ours.csv").write_text("\n".join((header, *rows)), encoding="utf-8")
    done = command.dse("calibrate", "import-throughput", "ours.csv", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "wrote calibrations/ours.yaml: 3 rates\n")
    slow, unknown = done.stderr.splitlines()
    assert unknown.startswith("warning: ours.csv:4: a100-sxm4-80gb has no peak in fp8")
    assert slow.startswith("warning: ours.csv:3: 15 samples/s is far from the ")
    assert "times fewer); check unit, gpus, stack and batch_per_gpu" in slow
