"""Evidence of several: of all that a library's rules may choose, or of one by every layout."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.calibration.evidence import Evidence, Surroundings
from dse.calibration.evidence.checks import on_several
from dse.calibration.evidence.fits import BetweenNodes, OfAlgorithm
from dse.calibration.profile import Profile
from dse.model.aggregation.base import Gradients
from dse.model.aggregation.by_layout import joined
from dse.model.aggregation.composed import Software
from dse.model.aggregation.library_rules import LibraryRules
from dse.model.arrays import Array, Mask

Used: TypeAlias = tuple[Evidence, Mask]  # a part, and which points take it


@dataclass(frozen=True)
class Joined(ABC):
    """Evidence that consists of others, each for some of the messages or of the points."""

    parts: tuple[Evidence, ...]

    @abstractmethod
    def used(self, gradients: Gradients, layout: Surroundings) -> Iterator[Used]:
        """The parts that any of these points takes, and which of them do."""

    @property
    def profile(self) -> Profile | None:
        """The first; None where a part has none."""
        return self.parts[0].profile if all(part.profile for part in self.parts) else None

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """Of all parts, each once."""
        every = (profile for part in self.parts for profile in part.profiles)
        return tuple({id(profile): profile for profile in every}.values())

    def grade(self, gradients: Gradients, layout: Surroundings) -> NDArray[np.int64]:
        """The farthest of all that a point takes."""
        found = self._widest(gradients, layout, lambda part: part.grade(gradients, layout))
        return found.astype(np.int64)

    def why_outside(self, gradients: Gradients, layout: Surroundings) -> list[str]:
        """What any part that the point takes lacks."""
        used = self.used(gradients, layout)
        every = (why for part, _ in used for why in part.why_outside(gradients, layout))
        return list(dict.fromkeys(every))

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """The widest of all that a point takes."""
        return self._widest(gradients, layout, lambda part: part.log_spread(gradients, layout))

    def _widest(
        self, gradients: Gradients, layout: Surroundings, read: Callable[[Evidence], Any]
    ) -> Array:
        found: Array = np.zeros(())
        for part, taking in self.used(gradients, layout):
            found = np.where(taking, np.maximum(found, read(part)), found)
        return found


@dataclass(frozen=True)
class OfRules(Joined):
    """An algorithm for every message by a library's rules: the evidence of all that are chosen.

    parts: of the algorithms of the aggregation, in their order.
    """

    aggregation: LibraryRules

    def likeness(self, layout: Surroundings) -> Array:
        """None: rules are no measurement."""
        del layout
        return np.zeros(())

    def used(self, gradients: Gradients, layout: Surroundings) -> Iterator[Used]:
        """The algorithms that are chosen for a message."""
        algorithms = self.aggregation.rules.algorithms
        _, choices = self.aggregation.choice_by_size(gradients, layout)
        for name, part in zip(self.aggregation.algorithms, self.parts, strict=True):
            mine = [at for at, known in enumerate(algorithms) if known.priced_as == name]
            chosen = np.any(np.isin(choices, mine), axis=0)
            if np.any(chosen):
                yield part, chosen


@dataclass(frozen=True)
class ByLayoutEvidence(Joined):
    """Of an aggregation whose costs are known from several profiles, each for layouts of its own.

    which: position in ``parts`` for every point of a layout.
    """

    which: Callable[[Surroundings], NDArray[np.intp]]

    def likeness(self, layout: Surroundings) -> Array:
        """The likeness of the part that each point takes."""
        return joined(self.which(layout), lambda at: self.parts[at].likeness(layout))

    def used(self, gradients: Gradients, layout: Surroundings) -> Iterator[Used]:
        """One part at every point."""
        del gradients
        which = self.which(layout)
        for at in np.unique(which):
            yield self.parts[at], which == at


def of_algorithm(
    profile: Profile, algorithm: str, software: Software, same_system: bool = False
) -> Evidence:
    """A named algorithm by all that a profile measured of it: on one node, on several, or both."""
    between, parts = profile.network.get(algorithm), list[Evidence]()
    if profile.fits or between is None:
        fit, reaches = profile.fit(algorithm), software.reaches_device
        parts.append(OfAlgorithm(profile, fit, algorithm, reaches, same_system=same_system))
    if between is not None:
        parts.append(BetweenNodes(profile, between, software, same_system=same_system))
    if len(parts) == 1:
        return parts[0]
    return ByLayoutEvidence(tuple(parts), lambda layout: on_several(layout).astype(np.intp))
