import { chosen, look, number, opacity, times } from "./cells.js";

/** The mean outcome of like scores: one line per cell, and one for all rows. */
export function reliability(data, state) {
  const view = chosen(data, state);
  if (!view || !view.now.cells.some(({ reliability }) => reliability.length > 0)) {
    return [];
  }
  const { cells, name } = data.against[state.columns];
  const subject = data.subjects[state.subject];
  const drawn = times(view).filter(([, numbers]) => numbers.cells.some(({ reliability }) => reliability.length > 0));
  return drawn.map(([title, numbers]) => ({
    title,
    caption: `${subject} against ${name}; the dotted line is all rows`,
    description: describe(title, subject, name, numbers),
    spec: (width) => spec(points(numbers, cells, state), width),
  }));
}

function describe(when, subject, against, { cells }) {
  const shown = cells.filter(({ reliability }) => reliability.length > 0).length;
  return `Mean outcome by ${subject} ${when.toLowerCase()} in ${shown} cells of ${against}. The table has the numbers.`;
}

function points(numbers, cells, state) {
  const row = (bins, rest) =>
    bins.map(([score, outcome, lower, upper]) => ({
      ...rest,
      score,
      outcome,
      lower,
      upper,
      tip: `${rest.label}\nscores about ${number(score)}: mean outcome ${number(outcome)} (${number(lower)} to ${number(upper)})`,
    }));
  const own = numbers.cells.flatMap(({ reliability }, cell) => {
    const { colour, shape } = look(cell);
    return row(reliability, { series: cell, cell, label: cells[cell].label, colour, shape, alpha: opacity(state, cell) });
  });
  return [...row(numbers.all.reliability, { series: -1, label: "all rows" }), ...own];
}

function spec(values, width) {
  const x = { field: "score", type: "quantitative", title: "mean score", scale: { zero: false, nice: true }, axis: { grid: false, tickCount: Math.max(3, width / 90) } };
  const y = { field: "outcome", type: "quantitative", title: "mean outcome", scale: { zero: false, nice: true }, axis: { tickCount: 5 } };
  const look = {
    color: { field: "colour", type: "nominal", scale: null },
    opacity: { field: "alpha", type: "quantitative", scale: null },
  };
  const detail = { field: "series", type: "nominal" };
  const cells = [{ filter: "datum.series >= 0" }];
  return {
    height: 260,
    data: { values },
    layer: [
      { transform: [{ filter: "datum.series < 0" }], mark: { type: "line", color: "var(--ink)", strokeDash: [2, 3], opacity: 0.7 }, encoding: { x, y } },
      { transform: cells, mark: { type: "rule", strokeWidth: 1.5 }, encoding: { ...look, x, y: { ...y, field: "lower" }, y2: { field: "upper" } } },
      { transform: cells, mark: { type: "line", strokeWidth: 1.8 }, encoding: { ...look, detail, x, y } },
      {
        transform: cells,
        mark: { type: "point", filled: true, size: 60, opacity: 1, cursor: "pointer" },
        encoding: { ...look, x, y, shape: { field: "shape", type: "nominal", scale: null }, tooltip: { field: "tip", type: "nominal" } },
      },
    ],
  };
}
