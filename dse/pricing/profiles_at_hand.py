"""Calibration profiles at hand that suit a study which does not name them: the one home of which
are suggested to a person, and which a study takes where nobody is asked."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dse import catalog
from dse.calibration import Profile, read_profile
from dse.calibration.hardware_names import surely_same_kind
from dse.calibration.measured_range import measured_speeds
from dse.calibration.profile_files import CALIBRATIONS, profiles
from dse.calibration.ps_part import PS
from dse.errors import StudyError
from dse.pricing.caveats import taken
from dse.pricing.hardware import fabrics_of
from dse.pricing.problem import Problem
from dse.study import AggregationName


@dataclass(frozen=True)
class _AtHand:
    """A profile, and whether it is the user's own, from ./calibrations."""

    profile: Profile
    own: bool

    @property
    def of_one_node(self) -> bool:
        return self.profile.max_nodes <= 1

    @property
    def apart(self) -> bool:
        """Whether no network of somebody else is in it."""
        return self.own or self.of_one_node

    @property
    def knows_its_network(self) -> bool:
        """Whether it says how fast the network was, without which its times would be used for
        every network unchanged: who measured it may know that, nobody else can."""
        servers = (f"{PS}-{transport}" for transport in self.profile.ps)
        algorithms = (*self.profile.measured_algorithms, *servers)
        return any(measured_speeds(self.profile, name) for name in algorithms)


def fitting(problem: Problem) -> dict[str, tuple[AggregationName, ...]]:
    """Names of the profiles in ./calibrations and of those that come with dse which would price
    points of the study by what was measured on hardware of their kind, and the aggregations that
    they would price; those that would price most of these first.

    Those that come with dse and measured several nodes are left out unless they know their
    network, its speed and its kind, and the study has one of that kind: who follows a suggestion
    gets them for points of several nodes, too.
    """
    return _fitting(problem, _at_hand(problem))


@dataclass(frozen=True)
class Unasked:
    """What a study takes of a profile that it does not name. of_one_node: whether a single node was
    measured. measured: the aggregations of the study that it prices."""

    of_one_node: bool
    measured: tuple[AggregationName, ...]


def unasked(problem: Problem) -> dict[str, Unasked]:
    """By name, the profiles that a study takes where nobody is asked: own ones, and of those that
    come with dse the ones of a single node, since on several the network that they measured would
    price all others."""
    found = _at_hand(problem)
    return {
        name: Unasked(found[name].of_one_node, measured)
        for name, measured in _fitting(problem, found).items()
        if found[name].apart
    }


def _fitting(
    problem: Problem, at_hand: dict[str, _AtHand]
) -> dict[str, tuple[AggregationName, ...]]:
    if not problem.step_model.measurable:
        return {}
    found = {name: one.profile for name, one in at_hand.items()}
    tried = replace(problem, profiles={**problem.profiles, **found})
    names = {id(profile): name for name, profile in found.items()}
    fits: dict[str, list[AggregationName]] = {}
    for aggregation in problem.study.aggregations:
        for profile in taken(tried, aggregation):
            name = names.get(id(profile))
            if name is not None and (at_hand[name].apart or _has_network(problem, profile)):
                fits.setdefault(name, []).append(aggregation)
    most = sorted(fits, key=lambda name: -len(fits[name]))
    return {name: tuple(fits[name]) for name in most}


def _has_network(problem: Problem, profile: Profile) -> bool:
    """Whether the study has a network of the kind that a profile was measured on."""
    fabrics = fabrics_of(problem.study)
    return any(surely_same_kind(profile.link, fabric) for fabric in fabrics)


def _at_hand(problem: Problem) -> dict[str, _AtHand]:
    """Those that can be read, that the study does not name, and that are worth suggesting; own ones
    before others."""
    seen, found = set(problem.profiles), dict[str, _AtHand]()
    for folder in (CALIBRATIONS, catalog.models_dir() / "calibrations"):
        for path in profiles(folder):
            if path.stem in seen:
                continue
            try:
                one = _AtHand(read_profile(path), own=folder == CALIBRATIONS)
            except StudyError:  # not what the user asked about
                continue
            seen.add(path.stem)
            if one.apart or one.knows_its_network:
                found[path.stem] = one
    return found
