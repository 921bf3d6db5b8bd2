"""Launch files started for real, as far as one machine can: torchrun with gloo on its CPU, one node
and two."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from dse.report import launch
from tests.ray_head import free_ports
from tests.report.test_launch import made, text

BESIDE = Path(sys.executable).parent  # where pip puts torchrun
TORCHRUN = shutil.which("torchrun", path=f"{BESIDE}{os.pathsep}{os.environ.get('PATH', '')}")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        TORCHRUN is None or find_spec("torch") is None,
        reason="no torchrun here; pip install 'cluster-dse[torch]'",
    ),
]

TRAIN = """\
import os
import torch
import torch.distributed as ranks

ranks.init_process_group("gloo")
total = torch.ones(1)
ranks.all_reduce(total)
at, of = ranks.get_rank(), ranks.get_world_size()
with open(f"rank-{at}", "w") as told:
    print(of, os.environ["LOCAL_RANK"], int(total), os.environ["NCCL_ALGO"],
          os.environ["DDP_BUCKET_CAP_MB"], file=told)
ranks.destroy_process_group()
"""


def started(script: str, folder: Path, **variables: str) -> subprocess.Popen[str]:
    """A script under way in a folder that has the training script."""
    assert TORCHRUN is not None
    path = f"{Path(TORCHRUN).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {
        **os.environ, "PATH": path, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", **variables
    }  # fmt: skip
    return subprocess.Popen(
        ["bash", "-c", script], cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


@pytest.mark.evidence
@pytest.mark.parametrize("nodes", [1, 2])
def test_torchrun_starts_every_process_and_they_find_one_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nodes: int
) -> None:
    monkeypatch.setattr(launch, "PORT", free_ports()[0])
    (tmp_path / "train.py").write_text(TRAIN)
    script = text("torchrun", made("ring-nccl", gpus=f"{2 * nodes}", gpus_per_node="2"))
    running = [started(script, tmp_path, NODE_RANK=f"{at}", MASTER_ADDR="127.0.0.1")
               for at in range(nodes)]  # fmt: skip
    try:
        said = [one.communicate(timeout=120)[0] for one in running]
    finally:
        for one in running:
            one.kill()
    assert [one.returncode for one in running] == [0] * nodes, said
    told = {path.name: path.read_text().split() for path in tmp_path.glob("rank-*")}
    count = f"{2 * nodes}"
    assert told == {
        f"rank-{at}": [count, f"{at % 2}", count, "Ring", "25"] for at in range(2 * nodes)
    }


def test_a_node_that_is_not_told_its_rank_says_so(tmp_path: Path) -> None:
    script = text("torchrun", made("ring-nccl", gpus="4", gpus_per_node="2"))
    running = started(f"unset NODE_RANK\n{script}", tmp_path)
    assert "NODE_RANK: set it to 0, 1, ... on the nodes" in running.communicate(timeout=60)[0]
    assert running.returncode != 0
