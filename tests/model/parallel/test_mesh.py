"""Groups of ranks, against a count of the nodes that every one of them touches."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dse.model.parallel.mesh import group
from tests.model.parallel.shapes import layout

DEGREE = st.integers(1, 6)


@given(st.integers(1, 18), DEGREE, DEGREE, DEGREE)
def test_nodes_of_every_group(node: int, stride: int, ranks: int, outer: int) -> None:
    gpus = stride * ranks * outer
    firsts = (at for at in range(gpus) if (at // stride) % ranks == 0)
    touched = max(len({(at + k * stride) // node for k in range(ranks)}) for at in firsts)
    assert group(ranks, stride, node, gpus).nodes == touched


def test_order_of_ranks() -> None:
    """Tensor groups are neighbours; stages are the farthest apart."""
    mesh = layout(tensor=4, context=2, pipeline=4, data=2, node=8).mesh
    assert mesh.gpus == 64
    assert (mesh.tensors.nodes, mesh.contexts.nodes, mesh.gradients.nodes) == (1, 1, 2)
    assert mesh.gradients.ranks == 4
    assert mesh.gradients.together == 4  # two groups' ranks on a node, times two of each
    assert mesh.stages.nodes == 2
    wide = layout(tensor=16, node=8).mesh
    assert (wide.tensors.nodes, wide.tensors.inside, wide.tensors.together) == (2, 8, 1)


def test_experts_fold_over_tensor_and_data() -> None:
    mesh = layout(tensor=2, data=16, expert=8, node=8).mesh
    assert mesh.experts.nodes == 1
    assert mesh.expert_data == 4
    assert mesh.expert_gradients.nodes == 4


def test_one_rank_is_on_one_node() -> None:
    assert np.all(group(1, [1, 2, 4], 8, 64).nodes == 1)


def test_eight_tensor_ranks_never_leave_a_domain_of_72() -> None:
    mesh = layout(tensor=8, data=18, node=72).mesh
    assert mesh.gpus == 144
    assert mesh.tensors.nodes == 1
    assert mesh.gradients.nodes == 2
