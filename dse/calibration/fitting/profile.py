"""Fits a profile to measurement files: each algorithm, all of them together, and the range."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dse.calibration.compute_part import compute_parts
from dse.calibration.experiment import (
    ALLREDUCE,
    Experiment,
    Machine,
    Measurement,
    read_experiment,
    sha256_of,
)
from dse.calibration.files import rounded
from dse.calibration.fitting.exchanges import OPERATIONS, fit_exchanges
from dse.calibration.fitting.library import LEAST_SIZES, fit_automatic
from dse.calibration.fitting.network import Known, fit_network
from dse.calibration.fitting.servers import server_parts
from dse.calibration.fitting.step_cost import Rows, fit_step, rows_of, step_bytes
from dse.calibration.library_part import AUTO
from dse.calibration.profile import NO_TRANSPORT, POOLED, Fit, Point, Profile
from dse.calibration.ps_part import ServersFit
from dse.calibration.throughput_part import block_rates
from dse.errors import MeasurementError
from dse.model.aggregation.algorithms import ALGORITHMS
from dse.model.arrays import Array

NOTHING_SENT = "nothing was sent"
SERVERS_ON_ONE_LINK = "measured on at most one link; network time follows from the link's speed"
SERVERS_ON_SEVERAL_LINKS = "measured at two or more link speeds"
SPLIT_REASON = "measured on one link ({}), so all of the time is attributed to the hosts"
ONE_LINK_REASON = "measured on one link only, so host and network time cannot be separated"
TWO_LINKS_REASON = "measured at two or more link speeds between nodes"
RUNS_OF_A_FILE = 1000  # runs of several files are numbered on by this
ALIKE = 1.1  # of others' logs: runs that differ by more did not run in the same way
SAME_SYSTEM = 1.5  # of others' logs: a larger factor is another system or network
CONTRADICTION = 3.0  # times of one layout in two files; noise explains less


def fit_measurements(paths: Sequence[str | Path], name: str = "") -> Profile:
    """Fit one profile on one or more measurement files of the same library on the same system.

    Raises StudyError for a bad file, else as :func:`fit_experiments`.
    """
    if not paths:
        raise MeasurementError("no measurement file was given")
    experiments = [read_experiment(path) for path in paths]
    where = ", ".join(str(path) for path in paths)
    return fit_experiments(experiments, name or experiments[0].name, sha256_of(*paths), where)


def fit_experiments(
    experiments: Sequence[Experiment], name: str, digest: str = "", where: str = "measurements"
) -> Profile:
    """Like :func:`fit_measurements`, of files already read.

    digest: the SHA-256 of the files. where: their names, for errors.

    Raises MeasurementError where they do not belong together, contradict each other, or hold too
    little.
    """
    # Runs are numbered on from file to file: run 1 of two files is two runs.
    every = [
        replace(sample, run=RUNS_OF_A_FILE * number + sample.run)
        for number, experiment in enumerate(experiments)
        for sample in experiment.samples
    ]
    samples = [s for s in every if s.collective == ALLREDUCE and s.verified and s.servers == 0]
    ps, compute = server_parts(experiments), compute_parts(experiments)
    exchanges = fit_exchanges(every)
    if not (samples or ps or compute or exchanges):
        raise MeasurementError(f"{where}: {_nothing_to_fit(every)}")
    sent = [s for s in every if exchanges and s.collective in OPERATIONS and s.verified]
    _check_one_system(experiments, samples or sent)
    published = all(e.machine is None for e in experiments)
    servers = [s for s in every if s.servers and s.verified]
    noted = check_agreement(samples, where, published) + check_agreement(servers, where, False)
    about = _about(experiments, name, digest)
    if samples:
        profile = _profile(experiments, samples, about)
    elif ps:
        profile = _of_servers(about, *next(iter(ps.items())))
    elif sent:
        profile = _of_operations(about, sent)
    else:
        first = compute[0]
        made_by = {"library": first.library, "version": first.version, "device": first.device}
        profile = silent_profile(**about, **made_by)
    return replace(
        profile,
        ps=ps,
        compute=compute,
        throughput=block_rates(experiments),
        exchanges=exchanges,
        assumed=(*profile.assumed, *noted),
        system=profile.system or experiments[0].name,
    )


def _nothing_to_fit(every: Sequence[Measurement]) -> str:
    """What is wrong with measurements that no profile can be fitted on, and what would be right."""
    if every and not any(sample.verified for sample in every):
        rows = f"{len(every):,} of {len(every):,} rows"
        return (
            f"the sums were wrong in {rows} (#wrong is not 0, or the validation failed); measure "
            "again where they are right"
        )
    found = ", ".join(sorted({sample.collective for sample in every if sample.verified}))
    only = f", only {found}" if found else ""
    return (
        f"no measurement that a profile can be fitted on{only}; give measurements of allreduce, of "
        "all_gather, reduce_scatter, alltoall or sendrecv at three sizes or more, of parameter "
        "servers or matrix products"
    )


def _about(experiments: Sequence[Experiment], name: str, digest: str) -> dict[str, Any]:
    """What every profile takes from its experiments, whatever they measured.

    Reductions and copies count where allreduce was measured, if it was.
    """
    machine = next((e.machine for e in experiments if e.machine is not None), None)
    summing = [e for e in experiments if any(not s.servers for s in e.samples)] or experiments
    sources = (e.source or f"measured with dse {e.dse_version}" for e in experiments)
    return {
        "name": name,
        "machine": _machine(machine),
        "cores": machine.cores if machine else 1,
        "background_cores": max(e.background_cores for e in experiments),
        "date": max(e.date for e in experiments),
        "source": "; ".join(dict.fromkeys(sources)),
        "measurements_sha256": digest,
        "assumed": tuple(dict.fromkeys(text for e in experiments for text in e.assumed)),
        "gamma_s_per_byte": _typical(e.gamma_s_per_byte for e in summing),
        "copy_s_per_byte": _typical(e.copy_s_per_byte for e in summing),
    }


def _typical(values: Iterable[float]) -> float:
    """The median of those that were measured; 0 if none was."""
    known = [value for value in values if value > 0]
    return rounded(float(np.median(known))) if known else 0.0


def _check_one_system(experiments: Sequence[Experiment], samples: Sequence[Measurement]) -> None:
    machines = {(e.machine.cpu, e.machine.cores) for e in experiments if e.machine is not None}
    libraries = {(s.transport, s.library, s.version) for s in samples}
    systems = {(s.system, s.device, s.link if s.nodes > 1 else "") for s in samples}
    systems = {s for s in systems if s[2]} or systems  # one node beside many is the same system
    for what, kinds in (("machines", machines), ("libraries", libraries), ("systems", systems)):
        if len(kinds) > 1:
            listed = " and ".join(
                sorted(" ".join(str(part) for part in kind if part) for kind in kinds)
            )
            problem = f"the measurements are from different {what}: {listed}"
            raise MeasurementError(f"{problem}; fit each separately")


def _profile(
    experiments: Sequence[Experiment], samples: Sequence[Measurement], about: Mapping[str, Any]
) -> Profile:
    """A profile of allreduce."""
    sample = samples[0]
    told = any(e.machine is not None for e in experiments)
    cores = about["cores"] if told else max(s.ranks_per_node for s in samples)
    gamma = about["gamma_s_per_byte"]
    automatic_samples = [s for s in samples if s.algorithm == AUTO]
    forced = [s for s in samples if s.algorithm in ALGORITHMS]
    named = [s for s in forced if s.nodes == 1]
    between = [s for s in forced if s.nodes > 1]
    fits, points = _named_fits(rows_of(named, cores), gamma, not told) if named else ({}, [])
    automatic = None
    if automatic_samples:
        mine = rows_of(automatic_samples, cores)
        automatic, typical, held_out = fit_automatic(automatic_samples, mine)
        points += _points(AUTO, typical, held_out)
    network = {}
    shared = about["cores"] if any(e.shared_cores for e in experiments) else None
    for algorithm in sorted({s.algorithm for s in between}):
        mine = rows_of([s for s in between if s.algorithm == algorithm], cores)
        alone = fits.get(algorithm, fits.get(POOLED))
        given = Known(gamma, alone.step() if alone else None, shared)
        network[algorithm], typical, held_out = fit_network(mine, given)
        points += _points(algorithm, typical, held_out)
    used = [*automatic_samples, *named, *between]
    if not used:
        found = ", ".join(sorted({s.algorithm for s in samples}))
        known = ", ".join((AUTO, *ALGORITHMS))
        problem = f"the measured algorithms cannot be fitted: {found}"
        raise MeasurementError(f"{problem}; measure one of {known}")
    rows = rows_of(used, cores)
    steps = step_bytes(rows)
    links = {s.link_bytes_per_s for s in used if s.nodes > 1}
    told_apart = len(links) > 1 and bool(network)
    return Profile(
        **{**about, "cores": cores},
        transport=sample.transport,
        library=sample.library,
        version=sample.version,
        link=max(used, key=lambda s: s.nodes).link,
        ranks=(int(rows.ranks.min()), int(rows.ranks.max())),
        message_bytes=(float(rows.message_bytes.min()), float(rows.message_bytes.max())),
        step_bytes=(rounded(float(steps[0].min()), 12), rounded(float(steps[1].max()), 12)),
        max_nodes=max(s.nodes for s in used),
        split="measured" if told_apart else "assumed",
        split_reason=TWO_LINKS_REASON
        if told_apart
        else SPLIT_REASON.format(used[0].link.replace("-", " "))
        if max(s.nodes for s in used) == 1
        else ONE_LINK_REASON,
        fits=fits,
        points=tuple(points),
        auto=automatic,
        network=network,
        system=sample.system,
        device=sample.device,
        link_bytes_per_s=links.pop() if len(links) == 1 else None,
    )  # fmt: skip


def _named_fits(rows: Rows, gamma: float, logs: bool) -> tuple[dict[str, Fit], list[Point]]:
    """The fit of every forced algorithm, and of all together.

    One that was measured at a single rank count is priced by the pool, like one never measured,
    but for logs of others in which none was measured at more.
    """
    each = {str(name): rows.take(rows.algorithm == name) for name in np.unique(rows.algorithm)}
    sizes = {name: np.unique(mine.message_bytes).size for name, mine in each.items()}
    enough = [n for n, mine in each.items() if sizes[n] > 2 and np.unique(mine.ranks).size > 1]
    alone = [name for name in each if sizes[name] >= LEAST_SIZES] if logs else []
    fits: dict[str, Fit] = {}
    points: list[Point] = []
    for algorithm in enough or alone:
        fits[algorithm], typical, held_out = fit_step(each[algorithm], gamma)
        points += _points(algorithm, typical, held_out)
    if not fits:
        needs = "no algorithm was measured at two or more rank counts and three or more sizes"
        only = " and ".join(each) + " at fewer"
        remedy = "give logs of other rank counts or of the library's own choice"
        raise MeasurementError(f"{needs}, {only}; {remedy}, or measure with a larger --budget")
    several = np.unique(rows.algorithm).size > 1
    fits[POOLED], *_ = fit_step(rows, gamma, group="algorithm" if several else "ranks")
    return fits, points


def _machine(machine: Machine | None) -> dict[str, str]:
    if machine is None:
        return {}
    return {
        "cpu": machine.cpu,
        "cores": str(machine.cores),
        "memory": f"{machine.memory_bytes / 2**30:.0f} GiB",
        "kernel": machine.kernel,
        "nics": ", ".join(machine.nics) or "none",
        "python": machine.python,
    }


def _points(algorithm: str, rows: Rows, held_out: Array) -> list[Point]:
    columns = zip(
        rows.ranks, rows.message_bytes, rows.seconds, held_out, rows.ranks_per_node, strict=True
    )
    return [
        Point(algorithm, int(n), int(m), rounded(float(t)),
              rounded(float(p), 4) if p > 0 else None, int(g))
        for n, m, t, p, g in columns
    ]  # fmt: skip


def _of_operations(about: Mapping[str, Any], sent: Sequence[Measurement]) -> Profile:
    """A profile of other operations of ranks alone."""
    first, sizes = max(sent, key=lambda s: s.nodes), [float(s.bytes) for s in sent]
    ends, counts = (min(sizes), max(sizes)), [s.ranks for s in sent]
    return Profile(
        **about, transport=first.transport, library=first.library, version=first.version,
        link=first.link, ranks=(min(counts), max(counts)), message_bytes=ends, step_bytes=ends,
        max_nodes=first.nodes, split="assumed", split_reason=ONE_LINK_REASON, fits={},
        points=(), system=first.system, device=first.device,
        link_bytes_per_s=first.link_bytes_per_s,
    )  # fmt: skip


def _of_servers(about: Mapping[str, Any], transport: str, part: ServersFit) -> Profile:
    """A profile without allreduce: ranks are the workers, messages their gradients."""
    low, high = part.message_bytes
    slowest, fastest = part.link_bytes_per_s
    several = 0 < slowest < fastest
    return Profile(
        **about, transport=transport, library=part.library, version=part.version, link=part.link,
        ranks=part.workers, message_bytes=part.message_bytes,
        step_bytes=(max(low / part.servers[1], 1.0), high), max_nodes=part.max_nodes,
        split="measured" if several else "assumed",
        split_reason=SERVERS_ON_SEVERAL_LINKS if several else SERVERS_ON_ONE_LINK,
        fits={}, points=(), link_bytes_per_s=slowest if slowest and slowest == fastest else None,
    )  # fmt: skip


def silent_profile(**fields: Any) -> Profile:
    """A profile in which nothing was sent; fields: its others."""
    return Profile(
        **fields, transport=NO_TRANSPORT, link=NO_TRANSPORT, ranks=(1, 1),
        message_bytes=(1.0, 1.0), step_bytes=(1.0, 1.0), max_nodes=1, split="measured",
        split_reason=NOTHING_SENT, fits={}, points=(),
    )  # fmt: skip


def check_agreement(samples: Sequence[Measurement], where: str, published: bool) -> tuple[str, ...]:
    """A note for each layout whose runs in one file differ beyond noise at most sizes.

    One file is one session on one machine: other work there slows some of the runs, and the median
    over them is fitted. where: the files, for errors. published: whether the samples are of others'
    logs. Raises MeasurementError where files contradict each other, or runs of others' logs, whose
    cause cannot be looked into.
    """
    if published:
        for what, ratio in _disagreements(samples, SAME_SYSTEM):
            raise MeasurementError(_refused(where, what, ratio))
        return tuple(
            f"runs of {what} differ by a factor of {ratio:.2f} at most sizes, and their median is "
            "fitted; if they ran in different ways, import each by itself"
            for what, ratio in _disagreements(samples, ALIKE)
        )
    files: dict[int, list[Measurement]] = {}
    for sample in samples:
        files.setdefault(sample.run // RUNS_OF_A_FILE, []).append(sample)
    typical = [one for mine in files.values() for one in _medians(mine)]
    for what, ratio in _disagreements(typical, CONTRADICTION):
        raise MeasurementError(_refused(where, what, ratio))
    return tuple(
        f"the median over runs of {what}, which differ by a factor of {ratio:.1f} at most sizes; "
        "measure again when nothing else runs"
        for mine in files.values()
        for what, ratio in _disagreements(mine, CONTRADICTION)
    )


def _refused(where: str, what: str, ratio: float) -> str:
    problem = f"{where}: at most sizes, runs of {what} differ by a factor of {ratio:.1f}"
    return f"{problem}; leave one file out, or measure again"


def _key(s: Measurement) -> tuple[object, ...]:
    return s.algorithm, s.ranks, s.ranks_per_node, s.link_bytes_per_s, s.transport, s.servers


def _medians(samples: Sequence[Measurement]) -> list[Measurement]:
    """One sample per layout and size: the median over the runs."""
    same: dict[tuple[object, ...], list[Measurement]] = {}
    for sample in samples:
        same.setdefault((_key(sample), sample.bytes), []).append(sample)
    return [
        replace(mine[0], median_s=float(np.median([s.median_s for s in mine])))
        for mine in same.values()
    ]


def _disagreements(samples: Sequence[Measurement], most: float) -> list[tuple[str, float]]:
    """Layouts whose runs differ by more than ``most`` at half of the sizes, and by how much."""
    times: dict[tuple[object, ...], dict[int, list[float]]] = {}
    for s in samples:
        times.setdefault(_key(s), {}).setdefault(s.bytes, []).append(s.median_s)
    found = []
    for (algorithm, ranks, *_), sizes in times.items():
        ratios = [max(seconds) / min(seconds) for seconds in sizes.values() if len(seconds) > 1]
        if ratios and float(np.median(ratios)) > most:
            found.append((f"{algorithm} on {ranks} ranks", float(np.median(ratios))))
    return found
