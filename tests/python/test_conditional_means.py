"""Conditional means by cells, smooth and linear; legitimate factors; alignment; rows without sensitive values."""

import copy
import pickle
import re
import warnings
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from fairlearn.preprocessing import CorrelationRemover

import oblivio as ob

# Small cells and values beyond those of the fit are remarked on, also where cells only serve the report.
REMARKS = "were joined with|hold a single reference row|outside the range of the reference|fall in one cell"
pytestmark = pytest.mark.filterwarnings(f"ignore:.*({REMARKS}):oblivio.OblivioWarning")

ESTIMATORS = {
    "ridge": lambda **k: ob.ObliviousRidge(alpha=0.1, fit_intercept=True, **({"standardize": False} | k)),
    "svc": lambda **k: ob.ObliviousSVC(**({"standardize": False} | k)),
    "logistic": lambda **k: ob.ObliviousLogistic(C=10.0, **({"standardize": False} | k)),
}


def people(rows, seed):
    """Features whose means and spread depend on age and group, and a target that follows them."""
    rng = np.random.default_rng(seed)
    age = rng.uniform(-1.0, 1.0, rows)
    group = rng.permutation(np.arange(rows) % 3)
    x = np.sin(2.0 * age) + 0.7 * group * age + 0.6 * rng.normal(size=rows)
    z = (0.3 + 0.4 * group) * rng.normal(size=rows) + age**2
    X = pd.DataFrame({"x": x, "z": z})
    S = pd.DataFrame({"age": age, "group": np.array(["a", "b", "c"])[group]})
    return X, S, pd.Series(x + z + 0.1 * rng.normal(size=rows), name="y")


def factors(rows, seed):
    """S, a legitimate factor a that depends on S, and a feature x that depends on a and, given a, on S; y = x."""
    rng = np.random.default_rng(seed)
    s = rng.uniform(-1.0, 1.0, rows)
    a = s + rng.normal(size=rows)
    x = a + 1.5 * s + 0.5 * rng.normal(size=rows)
    return pd.DataFrame({"x": x, "a": a}), pd.DataFrame({"s": s}), x


def fitted(name, X, y, S, **parameters):
    """An estimator of ESTIMATORS, fitted; classifiers learn whether y is above its median."""
    target = y if name == "ridge" else (y > np.median(y)).astype(int)
    return ESTIMATORS[name](**parameters).fit(X, target, sensitive_features=S)


def scores(model, X, S):
    verb = "predict" if isinstance(model, ob.ObliviousRidge | ob.ObliviousRidgeCV) else "decision_function"
    return getattr(model, verb)(X, sensitive_features=S)


def gap(values, groups):
    """The largest difference between two groups' means."""
    means = pd.Series(np.asarray(values)).groupby(np.asarray(groups)).mean()
    return means.max() - means.min()


def distance(values, groups):
    """The largest difference between two groups' distribution functions, and the largest share of a group tied."""
    parts = [np.sort(np.asarray(values)[np.asarray(groups) == g]) for g in np.unique(groups)]
    at = np.sort(np.asarray(values))
    rounding = 1e-9 * np.ptp(at)
    shares = [np.searchsorted(part, at + rounding, "right") / len(part) for part in parts]
    ties = max(np.unique(np.round(part / (10 * rounding)), return_counts=True)[1].max() / len(part) for part in parts)
    return max(np.abs(a - b).max() for a in shares for b in shares), ties


def explained(values, S, bins=10):
    """The share of variance that fine cells of age and group explain, and what chance alone gives."""
    cells = pd.cut(S["age"], np.linspace(-1.0, 1.0, bins + 1)).astype(str) + S["group"]
    values = np.asarray(values)
    means = pd.Series(values).groupby(np.asarray(cells)).transform("mean")
    return means.var() / values.var(), (cells.nunique() - 1) / (len(values) - 1)


def partial_correlation(p, q, given):
    """The correlation of what a straight line in ``given`` leaves."""
    design = np.column_stack([np.ones(len(given)), given])
    left = [v - design @ np.linalg.lstsq(design, v, rcond=None)[0] for v in (np.asarray(p), np.asarray(q))]
    return abs(np.corrcoef(*left)[0, 1])


class TestLinear:
    """With a linear kernel and linear features of S it is fairlearn's CorrelationRemover."""

    @pytest.mark.parametrize("columns", [1, 3])
    @pytest.mark.parametrize("alpha", [0.5, 1.0])
    def test_it_is_the_correlation_remover(self, columns, alpha):
        rng = np.random.default_rng(3)
        scale, level = np.array([1.0, 5.0, 0.1])[:columns], np.array([3.0, 0.0, -2.0])[:columns]
        S, new = (level + scale * rng.normal(size=(rows, columns)) for rows in (90, 40))
        on = rng.normal(size=(columns, 4))
        X, X_new = (rng.normal(size=(len(s), 4)) + s @ on + [5.0, 0.0, -1.0, 0.0] for s in (S, new))
        peer = CorrelationRemover(sensitive_feature_ids=list(range(columns)), alpha=alpha)
        theirs = peer.fit_transform(np.hstack([S, X])), peer.transform(np.hstack([new, X_new]))
        ours = ob.ObliviousTransformer(
            standardize=False, kernel="linear", conditional_mean="linear", n_components=4, strength=alpha
        )
        apart = ours.fit_transform(X, sensitive_features=S), ours.transform(X_new, sensitive_features=new)
        ids = list(range(columns))
        inside = ob.ObliviousTransformer(
            standardize=False,
            kernel="linear",
            conditional_mean="linear",
            n_components=4,
            strength=alpha,
            sensitive_feature_ids=ids,
        )
        together = inside.fit_transform(np.hstack([S, X])), inside.transform(np.hstack([new, X_new]))
        for expected, *found in zip(theirs, apart, together, strict=True):
            for features in found:
                assert np.abs(features - expected).max() < 1e-10
        correlation = np.corrcoef(S.T, X.T)[:columns, columns:]
        assert np.abs(correlation).max() > 0.3
        if alpha == 1.0:
            assert np.abs(np.corrcoef(S.T, apart[0].T)[:columns, columns:]).max() < 1e-10

    def test_two_groups_are_one_column_of_zeros_and_ones(self):
        rng = np.random.default_rng(4)
        group = rng.integers(0, 2, 80)
        X = rng.normal(size=(80, 3)) + group[:, None] * [2.0, 0.0, -1.0]
        theirs = CorrelationRemover(sensitive_feature_ids=[0]).fit_transform(np.column_stack([group, X]))
        for by in ("linear", "cells"):
            ours = ob.ObliviousTransformer(standardize=False, kernel="linear", conditional_mean=by, n_components=3)
            found = ours.fit_transform(X, sensitive_features=np.where(group == 1, "b", "a"))
            assert np.abs(found - theirs).max() < 1e-10

    def test_a_linear_mean_leaves_what_is_not_linear(self):
        """After linear removal a square is left, and a kernel learner finds it; a smooth mean takes it out."""
        X, S, y = people(800, 5)
        new, S_new, _ = people(2000, 6)
        found = {}
        for by in ("linear", "smooth"):
            model = ob.ObliviousRidge(standardize=False, conditional_mean=by, alpha=0.1).fit(X, y, sensitive_features=S)
            found[by], floor = explained(model.predict(new, sensitive_features=S_new), S_new)
        assert found["linear"] > 5 * floor
        assert found["smooth"] < 3 * floor


class TestChoice:
    """Which conditional mean is taken, and that it is told."""

    @pytest.mark.parametrize("name", ["cells", "smooth", "linear"])
    def test_what_is_asked_for_is_taken(self, name):
        X, S, y = people(150, 1)
        model = ob.ObliviousRidge(standardize=False, conditional_mean=name).fit(X, y, sensitive_features=S)
        assert model.conditional_mean_ == name

    @pytest.mark.parametrize("kind", ["ridge", "svc", "logistic"])
    def test_categories_have_cells(self, kind):
        X, S, y = people(150, 1)
        model = fitted(kind, X, y, S["group"])
        assert model.conditional_mean_ == "cells"
        assert [rows for _, rows in model.cells_] == [50, 50, 50]

    def test_auto_takes_the_smaller_leave_one_out_error(self):
        X, S, y = people(400, 1)
        model = ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=S)
        errors = model.conditional_mean_scores_
        assert set(errors) == {"none", "cells", "smooth"}
        assert model.conditional_mean_ == min(("cells", "smooth"), key=errors.get) == "smooth"
        assert errors["smooth"] < errors["none"]

    def test_auto_keeps_cells_that_were_asked_for(self):
        X, S, y = people(400, 1)
        for asked in ({"cells": 4}, {"binning": "uniform"}):
            assert (
                ob.ObliviousRidge(**({"standardize": False} | asked)).fit(X, y, sensitive_features=S).conditional_mean_
                == "cells"
            )

    def test_oblivious_classifiers_keep_cells_under_auto(self):
        X, S, y = people(300, 1)
        for kind in ("svc", "logistic"):
            assert fitted(kind, X, y, S).conditional_mean_ == "cells"
            assert fitted(kind, X, y, S, conditional_mean="smooth").conditional_mean_ == "smooth"
            aligned = fitted(kind, X, y, S, mode="plain", align="quantile")
            assert aligned.conditional_mean_ == min(("cells", "smooth"), key=aligned.conditional_mean_scores_.get)

    def test_batches_keep_cells_under_auto(self):
        X, S, y = people(400, 1)
        model = ob.ObliviousRidge(standardize=False, n_components=20).partial_fit(X, y, sensitive_features=S)
        assert model.conditional_mean_ == "cells"

    def test_without_sensitive_features_there_is_none(self):
        X, _, y = people(60, 1)
        model = ob.ObliviousRidge(standardize=False).fit(X, y)
        assert model.conditional_mean_ is None
        assert model.conditional_mean_scores_ == {}

    def test_the_choice_does_not_look_at_the_target(self):
        X, S, y = people(300, 1)
        rng = np.random.default_rng(0)
        errors = [
            ob.ObliviousRidge(standardize=False).fit(X, target, sensitive_features=S).conditional_mean_scores_
            for target in (y, rng.permutation(y))
        ]
        assert errors[0] == errors[1]

    @pytest.mark.parametrize("components", [None, 60])
    @pytest.mark.parametrize("mode", ["oblivious", "m-oblivious"])
    def test_a_smooth_mean_takes_the_dependence_of_new_rows_to_the_floor(self, mode, components):
        X, S, y = people(900, 2)
        new, S_new, _ = people(3000, 3)
        plain = ob.ObliviousRidge(standardize=False, mode="plain", alpha=0.1).fit(X, y)
        before, floor = explained(plain.predict(new), S_new)
        model = ob.ObliviousRidge(
            standardize=False, mode=mode, conditional_mean="smooth", n_components=components, alpha=0.1
        )
        after, _ = explained(model.fit(X, y, sensitive_features=S).predict(new, sensitive_features=S_new), S_new)
        assert before > 20 * floor
        assert after < 3 * floor


class TestCells:
    """How many cells, how small they may be, and whether their means are shrunk."""

    def test_the_number_by_leave_one_out(self):
        X, S, y = people(500, 1)
        age = S[["age"]]
        model = ob.ObliviousRidge(standardize=False, cells="loo").fit(X, y, sensitive_features=age)
        assert model.conditional_mean_ == "cells"
        assert 3 <= len(model.cells_) <= 48
        # Where S tells nothing, more cells only add noise.
        nothing = np.random.default_rng(0).permutation(age["age"])
        other = ob.ObliviousRidge(standardize=False, cells="loo").fit(
            X, y, sensitive_features=pd.DataFrame({"age": nothing})
        )
        assert len(other.cells_) < len(model.cells_)
        assert len(other.cells_) <= 2

    def test_shrinkage_warns_and_leaves_some(self):
        X, S, y = people(120, 1)
        full = ob.ObliviousRidge(standardize=False, cells=12).fit(X, y, sensitive_features=S)
        with pytest.warns(ob.OblivioWarning, match=r"drawn towards the mean of all.*some dependence is left"):
            shrunk = ob.ObliviousRidge(standardize=False, cells=12, shrinkage=True).fit(X, y, sensitive_features=S)
        fine = pd.qcut(S["age"], 12).astype(str) + S["group"]
        before = gap(ob.ObliviousRidge(standardize=False, mode="plain").fit(X, y).predict(X), fine)
        left = {m: gap(m.predict(X, sensitive_features=S), fine) for m in (full, shrunk)}
        assert left[full] < 1e-9
        assert 1e-3 < left[shrunk] < before

    @pytest.mark.parametrize("by", ["smooth", "linear"])
    def test_only_means_of_cells_are_shrunk(self, by):
        X, S, y = people(60, 1)
        with pytest.raises(ob.InvalidInputError, match="shrinkage must be left out unless"):
            ob.ObliviousRidge(standardize=False, conditional_mean=by, shrinkage=True).fit(X, y, sensitive_features=S)

    def test_no_cell_is_smaller_than_min_rows(self):
        X, S, y = people(200, 1)
        alone = ob.ObliviousRidge(standardize=False, cells=8).fit(X, y, sensitive_features=S)
        assert min(rows for _, rows in alone.cells_) < 12
        joined = ob.ObliviousRidge(standardize=False, cells=8, min_rows=12).fit(X, y, sensitive_features=S)
        assert any(re.search("were joined .* fewer than 12 reference rows", note) for note in joined.notes_)
        assert min(rows for _, rows in joined.cells_) >= 12
        assert len(joined.cells_) < len(alone.cells_)
        # Groups are never joined.
        assert {label.split("group=")[1].split(",")[0] for label, _ in joined.cells_} == {"a", "b", "c"}
        assert sum(rows for _, rows in joined.cells_) == 200

    def test_joined_cells_have_equal_means(self):
        X, S, y = people(200, 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ob.OblivioWarning)
            model = ob.ObliviousRidge(standardize=False, cells=8, min_rows=12).fit(X, y, sensitive_features=S)
        assert gap(model.predict(X, sensitive_features=S), S["group"]) < 1e-9
        assert gap(ob.ObliviousRidge(standardize=False, mode="plain").fit(X, y).predict(X), S["group"]) > 0.01


class TestControl:
    """Only what S tells beyond a legitimate factor is taken out."""

    parameters: ClassVar = {"kernel": "linear", "alpha": 1e-3, "conditional_mean": "smooth"}

    @pytest.mark.parametrize("where", ["apart", "in X"])
    @pytest.mark.parametrize("components", [None, 2])
    def test_dependence_given_the_factor_goes_and_through_it_stays(self, where, components):
        X, S, y = factors(2000, 1)
        new, S_new, _ = factors(3000, 2)
        only = ["x"] if where == "apart" else ["x", "a"]
        ids = None if where == "apart" else ["a"]
        given = {} if where == "in X" else {"control_features": X[["a"]]}
        given_new = {} if where == "in X" else {"control_features": new[["a"]]}
        model = ob.ObliviousRidge(
            n_components=components, control_feature_ids=ids, **({"standardize": False} | self.parameters)
        )
        model.fit(X[only], y, sensitive_features=S, **given)
        after = model.predict(new[only], sensitive_features=S_new, **given_new)
        plain = ob.ObliviousRidge(standardize=False, mode="plain", kernel="linear", alpha=1e-3).fit(X[["x"]], y)
        before = plain.predict(new[["x"]])
        # A correlation of 3000 rows has a standard deviation of 0.018; the estimated means add their own error.
        assert partial_correlation(before, S_new["s"], new["a"]) > 0.5
        assert partial_correlation(after, S_new["s"], new["a"]) < 0.09
        assert abs(np.corrcoef(after, new["a"])[0, 1]) > 0.6
        # Without the factor all of S goes, and most of what a has to do with S.
        all_of_it = ob.ObliviousRidge(**({"standardize": False} | self.parameters)).fit(
            X[["x"]], y, sensitive_features=S
        )
        without = all_of_it.predict(new[["x"]], sensitive_features=S_new)
        assert abs(np.corrcoef(without, S_new["s"])[0, 1]) < 0.09
        assert abs(np.corrcoef(after, S_new["s"])[0, 1]) > 0.2

    @pytest.mark.parametrize("kind", ["svc", "logistic"])
    def test_classifiers_have_them_too(self, kind):
        X, S, y = factors(500, 1)
        model = ESTIMATORS[kind](kernel="linear", conditional_mean="smooth")
        model.fit(X[["x"]], y > 0, sensitive_features=S, control_features=X[["a"]])
        after = model.decision_function(X[["x"]], sensitive_features=S, control_features=X[["a"]])
        assert partial_correlation(after, S["s"], X["a"]) < 0.1
        assert abs(np.corrcoef(after, X["a"])[0, 1]) > 0.5

    def test_predicting_without_them_names_the_remedy(self):
        X, S, y = factors(200, 1)
        model = ob.ObliviousRidge(**({"standardize": False} | self.parameters))
        model.fit(X[["x"]], y, sensitive_features=S, control_features=X[["a"]])
        assert model.control_feature_names_ == ["a"]
        with pytest.raises(ob.InvalidInputError, match=r"legitimate factors \(a\).*pass control_features= to predict"):
            model.predict(X[["x"]], sensitive_features=S)
        inside = ob.ObliviousRidge(control_feature_ids=["a"], **({"standardize": False} | self.parameters)).fit(
            X, y, sensitive_features=S
        )
        assert inside.control_feature_names_ == ["a"]
        with pytest.raises(ValueError, match="feature"):
            inside.predict(X[["x"]], sensitive_features=S)

    def test_they_are_given_once_and_are_not_sensitive(self):
        X, S, y = factors(60, 1)
        twice = ob.ObliviousRidge(standardize=False, control_feature_ids=["a"])
        with pytest.raises(ob.InvalidInputError, match="given twice"):
            twice.fit(X, y, sensitive_features=S, control_features=X[["a"]])
        both = ob.ObliviousRidge(standardize=False, control_feature_ids=["a"], sensitive_feature_ids=["a"])
        with pytest.raises(ob.InvalidInputError, match="both sensitive and a legitimate factor"):
            both.fit(X, y)

    def test_they_are_not_aligned_away(self):
        X, S, y = factors(60, 1)
        model = ob.ObliviousRidge(standardize=False, control_feature_ids=["a"], align="quantile")
        with pytest.raises(ob.InvalidInputError, match="alignment must be left out where legitimate factors"):
            model.fit(X, y, sensitive_features=S)

    def test_they_need_something_sensitive_beside_them(self):
        X, _, y = factors(60, 1)
        with pytest.raises(ob.InvalidInputError, match="control features"):
            ob.ObliviousRidge(standardize=False, control_feature_ids=["a"]).fit(X, y)


class TestAlign:
    """The second stage: the same distribution of the score whatever S is."""

    @pytest.mark.parametrize("kind", ESTIMATORS)
    def test_whole_distributions_are_equal_on_the_training_rows(self, kind):
        X, S, y = people(240, 1)
        group = S["group"]
        before = scores(fitted(kind, X, y, group), X, group)
        after = scores(fitted(kind, X, y, group, align="quantile"), X, group)
        far, ties = distance(before, group)
        # Equal counts of scores that differ: equal to a row, and ties (support vectors) stay ties.
        assert far > 0.15
        assert distance(after, group)[0] < ties + 1e-9

    @pytest.mark.parametrize("kind", ["ridge", "logistic"])
    def test_groups_of_equal_size_have_the_same_scores(self, kind):
        X, S, y = people(240, 1)
        group = S["group"]
        after = scores(fitted(kind, X, y, group, align="quantile"), X, group)
        parts = [np.sort(after[group == g]) for g in "abc"]
        assert np.abs(parts[0] - parts[1]).max() < 1e-8 * np.ptp(after)
        assert np.abs(parts[0] - parts[2]).max() < 1e-8 * np.ptp(after)

    @pytest.mark.parametrize("kind", ESTIMATORS)
    def test_mean_and_spread_are_equal_on_the_training_rows(self, kind):
        X, S, y = people(240, 1)
        group = S["group"]
        before = scores(fitted(kind, X, y, group), X, group)
        after = scores(fitted(kind, X, y, group, align="location-scale"), X, group)
        spread = [pd.Series(values).groupby(group.to_numpy()).std() for values in (before, after)]
        assert spread[0].max() > 1.05 * spread[0].min()
        assert spread[1].max() < (1.0 + 1e-9) * spread[1].min()
        assert gap(after, group) < 1e-9 * np.ptp(after)

    @pytest.mark.parametrize("kind", ESTIMATORS)
    @pytest.mark.parametrize("method", ["quantile", "location-scale"])
    @pytest.mark.parametrize("mode", ["oblivious", "plain"])
    def test_the_knob_is_a_straight_line(self, kind, method, mode):
        X, S, y = people(150, 1)
        new, S_new, _ = people(80, 2)
        at = [
            scores(fitted(kind, X, y, S, mode=mode, align=method, align_strength=t), new, S_new)
            for t in (0.0, 0.25, 1.0)
        ]
        # Under auto, a plain fit that is not aligned has no conditional mean to choose.
        assert np.allclose(at[1], 0.75 * at[0] + 0.25 * at[2], atol=1e-9 * np.ptp(at[0]))
        assert not np.allclose(at[0], at[2], atol=1e-3 * np.ptp(at[0]))
        none = fitted(kind, X, y, S, mode=mode)
        unaligned = none.predict(new) if kind == "ridge" and mode == "plain" else scores(none, new, S_new)
        assert np.allclose(at[0], unaligned, atol=1e-9 * np.ptp(at[0]))

    @pytest.mark.parametrize("by", ["cells", "smooth"])
    def test_new_rows_are_aligned_to_sampling_error(self, by):
        X, S, y = people(900, 3)
        new, S_new, _ = people(3000, 4)
        both = {}
        for align in (None, "quantile"):
            model = ob.ObliviousRidge(standardize=False, mode="plain", conditional_mean=by, align=align, alpha=0.1)
            given = {} if align is None else {"sensitive_features": S_new}
            values = model.fit(X, y, sensitive_features=S).predict(new, **given)
            both[align] = explained(values, S_new), distance(values, S_new["group"])[0]
        (share, floor), apart = both[None]
        (share_after, _), apart_after = both["quantile"]
        assert share > 20 * floor and apart > 0.1
        assert share_after < 4 * floor
        assert apart_after < 0.1

    def test_a_plain_model_that_is_aligned_needs_the_sensitive_features(self):
        X, S, y = people(100, 1)
        model = ob.ObliviousRidge(standardize=False, mode="plain", align="quantile").fit(X, y, sensitive_features=S)
        with pytest.raises(ob.InvalidInputError, match=r"fitted with sensitive features \(age, group\)"):
            model.predict(X)

    def test_order_within_a_group_stays(self):
        X, S, y = people(200, 1)
        group = S["group"]
        before = scores(fitted("ridge", X, y, group), X, group)
        after = scores(fitted("ridge", X, y, group, align="quantile"), X, group)
        for g in "abc":
            own = (group == g).to_numpy()
            assert (np.argsort(before[own]) == np.argsort(after[own])).all()

    def test_a_search_for_the_penalty_can_be_aligned(self):
        X, S, y = people(240, 1)
        group = S["group"]
        model = ob.ObliviousRidgeCV(standardize=False, align="quantile", gammas=None).fit(
            X, y, sensitive_features=group
        )
        after = model.predict(X, sensitive_features=group)
        plain = ob.ObliviousRidgeCV(standardize=False, gammas=None).fit(X, y, sensitive_features=group)
        assert distance(plain.predict(X, sensitive_features=group), group)[0] > 0.15
        assert distance(after, group)[0] < 1 / 80 + 1e-9

    def test_moments_cannot_be_aligned(self):
        X, S, y = people(100, 1)
        model = ob.ObliviousRidge(standardize=False, n_components=10, align="quantile")
        with pytest.raises(ob.InvalidInputError, match="alignment"):
            model.partial_fit(X, y, sensitive_features=S)


class TestMissing:
    """Rows without sensitive values."""

    def table(self, rows=300):
        X, S, y = people(rows, 1)
        S = S.copy()
        S.loc[::10, "group"] = None
        return X, S, y

    def test_they_are_refused_by_default(self):
        X, S, y = self.table()
        with pytest.raises(ob.InvalidInputError, match="group"):
            ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=S)

    def test_missing_is_a_category_of_its_own(self):
        X, S, y = self.table()
        group = S[["group"]]
        with pytest.warns(ob.OblivioWarning, match="30 rows have a missing sensitive value, taken as a category"):
            model = ob.ObliviousRidge(standardize=False, handle_missing="category").fit(X, y, sensitive_features=group)
        assert len(model.cells_) == 4
        with pytest.warns(ob.OblivioWarning, match="30 rows have a missing sensitive value"):
            values = model.predict(X, sensitive_features=group)
        labels = group["group"].fillna("missing")
        assert gap(values, labels) < 1e-9
        assert gap(ob.ObliviousRidge(standardize=False, mode="plain").fit(X, y).predict(X), labels) > 0.01

    @pytest.mark.parametrize("kind", ESTIMATORS)
    def test_a_second_model_scores_them(self, kind):
        X, S, y = self.table()
        group = S[["group"]]
        known = group["group"].notna().to_numpy()
        with pytest.warns(ob.OblivioWarning, match="30 rows miss a sensitive value"):
            model = fitted(kind, X, y, group, handle_missing="sensitive-free")
        with pytest.warns(
            ob.OblivioWarning, match="30 rows miss a sensitive value and were scored by the sensitive-free"
        ):
            values = scores(model, X, group)
        assert np.isfinite(values).all()
        # Those that have a group are scored as by a fit to them alone.
        target = y if kind == "ridge" else (y > np.median(y)).astype(int)
        alone = ESTIMATORS[kind]().fit(X[known], target[known], sensitive_features=group[known])
        assert np.allclose(values[known], scores(alone, X[known], group[known]), atol=1e-9)
        # A table without sensitive features is scored whole by the second model, whose means are equal already.
        # The warning was said before: once for each fit.
        blind = scores(model, X, None)
        assert np.allclose(blind[~known], values[~known], atol=1e-9)
        tolerance = 1e-6 * np.ptp(blind)
        assert gap(blind[known], group[known]["group"]) < tolerance
        assert gap(scores(fitted(kind, X, y, None, mode="plain"), X, None)[known], group[known]["group"]) > tolerance
        free = ESTIMATORS[kind](mode="sensitive-free").fit(X[known], target[known], sensitive_features=group[known])
        assert np.allclose(blind, scores(free, X, None), atol=1e-6 * np.ptp(blind))

    def test_it_goes_with_a_smooth_mean(self):
        X, S, y = self.table()
        with pytest.warns(ob.OblivioWarning, match="30 rows miss"):
            model = fitted("ridge", X, y, S, handle_missing="sensitive-free", conditional_mean="smooth")
        assert model.conditional_mean_ == "smooth"
        with pytest.warns(ob.OblivioWarning, match="300 rows miss"):
            assert np.isfinite(model.predict(X)).all()


SETTINGS = {
    "smooth": {"conditional_mean": "smooth"},
    "linear": {"conditional_mean": "linear"},
    "cells by leave-one-out": {"cells": "loo"},
    "joined cells": {"cells": 6, "min_rows": 12},
    "quantile": {"align": "quantile"},
    "location-scale": {"align": "location-scale", "align_strength": 0.4},
    "quantile by cells, plain": {"align": "quantile", "mode": "plain", "cells": 4},
    "fallback": {"handle_missing": "sensitive-free"},
    "shrunk": {"cells": 6, "shrinkage": True},
}


@pytest.mark.filterwarnings("ignore::oblivio.OblivioWarning")
class TestKept:
    """What a model is made of travels."""

    @pytest.mark.parametrize("kind", ESTIMATORS)
    @pytest.mark.parametrize("name", SETTINGS)
    def test_pickles_copies_and_files_give_the_same_bits(self, kind, name, tmp_path):
        X, S, y = people(150, 1)
        new, S_new, _ = people(60, 2)
        model = fitted(kind, X, y, S, **SETTINGS[name])
        expected = scores(model, new, S_new)
        model.save(tmp_path / "model")
        loaded = ob.load(tmp_path / "model")
        for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), loaded):
            assert (scores(other, new, S_new) == expected).all()
            assert other.conditional_mean_ == model.conditional_mean_
            assert other.conditional_mean_scores_ == model.conditional_mean_scores_
            assert other.cells_ == model.cells_
        loaded.save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()

    def test_fallbacks_and_legitimate_factors_are_kept(self, tmp_path):
        X, S, y = factors(200, 1)
        model = ob.ObliviousRidge(
            standardize=False, conditional_mean="smooth", control_feature_ids=["a"], handle_missing="sensitive-free"
        )
        model.fit(X, y, sensitive_features=S)
        model.save(tmp_path / "model")
        for other in (pickle.loads(pickle.dumps(model)), ob.load(tmp_path / "model")):
            assert other.control_feature_names_ == ["a"]
            expected = model.predict(X, sensitive_features=S)
            assert (other.predict(X, sensitive_features=S) == expected).all()
            assert (other.predict(X) == model.predict(X)).all()

    def test_a_model_from_a_file_takes_legitimate_factors_apart(self, tmp_path):
        X, S, y = factors(200, 1)
        model = ob.ObliviousRidge(standardize=False, conditional_mean="smooth")
        model.fit(X[["x"]], y, sensitive_features=S, control_features=X[["a"]])
        expected = model.predict(X[["x"]], sensitive_features=S, control_features=X[["a"]])
        model.save(tmp_path / "model")
        loaded = ob.load(tmp_path / "model")
        assert (loaded.predict(X[["x"]], sensitive_features=S, control_features=X[["a"]]) == expected).all()
        with pytest.raises(ob.InvalidInputError, match="pass control_features= to predict"):
            loaded.predict(X[["x"]], sensitive_features=S)

    def test_features_are_kept(self, tmp_path):
        X, S, _ = people(100, 1)
        for by in ("smooth", "linear", "cells"):
            model = ob.ObliviousTransformer(standardize=False, n_components=10, conditional_mean=by).fit(
                X, sensitive_features=S
            )
            model.save(tmp_path / by)
            for other in (pickle.loads(pickle.dumps(model)), ob.load(tmp_path / by)):
                assert (other.transform(X, sensitive_features=S) == model.transform(X, sensitive_features=S)).all()


class TestRefused:
    """Wrong values get one sentence."""

    @pytest.mark.parametrize(
        ("parameters", "match"),
        [
            ({"conditional_mean": "smoth"}, "smoth.*smooth"),
            ({"cells": "many"}, "cells must be a positive whole number"),
            ({"cells": -1}, "cells must be a positive whole number"),
            ({"min_rows": 0}, "min_rows must be a positive whole number, got 0"),
            ({"min_rows": 2.5}, "min_rows must be a positive whole number, got 2.5"),
            ({"min_rows": "few"}, "min_rows must be a positive whole number, got 'few'"),
            ({"align": "quantiles"}, "quantiles.*quantile, location-scale"),
            ({"align": "quantile", "align_strength": 1.5}, "alignment must be between 0 and 1, got 1.5"),
            ({"align": "quantile", "align_strength": -0.1}, "alignment must be between 0 and 1, got -0.1"),
            ({"align": "quantile", "align_strength": np.nan}, "alignment must be between 0 and 1, got NaN"),
            ({"align": "quantile", "align_strength": "all"}, "align_strength must be a number, got 'all'"),
            ({"handle_missing": "drop"}, "drop.*category"),
            ({"control_feature_ids": ["nothing"]}, "control_feature_ids names 'nothing', which is not a column of X"),
            ({"control_feature_ids": [7]}, "control_feature_ids names column 7"),
            ({"control_feature_ids": [0.5]}, "control_feature_ids must be names or positions"),
        ],
    )
    @pytest.mark.parametrize("kind", ESTIMATORS)
    def test_wrong_values(self, kind, parameters, match):
        X, S, y = people(60, 1)
        with pytest.raises(ob.InvalidInputError, match=match) as caught:
            fitted(kind, X, y, S, **parameters)
        assert "\n" not in str(caught.value)

    def test_factors_of_another_length(self):
        X, S, y = factors(60, 1)
        with pytest.raises(ob.InvalidInputError, match="same number of rows"):
            ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=S, control_features=X[["a"]][:-1])

    def test_epsilon_bounds_cells_only(self):
        X, S, y = people(60, 1)
        model = ob.ObliviousSVC(standardize=False, mode="sensitive-free", epsilon=0.1, conditional_mean="smooth")
        with pytest.raises(ob.InvalidInputError, match="cells, for epsilon"):
            model.fit(X, y > 0, sensitive_features=S)
