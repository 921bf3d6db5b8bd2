"""A fleet's page, one file that opens offline, and the same as Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from dse.catalog.facts import UNVERIFIED
from dse.fleet.intervals import AFTER_MOVE
from dse.report import (
    fleet_facts,
    fleet_figures,
    fleet_intervals,
    fleet_jobs,
    fleet_log,
    fleet_models,
    fleet_moves,
    fleet_readiness,
    fleet_side_by_side,
    fleet_words,
    markdown,
    page,
)
from dse.report.fleet_ranges import (
    band,
    money_band,
    shares_text,
    times,
    times_text,
    usd,
    usd_text,
    years_text,
)
from dse.report.fleet_words import CLASSES, COMPONENTS, RESOURCES
from dse.report.words import count, many, percent, shown, significant

if TYPE_CHECKING:
    from dse.fleet.document import ByModel, FleetDocument, Port, PortWorth, UpgradeWorth

OWN_HEADS = ("Job", "Step by the paper's model", "By dse's own", "Input", "Computing",
             "Communication", "Communication not hidden")  # fmt: skip
UNCHECKED = ("unverified", "unknown")
NONE = "–"
# Beside the classes of jobs, for a reader who comes from the money.
MEANINGS = {
    "GPU-hours": "one GPU for one hour",
    "input": "data on its way to the accelerator",
    "compute-bound": "limited by how fast an accelerator multiplies",
    "memory-bound": "limited by how fast an accelerator's memory is",
    "weights and gradients": "what the accelerators of a job exchange in every step",
    "mean of ratios": "the mean of the jobs' own speedups, each job counted once",
    "PCIe": "what connects an accelerator to its server",
    "NVLink": "what connects the accelerators of one server with each other",
}


def render_page(document: FleetDocument) -> str:
    """The page of a fleet document, self-contained."""
    template = page.environment().get_template("fleet.html.j2")
    heights = {
        "bars": fleet_figures.bars_height(document),
        "cdf": fleet_figures.cdf_height(document),
        "upgrades": fleet_figures.upgrades_height(document),
        "ports": fleet_figures.ports_height(document),
    }
    drawn = {"bars": fleet_figures.bars_figure}
    if heights["cdf"]:
        drawn["cdf"] = fleet_figures.cdf_figure
    if document.upgrades:
        drawn["upgrades"] = fleet_figures.upgrades_figure
    if heights["ports"]:
        drawn["ports"] = fleet_figures.ports_figure
    return template.render(
        sections(document)
        | page.shell(document.fleet, {name: draw(document) for name, draw in drawn.items()})
        | {"heights": heights}
    )


def render_markdown(document: FleetDocument) -> str:
    """The same without charts, as GitHub-flavoured Markdown."""
    template = markdown.environment().get_template("fleet.md.j2")
    return re.sub(r"\n{3,}", "\n\n", template.render(sections(document))).strip() + "\n"


def sections(document: FleetDocument) -> dict[str, Any]:
    """Everything both templates say, by name; ``d`` is the document itself."""
    return {
        "d": document,
        "answer": fleet_words.answer_lines(document),
        "decision": fleet_words.decision(document),
        "terms": fleet_words.terms(document),
        "meanings": {**fleet_words.meanings(document), **MEANINGS},
        "readiness": fleet_readiness.facts(document),
        "turns": fleet_readiness.turns(document),
        "notes": fleet_readiness.accepted(document),
        "gpu": fleet_words.gpu,
        "tiles": tiles(document),
        "classes": class_rows(document),
        "named": named_rows(document),
        "listed": fleet_jobs.left_out(document),
        "gains": fleet_jobs.rows(document),
        "gain_heads": fleet_jobs.heads(document),
        "own": own_rows(document),
        "own_heads": OWN_HEADS,
        "own_notes": own_notes(document),
        "upgrade_heads": [CLASSES[row.architecture] for row in fleet_words.all_first(document)],
        "upgrades": upgrade_rows(document),
        "sensitivity": sensitivity_rows(document),
        "resources": list(RESOURCES.values()),
        "ports": port_rows(document),
        "cluster_note": fleet_words.cluster_note(document),
        "money": money_rows(document),
        "beside": fleet_side_by_side.rows(document),
        "beside_heads": fleet_side_by_side.heads(document),
        "beside_of": fleet_side_by_side.about(document),
        "by_model": fleet_models.rows(document),
        "by_model_heads": fleet_models.heads(document),
        "sure": fleet_intervals.rows(document),
        "sure_heads": fleet_intervals.HEADS,
        "sure_money": fleet_intervals.money_rows(document),
        "sure_money_heads": fleet_intervals.MONEY_HEADS,
        "sure_notes": fleet_intervals.notes(document),
        "log": fleet_log.rows(document),
        "log_heads": fleet_log.HEADS,
        "log_types": fleet_log.type_rows(document),
        "log_type_heads": fleet_log.TYPE_HEADS,
        "log_notes": fleet_log.notes(document),
        "facts": fleet_facts.fact_rows(document),
        "fact_notes": fleet_facts.fact_notes(document),
        "assumptions": fleet_facts.assumption_rows(document),
        "models": fleet_facts.model_rows(document),
        "model_notes": fleet_facts.model_notes(document),
        "components": [title.capitalize() for title in COMPONENTS.values()],
        "many": many,
        "single": fleet_words.single(document),
        "lone": [CLASSES[row.architecture] for row in document.classes if row.jobs == 1],
        "hardware": hardware_rows(document),
        "unchecked": sum(row.status in UNCHECKED for row in document.sources),
        "unverified": f"{UNVERIFIED[0].upper()}{UNVERIFIED[1:]}.",
    }


def tiles(document: FleetDocument) -> list[tuple[str, str, str]]:
    """(label, big figure, note): money, time, upgrade, port, size."""
    whole = document.all_jobs
    of_job = fleet_words.parts(whole.levels.job.mean)
    first, share = next(iter(fleet_words.parts(whole.levels.cnode.mean).items()))
    out = [
        *_money_tiles(document),
        (f"Largest part of the time: {first}", percent(share),
         "of the job's time" if fleet_words.single(document) else
         f"by {document.population.counted_by}; {percent(of_job[first])} for the mean job"
         + _within(_time_within(document, first))),
    ]  # fmt: skip
    best = fleet_words.best_upgrade(document)
    if best is not None:
        gain = best.speedup[document.whole]
        mean = times(gain.mean_of_ratios)
        out.append((f"Best upgrade of one resource: {best.name}", times(gain.gpu_hours),
                    "as fast" if fleet_words.single(document) else
                    f"by GPU-hours; mean of ratios {mean}"
                    + _within(_upgrade_within(document, best.name))
                    + _also(fleet_models.opinions(document, best.name))))  # fmt: skip
    out += [
        (f"Gain from {CLASSES[row.target]}", fleet_words.some(row.gain_throughput, row.jobs),
         "of " + many(row.jobs, f"{CLASSES[row.source]} job") + ", in samples per second"
         + _within(_port_within(document, row)))
        for row in document.ports[:1]
    ]  # fmt: skip
    size = many(round(whole.cnodes.mean * whole.jobs), "cNode")
    if fleet_words.single(document):
        return [*out, ("Job", "1", size)]
    most = count(whole.cnodes.largest)
    return [*out, ("Jobs", count(document.population.jobs),
                   f"{size}; the largest job has {most}")]  # fmt: skip


def _money_tiles(document: FleetDocument) -> list[tuple[str, str, str]]:
    """What the upgrade that is worth most leaves a year, costs, and when it is paid back."""
    row, money = fleet_models.worthwhile(document), document.money
    if row is None or money is None or row.capital_usd is None or row.payback_years is None:
        return []
    a_gpu = usd(row.capital_usd / money.gpus)
    saved, paid = usd(row.saved_usd_per_year), usd(row.cost_usd_per_year)
    found, others = money_band(document, "upgrade", row.name), fleet_models.of(document, row.name)
    nets = [row.net_usd_per_year or 0.0, *(one.net_usd_per_year or 0.0 for one in others)]
    models: list[UpgradeWorth | ByModel] = [row, *others]
    years = [fleet_models.payback_years(row, one) for one in models]
    known = [one for one in years if one is not None]
    longest = None if None in years else max(known)
    by = f" by {len(nets)} models" if others else ""
    first = f" {fleet_models.formula(document)}" if others else ""
    as_is = ", jobs as they are" if row.after_move is not None else ""
    return [
        *_move_tiles(document),
        (f"Net a year{by}{as_is}", usd_text((min(nets), max(nets))),
         f"{usd(row.net_usd_per_year)}{first}: GPU-hours worth {saved}, less {paid} for it"
         + _within(usd_text(found.net_usd_per_year) if found else "", first)),
        ("Costs to buy", usd(row.capital_usd),
         f"{a_gpu} per GPU; it is worth up to {usd(row.worth_usd_per_gpu)}{first}" + _within(
             usd_text(found.capital_usd) if found and not _certain(found.capital_usd) else "")),
        (f"Paid back in{by}{as_is}", years_text((min(known), longest)),
         f"{row.payback_years:.1f} years{first}; written off in {money.years:g} years" + _within(
             years_text(found.payback_years) if found else "", first)),
    ]  # fmt: skip


def _move_tiles(document: FleetDocument) -> list[tuple[str, str, str]]:
    """Of a move that comes before any purchase: what it frees a year, and what the upgrade that is
    worth most for jobs as they are leaves after it."""
    move, row = fleet_moves.comes_first(document), fleet_models.worthwhile(document)
    if move is None or row is None:
        return []
    freed = money_band(document, "port", move.target)
    then = money_band(document, AFTER_MOVE, row.name)
    models: list[UpgradeWorth | ByModel] = [row, *fleet_models.of(document, row.name)]
    left = [one.after_move.net_usd_per_year or 0.0 for one in models if one.after_move]
    within = usd_text(then.net_usd_per_year) if then else ""
    return [
        (f"Move to {CLASSES[move.target]}: frees a year", usd(move.saved_usd_per_year),
         f"buys nothing where servers have NVLink; {count(move.jobs)} jobs move"
         + _within(usd_text(freed.saved_usd_per_year) if freed else "")),
        (f"After it {row.name}: net a year", usd_text((min(left), max(left))),
         fleet_moves.limit(document, row.name).rstrip(".")
         + _within(within, f" {fleet_models.formula(document)}")),
    ]  # fmt: skip


def _certain(bounds: tuple[float, float] | None) -> bool:
    """Whether a price has no interval to tell, as one that the study gives."""
    return bounds is None or bounds[0] == bounds[1]


def _time_within(document: FleetDocument, part: str) -> str:
    found = band(document, "time", fleet_words.BANDS.get(part, part), "cnode")
    return shares_text(found.low, found.high) if found else ""


def _upgrade_within(document: FleetDocument, name: str) -> str:
    found = band(document, "upgrade", name, "gpu_hours")
    return times_text(found.low, found.high) if found else ""


def _port_within(document: FleetDocument, row: Port) -> str:
    found = band(document, "port", row.target, "gain_throughput")
    return shares_text(found.low, found.high) if found and row.jobs >= fleet_words.FEW else ""


def _also(text: str) -> str:
    """What other models say at the end of a note; empty where none was asked."""
    return f"; {text}" if text else ""


def _within(text: str, whose: str = "") -> str:
    """An interval at the end of a note; empty where there is none. whose: by which model alone."""
    return f"; 90 % confidence{f'{whose} alone' * bool(whose)}: {text}" if text else ""


def class_rows(document: FleetDocument) -> list[list[str]]:
    """Class, jobs, share of jobs, of resources, cNodes, then the mean shares at both levels."""
    rows = []
    for row in document.classes:
        sizes, alone = row.cnodes, row.jobs == 1
        levels = (row.levels.job,) if alone else (row.levels.job, row.levels.cnode)
        shares = [" / ".join(percent(level.mean[part]) for level in levels) for part in COMPONENTS]
        rows.append([CLASSES[row.architecture], count(row.jobs), percent(row.job_share),
                     percent(row.resource_share),
                     count(sizes.largest) if alone else
                     f"{significant(sizes.median)} / {significant(sizes.mean)} / "
                     f"{count(sizes.largest)}", *shares])  # fmt: skip
    return rows


def named_rows(document: FleetDocument) -> list[list[str]]:
    """Every job that has a name: its step and the share of each component."""
    rows = []
    for job in fleet_jobs.listed(document):
        parts = [job.data_s, job.flops_s, job.memory_s, job.weights_s]
        whole = sum(parts)
        cells = [f"{shown(part, 's')}, {percent(part / whole)}" for part in parts]
        rows.append([job.name, CLASSES[job.architecture], count(job.cnodes),
                     shown(job.step_s, "s"), *cells])  # fmt: skip
    return rows


def own_rows(document: FleetDocument) -> list[list[str]]:
    """The same by dse's own model: step, input, computing, communication, that which shows."""
    rows = []
    for job in fleet_jobs.listed(document):
        own = job.own_model
        step_s, computing_s = own.step_s, job.flops_s + job.memory_s
        parts = [job.data_s, computing_s, own.exposed_s]
        data, computing, exposed = (f"{shown(p, 's')}, {percent(p / step_s)}" for p in parts)
        rows.append([job.name, shown(job.step_s, "s"), shown(step_s, "s"), data, computing,
                     shown(own.comm_s, "s"), exposed])  # fmt: skip
    return rows


def upgrade_rows(document: FleetDocument) -> list[tuple[str, list[list[str]]]]:
    """(upgrade, the speedups in all ways of all jobs, then of each class)."""
    return [
        (row.name, [[times(fleet_words.speedup_by(row.speedup[entry.architecture], way))
                     for way in fleet_words.ways(entry)]
                    for entry in fleet_words.all_first(document)])
        for row in document.upgrades
    ]  # fmt: skip


def sensitivity_rows(document: FleetDocument) -> list[tuple[str, list[tuple[str, bool]]]]:
    """(class, for each resource the speedup if it were doubled and whether that is the most)."""
    return [
        (CLASSES[row.architecture],
         [(times(document.sensitivity[row.architecture][name]),
           name == document.most_sensitive[row.architecture]) for name in RESOURCES])
        for row in document.classes
    ]  # fmt: skip


def port_rows(document: FleetDocument) -> list[list[str]]:
    """Every port as a row."""

    def ratio(value: float | None) -> str:
        return NONE if value is None else times(value)

    return [
        [f"to {CLASSES[row.target]}", count(row.jobs),
         percent(row.cannot), percent(row.gain_per_cnode), percent(row.gain_throughput),
         ratio(row.mean_speedup_per_cnode), ratio(row.mean_throughput_ratio),
         ratio(row.largest_speedup_per_cnode), times(row.fleet_speedup_by_gpu_hours)]
        for row in document.ports
    ]  # fmt: skip


def money_rows(document: FleetDocument) -> list[list[str]]:
    """What each upgrade and port saves a year, costs a year, and may cost a GPU at most."""
    money = document.money
    if money is None:
        return []
    rows = [
        [row.name, usd(row.saved_usd_per_year), usd(row.cost_usd_per_year),
         usd(row.net_usd_per_year),
         NONE if row.payback_years is None else f"{row.payback_years:.1f} years",
         usd(row.worth_usd_per_gpu),
         usd(None if row.capital_usd is None else row.capital_usd / money.gpus), row.basis or NONE]
        for row in money.upgrades
    ]  # fmt: skip
    rows += [
        [_moves(row), usd(row.saved_usd_per_year), NONE, NONE, NONE, usd(row.worth_usd_per_gpu),
         NONE, NONE]
        for row in money.ports
    ]  # fmt: skip
    return rows


def _moves(row: PortWorth) -> str:
    """Who moves where, and how many of them pay for it with time."""
    one, later = row.jobs == 1, row.finish_later
    to = CLASSES[row.target]
    if one:
        text = f"1 job that gains per cNode moves to {to}"
    else:
        text = f"{many(row.jobs, 'job')} that gain per cNode move to {to}"
    if later:
        who = "it" if one else f"{count(later)} of them"
        text += f"; on fewer cNodes {who} finish{'es' * (later == 1)} later"
    return text


def hardware_rows(document: FleetDocument) -> list[tuple[str, str]]:
    """The base hardware."""
    own = document.hardware
    memory, machine = own.gpu_memory_bytes, document.hardware_labels.get("node")
    return [
        *([("Machine", machine)] if machine else []),
        ("GPU", f"{own.gpu_flops_per_s / 1e12:g} TFLOP/s"),
        ("GPU memory", f"{own.memory_bytes_per_s / 1e12:g} TB/s"
         + ("" if memory is None else f", {memory / 1e9:g} GB")),
        ("PCIe", f"{own.pcie_bytes_per_s / 1e9:g} GB/s"
         + (", shared for input in servers with NVLink" if own.shared_pcie else "")),
        ("Ethernet", f"{own.ethernet_bytes_per_s * 8 / 1e9:g} Gbps for every cNode"),
        ("NVLink", f"{own.nvlink_bytes_per_s / 1e9:g} GB/s"),
        ("GPUs in a server", f"{own.gpus_per_server:g}"),
        ("Efficiency", f"{percent(own.efficiency)} of every peak"),
        ("Overlap", "ideal: the longest of input, computing, weights"
         if document.overlap == "ideal" else "none: input, computing, weights add up"),
        *_measured_rows(document),
    ]  # fmt: skip


def _measured_rows(document: FleetDocument) -> list[tuple[str, str]]:
    """What profiles have measured, or that nothing here rests on them."""
    rows = []
    for row in document.profiles:
        off = f"error of {percent(row.error)} on measurements left out of the fit"
        text = f"{row.part} by {row.profile} ({row.library}, {row.date}, {off})"
        rows.append(("Measured", text))
    if rows and not fleet_words.rests_on_profiles(document):
        return [("Measured", fleet_words.UNUSED)]
    return rows


def own_notes(document: FleetDocument) -> list[str]:
    """What the numbers of dse's own model on single jobs rest on; empty without single jobs."""
    if not document.named:
        return []
    notes = [
        "Assumed: gradients are half of what a step exchanges, there are as many parameter servers "
        "as workers, and the AllReduce of a job that fits into one server stays within it"
        f"{', unless the log says that it held several' if document.log is not None else ''}."
    ]
    mine = [job.name for job in fleet_jobs.listed(document) if job.own_model.measured]
    if not mine:
        return [
            *notes,
            "The costs of gRPC and NCCL come from the catalogue, most of them unverified.",
        ]
    far = [job.name for job in fleet_jobs.listed(document) if job.own_model.extrapolated]
    notes.append(f"Priced with measured costs: {', '.join(mine)}; the others with the catalogue's.")
    notes += fleet_facts.measured_notes(document)
    if far:
        notes.append(f"Outside the measured range: {', '.join(far)}.")
    return notes
