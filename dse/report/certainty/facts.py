"""How sure the answer is, as the document of a run holds it.

A field with a default may be absent: a file of an older version does not have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from dse.catalog.price_spread import Standing
from dse.report.json_form import IF_ANY

Bounds: TypeAlias = tuple[float, float]  # low, high
Word: TypeAlias = Literal["measured", "near", "estimated"]


@dataclass(frozen=True, kw_only=True)
class Ordered:
    """What is ordered for a point, where that is more accelerators than train, since fewer are not
    sold. boards: what they stand on, in words; empty where that is not known."""

    accelerators: int
    boards: str = ""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A purchase near the front, as the point that is best of it.

    role: what the answer calls it; empty for a rival. gain, cost: by the best estimate. bands: 90 %
    intervals by quantity; middles: the medians of the draws. on_front, best: the probabilities to
    be on the front, and to be the best by the rule. alike: whether it is the same choice as the
    recommended purchase; None where an older version wrote it. met: by constraint, the probability
    to meet it; meets_all: all of them. beaten: in which share of the draws the recommended choice
    is worth more, of those in which one is; None for that itself. decided: the share of the draws
    in which one is. regret: of the rule's aim, the share that it is expected to miss. ordered: None
    where that is what trains. misses: the limits that it does not meet in the best estimate.
    """

    role: str = ""
    config: Mapping[str, str]
    gain: float | None
    cost: float | None
    bands: Mapping[str, Bounds] = field(default_factory=dict)
    middles: Mapping[str, float] = field(default_factory=dict)
    on_front: float
    best: float
    met: Mapping[str, float] = field(default_factory=dict)
    meets_all: float
    beaten: float | None = None
    decided: float = 1.0
    regret: float
    alike: bool | None = None
    ordered: Ordered | None = None
    misses: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SourceEffect:
    """What one source of uncertainty does to the recommended point.

    gain, cost_per_gain: relative to the best estimate, where the source alone goes to its 5th and
    its 95th percentile. gain_total, cost_total: total-order Sobol indices.
    """

    source: str
    title: str
    gain: Bounds
    cost_per_gain: Bounds
    gain_total: float
    cost_total: float


@dataclass(frozen=True, kw_only=True)
class Decider:
    """A source of uncertainty that decides whether the recommended point meets a limit.

    limit: its text. quantity: what it limits; empty where that is not a single one. share: a
    total-order Sobol index, of the variance of the logarithm of what is limited.
    """

    limit: str
    quantity: str
    source: str
    title: str
    share: float


@dataclass(frozen=True, kw_only=True)
class Turn:
    """From which factor of a price, or of a rate, on something else is recommended, and what.
    ordered: None where that is what trains. likely: the probability of such a rate, or of one
    farther from the estimate; None of a price."""

    factor: float
    config: Mapping[str, str] = field(default_factory=dict)
    ordered: Ordered | None = None
    likely: float | None = field(default=None, metadata=IF_ANY)


@dataclass(frozen=True, kw_only=True)
class Deciding:
    """A training rate of one accelerator, and from which on the answer is another.

    accelerator: a name of the catalogue. precision, batch, optimizer: of the training.
    samples_per_s: the estimate. lower, higher: None where no rate within the interval changes the
    answer.
    """

    accelerator: str
    precision: str
    batch: float
    optimizer: str
    samples_per_s: float
    lower: Turn | None = None
    higher: Turn | None = None

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Those that there are, the likeliest first."""
        both = [turn for turn in (self.lower, self.higher) if turn]
        return tuple(sorted(both, key=lambda turn: -(turn.likely or 0.0)))


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    """What it is worth to know a number before deciding: of the rule's aim, the share that is
    gained. how: to find it out, in words. deciding: what measured rates change the answer; None
    where none is known to."""

    name: str
    title: str
    worth: float
    how: str
    deciding: Deciding | None = field(default=None, metadata=IF_ANY)


@dataclass(frozen=True, kw_only=True)
class KnownPrice:
    """What is known of the price of a part, or of the parts of a network.

    usd: of one, an hour where it is rented; None of a network, which is several. bounds: the 90 %
    interval of what is asked for it, as factors of that. own: whether it is the buyer's. expired:
    whether an offer is past its last day, or old without one. date: of the oldest; empty where one
    has none. age_years: of the oldest, None where one has no date. checked: False where one is from
    memory. estimate: whether one is what somebody who does not sell it writes. seller: who asks it,
    empty where that is not known, or where they are several.
    """

    usd: float | None = None
    bounds: Bounds = (1.0, 1.0)
    own: bool
    expired: bool = False
    date: str = ""
    age_years: float | None = None
    checked: bool = True
    estimate: bool = False
    seller: str = ""

    @property
    def standing(self) -> Standing:
        """How far the buyer may rely on it."""
        return Standing(self.own, self.checked, self.expired, self.age_years, self.estimate)


@dataclass(frozen=True, kw_only=True)
class SeenPrice:
    """Another price of the catalogue at which something else is recommended. usd: of one. source:
    key of the catalogue. detail: whose price it is, as the catalogue tells. with_server: whether it
    pays a share of a server. above: whether it is above what the answer bears, or below.
    on_demand_usd: of a rent on another term, which is less."""

    usd: float
    date: str
    source: str
    detail: str = ""
    with_server: bool = False
    above: bool = True
    on_demand_usd: float | None = field(default=None, metadata=IF_ANY)


@dataclass(frozen=True, kw_only=True)
class PriceFlip:
    """What the price of a part decides. share: of the cost ``of``, at the recommended point, 0
    where only its rivals have the part. of: the first quantity that depends on the price, of those
    that the study minimizes, then limits; empty where an older version wrote it. rise, fall: None
    where a factor of ten changes nothing. compared: False where nobody knows that, since draws are
    compared by another rule than that which recommends. known: None where an older version wrote
    it. seen: the highest and the lowest of the catalogue's other prices, where that changes the
    answer."""

    part: str
    title: str
    share: float
    rise: Turn | None = None
    fall: Turn | None = None
    of: str = ""
    compared: bool = True
    known: KnownPrice | None = None
    seen: tuple[SeenPrice, ...] = ()


@dataclass(frozen=True, kw_only=True)
class NextBest:
    """Purchases that are other choices than the recommended one. by_regret: the one that is
    expected to miss the least, of those that are as sure as was asked; None where that is more than
    the recommended one is expected to miss, or this hardly misses anything. usual: what the study
    would recommend if it asked for the probability ``confidence`` to meet every limit; None where
    it asks for one, or the recommended one has it. reached: whether any has it; False where
    ``usual`` is the surest, which may be the recommended one."""

    by_regret: Choice | None = None
    usual: Choice | None = None
    confidence: float
    reached: bool = True


@dataclass(frozen=True, kw_only=True)
class Certainty:
    """How sure the answer is.

    draws: of how many points. best: the probability of the recommended choice, all its purchases
    together, to be the best by the rule; None where an older version wrote it. whole: whether
    points beside the front were looked for. rule: by which points were compared. word: for the
    answer; why: it is that one; raised_by: what would raise it. choices: the recommended purchase,
    then named ones and rivals by falling probability. sources: by falling share of the variance;
    dead_sources, dead_axes: what moves nothing by more than 1 %. all_known: what it would be worth
    to know everything. flips: by falling share. next_best: None where no other choice is as good
    on average or surer. deciding: what decides whether the recommended purchase meets the limits
    that it may miss, limit by limit, by falling share; None where it misses none.
    """

    draws: int
    points: int
    purchases: int
    whole: bool
    rule: str
    word: Word
    why: str
    raised_by: str
    choices: tuple[Choice, ...]
    sources: tuple[SourceEffect, ...] = ()
    dead_sources: tuple[str, ...] = ()
    dead_axes: tuple[str, ...] = ()
    knowledge: tuple[Knowledge, ...] = ()
    all_known: float = 0.0
    best: float | None = None
    flips: tuple[PriceFlip, ...] = ()
    next_best: NextBest | None = None
    deciding: tuple[Decider, ...] | None = field(default=None, metadata=IF_ANY)
