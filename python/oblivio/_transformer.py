"""Oblivious features for linear learners."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from oblivio import _oblivio
from oblivio._base import ObliviousEstimator, count
from oblivio._files import Saved
from oblivio._input import warn


class ObliviousTransformer(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    Saved,
    ObliviousEstimator,
):
    """Nyström features of a kernel, with the sensitive features' influence on their means taken out.

    At ``strength=1`` every linear function of the features has the same mean in every cell, on the reference rows. A
    nonlinear learner can still tell the cells apart: give these features to linear models only. Without sensitive
    features these are ordinary Nyström features.

    Parameters
    ----------
    kernel, gamma, degree, coef0, strength, cells, binning, reference, handle_unknown, sensitive_bounds, \
sensitive_feature_ids, categorical_features, categorical_sensitive, standardize, random_state, verbose
        As in :class:`ObliviousRidge`.
    n_components : int, default=256
        The number of features: landmarks drawn from the distinct rows of the fit.

    Attributes
    ----------
    model_ : FeatureModel
        The engine's fitted map.
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
        strength: float = 1.0,
        cells: Any = "auto",
        binning: str = "quantile",
        reference: str = "all",
        handle_unknown: str = "error",
        sensitive_bounds: Any = None,
        sensitive_feature_ids: Any = None,
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
        self.strength = strength
        self.cells = cells
        self.binning = binning
        self.reference = reference
        self.handle_unknown = handle_unknown
        self.sensitive_bounds = sensitive_bounds
        self.sensitive_feature_ids = sensitive_feature_ids
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
        sample_weight: Any = None,
        reference_rows: Any = None,
    ) -> ObliviousTransformer:
        """Fit the features; y is not used. Parameters as in :meth:`ObliviousRidge.fit`."""
        self.__dict__.pop("model_", None)
        self.__dict__.pop("_file_columns", None)
        features, sensitive = self._read_fit(X, sensitive_features)
        settings = self._settings(features, sensitive, reference_rows) | {"kernel": self._kernel_expression()}
        model, remarks = _oblivio.FeatureModel.fit(
            features.table(),
            sensitive,
            self._weights(sample_weight, features.rows),
            settings,
            count("n_components", self.n_components),
            self._progress(),
        )
        self.model_ = model
        warn(remarks)
        return self

    def transform(self, X: Any, *, sensitive_features: Any = None) -> np.ndarray[Any, Any]:
        """The oblivious features, of shape (n_samples, n_components)."""
        check_is_fitted(self)
        needed = bool(self.sensitive_feature_names_) and self.strength != 0
        features, sensitive = self._read_new(X, sensitive_features, "transform", needed=needed)
        transformed, uses = self.model_.transform(features.table(), sensitive, self._progress())
        warn([], uses)
        return transformed

    def fit_transform(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        reference_rows: Any = None,
    ) -> np.ndarray[Any, Any]:
        """Fit, then transform the same rows."""
        self.fit(
            X, y, sensitive_features=sensitive_features, sample_weight=sample_weight, reference_rows=reference_rows
        )
        return self.transform(X, sensitive_features=sensitive_features)

    @property
    def _n_features_out(self) -> int:
        return int(self.model_.components)
