"""What a person says of a first study, in their own words, and what it means."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, cast

from dse.errors import ArgumentError, DseError, StudyError, together
from dse.mistakes import Mistakes, each
from dse.spelling import told

if TYPE_CHECKING:
    from dse.catalog import Fact
    from dse.study.questions import Questions

MOST = 10**7  # accelerators
MANY = 64  # values of a list of counts, and of names
ROOM = 8  # accelerators of a usual host
MOST_PASSES = 10**6  # whose gradients a step adds up, as a study has them at most
MOST_HOSTS = 128  # of a range that has them one by one: a study is still searched in seconds
COUNTS = {"buy": "capital", "rent": "hourly", "run": "per_run"}  # what counts, in everyday words
_RANGE = re.compile(r"(\d+) *(?:\.\.+|-|to) *(\d+)")
_SPEED = re.compile(r"(\d+) *(?:g|gb|gbe|gige|gbit|gbps|gb/s|gbit/s)?", re.IGNORECASE)
_EXAMPLE = "write for example 8..256, or 8,16,64"
# The option that answers what a key of the study says.
_ASKED_BY = {"workload": "--workload", "accelerator": "--on", "node": "--on", "baseline": "--on",
             "gpus": "--gpus", "inter_node": "--network", "objectives": "--minimize",
             "minimize": "--minimize", "prices": "--prices",
             "accumulation": "--accumulation"}  # fmt: skip
_KEY = re.compile(r"(\w+):")
_CONSTRAINT = "constraint: "
_INLINE = "; write it inline: "  # a link, with its numbers, where a study has the name of one


@dataclass(frozen=True)
class Answers:
    """Answers as they are given; each is read where it is asked for.

    workload, on, gpus, network: what is trained, on which accelerators or machines, how many of
    them, and joined by what; lists are separated by commas. accumulation: passes of a step, of
    which gradients are added up; None leaves one. minimize: what counts beside speed.
    deadline, budget, power, confidence: limits, as ``dse run`` takes them. samples, tokens,
    epochs of epoch_samples, quality: how long a run is. prices: paths of price lists. Properties
    raise :class:`ArgumentError` for what cannot be.
    """

    workload_given: str = "resnet50"
    on: str = "a100, h100"
    gpus: str = "8..256"
    network: str | None = None
    accumulation: str | None = None
    minimize: str | None = None
    deadline: str | None = None
    budget: str | None = None
    power: str | None = None
    confidence_given: str | None = None
    samples: str | None = None
    tokens: str | None = None
    epochs: str | None = None
    epoch_samples: str | None = None
    quality: str | None = None
    prices: str | None = None

    def check(self) -> None:
        """Raise for all answers that cannot be, in the order in which they are asked."""
        mistakes = Mistakes()
        mistakes.parts(lambda name: getattr(self, name), (
            "workload", "machines", "counts", "networks", "passes", "target", "minimized", "limits",
            "confidence", "price_lists",
        ))  # fmt: skip
        mistakes.told()

    @cached_property
    def workload(self) -> str:
        """A name of the catalogue, or the path of a file as it is."""
        from dse.text_source import is_path

        given = self.workload_given.strip()
        if not given:
            remedy = "write for example --workload bert-large; see dse catalog workloads"
            raise ArgumentError("--workload", "is missing", remedy)
        if is_path(given):
            if not os.path.isfile(given):
                remedy = "give a file, or a name of dse catalog workloads"
                raise ArgumentError("--workload", f"no file '{given}'", remedy)
            return given
        return _named("--workload", given, "workloads")

    @cached_property
    def title(self) -> str:
        """What the workload is called."""
        from dse.catalog import named_workload

        return named_workload(self.workload).title

    @cached_property
    def machines(self) -> tuple[str, ...]:
        """Names of accelerators, or of node types, in the order given."""
        words = _list("--on", self.on, "a100,h100")
        each(lambda word: _or_none("nodes", word) or _named("--on", word, "accelerators"), words)
        for kind in ("accelerators", "nodes"):
            found = [_or_none(kind, word) for word in words]
            if all(found):
                return tuple(dict.fromkeys(map(str, found)))
        devices = [word for word in words if _or_none("accelerators", word)]
        nodes = [word for word in words if word not in devices]
        problem = f"{', '.join(words)} are partly accelerators and partly whole machines"
        remedy = (
            f"ask twice, with --on {','.join(nodes)} --out reports/machines and with "
            f"--on {','.join(devices)} --out reports/accelerators, then "
            "'dse compare reports/machines reports/accelerators'"
        )
        raise ArgumentError("--on", problem, remedy)

    @cached_property
    def by_node(self) -> bool:
        """Whether machines are node types, which bring their own hosts and network."""
        return all(_or_none("accelerators", word) is None for word in _words(self.on))

    @property
    def machine_axis(self) -> str:
        """The axis of a study that machines are values of."""
        return "node" if self.by_node else "accelerator"

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """How many accelerators, ascending: the ends of a range, or all of a list."""
        bounds = _RANGE.fullmatch(self.gpus.strip())
        words = bounds.groups() if bounds else _list("--gpus", self.gpus, "8,16,64")
        found = [_count(word, self.gpus) for word in words]
        if bounds and found[0] > found[1]:
            problem = f"'{self.gpus}' goes down"
            raise ArgumentError("--gpus", problem, f"write {found[1]}..{found[0]}")
        return tuple(sorted(set(found)))

    @property
    def gpus_written(self) -> str:
        """The same as a study file writes them. A range whose ends are whole hosts has all numbers
        of hosts, so that a budget can be used up; others, and those of very many hosts, double."""
        if self._is_range:
            low, high = self.counts[0], self.counts[-1]
            whole = low % ROOM == high % ROOM == 0 and high <= MOST_HOSTS * ROOM
            scale = f"linear, step: {ROOM}" if whole else "doubling"
            return f"{{from: {low}, to: {high}, scale: {scale}}}"
        return f"[{', '.join(map(str, self.counts))}]"

    @property
    def counts_text(self) -> str:
        """The same in words."""
        ends = (self.counts[0], self.counts[-1])
        return f"{ends[0]:,}" if ends[0] == ends[1] else f"{ends[0]:,} to {ends[1]:,}"

    @property
    def _is_range(self) -> bool:
        return len(self.counts) > 1 and _RANGE.fullmatch(self.gpus.strip()) is not None

    @cached_property
    def networks(self) -> tuple[str, ...]:
        """Names of fabrics between nodes; none where node types bring their own."""
        if self.network is None:
            return () if self.by_node else ("100gbe", "200gbe", "400gbe")
        words = _list("--network", self.network, "100,400")
        return tuple(dict.fromkeys(each(self._fabric, words)))

    def _fabric(self, word: str) -> str:
        """A fabric by name, or Ethernet by its speed in Gbps."""
        from dse.catalog import names

        speed = _SPEED.fullmatch(word)
        if speed is None:
            return _named("--network", word, "fabrics")
        ethernet = [name for name in names("fabrics") if re.fullmatch(r"\d+gbe", name)]
        if (name := f"{int(speed[1])}gbe") in ethernet:
            return name
        priced = filter(self._has_prices, ethernet)
        speeds = sorted(int(name.removesuffix("gbe")) for name in priced)
        problem = f"there is no Ethernet of {int(speed[1])} Gbps"
        remedy = f"use {', '.join(map(str, speeds))}, or a name of dse catalog fabrics"
        raise ArgumentError("--network", problem, remedy)

    def _has_prices(self, fabric: str) -> bool:
        """Whether the catalogue and the price lists together know what all parts of it cost."""
        from dse import catalog

        parts = {**catalog.fabric(fabric).prices_usd, **self._own_prices.get(fabric, {})}
        return all(price.known for price in parts.values())

    @cached_property
    def _own_prices(self) -> Mapping[str, Mapping[str, Fact]]:
        """The prices of networks in the price lists; mistakes in these are told of where they are
        read for the answer."""
        from dse.catalog import read_prices

        try:
            return read_prices(*self.price_lists).fabric_usd
        except DseError:
            return {}

    @cached_property
    def passes(self) -> tuple[int, ...]:
        """Passes of a step, ascending; none where nobody asked for more than one."""
        if self.accumulation is None:
            return ()
        words = _list("--accumulation", self.accumulation, "1,2,4")
        return tuple(sorted(set(each(_passes, words))))

    @cached_property
    def minimized(self) -> str:
        """The quantity that counts beside speed: as said, else the money that is limited, else
        the price to buy, or the rent of machines that are not sold."""
        from dse.pricing.load import known_names
        from dse.study import QUANTITIES

        if self.minimize is None:
            rented = self.budget is None and self.by_node and not all(map(_sold, self.machines))
            return "hourly" if rented else self._questions.money()
        word = self.minimize.strip()
        allowed = [name for name, row in QUANTITIES.items() if row.objective == "minimize"]
        meant = COUNTS.get(word.lower()) or known_names().real("quantities", word, allowed)
        if meant not in allowed:
            remedy = f"use {', '.join(COUNTS)}, or {', '.join(allowed)}"
            raise ArgumentError("--minimize", f"'{word}' is nothing to minimize", remedy)
        if QUANTITIES[meant].needs_target and self.target is None:
            raise self._length_missing("--minimize", f"{word} is that of a whole run")
        return meant

    @cached_property
    def _questions(self) -> Questions:
        """What limits the answer, refused where it is none."""
        from dse.study.questions import Questions

        return Questions(self.deadline, self.budget, self.power)

    @cached_property
    def limits(self) -> tuple[str, ...]:
        """Constraints of the study."""
        questions = self._questions
        if self.deadline is not None and self.target is None:
            raise self._length_missing("--deadline", "a deadline is for a whole run")
        return questions.limits([self.minimized])

    @cached_property
    def confidence(self) -> float | None:
        """With what probability limits must hold."""
        from dse.study.questions import probability

        if self.confidence_given is None:
            return None
        found = probability(self.confidence_given)
        if not self.limits:
            remedy = "add --deadline, --budget or --power"
            raise ArgumentError("--confidence", "there is no limit to be sure of", remedy)
        return found

    @cached_property
    def target(self) -> str | None:
        """How long a run is, as a study file says it; None where nobody said."""
        from dse.study.cursor import Cursor
        from dse.study.objectives import read_target
        from dse.yaml_source import parse_yaml, yaml_text

        said = {name: getattr(self, name) for name in _lengths()}
        given = {name: text.strip() for name, text in said.items() if text is not None}
        if not given:
            return None
        if "quality" in given:
            given["quality"] = _named("--quality", given["quality"], "convergence")
        written = yaml_text({"target": given}, "target")
        try:
            read_target(Cursor(parse_yaml(written, "")))
        except StudyError as cause:
            raise by_option(cause, written, "") from None
        return f"{{{', '.join(f'{name}: {text}' for name, text in given.items())}}}"

    @cached_property
    def price_lists(self) -> tuple[str, ...]:
        """Paths of price lists, in their order; none where nobody gave one."""
        if self.prices is None:
            return ()
        return each(_price_list, _list("--prices", self.prices, "quotes.csv"))

    def _length_missing(self, option: str, why: str) -> ArgumentError:
        """That nobody said how long a run is, with a quality of this workload if there is one."""
        from dse.catalog import names, quality_target

        own = [name for name in names("convergence")
               if quality_target(name).workload == self.workload]  # fmt: skip
        quality = f"--quality {own[0]}, or " if own else ""
        remedy = f"add {quality}--samples 115e6" + ("" if own else " or --tokens 300e9")
        return ArgumentError(option, f"{why}, and how long that is was not said", remedy)

    @property
    def name(self) -> str:
        """A name for the study, and so for the folder of its report."""
        from dse.catalog import named_workload

        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", named_workload(self.workload).name).strip("-._")
        return f"{plain or 'first'}-cluster"[-100:].lstrip("-._")

    def told(self) -> tuple[str, ...]:
        """What words mean that could mean several things."""
        kind = "nodes" if self.by_node else "accelerators"
        words = [("workloads", self.workload_given), *((kind, word) for word in _words(self.on))]
        return tuple(line for kind, word in words if (line := _told(kind, word)))


def given_answers(given: Mapping[str, object]) -> Answers:
    """Options, or arguments of Python, by the field of :class:`Answers`; None is as usual."""
    return Answers(**{name: _text(said) for name, said in given.items() if said is not None})


def _text(said: object) -> str:
    several = isinstance(said, Iterable) and not isinstance(said, str)
    return ",".join(map(str, cast("Iterable[object]", said))) if several else str(said)


def _named(option: str, word: str, kind: str) -> str:
    """The entry that a word means; its error names the option."""
    from dse.catalog import UnknownName, resolve

    try:
        return resolve(kind, word)
    except UnknownName as cause:
        _, _, problem = str(cause).partition(": ")
        said, _, remedy = problem.partition("; ")
        raise ArgumentError(option, f"'{word}': {said}", remedy) from None


def _price_list(path: str) -> str:
    if not os.path.isfile(path):
        raise ArgumentError("--prices", f"no file '{path}'", "name a price list, .csv or .yaml")
    return path


def _or_none(kind: str, word: str) -> str | None:
    from dse.catalog import UnknownName, resolve

    try:
        return resolve(kind, word)
    except UnknownName:
        return None


def _sold(name: str) -> bool:
    """Whether the catalogue knows what a node type costs to buy."""
    from dse.catalog import node

    price = node(name).purchase_usd
    return price is not None and price.known


def _told(kind: str, word: str) -> str:
    from dse.catalog import also_meant, resolve

    others = also_meant(kind, word)
    return told(word, (resolve(kind, word), *others)) if others else ""


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _list(option: str, text: str, example: str) -> list[str]:
    found = _words(text)
    if not found:
        raise ArgumentError(option, "is empty", f"write for example {example}")
    if len(found) > MANY:
        raise ArgumentError(option, f"has {len(found):,} values", f"give {MANY} at most")
    return found


def _count(word: str, whole: str) -> int:
    if not re.fullmatch(r"\d{1,9}", word.strip(), re.ASCII) or not 1 <= int(word) <= MOST:
        problem = f"'{whole}' is not a number of accelerators, a list or a range of them"
        raise ArgumentError("--gpus", problem, _EXAMPLE)
    return int(word)


def _passes(word: str) -> int:
    if not re.fullmatch(r"\d{1,9}", word, re.ASCII) or not 1 <= int(word) <= MOST_PASSES:
        problem = f"'{word}' is not a number of passes"
        raise ArgumentError("--accumulation", problem, "write for example 1,2,4")
    return int(word)


def by_option(cause: StudyError, text: str, file: str) -> StudyError:
    """Mistakes of a study that answers made, each as that of the option that it came from.

    text, file: of the study. What no option says is left as it is, and so are mistakes in other
    files, such as price lists.
    """
    lines = text.splitlines()
    return together([
        _by_option(one, lines) if one.file == file else one for one in cause.mistakes
    ])  # fmt: skip


@cache
def _lengths() -> Mapping[str, str]:
    """The option of each key of a study's target."""
    from dse.study.objectives import EPOCH, TARGETS

    return {key: f"--{key.replace('_', '-')}" for key in (*TARGETS, EPOCH)}


def _by_option(mistake: StudyError, lines: list[str]) -> StudyError:
    if not mistake.line:
        return mistake
    lengths = _lengths()
    keys = [(found[1], found.start()) for found in _KEY.finditer(lines[mistake.line - 1])]
    before = [key for key, start in keys if start < mistake.column]
    key = before[-1] if before else ""
    if key == "target":  # as a whole: the first that says it
        key = next((key for key, _ in keys if key in lengths), key)
    # Limits were checked when they were given, but for the rate of a currency.
    limit = mistake.problem.startswith(_CONSTRAINT)
    option = "--budget" if limit else {**_ASKED_BY, **lengths}.get(key)
    if option is None:
        return mistake
    problem = mistake.problem
    for prefix in (f"{key}: ", "target: ", _CONSTRAINT):
        problem = problem.removeprefix(prefix)
    any_length = "|".join(lengths)
    remedy = re.sub(
        rf"target: {{({any_length}): \.\.}}", lambda key: lengths[key[1]], mistake.remedy
    )
    remedy = re.sub(rf"\b({any_length}): ", lambda key: f"{lengths[key[1]]} ", remedy)
    problem, inline, written = problem.partition(_INLINE)
    if inline:
        remedy = f"use another, and write inter_node: [{written}] in the study that --save keeps"
    remedy = remedy.replace("under prices:", "in a list of --prices")
    remedy = remedy.replace("a price list of the study (prices:)", "a list of --prices")
    return ArgumentError(option, problem, remedy)
