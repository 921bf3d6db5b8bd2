"""`auto` of a profile that measured named algorithms only: rules choose, the profile prices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dse.calibration import Profile
from dse.calibration.arguments import algorithms
from dse.calibration.prediction import predict, rules_of
from dse.calibration.prediction_table import prediction_records
from dse.errors import OutsideCalibration, StudyError
from dse.model.aggregation.library_rules import Mpich, OpenMpi, mpi_library
from tests.calibration import library_profiles, synthetic

RANKS, SIZES = (1, 2, 3, 4, 8, 16, 200), (0.0, 1.0, 64.0, 4096.0, 8192.0, 2.0**17, 2.0**22, 1e15)


@pytest.fixture
def forced() -> Profile:
    return synthetic.profile()


@pytest.mark.parametrize(("algorithm", "rules"), [("auto", OpenMpi()), ("auto-mpich", Mpich())])
def test_each_point_is_that_of_the_algorithm_chosen(
    forced: Profile, algorithm: str, rules: OpenMpi | Mpich
) -> None:
    found = predict(forced, algorithm, np.array(RANKS)[:, None], np.array(SIZES))
    for row, n in enumerate(RANKS):
        for column, m in enumerate(SIZES):
            own = predict(forced, rules.algorithms[int(rules(n, n, m))].priced_as, n, m)
            mine = [part[row, column] for part in found]
            assert mine == pytest.approx([float(part) for part in own], rel=1e-12)
    assert np.all(np.isfinite(found.seconds))
    assert np.all((found.low <= found.seconds) & (found.seconds <= found.high))


def test_records_say_what_is_chosen(forced: Profile) -> None:
    records = prediction_records(forced, ("auto",), (3, 8), None, (64, 2**17))
    assert [record["library_choice"] for record in records] == [
        "recursive-doubling", "ring", "recursive-doubling", "halving-doubling",
    ]  # fmt: skip
    assert {record["algorithm"] for record in records} == {"auto"}
    assert all(record["rules"].startswith("Open MPI") for record in records)
    assert all(record["in_range"] for record in records)
    (beyond,) = prediction_records(forced, ("auto",), (64,), None, (2**17,))
    assert beyond["why_outside"] == "64 ranks (measured: 2-8)"
    (named,) = prediction_records(forced, ("ring",), (8,), None, (64,))
    assert (named["library_choice"], named["rules"]) == ("", "")


def test_a_measured_choice_needs_no_rules(forced: Profile) -> None:
    both = replace(forced, auto=library_profiles.part(layouts=((8, 8),)))
    assert rules_of(both, "auto") is None
    assert isinstance(rules_of(both, "auto-openmpi"), OpenMpi)
    assert rules_of(forced, "ring") is None
    assert rules_of(replace(forced, transport="gloo"), "auto") is None


@pytest.mark.parametrize(
    ("library", "expected"),
    [("openmpi", "openmpi"), ("mpich", "mpich"), ("MPICH 4", "mpich"), ("spectrum", "openmpi")],
)
def test_the_rules_go_by_the_library(forced: Profile, library: str, expected: str) -> None:
    assert mpi_library(library) == expected
    kind = {"openmpi": OpenMpi, "mpich": Mpich}[expected]
    assert isinstance(rules_of(replace(forced, library=library), "auto"), kind)


def test_between_nodes_the_algorithm_chosen_must_be_measured() -> None:
    lab = replace(library_profiles.between_nodes(), transport="mpi", library="openmpi")
    alike = predict(lab, "auto", 2, np.array([32768.0, 65536.0]))  # a ring, and a segmented one
    assert np.array_equal(alike.seconds, predict(lab, "ring", 2, [32768.0, 65536.0]).seconds)
    with pytest.raises(OutsideCalibration, match=r"'halving-doubling'.*it measured ring"):
        predict(lab, "auto", 8, 2.0**20)


def test_where_there_are_no_rules_it_is_refused(forced: Profile) -> None:
    with pytest.raises(OutsideCalibration, match="forced algorithms"):
        predict(replace(forced, transport="nccl"), "auto", 8, 2.0**20)


def test_the_names_of_rules_are_known_to_the_command(forced: Profile) -> None:
    assert algorithms(forced, "auto-mpich") == ("auto-mpich",)
    with pytest.raises(StudyError, match="auto-mpich"):
        algorithms(forced, "auto-mpch")


@pytest.mark.parametrize("algorithm", ["ring", "recursive-doubling", "auto"])
def test_a_smaller_message_than_was_measured_may_take_no_longer_than_it(
    forced: Profile, algorithm: str
) -> None:
    """Its time is less sure, but not because it may be longer."""
    smallest = forced.message_bytes[0]
    sizes = np.array([1.0, smallest / 3, smallest / 1.1, smallest])
    found = predict(forced, algorithm, 4, sizes)
    assert np.all(found.high <= found.high[-1])
    assert np.all(found.seconds <= found.high)
    assert np.all(np.diff(np.log(found.high / found.low)) <= 0)
