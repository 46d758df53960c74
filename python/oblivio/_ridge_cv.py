"""Kernel ridge regression whose penalty and bandwidth are found by leaving out each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from oblivio import _oblivio
from oblivio._base import number
from oblivio._files import to_frame
from oblivio._input import warn
from oblivio._objects import is_table
from oblivio._ridge import Regression, read_target

__all__ = ["ObliviousRidgeCV"]

#: From a millionth to a thousand.
ALPHAS = tuple(4.0**k for k in range(-10, 6))
#: What ``gammas="auto"`` multiplies the kernel's gamma by.
MULTIPLES = (0.0625, 0.25, 1.0, 4.0, 16.0)

COLUMNS = (
    "gamma", "strength", "alpha", "error", "left_out_error", "gcv", "correlation_ratio", "expected", "gap",
)  # fmt: skip


class ObliviousRidgeCV(Regression):
    """Kernel ridge regression on oblivious features, its penalty and bandwidth found by exact leave-one-out.

    For each bandwidth the leave-one-out errors of all penalties and strengths come from one decomposition of the kernel
    matrix (or a few), exactly, with the conditional means held fixed. Of the strengths the largest is used: a strength
    is never chosen by error, for a model that leaks the sensitive features has less of it. ``path_`` has the error and
    the dependence of all side by side.

    Examples
    --------
    >>> import oblivio as ob
    >>> table = ob.datasets.admissions(300, random_state=1)
    >>> sex = table.sensitive[["sex"]]
    >>> model = ob.ObliviousRidgeCV(gammas=None)
    >>> model = model.fit(table.features, table.targets["success"], sensitive_features=sex)
    >>> len(model.path_)
    16

    Parameters
    ----------
    mode : {"oblivious", "m-oblivious", "plain", "sensitive-free"}, default="oblivious"
        Where the influence of S is removed. oblivious: from the features, before learning. m-oblivious: from the score
        of a plain model, for chains S → X → Y; offsets come from folds where the training rows also estimate. plain:
        nowhere. sensitive-free: learn a score whose mean is the same in every cell; it needs no sensitive values to
        predict and costs more accuracy.
    align : {None, "quantile", "location-scale"}, default=None
        Make the distribution of the score equal given S. A second stage on the score. location-scale makes its mean and
        spread the same whatever the sensitive values are, quantile its whole distribution. Without it means are equal,
        which is not independence.
    alphas : sequence of floats or None, default=None
        Penalties to try. None is 16 of them from a millionth to a thousand.
    gammas : "auto", None or sequence of floats, default="auto"
        Values of gamma to try. "auto" tries one sixteenth to sixteen times the gamma of the kernel, None the gamma of
        the kernel alone.
    kernel : str, Kernel or callable, default="rbf"
        Kernel, or an expression such as 'rbf(gamma=2) + linear'. linear, poly, rbf, laplacian, matern12, matern32 or
        matern52, or sums and products of them. On the exact path also 'precomputed', where X is the matrix of its
        values, or a callable of two objects, where X holds objects.
    n_components : int or None, default=None
        Learn on this number of landmarks, for tables of any length. Memory does not grow with the rows. Without it a
        fit is exact, and its cost grows with the square of the rows. With it the kernel has Nyström features of at most
        this number of landmarks, and the cost grows with the rows.
    sensitive_feature_ids : names or positions, default=None
        Columns of X that are sensitive. They are not features.
    random_state : int, RandomState or None, default=None
        Seed of everything random. None is the seed 0.

    Other Parameters
    ----------------
    align_strength : float, default=1.0
        Share of the alignment that is applied, 0 to 1. 0 leaves the score unchanged, 1 makes the distributions equal.
    strengths : sequence of floats, default=(1.0,)
        Strengths to try: all are in ``path_``, and the largest is fitted.
    fit_intercept : bool, default=False
        Learn a constant, without a penalty. By default classifiers learn one and ridge regression does not.
    intervals : {None, "auto", "loo", "folds"}, default=None
        Keep residuals of held-out rows, for intervals of predictions. loo takes them by leave-one-out in closed form
        (exact with the conditional means held fixed; not on landmarks, nor with an alignment), folds by five fits to
        four fifths of the rows. auto takes the first where it can. The rows must fit into memory.
    gamma : float, "scale" or "median", default="scale"
        Gamma of a single kernel: a number, scale or median. scale is 1/(d·Var X) over all entries of the training X,
        median one over the median (squared) distance.
    degree : int, default=3
        Degree of a single poly kernel.
    coef0 : float, default=1.0
        Constant of a single poly kernel.
    landmarks : {"cholesky", "k-means++", "uniform", "fourier"}, default="cholesky"
        Method that chooses landmarks among the distinct rows. cholesky draws each in proportion to the part of k(x, x)
        that the earlier ones leave, k-means++ in proportion to the squared distance from the nearest earlier one,
        uniform draws all alike. fourier takes random waves instead, which depend on the kernel and the seed alone; they
        need a single rbf, laplacian or Matérn kernel and come less near to it.
    tolerance : float, default=0.0
        Share of the kernel's trace that landmarks may leave out. No more landmarks are added from there on. For the
        method cholesky only: the others cannot tell.
    conditional_mean : {"auto", "cells", "smooth", "linear"}, default="auto"
        Estimator of the mean of the features given S. cells: the mean of each cell. smooth: ridge regression on kernel
        features of S, whose bandwidth and ridge have the least leave-one-out error. linear: least squares on S. auto
        takes cells if all sensitive columns are categorical or if cells or binning is set, else cells or smooth,
        whichever has the smaller leave-one-out error. The error of predictions never chooses it.
    shrinkage : bool, default=False
        Draw the means of cells towards the overall mean. Their scatter says by how much. Leaves some dependence.
    cells : int, "auto", "loo" or "paper", default="auto"
        Cells of each continuous sensitive column. A number, auto, loo (the number with the least leave-one-out error)
        or paper.
    binning : {"quantile", "uniform", "dyadic"}, default="quantile"
        Ends of the cells of a continuous sensitive column. quantile: the same number of reference rows in each.
        uniform: the same width. dyadic: the same width, and a power of two of them.
    min_rows : int or None, default=None
        Join cells with fewer reference rows with their neighbours. By default 5 (fewer in small tables) where the
        number of cells is auto, else none is joined.
    reference : {"all", "half"}, default="all"
        Rows that estimate the conditional means. all: the rows that also train. half: one half estimates and the other
        half trains, as in the paper.
    sensitive_bounds : pair or dict of pairs by column, default=None
        Bounds of continuous sensitive features, for uniform and dyadic cells.
    handle_unknown : {"error", "population", "zero"}, default="error"
        Sensitive categories without reference rows. error refuses them. population removes nothing from their rows.
        zero takes the mean 0, as the paper does.
    handle_missing : {"error", "category", "sensitive-free"}, default="error"
        Missing sensitive values. error refuses them. category takes them as a category of their own. sensitive-free
        leaves their rows out of the fit and scores them (and tables without sensitive columns) by a second model, which
        needs none.
    control_feature_ids : names or positions, default=None
        Columns of X that are legitimate factors. Only the part of the sensitive features beyond them is removed. They
        stay features.
    categorical_features : "auto" or names or positions, default="auto"
        Columns of X to read as categories. By default text, booleans and categorical dtypes.
    categorical_sensitive : "auto" or names or positions, default="auto"
        Sensitive features to read as categories; all others are then continuous. By default text, booleans, and whole
        numbers with at most 5 distinct values.
    standardize : bool, default=True
        Scale number columns of X to mean 0 and standard deviation 1.
    missing_features : {"indicate", "error"}, default="indicate"
        Missing values of features: fill them in and mark them, or refuse them. indicate: a missing number is the mean
        of its column, with an indicator column; a missing category is a level of its own. error refuses them.
    verbose : bool, default=False
        Show a progress bar, if tqdm is installed.

    Attributes
    ----------
    path_ : DataFrame or dict of ndarray
        A row for each gamma, strength and penalty: ``gamma``, ``strength``, ``alpha``, ``error`` (root mean square on
        the training rows), ``left_out_error`` (the same with each row predicted without itself), ``gcv``,
        ``correlation_ratio`` (the share of the leave-one-out score's variance that the cells explain), ``expected``
        (that share for a score independent of them) and ``gap`` (the largest difference between the mean scores of two
        cells). A pandas frame if pandas is installed.
    alpha_, gamma_, strength_ : float
        What was chosen; gamma is None for a kernel without one, or with several.
    best_index_ : int
        Its row in ``path_``.
    model_, solver_, dual_coef_, intercept_, offsets_, cells_, n_components_, landmarks_
        As in :class:`ObliviousRidge`.
    sensitive_feature_names_, sensitive_kinds_
        The sensitive features, and how each is read.
    """

    _fitter = "ridge-cv"

    # settings: begin
    def __init__(
        self,
        *,
        mode: str = "oblivious",
        align: str | None = None,
        align_strength: float = 1.0,
        alphas: Any = None,
        gammas: Any = "auto",
        strengths: Any = (1.0,),
        fit_intercept: bool = False,
        intervals: str | None = None,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        n_components: int | None = None,
        landmarks: str = "cholesky",
        tolerance: float = 0.0,
        conditional_mean: str = "auto",
        shrinkage: bool = False,
        cells: Any = "auto",
        binning: str = "quantile",
        min_rows: int | None = None,
        reference: str = "all",
        sensitive_bounds: Any = None,
        handle_unknown: str = "error",
        handle_missing: str = "error",
        sensitive_feature_ids: Any = None,
        control_feature_ids: Any = None,
        categorical_features: Any = "auto",
        categorical_sensitive: Any = "auto",
        standardize: bool = True,
        missing_features: str = "indicate",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.mode = mode
        self.align = align
        self.align_strength = align_strength
        self.alphas = alphas
        self.gammas = gammas
        self.strengths = strengths
        self.fit_intercept = fit_intercept
        self.intervals = intervals
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.landmarks = landmarks
        self.tolerance = tolerance
        self.conditional_mean = conditional_mean
        self.shrinkage = shrinkage
        self.cells = cells
        self.binning = binning
        self.min_rows = min_rows
        self.reference = reference
        self.sensitive_bounds = sensitive_bounds
        self.handle_unknown = handle_unknown
        self.handle_missing = handle_missing
        self.sensitive_feature_ids = sensitive_feature_ids
        self.control_feature_ids = control_feature_ids
        self.categorical_features = categorical_features
        self.categorical_sensitive = categorical_sensitive
        self.standardize = standardize
        self.missing_features = missing_features
        self.random_state = random_state
        self.verbose = verbose

    # settings: end

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        reference_rows: Any = None,
    ) -> ObliviousRidgeCV:
        """Try every gamma, strength and penalty, and fit the best of the largest strength.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The features, and the sensitive ones among them if ``sensitive_feature_ids`` says so.
        y : array of shape (n_samples,)
            The target.
        sensitive_features : array, Series, frame or list, default=None
            The sensitive features, if they are not columns of X.
        control_features : array, Series, frame or list, default=None
            Legitimate factors, if they are not columns of X (``control_feature_ids``).
        sample_weight : array of shape (n_samples,), default=None
            How often each row counts.
        reference_rows : mask or row numbers, default=None
            Rows that estimate the conditional means; the others then train. Overrules ``reference``.
        """
        for fitted in ("model_", "_file_columns"):
            self.__dict__.pop(fitted, None)
        features, sensitive = self._read_fit(X, sensitive_features, control_features)
        name, target = read_target(y, features.rows, type(self).__name__)
        weights = self._weights(sample_weight, features.rows)
        alphas = _numbers("alphas", ALPHAS if self.alphas is None else self.alphas)
        strengths = _numbers("strengths", self.strengths)
        # The largest is the one that is fitted.
        self.strength_ = max(strengths)
        common = {"learner": "ridge", "strength": self.strength_}
        settings = self._score_settings(features, sensitive, reference_rows) | common
        rows = (features.table(), sensitive, target, weights)
        if self.n_components is None:
            bandwidths, gammas = self._bandwidths()
            grid = {"bandwidths": bandwidths, "gammas": gammas, "strengths": strengths, "penalties": alphas}
            columns, best, kernel = _oblivio.ScoreModel.path(*rows, settings | grid, self._progress())
        else:
            columns, best, kernel = self._path_on_landmarks(rows, settings, strengths, alphas)
        self.best_index_ = best
        self.alpha_ = float(columns["alpha"][best])
        self.path_ = to_frame(columns)
        model, remarks, uses, efforts = _oblivio.ScoreModel.fit(
            features.table(),
            sensitive,
            (name, target, None),
            weights,
            settings
            | {"kernel": kernel if features.kernel_values is None else settings["kernel"], "alpha": self.alpha_},
            self._progress(),
        )
        self.model_, self.solver_, self.gamma_ = model, efforts[0][0], model.gamma
        self.notes_ = warn(remarks, uses)
        return self

    @property
    def strength(self) -> float:
        """The largest of the strengths, which is the one that is fitted."""
        return max(_numbers("strengths", self.strengths))

    def _bandwidths(self) -> tuple[str, list[float]]:
        if self.gammas is None:
            return "given", []
        if isinstance(self.gammas, str):
            if self.gammas != "auto":
                raise _oblivio.InvalidInputError(f'gammas must be "auto", None or numbers, got {self.gammas!r}')
            if is_table(self.kernel):
                return "given", []
            expression = self._kernel_expression()
            has_gamma = any(name in expression for name in ("rbf", "laplacian", "poly", "matern"))
            return ("multiples", list(MULTIPLES)) if has_gamma else ("given", [])
        return "gammas", _numbers("gammas", self.gammas)

    def _path_on_landmarks(
        self, rows: Any, settings: dict[str, Any], strengths: list[float], alphas: list[float]
    ) -> tuple[dict[str, Any], int, str]:
        """Generalised cross-validation from the moments of all rows."""
        if settings["reference"] != "all" or settings["reference_rows"] is not None:
            raise _oblivio.InvalidInputError(
                "on landmarks the penalty is found from rows that all train and estimate; use reference='all', or "
                "n_components=None"
            )
        if self._bandwidths()[0] == "gammas":
            raise _oblivio.InvalidInputError(
                f"gammas must be left out with n_components, where gamma is that of the kernel, got {self.gammas!r}"
            )
        table, sensitive, target, weights = rows
        settings = settings | {"intervals": None}
        moments, _ = _oblivio.Moments.begin(table, sensitive, target, weights, settings, self._progress())
        found = dict(moments.grid(strengths, alphas, settings))
        unknown = np.full(len(found["gcv"]), np.nan)
        columns = {name: found.get(name, unknown) for name in COLUMNS}
        largest = columns["strength"] == max(strengths)
        judged = columns["gcv"]
        if self.mode == "oblivious" and moments.is_smooth:
            # Rows have a part in the features of others: the error of features that leak so would be too small.
            plain = dict(moments.grid([0.0], alphas, settings))["gcv"]
            judged = np.tile(plain, len(strengths))
        best = int(np.argmin(np.where(largest, judged, np.inf)))
        return columns, best, settings["kernel"]


def _numbers(name: str, values: Any) -> list[float]:
    try:
        found = [number(name, value) for value in values]
    except TypeError:
        raise _oblivio.InvalidInputError(f"{name} must be a sequence of numbers, got {values!r}") from None
    if not found:
        raise _oblivio.InvalidInputError(f"{name} must have at least one number")
    return found
