"""One figure per table: error against each measure of dependence, our lines and the peers' points."""

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from report import COLUMNS, VIEWS

MEASURES = ("correlation_ratio", "distance_correlation", "hsic")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#8c6d1f", "#7f3c8d", "#444444")
MARKERS = {"linear": "o", "kernel": "s", "": "D"}
LINE_FAMILIES = 6


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
    for position, (family, points) in enumerate(ours.groupby("family", sort=False)):
        points = points.sort_values(measure)
        style = {"color": "black", "linewidth": 2.0} if position == 0 else {"linewidth": 1.0, "alpha": 0.7}
        if position < LINE_FAMILIES:
            axis.plot(points[measure], points["error"], marker=".", label=f"ours: {family}", zorder=2, **style)
    bases = list(dict.fromkeys(name.rsplit(" + ", 1)[0] for name in peers["method"]))
    for _, point in peers.iterrows():
        base, _, learner = point["method"].rpartition(" + ")
        base = base or learner
        marker = MARKERS.get(learner if base != learner else "", "D")
        axis.errorbar(
            point[measure],
            point["error"],
            yerr=2.0 * point["error_se"],
            fmt=marker,
            color=COLOURS[bases.index(base) % len(COLOURS)],
            markersize=6,
            elinewidth=0.8,
            label=point["method"],
            zorder=3,
        )
    level = rows.loc[rows[f"{measure}_level"] > 0, f"{measure}_level"].mean()
    axis.axvline(level, color="grey", linestyle=":", linewidth=1.0, label="level under independence")
    axis.set_xlabel(COLUMNS[measure])
    axis.grid(alpha=0.25)
