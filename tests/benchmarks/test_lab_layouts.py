"""Layouts in the lab: what rings cost, what a profile gives back, and real ranks that train."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.lab import layouts
from benchmarks.lab.layouts import LAYOUTS, RANKS, Layout, Ring, Set
from benchmarks.lab.measure import MBPS
from benchmarks.lab.network import network, unavailable
from dse.model.parallel.exchanges import Tiers
from dse.model.parallel.mesh import Group, group

REASON = unavailable()


def priced(tiers: Tiers, hosts: int) -> list[dict[str, object]]:
    """A profile in which exchanges take what ``tiers`` says."""
    rows: list[dict[str, object]] = []
    for what, ranks, stride, size in layouts.EXCHANGES:
        node = RANKS // hosts
        where = group(ranks, stride, node, RANKS)
        if what == "send":
            nodes, together = (2.0, float(min(stride, node))) if stride >= node else (1.0, 1.0)
            where = Group(np.asarray(2.0), np.asarray(nodes), np.asarray(together))
        price = {"all-reduce": tiers.all_reduce_s, "send": tiers.send_s}.get(what, tiers.halves_s)
        seconds = float(price(where, size))
        rows.append({"exchange": what, "ranks": ranks, "stride": stride, "bytes": size,
                     "seconds": seconds})  # fmt: skip
    return rows


def test_layouts_use_all_ranks_and_have_names_of_their_own() -> None:
    assert all(o.tensor * o.pipeline * o.data == RANKS for o in LAYOUTS)
    assert len({o.name for o in LAYOUTS}) == len(LAYOUTS) >= 16


def test_a_ring_carries_all_of_the_data_past_every_node() -> None:
    """Eight ranks on two nodes: 2 * 7 / 8 of a megabyte, where trees of nodes send 2 * 1 / 2."""
    where = group(8, 1, 4, 8)
    free = {"all_reduce": 1.0, "halves": 1.0, "call_s": 0.0, "hop_s": 0.0, "shared": 0.0}
    assert float(Ring(1e12, 1e6, **free).all_reduce_s(where, 1e6)) == pytest.approx(1.75)
    assert float(Tiers(1e12, 1e6, **free).all_reduce_s(where, 1e6)) == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("kind", [Tiers, Ring])
def test_a_profile_gives_back_what_it_was_made_of(kind: type[Tiers]) -> None:
    made = kind(8e8, 500 * MBPS, 0.7, 0.55, cards=0.55, call_s=1e-3, hop_s=3e-3, shared=0.0)
    found = layouts.fitted_tiers(kind, Set(2, 500.0, tuple(priced(made, 2))))
    for ranks, stride in ((8, 1), (4, 2), (4, 1)):
        where = group(ranks, stride, 4, 8)
        for price in ("all_reduce_s", "halves_s"):
            true = float(getattr(made, price)(where, 1e6))
            assert float(getattr(found, price)(where, 1e6)) == pytest.approx(true, rel=0.01)


def test_ranks_share_cores_by_what_a_schedule_leaves_idle() -> None:
    assert layouts.sharing(Layout(data=8)) == 1
    assert layouts.sharing(Layout(pipeline=8)) == pytest.approx(8 / 15)
    looped = Layout(pipeline=4, data=2, schedule="interleaved", virtual=2)
    assert layouts.sharing(looped) == pytest.approx(4 / 5.5)


def test_committed_sets_hold_every_layout_and_all_trained_alike() -> None:
    sets = layouts.load()
    assert len({this.hosts for this in sets}) >= 2
    for this in sets:
        assert set(this.steps_s) == {o.name for o in LAYOUTS}
        losses = [record["loss"] for record in this.of("layout")]
        assert max(losses) - min(losses) < 1e-4


def test_a_set_is_judged_by_its_own_profile() -> None:
    this = layouts.load()[0]
    for kind in layouts.KINDS.values():
        found = layouts.judged(this, kind)
        assert set(found.errors) == set(this.steps_s)
        assert found.loss >= 0
        assert this.steps_s[found.fastest] == min(this.steps_s.values())


def test_files_give_back_a_set(tmp_path: Path) -> None:
    old = layouts.load()[0]
    layouts.save([old], tmp_path)
    (new,) = layouts.load(tmp_path)
    assert new == old


@pytest.mark.evidence
@pytest.mark.skipif(bool(REASON), reason=REASON)
def test_real_ranks_train_alike_under_every_kind_of_parallelism() -> None:
    pytest.importorskip("torch", reason="torch is not installed (make torch)")
    shape = {"hidden": 32, "heads": 4, "ffn": 32, "layers": 2, "vocabulary": 32, "sequence": 16,
             "batch": 4}  # fmt: skip
    chosen = (Layout(data=4), Layout(data=4, zero=3), Layout(tensor=4, sequence=True),
              Layout(pipeline=2, data=2))  # fmt: skip
    with network(2, 400 * MBPS) as lab:
        task = layouts.task_of(chosen, 4, shape, steps=1)
        records = layouts.run(lab, task, 240.0)
    losses = {record["layout"]: record["loss"] for record in records}
    assert losses.keys() == {o.name for o in chosen}
    assert all(loss == pytest.approx(losses["d4"], abs=1e-4) for loss in losses.values())
