"""Evidence of several: of all that a library's rules may choose, or of one by every layout."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.calibration.evidence.base import Evidence, Grade, Surroundings
from dse.calibration.evidence.checks import on_several
from dse.calibration.evidence.fits import BetweenNodes, OfAlgorithm
from dse.calibration.profile import Profile
from dse.model.aggregation.base import Gradients
from dse.model.aggregation.by_layout import joined
from dse.model.aggregation.composed import Software
from dse.model.aggregation.library_rules import LibraryRules
from dse.model.arrays import Array, Mask


@dataclass(frozen=True)
class OfRules:
    """An algorithm for every message by a library's rules: the evidence of all that are chosen."""

    aggregation: LibraryRules
    by_name: Mapping[str, Evidence]

    @property
    def profile(self) -> Profile | None:
        """The one of all that may be chosen; None where some were not measured."""
        profiles = [self.by_name[name].profile for name in self.aggregation.algorithms]
        return profiles[0] if all(profiles) else None

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """Of all that may be chosen."""
        return tuple(one for name in self.aggregation.algorithms
                     for one in self.by_name[name].profiles)  # fmt: skip

    @property
    def parts_measured(self) -> tuple[bool, ...]:
        """Of all that may be chosen."""
        return tuple(known for name in self.aggregation.algorithms
                     for known in self.by_name[name].parts_measured)  # fmt: skip

    def likeness(self, layout: Surroundings) -> Array:
        """None: rules are no measurement."""
        del layout
        return np.zeros(())

    def measured(self, gradients: Gradients, layout: Surroundings) -> bool:
        """Whether profiles price all that is chosen."""
        names = self.aggregation.names(gradients, layout)
        return all(self.by_name[name].measured(gradients, layout) for name in names)

    def grade(self, gradients: Gradients, layout: Surroundings) -> NDArray[np.int64]:
        """The farthest of all that are chosen at a point."""
        _, choices = self.aggregation.choice_by_size(gradients, layout)
        found = np.where((layout.gpus <= 1) | bool(len(choices)), Grade.INSIDE, Grade.FAR)
        for evidence, used in self._used(gradients, layout):
            grade = evidence.grade(gradients, layout)
            found = np.where(used, np.maximum(found, grade), found)
        return found

    def why_outside(self, gradients: Gradients, layout: Surroundings) -> list[str]:
        """What any of the chosen lacks."""
        found: dict[str, None] = {}
        for name in self.aggregation.names(gradients, layout):
            found.update(dict.fromkeys(self.by_name[name].why_outside(gradients, layout)))
        return list(found)

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """The widest of all that are chosen at a point."""
        found: Array = np.zeros(())
        for evidence, used in self._used(gradients, layout):
            spread = evidence.log_spread(gradients, layout)
            found = np.where(used, np.maximum(found, spread), found)
        return found

    def _used(self, gradients: Gradients, layout: Surroundings) -> Iterator[tuple[Evidence, Mask]]:
        """The evidence of every algorithm that is chosen, and at which points it is."""
        algorithms = self.aggregation.rules.algorithms
        _, choices = self.aggregation.choice_by_size(gradients, layout)
        for name in self.aggregation.names(gradients, layout):
            mine = [at for at, known in enumerate(algorithms) if known.priced_as == name]
            yield self.by_name[name], np.any(np.isin(choices, mine), axis=0)


@dataclass(frozen=True)
class ByLayoutEvidence:
    """Of an aggregation whose costs are known from several profiles, each for layouts of its own.

    which: position in ``parts`` for every point of a layout.
    """

    parts: tuple[Evidence, ...]
    which: Callable[[Surroundings], NDArray[np.intp]]

    @property
    def profile(self) -> Profile | None:
        """The first; None where some points have none."""
        return self.parts[0].profile if all(part.profile for part in self.parts) else None

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """Of all parts, each once."""
        every = (profile for part in self.parts for profile in part.profiles)
        return tuple({id(profile): profile for profile in every}.values())

    @property
    def parts_measured(self) -> tuple[bool, ...]:
        """Of all parts."""
        return tuple(known for part in self.parts for known in part.parts_measured)

    def measured(self, gradients: Gradients, layout: Surroundings) -> bool:
        """Whether profiles price all these points."""
        return all(part.measured(gradients, layout) for part in self.taken(layout))

    def taken(self, layout: Surroundings) -> tuple[Evidence, ...]:
        """The parts that these points take."""
        return tuple(self.parts[at] for at in np.unique(self.which(layout)))

    def likeness(self, layout: Surroundings) -> Array:
        """The likeness of the part that each point takes."""
        return self._joined(layout, lambda part: part.likeness(layout))

    def grade(self, gradients: Gradients, layout: Surroundings) -> NDArray[np.int64]:
        """The grade of the part that each point takes."""
        found = self._joined(layout, lambda part: part.grade(gradients, layout))
        return found.astype(np.int64)

    def why_outside(self, gradients: Gradients, layout: Surroundings) -> list[str]:
        """What of a single point lies outside of the measurements of the part that it takes."""
        (part,) = self.taken(layout)
        return part.why_outside(gradients, layout)

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """The spread of the part that each point takes."""
        return self._joined(layout, lambda part: part.log_spread(gradients, layout))

    def _joined(self, layout: Surroundings, read: Callable[[Evidence], Any]) -> Array:
        return joined(self.which(layout), lambda at: read(self.parts[at]))


def of_algorithm(
    profile: Profile, algorithm: str, software: Software, same_system: bool = False
) -> Evidence:
    """A named algorithm by all that a profile measured of it: on one node, on several, or both."""
    alone = OfAlgorithm(profile, algorithm, software.reaches_device, same_system=same_system)
    between = profile.network.get(algorithm)
    if between is None:
        return alone
    apart = BetweenNodes(profile, between, software, same_system=same_system)
    return by_nodes(alone, apart) if profile.fits else apart


def by_nodes(alone: Evidence, apart: Evidence) -> ByLayoutEvidence:
    """``alone`` on one node, ``apart`` on several."""
    return ByLayoutEvidence((alone, apart), lambda layout: on_several(layout).astype(np.intp))
