"""Classifiers on oblivious features."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit  # type: ignore[import-untyped]
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d

from oblivio import _oblivio
from oblivio._base import number
from oblivio._files import Saved
from oblivio._input import Features, NamedColumn, free_memory, warn
from oblivio._scores import Drift, Scored

__all__ = ["ObliviousLogistic", "ObliviousSVC"]

# The share of free memory that the matrix or the features of a classifier may take, as on the command line.
_MACHINE = 0.6


class _ObliviousClassifier(ClassifierMixin, Saved, Scored):  # type: ignore[misc]
    """One decision between two classes, or one for each of several against the rest."""

    __metadata_request__fit: ClassVar = {"reference_rows": True}

    _learner: ClassVar[str]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # What a sensitive column tells of the classes is meant to be lost.
        tags.classifier_tags.poor_score = self.sensitive_feature_ids is not None
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        reference_rows: Any = None,
    ) -> Any:
        """Fit.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The features, and the sensitive ones among them if ``sensitive_feature_ids`` says so.
        y : array of shape (n_samples,)
            The class of each row.
        sensitive_features : array, Series, frame or list, default=None
            The sensitive features, if they are not columns of X.
        control_features : array, Series, frame or list, default=None
            Legitimate factors, if they are not columns of X (``control_feature_ids``).
        sample_weight : array of shape (n_samples,), default=None
            How often each row counts.
        reference_rows : mask or row numbers, default=None
            Rows that estimate the conditional means; the others then train. Overrules ``reference``.
        """
        for fitted in ("model_", "classes_", "_file_columns"):
            self.__dict__.pop(fitted, None)
        features, sensitive = self._read_fit(X, sensitive_features, control_features)
        name, self.classes_, codes = read_classes(y, features.rows, type(self).__name__)
        model, remarks, uses, efforts = _oblivio.ScoreModel.fit(
            features.table(),
            sensitive,
            (name, codes, (names_of(self.classes_), self.classes_.dtype.kind in "biuf")),
            self._weights(sample_weight, features.rows),
            self._classifier_settings(features, sensitive, reference_rows),
            self._progress(),
        )
        self.model_ = model
        self.solver_ = efforts[0][0]
        self.n_iter_ = np.array([effort[1] for effort in efforts])
        self.gap_ = np.array([effort[2] for effort in efforts])
        self.converged_ = all(effort[3] for effort in efforts)
        late = [remark for remark in remarks if remark[0].startswith("the solver (")]
        self.notes_ = warn([remark for remark in remarks if remark not in late], uses)
        for sentence, _ in late:
            warnings.warn(sentence, ConvergenceWarning, stacklevel=2)
        return self

    def decision_function(
        self, X: Any, *, sensitive_features: Any = None, control_features: Any = None
    ) -> np.ndarray[Any, Any]:
        """The score of every row, the threshold taken off: h(x) − t·b(s), positive for the second of two classes.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            As in the fit.
        sensitive_features, control_features : arrays, Series, frames or lists, default=None
            As in the fit.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One score for two classes, else one for each class against the rest.
        """
        scores = self._scores(X, sensitive_features, "decision_function", control_features)
        return scores[0] if len(scores) == 1 else np.column_stack(scores)

    def predict(self, X: Any, *, sensitive_features: Any = None, control_features: Any = None) -> np.ndarray[Any, Any]:
        """The class of every row: the one whose score is the largest.

        Parameters
        ----------
        X, sensitive_features, control_features
            As in :meth:`decision_function`.
        """
        scores = self._scores(X, sensitive_features, "predict", control_features)
        chosen = (scores[0] > 0.0).astype(int) if len(scores) == 1 else np.column_stack(scores).argmax(axis=1)
        labels: np.ndarray[Any, Any] = self.classes_[chosen]
        return labels

    def score(
        self, X: Any, y: Any, *, sensitive_features: Any = None, control_features: Any = None, sample_weight: Any = None
    ) -> float:
        """The share of rows whose class is predicted.

        Removing the influence of a feature that the classes depend on lowers it. A model that leaks the sensitive
        features scores better: do not choose ``strength`` or ``cells`` by this number.
        """
        predictions = self.predict(X, sensitive_features=sensitive_features, control_features=control_features)
        return float(accuracy_score(y, predictions, sample_weight=sample_weight))

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
    ) -> list[Drift] | list[list[Drift]]:
        """Take the offsets from new rows, which need no labels: for when the features have drifted since the fit.

        The expansion and the threshold stay as they are.

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
            One for each cell; a list of such lists, one for each class, if there are more than two.
        """
        drifts = self._renew(X, sensitive_features, sample_weight, (min_rows, small, date), control_features)
        return drifts[0] if len(drifts) == 1 else drifts

    def _classifier_settings(
        self, features: Features, sensitive: list[NamedColumn], reference_rows: Any
    ) -> dict[str, Any]:
        cost = number("C", self.C)
        if not (cost > 0.0 and np.isfinite(cost)):
            raise _oblivio.InvalidInputError(f"C must be a positive finite number, got {self.C}")
        return self._score_settings(features, sensitive, reference_rows) | {
            "learner": self._learner,
            "cost": cost,
            "memory_bytes": None if (free := free_memory()) is None else int(_MACHINE * free),
            "class_weight": "balanced" if self._is_balanced() else None,
            "class_weights": self._class_factors(),
        }

    def _is_balanced(self) -> bool:
        return isinstance(self.class_weight, str) and self.class_weight == "balanced"

    def _class_factors(self) -> list[float] | None:
        if self.class_weight is None or self._is_balanced():
            return None
        if not isinstance(self.class_weight, dict):
            raise _oblivio.InvalidInputError(
                f'class_weight must be None, "balanced" or a dictionary of classes, got {self.class_weight!r}'
            )
        classes = self.classes_.tolist()
        unknown = [label for label in self.class_weight if label not in classes]
        if unknown:
            raise _oblivio.InvalidInputError(
                f"class_weight names {unknown[0]!r}, which is not among the classes ({', '.join(map(str, classes))})"
            )
        return [number("a class weight", self.class_weight.get(label, 1.0)) for label in classes]

    @property
    def threshold_(self) -> np.ndarray[Any, Any]:
        """What was taken off each score so that the line is at zero."""
        classes = self._fitted_model().classes
        return np.array(classes[3] if classes else [0.0])

    @property
    def intercept_(self) -> np.ndarray[Any, Any]:
        """The constant of each score, the threshold taken off."""
        return self._fitted_model().intercepts

    @property
    def dual_coef_(self) -> np.ndarray[Any, Any]:
        """The coefficients of the kernel expansion of each score."""
        return np.vstack(self._fitted_model().coefficients)

    @property
    def offsets_(self) -> np.ndarray[Any, Any]:
        """The offset of each cell, for each score."""
        offsets = self._fitted_model().offsets
        return offsets[0] if len(offsets) == 1 else np.vstack(offsets)


class ObliviousSVC(_ObliviousClassifier):
    """A support vector machine whose score has the influence of sensitive features taken out.

    The score of the decision, not the label, is what has the same mean in every cell on the reference rows, at
    ``strength=1``: the share of positive labels per cell can still differ, and does if the spread of the score does.
    Several classes are learned one against the rest. With ``mode="sensitive-free"`` this is fair empirical risk
    minimisation (Donini et al., 2018), for any kind of sensitive feature.

    Examples
    --------
    >>> import oblivio as ob
    >>> table = ob.datasets.admissions(400, random_state=1)
    >>> sex = table.sensitive[["sex"]]
    >>> model = ob.ObliviousSVC(class_weight="balanced")
    >>> model = model.fit(table.features, table.targets["admitted"], sensitive_features=sex)
    >>> model.predict(table.features, sensitive_features=sex).shape
    (400,)
    >>> model.converged_
    True

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
    C : float, default=1.0
        Cost of an error of svm or logistic, one over the penalty. Larger fits the training rows more closely.
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
    fit_intercept : bool, default=True
        Learn a constant, without a penalty. By default classifiers learn one and ridge regression does not.
    solver : {"auto", "cholesky", "mixed", "pcg", "smo", "interior"}, default="auto"
        Algorithm that solves the problem on the exact path. For ridge regression: cholesky (a factor in double
        precision), mixed (a factor in single precision and conjugate gradients in double) or pcg (conjugate gradients
        that need no matrix in memory). For a support vector machine: smo or interior. Logistic regression has one way.
        auto chooses by the number of rows and by how fast the algorithm converges.
    class_weight : None, "balanced" or dict, default=None
        Weight of the rows of each class in the loss. balanced lets both sides of a decision count the same. Python also
        takes a dictionary with a factor for each class, and None for equal. The conditional means do not depend on it.
    threshold : "zero", "base-rate" or float, default="zero"
        Line between two classes: zero, base-rate or a share. zero is the score zero. base-rate puts the share of
        positive training rows above the line, a number such as 0.3 that share of them. The line is the same for all
        rows, whatever their sensitive values.
    tol : float, default=1e-5
        Relative duality gap to reach. By this share the objective may miss its optimum. By default 1e-5 for svm and
        1e-12 for logistic.
    max_iter : int or None, default=None
        Largest number of steps of the solver. By default the solver's own limit. A warning says if it has not converged
        by then.
    parity : {"demographic-parity", "equal-opportunity"}, default="demographic-parity"
        Rows whose mean scores are equal in the mode sensitive-free. demographic-parity: all rows. equal-opportunity:
        rows of the positive class.
    eta : float or None, default=None
        Penalty on differences of mean scores, instead of none allowed. For the mode sensitive-free.
    epsilon : float, default=0.0
        Largest allowed difference of a mean score from the overall mean. For the mode sensitive-free of a support
        vector machine.
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
    classes_ : ndarray
        The classes, in order; of two the second is the positive one.
    model_ : ScoreModel
        The engine's fitted model.
    solver_ : str
        What solved it in the end.
    n_iter_ : ndarray
        The steps of each decision.
    gap_ : ndarray
        The relative duality gap of each decision: a certificate of how near to the best it is.
    converged_ : bool
        Whether all came as near as ``tol`` asks.
    threshold_ : ndarray
        What was taken off each score so that the line is at zero.
    intercept_ : ndarray
        The constant of each score, the threshold taken off.
    dual_coef_ : ndarray
        The coefficients of the kernel expansion of each score.
    offsets_ : ndarray
        The offset of each cell, for each score.
    cells_ : list of (str, int)
        The cells in words, and their number of reference rows.
    n_components_, landmarks_
        The number of landmarks and the landmarks; None on the exact path.
    sensitive_feature_names_, sensitive_kinds_
        The sensitive features, and how each is read.
    """

    # settings: begin
    def __init__(
        self,
        *,
        mode: str = "oblivious",
        strength: float = 1.0,
        align: str | None = None,
        align_strength: float = 1.0,
        C: float = 1.0,
        fit_intercept: bool = True,
        solver: str = "auto",
        class_weight: Any = None,
        threshold: Any = "zero",
        tol: float = 1e-5,
        max_iter: int | None = None,
        parity: str = "demographic-parity",
        eta: float | None = None,
        epsilon: float = 0.0,
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
        self.C = C
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.class_weight = class_weight
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.parity = parity
        self.eta = eta
        self.epsilon = epsilon
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

    _learner = "svm"
    _fitter = "svc"


class ObliviousLogistic(_ObliviousClassifier):
    """Kernel logistic regression whose score has the influence of sensitive features taken out.

    The logit, not the probability, is what has the same mean in every cell on the reference rows, at ``strength=1``:
    mean probabilities and the share of positive labels per cell can still differ. Several classes are learned one
    against the rest, and their probabilities divided by their sum.

    Examples
    --------
    >>> import oblivio as ob
    >>> table = ob.datasets.admissions(400, random_state=1)
    >>> sex = table.sensitive[["sex"]]
    >>> model = ob.ObliviousLogistic()
    >>> model = model.fit(table.features, table.targets["admitted"], sensitive_features=sex)
    >>> model.predict_proba(table.features, sensitive_features=sex).shape
    (400, 2)

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
    C : float, default=1.0
        Cost of an error of svm or logistic, one over the penalty. Larger fits the training rows more closely.
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
    fit_intercept : bool, default=True
        Learn a constant, without a penalty. By default classifiers learn one and ridge regression does not.
    class_weight : None, "balanced" or dict, default=None
        Weight of the rows of each class in the loss. balanced lets both sides of a decision count the same. Python also
        takes a dictionary with a factor for each class, and None for equal. The conditional means do not depend on it.
    threshold : "zero", "base-rate" or float, default="zero"
        Line between two classes: zero, base-rate or a share. zero is the score zero. base-rate puts the share of
        positive training rows above the line, a number such as 0.3 that share of them. The line is the same for all
        rows, whatever their sensitive values.
    tol : float, default=1e-12
        Relative duality gap to reach. By this share the objective may miss its optimum. By default 1e-5 for svm and
        1e-12 for logistic.
    max_iter : int or None, default=None
        Largest number of steps of the solver. By default the solver's own limit. A warning says if it has not converged
        by then.
    parity : {"demographic-parity", "equal-opportunity"}, default="demographic-parity"
        Rows whose mean scores are equal in the mode sensitive-free. demographic-parity: all rows. equal-opportunity:
        rows of the positive class.
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
    classes_ : ndarray
        The classes, in order; of two the second is the positive one.
    model_ : ScoreModel
        The engine's fitted model.
    solver_ : str
        What solved it in the end.
    n_iter_ : ndarray
        The steps of each decision.
    gap_ : ndarray
        The relative duality gap of each decision: a certificate of how near to the best it is.
    converged_ : bool
        Whether all came as near as ``tol`` asks.
    threshold_ : ndarray
        What was taken off each score so that the line is at zero.
    intercept_ : ndarray
        The constant of each score, the threshold taken off.
    dual_coef_ : ndarray
        The coefficients of the kernel expansion of each score.
    offsets_ : ndarray
        The offset of each cell, for each score.
    cells_ : list of (str, int)
        The cells in words, and their number of reference rows.
    n_components_, landmarks_
        The number of landmarks and the landmarks; None on the exact path.
    sensitive_feature_names_, sensitive_kinds_
        The sensitive features, and how each is read.
    """

    # settings: begin
    def __init__(
        self,
        *,
        mode: str = "oblivious",
        strength: float = 1.0,
        align: str | None = None,
        align_strength: float = 1.0,
        C: float = 1.0,
        fit_intercept: bool = True,
        class_weight: Any = None,
        threshold: Any = "zero",
        tol: float = 1e-12,
        max_iter: int | None = None,
        parity: str = "demographic-parity",
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
        self.C = C
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.parity = parity
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

    __metadata_request__predict_proba: ClassVar = {"sensitive_features": True, "control_features": True}
    __metadata_request__predict_log_proba: ClassVar = {"sensitive_features": True, "control_features": True}

    _learner = "logistic"
    _fitter = "logistic"

    def predict_proba(
        self, X: Any, *, sensitive_features: Any = None, control_features: Any = None
    ) -> np.ndarray[Any, Any]:
        """The probability of every class, from the logit with its threshold put back.

        Parameters
        ----------
        X, sensitive_features, control_features
            As in :meth:`predict`.
        """
        scores = np.column_stack(self._scores(X, sensitive_features, "predict_proba", control_features))
        chances: np.ndarray[Any, Any] = expit(scores + self.threshold_)
        if chances.shape[1] == 1:
            return np.column_stack([1.0 - chances[:, 0], chances[:, 0]])
        total = chances.sum(axis=1, keepdims=True)
        even = np.full_like(chances, 1.0 / chances.shape[1])
        shares: np.ndarray[Any, Any] = np.divide(chances, total, out=even, where=total > 0.0)
        return shares

    def predict_log_proba(
        self, X: Any, *, sensitive_features: Any = None, control_features: Any = None
    ) -> np.ndarray[Any, Any]:
        """The logarithm of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            logarithms: np.ndarray[Any, Any] = np.log(
                self.predict_proba(X, sensitive_features=sensitive_features, control_features=control_features)
            )
        return logarithms


def read_classes(y: Any, rows: int, who: str) -> tuple[str, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The target's name, its classes, and the number of the class of each row."""
    if y is None:
        raise _oblivio.InvalidInputError(f"{who} requires y to be passed, but the target y is None")
    name = str(getattr(y, "name", None) or "y")
    values = column_or_1d(y, warn=True)
    if values.dtype.kind == "f":
        assert_all_finite(values, input_name="y")
    missing = [row for row, label in enumerate(values) if _is_missing(label)] if values.dtype.kind == "O" else []
    if missing:
        raise _oblivio.InvalidInputError(
            f"the target y has {len(missing)} missing values, the first in row {missing[0]}"
        )
    check_classification_targets(values)
    check_consistent_length(np.empty((rows, 0)), values)
    classes, codes = np.unique(values, return_inverse=True)
    if len(classes) < 2:
        raise _oblivio.InvalidInputError(
            f"{who} needs rows of at least two classes, got one class: {classes.tolist()[0]!r}"
        )
    return name, classes, codes.astype(np.float64)


def _is_missing(label: Any) -> bool:
    return label is None or (isinstance(label, float) and np.isnan(label)) or type(label).__name__ == "NAType"


def names_of(classes: np.ndarray[Any, Any]) -> list[str]:
    """Classes as text, whole numbers without a point."""
    if classes.dtype.kind == "f":
        return [str(int(label)) if float(label).is_integer() else repr(float(label)) for label in classes]
    return [str(label) for label in classes]


def classes_of(names: list[str], *, numeric: bool) -> np.ndarray[Any, Any]:
    """The classes of a model file."""
    if not numeric:
        return np.array(names)
    if names == ["False", "True"]:
        return np.array([False, True])
    try:
        whole = np.array([int(name) for name in names])
    except ValueError:
        whole = np.array(names, dtype=object)
    return whole if whole.dtype.kind in "iu" else np.array([float(name) for name in names])
