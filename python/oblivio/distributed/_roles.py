"""Which column is what: names that the user gives, checked against those of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from oblivio._base import given_twice
from oblivio._input import Features, keys
from oblivio._oblivio import InvalidInputError


@dataclass(frozen=True)
class Roles:
    """The columns of a fit, by name."""

    features: list[str]
    sensitive: list[str]
    control: list[str]
    label: str | None
    weight: str | None
    categorical: list[str]
    # Whether features may miss values.
    gaps: bool = False

    @classmethod
    def of(
        cls,
        estimator: Any,
        names: Sequence[str],
        *,
        label: Any = None,
        sensitive: Any = None,
        features: Any = None,
        control: Any = None,
        sample_weight: Any = None,
    ) -> Roles:
        """What the user names and, where that is nothing, what the estimator's parameters do."""
        target = one_of(names, label, "label")
        weight = one_of(names, sample_weight, "sample_weight")
        own = _either(estimator, names, sensitive, "sensitive")
        factors = _either(estimator, names, control, "control")
        both = [name for name in factors if name in own]
        if both:
            raise InvalidInputError(
                f"{both[0]!r} is both sensitive and a legitimate factor; name it in sensitive or in control"
            )
        apart = [*own, *([target] if target else []), *([weight] if weight else [])]
        chosen = some_of(names, features, "features") or [name for name in names if name not in apart]
        if not chosen:
            raise InvalidInputError("no column is left to be a feature; at least one is needed")
        if target in chosen:
            raise InvalidInputError(f"{target!r} is both the label and a feature; name it once")
        gaps = estimator.missing_features == "indicate"
        return cls(chosen, own, factors, target, weight, _categorical(estimator, chosen, own), gaps)

    @property
    def columns(self) -> list[str]:
        """All of them, each once."""
        single = [name for name in (self.label, self.weight) if name is not None]
        return list(dict.fromkeys([*self.features, *self.sensitive, *self.control, *single]))


def some_of(names: Sequence[str], ids: Any, parameter: str) -> list[str]:
    """Columns by name; a single one need not be in a list."""
    if ids is None:
        return []
    found = keys(ids, parameter)
    for key in found:
        if not isinstance(key, str):
            raise InvalidInputError(f"{parameter} must be names of columns, got {key!r}")
        if found.count(key) > 1:
            raise InvalidInputError(f"{parameter} names {key!r} twice")
    return [names[position] for position in Features(list(names), 0).positions(found, parameter)]


def one_of(names: Sequence[str], key: Any, parameter: str) -> str | None:
    """A column by name, or none."""
    found = some_of(names, key, parameter)
    if len(found) > 1:
        raise InvalidInputError(f"{parameter} must be one column, got {', '.join(found)}")
    return found[0] if found else None


def _either(estimator: Any, names: Sequence[str], given: Any, what: str) -> list[str]:
    """Columns that an argument names, or a parameter of the estimator, but not both."""
    ids = getattr(estimator, f"{what}_feature_ids", None)
    if given is None:
        return some_of(names, ids, f"{what}_feature_ids")
    found = some_of(names, given, what)
    if ids is not None and set(keys(ids, f"{what}_feature_ids")) != set(found):
        raise given_twice(what)
    return found


def _categorical(estimator: Any, features: list[str], sensitive: list[str]) -> list[str]:
    """The columns that categorical_features names."""
    chosen = estimator.categorical_features
    if not isinstance(chosen, str) or chosen != "auto":
        some_of([*features, *sensitive], chosen, "categorical_features")
    everything = Features([*features, *(name for name in sensitive if name not in features)], 0)
    found: list[str] = estimator._categorical(everything, [everything.names.index(name) for name in sensitive])
    return found
