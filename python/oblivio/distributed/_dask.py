"""Dask: parts of a dask.dataframe as delayed calls, merged in a tree of them.

Every partition becomes Arrow by one schema, that of the frame's meta: whether a column is text does not depend on what
is in a part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dask
import dask.dataframe as dd
import pandas as pd
import pyarrow as pa

from oblivio._oblivio import InvalidInputError
from oblivio.distributed import _tree
from oblivio.distributed._engine import unique
from oblivio.distributed._failures import EXPECTED, Failure
from oblivio.distributed._parts import ROWS, RowWise, Work, attempt
from oblivio.distributed._score import Releasing, Scoring


class DaskEngine:
    """A Dask frame and its partitions.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        Of pandas frames.
    """

    def __init__(self, frame: Any) -> None:
        if not isinstance(frame, dd.DataFrame):
            raise InvalidInputError(f"a Dask DataFrame is needed, got {type(frame).__module__}.{type(frame).__name__}")
        self._frame = frame
        self.names = unique([str(label) for label in frame.columns])

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        """The types of these columns, as the batches have them."""
        meta = self._frame._meta
        kinds = [_kind(meta.iloc[:, self.names.index(name)]) for name in columns]
        return pa.schema(list(zip(columns, kinds, strict=True)))

    def states(self, work: Work, columns: Sequence[str]) -> list[tuple[int, bytes]]:
        """The state that ``work`` makes of each part with rows, in order of their numbers."""
        found = dask.compute(*self._states(work, columns))
        return [(part, _sound(state)) for part, state in enumerate(found) if state is not None]

    def merged(self, work: Work, columns: Sequence[str], parts: Sequence[int]) -> bytes | None:
        """The same merged by the fixed tree, of calls that the engine runs."""
        merging = dask.delayed(_merged, pure=False)
        shipped = dask.delayed(work, traverse=False)
        left = self._states(work, columns)
        while len(left) > 1:
            groups = [left[k : k + _tree.WIDTH] for k in range(0, len(left), _tree.WIDTH)]
            left = [merging(shipped, group) for group in groups]
        found = dask.compute(*left)[0] if left else None
        return None if found is None else _sound(found)

    def frame(self, work: RowWise, keep: Sequence[str]) -> Any:
        """A Dask frame of the columns of ``keep`` and those that ``work`` makes of the rows."""
        kept = [self._label(name) for name in keep]
        meta = self._frame._meta[kept]
        if not isinstance(work, Releasing):
            scoring = _scoring(work)
            more = [name for name in _names(scoring) if name in keep]
            if more:
                raise InvalidInputError(f"the table has a column {more[0]!r} already; choose another name=")
            meta = meta.assign(**{name: _empty(scoring) for name in _names(scoring)})
        reads = {self._label(name): kind for name, kind in _pairs(self.schema(work.reads))}
        shipped = dask.delayed(work, traverse=False)
        return self._frame.map_partitions(_applied, shipped, reads, kept, meta, meta=meta, align_dataframes=False)

    def _states(self, work: Work, columns: Sequence[str]) -> list[Any]:
        shipped = dask.delayed(_Stating(work, self.schema(columns)), traverse=False)
        stating = dask.delayed(_stated, pure=False)
        parts = self._frame[[self._label(name) for name in columns]].to_delayed()
        return [stating(shipped, number, part) for number, part in enumerate(parts)]

    def _label(self, name: str) -> Any:
        return self._frame.columns[self.names.index(name)]


@dataclass(frozen=True)
class _Stating:
    """A work and the types of its columns: one thing to send to a worker."""

    work: Work
    schema: pa.Schema


def _stated(stating: _Stating, number: int, part: Any) -> _tree.State | None:
    """The state of a part; None if it has no rows."""
    if not len(part):
        return None
    try:
        table = _arrow(part, stating.schema)
    except EXPECTED as error:
        return Failure.of(error).in_part(number, 0)
    return attempt(stating.work, number, table.to_batches(max_chunksize=ROWS))


def _merged(work: Work, states: list[_tree.State | None]) -> _tree.State | None:
    """A group of the tree, where parts without rows have no state."""
    work.settle()
    found = _tree.level([(key, state) for key, state in enumerate(states) if state is not None], work.merge)
    return found[0][1] if found else None


def _applied(part: Any, work: Any, reads: dict[Any, pa.DataType], kept: list[Any], meta: Any) -> Any:
    """A partition with the columns that ``work`` makes of it."""
    if not len(part):
        return meta
    work.settle()
    try:
        return _made(part, work, reads, kept, meta)
    except EXPECTED as error:
        failure = Failure.of(error)
        where = f"in the partition whose index begins with {part.index[0]!r}"
        raise Failure(failure.kind, f"{failure.sentence} ({where})").error() from None


def _made(part: Any, work: Any, reads: dict[Any, pa.DataType], kept: list[Any], meta: Any) -> Any:
    made = part[kept].copy()
    if isinstance(work, Releasing):
        rows = part[list(reads)]
        rows.columns = [str(label) for label in reads]
        released = work.released(rows)
        for place, label in enumerate(kept):
            if str(label) in released.columns:
                made.isetitem(place, released[str(label)])
        return made
    schema = pa.schema([(str(label), kind) for label, kind in reads.items()])
    values = work.values(_arrow(part[list(reads)], schema))
    columns = [values] if values.ndim == 1 else list(values.T)
    for name, column in zip(_names(work), columns, strict=True):
        made[name] = pd.Series(column, index=part.index).astype(meta[name].dtype)
    return made


def _scoring(work: RowWise) -> Scoring:
    assert isinstance(work, Scoring)
    return work


def _names(work: Scoring) -> list[str]:
    """One column, or one for each of several numbers."""
    if not pa.types.is_list(work.kind):
        return [work.name]
    return [f"{work.name}_{k}" for k in range(work.width)]


def _empty(work: Scoring) -> Any:
    if pa.types.is_list(work.kind):
        return pd.Series([], dtype="float64")
    if work.method == "predict" and hasattr(work.estimator, "classes_"):
        return pd.Series(work.estimator.classes_[:0])
    return pd.Series([], dtype="float64")


def _pairs(schema: pa.Schema) -> list[tuple[str, pa.DataType]]:
    return [(field.name, field.type) for field in schema]


def _kind(column: Any) -> pa.DataType:
    """The type of a column; Python objects and categories are text."""
    if isinstance(column.dtype, pd.CategoricalDtype) or column.dtype == object:
        return pa.string()
    return pa.Array.from_pandas(column.iloc[:0]).type


def _arrow(part: Any, schema: pa.Schema) -> pa.Table:
    """A partition by the schema, its columns in the same order."""
    columns = [_column(part.iloc[:, k], field) for k, field in enumerate(schema)]
    return pa.Table.from_arrays(columns, schema=schema)


def _column(column: Any, field: pa.Field) -> Any:
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.cat.rename_categories([str(category) for category in column.cat.categories])
        column = column.astype(object)
    try:
        found = pa.Array.from_pandas(column, type=field.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InvalidInputError(
            f"column {field.name!r} holds values that are not {field.type}: {error}; convert it with astype before"
        ) from None
    return found


def _sound(state: _tree.State) -> bytes:
    if isinstance(state, Failure):
        raise state.error() from None
    return state
