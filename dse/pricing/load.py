"""A study file -> a problem ready to search: names resolved, facts checked for what it needs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import ceil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dse import catalog
from dse.calibration import Profile, read_profile
from dse.calibration.profile_files import profile_of_study
from dse.catalog.accelerators import described_accelerator
from dse.catalog.computing import OTHER
from dse.catalog.store import products, shipped_studies
from dse.currencies import Rate
from dse.errors import DseError, StudyError
from dse.mistakes import Mistakes, Part, each
from dse.model.aggregation.names import NAMES
from dse.model.goodput import HOPELESS
from dse.model.precision import PRECISIONS
from dse.pricing import constraints, market, memory_remedies, requirements, target
from dse.pricing.aggregations import Factory
from dse.pricing.computing import losses
from dse.pricing.layout_choice import baseline
from dse.pricing.mix import Mix, MixedWorkload, own_software
from dse.pricing.points import DEFAULT_BUCKET_BYTES
from dse.pricing.problem import Problem
from dse.spelling import alternatives, meant
from dse.study import (
    IGNORED,
    PAI,
    QUANTITIES,
    ConfiguredWorkload,
    GivenPrices,
    InlineWorkload,
    Names,
    Study,
)
from dse.study.axes import (
    ACCUMULATION,
    AXES,
    GLOBAL_BATCH,
    LAYOUT_STACKS,
    OF_LAYOUT,
    TABLED,
    WHOLE_STACKS,
)
from dse.study.definition import USED
from dse.study.mix import of_each
from dse.study.quantities import LAYOUTS
from dse.study.questions import Questions
from dse.study.reader import study_of
from dse.study.values import DESCRIBED
from dse.text_source import is_fleet
from dse.yaml_source import Loc, Source, parse_yaml, read_yaml


def known_names() -> Names:
    """Every name a study may use."""
    return Names(
        workloads=catalog.names("workloads"),
        accelerators=catalog.names("accelerators"),
        fabrics=catalog.names("fabrics"),
        nodes=catalog.names("nodes"),
        transports=catalog.names("transports"),
        algorithms=NAMES,
        approaches=catalog.names("approaches"),
        regions=catalog.names("regions"),
        aliases=catalog.aliases(),
        products=products(),
        usual_optimizer=_usual_optimizer,
        rates=_rates,
    )


def _rates(source: Source, lists: Sequence[GivenPrices]) -> Mapping[str, Rate]:
    """What the price lists of a study say that currencies are worth."""
    return _read_prices(source, lists).rates


def _read_prices(source: Source, lists: Sequence[GivenPrices]) -> catalog.PriceList:
    """The catalogue's price list with those of a study over it, and what the study describes."""
    opened = (_opened(source, given) for given in lists)
    return catalog.read_prices(*opened, described=_described(source))


def _described(source: Source) -> Mapping[str, catalog.Accelerator]:
    """The accelerators that a study describes itself."""

    def read(name: str) -> catalog.Accelerator:
        loc = (DESCRIBED, name)
        entry = catalog.Entry(source, source.data[DESCRIBED][name], loc, root=len(loc))
        found = described_accelerator(entry, name)
        known = sorted({law.generation for law in catalog.computing().laws.values()} - {OTHER})
        if found.generation and found.generation not in known:
            remedy = f"write {alternatives(known)}, or leave it out"
            raise entry.wrong(f"generation '{found.generation}' is not known", remedy, "generation")
        return found

    given = source.data.get(DESCRIBED)
    own = [*given] if isinstance(given, dict) else []
    own = [name for name in own if isinstance(given[name], dict)]  # what is none is told elsewhere
    return dict(zip(own, each(read, own), strict=True))


def _usual_optimizer(workload: object) -> str | None:
    """What the workload of a study is usually trained with; None where that, or the network, is not
    known."""
    if not isinstance(workload, str | ConfiguredWorkload):
        return None
    try:
        fact = catalog.usual_optimizer(_known_workload(workload))
    except DseError:  # told where the workload is read
        return None
    return None if fact is None else fact.text


LAID_OUT = ("experts", "rank_order", "train")  # keys of studies of layouts
LONGEST_PATH = 1024  # characters of what can be a path


def study_path(given: str | Path) -> Path:
    """The file the user means: a path, or the name of a study that comes with dse."""
    path = Path(given)
    if "\n" in str(given) or len(str(given)) > LONGEST_PATH:
        problem = "the text of a study is no path"
        raise StudyError("study", 0, 0, problem, "give the path of a file, or a mapping")
    there = os.path.exists(path) and not os.path.isdir(path)
    return path if there else shipped_studies().get(str(given), path)


def is_unknown(given: str | Path, path: Path) -> bool:
    """Whether what the user gave is no file, and no name of what comes with dse. path: what
    :func:`study_path` makes of it."""
    named = not path.suffix and len(path.parts) == 1
    return named and path == Path(given) and not os.path.exists(path)


def load(path: str | Path, questions: Questions | None = None) -> Problem:
    """Read a study and resolve it, with what is asked beside it.

    Raises :class:`StudyError` with the place of what is wrong.
    """
    found = study_path(path)
    if is_unknown(path, found):
        shipped = [name for name, file in shipped_studies().items() if not is_fleet(file)]
        remedy = meant(str(path), shipped, f"name a file, or one of {', '.join(shipped)}")
        raise StudyError(
            str(path), 0, 0, "no such file, and no study of that name comes with dse", remedy
        )
    duplicates = Mistakes()
    source = read_yaml(found, mistakes=duplicates)
    study = study_of(source, known_names(), duplicates)
    return with_questions(study, questions or Questions())


def with_questions(study: Study, questions: Questions) -> Problem:
    """A study with what is asked beside it, resolved; likewise."""
    return resolve(questions.asked_of(study, lambda: _rates(study.source, study.prices)))


def asking(problem: Problem, questions: Questions) -> Problem:
    """A problem with what is asked beside its study; the same one where nothing is asked."""
    return with_questions(problem.study, questions) if questions else problem


def resolve(study: Study) -> Problem:
    """A study against catalogue, price list and profiles.

    Raises :class:`StudyError` with all that is wrong, as far as one does not follow from another.
    """
    problem = _resolved(study)
    if not study.mix:
        return problem
    first, *others = study.mix

    def mixed(name: str) -> MixedWorkload:
        alone = study_of(study.source, known_names(), workload=name)
        kept = tuple(filter(of_each, alone.constraints))
        return MixedWorkload(name, study.mix[name], _resolved(replace(alone, constraints=kept)))

    itself = MixedWorkload(first, study.mix[first], problem)
    return replace(problem, mix=Mix((itself, *each(mixed, others))))


def _resolved(study: Study) -> Problem:
    """A study of one workload, or of one of a mix alone."""
    study, mistakes = market.counted_once(study), Mistakes()
    profiles = mistakes.part(lambda: {} if study.model == PAI else _profiles(study))
    workload = mistakes.part(lambda: _workload(study))
    aimed = mistakes.part(lambda: target.check(study, workload()))
    prices = mistakes.part(lambda: _located(_prices(study), study))
    problem = mistakes.part(
        lambda: Problem(study, workload(), prices(), profiles(), *losses(study, workload()))
    )
    laid_out = mistakes.part(partial(_laid_out, problem))
    problem = mistakes.part(lambda: own_software(laid_out()))
    mistakes.part(lambda: requirements.check_axes(problem()))
    mistakes.part(lambda: _check_facts(problem(), aimed))
    mistakes.told()
    return problem()


_ANY_LAYOUT = """\
study: layouts
workload: llama3-8b
stack: megatron
space: {node: dgx-h100, gpus: 8}
objectives: {maximize: speedup, minimize: capital}
"""


def of_layouts(*profiles: Profile) -> Problem:
    """A problem that prices layouts as profiles say, of whatever workload and hardware."""
    study = study_of(parse_yaml(_ANY_LAYOUT, "layouts"), known_names())
    named = {profile.name: profile for profile in profiles}
    return Problem(study, _workload(study), _prices(study), named)


def _laid_out(known: Part[Problem]) -> Problem:
    """A problem whose baseline has a layout, see :func:`.layout_choice.baseline`."""
    problem = known()
    _check_layouts(problem)
    if not problem.study.laid_out:
        return problem
    study, found = problem.study, baseline(problem)
    if found is None:
        what = f"no layout of {problem.workload.name} that the study allows fits its accelerators"
        remedy = "allow more of them, larger degrees, zero: 3 or recompute: full"
        raise study.source.error(("space",), what, remedy)
    return replace(problem, study=replace(study, baseline=found))


def _check_layouts(problem: Problem) -> None:
    """Raise for what is no study of layouts, or leaves none."""
    study, tables = problem.study, problem.tables
    wrong = study.source.error
    if not study.laid_out:
        for key in LAID_OUT:
            if key in study.source.data:
                remedy = "drop it, or add axes of layouts, such as tensor_parallel: auto"
                raise wrong((key,), f"{key}: nothing is laid out", remedy, key=True)
        for name in sorted(requirements.demanded(study)):
            if QUANTITIES[name] in problem.quantities:
                continue
            goals = [one.goal for one in study.objectives if one.name == name]
            place: Loc = ("objectives", goals[0]) if goals else ("constraints",)
            if QUANTITIES[name].needs == LAYOUTS:
                remedy = "name another quantity, or add axes such as tensor_parallel: auto"
                raise wrong(place, f"{name} is known of layouts alone", remedy)
            said = f"{name}: samples of {problem.workload.name} have no known number of tokens"
            raise wrong(place, said, "name another quantity, such as mfu")
        return
    if study.model == PAI:
        raise wrong(("model",), f"model {PAI} lays nothing out", "drop it, or the axes of layouts")
    if {ACCUMULATION, GLOBAL_BATCH} <= {axis.name for axis in study.axes}:
        problem_text = f"{ACCUMULATION} follows from {GLOBAL_BATCH}"
        raise wrong(("space", ACCUMULATION), problem_text, "keep one of the two", key=True)
    for at, condition in enumerate(study.conditions):
        own = [n for n in (condition.axis, *dict(condition.requires)) if n in {*TABLED, *OF_LAYOUT}]
        if own:
            raise wrong(("when", at), f"{own[0]} cannot be conditional", f"put {own[0]} in space")
    whole = [stack for stack in study.values("stack") if stack in WHOLE_STACKS]
    if whole and study.lora:
        problem_text = f"adapters are not known under stack {whole[0]}"
        raise wrong(("train",), problem_text, f"write stack: {LAYOUT_STACKS[0]}, or train: full")
    alone = len(whole) == len(study.values("stack"))
    for axis in study.axes if alone else ():
        row = AXES[axis.name]
        others = [n for n in axis.values if str(n) != row.absent]
        if row.layout and "compute" in row.changes and others:
            problem_text = (
                f"{axis.name} {others[0]} under stack {whole[0]}, which is known with data "
                "parallelism and ZeRO alone"
            )
            remedy = f"drop {axis.name}, or write stack: {LAYOUT_STACKS[0]}"
            raise wrong(("space", axis.name), problem_text, remedy)
    try:
        rule = tables.broken
    except StudyError as cause:
        raise wrong(("workload",), cause.problem, cause.remedy) from None
    except DseError as cause:
        raise wrong(("workload",), str(cause)) from None
    if rule:
        problem_text = f"no layout is left; most combinations break this rule: {rule}"
        raise wrong(("space",), problem_text, "give values that meet it, or auto")


def _workload(study: Study) -> catalog.Workload:
    given = study.workload
    if isinstance(given, InlineWorkload):
        return _inline_workload(given, study)
    try:
        return _known_workload(given)
    except StudyError:
        raise
    except DseError as cause:
        raise study.source.error(("workload", "sequence"), str(cause), "leave it out") from None


def _known_workload(given: str | ConfiguredWorkload) -> catalog.Workload:
    """A workload of the catalogue, or one that a file describes, of samples as they are asked."""
    if not isinstance(given, ConfiguredWorkload):
        return catalog.named_workload(given)
    if catalog.is_path(given.config):
        return catalog.workload_of_config(Path(given.config), given.sequence)
    if given.sequence is None:
        return catalog.workload(given.config)
    return catalog.resized(given.config, given.sequence)


# Layers of a network that has no table, at least: there must be several, so that most gradients are
# summed beside the backward pass (BERT large has 24 blocks, ResNet-50 54 layers with weights). More
# where each would be larger than a bucket, but no more than the tables of large transformers have.
EQUAL_LAYERS, MOST_EQUAL_LAYERS = 32, 256
EQUAL_LAYER = "equal"  # their kind
TENSOR = "tensor"  # the kind of layers that are a gradient tensor each


def _inline_workload(given: InlineWorkload, study: Study) -> catalog.Workload:
    """A network described in the study; without a layer table it has equal layers."""
    if given.layers is not None:
        names, kinds, table = catalog.read_layers(Path(given.layers))
        for key, problem in catalog.disagreements(table, given.params, given.forward_flops):
            raise study.source.error(("workload", key), problem, f"correct it or {given.layers}")
    else:
        shares, kind = _shares(given)
        names = tuple(f"{number} of {len(shares)}" for number in range(1, len(shares) + 1))
        kinds = (kind,) * len(shares)
        elements = np.nan if given.activation_bytes is None else given.activation_bytes / 2
        network = np.array([[given.params], [given.forward_flops], [elements], [elements]])
        table = network * shares
    return catalog.Workload(
        name=given.name,
        title=given.name,
        params=given.params,
        forward_flops=given.forward_flops,
        activation_bytes=given.activation_bytes,
        activation_bytes_without_scores=None,
        input_bytes=given.input_bytes,
        gradient_tensors=len(names) if isinstance(given.gradient_tensors, tuple) else None,
        layer_names=names,
        layer_kinds=kinds,
        layer_params=table[0],
        layer_forward_flops=table[1],
        layer_output_elems=table[2],
        layer_saved_elems=table[3],
        method="as the study describes it",
        network=given.name,
        facts=(),
    )


def _shares(given: InlineWorkload) -> tuple[NDArray[np.float64], str]:
    """What share of the network each of its layers is, in forward order, and the layers' kind."""
    if isinstance(given.gradient_tensors, tuple):
        elements = np.array(given.gradient_tensors[::-1])
        return elements / elements.sum(), TENSOR
    buckets = ceil(given.params * PRECISIONS["fp32"].gradient_bytes / DEFAULT_BUCKET_BYTES)
    count = given.gradient_tensors or min(max(EQUAL_LAYERS, buckets), MOST_EQUAL_LAYERS)
    return np.full(count, 1 / count), EQUAL_LAYER


def _prices(study: Study) -> catalog.PriceList:
    """The catalogue's price list with those of the study over it."""
    found = _read_prices(study.source, study.prices)
    found = found.rented(study.rental.term)
    found = found.of_class(market.rent_class(study, found))
    return catalog.with_used_prices(found) if study.market == USED else found


def _opened(source: Source, given: GivenPrices) -> str | catalog.Entry:
    """A price list: its path, or the part of the study that it is."""
    if isinstance(given, str):
        return given
    data = source.data
    for step in given:
        data = data[step]
    return catalog.Entry(source, data, given, root=len(given))


def _located(prices: catalog.PriceList, study: Study) -> catalog.PriceList:
    """Prices with the electricity and the carbon of the study's region, but for what its own list
    says; a region without a price leaves that of the list."""
    if study.region is None:
        return prices
    place, usual = catalog.region(study.region), catalog.default_prices()
    price, carbon = prices.electricity_usd_per_kwh, prices.carbon_kg_per_kwh
    if price is usual.electricity_usd_per_kwh:
        price = place.electricity_usd_per_kwh or price
    if carbon is usual.carbon_kg_per_kwh:
        carbon = place.carbon_kg_per_kwh
    return replace(prices, electricity_usd_per_kwh=price, carbon_kg_per_kwh=carbon)


def _profiles(study: Study) -> Mapping[str, Profile]:
    """The study's profiles by name. Which of them prices a point is decided for each."""
    profiles = each(
        lambda place: read_profile(profile_path(study, place[1], place[0])),
        enumerate(study.calibration),
    )
    found = dict(zip(study.calibration, profiles, strict=True))
    requirements.check_choices(study, Factory(found))
    return found


def profile_path(study: Study, name: str, position: int) -> Path:
    """Where a profile lies: a path, ./calibrations, or those that come with dse."""
    shipped = catalog.models_dir() / "calibrations"
    return profile_of_study(study.source, name, position, shipped)


def _check_facts(problem: Problem, aimed: Part[None]) -> None:
    """Refuse a study that asks for what the catalogue does not know.

    aimed: whether its target says something of its workload, without which no point has a price.

    An unknown price must not look like a free one. Where activations are unknown, fits_memory is
    not judged, but the memory that stays free cannot be compared.
    """
    study = problem.study
    demanded = requirements.demanded(study)
    mistakes = Mistakes()
    if "memory_slack" in demanded and not problem.memory_known:
        mistakes.note(study.source.error(
            ("workload",),
            f"the activations of {problem.workload.name} are unknown, so memory_slack has no value",
            "drop it, or describe the workload inline with activation_bytes",
        ))  # fmt: skip
    mistakes.part(lambda: _check_values(problem, demanded))
    mistakes.told()
    aimed()
    _check_baseline(problem)
    if study.target or study.failures.given:
        _check_goodput(problem)


def _check_baseline(problem: Problem) -> None:
    """Every speedup is relative to the baseline, so that it must be possible to price it."""
    study = problem.study
    values = study.baseline.values
    try:
        missed = [
            reason
            for reason, mask in constraints.built_in(problem.baseline, study)
            if reason not in (constraints.WHOLE_NODES, constraints.SOLD) and not mask.all()
        ]
        short = memory_remedies.shortage(problem, values)
    except DseError as cause:
        raise study.source.error(
            ("baseline",), f"the baseline cannot be priced: {cause}"
        ) from cause
    if missed:
        machine = values.get("node", values.get("accelerator"))
        why = f"{machine} with {values.get('precision', 'fp32')}: {constraints.unmet(missed[0])}"
        remedy = "choose one that can run"
        if missed[0] == constraints.FITS:
            why = f"{machine} has too little memory for {problem.workload.name}: {short}"
            remedy = f"choose one that fits, or write memory: {IGNORED}"
        if study.source.data.get("baseline") is None:
            labels = study.baseline.labels
            first = ", ".join(f"{name}={labels[name]}" for name in study.baseline.assumed)
            raise study.source.error(
                ("space",),
                "no baseline: is given, so it is the first value of every axis "
                f"({first}), which cannot be priced: {why}",
                "give a baseline: that can run",
            )
        problem_text = f"the baseline cannot be priced: {why}"
        raise study.source.error(("baseline",), problem_text, remedy)


def _check_goodput(problem: Problem) -> None:
    """A baseline that never gets anywhere has no time, cost or energy of a run to compare with."""
    running = problem.baseline.running
    if np.all(running.share > HOPELESS):
        return
    study, minutes = problem.study, float(np.ravel(running.between_stops_s)[0]) / 60
    often = f"{minutes:,.0f}" if minutes >= 100 else f"{minutes:.3g}"
    raise study.source.error(
        ("failures",) if study.failures.given else ("baseline",),
        f"the baseline trains hardly at all: it stops every {often} minutes, and a stop costs more",
        "give it fewer accelerators, or failures: lower rates or a shorter recover",
    )


def _check_values(problem: Problem, demanded: set[str]) -> None:
    study, mistakes = problem.study, Mistakes()
    for axis in (*study.axes, *study.defaults):
        written = study.source.data["space"].get(axis.name)
        listed = isinstance(written, list) and len(written) == len(axis.values)
        for at, (value, label) in enumerate(zip(axis.values, axis.labels, strict=True)):
            refused = requirements.refused(problem, axis.name, value, label, demanded)
            if refused:
                place = ("space", axis.name, at) if listed else ("space", axis.name)
                mistakes.note(study.source.error(place, *refused))
    mistakes.told()
