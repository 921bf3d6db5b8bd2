"""The largest runs possible on the machine of a profile, and the runs to choose from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.calibration.measured_range import local_ranks
from dse.calibration.planning.covariance import Points
from dse.calibration.profile import Profile

CPU = "cpu"


@dataclass(frozen=True)
class Capacity:
    """The largest possible numbers of nodes and of ranks on one node."""

    nodes: int
    ranks_per_node: int

    def layout(self, ranks: float, ranks_per_node: float) -> tuple[int, int]:
        """A layout cut to what there is: fuller nodes where there are too few of them."""
        cut = min(int(ranks), self.nodes * self.ranks_per_node)
        fewest = -(-cut // self.nodes)  # of a node, or not all would find a place
        return cut, max(min(int(ranks_per_node), cut, self.ranks_per_node), fewest)


def capacity_of(
    profile: Profile, nodes: int | None = None, ranks_per_node: int | None = None
) -> Capacity:
    """The capacity given; by default the measured number of nodes, and on each the most ranks
    measured on one, or its cores if ranks run on CPUs."""
    auto, network = profile.auto, profile.network.values()
    local = [1, *(local_ranks(profile, point) for point in profile.points)]
    local += [auto.ranks_per_node[1]] if auto else []
    local += [fit.ranks_per_node[1] for fit in network]
    local += [profile.cores] if profile.device == CPU else []
    return Capacity(nodes or profile.max_nodes, ranks_per_node or max(local))


def candidates_of(profile: Profile, demand: Points, capacity: Capacity) -> Points:
    """The possible runs: demanded layouts, cut down to the capacity, at powers of two that span the
    demanded sizes."""
    rows: dict[tuple[str, int, int, int], None] = {}
    for name in sorted(set(demand.algorithm.tolist()) & set(profile.measured_algorithms)):
        mine = demand.take(demand.algorithm == name)
        least = int(np.floor(np.log2(max(float(mine.message_bytes.min()), 4.0))))
        most = int(np.ceil(np.log2(max(float(mine.message_bytes.max()), 4.0))))
        for n, g in sorted(
            set(zip(mine.ranks.tolist(), mine.ranks_per_node.tolist(), strict=True))
        ):
            layout = capacity.layout(n, g)
            for power in range(least, most + 1):
                rows[name, *layout, 2**power] = None
    names, counts, locals_, sizes = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Points(
        np.array(names, dtype=np.str_),
        *(np.array(c, dtype=np.float64) for c in (counts, locals_, sizes)),
    )
