"""What other tools say of published rows: what they are asked, and the file of their answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.anchors import networks
from benchmarks.anchors.rows import Row
from benchmarks.peers import PEERS, Peer, PeerMissing
from benchmarks.peers.rates import PREDICTED, Predictions, asked, question, read, step_of, write

DATE = "2026-11-23"


def row(accelerator: str = "a100-sxm4-80gb", precision: str = "bf16", batch: float = 8) -> Row:
    workload = networks.known("llama3-8b")
    return Row("somebody", workload, accelerator, precision, "tuned", batch, 2.0)


ROWS = [row(), row("h100-sxm"), row("v100-sxm2-32gb", "fp32")]


def answers(way: str, *rates: float) -> Predictions:
    """Of the first rows, so many."""
    said = {step_of(one): rate for one, rate in zip(ROWS, rates, strict=False)}
    return Predictions("guess", "1.2", way, said)


def test_a_transformer_is_told_by_its_sizes() -> None:
    told = question(row())
    assert told["shape"] == {
        "layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "vocabulary": 128256,
        "tokens": 8192,
    }  # fmt: skip
    assert told["peak_flops_per_s"] == pytest.approx(312e12)
    pictures = Row("x", networks.known("resnet50"), "k80-die", "fp32", "vendor", 64, 1.0)
    assert question(pictures)["shape"] is None


def test_the_file_keeps_what_was_said(tmp_path: Path) -> None:
    path = tmp_path / "rates.csv"
    said = [answers("one", 1.25, 3.5), answers("half, or so", 0.5)]
    write(said, path, DATE)
    assert read(path) == said
    assert read(tmp_path / "none.csv") == []
    assert DATE in path.read_text(encoding="utf-8")


def test_the_answers_that_are_shipped_are_rates() -> None:
    kept = read(PREDICTED)
    assert {one.peer for one in kept} == {peer.name for peer in PEERS}
    assert all(rate > 0 for one in kept for rate in one.samples_per_s.values())


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_the_peers_say_how_fast_a_step_is(peer: Peer) -> None:
    gpt = networks.gpt(1024, 24, 16, 51200, 1024)
    small = Row("x", gpt, "a100-sxm4-80gb", "bf16", "vendor", 8.0, 1.0)
    try:
        found = asked(peer, [small, ROWS[2]])
    except PeerMissing as why:
        if "failed" in str(why):
            raise
        pytest.skip(str(why))
    peak = 312e12 / (3 * gpt.forward_flops)
    for one in found:
        assert 0.3 * peak < one.samples_per_s[step_of(small)] < 1.1 * peak
