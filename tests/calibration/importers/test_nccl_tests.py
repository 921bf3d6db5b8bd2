"""nccl-tests through every launcher and in every layout, and what is wrong in such logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.calibration.fitting.profile import fit_experiments
from dse.errors import MeasurementError, StudyError
from tests.calibration.importers import samples as s
from tests.calibration.importers.reading import read

NARROW = ("1e-07", "0e+00")


def expected() -> list[float]:
    return [pytest.approx(round(s.time_us(size), 1) / 1e6) for size in s.SIZES]


def old(columns: str, rows: list[str]) -> str:
    """Before 2.13: an error column, and only the columns that the collective needs."""
    header = (
        f"#       size         count    {columns}     time   algbw   busbw  error     time  error"
    )
    return "\n".join([s.CONFIG, *s.rank_lines(group=""), header, *rows, *s.FOOTER]) + "\n"


def test_the_present_layout(tmp_path: Path) -> None:
    found = read(tmp_path, s.nccl())
    assert [x.median_s for x in found.samples] == expected()
    assert {(x.ranks, x.nodes, x.ranks_per_node, x.repetitions) for x in found.samples} == {
        (8, 2, 4, 20)
    }
    assert {(x.transport, x.device, x.link) for x in found.samples} == {
        ("nccl", "Acme G1", "network")
    }
    assert all(x.min_s is None and x.p95_s is None for x in found.samples)


@pytest.mark.parametrize(
    ("collective", "ours", "columns", "middle"),
    [
        ("all_reduce", "allreduce", "type   redop", "sum"),
        ("reduce_scatter", "reduce_scatter", "type   redop", "sum"),
        ("all_gather", "all_gather", "type", ""),
        ("alltoall", "alltoall", "type   redop", ""),
        ("broadcast", "broadcast", "type   root", "0"),
        ("reduce", "reduce", "type   redop   root", "sum     0"),
    ],
)
def test_the_old_layouts(
    tmp_path: Path, collective: str, ours: str, columns: str, middle: str
) -> None:
    text = old(columns, s.nccl_rows(8, collective, middle, NARROW))
    found = read(tmp_path, text, collective=None if ours == "allreduce" else ours)
    assert {x.collective for x in found.samples} == {ours}
    assert [x.median_s for x in found.samples] == expected()
    assert {(x.ranks, x.verified) for x in found.samples} == {(8, True)}


def test_a_tag_in_the_middle_of_rows(tmp_path: Path) -> None:
    rows = [row.replace("-1", "-1[1,0]<stdout>:").replace("      0  ", "      0[1,0]<stdout>:")
            for row in s.nccl_rows()]  # fmt: skip
    assert rows[0].count("<stdout>") >= 2
    found = read(tmp_path, s.nccl([f"[1,0]<stdout>:{row}" for row in rows]))
    assert [x.median_s for x in found.samples] == expected()


def test_several_collectives_in_one_file(tmp_path: Path) -> None:
    text = s.nccl_named("all_reduce_perf", s.nccl_rows())
    text += s.nccl_named("all_gather_perf", s.nccl_rows(4, "all_gather", "none -1"), 4, 1)
    text += s.nccl_named("sendrecv_perf", s.nccl_rows(8, "sendrecv", wrong=("0", "N/A")))
    found = read(tmp_path, text)
    assert [(x.collective, x.ranks, x.nodes) for x in found.samples[::4]] == [
        ("allreduce", 8, 2), ("all_gather", 4, 1), ("sendrecv", 8, 2),
    ]  # fmt: skip
    assert {x.version for x in found.samples} == {"2.29.2"}
    assert {x.link for x in found.samples if x.nodes == 1} == {"inside-node"}


def test_debug_lines_between_and_inside_rows(tmp_path: Path) -> None:
    debug = "host0:100:101 [0] NCCL INFO"
    rows = s.nccl_rows()
    head, tail = rows[1][:56], rows[1][56:]
    body = [f"{debug} Connected all rings", rows[0], f"{head}{debug} ring 0", tail, rows[2],
            f"{debug} threshold 8 {rows[3]}"]  # fmt: skip
    text = f"{debug} NCCL version 2.21.5+cuda12.4\n{debug} Using network IB\n" + s.nccl(body)
    found = read(tmp_path, text)
    assert [x.bytes for x in found.samples] == [s.SIZES[0], *s.SIZES[2:]]
    assert found.dropped == 1
    assert {(x.version, x.link) for x in found.samples} == {("2.21.5", "ib")}


def test_debug_lines_tell_ranks_and_nodes(tmp_path: Path) -> None:
    debug = "host0:100:101 [0] NCCL INFO comm 0x1 rank 0 nRanks 500 nNodes 125 localRanks 4"
    found = read(tmp_path, "\n".join([debug, s.COLUMNS, *s.nccl_rows(500)]))
    assert {(x.ranks, x.nodes, x.ranks_per_node) for x in found.samples} == {(500, 125, 4)}


def test_a_row_in_a_comment_and_elisions(tmp_path: Path) -> None:
    rows = s.nccl_rows()
    text = "```\n" + s.nccl([f"#{rows[0]}", "[...]", "...", *rows[1:]]) + "```\n"
    assert len(read(tmp_path, text).samples) == 4


def test_rows_with_percentiles_and_time_stamps(tmp_path: Path) -> None:
    size, time = 1 << 20, 200.0
    out = f"{time} {size / time / 1e3:.2f} 9.18 0 190.5 250.0 240.0 3.2"
    row = f"{size} {size // 4} float sum -1 {out} {out} 2026-03-04 05:06:07"
    found = read(tmp_path, s.nccl([row, row]))
    assert [x.min_s for x in found.samples] == [pytest.approx(190.5e-6)] * 2
    assert [x.run for x in found.samples] == [1, 2]


def test_broken_rows_are_dropped_and_counted(tmp_path: Path) -> None:
    rows = s.nccl_rows()
    short, garbled = rows[1][:70], rows[2].replace("  ", " x", 1)
    wrong_time = rows[3].replace(f"{round(s.time_us(s.SIZES[3]), 1)}", "99.9", 1)
    found = read(tmp_path, s.nccl([rows[0], short, rows[2], wrong_time]))
    assert [x.bytes for x in found.samples] == [s.SIZES[0], s.SIZES[2]]
    assert found.dropped == 2
    assert "2 damaged rows dropped" in found.notes[0]
    assert garbled not in rows


def test_rows_of_no_bytes_are_no_samples(tmp_path: Path) -> None:
    rows = ["           0             0     float     sum      -1     0.25    0.00    0.00      0"
            "     0.23    0.00    0.00      0", *s.nccl_rows()]  # fmt: skip
    found = read(tmp_path, s.nccl(rows))
    assert (len(found.samples), found.dropped) == (4, 0)


def test_wrong_sums(tmp_path: Path) -> None:
    rows = s.nccl_rows(sizes=s.SIZES[:2]) + s.nccl_rows(sizes=s.SIZES[2:], wrong=("3", "0"))
    found = read(tmp_path, s.nccl(rows).replace(": 0 OK", ": 6 FAILED"))
    assert [x.verified for x in found.samples] == [True, True, False, False]
    assert any("2 rows with wrong sums" in note for note in found.notes)
    unnamed = read(tmp_path, old("type   redop", s.nccl_rows(8, middle="sum", wrong=NARROW))
                   .replace(": 0 OK", ": 6 FAILED"))  # fmt: skip
    assert {x.verified for x in unnamed.samples} == {False}
    rows = s.nccl_rows(sizes=s.SIZES[:2], wrong=("7", "0"))
    found = read(tmp_path, s.nccl(rows).replace(": 0 OK", ": 14 FAILED"))
    with pytest.raises(MeasurementError, match=r"the sums were wrong in 2 of 2 rows \(#wrong is"):
        fit_experiments([found], "x")


def test_ranks_from_the_bandwidths(tmp_path: Path) -> None:
    """Time has one decimal and busbw two: enough for 16 ranks, not for 500."""
    found = read(tmp_path, "\n".join([s.COLUMNS, *s.nccl_rows(16)]))
    assert {x.ranks for x in found.samples} == {16}
    with pytest.raises(StudyError, match=r"run.log:2:1: allreduce: .*give --ranks N"):
        read(tmp_path, "\n".join([s.COLUMNS, *s.nccl_rows(500)]))
    told = read(tmp_path, "\n".join([s.COLUMNS, *s.nccl_rows(500)]), ranks=500, nodes=125)
    assert {(x.ranks, x.ranks_per_node) for x in told.samples} == {(500, 4)}


def test_one_large_row_proves_no_rank_count(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="give --ranks N"):
        read(tmp_path, "\n".join([s.COLUMNS, s.nccl_rows(16)[-1]]))


def test_elided_rank_lines(tmp_path: Path) -> None:
    text = "\n".join([s.rank_lines(72, 18)[-1], s.COLUMNS, *s.nccl_rows(72)])
    with pytest.raises(StudyError, match="it lists rank 71, so at least 72"):
        read(tmp_path, text)
    with pytest.raises(StudyError, match="--ranks 36 contradicts the log, which lists rank 71"):
        read(tmp_path, text, ranks=36)
    assert {x.nodes for x in read(tmp_path, text, ranks=72, nodes=18).samples} == {18}


def test_two_rank_counts_that_contradict_each_other(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="--ranks 16 contradicts the log: 8 ranks according to"):
        read(tmp_path, s.nccl(), ranks=16)
    with pytest.raises(StudyError, match="--nodes 4 contradicts the log: 2 nodes"):
        read(tmp_path, s.nccl(), nodes=4)
    mixed = s.nccl(s.nccl_rows(16), ranks=8)
    with pytest.raises(
        StudyError,
        match="8 ranks according to its Rank lines and 16 ranks according to busbw/algbw",
    ):
        read(tmp_path, mixed)
    assert {x.ranks for x in read(tmp_path, mixed, ranks=16).samples} == {16}


def test_ranks_in_groups(tmp_path: Path) -> None:
    """NCCL_TESTS_SPLIT: two collectives of four ranks at once."""
    lines = s.rank_lines(8, 4)
    lines = [line.replace("Group  0", f"Group  {rank // 4}") for rank, line in enumerate(lines)]
    text = "\n".join([s.CONFIG, *lines, s.COLUMNS, *s.nccl_rows(4)])
    assert {(x.ranks, x.nodes) for x in read(tmp_path, text).samples} == {(4, 2)}


def split(group_of: list[int], hosts: list[int]) -> str:
    """NCCL_TESTS_SPLIT_MASK: ranks are numbered inside their group."""
    lines = [
        f"#  Rank {group_of[:at].count(group):2d} Group {group:2d} Pid {100 + at} on host{host} "
        f"device {at % 4} [0x0f] Acme G1"
        for at, (group, host) in enumerate(zip(group_of, hosts, strict=True))
    ]
    rows = s.nccl_rows(group_of.count(0))
    return "\n".join([s.CONFIG, *sorted(lines), s.COLUMNS, *rows])


@pytest.mark.parametrize(
    ("group_of", "place", "at_once"),
    [
        ([0, 1, 2, 3, 0, 1, 2, 3], (2, 2, 1), 4),
        ([0, 0, 1, 1, 0, 0, 1, 1], (4, 2, 2), 2),
        ([0, 0, 0, 0, 1, 1, 1, 1], (4, 1, 4), 1),
        ([0, 0, 1, 1, 2, 2, 3, 3], (2, 1, 2), 1),
    ],
)
def test_hosts_tell_the_nodes_of_each_of_several_groups(
    tmp_path: Path, group_of: list[int], place: tuple[int, int, int], at_once: int
) -> None:
    """Four ranks on each of two hosts."""
    found = read(tmp_path, split(group_of, [0] * 4 + [1] * 4))
    assert {(x.ranks, x.nodes, x.ranks_per_node) for x in found.samples} == {place}
    said = [note for note in found.notes if f"{at_once} such groups at once on each node" in note]
    assert len(said) == (at_once > 1)


def before_2020(collective: str, ranks: int) -> str:
    """all_gather's and reduce_scatter's algbw left out what a rank keeps, and was busbw."""
    rows = []
    for size in s.SIZES:
        time = round(s.time_us(size), 1)
        both = f"{size / time / 1e3 * (ranks - 1) / ranks:.2f}"
        half = f"{time} {both} {both} 0e+00"
        redop = "sum" if collective == "reduce_scatter" else ""
        rows.append(f"{size} {size // 4 // ranks} float {redop} {half} {half}")
    return f"$ ./{collective}_perf -b 1K -g 8\n" + old("type", rows)


def test_what_a_rank_keeps_was_no_part_of_bandwidths_before_2020(tmp_path: Path) -> None:
    summed = "$ ./all_reduce_perf -b 1K -g 8\n" + old("type", s.nccl_rows(8, middle="sum"))
    text = summed + before_2020("all_gather", 8) + before_2020("reduce_scatter", 8)
    found = read(tmp_path, text)
    assert [x.collective for x in found.samples[::4]] == [
        "allreduce", "all_gather", "reduce_scatter",
    ]  # fmt: skip
    assert [x.median_s for x in found.samples] == expected() * 3
    assert ({x.ranks for x in found.samples}, found.dropped) == ({8}, 0)


def test_a_bandwidth_before_2020_tells_a_damaged_time(tmp_path: Path) -> None:
    time = f"{round(s.time_us(s.SIZES[2]), 1)}"
    text = before_2020("all_gather", 8).replace(time, time[1:], 1)
    found = read(tmp_path, text)
    assert ([x.bytes for x in found.samples], found.dropped) == ([*s.SIZES[:2], s.SIZES[3]], 1)


def test_a_build_without_mpi(tmp_path: Path) -> None:
    """Every process is rank 0 of one, on its own host, and writes between the others."""
    alone = [f"#   Rank  0 Pid  {at} on host{at} device  0 [0x00] Acme G1" for at in range(3)]
    rows = s.nccl_rows(1, middle="sum", wrong=NARROW)
    doubled = [row for row in rows for _ in alone]
    text = "\n".join([*[s.CONFIG] * 3, *alone, *[s.COLUMNS] * 3, *doubled, *s.FOOTER * 3])
    with pytest.raises(MeasurementError, match=r"run.log: 3 processes have rank 0 .*with MPI=1"):
        read(tmp_path, text)
    one = read(tmp_path, "\n".join([s.CONFIG, alone[0], s.COLUMNS, *rows]))
    assert {x.ranks for x in one.samples} == {1}


def test_a_collective_that_cannot_be_told(tmp_path: Path) -> None:
    rows = s.nccl_rows(8, "all_gather", "none -1", ("N/A", "N/A"))
    with pytest.raises(
        StudyError,
        match=r"does not name the collective, and its rows fit several; give it.*--collective",
    ):
        read(tmp_path, s.nccl(rows))
    assert {x.collective for x in read(tmp_path, s.nccl(rows), collective="alltoall").samples} == {
        "alltoall"
    }
    named = "$ srun build/all_gather_perf -b 1K\n" + s.nccl(rows)
    assert {x.collective for x in read(tmp_path, named).samples} == {"all_gather"}


def test_text_that_speaks_of_errors_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="is not a known benchmark output; give output of nccl-te"):
        read(tmp_path, "# dse\n\nEvery error is one line. What failed is told.\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (s.nccl([]), r"no usable result \(read as nccl-tests"),
        (
            s.nccl([]) + "host0: Test NCCL failure common.cu:958\n",
            "it reports: host0: Test NCCL failure",
        ),
        (
            "start failed on node7: NIC alloc failed\n",
            "it reports: start failed on node7: NIC alloc failed; give output of nccl-tests",
        ),
        (s.nccl([row[:60] for row in s.nccl_rows()]), "4 rows are damaged"),
    ],
)
def test_a_failed_run(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(MeasurementError, match=said):
        read(tmp_path, text)


def test_a_collective_that_failed_after_another(tmp_path: Path) -> None:
    text = s.nccl_named("all_reduce_perf", s.nccl_rows()) + s.nccl_named("alltoall_perf", [])
    found = read(tmp_path, text)
    assert len(found.samples) == 4
    assert any("alltoall: started, but printed no rows" in note for note in found.notes)
