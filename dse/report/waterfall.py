"""Where the gain comes from: the way from the baseline to the recommended point, change by change.

In the order in which a person would make them: software before hardware. A change that cannot stand
alone (a precision that the accelerator lacks, a batch that does not fit into its memory) is made
together with the first later one that makes it possible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from math import log10, prod

import numpy as np

from dse.pricing import constraints
from dse.pricing.problem import Problem
from dse.report import words
from dse.report.design_point import Change, WaterfallStep
from dse.report.document import RunDocument
from dse.report.json_form import number
from dse.report.style import ACCENT, AXIS, GRID, INK, MARK, chart_layout, part_of_bar
from dse.report.tables import NOT_APPLICABLE
from dse.search.run import labels_of
from dse.study import Value
from dse.study.axes import HARDWARE, SOFTWARE, spoken

_LACKS = "its nodes hold fewer accelerators"

Values = Mapping[str, Value | None]
Group = tuple[str, ...]  # axes that change together
WIDEST_LABEL = 40
_SOFTWARE, _HARDWARE, _WHOLE = (
    ("Software", "#86b58f", ""), ("Hardware", ACCENT, "/"), ("Whole", MARK, ""),
)  # fmt: skip


def waterfall(problem: Problem, recommended: Values) -> tuple[WaterfallStep, ...]:
    """The steps from the study's baseline to a point; empty where they are the same.

    Their factors multiply to the point's speedup.
    """
    way = _Way(problem, problem.study.baseline.values, recommended)
    states = way.states()
    names = ["speedup", *(o.name for o in problem.study.objectives if o.goal == "minimize")]
    priced = zip(*problem.numbers([values for values, _ in states], names).values(), strict=True)
    steps, before = [], 1.0
    labels = labels_of(problem, {**dict.fromkeys(recommended), **problem.study.baseline.values})
    software = True
    for (values, axes), (speedup, cost, *other) in zip(states, priced, strict=True):
        now = labels_of(problem, values)
        software = software and all(axis in SOFTWARE for axis in axes)
        steps.append(
            WaterfallStep(
                changes=tuple(way.changes(labels, now, axes)),
                software=software,
                speedup=number(speedup),
                factor=number(speedup / before),
                cost=number(cost),
                other=number(other[0]) if other else None,
            )
        )
        labels, before = now, speedup
    return tuple(steps)


class _Way:
    """From ``base`` to ``best``."""

    def __init__(self, problem: Problem, base: Values, best: Values) -> None:
        self.problem, self.base, self.best = problem, base, best
        self.idle = frozenset(problem.points_at(best).immaterial())
        self.borne = self._failing(self.base)

    def states(self) -> list[tuple[Values, Group]]:
        """The point after each step, and the axes that the step changes; the last is ``best``."""
        made: list[str] = []
        waiting: list[Group] = []
        found: list[tuple[Values, Group]] = []
        for group in self._groups():
            joined = self._joined(made, group, waiting)
            if not joined:
                waiting.append(group)
                continue
            waiting = [other for other in waiting if other not in joined]
            axes = tuple(axis for part in joined for axis in part)
            made += axes
            found.append((self._point(made), axes))
        if waiting:
            found.append((self.best, tuple(axis for part in waiting for axis in part)))
        if found:
            found[-1] = (self.best, found[-1][1])
        return found

    def changes(
        self, before: Mapping[str, str], now: Mapping[str, str], axes: Group
    ) -> list[Change]:
        """What a step changes, in the order of ``axes``; what follows from them comes last."""
        order = [*axes, *(axis for axis in now if axis not in axes and axis not in self.idle)]
        return [
            Change(axis=axis, before=before.get(axis, ""), after=now.get(axis, ""))
            for axis in order
            if before.get(axis, "") != now.get(axis, "")
        ]

    def _groups(self) -> list[Group]:
        """What changes together, in order. A conditional axis goes with what decides on it; what
        does not matter at the end is left for the last step."""
        axes = [axis for axis in (*SOFTWARE, *HARDWARE) if axis not in self.idle]
        differ = [axis for axis in axes if self.base.get(axis) != self.best.get(axis)]
        leader: dict[str, str] = {}
        for axis in differ:
            deciding = {name for condition in self.problem.study.conditions
                        if condition.axis == axis for name, _ in condition.requires}  # fmt: skip
            leader[axis] = max(deciding & set(differ), key=differ.index, default=axis)
        return [
            (axis, *(other for other in differ if leader[other] == axis and other != axis))
            for axis in differ
            if leader[axis] == axis
        ]

    def _joined(self, made: Sequence[str], group: Group, waiting: Sequence[Group]) -> list[Group]:
        """The group and those of ``waiting`` that it makes possible; nothing where it must wait."""
        tries = [[group], *([group, other] for other in waiting), [group, *waiting]]
        first = next((tried for tried in tries if not self._fails(made, tried)), None)
        if first is None:
            return []
        for other in waiting:
            if other not in first and not self._fails(made, [*first, other]):
                first.append(other)
        return first

    def _fails(self, made: Sequence[str], groups: Sequence[Group]) -> frozenset[str]:
        """What a point with these changes cannot do, and the baseline can."""
        axes = [*made, *(axis for group in groups for axis in group)]
        return self._failing(self._point(axes)) - self.borne

    def _point(self, axes: Sequence[str]) -> Values:
        """``base`` with the values that ``best`` has of some axes."""
        point: dict[str, Value | None] = dict.fromkeys(self.best)
        point |= self.base
        point |= {axis: self.best.get(axis) for axis in axes}
        return point

    def _failing(self, values: Values) -> frozenset[str]:
        """The demands on every point that one does not meet."""
        evaluation = self.problem.point(values, speedup=False)
        checks = constraints.built_in(evaluation, self.problem.study)
        found = {name for name, mask in checks if not mask.all()}
        points = self.problem.points_at(values)
        held = points.machine(lambda m: float(m.node.accelerators) if m.node else np.inf)
        if np.any(points.gpus_per_node > held):
            found.add(_LACKS)
        return frozenset(found)


@dataclass(frozen=True)
class Row:
    """A step as it is shown. software: whether on the baseline's hardware."""

    number: int
    change: str
    software: bool
    factor: str
    speedup: str
    costs: tuple[str, ...]


def rows(document: RunDocument) -> list[Row]:
    """The steps as a table."""
    units = [words.objective(document, name).unit for name in document.objectives.costs]
    return [
        Row(
            number=number,
            change=change_text(step),
            software=step.software,
            factor=words.shown(step.factor, "x"),
            speedup=words.shown(step.speedup, "x"),
            costs=tuple(words.shown(cost, unit)
                        for cost, unit in zip((step.cost, step.other), units, strict=False)),
        )
        for number, step in enumerate(document.waterfall, 1)
    ]  # fmt: skip


def start(document: RunDocument) -> tuple[str, ...]:
    """The costs of the baseline, where the steps begin."""
    base = document.baseline
    return tuple(words.show(document, base, name) for name in document.objectives.costs)


def change_text(step: WaterfallStep) -> str:
    """``precision fp32 -> fp16, bucket 1 MiB -> 25 MiB``."""
    parts = [
        f"{spoken(change.axis)} {change.before or NOT_APPLICABLE} → "
        f"{change.after or NOT_APPLICABLE}"
        for change in step.changes
    ]
    return words.capital(", ".join(parts))


def software_factor(document: RunDocument) -> float | None:
    """By which software alone makes the baseline's hardware faster, on the way."""
    factors = [step.factor for step in document.waterfall if step.software]
    return None if None in factors else prod(factor for factor in factors if factor is not None)


def waterfall_figure(document: RunDocument) -> str:
    """A bar a step, from the speedup before it to that after it, then the whole; of bars alone."""
    import plotly.graph_objects as go

    speeds = [1.0, *(step.speedup or 1.0 for step in document.waterfall)]
    bars = [
        (_SOFTWARE if row.software else _HARDWARE,
         f"{row.number} · {escape(words.cut(row.change, WIDEST_LABEL))}", ends,
         f"{row.change}: {row.factor}, {row.speedup} the baseline", row.factor)
        for row, ends in zip(rows(document), pairwise(speeds), strict=True)
    ]  # fmt: skip
    total = words.shown(document.recommended.speedup, "x")
    bars.append((_WHOLE, "Recommended", (1.0, speeds[-1]), f"{total} the baseline", total))
    bars.reverse()  # the first on top
    figure = go.Figure(layout=chart_layout(height=150 + 30 * len(bars), barmode="overlay",
                                           bargap=0.28))  # fmt: skip
    labels = [label for _, label, *_ in bars]
    for kind in (_SOFTWARE, _HARDWARE, _WHOLE):
        mine = [bar for bar in bars if bar[0] == kind]
        name, color, pattern = kind
        figure.add_bar(
            y=[label for _, label, *_ in mine],
            base=[ends[0] for _, _, ends, *_ in mine],
            x=[ends[1] - ends[0] for _, _, ends, *_ in mine],
            name=name, **{**part_of_bar(color, pattern), "textposition": "outside"},
            text=[factor for *_, factor in mine],
            outsidetextfont={"color": INK, "size": 12}, cliponaxis=False,
            customdata=[escape(text) for *_, text, _ in mine],
            hovertemplate="%{customdata}<extra></extra>", showlegend=bool(mine),
        )  # fmt: skip
    low, high = log10(min(speeds)), log10(max(speeds))
    room = max(high - low, 0.1)  # for a factor beside a bar
    figure.update_xaxes(
        type="log", range=[low - 0.2 * room, high + 0.2 * room], fixedrange=True, nticks=6,
        title="Speedup, log scale", ticksuffix="x", gridcolor=GRID, linecolor=AXIS, zeroline=False,
    )  # fmt: skip
    figure.update_yaxes(automargin=True, fixedrange=True, ticksuffix="  ",
                        categoryorder="array", categoryarray=labels)  # fmt: skip
    return str(figure.to_json())
