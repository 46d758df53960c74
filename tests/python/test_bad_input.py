"""What bad input gets: the class of the exception and the sentence, or the warning."""

import contextlib
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge

import oblivio as ob

ALL = [
    lambda **k: ob.ObliviousRidge(**({"standardize": False} | k)),
    lambda **k: ob.ObliviousTransformer(n_components=5, **({"standardize": False} | k)),
    lambda **k: ob.ObliviousKernel(**({"standardize": False} | k)),
    lambda **k: ob.Offset(Ridge(), **k),
    lambda **k: ob.ObliviousRidge(n_components=5, **({"standardize": False} | k)),
]


def refused(match, make, X, y, kind=ob.InvalidInputError, **keywords):
    """Fitting raises, and leaves nothing behind that looks fitted."""
    model = make() if callable(make) else make
    with pytest.raises(kind, match=match):
        model.fit(X, y, **keywords)
    assert not hasattr(model, "model_")


def strict(make, **keywords):
    """An estimator that refuses missing values; a wrapper leaves them to its own."""
    model = make(**keywords)
    return model if isinstance(model, ob.Offset) else model.set_params(missing_features="error")


def changed(frame, row, column, value):
    frame = frame.copy()
    frame.loc[row, column] = value
    return frame


def test_classes():
    assert issubclass(ob.InvalidInputError, ValueError)
    assert issubclass(ob.UnknownCategoryError, ob.InvalidInputError)
    assert issubclass(ob.EmptyCellError, ob.InvalidInputError)
    assert issubclass(ob.NumericalError, ArithmeticError) and not issubclass(ob.NumericalError, ValueError)
    assert issubclass(ob.OblivioWarning, UserWarning)
    for name in ("InvalidInputError", "UnknownCategoryError", "EmptyCellError", "NumericalError"):
        assert getattr(ob, name).__module__ == "oblivio"


@pytest.mark.parametrize("make", ALL)
class TestNotFinite:
    @pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
    @pytest.mark.parametrize("native", [lambda x: x, pl.from_pandas])
    def test_features_are_named(self, make, value, word, native, table):
        X, _, y = table
        sentence, kind = f"contains {word}: column 'b', row 4", ob.InvalidInputError
        if isinstance(make(), ob.Offset) and word == "NaN":
            sentence, kind = "contains NaN", ValueError
        refused(sentence, lambda: strict(make), native(changed(X, 4, "b", value)), y, kind=kind)

    def test_features_beside_text_are_named(self, make, table):
        X, _, y = table
        if isinstance(make(), ob.Offset):
            pytest.skip("takes numbers only")
        X = X.assign(t=["x", "y"] * 30)
        refused("column `b` is inf in row 4", make, changed(X, 4, "b", np.inf), y)
        for column in ("b", "t"):
            sentence = f"column `{column}` has 1 missing values, the first in row 4"
            refused(sentence, lambda: strict(make), changed(X, 4, column, None), y)

    def test_arrays(self, make, table):
        X, _, y = table
        refused("Input X contains NaN", lambda: strict(make), changed(X, 4, "b", np.nan).to_numpy(), y, kind=ValueError)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_sensitive(self, make, value, table):
        X, s, y = table
        s = s.astype(float)
        s[7] = value
        sentence = "1 missing values, the first in row 7" if np.isnan(value) else "is inf in row 7"
        refused(f"sensitive column `group`.*{sentence}", make, X, y, sensitive_features=s)
        refused("'group'.*row 7", lambda: make(sensitive_feature_ids="group"), X.assign(group=s), y)
        refused("`group` has 1 missing", make, X, y, sensitive_features=s.map({0: "a", 1: "b", 2: "c"}))

    def test_at_prediction(self, make, table):
        X, s, y = table
        model = strict(make).fit(X, y, sensitive_features=s)
        use = model.matrix if hasattr(model, "matrix") else None
        use = use or (lambda x, s: (getattr(model, "predict", None) or model.transform)(x, sensitive_features=s))
        with pytest.raises(ValueError, match="NaN"):
            use(changed(X, 0, "c", np.nan), s)
        with pytest.raises(ob.InvalidInputError, match="infinity: column 'c', row 0"):
            use(changed(X, 0, "c", np.inf), s)
        with pytest.raises(ob.InvalidInputError, match="`group` has 60 missing values"):
            use(X, np.full(60, np.nan))


@pytest.mark.parametrize("make", [ALL[0], ALL[3], ALL[4]])
def test_targets(make, table):
    X, _, y = table
    refused("(?i)y.*contains NaN", make, X, changed(y.to_frame(), 3, "y", np.nan)["y"], kind=ValueError)
    refused("inconsistent numbers of samples", make, X, y[:10], kind=ValueError)
    refused("requires y to be passed", make, X, None)
    refused("1d array", make, X, np.zeros((60, 2)), kind=ValueError)


def test_text_targets(table):
    X, _, _ = table
    refused(
        "the target must be numbers, got values such as 'yes'",
        ob.ObliviousRidge(standardize=False),
        X,
        ["yes", "no"] * 30,
    )


@pytest.mark.parametrize("make", ALL)
class TestShapes:
    def test_lengths(self, make, table):
        X, s, y = table
        refused("same number of rows: X has 60, 'group' has 10", make, X, y, sensitive_features=s[:10])
        refused(r"sample_weight.shape == \(2,\), expected \(60,\)", make, X, y, ValueError, sample_weight=[1, 2])

    def test_weights(self, make, table):
        X, s, y = table
        for weights, sentence in ((-1, "Negative"), (np.nan, "NaN"), (0, "(?i)zero")):
            refused(sentence, make, X, y, ValueError, sensitive_features=s, sample_weight=np.full(60, weights))

    def test_too_few_rows(self, make, table):
        X, _, y = table
        refused("n_samples=1: at least 2 rows are needed", make, X[:1], y[:1])
        refused("0 sample", make, X[:0], y[:0], kind=ValueError)

    def test_sparse(self, make, table):
        X, _, y = table
        dense = make().fit(X.to_numpy(), y)
        for matrix in (scipy.sparse.csr_matrix(X), scipy.sparse.csc_array(X)):
            model = make().fit(matrix, y)
            read = getattr(model, "predict", None) or getattr(model, "transform", None) or model.matrix
            known = getattr(dense, "predict", None) or getattr(dense, "transform", None) or dense.matrix
            np.testing.assert_array_equal(read(matrix), known(X.to_numpy()))

    def test_sparse_too_large(self, make, table):
        _, _, y = table
        wide = scipy.sparse.csr_matrix((60, 2**31 - 1))
        refused("X is sparse and needs 1030.8 GB as a dense array.*partial_fit with n_components", make, wide, y)

    def test_no_features_left(self, make, table):
        X, _, y = table
        refused(
            r"X has 3 feature\(s\) and all of them are sensitive; at least one other",
            lambda: make(sensitive_feature_ids=["a", "b", "c"]),
            X,
            y,
        )

    def test_unknown_columns(self, make, table):
        X, _, y = table
        X = X.rename(columns={"c": "income"})
        for ids, sentence in (
            ("incme", "names 'incme', which is not a column of X .did you mean 'income'"),
            (["q"], "names 'q', which is not a column of X .columns: a, b, income"),
            ([3], r"names column 3, but X has 3 feature"),
            ([-4], r"names column -4, but X has 3 feature"),
            ([1.5], "must be names or positions of columns, got 1.5"),
            (1.5, "must be names or positions of columns, got 1.5"),
            ([None], "must be names or positions of columns, got None"),
            ([True, False, False], "must be names or positions of columns, got True"),
        ):
            refused(f"sensitive_feature_ids {sentence}", lambda ids=ids: make(sensitive_feature_ids=ids), X, y)

    def test_s_given_twice(self, make, table):
        X, s, y = table
        make = make(sensitive_feature_ids="a", categorical_sensitive=[])
        refused("given twice: as columns of X .sensitive_feature_ids. and apart", make, X, y, sensitive_features=s)

    def test_what_s_can_be(self, make, table):
        X, _, y = table
        for data, sentence in (
            (3, "must be an array, a list, a Series or a frame, got int"),
            ({"group": [1]}, "must be an array, a list, a Series or a frame, got dict"),
            (scipy.sparse.csr_matrix(X), "must be an array, a list, a Series or a frame, got csr_matrix"),
            (np.zeros((60, 1, 1)), "has 3 dimensions; one or two are needed"),
            (X[[]], "has no columns; leave it out if there are none"),
            (np.zeros((60, 0)), "has no columns"),
            ([{1}] * 60, "'sensitive_feature_0' holds objects that are neither all numbers nor all text, such as {1}"),
            (pd.concat([X["a"], X["a"]], axis=1), "names of columns must be unique"),
        ):
            refused(sentence, make, X, y, sensitive_features=data)


def test_s_given_twice_at_prediction(table):
    X, s, y = table
    model = ob.ObliviousRidge(standardize=False, sensitive_feature_ids="a").fit(X, y)
    with pytest.raises(ob.InvalidInputError, match="given twice"):
        model.predict(X, sensitive_features=s)


class TestColumns:
    def test_objects_are_named(self, table):
        X, _, y = table
        for values, example in (([[1]] * 60, r"\[1\]"), (["x", 1] * 30, "'x'"), ([{2}] * 60, r"\{2\}")):
            X["odd"] = pd.Series(values, dtype=object)
            sentence = f"column 'odd' holds objects that are neither all numbers nor all text, such as {example}"
            refused(sentence, ob.ObliviousRidge, X, y)
            refused(sentence, lambda: ob.ObliviousRidge(standardize=False, sensitive_feature_ids="odd"), X, y)

    def test_types_are_named(self, table):
        X, _, y = table
        lists = pl.from_pandas(X).with_columns(l=pl.lit([1, 2]))
        refused(r"column 'l' has the type List", ob.ObliviousRidge, lists, y)

    def test_lazy_frames(self, table):
        X, _, y = table
        refused("a lazy frame has no rows yet; call its collect", ob.ObliviousRidge, pl.from_pandas(X).lazy(), y)

    def test_repeated_names(self, table):
        X, _, y = table
        refused("names of columns must be unique", ob.ObliviousRidge, pd.concat([X, X], axis=1), y)

    def test_categorical_parameters(self, table):
        X, s, y = table
        refused("categorical_features names 'q'", ob.ObliviousRidge(standardize=False, categorical_features="q"), X, y)
        for ids in ("q", [4]):
            refused(
                "categorical_sensitive names .*, which is not a sensitive feature .group.",
                ob.ObliviousRidge(standardize=False, categorical_sensitive=ids),
                X,
                y,
                sensitive_features=s,
            )

    def test_text_cannot_be_continuous(self, table):
        X, s, y = table
        refused(
            "sensitive feature 'group' is text, so it cannot be continuous; add it to categorical_sensitive",
            ob.ObliviousRidge(standardize=False, categorical_sensitive=[]),
            X,
            y,
            sensitive_features=s.map({0: "a", 1: "b", 2: "c"}),
        )

    def test_text_where_numbers_were(self, table):
        X, _, y = table
        model = ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=X["a"])
        with pytest.raises(ob.InvalidInputError, match="column `a` holds text such as `x` but numbers are needed"):
            model.predict(X, sensitive_features=["x"] * 60)
        with pytest.raises(ValueError, match=r"column .b. holds text|convert string to float"):
            model.predict(X.assign(b="x"), sensitive_features=X["a"])

    def test_offset_takes_numbers(self, table):
        X, _, y = table
        refused("Offset hands X on as numbers, and X has other columns", ob.Offset(Ridge()), X.assign(t="x"), y)


PARAMETERS = [
    *[("alpha", value, "must be a positive finite number, got") for value in (0, -1, np.nan, np.inf)],
    *[("alpha", value, "alpha must be a number, got") for value in ("x", None)],
    *[("gamma", v, "gamma must be a positive number, `scale` or `median`, got") for v in (0, -1, np.nan, np.inf, "x")],
    ("gamma", None, "gamma must be a number, got None"),
    *[("strength", value, "strength must be between 0 and 1, got") for value in (-0.1, 1.1, np.nan)],
    *[("strength", value, "strength must be a number, got") for value in ("x", None)],
    *[
        ("cells", v, "cells must be a positive whole number, `auto`, `loo` or `paper`, got")
        for v in (0, -1, 1.5, "x", None)
    ],
    ("mode", "fair", "mode `fair` is not known; choose one of: oblivious, m-oblivious, plain"),
    ("binning", "x", "binning `x` is not known; choose one of: quantile, uniform, dyadic"),
    ("reference", "x", "reference `x` is not known; choose one of: all, half"),
    ("handle_unknown", "x", "`x` is not known; choose one of: error, population, zero"),
    ("solver", "x", "solver `x` is not known; choose one of: auto, cholesky, mixed"),
    ("kernel", "rfb", "cannot read `rfb` as a kernel: expected a kernel: linear, poly"),
    ("kernel", "rbf(gamma=-1)", "gamma must be a positive number"),
    *[
        ("kernel", value, "kernel must be a name, an expression, a Kernel, .precomputed. or a callable, got")
        for value in (5, None)
    ],
    *[("random_state", value, r"random_state must be between 0 and 2\*\*64 - 1, got") for value in (-1, 2**64)],
    *[
        ("sensitive_bounds", value, "must be two finite numbers, the smaller first, got")
        for value in ((1, 0), (1, 1), (np.nan, 1), (-np.inf, np.inf))
    ],
    *[
        ("sensitive_bounds", value, r"sensitive_bounds must be a pair \(low, high\) or a dictionary")
        for value in (3, "ab", (0, 1, 2), {"a": (0,)}, {5: (0, 1)})
    ],
    ("sensitive_bounds", {"q": (0, 1)}, "column `q` is not in the table"),
]


@pytest.mark.parametrize(("name", "value", "sentence"), PARAMETERS)
def test_parameters(name, value, sentence, table):
    X, _, y = table
    model = ob.ObliviousRidge(**({"standardize": False} | {"binning": "uniform"} | {name: value}))
    refused(sentence, model, X, y, sensitive_features=X["a"])


@pytest.mark.parametrize("make", ALL)
def test_shared_parameters(make, table):
    X, s, y = table
    refused("strength must be between 0 and 1, got 2", make(strength=2), X, y, sensitive_features=s)
    refused("binning `x` is not known", make(binning="x"), X, y, sensitive_features=s)


@pytest.mark.parametrize("value", [0, -1, 1.5, "x", None])
def test_n_components(value, table):
    refused(
        "n_components must be a positive whole number, got",
        ob.ObliviousTransformer(standardize=False, n_components=value),
        table[0],
        None,
    )


def test_degree_and_coef0(table):
    X, _, y = table
    refused("degree must be at least 1, got 0", ob.ObliviousRidge(standardize=False, kernel="poly", degree=0), X, y)
    refused("expected a whole number", ob.ObliviousRidge(standardize=False, kernel="poly", degree=1.5), X, y)
    refused(
        "coef0 must be zero or a positive finite number",
        ob.ObliviousRidge(standardize=False, kernel="poly", coef0=-1),
        X,
        y,
    )


def test_kernels():
    with pytest.raises(ob.InvalidInputError, match=r"the kernel 'rbf' has no parameter 'gama' \(gamma\)"):
        ob.Kernel("rbf", gama=1)
    with pytest.raises(ob.InvalidInputError, match=r"the kernel 'rbf \+ linear' has no parameter 'gamma'"):
        ob.Kernel("rbf + linear", gamma=1)
    with pytest.raises(TypeError):
        ob.Kernel("rbf") + 1
    with pytest.raises(ob.InvalidInputError, match="factor must be a positive finite number, got -1"):
        ob.ObliviousKernel(standardize=False, kernel=-1 * ob.Kernel("rbf")).fit([[0.0], [1.0]])


def test_offset_folds_and_classes(table):
    X, s, y = table
    refused("cv must be at least 2, got 1", ob.Offset(Ridge(), cv=1), X, y, sensitive_features=s)
    classifier = ob.Offset(LogisticRegression())
    refused("Only binary classification is supported", classifier, X, s)
    refused("(?i)class", classifier, X, np.ones(60), kind=ValueError, sensitive_features=s)

    from sklearn.neighbors import KNeighborsRegressor

    refused("KNeighborsRegressor takes no sample_weight", ob.Offset(KNeighborsRegressor()), X, y, sample_weight=s + 1)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([True] * 3, "reference_rows is a mask of 3 rows but X has 60"),
        ([0, 60], "reference row 60 is not in the table of 60 rows"),
        ([-1], "reference_rows must be a mask over the rows, or row numbers"),
        ([0.5], "reference_rows must be a mask over the rows, or row numbers"),
        (np.ones((60, 2), dtype=bool), "reference_rows must be a mask over the rows, or row numbers"),
        ([True] * 60, "the training part has 0 rows"),
        ([False] * 60, "rows; at least"),
    ],
)
def test_reference_rows(rows, sentence, table):
    X, s, y = table
    refused(sentence, ob.ObliviousRidge(standardize=False), X, y, sensitive_features=s, reference_rows=rows)


class TestUnknownCategories:
    def test_of_s(self, table):
        X, s, y = table
        model = ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=s)
        with pytest.raises(
            ob.UnknownCategoryError, match=r"`group` has the value `[567]`, .*known: 0, 1, 2.*population"
        ):
            model.predict(X, sensitive_features=s + 5)
        transformer = ob.ObliviousTransformer(standardize=False, n_components=5).fit(X, sensitive_features=s)
        with pytest.raises(ob.UnknownCategoryError, match=r"has the value `[567]`"):
            transformer.transform(X, sensitive_features=s + 5)

    def test_without_reference_rows(self, table):
        X, s, y = table
        refused(
            "has the value `2`, which is not in the training data",
            ob.ObliviousRidge(standardize=False),
            X,
            y,
            kind=ob.UnknownCategoryError,
            sensitive_features=s,
            reference_rows=(s < 2).to_numpy() & (np.arange(60) % 2 == 0),
        )

    @pytest.mark.parametrize("mode", ["oblivious", "m-oblivious"])
    def test_population_takes_nothing_off(self, mode, table):
        X, s, y = table
        model = ob.ObliviousRidge(standardize=False, handle_unknown="population", mode=mode).fit(
            X, y, sensitive_features=s
        )
        with pytest.warns(ob.OblivioWarning, match="60 rows have a sensitive category without reference rows"):
            unknown = model.predict(X, sensitive_features=s + 5)
        offsets = model.offsets_[s]
        np.testing.assert_allclose(unknown - offsets, model.predict(X, sensitive_features=s), atol=1e-12)

    def test_zero_takes_the_mean_for_nothing(self, table):
        X, s, _ = table
        kernel = ob.ObliviousKernel(standardize=False, kernel="linear", handle_unknown="zero").fit(
            X, sensitive_features=s
        )
        with pytest.warns(ob.OblivioWarning, match="sensitive category without reference rows"):
            matrix = kernel.matrix(X, s + 5)
        moved = X + X.mean()
        np.testing.assert_allclose(matrix, moved @ moved.T, atol=1e-12)

    def test_of_x(self, table, caplog):
        X, s, y = table
        model = ob.ObliviousRidge(standardize=False).fit(X.assign(t=["x", "y"] * 30), y, sensitive_features=s)
        with caplog.at_level("INFO", logger="oblivio"):
            assert np.isfinite(model.predict(X.assign(t="z"), sensitive_features=s)).all()
        assert "60 values are of a feature's category that was not there" in caplog.text

    def test_values_outside_bounds(self, table):
        X, _, y = table
        narrow = {"cells": 2, "sensitive_bounds": (-0.1, 0.1)}
        refused(
            r"`a` has the value .*, outside its bounds \[-0.1, 0.1\]",
            ob.ObliviousRidge(binning="dyadic", **({"standardize": False} | narrow)),
            X,
            y,
            sensitive_features=X["a"],
        )
        model = ob.ObliviousRidge(binning="uniform", **({"standardize": False} | narrow)).fit(
            X, y, sensitive_features=X["a"]
        )
        assert any("rows have a sensitive value outside the range" in note for note in model.notes_)


def noted(model, sentence):
    """Whether the fit says so, without a warning."""
    return any(re.search(sentence, note) for note in model.notes_)


class TestWarnings:
    """Accepted, and said."""

    @pytest.mark.parametrize("make", ALL)
    def test_a_single_cell(self, make, table):
        X, _, y = table
        with pytest.warns(ob.OblivioWarning, match="all reference rows fall in one cell: there is nothing to remove"):
            make().fit(X, y, sensitive_features=["same"] * 60)

    def test_constant_s(self, table):
        X, _, y = table
        with pytest.warns(ob.OblivioWarning) as caught:
            ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=[0.5] * 60)
        assert any("`sensitive_feature_0` takes one value" in str(w.message) for w in caught)

    def test_constant_features(self, table):
        X, s, y = table
        model = ob.ObliviousRidge(standardize=False).fit(X.assign(k=3.0), y, sensitive_features=s)
        assert noted(model, "constant features .* left out of the kernel's scale: k$")
        without = ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=s)
        assert model.model_.kernel == without.model_.kernel

    def test_duplicate_rows(self, table):
        X, s, y = table
        model = ob.ObliviousRidge(standardize=False).fit(
            pd.concat([X, X[:5]]), pd.concat([y, y[:5]]), sensitive_features=pd.concat([s, s[:5]])
        )
        assert noted(model, "5 rows have the same features as an earlier row")

    def test_more_components_than_rows(self, table):
        model = ob.ObliviousTransformer(standardize=False)
        assert model.fit_transform(table[0]).shape == (60, 60)
        assert noted(model, "256 components were asked for and there are 60 distinct rows")

    def test_small_cells(self, table):
        X, _, y = table
        model = ob.ObliviousRidge(standardize=False, cells=60).fit(X, y, sensitive_features=X["a"])
        assert noted(model, "60 cells hold a single reference row")

    def test_they_point_at_the_caller(self, table):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ob.ObliviousRidge(standardize=False).fit(table[0], table[2], sensitive_features=["same"] * 60)
        assert caught[0].filename == __file__


def test_numbers_out_of_range(table):
    X, _, y = table
    refused(
        "column `a` holds .*; its square overflows", ob.ObliviousRidge(standardize=False, kernel="linear"), X * 1e160, y
    )
    twice = pd.concat([X, X + 0.0])
    model = ob.ObliviousRidge(standardize=False, kernel="linear", alpha=1e-30)
    refused("not positive definite.*raise the penalty", model, twice, pd.concat([y, y]), kind=ob.NumericalError)


class TestUnfitted:
    def test_methods(self, table, tmp_path):
        X, s, _ = table
        for use in (
            lambda: ob.ObliviousRidge(standardize=False).predict(X),
            lambda: ob.ObliviousTransformer(standardize=False).transform(X),
            lambda: ob.ObliviousKernel(standardize=False).matrix(X, s),
            lambda: ob.Offset(Ridge()).predict(X),
            lambda: ob.ObliviousRidge(standardize=False).save(tmp_path / "m"),
            lambda: ob.ObliviousRidge(standardize=False).cells_,
        ):
            with pytest.raises(NotFittedError, match="is not fitted yet"):
                use()
        assert list(tmp_path.iterdir()) == []

    def test_a_failed_fit_leaves_no_model(self, table):
        X, s, y = table
        model = ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=s)
        with pytest.raises(ob.InvalidInputError):
            model.set_params(alpha=-1).fit(X, y, sensitive_features=s)
        with pytest.raises(NotFittedError):
            model.predict(X, sensitive_features=s)

    def test_a_failed_offset_leaves_no_model(self, table):
        X, s, y = table
        model = ob.Offset(Ridge()).fit(X, y, sensitive_features=s)
        with pytest.raises(ob.InvalidInputError):
            model.set_params(strength=7).fit(X, y, sensitive_features=s)
        with pytest.raises(NotFittedError):
            model.predict(X, sensitive_features=s)


def test_rows_without_their_partner(table):
    X, s, _ = table
    with pytest.raises(ob.InvalidInputError, match="S2 is given without X2"):
        ob.ObliviousKernel(standardize=False).fit(X, sensitive_features=s).matrix(X, s, S2=s)


class TestFiles:
    @pytest.fixture(params=ALL[:3])
    def data(self, request, table, tmp_path):
        X, s, y = table
        request.param().fit(X, y, sensitive_features=s).save(tmp_path / "good")
        return (tmp_path / "good").read_bytes()

    def test_truncated(self, data, tmp_path):
        for length in {0, 1, 7, 8, 9, 100, len(data) // 2, len(data) - 1}:
            (tmp_path / "bad").write_bytes(data[:length])
            with pytest.raises(ob.InvalidInputError, match="this is not a readable model"):
                ob.load(tmp_path / "bad")

    def test_foreign(self, data, tmp_path):
        for bad in (b"PK\x03\x04" * 100, b"a,b\n1,2\n" * 50, b"\x80\x04N.", bytes(1000), b"\xff" * 1000, data + b"x"):
            (tmp_path / "bad").write_bytes(bad)
            with pytest.raises(ob.InvalidInputError, match="this is not a readable model"):
                ob.load(tmp_path / "bad")

    def test_changed_headers_are_refused_or_read(self, data, tmp_path):
        """No crash, no exception of another class."""
        rng = np.random.default_rng(0)
        for position in rng.integers(0, min(len(data), 1500), 200):
            broken = bytearray(data)
            broken[position] ^= 1 << int(rng.integers(8))
            (tmp_path / "bad").write_bytes(broken)
            with contextlib.suppress(ob.InvalidInputError, ob.NumericalError):
                ob.load(tmp_path / "bad")

    def test_absent(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            ob.load(tmp_path / "absent")

    def test_a_file_that_cannot_be_written_loses_nothing(self, table, tmp_path):
        X, _, y = table
        model = ob.ObliviousRidge(standardize=False).fit(X, y)
        (tmp_path / "taken").mkdir()
        with pytest.raises(OSError, match="taken"):
            model.save(tmp_path / "taken")
        with pytest.raises(FileNotFoundError):
            model.save(tmp_path / "nowhere" / "model")
        assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_datasets():
    with pytest.raises(ob.InvalidInputError, match="experiment must be 1 or 2, got 3"):
        ob.datasets.ridge_experiment(10, experiment=3)
    for rows in (0, -1, 1.5):
        with pytest.raises(ob.InvalidInputError, match="rows must be a positive whole number"):
            ob.datasets.grades(rows)
    with pytest.raises(ob.InvalidInputError, match="random_state must not be negative"):
        ob.datasets.grades(5, random_state=-1)
    with pytest.raises(ValueError, match="Unsupported backend: 'x'"):
        ob.datasets.grades(5, backend="x")


def test_sensitive_features_at_predict_that_the_fit_did_not_have():
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = ob.ObliviousRidge(standardize=False).fit(X, X[:, 0])
    with pytest.raises(ob.InvalidInputError, match="was fitted without sensitive features"):
        model.predict(X, sensitive_features=np.zeros(20))
