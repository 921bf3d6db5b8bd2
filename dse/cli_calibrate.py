"""``dse calibrate``: measure, read others' logs, fit, predict, compare."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dse.errors import StudyError
from dse.terminal import console, print_json

calibrate = typer.Typer(
    help="Measure allreduce, fit what one message costs, and predict with it.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RanksPerNode = Annotated[str | None, typer.Option(help="Ranks of a full node.")]
Algorithm = Annotated[
    str | None, typer.Option(help="ring, tree, ..., auto; what was measured, if left out.")
]
PROFILE = "A profile: a path, or a name in ./calibrations or of those that come with dse."


@calibrate.command("run")
def calibrate_run(
    out: Annotated[Path, typer.Option(help="Folder for both files.")] = Path("calibrations"),
    name: Annotated[str, typer.Option(help="Name of the profile.")] = "this-machine",
    budget: Annotated[float, typer.Option(help="Seconds to measure.")] = 60.0,
    ranks: Annotated[
        str | None, typer.Option(help="Rank counts to measure: 2,3,4,8 or as the hosts allow.")
    ] = None,
    mpi: Annotated[str | None, typer.Option(help="openmpi, mpich, or an mpiexec's path.")] = None,
    hostfile: Annotated[Path | None, typer.Option(help="Hosts, as 'node1 slots=4' lines.")] = None,
    ranks_per_node: Annotated[int | None, typer.Option(help="On every host of the file.")] = None,
    interface: Annotated[str | None, typer.Option(help="Network interface of the hosts.")] = None,
    link: Annotated[str | None, typer.Option(help="Name of the network between hosts.")] = None,
    link_bandwidth: Annotated[
        str | None, typer.Option(help="Its speed, as '25 Gbps'; one direction, per host.")
    ] = None,
    runner: Annotated[
        str,
        typer.Option(
            help="mpi; torch (gloo or NCCL); ray (the same over a Ray cluster); grpc or mpi-ps "
            "(parameter servers); compute (matrix products, training steps)."
        ),
    ] = "mpi",
    address: Annotated[str | None, typer.Option(help="Of a Ray cluster to join.")] = None,
    servers: Annotated[
        str | None, typer.Option(help="Numbers of parameter servers: 1,2; --ranks are the workers.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="What computes: cpu or cuda.")] = None,
) -> None:
    """Measure allreduce, parameter servers or compute speed, and fit a profile.

    On this machine; on the hosts of --hostfile; or, under mpirun, srun or torchrun, among the ranks
    that those started.
    """
    from dse.calibration import arguments
    from dse.calibration.session import whereabouts
    from dse.session_calibrate import calibrate_machine

    where = whereabouts(
        mpi, hostfile, ranks_per_node, interface, link, link_bandwidth, runner, address,
        None if servers is None else arguments.counts(servers, "--servers"), device,
    )  # fmt: skip
    calibrate_machine(out, name, budget, ranks, where)


@calibrate.command("fit")
def calibrate_fit(
    measurements: Annotated[list[Path], typer.Argument(help="Measurement files.")],
    out: Annotated[Path, typer.Option(help="The profile to write.")],
) -> None:
    """Fit a profile to measurements made earlier."""
    from dse.session_calibrate import fit_profile

    fit_profile(measurements, out)


@calibrate.command("show")
def calibrate_show(
    profile: Annotated[str, typer.Argument(help=PROFILE)],
    file: Annotated[
        Path | None, typer.Argument(help="With --plot: the .html file to write.")
    ] = None,
    plot: Annotated[
        bool, typer.Option("--plot", help="Plot measured and predicted times, here or to FILE.")
    ] = False,
    json: Json = False,
) -> None:
    """Print a profile: parameters with intervals, range of validity, held-out errors."""
    from dse.calibration import profile_data, show_profile
    from dse.calibration.plot import print_plot, write_plot
    from dse.session_calibrate import named_profile

    if file is not None and not plot:
        raise StudyError(str(file), 0, 0, "a file is written by --plot", "add --plot")
    found = named_profile(profile)
    if file is not None:
        print(f"wrote {write_plot(found, file)}")
    elif json:
        print_json(profile_data(found))
    else:
        show_profile(found, console())
        if plot:
            print_plot(found, console())


@calibrate.command("predict")
def calibrate_predict(
    profile: Annotated[str, typer.Argument(help=PROFILE)],
    ranks: Annotated[str, typer.Option(help="Rank counts: 8,128.")],
    bytes: Annotated[str, typer.Option("--bytes", help="Sizes: 4KiB,1MiB,1GiB.")],
    ranks_per_node: RanksPerNode = None,
    algorithm: Algorithm = None,
    servers: Annotated[
        str | None, typer.Option(help="Parameter servers of --algorithm ps: 1,2; 1 if left out.")
    ] = None,
    link_bandwidth: Annotated[
        str | None,
        typer.Option(
            help="Another speed of a node's link, as '25 Gbps'; the measured if left out."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Predict seconds of allreduce, or of parameter servers, and say what was not measured."""
    from dse.calibration import arguments
    from dse.calibration.prediction_table import (
        prediction_records,
        prediction_table,
        server_records,
        server_table,
        unpriced_reasons,
    )
    from dse.session_calibrate import named_profile

    counts, sizes = arguments.counts(ranks, "--ranks"), arguments.sizes(bytes)
    local = arguments.count(ranks_per_node, "--ranks-per-node")
    speed = arguments.link_speed(link_bandwidth)
    found = named_profile(profile)
    counted = None if servers is None else arguments.counts(servers, "--servers")
    if name := arguments.server_algorithm(found, algorithm, counted):
        if local is not None:
            problem, remedy = "says nothing of parameter servers", "leave it out"
            raise StudyError("--ranks-per-node", 0, 0, problem, remedy)
        served = server_records(found, name, counts, counted or (1,), sizes, speed)
        if json:
            print_json(served)
        else:
            console().print(server_table(found, served))
        return
    chosen = arguments.algorithms(found, algorithm)
    records = prediction_records(found, chosen, counts, local, sizes, speed)
    if json:
        print_json(records)
        return
    screen = console()
    screen.print(prediction_table(found, records))
    for reason in unpriced_reasons(records):
        screen.print(f"- {reason}", markup=False, highlight=False)


@calibrate.command("compare")
def calibrate_compare(
    a: Annotated[str, typer.Argument(help=PROFILE)],
    b: Annotated[str, typer.Argument(help="Another.")],
    ranks: Annotated[
        str | None, typer.Option(help="Rank counts; those that both measured, if left out.")
    ] = None,
    ranks_per_node: RanksPerNode = None,
    bytes: Annotated[
        str | None, typer.Option("--bytes", help="Sizes; those that both measured, if left out.")
    ] = None,
    algorithm: Algorithm = None,
    json: Json = False,
) -> None:
    """Say which of two profiles is faster where, and by how much."""
    from dse.calibration import arguments
    from dse.calibration.comparison import compare, show_comparison
    from dse.session_calibrate import named_profile

    counts = None if ranks is None else arguments.counts(ranks, "--ranks")
    sizes = None if bytes is None else arguments.sizes(bytes)
    local = arguments.count(ranks_per_node, "--ranks-per-node")
    found = compare(named_profile(a), named_profile(b), counts, local, sizes, algorithm)
    if json:
        print_json(found.data())
        return
    show_comparison(found, console())


@calibrate.command("suggest")
def calibrate_suggest(
    profile: Annotated[str, typer.Argument(help=PROFILE)],
    study: Annotated[str, typer.Option(help="The study whose intervals are to narrow.")],
    budget: Annotated[float, typer.Option(help="Seconds to measure.")] = 60.0,
    max_ranks: Annotated[
        str | None, typer.Option(help="Most ranks that can be run; twice the most measured.")
    ] = None,
    max_nodes: Annotated[
        str | None, typer.Option(help="Most nodes that can be used; as many as were measured.")
    ] = None,
    max_ranks_per_node: Annotated[
        str | None, typer.Option(help="Most ranks of one node; as many as were measured on one.")
    ] = None,
    json: Json = False,
) -> None:
    """Name the next runs that would narrow the intervals of a study the most."""
    from dse.calibration import arguments
    from dse.calibration.planning.advice import advice_data, show_advice
    from dse.session_calibrate import suggest_runs

    most = arguments.count(max_ranks, "--max-ranks")
    nodes = arguments.count(max_nodes, "--max-nodes")
    local = arguments.count(max_ranks_per_node, "--max-ranks-per-node")
    arguments.check_budget(budget)
    found, advice = suggest_runs(profile, study, budget, most, nodes, local)
    if json:
        print_json(advice_data(advice))
        return
    show_advice(found, advice, budget, console())


@calibrate.command("import")
def calibrate_import(
    files: Annotated[list[Path], typer.Argument(help="Logs of benchmarks, or tables.")],
    out: Annotated[Path, typer.Option(help="The measurement file to write.")],
    ranks: Annotated[int | None, typer.Option(help="Ranks, where a log does not say.")] = None,
    nodes: Annotated[int | None, typer.Option(help="Nodes, where a log does not say.")] = None,
    select: Annotated[
        str | None, typer.Option(help="Rows of a table: system=polaris,transport=ofi.")
    ] = None,
    system: Annotated[str | None, typer.Option(help="Name of the machine.")] = None,
    link: Annotated[str | None, typer.Option(help="Name of the slowest link, as ib-hdr.")] = None,
    link_bandwidth: Annotated[
        str | None, typer.Option(help="Speed of a node's link, as '100 Gbps'; one direction.")
    ] = None,
    collective: Annotated[
        str | None, typer.Option(help="Collective, where a log does not name it.")
    ] = None,
    library: Annotated[
        str | None, typer.Option(help="Library, as openmpi-4.1.4, where a log does not name it.")
    ] = None,
    algorithm: Annotated[
        str | None, typer.Option(help="Algorithm that was forced, where a log does not name it.")
    ] = None,
) -> None:
    """Read output of nccl-tests, OSU, IMB, gloo, or a table of times, as a measurement file."""
    from dse.calibration.importers.logs import import_to_file
    from dse.session_calibrate import fabric_names

    import_to_file(
        files, out, ranks, nodes, select, system=system, link=link, collective=collective,
        library=library, algorithm=algorithm, link_bandwidth=link_bandwidth,
        fabrics=fabric_names(),
    )  # fmt: skip
