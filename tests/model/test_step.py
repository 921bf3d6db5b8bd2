"""dse.model.compute, memory, money and step: one scalar reference for the whole step."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.model.aggregation.algorithms import ALGORITHMS
from dse.model.aggregation.base import Cluster
from dse.model.aggregation.composed import Composed, Software
from dse.model.compute import Layers, roofline_device, server_update_s
from dse.model.kept import Kept
from dse.model.links import Link, StepCost
from dse.model.precision import GRADIENT_BYTES, OPTIMIZER_STATE_BYTES, PRECISIONS, trained_in
from dse.model.step import OverlappedStep
from dse.model.terms import Terms
from tests.model.works import Given

LAYERS = Layers(
    params=np.array([1e4, 2e6, 0.0, 4e6, 1e6]),
    forward_flops=np.array([5e8, 2e9, 0.0, 4e8, 2e6]),
    traffic_elems=np.array([8e5, 4e5, 2e5, 1e5, 1e3]),
    kept=Kept(1.5e6),
    input_bytes=150528.0,
)


def scalar_step(
    batch: float, peak: float, bandwidth: float, host: float, gpus: int, link: float,
    bucket: float, precision: str, state: float, overlapped: bool, passes: int, waiting: float,
    slowdown: float, decoding: float,
) -> float:  # fmt: skip
    """The whole step for a flat ring on staged transport, with loops."""
    p = PRECISIONS[precision]
    flops, rate = peak * 0.5, bandwidth * 0.8
    forward = backward = 0.0
    layer_backward = []
    for params, work, elems in zip(
        LAYERS.params, LAYERS.forward_flops, LAYERS.traffic_elems, strict=True
    ):
        moved = 2 * elems * batch * p.activation_bytes / rate
        # A layer's FLOPs stand for one product with its weights.
        half = work / 2
        side = params**0.5 if params else half ** (1 / 3)
        rows = half * batch / side**2 if half else 0.0
        operands = side**2 * p.operand_bytes / rate if half else 0.0
        forms = {"x": (rows, side, side), "dw": (side, side, rows)}
        seconds = {
            name: max(2 * a * b * c / flops, operands) if half else 0.0
            for name, (a, b, c) in forms.items()
        }
        casts = 2 * rows * side * 4 / rate if p.name == "fp8" and half else 0.0
        forward += seconds["x"] + moved + casts / 3
        layer_backward.append(seconds["x"] + seconds["dw"] + 2 * moved + casts * 2 / 3)
    backward = sum(layer_backward)
    end, clock, held, total = 0.0, 0.0, 0.0, 0.0
    layers = list(zip(LAYERS.params, layer_backward, strict=True))
    pending = []
    for params, seconds in reversed(layers):
        clock += seconds
        held += params * p.gradient_bytes
        if held >= bucket:
            pending.append((clock, held))
            held = 0.0
    if held:
        clock = sum(s for _, s in layers)
        for params, seconds in layers:  # ready when the first layer with parameters is done
            if params:
                break
            clock -= seconds
        pending.append((clock, held))
    for ready, size in pending:
        cost = 0.0
        if gpus > 1:
            part = size / gpus
            step = 2e-6 + part * 1e-10 + 5e-6 + part / link
            cost = (gpus - 1) * (2 * step + part * 3e-10) + 2 * size / host
        total += cost
        end = max(end, ready) + cost
    master = p.master_bytes or p.weight_bytes
    copies = p.weight_bytes if p.master_bytes else 0
    per_param = p.gradient_bytes + 2 * master + copies + 2 * state
    update = LAYERS.params.sum() * per_param / rate
    loading = passes * LAYERS.input_bytes * batch / host
    before = 0.0
    for _ in range(passes - 1):
        before += forward + backward + 2 * LAYERS.params.sum() * p.stored_gradient_bytes / rate
    before += (before + forward + backward) * waiting
    if not overlapped:
        return max(decoding, before + forward + backward + total + update + loading)
    slower = backward + slowdown * min(backward, total)
    return max(decoding, loading, before + forward + max(slower, end) + update)


def model_step(
    batch: float, peak: float, bandwidth: float, host: float, gpus: int, link: float,
    bucket: float, precision: str, state: float, overlapped: bool, passes: float = 1.0,
    waiting: float = 0.0, slowdown: float = 0.0, decoding: float = 0.0,
) -> Terms:  # fmt: skip
    device = roofline_device(peak, bandwidth, 16e9, host, 0.5, 0.8)
    software = StepCost(2e-6, (1e-10,))
    ring = Composed(ALGORITHMS["ring"], Software(software, software, 3e-10, reaches_device=False))
    cluster = Cluster(np.asarray(float(gpus)), across=Link(5e-6, link), host_bytes_per_s=host)
    return OverlappedStep().step_time(
        Given(
            LAYERS, PRECISIONS[precision], device, batch, state, cluster, ring,
            "bucketed" if overlapped else "none", bucket, passes, waiting=waiting,
            slowdown=slowdown, decoding_s=decoding,
        )
    )  # fmt: skip


@settings(max_examples=200)
@given(
    batch=st.integers(1, 512),
    peak=st.floats(1e12, 1e15),
    bandwidth=st.floats(1e11, 5e12),
    host=st.floats(1e9, 1e11),
    gpus=st.integers(1, 64),
    link=st.floats(1e8, 1e11),
    bucket=st.floats(1e3, 1e8),
    precision=st.sampled_from(sorted(PRECISIONS)),
    state=st.sampled_from(sorted(OPTIMIZER_STATE_BYTES.values())),
    overlapped=st.booleans(),
    passes=st.integers(1, 20),
    waiting=st.floats(0, 1),
    slowdown=st.floats(0, 2),
    decoding=st.sampled_from([0.0, 1e-4, 1e-2, 1.0, 1e3]),
)
def test_step_matches_the_scalar_reference(
    batch: int, peak: float, bandwidth: float, host: float, gpus: int, link: float, bucket: float,
    precision: str, state: float, overlapped: bool, passes: int, waiting: float, slowdown: float,
    decoding: float,
) -> None:  # fmt: skip
    given_values = (
        batch, peak, bandwidth, host, gpus, link, bucket, precision, state, overlapped, passes,
        waiting, slowdown, decoding,
    )  # fmt: skip
    found = model_step(*given_values)
    assert float(found.step_s) == pytest.approx(scalar_step(*given_values), rel=1e-9)
    terms = found.compute_s + found["exposed_s"] + found["optimizer_s"] + found["stalled_s"]
    terms = terms + found["slowed_s"] + found["waiting_s"]
    assert float(terms) == pytest.approx(float(found.step_s), rel=1e-9)


@pytest.mark.parametrize("gradient", GRADIENT_BYTES)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_gradients_are_sent_as_asked_and_stored_no_narrower_than_the_weights(
    precision: str, gradient: str
) -> None:
    found = trained_in(precision, gradient)
    assert found.gradient_bytes == (4 if gradient == "fp32" else 2)
    assert found.stored_gradient_bytes == max(found.weight_bytes, found.gradient_bytes)
    if gradient == "fp32":
        assert found == PRECISIONS[precision]


def test_servers_update_their_shares_in_the_memory_of_hosts() -> None:
    fp32, fp16 = PRECISIONS["fp32"], PRECISIONS["fp16"]
    params = LAYERS.total_params
    one = server_update_s(LAYERS, fp32, 4.0, 1, 50e9)
    assert float(one) == pytest.approx(params * (4 + 8 + 8) / 50e9)
    several = server_update_s(LAYERS, fp16, 4.0, np.array([1, 4]), 50e9)
    assert several.tolist() == pytest.approx([float(one), float(one) / 4])
