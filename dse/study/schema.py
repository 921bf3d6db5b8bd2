"""The keys of a study file: their shape for pydantic, and the JSON Schema for editors.

Pydantic decides which keys there are and what the plain ones hold. What needs units, names of the
catalogue or other parts of the file (axes, conditions, constraints) passes through as it is and is
read in ``reader.py``, which knows the place of each value.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, create_model

from dse import units
from dse.study.axes import AUTO, AXES, BATCH, MICRO_BATCH, AxisRow
from dse.study.choices import RESOLUTION, SUREST
from dse.study.definition import (
    INPUTS,
    REAL,
    Balance,
    Experts,
    Market,
    Memory,
    RankOrder,
    Recommend,
    RentClass,
)
from dse.study.inline import ACCELERATORS_SCHEMA
from dse.study.mix import MIX, WORKLOAD
from dse.study.names import Names
from dse.study.owned import OWNED_SCHEMA
from dse.study.quantities import QUANTITIES
from dse.study.terms import FAILURES_SCHEMA, OWNERSHIP_SCHEMA, RENTAL_SCHEMA

# What to write for a key of a study where it is missing or of another kind.
EXAMPLES = {
    "study": "study: my-cluster",
    "workload": "workload: resnet50",
    "space": "space: {accelerator: [..], gpus: [..], ..}",
    "objectives": "objectives: {maximize: speedup, minimize: capital}",
    "maximize": "maximize: speedup",
    "minimize": "minimize: capital",
    "axis": "axis: ps_servers",
    "values": "values: [1, 2, 4]",
    "if": "if: {aggregation: ps-grpc}",
    "quality": "quality: mlperf-bert",
    "constraints": "constraints: [fits_memory, capital <= 2 MUSD]",
    "baseline": "baseline: {gpus: 8}",
    "when": "when: [{axis: ps_servers, values: [1, 2], if: {aggregation: ps-grpc}}]",
    "target": "target: {samples: 115e6}",
    "search": "search: {engine: guided}",
    "executor": "executor: {kind: local}",
    "efficiency": "efficiency: {compute: 0.5}",
    "confidence": "confidence: 90 %",
    "experts": "experts: {imbalance: 1.2}",
    "capacity_factor": "capacity_factor: none",
    "resolution": "resolution: 1 %",
    "compute": "compute: 0.5",
    "description": "description: a sentence",
    "region": "region: france",
    "address": "address: auto",
}


class Section(BaseModel):
    """A mapping in a file: no other keys, and no value of another kind."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def whole(value: Any) -> Any:
    """``1e3`` is a whole number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def shown_as(schema: dict[str, Any]) -> WithJsonSchema:
    """What editors are told of a value that the reader checks."""
    return WithJsonSchema(schema)


def one_or_list(item: dict[str, Any]) -> dict[str, Any]:
    """One of these, or a list of them."""
    return {"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]}


QUANTITY = {"type": ["string", "number"]}


def _share(value: Any) -> Any:
    """``30 %`` as 0.3; what is no share as it is, for its own complaint."""
    try:
        return units.parse(value, "share")
    except units.UnitError:
        return value


Share = Annotated[float, BeforeValidator(_share), shown_as(QUANTITY)]
Fraction = Annotated[Share, Field(gt=0, le=1, allow_inf_nan=False)]
LEAST_EFFICIENCY = 0.001
EfficiencyShare = Annotated[Share, Field(ge=LEAST_EFFICIENCY, le=1, allow_inf_nan=False)]
_TEXTS = one_or_list({"type": "string"})
_PROFILES = {"anyOf": [*_TEXTS["anyOf"], {"type": "object", "additionalProperties": _TEXTS}]}
_RANGE: dict[str, Any] = {
    "type": "object",
    "required": ["from", "to"],
    "additionalProperties": False,
    "properties": {
        "from": QUANTITY,
        "to": QUANTITY,
        "scale": {"enum": ["doubling", "linear"]},
        "step": QUANTITY,
        "continuous": {"const": True},
    },
}
_LINK: dict[str, Any] = {
    "type": "object",
    "required": ["bandwidth"],
    "additionalProperties": False,
    "properties": {
        "bandwidth": {"anyOf": [*one_or_list({"type": "string"})["anyOf"], _RANGE]},
        "latency": {"type": "string", "description": "one way, such as 5 us"},
        "nic": {"type": "string", "description": "price of a network card, such as 200 USD"},
        "switch_port": {"type": "string", "description": "price of a switch port"},
        "cable": {"type": "string", "description": "price of a cable"},
        "fabric": {"type": "string", "description": "catalogue name for what is not given here"},
    },
}


FULL, LORA = "full", "lora"
_TRAIN = {"anyOf": [{"const": FULL}, {
    "type": "object", "additionalProperties": False, "required": [LORA],
    "properties": {LORA: {"type": "integer", "minimum": 1}},
}]}  # fmt: skip
_INPUT = {"anyOf": [{"enum": [*INPUTS]}, {"type": "number", "exclusiveMinimum": 0}]}
_AGGREGATIONS: list[str] = []  # stands for those of the catalogue, which a study may not import


def _axis_schema(spec: AxisRow, *, single: bool = False) -> dict[str, Any]:
    item: dict[str, Any] = {"type": "string"}
    if spec.kind == "choice":
        # As YAML may read words, too: ``true``, ``1``.
        read = {word: int(word) for word in spec.choices if word.isdigit()}
        read |= {"true": True, "false": False}
        item = {"enum": [one for word in spec.choices
                         for one in ([read[word], word] if word in read else [word])]}  # fmt: skip
    elif spec.kind == "aggregation":
        item["enum"] = _AGGREGATIONS
    elif spec.kind == "link":
        item = {"anyOf": [item, _LINK]}
    elif spec.number is not None and spec.number.dimension == "count":
        kind = "integer" if spec.number.whole else "number"
        item = {"type": kind, "minimum": int(spec.number.low)}
    schema = item if single else one_or_list(item)
    if spec.number is not None and not single:
        auto = [{"const": AUTO}] * spec.divisors
        schema = {"anyOf": [*schema["anyOf"], _RANGE, *auto]}
    absent = spec.without if spec.required else f"{spec.without} when absent"
    return {**schema, "description": f"{spec.doc}; {absent}. Example: {spec.example}"}


def _axes_model(name: str, doc: str, *, single: bool) -> type[Section]:
    fields: dict[str, Any] = {
        spec.name: (Annotated[Any, shown_as(_axis_schema(spec, single=single))], None)
        for spec in AXES.values()
    }
    return create_model(name, __base__=Section, __doc__=doc, **fields)


Space = _axes_model("Space", "The choices: each axis with its values.", single=False)
BaselinePoint = _axes_model("Baseline", "One value per axis: where speedup is 1.", single=True)


class When(Section):
    """An axis that applies only under values of other axes."""

    axis: str = Field(description="the conditional axis, which is not in space")
    values: Any = Field(description="its values, as an axis of space has them")
    condition: dict[str, Any] = Field(
        alias="if", description="axis: value, or a list of values; all must hold"
    )


def _measures(goal: str) -> dict[str, Any]:
    return {"enum": [name for name, what in QUANTITIES.items() if what.objective == goal]}


_TWO = {"type": "array", "items": _measures("minimize"), "minItems": 1, "maxItems": 2,
        "uniqueItems": True}  # fmt: skip


class Objectives(Section):
    """What to have much of, and what little of."""

    maximize: Annotated[Any, shown_as(_measures("maximize"))] = Field(
        description="what to maximize"
    )
    minimize: Annotated[Any, shown_as({"anyOf": [_measures("minimize"), _TWO]})] = Field(
        description="what to minimize, one or two measures"
    )


class TargetFile(Section):
    """How much training a run is: one of samples, epochs, tokens and quality."""

    samples: Any = Field(default=None, description="samples of the run, such as 115e6")
    epochs: Any = Field(default=None, description="passes over the data set")
    tokens: Any = Field(default=None, description="tokens of the run, such as 300e9")
    quality: str | None = Field(
        default=None,
        description="a quality target of `dse catalog convergence`, or the path of such a file",
    )
    epoch_samples: Any = Field(default=None, description="samples of one epoch")


class SearchFile(Section):
    """How the space is searched."""

    engine: Literal["auto", "exhaustive", "guided"] = "auto"
    budget: Annotated[int, Field(ge=1, le=10**9), BeforeValidator(whole)] = 20_000
    seed: Annotated[int, Field(ge=0, lt=2**63), BeforeValidator(whole)] = 0


class ExecutorFile(Section):
    """Where points are evaluated."""

    kind: Literal["auto", "local", "ray"] = "auto"
    address: str | None = Field(default=None, description="auto, or ray://host:port")


class EfficiencyFile(Section):
    """Fractions of the peak that are reached, from 0.001 to 1."""

    compute: EfficiencyShare | None = None
    memory: EfficiencyShare | None = None


UNLIMITED = "none"
_CAPACITY = {"anyOf": [{"const": UNLIMITED}, {"type": "number", "minimum": 0}]}


class ExpertsFile(Section):
    """How tokens go to the experts of a mixture."""

    imbalance: Annotated[float, Field(ge=1, allow_inf_nan=False)] | None = Field(
        default=None,
        description=f"tokens of the busiest rank over the mean; {Experts.imbalance} when absent, "
        "1 where balance is forced",
    )
    balance: Balance = Field(
        default="dropless", description="as the router chooses, or forced to be even"
    )
    capacity_factor: Annotated[
        Annotated[float, Field(ge=0, allow_inf_nan=False)] | None,
        BeforeValidator(lambda value: None if value == UNLIMITED else value),
        shown_as(_CAPACITY),
    ] = Field(default=None, description="the most that an expert takes over the mean")  # fmt: skip


class StudyFile(Section):
    """A dse study: a workload, a space of hardware and software choices, limits and objectives."""

    study: str = Field(description="name of the study and of its report's folder")
    description: str = Field(default="", description="a sentence for the report")
    workload: Annotated[Any, shown_as({"type": ["string", "object"]})] = Field(
        description="a name of the catalogue, a path, {config: name or path, sequence}, or "
        "{params, forward_flops, activation_bytes, input_bytes, gradient_tensors, layers, name}"
    )
    mix: Annotated[Any, shown_as({"type": "object", "additionalProperties": QUANTITY})] = Field(
        default=None,
        description="workloads that share the cluster, in place of workload, each with its share "
        "of time on the baseline",
    )
    accelerators: Annotated[dict[str, dict[str, Any]], shown_as(ACCELERATORS_SCHEMA)] = Field(
        default={}, description="accelerators that the catalogue does not have, by name"
    )
    calibration: Annotated[Any, shown_as(_PROFILES)] = Field(
        default=None, description="names or paths of calibration profiles, also by fabric"
    )
    space: Space = Field(description="the axes")  # type: ignore[valid-type]
    when: list[When] = Field(default=[], description="axes that apply only under others' values")
    baseline: BaselinePoint | None = Field(  # type: ignore[valid-type]
        None, description="the point that speedup is measured from"
    )
    constraints: list[str] = Field(
        default=[], description="comparisons such as capital <= 2 MUSD; or fits_memory, equal_batch"
    )
    objectives: Objectives = Field(description="one to maximize, one or two to minimize")
    target: TargetFile | None = Field(default=None, description="how much training a run is")
    search: SearchFile = SearchFile()
    executor: ExecutorFile = ExecutorFile()
    prices: Annotated[Any, shown_as(one_or_list({"type": ["string", "object"]}))] = Field(
        default=None,
        description="path of a price list (YAML or CSV), prices that override the catalogue's, or "
        "a list of such, of which the later count more",
    )
    market: Market = Field(
        default="new",
        description="whether accelerators that are no longer sold new may be bought: used",
    )
    region: str | None = Field(
        default=None,
        description="where the cluster stands, a name of `dse catalog regions`: its electricity "
        "price and carbon",
    )
    efficiency: EfficiencyFile = EfficiencyFile()
    scale: Literal["fitted", "ideal"] = Field(
        default="fitted",
        description="what accelerators that work together lose to one another; ideal: nothing",
    )
    recommend: Recommend | None = Field(
        default=None,
        description="which point of the front to recommend; left out: the cheapest where a speed "
        "is demanded, the fastest where a budget binds, else the most speed per dollar",
    )
    resolution: Annotated[Share, Field(ge=0, le=0.5, allow_inf_nan=False)] = Field(
        default=RESOLUTION,
        description="points of the front that differ by no more in any objective are one choice, "
        "such as 1 %; 0: every point by itself",
    )
    what_if: Annotated[Any, shown_as({"enum": list(AXES)})] = Field(
        default=None, description="an axis of space: what each of its values alone would change"
    )
    confidence: Annotated[Share, Field(gt=0, le=SUREST, allow_inf_nan=False)] | None = Field(
        default=None,
        description="the probability with which the recommended point must meet every constraint, "
        "such as 0.9 or 90 %",
    )
    model: Literal["calibrated", "pai"] = Field(
        default="calibrated", description="which cost model; pai: the PAI paper's closed one"
    )
    memory: Memory = Field(
        default="checked", description="whether a point must fit into an accelerator's memory"
    )
    input: Annotated[Any, shown_as(_INPUT)] = Field(
        default=REAL,
        description="whether images are decoded by the hosts; synthetic: nothing is read; a "
        "number: samples a second that the input pipeline feeds to each accelerator",
    )
    failures: Annotated[Any, shown_as(FAILURES_SCHEMA)] = Field(
        default=None, description="how often training stops, and what a stop costs; ideal: never"
    )
    rental: Annotated[Any, shown_as(RENTAL_SCHEMA)] = Field(
        default=None, description="the term that machines are rented on, and how runs are billed"
    )
    rent_class: RentClass | None = Field(
        default=None,
        description="of sellers whose rents are compared: that of its node types, else neocloud "
        "where most of its accelerators have three sellers there, else hyperscaler",
    )
    ownership: Annotated[Any, shown_as(OWNERSHIP_SCHEMA)] = Field(
        default=None, description="what is left of a purchase at the end, and how much it is used"
    )
    owned: Annotated[Any, shown_as(OWNED_SCHEMA)] = Field(
        default=None, description="hardware that stands there already, and need not be bought"
    )
    train: Annotated[Any, shown_as(_TRAIN)] = Field(
        default=FULL, description="all weights, or adapters of a rank beside them: {lora: 16}"
    )
    experts: ExpertsFile = ExpertsFile()
    rank_order: RankOrder = Field(
        default="tp-cp-ep-dp-pp",
        description="which ranks of a layout are neighbours: those of a tensor group first",
    )


def study_schema(names: Names) -> dict[str, Any]:
    """The JSON Schema of a study file; ``names``: what the catalogue knows."""
    schema = json_schema(StudyFile)
    # An axis of one value may stand beside space.
    beside = {spec.name: _axis_schema(spec, single=True) for spec in AXES.values()}
    beside[MICRO_BATCH] = beside[BATCH]
    schema["properties"] = {**beside, **schema["properties"]}
    schema["required"].remove(WORKLOAD)
    schema["oneOf"] = [{"required": [name]} for name in (WORKLOAD, MIX)]
    parts = schema["$defs"]
    for part in (parts["Space"], parts["Baseline"]):
        part["properties"][MICRO_BATCH] = part["properties"][BATCH]
    return _named(schema, list(names.aggregations))  # type: ignore[no-any-return]


def json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of a file of this shape."""
    schema = model.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _named(schema: Any, aggregations: list[str]) -> Any:
    """The schema with the names of aggregations in their place."""
    if isinstance(schema, dict):
        return {
            key: aggregations if key == "enum" and value == [] else _named(value, aggregations)
            for key, value in schema.items()
        }
    return [_named(one, aggregations) for one in schema] if isinstance(schema, list) else schema
