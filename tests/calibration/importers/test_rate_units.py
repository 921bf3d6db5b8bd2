"""The units by which lines of logs tell how fast training was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.calibration.importers.reading import rates


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
