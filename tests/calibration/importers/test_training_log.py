"""How fast training was, out of what training scripts print."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dse.calibration.importers.measured_training import Training
from dse.calibration.importers.training_log import read_training
from dse.errors import StudyError
from tests.calibration.importers import traces
from tests.calibration.importers.reading import TERMS, rates


def test_samples_are_preferred_to_steps_and_evaluation_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(
        "[00:01, 9.0it/s]\ntrain: 100 samples/s, global batch size: 256\n"
        "eval_samples_per_second = 900\nvalidation 800 samples/s\ntrain: 110 samples/s\n"
    )
    found = read_training(path, TERMS)
    assert (found.rates, found.lines, found.unit) == ((100.0, 110.0), (2, 5), "samples/s")
    assert (found.left_out, found.batches) == (2, (256,))


def test_the_first_tenth_is_warm_up_where_there_are_ten(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("".join(f"{n} samples/s\n" for n in range(1, 21)))
    found = read_training(path, TERMS)
    assert (found.warm_up, found.used[0]) == (2, 3.0)
    path.write_text("1 samples/s\n2 samples/s\n")
    assert read_training(path, TERMS).used == (1.0, 2.0)


def test_a_trace_and_what_of_its_steps_communicates(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(traces.text(traces.nccl_events(), ranks=8).encode()))
    found = read_training(path, TERMS)
    assert found.ranks == 8
    assert found.steps[0].step_s == pytest.approx(1e-3)
    assert found.steps[0].communication_s == pytest.approx(200e-6)
    assert found.steps[0].exposed_s == pytest.approx(150e-6)
    assert found.rates[0] == pytest.approx(512e3)
    assert found.rates[1] == pytest.approx(512 / 990e-6)  # the last ends as it is annotated


def test_steps_of_no_length_do_not_count(tmp_path: Path) -> None:
    marks = [traces.event("ProfilerStep#1", 5.0, 9.0, "user_annotation")] * 3
    assert rates(tmp_path, traces.text(marks, ranks=8), "a.json") == [pytest.approx(512 / 9e-6)]


def test_a_real_trace_of_gloo() -> None:
    found = read_training(traces.GLOO, TERMS)
    assert (found.ranks, len(found.steps)) == (2, 4)
    assert all(0 < step.communication_s < step.step_s for step in found.steps)
    assert all(step.exposed_s is None for step in found.steps)
    assert sum(step.step_s for step in found.steps) == pytest.approx(0.0331, rel=0.01)


@pytest.mark.parametrize(
    ("name", "text", "place", "said"),
    [
        ("a.log", "loss 3\n", "", "no line tells how fast training was; give a log with samples/s"),
        ("a.log", "eval: 9 samples/s\n", "", "fast training was: 1 line is of evaluation"),
        ("a.log", "", "", "is empty"),
        ("a.csv", "step,samples_per_sec\n1,2\n", ":1:1", "rename the column 'samples_per_sec'"),
        ("a.csv", "step,loss\n1,2\n", ":1:1", "the column 'samples_per_s' is missing"),
        ("a.csv", "samples_per_s\n", ":1:1", "no row follows the header"),
        ("a.csv", "samples_per_s\n1\n-3\n", ":3:1", "'-3' is not a positive number"),
        ("a.csv", "samples_per_s\nnan\n", ":2:1", "'nan' is not a positive number"),
        ("a.json", '{"schemaVersion": 1, "traceEvents": [', ":1:38", "the trace breaks off here"),
        ("a.json", '{"traceEvents": [}]}', ":1:18", "is no JSON here; export the trace again"),
        ("a.json", '{"schemaVersion": 1, "traceEvents": 3}', "", "traceEvents is not a list"),
        ("a.json", '{"schemaVersion": 1, "traceEvents": []}', "", "no step is marked"),
        ("a.json", '[{"ph": "B", "name": "x"}]', "", "not of PyTorch's profiler"),
    ],
)
def test_what_cannot_be_used(name: str, text: str, place: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError) as error:
        rates(tmp_path, text, name)
    assert str(error.value).startswith(f"{tmp_path / name}{place}: ")
    assert said in str(error.value)


def test_an_endless_line_is_looked_at_in_part(tmp_path: Path) -> None:
    assert rates(tmp_path, "9," * 100_000 + "\n" + "step time " * 20_000 + "\n5 samples/s\n") == [
        5.0
    ]
    assert rates(tmp_path, f"5 samples/s{' ' * 100_000}\n" * 20) == [5.0] * 20


def test_tokens_of_samples_without_a_length(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("9 tokens/s\n")
    with pytest.raises(
        StudyError, match=r"a\.log:1:1: tells tokens/s.*; say it, such as --sequence 1024"
    ):
        read_training(path, Training(512.0, 8))


def test_damaged_packing_and_folders(tmp_path: Path) -> None:
    packed = gzip.compress(b"9 samples/s\n" * 1000)
    path = tmp_path / "a.gz"
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(StudyError, match="the gzipped file is damaged"):
        read_training(path, TERMS)
    path.write_bytes(packed)
    assert len(read_training(path, TERMS).rates) == 1000
    with pytest.raises(StudyError, match="is a folder"):
        read_training(tmp_path, TERMS)
    with pytest.raises(StudyError, match="cannot be read"):
        read_training(tmp_path / "none.log", TERMS)
