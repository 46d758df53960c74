"""What must hold on every engine, beside the same rows on one machine."""

import functools
import sys
import warnings
from pathlib import Path

import dask
import numpy as np
import pytest
from engines import OnDask, cut

import oblivio as ob

ROWS = 6000
WORDS = ["income", "school", "hours", "gpa", "test"]
NUMBERS = ["income", "hours", "gpa", "test", "essay"]
SENSITIVE = ["sex", "age"]
MIXED = {"label": "success", "features": WORDS, "sensitive": SENSITIVE, "sample_weight": "weight"}
PLAIN = {"label": "success", "features": NUMBERS, "sensitive": "age"}


@functools.cache
def table():
    """Applicants: text and numbers, a category and a continuous column as sensitive features, weights, some zero."""
    rows = ob.datasets.admissions(ROWS, random_state=3).frame
    rng = np.random.default_rng(5)
    return rows.assign(row=np.arange(ROWS), weight=rng.integers(0, 4, ROWS) / 2.0)


@functools.cache
def gaps():
    """The table with holes in both sensitive columns."""
    rows, rng = table().copy(), np.random.default_rng(6)
    rows.loc[rng.random(ROWS) < 0.05, "sex"] = None
    rows.loc[rng.random(ROWS) < 0.05, "age"] = None
    return rows


def ridge(**settings):
    """A fit that is well enough posed for ten digits of its coefficients."""
    settings = {"n_components": 24, "gamma": 2.0, "alpha": 1.0, "standardize": True, "random_state": 1} | settings
    return ob.ObliviousRidge(**settings)


def arguments(rows, columns):
    """The arguments of ``fit`` that say what these columns say."""

    def of(name):
        return rows[columns[name]] if columns.get(name) is not None else None

    return {
        "sensitive_features": of("sensitive"),
        "control_features": of("control"),
        "sample_weight": of("sample_weight"),
    }


def quietly(work, *positional, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ob.OblivioWarning)
        return work(*positional, **named)


def alone(estimator, rows, columns):
    """Fitted on one machine."""
    label = () if columns.get("label") is None else (rows[columns["label"]],)
    return quietly(estimator.fit, rows[columns["features"]], *label, **arguments(rows, columns))


def near(found, expected, tolerance=1e-10, least=1e-300):
    """Equal to so much of the largest value, or of ``least`` if that is more."""
    found, expected = np.asarray(found, float), np.asarray(expected, float)
    assert found.shape == expected.shape
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    scale = max(float(np.nanmax(np.abs(expected), initial=0.0)), least)
    worst = float(np.nanmax(np.abs(found - expected), initial=0.0)) / scale
    assert worst <= tolerance, f"{worst} relative"


def same_model(found, expected):
    """Landmarks as a set, coefficients, offsets and the constant."""
    order, other = (np.lexsort(np.round(model.landmarks_, 9).T) for model in (found, expected))
    near(found.landmarks_[order], expected.landmarks_[other])
    near(found.dual_coef_[order], expected.dual_coef_[other])
    # Of a mode that takes nothing off, they are rounding errors.
    near(found.offsets_, expected.offsets_, least=0.1)
    near(found.intercept_, expected.intercept_)
    assert found.cells_ == expected.cells_
    assert found.conditional_mean_ == expected.conditional_mean_
    assert found.sensitive_feature_names_ == expected.sensitive_feature_names_


class Cases:
    """Every engine's file has these, with its own ``engine``."""

    @pytest.fixture(autouse=True)
    def _engine(self, engine):
        self.engine = engine

    def call(self, estimator, verb, data, **options):
        return quietly(getattr(estimator, f"{verb}_{self.engine.suffix}"), data, **options)

    def gathered(self, data):
        """The rows in the table's order."""
        return self.engine.collect(data).sort_values("row", ignore_index=True)

    def scores(self, model, rows, parts=3, **options):
        scored = self.call(model, "predict", self.engine.frame(rows, parts), keep=["row"], **options)
        return self.gathered(scored)

    def as_alone(self, estimator, columns, rows=None, parts=3, new=None):
        """Fit in the engine and on one machine; compare the models and their predictions."""
        rows = table() if rows is None else rows
        new = rows if new is None else new
        expected = alone(estimator, rows, columns)
        found = self.call(type(estimator)(**estimator.get_params()), "fit", self.engine.frame(rows, parts), **columns)
        same_model(found, expected)
        given = {name: value for name, value in arguments(new, columns).items() if name != "sample_weight"}
        near(
            self.scores(found, new)["prediction"],
            quietly(expected.predict, new[columns["features"]], **given),
        )
        return found

    # The same model as on one machine.

    @pytest.mark.parametrize("parts", [1, 2, 7])
    def test_a_fit_equals_that_of_one_machine_however_the_rows_are_dealt(self, parts):
        self.as_alone(ridge(), MIXED, parts=parts)

    def test_numbers_alone_with_a_constant(self):
        self.as_alone(ridge(fit_intercept=True, standardize=False, gamma="scale", n_components=8), PLAIN)

    @pytest.mark.parametrize(
        "settings",
        [
            {"conditional_mean": "smooth"},
            {"conditional_mean": "cells", "cells": 4, "fit_intercept": True},
            {"align": "quantile"},
            {"mode": "sensitive-free", "conditional_mean": "cells", "cells": 3},
        ],
        ids=lambda settings: "-".join(str(value) for value in settings.values()),
    )
    def test_settings_mean_what_they_mean_on_one_machine(self, settings):
        self.as_alone(ridge(**settings), MIXED, parts=2)

    @pytest.mark.parametrize("policy", ["category", "sensitive-free"])
    def test_missing_sensitive_values_follow_the_policy(self, policy):
        self.as_alone(ridge(handle_missing=policy, conditional_mean="cells"), MIXED, rows=gaps(), parts=2)

    def test_a_value_that_is_not_a_number_is_missing_too(self):
        if self.engine.suffix != "spark":
            pytest.skip("only Spark tells the two apart")
        estimator = ridge(handle_missing="category", conditional_mean="cells")
        data = self.engine.frame(gaps(), 2).fillna({"age": float("nan")})
        found = self.call(estimator, "fit", data, **MIXED)
        same_model(found, alone(ridge(handle_missing="category", conditional_mean="cells"), gaps(), MIXED))

    def test_sensitive_levels_that_come_later_follow_the_policy(self):
        rows, new = table(), table().copy()
        new.loc[new.index % 9 == 0, "sex"] = "unheard of"
        self.as_alone(ridge(handle_unknown="population"), MIXED, rows=rows, new=new)

    def test_controls_stay_features(self):
        columns = {"label": "success", "features": WORDS, "sensitive": "sex", "control": "school"}
        rows = table()
        expected = quietly(
            ridge(control_feature_ids="school").fit,
            rows[WORDS],
            rows["success"],
            sensitive_features=rows[["sex"]],
        )
        found = self.call(ridge(), "fit", self.engine.frame(rows, 2), **columns)
        same_model(found, expected)

    def test_columns_can_be_named_by_the_estimator(self):
        rows = table()[["sex", "income", "hours", "success"]]
        expected = quietly(ridge(sensitive_feature_ids="sex").fit, rows.drop(columns="success"), rows["success"])
        found = self.call(ridge(sensitive_feature_ids="sex"), "fit", self.engine.frame(rows, 2), label="success")
        same_model(found, expected)

    # The same bits.

    def test_the_same_parts_give_the_same_bits_here_and_in_dask(self):
        nothing, (first, *rest) = table().iloc[:0], cut(table(), 4)
        pieces = [first, nothing, *rest, nothing]
        models = [self.call(ridge(), "fit", self.engine.dealt(pieces), **MIXED) for _ in range(2)]
        assert models[0].model_.to_bytes() == models[1].model_.to_bytes()
        with dask.config.set(scheduler="synchronous"):
            other = quietly(ridge().fit_dask, OnDask().dealt(pieces), **MIXED)
        assert models[0].model_.to_bytes() == other.model_.to_bytes()
        same_model(models[0], alone(ridge(), table(), MIXED))

    # What the fitted models do.

    def test_features_equal_those_of_one_machine(self):
        rows, columns = table(), {name: value for name, value in MIXED.items() if name != "label"}
        settings = {"n_components": 24, "gamma": 2.0, "standardize": True, "random_state": 1}
        expected = alone(ob.ObliviousTransformer(**({"standardize": False} | settings)), rows, columns)
        found = self.call(
            ob.ObliviousTransformer(**({"standardize": False} | settings)), "fit", self.engine.frame(rows, 3), **columns
        )
        matrix = self.features(self.call(found, "transform", self.engine.frame(rows, 2), keep=["row"]))
        wanted = np.asarray(quietly(expected.transform, rows[WORDS], sensitive_features=rows[SENSITIVE]))
        # Landmarks in another order turn the features; what a learner sees of them are the inner products.
        near(matrix[:300] @ matrix.T, wanted[:300] @ wanted.T, 1e-9)
        same = self.features(self.call(expected, "transform", self.engine.frame(rows, 2), keep=["row"]))
        near(same, wanted, 0.0)

    def features(self, data):
        rows = self.gathered(data)
        if "features" in rows:
            return np.stack(rows["features"].to_numpy())
        return rows.drop(columns="row").to_numpy()

    @pytest.mark.parametrize("kind", [ob.ObliviousSVC, ob.ObliviousLogistic])
    def test_classifiers_of_one_machine_score_here(self, kind):
        rows = table()
        given = {"sensitive_features": rows[SENSITIVE]}
        model = quietly(kind(n_components=16).fit, rows[WORDS].head(800), rows["admitted"].head(800),
                        sensitive_features=rows[SENSITIVE].head(800))  # fmt: skip
        labels = self.scores(model, rows)["prediction"]
        assert labels.tolist() == quietly(model.predict, rows[WORDS], **given).tolist()
        decisions = self.scores(model, rows, method="decision_function", name="score")["score"]
        near(decisions, quietly(model.decision_function, rows[WORDS], **given), 0.0)
        if kind is ob.ObliviousLogistic:
            found = self.scores(model, rows, method="predict_proba", name="features")
            if "features" in found:
                found = np.stack(found["features"].to_numpy())
            else:
                found = found.drop(columns="row").to_numpy()
            near(found, quietly(model.predict_proba, rows[WORDS], **given), 0.0)

    def test_a_release_and_a_search_of_one_machine_work_here(self):
        rows, given = table(), {"sensitive_features": table()[SENSITIVE]}
        some = slice(0, 500)
        few = {"sensitive_features": rows[SENSITIVE][some]}
        search = quietly(
            ob.ObliviousRidgeCV(standardize=False, n_components=8).fit, rows[WORDS][some], rows["success"][some], **few
        )
        near(self.scores(search, rows)["prediction"], quietly(search.predict, rows[WORDS], **given), 0.0)
        release = quietly(ob.ObliviousRelease().fit, rows[NUMBERS][some], **few)
        data = self.engine.frame(rows[["row", *NUMBERS, *SENSITIVE]], 2)
        found = self.gathered(self.call(release, "transform", data))
        assert list(found.columns) == ["row", *NUMBERS, *SENSITIVE]
        near(found[NUMBERS], quietly(release.transform, rows[NUMBERS], **given), 0.0)

    def test_an_audit_equals_that_of_one_machine(self):
        rows = table()
        model = alone(ridge(), rows, MIXED)
        options = {"n_permutations": 19, "n_resamples": 19, "measures": ["beta", "hsic"], "random_state": 4}
        scores = quietly(model.predict, rows[WORDS], sensitive_features=rows[SENSITIVE])
        expected = quietly(ob.audit, scores, rows[SENSITIVE], rows["success"], **options)
        found = self.call(model, "audit", self.engine.dealt(cut(rows, 3)), label="success", **options)
        assert found.findings == expected.findings
        sample = self.call(model, "audit", self.engine.frame(rows, 3), label="success", rows=500, **options)
        assert "500" in sample.title
        assert "6000" in sample.title.replace(" ", "").replace(",", "").replace("\u202f", "").replace("\xa0", "")

    # What is refused.

    def test_holes_in_features_are_refused_in_a_sentence(self):
        rows = table().copy()
        rows.loc[4321, "gpa"] = None
        with pytest.raises(ob.InvalidInputError) as wanted:
            alone(ridge(missing_features="error"), rows, MIXED)
        with pytest.raises(type(wanted.value), match="gpa"):
            self.call(ridge(missing_features="error"), "fit", self.engine.frame(rows, 2), **MIXED)

    def test_holes_in_sensitive_features_are_refused_in_a_sentence(self):
        with pytest.raises(ValueError) as wanted:
            alone(ridge(), gaps(), MIXED)
        with pytest.raises(type(wanted.value), match="missing"):
            self.call(ridge(), "fit", self.engine.frame(gaps(), 2), **MIXED)

    def test_unknown_levels_are_refused_in_a_sentence(self):
        rows = table().copy()
        model = alone(ridge(), rows, MIXED)
        rows.loc[77, "sex"] = "unheard of"
        with pytest.raises(ValueError) as wanted:
            model.predict(rows[WORDS], sensitive_features=rows[SENSITIVE])
        # Scores are made when they are asked for. Spark then raises an error of its own, which has ours in its words.
        with pytest.raises(Exception, match="unheard of") as found:
            self.scores(model, rows)
        assert type(wanted.value).__name__ in f"{type(found.value)} {found.value}"

    def test_wrong_names_get_the_nearest(self):
        data = self.engine.frame(table(), 1)
        for wrong in ({"label": "sucess"}, {"sensitive": "ages"}, {"features": ["gpas"]}, {"sample_weight": "wieght"}):
            right = {"sucess": "success", "ages": "age", "gpas": "gpa", "wieght": "weight"}
            (name,) = [value if isinstance(value, str) else value[0] for value in wrong.values()]
            with pytest.raises(ob.InvalidInputError, match=right[name]):
                self.call(ridge(), "fit", data, **(MIXED | wrong))

    def test_what_needs_rows_again_is_refused(self):
        data = self.engine.frame(table(), 1)
        for settings in ({"n_components": None}, {"reference": "half"}, {"mode": "m-oblivious"}):
            with pytest.raises(ob.InvalidInputError, match=next(iter(settings))):
                self.call(ridge(**settings), "fit", data, **MIXED)

    def test_odd_names_of_columns(self):
        names = {"gpa": "a `b`.c", "sex": 'S, "x" é', "success": "the label", "row": "row"}
        rows = table()[["gpa", "hours", "sex", "success", "row"]].rename(columns=names)
        columns = {"label": "the label", "features": ["a `b`.c", "hours"], "sensitive": 'S, "x" é'}
        self.as_alone(ridge(), columns, rows=rows, parts=2)

    # Where it ran.

    def test_workers_have_the_wheel(self):
        def where(part, rows):
            import oblivio

            yield from rows
            if not oblivio.__file__.startswith(str(prefix)):
                raise AssertionError(oblivio.__file__)

        prefix = Path(sys.prefix)
        assert ob.__file__.startswith(str(prefix))
        data = self.engine.dealt(cut(table(), 2), before=where)
        assert len(self.engine.collect(data)) == ROWS
