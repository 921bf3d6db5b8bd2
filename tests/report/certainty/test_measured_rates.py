"""What a study recommends if a training rate were measured, beside what it does once one is."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.pricing.load import load
from dse.report.certainty.measured_rates import RateTurns, rate_turns
from dse.report.recommendation import recommended
from dse.search.certainty.study_draws import StudyDraws, study_draws
from dse.search.certainty.usefulness import CHEAPEST
from dse.search.run import run
from tests.commands.command import dse

STUDY = """\
study: rates
workload: vit-base-16
space:
  accelerator: [a100-sxm4-40gb, h100-sxm]
  gpus: [1, 2, 4, 8]
  gpus_per_node: [8]
  inter_node: [100gbe]
  batch_per_gpu: [64, 128]
  precision: [fp16]
  aggregation: [auto-nccl]
baseline: {accelerator: a100-sxm4-40gb, gpus: 1, gpus_per_node: 8, inter_node: 100gbe,
           batch_per_gpu: 64, precision: fp16, aggregation: auto-nccl}
constraints: [fits_memory, "time_to_target <= 13 h"]
objectives: {maximize: speedup, minimize: capital}
target: {samples: 300e6}
recommend: cheapest
prices:
  host: 20 kUSD
  accelerators:
    a100-sxm4-40gb: {purchase: 8 kUSD, sold_in: 1}
    h100-sxm: {purchase: 25 kUSD, sold_in: 1}
"""
A100, H100 = (f"rate: {name}, fp16, vendor" for name in ("a100-sxm4-40gb", "h100-sxm"))


def answered(path: Path) -> tuple[StudyDraws, int]:
    outcome = run(load(path), "exhaustive", None, None, lambda *_: None, 0, 0)
    best = recommended(outcome.front, CHEAPEST)
    found = study_draws(outcome, CHEAPEST, [best])
    return found, found.near.front.index(best)


def turns(found: StudyDraws, name: str, position: int) -> RateTurns:
    told = rate_turns(found, name, position)
    assert told is not None
    return told


def machines(path: Path) -> tuple[object, object]:
    found, position = answered(path)
    values = found.near.points[position]
    return values["accelerator"], values["gpus"]


@pytest.mark.parametrize("name", [A100, H100])
def test_the_answer_turns_where_it_does_once_such_a_rate_is_imported(
    name: str, tmp_path: Path
) -> None:
    """One that is 0.5 % nearer to the estimate leaves it, one 0.5 % farther turns it as told."""
    (tmp_path / "study.yaml").write_text(STUDY)
    now = machines(tmp_path / "study.yaml")
    told = turns(*_with(answered(tmp_path / "study.yaml"), name))
    assert told.lower is not None
    assert told.lower.values is not None
    assert told.higher is None
    assert 0.05 <= told.lower.likely <= 0.5
    for factor, then in (
        (told.lower.factor * 1.005, now),
        (told.lower.factor * 0.995, (told.lower.values["accelerator"], told.lower.values["gpus"])),
    ):
        rate = told.rate
        (tmp_path / "rates.csv").write_text(
            "workload,accelerator,samples_per_s,precision,batch_per_gpu,stack,optimizer\n"
            f"vit-base-16,{rate.accelerator},{rate.samples_per_s * factor},fp16,"
            f"{rate.batch_per_gpu},{rate.stack},{rate.optimizer}\n"
        )
        done = dse("calibrate", "import-throughput", "rates.csv", "--name", "own", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        profile = tmp_path / "calibrations" / "own.yaml"
        (tmp_path / "own.yaml").write_text(STUDY + f"calibration: [{profile}]\n")
        assert machines(tmp_path / "own.yaml") == then


def _with(found: tuple[StudyDraws, int], name: str) -> tuple[StudyDraws, str, int]:
    return found[0], name, found[1]


def test_the_estimate_is_what_one_accelerator_trains(tmp_path: Path) -> None:
    """Without communication, of the batch that is recommended."""
    (tmp_path / "study.yaml").write_text(STUDY)
    found, position = answered(tmp_path / "study.yaml")
    told = turns(found, A100, position)
    alone = {**found.near.points[position], "gpus": 1}
    assert told.rate.batch_per_gpu == alone["batch_per_gpu"] == 128
    assert told.rate.optimizer == "adam"  # which is usual for it
    expected = found.problem.point(alone)["throughput"].item()
    assert told.rate.samples_per_s == pytest.approx(expected, rel=0.01)


def test_nothing_is_told_of_what_is_no_rate_or_hangs_on_draws(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(STUDY)
    found, position = answered(tmp_path / "study.yaml")
    assert rate_turns(found, "price: h100-sxm", position) is None
    assert rate_turns(found, "rate: a10, fp16, vendor", position) is None  # no point has it
    other = next(at for at in range(len(found.near.points))
                 if found.purchases[at] != found.purchases[position])  # fmt: skip
    assert rate_turns(found, A100, other) is None  # as where least regret recommends
    (tmp_path / "sure.yaml").write_text(STUDY + "confidence: 0.6\n")
    assert rate_turns(*_with(answered(tmp_path / "sure.yaml"), A100)) is None
