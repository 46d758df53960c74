"""Simulated tables: the data of the paper's experiments, and a realistic one.

The same seed gives the same table as on the command line and in Rust.
"""

from __future__ import annotations

from typing import Any, cast

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils import Bunch

from oblivio import _oblivio
from oblivio._base import count

__all__ = ["admissions", "grades", "ridge_experiment"]


def admissions(rows: int = 1000, *, random_state: int = 0, backend: str = "pandas") -> Bunch:
    """University applicants: text columns, and sex, region and age as sensitive features.

    Parameters
    ----------
    rows : int, default=1000
        The number of applicants.
    random_state : int, default=0
        The seed.
    backend : {"pandas", "polars", "pyarrow"}, default="pandas"
        The kind of frames.

    Returns
    -------
    Bunch
        With the frames ``features``, ``sensitive``, ``targets`` and ``hidden`` (what no observer would have), and
        ``frame``, the first three together.

    Examples
    --------
    >>> import oblivio as ob
    >>> list(ob.datasets.admissions(10).sensitive.columns)
    ['sex', 'region', 'age']
    """
    return _bunch("admissions", rows, random_state, backend)


def grades(rows: int = 1000, *, threshold: float = 2.0, random_state: int = 0, backend: str = "pandas") -> Bunch:
    """The paper's grades: labels y that depend on a group s, and hidden labels that do not.

    Parameters
    ----------
    rows, random_state, backend
        As in :func:`admissions`.
    threshold : float, default=2.0
        θ: 2 in the paper's text, 2.5 in its authors' code.
    """
    return _bunch("grades", rows, random_state, backend, threshold=threshold)


def ridge_experiment(
    rows: int = 1000,
    *,
    experiment: int = 1,
    mix: float = 0.5,
    noise_variance: float = 0.1,
    random_state: int = 0,
    backend: str = "pandas",
) -> Bunch:
    """The data of the paper's ridge experiments: x = mix·u + (1 − mix)·s, y = x² (+ s² in experiment 2) + noise.

    Parameters
    ----------
    rows, random_state, backend
        As in :func:`admissions`.
    experiment : {1, 2}, default=1
        Which of the two.
    mix : float, default=0.5
        The paper's γ: the share of x that is not s.
    noise_variance : float, default=0.1
        0.1 in the paper's text, 0.01 in its authors' code.
    """
    if experiment not in (1, 2):
        raise _oblivio.InvalidInputError(f"experiment must be 1 or 2, got {experiment!r}")
    return _bunch(f"ridge-{experiment}", rows, random_state, backend, mix=mix, noise_variance=noise_variance)


def _bunch(name: str, rows: int, seed: int, backend: str, **parameters: float) -> Bunch:
    if seed < 0:
        raise _oblivio.InvalidInputError(f"random_state must not be negative, got {seed}")
    roles = _oblivio.simulate(name, count("rows", rows), seed, **parameters)

    def frame(columns: list[Any]) -> Any:
        values = {
            name: np.array(values[0], dtype=object)[values[1]].tolist() if isinstance(values, tuple) else values
            for name, values in columns
        }
        return nw.from_dict(values, backend=cast("Any", backend)).to_native()

    frames = {role: frame(columns) for role, columns in roles.items() if columns}
    together = roles["sensitive"] + roles["features"] + roles["targets"]
    return Bunch(frame=frame(together), **frames)
