import { number } from "./cells.js";
import { element, select } from "./elements.js";

const SHAPES = ["circle", "square", "triangle-up", "cross"];
const COLOURS = 8;

const colour = (mode) => `var(--c${mode % COLOURS})`;
const shape = (align) => SHAPES[align % SHAPES.length];

/** Error against the chosen measure of dependence: every candidate with its intervals, the start marked. */
export function tradeoff(data, state) {
  const { errors, axes, points } = data.tradeoff;
  const axis = axes[state.axis];
  if (!axis) {
    return [];
  }
  const error = errors[state.error];
  const rows = points.flatMap((point) => row(point, state, error, axis));
  if (rows.length === 0) {
    return [];
  }
  const caption = `Filled marks are on the frontier. Thin lines are intervals; a thicker one joins the strengths of a mode. The dashed upright is the level under independence, the dotted one what chance would exceed in one case of twenty.`;
  const start = rows.find((row) => row.start);
  const from = start ? ` It starts at ${number(start.x)} with ${error.label} ${number(start.y)}.` : "";
  const best = rows.filter((row) => row.on).map((row) => row.label);
  const description = `${error.label} of ${rows.length} candidates against ${axis.label}.${from} On the frontier: ${best.join("; ")}.`;
  return [{ title: "", caption, description, spec: (width) => spec(rows, axis, error, width) }];
}

function row(point, state, error, axis) {
  const [y, x] = [point.errors[state.error], point.dependence[state.axis]];
  if (!x || x.value === null || !y || y.value === null) {
    return [];
  }
  const on = x.frontier[state.error];
  return [{
    label: point.label,
    start: point.start,
    on,
    mode: point.mode,
    plain: point.align === 0,
    strength: point.strength,
    colour: colour(point.mode),
    shape: point.start ? "diamond" : shape(point.align),
    x: x.value, left: x.lower ?? x.value, right: x.upper ?? x.value,
    y: y.value, low: y.lower ?? y.value, high: y.upper ?? y.value,
    tip: `${point.label}${on ? " (on the frontier)" : ""}\n${error.label} ${number(y.value)} (${number(y.lower)} to ${number(y.upper)})\n${axis.measure} ${number(x.value)} (${number(x.lower)} to ${number(x.upper)}), ${number(axis.expected)} if independent`,
  }];
}

/** The strengths of each mode in their order, from the start on. */
function paths(rows) {
  const start = rows.find((row) => row.start);
  const modes = [...new Set(rows.filter((row) => !row.start).map((row) => row.mode))];
  return modes.flatMap((mode) => {
    const own = rows.filter((row) => row.mode === mode && row.plain && !row.start).sort((a, b) => a.strength - b.strength);
    return [...(start ? [start] : []), ...own].map((row, order) => ({ x: row.x, y: row.y, order, path: mode, colour: colour(mode) }));
  });
}

function spec(rows, axis, error, width) {
  const zero = axis.grows && rows.every((row) => row.x >= 0);
  const x = { field: "x", type: "quantitative", title: axis.label, scale: { zero, nice: true, ...(axis.grows ? {} : { reverse: true }) }, axis: { tickCount: Math.max(3, width / 110) } };
  const y = { field: "y", type: "quantitative", title: error.label, scale: { zero: false, nice: true }, axis: { tickCount: 6 } };
  const look = { color: { field: "colour", type: "nominal", scale: null } };
  const marks = { ...look, shape: { field: "shape", type: "nominal", scale: null }, tooltip: { field: "tip", type: "nominal" } };
  const levels = [["expected", [6, 3]], ["critical", [1, 3]]].flatMap(([level, dash]) =>
    axis[level] === null ? [] : [{ data: { values: [{ x: axis[level] }] }, mark: { type: "rule", color: "var(--soft)", strokeDash: dash, strokeWidth: 1.5 }, encoding: { x } }],
  );
  const dots = (filter, mark) => ({ transform: [{ filter }], mark: { type: "point", opacity: 1, strokeWidth: 1.8, ...mark }, encoding: { x, y, ...marks } });
  return {
    height: Math.max(300, Math.min(460, width * 0.6)),
    data: { values: rows },
    layer: [
      ...levels,
      { data: { values: paths(rows) }, mark: { type: "line", strokeWidth: 1.6, opacity: 0.55 }, encoding: { x, y, ...look, detail: { field: "path", type: "nominal" }, order: { field: "order", type: "quantitative" } } },
      { mark: { type: "rule", opacity: 0.35 }, encoding: { ...look, y, x: { ...x, field: "left" }, x2: { field: "right" } } },
      { mark: { type: "rule", opacity: 0.35 }, encoding: { ...look, x, y: { ...y, field: "low" }, y2: { field: "high" } } },
      dots("!datum.on && !datum.start", { filled: false, size: 85, fill: "var(--paper)" }),
      dots("datum.on && !datum.start", { filled: true, size: 95 }),
      dots("datum.start", { filled: true, size: 240 }),
      { transform: [{ filter: "datum.start" }], mark: { type: "text", align: "right", dx: -14, dy: -12, fontWeight: 600, limit: width / 2 }, encoding: { x, y, text: { field: "label", type: "nominal" } } },
    ],
  };
}

/** The choice of the measures, and what colours and shapes stand for. */
export function tradeoffControls(place, data, state, choose) {
  const { errors, axes, modes, aligns } = data.tradeoff;
  const choices = element("div", "choices");
  choices.append(select("Dependence", axes.map(({ label }) => label), state.axis, (axis) => choose({ axis })));
  if (errors.length > 1) {
    choices.append(select("Error", errors.map(({ label }) => label), state.error, (error) => choose({ error })));
  }
  const key = element("p", "key");
  modes.forEach((name, at) => key.append(entry(name, colour(at), name === "plain" ? "diamond" : "circle")));
  if (aligns.length > 1) {
    aligns.forEach((name, at) => key.append(entry(name, "var(--soft)", shape(at))));
  }
  place.append(choices, key);
  place.hidden = false;
}

/** Shows the table of the chosen measure and hides the others. */
export function showAxis({ axis }) {
  for (const panel of document.querySelectorAll("[data-axis]")) {
    panel.hidden = Number(panel.dataset.axis) !== axis;
  }
}

const PATHS = {
  circle: "M6 2 a4 4 0 1 0 0.001 0 Z",
  square: "M2 2 H10 V10 H2 Z",
  "triangle-up": "M6 1 L11 10 L1 10 Z",
  cross: "M4 1 H8 V4 H11 V8 H8 V11 H4 V8 H1 V4 H4 Z",
  diamond: "M6 0 L12 6 L6 12 L0 6 Z",
};

function entry(name, fill, mark) {
  const box = element("span");
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [attribute, value] of Object.entries({ width: 12, height: 12, viewBox: "0 0 12 12", "aria-hidden": "true" })) {
    svg.setAttribute(attribute, value);
  }
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", PATHS[mark]);
  path.setAttribute("fill", fill);
  svg.append(path);
  box.append(svg, name);
  return box;
}
