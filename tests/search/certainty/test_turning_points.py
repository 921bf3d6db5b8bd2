"""At which measured value of a number another purchase is recommended."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dse.pricing.drawn_points import drawn_quantities
from dse.pricing.draws import Record, Variation
from dse.pricing.load import load
from dse.report.recommendation import recommended
from dse.search.certainty.sources import names_behind
from dse.search.certainty.study_draws import StudyDraws, study_draws
from dse.search.certainty.turning_points import turning_points
from dse.search.certainty.usefulness import WITHIN, Priced, best, worth
from dse.search.run import run
from tests.pricing import studies

RING = "communication: ring, outside"
RATE = "rate: v100-sxm2-16gb, fp16, vendor"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> StudyDraws:
    return drawn(studies.written(tmp_path_factory.mktemp("study"), studies.MEASURED_SERVERS))


def drawn(path: Path) -> StudyDraws:
    outcome = run(load(path), "exhaustive", None, None, lambda *_: None, 10**6, 0)
    return study_draws(outcome, WITHIN, [recommended(outcome.front, WITHIN)])


def everywhere(found: StudyDraws) -> list[int]:
    return [*range(len(found.near.points))]


def own(found: StudyDraws) -> int:
    """The position of the recommended point: the first of the front that was asked for."""
    gain, cost = (found._estimates[one.name] for one in found.problem.study.objectives)
    return int(best(worth(WITHIN, Priced(gain, [cost], found._estimates.meets_all)))[0])


def varied(found: StudyDraws, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A number and what it is made of alone drawn at random: the number and the purchase that the
    rule picks in each draw, and seconds of communication of all points."""
    record = Record()
    alone = Variation(alone=names_behind(name, found.record.asked), record=record)
    names = [*(one.name for one in found.problem.study.objectives), "comm", "compute"]
    priced = drawn_quantities(found.problem, found.near.points, names, alone)
    gain, cost = (priced[one.name] for one in found.problem.study.objectives)
    picked = best(worth(WITHIN, Priced(gain, [cost], priced.meets_all)))
    return record.noted[name], found.purchases[picked], priced["comm"]


def test_it_is_where_draws_of_that_number_alone_turn(servers: StudyDraws) -> None:
    at = own(servers)
    found = turning_points(servers, RING, at, everywhere(servers))
    assert found is not None
    assert (found.quantity, found.at, found.faster) == ("comm", at, None)
    slower = found.slower
    assert slower is not None
    assert slower.until is not None  # the dearer network counts again where it saves more
    _, purchases, comm = varied(servers, RING)
    ratio, theirs = comm[:, at] / found.estimate, servers.purchases[slower.at]
    there = purchases == theirs
    assert there.any()
    assert ratio[there].min() == pytest.approx(slower.factor, rel=0.02)
    assert ratio[there].max() == pytest.approx(slower.until, rel=0.02)
    assert slower.likely == pytest.approx(np.mean(there), abs=0.01)
    assert np.all(purchases[ratio < ratio[there].min()] == servers.purchases[at])


def test_a_rate_tells_of_others_what_they_have_in_common(servers: StudyDraws) -> None:
    """Draws of all computing scatter around the answer that the mean of a rate's normals gives: the
    baseline is on another accelerator, so that the speedup hangs on what both do not share."""
    at = own(servers)
    found = turning_points(servers, RATE, at, everywhere(servers))
    assert found is not None
    assert found.faster is not None
    assert found.quantity == "compute"
    x, purchases, _ = varied(servers, RATE)
    there = purchases == servers.purchases[found.faster.at]
    assert there.any()
    assert np.log(found.faster.factor) == pytest.approx(x[there].max(), abs=0.02)
    assert found.faster.likely == pytest.approx(np.mean(there), abs=0.1)


def test_what_changes_no_answer_has_none(servers: StudyDraws) -> None:
    at = own(servers)
    for name in ("PUE", "watts: network", "watts: hosts"):
        if name in servers.record.noted:
            assert turning_points(servers, name, at, everywhere(servers)) is None
    alone = turning_points(servers, RING, at, [at])
    assert alone is None  # there is nothing else to pick


def test_what_is_unlikely_is_not_told(servers: StudyDraws, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{turning_points.__module__}.LEAST_LIKELY", 0.1)
    found = turning_points(servers, RING, own(servers), everywhere(servers))
    assert found is not None
    assert (found.slower, found.faster) == (None, None)  # 8 % of the draws
    assert found.at == own(servers)


def test_where_another_is_picked_to_begin_with_nobody_knows(servers: StudyDraws) -> None:
    at = own(servers)
    rival = next(one for one in everywhere(servers)
                 if servers.purchases[one] != servers.purchases[at])  # fmt: skip
    assert turning_points(servers, RING, rival, everywhere(servers)) is None


def test_the_numbers_given_are_those_noted(servers: StudyDraws) -> None:
    record = Record()
    given = {"communication: ring, outside": np.array([-1.0, 0.0, 2.0])}
    drawn_quantities(servers.problem, servers.near.points, ["step"],
                     Variation(alone=frozenset(), given=given, record=record), 3)  # fmt: skip
    assert record.noted[RING] == pytest.approx([-1.0, 0.0, 2.0])
