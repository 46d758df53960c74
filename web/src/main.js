// The page's charts: what can be chosen, and what is drawn for it. Without this script the page has its tables.

import { controls } from "./controls.js";
import { draw } from "./draw.js";
import { distributions } from "./distributions.js";
import { features } from "./features.js";
import { frontier } from "./frontier.js";
import { errors, means, rates } from "./means.js";
import { showPanels } from "./panels.js";
import { reliability } from "./reliability.js";
import { showAxis, tradeoff, tradeoffControls } from "./tradeoff.js";

const charts = { distributions, means, rates, errors, reliability, features, frontier, tradeoff };
const data = JSON.parse(document.getElementById("audit").textContent);

/** What is chosen; cells by their number, none of them means all. Axis and error are those of a frontier. */
const state = { subject: data.subject, columns: data.columns, cells: new Set(), axis: 0, error: 0 };

const figures = [...document.querySelectorAll("figure[data-chart]")];

function drawAll() {
  for (const figure of figures) {
    drawOne(figure);
  }
}

/** Draws the plots of a figure, or shows its table instead if there is nothing to draw. */
function drawOne(figure) {
  const plots = charts[figure.dataset.chart](data, state);
  const place = figure.querySelector(".plots");
  place.hidden = plots.length === 0;
  figure.querySelector("figcaption").textContent = plots[0]?.caption ?? "";
  draw(place, plots, (cell) => choose({ cells: toggled(cell) }));
}

function toggled(cell) {
  const cells = new Set(state.cells);
  if (!cells.delete(cell)) {
    cells.add(cell);
  }
  return cells;
}

function choose(change) {
  Object.assign(state, change);
  if ("columns" in change) {
    state.cells = new Set();
  }
  showPanels(state);
  showAxis(state);
  bar?.show();
  drawAll();
}

const axes = document.querySelector(".controls.axes");
if (axes) {
  tradeoffControls(axes, data, state, choose);
}
const place = document.querySelector(".controls:not(.axes)");
const bar = place && controls(place, data, state, choose, toggled);

for (const figure of figures) {
  figure.querySelector("details").open = false;
}
showPanels(state);
showAxis(state);
drawAll();

let width = document.documentElement.clientWidth;
let waiting;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    if (width !== document.documentElement.clientWidth) {
      width = document.documentElement.clientWidth;
      drawAll();
    }
  }, 150);
});
