"""Studies of valid values at the ends of what there is: each gives a report that can be read,
explained, compared and exported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands.command import dse, refused
from tests.evidence import beyond
from tests.pricing.studies import SMALL, written

TARGET = "target: {samples: 1e8}\n"
PER_RUN = SMALL.replace("minimize: capital", "minimize: per_run") + TARGET
RENTED = PER_RUN.replace('"capital <= 350 kUSD", ', "")
FREE = "prices: {accelerators: {v100-sxm2-16gb: {purchase: 0 USD, hourly: 0 USD/hour}}}\n"
ALL_FREE = (
    "prices: {host: 0 USD, accelerators: {p100-sxm2-16gb: {purchase: 0 USD, hourly: 0 USD/hour},"
    " v100-sxm2-16gb: {purchase: 0 USD, hourly: 0 USD/hour}},"
    " fabrics: {10gbe: {nic: 0 USD, switch_port: 0 USD, cable: 0 USD}}}\n"
)
ONE = SMALL.replace("gpus: [1, 2, 3, 4, 8, 16]", "gpus: [1]")
CORNERS = {
    "spot": RENTED + "rental: spot\n",
    "spot on one accelerator": ONE + TARGET + "rental: spot\n",
    "spot that is soon gone": RENTED + "rental: {term: spot, spell: 20 min, wait: 5 d}\n",
    "slow recovery": RENTED + "failures: {recover: 30 d}\n",
    "many failures": RENTED + "failures: {per_job_day: 1000}\n",
    "draws that never end": RENTED.replace("8, 16]", "8, 16, 1000]").replace(
        '"global_batch <= 2048"', '"gpus >= 1000"'
    )
    + "failures: {recover: 300 d}\n",
    "large points never end": SMALL + TARGET
    + "failures: {per_accelerator_month: 40, recover: 1 d}\n",
    "no rent": RENTED + FREE,
    "no rent at all": RENTED + ALL_FREE,
    "no purchase price at all": SMALL + ALL_FREE,
    "no purchase price, second cost": SMALL.replace("e: capital", "e: [capital, power]") + ALL_FREE,
    "one sample": RENTED.replace("samples: 1e8", "samples: 1"),
    "a confidence": RENTED.replace("[fits_memory,", '[fits_memory, "time_to_target <= 40 d",')
    + "confidence: 0.9\n",
}  # fmt: skip
OFTEN = ("spot that is soon gone",)
READERS = (
    "report out", "compare out out", "explain out --row 1", "export out out.csv",
    "explain study.yaml", "explain study.yaml --json",
)  # fmt: skip


def numbers_of(text: str) -> Any:
    """A JSON document; what is no number in JSON is a mistake."""

    def no_number(name: str) -> Any:
        raise AssertionError(f"{name} in a document")

    return json.loads(text, parse_constant=no_number)


@pytest.mark.parametrize("corner", beyond(OFTEN, CORNERS))
def test_a_corner_has_a_report_that_can_be_read(tmp_path: Path, corner: str) -> None:
    """Warnings are errors here, so that no number is made from infinity or by dividing by 0."""
    written(tmp_path, CORNERS[corner])
    ran = dse("run", "study.yaml", "--out", "out", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "Traceback" not in ran.stdout + ran.stderr
    assert not {"nan", "inf", "-inf"} & set(ran.stdout.replace(",", " ").split())
    found = numbers_of((tmp_path / "out" / "run.json").read_text())
    assert found["recommended"]["config"]["gpus"]
    assert found["certainty"]["sources"]
    for words in READERS:
        more = dse(*words.split(), cwd=tmp_path)
        assert more.returncode == 0, more.stderr
    assert numbers_of(more.stdout)["config"]


def test_a_baseline_that_comes_to_nothing_is_refused(tmp_path: Path) -> None:
    """Also where the share of its time that trains is a number above 0."""
    written(tmp_path, RENTED + "failures: {per_accelerator_month: 1000, recover: 1 d}\n")
    ran = dse("run", "study.yaml", "--out", "out", cwd=tmp_path)
    assert "the baseline trains hardly at all: it stops every 10.9 minutes" in refused(ran)
    assert not (tmp_path / "out").exists()


def test_a_price_of_nothing_is_not_an_unknown_one(tmp_path: Path) -> None:
    written(tmp_path, SMALL + ALL_FREE)
    ran = dse("run", "study.yaml", "--out", "out", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "unknown" not in ran.stdout
