"""One point as text: what `dse explain` prints."""

from __future__ import annotations

from collections.abc import Iterator

from dse.model.memory import DOUBT, PARTS
from dse.model.terms import TERMS
from dse.pricing.constraints import reasons
from dse.report import bills, goodput, layout, money, power, training_runs, words
from dse.report.design_point import Bounds, Explained
from dse.report.rdma import reaches
from dse.study.axes import ACCUMULATION
from dse.study.quantities import COSTS, POWER, QUANTITIES, RATES

_MS = 1e3
_SERVERS, ONE_SERVER = "ps_servers", 1
_SECONDS_FROM = 10.0  # a step of so long is told in seconds


def lines(point: Explained) -> list[str]:
    """The workload, configuration, terms of the step with their share, money, memory and flags."""
    out = [f"{point.workload} at these values; those that were not given are the baseline's", ""]
    for name, label in point.config.items():
        said = "  (not in the study: never tried)" if name in point.not_searched else ""
        if not words.matters(point, name):
            said = "  (does not matter here)"
            if name == ACCUMULATION:
                said = "  (follows from the global batch)"
        if label:
            out.append(f"{name:<16} {label}{said}")
    if point.servers is not None and not point.config.get(_SERVERS):
        out.append(f"{_SERVERS:<16} {ONE_SERVER}  (the study has no such axis)")
    step_s = point.step_s
    if step_s is None:
        return [*out, "", f"step             cannot be computed: {_missed(point)}"]
    scale, unit = (_MS, "ms") if step_s < _SECONDS_FROM else (1.0, "s")
    ends = point.intervals
    steps = _interval(ends.get("step_s"), scale, 3, f" {unit}")
    out += ["", f"step             {step_s * scale:.3f} {unit}{steps}"]
    pai = point.pai
    for name, seconds in (pai or point).terms.items():
        if seconds:
            title = TERMS[name].title
            out.append(f"  {title:<24} {seconds * scale:10.3f} {unit}  {seconds / step_s:5.1%}")
    if pai:
        how = "the longest of T_d, T_c, T_w" if pai.ideal else "T_d + T_c + T_w"
        out.append(f"  (model pai, {pai.architecture}: {how})")
    else:
        out.append(f"  (communication, hidden or not: {(point.comm_s or 0.0) * scale:.3f} {unit})")
    if point.decoding:
        out.append(f"  (waits for images: {point.decoding})")
    if point.launching:
        out.append(f"  (the host's launches decide how long both passes take: {point.launching})")
    rates = _interval(ends.get("throughput_samples_per_s"), 1.0, 1, " samples/s")
    out += ["", f"throughput       {point.throughput_samples_per_s:,.1f} samples/s{rates}"]
    out += _rates(point)
    times = _interval(ends.get("speedup"), 1.0, 3)
    out.append(f"speedup          {point.speedup:.3f} times the baseline{times}")
    for one in point.mix or ():
        said = f"{words.shown(one.speedup, 'x')} in {words.percent(one.share)} of the time"
        out.append(f"                 {one.workload}: {said}, with {one.settings}")
    if point.goodput:
        out.append(f"goodput          {goodput.said(point.goodput)}")
        if point.goodput.stalled:
            share = words.significant(100 * point.goodput.stalled)
            out.append(f"                 stalls of pipelines like it take {share} % on average")
    out += _run(point)
    if point.own_rates:
        out.append(f"your rates       {point.own_rates}")
    if point.gradients:
        out.append(f"gradients        summed in {point.gradients}")
    out.append("")
    for row in COSTS:
        cost, phrase = point.costs.get(row.name), row.phrase
        assert phrase is not None, f"{row.name} has no words"
        label = phrase.title if phrase.title == row.name else f"{phrase.title} ({row.name})"
        said = words.UNKNOWN if cost is None else f"{cost:,.2f} {phrase.unit}"
        said += _interval(ends.get(row.name), 1.0, 2, f" {phrase.unit}")
        out.append(f"{label:<26} {said}")
        if row.name == POWER and point.power:
            out += power.lines(point.power)
    if point.rental:
        out.append(f"rental terms     {point.rental}")
    if point.ownership:
        out += money.lines(point.ownership)
    if point.bill:
        out += ["", bills.heading(point.bill), *bills.lines(point.bill), ""]
    if point.rented:
        out += [bills.heading(point.rented), *bills.lines(point.rented), ""]
    slack = point.memory_slack_bytes
    free = "".join(f" to {words.size(end)}" for end in point.intervals.get("memory_slack") or ())
    said = f"  ({words.INTERVAL} {free.removeprefix(' to ')})" * bool(free)
    out.append(f"{words.FREE_MEMORY:<26} {words.size(slack)}{said}")
    for name, of_part in point.memory.items():
        if of_part:
            out.append(f"  {PARTS[name].title:<24} {words.size(of_part)}")
    if point.layout:
        out += ["", *layout.lines(point.layout), ""]
    risk = point.out_of_memory or 0.0
    if risk > DOUBT:
        verdict = "does not fit" if risk > 1 - DOUBT else "may not fit"
        out.append(f"{verdict:<16} with a probability of {words.chance(risk)}")
    if point.memory_short:
        out.append(f"                 {point.memory_short}")
    reasons_outside = () if point.evidence == words.FORMULA else point.why_outside
    out += ["", f"calibration      {_calibration(point)}{':' * bool(reasons_outside)}"]
    out += [f"                 {reason}" for reason in reasons_outside]
    sums, node = [words.label(point, "aggregation")], [words.label(point, "node")]
    reached = reaches(sums, node, [words.label(point, "inter_node")])
    out += [f"network          {one}" for one in reached if point.nodes > 1]
    choice = words.choice(point)
    if choice and point.library_choice:
        out.append(
            f"algorithm        {choice}; chosen by {point.library_choice.rules}, not measured"
        )
    for part, longer in (point.approach or {}).items():
        out.append(f"approach         {part} add {(longer or 0.0) * _MS:.3f} ms to the step")
    out.append(f"constraints      {_missed(point) or 'all met'}")
    return out


def _rates(point: Explained) -> Iterator[str]:
    """Its throughput in tokens and FLOPs, where these are known."""
    for name in RATES:
        value, phrase = point.quantity(name), QUANTITIES[name].phrase
        if value is not None and phrase is not None:
            scale, unit = 100.0 if phrase.unit == "%" else 1.0, f" {phrase.unit}"
            ends = _interval(point.bounds(name), scale, 1, unit)
            yield f"  {phrase.title:<30} {value * scale:,.1f}{unit}{ends}"


def _run(point: Explained) -> list[str]:
    """The run to the study's target; empty without one."""
    run = point.run
    if run is None:
        return []
    target = f": {point.target}" if point.target else ""  # a row of a report does not tell it
    out = ["", f"run              {run.samples or 0.0:,.0f} samples{target}"]
    if run.fitted_batches:
        low, high = map(words.count, run.fitted_batches)
        place = "outside of" if run.extrapolated else "within"
        out.append(
            f"                 (a global batch of {words.count(point.global_batch)}, {place} the "
            f"{low} to {high} that they were observed at)"
        )
    for name, phrase in training_runs.BESIDE.items():
        lasts, kept = point.quantity(name), point.goodput
        said, ends = words.with_interval(lasts, point.bounds(name), phrase.unit)
        if name == training_runs.TIME.name and run.start_up_s:
            said += f", {words.duration(run.start_up_s)} of it the start-up of the machines"
        if name == training_runs.TIME.name and point.layout and kept and lasts:
            trains = (lasts - (run.start_up_s or 0.0)) * kept.share
            said += f", {words.duration(trains)} without failures and checkpoints"
        out.append(f"{phrase.title:<16} {said}" + f"  ({words.INTERVAL} {ends})" * bool(ends))
    return out


def _interval(ends: Bounds | None, scale: float, decimals: int, unit: str = "") -> str:
    """What follows a value that has an interval; empty where it has none."""
    if ends is None:
        return ""
    low, high = (f"{end * scale:,.{decimals}f}" for end in ends)
    return f"  ({words.INTERVAL} {low} to {high}{unit})"


def _missed(point: Explained) -> str:
    """The demands that a point does not meet, in words; empty where there are none."""
    return "; ".join(reasons(name for name, met in point.constraints.items() if not met))


def _calibration(point: Explained) -> str:
    """What was measured of the point."""
    return {
        "inside": "inside the measured range",
        "near": "near the measured range, at most one doubling beyond",
        "far": "far outside the measured range",
        words.CATALOGUE: "not measured, priced from the catalogue",
        words.FORMULA: "a formula, of which nothing is measured",
        words.SILENT: "nothing is communicated, so no measured run is needed",
    }[point.evidence]
