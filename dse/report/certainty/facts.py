"""How sure the answer is, as the document of a run holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dse.report.design_point import Bounds

RECOMMENDED = "recommended"  # the role of the first choice
SURE = 0.995  # a probability that reads 100 %


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A purchase near the front, as the point that is best of it.

    role: what the answer calls it; empty for a rival. gain, cost: by the best estimate. bands: 90 %
    intervals by quantity. on_front, best: the probabilities to be on the front, and to be the best
    by the rule. met: by constraint, the probability to meet it; meets_all: all of them. beaten: in
    which share of the draws the recommended choice is worth more, of those in which one is; None
    for that itself. decided: the share of the draws in which one is. regret: of the rule's aim, the
    share that it is expected to miss. alike: whether it is the same choice as the recommended one.
    """

    role: str = ""
    config: Mapping[str, str]
    gain: float | None
    cost: float | None
    bands: Mapping[str, Bounds]
    on_front: float
    best: float
    met: Mapping[str, float]
    meets_all: float
    beaten: float | None
    decided: float
    regret: float
    alike: bool

    @property
    def missed(self) -> tuple[str, ...]:
        """The constraints that it may miss."""
        return tuple(text for text, share in self.met.items() if share < SURE)


@dataclass(frozen=True, kw_only=True)
class SourceEffect:
    """The share of one source in what is not known of the recommended point.

    gain_total, cost_total: total-order Sobol indices of the gain and of the cost per gain. limits:
    the same of what constraints limit, by the texts of those that may be missed.
    """

    source: str
    title: str
    gain_total: float
    cost_total: float
    limits: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Turn:
    """The factor of a price from which on something else is recommended, and what; an empty config
    where nothing meets the limits then."""

    factor: float
    config: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class KnownPrice:
    """The price of a part, or of the parts of a network, as far as it is known.

    usd: of one, an hour where it is rented; None of a network, which is several. bounds: the 90 %
    interval of what is asked for it, as factors of that. date: of the oldest; empty where one has
    none. own: whether it is the buyer's. checked, expired, estimate: whether
    it is not marked as unverified, an offer past its last day, what somebody wrote who does not
    sell the part; of several of the least reliable. age_years: None where one has no date.
    """

    usd: float | None
    bounds: Bounds
    date: str
    own: bool
    checked: bool
    expired: bool
    age_years: float | None
    estimate: bool

    @property
    def offered(self) -> bool:
        """Whether it is a valid offer, which the buyer pays."""
        return self.own and self.checked and not self.expired and not self.estimate


@dataclass(frozen=True, kw_only=True)
class PriceFlip:
    """What the price of a part decides. share: of the cost ``of``, at the recommended point, 0
    where only its rivals have the part. of: the first quantity that depends on the price, of those
    that the study minimizes, then limits. rise, fall: None where a factor of ten changes
    nothing. known: None where the part has no price of its own."""

    part: str
    title: str
    share: float
    of: str
    rise: Turn | None
    fall: Turn | None
    known: KnownPrice | None


@dataclass(frozen=True, kw_only=True)
class Certainty:
    """How sure the answer is.

    draws: of how many points, which are so many purchases. whole: whether points beside the front
    were looked for. rule: by which points were compared. best: the probability of the recommended
    choice, all its purchases together, to be the best. choices: the recommended purchase, then
    named ones and rivals by falling probability. sources, flips: by falling share.
    """

    draws: int
    points: int
    purchases: int
    whole: bool
    rule: str
    best: float
    choices: tuple[Choice, ...]
    sources: tuple[SourceEffect, ...]
    flips: tuple[PriceFlip, ...]

    @property
    def unsure_limits(self) -> tuple[str, ...]:
        """The constraints that some purchase may miss."""
        missed = {text for choice in self.choices for text in choice.missed}
        return tuple(text for text in self.choices[0].met if text in missed)

    def choice(self, config: Mapping[str, str]) -> Choice | None:
        """The purchase of a point; None where it is not among these."""
        return next((one for one in self.choices if one.config == config), None)
