"use strict";
(async () => {
  const byId = (id) => document.getElementById(id);

  // Words of the glossary are explained where they first stand in a section.
  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const meanings = new Map();
  for (const term of document.querySelectorAll("#glossary dt")) {
    meanings.set(term.textContent.trim().toLowerCase(), term.nextElementSibling.textContent.trim());
  }
  if (meanings.size) {
    const names = [...meanings.keys()].sort((a, b) => b.length - a.length).map(escaped);
    const wanted = new RegExp(`(?<![\\w-])(?:${names.join("|")})(?![\\w-])`, "i");
    for (const section of document.querySelectorAll("main > section:not(#glossary)")) {
      const told = new Set();
      const walker = document.createTreeWalker(section, NodeFilter.SHOW_TEXT, (node) =>
        node.parentElement.closest("abbr, a, button, select, pre, code, h2, h3, svg, .chart")
          ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
      const texts = [];
      while (walker.nextNode()) texts.push(walker.currentNode);
      for (const text of texts) {
        const found = wanted.exec(text.data);
        const name = found && found[0].toLowerCase();
        if (!found || told.has(name)) continue;
        told.add(name);
        const word = text.splitText(found.index);
        word.splitText(found[0].length);
        const mark = document.createElement("abbr");
        mark.title = meanings.get(name);
        word.replaceWith(mark);
        mark.append(word);
      }
    }
  }

  // The table of the front: sort by a heading, show the equals of a point.
  const table = byId("front-table");
  const bodies = () => [...table.tBodies];
  const heads = table ? [...table.tHead.rows[0].cells] : [];
  const number = (text) => (text === "inf" ? Infinity : Number(text));
  const compare = (a, b) => {
    const [x, y] = [number(a), number(b)];
    return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b) : x === y ? 0 : x - y;
  };
  heads.forEach((head, column) => {
    head.firstElementChild.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (body) => body.rows[0].cells[column].dataset.key;
      table.append(...bodies().sort((a, b) => compare(key(a), key(b)) * (down ? -1 : 1)));
    });
  });
  table?.addEventListener("click", (event) => {
    const button = event.target.closest(".more");
    if (!button) return;
    const ties = button.closest("tbody").rows[1];
    ties.hidden = !ties.hidden;
    button.setAttribute("aria-expanded", String(!ties.hidden));
  });

  // Charts: drawn from the JSON in the page, anew where colours or the width change.
  const PAPER_WIDTH = 670;
  const NARROW = 560;
  const NIGHT = JSON.parse(byId("night").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const charts = [...document.querySelectorAll(".chart")];
  let printing = false;
  let Plotly = null;

  // On a telephone: no words beside markers (the legend has them), shorter names of bars on several
  // lines, fewer ticks, and panels below one another.
  const LINE = 21; // letters
  const lines = (name) => {
    const found = [""];
    for (const word of name.split(" · ").slice(0, 2).join(" · ").split(" ")) {
      const last = found[found.length - 1];
      if (last && last.length + word.length >= LINE) found.push(word);
      else found[found.length - 1] = last ? `${last} ${word}` : word;
    }
    return found.length > 3 ? [...found.slice(0, 2), `${found[2]} …`] : found;
  };
  const shorten = (figure) => {
    let height = 0;
    for (const trace of figure.data) {
      if (trace.mode === "markers+text") trace.mode = "markers";
      if (trace.type !== "bar" || trace.orientation !== "h") continue;
      figure.layout.yaxis.tickvals = trace.y;
      figure.layout.yaxis.ticktext = trace.y.map((name) => lines(name).join("<br>"));
      figure.layout.yaxis.tickfont = { size: 11 };
      figure.layout.margin = { ...figure.layout.margin, l: 8, r: 12 };
      if (trace.y.some((name) => lines(name).length > 2)) height = figure.layout.height * 1.3;
    }
    if (height) figure.layout.height = height;
    const { xaxis } = figure.layout;
    if (xaxis.type === "category" || panels(figure).length > 1) return height;
    Object.assign(xaxis, { tickangle: 0, nticks: 4 });
    if (xaxis.tickvals?.length > 5) {
      const every = (list) => list?.filter((_, at) => at % 2 === 0);
      [xaxis.tickvals, xaxis.ticktext] = [every(xaxis.tickvals), every(xaxis.ticktext)];
      if (!xaxis.ticktext) delete xaxis.ticktext;
    }
    return height;
  };
  // The panels of a figure, row by row: their axes, and where they are.
  const panels = ({ layout }) => Object.keys(layout).filter((key) => /^xaxis\d*$/.test(key))
    .map((key) => ({ x: layout[key], y: layout[(layout[key].anchor || "y").replace("y", "yaxis")] }))
    .filter(({ x, y }) => x.domain && y.domain)
    .map(({ x, y }) => ({ x, y, left: x.domain[0], middle: (x.domain[0] + x.domain[1]) / 2, top: y.domain[1] }))
    .sort((one, other) => other.top - one.top || one.left - other.left);
  const PANEL = 165; // pixels of its height, and around it
  const GAP = 62;
  const HEAD = 104;
  const stack = (figure) => {
    const all = panels(figure);
    const across = new Set(all.map(({ left }) => left)).size;
    if (across < 2) return;
    const columns = across > 2 ? 2 : 1;
    const rows = Math.ceil(all.length / columns);
    const inside = rows * PANEL + (rows - 1) * GAP;
    const titles = figure.layout.annotations || [];
    const titled = all.map(({ middle, top }) => titles
      .filter(({ x, y }) => Math.abs(x - middle) < 0.02 && y > top - 0.02)
      .sort((one, other) => one.y - other.y)[0]);
    const sideTitle = all.map(({ top }) => all.find((one) => one.top === top).y.title);
    figure.layout.annotations = [];
    all.forEach(({ x, y }, at) => {
      const [row, column] = [Math.floor(at / columns), at % columns];
      const top = 1 - (row * (PANEL + GAP)) / inside;
      x.domain = columns === 1 ? [0, 1] : [column * 0.54, column * 0.54 + 0.46];
      y.domain = [Math.max(0, top - PANEL / inside), top];
      x.showticklabels = true;
      y.showticklabels = column === 0;
      if (x.type !== "category") x.tickangle = 0;
      if (row < rows - 1) delete x.title;
      y.title = column === 0 ? sideTitle[at] : undefined;
      if (titled[at]) {
        const [left, right] = x.domain;
        figure.layout.annotations.push({ ...titled[at], x: (left + right) / 2, y: top, font: { ...titled[at].font, size: 12 } });
      }
    });
    const { margin } = figure.layout;
    figure.layout.margin = { ...margin, l: 56, r: 28, t: HEAD };
    figure.layout.legend = { ...figure.layout.legend, y: 1 + 26 / inside };
    figure.layout.height = inside + HEAD + margin.b;
    return figure.layout.height;
  };
  const draw = (chart) => {
    if (!Plotly || !chart) return;
    let text = byId(chart.dataset.figure).textContent;
    if (dark.matches && !printing) {
      for (const [day, night] of Object.entries(NIGHT)) text = text.replaceAll(`"${day}"`, `"${night}"`);
    }
    const figure = JSON.parse(text);
    const narrow = !printing && chart.clientWidth < NARROW;
    const taller = narrow && shorten(figure);
    const tall = (narrow && stack(figure)) || taller;
    for (const [name, axis] of Object.entries(figure.layout)) {
      if (/^[xy]axis/.test(name) && axis.title) axis.title.font = { ...axis.title.font, size: narrow ? 12 : 13 };
    }
    if (printing) {
      for (const trace of figure.data) {
        if (trace.mode === "markers+text") trace.textposition = "bottom right"; // off the axis
      }
      figure.layout.width = PAPER_WIDTH;
      figure.layout.height = Number(chart.dataset.paper) || figure.layout.height;
      figure.layout.legend = { ...figure.layout.legend, font: { size: 10 } }; // fewer lines of it
      chart.style.height = `${figure.layout.height}px`;
    } else {
      chart.style.height = tall ? `${tall}px` : chart.dataset.height;
    }
    return Plotly.react(chart, figure.data, figure.layout, {
      responsive: true,
      displaylogo: false,
      displayModeBar: narrow ? false : "hover",
      modeBarButtons: [chart.dataset.tools.split(" ")],
      toImageButtonOptions: { scale: 2 },
    });
  };
  const drawAll = () => Promise.all(charts.map(draw));

  dark.addEventListener("change", drawAll);
  const opened = [];
  addEventListener("beforeprint", () => {
    printing = true;
    for (const part of document.querySelectorAll("details:not([open])")) {
      part.open = true;
      opened.push(part);
    }
    drawAll();
  });
  addEventListener("afterprint", () => {
    printing = false;
    for (const part of opened.splice(0)) part.open = false;
    drawAll();
  });

  // The library of charts is packed, since it is the largest part of the page.
  const unpacked = async (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };
  for (const chart of charts) chart.dataset.height = chart.style.height;
  try {
    const script = document.createElement("script");
    script.textContent = await unpacked(byId("plotly").textContent);
    document.head.append(script);
    Plotly = window.Plotly;
  } catch {
    for (const chart of charts) {
      chart.style.height = "auto";
      chart.textContent = "This browser is too old to draw the chart; the table holds its numbers.";
    }
    return;
  }
  await drawAll();

  // A click on a front point finds its row, and a row that is pointed at finds its point.
  const chart = byId("front-chart");
  if (chart && table) {
    chart.on("plotly_click", (event) => {
      const row = event.points[0].id && byId(event.points[0].id)?.closest("tbody");
      if (!row) return;
      table.querySelectorAll(".found").forEach((other) => other.classList.remove("found"));
      row.classList.add("found");
      row.scrollIntoView({ block: "center" });
    });
    table.addEventListener("mouseover", (event) => {
      const row = event.target.closest("tbody");
      if (!row) return;
      chart.data.forEach((trace, curveNumber) => {
        const pointNumber = trace.ids ? trace.ids.indexOf(row.id) : -1;
        if (pointNumber >= 0) Plotly.Fx.hover(chart, [{ curveNumber, pointNumber }]);
      });
    });
    table.addEventListener("mouseleave", () => Plotly.Fx.unhover(chart));
  }
  document.documentElement.dataset.charts = "drawn";
})();
