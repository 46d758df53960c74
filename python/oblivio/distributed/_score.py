"""Scores, features and released values of the rows of a table, made by the engine's workers."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from oblivio._files import fitted
from oblivio._oblivio import InvalidInputError
from oblivio._release import ObliviousRelease
from oblivio.distributed._engine import engine_of
from oblivio.distributed._parts import Task
from oblivio.distributed._roles import some_of

_METHODS = ("predict", "decision_function", "predict_proba", "predict_log_proba", "transform")
# What later calls go on from, and what a search found: nothing that scores rows.
_LEFT_BEHIND = ("_state", "path_")


def predict(data: Any, estimator: Any, *, keep: Any = None, method: str = "predict", name: str = "prediction") -> Any:
    """The table with one more column, the predictions: a lazy frame of its engine.

    Parameters
    ----------
    data : pyspark.sql.DataFrame, dask.dataframe.DataFrame or Engine
        The table. The model finds its columns by name, the sensitive ones too.
    estimator : ObliviousRidge, ObliviousRidgeCV, ObliviousSVC or ObliviousLogistic
        Fitted.
    keep : str or list of str, default=None
        The columns of the table that stay; None is all.
    method : {"predict", "decision_function", "predict_proba", "predict_log_proba"}, default="predict"
        Which method of the estimator.
    name : str, default="prediction"
        The new column: a number, the class, or an array where a row has several numbers (in Dask: columns ``name_0``,
        ``name_1``, …).
    """
    if method not in _METHODS[:4] or not hasattr(estimator, method):
        raise InvalidInputError(f"{type(estimator).__name__} has no method {method!r} that scores rows")
    return _scored(data, estimator, keep, method, name)


def transform(data: Any, estimator: Any, *, keep: Any = None, name: str = "features") -> Any:
    """The table with the oblivious features as one more column, or released: a lazy frame of its engine.

    Parameters
    ----------
    data, keep
        As in :func:`predict`.
    estimator : ObliviousTransformer or ObliviousRelease
        Fitted. A release gives the columns back that it is given, of the same types.
    name : str, default="features"
        The new column: an array (in Dask: columns ``name_0``, ``name_1``, …).
    """
    if not hasattr(estimator, "transform"):
        raise InvalidInputError(f"{type(estimator).__name__} does not transform rows")
    if not isinstance(estimator, ObliviousRelease):
        return _scored(data, estimator, keep, "transform", name)
    engine = engine_of(data)
    kept = list(engine.names) if keep is None else some_of(engine.names, keep, "keep")
    work = Releasing.of(estimator, engine.names)
    return engine.frame(work, kept)


def _scored(data: Any, estimator: Any, keep: Any, method: str, name: str) -> Any:
    engine = engine_of(data)
    kept = list(engine.names) if keep is None else some_of(engine.names, keep, "keep")
    if name in kept:
        raise InvalidInputError(
            f"the table has a column {name!r} already; choose another name=, or leave it out of keep"
        )
    return engine.frame(Scoring.of(estimator, engine.names, method, name), kept)


@dataclass(frozen=True)
class _Applying(Task):
    """A fitted estimator that finds its columns by name."""

    estimator: Any = field(repr=False)
    features: list[str]
    sensitive: list[str]
    control: list[str]

    @property
    def reads(self) -> list[str]:
        """The columns it looks at, each once."""
        return list(dict.fromkeys([*self.features, *self.sensitive, *self.control]))

    def _applied(self, method: str, rows: Any) -> Any:
        given: dict[str, Any] = {}
        if self.sensitive:
            given["sensitive_features"] = _select(rows, self.sensitive)
        if self.control:
            given["control_features"] = _select(rows, self.control)
        return getattr(self.estimator, method)(_select(rows, self.features), **given)


def _columns(estimator: Any, names: Sequence[str], needed: bool) -> tuple[Any, list[str], list[str], list[str]]:
    """What to send to workers, and the columns that it needs of a table with these names."""
    own = copy.copy(estimator)
    for left in _LEFT_BEHIND:
        own.__dict__.pop(left, None)
    own.verbose = False
    fitted(own, estimator.model_)
    apart = [*own.sensitive_feature_names_, *own.control_feature_names_]
    if not needed and not all(name in names for name in apart):
        return own, some_of(names, own._file_columns, "the model"), [], []
    return (
        own,
        some_of(names, own._file_columns, "the model"),
        some_of(names, own.sensitive_feature_names_, "the model"),
        some_of(names, own.control_feature_names_, "the model"),
    )


@dataclass(frozen=True)
class Scoring(_Applying):
    """Adds the scores of the rows."""

    method: str
    name: str
    kind: pa.DataType

    @classmethod
    def of(cls, estimator: Any, names: Sequence[str], method: str, name: str = "score") -> Scoring:
        """With what of the estimator a worker needs."""
        check_is_fitted(estimator, "model_")
        if method == "transform":
            needed = bool(estimator.sensitive_feature_names_) and estimator.strength != 0
        else:
            needed = estimator.model_.needs_sensitive
        return cls(*_columns(estimator, names, needed), method, name, _kind(estimator, method))

    @property
    def makes(self) -> dict[str, pa.DataType]:
        """The one column."""
        return {self.name: self.kind}

    @property
    def width(self) -> int:
        """How many numbers a row has, where these are an array."""
        if self.method == "transform":
            return int(self.estimator.n_components_)
        return len(self.estimator.classes_)

    def __call__(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """The one column."""
        return {self.name: as_column(self.values(pa.Table.from_batches([batch])), self.kind)}

    def values(self, rows: pa.Table) -> np.ndarray[Any, Any]:
        """The scores of the rows."""
        return np.asarray(self._applied(self.method, rows))


@dataclass(frozen=True)
class Releasing(_Applying):
    """Replaces the values of columns by released ones."""

    @property
    def makes(self) -> dict[str, pa.DataType]:
        """No column that was not there."""
        return {}

    @classmethod
    def of(cls, estimator: ObliviousRelease, names: Sequence[str]) -> Releasing:
        """With what of the estimator a worker needs."""
        check_is_fitted(estimator, "model_")
        return cls(*_columns(estimator, names, needed=True))

    def __call__(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """The released columns."""
        released = self.released(pa.Table.from_batches([batch]))
        return {name: _whole(released.column(name)) for name in released.column_names}

    def released(self, rows: Any) -> Any:
        """The features of the rows, released: a frame of the same kind."""
        return self._applied("transform", rows)


def _select(rows: Any, names: list[str]) -> Any:
    """Columns of an Arrow table or a pandas frame."""
    return rows.select(names) if isinstance(rows, pa.Table) else rows[names]


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _kind(estimator: Any, method: str) -> pa.DataType:
    """The type of what a method gives for a row."""
    if method == "predict" and hasattr(estimator, "classes_"):
        kinds = {"b": pa.bool_(), "i": pa.int64(), "u": pa.int64(), "f": pa.float64()}
        return kinds.get(estimator.classes_.dtype.kind, pa.string())
    several = method in ("predict_proba", "predict_log_proba", "transform")
    if several or (method == "decision_function" and len(estimator.classes_) > 2):
        return pa.list_(pa.float64())
    return pa.float64()


def as_column(values: np.ndarray[Any, Any], kind: pa.DataType) -> pa.Array:
    """Scores as a column of this type; several of a row become one value."""
    if values.ndim == 1:
        return pa.array(values.tolist() if values.dtype == object else values, type=kind, from_pandas=False)
    ends = np.arange(len(values) + 1, dtype=np.int32) * np.int32(values.shape[1])
    flat = pa.array(np.ascontiguousarray(values, dtype=np.float64).ravel())
    return pa.ListArray.from_arrays(pa.array(ends), flat)
