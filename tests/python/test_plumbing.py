"""At home in scikit-learn: every use of PEERS.md table 3.2, with S as columns of X and with metadata routing."""

import copy
import pickle

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import make_scorer, r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import oblivio as ob

REMEDIES = (
    r"was fitted with sensitive features \(group\) and needs them to .*"
    r"columns of X and name them in sensitive_feature_ids, or pass sensitive_features= to .*"
    r"switch metadata routing on with sklearn.set_config\(enable_metadata_routing=True\)"
)
CV = KFold(3, shuffle=True, random_state=0)


def ridge(**kwargs):
    return ob.ObliviousRidge(alpha=0.1, gamma=0.5, **({"standardize": False} | kwargs))


def explicit(**kwargs):
    return ridge(n_components=20, **kwargs)


def featured(**kwargs):
    return make_pipeline(
        ob.ObliviousTransformer(gamma=0.5, n_components=20, **({"standardize": False} | kwargs)), Ridge(0.1)
    )


def offset(**kwargs):
    return ob.Offset(Ridge(0.1), **kwargs)


def free(**kwargs):
    return ridge(mode="sensitive-free", **kwargs)


def path(strength=1.0, **kwargs):
    return ob.ObliviousRidgeCV(gamma=0.5, gammas=None, strengths=(strength,), **({"standardize": False} | kwargs))


LEARNERS = [ridge, explicit, featured, offset, path]
GRIDS = {
    ridge: {"alpha": [0.01, 1.0]},
    explicit: {"n_components": [5, 20]},
    featured: {"ridge__alpha": [0.01, 1.0]},
    offset: {"estimator__alpha": [0.01, 100.0]},
    path: {"kernel": ["rbf", "laplacian"]},
}


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture
def joined(table):
    """X with the group as a column."""
    features, group, target = table
    return features.assign(group=group), target


def scaled(make, **kwargs):
    scaler = StandardScaler().set_output(transform="pandas")
    return make_pipeline(scaler, *getattr(make(**kwargs), "named_steps", {"model": make(**kwargs)}).values())


@pytest.mark.parametrize("make", LEARNERS)
class TestColumns:
    def test_pipeline(self, make, joined):
        model = scaled(make, sensitive_feature_ids=["group"], categorical_sensitive=["group"])
        predictions = model.fit(*joined).predict(joined[0])
        assert predictions.shape == (60,)
        assert np.isfinite(model.score(*joined))

    def test_grid_search(self, make, joined):
        X, y = joined
        search = GridSearchCV(make(sensitive_feature_ids=["group"]), GRIDS[make], cv=CV, error_score="raise").fit(X, y)
        assert search.predict(X).shape == (60,)
        assert search.score(X, y) == pytest.approx(search.best_estimator_.score(X, y), abs=0)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()

    def test_cross_validation(self, make, joined):
        model = make(sensitive_feature_ids=["group"])
        assert np.isfinite(cross_val_score(model, *joined, cv=CV, error_score="raise")).all()
        predictions = cross_val_predict(model, *joined, cv=CV)
        train, test = next(iter(CV.split(joined[0])))
        fitted = clone(model).fit(joined[0].iloc[train], joined[1].iloc[train])
        np.testing.assert_array_equal(predictions[test], fitted.predict(joined[0].iloc[test]))

    def test_scorer(self, make, joined):
        model = make(sensitive_feature_ids=["group"]).fit(*joined)
        assert make_scorer(r2_score)(model, *joined) == pytest.approx(model.score(*joined), abs=0)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("make", LEARNERS)
class TestRouting:
    def test_pipeline(self, make, table):
        X, s, y = table
        model = scaled(make).fit(X, y, sensitive_features=s)
        assert model.predict(X, sensitive_features=s).shape == (60,)
        assert np.isfinite(model.score(X, y, sensitive_features=s))
        with pytest.raises(ob.InvalidInputError, match=REMEDIES):
            model.predict(X)

    def test_grid_search(self, make, table):
        X, s, y = table
        search = GridSearchCV(make(), GRIDS[make], cv=CV, error_score="raise").fit(X, y, sensitive_features=s)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        assert np.isfinite(search.score(X, y, sensitive_features=s))
        assert search.best_estimator_.predict(X, sensitive_features=s).shape == (60,)

    def test_grid_search_cannot_pass_s_to_predict_and_says_so(self, make, table):
        X, s, y = table
        search = GridSearchCV(make(), GRIDS[make], cv=CV).fit(X, y, sensitive_features=s)
        with pytest.raises(TypeError, match="sensitive_features"):
            search.predict(X, sensitive_features=s)
        with pytest.raises(ob.InvalidInputError, match=REMEDIES):
            search.predict(X)

    def test_cross_val_score(self, make, table):
        X, s, y = table
        scores = cross_val_score(make(), X, y, cv=CV, params={"sensitive_features": s}, error_score="raise")
        assert np.isfinite(scores).all()

    def test_cross_val_predict_cannot_pass_s_and_says_so(self, make, table):
        X, s, y = table
        with pytest.raises(ob.InvalidInputError, match=REMEDIES):
            cross_val_predict(make(), X, y, cv=CV, params={"sensitive_features": s})

    def test_scorers_cannot_pass_s_and_say_so(self, make, table):
        X, s, y = table
        with pytest.raises(ob.InvalidInputError, match=REMEDIES):
            cross_val_score(
                make(),
                X,
                y,
                cv=CV,
                params={"sensitive_features": s},
                scoring=make_scorer(r2_score),
                error_score="raise",
            )

    def test_weights(self, make, table):
        X, s, y = table
        if make is featured:
            pytest.skip("the Ridge at its end does not request them")
        weights = np.arange(60.0)
        routed = cross_validate(
            make(), X, y, cv=CV, params={"sensitive_features": s, "sample_weight": weights}, return_estimator=True
        )["estimator"][0]
        train = next(iter(CV.split(X)))[0]
        direct = make().fit(
            X.iloc[train], y.iloc[train], sensitive_features=s.iloc[train], sample_weight=weights[train]
        )
        np.testing.assert_array_equal(routed.predict(X, sensitive_features=s), direct.predict(X, sensitive_features=s))


def test_reference_rows_are_routed_to_those_that_take_them(table, routing):
    X, s, y = table
    mask = np.arange(60) < 30
    model = make_pipeline(StandardScaler(), ridge()).fit(X, y, sensitive_features=s, reference_rows=mask)
    direct = ridge().fit(StandardScaler().fit_transform(X), y, sensitive_features=s, reference_rows=mask)
    np.testing.assert_array_equal(model[-1].dual_coef_, direct.dual_coef_)
    features = featured().fit(X, y, sensitive_features=s, reference_rows=mask)[0]
    direct = ob.ObliviousTransformer(standardize=False, gamma=0.5, n_components=20).fit(
        X, sensitive_features=s, reference_rows=mask
    )
    np.testing.assert_array_equal(
        features.transform(X, sensitive_features=s), direct.transform(X, sensitive_features=s)
    )
    for estimator in (ob.Offset(Ridge()), ob.ObliviousKernel(standardize=False)):
        assert "reference_rows" not in str(estimator.get_metadata_routing())


def test_requests_name_only_what_the_methods_take():
    """A request that a method cannot serve ends in a TypeError deep inside a search."""
    import inspect

    estimators = (
        ob.ObliviousRidge(standardize=False),
        ob.ObliviousRidgeCV(standardize=False),
        ob.ObliviousSVC(standardize=False),
        ob.ObliviousLogistic(standardize=False),
    )
    methods = ("fit", "predict", "transform", "fit_transform", "score", "decision_function", "predict_proba")
    for estimator in (
        *estimators,
        ob.ObliviousTransformer(standardize=False),
        ob.ObliviousKernel(standardize=False),
        ob.Offset(Ridge()),
    ):
        for method in methods:
            if not hasattr(type(estimator), method):
                continue
            requests = estimator._get_metadata_request()
            names = set(getattr(requests, method).requests) if hasattr(requests, method) else set()
            assert names <= set(inspect.signature(getattr(type(estimator), method)).parameters), (estimator, method)


@pytest.mark.usefixtures("routing")
def test_decisions_are_routed(table):
    X, s, y = table
    for learner in (
        ob.Offset(LogisticRegression()),
        ob.ObliviousSVC(standardize=False),
        ob.ObliviousLogistic(standardize=False),
    ):
        model = make_pipeline(StandardScaler(), learner).fit(X, y > 0, sensitive_features=s)
        assert model.decision_function(X, sensitive_features=s).shape == (60,)
    assert model.predict_proba(X, sensitive_features=s).shape == (60, 2)
    assert model.predict_log_proba(X, sensitive_features=s).shape == (60, 2)


@pytest.mark.parametrize("make", LEARNERS)
@pytest.mark.parametrize("strength", [1.0, 0.3])
def test_the_two_ways_of_giving_s_are_equal(make, strength, table, joined):
    X, s, y = table
    with sklearn.config_context(enable_metadata_routing=True):
        apart = make(strength=strength).fit(X, y, sensitive_features=s).predict(X, sensitive_features=s)
    for ids in (["group"], "group", [3], [-1], 3, np.array([3])):
        inside = make(strength=strength, sensitive_feature_ids=ids).fit(*joined).predict(joined[0])
        np.testing.assert_array_equal(inside, apart)


@pytest.mark.parametrize("kind", [np.asarray, pd.Series, list, lambda s: s.to_frame(), lambda s: pl.Series(s.tolist())])
def test_every_kind_of_s_is_equal(kind, table):
    X, s, y = table
    expected = ridge().fit(X, y, sensitive_features=s).predict(X, sensitive_features=s)
    model = ridge().fit(X, y, sensitive_features=kind(s))
    np.testing.assert_array_equal(model.predict(X, sensitive_features=kind(s)), expected)
    np.testing.assert_array_equal(
        ridge().fit(X, y, sensitive_features=s).predict(X, sensitive_features=np.asarray(s)), expected
    )


@pytest.mark.parametrize(
    ("model", "verb"),
    [
        (ridge(), "predict"),
        (ridge(mode="m-oblivious"), "predict"),
        (path(), "predict"),
        (ob.ObliviousTransformer(standardize=False, n_components=9), "transform"),
        (offset(), "predict"),
    ],
)
def test_s_missing_at_prediction_names_three_remedies(model, verb, table):
    X, s, y = table
    model.fit(X, y, sensitive_features=s)
    with pytest.raises(ob.InvalidInputError, match=REMEDIES):
        getattr(model, verb)(X)


def test_s_missing_in_a_decision(table):
    X, s, y = table
    for model in (
        ob.Offset(LogisticRegression()),
        ob.ObliviousSVC(standardize=False),
        ob.ObliviousLogistic(standardize=False),
    ):
        model.fit(X, y > 0, sensitive_features=s)
        for method in (model.predict, model.decision_function):
            with pytest.raises(ob.InvalidInputError, match=REMEDIES):
                method(X)
    with pytest.raises(ob.InvalidInputError, match=REMEDIES):
        model.predict_proba(X)


@pytest.mark.parametrize("model", [ridge(mode="plain"), ridge(strength=0.0), offset(strength=0.0), free()])
def test_s_is_not_needed_where_nothing_is_taken_out(model, table):
    X, s, y = table
    model.fit(X, y, sensitive_features=s)
    np.testing.assert_array_equal(model.predict(X), model.predict(X, sensitive_features=s))


@pytest.mark.parametrize("make", [ridge, offset])
def test_routing_off_a_search_raises_the_remedies(make, table):
    X, s, y = table
    search = GridSearchCV(make(), GRIDS[make], cv=CV, error_score="raise")
    with pytest.raises(ob.InvalidInputError, match=REMEDIES):
        search.fit(X, y, sensitive_features=s)


def test_routing_off_a_pipeline_raises_the_remedies(table):
    X, s, y = table
    model = make_pipeline(StandardScaler(), ridge()).fit(X, y, obliviousridge__sensitive_features=s)
    with pytest.raises(ob.InvalidInputError, match=REMEDIES):
        model.predict(X)


def test_names_are_lost_after_a_scaler_unless_it_keeps_them(joined):
    X, y = joined
    with pytest.raises(ob.InvalidInputError, match="sensitive_feature_ids names 'group', which is not a column of X"):
        make_pipeline(StandardScaler(), ridge(sensitive_feature_ids="group")).fit(X, y)
    kinds = {"categorical_sensitive": [0]}
    by_position = make_pipeline(StandardScaler(), ridge(sensitive_feature_ids=[3], **kinds)).fit(X, y)
    by_name = scaled(ridge, sensitive_feature_ids="group", **kinds).fit(X, y)
    np.testing.assert_array_equal(by_position.predict(X), by_name.predict(X))


def test_column_transformer_with_s_as_a_column(joined):
    X, _ = joined
    transformer = ob.ObliviousTransformer(standardize=False, n_components=10, sensitive_feature_ids=["group"])
    both = make_column_transformer((transformer, ["a", "b", "group"]), remainder="passthrough")
    out = both.fit_transform(X)
    assert out.shape == (60, 11)
    np.testing.assert_array_equal(out, both.transform(X))
    np.testing.assert_array_equal(out[:, :10], clone(transformer).fit_transform(X[["a", "b", "group"]]))


@pytest.mark.usefixtures("routing")
def test_column_transformer_with_routing(table):
    X, s, _ = table
    both = ColumnTransformer([("oblivious", ob.ObliviousTransformer(standardize=False, n_components=10), ["a", "b"])])
    out = both.fit_transform(X, sensitive_features=s)
    np.testing.assert_array_equal(out, both.transform(X, sensitive_features=s))
    direct = ob.ObliviousTransformer(standardize=False, n_components=10).fit_transform(
        X[["a", "b"]], sensitive_features=s
    )
    np.testing.assert_array_equal(out, direct)
    with pytest.raises(ob.InvalidInputError, match=REMEDIES):
        both.transform(X)


def test_fit_transform_is_fit_then_transform(table, joined):
    X, s, _ = table
    transformer = ob.ObliviousTransformer(standardize=False, n_components=10)
    out = transformer.fit_transform(X, sensitive_features=s)
    np.testing.assert_array_equal(out, transformer.fit(X, sensitive_features=s).transform(X, sensitive_features=s))
    np.testing.assert_array_equal(out, clone(transformer).set_params(sensitive_feature_ids=3).fit_transform(joined[0]))
    weights = np.arange(60.0)
    np.testing.assert_array_equal(
        transformer.fit_transform(X, sensitive_features=s, sample_weight=weights),
        transformer.fit(X, sensitive_features=s, sample_weight=weights).transform(X, sensitive_features=s),
    )


@pytest.mark.parametrize(("container", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
@pytest.mark.parametrize("inside", [True, False])
def test_set_output(container, frame, inside, table, joined):
    X, s, _ = table
    if inside:
        transformer, X, keywords = (
            ob.ObliviousTransformer(standardize=False, n_components=4, sensitive_feature_ids="group"),
            joined[0],
            {},
        )
    else:
        transformer, keywords = ob.ObliviousTransformer(standardize=False, n_components=4), {"sensitive_features": s}
    expected = clone(transformer).fit_transform(X, **keywords)
    transformer.set_output(transform=container)
    for out in (transformer.fit_transform(X, **keywords), transformer.transform(X, **keywords)):
        assert isinstance(out, frame)
        assert list(out.columns) == [f"oblivioustransformer{k}" for k in range(4)]
        np.testing.assert_array_equal(out.to_numpy(), expected)
    if container == "pandas":
        shifted = X.set_axis(range(100, 160))
        assert list(transformer.transform(shifted, **keywords).index) == list(range(100, 160))
    assert list(transformer.get_feature_names_out()) == [f"oblivioustransformer{k}" for k in range(4)]


def apply(model, X, s):
    if isinstance(model, ob.ObliviousTransformer):
        return model.transform(X, sensitive_features=s)
    if isinstance(model, ob.ObliviousKernel):
        return model.matrix(X, s)
    return getattr(model, "decision_function", model.predict)(X, sensitive_features=s)


def fit(model, X, y, s):
    """A classifier learns the sign."""
    return clone(model).fit(X, y > 0 if is_classifier(model) else y, sensitive_features=s)


EVERY = [
    ridge(),
    ridge(mode="m-oblivious", fit_intercept=True, strength=0.5),
    explicit(mode="m-oblivious", landmarks="k-means++"),
    ob.ObliviousTransformer(standardize=False, n_components=9),
    ob.ObliviousKernel(standardize=False),
    free(eta=2.0),
    ob.ObliviousSVC(standardize=False, gamma=0.5, threshold="base-rate"),
    ob.ObliviousLogistic(standardize=False, gamma=0.5, n_components=20, mode="m-oblivious"),
    path(),
    offset(),
]


def through_joblib(model, path):
    joblib.dump(model, path / "model.joblib")
    return joblib.load(path / "model.joblib")


COPIES = {
    "pickle": lambda model, _: pickle.loads(pickle.dumps(model)),
    "deepcopy": lambda model, _: copy.deepcopy(model),
    "copy": lambda model, _: copy.copy(model),
    "joblib": through_joblib,
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("model", EVERY, ids=lambda m: type(m).__name__)
def test_copies_give_the_same_bits(model, way, table, tmp_path):
    X, s, y = table
    model = fit(model, X, y, s)
    twin = COPIES[way](model, tmp_path)
    assert twin is not model and twin.get_params().keys() == model.get_params().keys()
    np.testing.assert_array_equal(apply(twin, X, s), apply(model, X, s))


@pytest.mark.parametrize("model", EVERY[:-2], ids=lambda m: type(m).__name__)
def test_saved_files_hold_the_pickled_bytes(model, table, tmp_path):
    X, s, y = table
    model = fit(model, X, y, s)
    model.save(tmp_path / "m.oblivio")
    assert (tmp_path / "m.oblivio").read_bytes() == model.model_.__reduce__()[1][0]
    loaded = ob.load(tmp_path / "m.oblivio")
    assert type(loaded) is type(model)
    np.testing.assert_array_equal(apply(loaded, X, s), apply(model, X, s))
    assert list(tmp_path.iterdir()) == [tmp_path / "m.oblivio"]


def test_loaded_models_find_their_columns_by_name(table, joined, tmp_path):
    X, s, y = table
    model = ridge().fit(X, y, sensitive_features=s)
    model.save(tmp_path / "m")
    loaded = ob.load(str(tmp_path / "m"))
    expected = model.predict(X, sensitive_features=s)
    np.testing.assert_array_equal(loaded.predict(joined[0][["group", "c", "a", "b"]].assign(extra=1)), expected)
    np.testing.assert_array_equal(loaded.predict(X.to_numpy(), sensitive_features=s), expected)
    with pytest.raises(ob.InvalidInputError, match=REMEDIES):
        loaded.predict(X)
    # What is given apart overrules a feature that happens to have the same name.
    ridge().fit(X, y, sensitive_features=s.rename("a")).save(tmp_path / "m")
    np.testing.assert_array_equal(ob.load(tmp_path / "m").predict(X, sensitive_features=s), expected)
    # And they can be fitted again.
    loaded.fit(X, y, sensitive_features=s)
    np.testing.assert_array_equal(loaded.predict(X, sensitive_features=s), expected)


@pytest.mark.parametrize("model", EVERY, ids=lambda m: type(m).__name__)
def test_clone_is_unfitted_with_equal_parameters(model, table):
    X, s, y = table
    fitted = fit(model, X, y, s)
    twin = clone(fitted)
    assert not hasattr(twin, "model_") and repr(twin) == repr(model)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        apply(twin, X, s)


def test_kernels_as_objects_can_be_cloned_and_searched(joined):
    kernels = [ob.Kernel("rbf", gamma=0.5), 0.5 * ob.Kernel("rbf", gamma=2) + ob.Kernel("linear")]
    search = GridSearchCV(ridge(sensitive_feature_ids="group"), {"kernel": kernels}, cv=CV, error_score="raise")
    assert search.fit(*joined).best_params_["kernel"] in kernels


def test_fit_forgets_what_was_there_before(table):
    X, s, y = table
    model = ridge().fit(X, y, sensitive_features=s)
    model.fit(X[["a"]], y)
    assert model.n_features_in_ == 1 and model.sensitive_feature_names_ == []
    np.testing.assert_array_equal(model.predict(X[["a"]]), ridge().fit(X[["a"]], y).predict(X[["a"]]))
