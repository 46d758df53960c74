import { coarser } from "./coarser.js";
import { chosen, look, opacity, percent, number, stands, times } from "./cells.js";

/** The distribution of every cell, before and after side by side on the same scales. */
export function distributions(data, state) {
  const whole = chosen(data, state);
  if (!whole) {
    return [];
  }
  const { cells, name } = data.against[state.columns];
  const { view, joined } = coarser(whole, cells);
  const shape = view.levels.length > 0 ? classes : bins;
  const rows = times(view).map(([, numbers]) => shape(view, numbers, cells, state));
  // A little room, so that no line ends at the rim.
  const highest = 1.05 * Math.max(0, ...rows.flat().map((row) => row.y));
  return times(view).map(([title, numbers], at) => ({
    title,
    caption: caption(`${data.subjects[state.subject]} against ${name}`, view, joined),
    description: describe(title, data.subjects[state.subject], name, cells, numbers),
    spec: (width) =>
      view.levels.length > 0
        ? classSpec(view, rows[at], width, highest)
        : binSpec(view, rows[at], width, highest),
  }));
}

/** What is shown, and how to read it. */
function caption(what, { levels, now }, joined) {
  if (levels.length > 0) {
    return what;
  }
  const parts = [what, "the shaded area is all rows"];
  if (joined > 1) {
    parts.push(`${joined} bins of the table make one point`);
  }
  if (now.cells.some(({ shares }) => shares.length === 0)) {
    parts.push("cells of too few rows have no line");
  }
  return parts.join("; ");
}

function describe(when, subject, against, cells, { cells: numbers }) {
  const means = numbers.map(({ mean }, at) => [mean, cells[at].label]).filter(([mean]) => mean !== null);
  means.sort(([a], [b]) => a - b);
  const text = `Distribution of ${subject} ${when.toLowerCase()} in ${cells.length} cells of ${against}.`;
  if (means.length === 0) {
    return text;
  }
  const [low, lowest] = means[0];
  const [high, highest] = means[means.length - 1];
  return `${text} The lowest mean is ${number(low)} (${lowest}), the highest ${number(high)} (${highest}).`;
}

/** The middle of every bin. Ends without a limit are as far as their neighbour is wide. */
function middles({ edges }) {
  const last = edges.length - 1;
  const ends = [...edges];
  ends[0] ??= 2 * ends[1] - ends[2];
  ends[last] ??= 2 * ends[last - 1] - ends[last - 2];
  return ends.slice(1).map((end, at) => ({ x: (ends[at] + end) / 2, from: ends[at], to: end, width: end - ends[at] }));
}

/** Rows of the chart of a score: a share per bin, or a density where bins differ in width. */
function bins(view, numbers, cells, state) {
  const places = middles(view);
  const row = (shares, rest) =>
    shares.map((share, at) => ({
      ...rest,
      x: places[at].x,
      y: isEven(places) ? share : share / places[at].width,
      tip: `${rest.label}\n${number(places[at].from)} to ${number(places[at].to)}: ${percent(share)} of its rows`,
    }));
  const all = row(numbers.all.shares, { series: -1, label: "all rows" });
  return [...all, ...numbers.cells.flatMap(({ shares }, cell) => row(shares, drawn(cells, cell, state)))];
}

function drawn(cells, cell, state) {
  const { colour, dash, shape } = look(cell);
  const { label } = cells[cell];
  return { series: cell, cell, label, colour, dash: dash.join(","), shape, alpha: opacity(state, cell), front: stands(state, cell) };
}

function isEven(places) {
  const widths = places.map(({ width }) => width);
  return Math.max(...widths) < 1.001 * Math.min(...widths);
}

function binSpec(view, rows, width, highest) {
  const places = middles(view);
  const even = isEven(places);
  const x = { field: "x", type: "quantitative", title: "value", scale: { domain: [places[0].from, places.at(-1).to], nice: false }, axis: { grid: false, tickCount: Math.max(3, width / 90) } };
  const y = { field: "y", type: "quantitative", title: even ? "share of the cell's rows" : "density", scale: { domain: [0, highest] }, axis: { format: even ? ".0%" : "~g", tickCount: 4 } };
  const tooltip = { field: "tip", type: "nominal" };
  const line = (filter, strokeWidth) => ({
    transform: [{ filter }],
    mark: { type: "line", interpolate: "monotone", strokeWidth },
    encoding: {
      x,
      y,
      detail: { field: "series", type: "nominal" },
      stroke: { field: "colour", type: "nominal", scale: null, legend: null },
      strokeOpacity: { field: "alpha", type: "quantitative", scale: null, legend: null },
      strokeDash: dashes(),
    },
  });
  return {
    height: 260,
    data: { values: rows },
    layer: [
      {
        transform: [{ filter: "datum.series < 0" }],
        mark: { type: "area", interpolate: "monotone", color: "var(--null)", opacity: 0.75 },
        encoding: { x, y },
      },
      line("datum.series >= 0 && !datum.front", 1.5),
      line("datum.series >= 0 && datum.front", 2),
      {
        transform: [{ filter: "datum.series >= 0 && datum.front" }],
        mark: { type: "point", size: 120, opacity: 0, filled: true, cursor: "pointer" },
        encoding: { x, y, tooltip },
      },
    ],
  };
}

function dashes() {
  const known = [0, 1, 2].map((cell) => look(cell).dash);
  return { field: "dash", type: "nominal", legend: null, scale: { domain: known.map((dash) => dash.join(",")), range: known } };
}

/** Rows of the chart of a label: a share per class. */
function classes(view, numbers, cells, state) {
  return numbers.cells.flatMap(({ shares }, cell) =>
    shares.map((share, at) => ({
      ...drawn(cells, cell, state),
      y: share,
      at,
      tip: `${cells[cell].label}\n${view.levels[at]}: ${percent(share)} of its rows`,
    })),
  );
}

function classSpec(view, rows, width, highest) {
  return {
    height: view.levels.length * Math.max(40, (9 * rows.length) / view.levels.length),
    data: { values: rows.map((row) => ({ ...row, level: view.levels[row.at], order: row.at })) },
    mark: { type: "point", filled: true, size: 90, cursor: "pointer" },
    encoding: {
      y: { field: "level", type: "nominal", sort: { field: "order" }, title: null, axis: { grid: true, labelLimit: width / 3 } },
      yOffset: { field: "cell", type: "nominal" },
      x: { field: "y", type: "quantitative", title: "share of the cell's rows", scale: { domain: [0, highest] }, axis: { format: ".0%", tickCount: Math.max(3, width / 90) } },
      color: { field: "colour", type: "nominal", scale: null },
      shape: { field: "shape", type: "nominal", scale: null },
      opacity: { field: "alpha", type: "quantitative", scale: null },
      tooltip: { field: "tip", type: "nominal" },
    },
  };
}
