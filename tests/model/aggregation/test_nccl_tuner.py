"""dse.model.aggregation.nccl_tuner against the tuner written out one number at a time."""

from __future__ import annotations

import re
from itertools import product
from math import inf
from typing import Any

import numpy as np
import pytest
import yaml

from dse.model.aggregation.nccl_tuner import (
    BASE_S,
    GENERATIONS,
    LL_MOST,
    NETWORK_S,
    NVLINK_S,
    NVLS_EFFICIENCY,
    NVLS_NETWORK_S,
    NVLS_S,
    NVLS_TREE_CHANNEL,
    PCI_S,
    PLAIN_TREE,
    PROTOCOLS,
    RING_LL128_CHANNEL,
    TREE_CHANNEL,
    TREE_CORRECTION,
    TREE_LL128_CHANNEL,
    Nccl,
)
from tests.calibration.importers.reference import reference
from tests.model.aggregation.test_library_rules import names, power_below, tuner

MIB, PB = 2.0**20, 1e15
US, GB = 1e-6, 1e9
BASE = {"tree": (6.8, 14.0, 8.4), "ring": (6.6, 14.0, 8.4)}
HARDWARE = {
    "NVLINK": {"tree": (0.6, 1.25, 4.0), "ring": (0.6, 1.9, 3.4)},
    "PCI": {"tree": (1.0, 1.9, 4.0), "ring": (1.0, 2.5, 5.7)},
    "NET": {"tree": (5.0, 8.5, 14.0), "ring": (2.7, 4.0, 14.0)},
}
MACHINE = {"pascal": 0, "volta": 0, "ampere": 1, "hopper": 2, "blackwell": 3}
OWN_LINK = {"pascal": 18.0, "volta": 20.0, "ampere": 20.0, "hopper": 20.6, "blackwell": 40.1}
LL_ROWS = ((39.0, 39.0, 20.4), (87.7, 22.5, 19.0), (141.0, 45.0, 35.0), (282.0, 90.0, 70.0))
RING_LL128 = (20.0, 20.0, 36.7, 40.0)
TREE_LL128 = ((20.0, 20.0, 20.0), (20.0, 20.0, 20.0), (36.7, 36.7, 29.0), (55.6, 31.67, 20.0))
TREE = ((26.5, 18.5, 10.0), (24.0, 23.6, 17.8), (38.7, 41.4, 36.0), (70.0, 42.8, 24.0))
CORRECTION = {
    "LL": "1 1 1 1 .9 .8 .7 .7 .7 .7 .6 .5 .4 .4 .5 .6 .7 .8 .9 1 1 1 1 1",
    "LL128": "1 1 1 1 1 .9 .8 .8 .8 .7 .6 .6 .6 .6 .6 .6 .8 .9 .9 .9 .9 1 1 1",
    "Simple": ".9 .9 .9 .9 .9 .9 .9 .8 .7 .6 .6 .5 .5 .5 .5 .6 .7 .8 .7 .7 .8 .9 .9 .9",
}


def tuned_s(
    how: str, protocol: str, n: int, g: int, m: float, gpu: str, nvlink: bool, speeds: Any
) -> float:
    """What NCCL takes one algorithm to need, of GPUs that reach (inside, between) bytes/s."""
    at, nodes, local = PROTOCOLS.index(protocol), -(-n // g), min(n, g)
    row, column = MACHINE[gpu], min(nodes, 3) - 1
    if protocol == "LL128" and (gpu == "pascal" or (local > 1 and not nvlink)):
        return inf
    bus = speeds[0] if nodes == 1 else speeds[1] if local == 1 else min(speeds)
    channels = max(2, int(np.ceil(bus / ((OWN_LINK[gpu] if nvlink else 12.0) * GB))))
    ll = LL_ROWS[row if nodes == 1 else 0][column] * GB
    hop = HARDWARE["NVLINK" if nvlink else "PCI"][how][at]
    if how == "ring":
        speed = {"LL": min(bus / 2, ll), "Simple": bus,
                 "LL128": min(0.92 * bus, channels * RING_LL128[row] * GB)}[protocol]  # fmt: skip
        steps, across = 2 * (n - 1), 2 * (nodes - 1)
        if nodes > 1:
            hop = max(hop, 3.0 if protocol == "Simple" else 1.0)
        wire = HARDWARE["NET"]["tree" if local == 1 else "ring"][at]
        latency = BASE["ring"][at] + (steps - across) * hop + across * wire
        if protocol == "Simple" and nodes > 1 and m / (channels * n) >= 64:
            latency *= 1.9 if gpu in ("pascal", "volta") else 1.4
        return latency * US + m / (speed * n / max(steps, 1))
    if nodes == 2 and local > 1:  # a tree sends once between two nodes
        bus = min(speeds[0], 2 * speeds[1])
    speed = min(0.92 * bus, channels * TREE[row][column] * GB)
    if protocol == "LL":
        speed = min(speed / 3.8, ll)
    if protocol == "LL128":
        share = 7 / 9 if nodes == 1 else 120 / 128
        speed = min(speed * share, channels * TREE_LL128[row][column] * GB)
    if local == 1:
        speed *= 0.85
    octave = (int(m) >> 6).bit_length() - 1
    table = [float(word) for word in CORRECTION[protocol].split()]
    speed *= table[octave] if 0 <= octave < 23 else 1.0  # 64 B to 256 MiB
    levels = power_below(nodes).bit_length() - 1
    latency = BASE["tree"][at] + 2 * ((n // nodes - 1) * hop + levels * HARDWARE["NET"]["tree"][at])
    return latency * US + m / (speed / 2)


def nvls_s(n: int, g: int, m: float, gpu: str, nvlink: bool, speeds: Any) -> float:
    """NVLS, where a switch adds for five GPUs of a node or more; else infinite."""
    nodes = -(-n // g)
    if gpu not in ("hopper", "blackwell") or not nvlink or min(n, g) < 5:
        return inf
    channels = max(2, int(np.ceil(speeds[0] / (OWN_LINK[gpu] * GB))))
    speed = 2 * speeds[0] * {"hopper": 0.85, "blackwell": 0.74}[gpu] * (channels - 1) / channels
    if nodes > 1:
        each = {"hopper": (57.7, 45.5), "blackwell": (96.0, 80.0)}[gpu][nodes > 2]
        speed = min(speed, speeds[1] * (2 if nodes == 2 else 1), channels * each * GB)
    levels = power_below(nodes).bit_length() - 1
    return (25.0 + 2 * levels * 20.9) * US + m / (speed * n / (2 * (n - 1)))


LAYOUTS = [(1, 1), (2, 1), (3, 1), (2, 8), (3, 8), (8, 8), (8, 4), (12, 8), (16, 8), (24, 8),
           (96, 8), (1024, 8), (7, 3), (4096, 1)]  # fmt: skip
MACHINES = [(gpu, nvlink, speeds) for gpu, nvlink, speeds in product(
    GENERATIONS, (True, False), ((234e9, 50e9), (12e9, 1.1e9), (700e9, 400e9)))]  # fmt: skip
TUNED_SIZES = [0.0, 1.0, 63.0, *(2.0**k + off for k in range(6, 34) for off in (-1, 0)), PB]


@pytest.mark.parametrize(("gpu", "nvlink", "speeds"), MACHINES)
def test_nccl_takes_what_its_own_model_finds_least(gpu: str, nvlink: bool, speeds: Any) -> None:
    rules = tuner(gpu, nvlink, speeds)
    n, g = (np.array(column)[:, None] for column in zip(*LAYOUTS, strict=True))
    chosen = rules(n, g, np.array(TUNED_SIZES))
    seconds = [rules.seconds(at, n, g, np.array(TUNED_SIZES)) for at in range(7)]
    for (row, (ranks, local)), (column, m) in product(enumerate(LAYOUTS), enumerate(TUNED_SIZES)):
        slow = [tuned_s(how, protocol, ranks, local, m, gpu, nvlink, speeds)
                for how in ("tree", "ring") for protocol in PROTOCOLS]  # fmt: skip
        slow.append(nvls_s(ranks, local, m, gpu, nvlink, speeds))
        mine = [float(np.broadcast_to(each, chosen.shape)[row, column]) for each in seconds]
        assert mine == pytest.approx(slow, rel=1e-12)
        assert mine[chosen[row, column]] == min(mine)


def test_nccl_on_machines_of_an_axis_is_nccl_on_each() -> None:
    several = Nccl(np.array([1, 2, 3]), np.array([True, False, True]),
                   np.array([130e9, 12e9, 350e9]), np.array([12e9, 25e9, 400e9]))  # fmt: skip
    chosen = several(64, 8, np.array(TUNED_SIZES)[:, None])
    for at, gpu in enumerate(("volta", "ampere", "hopper")):
        one = tuner(gpu, several.nvlink[at],
                    (several.inside_bytes_per_s[at], several.between_bytes_per_s[at]))  # fmt: skip
        assert np.array_equal(chosen[:, at], one(64, 8, np.array(TUNED_SIZES)))


def test_a_tree_of_one_gpu_a_node_has_the_bandwidth_of_the_plain_pattern() -> None:
    """Large messages, so that bandwidth is all: 15 % less than what two GPUs a node have."""
    rules = tuner("ampere", True, (12.5e9, 12.5e9))
    at = [known.name for known in rules.algorithms].index("tree with Simple")
    alone, paired = (float(rules.seconds(at, 8 * g, g, 1e15)) for g in (1, 2))
    assert alone / paired == pytest.approx(1 / 0.85, rel=1e-6)


def test_few_nodes_go_to_the_ring_early_and_many_stay_with_the_tree() -> None:
    rules = tuner("ampere", True, (234e9, 50e9))
    small, large = names(rules, 12, np.array([64.0, PB]), 4)
    assert (small, large) == ("tree with LL", "ring with Simple")
    assert names(rules, 12, 4 * MIB, 4).item().startswith("ring")
    assert names(rules, 4096, 4 * MIB, 8).item().startswith("tree")
    assert names(tuner("pascal", True, (60e9, 12e9)), 8, 1 * MIB, 8).item() != "ring with LL128"


def test_between_two_nodes_a_tree_carries_large_messages_too() -> None:
    """It sends each byte once between them; a ring almost twice."""
    rules = tuner("ampere", True, (234e9, 45e9))
    assert names(rules, 16, PB, 8) == "tree with Simple"
    assert names(rules, 24, PB, 8) == "ring with Simple"
    at = [known.name for known in rules.algorithms].index("tree with Simple")
    two, three = (float(rules.seconds(at, 8 * nodes, 8, PB)) for nodes in (2, 3))
    assert two / three == pytest.approx(0.92 * 45 / (3 * 23.6), rel=1e-3)  # three channels


def test_a_trees_correction_ends_at_512_mib() -> None:
    """As NCCL reads 23 of the 24 columns of its table."""
    tuner = Nccl(GENERATIONS.index("volta"), True, 120e9, 12.5e9)
    simple = tuner.algorithms.index(
        next(a for a in tuner.algorithms if a.name == "tree with Simple")
    )
    below, above = (float(tuner.seconds(simple, 512, 8, m)) for m in (2.0**29 - 64, 2.0**29))
    assert above / below == pytest.approx(0.9, abs=0.01)


def test_the_tables_are_those_of_the_reference() -> None:
    with open(reference("collectives.md"), encoding="utf-8") as file:
        blocks = re.findall(r"```yaml\n(.*?)```", file.read(), re.DOTALL)
    found: dict[str, Any] = {}
    for block in blocks:
        if re.search(r"^nccl_tuner:", block, re.MULTILINE):
            found |= yaml.safe_load(block)
    theirs = found["nccl_tuner"]
    generations = GENERATIONS[1:]
    for mine, table in ((BASE_S, theirs["baseLatencies"]),
                        (NVLINK_S, theirs["hwLatencies"]["NVLINK"]),
                        (PCI_S, theirs["hwLatencies"]["PCI"]),
                        (NETWORK_S, theirs["hwLatencies"]["NET"])):  # fmt: skip
        assert mine / US == pytest.approx(np.array([table["Tree"], table["Ring"]]))
    for mine, name in ((TREE_CHANNEL, "perChMaxTreeBws"),
                       (TREE_LL128_CHANNEL, "perChMaxTreeLL128Bws"),
                       (RING_LL128_CHANNEL, "perChMaxRingLL128Bws")):  # fmt: skip
        table = theirs[name]
        assert mine / GB == pytest.approx(np.array([table[word] for word in generations]))
    assert pytest.approx(np.array(list(theirs["llMaxBws"].values()))) == LL_MOST / GB
    assert theirs["factors"]["tree_pattern_TREE"] == PLAIN_TREE
    corrections = [theirs["treeCorrectionFactor"][name] for name in PROTOCOLS]
    assert pytest.approx(np.array(corrections)) == TREE_CORRECTION
    step = theirs["hwLatencies"]["NVLINK"]["NVLS"][2], theirs["hwLatencies"]["NET"]["NVLSTree"][2]
    assert step == pytest.approx((NVLS_S / US, NVLS_NETWORK_S / US))
    efficiency = [theirs["nvlsEfficiency"][name] for name in ("hopper", "blackwell")]
    assert NVLS_EFFICIENCY[2:] == pytest.approx(efficiency)
    channels = [theirs["perChMaxNVLSTreeBws"][name][1:] for name in ("hopper", "blackwell")]
    assert NVLS_TREE_CHANNEL[2:, 1:] / GB == pytest.approx(np.array(channels))
