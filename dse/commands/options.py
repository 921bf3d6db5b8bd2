"""Options that commands share, and those made from the fields of a dataclass."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Annotated, Any

import typer

StudyPath = Annotated[
    str,
    typer.Argument(
        help="A study file, or a name that dse catalog studies lists.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Long = Annotated[bool, typer.Option("--long", help="Print all remarks, too.")]


def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command whose one parameter that is a dataclass is given as options, one a field.

    Fields are made with their help as metadata; they are text, or a flag where their default is
    one.
    """
    own = inspect.signature(command, eval_str=True).parameters
    (name,) = (name for name, one in own.items() if is_dataclass(one.annotation))
    kind: Any = own[name].annotation
    rows = fields(kind)

    @wraps(command)
    def called(**given: Any) -> Any:
        said = {row.name: given.pop(row.name) for row in rows}
        made = kind(**{field: value for field, value in said.items() if value is not None})
        return command(**given, **{name: made})

    def parameters() -> Iterator[inspect.Parameter]:
        for one in own.values():
            if one.name != name:
                yield one.replace(kind=one.KEYWORD_ONLY)
                continue
            for row in rows:
                flag = row.default is False
                names = [f"--{row.name}"] if flag else []
                yield inspect.Parameter(
                    row.name, one.KEYWORD_ONLY, default=False if flag else None,
                    annotation=Annotated[bool if flag else str | None,
                                         typer.Option(*names, help=row.metadata["help"])],
                )  # fmt: skip

    found = list(parameters())
    called.__signature__ = inspect.Signature(found)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in found}
    return called
