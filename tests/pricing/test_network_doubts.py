"""What to doubt of how networks are priced."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import dse
from dse.pricing.caveats import caveats
from dse.pricing.load import load
from dse.pricing.problem import Problem
from tests.calibration import library_profiles
from tests.pricing import studies
from tests.pricing.priced import problem_of

FASTER_NETWORK = """
study: three-nodes
workload: bert-base-s128
space:
  accelerator: [l40s]
  gpus: [24]
  gpus_per_node: [8]
  nics_per_node: [1]
  inter_node: [200gbe, 400gbe]
  batch_per_gpu: [8]
  precision: bf16
  aggregation: [auto-nccl]
  bucket: [1 MiB]
objectives: {maximize: speedup, minimize: capital}
baseline: {accelerator: l40s, gpus: 8, gpus_per_node: 8, batch_per_gpu: 8, aggregation: auto-nccl}
"""


def of_networks(problem: Problem) -> list[str]:
    """All but what is said of the market: these studies have old accelerators alone."""
    return [line for line in caveats(problem) if "longer sold new" not in line]


def test_networks_that_look_alike_are_warned_of(tmp_path: Path) -> None:
    unknown = replace(library_profiles.profile(layouts=((4, 4), (16, 4))), link_bytes_per_s=None)
    (said,) = of_networks(problem_of(tmp_path, studies.CAVEATS, unknown))
    assert said.startswith("Profile fabric does not say how fast the network was")
    alone = studies.CAVEATS.replace("[100gbe, 200gbe, ib-hdr]", "[100gbe]")
    assert of_networks(problem_of(tmp_path, alone, unknown)) == []
    assert (
        of_networks(problem_of(tmp_path, studies.CAVEATS, replace(unknown, link_bytes_per_s=25e9)))
        == []
    )


def test_a_share_that_was_fitted_elsewhere_is_said(tmp_path: Path) -> None:
    assert of_networks(load(studies.written(tmp_path, studies.PAPER, "paper.yaml"))) == [], (
        "inline, as fast as the link it was fitted on"
    )
    told = caveats(load(studies.written(tmp_path, studies.APPROACHES)))
    fitted = "horovod-nccl uses 62.8% of a link's bandwidth: fitted on ib-edr, assumed on 10gbe."
    assert fitted in told
    rdma = next(line for line in told if "RDMA" in line)
    assert rdma.startswith("grpc-gdr, baidu-mpi, horovod-mpi, horovod-nccl: priced with RDMA")
    assert "on 10gbe this assumes RoCE" in rdma
    span = "{bandwidth: {from: 10 Gbps, to: 40 Gbps, continuous: true}, latency: 5 us}"
    free = studies.APPROACHES.replace("inter_node: [10gbe, ib-edr]", f"inter_node: {span}")
    told = caveats(load(studies.written(tmp_path, free, "free.yaml")))
    assert fitted.replace("10gbe", "10 Gbps, 40 Gbps") in told
    one = studies.APPROACHES.replace("gpus: [1, 2, 3, 8, 24, 64]", "gpus: [1, 2]")
    one = one.replace("gpus_per_node: [1, 4]", "gpus_per_node: [2, 4]")
    one = one.replace("gpus_per_node: 1,", "gpus_per_node: 2,")
    assert of_networks(load(studies.written(tmp_path, one, "one.yaml"))) == []


def test_accelerators_that_share_a_card_which_machines_are_sold_with_several_of_are_named(
    tmp_path: Path,
) -> None:
    text = (
        studies.SMALL.replace("gpus_per_node: [1, 4]", "gpus_per_node: [1, 8]")
        .replace("v100-sxm2-16gb]", "v100-sxm2-16gb, a100-sxm4-80gb]")
        .replace("gpus_per_node: 4", "gpus_per_node: 1")
    )
    said = [line for line in caveats(load(studies.written(tmp_path, text))) if "card" in line]
    assert len(said) == 1
    for words in ("8 a100-sxm4-80gb", "8 v100-sxm2-16gb", "one network card", "DGX-1 with V100"):
        assert words in said[0]
    for other in ("gpus_per_node: [1, 4]\n  nics_per_node: [1, 8]", "gpus_per_node: [1, 2]"):
        changed = text.replace("gpus_per_node: [1, 8]", other)
        found = caveats(load(studies.written(tmp_path, changed)))
        assert not any("card" in line for line in found)


def test_that_oversubscription_was_measured_by_nobody_is_said(tmp_path: Path) -> None:
    for values, said in (("[1, 4]", 1), ("2.5", 1), ("1", 0)):
        space = studies.SMALL.replace("space:\n", f"space:\n  oversubscription: {values}\n")
        told = caveats(load(studies.written(tmp_path, space)))
        found = [line for line in told if "oversubscribed networks are" in line]
        assert len(found) == said
        assert all(f"{max(values.strip('[]').split(', '))} to 1" in line for line in found)


TREE = """\
study: tree
workload: bert-large-s512
space:
  accelerator: [a100-sxm4-80gb]
  gpus: [16]
  gpus_per_node: [8]
  nics_per_node: [2, 8]
  inter_node: [ib-ndr]
  batch_per_gpu: [16]
  precision: [fp16]
  gradient: [fp32]
  overlap: [none]
  aggregation: [tree-nccl]
objectives: {maximize: speedup, minimize: capital}
"""


def longer(text: str, folder: Path) -> list[str]:
    found = caveats(load(studies.written(folder, text)))
    return [line for line in found if "longer on" in line]


def test_a_tree_on_more_cards_is_named(tmp_path: Path) -> None:
    """NCCL's channels grow with the bandwidth, and each is filled first."""
    (line,) = longer(TREE, tmp_path)
    assert line.startswith("By tree-nccl communication takes up to ")
    assert "longer on ib-ndr with 8 cards per node than on ib-ndr with 2 cards per node, on" in line
    study = dse.load_study(tmp_path / "study.yaml")
    comm_s = study.price({"gpus": 16, "nics_per_node": [2, 8]})["comm_s"]
    assert f"up to {comm_s[1] / comm_s[0] - 1:.0%} longer" in line
    for others in ("[tree-nccl, ring-nccl]", "[tree-nccl, auto-nccl]"):
        said = longer(TREE.replace("[tree-nccl]", others), tmp_path)
        assert not [line for line in said if "tree-nccl communication" in line]
    assert longer(TREE.replace("nics_per_node: [2, 8]", "nics_per_node: [8]"), tmp_path) == []


FUSED = """\
study: fused
workload: resnet50
space:
  accelerator: [a100-sxm4-80gb]
  gpus: [64]
  gpus_per_node: [8]
  nics_per_node: [8]
  inter_node: [25gbe, 100gbe, 200gbe]
  batch_per_gpu: [128]
  precision: [fp16]
  gradient: [fp16]
  aggregation: [horovod-nccl]
  fusion_buffer: [64 MiB]
  fusion_cycle: [1 ms]
objectives: {maximize: speedup, minimize: capital}
"""


def test_a_framework_that_fuses_less_on_a_faster_network_is_named(tmp_path: Path) -> None:
    (line,) = longer(FUSED, tmp_path)
    step_s = dse.load_study(tmp_path / "study.yaml").price(
        {"inter_node": ["25gbe", "100gbe", "200gbe"]}
    )["step_s"]
    assert step_s[0] < step_s[1]
    most = step_s[1:].max() / step_s[0] - 1
    assert f"By horovod-nccl a step takes up to {most:.0%} longer on " in line
    assert "gbe than on 25gbe, on the same accelerators: " in line
    assert "A longer fusion_cycle (HOROVOD_CYCLE_TIME) joins them again" in line
    assert longer(FUSED.replace("[1 ms]", "[1 ms, 20 ms]"), tmp_path) == []


def test_a_faster_network_on_which_nccl_takes_a_dearer_algorithm_is_named(tmp_path: Path) -> None:
    def told(text: str) -> list[str]:
        found = caveats(load(studies.written(tmp_path, text)))
        return [line for line in found if "longer on" in line]

    (line,) = told(FASTER_NETWORK)
    assert line.startswith("By auto-nccl communication takes up to 68% longer on 400gbe than on 2")
    assert "Add ring-nccl to aggregation" in line
    assert told(FASTER_NETWORK.replace("[auto-nccl]", "[auto-nccl, ring-nccl]")) == []
    assert told(FASTER_NETWORK.replace("[200gbe, 400gbe]", "[200gbe]")) == []
    assert told(FASTER_NETWORK.replace("gpus: [24]", "gpus: [8, 16]")) == []
