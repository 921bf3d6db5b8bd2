"""Names a study may use, and what to say about one that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from dse.currencies import Rate
from dse.spelling import MOST, alike, alternatives, like, real_name, same, told
from dse.study.aggregation_name import AggregationName
from dse.study.axes import ROWS
from dse.yaml_source import Source

MOST_LISTED = 12
ALIAS_LIKE = 0.7  # of difflib's ratio: below, a word is no misspelt alias


@dataclass(frozen=True)
class Names:
    """What the catalogue knows; the caller passes it in, since a study may not import it."""

    workloads: tuple[str, ...] = ()
    accelerators: tuple[str, ...] = ()
    fabrics: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    transports: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()
    approaches: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    aliases: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    products: Mapping[str, str] = field(default_factory=dict)  # that it lacks, and why
    usual_optimizer: Callable[[object], str | None] = lambda _: None  # by what is trained
    # of currencies, by a study and its price lists
    rates: Callable[[Source, Sequence[str | tuple[str | int, ...]]], Mapping[str, Rate]] = (
        lambda *_: {}
    )

    def real(self, kind: str, word: str, known: Iterable[str] | None = None) -> str:
        """The name that a word means; the word itself where it means none.

        kind: a field of this class, ``aggregations``, ``quantities``, or an axis, of which the last
        two say what is ``known``.
        """
        names = getattr(self, kind) if known is None else known
        return real_name(word, names, self.aliases.get(kind, {}))

    def told(self, kind: str, word: str) -> str:
        """What to tell of a word that could mean several things; nothing of another."""
        meanings = self.aliases.get(kind, {}).get(same(word), ())
        return told(word, meanings) if len(meanings) > 1 else ""

    @cached_property
    def aggregations(self) -> Mapping[str, AggregationName]:
        """Every ``<algorithm>-<transport>``, and every approach, by its text."""
        pairs = [AggregationName(how, over) for how in self.algorithms for over in self.transports]
        named = [AggregationName(approach=name) for name in self.approaches]
        return {name: name for name in (*pairs, *named)}


# What people call the keys and quantities of a study, by name, as rows of axes have it; suggested
# where the name may stand there.
_WORDS = {
    "study": "name title",
    "space": "axes options hardware",
    "workload": "network net model",
    "global_batch": "batch batch_size",
    "calibration": "profile profiles measurements",
    "when": "condition conditions",
    "constraints": "limit limits budget deadline",
    "capital": "budget dollars money usd",
    "time_to_target": "deadline time days hours",
    "objectives": "goal goals objective optimize optimise",
    "maximize": "max",
    "minimize": "min",
    "search": "engine seed",
    "target": "steps epochs samples",
    "samples_to_target": "epochs samples",
    "region": "location",
    "memory_slack": "memory",
    "fits_memory": "memory",
    "step": "time latency",
    "hourly": "price_per_hour cost_per_hour",
    "power": "watts",
    "energy": "kwh",
    "carbon": "emissions",
}


def misspelt(missing: str, unknown: Iterable[str], known: Iterable[str]) -> bool:
    """Whether a key that is missing may be one of those that are unknown, in another spelling."""
    candidates = list(known)
    meanings = (_meant(key, candidates) for key in unknown)
    return any(missing in meaning or not meaning for meaning in meanings)


def _meant(
    word: str, known: Sequence[str], aliases: Mapping[str, tuple[str, ...]] = MappingProxyType({})
) -> tuple[str, ...]:
    """The known names that a word may mean: as people call them, in this spelling or another."""
    found = alike(word, known)
    if any(same(name) in (same(word), f"{same(word)}s") for name in found[:1]):
        return found[:1]
    plain, words = same(word), {row.name: row.called for row in ROWS} | _WORDS
    called = [name for name in words if name in known and plain in map(same, words[name].split())]
    if called:
        return tuple(called)
    slips = difflib.get_close_matches(plain, aliases, MOST, ALIAS_LIKE)
    if not slips or any(same(name).startswith(plain) for name in known):
        return found
    nearest = like(plain, slips[0])
    if any(like(plain, same(name)) >= nearest for name in known):
        return found
    slips = [alias for alias in slips if like(plain, alias) == nearest]
    meanings = dict.fromkeys(name for alias in slips for name in aliases[alias])
    return found if {*meanings} <= {*found} else tuple(meanings)[:MOST]


def suggest(
    name: str,
    known: Iterable[str],
    otherwise: str = "",
    aliases: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> str:
    """'did you mean resnet50?', or what is known, or ``otherwise``.

    aliases: of these names, which may have been meant and misspelt.
    """
    candidates = list(known)
    near = _meant(name, candidates, aliases)
    if near:
        return f"did you mean {alternatives(near)}?"
    if otherwise or not 0 < len(candidates) <= MOST_LISTED:
        return otherwise or "see `dse catalog` for what is known"
    return f"use {alternatives(candidates)}"
