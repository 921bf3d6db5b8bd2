"""Studies from Python, from loading them to their reports. :mod:`dse` shows these names."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from importlib import import_module
from operator import index
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias, Unpack

import numpy as np

from dse.errors import ArgumentError, DseError, StudyError
from dse.prices import Prices, labels, point_values, price, priced
from dse.pricing.coordinates import columns_of
from dse.pricing.load import asking, known_names, load, resolve
from dse.pricing.problem import Problem
from dse.spelling import alternatives
from dse.study import Axis, Value
from dse.study.axes import axis_called
from dse.study.definition import Condition
from dse.yaml_source import parse_yaml, yaml_text

if TYPE_CHECKING:
    from dse.calibration import Profile
    from dse.report.design_point import Explained, Point
    from dse.report.document import RunDocument
    from dse.search.run import Outcome
    from dse.search_options import RunArguments, SearchArguments

File: TypeAlias = str | PathLike[str]
MOST_POINTS = 1_000_000  # of a space, that Result.points lists
_SHOWN = 6  # values of an axis


class _Printed:
    def _repr_html_(self) -> str:
        """For notebooks."""
        return f"<pre>{escape(str(self))}</pre>"


class Study(_Printed):
    """A study, checked, with its names, prices and calibration profiles resolved.

    Made by :func:`dse.load_study`. problem: what the rest of dse knows of it.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    @property
    def name(self) -> str:
        """As the study calls itself."""
        return self.problem.study.name

    @property
    def workload(self) -> str:
        """What is trained."""
        return self.problem.trained

    @property
    def axes(self) -> dict[str, tuple[str | float, ...]]:
        """The values of every axis: numbers, and the rest as a study writes it; of a range its two
        ends."""
        study = self.problem.study
        found = {axis.name: _values(axis) for axis in (*study.axes, *study.defaults)}
        return found | {one.axis: _values(one) for one in study.conditions}

    @property
    def baseline(self) -> dict[str, str | float]:
        """The point that speedup is measured from, likewise."""
        found = self.problem.study.baseline
        return {axis: _value(found.values[axis], label) for axis, label in found.labels.items()}

    @property
    def points(self) -> int | None:
        """How many design points there are; None where an axis is continuous."""
        return self.problem.points

    def __repr__(self) -> str:
        size = "a continuous space" if self.points is None else f"{self.points:,} points"
        return f"<study {self.name}: {self.workload}, {size}>"

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        study, out = self.problem.study, [repr(self).strip("<>")]
        for name, values in self.axes.items():
            more = f", ... ({len(values)})" if len(values) > _SHOWN else ""
            out.append(f"  {name:<14} {', '.join(map(str, values[:_SHOWN]))}{more}")
        goals = ", ".join(f"{objective.goal} {objective.name}" for objective in study.objectives)
        return [*out, f"  {'objectives':<14} {goals}"]

    def price(self, points: Any = None, intervals: bool = False, **axes: Any) -> Prices:
        """Price any points, in or outside of the study's space.

        axes: values by name, ``price(gpus=[8, 16])``, in place of points.

        points: columns by axis (a mapping, a pandas or polars frame), or a list of mappings; values
        as a study file writes them (``"25 Gbps"``, ``8``, a mapping for a link); None, NaN and what
        is masked are blanks. An axis that is left out has the baseline's value, so that ``{}`` is
        the baseline; one whose condition does not hold has none. Returns columns in the order of
        the points, see :class:`dse.Prices`; NaN is what cannot be priced, and why stands in
        ``reason``. intervals: also the ends of 90 % intervals of speed, time and money,
        ``speedup_low`` and so on.

        Raises StudyError for an axis or value that does not exist.

        >>> import dse
        >>> prices = dse.load_study("ps-vs-allreduce").price({"gpus": [16, 32, 64]})
        >>> prices["capital_usd"].shape, float(prices["speedup"][0])
        ((3,), 1.0)
        """
        return price(self.problem, _either(points, axes), intervals)

    def search(self, **options: Unpack[SearchArguments]) -> Result:
        """Search the study; nothing is written.

        options: the fields of :class:`dse.search_options.SearchOptions`, but for those of a report,
        such as ``engine``, ``points``, ``seed``, or ``budget="2 MUSD"``; what is left out is left
        to the study. Raises NoFeasiblePoint where nothing meets every
        constraint, ArgumentError for an argument that cannot be.

        >>> import dse
        >>> result = dse.load_study("ps-vs-allreduce").search()
        >>> result.recommended.speedup > 1
        True
        """
        from dse.plan import plan_of
        from dse.search_options import of_arguments

        given = of_arguments(options)
        given.check_unreported()
        plan = plan_of(asking(self.problem, given.questions), given)
        started = time.perf_counter()
        with plan.executor() as where:
            outcome = plan.search(where, None, lambda *_: None)
        arguments = replace(given, seed=plan.seed).as_arguments()
        call = f"dse.load_study({self.problem.study.path!r}).search({arguments})"
        elapsed_s = time.perf_counter() - started
        return Result(Study(plan.problem), outcome, plan.seed, elapsed_s, call)

    def explain(self, point: Mapping[str, Any] | None = None, **axes: Any) -> Explanation:
        """Every term of one point's price; what it leaves out is the baseline's.

        >>> import dse
        >>> explained = dse.load_study("ps-vs-allreduce").explain(gpus=32)
        >>> explained.point.gpus
        32
        """
        from dse.pricing.requirements import check_given
        from dse.report.points import explained

        given = _either(point, axes)
        values = point_values(self.problem, given)
        check_given(self.problem, values, [axis_called(str(axis)) for axis in given], "point")
        return Explanation(explained(self.problem, values))


def _values(row: Axis | Condition) -> tuple[str | float, ...]:
    if isinstance(row, Axis) and not row.labels:
        return (row.written,)
    return tuple(map(_value, row.values, row.labels))


def _value(value: Value, label: str) -> str | float:
    """A value of an axis as a number where it is written as one."""
    return value if isinstance(value, int | float) and label[-1:].isdigit() else label


def _either(points: Any, axes: Mapping[str, Any]) -> Any:
    """Points as a table, or by the names of axes."""
    if axes and points is not None:
        raise ArgumentError(next(iter(axes)), "stands beside points", "put it into them")
    return axes if points is None else points


@dataclass(frozen=True)
class Explanation(_Printed):
    """One point, term by term: printed as ``dse explain`` does, and as an object in ``point``."""

    point: Explained

    def __repr__(self) -> str:
        return f"<explanation of {repr(self.point).strip('<>')}>"

    def __str__(self) -> str:
        from dse.report.explain import lines

        return "\n".join(lines(self.point))


@dataclass(frozen=True)
class Result:
    """A finished search of a study.

    outcome: what was found, as the rest of dse knows it. elapsed_s: how long that took. call: what
    was asked, as Python.
    """

    study: Study
    outcome: Outcome
    seed: int
    elapsed_s: float
    call: str

    @cached_property
    def document(self) -> RunDocument:
        """All that a report says, as typed objects."""
        from dse.plan import profile_paths
        from dse.report import assembly

        paths = profile_paths(self.study.problem)
        return assembly.build(self.outcome, self.call, self.seed, self.elapsed_s, paths)

    @cached_property
    def front(self) -> Prices:
        """The points that no other beats, by rising cost: their axes, then their prices."""
        front = self.outcome.front
        return self._priced([point.values for point in front], [point.labels for point in front])

    @property
    def recommended(self) -> Point:
        """The point that the study's rule recommends."""
        return self.document.recommended

    @cached_property
    def points(self) -> Prices:
        """Every point that a guided search priced, or every point of a space of a million."""
        from dse.search.run import labels_of

        problem, archive = self.study.problem, self.outcome.archive
        if archive is None and problem.space.size > MOST_POINTS:
            raise DseError(
                f"the study has {problem.space.size:,} points, too many to list; price those you "
                "want by study.price"
            )
        values = (
            [*map(problem.space.point, range(problem.space.size))]
            if archive is None
            else [*map(archive.values, range(len(archive)))]
        )
        return self._priced(values, [labels_of(problem, one) for one in values])

    def _priced(
        self, points: Sequence[Mapping[str, Value | None]], shown: Sequence[Mapping[str, str]]
    ) -> Prices:
        """Prices of points by their values, beside their axes as text; counts are numbers."""
        axes = {name: np.array(text) for name, text in labels(shown).items()}
        return Prices({**axes, **priced(self.study.problem, columns_of(points), len(points))})

    def explain(self, position: SupportsIndex) -> Explanation:
        """Every term of a point of the front, by its position in :attr:`front`, from 0.

        The report and ``dse explain --row`` count rows from 1. Raises ArgumentError.
        """
        from dse.report.points import explained

        front = self.outcome.front
        try:
            point = front[index(position)]
        except TypeError:
            problem, remedy = f"{position!r} is not a whole number", "give one, such as 0"
            raise ArgumentError("position", problem, remedy) from None
        except IndexError:
            problem = f"{position} is beyond a front of {len(front)} points"
            raise ArgumentError("position", problem, f"give 0 to {len(front) - 1}") from None
        return Explanation(explained(self.study.problem, point.values))

    def write_report(self, folder: File) -> Path:
        """Write the report to a folder; returns the path of its page."""
        from dse.calibration.files import check_writable
        from dse.report.write import write_report

        place = Path(folder)
        check_writable(place, "folder")
        return write_report(self.document, place)

    def plot(self, name: str = "front") -> Any:
        """A figure of the report as plotly's: ``front``, ``time``, ``waterfall``, ``layout`` (the
        memory of stages), ``timeline`` or ``certainty``; raises ArgumentError where it has none."""
        from plotly.io import from_json

        from dse.report.page import charts

        drawn = charts(self.document)
        drawn |= {"layout": drawn.pop("memory")} if "memory" in drawn else {}
        if name not in drawn:
            problem = f"there is no figure '{name}'"
            raise ArgumentError("name", problem, f"use {alternatives(drawn)}")
        return from_json(drawn[name])

    def to_frame(self) -> Any:
        """The front as a data frame of pandas, else of polars; raises DseError without both."""
        for name in ("pandas", "polars"):
            with suppress(ImportError):
                return import_module(name).DataFrame(dict(self.front))
        raise DseError("a data frame needs pandas or polars; pip install pandas, or use front")

    def __repr__(self) -> str:
        count, best = len(self.outcome.front), repr(self.recommended).strip("<>")
        return f"<result of {self.study.name}: {count} points on the front, {best}>"

    def __str__(self) -> str:
        from dse.report.answer import answer

        return "\n".join(answer(self.document))

    def _repr_html_(self) -> str:
        """The answer and the front, for notebooks."""
        from dse.report.answer import answer

        said = "".join(f"<p>{escape(line)}</p>" for line in answer(self.document))
        return said + self.front._repr_html_()


def load_study(study: File | Mapping[str, Any]) -> Study:
    """A study: a path, the name of one that comes with dse, or a mapping as its file would hold.

    Raises StudyError with the place of what is wrong.

    >>> import dse
    >>> dse.load_study("ps-vs-allreduce").workload
    'vgg16'
    """
    if isinstance(study, str | PathLike):
        return Study(load(Path(study)))
    if not isinstance(study, Mapping):
        what = f"{type(study).__name__} is not a study"
        raise StudyError("study", 0, 0, what, "give a path, the name of a study, or a mapping")
    from dse.study.reader import study_of

    source = parse_yaml(yaml_text(study, "study"), "study")
    return Study(resolve(study_of(source, known_names())))


def draft_study(workload: str, **options: Any) -> Study:
    """The study that a question stands for: the arguments are the options of ``dse ask``.

    options: the fields of :class:`dse.draft.Draft`; several values are a list, or text as on the
    command line. Raises StudyError with all that cannot be.

    >>> import dse
    >>> dse.draft_study("resnet50", on="h100", gpus="8..64", network=["100", "ndr"]).points
    144
    """
    from dse.draft import draft_of

    draft = draft_of({"workload": workload, **options})
    return Study(draft.problem(Path(f"{draft.name}.yaml")))


def run(
    study: File | Mapping[str, Any] | Study,
    out: File | None = None,
    **options: Unpack[RunArguments],
) -> dict[str, Any]:
    """Search a study and write its report; returns the document that is run.json.

    study: as :func:`dse.load_study` takes it, or what that returns. The report goes to ``out``,
    else to reports/STUDY. options: the fields of :class:`dse.search_options.SearchOptions`, which
    are the options of ``dse run``; what is left out is left to the study. Raises StudyError,
    NoFeasiblePoint or OutputError.

    >>> document = run("ps-vs-allreduce", out="my-report")
    >>> document["recommended"]["speedup"] > 1
    True
    """
    from dse.plan import carried_out, plan_of
    from dse.report.json_form import plain
    from dse.search_options import of_arguments

    started = time.perf_counter()
    asked = of_arguments({"out": out, **options})
    loaded = study if isinstance(study, Study) else load_study(study)
    plan = plan_of(asking(loaded.problem, asked.questions), asked)
    given = str(study) if isinstance(study, str | PathLike) else loaded.problem.study.path
    return plain(carried_out(plan, f"dse.run({given!r})", started).document)


def calibrate(
    out: File = "calibrations",
    budget_s: float = 60.0,
    ranks: Sequence[int] | None = None,
    name: str = "this-machine",
    runner: str | None = None,
    *,
    mpi: str | None = None,
    hostfile: File | None = None,
    ranks_per_node: int | None = None,
    interface: str | None = None,
    link: str | None = None,
    link_bandwidth: str | None = None,
    address: str | None = None,
    servers: Sequence[int] | None = None,
    device: str | None = None,
    workload: str | None = None,
    operations: Sequence[str] | None = None,
) -> Profile:
    """Measure with real ranks, fit a profile, write and return it.

    Arguments are the options of ``dse calibrate run``; which runner takes which of them is in
    docs/calibration.md. ranks: None is 2, 3, 4, 8, or what the hosts have room for. runner: None
    measures allreduce over MPI. Raises ArgumentError for one that cannot be or that the runner does
    not take, MeasurementError where no measurement can be made, OutputError.

    >>> profile = calibrate(budget_s=20, ranks=(2, 3))  # doctest: +SKIP
    >>> profile.error("ring")  # median, relative, on rank counts it was not fitted on
    ... # doctest: +SKIP
    """
    from dse.calibration import read_profile, session
    from dse.calibration.runners.registry import Request, find_runner

    chosen, folder = find_runner(runner), Path(out)
    asked = Request(
        budget_s, name, ranks, mpi=mpi, link=link, address=address, servers=servers, device=device,
        workload=workload, operations=tuple(operations or ()),
    )  # fmt: skip
    request = session.requested(
        chosen, asked, hostfile=None if hostfile is None else Path(hostfile),
        ranks_per_node=ranks_per_node, interface=interface, link_bandwidth=link_bandwidth,
    )  # fmt: skip
    session.check_folder(folder, name)
    session.calibrate(chosen, request, folder)
    return read_profile(folder / f"{name}.yaml")


def rebuild_report(folder: File) -> Path:
    """Write the report of a finished run, or of a fleet, again from its run.json or fleet.json;
    returns the page's path. ``folder`` may also be the document itself.

    >>> document = run("ps-vs-allreduce", out="my-report")
    >>> rebuild_report("my-report").name
    'report.html'
    """
    from dse.report import document_files, write

    path = document_files.document_path(Path(folder))
    if path.name != document_files.FLEET:
        return write.write_report(document_files.read_document(path), path.parent)
    return write.write_fleet(document_files.read_fleet_document(path), path.parent)
