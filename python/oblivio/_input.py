"""What users bring (arrays, Series, frames, lists), as the engine takes it: named columns and matrices."""

from __future__ import annotations

import datetime
import difflib
import logging
import numbers
import warnings
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse  # type: ignore[import-untyped]
from narwhals.exceptions import DuplicateError
from sklearn.utils.validation import _check_feature_names, _check_n_features, _num_samples, validate_data

from oblivio._oblivio import InvalidInputError

# A column's values: numbers, or levels and codes.
Values = Any
NamedColumn = tuple[str, Values]

MISSING = np.iinfo(np.uint32).max

# Whole numbers up to here are floating-point numbers, each its own.
EXACT = 2**53

# Columns whose numbers may be categories.
CATEGORIES = ("sensitive_feature", "control_feature")

# A sentence, and whether it needs no action.
Remark = tuple[str, bool]

# Policies whose use needs no action.
ORDINARY = ("out_of_range", "unseen_level", "missing_feature")

# Microseconds of a day.
_DAY = 86_400e6

_LOG = logging.getLogger("oblivio")

# For Features.read: every column may miss values.
ANYWHERE = object()


class OblivioWarning(UserWarning):
    """Something oblivio accepted that the user should know of."""


def warn(remarks: Sequence[str | Remark], uses: dict[str, int] | None = None) -> list[str]:
    """Warn of the engine's remarks, and of policies that were used.

    What needs no action is no warning: it is logged (logger ``oblivio``, level INFO) and returned.
    """
    sentences = {
        "empty_cell": "rows have a cell without reference rows",
        "unseen_category": "rows have a sensitive category without reference rows",
        "out_of_range": "rows have a sensitive value outside the range of the reference",
        "missing": "rows have a missing sensitive value, taken as a category",
        "sensitive_free": "rows miss a sensitive value and were scored by the sensitive-free model",
        "unseen_level": "values are of a feature's category that was not there at the fit, taken as none",
        "missing_feature": "values of features are missing, taken as the mean of their column or as a category",
    }
    counted = [(f"{count} {sentences[case]}", case in ORDINARY) for case, count in (uses or {}).items() if count]
    notes = []
    for remark in [*remarks, *counted]:
        sentence, is_note = (remark, False) if isinstance(remark, str) else remark
        if is_note:
            notes.append(sentence)
            _LOG.info(sentence)
        else:
            warnings.warn(sentence, OblivioWarning, stacklevel=3)
    return notes


def frame_of(data: Any) -> nw.DataFrame[Any] | None:
    """The data as a frame, if they are one."""
    try:
        frame = nw.from_native(data, pass_through=True)
    except DuplicateError as error:
        raise InvalidInputError(f"names of columns must be unique: {error}") from None
    if isinstance(frame, nw.LazyFrame):
        raise InvalidInputError("a lazy frame has no rows yet; call its collect() first")
    return frame if isinstance(frame, nw.DataFrame) else None


def keys(ids: Any, parameter: str) -> list[str | int]:
    """Names and positions of columns; a single one need not be in a list."""
    if isinstance(ids, (str, numbers.Integral)) or not hasattr(ids, "__iter__"):
        ids = [ids]
    found: list[str | int] = []
    for key in ids:
        if isinstance(key, str):
            found.append(key)
        elif isinstance(key, numbers.Integral) and not isinstance(key, bool):
            found.append(int(key))
        else:
            raise InvalidInputError(f"{parameter} must be names or positions of columns, got {key!r}")
    return found


def aligned(values: Any) -> np.ndarray[Any, Any]:
    """Numbers as the engine takes them; what came over a network may begin at any byte."""
    return np.require(values, np.float64, ["C", "ALIGNED"])


def check_told_apart(values: np.ndarray[Any, Any], name: str) -> None:
    """Refuse whole numbers among values that may be categories if floating point cannot tell them apart."""
    if values.dtype.kind == "O":
        values = np.array([v for v in values if isinstance(v, (int, np.integer))], dtype=object)
    elif values.dtype.kind not in "iu":
        return
    if len(values) and (np.max(values) > EXACT or np.min(values) < -EXACT):
        raise InvalidInputError(
            f"column {name!r} holds whole numbers beyond 2^53, which floating point cannot tell apart; give text"
        )


def category(value: float) -> str:
    """A number as the engine calls it where it is a category."""
    name = format(Decimal(repr(float(value) + 0.0)), "f")
    return name.removesuffix(".0")


def categorical_values(series: Any, missing: np.ndarray[Any, Any]) -> Values:
    """Levels and codes; categories that are numbers or booleans are called as such columns call them."""
    native = series.to_native()
    categories = getattr(getattr(native, "cat", None), "categories", None)
    kind = getattr(getattr(categories, "dtype", None), "kind", "O")
    if kind not in "bf":
        return coded(series.cast(nw.String).to_numpy(), missing)
    known = np.asarray(categories)
    names = ["true" if v else "false" for v in known] if kind == "b" else [category(v) for v in known]
    levels, places = np.unique(names, return_inverse=True)
    codes = np.asarray(native.cat.codes)
    return [str(level) for level in levels], np.where(missing, MISSING, places[codes]).astype(np.uint32)


def series_values(series: Any, name: str) -> Values:
    """The values of one column of a frame: numbers, or levels and codes by dtype."""
    dtype = series.dtype
    missing = series.is_null().to_numpy().astype(bool)
    if dtype.is_numeric():
        values = np.full(len(series), np.nan)
        values[~missing] = series.filter(~series.is_null()).cast(nw.Float64).to_numpy()
        return values
    if dtype == nw.Boolean:
        flags = series.fill_null(False).to_numpy().astype(bool)
        return ["false", "true"], np.where(missing, MISSING, flags).astype(np.uint32)
    if dtype == nw.String:
        return coded(series.to_numpy(), missing)
    if dtype in (nw.Categorical, nw.Enum):
        return categorical_values(series, missing)
    if dtype == nw.Object:
        return object_values(series.to_numpy(), name)
    if isinstance(dtype, (nw.Date, nw.Datetime)) or dtype in (nw.Date, nw.Datetime):
        return _in_days(series.dt.timestamp("us"), missing)
    if isinstance(dtype, nw.Duration) or dtype == nw.Duration:
        return _in_days(series.dt.total_microseconds(), missing)
    raise InvalidInputError(f"column {name!r} has the type {dtype}; convert it to numbers or text, or leave it out")


def _in_days(microseconds: Any, missing: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Microseconds as days; NaN where they are missing."""
    values = np.full(len(missing), np.nan)
    values[~missing] = microseconds.filter(~microseconds.is_null()).cast(nw.Float64).to_numpy() / _DAY
    return values


def units_of(X: Any) -> dict[str, str]:
    """The columns of a frame that are times and become numbers, with their units."""
    frame = frame_of(X)
    units = {}
    for name, dtype in ({} if frame is None else frame.schema).items():
        is_date = dtype in (nw.Date, nw.Datetime)
        if dtype == nw.Object:
            known = frame[name].drop_nulls().head(1).to_list() if frame is not None else []
            is_date = bool(known) and isinstance(known[0], datetime.date)
        if is_date:
            units[str(name)] = "days since 1970-01-01"
        elif dtype == nw.Duration:
            units[str(name)] = "days"
    return units


def object_values(values: np.ndarray[Any, Any], name: str) -> Values:
    """Numbers or text among Python objects; anything else is refused by name."""
    missing = np.array([v is None or (isinstance(v, float) and np.isnan(v)) for v in values], dtype=bool)
    kinds = {type(v) for v in values[~missing]}
    if all(issubclass(kind, (bool, np.bool_)) for kind in kinds) and kinds:
        flags = np.array([bool(v) for v in values])
        return ["false", "true"], np.where(missing, MISSING, flags).astype(np.uint32)
    if all(issubclass(kind, (int, float, np.number)) for kind in kinds):
        numbers = np.full(len(values), np.nan)
        numbers[~missing] = values[~missing].astype(np.float64)
        return numbers
    if all(issubclass(kind, str) for kind in kinds):
        return coded(values, missing)
    if all(issubclass(kind, datetime.date) for kind in kinds):
        days = np.full(len(values), np.nan)
        days[~missing] = _dense(values[~missing].astype("datetime64[us]"))
        return days
    found = next(v for v in values[~missing] if not isinstance(v, (int, float, np.number, str)) or len(kinds) > 1)
    raise InvalidInputError(
        f"column {name!r} holds objects that are neither all numbers nor all text, such as {found!r}; "
        "convert the column to one of them, or leave it out"
    )


def coded(texts: np.ndarray[Any, Any], missing: np.ndarray[Any, Any]) -> Values:
    """Text as levels and codes."""
    codes = np.full(len(texts), MISSING, dtype=np.uint32)
    levels, positions = np.unique(np.asarray(texts[~missing], dtype=str), return_inverse=True)
    codes[~missing] = positions
    return [str(level) for level in levels], codes


def columns_of(data: Any, what: str) -> list[NamedColumn]:
    """The columns of an array, list, Series or frame; those without a name are called ``what`` with their number."""
    frame = frame_of(data)
    series = nw.from_native(data, series_only=True, pass_through=True)
    if frame is not None:
        given = [(str(series.name), series) for series in frame.iter_columns()]
    elif isinstance(series, nw.Series):
        given = [(str(series.name) if series.name not in (None, "") else f"{what}_0", series)]
    else:
        return _array_columns(data, what)
    for name, series in given:
        if what in CATEGORIES and (series.dtype.is_integer() or series.dtype == nw.Object):
            check_told_apart(series.drop_nulls().to_numpy(), name)
    return [(name, series_values(series, name)) for name, series in given]


def sensitive_columns(data: Any, names: Sequence[str] | None = None) -> list[NamedColumn]:
    """The columns of ``sensitive_features=``: an array, list, Series or frame.

    ``names`` are those of the fit. Columns that have names of their own are matched by them, others by position.
    """
    columns = columns_of(data, "sensitive_feature")
    if names is not None and len(names) == len(columns) and frame_of(data) is None:
        columns = [(name, values) for name, (_, values) in zip(names, columns, strict=True)]
    if not columns:
        raise InvalidInputError("sensitive_features has no columns; leave it out if there are none")
    if names is not None:
        given = [name for name, _ in columns]
        absent = [name for name in names if name not in given]
        if absent or len(given) != len(names):
            raise InvalidInputError(
                f"the sensitive features are {', '.join(given) or 'none'} but the fit had {', '.join(names)}; "
                "give the same columns"
            )
    return columns


def _given_as(what: str) -> str:
    """What the user calls it."""
    return {"x": "data", "score": "data", "sensitive_feature": "sensitive_features"}.get(what, what)


def _array_columns(data: Any, what: str) -> list[NamedColumn]:
    array = np.asarray(data)
    if array.ndim == 0:
        raise InvalidInputError(
            f"{_given_as(what)} must be an array, a list, a Series or a frame, got {type(data).__name__}"
        )
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise InvalidInputError(f"{_given_as(what)} has {array.ndim} dimensions; one or two are needed")
    columns: list[NamedColumn] = []
    for k in range(array.shape[1]):
        name, values = f"{what}_{k}", array[:, k]
        if what in CATEGORIES:
            check_told_apart(values, name)
        if array.dtype.kind in "iuf":
            columns.append((name, aligned(values)))
        elif array.dtype.kind == "b":
            columns.append((name, (["false", "true"], values.astype(np.uint32))))
        elif array.dtype.kind in "US":
            columns.append((name, coded(values.astype(str), np.zeros(len(values), dtype=bool))))
        else:
            columns.append((name, object_values(values.astype(object), name)))
    return columns


def _check_finite(matrix: np.ndarray[Any, Any], names: list[str], *, allow_nan: bool = False) -> None:
    """As scikit-learn would, but with the column and the row."""
    # A sum is finite only if all its terms are, and needs no memory; an overflow of it costs a second look.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(matrix.sum()):
            return
    for name, column in zip(names, matrix.T, strict=True):
        wrong = np.flatnonzero(np.isinf(column) if allow_nan else ~np.isfinite(column))
        if len(wrong):
            value = "NaN" if np.isnan(column[wrong[0]]) else "infinity"
            raise InvalidInputError(
                f"Input X contains {value}: column {name!r}, row {wrong[0]}; every value must be finite: "
                "remove or replace it"
            )


def _dense(X: Any) -> Any:
    """A sparse matrix or frame as a dense one, if it fits into memory; times in days; anything else as it is."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        zero = np.datetime64(0, "us") if X.dtype.kind == "M" else np.timedelta64(0, "us")
        return (X - zero) / np.timedelta64(1, "D")
    # Frames of pandas have sparse columns.
    dtypes = X.dtypes.items() if hasattr(X, "iloc") and hasattr(X, "columns") else ()
    sparse = {name: dtype.subtype for name, dtype in dtypes if type(dtype).__name__ == "SparseDtype"}
    if not sparse and not scipy.sparse.issparse(X):
        return X
    rows, columns = X.shape
    needed, free = 8.0 * rows * columns, free_memory()
    if free is not None and needed > 0.5 * free:
        raise InvalidInputError(
            f"X is sparse and needs {needed / 1e9:.1f} GB as a dense array, and {free / 1e9:.1f} GB are free; give its "
            "rows in parts to partial_fit with n_components (landmarks), or make its columns fewer, for example with "
            "TruncatedSVD"
        )
    return X.astype(sparse) if sparse else X.toarray()


def free_memory() -> float | None:
    """Bytes that are free, where the system tells."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            known = dict(line.split(":", 1) for line in lines)
        return 1024.0 * float(known["MemAvailable"].split()[0])
    except (OSError, KeyError, ValueError):
        return None


class Features:
    """The columns of X: their names, their number of rows, and how the engine takes them."""

    def __init__(self, names: list[str], rows: int, matrix: Any = None, columns: list[NamedColumn] | None = None):
        self.names, self.rows, self._matrix, self._columns = names, rows, matrix, columns
        self.categorical: list[str] = []
        # The values of a precomputed kernel or a callable; the columns are then numbers of rows.
        self.kernel_values: Any = None

    @classmethod
    def read(cls, estimator: Any, X: Any, *, reset: bool, apart: Any = None) -> Features:
        """Check X as scikit-learn does and keep it as a matrix if all of it is numbers.

        The columns ``apart``, by name or position, may miss values; ``ANYWHERE`` stands for all.
        """
        if not getattr(estimator, "_keeps_types", False):
            X = _dense(X)
        frame = frame_of(X)
        if frame is None or all(series.dtype.is_numeric() for series in frame.iter_columns()):
            try:
                matrix = validate_data(
                    estimator,
                    X,
                    reset=reset,
                    dtype=np.float64,
                    order="C",
                    ensure_all_finite=frame is None and apart is None,
                )
            except ValueError as error:
                if "could not convert string" not in str(error):
                    raise
                raise InvalidInputError(
                    f"X is an array that holds text ({error}); give a frame (pandas, polars, pyarrow), whose columns "
                    "have types of their own: text columns are encoded"
                ) from None
            matrix = aligned(matrix)
            names = [f"x{k}" for k in range(matrix.shape[1])]
            if frame is not None:
                names = [str(name) for name in frame.columns]
            read = cls(names, matrix.shape[0], matrix=matrix)
            if apart is ANYWHERE:
                _check_finite(matrix, names, allow_nan=True)
                return read
            rest = np.delete(np.arange(len(names)), read.positions(apart, "sensitive_feature_ids"))
            if frame is not None or apart is not None:
                _check_finite(matrix[:, rest], [names[k] for k in rest])
            return read
        _check_feature_names(estimator, X, reset=reset)
        _check_n_features(estimator, X, reset=reset)
        if not len(frame):
            raise InvalidInputError("Found array with 0 sample(s) while a minimum of 1 is required.")
        columns = [(str(series.name), series_values(series, str(series.name))) for series in frame.iter_columns()]
        return cls([name for name, _ in columns], _num_samples(X), columns=columns)

    @staticmethod
    def places(X: Any, names: Sequence[str]) -> list[int]:
        """Where columns of these names are in X; an array has them in this order."""
        frame = frame_of(X)
        if frame is None:
            return list(range(len(names)))
        known = [str(name) for name in frame.columns]
        return [known.index(name) for name in names]

    @property
    def is_unnamed(self) -> bool:
        """Whether the columns have no names but the ones given here."""
        return self.names == [f"x{k}" for k in range(len(self.names))]

    def positions(self, ids: Any, parameter: str) -> list[int]:
        """Columns named by name or position; a single one need not be in a list."""
        if ids is None:
            return []
        found = []
        for key in keys(ids, parameter):
            if isinstance(key, str):
                if key not in self.names:
                    nearest = difflib.get_close_matches(key, self.names, n=1)
                    hint = f"did you mean {nearest[0]!r}?" if nearest else f"columns: {', '.join(self.names[:12])}"
                    raise InvalidInputError(f"{parameter} names {key!r}, which is not a column of X ({hint})")
                found.append(self.names.index(key))
            elif -len(self.names) <= key < len(self.names):
                found.append(key % len(self.names))
            else:
                raise InvalidInputError(f"{parameter} names column {key}, but X has {len(self.names)} feature(s)")
        return found

    def split(self, positions: Sequence[int]) -> tuple[Features, list[NamedColumn]]:
        """The columns that are not at these positions, and those that are."""
        if not positions:
            return self, []
        rest = [k for k in range(len(self.names)) if k not in positions]
        if not rest:
            raise InvalidInputError(
                f"X has {len(self.names)} feature(s) and all of them are sensitive; at least one other is needed"
            )
        return self.take(rest), self.columns(positions)

    def columns(self, positions: Sequence[int]) -> list[NamedColumn]:
        """The columns at these positions."""
        if self._matrix is not None:
            return [(self.names[k], np.ascontiguousarray(self._matrix[:, k])) for k in positions]
        assert self._columns is not None
        return [self._columns[k] for k in positions]

    def take(self, positions: Sequence[int]) -> Features:
        """The columns at these positions, in this order."""
        names = [self.names[k] for k in positions]
        if self._matrix is not None:
            return Features(names, self.rows, matrix=np.ascontiguousarray(self._matrix[:, list(positions)]))
        assert self._columns is not None
        return Features(names, self.rows, columns=[self._columns[k] for k in positions])

    def known_to(self, model: Any) -> Any:
        """The model, or the same one for these rows where it knows rows by the values of a kernel."""
        return model if self.kernel_values is None else model.with_new_objects(self.kernel_values)

    def table(self) -> Any:
        """As the engine takes it."""
        return (self._matrix, self.names) if self._matrix is not None else self._columns
