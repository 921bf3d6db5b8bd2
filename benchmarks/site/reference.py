"""The pages of reference that follow from the code: commands, quantities, study file, Python."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import dse
from benchmarks.site.links import ROOT
from dse.study.quantities import BUILTINS, QUANTITIES

Schema = Mapping[str, Any]


def pages() -> Iterator[tuple[str, str]]:
    """Place on the site and Markdown of each."""
    yield "reference/commands.md", commands()
    yield "reference/quantities.md", quantities()
    for name, title in (("study", "Keys of a study file"), ("fleet", "Keys of a fleet file")):
        schema = json.loads((ROOT / "docs" / f"{name}.schema.json").read_text(encoding="utf-8"))
        yield f"reference/{name}-file.md", keys(schema, title, name)
    yield "reference/python.md", python()


def commands() -> str:
    """What ``dse COMMAND --help`` says, of every command: typer writes it."""
    words = ["typer", "dse.commands.app", "utils", "docs", "--name", "dse", "--title", "Commands"]
    done = subprocess.run([sys.executable, "-m", *words], cwd=ROOT, capture_output=True, text=True,
                          check=True)  # fmt: skip
    text = done.stdout.replace("**Usage**:\n\n", "")
    text = text.replace("* `--help`: Show this message and exit.\n", "")
    text = re.sub(r"\*\*Options\*\*:\n\n(?!\*)", "", text)
    text = re.sub(r" <(?:str|int|float|path|list\[str\])>`", "`", text)
    return _LISTED.sub(lambda found: _COMMAND.sub(lambda one: _whole(one[1], text), found[0]), text)


_LISTED = re.compile(r"(?<=\*\*Commands\*\*:\n\n)(?:\* .*\n)+")
_COMMAND = re.compile(r"^\* `([a-z-]+)`: .*$", re.MULTILINE)


def _whole(command: str, text: str) -> str:
    """The line of a command with the whole of its first sentence, which typer clips."""
    found = re.search(rf"^##+ `(dse (?:[a-z-]+ )?{command})`\n\n((?:.+\n)+)", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"typer documents no command {command}")
    sentence = " ".join(found[2].split()).partition(". ")[0].rstrip(".")
    return f"* [`{command}`](#{found[1].replace(' ', '-')}): {sentence}."


def quantities() -> str:
    """The table of quantities, from their registry."""
    lines = [
        "# Quantities",
        "",
        "What is computed for every point. Each may stand in `constraints`; those with a sense may "
        "be objectives. The column is its name in `front.csv`, `dse export` and Python.",
        "",
        "| name | meaning | column | objective | needs |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| `{row.name}` | {row.doc} | `{row.column}` | {row.objective or ''} | {row.needs or ''} |"
        for row in QUANTITIES.values()
    ]
    lines += ["", "## Constraints without a number", "", "| name | meaning |", "|---|---|"]
    lines += [f"| `{name}` | {meaning} |" for name, meaning in BUILTINS.items()]
    return "\n".join(
        [*lines, "", "How constraints are written: [the study file](../study.md#constraints).", ""]
    )


def keys(schema: Schema, title: str, name: str) -> str:
    """The keys of a file, from its JSON Schema, in one table for each mapping."""
    written = "../study.md" if name == "study" else "../fleet.md#the-study"
    option = "" if name == "study" else " --fleet"
    lines = [
        f"# {title}",
        "",
        f"From the schema that `dse schema{option}` prints, for editors that complete and check as "
        f"one types ([{name}.schema.json](../{name}.schema.json)). What the keys mean, with "
        f"examples: [the page of the file]({written}).",
        "",
        *_table(schema, schema),
    ]
    for part, definition in schema.get("$defs", {}).items():
        if "properties" in definition:
            lines += [f"## {_plain(part)}", "", *_table(definition, schema)]
    return "\n".join(lines)


def _table(part: Schema, schema: Schema) -> list[str]:
    required = part.get("required", ())
    lines = ["| key | takes | when absent | |", "|---|---|---|---|"]
    for name, key in part["properties"].items():
        default = "required" if name in required else _default(key.get("default"))
        words = [_takes(key, schema), default, key.get("description", "")]
        lines.append(f"| `{name}` | " + " | ".join(one.replace("|", "\\|") for one in words) + " |")
    return [*lines, ""]


MOST_NAMES = 8


def _takes(key: Schema, schema: Schema) -> str:
    """What a key takes, in a few words."""
    if "$ref" in key:
        name = key["$ref"].rpartition("/")[2]
        definition = schema["$defs"][name]
        if "properties" in definition:
            return f"[{_plain(name).lower()}](#{_plain(name).lower().replace(' ', '-')})"
        return _takes(definition, schema)
    if "anyOf" in key:
        kinds = [_takes(one, schema) for one in key["anyOf"] if one.get("type") != "null"]
        return " or ".join(dict.fromkeys(one for one in kinds if one)) or "any"
    if "enum" in key:
        names = [f"`{one}`" for one in key["enum"] if one is not None]
        return ", ".join(names[:MOST_NAMES]) + (
            f", ... ({len(names)})" if len(names) > MOST_NAMES else ""
        )
    if "const" in key:
        return f"`{key['const']}`"
    kind = key.get("type", "any")
    kinds = [kind] if isinstance(kind, str) else list(kind)
    words = {"object": "mapping", "string": "text", "array": "list", "boolean": "yes or no"}
    shown = " or ".join(words.get(one, one) for one in kinds if one != "null")
    if kind == "array" and "items" in key:
        return f"list of {_takes(key['items'], schema)}" if key["items"] else "list"
    if properties := key.get("properties"):
        return "mapping of " + ", ".join(f"`{name}`" for name in properties)
    return shown


def _default(value: object) -> str:
    if value in (None, "", [], {}) or isinstance(value, dict):
        return ""
    return f"`{value}`"


def _plain(name: str) -> str:
    """As a heading: ``SearchFile`` is Search."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.removesuffix("File")).capitalize()


def python() -> str:
    """Every public name of :mod:`dse`; mkdocstrings fills in what its docstrings say."""
    classes = [name for name in dse.__all__ if name[0].isupper()]
    errors = [name for name in classes if issubclass(getattr(dse, name), Exception)]
    functions = [
        name for name in dse.__all__ if callable(getattr(dse, name)) and name not in classes
    ]
    groups = {
        "Functions": functions,
        "Classes": [name for name in classes if name not in errors],
        "Errors": errors,
    }
    lines = ["# Python", "", "The public names of `dse`. With examples, step by step: "
             "[dse from Python](../python.md).", ""]  # fmt: skip
    for title, names in groups.items():
        lines += [f"## {title}", ""]
        for name in names:
            lines += [f"::: dse.{name}", ""]
    return "\n".join(lines)
