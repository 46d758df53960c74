"""The command and the estimator are the same program: bit for bit on the same file, seed and settings."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import oblivio as ob

COMMAND = Path(sys.executable).with_name("oblivio")


def run(*arguments, code=0):
    done = subprocess.run(
        [COMMAND, *map(str, arguments)], capture_output=True, encoding="utf-8", timeout=900, check=False
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "admissions.csv"
    table = ob.datasets.admissions(300, random_state=3)
    table.sensitive.join(table.features).join(table.targets[["success"]]).to_csv(path, index=False)
    return path


def scores(text):
    return pd.read_csv(text)["score"].to_numpy()


CASES = {
    "default": ([], {}),
    "seeded half": (["--reference", "half", "--seed", 5], {"reference": "half", "random_state": 5}),
    "median": (
        ["--gamma", "median", "--seed", 9, "--alpha", 0.1],
        {"gamma": "median", "random_state": 9, "alpha": 0.1},
    ),
    "m-oblivious": (
        ["--mode", "m-oblivious", "--strength", 0.5, "--intercept"],
        {"mode": "m-oblivious", "strength": 0.5, "fit_intercept": True},
    ),
    "plain": (["--mode", "plain", "--kernel", "laplacian"], {"mode": "plain", "kernel": "laplacian"}),
    "poly": (
        ["--kernel", "poly", "--degree", 2, "--coef0", 0.5, "--gamma", 0.1, "--alpha", 10],
        {"kernel": "poly", "degree": 2, "coef0": 0.5, "gamma": 0.1, "alpha": 10},
    ),
    "expression": (
        ["--kernel", "rbf(gamma=0.25) + 0.5 * linear"],
        {"kernel": ob.Kernel("rbf", gamma=0.25) + 0.5 * ob.Kernel("linear")},
    ),
    "uniform": (
        ["--cells", 3, "--binning", "uniform", "--sensitive-bounds", "age=15:80"],
        {"cells": 3, "binning": "uniform", "sensitive_bounds": {"age": (15, 80)}},
    ),
    "landmarks": (["--components", 40], {"n_components": 40}),
    "landmarks, half": (
        ["--components", 40, "--landmarks", "uniform", "--reference", "half", "--seed", 5, "--intercept"],
        {"n_components": 40, "landmarks": "uniform", "reference": "half", "random_state": 5, "fit_intercept": True},
    ),
    "landmarks, m-oblivious": (
        ["--components", 60, "--landmarks", "k-means++", "--mode", "m-oblivious"],
        {"n_components": 60, "landmarks": "k-means++", "mode": "m-oblivious"},
    ),
    "landmarks, tolerance": (
        ["--components", 200, "--tolerance", 0.01, "--mode", "plain"],
        {"n_components": 200, "tolerance": 0.01, "mode": "plain"},
    ),
    "waves": (["--components", 50, "--landmarks", "fourier"], {"n_components": 50, "landmarks": "fourier"}),
    "sensitive-free": (
        ["--mode", "sensitive-free", "--strength", 0.8, "--intercept"],
        {"mode": "sensitive-free", "strength": 0.8, "fit_intercept": True},
    ),
    "eta": (["--mode", "sensitive-free", "--eta", 12.5], {"mode": "sensitive-free", "eta": 12.5}),
    "eta, landmarks": (
        ["--mode", "sensitive-free", "--eta", 12.5, "--components", 40],
        {"mode": "sensitive-free", "eta": 12.5, "n_components": 40},
    ),
    "pcg": (["--solver", "pcg"], {"solver": "pcg"}),
    "pcg, sensitive-free": (
        ["--solver", "pcg", "--mode", "sensitive-free", "--alpha", 0.1],
        {"solver": "pcg", "mode": "sensitive-free", "alpha": 0.1},
    ),
    "raw": (["--no-standardize", "--solver", "cholesky"], {"standardize": False, "solver": "cholesky"}),
}


@pytest.mark.filterwarnings("ignore::oblivio.OblivioWarning")
@pytest.mark.parametrize("sensitive", [["sex"], ["sex", "age"]], ids=",".join)
@pytest.mark.parametrize("case", CASES)
def test_parity(case, sensitive, file, tmp_path):
    options, parameters = CASES[case]
    if case == "uniform" and "age" not in sensitive:
        pytest.skip("has no continuous column")
    model_file, score_file = tmp_path / "model", tmp_path / "scores.csv"
    run("fit", file, "--sensitive", ",".join(sensitive), "--target", "success", "--drop", "region",
        *options, "-o", model_file)  # fmt: skip
    run("predict", model_file, file, "-o", score_file)

    frame = pd.read_csv(file)
    X, y = frame.drop(columns=["success", "region"]), frame["success"]
    model = ob.ObliviousRidge(
        sensitive_feature_ids=sensitive, **({"standardize": False} | {"standardize": True} | parameters)
    ).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), scores(score_file))

    loaded = ob.load(model_file)
    np.testing.assert_array_equal(loaded.predict(frame), scores(score_file))
    np.testing.assert_array_equal(loaded.dual_coef_, model.dual_coef_)
    assert loaded.cells_ == model.cells_

    saved, again = tmp_path / "saved", tmp_path / "again.csv"
    model.save(saved)
    run("predict", saved, file, "-o", again)
    np.testing.assert_array_equal(scores(again), scores(score_file))


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "classes.csv"
    table = ob.datasets.admissions(300, random_state=3)
    table.sensitive.join(table.features).join(table.targets[["admitted"]]).to_csv(path, index=False)
    return path


LEARNERS = {"svm": ob.ObliviousSVC, "logistic": ob.ObliviousLogistic}
CLASSIFICATIONS = {
    "default": ([], {}),
    "cost": (["--cost", 0.25, "--kernel", "laplacian"], {"C": 0.25, "kernel": "laplacian"}),
    "landmarks": (["--components", 30], {"n_components": 30}),
    "landmarks, half": (
        ["--components", 30, "--reference", "half", "--seed", 5],
        {"n_components": 30, "reference": "half", "random_state": 5},
    ),
    "balanced": (["--class-weight", "balanced"], {"class_weight": "balanced"}),
    "balanced, landmarks": (
        ["--class-weight", "balanced", "--components", 30],
        {"class_weight": "balanced", "n_components": 30},
    ),
    "base rate": (["--threshold", "base-rate"], {"threshold": "base-rate"}),
    "rate, landmarks": (["--threshold", 0.3, "--components", 30], {"threshold": 0.3, "n_components": 30}),
    "no intercept": (["--intercept", "no", "--strength", 0.5], {"fit_intercept": False, "strength": 0.5}),
    "half": (
        ["--reference", "half", "--seed", 5, "--class-weight", "balanced"],
        {"reference": "half", "random_state": 5, "class_weight": "balanced"},
    ),
    "m-oblivious": (["--mode", "m-oblivious", "--seed", 2], {"mode": "m-oblivious", "random_state": 2}),
    "m-oblivious, landmarks": (
        ["--mode", "m-oblivious", "--components", 30],
        {"mode": "m-oblivious", "n_components": 30},
    ),
    "plain": (["--mode", "plain", "--gap", 1e-6], {"mode": "plain", "tol": 1e-6}),
    "sensitive-free": (["--mode", "sensitive-free"], {"mode": "sensitive-free"}),
    "eta": (["--mode", "sensitive-free", "--eta", 12.5], {"mode": "sensitive-free", "eta": 12.5}),
    "opportunity": (
        ["--mode", "sensitive-free", "--parity", "equal-opportunity"],
        {"mode": "sensitive-free", "parity": "equal-opportunity"},
    ),
    "epsilon": (["--mode", "sensitive-free", "--epsilon", 0.1], {"mode": "sensitive-free", "epsilon": 0.1}),
    "interior": (["--solver", "interior"], {"solver": "interior"}),
}
MACHINES_ALONE = {"epsilon", "interior"}
OF_THREE = ["default", "landmarks", "balanced, landmarks", "base rate", "m-oblivious", "sensitive-free"]


@pytest.mark.filterwarnings("ignore::oblivio.OblivioWarning")
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    ("target", "case"), [*[("admitted", case) for case in CLASSIFICATIONS], *[("school", case) for case in OF_THREE]]
)
def test_parity_of_classes(case, target, learner, classes, tmp_path):
    """Two classes that are words, and three."""
    options, parameters = CLASSIFICATIONS[case]
    if case in MACHINES_ALONE and learner != "svm":
        pytest.skip("is for machines alone")
    model_file, score_file = tmp_path / "model", tmp_path / "scores.csv"
    run("fit", classes, "--sensitive", "sex", "--target", target, "--drop", "region,age", "--learner", learner,
        *options, "-o", model_file)  # fmt: skip
    run("predict", model_file, classes, "-o", score_file)
    told = pd.read_csv(score_file)

    frame = pd.read_csv(classes)
    X, y = frame.drop(columns=[target, "region", "age"]), frame[target]
    model = LEARNERS[learner](sensitive_feature_ids=["sex"], standardize=True, **parameters).fit(X, y)
    columns = [column for column in told if column.startswith("score")]
    assert len(columns) == (1 if target == "admitted" else 3)
    np.testing.assert_array_equal(model.decision_function(X).reshape(300, -1), told[columns])
    np.testing.assert_array_equal(model.predict(X), told["label"])
    if learner == "logistic":
        chances = model.predict_proba(X)
        probabilities = told[[column for column in told if column.startswith("probability")]].to_numpy()
        np.testing.assert_allclose(probabilities, chances if target == "school" else chances[:, 1:], rtol=1e-13)

    loaded = ob.load(model_file)
    assert type(loaded) is LEARNERS[learner] and loaded.classes_.tolist() == model.classes_.tolist()
    np.testing.assert_array_equal(loaded.decision_function(frame), model.decision_function(X))
    np.testing.assert_array_equal(loaded.predict(frame), told["label"])
    np.testing.assert_array_equal(loaded.threshold_, model.threshold_)

    saved, again = tmp_path / "saved", tmp_path / "again.csv"
    model.save(saved)
    run("predict", saved, classes, "-o", again)
    pd.testing.assert_frame_equal(pd.read_csv(again), told, check_exact=True)


@pytest.mark.filterwarnings("ignore::oblivio.OblivioWarning")
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("values", [[0, 1], [-1.0, 2.0], [10, 9, -1]], ids=str)
@pytest.mark.parametrize("components", [None, 30])
def test_classes_that_are_numbers(components, values, learner, classes, tmp_path):
    frame = pd.read_csv(classes)
    order = np.argsort(np.argsort(frame["gpa"] + frame["test"] / 400)) * len(values) // 300
    frame["admitted"] = np.array(values)[order]
    frame.to_csv(tmp_path / "numbers.csv", index=False)
    landmarks = ["--components", components] if components else []
    run("fit", tmp_path / "numbers.csv", "--sensitive", "sex", "--target", "admitted", "--drop", "region,age",
        "--learner", learner, *landmarks, "-o", tmp_path / "model")  # fmt: skip
    run("predict", tmp_path / "model", tmp_path / "numbers.csv", "-o", tmp_path / "scores.csv")
    told = pd.read_csv(tmp_path / "scores.csv")
    loaded = ob.load(tmp_path / "model")
    assert loaded.classes_.tolist() == sorted(values)
    np.testing.assert_array_equal(loaded.predict(frame), told["label"])
    X = frame.drop(columns=["admitted", "region", "age"])
    model = LEARNERS[learner](sensitive_feature_ids=["sex"], standardize=True, n_components=components)
    model.fit(X, frame["admitted"])
    columns = [column for column in told if column.startswith("score")]
    np.testing.assert_array_equal(model.decision_function(X).reshape(300, -1), told[columns])
    np.testing.assert_array_equal(model.predict(X), told["label"])


@pytest.mark.filterwarnings("ignore::oblivio.OblivioWarning")
@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        *[(["--mode", mode], {"mode": mode}) for mode in ("oblivious", "m-oblivious", "plain", "sensitive-free")],
        (["--strength", 0.5, "--intercept"], {"strengths": (0.5,), "fit_intercept": True}),
        (["--reference", "half", "--seed", 5], {"reference": "half", "random_state": 5}),
        (["--components", 40], {"n_components": 40}),
    ],
    ids=str,
)
def test_parity_of_the_path(options, parameters, file, tmp_path):
    told = run("fit", file, "--sensitive", "sex", "--target", "success", "--drop", "region,age", "--alpha", "auto",
               *options, "-o", tmp_path / "model", "--json")  # fmt: skip
    run("predict", tmp_path / "model", file, "-o", tmp_path / "scores.csv")
    frame = pd.read_csv(file)
    X, y = frame.drop(columns=["success", "region", "age"]), frame["success"]
    model = ob.ObliviousRidgeCV(gammas=None, standardize=True, sensitive_feature_ids="sex", **parameters)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), scores(tmp_path / "scores.csv"))
    assert ob.load(tmp_path / "model").alpha == model.alpha_
    assert json.loads(told.stdout)


@pytest.mark.parametrize("learner", LEARNERS)
def test_refresh_of_classes_is_the_same_from_both(learner, classes, tmp_path):
    columns = ["--sensitive", "sex", "--target", "school", "--drop", "region,age,admitted"]
    run("fit", classes, *columns, "--learner", learner, "-o", tmp_path / "m")
    later = ob.datasets.admissions(400, random_state=4)
    later = later.sensitive.join(later.features)
    later.to_csv(tmp_path / "later.csv", index=False)
    run("refresh", tmp_path / "m", tmp_path / "later.csv", "--min-rows", 5, "-o", tmp_path / "m2")
    model = ob.load(tmp_path / "m")
    assert len(model.refresh(later, min_rows=5)) == 3
    np.testing.assert_array_equal(ob.load(tmp_path / "m2").offsets_, model.offsets_)


def test_parity_beyond_the_sample(tmp_path):
    """With more rows than the sample, in several files, in batches: still the same bits."""
    table = ob.datasets.admissions(90_000, random_state=1)
    frame = table.sensitive.join(table.features).join(table.targets[["success"]])
    frame[:50_000].to_parquet(tmp_path / "part-1.parquet")
    frame[50_000:].to_csv(tmp_path / "part-2.csv", index=False)
    run("fit", tmp_path / "part-*", "--sensitive", "sex,age", "--cells", 7, "--target", "success", "--drop", "region",
        "--components", 30, "-o", tmp_path / "model")  # fmt: skip
    run("predict", tmp_path / "model", tmp_path / "part-*", "-o", tmp_path / "scores.csv")
    X, y = frame.drop(columns=["success", "region"]), frame["success"]
    model = ob.ObliviousRidge(n_components=30, cells=7, sensitive_feature_ids=["sex", "age"], standardize=True)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), scores(tmp_path / "scores.csv"))


def test_features_are_the_same_from_both(file, tmp_path):
    run("fit", file, "--sensitive", "sex", "--drop", "region,age,success", "--components", 12, "-o", tmp_path / "z")
    run("transform", tmp_path / "z", file, "-o", tmp_path / "z.csv")
    frame = pd.read_csv(file).drop(columns=["region", "age", "success"])
    transformer = ob.ObliviousTransformer(n_components=12, sensitive_feature_ids=["sex"], standardize=True)
    expected = transformer.fit_transform(frame)
    np.testing.assert_array_equal(pd.read_csv(tmp_path / "z.csv").to_numpy(), expected)
    np.testing.assert_array_equal(ob.load(tmp_path / "z").transform(frame), expected)


def test_refresh_is_the_same_from_both(file, tmp_path):
    run("fit", file, "--sensitive", "sex", "--target", "success", "--drop", "region,age", "-o", tmp_path / "m")
    later = ob.datasets.admissions(400, random_state=4)
    later = later.sensitive.join(later.features)
    later.to_csv(tmp_path / "later.csv", index=False)
    told = run("refresh", tmp_path / "m", tmp_path / "later.csv", "--min-rows", 5, "-o", tmp_path / "m2", "--json")
    model = ob.load(tmp_path / "m")
    drift = model.refresh(later, min_rows=5)
    cells = json.loads(told.stdout)["cells"]
    assert [cell["mean-now"] for cell in cells] == [moved.mean_after for moved in drift]
    np.testing.assert_array_equal(ob.load(tmp_path / "m2").offsets_, model.offsets_)


def test_inspect_reads_models_saved_from_python(file, tmp_path):
    frame = pd.read_csv(file)
    model = ob.ObliviousRidge(sensitive_feature_ids=["sex"], alpha=0.25, standardize=True)
    model.fit(frame.drop(columns=["success", "region", "age"]), frame["success"])
    model.save(tmp_path / "model")
    text = run("inspect", tmp_path / "model").stdout
    assert "sex" in text and "success" in text and "0.25" in text
    card = json.loads(run("inspect", "--json", tmp_path / "model").stdout)
    assert "oblivious" in json.dumps(card)


@pytest.mark.parametrize(
    "kind", [ob.ObliviousTransformer(standardize=False, n_components=5), ob.ObliviousKernel(standardize=False)]
)
def test_the_command_refuses_models_it_cannot_use(kind, table, tmp_path):
    X, s, _ = table
    kind.fit(X, sensitive_features=s).save(tmp_path / "model")
    X.to_csv(tmp_path / "x.csv", index=False)
    message = run("predict", tmp_path / "model", tmp_path / "x.csv", code=1).stderr
    assert "panicked" not in message and "model" in message


def test_weights_are_the_weights_of_the_command(file, tmp_path):
    frame = pd.read_csv(file)
    frame["w"] = np.arange(len(frame)) % 3
    frame.to_csv(tmp_path / "weighted.csv", index=False)
    columns = ["--sensitive", "sex", "--target", "success", "--drop", "region,age", "--weights", "w"]
    run("fit", tmp_path / "weighted.csv", *columns, "-o", tmp_path / "model")
    run("predict", tmp_path / "model", tmp_path / "weighted.csv", "-o", tmp_path / "scores.csv")
    X = frame.drop(columns=["success", "region", "age", "w"])
    model = ob.ObliviousRidge(sensitive_feature_ids="sex", standardize=True)
    model.fit(X, frame["success"], sample_weight=frame["w"])
    np.testing.assert_array_equal(model.predict(X), scores(tmp_path / "scores.csv"))


@pytest.mark.parametrize("name", ["admissions", "grades", "ridge-1", "ridge-2"])
def test_datasets_are_those_of_the_command(name, tmp_path):
    run("simulate", name, "--rows", 40, "--seed", 11, "-o", tmp_path / "t.csv")
    written = pd.read_csv(tmp_path / "t.csv")
    if name.startswith("ridge"):
        table = ob.datasets.ridge_experiment(40, experiment=int(name[-1]), random_state=11)
    else:
        table = getattr(ob.datasets, name)(40, random_state=11)
    shared = [column for column in table.frame.columns if column in written.columns]
    assert len(shared) >= 3
    for column in shared:
        assert written[column].tolist() == table.frame[column].tolist()


def test_version_and_exit_codes():
    assert run("--version").stdout.strip() == f"oblivio {ob.__version__}"
    assert "Usage" in run("--help").stdout
    assert "Usage" in run("fit", "--nonsense", code=2).stderr
    message = run("fit", "absent.csv", "--mode", "plain", "--target", "y", "-o", "m", code=1).stderr
    assert "absent.csv" in message and "Traceback" not in message
    module = subprocess.run(
        [sys.executable, "-m", "oblivio", "--version"], capture_output=True, encoding="utf-8", check=True
    )
    assert module.stdout.strip() == f"oblivio {ob.__version__}"
    assert (
        subprocess.run([sys.executable, "-m", "oblivio", "nonsense"], capture_output=True, check=False).returncode == 2
    )


@pytest.mark.filterwarnings("ignore::oblivio.OblivioWarning")
@pytest.mark.parametrize(
    ("options", "parameters"),
    [
        (["--intervals"], {"intervals": "auto"}),
        (["--intervals", "folds", "--seed", 4], {"intervals": "folds", "random_state": 4}),
        (["--align", "quantile", "--intervals", "auto"], {"align": "quantile", "intervals": "auto"}),
    ],
    ids=["loo", "folds", "aligned"],
)
def test_parity_of_intervals(options, parameters, file, tmp_path):
    model_file, score_file = tmp_path / "model", tmp_path / "scores.csv"
    run("fit", file, "--sensitive", "sex", "--target", "success", "--drop", "region,age", *options, "-o", model_file)
    told = run("predict", model_file, file, "--coverage", 0.8, "-o", score_file, "--json").stdout
    cells = json.loads(told)["intervals"]["cells"]

    frame = pd.read_csv(file)
    X, y = frame.drop(columns=["success", "region", "age"]), frame["success"]
    model = ob.ObliviousRidge(sensitive_feature_ids=["sex"], standardize=True, **parameters).fit(X, y)
    ends = pd.read_csv(score_file)[["lower", "upper"]].to_numpy()
    np.testing.assert_array_equal(model.predict_interval(X, coverage=0.8), ends)
    np.testing.assert_array_equal(ob.load(model_file).predict_interval(frame, coverage=0.8), ends)
    found = model.interval_coverage(X, y, coverage=0.8)
    assert list(found["cell"]) == [cell["cell"] for cell in cells]
    assert list(found["covered"]) == [cell["covered"] for cell in cells]


@pytest.mark.parametrize("role", ["sensitive", "feature"])
@pytest.mark.parametrize(
    "levels",
    [
        ["1", "1.0"],
        ["1.0", "2.0"],
        ["1e5", "100000"],
        ["9007199254740992", "9007199254740993"],
        ["True", "False"],
        ["true", "True"],
        [" a", "a"],
        ["NA", "1"],
        ["NaN", "1"],
        ["0", "1"],
        ["false", "true"],
    ],
    ids=str,
)
def test_a_csv_file_has_the_categories_of_the_model(levels, role, tmp_path):
    rows = np.arange(240)
    X = pd.DataFrame({"x": np.random.default_rng(0).normal(size=240)})
    c = pd.DataFrame({"c": np.array(levels, dtype=object)[rows % 2]})
    frame, y = X.join(c), X["x"] + 3.0 * (rows % 2)
    if role == "sensitive":
        model = ob.ObliviousRidge(standardize=False).fit(X, y, sensitive_features=c)
        expected = model.predict(X, sensitive_features=c)
    else:
        model = ob.ObliviousRidge(standardize=False).fit(frame, y)
        expected = model.predict(frame)
    model.save(tmp_path / "model")
    frame.to_csv(tmp_path / "table.csv", index=False)
    run("predict", tmp_path / "model", tmp_path / "table.csv", "-o", tmp_path / "scores.csv")
    np.testing.assert_allclose(scores(tmp_path / "scores.csv"), expected, rtol=1e-12)
    if role == "sensitive":
        run("refresh", tmp_path / "model", tmp_path / "table.csv", "-o", tmp_path / "renewed")
        assert [rows for _, rows in ob.load(tmp_path / "renewed").cells_] == [120, 120]


def test_numbers_that_are_categories_may_be_spelt_otherwise(tmp_path):
    X = pd.DataFrame({"x": np.random.default_rng(0).normal(size=90)})
    c = np.arange(90) % 3
    model = ob.ObliviousRidge(standardize=False).fit(X, X["x"] + c, sensitive_features=pd.DataFrame({"c": c}))
    model.save(tmp_path / "model")
    spelt = np.array(["0", "1.0", "2e0"], dtype=object)[c]
    X.join(pd.DataFrame({"c": spelt})).to_csv(tmp_path / "table.csv", index=False)
    run("predict", tmp_path / "model", tmp_path / "table.csv", "-o", tmp_path / "scores.csv")
    expected = model.predict(X, sensitive_features=pd.DataFrame({"c": c}))
    np.testing.assert_allclose(scores(tmp_path / "scores.csv"), expected, rtol=1e-12)


def test_names_in_a_file_do_nothing_to_a_terminal(tmp_path):
    X = pd.DataFrame({"a\x1b[2J\nremark: all is well": np.arange(60.0) % 7, "b": np.arange(60.0)})
    S = pd.DataFrame({"s\x1b]0;": np.array(["F\x07", "M\n  sex=X  999"], dtype=object)[np.arange(60) % 2]})
    model = ob.ObliviousRidge(standardize=False).fit(X, X["b"], sensitive_features=S)
    model.refresh(X, sensitive_features=S, date="then\x9b2J\nnow")
    model.save(tmp_path / "model")
    out = run("inspect", tmp_path / "model").stdout
    assert not [c for c in out if (ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160]
    assert "\nremark: all is well" not in out and "\n  sex=X  999" not in out and "\nnow" not in out


@pytest.mark.parametrize("learner", ["svm", "logistic"])
@pytest.mark.parametrize("mode", ["plain", "sensitive-free", "oblivious"])
def test_a_new_category_of_a_feature_is_counted_in_every_mode(learner, mode, tmp_path):
    rows = np.arange(120)
    frame = pd.DataFrame(
        {"x": rows % 7, "work": np.array(["a", "b", "c"])[rows % 3], "sex": np.array(["F", "M"])[rows % 2]}
    )
    frame["y"] = np.where(rows % 7 > 3, "yes", "no")
    frame.to_csv(tmp_path / "table.csv", index=False)
    run("fit", tmp_path / "table.csv", "--sensitive", "sex", "--target", "y", "--learner", learner,
        "--mode", mode, "--components", 5, "-o", tmp_path / "model")  # fmt: skip
    frame.assign(work="d").to_csv(tmp_path / "new.csv", index=False)
    found = run("predict", tmp_path / "model", tmp_path / "new.csv", "-o", tmp_path / "s.csv")
    assert "120 values are of a feature's category that was not there at the fit" in found.stderr


def test_categories_in_a_parquet_file_may_be_booleans(tmp_path):
    b = np.arange(60) % 2 == 0
    frame = pd.DataFrame({"x": np.arange(60.0), "b": pd.Categorical(b)})
    frame.to_parquet(tmp_path / "coded.parquet")
    frame.assign(b=b).to_parquet(tmp_path / "plain.parquet")
    reports = [
        run("audit", tmp_path / name, "--sensitive", "b", "--score", "x", "--measures", "correlation-ratio").stdout
        for name in ("coded.parquet", "plain.parquet")
    ]
    assert reports[0] == reports[1] and "b" in reports[0]
