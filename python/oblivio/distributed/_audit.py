"""Audits of a seeded sample of a table's rows, scored by the engine's workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from oblivio import _oblivio
from oblivio._audit import Audit
from oblivio._audit import audit as audit_rows
from oblivio._base import count, seed_of
from oblivio._oblivio import InvalidInputError
from oblivio.distributed._engine import engine_of
from oblivio.distributed._failures import EXPECTED, located
from oblivio.distributed._fit import counted
from oblivio.distributed._parts import Batches, Parts, Work, pieces, values_of
from oblivio.distributed._roles import one_of, some_of
from oblivio.distributed._score import Scoring, as_column


def audit(
    data: Any,
    estimator: Any,
    *,
    label: Any = None,
    sensitive: Any = None,
    sample_weight: Any = None,
    rows: int = 100_000,
    method: str | None = None,
    **options: Any,
) -> Audit:
    """How much the scores of a model depend on sensitive features, on a seeded sample of the table.

    Parameters
    ----------
    data : pyspark.sql.DataFrame, dask.dataframe.DataFrame or Engine
        The table. Take rows that the model was not fitted on.
    estimator : ObliviousRidge, ObliviousRidgeCV, ObliviousSVC or ObliviousLogistic
        Fitted.
    label, sample_weight : str, default=None
        Columns of true labels and of weights.
    sensitive : str or list of str, default=None
        The sensitive features; None is those of the model.
    rows : int, default=100_000
        The most rows to look at. They alone leave the engine, with score, sensitive features, label and weight.
    method : str, default=None
        The method that scores. None is ``decision_function`` for two classes, else ``predict``.
    **options
        Those of :func:`oblivio.audit`; ``random_state`` is the seed of the sample, too.
    """
    engine = engine_of(data)
    scoring = Scoring.of(estimator, engine.names, method or _method(estimator))
    if pa.types.is_list(scoring.kind):
        raise InvalidInputError(f"{scoring.method} gives several scores for a row; audit one, or method='predict'")
    chosen = some_of(engine.names, estimator.sensitive_feature_names_ if sensitive is None else sensitive, "sensitive")
    if not chosen:
        raise InvalidInputError("the model has no sensitive feature to audit against; name some in sensitive=")
    extra = [one_of(engine.names, label, "label"), one_of(engine.names, sample_weight, "sample_weight")]
    aside = list(dict.fromkeys([*chosen, *(name for name in extra if name is not None)]))
    reads = list(dict.fromkeys([*scoring.reads, *aside]))
    parts = Parts.of({part: found for part, (found, _) in counted(engine, None, reads).items()})
    if not parts.total:
        raise InvalidInputError("the table has no rows")
    work = Sampling(scoring, aside, parts, count("rows", rows), seed_of(options.get("random_state")))
    found = work.chosen([state for _, state in engine.states(work, reads)])
    beside = found.drop_columns(["number", "score"]).rename_columns(aside)
    if found.num_rows < parts.total:
        title = options.get("title") or "Audit"
        options["title"] = f"{title} ({found.num_rows} of {parts.total} rows)"
    return audit_rows(
        np.asarray(found.column("score").to_numpy()),
        beside.select(chosen),
        None if extra[0] is None else beside.select([extra[0]]),
        sample_weight=None if extra[1] is None else values_of(beside.column(extra[1])),
        **options,
    )


def _method(estimator: Any) -> str:
    return "decision_function" if len(getattr(estimator, "classes_", ())) == 2 else "predict"


@dataclass(frozen=True)
class Sampling(Work):
    """Rows of a part that may be in the sample: a random number, the score, and columns as they are."""

    scoring: Scoring
    aside: list[str]
    parts: Parts
    size: int
    seed: int

    def __call__(self, part: int, batches: Batches) -> bytes:
        """The rows, in the order of the table, as an Arrow stream."""
        start, rows = self.parts.start(part), 0
        found: list[pa.Table] = []
        for first, table in pieces(batches):
            rows = first + table.num_rows
            places, numbers = self._drawn(start + first, table.num_rows)
            if not len(places) and found:
                continue
            try:
                found.append(self._sampled(table.take(pa.array(places)), numbers))
            except EXPECTED as error:
                raise located(error, part, first) from None
        self.parts.check(part, rows)
        return _written(pa.concat_tables(found))

    def chosen(self, states: list[bytes]) -> pa.Table:
        """The sample, in the order of the table."""
        table = pa.concat_tables([pa.ipc.open_stream(state).read_all() for state in states])
        if table.num_rows <= self.size:
            return table
        smallest = np.argsort(table.column("number").to_numpy(), kind="stable")[: self.size]
        return table.take(pa.array(np.sort(smallest)))

    def _drawn(self, start: int, rows: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        if self.parts.total <= self.size:
            return np.arange(rows, dtype=np.uint64), np.zeros(rows, dtype=np.uint64)
        places, numbers = _oblivio.drawn(self.size, self.seed, start, rows, self.parts.total)
        order = np.argsort(places)
        return places[order], numbers[order]

    def _sampled(self, rows: pa.Table, numbers: np.ndarray[Any, Any]) -> pa.Table:
        kind = self.scoring.kind
        scores = as_column(self.scoring.values(rows), kind) if rows.num_rows else pa.array([], type=kind)
        columns = [pa.array(numbers, type=pa.uint64()), scores, *(rows.column(name) for name in self.aside)]
        return pa.table(columns, names=["number", "score", *(f"c{k}" for k in range(len(self.aside)))])


def _written(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue().to_pybytes())
