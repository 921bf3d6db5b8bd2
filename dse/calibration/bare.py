"""A profile of measurements without allreduce: parameter servers, or compute speed alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dse.calibration.compute_part import ComputeFit
from dse.calibration.experiment import Experiment
from dse.calibration.profile import Profile
from dse.calibration.ps_part import ServersFit

NO_TRANSPORT = "none"  # of a profile that holds no communication
NOTHING_SENT = "nothing was sent"
ONE_LINK = "measured on one link or none; its wire is priced by the link's speed"
SEVERAL_LINKS = "measured at two or more speeds of the link"


def bare_profile(
    experiments: Sequence[Experiment],
    about: Mapping[str, Any],
    ps: Mapping[str, ServersFit],
    compute: Sequence[ComputeFit],
) -> Profile:
    """``about``: the fields that every profile takes from its experiments.

    Ranks are the workers, messages their gradients; all 1 where nothing was sent.
    """
    parts = list(ps.items())
    if not parts:
        fastest = compute[0]
        return Profile(
            **about, transport=NO_TRANSPORT, library=fastest.library, version=fastest.version,
            link=NO_TRANSPORT, ranks=(1, 1), message_bytes=(1.0, 1.0), step_bytes=(1.0, 1.0),
            max_nodes=1, split="measured", split_reason=NOTHING_SENT, fits={}, points=(),
            compute=tuple(compute), system=experiments[0].name, device=fastest.device,
        )  # fmt: skip
    transport, part = parts[0]
    low, high = part.message_bytes
    slowest, fastest_link = part.link_bytes_per_s
    several = 0 < slowest < fastest_link
    return Profile(
        **about, transport=transport, library=part.library, version=part.version, link=part.link,
        ranks=part.workers, message_bytes=part.message_bytes,
        step_bytes=(max(low / part.servers[1], 1.0), high), max_nodes=part.max_nodes,
        split="measured" if several else "assumed",
        split_reason=SEVERAL_LINKS if several else ONE_LINK, fits={}, points=(), ps=ps,
        compute=tuple(compute), system=experiments[0].name,
        link_bytes_per_s=slowest if slowest and slowest == fastest_link else None,
    )  # fmt: skip
