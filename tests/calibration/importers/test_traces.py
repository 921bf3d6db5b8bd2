"""Collectives out of traces of training."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from dse.calibration.importers import read_log
from dse.calibration.importers.logs import import_logs
from dse.errors import StudyError
from tests.calibration.importers import traces


def test_kernels_of_nccl(tmp_path: Path) -> None:
    events = [*traces.nccl_events(), traces.summed(2500, 90.0, 131072, "Half"),
              traces.summed(2700, 1.0, 5, "Complex")]  # fmt: skip
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(traces.text(events).encode()))
    log = read_log(str(path))
    (table,) = log.tables
    assert (table.collective, table.transport, table.algorithm) == ("allreduce", "nccl", "ring")
    assert (table.ranks, table.device, log.dropped) == ({4: "the trace"}, "cuda", 1)
    assert [(row.bytes, row.dtype, row.repetitions) for row in table.rows] == [
        (262144, "float16", 1), (1048576, "float32", 2),
    ]  # fmt: skip
    assert table.rows[1].seconds == pytest.approx(200e-6)
    assert "include some of its wait for the others" in log.notes[-1]


def test_a_real_trace_of_gloo_becomes_measurements() -> None:
    found = import_logs([traces.GLOO], nodes=1)
    assert [(s.transport, s.ranks, s.collective, s.bytes) for s in found.samples] == [
        ("gloo", 2, "allreduce", 525312), ("gloo", 2, "allreduce", 526336),
    ]  # fmt: skip
    for sample in found.samples:
        assert 300e-6 < sample.median_s < 2e-3
        assert sample.min_s is not None
        assert sample.min_s <= sample.median_s


def rank_file(
    folder: Path, rank: int, waits_us: list[float], elements: int = 262144, base_s: int = 0
) -> Path:
    """The trace of one of four ranks: a call every millisecond, of 100, 110, 120 ... us, and the
    rank's wait before it."""
    calls = [traces.summed(1000.0 * n, 100.0 + 10 * n + wait, elements)
             for n, wait in enumerate(waits_us)]  # fmt: skip
    path = folder / f"{rank}-{elements}-{len(waits_us)}.json"
    path.write_text(traces.text(calls, 4, rank, base_s))
    return path


WAITS = [[0, 900, 50, 0, 700], [800, 0, 0, 30, 0], [5, 900, 800, 20, 600], [400, 400, 400, 400, 9]]


def test_of_each_call_the_shortest_time_of_all_ranks_counts(tmp_path: Path) -> None:
    files = [rank_file(tmp_path, rank, waits) for rank, waits in enumerate(WAITS)]
    found = import_logs(files, nodes=1)
    (sample,) = found.samples
    assert (sample.ranks, sample.run, sample.repetitions) == (4, 1, 5)
    assert sample.median_s == pytest.approx(120e-6)  # what no wait lengthens: 100 to 140 us
    assert sample.min_s == pytest.approx(100e-6)
    assert "the traces of 4 of 4 ranks of a job" in " ".join(found.notes)
    assert found.source.startswith("0-262144-5.json (with 1-262144-5.json, 2-262144-5.json, ")


def test_some_ranks_of_a_job_hold_waits_still(tmp_path: Path) -> None:
    files = [rank_file(tmp_path, rank, WAITS[rank]) for rank in (0, 2)]
    found = import_logs(files, nodes=1)
    (sample,) = found.samples
    assert sample.median_s == pytest.approx(130e-6)  # of 100, 1010, 170, 130 and 740 us
    assert "the traces of 2 of 4 ranks of a job" in " ".join(found.notes)


@pytest.mark.parametrize(
    ("rank", "elements", "calls"), [(0, 262144, 5), (1, 64, 5), (1, 262144, 4)]
)
def test_traces_that_are_not_of_one_job_are_runs(
    rank: int, elements: int, calls: int, tmp_path: Path
) -> None:
    """The same rank again, another size, another number of calls."""
    other = tmp_path / "other"
    other.mkdir()
    files = [rank_file(tmp_path, 0, WAITS[0]), rank_file(other, rank, WAITS[1][:calls], elements)]
    found = import_logs(files, nodes=1)
    assert len(found.samples) == 2
    assert not any("ranks of a job" in note for note in found.notes)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 3, 1), (2, 1, 0, 3)])
def test_ranks_of_two_jobs_that_are_alike(order: tuple[int, ...], tmp_path: Path) -> None:
    """Each run at its time, in whatever order their traces are given."""
    again = tmp_path / "again"
    again.mkdir()
    files = [rank_file(folder, rank, WAITS[rank], base_s=base)
             for folder, base in ((tmp_path, 0), (again, 60)) for rank in (0, 1)]  # fmt: skip
    found = import_logs([files[at] for at in order], nodes=1)
    assert [sample.run for sample in found.samples] == [1, 2]
    assert len({sample.median_s for sample in found.samples}) == 1


def test_groups_of_some_ranks_are_not_matched(tmp_path: Path) -> None:
    """Of eight ranks, collectives among four: which ones make a call together is not known."""
    calls = [[traces.summed(1000.0 * n, us) for n in range(4)] for us in (100.0, 300.0)]
    files = [tmp_path / f"{rank}.json" for rank in (0, 7)]
    for rank, (path, own) in enumerate(zip(files, calls, strict=True)):
        path.write_text(traces.text(own, ranks=8, rank=7 * rank))
    (sample,) = import_logs(files, nodes=1).samples
    assert (sample.repetitions, sample.median_s) == (8, pytest.approx(100e-6))


def grouped(rank: int, groups: list[str], start: bool = False) -> str:
    """One of eight ranks: an allreduce in each of these groups, twice."""
    calls = []
    for at, group in enumerate(groups * 2):
        one = traces.summed(1000.0 * at, 100.0 + 10 * rank)
        members = json.loads(group)
        one["args"] |= {"Group size": len(members), "Process Group Ranks": group}
        if start:
            one["args"] |= {"Process Group Ranks": group[:3] + "...]", "Global rank start":
                            members[0], "Global rank stride": members[1] - members[0]}  # fmt: skip
        calls.append(one)
    return traces.text(calls, ranks=8, rank=rank)


@pytest.mark.parametrize("start", [False, True])
def test_a_group_of_ranks_is_on_its_own_nodes(tmp_path: Path, start: bool) -> None:
    """Eight ranks on two nodes: four of a node, or one of each."""
    path = tmp_path / "0.json"
    path.write_text(grouped(1, ["[0, 1, 2, 3]", "[1, 5]", "[0, 1, 2, 3, 4, 5, 6, 7]"], start))
    found = import_logs([path], nodes=2)
    assert [(s.ranks, s.nodes, s.ranks_per_node) for s in found.samples] == [
        (4, 1, 4), (2, 2, 1), (8, 2, 4),
    ]  # fmt: skip
    (shared,) = (note for note in found.notes if "at once" in note)
    assert "allreduce, 2 ranks: 4 such groups at once on each node" in shared
    assert {s.nodes for s in import_logs([path], nodes=1).samples} == {1}


def test_a_group_that_lies_across_two_nodes(tmp_path: Path) -> None:
    path = tmp_path / "3.json"
    path.write_text(grouped(3, ["[3, 4]"]))
    (sample,) = import_logs([path], nodes=2).samples
    assert (sample.nodes, sample.ranks_per_node) == (2, 1)


def test_ranks_in_unlike_groups_are_of_one_job(tmp_path: Path) -> None:
    files = [tmp_path / "1.json", tmp_path / "6.json"]
    files[0].write_text(grouped(1, ["[0, 1, 2, 3]", "[1, 5]"]))
    files[1].write_text(grouped(6, ["[4, 5, 6, 7]", "[2, 6]"]))
    found = import_logs(files, nodes=2)
    assert [(s.ranks, s.nodes, s.repetitions) for s in found.samples] == [(4, 1, 4), (2, 2, 4)]


def test_groups_whose_ranks_are_not_told_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "0.json"
    path.write_text(traces.text([traces.summed(0.0, 100.0)], ranks=8))
    with pytest.raises(StudyError, match="does not tell which 4 of 8 ranks allreduce was of"):
        import_logs([path], nodes=2)
    for groups, nodes in ((["[0, 1, 2, 3]", "[1, 5]"], [1, 2]), (["[0, 2, 4, 6]"], [2]),
                          (["[4, 5, 6, 7]"], [1])):  # fmt: skip
        path.write_text(grouped(1, groups).replace("distributedInfo", "other"))
        with pytest.raises(StudyError, match=r"how many ranks the job has, .* give --ranks N"):
            import_logs([path], nodes=2)
        assert [s.nodes for s in import_logs([path], nodes=2, ranks=8).samples] == nodes
        for few in (None, 2):
            with pytest.raises(StudyError, match="--ranks 4 contradicts the log: a group has"):
                import_logs([path], nodes=few, ranks=4)


@pytest.mark.parametrize("group", [[0, 2, 4, 6], [0, 8], [8, 9, 10, 11]])
def test_on_one_node_any_group_is_inside_of_it(tmp_path: Path, group: list[int]) -> None:
    path = tmp_path / "0.json"
    path.write_text(grouped(1, [str(group)]).replace("distributedInfo", "other"))
    (one,) = import_logs([path], nodes=1).samples
    placed = (one.ranks, one.ranks_per_node, one.nodes, one.link)
    assert placed == (len(group), len(group), 1, "inside-node")


def test_fused_tensors_of_horovod_are_one_message(tmp_path: Path) -> None:
    path = tmp_path / "timeline.json"
    path.write_text(traces.horovod(["[1024, 256]", "[256]"]))
    (table,) = read_log(str(path)).tables
    assert table.ranks == {4: "the ticks of its ranks"}
    (row,) = table.rows
    assert (row.bytes, row.repetitions) == (4 * (1024 * 256 + 256), 3)
    assert row.seconds == pytest.approx(100e-6)
    path.write_text(traces.horovod(["[8]"])[:-1] + ",\n")  # while the job runs
    assert read_log(str(path)).tables[0].rows[0].bytes == 32


def by_lines(text: str) -> str:
    """A timeline as Horovod writes it: an event a line, and the list is never closed."""
    return "[\n" + "".join(f"{json.dumps(event)},\n" for event in json.loads(text))


@pytest.mark.parametrize("cut", [3, 20, 60])
def test_a_timeline_that_ends_inside_its_last_event(tmp_path: Path, cut: int) -> None:
    """The job was killed: what it had written counts, and the last event is dropped."""
    path, text = tmp_path / "timeline.json", by_lines(traces.horovod(["[1024, 256]", "[256]"]))
    path.write_text(text[:-cut])
    log = read_log(str(path))
    (row,) = log.tables[0].rows
    assert (row.bytes, row.repetitions) == (4 * (1024 * 256 + 256), 2)
    assert log.dropped == 3  # the event, the tensor of it, and the one that was sent with that
    lines = text.splitlines()
    path.write_text("\n".join([*lines[:9], lines[9][:-5], *lines[10:]]))
    with pytest.raises(StudyError, match=r"timeline.json:\d+:\d+: is no JSON here"):
        read_log(str(path))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (traces.text([]), "has no collective whose size is known (read as PyTorch profiler trace)"),
        (traces.horovod(["[0]"]), "no collective whose size is known (read as Horovod timeline)"),
        (traces.horovod(["[1, x]"]), "no collective whose size is known"),
        ('[{"ph": "X", "name": "x", "dur": 1}]', "of neither PyTorch's profiler nor Horovod"),
        ('[{"ph": "X", "name": ', "the trace breaks off here"),
        (json.dumps({"schemaVersion": 1, "traceEvents": [3, None, {"ph": "X", "ts": "x"}]}),
         "has no collective"),
        (json.dumps({"schemaVersion": 1, "traceEvents": [
            {"ph": "X", "name": "gloo:all_reduce", "cat": "user_annotation", "ts": 1, "dur": 1e999,
             "args": {"Input Dims": [[-1]], "Input type": ["float"]}}]}), "has no collective"),
    ],
)  # fmt: skip
def test_a_trace_that_tells_nothing(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(text)
    with pytest.raises(StudyError) as error:
        read_log(str(path))
    assert said in str(error.value)
    assert str(error.value).startswith(str(path))
