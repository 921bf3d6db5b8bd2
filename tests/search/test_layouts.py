"""The exact front of studies of layouts, against every combination of values priced one by one."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dse
from dse.model.arrays import comparable
from dse.report.launch import launch_file
from tests.pricing import studies

AXES: Mapping[str, list[Any]] = {
    "tensor_parallel": [1, 2, 4, 8, 16],
    "pipeline_parallel": [1, 2, 3, 4, 8],
    "virtual_stages": [1, 2],
    "schedule": ["gpipe", "1f1b", "interleaved", "zb-h1", "zb-v"],
    "context_parallel": [1, 2],
    "context_exchange": ["ring", "all-to-all", "all-gather"],
    "zero": [0, 1, 3, "hsdp"],
    "micro_batch": [1, 2],
    "global_batch": [48, 96],
    "recompute": ["none", "selective", "full"],
}
MIXTURE = {"expert_parallel": [1, 2, 4, 8], "expert_tensor_parallel": [1, 2]}
MODELS = ("llama3.2-1b", "llama3-8b", "mixtral-8x7b", "qwen3-30b-a3b")


def study(seed: int) -> dict[str, Any]:
    """A random study of layouts."""
    pick = random.Random(seed)
    model = pick.choice(MODELS)
    axes = dict(AXES) if "x" not in model and "a3b" not in model else {**AXES, **MIXTURE}
    chosen = {
        name: pick.sample(values, pick.randint(1, min(3, len(values))))
        for name, values in axes.items()
        if pick.random() < 0.6 or name in ("tensor_parallel", "micro_batch", "global_batch")
    }
    space = {
        "node": pick.sample(["dgx-a100-80gb", "dgx-h100", "hgx-h200", "dgx-b200"], 2),
        "gpus": pick.sample([8, 16, 24, 32], 2),
        "precision": pick.sample(["bf16", "fp16"], pick.randint(1, 2)),
        **chosen,
    }
    limits = pick.sample(["mfu >= 30 %", "memory_bytes <= 60 GB", "data_parallel >= 2"], 1)
    return {
        "study": "random",
        "workload": model,
        "stack": pick.choice(["megatron", "nanotron", "fsdp2", "deepspeed"]),
        "space": space,
        "constraints": limits if pick.random() < 0.5 else [],
        "objectives": {"maximize": "tokens_per_s", "minimize": pick.choice(["capital", "power"])},
        "memory": "checked",
    }


def combinations(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    space = data["space"]
    for values in itertools.product(*space.values()):
        yield dict(zip(space, values, strict=True))


def brute(loaded: dse.Study, data: Mapping[str, Any]) -> set[tuple[float, float]]:
    """Objectives of the points that no other beats."""
    goal, cost = "tokens_per_s", data["objectives"]["minimize"]
    column = {"capital": "capital_usd", "power": "power_w"}[cost]
    given = [{"batch_per_gpu" if name == "micro_batch" else name: value
              for name, value in point.items()} for point in combinations(data)]  # fmt: skip
    prices = loaded.price(given)
    feasible = prices["feasible"]
    risk = np.nan_to_num(prices["out_of_memory"][feasible])
    rates, costs = prices[goal][feasible], prices[column][feasible]
    gains = comparable(rates * np.where(risk > 0.05, 1 - risk, 1.0))
    values = np.stack([gains, -comparable(costs)], axis=1)
    kept = {tuple(one): at for at, one in enumerate(values)
            if not ((values >= one).all(axis=1) & (values > one).any(axis=1)).any()}  # fmt: skip
    return {(float(rates[at]), float(costs[at])) for at in kept.values()}


def check(seed: int) -> None:
    data = study(seed)
    try:
        loaded = dse.load_study(data)
    except dse.StudyError:  # no layout that the study allows is one, or none fits
        return
    try:
        found = loaded.search(engine="exhaustive").front
    except dse.NoFeasiblePoint:
        assert not brute(loaded, data)
        return
    column = {"capital": "capital_usd", "power": "power_w"}[data["objectives"]["minimize"]]
    front = set(zip(found["tokens_per_s"].tolist(), found[column].tolist(), strict=True))
    wanted = brute(loaded, data)
    assert len(front) == len(wanted)
    for one, other in zip(sorted(front), sorted(wanted), strict=True):
        assert one == pytest.approx(other, rel=1e-11)
    rows = loaded.problem.space.size
    assert rows + sum(loaded.problem.space.removed.values()) == math.prod(
        len(values) for values in data["space"].values()
    )


@pytest.mark.parametrize("seed", range(12))
def test_front_is_that_of_brute_force(seed: int) -> None:
    check(seed)


@pytest.mark.evidence
@pytest.mark.parametrize("first", range(0, 300, 50))
def test_fronts_of_300_studies_are_those_of_brute_force(first: int) -> None:
    for seed in range(first, first + 50):
        check(seed)


SMALL = {
    "study": "small",
    "workload": "llama3.2-1b",
    "stack": "megatron",
    "space": {
        "node": ["dgx-h100", "dgx-a100-80gb"],
        "gpus": [8, 16, 24, 32],
        "tensor_parallel": "auto",
        "pipeline_parallel": [1, 2, 4],
        "zero": [0, 1, 3],
        "micro_batch": [1, 2],
        "global_batch": [96, 192],
        "recompute": ["none", "full"],
    },
    "objectives": {"maximize": "tokens_per_s", "minimize": "capital"},
}


def test_a_layout_is_a_point_with_an_index() -> None:
    space = dse.load_study(SMALL).problem.space
    for index in range(0, space.size, 97):
        assert space.index(space.point(index)) == index


@pytest.mark.parametrize("stages", [1, [1, 2]])
def test_a_guided_front_has_every_axis_of_a_layout(stages: Any) -> None:
    """Also those with one value and those that follow: each point is one of the space, and is
    started as one of an exhaustive search is. An axis without effect makes no second point."""
    more = {"pipeline_parallel": stages, "schedule": ["zb-h1", "1f1b"], "zero": [3, 1, "hsdp"]}
    loaded = dse.load_study({**SMALL, "space": {**SMALL["space"], **more}})
    found, space = loaded.search(engine="guided", points=60), loaded.problem.space
    for point in found.outcome.front:
        assert dict(point.values) == space.point(space.index(point.values))
    assert len({*zip(*found.points.values(), strict=True)}) == len(found.points["gpus"])
    assert found.points.keys() == loaded.search(engine="exhaustive").points.keys()
    assert "PIPELINE_PARALLEL=1" in launch_file(found.document, found.recommended, "it", "torchrun")


@pytest.mark.evidence
def test_a_guided_search_takes_layouts_and_a_range_of_networks() -> None:
    """Every point of its front is a layout, and none beats what an exhaustive one has at 400
    Gbps."""
    prices = {"nic": "1000 USD", "switch_port": "500 USD", "cable": "100 USD"}
    span = {"from": "100 Gbps", "to": "400 Gbps", "continuous": True}
    link = {"bandwidth": span, "latency": "5 us", **prices}
    axes = {name: values for name, values in SMALL["space"].items() if name != "node"}
    space = {**axes, "accelerator": "h100-sxm", "gpus_per_node": 8, "nics_per_node": 8}
    fast = {**link, "bandwidth": "400 Gbps"}
    base = {"inter_node": fast, "gpus": 8}
    loose = {**SMALL, "space": {**space, "inter_node": link}, "baseline": base}
    front = dse.load_study(loose).search(points=300, seed=1).front
    whole = dse.load_study({**SMALL, "space": {**space, "inter_node": fast}}).search().front
    assert len(front["tokens_per_s"]) > 1
    assert (front["data_parallel"] == np.round(front["data_parallel"])).all()
    assert front["tokens_per_s"].max() <= whole["tokens_per_s"].max() * (1 + 1e-12)
    assert front["tokens_per_s"].max() > 0.8 * whole["tokens_per_s"].max()


def test_what_may_not_fit_is_neither_baseline_nor_answer(tmp_path: Path) -> None:
    text = """
study: full
workload: llama3-70b
space: {accelerator: [h100-sxm, h200-sxm], gpus: [24, 64], gpus_per_node: 8, inter_node: ib-ndr,
        nics_per_node: 8, tensor_parallel: [2, 4, 8], pipeline_parallel: [1, 2, 4], zero: [1, 3],
        micro_batch: [1, 2, 4], recompute: [none, selective, full], global_batch: 192}
baseline: {accelerator: h100-sxm, gpus: 24}
target: {tokens: 1e11}
constraints: ["time_to_target <= 60 d"]
confidence: 90 %
objectives: {maximize: speedup, minimize: capital}
"""
    found = dse.run(studies.written(tmp_path, text), out=tmp_path / "out", executor="local")
    for point in (found["baseline"], found["recommended"]):
        assert point["out_of_memory"] < 0.05
