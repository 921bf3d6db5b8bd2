"""The JSON Schema of a fleet study, for editors.

It knows the keys and the plain words. Units, names of the catalogue, and what depends on other keys
are checked by :mod:`dse.fleet.reader`, which knows their places.
"""

from __future__ import annotations

from typing import Any

from dse.fleet.ports import TARGETS
from dse.fleet.reader import HARDWARE_BESIDES, MONEY, OVERLAPS, SHARED
from dse.fleet.recipe import HARDWARE
from dse.fleet.sampling import MOST_JOBS
from dse.fleet.upgrades import FIELDS

_QUANTITY = {"type": ["string", "number"]}
_EXAMPLES = {
    "gpu": "11 TFLOP/s",
    "memory": "1 TB/s",
    "pcie": "10 GB/s",
    "ethernet": "25gbe, or 25 Gbps",
    "nvlink": "50 GB/s",
    "efficiency": "0.7, or 70 %: the share of every peak that is reached",
    "gpus_per_server": "8",
    SHARED: "whether linked accelerators of a server share PCIe for their input",
    "gpu_memory": "16 GB; jobs of a table whose state_bytes do not fit cannot move to AllReduce, "
    "nor to PEARL if they have no embedding_bytes",
}
_MONEY = {
    "gpus": "accelerators of the fleet",
    "busy": "the share of the hours in which they work, as 0.6 or 60 %",
    "gpu_hour": "price of a GPU-hour, such as 2 USD/hour",
    "accelerator": "or a name of the catalogue, whose rental is that price",
    "amortisation_years": "the price list's when absent",
    "gpus_per_nic": "accelerators behind one network card",
    "prices": "path of a price list",
}


def fleet_schema() -> dict[str, Any]:
    """The JSON Schema of a fleet study."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "FleetStudy",
        "description": "A dse fleet study: a population of jobs, hardware, upgrades and ports.",
        **_mapping(_properties(), "fleet", "population"),
    }


def _properties() -> dict[str, Any]:
    return {
        "fleet": _said({"type": "string"}, "name of the fleet and of its report's folder"),
        "description": _said({"type": "string"}, "a sentence for the report"),
        "population": _said(
            {"type": "string"},
            "a name of dse catalog populations, or the path of a .csv, .parquet or .yaml file",
        ),
        "jobs": _said(
            {"type": "number", "minimum": 1, "maximum": MOST_JOBS}, "how many jobs are drawn"
        ),
        "seed": _said({"type": "integer", "minimum": 0}, "of drawn jobs"),
        "hardware": _said(
            _mapping({key: _hardware(key) for key in (*HARDWARE, *HARDWARE_BESIDES)}),
            "what the jobs run on; of a drawn population only what differs",
        ),
        "overlap": _said({"enum": list(OVERLAPS)}, "ideal takes the longest of T_d, T_c and T_w"),
        "upgrades": _said(_listed(_upgrade()), "each alone, on top of the hardware"),
        "ports": _said(_listed({"enum": list(TARGETS)}), "where PS/Worker jobs may move"),
        "money": _said(
            _mapping({key: _said(_money(key), _MONEY[key]) for key in MONEY}, "gpus"),
            "what upgrades and ports are worth",
        ),
        "calibration": _said(
            _listed({"type": "string"}),
            "names or paths of profiles that measured parameter servers, or NCCL on one node: "
            "what dse's own model takes in place of the catalogue's costs",
        ),
    }


def _hardware(key: str) -> dict[str, Any]:
    kind: dict[str, Any] = {"type": "boolean"} if key == SHARED else dict(_QUANTITY)
    return _said(kind, f"such as {_EXAMPLES[key]}" if key in FIELDS else _EXAMPLES[key])


def _upgrade() -> dict[str, Any]:
    resources = {
        key: _said(_listed(_QUANTITY), f"such as {_EXAMPLES[key]}; a list: one upgrade of each")
        for key in FIELDS
    }
    return _mapping({
        **resources,
        "name": _said({"type": "string"}, "what the report calls it"),
        "price_per_gpu": _said(_QUANTITY, "such as 9 kUSD"),
    })  # fmt: skip


def _money(key: str) -> dict[str, Any]:
    if key in ("gpus", "gpus_per_nic"):
        return {"type": "number", "minimum": 1}
    return {"type": "string"} if key in ("accelerator", "prices") else dict(_QUANTITY)


def _listed(item: dict[str, Any]) -> dict[str, Any]:
    """One of these, or a list of them."""
    return {"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]}


def _mapping(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }
    return found | {"required": list(required)} if required else found


def _said(kind: dict[str, Any], description: str) -> dict[str, Any]:
    return {**kind, "description": description}
