"""Write the logs of two made-up vendors and the layers of a made-up model for procurement.md.

    python docs/procurement/make.py [FOLDER]

No machine was measured. An allreduce of m bytes over n ranks on k nodes of g takes

    T = start + 2 (g - 1) hop_node + 2 ceil(log2 k) hop_net
        + max(2 m (g - 1) / g / B_node, 2 m (k - 1) / k / B_net) / filled
    filled = 1 - exp(-(m / knee)^0.4), at least 0.02

seconds: up and down a tree of nodes, with both tiers carrying bytes at the same time, at a share
`filled` of their best rates, which only large messages reach. Every time is multiplied by a factor
whose logarithm is normal with a standard deviation of 3 %, from a generator with a fixed seed.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from math import exp
from pathlib import Path

SIZES = [1024 * 4**power for power in range(11)]  # 1 KiB to 1 GiB
NODES = (1, 2, 4, 8)
PER_NODE = 8
NOISE = 0.03


@dataclass(frozen=True)
class Vendor:
    """A demonstration cluster: its accelerators, and what its messages cost."""

    name: str
    device: str
    start_s: float
    hop_node_s: float
    hop_net_s: float
    node_bytes_per_s: float
    net_bytes_per_s: float
    knee_bytes: float
    seed: int

    def allreduce_s(self, bytes_: int, nodes: int) -> float:
        """Seconds of one allreduce, without noise; the equation is at the top."""
        filled = max(0.02, 1 - exp(-((bytes_ / self.knee_bytes) ** 0.4)))
        inside = 2 * bytes_ * (PER_NODE - 1) / PER_NODE / self.node_bytes_per_s
        between = 2 * bytes_ * (nodes - 1) / nodes / self.net_bytes_per_s
        hops = 2 * (PER_NODE - 1) * self.hop_node_s + 2 * (nodes - 1).bit_length() * self.hop_net_s
        return self.start_s + hops + max(inside, between) / filled


# 8 cards of 400 Gbps give a node 400 GB/s at most.
VENDORS = (
    Vendor("vendor-a", "NVIDIA H100 80GB HBM3", 14e-6, 1.1e-6, 7e-6, 450e9, 360e9, 6e6, 1),
    Vendor("vendor-b", "NVIDIA H200", 14e-6, 1.1e-6, 11e-6, 460e9, 290e9, 12e6, 2),
)


def log(vendor: Vendor) -> str:
    """What all_reduce_perf would have printed, for one node count after the other."""
    noise = random.Random(vendor.seed)
    return "".join(part for nodes in NODES for part in run(vendor, nodes, noise))


def run(vendor: Vendor, nodes: int, noise: random.Random) -> Iterator[str]:
    """The lines of one start of the program."""
    ranks = nodes * PER_NODE
    yield f"# nThread 1 nGpus 1 minBytes {SIZES[0]} maxBytes {SIZES[-1]} step: 4(factor) "
    yield "warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n"
    for rank in range(ranks):
        yield f"#  Rank {rank:2d} Group  0 Pid {4000 + rank} on {vendor.name}-{rank // PER_NODE} "
        yield f"device {rank % PER_NODE} [0x{16 * (rank % PER_NODE) + 1:02x}] {vendor.device}\n"
    yield "# NCCL version 2.22.3+cuda12.6\n#\n"
    half = "     time   algbw   busbw #wrong"
    yield f"#       size         count      type   redop    root{half}{half}\n"
    yield "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)"
    yield "            (us)  (GB/s)  (GB/s)\n"
    for size in SIZES:
        yield f"{size:12d} {size // 4:12d} {'float':>8} {'sum':>7} {-1:7d}"
        for _ in range(2):  # out of place, in place
            time_us = vendor.allreduce_s(size, nodes) * 1e6 * exp(noise.gauss(0, NOISE))
            rate = size / time_us / 1e3
            bus = rate * 2 * (ranks - 1) / ranks
            yield f"{time_us:9.4g} {rate:7.2f} {bus:7.2f} {0:6d}".rjust(34)
        yield "\n"
    yield "# Out of bounds values : 0 OK\n#\n"


BLOCKS, WIDTH, LENGTH, WORDS = 24, 2048, 2048, 64000


def layers() -> str:
    """The layers of the model, a decoder: parameters and forward FLOPs of one text.

    A matrix of p parameters takes 2 p FLOPs a token; scores and their sum 4 LENGTH^2 WIDTH.
    """
    rows = [("embedding", "embedding", WORDS * WIDTH, 0, LENGTH * WIDTH)]
    for block in range(1, BLOCKS + 1):
        attention, mlp = 4 * WIDTH**2, 8 * WIDTH**2
        flops = 2 * attention * LENGTH + 4 * LENGTH**2 * WIDTH
        rows += [
            (f"block{block}.attention", "linear", attention, flops, LENGTH * WIDTH),
            (f"block{block}.mlp", "linear", mlp, 2 * mlp * LENGTH, LENGTH * WIDTH),
        ]
    rows.append(("head", "tied", 0, 2 * WORDS * WIDTH * LENGTH, WORDS * LENGTH))
    head = "layer,kind,params,forward_flops,output_elems,saved_elems\n"
    return head + "".join(",".join(map(str, row)) + ",\n" for row in rows)


def main(folder: Path) -> None:
    """Write all of it."""
    for vendor in VENDORS:
        (folder / f"{vendor.name}.log").write_text(log(vendor), encoding="utf-8")
    (folder / "layers.csv").write_text(layers(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
