"""llm-analysis asked for training steps; run by its own environment's Python.

Arguments: the question as JSON, seconds, repeats. Prints JSON.
"""

from __future__ import annotations

import json
import logging
import random
import sys
from dataclasses import replace
from importlib.metadata import version
from itertools import product

from llm_analysis.analysis import LLMAnalysis
from llm_analysis.config import (
    DtypeConfig,
    ParallelismConfig,
    get_gpu_config_by_name,
    get_model_config_by_name,
)
from llm_analysis.logger import logger
from rate import one_core, rate

GPU = {"a100-sxm4-80gb": "a100-sxm-80gb", "h100-sxm": "h100-sxm-80gb"}
SEQUENCE = 512
EFFICIENCY = 0.5  # of the peak; at more it warns


class Quiet(LLMAnalysis):
    """The same without the text that it makes for its log even where nothing is logged."""

    def print_config(self, name: str = "") -> None:
        """Nothing."""

    def get_readable_summary_dict(self, *_: object, **__: object) -> str:
        """Nothing."""
        return ""


def main() -> None:
    """Measure, print."""
    question, seconds, repeats = json.loads(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    logger.setLevel(logging.CRITICAL)
    gpus = {
        (name, gbps): replace(
            get_gpu_config_by_name(GPU[name]), inter_node_bandwidth_in_GB_per_sec=gbps / 8
        )
        for name in question["accelerator"]
        for gbps in question["gbps"].values()
    }
    clusters = [ParallelismConfig(dp_size=count) for count in question["gpus"]]
    points = list(product(gpus.values(), clusters, question["batch_per_gpu"]))
    random.Random(0).shuffle(points)
    model = get_model_config_by_name("bert-large")
    ways = {}
    for name, kind in (("training()", LLMAnalysis), ("training(), its text left out", Quiet)):
        gpu, cluster, _ = points[0]
        analysis = kind(model, gpu, DtypeConfig(), cluster, flops_efficiency=EFFICIENCY)

        def evaluate(number: int, analysis: LLMAnalysis = analysis) -> float:
            gpu, cluster, batch = points[number % len(points)]
            analysis.update_gpu_config(gpu)
            analysis.update_parallelism_config(cluster)
            found = analysis.training(batch_size_per_gpu=batch, seq_len=SEQUENCE)
            return float(found["latency_per_iter"])

        with one_core():
            ways[name] = rate(evaluate, seconds, repeats)
    print(json.dumps({"version": version("llm-analysis"), "ways": ways}))


if __name__ == "__main__":
    main()
