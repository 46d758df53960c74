// Every cell has a colour and a line or shape: neighbours differ in both, and no two of 24 are alike.

const COLOURS = 8;
const DASHES = [[1, 0], [6, 3], [2, 2]];
const SHAPES = ["circle", "square", "triangle-up"];

/** How a cell is drawn. */
export function look(cell) {
  const kind = cell % DASHES.length;
  return { colour: `var(--c${cell % COLOURS})`, dash: DASHES[kind], shape: SHAPES[kind] };
}

/** Whether a cell stands out: it is chosen, or none is. */
export function stands(state, cell) {
  return state.cells.size === 0 || state.cells.has(cell);
}

/** How visible a cell is. */
export function opacity(state, cell) {
  return stands(state, cell) ? 1 : 0.18;
}

/** The view that is chosen, if there is one. */
export function chosen(data, state) {
  return data.views.find((view) => view.subject === state.subject && view.against === state.columns);
}

/** The times of a view: their titles and numbers. */
export function times(view) {
  return view.before ? [["Before", view.before], ["After", view.now]] : [["", view.now]];
}

/** A number in a tooltip. */
export function number(value) {
  return value === null ? "–" : String(Number(value.toPrecision(3)));
}

/** A share in a tooltip. */
export function percent(value) {
  return `${number(100 * value)} %`;
}
