"""The golden answers of dse to studies and fleets; see ``python -m tests.golden``.

``numbers/NAME.txt`` holds the front with its equals and intervals, the points that are chosen, the
odds of the purchases, how many points each demand rejects, and ten varied points in all detail: to
the last bit. Only a change of the model may move it. ``words/NAME.txt`` holds the text that stands
beside them and may change freely.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any, NamedTuple

import dse
from dse.catalog.store import shipped_studies
from dse.fleet import answer, read_fleet
from dse.fleet import plain as plain_fleet
from dse.pricing.load import load
from dse.report.answer import answer as printed
from dse.report.document_files import read_document
from dse.report.json_form import plain
from dse.report.points import explained
from dse.search.run import run
from tests.report.brief import without

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NUMBERS, WORDS = HERE / "numbers", HERE / "words"
PAGE = ROOT / "docs" / "answers.md"
QUOTED = re.compile(r"^## (\S+)\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
GUIDED_BUDGET = 1500
POINTS = 10
GOLDEN_RATIO = 0.6180339887498949  # its multiples spread evenly
POINT = ("config",)  # names that tell which point it is

Record = dict[str, Any]


class Golden(NamedTuple):
    """The answer to a study: by part and key, its numbers and its text."""

    numbers: Record
    words: Record


def subjects() -> Mapping[str, Callable[[], Golden]]:
    """By name of its files in ``numbers`` and ``words``: how an answer is made."""
    own = sorted((HERE / "studies").glob("*.yaml"))
    found: dict[str, Callable[[], Golden]] = {}
    for path in (*shipped_studies().values(), *own):
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
        "explain": {index: numbers(point) for index, point in _points(problem)},
    }


def text(record: Record) -> str:
    """As it is kept: a line for each entry of each part."""
    lines = []
    for part, entries in record.items():
        rows = entries.items() if isinstance(entries, dict) else enumerate(entries)
        lines += [f"{part} | {key} | {json.dumps(value)}" for key, value in rows]
    return "\n".join(lines) + "\n"


def quoted(page: str) -> str:
    """The page of answers with those that it quotes, below each study's name, as they are kept."""

    def answer(match: re.Match[str]) -> str:
        kept = re.findall(
            r'^answer \| \d+ \| (".*")$', (WORDS / f"{match[1]}.txt").read_text(), re.M
        )
        lines = [line for line in map(json.loads, kept) if not line.startswith("Note: ")]
        return "\n".join([f"## {match[1]}", "", "```text", *lines, "```"])

    return QUOTED.sub(answer, page)


def numbers(value: Any) -> Any:
    """A value without its text, but with the names that tell which point it is."""
    if isinstance(value, dict):
        kept = {key: one if key in POINT else numbers(one) for key, one in value.items()
                if not isinstance(one, str)}  # fmt: skip
        return {key: one for key, one in kept.items() if one not in ({}, [])}
    if isinstance(value, list | tuple):
        return [numbers(one) for one in value if not isinstance(one, str)]
    return value


def words(value: Any) -> list[str]:
    """Every text within a value, in order, but for names of points."""
    if isinstance(value, str):
        return [value] if value else []
    inner = ([one for key, one in value.items() if key not in POINT] if isinstance(value, dict)
             else value if isinstance(value, list | tuple) else [])  # fmt: skip
    return [text for one in inner for text in words(one)]


def _study(path: Path, engine: str | None = None) -> Golden:
    """Searched where the profiles are that belong to these tests."""
    with tempfile.TemporaryDirectory() as place, chdir(place):
        os.symlink(HERE / "calibrations", "calibrations")
        budget = GUIDED_BUDGET if engine else None
        with without("repricing", "sample"):  # no number here is from these
            found = dse.run(path, out="out", engine=engine, points=budget, executor="local")
        document = read_document(Path("out"))
        problem = load(path)
        points = {} if problem.points is None else dict(_points(problem))
    front = {_place(point): point for point in found["front"]}
    chosen = {name: _place(found[name]) for name in
              ("recommended", "fastest", "cheapest_within_5_percent")}  # fmt: skip
    return Golden(
        {
            "counts": found["counts"],
            "rejected": found["rejected"],
            "chosen": chosen,
            "baseline": numbers(found["baseline"]),
            "front": {place: _priced(found, point) for place, point in front.items()},
            "odds": dict(_odds(found["certainty"])),
            "explain": {index: numbers(point) for index, point in points.items()},
        },
        {
            "answer": printed(document),
            "remarks": [one.whole for one in document.remarks],
            "assumptions": found["assumptions"],
            "transports": words(found["transports"]),
            "front": {place: words(point) for place, point in front.items()},
            "explain": {index: words(point) for index, point in points.items()},
        },
    )


def _points(problem: Any) -> Iterator[tuple[str, Record]]:
    for at in range(POINTS):
        index = int(problem.space.size * ((at + 0.5) * GOLDEN_RATIO % 1))
        yield str(index), plain(explained(problem, problem.space.point(index)))


def _place(point: Record) -> str:
    axes = {**point["config"], **point.get("numbers", {})}
    return " ".join(f"{name}={value}" for name, value in axes.items() if value)


def _priced(document: Record, point: Record) -> list[Any]:
    """Objectives, step, equals and interval."""
    objectives = [point[name] for name in document["objectives"].values()]
    return [*objectives, point["step_s"], point["ties"], point["interval"]]


def _odds(certainty: Record) -> Iterator[tuple[str, list[float | None]]]:
    """Of the purchases that are compared: on the front, best by the rule, within every limit, and
    beaten by the recommended one."""
    for choice in certainty["choices"]:
        yield _place(choice), [choice[name] for name in ("on_front", "best", "meets_all", "beaten")]


def _fleet(path: Path) -> Golden:
    found = plain_fleet(answer(read_fleet(path)))
    for part in ("timings", "path", "study_text", "hashes", "sources", "command", "created",
                 "versions"):  # fmt: skip
        del found[part]
    del found["population"]["path"]
    parts = {part: entries if isinstance(entries, dict | list) else [entries]
             for part, entries in found.items()}  # fmt: skip
    return Golden(
        {part: numbers(entries) for part, entries in parts.items()},
        {part: words(entries) for part, entries in parts.items()},
    )
