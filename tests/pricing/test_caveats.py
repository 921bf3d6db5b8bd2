"""dse.pricing.caveats: what a study asks for that nothing can tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dse.calibration import Profile
from dse.calibration.throughput_part import Throughput
from dse.pricing.caveats import caveats, unsupported
from dse.pricing.load import load
from dse.pricing.problem import Problem
from tests.calibration import library_profiles, server_profiles
from tests.pricing import studies

STUDY = studies.CAVEATS
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


def problem_of(folder: Path, profile: Profile, study: str = STUDY) -> Problem:
    path = library_profiles.written(folder, profile)
    return load(studies.written(folder, f"{study}calibration: [{path}]\n"))


def of_networks(problem: Problem) -> list[str]:
    """All but what is said of the market: these studies have old accelerators alone."""
    return [line for line in caveats(problem) if "longer sold new" not in line]


def test_networks_that_look_alike_are_warned_of(tmp_path: Path) -> None:
    unknown = replace(library_profiles.profile(layouts=((4, 4), (16, 4))), link_bytes_per_s=None)
    (said,) = of_networks(problem_of(tmp_path, unknown))
    assert said.startswith("Profile fabric does not say how fast the network was")
    alone = STUDY.replace("[100gbe, 200gbe, ib-hdr]", "[100gbe]")
    assert of_networks(problem_of(tmp_path, unknown, alone)) == []
    assert of_networks(problem_of(tmp_path, replace(unknown, link_bytes_per_s=25e9))) == []


def test_an_algorithm_that_nccl_does_not_have_is_said(tmp_path: Path) -> None:
    def told(names: str) -> list[str]:
        text = studies.SMALL.replace("[ring-mpi,", f"[{names}, ring-mpi,")
        found = caveats(load(studies.written(tmp_path, text)))
        return [line for line in found if line.startswith("NCCL has no allreduce by ")]

    assert told("ring-nccl, tree-nccl, hierarchical-nccl, auto-nccl") == []
    (line,) = told("recursive-doubling-nccl, halving-doubling-nccl, ring-nccl")
    assert line.startswith(
        "NCCL has no allreduce by halving-doubling and recursive-doubling: the time of "
        "halving-doubling-nccl and recursive-doubling-nccl is "
    )


def test_a_precision_that_an_accelerator_lacks_is_named(tmp_path: Path) -> None:
    study = STUDY.replace("[fp32, fp16]", "[fp32, bf16]")
    (said,) = unsupported(problem_of(tmp_path, library_profiles.one_node(), study))
    assert said == (
        "The catalogue has no speed in bf16 for p100-sxm2-16gb (not supported, or not known); "
        "these points are left out."
    )


def test_a_profile_that_prices_nothing_of_the_study_is_said(tmp_path: Path) -> None:
    forced = STUDY.replace("[auto-nccl, ring-nccl]", "[ring-mpi, ps-grpc]").replace(
        "aggregation: auto-nccl", "aggregation: ring-mpi"
    )
    problem = problem_of(tmp_path, library_profiles.theirs("theirs"), forced)
    assert any("prices nothing here" in text for text in caveats(problem))
    used = problem_of(tmp_path, library_profiles.theirs("theirs"))
    assert not any("prices nothing here" in text for text in caveats(used))


def test_a_profile_of_computing_elsewhere_is_said(tmp_path: Path) -> None:
    def said(device: str) -> list[str]:
        part = server_profiles.compute_part(device=device)
        profile = server_profiles.profile(name="fast", transport="none", ps={}, compute=(part,))
        return [text for text in caveats(problem_of(tmp_path, profile)) if "fast" in text]

    (line,) = said("cpu")
    assert line.startswith("Profile ")
    assert "prices nothing here: it measured products on cpu, and the study is of " in line
    assert said("NVIDIA A100-SXM4-40GB") == []


def test_rates_of_another_kind_of_network_elsewhere_are_said(tmp_path: Path) -> None:
    def said(workload: str, accelerator: str) -> list[str]:
        rate = Throughput(workload, accelerator, "fp16", "vendor", 32.0, 100.0)
        profile = server_profiles.profile(name="ours", transport="none", ps={}, throughput=(rate,))
        found = caveats(problem_of(tmp_path, profile))
        return [text for text in found if "prices nothing here" in text]

    (line,) = said("gnmt-v2", "h100-sxm")
    assert "it measured gnmt-v2 on h100-sxm, and the study is of " in line
    assert said("gnmt-v2", "a100-sxm4-40gb") == []
    assert said("resnet50", "h100-sxm") == []


@pytest.mark.parametrize(
    ("accelerators", "cost", "said"),
    [
        ("[a100-sxm4-40gb, v100-sxm2-32gb]", "capital", True),
        ("[a100-sxm4-40gb, v100-sxm2-32gb]", "power", False),
        ("[a100-sxm4-40gb, p100-sxm2-16gb]", "capital", False),
        ("[v100-sxm2-32gb]", "capital", False),
    ],
)
def test_prices_with_and_without_a_host_are_told_apart(
    tmp_path: Path, accelerators: str, cost: str, said: bool
) -> None:
    text = STUDY.replace("[a100-sxm4-40gb, p100-sxm2-16gb]", accelerators)
    text = text.replace("minimize: capital", f"minimize: {cost}").replace("auto-nccl", "ring-mpi")
    found = [
        line for line in caveats(load(studies.written(tmp_path, text))) if "of the server" in line
    ]
    assert found == [
        "The price of v100-sxm2-32gb already contains its part of the server. For "
        "a100-sxm4-40gb a server of USD 20,000 per node is added."
    ] * said  # fmt: skip


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


def test_axes_of_tensor_fusion_are_named_as_not_seen(tmp_path: Path) -> None:
    conditions = "".join(
        f"  - {{axis: {axis}, values: [{values}], if: {{aggregation: horovod-mpi}}}}\n"
        for axis, values in (("fusion_buffer", "1 MiB, 2 MiB"), ("fusion_cycle", "1 ms, 5 ms"))
    )
    text = studies.CLOSED.replace(
        "ps-grpc, ps-mpi]\n  bucket: [1 MiB, 400 MiB]", "ps-grpc, horovod-mpi]"
    )
    text = text.replace("[ps-grpc, ps-mpi]", "ps-grpc").replace("when:\n", f"when:\n{conditions}")
    told = caveats(load(studies.written(tmp_path, text)))
    unseen = "fusion_buffer and fusion_cycle and ps_servers"
    paid = "; dedicated servers still cost money"
    assert f"In model pai {unseen} do not change the step{paid}." in told


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
