"""YAML text -> plain data in which every value knows its line and column; strict, and safe to feed.

Scalars follow the YAML 1.2 core schema, so that ``1e9`` is a number and ``no`` a word. What YAML
allows but a file here never needs (tags, several documents, keys that are not text) is refused, and
so is what would hurt: duplicate keys, alias bombs, deep nesting, huge files. Every refusal is one
:class:`~dse.errors.StudyError`.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from dse.errors import StudyError
from dse.mistakes import Mistakes
from dse.text_source import not_shown, text_of

Loc: TypeAlias = tuple[str | int, ...]

MAX_BYTES = 1_000_000
MAX_VALUES = 100_000  # after aliases are expanded
MAX_DEPTH = 50

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LINE_END = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **{sign + word: float(sign + "inf") for word in (".inf", ".Inf", ".INF") for sign in "+-"},
    **dict.fromkeys((".inf", ".Inf", ".INF"), float("inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}


@dataclass
class _Node:
    """Where a value stands; ``keys`` where its keys stand; ``size`` the values it holds; ``text``
    a plain value as it is written.
    """

    data: Any
    line: int
    column: int
    indent: int = 0  # 1 where a quote stands before the text
    size: int = 1
    text: str = ""
    keys: dict[str, tuple[int, int]] = field(default_factory=dict)
    children: dict[str | int, _Node] = field(default_factory=dict)

    def renamed(
        self, loc: Loc, values: Mapping[Loc, str], keys: Mapping[Loc, str], above: Set[Loc]
    ) -> _Node:
        """The same with other texts and keys at some of the places below ``loc``. above: what they
        are a part of."""
        if loc in values:
            return replace(self, data=values[loc], text=values[loc])
        if loc not in above or not self.children:
            return self
        children: dict[str | int, _Node] = {
            keys.get((*loc, name), name): child.renamed((*loc, name), values, keys, above)
            for name, child in self.children.items()
        }
        data: Any = [child.data for child in children.values()]
        if isinstance(self.data, dict):
            data = {name: child.data for name, child in children.items()}
        marks = {str(keys.get((*loc, name), name)): mark for name, mark in self.keys.items()}
        return replace(self, data=data, keys=marks, children=children)


@dataclass(frozen=True, eq=False)
class Source:
    """A file that was read: its plain data, and the place of each part of it."""

    path: str
    data: Any
    _root: _Node = field(repr=False)
    _lines: tuple[str, ...] = field(repr=False)

    @property
    def text(self) -> str:
        """The file as it was read."""
        return "\n".join(self._lines) + "\n"

    def mark(self, loc: Loc, *, key: bool = False) -> tuple[int, int]:
        """Line and column, from 1, of the value at ``loc``, or of its key.

        Falls back to the nearest parent that exists: the place of a missing key is its mapping.
        """
        node, place = self._root, (self._root.line, self._root.column)
        for step, name in enumerate(loc):
            if key and step == len(loc) - 1 and isinstance(name, str) and name in node.keys:
                return node.keys[name]
            if name not in node.children:
                break
            node = node.children[name]
            place = (node.line, node.column)
        return place

    def written(self, loc: Loc) -> str:
        """The text or number at ``loc`` as it is written; empty for a list or a mapping."""
        node = self._root
        for name in loc:
            node = node.children[name]
        return node.text

    def mark_inside(self, loc: Loc, offset: int) -> tuple[int, int]:
        """The place of the character ``offset`` of the text at ``loc``; its start if folded."""
        node = self._root
        for name in loc:
            node = node.children[name]
        start = node.column - 1 + node.indent
        line = self._lines[node.line - 1]
        if isinstance(node.data, str) and line.startswith(node.data, start):
            return node.line, start + offset + 1
        return node.line, node.column

    def renamed(self, values: Mapping[Loc, str], keys: Mapping[Loc, str]) -> Source:
        """The same with other texts and keys at some places, which stay where they are."""
        above = {place[:depth] for place in (*values, *keys) for depth in range(len(place))}
        root = self._root.renamed((), values, keys, above)
        return Source(self.path, root.data, root, self._lines)

    def moved(self, keys: Collection[str], section: str) -> Source:
        """The same with keys of the file under a section, each still where it is written."""
        root, there = self._root, self._root.children[section]
        inside: dict[str | int, _Node] = {key: root.children[key] for key in keys}
        moved = replace(
            there,
            data={**there.data, **{key: node.data for key, node in inside.items()}},
            keys={**there.keys, **{key: root.keys[key] for key in keys}},
            children={**there.children, **inside},
        )
        children = {key: node for key, node in root.children.items() if key not in keys}
        children[section] = moved
        data = {key: node.data for key, node in children.items()}
        root = replace(root, data=data, children=children)
        return Source(self.path, data, root, self._lines)

    def chosen(self, section: str, name: str, key: str) -> Source:
        """The same with a key of the file whose value is the name of an entry of a section, and
        which stands where that name does."""
        root = self._root
        node = _Node(name, *root.children[section].keys[name], text=name)
        data = {**root.data, key: name}
        root = replace(root, data=data, children={**root.children, key: node})
        return Source(self.path, data, root, self._lines)

    def error(self, loc: Loc, problem: str, remedy: str = "", *, key: bool = False) -> StudyError:
        """The error to raise for the value (or the key) at ``loc``."""
        return StudyError(self.path, *self.mark(loc, key=key), problem, remedy)


def read_yaml(
    path: str | os.PathLike[str],
    max_bytes: int = MAX_BYTES,
    max_values: int = MAX_VALUES,
    *,
    numbers_as_keys: bool = False,
    mistakes: Mistakes | None = None,
) -> Source:
    """Read one YAML document; every failure, of the file or in it, is a StudyError.

    numbers_as_keys: a key that is a number counts as the word it is written as, else it is refused.
    mistakes: where duplicate keys are noted, of which the first counts; else they are refused, too.
    """
    name = os.fspath(path)
    text = text_of(name, read_bytes(name, max_bytes))
    return parse_yaml(text, name, max_values, numbers_as_keys=numbers_as_keys, mistakes=mistakes)


def yaml_text(value: Any, place: str, *, inline: bool = False) -> str:
    """A mapping or list as YAML; arrays become lists, paths text. inline: on one line.

    Raises StudyError, in which ``place`` stands, for what no file can hold.
    """
    try:
        return str(yaml.safe_dump(
            _plain(value), sort_keys=False, allow_unicode=True,
            default_flow_style=inline, width=float("inf"),
        ).strip())  # fmt: skip
    except yaml.representer.RepresenterError as cause:
        what = f"{type(cause.args[1]).__name__} cannot be written in a file"
        raise StudyError(place, 0, 0, what, "use text, numbers, lists and mappings") from None


def _plain(value: Any) -> Any:
    """Mappings, lists, arrays and paths as YAML has them."""
    if hasattr(value, "tolist"):  # of numpy
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | range):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, os.PathLike) else value


def parse_yaml(
    text: str,
    name: str,
    max_values: int = MAX_VALUES,
    *,
    numbers_as_keys: bool = False,
    mistakes: Mistakes | None = None,
) -> Source:
    """Like :func:`read_yaml`, of text already read; ``name`` stands in the errors."""
    duplicates = Mistakes() if mistakes is None else mistakes
    source = _Composer(text, name, max_values, numbers_as_keys, duplicates).source()
    if mistakes is None:
        duplicates.told()
    return source


def read_bytes(name: str, max_bytes: int, kind: str = "YAML") -> bytes:
    """What is in a file of a kind. Raises :class:`~dse.errors.StudyError` where it cannot be read,
    or is larger."""
    remedy = f"name a readable {kind} file"
    try:
        with open(name, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            # A pipe or a device has no size: then reading one byte too many tells.
            content = b"" if size > max_bytes else file.read(max_bytes + 1)
    except FileNotFoundError:
        raise StudyError(name, 0, 0, "no such file", _similar_file(name)) from None
    except IsADirectoryError:
        raise StudyError(name, 0, 0, "this is a directory", "name a file in it") from None
    except (OSError, ValueError) as cause:
        reason = getattr(cause, "strerror", None) or str(cause)
        raise StudyError(name, 0, 0, f"cannot be read: {reason}", remedy) from None
    if max(size, len(content)) > max_bytes:
        problem = f"{size / 1e6:.1f} MB is too large" if size else "too large"
        raise StudyError(name, 0, 0, problem, f"at most {max_bytes / 1e6:g} MB are read")
    return content


def _similar_file(name: str) -> str:
    folder, wanted = os.path.split(name)
    try:
        there = [entry for entry in os.listdir(folder or ".") if not entry.startswith(".")]
    except (OSError, ValueError):
        return "name an existing file"
    near = difflib.get_close_matches(wanted, there, n=1)
    return f"did you mean {Path(folder) / near[0]}?" if near else "name an existing file"


class _Composer:
    """Builds nodes from the parser's events, so that every limit holds before memory is spent."""

    def __init__(
        self, text: str, name: str, max_values: int, numbers_as_keys: bool, duplicates: Mistakes
    ) -> None:
        self.name, self.values, self.max_values = name, 0, max_values
        self.duplicates = duplicates
        self.numbers_as_keys = numbers_as_keys
        self.lines = tuple(_LINE_END.split(text))
        self.anchors: dict[str, _Node | None] = {}  # None while the anchored value is open
        self.events = _LOADER(text)

    def source(self) -> Source:
        try:
            self.events.get_event()  # stream start
            if not self.events.check_event(yaml.DocumentStartEvent):
                remedy = "write 'key: value' lines in it"
                raise StudyError(self.name, 0, 0, "the file is empty", remedy)
            self.events.get_event()
            root = self.node(0)
            self.events.get_event()  # document end
            if not self.events.check_event(yaml.StreamEndEvent):
                mark = self.events.peek_event().start_mark
                raise self.wrong(mark, "a second document starts here", "keep one to a file")
        except yaml.YAMLError as cause:
            raise self.syntax(cause) from None
        finally:
            self.events.dispose()
        return Source(self.name, root.data, root, self.lines)

    def node(self, depth: int) -> _Node:
        event = self.events.get_event()
        mark = event.start_mark
        if isinstance(event, yaml.AliasEvent):
            node = self.alias(event)
        else:
            if event.tag not in (None, "!"):
                problem = f"the tag {event.tag} is not allowed"
                raise self.wrong(mark, problem, "write the plain value")
            if event.anchor is not None:
                self.anchors[event.anchor] = None
            node = _Node(None, mark.line + 1, mark.column + 1)
            self.count(1, mark)
            if depth >= MAX_DEPTH:
                raise self.nested(mark)
            if isinstance(event, yaml.ScalarEvent):
                self.scalar(event, node)
            elif isinstance(event, yaml.SequenceStartEvent):
                self.sequence(node, depth)
            else:
                self.mapping(node, depth)
            node.size += sum(child.size for child in node.children.values())
            if event.anchor is not None:
                self.anchors[event.anchor] = node
        return node

    def alias(self, event: Any) -> _Node:
        mark = event.start_mark
        if event.anchor not in self.anchors:
            remedy = f"define it before, as &{event.anchor}"
            raise self.wrong(mark, f"*{event.anchor} is not defined", remedy)
        node = self.anchors[event.anchor]
        if node is None:
            raise self.wrong(mark, f"*{event.anchor} contains itself", "write the value out")
        self.count(node.size, mark)
        return node

    def count(self, more: int, mark: Any) -> None:
        self.values += more
        if self.values > self.max_values:
            problem = f"more than {self.max_values} values with aliases expanded"
            raise self.wrong(mark, problem, "use ranges, and fewer aliases")

    def scalar(self, event: Any, node: _Node) -> None:
        if problem := not_shown(event.value):
            raise self.wrong(event.start_mark, problem, "write text that can be shown")
        plain = not event.style and event.tag is None
        node.data = self.plain(event.value, event.start_mark) if plain else event.value
        node.text = event.value
        node.indent = int(event.style in ("'", '"'))

    def plain(self, text: str, mark: Any) -> Any:
        if text in _WORDS:
            return _WORDS[text]
        if len(text) > 400 and (_INT.fullmatch(text) or _FLOAT.fullmatch(text)):
            raise self.wrong(mark, f"a number of {len(text)} digits", "write it as 1e9")
        if _INT.fullmatch(text):
            return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
        return float(text) if _FLOAT.fullmatch(text) else text

    def sequence(self, node: _Node, depth: int) -> None:
        while not self.events.check_event(yaml.SequenceEndEvent):
            node.children[len(node.children)] = self.node(depth + 1)
        self.events.get_event()
        node.data = [child.data for child in node.children.values()]

    def mapping(self, node: _Node, depth: int) -> None:
        while not self.events.check_event(yaml.MappingEndEvent):
            mark = self.events.peek_event().start_mark
            key_node = self.node(depth + 1)
            key = key_node.data
            if self.numbers_as_keys and isinstance(key, (int, float)):
                key = key_node.text
            if not isinstance(key, str):
                problem = f"the key {str(key)[:40]} is not text"
                raise self.wrong(mark, problem, "write keys as words, or in quotes")
            if key in node.keys:
                problem = f"duplicate key '{key}', first on line {node.keys[key][0]}"
                self.duplicates.note(self.wrong(mark, problem, "keep one of them"))
                self.node(depth + 1)
                continue
            if key == "<<":
                raise self.wrong(mark, "'<<' is not supported", "write the keys out")
            node.keys[key] = (mark.line + 1, mark.column + 1)
            node.children[key] = self.node(depth + 1)
        self.events.get_event()
        node.data = {key: child.data for key, child in node.children.items()}

    def wrong(self, mark: Any, problem: str, remedy: str) -> StudyError:
        place = (mark.line + 1, mark.column + 1)
        return StudyError(self.name, *place, problem, remedy)

    def nested(self, mark: Any) -> StudyError:
        """The complaint on a file of too many levels."""
        return self.wrong(mark, f"nested more than {MAX_DEPTH} deep", "use fewer levels")

    def _json_syntax(self) -> StudyError | None:
        """What is wrong with a file that is called JSON; None where that is not its JSON."""
        text = "\n".join(self.lines)
        try:
            json.loads(text)
        except json.JSONDecodeError as cause:
            if cause.pos >= len(text.rstrip()) or cause.msg.startswith("Unterminated string"):
                problem = "not valid JSON: the file ends before it is complete"
                return StudyError(self.name, cause.lineno, cause.colno, problem, "fetch it again")
            problem = f"not valid JSON: {cause.msg[:1].lower()}{cause.msg[1:]}"
            remedy = "check quotes, commas and brackets"
            return StudyError(self.name, cause.lineno, cause.colno, problem, remedy)
        except RecursionError:
            return None
        return None

    def syntax(self, cause: yaml.YAMLError) -> StudyError:
        """The parser's complaint in the user's terms."""
        if self.name.lower().endswith(".json") and (found := self._json_syntax()) is not None:
            return found
        remedy = "check indentation, brackets, quotes and the space after each colon"
        mark = getattr(cause, "problem_mark", None)
        if mark is None:
            return StudyError(self.name, 0, 0, f"not valid YAML: {cause}", remedy)
        if "nesting depth" in str(getattr(cause, "problem", "")):  # newer parsers have a limit, too
            return self.nested(mark)
        for number in (mark.line, mark.line - 1):
            line = self.lines[number] if 0 <= number < len(self.lines) else ""
            blank = line[: len(line) - len(line.lstrip())]
            if "\t" in blank:
                place = (number + 1, blank.index("\t") + 1)
                return StudyError(self.name, *place, "a tab in the indentation", "use spaces")
        context = getattr(cause, "context", None) or ""
        start = getattr(cause, "context_mark", None)
        if context and start is not None:
            context = f" {context} that starts on line {start.line + 1}"
        problem = f"not valid YAML: {getattr(cause, 'problem', cause)}{context}"
        return self.wrong(mark, problem, remedy)
