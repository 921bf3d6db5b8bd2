"""Profiles of made-up libraries that choose their own algorithm; nothing is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dse.calibration import Profile, write_profile
from dse.calibration.library_part import AUTO, LibraryFit
from dse.calibration.network_part import NetworkFit
from dse.calibration.profile import Point
from dse.model.aggregation.measured_library import Anchor

SIZES = tuple(1024 * 4**k for k in range(10))
LAYOUTS = ((8, 4), (32, 4))  # ranks, ranks per node
EDGE, RING_FROM = 2.0**16, 2.0**25
# So fine, and so close to where it jumps, that what is interpolated is what the library takes.
BESIDE = {jump + aside for jump in (EDGE, RING_FROM) for aside in (-2, -1, 1)}
ANCHORED = tuple(sorted(BESIDE | {2.0 ** (k / 2) for k in range(20, 57)}))
# call, jump; then inside and between nodes: hop, jump, bytes up to the edge, and all bytes.
PRICES = (6e-6, 0.0, 1e-6, 0.0, 1e-11, 5e-12, 5e-6, 2e-6, 1e-10, 4e-11)
ONE_NODE = (*PRICES[:6], 0.0, 0.0, 0.0, 0.0)
SEVERAL_NODES = (*PRICES[:4], 0.0, 0.0, *PRICES[6:])


def part(
    coefficients: tuple[float, ...] = PRICES,
    layouts: Sequence[tuple[int, int]] = LAYOUTS,
    **changes: Any,
) -> LibraryFit:
    """NCCL, which took at the measured layouts what the coefficients say."""
    local = [g for _, g in layouts]
    bare = LibraryFit(
        family="nccl",
        chunk_bytes=2.0**17,
        ring_from_bytes=RING_FROM,
        sharing=0.0,
        nvls=False,
        rails=1.0,
        edges_bytes=(EDGE,),
        coefficients=coefficients,
        low=tuple(0.9 * price for price in coefficients),
        high=tuple(1.1 * price for price in coefficients),
        anchors=(),
        ranks_per_node=(min(local), max(local)),
        held_out="ranks",
        error=0.1,
        error_p90=0.3,
        size_error_p90=0.1,
        textbook_error=0.3,
        textbook_error_p90=0.6,
        residual=0.05,
        per_octave=0.2,
        per_octave_local=0.2,
    )
    cost, sizes = bare.cost(), np.array(ANCHORED)
    anchors = tuple(Anchor(n, g, ANCHORED, tuple(cost(n, g, sizes).tolist())) for n, g in layouts)
    return replace(bare, **{"anchors": anchors, **changes})


def theirs(name: str = "their-cluster", **changes: Any) -> Profile:
    """The profile of :func:`part`, as if from a log that tells nothing of the machine."""
    made = Profile(
        name=name,
        transport="nccl",
        library="nccl",
        version="2.21",
        link="200 Gb Ethernet",
        machine={},
        cores=4,
        background_cores=0.0,
        date="2026-02-03",
        source="a public log",
        measurements_sha256="ab" * 32,
        gamma_s_per_byte=0.0,
        copy_s_per_byte=0.0,
        ranks=(8, 32),
        message_bytes=(float(SIZES[0]), float(SIZES[-1])),
        step_bytes=(float(SIZES[0]), float(SIZES[-1])),
        max_nodes=8,
        split="assumed",
        split_reason="one link",
        fits={},
        points=(),
        auto=part(),
        system="their cluster",
        device="NVIDIA A100-SXM4-40GB",
        link_bytes_per_s=25e9,
    )
    return replace(made, **changes)


def profile(
    name: str = "fabric",
    slower: float = 1.0,
    error: float = 0.05,
    layouts: Sequence[tuple[int, int]] = LAYOUTS,
    device: str = "a100",
    call_s: float = 20e-6,
) -> Profile:
    """Bytes between nodes cost ``slower`` times 0.1 ns; every held-out error is ``error``."""
    fit = part(
        (call_s, 0.0, 1e-6, 0.0, 0.0, 1e-11, 3e-6, 0.0, 0.0, slower * 1e-10),
        layouts,
        error=error / 2,
        error_p90=error,
        size_error_p90=error,
        residual=0.01,
        per_octave=0.1,
        per_octave_local=0.1,
    )
    cost = fit.cost()
    counts = [n for n, _ in layouts]
    return theirs(
        name,
        link="slingshot",
        source="made up",
        ranks=(min(counts), max(counts)),
        max_nodes=max(-(-n // g) for n, g in layouts),
        points=tuple(
            Point(AUTO, n, m, float(cost(n, g, m)), float(1.02 * cost(n, g, m)), g)
            for n, g in layouts
            for m in SIZES
        ),
        auto=fit,
        system="",
        device=device,
        link_bytes_per_s=None,
    )


def one_node(name: str = "inside") -> Profile:
    """Measured on 2 and 4 ranks of one node only, so that nothing has a price between nodes."""
    layouts = ((2, 2), (4, 4))
    found = profile(name, layouts=layouts)
    return replace(found, auto=part(ONE_NODE, layouts))


def between_nodes() -> Profile:
    """Ring forced between nodes of one rank each: 20 us and 0.1 ns a byte, on a link of 10 GB/s."""
    fit = NetworkFit(
        latency_s=20e-6,
        s_per_byte=(1e-10,),
        edges_bytes=(),
        jump_s=(),
        wire_factor=(1.0,),
        wire_jump_bytes=(),
        link_bytes_per_s=(1e10, 1e10),
        ranks_per_node=(1, 1),
        shared_cores=None,
        held_out="ranks",
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


def written(folder: Path, made: Profile) -> Path:
    """The file of the profile in a folder; a study names it by this path."""
    path = folder / f"{made.name}.yaml"
    write_profile(made, path)
    return path
