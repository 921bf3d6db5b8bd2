"""``dse init``: a study to begin with, from five questions or from one that comes with dse."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from dse.commands.answers import Answers, given_answers
from dse.commands.ask import (
    Accumulation,
    Budget,
    Confidence,
    Deadline,
    Epochs,
    EpochSamples,
    Gpus,
    Minimize,
    Network,
    On,
    Power,
    PriceList,
    Quality,
    Samples,
    Tokens,
    Workload,
    check_free,
    folder_of,
)
from dse.commands.study_names import all_beginning
from dse.commands.terminal import command_line
from dse.errors import ArgumentError, DseError

FILE = "file"  # as the usage calls it
STUDY = "study.yaml"  # where a study is written unless another file is named


@dataclass(frozen=True)
class Question:
    """A question, and what becomes of its answer.

    field: of :class:`Answers`. usual: the answer where none is given. read: raises for an answer
    that cannot be.
    """

    text: str
    field: str
    usual: str
    read: Callable[[Answers], object]


QUESTIONS = (
    Question("What do you train? (dse catalog workloads, or a file)", "workload_given",
             "resnet50", lambda answers: answers.workload),
    Question("On which accelerators, or whole machines? (dse catalog accelerators, nodes)", "on",
             "a100, h100", lambda answers: answers.machines),
    Question("How many of them? (8..256, in whole hosts; or 8, 16, 64)", "gpus",
             "8..256", lambda answers: answers.counts),
    Question("Joined by which networks? (Ethernet in Gbps; or names of dse catalog fabrics)",
             "network", "100, 200, 400", lambda answers: answers.networks),
    Question("What counts beside speed, and how much is there? (buy, buy 2 MUSD, rent 50 USD/hour, "
             "power 200 kW)", "minimize", "buy", lambda answers: answers.limits),
)  # fmt: skip


def init(
    file: Annotated[Path, typer.Argument(help="The study to write.")] = Path(STUDY),
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="STUDY",
            help="Copy a study that comes with dse.",
            autocompletion=all_beginning,
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Ask nothing: take the usual answers.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
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
) -> None:
    """Write a study to begin with, with comments: five questions, or a copy.

    What an option answers is not asked.
    """
    options = {
        "workload_given": workload, "on": on, "gpus": gpus, "network": network,
        "accumulation": accumulation, "minimize": minimize, "deadline": deadline,
        "budget": budget, "power": power,
        "confidence_given": confidence, "samples": samples, "tokens": tokens, "epochs": epochs,
        "epoch_samples": epoch_samples, "quality": quality, "prices": prices,
    }  # fmt: skip
    if from_ is not None:
        if yes or any(option is not None for option in options.values()):
            problem = "copies a study as it is, so that nothing is asked or answered"
            raise ArgumentError("--from", problem, "leave the other options out")
        copy_study(from_, file if file != Path(STUDY) else Path(f"{from_}.yaml"), force)
        return
    check_free(file, force, FILE)
    answers = given_answers(options)
    left = [] if yes else [one for one in QUESTIONS if options[one.field] is None]
    if (budget, power) != (None, None):  # an answer to the last question
        left = [question for question in left if question.field != "minimize"]
    write_study(asked(answers, left), file)


def asked(answers: Answers, questions: list[Question]) -> Answers:
    """The answers with those to these questions: typed, or a line each from a pipe.

    A wrong answer is asked for again at a terminal, and raises :class:`ArgumentError` elsewhere.
    """
    here = sys.stdin.isatty()
    for number, question in enumerate(questions, 1):
        if question.field == "network" and answers.by_node:
            continue  # whole machines bring theirs
        while True:
            said = _line(question, number, len(questions), here)
            try:
                tried = _answered(answers, question, said)
                question.read(tried)
            except DseError as error:
                if not here:
                    raise
                print(f"  {error.on_command_line().partition(': ')[2]}")
                continue
            answers = tried
            break
    return answers


def _line(question: Question, number: int, of: int, here: bool) -> str:
    """An answer; the usual one where it is empty."""
    if here:
        return str(typer.prompt(question.text, default=question.usual)).strip()
    line = sys.stdin.readline()
    if not line:
        problem = f"the answers end before question {number} of {of}"
        raise ArgumentError("dse init", problem, f"answer it ({question.text}), or add --yes")
    return line.strip() or question.usual


def _answered(answers: Answers, question: Question, said: str) -> Answers:
    """The answers with another. What counts may be followed by a limit: ``buy 2 MUSD``."""
    if question.field != "minimize":
        return replace(answers, **{question.field: said})
    what, _, rest = said.replace(",", " ").strip().partition(" ")
    limit = rest.strip() or None
    if what.lower() == "power":
        return replace(answers, minimize=what, power=limit)
    return replace(answers, minimize=what, budget=limit)


def write_study(answers: Answers, file: Path) -> None:
    """Write the study of these answers, and say what it is and what to do with it."""
    from dse.calibration.files import write_text
    from dse.commands.draft import Draft

    answers.check()
    draft = Draft(answers, command_line(), folder_of(file))
    problem = draft.problem(file.name)
    write_text(file, draft.text, FILE)
    for line in answers.told():
        print(f"note: {line}")
    baseline = ", ".join(f"{axis} {value}" for axis, value in draft.baseline.items())
    print(f"wrote {file}: {problem.points or 0:,} points")
    print(f"baseline, which speed is measured against: {baseline}; write what you have today")
    for line in _next(file, "dse run"):
        print(line)


def copy_study(name: str, file: Path, force: bool) -> None:
    """Copy a study that comes with dse, and say what to do with it."""
    from dse.calibration.files import write_text
    from dse.commands.shipped import KINDS
    from dse.text_source import is_fleet

    try:
        source = KINDS["studies"].find(name)
    except DseError as error:
        _, _, said = str(error).partition(": ")
        problem, _, remedy = said.partition("; ")
        raise ArgumentError("--from", f"'{name}': {problem}", remedy) from None
    check_free(file, force, FILE)
    write_text(file, copied(source.read_text(encoding="utf-8"), name, file), FILE)
    print(f"wrote {file}, a copy of {name}")
    for line in _next(file, "dse fleet" if is_fleet(source) else "dse run"):
        print(line)


def copied(text: str, name: str, file: Path) -> str:
    """A study's file for another folder: without the path of its schema, and with its own name in
    the commands that its comments show."""
    lines = [line for line in text.splitlines(keepends=True) if "yaml-language-server" not in line]
    return "".join(lines).replace(f"search_spaces/{name}.yaml", str(file))


def _next(file: Path, answer: str) -> Iterator[str]:
    import shlex

    path = shlex.quote(str(file))
    if answer == "dse run":
        yield f"next: dse check {path}   what would be searched"
        yield f"      dse run {path}     the answer and its report"
    else:
        yield f"next: {answer} {path}"
