"""Studies of NCCL that no profile has measured."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import dse
from dse.catalog import Tier
from dse.model.aggregation.composed import Composed
from dse.model.aggregation.nccl import NCCL_ALGORITHMS, NcclAllreduce
from dse.model.aggregation.nccl_tuner import LL, RING, tuner_of
from dse.pricing.aggregations import Factory
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.study import AggregationName
from tests.pricing import priced, studies

STUDY = """\
study: of-nccl
workload: resnet50
space:
  accelerator: [a100-sxm4-80gb]
  gpus: [2, 16, 64]
  gpus_per_node: [1, 8]
  inter_node: [100gbe, ib-hdr]
  batch_per_gpu: [32]
  aggregation: [ring-nccl, tree-nccl, hierarchical-nccl, auto-nccl, ring-nccl-tcp, ring-gloo]
baseline: {gpus: 16, gpus_per_node: 8, inter_node: 100gbe, aggregation: ring-nccl}
objectives: {maximize: throughput, minimize: power}
"""


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    return load(studies.written(tmp_path_factory.mktemp("nccl"), STUDY))


@pytest.mark.parametrize("transport", ["nccl", "nccl-tcp"])
@pytest.mark.parametrize("algorithm", NCCL_ALGORITHMS)
def test_algorithms_of_nccl_cost_what_they_do_in_nccl(algorithm: str, transport: str) -> None:
    model = Factory({})(AggregationName(algorithm, transport)).model
    assert model == NcclAllreduce(algorithm)


@pytest.mark.parametrize(
    ("algorithm", "transport"),
    [("halving-doubling", "nccl"), ("ring", "gloo"), ("tree", "mpi-gdr")],
)
def test_all_others_are_sums_of_messages(algorithm: str, transport: str) -> None:
    assert isinstance(Factory({})(AggregationName(algorithm, transport)).model, Composed)


def test_a_card_and_nvlink_have_efficiencies_of_their_own(problem: Problem) -> None:
    points = problem.points_at(priced.point(problem))
    tiers = points.summing.transport.within, points.summing.transport.across
    assert all(isinstance(tier, Tier) for tier in tiers)
    assert (points.inside_efficiency, points.across_efficiency) == (0.78, 0.9)
    assert np.ravel(points.inside.bytes_per_s) == pytest.approx([300e9 * 0.78])
    assert np.ravel(points.across.bytes_per_s) == pytest.approx([12.5e9 * 0.9])


def test_sockets_are_several_times_slower_than_rdma(problem: Problem) -> None:
    rdma, tcp = (
        priced.comm_s(problem, aggregation=f"ring-{over}", gpus=64) for over in ("nccl", "nccl-tcp")
    )
    assert 3 < tcp / rdma < 6


def test_one_node_needs_no_network(tmp_path: Path, problem: Problem) -> None:
    """A study that names none, since all that train are in one node."""
    text = STUDY.replace("  inter_node: [100gbe, ib-hdr]\n", "").replace(", 16, 64]", ", 8]")
    text = text.replace("gpus: 16", "gpus: 8").replace("inter_node: 100gbe, ", "")
    text = text.replace("[1, 8]", "[8]")
    alone = load(studies.written(tmp_path, text))
    for name in ("ring-nccl", "tree-nccl", "auto-nccl"):
        with_network = priced.comm_s(problem, gpus=8, aggregation=name)
        assert priced.comm_s(alone, aggregation=name) == with_network > 0


FASTER = """\
study: faster
workload: bert-large-s512
space:
  accelerator: [l40s, a100-sxm4-80gb, h100-sxm]
  gpus: [16, 24, 64]
  gpus_per_node: [8]
  nics_per_node: [1, 2, 8]
  inter_node: {bandwidth: [50 Gbps, 100 Gbps, 200 Gbps, 400 Gbps], latency: 2 us}
  batch_per_gpu: [8]
  gradient: [fp32]
  overlap: [none]
  aggregation: [tree-nccl, ring-nccl, auto-nccl, auto-nccl-tcp]
  bucket: [1 MiB, 4 MiB, 25 MiB]
objectives: {maximize: throughput, minimize: power}
"""


def test_a_study_has_no_faster_network_that_takes_longer(tmp_path: Path) -> None:
    """Three nodes of L40S took 68 % longer at 400 Gbps than at 200."""
    studies.written(tmp_path, FASTER)
    study = dse.load_study(tmp_path / "study.yaml")
    links = [f"{rate} Gbps" for rate in (50, 100, 200, 400)]
    for device, gpus, name, bucket in product(
        ("l40s", "a100-sxm4-80gb", "h100-sxm"),
        (16, 24, 64),
        ("tree-nccl", "auto-nccl", "auto-nccl-tcp"),
        ("1 MiB", "25 MiB"),
    ):
        points = {"accelerator": device, "gpus": gpus, "aggregation": name, "bucket": bucket,
                  "nics_per_node": np.repeat([1, 2, 8], 4), "inter_node": links * 3}  # fmt: skip
        comm_s = np.reshape(study.price(points)["comm_s"], (3, 4))
        assert np.all(np.diff(comm_s, axis=0) <= 1e-12 * comm_s[1:])
        assert np.all(np.diff(comm_s, axis=1) <= 1e-12 * comm_s[:, 1:])


def test_ll128_does_not_pass_the_bridge_of_the_host(tmp_path: Path) -> None:
    """Slingshot's cards, also of a link with its name, against as fast a link of no fabric."""
    rates = "bandwidth: 200 Gbps, latency: 2 us"
    links = f"[{{{rates}}}, {{fabric: slingshot-11, {rates}}}, slingshot-11]"
    text = FASTER.replace(
        "{bandwidth: [50 Gbps, 100 Gbps, 200 Gbps, 400 Gbps], latency: 2 us}", links
    )
    studies.written(tmp_path, text)
    study = dse.load_study(tmp_path / "study.yaml")
    point = {"accelerator": "a100-sxm4-80gb", "gpus": 64, "nics_per_node": 2, "bucket": "1 MiB"}
    near, inline, named = (
        study.price({**point, "aggregation": "ring-nccl", "inter_node": link})["comm_s"]
        for link in study.problem.study.values("inter_node")
    )
    assert near < inline == named


def test_a_ring_between_nodes_waits_longer_on_hosts_of_amd(tmp_path: Path) -> None:
    """NCCL counts 2 us for a step of a small message there, where it counts 1 us elsewhere."""
    text = FASTER.replace("accelerator: [l40s, a100-sxm4-80gb, h100-sxm]", "node: [{}]")
    text = re.sub(r"  (inter_node|nics_per_node|gpus_per_node): .*\n", "", text)
    found = {}
    for name in ("aws-p5.48xlarge", "gcp-a3-highgpu-8g"):
        studies.written(tmp_path, text.replace("{}", name))
        study = dse.load_study(tmp_path / "study.yaml").problem
        at = study.points_at({axis.name: axis.values[0] for axis in study.study.axes})
        hop_s = tuner_of(at.layout).hop_s(RING, LL, np.asarray(2.0))
        found[name] = float(np.ravel(hop_s)[0])
    assert found == pytest.approx({"aws-p5.48xlarge": 2e-6, "gcp-a3-highgpu-8g": 1e-6})
