"""Words that stand for names: what they mean, and that nothing else follows from them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dse import catalog
from dse.errors import StudyError
from dse.pricing.load import known_names
from dse.spelling import same
from dse.study import AXES, QUANTITIES, Study, read_study
from dse.study.cursor import Cursor
from dse.study.values import assigned, read_value
from dse.yaml_source import parse_yaml

NAMED = """\
study: named
workload: bert-large-s512
calibration: {ib-hdr: polaris-ofi, 100gbe: polaris-tcp}
space:
  accelerator: [a100-sxm4-80gb, h100-sxm]
  gpus: [8, 16]
  gpus_per_node: 8
  inter_node: [100gbe, ib-hdr, {bandwidth: 300 Gbps, latency: 5 us, fabric: ib-ndr}]
  batch_per_gpu: 32
  precision: [bf16, fp32]
  optimizer: adam
  aggregation: [auto-nccl, ps-grpc]
when:
  - {axis: ps_placement, values: [dedicated, colocated], if: {aggregation: ps-grpc}}
baseline: {accelerator: a100-sxm4-80gb, inter_node: 100gbe, aggregation: auto-nccl}
constraints: ["capital <= 2 MUSD", "capital / gpus <= 90 kUSD", fits_memory]
objectives: {maximize: speedup, minimize: [capital, power]}
prices: {accelerators: {h100-sxm: {purchase: 27 kUSD}}, nodes: {dgx-h100: {purchase: 300 kUSD}}}
owned: {accelerator: a100-sxm4-80gb, gpus: 8, gpus_per_node: 8, inter_node: 100gbe}
"""
TYPED = """\
study: named
workload: BERT-large
calibration: {HDR: polaris-ofi, 100G: polaris-tcp}
space:
  accelerator: [A100, h100]
  gpus: [8, 16]
  gpus_per_node: 8
  inter_node: [100G, IB_HDR, {bandwidth: 300 Gbps, latency: 5 us, fabric: NDR}]
  batch_per_gpu: 32
  precision: [BF16, float32]
  optimizer: AdamW
  aggregation: [nccl, PS]
when:
  - {axis: ps_placement, values: [Dedicated, colocated], if: {aggregation: ps}}
baseline: {accelerator: "A100 SXM4 80GB", inter_node: 100 GbE, aggregation: NCCL}
constraints: ["budget <= 2 MUSD", "Cost / GPUs <= 90 kUSD", fits-memory]
objectives: {maximize: speed, minimize: [cost, Power]}
prices: {accelerators: {H100: {purchase: 27 kUSD}}, nodes: {DGX-H100: {purchase: 300 kUSD}}}
owned: {accelerator: a100, gpus: 8, gpus_per_node: 8, inter_node: 100g}
"""


def read(folder: Path, text: str) -> Study:
    path = folder / "study.yaml"
    path.write_text(text)
    return read_study(path, known_names())


def test_a_study_of_aliases_is_the_study_of_the_names(tmp_path: Path) -> None:
    named, typed = read(tmp_path, NAMED), read(tmp_path, TYPED)
    assert typed.source.data == named.source.data
    assert replace(typed, source=named.source, constraints=()) == replace(named, constraints=())
    assert [one.text for one in typed.constraints] == [one.text for one in named.constraints]
    assert typed.content_hash == named.content_hash
    assert named.told == ()
    assert [one.partition(" here")[0] for one in typed.told[:2]] == [
        "BERT-large means bert-large-s512", "A100 means a100-sxm4-80gb"
    ]  # fmt: skip


def test_a_value_of_one_point_may_be_an_alias(tmp_path: Path) -> None:
    study, names = read(tmp_path, NAMED), known_names()
    assert assigned(study, "accelerator=H100", names) == ("accelerator", "h100-sxm")
    assert assigned(study, "inter_node=100 GbE", names) == ("inter_node", "100gbe")
    assert assigned(study, "aggregation=nccl", names) == ("aggregation", "auto-nccl")
    assert assigned(study, "precision=FP16", names) == ("precision", "fp16")


def test_a_mistake_is_told_where_the_alias_stands(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"study\.yaml:5:23: .*duplicate value 'a100-sxm4-80gb'"):
        read(tmp_path, NAMED.replace("[a100-sxm4-80gb, h100-sxm]", "[a100-sxm4-80gb, A100]")
             .replace("a100-sxm4-80gb, A100", "a100, a100-sxm4-80gb"))  # fmt: skip
    with pytest.raises(StudyError, match=r"study\.yaml:16:15: .*'capital' is in USD"):
        read(tmp_path, NAMED.replace("capital <= 2 MUSD", "budget <= 2 kW"))


def test_a_price_list_is_of_what_can_be_meant_alone(tmp_path: Path) -> None:
    path = tmp_path / "offer.yaml"
    path.write_text("accelerators: {H200: {purchase: 30 kUSD}}\nfabrics: {HDR: {nic: 900 USD}}\n")
    found = catalog.read_prices(path)
    assert found.accelerator_usd["h200-sxm"].value == 30_000
    assert found.fabric_usd["ib-hdr"]["nic"].value == 900
    path.write_text("accelerators: {H100: {purchase: 30 kUSD}}\n")
    with pytest.raises(StudyError, match="did you mean h100-sxm or h100-pcie"):
        catalog.read_prices(path)
    table = tmp_path / "offer.csv"
    table.write_text("item,price\nH200,30000 USD\n100G nic,300 USD\n")
    found = catalog.read_prices(table)
    assert found.accelerator_usd["h200-sxm"].value == 30_000
    assert found.fabric_usd["100gbe"]["nic"].value == 300


@pytest.mark.parametrize(
    ("kind", "word", "name"),
    [
        ("accelerators", "a100", "a100-sxm4-80gb"),
        ("accelerators", "H100 PCIe", "h100-pcie"),
        ("fabrics", "100G", "100gbe"),
        ("fabrics", "InfiniBand HDR", "ib-hdr"),
        ("workloads", "ResNet-50", "resnet50"),
        ("workloads", "bert_large", "bert-large-s512"),
        ("nodes", "DGX A100", "dgx-a100-80gb"),
        ("regions", "Iowa", "iowa"),
        ("accelerators", "NVIDIA H100 80GB HBM3", "h100-sxm"),  # as nvidia-smi has it
        ("accelerators", "NVIDIA A100-SXM4-40GB", "a100-sxm4-40gb"),
        ("accelerators", "Tesla V100-SXM2-16GB", "v100-sxm2-16gb"),
        ("nodes", "Standard_ND96isr_H100_v5", "azure-nd96isr-h100-v5"),
        ("workloads", "bert-large-uncased", "bert-large-s512"),
        ("workloads", "meta-llama/Llama-3.1-8B", "llama3.1-8b"),
    ],
)
def test_what_a_word_means(kind: str, word: str, name: str) -> None:
    assert catalog.resolve(kind, word) == name


def test_every_alias_means_something_that_is_known() -> None:
    names = known_names()
    known = {
        "aggregations": names.aggregations,
        "quantities": QUANTITIES,
        **{axis: spec.choices for axis, spec in AXES.items() if spec.kind == "choice"},
    }
    for kind, words in catalog.aliases().items():
        entries = known.get(kind) or catalog.names(kind)
        plain = {same(name): name for name in entries}
        assert len(plain) == len(entries), kind  # no two names are one in another spelling
        for word, meanings in words.items():
            assert set(meanings) <= set(entries), word
            assert len(set(meanings)) == len(meanings), word
            assert word not in plain, f"{word} is a name of its own"


def test_an_alias_tells_of_every_name_that_begins_with_it() -> None:
    for kind in ("accelerators", "workloads"):
        for word, meanings in catalog.aliases()[kind].items():
            begin = {name for name in catalog.names(kind) if same(name).startswith(word)}
            assert begin <= {*meanings} or word in ("gpt2", "resnet", "h20"), word


@pytest.mark.parametrize("written", ["100", "'100'"])
def test_a_bare_speed_is_told_both_ways_to_say_it(written: str, tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(NAMED.replace("inter_node: [100gbe, ", f"inter_node: [{written}, ", 1))
    with pytest.raises(StudyError) as found:
        read_study(path, known_names())
    assert "inter_node: 100 has no unit; write 100gbe for Ethernet, or {bandwidth: 100 Gbps" in str(
        found.value
    )


@pytest.mark.parametrize("axis", ["accelerator", "node"])
def test_every_name_and_alias_of_the_catalogue_is_found(axis: str) -> None:
    names, kind = known_names(), AXES[axis].names
    words = {name: (name,) for name in catalog.names(kind)} | catalog.aliases().get(kind, {})
    for word, (meant, *_) in words.items():
        source = parse_yaml(f"{axis}: '{names.real(kind, word)}'\n", "study.yaml")
        assert read_value(AXES[axis], Cursor(source, (axis,)), names) == (meant, meant)
