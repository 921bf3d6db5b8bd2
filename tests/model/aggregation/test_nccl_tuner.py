"""The constants of dse.model.aggregation.nccl_tuner are those of NCCL's source."""

from __future__ import annotations

import re
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
    NVLS_NETWORK_S,
    NVLS_S,
    PCI_S,
    PLAIN_TREE,
    PLATEAU,
    PLATEAU_BYTES,
    RING_LL128_CHANNEL,
    TREE_CHANNEL,
    TREE_LL128_CHANNEL,
)
from tests.calibration.importers.reference import reference

US, GB = 1e-6, 1e9


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
    step = theirs["hwLatencies"]["NVLINK"]["NVLS"][2], theirs["hwLatencies"]["NET"]["NVLSTree"][2]
    assert step == pytest.approx((NVLS_S / US, NVLS_NETWORK_S / US))
    plateau = theirs["ring_simple_plateau"]
    assert f">={PLATEAU_BYTES:g}: lat *= {PLATEAU[1]:g} ({PLATEAU[0]:g} for compcap<80)" in plateau
