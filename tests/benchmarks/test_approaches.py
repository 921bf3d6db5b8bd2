"""Approaches in the lab: programs that sum rightly, a model fitted to few cells, the verdict."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.approaches import cells, judge, model, results
from benchmarks.approaches.cells import APPROACHES, FAST_MBPS, LARGE, SMALL, STARTS, Cell
from benchmarks.approaches.rounds import FusionBuffer, Gradients, timed
from benchmarks.approaches.start import WORKER, run_start
from dse.calibration.runners.mpi_library import find_launcher, run_ranks
from dse.calibration.runners.timing import Floats, WrongSum, pattern

DOCS = Path(__file__).parents[2] / "docs" / "tf-aggregation.md"
NEEDED = {"grpc-ps": "grpc", "gloo-tensors": "torch"}


def row(approach: str, cell: Cell, seconds: float, run: int = 1) -> results.Row:
    return {"workload": cell.workload, "hosts": cell.hosts, "mbps": cell.mbps, "run": run,
            "approach": approach, "min_s": seconds, "median_s": seconds, "p95_s": seconds,
            "others": 0.0}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("names", STARTS, ids=lambda names: names[0])
def test_three_processes_sum_a_real_networks_gradients(names: tuple[str, ...]) -> None:
    if names[0] in NEEDED:
        pytest.importorskip(NEEDED[names[0]])
    found = run_start(names, SMALL, 3, 2, 120.0, None)  # a wrong sum would raise
    assert [one["approach"] for one in found] == list(names)
    for one in found:
        assert one["repetitions"] == 2
        assert 0 < one["min_s"] <= one["median_s"] <= one["p95_s"]


@pytest.mark.slow
def test_a_ring_of_more_ranks_than_floats_sums_rightly() -> None:
    approach = {"name": "tiny", "ring": True, "messages": [[1], [2], [3], [7]]}
    records = run_ranks(find_launcher(), 3, {"rounds": 2, "approaches": [approach]}, 20.0, WORKER)
    assert [r["kind"] for r in records] == ["start", "sample"]


def test_every_round_has_other_data_and_an_old_sum_is_wrong() -> None:
    gradients = Gradients([[3, 2], [4]], rank=1, ranks=2)
    assert [[t.size for t in message] for message in gradients.messages] == [[3, 2], [4]]

    def add_up() -> None:
        other = np.resize(pattern(0), 9)
        other[[0, 3, 5]] += gradients.values[0] - pattern(1)[0]
        gradients.values += other

    assert len(timed(gradients, add_up, lambda: None, 3, "here")) == 3
    with pytest.raises(WrongSum, match="stale, 2 ranks"):
        timed(gradients, lambda: None, lambda: None, 1, "stale")


def test_a_fused_message_is_one_allreduce_and_a_lone_tensor_is_not_copied() -> None:
    tensors: list[Floats] = [np.ones(2, np.float32), np.full(3, 2.0, np.float32)]
    buffer = FusionBuffer([tensors])
    seen: list[Floats] = []

    def doubled(whole: Floats) -> None:
        seen.append(whole)
        whole *= 2

    buffer.summed(tensors, doubled)
    buffer.summed(tensors[:1], doubled)
    assert [whole.size for whole in seen] == [5, 2]
    assert seen[1] is tensors[0]
    np.testing.assert_array_equal(np.concatenate(tensors), [4, 4, 4, 4, 4])


@pytest.mark.parametrize("workload", [SMALL, LARGE])
def test_messages_hold_every_tensor_once_in_backward_order(workload: str) -> None:
    elements = list(cells.backward_elements(workload))
    for approach in ("baidu-ring", "horovod-64mib", "horovod-2mib", "gloo-tensors", "gloo-25mib"):
        sent = cells.messages(approach, workload)
        assert [count for message in sent for count in message] == elements
    for message in cells.messages("horovod-2mib", workload):
        assert len(message) == 1 or 4 * sum(message) <= 2 * 2**20
    for message in cells.messages("gloo-25mib", workload)[:-1]:
        assert 4 * sum(message) >= 25 * 2**20 > 4 * sum(message[:-1])
    for servers in (2, 8):
        placed = cells.to_servers(workload, servers)
        assert [size for _, size in placed] == [4 * count for count in elements]
        assert {server for server, _ in placed} == set(range(servers))


def test_what_is_fitted_to_is_few_hosts_of_one_network_on_two_links() -> None:
    there = cells.cells()
    fitted = [cell for cell in there if cell.fitted]
    assert len(fitted) == 6
    assert {cell.workload for cell in fitted} == {SMALL}
    assert {cell.mbps for cell in fitted} == {400.0, FAST_MBPS}
    assert max(cell.hosts for cell in fitted) == 4
    judged = [cell for cell in there if not cell.fitted]
    assert {cell.mbps for cell in judged} == {400.0, 200.0, 100.0}
    assert {cell.hosts for cell in judged if cell.workload == LARGE} == {2, 3, 4, 6, 8}


def test_copies_before_the_wire_or_hidden_behind_it() -> None:
    demand = model.Demand(wire_s=2.0 * model.WIRE_EFFICIENCY, messages=10.0, bytes=1e6)
    assert model.Stack(0.05, 5e-7, 1.0).seconds(demand) == pytest.approx(0.5 + 2.0 + 0.5)
    assert model.Stack(0.05, 5e-7, 1e3).seconds(demand) == pytest.approx(0.5 + 2.0, rel=1e-3)


def test_parameters_are_found_again() -> None:
    true = model.Stack(4e-4, 3e-9, 1.7)
    demands = [
        model.Demand(size * n / rate, 50.0 * n, size * n)
        for n in (2, 3, 4) for rate in (5e7, 1.25e9) for size in (1e6, 2e7)
    ]  # fmt: skip
    found, left = model.fit_stack(model.Timed(demands, [true.seconds(one) for one in demands]))
    assert left == pytest.approx(0.0, abs=1e-6)
    again = model.Demand(1.0, 300.0, 1e8)
    assert found.seconds(again) == pytest.approx(true.seconds(again), rel=0.05)


def test_single_calls_tell_a_call_from_its_bytes_where_all_rounds_send_the_same() -> None:
    """Rounds alone fit as well with other parameters, which fail where tensors are larger."""
    true = model.Stack(1.5e-3, 2e-9, 1.4)
    rounds = [model.Demand(2e7 * n / rate, 0.0, 2e7 * n, 80.0 * n)
              for n in (2, 3, 4) for rate in (5e7, 1.25e9)]  # fmt: skip
    calls = [model.Demand(size / 5e7, 0.0, size, 2.0) for size in (4e3, 1e5, 4e6)]
    alone = model.Stack(true.latency_s, true.s_per_byte, 1.0)
    found, _ = model.fit_stack(
        model.Timed(rounds, [true.seconds(one) for one in rounds]),
        model.Timed(calls, [alone.seconds(one) for one in calls]),
    )
    assert found.latency_s == pytest.approx(true.latency_s, rel=0.05)
    assert found.s_per_byte == pytest.approx(true.s_per_byte, rel=0.05)


@pytest.mark.evidence
def test_two_ranks_that_fall_out_of_step_take_the_wire_twice_from_then_on() -> None:
    lab = judge.fitted(judge.committed()).lab
    pair, more = Cell(SMALL, 2, 400.0), Cell(SMALL, 3, 400.0)

    def wire_s(approach: str, cell: Cell, slip: float) -> float:
        return model.demand_of(approach, cell, lab, slip).wire_s

    once = sum(4 * sum(m) for m in cells.messages("horovod-2mib", SMALL)) / pair.link_bytes_per_s
    assert wire_s("horovod-2mib", pair, 0.0) == pytest.approx(once, rel=0.01)
    assert wire_s("horovod-2mib", pair, 1.0) > 1.8 * once
    one = wire_s("horovod-64mib", pair, 1.0)  # of two exchanges the first is in step
    assert one == pytest.approx(1.5 * once, rel=0.05)
    rising = [wire_s("horovod-2mib", pair, slip) for slip in (0.0, 0.01, 0.1, 0.5, 1.0)]
    assert rising == sorted(rising)
    assert wire_s("horovod-2mib", more, 0.0) == wire_s("horovod-2mib", more, 1.0)


def test_one_run_judged_by_the_other() -> None:
    cell = Cell(LARGE, 6, 400.0)
    first = {name: 1.0 + place for place, name in enumerate(APPROACHES)}
    swapped = {**first, APPROACHES[0]: 2.0, APPROACHES[1]: 1.0}
    rows = [{**row(name, cell, s, run), "min_s": s, "p95_s": 1.2 * s}
            for run, times in ((1, first), (2, swapped)) for name, s in times.items()]  # fmt: skip
    for one in judge.repeats(rows):
        assert one.strict == 0.0
        assert one.all_pairs == pytest.approx(20 / 21)
        np.testing.assert_allclose(one.chosen, 2.0)
    said = judge.OneRun({(cell, name): s for name, s in first.items()})
    runs = [judge.judge(run, said) for run in judge.single_runs(rows)]
    assert [run.strict for run in runs] == [1.0, 0.0]
    a_run, the_model = judge.repeat_verdicts(rows, said)
    assert ": 0% of the cells," in a_run
    assert ": 50% of the cells," in the_model


def test_rounds_that_overlap_are_ties() -> None:
    cell = Cell(LARGE, 6, 400.0)
    seconds = {(cell, name): 1.0 + place for place, name in enumerate(APPROACHES)}
    said = {**seconds, (cell, APPROACHES[0]): 2.5}
    for most, apart in ((1.5, 0.0), (2.1, 1.0)):
        rounds = {key: (s, s) for key, s in seconds.items()}
        rounds[cell, APPROACHES[0]] = 1.0, most
        found = judge.judge(results.Measured(seconds, 0.1, rounds), judge.OneRun(said))
        assert found.order == 0.0
        assert found.apart == apart


def test_what_was_measured_after_the_form_is_fitted_to_nothing_and_was_in_no_cell_before() -> None:
    later = judge.confirming()
    assert set(later.cells()) == set(cells.confirming())
    assert not set(later.cells()) & set(cells.cells())
    assert not any(cell.fitted for cell in later.cells())
    assert judge.held_out(later) == later.cells()


def test_noise_is_from_what_was_run_twice_and_ties_are_within_it() -> None:
    cell, short = Cell(SMALL, 6, 400.0), Cell(SMALL, 2, 400.0)
    rows = [row("baidu-ring", cell, 1.0), row("baidu-ring", cell, 1.1, 2), row("mpi-ps", cell, 2.0)]
    rows += [row("baidu-ring", short, 1.0), row("baidu-ring", short, 2.0, 2)]  # fitted to
    found = results.measured(rows)
    assert found.seconds[cell, "baidu-ring"] == pytest.approx(1.05)
    assert found.noise == pytest.approx(0.1 / 1.05)
    assert not judge.differ(1.0, 1.09, found.noise)
    assert judge.differ(1.0, 1.11, found.noise)


@pytest.mark.evidence
def test_nothing_that_is_judged_was_fitted_to() -> None:
    there = judge.committed()
    assert set(there.cells()) <= set(cells.cells())
    assert all(set(there.of(c)) == set(APPROACHES) for c in cells.cells() if c.fitted)
    worse = {key: s * (1.0 if key[0].fitted else 10.0) for key, s in there.seconds.items()}
    again = judge.fitted(results.Measured(worse, there.noise))
    assert again.stacks == judge.fitted(there).stacks


def test_the_verdict_on_the_committed_results_is_the_one_in_the_docs() -> None:
    there = judge.committed()
    by, text = judge.fitted(there), DOCS.read_text(encoding="utf-8")
    assert judge.verdict(there, by) in text
    assert all(line in text for line in judge.repeat_verdicts(results.rows(), by))
    assert judge.verdict(judge.confirming(), by) in text
    for measured in (there, judge.confirming()):
        assert "\n".join(judge.cells_table(measured, by)) in text


def test_judging_counts_cells_pairs_and_the_choice() -> None:
    """Two approaches swapped in one of two cells: half of the cells, all but one of the pairs."""
    there = judge.committed()
    by = judge.fitted(there)
    two = judge.held_out(there)[:2]
    seconds = {(cell, name): by.seconds(name, cell) for cell in two for name in APPROACHES}
    perfect = judge.judge(results.Measured(seconds, 0.0), by)
    assert (perfect.order, perfect.pairs, perfect.all_pairs) == (1.0, 1.0, 1.0)
    np.testing.assert_allclose(perfect.ratio, 1.0)
    np.testing.assert_allclose(perfect.chosen, 1.0)
    first, second = sorted(APPROACHES, key=lambda name: seconds[two[0], name])[:2]
    swapped = dict(seconds)
    swapped[two[0], first], swapped[two[0], second] = (
        seconds[two[0], second], seconds[two[0], first],
    )  # fmt: skip
    worse = judge.judge(results.Measured(swapped, 0.0), by)
    pairs = len(APPROACHES) * (len(APPROACHES) - 1)  # of two cells
    assert worse.order == 0.5
    assert worse.pairs == pytest.approx(1 - 1 / pairs)
    assert worse.chosen.max() == pytest.approx(seconds[two[0], second] / seconds[two[0], first])
