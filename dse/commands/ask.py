"""``dse ask``: a question in one line, the study that it stands for, and its answer."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from dse.commands.answers import Answers, given_answers
from dse.commands.browser import Open, open_page
from dse.commands.options import Engine, Json, Options, folder
from dse.commands.terminal import command_line
from dse.errors import ArgumentError
from dse.mistakes import Mistakes

SAVE = "--save"
Workload = Annotated[
    str | None, typer.Option(help="What is trained: a name of the catalogue, or a file.")
]
On = Annotated[
    str | None,
    typer.Option(help="Accelerators or whole machines to choose from, such as a100,h100."),
]
Gpus = Annotated[
    str | None, typer.Option(help="How many accelerators: 8..256 (whole hosts), or 8,16,64.")
]
Network = Annotated[
    str | None,
    typer.Option(help="Networks to choose from: Ethernet in Gbps, or names, such as 100,ib-ndr."),
]
Accumulation = Annotated[
    str | None,
    typer.Option(
        help="Passes of a step, whose gradients are added up and exchanged once: 1,2,4 [1]."
    ),
]
Minimize = Annotated[
    str | None,
    typer.Option(help="What counts beside speed: buy, rent, run, power, energy, ... [buy]."),
]
Deadline = Annotated[
    str | None, typer.Option(help='Time until the target must be reached, such as "7 d".')
]
Budget = Annotated[
    str | None, typer.Option(help='Money that may be spent, such as "2 MUSD" or "50 USD/hour".')
]
Power = Annotated[
    str | None, typer.Option(help='Power that the site can supply, such as "200 kW".')
]
Confidence = Annotated[
    str | None, typer.Option(help="Probability with which every limit must hold, such as 90%.")
]
PriceList = Annotated[
    str | None,
    typer.Option("--prices", help="Your price lists, before the catalogue's: quotes.csv,b.yaml."),
]
Samples = Annotated[str | None, typer.Option(help="How long a run is, in samples: 115e6.")]
Tokens = Annotated[str | None, typer.Option(help="How long a run is, in tokens: 300e9.")]
Epochs = Annotated[
    str | None, typer.Option(help="How long a run is, in passes over a data set: 90.")
]
EpochSamples = Annotated[
    str | None, typer.Option(help="Samples of the data set, of --epochs: 1.28e6.")
]
Quality = Annotated[
    str | None, typer.Option(help="Until what a run trains: a name of dse catalog convergence.")
]


def ask(
    workload: Workload = None,
    on: On = None,
    gpus: Gpus = None,
    network: Network = None,
    accumulation: Accumulation = None,
    minimize: Minimize = None,
    deadline: Deadline = None,
    budget: Budget = None,
    power: Power = None,
    confidence: Confidence = None,
    samples: Samples = None,
    tokens: Tokens = None,
    epochs: Epochs = None,
    epoch_samples: EpochSamples = None,
    quality: Quality = None,
    prices: PriceList = None,
    save: Annotated[
        Path | None, typer.Option(SAVE, help="Also write the study to this file.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite that file.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            parser=folder, metavar="PATH", help="Folder of the report [default: reports/STUDY]."
        ),
    ] = None,
    engine: Engine = None,
    json: Json = False,
    open: Open = False,
) -> None:
    """Answer a question in one line: which cluster, and how to train on it.

    Prints the study that the question stands for, and its answer.
    """
    mistakes = Mistakes()
    answers = given_answers({
        "workload_given": workload or "", "on": on, "gpus": gpus, "network": network,
        "accumulation": accumulation, "minimize": minimize, "deadline": deadline,
        "budget": budget, "power": power,
        "confidence_given": confidence, "samples": samples, "tokens": tokens, "epochs": epochs,
        "epoch_samples": epoch_samples, "quality": quality, "prices": prices,
    })  # fmt: skip
    mistakes.part(answers.check)
    options = mistakes.part(lambda: Options(out=out, engine=engine))
    if save is not None:
        mistakes.part(lambda: check_free(save, force, SAVE))
    elif force:
        remedy = "add --save, or drop it"
        mistakes.note(ArgumentError("--force", "overwrites the file of --save", remedy))
    mistakes.told()
    page = ask_question(answers, save, options(), command_line(), json)
    if open:
        open_page(page)


def ask_question(
    answers: Answers, save: Path | None, options: Options, command: str, as_json: bool
) -> Path:
    """Print the study of these answers, search it, print its answer; returns the page's path."""
    from dse.calibration.files import write_text
    from dse.commands.draft import Draft
    from dse.commands.plan import plan_of
    from dse.commands.run import run_plan

    started = time.perf_counter()
    draft = Draft(answers, command, "" if save is None else folder_of(save))
    problem = draft.problem(f"{answers.name}.yaml" if save is None else save.name)
    if save is not None:
        write_text(save, draft.text, SAVE)
    if not as_json:
        for line in answers.told():
            print(f"note: {line}")
        print(f"This question is the study\n\n{indented(draft.text)}")
        kept = f"in {save}" if save else "not kept: add --save study.yaml to change it by hand"
        print(f"It is {kept}.\n")
    plan = plan_of(problem, options)
    return run_plan(plan, options, command, as_json, as_json, started).page


def indented(text: str) -> str:
    """A file within other text."""
    return "".join(f"    {line}\n" for line in text.splitlines())


def folder_of(path: Path) -> str:
    """The folder of a file; empty for this one."""
    return os.path.dirname(path)


def check_free(path: Path, force: bool, option: str) -> None:
    """Raise rather than overwrite a file unasked, or anything that is no file, and where none can
    be written. option: what the user gave the path as."""
    from dse.calibration.files import check_writable
    from dse.errors import StudyError

    if os.path.isdir(path):
        raise StudyError(str(path), 0, 0, "is a folder", "name a file in it")
    if os.path.exists(path) and not force:
        remedy = "name another file, or add --force to overwrite it"
        raise ArgumentError(str(path), "is there already", remedy, argument=str(path))
    check_writable(path.parent, option)
