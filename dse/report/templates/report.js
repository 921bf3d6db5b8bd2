"use strict";
(() => {
  // Charts: drawn from the JSON in the page, redrawn to the paper's width for printing.
  const PAPER = 680;
  const NARROW = 560;
  // On a telephone: no words beside markers (the legend has them), and shorter names of bars.
  const shorten = (figure) => {
    for (const trace of figure.data) {
      if (trace.mode === "markers+text") trace.mode = "markers";
      if (trace.type !== "bar" || trace.orientation !== "h") continue;
      figure.layout.yaxis.tickvals = trace.y;
      figure.layout.yaxis.ticktext = trace.y.map((name) => name.split(" · ").slice(0, 2).join(" · "));
    }
  };
  const charts = [...document.querySelectorAll(".chart")];
  for (const chart of charts) {
    const figure = JSON.parse(document.getElementById(chart.dataset.figure).textContent);
    const narrow = chart.clientWidth < NARROW;
    if (narrow) shorten(figure);
    Plotly.newPlot(chart, figure.data, figure.layout, {
      responsive: true,
      displaylogo: false,
      displayModeBar: narrow ? false : "hover",
      modeBarButtons: [chart.dataset.tools.split(" ")],
      toImageButtonOptions: { scale: 2 },
    });
  }
  addEventListener("beforeprint", () => charts.forEach((c) => Plotly.relayout(c, { width: PAPER })));
  addEventListener("afterprint", () => charts.forEach((c) => Plotly.relayout(c, { width: null, autosize: true })));

  // The table of the front: sort by a heading, show the equals of a point.
  const table = document.getElementById("front-table");
  if (!table) return;
  const heads = [...table.tHead.rows[0].cells];
  const compare = (a, b) => {
    const [x, y] = [Number(a), Number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x - y;
  };
  heads.forEach((head, column) => {
    head.firstElementChild.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (body) => body.rows[0].cells[column].dataset.key.replace("inf", "Infinity");
      const bodies = [...table.tBodies].sort((a, b) => compare(key(a), key(b)) * (down ? -1 : 1));
      table.append(...bodies);
    });
  });
  table.addEventListener("click", (event) => {
    const button = event.target.closest(".more");
    if (!button) return;
    const ties = button.closest("tbody").rows[1];
    ties.hidden = !ties.hidden;
    button.setAttribute("aria-expanded", String(!ties.hidden));
  });

  // A click on a front point finds its row.
  const chart = document.getElementById("front-chart");
  chart.on("plotly_click", (event) => {
    const found = /point (\d+)/.exec(event.points[0].customdata || "");
    const row = found && document.getElementById(`point-${found[1]}`);
    if (!row) return;
    const folded = row.closest(".ties");
    if (folded?.hidden) folded.closest("tbody").querySelector(".more").click();
    table.querySelectorAll(".found").forEach((other) => other.classList.remove("found"));
    row.classList.add("found");
    row.scrollIntoView({ block: "center" });
  });
})();
