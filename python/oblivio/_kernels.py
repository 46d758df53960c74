"""Kernels as objects that can be added and multiplied."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from oblivio._oblivio import InvalidInputError

_PARAMETERS = {
    "linear": (),
    "poly": ("degree", "gamma", "coef0"),
    "rbf": ("gamma",),
    "laplacian": ("gamma",),
    "matern12": ("gamma",),
    "matern32": ("gamma",),
    "matern52": ("gamma",),
}


class Kernel:
    """A kernel, or a sum, product or positive multiple of kernels.

    Parameters
    ----------
    name : str
        ``"linear"``, ``"poly"``, ``"rbf"``, ``"laplacian"``, ``"matern12"``, ``"matern32"``, ``"matern52"``, or a whole
        expression in the spelling of the command line.
    **parameters
        ``gamma`` (a number, ``"scale"`` or ``"median"``), and for ``"poly"`` also ``degree`` and ``coef0``.

    Examples
    --------
    >>> import oblivio as ob
    >>> 0.5 * ob.Kernel("rbf", gamma=2) + ob.Kernel("linear")
    Kernel('0.5 * rbf(gamma=2) + linear')
    """

    def __init__(self, name: str, **parameters: Any) -> None:
        known = _PARAMETERS.get(name, ())
        for key in parameters:
            if key not in known:
                raise InvalidInputError(f"the kernel {name!r} has no parameter {key!r} ({', '.join(known) or 'none'})")
        self.expression = spelled(name, parameters)

    def __add__(self, other: Kernel) -> Kernel:
        if not isinstance(other, Kernel):
            return NotImplemented
        return Kernel(f"{self.expression} + {other.expression}")

    def __mul__(self, other: Kernel | float) -> Kernel:
        factor = _factor(other.expression) if isinstance(other, Kernel) else repr(float(other))
        return Kernel(f"{_factor(self.expression)} * {factor}")

    def __rmul__(self, other: float) -> Kernel:
        return Kernel(f"{other!r} * {_factor(self.expression)}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and self.expression == other.expression

    def __hash__(self) -> int:
        return hash(self.expression)

    def __repr__(self) -> str:
        return f"Kernel({self.expression!r})"


def spelled(name: str, parameters: dict[str, Any]) -> str:
    """The kernel ``name`` with those of the parameters that it has; a whole expression stays as it is."""
    if name not in _PARAMETERS:
        return name
    given = [f"{key}={_number(parameters[key])}" for key in _PARAMETERS[name] if key in parameters]
    return f"{name}({', '.join(given)})" if given else name


def _number(value: Any) -> str:
    return value if isinstance(value, str) else repr(int(value) if isinstance(value, Integral) else float(value))


def _factor(expression: str) -> str:
    return f"({expression})" if "+" in expression else expression
