"""Kernel ridge regression on oblivious features."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d

from oblivio import _oblivio
from oblivio._base import number
from oblivio._cluster import LearnsOnClusters
from oblivio._files import Saved, to_frame
from oblivio._input import Features, NamedColumn, OblivioWarning, Remark, aligned, free_memory, warn
from oblivio._scores import Drift, Scored
from oblivio._stream import NeedsComponents, Streamed, in_batches

__all__ = ["Drift", "OblivioWarning", "ObliviousRidge"]


class Regression(RegressorMixin, Saved, Scored):  # type: ignore[misc]
    """Fitted kernel ridge regression."""

    __metadata_request__fit: ClassVar = {"reference_rows": True}

    def refresh(
        self,
        X: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        min_rows: int = 30,
        small: str = "error",
        date: str | None = None,
    ) -> list[Drift]:
        """Take the offsets from new rows, which need no labels: for when the features have drifted since the fit.

        The regression stays as it is. A later ``partial_fit`` has the offsets of its own rows again.

        Parameters
        ----------
        X, sensitive_features, control_features
            As in :meth:`predict`. Rows without a cell of their own are left out.
        sample_weight : array of shape (n_samples,), default=None
            How often each row counts.
        min_rows : int, default=30
            New rows that every cell needs.
        small : {"error", "keep"}, default="error"
            Whether cells with fewer are refused or keep their means.
        date : str, default=None
            What ``history_`` will say of the time.

        Returns
        -------
        list of Drift
            One for each cell.
        """
        return self._renew(X, sensitive_features, sample_weight, (min_rows, small, date), control_features)[0]

    def predict(self, X: Any, *, sensitive_features: Any = None, control_features: Any = None) -> np.ndarray[Any, Any]:
        """Predict: h(x) − t·b(s).

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            As in the fit.
        sensitive_features, control_features : arrays, Series, frames or lists, default=None
            As in the fit.
        """
        return self._scores(X, sensitive_features, "predict", control_features)[0]

    def predict_interval(
        self, X: Any, *, coverage: float = 0.9, sensitive_features: Any = None, control_features: Any = None
    ) -> np.ndarray[Any, Any]:
        """Predict intervals: the prediction, more or less the half-width of the row's cell.

        The half-width of a cell is an order statistic of ``|y - prediction|`` over rows of the fit that the prediction
        has not seen (``intervals``). Rows like those of the fit are covered about as often as asked in every cell: on
        average over the cell, not row by row, and not in finite samples, since leaving out rows leaves the model a
        little different. After ``refresh`` the half-widths are still those of the fit.

        A row that may be in several cells, or whose sensitive values are missing or not given, has the largest of
        their half-widths. An interval is infinite where a cell holds too few rows: ``n`` rows can cover at most
        ``n/(n + 1)``.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            As in the fit.
        coverage : float, default=0.9
            The share of the targets that the intervals of a cell are to hold, between 0 and 1.
        sensitive_features, control_features : arrays, Series, frames or lists, default=None
            As in the fit.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            The lower and the upper end of each interval.
        """
        lower, upper, _ = self._intervals(X, sensitive_features, control_features, coverage)
        return np.column_stack([lower, upper])

    def interval_coverage(
        self, X: Any, y: Any, *, coverage: float = 0.9, sensitive_features: Any = None, control_features: Any = None
    ) -> Any:
        """How often intervals hold the target, cell by cell: best on rows that the fit has not seen.

        Parameters
        ----------
        X, coverage, sensitive_features, control_features
            As in :meth:`predict_interval`.
        y : array of shape (n_samples,)
            The target.

        Returns
        -------
        DataFrame or dict of ndarray
            A row for each cell and a last one for all rows: ``cell``, ``rows``, ``covered`` (the share of them whose
            interval holds the target), ``width`` (the mean width) and ``without_end`` (how many are infinite). A pandas
            frame if pandas is installed.
        """
        _, _, cells = self._intervals(X, sensitive_features, control_features, coverage, (y,))
        names = ("cell", "rows", "covered", "width", "without_end")
        return to_frame(dict(zip(names, (np.array(values) for values in zip(*cells, strict=True)), strict=True)))

    def _intervals(
        self, X: Any, sensitive_features: Any, control_features: Any, coverage: float, target: tuple[Any, ...] = ()
    ) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], list[tuple[str, int, float, float, int]]]:
        """The ends of intervals and, where there is a target, what they hold of it."""
        model = self._fitted_model()
        features, sensitive = self._read_new(
            X, sensitive_features, "predict", needed=model.needs_sensitive, control_features=control_features
        )
        asked = number("coverage", coverage)
        values = read_target(target[0], features.rows, type(self).__name__)[1] if target else None
        lower, upper, uses, endless, cells = features.known_to(model).predict_interval(
            features.table(), sensitive, asked, values, self._progress()
        )
        remark = (
            f"{endless} rows have intervals without end, because a cell holds too few rows for coverage {asked}; "
            "use fewer or larger cells, or less coverage"
        )
        self._warn_uses(uses, {"endless": remark} if endless else {})
        return lower, upper, cells

    def score(
        self, X: Any, y: Any, *, sensitive_features: Any = None, control_features: Any = None, sample_weight: Any = None
    ) -> float:
        """R² of the predictions.

        Removing the influence of a feature that the target depends on lowers it. A model that leaks the sensitive
        features scores better: do not choose ``strength`` or ``cells`` by this number.
        """
        predictions = self.predict(X, sensitive_features=sensitive_features, control_features=control_features)
        return float(r2_score(y, predictions, sample_weight=sample_weight))

    @property
    def dual_coef_(self) -> np.ndarray[Any, Any]:
        """The coefficients of the kernel expansion."""
        return self._fitted_model().coefficients[0]

    @property
    def intercept_(self) -> float:
        """The constant."""
        return float(self._fitted_model().intercepts[0])

    @property
    def offsets_(self) -> np.ndarray[Any, Any]:
        """The offset of each cell."""
        return self._fitted_model().offsets[0]


class ObliviousRidge(LearnsOnClusters, Streamed, Regression):
    """Kernel ridge regression whose predictions have the influence of sensitive features taken out.

    On the reference rows (by default: all rows of the fit) the mean prediction is the same in every cell of the
    sensitive features, at ``strength=1``. That is not independence: the spread of the predictions can still depend on
    them. Prediction needs the sensitive values, which are read in order to take their own influence out. Without any,
    this is ordinary kernel ridge regression.

    Examples
    --------
    >>> import numpy as np
    >>> import oblivio as ob
    >>> x = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> group = ["a", "a", "a", "b", "b", "b"]
    >>> model = ob.ObliviousRidge(kernel="linear", alpha=1e-6, standardize=False)
    >>> model = model.fit(x, x[:, 0], sensitive_features=group)
    >>> model.predict(x, sensitive_features=group).round(3)
    array([5., 6., 7., 5., 6., 7.])

    Parameters
    ----------
    mode : {"oblivious", "m-oblivious", "plain", "sensitive-free"}, default="oblivious"
        Where the influence of S is removed. oblivious: from the features, before learning. m-oblivious: from the score
        of a plain model, for chains S → X → Y; offsets come from folds where the training rows also estimate. plain:
        nowhere. sensitive-free: learn a score whose mean is the same in every cell; it needs no sensitive values to
        predict and costs more accuracy.
    strength : float, default=1.0
        Share of the conditional mean that is removed, 0 to 1. At 1 the mean score is equal in every cell of the
        reference rows (conditional mean by cells). At 0 nothing is removed.
    align : {None, "quantile", "location-scale"}, default=None
        Make the distribution of the score equal given S. A second stage on the score. location-scale makes its mean and
        spread the same whatever the sensitive values are, quantile its whole distribution. Without it means are equal,
        which is not independence.
    alpha : float, default=1.0
        Penalty of ridge regression; the program also knows auto. Larger is smoother. auto takes the penalty with the
        least leave-one-out error; in Python that is ObliviousRidgeCV.
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
    fit_intercept : bool, default=False
        Learn a constant, without a penalty. By default classifiers learn one and ridge regression does not.
    solver : {"auto", "cholesky", "mixed", "pcg", "smo", "interior"}, default="auto"
        Algorithm that solves the problem on the exact path. For ridge regression: cholesky (a factor in double
        precision), mixed (a factor in single precision and conjugate gradients in double) or pcg (conjugate gradients
        that need no matrix in memory). For a support vector machine: smo or interior. Logistic regression has one way.
        auto chooses by the number of rows and by how fast the algorithm converges.
    intervals : {None, "auto", "loo", "folds"}, default=None
        Keep residuals of held-out rows, for intervals of predictions. loo takes them by leave-one-out in closed form
        (exact with the conditional means held fixed; not on landmarks, nor with an alignment), folds by five fits to
        four fifths of the rows. auto takes the first where it can. The rows must fit into memory.
    eta : float or None, default=None
        Penalty on differences of mean scores, instead of none allowed. For the mode sensitive-free.
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
    model_ : ScoreModel
        The engine's fitted model.
    solver_ : str
        How the system was solved.
    n_components_ : int or None
        The number of landmarks; None on the exact path.
    landmarks_ : ndarray or None
        The landmarks, as encoded, or the frequencies of waves: one in each row. None on the exact path.
    dual_coef_ : ndarray
        The coefficients of the kernel expansion: over the landmarks, or on the exact path over the rows of the fit.
    intercept_ : float
        The constant.
    offsets_ : ndarray
        The offset of each cell.
    cells_ : list of (str, int)
        The cells in words, and their number of reference rows.
    sensitive_feature_names_ : list of str
        The sensitive features.
    sensitive_kinds_ : dict
        How each of them is read.
    """

    _fitter = "ridge"

    # settings: begin
    def __init__(
        self,
        *,
        mode: str = "oblivious",
        strength: float = 1.0,
        align: str | None = None,
        align_strength: float = 1.0,
        alpha: float = 1.0,
        fit_intercept: bool = False,
        solver: str = "auto",
        intervals: str | None = None,
        eta: float | None = None,
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
        self.strength = strength
        self.align = align
        self.align_strength = align_strength
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.intervals = intervals
        self.eta = eta
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
    ) -> ObliviousRidge:
        """Fit.

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
        self._forget()
        features, sensitive = self._read_fit(X, sensitive_features, control_features)
        model, remarks, uses, efforts = _oblivio.ScoreModel.fit(
            features.table(),
            sensitive,
            (*read_target(y, features.rows), None),
            self._weights(sample_weight, features.rows),
            self._ridge_settings(features, sensitive, reference_rows),
            self._progress(),
        )
        self.model_, self.solver_ = model, efforts[0][0]
        self.notes_ = warn(remarks, uses)
        return self

    @NeedsComponents
    def partial_fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, control_features: Any = None, sample_weight: Any = None
    ) -> ObliviousRidge:
        """Fit to rows that come in batches: the model is that of all rows since the first call, or since ``fit``.

        The first batch settles how columns are encoded, the kernel's numbers, the landmarks, how sensitive features are
        read and where continuous ones are cut: let it look like the rest. Later batches add rows; new sensitive
        categories join, new categories of X have no indicator. Of the parameters, ``alpha``, ``strength``,
        ``mode`` and ``fit_intercept`` can change between calls. ``conditional_mean="auto"`` is ``"cells"`` here, since
        nothing is known of the rows to come.

        Needs ``n_components``. Only sums over the rows are kept, so ``mode="m-oblivious"`` and ``reference="half"`` are
        refused. The sums are pickled with the estimator but are not in the file that ``save`` writes: a model from
        ``load`` cannot go on. Neither does ``fit`` keep any: a ``partial_fit`` after it begins anew.

        Parameters
        ----------
        X, y, sensitive_features, control_features, sample_weight
            As in :meth:`fit`.
        """
        features, sensitive = self._read_batch(X, sensitive_features, control_features)
        name, target = read_target(y, features.rows)
        weights = self._weights(sample_weight, features.rows)
        settings = in_batches(self._ridge_settings(features, sensitive))
        state: _oblivio.Moments | None = getattr(self, "_state", None)
        remarks: list[Remark] = []
        added: dict[str, int] = {}
        if state is None:
            state, remarks = _oblivio.Moments.begin(
                features.table(), sensitive, target, weights, settings, self._progress()
            )
        else:
            name = self._target_name
            state, added = state.add(features.table(), sensitive, target, weights, self._progress())
        model, more, uses = state.ridge(name, settings, self._progress())
        self.model_, self._state, self._target_name = model, state, name
        self.notes_ = warn([*remarks, *more], uses | {case: uses[case] + times for case, times in added.items()})
        return self

    def _ridge_settings(
        self, features: Features, sensitive: list[NamedColumn], reference_rows: Any = None
    ) -> dict[str, Any]:
        learner = {"learner": "ridge", "alpha": number("alpha", self.alpha)}
        settings = self._score_settings(features, sensitive, reference_rows) | learner
        if self.solver == "auto" and self.n_components is None and self.mode != "m-oblivious":
            # The matrix in double precision and its factor in single.
            needed, free = 12.0 * features.rows**2, free_memory()
            if free is not None and needed > 0.9 * free:
                settings["solver"] = "pcg"
        return settings


def read_target(y: Any, rows: int, who: str = "ObliviousRidge") -> tuple[str, np.ndarray[Any, Any]]:
    """The target's name and its values as numbers."""
    if y is None:
        raise _oblivio.InvalidInputError(f"{who} requires y to be passed, but the target y is None")
    name = str(getattr(y, "name", None) or "y")
    values = column_or_1d(y, warn=True)
    if values.dtype.kind not in "biuf":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise _oblivio.InvalidInputError(
                f"the target must be numbers, got values such as {str(values[0])!r}"
            ) from None
    values = aligned(values)
    assert_all_finite(values, input_name="y")
    check_consistent_length(np.empty((rows, 0)), values)
    return name, values
