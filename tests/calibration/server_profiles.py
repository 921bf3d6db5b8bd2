"""Profiles of parameter servers and of compute speed with numbers that we made up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dse.calibration.compute_part import ComputeFit
from dse.calibration.profile import Profile
from dse.calibration.ps_part import ServersFit

LINK_BYTES_PER_S = 1.25e9
# latency; worker, server and cores: s/call, s/byte, s/byte beyond the edge
COSTS = (5e-4, 1e-4, 2e-10, 0.0, 3e-4, 4e-10, 0.0, 8e-4, 2e-10, 0.0)


def part(**changes: Any) -> ServersFit:
    """gRPC on hosts of their own at 10 Gbit/s, 1-8 workers and 1-4 servers."""
    made = ServersFit(
        library="grpcio",
        version="1.70.0",
        costs=COSTS,
        edge_bytes=None,
        cores=None,
        workers=(1, 8),
        servers=(1, 4),
        message_bytes=(4.0, 2.0**30),
        link="10gbe",
        link_bytes_per_s=(LINK_BYTES_PER_S, LINK_BYTES_PER_S),
        max_nodes=8,
        error=0.05,
        error_p90=0.15,
        textbook_error=0.3,
        textbook_error_p90=0.6,
        residual=0.03,
        draws=tuple(tuple(scale * cost for cost in COSTS) for scale in (0.95, 1.0, 1.05)),
    )
    return replace(made, **changes)


def compute_part(**changes: Any) -> ComputeFit:
    """A V100 whose large fp32 products reach 12 TFLOP/s."""
    made = ComputeFit(
        device="Tesla V100-SXM2-16GB",
        precision="fp32",
        library="torch",
        version="2.6.0",
        flop_per_s=12.56e12,
        low=11e12,
        high=14e12,
        products=3,
    )
    return replace(made, **changes)


def profile(name: str = "servers", **changes: Any) -> Profile:
    """The profile of :func:`part`."""
    made = Profile(
        name=name,
        transport="grpc",
        library="grpcio",
        version="1.70.0",
        link="10gbe",
        machine={},
        cores=16,
        background_cores=0.0,
        date="2026-01-01",
        source="made up",
        measurements_sha256="0" * 64,
        gamma_s_per_byte=1e-10,
        copy_s_per_byte=1e-10,
        ranks=(1, 8),
        message_bytes=(4.0, 2.0**30),
        step_bytes=(1.0, 2.0**30),
        max_nodes=8,
        split="assumed",
        split_reason="one link",
        fits={},
        points=(),
        ps={"grpc": part()},
    )
    return replace(made, **changes)
