"""Whether, and by whose rules, a study may leave the algorithm to the library."""

from __future__ import annotations

from collections.abc import Iterator

from dse import catalog
from dse.model.aggregation.library_rules import BY_NAME
from dse.pricing.aggregations import Factory, left_to_library
from dse.study import AggregationName, Study
from dse.yaml_source import Loc


def check_choices(study: Study, factory: Factory) -> None:
    """Raise StudyError where the library is to choose, but nobody knows how it does."""
    for place, name in _places(study):
        if left_to_library(name) and not factory.known(name):
            raise study.source.error(place, *missing(name))


def _places(study: Study) -> Iterator[tuple[Loc, AggregationName]]:
    """Every aggregation a study names, and where."""
    axis = study.axis("aggregation")
    listed = isinstance(study.source.data["space"].get("aggregation"), list)
    places: list[tuple[Loc, object]] = [
        ((("space", "aggregation", at) if listed else ("space", "aggregation")), value)
        for at, value in enumerate(axis.values if axis else ())
    ]
    for at, condition in enumerate(study.conditions):
        if condition.axis == "aggregation":
            places += [(("when", at, "values"), value) for value in condition.values]
    places.append((("baseline", "aggregation"), study.baseline.values.get("aggregation")))
    for place, value in places:
        if isinstance(value, AggregationName):
            yield place, value


def missing(name: AggregationName) -> tuple[str, str]:
    """What is wrong with a choice that nobody knows, and what would be right."""
    algorithm, transport = name.algorithm, name.transport
    if algorithm in BY_NAME:
        library = BY_NAME[algorithm]
        known = map(catalog.transport, catalog.names("transports"))
        over = [transport.name for transport in known if library in transport.libraries]
        return f"{library} does not choose over {transport}", f"write {algorithm}-{over[0]}"
    problem = f"neither rules nor a profile say which algorithm {transport} chooses"
    remedy = (
        "name an algorithm such as ring, or fit a log of it: dse calibrate import, dse calibrate "
        "fit"
    )
    return problem, remedy
