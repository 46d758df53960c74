"""Released columns put back where they came from, with the types they had there."""

from __future__ import annotations

from typing import Any

import numpy as np

from oblivio._input import MISSING, NamedColumn, Values, frame_of


def like(X: Any, places: list[int], released: list[NamedColumn]) -> Any:
    """X with the columns at these places replaced: a frame of the same kind for a frame, else an array."""
    values = [own for _, own in released]
    frame = frame_of(X)
    if frame is None:
        return _array(np.array(X), places, values)
    if frame.implementation.is_pandas_like():
        native = X.copy()
        for place, own in zip(places, values, strict=True):
            native.isetitem(place, _pandas(X.iloc[:, place], own))
        return native
    columns = [frame[frame.columns[place]] for place in places]
    plain = [_plain(column, own) for column, own in zip(columns, values, strict=True)]
    if frame.implementation.is_pyarrow():
        return _arrow(X, places, plain)
    natives = [column.to_native() for column in columns]
    return X.with_columns([type(old)(old.name, new).cast(old.dtype) for old, new in zip(natives, plain, strict=True)])


def _array(X: np.ndarray[Any, Any], places: list[int], released: list[Values]) -> np.ndarray[Any, Any]:
    """Numbers keep the type of the array: whole ones are released as such."""
    array = X.astype(np.float64)
    for place, values in zip(places, released, strict=True):
        array[:, place] = _numbers(values)
    return array.astype(X.dtype) if X.dtype.kind in "biuf" else array


def _pandas(own: Any, values: Values) -> Any:
    """The values as a Series like this one."""
    originals: dict[str, Any] = {}
    if hasattr(own, "cat"):
        originals = {str(category): category for category in own.cat.categories}
    elif own.dtype.kind == "b" or any(isinstance(value, bool) for value in own.array[:1]):
        originals = {"true": True, "false": False}
    if isinstance(values, tuple) and own.dtype.kind in "iuf":
        values = _numbers(values)
    if isinstance(values, tuple):
        values = _words(values, originals)
        missing = own.isna().to_numpy()
        if own.dtype == object:
            # None and NaN stay what they were.
            values[missing] = own.to_numpy()[missing]
    return type(own)(values, index=own.index, name=own.name).astype(own.dtype)


def _plain(own: Any, values: Values) -> Any:
    """The values for a column of a frame that knows what is missing: an array, or a list with gaps."""
    if own.dtype.is_numeric():
        values = _numbers(values)
        missing = own.is_null().to_numpy().astype(bool)
    else:
        values = _words(values, {"true": True, "false": False} if str(own.dtype) == "Boolean" else {})
        missing = np.array([value is None for value in values], dtype=bool)
        return values.tolist()
    return [None if gap else value for gap, value in zip(missing, values, strict=True)] if missing.any() else values


def _arrow(X: Any, places: list[int], columns: list[Any]) -> Any:
    import pyarrow as pa  # type: ignore[import-untyped]

    for place, values in zip(places, columns, strict=True):
        field = X.schema.field(place)
        X = X.set_column(place, field, pa.array(values).cast(field.type))
    return X


def _words(values: Values, originals: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Categories one by one, None where missing."""
    levels, codes = values
    words = np.array([*(originals.get(level, level) for level in levels), None], dtype=object)
    return np.asarray(words[np.where(codes == MISSING, len(levels), codes).astype(np.intp)])


def _numbers(values: Values) -> np.ndarray[Any, Any]:
    """Numbers, be they categories or not."""
    if not isinstance(values, tuple):
        return np.asarray(values)
    levels, codes = values
    numbers = np.array([*(float(level) for level in levels), np.nan])
    return np.asarray(numbers[np.where(codes == MISSING, len(levels), codes).astype(np.intp)])
