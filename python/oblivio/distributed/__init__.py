"""Fits and scores where the rows are: on Spark, on Dask, or on any engine that can run a function over parts of a table

A fit reads the table three times, one job of the engine each: it counts the rows of every part, surveys them (how
columns are encoded, landmarks, cells), and gathers sums over them. What a part comes to travels as bytes and is merged
in a tree that depends on the numbers of the parts alone: which worker was faster, or was asked twice, does not matter.

Most people need the methods of the estimators only: ``fit_spark``, ``predict_spark``, ``transform_spark``,
``audit_spark``, and the same for ``dask``. For another engine write an :class:`Engine` and use the functions here.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oblivio.distributed._audit import audit as audit
    from oblivio.distributed._dask import DaskEngine as DaskEngine
    from oblivio.distributed._engine import Engine as Engine
    from oblivio.distributed._engine import engine_of as engine_of
    from oblivio.distributed._fit import fit as fit
    from oblivio.distributed._score import predict as predict
    from oblivio.distributed._score import transform as transform
    from oblivio.distributed._spark import SparkEngine as SparkEngine

# Loaded on first use: no engine is needed to look at another.
_HOME = {
    "DaskEngine": "_dask",
    "Engine": "_engine",
    "SparkEngine": "_spark",
    "audit": "_audit",
    "engine_of": "_engine",
    "fit": "_fit",
    "predict": "_score",
    "transform": "_score",
}
_NEEDS = {
    "_spark": ("spark", "pyspark.sql", "pyarrow"),
    "_dask": ("dask", "dask.dataframe", "pyarrow"),
}

__all__ = ["DaskEngine", "Engine", "SparkEngine", "audit", "engine_of", "fit", "predict", "transform"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        if _HOME[name] in _NEEDS:
            _need(*_NEEDS[_HOME[name]])
        return getattr(importlib.import_module(f"oblivio.distributed.{_HOME[name]}"), name)
    raise AttributeError(f"module 'oblivio.distributed' has no attribute {name!r}")


def _need(engine: str, *packages: str) -> None:
    """Say in one sentence what is not installed."""
    for package in packages:
        try:
            importlib.import_module(package)
        except ImportError as error:
            name = package.partition(".")[0]
            raise ImportError(f'oblivio on {engine.title()} needs {name}: pip install "oblivio[{engine}]"') from error


def __dir__() -> list[str]:
    return sorted(__all__)
