"""``python -m benchmarks.papers.cases``: the PAI paper's case studies as workloads, by both models.

Their numbers are recalled. On V100 of one server, or of eight servers with 25 Gbps for PS/Worker.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import dse
from benchmarks.papers.tf_table import markdown
from dse.model.pai import ALLREDUCE_LOCAL, ONE_WORKER_ONE_GPU, PEARL, PS_WORKER


class Case(NamedTuple):
    """A workload as the paper ran it. batch: of one accelerator."""

    workload: str
    architecture: str
    gpus: int
    batch: int


CASES = (
    Case("pai-multi-interests", PS_WORKER, 8, 2048),
    Case("pai-resnet50", ALLREDUCE_LOCAL, 8, 64),
    Case("pai-nmt", ALLREDUCE_LOCAL, 8, 6144),
    Case("pai-bert", ALLREDUCE_LOCAL, 8, 12),
    Case("pai-speech", ONE_WORKER_ONE_GPU, 1, 32),
    Case("pai-gcn", PEARL, 8, 512),
)
TITLES = {
    ONE_WORKER_ONE_GPU: "1w1g",
    PS_WORKER: "PS/Worker",
    ALLREDUCE_LOCAL: "AllReduce-Local",
    PEARL: "PEARL, here by AllReduce",  # which a study does not know
}
MODELS = ("pai", "calibrated")

_STUDY = """\
study: {case.workload}
workload: {case.workload}
model: {model}
space:
  accelerator: [v100-sxm2-16gb]
  gpus: [{case.gpus}]
  gpus_per_node: [{per_node}]
  inter_node: [25gbe]
  batch_per_gpu: [{case.batch}]
  precision: [fp32]
  aggregation: [{aggregation}]
{servers}objectives: {{maximize: throughput, minimize: capital}}
scale: ideal
"""
_SERVERS = "when: [{axis: ps_servers, values: [8], if: {aggregation: ps-grpc}}]\n"


HEAD = (
    "workload",
    "class",
    "by the paper's model: computing, weights, input and update",
    "step",
    "by dse's own: computing, weights not hidden, the rest",
    "step",
)


def main() -> None:
    """The table of docs/fleet.md."""
    print(markdown(HEAD, _rows()))


def _rows() -> Iterator[tuple[str, ...]]:
    for case in CASES:
        cells = [case.workload, TITLES[case.architecture]]
        for model in MODELS:
            *terms, step = (f"{1e3 * s:,.0f} ms" for s in breakdown_s(case, model).values())
            cells += [", ".join(terms), step]
        yield tuple(cells)


def study(case: Case, model: str, more: str = "") -> str:
    """A study of that one point, as a file has it; more: further lines of it."""
    served = case.architecture == PS_WORKER
    return more + _STUDY.format(
        case=case,
        model=model,
        per_node=1 if served else case.gpus,
        aggregation="ps-grpc" if served else "ring-nccl",
        servers=_SERVERS if served else "",
    )


def breakdown_s(case: Case, model: str, more: str = "") -> dict[str, float]:
    """Seconds of one step by what takes them; they sum to the last, the step. more: see study."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{case.workload}.yaml")
        path.write_text(study(case, model, more), encoding="utf-8")
        found = dse.load_study(path).price([{}])
    step, compute, exposed = (float(found[f"{key}_s"][0]) for key in ("step", "compute", "exposed"))
    rest = step - compute - exposed
    return {"computing": compute, "weights": exposed, "input and update": rest, "step": step}


if __name__ == "__main__":
    main()
