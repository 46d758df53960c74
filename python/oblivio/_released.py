"""Released columns put back where they came from, with the types they had there."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

from oblivio._input import MISSING, NamedColumn, Values, frame_of


def like(X: Any, places: list[int], released: list[NamedColumn]) -> Any:
    """X with the columns at these places replaced: a frame of the same kind for a frame, else an array."""
    values = [own for _, own in released]
    frame = frame_of(X)
    if frame is None:
        return _array(X, places, values)
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
    dtypes = [_enum(old.dtype, own) for old, own in zip(natives, values, strict=True)]
    rows = zip(natives, plain, dtypes, strict=True)
    return X.with_columns([type(old)(old.name, new).cast(dtype) for old, new, dtype in rows])


def _array(X: Any, places: list[int], released: list[Values]) -> np.ndarray[Any, Any]:
    """Numbers keep the type of the array: whole ones are released as such. Other columns keep every bit."""
    array = np.array(X)
    if array.dtype.kind not in "biuf":
        array = array.astype(np.float64)
    for place, values in zip(places, released, strict=True):
        array[:, place] = _numbers(values)
    return array


def _pandas(own: Any, values: Values) -> Any:
    """The values as a Series like this one."""
    originals: dict[str, Any] = {}
    dtype = own.dtype
    if hasattr(own, "cat"):
        originals = {str(category): category for category in own.cat.categories}
        if isinstance(values, tuple):
            dtype = _categories(own, values, originals)
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
    return type(own)(values, index=own.index, name=own.name).astype(dtype)


def _categories(own: Any, values: Values, originals: dict[str, Any]) -> Any:
    """The type of this categorical Series with the released categories it does not list, added to the originals too."""
    new = [level for level in _used(values) if level not in originals]
    if not new:
        return own.dtype
    kind = own.cat.categories.dtype
    added = type(own)(new, dtype=object)
    if kind.kind == "b":
        added = added.map({"True": True, "False": False})
    else:
        # Intervals cannot be read from text, and stay it: that says more than a gap.
        with contextlib.suppress(TypeError, ValueError):
            added = added.astype(kind)
    originals.update(zip(new, added, strict=True))
    return own.cat.add_categories(added[~added.isin(own.cat.categories)]).dtype


def _enum(dtype: Any, values: Values) -> Any:
    """A polars type; an Enum with the released categories it does not list."""
    if type(dtype).__name__ != "Enum" or not isinstance(values, tuple):
        return dtype
    listed = dtype.categories.to_list()
    return type(dtype)([*listed, *(level for level in _used(values) if level not in listed)])


def _used(values: Values) -> list[str]:
    """The levels that occur."""
    levels, codes = values
    return [levels[code] for code in np.unique(codes[codes != MISSING])]


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
    import pyarrow as pa

    for place, values in zip(places, columns, strict=True):
        field = X.schema.field(place)
        if pa.types.is_dictionary(field.type):
            column = _dictionary(X.column(place), values)
        else:
            column = pa.array(values).cast(field.type)
        X = X.set_column(place, field, column)
    return X


def _dictionary(own: Any, words: list[str | None]) -> Any:
    """The words as a pyarrow dictionary like this one: its categories in their order, then those it does not list."""
    import pyarrow as pa

    chunks = own.unify_dictionaries().chunks
    listed = chunks[0].dictionary.drop_null() if chunks else pa.array([], own.type.value_type)
    codes = {str(category): code for code, category in enumerate(listed.to_pylist())}
    new = [word for word in sorted({word for word in words if word is not None}) if word not in codes]
    codes.update((word, len(listed) + k) for k, word in enumerate(new))
    return pa.DictionaryArray.from_arrays(
        pa.array([None if word is None else codes[word] for word in words], own.type.index_type),
        pa.concat_arrays([listed, pa.array(new, pa.string()).cast(own.type.value_type)]),
        ordered=own.type.ordered,
    )


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
