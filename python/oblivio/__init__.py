"""Kernel methods whose predictions have the influence of sensitive features taken out, in closed form.

Examples
--------
>>> import oblivio as ob
>>> table = ob.datasets.admissions(500, random_state=1)
>>> model = ob.ObliviousRidge(standardize=True)
>>> model = model.fit(table.features, table.targets["success"], sensitive_features=table.sensitive[["sex"]])
>>> model.predict(table.features, sensitive_features=table.sensitive[["sex"]]).shape
(500,)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oblivio import datasets as datasets
    from oblivio import distributed as distributed
    from oblivio import metrics as metrics
    from oblivio._audit import Audit as Audit
    from oblivio._audit import audit as audit
    from oblivio._bounds import Bounds as Bounds
    from oblivio._bounds import bounds as bounds
    from oblivio._classifier import ObliviousLogistic as ObliviousLogistic
    from oblivio._classifier import ObliviousSVC as ObliviousSVC
    from oblivio._files import load as load
    from oblivio._frontier import Frontier as Frontier
    from oblivio._frontier import frontier as frontier
    from oblivio._input import OblivioWarning as OblivioWarning
    from oblivio._kernel import ObliviousKernel as ObliviousKernel
    from oblivio._kernels import Kernel as Kernel
    from oblivio._moments import Moments as Moments
    from oblivio._oblivio import EmptyCellError as EmptyCellError
    from oblivio._oblivio import InvalidInputError as InvalidInputError
    from oblivio._oblivio import NumericalError as NumericalError
    from oblivio._oblivio import TableChangedError as TableChangedError
    from oblivio._oblivio import UnknownCategoryError as UnknownCategoryError
    from oblivio._oblivio import __version__ as __version__
    from oblivio._offset import Offset as Offset
    from oblivio._release import ObliviousRelease as ObliviousRelease
    from oblivio._release_report import ReleaseReport as ReleaseReport
    from oblivio._ridge import ObliviousRidge as ObliviousRidge
    from oblivio._ridge_cv import ObliviousRidgeCV as ObliviousRidgeCV
    from oblivio._scores import Drift as Drift
    from oblivio._transformer import ObliviousTransformer as ObliviousTransformer

# Loaded on first use, so that the command line does not wait for scikit-learn.
_HOME = {
    "Audit": "_audit",
    "Bounds": "_bounds",
    "Drift": "_scores",
    "EmptyCellError": "_oblivio",
    "Frontier": "_frontier",
    "InvalidInputError": "_oblivio",
    "Kernel": "_kernels",
    "Moments": "_moments",
    "NumericalError": "_oblivio",
    "Offset": "_offset",
    "OblivioWarning": "_input",
    "ObliviousKernel": "_kernel",
    "ObliviousLogistic": "_classifier",
    "ObliviousRelease": "_release",
    "ObliviousRidge": "_ridge",
    "ObliviousRidgeCV": "_ridge_cv",
    "ObliviousSVC": "_classifier",
    "ObliviousTransformer": "_transformer",
    "ReleaseReport": "_release_report",
    "TableChangedError": "_oblivio",
    "UnknownCategoryError": "_oblivio",
    "__version__": "_oblivio",
    "audit": "_audit",
    "bounds": "_bounds",
    "frontier": "_frontier",
    "load": "_files",
}

__all__ = [
    "Audit",
    "Bounds",
    "Drift",
    "EmptyCellError",
    "Frontier",
    "InvalidInputError",
    "Kernel",
    "Moments",
    "NumericalError",
    "OblivioWarning",
    "ObliviousKernel",
    "ObliviousLogistic",
    "ObliviousRelease",
    "ObliviousRidge",
    "ObliviousRidgeCV",
    "ObliviousSVC",
    "ObliviousTransformer",
    "Offset",
    "ReleaseReport",
    "TableChangedError",
    "UnknownCategoryError",
    "__version__",
    "audit",
    "bounds",
    "datasets",
    "distributed",
    "frontier",
    "load",
    "metrics",
]


def __getattr__(name: str) -> Any:
    if name in ("datasets", "distributed", "metrics"):
        return importlib.import_module(f"oblivio.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(f"oblivio.{_HOME[name]}"), name)
    raise AttributeError(f"module 'oblivio' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
