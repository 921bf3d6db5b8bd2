"""A point of a front as what starts it: a SkyPilot task, an sbatch script, a torchrun command.

Names and values as their documentation has them: NCCL_ALGO of NCCL (user guide, environment
variables), HOROVOD_FUSION_THRESHOLD (bytes) and HOROVOD_CYCLE_TIME (ms) of Horovod (tensor fusion),
coll_tuned_allreduce_algorithm of Open MPI (tuning collectives), bucket_cap_mb (MiB) and
communication hooks of PyTorch's DistributedDataParallel, accelerators of ``sky show-gpus -a``.

A layout is also told as the options of Megatron-LM (``megatron/training/arguments.py``), torchtitan
(``job_config.py``), DeepSpeed (its configuration JSON) and nanotron (``config.py``). What one of
them has no option for is said in the file. That user buffers have one length is from memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dse import catalog
from dse.calibration.throughput_part import aggregation_names
from dse.catalog.stacks import layout_stacks
from dse.errors import ArgumentError
from dse.model.aggregation.library_rules import AUTO, BY_NAME
from dse.model.step import PARAMETER_SERVER
from dse.report import words
from dse.report.design_point import Point
from dse.report.document import RunDocument
from dse.report.templating import filled
from dse.study.axes import ACCUMULATION, BATCH, GLOBAL_BATCH, MICRO_BATCH, OF_LAYOUT, REPLICA, ROWS
from dse.study.terms import SPOT
from dse.units import parse

FORMATS = ("skypilot", "slurm", "torchrun")  # of any point
OF_LAYOUTS = ("megatron", "torchtitan", "deepspeed", "nanotron")
PORT = 29500  # torch.distributed's own
ACCELERATORS = {
    "a10": "A10", "a100-pcie-80gb": "A100-80GB", "a100-sxm4-40gb": "A100",
    "a100-sxm4-80gb": "A100-80GB", "b200-sxm": "B200", "h100-pcie": "H100", "h100-sxm": "H100",
    "h200-sxm": "H200", "k80-die": "K80", "l40s": "L40S", "p100-sxm2-16gb": "P100", "t4": "T4",
    "v100-sxm2-16gb": "V100", "v100-sxm2-32gb": "V100-32GB",
}  # fmt: skip
CLOUDS = ("aws", "azure", "gcp")
MIB = 1024.0**2
_HOOKS = {"fp16": "fp16_compress_hook", "bf16": "bf16_compress_hook"}
_BACKENDS = {"nccl": "nccl", "nccl-tcp": "nccl", "gloo": "gloo", "mpi": "mpi", "mpi-gdr": "mpi"}
_NUMBERS = {"reduce-broadcast": "2", "recursive-doubling": "3", "ring": "4",
            "halving-doubling": "6"}  # fmt: skip
_BY_ITSELF = (AUTO, *BY_NAME)  # the library chooses
_MPICH = "auto-mpich"
HSDP = "hsdp"
# Of each axis the values that a format has a word for; an axis that is not here has all.
_WORDS: Mapping[str, Mapping[str, Mapping[str, str]]] = {
    "megatron": {
        "schedule": {"1f1b": "", "interleaved": ""},
        "context_exchange": {"ring": "p2p", "all-to-all": "a2a", "all-gather": "allgather"},
    },
    "torchtitan": {
        "schedule": {"gpipe": "GPipe", "1f1b": "1F1B", "interleaved": "Interleaved1F1B",
                     "zb-v": "ZBVZeroBubble"},
        "context_exchange": {"all-gather": "allgather", "all-to-all": "alltoall"},
        "zero": {"0": "", "2": "never", "3": "always", HSDP: "always"},
    },
    "deepspeed": {
        "schedule": {"1f1b": ""}, "context_exchange": {"all-to-all": ""},
        "recompute": {"none": "", "full": ""},
        "zero": {"0": "0", "1": "1", "2": "2", "3": "3", HSDP: "3"},
    },
    "nanotron": {
        "schedule": {"1f1b": "1f1b", "gpipe": "afab"}, "zero": {"0": "0", "1": "1"},
        "recompute": {"none": "false", "full": "true"}, "context_exchange": {"ring": ""},
    },
}  # fmt: skip


@dataclass(frozen=True)
class Start:
    """How the processes of a point are started, and what they are told.

    launcher: who starts them, ``none`` where nothing here does. backend: of what sums.
    environment: variables. untold: an algorithm that the library cannot be told; None where it
    must be that of MPICH.
    """

    launcher: str
    backend: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    untold: str | None = ""


def launch_file(document: RunDocument, point: Point, name: str, form: str) -> str:
    """What starts a point. name: what the answer calls it. form: of :data:`FORMATS`, or of
    :data:`OF_LAYOUTS`.

    Raises :class:`~dse.errors.ArgumentError` where a format is of layouts and the point is none.
    """
    layout = None
    if words.laid_out(point.config):
        layout = _layout_told(document, point, form)
    elif form in OF_LAYOUTS:
        problem = f"{form} is of transformers that are laid out, and this point is none"
        raise ArgumentError("--format", problem, f"use {', '.join(FORMATS)}")
    nodes = max(1, point.nodes)
    aggregation, node = words.label(point, "aggregation"), words.label(point, "node")
    device = point.config.get("accelerator") or catalog.node(node).accelerator
    cloud, _, instance = node.partition("-")
    start = _start(point, aggregation)
    told = {row.variable: said for row in ROWS
            if row.variable and (said := words.label(point, row.name))}  # fmt: skip
    known = aggregation_names().get(aggregation)
    if layout is not None:  # for a script of one's own
        told |= {axis.upper(): value for axis, value in layout["value"].items()}
        told |= {"DATA_PARALLEL": str(layout["replicas"]), "MICRO_BATCHES": str(layout["passes"])}
    kind = "t5" if document.study.sides else "gpt"
    script = f"pretrain_{kind}.py" if form == "megatron" else "train.py"
    began_s = point.run and point.run.start_up_s
    return filled(f"launch/{form}.j2", {"d": {
        "study": document.study.name,
        "name": name,
        "described": words.describe(point, identified=True),
        "step": words.duration(point.step_s),
        "rate": words.shown(point.throughput_samples_per_s, "samples/s"),
        "global_batch": words.count(point.global_batch),
        "version": document.versions.get("dse", ""),
        "created": document.created,
        "spot": SPOT in (document.study.rental, words.label(point, "rental")),
        "layout": layout,
        "script": f'"${{TRAIN_SCRIPT:-{script}}}"',
        "port": PORT,
        "nodes": nodes,
        "per_node": -(-point.gpus // nodes),
        "aggregation": aggregation,
        "transport": known.transport if known else "",
        **vars(start),
        "environment": {**told, **start.environment},
        "overlap": words.label(point, "overlap"),
        "network": _network(point, node),
        "stack": words.label(point, words.STACK),
        "device": device,
        "skypilot_name": ACCELERATORS.get(device, ""),
        "cloud": cloud if cloud in CLOUDS else "",
        "instance": instance,
        "time_limit": _time_limit(point),
        "start_up": words.duration(began_s) if began_s else "",
    }})  # fmt: skip


def _start(point: Point, aggregation: str) -> Start:
    """How gradients are summed, and who starts that."""
    if not aggregation:
        return Start("torchrun", "nccl", _ddp(point))
    name = aggregation_names().get(aggregation)
    if name is not None and name.approach:
        return _horovod(point, name.approach)
    if name is None or name.algorithm == PARAMETER_SERVER or name.transport not in _BACKENDS:
        return Start("none")
    algorithm, backend = name.algorithm, _BACKENDS[name.transport]
    told: dict[str, str] = {}
    if backend == "nccl" and algorithm in ("ring", "tree"):
        told = {"NCCL_ALGO": algorithm.capitalize()}
    elif backend == "mpi" and algorithm in _NUMBERS:
        told = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
                "OMPI_MCA_coll_tuned_allreduce_algorithm": _NUMBERS[algorithm]}  # fmt: skip
    untold = "" if told or algorithm in _BY_ITSELF else algorithm
    if name.transport == "nccl-tcp":
        told["NCCL_NET"] = "Socket"
    return Start(
        "mpirun" if backend == "mpi" else "torchrun", backend, {**told, **_ddp(point)},
        None if backend == "mpi" and algorithm == _MPICH else untold,
    )  # fmt: skip


def _horovod(point: Point, approach: str) -> Start:
    facts = catalog.approach(approach)
    if not facts.fuses:
        return Start("none")
    buffer, cycle = (words.label(point, axis) for axis in ("fusion_buffer", "fusion_cycle"))
    size = parse(buffer, "bytes") if buffer else facts.buffer_bytes or 0.0
    cycle_s = parse(cycle, "seconds") if cycle else facts.cycle_s
    environment = {"HOROVOD_FUSION_THRESHOLD": f"{size:.0f}",
                   "HOROVOD_CYCLE_TIME": f"{cycle_s * 1e3:g}"}  # fmt: skip
    if facts.algorithm != catalog.BEST:
        return Start("horovodrun", "", environment)
    return Start("horovodrun", "mpi", {**environment, "HOROVOD_CONTROLLER": "mpi"})


def _ddp(point: Point) -> dict[str, str]:
    """What the training script must give to DistributedDataParallel."""
    found = {}
    if label := words.label(point, "bucket"):
        found["DDP_BUCKET_CAP_MB"] = f"{parse(label, 'bytes') / MIB:g}"
    if hook := _HOOKS.get(words.label(point, "gradient")):
        found["DDP_COMM_HOOK"] = hook
    return found


def _network(point: Point, node: str) -> str:
    """The cards between nodes that a point was priced with."""
    cards, link = words.label(point, "nics_per_node"), words.label(point, "inter_node")
    many = f"{cards} network card{'s' * (cards != '1')} per node" if cards else "the cards"
    return f"{many} {f'on {link}' if link else f'of {node}'}"


def _time_limit(point: Point) -> str:
    """Days-hours:minutes:seconds until the target, by the upper end of its interval; empty where
    the study has no target."""
    bounds = point.bounds("time_to_target")
    seconds = bounds[1] if bounds else point.quantity("time_to_target")
    if seconds is None or not math.isfinite(seconds):
        return ""
    hours, minutes = divmod(math.ceil(seconds / 60), 60)
    return f"{hours // 24}-{hours % 24:02}:{minutes:02}:00"


def _layout_told(document: RunDocument, point: Point, form: str) -> dict[str, Any]:
    """A layout for one of :data:`OF_LAYOUTS`, or for a script that reads its environment.

    value: of every axis of a layout; word: of an axis in the format's own word. inside: ranks that
    share sharded states; across: their copies. hidden: exchanges that the price hides, of weights
    only beside those of gradients, as Megatron-LM has it. lacks: what the format has no word for.
    """
    value = dict.fromkeys(REPLICA, "1") | {"recompute": "none"}
    value |= {axis: label for axis in OF_LAYOUT if (label := words.label(point, axis))}
    value |= {MICRO_BATCH: point.config[BATCH]}
    degrees = {axis: int(value[axis]) for axis in ("tensor_parallel", "context_parallel")}
    replicas, zero = words.replicas(point), value.get("zero", "0")
    # Sequences of their own length, of which a study counts those of the workload's.
    value[GLOBAL_BATCH] = str(int(point.config[ACCUMULATION]) * int(value[MICRO_BATCH]) * replicas)
    stack = layout_stacks()[point.config[words.STACK]]
    split = value.get("sequence_parallel", str(stack.sequence_parallel).lower()) == "true"
    split = split and degrees["tensor_parallel"] > 1
    summed = stack.hides_gradients and replicas * degrees["context_parallel"] > 1
    inside = {"0": 1, "1": 1}.get(zero, replicas)
    if zero == HSDP:
        beside = -(-point.gpus // point.nodes) // math.prod(degrees.values())
        inside = math.gcd(replicas, max(1, beside))
    known = _WORDS.get(form, {})
    found = {axis: known[axis].get(label) for axis, label in value.items() if axis in known}
    lacks = [words.phrase(axis, value[axis]) for axis, word in found.items() if word is None]
    lacks += ["encoder-decoders"] if document.study.sides and form != "megatron" else []
    return {
        "value": value,
        "word": {axis: word for axis, word in found.items() if word},
        "replicas": replicas,
        "passes": int(point.config[ACCUMULATION]),
        "sequence": int(value.get("sequence") or document.study.tokens_per_sample or 0),
        "precision": words.label(point, "precision"),
        "split": split,
        "hidden": {"tensor": split and stack.hides_tensor > 0, "gradients": summed,
                   "weights": summed and stack.hides_weights},
        "layers": sum(stage.layers for stage in document.layout.stages) if document.layout else 0,
        "inside": inside,
        "across": replicas // inside,
        "sides": document.study.sides,
        "lacks": lacks,
    }  # fmt: skip
