"""The path of kernel ridge regression: errors against refits that leave out each row, and what is chosen."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import oblivio as ob

pytestmark = pytest.mark.filterwarnings("ignore::oblivio.OblivioWarning")
MODES = ["plain", "oblivious", "m-oblivious", "sensitive-free"]
COLUMNS = ["gamma", "strength", "alpha", "error", "left_out_error", "gcv", "correlation_ratio", "expected", "gap"]
GRID = {"gammas": [0.2, 1.0], "alphas": [0.01, 0.1, 1.0, 10.0], "strengths": (0.0, 0.5, 1.0)}


def sample(rows=25, seed=1):
    """Features that depend on one of two groups, the groups, a target that depends on both, and weights."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, rows)
    X = rng.normal(size=(rows, 3)) + group[:, None] * [1.0, 0.0, 0.5]
    return X, group, X[:, 0] - X[:, 1] ** 2 + group + 0.3 * rng.normal(size=rows), rng.uniform(0.3, 3.0, rows)


def inner_products(mode, gamma, strength, X, s, w):
    """The matrix that the mode learns from, all rows estimating."""
    kernel = ob.ObliviousKernel(standardize=False, gamma=gamma, strength=strength if mode == "oblivious" else 0.0)
    matrix = kernel.fit(X, sensitive_features=s, sample_weight=w).matrix(X, s)
    if mode != "sensitive-free":
        return matrix
    shifts = np.array([w * (s == c) / w[s == c].sum() - w / w.sum() for c in (0, 1)])
    along, between = matrix @ shifts.T, shifts @ matrix @ shifts.T
    return matrix - (1 - (1 - strength) ** 2) * along @ np.linalg.pinv(between, rcond=1e-10) @ along.T


def refit(matrix, y, w, alpha, intercept):
    """The fitted values, linear in y: as a function of y."""
    rows = np.flatnonzero(w)
    left = matrix[np.ix_(rows, rows)] + alpha * np.diag(1 / w[rows])
    if not intercept:
        return matrix[:, rows] @ np.linalg.solve(left, y[rows])
    ones = np.ones((len(rows), 1))
    bordered = np.block([[left, ones], [ones.T, np.zeros((1, 1))]])
    solution = np.linalg.solve(bordered, np.vstack([y[rows].reshape(len(rows), -1), np.zeros((1, y[0].size))]))
    return (matrix[:, rows] @ solution[:-1] + solution[-1]).reshape(y.shape)


def less_offsets(scores, s, w, strength):
    means = np.array([np.average(scores[s == c], weights=w[s == c]) for c in (0, 1)])
    return scores - strength * (means[s] - np.average(scores, weights=w))


def dependence(scores, s, w):
    """The share of the variance between cells, and the largest difference of two means."""
    centre = np.average(scores, weights=w)
    means = np.array([np.average(scores[s == c], weights=w[s == c]) for c in (0, 1)])
    between = np.average((means[s] - centre) ** 2, weights=w)
    return between / np.average((scores - centre) ** 2, weights=w), np.ptp(means)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_path_is_that_of_refits(mode, intercept, weighted):
    """Without each row in turn (one of its occurrences, if its weight is larger), the conditional means held fixed."""
    X, s, y, w = sample()
    w = w if weighted else np.ones(25)
    model = ob.ObliviousRidgeCV(mode=mode, fit_intercept=intercept, **({"standardize": False} | GRID))
    path = model.fit(X, y, sensitive_features=s, sample_weight=w).path_
    assert len(path) == 24
    for point in path.itertuples():
        matrix = inner_products(mode, point.gamma, point.strength, X, s, w)
        scores = np.empty(25)
        for i in range(25):
            without = w.copy()
            without[i] -= min(1.0, w[i])
            scores[i] = refit(matrix, y, without, point.alpha, intercept)[i]
        if mode == "m-oblivious":
            scores = less_offsets(scores, s, w, point.strength)
        error = np.sqrt(np.average((y - scores) ** 2, weights=w))
        assert point.left_out_error == pytest.approx(error, rel=1e-9)
        ratio, gap = dependence(scores, s, w)
        assert (point.correlation_ratio, point.gap) == pytest.approx((ratio, gap), rel=1e-8, abs=1e-9)
        assert point.expected == pytest.approx(1 / (w.sum() - 1))
        fitted = refit(matrix, y, w, point.alpha, intercept)
        freedom = np.trace(refit(matrix, np.eye(25), w, point.alpha, intercept))
        residual = w @ (y - fitted) ** 2
        if mode != "m-oblivious":
            assert point.gcv == pytest.approx(w.sum() * residual / (w.sum() - freedom) ** 2, rel=1e-9)


@pytest.mark.parametrize("mode", MODES)
def test_the_error_is_that_of_the_predictions(mode):
    X, s, y, w = sample()
    model = ob.ObliviousRidgeCV(mode=mode, **({"standardize": False} | GRID)).fit(
        X, y, sensitive_features=s, sample_weight=w
    )
    for point in model.path_.itertuples():
        one = ob.ObliviousRidge(
            standardize=False, mode=mode, gamma=point.gamma, alpha=point.alpha, strength=point.strength
        )
        one.fit(X, y, sensitive_features=s, sample_weight=w)
        residuals = y - one.predict(X, sensitive_features=s)
        assert point.error == pytest.approx(np.sqrt(np.average(residuals**2, weights=w)), rel=1e-9)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "settings", [{}, {"reference": "half"}, {"fit_intercept": True}, {"standardize": True}], ids=str
)
def test_the_best_of_the_largest_strength_is_fitted(mode, settings):
    X, s, y, w = sample(60)
    model = ob.ObliviousRidgeCV(mode=mode, **GRID, **({"standardize": False} | settings)).fit(
        X, y, sensitive_features=s, sample_weight=w
    )
    path = model.path_
    assert model.strength_ == model.strength == 1.0
    best = path[path["strength"] == 1.0]["left_out_error"].idxmin()
    assert model.best_index_ == best
    assert (model.gamma_, model.alpha_) == (path["gamma"][best], path["alpha"][best])
    one = ob.ObliviousRidge(mode=mode, gamma=model.gamma_, alpha=model.alpha_, **({"standardize": False} | settings))
    one.fit(X, y, sensitive_features=s, sample_weight=w)
    np.testing.assert_array_equal(model.predict(X, sensitive_features=s), one.predict(X, sensitive_features=s))
    assert model.cells_ == one.cells_ and model.solver_ == one.solver_
    assert (model.intercept_ != 0.0) == bool(settings.get("fit_intercept"))


class TestWhatIsTried:
    def test_every_combination_once_and_in_order(self):
        X, s, y, _ = sample()
        path = ob.ObliviousRidgeCV(**({"standardize": False} | GRID)).fit(X, y, sensitive_features=s).path_
        assert isinstance(path, pd.DataFrame) and list(path.columns) == COLUMNS
        expected = [(g, t, a) for g in GRID["gammas"] for t in GRID["strengths"] for a in GRID["alphas"]]
        assert [tuple(row) for row in path[["gamma", "strength", "alpha"]].to_numpy()] == expected
        assert np.isfinite(path.to_numpy()).all()

    def test_by_default(self):
        X, s, y, _ = sample()
        path = ob.ObliviousRidgeCV(standardize=False, gamma=0.5).fit(X, y, sensitive_features=s).path_
        assert path["alpha"].unique().tolist() == [4.0**k for k in range(-10, 6)]
        assert path["gamma"].unique().tolist() == [0.5 * multiple for multiple in (0.0625, 0.25, 1, 4, 16)]
        assert path["strength"].unique().tolist() == [1.0]

    def test_gamma_by_rule(self):
        X, s, y, _ = sample()
        scale = 1 / (3 * X.var())
        model = ob.ObliviousRidgeCV(standardize=False, gammas=None).fit(X, y, sensitive_features=s)
        assert model.gamma_ == pytest.approx(scale) and len(model.path_) == 16
        model = ob.ObliviousRidgeCV(standardize=False, gammas="auto").fit(X, y, sensitive_features=s)
        np.testing.assert_allclose(model.path_["gamma"].unique(), scale * np.array([0.0625, 0.25, 1, 4, 16]))

    @pytest.mark.parametrize("kernel", ["linear", ob.Kernel("linear"), "2 * linear"])
    def test_linear_kernels_have_no_gamma(self, kernel):
        X, s, y, _ = sample()
        model = ob.ObliviousRidgeCV(standardize=False, kernel=kernel).fit(X, y, sensitive_features=s)
        assert model.gamma_ is None and model.path_["gamma"].isna().all() and len(model.path_) == 16

    def test_all_gammas_of_a_sum_are_multiplied(self):
        X, s, y, _ = sample()
        model = ob.ObliviousRidgeCV(standardize=False, kernel="rbf(gamma=0.5) + laplacian(gamma=0.1)").fit(
            X, y, sensitive_features=s
        )
        assert model.gamma_ is None and len(model.path_) == 5 * 16
        multiple = (0.0625, 0.25, 1, 4, 16)[model.best_index_ // 16]
        kernel = f"rbf(gamma={0.5 * multiple}) + laplacian(gamma={0.1 * multiple})"
        one = ob.ObliviousRidge(standardize=False, kernel=kernel, alpha=model.alpha_).fit(X, y, sensitive_features=s)
        np.testing.assert_allclose(model.predict(X, sensitive_features=s), one.predict(X, sensitive_features=s))

    def test_the_largest_strength_is_not_always_one(self):
        X, s, y, _ = sample()
        model = ob.ObliviousRidgeCV(standardize=False, strengths=[0.6, 0.2], gammas=None).fit(
            X, y, sensitive_features=s
        )
        assert model.strength_ == 0.6 and model.path_["strength"][model.best_index_] == 0.6
        one = ob.ObliviousRidge(standardize=False, strength=0.6, alpha=model.alpha_).fit(X, y, sensitive_features=s)
        np.testing.assert_array_equal(model.predict(X, sensitive_features=s), one.predict(X, sensitive_features=s))

    def test_arrays_will_do(self):
        X, s, y, _ = sample()
        lists = ob.ObliviousRidgeCV(**({"standardize": False} | GRID)).fit(X, y, sensitive_features=s)
        arrays = ob.ObliviousRidgeCV(
            **({"standardize": False} | {name: np.array(values) for name, values in GRID.items()})
        )
        pd.testing.assert_frame_equal(arrays.fit(X, y, sensitive_features=s).path_, lists.path_)

    def test_without_s_it_is_plain(self):
        X, s, y, _ = sample()
        model = ob.ObliviousRidgeCV(**({"standardize": False} | GRID | {"strengths": (1.0,)})).fit(X, y)
        plain = clone(model).set_params(mode="plain").fit(X, y, sensitive_features=s)
        np.testing.assert_allclose(model.predict(X), plain.predict(X), rtol=1e-10, atol=1e-12)


def test_many_penalties_are_as_exact_as_few():
    """Above a dozen an eigendecomposition takes the place of a factor each."""
    X, s, y, w = sample(40)
    few, many = [0.01, 1.0], np.geomspace(0.01, 1.0, 21)
    paths = [
        ob.ObliviousRidgeCV(standardize=False, gammas=[0.3], alphas=alphas)
        .fit(X, y, sensitive_features=s, sample_weight=w)
        .path_
        for alphas in (few, many)
    ]
    np.testing.assert_allclose(paths[1].iloc[[0, 20]].to_numpy(), paths[0].to_numpy(), rtol=1e-8)


def test_leaking_lowers_the_error():
    X, s, y, _ = sample(200)
    path = (
        ob.ObliviousRidgeCV(standardize=False, gammas=[0.2], strengths=(0.0, 0.5, 1.0))
        .fit(X, y, sensitive_features=s)
        .path_
    )
    best = path.loc[path.groupby("strength")["left_out_error"].idxmin()]
    assert (np.diff(best["left_out_error"]) > 0).all()
    assert (np.diff(best["correlation_ratio"]) < 0).all()
    assert best["correlation_ratio"].iloc[0] > 10 * best["expected"].iloc[0] > best["correlation_ratio"].iloc[-1]


@pytest.mark.parametrize("mode", ["plain", "oblivious", "sensitive-free"])
@pytest.mark.parametrize("intercept", [False, True])
def test_landmarks_go_by_generalised_cross_validation(mode, intercept):
    X, s, y, w = sample(60)
    settings = {"mode": mode, "gamma": 0.3, "n_components": 15, "fit_intercept": intercept}
    model = ob.ObliviousRidgeCV(alphas=[0.01, 0.1, 1.0], strengths=(0.5, 1.0), **({"standardize": False} | settings))
    path = model.fit(X, y, sensitive_features=s, sample_weight=w).path_
    assert list(path.columns) == COLUMNS and path["left_out_error"].isna().all() and path["gamma"].isna().all()
    assert model.best_index_ == path[path["strength"] == 1.0]["gcv"].idxmin() and model.n_components_ == 15
    for number, point in enumerate(path.itertuples()):
        one = ob.ObliviousRidge(alpha=point.alpha, strength=point.strength, **({"standardize": False} | settings))
        scores = one.fit(X, y, sensitive_features=s, sample_weight=w).predict(X, sensitive_features=s)
        assert point.error == pytest.approx(np.sqrt(np.average((y - scores) ** 2, weights=w)), rel=1e-9)
        assert (point.correlation_ratio, point.gap) == pytest.approx(dependence(scores, s, w), abs=1e-9)
        if number == model.best_index_:
            np.testing.assert_array_equal(model.predict(X, sensitive_features=s), scores)


@pytest.mark.parametrize("mode", ["plain", "oblivious", "sensitive-free"])
@pytest.mark.parametrize("intercept", [False, True])
def test_all_rows_as_landmarks_have_the_gcv_of_the_exact_path(mode, intercept):
    X, s, y, w = sample(40)
    model = ob.ObliviousRidgeCV(
        standardize=False, mode=mode, gamma=0.3, gammas=None, alphas=[0.1, 1.0], fit_intercept=intercept
    )
    exact = clone(model).fit(X, y, sensitive_features=s, sample_weight=w).path_
    explicit = clone(model).set_params(n_components=40).fit(X, y, sensitive_features=s, sample_weight=w).path_
    shared = ["strength", "alpha", "error", "gcv", "expected"]
    np.testing.assert_allclose(explicit[shared], exact[shared], rtol=1e-7)


def test_sensitive_free_needs_no_s():
    X, s, y, _ = sample(60)
    model = ob.ObliviousRidgeCV(standardize=False, mode="sensitive-free").fit(X, y, sensitive_features=s)
    scores = model.predict(X)
    np.testing.assert_array_equal(scores, model.predict(X, sensitive_features=s))
    assert dependence(scores, s, np.ones(60))[1] < 1e-9


def test_copies_and_files(tmp_path):
    X, s, y, _ = sample(60)
    model = ob.ObliviousRidgeCV(**({"standardize": False} | GRID)).fit(X, y, sensitive_features=s)
    expected = model.predict(X, sensitive_features=s)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        np.testing.assert_array_equal(twin.predict(X, sensitive_features=s), expected)
        pd.testing.assert_frame_equal(twin.path_, model.path_)
    model.save(tmp_path / "m")
    loaded = ob.load(tmp_path / "m")
    assert type(loaded) is ob.ObliviousRidge and loaded.alpha == model.alpha_
    np.testing.assert_array_equal(loaded.predict(X, sensitive_features=s), expected)
    assert not hasattr(clone(model), "path_")
    drift = model.refresh(X + 0.5, sensitive_features=s, min_rows=1)
    assert len(drift) == 2 and dependence(model.predict(X + 0.5, sensitive_features=s), s, np.ones(60))[1] < 1e-9


def test_at_home_in_scikit_learn():
    X, s, y, _ = sample(60)
    frame = pd.DataFrame(X, columns=list("abc")).assign(group=s)
    inside = ob.ObliviousRidgeCV(standardize=False, sensitive_feature_ids="group", gammas=None)
    apart = ob.ObliviousRidgeCV(standardize=False, gammas=None).fit(X, y, sensitive_features=s)
    np.testing.assert_array_equal(inside.fit(frame, y).predict(frame), apart.predict(X, sensitive_features=s))
    assert np.isfinite(cross_val_score(inside, frame, y, cv=3, error_score="raise")).all()
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(apart, X, y, cv=3, params={"sensitive_features": s}, error_score="raise")
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("components", [None, 10])
@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        *[(name, [], f"{name} must have at least one number") for name in ("alphas", "gammas", "strengths")],
        *[(name, 3.0, f"{name} must be a sequence of numbers, got 3.0") for name in ("alphas", "gammas", "strengths")],
        *[(name, ["x"], f"{name} must be a number, got 'x'") for name in ("alphas", "gammas", "strengths")],
        *[("alphas", [1.0, v], "penalty must be a positive finite number, got") for v in (0, -1, np.nan, np.inf)],
        *[("strengths", [0.5, v], "strength must be between 0 and 1, got") for v in (-0.1, 2, np.nan)],
        ("strengths", None, "strengths must be a sequence of numbers, got None"),
        ("gammas", "x", "gammas must be \"auto\", None or numbers, got 'x'"),
        ("mode", "fair", "mode `fair` is not known"),
        ("gamma", -1, "gamma must be a positive number"),
    ],
)
def test_bad_parameters(name, value, sentence, components):
    X, s, y, _ = sample()
    model = ob.ObliviousRidgeCV(n_components=components, **({"standardize": False} | {name: value}))
    with pytest.raises(ob.InvalidInputError, match=sentence):
        model.fit(X, y, sensitive_features=s)
    assert not hasattr(model, "model_")


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.nan, np.inf])
def test_bad_gammas(gamma):
    X, s, y, _ = sample()
    with pytest.raises(ob.InvalidInputError, match=r"gamma must be a positive .*number"):
        ob.ObliviousRidgeCV(standardize=False, gammas=[1.0, gamma]).fit(X, y, sensitive_features=s)


def test_what_does_not_go_together():
    X, s, y, _ = sample()
    for sentence, settings in (
        ("gamma must be written inside the kernel.*got 0.5", {"kernel": "linear", "gammas": [0.5]}),
        ("gammas must be left out with n_components", {"n_components": 10, "gammas": [0.5]}),
        ("must be plain, oblivious or sensitive-free.*got m-oblivious", {"n_components": 10, "mode": "m-oblivious"}),
    ):
        with pytest.raises(ob.InvalidInputError, match=sentence):
            ob.ObliviousRidgeCV(**({"standardize": False} | settings)).fit(X, y, sensitive_features=s)
    with pytest.raises(ob.InvalidInputError, match="ObliviousRidgeCV requires y to be passed"):
        ob.ObliviousRidgeCV(standardize=False).fit(X, None)
    with pytest.raises(ValueError, match=r"y.*contains NaN"):
        ob.ObliviousRidgeCV(standardize=False).fit(X, np.full(25, np.nan))
