"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("repricing-data").textContent);
  const HOURS_PER_YEAR = 8760;
  const NEAR_FASTEST = 0.05;
  const TOLERANCE = 1e-9; // within which a constraint takes numbers for equal
  const LEAST = 1e-300;
  const known = (value) => (value === null ? NaN : value);
  const finite = Number.isFinite;
  const { shown, chance, exactly } = numbers(4); // digits, as dse serve has it

  // What the document holds, with NaN for what is not known.
  const { points, terms, parts, drawn } = data;
  for (const point of points) {
    for (const name of ["bought", "rented"]) {
      point[name] = point[name].map(([at, count]) => [at, known(count)]);
    }
    point.housed_w = known(point.housed_w);
    for (const [name, value] of Object.entries(point.numbers)) point.numbers[name] = known(value);
  }
  const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const floats = (text) => new Float32Array(bytes(text).buffer);
  const factors = floats(drawn.prices);
  const shares = drawn.rent_share ? floats(drawn.rent_share) : null;
  const rateFactors = Object.entries(drawn.rates ?? {}).map(([name, text]) => [name, floats(text)]);
  const wattFactors = drawn.housed ? floats(drawn.housed) : null;
  const columns = Object.entries(drawn.columns).map(([name, text]) => [name, floats(text)]);
  const bits = drawn.met ? bytes(drawn.met) : null;
  const host = parts.findIndex((part) => part.part === "host" && !part.rented);

  // Costs of a point: see dse/model/money.py, power.py and ownership.py.
  const costs = (point, numbers, prices, rates, share) => {
    const sum = (items) => items.reduce((usd, [at, count]) => usd + count * prices[at], 0);
    const each = ([once, yearly]) => once + yearly * rates.amortisation_years;
    const extras = terms.extras;
    const hardware = sum(point.bought);
    const capital = hardware * (1 + each(extras.share))
      + (point.adds ? each(extras.once_usd) : 0) + point.hosts * each(extras.node_usd);
    const hours = rates.amortisation_years * HOURS_PER_YEAR;
    const power = point.housed_w * rates.pue;
    const servers = point.servers ? point.servers * prices[host] / hours : 0;
    const hourly = sum(point.rented) * share + servers;
    const tco = (capital - hardware * terms.residual_value) / (hours * terms.utilisation)
      + power / 1000 * rates.electricity;
    const energy = power * numbers.held_s;
    return {
      ...numbers, capital, hourly, tco, power, energy,
      per_run: hourly * numbers.billed_s / 3600,
      carbon: energy / 3.6e6 * known(terms.carbon_kg_per_kwh),
    };
  };

  // Limits: see dse/study/expressions.py.
  const SIGNS = { "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "/": (a, b) => a / b };
  const side = (node, found) => {
    if ("value" in node) return node.value;
    if ("name" in node) return found[node.name] * node.scale;
    return SIGNS[node.sign](side(node.left, found), side(node.right, found));
  };
  const holds = (limit, found) => {
    const [left, right] = [side(limit.left, found), side(limit.right, found)];
    const slack = TOLERANCE * Math.sign(right);
    const [low, high] = [right * (1 - slack), right * (1 + slack)];
    switch (limit.comparison) {
      case "<=": return left <= high;
      case ">=": return left >= low;
      case "<": return left < low;
      case ">": return left > high;
      default: return left >= low && left <= high;
    }
  };
  const meets = (found) => data.limits.every((limit) => holds(limit, found));

  // Which points can be bought: see dse/pricing/market.py. A price that is typed is an offer.
  const onSale = (state) => {
    const offered = points.map(({ retired }) => (retired ?? null) === null || state.moved[retired]);
    const sold = data.sells_new || points.some(({ retired }, at) => (retired ?? null) !== null && offered[at]);
    return sold ? offered : points.map(() => true);
  };

  // What points gain for their cost beyond what can be had for nothing, and costs for a logarithmic
  // scale: see dse/search/certainty/usefulness.py.
  const gainPerCost = (gains, costs) => {
    const stands = gains.filter((_, at) => costs[at] <= 0);
    if (!stands.length) return (gain, cost) => gain / cost;
    const top = Math.max(...stands);
    const none = !gains.some((gain, at) => costs[at] > 0 && gain > top);
    return (gain, cost) => (cost > 0 ? Math.max(gain - top, 0) / cost : none ? gain : 0);
  };
  const aboveNothing = (values) => {
    const paid = values.filter((value) => value > 0);
    return Math.max(LEAST, paid.length ? Math.min(...paid) : LEAST);
  };

  // Which point a rule recommends of points by rising cost: see dse/report/recommendation.py.
  const most = (values) => values.indexOf(Math.max(...values));
  const recommended = (found) => {
    const gain = found.map((one) => one[data.gain]);
    const [cost, other] = data.costs.map((name) => found.map((one) => one[name]));
    if (data.rule === "cheapest") return 0;
    if (data.rule === "speed-per-dollar") {
      const per = gainPerCost(gain, cost);
      return most(gain.map((value, at) => per(value, cost[at])));
    }
    if (data.rule === "cheapest-within-5%") {
      const enough = (1 - NEAR_FASTEST) * Math.max(...gain);
      return gain.findIndex((value) => value >= enough);
    }
    if (data.rule === "fastest" || found.length < 3) return most(gain);
    const log = (values) => {
      const least = aboveNothing(values);
      return values.map((value) => Math.log(Math.max(value, least)));
    };
    const [y, spans] = [log(gain), []];
    const [low, high] = [Math.min(...y), Math.max(...y)];
    for (const x of [cost, other].filter(Boolean).map(log)) {
      const [least, span] = [Math.min(...x), Math.max(...x) - Math.min(...x)];
      if (span > 0) spans.push(x.map((value) => (high - low) * (value - least) / span));
    }
    const line = (at) => low + spans.reduce((total, span) => total + span[at], 0) / Math.max(1, spans.length);
    return most(y.map((value, at) => value - line(at)));
  };
  const compared = [data.gain, ...data.costs];
  const dominates = (one, other) => one !== other && one[data.gain] >= other[data.gain]
    && data.costs.every((name) => one[name] <= other[name]);
  const equal = (one, other) => compared.every((name) => one[name] === other[name]);
  const frontOf = (found, at) => at.filter((here, place) => !at.some((there, before) =>
    dominates(found[there], found[here]) && (!equal(found[there], found[here]) || before < place)));

  // Draws: what every point is worth in each, and from that the chances of all.
  const worths = (found, met) => {
    const cost = (one) => one[data.costs[0]];
    const usable = found.filter((_, at) => met[at]);
    const gains = usable.map((one) => one[data.gain]);
    const per = gainPerCost(gains, usable.map(cost));
    const rules = {
      cheapest: (one) => 1 / cost(one),
      fastest: (one) => one[data.gain],
      "speed-per-dollar": (one) => per(one[data.gain], cost(one)),
      "cheapest-within-5%": (one) =>
        (one[data.gain] >= (1 - NEAR_FASTEST) * Math.max(...gains) ? 1 / cost(one) : 0),
      knee: (one) => aboveTheLine(one, usable, gains),
    };
    return found.map((one, at) => {
      const worth = met[at] ? rules[data.compared](one) : 0;
      return Number.isNaN(worth) ? 0 : worth;
    });
  };
  const aboveTheLine = (one, usable, gains) => {
    const log = (value) => Math.log(Math.max(value, LEAST));
    const first = usable.reduce((best, other) => (other[data.costs[0]] < best[data.costs[0]] ? other : best));
    const last = usable[most(gains)];
    const [low, high] = [log(first[data.gain]), log(last[data.gain])];
    let share = 0;
    for (const name of data.costs) {
      const nothing = aboveNothing(usable.map((other) => other[name]));
      const paid = (other) => log(Math.max(other[name], nothing));
      const values = usable.map(paid);
      const least = Math.min(...values);
      const top = data.costs.length === 1 ? paid(last) : Math.max(...values);
      if (top > least) share += (paid(one) - least) / (top - least);
    }
    return Math.exp(log(one[data.gain]) - low - (high - low) * share / data.costs.length);
  };
  const chances = (state) => {
    const count = points.length;
    const found = {
      met: new Float64Array(count), regret: new Float64Array(count), alone: new Float64Array(count), best: new Map(),
    };
    const sold = onSale(state);
    for (let draw = 0; draw < drawn.count; draw += 1) {
      const share = shares ? shares[draw] : terms.rent_share;
      const certain = (usd, at) => (parts[at].rented && share ? usd * terms.rent_share / share : usd);
      const prices = state.prices.map((usd, at) => { // a rent of the term has no uncertain discount
        const price = state.moved[at] ? usd : usd * factors[draw * parts.length + at];
        return state.moved[at] || parts[at].of_term ? certain(price, at) : price;
      });
      const rates = { ...state.rates }; // one that is typed is certain
      for (const [name, column] of rateFactors) {
        if (Object.is(rates[name], usual[name])) rates[name] *= column[draw];
      }
      const priced = points.map((point, at) => {
        const numbers = { ...point.numbers };
        for (const [name, column] of columns) numbers[name] *= column[draw * count + at];
        const watts = wattFactors ? wattFactors[draw * count + at] : 1;
        return costs({ ...point, housed_w: point.housed_w * watts }, numbers, prices, rates, share);
      });
      const met = priced.map((one, at) => {
        const bit = draw * count + at;
        return sold[at] && (!bits || ((bits[bit >> 3] >> (7 - (bit & 7))) & 1) === 1) && meets(one);
      });
      const worth = worths(priced, met);
      const top = Math.max(...worth);
      if (top > 0) {
        const purchase = points[worth.indexOf(top)].purchase;
        found.best.set(purchase, (found.best.get(purchase) ?? 0) + 1 / drawn.count);
      }
      const reached = new Map(); // of every purchase, with the best software for it in this draw
      points.forEach(({ purchase }, at) => reached.set(purchase, Math.max(reached.get(purchase) ?? 0, worth[at])));
      const missed = (value) => (top > 0 && value < top ? (1 - value / top) / drawn.count : 0);
      for (let at = 0; at < count; at += 1) {
        found.met[at] += met[at] / drawn.count;
        found.regret[at] += missed(reached.get(points[at].purchase));
        found.alone[at] += missed(worth[at]);
      }
    }
    return found;
  };

  // What the reader has typed. Where nothing is moved every number is that of the report.
  const form = byId("repricing-form");
  const inputs = [...form.querySelectorAll("input")];
  const initial = new Map(inputs.map((input) => [input.id, input.value]));
  const RATES = ["electricity", "pue", "amortisation_years"];
  const usual = {
    electricity: known(terms.electricity_usd_per_kwh),
    pue: known(terms.pue),
    amortisation_years: known(terms.amortisation_years),
  };
  const typed = (id, otherwise) => {
    const input = byId(id);
    return !input || input.value === initial.get(id) ? otherwise : input.valueAsNumber;
  };
  const changed = (id) => byId(id) !== null && byId(id).value !== initial.get(id);
  const read = () => ({
    prices: parts.map((part, at) => { // a typed rent is of the term, the document's on demand
      const share = (part.rented && terms.rent_share) || 1;
      return changed(`price-${at}`) ? byId(`price-${at}`).valueAsNumber / share : known(part.usd);
    }),
    moved: parts.map((_, at) => changed(`price-${at}`)),
    rates: Object.fromEntries(RATES.map((name) => [name, typed(name, usual[name])])),
    confidence: byId("confidence")?.value
      ? typed("confidence", data.confidence * 100) / 100 : null,
  });
  const wrong = (input) => {
    if (input.value === initial.get(input.id)) return "";
    const optional = input.id === "confidence";
    if (input.value === "" && !input.validity.badInput && optional) return "";
    const value = input.valueAsNumber;
    const [least, largest] = [Number(input.min), Number(input.max)];
    const inside = optional ? value > least && value < largest : value >= least && value <= largest;
    if (inside) return "";
    const range = optional ? `between ${least} and ${largest}` : `from ${least} to ${largest.toLocaleString("en-US")}`;
    return `${input.dataset.label} must be a number ${range}.`;
  };

  // Whether all prices are the report's, whose draws looked at the points near the front alone.
  const atReport = (state) => !state.moved.includes(true)
    && RATES.every((name) => Object.is(state.rates[name], usual[name]));

  // Everything at the numbers of the form: costs of all points, and the one that is recommended.
  const initially = read();
  let before = null; // the chances at the report's prices, in these draws
  const answer = (state) => {
    const numbers = points.map((point) =>
      costs(point, point.numbers, state.prices, state.rates, terms.rent_share));
    const sold = onSale(state);
    const ok = numbers.map((one, at) => sold[at] && compared.every((name) => finite(one[name])) && meets(one));
    before ??= chances(initially);
    const now = chances(state);
    const clip = (value) => Math.min(1, Math.max(0, value));
    // Near the front the chances in all draws are known; these draws tell how far they move.
    const { chances: all } = data;
    const met = points.map((_, at) =>
      clip(now.met[at] + (at < data.near ? all[at].met - before.met[at] : 0)));
    const [regret, aloneOf] = ["regret", "alone"].map((name) => points.map((_, at) =>
      now[name][at] + (at < data.near ? (all[at][name] ?? before[name][at]) - before[name][at] : 0)));
    const known = new Map(all.map((one, at) => [points[at].purchase, one.best]));
    const alone = (purchase) => clip((now.best.get(purchase) ?? 0)
      + (known.has(purchase) ? known.get(purchase) - (before.best.get(purchase) ?? 0) : 0));
    // Purchases that differ by less than the resolution in every objective are one choice.
    const same = (one, other) => compared.every((name) =>
      Math.abs(one[name] - other[name]) <= data.resolution * Math.max(Math.abs(one[name]), Math.abs(other[name])));
    const best = (at) => {
      const together = new Set([points[at].purchase]);
      numbers.forEach((one, other) => { if (ok[other] && same(one, numbers[at])) together.add(points[other].purchase); });
      return clip([...together].reduce((sum, purchase) => sum + alone(purchase), 0));
    };
    const by = (names) => (one, other) => {
      for (const [name, sign] of names) {
        const step = sign * (numbers[one][name] - numbers[other][name]);
        if (step) return step;
      }
      return one - other;
    };
    const every = points.map((_, at) => at);
    const likely = atReport(state) ? every.slice(0, data.near) : every;
    const [cost, ...also] = data.costs;
    const front = frontOf(numbers, every.filter((at) => ok[at]).sort(
      by([[cost, 1], ...also.map((name) => [name, 1]), [data.gain, -1]])));
    const least = (at, values, then) => at.reduce((one, other) =>
      (values[other] < values[one] || (then && values[other] === values[one] && then[other] < then[one]) ? other : one));
    const rule = (at) => at[recommended(at.map((one) => numbers[one]))];
    let [chosen, reached] = [null, true];
    if (state.confidence === null) {
      if (data.rule === "least-regret") chosen = least(likely, regret, aloneOf);
      else if (front.length) chosen = rule(front);
    } else {
      const order = [...likely].sort(by([[cost, 1], ...also.map((name) => [name, 1]), [data.gain, -1]]));
      const sure = order.filter((at) => met[at] >= state.confidence);
      reached = sure.length > 0;
      if (!reached) chosen = least(order, met.map((share) => -share));
      else chosen = data.rule === "least-regret" ? least(sure, regret, aloneOf) : rule(sure);
    }
    return { numbers, sold, ok, met, regret, best, front, chosen, reached };
  };

  const units = Object.fromEntries(data.shown.map(({ name, unit }) => [name, unit]));
  const full = (at) => [points[at].name, points[at].settings].filter(Boolean).join(", ");
  const offered = (found, at) => compared.map((name) => shown(found.numbers[at][name], units[name])).reverse().join(", ");

  const sentence = (state, found) => {
    const untouched = inputs.every((input) => input.value === initial.get(input.id));
    const own = data.recommended;
    const at = found.chosen;
    if (at === null) return "At these prices no point meets every limit.";
    let text;
    if (untouched) text = `As in the report: ${full(own)}, for ${offered(found, own)}.`;
    else if (at === own) text = `The recommendation stays the same: ${full(own)}, now for ${offered(found, own)}.`;
    else {
      const same = points[at].purchase === points[own].purchase;
      text = `The recommendation changes: ${full(at)}, for ${offered(found, at)}, in place of `
        + `${same ? "the same hardware with other software" : points[own].name}, for ${offered(found, own)}`
        + `${found.sold[own] ? "" : ", which is no longer sold new"}`
        + `${found.ok[own] || !found.sold[own] ? "" : ", which misses a limit at these prices"}.`;
    }
    if (state.confidence !== null) {
      text += found.reached
        ? ` It meets every limit in ${chance(found.met[at], state.confidence)} of simulated outcomes.`
        : ` No point meets every limit with ${exactly(state.confidence)} probability; this one comes closest, with ${chance(found.met[at], state.confidence)}.`;
    }
    return text;
  };

  const element = (name, text, attributes = {}) => {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };
  const number = (value, unit) => element("td", shown(value, unit), { class: "n", "data-value": String(value) });
  const show = (state, found) => {
    byId("repricing-answer").textContent = sentence(state, found);
    const body = byId("repricing-table").tBodies[0];
    const both = [data.recommended, found.chosen];
    const row = (title, cells) => {
      const made = document.createElement("tr");
      made.append(element("th", title, { scope: "row" }), ...cells);
      return made;
    };
    const rows = data.shown
      .filter(({ name }) => points.some((_, at) => finite(found.numbers[at][name])))
      .map(({ name, title, unit }) => row(title[0].toUpperCase() + title.slice(1), both.map((at) =>
        (at === null ? element("td", "") : number(found.numbers[at][name], unit)))));
    const share = (values) => both.map((at) => element("td", at === null ? "" : chance(values[at]), { class: "n" }));
    body.replaceChildren(
      row(`What to ${data.deal.verb}`, both.map((at) => element("td", at === null ? "nothing" : full(at)))),
      ...rows,
      row("Best choice, it or what is as good, share of simulated outcomes", both.map((at) =>
        element("td", at === null ? "" : chance(found.best(at)), { class: "n" }))),
      row("Meets every limit, share of simulated outcomes", share(found.met)),
    );
    const table = byId("repricing-points");
    const heads = data.shown.filter(({ name }) => compared.includes(name));
    const head = document.createElement("tr");
    head.append(element("th", "Point", { scope: "col" }),
      ...heads.map(({ title }) => element("th", title[0].toUpperCase() + title.slice(1), { scope: "col", class: "n" })),
      element("th", "At these prices", { scope: "col" }));
    table.tHead.replaceChildren(head);
    const front = new Set(found.front);
    const order = points.map((_, at) => at).sort((one, other) =>
      found.numbers[one][data.costs[0]] - found.numbers[other][data.costs[0]] || one - other);
    table.tBodies[0].replaceChildren(...order.map((at) => {
      const said = at === found.chosen ? "recommended" : front.has(at) ? "on the front"
        : !found.sold[at] ? "no longer sold new" : found.ok[at] ? "" : "misses a limit";
      const made = row(full(at), [...heads.map(({ name, unit }) => number(found.numbers[at][name], unit)), element("td", said)]);
      made.dataset.point = String(at);
      return made;
    }));
  };

  const update = () => {
    const errors = inputs.map((input) => {
      const error = wrong(input);
      input.setAttribute("aria-invalid", String(error !== ""));
      return error;
    }).filter(Boolean);
    if (errors.length) {
      byId("repricing-answer").textContent = errors.join(" ");
      return;
    }
    const state = read();
    const found = answer(state);
    show(state, found);
    byId("repricing").dataset.chosen = found.chosen === null ? "" : String(found.chosen);
  };
  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => {
    for (const input of inputs) input.value = initial.get(input.id);
    update();
  });
  update();
})();
