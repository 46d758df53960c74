"""Our settings, through the public Python API alone."""

from dataclasses import dataclass, replace
from functools import lru_cache

import learners
import numpy as np
from peers import Answer

EXACT_ROWS = 1500
LANDMARKS = 500
FINELY = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)
MIDWAY = (0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
COARSELY = (0.5, 0.8, 0.9, 1.0)


@dataclass(frozen=True)
class Setting:
    """One point of ours: a family (a line in the figures), its knob, and the parameters of the estimator.

    ``features`` says whether S is also among the features: the best score that is then aligned may know S. The strength
    of an alignment, and that of m-oblivious offsets, are linear in the score: such a family is two fits, and ``check``
    sees that this is so.
    """

    family: str
    knob: float
    learner: str
    features: str
    name_of_knob: str
    parameters: tuple

    @property
    def name(self):
        return f"{self.family}, {self.knob:g}"

    def __call__(self, table, split):
        held = _Held(table, split)
        if not self.is_linear:
            return Answer(self._scores(held, self.knob))
        plain = _fitted(table.name, split.number, self.learner, self.features, (("mode", "plain"),), held)
        return Answer((1.0 - self.knob) * plain + self.knob * self._scores(held, 1.0))

    @property
    def is_linear(self):
        mode = dict(self.parameters)["mode"]
        return (mode == "plain" and self.name_of_knob == "align_strength") or mode == "m-oblivious"

    def _scores(self, held, knob):
        parameters = (*self.parameters, (self.name_of_knob, knob))
        return _fitted(held.table.name, held.split.number, self.learner, self.features, parameters, held)

    def check(self, table, split):
        """Half of a linear knob is halfway."""
        halfway = replace(self, knob=0.5)
        direct = halfway._scores(_Held(table, split), 0.5)
        assert np.allclose(halfway(table, split).values, direct, atol=1e-7 * np.abs(direct).max()), self.name


def settings_of(table):
    """All our settings for a table: one knob per family."""
    smooth, cells = {"conditional_mean": "smooth"}, {"conditional_mean": "cells", "cells": 4}
    settings = []

    def family(name, learner, features, knob, values, **parameters):
        frozen = tuple(sorted(parameters.items()))
        settings.extend(Setting(name, value, learner, features, knob, frozen) for value in values)

    for learner in ("logistic", "ridge") if table.is_classification else ("ridge",):
        aligned = {"mode": "plain", "align": "quantile"}
        family(f"aware {learner}, quantile alignment", learner, "with S", "align_strength", FINELY, **aligned, **smooth)
        name = f"aware {learner}, quantile alignment by cells"
        family(name, learner, "with S", "align_strength", COARSELY, **aligned, **cells)
        name = f"{learner} without S, quantile alignment"
        family(name, learner, "without S", "align_strength", FINELY, **aligned, **smooth)
        name = f"aware linear {learner}, quantile alignment"
        family(name, f"linear {learner}", "with S", "align_strength", FINELY, **aligned, **smooth)
        if learner == "logistic":
            continue
        offset = {"mode": "m-oblivious"}
        family(f"m-oblivious aware {learner}", learner, "with S", "strength", MIDWAY, **offset, **smooth)
        family(f"m-oblivious aware {learner} by cells", learner, "with S", "strength", MIDWAY, **offset, **cells)
        family(f"oblivious {learner}", learner, "without S", "strength", (0.5, 1.0), mode="oblivious", **smooth)
        name = f"aware {learner}, location-scale alignment"
        scaled = {"mode": "plain", "align": "location-scale"}
        family(name, learner, "with S", "align_strength", COARSELY, **scaled, **smooth)
        family(f"oblivious {learner} by cells", learner, "without S", "strength", (1.0,), mode="oblivious", **cells)
        name = f"oblivious {learner}, quantile alignment"
        family(name, learner, "without S", "align_strength", (0.5, 1.0), mode="oblivious", align="quantile", **smooth)
    return {setting.name: setting for setting in settings}


def peers_by_us(table):
    """Published methods that the package has as a mode: FERM for demographic parity, with all cells."""
    learner = "logistic" if table.is_classification else "ridge"
    parameters = (("cells", 4), ("conditional_mean", "cells"), ("mode", "sensitive-free"))
    return {"FERM (sensitive-free)": Setting("FERM", 1.0, learner, "without S", "strength", parameters)}


class _Held:
    """Carries a table and a split past the cache, which goes by their names."""

    def __init__(self, table, split):
        self.table, self.split = table, split

    def __hash__(self):
        return 0

    def __eq__(self, other):
        return isinstance(other, _Held)


@lru_cache(maxsize=64)
def _fitted(table_name, split_number, learner, features, parameters, held):
    """The scores of the held-out rows."""
    table, split = held.table, held.split
    gamma, penalty = _tuned(table_name, split_number, learner, features, held)
    train, test = _features(split, features)
    model = _estimator(learner, gamma, penalty, len(train), **dict(parameters))
    model.fit(train, _target(table, split, learner), sensitive_features=split.train_sensitive)
    return _scores(model, test, split.test_sensitive)


@lru_cache(maxsize=64)
def _tuned(table_name, split_number, learner, features, held):
    """Bandwidth and penalty for the plain problem, by leave-one-out or cross-validation on the training rows.

    Tuned without removal: a score on oblivious features that leaks S has less error, so error must not choose there.
    """
    import oblivio as ob

    table, split = held.table, held.split
    train, _ = _features(split, features)
    target = _target(table, split, "ridge")
    if learner == "linear ridge":
        search = ob.ObliviousRidgeCV(
            standardize=False,
            mode="plain",
            kernel="linear",
            gammas=None,
            n_components=train.shape[1],
            fit_intercept=True,
        )
        return None, search.fit(train, target).alpha_
    if learner == "linear logistic":
        return None, _best_c(train, _target(table, split, learner), None)
    first = slice(0, EXACT_ROWS)
    scale = 1.0 / (train.shape[1] * train.var())
    gammas = [multiple * scale for multiple in learners.MULTIPLES]
    found = ob.ObliviousRidgeCV(standardize=False, mode="plain", gammas=gammas, fit_intercept=True).fit(
        train[first], target[first]
    )
    if learner == "ridge":
        if len(train) <= EXACT_ROWS:
            return found.gamma_, found.alpha_
        search = ob.ObliviousRidgeCV(
            standardize=False, mode="plain", gamma=found.gamma_, gammas=None, n_components=LANDMARKS, fit_intercept=True
        )
        return found.gamma_, search.fit(train, target).alpha_
    return found.gamma_, _best_c(train, _target(table, split, "logistic"), found.gamma_)


def learner_of(gamma):
    """A kernel without a bandwidth is linear."""
    return "linear logistic" if gamma is None else "logistic"


def _best_c(train, target, gamma):
    """The C of least cross-entropy in three folds."""
    folds = np.arange(len(train)) % 3
    losses = {}
    for c in (0.1, 1.0, 10.0, 100.0):
        losses[c] = 0.0
        for fold in range(3):
            model = _estimator(learner_of(gamma), gamma, c, len(train), mode="plain")
            model.fit(train[folds != fold], target[folds != fold])
            margin = (2.0 * target[folds == fold] - 1.0) * model.decision_function(train[folds == fold])
            losses[c] += np.logaddexp(0.0, -margin).sum()
    return min(losses, key=losses.get)


def _estimator(learner, gamma, penalty, rows, **parameters):
    import oblivio as ob

    shared = {
        "kernel": "linear" if gamma is None else "rbf",
        "gamma": 1.0 if gamma is None else gamma,
        "n_components": None if rows <= EXACT_ROWS and gamma is not None else LANDMARKS,
        "fit_intercept": True,
        "handle_unknown": "population",
        "random_state": 0,
    }
    if learner.endswith("ridge"):
        return ob.ObliviousRidge(alpha=penalty, **shared, **({"standardize": False} | parameters))
    return ob.ObliviousLogistic(C=penalty, tol=1e-6, **shared, **({"standardize": False} | parameters))


def _features(split, features):
    if features == "without S":
        return split.train, split.test
    train = np.c_[split.train, split.train_sensitive_numbers]
    return train, np.c_[split.test, split.test_sensitive_numbers]


def _target(table, split, learner):
    """Classes are plus and minus one for ridge regression."""
    if table.is_classification and learner.endswith("ridge"):
        return 2.0 * split.train_target - 1.0
    return split.train_target


def _scores(model, test, sensitive):
    score = getattr(model, "decision_function", None) or model.predict
    return np.asarray(score(test, sensitive_features=sensitive), dtype=float).ravel()
