"""dse.model.aggregation.parameter_server: where tensors live, and what that costs a step.

Its formulas are judged in tests/conformance, catalogue-priced and measured.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse.model.aggregation.base import Cluster
from dse.model.aggregation.composed import Software
from dse.model.aggregation.parameter_server import (
    MeasuredServers,
    ParameterServer,
    homes,
    parameter_server,
    shard_imbalance,
)
from dse.model.links import Link, StepCost
from tests.model.works import gradients_of

COST = StepCost(1e-5, (2e-10,))
SOFTWARE = Software(COST, COST, 1e-10)
GRADIENTS = gradients_of([5e6, 1e6, 1e6, 9e6], bucket_bytes=1e9)
LAYOUT = Cluster(
    np.array([[2.0], [32.0]]), np.array([[4.0]]), Link(0.0, 5e10), Link(1e-6, 1e10),
    host_bytes_per_s=1e10, servers=np.array([[1.0, 2.0, 5.0]]),
)  # fmt: skip
MEASURED = MeasuredServers((5e-4, 1e-4, 2e-10, 0.0, 3e-4, 4e-10, 0.0, 8e-4, 2e-10, 0.0))


def test_tensors_go_to_the_least_loaded_server_in_order() -> None:
    assert list(homes([5, 1, 1, 9], 2)) == [0, 1, 1, 1]
    assert shard_imbalance([5, 1, 1, 9], 2, as_created=True) == pytest.approx(11 / 8)
    assert shard_imbalance([5, 1, 1, 9], 2) == pytest.approx(9 / 8)
    assert shard_imbalance([5, 1], 1, as_created=True) == 1.0


@pytest.mark.parametrize("measured", [None, MEASURED])
@pytest.mark.parametrize("colocated", [False, True])
def test_a_step_pays_for_the_fullest_server(
    measured: MeasuredServers | None, colocated: bool
) -> None:
    """Each number of servers with the imbalance of the tensors on so many."""
    layout = replace(LAYOUT, colocated=np.array(colocated))
    model = ParameterServer(SOFTWARE, measured)
    (found,) = model.bucket_s(GRADIENTS, layout)
    message = float(GRADIENTS.message_bytes[0])
    for column, servers in enumerate((1, 2, 5)):
        skew = shard_imbalance(GRADIENTS.layer_elements, servers)
        for row, gpus in enumerate((2, 32)):
            network = SOFTWARE.network(replace(layout, gpus=np.array(float(gpus))))
            alone = parameter_server(gpus, 4, message, network, servers, colocated, skew, measured)
            assert found[row, column] == alone
    assert model.imbalance(GRADIENTS, layout).tolist() == [[1.0, 9 / 8, 9 / 16 * 5]]


def test_what_reaches_no_device_is_copied_out_and_back() -> None:
    host = replace(SOFTWARE, reaches_device=False)
    bare = replace(LAYOUT, inside=Link(0.0, np.inf))
    (copied,), (plain,) = (
        ParameterServer(host).bucket_s(GRADIENTS, LAYOUT),
        ParameterServer(SOFTWARE).bucket_s(GRADIENTS, bare),
    )
    assert copied == pytest.approx(plain + 2 * GRADIENTS.message_bytes[0] / 1e10)
