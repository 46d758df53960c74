"""Rows that need not be numbers: strings, graphs, trees, known by the values of a kernel between them.

The kernel is ``"precomputed"``, and X holds its values, or a callable of two objects, and X holds the objects. The
engine knows a row by its number: rows of the fit count from 0, new rows follow them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from oblivio._input import Features, aligned, frame_of
from oblivio._kernels import Kernel
from oblivio._oblivio import InvalidInputError

#: How a kernel that X holds the values of is called.
PRECOMPUTED = "precomputed"


def is_table(kernel: Any) -> bool:
    """Whether the engine knows the kernel by its values alone."""
    if isinstance(kernel, str):
        return kernel == PRECOMPUTED
    return callable(kernel) and not isinstance(kernel, Kernel)


def needs_formula(estimator: Any) -> InvalidInputError:
    """What refuses a kernel that is known by its values alone where points are needed."""
    return InvalidInputError(
        f"{type(estimator).__name__} needs a kernel that is a formula here; a precomputed kernel or a callable works "
        "in ObliviousKernel, and on one machine without n_components in ObliviousRidge, ObliviousRidgeCV, ObliviousSVC "
        "and ObliviousLogistic"
    )


def read_fit(estimator: Any, X: Any) -> Features:
    """The rows of a fit, with the values of the kernel among them."""
    if not estimator._takes_objects:
        raise needs_formula(estimator)
    for parameter in ("sensitive_feature_ids", "control_feature_ids"):
        if getattr(estimator, parameter, None) is not None:
            raise InvalidInputError(
                f"with a precomputed kernel or a callable X has no columns that {parameter} could name; pass "
                "sensitive_features= and control_features="
            )
    if isinstance(estimator.kernel, str):
        values = validate_data(estimator, X, reset=True, dtype=np.float64)
        if values.shape[0] != values.shape[1]:
            raise InvalidInputError(
                f"kernel='precomputed' needs the square matrix of kernel values among the rows of the fit, got shape "
                f"{values.shape}"
            )
        estimator.objects_ = None
    else:
        estimator.objects_ = objects_of(X)
        values = among(estimator.kernel, estimator.objects_)
    estimator.n_objects_ = len(values)
    return numbered(0, aligned(values))


def read_new(estimator: Any, X: Any, *, with_own: bool = False) -> Features:
    """New rows, with the kernel's values between them and the rows of the fit, and among themselves if asked for."""
    count = estimator.n_objects_
    if estimator.objects_ is None:
        values = check_array(X, dtype=np.float64)
        rows = len(values)
        needed = count + rows if with_own else count
        if values.shape[1] != needed:
            own = f", then one for each of the {rows} new rows" if with_own else ""
            raise InvalidInputError(
                f"kernel='precomputed' needs a column for each of the {count} rows of the fit{own}, got "
                f"{values.shape[1]} columns"
            )
    else:
        objects = objects_of(X)
        values = np.array([[value(estimator.kernel, a, b) for b in estimator.objects_] for a in objects])
        if with_own:
            values = np.hstack([values, among(estimator.kernel, objects)])
    return numbered(count, aligned(values))


def numbered(first: int, values: Any) -> Features:
    """Rows known by their numbers."""
    numbers = np.arange(first, first + len(values), dtype=np.float64)[:, None]
    features = Features(["object"], len(values), matrix=numbers)
    features.kernel_values = values
    return features


def objects_of(X: Any) -> list[Any]:
    """The objects of any sequence; the rows of a frame or of a matrix."""
    frame = frame_of(X)
    objects = list(frame.iter_rows()) if frame is not None else list(X)
    if not objects:
        raise InvalidInputError("Found array with 0 sample(s) while a minimum of 1 is required.")
    return objects


def among(kernel: Any, objects: list[Any]) -> np.ndarray[Any, Any]:
    """The symmetric matrix of a kernel's values, each pair computed once."""
    values = np.empty((len(objects), len(objects)))
    for i, a in enumerate(objects):
        for j in range(i + 1):
            values[i, j] = values[j, i] = value(kernel, a, objects[j])
    return values


def value(kernel: Any, a: Any, b: Any) -> float:
    """One value of a callable kernel."""
    found = kernel(a, b)
    try:
        return float(found)
    except (TypeError, ValueError):
        raise InvalidInputError(
            f"the kernel must return one number for two objects, got {type(found).__name__}"
        ) from None
