"""What all charts share: colours, fonts, the layout around them, and the bars of a step's parts."""

from __future__ import annotations

from typing import Any

INK, QUIET, ACCENT, MARK, GRID = "#1b2430", "#566273", "#1f5fae", "#c2410c", "#e6eaef"
DARK = "#8a5a9e"  # the one colour of a bar on which text is white
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def chart_layout(**more: Any) -> dict[str, Any]:
    """Of every chart; ``more`` is its own."""
    return {
        "template": "none", "autosize": True, "paper_bgcolor": "white", "plot_bgcolor": "white",
        "font": {"family": FONT, "size": 13, "color": INK},
        "margin": {"l": 62, "r": 40, "t": 12, "b": 56},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom",
                   "traceorder": "normal", "itemsizing": "constant"},
        "hoverlabel": {"font": {"family": MONO, "size": 12, "color": INK}, "align": "left",
                       "bgcolor": "rgba(255,255,255,.97)", "bordercolor": QUIET},
        "modebar": {"orientation": "v", "bgcolor": "rgba(255,255,255,0)"},
        "dragmode": "zoom", **more,
    }  # fmt: skip


def part_of_bar(color: str, pattern: str) -> dict[str, Any]:
    """How a part of a horizontal bar looks: told apart by its pattern as well as by its colour."""
    return {
        "orientation": "h",
        "textangle": 0,
        "marker": {"color": color, "line": {"color": "white", "width": 1},
                   "pattern": {"shape": pattern, "fillmode": "overlay", "size": 7,
                               "fgcolor": "rgba(255,255,255,.55)"}},
        "textposition": "inside",
        "insidetextanchor": "middle",
        "insidetextfont": {"color": "white" if color == DARK else INK, "size": 12},
    }  # fmt: skip


def of_a_step(figure: Any) -> None:
    """The axes under bars that are shares of a step."""
    figure.update_xaxes(tickformat=".0%", range=[0, 1.005], tickvals=[0, 0.25, 0.5, 0.75, 1],
                        fixedrange=True, gridcolor=GRID, title="Share of the step")  # fmt: skip
    figure.update_yaxes(automargin=True, fixedrange=True, ticksuffix="  ")
