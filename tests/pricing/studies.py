"""Small studies for the tests, written to a temporary folder."""

from __future__ import annotations

from pathlib import Path

SMALL = """\
study: small
workload: resnet50
space:
  accelerator: [p100-sxm2-16gb, v100-sxm2-16gb]
  gpus: [1, 2, 3, 4, 8, 16]
  gpus_per_node: [1, 4]
  inter_node:
    - 10gbe
    - {bandwidth: 25 Gbps, latency: 5 us, nic: 200 USD, switch_port: 200 USD, cable: 60 USD}
  batch_per_gpu: [32, 64, 256]
  precision: [fp32, fp16]
  aggregation: [ring-mpi, halving-doubling-gloo, ps-grpc]
  bucket: [4 MiB, 25 MiB]
when:
  - {axis: ps_servers, values: [1, 2], if: {aggregation: ps-grpc}}
baseline: {accelerator: p100-sxm2-16gb, gpus: 4, gpus_per_node: 4, inter_node: 10gbe,
           batch_per_gpu: 32, precision: fp32, aggregation: ps-grpc, bucket: 25 MiB, ps_servers: 1}
constraints: [fits_memory, "capital <= 350 kUSD", "global_batch <= 2048"]
objectives: {maximize: speedup, minimize: capital}
search: {budget: 6000}
"""

_LINK = "latency: 5 us, nic: 200 USD, switch_port: 200 USD, cable: 60 USD}"
CONTINUOUS = (
    SMALL.replace("study: small", "study: continuous")
    .replace(
        "  inter_node:\n    - 10gbe\n    - {bandwidth: 25 Gbps, ", "  inter_node: {bandwidth: "
    )
    .replace(_LINK, "{from: 1 Gbps, to: 100 Gbps, continuous: true}, " + _LINK)
    .replace("inter_node: 10gbe,", "inter_node: {bandwidth: 10 Gbps, latency: 5 us},")
)

CONDITIONAL_BUCKET = (
    SMALL.replace("study: small", "study: conditional")
    .replace("  bucket: [4 MiB, 25 MiB]\n", "")
    .replace(
        "when:\n",
        "when:\n  - {axis: bucket, values: [1 MiB, 4 MiB], if: {aggregation: ring-mpi}}\n",
    )
    .replace(", bucket: 25 MiB", "")
)

IMPOSSIBLE = SMALL.replace("study: small", "study: impossible").replace(
    '"capital <= 350 kUSD"', '"capital <= 1 USD"'
)

# 157 million points: seconds of work in 75 units, so that a signal lands in the midst.
LARGE = (
    SMALL.replace("study: small", "study: large")
    .replace("gpus: [1, 2, 3, 4, 8, 16]", "gpus: {from: 1, to: 400, step: 1}")
    .replace("gpus_per_node: [1, 4]", "gpus_per_node: [1, 2, 4, 8]")
    .replace("batch_per_gpu: [32, 64, 256]", "batch_per_gpu: {from: 1, to: 1024, step: 1}")
    .replace("bucket: [4 MiB, 25 MiB]", "bucket: [1 MiB, 4 MiB, 25 MiB]")
)

# Networks and devices as the profiles of tests.calibration.library_profiles measured them.
LIBRARY_CHOICE = (
    SMALL.replace("[p100-sxm2-16gb, v100-sxm2-16gb]", "[a100-sxm4-40gb, v100-sxm2-16gb]")
    .replace("accelerator: p100-sxm2-16gb", "accelerator: a100-sxm4-40gb")
    .replace("- 10gbe\n", "- 10gbe\n    - 200gbe\n    - ib-hdr\n")
    .replace("inter_node: 10gbe,", "inter_node: 200gbe,")
    .replace("[ring-mpi, halving-doubling-gloo, ps-grpc]", "[auto-nccl, ring-nccl, ps-grpc]")
    .replace("aggregation: ps-grpc, bucket: 25 MiB, ps_servers: 1", "aggregation: auto-nccl")
    .replace("gpus: 4, gpus_per_node: 4", "gpus: 8, gpus_per_node: 4")
    .replace("[1, 2, 3, 4, 8, 16]", "[1, 2, 4, 8, 16, 64]")
)
# Servers with a machine for each, as tests.calibration.server_profiles measured them.
MEASURED_SERVERS = SMALL.replace("gpus: 4, gpus_per_node: 4", "gpus: 4, gpus_per_node: 1").replace(
    "[ring-mpi, halving-doubling-gloo, ps-grpc]", "[ring-mpi, ps-mpi, ps-grpc]"
)
# The library chooses, and only its rules tell what.
BY_RULES = "auto-mpi, auto-mpich-mpi, ring-mpi, recursive-doubling-mpi, halving-doubling-mpi"
RULES = (
    SMALL.replace("[ring-mpi, halving-doubling-gloo, ps-grpc]", f"[{BY_RULES}, ps-grpc]")
    .replace("aggregation: ps-grpc, bucket: 25 MiB, ps_servers: 1", "aggregation: ring-mpi")
    .replace("baseline: {", "baseline: {overlap: none, ")
    .replace("bucket: [4 MiB, 25 MiB]", "bucket: [4 KiB, 64 KiB, 4 MiB]\n  overlap: [none]")
    .replace("[1, 2, 3, 4, 8, 16]", "[1, 2, 3, 4, 8, 16, 128, 1024]")
)
RULES_BUCKETS = (4 * 1024.0, 64 * 1024.0, 4 * 2.0**20)

# Approaches of the catalogue, alone and beside algorithms; the first on the machine of a paper.
EDR = "{bandwidth: 12.5 GB/s, latency: 1 us, nic: 600 USD, switch_port: 300 USD, cable: 90 USD}"
SERVING = "grpc, grpc-verbs, grpc-mpi, grpc-gdr"
EVERY_APPROACH = f"{SERVING}, baidu-mpi, horovod-mpi, horovod-mpi-opt, horovod-nccl"
PAPER = f"""\
study: paper
workload: resnet50
space:
  accelerator: p100-sxm2-16gb
  gpus: [1, 2, 12, 64]
  inter_node: {EDR}
  batch_per_gpu: [16, 64]
  aggregation: [{EVERY_APPROACH}]
when:
  - {{axis: ps_servers, values: [1, 4, 64], if: {{aggregation: [{SERVING}]}}}}
  - {{axis: ps_placement, values: [colocated], if: {{aggregation: [{SERVING}]}}}}
scale: ideal
objectives: {{maximize: speedup, minimize: capital}}
"""
APPROACHES = """\
study: mixed
workload: mobilenet-v1
space:
  accelerator: [p100-sxm2-16gb, a100-sxm4-80gb]
  gpus: [1, 2, 3, 8, 24, 64]
  gpus_per_node: [1, 4]
  nics_per_node: [1, 2]
  inter_node: [10gbe, ib-edr]
  batch_per_gpu: [16, 64, 200]
  aggregation: [grpc, grpc-gdr, baidu-mpi, horovod-mpi, horovod-nccl, ring-mpi, ps-grpc]
  overlap: [none, bucketed]
when:
  - {axis: ps_servers, values: [1, 3, 8], if: {aggregation: [grpc, grpc-gdr, ps-grpc]}}
  - {axis: ps_placement, values: [dedicated, colocated], if: {aggregation: [grpc, grpc-gdr]}}
  - {axis: fusion_buffer, values: [1 MiB, 64 MiB], if: {aggregation: [horovod-mpi, horovod-nccl]}}
  - {axis: fusion_cycle, values: [1 ms, 20 ms], if: {aggregation: horovod-mpi}}
  - {axis: bucket, values: [1 MiB, 25 MiB], if: {aggregation: [ring-mpi, ps-grpc]}}
baseline: {accelerator: p100-sxm2-16gb, gpus: 2, gpus_per_node: 1, inter_node: 10gbe,
           batch_per_gpu: 16, aggregation: grpc, overlap: bucketed}
constraints: [fits_memory, "capital <= 2 MUSD"]
objectives: {maximize: speedup, minimize: capital}
target: {samples: 1e7}
"""
# With layouts, links and precisions that profiles may lack.
CAVEATS = """\
study: asked
workload: resnet50
space:
  accelerator: [a100-sxm4-40gb, p100-sxm2-16gb]
  gpus: [1, 4, 8, 16]
  gpus_per_node: [4]
  inter_node: [100gbe, 200gbe, ib-hdr]
  batch_per_gpu: [64]
  precision: [fp32, fp16]
  aggregation: [auto-nccl, ring-nccl]
  bucket: [25 MiB]
baseline: {gpus: 4, aggregation: auto-nccl}
constraints: [fits_memory]
objectives: {maximize: speedup, minimize: capital}
"""
# By the closed formula of the PAI paper.
CLOSED = """\
study: closed
workload: resnet50
model: pai
space:
  accelerator: [p100-sxm2-16gb, v100-sxm2-16gb, a100-sxm4-80gb, t4]
  gpus: [1, 2, 3, 4, 8, 12, 16, 64, 100]
  gpus_per_node: [1, 3, 4, 8]
  nics_per_node: [1, 2]
  inter_node: [10gbe, 25gbe, ib-hdr]
  batch_per_gpu: [1, 32, 64]
  precision: [fp32, fp16]
  optimizer: [sgd, adam]
  aggregation: [ring-nccl, hierarchical-mpi, auto-mpi, ps-grpc, ps-mpi]
  bucket: [1 MiB, 400 MiB]
  overlap: [none, ideal]
when:
  - {axis: ps_servers, values: [1, 3], if: {aggregation: [ps-grpc, ps-mpi]}}
baseline: {accelerator: p100-sxm2-16gb, gpus: 8, gpus_per_node: 4, inter_node: 25gbe,
           batch_per_gpu: 64, precision: fp32, optimizer: sgd, aggregation: ps-grpc, overlap: none}
constraints: [fits_memory, "capital <= 1 MUSD", "global_batch <= 1024"]
objectives: {maximize: speedup, minimize: capital}
target: {samples: 1e7}
"""


def written(folder: Path, text: str = SMALL, name: str = "study.yaml") -> Path:
    """The path of a study file with this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
