"""The terms a study rents on: its own, else those of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dse import catalog
from dse.catalog import Fact
from dse.catalog.scale import Spread
from dse.model.arrays import ArrayLike
from dse.model.goodput import Failures
from dse.model.money import Billing
from dse.pricing.draws import normal
from dse.study.terms import ON_DEMAND, SPOT, StudyRental


@dataclass(frozen=True)
class Rental:
    """By the best estimates, or as many draws of them, (draws,): one factor for all points.

    awaited: whether runs wait for machines to start; what is not waited for is not drawn. use: in
    what share of all hours the machines are in use, which is paid for whole by a commitment.
    rent_class: of the sellers, whose discounts count.
    """

    study: StudyRental
    draws: int = 0
    awaited: bool = False
    use: float = 1.0
    rent_class: str = ""

    @property
    def start_up_s(self) -> ArrayLike:
        """Until machines train; 0 of those of a commitment, which stand there."""
        if self.study.committed:
            return 0.0
        known, given = catalog.rental_facts().start_up_s, self.study.given
        if "start_up" in given:
            return given["start_up"]
        return self._drawn(known, "start_up") if self.awaited else known.value

    @property
    def billing(self) -> Billing:
        """What the term costs, and what a run is billed."""
        known, given = catalog.rental_facts(), self.study.given
        share: ArrayLike = 1 - given.get("discount", 0.0)
        offered = known.discount(self.rent_class, self.study.term)
        if "discount" not in given and offered is not None:
            share = self._drawn(Spread(1 - offered.value, offered.draws), "discount")
        if self.study.committed:
            return Billing(share, in_use=self.use)
        return Billing(
            share,
            given.get("minimum", known.minimum_s),
            given.get("billing_unit", known.billing_unit_s),
            self.start_up_s,
        )

    @property
    def price_share(self) -> float:
        """The share of the price on demand that the term costs, by the best estimate."""
        return float(np.ravel(replace(self, draws=0).billing.price_share)[0])

    def share_of(self, price: Fact | None) -> float:
        """The share of a price by the hour that is paid, by the best estimate: all of one that is
        of the study's term already."""
        return 1.0 if self.has(price) else self.price_share

    def has(self, price: Fact | None) -> bool:
        """Whether a price by the hour is one of the study's term, of which nothing is off."""
        term = price.offer.term if price and price.offer else ""
        return term == self.study.term and term != ON_DEMAND

    def rented_in(self, accelerator: str) -> float:
        """How many are rented at once: those of a machine that is rented whole."""
        known = catalog.rental_facts().rented_in
        return self.study.given.get("rented_in", known.get(accelerator, 1.0))

    def interrupted(self, failures: Failures) -> Failures:
        """Failures, and the interruptions of spot machines where that is the term."""
        if self.study.term != SPOT:
            return failures
        known, given = catalog.rental_facts(), self.study.given
        spell: ArrayLike = given.get("spell", 0.0) or self._drawn(known.spell_s, "spell")
        wait = given["wait"] if "wait" in given else self._drawn(known.wait_s, "wait")
        return replace(
            failures,
            interruptions_per_s=1 / spell,
            interruption_power=0.0 if "spell" in given else known.spell_power,
            restart_s=self.start_up_s,
            wait_s=wait,
        )

    def _drawn(self, term: Spread, name: str) -> ArrayLike:
        if not self.draws:
            return term.value
        return np.asarray(term.value * np.exp(term.draws * normal(f"rental {name}", self.draws)))
