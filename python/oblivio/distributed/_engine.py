"""What a fit and a score ask of an engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from oblivio._oblivio import InvalidInputError

if TYPE_CHECKING:
    import pyarrow as pa

    from oblivio.distributed._parts import RowWise, Work


class Engine(Protocol):
    """A table in parts, numbered from 0 in the engine's order, and functions that run over them.

    The functions are pure: an engine may run one again. They get Arrow record batches with the columns asked for, in
    this order and under the table's own names, of the same types in every part.
    """

    names: list[str]

    def schema(self, columns: Sequence[str]) -> pa.Schema:
        """The types of these columns, as the batches have them."""

    def states(self, work: Work, columns: Sequence[str]) -> Iterable[tuple[int, bytes]]:
        """The state that ``work`` makes of each part with rows, in order of their numbers."""

    def merged(self, work: Work, columns: Sequence[str], parts: Sequence[int]) -> bytes | None:
        """The same merged by the fixed tree; ``parts`` are the numbers of those with rows."""

    def frame(self, work: RowWise, keep: Sequence[str]) -> Any:
        """A lazy frame of the engine: the columns of ``keep`` and those that ``work`` makes of the rows."""


def engine_of(data: Any) -> Engine:
    """The engine of a Spark or Dask frame.

    Parameters
    ----------
    data : pyspark.sql.DataFrame, dask.dataframe.DataFrame or Engine
        The table.
    """
    if hasattr(data, "states") and hasattr(data, "merged"):
        engine: Engine = data
        return engine
    home = type(data).__module__.partition(".")[0]
    if home == "pyspark":
        from oblivio.distributed import SparkEngine

        return SparkEngine(data)
    if home.startswith("dask"):
        from oblivio.distributed import DaskEngine

        return DaskEngine(data)
    raise InvalidInputError(f"a frame of Spark or Dask is needed, got {type(data).__name__}; for rows at hand use fit")


def unique(names: Sequence[str]) -> list[str]:
    """Names of columns, if each is there once."""
    twice = [name for k, name in enumerate(names) if name in names[:k]]
    if twice:
        raise InvalidInputError(f"names of columns must be unique: {twice[0]!r} is there twice")
    return list(names)
