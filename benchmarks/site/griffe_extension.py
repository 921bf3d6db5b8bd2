"""What mkdocstrings calls for every object whose docstring it shows."""

from __future__ import annotations

from typing import Any

import griffe

from benchmarks.site.docstrings import in_markdown


class InMarkdown(griffe.Extension):
    """What the docstrings of dse have as Sphinx and doctest do."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Change the docstring of what has one."""
        del kwargs
        if obj.docstring is not None:
            obj.docstring.value = in_markdown(obj.docstring.value)
