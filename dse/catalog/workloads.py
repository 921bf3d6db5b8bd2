"""Workloads: size, arithmetic and layers of one network, per training sample."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.catalog.facts import Fact
from dse.catalog.model_config import Described, described
from dse.catalog.reader import Entry
from dse.catalog.rows_of_work import FAMILIES, NUMBERS, SIZES, WorkRow
from dse.catalog.shapes import Transformer
from dse.catalog.store import find, read_file
from dse.errors import DseError, StudyError
from dse.text_source import is_path, text_of
from dse.text_table import Table, text_table
from dse.units import UnitError, parse

COLUMNS = ("layer", "kind", "params", "forward_flops", "output_elems", "saved_elems")
WORK_COLUMNS = tuple(field.name for field in fields(WorkRow))


class Kind(NamedTuple):
    """A kind of table: its columns, the key of a workload file that it stands under, its name."""

    columns: tuple[str, ...]
    key: str
    what: str


LAYERS = Kind(COLUMNS, "layers", "a layer table")
WORK = Kind(WORK_COLUMNS, "work", "a table of rows of work")
EQUAL, VARYING = LENGTHS = ("equal", "varying")  # of samples
NONE, JPEG = ENCODINGS = ("none", "jpeg")  # of samples, which hosts decode
_LENGTH = re.compile(r"-s\d+$")  # in the name of a workload
TRANSFORMER = "transformer"  # the key of the sizes of one
SUM_TOLERANCE = 1e-3  # relative difference allowed between a total and the sum of its layers

LARGE_PARAMS = 2e9  # with gradients and Adam's state 36 GB, before any activation
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Workload:
    """One network with its input; None marks what is not known.

    FLOPs, activations and input are for one sample; a multiply-add is 2 FLOPs; training takes
    three times ``forward_flops``. ``activation_bytes`` holds 16-bit storage of what the backward
    pass needs; ``activation_bytes_without_scores`` the same with an attention kernel that does
    not store the scores. ``layer_*`` are read-only arrays of shape (layers,), in forward order:
    parameters, forward FLOPs, output elements and elements saved for the backward pass (NaN
    where unknown). ``gradient_tensors`` counts the tensors whose gradients are sent.
    ``embedding_params``: of embedding tables that ``params`` leaves out. ``varying_length``:
    whether samples differ in length and are not padded to one, so that accelerators have unequal
    work. ``tokens_per_sample``: of a language model that reads texts of one length. ``work``: the
    rows of work of one sample. ``family``: one of
    :data:`~dse.catalog.rows_of_work.FAMILIES`. ``network``: what sizes and sequence lengths of it
    have in common. ``shape``: the blocks of a transformer. ``sizes``: as its config.json has them.
    """

    name: str
    title: str
    params: float
    forward_flops: float
    activation_bytes: float | None
    activation_bytes_without_scores: float | None
    input_bytes: float | None
    gradient_tensors: int | None
    layer_names: tuple[str, ...]
    layer_kinds: tuple[str, ...]
    layer_params: Array
    layer_forward_flops: Array
    layer_output_elems: Array
    layer_saved_elems: Array
    method: str
    facts: tuple[Fact, ...]
    embedding_params: float | None = None
    work: tuple[WorkRow, ...] | None = None
    family: str = "other"
    network: str = ""
    varying_length: bool = False
    decoded: bool = False
    tokens_per_sample: float | None = None
    shape: Transformer | None = None
    sizes: Mapping[str, object] | None = None

    @property
    def usually_laid_out(self) -> bool:
        """Whether it is a transformer too large for every accelerator to have."""
        sequences = self.shape is not None and self.tokens_per_sample is not None
        return sequences and self.params >= LARGE_PARAMS


def workload(name: str) -> Workload:
    """The workload of that name. Raises :class:`~dse.catalog.store.UnknownName`."""
    return _of_catalogue(find("workloads", name))


def gradient_tensors(found: Workload) -> tuple[Array, NDArray[np.intp]]:
    """Elements of every gradient tensor, and its layer; both (tensors,), in forward order.

    Of a batch normalisation scale and shift are a tensor each, and so is the bias of a linear layer
    or a convolution. A table tells neither, but what a layer does: a linear one with a bias has as
    many parameters besides half its FLOPs as it has outputs; a convolution has k multiplications an
    output, hence k parameters a channel, and k + 1 with a bias.
    """
    elements, layers = list[float](), list[int]()
    for at in np.flatnonzero(found.layer_params > 0):
        params = float(found.layer_params[at])
        own = params / 2 if found.layer_kinds[at] == "batchnorm" else _bias(found, int(at))
        parts = [params - own, own] if own else [params]
        elements += parts
        layers += [int(at)] * len(parts)
    return np.array(elements), np.array(layers, dtype=np.intp)


def _bias(found: Workload, at: int) -> float:
    """Elements of the bias of a layer, as far as its numbers tell; else 0."""
    kind, params = found.layer_kinds[at], float(found.layer_params[at])
    outputs, products = (
        float(found.layer_output_elems[at]),
        float(found.layer_forward_flops[at]) / 2,
    )
    if kind == "linear":
        return outputs if params == products + outputs else 0.0
    if kind != "conv" or not outputs > 0:
        return 0.0
    each = products / outputs
    return params / (each + 1) if params % (each + 1) == 0 and params % each else 0.0


def read_workload(path: Path) -> Workload:
    """The workload in a file and its layer table, whose sums must agree with the totals.

    Raises :class:`~dse.errors.StudyError` where the file or the table is wrong.
    """
    file = read_file(path)
    entry = Entry(file, file.data)
    name, title = entry.text("name"), entry.text("title")
    tokens = None
    if entry.has("tokens_per_sample"):
        tokens = entry.positive("tokens_per_sample", "count")
    found = None
    if entry.has(TRANSFORMER):
        entry.skip(TRANSFORMER)
        found = described(file, (TRANSFORMER,), None if tokens is None else int(tokens))
        if not entry.has("params"):
            cited = entry.word("sizes")
            entry.finish()
            return _closed_form(found, name, title, cited, tuple(entry.facts))
    params, flops = entry.known("params", "count"), entry.known("forward_flops", "count")
    activations = entry.number("activation_bytes", "bytes").value
    fused = entry.optional("activation_bytes_without_scores", "bytes")
    given = entry.number("input_bytes", "bytes").value
    tensors = entry.number("gradient_tensors", "count").value
    tables = entry.optional("embedding_params", "count")
    lengths = entry.choice("sample_lengths", *LENGTHS, default=EQUAL)
    layers, method = _layer_table(entry), entry.text("method", example="where the numbers are from")
    work = _table_of(entry, "work", WORK) if entry.has("work") else None
    family = entry.choice("family", *FAMILIES, default="other")
    network = entry.text("network", name)
    encoding = entry.choice("encoding", *ENCODINGS, default=NONE)
    entry.finish()
    names, kinds, table = _layers(layers)
    for key, problem in disagreements(table, params, flops):
        within = layers.path == str(entry.path)
        raise entry.wrong(problem, f"correct it or {'layers' if within else layers.path}", key)
    return Workload(
        name=name,
        title=title,
        params=params,
        forward_flops=flops,
        activation_bytes=activations,
        activation_bytes_without_scores=fused,
        input_bytes=given,
        gradient_tensors=None if tensors is None else int(tensors),
        layer_names=names,
        layer_kinds=kinds,
        layer_params=table[0],
        layer_forward_flops=table[1],
        layer_output_elems=table[2],
        layer_saved_elems=table[3],
        method=method,
        facts=tuple(entry.facts),
        embedding_params=tables,
        work=None if work is None else _work(work, names),
        family=family,
        network=network,
        varying_length=lengths == VARYING,
        decoded=encoding == JPEG,
        tokens_per_sample=tokens,
        shape=None if found is None else found.network.shape,
        sizes=None if found is None else found.sizes,
    )


_of_catalogue = cache(read_workload)


def named_workload(given: str) -> Workload:
    """The workload of that name, or in a file where a path is given.

    A file that ends in .json is the config.json of a transformer. Raises
    :class:`~dse.catalog.store.UnknownName`, or :class:`~dse.errors.StudyError`.
    """
    if given.endswith(".json"):
        return workload_of_config(Path(given))
    return read_workload(Path(given)) if is_path(given) else workload(given)


def workload_of_config(
    path: Path, sequence: int | None = None, name: str | None = None
) -> Workload:
    """The workload that a config.json describes (:func:`.model_config.described`), for samples of
    ``sequence`` tokens.

    name: by which reports call it. Raises :class:`~dse.errors.StudyError` where the file is wrong.
    """
    from dse.yaml_source import read_yaml

    found = described(read_yaml(path, numbers_as_keys=True), sequence=sequence)
    params = found.network.params
    size = f"{params / 1e9:.3g}b" if params >= 1e9 else f"{params / 1e6:.3g}m"
    ending = "" if found.tokens is None else f"-s{found.tokens}"
    cited = Fact(TRANSFORMER, None, "", path.name, str(path), "")
    return _closed_form(
        found,
        name or f"{found.kind.replace('_', '-')}-{size}{ending}",
        found.title.format(size=f"{size[:-1]} {'billion' if size[-1] == 'b' else 'million'}"),
        cited,
    )


def resized(name: str, sequence: int) -> Workload:
    """A transformer of the catalogue, for samples of ``sequence`` tokens.

    Raises :class:`~dse.errors.DseError` where the catalogue has no sizes of it.
    """
    known, path = workload(name), find("workloads", name)
    if known.sizes is None or known.tokens_per_sample is None:
        raise DseError(f"{name} has no sequences of tokens whose length could be another")
    if known.tokens_per_sample == sequence:
        return known
    found = described(read_file(path), (TRANSFORMER,), sequence)
    title = f"{known.title.partition(',')[0]}, {sequence} tokens"
    cited = Fact(TRANSFORMER, None, "", path.name, str(path), "")
    return _closed_form(found, f"{_LENGTH.sub('', name)}-s{sequence}", title, cited)


def _closed_form(
    found: Described, name: str, title: str, cited: Fact, facts: tuple[Fact, ...] = ()
) -> Workload:
    """The workload whose every number follows from sizes. cited: where these are from."""
    network = found.network
    layers = network.layers
    tensors = sum(layer.params > 0 for layer in layers)
    whole = network.kept_bytes + network.score_bytes
    numbers = {"params": network.params, "forward_flops": network.forward_flops}
    numbers |= {"activation_bytes": whole, "input_bytes": found.input_bytes}
    unknown = np.full(len(layers), np.nan)
    derived = (
        Fact(key, value, "B" if key.endswith("bytes") else "", f"{value:.15g}", cited.source,
             cited.accessed, "for one sample", status="derived")
        for key, value in numbers.items()
    )  # fmt: skip
    return Workload(
        name=name,
        title=title,
        params=network.params,
        forward_flops=network.forward_flops,
        activation_bytes=whole,
        activation_bytes_without_scores=network.kept_bytes,
        input_bytes=found.input_bytes,
        gradient_tensors=tensors,
        layer_names=tuple(layer.name for layer in layers),
        layer_kinds=tuple(layer.kind for layer in layers),
        layer_params=np.array([layer.params for layer in layers], np.float64),
        layer_forward_flops=np.array([layer.forward_flops for layer in layers], np.float64),
        layer_output_elems=unknown,
        layer_saved_elems=unknown,
        method=f"Closed form of the sizes in {cited.text}{found.note}",
        facts=(*derived, *facts),
        work=network.rows,
        family=network.family,
        network=found.alike,
        decoded=found.pictures,
        tokens_per_sample=found.tokens,
        shape=network.shape,
        sizes=found.sizes,
    )


def _layer_table(entry: Entry) -> Table:
    """The layer table of a workload file, beside it or written in it; it may not be left out."""
    remedy = (
        f"name a table with {','.join(COLUMNS)}, relative to this file; a network whose layers are "
        "not known is described in the study, as workload: {name: .., params: .., ..}"
    )
    if not entry.has("layers"):
        raise entry.wrong("layers is missing", remedy)
    layers = entry.text("layers")
    if "\n" not in layers and not os.path.isfile(entry.path.parent / layers):
        raise entry.wrong(f"layers: no file '{layers}'", remedy, "layers")
    return _table_of(entry, "layers", LAYERS)


def _table_of(entry: Entry, key: str, kind: Kind) -> Table:
    """A table of a workload file: text of several lines is the table itself, else its path."""
    text = entry.text(key)
    if "\n" not in text:
        return _read_table(entry.path.parent / text, kind)
    above = entry.wrong("", "", key).line
    return _parsed(str(entry.path), text, kind, above)


def disagreements(table: Array, params: float, forward_flops: float) -> Iterator[tuple[str, str]]:
    """The totals, by key, to which the layers do not add up, and how."""
    totals = {"params": params, "forward_flops": forward_flops}
    for (key, total), layers in zip(totals.items(), table, strict=False):
        if abs(layers.sum() - total) > SUM_TOLERANCE * total:
            yield key, f"{key} is {total:.6g} but the layers add up to {layers.sum():.6g}"


def read_layers(path: Path) -> tuple[tuple[str, ...], tuple[str, ...], Array]:
    """Names, kinds, and the numbers of a layer table with shape (4, layers)."""
    return _layers(_read_table(path, LAYERS))


def _layers(given: Table) -> tuple[tuple[str, ...], tuple[str, ...], Array]:
    rows = given.rows
    table = np.full((4, len(rows)), np.nan)
    for index, row in enumerate(rows):
        for at, (column, cell) in enumerate(zip(COLUMNS[2:], row[2:], strict=True)):
            table[at, index] = _amount(given, index, column, cell) if cell else np.nan
    if np.isnan(table[:2]).any():
        first = int(np.argwhere(np.isnan(table[:2]))[0][1])
        problem = "params and forward_flops may not be empty"
        raise given.wrong(first, "", problem, "write 0 where there are none")
    table.setflags(write=False)
    return tuple(row[0] for row in rows), tuple(row[1] for row in rows), table


def _work(given: Table, layers: Collection[str]) -> tuple[WorkRow, ...]:
    known = frozenset(layers)
    found = []
    for index, cells in enumerate(given.rows):
        layer, kind, *written = cells
        if layer not in known:
            near = difflib.get_close_matches(layer, known, n=1)
            remedy = f"did you mean {near[0]}?" if near else "write the name of one of its rows"
            raise given.wrong(index, "", f"no layer '{layer}' in the layer table", remedy)
        if kind not in NUMBERS:
            raise given.wrong(index, "", f"kind '{kind}'", f"write {' or '.join(NUMBERS)}")
        numbered = {key: cell for key, cell in zip(WORK_COLUMNS[2:], written, strict=True) if cell}
        if tuple(numbered) != NUMBERS[kind]:
            problem = f"a row of {kind} with {', '.join(numbered) or 'no numbers'}"
            raise given.wrong(index, "", problem, f"write {', '.join(NUMBERS[kind])}")
        numbers = {key: _amount(given, index, key, cell) for key, cell in numbered.items()}
        if none := [key for key in SIZES if numbers.get(key) == 0]:
            problem = f"{none[0]} is 0, so that the product is of nothing"
            raise given.wrong(index, "", problem, "write at least 1, or leave the row out")
        found.append(WorkRow(layer, kind, **numbers))
    return tuple(found)


def _amount(table: Table, row: int, key: str, cell: str) -> float:
    """A cell of a table as a number of at least 0."""
    try:
        number = parse(cell, "count")
    except UnitError as cause:
        raise table.wrong(row, "", f"{key}: {cause.problem}", cause.remedy) from None
    if number < 0:
        raise table.wrong(row, "", f"{key} is '{cell}'", "write a number of at least 0")
    return number


def _read_table(path: Path, kind: Kind) -> Table:
    """The table in a file."""
    try:
        text = text_of(str(path), path.read_bytes(), "CSV in UTF-8")
    except OSError as cause:
        remedy = f"write '{kind.key}:' relative to the workload"
        raise StudyError(str(path), 0, 0, f"cannot be read ({cause.strerror})", remedy) from cause
    return _parsed(str(path), text, kind)


def _parsed(path: str, text: str, kind: Kind, above: int = 0) -> Table:
    """above: lines of the file before its first row."""
    header, _, rows = text.partition("\n")
    if tuple(header.strip().split(",")) != kind.columns or not rows.strip():
        raise StudyError(path, above + 1, 1, f"is not {kind.what}", f"use {','.join(kind.columns)}")
    return text_table(path, "\n" * above + text, marks=",")
