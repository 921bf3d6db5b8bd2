"""A fleet study's file -> a :class:`~dse.fleet.study.FleetStudy`, every value checked."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from dse import catalog, units
from dse.calibration.profile import Profile, read_profile
from dse.calibration.profile_files import profile_of_study
from dse.catalog.price_terms import QUOTE, PriceTerms
from dse.currencies import USD, Rate, currency, guess, named_usd
from dse.errors import StudyError
from dse.fleet.job_log import LOG_ENDINGS, NAMES, is_log
from dse.fleet.job_table import ENDINGS, REQUIRED
from dse.fleet.logged_jobs import LogTerms
from dse.fleet.machine import Machine, accelerator_peaks, formats, peak_facts
from dse.fleet.measured_costs import NOTHING, joined, parts
from dse.fleet.recipe import HARDWARE, population_names, population_path
from dse.fleet.schema import EXAMPLES, FleetFile, HardwareFile
from dse.fleet.study import FleetStudy, Money
from dse.fleet.upgrades import FIELDS, Upgrade
from dse.mistakes import Mistakes, Part, Unread, each
from dse.pricing.load import known_names
from dse.spelling import alternatives
from dse.study.aliases import Spelling, entries
from dse.study.axes import AXES
from dse.study.complaints import checked
from dse.study.cursor import Cursor, clipped
from dse.study.inline import read_profiles
from dse.study.links import is_bandwidth
from dse.study.names import misspelt
from dse.study.schema import whole
from dse.text_source import is_path
from dse.yaml_source import Source, read_yaml

T = TypeVar("T")
TITLES = {"gpu": "GPU", "memory": "GPU memory", "pcie": "PCIe", "ethernet": "Ethernet",
          "nvlink": "NVLink"}  # fmt: skip
RECIPES = (".yaml", ".yml")  # endings of files of populations that are drawn
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
GPU_MEMORY = "gpu_memory"
_LOWEST, _HIGHEST = 1.0, 1e18  # FLOP/s and bytes/s of one accelerator
_LOWEST_SHARE = 1e-6
NODE, PRECISION = "node", "precision"  # of hardware: a machine of the catalogue
ACCELERATOR = "accelerator"  # of an upgrade
_MACHINE = "{node: dgx-a100-80gb}"
# Of what a table of jobs runs on, in an error: the hardware of docs/fleet.md.
_HARDWARE = {"gpu": "11 TFLOP/s", "memory": "1 TB/s", "pcie": "10 GB/s", "ethernet": "25 Gbps",
             "nvlink": "50 GB/s", "efficiency": "0.7", "gpus_per_server": "8"}  # fmt: skip


_TABLES = (".csv", ".tsv", ".psv", ".parquet")  # what people give in place of a study


def read_fleet(path: str | os.PathLike[str]) -> FleetStudy:
    """Read and check a fleet study. Raises :class:`~dse.errors.StudyError`, a line a mistake."""
    mistakes, name = Mistakes(), os.path.basename(path)
    if os.path.splitext(name)[1].lower() in _TABLES and os.path.isfile(path):
        least = f"{{fleet: my-fleet, population: {name}, hardware: {_MACHINE}}}"
        remedy = f"name it in one, of three keys at least, such as {least}"
        raise StudyError(str(path), 0, 0, "is a table, not a fleet study", remedy)
    source = read_yaml(path, mistakes=mistakes)
    written = Cursor(source)
    if written.has("study") and not written.has("fleet"):
        raise written.at("study").wrong("this is not a fleet study", "use dse run", key=True)
    source, told = _with_real_names(source)
    file, top = checked(source, FleetFile, EXAMPLES, mistakes)
    part = mistakes.part
    part(lambda: _check_name(top.at("fleet")))
    population = part(lambda: _population(top.at("population")))
    part(lambda: _check_drawn(top, population()[1]))
    log = part(lambda: _log_terms(top, file(), population()[0]))
    machine = part(lambda: _machine(top))
    hardware = part(lambda: _hardware(top, machine()))
    memory = part(lambda: _gpu_memory(top, population()[1]))
    part(lambda: _check_whole(top, population()[1], machine()))
    rates = _Rates(top)
    upgrades = part(lambda: _upgrades(top, machine(), rates))
    ports = part(lambda: _ports(top))
    money = part(lambda: _money(top.at("money"), rates) if _given(top, "money") else None)
    profiles = part(
        lambda: tuple(_profiles(top.at("calibration"))) if top.has("calibration") else ()
    )
    mistakes.told()
    said = file()
    return FleetStudy(
        name=said.fleet,
        description=said.description or "",
        path=source.path,
        population=population()[0],
        drawn=population()[1],
        log=log(),
        jobs=said.jobs,
        seed=said.seed,
        hardware=hardware()[0],
        labels=hardware()[1],
        machine=machine(),
        gpu_memory_bytes=memory(),
        overlapped=said.overlap == "ideal",
        overlap_told="overlap" in said.model_fields_set,
        upgrades=upgrades(),
        ports=ports(),
        money=money(),
        profiles=tuple(profile for profile, _ in profiles()),
        profile_paths=tuple(path for _, path in profiles()),
        content_hash=hashlib.sha256(json.dumps(source.data, sort_keys=True).encode()).hexdigest(),
        source=source,
        told=told,
    )


def _with_real_names(source: Source) -> tuple[Source, tuple[str, ...]]:
    """The file with names in place of words that stand for them, and what to tell of these."""
    spelling, data = Spelling(known_names()), source.data
    if not isinstance(data, dict):
        return source, ()
    link = AXES["inter_node"]
    for at, part in (*entries(("hardware",), data.get("hardware")),
                     *entries(("upgrades",), data.get("upgrades"))):  # fmt: skip
        if isinstance(part, dict):
            spelling.read_axis((*at, "ethernet"), part.get("ethernet"), link)
            for key, kind in ((NODE, "nodes"), (ACCELERATOR, "accelerators")):
                for where, word in entries((*at, key), part.get(key)):
                    spelling.read(where, word, kind)
    if isinstance(money := data.get("money"), dict):
        spelling.read(("money", "accelerator"), money.get("accelerator"), "accelerators")
    if isinstance(workloads := data.get("workloads"), dict):
        for label, word in workloads.items():
            spelling.read(("workloads", label), word, "workloads")
    return spelling.applied(source), tuple(spelling.told)


def _check_name(at: Cursor) -> None:
    if not _NAME.fullmatch(at.value):
        remedy = "use letters, digits, '-', '_' and '.', since it names the report's folder"
        raise at.wrong(f"fleet: '{clipped(at.value)}' is not a valid name", remedy)


def _check_drawn(top: Cursor, drawn: bool) -> None:
    """Raise where a table is asked for what only a drawn population has."""
    mistakes = Mistakes()
    for key in ("jobs", "seed"):
        if top.has(key) and not drawn:
            problem = f"{key}: the population is a table of its own jobs"
            mistakes.note(top.at(key).wrong(problem, "leave it out", key=True))
    mistakes.told()


def _machine(top: Cursor) -> Machine | None:
    """The machine of the catalogue that the jobs run on; None where the study gives peaks alone."""
    at = top.at("hardware") if top.has("hardware") else None
    if at is None or not at.has(NODE):
        if at is not None and at.has(PRECISION):
            problem = f"{PRECISION}: no {NODE} is named, whose peak it chooses"
            raise at.at(PRECISION).wrong(problem, f"name a {NODE}, or leave it out", key=True)
        return None
    aliases = known_names().aliases.get("nodes", {})
    name = at.at(NODE).named("node", catalog.names("nodes"), "see `dse catalog nodes`", aliases)
    node = catalog.node(name)
    known = formats(catalog.accelerator(node.accelerator))
    asked = at.at(PRECISION).named("precision", known) if at.has(PRECISION) else known[0]
    return Machine(node, asked)


def _gpu_memory(top: Cursor, drawn: bool) -> float | None:
    """The memory of an accelerator, which jobs must fit into; None for any."""
    if not top.has("hardware") or not top.at("hardware").has(GPU_MEMORY):
        return None
    at = top.at("hardware", GPU_MEMORY)
    memory = at.quantity("bytes", _HIGHEST)
    if drawn:
        problem = f"{GPU_MEMORY}: a drawn population does not tell what state its jobs hold"
        remedy = "leave it out, or name a table of jobs with the column state_bytes"
        raise at.wrong(problem, remedy, key=True)
    return memory


def _check_whole(top: Cursor, drawn: bool, machine: Machine | None) -> None:
    """Raise where nothing says what the jobs of a table run on."""
    if drawn:
        return
    if not top.has("hardware"):
        written = ", ".join(f"{key}: {example}" for key, example in _HARDWARE.items())
        problem = "missing key 'hardware': a table of jobs does not tell what they run on"
        remedy = f"name a machine, hardware: {_MACHINE}, or give its peaks, hardware: {{{written}}}"
        raise top.wrong(problem, remedy)
    at = top.at("hardware")
    told = {*at.value, *(machine.peaks() if machine else ()), *(["efficiency"] if machine else ())}
    missing = [key for key in HARDWARE if key not in told]
    unknown = [name for name in at.value if name not in HardwareFile.model_fields]
    mistakes = Mistakes()
    for key in missing:
        if not misspelt(key, unknown, HARDWARE):
            remedy = f"add for example {key}: {_HARDWARE[key]}"
            why = machine.why_not(key) if machine else ""
            mistakes.note(at.wrong(f"hardware: missing key '{key}'{why}", remedy))
    mistakes.told()


def _given(top: Cursor, key: str) -> bool:
    return top.has(key) and top.at(key).value is not None


def _population(at: Cursor) -> tuple[Path, bool]:
    """Its file, and whether its jobs are drawn."""
    if not isinstance(at.value, str) or (not is_path(at.value) and Path(at.value).suffix == ""):
        name = at.named("population", population_names())
        path = population_path(name)
    else:
        path = Path(os.path.dirname(at.source.path), at.text("a path"))
        if not path.is_file():
            problem = f"population: no file '{clipped(at.value)}'"
            raise at.wrong(problem, "paths are relative to the study's folder")
    if path.suffix not in (*RECIPES, *ENDINGS, *LOG_ENDINGS):
        problem = f"population: '{clipped(path.name)}' is neither a table nor a recipe"
        remedy = f"name a file that ends in {alternatives((RECIPES[0], *ENDINGS))}"
        raise at.wrong(problem, f"{remedy}; a scheduler's log also in {alternatives(LOG_ENDINGS)}")
    return path, path.suffix in RECIPES


def _log_terms(top: Cursor, file: FleetFile, population: Path) -> LogTerms | None:
    """What the study says of a scheduler's log; None where its population is none."""
    columns, workloads = dict(file.columns or {}), dict(file.workloads or {})
    mistakes = Mistakes()
    if columns:
        top.at("columns").keys(NAMES, (), mistakes)
    if not is_log(population, REQUIRED, columns):
        for key in ("workloads", "batch_per_gpu", "failed_jobs"):
            if top.has(key):
                problem = f"{key}: the population is no scheduler's log"
                mistakes.note(top.at(key).wrong(problem, "leave it out", key=True))
        mistakes.told()
        return None
    if population.suffix not in (".csv", *LOG_ENDINGS):
        raise top.at("columns").wrong(
            f"columns: {clipped(population.name)} is no scheduler's log", "leave it out", key=True
        )
    meant = mistakes.by_key(lambda label: _meant(top.at("workloads", label), label), workloads)
    mistakes.told()
    return LogTerms(
        columns,
        {label: name() for label, name in meant.items()},
        file.batch_per_gpu,
        file.failed_jobs == "count",
    )


def _meant(at: Cursor, label: str) -> str:
    """The workload that a scheduler's log calls by a label."""
    if not re.search(r"[A-Za-z0-9]", label):
        remedy = "write what the log calls such jobs, with a letter or digit"
        raise at.wrong(f"workloads: '{clipped(label)}' is no name", remedy, key=True)
    aliases = known_names().aliases.get("workloads", {})
    return at.named("workload", catalog.names("workloads"), "see `dse catalog workloads`", aliases)


def _hardware(top: Cursor, machine: Machine | None) -> tuple[dict[str, Any], dict[str, str]]:
    """Fields of :class:`~dse.model.pai.Hardware`, and what was written for each key."""
    values: dict[str, Any] = {}
    labels: dict[str, str] = {}
    if machine is not None:
        values = {HARDWARE[key][0]: peak for key, peak in machine.peaks().items()}
        labels[NODE] = f"{machine.node.title} ({machine.node.name}), in {machine.precision}"
    if not top.has("hardware"):
        return values, labels
    at, mistakes = top.at("hardware"), Mistakes()

    def value(key: str) -> Any:
        if key in FIELDS:
            return _peak(at.at(key), key)[0]
        if key == "efficiency":
            return _share(at.at(key))
        return float(at.at(key).value) if key in HARDWARE else at.at(key).value

    others = (GPU_MEMORY, NODE, PRECISION)
    read = mistakes.by_key(value, [key for key in at.given() if key not in others])
    mistakes.told()
    for key, found in read.items():
        if key not in HARDWARE:
            values[key] = found()  # whether PCIe is shared
            continue
        values[HARDWARE[key][0]], labels[key] = found(), str(at.at(key).value)
    return values, labels


def _peak(at: Cursor, resource: str) -> tuple[float, str]:
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
    peak = at.quantity(HARDWARE[resource][1], _HIGHEST)
    if peak < _LOWEST:
        raise at.wrong(f"{at.label}: {at.shown} is below anything that exists", "check the unit")
    return peak, ""


def _share(at: Cursor) -> float:
    """A share of a whole, more than nothing: 0.7, or 70 %."""
    try:
        share = units.parse(at.value, "share")
    except units.UnitError:
        share = 0.0
    if not _LOWEST_SHARE <= share <= 1:
        remedy = "write a number above 0 and at most 1, such as 0.7, or a percentage, such as 70 %"
        raise at.wrong(f"{at.label}: {at.shown} is not a share", remedy)
    return share


def _some(at: Cursor) -> list[Cursor]:
    """The entries of a list that has some; a single value counts as a list of one."""
    found = at.each()
    if not found:
        raise at.wrong(f"{at.label}: an empty list", f"write one entry, or drop {at.label}")
    return found


def _upgrades(top: Cursor, machine: Machine | None, rates: _Rates) -> tuple[Upgrade, ...]:
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

    mistakes.parts(read, top.at("upgrades").each() if _given(top, "upgrades") else [])
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
    at: Cursor, places: dict[str, Cursor], machine: Machine | None, rates: _Rates
) -> Upgrade:
    base = _catalogued(places, machine)
    changes, labels, fabric = dict(base.changes), dict(base.labels), ""
    resources = [resource for resource in places if resource in FIELDS]
    peaks = each(lambda resource: _peak(places[resource], resource), resources)
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
    it names none. Its GPUs compute in the format of the fleet's machine, if they can."""
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
    changes = {resource: peak for resource, peak in peaks.items() if resource in FIELDS}
    return Upgrade(
        name=title,
        changes=changes,
        labels={resource: f"{TITLES[resource]} of {title}" for resource in changes},
        node=name if key == NODE else "",
        accelerator=name if key == ACCELERATOR else "",
        facts=tuple(facts),
    )


def _ports(top: Cursor) -> tuple[str, ...]:
    found: list[str] = []

    def port(at: Cursor) -> str:
        name: str = at.value.strip()
        if name in found:
            raise at.wrong(f"ports: '{name}' is there twice", "leave one of them out")
        found.append(name)
        return name

    return each(port, top.at("ports").each() if _given(top, "ports") else [])


def _profiles(at: Cursor) -> Iterator[tuple[Profile, Path]]:
    """Every profile, with its path; one that has nothing for a fleet is a mistake."""
    shipped = catalog.models_dir() / "calibrations"
    places, found = at.each(), NOTHING
    for position, name in enumerate(read_profiles(at)):
        path = profile_of_study(at.source, name, position, shipped)
        profile = read_profile(path)
        if parts(profile) == NOTHING:
            problem = f"calibration: {profile.name} measured neither parameter servers nor NCCL"
            remedy = "measure servers (dse calibrate run --runner grpc), or name such as h100-node"
            raise places[position].wrong(f"{problem} on one node", remedy)
        if joined(found, parts(profile)) == found:
            problem = f"calibration: what {profile.name} measured is there before it"
            raise places[position].wrong(problem, "leave one of them out")
        found = joined(found, parts(profile))
        yield profile, path


@dataclass(frozen=True)
class _Rates:
    """What other currencies are worth by the price list that a fleet study names under ``money``.
    top: the whole study."""

    top: Cursor

    @cached_property
    def known(self) -> Mapping[str, Rate]:
        """By code; a mistake in the list raises :class:`~dse.errors.StudyError`."""
        money = self.top.at("money") if _given(self.top, "money") else None
        if money is None or not money.has("prices"):
            return {}
        return catalog.read_prices(_price_list(money.at("prices"))).rates

    def usd(
        self, at: Cursor, dimension: str, most: float, example: str
    ) -> tuple[float, PriceTerms | None]:
        """A price as written, in USD, and its terms where it is in another currency."""
        written = at.value
        code = currency(written) if isinstance(written, str) else USD
        if code == USD:
            return at.quantity(dimension, most, example=example), None
        if code not in self.known:
            raise at.wrong(
                f"{at.label}: {at.shown} is in a currency of which no rate is given",
                f"{guess(code, self.known)}add 'currencies: {{{code}: ... USD}}' with what one "
                f"{code} is worth to a price list under money (prices: FILE), or write it in USD",
            )
        rate = self.known[code]
        in_usd = replace(at, source=at.source.renamed({at.loc: named_usd(written)}, {}))
        terms = PriceTerms(QUOTE, currency=code, rate=rate.usd, rate_date=rate.date)
        return in_usd.quantity(dimension, most / rate.usd, example=example) * rate.usd, terms


def _money(at: Cursor, rates: _Rates) -> Money:
    mistakes = Mistakes()

    def optional(key: str, read: Callable[[Cursor], T], absent: Any) -> Part[T]:
        return mistakes.part(lambda: read(at.at(key)) if at.has(key) else absent)

    mistakes.part(lambda: _check_priced(at))
    busy = optional("busy", _share, 1.0)
    hour = optional(
        "gpu_hour", lambda place: rates.usd(place, "usd_per_hour", 1e6, "2 USD/hour")[0], None
    )
    accelerator = optional(
        "accelerator", lambda place: place.named("accelerator", catalog.names("accelerators")), ""
    )
    years = optional("amortisation_years", lambda place: place.quantity("count", 100.0), None)
    prices = optional("prices", _price_list, None)
    counts = {
        key: optional(key, lambda place: int(whole(place.value)), 1)
        for key in ("gpus", "gpus_per_nic")
    }
    mistakes.told()
    return Money(
        gpus=counts["gpus"](),
        busy=busy(),
        gpu_hour_usd=hour(),
        accelerator=accelerator(),
        years=years(),
        gpus_per_nic=counts["gpus_per_nic"](),
        prices=prices(),
    )


def _check_priced(at: Cursor) -> None:
    if len(at.given()) < len(at.value):
        raise Unread  # a key is misspelt
    if at.has("gpu_hour") == at.has("accelerator"):
        wrong = "both gpu_hour and accelerator" if at.has("gpu_hour") else "no price of a GPU-hour"
        remedy = "write gpu_hour: 2 USD/hour, or accelerator: v100-sxm2-16gb"
        raise at.wrong(f"money: {wrong}", remedy)


def _price_list(at: Cursor) -> Path:
    path = Path(os.path.dirname(at.source.path), at.value)
    if not path.is_file():
        problem = f"prices: no file '{clipped(at.value)}'"
        raise at.wrong(problem, "paths are relative to the study's folder")
    return path
