"""Which number of a line is its rate."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.calibration.importers.training_log import read_training
from dse.errors import StudyError
from tests.calibration.importers.reading import TERMS, rates


@pytest.mark.parametrize(
    ("line", "rate"),
    [
        ("epoch=1,loss=2.5,450.5 samples/s", 450.5),
        ("step 5: 1200,1210,1190 samples/s", 1190.0),
        ("10%|#  | 10/100 [00:10<01:30,3.45it/s]", 512 * 3.45),
        ("10%|#  | 10/100 [00:10<01:30,345.2it/s]", 512 * 345.2),
        ("samples/s: 1200,2 gpus", 1200.0),
        ("samples/s: 1200,5 loss: 3", 1200.5),
        ("samples/s=1200,0.5", 1200.0),
        ("3,12.5 samples/s", 12.5),
        ("1.5e3 samples/s", 1500.0),
        ("1.250e+03 samples/s", 1250.0),
    ],
)
def test_a_comma_is_within_a_number_only_where_it_can_be(
    line: str, rate: float, tmp_path: Path
) -> None:
    assert rates(tmp_path, f"{line}\n") == [pytest.approx(rate)]


@pytest.mark.parametrize(
    ("line", "rate", "quote"),
    [
        ("step 10 loss 2.3 samples/s 10400.5", 10400.5, "samples/s 10400.5"),
        ("loss 2.3 tok/s 1280", 10.0, "tok/s 1280"),
        ("lr 3e-4 it/s 2.5", 1280.0, "it/s 2.5"),
        ("loss 2.3 s/it 0.4", 1280.0, "s/it 0.4"),
        ("train_loss=2.3 samples/s 10400.5", 10400.5, "samples/s 10400.5"),
        ("loss 2.3 | Samples/s 10400.5 | mem 30 GB", 10400.5, "Samples/s 10400.5"),
        ("loss 2.3, samples/s 10400.5", 10400.5, "samples/s 10400.5"),
        ("samples/s 1.5k", 1500.0, "samples/s 1.5k"),
        ("Speed: 350 samples/s 12", 350.0, "350 samples/s"),
        ("350 samples/s 0.4 s/it", 350.0, "350 samples/s"),
        ("350 samples/s 12:00:03", 350.0, "350 samples/s"),
        ("[4] 350 samples/s 8 GPUs", 350.0, "350 samples/s"),
        ("step_time 0.4 s/it 3", 1280.0, "0.4 s/it"),
        ('{"loss": 2.3, "samples_per_second": 10400.5}', 10400.5, "samples_per_second: 10400.5"),
    ],
)
def test_of_numbers_on_both_sides_of_a_unit_the_one_that_is_of_no_other_word(
    line: str, rate: float, quote: str, tmp_path: Path
) -> None:
    path = tmp_path / "train.log"
    path.write_text(f"{line}\n")
    found = read_training(path, TERMS)
    assert (found.rates, found.quote) == ((pytest.approx(rate),), quote)


@pytest.mark.parametrize(
    ("line", "rate"),
    [
        ("step 0 loss 2.3 10 400 samples/s", 10400.0),
        ("throughput: 1 010 400.5 samples/s", 1010400.5),
        ("throughput 10\u202f400,5 samples/s", 10400.5),
        ("step 1 10'400.5 samples/s", 10400.5),
        ("samples/s: 10 400", 10400.0),
        ("loss 2.3 samples/s 10 400 mem 3", 10400.0),
        ("step 10 400 samples/s", 400.0),
        ("[10/500 400 samples/s]", 400.0),
        ("12:00:10 400 samples/s", 400.0),
    ],
)
def test_thousands_may_be_parted_by_a_blank(line: str, rate: float, tmp_path: Path) -> None:
    assert rates(tmp_path, f"{line}\n") == [rate]


@pytest.mark.parametrize(
    "line", ["10 400 samples/s", "train: 10 400 samples/s loss 2.3", "| 12 400 samples/s"]
)
def test_a_number_before_three_digits_may_count_steps_and_is_asked_for(
    line: str, tmp_path: Path
) -> None:
    with pytest.raises(StudyError, match=r"may be 400 or 1[02]400"):
        rates(tmp_path, f"{line}\n")


def test_a_number_beyond_all_is_not_read_from_its_middle(tmp_path: Path) -> None:
    with pytest.raises(StudyError):
        rates(tmp_path, "1e400 samples/s\n")
