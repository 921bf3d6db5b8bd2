"""A line of a table of samples per second, checked."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, NoReturn, cast, get_args, get_type_hints

from dse import catalog
from dse.calibration.throughput_part import NODE, Throughput, aggregation_names
from dse.catalog import decimal_mark
from dse.errors import StudyError
from dse.mistakes import Mistakes, Part
from dse.model.step import PARAMETER_SERVER
from dse.spelling import alternatives, meant, real_name, same
from dse.units import LARGEST, SMALLEST, UnitError, rounded

REQUIRED = ("workload", "accelerator", "samples_per_s", "precision", "batch_per_gpu")
DEFAULTS: Mapping[str, str] = {
    "gpus": "1", "gpus_per_node": str(NODE), "stack": "vendor", "accumulation": "1",
    "optimizer": "momentum",
}  # fmt: skip
_SEE = {  # of kinds that have many names
    "nodes": "see `dse catalog nodes`",
    "fabrics": "see `dse catalog fabrics`",
    "aggregations": "write <algorithm>-<transport> as in studies, such as ring-nccl",
}
SUMMING = ("aggregation", "node", "intra_node", "inter_node", "nics_per_node")  # nothing if empty
COLUMNS = (*REQUIRED, *DEFAULTS, *SUMMING)
RATE = "samples_per_s"  # the column that tells the decimal mark of a table
# Training may need fewer operations than the catalogue counts: a 3x3 convolution by Winograd's
# F(2x2, 3x3) 2.25 times fewer multiplications (Lavin and Gray, CVPR 2016; published rates of VGG-16
# on P100 in fp32 are 1.35 times the peak), and samples that are shorter than usual as much.
FEWER_OPERATIONS = 2.25


class Summing(NamedTuple):
    """The fields of a rate of the same names; None where nobody says."""

    aggregation: str | None = None
    node: str | None = None
    intra_node: str | None = None
    inter_node: str | None = None
    nics_per_node: int | None = None


def _by_servers(aggregation: str) -> bool:
    name = aggregation_names()[aggregation]
    algorithm = catalog.approach(name.approach).algorithm if name.approach else name.algorithm
    return algorithm == PARAMETER_SERVER


def summing_cells(config: Mapping[str, str], gpus: int, nodes: int) -> Mapping[str, str]:
    """What the columns SUMMING hold of a point, by its axes as they are written; nothing where a
    table cannot say it: of servers, or of links that are no fabrics of the catalogue."""
    found = {name: config[name] for name in SUMMING if config.get(name)}
    name = found.get("aggregation", "")
    if gpus == 1 or name not in aggregation_names() or _by_servers(name):
        return {}
    fabrics = catalog.names("fabrics")
    if any(found.get(link, fabrics[0]) not in fabrics for link in ("intra_node", "inter_node")):
        return {}
    node = catalog.node(found["node"]) if "node" in found else None
    between = "inter_node" in found or (node is not None and node.inter_node)
    return found if between or nodes == 1 else {}


@dataclass(frozen=True)
class Row:
    """A line of a table while it is checked.

    columns: where each cell begins, from 1. decimal: the decimal mark of the table, see
    :func:`dse.catalog.decimal_mark.usual`.
    """

    names: Sequence[str]
    cells: Sequence[str]
    file: str
    line: int
    columns: Sequence[int]
    decimal: str = decimal_mark.POINT

    def wrong(self, name: str, problem: str, remedy: str) -> NoReturn:
        column = self.columns[self.names.index(name)] if name in self.names else 1
        raise StudyError(self.file, self.line, column, f"{name}: {problem}", remedy)

    def cell(self, name: str) -> str:
        found = self.written(name)
        if not found and name in REQUIRED:
            self.wrong(name, "is empty", "write its value")
        return found or DEFAULTS.get(name, "")

    def written(self, name: str) -> str:
        """The cell as it is in the table; empty where there is no such column."""
        return self.cells[self.names.index(name)] if name in self.names else ""

    def positive(self, name: str) -> float:
        try:
            value = float(decimal_mark.with_point(self.cell(name), self.decimal))
        except UnitError as cause:
            self.wrong(name, cause.problem, cause.remedy)
        except ValueError:
            value = math.nan
        if not SMALLEST <= value <= LARGEST:
            self.wrong(
                name, f"'{self.cell(name)}' is not a positive number", "write for example 64"
            )
        return value

    def count(self, name: str) -> int:
        value = self.positive(name)
        if value != round(value):
            self.wrong(name, f"'{self.cell(name)}' is not a whole number", "write for example 8")
        return round(value)

    def choice(self, name: str, known: Collection[str], kind: str = "") -> str:
        """One of the names that are known, in any spelling, or by an alias that is clear."""
        value = real_name(self.cell(name), known, catalog.clear_aliases(kind or name))
        if value not in known:
            could = catalog.aliases().get(kind, {}).get(same(value))
            if could:  # a measurement is of one of them
                self.wrong(name, f"'{value}' could mean several", f"write {alternatives(could)}")
            remedy = meant(value, known, _SEE.get(kind) or f"choose from {', '.join(known)}")
            self.wrong(name, f"'{value}' is not known", remedy)
        return value

    def workload(self) -> str:
        """A name, or the absolute path of a file that holds a workload."""
        value = self.cell("workload")
        if not catalog.is_path(value):
            return self.choice("workload", catalog.names("workloads"), "workloads")
        path = Path(self.file).parent / value
        try:
            catalog.named_workload(str(path))
        except StudyError as cause:
            if cause.line:  # a mistake in that file
                raise
            self.wrong("workload", f"{path}: {cause.problem}", "name a workload file")
        return str(path.resolve())

    def check_precision(self, precision: str, accelerator: str) -> None:
        """Refuse a number format in which the accelerator has no peak."""
        known = catalog.accelerator(accelerator).peak_flops_per_s
        if precision not in known:
            able = alternatives(name for name in _choices("precision") if name in known)
            self.wrong(
                "precision", f"no peak of {accelerator} is known in {precision}", f"write {able}"
            )

    def optional(self, name: str, known: Collection[str], kind: str) -> str | None:
        """The same of a cell that may be empty."""
        return self.choice(name, known, kind) if self.cell(name) else None

    def node(self, name: str | None, accelerator: str) -> catalog.Node | None:
        """The complete machine of that name, which must hold such accelerators."""
        if name is None:
            return None
        found = catalog.node(name)
        if found.accelerator != accelerator:
            problem = f"{name} holds {found.accelerator}, not {accelerator}"
            self.wrong("node", problem, f"write accelerator {found.accelerator}, or another node")
        return found

    def per_node(self, gpus: int, node: catalog.Node | None, given: int | None) -> int:
        """Accelerators that share a node: of a complete machine all that it holds, unless given."""
        found = given or (node.accelerators if node else NODE)
        if node is not None and found > node.accelerators:
            problem = f"{node.name} holds {node.accelerators} accelerators, not {found}"
            self.wrong("gpus_per_node", problem, f"write {node.accelerators}, or another node")
        if gpus > found and given is None and node is None:
            problem = f"{gpus} accelerators are more than one node's {NODE}"
            self.wrong("gpus", problem, "give the column gpus_per_node")
        return found

    def aggregation(self) -> str | None:
        """How several accelerators summed their gradients, which other columns may ask for."""
        found = self.optional("aggregation", aggregation_names(), "aggregations")
        said = [name for name in SUMMING if self.cell(name)]
        if said and found is None:
            problem = f"is empty beside {said[0]}"
            self.wrong("aggregation", problem, "write how gradients were summed, as ring-nccl")
        if found is not None and _by_servers(found):
            problem = f"{found} needs servers, of which a rate says nothing"
            self.wrong("aggregation", problem, "leave it empty")
        return found

    def check_network(self, gpus: int, gpus_per_node: int) -> None:
        """Refuse several nodes that sum gradients over nothing."""
        if gpus > gpus_per_node:
            nodes = math.ceil(gpus / gpus_per_node)
            problem = (
                f"is empty, but {gpus} accelerators at {gpus_per_node} a node are {nodes} nodes"
            )
            self.wrong("inter_node", problem, "write the network between them, as 100gbe or ib-hdr")

    def summing(
        self, gpus: Part[int], node: Part[catalog.Node | None], per_node: Part[int]
    ) -> Summing:
        """How several accelerators summed their gradients; of one nothing, whatever is written."""
        mistakes, fabrics = Mistakes(), catalog.names("fabrics")
        intra = mistakes.part(lambda: self.optional("intra_node", fabrics, "fabrics"))
        inter = mistakes.part(lambda: self.optional("inter_node", fabrics, "fabrics"))
        cards = mistakes.part(
            lambda: self.count("nics_per_node") if self.cell("nics_per_node") else None
        )
        one = gpus.otherwise(1) == 1  # of a mistaken number nothing more is asked
        named = partial(self.optional, "aggregation", aggregation_names(), "aggregations")
        aggregation = mistakes.part(named if one else self.aggregation)

        def network() -> None:
            machine = node()
            if aggregation() and not inter() and not (machine and machine.inter_node):
                self.check_network(gpus(), per_node())

        if not one:
            mistakes.part(network)
        mistakes.told()
        if one:
            return Summing()
        machine = node()
        name = machine.name if machine else None
        return Summing(aggregation(), name, intra(), inter(), cards())

    def rate(self) -> Throughput:
        """What the line says. Raises StudyError with every mistake and its place."""
        if len(self.cells) != len(self.names):
            problem = f"{len(self.cells)} cells in place of {len(self.names)}"
            raise StudyError(self.file, self.line, 1, problem, "leave a cell empty for its default")
        mistakes = Mistakes()
        part, choice = mistakes.part, self.choice
        accelerator = part(
            lambda: choice("accelerator", catalog.names("accelerators"), "accelerators")
        )
        gpus = part(lambda: self.count("gpus"))
        named = part(lambda: self.optional("node", catalog.names("nodes"), "nodes"))
        node = part(lambda: self.node(named(), accelerator()))
        size = part(lambda: self.count("gpus_per_node") if self.written("gpus_per_node") else None)
        per_node = part(lambda: self.per_node(gpus(), node(), size()))
        workload = part(self.workload)
        precision = part(lambda: choice("precision", _choices("precision")))
        part(lambda: self.check_precision(precision(), accelerator()))
        stack = part(lambda: choice("stack", catalog.computing().stacks))
        batch, speed = (part(partial(self.positive, n)) for n in ("batch_per_gpu", "samples_per_s"))
        passes = part(lambda: self.count("accumulation"))
        optimizer = part(lambda: choice("optimizer", _choices("optimizer")))
        summing = part(lambda: self.summing(gpus, node, per_node))
        mistakes.told()
        found = Throughput(
            workload=workload(),
            accelerator=accelerator(),
            precision=precision(),  # type: ignore[arg-type]
            stack=stack(),
            batch_per_gpu=batch(),
            samples_per_s=speed(),
            gpus=gpus(),
            gpus_per_node=per_node(),
            accumulation=passes(),
            optimizer=optimizer(),  # type: ignore[arg-type]
            **summing()._asdict(),
        )
        self.check_possible(found)
        return found

    def check_possible(self, rate: Throughput) -> None:
        """Refuse a rate whose arithmetic no accelerator does in that time."""
        most = most_samples_per_s(rate)
        if rate.samples_per_s <= most:
            return
        own = f"{rate.gpus} {rate.accelerator}" if rate.gpus > 1 else f"one {rate.accelerator}"
        times = rounded(rate.samples_per_s / most)
        problem = (
            f"{rate.samples_per_s:,.6g} samples/s are {times} times what {own} can "
            f"compute of {catalog.named_workload(rate.workload).name} at the peak of "
            f"{rate.precision} ({rounded(most)})"
        )
        remedy = "write samples (not tokens) per second, and in gpus the number of accelerators"
        if tokens := catalog.named_workload(rate.workload).tokens_per_sample:
            remedy += f"; a sample of this workload has {tokens:,.0f} tokens"
        self.wrong("samples_per_s", problem, remedy)


def most_samples_per_s(rate: Throughput) -> float:
    """``gpus * peak / (3 * forward FLOPs)``, times :data:`FEWER_OPERATIONS` where fewer may do: of
    networks that may hold convolutions, and of samples that differ in length."""
    workload = catalog.named_workload(rate.workload)
    peak = catalog.accelerator(rate.accelerator).peak_flops_per_s[rate.precision]
    fewer = workload.varying_length or workload.family in ("convolutional", "other")
    computed = 3 * workload.forward_flops / (FEWER_OPERATIONS if fewer else 1.0)
    return rate.gpus * peak / computed if computed else math.inf


def _choices(field: str) -> tuple[str, ...]:
    """The values that a field of a rate may have."""
    return cast(tuple[str, ...], get_args(get_type_hints(Throughput)[field]))
