"use strict";
// Numbers as people read them: the twin of shown in dse/report/words.py, and of chance and exactly in
// dse/report/certainty/words.py, with blanks that do not break. Rounded as Python does: the exact
// binary number, halves to the even digit.
const numbers = (digits) => {
  // Units by falling size; the last is also that of whatever is smaller.
  const SI = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
  const COUNTS = [[1e12, "T"], [1e9, "B"], [1e6, "M"], [1e3, "k"], [1, ""]];
  const TIMES = [[86400, "days"], [3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]];
  const MASSES = [[1e6, "kt"], [1e3, "t"], [1, "kg"], [1e-3, "g"]];
  const ELECTRICITY = [[1e6, "GWh"], [1e3, "MWh"], [1, "kWh"]];
  const JOULES_PER_KWH = 3.6e6;
  const rounding = (options) => {
    const format = new Intl.NumberFormat("en-US", { roundingMode: "halfEven", ...options });
    return (value) => format.format(value.toPrecision(100)); // a half is told from what is next to it
  };
  const rounded = rounding({ maximumSignificantDigits: digits });
  const significant = (value) => (value ? rounded(value) : "0");
  const scaled = (value, units) => {
    const whole = ([least]) => Number((Math.abs(value) / least).toPrecision(digits)) >= 1;
    const [size, unit] = units.find(whole) ?? units.at(-1);
    return `${significant(value / size)}\u00a0${unit}`.trim();
  };
  const duration = (seconds) => {
    const text = Math.abs(seconds) < 1e-12 ? "0\u00a0s" : scaled(seconds, TIMES);
    return text === "1\u00a0days" ? "1\u00a0day" : text;
  };
  const shown = (value, unit) => {
    if (!Number.isFinite(value)) return "unknown";
    if (unit === "x") return `${significant(value)}x`;
    if (unit === "s") return duration(value);
    if (unit.startsWith("USD")) return `USD\u00a0${scaled(value, COUNTS)}${unit.slice(3).replace("hour", "h")}`;
    if (unit === "J") return scaled(value / JOULES_PER_KWH, ELECTRICITY);
    if (unit === "W") {
      const text = scaled(value, SI);
      return `${text}${/[A-Z]$/i.test(text) ? "" : "\u00a0"}W`;
    }
    if (unit.startsWith("kg")) return value ? `${scaled(value, MASSES)}${unit.slice(2)}` : `0\u00a0${unit}`;
    return `${scaled(value, COUNTS)}\u00a0${unit}`.trim();
  };

  // Of a share that is compared with what was asked, as many digits as it takes to read on the right
  // side of that.
  const exactly = (asked) => `${Number((100 * asked).toPrecision(6))}\u00a0%`;
  const fixed = Array.from({ length: 7 }, (_, places) =>
    rounding({ minimumFractionDigits: places, maximumFractionDigits: places, useGrouping: false }));
  const chance = (share, asked = null) => {
    for (let places = 0; asked !== null && places < 6; places += 1) {
      const text = fixed[places](100 * share);
      const read = Number(text);
      const fair = (read !== 0 && read !== 100) || share === 0 || share === 1;
      if (fair && (read >= Number(fixed[6](100 * asked))) === (share >= asked)) return `${text}\u00a0%`;
    }
    if (share > 0 && share < 0.005) return "< 1\u00a0%";
    if (share > 0.995 && share < 1) return "> 99\u00a0%";
    return `${fixed[0](100 * share)}\u00a0%`;
  };
  return { shown, chance, exactly };
};
