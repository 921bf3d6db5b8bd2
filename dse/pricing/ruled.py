"""Points whose algorithm a library's rules choose, message by message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.calibration.rules import mpi_rules
from dse.model.arrays import Array, Mask
from dse.model.selection import (
    MPICH,
    NCCL,
    OPENMPI,
    Choice,
    Mpich,
    OpenMpi,
    Rules,
    by_choice,
    priced_names,
)
from dse.model.selection_nccl import GENERATIONS, Nccl
from dse.pricing import coverage
from dse.pricing.chosen import ruling

if TYPE_CHECKING:
    from dse.pricing.setting import Setting

RULES: Mapping[str, type[OpenMpi | Mpich | Nccl]] = {OPENMPI: OpenMpi, MPICH: Mpich, NCCL: Nccl}
# Accelerators by the first word of their name; NCCL's constants go by it.
_GENERATION = {"k80": "pascal", "p100": "pascal", "v100": "volta", "t4": "volta", "a10": "ampere",
               "a100": "ampere", "l40s": "ampere", "h100": "hopper", "h200": "hopper",
               "b200": "blackwell", "b300": "blackwell", "gb200": "blackwell"}  # fmt: skip
UNKNOWN_GENERATION = "ampere"  # assumed where the name tells none


def generation(accelerator: str) -> str | None:
    """NCCL's generation of an accelerator; None for one that is not known."""
    return _GENERATION.get(accelerator.split("-")[0])


def rules_of(setting: Setting) -> Rules | None:
    """The rules that choose at these points; None where the study names the algorithm, or what the
    library chose was measured, or the model knows no algorithms."""
    if setting.problem.closed:
        return None
    known = setting.problem.profiles.values()
    library = ruling(setting.algorithm, setting.transport.name, known)
    if library is None:
        return None
    if library != NCCL:
        return mpi_rules(library, setting.precision.gradient_bytes)
    found = setting.machine(
        lambda m: GENERATIONS.index(generation(m.accelerator.name) or UNKNOWN_GENERATION)
    )
    return Nccl(
        found.astype(np.int64),
        _nvlink(setting),
        setting.inside_bytes_per_s,
        setting.wire(lambda w: w.bytes_per_s) * setting.rails,
    )


def _nvlink(setting: Setting) -> Mask:
    """Whether the accelerators of a node have links of their own, else they meet over PCIe."""
    found = setting.at("intra_node")
    if found is not None:
        return np.array([not str(value).startswith("pcie") for value in found.values])[found.at]
    return setting.machine(lambda m: m.accelerator.intra_node_bytes_per_s is not None) > 0


def choices(setting: Setting) -> tuple[Array, Choice]:
    """The distinct sizes of the messages, (sizes,), and what is chosen: (sizes, ...) as points."""
    assert setting.rules is not None
    sizes = np.unique([bucket.message_bytes for bucket in setting.buckets])
    column = sizes.reshape((-1,) + (1,) * setting.rank)
    return sizes, setting.rules(setting.gpus, setting.gpus_per_node, column)


def bucket_costs_s(setting: Setting) -> list[Array]:
    """Seconds of each bucket: those of the algorithm chosen for it, held-out error included."""
    assert setting.rules is not None
    sizes, chosen = choices(setting)
    messages = [bucket.message_bytes for bucket in setting.buckets]
    first = [messages.index(size) for size in sizes]
    algorithms = setting.rules.algorithms
    by_size = [
        by_choice(algorithms, row, lambda name, at=at: setting.by(name).bucket_costs[at])  # type: ignore[misc]
        for row, at in zip(chosen, first, strict=True)
    ]
    return [by_size[row] for row in np.searchsorted(sizes, messages)]


def in_range(setting: Setting) -> Mask:
    """Whether every algorithm that is chosen at a point was measured like this."""
    assert setting.rules is not None
    algorithms = setting.rules.algorithms
    _, chosen = choices(setting)
    inside: Mask = np.asarray((setting.gpus <= 1) | bool(len(chosen)))
    for name in priced_names(algorithms, chosen):
        mine = [at for at, known in enumerate(algorithms) if known.priced_as == name]
        used = np.any(np.isin(chosen, mine), axis=0)
        inside = inside & (~used | coverage.in_range(setting.by(name)))
    return np.asarray(inside)


def algorithms_at(setting: Setting) -> tuple[str, ...]:
    """The model's algorithms that are chosen at these points."""
    if setting.rules is None:
        return (setting.algorithm,)
    return priced_names(setting.rules.algorithms, choices(setting)[1])


def described(setting: Setting) -> dict[str, Any] | None:
    """What is chosen at one point, for people; None where nothing is by rules.

    rules: whose; source: where they are written; chosen: one entry per algorithm of the library:
    its name, the model's that prices it (algorithm), the number of messages and the least and
    largest of their bytes, by rising size. Empty where one accelerator sends nothing.
    """
    if setting.rules is None:
        return None
    sizes, chosen = choices(setting)
    messages = np.array([bucket.message_bytes for bucket in setting.buckets])
    entries = []
    taken = np.ravel(chosen) if np.all(setting.gpus > 1) else np.zeros(0, dtype=np.int64)
    for at in dict.fromkeys(taken.tolist()):
        mine = sizes[taken == at]
        known = setting.rules.algorithms[at]
        entries.append({
            "name": known.name,
            "algorithm": known.priced_as,
            "messages": int(np.isin(messages, mine).sum()),
            "bytes": [float(mine.min()), float(mine.max())],
        })  # fmt: skip
    return {"rules": setting.rules.title, "source": setting.rules.source, "chosen": entries}
