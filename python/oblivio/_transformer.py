"""Oblivious features for linear learners."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from oblivio import _oblivio
from oblivio._base import ObliviousEstimator
from oblivio._cluster import MapsOnClusters
from oblivio._files import Exported, Saved
from oblivio._input import Features, NamedColumn, warn
from oblivio._stream import Streamed, in_batches


class ObliviousTransformer(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    MapsOnClusters,
    Streamed,
    Exported,
    Saved,
    ObliviousEstimator,
):
    """Nyström features of a kernel, with the sensitive features' influence on their means taken out.

    At ``strength=1`` every linear function of the features has the same mean in every cell, on the reference rows. A
    nonlinear learner can still tell the cells apart: give these features to linear models only. Without sensitive
    features these are ordinary Nyström features.

    Examples
    --------
    >>> import numpy as np
    >>> import oblivio as ob
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> z = ob.ObliviousTransformer(n_components=8, sensitive_feature_ids=[0]).fit_transform(X)
    >>> z.shape
    (50, 8)

    Parameters
    ----------
    strength : float, default=1.0
        Share of the conditional mean that is removed, 0 to 1. At 1 the mean score is equal in every cell of the
        reference rows (conditional mean by cells). At 0 nothing is removed.
    kernel : str or Kernel, default="rbf"
        Kernel, or an expression such as 'rbf(gamma=2) + linear'. linear, poly, rbf, laplacian, matern12, matern32 or
        matern52, or sums and products of them.
    n_components : int, default=256
        Learn on this number of landmarks, for tables of any length. Memory does not grow with the rows. Without it a
        fit is exact, and its cost grows with the square of the rows. With it the kernel has Nyström features of at most
        this number of landmarks, and the cost grows with the rows.
    sensitive_feature_ids : names or positions, default=None
        Columns of X that are sensitive. They are not features.
    random_state : int, RandomState or None, default=None
        Seed of everything random. None is the seed 0.

    Other Parameters
    ----------------
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
    model_ : FeatureModel
        The engine's fitted map.
    n_components_ : int
        The number of landmarks, and of features.
    landmarks_ : ndarray
        The landmarks, as encoded, or the frequencies of waves: one in each row.
    sensitive_feature_names_ : list of str
        The sensitive features.
    """

    _fitter = "transformer"

    __metadata_request__fit: ClassVar = {"reference_rows": True}
    __metadata_request__fit_transform: ClassVar = {"reference_rows": True}

    # settings: begin
    def __init__(
        self,
        *,
        strength: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        n_components: int = 256,
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
        sensitive_feature_ids: Any = None,
        control_feature_ids: Any = None,
        categorical_features: Any = "auto",
        categorical_sensitive: Any = "auto",
        standardize: bool = True,
        missing_features: str = "indicate",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.strength = strength
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
        y: Any = None,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        reference_rows: Any = None,
    ) -> ObliviousTransformer:
        """Fit the features; y is not used. Parameters as in :meth:`ObliviousRidge.fit`."""
        self._forget()
        features, sensitive = self._read_fit(X, sensitive_features, control_features)
        model, remarks = _oblivio.FeatureModel.fit(
            features.table(),
            sensitive,
            self._weights(sample_weight, features.rows),
            self._feature_settings(features, sensitive, reference_rows),
            self._progress(),
        )
        self.model_ = model
        self.notes_ = warn(remarks)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
    ) -> ObliviousTransformer:
        """Fit to rows that come in batches; y is not used.

        The first batch settles how columns are encoded, the kernel's numbers, the landmarks, how sensitive features are
        read and where continuous ones are cut. Later batches move the means of the cells; new sensitive categories
        join, new categories of X have no indicator. ``reference="half"`` is refused. As with
        :meth:`ObliviousRidge.partial_fit`, a model from ``load`` cannot go on, and a call after ``fit`` begins anew.
        """
        features, sensitive = self._read_batch(X, sensitive_features, control_features)
        model, state, remarks, uses = _oblivio.FeatureModel.partial_fit(
            getattr(self, "_state", None),
            features.table(),
            sensitive,
            self._weights(sample_weight, features.rows),
            in_batches(self._feature_settings(features, sensitive)),
            self._progress(),
        )
        self.model_, self._state = model, state
        self.notes_ = warn(remarks, uses)
        return self

    def transform(
        self, X: Any, *, sensitive_features: Any = None, control_features: Any = None
    ) -> np.ndarray[Any, Any]:
        """The oblivious features, of shape (n_samples, n_components)."""
        check_is_fitted(self)
        needed = bool(self.sensitive_feature_names_) and self.strength != 0
        if hasattr(self, "_file_columns") and not self.sensitive_feature_names_:
            # Whether it was fitted with sensitive features at strength 0, which change nothing, is not in the file.
            sensitive_features = control_features = None
        features, sensitive = self._read_new(
            X, sensitive_features, "transform", needed=needed, control_features=control_features
        )
        transformed, uses = self.model_.transform(features.table(), sensitive, self._progress())
        self._warn_uses(uses)
        return transformed

    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        reference_rows: Any = None,
    ) -> np.ndarray[Any, Any]:
        """Fit, then transform the same rows."""
        self.fit(
            X,
            y,
            sensitive_features=sensitive_features,
            control_features=control_features,
            sample_weight=sample_weight,
            reference_rows=reference_rows,
        )
        return self.transform(X, sensitive_features=sensitive_features, control_features=control_features)

    def _feature_settings(
        self, features: Features, sensitive: list[NamedColumn], reference_rows: Any = None
    ) -> dict[str, Any]:
        if self.n_components is None:
            raise _oblivio.InvalidInputError("n_components must be a positive whole number, got None")
        return self._settings(features, sensitive, reference_rows) | {"kernel": self._kernel_expression()}

    @property
    def n_components_(self) -> int:
        """The number of landmarks, and of features."""
        check_is_fitted(self, "model_")
        return int(self.model_.components)

    @property
    def landmarks_(self) -> np.ndarray[Any, Any]:
        """The landmarks, as encoded."""
        check_is_fitted(self, "model_")
        landmarks: np.ndarray[Any, Any] = self.model_.landmarks
        return landmarks

    @property
    def _n_features_out(self) -> int:
        return int(self.model_.components)
