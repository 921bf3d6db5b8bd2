"""The facts behind a run as the report shows them: those that matter most, and a file of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

from dse import catalog
from dse.catalog import Citation
from dse.pricing.offers import part
from dse.report import words
from dse.report.design_point import Point
from dse.report.document import RunDocument
from dse.report.front_columns import Column
from dse.report.provenance import OWN

SHOWN = 20
_PRICES = ("prices.", "accelerators.")  # how facts begin that are prices
_RATES = ("memory_bandwidth", "intra_node_bandwidth", "bandwidth", "latency.")


def foremost(document: RunDocument) -> list[Citation]:
    """The inputs that matter most: prices and rates of the recommended point, then of the baseline,
    then what all points share. An address that is none of the web is left out."""
    return [
        replace(row, url=row.url if row.url.startswith(("https://", "http://")) else "",
                fact=part(row.fact) if row.item == OWN else row.fact)
        for row in sorted(document.sources, key=_order(document))[:SHOWN]
    ]  # fmt: skip


def _order(document: RunDocument) -> Callable[[Citation], tuple[bool, int, bool]]:
    """What inputs are sorted by: whether it is neither price nor rate, how far it is from the
    answer, whether it is no price."""
    best, base = document.recommended, document.baseline
    ordered, owned = _parts_of(best), _parts_of(base)
    offered = {label for axis in document.axes for label in axis.values}
    peaks = {f"peak.{words.label(point, 'precision')}" for point in (best, base)}

    def order(row: Citation) -> tuple[bool, int, bool]:
        own = row.item == OWN
        name = part(row.fact).partition(" ")[0] if own else row.item.rpartition(" ")[2]
        price = own or row.item == "prices" or row.fact.startswith(_PRICES)
        counts = price or row.fact in peaks or row.fact.startswith(_RATES)
        chosen = name in offered or row.item.partition(" ")[0] in ("accelerator", "node", "fabric")
        far = 0 if name in ordered else 1 if name in owned else 3 if chosen else 2
        return not counts or far == 3, far, not price

    return order


def _parts_of(point: Point) -> set[str]:
    """What a point is made of, by name, the accelerators of its nodes included."""
    named = {words.label(point, axis) for axis in point.config}
    machines = named & {*catalog.names("nodes")}
    return named | {catalog.node(name).accelerator for name in machines}


def columns(document: RunDocument) -> list[Column]:
    """sources.csv: every fact behind the study."""
    return [
        Column(field.name, field.name, "", [getattr(row, field.name) for row in document.sources])
        for field in fields(Citation)
    ]
