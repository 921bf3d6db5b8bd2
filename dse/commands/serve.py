"""``dse serve``: a study with its whole space, to be changed in the browser."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated

import typer

from dse.commands.options import StudyPath


def serve(
    study: StudyPath,
    port: Annotated[int, typer.Option(help="Of this machine; 0 for any free one.")] = 0,
) -> None:
    """Open a study in the browser: change axes, limits, prices and the rule, and see the exact
    front anew. Only this machine reaches it, and only with the address that is printed."""
    import secrets

    from dse.errors import ArgumentError, DseError

    if not all(map(find_spec, ("starlette", "uvicorn"))):
        raise DseError("dse serve needs starlette and uvicorn; pip install 'cluster-dse[serve]'")
    if not 0 <= port <= 65535:
        raise ArgumentError("--port", f"{port} is no port", "write one from 0 to 65535")
    from dse.commands import serving
    from dse.pricing.load import load
    from dse.report.live import Question, changed

    problem = load(study)
    points = changed(problem, Question()).points or 0
    opened = serving.listening(port)
    token = secrets.token_urlsafe(16)
    print(f"{problem.study.name}: {points:,} points. Ctrl-C ends it.", flush=True)
    print(f"http://{serving.HOST}:{opened.getsockname()[1]}/{token}/", flush=True)
    serving.serve(problem, token, opened)
    print("ended")
