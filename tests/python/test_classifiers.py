"""Support vector machines and logistic regression: against scikit-learn, and what each mode promises."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy.special import expit, log_expit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import oblivio as ob

pytestmark = pytest.mark.filterwarnings("ignore::oblivio.OblivioWarning")
CLASSIFIERS = [ob.ObliviousSVC, ob.ObliviousLogistic]
GAMMA = 0.3


def sample(rows=120, seed=0):
    """Features that depend on one of two groups, the groups, two classes that depend on both, and weights."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, rows)
    X = rng.normal(size=(rows, 3)) + group[:, None] * [1.0, 0.0, 0.5]
    y = (X[:, 0] - X[:, 1] ** 2 + 0.7 * rng.normal(size=rows) > 0).astype(int)
    return X, group, y, rng.uniform(0.2, 3.0, rows)


def three(rows=90):
    """The same with three classes."""
    X, group, _, weights = sample(rows, seed=4)
    noise = np.random.default_rng(4).normal(size=rows)
    return X, group, np.digitize(X[:, 0] - X[:, 1] + 0.3 * noise, [-0.5, 1.0]), weights


def rbf(a, b):
    return np.exp(-GAMMA * ((a[:, None, :] - b[None, :, :]) ** 2).sum(2))


def gap(scores, cells):
    """The largest difference between the mean scores of two cells."""
    return np.ptp([scores[cells == cell].mean() for cell in np.unique(cells)])


def close(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def same(found, expected, **keywords):
    for use in ("decision_function", "predict"):
        np.testing.assert_array_equal(getattr(found, use)(**keywords), getattr(expected, use)(**keywords))


class TestPlainMachine:
    @pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
    @pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0, 1: 0.5}, {1: 3.0}], ids=str)
    @pytest.mark.parametrize("solver", ["smo", "interior"])
    def test_is_that_of_scikit_learn(self, C, class_weight, solver):
        X, _, y, _ = sample()
        ours = ob.ObliviousSVC(
            standardize=False, gamma=GAMMA, C=C, class_weight=class_weight, solver=solver, tol=1e-9
        ).fit(X, y)
        theirs = SVC(gamma=GAMMA, C=C, class_weight=class_weight, tol=1e-8).fit(X, y)
        new = sample(seed=1)[0]
        close(ours.decision_function(new), theirs.decision_function(new), 1e-4)
        assert ours.converged_ and ours.solver_ == solver

    @pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
    def test_weights(self, C):
        X, _, y, w = sample()
        ours = ob.ObliviousSVC(standardize=False, gamma=GAMMA, C=C, tol=1e-9).fit(X, y, sample_weight=w)
        theirs = SVC(gamma=GAMMA, C=C, tol=1e-8).fit(X, y, sample_weight=w)
        close(ours.decision_function(X), theirs.decision_function(X), 1e-4)

    def test_balanced_sides_have_the_same_weight(self):
        X, _, y, w = sample()
        ours = ob.ObliviousSVC(standardize=False, gamma=GAMMA, class_weight="balanced", tol=1e-9).fit(
            X, y, sample_weight=w
        )
        sides = np.array([w[y == 0].sum(), w[y == 1].sum()])
        theirs = SVC(gamma=GAMMA, tol=1e-8).fit(X, y, sample_weight=w * (w.sum() / 2 / sides)[y])
        close(ours.decision_function(X), theirs.decision_function(X), 1e-4)

    @pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
    def test_linear(self, C):
        X, _, y, _ = sample()
        ours = ob.ObliviousSVC(standardize=False, kernel="linear", C=C, tol=1e-9).fit(X, y)
        theirs = SVC(kernel="linear", C=C, tol=1e-8).fit(X, y)
        close(ours.decision_function(X), theirs.decision_function(X), 1e-4)

    @pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
    def test_its_objective_is_no_worse(self, C):
        X, _, y, w = sample()
        signs = 2 * y - 1

        def objective(points, coefficients, scores):
            norm = coefficients @ rbf(points, points) @ coefficients
            return norm / 2 + C * w @ np.maximum(0, 1 - signs * scores)

        ours = ob.ObliviousSVC(standardize=False, gamma=GAMMA, C=C, tol=1e-9).fit(X, y, sample_weight=w)
        theirs = SVC(gamma=GAMMA, C=C, tol=1e-8).fit(X, y, sample_weight=w)
        found = objective(ours.model_.points, ours.dual_coef_[0], ours.decision_function(X))
        best = objective(theirs.support_vectors_, theirs.dual_coef_[0], theirs.decision_function(X))
        assert found <= best * (1 + 1e-7)
        # The gap is a certificate: what was asked for by default is kept, too.
        ours = ob.ObliviousSVC(standardize=False, gamma=GAMMA, C=C).fit(X, y, sample_weight=w)
        rough = objective(ours.model_.points, ours.dual_coef_[0], ours.decision_function(X))
        assert rough - best <= ours.gap_[0] * rough * 1.01 + 1e-9 and ours.gap_[0] <= 1e-4

    def test_without_an_intercept(self):
        X, _, y, _ = sample()
        ours = ob.ObliviousSVC(standardize=False, gamma=GAMMA, fit_intercept=False, tol=1e-9).fit(X, y)
        assert ours.intercept_[0] == 0.0
        expansion = rbf(X, ours.model_.points) @ ours.dual_coef_[0]
        close(ours.decision_function(X), expansion, 1e-10)
        # Free support vectors are on their margin.
        coefficients = np.abs(ours.dual_coef_[0])
        free = (coefficients > 1e-5) & (coefficients < 1 - 1e-5)
        margins = np.abs(rbf(ours.model_.points[free], ours.model_.points) @ ours.dual_coef_[0])
        assert free.any()
        np.testing.assert_allclose(margins, 1.0, atol=1e-4)


class TestPlainLogistic:
    @pytest.mark.parametrize("C", [0.1, 1.0, 100.0])
    @pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2.0, 1: 0.5}], ids=str)
    def test_is_that_of_scikit_learn(self, C, class_weight):
        X, _, y, _ = sample()
        ours = ob.ObliviousLogistic(standardize=False, kernel="linear", C=C, class_weight=class_weight, tol=1e-18).fit(
            X, y
        )
        theirs = LogisticRegression(C=C, class_weight=class_weight, tol=1e-10, solver="newton-cholesky").fit(X, y)
        close(ours.decision_function(X), theirs.decision_function(X), 1e-6)
        close(ours.predict_proba(X), theirs.predict_proba(X), 1e-6)
        close(ours.predict_log_proba(X), theirs.predict_log_proba(X), 1e-6)

    def test_weights(self):
        X, _, y, w = sample()
        ours = ob.ObliviousLogistic(standardize=False, kernel="linear", tol=1e-18).fit(X, y, sample_weight=w)
        theirs = LogisticRegression(tol=1e-10, solver="newton-cholesky").fit(X, y, sample_weight=w)
        close(ours.decision_function(X), theirs.decision_function(X), 1e-6)


class TestObliviousMatrix:
    """The same learner on the matrix of inner products of oblivious features."""

    @pytest.fixture(params=[(1.0, False), (0.4, False), (1.0, True)], ids=str)
    def problem(self, request):
        strength, weighted = request.param
        X, s, y, w = sample()
        w = w if weighted else np.ones(len(y))
        new = sample(40, seed=1)
        kernel = ob.ObliviousKernel(standardize=False, gamma=GAMMA, strength=strength).fit(
            X, sensitive_features=s, sample_weight=w
        )
        return X, s, y, w, strength, kernel.matrix(X, s), new, kernel.matrix(new[0], new[1], X, s)

    @pytest.mark.parametrize("C", [0.1, 10.0])
    def test_machine(self, problem, C):
        X, s, y, w, strength, gram, new, between = problem
        ours = ob.ObliviousSVC(standardize=False, gamma=GAMMA, C=C, strength=strength, tol=1e-9)
        ours.fit(X, y, sensitive_features=s, sample_weight=w)
        theirs = SVC(kernel="precomputed", C=C, tol=1e-9).fit(gram, y, sample_weight=w)
        close(ours.decision_function(X, sensitive_features=s), theirs.decision_function(gram), 1e-4)
        close(ours.decision_function(new[0], sensitive_features=new[1]), theirs.decision_function(between), 1e-4)

    @pytest.mark.parametrize("C", [0.1, 10.0])
    def test_logistic(self, problem, C):
        X, s, y, w, strength, gram, new, between = problem
        ours = ob.ObliviousLogistic(standardize=False, gamma=GAMMA, C=C, strength=strength, tol=1e-18)
        ours.fit(X, y, sensitive_features=s, sample_weight=w)
        scores = ours.decision_function(X, sensitive_features=s)
        signs = 2 * y - 1
        # The gradient is zero: h = C Σ wᵢ yᵢ σ(−yᵢ fᵢ) Zᵢ, and that of the constant.
        coefficients = C * w * signs * expit(-signs * scores)
        close(gram @ coefficients + ours.intercept_, scores, 1e-8)
        assert abs(coefficients.sum()) < 1e-8 * np.abs(coefficients).sum()
        found = ours.decision_function(new[0], sensitive_features=new[1])
        close(found, between @ coefficients + ours.intercept_, 1e-8)

    def test_logistic_on_explicit_features(self):
        X, s, y, _ = sample()
        ours = ob.ObliviousLogistic(standardize=False, kernel="linear", C=3.0, tol=1e-18).fit(
            X, y, sensitive_features=s
        )
        Z = X - np.array([X[s == c].mean(0) for c in (0, 1)])[s] + X.mean(0)
        theirs = LogisticRegression(C=3.0, tol=1e-10, solver="newton-cholesky").fit(Z, y)
        close(ours.decision_function(X, sensitive_features=s), theirs.decision_function(Z), 1e-6)


@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.parametrize("components", [None, 40])
class TestModes:
    @pytest.mark.parametrize("mode", ["oblivious", "sensitive-free"])
    @pytest.mark.parametrize("threshold", ["zero", "base-rate"])
    def test_mean_scores_of_cells_are_equal(self, make, components, mode, threshold):
        X, s, y, _ = sample()
        model = make(gamma=GAMMA, n_components=components, mode=mode, threshold=threshold)
        scores = model.fit(X, y, sensitive_features=s).decision_function(X, sensitive_features=s)
        assert gap(scores, s) < 1e-9
        plain = model.set_params(mode="plain").fit(X, y, sensitive_features=s)
        assert gap(plain.decision_function(X), s) > 0.1

    def test_for_every_class(self, make, components):
        X, s, y, w = three()
        model = make(gamma=GAMMA, n_components=components).fit(X, y, sensitive_features=s, sample_weight=w)
        scores = model.decision_function(X, sensitive_features=s)
        assert scores.shape == (90, 3) and model.offsets_.shape == (3, 2)
        means = [np.average(scores[s == c], axis=0, weights=w[s == c]) for c in (0, 1)]
        np.testing.assert_allclose(means[0], means[1], atol=1e-9)

    def test_for_several_sensitive_features(self, make, components):
        X, s, y, _ = sample()
        S = pd.DataFrame({"group": s, "age": X[:, 1] + np.random.default_rng(0).normal(size=120)})
        model = make(gamma=GAMMA, n_components=components, cells=3).fit(X, y, sensitive_features=S)
        scores = model.decision_function(X, sensitive_features=S)
        age = np.searchsorted(np.quantile(S["age"], [1 / 3, 2 / 3], method="higher"), S["age"], side="right")
        assert len(model.cells_) == 6 and gap(scores, 3 * s + age) < 1e-9

    def test_sensitive_free_needs_no_s(self, make, components):
        X, s, y, _ = sample()
        model = make(gamma=GAMMA, n_components=components, mode="sensitive-free").fit(X, y, sensitive_features=s)
        scores = model.decision_function(X)
        np.testing.assert_array_equal(scores, model.decision_function(X, sensitive_features=s))
        # Whatever S is said to be, even what the fit has not seen.
        np.testing.assert_array_equal(scores, model.decision_function(X, sensitive_features=s + 7))
        np.testing.assert_array_equal(model.predict(X), model.predict(X, sensitive_features=s))
        oblivious = make(gamma=GAMMA, n_components=components).fit(X, y, sensitive_features=s)
        with pytest.raises(ob.InvalidInputError, match="was fitted with sensitive features"):
            oblivious.decision_function(X)

    def test_equal_opportunity_is_among_positives(self, make, components):
        X, s, y, _ = sample()
        model = make(gamma=GAMMA, n_components=components, mode="sensitive-free", parity="equal-opportunity")
        scores = model.fit(X, y, sensitive_features=s).decision_function(X)
        assert gap(scores[y == 1], s[y == 1]) < 1e-9 < 0.05 < gap(scores, s)

    def test_eta_goes_from_plain_to_free(self, make, components):
        X, s, y, _ = sample()
        model = make(gamma=GAMMA, n_components=components, mode="sensitive-free", tol=1e-9)
        free = clone(model).fit(X, y, sensitive_features=s).decision_function(X)
        plain = clone(model).set_params(mode="plain").fit(X, y).decision_function(X)
        scores = [
            clone(model).set_params(eta=eta).fit(X, y, sensitive_features=s).decision_function(X)
            for eta in (1e-8, 1.0, 100.0, 1e4, 1e10)
        ]
        close(scores[0], plain, 1e-4)
        close(scores[-1], free, 1e-4)
        assert (np.diff([gap(each, s) for each in scores]) < 0).all()

    @pytest.mark.parametrize("mode", ["oblivious", "m-oblivious", "sensitive-free"])
    def test_strength_zero_is_plain(self, make, components, mode):
        X, s, y, _ = sample()
        model = make(gamma=GAMMA, n_components=components, mode=mode, strength=0.0, tol=1e-9)
        plain = clone(model).set_params(mode="plain").fit(X, y).decision_function(X)
        scores = model.fit(X, y, sensitive_features=s).decision_function(X, sensitive_features=s)
        close(scores, plain, 1e-4)

    def test_m_oblivious(self, make, components):
        """A plain model less one number for each cell; apart from the training rows those rows' means are equal."""
        X, s, y, _ = sample(160)
        mask = np.arange(160) % 2 == 0
        model = make(gamma=GAMMA, n_components=components, mode="m-oblivious")
        apart = clone(model).fit(X, y, sensitive_features=s, reference_rows=mask)
        scores = apart.decision_function(X, sensitive_features=s)
        assert gap(scores[mask], s[mask]) < 1e-9
        plain = clone(model).set_params(mode="plain").fit(X, y, sensitive_features=s).decision_function(X)
        fitted = clone(model).fit(X, y, sensitive_features=s)
        taken = plain - fitted.decision_function(X, sensitive_features=s)
        assert max(np.ptp(taken[s == c]) for c in (0, 1)) < 1e-9
        np.testing.assert_allclose(taken[[0, 1]], fitted.offsets_[s[[0, 1]]], atol=1e-9)
        assert np.average(fitted.offsets_, weights=np.bincount(s)) == pytest.approx(0, abs=1e-9)
        assert fitted.offsets_[1] > fitted.offsets_[0] + 0.1


@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.parametrize("mode", ["plain", "oblivious", "m-oblivious", "sensitive-free"])
def test_all_rows_as_landmarks_are_the_exact_path(make, mode):
    X, s, y, w = sample()
    new = sample(40, seed=1)
    model = make(gamma=GAMMA, mode=mode, strength=0.8, class_weight="balanced", tol=1e-10)
    exact = clone(model).fit(X, y, sensitive_features=s, sample_weight=w)
    explicit = clone(model).set_params(n_components=120).fit(X, y, sensitive_features=s, sample_weight=w)
    found, expected = (m.decision_function(new[0], sensitive_features=new[1]) for m in (explicit, exact))
    close(found, expected, 1e-4)
    assert exact.n_components_ is None and explicit.n_components_ == len(explicit.landmarks_)


class TestSlack:
    @pytest.mark.parametrize("components", [None, 40])
    @pytest.mark.parametrize("epsilon", [1e-3, 0.05, 0.15])
    def test_no_cell_is_further_from_all_than_epsilon(self, components, epsilon):
        X, s, y, _ = sample()
        model = ob.ObliviousSVC(
            standardize=False, gamma=GAMMA, mode="sensitive-free", epsilon=epsilon, n_components=components, tol=1e-8
        )
        scores = model.fit(X, y, sensitive_features=s).decision_function(X)
        furthest = max(abs(scores[s == c].mean() - scores.mean()) for c in (0, 1))
        assert furthest <= epsilon + 1e-6
        assert furthest >= epsilon - 1e-4, "the bound is where the best is, for the plain machine is beyond it"

    def test_a_wide_bound_is_no_bound(self):
        X, s, y, _ = sample()
        model = ob.ObliviousSVC(standardize=False, gamma=GAMMA, mode="sensitive-free", epsilon=10.0, tol=1e-9)
        plain = ob.ObliviousSVC(standardize=False, gamma=GAMMA, tol=1e-9).fit(X, y).decision_function(X)
        close(model.fit(X, y, sensitive_features=s).decision_function(X), plain, 1e-4)

    def test_among_positives(self):
        X, s, y, _ = sample()
        model = ob.ObliviousSVC(
            standardize=False,
            kernel="linear",
            mode="sensitive-free",
            parity="equal-opportunity",
            epsilon=0.05,
            tol=1e-8,
        ).fit(X, y, sensitive_features=s)
        scores, cells = model.decision_function(X)[y == 1], s[y == 1]
        assert max(abs(scores[cells == c].mean() - scores.mean()) for c in (0, 1)) <= 0.05 + 1e-6


@pytest.mark.parametrize("parity", ["equal-opportunity", "demographic-parity"])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_fair_empirical_risk_minimisation(parity, C):
    """Donini et al. (2018): features orthogonal to the difference of the means of the positive rows."""
    X, s, y, _ = sample()
    rows = y == 1 if parity == "equal-opportunity" else np.full(len(y), True)
    u = X[rows & (s == 1)].mean(0) - X[rows & (s == 0)].mean(0)
    projected = X - np.outer(X @ u, u) / (u @ u)
    theirs = SVC(kernel="linear", C=C, tol=1e-9).fit(projected, y)
    ours = ob.ObliviousSVC(standardize=False, kernel="linear", C=C, mode="sensitive-free", parity=parity, tol=1e-10)
    ours.fit(X, y, sensitive_features=s)
    close(ours.decision_function(X), theirs.decision_function(projected), 1e-4)
    new = sample(40, seed=1)[0]
    close(ours.decision_function(new), theirs.decision_function(new - np.outer(new @ u, u) / (u @ u)), 1e-4)


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_dependence_on_new_rows(make):
    """The share of the variance that is between cells: near that of an independent score, and not before."""
    old, new = ob.datasets.admissions(800, random_state=1), ob.datasets.admissions(2000, random_state=2)

    def ratio(mode):
        model = make(standardize=True, mode=mode)
        model.fit(old.features, old.targets["admitted"], sensitive_features=old.sensitive[["sex"]])
        scores = pd.Series(model.decision_function(new.features, sensitive_features=new.sensitive[["sex"]]))
        return scores.groupby(new.sensitive["sex"]).transform("mean").var() / scores.var()

    independent = (3 - 1) / (2000 - 1)
    assert ratio("plain") > 5 * independent
    for mode in ("oblivious", "m-oblivious", "sensitive-free"):
        assert ratio(mode) < 2.5 * independent


@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.parametrize("components", [None, 40])
class TestThresholds:
    @pytest.mark.parametrize("threshold", ["zero", "base-rate", 0.3, "0.3"])
    def test_share_of_positives(self, make, components, threshold):
        X, s, y, _ = sample()
        model = make(gamma=GAMMA, C=0.1, n_components=components, threshold=threshold).fit(X, y, sensitive_features=s)
        scores = model.decision_function(X, sensitive_features=s)
        predictions = model.predict(X, sensitive_features=s)
        np.testing.assert_array_equal(predictions, scores > 0)
        if threshold == "zero":
            assert model.threshold_.tolist() == [0.0]
        else:
            assert predictions.mean() == pytest.approx(y.mean() if threshold == "base-rate" else 0.3)
            zero = clone(model).set_params(threshold="zero").fit(X, y, sensitive_features=s)
            np.testing.assert_allclose(
                scores + model.threshold_, zero.decision_function(X, sensitive_features=s), atol=1e-12
            )
            np.testing.assert_allclose(model.intercept_ + model.threshold_, zero.intercept_, atol=1e-12)

    def test_the_share_is_of_weight(self, make, components):
        X, s, y, _ = sample()
        w = np.random.default_rng(1).integers(1, 4, 120)
        model = make(gamma=GAMMA, n_components=components, threshold="base-rate", tol=1e-10)
        model.fit(X, y, sensitive_features=s, sample_weight=w)
        share = np.average(model.predict(X, sensitive_features=s), weights=w)
        assert share == pytest.approx(np.average(y, weights=w), abs=0.5 * w.max() / w.sum())

    def test_m_oblivious_shares_are_after_the_offsets(self, make, components):
        X, s, y, _ = sample()
        model = make(gamma=GAMMA, n_components=components, threshold=0.3, mode="m-oblivious")
        assert model.fit(X, y, sensitive_features=s).predict(X, sensitive_features=s).mean() == pytest.approx(0.3)

    def test_of_several_classes(self, make, components):
        X, s, y, _ = three()
        model = make(gamma=GAMMA, n_components=components, threshold="base-rate").fit(X, y, sensitive_features=s)
        scores = model.decision_function(X, sensitive_features=s)
        np.testing.assert_allclose((scores > 0).mean(0), np.bincount(y) / 90)
        np.testing.assert_array_equal(model.predict(X, sensitive_features=s), scores.argmax(1))
        assert model.threshold_.shape == model.intercept_.shape == (3,)


class TestProbabilities:
    @pytest.mark.parametrize("threshold", ["zero", 0.2])
    def test_of_two_classes(self, threshold):
        X, s, y, _ = sample()
        model = ob.ObliviousLogistic(standardize=False, gamma=GAMMA, threshold=threshold).fit(
            X, y, sensitive_features=s
        )
        chances = model.predict_proba(X, sensitive_features=s)
        np.testing.assert_allclose(chances.sum(1), 1.0, rtol=1e-15)
        scores = model.decision_function(X, sensitive_features=s) + model.threshold_
        np.testing.assert_allclose(chances[:, 1], expit(scores))
        np.testing.assert_allclose(model.predict_log_proba(X, sensitive_features=s)[:, 1], log_expit(scores))
        zero = clone(model).set_params(threshold="zero").fit(X, y, sensitive_features=s)
        np.testing.assert_allclose(chances, zero.predict_proba(X, sensitive_features=s), atol=1e-12)

    def test_of_several_classes(self):
        X, s, y, _ = three()
        model = ob.ObliviousLogistic(standardize=False, gamma=GAMMA).fit(X, y, sensitive_features=s)
        chances = model.predict_proba(X, sensitive_features=s)
        assert chances.shape == (90, 3)
        np.testing.assert_allclose(chances.sum(1), 1.0, rtol=1e-15)
        one_by_one = expit(model.decision_function(X, sensitive_features=s))
        np.testing.assert_allclose(chances, one_by_one / one_by_one.sum(1, keepdims=True))
        np.testing.assert_array_equal(chances.argmax(1), model.predict(X, sensitive_features=s))

    def test_machines_have_none(self):
        assert not hasattr(ob.ObliviousSVC(standardize=False), "predict_proba")


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_several_classes_are_each_against_the_rest(make):
    X, s, y, w = three()
    tol = 1e-9 if make is ob.ObliviousSVC else 1e-18
    model = make(standardize=False, gamma=GAMMA, class_weight={0: 2.0, 2: 0.5}, tol=tol)
    model.fit(X, y, sensitive_features=s, sample_weight=w)
    scores = model.decision_function(X, sensitive_features=s)
    factors = np.array([2.0, 1.0, 0.5])[y]
    for label in range(3):
        # The conditional means do not depend on the weights of the classes.
        kernel = (
            ob.ObliviousKernel(standardize=False, gamma=GAMMA)
            .fit(X, sensitive_features=s, sample_weight=w)
            .matrix(X, s)
        )
        if make is ob.ObliviousSVC:
            theirs = SVC(kernel="precomputed", tol=1e-9).fit(kernel, y == label, sample_weight=w * factors)
            close(scores[:, label], theirs.decision_function(kernel), 1e-4)
        else:
            signs = 2 * (y == label) - 1
            coefficients = w * factors * signs * expit(-signs * scores[:, label])
            close(kernel @ coefficients + model.intercept_[label], scores[:, label], 1e-8)
    assert len(model.n_iter_) == len(model.gap_) == 3
    assert model.score(X, y, sensitive_features=s) == (scores.argmax(1) == y).mean() > 0.6


LABELS = {
    "text": np.array(["low", "mid", "very high"]),
    "text of numbers": np.array(["10", "9", "1"]),
    "objects": np.array(["low", "mid", "high"], dtype=object),
    "integers": np.array([3, -1, 7]),
    "large integers": 2**60 + np.arange(3),
    "small integers": np.array([3, 1, 7], dtype=np.uint8),
    "floats": np.array([0.0, 2.0, 5.0]),
    "two texts": np.array(["yes", "no", "no"]),
    "two integers": np.array([-1, 1, 1]),
    "booleans": np.array([True, False, False]),
}


@pytest.mark.parametrize("kind", LABELS)
class TestLabels:
    @pytest.mark.parametrize("make", CLASSIFIERS)
    def test_predictions_are_of_their_kind(self, make, kind):
        X, s, codes, _ = three()
        y = LABELS[kind][codes]
        model = make(gamma=GAMMA).fit(X, y, sensitive_features=s)
        predictions = model.predict(X, sensitive_features=s)
        assert predictions.dtype == model.classes_.dtype == y.dtype
        assert model.classes_.tolist() == sorted(set(y.tolist()))
        assert model.score(X, y, sensitive_features=s) == (predictions == y).mean() > 0.6

    @pytest.mark.parametrize("way", ["save", "pickle", "deepcopy"])
    def test_copies_predict_the_same(self, way, kind, tmp_path):
        X, s, codes, _ = three()
        y = LABELS[kind][codes]
        model = ob.ObliviousSVC(standardize=False, gamma=GAMMA).fit(X, y, sensitive_features=s)
        if way == "save":
            model.save(tmp_path / "m")
            twin = ob.load(tmp_path / "m")
            # The file does not say how wide its numbers or texts are.
            assert twin.classes_.dtype.kind == {"O": "U", "f": "i", "u": "i"}.get(y.dtype.kind, y.dtype.kind)
        else:
            twin = pickle.loads(pickle.dumps(model)) if way == "pickle" else copy.deepcopy(model)
            assert twin.classes_.dtype == y.dtype
        same(twin, model, X=X, sensitive_features=s)


@pytest.mark.parametrize(
    "native",
    [list, pd.Series, lambda y: pl.Series(y.tolist()), lambda y: pd.Series(y).astype("category"),
     lambda y: pd.Series(y, dtype="string")],
    ids=["list", "pandas", "polars", "categorical", "string"],
)  # fmt: skip
def test_every_kind_of_y_is_equal(native):
    X, s, codes, _ = three()
    y = LABELS["text"][codes]
    expected = ob.ObliviousLogistic(standardize=False, gamma=GAMMA).fit(X, y, sensitive_features=s)
    same(
        ob.ObliviousLogistic(standardize=False, gamma=GAMMA).fit(X, native(y), sensitive_features=s),
        expected,
        X=X,
        sensitive_features=s,
    )


@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_frames_with_text_on_landmarks(make, backend, tmp_path):
    table = ob.datasets.admissions(300, random_state=3, backend=backend)
    sex, y = table.sensitive[["sex"]], table.targets["admitted"]
    model = make(n_components=30, standardize=True, class_weight="balanced").fit(
        table.features, y, sensitive_features=sex
    )
    assert model.n_components_ == 30 and model.classes_.tolist() == ["no", "yes"]
    scores = model.decision_function(table.features, sensitive_features=sex)
    assert gap(scores, np.asarray(sex).ravel()) < 1e-9
    assert model.score(table.features, y, sensitive_features=sex) > 0.7
    model.save(tmp_path / "m")
    loaded = ob.load(tmp_path / "m")
    same(loaded, model, X=table.features, sensitive_features=sex)
    assert type(loaded) is make and loaded.C == model.C


@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.parametrize("data", [sample, three])
@pytest.mark.parametrize("settings", [{}, {"n_components": 20}, {"mode": "m-oblivious", "threshold": 0.4}], ids=str)
def test_files_and_clones(make, data, settings, tmp_path):
    X, s, y, _ = data()
    model = make(gamma=GAMMA, C=0.5, **settings).fit(X, y, sensitive_features=s)
    model.save(tmp_path / "m")
    loaded = ob.load(tmp_path / "m")
    assert type(loaded) is make and loaded.C == 0.5 and loaded.mode == model.mode
    np.testing.assert_array_equal(loaded.threshold_, model.threshold_)
    for twin in (loaded, pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        same(twin, model, X=X, sensitive_features=s)
        np.testing.assert_array_equal(twin.classes_, model.classes_)
        if make is ob.ObliviousLogistic:
            np.testing.assert_array_equal(
                twin.predict_proba(X, sensitive_features=s), model.predict_proba(X, sensitive_features=s)
            )
    fresh = clone(model)
    assert repr(fresh) == repr(model) and not hasattr(fresh, "classes_")
    with pytest.raises(sklearn.exceptions.NotFittedError):
        fresh.predict(X, sensitive_features=s)
    same(fresh.fit(X, y, sensitive_features=s), model, X=X, sensitive_features=s)
    same(loaded.fit(X, y, sensitive_features=s).set_params(), loaded, X=X, sensitive_features=s)


@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.parametrize("data", [sample, three])
def test_refresh(make, data):
    X, s, y, _ = data()
    model = make(gamma=GAMMA).fit(X, y, sensitive_features=s)
    before = model.decision_function(X, sensitive_features=s)
    later, cells, _, _ = sample(200, seed=2)
    later[cells == 1] += 0.5
    drift = model.refresh(later, sensitive_features=cells, min_rows=10)
    scores = model.decision_function(later, sensitive_features=cells)
    columns = scores.reshape(200, -1).T
    assert max(gap(column, cells) for column in columns) < 1e-9
    if data is three:
        assert len(drift) == 3 and all(len(of_class) == 2 for of_class in drift)
    else:
        assert [moved.rows for moved in drift] == np.bincount(cells).tolist()
        assert drift[1].offset_after != drift[1].offset_before and not drift[1].kept
    # A refresh moves whole cells.
    moved = (model.decision_function(X, sensitive_features=s) - before).reshape(len(X), -1)
    assert max(np.ptp(moved[s == c], axis=0).max() for c in (0, 1)) < 1e-9
    with pytest.raises(ob.InvalidInputError, match="has no offsets to refresh"):
        make().fit(X, y).refresh(X)


CV = StratifiedKFold(3, shuffle=True, random_state=0)


@pytest.mark.parametrize("make", CLASSIFIERS)
class TestScikitLearn:
    def test_columns(self, make):
        X, s, y, _ = sample()
        apart = make(gamma=GAMMA).fit(X, y, sensitive_features=s)
        inside = make(gamma=GAMMA, sensitive_feature_ids=[-1]).fit(np.column_stack([X, s]), y)
        np.testing.assert_array_equal(
            inside.decision_function(np.column_stack([X, s])), apart.decision_function(X, sensitive_features=s)
        )
        frame = pd.DataFrame(X, columns=list("abc")).assign(group=s)
        scores = cross_val_score(make(gamma=GAMMA, sensitive_feature_ids="group"), frame, y, cv=CV, scoring="accuracy")
        assert (scores > 0.5).all()
        areas = cross_val_score(make(gamma=GAMMA, sensitive_feature_ids="group"), frame, y, cv=CV, scoring="roc_auc")
        assert (areas > 0.5).all()

    def test_search_of_a_pipeline_with_routing(self, make):
        X, s, y, _ = sample()
        with sklearn.config_context(enable_metadata_routing=True):
            pipeline = make_pipeline(StandardScaler(), make())
            name = f"{make.__name__.lower()}__C"
            search = GridSearchCV(pipeline, {name: [0.01, 1.0]}, cv=CV, error_score="raise")
            search.fit(X, y, sensitive_features=s)
            assert np.isfinite(search.cv_results_["mean_test_score"]).all()
            best = search.best_estimator_
            assert search.score(X, y, sensitive_features=s) == best.score(X, y, sensitive_features=s)
            scores = best.decision_function(X, sensitive_features=s)
            if make is ob.ObliviousLogistic:
                assert best.predict_proba(X, sensitive_features=s).shape == (120, 2)
            scored = cross_val_score(make(), X, y, cv=CV, params={"sensitive_features": s}, error_score="raise")
        assert (scored > 0.5).all() and gap(scores, s) < 1e-9
        with pytest.raises(ob.InvalidInputError, match="switch metadata routing on"):
            best.predict(X)

    def test_fit_forgets_what_was_there_before(self, make):
        X, _, y, _ = sample()
        model = make(gamma=GAMMA).fit(*three()[::2], sensitive_features=three()[1])
        same(model.fit(X, y), make(gamma=GAMMA).fit(X, y), X=X)
        with pytest.raises(ob.InvalidInputError):
            model.fit(X, np.zeros(120))
        with pytest.raises(sklearn.exceptions.NotFittedError):
            model.predict(X)


@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.parametrize("components", [None, 20])
def test_what_has_not_converged_says_so(make, components):
    X, s, y, _ = sample()
    model = make(gamma=GAMMA, C=100.0, max_iter=1, n_components=components)
    with pytest.warns(ConvergenceWarning, match=r"stopped after 1 steps with a relative gap of .*allow more steps"):
        model.fit(X, y, sensitive_features=s)
    assert not model.converged_ and model.gap_[0] > model.tol and model.n_iter_.tolist() == [1]
    model.set_params(max_iter=None).fit(X, y, sensitive_features=s)
    assert model.converged_ and model.gap_[0] <= model.tol


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_rows_that_only_estimate_do_not_count_for_balance(make):
    X, s, y, _ = sample()
    mask = np.arange(120) < 50
    estimating = np.where(mask, 0, y)
    models = [
        make(gamma=GAMMA, class_weight="balanced").fit(X, labels, sensitive_features=s, reference_rows=mask)
        for labels in (y, estimating)
    ]
    same(models[0], models[1], X=X, sensitive_features=s)


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_rows_that_only_estimate_are_no_class(make):
    X, s, y, _ = sample()
    with pytest.raises(ob.InvalidInputError, match="one class"):
        make().fit(X, y, sensitive_features=s, reference_rows=y == 1)


def refused(sentence, model, y=None, kind=ob.InvalidInputError):
    X, s, usual, _ = sample()
    with pytest.raises(kind, match=sentence) as caught:
        model.fit(X, usual if y is None else y, sensitive_features=s)
    assert isinstance(caught.value, ValueError) and not hasattr(model, "model_")


SHARED = [
    *[("C", value, f"C must be a positive finite number, got {value}") for value in (0, -1, np.nan, np.inf)],
    ("C", "x", "C must be a number, got 'x'"),
    *[("threshold", v, f"threshold must be `zero`, `base-rate` or a rate .*got `{v}`") for v in ("high", 1.5, 0, None)],
    ("class_weight", {7: 1.0}, r"class_weight names 7, which is not among the classes \(0, 1\)"),
    ("class_weight", {0: -1.0}, "a class weight must be a positive finite number, got -1"),
    ("class_weight", {0: "x"}, "a class weight must be a number, got 'x'"),
    *[("class_weight", v, 'must be None, "balanced" or a dictionary of classes, got') for v in ("x", [1, 2])],
    ("parity", "equal-opportunity", "parity must be demographic-parity, unless .*got equal-opportunity"),
    ("parity", "x", "parity `x` is not known; choose one of: demographic-parity, equal-opportunity"),
    ("eta", 1.0, r"eta .*must be left out, unless the mode is sensitive-free, got oblivious"),
    ("tol", 0, "gap to reach must be between 0 and 1, got 0"),
    ("tol", "x", "tol must be a number, got 'x'"),
    *[("max_iter", value, f"max_iter must be a positive whole number, got {value}") for value in (0, -1, 1.5)],
]


@pytest.mark.parametrize("make", CLASSIFIERS)
class TestRefused:
    @pytest.mark.parametrize(("name", "value", "sentence"), SHARED)
    def test_parameters(self, make, name, value, sentence):
        refused(sentence, make(**{name: value}))

    def test_sensitive_free(self, make):
        for eta in (0, -1, np.nan):
            refused("eta must be a positive finite number, got", make(mode="sensitive-free", eta=eta))
        refused("strength must be 1 where eta", make(mode="sensitive-free", eta=1.0, strength=0.5))
        model = make(mode="sensitive-free", parity="equal-opportunity")
        refused("parity must be demographic-parity for more than two classes", model, np.arange(120) % 3)

    @pytest.mark.parametrize(
        ("y", "sentence"),
        [
            (np.zeros(120), r"needs rows of at least two classes, got one class: 0\.0$"),
            (["a"] * 120, "needs rows of at least two classes, got one class: 'a'$"),
            ([None, "a", "b"] * 40, "(?i)y.* missing"),
            (np.array([np.nan, "a", "b"] * 40, dtype=object), "(?i)y.* missing"),
            (pd.Series([None, "a", "b"] * 40, dtype="string"), "(?i)y.* missing"),
            (pd.Series([None, "a", "b"] * 40).astype("category"), "(?i)y.* missing"),
            (pl.Series([None, "a", "b"] * 40), "(?i)y.* missing"),
        ],
    )
    def test_classes(self, make, y, sentence):
        refused(sentence, make(), y)

    @pytest.mark.parametrize(
        ("y", "sentence"),
        [
            (np.where(np.arange(120) == 3, np.nan, np.arange(120) % 2), "y contains NaN"),
            (np.linspace(0, 1, 120), "Unknown label type: continuous"),
            (np.arange(5), "inconsistent numbers of samples"),
            (np.zeros((120, 2)), "1d array"),
        ],
    )
    def test_classes_in_the_words_of_scikit_learn(self, make, y, sentence):
        refused(sentence, make(), y, kind=ValueError)

    def test_a_class_without_weight(self, make):
        X, _, y, _ = sample()
        with pytest.raises(ob.InvalidInputError, match="class"):
            make().fit(X, y, sample_weight=y)


def test_parameters_of_machines_alone():
    refused(
        "solver must be `auto`, `smo` or `interior` .*got `cholesky`",
        ob.ObliviousSVC(standardize=False, solver="cholesky"),
    )
    refused("solver `newton` is not known; choose one of", ob.ObliviousSVC(standardize=False, solver="newton"))
    refused("solver must be .*got `smo`", ob.ObliviousRidge(standardize=False, solver="smo"))
    refused(
        "epsilon.* must be left out, unless the mode is sensitive-free, got oblivious",
        ob.ObliviousSVC(standardize=False, epsilon=0.1),
    )
    free = ob.ObliviousSVC(standardize=False, mode="sensitive-free")
    refused("epsilon must be a positive finite number, got -0.1", clone(free).set_params(epsilon=-0.1))
    refused("strength must be 1 where eta or epsilon", clone(free).set_params(epsilon=0.1, strength=0.5))
    with pytest.raises(TypeError, match="epsilon"):
        ob.ObliviousLogistic(standardize=False, epsilon=0.1)


def test_eta_and_epsilon_exclude_each_other():
    refused("eta.*epsilon", ob.ObliviousSVC(standardize=False, mode="sensitive-free", eta=1.0, epsilon=0.1))
