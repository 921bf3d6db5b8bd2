"""A fleet study's file -> a :class:`~dse.fleet.study.FleetStudy`, every value checked."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from dse import catalog, units
from dse.fleet.job_log import LOG_ENDINGS
from dse.fleet.job_table import is_table
from dse.fleet.logged_jobs import BATCH_PER_GPU, LogTerms
from dse.fleet.recipe import HARDWARE, population_names, population_path
from dse.fleet.schema import EXAMPLES, FleetFile, HardwareFile
from dse.fleet.study import FleetStudy, Machine, Money
from dse.fleet.traces import TOLD
from dse.fleet.upgrades import FIELDS, Upgrade
from dse.mistakes import Mistakes, Part, Unread, each
from dse.model.pai import EFFICIENCY
from dse.model.precision import PRECISIONS
from dse.pricing.load import known_names
from dse.spelling import alternatives
from dse.study.complaints import checked
from dse.study.cursor import Cursor, clipped
from dse.study.links import is_bandwidth
from dse.study.names import misspelt
from dse.study.values import existing
from dse.text_source import is_path
from dse.yaml_source import read_yaml

RECIPES = (".yaml", ".yml")  # endings of files of populations that are drawn
TABLES = (".csv",)
TITLES = {"gpu": "GPU", "memory": "GPU memory", "pcie": "PCIe", "ethernet": "Ethernet",
          "nvlink": "NVLink"}  # fmt: skip
LOWEST, HIGHEST = 1.0, 1e18  # FLOP/s and bytes/s of one accelerator
NODE = "node"
_USUAL = ("bf16", "fp16", "fp32")  # in which jobs compute, the first that the accelerator has
_MACHINE = "{node: dgx-a100-80gb}"
# Of what a table of jobs runs on, in an error: the hardware of docs/fleet.md.
_HARDWARE = {"gpu": "11 TFLOP/s", "memory": "1 TB/s", "pcie": "10 GB/s", "ethernet": "25 Gbps",
             "nvlink": "50 GB/s", "efficiency": "0.7", "gpus_per_server": "8"}  # fmt: skip
DRAWN, TABLE, LOG = "drawn", "a table of jobs", "a scheduler's log"  # kinds of populations
# Keys that only one of these has.
_ONLY = {
    ("jobs",): DRAWN, ("seed",): DRAWN, ("columns",): LOG, ("workloads",): LOG,
    ("batch_per_gpu",): LOG, ("hardware", "gpu_memory"): TABLE,
}  # fmt: skip


def read_fleet(path: str | os.PathLike[str]) -> FleetStudy:
    """Read and check a fleet study. Raises :class:`~dse.errors.StudyError`, a line a mistake."""
    mistakes = Mistakes()
    source = read_yaml(path, mistakes=mistakes)
    written = Cursor(source)
    if written.has("study") and not written.has("fleet"):
        raise written.at("study").wrong("this is not a fleet study", "use dse run", key=True)
    file, top = checked(source, FleetFile, EXAMPLES, mistakes)
    part = mistakes.part
    part(top.at("fleet").check_folder)
    population = part(lambda: _population(top.at("population"), top))
    part(lambda: _check_kind(top, population()[1]))
    log = part(lambda: _log_terms(top, file(), population()[1]))
    machine = part(lambda: _machine(top))
    hardware = part(lambda: _hardware(top, machine(), population()[1]))
    upgrades = part(lambda: _upgrades(top))
    money = part(lambda: _money(top, file()))
    mistakes.told()
    said, (values, labels) = file(), hardware()
    return FleetStudy(
        name=said.fleet,
        description=said.description or "",
        path=source.path,
        population=population()[0],
        drawn=population()[1] == DRAWN,
        log=log(),
        jobs=said.jobs,
        seed=said.seed,
        gpu_memory_bytes=values.pop("gpu_memory", None),
        hardware=values,
        labels=labels,
        machine=machine(),
        overlapped=said.overlap == "ideal",
        upgrades=upgrades(),
        ports=tuple(dict.fromkeys(said.ports or ())),
        money=money(),
        content_hash=hashlib.sha256(json.dumps(source.data, sort_keys=True).encode()).hexdigest(),
        source=source,
    )


def _population(at: Cursor, top: Cursor) -> tuple[Path, str]:
    """Its file, and of which kind it is."""
    if not isinstance(at.value, str) or (not is_path(at.value) and Path(at.value).suffix == ""):
        path = population_path(at.named("population", population_names()))
    else:
        path = Path(existing(at))
    if path.suffix not in (*RECIPES, *TABLES, *LOG_ENDINGS):
        problem = f"population: '{clipped(path.name)}' is neither a table nor a recipe"
        remedy = f"name a file that ends in {alternatives((RECIPES[0], *TABLES))}"
        raise at.wrong(problem, f"{remedy}; a scheduler's log also in {alternatives(LOG_ENDINGS)}")
    if path.suffix in RECIPES:
        return path, DRAWN
    csv = path.suffix == ".csv" and (top.has("columns") or not is_table(path))
    return path, LOG if csv or path.suffix in LOG_ENDINGS else TABLE


def _check_kind(top: Cursor, kind: str) -> None:
    """Raise where a population is asked for what only another kind has."""
    mistakes = Mistakes()
    for (*above, key), needed in _ONLY.items():
        there = all(top.has(one) for one in above) and top.at(*above).has(key)
        if there and kind != needed:
            problem = f"{key}: the population is {kind}, not {needed}"
            mistakes.note(top.at(*above, key).wrong(problem, "leave it out", key=True))
    mistakes.told()


def _log_terms(top: Cursor, file: FleetFile, kind: str) -> LogTerms | None:
    """The study's words on a scheduler's log; None where its population is none."""
    if kind != LOG:
        return None
    columns, workloads, mistakes = file.columns or {}, file.workloads or {}, Mistakes()
    if columns:
        top.at("columns").keys(TOLD, (), mistakes)
    aliases = known_names().aliases.get("workloads", {})

    def meant(pattern: str) -> str:
        at, known = top.at("workloads", pattern), catalog.names("workloads")
        return at.named("workload", known, "see `dse catalog workloads`", aliases)

    found = mistakes.by_key(meant, workloads)
    mistakes.told()
    named = {pattern: name() for pattern, name in found.items()}
    batch = BATCH_PER_GPU if file.batch_per_gpu is None else file.batch_per_gpu
    return LogTerms(columns, named, batch)


def _machine(top: Cursor) -> Machine | None:
    """The machine of the catalogue that the jobs run on, in the first usual format that its
    accelerator has; None where the study gives peaks alone."""
    at = top.at("hardware") if top.has("hardware") else None
    if at is None or not at.has(NODE):
        return None
    aliases = known_names().aliases.get("nodes", {})
    name = at.at(NODE).named(NODE, catalog.names("nodes"), "see `dse catalog nodes`", aliases)
    node = catalog.node(name)
    board = catalog.accelerator(node.accelerator)
    formats = (name for name in (*_USUAL, *PRECISIONS) if name in board.peak_flops_per_s)
    return Machine(node, board, next(formats))


def _hardware(
    top: Cursor, machine: Machine | None, kind: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """Fields of :class:`~dse.model.pai.Hardware` and ``gpu_memory``, and what was written for each
    key. Raises where nothing says what the jobs of a table or log run on."""
    values: dict[str, Any] = {}
    labels: dict[str, str] = {}
    if machine is not None:
        values = {HARDWARE[key][0]: peak for key, peak in machine.peaks().items()}
        labels[NODE] = f"{machine.node.title} ({machine.node.name}), in {machine.precision}"
        values["efficiency"] = EFFICIENCY
    if not top.has("hardware"):
        if kind != DRAWN:
            written = ", ".join(f"{key}: {example}" for key, example in _HARDWARE.items())
            problem = f"missing key 'hardware': {kind} does not tell what they run on"
            remedy = f"name a machine, hardware: {_MACHINE}, or give its peaks, hardware:"
            raise top.wrong(problem, f"{remedy} {{{written}}}")
        return values, labels
    at, mistakes = top.at("hardware"), Mistakes()

    def value(key: str) -> Any:
        if key in FIELDS:
            return _peak(at.at(key), key)[0]
        if key == "gpu_memory":
            return at.at(key).quantity("bytes", HIGHEST)
        if key == "efficiency":
            return units.parse(at.at(key).value, "share")
        return float(at.at(key).value) if key in HARDWARE else at.at(key).value

    read = mistakes.by_key(value, [key for key in at.given() if key != NODE])
    told = {*at.value, *(key for key, (field, _) in HARDWARE.items() if field in values)}
    unknown = [name for name in at.value if name not in HardwareFile.model_fields]
    for key in () if kind == DRAWN else HARDWARE:
        if key not in told and not misspelt(key, unknown, HARDWARE):
            title = "" if machine is None else machine.node.title
            why = f" (the catalogue does not know it of {title})" if title else ""
            if machine is not None and key == "ethernet" and machine.shares_cards:
                why = f" (accelerators of {title} share a card; say what one of them has)"
            problem = f"hardware: missing key '{key}'{why}"
            mistakes.note(at.wrong(problem, f"add for example {key}: {_HARDWARE[key]}"))
    mistakes.told()
    for key, found in read.items():
        values[HARDWARE[key][0] if key in HARDWARE else key] = found()
        if key in HARDWARE:
            labels[key] = str(at.at(key).value)
    return values, labels


def _peak(at: Cursor, resource: str) -> tuple[float, str]:
    """(peak, fabric): a quantity, or of Ethernet also the name of a fabric in the catalogue."""
    if resource == "ethernet" and isinstance(at.value, str) and not is_bandwidth(at.value):
        known = [name for name in catalog.names("fabrics") if catalog.fabric(name).bytes_per_s]
        name = at.named("fabric", known, "see `dse catalog fabrics`, or write 25 Gbps")
        return float(catalog.fabric(name).bytes_per_s or 0.0), name
    peak = at.quantity(HARDWARE[resource][1], HIGHEST)
    if peak < LOWEST:
        raise at.wrong(f"{at.label}: {at.shown} is below anything that exists", "check the unit")
    return peak, ""


def _upgrades(top: Cursor) -> tuple[Upgrade, ...]:
    """The upgrades of a fleet study; mistakes raise :class:`~dse.errors.StudyError`."""
    found: list[Upgrade] = []
    mistakes = Mistakes()

    def keep(at: Cursor, places: dict[str, Cursor]) -> None:
        upgrade = _upgrade(at, places)
        if upgrade.name in (other.name for other in found):
            place = next(iter(places.values()))
            raise place.wrong(f"a second upgrade '{upgrade.name}'", "leave one of them out")
        found.append(upgrade)

    def read(at: Cursor) -> None:
        resources = [key for key in at.given() if key in FIELDS]
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
        raise at.wrong("the upgrade changes nothing", "add a resource, as ethernet: 100 Gbps")
    for key in (key for key in resources if isinstance(at.value[key], list)):
        place = at.at(key)
        if not at.value[key]:
            raise place.wrong(f"{key}: an empty list", f"write one entry, or drop {key}")
        if len(at.value) > 1:
            problem = f"{key}: several values beside other keys of an upgrade"
            raise place.wrong(problem, "write one upgrade for each")


def _upgrade(at: Cursor, places: dict[str, Cursor]) -> Upgrade:
    """One upgrade; places: of the new peaks, by resource."""
    labels, fabric = dict[str, str](), ""
    peaks = each(lambda resource: _peak(places[resource], resource), places)
    for resource, (_, found) in zip(places, peaks, strict=True):
        labels[resource] = f"{TITLES[resource]} {str(places[resource].value).strip()}"
        if found:
            fabric, labels[resource] = found, catalog.fabric(found).title
    price = at.at("price_per_gpu")
    return Upgrade(
        name=at.at("name").text() if at.has("name") else " and ".join(labels.values()),
        changes={resource: peak for resource, (peak, _) in zip(places, peaks, strict=True)},
        labels=labels,
        price_per_gpu_usd=price.quantity("usd", 1e9, example="9 kUSD")
        if at.has("price_per_gpu")
        else None,
        fabric=fabric,
    )


def _money(top: Cursor, file: FleetFile) -> Money | None:
    """The size of the fleet whose gain is counted, and the prices; None where nobody asks."""
    said = file.money
    if said is None:
        return None
    at, mistakes = top.at("money"), Mistakes()
    if (said.gpu_hour is None) == (said.accelerator is None):
        wrong = "both gpu_hour and accelerator" if said.gpu_hour else "no price of a GPU-hour"
        remedy = "write gpu_hour: 2 USD/hour, or accelerator: v100-sxm2-16gb"
        mistakes.note(at.wrong(f"money: {wrong}", remedy))

    def amount(key: str, dimension: str, high: float, example: str) -> Part[float | None]:
        def read(place: Cursor) -> float:
            return place.quantity(dimension, high, example=example)

        return mistakes.part(lambda: at.optional(key, read, None))

    def board(place: Cursor) -> str:
        return place.named("accelerator", catalog.names("accelerators"))

    hour = amount("gpu_hour", "usd_per_hour", 1e6, "2 USD/hour")
    years = amount("amortisation_years", "count", 100.0, "4")
    accelerator = mistakes.part(lambda: at.optional("accelerator", board, ""))
    prices = mistakes.part(lambda: at.optional("prices", lambda place: Path(existing(place)), None))
    mistakes.told()
    return Money(said.gpus, said.busy, hour(), accelerator(), years(), said.gpus_per_nic, prices())
