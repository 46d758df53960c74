"""Models as ONNX files: checked by onnx, run by onnxruntime on the CPU, compared with the model itself."""

import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rounding import rounding

import oblivio as ob

COMMAND = Path(sys.executable).with_name("oblivio")
DATA = Path(os.environ.get("OBLIVIO_DATA", Path(__file__).parents[3] / "shared" / "data"))
# Many of these tables are small, and policies are used on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::oblivio.OblivioWarning")


@pytest.fixture(autouse=True)
def silence(capfd):
    """Neither onnx nor onnxruntime has anything to remark."""
    yield
    assert capfd.readouterr().err == ""


class Session:
    """A model in onnxruntime."""

    def __init__(self, data):
        onnx.checker.check_model(data, full_check=True)
        assert not lone_factors(onnx.load_from_string(data).graph)
        self.session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
        entries = self.session.get_modelmeta().custom_metadata_map
        self.metadata = {key.removeprefix("oblivio."): value for key, value in entries.items()}
        self.columns = json.loads(self.metadata["columns"])

    def run(self, frame):
        """The outputs by name, for the rows of a frame."""
        frame = frame.reset_index(drop=True)

        def tensor(column):
            values = frame[column["name"]]
            if column["type"] == "string":
                text = values.astype(object).where(values.notna(), "").astype(str)
                return np.array(text, dtype=object).reshape(-1, 1)
            return np.asarray(pd.to_numeric(values), dtype=np.float64).reshape(-1, 1)

        tensors = {column["name"]: tensor(column) for column in self.columns}
        if self.metadata["inputs"] == "matrix":
            tensors = {self.session.get_inputs()[0].name: np.hstack(list(tensors.values()))}
        assert set(tensors) == {entry.name for entry in self.session.get_inputs()}
        names = [output.name for output in self.session.get_outputs()]
        return dict(zip(names, self.session.run(names, tensors), strict=True))

    def scores(self, frame):
        return self.run(frame)["score"]


def lone_factors(graph):
    """Factors beside a product of matrices, which onnxruntime draws into it in single precision."""
    single = {tensor.name for tensor in graph.initializer if np.prod(tensor.dims) == 1}
    scaled = [node for node in graph.node if node.op_type in ("Mul", "Div") and single.intersection(node.input)]
    products = [node for node in graph.node if node.op_type == "MatMul"]
    taken = {name for node in products for name in node.input}
    given_out = {name for node in products for name in node.output}
    return [node for node in scaled if taken.intersection(node.output) or given_out.intersection(node.input)]


def same(found, expected, *, within=1e-9):
    """Equal relative to the scale of the scores; refused rows in the same places."""
    expected = np.asarray(expected, dtype=float).reshape(len(found), -1)
    assert found.shape == expected.shape
    scale = np.nanmax(np.abs(expected))
    assert np.array_equal(np.isnan(found), np.isnan(expected))
    assert np.nanmax(np.abs(found - expected)) <= within * scale


def table(rows=240, seed=0, shift=0.0):
    """Numbers and text, text and numbers among the sensitive columns, one of them with few levels."""
    random = np.random.default_rng(seed)
    age = random.gamma(9.0, 4.0, rows)
    group = random.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2])
    x = random.normal(size=(rows, 3)) + shift
    x[:, 0] += age / 20 + (group == "b")
    frame = pd.DataFrame(x, columns=["x0", "x1", "x2"])
    frame["colour"] = random.choice(["red", "green", "blue"], rows)
    frame["age"], frame["group"] = age, group
    frame["level"] = random.integers(0, 3, rows).astype(float)
    target = np.sin(x[:, 0] - shift) + 0.3 * (x[:, 1] - shift) + 0.1 * age + random.normal(scale=0.1, size=rows)
    return frame, target


def ridge(sensitive=("group",), **parameters):
    return ob.ObliviousRidge(
        sensitive_feature_ids=list(sensitive),
        **({"standardize": False} | {"alpha": 0.1, "standardize": True, **parameters}),
    )


def fitted(model, rows=240, shift=0.0):
    frame, target = table(rows, shift=shift)
    return model.fit(frame, target), frame


def agree(model, frame, **options):
    same(Session(model.to_onnx(**options)).scores(frame), model.predict(frame))


KERNELS = [
    "rbf",
    "laplacian",
    "poly",
    "linear",
    "matern12",
    "matern32",
    "matern52",
    "0.5 * rbf(gamma=0.2) + 2 * linear",
    "rbf(gamma=0.1) * laplacian(gamma=0.05) + matern32(gamma=0.3)",
    "3 * poly(degree=2, gamma=0.1, coef0=1) * rbf(gamma=0.1)",
    "0.7 * rbf",
    "0.3 * linear",
]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("components", [None, 40])
def test_kernels(kernel, components):
    model, frame = fitted(ridge(kernel=kernel, n_components=components))
    agree(model, frame)
    agree(model, table(1000, seed=1)[0])
    agree(model, frame.iloc[:1])


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern32"])
def test_random_waves(kernel):
    model, frame = fitted(ridge(kernel=kernel, n_components=60, landmarks="fourier"))
    agree(model, frame)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "matern12", "matern52"])
@pytest.mark.parametrize("standardize", [True, False])
def test_data_far_from_the_origin(kernel, standardize):
    model, _ = fitted(ridge(kernel=kernel, gamma=0.1, standardize=standardize), shift=1e4)
    agree(model, table(500, seed=2, shift=1e4)[0])


@pytest.mark.parametrize("mode", ["oblivious", "m-oblivious", "plain", "sensitive-free"])
@pytest.mark.parametrize("strength", [0.4, 1.0])
@pytest.mark.parametrize("intercept", [False, True])
def test_modes(mode, strength, intercept):
    if mode != "oblivious" and strength != 1.0 and mode != "m-oblivious":
        pytest.skip("this mode has no strength")
    model, frame = fitted(ridge(("group", "age"), mode=mode, strength=strength, fit_intercept=intercept))
    agree(model, frame)
    names = {column["name"] for column in Session(model.to_onnx()).columns}
    assert ("group" in names) == (mode in ("oblivious", "m-oblivious"))


MEANS = [
    {"conditional_mean": "cells", "cells": 6},
    {"conditional_mean": "cells", "cells": 100, "min_rows": 1},
    {"conditional_mean": "cells", "cells": 30, "min_rows": 12},
    {"conditional_mean": "cells", "cells": 8, "binning": "uniform"},
    {"conditional_mean": "cells", "cells": 8, "binning": "dyadic"},
    {"conditional_mean": "smooth"},
    {"conditional_mean": "linear"},
    {"conditional_mean": "cells", "cells": 5, "shrinkage": True},
    {"conditional_mean": "auto"},
]
COLUMNS = [("age",), ("group", "age"), ("group", "level"), ("level", "age", "group")]


@pytest.mark.parametrize("means", MEANS, ids=str)
@pytest.mark.parametrize("sensitive", COLUMNS, ids=",".join)
@pytest.mark.parametrize("align", [None, "location-scale", "quantile"])
def test_conditional_means_and_alignments(means, sensitive, align):
    parameters = {"align": align, "align_strength": 0.8, "handle_unknown": "population", **means}
    model, frame = fitted(ridge(sensitive, **parameters))
    agree(model, frame)
    new, _ = table(400, seed=3)
    new.loc[:9, "group"] = "unheard of"
    new.loc[10:19, "level"] = 17.0
    new.loc[20:24, "age"] = [-1e6, 1e6, 0.0, -0.0, 500.0]
    agree(model, new)


@pytest.mark.parametrize("means", [{"conditional_mean": "cells", "cells": 4}, {"conditional_mean": "smooth"}], ids=str)
def test_legitimate_factors(means):
    model, frame = fitted(ridge(("group",), control_feature_ids=["age", "colour"], **means))
    agree(model, frame)
    roles = {c["name"]: (c["feature"], c["sensitive"]) for c in Session(model.to_onnx()).columns}
    assert roles["age"] == (True, True)
    assert roles["group"] == (False, True)


@pytest.mark.parametrize("kernel", [*KERNELS, "0.3 * linear + rbf", "0.7 * (0.9 * matern32 + 0.1 * linear)"])
@pytest.mark.parametrize("components", [None, 1, 2])
def test_one_feature_and_few_landmarks(kernel, components):
    """Matrices of one row or column, where a factor is easily a lone one."""
    frame, target = table()
    frame = frame[["x0", "age"]]
    means = {"conditional_mean": "linear", "strength": 0.7}
    agree(ridge(("age",), kernel=kernel, n_components=components, **means).fit(frame, target), frame)
    features = transformer(("age",), kernel=kernel, n_components=components or 3, **means)
    agree_on_features(features.fit(frame), frame)


@pytest.mark.parametrize("means", [{"conditional_mean": "cells"}, {"conditional_mean": "smooth"}], ids=str)
@pytest.mark.parametrize("strength", [0.1, 0.7])
def test_strengths_of_conditional_means(means, strength):
    agree(*fitted(ridge(("group", "age"), strength=strength, **means)))


def test_values_on_the_edges_of_bins():
    model, frame = fitted(ridge(("age",), conditional_mean="cells", cells=100, min_rows=1))
    new = frame.copy()
    ages = np.sort(frame["age"].to_numpy())
    new["age"] = ages
    agree(model, new)
    for toward in (-np.inf, np.inf):
        new["age"] = np.nextafter(ages, toward)
        agree(model, new)


@pytest.mark.parametrize("policy", ["error", "population", "zero"])
@pytest.mark.parametrize("column", ["group", "level", "colour"])
def test_unknown_categories(policy, column):
    model, frame = fitted(ridge(("group", "level"), handle_unknown=policy))
    new = frame.iloc[:30].copy()
    new.loc[3:5, column] = 99.0 if column == "level" else "unheard of"
    if policy == "error" and column != "colour":
        with pytest.raises(ob.UnknownCategoryError):
            model.predict(new)
        expected = model.predict(frame.iloc[:30])
        expected[3:6] = np.nan
    else:
        expected = model.predict(new)
    same(Session(model.to_onnx()).scores(new), expected)


def test_combinations_that_no_reference_row_has():
    frame, target = table()
    frame = frame[~((frame["group"] == "c") & (frame["level"] == 2.0))].reset_index(drop=True)
    target = target[: len(frame)]
    new = frame.iloc[:5].copy()
    new.loc[2, ["group", "level"]] = ["c", 2.0]
    for policy in ("error", "population"):
        agree(ridge(("group", "level"), handle_unknown=policy).fit(frame, target), new)


def test_values_outside_given_bounds_are_refused():
    model = ridge(("age",), cells=8, binning="dyadic", sensitive_bounds=(0.0, 200.0))
    model, frame = fitted(model)
    new = frame.iloc[:4].copy()
    new.loc[:3, "age"] = [-0.1, 0.0, 200.0, 200.1]
    with pytest.raises(ob.InvalidInputError):
        model.predict(new)
    found = Session(model.to_onnx()).scores(new)
    assert np.array_equal(np.isnan(found[:, 0]), [True, False, False, True])


MISSING = [{"conditional_mean": "cells", "cells": 4}, {"conditional_mean": "smooth"}, {"conditional_mean": "linear"}]


@pytest.mark.parametrize("policy", ["error", "category", "sensitive-free"])
@pytest.mark.parametrize("means", MISSING, ids=str)
@pytest.mark.parametrize("align", [None, "quantile"])
def test_missing_sensitive_values(policy, means, align):
    frame, target = table()
    if policy != "error":
        frame.loc[::7, "age"] = np.nan
        frame.loc[::11, "group"] = None
    model = ridge(("group", "age"), handle_missing=policy, align=align, handle_unknown="population", **means)
    model.fit(frame, target)
    new, _ = table(60, seed=4)
    complete = model.predict(new)
    new.loc[5:9, "age"] = np.nan
    new.loc[9:12, "group"] = None
    if policy == "error":
        with pytest.raises(ob.InvalidInputError):
            model.predict(new)
        complete[5:13] = np.nan
        expected = complete
    else:
        expected = model.predict(new)
    same(Session(model.to_onnx()).scores(new), expected)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear", "matern32"])
def test_features_that_are_no_numbers_have_no_score(bad, kernel):
    model, frame = fitted(ridge(kernel=kernel, missing_features="error"))
    new = frame.iloc[:3].copy()
    expected = model.predict(new)
    new.loc[1, "x1"] = bad
    expected[1] = np.nan
    same(Session(model.to_onnx()).scores(new), expected)
    new = frame.iloc[:3].copy()
    new.loc[1, "colour"] = None
    same(Session(model.to_onnx()).scores(new), expected)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "linear"])
def test_missing_features(kernel, standardize):
    frame, target = table()
    # Numbers and text, with gaps at the fit and without.
    frame.loc[::5, "x0"] = np.nan
    frame.loc[::7, "colour"] = None
    frame["code"] = np.where(np.arange(len(frame)) % 4 == 0, np.nan, np.arange(len(frame)) % 3)
    model = ridge(kernel=kernel, standardize=standardize, categorical_features=["colour", "code"])
    model.fit(frame.assign(town="Bath"), target)
    new = frame.assign(town="Bath").iloc[:30].copy()
    new.loc[1:3, "x1"] = np.nan
    new.loc[2:5, "town"] = None
    new.loc[4, "colour"] = "unheard of"
    agree(model, new)
    assert np.isfinite(model.predict(new)).all()
    new.loc[6, "x0"] = np.inf
    assert np.flatnonzero(np.isnan(Session(model.to_onnx()).scores(new)[:, 0])).tolist() == [6]
    numbers = new.drop(columns=["colour", "town", "group"]).iloc[:6]
    small = ridge(("level",), kernel=kernel, standardize=standardize).fit(frame[numbers.columns], target)
    agree(small, numbers, form="matrix")


def test_features_beyond_all_numbers_have_no_score():
    frame, target = table()
    frame["x1"] *= 1e-3
    model = ridge(kernel="linear").fit(frame, target)
    new = frame.iloc[:3].copy()
    expected = model.predict(new)
    new.loc[1, "x1"] = 1e308
    with pytest.raises(ob.InvalidInputError):
        model.predict(new)
    expected[1] = np.nan
    same(Session(model.to_onnx()).scores(new), expected)


def test_categories_that_read_like_numbers_and_are_none():
    frame, target = table()
    frame["colour"] = np.random.default_rng(1).choice(["1", "2", "NaN", "inf"], len(frame))
    model = ridge().fit(frame, target)
    assert {c["name"]: c["type"] for c in Session(model.to_onnx()).columns}["colour"] == "string"
    agree(model, frame)


def test_infinite_sensitive_values_have_no_score():
    model, frame = fitted(ridge(("age",), conditional_mean="cells"))
    new = frame.iloc[:3].copy()
    new.loc[0, "age"] = np.inf
    assert np.array_equal(np.isnan(Session(model.to_onnx()).scores(new)[:, 0]), [True, False, False])


def test_an_infinite_value_is_refused_whatever_else_is_missing():
    frame, target = table()
    frame.loc[::7, "age"] = np.nan
    model = ridge(("group", "age"), handle_missing="sensitive-free", conditional_mean="cells").fit(frame, target)
    new = frame.iloc[1:4].reset_index(drop=True)
    new.loc[:1, "group"] = None
    expected = model.predict(new)
    new.loc[0, "age"] = np.inf
    with pytest.raises(ob.InvalidInputError):
        model.predict(new)
    expected[0] = np.nan
    same(Session(model.to_onnx()).scores(new), expected)


def classes(target, count, kind):
    edges = np.quantile(target, np.arange(1, count) / count)
    codes = np.searchsorted(edges, target)
    if kind == "text":
        return np.array(["low", "middle", "high"])[codes]
    return codes * 10 if kind == "number" else codes.astype(bool)


@pytest.mark.parametrize("estimator", [ob.ObliviousSVC, ob.ObliviousLogistic])
@pytest.mark.parametrize(("count", "kind"), [(2, "text"), (2, "number"), (2, "truth"), (3, "text"), (3, "number")])
@pytest.mark.parametrize("threshold", ["zero", "base-rate"])
@pytest.mark.parametrize("align", [None, "quantile"])
def test_classifiers(estimator, count, kind, threshold, align):
    frame, target = table()
    labels = classes(target, count, kind)
    model = estimator(
        sensitive_feature_ids=["group", "age"], standardize=True, threshold=threshold, align=align, cells=4
    ).fit(frame, labels)
    new, _ = table(300, seed=5)
    session = Session(model.to_onnx())
    outputs = session.run(new)
    same(outputs["score"], model.decision_function(new))
    expected = model.predict(new)
    found = outputs["label"]
    assert found.shape == (300,)
    assert np.array_equal(found, expected.astype(float) if kind == "number" else expected.astype(str).astype(object))
    if estimator is ob.ObliviousLogistic:
        same(outputs["probabilities"], model.predict_proba(new))
    else:
        assert "probabilities" not in outputs


@pytest.mark.parametrize("kind", ["text", "number"])
@pytest.mark.parametrize("count", [2, 3])
def test_refused_rows_have_no_class(kind, count):
    frame, target = table()
    model = ob.ObliviousLogistic(sensitive_feature_ids=["group"], standardize=True)
    model.fit(frame, classes(target, count, kind))
    new = frame.iloc[:3].copy()
    new.loc[1, "group"] = "unheard of"
    outputs = Session(model.to_onnx()).run(new)
    assert np.isnan(outputs["score"][1]).all()
    assert np.isnan(outputs["probabilities"][1]).all()
    label = outputs["label"][1]
    assert label == "" if kind == "text" else np.isnan(label)
    assert not np.isnan(outputs["score"][[0, 2]]).any()


def transformer(sensitive=("group",), **parameters):
    return ob.ObliviousTransformer(
        sensitive_feature_ids=list(sensitive),
        **({"standardize": False} | {"n_components": 30, "standardize": True, **parameters}),
    )


def agree_on_features(model, frame, **options):
    found = Session(model.to_onnx(**options)).run(frame)["features"]
    same(found, model.transform(frame))


@pytest.mark.parametrize("kernel", KERNELS)
def test_features_of_kernels(kernel):
    model, frame = fitted(transformer(kernel=kernel))
    agree_on_features(model, frame)
    agree_on_features(model, table(1000, seed=1)[0])


@pytest.mark.parametrize("means", MEANS, ids=str)
@pytest.mark.parametrize("sensitive", COLUMNS, ids=",".join)
def test_features_given_conditional_means(means, sensitive):
    model, _ = fitted(transformer(sensitive, strength=0.7, handle_unknown="population", **means))
    new, _ = table(400, seed=3)
    new.loc[:9, "group"] = "unheard of"
    new.loc[10:19, "level"] = 17.0
    agree_on_features(model, new)


def test_features_of_waves_without_sensitive_columns_and_of_matrices():
    agree_on_features(*fitted(transformer(landmarks="fourier")))
    agree_on_features(*fitted(transformer(sensitive=[])))
    frame, _ = table()
    numbers = frame.drop(columns=["colour", "group"])
    agree_on_features(transformer(("age", "level")).fit(numbers), numbers, form="matrix")


def test_rows_without_features():
    model, frame = fitted(transformer())
    new = frame.iloc[:4].reset_index(drop=True)
    expected = model.transform(new)
    new.loc[1, "group"] = "unheard of"
    new.loc[2, "x0"] = np.inf
    expected[1:3] = np.nan
    session = Session(model.to_onnx())
    assert session.metadata["holds"] == "landmarks"
    assert session.session.get_outputs()[0].shape == ["rows", 30]
    same(session.run(new)["features"], expected)
    with pytest.raises(ob.InvalidInputError, match="export them in double precision"):
        model.to_onnx(dtype="float32")


def test_a_matrix_has_its_columns_in_the_metadata():
    frame, target = table()
    frame = frame.drop(columns=["colour", "group"])
    model = ridge(("age", "level"), n_components=30).fit(frame, target)
    session = Session(model.to_onnx(form="matrix"))
    assert [column["name"] for column in session.columns] == ["x0", "x1", "x2", "age", "level"]
    assert session.session.get_inputs()[0].shape == ["rows", 5]
    agree(model, frame, form="matrix")
    text, _ = fitted(ridge())
    with pytest.raises(ob.InvalidInputError, match="column `colour` is text and has no place in a matrix"):
        text.to_onnx(form="matrix")


def test_names_that_mean_harm():
    names = ["score", "label", "v1", "v2", "v", 'say "hi"', "ünï çødé ☃", "a b\tc", "rows", "{x}", "score_", "v_1"]
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(120, len(names))), columns=names)
    frame["probabilities"] = random.choice(["", "\\n", "it's", "中文"], 120)
    target = frame["score"] > 0
    model = ob.ObliviousLogistic(standardize=False, sensitive_feature_ids=["probabilities", "v"], cells=3).fit(
        frame, target
    )
    session = Session(model.to_onnx())
    outputs = session.run(frame)
    written = json.loads(session.metadata["outputs"])
    assert written == {"score": "score__", "label": "label_", "probabilities": "probabilities_"}
    same(outputs["score__"], model.decision_function(frame))


def test_metadata():
    model, _ = fitted(ridge(("group", "age"), strength=0.5, handle_unknown="population"))
    session = Session(model.to_onnx())
    found = session.metadata
    assert found["version"] == ob.__version__
    assert found["kernel"].startswith("rbf(gamma=")
    assert (found["mode"], found["strength"]) == ("oblivious", "0.5")
    assert json.loads(found["policies"])["unknown-category"] == "population"
    assert found["holds"] == "rows"
    assert Session(fitted(ridge(kernel="linear"))[0].to_onnx()).metadata["holds"] == "nothing"
    assert Session(fitted(ridge(n_components=20))[0].to_onnx()).metadata["holds"] == "landmarks"


def test_files_are_written_whole_and_the_same_each_time(tmp_path):
    model, _ = fitted(ridge(("group", "age"), align="quantile"))
    path = tmp_path / "model.onnx"
    assert model.to_onnx(path) is None
    assert path.read_bytes() == model.to_onnx()
    model.save(tmp_path / "model.oblivio")
    assert ob.load(tmp_path / "model.oblivio").to_onnx() == model.to_onnx()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.oblivio", "model.onnx"]
    with pytest.raises(FileNotFoundError):
        model.to_onnx(tmp_path / "nowhere" / "model.onnx")


@pytest.mark.parametrize(
    ("kernel", "landmarks"), [("rbf", 20), ("laplacian", 2), ("matern12", 2), ("rbf(gamma=0.1) + matern32", 2)]
)
def test_single_precision_keeps_its_bound(kernel, landmarks):
    alpha, shift = (100.0, 1e4) if landmarks > 2 else (1.0, 0.0)
    model, frame = fitted(ridge(("group", "age"), kernel=kernel, alpha=alpha, n_components=landmarks), shift=shift)
    single = Session(model.to_onnx(dtype="float32")).scores(frame)
    expected = model.predict(frame)
    assert np.max(np.abs(single[:, 0] - expected)) <= 1e-5 * np.std(expected)
    assert np.max(np.abs(single[:, 0] - expected)) > 0


def test_single_precision_is_refused_with_the_number():
    model, _ = fitted(ridge(alpha=1e-6))
    with pytest.raises(ob.InvalidInputError, match=r"could be off by \d\.\de-?\d+ of the spread"):
        model.to_onnx(dtype="float32")
    for parameters, reason in [
        ({"kernel": "poly"}, "has no bound"),
        ({"n_components": 20, "landmarks": "fourier"}, "random waves has no bound"),
        ({"align": "quantile", "n_components": 20, "alpha": 100.0}, "alignment of quantiles"),
    ]:
        model, _ = fitted(ridge(**parameters))
        with pytest.raises(ob.InvalidInputError, match=reason):
            model.to_onnx(dtype="float32")


def test_settings_that_are_none():
    model, _ = fitted(ridge())
    with pytest.raises(ob.InvalidInputError, match="choose one of: columns, matrix"):
        model.to_onnx(form="rows")
    with pytest.raises(ob.InvalidInputError, match="choose one of: float64, float32"):
        model.to_onnx(dtype="float16")


class Stored:
    """A saved model whose header can be changed."""

    def __init__(self, model):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.oblivio"
            model.save(path)
            data = path.read_bytes()
        length = int.from_bytes(data[:8], "little")
        self.tensors = json.loads(data[8 : 8 + length])
        self.document = json.loads(self.tensors.pop("__metadata__")["oblivio"])
        self.header, self.data = self.document["header"], data[8 + length :]

    def numbers(self, name):
        """The entries of a tensor."""
        start, end = self.tensors[name]["data_offsets"]
        return np.frombuffer(self.data[start:end], dtype=np.float64)

    def model(self, **changes):
        """The model with other entries in its header; an entry None is removed."""
        header = {key: value for key, value in (self.header | changes).items() if value is not None}
        document = json.dumps(self.document | {"header": header})
        head = json.dumps({"__metadata__": {"oblivio": document}, **self.tensors}).encode()
        head += b" " * (-len(head) % 8)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.oblivio"
            path.write_bytes(len(head).to_bytes(8, "little") + head + self.data)
            return ob.load(path)


def rounding_of_scores(stored, rows):
    """A bound on the difference of two evaluations of h(x) − t b(s) with an rbf kernel, before any alignment.

    An entry of the kernel is e to the power of a difference of squares, and is rounded like the largest of them.
    """
    gamma = float(stored.header["kernel"].removeprefix("rbf(gamma=").removesuffix(")"))
    points = stored.numbers("points").reshape(rows, -1)
    squares = gamma * (points**2).sum(1).max()
    kernel = (1 + squares) * np.abs(stored.numbers("coefficients")).sum()
    offset = np.abs(stored.numbers("offsets")).max() + np.abs(stored.numbers("smooth")).sum() * size_of_features(
        stored, rows
    )
    return rounding(rows) * (kernel + offset + abs(stored.header["intercept"]))


def size_of_features(stored, rows):
    """A bound on the features of S, times the factor by which their computation multiplies rounding.

    Indicators and standardised numbers are at most √rows. The features ψ = L⁻¹k of a kernel take the inverse of a
    Cholesky factor with pivots of at least 1e-6.
    """
    blocks = stored.header["cells"]["partition"].get("smooth", {"blocks": []})["blocks"]
    kernel = any("kernel" in block["source"] for block in blocks)
    return np.sqrt(rows) * (1e3 if kernel else 1.0)


def rounding_of_alignment(stored, rows, scores):
    """A bound on the difference of two evaluations of an alignment at the same scores."""
    alignment = stored.header.get("alignment")
    if alignment is None:
        return 0.0
    [(kind, by)] = alignment["by"].items()
    size = rounding(rows) * np.abs(scores).max()
    if kind == "cell-moments":
        return size
    if kind == "cell-quantiles":
        values = [value for cell in by["cells"] if cell for value in cell["values"]]
        ranks = 1.0
    elif kind == "smooth-quantiles":
        values = by["all"]["values"]
        features = np.abs(by["on"]).reshape(-1, len(values)).sum(0).max()
        ranks = 1.0 + features * size_of_features(stored, rows)
    else:
        if by["variance"] == 0:
            return size
        # No variance is below a hundredth of the mean one. A root halves the relative rounding.
        least = 0.01 * by["variance"]
        features = rounding(rows) * size_of_features(stored, rows)
        mean = features * np.abs(by["mean_on"]).sum() * by["scale"] / np.sqrt(least)
        deviation = 0.5 * features * np.abs(by["variance_on"]).sum() / least
        return size + mean + deviation * np.abs(scores - by["centre"]).max()
    # Knots of a broken line of quantiles are at least a row apart in rank: its slope is at most rows times the range.
    return size + rounding(rows) * ranks * rows * np.ptp(values)


@given(st.data())
def test_any_table(data):
    """Scores agree within rounding before the alignment, and within the aligned interval of that rounding after it.

    An alignment by quantiles keeps scores apart that differ by 1e-10 of their range. There its slope is up to 1e10,
    and the last bit of a score becomes 1e-6. The alignment rises with the score: the aligned scores of an interval lie
    between its aligned ends.
    """
    rows = data.draw(st.integers(8, 40))
    numbers = st.floats(-1e3, 1e3, allow_nan=False)
    texts = st.sampled_from(["", "x", "yy", "ü", "0"])
    frame = pd.DataFrame(
        {
            "a": data.draw(st.lists(numbers, min_size=rows, max_size=rows)),
            "b": data.draw(st.lists(texts, min_size=rows, max_size=rows)),
            "s": data.draw(st.lists(texts, min_size=rows, max_size=rows)),
            "t": data.draw(st.lists(numbers, min_size=rows, max_size=rows)),
        }
    )
    target = np.arange(rows) % 5 + frame["a"] / 1e3
    model = ob.ObliviousRidge(
        sensitive_feature_ids=["s", "t"],
        standardize=True,
        conditional_mean=data.draw(st.sampled_from(["cells", "smooth", "linear"])),
        align=data.draw(st.sampled_from([None, "location-scale", "quantile"])),
        handle_unknown="population",
    ).fit(frame, target)
    new = frame.sample(rows, replace=True, random_state=0)
    new["t"] = new["t"].to_numpy()[::-1]
    stored = Stored(model)
    error = rounding_of_scores(stored, rows)
    plain = stored.model(alignment=None)
    assert np.abs(Session(plain.to_onnx()).scores(new)[:, 0] - plain.predict(new)).max() <= error
    found, intercept = Session(model.to_onnx()).scores(new)[:, 0], stored.header["intercept"]
    low, high = (stored.model(intercept=intercept + by).predict(new) for by in (-error, error))
    slack = rounding_of_alignment(stored, rows, model.predict(new))
    assert np.all((low - slack <= found) & (found <= high + slack))


def command(*arguments):
    run = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def by_the_command(model, rows, folder, extension):
    """Scores and labels of `oblivio predict` on the saved file."""
    data = folder / f"rows.{extension}"
    (rows.to_csv if extension == "csv" else rows.to_parquet)(data, index=False)
    command("predict", model, data, "-o", folder / "scores.parquet")
    return pd.read_parquet(folder / "scores.parquet")


@functools.cache
def program_of_the_crate():
    # Compiled by `make build-tests`, as the extension that is tested here.
    target = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parents[2] / "target"))
    return target / "debug/examples/predict"


def by_the_crate(model, rows):
    """Scores of `Model::predict` in a program of a few lines of Rust."""
    numbers = [c for c in rows if rows[c].dtype.kind in "fi"]
    columns = [
        {"name": c, "numbers": rows[c].tolist()} if c in numbers else {"name": c, "texts": rows[c].tolist()}
        for c in rows
    ]
    run = subprocess.run(
        [program_of_the_crate(), str(model)],
        input=json.dumps(columns),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return np.array(json.loads(run.stdout)).T


def four_ways(model, rows, tmp_path):
    """Python, the command line, Rust and onnxruntime give the same scores."""
    saved = tmp_path / "model.oblivio"
    model.save(saved)
    classifies = hasattr(model, "decision_function")
    expected = model.decision_function(rows) if classifies else model.predict(rows)
    for extension in ("csv", "parquet"):
        written = by_the_command(saved, rows, tmp_path, extension)
        same(written[[c for c in written if c.startswith("score")]].to_numpy(), expected, within=1e-12)
        if classifies:
            assert written["label"].tolist() == model.predict(rows).astype(str).tolist()
    same(by_the_crate(saved, rows), expected, within=1e-12)
    command("export", saved, "-o", tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == model.to_onnx()
    outputs = Session(model.to_onnx()).run(rows)
    same(outputs["score"], expected)
    if classifies:
        assert outputs["label"].astype(str).tolist() == model.predict(rows).astype(str).tolist()


@pytest.mark.parametrize("align", [None, "quantile"])
@pytest.mark.parametrize("learner", ["ridge", "logistic"])
def test_four_ways_on_admissions(tmp_path, align, learner):
    admissions = ob.datasets.admissions(600)
    sensitive = list(admissions.sensitive.columns)
    X = pd.concat([admissions.features, admissions.sensitive], axis=1)
    target = admissions.targets.iloc[:, 0]
    parameters = {"sensitive_feature_ids": sensitive, "standardize": True, "align": align}
    if learner == "ridge":
        model = ob.ObliviousRidge(**({"standardize": False} | parameters), handle_unknown="population")
    else:
        model = ob.ObliviousLogistic(**({"standardize": False} | parameters), handle_unknown="population")
        target = np.where(target > np.median(target), "admitted", "refused")
    four_ways(model.fit(X.iloc[:400], target[:400]), X.iloc[400:].reset_index(drop=True), tmp_path)


@pytest.mark.slow
def test_four_ways_on_adult(tmp_path):
    path = DATA / "adult_train.csv"
    if not path.exists():
        pytest.skip(f"adult_train.csv is not in {DATA}: set OBLIVIO_DATA to the folder of the real tables")
    frame = pd.read_csv(path)
    target = frame.pop("income").str.strip(" .")
    model = ob.ObliviousLogistic(
        sensitive_feature_ids=["sex", "race", "age"], standardize=True, n_components=150, handle_unknown="population"
    )
    model.fit(frame.iloc[:8000], target[:8000])
    four_ways(model, frame.iloc[8000:9000].reset_index(drop=True), tmp_path)
