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
constraints: [fits_memory, "capital <= 200 kUSD", "global_batch <= 2048"]
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
    '"capital <= 200 kUSD"', '"capital <= 1 USD"'
)

# 157 million points: seconds of work in 75 units, so that a signal lands in the midst.
LARGE = (
    SMALL.replace("study: small", "study: large")
    .replace("gpus: [1, 2, 3, 4, 8, 16]", "gpus: {from: 1, to: 400, step: 1}")
    .replace("gpus_per_node: [1, 4]", "gpus_per_node: [1, 2, 4, 8]")
    .replace("batch_per_gpu: [32, 64, 256]", "batch_per_gpu: {from: 1, to: 1024, step: 1}")
    .replace("bucket: [4 MiB, 25 MiB]", "bucket: [1 MiB, 4 MiB, 25 MiB]")
)


def written(folder: Path, text: str = SMALL, name: str = "study.yaml") -> Path:
    """The path of a study file with this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path
