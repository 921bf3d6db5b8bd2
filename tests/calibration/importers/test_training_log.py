"""Training speed out of logs of known trainers, tables and words."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dse.calibration.importers.training_log import (
    TRAINERS,
    Training,
    measured,
    read_training,
    unit_called,
)
from dse.errors import StudyError

TERMS = Training(batch=480.0, gpus=8, passes=5, tokens=1024.0)
# Trainer, what it prints, samples/s of the whole job in TERMS. Other lines of it are no rates.
LOGS = [
    ("Megatron-LM",
     " [2025-01-01 10:00:00] iteration      10/ 500 | consumed samples:  2560 | elapsed time per "
     "iteration (ms): 512.0 | learning rate: 1.0E-05 | global batch size:   256 | lm loss: 9.1 |\n"
     " validation loss at iteration 10 | lm loss value: 9.0 |", 500.0),
    ("Megatron-LM", " iteration 10/ 292 | elapsed time per iteration (s): 0.5120 | global batch "
     "size:   256 | samples per second: 499.1 | TFLOPs: 99.0 |", 500.0),
    ("Megatron-LM", " iteration 10/ 292 | elapsed time per iteration (ms): 480.0 | lm loss: 9.1 |",
     1000.0),
    ("NeMo", "Training epoch 0, iteration 0/249 | lr: 1.9e-06 | global_batch_size: 64 | "
     "global_step: 0 | reduced_train_loss: 1.3 | train_step_timing in s: 0.5", 128.0),
    ("NeMo", "Epoch 0: :  4%| | 4/100 [00:12<04:48, v_num=0, reduced_train_loss=2.1, "
     "global_step=3.0, consumed_samples=1920.0, train_step_timing in s=0.480]", 1000.0),
    ("Hugging Face Trainer",
     "  Total train batch size (w. parallel, distributed & accumulation) = 32\n"
     "  Total optimization steps = 1,000\n"
     "  1%|1 | 10/1000 [00:01<01:00,  34.50it/s]\r  2%|2 | 20/1000 [00:02<01:00,  34.50it/s]\n"
     " 50%|##### | 5/10 [00:01<00:01,  99.00it/s]\n", 32 * 34.5),
    ("Hugging Face Trainer",
     "  Total train batch size (w. parallel, distributed & accumulation) = 32\n"
     "  Total optimization steps = 100\n 10%|1 | 10/100 [00:20<03:00,  2.00s/it]", 16.0),
    ("Hugging Face Trainer", "{'eval_samples_per_second': 900.0}\n{'train_runtime': 9.5, "
     "'train_samples_per_second': 101.5, 'train_steps_per_second': 3.2}", 101.5),
    ("torchtitan", "[rank0]:[titan] 2025-07-21 15:57:01,774 - root - INFO - \x1b[31mstep: 10  "
     "\x1b[32mloss:  4.9  \x1b[34mtps: 140,800  \x1b[36mtflops: 113.15  mfu: 36.3%\x1b[0m", 1100.0),
    ("torchtitan", "[rank0]:2024-05-01 10:00:00,1 - root - INFO - step: 10  loss: 4.9  wps: 1,280"
     "  mfu: 36.3%\nvalidate step: 10  loss: 4.9  tps: 9,280", 10.0),
    ("nanotron", "[default0]:07/02/2025 14:04:55 [INFO|DP=0|PP=0|TP=0|h]: iteration: 5 / 15 | "
     "consumed_tokens: 1.05M | elapsed_time_per_iteration_ms: 5.12K | tokens_per_sec: 205K | "
     "tokens_per_sec_per_gpu: 25.6K | global_batch_size: 1.02K | lm_loss: 9.1", 205e3 / 1024),
    ("DeepSpeed", "[2025-03-07 15:27:02,646] [INFO] [timer.py:260:stop] epoch=0/micro_step=199/"
     "global_step=199, RunningAvgSamplesPerSec=58.7, CurrSamplesPerSec=61.5, MemAllocated=6.0GB",
     61.5),
    ("DeepSpeed", "steps: 100 loss: 0.0585 iter time (s): 0.186 samples/sec: 53.694", 53.694),
    ("Lightning", "Epoch 0:   5%|5 | 50/1000 [00:04<00:30, 11.75it/s, v_num=0, train_loss=2.3]\n"
     "Validation DataLoader 0:  5%|5 | 50/1000 [00:04<00:30, 99.00it/s]", 96 * 11.75),
    ("Lightning", "Epoch 2/9  ---- 93/938 0:00:09 . 0:00:09 2.50it/s v_num: 0.000", 240.0),
    ("Lightning", "Epoch 0:  5%|5 | 5/9 [02:04<04:30, 2.00s/it, a=2, loss=2.31, v_num=ab12]", 48.0),
    ("timm", "Train: 0 [  50/1251 (  4%)]  Loss: 6.92 (6.95)  Time: 0.087s,  800.15/s  (0.090s,  "
     "790.00/s)  LR: 1.000e-05  Data: 0.010 (0.023)\n"
     "Test: [  10/48]  Time: 0.321 (0.333)  Loss:   2.3 ( 2.3)", 800.15),
    ("Keras", "Epoch 1/5\n\x1b[1m350/350\x1b[0m \x1b[32m----\x1b[0m \x1b[1m31s\x1b[0m 96ms/step - "
     "accuracy: 0.86 - loss: 0.3\n350/350 - 40s - 120ms/step - loss: 0.3 - val_loss: 0.4", 1000.0),
    ("Keras", "0: 100/100 [==============================] - 192s 2s/step - loss: 2.3", 48.0),
    ("torchvision's reference", "Epoch: [0]  [  10/1251]  eta: 0:01:01  lr: 0.5  img/s: 14.9 "
     "(14.75)  loss: 6.9 (7.0)  time: 0.0960  data: 0.0003  max mem: 12345\n"
     "Epoch: [0] Total time: 0:01:48 (0.0868 s / it)\n"
     "Test:   [ 0/49]  eta: 0:00:09  loss: 7.0 (7.0)  time: 0.2000  data: 0.1  max mem: 1", 1000.0),
    ("PyTorch's ImageNet example", "Epoch: [0][  10/1252]\tTime  0.192 ( 0.300)\tData  0.001 "
     "( 0.012)\tLoss 6.9e+00\nTest: [ 10/196]\tTime  0.100 ( 0.100)\tLoss 6.9e+00", 500.0),
    ("nanoGPT", "(Worker pid=7) iter 1631: loss 4.0863, time 480.00ms, mfu 30.1%\n"
     "step 2000: train loss 1.7, val loss 1.8", 1000.0),
    ("nanoGPT", "tokens per iteration will be: 245,760\niter 1: loss 4.0863, time 480.00ms", 500.0),
    ("DLLogger", "DLL 2025-10-01 10:00:00.123456 - Epoch: 0 Iteration: 10  train.loss : 6.9 "
     "train.compute_ips : 1812.76 img/s train.total_ips : 620.5 img/s train.data_time : 0.078 s\n"
     "DLL 2025-10-01 10:00:09.123456 - Epoch: 0  val.total_ips : 9000.0 img/s", 620.5),
    ("DLLogger", 'DLLL {"type": "METADATA", "metric": "train.total_ips", "metadata": {}}\n'
     'DLLL {"type": "LOG", "step": [0, 10], "data": {"train.total_ips": 620.5}}', 620.5),
    ("DLLogger", "DLL 2025-10-01 10:00:00.1 -  e2e_train_time : 81.9 s "
     "training_sequences_per_second : 412.5 sequences/s final_loss : 2.1", 412.5),
    ("tf_cnn_benchmarks", "10\timages/sec: 62.5 +/- 0.3 (jitter = 2.3)\t7.001\n"
     "2026-03-04T05:06:07Z n1 total images/sec: 500.00", 500.0),
]  # fmt: skip


def read(folder: Path, text: str, name: str = "train.log"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_training(path, TERMS)


@pytest.mark.parametrize(("trainer", "text", "rate"), LOGS)
def test_what_a_trainer_prints(trainer: str, text: str, rate: float, tmp_path: Path) -> None:
    found = read(tmp_path, text + "\n")
    assert found.told_by == trainer
    assert found.rates == pytest.approx((rate,) * len(found.rates))


def test_every_trainer_is_tested() -> None:
    assert {trainer for trainer, _, _ in LOGS} == {trainer.name for trainer in TRAINERS}
    for trainer in TRAINERS:
        rates = {*trainer.pattern.groupindex} - {"batch", "batch_tokens", "steps", "of"}
        assert rates
        assert all(map(unit_called, rates))


def test_the_batch_of_a_log_counts_as_long_as_it_holds(tmp_path: Path) -> None:
    line = "iteration {} | elapsed time per iteration (ms): 100.0 | global batch size: {} |\n"
    found = read(tmp_path, line.format(1, 16) + line.format(2, 32))
    assert found.rates == pytest.approx((160.0, 320.0))
    assert (found.lines, found.batch) == ((1, 2), 32)


def test_a_trainer_on_another_is_the_one_that_tells(tmp_path: Path) -> None:
    """DeepSpeed counts no loading; Megatron-LM times all of a step."""
    inner = "global_step=1, RunningAvgSamplesPerSec=9.0, CurrSamplesPerSec=9.5, MemAllocated=1GB\n"
    outer = "iteration 1 | elapsed time per iteration (s): 2.0 | global batch size: 16 |\n"
    assert read(tmp_path, inner + outer).rates == (8.0,)


def test_of_ten_rates_or_more_the_first_tenth_is_warm_up(tmp_path: Path) -> None:
    line = "iter {}: loss 4.0, time 100.00ms\n"
    assert read(tmp_path, "".join(map(line.format, range(9)))).warm_up == 0
    assert read(tmp_path, "".join(map(line.format, range(25)))).warm_up == 2


@pytest.mark.parametrize(
    ("text", "rates"),
    [
        ("step,samples_per_s\n1,10.5\n2,1e2\n", (10.5, 100.0)),
        ("step;loss;tokens/s/gpu\n1;2.3;128\n", (1.0,)),
        ("Images per s\tx\n9\t1\n", None),
        ("images_per_s\n9\n", (9.0,)),
        ("ms_per_step,samples_per_s\n480,1\n", (1000.0,)),
    ],
)
def test_a_table_of_one_run(text: str, rates: tuple[float, ...] | None, tmp_path: Path) -> None:
    if rates is None:
        with pytest.raises(StudyError, match="tells no rate"):
            read(tmp_path, text)
    else:
        assert read(tmp_path, text, "rates.csv").rates == pytest.approx(rates)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("step,samples_per_s\n1,10\n2,fast\n", ":3:3: samples/s: 'fast' is not a positive number"),
        ("step,samples_per_s\n1,10\n2\n", ":3:1: 1 values where the header has 2 columns"),
        ("workload,accelerator,samples_per_s\na,b,9\n", ":1:1: is a table of configurations"),
        ("samples_per_s\n0\n", ":2:1: '0 samples/s' is not positive"),
        ("1.25 s/it\n", "train.log: tells no rate as Megatron-LM, NeMo, Hugging Face Trainer, "),
        ("Epoch 1: 50%|# | 5/10 [00:01<00:01, 9.00it/s]\n", 'give --measured "9500 tokens/s/gpu"'),
        ("tps: 99\n", "tells no rate"),
    ],
)
def test_a_log_that_tells_nothing(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError) as error:
        read(tmp_path, text)
    assert said in str(error.value)


def test_tokens_of_samples_without_a_fixed_length(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("| tokens_per_sec: 205K | tokens_per_sec_per_gpu: 25.6K |\n")
    with pytest.raises(StudyError, match=r":1:1: '205000 tokens/s' is of tokens, and samples of"):
        read_training(path, Training(480.0, 8))
    with pytest.raises(StudyError, match="measured: '5 tokens/s' is of tokens"):
        measured("5 tokens/s", Training(480.0, 8))


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("9500 tokens/s/gpu", 9500 * 8 / 1024),
        ("1,024 tokens/s", 1.0),
        ("12.5 sequences/s", 12.5),
        ("12.5 images/s/gpu", 100.0),
        ("0.48 s/step", 1000.0),
        ("480 ms/step", 1000.0),
        ("2 passes/s", 192.0),
    ],
)
def test_a_rate_in_words(text: str, rate: float) -> None:
    assert measured(text, TERMS).rates == (pytest.approx(rate),)


@pytest.mark.parametrize("text", ["9500", "tokens/s", "9500 tokens", "9500 furlongs/s", "0 s/step",
                                  "-1 samples/s", "0 samples/s", "nan samples/s"])  # fmt: skip
def test_what_is_no_rate(text: str) -> None:
    with pytest.raises(StudyError, match="measured: "):
        measured(text, TERMS)


@pytest.mark.parametrize("filler", ["9", "|1/9 [", "Epoch 1 1.5it/s ", "step: 1 elapsed time "])
def test_long_lines_take_no_time(filler: str, tmp_path: Path) -> None:
    text = (filler * 3000 + "\n") * 5 + "total images/sec: 5.0\n"
    begun = time.monotonic()
    assert read(tmp_path, text).rates[-1] > 0
    assert time.monotonic() - begun < 10
