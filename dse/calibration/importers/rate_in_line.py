"""The rate that a line of a log tells: a unit, and the number before or behind it.

A line is read by the first of :data:`~dse.calibration.importers.rate_units.UNITS` in which it
tells a rate of a whole step of training, as :mod:`~dse.calibration.importers.rate_scope` says.
Where numbers are on both sides of the unit, it is the one behind ``:`` or ``=``, else the one
before, unless that is of another word, such as the loss in ``loss 2.3 samples/s 10400.5``.

Numbers may have a decimal comma: ``1,5 s/it``, ``1.234,5 samples/s``, and blanks between thousands
after a word of a rate: ``throughput 10 400 samples/s``. Without such a word ``10`` may count steps,
so that the line is refused. A comma that cannot be within a number is between two: ``loss=2.5,450.5
samples/s``.
"""

from __future__ import annotations

import re
from functools import partial
from typing import NamedTuple

from dse.calibration.importers import rate_scope
from dse.calibration.importers.measured_training import Training
from dse.calibration.importers.rate_units import ACCELERATOR, NODE, SAMPLE, STEP, TOKEN, UNITS, Unit
from dse.catalog import decimal_mark

_PREFIXES = {"": 1.0, "k": 1e3, "m": 1e6}
_SCALE = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3}
_NO_NUMBER = r"(?<![a-z])(?:nan|inf)(?![a-z])"
_NUMBER = rf"(?:\d(?:[\d.,]{{0,200}}\d)?\.?(?:e[+-]?\d{{1,2}})?|{_NO_NUMBER})"
# A number that ends before a unit, and one that begins behind it.
_BEFORE = re.compile(rf"(?<![\d.,])(?<!\de)(?P<number>{_NUMBER})\s?(?P<prefix>[km]?)\s?$")
_NEAR = 240  # characters before a unit in which its number begins
_BEHIND = re.compile(
    rf"[\"']?(?P<by>\s*[=:]\s*[\"']?|\s+)(?P<sign>[-\u2212]?)(?P<number>{_NUMBER})"
)
_BEHIND_UNIT = re.compile(r"(?P<prefix>[km](?![a-z]))?(?:\s?(?P<scale>ms|sec|seconds|s)\b)?")
_SIGN = re.compile(r"(?:^|[\s=:(\[|,;])[-\u2212]$")
# What makes a number behind a unit that of another: 350 samples/s 0.4 s/it, 350 samples/s 12:00.
_OWN_UNIT = re.compile(
    rf"[a-z\d:/%-]|\s?(?:[km]?\s?(?:{SAMPLE}|{TOKEN}|{STEP}|(?:{ACCELERATOR}|{NODE})s?)"
    r"\b(?!\s*[=:#]?\s*\d)|(?:ms|s|sec|seconds|min|minutes|h|hours|[kmgt]i?b)\b|%)"
)
_WORD = re.compile(r"([a-z][\w./-]*)[\"']?\s*[=:]?\s*[\"']?$")  # right before a number
_OF_A_RATE = frozenset((
    "throughput", "speed", "rate", "perf", "performance", "at", "is", "of", "avg", "average",
    "mean", "median", "total", "overall", "train", "training", "current", "running",
))  # fmt: skip
_OF_THE_RUN = frozenset(("train", "training", "current", "running"))  # a step's number may follow
# Thousands parted by blanks: 10 before the 400 of 10 400, and 400 behind its 10.
_PARTED = re.compile(r"(?<![\w.,/#-])(?<!\d:)([1-9]\d{0,2}(?: \d{3})* )$")
_LAST_GROUP = re.compile(r"\d{3}(?:[.,]\d+)?")
_GROUPS = re.compile(r"(?: \d{3})+(?:[.,]\d+)?(?![\d.,])")
_CLOCK = re.compile(r"\d\d:$")  # before the 30 of 01:30,3.45it/s
_COUNTED = re.compile(rf"\s?(?:{ACCELERATOR}|{NODE})s?\b(?!\s*[=:#]?\s*\d)")  # 1200,2 gpus
_THOUSANDS = r"[1-9]\d{0,2}(?:,\d{3})+"
_DECIMAL = r"(?<![\w.,:/-])(\d+[.,]\d+)(?![\d:/]|[.,-]\d)"  # no date, version or address
# What training scripts print beside rates, or in lines of its own.
_QUANTITIES = "loss|lr|ppl|perplexity|acc|accuracy|grad_norm|time|elapsed|mfu"
_BESIDE = re.compile(rf"(?<![a-z])(?:{_QUANTITIES})[\"']?\s*[=:]?\s*[\"']?{_DECIMAL}")
_OF_ANOTHER = frozenset((
    *_QUANTITIES.split("|"), "learning", "norm", "scale", "step", "steps", "epoch", "epochs",
    "iter", "iters", "iteration", "batch", "rank", "gpu", "worker", "node", "device", "mem",
    "memory", "eta", "seed",
))  # fmt: skip


class WrittenRate(NamedTuple):
    """A rate as it is written. number: digits, points and commas. times: of its power of ten, its
    prefix and unit, and of ``many``. each: what it is of one of, or empty where it is of the whole
    job, which has as ``many``. quote: with its unit. doubt: what else it may be; remedy: against
    that. kind, rank: see :class:`~dse.calibration.importers.rate_scope.Scope`."""

    number: str
    times: float
    quote: str
    each: str = ""
    many: int = 1
    negative: bool = False
    doubt: str = ""
    remedy: str = "write a colon before the rate, as in samples/s: 1250.5"
    kind: str = rate_scope.WHOLE
    rank: int = rate_scope.PLAIN


def rates_of(text: str, terms: Training, written: str) -> tuple[Unit, list[WrittenRate]] | None:
    """The unit of a line in lower case, and its rates, the first of those that count most first.

    Only where none is of a whole step of training others are there. written: the same line as it
    is.
    """
    others: tuple[Unit, list[WrittenRate]] | None = None
    for unit in UNITS:
        if not re.search(unit.words, text):
            continue
        found = (_said(match, unit, terms, written) for match in re.finditer(unit.pattern, text))
        said = [one for one in found if one is not None]
        whole = [one for one in said if one.kind == rate_scope.WHOLE]
        if whole:
            sure = [one for one in whole if not (one.each and one.doubt)]
            return unit, sorted(sure or whole, key=lambda one: one.rank)
        others = others or ((unit, said) if said else None)
    return others


def _said(unit: re.Match[str], of: Unit, terms: Training, written: str) -> WrittenRate | None:
    """The rate that has this unit; None where no number is beside it."""
    groups = unit.groupdict()
    behind = _behind(unit)
    assigned = behind is not None and behind.assigned
    before = None if assigned or groups.get("time") else _before(unit)
    if groups.get("time") and not assigned:
        return None
    number, doubt = behind or before, ""
    if before is not None and behind is not None:
        words = set(re.split(r"[_./-]", before.word)) - {""}
        timed = "time" in words and bool(groups.get("scale"))  # step_time 0.4 s/it
        if not words or timed or (words & _OF_A_RATE and not words & _OF_ANOTHER):
            number = before
        elif not words & _OF_ANOTHER:
            doubt = f"may be {before.digits} or {behind.digits}"
    elif behind is None:
        number = before
    if number is None:
        return None
    start, end = min(unit.start(), number.start), max(unit.end(), number.end)
    closed = start == unit.start() and unit.string[unit.end() : unit.end() + 1] in (")", "]")
    start -= closed and unit.string[start - 1] in "(["
    scale = groups.get("scale") or number.scale or groups.get("unit") or "s"
    digits, _, power = number.digits.partition("e")
    if power and len(re.findall("[.,]", digits)) == 1:
        digits += "0"  # before a power of ten stands no mark of thousands
    times = _SCALE[scale] * _PREFIXES[number.prefix] * float(f"1e{power or 0}")
    own = groups.get("each") or groups.get("amid") or ""
    scope = rate_scope.scope(unit.string, start, end, own)
    found = WrittenRate(
        digits, times, "", negative=number.negative, doubt=doubt or number.doubt,
        kind=scope.kind, rank=scope.rank,
    )  # fmt: skip
    if scope.one and not of.of_steps:  # a step takes as long on each
        start, end = min(start, scope.start), max(end, scope.end)
        found = _of_one(found, scope, terms)
    return found._replace(quote=_quoted(written[start:end]))


def _of_one(rate: WrittenRate, scope: rate_scope.Scope, terms: Training) -> WrittenRate:
    """A rate of one accelerator, node, or what else the scope says, as that of the whole job."""
    many = {"accelerator": terms.gpus, "node": terms.nodes}.get(scope.each)
    if many is not None and (scope.told or many == 1):
        return rate._replace(each=scope.each, many=many, times=rate.times * many)
    one = scope.one.upper() if scope.one.endswith("pu") else scope.one
    doubt = f"may be of one {one} or of the whole job"
    remedy = "write 'per GPU' or 'total' before the rate"
    if scope.told:
        doubt = f"is of one {one}, and how many of them the job has is not known"
        remedy = "give rates of the whole job, of one GPU or of one node"
    return rate._replace(each=scope.one, doubt=rate.doubt or doubt, remedy=remedy)


def _quoted(text: str) -> str:
    """A rate and its unit without quotation marks of their own."""
    return text.replace('"', "").strip()


class _Beside(NamedTuple):
    """A number beside a unit. start, end: in the line. word: right before it. scale: of seconds.
    assigned: by = or :. doubt: what else it may be."""

    digits: str
    start: int
    end: int
    prefix: str = ""
    negative: bool = False
    word: str = ""
    scale: str = ""
    assigned: bool = False
    doubt: str = ""


def _before(unit: re.Match[str]) -> _Beside | None:
    near = max(0, unit.start() - _NEAR)
    left = unit.string[near : unit.start()]
    found = _BEFORE.search(left)
    if found is None:
        return None
    at, whole = found.start("number"), found["number"].rstrip(".")
    digits = _nearest(whole, "before", left[:at], left[found.end("number") :])
    if digits != whole:  # a comma is right before it
        return _Beside(digits, near + at + len(whole) - len(digits), unit.start(), found["prefix"])
    head, doubt = _PARTED.search(left[:at]) if _LAST_GROUP.fullmatch(digits) else None, ""
    if head is not None:
        parted = _is_parted(left[: head.start()])
        joined = head[1].replace(" ", "") + digits
        if parted:
            at, digits = head.start(), joined
        elif parted is None:
            doubt = f"may be {digits} or {joined}"
    negative = _SIGN.search(left[:at]) is not None
    word = _WORD.search(left[:at])
    return _Beside(
        digits, near + at - negative, unit.start(), found["prefix"], negative,
        word[1] if word else "", doubt=doubt,
    )  # fmt: skip


def _is_parted(left: str) -> bool | None:
    """Whether a number that a blank parts is one number with thousands, by what is left of it; None
    where that is not certain."""
    if number := re.search(rf"(?<![\d.,]){_NUMBER}\s*$", left):
        return True if _WORD.search(left[: number.start()]) else None
    word = _WORD.search(left)
    words = set(re.split(r"[_./-]", word[1])) if word else set()
    if words & _OF_ANOTHER:
        return False
    return True if words & (_OF_A_RATE - _OF_THE_RUN) else None


def _behind(unit: re.Match[str]) -> _Beside | None:
    text, end = unit.string, unit.end()
    if text[unit.start() - 1 : unit.start()] + text[end : end + 1] in ("()", "[]"):
        end += 1  # throughput (samples/s): 1250.5
    found = _BEHIND.match(text, end)
    if found is None:
        return None
    assigned = bool(set(found["by"]) & set("=:"))
    end, doubt = found.end("number"), ""
    digits = _nearest(found["number"].rstrip("."), "after", "", text[end:])
    parted = _GROUPS.match(text, end) if re.fullmatch(r"[1-9]\d{0,2}", digits) else None
    if parted and not _OWN_UNIT.match(text, parted.end()):
        joined = digits + parted[0].replace(" ", "")
        if re.match(r"\s*[\d.,]", text[parted.end() :]):
            doubt = f"may be {digits} or {joined}"
        else:
            digits, end = joined, parted.end()
    own = _BEHIND_UNIT.match(text, end)
    prefix, scale = (own["prefix"] or "", own["scale"] or "") if own else ("", "")
    end = own.end() if own else end
    if not assigned and (scale or _OWN_UNIT.match(text, end)):
        return None
    return _Beside(
        digits, found.start(), end, prefix, bool(found["sign"]), "", scale, assigned, doubt
    )


def _nearest(digits: str, side: str, left: str, right: str) -> str:
    """Of digits, points and commas ``before`` or ``after`` a unit, the number beside the unit.

    All of them unless a comma must be between two numbers, or where that is not certain. left,
    right: what is around them.
    """
    first, comma, rest = digits.partition(",")
    if comma and side == "before" and re.fullmatch(r"[0-5]\d", first) and _CLOCK.search(left):
        return _nearest(rest, side, "", right)
    if comma and side == "after" and _COUNTED.match(right):
        return _nearest(digits.rpartition(",")[0], side, left, "")
    if not comma or any(map(partial(decimal_mark.well_formed, digits), decimal_mark.MARKS)):
        return digits
    one, several = (first, rf"{_THOUSANDS}(?:\.\d+)?,.*") if side == "after" else (
        digits.rpartition(",")[2], rf".*,{_THOUSANDS}(?:\.\d+)?")  # fmt: skip
    certain = not re.fullmatch(several, digits)
    return one if certain and decimal_mark.well_formed(one, decimal_mark.POINT) else digits


def decimals_beside(text: str, told: bool) -> list[str]:
    """The other numbers of a line in lower case that have a decimal mark; of a line that has told
    no rate only those of what training scripts print."""
    found: list[str] = re.findall(_DECIMAL, text) if told else _BESIDE.findall(text)
    return found
