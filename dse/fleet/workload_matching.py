"""Which workload of the catalogue a job's name means, and what one of its GPUs does in a step."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from dse import catalog
from dse.model.pai import FLOPS_OF_PASSES, TRAFFIC_OF_PASSES
from dse.model.precision import PRECISIONS
from dse.pricing.network import model_layers
from dse.spelling import same

PRECISION = "fp32"  # no scheduler logs another
_SAME = 0.05  # of parameters: one network at several lengths of its samples
_SIZE = re.compile(r"\d+(?:\.\d+)?[mb]")
_OF_SIZE = re.compile(r"\d+(?:\.\d+)?[mb](?![a-z0-9])")  # within a name
_WORDS = ("tiny", "mini", "nano", "micro", "small", "base", "medium", "large", "big", "huge",
          "giant", "gigantic", "xxl", "xl", "xs")  # fmt: skip
_LETTERS = ("ti", "so", "s", "b", "m", "l", "h", "g")
_WORD = "|".join(_WORDS)
_MARKS = "[^a-z0-9]*"
# Words before a network's name that make it another network, or another size.
_OTHER = re.compile(rf"(?<![a-z])(?:wide|distil|swin|mobile|tiny|mini){_MARKS}$")
_VISION = re.compile(rf"(?<![a-z])vision{_MARKS}$")  # transformer; else it is a team's name
_BEFORE = re.compile(rf"(?<![a-z])({_WORD}){_MARKS}$")
_NO_BATCH = rf"(?!(?:micro|mini){_MARKS}batch)"
_AFTER = re.compile(rf"{_MARKS}{_NO_BATCH}((?:{_WORD})(?![a-z])|[sml](?![a-z0-9]))")
# gpt2-7b is no gpt2; gpt2-7b-tokens is one (gpt2-7b-token-task, gpt2-7b-tokenizer are none).
_NUMBER_AFTER = re.compile(
    rf"{_MARKS}\d+(?:[._p]\d+)?[mb](?![a-z0-9])(?!{_MARKS}(?:toks?|tokens|steps)(?![a-z]))"
)
# Of a vision transformer, with its patches: ViT-L/14, vitb16, vit_base_patch32; vit-h100 tells a
# GPU, vit-b-32gpus and vit-b-32-gpus how many.
_COUNTED = "(?:gpu|node)"
_PATCH = (
    rf"(?:{_MARKS}(?:patch|p){_MARKS}(14|16|32|(?<=patch)8)(?![0-9])"
    rf"|[^a-z0-9]+(14|16|32|(?<=/)8)(?![a-z0-9]|[^a-z0-9]+{_COUNTED}s)"
    rf"|(14|16|32)(?![0-9]|{_COUNTED}))"
)
_AFTER_VISION = re.compile(
    rf"{_MARKS}{_NO_BATCH}({_WORD}|{'|'.join(_LETTERS)})"
    rf"(?:{_PATCH}|(?![a-z0-9])|(?=\d+{_COUNTED}))|(?={_MARKS}patch){_PATCH}"
)


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
    the longest where it contains several. One that tells another size (``vit_large`` of ``vit``)
    does not mean it. given: names beside those, from the study, which mean what it says.
    """

    def __init__(self, given: Mapping[str, str]) -> None:
        own = [_Key.of(key, name) for key, name in _keys() if key not in given]
        told = [_Key(_pattern(key), name) for key, name in _longest_first(given.items())]
        self._keys = [*told, *own]
        self._known: dict[str, str | None] = {}

    def workload(self, labels: tuple[str, ...]) -> str | None:
        """The workload that the first of the labels means that means any; None where one before it
        tells a size that none has."""
        for label in labels:
            if label not in self._known:
                self._known[label] = self._of(label.lower())
            found = self._known[label]
            if found is not None:
                return found or None
        return None

    def _of(self, text: str) -> str | None:
        """The workload that a text in small letters means; '' where it tells another size."""
        seen = False
        for key in self._keys:
            for found in key.pattern.finditer(text):
                if key.fits(text[: found.start()], text[found.end() :]):
                    return key.workload
                seen = True
        return "" if seen else None


@dataclass(frozen=True)
class _Key:
    """What a job may be called, and the workload that it then is.

    sizes: how names say the workload's own size where the key does not; None where it does, or
    where the network has one size. patch: of a vision transformer. catalogue: whether it is from
    there; what a study says counts as it stands.
    """

    pattern: re.Pattern[str]
    workload: str
    sizes: frozenset[str] | None = None
    patch: str = ""
    catalogue: bool = False

    @classmethod
    def of(cls, key: str, workload: str) -> _Key:
        """The key of the catalogue."""
        own, parts = key.split("-"), workload.split("-")
        left = [part for part in parts if part not in own]
        sizes = None
        if not set(own) & set(_WORDS) and any(_SIZE.fullmatch(p) or p in _WORDS for p in left):
            words = catalog.clear_aliases("workloads")
            sizes = frozenset(
                size for size in (*_WORDS, *_LETTERS)
                if size in left or words.get(same(key + size)) == (workload,)
            )  # fmt: skip
            sizes |= {"s"} if "small" in sizes else set()
        patch = next((part for part in left if part.isdigit()), "")
        return cls(_pattern(key), workload, sizes, patch, catalogue=True)

    def fits(self, before: str, after: str) -> bool:
        """Whether what stands around it tells no other network and no other size."""
        if _NUMBER_AFTER.match(after):
            return False
        if self.catalogue and _OTHER.search(before):
            return False
        if self.catalogue and self.workload.startswith("transformer") and _VISION.search(before):
            return False
        if self.sizes is None:
            return True
        earlier = _BEFORE.search(before)
        later = (_AFTER_VISION if self.patch else _AFTER).match(after)
        told = [found[1] for found in (earlier, later) if found and found[1]]
        if any(size not in self.sizes for size in told):
            return False
        if not self.patch:
            return True
        if later is None:
            return not after[:1].isalpha()  # ``vital``
        return {*later.groups()[1:], None} <= {self.patch, None}


def _pattern(key: str) -> re.Pattern[str]:
    """The letters and digits of a key with any marks between (none within a number, whose decimal
    point must be there in a size), not amid a longer word or number."""
    text = key.lower()
    sizes = [found.span() for found in _OF_SIZE.finditer(text)]
    places = [at for at, letter in enumerate(text) if re.match("[a-z0-9]", letter)]
    out = "".join(text[at] for at in places[:1])
    for last, at in pairwise(places):
        of_size = any(start <= last and at < end for start, end in sizes)
        if at == last + 1:
            out += "" if of_size or text[last : at + 1].isdigit() else _MARKS
        else:
            out += "(?:[^a-z0-9]+|p)" if of_size else _MARKS
        out += text[at]
    return re.compile(rf"(?<![a-z0-9]){out}(?![0-9])")


def _longest_first(keys: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return sorted(keys, key=lambda item: -len(item[0]))


def _keys() -> list[tuple[str, str]]:
    """(what a job may be called, workload), the longest first."""
    return _longest_first(dict(_every_key()).items())


def _every_key() -> Iterator[tuple[str, str]]:
    """Names, names without a size, networks; each is of one workload, or of one network with
    samples of several lengths, of which that is meant which the word means in a study, else the
    first."""
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
