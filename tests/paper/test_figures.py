"""The figures of the docs: drawn as the model says, and committed as they are drawn."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from benchmarks.papers import figures
from benchmarks.papers.pai_assumptions import assumptions
from dse import fleet

JOBS = 2_000


@pytest.fixture(scope="module")
def drawn() -> dict[str, Figure]:
    return {"pai": figures.pai(JOBS), "tf-aggregation": figures.tf_aggregation()}


@pytest.mark.evidence
def test_bars_of_a_class_are_its_shares(drawn: dict[str, Figure]) -> None:
    bars = drawn["pai"].axes[0]
    widths = np.array([[bar.get_width() for bar in part] for part in bars.containers])
    assert widths.sum(axis=0) == pytest.approx(1.0)
    assert [text.get_text() for text in bars.get_yticklabels()] == [
        "1w1g",
        "1wng",
        "ps-worker",
        "all",
    ]
    assert widths[-1, 0] == 0.0  # one accelerator exchanges no weights


def test_the_assumptions_are_drawn_as_computed(drawn: dict[str, Figure]) -> None:
    recipe = fleet.read_recipe(fleet.population_path("pai-ps-worker"))
    gains = [row.gain for row in assumptions(recipe, JOBS, 0) if row.gain is not None]
    (bars,) = drawn["pai"].axes[3].containers
    assert [bar.get_width() for bar in bars] == pytest.approx(gains)


@pytest.mark.parametrize("name", ["pai", "tf-aggregation"])
def test_the_committed_figure_has_the_same_panels(name: str, drawn: dict[str, Figure]) -> None:
    committed = (figures.FOLDER / f"{name}.svg").read_text()
    for axes in drawn[name].axes:
        assert axes.get_title(loc="left") in committed
