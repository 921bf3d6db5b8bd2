"""What a rate in a line of a log is of: the whole job, a whole step, training."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.calibration.importers.measured_training import MeasuredTraining, Training
from dse.calibration.importers.training_log import read_training
from dse.errors import StudyError

GPUS, NODES, BATCH = 32, 4, 128.0
TERMS = Training(global_batch=BATCH, gpus=GPUS, tokens_per_sample=1024.0, nodes=NODES)


def found(folder: Path, text: str, terms: Training = TERMS) -> MeasuredTraining:
    path = folder / "train.log"
    path.write_text(text, encoding="utf-8")
    return read_training(path, terms)


@pytest.mark.parametrize(
    "line",
    [
        "[Rank 0] step 1 | loss 2.1 | lr 1.0e-4 | Throughput per GPU: 5.5 samples/s",
        "step 1 loss 2.1 lr 1.0e-4 per_gpu_samples_per_second: 5.5",
        "per-device tokens/s: 5632",
        "Throughput per GPU (32 GPUs): 5.5 samples/s",
        "throughput/gpu: 5.5 samples/s",
        "Throughput per GPU | 5.5 samples/s",
        '{"step": 100, "per_gpu": {"samples_per_second": 5.5}}',
        "each of the 32 GPUs: 5.5 samples/s",
        "samples/s (per GPU): 5.5",
        "throughput (samples/sec/GPU): 5.5",
        "throughput [samples/sec/GPU]: 5.5",
        "tgs (tokens/gpu/second)=5632",
        "tokens per gpu per second: 5632",
        "5.5 samples/s (per GPU)",
        "samples/s: 5.5 per GPU",
        "5.5 samples/s on each of 32 GPUs",
        "5.5 samples/s·GPU",
        "5.5 samples/s/gpu mem 30 GB",
        "5632 tokens/s/gpu batch 16",
        "5632 tokens/s/device memory 30 GB",
        "8 GPUs per node, per-GPU throughput: 5.5 samples/s",
    ],
)
def test_a_rate_of_one_accelerator_wherever_the_line_says_it(line: str, tmp_path: Path) -> None:
    read = found(tmp_path, f"{line}\n")
    assert (read.rates, read.each, read.times) == ((5.5 * GPUS,), "accelerator", GPUS)


@pytest.mark.parametrize(
    "line",
    [
        "step 1 loss 2.1 43.5 samples/s/node",
        "throughput: 43.5 samples/s per host",
        "Throughput per node: 43.5 samples/s",
    ],
)
def test_a_rate_of_one_node(line: str, tmp_path: Path) -> None:
    read = found(tmp_path, f"{line}\n")
    assert (read.rates, read.each, read.times) == ((43.5 * NODES,), "node", NODES)


@pytest.mark.parametrize(
    "line",
    [
        "145.2 TFLOP/s/GPU 157.5 samples/s",
        "approx flops per GPU: 45.3TFLOPS | samples/s: 157.5",
        "memory per GPU: 34GB, 157.5 samples/s",
        "samples/s: 157.5 | tokens per gpu 3",
        "multi-GPU throughput: 157.5 samples/s",
        "Total throughput on 32 GPUs: 157.5 samples/s",
        "4 nodes, 8 GPUs per node, 157.5 samples/s",
        "Training on 4 nodes with 8 GPUs per node: 157.5 samples/s",
        "Batch size: 512 (16 per GPU), 157.5 samples/s",
        "1 process per GPU, total 157.5 samples/s",
        "500 W per GPU, 157.5 samples/s",
        "| mem per GPU | 157.5 samples/s |",
        "Aggregate GPU throughput: 157.5 samples/s",
        "global rank throughput: 157.5 samples/s",
        "training stage throughput: 157.5 samples/s",
        "cross-node throughput: 157.5 samples/s",
        "32 GPU throughput: 157.5 samples/s",
        "single-node multi-GPU: 157.5 samples/s",
        "one node down; 157.5 samples/s",
        "157.5 samples/s for a node count of 4",
    ],
)
def test_what_else_is_of_one_accelerator_makes_no_rate_so(line: str, tmp_path: Path) -> None:
    assert found(tmp_path, f"{line}\n").rates == (157.5,)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("85.3 images/sec/core", "'85.3 images/sec/core' is of one core, and how many of them"),
        ("85.3 samples/sec/replica", "is of one replica, and how many of them the job has is not"),
        ("Throughput per replica: 5 samples/s", "'Throughput per replica: 5 samples/s' is of one"),
        ("gpu_samples_per_second=2.67", "may be of one GPU or of the whole job; write 'per GPU'"),
        ("GPU throughput: 2.67 samples/s", "may be of one GPU or of the whole job"),
        ("local throughput: 2.67 samples/s", "may be of one process or of the whole job"),
        ("2.67 samples/s on a single GPU", "may be of one GPU or of the whole job"),
        ("2.67 samples/s per GPU memory 34 GB", "may be of one GPU or of the whole job"),
        ("single-GPU: 2.67 samples/s", "may be of one GPU or of the whole job"),
    ],
)
def test_what_a_rate_is_of_one_of_is_asked_where_nobody_knows(
    line: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(StudyError) as error:
        found(tmp_path, f"begins\n{line}\n")
    assert "train.log:2:1: '" in str(error.value)
    assert said in str(error.value)


def test_nodes_that_nobody_counted_are_asked_for(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="is of one node, and how many of them the job has is not"):
        found(tmp_path, "43.5 samples/s/node\n", Training(BATCH, GPUS))


def test_a_step_takes_as_long_on_each_accelerator(tmp_path: Path) -> None:
    assert found(tmp_path, "per-GPU step time: 0.8 s\n").rates == (BATCH / 0.8,)
    assert found(tmp_path, "gpu_samples_per_second=2.5\n", Training(BATCH, 1)).rates == (2.5,)


BAR = "45/1000 [05:23<06:34,  1.39it/s"


@pytest.mark.parametrize(
    "line",
    [
        f"Epoch 1:  48% {BAR}, loss=2.3, v_num=0, val_loss=2.2]",
        f"Epoch 1:  48%|####   | {BAR}, v_num=0, val_loss=2.2]",
        "step 100 loss 2.3 val_loss 2.2 val/top-1: 0.7 1.39 it/s",
        "step 100 | lr 1e-4 | Validation loss: 2.2 | 1.39 it/s",
    ],
)
def test_a_metric_of_evaluation_beside_training_s_own_makes_no_line_of_evaluation(
    line: str, tmp_path: Path
) -> None:
    read = found(tmp_path, f"{line}\n")
    assert (read.rates, read.left_out) == ((BATCH * 1.39,), 0)


@pytest.mark.parametrize(
    "line",
    [
        "Validation DataLoader 0: 100%|###| 10/10 [00:01<00:00, 9.5it/s]",
        "Epoch 1: Validating:  50%|##| 10/20 [00:01<00:01,  9.5it/s, loss=2.3]",
        "Evaluating:  50%|##| 10/20 [00:01<00:01,  9.5it/s]",
        "{'eval_loss': 2, 'eval_samples_per_second': 9.5, 'eval_steps_per_second': 9, 'epoch': 1}",
        "val/throughput/samples_per_sec: 900 loss: 2.3",
        "eval: loss 2.3, 900 samples/s",
        "test_epoch: 3 loss: 2.3 900 samples/s",
        "val_loss: 2.3 val_acc: 0.7 | 900 samples/s | epoch 3",
        "Validation loss: 2.2 | 900 samples/s",
        "valid | epoch 001 | valid on 'valid' subset | loss 4.1 | 900 samples/s",
    ],
)
def test_a_line_that_says_so_is_of_evaluation(line: str, tmp_path: Path) -> None:
    read = found(tmp_path, f"{line}\ntrain: 2 samples/s\ntrain 3 it/s\n")
    assert (read.rates, read.left_out) == ((2.0,), 1)


def test_of_training_and_evaluation_in_a_line_training_counts(tmp_path: Path) -> None:
    assert found(tmp_path, "train 157.5 samples/s | val 900.5 samples/s\n").rates == (157.5,)


def test_lines_of_keras_that_count_the_validation_in_are_counted(tmp_path: Path) -> None:
    log = (
        " 500/1000 [==>..] - 81s 800ms/step - loss: 2.31\n"
        "1000/1000 [====] - 812s 900ms/step - loss: 2.31 - val_loss: 2.2\n"
    )
    read = found(tmp_path, log)
    assert read.rates == (BATCH / 0.8, BATCH / 0.9)
    assert read.with_evaluation == 1
    short = "1875/1875 - 5s - loss: 0.2 - val_loss: 0.3 - 5s/epoch - 3ms/step\n"  # verbose=2
    assert found(tmp_path, short).with_evaluation == 1


@pytest.mark.parametrize(
    ("line", "rate"),
    [
        ("0.8 s/it (data 0.01 s/it)", BATCH / 0.8),
        ("data 0.01 s/it, total 0.8 s/it", BATCH / 0.8),
        ("0.8 s/it, 0.01 s/it data", BATCH / 0.8),
        ("fwd 0.1 s/it, bwd 0.2 s/it, optimizer 0.1 s/it, 0.8 s/it", BATCH / 0.8),
        ("micro_step time: 0.2 s, step time: 0.8 s", BATCH / 0.8),
        ("training: 157.5 samples/s | dataloader: 5000 samples/s", 157.5),
        ("dataloader: 5000 samples/s | training: 157.5 samples/s", 157.5),
        ("dataloader: 5000 samples/s | step time: 0.8 s", BATCH / 0.8),
        ("compute_ips : 900.1 img/s total_ips : 850.5 img/s", 850.5),
        ("data parallel throughput: 157.5 samples/s", 157.5),
        ("157.5 samples/s (including data loading)", 157.5),
        ("/data/run/train.py throughput: 157.5 samples/s", 157.5),
        ("micro_batch=4 157.5 samples/s", 157.5),
        ("Train DataLoader: 10%|#| 10/100 [00:10<01:30, 1.05it/s]", BATCH * 1.05),
        ("Training generator: 10%|#| 10/100 [00:10<01:30, 1.05it/s]", BATCH * 1.05),
        ("Train dataset: 10%|#| 10/100 [00:10<01:30, 1.05it/s]", BATCH * 1.05),
        ("Epoch 3 mAP 0.51: 10%|#| 10/100 [00:10<01:30, 1.05it/s]", BATCH * 1.05),
        ("Epoch 1 data 0.01 loss 2.3: 10%|#| 10/100 [00:10<01:30, 1.05it/s]", BATCH * 1.05),
        ("157.5 images/s (synthetic data)", 157.5),
        ("Synthetic data throughput: 157.5 images/s", 157.5),
        ("real data: 157.5 images/s", 157.5),
        ("model=resnet50 optimizer=sgd throughput=157.5 images/s", 157.5),
        ("allreduce ring throughput 157.5 samples/s", 157.5),
        ("forward+backward+optimizer step time: 0.8 s", BATCH / 0.8),
    ],
)
def test_a_part_of_a_step_is_not_the_step(line: str, rate: float, tmp_path: Path) -> None:
    assert found(tmp_path, f"{line}\n").rates == (pytest.approx(rate),)


@pytest.mark.parametrize(
    "line",
    [
        "micro_step time: 0.2 s",
        "data_time: 0.01 s/it",
        "load 0.01 s/it",
        "comm time per step: 0.2",
        "Loading checkpoint shards: 100%|##| 2/2 [00:05<00:00,  2.6s/it]",
        "Map (num_proc=8): 100%|####| 1000/1000 [00:01<00:00, 5000.12 examples/s]",
        "Generating train split: 1000 examples [00:00, 5000.5 examples/s]",
    ],
)
def test_lines_of_a_part_alone_are_left_out_and_counted(line: str, tmp_path: Path) -> None:
    read = found(tmp_path, f"{line}\n2 it/s\n")
    assert (read.rates, read.of_parts) == ((2 * BATCH,), 1)
    with pytest.raises(StudyError, match="was: 1 line is of loading data or a part of a step; "):
        found(tmp_path, f"{line}\n")


@pytest.mark.parametrize(
    ("line", "rate"),
    [
        ("Throughput: 157.5 samples/s (avg 150.2 samples/s)", 157.5),
        ("150.2 samples/s avg, 157.5 samples/s now", 157.5),
        ("max: 170.5 samples/s, mean: 157.5 samples/s", 157.5),
        ("expected 200.5 samples/s, measured 157.5 samples/s", 157.5),
        ("157.5 samples/s, 157.9 samples/s", 157.5),
        ("tokens/s: 161280 | tokens/s/gpu: 5040", 157.5),
    ],
)
def test_of_several_rates_the_one_of_the_step_counts(
    line: str, rate: float, tmp_path: Path
) -> None:
    read = found(tmp_path, f"{line}\n")
    assert (read.rates, read.rivals) == ((rate,), ())


def test_of_rates_that_differ_the_first_counts_and_another_is_told(tmp_path: Path) -> None:
    read = found(tmp_path, "a 157.5 samples/s b 500.5 samples/s c 200.5 samples/s\n")
    assert read.rates == (157.5,)
    assert read.rivals == ((1, "157.5 samples/s", "500.5 samples/s"),)
