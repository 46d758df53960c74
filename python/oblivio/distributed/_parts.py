"""What runs on workers, on Arrow record batches only: rows counted, surveyed, gathered by the rules of one machine."""

from __future__ import annotations

import os
import platform
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from oblivio import _oblivio
from oblivio._base import checked_weights, reader
from oblivio._input import ANYWHERE, Features, NamedColumn, columns_of
from oblivio._ridge import read_target
from oblivio.distributed._failures import EXPECTED, Failure, changed, located
from oblivio.distributed._roles import Roles
from oblivio.distributed._tree import State

Batches = Iterable[pa.RecordBatch]

# Rows that are read at once, and bytes: engines give fewer, and a call costs something.
ROWS = 65_536
BYTES = 64_000_000

_START = struct.Struct("<q")


def here() -> tuple[str, int]:
    """The machine and the process."""
    return platform.node(), os.getpid()


@dataclass(frozen=True, kw_only=True)
class Task:
    """Something that is sent to workers."""

    driver: tuple[str, int] = field(default_factory=here)

    def settle(self) -> None:
        """Leave the other cores of a worker to the engine, which counts on one for each task."""
        if self.driver != here():
            os.environ.setdefault("RAYON_NUM_THREADS", "1")


class Work(Task):
    """Makes a state of the batches of a part."""

    def __call__(self, part: int, batches: Batches) -> bytes:
        """The state."""
        raise NotImplementedError

    def merge(self, states: list[bytes]) -> bytes:
        """The state of these parts together, which are in order."""
        raise NotImplementedError


class RowWise(Protocol):
    """Makes columns of the rows of a batch."""

    @property
    def reads(self) -> list[str]:
        """The columns it looks at."""

    @property
    def makes(self) -> dict[str, pa.DataType]:
        """The columns it adds."""

    def __call__(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """Columns to add, and columns in place of those of the same names."""

    def settle(self) -> None:
        """As :meth:`Task.settle`."""


def attempt(work: Work, part: int, batches: Batches) -> State:
    """The state of a part, or why there is none."""
    work.settle()
    try:
        return work(part, batches)
    except EXPECTED as error:
        return Failure.of(error)


@dataclass(frozen=True)
class Parts:
    """Where each part begins in the table, how many rows it has, and how many there are in all."""

    at: dict[int, tuple[int, int]]
    total: int

    @classmethod
    def of(cls, rows: dict[int, int]) -> Parts:
        """From the rows of each part, which may be none."""
        at, total = {}, 0
        for part in sorted(rows):
            at[part] = (total, rows[part])
            total += rows[part]
        return cls(at, total)

    @property
    def numbers(self) -> list[int]:
        """The parts."""
        return list(self.at)

    def start(self, part: int) -> int:
        """The rows before a part."""
        if part not in self.at:
            raise changed()
        return self.at[part][0]

    def check(self, part: int, rows: int) -> None:
        """Refuse another number of rows than was counted."""
        if self.at[part][1] != rows:
            raise changed()


def pieces(batches: Batches) -> Iterator[tuple[int, pa.Table]]:
    """The batches joined to tables of some size, each with the number of its first row."""
    first, waiting, rows, size = 0, [], 0, 0
    for batch in batches:
        if not batch.num_rows:
            continue
        waiting.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= ROWS or size >= BYTES:
            yield first, pa.Table.from_batches(waiting)
            first, waiting, rows, size = first + rows, [], 0, 0
    if waiting:
        yield first, pa.Table.from_batches(waiting)


def values_of(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """One column as scikit-learn reads it; missing numbers are NaN."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return np.asarray(column.to_numpy())


@dataclass(frozen=True)
class Counting(Work):
    """The rows of a part, and those of them whose weight is not zero."""

    weight: str | None

    def __call__(self, part: int, batches: Batches) -> bytes:
        """Two numbers."""
        rows, counted = 0, 0
        for batch in batches:
            rows += batch.num_rows
            if self.weight is None:
                counted += batch.num_rows
                continue
            weights = pa.chunked_array([batch.column(self.weight)])
            try:
                counted += int(np.count_nonzero(checked_weights(values_of(weights), batch.num_rows)))
            except EXPECTED as error:
                raise located(error, part, rows - batch.num_rows) from None
        return struct.pack("<qq", rows, counted)

    @staticmethod
    def read(state: bytes) -> tuple[int, int]:
        """The two numbers again."""
        rows, counted = struct.unpack("<qq", state)
        return rows, counted


@dataclass(frozen=True)
class Reading(Work):
    """Reads the columns of a fit."""

    roles: Roles
    parts: Parts

    def _rows(self, table: pa.Table) -> tuple[Any, list[NamedColumn], Any]:
        """Features, sensitive columns with the legitimate factors after them, and weights."""
        roles = self.roles
        apart = ANYWHERE if roles.gaps else None
        features = Features.read(reader(), table.select(roles.features), reset=True, apart=apart)
        sensitive = columns_of(table.select([*roles.sensitive, *roles.control]), "sensitive_feature")
        weights = None
        if roles.weight is not None:
            weights = checked_weights(values_of(table.column(roles.weight)), table.num_rows)
        return features.table(), sensitive, weights


@dataclass(frozen=True)
class Surveying(Reading):
    """What has to be known of the rows before features can be made of them."""

    seed: int

    def __call__(self, part: int, batches: Batches) -> bytes:
        """The survey of a part."""
        survey = _oblivio.Survey(self.seed, self.parts.start(part), self.parts.total)
        for first, table in pieces(batches):
            try:
                features, sensitive, weights = self._rows(table)
                survey.update(features, sensitive, weights, self.roles.categorical)
            except EXPECTED as error:
                raise located(error, part, first) from None
        self.parts.check(part, survey.rows)
        return survey.to_bytes()

    def merge(self, states: list[bytes]) -> bytes:
        """The survey of parts that follow each other."""
        survey = _oblivio.Survey.from_bytes(states[0])
        for later in states[1:]:
            survey.absorb(later)
        return survey.to_bytes()


@dataclass(frozen=True)
class Gathering(Reading):
    """Sums over the rows, by a plan that is settled; before them in a state stands the row they begin at."""

    plan: bytes = field(repr=False)

    def __call__(self, part: int, batches: Batches) -> bytes:
        """The share of a part."""
        start = self.parts.start(part)
        share = _oblivio.Share(self.plan, start)
        for first, table in pieces(batches):
            try:
                features, sensitive, weights = self._rows(table)
                share.update(features, sensitive, self._target(table), weights)
            except EXPECTED as error:
                raise located(error, part, first) from None
        self.parts.check(part, share.rows)
        return _START.pack(start) + share.to_bytes()

    def merge(self, states: list[bytes]) -> bytes:
        """The share of parts that follow each other."""
        (start,) = _START.unpack_from(states[0])
        share = _oblivio.Share(self.plan, start)
        for state in states:
            share.absorb(self.read(state))
        return _START.pack(start) + share.to_bytes()

    @staticmethod
    def read(state: bytes) -> bytes:
        """The share."""
        return state[_START.size :]

    def _target(self, table: pa.Table) -> np.ndarray[Any, Any] | None:
        if self.roles.label is None:
            return None
        return read_target(values_of(table.column(self.roles.label)), table.num_rows)[1]
