"""How the commands print: a console of the right width, JSON, and the command line itself."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

PIPED_WIDTH = 160


def console() -> Console:
    """As wide as the terminal; wide where there is none, so that a pipe gets whole lines."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else PIPED_WIDTH)


def print_json(data: Any) -> None:
    """Print ``data`` as JSON."""
    print(json.dumps(data, indent=1))


def command_line() -> str:
    """The command that was given, as one would type it again."""
    import shlex

    return shlex.join(["dse", *sys.argv[1:]])
