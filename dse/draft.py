"""A first study, from a few options: what ``dse init`` writes and ``dse ask`` runs.

What a person leaves open is chosen here, and every choice is said in a comment of the study.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dse.errors import ArgumentError, StudyError, together
from dse.mistakes import Mistakes

if TYPE_CHECKING:
    from dse.pricing.hardware import Machine
    from dse.pricing.problem import Problem
    from dse.study.questions import Questions

TEMPLATE = "study.yaml.j2"
STUDY = "study.yaml"  # a draft's file, unless it is called otherwise
ROOM = 8  # accelerators of a usual host
HOSTS = (1, 2, 4, ROOM)
MACHINES = "a100,h100"
GPUS = "8..256"
CARDS = (1, 4, 8)  # network cards of one
MOST_HOSTS = 128  # of a range that has them one by one: a study is still searched in seconds
STEP_TOKENS = 4 << 20  # of a step of large models: 4 million, as Llama 3 trained with
LARGEST_BATCH = 512  # of one accelerator, in steps of doublings from 1
SMALLER = 4  # the least batch tried is this share of what fits the smallest accelerator
PRECISIONS = ("bf16", "fp16", "fp32")  # the first that all accelerators have
SUMS = ("auto-nccl", "ring-nccl", "tree-nccl")  # what NCCL can be told
MOMENTUM = "momentum"  # where nobody knows what a network is trained with
COUNTS = {"buy": "capital", "rent": "hourly", "run": "per_run"}  # what counts, in everyday words
_RANGE = re.compile(r"(\d+)\.\.(\d+)")
_ETHERNET = re.compile(r"(\d+) *(?:g|gb|gbe|gige|gbit|gbps|gb/s|gbit/s)?", re.IGNORECASE)
_PLAIN = re.compile(r"[\w.+-][\w.+/ -]*")  # what YAML reads as it is
_LENGTH = re.compile(r"(say how long a run is, as )?target: .*")


def option(text: str, *keys: str, default: Any = None) -> Any:
    """A field that the command line takes as an option. text: its help. keys: the words with which
    lines of a study begin that it answers."""
    return field(default=default, metadata={"help": text, "keys": keys})


@dataclass(frozen=True)
class Draft:
    """What a person wants, as they write it, and the study that it becomes.

    Fields are the options of ``dse ask`` and ``dse init``; lists are separated by commas. The
    reader of studies judges them, and what it refuses is told of the option that wrote the line.
    """

    workload: str = option("What is trained: a name of the catalogue, a repository of Hugging "
                           "Face, or a file.", "workload", "config",
                           default="")  # fmt: skip
    on: str = option("Accelerators or whole machines to choose from [a100,h100]; H100:8 is 8 in "
                     "each host.",
                     "accelerator", "node", "baseline", default=MACHINES)  # fmt: skip
    gpus: str | None = option("How many accelerators: 8..256 (whole hosts), or 8,16,64 [8..256, or "
                              "those of H100:8, which may stand here, too].", "gpus")  # fmt: skip
    network: str | None = option("Networks to choose from: Ethernet in Gbps, or names, such as "
                                 "100,ib-ndr [100,200,400].", "inter_node")  # fmt: skip
    sequence: str | None = option("Tokens of a sample [as usual of the workload].", "sequence")
    precision: str | None = option("Formats to choose from, such as bf16,fp8 [the shortest of 16 "
                                   "bits that all have].", "precision")  # fmt: skip
    accumulation: str | None = option("Passes of a step, whose gradients are added up and exchanged"
                                      " once: 1,2,4 [1].", "accumulation")  # fmt: skip
    stack: str | None = option("Training software to choose from: plain, vendor, tuned, or of "
                               "layouts megatron, fsdp2, ...", "stack")  # fmt: skip
    minimize: str | None = option("What counts beside speed: buy, rent, run, power, energy, ... "
                                  "[buy].", "objectives")  # fmt: skip
    deadline: str | None = option('Time until the target must be reached, such as "7 d".',
                                  "time_to_target")  # fmt: skip
    budget: str | None = option('Money that may be spent, such as "2 MUSD" or "50 USD/hour".',
                                "capital", "hourly", "per_run", "tco")  # fmt: skip
    power: str | None = option('Power that the site can supply, such as "200 kW".', "power")
    confidence: str | float | None = option("Probability with which every limit must hold, such as "
                                            "0.9 or 90%.", "confidence")  # fmt: skip
    samples: str | None = option("How long a run is, in samples: 115e6.", "samples")
    tokens: str | None = option("How long a run is, in tokens: 300e9.", "tokens")
    quality: str | None = option("Until what a run trains: a name of dse catalog convergence.",
                                 "quality")  # fmt: skip
    prices: str | None = option("Your price lists, before the catalogue's: quotes.csv,b.yaml.",
                                "prices")  # fmt: skip

    @cached_property
    def name(self) -> str:
        """A name for the study, and so for the folder of its report."""
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", self._seen.workload.name).strip("-._")
        return f"{plain or 'first'}-cluster"[-100:].lstrip("-._")

    @property
    def notes(self) -> tuple[str, ...]:
        """What words mean that could mean several things."""
        named = ((word, name) for word, name in self._machines.items() if word != name)
        sold = (f"{word} means {name} here, in which it is sold" for word, name in named)
        return (*self._seen.study.told, *sold)

    def problem(self, path: Path, made_by: str = "") -> Problem:
        """The study, read and resolved; ``study.source.text`` is its file.

        path: of that, which need not be there. made_by: the command, for its first lines. Raises
        :class:`StudyError` with the options behind all that is wrong.
        """
        from dse.catalog import usual_optimizer
        from dse.pricing.profiles_at_hand import training_rates, unasked

        seen, folder, machines = self._seen, str(path.parent), self._known
        said = [int(number) for number in seen.study.numbers("gpus", 1)]
        counts = sorted(said)
        per_node = [self._host] if self._host else sorted({*chain(*map(_hosts, counts))})
        communication, rates = unasked(seen), training_rates(seen)
        measured = {name for one in communication.values() for name in one.measured}
        sums = [name for name in SUMS if name in measured] or [*SUMS]
        usual = usual_optimizer(seen.workload)
        formats = self._formats or [_precision(machines)]
        optimizer = usual.text if usual else MOMENTUM
        laid_out = self._laid_out
        cards = [count for count in CARDS if count <= per_node[-1]]
        fits = dict.fromkeys(machines, 1) if laid_out else self._fitting(formats[0], optimizer)
        fitting = [batch for batch in fits.values() if batch]
        whole = self._whole([(n, name) for n in counts for name in fits if fits[name]])
        fewest, first = whole[0]
        built = list(dict.fromkeys(n for n, _ in whole))
        axis = seen.study.axis("inter_node")
        networks = axis.labels if axis else None
        baseline = {  # the first number of accelerators: nobody said that there are any
            self._axis: first, "gpus_per_node": self._host or max(_hosts(fewest)),
            "nics_per_node": CARDS[0], "inter_node": networks[0] if networks else None,
            "batch_per_gpu": fits[first], "aggregation": sums[0],
        }  # fmt: skip
        if laid_out:  # the fastest layout of the first count on which one fits
            baseline = {self._axis: first}
        hosts = ("gpus_per_node", "nics_per_node") if self._axis == "node" else ()
        named = getattr(seen.study.workload, "config", seen.study.workload)
        return _resolved(str(path), {
            **self._said(folder),
            "gpus": self._gpus if built == said else str(built),
            "whole": True,
            "laid_out": laid_out,
            "mixture": laid_out and any(b.experts for b, _ in seen.tables.model.runs),
            "global_batch": _global_batch(counts[-1], seen) if laid_out else None,
            "title": seen.workload.title,
            "counts": " to ".join(dict.fromkeys(f"{end:,}" for end in (counts[0], counts[-1]))),
            "made_by": " ".join(made_by.split()),
            "name": self.name,
            "workload": _path(named if isinstance(named, str) else self.workload, folder),
            "profiles": {
                **{name: f"{count} training rates of yours" for name, count in rates.items()},
                **{name: one.good_for for name, one in communication.items()},
            },
            "communication": communication,
            "machines": machines,
            # Of layouts the baseline has the first: the largest, which all counts may be in.
            "per_node": per_node[::-1] if laid_out else per_node,
            "cards": cards[-1:] if laid_out and len(per_node) == 1 else cards,
            "networks": networks,
            "batches": _doublings(max(1, min(fitting) // SMALLER), max(fitting)),
            "memory_known": seen.layers.kept.known,
            "precision": formats,
            "optimizer": optimizer,
            "sums": sums,
            "baseline": {key: value for key, value in baseline.items()
                         if value is not None and key not in hosts},
            "limits": self._limits,
            "confidence": self._questions.confidence,
            "minimized": self._minimized,
        })  # fmt: skip

    @cached_property
    def _seen(self) -> Problem:
        """The study as far as it was said, without regard to memory: what is wrong with it, what
        fits and what was measured is found here."""
        if not self.workload.strip():
            remedy = "write for example --workload bert-large; see dse catalog workloads"
            raise ArgumentError("--workload", "is missing", remedy)
        mistakes = Mistakes()
        said = {
            **self._said(""),
            "whole": False,
            "laid_out": False,
            "limits": mistakes.part(lambda: self._limits).otherwise(()),
            "confidence": mistakes.part(lambda: self._questions.confidence).otherwise(None),
            "minimized": self._minimized if self.minimize else "step",
        }
        problem = mistakes.part(lambda: _resolved(STUDY, said))
        mistakes.told()
        return problem()

    def _said(self, folder: str) -> dict[str, object]:
        """What the lines of a study in a folder say in the user's words."""
        from dse.study.axes import WHOLE_STACKS

        lengths = {name: getattr(self, name) for name in ("samples", "tokens", "quality")}
        words = None if self.accumulation is None else _words(self.accumulation)
        stacks = None if self.stack is None else _words(self.stack)
        paths = None if self.prices is None else [_path(one, folder) for one in
                                                  self.prices.split(",")]  # fmt: skip
        return {
            "name": "draft",
            "workload": _path(self.workload, folder),
            "prices": paths,
            "axis": self._axis,
            "sequence": None if self.sequence is None else _plain(self.sequence),
            "precision": self._formats,
            "machines": _words(",".join(self._machines.values())),
            "gpus": self._gpus,
            "per_node": HOSTS,
            "cards": CARDS,
            "networks": self._networks,
            "batches": [1],
            "accumulation": words,
            "stacks": stacks,
            "split": not stacks or not {*WHOLE_STACKS}.issuperset(stacks),
            "sums": SUMS,
            "lengths": {name: _plain(said) for name, said in lengths.items() if said is not None},
        }

    @cached_property
    def _axis(self) -> str:
        """The axis of a study that machines are values of: node types bring hosts and network."""
        from dse.catalog import UnknownName, resolve

        found = set()
        for word in self._machines.values():
            for kind in ("accelerator", "node"):
                with suppress(UnknownName):
                    resolve(f"{kind}s", word)
                    found.add(kind)
        return "node" if found == {"node"} else "accelerator"

    @property
    def _named(self) -> str:
        """Words for machines, of which each may tell how many are in a host, as SkyPilot has it."""
        if not self.gpus or ":" not in self.gpus:
            return self.on
        if self.on != MACHINES:
            raise ArgumentError("--gpus", "names accelerators, as --on does", "name them once")
        return self.gpus

    @property
    def _host(self) -> int | None:
        """Accelerators of a host, where the words tell."""
        told = {word.partition(":")[1:] for word in self._named.split(",")}
        if told == {("", "")}:
            return None
        (_, count), *others = told
        if others or count.strip() not in map(str, HOSTS):
            problem = f"'{self._named}' does not tell one size of hosts"
            raise ArgumentError("--on", problem, "write for example H100:8, of 1, 2, 4 or 8")
        return int(count)

    @cached_property
    def _machines(self) -> dict[str, str]:
        """The words for machines to choose from, each with what it means: where one of them is an
        accelerator that comes in a node type of its own, all are node types that are sold."""
        from dse.catalog import UnknownName, node, node_of, nodes_with, resolve

        named = (word.partition(":")[0].strip() for word in self._named.split(","))
        found = {word: word for word in named}
        known = {}
        for word in found:
            with suppress(UnknownName):
                known[word] = resolve("accelerators", word)
        if not any(map(node_of, known.values())):
            return found
        for word, name in known.items():
            sold = [one for one in nodes_with(name) if node(one).purchase_usd]
            if not (own := node_of(name)) and len(sold) != 1:
                problem = (
                    f"whole machines are compared, and {name} stands in no known one that is sold"
                )
                raise ArgumentError("--on", problem, "ask about it alone, or name machines for all")
            found[word] = own or sold[0]
        return found

    @property
    def _laid_out(self) -> bool:
        return self._seen.workload.usually_laid_out

    @property
    def _formats(self) -> list[str] | None:
        return None if self.precision is None else _words(self.precision)

    @property
    def _gpus(self) -> str:
        """How many accelerators. A range whose ends are whole hosts has all numbers of hosts, so
        that a budget can be used up; others, and those of very many hosts, double."""
        given = None if self._named == self.gpus else self.gpus
        asked = (given or str(self._host or GPUS)).strip()
        ends = _RANGE.fullmatch(asked)
        if ends is None:
            return f"[{', '.join(_words(asked))}]"
        low, high, room = int(ends[1]), int(ends[2]), self._host or ROOM
        whole = low % room == high % room == 0 and high <= MOST_HOSTS * room
        scale = f"linear, step: {room}" if whole else "doubling"
        return f"{{from: {low}, to: {high}, scale: {scale}}}" if low != high else f"[{low}]"

    @property
    def _networks(self) -> list[str] | None:
        """Fabrics between nodes, Ethernet by its name; None where node types bring their own."""
        if self.network is None:
            return None if self._axis == "node" else ["100gbe", "200gbe", "400gbe"]
        speeds = [(word, _ETHERNET.fullmatch(word)) for word in _words(self.network)]
        names = (f"{int(speed[1])}gbe" if speed else word for word, speed in speeds)
        return [*dict.fromkeys(names)]

    @cached_property
    def _questions(self) -> Questions:
        from dse.study.questions import Questions

        return Questions(self.deadline, self.budget, self.power, self.confidence)

    @property
    def _limits(self) -> tuple[str, ...]:
        """Constraints of the study."""
        from dse.study.quantities import QUANTITIES

        said = [self._minimized] if self.minimize else []
        return self._questions.limits([name for name in said if name in QUANTITIES])

    @cached_property
    def _minimized(self) -> str:
        """The quantity that counts beside speed: as said, else the money that is limited, else
        the price to buy, or the rent of machines that are not sold."""
        if self.minimize:
            return COUNTS.get(self.minimize.strip().lower(), _plain(self.minimize))
        if self.budget is None and self._axis == "node":
            usd = sum(row.accelerator_usd.usd + row.host_usd.usd for row in self._known.values())
            return "capital" if math.isfinite(usd) else "hourly"
        return self._questions.money()

    @cached_property
    def _known(self) -> dict[str, Machine]:
        """Each machine with what is known of it."""
        from dse.pricing.hardware import machines_of

        names = self._seen.study.values(self._axis)
        return dict(zip(map(str, names), machines_of(self._seen.study, self._seen.prices),
                        strict=True))  # fmt: skip

    def _whole(self, clusters: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
        """The clusters, each a number of accelerators of a machine, whose hosts are full or one."""
        sizes = {name: row.node.accelerators if row.node else self._host or 1
                 for name, row in self._known.items()}  # fmt: skip
        found = [(n, name) for n, name in clusters if n < sizes[name] or n % sizes[name] == 0]
        if found:
            return found
        size = max(sizes.values())
        problem = f"{self.gpus} leaves the last host partly filled"
        raise ArgumentError("--gpus", problem, f"write a multiple of {size}, such as {2 * size}")

    def _fitting(self, precision: str, optimizer: str) -> Mapping[str, int]:
        """The largest batch that fits in an accelerator of each machine, at least one of them; 0
        where none does. What a network needs that is not known is taken to fit."""
        from dse.prices import price
        from dse.pricing.memory_remedies import WHOLE_COPIES

        tried = [(name, batch) for name in self._known for batch in _doublings(1, LARGEST_BATCH)]
        points = [{self._axis: name, "batch_per_gpu": batch, "precision": precision,
                   "optimizer": optimizer} for name, batch in tried]  # fmt: skip
        fits = dict.fromkeys(self._known, 0)
        slack = price(self._seen, points)["memory_slack_bytes"]
        for (name, batch), left in zip(tried, slack, strict=True):
            if not left < 0:
                fits[name] = batch
        if any(fits.values()):
            return fits
        raise ArgumentError(
            "--on",
            f"{self._seen.workload.name} does not fit in {' or '.join(fits)}, not even one sample "
            f"at a time; {WHOLE_COPIES}",
            "choose accelerators with more memory, see dse catalog accelerators",
        )


def draft_of(given: Mapping[str, object]) -> Draft:
    """A draft of options by name, as Python has them: a list is text with commas, None is left
    out."""
    return Draft(**{name: _text(said) for name, said in given.items() if said is not None})


def _resolved(path: str, facts: Mapping[str, object]) -> Problem:
    """The study of these facts. Its mistakes are those of the options that its lines came from."""
    from dse.pricing.load import known_names, resolve
    from dse.report.templating import filled
    from dse.study.reader import study_of
    from dse.yaml_source import parse_yaml

    text = filled(TEMPLATE, facts)
    lines = text.splitlines()
    try:
        return resolve(study_of(parse_yaml(text, path), known_names()))
    except StudyError as cause:
        raise together([
            _of_option(one, lines[one.line - 1]) if one.line and one.file == path else one
            for one in cause.mistakes
        ]) from None  # fmt: skip


def _of_option(mistake: StudyError, line: str) -> StudyError:
    """A mistake in a line as that of the option that the line came from, if it came from one."""
    key = re.search(r"[a-z_]+", line)
    names = [row.name for row in fields(Draft) if key and key[0] in row.metadata["keys"]]
    if not names:
        return mistake
    remedy = _LENGTH.sub("add --samples 115e6, --tokens 300e9 or --quality", mistake.remedy)
    remedy = remedy.replace("constraints, such as capital <= 2 MUSD", "--deadline or --budget")
    remedy = remedy.replace("under prices:", "in a list of --prices")
    remedy = remedy.replace("a price list of the study (prices:)", "a list of --prices")
    return ArgumentError(f"--{names[0]}", re.sub(r"^\w+: ", "", mistake.problem), remedy)


def _text(said: object) -> str:
    several = isinstance(said, Iterable) and not isinstance(said, str)
    return ",".join(map(str, cast("Iterable[object]", said))) if several else str(said)


def _words(text: str) -> list[str]:
    return [*dict.fromkeys(_plain(word) for word in text.split(",") if word.strip())]


def _plain(word: str) -> str:
    """A word as YAML reads it, on one line."""
    return word.strip() if _PLAIN.fullmatch(word.strip()) else json.dumps(word.strip())


def _path(given: str, folder: str) -> str:
    """A name, or a path as it counts from the folder in which the study lies."""
    from dse.text_source import is_path

    elsewhere = folder not in ("", ".") and is_path(given.strip())
    return _plain(os.path.abspath(given.strip()) if elsewhere else given)


def _hosts(count: int) -> set[int]:
    """Accelerators of a host for a cluster: the fewest that hold it whole, else the most that it
    fills, in usual hosts and in any, of which each may leave as many places empty."""
    if count <= ROOM:
        return {next(size for size in HOSTS if size >= count)}
    return {max(size for size in sizes if count % size == 0)
            for sizes in (HOSTS, range(1, ROOM + 1))}  # fmt: skip


def _global_batch(gpus: int, seen: Problem) -> int:
    """Sequences of a step: three times a power of two, which many numbers of replicas divide, of
    about :data:`STEP_TOKENS`, and enough for every accelerator to have one."""
    wanted = max(STEP_TOKENS / seen.tables.tokens, gpus) / 3
    return 3 << max(0, round(math.log2(wanted)), math.ceil(math.log2(gpus / 3)))


def _precision(machines: Mapping[str, Machine]) -> str:
    """The shortest format for training that all of the accelerators have."""
    known = [set(row.accelerator.peak_flops_per_s) for row in machines.values()]
    return next((one for one in PRECISIONS if all(one in has for has in known)), PRECISIONS[-1])


def _doublings(low: int, high: int) -> list[int]:
    """Powers of two from ``low`` to ``high``, one of them at least."""
    found = [1 << power for power in range(high.bit_length()) if low <= 1 << power <= high]
    return found or [high]
