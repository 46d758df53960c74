"""Error and dependence on held-out rows, each dependence beside its level under independence.

Written here, in a few lines of numpy, so that the judge is neither the package under test nor a peer; the test of this
file is that ``dcor`` agrees (``check`` below, run at the start of every benchmark).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

PAIR_ROWS = 2000
SHUFFLES = 20
PARITY_ROWS = 30


@dataclass(frozen=True)
class Sensitive:
    """The sensitive side of the held-out rows, prepared once for all methods.

    ``cells``: quartiles (of the training rows) of a continuous column, levels of a categorical one, and their products.
    ``numbers``: standardised and 0/1 columns. Measures over pairs of rows use the first ``PAIR_ROWS``.
    """

    cells: np.ndarray
    numbers: np.ndarray

    @cached_property
    def distances(self):
        return _centred(_distances(self.numbers[:PAIR_ROWS]))

    @cached_property
    def gaussian(self):
        return _centred(_gaussian(self.numbers[:PAIR_ROWS]))


def cells_of(reference, frame, least=0):
    """The cell of every row as an integer; cells with fewer than ``least`` reference rows become one."""
    codes, reference_codes = [], []
    for column in reference:
        if pd.api.types.is_numeric_dtype(reference[column]):
            edges = np.unique(np.quantile(reference[column], [0.25, 0.5, 0.75]))
            codes.append(np.searchsorted(edges, frame[column]))
            reference_codes.append(np.searchsorted(edges, reference[column]))
        else:
            levels = sorted(reference[column].unique())
            codes.append(pd.Categorical(frame[column], levels).codes + 1)
            reference_codes.append(pd.Categorical(reference[column], levels).codes + 1)
    names = pd.Series(["/".join(map(str, row)) for row in zip(*codes, strict=True)])
    sizes = pd.Series(["/".join(map(str, row)) for row in zip(*reference_codes, strict=True)]).value_counts()
    kept = [name for name in sorted(sizes.index) if sizes[name] >= max(least, 1)]
    return pd.Categorical(names, kept).codes.astype(int) + 1


def dependence(score, decision, sensitive, rng):
    """Every measure of dependence of ``score`` on S, and under ``<name>_level`` what independence would give.

    Demographic parity is a matter of the ``decision``: the probability of a yes, row by row.
    """
    values = {}
    for name, measure in MEASURES.items():
        subject = decision if measure is parity_difference else score
        values[name], values[f"{name}_level"] = measure(subject, sensitive, rng)
    return values


def root_mean_square(score, target):
    return float(np.sqrt(np.mean((score - target) ** 2)))


def one_minus_auc(score, target):
    return float(1.0 - roc_auc_score(target, score))


def balanced_error(decision, target):
    """The mean of both classes' error rates, where a decision is the probability of saying yes."""
    return float((np.mean(1.0 - decision[target == 1]) + np.mean(decision[target == 0])) / 2.0)


def decide(score, share):
    """Yes for the ``share`` of rows with the highest score; ties share what is left."""
    limit = np.quantile(score, 1.0 - share)
    above, tied = score > limit, score == limit
    rest = (share * len(score) - above.sum()) / max(tied.sum(), 1)
    return above + np.clip(rest, 0.0, 1.0) * tied


def correlation_ratio(score, sensitive, rng):
    """The share of the score's variance between cells; (cells - 1) / (rows - 1) under shuffling, exactly."""
    cells, rows = sensitive.cells, len(score)
    total = np.sum((score - score.mean()) ** 2)
    if total <= 1e-20 * rows:
        return 0.0, 0.0
    sizes = np.bincount(cells)
    means = np.bincount(cells, score) / np.maximum(sizes, 1)
    between = np.sum(sizes * (means - score.mean()) ** 2)
    return float(between / total), float((np.count_nonzero(sizes) - 1) / (rows - 1))


def distance_correlation(score, sensitive, rng):
    if np.ptp(score[:PAIR_ROWS]) == 0:
        return 0.0, 0.0
    value, level = _alignment(_centred(_distances(score[:PAIR_ROWS, None])), sensitive.distances)
    return float(np.sqrt(max(value, 0.0))), float(np.sqrt(level))


def hsic(score, sensitive, rng):
    """HSIC of Gaussian kernels with the median distance, normalised to [0, 1]."""
    if np.ptp(score[:PAIR_ROWS]) == 0:
        return 0.0, 0.0
    return _alignment(_centred(_gaussian(score[:PAIR_ROWS, None])), sensitive.gaussian)


def parity_difference(decision, sensitive, rng):
    """The largest difference of shares of decisions between cells of at least ``PARITY_ROWS`` rows."""

    def difference(cells):
        sizes = np.bincount(cells)
        shares = (np.bincount(cells, decision) / np.maximum(sizes, 1))[sizes >= PARITY_ROWS]
        return float(np.ptp(shares))

    return difference(sensitive.cells), _mean_shuffled(difference, sensitive.cells, rng)


def adversary(score, sensitive, rng):
    """The share of the variance of S that a tree predicts from the score, cross-validated in five folds."""
    numbers = sensitive.numbers[:PAIR_ROWS]
    score = score[:PAIR_ROWS, None]

    def explained(numbers):
        missed = 0.0
        for train, test in KFold(5).split(score):
            tree = DecisionTreeRegressor(min_samples_leaf=max(len(train) // 12, 5)).fit(score[train], numbers[train])
            missed += np.sum((tree.predict(score[test]).reshape(len(test), -1) - numbers[test]) ** 2)
        return float(1.0 - missed / np.sum((numbers - numbers.mean(axis=0)) ** 2))

    return explained(numbers), float(np.mean([explained(rng.permutation(numbers)) for _ in range(5)]))


MEASURES = {
    "correlation_ratio": correlation_ratio,
    "distance_correlation": distance_correlation,
    "hsic": hsic,
    "parity_difference": parity_difference,
    "adversary": adversary,
}


def check():
    """Our distance correlation is dcor's."""
    import dcor

    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(300, 2))
    score = numbers[:, 0] ** 2 + rng.normal(size=300)
    ours, _ = distance_correlation(score, Sensitive(np.zeros(300, int), numbers), rng)
    assert abs(ours - dcor.distance_correlation(score, numbers)) < 1e-5, ours


def _mean_shuffled(measure, values, rng):
    return float(np.mean([measure(rng.permutation(values)) for _ in range(SHUFFLES)]))


def _distances(rows):
    rows = rows.astype(np.float32)
    square = np.sum(rows**2, axis=1)
    if rows.shape[1] == 1:
        return np.abs(rows - rows.T)
    return np.sqrt(np.maximum(square[:, None] + square - 2.0 * rows @ rows.T, 0.0))


def _gaussian(rows):
    square = _distances(rows) ** 2
    sample = square[:500, :500]
    positive = sample[sample > 0]
    width = np.median(positive) if len(positive) else 1.0
    return np.exp(-square / width)


def _centred(matrix):
    means = matrix.mean(axis=0)
    return matrix - means - means[:, None] + means.mean()


def _alignment(a, b):
    """<a, b> / |a| |b| of centred matrices, and its mean over all shuffles of the rows of b, in closed form.

    Shuffling keeps traces and sums: E sum a_ij b_p(i)p(j) = tr a tr b / (n - 1).
    """
    norm = np.linalg.norm(a) * np.linalg.norm(b)
    expected = abs(np.trace(a) * np.trace(b)) / (len(a) - 1)
    return float(np.sum(a * b) / norm), float(expected / norm)
