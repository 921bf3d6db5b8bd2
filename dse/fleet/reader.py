"""A fleet study's file -> a :class:`~dse.fleet.study.FleetStudy`, every value checked."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dse import catalog, units
from dse.calibration.profile import Profile, read_profile
from dse.calibration.profile_files import profile_of_study
from dse.fleet.job_log import LOG_ENDINGS, NAMES, is_log
from dse.fleet.job_table import ENDINGS, REQUIRED
from dse.fleet.logged_jobs import LogTerms
from dse.fleet.measured_costs import NOTHING, joined, parts
from dse.fleet.recipe import HARDWARE, population_names, population_path
from dse.fleet.schema import EXAMPLES, FleetFile, MoneyFile
from dse.fleet.study import FleetStudy, Money
from dse.fleet.upgrades import FIELDS, Upgrade
from dse.study.complaints import checked
from dse.study.cursor import Cursor, clipped
from dse.study.inline import is_path, read_profiles
from dse.study.links import is_bandwidth
from dse.yaml_source import read_yaml

TITLES = {"gpu": "GPU", "memory": "GPU memory", "pcie": "PCIe", "ethernet": "Ethernet",
          "nvlink": "NVLink"}  # fmt: skip
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
GPU_MEMORY = "gpu_memory"
_LOWEST, _HIGHEST = 1.0, 1e18  # FLOP/s and bytes/s of one accelerator
_LOWEST_SHARE = 1e-6


def read_fleet(path: str | os.PathLike[str]) -> FleetStudy:
    """Read and check a fleet study. Raises :class:`~dse.errors.StudyError`, one line."""
    source = read_yaml(path)
    top = Cursor(source)
    if top.has("study") and not top.has("fleet"):
        raise top.at("study").wrong("this is not a fleet study", "use dse run", key=True)
    file = checked(source, FleetFile, EXAMPLES)
    if not _NAME.fullmatch(file.fleet):
        remedy = "use letters, digits, '-', '_' and '.', since it names the report's folder"
        raise top.at("fleet").wrong(f"fleet: '{clipped(file.fleet)}' is not a valid name", remedy)
    population, drawn = _population(top.at("population"))
    for key in ("jobs", "seed"):
        if top.has(key) and not drawn:
            problem = f"{key}: the population is a table of its own jobs"
            raise top.at(key).wrong(problem, "leave it out", key=True)
    log = _log_terms(top, file, population)
    hardware, labels = _hardware(top)
    memory = None
    if top.has("hardware") and top.at("hardware").has(GPU_MEMORY):
        at = top.at("hardware", GPU_MEMORY)
        memory = at.quantity("bytes", _HIGHEST)
        if drawn:
            problem = f"{GPU_MEMORY}: a drawn population does not tell what state its jobs hold"
            remedy = "leave it out, or name a table of jobs with the column state_bytes"
            raise at.wrong(problem, remedy, key=True)
    if not drawn:
        for key, (field, _) in HARDWARE.items():
            if field not in hardware:
                at = top.at("hardware") if top.has("hardware") else top
                problem = f"hardware: missing key '{key}'"
                raise at.wrong(problem, "a table of jobs does not tell what they run on")
    profiles = tuple(_profiles(top.at("calibration"))) if top.has("calibration") else ()
    return FleetStudy(
        name=file.fleet,
        description=file.description or "",
        path=source.path,
        population=population,
        drawn=drawn,
        log=log,
        jobs=file.jobs,
        seed=file.seed,
        hardware=hardware,
        labels=labels,
        gpu_memory_bytes=memory,
        overlapped=file.overlap == "ideal",
        upgrades=_upgrades(top),
        ports=_ports(top),
        money=None if file.money is None else _money(top.at("money"), file.money),
        profiles=tuple(profile for profile, _ in profiles),
        profile_paths=tuple(path for _, path in profiles),
        content_hash=hashlib.sha256(json.dumps(source.data, sort_keys=True).encode()).hexdigest(),
        source=source,
    )


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
    if path.suffix not in (".yaml", ".yml", *ENDINGS, *LOG_ENDINGS):
        problem = f"population: '{clipped(path.name)}' is neither a table nor a recipe"
        remedy = f"name a file that ends in .yaml, {' or '.join(ENDINGS)}"
        raise at.wrong(problem, f"{remedy}; a scheduler's log also in {' or '.join(LOG_ENDINGS)}")
    return path, path.suffix in (".yaml", ".yml")


def _log_terms(top: Cursor, file: FleetFile, population: Path) -> LogTerms | None:
    """What the study says of a scheduler's log; None where its population is none."""
    columns = dict(file.columns or {})
    if columns:
        top.at("columns").keys(NAMES)
    workloads = dict(file.workloads or {})
    if not is_log(population, REQUIRED, columns):
        for key in ("workloads", "batch_per_gpu"):
            if top.has(key):
                problem = f"{key}: the population is no scheduler's log"
                raise top.at(key).wrong(problem, "leave it out", key=True)
        return None
    if population.suffix in (".yaml", ".yml", ".parquet", ".pq"):
        raise top.at("columns").wrong(
            f"columns: {clipped(population.name)} is no scheduler's log", "leave it out", key=True
        )
    known = catalog.names("workloads")
    for label in workloads:
        at = top.at("workloads", label)
        if not re.search(r"[A-Za-z0-9]", label):
            raise at.wrong(f"workloads: '{clipped(label)}' is no name", "write letters", key=True)
        workloads[label] = at.named("workload", known, "see `dse catalog workloads`")
    return LogTerms(columns, workloads, file.batch_per_gpu)


def _hardware(top: Cursor) -> tuple[dict[str, Any], dict[str, str]]:
    """Fields of :class:`~dse.model.pai.Hardware`, and what was written for each key."""
    values: dict[str, Any] = {}
    labels: dict[str, str] = {}
    if not top.has("hardware"):
        return values, labels
    at = top.at("hardware")
    for key, written in at.value.items():
        if key == GPU_MEMORY:
            continue
        if key not in HARDWARE:
            values[key] = written  # whether PCIe is shared
            continue
        field = HARDWARE[key][0]
        if key in FIELDS:
            values[field], _ = _peak(at.at(key), key)
        elif key == "efficiency":
            values[field] = _share(at.at(key))
        else:
            values[field] = float(written)
        labels[key] = str(written)
    return values, labels


def _peak(at: Cursor, resource: str) -> tuple[float, str]:
    """(peak, fabric): a quantity, or of Ethernet also the name of a fabric in the catalogue."""
    if resource == "ethernet" and isinstance(at.value, str) and not is_bandwidth(at.value):
        known = [name for name in catalog.names("fabrics") if catalog.fabric(name).bytes_per_s]
        name = at.named("fabric", known, "see `dse catalog fabrics`, or write 25 Gbps")
        return float(catalog.fabric(name).bytes_per_s or 0.0), name
    peak = at.quantity(HARDWARE[resource][1], _HIGHEST)
    if peak < _LOWEST:
        raise at.wrong(f"{at.label}: {at.shown} is below anything that exists", "check the unit")
    return peak, ""


def _share(at: Cursor) -> float:
    """A share of a whole, more than nothing: 0.7, or 70 %."""
    text = str(at.value).strip()
    percent = text.endswith("%")
    try:
        share = units.parse(text.removesuffix("%"), "count") / (100 if percent else 1)
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


def _upgrades(top: Cursor) -> tuple[Upgrade, ...]:
    found: list[Upgrade] = []
    for at in top.at("upgrades").each() if top.has("upgrades") else []:
        resources = [key for key in at.value if key in FIELDS]
        if not resources:
            raise at.wrong("the upgrade changes nothing", "add a resource, as ethernet: 100 Gbps")
        listed = [key for key in resources if isinstance(at.value[key], list)]
        if listed and len(resources) > 1:
            problem = f"{listed[0]}: several values in an upgrade of several resources"
            raise at.at(listed[0]).wrong(problem, "write one upgrade for each")
        if listed and len(at.value) > 1:
            problem = f"{listed[0]}: several values under one name or price"
            raise at.at(listed[0]).wrong(problem, "write one upgrade for each")
        for places in zip(*(_some(at.at(key)) for key in resources), strict=True):
            upgrade = _upgrade(at, dict(zip(resources, places, strict=True)))
            if upgrade.name in (other.name for other in found):
                raise places[0].wrong(f"a second upgrade '{upgrade.name}'", "leave one of them out")
            found.append(upgrade)
    return tuple(found)


def _upgrade(at: Cursor, places: dict[str, Cursor]) -> Upgrade:
    changes, labels, fabric = {}, {}, ""
    for resource, place in places.items():
        changes[resource], found = _peak(place, resource)
        labels[resource] = f"{TITLES[resource]} {str(place.value).strip()}"
        if found:
            fabric, labels[resource] = found, catalog.fabric(found).title
    written = " and ".join(labels.values())
    price = None
    if at.has("price_per_gpu"):
        price = at.at("price_per_gpu").quantity("usd", 1e9, zero=True)
    name = at.at("name").text() if at.has("name") else written
    return Upgrade(name, changes, labels, price, fabric)


def _ports(top: Cursor) -> tuple[str, ...]:
    if not top.has("ports"):
        return ()
    found: list[str] = []
    for at in top.at("ports").each():
        name = at.value.strip()
        if name in found:
            raise at.wrong(f"ports: '{name}' is there twice", "leave one of them out")
        found.append(name)
    return tuple(found)


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


def _money(at: Cursor, file: MoneyFile) -> Money:
    if at.has("gpu_hour") == at.has("accelerator"):
        wrong = "both gpu_hour and accelerator" if at.has("gpu_hour") else "no price of a GPU-hour"
        remedy = "write gpu_hour: 2 USD/hour, or accelerator: v100-sxm2-16gb"
        raise at.wrong(f"money: {wrong}", remedy)
    prices = None
    if at.has("prices"):
        prices = Path(os.path.dirname(at.source.path), file.prices)
        if not prices.is_file():
            problem = f"prices: no file '{clipped(file.prices)}'"
            raise at.at("prices").wrong(problem, "paths are relative to the study's folder")
    return Money(
        gpus=file.gpus,
        busy=_share(at.at("busy")) if at.has("busy") else 1.0,
        gpu_hour_usd=(
            at.at("gpu_hour").quantity("usd_per_hour", 1e6) if at.has("gpu_hour") else None
        ),
        accelerator=(
            at.at("accelerator").named("accelerator", catalog.names("accelerators"))
            if at.has("accelerator")
            else ""
        ),
        years=(
            at.at("amortisation_years").quantity("count", 100.0)
            if at.has("amortisation_years")
            else None
        ),
        gpus_per_nic=file.gpus_per_nic,
        prices=prices,
    )
