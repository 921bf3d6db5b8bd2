"""The text of what starts a point, by format."""

from __future__ import annotations

import math
import shlex
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import yaml

from dse import catalog
from dse.report import words
from dse.report.design_point import Point
from dse.report.document import RunDocument
from dse.report.launch.settings import Launcher, Settings, settings
from dse.report.launch.skypilot_names import ACCELERATORS, CLOUDS
from dse.study.rental import SPOT

PORT = 29500  # torch.distributed's own
_SCRIPT = '"${TRAIN_SCRIPT:-train.py}"'
_WIDTH = 96  # of a comment
_DAY_S, _HOUR_S, _MINUTE_S = 86400, 3600, 60


def launch_file(document: RunDocument, point: Point, name: str, form: str) -> str:
    """What starts a point, in one of :data:`FORMATS`. name: what the answer calls the point."""
    return FORMATS[form](document, point, name, settings(point))


def skypilot(document: RunDocument, point: Point, name: str, found: Settings) -> str:
    """A task of SkyPilot, as YAML: ``sky launch task.yaml``."""
    resources, notes = _resources(point, found)
    if spot(document):
        resources["use_spot"] = True
    task: dict[str, Any] = {
        "name": document.study.name.lower().replace(".", "-").replace("_", "-"),
        "num_nodes": found.nodes,
        "resources": resources,
        "envs": dict(found.environment),
        "setup": "pip install -r requirements.txt\n",
        "run": "\n".join(_run_of_skypilot(found)) + "\n",
    }
    text = yaml.dump(task, Dumper=_Blocks, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return (
        _comments([*_about(document, point, name), *notes, *_term(document), *found.notes]) + text
    )


def slurm(document: RunDocument, point: Point, name: str, found: Settings) -> str:
    """A batch script of Slurm: ``sbatch job.sh``."""
    lines = [
        "#!/bin/bash",
        f"#SBATCH --job-name={document.study.name}",
        f"#SBATCH --nodes={found.nodes}",
        f"#SBATCH --ntasks-per-node={_tasks_per_node(found)}",
        f"#SBATCH --gpus-per-node={found.gpus_per_node}",
        "#SBATCH --exclusive",
    ]
    if (limit := _time_limit(point)) is not None:
        lines.append(f"#SBATCH --time={limit}")
    if spot(document):
        lines.append("#SBATCH --requeue")
    said = [*_about(document, point, name), *([_of_the_time(point)] if limit else []),
            *_term(document)]  # fmt: skip
    lines += ["", *_comment_lines([*said, *found.notes]), "",
              "set -euo pipefail", *_exports(found)]  # fmt: skip
    if found.launcher is Launcher.TORCHRUN:
        lines += ['MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n1)',
                  "export MASTER_ADDR",
                  f"srun bash -c '{_torchrun(found, 'SLURM_NODEID')}'"]  # fmt: skip
    elif found.launcher in (Launcher.MPIRUN, Launcher.HOROVODRUN):
        lines.append(f"srun --mpi=pmix python3 {_SCRIPT}")
    else:
        lines += _refusal()
    return "\n".join(lines) + "\n"


def torchrun(document: RunDocument, point: Point, name: str, found: Settings) -> str:
    """A script for every node; NODE_RANK and MASTER_ADDR say which it is, and where the first."""
    lines = ["#!/bin/bash", *_comment_lines([*_about(document, point, name), *found.notes]), "",
             "set -euo pipefail", *_exports(found)]  # fmt: skip
    if found.launcher is Launcher.TORCHRUN:
        if found.nodes > 1:
            lines += [
                ': "${NODE_RANK:?set it to 0, 1, ... on the nodes}"',
                ': "${MASTER_ADDR:?set it to the address of node 0}"',
            ]
        lines.append(_torchrun(found, "NODE_RANK"))
    else:
        lines += _own_launcher(found)
    return "\n".join(lines) + "\n"


FORMATS: Mapping[str, Callable[[RunDocument, Point, str, Settings], str]] = {
    "skypilot": skypilot,
    "slurm": slurm,
    "torchrun": torchrun,
}


class _Blocks(yaml.SafeDumper):
    """Texts of several lines as blocks, as people write them."""


def _as_block(dumper: yaml.SafeDumper, text: str) -> Any:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Blocks.add_representer(str, _as_block)


def _about(document: RunDocument, point: Point, name: str) -> Iterator[str]:
    yield f"Study {document.study.name}, {name}: {words.describe(point, identified=True)}."
    rate = words.shown(point.throughput_samples_per_s, "samples/s")
    yield f"Predicted: {words.duration(point.step_s)} a step, {rate}, global batch " \
        f"{words.count(point.global_batch)}."  # fmt: skip
    yield f"Made by dse {document.versions.get('dse', '')} from the run of {document.created}."
    yield "TRAIN_SCRIPT is your training script; it reads the variables below."


def spot(document: RunDocument) -> bool:
    """Whether the study rents spot machines."""
    return document.study.rental == SPOT


def _term(document: RunDocument) -> Iterator[str]:
    """What spot machines ask of the training script."""
    if spot(document):
        yield (
            "Priced on spot machines, which may be taken away at any time: the script must write "
            "checkpoints, and go on from the last one when it is started again."
        )


def _comment_lines(sentences: Iterable[str]) -> list[str]:
    return [f"# {line}" for text in sentences
            for line in textwrap.wrap(text, _WIDTH, break_long_words=False)]  # fmt: skip


def _comments(sentences: Iterable[str]) -> str:
    return "\n".join(_comment_lines(sentences)) + "\n"


def _exports(found: Settings) -> list[str]:
    return [f"export {name}={shlex.quote(value)}" for name, value in found.environment.items()]


def _torchrun(found: Settings, rank: str, master: str = "MASTER_ADDR") -> str:
    """The command on every node. rank, master: names of shell variables."""
    if found.nodes == 1:
        return f"torchrun --standalone --nproc_per_node={found.gpus_per_node} {_SCRIPT}"
    return (
        f"torchrun --nnodes={found.nodes} --nproc_per_node={found.gpus_per_node} "
        f'--node_rank="${rank}" --master_addr="${master}" --master_port={PORT} {_SCRIPT}'
    )


def _own_launcher(found: Settings) -> list[str]:
    """What starts all processes from the first node; HOSTS: ``host1:8,host2:8``."""
    ask = f': "${{HOSTS:?set it to host1:{found.gpus_per_node},host2:{found.gpus_per_node},...}}"'
    if found.launcher is Launcher.MPIRUN:
        exported = " ".join(f"-x {name}" for name in found.environment if "MCA" not in name)
        where = f'--host "$HOSTS" --map-by ppr:{found.gpus_per_node}:node'
        return [ask, f"mpirun -np {found.processes} {where} {exported} python3 {_SCRIPT}"]
    if found.launcher is Launcher.HOROVODRUN:
        flags = "".join(f"{flag} " for flag in found.flags)
        return [ask, f'horovodrun -np {found.processes} -H "$HOSTS" {flags}python3 {_SCRIPT}']
    return _refusal()


def _refusal() -> list[str]:
    return ["echo 'nothing here starts this point; see the comment at the top' >&2", "exit 1"]


def _tasks_per_node(found: Settings) -> int:
    """torchrun starts the processes of a node itself."""
    alone = found.launcher in (Launcher.TORCHRUN, Launcher.NONE)
    return 1 if alone else found.gpus_per_node


def _run_of_skypilot(found: Settings) -> list[str]:
    if found.launcher is Launcher.NONE:
        return _refusal()
    first = 'MASTER_ADDR=$(echo "$SKYPILOT_NODE_IPS" | head -n1)'
    if found.launcher is Launcher.TORCHRUN:
        return [first, _torchrun(found, "SKYPILOT_NODE_RANK")]
    hosts = f'HOSTS=$(echo "$SKYPILOT_NODE_IPS" | sed "s/$/:{found.gpus_per_node}/" | paste -sd,)'
    ask, *start = _own_launcher(found)
    del ask
    return ['if [ "$SKYPILOT_NODE_RANK" = 0 ]; then', f"  {hosts}",
            *(f"  {line}" for line in start), "fi"]  # fmt: skip


def _resources(point: Point, found: Settings) -> tuple[dict[str, Any], list[str]]:
    """SkyPilot's words for a node of a point, and what to know of them."""
    node = words.label(point, "node")
    device = point.config.get("accelerator") or catalog.node(node).accelerator
    known = ACCELERATORS.get(device)
    resources: dict[str, Any] = {"accelerators": f"{known or device}:{found.gpus_per_node}"}
    notes = []
    if known is None:
        notes.append(f"SkyPilot has no name for {device} that dse knows: correct accelerators.")
    cloud, _, kind = node.partition("-")
    if cloud in CLOUDS:
        resources["infra"] = cloud
        if cloud == "aws":
            resources["instance_type"] = kind
    if found.nodes > 1:
        resources["network_tier"] = "best"
    return resources, notes


def _of_the_time(point: Point) -> str:
    """What the time limit holds, and what it does not."""
    began = point.run and point.run.start_up_s
    start = "Starting up and loading data are not in it: add what they take."
    if began:
        start = (
            f"It has {words.duration(began)} for machines to start, with image, environment and "
            "data."
        )
    return (
        "--time is the upper end of the predicted time to the target, with failures and "
        f"checkpoints as the study counts them. {start}"
    )


def _time_limit(point: Point) -> str | None:
    """Days-hours:minutes:seconds until the target, by the upper end of its interval; None where
    the study has no target."""
    bounds = point.interval.costs.get("time_to_target") if point.interval else None
    seconds = bounds[1] if bounds else point.quantity("time_to_target")
    if seconds is None or not math.isfinite(seconds):
        return None
    minutes = math.ceil(seconds / _MINUTE_S)
    days, rest = divmod(minutes, _DAY_S // _MINUTE_S)
    hours, left = divmod(rest, _HOUR_S // _MINUTE_S)
    return f"{days}-{hours:02}:{left:02}:00"
