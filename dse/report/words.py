"""Numbers, objectives and design points in words a buyer reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import replace
from math import floor, isfinite, log10, prod
from os.path import isfile
from typing import Any, NamedTuple, TypeAlias

from dse import catalog
from dse.calibration.ps_part import PS
from dse.calibration.runners.registry import measuring
from dse.report.design_point import Bounds, Point
from dse.report.document import RunDocument
from dse.study.axes import (
    ACCUMULATION,
    AXES,
    BATCH,
    GLOBAL_BATCH,
    HARDWARE,
    LAYOUT_STACKS,
    NODE,
    OF_LAYOUT,
    RENTAL,
    REPLICA,
    ROWS,
    SOFTWARE,
    spoken,
)
from dse.study.quantities import JOULES_PER_KWH, QUANTITIES, Phrase
from dse.text_source import is_path

UNKNOWN = "unknown"
FREE_MEMORY = "free memory per GPU"
INTERVAL = "90 % interval"  # of the calibration: its 5th to 95th percentile
_VENDORS = ("NVIDIA", "AMD", "Intel", "Google", "AWS")
OWN_SOFTWARE = "each workload's own software"  # of a mix
STACK = "stack"  # the axis of the training software
DEGREES = 3  # of a layout that are always said: TP, PP, DP


class Named(NamedTuple):
    """A point as far as words need it."""

    config: Mapping[str, str]
    immaterial: tuple[str, ...]
    gpus: float
    nodes: float


Described: TypeAlias = Point | Named


# Units by falling size; the last is also that of whatever is smaller.
_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
COUNTS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_MASSES = ((1e6, "kt"), (1e3, "t"), (1.0, "kg"), (1e-3, "g"))
_CHANCE_DIGITS = 6  # of a percentage at most
_TIMES = ((86400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"),
          (1e-6, "us"), (1e-9, "ns"))  # fmt: skip
_BYTES = ((1024.0**3, "GiB"), (1024.0**2, "MiB"), (1024.0, "KiB"), (1.0, "B"))
_ELECTRICITY = ((1e6, "GWh"), (1e3, "MWh"), (1.0, "kWh"))  # in kWh, as it is bought


# What has a title, by the kind of names.
_TITLED: dict[str, Callable[[str], Any]] = {
    "accelerators": catalog.accelerator, "nodes": catalog.node, "fabrics": catalog.fabric,
}  # fmt: skip
FORMULA, SILENT, CATALOGUE = "formula", "silent", "catalogue"
# What stands behind the price of communication.
EVIDENCE = {
    "inside": "measured", "near": "near measured", "far": "far from measured",
    CATALOGUE: "not measured", FORMULA: "not measured", SILENT: "no communication",
}  # fmt: skip
# What intervals hold of communication that the catalogue prices.
_CATALOGUE_ERROR = (
    "Intervals allow for the error that such prices had where there were measurements to check "
    "them by."
)


def objective(document: RunDocument, name: str) -> Phrase:
    """How to speak of an objective; one that is not known here goes by its own name."""
    known = QUANTITIES.get(name)
    if known is not None and known.phrase is not None:
        if document.owned and name == "capital":  # of what is added to it
            return replace(known.phrase, title="price of what is added", tail="to add")
        return known.phrase
    return Phrase(name.replace("_", " "), document.units.get(name, ""), "needs")


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def cut(text: str, most: int) -> str:
    """The text, or as much of it as so many characters hold."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def significant(value: float, digits: int = 3) -> str:
    """``value`` to so many significant digits, with thousands parted and no exponent.

    As Python rounds: the exact binary number, halves to the even digit.
    """
    if value == 0:
        return "0"
    places = digits - 1 - floor(log10(abs(value)))
    text = f"{round(value, places):,.{max(0, places)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def scaled(value: float, units: Sequence[tuple[float, str]], digits: int = 3) -> str:
    """``1234567`` -> ``1.23 M`` in the largest unit of which, rounded, there is one or more.

    units: (size, name) by falling size; the last is taken for whatever is smaller.
    """
    whole = (one for one in units if float(f"{abs(value) / one[0]:.{digits}g}") >= 1)
    size, unit = next(whole, units[-1])
    return f"{significant(value / size, digits)} {unit}".rstrip()


def duration(seconds: float | None, digits: int = 3) -> str:
    """Seconds in the unit that suits, from ns to days; less than a picosecond is rounding."""
    if seconds is None:
        return UNKNOWN
    text = "0 s" if abs(seconds) < 1e-12 else scaled(seconds, _TIMES, digits)
    return "1 day" if text == "1 days" else text


def size(value: float | None) -> str:
    """Bytes in binary units."""
    return UNKNOWN if value is None else scaled(value, _BYTES)


def count(value: float) -> str:
    """A whole number with its thousands parted."""
    return f"{value:,.0f}"


def many(number: float, what: str) -> str:
    """``1 GPU``, ``2 GPUs``, ``290,000 PS/Worker jobs``."""
    return f"{count(number)} {what}{'s' * (number != 1)}"


def percent(share: float) -> str:
    """A share of one as a percentage that does not round something to nothing."""
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{significant(share * 100, 2)} %" if share < 0.995 else f"{share * 100:.0f} %"


def chance(probability: float, asked: float | None = None) -> str:
    """A probability in percent; what is not certain never reads 0 or 100 %.

    asked: the probability that it is compared with; it gets as many digits as it takes to read
    below that where it is, and not below where it is not.
    """
    if asked is not None:
        for digits in range(_CHANCE_DIGITS):
            read = round(100 * probability, digits)
            fair = read not in (0, 100) or probability in (0, 1)
            if fair and (read >= round(100 * asked, _CHANCE_DIGITS)) == (probability >= asked):
                return f"{read:.{digits}f} %"
    if 0 < probability < 0.005:
        return "< 1 %"
    if 0.995 < probability < 1:
        return "> 99 %"
    return f"{probability:.0%}".replace("%", " %")


def exactly(asked: float) -> str:
    """A probability that somebody asks for, as it was written: 0.999 is ``99.9 %``."""
    return f"{100 * asked:.{_CHANCE_DIGITS}g} %"


def shown(value: float | None, unit: str, digits: int = 3) -> str:
    """A number with its unit, for people: ``USD 1.23 M``, ``3.4x``, ``42 ms``, ``12 kW``."""
    if value is None or not isfinite(value):
        return UNKNOWN
    if unit in ("x", "s"):
        return f"{significant(value, digits)}x" if unit == "x" else duration(value, digits)
    if unit == "%":
        return f"{significant(100 * value, digits)} %"
    if unit == "B":
        return scaled(value, _BYTES, digits)
    if unit.startswith("USD"):
        return f"USD {scaled(value, COUNTS, digits)}{unit[3:].replace('hour', 'h')}"
    if unit == "J":
        return scaled(value / JOULES_PER_KWH, _ELECTRICITY, digits)
    if unit == "W":
        text = scaled(value, _PREFIXES, digits)
        return f"{text}{unit}" if text[-1].isalpha() else f"{text} {unit}"
    if unit.startswith("kg"):
        return f"{scaled(value, _MASSES, digits)}{unit[2:]}" if value else f"0 {unit}"
    return f"{scaled(value, COUNTS, digits)} {unit}".strip()


def interval(bounds: Sequence[float] | None, unit: str, around: float | None = None) -> str:
    """``3.1x to 3.7x``; empty where there is none.

    around: a value of the interval that is shown beside it, with three digits. Where an end
    rounds to what that rounds to, it could seem to lie outside: then the ends have more digits, at
    most as many as the value.
    """
    ends: dict[str, None] = {}
    for some in (2, 3):
        ends = dict.fromkeys(shown(end, unit, some) for end in bounds or ())
        if len(ends) > 1 and (around is None or shown(around, unit, some) not in ends):
            break
    return " to ".join(ends)


def with_interval(
    value: float | None, bounds: Sequence[float] | None, unit: str
) -> tuple[str, str]:
    """A value, and the interval that stands beside it, as :func:`interval`."""
    return shown(value, unit), interval(bounds, unit, value)


def gain_interval(document: RunDocument, point: Point) -> Bounds | None:
    """The interval of what is maximized."""
    return point.bounds(document.objectives.maximize) or point.bounds("speedup")


def show(document: RunDocument, point: Point, name: str) -> str:
    """An objective of a point with its unit."""
    return shown(point.quantity(name), objective(document, name).unit)


def matters(point: Described, axis: str) -> bool:
    """Whether an axis does anything at a point."""
    return axis not in point.immaterial


def label(point: Described, axis: str) -> str:
    """What a point has of an axis; empty where the axis does not apply or matter."""
    return point.config.get(axis, "") if matters(point, axis) else ""


def title(axis: str, name: str, identified: bool = False) -> str:
    """What people call an accelerator, node or fabric; else its identifier, or the value of another
    axis as it is.

    identified: with the identifier in parentheses.
    """
    kind = AXES[axis].names
    offered = axis == NODE and is_path(name) and isfile(name)
    named = offered or (kind in _TITLED and name in catalog.names(kind))
    known = _TITLED[kind](name).title if named else name
    return f"{known} ({name})" if identified and known != name else known


def describe(point: Described, identified: bool = False) -> str:
    """The point in a phrase: machines, network, aggregation, batch, precision, software.

    identified: the identifier of the machine follows its title, as at first mention.
    """
    return ", ".join([*hardware(point, identified), *settings(point)])


def hardware(point: Described, identified: bool = False) -> list[str]:
    """What is bought or rented, in phrases: machines, how many in a node, network."""
    config = point.config
    gpus, alone = count(point.gpus), point.nodes == 1
    accelerator, node = config.get("accelerator"), config.get("node")
    named = title("node", node, identified) if node else "nodes"
    if accelerator:
        named = title("accelerator", accelerator, identified)
    if isinstance(point, Point) and (paid := point.paid):
        kind, of = paid.kind if paid.units > 1 else paid.kind[:-1], "" if accelerator else " GPUs"
        parts = [
            f"{count(paid.units)} {kind} of {paid.size} x {named} "
            f"({count(paid.accelerators)}{of} {paid.verb}, {gpus} used)"
        ]
    elif accelerator:
        parts = [f"{gpus} x {named}"]
    else:
        parts = [f"{count(point.nodes)} x {named}", f"{gpus} GPUs in all"]
    if accelerator and alone and point.gpus > 1:
        parts.append("in one node")
    return [*parts, *_said(point, (RENTAL,) if alone else HARDWARE)]


def machines(config: Mapping[str, str]) -> str:
    """How many of which a point has, by the labels of its axes: ``8 x NVIDIA A10 24 GB``."""
    gpus = config.get("gpus", "")
    if name := config.get("accelerator"):
        return f"{gpus} x {title('accelerator', name)}"
    node = config.get("node", "")
    return f"{gpus} GPUs in {title('node', node)}" if node else f"{gpus} GPUs"


def without_vendor(name: str) -> str:
    """A name without its maker, once that has been said: ``8 x H100 SXM5 80 GB``."""
    for vendor in _VENDORS:
        name = name.replace(f"{vendor} ", "")
    return name


def phrase(axis: str, value: str) -> str:
    """A value of an axis as people say it: ``on InfiniBand EDR``, ``with 2 network cards per
    node``."""
    row = AXES[axis]
    called = title(axis, value)
    return row.said.get(value) or (row.phrase or f"with {spoken(axis)} {{}}").format(called)


def settings(point: Described, beside: Described | None = None) -> list[str]:
    """How it trains, in phrases: aggregation, batch, precision, software. beside: a
    point that it is compared with; where their software differs, even the usual one is named."""
    if isinstance(point, Point) and point.mix:
        return [OWN_SOFTWARE]
    differs = beside is not None and label(beside, STACK) != label(point, STACK)
    if not laid_out(point.config):
        said = _said(point, SOFTWARE, {STACK} if differs else set())
        return [f"{one} (RCCL)" if "nccl" in one and _of_amd(point) else one for one in said]
    usual = label(point, STACK) == LAYOUT_STACKS[0] and not differs
    unsaid = {BATCH, ACCUMULATION, *OF_LAYOUT, *([STACK] if usual else [])}
    return [*layout(point), *_said(point, {*SOFTWARE} - unsaid)]


def _of_amd(point: Described) -> bool:
    """Whether AMD made its accelerators, whose library in NCCL's place is RCCL."""
    name = point.config.get("accelerator")
    named = title("accelerator", name) if name else title("node", point.config.get("node", ""))
    return "AMD " in named


def laid_out(config: Container[str]) -> bool:
    """Whether a point is a layout of a transformer."""
    return REPLICA[0] in config


def replicas(point: Described) -> int:
    """The data ranks of a layout."""
    return round(point.gpus / prod(int(point.config.get(axis) or 1) for axis in REPLICA))


def rates(point: Point, besides: Collection[str] = ()) -> list[str]:
    """How fast a point trains, in phrases: tokens per second and their share of the peak, or
    samples per second. besides: said already."""
    rate, used = point.quantity("tokens_per_s_per_gpu"), point.quantity("mfu")
    if rate is None:
        said = {"throughput": shown(point.throughput_samples_per_s, "samples/s")}
    else:
        said = {"tokens_per_s_per_gpu": f"{count(rate)} tokens/s per GPU"}
        said["mfu"] = "" if used is None else f"MFU {significant(100 * used)} %"
    return [text for name, text in said.items() if text and name not in besides and not point.mix]


def layout(point: Described) -> list[str]:
    """How a transformer is laid out, in phrases: TP, PP and DP always, the rest where it does
    anything: ``TP 4``, ``PP 2``, ``DP 16``, ``ZeRO-1``, ``micro-batch 1``, ..."""
    own = {BATCH: f"micro-batch {label(point, BATCH)}"}
    said = {axis: "".join(_said(point, {axis})) for axis in OF_LAYOUT} | own
    first, last = REPLICA[:2], (BATCH, "recompute", GLOBAL_BATCH)
    between = [axis for axis in OF_LAYOUT if axis not in (*first, *last)]
    degrees = [*(said[axis] for axis in first), f"DP {count(replicas(point))}"]
    return [*degrees, *filter(None, (said[axis] for axis in (*between, *last)))]


def _said(point: Described, axes: Collection[str], even_usual: Collection[str] = ()) -> list[str]:
    """What a point has of those axes that are more than tables show, in phrases.

    even_usual: axes whose usual value is named.
    """
    told = [(row, label(point, row.name)) for row in ROWS if row.name in axes and row.phrase]
    return [
        phrase(row.name, text)
        for row, text in told
        if text and (row.name in even_usual or text != row.usual)
    ]


BEHIND = "communication"  # the heading of what stands behind its price


def says_who(point: Point) -> str:
    """What stands behind the price of a point's communication."""
    return EVIDENCE[point.evidence]


def combinations(document: RunDocument) -> str:
    """How many points were compared, and how many of them are feasible."""
    counts = document.counts
    met = f"{count(counts.feasible)} meet every limit"
    if document.engine != "guided" or counts.points == counts.space:
        return f"{count(counts.points)} combinations compared, {met}"
    whole = f" of {count(counts.space)}" if counts.space else ""
    return f"{count(counts.points)}{whole} combinations priced, {met}"


def evidence_lines(document: RunDocument) -> list[str]:
    """How many points of the front were measured like that, in sentences that add up."""
    found = Counter(point.evidence for point in document.front)
    total = document.counts.front
    summed = total - found[SILENT]
    if found[FORMULA]:
        return ["The PAI paper's formula prices all steps; nothing was measured."]
    if not summed:
        return ["No point of the front communicates."]
    lines = []
    if found[CATALOGUE] == summed:
        lines.append(
            "No communication of the front was measured: all of it is priced from the catalogue. "
            f"{_CATALOGUE_ERROR}"
        )
    elif found[CATALOGUE]:
        lines.append(
            f"The communication of {count(found[CATALOGUE])} of {count(total)} front points is "
            "priced from the catalogue alone, since no profile of this study measured it on such "
            f"hardware. {_CATALOGUE_ERROR}"
        )
    near, far, inside = found["near"], found["far"], found["inside"]
    if inside == summed:
        lines.append("Every point of the front that communicates lies inside the measured range.")
    elif near or far:
        lines.append(
            f"Front points that a profile prices: {count(inside)} inside the measured range, "
            f"{count(near)} near it (at most one doubling beyond), {count(far)} far outside it, "
            "where intervals are only a guide."
        )
    return [*lines, *_to_measure(document)]


def _to_measure(document: RunDocument) -> list[str]:
    """How to measure what the catalogue prices on the front, a sentence for each transport."""
    summed = [label(p, "aggregation") for p in document.front if p.evidence == CATALOGUE]
    lines = []
    for row in document.transports:
        over = [name for name in summed if name.endswith(f"-{row.name}")]
        command = measuring(row.name, all(name.startswith(f"{PS}-") for name in over))
        if command and over:
            logs = " or import a log of nccl-tests ('dse calibrate import')" * (row.name == "nccl")
            comma = "," * bool(logs)
            lines.append(f"To measure {row.name}, start '{command}' on such nodes{comma}{logs}.")
    return lines


def work(document: RunDocument) -> str:
    """How an exhaustive search went through its units of work; empty where there is none."""
    done = document.work
    if not done.units:
        return ""
    parts = [f"{many(done.units, 'unit')} of work"]
    if done.resumed:
        parts.append(f"{count(done.resumed)} taken from the log of an interrupted run")
    if done.repeated:
        parts.append(f"{count(done.repeated)} done again because a worker or node was lost")
    return ", ".join(parts)


def choice(point: Point) -> str:
    """The algorithms that a library's rules take at a point, and for which messages; else empty."""
    parts = []
    for entry in point.library_choice.algorithms if point.library_choice else ():
        ends = dict.fromkeys(size(end) for end in entry.bytes)
        name, priced_as = entry.name, entry.algorithm
        if not name.startswith(priced_as):
            name = f"{name} (priced as {priced_as})"
        parts.append(f"{name} for {many(entry.messages, 'message')} of {' to '.join(ends)}")
    return ", ".join(parts)
