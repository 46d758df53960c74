"""The explicit path: landmarks, batches, moments that add up, and offsets from new rows."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

import oblivio as ob

MODES = ["oblivious", "m-oblivious", "plain"]
SELECTIONS = ["cholesky", "k-means++", "uniform"]


def sample(rows, seed=0, columns=3):
    """Features that depend on one of three groups, the groups, a target, and weights."""
    rng = np.random.default_rng(seed)
    group = np.arange(rows) % 3
    X = rng.normal(size=(rows, columns)) + group[:, None] * [1.0, *[0.2] * (columns - 1)]
    y = X[:, 0] - X[:, 1] ** 2 + 0.1 * rng.normal(size=rows)
    return X, group, y, rng.uniform(0.5, 3.0, rows)


def gap(scores, cells):
    """The largest difference between the mean scores of two cells."""
    return np.ptp([scores[cells == cell].mean() for cell in np.unique(cells)])


def close(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "settings", [{}, {"reference": "half"}, {"fit_intercept": True}, {"kernel": "linear"}], ids=str
)
@pytest.mark.parametrize("weigh", [False, True])
def test_with_every_row_a_landmark_it_is_the_exact_path(mode, settings, weigh):
    X, s, y, weights = sample(60)
    keywords = {"sensitive_features": s, "sample_weight": weights if weigh else None}
    model = ob.ObliviousRidge(
        gamma=0.3, alpha=0.1, strength=0.8, mode=mode, **({"standardize": False} | {"kernel": "rbf"} | settings)
    )
    exact = clone(model).fit(X, y, **keywords)
    explicit = clone(model).set_params(n_components=60).fit(X, y, **keywords)
    new = sample(30, seed=1)
    close(explicit.predict(new[0], sensitive_features=new[1]), exact.predict(new[0], sensitive_features=new[1]), 1e-8)
    assert exact.n_components_ is None and exact.landmarks_ is None
    assert explicit.n_components_ == len(explicit.landmarks_) == len(explicit.dual_coef_)


def rbf(a, b, gamma=0.3):
    return np.exp(-gamma * ((a[:, None, :] - b[None, :, :]) ** 2).sum(2))


def nystrom_ridge(landmarks, X, s, y, w, *, mode, strength, alpha, intercept):
    """Ridge regression on Nyström features, by the definitions."""
    values, vectors = np.linalg.eigh(rbf(landmarks, landmarks))
    features = rbf(X, landmarks) @ (vectors / np.sqrt(values)) @ vectors.T

    def less_overall(values):
        """The mean of each row's cell, less that of all rows."""
        means = np.array([np.average(values[s == cell], axis=0, weights=w[s == cell]) for cell in range(3)])
        return means[s] - np.average(values, axis=0, weights=w)

    def solve(z, w):
        centre, mean = (np.average(z, axis=0, weights=w), np.average(y, weights=w)) if intercept else (0 * z[0], 0.0)
        left = (z - centre).T * w
        solution = np.linalg.solve(left @ (z - centre) + alpha * np.eye(z.shape[1]), left @ (y - mean))
        return lambda rows: (rows - centre) @ solution + mean

    if mode == "oblivious":
        oblivious = features - strength * less_overall(features)
        return solve(oblivious, w)(oblivious)
    scores = solve(features, w)(features)
    if mode == "plain":
        return scores
    without = [solve(features, w - np.minimum(w, 1) * (np.arange(len(y)) == i))(features[i]) for i in range(len(y))]
    return scores - strength * less_overall(np.array(without))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weigh", [False, True])
def test_parity_with_numpy(mode, intercept, weigh):
    X, s, y, weights = sample(90, seed=2)
    weights = weights if weigh else np.ones(90)
    model = ob.ObliviousRidge(
        standardize=False, gamma=0.3, n_components=12, alpha=0.5, strength=0.7, mode=mode, fit_intercept=intercept
    ).fit(X, y, sensitive_features=s, sample_weight=weights)
    assert model.landmarks_.shape == (12, 3)
    assert all((landmark == X).all(1).any() for landmark in model.landmarks_)
    expected = nystrom_ridge(
        model.landmarks_, X, s, y, weights, mode=mode, strength=0.7, alpha=0.5, intercept=intercept
    )
    close(model.predict(X, sensitive_features=s), expected, 1e-9)


@pytest.mark.parametrize("landmarks", SELECTIONS)
@pytest.mark.parametrize("mode", MODES)
def test_weights_count_as_repetitions(landmarks, mode):
    X, s, y, _ = sample(60, seed=3)
    times = np.arange(60) % 4
    again = np.repeat(np.arange(60), times)
    model = ob.ObliviousRidge(standardize=False, gamma=0.3, n_components=15, landmarks=landmarks, mode=mode)
    weighted = clone(model).fit(X, y, sensitive_features=s, sample_weight=times)
    repeated = clone(model).fit(X[again], y[again], sensitive_features=s[again])
    np.testing.assert_array_equal(weighted.landmarks_, repeated.landmarks_)
    close(weighted.predict(X, sensitive_features=s), repeated.predict(X, sensitive_features=s), 1e-9)


def test_a_hundred_thousand_rows():
    X, s, y, _ = sample(100_000, columns=5)
    model = ob.ObliviousRidge(standardize=False, gamma=0.1, n_components=200).fit(X, y, sensitive_features=s)
    scores = model.predict(X, sensitive_features=s)
    assert gap(y, s) > 0.5 and gap(scores, s) < 1e-8
    assert model.n_components_ == 200


@pytest.mark.parametrize("make", [ob.ObliviousRidge, ob.ObliviousTransformer])
def test_tolerance_stops_adding_landmarks(make):
    X, s, y, _ = sample(300)
    model = make(gamma=0.05, n_components=100, tolerance=0.01).fit(X, y, sensitive_features=s)
    assert 1 < model.n_components_ < 60
    if make is ob.ObliviousTransformer:
        assert model.transform(X, sensitive_features=s).shape == (300, model.n_components_)
        assert len(model.get_feature_names_out()) == model.n_components_
        model.set_output(transform="pandas")
        assert list(model.transform(X, sensitive_features=s).columns) == list(model.get_feature_names_out())


def test_selections_differ_and_can_be_searched():
    X, s, y, _ = sample(120)
    chosen = [
        ob.ObliviousRidge(standardize=False, n_components=5, landmarks=name)
        .fit(X, y, sensitive_features=s)
        .landmarks_.tolist()
        for name in SELECTIONS
    ]
    assert chosen[0] != chosen[1] != chosen[2] != chosen[0]
    X = np.column_stack([X, s])
    grid = {"n_components": [None, 5, 40], "landmarks": SELECTIONS}
    search = GridSearchCV(
        ob.ObliviousRidge(standardize=False, gamma=0.3, sensitive_feature_ids=[3]), grid, cv=3, error_score="raise"
    )
    assert np.isfinite(search.fit(X, y).cv_results_["mean_test_score"]).all()
    assert search.best_params_["n_components"] in grid["n_components"]


BAD = [
    ({"n_components": 0}, "n_components must be a positive whole number, got 0"),
    ({"n_components": -1}, "n_components must be a positive whole number, got -1"),
    ({"n_components": 1.5}, "n_components must be a positive whole number, got 1.5"),
    ({"n_components": "many"}, "n_components must be a positive whole number, got 'many'"),
    ({"landmarks": "x"}, "selection of landmarks `x` is not known; choose one of: cholesky, k-means"),
    ({"landmarks": None}, "landmarks must be a name, got None"),
    ({"tolerance": 1}, "tolerance of the landmarks must be at least 0 and below 1, got 1"),
    ({"tolerance": -1}, "tolerance of the landmarks must be at least 0 and below 1, got -1"),
    ({"tolerance": "x"}, "tolerance must be a number, got 'x'"),
]


@pytest.mark.parametrize(("settings", "sentence"), BAD, ids=lambda value: str(value)[:30])
def test_bad_settings(settings, sentence):
    X, s, y, _ = sample(30)
    settings = {"n_components": 5} | settings
    for make in (ob.ObliviousRidge, ob.ObliviousTransformer):
        for fit in ("fit", "partial_fit"):
            model = make(**settings)
            with pytest.raises(ob.InvalidInputError, match=sentence):
                getattr(model, fit)(X, y, sensitive_features=s)
            assert not hasattr(model, "model_")
    moments = ob.Moments(kernel="rbf", **settings)
    with pytest.raises(ob.InvalidInputError, match=sentence):
        moments.update(X, s, y)
    assert moments.n_rows == 0


def test_a_transformer_needs_components():
    X, s, y, _ = sample(30)
    with pytest.raises(ob.InvalidInputError, match="n_components must be a positive whole number, got None"):
        ob.ObliviousTransformer(standardize=False, n_components=None).fit(X, y, sensitive_features=s)


@pytest.mark.parametrize("twin", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy], ids=["pickle", "deepcopy"])
def test_copies_of_a_fit(twin):
    X, s, y, _ = sample(60)
    model = ob.ObliviousRidge(standardize=False, n_components=10).fit(X, y, sensitive_features=s)
    other = twin(model)
    np.testing.assert_array_equal(other.landmarks_, model.landmarks_)
    np.testing.assert_array_equal(other.predict(X, sensitive_features=s), model.predict(X, sensitive_features=s))


def test_load_restores_the_path(tmp_path):
    X, s, y, _ = sample(60)
    for count in (None, 10):
        model = ob.ObliviousRidge(standardize=False, n_components=count, alpha=0.3).fit(X, y, sensitive_features=s)
        model.save(tmp_path / "m")
        loaded = ob.load(tmp_path / "m")
        assert loaded.n_components == loaded.n_components_ == count and loaded.alpha == 0.3
        np.testing.assert_array_equal(loaded.predict(X, sensitive_features=s), model.predict(X, sensitive_features=s))
    ob.ObliviousTransformer(standardize=False, gamma=2, n_components=10).fit(X, sensitive_features=s).save(
        tmp_path / "m"
    )
    loaded = ob.load(tmp_path / "m")
    assert loaded.n_components == 10 and loaded.kernel == "rbf(gamma=2)"
    with pytest.raises(ob.InvalidInputError, match="no sums to add to, for a file keeps none; use fit"):
        loaded.partial_fit(X, sensitive_features=s)


def in_batches(model, parts, X, s, y, weights=None):
    for rows in parts:
        chosen = None if weights is None else weights[rows]
        model.partial_fit(X[rows], y[rows], sensitive_features=s[rows], sample_weight=chosen)
    return model


@pytest.mark.filterwarnings("ignore::oblivio.OblivioWarning")
class TestPartialFit:
    @pytest.mark.parametrize("mode", ["oblivious", "plain"])
    @pytest.mark.parametrize(
        "settings", [{}, {"fit_intercept": True}, {"strength": 0.4}, {"standardize": False}], ids=str
    )
    @pytest.mark.parametrize("weigh", [False, True])
    def test_batches_are_one_fit(self, mode, settings, weigh):
        """The landmarks of the linear kernel are the axes, whatever the batch."""
        X, s, y, weights = sample(200, seed=4)
        weights = weights if weigh else None
        model = ob.ObliviousRidge(
            kernel="linear", n_components=3, alpha=0.2, mode=mode, **({"standardize": False} | settings)
        )
        whole = clone(model).fit(X, y, sensitive_features=s, sample_weight=weights)
        parts = np.split(np.arange(200), [30, 31, 150])
        found = in_batches(model, parts, X, s, y, weights)
        close(found.predict(X, sensitive_features=s), whole.predict(X, sensitive_features=s), 1e-10)
        assert found.cells_ == whole.cells_

    def test_batches_of_the_same_points_are_one_fit(self):
        """Repetition makes no difference to landmarks: a batch of all points finds those of the table."""
        X, s, y, _ = sample(50, seed=5)
        X, s, y = np.vstack([X] * 3), np.concatenate([s, s[::-1], s]), np.concatenate([y, -y, y**2])
        model = ob.ObliviousRidge(standardize=False, gamma=0.3, n_components=12)
        whole = clone(model).fit(X, y, sensitive_features=s)
        found = in_batches(model, np.split(np.arange(150), 3), X, s, y)
        np.testing.assert_array_equal(found.landmarks_, whole.landmarks_)
        close(found.predict(X, sensitive_features=s), whole.predict(X, sensitive_features=s), 1e-9)
        features = ob.ObliviousTransformer(standardize=False, gamma=0.3, n_components=12)
        expected = clone(features).fit_transform(X, sensitive_features=s)
        in_batches(features, np.split(np.arange(150), 3), X, s, y)
        close(features.transform(X, sensitive_features=s), expected, 1e-10)

    @pytest.mark.parametrize("make", [ob.ObliviousRidge, ob.ObliviousTransformer])
    @pytest.mark.parametrize("twin", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy], ids=["pickle", "copy"])
    def test_copies_go_on(self, make, twin):
        X, s, y, _ = sample(90)
        parts = np.split(np.arange(90), 3)
        model = in_batches(make(gamma=0.3, n_components=8), parts[:2], X, s, y)
        other = twin(model)
        use = "predict" if make is ob.ObliviousRidge else "transform"
        before = getattr(model, use)(X, sensitive_features=s)
        in_batches(other, parts[2:], X, s, y)
        np.testing.assert_array_equal(getattr(model, use)(X, sensitive_features=s), before)
        in_batches(model, parts[2:], X, s, y)
        np.testing.assert_array_equal(
            getattr(model, use)(X, sensitive_features=s), getattr(other, use)(X, sensitive_features=s)
        )
        assert not np.array_equal(getattr(model, use)(X, sensitive_features=s), before)
        assert not hasattr(clone(model), "model_")

    @pytest.mark.parametrize("make", [ob.ObliviousRidge, ob.ObliviousTransformer])
    def test_fit_resets_and_forgets(self, make):
        X, s, y, _ = sample(90)
        use = "predict" if make is ob.ObliviousRidge else "transform"
        once = make(gamma=0.3, n_components=8).partial_fit(X[:40], y[:40], sensitive_features=s[:40])
        model = make(gamma=0.3, n_components=8).partial_fit(X, y, sensitive_features=s)
        model.fit(X[40:], y[40:], sensitive_features=s[40:]).partial_fit(X[:40], y[:40], sensitive_features=s[:40])
        np.testing.assert_array_equal(
            getattr(model, use)(X, sensitive_features=s), getattr(once, use)(X, sensitive_features=s)
        )

    @pytest.mark.parametrize("make", [ob.ObliviousRidge, ob.ObliviousTransformer])
    def test_sensitive_categories_join(self, make):
        X, s, y, _ = sample(90)
        names = np.array(["b", "c", "a"])[s]
        model = make(kernel="linear", n_components=3, standardize=False)
        first, rest = names != "a", names == "a"
        model.partial_fit(X[first], y[first], sensitive_features=names[first])
        use = model.predict if make is ob.ObliviousRidge else model.transform
        with pytest.raises(ob.UnknownCategoryError):
            use(X, sensitive_features=names)
        model.partial_fit(X[rest], y[rest], sensitive_features=names[rest])
        whole = make(kernel="linear", n_components=3, standardize=False).fit(X, y, sensitive_features=names)
        expected = (whole.predict if make is ob.ObliviousRidge else whole.transform)(X, sensitive_features=names)
        close(use(X, sensitive_features=names), expected, 1e-10)

    def test_new_categories_of_features_are_counted(self):
        X, s, y, _ = sample(60)
        frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=["u", "v"] * 30)
        strange = frame.assign(kind="w")
        model = ob.ObliviousRidge(standardize=False, n_components=8).partial_fit(frame, y, sensitive_features=s)
        model.partial_fit(strange, y, sensitive_features=s)
        assert any("60 values are of a feature's category that was not there" in note for note in model.notes_)

    def test_columns_of_frames(self):
        X, s, y, _ = sample(60)
        frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "s": s})
        model = ob.ObliviousRidge(standardize=False, kernel="linear", n_components=2, sensitive_feature_ids="s")
        model.partial_fit(frame[:30], y[:30]).partial_fit(frame[30:], y[30:])
        close(model.predict(frame), clone(model).fit(frame, y).predict(frame), 1e-10)
        with pytest.raises(ValueError, match="feature names should match"):
            model.partial_fit(frame.rename({"a": "z"}), y)

    def test_continuous_sensitive_features_are_cut_by_the_first_batch(self):
        X, _, y, _ = sample(400)
        s = X[:, 0] + np.random.default_rng(1).normal(size=400)
        model = ob.ObliviousRidge(standardize=False, gamma=0.3, n_components=10, cells=4)
        in_batches(model, np.split(np.arange(400), [100]), X, s, y)
        assert len(model.cells_) == 4 and sum(rows for _, rows in model.cells_) == 400
        bins = np.digitize(s, np.quantile(s[:100], [0.25, 0.5, 0.75]))
        plain = ob.ObliviousRidge(standardize=False, gamma=0.3, n_components=10, mode="plain").fit(X, y)
        assert gap(plain.predict(X), bins) > 0.5
        assert gap(model.predict(X, sensitive_features=s), bins) < 0.1

    def test_what_is_refused_changes_nothing(self):
        X, s, y, _ = sample(60)
        for make in (ob.ObliviousRidge, ob.ObliviousTransformer):
            model = make(n_components=8).partial_fit(X, y, sensitive_features=s)
            use = model.predict if make is ob.ObliviousRidge else model.transform
            before = use(X, sensitive_features=s)
            missing = np.where(s == 0, np.nan, s)
            for keywords in (
                {"sensitive_features": missing},
                {},
                {"sensitive_features": s[:5]},
                {"sensitive_features": s, "sample_weight": np.zeros(60)},
            ):
                with pytest.raises(ValueError):
                    model.partial_fit(X, y, **keywords)
            np.testing.assert_array_equal(use(X, sensitive_features=s), before)

    def test_some_parameters_can_change_between_calls(self):
        X, s, y, _ = sample(60)
        model = ob.ObliviousRidge(standardize=False, kernel="linear", n_components=3).partial_fit(
            X, y, sensitive_features=s
        )
        model.set_params(alpha=5.0, strength=0.5, fit_intercept=True).partial_fit(X, y, sensitive_features=s)
        twice = clone(model).fit(X, y, sensitive_features=s, sample_weight=np.full(60, 2.0))
        close(model.predict(X, sensitive_features=s), twice.predict(X, sensitive_features=s), 1e-10)
        features = ob.ObliviousTransformer(standardize=False, n_components=3, strength=0.0).partial_fit(
            X, sensitive_features=s
        )
        with pytest.raises(ob.InvalidInputError, match="begun at strength 0"):
            features.set_params(strength=1.0).partial_fit(X, sensitive_features=s)

    def test_refusals(self):
        X, s, y, _ = sample(60)
        for settings, sentence in (
            ({"n_components": None}, "n_components=None has none; set n_components, or use fit"),
            ({"mode": "m-oblivious"}, "mode='m-oblivious', whose offsets need each row once more; use fit"),
            ({"reference": "half"}, "reference='half', for which rows estimate is drawn from the whole table; use fit"),
        ):
            model = ob.ObliviousRidge(**({"standardize": False} | {"n_components": 5} | settings))
            with pytest.raises(ob.InvalidInputError, match=sentence):
                model.partial_fit(X, y, sensitive_features=s)
            assert not hasattr(model, "model_")
        with pytest.raises(ob.InvalidInputError, match="reference='half'"):
            ob.ObliviousTransformer(standardize=False, reference="half").partial_fit(X, sensitive_features=s)
        with pytest.raises(ob.InvalidInputError, match="at least 2 rows are needed"):
            ob.ObliviousRidge(standardize=False, n_components=5).partial_fit(X[:1], y[:1])
        with pytest.raises(ob.InvalidInputError, match="fitted without sensitive features"):
            ob.ObliviousRidge(standardize=False, n_components=5).partial_fit(X, y).partial_fit(
                X, y, sensitive_features=s
            )
        assert not hasattr(ob.ObliviousRidge(standardize=False), "partial_fit") and hasattr(
            ob.ObliviousRidge(standardize=False, n_components=5), "partial_fit"
        )

    def test_loaded_models_cannot_go_on(self, tmp_path):
        X, s, y, _ = sample(60)
        ob.ObliviousRidge(standardize=False, n_components=5).partial_fit(X, y, sensitive_features=s).save(
            tmp_path / "m"
        )
        loaded = ob.load(tmp_path / "m")
        with pytest.raises(ob.InvalidInputError, match="no sums to add to, for a file keeps none; use fit"):
            loaded.partial_fit(X, y, sensitive_features=s)
        loaded.fit(X, y, sensitive_features=s)

    def test_metadata_is_requested(self):
        with sklearn.config_context(enable_metadata_routing=True):
            for model in (
                ob.ObliviousRidge(standardize=False, n_components=5),
                ob.ObliviousTransformer(standardize=False),
            ):
                requests = model.get_metadata_routing().partial_fit.requests
                assert requests == {"sensitive_features": True, "control_features": True, "sample_weight": True}

    def test_in_a_pipeline_step_by_step(self):
        X, s, y, _ = sample(60)
        features = ob.ObliviousTransformer(standardize=False, gamma=0.3, n_components=10)
        in_batches(features, np.split(np.arange(60), 3), X, s, y)
        scores = Ridge().fit(z := features.transform(X, sensitive_features=s), y).predict(z)
        assert gap(y, s) > 0.3 and gap(scores, s) < 1e-10
        with sklearn.config_context(enable_metadata_routing=True):
            pipeline = make_pipeline(ob.ObliviousTransformer(standardize=False, n_components=10), Ridge())
            assert pipeline.fit(X, y, sensitive_features=s).predict(X, sensitive_features=s).shape == (60,)


class TestMoments:
    @pytest.mark.parametrize("seed", range(5))
    def test_any_sharding_is_one_pass(self, seed):
        """Moments that were made apart merge: the landmarks are axes, categories join, origins move."""
        X, s, y, weights = sample(240, seed)
        names = np.array(["x", "y", "z"])[s]
        X += 100.0 * seed
        rng = np.random.default_rng(seed)
        owner = rng.integers(0, 4, 240)
        owner[names == "z"] = np.minimum(owner[names == "z"], 2)  # one shard has not seen every category
        whole = ob.Moments().update(X, names, y, sample_weight=weights)
        shards = [
            ob.Moments().update(X[owner == k], names[owner == k], y[owner == k], sample_weight=weights[owner == k])
            for k in rng.permutation(4)
        ]
        merged = (shards[0] + shards[1]).merge(shards[2] + shards[3])
        assert merged.n_rows == whole.n_rows == 240
        assert merged.weight == pytest.approx(weights.sum(), rel=1e-12) == whole.weight
        for settings in ({}, {"strength": 0.5, "fit_intercept": True}, {"mode": "plain", "alpha": 10.0}):
            expected = whole.ridge(**settings).predict(X, sensitive_features=names)
            close(merged.ridge(**settings).predict(X, sensitive_features=names), expected, 1e-10)

    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    def test_shards_of_one_plan(self, kernel):
        X, s, y, _ = sample(240)
        first = ob.Moments(kernel=kernel, gamma=0.3, n_components=20).update(X[:100], s[:100], y[:100])
        second = first.empty().update(X[100:], s[100:], y[100:])
        assert first.empty().n_rows == 0 and second.n_rows == 140
        one = copy.deepcopy(first).update(X[100:], s[100:], y[100:])
        expected = one.ridge().predict(X, sensitive_features=s)
        close((second + first).ridge().predict(X, sensitive_features=s), expected, 1e-10)
        assert first.n_rows == 100, "a sum leaves its terms as they are"
        back = (first + second) - second
        assert back.n_rows == 100
        close(back.ridge().predict(X, sensitive_features=s), first.ridge().predict(X, sensitive_features=s), 1e-9)
        assert first.merge(second).subtract(second).n_rows == 100

    def test_the_ridge_is_the_estimator(self):
        X, s, y, weights = sample(200)
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        group = pd.Series(s, name="group")
        moments = ob.Moments(kernel="rbf", gamma=0.3, n_components=20, random_state=3)
        moments.update(frame, group, pd.Series(y, name="target"), sample_weight=weights)
        for settings in ({"alpha": 0.1}, {"strength": 0.3, "fit_intercept": True}, {"mode": "plain"}):
            model = moments.ridge(**settings)
            assert isinstance(model, ob.ObliviousRidge) and model.n_components == model.n_components_ == 20
            fitted = ob.ObliviousRidge(
                kernel="rbf", gamma=0.3, n_components=20, random_state=3, **({"standardize": False} | settings)
            )
            fitted.fit(frame, y, sensitive_features=group, sample_weight=weights)
            expected = fitted.predict(frame, sensitive_features=group)
            close(model.predict(frame[["c", "a", "b"]], sensitive_features=group), expected, 1e-10)
            close(model.predict(X, sensitive_features=s), expected, 1e-10)
            close(model.predict(frame.assign(group=group)), expected, 1e-10)

    def test_saved_models_of_moments(self, tmp_path):
        X, s, y, _ = sample(60)
        model = ob.Moments().update(X, s, y).ridge(alpha=0.2)
        model.save(tmp_path / "m")
        np.testing.assert_array_equal(
            ob.load(tmp_path / "m").predict(X, sensitive_features=s), model.predict(X, sensitive_features=s)
        )

    def test_batches_change_no_bit(self):
        X, s, y, _ = sample(300)
        plan = ob.Moments(kernel="rbf", n_components=10).update(X, s, y)
        whole, parts = plan.empty().update(X, s, y), plan.empty()
        for rows in np.split(np.arange(300), [1, 2, 150]):
            parts.update(X[rows], s[rows], y[rows])
        assert parts.to_bytes() == whole.to_bytes()

    def test_bytes(self):
        X, s, y, _ = sample(100)
        moments = ob.Moments(kernel="rbf", n_components=10, alpha=0.5, random_state=9).update(X[:60], s[:60], y[:60])
        data = moments.to_bytes()
        back = ob.Moments.from_bytes(data)
        assert back.to_bytes() == data and isinstance(data, bytes)
        assert back.alpha == 0.5 and back.n_components == 10 and back.n_rows == 60
        for twin in (back, pickle.loads(pickle.dumps(moments)), copy.deepcopy(moments)):
            twin.update(X[60:], s[60:], y[60:])
            assert twin.n_rows == 100 and moments.n_rows == 60
            assert (moments + twin.empty().update(X[60:], s[60:], y[60:])).n_rows == 100
        assert back.to_bytes() == moments.update(X[60:], s[60:], y[60:]).to_bytes()
        assert pickle.loads(pickle.dumps(ob.Moments(alpha=3.0))).alpha == 3.0

    def test_damaged_bytes(self):
        X, s, y, _ = sample(40)
        data = ob.Moments(kernel="rbf", gamma=0.3, n_components=5).update(X, s, y).to_bytes()
        model = ob.ObliviousRidge(standardize=False).fit(X, y).model_.to_bytes()
        for wrong in (b"", b"nonsense", data[:-1], data[:200], data + b"x", model, data.replace(b"target", b"tarket")):
            with pytest.raises(ob.InvalidInputError, match="not a readable model"):
                ob.Moments.from_bytes(wrong)
        rng = np.random.default_rng(0)
        for at in rng.integers(0, len(data), 300):
            changed = bytearray(data)
            changed[at] ^= int(rng.integers(1, 256))
            try:
                moments = ob.Moments.from_bytes(bytes(changed))
                moments.merge(moments).ridge()
            except (ob.InvalidInputError, ob.NumericalError):
                pass

    def test_grid(self):
        X, s, y, _ = sample(150)
        moments = ob.Moments(kernel="rbf", gamma=0.3, n_components=20).update(X, s, y)
        table = pd.DataFrame(moments.grid([0.1, 1.0, 10.0], [0.0, 0.5, 1.0], fit_intercept=True))
        assert list(table) == ["strength", "alpha", "error", "gcv", "correlation_ratio", "expected", "gap"]
        assert table.shape == (9, 7)
        for row in table.itertuples():
            model = moments.ridge(alpha=row.alpha, strength=row.strength, fit_intercept=True)
            scores = model.predict(X, sensitive_features=s)
            assert np.sqrt(np.mean((y - scores) ** 2)) == pytest.approx(row.error)
            assert gap(scores, s) == pytest.approx(row.gap, abs=1e-9)
        plain, full = table[table.strength == 0], table[table.strength == 1]
        assert (plain.correlation_ratio > 0.05).all() and (full.correlation_ratio < 1e-12).all()
        assert len(moments.grid(1.0)["gap"]) == 1
        with pytest.raises(ob.InvalidInputError, match="alphas must be numbers, got 'x'"):
            moments.grid("x")
        with pytest.raises(ob.InvalidInputError, match="got 2"):
            moments.grid([1.0], [2.0])
        with pytest.raises(ob.InvalidInputError, match="got -1"):
            moments.grid([-1.0])

    def test_without_sensitive_features(self):
        X, _, y, _ = sample(60)
        model = (ob.Moments().update(X[:30], y=y[:30]) + ob.Moments().update(X[30:], y=y[30:])).ridge(alpha=0.5)
        close(model.predict(X), Ridge(0.5, fit_intercept=False).fit(X, y).predict(X), 1e-10)

    def test_frames_are_read_by_name(self):
        X, s, y, _ = sample(60)
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        one = ob.Moments().update(frame, s, y)
        other = ob.Moments().update(frame, s, y).empty().update(frame[["c", "a", "b"]], s, y)
        assert one.to_bytes() == other.to_bytes()
        assert one.to_bytes() == one.empty().update(X, s, y).to_bytes()

    def test_refusals(self):
        X, s, y, _ = sample(60)
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        moments = ob.Moments().update(X, s, y)
        before = moments.to_bytes()

        def refused(sentence, call, *arguments, **keywords):
            with pytest.raises(ob.InvalidInputError, match=sentence):
                call(*arguments, **keywords)
            assert moments.to_bytes() == before

        refused("X has other columns; encode them", ob.Moments().update, frame.assign(t="x"), s, y)
        refused("X has 2 columns but these moments have 3", moments.update, X[:, :2], s, y)
        refused("names 'x0', which is not a column", moments.update, frame, s, y)
        refused(r"have sensitive features \(sensitive_feature_0\); give S", moments.update, X, None, y)
        refused("no sensitive features; leave S out", ob.Moments().update(X, y=y).update, X, s, y)
        refused("give y for all or for none", moments.update, X, s)
        refused("give y for all or for none", moments.merge, ob.Moments().update(X, s))
        refused("no target to learn; give y", ob.Moments().update(X, s).ridge)
        refused("60 missing values", moments.update, X, np.full(60, np.nan), y)
        refused("same number of rows", moments.update, X, s[:5], y)
        refused("their columns are x0, x1, x2 and a, b, c", moments.merge, ob.Moments().update(frame, s, y))
        refused("do not go together", moments.merge, ob.Moments(kernel="rbf", n_components=5).update(X, s, y))
        refused("never added", moments.subtract, ob.Moments().update(X, s, y).update(X, s, y))
        refused("cut differently", moments.merge, ob.Moments().update(X, X[:, 0], y))
        refused("plain or oblivious without alignment, for m-oblivious offsets", moments.ridge, mode="m-oblivious")
        refused("only Moments go together with Moments, got int", moments.merge, 3)
        refused("at least 2", ob.Moments().update, X[:1], s[:1], y[:1])
        for call in (ob.Moments().ridge, ob.Moments().to_bytes, ob.Moments().empty, lambda: ob.Moments().grid([1.0])):
            refused("no rows yet", call)
        with pytest.raises(TypeError):
            moments + 3

    def test_moments_of_nothing_are_neutral(self):
        X, s, y, _ = sample(60)
        moments = ob.Moments().update(X, s, y)
        data = moments.to_bytes()
        nothing = ob.Moments()
        assert nothing.n_rows == 0 and nothing.weight == 0.0
        assert (
            (nothing + moments).to_bytes() == (moments + nothing).to_bytes() == (moments - nothing).to_bytes() == data
        )


class TestRefresh:
    @pytest.mark.parametrize("count", [None, 30])
    def test_the_gap_of_shifted_rows_closes(self, count):
        X, s, y, _ = sample(600)
        model = ob.ObliviousRidge(standardize=False, gamma=0.1, n_components=count).fit(X, y, sensitive_features=s)
        assert gap(model.predict(X, sensitive_features=s), s) < 1e-8
        new, cells, _, _ = sample(900, seed=1)
        new[cells == 2, 0] += 0.8
        before = gap(model.predict(new, sensitive_features=cells), cells)
        coefficients, offsets = model.dual_coef_, model.offsets_
        scores = model.predict(new, sensitive_features=cells) + offsets[cells]
        drift = model.refresh(new, sensitive_features=cells)
        assert before > 0.1
        assert gap(model.predict(new, sensitive_features=cells), cells) < 1e-10
        np.testing.assert_array_equal(model.dual_coef_, coefficients)
        assert [type(d) for d in drift] == [ob.Drift] * 3
        assert [d.rows for d in drift] == [300] * 3 and not any(d.kept for d in drift)
        for cell, d in enumerate(drift):
            h = scores[cells == cell]
            assert d.mean_after == pytest.approx(h.mean())
            assert d.z == pytest.approx((h.mean() - d.mean_before) / (h.std() * np.sqrt(1 / 300 + 1 / 200)))
        assert drift[2].z > 4 > max(abs(drift[0].z), abs(drift[1].z))
        np.testing.assert_array_equal([d.offset_before for d in drift], offsets)
        np.testing.assert_array_equal([d.offset_after for d in drift], model.offsets_)
        assert [d.cell for d in drift] == [cell for cell, _ in model.cells_]

    def test_weights_and_small_cells(self):
        X, s, y, _ = sample(300)
        model = ob.ObliviousRidge(standardize=False, gamma=0.1, n_components=30).fit(X, y, sensitive_features=s)
        twin = copy.deepcopy(model)
        new, cells, _, _ = sample(300, seed=1)
        few = np.flatnonzero((cells != 2) | (np.arange(300) < 30))
        with pytest.raises(ob.InvalidInputError, match=r"1 of 3 cells have fewer than 30 new rows: .*=2 \(10\)"):
            model.refresh(new[few], sensitive_features=cells[few])
        assert model.history_ == []
        drift = model.refresh(new[few], sensitive_features=cells[few], small="keep", date="2026-01-31")
        [change] = model.history_
        assert change["date"] == "2026-01-31" and change["version"] == ob.__version__
        refreshed = change["refresh"]
        assert (refreshed["rows"], refreshed["cells"], refreshed["kept"]) == (210, [100, 100, 10], [2])
        assert refreshed["largest-z"] == max(abs(d.z) for d in drift)
        assert copy.deepcopy(model).history_ == model.history_
        assert [d.kept for d in drift] == [False, False, True]
        assert drift[2].rows == 10 and drift[2].mean_before != drift[2].mean_after
        times = 1 + np.arange(300) // 3 % 3
        again = np.repeat(np.arange(300), times)
        weighted, repeated = copy.deepcopy(twin), copy.deepcopy(twin)
        weighted.refresh(new, sensitive_features=cells, sample_weight=times)
        repeated.refresh(new[again], sensitive_features=cells[again])
        close(weighted.offsets_, repeated.offsets_, 1e-10)

    def test_after_load_and_in_a_file(self, tmp_path):
        X, s, y, _ = sample(300)
        ob.ObliviousRidge(standardize=False, n_components=30).fit(X, y, sensitive_features=s).save(tmp_path / "m")
        loaded = ob.load(tmp_path / "m")
        loaded.refresh(X + 0.5, sensitive_features=s)
        loaded.save(tmp_path / "m")
        np.testing.assert_array_equal(ob.load(tmp_path / "m").offsets_, loaded.offsets_)

    def test_slow_drift_adds_up_since_the_fit(self, tmp_path):
        X, s, y, _ = sample(300)
        model = ob.ObliviousRidge(standardize=False, gamma=0.1).fit(X, y, sensitive_features=s)
        untouched = copy.deepcopy(model)
        for step in range(1, 4):
            new = sample(300, seed=step)[0] + 0.1 * step
            drift = model.refresh(new, sensitive_features=s)
            direct = copy.deepcopy(untouched).refresh(new, sensitive_features=s)
            for cell, alone in zip(drift, direct, strict=True):
                assert (cell.mean_at_fit, cell.z_since_fit) == (alone.mean_before, alone.z)
                assert (alone.mean_at_fit, alone.z_since_fit) == (alone.mean_before, alone.z)
                assert step == 1 or cell.z != cell.z_since_fit
            assert model.history_[-1]["refresh"]["largest-z-since-fit"] == max(abs(cell.z_since_fit) for cell in drift)
            model.save(tmp_path / "m")
            model = ob.load(tmp_path / "m")

    def test_refusals(self):
        X, s, y, _ = sample(60)
        with pytest.raises(
            ob.InvalidInputError, match="fitted without sensitive features and has no offsets to refresh"
        ):
            ob.ObliviousRidge(standardize=False).fit(X, y).refresh(X)
        model = ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=s)
        before = model.model_
        for sentence, keywords in (
            ("needs them to refresh", {}),
            ("3 of 3 cells have fewer than 30 new rows", {"sensitive_features": s}),
            (
                "the largest cell of the new table has 20 rows; at least 30",
                {"sensitive_features": s, "small": "keep"},
            ),
            ("policy for small cells `drop` is not known", {"sensitive_features": s, "small": "drop"}),
            ("min_rows must be a positive whole number, got 0", {"sensitive_features": s, "min_rows": 0}),
            ("known: 0, 1, 2", {"sensitive_features": s + 5}),
        ):
            with pytest.raises(ob.InvalidInputError, match=sentence):
                model.refresh(X, **keywords)
        assert model.model_ is before
        with pytest.raises(sklearn.exceptions.NotFittedError):
            ob.ObliviousRidge(standardize=False).refresh(X, sensitive_features=s)


class TestReduce:
    def test_a_smaller_model_says_what_it_costs(self, tmp_path):
        X, s, y, _ = sample(300)
        model = ob.ObliviousRidge(standardize=False, gamma=0.1).fit(X, y, sensitive_features=s)
        assert model.holdings_[:3] == ("rows", 300, X.shape[1])
        small = model.reduce(40, random_state=1)
        assert model.history_ == [] and model.n_components_ is None
        assert small.holdings_.what == "landmarks" and small.holdings_.rows == small.n_components_ <= 40
        loss = small.history_[-1]["reduce"]["scores"][0]
        apart = np.abs(model.predict(X, sensitive_features=s) - small.predict(X, sensitive_features=s))
        assert apart.max() == pytest.approx(loss["largest"], rel=1e-6, abs=1e-9)
        assert 0 < loss["root-mean-square"] <= loss["largest"] <= loss["bound"]
        small.save(tmp_path / "m")
        loaded = ob.load(tmp_path / "m")
        assert loaded.history_ == small.history_
        np.testing.assert_array_equal(loaded.predict(X, sensitive_features=s), small.predict(X, sensitive_features=s))

    def test_refusals(self):
        X, s, y, _ = sample(60)
        model = ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=s)
        for number in (0, -1, 60, 1000, 2.5):
            with pytest.raises(ob.InvalidInputError, match="landmarks"):
                model.reduce(number)

    def test_dependence_at_the_fit(self):
        X, s, y, _ = sample(300)
        model = ob.ObliviousRidge(standardize=False, gamma=0.1).fit(X, y, sensitive_features=s)
        [found] = model.dependence_
        assert found["before"] > found["expected"] == pytest.approx(2 / 299) and found["after"] < 1e-12


def test_cross_validation_of_the_explicit_path():
    X, s, y, _ = sample(120)
    X = np.column_stack([X, s])
    model = ob.ObliviousRidge(standardize=False, gamma=0.3, n_components=15, sensitive_feature_ids=[3])
    train, test = next(iter(KFold(3).split(X)))
    fitted = clone(model).fit(X[train], y[train])
    assert fitted.score(X[test], y[test]) > 0.3
