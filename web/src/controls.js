import { look } from "./cells.js";
import { element, select } from "./elements.js";

/** The choices of subject, columns and cells above the charts. */
export function controls(place, data, state, choose, toggled) {
  const choices = element("div", "choices");
  if (data.subjects.length > 1) {
    choices.append(select("Subject", data.subjects, state.subject, (subject) => choose({ subject })));
  }
  if (data.against.length > 1) {
    const names = data.against.map(({ name }) => name);
    choices.append(select("Against", names, state.columns, (columns) => choose({ columns })));
  }
  const legend = element("div", "legend");
  const heading = element("legend");
  const fieldset = element("fieldset");
  fieldset.append(heading, legend);
  if (choices.children.length > 0) {
    place.append(choices);
  }
  place.append(fieldset);
  place.hidden = false;

  let shown;
  function show() {
    if (shown !== state.columns) {
      shown = state.columns;
      fill();
    }
    for (const button of legend.querySelectorAll("[data-cell]")) {
      button.setAttribute("aria-pressed", String(state.cells.has(Number(button.dataset.cell))));
    }
    legend.lastChild.disabled = state.cells.size === 0;
  }

  function fill() {
    const { cells, left_out: left } = data.against[state.columns];
    const rest = left > 0 ? ` The ${cells.length} largest are shown, ${left} more are in the tables.` : "";
    heading.textContent = `Choose cells to make them stand out in all charts.${rest}`;
    const buttons = cells.map((cell, at) => cellButton(cell, at, () => choose({ cells: toggled(at) })));
    const all = element("button", "all");
    all.type = "button";
    all.textContent = "Clear the choice";
    all.addEventListener("click", () => {
      choose({ cells: new Set() });
      legend.firstChild.focus();
    });
    legend.replaceChildren(...buttons, all);
  }

  show();
  return { show };
}

function cellButton({ label, full, rows, small }, at, press) {
  const button = element("button");
  button.type = "button";
  button.dataset.cell = at;
  button.title = `${full}: ${rows} rows${small ? ", a small cell" : ""}`;
  const text = element("bdi", "text");
  text.textContent = label + (small ? " ▲" : "");
  button.append(swatch(at), text);
  button.addEventListener("click", press);
  return button;
}

/** The line and the shape of a cell. */
function swatch(cell) {
  const { colour, dash, shape } = look(cell);
  const svg = drawing("svg", { width: 28, height: 12, viewBox: "0 0 28 12", "aria-hidden": "true" });
  const line = { x1: 0, x2: 28, y1: 6, y2: 6, stroke: colour, "stroke-width": 2, "stroke-dasharray": dash.join(" ") };
  const marks = {
    circle: ["circle", { cx: 14, cy: 6, r: 4 }],
    square: ["rect", { x: 10, y: 2, width: 8, height: 8 }],
    "triangle-up": ["path", { d: "M14 1 L19 10 L9 10 Z" }],
  };
  const [name, place] = marks[shape];
  svg.append(drawing("line", line), drawing(name, { ...place, fill: colour }));
  return svg;
}

function drawing(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  return made;
}
