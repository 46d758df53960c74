"""Measures of dependence on sensitive features, one by one.

Each takes scores, labels or features and the sensitive features, and returns a :class:`Measure`: a number that also
knows its level under independence, its interval and its p-value. :func:`oblivio.audit` takes them all at once.

All of them take these options:

sample_weight : array-like, optional
    How much each row counts.
cells, binning, sensitive_bounds, categorical_sensitive
    How the sensitive features are cut into cells: 4 of equal mass for a continuous one by default.
control_features : array-like, Series or frame, optional
    Legitimate factors: cells are compared within their levels, and the results are averaged. Not for :func:`hsic`,
    :func:`adversary` and :func:`distance_correlation`.
n_permutations, n_resamples : int, default=199
    Shuffles for the level under independence, and samples for the interval.
confidence : float, default=0.95
    Of intervals and certificates.
random_state : int, RandomState or None, default=None
    The seed; None is 0.
"""

from __future__ import annotations

from typing import Any

from oblivio._audit import measured, spelled
from oblivio._base import count, number, seed_of
from oblivio._oblivio import InvalidInputError

__all__ = [
    "Measure",
    "adversary",
    "beta_dependence",
    "calibration",
    "correlation_ratio",
    "demographic_parity",
    "distance_correlation",
    "hsic",
    "score_distance",
    "separation",
]


class Measure(float):
    """A measured value: a float, with what it takes to read it.

    Attributes
    ----------
    name : str
        What was measured.
    expected : float
        Its mean if nothing depended on S.
    critical : float
        What it would exceed in one case of twenty if nothing depended on S.
    p_value : float
        The share of cases at least as extreme if nothing depended on S.
    interval : tuple of float
        Of the bootstrap.
    rows : int
        The rows it was measured on.
    detectable, large : bool
        Whether chance would hardly give such a value, and whether it is far from its level under independence.
    further : dict
        Other forms of the same measure, by name.
    detail : str or None
        What else is to say, such as the two cells that differ most.
    """

    name: str
    expected: float
    critical: float
    p_value: float
    interval: tuple[float, float]
    rows: int
    detectable: bool
    large: bool
    further: dict[str, float]
    detail: str | None

    def __new__(cls, finding: dict[str, Any], value: float | None = None) -> Measure:
        """The measure of a finding; ``value`` stands for another form of it."""
        self = super().__new__(cls, finding["value"] if value is None else value)
        self.name, self.detail = finding["measure"], finding["detail"]
        self.expected, self.critical, self.p_value = finding["expected"], finding["critical"], finding["p-value"]
        self.interval = (finding["lower"], finding["upper"])
        self.rows, self.detectable, self.large = finding["rows"], finding["detectable"], finding["large"]
        self.further = {name.replace("-", "_"): number for name, number in finding["further"].items()}
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:
        finding = {
            "value": float(self),
            "measure": self.name,
            "detail": self.detail,
            "expected": self.expected,
            "critical": self.critical,
            "p-value": self.p_value,
            "lower": self.interval[0],
            "upper": self.interval[1],
            "rows": self.rows,
            "detectable": self.detectable,
            "large": self.large,
            "further": self.further,
        }
        return (finding,)

    def describe(self) -> str:
        """The value in a sentence."""
        low, high = self.interval
        return (
            f"{self.name} {float(self):.4g} (expected if independent {self.expected:.4g}, interval {low:.4g} to "
            f"{high:.4g}, p = {self.p_value:.3g}, {self.rows} rows)"
        )


def calibration(scores: Any, sensitive: Any, y: Any, *, standardize: bool = False, **options: Any) -> Measure:
    """The mean distance between the outcomes of like scores in a cell and in all rows.

    0 if a score means the same in every cell of the sensitive features, which is sufficiency in the mean; for
    decisions, predictive parity. Scores are alike in ten bins of equal mass, and a line within each bin takes off
    differences between scores of one bin. :func:`oblivio.audit` has the curve of each cell.

    Parameters
    ----------
    scores : array-like
        Scores or decisions.
    sensitive : array-like, Series or frame
        The sensitive features.
    y : array-like
        True labels of two kinds, or the target of a regression.
    standardize : bool, default=False
        Whether the distance is given in standard deviations of ``y``, as an audit has it, or in the unit of ``y``: for
        labels, as a share of the rows.
    **options
        Options of every measure, at the top of this module.

    Notes
    -----
    For the level of calibrated scores, S is shuffled among rows with like scores. ``detail`` names the cell whose
    outcomes differ most from the outcomes of like scores.

    Examples
    --------
    >>> from oblivio import metrics
    >>> round(float(metrics.calibration([0, 0, 1, 1] * 10, ["a", "b"] * 20, [0, 0, 0, 1] * 10)), 3)
    0.25
    """
    found = _measured(scores, sensitive, y, "calibration", options)
    if not standardize:
        for name in ("expected", "critical", "lower", "upper"):
            found[name] *= found["further"]["standard-deviation"]
        found["value"] = found["further"]["in-units-of-the-target"]
    return Measure(found)


def correlation_ratio(scores: Any, sensitive: Any, **options: Any) -> Measure:
    """The share of the scores' variance that the cells of the sensitive features explain.

    It sees differences between the cells' means and nothing else: equal means can hide a different spread.
    ``further["debiased"]`` is the share without what chance adds to it; it is 0 on average under independence.

    Examples
    --------
    >>> from oblivio import metrics
    >>> float(metrics.correlation_ratio([1.0, 1.0, 3.0, 3.0], ["a", "a", "b", "b"]))
    1.0
    """
    return Measure(_measured(scores, sensitive, None, "correlation-ratio", options))


def beta_dependence(scores: Any, sensitive: Any, *, half: bool = True, bins: int = 4, **options: Any) -> Measure:
    """β = ½ Σ|p_ij − p_i p_j| over the cells of the sensitive features and the labels, or the bins of the scores.

    Parameters
    ----------
    scores : array-like
        Scores or labels.
    sensitive : array-like, Series or frame
        The sensitive features.
    half : bool, default=True
        The factor ½ of the definition. Without it values go up to 2, as in the code of the paper's authors.
    bins : int, default=4
        Bins of equal mass for scores; labels, and whole numbers of at most 20 kinds, are taken as they are.
    **options
        Those of every measure, at the top of this module.

    Notes
    -----
    ``further["bound"]`` is the finite-sample certificate (with the ½): with the given confidence β is at most that, for
    these cells and bins and rows drawn independently.

    Examples
    --------
    >>> from oblivio import metrics
    >>> float(metrics.beta_dependence([0, 0, 1, 1], [0, 0, 1, 1]))
    0.5
    """
    found = _measured(scores, sensitive, None, "beta", options, bins=count("bins", bins))
    if not half:
        for name in ("value", "expected", "critical", "lower", "upper"):
            found[name] *= 2.0
    return Measure(found)


def demographic_parity(
    scores: Any,
    sensitive: Any,
    *,
    y: Any = None,
    threshold: float | None = None,
    pos_label: Any = None,
    kind: str = "difference",
    **options: Any,
) -> Measure:
    """How much the cells' shares of positive decisions differ.

    Parameters
    ----------
    scores : array-like
        Decisions (two labels), or scores with a ``threshold``.
    sensitive : array-like, Series or frame
        The sensitive features.
    y : array-like, optional
        True labels, for the last three kinds. With several classes, decisions are classes, and each class is held
        against all others: ``further`` has each of them, the value is the largest.
    threshold : float, optional
        Scores from here on are positive decisions. Default: 0.5 for scores between 0 and 1, else the median.
    pos_label : optional
        The label that counts as positive. Default: the last of two.
    kind : {"difference", "ratio", "equalized-odds", "true-positive", "false-positive"}, default="difference"
        The largest share less the smallest; the smallest over the largest; the larger of the differences among the
        rows whose true label is positive and among the others; or one of these two.
    **options
        Those of every measure, at the top of this module.

    Examples
    --------
    >>> from oblivio import metrics
    >>> float(metrics.demographic_parity([0, 1, 1, 1], ["a", "a", "b", "b"]))
    0.5
    """
    names = {
        "difference": "parity-difference",
        "ratio": "parity-ratio",
        "equalized-odds": "equalized-odds",
        "true-positive": "true-positive-gap",
        "false-positive": "false-positive-gap",
    }
    measure = _chosen(names, "kind", kind)
    if y is None and not measure.startswith("parity"):
        raise InvalidInputError(f"kind={kind!r} needs the true labels: pass y=")
    found = _measured(
        scores,
        sensitive,
        y,
        measure,
        options,
        threshold=None if threshold is None else number("threshold", threshold),
        positive=None if pos_label is None else spelled(pos_label),
    )
    return Measure(found)


def separation(scores: Any, sensitive: Any, y: Any, **options: Any) -> Measure:
    """The share of the scores' variance that the sensitive features explain beyond the true labels.

    0 if scores depend on the sensitive features through the labels alone, which is separation in the mean: for
    decisions and two groups, equalised odds. Labels and sensitive features may be numbers or categories, and there may
    be several sensitive features of both kinds.

    Parameters
    ----------
    scores : array-like
        Scores, decisions or predicted classes.
    sensitive : array-like, Series or frame
        The sensitive features.
    y : array-like
        The true labels, or the target of a regression.
    **options
        Options of every measure, at the top of this module.

    Notes
    -----
    In five folds, ridge regressions with smooth features predict the scores from the labels, and the residuals from the
    labels and the sensitive features. The value is the share of the variance by which the second prediction reduces the
    squared error on held-out rows, so it is a little below 0 on average where nothing is to be found. At most 20 000
    rows, drawn by seed, are used.

    For the level under separation, residuals are shuffled within labels, or within bins of a numerical target.

    With ``y`` in the place of ``scores`` and scores in the place of ``y`` it is the share of the target's variance
    that the sensitive features explain beyond the scores: 0 for scores that are calibrated in every group.

    Examples
    --------
    >>> import numpy as np
    >>> from oblivio import metrics
    >>> qualified = np.arange(200) % 2
    >>> group = np.arange(200) // 2 % 2
    >>> round(float(metrics.separation(qualified + 1.0, group, qualified)), 3)
    0.0
    >>> bool(metrics.separation(qualified + group, group, qualified) > 0.4)
    True
    """
    return Measure(_measured(scores, sensitive, y, "separation", options))


def score_distance(
    scores: Any, sensitive: Any, *, kind: str = "wasserstein", standardize: bool = False, **options: Any
) -> Measure:
    """The largest distance between the distributions of scores of two cells.

    Parameters
    ----------
    scores : array-like
        Scores.
    sensitive : array-like, Series or frame
        The sensitive features.
    kind : {"wasserstein", "kolmogorov-smirnov"}, default="wasserstein"
        The area between the two distribution functions, or the largest difference between them.
    standardize : bool, default=False
        Whether the Wasserstein distance is given in standard deviations of all scores, as an audit has it, or in the
        scores' own unit.
    **options
        Those of every measure, at the top of this module.

    Examples
    --------
    >>> from oblivio import metrics
    >>> float(metrics.score_distance([0.0, 2.0, 5.0, 7.0], ["a", "a", "b", "b"]))
    5.0
    """
    names = {"wasserstein": "wasserstein", "kolmogorov-smirnov": "kolmogorov-smirnov"}
    found = _measured(scores, sensitive, None, _chosen(names, "kind", kind), options)
    if kind == "wasserstein" and not standardize:
        for name in ("expected", "critical", "lower", "upper"):
            found[name] *= found["further"]["standard-deviation"]
        found["value"] = found["further"]["in-units-of-the-score"]
    return Measure(found)


def hsic(data: Any, sensitive: Any, *, estimator: str = "biased", normalize: bool = True, **options: Any) -> Measure:
    """The Hilbert–Schmidt independence criterion of scores, labels or features and the sensitive features.

    It sees any kind of dependence. Numbers have a Gaussian kernel with the median rule, categories are equal or not.
    Exact up to 5000 rows, low-rank beyond.

    Parameters
    ----------
    data : array-like
        Scores, labels, or several columns of features.
    sensitive : array-like, Series or frame
        The sensitive features.
    estimator : {"biased", "unbiased"}, default="biased"
        The V-statistic, or the U-statistic, whose mean under independence is 0. Level and interval are those of the
        biased normalised one.
    normalize : bool, default=True
        Whether it is divided so that a side with itself gives 1.
    **options
        Those of every measure, at the top of this module.

    Notes
    -----
    ``further`` has all forms and the p-value of the gamma approximation; ``p_value`` is that of the permutations where
    they were made.
    """
    found = _measured(data, sensitive, None, "hsic", options)
    forms = {
        ("biased", True): "value",
        ("biased", False): "biased",
        ("unbiased", True): "normalized-unbiased",
        ("unbiased", False): "unbiased",
    }
    form = _chosen({"biased": "biased", "unbiased": "unbiased"}, "estimator", estimator)
    name = forms[form, bool(normalize)]
    return Measure(found, found["value"] if name == "value" else found["further"][name])


def adversary(data: Any, sensitive: Any, *, kind: str = "kernel", **options: Any) -> Measure:
    """How well the sensitive feature can be predicted from scores or features, on rows held out in five folds.

    The area under the curve (0.5 is chance) for a categorical feature, R² (0 is chance) for a continuous one; several
    sensitive features are predicted as the cell they make together.

    Parameters
    ----------
    data : array-like
        Scores, labels, or several columns of features.
    sensitive : array-like, Series or frame
        The sensitive features.
    kind : {"kernel", "linear"}, default="kernel"
        What the adversary can see.
    **options
        Those of every measure, at the top of this module.
    """
    names = {"kernel": "adversary", "linear": "adversary-linear"}
    return Measure(_measured(data, sensitive, None, _chosen(names, "kind", kind), options))


def distance_correlation(scores: Any, sensitive: Any, *, estimator: str = "biased", **options: Any) -> Measure:
    """The distance correlation of scores and one sensitive feature, both numbers, in O(n log n).

    Parameters
    ----------
    scores : array-like
        Scores.
    sensitive : array-like, Series or frame
        The sensitive feature.
    estimator : {"biased", "unbiased"}, default="biased"
        The distance correlation, or the bias-corrected *squared* one, whose mean under independence is 0. Level and
        interval are those of the biased one.
    **options
        Those of every measure, at the top of this module.

    Examples
    --------
    >>> from oblivio import metrics
    >>> round(float(metrics.distance_correlation([1.0, 2.0, 3.5, 4.0], [2.0, 4.0, 7.0, 8.0])), 9)
    1.0
    """
    options.setdefault("categorical_sensitive", [])
    found = _measured(scores, sensitive, None, "distance-correlation", options)
    form = _chosen({"biased": "value", "unbiased": "unbiased-squared"}, "estimator", estimator)
    return Measure(found, found["value"] if form == "value" else found["further"][form])


_OPTIONS: dict[str, Any] = {
    "sample_weight": None,
    "cells": 4,
    "binning": "quantile",
    "sensitive_bounds": None,
    "categorical_sensitive": "auto",
    "control_features": None,
    "n_permutations": 199,
    "n_resamples": 199,
    "confidence": 0.95,
    "random_state": None,
}


def _measured(
    data: Any, sensitive: Any, y: Any, measure: str, options: dict[str, Any], **settings: Any
) -> dict[str, Any]:
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown:
        raise TypeError(f"{unknown[0]!r} is no option of this measure; options: {', '.join(_OPTIONS)}")
    options = _OPTIONS | options
    settings |= {
        "cells": str(options["cells"]),
        "binning": options["binning"],
        "sensitive_bounds": options["sensitive_bounds"],
        "categorical_sensitive": options["categorical_sensitive"],
        "control_features": options["control_features"],
        "permutations": count("n_permutations", options["n_permutations"]),
        "resamples": count("n_resamples", options["n_resamples"]),
        "confidence": number("confidence", options["confidence"]),
        "seed": seed_of(options["random_state"]),
    }
    return measured(data, sensitive, y, measure, options["sample_weight"], settings)


def _chosen(names: dict[str, str], parameter: str, value: Any) -> str:
    if not isinstance(value, str) or value not in names:
        raise InvalidInputError(f"{parameter} must be one of {', '.join(names)}, got {value!r}")
    return names[value]
