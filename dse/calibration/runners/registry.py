"""The runners of ``dse calibrate run``: one row each.

From the rows follow what ``--runner`` offers and its help, which options go together, what runs,
and the command that a report gives to measure a profile again. To add a runner, write a module in
this folder with a function that takes a :class:`Request` and returns an Experiment, and
add a row to :data:`RUNNERS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dse.calibration.runners.started_rank import MPIRUN, SRUN, TORCHRUN
from dse.errors import ArgumentError
from dse.spelling import alternatives, meant

if TYPE_CHECKING:
    from dse.calibration.experiment import Experiment
    from dse.calibration.profile import Profile
    from dse.calibration.runners.hosts import Hosts
    from dse.calibration.runners.plan import Progress
    from dse.calibration.runners.started_rank import Started


@dataclass(frozen=True)
class Request:
    """A measurement as the user asks for it; None leaves the choice to the runner.

    A runner uses the fields of the options that it takes. budget_s: seconds of wall clock, starts
    included. name: of the experiment and its profile. ranks: counts of ranks, or of workers.
    ``progress(done, total, text)`` is called before every run. mpi: see find_launcher. hosts: None
    is this machine alone. link, link_bytes_per_s: the network between the hosts, by name and in one
    direction per host. address: of a Ray cluster; None starts Ray here. servers: numbers of
    parameter servers. device: what is to compute, or holds what is summed: cpu or cuda. workload:
    of which a block is to be timed, by its name or path. operations: to measure besides allreduce.
    """

    budget_s: float
    name: str = "this-machine"
    ranks: Sequence[int] | None = None
    progress: Progress | None = None
    mpi: str | None = None
    hosts: Hosts | None = None
    link: str | None = None
    link_bytes_per_s: float | None = None
    address: str | None = None
    servers: Sequence[int] | None = None
    device: str | None = None
    workload: str | None = None
    operations: tuple[str, ...] = ()


# Its fields that the user gives by an option of that name, which not every runner takes.
OPTIONS = ("ranks", "mpi", "link", "address", "servers", "device", "workload", "operations")
# Parts of a profile that a runner can measure.
ALLREDUCE, SERVERS, COMPUTE = "allreduce", "parameter servers", "compute speed"

# Options of the command that not every runner takes.
NETWORK = ("--ranks", "--link", "--link-bandwidth")
HOSTS = ("--hostfile", "--ranks-per-node")
MPI = ("--mpi", "--interface")
OTHERS = ("--operations",)
# What a launcher of ranks has decided before dse starts.
DECIDED = frozenset((*HOSTS, *MPI))


@dataclass(frozen=True)
class Runner:
    """A way to measure, offered as ``--runner NAME``.

    what: what it measures, over what; follows "measuring" in a sentence.
    part: which part of a profile its measurements become: ALLREDUCE, SERVERS or COMPUTE.
    options: those of the command that it takes, besides --budget, --name, --out and --runner.
    function: 'module:function', called with a Request; returns an Experiment. Imported when it is
    called, since it may need what is not installed; a module of this package begins with a dot.
    transports: those that it measures; empty where none is involved.
    launchers: those of :mod:`.started_rank` as whose ranks it can measure. rank_function: called
    there by every rank, with the Request and the Started; returns the Experiment on rank 0, None
    on the others.
    """

    name: str
    what: str
    part: str
    options: tuple[str, ...]
    function: str
    transports: tuple[str, ...] = ()
    launchers: tuple[str, ...] = ()
    rank_function: str = ""

    def measure(self, request: Request, me: Started | None = None) -> Experiment | None:
        """Measure on this machine, or wherever the request says; or as ``me``, one of the ranks
        that a launcher started, which all must call alike: None on all of them but rank 0.

        Raises StudyError for a request that cannot be right, MeasurementError where measuring
        fails; no process survives either.
        """
        run = _imported(self.function if me is None else self.rank_function)
        found: Experiment | None = run(request) if me is None else run(request, me)
        return found

    def check_options(self, given: Iterable[str], launcher: str | None = None) -> None:
        """Raise StudyError for an option that does not apply to this runner or launcher."""
        for option in given:
            if launcher is not None and option in DECIDED:
                problem = f"{launcher} has chosen the hosts and the MPI already"
                raise ArgumentError(option, problem, "leave it out")
            if option not in self.options:
                others = alternatives(one.name for one in RUNNERS if option in one.options)
                problem = f"does not apply to --runner {self.name}"
                raise ArgumentError(option, problem, f"leave it out, or give --runner {others}")


RUNNERS: tuple[Runner, ...] = (
    Runner(
        "mpi", "allreduce over MPI", ALLREDUCE, (*NETWORK, *HOSTS, *MPI, *OTHERS),
        ".mpi:run", ("mpi",), (MPIRUN, SRUN), ".mpi:run_as_rank",
    ),
    Runner(
        "torch", "allreduce over gloo or NCCL", ALLREDUCE, (*NETWORK, *OTHERS),
        ".torch_distributed:run", ("gloo", "nccl"), (TORCHRUN, SRUN, MPIRUN),
        ".torch_distributed:run_as_rank",
    ),
    Runner(
        "ray", "allreduce over gloo or NCCL among Ray actors", ALLREDUCE,
        (*NETWORK, *OTHERS, "--address"), ".torch_distributed:run_on_ray", ("gloo", "nccl"),
    ),
    Runner(
        "grpc", "parameter servers over gRPC", SERVERS, (*NETWORK, *HOSTS, "--servers"),
        ".parameter_servers:run", ("grpc",),
    ),
    Runner(
        "compute", "compute speed by matrix products", COMPUTE, ("--device", "--workload"),
        ".compute_speed:run",
    ),
)  # fmt: skip


def find_runner(name: str | None, launcher: str | None = None) -> Runner:
    """The runner of that name; None takes the first, or the first for ranks of that launcher.

    Raises StudyError for an unknown name, or a runner that the launcher's ranks cannot be.
    """
    if name is None:
        return next(one for one in RUNNERS if launcher is None or launcher in one.launchers)
    names = [one.name for one in RUNNERS]
    if name not in names:
        remedy = meant(name, names, f"use {alternatives(names)}")
        raise ArgumentError("--runner", f"'{name}' is not known", remedy)
    found = RUNNERS[names.index(name)]
    if launcher is not None and launcher not in found.launchers:
        problem = f"'{name}' cannot measure with the ranks that {launcher} started"
        able = alternatives(one.name for one in RUNNERS if launcher in one.launchers)
        remedy = f"start it without {launcher}, or give --runner {able}"
        raise ArgumentError("--runner", problem, remedy)
    return found


def help_text() -> str:
    """The help text of ``--runner``."""
    offered = "; ".join(f"{one.name}: {one.what}" for one in RUNNERS)
    by = {launcher: find_runner(None, launcher).name for launcher in (MPIRUN, SRUN, TORCHRUN)}
    usual = RUNNERS[0].name
    other = "".join(f"; under {who}: {name}" for who, name in by.items() if name != usual)
    return f"{offered} [default: {usual}{other}]."


def command_for(profile: Profile) -> str:
    """The command that measures what a profile holds, such as 'dse calibrate run --runner grpc'."""
    found = (_measuring(part, transport) for part, transport in _held(profile))
    return next(filter(None, found), _command(RUNNERS[0]))


def measuring(transport: str, servers: bool = False) -> str:
    """The command that measures a transport, or parameter servers over it in place of allreduce;
    empty where no runner does."""
    return _measuring(SERVERS if servers else ALLREDUCE, transport)


def _measuring(part: str, transport: str) -> str:
    able = (one for one in RUNNERS if one.part == part and transport in (one.transports or ("",)))
    return next(map(_command, able), "")


def _command(runner: Runner) -> str:
    option = "" if runner is RUNNERS[0] else f" --runner {runner.name}"
    return f"dse calibrate run{option}"


def _held(profile: Profile) -> Iterator[tuple[str, str]]:
    """The parts of a profile, each with its transport; none is ''."""
    if profile.measured_algorithms or profile.exchanges:
        yield ALLREDUCE, profile.transport
    for transport in profile.ps:
        yield SERVERS, transport
    if profile.compute:
        yield COMPUTE, ""


def _imported(function: str) -> Any:
    """'module:function'; a module that begins with a dot is one of this package."""
    module, _, name = function.partition(":")
    return getattr(import_module(module, __package__), name)
