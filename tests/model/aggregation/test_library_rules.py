"""dse.model.aggregation.library_rules against the rules one number at a time, at every boundary."""

from __future__ import annotations

import re
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
import pytest
import yaml

from dse.model.aggregation.algorithms import ALGORITHMS
from dse.model.aggregation.library_rules import (
    OPENMPI_ROWS,
    Mpich,
    OpenMpi,
    Rules,
)
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


# -- what all of them hold to -------------------------------------------------------------------

ALL = [OpenMpi(), Mpich()]


@pytest.mark.parametrize("rules", ALL)
def test_no_algorithm_is_chosen_that_the_model_lacks(rules: Rules) -> None:
    assert {known.priced_as for known in rules.algorithms} <= set(ALGORITHMS)
    assert len({known.name for known in rules.algorithms}) == len(rules.algorithms)
    assert rules.title
    assert rules.source


def test_the_tables_are_those_of_the_reference() -> None:
    with open(reference("collectives.md"), encoding="utf-8") as file:
        blocks = re.findall(r"```yaml\n(.*?)```", file.read(), re.DOTALL)
    found: dict[str, Any] = {}
    for block in blocks:
        if re.search(r"^openmpi:", block, re.MULTILINE):
            found |= yaml.safe_load(block)
    rows = [(float(below), tuple((float(edge), number) for edge, number in cells))
            for below, cells in found["openmpi"]["fixed_commutative"]]  # fmt: skip
    assert tuple(rows) == OPENMPI_ROWS
