"""Terms of renting: discounts, billing, how long spot machines stay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dse.catalog.facts import Fact
from dse.catalog.reader import Entry, of_catalogue
from dse.catalog.rents import NEOCLOUD
from dse.catalog.scale import Spread


@dataclass(frozen=True)
class RentalFacts:
    """What is known of renting.

    discounts: by class of sellers and term, shares off the price on demand; their ``draws`` are
    those of the logarithm of what is left. start_up_s: until machines train. spell_s, wait_s: for
    how long one spot accelerator stays, and until it is back; n together stay for n to the power
    -``spell_power`` of it. rented_in: by accelerator, how many a machine has that is rented whole.
    """

    discounts: Mapping[str, Mapping[str, Spread]]
    minimum_s: float
    billing_unit_s: float
    start_up_s: Spread
    spell_s: Spread
    spell_power: float
    wait_s: Spread
    rented_in: Mapping[str, float]
    facts: tuple[Fact, ...]

    def discount(self, rent_class: str, term: str) -> Spread | None:
        """What a class of sellers takes off for a term, neoclouds where it is not known; None of
        rents on demand."""
        return self.discounts.get(rent_class, self.discounts[NEOCLOUD]).get(term)


@of_catalogue("rental.yaml")
def rental_facts(entry: Entry) -> RentalFacts:
    """Those of the catalogue."""
    entry.text("name")
    entry.text("title")
    offered = entry.section("discounts")
    discounts = {}
    for name in offered.labels():
        own = offered.section(name)
        discounts[name] = {term: Spread.read(own, term, "share") for term in own.labels()}
    spot = entry.section("spot")
    return RentalFacts(
        discounts=discounts,
        minimum_s=entry.known("minimum", "seconds"),
        billing_unit_s=entry.known("billing_unit", "seconds"),
        start_up_s=Spread.read(entry, "start_up", "seconds"),
        spell_s=Spread.read(spot, "spell", "seconds"),
        spell_power=spot.known("spell_power", "count"),
        wait_s=Spread.read(spot, "wait", "seconds"),
        rented_in=entry.known_numbers("rented_in"),
        facts=tuple(entry.facts),
    )
