"""``dse calibrate import``: a measurement file from benchmark logs."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Annotated

import typer

from dse.errors import ArgumentError


def import_logs(
    files: Annotated[list[Path], typer.Argument(help="Benchmark logs, or tables of times.")],
    name: Annotated[
        str | None,
        typer.Option(help="Also fit a profile of this name, in ./calibrations, for studies."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The measurement file to write [with --name: NAME.measurements.json beside the "
            "profile]."
        ),
    ] = None,
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
    """Convert benchmark logs to a measurement file, and with --name to a profile.

    Reads the output of nccl-tests, OSU, IMB and gloo, tables of times, and traces of training by
    PyTorch's profiler (also .json.gz) and Horovod.
    """
    from dse.calibration import arguments, write_profile
    from dse.calibration.experiment import MEASUREMENTS, experiment_text
    from dse.calibration.files import write_text
    from dse.calibration.fitting.profile import fit_experiments
    from dse.calibration.importers import logs
    from dse.calibration.profile_files import CALIBRATIONS, check_replaces_profile
    from dse.commands.calibrate.fit import print_fit

    profile = None
    if name is not None:
        arguments.check_profile_name(name)
        profile = CALIBRATIONS / f"{name}.yaml"
        check_replaces_profile(profile, rates=False)
        out = out or CALIBRATIONS / f"{name}{MEASUREMENTS}"
    if out is None:
        problem = "is missing, and so is --out"
        remedy = "write for example --name mine for a profile, or --out mine.json to fit later"
        raise ArgumentError("--name", problem, remedy)
    logs.check_out(out, files)
    found = logs.import_logs(
        files, ranks, nodes, select, system=system, link=link, collective=collective,
        library=library, algorithm=algorithm, link_bandwidth=link_bandwidth,
        name=name or out.name.partition(".")[0] or "imported",
    )  # fmt: skip
    text, fitted = experiment_text(found), None
    if profile is not None:  # before anything is written: it may be refused
        digest = sha256(text.encode()).hexdigest()
        fitted = fit_experiments([found], profile.stem, digest, ", ".join(map(str, files)))
        write_profile(fitted, profile)
    write_text(out, text)
    for note in found.notes:
        print(note)
    rows, dropped = (
        logs.counted(len(found.samples), "row"),
        logs.counted(found.dropped, "damaged row"),
    )
    print(f"wrote {out}: {rows}, {dropped} dropped")
    if profile is not None and fitted is not None:
        print_fit(fitted, profile)
        print(f"a study uses it by calibration: [{name}]")
