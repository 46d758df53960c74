"""What every estimator that scores rows shares: its settings, its fitted model, and offsets that can be renewed."""

from __future__ import annotations

import copy
import json
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from oblivio import _oblivio
from oblivio._base import ObliviousEstimator, count, number, seed_of, text
from oblivio._cluster import ScoresOnClusters
from oblivio._files import Exported
from oblivio._input import Features, NamedColumn, warn


class Drift(NamedTuple):
    """How the score before the offset has moved in one cell, since the last refresh or the fit.

    Attributes
    ----------
    cell : str
        The cell in words.
    rows : int
        Its new rows.
    mean_before, mean_after : float
        The mean score until now, and over the new rows (that until now where there are none).
    z : float or None
        Their difference over its standard error; None where the new rows have no spread.
    offset_before, offset_after : float
        The offset until now, and the one from now on.
    kept : bool
        Whether there were too few new rows, so that the cell keeps its mean and its share of the population.
    mean_at_fit : float or None
        The mean score at the fit, however often the model was refreshed since; None if an older version has done so.
    z_since_fit : float or None
        As ``z``, of ``mean_after`` and ``mean_at_fit``: drift that is too slow for any refresh to see adds up here.
    """

    cell: str
    rows: int
    mean_before: float
    mean_after: float
    z: float | None
    offset_before: float
    offset_after: float
    kept: bool
    mean_at_fit: float | None
    z_since_fit: float | None


class Holdings(NamedTuple):
    """What a model, and so its file, gives away of the rows of its fit besides sums over them.

    Attributes
    ----------
    what : str
        "rows" on the exact path, "landmarks" (which are rows of the fit too), or "nothing".
    rows : int
        How many.
    features : int
        The features of each, as encoded.
    sensitive_values : int
        Combinations of sensitive values, where the conditional mean is smooth.
    """

    what: str
    rows: int
    features: int
    sensitive_values: int


class Scored(ScoresOnClusters, Exported, ObliviousEstimator):
    """Scores: h(x) − t·b(s), one or several."""

    model_: _oblivio.ScoreModel
    _takes_objects = True

    def _score_settings(
        self, features: Features, sensitive: list[NamedColumn], reference_rows: Any = None
    ) -> dict[str, Any]:
        """The settings that every learner has."""
        epsilon = number("epsilon", getattr(self, "epsilon", 0.0))
        if getattr(self, "eta", None) is not None and epsilon != 0.0:
            raise _oblivio.InvalidInputError(
                f"eta and epsilon exclude each other, got eta={self.eta} and epsilon={epsilon}"
            )
        return self._settings(features, sensitive, reference_rows) | {"kernel": self._kernel_setting(features)}

    def _scores(
        self, X: Any, sensitive_features: Any, verb: str, control_features: Any = None
    ) -> list[np.ndarray[Any, Any]]:
        """The scores of new rows, one array for each."""
        model = self._fitted_model()
        features, sensitive = self._read_new(
            X, sensitive_features, verb, needed=model.needs_sensitive, control_features=control_features
        )
        model = features.known_to(model)
        scores: list[np.ndarray[Any, Any]]
        scores, _, uses = model.predict(features.table(), sensitive, self._progress())
        self._warn_uses(uses)
        return scores

    def _renew(
        self,
        X: Any,
        sensitive_features: Any,
        sample_weight: Any,
        rule: tuple[int, str, str | None],
        control_features: Any = None,
    ) -> list[list[Drift]]:
        """New offsets; for each score how far every cell has drifted."""
        model = self._fitted_model()
        if not self.sensitive_feature_names_:
            raise _oblivio.InvalidInputError(
                f"{type(self).__name__} was fitted without sensitive features and has no offsets to refresh; "
                "fit it with them"
            )
        features, sensitive = self._read_new(
            X, sensitive_features, "refresh", needed=True, control_features=control_features
        )
        min_rows, small, date = rule
        self.model_, drifts, uses = features.known_to(model).refresh(
            features.table(),
            sensitive or [],
            self._weights(sample_weight, features.rows),
            (count("min_rows", min_rows), text("small", small), None if date is None else text("date", date)),
            self._progress(),
        )
        warn([], uses)
        return [[Drift(*row) for row in drift] for drift in drifts]

    def _fitted_model(self) -> _oblivio.ScoreModel:
        check_is_fitted(self, "model_")
        return self.model_

    def reduce(self, n_landmarks: int, *, random_state: int = 0, date: str | None = None) -> Any:
        """The same model on fewer points: smaller, faster to score, and holding fewer rows of the fit.

        Each score becomes the nearest function to it on landmarks among its points. ``history_[-1]["reduce"]`` says
        what that costs: how far scores have moved at the points (``root-mean-square``, ``largest``) beside their
        ``spread``, and how far any like them can have (``bound``). Offsets stay as they were; :meth:`refresh` renews
        them.

        Parameters
        ----------
        n_landmarks : int
            At least 1 and below the number of points.
        random_state : int, default=0
            The seed of their choice.
        date : str, default=None
            What ``history_`` will say of the time.

        Returns
        -------
        estimator
            A new one; this one stays as it is.
        """
        model = self._fitted_model()
        reduced = copy.copy(self)
        reduced.model_ = model.reduce(
            count("n_landmarks", n_landmarks),
            seed_of(random_state),
            None if date is None else text("date", date),
            self._progress(),
        )
        return reduced

    @property
    def history_(self) -> list[dict[str, Any]]:
        """What was done to the model since its fit: refreshes and reductions, each with its numbers."""
        history: list[dict[str, Any]] = json.loads(self._fitted_model().card()).get("history", [])
        return history

    @property
    def dependence_(self) -> list[dict[str, float]]:
        """The share of each score's variance that the cells explain, at the fit.

        ``before`` the offset, ``after`` it, and as ``expected`` if they had nothing to do with each other; on rows of
        the fit, which flatter a model. Empty without sensitive features, or where it would take another pass.
        """
        found: list[dict[str, float]] = json.loads(self._fitted_model().card()).get("dependence", [])
        return found

    @property
    def holdings_(self) -> Holdings:
        """What the model, and so its file, gives away of the rows of its fit."""
        return Holdings(*self._fitted_model().holdings)

    @property
    def n_components_(self) -> int | None:
        """The number of landmarks; None on the exact path."""
        return self._fitted_model().components

    @property
    def landmarks_(self) -> np.ndarray[Any, Any] | None:
        """The landmarks, as encoded; None on the exact path."""
        model = self._fitted_model()
        return None if model.components is None else model.points

    @property
    def conditional_mean_(self) -> str | None:
        """How the mean of the features given S is estimated: "cells", "smooth" or "linear"; None without S."""
        return self._fitted_model().conditional_mean[0]

    @property
    def conditional_mean_scores_(self) -> dict[str, float]:
        """The leave-one-out error of every conditional mean that was tried, where it took a look at the rows."""
        return dict(self._fitted_model().conditional_mean[1])

    @property
    def cells_(self) -> list[tuple[str, int]]:
        """The cells in words, and their number of reference rows."""
        return self._fitted_model().cells

    @property
    def sensitive_kinds_(self) -> dict[str, str]:
        """How each sensitive feature is read."""
        return dict(self._fitted_model().sensitive_columns)
