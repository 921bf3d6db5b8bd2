"""Rows of work: closed forms, the catalogue's tables of them, and what is wrong with a table."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from benchmarks import rows_of_work as command
from benchmarks.networks.convolutional import resnet, ssd300
from benchmarks.networks.transformer import gpt, transformer
from dse.catalog import models_dir, names, transformers, workload
from dse.catalog import rows_of_work as work
from dse.catalog.rows_of_work import FAMILIES, NUMBERS, Network, WorkRow
from dse.errors import StudyError

WORKLOADS = names("workloads")
SHAPES_KNOWN = [name for name in WORKLOADS if name not in command.TOTALS]
CLOSED_FORMS = (*command.CLOSED_FORMS, *command.TRANSFORMERS)


def rows_of(name: str) -> tuple[WorkRow, ...]:
    rows = workload(name).work
    assert rows is not None
    return rows


def moved(rows: tuple[WorkRow, ...], part: str) -> tuple[float, float]:
    """Fused and eager elements of the layers whose names begin so."""
    own = [row for row in rows if row.layer.startswith(part) and row.kind == work.ELEMENT_WISE]
    return sum(row.fused_elems or 0 for row in own), sum(row.eager_elems or 0 for row in own)


def scores(rows: tuple[WorkRow, ...], part: str) -> float:
    """Elements of the scores of the layers whose names begin so."""
    own = [row for row in rows if row.layer.startswith(part) and row.kind in work.ATTENTIONS]
    return sum((row.m or 0) * (row.n or 0) * (row.groups or 0) for row in own)


@pytest.mark.parametrize("name", command.TABLED)
def test_the_tables_are_what_the_command_writes(name: str, tmp_path: Path) -> None:
    command.write(name, tmp_path / "rows.csv")
    shipped = models_dir() / "workloads" / "work" / f"{name}.csv"
    assert (tmp_path / "rows.csv").read_text() == shipped.read_text()


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_has_rows_a_family_and_a_network(name: str) -> None:
    net = workload(name)
    assert net.work
    assert net.network
    assert net.family in FAMILIES


@pytest.mark.parametrize("name", SHAPES_KNOWN)
def test_rows_have_the_flops_of_their_layers(name: str) -> None:
    net = workload(name)
    flops = Counter[str]()
    for row in rows_of(name):
        flops[row.layer] += row.forward_flops
    assert sum(flops.values()) == pytest.approx(net.forward_flops, rel=1e-6)
    assert [flops[layer] for layer in net.layer_names] == pytest.approx(net.layer_forward_flops)


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_forms_give_the_layer_tables(name: str) -> None:
    net, found = workload(name), command.network(name)
    assert net.family == found.family
    assert [layer.name for layer in found.layers] == list(net.layer_names)
    assert [layer.kind for layer in found.layers] == list(net.layer_kinds)
    assert [layer.params for layer in found.layers] == list(net.layer_params)
    assert [layer.forward_flops for layer in found.layers] == list(net.layer_forward_flops)


@pytest.mark.parametrize(
    ("found", "params", "gflops"),
    [
        # Published sizes: ResNeXt-101 32x4d 44.2 M, with squeeze-and-excitation 49.0 M.
        (resnet((3, 4, 23, 3), 32, 128), 44.18e6, 15.94),
        (resnet((3, 4, 23, 3), 32, 128, squeeze=True), 48.96e6, 15.95),
        # BART large, 406 M.
        (transformer(1024, 12, 16, 4096, 50265, 128, 128, 1026), 406.3e6, 105.8),
        # MPT 1B.
        (gpt(2048, 24, 16, 50368, 2048, bias=False), 1.315e9, 6195),
        (ssd300(), 22.9e6, 40.3),
        # BERT large with a head for questions.
        (transformers.encoder(1024, 24, 16, 4096, 30522, 384), 334.1e6, 246.4),
    ],
)
def test_networks_that_are_not_in_the_catalogue(
    found: Network, params: float, gflops: float
) -> None:
    assert found.params == pytest.approx(params, rel=1e-3)
    assert found.forward_flops / 1e9 == pytest.approx(gflops, rel=1e-3)
    assert {row.layer for row in found.rows} <= {layer.name for layer in found.layers}


def test_what_a_block_of_bert_moves() -> None:
    """Halfway between fused and eager: 71.5 h + 13 a s a token, counted by hand."""
    h, f, a, s = 768, 3072, 12, 128
    rows = rows_of("bert-base-s128")
    fused, eager = moved(rows, "layer3.")
    norms, residuals, gelu, transposes, biases = 2 * 11 * h, 2 * 11 * h, 9 * f, 16 * h, 5 * h + f
    assert fused / s == 2 * 5 * h + 2 * 4 * h + 5 * f
    assert eager / s == norms + residuals + gelu + transposes + biases
    assert scores(rows, "layer3.") / s == a * s
    halfway = (fused + eager) / 2 + scores(rows, "layer3.") * (7 + 19) / 2
    assert halfway / s == 71.5 * h + 13 * a * s


def test_what_a_block_of_llama_moves() -> None:
    """Keys and values have a quarter of the heads; f = 3.5 h: 51 h to 205 h a token."""
    h, kv, f, s = 4096, 1024, 14336, 8192
    fused, eager = moved(rows_of("llama3-8b"), "layer7.")
    assert fused / s == 2 * 5 * h + 2 * 4 * h + 8 * f + 4 * (h + kv)
    assert eager / s == 2 * 46 * h + 2 * 6 * h + 13 * f + 20 * (h + kv) + 8 * (h + kv)
    assert fused / s / h == 51
    assert eager / s / h == pytest.approx(184.5)
    assert scores(rows_of("llama3-8b"), "layer7.") == 32 * s * s


def test_decoders_are_causal_but_for_attention_across() -> None:
    kinds = {name: {row.kind for row in rows_of(name)} for name in ("gpt3-13b", "bert-base-s512")}
    assert work.CAUSAL_ATTENTION in kinds["gpt3-13b"]
    assert work.ATTENTION not in kinds["gpt3-13b"]
    assert work.CAUSAL_ATTENTION not in kinds["bert-base-s512"]
    cross = [row for row in rows_of("t5-3b") if row.layer == "dec5.cross.q.w" and row.n == 512]
    assert [(row.kind, row.m, row.k, row.groups) for row in cross[1:]] == []
    assert (cross[0].kind, cross[0].m, cross[0].k, cross[0].groups) == (
        work.ATTENTION,
        114,
        128,
        32,
    )


# Memory traffic of a step in bytes, with the update of the weights: the six case studies' totals.
PAI_TRAFFIC = {
    "pai-bert": 107.3e9,
    "pai-gcn": 25.79e9,
    "pai-multi-interests": 100.4e9,
    "pai-nmt": 101.6e9,
    "pai-resnet50": 31.9e9,
    "pai-speech": 20.4e9,
}


@pytest.mark.parametrize("name", PAI_TRAFFIC)
def test_case_studies_move_what_they_are_known_to_move(name: str) -> None:
    rows, batch = rows_of(name), command.TOTALS[name]
    assert {row.kind for row in rows} == {work.ELEMENT_WISE}
    assert all(row.fused_elems == row.eager_elems for row in rows)
    passes = 4 * batch * sum(row.fused_elems or 0 for row in rows)
    momentum = 20 * workload(name).params  # gradient read; weights and momentum read and written
    assert passes + momentum == pytest.approx(PAI_TRAFFIC[name], rel=1e-3)


@pytest.mark.parametrize("name", WORKLOADS)
def test_rows_have_the_numbers_of_their_kind(name: str) -> None:
    for row in rows_of(name):
        given = {key for keys in NUMBERS.values() for key in keys if getattr(row, key) is not None}
        assert given == set(NUMBERS[row.kind])


FIRST = "f.0,convolution,3025,"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("layer,kind", "name,kind", ":1:1: is not a table of rows of work; use layer,kind,m,n"),
        ("f.0,", "f.00,", ":2:1: no layer 'f.00' in the layer table; did you mean f.0?"),
        ("f.0,convolution", "f.0,conv", ":2:1: kind 'conv'; write product or convolution or"),
        (FIRST, "f.0,convolution,,", ":2:1: a row of convolution with n, k, groups, steps, input"),
        (FIRST, "f.0,convolution,many,", ":2:1: m: 'many' is not a quantity"),
        (FIRST, "f.0,convolution,-1,", ":2:1: m is '-1'; write a number of at least 0"),
        (FIRST, "f.0,convolution,inf,", ":2:1: m: inf is not a finite number"),
        (FIRST, "f.0,product,3025,", "steps, input_elems; write m, n, k, groups, steps"),
        (FIRST, "f.0,convolution,,3025,", ":2:1: a row of convolution with n, k, groups"),
    ],
)
def test_a_wrong_table_of_work_is_told(own_models: Path, old: str, new: str, message: str) -> None:
    path = own_models / "workloads" / "work" / "alexnet.csv"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(StudyError) as caught:
        workload("alexnet")
    assert str(caught.value).startswith(f"{path}:")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("work: work/alexnet.csv", "work: work/none.csv", "write 'work:' relative to the workload"),
        ("family: convolutional", "family: cnn", "family 'cnn'; write encoder or decoder or"),
    ],
)
def test_a_wrong_family_and_a_missing_table_are_told(
    own_models: Path, old: str, new: str, message: str
) -> None:
    path = own_models / "workloads" / "alexnet.yaml"
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(StudyError) as caught:
        workload("alexnet")
    assert message in str(caught.value)


def test_rows_of_work_may_be_left_out(own_models: Path) -> None:
    path = own_models / "workloads" / "alexnet.yaml"
    lines = path.read_text().splitlines()
    left = [line for line in lines if not line.startswith(("work:", "family:", "network:"))]
    path.write_text("\n".join(left))
    net = workload("alexnet")
    assert (net.work, net.family, net.network) == (None, "other", "alexnet")
