"""Which column of a scheduler's log tells what, by its name or as a study says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dse.errors import StudyError
from dse.fleet.log_entry import plain
from dse.spelling import meant

# what a column tells -> its names, plainly; those of labels by rank
NAMES: Mapping[str, tuple[str, ...]] = {
    "workload": ("workload", "model", "modelname", "network", "application", "app", "comment",
                 "jobname", "name", "taskname", "job"),
    "job": ("jobid", "jobidraw", "id", "uid", "job"),
    "gpus": ("gpus", "ngpus", "numgpus", "numgpu", "gpunum", "gpucount", "gpu", "nvidiacomgpu",
             "allocgpus", "requestedgpus", "totalgpus"),
    "gpus_each": ("gpuspernode", "gpusperpod", "gpusperreplica", "gpusperworker", "gpuspertask"),
    "tres": ("alloctres", "tres", "reqtres", "allocgres", "reqgres"),
    "gpu_type": ("gputype", "gpumodel", "gpuproduct", "nvidiacomgpuproduct", "accelerator",
                 "acceleratortype"),
    "replicas": ("replicas", "pods", "workers", "numworkers", "instnum", "minavailable", "nnodes",
                 "nodes", "allocnodes", "numnodes"),
    "nodes": ("nnodes", "nodes", "allocnodes", "numnodes"),
    "batch_per_gpu": ("batchpergpu", "perdevicebatch", "perdevicetrainbatchsize", "localbatch",
                      "localbatchsize", "microbatch", "microbatchsize", "batch", "batchsize"),
    "global_batch": ("globalbatch", "globalbatchsize", "totalbatch", "totalbatchsize"),
    "gpu_hours": ("gpuhours",),
    "hours": ("hours", "runhours", "runtimehours", "elapsedhours", "durationhours", "runtimeh",
              "durationh"),
    "seconds": ("elapsedraw", "seconds", "elapsed", "elapseds", "elapsedseconds", "duration",
                "durations", "durationseconds", "runtime", "runtimes", "runtimeseconds"),
    "start": ("start", "starttime", "started", "startedat", "starttimestamp"),
    "end": ("end", "endtime", "finished", "finishtime", "completiontime", "completedat",
            "endtimestamp"),
    "status": ("status", "state", "jobstatus", "jobstate", "phase", "jobphase"),
    "class": ("class", "architecture"),
}  # fmt: skip
SIZES = ("gpus", "gpus_each", "tres")  # one of them must be there
# GPUs of each of these -> the columns that tell how many there are, before others of replicas
_EACH: Mapping[str, tuple[str, ...]] = {
    "gpuspernode": NAMES["nodes"],
    "gpuspertask": ("ntasks", "tasks", "numtasks"),
    "gpusperpod": ("pods", "numpods"),
    "gpusperworker": ("workers", "numworkers"),
}
Places = dict[str, list[int]]  # what columns tell -> where they stand, by rank


def places_of(header: Sequence[str], columns: Mapping[str, str], path: str, line: int) -> Places:
    """Where the columns stand that tell something. columns: those that the study names.

    Raises :class:`~dse.errors.StudyError` where one is not there, or none tells GPUs.
    """
    names = [plain(name) for name in header]
    places: Places = {}
    for tells, known in NAMES.items():
        found = [names.index(name) for name in known if name in names]
        if found:
            places[tells] = found if tells == "workload" else found[:1]
    for tells, name in columns.items():
        if name not in header:
            others = f"the columns are {', '.join(header)}"
            raise StudyError(
                path, line, 1, f"no column '{name}', which the study names for {tells}",
                meant(name, header, others),
            )  # fmt: skip
        places[tells] = [header.index(name)]
        for other in places:  # a column that was given a meaning has no other, but a job's name
            if other != tells and other not in columns and (tells, other) != ("job", "workload"):
                places[other] = [at for at in places[other] if at != places[tells][0]]
    if "job" in columns and not places.get("workload"):
        places["workload"] = places["job"]
    places = {tells: own for tells, own in places.items() if own}
    if not any(size in places for size in SIZES):
        problem = f"no column tells the GPUs of a job; the columns are {', '.join(header)}"
        remedy = "have a column gpus (sacct: AllocTRES), or name it: columns: {gpus: NAME}"
        raise StudyError(path, line, 1, problem, remedy)
    if "gpus_each" in places and "replicas" not in columns:
        own = _EACH.get(names[places["gpus_each"][0]], ())
        taken = {at for tells in columns for at in places.get(tells, ())}
        found = [names.index(name) for name in own if name in names]
        found = [at for at in found if at not in taken]
        if own is NAMES["nodes"]:
            found = places.get("nodes", found)
        if found:
            places["replicas"] = found[:1]
    return places


def of_all_gpus(places: Places) -> tuple[Places, int | None]:
    """The columns that are read, and which one of replicas is not, since the GPUs of a job are told
    for all of them; None for none."""
    if "gpus_each" in places or "replicas" not in places:
        return places, None
    read = {tells: own for tells, own in places.items() if tells != "replicas"}
    (at,) = places["replicas"]
    return read, None if [at] == places.get("nodes") or "gpus" not in places else at
