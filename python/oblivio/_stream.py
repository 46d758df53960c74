"""Rows that come in batches: what the estimators with ``partial_fit`` share."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

from oblivio._input import Features, NamedColumn
from oblivio._oblivio import InvalidInputError


class _NoComponentsError(InvalidInputError, AttributeError):
    """An attribute error, too, so that ``hasattr`` tells who has ``partial_fit``."""


class NeedsComponents:
    """A method that is there once ``n_components`` is set; until then, asking for it says so."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Callable[..., Any]:
        if instance is None:
            return self.method
        if instance.n_components is None:
            raise _NoComponentsError(
                f"{self.method.__name__} adds up features of landmarks, and n_components=None has none; "
                "set n_components, or use fit"
            )
        return MethodType(self.method, instance)


class Streamed:
    """Mixin: the checks of ``partial_fit``, and how it reads its batches."""

    # What a later call goes on from: there after the first.
    _state: Any
    _target_name: str

    def _forget(self) -> None:
        """Before a fit: nothing is left of an earlier one."""
        for fitted in ("model_", "_file_columns", "_state", "_target_name"):
            self.__dict__.pop(fitted, None)

    def _check_streams(self, verb: str) -> None:
        """Refuse what sums over rows cannot do."""
        estimator: Any = self
        if getattr(self, "mode", None) == "m-oblivious":
            raise InvalidInputError(
                f"{verb} cannot do mode='m-oblivious', whose offsets need each row once more; use fit"
            )
        if getattr(self, "intervals", None) is not None:
            raise InvalidInputError(
                f"{verb} cannot do intervals={estimator.intervals!r}, which need fits to parts of the rows; use fit"
            )
        if estimator.reference != "all":
            raise InvalidInputError(
                f"{verb} cannot do reference={estimator.reference!r}, for which rows estimate is drawn from the "
                "whole table; use fit, or reference='all'"
            )

    def _read_batch(
        self, X: Any, sensitive_features: Any, control_features: Any = None
    ) -> tuple[Features, list[NamedColumn]]:
        """X and S of a batch; the first one forgets an earlier fit."""
        estimator: Any = self
        if hasattr(self, "_file_columns"):
            raise InvalidInputError(
                "this model has no sums to add to, for a file keeps none; use fit, or partial_fit of a new estimator"
            )
        self._check_streams("partial_fit")
        if not hasattr(self, "_state"):
            self._forget()
            read: tuple[Features, list[NamedColumn]] = estimator._read_fit(X, sensitive_features, control_features)
            return read
        needed = bool(estimator.sensitive_feature_names_)
        features, sensitive = estimator._read_new(
            X, sensitive_features, "partial_fit", needed=needed, control_features=control_features
        )
        return features, sensitive or []


def in_batches(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of a fit whose rows come in batches: cells, unless something else is asked for."""
    if settings["conditional_mean"] == "auto":
        return settings | {"conditional_mean": "cells"}
    return settings
