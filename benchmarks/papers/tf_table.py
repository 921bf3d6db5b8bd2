"""``python -m benchmarks.papers.tf_table``: the approaches side by side, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from benchmarks.papers.tf_aggregation import ALLREDUCES, SERVERS, WORKLOADS
from benchmarks.papers.tf_machines import EDR_CLUSTER, on, samples_per_s
from dse import catalog
from dse.model.aggregation.tensorwise import allreduce_s
from dse.model.arrays import Array

RANKS = 16
MESSAGES = {"64 B": 64.0, "64 KiB": 2.0**16, "1 MiB": 2.0**20, "64 MiB": 2.0**26}
GPUS, BATCH = np.array([64.0]), np.array([64.0])


def main() -> None:
    """Print the efficiencies of all approaches, then what each term of an allreduce costs."""
    print("\n\n".join((efficiencies(), messages())))


def efficiencies() -> str:
    """A table of the scaling efficiency of each approach on GPUS accelerators."""
    return markdown(("approach", *WORKLOADS), _efficiencies())


def messages() -> str:
    """A table of the time of one allreduce, with and without each of its terms."""
    return markdown(("allreduce", *MESSAGES), _messages())


def _efficiencies() -> Iterable[tuple[str, ...]]:
    one = np.ones(1)
    for name in (*SERVERS, *ALLREDUCES):
        facts = catalog.approach(name)
        kept = []
        for workload in WORKLOADS:
            many, alone = (samples_per_s(EDR_CLUSTER, facts, workload, n, BATCH)
                           for n in (GPUS, one))  # fmt: skip
            kept.append(f"{(many / alone / GPUS)[0]:.0%}")
        yield name, *kept


def _messages() -> Iterable[tuple[str, ...]]:
    for name, seconds in ablation_s(np.array(list(MESSAGES.values()))).items():
        yield name, *(f"{1e6 * s:,.0f} us" for s in seconds)


def ablation_s(sizes_bytes: Array) -> dict[str, Array]:
    """Seconds of an allreduce of RANKS as proposed, without each of its terms, and NCCL's."""
    best, plain = catalog.approach("horovod-mpi-opt"), catalog.approach("horovod-mpi")
    compared = {
        "as proposed": best,
        "without its pointer cache": replace(best, query_s=plain.query_s),
        "with sums on the host": replace(
            best, sum_s_per_byte=plain.sum_s_per_byte, sum_start_s=plain.sum_start_s
        ),
        "with neither": plain,
        "NCCL 2": catalog.approach("horovod-nccl"),
    }
    return {
        name: np.asarray(allreduce_s(on(EDR_CLUSTER, facts), RANKS, 1, sizes_bytes))
        for name, facts in compared.items()
    }


def markdown(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table with a head."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    main()
