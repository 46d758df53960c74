"""The paper's matrix, exact."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from oblivio import _oblivio
from oblivio._base import ObliviousEstimator, check_rows
from oblivio._files import Saved
from oblivio._input import Features, NamedColumn, sensitive_columns, warn
from oblivio._objects import is_table, objects_of, read_new


class ObliviousKernel(Saved, ObliviousEstimator):
    """Inner products of oblivious features: a kernel on pairs of a point and a sensitive value.

    The matrix can be given to any kernel method that takes a precomputed one.

    Examples
    --------
    >>> import numpy as np
    >>> import oblivio as ob
    >>> x, s = np.array([[2.0], [0.0], [1.0], [5.0]]), [0, 0, 1, 1]
    >>> kernel = ob.ObliviousKernel(kernel="linear", standardize=False).fit(x, sensitive_features=s)
    >>> kernel.matrix([[1.0], [2.0]], [0, 1])
    array([[4., 2.],
           [2., 1.]])

    Parameters
    ----------
    strength : float, default=1.0
        Share of the conditional mean that is removed, 0 to 1. At 1 the mean score is equal in every cell of the
        reference rows (conditional mean by cells). At 0 nothing is removed.
    kernel : str, Kernel or callable, default="rbf"
        Kernel, or an expression such as 'rbf(gamma=2) + linear'. linear, poly, rbf, laplacian, matern12, matern32 or
        matern52, or sums and products of them. On the exact path also 'precomputed', where X is the matrix of its
        values, or a callable of two objects, where X holds objects.
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
    """

    _fitter = "kernel"
    _takes_objects = True

    # settings: begin
    def __init__(
        self,
        *,
        strength: float = 1.0,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        conditional_mean: str = "auto",
        shrinkage: bool = False,
        cells: Any = "auto",
        binning: str = "quantile",
        min_rows: int | None = None,
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
        self.conditional_mean = conditional_mean
        self.shrinkage = shrinkage
        self.cells = cells
        self.binning = binning
        self.min_rows = min_rows
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
    ) -> ObliviousKernel:
        """Estimate the means on reference rows; y is not used."""
        self.__dict__.pop("model_", None)
        self.__dict__.pop("_file_columns", None)
        if control_features is not None:
            raise _oblivio.InvalidInputError(
                "ObliviousKernel takes legitimate factors as columns of X; name them in control_feature_ids"
            )
        features, sensitive = self._read_fit(X, sensitive_features, control_features)
        settings = self._settings(features, sensitive) | {"kernel": self._kernel_setting(features)}
        model, remarks = _oblivio.KernelModel.fit(
            features.table(), sensitive, self._weights(sample_weight, features.rows), settings, self._progress()
        )
        self.model_ = model
        self.notes_ = warn(remarks)
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

        With ``kernel="precomputed"`` a row of X holds its values with the rows of the fit, then its values with the
        rows of X itself, and X2 is None. With a callable X and X2 hold objects.

        Returns
        -------
        ndarray of shape (n, n) or (n, n2)
        """
        check_is_fitted(self)
        if is_table(self.kernel):
            return self._matrix_of_objects(X, S, X2, S2)
        features, sensitive = self._read_new(X, S, "compute the matrix", needed=False)
        if X2 is None and S2 is not None:
            raise _oblivio.InvalidInputError("S2 is given without X2; give the rows it belongs to")
        others = None
        if X2 is not None:
            other_features, other_sensitive = self._read_new(X2, S2, "compute the matrix", needed=False)
            others = (other_features.table(), other_sensitive)
        matrix, uses = self.model_.matrix((features.table(), sensitive), others, self._progress())
        self._warn_uses(uses)
        return matrix

    def _matrix_of_objects(self, X: Any, S: Any, X2: Any, S2: Any) -> np.ndarray[Any, Any]:
        """The matrix of rows that are known by the values of their kernel: all of them together, then a block of it."""
        if X2 is not None and self.objects_ is None:
            raise _oblivio.InvalidInputError(
                "with kernel='precomputed' X2 must be None; give the rows of both in X and take a block of the matrix"
            )
        both = X if X2 is None else [*objects_of(X), *objects_of(X2)]
        features = read_new(self, both, with_own=True)
        model = features.known_to(self.model_)
        first = features.rows if X2 is None else len(objects_of(X))
        rows = [self._part(features, range(first), S)]
        if X2 is not None:
            rows.append(self._part(features, range(first, features.rows), S2))
        matrix: np.ndarray[Any, Any]
        matrix, uses = model.matrix(rows[0], rows[1] if X2 is not None else None, self._progress())
        self._warn_uses(uses)
        return matrix

    def _part(self, features: Features, rows: range, S: Any) -> tuple[Any, list[NamedColumn] | None]:
        """Some numbered rows and their sensitive values, as the engine takes them."""
        matrix, names = features.table()
        sensitive = None
        if S is not None:
            sensitive = sensitive_columns(S, self.sensitive_feature_names_)
            check_rows(sensitive, len(rows))
        return (np.ascontiguousarray(matrix[rows.start : rows.stop]), names), sensitive
