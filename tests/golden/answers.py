"""What dse answers to studies and fleets, as compact text; see ``python -m tests.golden``.

Of a study: the front with its equals and intervals, the points that are recommended, how many
points each demand rejects, and ten varied points in all detail. Of a fleet: its document. Numbers
are written to the last bit.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any

import dse
from dse.fleet import answer, read_fleet
from dse.fleet import plain as plain_fleet
from dse.pricing.load import load
from dse.report.json_form import plain
from dse.report.points import explained
from dse.search.run import run
from tests.report.brief import briefly

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ANSWERS = HERE / "answers"
GUIDED_BUDGET = 1500
POINTS = 10
GOLDEN_RATIO = 0.6180339887498949  # its multiples spread evenly

Record = dict[str, Any]


def subjects() -> Mapping[str, Callable[[], Record]]:
    """By name of its file in ``answers``: how an answer is made."""
    shipped = sorted((ROOT / "search_spaces").glob("*.yaml"))
    own = sorted((HERE / "studies").glob("*.yaml"))
    found: dict[str, Callable[[], Record]] = {}
    for path in (*shipped, *own):
        fleet = "\nfleet:" in "\n" + path.read_text()
        found[path.stem] = lambda path=path, fleet=fleet: _fleet(path) if fleet else _study(path)
    for path in (ROOT / "search_spaces/example.yaml",
                 ROOT / "benchmarks/search/studies/continuous.yaml"):  # fmt: skip
        found[f"guided-{path.stem}"] = lambda path=path: _study(path, "guided")
    return found


def searched(path: Path) -> Record:
    """What the search alone finds: how many points, and gain, cost and equals along the front; and
    the points in all detail."""
    problem = load(path)
    found = run(problem, "exhaustive", None, None, lambda *_: None, 0, 0)
    return {
        "counts": {
            "points": found.tally.points,
            "feasible": found.tally.feasible,
            "priced": found.tally.priced,
            "front": len(found.front),
        },
        "rejected": dict(found.tally.rejected),
        "front": [[point.gain, point.cost, point.ties] for point in found.front],
        "explain": dict(_points(problem)),
    }


def text(record: Record) -> str:
    """As it is kept: a line for each entry of each part."""
    lines = []
    for part, entries in record.items():
        rows = entries.items() if isinstance(entries, dict) else enumerate(entries)
        lines += [f"{part} | {key} | {json.dumps(value)}" for key, value in rows]
    return "\n".join(lines) + "\n"


def _study(path: Path, engine: str | None = None) -> Record:
    """Searched where the profiles are that belong to these tests."""
    with tempfile.TemporaryDirectory() as place, chdir(place):
        os.symlink(HERE / "calibrations", "calibrations")
        budget = GUIDED_BUDGET if engine else None
        with briefly():  # no answer is from what is left out
            found = dse.run(path, out="out", engine=engine, points=budget, executor="local")
        problem = load(path)
        chosen = {name: _place(found[name]) for name in
                  ("recommended", "fastest", "cheapest_within_5_percent")}  # fmt: skip
        return {
            "counts": found["counts"],
            "rejected": found["rejected"],
            "chosen": chosen,
            "baseline": found["baseline"],
            "front": {_place(point): _priced(found, point) for point in found["front"]},
            "caveats": [note["text"] for note in found["caveats"]],
            "assumptions": found["assumptions"],
            "transports": found["transports"],
            "other": [found["other_aggregations"]],
            "explain": {} if problem.points is None else dict(_points(problem)),
        }


def _points(problem: Any) -> Iterator[tuple[str, Record]]:
    for at in range(POINTS):
        index = int(problem.space.size * ((at + 0.5) * GOLDEN_RATIO % 1))
        yield str(index), plain(explained(problem, problem.space.point(index)))


def _place(point: Record) -> str:
    numbers = {**point["config"], **point["numbers"]}
    return " ".join(f"{name}={value}" for name, value in numbers.items() if value)


def _priced(document: Record, point: Record) -> list[Any]:
    """Objectives, step, equals, interval, and what of it was not measured."""
    objectives = [point[name] for name in document["objectives"].values()]
    return [*objectives, point["step_s"], point["ties"], point["interval"], point["why_outside"]]


def _fleet(path: Path) -> Record:
    found = plain_fleet(answer(read_fleet(path)))
    for part in ("timings", "path", "study_text", "hashes", "sources", "command", "created",
                 "versions"):  # fmt: skip
        del found[part]
    del found["population"]["path"]
    return {
        part: entries if isinstance(entries, dict | list) else [entries]
        for part, entries in found.items()
    }
