import { number } from "./cells.js";

/** Error against dependence of the models that were tried, the chosen one marked. */
export function frontier(data) {
  if (data.frontier.length === 0) {
    return [];
  }
  const rows = data.frontier.map((point) => ({
    ...point,
    text: `${point.label}: chosen`,
    tip: `${point.label}${point.chosen ? " (chosen)" : ""}\nerror ${number(point.error)}, dependence ${number(point.dependence)}`,
  }));
  const chosen = rows.filter((row) => row.chosen).map((row) => ` Chosen: ${row.tip.replace("\n", ", ")}.`);
  const description = `Error against dependence of ${rows.length} models.${chosen.join("")}`;
  return [{ title: "", caption: "lower is more accurate, further left depends less", description, spec: (width) => spec(rows, width) }];
}

function spec(rows, width) {
  const x = { field: "dependence", type: "quantitative", title: "dependence", scale: { zero: true }, axis: { tickCount: Math.max(3, width / 110) } };
  const y = { field: "error", type: "quantitative", title: "error", scale: { zero: false, nice: true }, axis: { tickCount: 5 } };
  const tooltip = { field: "tip", type: "nominal" };
  return {
    height: 300,
    data: { values: rows },
    encoding: { x, y },
    layer: [
      { mark: { type: "line", color: "var(--line)", strokeWidth: 1.5 } },
      { transform: [{ filter: "!datum.chosen" }], mark: { type: "point", filled: true, opacity: 1, size: 60, color: "var(--soft)" }, encoding: { tooltip } },
      { transform: [{ filter: "datum.chosen" }], mark: { type: "point", filled: true, shape: "diamond", opacity: 1, size: 220, color: "var(--accent)" }, encoding: { tooltip } },
      { transform: [{ filter: "datum.chosen" }], mark: { type: "text", align: "left", dx: 12, dy: -10, fontWeight: 600, limit: width / 2 }, encoding: { text: { field: "text", type: "nominal" } } },
    ],
  };
}
