"""A first study, from a few answers: the one home of what `dse init` writes and `dse ask` runs.

What a person leaves open is chosen here, and every choice is said in a comment of the study.
"""

from __future__ import annotations

import json
import os
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from dse.commands.answers import ROOM, Answers, by_option
from dse.errors import ArgumentError, StudyError
from dse.spelling import enumerated

if TYPE_CHECKING:
    from dse.pricing.problem import Problem
    from dse.pricing.profiles_at_hand import Unasked

LARGEST_BATCH = 512  # of one accelerator, in steps of doublings from 1
SMALLER = 4  # the least batch tried is this share of what fits the smallest accelerator
PRECISIONS = ("bf16", "fp16", "fp32")  # the first that all accelerators have
CARDS = (1, 4, 8)  # network cards of one
SUMS = ("auto-nccl", "ring-nccl", "tree-nccl")  # what NCCL can be told
COLUMN = 58  # where comments begin
MOST_NAMED = 4  # accelerators that a network would fit
MOMENTUM = "momentum"  # where nobody knows what a network is trained with


@dataclass(frozen=True)
class Draft:
    """A study made of answers. made_by: the command that made it, for its first lines.
    folder: where it lies, since paths in a study count from there."""

    answers: Answers
    made_by: str = ""
    folder: str = ""

    @cached_property
    def text(self) -> str:
        """The study's file. Raises :class:`ArgumentError` where nothing can run."""
        return self._text(self._batches, self._calibration)

    def problem(self, name: str) -> Problem:
        """The study, read and resolved. name: of its file.

        Raises :class:`ArgumentError` for the option behind what is wrong with it.
        """
        return self._resolved(self.text, name)

    def _resolved(self, text: str, name: str) -> Problem:
        from dse.pricing.load import known_names, resolve
        from dse.study.reader import study_of
        from dse.yaml_source import parse_yaml

        path = os.path.join(self.folder, name)
        try:
            return resolve(study_of(parse_yaml(text, path), known_names()))
        except StudyError as cause:
            raise by_option(cause, text, path) from None

    @cached_property
    def baseline(self) -> Mapping[str, str]:
        """What speedup is measured against: the first machine that the network fits, the fewest
        accelerators, the first network."""
        per_node = {} if self.answers.by_node else {
            "gpus_per_node": str(self._per_node[0]), "nics_per_node": str(CARDS[0])
        }  # fmt: skip
        networks = self.answers.networks
        return {
            self.answers.machine_axis: self._first,
            "gpus": str(self.answers.counts[0]),
            **per_node,
            **({"inter_node": networks[0]} if networks else {}),
            "batch_per_gpu": str(self._fitting[self._first]),
            "aggregation": self._sums(self._calibration)[0],
        }

    @staticmethod
    def _sums(calibration: Mapping[str, Unasked]) -> tuple[str, ...]:
        """How gradients may be summed: as was measured, where anything was. NCCL chooses by itself,
        so who timed its choice gets that, and no other algorithm because of an estimate."""
        measured = {name for profile in calibration.values() for name in profile.measured}
        return tuple(name for name in SUMS if name in measured) or SUMS

    @cached_property
    def _per_node(self) -> tuple[int, ...]:
        """Accelerators of a host: as many as usual, or as the smallest clusters fill."""
        counts = self.answers.counts
        least = max(size for size in (1, 2, 4, ROOM) if counts[0] % size == 0)
        return tuple(size for size in (1, 2, 4, ROOM) if least <= size <= counts[-1])

    @cached_property
    def _first(self) -> str:
        return next(name for name in self.answers.machines if self._fitting[name])

    @cached_property
    def _fitting(self) -> Mapping[str, int]:
        """The largest batch that fits in an accelerator of each machine, at least one of them."""
        from dse.pricing.memory_remedies import WHOLE_COPIES

        fits, answers = self._tried, self.answers
        if not any(fits.values()):
            problem = (
                f"{answers.workload} does not fit in {' or '.join(answers.machines)}, not even one "
                f"sample at a time; {WHOLE_COPIES}"
            )
            raise ArgumentError("--on", problem, self._roomier())
        return fits

    @cached_property
    def _tried(self) -> Mapping[str, int]:
        """The largest batch that fits in an accelerator of each machine; 0 where none does."""
        from dse.prices import price

        answers, batches = self.answers, _doublings(1, LARGEST_BATCH)
        machines = [name for name in answers.machines for _ in batches]
        tried = [*batches] * len(answers.machines)
        points = {answers.machine_axis: machines, "batch_per_gpu": tried}
        slack = price(self._roomy, points)["memory_slack_bytes"]
        fits = dict.fromkeys(answers.machines, 0)
        for name, batch, left in zip(machines, tried, slack, strict=True):
            if not left < 0:  # nor where it is not known
                fits[name] = max(fits[name], batch)
        return fits

    def _roomier(self) -> str:
        """What to do where the network fits none of the machines: those that it fits, at a known
        price, the cheapest of them first."""
        from dse.catalog import accelerator, default_prices, names

        prices = default_prices().accelerator_usd
        sold = {name: usd for name in names("accelerators")
                if name in prices and (usd := prices[name].value) is not None}  # fmt: skip
        larger = sorted(sold, key=lambda name: (sold[name], name))
        own = max(self._memory(name) for name in self.answers.machines)
        larger = [name for name in larger
                  if (accelerator(name).memory_bytes or 0.0) > own]  # fmt: skip
        fitting = []
        for name in larger:
            with suppress(ArgumentError):  # of one whose facts do not suffice
                alone = Draft(replace(self.answers, on=name, gpus=str(ROOM)))
                fitting += [name] if alone._tried[name] else []
        if fitting:
            more = len(fitting) - MOST_NAMED
            named = [*fitting[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
            return f"it fits in {enumerated(named)}: write for example --on {fitting[0]}"
        return "no accelerator of the catalogue holds it"

    def _memory(self, machine: str) -> float:
        """Bytes of one accelerator."""
        from dse.catalog import accelerator, node

        name = node(machine).accelerator if self.answers.by_node else machine
        return accelerator(name).memory_bytes or 0.0

    @cached_property
    def _roomy(self) -> Problem:
        """The study with one batch and no regard to memory, to see what fits and what measured."""
        return self._resolved(self._text((1,), {}, roomy=True), "study.yaml")

    @cached_property
    def _batches(self) -> tuple[int, ...]:
        fitting = [batch for batch in self._fitting.values() if batch]
        return _doublings(max(1, min(fitting) // SMALLER), max(fitting))

    @cached_property
    def _calibration(self) -> Mapping[str, Unasked]:
        """The profiles that the study names."""
        from dse.pricing.profiles_at_hand import unasked

        return unasked(self._roomy)

    @cached_property
    def _rates(self) -> Mapping[str, int]:
        """Own profiles of training rates of these accelerators, which the study names, too."""
        from dse.pricing.profiles_at_hand import training_rates

        return training_rates(self._roomy)

    @cached_property
    def _blind(self) -> tuple[str, ...]:
        """Own profiles that it does not name, since they cannot tell its networks apart."""
        from dse.pricing.profiles_at_hand import blind

        return blind(self._roomy)

    def _text(
        self, batches: Sequence[int], calibration: Mapping[str, Unasked], roomy: bool = False
    ) -> str:
        """roomy: whether memory is left out, and the baseline with it."""
        blind, rates = ((), {}) if roomy else (self._blind, self._rates)
        head = self._head(calibration, blind, rates)
        lines = [*head, *self._space(batches, self._sums(calibration))]
        lines += ["memory: ignore"] if roomy else [*self._baseline(), *self._constraints()]
        return "\n".join([*lines, *self._aims(), ""])

    def _head(
        self, calibration: Mapping[str, Unasked], blind: Sequence[str], rates: Mapping[str, int]
    ) -> Iterable[str]:
        answers = self.answers
        yield f"# {answers.title} on {answers.counts_text} accelerators: which, and how?"
        if self.made_by:
            yield from _wrapped(f"made by: {self.made_by}")
        yield from _wrapped(
            "Lists are choices: dse tries every combination. Add values, or take some away. "
            "dse check FILE says what would be searched, dse run FILE answers it. Every key is in "
            "docs/study.md."
        )
        yield f"study: {answers.name}"
        yield _line(f"workload: {self._workload}", "others: dse catalog workloads")
        yield from self._profiles(calibration, blind, rates)
        if answers.price_lists:
            lists = ", ".join(map(self._path, answers.price_lists))
            yield _line(f"prices: [{lists}]", "before the catalogue's")

    def _profiles(
        self, calibration: Mapping[str, Unasked], blind: Sequence[str], rates: Mapping[str, int]
    ) -> Iterable[str]:
        """The profiles that the study names, what each is good for, and own ones left out."""
        for name in blind:
            yield from _wrapped(
                f"{name} is not among the profiles: how fast its network was is not known, so by "
                "it all networks would be equally fast; state it by --link-bandwidth"
            )
        for name, count in rates.items():
            yield from _wrapped(f"{name}: {count} training rate{'s' * (count > 1)} of yours")
        names = ", ".join(dict.fromkeys([*rates, *calibration]))
        if not calibration:
            without = "no profile at hand has runs on such hardware;"
            if rates:
                yield _line(f"calibration: [{names}]", f"of communication {without}")
            else:
                yield f"# calibration: [this-machine]  # {without}"
            yield "#   your own: dse calibrate run, or dse calibrate import LOGS --name mine"
            return
        of_one_node = all(profile.of_one_node for profile in calibration.values())
        inside = self.answers.networks and of_one_node
        measured = "runs inside one node; none between nodes" if inside else "runs of such nodes"
        measured = f"communication: {measured}" if rates else measured
        for name, profile in calibration.items():
            before = f"; taken before {enumerated(profile.before)}" if profile.before else ""
            yield from _wrapped(f"{name}: {profile.good_for}{before}")
        yield _line(f"calibration: [{names}]", measured)

    def _space(self, batches: Sequence[int], sums: Sequence[str]) -> Iterable[str]:
        answers = self.answers
        axis = answers.machine_axis
        others = "dse catalog nodes" if answers.by_node else "dse catalog accelerators"
        yield "space:"
        yield _line(f"  {axis}: [{', '.join(answers.machines)}]", f"others: {others}")
        yield _line(f"  gpus: {answers.gpus_written}", "how many accelerators train")
        if not answers.by_node:
            sizes = ", ".join(map(str, self._per_node))
            cards = [count for count in CARDS if count <= self._per_node[-1]]
            yield _line(f"  gpus_per_node: [{sizes}]", "in each host")
            yield _line(f"  nics_per_node: [{', '.join(map(str, cards))}]", "network cards of each")
        if answers.networks:
            yield _line(f"  inter_node: [{', '.join(answers.networks)}]",
                        "others: dse catalog fabrics")  # fmt: skip
        yield _line(f"  batch_per_gpu: [{', '.join(map(str, batches))}]",
                    "up to what fits in memory")  # fmt: skip
        if answers.passes:
            yield _line(f"  accumulation: [{', '.join(map(str, answers.passes))}]",
                        "passes of a step, whose gradients are added up")  # fmt: skip
        else:
            yield _line("  # accumulation: [1, 2, 4]",
                        "more passes a step: larger batches, fewer exchanges")  # fmt: skip
        yield _line(f"  precision: {self._precision}", "or fp32, tf32, fp16, bf16, fp8")
        yield _line(f"  optimizer: {self._optimizer}", "or sgd, momentum, adam")
        unmeasured = [name for name in SUMS if name not in sums]
        how = "how gradients are summed; auto: as NCCL chooses"
        if unmeasured:
            how = f"as measured; not measured: {', '.join(unmeasured)}"
        yield _line(f"  aggregation: [{', '.join(sums)}]", how)

    def _baseline(self) -> Iterable[str]:
        yield _line("baseline:", "what speedup is measured against; write what you have")
        yield from (f"  {axis}: {value}" for axis, value in self.baseline.items())

    def _constraints(self) -> Iterable[str]:
        answers = self.answers
        yield "constraints:"
        yield "  - fits_memory"
        yield from (f'  - "{limit}"' for limit in answers.limits)
        if not answers.limits:
            example = {"hourly": "50 USD/hour", "power": "50 kW"}.get(answers.minimized, "2 MUSD")
            subject = answers.minimized if answers.minimized in ("hourly", "power") else "capital"
            yield f'  # - "{subject} <= {example}"'
        if answers.confidence is not None:
            yield _line(f"confidence: {answers.confidence}", "how sure every limit must hold")

    def _aims(self) -> Iterable[str]:
        answers = self.answers
        yield _line(f"objectives: {{maximize: speedup, minimize: {answers.minimized}}}",
                    "or hourly, per_run, tco, power, energy")  # fmt: skip
        if answers.target:
            yield _line(f"target: {answers.target}", "how long a run is")
        else:
            yield "# target: {samples: 115e6}  # how long a run is: adds its time, cost and energy"

    @property
    def _workload(self) -> str:
        """The workload as the study has it."""
        from dse.text_source import is_path

        given = self.answers.workload
        return self._path(given) if is_path(given) else given

    def _path(self, given: str) -> str:
        """A path as it counts from where the study lies."""
        there = os.path.isdir(self.folder or ".")  # else no path leads out of it
        path = os.path.relpath(given, self.folder or ".") if there else os.path.abspath(given)
        return path if re.fullmatch(r"[\w./-]+", path) else json.dumps(path)

    @property
    def _precision(self) -> str:
        """The shortest format for training that all of the accelerators have."""
        from dse.catalog import accelerator, node

        names = [node(name).accelerator if self.answers.by_node else name
                 for name in self.answers.machines]  # fmt: skip
        known = [set(accelerator(name).peak_flops_per_s) for name in names]
        return next((one for one in PRECISIONS if all(one in has for has in known)), PRECISIONS[-1])

    @property
    def _optimizer(self) -> str:
        """What such networks are usually trained with."""
        from dse.catalog import named_workload, usual_optimizer

        usual = usual_optimizer(named_workload(self.answers.workload))
        return usual.text if usual else MOMENTUM


def _doublings(low: int, high: int) -> tuple[int, ...]:
    """Powers of two from ``low`` to ``high``, one of them at least."""
    found = [1 << power for power in range(high.bit_length()) if low <= 1 << power <= high]
    return tuple(found or [high])


def _line(text: str, comment: str) -> str:
    return f"{text:<{COLUMN}}# {comment}" if len(text) < COLUMN else f"{text}  # {comment}"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 98, initial_indent="# ", subsequent_indent="# ",
                         break_long_words=False, break_on_hyphens=False)  # fmt: skip
