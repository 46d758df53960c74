"""Spark, by its DataFrame interface alone: the same on classic Spark, on Spark Connect and on servers that speak it.

Columns travel under numbered names, so that nothing in a user's names (dots, spaces, upper and lower case) needs
quoting or clashes with ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
)
from pyspark.taskcontext import TaskContext

from oblivio._oblivio import InvalidInputError
from oblivio.distributed import _tree
from oblivio.distributed._engine import unique
from oblivio.distributed._failures import EXPECTED, Failure, located
from oblivio.distributed._parts import Batches, RowWise, Work, attempt

_STATES = "part bigint, chunk int, chunks int, state binary"
_ARROW = pa.schema([("part", pa.int64()), ("chunk", pa.int32()), ("chunks", pa.int32()), ("state", pa.binary())])


class SparkEngine:
    """A Spark DataFrame and its partitions.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        Classic or of Spark Connect.
    """

    def __init__(self, frame: Any) -> None:
        if not isinstance(frame, DataFrame):
            raise InvalidInputError(f"a Spark DataFrame is needed, got {type(frame).__module__}.{type(frame).__name__}")
        self._frame = frame
        self.names = unique(frame.columns)

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        """The types of these columns, as the batches have them."""
        found = _asked(lambda: self._columns(columns).limit(0).toArrow()).schema
        return pa.schema([field.with_name(name) for field, name in zip(found, columns, strict=True)])

    def states(self, work: Work, columns: Sequence[str]) -> list[tuple[int, bytes]]:
        """The state that ``work`` makes of each part with rows, in order of their numbers."""
        return [(part, _sound(state)) for part, state in _collected(self._states(work, columns))]

    def merged(self, work: Work, columns: Sequence[str], parts: Sequence[int]) -> bytes | None:
        """The same merged by the fixed tree; the driver does the last level only."""
        states = self._states(work, columns)
        for _ in range(_tree.levels(parts)):
            keyed = states.selectExpr("part", "chunk", "chunks", "state", f"part div {_tree.WIDTH} AS above")
            states = keyed.groupBy("above").applyInArrow(_merging(work), _STATES)
        found = _tree.root(_collected(states), work.merge)
        return None if found is None else _sound(found)

    def frame(self, work: RowWise, keep: Sequence[str]) -> Any:
        """A DataFrame of the columns of ``keep`` and those that ``work`` makes of the rows."""
        columns = list(dict.fromkeys([*keep, *work.reads]))
        fields = {field.name: field for field in self._frame.schema.fields}
        added = [StructField(name, _SPARK[kind]) for name, kind in work.makes.items()]
        made = StructType([*(fields[name] for name in keep), *added])
        return self._columns(columns, numbered=True).mapInArrow(_adding(work, columns, list(keep)), made)

    def _states(self, work: Work, columns: Sequence[str]) -> Any:
        return self._columns(columns, numbered=True).mapInArrow(_stating(work, list(columns)), _STATES)

    def _columns(self, columns: Sequence[str], numbered: bool = False) -> Any:
        """These columns under the names c0, c1, …, and the number of the part after them."""
        renamed = self._frame.toDF(*(f"c{k}" for k in range(len(self.names))))
        number = ["spark_partition_id() AS part"] if numbered else []
        return renamed.selectExpr(*(f"c{self.names.index(name)}" for name in columns), *number)


_SPARK = {
    pa.float64(): DoubleType(),
    pa.int64(): LongType(),
    pa.bool_(): BooleanType(),
    pa.string(): StringType(),
    pa.list_(pa.float64()): ArrayType(DoubleType()),
}


def _stating(work: Work, names: list[str]) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        part, rest = _parted(batches, names)
        if part is not None:
            yield from _records(part, attempt(work, part, rest))
            # The engine waits for a reader of all that it sends.
            for _ in rest:
                pass

    return run


def _merging(work: Work) -> Callable[[pa.Table], pa.Table]:
    def run(table: pa.Table) -> pa.Table:
        work.settle()
        rows = list(_rows(table))
        try:
            states = _tree.level(_tree.states_of(rows), work.merge)
        except EXPECTED as error:
            states = [(rows[0][0] // _tree.WIDTH, Failure.of(error))]
        return pa.Table.from_batches([record for key, state in states for record in _records(key, state)], _ARROW)

    return run


def _adding(work: RowWise, names: list[str], keep: list[str]) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        work.settle()
        part, rest = _parted(batches, names)
        first = 0
        for batch in rest:
            try:
                made = work(batch)
            except EXPECTED as error:
                raise located(error, part or 0, first) from None
            columns = {name: batch.column(name) for name in keep} | {
                name: column for name, column in made.items() if name in keep or name in work.makes
            }
            yield pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
            first += batch.num_rows

    return run


def _parted(batches: Batches, names: list[str]) -> tuple[int | None, Iterator[pa.RecordBatch]]:
    """The number of the part, and its batches with the names of their columns; None if there are no rows."""
    filled = (batch for batch in batches if batch.num_rows)
    first = next(filled, None)
    if first is None:
        return None, iter(())
    return _number(first.column(len(names))), (_named(batch, names) for batch in chain([first], filled))


def _number(column: pa.Array) -> int:
    """The number of the part: that of the task, for Spark may have worked the column out before it split the table."""
    task = TaskContext.get()
    if task is not None:
        return int(task.partitionId())
    return int(column[0].as_py())


def _named(batch: pa.RecordBatch, names: list[str]) -> pa.RecordBatch:
    """The batch without the number."""
    return pa.RecordBatch.from_arrays(batch.columns[: len(names)], names=names)


def _records(key: int, state: _tree.State) -> Iterator[pa.RecordBatch]:
    for row in _tree.rows_of(key, state):
        yield pa.RecordBatch.from_arrays(
            [pa.array([value], kind) for value, kind in zip(row, _ARROW.types, strict=True)], schema=_ARROW
        )


def _rows(table: pa.Table) -> Iterator[_tree.Row]:
    columns = [table.column(name).to_pylist() for name in _ARROW.names]
    yield from zip(*columns, strict=True)


def _collected(states: Any) -> list[tuple[int, _tree.State]]:
    return _tree.states_of(_rows(_asked(states.toArrow)))


def _sound(state: _tree.State) -> bytes:
    if isinstance(state, Failure):
        raise state.error() from None
    return state


def _asked(job: Callable[[], Any]) -> Any:
    """What a job gives; the one failure that is not ours to describe, in one sentence."""
    try:
        return job()
    except PySparkException as error:
        absent = re.search(r"No module named '([\w.]+)'", str(error))
        if absent is None:
            raise
        raise ImportError(
            f"the executors have no {absent[1]}: install oblivio and pyarrow where they run Python"
        ) from error
