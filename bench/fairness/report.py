"""``table.md``: mean and standard error of every method, the level under independence, and the verdicts."""

import numpy as np
from verdict import verdict

COLUMNS = {
    "correlation_ratio": "correlation ratio",
    "distance_correlation": "distance correlation",
    "hsic": "HSIC",
    "parity_difference": "parity difference",
    "adversary": "adversary",
}
VIEWS = {"score": "Scores", "decision": "Decisions"}


def write(path, tables, results):
    """Write the sections of all tables that have results."""
    sections = [INTRODUCTION]
    for table in tables:
        rows = results[results["table"] == table.name]
        for view in VIEWS:
            if len(seen := rows[rows["view"] == view]):
                sections.append(_section(table, view, seen))
    path.write_text("\n".join(sections) + "\n")


INTRODUCTION = """# Error against dependence on held-out rows

Mean ± standard error over splits; the same splits for every method. Under *independent* stands what a score that is
independent of S has on as many rows (the mean over shuffles of S). Sensitive features are cut into cells by levels
and quartiles, and all their combinations; methods that work in just these cells (quantile repair,
`DisparateImpactRemover`, ours *by cells*) gain from that in the correlation ratio, and in nothing else. Scores become
decisions by saying yes to the same share of rows for every method; `ExponentiatedGradient` and `ThresholdOptimizer`
decide for themselves. *Dominated* says whether one of our settings has no more correlation ratio, no more HSIC or
distance correlation, and less error by more than two standard errors of the paired difference; the difference and the
setting follow. The setting is the best of all of ours on these same held-out rows (their number is given), so a
difference near two standard errors may be luck; with few splits a standard error is itself rough.
"""


def _section(table, view, rows):
    sensitive = ", ".join(table.sensitive.columns)
    splits = rows["split"].nunique()
    error = rows["error_name"].iloc[0]
    peers, ours = rows[rows["side"] == "peer"], rows[rows["side"] == "ours"]
    lines = [
        f"## {table.title}: {VIEWS[view].lower()}",
        "",
        f"S = {sensitive}. {table.note}; {splits} splits; {ours['method'].nunique()} settings of ours.",
        "",
        "| method | " + " | ".join([error, *COLUMNS.values()]) + " | dominated |",
        "|---" * (len(COLUMNS) + 3) + "|",
    ]
    for method, seen in peers.groupby("method", sort=False):
        answer = str(verdict(seen, ours)) if len(ours) else "not run"
        lines.append(_line(method, seen, answer))
    for method, seen in ours.groupby("method", sort=False):
        lines.append(_line(f"**{method}**", seen, ""))
    # A constant has no level of its own.
    varied = rows[rows["correlation_ratio_level"] > 0]
    levels = [f"{varied[f'{column}_level'].mean():.4f}" for column in COLUMNS]
    lines.append("| *independent* | | " + " | ".join(levels) + " | |")
    return "\n".join([*lines, ""])


def _line(name, rows, answer):
    values = [_mean(rows[column]) for column in ["error", *COLUMNS]]
    return f"| {name} | " + " | ".join(values) + f" | {answer} |"


def _mean(values):
    if len(values) < 2:
        return f"{values.mean():.4f}"
    return f"{values.mean():.4f} ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}"
