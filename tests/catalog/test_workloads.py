from __future__ import annotations

import numpy as np
import pytest

from dse.catalog import gradient_tensors, names, resolve, workload


def test_resnet50() -> None:
    net = workload("resnet50")
    assert net.params == 25_557_032
    assert net.gradient_tensors == 161
    assert net.input_bytes == 3 * 224 * 224
    assert net.activation_bytes == 2 * np.nansum(net.layer_saved_elems)
    assert net.layer_names[0] == "stem.0"


@pytest.mark.parametrize("word", ["vit", "vit-b", "ViT-Base", "vit_b_16", "ViT-B/16"])
def test_vit_by_hand(word: str) -> None:
    """86.6 million parameters and 17.6 billion multiply-adds, as published."""
    net, h, tokens = workload(resolve("workloads", word)), 768, 196 + 1
    block = 4 * (h * h + h) + (h * 4 * h + 4 * h) + (4 * h * h + h) + 4 * h
    embedding = (16 * 16 * 3 * h + h) + h + tokens * h
    assert net.params == 12 * block + embedding + 2 * h + (h * 1000 + 1000) == 86_567_656
    multiply_adds = 12 * (12 * h * h * tokens + 2 * tokens**2 * h) + 196 * h * h + 1000 * h
    assert net.forward_flops == 2 * multiply_adds
    assert multiply_adds == pytest.approx(17.56e9, rel=1e-3)
    assert net.input_bytes == 3 * 224 * 224
    assert net.decoded


def test_what_a_table_does_not_say_is_nan() -> None:
    net = workload("bert-base-s128")
    assert np.isnan(net.layer_saved_elems).all()
    assert np.isnan(net.layer_output_elems).all()


def test_activations_of_tables_without_them_are_unknown() -> None:
    assert workload("t5-base").activation_bytes is None
    assert workload("gnmt-v2").activation_bytes is None


def test_a_tied_output_projection_costs_time_where_it_runs() -> None:
    net = workload("gpt2-124m")
    assert net.layer_forward_flops[0] == 0
    assert net.layer_names[-1] == "head.tied"
    assert net.layer_params[-1] == 0
    assert net.layer_forward_flops[-1] == 2 * 50257 * 768 * 1024


def test_scores_left_out_need_less_memory() -> None:
    net = workload("llama2-7b")
    assert net.activation_bytes is not None
    assert net.activation_bytes_without_scores is not None
    assert net.activation_bytes_without_scores < net.activation_bytes


@pytest.mark.parametrize("name", names("workloads"))
def test_gradient_tensors_are_as_many_as_the_network_has(name: str) -> None:
    net = workload(name)
    elements, layer = gradient_tensors(net)
    assert net.gradient_tensors in (len(elements), None)
    assert np.bincount(layer, elements, len(net.layer_params)) == pytest.approx(net.layer_params)
    assert (np.diff(layer) >= 0).all()


def test_scale_and_shift_and_a_bias_are_tensors_of_their_own() -> None:
    elements, layer = gradient_tensors(workload("resnet50"))
    assert list(elements[:3]) == [9408, 64, 64], "a convolution, its normalisation"
    assert list(elements[-2:]) == [2048 * 1000, 1000]
    assert list(layer[:3]) == [0, 1, 1]
    elements, layer = gradient_tensors(workload("vgg16"))
    assert list(elements[:4]) == [1728, 64, 36864, 64], "convolutions and their biases"
    assert list(layer[:4]) == [0, 0, 2, 2]
