"""dse.model.aggregation.library_rules and nccl_tuner: rules written out, at every boundary."""

from __future__ import annotations

import re
from itertools import pairwise, product
from math import inf
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.model.aggregation.library_rules import (
    OPENMPI_ROWS,
    Known,
    Mpich,
    OpenMpi,
    Rules,
    by_choice,
    priced_names,
)
from dse.model.aggregation.nccl_tuner import (
    BASE_S,
    GENERATIONS,
    LL_MOST,
    NETWORK_S,
    NVLINK_S,
    PCI_S,
    PLAIN_TREE,
    PROTOCOLS,
    RING_LL128_CHANNEL,
    TREE_CHANNEL,
    TREE_CORRECTION,
    TREE_LL128_CHANNEL,
    Nccl,
)
from dse.model.collectives import ALGORITHMS
from dse.model.links import Link, Network, StepCost
from tests.calibration.importers.reference import reference

KIB, MIB, PB = 2.0**10, 2.0**20, 1e15
DOUBLING, SHORT_TREE = "recursive-doubling", "reduce, then broadcast"
RING, SEGMENTED, HALVING = "ring", "segmented ring", "halving-doubling"
COUNTS = (1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 31, 32, 63, 64, 127, 128, 200, 255, 256, 511, 512, 1000,
          2047, 2048, 4095, 4096, 100_000)  # fmt: skip
EDGES = (0, 1, 4, 8, 12, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072,
         262144, 2**20, 2**30, 10**15)  # fmt: skip
SIZES = sorted({float(max(0, edge + off)) for edge in EDGES for off in (-1, 0, 1)})


def power_below(n: int) -> int:
    """The largest power of two that is no more than n."""
    found = 1
    while 2 * found <= n:
        found *= 2
    return found


def openmpi(n: int, m: float) -> str:
    """Open MPI's fixed decision for commutative operations on float32."""
    if n < 4:
        found = (RING if m < 8 else DOUBLING if m < 4096 else RING if m < 8192 else DOUBLING
                 if m < 16384 else RING if m < 65536 else SEGMENTED if m < 262144
                 else HALVING)  # fmt: skip
    elif n < 8:
        found = RING if m < 16 else DOUBLING if m < 8192 else HALVING
    elif n < 16:
        found = DOUBLING if m < 8192 else HALVING
    elif n < 32:
        found = SEGMENTED if m < 64 else DOUBLING if m < 4096 else HALVING
    elif n < 64:
        found = SEGMENTED if m < 128 else HALVING
    elif n < 128:
        found = DOUBLING if m < 262144 else HALVING
    elif n < 256:
        found = SHORT_TREE if m < 131072 else DOUBLING if m < 262144 else HALVING
    elif n < 512:
        found = SHORT_TREE if m < 4096 else HALVING
    elif n < 2048:
        found = SHORT_TREE if m < 2048 else DOUBLING if m < 16384 else HALVING
    elif n < 4096:
        found = (SHORT_TREE if m < 2048 else SEGMENTED if m < 4096 else DOUBLING
                 if m < 16384 else HALVING)  # fmt: skip
    else:
        found = (SHORT_TREE if m < 2048 else SEGMENTED if m < 16384 else DOUBLING
                 if m < 32768 else HALVING)  # fmt: skip
    least = {RING: n, SEGMENTED: n, HALVING: power_below(n)}.get(found, 0)
    return DOUBLING if m / 4 < least else found


def mpich(n: int, m: float) -> str:
    """MPICH's default on float32."""
    return DOUBLING if m <= 8 or m / 4 < power_below(n) else HALVING


def names(rules: Rules, n: Any, m: Any, g: Any = 1) -> Any:
    return np.array([known.name for known in rules.algorithms])[rules(n, g, m)]


@pytest.mark.parametrize(("rules", "slow"), [(OpenMpi(), openmpi), (Mpich(), mpich)])
def test_mpi_rules_at_every_boundary(rules: Rules, slow: Any) -> None:
    expected = [[slow(n, m) for m in SIZES] for n in COUNTS]
    assert names(rules, np.array(COUNTS)[:, None], np.array(SIZES)).tolist() == expected


def test_every_row_of_open_mpi_is_reached_and_has_edges_that_rise() -> None:
    assert [below for below, _ in OPENMPI_ROWS] == sorted(below for below, _ in OPENMPI_ROWS)
    for (least, _), (_, cells) in pairwise([(1, ()), *OPENMPI_ROWS]):
        edges = [below for below, _ in cells]
        assert edges == sorted(edges)
        assert edges[-1] == inf
        large = names(OpenMpi(), least, np.array([1 * MIB, PB]))
        assert set(large) == {HALVING}


def test_reduce_and_broadcast_cost_twice_the_rounds_of_recursive_doubling() -> None:
    """Short messages on 128 ranks: priced by its own tree, not by the exchange it resembles."""
    rules = OpenMpi()
    assert names(rules, 128, 1024.0).item() == SHORT_TREE
    assert rules.algorithms[int(rules(128, 1, 1024.0))].priced_as == "reduce-broadcast"
    step = StepCost(1e-6, (1e-9,))
    network = Network(step, step, inter=Link(2e-6, 1e10))
    twice, once = (ALGORITHMS[name](128, 1, 1024.0, network)
                   for name in ("reduce-broadcast", DOUBLING))  # fmt: skip
    assert twice == pytest.approx(2 * once)


def test_rabenseifner_falls_short_of_elements_on_many_ranks_only() -> None:
    """As the class says: of float32 from 16,384 ranks on, where recursive doubling is assumed."""
    counts = np.unique(np.geomspace(4, 2**14 - 1, 500).astype(int))
    for n in counts:
        taken = names(OpenMpi(), n, np.array(EDGES[1:], dtype=float))
        table = [openmpi_number(int(n), m) for m in EDGES[1:]]
        assert all(found == HALVING for found, number in zip(taken, table, strict=True)
                   if number == 6)  # fmt: skip
    assert names(OpenMpi(), 2**14, 32768.0).item() == DOUBLING
    assert openmpi_number(2**14, 32768.0) == 6


def openmpi_number(n: int, m: float) -> int:
    """What the table says, whatever the elements."""
    cells = next(cells for below, cells in OPENMPI_ROWS if n < below)
    return next(number for below, number in cells if m < below)


@pytest.mark.parametrize("rules", [OpenMpi(2.0), Mpich(2.0)])
def test_shorter_elements_are_more_of_them(rules: Rules) -> None:
    """fp16: 64 ranks share out 128 bytes, which of float32 are 32 elements only."""
    wide = OpenMpi() if isinstance(rules, OpenMpi) else Mpich()
    assert names(rules, 32, 128.0).item() == HALVING
    assert names(wide, 64, 128.0).item() == DOUBLING
    assert names(Mpich(2.0), 64, 128.0).item() == HALVING


# -- NCCL -------------------------------------------------------------------------------------

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
    speed *= table[octave] if 0 <= octave < len(table) else 1.0
    levels = power_below(nodes).bit_length() - 1
    latency = BASE["tree"][at] + 2 * ((n // nodes - 1) * hop + levels * HARDWARE["NET"]["tree"][at])
    return latency * US + m / (speed / 2)


LAYOUTS = [(1, 1), (2, 1), (3, 1), (2, 8), (3, 8), (8, 8), (8, 4), (12, 8), (16, 8), (24, 8),
           (96, 8), (1024, 8), (7, 3), (4096, 1)]  # fmt: skip
MACHINES = [(gpu, nvlink, speeds) for gpu, nvlink, speeds in product(
    GENERATIONS, (True, False), ((234e9, 50e9), (12e9, 1.1e9), (700e9, 400e9)))]  # fmt: skip
TUNED_SIZES = [0.0, 1.0, 63.0, *(2.0**k + off for k in range(6, 34) for off in (-1, 0)), PB]


def tuner(gpu: str, nvlink: bool, speeds: Any) -> Nccl:
    return Nccl(GENERATIONS.index(gpu), nvlink, *speeds)


@pytest.mark.parametrize(("gpu", "nvlink", "speeds"), MACHINES)
def test_nccl_takes_what_its_own_model_finds_least(gpu: str, nvlink: bool, speeds: Any) -> None:
    rules = tuner(gpu, nvlink, speeds)
    n, g = (np.array(column)[:, None] for column in zip(*LAYOUTS, strict=True))
    chosen = rules(n, g, np.array(TUNED_SIZES))
    seconds = [rules.seconds(at, n, g, np.array(TUNED_SIZES)) for at in range(6)]
    for (row, (ranks, local)), (column, m) in product(enumerate(LAYOUTS), enumerate(TUNED_SIZES)):
        slow = [tuned_s(how, protocol, ranks, local, m, gpu, nvlink, speeds)
                for how in ("tree", "ring") for protocol in PROTOCOLS]  # fmt: skip
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
    small, large = names(rules, 8, np.array([64.0, PB]), 4)
    assert (small, large) == ("tree with LL", "ring with Simple")
    assert names(rules, 8, 4 * MIB, 4).item().startswith("ring")
    assert names(rules, 4096, 4 * MIB, 8).item().startswith("tree")
    assert names(tuner("pascal", True, (60e9, 12e9)), 8, 1 * MIB, 8).item() != "ring with LL128"


# -- what all of them hold to -------------------------------------------------------------------

ALL = [
    OpenMpi(),
    Mpich(),
    tuner("hopper", True, (350e9, 400e9)),
    tuner("pascal", False, (9e9, 1e9)),
]


@pytest.mark.parametrize("rules", ALL)
def test_no_algorithm_is_chosen_that_the_model_lacks(rules: Rules) -> None:
    assert {known.priced_as for known in rules.algorithms} <= set(ALGORITHMS)
    assert len({known.name for known in rules.algorithms}) == len(rules.algorithms)
    assert rules.title
    assert rules.source


@settings(max_examples=60, deadline=None)
@given(
    at=st.integers(0, len(ALL) - 1),
    n=st.integers(1, 10**6),
    g=st.integers(1, 64),
    m=st.floats(0, 1e15),
)
def test_the_price_is_that_of_the_algorithm_chosen(at: int, n: int, g: int, m: float) -> None:
    rules = ALL[at]
    step = StepCost(3e-6, (1e-9, 2e-10), (65536.0,), (5e-6,))
    network = Network(step, step, inter=Link(2e-6, 1e10), gamma_s_per_byte=1e-10)
    sizes = np.array([m, 0.0, 1.0, PB])
    chosen = rules(n, g, sizes)
    assert chosen.shape == sizes.shape
    seconds = by_choice(
        rules.algorithms, chosen, lambda name: ALGORITHMS[name](n, g, sizes, network)
    )
    assert np.all(np.isfinite(seconds))
    assert (n > 1) or np.all(seconds == 0)
    for size, choice, price in zip(sizes, chosen, seconds, strict=True):
        own = ALGORITHMS[rules.algorithms[choice].priced_as](n, g, size, network)
        assert price == own


def test_only_what_is_chosen_is_priced() -> None:
    algorithms = (Known("a", "ring"), Known("b", "tree"), Known("c", "ring"))
    asked: list[str] = []

    def price(name: str) -> Any:
        asked.append(name)
        return np.full((5, 1), {"ring": 1.0, "tree": 2.0}[name])

    chosen = np.array([2, 0, 2])
    assert by_choice(algorithms, chosen, price).shape == (5, 1)  # as small as it can be
    assert asked == ["ring"]
    mixed = by_choice(algorithms, np.array([0, 1, 2]), price)
    assert np.array_equal(mixed, np.broadcast_to([1.0, 2.0, 1.0], (5, 3)))
    assert priced_names(algorithms, np.array([2, 1, 1])) == ("tree", "ring")


def test_a_shape_without_points_stays_without() -> None:
    for rules in ALL:
        assert rules(np.ones((0, 1)), 1, np.ones((1, 4))).shape == (0, 4)


def test_the_tables_are_those_of_the_reference() -> None:
    with open(reference("collectives.md"), encoding="utf-8") as file:
        blocks = re.findall(r"```yaml\n(.*?)```", file.read(), re.DOTALL)
    found: dict[str, Any] = {}
    for block in blocks:
        if re.search(r"^(nccl_tuner|openmpi):", block, re.MULTILINE):
            found |= yaml.safe_load(block)
    rows = [(float(below), tuple((float(edge), number) for edge, number in cells))
            for below, cells in found["openmpi"]["fixed_commutative"]]  # fmt: skip
    assert tuple(rows) == OPENMPI_ROWS
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
