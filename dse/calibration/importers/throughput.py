"""Tables of measured rates of training, a row for each configuration, as they become a profile."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path

from dse import catalog
from dse.calibration.experiment import sha256_of, today
from dse.calibration.files import rounded
from dse.calibration.fitting.profile import silent_profile
from dse.calibration.importers.text import read_text
from dse.calibration.profile import Profile
from dse.calibration.throughput_part import RATES, LayoutRate, Throughput, aggregation_names, step_s
from dse.catalog import Workload
from dse.catalog.aliases import also_meant
from dse.catalog.stacks import layout_stacks
from dse.catalog.store import candidates
from dse.errors import DseError, StudyError
from dse.mistakes import Mistakes, each
from dse.spelling import alternatives, meant, real_name, same, told
from dse.study.axes import BATCH, LAYOUT_STACKS, MICRO_BATCH, lays_out
from dse.text_table import Table, text_table
from dse.version import __version__

COLUMNS = ("workload", "accelerator", "samples_per_s", "precision", "batch_per_gpu", "gpus",
           "gpus_per_node", "stack", "accumulation", "optimizer", "aggregation", "node",
           "intra_node", "inter_node", "nics_per_node")  # fmt: skip
OF_LAYOUTS = tuple(dict.fromkeys((
    *COLUMNS, *(field.name for field in fields(LayoutRate) if field.name[:4] != "rate"), *RATES
)))  # fmt: skip
SAMPLES = "samples_per_s"
HARDWARE = ("accelerators", "nodes", "fabrics")  # of which a word has a usual meaning
LIBRARY = "training rates of"  # of a profile that holds nothing else; its version is the table
_KINDS = {  # of columns that hold names -> of the catalogue
    "workload": "workloads", "accelerator": "accelerators", "stack": "stacks", "node": "nodes",
    "intra_node": "fabrics", "inter_node": "fabrics", "aggregation": "aggregations",
}  # fmt: skip


Rate = Throughput | LayoutRate
# A column, what is wrong of it in a layout, and what would be right; None where nothing is.
Check = Callable[[LayoutRate], tuple[str, str, str] | None]
Wrong = Callable[[str, str, str], StudyError]  # a column, a problem, a remedy
Flops = Callable[[Workload], float]  # of a sample, forward and backward
Note = Callable[[int, str], None]  # on a line of the table


def _tripled(workload: Workload) -> float:
    return 3 * workload.forward_flops


def throughput_profile(path: str | Path, name: str, rates: Collection[Rate] = ()) -> Profile:
    """The profile of the rates of a table, see :func:`read_throughput`."""
    rates = rates or read_throughput(path).values()
    return silent_profile(
        name=name,
        library=LIBRARY,
        version=Path(path).name,
        machine={},
        cores=1,
        background_cores=0.0,
        date=today(),
        source=f"{Path(path).name}, read with dse {__version__}",
        measurements_sha256=sha256_of(Path(path)),
        gamma_s_per_byte=0.0,
        copy_s_per_byte=0.0,
        throughput=tuple(rate for rate in rates if isinstance(rate, Throughput)),
        layouts=tuple(rate for rate in rates if isinstance(rate, LayoutRate)),
        system=name,
    )


def read_throughput(
    path: str | Path,
    check: Check = lambda _: None,
    flops: Flops = _tripled,
    note: Note = lambda *_: None,
) -> Mapping[int, Rate]:
    """The rates of a table by their lines. Raises StudyError with every mistake and its place.

    A workload may be the path of a workload file or config.json, relative to the table. check: of
    layouts. flops: of other rates that are written in FLOPs. note: on words that could mean
    several things.
    """
    table = text_table(str(path), read_text(path), marks=",;\t")
    names = [real_name(name, OF_LAYOUTS) for name in table.header]
    for at, name in enumerate(names):
        if name not in OF_LAYOUTS:
            remedy = meant(name, OF_LAYOUTS, f"the columns are {', '.join(OF_LAYOUTS)}")
            raise table.wrong(-1, at, f"unknown column '{name}'", remedy)
    if not table.rows:
        raise table.wrong(-1, 0, "no row follows the header", "write one for each rate")
    rates = each(lambda row: _rate(table, row, names, check, flops, note), range(len(table.rows)))
    return dict(zip(table.lines[1:], rates, strict=True))


def _rate(
    table: Table, row: int, names: Sequence[str], check: Check, flops: Flops, note: Note
) -> Rate:
    """The rate of a row; names: of the columns. Raises StudyError with every mistake."""
    from pydantic import TypeAdapter, ValidationError

    mistakes = Mistakes()
    given = {name: cell for name, cell in zip(names, table.rows[row], strict=True) if cell}

    def wrong(column: str, problem: str, remedy: str) -> StudyError:
        return table.wrong(row, names.index(column) if column in names else 0, problem, remedy)

    def named(column: str) -> str:
        try:
            name = _name(column, given[column], Path(table.path).parent)
        except StudyError as cause:
            if cause.line:  # a mistake in the file of a workload
                raise
            problem = f"{column}: {cause.file and f'{cause.file}: '}{cause.problem}"
            raise table.wrong(row, names.index(column), problem, cause.remedy) from None
        if others := also_meant(_KINDS[column], given[column]):
            note(table.lines[row + 1], told(given[column], (name, *others)))
        return name

    found = mistakes.by_key(named, [name for name in _KINDS if name in given])
    given |= {name: part.otherwise(given[name]) for name, part in found.items()}
    if "gpus_per_node" not in given and given.get("node") in catalog.names("nodes"):
        given["gpus_per_node"] = str(catalog.node(given["node"]).accelerators)
    kind: type[Rate] = Throughput
    of, *others = [name for name in RATES if name in given] or [SAMPLES]
    if others:
        raise wrong(others[0], f"{others[0]}: {of} is given, too", "give one rate: drop either")
    values = {"stack": "vendor", **{name: given[name] for name in given if name != of}}
    values |= {SAMPLES: given[of]} if of in given else {}
    unsaid = "stack" not in given and of != SAMPLES
    laid_out = lays_out(given, ()) or (unsaid and _usually_laid_out(given.get("workload", "")))
    stack = given.get("stack", LAYOUT_STACKS[0] if laid_out else "")
    if laid_out or stack in layout_stacks():
        mistakes.told()
        kind, values = LayoutRate, _of_layout(given, stack, of, wrong)
    try:
        rate = TypeAdapter(kind).validate_strings(values)
    except ValidationError as cause:
        for one in cause.errors():
            name = str(one["loc"][0])
            name = of if name in ("rate", SAMPLES) else name
            text = f"{name}: '{given.get(name, '')}': {one['msg'][:1].lower()}{one['msg'][1:]}"
            mistakes.note(wrong(name, text, "see the columns in docs/calibration.md"))
    mistakes.told()
    if of == "mfu" and (share := float(given[of])) > 1:
        raise wrong(of, f"mfu: {share:g} is above the peak", "write a share, such as 0.4")
    if isinstance(rate, Throughput):
        return _in_samples(rate, of, flops, wrong)
    if refused := check(rate):
        raise wrong(*refused)
    return rate


def _in_samples(rate: Throughput, of: str, flops: Flops, wrong: Wrong) -> Throughput:
    """The rate, whose number is in the unit of a column, in samples per second."""
    if of == SAMPLES:
        return rate
    workload = catalog.named_workload(rate.workload)
    peak = catalog.accelerator(rate.accelerator).peak_flops_per_s.get(rate.precision)
    tokens = workload.tokens_per_sample
    if tokens is None and of.startswith("tokens"):
        problem = f"{of}: samples of {workload.name} have no known number of tokens"
        raise wrong(of, problem, f"write {SAMPLES}")
    if peak is None and of == "mfu":
        problem = f"precision: {rate.accelerator} has no peak in {rate.precision}"
        raise wrong("precision", problem, "write another")
    samples = rate.batch_per_gpu * rate.gpus * rate.accumulation
    seconds = step_s(
        of, rate.samples_per_s, samples, samples * (tokens or 0.0), rate.gpus,
        samples * flops(workload), peak or 1.0,
    )  # fmt: skip
    return replace(rate, samples_per_s=rounded(samples / seconds))


def _usually_laid_out(workload: str) -> bool:
    with suppress(DseError):  # another place tells of a name that is not known
        return catalog.named_workload(workload).usually_laid_out
    return False


def _of_layout(given: Mapping[str, str], stack: str, of: str, wrong: Wrong) -> dict[str, str]:
    """The cells of a row about a layout as fields of its rate. of: the column of its number."""
    if stack not in layout_stacks():
        remedy = f"name {alternatives(layout_stacks())}"
        raise wrong("stack", f"stack: under {stack} nothing is laid out", remedy)
    for alike, remedy in (
        ((BATCH, MICRO_BATCH), "they are one"),
        (("global_batch", "accumulation"), "one follows from the other"),
    ):  # fmt: skip
        there = [name for name in alike if name in given]
        if len(there) > 1:
            raise wrong(there[1], f"{there[1]}: {there[0]} is given, too", f"{remedy}: drop either")
    if of not in given:
        raise wrong("", "no rate is given", f"write one under {alternatives(RATES)}")
    own = given.get("accelerator")
    if "node" in given:
        has = catalog.node(given["node"]).accelerator
        if own not in (None, has):
            raise wrong("accelerator", f"accelerator: {given['node']} has {has}", "drop either")
    elif own is None:
        raise wrong("", "neither node nor accelerator is given", "write one")
    values = {"stack": stack, "sequence": "", **given, "rate_of": of, "rate": given[of]}
    del values[of]
    if BATCH in values:
        values[MICRO_BATCH] = values.pop(BATCH)
    if not values["sequence"] and "workload" in values:
        values["sequence"] = _usual_tokens(given["workload"])
        if not values["sequence"]:
            problem = f"{given['workload']} has no sequences of tokens"
            raise wrong("workload", problem, "name a transformer, or write sequence")
    return values


def _usual_tokens(workload: str) -> str:
    """Of a sequence: as the workload has, or as many as a config.json lets it read; '' if none."""
    if workload.endswith(".json"):
        data = json.loads(Path(workload).read_text(encoding="utf-8"))
        if most := data.get("text_config", data).get("max_position_embeddings"):
            return str(most)
    known = catalog.named_workload(workload).tokens_per_sample
    return "" if known is None else str(int(known))


def _name(column: str, word: str, folder: Path) -> str:
    """The name that a word means, in any spelling or by an alias that is clear; of a workload also
    the absolute path of its file, from the folder of the table."""
    kind = _KINDS[column]
    stacks = (*catalog.computing().stacks, *layout_stacks())
    known = {"stacks": dict.fromkeys(stacks), "aggregations": aggregation_names()}.get(kind)
    known = known or dict.fromkeys(catalog.names(kind))
    words = catalog.aliases().get(kind, {}) if kind in HARDWARE else catalog.clear_aliases(kind)
    found = real_name(word, known, words)
    if found in known:
        return found
    if column == "workload" and catalog.is_path(word):
        path = folder / word
        catalog.named_workload(str(path))
        return str(path.resolve())
    if could := catalog.aliases().get(kind, {}).get(same(word)):  # a measurement is of one of them
        remedy = f"write {alternatives(could)}"
        raise StudyError("", 0, 0, f"'{word}' could mean several", remedy)
    near = known if kind not in catalog.KINDS else candidates(kind, word)
    remedy = meant(word, near, "write it as studies do, see dse catalog")
    raise StudyError("", 0, 0, f"'{word}' is not known", remedy)
