"""A term that a study rents on: its own words of it, else those of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass

from dse import catalog
from dse.catalog import Fact
from dse.catalog.scale import Spread
from dse.model.arrays import ArrayLike
from dse.model.money import Billing
from dse.pricing.draws import log_normal
from dse.study.terms import ON_DEMAND, SPOT, StudyRental


@dataclass(frozen=True)
class Rental:
    """By the best estimates, or as many draws of them, (draws,): one factor for all points.

    awaited: whether runs wait for machines to start; what is not waited for is not drawn. use: in
    what share of all hours the machines are in use, which is paid for whole by a commitment.
    rent_class: of sellers, whose discounts count where a price is of no class.
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
    def awaited_s(self) -> ArrayLike:
        """For how long a run waits for its machines; 0 of what is bought."""
        return self.start_up_s if self.awaited else 0.0

    @property
    def billing(self) -> Billing:
        """What a run is billed."""
        known, given = catalog.rental_facts(), self.study.given
        if self.study.committed:
            return Billing(in_use=self.use)
        return Billing(
            given.get("minimum", known.minimum_s),
            given.get("billing_unit", known.billing_unit_s),
            self.start_up_s,
        )

    def share_of(self, price: Fact | None) -> ArrayLike:
        """The share of a price by the hour that is paid: all of one that is of the term already,
        else what the study, or the class of its sellers, leaves of a price on demand."""
        term = price.offer.term if price and price.offer else ""
        if term == self.study.term and term != ON_DEMAND:
            return 1.0
        term = self.study.term
        if term in self.study.discounts:
            return 1 - self.study.discounts[term]
        kind = catalog.class_of(price) or self.rent_class
        off = catalog.rental_facts().discount(kind, term)
        return 1.0 if off is None else self._drawn(
            Spread(1 - off.value, off.draws), f"discount: {kind}, {term}"
        )  # fmt: skip

    def rented_in(self, accelerator: str) -> float:
        """How many are rented at once: those of a machine that is rented whole."""
        known = catalog.rental_facts().rented_in
        return self.study.given.get("rented_in", known.get(accelerator, 1.0))

    @property
    def taken_away(self) -> bool:
        """Whether its machines may be: spot machines."""
        return self.study.term == SPOT

    @property
    def interruptions_per_s(self) -> ArrayLike:
        """How often one machine is taken away."""
        if not self.taken_away:
            return 0.0
        given = self.study.given.get("spell", 0.0)
        return 1 / (given or self._drawn(catalog.rental_facts().spell_s, "spell"))

    @property
    def interruption_power(self) -> float:
        """See :class:`~dse.model.goodput.Failures`; 0 of a spell that the study gives."""
        return 0.0 if "spell" in self.study.given else catalog.rental_facts().spell_power

    @property
    def wait_s(self) -> ArrayLike:
        """Until machines are back that were taken away."""
        if "wait" in self.study.given or not self.taken_away:
            return self.study.given.get("wait", 0.0)
        return self._drawn(catalog.rental_facts().wait_s, "wait")

    def _drawn(self, term: Spread, name: str) -> ArrayLike:
        return log_normal(term.value, term.draws, f"rental {name}", self.draws)
