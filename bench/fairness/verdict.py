"""Whether a point of ours dominates a peer's: no more dependence, and less error beyond two standard errors."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Verdict:
    """What the best of our settings is against one peer; ``difference`` is ours minus theirs, paired over splits."""

    dominated: bool
    setting: str | None
    difference: float = np.nan
    standard_error: float = np.nan

    def __str__(self):
        if self.setting is None:
            return "no: none of ours has so little dependence"
        size = f"{self.difference:+.4f} ± {self.standard_error:.4f} ({self.setting})"
        return f"yes: {size}" if self.dominated else f"no: {size}"


def verdict(peer, ours):
    """The verdict on one peer, from its rows and ours of the same table and view (one row per split and method).

    A setting is a candidate if its mean correlation ratio is no more than the peer's, and its mean HSIC or its mean
    distance correlation too. Of candidates the one with the clearest gain counts, measured in standard errors if it
    dominates and in error if not.
    """
    peer = peer.set_index("split")
    best = Verdict(False, None)
    for setting, rows in ours.groupby("method"):
        rows = rows.set_index("split").reindex(peer.index)
        if rows["error"].isna().any() or not _no_more_dependent(rows, peer):
            continue
        differences = rows["error"] - peer["error"]
        mean = differences.mean()
        error = differences.std(ddof=1) / np.sqrt(len(differences)) if len(differences) > 1 else np.inf
        found = Verdict(bool(mean < -2.0 * error), setting, float(mean), float(error))
        if best.setting is None or (found.dominated, -found.difference) > (best.dominated, -best.difference):
            best = found
    return best


def _no_more_dependent(ours, peer):
    def no_more(measure):
        return ours[measure].mean() <= peer[measure].mean()

    return no_more("correlation_ratio") and (no_more("hsic") or no_more("distance_correlation"))
