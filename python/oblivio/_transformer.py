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

    Parameters
    ----------
    kernel, gamma, degree, coef0, strength, conditional_mean, shrinkage, cells, binning, min_rows, reference, \
handle_unknown, sensitive_bounds, sensitive_feature_ids, control_feature_ids, categorical_features, \
categorical_sensitive, standardize, random_state, verbose
        As in :class:`ObliviousRidge`.
    n_components : int, default=256
        The most features: one for each landmark, drawn from the distinct rows of the fit.
    landmarks, tolerance
        As in :class:`ObliviousRidge`. With a tolerance there may be fewer features.

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

    Examples
    --------
    >>> import numpy as np
    >>> import oblivio as ob
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> z = ob.ObliviousTransformer(n_components=8, sensitive_feature_ids=[0]).fit_transform(X)
    >>> z.shape
    (50, 8)
    """

    __metadata_request__fit: ClassVar = {"reference_rows": True}
    __metadata_request__fit_transform: ClassVar = {"reference_rows": True}

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        n_components: int = 256,
        landmarks: str = "cholesky",
        tolerance: float = 0.0,
        strength: float = 1.0,
        conditional_mean: str = "auto",
        shrinkage: bool = False,
        cells: Any = "auto",
        binning: str = "quantile",
        min_rows: int | None = None,
        reference: str = "all",
        handle_unknown: str = "error",
        sensitive_bounds: Any = None,
        sensitive_feature_ids: Any = None,
        control_feature_ids: Any = None,
        categorical_features: Any = "auto",
        categorical_sensitive: Any = "auto",
        standardize: bool = False,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.landmarks = landmarks
        self.tolerance = tolerance
        self.strength = strength
        self.conditional_mean = conditional_mean
        self.shrinkage = shrinkage
        self.cells = cells
        self.binning = binning
        self.min_rows = min_rows
        self.reference = reference
        self.handle_unknown = handle_unknown
        self.sensitive_bounds = sensitive_bounds
        self.sensitive_feature_ids = sensitive_feature_ids
        self.control_feature_ids = control_feature_ids
        self.categorical_features = categorical_features
        self.categorical_sensitive = categorical_sensitive
        self.standardize = standardize
        self.random_state = random_state
        self.verbose = verbose

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
        warn(remarks)
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
        join, new categories of X follow ``handle_unknown``. ``reference="half"`` is refused. As with
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
        warn(remarks, uses)
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
        warn([], uses)
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
        return (
            self._settings(features, sensitive, reference_rows)
            | self._landmark_settings()
            | {"kernel": self._kernel_expression()}
        )

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
