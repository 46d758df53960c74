"""Offsets for any scorer."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, has_fit_parameter

from oblivio import _oblivio
from oblivio._base import ObliviousEstimator
from oblivio._input import ANYWHERE, Features, warn


class Offset(MetaEstimatorMixin, ObliviousEstimator):  # type: ignore[misc]
    """Takes the differences of the cells' mean scores off any regressor or binary classifier.

    The score becomes h(x) − t·b(s), where b is the mean of h over the cell of s less its overall mean. The means come
    from out-of-fold scores: scores at the rows of the fit would hide what an overfitting model leaks. Equal means are
    not independence.

    Parameters
    ----------
    estimator : estimator
        A regressor, or a binary classifier with ``decision_function``. It sees X without the sensitive columns.
    strength, conditional_mean, shrinkage, cells, binning, min_rows, handle_unknown, sensitive_bounds, \
sensitive_feature_ids, control_feature_ids, categorical_sensitive, random_state
        As in :class:`ObliviousRidge`.
    cv : int or splitter, default=5
        The folds.

    Examples
    --------
    >>> import numpy as np
    >>> import oblivio as ob
    >>> from sklearn.linear_model import LinearRegression
    >>> s = np.repeat([0, 1], 50)
    >>> X = np.random.default_rng(0).normal(size=(100, 1)) + 3 * s[:, None]
    >>> model = ob.Offset(LinearRegression()).fit(X, X[:, 0], sensitive_features=s)
    >>> scores = model.predict(X, sensitive_features=s)
    >>> bool(abs(scores[:50].mean() - scores[50:].mean()) < 1e-6)
    True
    """

    _fitter = "offset"

    def __init__(
        self,
        estimator: Any,
        *,
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
        categorical_sensitive: Any = "auto",
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
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
        self.categorical_sensitive = categorical_sensitive
        self.cv = cv
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, *, sensitive_features: Any = None, control_features: Any = None, sample_weight: Any = None
    ) -> Offset:
        """Fit the estimator, and the offsets on its out-of-fold scores."""
        for fitted in ("model_", "estimator_", "classes_"):
            self.__dict__.pop(fitted, None)
        features, sensitive = self._read_fit(X, sensitive_features, control_features)
        if y is None:
            raise _oblivio.InvalidInputError("Offset requires y to be passed, but the target y is None")
        weights = self._weights(sample_weight, features.rows)
        inner = self._inner(features)
        y = column_or_1d(y, warn=True)
        check_consistent_length(inner, y)
        if is_classifier(self.estimator) and type_of_target(y, raise_unknown=True) != "binary":
            raise _oblivio.InvalidInputError(
                f"Only binary classification is supported. The type of the target is {type_of_target(y)}."
            )
        passed = {} if weights is None else {"sample_weight": weights}
        if passed and not has_fit_parameter(self.estimator, "sample_weight"):
            raise _oblivio.InvalidInputError(
                f"{type(self.estimator).__name__} takes no sample_weight; leave it out or choose another estimator"
            )
        self.estimator_ = clone(self.estimator).fit(inner, y, **passed)
        if is_classifier(self.estimator):
            self.classes_ = self.estimator_.classes_
        if not sensitive:
            self.model_ = None
            return self
        weights = np.ones(features.rows) if weights is None else weights
        scores = np.zeros(features.rows)
        for train, test in self._folds(inner, y, weights):
            fold = {name: values[train] for name, values in passed.items()}
            fitted = clone(self.estimator).fit(inner[train], y[train], **fold)
            scores[test] = getattr(fitted, self._method())(inner[test])
        model, remarks = _oblivio.OffsetModel.fit(
            scores, sensitive, weights, self._settings(features, sensitive) | {"kernel": "linear"}
        )
        self.model_ = model
        self.notes_ = warn(remarks)
        return self

    def predict(self, X: Any, *, sensitive_features: Any = None, control_features: Any = None) -> np.ndarray[Any, Any]:
        """Scores of a regressor; classes of a classifier, whose decision is where the score passes zero."""
        scores = self._scores(X, sensitive_features, "predict", control_features)
        if hasattr(self, "classes_"):
            return np.asarray(self.classes_[(scores > 0).astype(int)])
        return scores

    @available_if(lambda self: is_classifier(self.estimator))  # type: ignore[untyped-decorator]
    def decision_function(
        self, X: Any, *, sensitive_features: Any = None, control_features: Any = None
    ) -> np.ndarray[Any, Any]:
        """Scores of a classifier."""
        return self._scores(X, sensitive_features, "decide", control_features)

    def score(
        self, X: Any, y: Any, *, sensitive_features: Any = None, control_features: Any = None, sample_weight: Any = None
    ) -> float:
        """R² of a regressor, accuracy of a classifier."""
        from sklearn.metrics import accuracy_score, r2_score

        predictions = self.predict(X, sensitive_features=sensitive_features, control_features=control_features)
        measure = accuracy_score if hasattr(self, "classes_") else r2_score
        return float(measure(y, predictions, sample_weight=sample_weight))

    def _scores(self, X: Any, sensitive_features: Any, verb: str, control_features: Any = None) -> np.ndarray[Any, Any]:
        check_is_fitted(self, "model_")
        needed = self.model_ is not None and self.strength > 0
        features, sensitive = self._read_new(
            X, sensitive_features, verb, needed=needed, control_features=control_features
        )
        scores = np.asarray(getattr(self.estimator_, self._method())(self._inner(features)), dtype=np.float64)
        if self.model_ is None or sensitive is None:
            return scores
        less, uses = self.model_.apply(np.ascontiguousarray(scores), sensitive)
        self._warn_uses(uses)
        return less

    def _may_miss(self) -> Any:
        # Whether values may be missing is the estimator's business.
        return ANYWHERE

    def _inner(self, features: Features) -> Any:
        table = features.table()
        if not isinstance(table, tuple):
            raise _oblivio.InvalidInputError(
                "Offset hands X on as numbers, and X has other columns; encode them before, or inside the estimator's "
                "own Pipeline"
            )
        return table[0]

    def _method(self) -> str:
        return "decision_function" if is_classifier(self.estimator) else "predict"

    def _folds(self, X: Any, y: Any, weights: Any) -> Any:
        """Equal rows share a fold, so that a weight is the same as a repetition and no row helps to score its twin."""
        counted = np.flatnonzero(weights > 0)
        if not isinstance(self.cv, (int, np.integer)):
            splitter = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
            return [(np.intersect1d(train, counted), test) for train, test in splitter.split(X, y)]
        if self.cv < 2:
            raise _oblivio.InvalidInputError(f"cv must be at least 2, got {self.cv}")
        rows = X[counted]
        labels = np.unique(y[counted], return_inverse=True)[1] if is_classifier(self.estimator) else np.zeros(len(rows))
        distinct, twin = np.unique(np.column_stack([labels, rows]), axis=0, return_inverse=True)
        if np.unique(distinct[:, 0], return_counts=True)[1].min() < 2:
            # All rows of a class are equal: apart from each other, or the other folds would not know the class.
            distinct, twin = np.column_stack([labels, rows]), np.arange(len(rows))
        shuffled = np.random.default_rng(self._seed()).permutation(len(distinct))
        # Sorted by label and shuffled within: every fold gets its share of each class.
        order = shuffled[np.argsort(distinct[shuffled, 0], kind="stable")]
        fold = np.empty(len(distinct), dtype=int)
        fold[order] = np.arange(len(distinct)) % max(2, min(int(self.cv), len(distinct)))
        of_row = fold[twin.ravel()]
        return [(counted[of_row != k], counted[of_row == k]) for k in np.unique(of_row)]

    def get_metadata_routing(self) -> MetadataRouter:
        """S and the weights stay here; the estimator gets the weights from us."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self.estimator, method_mapping=MethodMapping())
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.input_tags.allow_nan &= inner.input_tags.allow_nan
        tags.target_tags = inner.target_tags
        tags.target_tags.multi_output = False
        tags.regressor_tags = inner.regressor_tags
        tags.classifier_tags = inner.classifier_tags
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_class = False
        return tags
