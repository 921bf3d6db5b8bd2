"use strict";
(async () => {
  const byId = (id) => document.getElementById(id);
  const form = byId("live-form");
  const inputs = [...form.querySelectorAll("[data-price]")];
  const initial = new Map(inputs.map((input) => [input.id, input.value]));
  const axes = [...form.querySelectorAll("[data-axis]")];
  const status = byId("answer");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let newest = 0;
  let shown = null;
  let Plotly = null;

  const boxes = (axis) => [...axis.querySelectorAll("input")];
  const question = () => {
    const values = {};
    for (const axis of axes) {
      const kept = boxes(axis).filter((box) => box.checked).map((box) => box.value);
      if (kept.length < boxes(axis).length) values[axis.dataset.axis] = kept;
      const count = form.querySelector(`[data-count="${axis.dataset.axis}"]`);
      count.textContent = kept.length < boxes(axis).length
        ? `${kept.length} of ${boxes(axis).length}` : `all ${kept.length}`;
    }
    const lines = byId("limits").value.split("\n").map((line) => line.trim()).filter(Boolean);
    const moved = inputs.filter((input) => input.value !== initial.get(input.id));
    const wrong = moved.find((input) => !Number.isFinite(input.valueAsNumber));
    if (wrong) throw new Error(`${wrong.labels[0].textContent.trim()}: write a number.`);
    const prices = Object.fromEntries(moved.map((input) => [input.id, input.valueAsNumber]));
    const ranges = Object.fromEntries([...form.querySelectorAll("[data-range]")].map((input) =>
      [input.dataset.range, input.value.split(",").map((text) => text.trim()).filter(Boolean)]));
    const sure = byId("confidence");
    if (sure.validity.badInput) throw new Error("Confidence in the limits: write a number.");
    const confidence = sure.value === "" ? null : sure.valueAsNumber / 100;
    return { values, ranges, prices, limits: lines, rule: byId("rule").value, confidence };
  };

  const element = (name, text, attributes = {}) => {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const draw = () => {
    if (!Plotly || !shown) return;
    let text = byId("layout").textContent;
    let [front, mark] = ["#1f5fae", "#c2410c"];
    if (dark.matches) {
      const night = JSON.parse(byId("night").textContent);
      for (const [day, other] of Object.entries(night)) text = text.replaceAll(`"${day}"`, `"${other}"`);
      [front, mark] = [night[front], night[mark]];
    }
    const { rows, recommended } = shown;
    const trace = {
      type: "scatter", mode: "lines+markers", hoverinfo: "text", line: { color: front, width: 1 },
      x: rows.map((row) => row.numbers[1]), y: rows.map((row) => row.numbers[0]),
      text: rows.map((row) => `${row.name}<br>${row.shown.join(", ")}`),
      marker: {
        size: rows.map((_, at) => (at === recommended ? 15 : 7)),
        symbol: rows.map((_, at) => (at === recommended ? "star" : "circle")),
        color: rows.map((_, at) => (at === recommended ? mark : front)),
      },
    };
    // What costs nothing, as hardware that is owned does, has no place on a logarithmic scale.
    const layout = JSON.parse(text);
    if (Math.min(...trace.x) <= 0) Object.assign(layout.xaxis, { type: "linear", rangemode: "tozero" });
    Plotly.react(byId("chart"), [trace], layout, { responsive: true, displayModeBar: false });
  };
  const show = (found) => {
    shown = found;
    status.textContent = found.said;
    const number = (value) => value.toLocaleString("en-US");
    byId("counts").textContent = `${number(found.points)} points, ${number(found.feasible)} feasible, `
      + `${number(found.front)} on the front, searched in ${found.seconds.toFixed(2)} s.`;
    const head = document.createElement("tr");
    head.append(element("th", "Point", { scope: "col" }), ...found.heads.map((title) =>
      element("th", title[0].toUpperCase() + title.slice(1), { scope: "col", class: "n" })));
    byId("front").tHead.replaceChildren(head);
    byId("front").tBodies[0].replaceChildren(...found.rows.map((row, at) => {
      const line = document.createElement("tr");
      const name = element("th", row.name, { scope: "row" });
      if (at === found.recommended) name.append(" ", element("small", "recommended", { class: "mark" }));
      line.append(name, ...row.shown.map((text, of) =>
        element("td", text, { class: "n", "data-value": String(row.numbers[of]) })));
      return line;
    }));
    byId("drawn").textContent = found.recommended === null ? "" : "Drawing prices and speeds ...";
    draw();
  };
  // What draws say, beside the front that is shown already.
  const percent = (share) => {
    if (share === null) return "";
    if (share > 0 && share < 0.005) return "< 1\u00a0%";
    if (share > 0.995 && share < 1) return "> 99\u00a0%";
    return `${Math.round(100 * share)}\u00a0%`;
  };
  const showChances = (found) => {
    shown.recommended = found.at;
    status.textContent = found.said;
    byId("drawn").textContent = `${found.considered} points near the front, each in `
      + `${found.draws.toLocaleString("en-US")} simulated outcomes, in ${found.seconds.toFixed(1)} s.`;
    byId("front").tHead.rows[0].append(
      element("th", "Meets every limit", { scope: "col", class: "n" }),
      element("th", byId("front").dataset.best, { scope: "col", class: "n" }));
    [...byId("front").tBodies[0].rows].forEach((line, at) => {
      line.querySelector(".mark")?.remove();
      if (at === found.at) line.cells[0].append(" ", element("small", "recommended", { class: "mark" }));
      line.append(element("td", percent(found.met[at]), { class: "n" }),
        element("td", percent(found.best[at]), { class: "n" }));
    });
    draw();
  };
  let waitedFor = null;
  const ask = async () => {
    const mine = newest += 1;
    waitedFor?.abort(); // nobody waits for the answer to an older question
    waitedFor = new AbortController();
    const { signal } = waitedFor;
    const posted = (where, body) => fetch(where, {
      method: "POST", headers: { "Content-Type": "application/json" }, body, signal,
    });
    const said = (text) => { if (mine === newest) status.textContent = text; };
    try {
      const body = JSON.stringify(question());
      form.setAttribute("aria-busy", "true");
      const response = await posted("answer", body);
      const found = await response.json();
      if (mine !== newest) return;
      if (!response.ok) {
        said(found.error);
        return;
      }
      show(found);
      if (found.recommended === null) return;
      const drawn = await posted("chances", body);
      const chances = await drawn.json();
      if (mine !== newest) return;
      if (drawn.ok) showChances(chances);
      else said(chances.error);
    } catch (error) {
      if (error.name === "AbortError") return;
      said(error instanceof TypeError ? "dse serve has ended: start it again." : error.message);
    } finally {
      if (mine === newest) {
        form.removeAttribute("aria-busy");
        document.documentElement.dataset.answered = String(mine);
      }
    }
  };
  let waiting = 0;
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(ask, 150); };
  form.addEventListener("input", soon);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => { setTimeout(ask, 0); });
  dark.addEventListener("change", draw);
  ask();
  try {
    const bytes = Uint8Array.from(atob(byId("plotly").textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    Plotly = window.Plotly;
    draw();
  } catch {
    byId("chart").textContent = "This browser is too old to draw the chart; the table holds its numbers.";
  }
})();
