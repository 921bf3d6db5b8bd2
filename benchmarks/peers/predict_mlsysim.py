"""mlsysim asked how long given steps take; run by its own environment's Python.

Standard input: the steps as JSON. Prints JSON. Its own accelerators and convolutional networks;
transformers are told by their sizes.
"""

from __future__ import annotations

import json
import sys
import warnings
from importlib.metadata import version
from typing import Any

from mlsysim import Hardware, Models, Systems
from mlsysim.core.units import Q_
from mlsysim.models.types import TransformerWorkload
from mlsysim.solvers import DistributedModel, SingleNodeModel
from mlsysim.systems.types import Fleet

BOARD = {
    "a100-sxm4-80gb": "A100",
    "a100-sxm4-40gb": "A100_40GB",
    "a100-pcie-40gb": "A100_40GB",
    "b200-sxm": "B200",
    "h100-sxm": "H100",
    "h100-pcie": "H100_PCIe",
    "k80-die": "K80",
    "p100-sxm2-16gb": "P100",
    "v100-sxm2-16gb": "V100",
    "v100-sxm2-32gb": "V100",
}
PICTURES = {"resnet50": "ResNet50", "vgg16": "VGG16", "alexnet": "AlexNet"}
HALF = ("fp16", "bf16")  # its boards' peak where they do not name it
ZERO = 3  # stage of ZeRO where state is shared
WAY = "default (50 % of the peak)"


def main() -> None:
    """Ask, print."""
    warnings.simplefilter("ignore")
    rates = [rate(step) for step in json.load(sys.stdin)]
    print(json.dumps({"version": version("mlsysim"), "ways": {WAY: rates}}))


def rate(step: dict[str, Any]) -> float | None:
    """Samples/s; None where it has no words for the step, or says that it does not fit."""
    name, precision = step["accelerator"], step["precision"]
    if name not in BOARD:
        return None
    board = getattr(Hardware.Cloud, BOARD[name])
    if precision not in HALF and precision not in board.compute.precision_flops:
        return None
    if step["shape"] is not None:
        found = transformer(step, board)
    elif step["workload"] in PICTURES:
        found = SingleNodeModel().solve(
            getattr(Models.Vision, PICTURES[step["workload"]]),
            board,
            batch_size=step["batch"],
            precision=precision,
            is_training=True,
            activation_recomputation=step["recomputed"],
        )
    else:
        return None
    return step["batch"] / found.latency.to("s").magnitude if found.feasible else None


def transformer(step: dict[str, Any], board: Any) -> Any:
    """One accelerator's part of a step: FLOPs are its own two for each parameter and token."""
    shape, shards = step["shape"], step["shards"]
    model = TransformerWorkload(
        name=step["workload"],
        architecture="Transformer",
        parameters=Q_(step["params"], "count"),
        layers=shape["layers"],
        hidden_dim=shape["hidden"],
        heads=shape["heads"],
        kv_heads=shape["kv_heads"],
    )
    node = Systems.Nodes.DGX_A100.model_copy(
        update={"accelerator": board, "accelerators_per_node": shards}
    )
    fleet = Fleet(name="asked", node=node, count=1, fabric=Systems.Fabrics.InfiniBand_HDR)
    found = DistributedModel().solve(
        model,
        fleet,
        batch_size=step["batch"] * shards,
        precision=step["precision"],
        zero_stage=ZERO if shards > 1 else 0,
        activation_recomputation=step["recomputed"],
        seq_len=shape["tokens"],
    )
    return found.node_profile


if __name__ == "__main__":
    main()
