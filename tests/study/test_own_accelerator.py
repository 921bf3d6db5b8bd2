"""Accelerators that a study describes itself, and what is said of one that nobody describes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dse import catalog
from dse.catalog.facts import UNCHECKED
from dse.errors import StudyError
from dse.pricing.load import known_names, load
from dse.pricing.problem import Problem
from dse.study.schema import study_schema
from dse.yaml_source import read_yaml

STUDY = """\
study: own-accelerator
workload: bert-large-s128
accelerators:
  my-gpu:
    memory: 64 GB
    memory_bandwidth: 2 TB/s
    host_link: pcie5-x16
    intra_node_bandwidth: 200 GB/s
    tdp: 500 W
    peak: {fp32: 40 TFLOP/s, bf16: 400 TFLOP/s}
space:
  accelerator: [my-gpu, a100-sxm4-80gb]
  gpus: [8, 16]
  gpus_per_node: 8
  inter_node: ib-ndr
  batch_per_gpu: 32
  precision: bf16
  aggregation: auto-nccl
baseline: {accelerator: my-gpu, gpus: 8}
prices: {accelerators: {my-gpu: {purchase: 9000 USD}}}
constraints: [capital <= 2 MUSD, power <= 50 kW]
objectives: {maximize: speedup, minimize: capital}
"""
A100 = STUDY.replace("memory: 64 GB", "memory: 81920 MiB").replace("2 TB/s", "2.039 TB/s").replace(
    "pcie5-x16", "pcie4-x16").replace("200 GB/s", "300 GB/s").replace("500 W", "400 W").replace(
    "{fp32: 40 TFLOP/s, bf16: 400 TFLOP/s}",
    "{fp32: 19.5 TFLOP/s, bf16: 312 TFLOP/s, fp16: 312 TFLOP/s}\n"
    "    generation: ampere\n    compute_capability: 8\n    units: 108").replace(
    "purchase: 9000", "purchase: 17349")  # fmt: skip


def written(folder: Path, *changes: tuple[str, str], text: str = STUDY) -> Path:
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = folder / "study.yaml"
    path.write_text(text)
    return path


def both(problem: Problem, quantity: str) -> list[float]:
    """A quantity of the study's own accelerators, and of as many A100."""
    points = [{**problem.study.baseline.values, "accelerator": name}
              for name in ("my-gpu", "a100-sxm4-80gb")]  # fmt: skip
    return [float(np.ravel(problem.point(point)[quantity])[0]) for point in points]


def test_it_is_priced_like_any_other(tmp_path: Path) -> None:
    problem = load(written(tmp_path))
    own, known = both(problem, "step")
    assert 0.7 < own / known < 1.5
    assert both(problem, "capital")[0] > 8 * 9000


def test_one_with_the_numbers_of_another_takes_as_long(tmp_path: Path) -> None:
    problem = load(written(tmp_path, text=A100))
    # What was published of the A100 itself is not said of one that is like it.
    own, known = both(problem, "step")
    assert own == pytest.approx(known, rel=0.1)
    own, known = both(problem, "power")
    assert own == pytest.approx(known)


def test_its_numbers_are_sourced_as_the_study(tmp_path: Path) -> None:
    device = load(written(tmp_path)).prices.described["my-gpu"]
    assert {fact.source for fact in device.facts} == {"study.yaml"}
    assert not [fact for fact in device.facts if fact.status in UNCHECKED]
    assert (device.memory_bytes, device.power_w) == (64e9, 500)


def test_without_a_price_it_is_not_free(tmp_path: Path) -> None:
    prices = "prices: {accelerators: {my-gpu: {purchase: 9000 USD}}}\n"
    with pytest.raises(StudyError, match="12:17: my-gpu has no known purchase price"):
        load(written(tmp_path, (prices, "")))


def test_without_power_nothing_of_power_is_known(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="my-gpu has no known power"):
        load(written(tmp_path, ("    tdp: 500 W\n", "")))


PEAK = "{fp32: 40 TFLOP/s, bf16: 400 TFLOP/s}"


@pytest.mark.parametrize(
    ("old", "new", "place", "said"),
    [
        ("    memory: 64 GB\n", "", "5:5", "memory is missing"),
        ("64 GB", "64", "5:13", "64 has no unit"),
        ("64 GB", "unknown", "5:13", "memory is unknown"),
        ("64 GB", "0 GB", "5:13", "memory is 0 GB"),
        ("64 GB", "1e300 GB", "5:13", "too large"),
        ("64 GB", "64 GB\n    price: 3 USD", "6:12", "unknown key 'price'"),
        ("64 GB", "64 GB\n    prices: {purchase: [3 USD]}", "6:13", "a price is no part of"),
        ("64 GB", "64 GB\n    generation: hoper", "6:17", "generation 'hoper' is not known"),
        ("pcie5-x16", "pcie9", "7:16", "host_link 'pcie9' is no fabric"),
        ("pcie5-x16", "unknown", "7:16", "host_link"),
        (PEAK, "{bf17: 3 TFLOP/s}", "10:11", "peak is of no number format"),
        (PEAK, "{bf16: 0 TFLOP/s}", "10:18", "peak.bf16 is 0"),
        (PEAK, "{}", "10:11", "peak is of no number format"),
        ("  my-gpu:\n", "  h100:\n", "4:3", "'h100' is no name, or that of another"),
        ("  my-gpu:\n", "  H100 SXM:\n", "4:3", "'H100 SXM' is no name, or that of another"),
        ("accelerator: [my-gpu,", "accelerator: [my-gpus,", "12:17", "did you mean my-gpu?"),
        ("{my-gpu: {purch", "{my-gpo: {purch", "20:", "my-gpo: no such accelerator"),
    ],
)
def test_what_is_wrong_is_one_line(
    tmp_path: Path, old: str, new: str, place: str, said: str
) -> None:
    with pytest.raises(StudyError) as found:
        load(written(tmp_path, (old, new)))
    lines = str(found.value).splitlines()
    assert any(f"study.yaml:{place}" in line and said in line for line in lines), lines


@pytest.mark.parametrize("value", ["3", "[my-gpu]", "{my-gpu: 3}", "{my-gpu: [1]}", "text"])
def test_what_is_no_description_is_no_traceback(tmp_path: Path, value: str) -> None:
    whole = STUDY[STUDY.index("accelerators:") : STUDY.index("space:")]
    with pytest.raises(StudyError, match="is not a mapping"):
        load(written(tmp_path, (whole, f"accelerators: {value}\n"), ("2 MUSD", "2 MEUR")))


def test_the_example_of_the_docs_is_complete(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "study.md").read_text()
    text = text[text.index("### An accelerator of your own") :]
    block = text[text.index("```yaml\n") + 8 :]
    path = tmp_path / "docs.yaml"
    path.write_text(block[: block.index("```")])
    assert load(path).prices.described["my-gpu"].peak_flops_per_s["bf16"] == 400e12


def test_editors_know_its_keys() -> None:
    told = study_schema(known_names())["properties"]["accelerators"]["additionalProperties"]
    assert set(told["required"]) == {"memory", "memory_bandwidth", "host_link", "peak"}
    assert set(told["properties"]) >= {"intra_node_bandwidth", "tdp", "generation"}
    shipped = json.loads((Path(__file__).parents[2] / "docs" / "study.schema.json").read_text())
    assert "accelerators" in shipped["properties"]


def named(folder: Path, word: str) -> str:
    """What is said of a study of an accelerator of this name."""
    text = STUDY[: STUDY.index("accelerators:")] + STUDY[STUDY.index("space:") :]
    changes = [("my-gpu, a100-sxm4-80gb", word), ("accelerator: my-gpu, ", ""),
               (STUDY[STUDY.index("prices:") : STUDY.index("constraints:")], "")]  # fmt: skip
    path = written(folder, *changes, text=text)
    assert read_yaml(path).data["space"]["accelerator"] == [word]
    with pytest.raises(StudyError) as found:
        load(path)
    return str(found.value)


@pytest.mark.parametrize(
    "product",
    ["gb10", "GB 10", "dgx-spark", "mi300a", "l40", "b100", "b100-sxm", "NVIDIA H100 NVL",
     "v100-pcie", "v100-pcie-32gb", "gtx-1080-ti", "1080ti", "rtx-2080-ti", "titan-rtx", "m40",
     "p40", "gaudi2", "h30", "a5000", "rtx-5090", "mi210", "tpu-v2", "b200a",
     "a100-pcie-40gb", "nvidia-l40", "tesla-v100s"],
)  # fmt: skip
def test_no_product_is_offered_for_another_and_any_can_be_described(
    tmp_path: Path, product: str
) -> None:
    said = named(tmp_path, product)
    assert "did you mean" not in said
    assert "no such accelerator" in said
    assert "describe it below accelerators: (docs/study.md)" in said
    assert "\n" not in said
    with pytest.raises(catalog.UnknownName) as found:
        catalog.resolve("accelerators", product)
    assert not found.value.suggestions
    own = product.replace(" ", "-")
    assert own in load(written(tmp_path, text=STUDY.replace("my-gpu", own))).prices.described


@pytest.mark.parametrize(
    "network",
    ["albert-xxlarge", "jamba-1.5", "resnet18", "vgg19", "gpt4", "llama4-scout", "densenet121",
     "deberta-v3", "roberta-base", "mamba-2.8b"],
)  # fmt: skip
def test_no_network_is_offered_for_another(tmp_path: Path, network: str) -> None:
    with pytest.raises(StudyError) as found:
        load(written(tmp_path, ("workload: bert-large-s128", f"workload: {network}")))
    assert "no such workload" in str(found.value)
    assert "did you mean" not in str(found.value)


def test_why_a_desktop_is_none_is_said(tmp_path: Path) -> None:
    assert "of a desktop (NVIDIA DGX Spark), of which no clusters are built" in named(
        tmp_path, "gb10"
    )


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("h1oo", "h100-sxm"), ("h100-smx", "h100-sxm"), ("rxt-4090", "rtx-4090"),
     ("trainum2", "trainium2"), ("rtx-4090ti", "rtx-4090"), ("gh-2oo", "gh200")],
)  # fmt: skip
def test_a_slip_of_the_pen_is_told(tmp_path: Path, typed: str, meant: str) -> None:
    assert f"did you mean {meant}" in named(tmp_path, typed)


@pytest.mark.parametrize(
    ("typed", "name"),
    [("rtx4090", "rtx-4090"), ("4090", "rtx-4090"), ("RTX 4090", "rtx-4090"),
     ("NVIDIA GeForce RTX 3090", "rtx-3090"), ("a6000", "rtx-a6000"), ("A40", "a40"),
     ("6000-ada", "rtx-6000-ada"), ("rtx-pro-6000", "rtx-pro-6000-blackwell"), ("h20", "h20-sxm"),
     ("H800", "h800-sxm"), ("A800", "a800-sxm4-80gb"), ("GH200", "gh200"), ("gb300", "gb300"),
     ("MI355X", "mi355x"), ("trn2", "trainium2"), ("Trainium 2", "trainium2"),
     ("tpu-v7", "tpu-v7"), ("ironwood", "tpu-v7")],
)  # fmt: skip
def test_accelerators_are_called_as_people_type_them(typed: str, name: str) -> None:
    assert catalog.resolve("accelerators", typed) == name
    device = catalog.accelerator(name)
    assert device.peak_flops_per_s["bf16"] > 5e13
    assert device.units


def test_peaks_are_dense_and_links_of_one_direction() -> None:
    h20, h800, a800 = map(catalog.accelerator, ("h20-sxm", "h800-sxm", "a800-sxm4-80gb"))
    assert h20.peak_flops_per_s["bf16"] == 148e12
    assert h20.memory_bytes_per_s == 4e12
    assert h800.intra_node_bytes_per_s == a800.intra_node_bytes_per_s == 200e9
    assert h800.peak_flops_per_s == catalog.accelerator("h100-sxm").peak_flops_per_s
    for name in ("rtx-3090", "rtx-4090", "rtx-6000-ada", "a40"):
        assert catalog.accelerator(name).intra_node_bytes_per_s is None
        assert catalog.accelerator(name).host_link == "pcie4-x16"
