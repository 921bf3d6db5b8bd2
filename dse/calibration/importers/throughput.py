"""Tables of measured samples per second, a row for each configuration, as they become a profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dse import catalog
from dse.calibration.experiment import sha256_of, today
from dse.calibration.fitting.profile import silent_profile
from dse.calibration.importers.text import read_text
from dse.calibration.profile import Profile
from dse.calibration.throughput_part import Throughput, aggregation_names
from dse.errors import StudyError
from dse.mistakes import Mistakes, each
from dse.spelling import alternatives, meant, real_name, same
from dse.text_table import Table, text_table
from dse.version import __version__

COLUMNS = ("workload", "accelerator", "samples_per_s", "precision", "batch_per_gpu", "gpus",
           "gpus_per_node", "stack", "accumulation", "optimizer", "aggregation", "node",
           "intra_node", "inter_node", "nics_per_node")  # fmt: skip
LIBRARY = "training rates of"  # of a profile that holds nothing else; its version is the table
_KINDS = {  # of columns that hold names -> of the catalogue
    "workload": "workloads", "accelerator": "accelerators", "stack": "stacks", "node": "nodes",
    "intra_node": "fabrics", "inter_node": "fabrics", "aggregation": "aggregations",
}  # fmt: skip


def throughput_profile(path: str | Path, name: str) -> Profile:
    """The profile of the rates of a table, see :func:`read_throughput`."""
    rates = read_throughput(path)
    return silent_profile(
        name=name,
        library=LIBRARY,
        version=Path(path).name,
        machine={},
        cores=1,
        background_cores=0.0,
        date=today(),
        source=f"{Path(path).name}, read with dse {__version__}",
        measurements_sha256=sha256_of(Path(path)),
        gamma_s_per_byte=0.0,
        copy_s_per_byte=0.0,
        throughput=tuple(rates.values()),
        system=name,
    )


def read_throughput(path: str | Path) -> Mapping[int, Throughput]:
    """The rates of a table by their lines. Raises StudyError with every mistake and its place.

    A workload may be the path of a workload file, relative to the table.
    """
    table = text_table(str(path), read_text(path), marks=",;\t")
    names = [real_name(name, COLUMNS) for name in table.header]
    for at, name in enumerate(names):
        if name not in COLUMNS:
            remedy = meant(name, COLUMNS, f"the columns are {', '.join(COLUMNS)}")
            raise table.wrong(-1, at, f"unknown column '{name}'", remedy)
    if not table.rows:
        raise table.wrong(-1, 0, "no row follows the header", "write one for each rate")
    rates = each(lambda row: _throughput(table, row, names), range(len(table.rows)))
    return dict(zip(table.lines[1:], rates, strict=True))


def _throughput(table: Table, row: int, names: Sequence[str]) -> Throughput:
    """The rate of a row; names: of the columns. Raises StudyError with every mistake."""
    from pydantic import TypeAdapter, ValidationError

    mistakes = Mistakes()
    given = {name: cell for name, cell in zip(names, table.rows[row], strict=True) if cell}

    def named(column: str) -> str:
        try:
            return _name(column, given[column], Path(table.path).parent)
        except StudyError as cause:
            if cause.line:  # a mistake in the file of a workload
                raise
            problem = f"{column}: {cause.file and f'{cause.file}: '}{cause.problem}"
            raise table.wrong(row, names.index(column), problem, cause.remedy) from None

    found = mistakes.by_key(named, [name for name in _KINDS if name in given])
    given |= {name: part.otherwise(given[name]) for name, part in found.items()}
    if "gpus_per_node" not in given and given.get("node") in catalog.names("nodes"):
        given["gpus_per_node"] = str(catalog.node(given["node"]).accelerators)
    try:
        rate = TypeAdapter(Throughput).validate_strings({"stack": "vendor", **given})
    except ValidationError as cause:
        for one in cause.errors():
            name = str(one["loc"][0])
            text = f"{name}: '{given.get(name, '')}': {one['msg'][:1].lower()}{one['msg'][1:]}"
            at = names.index(name) if name in names else 0
            mistakes.note(table.wrong(row, at, text, "see the columns in docs/calibration.md"))
    mistakes.told()
    return rate


def _name(column: str, word: str, folder: Path) -> str:
    """The name that a word means, in any spelling or by an alias that is clear; of a workload also
    the absolute path of its file, from the folder of the table."""
    if column == "workload" and catalog.is_path(word):
        path = folder / word
        catalog.named_workload(str(path))
        return str(path.resolve())
    kind = _KINDS[column]
    known = {"stacks": catalog.computing().stacks, "aggregations": aggregation_names()}.get(kind)
    known = known or dict.fromkeys(catalog.names(kind))
    found = real_name(word, known, catalog.clear_aliases(kind))
    if found in known:
        return found
    if could := catalog.aliases().get(kind, {}).get(same(word)):  # a measurement is of one of them
        remedy = f"write {alternatives(could)}"
        raise StudyError("", 0, 0, f"'{word}' could mean several", remedy)
    remedy = meant(word, known, "write it as studies do, see dse catalog")
    raise StudyError("", 0, 0, f"'{word}' is not known", remedy)
