"""``dse watch``: a prediction beside what a run has measured."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from dse.commands.watch import checker, followed
from dse.errors import StudyError
from tests.calibration.importers import traces
from tests.commands.command import DEADLINE_S, dse, refused, start
from tests.commands.reports import document

Ran = tuple[Path, str]


def point(ran: Ran, row: int = 3) -> dict[str, Any]:
    found: dict[str, Any] = document(ran[0])["front"][row - 1]
    return found


def logged(folder: Path, *rates: float) -> Path:
    path = folder / "train.log"
    path.write_text("".join(f"step {n}: {rate:.6f} images/sec\n" for n, rate in enumerate(rates)))
    return path


def test_a_rate_within_the_interval_ends_with_0(ran: Ran, tmp_path: Path) -> None:
    own = point(ran)["throughput_samples_per_s"]
    log = logged(tmp_path, *[own * 0.2] * 2, *[own * 0.9] * 18)
    done = dse("watch", log, "--expect", ran[0], "--row", "3", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Within the interval: 10 % slower than expected." in done.stdout
    assert "small, row 3 of the front: 8 x NVIDIA" in done.stdout
    assert "lines 3 to 20, read as samples/s; the first 2 rates left out as warm-up" in done.stdout
    assert f'line 3: "{own * 0.9:.6f} images/sec"' in done.stdout
    assert "import-throughput" not in done.stdout


@pytest.mark.parametrize(
    ("end", "factor", "words"), [(0, 0.6, "40 % below its lower end"), (1, 1.5, "above its upper")]
)
def test_a_rate_outside_ends_with_1_and_says_what_to_do(
    end: int, factor: float, words: str, ran: Ran, tmp_path: Path
) -> None:
    own = point(ran)
    rate = own["interval"]["throughput_samples_per_s"][end] * factor
    done = dse("watch", logged(tmp_path, rate), "--expect", ran[0], "--row", "3", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "")
    assert "Outside the interval: " in done.stdout
    assert words in done.stdout
    header, cells = re.findall(r"^ {4}(\w.*)$", done.stdout, re.MULTILINE)
    table = tmp_path / "ours.csv"
    table.write_text(f"{header}\n{cells}\n")
    made = dse("calibrate", "import-throughput", "ours.csv", cwd=tmp_path)
    assert made.returncode == 0, made.stderr  # the advice works as it stands
    assert float(cells.split(",")[header.split(",").index("samples_per_s")]) == pytest.approx(
        rate, rel=1e-4
    )


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (
            1e-6,
            r"interval: [\d,]+ times as slow as expected, [\d,]+ times as slow as its lower end\.",
        ),
        (1e6, r"interval: 1,000,000 times as fast as expected, [\d,]+ times as fast as its upper"),
    ],
)
def test_what_is_more_than_twofold_is_told_as_a_factor(
    factor: float, words: str, ran: Ran, tmp_path: Path
) -> None:
    log = logged(tmp_path, point(ran)["throughput_samples_per_s"] * factor)
    done = dse("watch", log, "--expect", ran[0], "--row", "3", cwd=tmp_path)
    assert re.search(words, done.stdout)


def test_the_recommended_point_and_a_table_as_json(ran: Ran, tmp_path: Path) -> None:
    own = document(ran[0])["recommended"]
    (tmp_path / "rates.csv").write_text(f"samples_per_s\n{own['throughput_samples_per_s']}\n")
    done = dse("watch", "rates.csv", "--expect", ran[0], "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (done.returncode, found["within"], found["ratio"]) == (0, True, pytest.approx(1.0))
    assert found["interval"] == pytest.approx(own["interval"]["throughput_samples_per_s"])
    assert found["point"].startswith("the recommended point: ")


def test_of_a_table_of_several_configurations_the_rows_of_the_point_count(
    ran: Ran, tmp_path: Path
) -> None:
    watch = ("watch", "ours.csv", "--expect", ran[0], "--row", "3")
    far = point(ran)["throughput_samples_per_s"] / 100
    (tmp_path / "ours.csv").write_text(f"samples_per_s\n{far}\n")
    header, cells = json.loads(dse(*watch, "--json", cwd=tmp_path).stdout)["own_rate"]
    names, own = header.split(","), cells.split(",")
    rate, gpus = names.index("samples_per_s"), names.index("gpus")
    twice = [*own[:rate], str(far * 2), *own[rate + 1 :]]
    other = [*twice[:gpus], "4", *twice[gpus + 1 :]]

    def written(*rows: list[str]) -> None:
        text = "\n".join(";".join(row).replace(".", ",") for row in (names, *rows))
        (tmp_path / "ours.csv").write_text(text + "\n")

    written(other, own)
    done = dse(*watch, cwd=tmp_path)
    assert "ours.csv, line 3, read as samples_per_s; 1 row of other configurations" in done.stdout
    assert float(done.stdout.split("measured ")[1].split()[0]) == pytest.approx(far, rel=1e-3)
    written(other, other)
    assert "ours.csv: none of its 2 rows is of row 3 of the front, 8 x NVIDIA" in refused(
        dse(*watch, cwd=tmp_path)
    )


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("step;samples_per_s\n1;10400,5\n2;10400,5\n", "lines 2 to 3, read"),
        ("step\tloss\tsamples/s\n1\t2.3\t10400.5\n", "line 2, read"),
        ("gpus,samples_per_s\n4,20\n8,10400.5\n16,9000\n",
         "line 3, read as samples_per_s; 2 rows of other configurations left out"),
    ],
)  # fmt: skip
def test_a_table_may_have_semicolons_tabs_and_decimal_commas(
    text: str, lines: str, ran: Ran, tmp_path: Path
) -> None:
    (tmp_path / "rates.csv").write_text(text)
    done = dse("watch", "rates.csv", "--expect", ran[0], "--row", "3", cwd=tmp_path)
    assert "measured   10,400 samples/s" in done.stdout
    assert f"rates.csv, {lines}" in done.stdout


def test_a_trace_tells_communication_from_computing(ran: Ran, tmp_path: Path) -> None:
    own = point(ran)
    path = tmp_path / "trace.json"
    path.write_text(traces.text(traces.nccl_events(), ranks=own["gpus"]))
    done = dse("watch", path, "--expect", ran[0], "--row", "3", "--json", cwd=tmp_path)
    parts = {part["name"]: part for part in json.loads(done.stdout)["parts"]}
    assert parts["step"]["expected_s"] == own["step_s"]
    assert parts["communication, hidden or not"]["expected_s"] == own["comm_s"]
    assert parts["communication, hidden or not"]["measured_s"] == pytest.approx(200e-6)
    assert parts["communication that is not hidden"]["measured_s"] == pytest.approx(150e-6)
    rest = parts["computing and all else"]
    assert rest["expected_s"] == pytest.approx(own["step_s"] - own["terms"]["exposed_s"])
    text = dse("watch", path, "--expect", ran[0], "--row", "3", cwd=tmp_path).stdout
    assert "communication, hidden or not" in text
    assert "a trace of PyTorch's profiler tells" not in text


def test_a_log_of_another_batch_is_told(ran: Ran, tmp_path: Path) -> None:
    log = logged(tmp_path, 5000.0)
    log.write_text("global batch size: 17\n" + log.read_text())
    done = dse("watch", log, "--expect", ran[0], "--row", "3", cwd=tmp_path)
    assert "Note: the log has a global batch of 17, and the point one of 2,048" in done.stdout


def test_a_trace_of_no_accelerator_and_of_nobody_knows_how_many_ranks_is_told(
    ran: Ran, tmp_path: Path
) -> None:
    path = tmp_path / "trace.json"
    steps = [event for event in traces.nccl_events() if event["cat"] == "user_annotation"]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": steps}))
    said = dse("watch", path, "--expect", ran[0], "--row", "3", cwd=tmp_path).stdout
    assert "taken as 2,048 samples a step, the point's global batch" in said
    assert (
        "Note: no kernel of a GPU computes in the trace, so it was not measured on 8 x NV" in said
    )
    assert "Note: the trace does not say how many ranks trained, and is compared with 8 acc" in said
    path.write_text(traces.text(traces.nccl_events(), ranks=8))
    said = dse("watch", path, "--expect", ran[0], "--row", "3", cwd=tmp_path).stdout
    assert "Note: " not in said


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("1.25 s/it", "read as s/step, taken as 2,048 samples a step, the point's global batch"),
        ("4.5 it/s", "read as steps/s, taken as 2,048 samples a step, the point's global batch"),
        ("350 img/s/gpu", "read as samples/s of one accelerator, times 8"),
        ("Throughput per GPU: 350 img/s", "read as samples/s of one accelerator, times 8"),
        (
            "step_time: 0.5 s\ndata 0.01 s/it",
            "; 1 line of loading data or a part of a step left out",
        ),
        (
            "a 350.5 img/s b 700.5 img/s",
            'Note: 1 line tells more than one rate, and the first counts, in line 1 "350.5 img/s" '
            'rather than "700.5 img/s".',
        ),
        (
            "9/9 [===] - 9s 900ms/step - loss: 2.31 - val_loss: 2.2",
            "Note: the time of a step in 1 line of whole epochs of Keras has validation in it.",
        ),
    ],
)
def test_what_a_rate_was_multiplied_by_is_told(
    line: str, words: str, ran: Ran, tmp_path: Path
) -> None:
    (tmp_path / "train.log").write_text(f"{line}\n")
    done = dse("watch", "train.log", "--expect", ran[0], "--row", "3", cwd=tmp_path)
    assert words in done.stdout


def test_a_rate_of_one_node_is_multiplied_by_the_nodes_of_the_point(
    ran: Ran, tmp_path: Path
) -> None:
    rows = document(ran[0])["front"]
    row, nodes = next((n, own["nodes"]) for n, own in enumerate(rows, 1) if own["nodes"] > 1)
    (tmp_path / "train.log").write_text("350.5 img/s/node\n")
    done = dse("watch", "train.log", "--expect", ran[0], "--row", str(row), "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert found["measured"] == pytest.approx(350.5 * nodes)
    assert found["read_as"] == f"samples/s of one node, times {nodes}"


def test_the_decimal_mark_is_asked_for_and_lines_left_out_are_told(
    ran: Ran, tmp_path: Path
) -> None:
    (tmp_path / "train.log").write_text("15.250 images/sec\n1.2.3 images/sec\n")
    asked = ("watch", "train.log", "--expect", str(ran[0]), "--row", "3")
    assert "train.log:1:1: '15.250' may be 15.25 or 15250" in refused(dse(*asked, cwd=tmp_path))
    done = dse(*asked, "--decimal", ",", cwd=tmp_path)
    assert "measured   15,250 samples/s, one rate" in done.stdout
    assert "read as samples/s; 1 line without a readable number left out" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("train.log", "--expect", "RUN", "--decimal", ";"), "--decimal: ';' is no decimal mark"),
        (("train.log", "--expect", "RUN", "--row", "999"), "--row: the front of small has rows"),
        (("none.log", "--expect", "RUN"), "none.log: cannot be read"),
        (("empty.log", "--expect", "RUN"), "no line tells how fast training was"),
        (("train.log", "--expect", "nowhere"), "nowhere: no such folder"),
        (("train.log",), "missing option '--expect'"),
        ((str(traces.GLOO), "--expect", "RUN", "--row", "3"),
         "the trace is of 2 ranks, but row 3 of the front has 8 accelerators"),
    ],
)  # fmt: skip
def test_bad_input(arguments: tuple[str, ...], words: str, ran: Ran, tmp_path: Path) -> None:
    logged(tmp_path, 100.0)
    (tmp_path / "empty.log").write_text("nothing here\n")
    given = [str(ran[0]) if word == "RUN" else word for word in arguments]
    assert words in refused(dse("watch", *given, cwd=tmp_path))


def test_a_growing_log_is_followed_until_ctrl_c(
    ran: Ran, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = point(ran)["throughput_samples_per_s"]
    log = tmp_path / "train.log"
    growth = [
        lambda: logged(tmp_path, own / 9),
        lambda: None,
        lambda: logged(tmp_path, own / 9, own / 9),  # the verdict is the same
        lambda: logged(tmp_path, own, own, own),
    ]

    def wait(_: float) -> None:
        if not growth:
            raise KeyboardInterrupt
        growth.pop(0)()

    found = followed(checker(ran[0], 3, log), log, wait)
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("1 rate, median")
    assert "Outside" in first
    assert second.startswith("3 rates, median")
    assert "Within" in second
    assert found.within


def test_a_row_that_is_half_written_waits_for_its_end(
    ran: Ran, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = point(ran)["throughput_samples_per_s"]
    log = tmp_path / "rates.csv"
    texts = ["", "step,samp", "step,samples_per_s\n1,", f"step,samples_per_s\n1,{own}\n2,",
             f"step,samples_per_s\n1,{own}\n2,{own / 1000:.1f}"]  # fmt: skip

    def wait(_: float) -> None:
        if not texts:
            raise KeyboardInterrupt
        log.write_text(texts.pop(0))

    found = followed(checker(ran[0], 3, log, growing=True), log, wait)
    (only,) = capsys.readouterr().err.splitlines()
    assert only.startswith("1 rate, median")
    assert (found.rates, found.within) == (1, True)


@pytest.mark.parametrize(("factor", "status"), [(1.0, 0), (0.01, 1)])
def test_ctrl_c_ends_with_the_last_verdict(
    factor: float, status: int, ran: Ran, tmp_path: Path
) -> None:
    """And with the status that it has without --follow."""
    log = logged(tmp_path, point(ran)["throughput_samples_per_s"] * factor)
    running = start("watch", log, "--expect", ran[0], "--row", "3", "--follow", cwd=tmp_path)
    assert running.stderr is not None
    verdict = running.stderr.readline().partition(". ")[2].strip()
    running.send_signal(signal.SIGINT)
    said, errors = running.communicate(timeout=DEADLINE_S)
    assert (running.returncode, errors) == (status, "")
    assert verdict.startswith(("Within", "Outside")[status])
    assert verdict in said


def test_a_log_that_never_told_anything(ran: Ran, tmp_path: Path) -> None:
    def wait(_: float) -> None:
        raise KeyboardInterrupt

    log = tmp_path / "train.log"
    with pytest.raises(StudyError, match="cannot be read"):
        followed(checker(ran[0], 3, log), log, wait)


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
    (tmp_path / "train.log").write_text(f"tokens/s: {expected * 1024:.1f}\n")
    (tmp_path / "config.json").unlink()  # the run knows
    watch = ("watch", "train.log", "--expect", "run")
    done = dse(*watch, "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["ratio"] == pytest.approx(1.0, rel=1e-4)
    said = refused(dse(*watch, "--sequence", "2048", cwd=tmp_path))
    assert "has samples of 1024 tokens, so 2048 were not predicted" in said


def test_tokens_of_a_sample_may_be_said(ran: Ran, tmp_path: Path) -> None:
    own = point(ran)["throughput_samples_per_s"]
    (tmp_path / "train.log").write_text(f"{own * 100:.3f} tokens/s\n")
    watch = ("watch", "train.log", "--expect", ran[0], "--row", "3")
    assert refused(dse(*watch, cwd=tmp_path)).endswith("say it, such as --sequence 1024")
    done = dse(*watch, "--sequence", "100", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["ratio"] == pytest.approx(1.0, rel=1e-4)
