"""What the user asks: the study file, read, checked and turned into SI units."""

from __future__ import annotations

from typing import Any

from dse.study.aggregation_name import AggregationName
from dse.study.axes import AXES, PAI
from dse.study.constraints import ExpressionError, parse_constraint
from dse.study.definition import (
    IGNORED,
    Axis,
    Baseline,
    Condition,
    ConfiguredWorkload,
    Constraint,
    Efficiency,
    GivenPrices,
    InlineWorkload,
    Objective,
    OwnedHardware,
    Study,
    Target,
    Value,
    Wire,
)
from dse.study.names import Names, suggest
from dse.study.quantities import QUANTITIES, Quantity
from dse.study.reader import read_study

__all__ = [
    "AXES",
    "IGNORED",
    "PAI",
    "QUANTITIES",
    "AggregationName",
    "Axis",
    "Baseline",
    "Condition",
    "ConfiguredWorkload",
    "Constraint",
    "Efficiency",
    "ExpressionError",
    "GivenPrices",
    "InlineWorkload",
    "Names",
    "Objective",
    "OwnedHardware",
    "Quantity",
    "Study",
    "Target",
    "Value",
    "Wire",
    "parse_constraint",
    "read_study",
    "study_schema",
    "suggest",
]


def study_schema(names: Names) -> dict[str, Any]:
    """The JSON Schema of a study file, for editors; ``names``: what the catalogue knows."""
    from dse.study.schema import study_schema as schema  # pydantic takes a while to import

    return schema(names)
