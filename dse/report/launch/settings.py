"""What software must be told so that it runs a point as it was priced.

Names and values as their documentation has them: NCCL_ALGO of NCCL (user guide, environment
variables), HOROVOD_FUSION_THRESHOLD (bytes) and HOROVOD_CYCLE_TIME (ms) of Horovod (tensor fusion),
coll_tuned_allreduce_algorithm of Open MPI (tuning collectives), bucket_cap_mb (MiB) and
communication hooks of PyTorch's DistributedDataParallel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from dse import catalog
from dse.calibration.throughput_part import aggregation_names
from dse.model.aggregation.library_rules import AUTO, BY_NAME
from dse.model.step import PARAMETER_SERVER
from dse.report import words
from dse.report.design_point import Point
from dse.units import parse

MIB = 1024.0**2
_HOOKS = {"fp16": "fp16_compress_hook", "bf16": "bf16_compress_hook"}
_TOLD = (  # axis, variable: what the training script reads
    ("batch_per_gpu", "BATCH_PER_GPU"),
    ("accumulation", "ACCUMULATION_STEPS"),
    ("precision", "PRECISION"),
    ("optimizer", "OPTIMIZER"),
)


class Launcher(Enum):
    """Who starts the processes of a point."""

    TORCHRUN = "torchrun"
    MPIRUN = "mpirun"
    HOROVODRUN = "horovodrun"
    NONE = "none"  # nothing here starts it


@dataclass(frozen=True)
class Settings:
    """A point's processes and their environment.

    backend: of torch.distributed. flags: of the launcher. notes: what no setting says.
    """

    launcher: Launcher
    nodes: int
    gpus_per_node: int
    environment: Mapping[str, str]
    notes: tuple[str, ...]
    backend: str = "nccl"
    flags: tuple[str, ...] = ()

    @property
    def processes(self) -> int:
        """One for each accelerator."""
        return self.nodes * self.gpus_per_node


def settings(point: Point) -> Settings:
    """What a point needs."""
    nodes = max(1, point.nodes)
    per_node = -(-point.gpus // nodes)
    told = {name: words.label(point, axis) for axis, name in _TOLD if words.label(point, axis)}
    aggregation = words.label(point, "aggregation")
    launcher, backend, flags, environment, notes = _summed(point, aggregation)
    if launcher is Launcher.TORCHRUN or launcher is Launcher.MPIRUN:
        more, said = _ddp(point)
        environment, notes = {**environment, **more}, (*notes, *said)
    return Settings(
        launcher, nodes, per_node, {**told, **environment}, (*notes, *_network(point, backend)),
        backend, flags,
    )  # fmt: skip


_Parts = tuple[Launcher, str, tuple[str, ...], dict[str, str], tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class _Library:
    """How processes that sum over a transport are started, and how they are told the algorithm.

    algorithms: the variables that choose each. untold: the note on any other, whose name takes the
    place of {}. automatic: those that leave the choice to the library, each with its note, or
    none. environment, notes: of all points.
    """

    launcher: Launcher = Launcher.TORCHRUN
    backend: str
    algorithms: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    untold: str
    automatic: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def told(self, algorithm: str) -> _Parts:
        """The parts of a point that is summed by an algorithm."""
        variables = self.algorithms.get(algorithm)
        note = self.automatic.get(algorithm, self.untold.format(algorithm))
        said = (note,) if note and variables is None else ()
        return (
            self.launcher, self.backend, (), {**(variables or {}), **self.environment},
            (*self.notes, *said),
        )  # fmt: skip


_NCCL = _Library(
    backend="nccl",
    algorithms={"ring": {"NCCL_ALGO": "Ring"}, "tree": {"NCCL_ALGO": "Tree"}},
    untold="NCCL_ALGO has no value for {}: NCCL chooses by itself, and may be slower or faster "
    "than this point was priced.",
    automatic=dict.fromkeys((AUTO, *BY_NAME), ""),
)
_MPI = _Library(
    launcher=Launcher.MPIRUN,
    backend="mpi",
    algorithms={
        algorithm: {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
                    "OMPI_MCA_coll_tuned_allreduce_algorithm": number}
        for algorithm, number in (("reduce-broadcast", "2"), ("recursive-doubling", "3"),
                                  ("ring", "4"), ("halving-doubling", "6"))
    },
    untold="Open MPI has no number for {}; the library chooses by itself.",
    automatic={
        **dict.fromkeys((AUTO, *BY_NAME), ""),
        "auto-mpich": "This point was priced with MPICH's rules; start it with MPICH's mpirun.",
    },
    notes=("torch.distributed needs a build of PyTorch with MPI for this backend.",),
)  # fmt: skip
_LIBRARIES: Mapping[str, _Library] = {  # by transport; others have no counterpart
    "nccl": _NCCL,
    "nccl-tcp": replace(_NCCL, environment={"NCCL_NET": "Socket"}),
    "gloo": _Library(
        backend="gloo",
        untold="PyTorch cannot choose Gloo's algorithm; this point was priced with {}.",
        automatic={AUTO: ""},
    ),
    "mpi": _MPI,
    "mpi-gdr": replace(_MPI, notes=(
        *_MPI.notes,
        "MPI must be CUDA-aware (ompi_info --parsable --all | grep mpi_built_with).",
    )),
}  # fmt: skip


def _summed(point: Point, aggregation: str) -> _Parts:
    """How gradients are summed: launcher, backend, flags, environment, notes."""
    if not aggregation:
        return Launcher.TORCHRUN, "nccl", (), {}, ("One accelerator sums nothing.",)
    name = aggregation_names().get(aggregation)
    if name is None:  # of another version's catalogue
        return Launcher.NONE, "", (), {}, (_no_counterpart(aggregation, "such sums"),)
    if name.approach:
        return _approach(point, name.approach)
    if name.algorithm == PARAMETER_SERVER:
        return Launcher.NONE, "", (), {}, (_no_counterpart(name, "parameter servers"),)
    if name.transport not in _LIBRARIES:
        return Launcher.NONE, "", (), {}, (_no_counterpart(name, f"{name.transport} sums"),)
    return _LIBRARIES[name.transport].told(name.algorithm)


def _no_counterpart(aggregation: str, what: str) -> str:
    return (
        f"{aggregation} has no counterpart here: torchrun starts no {what}. Use the launcher of "
        "the framework that has them (for TensorFlow, ParameterServerStrategy with TF_CONFIG), on "
        "the nodes below."
    )


def _approach(point: Point, name: str) -> _Parts:
    facts = catalog.approach(name)
    if not facts.fuses:
        return Launcher.NONE, "", (), {}, (_no_counterpart(name, "such exchanges"),)
    buffer_label, cycle_label = (words.label(point, axis) for axis in
                                 ("fusion_buffer", "fusion_cycle"))  # fmt: skip
    buffer = parse(buffer_label, "bytes") if buffer_label else facts.buffer_bytes or 0.0
    cycle_s = parse(cycle_label, "seconds") if cycle_label else facts.cycle_s
    environment = {"HOROVOD_FUSION_THRESHOLD": f"{buffer:.0f}",
                   "HOROVOD_CYCLE_TIME": f"{cycle_s * 1e3:g}"}  # fmt: skip
    over_mpi = facts.algorithm == catalog.BEST  # as an MPI library chooses
    notes = ["Build Horovod with HOROVOD_GPU_OPERATIONS=NCCL."]
    if over_mpi:
        environment["HOROVOD_CONTROLLER"] = "mpi"
        notes = ["Build Horovod with HOROVOD_GPU_OPERATIONS=MPI over a CUDA-aware MPI."]
    return (
        Launcher.HOROVODRUN, "", ("--mpi",) if over_mpi else (), environment, tuple(notes),
    )  # fmt: skip


def _ddp(point: Point) -> tuple[dict[str, str], tuple[str, ...]]:
    """What DistributedDataParallel must be given; the training script reads it."""
    environment, notes = {}, []
    if words.label(point, "accumulation") not in ("", "1"):
        notes.append(
            "Accumulation: the script must run all but the last of the ACCUMULATION_STEPS passes "
            "inside DistributedDataParallel's no_sync(); else gradients are summed in every pass, "
            "which is slower than this point was priced."
        )
    if label := words.label(point, "bucket"):
        environment["DDP_BUCKET_CAP_MB"] = f"{parse(label, 'bytes') / MIB:g}"
        notes.append(
            "The script must give DDP_BUCKET_CAP_MB to DistributedDataParallel(bucket_cap_mb=...)."
        )
    if hook := _HOOKS.get(words.label(point, "gradient")):
        environment["DDP_COMM_HOOK"] = hook
        notes.append(
            f"Gradients are summed in 16 bits: register torch's default_hooks.{hook} with "
            "register_comm_hook."
        )
    if words.label(point, "overlap") == "none":
        notes.append(
            "This point was priced without overlap; DistributedDataParallel overlaps, which is at "
            "least as fast."
        )
    return environment, tuple(notes)


def _network(point: Point, backend: str) -> Iterator[str]:
    """What to know of the network and of what cannot be set."""
    if point.nodes > 1 and backend == "nccl":
        cards, link = words.label(point, "nics_per_node"), words.label(point, "inter_node")
        many = f"{cards} network card{'s' * (cards != '1')} per node" if cards else "the cards"
        where = f"on {link}" if link else f"of {words.label(point, 'node')}"
        yield (
            f"Priced with {many} {where}; NCCL_IB_HCA or NCCL_SOCKET_IFNAME restrict NCCL to some."
        )
    stack = words.label(point, words.STACK)
    if stack:
        yield f"Priced with software of the class '{stack}' (docs/study.md, axis stack)."
