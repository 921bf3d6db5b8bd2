"""dse.pricing.caveats: what a study asks for that nothing can tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.pricing.caveats import caveats, unsupported
from dse.pricing.load import load
from tests.calibration import library_profiles
from tests.pricing import studies
from tests.pricing.priced import problem_of


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
    study = studies.CAVEATS.replace("[fp32, fp16]", "[fp32, bf16]")
    (said,) = unsupported(problem_of(tmp_path, study, library_profiles.one_node()))
    assert said == (
        "The catalogue has no speed in bf16 for p100-sxm2-16gb (not supported, or not known); "
        "these points are left out."
    )


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
    text = studies.CAVEATS.replace("[a100-sxm4-40gb, p100-sxm2-16gb]", accelerators)
    text = text.replace("minimize: capital", f"minimize: {cost}").replace("auto-nccl", "ring-mpi")
    found = [
        line for line in caveats(load(studies.written(tmp_path, text))) if "of the server" in line
    ]
    assert found == [
        "The price of v100-sxm2-32gb already contains its part of the server. For "
        "a100-sxm4-40gb a server of USD 20,000 per node is added."
    ] * said  # fmt: skip


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
