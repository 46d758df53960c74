"""Intervals: per-cell coverage on rows that the fit has not seen, and what scikit-learn expects of the parameter."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import oblivio as ob

ROWS = 300


def noisy(rows: int, seed: int) -> tuple[Any, Any, Any]:
    """A target whose noise is four times as large in group b."""
    random = np.random.default_rng(seed)
    group = np.where(np.arange(rows) % 2 == 0, "a", "b")
    x = random.normal(size=(rows, 1)) + np.where(group == "a", -0.5, 0.5)[:, None]
    noise = np.where(group == "a", 0.3, 1.2) * random.normal(size=rows)
    return x, np.sin(2 * x[:, 0]) + noise, group


def fitted(**settings: Any) -> ob.ObliviousRidge:
    x, y, group = noisy(ROWS, 1)
    return ob.ObliviousRidge(gamma=0.5, **({"standardize": False} | settings)).fit(x, y, sensitive_features=group)


@pytest.mark.parametrize(
    "settings",
    [
        {"intervals": "auto"},
        {"intervals": "loo", "mode": "m-oblivious"},
        {"intervals": "folds"},
        {"intervals": "auto", "n_components": 20},
        {"intervals": "auto", "align": "quantile"},
    ],
)
@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_every_cell_is_covered_as_often_as_asked(settings: dict[str, Any], coverage: float) -> None:
    model = fitted(**settings)
    x, y, group = noisy(4000, 2)
    found = model.interval_coverage(x, y, coverage=coverage, sensitive_features=group)
    assert list(found["cell"]) == ["sensitive_feature_0=a", "sensitive_feature_0=b", "all rows"]
    assert list(found["rows"]) == [2000, 2000, 4000]
    # Given the fit, from n residuals; the share among m rows; and two in a hundred for the stability of the fit.
    margin = 3.5 * np.sqrt(coverage * (1 - coverage) * (1 / (ROWS / 2 + 2) + 1 / 2000)) + 0.02
    assert (abs(found["covered"] - coverage) < margin).all()
    ends = model.predict_interval(x, coverage=coverage, sensitive_features=group)
    assert ends.shape == (4000, 2)
    held = (ends[:, 0] <= y) & (y <= ends[:, 1])
    assert found["covered"].iloc[0] == held[group == "a"].mean()
    widths = ends[:, 1] - ends[:, 0]
    assert widths[group == "b"].min() > 2 * widths[group == "a"].max()
    middle = ends.mean(axis=1)
    np.testing.assert_allclose(middle, model.predict(x, sensitive_features=group), atol=1e-12)


def test_leave_one_out_is_that_of_refits() -> None:
    x, y, _ = noisy(30, 3)
    model = ob.ObliviousRidge(standardize=False, gamma=0.5, intervals="loo").fit(x, y)
    rest = [np.delete(np.arange(30), row) for row in range(30)]
    refits = [ob.ObliviousRidge(standardize=False, gamma=0.5).fit(x[rows], y[rows]) for rows in rest]
    residuals = sorted(abs(y[row] - refits[row].predict(x[row : row + 1])[0]) for row in range(30))
    for rank in (1, 15, 30):
        ends = model.predict_interval(x[:1], coverage=rank / 31)
        np.testing.assert_allclose((ends[0, 1] - ends[0, 0]) / 2, residuals[rank - 1], rtol=1e-8)


def test_files_pickles_and_clones_keep_them(tmp_path: Any) -> None:
    x, _, group = noisy(20, 4)
    for model in (fitted(intervals="auto"), fitted(intervals="folds", n_components=20)):
        ends = model.predict_interval(x, sensitive_features=group)
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict_interval(x, sensitive_features=group), ends)
        model.save(tmp_path / "model.oblivio")
        read = ob.load(tmp_path / "model.oblivio")
        np.testing.assert_array_equal(read.predict_interval(x, sensitive_features=group), ends)
        assert clone(model).get_params()["intervals"] == model.intervals


def test_the_search_for_a_penalty_has_them_too() -> None:
    x, y, group = noisy(120, 5)
    for components in (None, 20):
        model = ob.ObliviousRidgeCV(standardize=False, gammas=None, n_components=components, intervals="auto")
        model.fit(x, y, sensitive_features=group)
        assert np.isfinite(model.predict_interval(x, sensitive_features=group)).all()


def test_small_cells_have_no_end_and_say_so() -> None:
    x, y, group = noisy(60, 6)
    group[:4] = "rare"
    with pytest.warns(ob.OblivioWarning, match="the intervals of 1 cells have no end at coverage 0.9"):
        model = ob.ObliviousRidge(standardize=False, intervals="auto").fit(x, y, sensitive_features=group)
    with pytest.warns(ob.OblivioWarning, match="4 rows have intervals without end"):
        ends = model.predict_interval(x, sensitive_features=group)
    assert np.isinf(ends[:4]).all() and np.isfinite(ends[4:]).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(model.predict_interval(x, coverage=0.5, sensitive_features=group)).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"intervals": "loo", "n_components": 20}, "intervals must be auto or folds where leaving out a row"),
        ({"intervals": "loo", "align": "quantile"}, "intervals must be auto or folds where leaving out a row"),
        ({"intervals": "often"}, "intervals `often` is not known; choose one of: auto, loo, folds"),
        ({"intervals": True}, "intervals must be a name, got True"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ob.InvalidInputError, match=message):
        fitted(**settings)


def test_models_without_and_batches_say_what_to_do() -> None:
    x, y, group = noisy(40, 7)
    with pytest.raises(ob.InvalidInputError, match="must be one fitted with intervals"):
        fitted().predict_interval(x, sensitive_features=group)
    with pytest.raises(ob.InvalidInputError, match="coverage must be between 0 and 1"):
        fitted(intervals="auto").predict_interval(x, coverage=1.0, sensitive_features=group)
    batches = ob.ObliviousRidge(standardize=False, n_components=10, intervals="auto")
    with pytest.raises(ob.InvalidInputError, match="partial_fit cannot do intervals='auto'"):
        batches.partial_fit(x, y, sensitive_features=group)
