"""The answer in words, and numbers as people read them."""

from __future__ import annotations

import pytest

from dse.report import words
from tests.report.documents import COSTS, document, point


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("gain", ["speedup", "throughput"])
def test_answer_names_the_point_its_worth_and_how_sure(gain: str, cost: str) -> None:
    run = document(gain, cost)
    sentences = words.answer(run)
    best = run["recommended"]
    assert 3 <= len(sentences) <= 4
    assert sentences[0].startswith("Recommended: ")
    assert best["config"]["accelerator"] in sentences[0]
    assert words.shown(best["speedup"], "x") in sentences[1]
    assert words.show_cost(run, best) in sentences[1]
    assert words.show_cost(run, run["baseline"]) in sentences[1]
    assert "within 5 %" in sentences[2]
    assert sentences[3].startswith("How sure: ")
    assert not any("None" in s or "nan" in s or "{" in s for s in sentences)


@pytest.mark.parametrize(
    ("cost", "phrase"),
    [("capital", "to buy"), ("hourly", "to rent"), ("power", "draws"), ("per_run", "per run"),
     ("time_to_target", "to the target"), ("step", "per step")],
)  # fmt: skip
def test_every_cost_has_its_own_words(cost: str, phrase: str) -> None:
    assert phrase in words.answer(document("speedup", cost))[1]


def test_answer_gives_the_interval_and_says_where_it_extrapolates() -> None:
    run = document()
    best = next(p for p in run["front"] if p["interval"] and p["extrapolated"])
    run["recommended"] = {**best, "rule": "knee", "why": ""}
    low, high = (words.shown(end, "x") for end in best["interval"]["speedup"])
    sure = words.answer(run)[-1]
    assert f"{low} to {high}" in sure
    assert "outside the measured range" in sure
    run["recommended"]["extrapolated"] = False
    assert "outside the measured range" not in words.answer(run)[-1]


def test_answer_admits_what_was_not_measured() -> None:
    run = document()
    run["recommended"]["interval"] = None
    assert "never measured" in words.answer(run)[-1]


def test_answer_tells_the_steps_behind_the_interval() -> None:
    run = document()
    best = next(p for p in run["front"] if p["interval"] and p["comm_s"])
    run["recommended"] = {**best, "rule": "knee", "why": ""}
    run["baseline"]["interval"] = None
    assert "the baseline's" not in words.answer(run)[-1]
    run["baseline"]["interval"] = {"speedup": [0.5, 1.2], "step_s": [0.4, 0.9]}
    assert "the baseline's 400 ms to 900 ms" in words.answer(run)[-1]
    run["baseline"]["interval"]["speedup"] = [1.0, 1.0]  # drawn together: already inside
    run["baseline"]["interval"] = None
    assert "the baseline's" not in words.answer(run)[-1]


def test_answer_where_the_baseline_is_the_best() -> None:
    run = document()
    run["recommended"] = {**run["baseline"], "rule": "knee", "why": ""}
    assert "the baseline itself" in words.answer(run)[1]


def test_answer_with_one_point_on_the_front() -> None:
    run = document()
    only = run["front"][-1]
    run.update(front=[only], fastest=only, cheapest_within_5_percent=only)
    run["recommended"] = {**only, "rule": "knee", "why": ""}
    assert "also the fastest" in words.answer(run)[2]


def test_answer_where_something_cheaper_is_nearly_as_fast() -> None:
    run = document()
    cheap, fast = run["front"][-2:]
    cheap["speedup"] = 0.97 * fast["speedup"]
    run["cheapest_within_5_percent"] = cheap
    saved = words.percent(1 - cheap["capital"] / fast["capital"])
    assert f"{saved} cheaper than the fastest" in words.answer(run)[2]


def test_answer_with_an_unknown_cost_of_the_baseline() -> None:
    run = document()
    run["baseline"].update(capital=None, costs={**run["baseline"]["costs"], "capital": None})
    assert "that of the baseline is unknown" in words.answer(run)[1]


def test_describe_complete_machines() -> None:
    config = {"node": "dgx-h100", "gpus": "16", "aggregation": "tree-nccl", "batch_per_gpu": "8"}
    text = words.describe({"config": config, "gpus": 16, "nodes": 2})
    assert text == "16 GPUs in 2 x dgx-h100, tree-nccl, batch 8 per GPU"


def test_describe_leaves_the_network_out_of_a_single_node() -> None:
    config = {"accelerator": "t4", "gpus": "4", "gpus_per_node": "4", "inter_node": "10gbe",
              "aggregation": "ring-mpi"}  # fmt: skip
    assert words.describe({"config": config, "gpus": 4, "nodes": 1}) == (
        "4 x t4, in one node, ring-mpi"
    )
    assert "on 10gbe" in words.describe({"config": config, "gpus": 8, "nodes": 2})


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(3.4, "x", "3.4x"), (153.27, "x", "153x"), (1_230_000, "USD", "USD 1.23 M"),
     (999_999, "USD", "USD 1 M"), (12.34, "USD/hour", "USD 12.3/h"), (0.0421, "s", "42.1 ms"),
     (103_680, "s", "1.2 days"), (5464.3, "W", "5.46 kW"), (300, "W", "300 W"),
     (92_800, "samples/s", "92.8 k samples/s"), (0, "s", "0 s"), (0, "USD", "USD 0"),
     (None, "USD", "unknown"), (float("nan"), "x", "unknown"), (2e-10, "s", "0.2 ns")],
)  # fmt: skip
def test_numbers_for_people(value: float | None, unit: str, text: str) -> None:
    assert words.shown(value, unit) == text


@pytest.mark.parametrize(("share", "text"), [(0, "0 %"), (1e-5, "< 0.1 %"), (0.0042, "0.42 %"),
                                             (0.243, "24 %"), (0.999, "100 %")])  # fmt: skip
def test_percentages(share: float, text: str) -> None:
    assert words.percent(share) == text


def test_sizes() -> None:
    assert words.size(8) == "8 B"
    assert words.size(16 * 2**20) == "16 MiB"
    assert words.size(-(3 * 2**30)) == "-3 GiB"
    assert words.size(None) == "unknown"


def test_who_says_so() -> None:
    config = document()["recommended"]["config"]
    alone = point({**config, "gpus": "1"})
    assert words.says_who(alone)[0] == "no communication"
    measured = point({**config, "gpus": "8", "aggregation": "ring-mpi"})
    assert words.says_who(measured)[0] == "calibrated"
    assert words.says_who({**measured, "extrapolated": True})[0] == "extrapolated"
    assert words.says_who({**measured, "interval": None})[0] == "not measured"
