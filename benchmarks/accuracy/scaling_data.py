"""Published throughput of training on several accelerators, with how gradients travelled there."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"
MEASURED = DATA / "training_scaling.csv"
LINKS = DATA / "training_scaling_links.csv"


@dataclass(frozen=True)
class Row:
    """One published rate. servers: 1 where the source names none."""

    gpus: int
    servers: int
    samples_per_s: float
    status: str


@dataclass(frozen=True)
class Route:
    """How gradients travel, and between which limits the effective rate of a link is.

    placement of the parameter servers: ``swept`` on the workers' nodes, as many as the authors
    found best; ``stated`` likewise, as many as they give; ``spread`` over the accelerators of one
    node; ``host``: in the memory of one node; ``none``.
    """

    system: str
    update: str
    algorithm: str
    placement: str
    low_bytes_per_s: float
    high_bytes_per_s: float
    latency_s: float
    fitted_up_to: int


@dataclass(frozen=True)
class Series:
    """Rates of one workload on one system, by rising count."""

    workload: str
    accelerator: str
    gpus_per_node: int
    batch: int
    data: str
    route: Route
    rows: tuple[Row, ...]

    @property
    def small(self) -> tuple[Row, ...]:
        """What the predictor sees."""
        return tuple(row for row in self.rows if row.gpus <= self.route.fitted_up_to)

    @property
    def held_out(self) -> tuple[Row, ...]:
        """What it is judged on."""
        return self.rows[len(self.small) :]


def read_series() -> list[Series]:
    """All series of the table."""
    routes = _routes()
    groups: dict[tuple[str, ...], list[dict[str, str]]] = {}
    keys = ("system", "workload", "accelerator", "gpus_per_node", "batch_per_gpu", "data")
    with MEASURED.open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            groups.setdefault(tuple(line[key] for key in keys), []).append(line)
    found = []
    for (system, workload, device, per_node, batch, data), lines in groups.items():
        route = routes.get((system, lines[0]["update"])) or routes[system, "any"]
        rows = tuple(
            Row(int(line["gpus"]), int(line["servers"] or 1), float(line["samples_per_s"]),
                line["status"])
            for line in lines
        )  # fmt: skip
        found.append(Series(workload, device, int(per_node), int(batch), data, route, rows))
    return found


def _routes() -> dict[tuple[str, str], Route]:
    with LINKS.open(newline="", encoding="utf-8") as file:
        return {
            (line["system"], line["update"]): Route(
                line["system"],
                line["update"],
                line["algorithm"],
                line["placement"],
                1e9 * float(line["low_gb_per_s"]),
                1e9 * float(line["high_gb_per_s"]),
                float(line["latency_s"]),
                int(line["fitted_up_to"]),
            )
            for line in csv.DictReader(file)
        }
