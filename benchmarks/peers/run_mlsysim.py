"""mlsysim asked for training steps; run by its own environment's Python.

Arguments: the question as JSON, seconds, repeats. Prints JSON.
"""

from __future__ import annotations

import json
import random
import sys
from importlib.metadata import version
from itertools import product

from mlsysim import Models, Systems
from mlsysim.solvers import DistributedModel
from mlsysim.systems.types import Fleet
from rate import one_core, rate

NODE = {"a100-sxm4-80gb": "DGX_A100", "h100-sxm": "DGX_H100"}
FABRIC = {"100gbe": "Ethernet_100G", "400gbe": "Ethernet_400G", "ib-edr": "InfiniBand_EDR",
          "ib-hdr": "InfiniBand_HDR", "ib-ndr": "InfiniBand_NDR"}  # fmt: skip
SEQUENCE = 512
EFFICIENCY = 0.5


def main() -> None:
    """Measure, print."""
    question, seconds, repeats = json.loads(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    fleets = []
    for name, fabric in product(question["accelerator"], question["gbps"]):
        node = getattr(Systems.Nodes, NODE[name])
        fleets += [
            Fleet(name="asked", node=node, count=count // node.accelerators_per_node,
                  fabric=getattr(Systems.Fabrics, FABRIC[fabric]))
            for count in question["gpus"]
        ]  # fmt: skip
    points = list(product(fleets, question["batch_per_gpu"]))
    random.Random(0).shuffle(points)
    model, solver = Models.Language.BERT_Large, DistributedModel()

    def evaluate(number: int) -> float:
        fleet, batch = points[number % len(points)]
        found = solver.solve(
            model, fleet, batch_size=batch * fleet.total_accelerators, precision="fp16",
            efficiency=EFFICIENCY, overlap_comm=True, seq_len=SEQUENCE,
        )  # fmt: skip
        return float(found.step_latency_total.magnitude)

    with one_core():
        ways = {"DistributedModel.solve()": rate(evaluate, seconds, repeats)}
    print(json.dumps({"version": version("mlsysim"), "ways": ways}))


if __name__ == "__main__":
    main()
