"""Frames in: pandas, polars, pyarrow; names, categories, and no copies."""

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import oblivio as ob

BACKENDS = ["pandas", "polars", "pyarrow"]
CONVERT = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.fixture
def mixed():
    """Numbers, text, booleans and categories."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, 50),
            "town": np.array(["Rome", "Oslo", "Lima"])[np.arange(50) % 3],
            "member": rng.random(50) < 0.5,
            "level": pd.Categorical(np.array(["low", "high"])[np.arange(50) // 2 % 2]),
            "count": rng.integers(0, 5, 50),
        }
    )
    return frame, pd.Series(frame["age"] / 10 + frame["member"] + rng.normal(size=50), name="y")


@pytest.mark.filterwarnings("ignore:.*same features as an earlier row:oblivio.OblivioWarning")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("sensitive", ["member", "town", "level", "count", "age", ["town", "age"], ["member", "level"]])
def test_backends_give_the_same_bits(backend, sensitive, mixed):
    frame, y = mixed
    model = ob.ObliviousRidge(sensitive_feature_ids=sensitive, cells=2, standardize=True)
    expected = model.fit(frame, y).predict(frame)
    kinds = model.sensitive_kinds_
    other = CONVERT[backend](frame)
    target = CONVERT[backend](y.to_frame())["y"] if backend != "pyarrow" else y
    np.testing.assert_array_equal(model.fit(other, target).predict(other), expected)
    assert model.sensitive_kinds_ == kinds
    # Fitted on one kind of frame, used on another.
    np.testing.assert_array_equal(model.predict(frame), expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_s_apart_as_a_frame(backend, mixed):
    frame, y = mixed
    X, s = frame[["age", "count"]], frame[["town", "member"]]
    expected = ob.ObliviousRidge(standardize=False, sensitive_feature_ids=["town", "member"]).fit(
        frame[["age", "count", "town", "member"]], y
    )
    model = ob.ObliviousRidge(standardize=False).fit(CONVERT[backend](X), y, sensitive_features=CONVERT[backend](s))
    assert model.sensitive_feature_names_ == ["town", "member"]
    np.testing.assert_array_equal(
        model.predict(CONVERT[backend](X), sensitive_features=CONVERT[backend](s[["member", "town"]])),
        expected.predict(frame[["age", "count", "town", "member"]]),
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_datasets_in_every_kind_of_frame(backend):
    table = ob.datasets.admissions(30, backend=backend, random_state=1)
    reference = ob.datasets.admissions(30, random_state=1)
    for role in ("features", "sensitive", "targets", "frame"):
        frame = table[role]
        assert type(frame).__module__.split(".")[0] == backend
        native = frame if backend == "pandas" else frame.to_pandas()
        assert native.to_dict("list") == reference[role].to_dict("list")


def test_mixed_sensitive_columns_on_every_backend():
    results = []
    for backend in BACKENDS:
        table = ob.datasets.admissions(200, random_state=1, backend=backend)
        model = ob.ObliviousRidge(standardize=True)
        keywords = {"sensitive_features": table.sensitive}
        target = np.asarray(table.targets["success"])
        model.set_params(cells=2)
        results.append(model.fit(table.features, target, **keywords).predict(table.features, **keywords))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


class TestNames:
    @pytest.mark.parametrize("backend", BACKENDS)
    def test_order_is_checked(self, backend, mixed):
        frame, y = mixed
        numbers = frame[["age", "count"]].astype(float)
        for X in (numbers, frame):
            model = ob.ObliviousRidge(standardize=True).fit(CONVERT[backend](X), y)
            with pytest.raises(ValueError, match="same order"):
                model.predict(CONVERT[backend](X[X.columns[::-1]]))

    @pytest.mark.parametrize("backend", BACKENDS)
    def test_other_names_are_refused(self, backend, mixed):
        frame, y = mixed
        model = ob.ObliviousRidge(standardize=True).fit(CONVERT[backend](frame), y)
        with pytest.raises(ValueError, match=r"(?s)unseen at fit time.*- Age"):
            model.predict(CONVERT[backend](frame.rename(columns={"age": "Age"})))
        with pytest.raises(ValueError, match=r"features|yet now missing"):
            model.predict(CONVERT[backend](frame.drop(columns="age")))

    def test_names_are_kept(self, mixed):
        frame, y = mixed
        model = ob.ObliviousRidge(standardize=False, sensitive_feature_ids="town").fit(frame, y)
        assert list(model.feature_names_in_) == list(frame.columns) and model.n_features_in_ == 5
        assert model.sensitive_feature_names_ == ["town"]
        assert [name for name, _ in model.model_.feature_columns] == ["age", "member", "level", "count"]

    def test_names_of_s_are_checked(self, table):
        X, s, y = table
        model = ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=s.to_frame())
        with pytest.raises(ob.InvalidInputError, match="the sensitive features are other but the fit had group"):
            model.predict(X, sensitive_features=s.to_frame("other"))
        with pytest.raises(ob.InvalidInputError, match="but the fit had group"):
            model.predict(X, sensitive_features=np.column_stack([s, s]))

    def test_columns_that_are_not_text(self, table):
        """pandas allows numbers as names; scikit-learn does not keep them."""
        X, s, y = table
        numbered = X.set_axis(range(3), axis=1)
        expected = ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=s).predict(X, sensitive_features=s)
        model = ob.ObliviousRidge(standardize=False).fit(numbered, y, sensitive_features=s)
        np.testing.assert_array_equal(model.predict(numbered, sensitive_features=s), expected)


KINDS = {
    "text": lambda values: pd.Series(values),
    "objects": lambda values: pd.Series(values, dtype=object),
    "pandas category": lambda values: pd.Series(pd.Categorical(values, categories=["z", "y", "x", "unused"])),
    "pandas string": lambda values: pd.Series(values, dtype="string"),
    "polars text": lambda values: pl.Series(values),
    "polars Categorical": lambda values: pl.Series(values, dtype=pl.Categorical),
    "polars Enum": lambda values: pl.Series(values, dtype=pl.Enum(["z", "y", "x", "unused"])),
    "pyarrow dictionary": lambda values: pa.chunked_array([pa.array(values).dictionary_encode()]),
    "array": np.array,
    "array of objects": lambda values: np.array(values, dtype=object),
    "list": list,
}


@pytest.mark.parametrize("kind", KINDS)
def test_categories_of_s_by_dtype(kind, table):
    X, group, y = table
    values = ["xyz"[g] for g in group]
    expected = (
        ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=group).predict(X, sensitive_features=group)
    )
    given = KINDS[kind](values)
    model = ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=given)
    np.testing.assert_array_equal(model.predict(X, sensitive_features=given), expected)
    np.testing.assert_array_equal(model.predict(X, sensitive_features=values), expected)
    assert list(model.sensitive_kinds_.values()) == ["categorical"]


@pytest.mark.parametrize(
    "kind", [k for k in KINDS if k not in ("array", "array of objects", "list", "pyarrow dictionary")]
)
def test_categories_of_x_by_dtype(kind, table):
    X, group, y = table
    values = ["xyz"[g] for g in group]
    codes = np.eye(3)[group]
    frame_of = pl.DataFrame if kind.startswith("polars") else pd.DataFrame
    frame = frame_of({"a": X["a"].to_numpy(), "letter": KINDS[kind](values)})
    model = ob.ObliviousRidge(standardize=False, gamma=0.5).fit(frame, y)
    assert model.model_.feature_columns == [("a", None), ("letter", ["x", "y", "z"])]
    # One column per level, at a scale of the encoder's own: some multiple of one-hot columns gives the same model.
    distance = ob.ObliviousKernel(standardize=False, kernel="linear").fit(frame).matrix(frame) - np.outer(
        X["a"], X["a"]
    )
    scale = distance[0, 0]
    np.testing.assert_allclose(distance, scale * codes @ codes.T, atol=1e-12)


def test_booleans(table):
    X, group, y = table
    flags = group > 0
    expected = ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=flags.astype(int))
    expected = expected.predict(X, sensitive_features=flags.astype(int))
    for given in (flags, flags.to_numpy(), flags.tolist(), pl.Series(flags.tolist()), flags.astype("boolean")):
        model = ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=given)
        np.testing.assert_array_equal(model.predict(X, sensitive_features=given), expected)
        assert list(model.sensitive_kinds_.values()) == ["categorical"]


class TestOverrides:
    def test_kinds_of_numbers(self, table):
        X, _, y = table
        values = np.arange(60) % 5
        few = ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=values)
        assert few.sensitive_kinds_ == {"sensitive_feature_0": "categorical"} and len(few.cells_) == 5
        many = ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=np.arange(60) % 6)
        assert many.sensitive_kinds_ == {"sensitive_feature_0": "continuous"}
        halves = ob.ObliviousRidge(standardize=False, cells=2).fit(X, y, sensitive_features=values + 0.5)
        assert halves.sensitive_kinds_ == {"sensitive_feature_0": "continuous"}

    @pytest.mark.parametrize("ids", [["n"], "n", [0], 0, [-2], np.array(["n"])])
    def test_categorical_sensitive(self, ids, table):
        X, _, y = table
        s = pd.DataFrame({"n": np.arange(60) % 4 + 0.5, "m": np.arange(60) // 4 % 2})
        model = ob.ObliviousRidge(standardize=False, categorical_sensitive=ids, cells=2).fit(X, y, sensitive_features=s)
        assert model.sensitive_kinds_ == {"n": "categorical", "m": "continuous"}
        assert len(model.cells_) == 8

    def test_none_is_categorical(self, table):
        X, s, y = table
        model = ob.ObliviousRidge(standardize=False, categorical_sensitive=[], cells=50).fit(X, y, sensitive_features=s)
        assert any("too many equal values for 50 cells" in note for note in model.notes_)
        assert model.sensitive_kinds_ == {"group": "continuous"}

    @pytest.mark.parametrize("ids", [["count"], "count", [4], -1])
    def test_categorical_features(self, ids, mixed):
        frame, y = mixed
        model = ob.ObliviousRidge(categorical_features=ids, standardize=True).fit(frame, y)
        levels = dict(model.model_.feature_columns)
        assert levels["count"] == ["0", "1", "2", "3", "4"] and levels["age"] is None
        as_text = frame.assign(count=frame["count"].astype(str))
        twin = ob.ObliviousRidge(standardize=True).fit(as_text, y)
        np.testing.assert_array_equal(model.predict(frame), twin.predict(as_text))

    def test_categorical_features_of_an_array(self, table):
        _, group, y = table
        X = np.column_stack([np.linspace(0, 1, 60), group])
        model = ob.ObliviousRidge(standardize=False, categorical_features=[1]).fit(X, y)
        assert [levels for _, levels in model.model_.feature_columns] == [None, ["0", "1", "2"]]
        assert np.isfinite(model.predict(X)).all()

    def test_positions_count_the_columns_of_x(self, mixed):
        """Also when sensitive columns before them are taken out: sensitive_feature_ids counts all columns."""
        frame, y = mixed
        for ids in ([4], [-1], ["count"]):
            model = ob.ObliviousRidge(standardize=False, categorical_features=ids, sensitive_feature_ids=["town"]).fit(
                frame, y
            )
            assert dict(model.model_.feature_columns)["count"] == ["0", "1", "2", "3", "4"]
        with pytest.raises(
            ob.InvalidInputError, match="categorical_features names 'town', which is sensitive; name it"
        ):
            ob.ObliviousRidge(standardize=False, categorical_features=[1], sensitive_feature_ids=["town"]).fit(frame, y)

    def test_a_single_string_is_one_column(self, mixed):
        frame, y = mixed
        one = ob.ObliviousRidge(standardize=False, sensitive_feature_ids="town").fit(frame, y)
        listed = ob.ObliviousRidge(standardize=False, sensitive_feature_ids=["town"]).fit(frame, y)
        np.testing.assert_array_equal(one.predict(frame), listed.predict(frame))


def test_group_mean_centring_is_the_linear_kernel(table):
    """fairlearn's CorrelationRemover with group indicators, for categorical S."""
    X, s, y = table
    centred = X - X.groupby(s).transform("mean") + X.mean()
    kernel = ob.ObliviousKernel(standardize=False, kernel="linear").fit(X, sensitive_features=s)
    np.testing.assert_allclose(kernel.matrix(X, s), centred @ centred.T, atol=1e-12)
    half = 0.5 * X + 0.5 * centred
    kernel = ob.ObliviousKernel(standardize=False, kernel="linear", strength=0.5).fit(X, sensitive_features=s)
    np.testing.assert_allclose(kernel.matrix(X, s), half @ half.T, atol=1e-12)
    from sklearn.linear_model import Ridge

    linear = Ridge(0.7, fit_intercept=False).fit(centred, y).predict(centred)
    model = ob.ObliviousRidge(standardize=False, kernel="linear", alpha=0.7).fit(X, y, sensitive_features=s)
    np.testing.assert_allclose(model.predict(X, sensitive_features=s), linear, atol=1e-10)


def test_fairlearn_removes_the_same_from_two_groups(table):
    """With two groups, the one indicator column of S spans all features of S."""
    from fairlearn.preprocessing import CorrelationRemover

    X, group, _ = table
    s = (group > 0).astype(float)
    for strength in (0.3, 1.0):
        remover = CorrelationRemover(sensitive_feature_ids=["s"], alpha=strength)
        removed = np.asarray(remover.fit_transform(X.assign(s=s)))
        # fairlearn keeps the mean of X where S is at its mean, as we do.
        kernel = ob.ObliviousKernel(standardize=False, kernel="linear", strength=strength).fit(
            X, sensitive_features=s.astype(int)
        )
        np.testing.assert_allclose(kernel.matrix(X, s.astype(int)), removed @ removed.T, atol=1e-10)


class TestCopies:
    """NumPy reports its memory to tracemalloc; Rust does not, so copies beyond the seam are not seen here."""

    @pytest.mark.parametrize("sensitive", [False, True])
    def test_a_contiguous_array_is_not_copied_on_the_way_in(self, sensitive):
        rng = np.random.default_rng(0)
        model = ob.ObliviousRidge(standardize=False, kernel="linear").fit(
            rng.normal(size=(10, 50)), rng.normal(size=10)
        )
        keywords = {}
        X = rng.normal(size=(40_000, 50))
        if sensitive:
            model.fit(rng.normal(size=(10, 50)), rng.normal(size=10), sensitive_features=np.arange(10) % 2)
            keywords = {"sensitive_features": np.arange(40_000) % 2}
        model.predict(X[:10], **{k: v[:10] for k, v in keywords.items()})
        tracemalloc.start()
        model.predict(X, **keywords)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 0.5 * X.nbytes

    def test_the_engine_sees_the_memory_of_the_caller(self, monkeypatch):
        from oblivio._input import Features

        X = np.ones((20, 3))
        assert np.shares_memory(Features.read(ob.ObliviousRidge(standardize=False), X, reset=True).table()[0], X)
        frame = pd.DataFrame(X.T.copy().T)
        assert Features.read(ob.ObliviousRidge(standardize=False), frame, reset=True).table()[0].flags.c_contiguous

    @pytest.mark.parametrize(
        "change", [np.asfortranarray, lambda x: x.astype(np.float32), lambda x: np.repeat(x, 2, 0)[::2]]
    )
    def test_other_layouts_give_equal_results(self, change, table):
        X, s, y = table
        values = X.to_numpy().astype(np.float32).astype(np.float64)
        expected = (
            ob.ObliviousRidge(standardize=False)
            .fit(values, y, sensitive_features=s)
            .predict(values, sensitive_features=s)
        )
        other = change(values)
        model = ob.ObliviousRidge(standardize=False).fit(other, y, sensitive_features=s)
        np.testing.assert_array_equal(model.predict(other, sensitive_features=s), expected)

    def test_inputs_are_left_alone(self, table):
        X, s, y = table
        before = X.copy(), s.copy(), y.copy()
        ob.ObliviousRidge(standardize=True).fit(X, y, sensitive_features=s).predict(X, sensitive_features=s)
        for now, then in zip((X, s, y), before, strict=True):
            assert now.equals(then)


@pytest.mark.parametrize(
    ("plain", "categories"),
    [
        (np.array([False, True]), [False, True]),
        (np.array([0.0, 1.5]), [0.0, 1.5]),
        (np.array([-0.0, 1e21]), [0.0, 1e21]),
        (np.array([3, 7]), [3, 7]),
        (np.array(["b", "a"], dtype=object), ["b", "a"]),
    ],
    ids=["booleans", "numbers", "large", "whole", "text"],
)
def test_a_categorical_column_is_called_as_a_plain_one(plain, categories):
    rows = np.arange(60)
    X = pd.DataFrame({"x": rows % 7, "z": rows / 60})
    plain = pd.DataFrame({"c": plain[rows % 2]})
    coded = pd.DataFrame({"c": pd.Categorical(plain["c"], categories=categories)})
    y = X["x"] + rows % 2
    by_code = ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=coded)
    by_value = ob.ObliviousRidge(standardize=False, categorical_sensitive=["c"]).fit(X, y, sensitive_features=plain)
    assert by_code.cells_ == by_value.cells_
    expected = by_code.predict(X, sensitive_features=coded)
    for model in (by_code, by_value):
        np.testing.assert_array_equal(model.predict(X, sensitive_features=plain), expected)
        np.testing.assert_array_equal(model.predict(X, sensitive_features=coded), expected)


@pytest.mark.parametrize(
    "values",
    [
        2**53 + np.arange(60) % 3,
        np.uint64(2**63) + (np.arange(60) % 2).astype(np.uint64),
        -(2**60) - np.arange(60) % 2,
        np.array([10**30 + k % 2 for k in range(60)], dtype=object),
    ],
    ids=["int64", "uint64", "negative", "objects"],
)
def test_whole_numbers_that_floating_point_joins_are_refused(values):
    X = pd.DataFrame({"x": np.arange(60) / 7})
    for S in (values, pd.Series(values, name="s"), pd.DataFrame({"s": values})):
        with pytest.raises(ob.InvalidInputError, match="whole numbers beyond 2\\^53"):
            ob.ObliviousRidge(standardize=False).fit(X, X["x"], sensitive_features=S)
    # As a feature or a score a number is a number.
    audit = ob.audit(X["x"], pd.DataFrame({"s": np.arange(60) % 2}), features=pd.DataFrame({"id": values}))
    assert "s" in str(audit)
    named = pd.DataFrame({"s": [str(value) for value in values]})
    assert len(ob.ObliviousRidge(standardize=False).fit(X, X["x"], sensitive_features=named).cells_) == len(set(values))


def test_text_in_an_array_names_the_remedy():
    X = np.array([[1.0, "v"], [2.0, "w"]] * 10, dtype=object)
    with pytest.raises(ob.InvalidInputError, match="give a frame"):
        ob.ObliviousRidge(standardize=False).fit(X, np.arange(20.0))


def test_features_at_strength_zero_travel(tmp_path):
    X = pd.DataFrame({"x": np.arange(60.0) % 7, "z": np.arange(60.0)})
    S = pd.DataFrame({"s": np.array(["F", "M"])[np.arange(60) % 2]})
    for strength, recorded in ((0.0, 1.0), (0.5, 0.5)):
        model = ob.ObliviousTransformer(standardize=False, strength=strength, n_components=5).fit(
            X, sensitive_features=S
        )
        model.save(tmp_path / "model")
        loaded = ob.load(tmp_path / "model")
        assert loaded.strength == recorded
        expected = model.transform(X, sensitive_features=S)
        np.testing.assert_array_equal(loaded.transform(X, sensitive_features=S), expected)


@pytest.mark.parametrize("name", ["n_components", "min_rows", "max_iter", "alpha"])
def test_numbers_beyond_all_numbers_are_refused(name):
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    kind = ob.ObliviousSVC if name == "max_iter" else ob.ObliviousRidge
    value = 10**400 if name == "alpha" else 10**30
    with pytest.raises(ob.InvalidInputError, match=name):
        kind(**{name: value}).fit(X, y, sensitive_features=np.arange(20) % 2)
