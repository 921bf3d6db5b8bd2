"""How fast training was, out of what training scripts print."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dse.calibration.importers.training_log import Training, read_training
from dse.errors import StudyError
from tests.calibration.importers import traces

TERMS = Training(global_batch=512.0, gpus=8, tokens_per_sample=128.0)


def rates(folder: Path, text: str, name: str = "train.log") -> list[float]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return list(read_training(path, TERMS).rates)


@pytest.mark.parametrize(
    ("line", "rate"),
    [
        ("10\timages/sec: 102.3 +/- 0.2 (jitter = 0.4)\t8.2", 102.3),
        ("total images/sec: 818.90", 818.9),
        ("Img/sec per GPU: 101.5 +-3.1", 812.0),
        ("Total img/sec on 8 GPU(s): 405.1 +-1", 405.1),
        ("{'train_runtime': 10, 'train_samples_per_second': 123.4}", 123.4),
        ('{"step": 3, "samples_per_sec": "12.5"}', 12.5),
        ("RunningAvgSamplesPerSec=5.0, CurrSamplesPerSec=5.25, MemAllocated=1GB", 5.25),
        ("throughput: 12,345.6 samples/sec", 12345.6),
        ("350 samples per second per GPU", 2800.0),
        ("Throughput 1.28k tokens/s", 10.0),
        ("THROUGHPUT: 1.5M SAMPLES/S", 1.5e6),
        ("tokens/sec/gpu: 3,200", 200.0),
        ("12%|#  | 3/25 [00:03<00:20,  4.00it/s, loss=2.1]", 2048.0),
        ("12%|#  | 3/25 [00:03<00:20,  1.25s/it]", 409.6),
        ("iteration 1/ 9 | elapsed time per iteration (ms): 512.0 | lr: 1e-4", 1000.0),
        ("step time: 0.8 s", 640.0),
        ("step 100 | 256 ms/step", 2000.0),
        ("12%|#  | 3/25 [00:03<00:20,  1,25 s/it]", 409.6),
        ('{"tokens_per_second_per_gpu": 3200}', 200.0),
        ("tokens-per-second-per-gpu: 3200", 200.0),
        ("throughput/device/tokens_per_sec: 3200", 200.0),
        ("throughput/tokens_per_sec: 25600", 200.0),
        ("Durchsatz: 1.234,5 samples/s", 1234.5),
        ("Zeit pro step: 1,250 s/it; samples/s = 409,6", 409.6),
        ("12,345 samples/s", 12345.0),
    ],
)
def test_a_line_of(line: str, rate: float, tmp_path: Path) -> None:
    assert rates(tmp_path, f"loading\n{line}\nloss 3.2\n") == [pytest.approx(rate)]


def test_all_numbers_of_a_log_have_the_same_decimal_mark(tmp_path: Path) -> None:
    """What one number leaves open, another tells."""
    assert rates(tmp_path, "1,250 s/it\n1,5 s/it\n") == [
        pytest.approx(409.6),
        pytest.approx(512 / 1.5),
    ]
    with pytest.raises(
        StudyError, match=r"train.log:2:1: '1.5' has another decimal mark than '1,2'"
    ):
        rates(tmp_path, "1,2 s/it\n1.5 s/it\n")


@pytest.mark.parametrize(
    ("line", "rate"),
    [
        ("epoch=1,loss=2.5,450.5 samples/s", 450.5),
        ("step 5: 1200,1210,1190 samples/s", 1190.0),
        ("10%|#  | 10/100 [00:10<01:30,3.45it/s]", 512 * 3.45),
        ("10%|#  | 10/100 [00:10<01:30,345.2it/s]", 512 * 345.2),
        ("samples/s: 1200,2 gpus", 1200.0),
        ("samples/s: 1200,5 loss: 3", 1200.5),
        ("samples/s=1200,0.5", 1200.0),
        ("3,12.5 samples/s", 12.5),
        ("1.5e3 samples/s", 1500.0),
        ("1.250e+03 samples/s", 1250.0),
    ],
)
def test_a_comma_is_within_a_number_only_where_it_can_be(
    line: str, rate: float, tmp_path: Path
) -> None:
    assert rates(tmp_path, f"{line}\n") == [pytest.approx(rate)]


@pytest.mark.parametrize(
    ("line", "rate", "quote"),
    [
        ("step 10 loss 2.3 samples/s 10400.5", 10400.5, "samples/s 10400.5"),
        ("loss 2.3 tok/s 1280", 10.0, "tok/s 1280"),
        ("lr 3e-4 it/s 2.5", 1280.0, "it/s 2.5"),
        ("loss 2.3 s/it 0.4", 1280.0, "s/it 0.4"),
        ("train_loss=2.3 samples/s 10400.5", 10400.5, "samples/s 10400.5"),
        ("loss 2.3 | Samples/s 10400.5 | mem 30 GB", 10400.5, "Samples/s 10400.5"),
        ("loss 2.3, samples/s 10400.5", 10400.5, "samples/s 10400.5"),
        ("samples/s 1.5k", 1500.0, "samples/s 1.5k"),
        ("Speed: 350 samples/s 12", 350.0, "350 samples/s"),
        ("350 samples/s 0.4 s/it", 350.0, "350 samples/s"),
        ("350 samples/s 12:00:03", 350.0, "350 samples/s"),
        ("[4] 350 samples/s 8 GPUs", 350.0, "350 samples/s"),
        ("step_time 0.4 s/it 3", 1280.0, "0.4 s/it"),
        ('{"loss": 2.3, "samples_per_second": 10400.5}', 10400.5, "samples_per_second: 10400.5"),
    ],
)
def test_of_numbers_on_both_sides_of_a_unit_the_one_that_is_of_no_other_word(
    line: str, rate: float, quote: str, tmp_path: Path
) -> None:
    path = tmp_path / "train.log"
    path.write_text(f"{line}\n")
    found = read_training(path, TERMS)
    assert (found.rates, found.quote) == ((pytest.approx(rate),), quote)


@pytest.mark.parametrize(
    ("line", "rate"),
    [
        ("10 400 samples/s", 10400.0),
        ("step 0 loss 2.3 10 400 samples/s", 10400.0),
        ("throughput: 1 010 400.5 samples/s", 1010400.5),
        ("throughput 10\u202f400,5 samples/s", 10400.5),
        ("step 1 10'400.5 samples/s", 10400.5),
        ("samples/s: 10 400", 10400.0),
        ("loss 2.3 samples/s 10 400 mem 3", 10400.0),
        ("step 10 400 samples/s", 400.0),
        ("[10/500 400 samples/s]", 400.0),
        ("12:00:10 400 samples/s", 400.0),
    ],
)
def test_thousands_may_be_parted_by_a_blank(line: str, rate: float, tmp_path: Path) -> None:
    assert rates(tmp_path, f"{line}\n") == [rate]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("foo 3.5 samples/s 350", "'samples/s 350' may be 3.5 or 350; write a colon before"),
        ("10 2.31 10 400 samples/s", "'400 samples/s' may be 400 or 10400"),
        ("-5 samples/s", "'-5 samples/s' is negative"),
        ("samples/s: -5", "'samples/s: -5' is negative"),
        ("loss 2.3 samples/s nan", "'nan' is not a number"),
    ],
)
def test_a_rate_that_is_not_certain_is_refused(line: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError) as error:
        rates(tmp_path, f"begins\n{line}\n")
    assert f"train.log:2:1: {said}" in str(error.value)


@pytest.mark.parametrize(
    ("log", "unread"),
    [
        ("450.5 samples/s\nprogress 1.2.3 it/s\n450.5 samples/s\n", 0),  # of a unit not used
        ("tool 1.10.2.5 it/s\n450.5 samples/s\n450.5 samples/s\n", 0),
        ("450.5 samples/s\n1.2.3 samples/s\n450.5 samples/s\n", 1),
        ("450.5 samples/s\n5,1,234.5 samples/s\n450.5 samples/s\n", 1),  # 234.5 or 1,234.5
        ("450.5 samples/s\n0 samples/s\n450.5 samples/s\n", 0),
    ],
)
def test_what_is_no_number_is_left_out_and_counted(log: str, unread: int, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(log)
    found = read_training(path, TERMS)
    assert (found.rates, found.unread) == ((450.5, 450.5), unread)


def test_a_log_without_any_number_beside_its_unit(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"train.log:2:1: '1.2.3' is not a number; write"):
        rates(tmp_path, "begins\n1.2.3 samples/s\n1.2.4 samples/s\n")
    assert rates(tmp_path, "1.2.3 samples/s\n2 it/s\n") == [1024.0]


@pytest.mark.parametrize(
    ("log", "written", "with_point", "with_comma"),
    [
        ("15.250 samples/s\n15.310 samples/s\n", "15.250", 15.25, 15250.0),
        ("1,012 samples/s\n", "1,012", 1012.0, 1.012),
        ("[192.168.100.200] torch 2.1.0 of 2026-01-02 10:00:00,12 15.250 samples/s\n", "15.250",
         15.25, 15250.0),
        ("torch 2.1\n15.250 samples/s\n", "15.250", 15.25, 15250.0),
        ("loss 2.1\nloss 2,1\n15.250 samples/s\n", "15.250", 15.25, 15250.0),
    ],
)  # fmt: skip
def test_thousands_or_a_fraction_is_asked_where_the_log_does_not_tell(
    log: str, written: str, with_point: float, with_comma: float, tmp_path: Path
) -> None:
    path = tmp_path / "train.log"
    path.write_text(log)
    with pytest.raises(StudyError) as error:
        read_training(path, TERMS)
    assert f"'{written}' may be {with_point:g} or {with_comma:g}, " in str(error.value)
    assert "give --decimal . for the first, --decimal , for the second" in str(error.value)
    assert read_training(path, TERMS, ".").rates[0] == with_point
    assert read_training(path, TERMS, ",").rates[0] == with_comma


@pytest.mark.parametrize(
    ("log", "rate"),
    [
        ("step 1, loss 2.31, 15.250 samples/s\n", 15.25),
        ("step 1; loss 2,31; 15.250 samples/s\n", 15250.0),
        ("'loss': 2.31, 'grad_norm': 1.5\n1,012 samples/s\n", 1012.0),
        ("loss: 2,31\n1,012 samples/s\n", 1.012),
        ("15.250 samples/s\n15250,5 samples/s\n", 15250.0),
    ],
)
def test_other_numbers_of_the_log_tell_the_decimal_mark(
    log: str, rate: float, tmp_path: Path
) -> None:
    assert rates(tmp_path, log)[0] == rate


def test_a_decimal_mark_that_is_given_counts(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("1,5 samples/s\n1.5 samples/s\n2.5 samples/s\n")
    found = read_training(path, TERMS, ".")
    assert (found.rates, found.unread) == ((1.5, 2.5), 1)
    path.write_text("1.5 samples/s\n")
    with pytest.raises(StudyError, match=r"'1\.5' is not a number with the decimal mark ,; leave"):
        read_training(path, TERMS, ",")


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


def test_a_table(tmp_path: Path) -> None:
    text = "step,samples_per_s\n1,100\n\n2,2e2\n"
    assert rates(tmp_path, text, "rates.csv") == rates(tmp_path, text) == [100.0, 200.0]


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


@pytest.mark.parametrize("heading", ["samples_per_s", "samples/s", "Samples/sec"])
def test_a_table_may_call_its_rates_as_logs_do(tmp_path: Path, heading: str) -> None:
    assert rates(tmp_path, f"step,loss,{heading}\n0,8.0,46.5\n10,7.9,47.5\n", "a.csv") == [
        46.5,
        47.5,
    ]
