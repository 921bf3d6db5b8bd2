"use strict";
// Prices points anew, cost = usd @ quantities + constant, and recommends one: the twin of
// dse/report/recommendation.py for the rules that need nothing but a gain and a cost.
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("repricing-data").textContent);
  const { points, gain, usd, quantities, constant } = data;
  const every = points.map((_, at) => at);
  const form = byId("repricing-form");
  const inputs = usd.map((_, at) => byId(`price-${at}`));
  const costsAt = (prices) => constant.map((start, at) =>
    prices.reduce((sum, price, part) => sum + price * quantities[part][at], start));
  const reported = costsAt(usd);

  const recommended = (cost, rule) => {
    const within = (at) => data.most === null || cost[at] <= data.most * (1 + 1e-9);
    const able = every.filter(within).sort((one, other) => cost[one] - cost[other] || gain[other] - gain[one]);
    const top = Math.max(...able.map((at) => gain[at]));
    const free = Math.max(0, ...able.filter((at) => cost[at] <= 0).map((at) => gain[at]));
    const worth = {
      cheapest: (at) => -cost[at],
      fastest: (at) => gain[at],
      "cheapest-within-5%": (at) => (gain[at] >= 0.95 * top ? -cost[at] : -Infinity),
      "speed-per-dollar": (at) => (cost[at] > 0 ? (gain[at] - free) / cost[at] : gain[at] < free ? -Infinity : 0),
    }[rule];
    return able.reduce((best, at) => (best === null || worth(at) > worth(best) ? at : best), null);
  };

  const number = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });
  const money = (value) => `USD\u00a0${number.format(value)}${data.cost_unit.replace("USD", "")}`;
  const speed = (value) => `${number.format(value)}${data.gain_unit === "x" ? "" : "\u00a0"}${data.gain_unit}`;
  const cell = (row, text, value, className = "n") => {
    const found = Object.assign(document.createElement("td"), { textContent: text, className });
    found.dataset.value = value;
    row.append(found);
  };

  const show = () => {
    const wrong = inputs.filter((input) => !(input.value !== "" && input.valueAsNumber >= 0));
    inputs.forEach((input) => input.setAttribute("aria-invalid", wrong.includes(input)));
    if (wrong.length) {
      byId("repricing-answer").textContent = `${wrong[0].labels[0].textContent}: write a number from 0 on.`;
      return;
    }
    const moved = inputs.map((input, at) => (input.value === input.defaultValue ? usd[at] : input.valueAsNumber));
    const cost = costsAt(moved);
    const chosen = recommended(cost, byId("repricing-rule").value);
    const same = chosen === data.recommended ? " As in the report." : ` In the report: ${points[data.recommended]}.`;
    byId("repricing-answer").textContent = chosen === null ? "At these prices no point meets the study's limit."
      : `${points[chosen]}: ${speed(gain[chosen])} for ${money(cost[chosen])}.${same}`;
    const body = byId("repricing-points").tBodies[0];
    body.replaceChildren(...[...every].sort((one, other) => cost[one] - cost[other]).map((at) => {
      const row = document.createElement("tr");
      row.dataset.point = at;
      row.classList.toggle("recommended", at === chosen);
      row.append(Object.assign(document.createElement("th"), { textContent: points[at], scope: "row" }));
      cell(row, speed(gain[at]), gain[at]);
      cell(row, money(reported[at]), reported[at], "n wide");
      cell(row, money(cost[at]), cost[at]);
      return row;
    }));
    byId("repricing").dataset.chosen = chosen ?? "";
  };
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(show));
  show();
})();
