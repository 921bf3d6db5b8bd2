"""What the numbers of a log's rates are worth: its decimal mark, and what is no number."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.calibration.importers.training_log import read_training
from dse.errors import StudyError
from tests.calibration.importers.reading import TERMS, rates


def test_all_numbers_of_a_log_have_the_same_decimal_mark(tmp_path: Path) -> None:
    """What one number leaves open, another tells."""
    assert rates(tmp_path, "1,250 s/it\n1,5 s/it\n") == [
        pytest.approx(409.6),
        pytest.approx(512 / 1.5),
    ]
    with pytest.raises(
        StudyError, match=r"train.log:2:1: '1.5' has another decimal mark than '1,2'"
    ):
        rates(tmp_path, "1,2 s/it\n1.5 s/it\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("foo 3.5 samples/s 350", "'samples/s 350' may be 3.5 or 350; write a colon before"),
        ("10 2.31 10 400 samples/s", "'400 samples/s' may be 400 or 10400"),
        ("-5 samples/s", "'-5 samples/s' is negative"),
        ("samples/s: -5", "'samples/s: -5' is negative"),
        ("loss 2.3 samples/s nan", "'nan' is not a number"),
    ],
)
def test_a_rate_that_is_not_certain_is_refused(line: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError) as error:
        rates(tmp_path, f"begins\n{line}\n")
    assert f"train.log:2:1: {said}" in str(error.value)


@pytest.mark.parametrize(
    ("log", "unread"),
    [
        ("450.5 samples/s\nprogress 1.2.3 it/s\n450.5 samples/s\n", 0),  # of a unit not used
        ("tool 1.10.2.5 it/s\n450.5 samples/s\n450.5 samples/s\n", 0),
        ("450.5 samples/s\n1.2.3 samples/s\n450.5 samples/s\n", 1),
        ("450.5 samples/s\n5,1,234.5 samples/s\n450.5 samples/s\n", 1),  # 234.5 or 1,234.5
        ("450.5 samples/s\n0 samples/s\n450.5 samples/s\n", 0),
    ],
)
def test_what_is_no_number_is_left_out_and_counted(log: str, unread: int, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(log)
    found = read_training(path, TERMS)
    assert (found.rates, found.unread) == ((450.5, 450.5), unread)


def test_a_log_without_any_number_beside_its_unit(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"train.log:2:1: '1.2.3' is not a number; write"):
        rates(tmp_path, "begins\n1.2.3 samples/s\n1.2.4 samples/s\n")
    assert rates(tmp_path, "1.2.3 samples/s\n2 it/s\n") == [1024.0]


@pytest.mark.parametrize(
    ("log", "written", "with_point", "with_comma"),
    [
        ("15.250 samples/s\n15.310 samples/s\n", "15.250", 15.25, 15250.0),
        ("1,012 samples/s\n", "1,012", 1012.0, 1.012),
        ("[192.168.100.200] torch 2.1.0 of 2026-01-02 10:00:00,12 15.250 samples/s\n", "15.250",
         15.25, 15250.0),
        ("torch 2.1\n15.250 samples/s\n", "15.250", 15.25, 15250.0),
        ("loss 2.1\nloss 2,1\n15.250 samples/s\n", "15.250", 15.25, 15250.0),
    ],
)  # fmt: skip
def test_thousands_or_a_fraction_is_asked_where_the_log_does_not_tell(
    log: str, written: str, with_point: float, with_comma: float, tmp_path: Path
) -> None:
    path = tmp_path / "train.log"
    path.write_text(log)
    with pytest.raises(StudyError) as error:
        read_training(path, TERMS)
    assert f"'{written}' may be {with_point:g} or {with_comma:g}, " in str(error.value)
    assert "give --decimal . for the first, --decimal , for the second" in str(error.value)
    assert read_training(path, TERMS, ".").rates[0] == with_point
    assert read_training(path, TERMS, ",").rates[0] == with_comma


@pytest.mark.parametrize(
    ("log", "rate"),
    [
        ("step 1, loss 2.31, 15.250 samples/s\n", 15.25),
        ("step 1; loss 2,31; 15.250 samples/s\n", 15250.0),
        ("'loss': 2.31, 'grad_norm': 1.5\n1,012 samples/s\n", 1012.0),
        ("loss: 2,31\n1,012 samples/s\n", 1.012),
        ("15.250 samples/s\n15250,5 samples/s\n", 15250.0),
    ],
)
def test_other_numbers_of_the_log_tell_the_decimal_mark(
    log: str, rate: float, tmp_path: Path
) -> None:
    assert rates(tmp_path, log)[0] == rate


def test_a_decimal_mark_that_is_given_counts(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("1,5 samples/s\n1.5 samples/s\n2.5 samples/s\n")
    found = read_training(path, TERMS, ".")
    assert (found.rates, found.unread) == ((1.5, 2.5), 1)
    path.write_text("1.5 samples/s\n")
    with pytest.raises(StudyError, match=r"'1\.5' is not a number with the decimal mark ,; leave"):
        read_training(path, TERMS, ",")
