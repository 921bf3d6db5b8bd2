"""Constraints mean what arithmetic says, in whatever units they are written."""

from __future__ import annotations

import math
import operator
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.currencies import Rate
from dse.study import QUANTITIES, quantities
from dse.study.constraints import ExpressionError, parse_constraint
from dse.units import UnitError, base

COMPARE = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "==": operator.eq,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "column", "just_inside", "just_outside"),
    [
        ("capital <= 2 MUSD", "capital", 2e6, 2.001e6),
        ("2 MUSD >= capital", "capital", 2e6, 2.001e6),
        ("step <= 200 ms", "step", 0.2, 0.201),
        ("power <= 500 kW", "power", 5e5, 5.1e5),
        ("hourly <= 10 USD/hour", "hourly", 10, 10.1),
        ("tco <= 240 USD/day", "tco", 10, 10.1),
        ("throughput >= 1000 samples/s", "throughput", 1000, 999),
        ("memory_slack >= 4 GiB", "memory_slack", 2**32, 2**32 - 4096),
        ("global_batch <= 8192 samples", "global_batch", 8192, 8193),
        ("gpus > 7", "gpus", 8, 7),
        ("gpus == 8", "gpus", 8, 9),
        ("-gpus >= -(2 + 3 * 2)", "gpus", 8, 9),
        ("64 / gpus / 2 >= 4", "gpus", 8, 9),
        ("capital <= 10 USD/hour * 2 days", "capital", 480, 481),
        ("goodput >= 90 %", "goodput", 0.9, 0.899),
        ("step <= 20 % * 1 s", "step", 0.2, 0.201),
    ],
)  # fmt: skip
def test_units(text: str, column: str, just_inside: float, just_outside: float) -> None:
    constraint = parse_constraint(text)
    assert constraint.names == {column}
    columns = {column: np.array([just_inside, just_outside])}
    assert constraint.evaluate(columns).tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "said", "limit"),
    [
        ("capital <= 2 MEUR", "capital <= 2 MEUR (EUR at USD 1.08 of 2026-11-02)", 2.16e6),
        ("hourly<=50EUR/hour", "hourly<=50EUR/hour (EUR at USD 1.08 of 2026-11-02)", 54.0),
        ("capital <= 1 MEUR (EUR at USD 1.2)", "capital <= 1 MEUR (EUR at USD 1.2)", 1.2e6),
        ("capital <= 300 MJPY", "capital <= 300 MJPY (JPY at USD 0.0065)", 1.95e6),
        ("capital <= 2 MUSD", "capital <= 2 MUSD", 2e6),
    ],
)
def test_amounts_in_other_currencies_carry_their_rate(text: str, said: str, limit: float) -> None:
    rates = {"EUR": Rate(1.08, "2026-11-02"), "JPY": Rate(0.0065)}
    found = parse_constraint(text, lambda: rates)
    assert found.text == said
    assert found.limit is not None
    assert found.limit.value == pytest.approx(limit, rel=1e-15)
    assert parse_constraint(found.text) == found, "without a price list"


def test_two_currencies_in_one_limit_each_have_their_rate() -> None:
    rates = {"EUR": Rate(1.1), "GBP": Rate(1.3)}
    found = parse_constraint("capital <= 1 MEUR + 1 MGBP", lambda: rates)
    assert found.text == "capital <= 1 MEUR + 1 MGBP (EUR at USD 1.1, GBP at USD 1.3)"
    assert parse_constraint(found.text).limit == ("capital", "<=", 2.4e6)


def test_a_currency_without_a_rate_says_how_to_give_one() -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_constraint("capital <= 2 MEUX", lambda: {"EUR": Rate(1.1)})
    assert caught.value.offset == 11
    assert str(caught.value) == (
        "'MEUX' is in a currency of which no rate is given; did you mean EUR? Else add "
        "'currencies: {EUX: ... USD}' with what one EUX is worth to a price list of the study "
        "(prices:), or write it in USD"
    )
    with pytest.raises(ExpressionError, match="'capital' is in USD"):
        parse_constraint("capital <= 2 MEUR/hour", lambda: {"EUR": Rate(1.1)})


def test_a_unit_in_another_case_is_no_currency() -> None:
    with pytest.raises(ExpressionError, match="'MWH' is ambiguous") as caught:
        parse_constraint("energy <= 3 MWH", lambda: {"EUR": Rate(1.1)})
    assert caught.value.remedy == "write mWh or MWh"


def test_rounding_does_not_decide() -> None:
    assert parse_constraint("step <= 300 ms").evaluate({"step": 0.1 + 0.2})
    assert parse_constraint("step == 300 ms").evaluate({"step": 0.1 + 0.2})
    assert not parse_constraint("step < 300 ms").evaluate({"step": 0.3 - 1e-17})


def test_several_columns_broadcast_and_stay_small() -> None:
    constraint = parse_constraint("capital / gpus <= 50 kUSD")
    columns = {"capital": np.full((3, 1), 1e5), "gpus": np.array([[1.0, 2.0, 4.0, 8.0]])}
    assert constraint.evaluate(columns).shape == (3, 4)
    assert constraint.evaluate(columns)[0].tolist() == [False, True, True, True]
    assert parse_constraint("gpus <= 4").evaluate(columns).shape == (1, 4)
    assert constraint.evaluate({"capital": 1e5, "gpus": 8}).shape == ()


def test_violation_is_relative_to_the_limit() -> None:
    constraint = parse_constraint("capital <= 2 MUSD")
    found = constraint.violation({"capital": np.array([1e6, 2e6, 3e6, 6e6, np.inf, np.nan])})
    assert found.tolist() == [0, 0, 0.5, 2, np.inf, np.inf]
    assert parse_constraint("throughput >= 100 samples/s").violation({"throughput": 25}) == 0.75


def test_violation_of_a_limit_of_zero_still_ranks() -> None:
    constraint = parse_constraint("memory_slack >= 0 GB")
    near, far, fine = constraint.violation({"memory_slack": np.array([-1e3, -1e6, 5.0])})
    assert far > near > 0 == fine


def test_excess_is_the_logarithm_of_a_factor_on_both_sides_of_a_limit() -> None:
    capital = {"capital": np.array([1e6, 2e6, 4e6, np.nan])}
    half = np.log(2)
    found = parse_constraint("capital <= 2 MUSD").excess(capital)
    np.testing.assert_allclose(found, [-half, 0, half, np.nan])
    found = parse_constraint("capital >= 2 MUSD").excess(capital)
    np.testing.assert_allclose(found, [half, 0, -half, np.nan])
    assert parse_constraint("capital == 2 MUSD").excess(capital)[:3].tolist() == [half, 0, half]
    assert parse_constraint("capital < 2 MUSD").excess({"capital": 2e6}) > 0


def test_excess_of_a_limit_of_zero_still_ranks() -> None:
    constraint = parse_constraint("memory_slack >= 0 GB")
    far, near, fine = constraint.excess({"memory_slack": np.array([-1e6, -1e3, 5.0])})
    assert 1 >= far > near > 0 > fine


def test_nan_meets_nothing() -> None:
    for sign in COMPARE:
        assert not parse_constraint(f"gpus {sign} 8").evaluate({"gpus": np.nan})


def test_division_by_a_column_that_is_zero_is_silent() -> None:
    constraint = parse_constraint("capital / gpus <= 1 USD")
    assert constraint.evaluate({"capital": np.array([1.0, 0.0]), "gpus": 0.0}).tolist() == [
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("text", "offset", "fragment"),
    [
        ("", 0, "the end where a quantity"),
        ("captial <= 2 USD", 0, "did you mean capital?"),
        ("capital <= 2", 11, "write for example capital <= 2 MUSD"),
        ("time_to_target <= 3", 18, "write for example time_to_target <= 7 d"),
        ("step <= 3", 8, "write for example step <= 100 ms"),
        ("capital <= 2 kW", 11, "in USD but '2 kW' is in W"),
        ("capital + step <= 2 USD", 8, "in USD and in s cannot be added"),
        ("capital * step <= 2 kW", 18, "in USD*s"),
        ("capital <= 2 USD <= 3 USD", 17, "a second comparison"),
        ("capital", 7, "comparison"),
        ("1 <= 2", 0, "names no quantity"),
        ("capital <= 2 MUSD MUSD", 18, "the end of the constraint"),
        ("2 gpus <= 3", 2, "is not a unit"),
        ("capital / 0 <= 1 USD", 8, "division by zero"),
        ("fits_memory <= 2", 0, "stands alone"),
        ("(gpus <= 2", 6, "')' for the '(' at character 1"),
        ("gpus = 2", 5, "use =="),
        ("gpus =< 2", 5, "use <="),
        ("gpus % 8 == 0", 5, "use it after a number: 90 %"),
        ("capital <= 90 %", 11, "in USD but '90 %' is a plain number"),
        ("__import__('os') <= 2", 0, "not a known quantity"),
        ("gpus <= 1e999", 8, "not finite"),
        ("gpus <= " + "(" * 40 + "1" + ")" * 40, 38, "nested"),
        ("gpus + " * 100 + "1 <= 2", 0, "characters"),
    ],
)  # fmt: skip
def test_mistakes(text: str, offset: int, fragment: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_constraint(text)
    assert fragment in str(caught.value)
    assert caught.value.offset == offset
    assert caught.value.remedy


def test_no_quantity_is_called_like_a_unit() -> None:
    for name in QUANTITIES:
        with pytest.raises(UnitError):
            base(name)


def test_every_quantity_can_be_constrained() -> None:
    examples = {
        "count": "8", "samples": "8", "samples_per_s": "8 samples/s", "usd": "8 USD",
        "usd_per_hour": "8 USD/hour", "watt": "8 W", "seconds": "8 s", "bytes": "8 B",
        "joule": "8 J", "kilograms": "8 kg", "share": "800 %",
    }  # fmt: skip
    for name, quantity in QUANTITIES.items():
        constraint = parse_constraint(f"{name} <= {examples[quantity.dimension]}")
        assert constraint.evaluate({name: np.array([8.0, 9.0])}).tolist() == [True, False]
    assert quantities.BUILTINS.keys() == {"fits_memory", "equal_batch"}


# A constraint as a tree of plain Python, and the same as text.
Tree: TypeAlias = "tuple[str, Tree, Tree] | str | float"
_LEAVES = st.one_of(
    st.sampled_from(["gpus", "nodes", "batch_per_gpu", "speedup"]),
    st.floats(0.01, 1e6).map(lambda value: float(f"{value:.6g}")),
)
_TREES = st.recursive(
    _LEAVES, lambda inner: st.tuples(st.sampled_from("+-*/"), inner, inner), max_leaves=8
)
_RANK = {"+": 1, "-": 1, "*": 2, "/": 2}


def written(tree: Tree, above: int = 0, right: bool = False) -> str:
    """With no more parentheses than arithmetic needs."""
    if not isinstance(tree, tuple):
        return str(tree)
    sign, left, other = tree
    rank = _RANK[sign]
    text = f"{written(left, rank)} {sign} {written(other, rank, right=True)}"
    return f"({text})" if rank < above or (right and rank == above) else text


def computed(tree: Tree, row: dict[str, float]) -> float:
    """The slow reference: one scalar at a time."""
    if isinstance(tree, str):
        return row[tree]
    if isinstance(tree, float):
        return tree
    left, right = computed(tree[1], row), computed(tree[2], row)
    try:
        return {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}[
            tree[0]
        ](left, right)
    except ZeroDivisionError:
        return math.nan


@given(
    left=_TREES,
    right=_TREES,
    sign=st.sampled_from(list(COMPARE)),
    rows=st.lists(
        st.fixed_dictionaries(
            {name: st.floats(0.01, 1e6) for name in ("gpus", "nodes", "batch_per_gpu", "speedup")}
        ),
        min_size=1,
        max_size=4,
    ),
)
def test_agrees_with_scalar_arithmetic(
    left: Tree, right: Tree, sign: str, rows: list[dict[str, float]]
) -> None:
    text = f"{written(left)} {sign} {written(right)}"
    try:
        constraint = parse_constraint(text)
    except ExpressionError as error:
        assert error.problem in ("it names no quantity", "division by zero")  # noqa: PT017
        return
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    holds = np.broadcast_to(constraint.evaluate(columns), len(rows))
    violation = np.broadcast_to(constraint.violation(columns), len(rows))
    assert ((violation == 0) == holds).all()
    for row, met in zip(rows, holds, strict=True):
        one, other = computed(left, row), computed(right, row)
        if math.isnan(one) or math.isnan(other) or math.isclose(one, other, rel_tol=1e-6):
            continue  # too near to tell, or not a number
        if abs(one - other) < 1e-6 * _largest(left, right, row):
            continue  # cancellation: rounding may go either way
        assert met == COMPARE[sign](one, other), text


def _largest(*parts: object) -> float:
    """The largest magnitude on the way, which scales the rounding."""
    *trees, row = parts
    assert isinstance(row, dict)
    sizes = [0.0]

    def visit(tree: object) -> None:
        if isinstance(tree, tuple):
            visit(tree[1])
            visit(tree[2])
        size = abs(computed(tree, row))  # type: ignore[arg-type]
        sizes.append(size if math.isfinite(size) else 0.0)

    for tree in trees:
        visit(tree)
    return max(sizes)


@given(st.text(max_size=60))
def test_any_text_is_a_constraint_or_an_expression_error(text: str) -> None:
    try:
        parse_constraint(text)
    except ExpressionError as error:
        assert 0 <= error.offset <= len(text)  # noqa: PT017


@given(st.lists(st.sampled_from([*QUANTITIES, *"+-*/()", *COMPARE, "2", "1e3", "MUSD", "s", "GB",
                                 "0", "=", "!", "$", "."]), max_size=14).map(" ".join))  # fmt: skip
def test_any_tokens_are_a_constraint_or_an_expression_error(text: str) -> None:
    try:
        constraint = parse_constraint(text)
    except ExpressionError as error:
        assert error.remedy  # noqa: PT017
    else:
        assert constraint.evaluate(dict.fromkeys(QUANTITIES, 1.0)).shape == ()


@pytest.mark.parametrize(
    ("text", "just_inside", "just_outside"),
    [
        ("capital <= 2 MUSD", 2e6 * 1.64, 2e6 * 1.66),
        ("speedup >= 4", 4 * 0.61, 4 * 0.60),
        ("speedup - 3 >= -1", 3 - 1 - 0.39, 3 - 1 - 0.40),
        ("capital <= 3 MUSD - 1 MUSD", 2e6 * 1.64, 2e6 * 1.66),
        ("capital - 2 MUSD <= 0 USD", 2e6, 2.1e6),
        ("gpus == 8", 8, 9),
    ],
)
def test_a_looser_limit_is_easier_to_meet(
    text: str, just_inside: float, just_outside: float
) -> None:
    """By e^0.5: of a negative constant as far as of a positive one; 0 and equalities stay."""
    loose = parse_constraint(text).loosened(0.5)
    (name,) = loose.names
    assert loose.evaluate({name: just_inside})
    assert not loose.evaluate({name: just_outside})
    assert loose.text == text
