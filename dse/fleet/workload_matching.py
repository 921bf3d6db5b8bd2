"""Which workload of the catalogue a job's name means, and what one of its GPUs does in a step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from dse import catalog
from dse.model.pai import FLOPS_OF_PASSES, TRAFFIC_OF_PASSES
from dse.model.precision import PRECISIONS
from dse.pricing.network import model_layers

PRECISION = "fp32"  # no scheduler logs another
_SAME = 0.05  # of parameters: one network at several lengths of its samples
_SIZE = re.compile(r"\d+(?:\.\d+)?[mb]")


@dataclass(frozen=True)
class StepOfGpu:
    """What one GPU does in one step, as :func:`dse.model.pai.jobs_of` counts it in fp32."""

    flops: float
    memory_bytes: float
    input_bytes: float
    weight_bytes: float


class Matcher:
    """Finds workloads by the names that people give to jobs.

    A name means the workload whose name, or whose network's, it contains, whatever parts the words;
    the longest where it contains several. given: names beside those, from the study.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        keys = {**dict(_keys()), **given}
        ranked = sorted(keys.items(), key=lambda item: (item[0] not in given, -len(item[0])))
        self._patterns = [(_pattern(key), name) for key, name in ranked]
        self._known: dict[str, str | None] = {}

    def workload(self, labels: tuple[str, ...]) -> str | None:
        """The workload that the first of the labels means that means any."""
        return next((found for label in labels if (found := self._of(label))), None)

    def _of(self, label: str) -> str | None:
        if label not in self._known:
            text = label.lower()
            self._known[label] = next(
                (name for pattern, name in self._patterns if pattern.search(text)), None
            )
        return self._known[label]


def _pattern(key: str) -> re.Pattern[str]:
    """The letters and digits of a key with any marks between, not amid a longer word or number, nor
    before the size of another model (``gpt2-7b`` is no ``gpt2``)."""
    letters = "[^a-z0-9]*".join(re.sub(r"[^a-z0-9]", "", key.lower()))
    size = r"(?![^a-z0-9]*\d+(?:\.\d+)?[mb](?![a-z0-9]))"
    return re.compile(rf"(?<![a-z0-9]){letters}(?![0-9]){size}")


def _keys() -> Iterator[tuple[str, str]]:
    """(what a job may be called, workload): names, names without a size, networks; each is of one
    workload, or of one network with samples of several lengths, of which that is meant which the
    word means in a study, else the first."""
    names = catalog.names("workloads")
    shorter: dict[str, list[str]] = {}
    for name in names:
        short = "-".join(part for part in name.split("-") if not _SIZE.fullmatch(part))
        for key in {short, catalog.workload(name).network} - {name, ""}:
            shorter.setdefault(key, []).append(name)
    for key, own in shorter.items():
        params = [catalog.workload(name).params for name in own]
        if max(params) <= min(params) * (1 + _SAME):
            yield key, _as_in_a_study(key, own)
    yield from ((name, name) for name in names)


def _as_in_a_study(key: str, own: list[str]) -> str:
    """What a word means there, where that is one of these; else the first of them."""
    try:
        meant = catalog.resolve("workloads", key)
    except catalog.UnknownName:
        return own[0]
    return meant if meant in own else own[0]


@cache
def step_of_gpu(workload: str, batch: float) -> StepOfGpu:
    """The work of one GPU with b = ``batch`` samples: ``3 F b`` FLOPs, ``3 (2 O b + W)`` bytes of
    memory, ``I b`` of input, and ``2 G`` of gradients, out and back; O, W, I and G in bytes."""
    network, precision = catalog.workload(workload), PRECISIONS[PRECISION]
    layers = model_layers(network)
    outputs = 2 * float(np.sum(layers.traffic_elems)) * precision.activation_bytes
    return StepOfGpu(
        flops=FLOPS_OF_PASSES * float(np.sum(layers.forward_flops)) * batch,
        memory_bytes=TRAFFIC_OF_PASSES
        * (outputs * batch + layers.total_params * precision.weight_bytes),
        input_bytes=layers.input_bytes * batch,
        weight_bytes=2 * layers.total_params * precision.gradient_bytes,
    )
