"""What torch ranks are told to measure, and what becomes of their records; wherever they run."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dse.calibration.experiment import Measurement
from dse.calibration.runners.placement import Placement
from dse.calibration.runners.plan import MIN_REPETITIONS, MeasurePlan
from dse.errors import MeasurementError

INSTALL = (
    "run: pip install torch (for CPUs alone: "
    "pip install torch --index-url https://download.pytorch.org/whl/cpu)"
)
START_S = 3.0  # guess of the seconds in which Python imports torch on every host
MAX_RUNS = 5
GROUP_S = 4.0  # that a rank count should get in a run
LEAST_GROUP_S = 1.0  # that it must get where no rank count can be dropped
LOCAL_SIZES = (2**12, 2**16, 2**20, 2**22, 2**24)
LOCAL_SHARE = 0.1  # of the first start, for what one rank does alone
GRACE_S = 30.0  # the ranks may overrun their share by this before they are taken for hung


@dataclass(frozen=True)
class Fleet:
    """Where the ranks are, and what they use.

    address: of rank 0 as every host reaches it. device: cpu, cuda or auto.
    """

    place: Placement
    address: str = "127.0.0.1"
    device: str = "auto"

    def __post_init__(self) -> None:
        if self.device not in ("auto", "cpu", "cuda"):
            raise MeasurementError(f"'{self.device}' is no device; use auto, cpu or cuda")

    def task(
        self, plan: MeasurePlan, counts: Sequence[int], runs: int, seconds: float, cores: int
    ) -> dict[str, Any]:
        """The worker's task for ``runs`` runs of all rank counts, but for which ranks it has.

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
            "local_sizes": list(LOCAL_SIZES),
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
            found.append(Measurement(library="torch", **_known(Measurement, {**record, **about})))
        return found


def limit_s(seconds: float) -> float:
    """After which ranks that were given ``seconds`` are taken for hung."""
    return 3 * seconds + GRACE_S


def need_torch() -> None:
    """Raise unless this Python has torch."""
    if importlib.util.find_spec("torch") is None:
        raise MeasurementError(f"torch is not installed; {INSTALL}")


def affordable(
    plan: MeasurePlan, budget_s: float, start_s: float = START_S
) -> tuple[list[int], int]:
    """The rank counts to measure, and in how many runs; every run starts all ranks anew.

    Counts that would get less than GROUP_S are dropped, the largest first; three stay.
    MeasurementError if those do not get LEAST_GROUP_S. start_s: what the start takes of the budget.
    """
    counts, spare_s = sorted(set(plan.ranks)), budget_s - start_s
    while len(counts) > 3 and spare_s < GROUP_S * len(counts):
        counts.pop()
    if spare_s < LEAST_GROUP_S * len(counts):
        needed = math.ceil(start_s + LEAST_GROUP_S * len(counts))
        problem = f"{budget_s:g} s are too few to start torch and measure {len(counts)} rank counts"
        raise MeasurementError(f"{problem}; give --budget {needed} or more")
    return counts, min(max(1, int(spare_s / (GROUP_S * len(counts)))), MAX_RUNS)


def _known(kind: type[Any], record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: record[key] for key in kind.__dataclass_fields__ if key in record}
