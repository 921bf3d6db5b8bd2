"""What all charts share: colours, fonts, the layout around them, and the bars of a step's parts.

The hues are those of Okabe and Ito (2008, https://jfly.uni-koeln.de/color/), which people who are
colour-blind tell apart; where several meet, shapes or patterns differ, too.
"""

from __future__ import annotations

from typing import Any

INK, QUIET, ACCENT, MARK, GRID = "#1b2430", "#566273", "#1f5fae", "#c2410c", "#e6eaef"
PAPER, AXIS, VEIL, WHISKER = "#ffffff", "#aab4c0", "rgba(255,255,255,.97)", "rgba(31,95,174,.55)"
ORANGE, SKY, GREEN, YELLOW = "#e69f00", "#56b4e9", "#009e73", "#f0e442"
BLUE, VERMILION, PURPLE, GREY = "#0072b2", "#d55e00", "#cc79a7", "#b4bcc6"
COLOURS = {"orange": ORANGE, "sky": SKY, "green": GREEN, "yellow": YELLOW, "blue": BLUE,
           "vermilion": VERMILION, "purple": PURPLE, "grey": GREY}  # fmt: skip
ON_LIGHT, ON_DARK = "#101820", "#fffffe"  # text on bars, which does not change by night
# What the page puts in place of these colours where the reader's system is dark.
NIGHT = {
    INK: "#e6ebf1", QUIET: "#a9b4c2", ACCENT: "#74b0f4", MARK: "#ff9d5c", GRID: "#2a333e",
    PAPER: "#141a21", AXIS: "#5b6774", VEIL: "rgba(27,34,43,.97)",
    WHISKER: "rgba(116,176,244,.55)", BLUE: "#2f8fd0",
}  # fmt: skip
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def chart_layout(**more: Any) -> dict[str, Any]:
    """The layout of every chart; ``more`` is its own."""
    return {
        "template": "none", "autosize": True, "paper_bgcolor": PAPER, "plot_bgcolor": PAPER,
        "font": {"family": FONT, "size": 13, "color": INK},
        "margin": {"l": 62, "r": 40, "t": 12, "b": 56},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom",
                   "traceorder": "normal", "itemsizing": "constant"},
        "hoverlabel": {"font": {"family": MONO, "size": 12, "color": INK}, "align": "left",
                       "bgcolor": VEIL, "bordercolor": QUIET},
        "modebar": {"orientation": "v", "bgcolor": "rgba(0,0,0,0)"},
        "dragmode": "zoom", **more,
    }  # fmt: skip


def part_of_bar(color: str, pattern: str) -> dict[str, Any]:
    """How a part of a horizontal bar looks: told apart by its pattern as well as by its colour."""
    return {
        "orientation": "h",
        "textangle": 0,
        "marker": {"color": color, "line": {"color": PAPER, "width": 1},
                   "pattern": {"shape": pattern, "fillmode": "overlay", "size": 7,
                               "fgcolor": "rgba(255,255,255,.55)"}},
        "textposition": "inside",
        "insidetextanchor": "middle",
        "insidetextfont": {"color": ON_DARK if color == BLUE else ON_LIGHT, "size": 12},
    }  # fmt: skip


def of_a_step(figure: Any) -> None:
    """The axes under bars that are shares of a step."""
    figure.update_xaxes(tickformat=".0%", range=[0, 1.005], tickvals=[0, 0.25, 0.5, 0.75, 1],
                        fixedrange=True, gridcolor=GRID, title="Share of the step")  # fmt: skip
    figure.update_yaxes(automargin=True, fixedrange=True, ticksuffix="  ")
