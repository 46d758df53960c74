"""Any kernel: matrices and callables, against the same kernel as a formula."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import oblivio as ob

PAGE = Path(__file__).parents[2] / "docs" / "structured.md"
GAMMA = 0.4


def gaussian(a, b):
    difference = np.asarray(a) - np.asarray(b)
    return np.exp(-GAMMA * difference @ difference)


def data(rows, seed):
    rng = np.random.default_rng(seed)
    s = rng.choice(["a", "b", "c"], rows)
    X = rng.normal(size=(rows, 2)) + (s == "a")[:, None]
    y = X[:, 0] ** 2 + X[:, 1] + (s == "b") + 0.1 * rng.normal(size=rows)
    return X, s, y


@pytest.fixture(scope="module")
def rows():
    X, s, y = data(60, 1)
    new, new_s, _ = data(25, 2)
    difference = X[:, None] - X[None]
    cross = new[:, None] - X[None]
    among = np.exp(-GAMMA * (difference**2).sum(axis=2))
    between = np.exp(-GAMMA * (cross**2).sum(axis=2))
    return {"X": X, "s": s, "y": y, "new": new, "new_s": new_s, "among": among, "between": between}


# Numbers of rows have no scale, so neither have the columns of the formula.
FORMULA = {"kernel": "rbf", "gamma": GAMMA, "standardize": False}
LEARNERS = {
    "ridge": (ob.ObliviousRidge, {}),
    "aligned": (ob.ObliviousRidge, {"align": "quantile"}),
    "m-oblivious": (ob.ObliviousRidge, {"mode": "m-oblivious", "fit_intercept": True}),
    "half": (ob.ObliviousRidge, {"reference": "half", "random_state": 3}),
    "sensitive-free": (ob.ObliviousRidge, {"mode": "sensitive-free"}),
    "path": (ob.ObliviousRidgeCV, {"gammas": None}),
    "svc": (ob.ObliviousSVC, {"tol": 1e-9}),
    "logistic": (ob.ObliviousLogistic, {"tol": 1e-9}),
}


def target(name, rows):
    return rows["y"] > 1.0 if name in ("svc", "logistic") else rows["y"]


def scored(model, X, s):
    found = getattr(model, "decision_function", model.predict)
    return found(X, sensitive_features=s) if model.mode != "sensitive-free" else found(X)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_is_the_same_as_with_the_formula(name, rows):
    kind, settings = LEARNERS[name]
    y = target(name, rows)
    formula = kind(**FORMULA, **settings).fit(rows["X"], y, sensitive_features=rows["s"])
    table = kind(kernel="precomputed", **settings).fit(rows["among"], y, sensitive_features=rows["s"])
    called = kind(kernel=gaussian, **settings).fit(rows["X"], y, sensitive_features=rows["s"])
    expected = scored(formula, rows["new"], rows["new_s"])
    # Rounding of kernel values moves solutions by their condition; duality gaps of 1e-9 move machines by their root.
    close = 1e-4 if name in ("svc", "logistic") else 1e-7
    for found in (scored(table, rows["between"], rows["new_s"]), scored(called, rows["new"], rows["new_s"])):
        assert np.allclose(found, expected, rtol=0, atol=close * np.ptp(expected))
    # On rows of the fit, too, which are then new rows that equal old ones.
    again = scored(table, rows["among"], rows["s"])
    assert np.allclose(again, scored(formula, rows["X"], rows["s"]), rtol=0, atol=close * np.ptp(expected))


def test_the_path_has_the_same_numbers(rows):
    formula = ob.ObliviousRidgeCV(**FORMULA, gammas=None).fit(rows["X"], rows["y"], sensitive_features=rows["s"])
    table = ob.ObliviousRidgeCV(kernel="precomputed").fit(rows["among"], rows["y"], sensitive_features=rows["s"])
    assert table.alpha_ == formula.alpha_
    assert table.gamma_ is None
    assert np.allclose(np.asarray(table.path_["error"]), np.asarray(formula.path_["error"]), rtol=1e-7)


def test_the_oblivious_matrix(rows):
    formula = ob.ObliviousKernel(**FORMULA).fit(rows["X"], sensitive_features=rows["s"])
    called = ob.ObliviousKernel(kernel=gaussian).fit(rows["X"], sensitive_features=rows["s"])
    table = ob.ObliviousKernel(kernel="precomputed").fit(rows["among"], sensitive_features=rows["s"])
    expected = formula.matrix(rows["new"], rows["new_s"])
    own = np.array([[gaussian(a, b) for b in rows["new"]] for a in rows["new"]])
    whole = np.hstack([rows["between"], own])
    assert np.allclose(called.matrix(rows["new"], rows["new_s"]), expected, atol=1e-12)
    assert np.allclose(table.matrix(whole, rows["new_s"]), expected, atol=1e-12)
    # Plain features on one side, oblivious ones on the other.
    mixed = formula.matrix(rows["new"], None, rows["X"][:5], rows["s"][:5])
    assert np.allclose(called.matrix(rows["new"], None, rows["X"][:5], rows["s"][:5]), mixed, atol=1e-12)


def test_refresh_and_intervals(rows):
    def both(model, X, new):
        model.fit(X, rows["y"], sensitive_features=rows["s"])
        ends = model.predict_interval(new, sensitive_features=rows["new_s"], coverage=0.5)
        model.refresh(new, sensitive_features=rows["new_s"], min_rows=1)
        return ends, model.predict(new, sensitive_features=rows["new_s"])

    expected = both(ob.ObliviousRidge(**FORMULA, intervals="loo"), rows["X"], rows["new"])
    found = both(ob.ObliviousRidge(kernel="precomputed", intervals="loo"), rows["among"], rows["between"])
    for a, b in zip(found, expected, strict=True):
        assert np.allclose(a, b, rtol=1e-7)


def test_objects_that_are_no_numbers(rows):
    words = ["kernel", "colonel", "kernels", "nucleus", "core", "cores"] * 4

    def shared(a, b):
        return len(set(a) & set(b)) / np.sqrt(len(set(a)) * len(set(b)))

    s, y = ["x", "y"] * 12, [len(word) for word in words]
    model = ob.ObliviousRidge(kernel=shared, alpha=0.1).fit(words, y, sensitive_features=s)
    assert model.objects_ == words and model.n_objects_ == 24
    scores = model.predict(words, sensitive_features=s)
    of_x, of_y = (scores[[group == name for group in s]].mean() for name in "xy")
    assert abs(of_x - of_y) < 1e-9
    assert np.isfinite(model.predict(["corn"], sensitive_features=["x"])).all()


def test_scikit_learn_splits_rows_and_columns(rows):
    model = ob.ObliviousRidge(kernel="precomputed", mode="plain")
    found = cross_val_score(model, rows["among"], rows["y"], cv=3)
    expected = cross_val_score(ob.ObliviousRidge(**FORMULA, mode="plain"), rows["X"], rows["y"], cv=3)
    assert np.allclose(found, expected, rtol=1e-6)
    assert clone(ob.ObliviousRidge(kernel=gaussian)).kernel is gaussian


def test_what_needs_a_formula_is_refused(rows, tmp_path):
    X, s, y = rows["among"], rows["s"], rows["y"]
    refused = pytest.raises(ob.InvalidInputError, match="kernel that is a formula")
    with refused:
        ob.ObliviousRidge(kernel="precomputed", n_components=5).fit(X, y, sensitive_features=s)
    with refused:
        ob.ObliviousTransformer(kernel="precomputed", n_components=5).fit(X, sensitive_features=s)
    with refused:
        ob.ObliviousRelease(kernel="precomputed").fit(X, sensitive_features=s)
    with refused:
        ob.Moments(kernel="precomputed", n_components=5).update(X, s, y)
    model = ob.ObliviousRidge(kernel="precomputed").fit(X, y, sensitive_features=s)
    kernel = ob.ObliviousKernel(kernel="precomputed").fit(X, sensitive_features=s)
    for what in (model, kernel):
        with refused:
            what.save(tmp_path / "model.oblivio")
    with refused:
        model.to_onnx(tmp_path / "model.onnx")
    with refused:
        model.reduce(5)
    with refused:
        ob.bounds(model, rows["between"], rows["new_s"])


def test_wrong_matrices_are_refused(rows):
    X, s, y = rows["among"], rows["s"], rows["y"]

    def fit(X, **settings):
        return ob.ObliviousRidge(kernel="precomputed", **settings).fit(X, y, sensitive_features=s)

    for wrong, message in [
        (X[:, :-1], "square matrix"),
        (X + np.triu(np.ones_like(X), 1), "symmetric"),
        (-X, "not negative on its diagonal"),
    ]:
        with pytest.raises(ob.InvalidInputError, match=message):
            fit(wrong)
    with pytest.raises(ob.InvalidInputError, match="pass sensitive_features="):
        fit(X, sensitive_feature_ids=[0])
    model = fit(X)
    with pytest.raises(ob.InvalidInputError, match="a column for each of the 60 rows of the fit"):
        model.predict(rows["between"][:, :-1], sensitive_features=rows["new_s"])
    kernel = ob.ObliviousKernel(kernel="precomputed").fit(X, sensitive_features=s)
    with pytest.raises(ob.InvalidInputError, match="then one for each of the 25 new rows"):
        kernel.matrix(rows["between"], rows["new_s"])
    with pytest.raises(ob.InvalidInputError, match="one number for two objects"):
        ob.ObliviousRidge(kernel=lambda a, b: [a, b]).fit(list("abc"), [1, 2, 3])


def test_the_page_runs(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(block, "structured.md", "exec"), {})
    before, after = map(float, re.findall(r"[0-9.]+(?= before| after)", capsys.readouterr().out))
    assert after < 0.5 * before
