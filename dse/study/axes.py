"""The axes a study may have, one row each: values, order, what it changes, how people speak of it.

What the rest of the package says of axes follows from these rows: a new axis is a new row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["catalogue", "number", "choice", "link", "aggregation"]
Part: TypeAlias = Literal["compute", "memory", "communication", "money"]


@dataclass(frozen=True)
class NumberKind:
    """What a number may be: its dimension, limits (SI), whether it is whole, or may be 0.

    example: what is usual, where that of ``units.DIMENSIONS`` is not.
    """

    dimension: str
    high: float
    low: float = 0.0
    whole: bool = False
    example: str = ""
    zero: bool = False


@dataclass(frozen=True, kw_only=True)
class AxisRow:
    """One axis. ``default`` as it would be written; None: without the axis there is no value.

    ``kind`` catalogue: ``choices`` is the kind of catalogue entry; choice: the words themselves.
    absent: what it is without the axis, where that is not the default alone. required: every point
    has a value, and no condition may decide whether it does. looped: it changes the code path of
    the model, so that each value has a grid of its own. grid: its place when points are numbered,
    the looped axes first. Data axes begin with what decides the compute time, then the network's:
    each term of the model then varies along neighbouring axes, and arrays are added in long runs.
    effort: its place when a person would change a cluster, what costs no purchase first. changes:
    the costs of one pass and one exchange that depend on it; money: it is hardware that is bought
    or rented. idle: what is said of an aggregation to which the axis means nothing.

    phrase: a value as people say it; '' where only tables show it. said: the phrases of single
    values. usual: the value that goes without saying. meaning: its entry in the glossary, if any.
    variable: where a training script finds its value, if anywhere. called: what people may
    call it by mistake. layout: it lays a transformer out over accelerators. divisors: ``auto`` may
    stand for every divisor of the accelerators.
    """

    name: str
    kind: Kind
    doc: str
    example: str
    grid: int
    effort: int
    default: str | int | None = None
    absent: str = ""
    required: bool = False
    number: NumberKind | None = None
    choices: tuple[str, ...] = ()
    continuous: bool = False
    looped: bool = False
    changes: frozenset[Part] = frozenset()
    idle: str = ""
    phrase: str = ""
    said: Mapping[str, str] = field(default_factory=dict)
    usual: str = ""
    meaning: str = ""
    variable: str = ""
    called: str = ""
    layout: bool = False
    divisors: bool = False

    @property
    def names(self) -> str:
        """The kind of names that its values are, of which there are aliases; '' of numbers."""
        if self.kind == "catalogue":
            return self.choices[0]
        own = {"choice": self.name, "aggregation": "aggregations", "link": "fabrics"}
        return own.get(self.kind, "")

    @property
    def without(self) -> str:
        """The value of a study that lacks the axis, in words; '' where there is none."""
        default = "" if self.default is None else str(self.default)
        return self.absent or default or "required" * self.required


def _count(high: int) -> NumberKind:
    return NumberKind("count", high, 1, whole=True)


def _changes(*parts: Part) -> frozenset[Part]:
    return frozenset(parts)


# Stacks under which every accelerator has the whole model, and those that lay it out.
WHOLE_STACKS = ("plain", "vendor", "tuned")
LAYOUT_STACKS = (
    "megatron", "megatron-2022", "megatron-deepspeed", "deepspeed", "fsdp2", "nanotron",
)  # fmt: skip
AUTO = "auto"
BATCH, MICRO_BATCH = "batch_per_gpu", "micro_batch"  # one axis under two names
GLOBAL_BATCH, ACCUMULATION = "global_batch", "accumulation"
BANDWIDTH = NumberKind("bytes_per_s", 1e15)
OPTIMIZER = "optimizer"
NODE = "node"  # of which a value may be the path of a file: what a vendor offers
RENTAL = "rental"  # beside space it is the terms of renting, and no axis of one value
GRADIENT, AUTO_FORMAT = "gradient", "auto"

# In the order in which pages and phrases name them.
ROWS: tuple[AxisRow, ...] = (
    AxisRow(
        name="accelerator", kind="catalogue", choices=("accelerators",),
        example="[v100-sxm2-16gb, h100-sxm]",
        doc="GPUs and other chips", absent="required, unless node", required=True,
        grid=110, effort=190, changes=_changes("compute", "memory", "communication", "money"),
        meaning="A processor made for training, such as an NVIDIA A100.",
        called="gpu gpu_type device devices",
    ),
    AxisRow(
        name=NODE, kind="catalogue", choices=("nodes",), example="[dgx-a100-80gb]",
        doc="complete machines, instead of accelerator; a vendor's offer is a file",
        absent="required, unless accelerator", required=True,
        grid=100, effort=200, changes=_changes("compute", "memory", "communication", "money"),
        meaning="One server with its accelerators.",
        called="nodes",
    ),
    AxisRow(
        name="gpus", kind="number", number=_count(10**7),
        example="{from: 1, to: 1024, scale: doubling}",
        doc="accelerators that train", required=True,
        grid=240, effort=210, changes=_changes("memory", "communication", "money"),
        called="gpu_count num_gpus n_gpus devices nodes world_size ranks workers",
    ),
    AxisRow(
        name="gpus_per_node", kind="number", number=_count(1024), example="[1, 4, 8]",
        doc="accelerators of one node", default=1, absent="1, or the node's own",
        grid=210, effort=180, changes=_changes("communication", "money"),
        phrase="{} per node",
    ),
    AxisRow(
        name="inter_node", kind="link", continuous=True,
        example="{bandwidth: [10 Gbps, 25 Gbps], latency: 5 us}",
        doc="link between nodes", absent="that of the node, or none where all fit one node",
        grid=230, effort=160, changes=_changes("communication", "money"),
        phrase="on {}",
        called="network net fabric interconnect link links bandwidth",
    ),
    AxisRow(
        name="intra_node", kind="link", example="[pcie3-x16, nvlink3]",
        doc="link inside a node", absent="that of the machine",
        grid=200, effort=170, changes=_changes("communication", "money"),
        called="nvlink",
    ),
    AxisRow(
        name="oversubscription", kind="number", number=NumberKind("count", 64, 1, example="2"),
        example="[1, 2, 4]",
        doc="network cards of a leaf switch over its links up: n means n to 1, a network between "
        "leaves that is n times smaller", absent="1",
        grid=220, effort=140, changes=_changes("communication", "money"),
        phrase="oversubscribed {} to 1", usual="1",
        meaning="How much more bandwidth the nodes have than the network behind them.",
    ),
    AxisRow(
        name="nics_per_node", kind="number", number=_count(64), example="[1, 8]",
        doc="network cards of one node", default=1, absent="1, or the node's own",
        grid=190, effort=150, changes=_changes("communication", "money"),
        phrase="with {} network cards per node", said={"1": "with one network card per node"},
        usual="1",
    ),
    AxisRow(
        name=RENTAL, kind="choice", choices=("on-demand", "1-year", "3-year", "spot"),
        example="[on-demand, spot]",
        doc="the term that machines are rented on; what the terms are stands in `rental` beside "
        "`space`", absent="that of rental, or on-demand",
        grid=250, effort=135, changes=_changes("money"),
        phrase="rented {}", usual="on-demand",
        said={"on-demand": "rented on demand", "1-year": "rented for one year",
              "3-year": "rented for three years", "spot": "rented on the spot market"},
        called="term",
    ),
    AxisRow(
        name="aggregation", kind="aggregation",
        example="[ring-mpi, tree-nccl, ps-grpc, horovod-mpi]",
        doc="how gradients are summed, and over what: algorithm and transport, or an approach",
        required=True,
        grid=40, effort=20, looped=True, changes=_changes("communication"),
        phrase="{}",
        meaning="How the accelerators add up what each of them has learned in a step.",
        called="algorithm allreduce collective transport library",
    ),
    AxisRow(
        name="batch_per_gpu", kind="number", number=_count(10**7), example="[32, 64, 128]",
        doc="samples of one pass on one accelerator", required=True,
        grid=130, effort=120, changes=_changes("compute", "memory"),
        phrase="batch {} per GPU", variable="BATCH_PER_GPU",
        meaning="How many samples one accelerator works on in a step.",
        called="batch batch_size microbatch",
    ),
    AxisRow(
        name="accumulation", kind="number", number=_count(10**6), example="[1, 4, 16]",
        doc="passes whose gradients are added up before all accelerators sum them", default=1,
        grid=140, effort=130,
        phrase="{} passes a step", usual="1", variable="ACCUMULATION_STEPS",
        called="gradient_accumulation",
    ),
    AxisRow(
        name="precision", kind="choice", choices=("fp32", "tf32", "fp16", "bf16", "fp8"),
        example="[fp32, tf32]",
        doc="number format of the bulk of the work", default="fp32",
        grid=10, effort=90, looped=True, changes=_changes("compute", "memory", "communication"),
        phrase="{}", variable="PRECISION",
        called="dtype format",
    ),
    AxisRow(
        name=GRADIENT, kind="choice", choices=("fp32", "fp16", "bf16", AUTO_FORMAT),
        example="[fp32, fp16]",
        doc="number format in which gradients are summed over all accelerators; auto: in 16 bits "
        "under stack tuned with a precision of 16 bits, else fp32", default=AUTO_FORMAT,
        grid=20, effort=80, looped=True, changes=_changes("memory", "communication"),
        phrase="gradients in {}", usual="fp32",
    ),
    AxisRow(
        name="stack", kind="choice", choices=(*WHOLE_STACKS, *LAYOUT_STACKS),
        example="[plain, vendor]",
        doc="training software: ordinary code, the vendor's container and examples, or code as "
        "tuned as submissions to MLPerf; others lay transformers out", default="vendor",
        absent="vendor; of layouts megatron",
        grid=30, effort=100, looped=True, changes=_changes("compute", "memory", "communication"),
        phrase="{} software", usual="vendor",
        said={"plain": "plain software", "vendor": "the vendor's software",
              "tuned": "tuned software (MLPerf class)"},
        called="framework software",
    ),
    AxisRow(
        name=OPTIMIZER, kind="choice", choices=("sgd", "momentum", "adam"),
        example="[sgd, momentum]",
        doc="what it keeps per parameter", default="momentum",
        absent="what is usual for the network, such as adam for transformers, or momentum",
        grid=120, effort=110, changes=_changes("compute", "memory"),
        variable="OPTIMIZER",
        meaning="The part of a step that changes the parameters.",
    ),
    AxisRow(
        name="bucket", kind="number", number=NumberKind("bytes", 1e15, 1.0), continuous=True,
        example="[1 MiB, 25 MiB]",
        doc="gradients are fused into messages of this size", default="25 MiB",
        grid=50, effort=70, looped=True, changes=_changes("communication"),
        idle="sends messages of its own, no buckets",
        meaning="Gradients that are sent together as one message.",
        called="bucket_size",
    ),
    AxisRow(
        name="fusion_buffer", kind="number", number=NumberKind("bytes", 1e15, 1.0),
        example="[2 MiB, 64 MiB]",
        doc="what an approach that fuses tensors puts in one message",
        absent="the approach's own",
        grid=170, effort=50, changes=_changes("communication"), idle="fuses no tensors",
    ),
    AxisRow(
        name="fusion_cycle", kind="number", number=NumberKind("seconds", 1e3, example="5 ms"),
        example="[1 ms, 5 ms]",
        doc="least time from one look for tensors to fuse to the next",
        absent="the approach's own",
        grid=180, effort=60, changes=_changes("communication"), idle="fuses no tensors",
    ),
    AxisRow(
        name="overlap", kind="choice", choices=("none", "bucketed", "ideal"),
        example="[none, bucketed]",
        doc="what runs beside the backward pass: communication, or all (model pai)",
        default="bucketed", absent="bucketed; in model pai none",
        grid=60, effort=10, looped=True, changes=_changes("communication"),
    ),
    AxisRow(
        name="ps_servers", kind="number", number=_count(10**6), example="[1, 2, 4]",
        doc="parameter servers", default=1,
        grid=160, effort=30, changes=_changes("communication"),
    ),
    AxisRow(
        name="ps_placement", kind="choice", choices=("dedicated", "colocated"),
        example="[dedicated, colocated]",
        doc="servers on machines of their own, or on the workers", default="dedicated",
        grid=150, effort=40, changes=_changes("communication"),
    ),
    AxisRow(
        name="tensor_parallel", kind="number", number=_count(10**4), layout=True, divisors=True,
        example="[1, 2, 4, 8]",
        doc="accelerators that share every product (TP)", absent="1",
        grid=300, effort=125, changes=_changes("compute", "memory", "communication"),
        phrase="TP {}", called="tp tensor_model_parallel_size",
    ),
    AxisRow(
        name="pipeline_parallel", kind="number", number=_count(10**4), layout=True, divisors=True,
        example="[1, 2, 4, 8]",
        doc="stages that the layers are dealt out to (PP)", absent="1",
        grid=301, effort=126, changes=_changes("compute", "memory", "communication"),
        phrase="PP {}", called="pp pipeline_model_parallel_size",
    ),
    AxisRow(
        name="context_parallel", kind="number", number=_count(10**4), layout=True, divisors=True,
        example="[1, 2]",
        doc="accelerators that share every sequence (CP)", absent="1",
        grid=302, effort=127, changes=_changes("compute", "memory", "communication"),
        phrase="CP {}", usual="1", called="cp context_parallel_size",
    ),
    AxisRow(
        name="expert_parallel", kind="number", number=_count(10**4), layout=True, divisors=True,
        example="[1, 8]",
        doc="accelerators that share the experts (EP)", absent="1",
        grid=303, effort=128, changes=_changes("compute", "memory", "communication"),
        phrase="EP {}", usual="1", called="ep expert_model_parallel_size",
    ),
    AxisRow(
        name="expert_tensor_parallel", kind="number", number=_count(10**4), layout=True,
        divisors=True, example="[1, 2]",
        doc="accelerators that share each expert", absent="1",
        grid=304, effort=129, changes=_changes("compute", "memory", "communication"),
        phrase="expert TP {}", usual="1", called="etp expert_tensor_parallel_size",
    ),
    AxisRow(
        name="zero", kind="choice", choices=("0", "1", "2", "3", "hsdp"), layout=True,
        example="[0, 1, 3]",
        doc="what data ranks share of the states: nothing, the optimizer's, gradients too, weights "
        "too; hsdp: all of it inside a node", absent="that of the stack",
        grid=305, effort=122, changes=_changes("memory", "communication"),
        phrase="ZeRO-{}", said={"hsdp": "HSDP"}, usual="0", called="fsdp sharding zero_stage",
    ),
    AxisRow(
        name="virtual_stages", kind="number", number=_count(1000), layout=True,
        example="[1, 2]",
        doc="parts of the layers of a pipeline's stage that take turns", absent="1",
        grid=306, effort=123, changes=_changes("communication"),
        phrase="{} virtual stages", usual="1", called="vp virtual_pipeline",
    ),
    AxisRow(
        name="schedule", kind="choice", layout=True,
        choices=("gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v"),
        example="[1f1b, interleaved]",
        doc="the order in which a pipeline's stages take micro-batches",
        absent="that of the stack",
        grid=307, effort=124, changes=_changes("memory", "communication"),
        phrase="{}", usual="1f1b", called="pipeline_schedule",
    ),
    AxisRow(
        name="context_exchange", kind="choice", layout=True,
        choices=("ring", "all-to-all", "all-gather"), example="[ring, all-to-all]",
        doc="how ranks that share a sequence come by one another's keys and values", absent="ring",
        grid=308, effort=131, changes=_changes("communication"),
        phrase="{} of contexts", usual="ring", called="cp_comm_type",
    ),
    AxisRow(
        name="recompute", kind="choice", choices=("none", "selective", "full"), layout=True,
        example="[none, selective, full]",
        doc="activations that the backward pass computes again", absent="none",
        grid=309, effort=121, changes=_changes("compute", "memory"),
        phrase="{} recomputation", usual="none",
        called="recomputation activation_checkpointing checkpointing",
    ),
    AxisRow(
        name="global_batch", kind="number", number=_count(10**8), layout=True,
        example="[1024, 2048]",
        doc="sequences of a step; accumulation and the data ranks follow",
        absent="from accumulation",
        grid=310, effort=132, phrase="global batch {}", called="global_batch_size gbs",
    ),
    AxisRow(
        name="sequence", kind="number", number=_count(10**8), layout=True, looped=True,
        example="[8192, 32768]",
        doc="tokens of a sequence, for the same tokens of a step", absent="that of the workload",
        grid=35, effort=133, changes=_changes("compute", "memory", "communication"),
        phrase="sequences of {}", called="seq_length sequence_length context_length",
    ),
    AxisRow(
        name="sequence_parallel", kind="choice", choices=("true", "false"), layout=True,
        looped=True, example="true",
        doc="tensor ranks share the tokens between products", absent="as usual of the stack",
        grid=36, effort=134, changes=_changes("memory", "communication"),
        phrase="sequence parallelism {}", usual="true",
    ),
)  # fmt: skip
AXES: dict[str, AxisRow] = {row.name: row for row in ROWS}

# As they are numbered.
_NUMBERED = sorted(ROWS, key=lambda row: row.grid)
LOOPED = tuple(row.name for row in _NUMBERED if row.looped)
DATA = tuple(row.name for row in _NUMBERED if not row.looped)
# In the order in which a person would change a cluster: what costs no purchase first.
_CHANGED = sorted(ROWS, key=lambda row: row.effort)
SOFTWARE = tuple(row.name for row in _CHANGED if "money" not in row.changes)
HARDWARE = tuple(row.name for row in _CHANGED if "money" in row.changes)
# By what their values are.
MACHINES = tuple(row.name for row in ROWS if row.kind == "catalogue")
LINKS = tuple(row.name for row in ROWS if row.kind == "link")
REQUIRED = tuple(row.name for row in ROWS if row.required)
OF_LAYOUT = tuple(row.name for row in ROWS if row.layout)
REPLICA = ("tensor_parallel", "pipeline_parallel", "context_parallel")  # degrees of a replica
# Axes whose values come together, one row a layout: those that follow from no grid.
LAYOUT = "layout"
TABLED = (*(name for name in DATA if AXES[name].layout), BATCH, ACCUMULATION)

PAI = "pai"
# model -> what its steps may overlap; the first when absent
OVERLAPS = {"calibrated": ("bucketed", "none"), PAI: ("none", "ideal")}


def axis_called(name: str) -> str:
    """The name of an axis that has two."""
    return BATCH if name == MICRO_BATCH else name


def lays_out(axes: Iterable[str], stacks: Iterable[object]) -> bool:
    """Whether a study of these axes and stacks lays its transformer out."""
    own = any(name in AXES and AXES[name].layout for name in axes)
    return own or any(stack in LAYOUT_STACKS for stack in stacks)


def overlap_refused(model: str, value: object) -> tuple[str, str] | None:
    """What is wrong with a value of the axis overlap and what would be right; None if nothing.

    Words that no model knows are refused where the axis is read.
    """
    known = OVERLAPS[model]
    if value in known or value not in AXES["overlap"].choices:
        return None
    return f"overlap: model {model} has no '{value}'", f"use {' or '.join(known)}"


def spoken(axis: str) -> str:
    """The name of an axis in words: ``batch per GPU``."""
    short = {"gpu": "GPU", "gpus": "GPUs", "nics": "NICs", "ps": "PS"}
    return " ".join(short.get(word, word) for word in axis.split("_"))


def axes_table() -> str:
    """The axes as a table in Markdown: meaning, values, and what a study without it has."""
    lines = ["| axis | meaning | values | when absent |", "|---|---|---|---|"]
    for row in ROWS:
        words = ", ".join(f"`{word}`" for word in row.choices)
        values = words if row.kind == "choice" else f"such as `{row.example}`"
        lines.append(f"| `{row.name}` | {row.doc} | {values} | {row.without} |")
    return "\n".join(lines)
