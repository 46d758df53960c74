import { number } from "./cells.js";

/** How much each feature depends on the chosen columns, with the level under independence. */
export function features(data, state) {
  const found = data.features[state.columns];
  if (!found || found.length === 0) {
    return [];
  }
  const rows = found.map((feature, at) => ({
    ...feature,
    at,
    tip: `${feature.label}\nHSIC ${number(feature.value)}, ${number(feature.expected)} expected if independent`,
  }));
  const { name } = data.against[state.columns];
  const [first] = found;
  const description = `Kernel dependence of the ${found.length} most dependent features with ${name}. The most dependent is ${first.label}, with ${number(first.value)}.`;
  return [{ title: "", caption: `against ${name}; the line is the interval, the upright tick what chance would exceed in one case of twenty`, description, spec: (width) => spec(rows, width) }];
}

function spec(rows, width) {
  const y = { field: "at", type: "ordinal", title: null, axis: { labelExpr: "names[datum.value]", labelLimit: Math.min(260, width * 0.42) } };
  const x = { field: "value", type: "quantitative", title: "HSIC", axis: { tickCount: Math.max(3, width / 110) } };
  const tooltip = { field: "tip", type: "nominal" };
  return {
    height: 24 * rows.length,
    params: [{ name: "names", value: rows.map(({ label }) => label) }],
    data: { values: rows },
    encoding: { y },
    layer: [
      { mark: { type: "bar", color: "var(--interval)", height: { band: 0.62 } }, encoding: { x, tooltip } },
      { mark: { type: "rule", color: "var(--ink)", strokeWidth: 1.5 }, encoding: { x: { ...x, field: "lower" }, x2: { field: "upper" } } },
      { mark: { type: "tick", color: "var(--was)", thickness: 2.5, height: { band: 0.9 } }, encoding: { x: { ...x, field: "critical" } } },
    ],
  };
}
