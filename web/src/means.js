import { chosen, look, number, opacity, percent, times } from "./cells.js";

/** Below this width a label takes two lines. */
const NARROW = 520;

/** The mean of every cell with its interval, before and after, and the mean of all rows. */
export function means(data, state) {
  const known = ({ mean }) => mean !== null;
  const line = (numbers) => numbers.all.mean;
  const ends = ({ lower, upper }) => [lower, upper];
  const text = ({ mean, lower, upper }) => `mean ${number(mean)} (${number(lower)} to ${number(upper)})`;
  return rows(data, state, { known, line, ends, text, value: "mean", title: "mean", what: "Mean", rule: "the line is the mean of all rows" });
}

/** The share of positive decisions in every cell, and four fifths of the largest. */
export function rates(data, state) {
  const known = ({ rate }) => rate !== null;
  const line = (numbers) => 0.8 * Math.max(...numbers.cells.map(({ rate }) => rate ?? 0));
  const text = ({ rate }) => `${percent(rate)} positive decisions`;
  const what = "Share of positive decisions";
  const rule = "the line is at four fifths of the largest share";
  return rows(data, state, { known, line, text, value: "rate", title: "share of positive decisions", what, rule, format: ".0%" });
}

/** The error of every cell with its interval, and the error of all rows. */
export function errors(data, state) {
  const known = ({ error }) => error !== null;
  const line = (numbers) => numbers.all.error;
  const ends = ({ error_lower, error_upper }) => [error_lower, error_upper];
  const text = ({ error, error_lower, error_upper }) => `error ${number(error)} (${number(error_lower)} to ${number(error_upper)})`;
  return rows(data, state, { known, line, ends, text, value: "error", title: "error", what: "Error", rule: "the line is the error of all rows" });
}

/** One line per cell: a hollow mark for before, a filled one for after. */
function rows(data, state, chart) {
  const view = chosen(data, state);
  if (!view || !view.now.cells.some(chart.known)) {
    return [];
  }
  const { cells, name } = data.against[state.columns];
  const marks = times(view).flatMap(([when, numbers]) =>
    numbers.cells.flatMap((cell, at) => (chart.known(cell) ? [mark(chart, when, cell, at, cells, state)] : [])),
  );
  const rules = times(view).map(([when, numbers]) => ({ value: chart.line(numbers), now: when !== "Before" }));
  return [
    {
      title: "",
      caption: `${data.subjects[state.subject]} against ${name}; ${chart.rule}${view.before ? "; before is hollow and its line dotted, after is filled" : ""}`,
      description: describe(chart, marks, data.subjects[state.subject], name),
      spec: (width) => spec(chart, marks, rules, cells, width),
    },
  ];
}

function mark(chart, when, numbers, cell, cells, state) {
  const { colour, shape } = look(cell);
  const [lower, upper] = chart.ends?.(numbers) ?? [null, null];
  return {
    cell,
    label: cells[cell].label,
    now: when !== "Before",
    when: when === "Before" ? 0 : 1,
    value: numbers[chart.value],
    lower,
    upper,
    colour,
    shape,
    alpha: opacity(state, cell),
    tip: `${cells[cell].label}\n${when ? `${when}: ` : ""}${chart.text(numbers)}`,
  };
}

function describe({ what }, marks, subject, against) {
  const range = (list) => {
    const values = list.map(({ value }) => value);
    return `${number(Math.min(...values))} to ${number(Math.max(...values))}`;
  };
  const before = marks.filter(({ now }) => !now);
  const was = before.length > 0 ? `, from ${range(before)} before` : "";
  return `${what} of ${subject} in the cells of ${against}: from ${range(marks.filter(({ now }) => now))}${was}.`;
}

/** A label in two lines where there is no room for one. */
function lines(label, width) {
  const comma = label.indexOf(", ");
  return width < NARROW && comma > 0 ? [label.slice(0, comma + 1), label.slice(comma + 2)] : label;
}

function spec(chart, marks, rules, cells, width) {
  const two = marks.some(({ now }) => !now);
  const names = cells.map(({ label, small }) => lines(label + (small ? " ▲" : ""), width));
  const x = { field: "value", type: "quantitative", title: chart.title, scale: { zero: false, nice: true }, axis: { tickCount: Math.max(3, width / 110), ...(chart.format && { format: chart.format }) } };
  // Labels are looked up by number: two cells may have the same name.
  const y = { field: "cell", type: "ordinal", title: null, scale: { domain: cells.map((_, at) => at) }, axis: { labelExpr: "names[datum.value]", labelLimit: Math.min(260, width * 0.42), grid: true } };
  const yOffset = two ? { yOffset: { field: "when", type: "ordinal", scale: { domain: [0, 1] } } } : {};
  const encoding = {
    y,
    ...yOffset,
    color: { field: "colour", type: "nominal", scale: null },
    opacity: { field: "alpha", type: "quantitative", scale: null },
  };
  const tooltip = { field: "tip", type: "nominal" };
  const shape = { field: "shape", type: "nominal", scale: null };
  const dot = (filter, filled) => ({
    transform: [{ filter }],
    mark: { type: "point", filled, size: 85, opacity: 1, strokeWidth: 1.8, cursor: "pointer", ...(filled ? {} : { fill: "var(--paper)" }) },
    encoding: { ...encoding, x, shape, tooltip },
  });
  const intervals = {
    mark: { type: "rule", strokeWidth: 2 },
    encoding: { ...encoding, x: { ...x, field: "lower" }, x2: { field: "upper" } },
  };
  const line = (now, dash) => ({
    data: { values: rules.filter((rule) => rule.now === now) },
    mark: { type: "rule", color: "var(--ink)", strokeDash: dash, opacity: 0.6 },
    encoding: { x },
  });
  const hasIntervals = marks.some(({ lower }) => lower !== null);
  return {
    height: cells.length * (width < NARROW ? 40 : two ? 32 : 26),
    params: [{ name: "names", value: names }],
    data: { values: marks },
    layer: [
      ...(two ? [line(false, [2, 3])] : []),
      line(true, [1, 0]),
      ...(hasIntervals ? [intervals] : []),
      ...(two ? [dot("!datum.now", false)] : []),
      dot("datum.now", true),
    ],
  };
}
