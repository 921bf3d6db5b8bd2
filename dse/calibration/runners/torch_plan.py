"""The task of torch ranks, and the samples among their records, wherever they run."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dse.calibration.experiment import Measurement
from dse.calibration.runners.budget import limit_s
from dse.calibration.runners.placement import Placement
from dse.calibration.runners.plan import MIN_REPETITIONS, MeasurePlan
from dse.calibration.runners.records import fields_of
from dse.errors import MeasurementError

INSTALL = (
    "run: pip install torch (for CPUs alone: "
    "'pip install torch --index-url https://download.pytorch.org/whl/cpu')"
)
LOCAL_SHARE = 0.1  # of the first start, for what one rank does alone


@dataclass(frozen=True)
class Fleet:
    """Where the ranks are, and what they use.

    address: of rank 0 as every host reaches it. device: cpu, cuda or auto.
    """

    place: Placement
    address: str = "127.0.0.1"
    device: str = "auto"

    def task(
        self, plan: MeasurePlan, counts: Sequence[int], runs: int, seconds: float, cores: int
    ) -> dict[str, Any]:
        """The worker's task for ``runs`` runs of all rank counts, without the ranks of its host.

        A ping-pong is measured at the smallest rank count only. cores: of a host; a rank count
        gets time by its ranks per core.
        """
        least = min(counts)
        groups = [
            {
                "ranks": count,
                "stride": self.place.stride(count),
                "weight": max(1.0, self.place.on_each(count) / cores),
                "primitives": [p for p in plan.primitives if p != "ping-pong" or count == least],
            }
            for count in counts
        ]
        return {
            "ranks": max(counts),
            "local_ranks": self.place.on_each(max(counts)),
            "address": self.address,
            "device": self.device,
            "timeout_s": limit_s(seconds),
            "runs": runs,
            "groups": groups,
            "sizes": list(plan.sizes_bytes),
            "seconds": seconds,
            "min_repetitions": MIN_REPETITIONS,
            "local_seconds": LOCAL_SHARE * seconds / runs if plan.local else 0.0,
        }

    def samples(self, records: Sequence[Mapping[str, Any]]) -> list[Measurement]:
        """The measurements among the records of rank 0."""
        start = next(record for record in records if record["kind"] == "start")
        found = []
        for record in records:
            if record["kind"] != "sample":
                continue
            about = self.place.about(record["ranks"])
            if about["nodes"] == 1:
                about["link"] = "loopback" if start["transport"] == "gloo" else "intra-node"
            about |= {key: start[key] for key in ("transport", "version", "device")}
            found.append(
                Measurement(library="torch", **fields_of(Measurement, {**record, **about}))
            )
        return found


def need_torch() -> None:
    """Raise MeasurementError unless this Python has torch."""
    if importlib.util.find_spec("torch") is None:
        raise MeasurementError(f"torch is not installed; {INSTALL}")
