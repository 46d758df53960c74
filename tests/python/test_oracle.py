"""Parity with the definitions in a few lines of NumPy: 𝒪 = T K Tᵀ, T = [I | −tD]."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rounding import rounding
from sklearn.linear_model import LogisticRegression, Ridge

import oblivio as ob

pytestmark = pytest.mark.filterwarnings("ignore::oblivio.OblivioWarning")


def kernel_matrix(name, gamma, a, b):
    difference = a[:, None, :] - b[None, :, :]
    squared, length = (difference**2).sum(2), np.sqrt((difference**2).sum(2))
    return {
        "linear": lambda: a @ b.T,
        "poly": lambda: (gamma * a @ b.T + 0.5) ** 2,
        "rbf": lambda: np.exp(-gamma * squared),
        "laplacian": lambda: np.exp(-gamma * np.abs(difference).sum(2)),
        "matern12": lambda: np.exp(-gamma * length),
        "matern32": lambda: (1 + (u := np.sqrt(3) * gamma * length)) * np.exp(-u),
        "matern52": lambda: (1 + (u := np.sqrt(5) * gamma * length) + u**2 / 3) * np.exp(-u),
    }[name]()


def shifts(cells, reference_cells):
    """D: row i holds the weights of the mean of i's cell, less those of the overall mean."""
    same = (cells[:, None] == reference_cells[None, :]).astype(float)
    return same / same.sum(1, keepdims=True) - 1 / len(reference_cells)


def inner(kernel, t, a, b, reference):
    """⟨Z_i, Z_j⟩ of rows (points, cells); cells None are plain features."""

    def coefficients(rows):
        points, cells = rows
        shift = np.zeros((len(points), len(reference[0]))) if cells is None else shifts(cells, reference[1])
        return np.hstack([np.eye(len(points)), -t * shift])

    stacked = [np.vstack([points, reference[0]]) for points in (a[0], b[0])]
    return coefficients(a) @ kernel(*stacked) @ coefficients(b).T


def solve(gram, y, penalty, intercept):
    """Coefficients and the constant."""
    if not intercept:
        return np.linalg.solve(gram + penalty * np.eye(len(y)), y), 0.0
    bordered = np.block([[gram + penalty * np.eye(len(y)), np.ones((len(y), 1))], [np.ones((1, len(y))), 0.0]])
    solution = np.linalg.solve(bordered, np.append(y, 0.0))
    return solution[:-1], solution[-1]


def predict(kernel, mode, t, penalty, intercept, training, y, reference, new):
    if mode == "oblivious":
        alpha, constant = solve(inner(kernel, t, training, training, reference), y, penalty, intercept)
        return inner(kernel, t, new, training, reference) @ alpha + constant
    gram = kernel(training[0], training[0])
    alpha, constant = solve(gram, y, penalty, intercept)
    scores = kernel(new[0], training[0]) @ alpha + constant
    if mode == "plain":
        return scores
    if training is reference:
        seen = np.empty(len(y))
        for i in range(len(y)):
            rest = np.arange(len(y)) != i
            without, its_constant = solve(gram[np.ix_(rest, rest)], y[rest], penalty, intercept)
            seen[i] = gram[i, rest] @ without + its_constant
    else:
        seen = kernel(reference[0], training[0]) @ alpha
    return scores - t * shifts(new[1], reference[1]) @ seen


def cells_of(kind, sensitive, model, reference):
    """The cell of every row, by the rule that the settings name."""
    if kind == "quantile":
        counts = [count for _, count in model.cells_]
        starts = np.cumsum(counts)[:-1]
        return np.searchsorted(np.sort(sensitive[reference])[starts], sensitive, side="right")
    if kind == "uniform":
        return np.searchsorted([-1.0, 0.0, 1.0], sensitive, side="right")
    return np.unique(sensitive.astype(str), axis=0, return_inverse=True)[1].ravel()


def rounding_of_entries(kernel, gamma, points):
    """A bound on the rounding of a kernel matrix relative to its largest entry.

    A distance is the root of a difference of squares. Its rounding grows as two points meet, and only matern12 is not
    smooth there.
    """
    smooth = rounding(len(points))
    if kernel != "matern12":
        return smooth
    lengths = np.sqrt(((points[:, None, :] - points[None, :, :]) ** 2).sum(2))
    return smooth * (1 + gamma * (points**2).sum(1).max() / lengths[lengths > 0].min())


def condition(plain, penalty):
    """A bound on the condition number of (K + αI), from the plain kernel of all rows.

    An oblivious feature is at most twice as long as the longest plain one, so that eigenvalues grow by 4 at most.
    """
    return 1 + 4 * np.linalg.norm(plain, 2) / penalty


KINDS = ["text", "integers", "two columns", "quantile", "uniform"]


def sample(rng, kind, rows, columns):
    """Every category or bin occurs among even rows."""
    X = rng.normal(size=(rows, columns))
    turn = np.arange(rows) // 2
    sensitive = {
        "text": lambda: np.array(["red", "green", "blue"])[turn % 3],
        "integers": lambda: np.array([3, -1, 7])[turn % 3],
        "two columns": lambda: np.column_stack([turn % 2, turn // 2 % 2]),
        "quantile": lambda: rng.normal(size=rows),
        "uniform": lambda: turn % 4 - 1.5 + rng.uniform(-0.4, 0.4, rows),
    }[kind]()
    depends = np.unique(sensitive, axis=0, return_inverse=True)[1].reshape(rows, 1)
    return X + depends / rows, sensitive, rng.normal(size=rows)


def partition(kind):
    if kind == "uniform":
        return {"cells": 4, "binning": "uniform", "sensitive_bounds": (-2.0, 2.0)}
    return {"cells": 3, "binning": "quantile"}


draws = {
    "seed": st.integers(0, 2**32 - 1),
    "kind": st.sampled_from(KINDS),
    "rows": st.integers(8, 16).map(lambda half: 2 * half),
    "columns": st.integers(1, 3),
    "kernel": st.sampled_from(["linear", "poly", "rbf", "laplacian", "matern12", "matern32", "matern52"]),
    "gamma": st.floats(0.1, 2.0),
    "strength": st.sampled_from([0.0, 0.4, 1.0]) | st.floats(0.0, 1.0),
}


@given(
    **draws,
    mode=st.sampled_from(["plain", "oblivious", "m-oblivious"]),
    alpha=st.floats(0.05, 10.0),
    intercept=st.booleans(),
    masked=st.booleans(),
)
def test_ridge(seed, kind, rows, columns, kernel, gamma, strength, mode, alpha, intercept, masked):
    rng = np.random.default_rng(seed)
    X, s, y = sample(rng, kind, rows, columns)
    mask = np.arange(rows) % 2 == 0 if masked else None
    model = ob.ObliviousRidge(
        kernel=kernel, gamma=gamma, degree=2, coef0=0.5, alpha=alpha, mode=mode, strength=strength,
        fit_intercept=intercept, **({"standardize": False} | partition(kind)),
    ).fit(X, y, sensitive_features=s, reference_rows=mask)  # fmt: skip
    cells = cells_of(kind, s, model, mask if masked else slice(None))
    reference = (X[mask], cells[mask]) if masked else (X, cells)
    training = (X[~mask], cells[~mask]) if masked else reference
    order = rng.permutation(rows)
    new = (rng.normal(size=X.shape), cells[order])
    expected = predict(
        lambda a, b: kernel_matrix(kernel, gamma, a, b),
        mode, strength, alpha, intercept, training, y[~mask] if masked else y, reference, new,
    )  # fmt: skip
    found = model.predict(new[0], sensitive_features=s[order])
    both = np.vstack([new[0], X])
    plain = kernel_matrix(kernel, gamma, both, both)
    within = rounding_of_entries(kernel, gamma, both) * condition(plain, alpha)
    assert np.abs(found - expected).max() <= within * max(1.0, np.abs(expected).max())


@given(**draws, first=st.booleans(), second=st.sampled_from([None, False, True]))
def test_kernel(seed, kind, rows, columns, kernel, gamma, strength, first, second):
    rng = np.random.default_rng(seed)
    X, s, y = sample(rng, kind, rows, columns)
    chosen = {"kernel": kernel, "gamma": gamma, "degree": 2, "coef0": 0.5, "strength": strength, **partition(kind)}
    model = ob.ObliviousKernel(**({"standardize": False} | chosen)).fit(X, sensitive_features=s)
    cells = cells_of(
        kind, s, ob.ObliviousRidge(**({"standardize": False} | chosen)).fit(X, y, sensitive_features=s), slice(None)
    )
    a, b = rng.permutation(rows)[:7], rng.permutation(rows)[:5]
    points = rng.normal(size=X.shape)
    rows_a = (points[a], cells[a] if first else None)
    arguments = [points[a], s[a] if first else None]
    rows_b = rows_a
    if second is not None:
        rows_b = (X[b], cells[b] if second else None)
        arguments += [X[b], s[b] if second else None]
    expected = inner(lambda p, q: kernel_matrix(kernel, gamma, p, q), strength, rows_a, rows_b, (X, cells))
    matrix = model.matrix(*arguments)
    assert matrix.shape == expected.shape
    # The weights of a shift add up to at most 2 in magnitude: an entry is at most 9 times the largest of the kernel.
    both = np.vstack([points, X])
    size = 9 * np.abs(kernel_matrix(kernel, gamma, both, both)).max()
    assert np.abs(matrix - expected).max() <= rounding_of_entries(kernel, gamma, both) * size


@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(KINDS),
    kernel=st.sampled_from(["matern12", "laplacian"]),
    strength=st.floats(0.0, 1.0),
)
def test_linear_ridge_on_all_features_is_oblivious_ridge(seed, kind, kernel, strength):
    """Both kernels are well conditioned. The features multiply rounding by the root of the condition number."""
    X, s, y = sample(np.random.default_rng(seed), kind, 24, 2)
    chosen = {"kernel": kernel, "gamma": 2.0, "strength": strength, **partition(kind)}
    new = X + 0.1
    features = ob.ObliviousTransformer(n_components=100, **({"standardize": False} | chosen)).fit(
        X, sensitive_features=s
    )
    linear = Ridge(0.3, fit_intercept=False).fit(features.transform(X, sensitive_features=s), y)
    exact = ob.ObliviousRidge(alpha=0.3, **({"standardize": False} | chosen)).fit(X, y, sensitive_features=s)
    plain, both = kernel_matrix(kernel, 2.0, X, X), np.vstack([X, new])
    within = rounding_of_entries(kernel, 2.0, both) * np.sqrt(np.linalg.cond(plain)) * condition(plain, 0.3)
    for rows in (X, new):
        found = linear.predict(features.transform(rows, sensitive_features=s))
        expected = exact.predict(rows, sensitive_features=s)
        assert np.abs(found - expected).max() <= within * max(1.0, np.abs(expected).max())


def test_gamma_scale_is_that_of_scikit_learn():
    X = np.random.default_rng(0).normal(size=(30, 4)) * [1, 2, 3, 4]
    expected = kernel_matrix("rbf", 1 / (4 * X.var()), X, X)
    np.testing.assert_allclose(ob.ObliviousKernel(standardize=False).fit(X).matrix(X), expected, atol=1e-12)


def test_kernels_add_and_multiply():
    X = np.random.default_rng(0).normal(size=(10, 2))
    kernel = (ob.Kernel("rbf", gamma=2) + 0.5 * ob.Kernel("linear")) * ob.Kernel("poly", degree=2, gamma=1, coef0=0.5)
    expected = (kernel_matrix("rbf", 2, X, X) + 0.5 * X @ X.T) * kernel_matrix("poly", 1, X, X)
    np.testing.assert_allclose(
        ob.ObliviousKernel(standardize=False, kernel=kernel).fit(X).matrix(X), expected, atol=1e-12
    )


def test_numbers_of_numpy_are_numbers():
    """As a search over np.arange gives them."""
    X = np.random.default_rng(0).normal(size=(10, 2))
    chosen = {"degree": np.int64(2), "gamma": np.float32(0.5), "coef0": np.int32(1)}
    expected = ob.ObliviousKernel(standardize=False, kernel="poly", degree=2, gamma=0.5, coef0=1.0).fit(X).matrix(X)
    np.testing.assert_array_equal(
        ob.ObliviousKernel(kernel="poly", **({"standardize": False} | chosen)).fit(X).matrix(X), expected
    )
    np.testing.assert_array_equal(
        ob.ObliviousKernel(standardize=False, kernel=ob.Kernel("poly", **chosen)).fit(X).matrix(X), expected
    )


def spread(values, group):
    """How far apart the cells' means are."""
    means = pd.DataFrame(values).groupby(np.asarray(group)).mean().to_numpy()
    return np.abs(means - means[0]).max()


@pytest.mark.parametrize("mode", ["oblivious", "m-oblivious"])
@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
def test_before_and_after_the_means_of_predictions(mode, strength, table):
    X, s, y = table
    half = np.arange(60) % 2 == 0
    keywords = {"sensitive_features": s, "reference_rows": half}
    plain = (
        ob.ObliviousRidge(standardize=False, mode="plain", alpha=0.1)
        .fit(X, y, **keywords)
        .predict(X, sensitive_features=s)
    )
    model = ob.ObliviousRidge(standardize=False, mode=mode, strength=strength, alpha=0.1).fit(X, y, **keywords)
    predictions = model.predict(X, sensitive_features=s)
    before, after = spread(plain[half], s[half]), spread(predictions[half], s[half])
    assert before > 0.1
    if strength == 1:
        assert after < 1e-10
    if mode == "m-oblivious":
        assert after == pytest.approx((1 - strength) * before, abs=1e-10)


def test_before_and_after_the_means_of_features(table):
    X, s, _ = table
    plain = ob.ObliviousTransformer(standardize=False, n_components=20, strength=0.0).fit_transform(
        X, sensitive_features=s
    )
    features = ob.ObliviousTransformer(standardize=False, n_components=20).fit_transform(X, sensitive_features=s)
    assert spread(plain, s) > 0.1
    assert spread(features, s) < 1e-10
    np.testing.assert_allclose(plain.mean(0), features.mean(0), atol=1e-12)
    unaware = ob.ObliviousTransformer(standardize=False, n_components=20).fit_transform(X)
    np.testing.assert_allclose(plain, unaware, atol=1e-12)


def test_before_and_after_the_means_of_offset_scores(table):
    X, s, y = table
    plain = Ridge().fit(X, y).predict(X)
    scores = ob.Offset(Ridge()).fit(X, y, sensitive_features=s).predict(X, sensitive_features=s)
    assert spread(plain, s) > 0.5
    assert spread(scores, s) < 0.1


def test_offsets_are_the_means_of_out_of_fold_scores(table):
    from sklearn.model_selection import KFold, cross_val_predict

    X, s, y = table
    folds = KFold(4, shuffle=True, random_state=1)
    model = ob.Offset(Ridge(), cv=folds, strength=0.5).fit(X, y, sensitive_features=s)
    held_out = pd.Series(cross_val_predict(Ridge(), X.to_numpy(), y, cv=folds))
    offsets = held_out.groupby(s).transform("mean") - held_out.mean()
    expected = Ridge().fit(X, y).predict(X) - 0.5 * offsets
    np.testing.assert_allclose(model.predict(X, sensitive_features=s), expected, atol=1e-12)


WEIGHTED = {
    "oblivious": ob.ObliviousRidge(standardize=False),
    "m-oblivious": ob.ObliviousRidge(standardize=False, mode="m-oblivious", strength=0.5),
    "plain": ob.ObliviousRidge(standardize=False, mode="plain"),
    "intercept": ob.ObliviousRidge(standardize=False, fit_intercept=True),
    "m-oblivious intercept": ob.ObliviousRidge(standardize=False, mode="m-oblivious", fit_intercept=True),
    "standardized": ob.ObliviousRidge(standardize=True, gamma="median"),
    "explicit": ob.ObliviousRidge(standardize=False, n_components=9),
    "explicit m-oblivious": ob.ObliviousRidge(n_components=9, mode="m-oblivious", standardize=True),
    "explicit intercept": ob.ObliviousRidge(
        standardize=False, n_components=9, landmarks="uniform", fit_intercept=True, gamma="median"
    ),
    "transformer": ob.ObliviousTransformer(standardize=False, n_components=200),
    "transformer with landmarks": ob.ObliviousTransformer(n_components=9, standardize=True),
    "kernel": ob.ObliviousKernel(standardize=False),
    "kernel standardized": ob.ObliviousKernel(standardize=True, gamma="median"),
    "offset": ob.Offset(Ridge()),
    "offset classifier": ob.Offset(LogisticRegression(tol=1e-12, max_iter=2000, solver="newton-cholesky")),
}


@pytest.mark.parametrize("name", WEIGHTED)
@pytest.mark.parametrize("kind", ["categories", "numbers", "none"])
def test_a_weight_is_a_repetition(name, kind, table):
    X, group, y = table
    model = WEIGHTED[name]
    if "classifier" in name:
        y = (y > y.median()).astype(int)
    s = {"categories": group, "numbers": X["a"] + 0.5 * group, "none": None}[kind]
    weights = np.random.default_rng(1).integers(0, 4, len(X))

    def apply(fitted):
        keywords = {"sensitive_features": s} if s is not None else {}
        if hasattr(fitted, "matrix"):
            return fitted.matrix(X, s)
        method = getattr(fitted, "decision_function", None) or getattr(fitted, "predict", None) or fitted.transform
        return method(X, **keywords)

    weighted = apply(model.fit(X, y, sensitive_features=s, sample_weight=weights))
    rows = np.repeat(np.arange(len(X)), weights)
    some = None if s is None else s.iloc[rows]
    repeated = apply(model.fit(X.iloc[rows], y.iloc[rows], sensitive_features=some))
    np.testing.assert_allclose(weighted, repeated, rtol=0, atol=1e-10)
