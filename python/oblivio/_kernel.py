"""The paper's matrix, exact."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from oblivio import _oblivio
from oblivio._base import ObliviousEstimator
from oblivio._files import Saved
from oblivio._input import warn


class ObliviousKernel(Saved, ObliviousEstimator):
    """Inner products of oblivious features: a kernel on pairs of a point and a sensitive value.

    The matrix can be given to any kernel method that takes a precomputed one.

    Parameters
    ----------
    kernel, gamma, degree, coef0, strength, conditional_mean, shrinkage, cells, binning, min_rows, handle_unknown, \
sensitive_bounds, sensitive_feature_ids, control_feature_ids, categorical_features, categorical_sensitive, \
standardize, random_state, verbose
        As in :class:`ObliviousRidge`.

    Examples
    --------
    >>> import numpy as np
    >>> import oblivio as ob
    >>> x, s = np.array([[2.0], [0.0], [1.0], [5.0]]), [0, 0, 1, 1]
    >>> kernel = ob.ObliviousKernel(kernel="linear").fit(x, sensitive_features=s)
    >>> kernel.matrix([[1.0], [2.0]], [0, 1])
    array([[4., 2.],
           [2., 1.]])
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        strength: float = 1.0,
        conditional_mean: str = "auto",
        shrinkage: bool = False,
        cells: Any = "auto",
        binning: str = "quantile",
        min_rows: int | None = None,
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
        self.strength = strength
        self.conditional_mean = conditional_mean
        self.shrinkage = shrinkage
        self.cells = cells
        self.binning = binning
        self.min_rows = min_rows
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
    ) -> ObliviousKernel:
        """Estimate the means on reference rows; y is not used."""
        self.__dict__.pop("model_", None)
        self.__dict__.pop("_file_columns", None)
        if control_features is not None:
            raise _oblivio.InvalidInputError(
                "ObliviousKernel takes legitimate factors as columns of X; name them in control_feature_ids"
            )
        features, sensitive = self._read_fit(X, sensitive_features, control_features)
        settings = self._settings(features, sensitive) | {"kernel": self._kernel_expression()}
        model, remarks = _oblivio.KernelModel.fit(
            features.table(), sensitive, self._weights(sample_weight, features.rows), settings, self._progress()
        )
        self.model_ = model
        warn(remarks)
        return self

    def matrix(self, X: Any, S: Any = None, X2: Any = None, S2: Any = None) -> np.ndarray[Any, Any]:
        """Inner products of the rows of X with those of X2, or with each other.

        Parameters
        ----------
        X, X2 : arrays or frames
            Features, as in the fit.
        S, S2 : arrays, Series, frames or lists, default=None
            Sensitive values. Rows without are plain features, rows with are oblivious ones. With
            ``sensitive_feature_ids`` they are columns of X and X2.

        Returns
        -------
        ndarray of shape (n, n) or (n, n2)
        """
        check_is_fitted(self)
        features, sensitive = self._read_new(X, S, "compute the matrix", needed=False)
        if X2 is None and S2 is not None:
            raise _oblivio.InvalidInputError("S2 is given without X2; give the rows it belongs to")
        others = None
        if X2 is not None:
            other_features, other_sensitive = self._read_new(X2, S2, "compute the matrix", needed=False)
            others = (other_features.table(), other_sensitive)
        matrix, uses = self.model_.matrix((features.table(), sensitive), others, self._progress())
        warn([], uses)
        return matrix
