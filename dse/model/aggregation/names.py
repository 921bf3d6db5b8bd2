"""What a study may write before a transport to say how gradients are summed."""

from __future__ import annotations

from dse.model.aggregation.algorithms import ALGORITHMS
from dse.model.aggregation.library_rules import AUTO, BY_NAME
from dse.model.step import PARAMETER_SERVER

NAMES = (*ALGORITHMS, AUTO, *BY_NAME, PARAMETER_SERVER)
