"""Every measure against another package or a formula written down again, and what a measured value knows."""

import copy
import itertools
import json
import pickle
import re
import warnings
from pathlib import Path

import dcor
import fairlearn.metrics
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from rounding import rounding
from scipy.spatial.distance import cdist, pdist
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.preprocessing import StandardScaler

import oblivio as ob
from oblivio import metrics

FIXTURES = Path(__file__).parents[2] / "crates" / "oblivio-audit" / "tests" / "fixtures"
# The least that are allowed: most tests look at values only.
FEW = {"n_permutations": 19, "n_resamples": 19}
SEEDS = range(5)


def linear(data, sensitive, **options):
    return metrics.adversary(data, sensitive, kind="linear", **options)


def kolmogorov(scores, sensitive, **options):
    return metrics.score_distance(scores, sensitive, kind="kolmogorov-smirnov", **options)


def odds(decisions, sensitive, y, **options):
    return metrics.demographic_parity(decisions, sensitive, y=y, kind="equalized-odds", **options)


ALL = [
    metrics.correlation_ratio,
    metrics.beta_dependence,
    metrics.demographic_parity,
    metrics.score_distance,
    kolmogorov,
    metrics.hsic,
    metrics.adversary,
    linear,
    metrics.distance_correlation,
]


def sample(seed, rows=120):
    """Scores with ties that depend on one of three groups, the groups, a second sensitive column, and weights."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2])
    scores = np.round(rng.normal(size=rows) + (group == "b") * 0.8, 1)
    return scores, group, rng.integers(0, 2, rows), rng.uniform(0.2, 3.0, rows)


def repeated(weights, *columns):
    return [np.repeat(column, weights, axis=0) for column in columns]


def pairs(groups):
    return itertools.combinations(np.unique(groups), 2)


class TestCorrelationRatio:
    @staticmethod
    def shares(scores, groups, weights):
        """The sums of squares between and within groups."""
        centre = np.average(scores, weights=weights)
        between = within = 0.0
        for group in np.unique(groups):
            here = groups == group
            mean = np.average(scores[here], weights=weights[here])
            between += weights[here].sum() * (mean - centre) ** 2
            within += (weights[here] * (scores[here] - mean) ** 2).sum()
        return between, within

    @pytest.mark.parametrize("seed", SEEDS)
    def test_is_that_of_the_analysis_of_variance(self, seed):
        scores, groups, _, _ = sample(seed)
        F = scipy.stats.f_oneway(*(scores[groups == g] for g in np.unique(groups))).statistic
        n, k = len(scores), 3
        assert metrics.correlation_ratio(scores, groups, **FEW) == pytest.approx(F / (F + (n - k) / (k - 1)), rel=1e-10)

    @pytest.mark.parametrize("seed", SEEDS)
    @pytest.mark.parametrize("weighted", [False, True])
    def test_with_weights_and_debiased(self, seed, weighted):
        scores, groups, _, w = sample(seed)
        between, within = self.shares(scores, groups, w if weighted else np.ones(120))
        found = metrics.correlation_ratio(scores, groups, sample_weight=w if weighted else None, **FEW)
        assert found == pytest.approx(between / (between + within), rel=1e-10)
        n, k = (w.sum() ** 2 / (w**2).sum() if weighted else 120), 3
        debiased = (between - (k - 1) * within / (n - k)) / (between + within)
        assert found.further["debiased"] == pytest.approx(debiased, rel=1e-10)

    def test_of_several_sensitive_columns_is_that_of_the_intersection(self):
        scores, groups, other, _ = sample(1)
        frame = pd.DataFrame({"group": groups, "other": other})
        crossed = np.char.add(groups, other.astype(str))
        between, within = self.shares(scores, crossed, np.ones(120))
        assert metrics.correlation_ratio(scores, frame, **FEW) == pytest.approx(between / (between + within), rel=1e-10)

    @pytest.mark.parametrize("cells", [2, 4, 6])
    def test_continuous_columns_are_cut_into_cells_of_equal_mass(self, cells):
        rng = np.random.default_rng(3)
        s = rng.normal(size=120)
        scores = s**2 + rng.normal(size=120)
        groups = s.argsort().argsort() // (120 // cells)
        between, within = self.shares(scores, groups, np.ones(120))
        found = metrics.correlation_ratio(scores, s, cells=cells, **FEW)
        assert found == pytest.approx(between / (between + within), rel=1e-10)

    def test_uniform_cells_and_bounds(self):
        rng = np.random.default_rng(4)
        s, scores = rng.uniform(0, 1, 200), rng.normal(size=200)
        groups = (s * 5).astype(int)
        between, within = self.shares(scores, groups, np.ones(200))
        found = metrics.correlation_ratio(
            scores, s, cells=5, binning="uniform", sensitive_bounds=(0, 1), categorical_sensitive=[], **FEW
        )
        assert found == pytest.approx(between / (between + within), rel=1e-10)

    def test_whole_numbers_as_categories_or_not(self):
        rng = np.random.default_rng(5)
        s, scores = rng.integers(0, 40, 400), rng.normal(size=400)
        between, within = self.shares(scores, s, np.ones(400))
        found = metrics.correlation_ratio(scores, s, categorical_sensitive=[0], **FEW)
        assert found == pytest.approx(between / (between + within), rel=1e-10)
        assert metrics.correlation_ratio(scores, s, categorical_sensitive=[], **FEW) < found

    @given(
        st.lists(
            st.tuples(st.integers(-99, 99), st.sampled_from("abc"), st.integers(0, 3)), min_size=3, max_size=40
        ).filter(lambda rows: np.ptp([r[0] for r in rows if r[2]] or [0]) > 0)
    )
    def test_of_anything(self, rows):
        scores, groups, weights = (np.array(column) for column in zip(*rows, strict=True))
        keep = weights > 0
        between, within = self.shares(scores[keep], groups[keep], weights[keep])
        found = metrics.correlation_ratio(scores, groups, sample_weight=weights, **FEW)
        # Deviations are rounded like the mean, which is at most 99. Their root mean square is at least 1/√40 ≥ 0.1.
        assert found == pytest.approx(between / (between + within), abs=rounding(40) * 99 / 0.1)
        assert 0 <= found.interval[0] <= found.interval[1] <= 1

    def test_rows_without_weight_are_no_rows_for_the_debiased_form(self):
        scores, groups, _, _ = sample(1)
        keep = groups != "c"
        found = metrics.correlation_ratio(scores, groups, sample_weight=keep.astype(float), **FEW)
        without = metrics.correlation_ratio(scores[keep], groups[keep], **FEW)
        assert found == pytest.approx(without, rel=1e-10)
        assert found.further["debiased"] == pytest.approx(without.further["debiased"], rel=1e-10)


class TestBeta:
    @staticmethod
    def beta(labels, groups, weights=None):
        joint = pd.crosstab(labels, groups, np.ones(len(labels)) if weights is None else weights, aggfunc="sum")
        joint = joint.fillna(0).to_numpy() / joint.sum().sum()
        return np.abs(joint - joint.sum(1, keepdims=True) * joint.sum(0)).sum() / 2

    @staticmethod
    def bins(scores, count, weights):
        """Each value goes to the bin of the middle of its weight."""
        _, which = np.unique(scores, return_inverse=True)
        mass = np.bincount(which, weights)
        middle = (mass.cumsum() - mass / 2) / mass.sum()
        return (middle * count).astype(int)[which]

    @pytest.mark.parametrize(
        "case", json.loads((FIXTURES / "beta.json").read_text(encoding="utf-8")), ids=lambda c: c["beta_paper_half"]
    )
    def test_fixture(self, case):
        found = metrics.beta_dependence(case["yhat"], case["s"], **FEW)
        assert found == pytest.approx(case["beta_paper_half_float"], abs=1e-15)
        assert found.further["without_half"] == pytest.approx(case["beta_code_no_half_float"], abs=1e-15)
        whole = metrics.beta_dependence(case["yhat"], case["s"], half=False, **FEW)
        assert whole == pytest.approx(case["beta_code_no_half_float"], abs=1e-15)

    @pytest.mark.parametrize("seed", SEEDS)
    @pytest.mark.parametrize("weighted", [False, True])
    def test_of_labels(self, seed, weighted):
        scores, groups, other, w = sample(seed)
        w = w if weighted else None
        labels = np.where(scores < -0.5, "low", np.where(scores > 0.5, "high", "mid"))
        assert metrics.beta_dependence(labels, groups, sample_weight=w, **FEW) == pytest.approx(
            self.beta(labels, groups, w), rel=1e-10
        )
        both = pd.DataFrame({"group": groups, "other": other})
        crossed = np.char.add(groups, other.astype(str))
        assert metrics.beta_dependence(labels, both, sample_weight=w, **FEW) == pytest.approx(
            self.beta(labels, crossed, w), rel=1e-10
        )

    @pytest.mark.parametrize("weighted", [False, True])
    def test_whole_numbers_are_labels(self, weighted):
        rng = np.random.default_rng(1)
        numbers, groups = rng.integers(0, 12, 400), rng.choice(["a", "b"], 400)
        w = rng.uniform(0.2, 3.0, 400) if weighted else None
        found = metrics.beta_dependence(numbers, groups, sample_weight=w, **FEW)
        assert found == pytest.approx(self.beta(numbers, groups, w), rel=1e-10)
        assert found == pytest.approx(metrics.beta_dependence(numbers.astype(str), groups, sample_weight=w, **FEW))

    @pytest.mark.parametrize("seed", SEEDS)
    @pytest.mark.parametrize("bins", [2, 4, 7])
    def test_of_scores(self, seed, bins):
        scores, groups, _, w = sample(seed)
        binned = self.bins(scores, bins, np.ones(120))
        assert metrics.beta_dependence(scores, groups, bins=bins, **FEW) == pytest.approx(
            self.beta(binned, groups), rel=1e-10
        )
        binned = self.bins(scores, bins, w)
        assert metrics.beta_dependence(scores, groups, bins=bins, sample_weight=w, **FEW) == pytest.approx(
            self.beta(binned, groups, w), rel=1e-10
        )

    def test_half_doubles_everything_that_is_beta(self):
        scores, groups, _, _ = sample(2)
        half, whole = (metrics.beta_dependence(scores, groups, half=half) for half in (True, False))
        assert whole == 2 * half == half.further["without_half"]
        for name in ("expected", "critical"):
            assert getattr(whole, name) == 2 * getattr(half, name)
        assert whole.interval == tuple(2 * end for end in half.interval)
        assert whole.p_value == half.p_value and whole.further == half.further

    @pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_certificate(self, confidence, weighted):
        scores, groups, _, w = sample(3, 5000)
        found = metrics.beta_dependence(
            scores, groups, confidence=confidence, sample_weight=w if weighted else None, **FEW
        )
        n = w.sum() ** 2 / (w**2).sum() if weighted else 5000
        bound = n / (n - 1) * (float(found) + 3 * np.sqrt(np.log(1 / (1 - confidence)) / (2 * n)))
        assert found.further["bound"] == pytest.approx(bound, rel=1e-10)

    def test_certificate_is_at_most_one(self):
        assert metrics.beta_dependence([0, 0, 1, 1], [0, 0, 1, 1], **FEW).further["bound"] == 1

    @given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc")), min_size=2, max_size=40))
    def test_of_anything(self, rows):
        labels, groups = (np.array(column) for column in zip(*rows, strict=True))
        found = metrics.beta_dependence(labels, groups, **FEW)
        # A sum over at most 4 × 3 pairs of classes and groups of shares of at most 1.
        assert found == pytest.approx(self.beta(labels, groups), abs=rounding(12))
        assert found == pytest.approx(metrics.beta_dependence(groups, labels, **FEW), abs=rounding(12))


class TestParity:
    @staticmethod
    def decisions(seed):
        rng = np.random.default_rng(seed)
        _, group, other, w = sample(seed, 400)
        y = rng.integers(0, 2, 400)
        decided = (rng.uniform(size=400) < 0.3 + 0.2 * y + 0.2 * (group == "a")).astype(int)
        return decided, y, pd.DataFrame({"group": group, "other": other}), w

    @pytest.mark.parametrize("seed", SEEDS[:2])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("columns", [["group"], ["other"], ["group", "other"]], ids=str)
    def test_against_fairlearn(self, seed, weighted, columns):
        decided, y, sensitive, w = self.decisions(seed)
        sensitive, w = sensitive[columns], w if weighted else None
        theirs = {"sensitive_features": sensitive, "sample_weight": w}
        ours = {"sample_weight": w, **FEW}
        assert metrics.demographic_parity(decided, sensitive, **ours) == pytest.approx(
            fairlearn.metrics.demographic_parity_difference(y, decided, **theirs), rel=1e-10
        )
        assert metrics.demographic_parity(decided, sensitive, kind="ratio", **ours) == pytest.approx(
            fairlearn.metrics.demographic_parity_ratio(y, decided, **theirs), rel=1e-10
        )
        assert odds(decided, sensitive, y, **ours) == pytest.approx(
            fairlearn.metrics.equalized_odds_difference(y, decided, **theirs), rel=1e-10
        )
        for kind, gap in [
            ("true-positive", fairlearn.metrics.true_positive_rate_difference),
            ("false-positive", fairlearn.metrics.false_positive_rate_difference),
        ]:
            found = metrics.demographic_parity(decided, sensitive, y=y, kind=kind, **ours)
            assert found == pytest.approx(gap(y, decided, **theirs), rel=1e-10)

    @pytest.mark.parametrize("seed", SEEDS[:2])
    def test_within_levels_of_a_factor_against_fairlearn(self, seed):
        decided, y, sensitive, _ = self.decisions(seed)
        level = np.random.default_rng(seed + 100).choice(["x", "y", "z"], 400)
        frame = fairlearn.metrics.MetricFrame(
            metrics=fairlearn.metrics.selection_rate,
            y_true=y,
            y_pred=decided,
            sensitive_features=sensitive["group"],
            control_features=pd.Series(level, name="level"),
        )
        shares = pd.Series(level).value_counts(normalize=True)
        expected = (frame.difference() * shares).sum()
        found = metrics.demographic_parity(decided, sensitive["group"], control_features=level, **FEW)
        assert found == pytest.approx(expected, rel=1e-10)

    def test_several_classes_against_fairlearn(self):
        rng = np.random.default_rng(4)
        y, group = rng.integers(0, 3, 400), rng.choice(["a", "b"], 400)
        guess = np.where(rng.uniform(size=400) < 0.6 + 0.2 * (group == "a"), y, rng.integers(0, 3, 400))
        found = odds(guess, group, y, **FEW)
        gaps = {
            k: fairlearn.metrics.equalized_odds_difference(y == k, guess == k, sensitive_features=group)
            for k in range(3)
        }
        assert found.further == pytest.approx({f"class_{k}": gap for k, gap in gaps.items()}, rel=1e-10)
        assert found == pytest.approx(max(gaps.values()), rel=1e-10)
        assert found.detail == f"largest for class {max(gaps, key=gaps.get)}"

    def test_decisions_from_scores(self):
        rng = np.random.default_rng(1)
        group = rng.choice(["a", "b"], 300)
        chances = rng.uniform(size=300)

        def gap(decided):
            return fairlearn.metrics.demographic_parity_difference(decided, decided, sensitive_features=group)

        def found(scores, **options):
            return float(metrics.demographic_parity(scores, group, **options, **FEW))

        assert found(chances) == pytest.approx(gap(chances >= 0.5))
        assert found(chances, threshold=0.8) == pytest.approx(gap(chances >= 0.8))
        assert found(chances, threshold=chances[7]) == pytest.approx(gap(chances >= chances[7]))
        beyond = chances * 5 - 2
        assert found(beyond) == pytest.approx(gap(beyond >= np.sort(beyond)[149]))

    def test_the_median_does_not_depend_on_the_unit_of_weights(self):
        rng = np.random.default_rng(1)
        group, scores = rng.choice(["a", "b"], 300), rng.normal(size=300)
        plain = metrics.demographic_parity(scores, group, **FEW)
        for weight in (0.1, 0.2, 0.3, 1.7):
            weighted = metrics.demographic_parity(scores, group, sample_weight=np.full(300, weight), **FEW)
            assert weighted == pytest.approx(float(plain))

    def test_the_positive_label(self):
        decided, y, sensitive, _ = self.decisions(2)
        words, truth = np.where(decided == 1, "yes", "no"), np.where(y == 1, "yes", "no")
        for positive, chosen, right in [("yes", decided, y), ("no", 1 - decided, 1 - y), (None, decided, y)]:
            for kind in ("difference", "ratio", "equalized-odds"):
                options = {"y": right, "kind": kind, **FEW}
                numbers = metrics.demographic_parity(chosen, sensitive, **options)
                options |= {"y": truth, "pos_label": positive}
                assert metrics.demographic_parity(words, sensitive, **options) == pytest.approx(float(numbers))
        flipped = metrics.demographic_parity(decided, sensitive, kind="ratio", pos_label=0, **FEW)
        assert flipped == metrics.demographic_parity(1 - decided, sensitive, kind="ratio", **FEW)
        flags = metrics.demographic_parity(decided == 1, sensitive, kind="ratio", pos_label=False, **FEW)
        assert flags == pytest.approx(float(flipped))
        with pytest.raises(ob.InvalidInputError, match="positive label `maybe` is not known; choose one of: no, yes"):
            metrics.demographic_parity(words, sensitive, pos_label="maybe")

    def test_a_label_among_many(self):
        rng = np.random.default_rng(3)
        group, label = rng.choice(["a", "b"], 200), rng.choice(["x", "y", "z"], 200)
        found = metrics.demographic_parity(label, group, pos_label="y", **FEW)
        hit = label == "y"
        assert found == pytest.approx(abs(hit[group == "a"].mean() - hit[group == "b"].mean()))
        with pytest.raises(ob.InvalidInputError, match="parity-difference is not defined"):
            metrics.demographic_parity(label, group)

    def test_the_groups_that_differ_most_are_named(self):
        found = metrics.demographic_parity([0, 0, 0, 1, 1, 1], pd.Series(list("aabbcc"), name="g"), **FEW)
        assert found == 1.0
        assert found.detail == "between a and c"

    def test_ratios_shrink_with_dependence(self):
        rng = np.random.default_rng(4)
        s = rng.integers(0, 2, 400)
        chances = rng.uniform(size=400)
        found = metrics.demographic_parity((chances < 0.2 + 0.5 * s).astype(int), s, kind="ratio")
        assert found.p_value == 1 / 200 and found.large and found.interval[1] < found.critical < found.expected < 1
        found = metrics.demographic_parity((chances < 0.5).astype(int), s, kind="ratio")
        assert found.p_value > 0.05 and not found.large

    def test_nobody_is_favoured_where_nobody_is_chosen(self):
        group = ["a"] * 20 + ["b"] * 20
        assert metrics.demographic_parity(np.zeros(40), group, kind="ratio", threshold=1.0, **FEW) == 1.0

    def test_odds_need_labels_of_two_kinds(self):
        decided, _, sensitive, _ = self.decisions(1)
        with pytest.raises(ob.InvalidInputError, match="pass y="):
            metrics.demographic_parity(decided, sensitive, kind="equalized-odds")
        with pytest.raises(ob.InvalidInputError, match="equalized-odds is not defined"):
            odds(decided, sensitive, np.arange(400) % 3)


class TestSeparation:
    """Against regressions by cells and by lines, which see the same means on many rows."""

    @staticmethod
    def residuals(f, *columns):
        """What is left of f after least squares on the columns."""
        design = np.column_stack([np.ones(len(f)), *columns])
        return f - design @ np.linalg.lstsq(design, f, rcond=None)[0]

    def share(self, f, y, both):
        return (np.sum(self.residuals(f, y) ** 2) - np.sum(self.residuals(f, both) ** 2)) / np.sum((f - f.mean()) ** 2)

    # Five folds and 140 shrunken coefficients on 4000 rows: 140/4000 of the unexplained variance at most, and less
    # in fact, since the penalty is chosen.
    TOLERANCE = 0.02

    @pytest.mark.parametrize("interaction", [0.0, 1.5])
    def test_of_categories(self, interaction):
        rng = np.random.default_rng(1)
        y, s = rng.integers(0, 3, 4000), rng.integers(0, 2, 4000)
        f = y + 0.5 * s - interaction * s * (y == 1) + rng.normal(size=4000)
        cells = 2 * y + s
        expected = self.share(f, np.eye(3)[y], np.eye(6)[cells])
        words = np.array(["no", "maybe", "yes"])[y]
        assert expected > 0.03
        assert metrics.separation(f, s, words, **FEW) == pytest.approx(expected, abs=self.TOLERANCE)

    def test_of_numbers_and_of_both(self):
        rng = np.random.default_rng(2)
        y = rng.normal(size=4000)
        age, group = y + rng.normal(size=4000), rng.integers(0, 2, 4000)
        f = y + 0.5 * age + 0.4 * group + rng.normal(size=4000)
        sensitive = pd.DataFrame({"age": age, "group": group})
        for columns in (["age"], ["age", "group"]):
            expected = self.share(f, y, np.column_stack([y, sensitive[columns]]))
            found = metrics.separation(f, sensitive[columns], y, **FEW)
            assert found == pytest.approx(expected, abs=self.TOLERANCE)

    def test_scores_that_follow_the_target(self):
        rng = np.random.default_rng(3)
        y = rng.normal(size=600)
        s = y + rng.normal(size=600)
        f = y**2 + y + rng.normal(size=600)
        found = metrics.separation(f, s, y)
        assert found.p_value > 0.05 and found < 0.02
        assert metrics.correlation_ratio(f, s).detectable

    def test_the_other_way_round_is_calibration(self):
        rng = np.random.default_rng(4)
        s = rng.integers(0, 2, 1000)
        f = rng.uniform(size=1000) + 0.5 * s
        y = f + rng.normal(size=1000)
        assert not metrics.separation(y, s, f).detectable
        assert metrics.separation(y + 0.5 * s, s, f).detectable

    def test_a_factor_is_held_fixed_too(self):
        rng = np.random.default_rng(5)
        s, y = rng.integers(0, 2, (2, 1000))
        factor = s + 0.3 * rng.normal(size=1000)
        f = y + factor + rng.normal(size=1000)
        assert metrics.separation(f, s, y).large
        assert not metrics.separation(f, s, y, control_features=factor).large

    def test_bad_input(self):
        rng = np.random.default_rng(6)
        f, y, s = rng.normal(size=(3, 50))
        with pytest.raises(ob.InvalidInputError, match="'y' has 49 rows and the sensitive features have 50"):
            metrics.separation(f, s, y[1:])
        with pytest.raises(ob.InvalidInputError, match="`y` has 1 missing values, the first in row 3"):
            metrics.separation(f, s, np.where(np.arange(50) == 3, np.nan, y))
        with pytest.raises(ob.InvalidInputError, match="'control_feature_0' has 49 rows"):
            metrics.separation(f, s, y, control_features=y[1:])
        with pytest.raises(ob.InvalidInputError, match="at least 10 are needed"):
            metrics.separation(f[:8], s[:8], y[:8])
        with pytest.raises(ob.InvalidInputError, match="hsic is not defined"):
            metrics.hsic(f, s, control_features=y)


class TestCalibration:
    @staticmethod
    def distance(f, s, y):
        """By the definition: ten bins of equal mass, and in each the line of y on f."""
        rank = np.argsort(np.argsort(f))
        bins = np.floor((rank + 0.5) / len(f) * 10).astype(int)
        total = 0.0
        for k in range(10):
            here = bins == k
            line = np.polyfit(f[here] - f[here].mean(), y[here], 1)
            left = y[here] - np.polyval(line, f[here] - f[here].mean())
            for group in np.unique(s[here]):
                own = s[here] == group
                total += own.sum() * abs(left[own].mean())
        return total / len(f)

    @pytest.mark.parametrize("numbers", [False, True])
    def test_against_the_definition(self, numbers):
        rng = np.random.default_rng(1)
        f, s = rng.uniform(size=600), rng.choice(["a", "b", "c"], 600)
        y = f + 0.2 * (s == "a") + 0.3 * rng.normal(size=600)
        y = y if numbers else (y > 0.5).astype(float)
        found = metrics.calibration(f, s, y, **FEW)
        # Means of 60 rows and a line through them lose some digits.
        assert found == pytest.approx(self.distance(f, s, y), rel=1e-9)
        in_deviations = metrics.calibration(f, s, y, standardize=True, **FEW)
        assert in_deviations == pytest.approx(float(found) / y.std(), rel=1e-9)
        assert found.detail.startswith("a: outcomes") and "above" in found.detail

    def test_chances_are_calibrated_though_groups_differ(self):
        rng = np.random.default_rng(2)
        s = rng.integers(0, 2, 2000)
        f = np.clip(0.2 + 0.4 * rng.uniform(size=2000) + 0.2 * s, 0, 1)
        y = (rng.uniform(size=2000) < f).astype(int)
        found = metrics.calibration(f, s, y)
        # Chance is beyond all 199 shuffles in one sample of 200.
        assert found.p_value > 1 / 200 and found.interval[0] == 0.0
        off = metrics.calibration(f - 0.15 * s, s, y)
        assert off.detectable and off > 2 * off.expected

    def test_of_whole_weights(self):
        """Equal scores share a bin, so that repeated rows stay together."""
        rng = np.random.default_rng(3)
        f, s, w = rng.integers(0, 5, 300) / 4, rng.integers(0, 2, 300), rng.integers(1, 4, 300)
        y = (rng.uniform(size=300) < 0.3 + 0.2 * s).astype(int)
        rows = np.repeat(np.arange(300), w)
        weighted = metrics.calibration(f, s, y, sample_weight=w, **FEW)
        assert weighted == pytest.approx(float(metrics.calibration(f[rows], s[rows], y[rows], **FEW)), rel=1e-9)

    def test_classes_have_no_single_outcome(self):
        rng = np.random.default_rng(4)
        f, s = rng.normal(size=90), rng.integers(0, 2, 90)
        with pytest.raises(ob.InvalidInputError, match="calibration is not defined"):
            metrics.calibration(f, s, np.arange(90) % 3)
        named = pd.Series(f, name="score_2")
        assert metrics.calibration(named, s, np.arange(90) % 3, **FEW) == pytest.approx(
            float(metrics.calibration(f, s, (np.arange(90) % 3 == 2).astype(int), **FEW)), rel=1e-12
        )


class TestScoreDistance:
    @pytest.mark.parametrize("seed", SEEDS)
    @pytest.mark.parametrize("weighted", [False, True])
    def test_wasserstein(self, seed, weighted):
        scores, groups, _, w = sample(seed)
        w = w if weighted else np.ones(120)

        def distance(a, b):
            a, b = groups == a, groups == b
            return scipy.stats.wasserstein_distance(scores[a], scores[b], w[a], w[b])

        found = metrics.score_distance(scores, groups, sample_weight=w, **FEW)
        assert found == pytest.approx(max(distance(a, b) for a, b in pairs(groups)), rel=1e-10)
        unit = np.sqrt(np.average((scores - np.average(scores, weights=w)) ** 2, weights=w))
        standard = metrics.score_distance(scores, groups, standardize=True, sample_weight=w, **FEW)
        assert standard == pytest.approx(float(found) / unit, rel=1e-10)
        for name in ("expected", "critical"):
            assert getattr(found, name) == pytest.approx(getattr(standard, name) * unit, rel=1e-10)
        assert found.interval == pytest.approx([end * unit for end in standard.interval], rel=1e-10)
        assert found.p_value == standard.p_value

    @pytest.mark.parametrize("seed", SEEDS)
    def test_kolmogorov_smirnov(self, seed):
        scores, groups, _, w = sample(seed)
        distance = max(
            scipy.stats.ks_2samp(scores[groups == a], scores[groups == b]).statistic for a, b in pairs(groups)
        )
        assert kolmogorov(scores, groups, **FEW) == pytest.approx(distance, rel=1e-10)
        below = [
            np.array([w[(groups == g) & (scores <= at)].sum() / w[groups == g].sum() for at in np.unique(scores)])
            for g in np.unique(groups)
        ]
        distance = max(np.abs(a - b).max() for a, b in itertools.combinations(below, 2))
        assert kolmogorov(scores, groups, sample_weight=w, **FEW) == pytest.approx(distance, rel=1e-10)

    def test_many_values_are_exact_too(self):
        """Levels come from a grid of the scores' quantiles; the value does not, and they agree."""
        rng = np.random.default_rng(1)
        scores, groups = rng.normal(size=6000), rng.integers(0, 2, 6000)
        scores += 0.05 * groups
        a, b = scores[groups == 0], scores[groups == 1]
        found = metrics.score_distance(scores, groups)
        assert found == pytest.approx(scipy.stats.wasserstein_distance(a, b), rel=1e-10)
        assert kolmogorov(scores, groups, **FEW) == pytest.approx(scipy.stats.ks_2samp(a, b).statistic, rel=1e-10)
        shuffled = []
        for _ in range(199):
            order = rng.permutation(groups)
            shuffled.append(scipy.stats.wasserstein_distance(scores[order == 0], scores[order == 1]))
        error = np.std(shuffled) / np.sqrt(199)
        assert found.expected == pytest.approx(np.mean(shuffled), abs=6 * error)

    def test_the_level_of_a_distance_of_zero_is_in_units_of_the_score(self):
        scores, groups = np.tile([0.0, 10.0], 40), np.repeat(["a", "b"], 40)
        found = metrics.score_distance(scores, groups)
        standard = metrics.score_distance(scores, groups, standardize=True)
        assert found == standard == 0.0
        assert found.expected == pytest.approx(5.0 * standard.expected)


class TestHsic:
    """Explicit matrices: centred, without diagonals for the unbiased form."""

    @staticmethod
    def biased(K, L):
        H = np.eye(len(K)) - 1 / len(K)
        return np.trace(K @ H @ L @ H) / len(K) ** 2

    @staticmethod
    def unbiased(K, L):
        n = len(K)
        K, L = K - np.diag(np.diag(K)), L - np.diag(np.diag(L))
        sums = K.sum() * L.sum() / ((n - 1) * (n - 2)) - 2 * K.sum(0) @ L.sum(0) / (n - 2)
        return (np.trace(K @ L) + sums) / (n * (n - 3))

    @staticmethod
    def delta(values):
        return (np.asarray(values)[:, None] == np.asarray(values)).astype(float)

    @classmethod
    def gaussian(cls, values):
        X = np.asarray(values, dtype=float).reshape(len(values), -1)
        return cls.kernel((X - X.mean(0)) / X.std(0))

    @staticmethod
    def kernel(X):
        """γ is one over the median of squared distances that are not 0, among 512 rows at even steps of their order."""
        order = np.lexsort(X.T[::-1])
        chosen = X[order[((np.arange(512) + 0.5) * len(X) / 512).astype(int)]]

        some = pdist(chosen, "sqeuclidean")
        some = np.sort(some[some > 0])
        return np.exp(-cdist(X, X, "sqeuclidean") / some[len(some) // 2])

    def check(self, K, L, data, sensitive, rel=1e-8, **options):
        def found(estimator, normalize):
            return metrics.hsic(data, sensitive, estimator=estimator, normalize=normalize, **options, **FEW)

        value = self.biased(K, L)
        assert found("biased", False) == pytest.approx(value, rel=rel)
        own = np.sqrt(self.biased(K, K) * self.biased(L, L))
        assert found("biased", True) == pytest.approx(value / own, rel=rel)
        value = self.unbiased(K, L)
        assert found("unbiased", False) == pytest.approx(value, rel=rel, abs=1e-12)
        own = np.sqrt(self.unbiased(K, K) * self.unbiased(L, L))
        assert found("unbiased", True) == pytest.approx(value / own, rel=rel, abs=1e-10)
        assert found("biased", True).further["exact"] == 1

    @pytest.mark.parametrize("seed", SEEDS)
    def test_of_categories(self, seed):
        scores, groups, other, _ = sample(seed)
        labels = np.where(scores < -0.5, "low", np.where(scores > 0.5, "high", "mid"))
        self.check(self.delta(labels), self.delta(groups), labels, groups)
        both = pd.DataFrame({"group": groups, "other": other})
        self.check(self.delta(labels), self.delta(groups) * self.delta(other), labels, both)

    @pytest.mark.parametrize("rows", [40, 300, 700])
    def test_of_numbers(self, rows):
        scores, groups, _, _ = sample(1, rows)
        s = np.random.default_rng(2).normal(size=rows) + scores**2
        self.check(self.gaussian(scores), self.gaussian(s), scores, s, categorical_sensitive=[])
        self.check(self.gaussian(scores), self.delta(groups), scores, groups)

    def test_of_several_columns(self):
        rng = np.random.default_rng(3)
        X, s, group = rng.normal(size=(200, 3)), rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
        X[:, 0] += s[:, 1] * group
        sensitive = pd.DataFrame({"one": s[:, 0], "two": s[:, 1], "group": group})
        self.check(self.gaussian(X), self.gaussian(s) * self.delta(group), X, sensitive)

    def test_categories_of_a_table_are_coordinates(self):
        """Of total variance 1 for each column, beside standardised numbers."""
        rng = np.random.default_rng(4)
        numbers, group = rng.normal(size=200), rng.integers(0, 2, 200)
        town = rng.choice(["north", "south", "west"], 200, p=[0.6, 0.3, 0.1])
        numbers += group
        indicators = self.delta(np.r_[town, ["north", "south", "west"]])[:200, 200:]
        X = np.c_[(numbers - numbers.mean()) / numbers.std(), indicators / np.sqrt(1 - (indicators.mean(0) ** 2).sum())]
        table = pd.DataFrame({"number": numbers, "town": town})
        self.check(self.kernel(X), self.delta(group), table, group)

    @pytest.mark.parametrize("of", ["numbers", "categories"])
    def test_weights_are_repetitions(self, of):
        scores, groups, other, _ = sample(4)
        w = np.random.default_rng(4).integers(0, 4, 120)
        data = scores if of == "numbers" else np.round(scores).astype(str)
        sensitive = pd.DataFrame({"group": groups, "other": other})
        many, crossed = repeated(w, data, sensitive.to_numpy().astype(str))
        weighted = metrics.hsic(data, sensitive, sample_weight=w, **FEW)
        plain = metrics.hsic(many, crossed, **FEW)
        assert weighted == pytest.approx(float(plain), rel=1e-8)
        for name in ("biased", "unbiased", "normalized_unbiased"):
            assert weighted.further[name] == pytest.approx(plain.further[name], rel=1e-8)

    def test_with_itself_it_is_one(self):
        scores, groups, _, _ = sample(5)
        assert metrics.hsic(scores, scores, categorical_sensitive=[], **FEW) == pytest.approx(1.0)
        assert metrics.hsic(groups, groups, **FEW) == pytest.approx(1.0)
        both = metrics.hsic(groups, groups, estimator="unbiased", **FEW)
        assert both == pytest.approx(1.0)

    @pytest.mark.parametrize("slope", [0.0, 0.1, 0.15])
    @pytest.mark.parametrize("kind", ["numbers", "categories"])
    def test_the_gamma_tail_is_about_that_of_permutations(self, slope, kind):
        rng = np.random.default_rng(6)
        s = rng.normal(size=150) if kind == "numbers" else rng.integers(0, 3, 150)
        found = metrics.hsic(rng.normal(size=150) + slope * s, s, n_permutations=1999, n_resamples=19)
        assert found.p_value == found.further["permutation_p_value"]
        assert found.further["gamma_p_value"] == pytest.approx(found.p_value, abs=0.04)

    def test_low_rank_beyond_5000_rows_is_close_to_the_matrices(self):
        rng = np.random.default_rng(7)
        s, group = rng.normal(size=5001), rng.integers(0, 3, 5001)
        scores = rng.normal(size=5001) + 0.5 * s + 0.3 * group

        def centred(K):
            means = K.mean(0)
            K -= means
            K -= means[:, None] - means.mean()
            return K.ravel()

        K, numbers, categories = self.gaussian(scores), self.gaussian(s), self.delta(group)
        K, both = centred(K), centred(numbers * categories)
        sensitive = pd.DataFrame({"s": s, "group": group})
        for L, S in [(centred(numbers), s), (centred(categories), group), (both, sensitive)]:
            found = metrics.hsic(scores, S, **FEW)
            assert found.further["exact"] == 0
            assert found == pytest.approx(K @ L / np.sqrt((K @ K) * (L @ L)), rel=0.01)

    def test_twenty_thousand_rows(self):
        rng = np.random.default_rng(8)
        s = rng.normal(size=20_000)
        scores = rng.normal(size=20_000) + 0.5 * s
        found, some = (metrics.hsic(scores[:n], s[:n], **FEW) for n in (20_000, 5000))
        assert (found.further["exact"], some.further["exact"]) == (0, 1)
        assert found == pytest.approx(some, abs=0.015)
        assert found.rows == 20_000 and found.detectable

    def test_formulas_beyond_twenty_thousand_rows(self):
        rng = np.random.default_rng(8)
        s = rng.normal(size=20_001)
        scores = rng.normal(size=20_001) + 0.5 * s
        drawn = metrics.hsic(scores[1:], s[1:], n_permutations=99, n_resamples=99)
        found = metrics.hsic(scores, s)
        assert "permutation_p_value" in drawn.further and "permutation_p_value" not in found.further
        assert found == pytest.approx(drawn, rel=0.02)
        assert found.interval == pytest.approx(drawn.interval, abs=0.003)
        assert (found.expected, found.critical) == pytest.approx((drawn.expected, drawn.critical), rel=0.3)
        assert found.p_value == found.further["gamma_p_value"] < 1e-10
        independent = metrics.hsic(rng.permutation(scores), s)
        assert independent.p_value > 0.01 and not independent.large


class TestAdversary:
    @pytest.mark.parametrize("shift", [0.0, 0.5, 1.5])
    def test_linear_and_categorical(self, shift):
        rng = np.random.default_rng(1)
        s = rng.integers(0, 2, 1200)
        X = rng.normal(size=(1200, 3)) + shift * s[:, None] * [1.0, 0.0, -0.5]
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        theirs = cross_val_predict(LogisticRegression(), X, s, cv=folds, method="decision_function")
        found = linear(X, s, **FEW)
        assert found == pytest.approx(roc_auc_score(s, theirs), abs=0.03)
        assert found.detail == "AUC (0.5 is chance)"
        assert metrics.adversary(X, s, **FEW) == pytest.approx(float(found), abs=0.04)

    @pytest.mark.parametrize("slope", [0.0, 0.5, 2.0])
    def test_linear_and_continuous(self, slope):
        rng = np.random.default_rng(2)
        X = rng.normal(size=(1200, 3))
        s = slope * (X[:, 0] - X[:, 1]) + rng.normal(size=1200)
        folds = KFold(5, shuffle=True, random_state=0)
        theirs = cross_val_predict(RidgeCV(np.logspace(-3, 3, 13)), StandardScaler().fit_transform(X), s, cv=folds)
        found = linear(X, s, **FEW)
        assert found == pytest.approx(r2_score(s, theirs), abs=0.03)
        assert found.detail == "R² (0 is chance)"

    def test_the_mean_over_three_categories_by_their_shares(self):
        rng = np.random.default_rng(3)
        s = rng.choice(["a", "b", "c"], 1500, p=[0.6, 0.3, 0.1])
        X = rng.normal(size=(1500, 2)) + np.stack([s == "b", s == "c"], 1) * [1.0, 2.0]
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        areas = {}
        for level in "abc":
            scores = cross_val_predict(LogisticRegression(), X, s == level, cv=folds, method="decision_function")
            areas[level] = roc_auc_score(s == level, scores)
        mean = sum(areas[level] * (s == level).mean() for level in "abc")
        found = linear(X, s, **FEW)
        assert found == pytest.approx(mean, abs=0.03)
        assert found.detail.startswith(f"AUC (0.5 is chance); {max(areas, key=areas.get)} is found most easily")

    def test_a_spread_is_seen_by_kernels_only(self):
        rng = np.random.default_rng(4)
        s = rng.integers(0, 2, 1000)
        scores = rng.normal(size=1000) * (1 + 2 * s)
        assert metrics.adversary(scores, s).large
        assert metrics.adversary(scores, s, **FEW) > 0.6
        assert linear(scores, s, **FEW) < 0.56
        assert not metrics.correlation_ratio(scores, s).large

    def test_what_is_far_from_the_mean(self):
        """The sign of S is not known, how far it is from its mean is."""
        rng = np.random.default_rng(5)
        s = rng.normal(size=1000)
        found = metrics.adversary(s**2 + 0.1 * rng.normal(size=1000), s, **FEW)
        assert found < 0.1
        assert found.further["of_the_squared_deviation"] > 0.8

    @pytest.mark.parametrize("kind", ["kernel", "linear"])
    def test_independent_data(self, kind):
        rng = np.random.default_rng(6)
        X, s, c = rng.normal(size=(1500, 2)), rng.integers(0, 2, 1500), rng.normal(size=1500)
        found = metrics.adversary(X, s, kind=kind)
        assert abs(found - 0.5) < 0.05 and abs(found.expected - 0.5) < 0.02 and not found.large
        found = metrics.adversary(X, c, kind=kind)
        assert abs(found) < 0.05 and not found.large

    def test_several_sensitive_columns_are_predicted_as_their_cell(self):
        rng = np.random.default_rng(7)
        sensitive = pd.DataFrame({"a": rng.choice(["x", "y"], 600), "b": rng.choice(["u", "v"], 600)})
        cell = sensitive["a"] + sensitive["b"]
        scores = rng.normal(size=600) + (cell == "xu")
        both, one = linear(scores, sensitive, **FEW), linear(scores, cell, **FEW)
        assert both == pytest.approx(float(one), abs=0.02)
        assert "x, u is found most easily" in both.detail

    def test_the_unit_of_weights_is_of_no_matter(self):
        scores, groups, _, w = sample(6, 300)
        for data in (scores, np.c_[scores, w]):
            one, three = (metrics.adversary(data, groups, sample_weight=k * w, **FEW) for k in (1.0, 4.0))
            assert one == pytest.approx(float(three), abs=1e-9)


class TestDistanceCorrelation:
    @pytest.mark.parametrize("seed", SEEDS)
    @pytest.mark.parametrize("digits", [0, 1, 12], ids="rounded to {}".format)
    def test_against_dcor(self, seed, digits):
        rng = np.random.default_rng(seed)
        s = rng.normal(size=150)
        x, s = np.round(s**2 + rng.normal(size=150), digits), np.round(s, digits)
        found = metrics.distance_correlation(x, s, **FEW)
        assert found == pytest.approx(dcor.distance_correlation(x, s, method="naive"), abs=1e-10)
        squared = metrics.distance_correlation(x, s, estimator="unbiased", **FEW)
        assert squared == pytest.approx(dcor.u_distance_correlation_sqr(x, s, method="naive"), abs=1e-10)
        assert found.further["unbiased_squared"] == squared

    @pytest.mark.parametrize("seed", SEEDS)
    def test_weights_are_repetitions(self, seed):
        rng = np.random.default_rng(seed)
        x, s = np.round(rng.normal(size=(2, 80)), 1)
        w = rng.integers(0, 4, 80)
        many_x, many_s = repeated(w, x, s)
        found = metrics.distance_correlation(x, s, sample_weight=w, **FEW)
        assert found == pytest.approx(dcor.distance_correlation(many_x, many_s, method="naive"), abs=1e-10)
        squared = dcor.u_distance_correlation_sqr(many_x, many_s, method="naive")
        assert found.further["unbiased_squared"] == pytest.approx(squared, abs=1e-10)

    @given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=6, max_size=30))
    def test_of_anything(self, rows):
        x, s = np.array(rows, dtype=float).T
        found = metrics.distance_correlation(x, s, **FEW)
        # The square is compared, a ratio of sums over the pairs of 30 rows: a root of rounding is no small number.
        expected = dcor.distance_correlation_sqr(x, s, method="naive")
        assert found**2 == pytest.approx(expected, abs=rounding(30**2))

    def test_of_many_normal_rows_is_that_of_the_formula(self):
        """Theorem 7 of Székely, Rizzo and Bakirov (2007), and formulas for the level beyond 50 000 rows."""
        rng = np.random.default_rng(10)
        r, s = 0.5, rng.normal(size=60_000)
        noise = rng.normal(size=60_000)
        above = r * np.arcsin(r) + np.sqrt(1 - r**2) - r * np.arcsin(r / 2) - np.sqrt(4 - r**2) + 1
        truth = np.sqrt(above / (1 + np.pi / 3 - np.sqrt(3)))
        found = metrics.distance_correlation(r * s + np.sqrt(1 - r**2) * noise, s)
        assert found == pytest.approx(truth, abs=0.01)
        assert found.interval[0] < truth < found.interval[1]
        assert found.rows == 60_000 and found.p_value < 1e-10 and found.large
        independent = metrics.distance_correlation(noise, s)
        assert independent.p_value > 0.01 and not independent.large

    def test_units_are_of_no_matter(self):
        rng = np.random.default_rng(9)
        s = rng.normal(size=100)
        x = s + rng.normal(size=100)
        found = metrics.distance_correlation(x, s, **FEW)
        for scale, shift in [(1e-6, 0.0), (1e6, 3.0), (-1.0, 1e4)]:
            assert metrics.distance_correlation(scale * x + shift, s, **FEW) == pytest.approx(float(found), abs=1e-8)


@pytest.mark.parametrize(
    "measure",
    [
        metrics.correlation_ratio,
        metrics.beta_dependence,
        metrics.demographic_parity,
        metrics.score_distance,
        kolmogorov,
    ],
)
def test_whole_weights_are_repetitions(measure):
    scores, groups, other, _ = sample(7)
    w = np.random.default_rng(7).integers(1, 4, 120)
    sensitive = np.c_[groups, other.astype(str)]
    many, crossed = repeated(w, scores, sensitive)
    weighted, plain = measure(scores, sensitive, sample_weight=w, **FEW), measure(many, crossed, **FEW)
    assert weighted == pytest.approx(float(plain), rel=1e-10)


@pytest.mark.parametrize("measure", ALL)
class TestEveryMeasure:
    def test_rows_without_weight_do_not_change_the_value(self, measure):
        scores, _, _, w = sample(8)
        s = np.random.default_rng(8).normal(size=120) + scores
        keep = np.arange(120) % 3 > 0
        if measure in (metrics.adversary, linear):
            pytest.skip("the folds are drawn from all rows")
        found = measure(scores, s, sample_weight=np.where(keep, w, 0.0), **FEW)
        assert found == pytest.approx(float(measure(scores[keep], s[keep], sample_weight=w[keep], **FEW)), rel=1e-9)

    def test_strong_dependence_is_detectable_and_large(self, measure):
        rng = np.random.default_rng(1)
        s = rng.integers(0, 2, 300)
        found = measure(rng.normal(size=300) + 3 * s, s)
        assert found.p_value == 1 / 200
        assert found.detectable is True and found.large is True
        assert found > found.critical > found.expected
        low, high = found.interval
        assert low <= high and low > found.critical

    def test_the_size_of_the_test_under_independence(self, measure):
        """Of independent samples at most one in twenty is detectable, but for the chance of this seed (1 in 10 000)."""
        rng = np.random.default_rng(2)
        tests, detected = 100, 0
        for seed in range(tests):
            scores, s = rng.normal(size=50), rng.integers(0, 2, 50)
            found = measure(scores, s, n_permutations=39, n_resamples=19, random_state=seed)
            detected += found.detectable
        assert detected <= scipy.stats.binom.ppf(0.9999, tests, 0.05)

    @pytest.mark.parametrize("unit", [1e-100, 1e-9, 1e9, 1e100])
    def test_the_unit_of_scores_is_of_no_matter(self, measure, unit):
        self.check_unit(measure, unit)

    def test_squares_that_overflow(self, measure):
        scores, _, other, _ = sample(16)
        with pytest.raises(ob.InvalidInputError, match="overflows"):
            measure(1e160 * scores, other, **FEW)

    @staticmethod
    def check_unit(measure, unit):
        scores, _, other, _ = sample(16)
        options = FEW | ({"standardize": True} if measure is metrics.score_distance else {})
        one, found = (measure(k * scores, other, **options) for k in (1.0, unit))
        assert found == pytest.approx(float(one), rel=1e-6)
        assert found.p_value == one.p_value

    def test_seeds(self, measure):
        scores, _, _, _ = sample(9)
        s = np.random.default_rng(9).integers(0, 2, 120)
        first = measure(scores, s, random_state=3)
        for seed in (3, np.int64(3)):
            again = measure(scores, s, random_state=seed)
            assert float(again) == float(first) and vars(again) == vars(first)
        other = measure(scores, s, random_state=4)
        assert other.expected != first.expected
        assert vars(measure(scores, s)) == vars(measure(scores, s, random_state=0))
        drawn = [measure(scores, s, random_state=np.random.RandomState(5)) for _ in range(2)]
        assert vars(drawn[0]) == vars(drawn[1])
        generator = np.random.RandomState(5)
        assert measure(scores, s, random_state=generator).expected == drawn[0].expected
        assert measure(scores, s, random_state=generator).expected != drawn[0].expected

    def test_the_order_of_rows_is_of_no_matter_to_the_value(self, measure):
        scores, _, _, w = sample(10)
        s = np.random.default_rng(10).integers(0, 2, 120)
        if measure in (metrics.adversary, linear):
            pytest.skip("the folds follow the order of the rows")
        order = np.random.default_rng(11).permutation(120)
        found = measure(scores, s, sample_weight=w, **FEW)
        assert measure(scores[order], s[order], sample_weight=w[order], **FEW) == pytest.approx(float(found), rel=1e-9)

    @pytest.mark.parametrize(
        ("scores", "s"),
        [(np.full(40, 0.1), np.arange(40) % 2), (np.arange(40.0), np.ones(40)), (np.zeros(40), np.zeros(40))],
        ids=["scores", "S", "both"],
    )
    def test_constants(self, measure, scores, s):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = measure(scores, s)
        assert found == (0.5 if found.name.startswith("adversary") and "AUC" in found.detail else 0.0)
        assert (found.p_value, found.detectable, found.large) == (1.0, False, False)
        numbers = [found, found.expected, found.critical, *found.interval, *found.further.values()]
        assert np.isfinite(numbers).all()

    @pytest.mark.parametrize(
        "make", [list, tuple, pd.Series, pl.Series, lambda v: pd.Series(v, dtype=object)], ids=range(5)
    )
    def test_kinds_of_input(self, measure, make):
        scores, _, _, w = sample(11)
        s = np.random.default_rng(11).integers(0, 2, 120)
        found = measure(make(scores), make(s), sample_weight=make(w) if make is not pl.Series else w, **FEW)
        expected = measure(scores, s, sample_weight=w, **FEW)
        assert float(found) == float(expected) and found.interval == expected.interval

    def test_bad_input(self, measure):
        scores, _, other, w = sample(12)

        def refused(sentence, scores=scores, s=other, kind=ob.InvalidInputError, **options):
            with pytest.raises(kind, match=sentence):
                measure(scores, s, **options)

        refused("'score' has 119 rows and the sensitive features have 120", scores[1:])
        refused("sample_weight", kind=ValueError, sample_weight=w[1:])
        refused("[Nn]egative", kind=ValueError, sample_weight=-w)
        refused("NaN", kind=ValueError, sample_weight=np.full(120, np.nan))
        refused("zero", kind=ValueError, sample_weight=np.zeros(120))
        refused("'seed' is no option of this measure; options: sample_weight, cells", kind=TypeError, seed=1)
        refused("n_permutations must be a positive whole number, got 2.5", n_permutations=2.5)
        refused("permutations must be at least 19, got 18", n_permutations=18)
        refused("resamples must be at least 19, got 1", n_resamples=1)
        refused("confidence must be between 0 and 1, got 1", confidence=1)
        refused("confidence must be a number, got 'high'", confidence="high")
        refused("cells must be a positive whole number, `auto`, `loo` or `paper`, got 0", cells=0)
        refused("binning `even` is not known; choose one of: quantile, uniform, dyadic", binning="even")
        refused("random_state must be between", random_state=-1)
        refused("categorical_sensitive names 'x', which is not a sensitive feature", categorical_sensitive=["x"])
        refused("sensitive_bounds must be a pair", sensitive_bounds=3)
        refused("rows; at least 2 are needed", scores[:1], other[:1])
        refused("must be an array, a list, a Series or a frame, got int", 3)
        for value, sentence in [(np.nan, "has 1 missing values, the first in row 4"), (np.inf, "is inf in row 4")]:
            wrong = scores.copy()
            wrong[4] = value
            refused(f"`score` {sentence}", wrong)
            refused(f"`income` {sentence}", pd.Series(wrong, name="income"))
            refused(f"sensitive column `age` {sentence}", scores, pd.Series(wrong, name="age"))


@pytest.mark.parametrize(
    "measure", [metrics.correlation_ratio, metrics.score_distance, kolmogorov, metrics.distance_correlation]
)
def test_text_has_no_distances(measure):
    with pytest.raises(ob.InvalidInputError, match="is not defined for this input"):
        measure(["low", "high"] * 20, [0, 1] * 20)


@pytest.mark.parametrize("measure", ALL[:5])
def test_several_columns_are_no_score(measure):
    with pytest.raises(ob.InvalidInputError, match="is not defined for this input"):
        measure(np.eye(20), [0, 1] * 10)


def test_distance_correlation_is_of_one_column_of_numbers():
    x = np.arange(20.0)
    with pytest.raises(ob.InvalidInputError, match="is text, so it cannot be continuous"):
        metrics.distance_correlation(x, ["a", "b"] * 10)
    with pytest.raises(ob.InvalidInputError, match="distance-correlation is not defined"):
        metrics.distance_correlation(x, np.c_[x, x])
    with pytest.raises(ob.InvalidInputError, match="at least 4 are needed"):
        metrics.distance_correlation(x[:3], x[:3])


@pytest.mark.parametrize(
    ("measure", "parameter", "choices"),
    [
        (metrics.demographic_parity, "kind", "difference, ratio, equalized-odds, true-positive, false-positive"),
        (metrics.score_distance, "kind", "wasserstein, kolmogorov-smirnov"),
        (metrics.hsic, "estimator", "biased, unbiased"),
        (metrics.adversary, "kind", "kernel, linear"),
        (metrics.distance_correlation, "estimator", "biased, unbiased"),
    ],
)
@pytest.mark.parametrize(
    "value",
    [
        "other",
        None,
        1,
        ["a"],
    ],
    ids=repr,
)
def test_choices_are_listed(measure, parameter, choices, value):
    with pytest.raises(ob.InvalidInputError, match=f"{parameter} must be one of {choices}, got"):
        measure(np.arange(20.0), np.arange(20) % 2, **{parameter: value})


class TestInterval:
    """Ninety-five of a hundred hold the truth; the bootstrap on 400 rows may fall a little short of that."""

    @staticmethod
    def covered(measure, draw, truth, tests=100):
        rng = np.random.default_rng(1)
        hits = 0
        for seed in range(tests):
            low, high = measure(*draw(rng), n_permutations=19, random_state=seed).interval
            hits += low <= truth <= high
        return hits

    def test_parity(self):
        def draw(rng):
            s = np.arange(400) % 2
            return (rng.uniform(size=400) < np.where(s, 0.6, 0.3)).astype(int), s

        assert 86 <= self.covered(metrics.demographic_parity, draw, 0.3) <= 100

    def test_correlation_ratio(self):
        def draw(rng):
            s = np.arange(400) % 2
            return rng.normal(size=400) + 2 * s, s

        assert 86 <= self.covered(metrics.correlation_ratio, draw, 0.5) <= 100

    def test_wider_with_confidence(self):
        scores, groups, _, _ = sample(13)
        widths = []
        for confidence in (0.5, 0.9, 0.99):
            low, high = metrics.correlation_ratio(scores, groups, confidence=confidence).interval
            widths.append(high - low)
        assert widths == sorted(widths) and widths[0] < widths[2]

    def test_the_level_under_independence(self):
        """(k − 1)/(n − 1), exactly, for the correlation ratio."""
        scores, groups, _, _ = sample(14)
        found = metrics.correlation_ratio(scores, groups, n_permutations=4999, n_resamples=19)
        assert found.expected == pytest.approx(2 / 119, rel=0.05)
        assert found.p_value == pytest.approx(
            scipy.stats.f_oneway(*(scores[groups == g] for g in "abc")).pvalue, abs=0.02
        )


class TestMeasure:
    @pytest.fixture
    def measure(self):
        scores, groups, _, _ = sample(15)
        return metrics.demographic_parity(scores, pd.Series(groups, name="group"))

    def test_it_is_a_float(self, measure):
        value = float(measure)
        assert isinstance(measure, float) and type(value) is float
        assert measure == value and hash(measure) == hash(value)
        assert measure + 1 == value + 1 and type(measure * 2) is float
        assert round(measure, 3) == round(value, 3) and f"{measure:.3f}" == f"{value:.3f}"
        assert repr(measure) == repr(value) and str(measure) == str(value)
        assert json.loads(json.dumps({"parity": measure})) == {"parity": value}
        assert np.asarray([measure, measure]).dtype == np.float64 and np.float64(measure) == value
        assert np.mean([measure, 0.0]) == value / 2
        assert max(measure, -1.0) is measure
        assert pd.Series([measure]).dtype == np.float64

    def test_attributes(self, measure):
        assert measure.name == "parity-difference"
        assert re.fullmatch("between [abc] and [abc]", measure.detail)
        assert measure.rows == 120 and isinstance(measure.rows, int)
        assert isinstance(measure.interval, tuple) and len(measure.interval) == 2
        assert all(type(getattr(measure, name)) is float for name in ("expected", "critical", "p_value"))
        assert type(measure.detectable) is bool and type(measure.large) is bool
        assert measure.further == {}
        assert set(vars(measure)) == set(metrics.Measure.__annotations__)

    def test_names_of_other_forms_are_identifiers(self):
        rng = np.random.default_rng(1)
        scores, s = rng.normal(size=(2, 60))
        for measure in ALL:
            further = measure(scores, s, **FEW).further
            assert all(name.isidentifier() for name in further)
            assert all(type(value) is float for value in further.values())

    @pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
    def test_pickle(self, measure, protocol):
        self.same(pickle.loads(pickle.dumps(measure, protocol)), measure)

    @pytest.mark.parametrize("again", [copy.copy, copy.deepcopy])
    def test_copies(self, measure, again):
        self.same(again(measure), measure)
        scores, groups, _, _ = sample(15)
        other = metrics.hsic(scores, groups, estimator="unbiased")
        self.same(again(other), other)

    @staticmethod
    def same(made, measure):
        assert type(made) is metrics.Measure
        assert float(made) == float(measure) and vars(made) == vars(measure)
        assert made.describe() == measure.describe()

    def test_describe(self, measure):
        low, high = measure.interval
        assert measure.describe() == (
            f"parity-difference {float(measure):.4g} (expected if independent {measure.expected:.4g}, "
            f"interval {low:.4g} to {high:.4g}, p = {measure.p_value:.3g}, 120 rows)"
        )

    def test_all_is_exported(self):
        assert ob.metrics is metrics
        assert sorted(metrics.__all__) == metrics.__all__
        assert all(hasattr(metrics, name) for name in metrics.__all__)
