"""Values of settings by the engine's table: what each estimator has, and how its parameters are read."""

from __future__ import annotations

import numbers
import sys
from typing import Any

from oblivio import _oblivio
from oblivio._oblivio import InvalidInputError

_TABLE: list[dict[str, Any]] = _oblivio.settings()

# The kernel's parameters are part of its expression, and a class weight may be a dictionary.
_APART = ("kernel", "gamma", "degree", "coef0", "class_weight")


def settings_of(fitter: str) -> list[dict[str, Any]]:
    """The settings that are parameters of an estimator."""
    return [setting for setting in _TABLE if setting["python"] and fitter in setting["used_by"]]


def default_of(setting: dict[str, Any], fitter: str) -> Any:
    """The default of a setting for an estimator."""
    return setting["exceptions"].get(fitter, setting["default"])


def values_of(estimator: Any, fitter: str) -> dict[str, Any]:
    """The values of an estimator's parameters, by the names of the table; None is the default."""
    found = {}
    for setting in settings_of(fitter):
        if setting["name"] not in _APART and setting["kind"]["type"] != "object":
            value = getattr(estimator, setting["python"])
            found[setting["name"]] = _read(setting, default_of(setting, fitter), value)
    return found


def _read(setting: dict[str, Any], default: Any, value: Any) -> Any:
    """A parameter as the engine takes it; its range is the engine's business."""
    name, kind = setting["python"], setting["kind"]["type"]
    if value is None and default is None:
        return None
    if kind == "switch" or isinstance(default, bool):
        return bool(value)
    if kind == "count":
        return count(name, value)
    if kind == "word":
        return text(name, value)
    if kind == "number" or isinstance(default, numbers.Real):
        return number(name, value)
    return str(value)


def number(name: str, value: Any) -> float:
    """A setting as a number; its range is the engine's business."""
    if not isinstance(value, numbers.Real):
        raise InvalidInputError(f"{name} must be a number, got {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise InvalidInputError(f"{name} is beyond all floating-point numbers; give a smaller one") from None


def text(name: str, value: Any) -> str:
    """A setting as one of some names; which is the engine's business."""
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} must be a name, got {value!r}")
    return value


def count(name: str, value: Any) -> int:
    """A setting as a positive whole number."""
    if not isinstance(value, numbers.Integral) or int(value) < 1:
        raise InvalidInputError(f"{name} must be a positive whole number, got {value!r}")
    if int(value) > sys.maxsize:
        raise InvalidInputError(f"{name} must be at most {sys.maxsize}, got {value!r}")
    return int(value)
