"""Every reader of dse with good files to damage, and what must hold of any damage.

A command that reads a damaged file says what is wrong, a line for each mistake, and ends with 2, or
takes it. It never ends in a traceback, a warning of numpy, a hang, or a line that steers a
terminal.
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dse.errors import MOST_TOLD
from tests.calibration.importers import samples, traces
from tests.commands.command import dse, said
from tests.fleet import logs, small
from tests.fuzz.mutation import damaged, damaged_json
from tests.pricing.studies import SMALL

ROOT = Path(__file__).parents[2]
CASE = ROOT / "docs" / "procurement"
MODELS = ROOT / "models"
HANGS_S = 60  # a hundred times of what any of these takes
A_PLACE = re.compile(r"\S.*: \S")  # a file, and what is wrong there
LONGEST = 1_000  # characters of a line that somebody is to read
STEERS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
RATES = (
    "workload,accelerator,samples_per_s,gpus,precision,batch_per_gpu,stack\n"
    "bert-large-s128,a100-sxm4-40gb,1200,8,fp16,64,vendor\n"
    "resnet50,v100-sxm2-16gb,2500,8,fp16,64,\n"
)
CHECK, CLUSTER, FLEET = (
    ("check", "study.yaml"),
    ("explain", "cluster.yaml"),
    ("fleet", "study.yaml"),
)
SHOW = ("calibrate", "show", "calibrations/mine.yaml")
PREDICT = ("calibrate", "predict", "calibrations/mine.yaml", "--bytes", "1 MiB", "--ranks", "4")
IMPORT = ("calibrate", "import", "a.log", "--out", "a.json")
IMPORT_RATES = ("calibrate", "import-throughput", "ours.csv")
WORK = MODELS / "workloads" / "work" / "alexnet.csv"
WATCH = ("watch", "train.log", "--expect", "run")
OUTSIDE = 1  # how dse watch ends where nothing is wrong but the prediction
LOGGED = {"Slurm": ("log.txt", logs.SACCT), "Slurm, JSON": ("log.json", logs.SACCT_JSON),
          "PAI": ("log.csv", logs.PAI), "Philly": ("log.json", logs.PHILLY),
          "Helios": ("log.csv", logs.HELIOS), "pods": ("log.csv", logs.PODS)}  # fmt: skip
NAMES = (
    "study", "prices", "quotes", "case", "own workload", "layers", "work", "profile", "rates",
    "run", "run, bytes", "fleet", "fleet study", "jobs", "training",
    "trace of PyTorch", "trace of Horovod", *(f"jobs of {name}" for name in LOGGED),
    *(f"log of {name}" for name in samples.ALL),
)  # fmt: skip
Damage = Callable[[bytes, random.Random], bytes]


class Hang(Exception):
    """A command did not end."""


@dataclass(frozen=True)
class Reader:
    """Commands, any of which reads the files of a folder; ``broken`` is the one that is damaged."""

    broken: str
    files: Mapping[str, bytes]
    commands: tuple[tuple[str, ...], ...]
    damage: Damage = damaged

    def written(self, folder: Path, chance: random.Random | None = None) -> Path:
        """``folder`` with the files in it, one of them damaged if there is a ``chance``."""
        for file, content in self.files.items():
            text = self.damage(content, chance) if chance and file == self.broken else content
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(text)
        return folder


def _text(*paths: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in paths}


def _case() -> dict[str, bytes]:
    """The worked case, without its profiles: the quick part of it."""
    kept = _text(*(CASE / name for name in (
        "cluster.yaml", "model.yaml", "terms.yaml", "layers.csv", "quote-a.csv", "quote-b.csv",
    )))  # fmt: skip
    lines = kept["cluster.yaml"].decode().splitlines(keepends=True)
    kept["cluster.yaml"] = "".join(
        line for line in lines if not line.startswith("calibration")
    ).encode()
    return kept


def readers(profile: str, run: Path, fleet: Path) -> dict[str, Reader]:
    """By name. profile: the text of a calibration profile; run, fleet: folders of reports."""
    case = _case()
    alexnet = MODELS / "workloads" / "alexnet.yaml"
    own = {
        "study.yaml": SMALL.replace("workload: resnet50", "workload: ./alexnet.yaml").encode(),
        "alexnet.yaml": alexnet.read_bytes(),
        "layers/alexnet.csv": (MODELS / "workloads" / "layers" / "alexnet.csv").read_bytes(),
        "work/alexnet.csv": WORK.read_bytes(),
    }
    calibrated = {
        "study.yaml": SMALL.replace("search:", "calibration: [mine]\nsearch:").encode(),
        "calibrations/mine.yaml": profile.encode(),
    }
    point = ("explain", "study.yaml", "--set", "gpus=16", "--set", "aggregation=ring-mpi")
    reports = (
        ("report", "run"), ("explain", "run", "--row", "1", "--against", "2"),
        ("compare", "run", "run"), ("export", "run", "out.csv"),
        ("export", "run", "--format", "slurm"),
    )  # fmt: skip
    jobs = {"study.yaml": small.STUDY.encode(), "jobs.csv": small.TABLE.encode()}
    finished = {"run/run.json": (run / "run.json").read_bytes()}
    analysed = {"fleet/fleet.json": (fleet / "fleet.json").read_bytes()}
    found = {
        "study": Reader("study.yaml", {"study.yaml": SMALL.encode()}, (point, CHECK)),
        "prices": Reader("terms.yaml", case, (CLUSTER,)),
        "quotes": Reader("quote-a.csv", case, ((*CLUSTER, "--set", "node=dgx-h100"),)),
        "case": Reader("cluster.yaml", case, (CLUSTER,)),
        "own workload": Reader("model.yaml", case, (CLUSTER,)),
        "layers": Reader("layers.csv", case, (CLUSTER,)),
        "work": Reader("work/alexnet.csv", own, (point,)),
        "profile": Reader("calibrations/mine.yaml", calibrated, (point, SHOW, PREDICT)),
        "rates": Reader("ours.csv", {"ours.csv": RATES.encode()}, (IMPORT_RATES,)),
        "run": Reader("run/run.json", finished, reports, damaged_json),
        "run, bytes": Reader("run/run.json", finished, reports),
        "fleet": Reader("fleet/fleet.json", analysed, (("report", "fleet"),), damaged_json),
        "fleet study": Reader("study.yaml", jobs, (FLEET,)),
        "jobs": Reader("jobs.csv", jobs, (FLEET,)),
    }
    recommended = json.loads(finished["run/run.json"])["recommended"]
    rate = recommended["throughput_samples_per_s"]
    trained = {**finished, "train.log": f"Train: 0 [ 0/9] Time: 0.1s, {rate}/s\n".encode()}
    found["training"] = Reader("train.log", trained, (WATCH,))
    for name, text in (("PyTorch", traces.text(traces.nccl_events())),
                       ("Horovod", traces.horovod(["[64, 8]", "[8]"]))):  # fmt: skip
        found[f"trace of {name}"] = Reader("a.log", {"a.log": text.encode()}, (IMPORT,))
    for name, (file, text) in LOGGED.items():
        logged = {"study.yaml": logs.STUDY.format(log=file).encode(), file: text.encode()}
        found[f"jobs of {name}"] = Reader(file, logged, (FLEET,))
    for name, text in samples.ALL.items():
        found[f"log of {name}"] = Reader(
            "a.log",
            {"a.log": text.encode()},
            (IMPORT,),
        )
    return found


def trial(reader: Reader, seed: int) -> str:
    """What is wrong with how a damaged file is taken; empty if nothing is."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = reader.written(Path(name), chance)
        command = chance.choice(reader.commands)
        with warnings.catch_warnings(), _no_hang():
            warnings.simplefilter("error")
            try:
                done = dse(*command, cwd=folder)
            except Exception as error:  # whatever it is, nobody should see it
                return f"{type(error).__name__}: {error}"
    lines = said(done)
    fine = (0, OUTSIDE) if command is WATCH else (0,)
    if done.returncode not in (*fine, 2, 3):
        return f"status {done.returncode}"
    if done.returncode not in fine and not 1 <= len(lines) <= MOST_TOLD + 1:
        return f"{len(lines)} lines: {done.stderr[:LONGEST]}"
    if len(lines) > 1 and not all(A_PLACE.match(line) for line in lines):
        return f"a line without its place: {done.stderr[:LONGEST]}"
    for line in lines:
        if steering := STEERS.search(line):
            return f"{steering[0]!r} in: {line!r}"
        if len(line) > LONGEST:
            return f"a line of {len(line)} characters: {line[:200]}"
    steering = STEERS.search(done.stdout)
    return f"{steering[0]!r} in the answer" if steering else ""


@contextlib.contextmanager
def _no_hang() -> Iterator[None]:
    """Raise :class:`Hang` in what takes too long."""

    def ring(*_: object) -> None:
        raise Hang(f"not done after {HANGS_S} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(HANGS_S)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
