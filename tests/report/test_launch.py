"""What starts a point: every file parses, and says what the point was priced with."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from typing import Any

import pytest
import yaml

from dse import catalog
from dse.report.design_point import Interval, Point
from dse.report.launch import ACCELERATORS, FORMATS, launch_file
from tests.report.documents import document, point, read_point

RUN = document()
CONFIG = {"accelerator": "a100-sxm4-80gb", "gpus": "32", "gpus_per_node": "8",
          "inter_node": "100 Gbps", "batch_per_gpu": "64", "precision": "fp16",
          "aggregation": "ring-nccl", "bucket": "25 MiB", "ps_servers": "1"}  # fmt: skip
AGGREGATIONS = ("ring-nccl", "tree-nccl", "auto-nccl", "hierarchical-nccl", "ring-nccl-tcp",
                "auto-gloo", "halving-doubling-gloo", "ring-mpi", "recursive-doubling-mpi",
                "halving-doubling-mpi-gdr", "hierarchical-mpi", "auto-openmpi-mpi",
                "auto-mpich-mpi", "ps-grpc", "ps-mpi", *catalog.names("approaches"))  # fmt: skip


def made(aggregation: str = "ring-nccl", **others: str) -> Point:
    """A point of the toy model, with any aggregation and other axes."""
    priced = read_point(point({**CONFIG, "aggregation": "tree-nccl"}))
    config = {**CONFIG, "aggregation": aggregation, **others}
    gpus, per_node = int(config["gpus"]), int(config["gpus_per_node"])
    return replace(priced, config=config, gpus=gpus, nodes=-(-gpus // per_node))


def text(form: str, found: Point) -> str:
    return launch_file(RUN, found, "row 3 of the front", form)


def task(found: Point) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(text("skypilot", found))
    return read


def checked(script: str) -> None:
    """The shell reads a script without complaint; nothing is run."""
    done = subprocess.run(
        ["bash", "-n"], input=script, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_every_file_parses(aggregation: str) -> None:
    for nodes in ("8", "32"):
        found = made(aggregation, gpus=nodes)
        checked(text("slurm", found))
        checked(text("torchrun", found))
        read = task(found)
        assert set(read) == {"name", "num_nodes", "resources", "envs", "setup", "run"}
        assert all(isinstance(value, str) for value in read["envs"].values())
        checked(read["run"])
        assert read["num_nodes"] == int(nodes) // 8


def test_a_task_asks_for_the_nodes_of_the_point() -> None:
    read = task(made())
    assert (read["num_nodes"], read["resources"]["accelerators"]) == (4, "A100-80GB:8")
    assert read["resources"]["network_tier"] == "best"
    assert "--nnodes=4 --nproc_per_node=8" in read["run"]
    assert "$SKYPILOT_NODE_IPS" in read["run"]
    alone = task(made(gpus="8"))
    assert "network_tier" not in alone["resources"]
    assert "--standalone --nproc_per_node=8" in alone["run"]


def test_a_node_of_a_cloud_is_asked_for_by_its_name() -> None:
    found = made()
    config = {**found.config, "node": "aws-p4d.24xlarge", "accelerator": ""}
    resources = task(replace(found, config=config))["resources"]
    assert resources["infra"] == "aws"
    assert resources["instance_type"] == "p4d.24xlarge"
    assert resources["accelerators"] == "A100:8"


def test_an_accelerator_without_a_name_in_skypilot_is_said_to_have_none() -> None:
    found = made(accelerator="tpu-v4")
    assert "SkyPilot has no name for tpu-v4" in text("skypilot", found)
    known = set(catalog.names("accelerators"))
    assert set(ACCELERATORS) <= known


def test_a_batch_script_has_its_header_before_any_command() -> None:
    lines = text("slurm", made()).splitlines()
    assert lines[0] == "#!/bin/bash"
    header = [line for line in lines if line.startswith("#SBATCH ")]
    assert lines[1 : 1 + len(header)] == header
    options = dict(line.removeprefix("#SBATCH --").partition("=")[::2] for line in header)
    assert options["nodes"] == "4"
    assert options["gpus-per-node"] == "8"
    assert options["ntasks-per-node"] == "1"  # torchrun starts the rest
    assert "exclusive" in options


def test_a_time_limit_is_the_upper_end_of_the_run() -> None:
    found = made()
    assert "--time=" not in text("slurm", replace(found, objectives={"speedup": 1.0}))
    ends = Interval(speedup=None, step_s=None, costs={"time_to_target": (1e5, 93_784.0 + 86400)})
    assert "#SBATCH --time=2-02:04:00" in text("slurm", replace(found, interval=ends))


@pytest.mark.parametrize(
    ("aggregation", "environment"),
    [
        ("ring-nccl", {"NCCL_ALGO": "Ring"}),
        ("tree-nccl", {"NCCL_ALGO": "Tree"}),
        ("auto-nccl", {"NCCL_ALGO": None}),
        ("hierarchical-nccl", {"NCCL_ALGO": None}),
        ("ring-nccl-tcp", {"NCCL_ALGO": "Ring", "NCCL_NET": "Socket"}),
        ("ring-mpi", {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
                      "OMPI_MCA_coll_tuned_allreduce_algorithm": "4"}),
        ("recursive-doubling-mpi", {"OMPI_MCA_coll_tuned_allreduce_algorithm": "3"}),
        ("halving-doubling-mpi-gdr", {"OMPI_MCA_coll_tuned_allreduce_algorithm": "6"}),
        ("auto-openmpi-mpi", {"OMPI_MCA_coll_tuned_allreduce_algorithm": None}),
        ("horovod-nccl", {"HOROVOD_FUSION_THRESHOLD": "67108864", "HOROVOD_CYCLE_TIME": "5"}),
        ("horovod-mpi", {"HOROVOD_CONTROLLER": "mpi"}),
    ],
)  # fmt: skip
def test_the_library_is_told_the_algorithm(
    aggregation: str, environment: dict[str, str | None]
) -> None:
    found = made(aggregation)
    envs = task(found)["envs"]
    for script in (text("slurm", found), text("torchrun", found)):
        exported = dict(re.findall(r"^export (\w+)=(\S+)$", script, re.MULTILINE))
        for name, value in environment.items():
            assert exported.get(name) == envs.get(name) == value


def test_the_axes_of_horovod_s_fusion_are_used() -> None:
    found = made("horovod-nccl", fusion_buffer="2 MiB", fusion_cycle="1 ms")
    envs = task(found)["envs"]
    assert (envs["HOROVOD_FUSION_THRESHOLD"], envs["HOROVOD_CYCLE_TIME"]) == ("2097152", "1")
    assert "horovodrun -np 32" in task(found)["run"]


def test_the_script_is_told_what_it_must_do_itself() -> None:
    found = made(gradient="bf16", accumulation="4", overlap="none")
    envs = task(found)["envs"]
    assert envs["DDP_BUCKET_CAP_MB"] == "25"
    assert envs["DDP_COMM_HOOK"] == "bf16_compress_hook"
    assert (envs["BATCH_PER_GPU"], envs["ACCUMULATION_STEPS"]) == ("64", "4")
    assert "bucket_cap_mb" in text("torchrun", found)


@pytest.mark.parametrize("aggregation", ["ps-grpc", "ps-mpi", "grpc", "grpc-verbs", "baidu-mpi"])
def test_what_has_no_counterpart_says_so_and_starts_nothing(aggregation: str) -> None:
    found = made(aggregation)
    for form in FORMATS:
        whole = text(form, found)
        assert f"{aggregation} has no counterpart here" in " ".join(whole.replace("#", "").split())
        assert "exit 1" in whole
        assert "torchrun --" not in whole
    assert task(found)["num_nodes"] == 4


def test_quotes_in_a_name_end_no_command() -> None:
    found = made(bucket="25 MiB", precision="it's; rm -rf /")
    for form in ("slurm", "torchrun"):
        checked(text(form, found))
        assert "export PRECISION='it'\"'\"'s; rm -rf /'" in text(form, found)


def test_spot_machines_are_asked_for_only_where_the_study_rents_them() -> None:
    spot = replace(RUN, study=replace(RUN.study, rental="spot"))
    asked = launch_file(spot, made(), "row 3 of the front", "skypilot")
    batch = launch_file(spot, made(), "row 3 of the front", "slurm")
    assert yaml.safe_load(asked)["resources"]["use_spot"] is True
    assert "#SBATCH --requeue" in batch
    for said in (asked, batch):
        assert "may be taken away at any time" in plain(said)
    assert "use_spot" not in text("skypilot", made())
    assert "--requeue" not in text("slurm", made())


def plain(text: str) -> str:
    return " ".join(text.replace("#", " ").split())
