"""Small studies that compare what is bought, owned, rented or billed, at given prices."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dse.pricing.load import load
from dse.report.assembly import build
from dse.report.document import RunDocument
from dse.search.run import Outcome, run
from tests.pricing import studies

MINIMIZED = ("capital", "tco", "hourly", "per_run")
# What a reader types, by the label in the page, and what a study has in its place.
NEW = {
    "accelerators": "{p100-sxm2-16gb: {purchase: 8100 USD, hourly: 0.31 USD/hour}, "
    "v100-sxm2-16gb: {purchase: 7300.5 USD, hourly: 2.9 USD/hour}}",
    "fabrics": "{10gbe: {nic: 77 USD, switch_port: 33 USD, cable: 11 USD}}",
    "host": "4321 USD",
    "electricity": "0.31 USD/kWh",
    "pue": "1.9",
    "amortisation_years": "2.5",
}
TYPED = {
    "p100-sxm2-16gb": "8100",
    "v100-sxm2-16gb": "7300.5",
    "p100-sxm2-16gb for rent": "0.31",
    "v100-sxm2-16gb for rent": "2.9",
    "nic of 10gbe": "77",
    "switch_port of 10gbe": "33",
    "cable of 10gbe": "11",
    "host": "4321",
    "electricity": "0.31",
    "pue": "1.9",
    "amortisation_years": "2.5",
}


def study(minimize: str, more: str = "") -> str:
    """SMALL with another cost, and what ``more`` adds."""
    text = studies.SMALL.replace("minimize: capital", f"minimize: {minimize}")
    return text + ("target: {samples: 50e6}\n" if minimize in ("per_run", "energy") else "") + more


def priced_anew(text: str) -> str:
    """The same study with the new prices in it."""
    lines = "".join(f"  {key}: {value}\n" for key, value in NEW.items())
    return f"{text}prices:\n{lines}"


@dataclass(frozen=True)
class Searched:
    """A study searched, and its document."""

    outcome: Outcome
    document: RunDocument


_SEARCHED: dict[str, Searched] = {}


def searched(folder: Path, text: str) -> Searched:
    """Search a study; its document. Of equal studies once, in the folder of the first."""
    if text not in _SEARCHED:
        problem = load(studies.written(folder, text))
        outcome = run(problem, "exhaustive", None, None, lambda *_: None, 1000, 0)
        document = build(outcome, "dse run small", 0, 1.0, {})
        _SEARCHED[text] = Searched(outcome, document)
    return _SEARCHED[text]
