"""Rows of work of the catalogue as arrays for the model."""

from __future__ import annotations

import pytest

from dse.catalog import names, workload
from dse.pricing.network import model_work


@pytest.mark.parametrize("name", names("workloads"))
def test_the_models_rows_have_the_flops_of_the_workload(name: str) -> None:
    net = workload(name)
    work = model_work(net)
    assert work is not None
    flops = work.products.forward_flops.sum() + work.attention.forward_flops.sum()
    known = 0.0 if name.startswith("pai-") else net.forward_flops
    assert flops == pytest.approx(known, rel=1e-6)
    assert work.moved.eager_elems.sum() >= work.moved.fused_elems.sum() > 0


def test_rows_know_their_layer() -> None:
    net = workload("llama3-8b")
    work = model_work(net)
    assert work is not None
    assert net.layer_names[work.products.layer[-1]] == "lm_head.w"
    assert [net.layer_names[at] for at in work.attention.layer[:2]] == ["layer0.q.w", "layer1.q.w"]
    assert (work.attention.unmasked == 0.5).all()
    assert work.attention.head_size[0] == 128
    assert not work.products.convolution.any()


def test_convolutions_know_what_they_read_and_encoders_mask_nothing() -> None:
    images, text = model_work(workload("vgg16")), model_work(workload("bert-base-s128"))
    assert images is not None
    assert text is not None
    assert (~images.products.convolution).sum() == 3, "three linear layers"
    assert images.attention.queries.shape == (0,)
    assert (text.attention.unmasked == 1.0).all()
