"""Schedulers' logs that are read as they are, a row each, and logs that are only recognised."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dse.errors import StudyError
from dse.spelling import meant
from dse.text_table import Table

# What a column may tell of a job. GPUs are those of each replica where there are replicas.
TOLD = ("job", "name", "gpus", "replicas", "nodes", "batch_per_gpu", "gpu_hours", "hours",
        "seconds", "start", "end", "status", "class", "task")  # fmt: skip
Places = dict[str, int]  # what columns tell -> where they stand


@dataclass(frozen=True)
class Trace:
    """A log. columns: what a column tells -> its names, the likelier first; a ``duration`` is of no
    known unit. whole_gpu: what stands for a GPU in its column. header: where the file has none;
    statuses: of its fourth column then. mark: the column without which it is another log.
    """

    title: str
    columns: Mapping[str, str]
    whole_gpu: float = 1.0
    header: Sequence[str] = ()
    statuses: Sequence[str] = ()
    mark: str = ""

    def places(self, header: Sequence[str]) -> Places:
        """Where its columns stand; capitals, blanks and marks do not matter."""
        there = [plain(name) for name in header]
        if self.mark and plain(self.mark) not in there:
            return {}
        return {tells: there.index(own[0]) for tells, names in self.columns.items()
                if (own := [one for one in map(plain, names.split()) if one in there])}  # fmt: skip


_PAI = ("job_name", "task_name", "inst_num", "status", "start_time", "end_time", "plan_cpu",
        "plan_mem", "plan_gpu", "gpu_type")  # fmt: skip
_NODES = "nodes node_num num_node num_nodes nodenum node_count nnodes servers num_servers"
TRACES = (
    Trace("sacct of Slurm", {
        "job": "JobID JobIDRaw", "name": "JobName", "gpus": "AllocTRES AllocGRES ReqTRES",
        "seconds": "ElapsedRaw", "duration": "Elapsed", "nodes": "NNodes AllocNodes",
        "status": "State", "start": "Start", "end": "End",
    }),
    Trace("Alibaba PAI, 2020", {
        "job": "job_name", "task": "task_name", "replicas": "inst_num", "gpus": "plan_gpu",
        "status": "status", "start": "start_time", "end": "end_time",
    }, 100.0, _PAI, ("Terminated", "Failed", "Running", "Waiting")),
    Trace("Microsoft Philly", {
        "job": "jobid", "gpus": "gpus_of_the_last_attempt", "nodes": "servers",
        "gpu_hours": "gpu-hours_of_all_attempts", "status": "status",
    }),
    Trace("Helios", {
        "job": "job_id", "gpus": "gpu_num", "nodes": _NODES, "status": "state status",
        "seconds": "duration", "start": "start_time", "end": "end_time",
    }, mark="gpu_num"),
    Trace("Alibaba, pods of 2023", {
        "job": "name", "replicas": "num_gpu", "gpus": "gpu_milli", "status": "pod_phase",
        "start": "scheduled_time", "end": "deletion_time",
    }, 1000.0),
    # A user's own, whose columns are called as a study calls them.
    Trace("table", {tells: tells for tells in TOLD if tells != "task"} | {
        "gpus": "gpus num_gpus gpu_num num_gpu", "nodes": _NODES, "duration": "duration elapsed",
    }),
)  # fmt: skip
OWN = TRACES[-1]
_OF_ANY = ("job", "nodes", "seconds", "start", "end", "status")
# How texts of other formats begin.
_OTHERS = {
    "what sacct of Slurm prints for people": r"JobID +\w+ ",
    "the JSON of Kubernetes": r'\{\s*"(apiVersion|kind|items)"',
    "the YAML of Kubernetes": r"(apiVersion|kind|items):",
    "what qacct of Grid Engine prints": r"={5,}\s|qname\s",
    "the accounting log of PBS": r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;[A-Z];",
    "the accounting log of LSF": r'"JOB_[A-Z]+"\s|Job <\d+>',
    "what scontrol of Slurm prints": r"JobId=\d+ ",
    "what squeue of Slurm prints": r"\s*JOBID\s+PARTITION\b",
    "what bjobs of LSF prints": r"JOBID\s+USER\s+STAT\b",
    "what qstat of PBS prints": r"Job id\s+Name\s|job-ID\s+prior\b|Job Id: |\{\s*\"timestamp\":",
    "what condor_history of HTCondor prints": r"\s*ID\s+OWNER\s+SUBMITTED\b",
}
REMEDY = "give sacct --parsable2 or --json, or CSV whose columns the study names"


def plain(name: str) -> str:
    """The name of a column without capitals, blanks and marks."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def refuse_others(path: str, text: str) -> None:
    """Raise :class:`~dse.errors.StudyError` for a log that is recognised but not read."""
    for title, beginning in _OTHERS.items():
        if re.match(beginning, text.lstrip("\ufeff\n")):
            raise StudyError(path, 1, 1, f"is {title}, which is not read", REMEDY)


def without_header(first: Sequence[str]) -> Sequence[str]:
    """The header of a file that begins with its first row, where ``first`` is one; else empty."""
    return next((trace.header for trace in TRACES if len(first) == len(trace.header)
                 and first[3] in trace.statuses), ())  # fmt: skip


def trace_of(header: Sequence[str], columns: Mapping[str, str]) -> Trace:
    """The log with such columns: GPUs, where the study names none for them, and most others; the
    table of a user where none has."""
    found = [(places, trace) for trace in TRACES if (places := trace.places(header))]
    likely = [row for row in found if "gpus" in row[0] or "gpus" in columns]
    return max(likely, key=lambda row: len(row[0]), default=({}, OWN))[1]


def places_of(table: Table, trace: Trace, columns: Mapping[str, str]) -> Places:
    """Where the columns stand that tell something. columns: those that the study names, which a
    trace does not have otherwise. Raises :class:`~dse.errors.StudyError` where one is not there, or
    none tells GPUs."""
    named: Places = {}
    header = table.header
    for tells, name in columns.items():
        if name not in header:
            others = f"the columns are {', '.join(header)[:300]}"
            problem = f"no column '{name}', which the study names for {tells}"
            raise table.wrong(-1, "", problem, meant(name, header, others))
        named[tells] = header.index(name)
    taken = set(named.values())
    places = {tells: at for tells, at in trace.places(header).items() if at not in taken} | named
    for other in TRACES:  # a column that a log of this kind does not have, under a name of another
        for tells, at in other.places(header).items():
            if tells in _OF_ANY and at not in places.values():
                places.setdefault(tells, at)
    if "gpus" not in places:
        problem = f"no column tells the GPUs of a job; the columns are {', '.join(header)[:300]}"
        remedy = f"name it in the study, columns: {{gpus: NAME}}, or {REMEDY}"
        raise table.wrong(-1, "", problem, remedy)
    return places
