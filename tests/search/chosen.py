"""Profiles of a library that chose its algorithm itself, with prices that we made up."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from dse.calibration import Profile, write_profile
from dse.calibration.library_part import LibraryFit
from dse.model.library import Anchor

EDGES = (65536.0,)
CALL_S, HOP_S, WIRE_HOP_S = 6e-6, 1e-6, 5e-6
INSIDE_S_PER_BYTE, WIRE_S_PER_BYTE = (1e-11, 5e-12), (1e-10, 4e-11)
LINK_BYTES_PER_S = 25e9
# call, jump; then inside and between nodes: hop, jump, bytes up to the edge, and all bytes.
PRICES = (CALL_S, 0.0, HOP_S, 0.0, *INSIDE_S_PER_BYTE, WIRE_HOP_S, 2e-6, *WIRE_S_PER_BYTE)
ONE_NODE = (*PRICES[:6], 0.0, 0.0, 0.0, 0.0)
SEVERAL_NODES = (*PRICES[:4], 0.0, 0.0, *PRICES[6:])


def part(**changes: Any) -> LibraryFit:
    """NCCL on nodes of 4, measured on 8 and 32 ranks at two sizes."""
    sizes = (1024.0, 2.0**26)
    fitted = LibraryFit(
        family="nccl",
        chunk_bytes=2.0**17,
        ring_from_bytes=2.0**25,
        sharing=0.0,
        nvls=False,
        rails=1.0,
        edges_bytes=EDGES,
        coefficients=PRICES,
        low=PRICES,
        high=PRICES,
        anchors=(Anchor(8, 4, sizes, (0.0, 0.0)), Anchor(32, 4, sizes, (0.1, 0.1))),
        ranks_per_node=(4, 4),
        held_out="ranks",
        error=0.1,
        error_p90=0.3,
        size_error_p90=0.1,
        textbook_error=0.3,
        textbook_error_p90=0.6,
        residual=0.05,
        spread=0.03,
        per_octave=0.2,
    )
    return replace(fitted, **changes)


def profile(name: str = "their-cluster", **changes: Any) -> Profile:
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
        date="2024-05-01",
        source="a public log",
        measurements_sha256="0" * 64,
        gamma_s_per_byte=0.0,
        copy_s_per_byte=0.0,
        ranks=(8, 32),
        message_bytes=(1024.0, 2.0**28),
        step_bytes=(64.0, 2.0**28),
        max_nodes=8,
        split="assumed",
        split_reason="one link",
        fits={},
        points=(),
        auto=part(),
        system="their cluster",
        device="NVIDIA A100-SXM4-40GB",
        link_bytes_per_s=LINK_BYTES_PER_S,
    )
    return replace(made, **changes)


def written(folder: Path, made: Profile) -> Path:
    """The file of the profile in a folder; a study names it by this path."""
    path = folder / f"{made.name}.yaml"
    write_profile(made, path)
    return path
