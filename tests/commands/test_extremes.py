"""Studies of valid values at the ends of what there is: each gives a report that can be used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.command import dse
from tests.pricing.studies import SMALL, written

RENTED = (
    SMALL.replace("minimize: capital", "minimize: per_run")
    .replace('"capital <= 200 kUSD", ', "")
    .replace("search:", "target: {samples: 1e8}\nsearch:")
)
FREE = "prices: {host: 0 USD, accelerators: {v100-sxm2-16gb: {purchase: 0 USD}}}\n"
STUDIES = {
    "spot": RENTED + "rental: spot\n",
    "spot that leaves soon": RENTED + "rental: {term: spot, spell: 30 min, wait: 10 h}\n",
    "a day to recover": RENTED + "failures: {recover: 1 d}\n",
    "a stop every minute": RENTED + "failures: {per_job_day: 1000}\n",
    "nothing fails": RENTED + "failures: ideal\n",
    "free accelerators": SMALL + FREE,
    "a free host and power": RENTED + "prices: {host: 0 USD, electricity: 0 USD/kWh}\n",
    "one sample": RENTED.replace("samples: 1e8", "samples: 1"),
    "one accelerator": SMALL.replace("gpus: [1, 2, 3, 4, 8, 16]", "gpus: [1, 4]"),
    "a limit on energy": RENTED.replace("[fits_memory,", '[fits_memory, "energy <= 1 TWh",'),
    "a confidence": RENTED.replace("[fits_memory,", '[fits_memory, "time_to_target <= 40 d",')
    + "confidence: 0.9\n",
}
READERS = (
    "report here", "explain here --row 1", "compare here here", "export here out.csv",
    "explain study.yaml",
)  # fmt: skip


@pytest.mark.parametrize("name", STUDIES)
def test_the_report_can_be_written_and_read(name: str, tmp_path: Path) -> None:
    """Warnings are errors here, so that no number is made from infinity or by dividing by 0."""
    written(tmp_path, STUDIES[name])
    done = dse("run", "study.yaml", "--out", "here", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not {"nan", "inf", "-inf"} & set(done.stdout.replace(",", " ").split())
    for words in READERS:
        again = dse(*words.split(), cwd=tmp_path)
        assert again.returncode == 0, again.stderr
    found = json.loads((tmp_path / "here" / "run.json").read_text())
    assert found["certainty"]["sources"]
