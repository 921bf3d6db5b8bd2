"""``dse serve``: a study to be changed in the browser, or by a program, and searched again."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from dse.commands.options import StudyPath

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from dse.study import Study

HOST = "127.0.0.1"


def serve(
    study: StudyPath,
    port: Annotated[int, typer.Option(help="Of this machine; 0 for any free one.")] = 0,
) -> None:
    """Open a study in the browser, change it, and see its answer anew. Only this machine reaches
    it, and only with the address that is printed."""
    import os
    import secrets
    import socket

    from dse.errors import ArgumentError, DseError

    if not all(map(find_spec, ("starlette", "uvicorn"))):
        raise DseError("dse serve needs starlette and uvicorn; pip install 'cluster-dse[serve]'")
    if not 0 <= port <= 65535:
        raise ArgumentError("--port", f"{port} is no port", "write one from 0 to 65535")
    import uvicorn

    from dse.pricing.load import load

    found = load(study).study
    # The protocol by its name: else answers wait 40 ms for the client to acknowledge a part.
    opened = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind((HOST, port))
        opened.listen()
    except OSError as cause:
        opened.close()
        said = f"{port} cannot be used on {HOST}: {os.strerror(cause.errno or 0)}"
        remedy = "name another, or 0 for any that is free"
        raise ArgumentError("--port", said, remedy) from None
    token = secrets.token_urlsafe(16)
    address = f"http://{HOST}:{opened.getsockname()[1]}/{token}/"
    print(f"{found.name}: {address} (Ctrl-C ends it)", flush=True)
    app = application(found, token)
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=2, lifespan="off")
    try:
        uvicorn.Server(config).run(sockets=[opened])
    except KeyboardInterrupt:
        print("ended")


def application(study: Study, token: str) -> Starlette:
    """The page at ``/TOKEN/``, and answers: ``POST /TOKEN/answer`` takes the text of a changed
    study and returns in JSON the ``answer`` in words and the ``run`` as run.json has it; status 400
    with what is wrong as ``error``. All else is 404."""
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import ClientDisconnect
    from starlette.responses import HTMLResponse, JSONResponse, Response
    from starlette.routing import Route

    from dse import api
    from dse.errors import DseError
    from dse.pricing.load import known_names, resolve
    from dse.report import json_form, page
    from dse.report.answer import answer
    from dse.report.templating import environment
    from dse.study.reader import study_of
    from dse.text_source import text_of
    from dse.yaml_source import parse_yaml

    def searched(content: bytes) -> Response:
        try:
            source = parse_yaml(text_of(study.path, content), study.path)
            problem = resolve(study_of(source, known_names()))
            found = api.Study(problem).search(executor="local")
        except DseError as cause:
            return JSONResponse({"error": str(cause)}, 400)
        document = replace(found, call=f"dse run {study.path}").document
        return JSONResponse({"answer": answer(document), "run": json_form.plain(document)})

    async def changed(request: Request) -> Response:
        try:
            content = await request.body()
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        return await run_in_threadpool(searched, content)

    def first(_: Request) -> Response:
        template = environment("html").get_template("serve.html.j2")
        css, policy = page.own_file("report.css"), f"{page.POLICY}; connect-src 'self'"
        return HTMLResponse(template.render(study=study, css=css, policy=policy))

    answers = Route(f"/{token}/answer", changed, methods=["POST"])
    return Starlette(routes=[Route(f"/{token}/", first), answers])
