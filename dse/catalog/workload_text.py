"""A workload written as a file of its own, with its tables in it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from dataclasses import astuple
from typing import Any

import numpy as np

from dse.catalog.workloads import COLUMNS, EQUAL, JPEG, NONE, VARYING, WORK_COLUMNS, Workload

_UNKNOWN = "unknown"


def workload_text(found: Workload) -> str:
    """The YAML of a workload, which :func:`~dse.catalog.read_workload` reads as the same again."""
    totals: dict[str, Any] = {
        "name": _text(found.name),
        "title": _text(found.title),
        "params": _number(found.params),
        "forward_flops": _number(found.forward_flops),
        "activation_bytes": _bytes(found.activation_bytes),
    }
    if found.activation_bytes_without_scores is not None:
        fused = _bytes(found.activation_bytes_without_scores)
        totals["activation_bytes_without_scores"] = fused
    totals["input_bytes"] = _bytes(found.input_bytes)
    tensors = found.gradient_tensors
    totals["gradient_tensors"] = _UNKNOWN if tensors is None else tensors
    optional = (
        ("tokens_per_sample", found.tokens_per_sample),
        ("embedding_params", found.embedding_params),
    )
    totals |= {key: _number(value) for key, value in optional if value is not None}
    totals |= {
        "family": found.family,
        "network": _text(found.network),
        "sample_lengths": VARYING if found.varying_length else EQUAL,
        "encoding": JPEG if found.decoded else NONE,
        "method": _text(found.method),
    }
    if found.sizes is not None:
        totals["transformer"] = json.dumps(found.sizes)
    numbers = (
        found.layer_params,
        found.layer_forward_flops,
        found.layer_output_elems,
        found.layer_saved_elems,
    )
    layers = zip(found.layer_names, found.layer_kinds, *numbers, strict=True)
    text = "".join(f"{key}: {value}\n" for key, value in totals.items())
    text += _table("layers", COLUMNS, layers)
    if found.work is None:
        return text
    return text + _table("work", WORK_COLUMNS, map(astuple, found.work))


def _table(key: str, columns: tuple[str, ...], rows: Iterable[Iterable[Any]]) -> str:
    """A key of the file whose text is a table; an empty cell is a number that is not known."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(cell) for cell in row] for row in rows)
    indented = "".join(f"  {line}\n" for line in out.getvalue().splitlines())
    return f"{key}: |\n{indented}"


def _cell(value: str | float | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return "" if np.isnan(value) else np.format_float_positional(value, trim="-")


def _text(value: str) -> str:
    """In the quotes of JSON, which are YAML's too."""
    return json.dumps(value, ensure_ascii=False)


def _number(value: float) -> int | float:
    return int(value) if float(value).is_integer() else float(value)


def _bytes(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{np.format_float_positional(value, trim='-')} B"
