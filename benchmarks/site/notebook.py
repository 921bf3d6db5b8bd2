"""Notebooks: run as they are, and shown with what they print."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import nbformat
from nbclient import NotebookClient

CELL_S = 300
PLOTLY = "application/vnd.plotly.v1+json"
CHARTS = "assets/plotly.js"  # on the site


def executed(path: Path) -> Any:
    """The notebook with its outputs, run from an empty folder. Raises CellExecutionError.

    Charts come as data, since a library to draw them with would be in every output.
    """
    notebook = nbformat.read(path, as_version=4)
    with (
        tempfile.TemporaryDirectory(prefix="notebook-") as folder,
        mock.patch.dict(os.environ, {"PLOTLY_RENDERER": "plotly_mimetype"}),
    ):
        client = NotebookClient(notebook, timeout=CELL_S, kernel_name="python3",
                                resources={"metadata": {"path": folder}},
                                extra_arguments=["--log-level=ERROR"])  # fmt: skip
        return client.execute()


def markdown(path: Path) -> str:
    """The page of a notebook: its text, its code, and what the code shows when it runs."""
    lines = list(_page(executed(path)))
    title, *rest = "\n\n".join(lines).split("\n\n", 1)
    note = f"*A notebook, as it runs with this version: [{path.name}]({path.name}).*"
    return "\n\n".join([title, note, *rest]) + "\n"


def _page(notebook: Any) -> Iterator[str]:
    charts = 0
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield cell.source
            continue
        yield f"```python\n{cell.source}\n```"
        for output in cell.outputs:
            data = output.get("data", {"text/plain": output.get("text", "")})
            if PLOTLY in data:
                yield _chart(data[PLOTLY], f"chart-{charts}", first=charts == 0)
                charts += 1
            elif "text/html" in data:
                yield f'<div class="output">{data["text/html"].strip()}</div>'
            else:
                yield f"```text\n{data['text/plain'].rstrip()}\n```"


def _chart(figure: Any, name: str, first: bool) -> str:
    """A chart with the library that the reports have, which the page's first chart brings."""
    data = json.dumps({"data": figure["data"], "layout": figure["layout"]}).replace("<", "\\u003c")
    library = f'<script src="../{CHARTS}"></script>' if first else ""
    config = '{"responsive": true, "displaylogo": false}'
    drawn = f'{{const f = {data}; Plotly.newPlot("{name}", f.data, f.layout, {config});}}'
    return f'{library}<div id="{name}" class="chart"></div><script>{drawn}</script>'
