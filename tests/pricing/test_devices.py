"""dse.pricing.devices: what accelerators reach, over all workloads of the catalogue."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse import catalog
from dse.model.compute import Device, forward_backward, optimizer_s
from dse.model.precision import PRECISIONS
from dse.pricing import devices
from dse.pricing.network import model_layers

BF16 = PRECISIONS["bf16"]
STACK = devices.software("tuned")  # whose host is seldom the limit
BATCH = {"recommender": 65536.0, "convolutional": 256.0, "recurrent": 1024.0, "decoder": 8.0}


def step_s(network: catalog.Workload, device: Device) -> float:
    batch, layers = BATCH.get(network.family, 512.0), model_layers(network)
    passes = forward_backward(layers, device, batch, BF16, STACK)
    update = optimizer_s(layers, device, BF16, 8.0, STACK)
    return float(passes.forward_s + passes.backward_s + update)


@pytest.mark.parametrize("accelerator", ["a100-sxm4-80gb", "h100-sxm"])
@pytest.mark.parametrize("name", catalog.names("workloads"))
def test_every_step_depends_on_memory_bandwidth_and_beats_no_peak(
    name: str, accelerator: str
) -> None:
    network = catalog.workload(name)
    device = devices.alone(network, accelerator, "bf16", "tuned")
    twice = replace(device, memory_bytes_per_s=2 * device.memory_bytes_per_s)
    assert step_s(network, twice) < 0.999 * step_s(network, device)
    # The slowest that no product exceeds: the law's share of the peak, in minutes of training.
    flops = 3 * network.forward_flops * BATCH.get(network.family, 512.0)
    assert step_s(network, device) >= flops / float(device.reached_flops_per_s) * (1 - 1e-9)


@pytest.mark.parametrize("stack", ["plain", "vendor", "tuned"])
@pytest.mark.parametrize("name", ["resnet50", "bert-large-s128"])
def test_under_one_host_a_newer_accelerator_is_never_slower(name: str, stack: str) -> None:
    """Also where the host launches kernels more slowly than any of them runs them."""
    network, software = catalog.workload(name), devices.software(stack)
    layers, batches = model_layers(network), np.array([1.0, 4.0, 8.0, 32.0, 64.0, 256.0])
    generations = ("v100-sxm2-16gb", "a100-sxm4-80gb", "h100-sxm", "b200-sxm")
    chips = [devices.alone(network, one, "fp16", stack) for one in generations]
    found = [
        forward_backward(layers, chip, batches, PRECISIONS["fp16"], software) for chip in chips
    ]
    seconds = np.array([passes.forward_s + passes.backward_s for passes in found])
    assert (np.diff(seconds, axis=0) <= 1e-9 * seconds[1:]).all()
    h100_s, b200_s = seconds[2:, batches == 64.0].ravel()
    assert stack == "plain" or h100_s > 1.7 * b200_s, "today's hosts do not hide a generation"


def test_boards_that_differ_in_memory_are_one_accelerator_to_anchors() -> None:
    network = catalog.workload("resnet50")
    small, large = (
        devices.alone(network, name, "fp16", "vendor").factor
        for name in ("v100-sxm2-16gb", "v100-sxm2-32gb")
    )
    assert float(small) == float(large)
