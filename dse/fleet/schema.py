"""The keys of a fleet study's file: their shape for pydantic, and the JSON Schema for editors.

What needs units, names of the catalogue or other parts of the file passes through as it is and is
read in :mod:`dse.fleet.reader`, which knows the place of each value.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, StringConstraints

from dse.fleet.recipe import MOST_JOBS
from dse.fleet.traces import TOLD
from dse.study.schema import QUANTITY, Fraction, Section, json_schema, one_or_list, shown_as, whole

DEFAULT_JOBS = 200_000
# What to write for a key of a fleet study where it is missing or of another kind.
EXAMPLES = {
    "fleet": "fleet: my-fleet",
    "population": "population: pai-fleet",
    "hardware": "hardware: {ethernet: 25 Gbps}",
    "upgrades": "upgrades: [{ethernet: 100 Gbps}]",
    "money": "money: {gpus: 1000, gpu_hour: 2 USD/hour}",
    "gpus": "gpus: 1000",
    "efficiency": "efficiency: 0.7",
    "busy": "busy: 60 %",
    "columns": "columns: {gpus: the name of a column}",
    "workloads": 'workloads: {"bert-*": bert-large-s512}',
}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)  # null is no value that may be written


def absent(description: str) -> Any:
    """A key that may be left out; it is None then."""
    return Field(default=None, description=description, json_schema_extra=_without_default)


Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Quantity = Annotated[Any, shown_as(QUANTITY)]
Quantities = Annotated[Any, shown_as(one_or_list(QUANTITY))]
Whole = BeforeValidator(whole)
Target = Literal["allreduce-local", "allreduce-cluster", "pearl"]
_COLUMNS = {
    "type": "object",
    "properties": {tells: {"type": "string", "minLength": 1} for tells in TOLD},
    "additionalProperties": False,
}
_ONE_OF_EACH = "a list: one upgrade of each"


class HardwareFile(Section):
    """The hardware of the jobs."""

    node: Text = absent("a machine of dse catalog nodes, for all that is not given here")
    gpu: Quantity = absent("such as 11 TFLOP/s")
    memory: Quantity = absent("such as 1 TB/s")
    pcie: Quantity = absent("such as 10 GB/s")
    ethernet: Quantity = absent("such as 25gbe, or 25 Gbps")
    nvlink: Quantity = absent("such as 50 GB/s")
    efficiency: Fraction = absent("0.7, or 70 %: the share of every peak that is reached")
    gpus_per_server: Annotated[int, Field(ge=1, le=1024), Whole] = absent(
        "accelerators of a server, such as 8"
    )
    shared_pcie: bool = absent("whether linked accelerators of a server share PCIe for input")
    gpu_memory: Quantity = absent(
        "such as 16 GB; jobs of a table whose state_bytes do not fit cannot move to AllReduce, "
        "nor to PEARL if they have no embedding_bytes",
    )


class UpgradeFile(Section):
    """Hardware that differs from the base in some of its peaks."""

    gpu: Quantities = absent(f"such as 64 TFLOP/s; {_ONE_OF_EACH}")
    memory: Quantities = absent(f"such as 4 TB/s; {_ONE_OF_EACH}")
    pcie: Quantities = absent(f"such as 50 GB/s; {_ONE_OF_EACH}")
    ethernet: Quantities = absent(f"such as 100gbe, or 100 Gbps; {_ONE_OF_EACH}")
    nvlink: Quantities = absent(f"such as 300 GB/s; {_ONE_OF_EACH}")
    name: Text = absent("what the report calls it")
    price_per_gpu: Quantity = absent("such as 9 kUSD")


class MoneyFile(Section):
    """The size of the fleet whose gain is counted, and the prices."""

    gpus: Annotated[int, Field(ge=1, le=10**8), Whole] = Field(
        description="accelerators of the fleet"
    )
    busy: Fraction = Field(
        default=1.0, description="the share of hours in which they work, such as 0.6 or 60 %"
    )
    gpu_hour: Quantity = absent("price of a GPU-hour, such as 2 USD/hour")
    accelerator: Text = absent("an accelerator of the catalogue, whose rental is that price")
    amortisation_years: Quantity = absent(
        "years over which purchases are written off; when absent, the price list's"
    )
    gpus_per_nic: Annotated[int, Field(ge=1, le=1024), Whole] = Field(
        default=1, description="accelerators behind one network card"
    )
    prices: Text = absent("path of a price list")


class FleetFile(Section):
    """A dse fleet study: a population of jobs, hardware, upgrades and ports."""

    fleet: str = Field(description="name of the fleet and of its report's folder")
    description: Text = absent("a sentence for the report")
    population: Text = Field(
        description="a name of dse catalog populations, or the path of a .csv or .yaml file, or of "
        "what a scheduler logged"
    )
    columns: Annotated[dict[Text, Text], shown_as(_COLUMNS)] = absent(
        "of a scheduler's log: what a column tells, and its name, such as {gpus: Cards}"
    )
    workloads: dict[Text, Text] = absent(
        "of a scheduler's log: patterns of what jobs are called, such as bert-*, and which "
        "workload of the catalogue these are; the first that matches counts"
    )
    batch_per_gpu: Annotated[float, Field(gt=0, le=1e6)] = absent(
        "of a scheduler's log: samples that a GPU takes in a step, for jobs whose batch it does "
        "not tell; 32 when absent"
    )
    jobs: Annotated[int, Field(ge=1, le=MOST_JOBS), Whole] = Field(
        default=DEFAULT_JOBS, description="how many jobs are drawn"
    )
    seed: Annotated[int, Field(ge=0, lt=2**63), Whole] = Field(
        default=0, description="seed of the random draw of jobs"
    )
    hardware: HardwareFile = absent(
        "what the jobs run on; for a drawn population only what differs from its own",
    )
    overlap: Literal["none", "ideal"] = Field(
        default="none", description="ideal takes the longest of T_d, T_c and T_w"
    )
    upgrades: Annotated[
        list[UpgradeFile],
        Field(min_length=1),
        BeforeValidator(_listed),
        shown_as(one_or_list(UpgradeFile.model_json_schema())),
    ] = absent("other hardware, each upgrade tried alone")
    ports: Annotated[
        list[Target],
        Field(min_length=1),
        BeforeValidator(_listed),
        shown_as(one_or_list({"enum": list(get_args(Target))})),
    ] = absent("architectures that PS/Worker jobs may move to")
    money: MoneyFile = absent("what upgrades and ports are worth")


def fleet_schema() -> dict[str, Any]:
    """The JSON Schema of a fleet study."""
    return json_schema(FleetFile)
