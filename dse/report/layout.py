"""How a transformer is laid out: which ranks exchange what over which link, and what each stage of
the pipeline has to do and to hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from dse.model.arrays import scalar
from dse.model.memory import PARTS
from dse.model.parallel.mesh import Group
from dse.model.parallel.schedules import slots
from dse.pricing.laid_out import LaidOut
from dse.pricing.points import Points
from dse.report import words
from dse.report.design_point import Layout, PipelineStage, RankGroup
from dse.report.document import RunDocument
from dse.report.style import (
    BLUE,
    GREEN,
    GREY,
    GRID,
    INK,
    MARK,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    YELLOW,
    chart_layout,
    part_of_bar,
)
from dse.report.terms import seconds

SHOWN_NODES = 16  # of a drawing
SHOWN_ALIKE = 2  # nodes of a run of such that have the same stages
NODES_A_ROW, RANKS_A_ROW = 4, 8
BESIDE = ("allocator_bytes", "context_bytes")  # what is no tensor
BAR = 27  # pixels of a stage in a chart
MOST_SLOTS = 1600  # of a timeline
# By what ranks share: the term of a step, and the degree of it in short.
SHARED = {
    "products": ("tensor_s", "TP"), "sequences": ("context_s", "CP"),
    "layers": ("pipeline_s", "PP"), "batches": ("gradients_s", "DP"),
    "experts": ("expert_s", "EP"), "each expert": ("expert_s", "expert TP"),
    "batches of experts": ("gradients_s", "expert DP"),
}  # fmt: skip
DEGREES = ("tensor rank", "context rank", "replica", "stage")  # the innermost first
ALWAYS = ("products", "layers", "batches")
GIB = 1024.0**3
_LOOKS = {
    "weights_bytes": (BLUE, ""), "gradients_bytes": (SKY, "/"), "master_bytes": (PURPLE, "\\"),
    "optimizer_bytes": (GREEN, ""), "activations_bytes": (ORANGE, ""),
    "logits_bytes": (YELLOW, "."),
    "working_bytes": (VERMILION, "-"), "allocator_bytes": (GREY, "x"), "context_bytes": (GREY, ""),
}  # fmt: skip
_KINDS = {"F": ("Forward", SKY), "B": ("Backward", BLUE), "W": ("Gradients of weights", GREEN)}
FORWARD = 1 / 3  # of both passes, as slots have it


def of_point(points: Points) -> Layout | None:
    """The layout of a single point; None where it is none."""
    if not isinstance(points, LaidOut):
        return None
    (model, at), terms = points.single, points.step_time()
    tiers = model.tiers
    mesh, inside, across = at.mesh, scalar(tiers.link_bytes_per_s), scalar(tiers.cards_bytes_per_s)
    tensor, own = scalar(mesh.tensor), scalar(mesh.expert * mesh.expert_tensor)
    found = {
        "products": (mesh.tensors, 1),
        "sequences": (mesh.contexts, tensor),
        "layers": (mesh.stages, scalar(mesh.stage)),
        "batches": (mesh.gradients, tensor),
        "experts": (mesh.experts, scalar(mesh.expert_tensor)),
        "each expert": (mesh.expert_tensors, 1),
        "batches of experts": (mesh.expert_gradients, own),
    }
    if own == 1:  # all have all experts, or there are none
        del found["experts"], found["each expert"], found["batches of experts"]

    def link(group: Group) -> str:
        if scalar(group.ranks) <= 1:
            return ""
        if scalar(group.nodes) <= 1:
            return f"links of a node, {_rate(inside)} each"
        return f"{_network(points)}, {_rate(across)} a node"

    stages, each_s, memory = points.by_stage()
    return Layout(
        replicas=round(scalar(mesh.data)),
        tensor=round(tensor),
        context=round(scalar(mesh.context)),
        node=round(min(scalar(mesh.node), scalar(mesh.gpus))),
        micro_batches=round(scalar(at.passes)),
        schedule=at.schedule,
        virtual=round(scalar(at.virtual)),
        memory_bytes=scalar(points.device.memory_bytes),
        groups=tuple(
            RankGroup(
                name=name,
                ranks=round(scalar(mesh.pipeline if name == "layers" else group.ranks)),
                stride=round(stride),
                nodes=round(scalar(group.nodes)),
                link=link(group),
                seconds=scalar(terms[SHARED[name][0]]),
            )
            for name, (group, stride) in found.items()
            if name in ALWAYS or scalar(group.ranks) > 1
        ),
        stages=tuple(
            PipelineStage(
                layers=sum(stage.layers),
                embedding=stage.embedding,
                head=stage.head,
                seconds=float(taken),
                memory={name: float(parts[number]) for name, parts in memory.items()},
            )
            for number, (stage, taken) in enumerate(zip(stages, each_s, strict=True))
        ),
    )


def _rate(bytes_per_s: float) -> str:
    return f"{words.significant(bytes_per_s / 1e9)} GB/s"


def _network(points: LaidOut) -> str:
    """The fabric between the nodes of a single point."""
    axis, names = points.network_names
    name = names[int(scalar(points.coordinates[axis].at))]
    return words.title("inter_node", name) if name else "the network"


def groups(layout: Layout) -> list[tuple[str, str, str, str, str]]:
    """Rows of a table: what ranks share, how many do, how far apart, on how many nodes, and over
    which link."""
    beside = {"batches": " x CP" * (layout.context > 1)}
    return [
        (f"{group.name} ({SHARED[group.name][1]}{beside.get(group.name, '')})",
         words.count(group.ranks),
         words.count(group.stride) if group.ranks > 1 else "",
         words.count(group.nodes) if group.ranks > 1 else "", group.link or "none")
        for group in layout.groups
    ]  # fmt: skip


GROUPS = ("Ranks share", "Ranks", "Apart", "On nodes", "Over")


def stage_rows(layout: Layout) -> list[list[str]]:
    """Rows of a table, those of stages alike together: stages, layers, seconds of a micro-batch,
    memory in all and by part."""
    numbered = enumerate(layout.stages, 1)
    rows = []
    for stage, alike in groupby(numbered, key=lambda one: one[1]):
        numbers = [number for number, _ in alike]
        ends = dict.fromkeys((numbers[0], numbers[-1]))
        beside = [name for name, has in (("embedding", stage.embedding), ("head", stage.head))
                  if has]  # fmt: skip
        layers = " + ".join([str(stage.layers), *beside])
        memory = [stage.memory[name] for name in parts(layout) if name not in BESIDE]
        memory.append(sum(stage.memory[name] for name in BESIDE))
        rows.append([" to ".join(map(str, ends)), layers, words.duration(stage.seconds),
                     words.size(sum(stage.memory.values())),
                     *(words.size(part) if part else "" for part in memory)])  # fmt: skip
    return rows


def parts(layout: Layout) -> list[str]:
    """The parts of memory that some stage has."""
    return [name for name in layout.stages[0].memory
            if any(stage.memory[name] for stage in layout.stages)]  # fmt: skip


def stage_heads(layout: Layout) -> list[str]:
    """What stands over :func:`stage_rows`."""
    titles = [PARTS[name].title for name in parts(layout) if name not in BESIDE]
    return ["Stage", "Layers", "Micro-batch", "Memory",
            *map(words.capital, titles), "Beside tensors"]  # fmt: skip


@dataclass(frozen=True)
class DrawnRank:
    """A rank of a drawing: where its stage has its colour, and what is said of it."""

    x: int
    y: int
    stage: int
    text: str
    title: str


@dataclass(frozen=True)
class DrawnNode:
    """A node of a drawing. more: nodes after it that have the same stages and are left out."""

    x: int
    y: int
    name: str
    more: int
    ranks: tuple[DrawnRank, ...]


def drawn_nodes(layout: Layout, called: str = "Node") -> list[DrawnNode]:
    """The first nodes of each run of such that have the same stages. called: what a node is."""
    size, of_stage = layout.node, layout.tensor * layout.context * layout.replicas
    gpus = of_stage * len(layout.stages)

    def ranks(node: int) -> range:
        return range(node * size, min((node + 1) * size, gpus))

    def its_stages(node: int) -> tuple[int, ...]:
        return tuple(rank // of_stage for rank in ranks(node))

    shown: list[tuple[int, int]] = []
    for _, run in groupby(range(-(-gpus // size)), key=its_stages):
        nodes = [*run]
        kept = nodes if len(nodes) == SHOWN_ALIKE + 1 else nodes[:SHOWN_ALIKE]
        shown += [(node, 0) for node in kept[:-1]] + [(kept[-1], len(nodes) - len(kept))]
    return [
        DrawnNode(
            x=at % NODES_A_ROW,
            y=at // NODES_A_ROW,
            name=f"{called} {node + 1}",
            more=more,
            ranks=tuple(_rank(layout, rank, at) for at, rank in enumerate(ranks(node))),
        )
        for at, (node, more) in enumerate(shown[:SHOWN_NODES])
    ]


def _rank(layout: Layout, rank: int, place: int) -> DrawnRank:
    """place: of the rank on its node."""
    sizes = (layout.tensor, layout.context, layout.replicas, len(layout.stages))
    found = np.unravel_index(rank, sizes, order="F")  # the tensor degree is the innermost
    told = [
        f"{name} {at + 1} of {words.count(size)}"
        for name, at, size in zip(DEGREES, found, sizes, strict=True)
        if size > 1
    ]
    return DrawnRank(
        x=place % RANKS_A_ROW,
        y=place // RANKS_A_ROW,
        stage=int(found[3]),
        text=str(found[2] + 1),
        title=", ".join([f"Rank {words.count(rank)}", *told]),
    )


def height(layout: Layout) -> int:
    """Pixels of a chart that has a row for each stage."""
    return 140 + BAR * len(layout.stages)


def drawn_passes(layout: Layout) -> int:
    """How many micro-batches a timeline shows: whole rounds of the pipeline, as few as are read."""
    stages = len(layout.stages)
    each = stages * layout.virtual * (3 if layout.schedule.startswith("zb") else 2)
    rounds = max(1, min(2, MOST_SLOTS // (each * stages)))
    return min(layout.micro_batches, rounds * stages)


def facts(document: RunDocument) -> dict[str, Any] | None:
    """What the section says; None where nothing is laid out."""
    found = document.layout
    if found is None:
        return None
    best = document.recommended
    spent = {term.heading: taken for term, taken in seconds(best).items() if taken}
    several = found.node * best.nodes > best.gpus  # machines that share their fast links
    nodes = drawn_nodes(found, "Domain" if several else "Node")
    return {
        "said": ", ".join(words.layout(best)),
        "nodes": nodes,
        "node_rows": 1 + max(rank.y for node in nodes for rank in node.ranks),
        "node_columns": 1 + max(rank.x for node in nodes for rank in node.ranks),
        "stages": len(found.stages),
        "groups": groups(found),
        "group_heads": GROUPS,
        "stage_heads": stage_heads(found),
        "stage_rows": stage_rows(found),
        "heaviest": found.heaviest + 1,
        "limit": words.size(found.memory_bytes),
        "spent": [(name, words.duration(taken), taken / (best.step_s or 1.0))
                  for name, taken in spent.items()],
        "step": words.duration(best.step_s),
        "bubble": words.percent((best.terms.get("bubble_s") or 0.0) / (best.step_s or 1.0)),
        "drawn": drawn_passes(found),
        "micro_batches": found.micro_batches,
        "height": height(found),
    }  # fmt: skip


def lines(layout: Layout) -> Iterator[str]:
    """For `dse explain`: groups of ranks, and stages with their memory, as tables."""
    yield from _aligned(GROUPS, groups(layout))
    yield ""
    yield from _aligned(stage_heads(layout), stage_rows(layout))


def _aligned(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, *rows):
        yield "  ".join(
            f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)
        ).rstrip()


def layout_figures(layout: Layout) -> dict[str, str]:
    """Its charts by name; a single stage has no timeline."""
    found = {"memory": memory_figure(layout)}
    return found | ({"timeline": timeline_figure(layout)} if len(layout.stages) > 1 else {})


def memory_figure(layout: Layout) -> str:
    """A bar a stage, its parts stacked, and the memory of an accelerator as a line."""
    import plotly.graph_objects as go

    count = len(layout.stages)
    labels = [f"Stage {number}" for number in range(1, count + 1)]
    figure = go.Figure(layout=chart_layout(height=height(layout), barmode="stack", bargap=0.28))
    for name in parts(layout):
        sizes = [stage.memory[name] for stage in layout.stages]
        title = words.capital(PARTS[name].title)
        figure.add_bar(
            y=labels, x=[size / GIB for size in sizes], name=title, **part_of_bar(*_LOOKS[name]),
            customdata=[f"<b>{label}</b><br>{title}: {words.size(size)}"
                        for label, size in zip(labels, sizes, strict=True)],
            hovertemplate="%{customdata}<extra></extra>",
        )  # fmt: skip
    figure.add_vline(x=layout.memory_bytes / GIB, line={"color": MARK, "width": 2, "dash": "dash"})
    figure.update_xaxes(title="Memory of a rank, GiB", gridcolor=GRID, fixedrange=True,
                        rangemode="tozero", zeroline=False)  # fmt: skip
    figure.update_yaxes(automargin=True, fixedrange=True, ticksuffix="  ", autorange="reversed")
    return str(figure.to_json())


def timeline_figure(layout: Layout) -> str:
    """A row a stage, and a bar for each part of a micro-batch that it works on."""
    import plotly.graph_objects as go

    passes, count = drawn_passes(layout), len(layout.stages)
    found = slots(layout.schedule, count, passes, layout.virtual)
    unit_s = FORWARD * max(stage.seconds for stage in layout.stages)
    figure = go.Figure(layout=chart_layout(height=height(layout), barmode="overlay", bargap=0.15))
    few = len(found) <= MOST_SLOTS // 4
    edge = {"marker_line_width": 1 if few else 0.3}
    for kind, (name, color) in _KINDS.items():
        mine = [slot for slot in found if slot.kind == kind]
        figure.add_bar(
            y=[f"Stage {slot.stage + 1}" for slot in mine],
            base=[float(f"{slot.start * unit_s:.5g}") for slot in mine],
            x=[float(f"{(slot.end - slot.start) * unit_s:.5g}") for slot in mine],
            name=name, **part_of_bar(color, ""), **edge, showlegend=bool(mine),
            text=[str(slot.micro_batch + 1) if few else "" for slot in mine],
            customdata=[f"{name} of micro-batch {slot.micro_batch + 1}" for slot in mine],
            hovertemplate="%{customdata}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title="Seconds", gridcolor=GRID, fixedrange=True, zeroline=False,
                        linecolor=INK, rangemode="tozero")  # fmt: skip
    figure.update_yaxes(automargin=True, fixedrange=True, ticksuffix="  ", autorange="reversed")
    return str(figure.to_json())
