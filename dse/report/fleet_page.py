"""A fleet's page, one file that opens offline, and the same as Markdown: sections of sentences and
tables, of which both are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from dse.catalog.facts import UNCHECKED
from dse.report import page
from dse.report.fleet_words import (
    CLASSES,
    COMPONENTS,
    NOTHING,
    RESOURCES,
    answer_lines,
    between,
    money_band,
    times,
    usd,
    years,
)
from dse.report.style import (
    BLUE,
    GREEN,
    ORANGE,
    SKY,
    chart_layout,
    of_a_step,
    part_of_bar,
)
from dse.report.templating import environment
from dse.report.words import count, many, percent, shown, significant

if TYPE_CHECKING:
    from dse.fleet.document import Band, FleetDocument, LogSummary

MOST_LISTED = 60  # jobs
_NUMBERS = {"time": "Time: {}", "upgrade": "Speedup from {}", "port": "To {}"}
_WAYS = {
    "job": "mean job",
    "cnode": "of the whole fleet",
    "mean_of_ratios": "mean of ratios",
    "aggregate": "aggregate",
    "gpu_hours": "by GPU-hours",
    "gain_per_cnode": "jobs that gain per cNode",
    "gain_throughput": "jobs that train more samples per second",
    "fleet_speedup": "speedup of the fleet, if those move that gain per cNode",
}
COLORS = {"data": GREEN, "flops": SKY, "memory": BLUE, "weights": ORANGE}
PATTERNS = {"data": "x", "flops": "", "memory": "", "weights": "/"}


@dataclass(frozen=True)
class Table:
    """caption: what it holds. heads: of its columns, the first of which names the row. folded:
    whether the page shows it on demand, and Markdown not at all."""

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    folded: bool = False


@dataclass(frozen=True)
class Section:
    """A part of the report. notes: sentences. charted: whether the chart stands in it."""

    name: str
    title: str
    notes: Sequence[str] = ()
    tables: Sequence[Table] = field(default=())
    charted: bool = False


def render_page(document: FleetDocument) -> str:
    """The page of a fleet document, self-contained."""
    found = list(sections(document))
    drawn = {part.name: bars_figure(document) for part in found if part.charted}
    return environment("html").get_template("fleet.html.j2").render(
        d=document,
        sections=found,
        height=chart_height(document),
        **page.shell(document.fleet, drawn),
    )  # fmt: skip


def render_markdown(document: FleetDocument) -> str:
    """The same without charts, as GitHub-flavoured Markdown."""
    template = environment("md").get_template("fleet.md.j2")
    return page.tidy(template.render(d=document, sections=list(sections(document))))


def sections(document: FleetDocument) -> Iterator[Section]:
    """Those for which there is something to say, in their order."""
    yield Section("answer", "Answer", answer_lines(document))
    if document.money is not None:
        yield _money(document)
    if document.classes:
        yield _time(document)
        yield _upgrades(document)
    if document.ports:
        yield _ports(document)
    if document.log is not None:
        yield _log(document.log)
    if document.intervals is not None:
        yield _sure(document)
    yield _inputs(document)


def _money(document: FleetDocument) -> Section:
    money = document.money
    assert money is not None
    around = (
        f"{many(money.gpus, 'GPU')}, busy {percent(money.busy)} of the time, at "
        f"USD {money.gpu_hour_usd:g} a GPU-hour; purchases are written off in {money.years:g} years"
        f"; GPUs a network card: {money.gpus_per_nic}."
    )
    rows = []
    for row in money.upgrades:
        found = money_band(document, row.name)
        net = None if found is None else found.net_usd_per_year
        price = None if row.capital_usd is None else row.capital_usd / money.gpus
        rows.append([
            row.name, usd(row.saved_usd_per_year), usd(row.cost_usd_per_year),
            usd(row.net_usd_per_year),
            NOTHING if net is None else between([usd(end) for end in net]),
            NOTHING if price is None else years(row.payback_years),
            usd(row.worth_usd_per_gpu), usd(price),
        ])  # fmt: skip
    for port in money.ports:
        moved = f"{many(port.jobs, 'job')} to {CLASSES[port.target]}"
        later = f"; {count(port.finish_later)} finish later" * bool(port.finish_later)
        rows.append([moved + later, usd(port.saved_usd_per_year), *[NOTHING] * 4,
                     usd(port.worth_usd_per_gpu), NOTHING])  # fmt: skip
    caption = "Worth per GPU: the most that an upgrade may cost and pay for itself."
    heads = ("Upgrade or move", "Saves a year", "Costs a year", "Net a year", "Net, 90 %",
             "Paid back in", "Worth per GPU", "Price per GPU")  # fmt: skip
    bases = [f"Price: {row.basis}." for row in money.upgrades if row.basis]
    return Section("money", "Money", [around, *bases], [Table(caption, heads, rows)])


def _time(document: FleetDocument) -> Section:
    counted = document.population.counted_by
    rows = []
    for row in document.classes:
        levels, sizes = row.levels, row.cnodes
        rows.append([
            CLASSES[row.architecture], count(row.jobs), percent(row.job_share),
            percent(row.resource_share),
            f"{significant(sizes.median)} / {significant(sizes.mean)} / {count(sizes.largest)}",
            *(f"{percent(levels.job.mean[part])} / {percent(levels.cnode.mean[part])}"
              for part in COMPONENTS),
        ])  # fmt: skip
    heads = ("Class", "Jobs", "Of jobs", f"Of {counted}", "cNodes: median / mean / most",
             *(title.capitalize() for title in COMPONENTS.values()))  # fmt: skip
    table = Table(f"Mean share of a step, by jobs / by {counted}.", heads, rows)
    tables = [table, *([_named(document)] if document.named else [])]
    return Section("time", "Where the time goes", (), tables, charted=True)


def _named(document: FleetDocument) -> Table:
    """The jobs that have names and hold most of the fleet."""
    jobs = sorted(document.named, key=lambda job: -job.gpu_hours)[:MOST_LISTED]
    rows = [
        [job.name, CLASSES[job.architecture], count(job.cnodes), significant(job.gpu_hours),
         *(shown(part, "s") for part in (job.step_s, job.data_s, job.flops_s, job.memory_s,
                                         job.weights_s)),
         *(times(speedup) for speedup in job.speedups.values()),
         *(times(job.moves[row.target]) if row.target in job.moves else NOTHING
           for row in document.ports)]
        for job in jobs
    ]  # fmt: skip
    heads = ("Job", "Class", "cNodes", document.population.counted_by, "Step",
             *(title.capitalize() for title in COMPONENTS.values()),
             *(row.name for row in document.upgrades),
             *(f"As {CLASSES[row.target]}" for row in document.ports))  # fmt: skip
    caption = "Jobs one by one, with their speedups, and samples per second after a move."
    return Table(caption, heads, rows, folded=True)


def _upgrades(document: FleetDocument) -> Section:
    first = sorted(document.classes, key=lambda row: row.architecture != document.whole)
    names = [row.architecture for row in first]
    rows = []
    for upgrade in document.upgrades:
        ways = [
            (way.mean_of_ratios, way.aggregate, way.gpu_hours)
            for way in (upgrade.speedup[name] for name in names)
        ]
        rows.append([upgrade.name, *(" / ".join(map(times, way)) for way in ways)])
    heads = ("Upgrade", *(CLASSES[name] for name in names))
    caption = "Speedup: mean of ratios / aggregate / by GPU-hours."
    tables = [Table(caption, heads, rows)] if rows else []
    doubled = [
        [CLASSES[name], *(times(document.sensitivity[name][resource]) for resource in RESOURCES),
         RESOURCES[document.most_sensitive[name]]]
        for name in (row.architecture for row in document.classes)
    ]  # fmt: skip
    heads = ("Class", *RESOURCES.values(), "The most by")
    tables.append(Table("Mean of ratios, if one resource were twice as fast.", heads, doubled))
    note = (
        "Each upgrade is applied alone; the jobs stay as they are. Mean of ratios: of the jobs' "
        "own speedups. Aggregate: the time of all jobs, before over after. By GPU-hours: the "
        "fleet's GPU-hours, on which the money is based."
    )
    return Section("upgrades", "Faster hardware", [note], tables)


def _ports(document: FleetDocument) -> Section:
    def ratio(value: float | None) -> str:
        return NOTHING if value is None else times(value)

    notes = [
        "Jobs keep their batch per cNode. AllReduce-Local has room for "
        f"{many(document.hardware.gpus_per_server, 'cNode')}: a larger job loses some, so it may "
        "be faster per cNode and yet finish later. Every port needs servers with NVLink."
    ]
    if any(row.target == "allreduce-cluster" for row in document.ports):
        notes.append("AllReduce-Cluster is priced over Ethernet even within one server.")
    rows = [
        [f"{CLASSES[row.source]} to {CLASSES[row.target]}", count(row.jobs), percent(row.cannot),
         percent(row.gain_per_cnode), percent(row.gain_throughput),
         ratio(row.mean_speedup_per_cnode), ratio(row.mean_throughput_ratio),
         ratio(row.largest_speedup_per_cnode), times(row.fleet_speedup_by_gpu_hours)]
        for row in document.ports
    ]  # fmt: skip
    heads = ("Port", "Jobs", "Cannot move", "Faster per cNode", "More samples per second",
             "Mean per cNode", "Mean throughput", "Most per cNode", "Fleet")  # fmt: skip
    caption = "Fleet: speedup by GPU-hours, if the jobs move that are faster per cNode."
    return Section("ports", "Other architectures", notes, [Table(caption, heads, rows)])


def _log(log: LogSummary) -> Section:
    rows = [[row.name, count(row.jobs), percent(row.share)] for row in log.workloads]
    if log.unmatched.jobs:
        rows.append(["not priced", count(log.unmatched.jobs), percent(log.unmatched.share)])
    columns = [[tells, name] for tells, name in log.columns.items()]
    tables = [
        Table("Jobs by workload.", ("Workload", "Jobs", "Of what is held"), rows),
        Table("Columns that were read.", ("Tells", "Column"), columns),
    ]
    shown = [table for table in tables if table.rows]
    return Section("log", "What the scheduler logged", (), shown)


def _sure(document: FleetDocument) -> Section:
    found = document.intervals
    assert found is not None
    notes = [
        f"90 % intervals of {found.draws} simulated outcomes. In them are which jobs were seen, "
        "and the share of its peak that each resource reaches; catalogue prices are drawn, too.",
        "Not in them: whether the model's form holds (no latency, no overlap beside what the study "
        "says), what a drawn population assumes, prices that the study gives, and jobs that "
        "change.",
    ]
    if found.few_jobs:
        notes.append("There are too few jobs to tell how much jobs differ.")
    rows = [_number(row) for row in found.numbers if row.best or row.kind != "time"]
    heads = ("Number", "Best estimate", "90 % interval", "By the jobs seen alone")
    tables = [Table("Numbers of all jobs together.", heads, rows, folded=True)]
    return Section("sure", "How sure", notes, tables)


def _number(row: Band) -> list[str]:
    """A number of the fleet with its interval."""
    text = percent if row.kind == "time" or row.way.startswith("gain") else times
    of = CLASSES.get(row.of, COMPONENTS.get(row.of, row.of))
    jobs = between([text(row.jobs_low), text(row.jobs_high)])
    name = f"{_NUMBERS[row.kind].format(of)}, {_WAYS[row.way]}"
    return [name, text(row.best), between([text(row.low), text(row.high)]), jobs]


def _inputs(document: FleetDocument) -> Section:
    own = document.hardware
    memory, machine = own.gpu_memory_bytes, document.hardware_labels.get("node")
    how = "the longest of input, computing, weights" if document.overlap == "ideal" else "none"
    shares = ", shared for input in servers with NVLink" * own.shared_pcie
    hardware = [
        *([("Machine", machine)] if machine else []),
        ("GPU", f"{own.gpu_flops_per_s / 1e12:g} TFLOP/s"),
        ("GPU memory", f"{own.memory_bytes_per_s / 1e12:g} TB/s"
         f"{'' if memory is None else f', {memory / 1e9:g} GB'}"),
        ("PCIe", f"{own.pcie_bytes_per_s / 1e9:g} GB/s{shares}"),
        ("Ethernet", f"{own.ethernet_bytes_per_s * 8 / 1e9:g} Gbps for every cNode"),
        ("NVLink", f"{own.nvlink_bytes_per_s / 1e9:g} GB/s"),
        ("GPUs in a server", f"{own.gpus_per_server:g}"),
        ("Efficiency", f"{percent(own.efficiency)} of every peak"),
        ("Overlap", how),
    ]  # fmt: skip
    tables = [Table("Hardware.", ("Resource", "Value"), hardware)]
    notes = []
    if document.population.drawn:
        notes.append("The jobs are drawn from distributions; no single job is real.")
    if unchecked := sum(row.status in UNCHECKED for row in document.sources):
        notes.append(f"Of the facts below {unchecked} are unverified or unknown.")
    rows = [[row.item, row.fact, row.value, row.source, row.accessed, row.date, row.status,
             row.detail] for row in document.sources]  # fmt: skip
    heads = ("Of", "Fact", "Value", "Source", "Read", "Valid", "Status", "Remark")
    if rows:
        tables.append(Table(f"{many(len(rows), 'fact')}.", heads, rows, folded=True))
    return Section("inputs", "Inputs", notes, tables)


def chart_height(document: FleetDocument) -> int:
    """Pixels of the chart."""
    return 130 + 30 * len(_bars(document))


def _bars(document: FleetDocument) -> list[tuple[str, Mapping[str, float]]]:
    """(label, mean shares) of every class, by jobs and by what these hold."""
    counted = document.population.counted_by
    return [
        (f"{CLASSES[row.architecture]} · by {how}", level.mean)
        for row in document.classes
        for how, level in (("jobs", row.levels.job), (counted, row.levels.cnode))
    ]


def bars_figure(document: FleetDocument) -> str:
    """Mean shares of a step, a bar for each class and way to count."""
    import plotly.graph_objects as go

    rows = _bars(document)[::-1]
    labels = [label for label, _ in rows]
    layout = chart_layout(height=chart_height(document), barmode="stack", bargap=0.25)
    figure = go.Figure(layout=layout)
    for component, title in COMPONENTS.items():
        shares = [means[component] for _, means in rows]
        figure.add_bar(
            y=labels, x=shares, name=title.capitalize(),
            **part_of_bar(COLORS[component], PATTERNS[component]),
            text=[f"{share:.0%}" if share >= 0.05 else "" for share in shares],
            customdata=[f"<b>{escape(label)}</b><br>{title}: {percent(share)}"
                        for label, share in zip(labels, shares, strict=True)],
            hovertemplate="%{customdata}<extra></extra>",
        )  # fmt: skip
    of_a_step(figure)
    figure.update_xaxes(zeroline=False)
    return str(figure.to_json())
