"""What a search is a search of, in so much detail that two of them can be told apart in words."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from dse import catalog
from dse.catalog import Fact, PriceList
from dse.pricing.problem import Problem
from dse.search import exhaustive
from dse.version import __version__

Fingerprint: TypeAlias = Mapping[str, Any]

# What of the package decides what a point costs and which points there are.
_DECIDING = ("catalog", "study", "model", "calibration", "pricing", "search", "units.py",
             "currencies.py", "yaml_source.py")  # fmt: skip
# Where it is searched is no matter.
_CARRYING = {"executors", "ray_session.py"}
# Keys of a study that change neither its points nor their prices.
_IRRELEVANT = ("description", "recommend", "confidence", "executor", "search.engine",
               "search.budget", "search.seed")  # fmt: skip
_SHOWN = 3  # differences that are named
_LONGEST = 60  # characters of a value that are shown
_ABSENT = "absent"


def fingerprint(
    problem: Problem, engine: str, choices: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What a search and the one that goes on with it must agree on, as JSON.

    Groups by name, each a text or a mapping, in the order in which differences are named.
    choices: what else a guided search follows from, such as its seed.
    """
    installed = installation()
    return {
        "engine": engine,
        **(choices or {}),
        "dse": installed["dse"],
        "numpy": installed["numpy"],
        "study": {
            key: value
            for key, value in _flat("", problem.study.source.data)
            if not any(key == name or key.startswith(f"{name}.") for name in _IRRELEVANT)
        }
        | {
            f"question --{name}": text
            for name, text in problem.study.questions.items()
            if name not in _IRRELEVANT
        },
        "prices": dict(_flat("", _prices(problem.prices))),
        "profiles": {name: found.content_hash for name, found in problem.profiles.items()},
        "catalogue": installed["catalogue"],
        "workload and prices": problem.inputs_hash,
        "points per unit of work": exhaustive.CHUNK_POINTS,
        "units of work": exhaustive.MOST_UNITS,
        "points per block": exhaustive.BOX_POINTS,
    }


def installation() -> dict[str, Any]:
    """What, of this machine, decides a price: it must be alike on all that price for one search."""
    return {
        "dse": version(),
        "numpy": np.__version__,
        "catalogue": catalog.file_hashes(),
    }


@cache
def processor() -> str:
    """The kind of processor: its instructions that numpy uses; last digits may hang on them."""
    found = np.show_config(mode="dicts")["SIMD Extensions"]
    return " ".join((*found["baseline"], *found["found"]))


def version() -> str:
    """The version of dse, with a hash of its code that decides prices."""
    return f"{__version__} (code {_code_hash()[:12]})"


def disagreement(here: Mapping[str, Any], there: Mapping[str, Any]) -> str:
    """What another machine's :func:`installation` has otherwise, in words; empty if nothing."""
    found = [
        f"has {name} {there[name]}, not {here[name]} as here"
        for name in ("dse", "numpy")
        if there[name] != here[name]
    ]
    mine, theirs = here["catalogue"], there["catalogue"]
    names = [name for name in dict.fromkeys((*mine, *theirs)) if mine.get(name) != theirs.get(name)]
    if names:
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        found.append(f"has another catalogue: {', '.join(names[:_SHOWN])}{more}")
    return "; ".join(found)


def difference(was: Fingerprint, now: Fingerprint) -> str:
    """What differs, in words, the first few; empty where nothing does."""
    found = [text for group in now for text in _between(group, was.get(group), now[group])]
    more = len(found) - _SHOWN
    return "; ".join(found[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def _between(group: str, was: Any, now: Any) -> Iterator[str]:
    if not (isinstance(was, Mapping) and isinstance(now, Mapping)):
        if was != now:
            yield _changed(group, _ABSENT if was is None else was, now)
        return
    for key in dict.fromkeys((*now, *was)):
        before, after = was.get(key, _ABSENT), now.get(key, _ABSENT)
        if before != after:
            if group in ("study", "prices"):
                yield _changed(f"{key} of the {group}", before, after)
                continue
            what = "profile" if group == "profiles" else f"file of the {group}"
            how = {before: "is new", after: "is gone"}.get(_ABSENT, "has changed")
            yield f"{what} {key} {how}"


def _changed(what: str, was: Any, now: Any) -> str:
    return f"{what} was {_short(was)}, is {_short(now)}"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _prices(prices: PriceList) -> Mapping[str, Any]:
    """What decides the price of a point."""
    found = vars(prices).items()
    return {name: value for name, value in found if isinstance(value, Mapping | Fact)}


def _flat(path: str, data: Any) -> Iterator[tuple[str, Any]]:
    """The scalars of nested mappings and lists, facts among them: ``space.gpus[2]`` -> 16."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            yield from _flat(f"{path}.{key}" if path else str(key), value)
    elif isinstance(data, list | tuple):
        for number, value in enumerate(data, 1):
            yield from _flat(f"{path}[{number}]", value)
    elif isinstance(data, Fact) and data.value is not None:
        yield path, f"{data.value:,.12g} {data.unit}".strip()
    elif isinstance(data, Fact):
        yield path, data.text
    else:
        yield path, data if isinstance(data, str | int | float | None) else str(data)


@cache
def _code_hash() -> str:
    """SHA-256 of the code that decides a search's result."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for name in _DECIDING:
        room = package / name
        for path in [room] if room.is_file() else sorted(room.rglob("*.py")):
            if _CARRYING & {path.name, path.parent.name}:
                continue
            digest.update(path.relative_to(package).as_posix().encode() + b"\0")
            digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()
