"""Fronts, intervals, recommendations and explained points of all studies are as they were.

A number that moved on purpose is a change of a file in ``answers``, by
``python -m tests.golden --write``, and its reason is in the commit.
"""

from __future__ import annotations

import pytest

from tests.golden.answers import ANSWERS, subjects, text
from tests.golden.difference import differences

ROUNDING = 1e-9  # other processors may round a sum of logarithms otherwise


@pytest.mark.parametrize("name", subjects())
def test_the_answer_is_as_it_was(name: str) -> None:
    kept = (ANSWERS / f"{name}.txt").read_text()
    assert not list(differences(kept, text(subjects()[name]()), ROUNDING))


def test_every_answer_is_of_a_study() -> None:
    assert {path.stem for path in ANSWERS.glob("*.txt")} == set(subjects())


def test_a_difference_is_told_with_its_place_and_share() -> None:
    before = 'front | gpus=4 | [2.0, {"step_s": 1.0}, "far"]\nchosen | fastest | 1\n'
    now = 'front | gpus=4 | [2.0, {"step_s": 1.5}, "near"]\nchosen | cheapest | 1\n'
    assert list(differences(before, now)) == [
        "front | gpus=4[1].step_s: 1.0 -> 1.5  (+0.5)",
        "front | gpus=4[2]: far -> near",
        "chosen | fastest: only before",
        "chosen | cheapest: only now",
    ]
    assert not list(differences("a | b | 1.0\n", "a | b | 1.0000000001\n", ROUNDING))
