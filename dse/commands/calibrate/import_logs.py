"""``dse calibrate import``: others' logs as a measurement file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_logs(
    files: Annotated[list[Path], typer.Argument(help="Logs of benchmarks, or tables.")],
    out: Annotated[Path, typer.Option(help="The measurement file to write.")],
    ranks: Annotated[int | None, typer.Option(help="Ranks, where a log does not say.")] = None,
    nodes: Annotated[int | None, typer.Option(help="Nodes, where a log does not say.")] = None,
    select: Annotated[
        str | None, typer.Option(help="Rows of a table: system=polaris,transport=ofi.")
    ] = None,
    system: Annotated[str | None, typer.Option(help="Name of the machine.")] = None,
    link: Annotated[
        str | None, typer.Option(help="Name of the slowest link, such as ib-hdr.")
    ] = None,
    link_bandwidth: Annotated[
        str | None,
        typer.Option(help="Speed of a node's link in one direction, such as '100 Gbps'."),
    ] = None,
    collective: Annotated[
        str | None, typer.Option(help="Collective, where a log does not name it.")
    ] = None,
    library: Annotated[
        str | None,
        typer.Option(help="Library, such as openmpi-4.1.4, where a log does not name it."),
    ] = None,
    algorithm: Annotated[
        str | None, typer.Option(help="Algorithm that was forced, where a log does not name it.")
    ] = None,
) -> None:
    """Read output of nccl-tests, OSU, IMB, gloo, or a table of times, as a measurement file."""
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
    rows, dropped = logs.counted(len(found.samples), "row"), logs.counted(found.dropped, "row")
    print(f"wrote {out}: {rows}, {dropped} dropped")


def _say_unknown_fabric(link: str) -> None:
    """That no fabric of the catalogue has the link's name, if none has."""
    from dse import catalog
    from dse.spelling import meant

    fabrics = catalog.names("fabrics")
    if link not in fabrics:
        near = meant(link, fabrics, "see dse catalog fabrics")
        print(f"--link {link}: no fabric of the catalogue has this name; kept as it is; {near}")
