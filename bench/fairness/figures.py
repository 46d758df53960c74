"""One figure per table: error against each measure of dependence, our lines and the peers' points."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from report import COLUMNS, VIEWS

MEASURES = ("correlation_ratio", "distance_correlation", "hsic")
OURS = ("black", "#1f77b4", "#2ca02c", "#9467bd", "#17becf", "#bcbd22")
PEERS = {
    "drop S": "#d62728",
    "CorrelationRemover": "#ff7f0e",
    "LEACE": "#e377c2",
    "quantile repair": "#8c564b",
    "DisparateImpactRemover": "#7f7f7f",
    "FERM (sensitive-free)": "#006d5b",
    "LFR": "#393b79",
    "ThresholdOptimizer": "#b8860b",
    "ExponentiatedGradient, bound 0.01": "#5e3c99",
    "ExponentiatedGradient, bound 0.1": "#b2abd2",
}
MARKERS = {"linear": "o", "kernel": "s"}


def draw(folder, table, rows):
    """Write ``<table>.svg`` and ``<table>.png``."""
    views = [view for view in VIEWS if (rows["view"] == view).any()]
    figure, axes = plt.subplots(
        len(views), len(MEASURES), figsize=(13, 4.2 * len(views) + 1.6), squeeze=False, layout="constrained"
    )
    for line, view in zip(axes, views, strict=True):
        seen = rows[rows["view"] == view]
        for axis, measure in zip(line, MEASURES, strict=True):
            _panel(axis, seen, measure)
        line[0].set_ylabel(seen["error_name"].iloc[0])
    figure.suptitle(f"{table.title} (S = {', '.join(table.sensitive.columns)})")
    handles = {}
    for axis in axes.ravel():
        handles.update(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    for kind in ("svg", "png"):
        figure.savefig(folder / f"{table.name}.{kind}", dpi=130)
    plt.close(figure)


def _panel(axis, rows, measure):
    means = rows.groupby(["side", "family", "method"], sort=False)[["error", "error_se", measure]].mean().reset_index()
    peers, ours = means[means["side"] == "peer"], means[means["side"] == "ours"]
    for (family, points), colour in zip(ours.groupby("family", sort=False), OURS, strict=False):
        width = 2.0 if colour == OURS[0] else 1.0
        points = points.sort_values(measure)
        axis.plot(points[measure], points["error"], ".-", color=colour, linewidth=width, label=f"ours: {family}")
    for _, point in peers.iterrows():
        base, _, learner = point["method"].rpartition(" + ")
        # A constant has no dependence and far more error: it would flatten everything else.
        if (base or learner) not in PEERS:
            continue
        axis.errorbar(
            point[measure],
            point["error"],
            yerr=2.0 * point["error_se"],
            fmt=MARKERS.get(learner, "D"),
            color=PEERS[base or learner],
            markersize=6,
            elinewidth=0.8,
            label=point["method"],
            zorder=3,
        )
    level = rows.loc[rows[f"{measure}_level"] > 0, f"{measure}_level"].mean()
    axis.axvline(level, color="grey", linestyle=":", linewidth=1.0, label="level under independence")
    axis.set_xlabel(COLUMNS[measure])
    axis.grid(alpha=0.25)
