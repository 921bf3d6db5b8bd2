"""The upgrades of a fleet study: other peaks, or what a machine of the catalogue has."""

from __future__ import annotations

from dse import catalog
from dse.fleet.machine import ACCELERATOR, NODE, Machine, machine_at
from dse.fleet.recipe import HARDWARE
from dse.fleet.upgrades import FIELDS, Upgrade
from dse.mistakes import Mistakes, Unread, each
from dse.pricing.load import known_names
from dse.study.cursor import Cursor
from dse.study.links import is_bandwidth

TITLES = {"gpu": "GPU", "memory": "GPU memory", "pcie": "PCIe", "ethernet": "Ethernet",
          "nvlink": "NVLink"}  # fmt: skip
LOWEST, HIGHEST = 1.0, 1e18  # FLOP/s and bytes/s of one accelerator


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


def upgrades_of(top: Cursor, machine: Machine | None) -> tuple[Upgrade, ...]:
    """The upgrades of a fleet study; mistakes raise :class:`~dse.errors.StudyError`."""
    found: list[Upgrade] = []
    mistakes = Mistakes()

    def keep(at: Cursor, places: dict[str, Cursor]) -> None:
        upgrade = _upgrade(at, places, machine)
        if upgrade.name in (other.name for other in found):
            place = next(iter(places.values()))
            raise place.wrong(f"a second upgrade '{upgrade.name}'", "leave one of them out")
        found.append(upgrade)

    def read(at: Cursor) -> None:
        resources = [key for key in at.given() if key in (NODE, ACCELERATOR, *FIELDS)]
        _check_upgrade(at, resources)
        rows = zip(*(at.at(key).each() for key in resources), strict=True)
        each(lambda places: keep(at, dict(zip(resources, places, strict=True))), rows)

    mistakes.parts(read, top.at("upgrades").each() if top.has("upgrades") else [])
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
    for key in (key for key in resources if isinstance(at.value[key], list)):
        place = at.at(key)
        if not at.value[key]:
            raise place.wrong(f"{key}: an empty list", f"write one entry, or drop {key}")
        if len(at.value) > 1:
            problem = f"{key}: several values beside other keys of an upgrade"
            raise place.wrong(problem, "write one upgrade for each")


def _upgrade(at: Cursor, places: dict[str, Cursor], fleet: Machine | None) -> Upgrade:
    """One upgrade; its peaks are those of a machine, but for what is given. fleet: the machine in
    whose format that computes, if it can, else in its own, which its name then says."""
    precision, new, named = "" if fleet is None else fleet.precision, None, list[str]()
    changes, labels, fabric = dict[str, float](), dict[str, str](), ""
    for key in {NODE, ACCELERATOR} & set(places):
        new = machine_at(places[key], key, precision)
        same = new.precision == precision
        named = [new.title if same else f"{new.title} in {new.precision}"]
        changes = {name: peak for name, peak in new.peaks().items() if name in FIELDS}
        labels = {name: f"{TITLES[name]} of {named[0]}" for name in changes}
    resources = [resource for resource in places if resource in FIELDS]
    peaks = each(lambda resource: peak_of(places[resource], resource), resources)
    for resource, (peak, found) in zip(resources, peaks, strict=True):
        changes[resource] = peak
        labels[resource] = f"{TITLES[resource]} {str(places[resource].value).strip()}"
        if found:
            fabric, labels[resource] = found, catalog.fabric(found).title
    written = " and ".join([*named, *(labels[resource] for resource in resources)])
    price = at.at("price_per_gpu")
    return Upgrade(
        name=at.at("name").text() if at.has("name") else written,
        changes=changes,
        labels=labels,
        price_per_gpu_usd=price.quantity("usd", 1e9, example="9 kUSD")
        if at.has("price_per_gpu")
        else None,
        fabric=fabric,
        machine=new,
    )
