"""The upgrades of a fleet study: other peaks, or what a machine of the catalogue has."""

from __future__ import annotations

from dataclasses import replace

from dse import catalog
from dse.fleet.machine import Machine, accelerator_peaks, formats, peak_facts
from dse.fleet.money_reader import FleetRates, given
from dse.fleet.recipe import HARDWARE
from dse.fleet.upgrades import FIELDS, Upgrade
from dse.mistakes import Mistakes, Unread, each
from dse.pricing.load import known_names
from dse.study.cursor import Cursor
from dse.study.links import is_bandwidth

TITLES = {"gpu": "GPU", "memory": "GPU memory", "pcie": "PCIe", "ethernet": "Ethernet",
          "nvlink": "NVLink"}  # fmt: skip
LOWEST, HIGHEST = 1.0, 1e18  # FLOP/s and bytes/s of one accelerator
NODE, ACCELERATOR = "node", "accelerator"  # of the catalogue, which an upgrade may name


def peak_of(at: Cursor, resource: str) -> tuple[float, str]:
    """(peak, fabric): a quantity, or of Ethernet also the name of a fabric in the catalogue."""
    if resource == "ethernet" and isinstance(at.value, str) and not is_bandwidth(at.value):
        known = [name for name in catalog.names("fabrics") if catalog.fabric(name).bytes_per_s]
        name = at.named("fabric", known, "see `dse catalog fabrics`, or write 25 Gbps")
        return float(catalog.fabric(name).bytes_per_s or 0.0), name
    if resource == "gpu" and isinstance(at.value, str):
        name = known_names().real("accelerators", at.value.strip())
        if name in catalog.names("accelerators"):
            problem = f"{at.label}: {at.shown} is an accelerator, not a peak"
            remedy = f"write {ACCELERATOR}: {name} in an upgrade, or its peak, such as 989 TFLOP/s"
            raise at.wrong(problem, remedy)
    peak = at.quantity(HARDWARE[resource][1], HIGHEST)
    if peak < LOWEST:
        raise at.wrong(f"{at.label}: {at.shown} is below anything that exists", "check the unit")
    return peak, ""


def upgrades_of(top: Cursor, machine: Machine | None, rates: FleetRates) -> tuple[Upgrade, ...]:
    """The upgrades of a fleet study; mistakes raise :class:`~dse.errors.StudyError`."""
    found: list[Upgrade] = []
    mistakes = Mistakes()

    def keep(at: Cursor, places: dict[str, Cursor]) -> None:
        upgrade = _upgrade(at, places, machine, rates)
        if upgrade.name in (other.name for other in found):
            place = next(iter(places.values()))
            raise place.wrong(f"a second upgrade '{upgrade.name}'", "leave one of them out")
        found.append(upgrade)

    def read(at: Cursor) -> None:
        resources = [key for key in at.given() if key in (NODE, ACCELERATOR, *FIELDS)]
        _check_upgrade(at, resources)
        rows = zip(*(_some(at.at(key)) for key in resources), strict=True)
        each(lambda places: keep(at, dict(zip(resources, places, strict=True))), rows)

    mistakes.parts(read, top.at("upgrades").each() if given(top, "upgrades") else [])
    mistakes.told()
    return tuple(found)


def _check_upgrade(at: Cursor, resources: list[str]) -> None:
    """Raise for an upgrade that is none, or whose values do not go together."""
    if len(at.given()) < len(at.value):
        raise Unread
    if not resources:
        remedy = "add a resource, as ethernet: 100 Gbps, or a machine, as node: dgx-h100"
        raise at.wrong("the upgrade changes nothing", remedy)
    if NODE in resources and ACCELERATOR in resources:
        problem = f"both {NODE} and {ACCELERATOR} in an upgrade"
        raise at.at(ACCELERATOR).wrong(problem, "leave one of them out", key=True)
    listed = [key for key in resources if isinstance(at.value[key], list)]
    if listed and len(resources) > 1:
        problem = f"{listed[0]}: several values in an upgrade of several resources"
        raise at.at(listed[0]).wrong(problem, "write one upgrade for each")
    if listed and len(at.value) > 1:
        problem = f"{listed[0]}: several values under one name or price"
        raise at.at(listed[0]).wrong(problem, "write one upgrade for each")


def _upgrade(
    at: Cursor, places: dict[str, Cursor], machine: Machine | None, rates: FleetRates
) -> Upgrade:
    base = _catalogued(places, machine)
    changes, labels, fabric = dict(base.changes), dict(base.labels), ""
    resources = [resource for resource in places if resource in FIELDS]
    peaks = each(lambda resource: peak_of(places[resource], resource), resources)
    for resource, (peak, found) in zip(resources, peaks, strict=True):
        changes[resource] = peak
        labels[resource] = f"{TITLES[resource]} {str(places[resource].value).strip()}"
        if found:
            fabric, labels[resource] = found, catalog.fabric(found).title
    named = [base.name] if base.name else []
    written = " and ".join([*named, *(labels[resource] for resource in resources)])
    price, terms = None, None
    if at.has("price_per_gpu"):
        price, terms = rates.usd(at.at("price_per_gpu"), "usd", 1e9, "9 kUSD")
    name = at.at("name").text() if at.has("name") else written
    return replace(
        base,
        name=name,
        changes=changes,
        labels=labels,
        price_per_gpu_usd=price,
        price_terms=terms,
        fabric=fabric,
    )


def _catalogued(places: dict[str, Cursor], machine: Machine | None) -> Upgrade:
    """What the machine or accelerator of the catalogue changes that an upgrade names; nothing where
    it names none. Its GPUs compute in the format of the fleet's machine, if they can, else in the
    first that they have, which its title then says."""
    key = next((one for one in (NODE, ACCELERATOR) if one in places), "")
    if not key:
        return Upgrade("", {}, {})
    kind = f"{key}s"
    listing, aliases = f"see `dse catalog {kind}`", known_names().aliases.get(kind, {})
    name = places[key].named(key, catalog.names(kind), listing, aliases)
    node = catalog.node(name) if key == NODE else None
    board = catalog.accelerator(name if node is None else node.accelerator)
    known = formats(board)
    same = machine is not None and machine.precision in known
    precision = machine.precision if machine is not None and same else known[0]
    if node is None:
        peaks, facts = accelerator_peaks(board, precision), peak_facts(board, precision)
    else:
        new = Machine(node, precision)
        peaks, facts = new.peaks(), new.facts()
    title = board.title if node is None else node.title
    title = title if same else f"{title} in {precision}"
    changes = {resource: peak for resource, peak in peaks.items() if resource in FIELDS}
    return Upgrade(
        name=title,
        changes=changes,
        labels={resource: f"{TITLES[resource]} of {title}" for resource in changes},
        node=name if key == NODE else "",
        accelerator=name if key == ACCELERATOR else "",
        facts=tuple(facts),
    )


def _some(at: Cursor) -> list[Cursor]:
    """The entries of a list that has some; a single value counts as a list of one."""
    found = at.each()
    if not found:
        raise at.wrong(f"{at.label}: an empty list", f"write one entry, or drop {at.label}")
    return found
