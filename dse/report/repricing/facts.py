"""What a page prices points anew from, as the document of a run holds it.

Arrays of draws are base64 of little-endian 32-bit floats, row by row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dse.report.json_form import IF_ANY

Quantities = tuple[tuple[int, float | None], ...]  # (position among the parts, how many)


@dataclass(frozen=True, kw_only=True)
class Part:
    """What has a price: for one, in USD, or in USD per hour where it is rented; None where it is
    not known. of_term: whether its rent is one of the study's term, of which ``usd`` is the price
    on demand that the term would have."""

    part: str
    usd: float | None
    rented: bool = False
    of_term: bool | None = field(default=None, metadata=IF_ANY)


@dataclass(frozen=True, kw_only=True)
class Extras:
    """What is bought beside the hardware: a share of its price, USD once, and USD a host. Each as
    what is paid once, and a year."""

    share: tuple[float, float] = (0.0, 0.0)
    once_usd: tuple[float, float] = (0.0, 0.0)
    node_usd: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What holds for all points. rent_share: of the rent on demand that the study's term costs."""

    electricity_usd_per_kwh: float | None
    pue: float | None
    amortisation_years: float | None
    carbon_kg_per_kwh: float | None
    residual_value: float = 0.0
    utilisation: float = 1.0
    rent_share: float = 1.0
    extras: Extras = field(default_factory=Extras)


@dataclass(frozen=True, kw_only=True)
class RepricedPoint:
    """A point that may be recommended. purchase: which; points of one differ in software alone.
    bought, rented, servers, hosts, adds, housed_w: see
    :class:`dse.pricing.composition.Composition`. numbers: quantities that no price changes.
    retired: the part, of those that it buys, that is no longer sold new and that the study leaves
    out where anything is; None where there is none. A price of the reader's own admits it.
    """

    config: Mapping[str, str]
    immaterial: tuple[str, ...] = ()
    gpus: float
    nodes: float
    purchase: int
    bought: Quantities
    rented: Quantities
    servers: float
    hosts: float
    adds: bool = True
    housed_w: float | None
    numbers: Mapping[str, float | None]
    retired: int | None = None


@dataclass(frozen=True, kw_only=True)
class Chances:
    """Of a point at the study's prices, in all draws: the probability to meet every limit, that of
    its purchase to be the best by the rule, the expected regret of its purchase, and its own if its
    software stays. alone: None where an older version wrote it."""

    met: float
    best: float
    regret: float
    alone: float | None = None


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """The first ``count`` draws. prices: factors of the parts' prices, (draws, parts). rent_share:
    (draws,), empty where it is certain. rates: factors of the rates of :class:`Terms` that are not
    certain, (draws,) each. housed: of the points' watts, (draws, points), empty where they are
    certain. columns: what no price changes, as factors of the best
    estimate, (draws, points). met: whether the limits hold that no price changes, a bit each,
    (draws, points), empty where there are none."""

    count: int
    prices: str
    rent_share: str = ""
    rates: Mapping[str, str] = field(default_factory=dict)
    housed: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    met: str = ""


@dataclass(frozen=True, kw_only=True)
class Repricing:
    """Points that may be recommended, and what they are priced from.

    recommended: position of the recommended point. compared: the rule by which draws compare
    points, where the recommended one has the least regret. confidence: that the study asks for.
    limits: those that prices may change; uncertain: those that hold by chance only. near: how many
    points, the first ones, are near the front at the study's prices; chances: theirs. sells_new:
    whether any machine of the study is sold new at its prices.
    """

    recommended: int
    compared: str
    confidence: float | None = None
    limits: tuple[str, ...] = ()
    uncertain: tuple[str, ...] = ()
    near: int
    parts: tuple[Part, ...]
    terms: Terms
    points: tuple[RepricedPoint, ...]
    chances: tuple[Chances, ...]
    drawn: Drawn
    sells_new: bool = True
