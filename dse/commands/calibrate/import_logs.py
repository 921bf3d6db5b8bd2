"""``dse calibrate import``: a measurement file from benchmark logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_logs(
    files: Annotated[list[Path], typer.Argument(help="Benchmark logs, or tables of times.")],
    out: Annotated[Path, typer.Option(help="The measurement file to write.")],
    ranks: Annotated[
        int | None, typer.Option(help="Number of ranks, if a log does not state it.")
    ] = None,
    nodes: Annotated[
        int | None, typer.Option(help="Number of nodes, if a log does not state it.")
    ] = None,
    select: Annotated[
        str | None,
        typer.Option(help="Which rows of a table to read, such as system=polaris,transport=ofi."),
    ] = None,
    system: Annotated[str | None, typer.Option(help="Name of the machine.")] = None,
    link: Annotated[
        str | None, typer.Option(help="Name of the slowest link between ranks, such as ib-hdr.")
    ] = None,
    link_bandwidth: Annotated[
        str | None,
        typer.Option(help="Network speed of each node in one direction, such as '100 Gbps'."),
    ] = None,
    collective: Annotated[
        str | None, typer.Option(help="Collective operation, if a log does not name it.")
    ] = None,
    library: Annotated[
        str | None,
        typer.Option(help="Library, such as openmpi-4.1.4, if a log does not name it."),
    ] = None,
    algorithm: Annotated[
        str | None, typer.Option(help="Algorithm that was forced, if a log does not name it.")
    ] = None,
) -> None:
    """Convert benchmark logs to a measurement file.

    Reads the output of nccl-tests, OSU, IMB and gloo, tables of times, and traces of training by
    PyTorch's profiler (also .json.gz) and Horovod.
    """
    from dse.calibration.experiment import write_experiment
    from dse.calibration.importers import logs

    logs.check_out(out, files)
    found = logs.import_logs(
        files, ranks, nodes, select, system=system, link=link, collective=collective,
        library=library, algorithm=algorithm, link_bandwidth=link_bandwidth,
        name=out.name.partition(".")[0] or "imported",
    )  # fmt: skip
    write_experiment(found, out)
    for note in found.notes:
        print(note)
    if link:
        _say_unknown_fabric(link)
    rows, dropped = (
        logs.counted(len(found.samples), "row"),
        logs.counted(found.dropped, "damaged row"),
    )
    print(f"wrote {out}: {rows}, {dropped} dropped")


def _say_unknown_fabric(link: str) -> None:
    """Print a note if no fabric of the catalogue has the link's name."""
    from dse import catalog
    from dse.spelling import meant

    fabrics = catalog.names("fabrics")
    if link not in fabrics:
        near = meant(link, fabrics, "see dse catalog fabrics")
        print(f"--link {link}: the catalogue has no fabric of this name; the name is kept; {near}")
