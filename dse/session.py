"""What the commands do: a study from file to report, and a calibration from ranks to profile."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.errors import DseError, NoFeasiblePoint, StudyError
from dse.progress import shown_progress

if TYPE_CHECKING:
    from dse.calibration import Profile
    from dse.calibration.session import Where
    from dse.calibration.suggest import Advice
    from dse.search.problem import Problem
    from dse.search.runlog import RunLog
    from dse.study import Value

ENGINES = ("auto", "exhaustive", "guided")
EXECUTORS = ("auto", "local", "ray")
RUN_LOG = "run.log.jsonl"
BUSY_CORES = 0.1  # kept by others while measuring: times come out too long


@dataclass(frozen=True)
class Options:
    """What the command line may override; None leaves it to the study."""

    out: Path | None = None
    engine: str | None = None
    executor: str | None = None
    address: str | None = None
    budget: int | None = None
    seed: int | None = None
    resume: bool = False


def run_study(
    study: str, options: Options, command: str = "", quiet: bool = False, show_json: bool = False
) -> dict[str, Any]:
    """Search a study, write its report, print the answer; returns the run document."""
    from dse.report import document, words
    from dse.report.write import check_writable, write_report
    from dse.search import load
    from dse.search import run as searching
    from dse.search.executors import executor
    from dse.search.runlog import RunLog

    started = time.perf_counter()
    _one_of(options.engine, ENGINES, "--engine")
    _one_of(options.executor, EXECUTORS, "--executor")
    problem = load.load(study)
    asked, place = problem.study.search, problem.study.executor
    engine = options.engine or asked.engine
    kind = options.executor or ("ray" if options.address else place.kind)
    seed = asked.seed if options.seed is None else options.seed
    budget = asked.budget if options.budget is None else options.budget
    folder = options.out or Path("reports") / problem.study.name
    say = (lambda *_: None) if quiet else print
    chosen, reason = searching.choose_engine(problem, engine)
    say(f"{problem.study.name}: {chosen} search, {reason}")
    check_writable(folder)
    with closing(executor(kind, options.address or place.address)) as where:
        log = None
        if chosen == "exhaustive":
            header = searching.header(problem, document.calibration_hash(problem))
            log = RunLog(folder / RUN_LOG, header, options.resume)
            if log.done:
                say(f"resuming: {len(log.done)} units of work are done")
        if options.resume and not (log and log.done):
            say("nothing to resume: starting afresh")
        with _kept_for_resume(log):
            with shown_progress(quiet) as progress:
                outcome = searching.run(problem, engine, where, log, progress, budget, seed)
            total_s = time.perf_counter() - started
            found = document.build(outcome, command, seed, total_s, _profile_paths(problem))
            page = write_report(found, folder)
    if show_json:
        print(json.dumps(found, indent=1))
    say("")
    for sentence in words.answer(found):
        say(sentence)
    say(f"Report: {page}")
    return found


@contextmanager
def _kept_for_resume(log: RunLog | None) -> Iterator[None]:
    """A run that was stopped leaves its log; one that is complete has no use for it."""
    try:
        yield
    except KeyboardInterrupt:
        # A guided search is a function of its seed: run again, it makes the same choices.
        how = "go on with --resume" if log else "the same command searches the same points again"
        print(f"\ninterrupted; {how}", file=sys.stderr)
        raise
    except NoFeasiblePoint:
        if log:
            log.discard()
        raise
    finally:
        if log:
            log.close()
    if log:
        log.discard()


def _profile_paths(problem: Problem) -> dict[str, Path]:
    """Name of each profile that prices something, and its file."""
    from dse.search.load import profile_path

    return {
        name: profile_path(problem.study, name, position)
        for position, name in enumerate(problem.study.calibration)
        if name in problem.profiles
    }


def check_study(study: str, as_json: bool) -> None:
    """Print what a study would search, without searching."""
    from dse.search import load
    from dse.search import run as searching

    problem = load.load(study)
    found = problem.study
    points, seconds = problem.points, searching.estimate_s(problem)
    engine, reason = searching.choose_engine(problem, found.search.engine)
    if as_json:
        print(json.dumps({"study": found.name, "points": points, "estimated_s": seconds,
                          "engine": engine, "reason": reason}))  # fmt: skip
        return
    print(f"{found.path}: study {found.name}, workload {problem.workload.name}")
    for axis in (*found.axes, *found.defaults):
        values = f"{axis.low:g} to {axis.high:g}" if axis.continuous else ", ".join(axis.labels)
        print(f"  {axis.name:<16} {values}{'  (default)' if axis in found.defaults else ''}")
    for condition in found.conditions:
        where = ", ".join(f"{name}={'|'.join(map(str, v))}" for name, v in condition.requires)
        print(f"  {condition.axis:<16} {', '.join(condition.labels)}  (where {where})")
    baseline = ", ".join(f"{name}={label}" for name, label in found.baseline.labels.items())
    print(f"  baseline         {baseline}")
    if found.baseline.assumed:
        print(f"                   (not given, so the first: {', '.join(found.baseline.assumed)})")
    size = "continuous" if points is None else f"{points:,} points"
    print(f"ok: {size}; {engine} search, {reason}")


def explain_point(study: str, assignments: Sequence[str], as_json: bool) -> None:
    """Print every term of one point: the baseline with some axes set otherwise."""
    from dse.report.points import describe
    from dse.search import feasibility, load
    from dse.study.assign import assigned

    problem = load.load(study)
    values: dict[str, Value | None] = dict(problem.study.baseline.values)
    for text in assignments:
        axis, value = assigned(problem.study, text, load.known_names())
        values[axis] = value
    values = problem.applicable(values)
    point = describe(problem, values)
    checks = feasibility.checks(problem.point(values), problem.study)
    point["constraints"] = {reason: bool(mask.all()) for reason, mask in checks}
    if as_json:
        print(json.dumps(point, indent=1))
        return
    from dse.report.explain import lines

    print("\n".join(lines(point)))


def calibrate_machine(
    out: Path, name: str, budget_s: float, ranks: str | None, where: Where
) -> None:
    """Measure, fit, and say how well the fit predicts what it has not seen.

    Started by a launcher of ranks, this process is one of them: rank 0 alone writes and speaks.
    """
    from dse.calibration.runners.launchers import started
    from dse.calibration.session import calibrate_as_rank, calibrate_here

    me = started(os.environ)
    try:
        counts = _counts(ranks)
        if me is None or me.rank == 0:
            if (out / f"{name}.yaml").exists():
                print(f"replaces {out / name}.yaml; give --name to keep it")
            at = f"{len(where.hosts.hosts)} hosts" if where.hosts else "this machine"
            at = f"the {me.ranks} ranks of {me.by}" if me else at
            print(f"measuring allreduce on {at} for {budget_s:g} s", flush=True)
        progress = _run_progress
        written = (
            calibrate_as_rank(me, out, budget_s, counts, name, progress, where)
            if me
            else calibrate_here(out, budget_s, counts, name, None, progress, where)
        )
    except DseError as error:
        if me and me.rank:  # rank 0 says it, once
            raise SystemExit(error.exit_status) from None
        raise
    if written:
        _say_calibrated(*written)


def _counts(ranks: str | None) -> tuple[int, ...] | None:
    try:
        return None if ranks is None else tuple(int(text) for text in ranks.split(","))
    except ValueError:
        raise StudyError(
            "--ranks", 0, 0, f"'{ranks}' is not a list of counts", "write for example --ranks 2,3,4"
        ) from None


def _run_progress(done: int, total: int, text: str) -> None:
    print(f"  {done}/{total} {text}", flush=True)


def _say_calibrated(measured: Path, profile: Path) -> None:
    from dse.calibration import read_profile

    found = read_profile(profile)
    for algorithm in found.measured_algorithms:
        print(f"  {algorithm}: median error {found.error(algorithm):.0%} on rank counts "
              "it was not fitted on")  # fmt: skip
    if found.background_cores > BUSY_CORES:
        print(f"  this machine was busy: other processes kept {found.background_cores:.1f} of its "
              f"{found.cores} cores; measure again when it is quiet")  # fmt: skip
    print(f"wrote {measured}\nwrote {profile}")


def fit_profile(measurements: Sequence[Path], out: Path) -> None:
    """Fit measurement files into one profile."""
    from dse.calibration import fit_measurements, write_profile

    if any(path.resolve() == out.resolve() for path in measurements):
        problem = f"'{out}' is one of the measurement files"
        raise StudyError("--out", 0, 0, problem, "choose another name")
    profile = fit_measurements(list(measurements), out.stem)
    write_profile(profile, out)
    for algorithm in profile.measured_algorithms:
        print(f"  {algorithm}: median error {profile.error(algorithm):.0%} on what was left out")
    print(f"wrote {out}")


def named_profile(given: str) -> Profile:
    """A profile by its path, or by its name in ./calibrations or among those that come with dse."""
    from dse import catalog
    from dse.calibration import read_profile
    from dse.calibration.finding import find_profile

    return read_profile(find_profile(given, catalog.models_dir() / "calibrations"))


def suggest_runs(given: str, study: str, *limits: Any) -> tuple[Profile, Advice]:
    """A profile, and what to measure next for a study: see :func:`dse.search.demand.advise`."""
    from dse.search.demand import advise

    profile = named_profile(given)
    return profile, advise(profile, study, *limits)


def _one_of(value: str | None, allowed: Sequence[str], option: str) -> None:
    if value is not None and value not in allowed:
        raise StudyError(option, 0, 0, f"'{value}' is not known", f"use {', '.join(allowed)}")
