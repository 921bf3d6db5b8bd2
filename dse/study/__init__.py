"""What the user asks: the study file, read, checked and turned into SI units."""

from __future__ import annotations

from dse.study.aggregation_name import AggregationName
from dse.study.axes import AXES, PAI
from dse.study.definition import (
    IGNORED,
    Axis,
    Condition,
    ConfiguredWorkload,
    Constraint,
    GivenPrices,
    InlineWorkload,
    Objective,
    OwnedHardware,
    Study,
    Value,
    Wire,
)
from dse.study.names import Names
from dse.study.quantities import QUANTITIES
from dse.study.reader import read_study
