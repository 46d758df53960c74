"""Released tables: their columns, types and values, what is found of them, and the same bits as on the command line."""

import copy
import io
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import oblivio as ob

COMMAND = Path(sys.executable).with_name("oblivio")
DOCS = Path(__file__).parents[2] / "docs" / "release.md"
FEW = {"n_permutations": 19, "n_resamples": 19}
METHODS = ["quantile", "joint", "residual"]


def people(rows=240, seed=1):
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(["F", "M"], rows), rng.uniform(18, 70, rows).round(1)
    skill = rng.normal(size=rows)
    town = np.where(rng.uniform(size=rows) < 0.3 + 0.4 * (sex == "F"), "north", "south")
    return pd.DataFrame(
        {
            "sex": sex,
            "age": age,
            "income": skill + (sex == "F") + age / 40,
            "visits": rng.poisson(2 + 3 * (sex == "F")),
            "town": town,
            "member": rng.uniform(size=rows) < 0.3 + 0.4 * (sex == "M"),
            "hired": np.where(skill + rng.normal(size=rows) > 0, "yes", "no"),
        }
    )


S = ["sex", "age"]


def released(frame, **parameters):
    table = frame.drop(columns=["hired"])
    return table, ob.ObliviousRelease(sensitive_feature_ids=S, **parameters).fit_transform(table)


@pytest.mark.filterwarnings("ignore:categories have no mean:oblivio.OblivioWarning")
@pytest.mark.parametrize("method", METHODS)
def test_less_of_s_is_left(method):
    table, after = released(people(1500), method=method)
    gap = [abs(t["income"][t.sex == "F"].mean() - t["income"][t.sex == "M"].mean()) for t in (table, after)]
    assert gap[0] > 0.5
    assert gap[1] < 0.15 * gap[0]
    if method != "residual":
        shares = [
            abs((t.town[t.sex == "F"] == "north").mean() - (t.town[t.sex == "M"] == "north").mean())
            for t in (table, after)
        ]
        assert shares[0] > 0.25
        assert shares[1] < 0.2 * shares[0]


def test_a_pandas_frame_keeps_its_columns_types_index_and_sensitive_features():
    frame = people()
    frame["small"] = frame.visits.astype("int8")
    frame["gaps"] = frame.visits.astype("Int64")
    frame["single"] = frame.income.astype("float32")
    frame["kind"] = pd.Categorical(frame.town, categories=["south", "north", "east"], ordered=True)
    frame["level"] = pd.Categorical(frame.visits.clip(upper=3))
    frame["word"] = frame.town.astype("string")
    frame["flag"] = frame.member.astype("boolean")
    frame.index = pd.Index(range(1000, 1000 + len(frame)), name="person")
    before = frame.copy()
    table, after = released(frame)
    assert isinstance(after, pd.DataFrame)
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_series_equal(after.dtypes, table.dtypes)
    assert after.index.equals(table.index) and list(after.columns) == list(table.columns)
    pd.testing.assert_frame_equal(after[S], table[S])
    for name in table.columns.drop(S):
        assert not after[name].equals(table[name]), name
    assert set(after.level.unique()) <= set(table.level.unique())
    assert after.visits.between(table.visits.min(), table.visits.max()).all()


def test_polars_and_pyarrow_get_the_same_values():
    table, expected = released(people())
    of = ob.ObliviousRelease(sensitive_feature_ids=S)
    frame = pl.from_pandas(table).with_columns(pl.col("town").cast(pl.Categorical), pl.col("visits").cast(pl.Int16))
    after = of.fit_transform(frame)
    assert isinstance(after, pl.DataFrame)
    assert after.schema == frame.schema
    same = after.to_pandas().astype(expected.dtypes)
    pd.testing.assert_frame_equal(same, expected)
    arrow = pa.Table.from_pandas(table, preserve_index=False)
    arrow = arrow.set_column(4, "town", arrow["town"].cast(pa.dictionary(pa.int8(), pa.string())))
    after = of.fit_transform(arrow)
    assert isinstance(after, pa.Table)
    assert after.schema.equals(arrow.schema)
    pd.testing.assert_frame_equal(after.to_pandas().astype(expected.dtypes), expected)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int16])
def test_an_array_stays_an_array_of_its_type(dtype):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 200)
    X = np.column_stack([group, 10 * rng.normal(size=200) + 5 * group, rng.poisson(3 + group)]).astype(dtype)
    after = ob.ObliviousRelease(sensitive_feature_ids=[0]).fit_transform(X)
    assert isinstance(after, np.ndarray) and after.dtype == dtype and after.shape == X.shape
    assert (after[:, 0] == X[:, 0]).all() and (after[:, 1:] != X[:, 1:]).any()
    apart = ob.ObliviousRelease().fit(X[:, 1:], sensitive_features=group)
    after = apart.transform(X[:, 1:], sensitive_features=group)
    assert after.dtype == dtype and after.shape == (200, 2)
    rows = apart.transform(X[:, 1:].tolist(), sensitive_features=group.tolist())
    assert np.allclose(rows, after, rtol=1e-6)


def test_an_array_keeps_every_bit_of_the_columns_that_are_not_released():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 200)
    X = np.column_stack([2**60 + 1 + 2**20 * group, rng.poisson(3 + 2 * group)])
    before = X.copy()
    after = ob.ObliviousRelease(sensitive_feature_ids=[0]).fit_transform(X)
    assert (before == X).all() and after.dtype == X.dtype
    assert (after[:, 0] == X[:, 0]).all() and (after[:, 1] != X[:, 1]).any()


def few_categories():
    """A release and a table of which the women are mostly of the first of three kinds."""
    rng = np.random.default_rng(0)
    sex = np.repeat(["F", "M"], 300)
    kind = np.where(sex == "F", rng.choice([1, 2, 3], 600, p=[0.8, 0.1, 0.1]), rng.choice([1, 2, 3], 600))
    release = ob.ObliviousRelease(sensitive_feature_ids=["sex"], random_state=0)
    return release, pd.DataFrame({"sex": sex, "kind": kind})


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(
    "kinds", [["c", "a", "b"], [30, 10, 20], [0.5, 2.5, 1.5], list(pd.date_range("2020", periods=3))]
)
def test_released_categories_that_a_later_frame_does_not_list_are_not_lost(kinds, ordered):
    release, frame = few_categories()
    frame["kind"] = pd.Categorical([kinds[k - 1] for k in frame.kind], categories=kinds, ordered=ordered)
    release.fit(frame)
    rows = (frame.kind == kinds[0]) & (frame.sex == "F")
    expected = release.transform(frame[rows])
    assert expected.kind.nunique() > 1
    for listed in [kinds[:1], kinds[1::-1]]:
        later = frame[rows].assign(kind=frame.kind[rows].cat.set_categories(listed, ordered=ordered))
        after = release.transform(later)
        assert after.kind.tolist() == expected.kind.tolist()
        assert after.kind.cat.ordered == ordered
        assert after.kind.cat.categories[: len(listed)].tolist() == listed
        assert after.kind.cat.categories.dtype == later.kind.cat.categories.dtype


def test_polars_and_pyarrow_lose_no_released_category():
    release, frame = few_categories()
    frame["kind"] = frame.kind.map({1: "c", 2: "a", 3: "b"})
    release.fit(frame)
    later = frame[(frame.kind == "c") & (frame.sex == "F")]
    expected = release.transform(later).kind.tolist()
    assert set(expected) == {"a", "b", "c"}
    columns = later.to_dict("list")
    after = release.transform(pl.DataFrame(columns, schema={"sex": pl.String, "kind": pl.Enum(["z", "c"])}))
    assert after["kind"].to_list() == expected
    assert after["kind"].dtype == pl.Enum(["z", "c", "a", "b"])
    for ordered in [False, True]:
        codes = pa.array([1] * len(later), pa.int8())
        kind = pa.DictionaryArray.from_arrays(codes, ["z", "c"], ordered=ordered)
        table = pa.table({"sex": columns["sex"], "kind": kind})
        after = release.transform(table)
        assert after.schema.equals(table.schema)
        assert after["kind"].to_pylist() == expected
        assert after["kind"].chunk(0).dictionary.to_pylist() == ["z", "c", "a", "b"]


def test_missing_values_are_refused_or_stay_missing():
    frame = people().drop(columns=["hired"])
    frame.loc[3, "income"] = np.nan
    frame.loc[5, "town"] = None
    with pytest.raises(ob.InvalidInputError, match="income"):
        ob.ObliviousRelease(sensitive_feature_ids=S).fit(frame)
    after = ob.ObliviousRelease(sensitive_feature_ids=S, missing_values="keep").fit_transform(frame)
    pd.testing.assert_frame_equal(after.isna(), frame.isna())
    numbers = frame[["age", "income"]]
    after = ob.ObliviousRelease(sensitive_feature_ids=["age"], missing_values="keep").fit_transform(numbers)
    assert after.income.isna().tolist() == numbers.income.isna().tolist()
    with pytest.raises(ob.InvalidInputError):
        ob.ObliviousRelease(sensitive_feature_ids=["age"]).fit(numbers)


def test_ranges_hold():
    frame = people().drop(columns=["hired"])
    release = ob.ObliviousRelease(sensitive_feature_ids=S, ranges={"income": (0, 2)})
    with pytest.warns(ob.OblivioWarning, match="outside the range"):
        after = release.fit_transform(frame)
    assert after.income.between(0, 2).all()
    for wrong in [{"town": (0, 1)}, {"incme": (0, 1)}, {"income": (2, 1)}, {"income": 3}, [0, 1]]:
        with pytest.raises(ob.InvalidInputError):
            ob.ObliviousRelease(sensitive_feature_ids=S, ranges=wrong).fit(frame)


def test_new_rows_need_s_and_the_columns_of_the_fit():
    frame = people().drop(columns=["hired"])
    X = frame.drop(columns=S)
    release = ob.ObliviousRelease().fit(X, sensitive_features=frame[S])
    with pytest.raises(ob.InvalidInputError, match="needs them to transform"):
        release.transform(X)
    with pytest.raises(ValueError, match="feature names"):
        release.transform(X[X.columns[::-1]], sensitive_features=frame[S])
    strange = frame[S].assign(sex="Q")
    with pytest.raises(ob.UnknownCategoryError):
        release.transform(X, sensitive_features=strange)
    later = people(50, seed=2).drop(columns=["hired"])
    assert release.transform(later[X.columns], sensitive_features=later[S]).shape == (50, 4)


def test_without_s_nothing_changes():
    X = people()[["income", "visits", "town"]]
    pd.testing.assert_frame_equal(ob.ObliviousRelease().fit_transform(X), X)


def test_saved_pickled_and_copied_it_is_the_same(tmp_path):
    frame = people().drop(columns=["hired"])
    release = ob.ObliviousRelease(sensitive_feature_ids=S, strength=0.5, random_state=3).fit(frame)
    expected = release.transform(frame)
    path = tmp_path / "r.oblivio"
    release.save(path)
    loaded = ob.load(path)
    assert (loaded.method, loaded.strength) == ("quantile", 0.5)
    for other in (pickle.loads(pickle.dumps(release)), copy.deepcopy(release), loaded):
        pd.testing.assert_frame_equal(other.transform(frame), expected)
    # Other columns of a frame pass a release that was read from a file.
    more = frame.assign(note="x")
    pd.testing.assert_frame_equal(loaded.transform(more)[frame.columns], expected)
    assert path.read_bytes() == release.model_.to_bytes()


def test_it_is_at_home_in_scikit_learn():
    frame = people(400)
    table, target = frame.drop(columns=["hired", "town", "sex"]), frame["hired"]
    release = ob.ObliviousRelease(sensitive_feature_ids=["age"])
    pipeline = make_pipeline(release, LogisticRegression(max_iter=1000)).fit(table, target)
    assert pipeline.predict(table).shape == (400,)
    assert release.fit(table).get_feature_names_out().tolist() == list(table.columns)
    array = table.to_numpy(dtype=float)
    named = clone(release).set_params(sensitive_feature_ids=[0]).set_output(transform="pandas").fit_transform(array)
    assert list(named.columns) == [f"x{k}" for k in range(array.shape[1])]
    assert clone(release).get_params() == release.get_params()


CASES = {
    "default": ([], {}),
    "residual": (["--method", "residual", "--seed", 5], {"method": "residual", "random_state": 5}),
    "strength": (["--strength", 0.5, "--cells", 4], {"strength": 0.5, "cells": 4}),
    "range": (["--range", "income=0:3", "--cells", 3], {"ranges": {"income": (0, 3)}, "cells": 3}),
    "cells": (
        ["--conditional-mean", "cells", "--binning", "uniform", "--sensitive-bounds", "age=18:70", "--cells", 3],
        {"conditional_mean": "cells", "binning": "uniform", "sensitive_bounds": {"age": (18, 70)}, "cells": 3},
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.filterwarnings("ignore::oblivio.OblivioWarning")
def test_the_command_line_gives_the_same_bits(case, tmp_path):
    arguments, parameters = CASES[case]
    frame = people()
    data, out, model = (tmp_path / name for name in ("people.csv", "out.csv", "r.oblivio"))
    frame.to_csv(data, index=False)
    command = [
        COMMAND, "release", data, "--sensitive", "sex,age", "--target", "hired", "-o", out, "--model", model,
        "--permutations", 19, "--resamples", 19, *arguments,
    ]  # fmt: skip
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, encoding="utf-8", timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr
    own = pd.read_csv(data)
    X = own.drop(columns=["sex", "age", "hired"])
    release = ob.ObliviousRelease(**parameters).fit(X, sensitive_features=own[S])
    expected = own.copy()
    expected[X.columns] = release.transform(X, sensitive_features=own[S])
    pd.testing.assert_frame_equal(pd.read_csv(out), expected, check_exact=True)
    assert model.read_bytes() == release.model_.to_bytes()
    found = release.report(X, own["hired"], sensitive_features=own[S], **FEW).to_dict()
    written = json.loads((tmp_path / "out.release.json").read_text(encoding="utf-8"))
    for key in set(found) - {"title", "notes"}:
        assert found[key] == written[key], key
    assert set(found["notes"]) <= set(written["notes"])


@pytest.fixture(scope="module")
def report():
    frame = people(600)
    X = frame.drop(columns=["hired", *S])
    return ob.ObliviousRelease().report(X, frame["hired"], sensitive_features=frame[S], **FEW)


def test_a_report_says_what_was_found(report, tmp_path):
    assert report.answer.splitlines()[0].endswith(".") and "180 held-out rows" in str(report)
    assert repr(report) == "<ReleaseReport of Release: quantile, 180 held-out rows>"
    assert "<script" not in report._repr_html_()
    measures = report.to_frame()
    against = measures[(measures.measure == "adversary") & (measures.against == "sex × age")].set_index("when")
    assert against.value["before"] > against.value["after"]
    columns = report.to_frame("columns")
    assert columns.name.tolist() == ["income", "visits", "town", "member"]
    assert (columns.changed > 0).all()
    assert "hired" in report.to_frame("utility").target.tolist()
    assert len(report.to_frame("path")) == 0
    with pytest.raises(ob.InvalidInputError, match="what must be one of"):
        report.to_frame("rows")
    report.to_html(tmp_path / "r.html")
    assert "not anonymised" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert json.loads(report.to_json())["schema"] == 1
    assert len(pd.read_csv(io.StringIO(report.to_csv()))) == len(measures)
    assert pickle.loads(pickle.dumps(report)).to_dict() == report.to_dict()


def test_a_report_leaves_the_estimator_as_it_is():
    frame = people()
    X = frame.drop(columns=["hired", *S])
    release = ob.ObliviousRelease()
    release.report(X, sensitive_features=frame[S], **FEW)
    assert not hasattr(release, "model_") and not hasattr(release, "n_features_in_")
    with pytest.raises(ob.InvalidInputError, match="no sensitive feature"):
        release.report(X)
    with pytest.raises(ob.InvalidInputError, match="same number of rows"):
        release.report(X, frame["hired"][:5], sensitive_features=frame[S])


def test_the_schema_is_documented(report):
    page = DOCS.read_text(encoding="utf-8")
    documented = set(re.findall(r"`([a-z-]+)`", page))
    assert set(report.to_dict()) <= documented
    assert set(report.to_dict()["columns"][0]) <= documented
    assert set(report.to_dict()["utility"][0]) <= documented
