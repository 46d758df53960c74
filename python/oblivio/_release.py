"""Released tables: the rows of X with the sensitive features' influence taken out of their values."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from oblivio import _oblivio
from oblivio._base import ObliviousEstimator, bounds_of, check_rows, count, number, text
from oblivio._cluster import ReleasesOnClusters
from oblivio._files import Saved
from oblivio._input import ANYWHERE, Features, NamedColumn, columns_of, warn
from oblivio._oblivio import InvalidInputError
from oblivio._release_report import ReleaseReport
from oblivio._released import like


class ObliviousRelease(
    OneToOneFeatureMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    ReleasesOnClusters,
    Saved,
    ObliviousEstimator,
):
    """The rows of X again, with the sensitive features' influence taken out of their values.

    What comes out has the columns, the types and the kind of what goes in: a frame for a frame, an array for an array.
    Sensitive features that are columns of X stay as they were. Use it where people need rows; where they need a score,
    a predictor such as :class:`ObliviousRidge` promises more and costs less.

    A released table is not anonymised. Rows are still the rows of people.

    Parameters
    ----------
    method : {"quantile", "joint", "projection", "residual"}, default="quantile"
        ``"quantile"`` gives each column a distribution that is the same whatever S is, ``"joint"`` does the same and
        then aligns all columns together, ``"residual"`` moves each column of numbers by its conditional mean,
        ``"projection"`` looks for the row whose kernel features are nearest to oblivious ones. ``"quantile"`` and
        ``"residual"`` look at each column by itself.
    strength : float, default=1.0
        0 changes nothing, 1 takes out all that the method can.
    conditional_mean, cells, binning, min_rows, handle_unknown, handle_missing, sensitive_bounds, \
sensitive_feature_ids, categorical_features, categorical_sensitive, random_state, verbose
        As in :class:`ObliviousRidge`; ``handle_missing="sensitive-free"`` is refused.
    missing_values : {"error", "keep"}, default="error"
        Missing values of features: refuse them, or keep them missing.
    ranges : dict, default=None
        The least and the largest value of columns, ``{"age": (18, 65)}``. Default: those of the fit.
    kernel, gamma, degree, coef0, n_components
        For the method ``"projection"``: its kernel, and landmarks in place of all rows.
    bandwidths : list of float, default=None
        For the method ``"projection"``: the factors of gamma that are tried.
    discrete : {"enumerate", "keep"}, default="enumerate"
        For the method ``"projection"``: try the values of columns of categories and whole numbers, or leave these be.

    Attributes
    ----------
    model_ : ReleaseModel
        The engine's fitted release. It holds values of the fit: keep it as safe as the data.
    sensitive_feature_names_ : list of str
        The sensitive features.

    Examples
    --------
    >>> import oblivio as ob
    >>> table = ob.datasets.admissions(500, random_state=1)
    >>> release = ob.ObliviousRelease()
    >>> rows = release.fit_transform(table.features, sensitive_features=table.sensitive[["sex"]])
    >>> list(rows.columns) == list(table.features.columns)
    True
    """

    _fitter = "release"

    __metadata_request__fit: ClassVar = {"control_features": UNUSED}
    __metadata_request__transform: ClassVar = {"control_features": UNUSED}
    __metadata_request__fit_transform: ClassVar = {"control_features": UNUSED}

    def __init__(
        self,
        *,
        method: str = "quantile",
        strength: float = 1.0,
        conditional_mean: str = "auto",
        cells: Any = "auto",
        binning: str = "quantile",
        min_rows: int | None = None,
        handle_unknown: str = "error",
        handle_missing: str = "error",
        missing_values: str = "error",
        ranges: Any = None,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        n_components: int | None = None,
        bandwidths: Any = None,
        discrete: str = "enumerate",
        sensitive_bounds: Any = None,
        sensitive_feature_ids: Any = None,
        categorical_features: Any = "auto",
        categorical_sensitive: Any = "auto",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.method = method
        self.strength = strength
        self.conditional_mean = conditional_mean
        self.cells = cells
        self.binning = binning
        self.min_rows = min_rows
        self.handle_unknown = handle_unknown
        self.handle_missing = handle_missing
        self.missing_values = missing_values
        self.ranges = ranges
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.bandwidths = bandwidths
        self.discrete = discrete
        self.sensitive_bounds = sensitive_bounds
        self.sensitive_feature_ids = sensitive_feature_ids
        self.categorical_features = categorical_features
        self.categorical_sensitive = categorical_sensitive
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None
    ) -> ObliviousRelease:
        """Fit the release; y is not used.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The rows.
        y : None
            Not used.
        sensitive_features : array, Series, frame or list, default=None
            The sensitive features, if they are not columns of X named by ``sensitive_feature_ids``. Without any, a
            release changes nothing.
        sample_weight : array of shape (n_samples,), optional
            How often each row counts.
        """
        if hasattr(self, "_file_columns"):
            del self._file_columns
        features, sensitive = self._read_fit(X, sensitive_features)
        model, remarks = _oblivio.ReleaseModel.fit(
            features.table(),
            sensitive,
            self._weights(sample_weight, features.rows),
            self._release_settings(features, sensitive),
            self._progress(),
        )
        self.model_ = model
        self.notes_ = warn(remarks)
        return self

    def transform(self, X: Any, *, sensitive_features: Any = None) -> Any:
        """The rows of X as they are released: a frame for a frame, an array for an array, of the same types."""
        check_is_fitted(self)
        needed = bool(self.sensitive_feature_names_)
        features, sensitive = self._read_new(X, sensitive_features, "transform", needed=needed)
        released, uses, clipped = self.model_.transform(features.table(), sensitive or [], self._progress())
        unseen = uses.pop("unseen_level")
        counted = {
            "lay outside the range of their column and were moved to its end": clipped,
            "are of categories that were not there at the fit, and were left as they are": unseen,
        }
        warn([f"{count} values {what}" for what, count in counted.items() if count], uses)
        return like(X, self._places(X), released)

    def fit_transform(self, X: Any, y: Any = None, *, sensitive_features: Any = None, sample_weight: Any = None) -> Any:
        """Fit, then release the same rows."""
        self.fit(X, y, sensitive_features=sensitive_features, sample_weight=sample_weight)
        return self.transform(X, sensitive_features=sensitive_features)

    def report(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        held_out: float = 0.3,
        measure_cells: int | str = 4,
        n_permutations: int = 199,
        n_resamples: int = 199,
        confidence: float = 0.95,
        title: str | None = None,
    ) -> ReleaseReport:
        """What a release with these settings does to rows that it was not fitted on.

        A release is fitted on some of the rows and judged on the others: how much they depend on the sensitive features
        before and after, what an adversary finds, how far values moved, and what can still be learned. This estimator,
        fitted or not, stays as it is.

        Parameters
        ----------
        X, sensitive_features, sample_weight
            As in :meth:`fit`.
        y : array of shape (n_samples,), optional
            A target that is not released, and of which the features should still tell.
        held_out : float, default=0.3
            The share of rows that judge.
        measure_cells : int or str, default=4
            Cells of each continuous sensitive feature where dependence is measured.
        n_permutations, n_resamples : int, default=199
            Shuffles for the level under independence, and samples for the intervals.
        confidence : float, default=0.95
            Of intervals.
        title : str, optional
            Of the page.
        """
        own = clone(self)
        features, sensitive = own._read_fit(X, sensitive_features)
        if not sensitive:
            raise InvalidInputError("there is no sensitive feature to judge a release by; give sensitive_features")
        target = None
        if y is not None:
            target = columns_of(y, "y")[0]
            check_rows([target], features.rows)
        judged = {
            "held_out": number("held_out", held_out),
            "measure_cells": str(measure_cells),
            "permutations": count("n_permutations", n_permutations),
            "resamples": count("n_resamples", n_resamples),
            "confidence": number("confidence", confidence),
            "seed": own._seed(),
        }
        model = _oblivio.ReleaseReportModel.run(
            features.table(),
            sensitive,
            target,
            own._weights(sample_weight, features.rows),
            own._release_settings(features, sensitive),
            judged,
            own._progress(),
        )
        return ReleaseReport(model, title or "Release")

    _keeps_types: ClassVar[bool] = True

    def _may_miss(self) -> Any:
        return ANYWHERE if self.missing_values == "keep" else super()._may_miss()

    def _places(self, X: Any) -> list[int]:
        """Where the released columns are among the columns of X."""
        if hasattr(self, "_file_columns"):
            return Features.places(X, self._file_columns)
        names = self._names_in()
        return [names.index(name) for name, _ in self.model_.feature_columns]

    def _names_in(self) -> list[str]:
        """The columns of X, the sensitive ones among them."""
        names = getattr(self, "feature_names_in_", [f"x{k}" for k in range(self.n_features_in_)])
        return [str(name) for name in names]

    def _release_settings(self, features: Features, sensitive: list[NamedColumn]) -> dict[str, Any]:
        bandwidths = self.bandwidths
        if bandwidths is not None:
            bandwidths = [number("bandwidths", factor) for factor in bandwidths]
        return self._settings(features, sensitive) | {
            "kernel": self._kernel_expression(),
            "method": text("method", self.method),
            "missing_values": text("missing_values", self.missing_values),
            "ranges": _ranges(self.ranges, self._names_in()),
            "components": None if self.n_components is None else count("n_components", self.n_components),
            "bandwidths": bandwidths,
            "discrete": text("discrete", self.discrete),
        }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing_values == "keep"
        return tags


def _ranges(ranges: Any, names: list[str]) -> list[tuple[str, float, float]]:
    if ranges is None:
        return []
    if not isinstance(ranges, dict):
        raise InvalidInputError(f"ranges must be a dictionary of pairs (low, high) by column, got {ranges!r}")
    return bounds_of(ranges, names, "ranges")
