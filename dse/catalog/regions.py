"""Where a cluster stands: what electricity costs there, and what its generation emits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from dse.catalog.facts import UNITS, Fact, day_of
from dse.catalog.store import Row, row, sources

GRAMS_PER_KILOGRAM = 1000.0


@dataclass(frozen=True, eq=False)
class Region:
    """A country, a state of the US, or a region of a cloud.

    carbon_kg_per_kwh: greenhouse gases of what was generated on average, as CO2, not of one more
    kilowatt-hour. electricity_usd_per_kwh: to industry; None where the table has no price.
    """

    name: str
    title: str
    carbon_kg_per_kwh: Fact
    electricity_usd_per_kwh: Fact | None
    notes: str = "The carbon is an average over all generation, not that of one more kilowatt-hour."

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Its numbers."""
        price = self.electricity_usd_per_kwh
        return (self.carbon_kg_per_kwh, *([price] if price else []))


@cache
def region(name: str) -> Region:
    """The region of that name. Raises :class:`~dse.catalog.store.UnknownName`."""
    found = row("regions", name)
    carbon = _fact(found, "carbon", "carbon_g_per_kwh", "kg_per_kwh", GRAMS_PER_KILOGRAM)
    price = _fact(found, "electricity", "electricity_usd_per_kwh", "usd_per_kwh", 1.0)
    if carbon is None:
        raise found.wrong("carbon_g_per_kwh is missing")
    return Region(name, found.cells["title"], carbon, price)


def _fact(found: Row, key: str, column: str, dimension: str, divisor: float) -> Fact | None:
    """A number of the row with its source; None where the cell is empty."""
    text, date = found.cells.get(column, ""), found.cells.get(f"{key}_date", "")
    if not text:
        return None
    source = sources().get(found.cells.get(f"{key}_source", ""))
    if source is None:
        raise found.wrong(f"{key} has no source of sources.yaml")
    try:
        value, _ = float(text) / divisor, day_of(date)
    except ValueError as cause:
        raise found.wrong(f"{column} is not a number, or {key}_date no date") from cause
    unit = UNITS[dimension]
    return Fact(
        name=key,
        value=value,
        unit=unit,
        text=f"{value:.4g} {unit}",
        source=source.key,
        accessed=source.accessed,
        detail=found.cells["title"],
        date=date,
        status="derived" if divisor != 1 else "sourced",
    )
