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

    Reads the output of nccl-tests, OSU, IMB and gloo, and tables of times.
    """
    from dse import catalog
    from dse.calibration.importers.logs import import_to_file

    import_to_file(
        files, out, ranks, nodes, select, system=system, link=link, collective=collective,
        library=library, algorithm=algorithm, link_bandwidth=link_bandwidth,
        fabrics=catalog.names("fabrics"),
    )  # fmt: skip
