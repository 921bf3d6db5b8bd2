"""A fleet study's file -> a :class:`~dse.fleet.study.FleetStudy`, every value checked."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from dse import catalog
from dse.calibration.profile import Profile, read_profile
from dse.calibration.profile_files import profile_of_study
from dse.errors import StudyError
from dse.fleet.job_log import LOG_ENDINGS, is_log
from dse.fleet.job_table import ENDINGS, REQUIRED
from dse.fleet.log_columns import NAMES
from dse.fleet.logged_jobs import LogTerms
from dse.fleet.machine import Machine, formats
from dse.fleet.measured_costs import NOTHING, joined, parts
from dse.fleet.money_reader import FleetRates, given, money_of, share_of
from dse.fleet.recipe import HARDWARE, population_names, population_path
from dse.fleet.schema import EXAMPLES, FleetFile, HardwareFile
from dse.fleet.study import FleetStudy
from dse.fleet.upgrade_reader import ACCELERATOR, HIGHEST, NODE, peak_of, upgrades_of
from dse.fleet.upgrades import FIELDS
from dse.mistakes import Mistakes, each
from dse.pricing.load import known_names
from dse.spelling import alternatives
from dse.study.aliases import Spelling, entries
from dse.study.axes import AXES
from dse.study.complaints import checked
from dse.study.cursor import Cursor, clipped
from dse.study.inline import read_profiles
from dse.study.names import misspelt
from dse.text_source import is_path
from dse.yaml_source import Source, read_yaml

T = TypeVar("T")
RECIPES = (".yaml", ".yml")  # endings of files of populations that are drawn
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
GPU_MEMORY, PRECISION = "gpu_memory", "precision"
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
    rates = FleetRates(top)
    upgrades = part(lambda: upgrades_of(top, machine(), rates))
    ports = part(lambda: _ports(top))
    money = part(lambda: money_of(top.at("money"), rates) if given(top, "money") else None)
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
    memory = at.quantity("bytes", HIGHEST)
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


def _population(at: Cursor) -> tuple[Path, bool]:
    """Its file, and whether its jobs are drawn."""
    if not isinstance(at.value, str) or (not is_path(at.value) and Path(at.value).suffix == ""):
        name = at.named("population", population_names())
        path = population_path(name)
    else:
        path = Path(os.path.dirname(at.source.path), at.text("a path"))
        if not os.path.isfile(path):
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
            return peak_of(at.at(key), key)[0]
        if key == "efficiency":
            return share_of(at.at(key))
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


def _ports(top: Cursor) -> tuple[str, ...]:
    found: list[str] = []

    def port(at: Cursor) -> str:
        name: str = at.value.strip()
        if name in found:
            raise at.wrong(f"ports: '{name}' is there twice", "leave one of them out")
        found.append(name)
        return name

    return each(port, top.at("ports").each() if given(top, "ports") else [])


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
