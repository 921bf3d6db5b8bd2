"""The charts of a layout, as Plotly figures in JSON: memory by stage, and the pipeline in time."""

from __future__ import annotations

from dse.model.memory import PARTS
from dse.model.parallel.schedules import slots
from dse.report import layout as layouts
from dse.report import words
from dse.report.design_point import Layout
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

GIB = 1024.0**3
_LOOKS = {
    "weights_bytes": (BLUE, ""), "gradients_bytes": (SKY, "/"), "master_bytes": (PURPLE, "\\"),
    "optimizer_bytes": (GREEN, ""), "activations_bytes": (ORANGE, ""),
    "logits_bytes": (YELLOW, "."),
    "working_bytes": (VERMILION, "-"), "allocator_bytes": (GREY, "x"), "context_bytes": (GREY, ""),
}  # fmt: skip
_KINDS = {"F": ("Forward", SKY), "B": ("Backward", BLUE), "W": ("Gradients of weights", GREEN)}
FORWARD = 1 / 3  # of both passes, as slots have it


def layout_figures(layout: Layout) -> dict[str, str]:
    """Its charts by name; a single stage has no timeline."""
    found = {"memory": memory_figure(layout)}
    return found | ({"timeline": timeline_figure(layout)} if len(layout.stages) > 1 else {})


def memory_figure(layout: Layout) -> str:
    """A bar a stage, its parts stacked, and the memory of an accelerator as a line."""
    import plotly.graph_objects as go

    count = len(layout.stages)
    labels = [f"Stage {number}" for number in range(1, count + 1)]
    figure = go.Figure(
        layout=chart_layout(height=layouts.height(layout), barmode="stack", bargap=0.28)
    )
    for name in layouts.parts(layout):
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

    passes, count = layouts.drawn_passes(layout), len(layout.stages)
    found = slots(layout.schedule, count, passes, layout.virtual)
    unit_s = FORWARD * max(stage.seconds for stage in layout.stages)
    figure = go.Figure(
        layout=chart_layout(height=layouts.height(layout), barmode="overlay", bargap=0.15)
    )
    few = len(found) <= layouts.MOST_SLOTS // 4
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
