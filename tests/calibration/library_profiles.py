"""Profiles of a made-up library that chooses its own algorithm; nothing is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dse.calibration.library_part import AUTO, LibraryFit
from dse.calibration.network_part import NetworkFit
from dse.calibration.profile import Point, Profile
from dse.model.library import Anchor

SIZES = tuple(1024 * 4**k for k in range(10))
EDGE = 65536.0


def profile(
    name: str = "fabric",
    slower: float = 1.0,
    error: float = 0.05,
    layouts: Sequence[tuple[int, int]] = ((8, 4), (32, 4)),
    device: str = "a100",
    call_s: float = 20e-6,
) -> Profile:
    """Bytes between nodes cost ``slower`` times 0.1 ns; every held-out error is ``error``."""
    coefficients = (call_s, 0.0, 1e-6, 0.0, 0.0, 1e-11, 3e-6, 0.0, 0.0, slower * 1e-10)
    fit = LibraryFit(
        family="nccl",
        chunk_bytes=131072.0,
        ring_from_bytes=2.0**25,
        sharing=0.0,
        nvls=False,
        rails=1.0,
        edges_bytes=(EDGE,),
        coefficients=coefficients,
        low=tuple(0.9 * c for c in coefficients),
        high=tuple(1.1 * c for c in coefficients),
        anchors=tuple(
            Anchor(n, g, (float(SIZES[0]), float(SIZES[-1])), (0.0, 0.0)) for n, g in layouts
        ),
        ranks_per_node=(min(g for _, g in layouts), max(g for _, g in layouts)),
        held_out="ranks",
        error=error / 2,
        error_p90=error,
        size_error_p90=error,
        textbook_error=0.3,
        textbook_error_p90=0.6,
        residual=0.01,
        spread=0.01,
        per_octave=0.1,
    )
    cost = fit.cost()
    points = tuple(
        Point(AUTO, n, m, float(cost(n, g, m)), float(1.02 * cost(n, g, m)), g)
        for n, g in layouts
        for m in SIZES
    )
    counts = [n for n, _ in layouts]
    return Profile(
        name=name,
        transport="nccl",
        library="nccl",
        version="2.21",
        link="slingshot",
        machine={},
        cores=8,
        background_cores=0.0,
        date="2026-02-03",
        source="made up",
        measurements_sha256="ab" * 32,
        gamma_s_per_byte=0.0,
        copy_s_per_byte=0.0,
        ranks=(min(counts), max(counts)),
        message_bytes=(float(SIZES[0]), float(SIZES[-1])),
        step_bytes=(float(SIZES[0]), float(SIZES[-1])),
        max_nodes=max(int(np.ceil(n / g)) for n, g in layouts),
        split="assumed",
        split_reason="one link",
        fits={},
        points=points,
        auto=fit,
        device=device,
    )


def between_nodes() -> Profile:
    """Ring forced between nodes of one rank each: 20 us and 0.1 ns a byte, on a link of 10 GB/s."""
    fit = NetworkFit(
        latency_s=20e-6,
        s_per_byte=(1e-10,),
        edges_bytes=(),
        jump_s=(),
        wire_factor=(1.0,),
        first_factor=1.0,
        link_bytes_per_s=(1e10, 1e10),
        error=0.1,
        error_p90=0.3,
        textbook_error=0.4,
        textbook_error_p90=0.8,
        residual=0.02,
    )
    points = tuple(
        Point("ring", n, m, float(fit.seconds("ring", n, m, 1e10, 0.0)), None, 1)
        for n in (2, 4)
        for m in SIZES
    )
    return replace(
        profile("lab", layouts=((2, 1), (4, 1))),
        auto=None,
        network={"ring": fit},
        points=points,
        link_bytes_per_s=1e10,
    )
