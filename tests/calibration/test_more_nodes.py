"""What a library's choice takes on more nodes than were measured, and between those that were."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from dse.calibration import Profile, predict, read_profile
from dse.calibration.fitting.profile import fit_experiments
from dse.calibration.importers.logs import import_logs
from dse.model.arrays import Array
from tests.calibration.importers.samples import nccl

ROOT = Path(__file__).parents[2]
SHIPPED = [
    path
    for folder in ("models/calibrations", "tests/golden/calibrations")
    for path in sorted((ROOT / folder).glob("*.yaml"))
    if read_profile(path).auto is not None
]
SIZES = 2.0 ** np.arange(3, 35)
NODES = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 16, 17, 24, 31, 32, 33, 48, 64, 100, 128, 1000)
MIB = 2**20


def log(nodes: int, latency_us: float, gb_per_s: float) -> str:
    """A log of nccl-tests on nodes of 8: its ring from 32 MiB on, else its tree."""
    rows = []
    for size in (2**power for power in range(3, 31)):
        time = latency_us + 9 * (size / 1e3) ** 0.22 + size / gb_per_s / 1e3
        rate = size / time / 1e3
        rates = f"{rate:7.2f} {rate * 2 * (1 - 1 / (8 * nodes)):7.2f}"
        half = f"{time:9.2f} {rates}      0"
        rows.append(f"{size:12d} {size // 4:12d}    float     sum      -1  {half}  {half}")
    return nccl(rows, 8 * nodes, nodes)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    """Logs of 2 and of 4 nodes that say nothing of the link: 4 take 1.4 times as long."""
    folder = tmp_path_factory.mktemp("logs")
    (folder / "two.txt").write_text(log(2, 30.0, 175.0))
    (folder / "four.txt").write_text(log(4, 45.0, 150.0))
    return fit_experiments([import_logs([folder / "two.txt", folder / "four.txt"])], "small")


def seconds(profile: Profile, nodes: float, local: int, sizes: Array) -> Array:
    return np.asarray(predict(profile, "auto", round(nodes * local), sizes, local).seconds)


def test_each_node_beyond_the_largest_layout_takes_longer_than_it_did(small: Profile) -> None:
    times = [seconds(small, nodes, 8, SIZES) for nodes in (2, 3, 4, 5, 6, 7, 8, 16, 32, 33)]
    for fewer, more in pairwise(times):
        assert np.all(more > fewer)


def test_what_was_measured_is_the_price_there(small: Profile) -> None:
    for nodes, latency_us, gb_per_s in ((2, 30.0, 175.0), (4, 45.0, 150.0)):
        size = 16 * MIB
        measured = latency_us + 9 * (size / 1e3) ** 0.22 + size / gb_per_s / 1e3
        assert seconds(small, nodes, 8, np.array(size)) == pytest.approx(1e-6 * measured, rel=1e-3)


def test_beyond_it_grows_as_the_fitted_law_does(small: Profile) -> None:
    """Whatever was measured there: twice as long is twice as long on more nodes, too."""
    assert small.auto is not None
    longer = tuple(
        replace(anchor, seconds=tuple(2 * s for s in anchor.seconds)) for anchor in
        small.auto.anchors
    )  # fmt: skip
    twice = replace(small, auto=replace(small.auto, anchors=longer))
    for nodes in (2, 3, 4, 6, 64):
        found = seconds(twice, nodes, 8, SIZES) / seconds(small, nodes, 8, SIZES)
        assert found == pytest.approx(np.full(SIZES.size, 2.0))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_more_nodes_never_take_less(path: Path) -> None:
    """But where just that was measured: from 256 KiB on Lassen's 16 nodes are faster than its 8."""
    profile = read_profile(path)
    assert profile.auto is not None
    cost = profile.auto.cost()
    for local in sorted({1, 4, 8} | {int(anchor.ranks_per_node) for anchor in cost.anchors}):
        nodes = np.array([count for count in NODES if cost.priced(count * local, local)])
        if not nodes.size:
            continue
        times = cost(nodes[:, None] * local, local, SIZES)
        measured = [anchor for anchor in cost.anchors
                    if anchor.ranks_per_node == local and anchor.nodes > 1]  # fmt: skip
        ends = [
            anchor.interpolated(np.clip(SIZES, anchor.message_bytes[0], anchor.message_bytes[-1]))
            for anchor in measured
        ]
        fell = np.any(np.diff(np.reshape(ends, (-1, SIZES.size)), axis=0) < 0, axis=0)
        assert not np.any(fell) or profile.name == "lassen-mpi"
        rises = times[1:] >= times[:-1] * (1 - 1e-12)
        assert np.all(rises[:, ~fell])
        beyond = nodes >= max((anchor.nodes for anchor in measured), default=1)
        assert np.all(rises[beyond[:-1]])
