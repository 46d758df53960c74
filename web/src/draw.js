import { parse, View, Warn } from "vega";
import { expressionInterpreter } from "vega-interpreter";
import { compile } from "vega-lite";
import { showTip, hideTip } from "./tip.js";

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', Arial, sans-serif";

/** Colours are the page's own, so that charts follow it into the dark and onto paper. */
const CONFIG = {
  background: null,
  font: FONT,
  view: { stroke: null },
  axis: {
    labelColor: "var(--soft)",
    titleColor: "var(--soft)",
    titleFontWeight: "normal",
    labelFontSize: 12,
    titleFontSize: 12,
    gridColor: "var(--grid)",
    domainColor: "var(--line)",
    tickColor: "var(--line)",
    titlePadding: 8,
  },
  axisY: { domain: false, ticks: false, labelPadding: 8 },
  text: { color: "var(--ink)", fontSize: 12 },
};

/**
 * Draws plots into a place, in the elements that are already there.
 *
 * A plot is a title, a description for those who do not see it, and a function from its width to a specification.
 */
export function draw(place, plots, press) {
  while (place.children.length > plots.length) {
    place.lastChild.remove();
  }
  while (place.children.length < plots.length) {
    place.append(empty());
  }
  plots.forEach((plot, at) => drawOne(place.children[at], plot, press));
}

function empty() {
  const box = document.createElement("div");
  box.className = "plot";
  box.append(document.createElement("h3"), document.createElement("div"));
  return box;
}

function drawOne(box, { title, description, spec }, press) {
  const [heading, canvas] = box.children;
  heading.textContent = title;
  heading.hidden = !title;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", description);
  box.view?.finalize();
  const lite = {
    $schema: "https://vega.github.io/schema/vega-lite/v6.json",
    config: CONFIG,
    autosize: { type: "fit-x", contains: "padding" },
    width: box.clientWidth,
    description,
    ...spec(box.clientWidth),
  };
  const runtime = parse(compile(lite).spec, null, { ast: true });
  box.view = new View(runtime, { renderer: "svg", logLevel: Warn, expr: expressionInterpreter, hover: false });
  box.view.tooltip((handler, event, item, text) => (text ? showTip(event, String(text)) : hideTip()));
  box.view.addEventListener("click", (event, item) => {
    if (item?.datum?.cell !== undefined) {
      press(item.datum.cell);
    }
  });
  box.view.initialize(canvas);
  const view = box.view;
  canvas.setAttribute("aria-busy", "true");
  view.runAsync().finally(() => {
    // A later view draws into the same place.
    if (box.view === view) {
      canvas.removeAttribute("aria-busy");
    }
  });
}
