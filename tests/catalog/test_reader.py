"""Mistakes in a catalogue file: one line with file, line and remedy."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dse.catalog import accelerator, approach, node, transport, workload
from dse.errors import StudyError


def change(folder: Path, file: str, old: str, new: str) -> None:
    path = folder / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("value: 16 GB", "value: 16 GBps", "t4.yaml:3:9: '16 GBps' has the wrong unit"),
        ("value: 16 GB", "value: 16", "t4.yaml:3:9: 16 has no unit"),
        ("value: 16 GB", "value: -16 GB", "t4.yaml:3:9: -16 GB is negative"),
        ("memory: {value: 16 GB, source: epoch-chips}", "memory: 16 GB", "has no source"),
        ("source: epoch-chips", "source: epoch-chip", "did you mean epoch-chips?"),
        ("source: epoch-chips", "sauce: epoch-chips", "unknown key 'sauce' in memory"),
        ("memory: ", "memroy: ", "memory is missing"),
        ("title: ", "notse: hello\ntitle: ", "unknown key 'notse'; did you mean notes?"),
        ("status: unverified", "status: guess", "status 'guess'; write sourced or derived"),
        (
            "name: t4",
            "name: t4\nname: t4",
            "duplicate key 'name', first on line 1; keep one of them",
        ),
        ("peak:", "peak: 3\npaek:", "peak is not a mapping"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_line(
    own_models: Path, old: str, new: str, message: str
) -> None:
    change(own_models, "accelerators/t4.yaml", old, new)
    with pytest.raises(StudyError) as caught:
        accelerator("t4")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.line > 0


def test_a_node_without_an_accelerator_is_told(own_models: Path) -> None:
    change(own_models, "nodes/dgx-2.yaml", "value: v100-sxm2-32gb", "value: unknown")
    with pytest.raises(StudyError, match="a node needs its accelerator"):
        node("dgx-2")


@pytest.mark.parametrize("kind", ["transports/mpi.yaml", "approaches/grpc.yaml"])
@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("copy", "0 GB/s", "copy is 0; write a number above 0"),
        ("copy", "unknown", "copy is unknown; nothing can be predicted without it"),
        ("link_efficiency", "0", "link_efficiency is 0; write a number above 0"),
    ],
)
def test_what_is_divided_by_is_above_zero(
    own_models: Path, kind: str, key: str, value: str, message: str
) -> None:
    path = own_models / kind
    changed = re.sub(f"{key}: {{value: [^,]*", f"{key}: {{value: {value}", path.read_text())
    path.write_text(changed)
    with pytest.raises(StudyError, match=message):
        (transport if kind.startswith("transports") else approach)(path.stem)


def test_a_total_that_disagrees_with_its_layers_is_told(own_models: Path) -> None:
    change(own_models, "workloads/alexnet.yaml", "value: 61100840", "value: 62100840")
    with pytest.raises(StudyError, match="the layers add up to"):
        workload("alexnet")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("layer,kind", "name,kind", "is not a layer table"),
        (",23296,", ",many,", "csv:2:1: params: 'many' is not a quantity"),
        (",23296,", ",,", "csv:2:1: params and forward_flops may not be empty"),
    ],
)
def test_a_wrong_layer_table_is_told(own_models: Path, old: str, new: str, message: str) -> None:
    change(own_models, "workloads/layers/alexnet.csv", old, new)
    with pytest.raises(StudyError) as caught:
        workload("alexnet")
    assert message in str(caught.value)


def test_a_users_own_file_may_leave_out_sources(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "name: mine\ntitle: My card\nmemory: 24 GB\nmemory_bandwidth: 1 TB/s\n"
        "intra_node_bandwidth: unknown\nhost_link: pcie4-x16\ntdp: 300 W\n"
        "peak: {fp16: 100 TFLOP/s}\nprices: {purchase: [1500 USD]}\n"
    )
    mine = accelerator(path)
    assert mine.memory_bytes == 24e9
    assert mine.intra_node_bytes_per_s is None
    assert {fact.source for fact in mine.facts} == {"mine.yaml"}
