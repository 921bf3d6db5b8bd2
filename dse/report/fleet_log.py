"""What a fleet's page says of the scheduler's log that its jobs come from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dse.fleet.log_summary import MOST_SHOWN
from dse.report.words import count, many, percent, significant
from dse.spelling import enumerated

if TYPE_CHECKING:
    from dse.fleet.document import FleetDocument
    from dse.fleet.log_summary import LogSummary, Matched

HEADS = ("Priced as", "Jobs", "Of the fleet")
TYPE_HEADS = ("GPU, as logged", "Jobs", "Of the fleet")
MINORITY = 0.5  # of what was held, unmatched, above which a headline says so
_WHOLE_HOURS = 100.0  # GPU-hours from which a sum is shown to one
_MINUTES = re.compile(r"\bmin")  # in the name of a column
_MOST_NAMED = 5
_MOST_TYPES = 3  # of GPU, in a sentence


def rows(document: FleetDocument) -> list[list[str]]:
    """Workload, jobs, share of what was held; last those that match none."""
    log = document.log
    if log is None:
        return []
    out = [_row(row) for row in log.matched]
    if log.unmatched:
        out.append(["not matched", count(log.unmatched), percent(log.unmatched_share)])
    return out


def type_rows(document: FleetDocument) -> list[list[str]]:
    """Type of GPU, jobs, share of what was held."""
    return [] if document.log is None else [_row(row) for row in document.log.gpu_types]


def _row(row: Matched) -> list[str]:
    return [row.name, count(row.jobs), percent(row.share)]


def total(document: FleetDocument) -> str:
    """How many GPU-hours the log's jobs held, how many jobs are left out and why, and how many rows
    are no jobs, in sentences for the answer; empty where there is no log."""
    log = document.log
    if log is None:
        return ""
    jobs = document.population.jobs
    if log.failed is not None and not log.failed.counted:
        jobs += log.failed.jobs
    out = f"The log has {many(jobs, 'job')} that held GPUs"
    if log.gpu_hours is not None:
        hours = log.gpu_hours
        shown = count(hours) if hours >= _WHOLE_HOURS else significant(hours)
        out += f", for {shown} GPU-hour{'s' * (shown != '1')} in all"
        if log.without_hours:
            out += f" ({log.without_hours:,} without a time, counted as long as the median)"
    reasons = [f"{many(number, 'job')} that {reason}" for reason, number in log.left_out.items()]
    reasons += [f"{many(number, 'row')} {what}" for what, number in log.no_jobs.items()]
    return f"{out}. Left out: {'; '.join(reasons)}." if reasons else f"{out}."


def readings(document: FleetDocument) -> str:
    """How cells of the log were read that could be read otherwise, in sentences for the answer;
    empty where there are none."""
    return "" if document.log is None else " ".join(document.log.readings)


def timeless(document: FleetDocument) -> str:
    """Sentences which say that no times of the log could be read, and what to do; empty where some
    could, or there is no log."""
    if not has_no_times(document):
        return ""
    return (
        "The log has no times that can be read, so jobs count by their GPUs, as if all ran equally "
        f"long; shares, speedups and dollars rest on that. {_name_times(document)}"
    )


def has_no_times(document: FleetDocument) -> bool:
    """Whether a log's jobs count by their GPUs alone."""
    return document.log is not None and not document.population.counted_by.startswith("GPU")


def _name_times(document: FleetDocument) -> str:
    """Which column of times to name in the study, and how."""
    found = () if document.log is None else document.log.durations
    if not found:
        return (
            "Give a log that tells how long jobs ran (sacct: ElapsedRaw), or name the column that "
            "does in the study: columns: {hours: NAME}, or {seconds: NAME} (also of 16:28:54)."
        )
    names = enumerated([f"'{name}'" for name in found])
    looks = f"{names} look{'s' * (len(found) == 1)} like how long jobs ran"
    if any(_MINUTES.search(name.lower()) for name in found):
        return f"{looks}: write hours or seconds there, and name it in the study under columns."
    unit = "hours" if "hour" in found[0].lower() else "seconds"
    return f"{looks}: name it in the study, columns: {{{unit}: {found[0]}}}."


def summary(document: FleetDocument) -> str:
    """How much was matched, in a sentence for the answer; empty where there is no log."""
    log = document.log
    if log is None:
        return ""
    known = document.population.jobs - log.unmatched
    held = document.population.counted_by
    jobs, name = many(document.population.jobs, "job"), "names" if known == 1 else "name"
    out = f"{count(known)} of {jobs} in the log {name} a workload that dse knows"
    if not log.unmatched:
        return f"{out}."
    out += f"; the others hold {percent(log.unmatched_share)} of the {held}"
    return f"{out} and are priced as {log.stands_for}."


def hardware(document: FleetDocument) -> str:
    """On what the jobs ran, and on what they are priced; empty where the log names no GPUs."""
    types = () if document.log is None else document.log.gpu_types
    if not types:
        return ""
    held = document.population.counted_by
    shares = [f"{row.name} {percent(row.share)}" for row in types[:_MOST_TYPES]]
    shares[0] += f" of the {held}"
    at_least = "at least " if len(types) >= MOST_SHOWN else ""
    return (
        f"The log names {at_least}{many(len(types), 'type')} of GPU "
        f"({'the most common: ' if len(types) > len(shares) else ''}{', '.join(shares)}); all jobs "
        "are priced on the study's hardware, whatever they ran on."
    )


def failed(document: FleetDocument) -> str:
    """How many jobs failed or were cancelled, what they held, and whether that counts; empty where
    there are none, or the log does not tell."""
    found = None if document.log is None else document.log.failed
    if found is None or not found.jobs:
        return ""
    share, one = percent(found.share), found.jobs == 1
    held = f"{share} of the GPUs"
    if found.gpu_hours is not None:
        hours = f"GPU-hour{'s' * (found.gpu_hours != 1)}"
        held = f"{significant(found.gpu_hours)} {hours}, {share} of all"
    out = (
        f"{many(found.jobs, 'job')} that failed or {'was' if one else 'were'} cancelled held {held}"
    )
    if not found.counted:
        return f"{out}; {'it is' if one else 'they are'} left out, as the study says."
    return (
        f"{out}; {'it counts' if one else 'they count'} like the others, since the GPUs were busy "
        "('failed_jobs: leave out' in the study leaves such jobs out)."
    )


def headline(document: FleetDocument) -> str:
    """What the headline must not be read without: that it stands on a minority of the fleet."""
    log = document.log
    if log is None or log.unmatched_share <= MINORITY:
        return ""
    if log.unmatched == document.population.jobs:
        return " (no job's workload is known)"
    known, held = percent(1 - log.unmatched_share), document.population.counted_by
    return f" (the workload of only {known} of the {held} is known)"


def notes(document: FleetDocument) -> list[str]:
    """What was matched, assumed and left out, each in a sentence."""
    return [] if document.log is None else list(_notes(document, document.log))


def _notes(document: FleetDocument, log: LogSummary) -> Iterator[str]:
    yield total(document)
    yield from log.readings
    yield summary(document)
    if log.unmatched:
        yield (
            "Each of them is given the work per GPU of one of those, drawn at random, so that they "
            "vary as much as those do. What they really do is not known, and the 90 % intervals do "
            "not cover it."
        )
        if log.weights is not None and log.weights_matched is not None:
            alone, whole = percent(log.weights_matched), percent(log.weights)
            yield (
                f"Weights and gradients take {alone} of the matched jobs' time, {whole} of that of "
                "all jobs."
            )
        if log.unmatched_labels:
            named = ", ".join(f"{seen.name} ({count(seen.jobs)})"
                              for seen in log.unmatched_labels[:_MOST_NAMED])  # fmt: skip
            yield (
                f"Names that match nothing, with their jobs: {named}. Say in the study what they "
                "are: workloads: {NAME: a workload of the catalogue}."
            )
        else:
            yield "The log does not name the workload of any of them."
    if log.without_batch:
        taken = "as the study says" if log.batch_of_study else "assumed"
        yield (
            f"The log gives no batch for {many(log.without_batch, 'job')} of a known workload: "
            f"each GPU takes {significant(log.batch_per_gpu)} samples in a step, {taken}."
        )
    if log.without_hours:
        yield (
            f"The log gives no time for {many(log.without_hours, 'job')}: taken to run as long as "
            "the median of the others."
        )
    if said := timeless(document):
        yield said
    if log.class_by_size:
        yield (
            f"The log does not tell how {many(log.class_by_size, 'job')} exchange gradients: those "
            "on one GPU are 1w1g, those in one server AllReduce-Local, larger ones "
            "AllReduce-Cluster."
        )
    yield "FLOPs, bytes and gradients are those of training in fp32."
    yield from filter(None, (failed(document), hardware(document)))
    if log.columns:
        read = ", ".join(f"{tells} from {name}" for tells, name in log.columns.items())
        yield f"Columns: {read}."
    else:
        yield f"Read as the log of {log.form}."
