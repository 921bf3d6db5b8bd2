"""Calibration profiles at hand that suit a study which does not name them: the one home of which
are suggested to a person, and which a study takes where nobody is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dse import catalog
from dse.calibration import Profile, read_profile
from dse.calibration.hardware_names import surely_same_kind
from dse.calibration.profile import measured_speeds
from dse.calibration.profile_files import CALIBRATIONS, profiles
from dse.calibration.ps_part import PS
from dse.calibration.throughput_part import Throughput
from dse.calibration.verdict import good_for
from dse.errors import DseError, StudyError
from dse.pricing.hardware import accelerators_of, fabrics_of
from dse.pricing.problem import Problem
from dse.pricing.profile_use import taken
from dse.pricing.throughput import applicable, own_rates
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

    Who follows a suggestion gets a profile of several nodes for points of several nodes, too. So
    one that does not know how fast its network was is left out where the study compares networks,
    and of those that come with dse also where it does not, and where no network of the study is of
    the kind that was measured.
    """
    return _fitting(problem, _choosable(problem, _at_hand(problem)))


@dataclass(frozen=True)
class Unasked:
    """What a study takes of a profile that it does not name. measured: the aggregations of the
    study that it prices. good_for: what for, and with what error."""

    measured: tuple[AggregationName, ...]
    good_for: str


def unasked(problem: Problem) -> dict[str, Unasked]:
    """By name, the profiles that a study takes where nobody is asked: own ones, and of those that
    come with dse the ones of a single node, since on several the network that they measured would
    price all others. None does that without knowing how fast its network was."""
    found = {name: one for name, one in _choosable(problem, _at_hand(problem)).items() if one.apart}
    return {
        name: Unasked(measured, good_for(found[name].profile, [one.algorithm for one in measured]))
        for name, measured in _fitting(problem, found).items()
    }


def training_rates(problem: Problem) -> dict[str, int]:
    """By name, the profiles of one's own that hold training rates of the study's workload on its
    accelerators which no other profile has, and how many: rates that its points can be compared
    with. None where the study says how fast it computes, and none of a profile by which it could
    not be priced."""
    if problem.study.efficiency.compute is not None or not problem.step_model.measurable:
        return {}
    found, known = dict[str, int](), set(own_rates(problem.profiles.values()))
    for name, one in _own(problem).items():
        rates = {rate for rate in applicable(one.profile) if _of_study(problem, rate)} - known
        if rates and _corrects(problem, name, one.profile):
            found[name] = len(rates)
            known |= rates
    return found


def _of_study(problem: Problem, rate: Throughput) -> bool:
    """Whether a rate is of the workload of the study, and of an accelerator of it."""
    if rate.accelerator not in accelerators_of(problem.study, problem.prices):
        return False
    try:
        return catalog.named_workload(rate.workload).name == problem.workload.name
    except DseError:
        return False


def _corrects(problem: Problem, name: str, profile: Profile) -> bool:
    """Whether all that its training rates name is there: workload, stack, aggregation, links."""
    try:
        _ = replace(problem, profiles={**problem.profiles, name: profile}).anchors
    except DseError:
        return False
    return True


def _choosable(problem: Problem, at_hand: Mapping[str, _AtHand]) -> dict[str, _AtHand]:
    """Those that may be chosen for a study: where networks are compared, none by which all would be
    equally fast."""
    study = problem.study
    networks = study.values("inter_node") or fabrics_of(study)
    compares = len(networks) > 1 or len(study.values("nics_per_node")) > 1
    return {
        name: one for name, one in at_hand.items()
        if one.of_one_node or one.knows_its_network or (one.own and not compares)
    }  # fmt: skip


def _fitting(
    problem: Problem, at_hand: Mapping[str, _AtHand]
) -> dict[str, tuple[AggregationName, ...]]:
    if not problem.step_model.measurable:
        return {}
    found = {name: one.profile for name, one in at_hand.items()}
    tried = replace(problem, profiles={**problem.profiles, **found})
    names = {id(profile): name for name, profile in found.items()}
    fits: dict[str, list[AggregationName]] = {}
    fabrics = fabrics_of(problem.study)
    for aggregation in problem.study.aggregations:
        for profile in taken(tried, aggregation):
            name = names.get(id(profile))
            if name is not None and (at_hand[name].apart or any(
                surely_same_kind(profile.link, fabric) for fabric in fabrics
            )):  # fmt: skip
                fits.setdefault(name, []).append(aggregation)
    most = sorted(fits, key=lambda name: -len(fits[name]))
    return {name: tuple(fits[name]) for name in most}


def _own(problem: Problem) -> dict[str, _AtHand]:
    """Those in ./calibrations that can be read and that the study does not name."""
    return _read(problem, [CALIBRATIONS])


def _at_hand(problem: Problem) -> dict[str, _AtHand]:
    """The same, and those that come with dse after them."""
    return _read(problem, [CALIBRATIONS, catalog.models_dir() / "calibrations"])


def _read(problem: Problem, folders: Sequence[Path]) -> dict[str, _AtHand]:
    seen, found = set(problem.profiles), dict[str, _AtHand]()
    for folder in folders:
        for path in profiles(folder):
            if path.stem in seen:
                continue
            try:
                one = _AtHand(read_profile(path), own=folder == CALIBRATIONS)
            except StudyError:  # not what the user asked about
                continue
            seen.add(path.stem)
            found[path.stem] = one
    return found
