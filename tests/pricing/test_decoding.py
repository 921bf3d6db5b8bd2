"""Steps that wait for images which hosts decode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse import catalog
from dse.api import Study
from dse.model.step import OverlappedStep, terms
from dse.pricing.load import load
from dse.report import points
from dse.report.points import explained
from tests.pricing import studies
from tests.pricing.priced import point

NODES = """\
study: nodes
workload: resnet50
space:
  node: [dgx-h100, dgx-b200, mi300x-8]
  gpus: [4, 8, 16]
  batch_per_gpu: [64, 128]
  accumulation: [1, 4]
  precision: fp16
  stack: [plain, vendor, tuned]
  aggregation: ring-nccl
  overlap: [bucketed, none]
baseline: {node: dgx-h100, gpus: 8, batch_per_gpu: 128, accumulation: 1, stack: plain,
           overlap: bucketed}
objectives: {maximize: throughput, minimize: capital}
"""
PLAIN = catalog.decoding().images_per_core_s["plain"]


def priced(folder: Path, text: str = NODES, **axes: Any) -> Any:
    return Study(load(studies.written(folder, text))).price(axes)


@pytest.mark.parametrize("overlap", ["bucketed", "none"])
def test_no_node_trains_on_more_images_than_its_host_decodes(tmp_path: Path, overlap: str) -> None:
    counts = {"gpus": [4, 8, 16], "batch_per_gpu": 128, "overlap": overlap, "node": "dgx-b200"}
    rate = priced(tmp_path, **counts)["throughput_samples_per_s"]
    ceiling = 112 * PLAIN
    np.testing.assert_allclose(rate[1:], [ceiling, 2 * ceiling], rtol=1e-9)
    np.testing.assert_allclose(rate[0], ceiling / 2, rtol=1e-9)  # each has its share of a host
    passes = priced(tmp_path, **{**counts, "gpus": 8, "accumulation": [1, 4]})
    np.testing.assert_allclose(passes["throughput_samples_per_s"], ceiling, rtol=1e-9)


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("objectives", "input: synthetic\nobjectives"),
        ("workload: resnet50", "workload: vgg16\nmodel: pai"),
        ("workload: resnet50", "workload: bert-large-s128\nmemory: ignore"),
        ("stack: plain,", "stack: tuned,"),
        ("{node: dgx-h100,", "{node: mi300x-8,"),
    ],
)
def test_nothing_limits_input_elsewhere(tmp_path: Path, was: str, becomes: str) -> None:
    text = NODES.replace(was, becomes).replace("bucketed", "none")
    found = load(studies.written(tmp_path, text.replace("[none, none]", "none")))
    for gpus in (4, 8, 16):
        values = point(found, gpus=gpus)
        assert explained(found, values).decoding is None
        assert not np.any(found.points_at(values).decoding_s)


def test_a_point_without_a_price_waits_for_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = load(studies.written(tmp_path, NODES))
    baseline = found.study.baseline.values
    assert points.decoding(found, baseline) is not None
    unpriced = terms(*[np.full(1, np.nan)] * 7)
    monkeypatch.setattr(OverlappedStep, "step_time", lambda *_: unpriced)
    assert points.decoding(found, baseline) is None


@pytest.mark.parametrize("gpus", [1, 8])
def test_accelerators_without_a_node_have_the_share_of_a_usual_host(
    tmp_path: Path, gpus: int
) -> None:
    """H200 and B200 were both measured at 3,080 images/s under plain: the host feeds them."""
    text = NODES.replace(
        "node: [dgx-h100, dgx-b200, mi300x-8]",
        "accelerator: [h200-sxm, b200-sxm]\n  inter_node: 100gbe",
    )
    text = text.replace("{node: dgx-h100, gpus: 8", "{accelerator: h200-sxm, gpus: 8")
    text = text.replace("[4, 8, 16]", "[1, 8]")
    each = {"gpus": gpus, "accelerator": ["h200-sxm", "b200-sxm"]}
    found = Study(load(studies.written(tmp_path, text))).price(each, intervals=True)
    rates, low, high = (
        found[f"throughput_samples_per_s{end}"] / gpus for end in ("", "_low", "_high")
    )
    np.testing.assert_allclose(rates, catalog.decoding().cores * PLAIN, rtol=1e-9)
    assert gpus > 1 or np.all((low < 3077) & (high > 3077))
    fed = priced(tmp_path, text.replace("objectives", "input: 1234\nobjectives"), **each)
    np.testing.assert_allclose(fed["throughput_samples_per_s"], 1234 * gpus, rtol=1e-9)


def test_how_fast_hosts_decode_is_uncertain_and_cancels_between_points(tmp_path: Path) -> None:
    found = load(studies.written(tmp_path, NODES))
    waits = explained(found, point(found, gpus=16))
    assert waits.interval is not None
    low, high = waits.interval.throughput_samples_per_s or (0.0, 0.0)
    assert low < 0.75 * 2 * 112 * PLAIN < 2 * 112 * PLAIN < high
    slow, fast = waits.interval.speedup
    assert 1.8 < slow <= fast < 2.2
