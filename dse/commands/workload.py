"""``dse workload``: a model of one's own as a workload."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

workload = typer.Typer(
    help="Describe a model of your own, for `workload:` of a study.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@workload.callback()
def group() -> None:
    """Describe a model of your own, for `workload:` of a study."""


@workload.command("from-hf")
def from_hf(
    config: Annotated[
        Path, typer.Argument(help="The config.json of a transformer on Hugging Face.")
    ],
    sequence: Annotated[
        int | None,
        typer.Option(
            help="Tokens of a sample [default: 4096, or the most that the model reads if less].",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="What reports call it [default: its kind and size].")
    ] = None,
) -> None:
    """Print the workload that a config.json describes: > mine.yaml, then workload: mine.yaml."""
    from dse.catalog import workload_of_config, workload_text
    from dse.catalog.model_config import MOST_TOKENS
    from dse.errors import ArgumentError, StudyError

    if not os.path.exists(config):
        remedy = "give a model's config.json, which huggingface.co has among its files"
        raise StudyError(str(config), 0, 0, "no such file", remedy)
    if sequence is not None and not 1 <= sequence <= MOST_TOKENS:
        raise ArgumentError("--sequence", f"is {sequence}", f"write 1 to {MOST_TOKENS} tokens")
    if name is not None and not name.strip():
        raise ArgumentError("--name", "is empty", "write a name, such as my-model")
    print(workload_text(workload_of_config(config, sequence, name)), end="")
