"""The number format in which the gradients of a point are summed over all accelerators."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from dse import catalog
from dse.catalog.stacks import layout_stacks
from dse.model.precision import usual_gradient
from dse.pricing.devices import USUAL_STACK
from dse.study import Study, Value
from dse.study.axes import AUTO_FORMAT, GRADIENT

USUAL_PRECISION = "fp32"  # where a point has no such axis


def summed_format(values: Mapping[str, Value | None]) -> str:
    """What the point's axes say, else what software of its stack does at its precision."""
    given = values.get(GRADIENT) or AUTO_FORMAT
    return usual_format(values) if given == AUTO_FORMAT else str(given)


def usual_format(values: Mapping[str, Value | None]) -> str:
    """The number format in which a stack sums gradients where the axis does not say."""
    name = str(values.get("stack") or USUAL_STACK)
    precision = str(values.get("precision") or USUAL_PRECISION)
    laid_out = layout_stacks().get(name)
    bytes_sent = (laid_out or catalog.computing().stacks[name]).gradient_bytes
    return usual_gradient(precision, bytes_sent)


def summed_formats(study: Study) -> set[str]:
    """The formats in which points that a search may try sum gradients."""
    names = (GRADIENT, "precision", "stack")
    # An axis that is conditional has its usual value elsewhere.
    choices = [(*study.values(name), *([] if study.axis(name) else [None])) for name in names]
    return {summed_format(dict(zip(names, values, strict=True))) for values in product(*choices)}
