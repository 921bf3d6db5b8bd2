"""The front as choices: what is one row, what stands for it, and what changes nothing."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dse.report import choices, tables
from dse.report.document import Choice
from dse.report.page import render_page
from dse.search import pareto
from tests.report.documents import document, front_rows, read, written

VALUES = st.lists(
    st.tuples(
        st.one_of(st.floats(1.0, 2.0), st.floats(1e-6, 1e6)),
        st.one_of(st.floats(1.0, 2.0), st.floats(0, 1e6)),
        st.one_of(st.just(3.0), st.floats(1.0, 1.1)),
    ),
    min_size=1,
    max_size=40,
)
RESOLUTION = st.sampled_from([0.001, 0.01, 0.1, 0.5])


def columns(points: list[tuple[float, ...]]) -> list[np.ndarray]:
    return [np.array(column) for column in zip(*points, strict=True)]


def alike(a: tuple[float, ...], b: tuple[float, ...], resolution: float) -> bool:
    """The definition, value by value."""
    return all(
        abs(x - y) <= resolution * max(abs(x), abs(y)) * (1 + 1e-9)
        for x, y in zip(a, b, strict=True)
    )


def slowly_covered(
    points: list[tuple[float, ...]], resolution: float, first: int
) -> list[list[int]]:
    """The rule, point by point."""
    order = sorted(range(len(points)), key=lambda at: (-points[at][0], *points[at][1:], at))
    left, rows = set(range(len(points))), []
    for at in (first, *order):
        if at in left:
            near = [one for one in sorted(left) if alike(points[at], points[one], resolution)]
            rows.append([at, *(one for one in near if one != at)])
            left -= set(near)
    return rows


@given(VALUES, RESOLUTION, st.data())
def test_rows_cover_the_front_as_the_rule_says(
    points: list[tuple[float, ...]], resolution: float, data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(points) - 1))
    found = [row.tolist() for row in choices.covered(columns(points), resolution, first)]
    assert found == slowly_covered(points, resolution, first)
    assert sorted(at for row in found for at in row) == list(range(len(points)))
    assert found[0][0] == first
    for head, *others in found:
        assert all(alike(points[head], points[at], resolution) for at in others)


def test_a_long_chain_of_small_steps_is_not_one_row() -> None:
    chain = [1.005**at for at in range(100)]  # each within 1 % of the next, 64 % from end to end
    rows = choices.covered([np.array(chain), np.array(chain)], 0.01, 0)
    assert len(rows) > 30
    assert max(len(row) for row in rows) <= 3


@given(VALUES, VALUES, RESOLUTION)
def test_dominated_points_change_no_row(
    points: list[tuple[float, ...]], more: list[tuple[float, ...]], resolution: float
) -> None:
    def rows(some: list[tuple[float, ...]]) -> list[list[tuple[float, ...]]]:
        gain, cost, other = columns(some)
        front = pareto.front_of(gain, cost, np.arange(len(some)), other)
        values = [front.gain, front.cost, front.other]
        recommended = int(np.argmax(front.gain / np.maximum(front.cost, 1e-300)))
        return [[tuple(column[at] for column in values) for at in row]
                for row in choices.covered(values, resolution, recommended)]  # fmt: skip

    behind = [
        (gain * 0.9, cost * 1.1 + 1, other * 1.1)
        for (gain, cost, other), _ in zip(points, more, strict=False)
    ]
    assert rows([*points, *behind]) == rows(points)


def test_a_resolution_of_nothing_leaves_every_point_its_row() -> None:
    run = document()
    values = [np.array([p.quantity(name) for p in run.front]) for name in ("speedup", "capital")]
    assert choices.choices(run.front, values, 0, 0.0) is None
    assert [row.front for row in choices.rows(run)] == [(at,) for at in range(len(run.front))]


def test_a_row_names_what_varies_and_marks_every_named_point() -> None:
    run = written()
    front = run["front"]
    assert len(front) > 3
    best = next(at for at, p in enumerate(front) if p["config"] == run["recommended"]["config"])
    fast = next(at for at, p in enumerate(front) if p["config"] == run["fastest"]["config"])
    others = [at for at in range(len(front)) if at not in (best, fast)]
    names = ("ring-mpi", "tree-nccl", "ps-grpc", "ring-gloo", "auto-nccl")
    run["choices"] = {
        "resolution": 0.01,
        "rows": [
            {"front": [best, fast], "varies": {"aggregation": list(names)}},
            *({"front": [at], "varies": {}} for at in others),
        ],
    }
    found = read(run)
    assert found.choices is not None
    assert found.choices.rows[0] == Choice(front=(best, fast), varies={"aggregation": names})
    table = tables.front_table(found)
    row = table.rows[0]
    assert len(table.rows) == len(front) - 1
    assert row.number == best + 1
    assert "recommended" in row.name
    assert "fastest" in row.name
    assert "any of 5" in [text for _, text in row.cells]
    assert ("aggregation", ", ".join(names)) in row.axes
    assert row.others == (fast + 1,)
    page = render_page(found)
    places = [f'id="point-{number}"' for number in range(1, len(front) + 1)]
    assert [page.count(place) for place in places] == [1] * len(front)  # links lead somewhere
    assert len(front_rows(found)[1]) == len(front)  # front.csv has the exact front
