"""In which format gradients are summed, and who says so."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dse.model.precision import GRADIENT_BYTES, PRECISIONS
from dse.pricing.devices import USUAL_STACK
from dse.pricing.gradient_format import summed_format
from dse.pricing.problem import Problem
from dse.study import Value
from dse.study.axes import AUTO_FORMAT, GRADIENT

Values = Mapping[str, Value | None]


def assumed_lines(problem: Problem) -> list[str]:
    """What stands for the format where weights have 16 bits and the study does not say."""
    study = problem.study
    narrow = [name for name in study.values("precision") if PRECISIONS[str(name)].master_bytes]
    if not narrow or AUTO_FORMAT not in study.values(GRADIENT):
        return []
    return [
        f"Under {' and '.join(map(str, narrow))} gradients are assumed to be summed in fp32, as by "
        "automatic mixed precision, and with stack tuned in 16 bits, as submissions to MLPerf do "
        "(unverified). Where yours sums otherwise, write gradient: [fp16], [bf16] or [fp32] under "
        "space: it doubles or halves the bytes that are sent."
    ]


def beside_baseline(problem: Problem, values: Values) -> str:
    """The format of a point and that of the baseline, where these differ in width and one of them
    is assumed; else empty."""
    baseline = problem.study.baseline
    own, other = summed_format(values), summed_format(baseline.values)
    told = _told(values, False), _told(baseline.values, GRADIENT in baseline.assumed)
    alike = GRADIENT_BYTES[own] == GRADIENT_BYTES[other] or told == (_GIVEN, _GIVEN)
    if alike or not (_sums(problem, values) and _sums(problem, baseline.values)):
        return ""
    return f"{own} ({told[0]}), the baseline in {other} ({told[1]})"


_GIVEN = "as the study says"


def _told(values: Values, first: bool) -> str:
    """Who says in which format a point sums. first: it was not given, so the axis' first value."""
    if (values.get(GRADIENT) or AUTO_FORMAT) == AUTO_FORMAT:
        return f"assumed under stack {values.get('stack') or USUAL_STACK}"
    return "not given, so the first of the axis" if first else _GIVEN


def _sums(problem: Problem, values: Values) -> bool:
    return bool(np.ravel(problem.points_at(values).gpus)[0] > 1)
