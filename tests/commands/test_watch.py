"""``dse watch``: a prediction beside what a run has measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands.command import dse, refused
from tests.commands.reports import document

Ran = tuple[Path, str]


def point(ran: Ran, row: int = 3) -> dict[str, Any]:
    found: dict[str, Any] = document(ran[0])["front"][row - 1]
    return found


def logged(folder: Path, *rates: float) -> Path:
    """The log of a trainer that tells samples/s of the whole job."""
    path = folder / "train.log"
    path.write_text("".join(f"DLL 2026 - train.total_ips : {rate:.6f} img/s\n" for rate in rates))
    return path


def watched(ran: Ran, folder: Path, *arguments: str | Path) -> dict[str, Any]:
    """What ``--json`` says of row 3, and that the exit status is that of its verdict."""
    done = dse("watch", *arguments, "--expect", ran[0], "--row", "3", "--json", cwd=folder)
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (0 if found["within"] else 1)
    return found


def test_a_rate_within_the_interval(ran: Ran, tmp_path: Path) -> None:
    own = point(ran)["throughput_samples_per_s"]
    log = logged(tmp_path, *[own * 0.2] * 2, *[own * 0.9] * 16, own, own)
    found = watched(ran, tmp_path, log)
    assert (found["within"], found["ratio"]) == (True, pytest.approx(0.9))
    assert (found["rates"], found["warm_up"], found["lines"]) == (18, 2, [3, 20])
    said = dse("watch", log, "--expect", ran[0], "--row", "3", cwd=tmp_path).stdout
    assert "median of 18 rates, nine of ten " in said
    assert found["spread"] == pytest.approx([own * 0.9, own])
    drawn = point(ran)["interval"]["throughput_samples_per_s"]
    assert found["interval"] == pytest.approx(drawn, rel=1e-5)


@pytest.mark.parametrize(("end", "factor", "side"), [(0, 0.6, "Below"), (1, 1.5, "Above")])
def test_a_rate_outside_the_interval(
    end: int, factor: float, side: str, ran: Ran, tmp_path: Path
) -> None:
    rate = point(ran)["interval"]["throughput_samples_per_s"][end] * factor
    log = logged(tmp_path, rate)
    assert not watched(ran, tmp_path, log)["within"]
    done = dse("watch", log, "--expect", ran[0], "--row", "3", cwd=tmp_path)
    assert f"{side} the interval: " in done.stdout


def test_the_recommended_point_and_a_table(ran: Ran, tmp_path: Path) -> None:
    own = document(ran[0])["recommended"]
    (tmp_path / "rates.csv").write_text(f"samples_per_s\n{own['throughput_samples_per_s']}\n")
    done = dse("watch", "rates.csv", "--expect", ran[0], "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (done.returncode, found["within"], found["ratio"]) == (0, True, pytest.approx(1.0))
    assert found["point"].startswith("the recommended point: ")


def test_a_rate_in_words(ran: Ran, tmp_path: Path) -> None:
    own = point(ran)
    for text in (f"{own['throughput_samples_per_s'] / own['gpus']} samples/s/gpu",
                 f"{own['step_s']} s/step"):  # fmt: skip
        found = watched(ran, tmp_path, "--measured", text)
        assert (found["ratio"], found["lines"]) == (pytest.approx(1.0), None)
    of_one = f"{own['throughput_samples_per_s'] / own['gpus']} samples/s"
    assert watched(ran, tmp_path, "--measured", of_one)["count"] == f"{own['gpus']} accelerators"
    done = dse("watch", "--measured", of_one, "--expect", ran[0], "--row", "3", cwd=tmp_path)
    assert "check what the rate is of" in done.stdout
    assert "To teach the model" not in done.stdout


def test_a_log_of_another_batch_is_told(ran: Ran, tmp_path: Path) -> None:
    log, batch = tmp_path / "train.log", point(ran)["global_batch"]
    line = "iteration 1 | elapsed time per iteration (s): 2.0 | global batch size: {} |\n"
    log.write_text(line.format(17))
    found = watched(ran, tmp_path, log)
    assert (found["measured"], found["batches"]) == (8.5, [17, batch])
    log.write_text(line.format(batch))
    assert watched(ran, tmp_path, log)["batches"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("train.log", "--expect", "RUN", "--row", "999"), "--row: the front of small has rows"),
        (("none.log", "--expect", "RUN"), "none.log: cannot be read"),
        (("empty.log", "--expect", "RUN"), "empty.log: tells no rate as Megatron-LM, NeMo, Hugg"),
        (("empty.log", "--expect", "RUN"), 'give --measured "9500 tokens/s/gpu"'),
        (("train.log", "--expect", "nowhere"), "nowhere: no such folder"),
        (("train.log",), "missing option '--expect'"),
        (("--expect", "RUN"), "--measured: is missing, and no log is given; give one of them"),
        (("train.log", "--expect", "RUN", "--measured", "5 s/step"), "is given beside a log"),
        (("--expect", "RUN", "--measured", "9500"), "--measured: '9500' is no rate with its unit"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], words: str, ran: Ran, tmp_path: Path) -> None:
    logged(tmp_path, 100.0)
    (tmp_path / "empty.log").write_text("1.25 s/it\n")
    given = [str(ran[0]) if word == "RUN" else word for word in arguments]
    assert words in refused(dse("watch", *given, cwd=tmp_path))


OWN = """study: own
workload: config.json
space:
  accelerator: a100-sxm4-80gb
  gpus: [8, 16]
  gpus_per_node: 8
  inter_node: 100gbe
  batch_per_gpu: 8
  precision: bf16
  aggregation: auto-nccl
baseline: {gpus: 8}
objectives: {maximize: speedup, minimize: capital}
"""
CONFIG = {"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "n_positions": 1024,
          "vocab_size": 50257}  # fmt: skip


def test_tokens_are_those_of_a_sample_of_the_run_s_own_workload(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "study.yaml").write_text(OWN)
    assert dse("run", "study.yaml", "--out", "run", cwd=tmp_path).returncode == 0
    expected = document(tmp_path / "run")["recommended"]["throughput_samples_per_s"]
    (tmp_path / "config.json").unlink()  # the run knows
    rate = f"{expected * 1024:.1f} tokens/s"
    done = dse("watch", "--expect", "run", "--measured", rate, "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["ratio"] == pytest.approx(1.0, rel=1e-4)


def test_half_the_rate_of_two_is_doubted_and_may_be_taught(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    study = OWN.replace("[8, 16]", "[2]").replace("gpus: 8}", "gpus: 2}")
    (tmp_path / "study.yaml").write_text(study)
    assert dse("run", "study.yaml", "--out", "run", cwd=tmp_path).returncode == 0
    expected = document(tmp_path / "run")["recommended"]["throughput_samples_per_s"]
    done = dse("watch", "--expect", "run", "--measured", f"{expected * 0.48} samples/s",
               cwd=tmp_path)  # fmt: skip
    assert "Their ratio is about one to 2 accelerators: check what the rate is of" in done.stdout
    assert "To teach the model" in done.stdout
