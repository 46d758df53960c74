"""Audits: what is audited against what, the forms of a report, and the same numbers as on the command line."""

import copy
import csv
import io
import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import fairlearn.metrics
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.metrics import zero_one_loss

import oblivio as ob
from oblivio import metrics

DATA = Path(os.environ.get("OBLIVIO_DATA", Path(__file__).parents[3] / "shared" / "data"))
DOCS = Path(__file__).parents[2] / "docs" / "audit.md"
FEW = {"n_permutations": 19, "n_resamples": 19}
# What only the command line knows.
OF_THE_COMMAND = {"facts", "limits"}
IF_ASKED_FOR = {"bounds"}
OF_SCORES = [
    "correlation-ratio",
    "mean-gap",
    "beta",
    "beta-bound",
    "parity-difference",
    "parity-ratio",
    "hsic",
    "adversary",
    "adversary-linear",
    "wasserstein",
    "kolmogorov-smirnov",
]
OF_TRUTH = [
    "equalized-odds",
    "true-positive-gap",
    "false-positive-gap",
    "separation",
    "calibration",
    "error-gap",
]
OF_LABELS = ["beta", "beta-bound", "parity-difference", "parity-ratio", "hsic", "adversary"]


def people(rows=200, seed=1):
    """A table of scores and features that depend on sex and age, with labels and weights."""
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(["F", "M"], rows), rng.uniform(18, 70, rows)
    old = rng.normal(size=rows) + (sex == "F") + age / 30
    return pd.DataFrame(
        {
            "sex": sex,
            "age": age,
            "income": rng.normal(size=rows) + (sex == "F"),
            "town": rng.choice(["north", "south"], rows),
            "old": old,
            "new": old - (sex == "F") - age / 30 + 0.3 * rng.normal(size=rows),
            "hired": np.where(rng.uniform(size=rows) < 0.3 + 0.3 * (sex == "M"), "yes", "no"),
            "w": rng.uniform(0.5, 2.0, rows),
        }
    )


@pytest.fixture(scope="module")
def table():
    return people()


def measures(audit, subject=None, against=None):
    """The measures of a subject against an entry of S, in order."""
    findings = audit if isinstance(audit, list) else audit.findings
    return [f["measure"] for f in findings if subject in (None, f["subject"]) and against in (None, f["against"])]


def one(audit, measure, subject=None, against=None):
    (found,) = (
        f
        for f in audit.findings
        if f["measure"] == measure and subject in (None, f["subject"]) and against in (None, f["against"])
    )
    return found


def subjects(audit):
    return [(s["name"], s["role"]) for s in audit.to_dict()["subjects"]]


def same(found, other, but=()):
    """The same numbers, bit for bit."""
    assert len(found) == len(other) > 0
    for a, b in zip(found, other, strict=True):
        assert {k: v for k, v in a.items() if k not in but} == {k: v for k, v in b.items() if k not in but}


class TestSubjects:
    def test_scores(self, table):
        found = ob.audit(table["new"], table["sex"], **FEW)
        assert subjects(found) == [("new", "score")]
        assert measures(found) == OF_SCORES
        assert subjects(ob.audit(table["new"].to_numpy(), table["sex"], **FEW)) == [("score", "score")]

    def test_every_sensitive_column_and_all_together(self, table):
        found = ob.audit(table["new"], table[["sex", "age"]], **FEW)
        sex, age, both = found.to_dict()["against"]
        assert (sex["name"], age["name"], both["name"]) == ("sex", "age", "sex × age")
        assert both["columns"] == ["sex", "age"] and both["kinds"] == ["categorical", "continuous"]
        assert [len(entry["cells"]) for entry in (sex, age, both)] == [2, 4, 8]
        assert [cell["rows"] for cell in age["cells"]] == [50] * 4
        assert [(cell["label"], cell["brief"]) for cell in sex["cells"]] == [("sex=F", "F"), ("sex=M", "M")]
        assert sum(cell["share"] for cell in both["cells"]) == pytest.approx(1.0)
        assert measures(found, against="sex") == measures(found, against="sex × age") == OF_SCORES
        assert measures(found, against="age") == [*OF_SCORES, "distance-correlation"]

    def test_numbers_of_more_than_two_kinds_are_scores(self, table):
        deciles = pd.qcut(table["new"], 10, labels=False).rename("decile")
        assert subjects(ob.audit(deciles, table["sex"], **FEW)) == [("decile", "score")]
        assert measures(ob.audit(deciles, table["sex"], **FEW)) == OF_SCORES
        decided = (table["new"] > 0).astype(int)
        assert subjects(ob.audit({"decided": decided}, table["sex"], **FEW)) == [("decided", "label")]
        assert measures(ob.audit(decided, table["sex"], **FEW)) == ["correlation-ratio", *OF_LABELS]

    def test_before_and_after(self, table):
        found = ob.audit(table["new"], table["sex"], before=table["old"], **FEW)
        assert subjects(found) == [("old", "before"), ("new", "after")]
        assert one(found, "correlation-ratio", "old")["value"] > one(found, "correlation-ratio", "new")["value"]
        alone = [ob.audit(table[name], table["sex"], **FEW).findings for name in ("old", "new")]
        same(found.findings, [*alone[0], *alone[1]])

    def test_before_of_the_same_name(self, table):
        score = table["new"].rename("score")
        found = ob.audit(score, table["sex"], before=table["old"].rename("score"), **FEW)
        assert subjects(found) == [("score_before", "before"), ("score", "after")]
        found = ob.audit(score.to_numpy(), table["sex"], before=table["old"].to_numpy(), **FEW)
        assert subjects(found) == [("before", "before"), ("score", "after")]

    def test_several_scores(self, table):
        found = ob.audit({"b": table["new"], "a": list(table["old"]), 3: table["hired"]}, table["sex"], **FEW)
        assert subjects(found) == [("b", "score"), ("a", "score"), ("3", "label")]
        assert measures(found, "b") == measures(found, "a") == OF_SCORES
        assert measures(found, "3") == OF_LABELS
        one_score = ob.audit({"new": table["new"]}, table["sex"], before=table["old"], **FEW)
        same(one_score.findings, ob.audit(table["new"], table["sex"], before=table["old"], **FEW).findings)

    def test_features_together_and_one_by_one(self, table):
        found = ob.audit(table[["income", "town"]], table[["sex", "age"]], **FEW)
        assert subjects(found) == [("features", "features")]
        assert measures(found, against="sex") == ["hsic", "adversary", "adversary-linear"]
        ranked = found.to_dict()["features"]
        assert len(ranked) == 6
        assert (ranked[0]["feature"], ranked[0]["against"]) == ("income", "sex")
        values = [feature["hsic"]["value"] for feature in ranked]
        assert values == sorted(values, reverse=True)
        ratios = {f["feature"]: f["correlation-ratio"] for f in ranked if f["against"] == "sex"}
        assert ratios["town"] is None
        assert ratios["income"] == pytest.approx(float(metrics.correlation_ratio(table["income"], table["sex"], **FEW)))

    def test_features_and_labels(self, table):
        found = ob.audit(table[["income", "town"]], table["sex"], table["hired"], **FEW)
        assert subjects(found) == [("hired", "label"), ("features", "features")]
        assert measures(found, "hired") == OF_LABELS
        assert found.to_dict()["features"]

    def test_features_beside_scores(self, table):
        found = ob.audit(table["new"], table["sex"], features=table[["income", "town"]], **FEW)
        assert subjects(found) == [("new", "score")]
        assert {f["feature"] for f in found.to_dict()["features"]} == {"income", "town"}

    def test_labels_beside_scores_give_equalised_odds(self, table):
        found = ob.audit(table["new"], table["sex"], table["hired"], **FEW)
        assert subjects(found) == [("new", "score")]
        assert measures(found) == [*OF_SCORES[:6], *OF_TRUTH, *OF_SCORES[6:]]
        labels = table["hired"] == "yes"
        value = metrics.demographic_parity(table["new"], table["sex"], y=labels, kind="equalized-odds", **FEW)
        assert one(found, "equalized-odds")["value"] == float(value)
        found = ob.audit(table["new"], table["sex"], table["age"], **FEW)
        assert "equalized-odds" not in measures(found)
        assert any("`age` are not of two kinds" in note for note in found.to_dict()["notes"])

    def test_errors_and_outcomes_by_cell(self, table):
        found = ob.audit(table["new"], table["sex"], table["hired"], threshold=0.0, **FEW)
        right = (table["new"] >= 0.0) == (table["hired"] == "yes")
        profile = found.to_dict()["profiles"][0]
        cells = [cell["brief"] for cell in found.to_dict()["against"][0]["cells"]]
        for name, cell in zip(cells, profile["cells"], strict=True):
            here = table["sex"] == name
            assert cell["error"] == pytest.approx(1 - right[here].mean())
            assert cell["error-lower"] <= cell["error"] <= cell["error-upper"]
            assert sum(bin["rows"] for bin in cell["reliability"]) <= here.sum()
        frame = fairlearn.metrics.MetricFrame(
            metrics=zero_one_loss,
            y_true=table["hired"] == "yes",
            y_pred=table["new"] >= 0.0,
            sensitive_features=table["sex"],
        )
        assert one(found, "error-gap")["value"] == pytest.approx(frame.difference())
        page = found.to_html()
        assert 'id="errors"' in page and 'id="reliability"' in page

    def test_within_levels_of_a_factor(self, table):
        found = ob.audit(table["new"], table["sex"], control_features=table[["town"]], **FEW)
        assert found.to_dict()["control"] == ["town"]
        assert measures(found) == [
            "correlation-ratio",
            "mean-gap",
            "beta",
            "parity-difference",
            "parity-ratio",
            "conditional-parity",
            "wasserstein",
            "kolmogorov-smirnov",
        ]
        assert "sex given town" in found.answer
        assert any("hsic, adversaries and distance correlation" in note for note in found.to_dict()["notes"])
        with pytest.raises(ob.InvalidInputError, match="`sex`"):
            ob.audit(table["new"], table[["sex"]], control_features=table[["sex"]])

    def test_a_single_feature_is_a_frame_of_one_column(self, table):
        assert subjects(ob.audit(table[["income"]], table["sex"], **FEW)) == [("features", "features")]

    def test_the_same_numbers_as_single_measures(self, table):
        S = table[["sex", "age"]]
        found = ob.audit(table["new"], S, min_rows=1, random_state=3, **FEW)
        for measure, made in [
            ("correlation-ratio", metrics.correlation_ratio),
            ("beta", metrics.beta_dependence),
            ("parity-difference", metrics.demographic_parity),
            ("hsic", metrics.hsic),
            ("adversary", metrics.adversary),
        ]:
            value, finding = made(table["new"], S, random_state=3, **FEW), one(found, measure, against="sex × age")
            assert (float(value), *value.interval) == (finding["value"], finding["lower"], finding["upper"])
            assert (value.expected, value.p_value) == (finding["expected"], finding["p-value"])


FRAMES = {
    "pandas": lambda t: t,
    "pandas, objects": lambda t: t.astype(object),
    "pandas, categories": lambda t: t.assign(sex=t["sex"].astype("category")),
    "pandas, nullable": lambda t: t.convert_dtypes(),
    "polars": pl.from_pandas,
    "polars, categories": lambda t: pl.from_pandas(t).with_columns(pl.col("sex").cast(pl.Categorical)),
    "pyarrow": lambda t: pa.Table.from_pandas(t, preserve_index=False),
}


@pytest.mark.parametrize("native", FRAMES.values(), ids=FRAMES)
def test_frames_are_all_the_same(table, native):
    frame = native(table)
    S = frame.select(["sex", "age"]) if hasattr(frame, "select") else frame[["sex", "age"]]
    X = frame.select(["income", "town"]) if hasattr(frame, "select") else frame[["income", "town"]]

    def column(name):
        series = frame[name]
        # A chunked array has no name.
        return series if hasattr(series, "name") else pd.Series(series.to_numpy(), name=name)

    found = ob.audit(column("new"), S, column("hired"), before=column("old"), features=X, **FEW)
    plain = ob.audit(
        table["new"],
        table[["sex", "age"]],
        table["hired"],
        before=table["old"],
        features=table[["income", "town"]],
        **FEW,
    )
    assert found.to_dict() == plain.to_dict()
    assert (
        ob.audit(X, S, column("hired"), **FEW).to_dict()
        == ob.audit(table[["income", "town"]], table[["sex", "age"]], table["hired"], **FEW).to_dict()
    )


@pytest.mark.parametrize("make", [list, np.asarray, pl.Series, pa.array, lambda v: pa.chunked_array([v])], ids=range(5))
def test_columns_without_a_name_are_all_the_same(table, make):
    found = ob.audit(make(table["new"].to_numpy()), list(table["sex"]), before=make(table["old"].to_numpy()), **FEW)
    assert subjects(found) == [("before", "before"), ("score", "after")]
    plain = ob.audit(table["new"], table["sex"], before=table["old"], **FEW)
    same(found.findings, plain.findings, but=("subject", "against", "detail"))


@pytest.fixture(scope="module")
def found():
    """An audit of everything, with names that need quoting."""
    t = people()
    t["sex"] = t["sex"].map({"F": 'fe,"male"', "M": "männlich"})
    features, sensitive = t[["income", "town"]], t[["sex", "age"]]
    return ob.audit(t["new"], sensitive, t["hired"], before=t["old"], features=features, title="Hiring & <co>", **FEW)


@pytest.fixture(scope="module")
def schema():
    """The rows of the table in the documentation: keys, and the names in what they hold."""
    text = DOCS.read_text(encoding="utf-8").split("| key | what it holds |")[1].split("\n\n")[0]
    rows = (line.split("|")[1:3] for line in text.splitlines()[2:])
    return {key: re.findall("`([^`]+)`", holds) for keys, holds in rows for key in re.findall("`([^`]+)`", keys)}


class TestForms:
    def test_dictionary_follows_the_schema(self, found, schema):
        made = found.to_dict()
        assert set(schema) - OF_THE_COMMAND - IF_ASKED_FOR == set(made)
        assert set(made["resampling"]) == set(schema["resampling"])
        assert (made["rows"], made["effective-rows"], made["weighted"], made["threshold"]) == (200, 200.0, False, None)
        assert made["resampling"] == {"permutations": 19, "resamples": 19, "confidence": 0.95, "seed": 0}
        values = {"value", "expected", "critical", "p-value", "lower", "upper", "rows", "null"}
        for name, known in [
            ("subjects", {"name", "role"}),
            ("against", {"name", "columns", "kinds", "cells"}),
            ("findings", values | {"subject", "against", "measure", "detectable", "large", "further", "detail"}),
            ("profiles", {"subject", "against", "edges", "levels", "cells", "all"}),
            ("features", {"feature", "against", "hsic", "correlation-ratio"}),
        ]:
            assert made[name]
            assert all(set(entry) == known for entry in made[name]), name
            assert known <= set(schema[name]), name
        for entry in made["against"]:
            assert all(set(cell) == {"label", "brief", "rows", "share", "small"} for cell in entry["cells"])
            assert all(set(cell) <= set(schema["against"]) for cell in entry["cells"])
        of_cells = {"mean", "lower", "upper", "deviation", "rate", "shares"}
        of_labels = {"error", "error-lower", "error-upper", "reliability"}
        assert of_cells | of_labels <= set(schema["profiles"])
        for profile in made["profiles"]:
            against = next(entry for entry in made["against"] if entry["name"] == profile["against"])
            assert len(profile["cells"]) == len(against["cells"])
            for cell in [*profile["cells"], profile["all"]]:
                assert of_cells <= set(cell) <= of_cells | of_labels
                assert all(set(entry) <= set(schema["profiles"]) for entry in cell.get("reliability", []))
        assert all(set(feature["hsic"]) == values for feature in made["features"])
        assert {subject["role"] for subject in made["subjects"]} <= set(schema["subjects"])
        assert {finding["null"] for finding in made["findings"]} <= set(schema["findings"])
        assert all(isinstance(note, str) for note in made["notes"])

    def test_names_are_in_kebab_case(self, found):
        def names(value):
            if isinstance(value, dict):
                yield from value
                value = list(value.values())
            for part in value if isinstance(value, list) else []:
                yield from names(part)

        assert all(re.fullmatch("[a-z]+(-[a-z]+)*", name) for name in names(found.to_dict()))

    def test_findings_agree_with_themselves(self, found):
        for f in found.findings:
            assert f["detectable"] == (f["p-value"] <= 0.05)
            assert f["lower"] <= f["upper"]
            numbers = [f[name] for name in ("value", "expected", "critical", "p-value", "lower", "upper")]
            assert np.isfinite([*numbers, *f["further"].values()]).all()
            assert 0 < f["p-value"] <= 1

    def test_profiles_are_means_and_shares_of_cells(self, found):
        t = people()
        profile = next(p for p in found.to_dict()["profiles"] if (p["subject"], p["against"]) == ("new", "sex"))
        for sex, cell in zip("FM", profile["cells"], strict=True):
            scores = t["new"][t["sex"] == sex]
            assert cell["mean"] == pytest.approx(scores.mean())
            assert cell["deviation"] == pytest.approx(scores.std(ddof=0))
            assert cell["lower"] < cell["mean"] < cell["upper"]
            assert sum(cell["shares"]) == pytest.approx(1.0)
        assert profile["all"]["mean"] == pytest.approx(t["new"].mean())
        gap = abs(profile["cells"][0]["rate"] - profile["cells"][1]["rate"])
        assert one(found, "parity-difference", "new", "sex")["value"] == pytest.approx(gap)

    def test_frame(self, found):
        frame = found.to_frame()
        names = "subject against measure value expected critical p_value lower upper rows detectable large detail"
        assert list(frame.columns) == names.split()
        assert len(frame) == len(found.findings)
        kinds = {name: frame[name].dtype.kind for name in frame}
        assert all(kinds[name] == "f" for name in ("value", "expected", "critical", "p_value", "lower", "upper"))
        assert (kinds["rows"], kinds["detectable"], kinds["large"]) == ("i", "b", "b")
        for row, finding in zip(frame.to_dict("records"), found.findings, strict=True):
            finding = {name.replace("-", "_"): value for name, value in finding.items()}
            assert all(row[name] == finding[name] for name in names.split()[:-1])
            assert row["detail"] == finding["detail"] or (finding["detail"] is None and pd.isna(row["detail"]))

    def test_without_pandas_the_frame_is_its_columns(self, found, monkeypatch):
        monkeypatch.setitem(sys.modules, "pandas", None)
        columns = found.to_frame()
        assert isinstance(columns, dict)
        assert columns["p_value"] == [finding["p-value"] for finding in found.findings]

    def test_csv(self, found):
        rows = list(csv.DictReader(io.StringIO(found.to_csv(), newline="")))
        roles = dict(subjects(found))
        assert len(rows) == len(found.findings)
        for row, finding in zip(rows, found.findings, strict=True):
            assert row["role"] == roles[row["subject"]]
            for name in ("subject", "against", "measure"):
                assert row[name] == finding[name]
            for name in ("value", "expected", "critical", "p-value", "lower", "upper"):
                assert float(row[name.replace("-", "_")]) == finding[name]
            assert int(row["rows"]) == finding["rows"]
            assert [row[name] == "true" for name in ("detectable", "large")] == [
                finding["detectable"],
                finding["large"],
            ]
            assert row["detail"] == (finding["detail"] or "")
        assert any('fe,"male"' in row["detail"] for row in rows)
        frame = pd.read_csv(io.StringIO(found.to_csv()))
        assert set(found.to_frame().columns) | {"role"} == set(frame.columns)

    def test_json(self, found):
        assert json.loads(found.to_json()) == found.to_dict()
        again = ob._oblivio.AuditModel.from_json(found.to_json())
        assert found.to_dict() | json.loads(again.to_json()) == found.to_dict()
        with pytest.raises(ob.InvalidInputError, match="this is no audit"):
            ob._oblivio.AuditModel.from_json("{}")

    def test_page(self, found):
        page = found.to_html()
        assert isinstance(page, str)
        assert page.lstrip().lower().startswith("<!doctype html>") and page.lower().count("<html") == 1
        assert "Hiring &amp; &lt;co&gt;" in page and "<co>" not in page
        for words in ("share of variance explained", "β-dependence", "HSIC", "linear adversary", "Wasserstein"):
            assert words in page
        for finding in found.findings:
            value = finding["value"]
            if finding["subject"] == "new" and 0.0001 < value < 1:
                assert (f"{value:.3f}" if value >= 0.1 else f"{value:.4f}") in page, finding
        assert 'src="http' not in page
        assert ob._oblivio.__version__ in page

    def test_notebooks(self, found):
        shown = found._repr_html_()
        assert isinstance(shown, str) and "adversary" in shown and "<script" not in shown
        assert 'src="http' not in shown and len(shown) < len(found.to_html())

    def test_words(self, found):
        assert str(found) == found.answer
        headline = found.answer.splitlines()[0]
        assert headline.endswith((".", "!", ":"))
        assert repr(found) == f"<Audit of Hiring & <co>: {len(found.findings)} measures>"
        assert repr(ob.audit([1.0, 2.0] * 20, ["a", "b"] * 20, measures="beta")) == "<Audit of Audit: 1 measures>"

    @pytest.mark.parametrize("form", ["csv", "json", "html"])
    def test_files(self, found, form, tmp_path):
        write = getattr(found, f"to_{form}")
        path = tmp_path / f"report.{form}"
        path.write_text("what was there before")
        for target in (path, str(path)):
            assert write(target) is None
            assert path.read_bytes() == write().encode()
        assert list(tmp_path.iterdir()) == [path]
        with pytest.raises(FileNotFoundError, match="nowhere"):
            write(tmp_path / "nowhere" / "report")
        assert list(tmp_path.iterdir()) == [path]

    @pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))], ids=range(3))
    def test_copies(self, found, again):
        made = again(found)
        assert made is not found
        assert made.to_dict() == found.to_dict() and made.title == found.title
        assert made.to_html() == found.to_html() and made.answer == found.answer


class TestSettings:
    def test_labels_and_the_positive_one(self, table):
        sex, hired = table["sex"] == "F", table["hired"] == "yes"
        found = {
            label: ob.audit(table["hired"], table["sex"], pos_label=label, measures=["parity-ratio"], **FEW)
            for label in (None, "yes", "no")
        }
        rates = np.array([hired[sex].mean(), hired[~sex].mean()])
        assert one(found["yes"], "parity-ratio")["value"] == pytest.approx(rates.min() / rates.max())
        assert one(found["no"], "parity-ratio")["value"] == pytest.approx((1 - rates).min() / (1 - rates).max())
        assert found[None].findings == found["yes"].findings
        assert any("`yes` counts as a positive decision" in note for note in found[None].to_dict()["notes"])
        assert not found["yes"].to_dict()["notes"]
        assert subjects(found["no"]) == [("hired", "label")]
        with pytest.raises(ob.InvalidInputError, match="positive label `perhaps` is not known; choose one of: no, yes"):
            ob.audit(table["hired"], table["sex"], pos_label="perhaps")

    def test_threshold(self, table):
        found = ob.audit(table["new"], table["sex"], threshold=0.7, **FEW)
        assert found.to_dict()["threshold"] == 0.7
        decided = table["new"] >= 0.7
        rates = decided.groupby(table["sex"]).mean()
        assert one(found, "parity-difference")["value"] == pytest.approx(rates.max() - rates.min())
        assert not found.to_dict()["notes"]
        notes = ob.audit(table["new"], table["sex"], **FEW).to_dict()["notes"]
        assert any("`new`" in note and "the median" in note for note in notes)
        chances = 1 / (1 + np.exp(-table["new"]))
        notes = ob.audit(chances, table["sex"], **FEW).to_dict()["notes"]
        assert any("at least 0.5000" in note for note in notes)

    @pytest.mark.parametrize("kind", ["text", "numbers"])
    def test_missing_sensitive_values(self, table, kind):
        s = table["sex"].astype(object) if kind == "text" else table["age"].copy()
        s[[3, 8]] = None
        s = s.rename("column")
        with pytest.raises(
            ob.InvalidInputError, match="sensitive column `column` has 2 missing values, the first in row 3"
        ):
            ob.audit(table["new"], s, **FEW)
        found = ob.audit(table["new"], s, handle_missing="category", **FEW)
        cells = found.to_dict()["against"][0]["cells"]
        assert len(cells) == (3 if kind == "text" else 5)
        assert [(cell["label"], cell["rows"], cell["small"]) for cell in cells if cell["rows"] == 2] == [
            ("column missing", 2, True)
        ]
        assert measures(found) == OF_SCORES
        with pytest.raises(ob.InvalidInputError, match="choose one of: error, category"):
            ob.audit(table["new"], s, handle_missing="drop")

    def test_nothing_is_shown_of_a_cell_of_one_row(self, table):
        s = table["sex"].copy()
        s[5] = "X"
        for scores in (table["new"], table["hired"]):
            found = ob.audit(scores, s, **FEW).to_dict()
            cell = {"label": "sex=X", "brief": "X", "rows": 1, "share": 0.005, "small": True}
            assert found["against"][0]["cells"][2] == cell
            alone = found["profiles"][0]["cells"][2]
            assert {k: v for k, v in alone.items() if k != "shares"} == dict.fromkeys(
                ["mean", "lower", "upper", "deviation", "rate"]
            )
            assert alone["shares"] == []

    def test_small_cells_are_left_out_of_largest_differences(self, table):
        s = table["sex"].copy()
        s[table["new"].argsort()[-5:]] = "X"
        large = ob.audit(table["new"], s, min_rows=1, **FEW)
        small = ob.audit(table["new"], s, min_rows=6, **FEW)
        assert one(large, "mean-gap")["detail"].endswith(" and X")
        assert one(small, "mean-gap")["detail"] in ("between F and M", "between M and F")
        keep = s != "X"
        means = table["new"][keep].groupby(s[keep]).mean()
        assert one(small, "mean-gap")["further"]["in-units-of-the-score"] == pytest.approx(means.max() - means.min())
        assert one(small, "correlation-ratio") == one(large, "correlation-ratio")

    def test_weights(self, table):
        w = table["w"]
        found = ob.audit(table["new"], table[["sex"]], sample_weight=w, **FEW)
        made = found.to_dict()
        assert made["weighted"] is True
        assert made["effective-rows"] == pytest.approx(w.sum() ** 2 / (w**2).sum())
        shares = w.groupby(table["sex"]).sum() / w.sum()
        assert [cell["share"] for cell in made["against"][0]["cells"]] == pytest.approx(list(shares))
        value = metrics.correlation_ratio(table["new"], table["sex"], sample_weight=w, **FEW)
        assert one(found, "correlation-ratio")["value"] == float(value)
        mean = np.average(table["new"], weights=w)
        assert made["profiles"][0]["all"]["mean"] == pytest.approx(mean)
        with pytest.raises(ValueError, match="sample_weight"):
            ob.audit(table["new"], table["sex"], sample_weight=w[1:])

    def test_weights_that_add_up_to_one(self, table):
        w = table["w"]
        one, same = (ob.audit(table["new"], table["age"], sample_weight=k, **FEW).findings for k in (w, w / w.sum()))
        values = [[f["value"] for f in findings] for findings in (one, same)]
        assert values[0] == pytest.approx(values[1], abs=1e-9)

    def test_measures(self, table):
        found = ob.audit(table["new"], table["sex"], features=table[["income"]], measures=["hsic", "beta"], **FEW)
        assert measures(found) == ["beta", "hsic"]
        assert found.to_dict()["features"] == []
        assert measures(ob.audit(table["new"], table["sex"], measures="mean-gap", **FEW)) == ["mean-gap"]
        everything = ob.audit(table["new"], table["sex"], **FEW)
        assert found.findings == [f for f in everything.findings if f["measure"] in ("beta", "hsic")]
        with pytest.raises(
            ob.InvalidInputError, match="measure `eta` is not known; choose one of: correlation-ratio, "
        ):
            ob.audit(table["new"], table["sex"], measures=["eta"])

    def test_cells(self, table):
        for cells, count in [(2, 2), ("5", 5)]:
            found = ob.audit(table["new"], table["age"], cells=cells, measures="beta", **FEW)
            assert len(found.to_dict()["against"][0]["cells"]) == count
        found = ob.audit(
            table["new"], table[["age"]], cells=3, binning="uniform", sensitive_bounds={"age": (0, 90)}, **FEW
        )
        cells = found.to_dict()["against"][0]["cells"]
        assert [cell["rows"] for cell in cells] == np.histogram(table["age"], [0, 30, 60, 90])[0].tolist()
        whole = pd.Series(np.round(table["age"] / 10).astype(int), name="decade")
        for categorical, kind in [("auto", None), (["decade"], "categorical"), ([], "continuous")]:
            found = ob.audit(table["new"], whole, categorical_sensitive=categorical, measures="beta", **FEW)
            kinds = found.to_dict()["against"][0]["kinds"]
            assert kind is None or kinds == [kind]

    @pytest.mark.parametrize("seed", [7, np.int64(7), np.uint8(7), True])
    def test_seeds(self, table, seed):
        found = ob.audit(table["new"], table["sex"], random_state=seed, **FEW)
        assert found.to_dict()["resampling"]["seed"] == int(seed)
        again = ob.audit(table["new"], table["sex"], random_state=int(seed), **FEW)
        assert found.to_dict() == again.to_dict()
        other = ob.audit(table["new"], table["sex"], random_state=int(seed) + 1, **FEW)
        assert other.findings != found.findings
        values = [[f["value"] for f in a.findings if not f["measure"].startswith("adversary")] for a in (found, other)]
        assert values[0] == pytest.approx(values[1], rel=1e-9)

    def test_generators_as_seeds(self, table):
        def run(state):
            return ob.audit(table["new"], table["sex"], random_state=state, **FEW).to_dict()

        assert run(None) == run(0)
        assert run(np.random.RandomState(3)) == run(np.random.RandomState(3)) != run(0)
        state = np.random.RandomState(3)
        assert run(state) != run(state)
        for wrong in (-1, 2**64, "seed", 1.5):
            with pytest.raises(ValueError, match=r"random_state|seed"):
                run(wrong)

    def test_frontier(self, table):
        plain = ob.audit(table["new"], table["sex"], measures="beta", **FEW)
        points = [("weak", 0.5, 0.3), ("strong", 0.7, 0.0)]
        frame = pd.DataFrame(points, columns=["name", "error", "dependence"])
        pages = [
            ob.audit(table["new"], table["sex"], measures="beta", frontier=frontier, **FEW).to_html()
            for frontier in (points, frame, pl.from_pandas(frame))
        ]
        assert pages[0] == pages[1] == pages[2] != plain.to_html()
        assert "strong" in pages[0]
        for wrong, sentence in [([1, 2], r"list of \(name, error, dep"), (frame[["name"]], "needs the columns error")]:
            with pytest.raises(ob.InvalidInputError, match=sentence):
                ob.audit(table["new"], table["sex"], frontier=wrong, **FEW)

    @pytest.mark.filterwarnings("ignore::oblivio.OblivioWarning")
    def test_the_path_of_a_model_is_a_frontier(self, table):
        model = ob.ObliviousRidgeCV(standardize=False, alphas=[0.1, 1.0], strengths=(0.0, 1.0))
        model.fit(table[["income"]], table["old"], sensitive_features=table["sex"])
        found = ob.audit(table["new"], table["sex"], measures="beta", frontier=model.path_, **FEW)
        assert "strength" in found.to_html()

    def test_bad_input(self, table):
        new, sex = table["new"], table["sex"]

        def refused(sentence, *given, **options):
            with pytest.raises(ob.InvalidInputError, match=sentence):
                ob.audit(*given, **options)

        refused("'new' has 199 rows and the sensitive features have 200", new[1:], sex)
        refused("'hired' has 199 rows", new, sex, table["hired"][1:])
        refused("'old' has 199 rows", new, sex, before=table["old"][1:])
        refused("'income' has 199 rows", new, sex, features=table[["income"]][1:])
        refused("before must be one column, got 2", new, sex, before=table[["old", "w"]])
        refused("y must be one column, got 2", new, sex, table[["hired", "w"]])
        refused("before goes with one column of scores", {"a": new, "b": new}, sex, before=new)
        refused("before goes with one column of scores", table[["income", "w"]], sex, before=new)
        refused("given twice", table[["income"]], sex, features=table[["w"]])
        refused("scores, labels or features", {}, sex)
        refused("must be an array, a list, a Series or a frame, got NoneType", new, None)
        refused("no columns", new, table[[]])
        refused("min_rows must be a positive whole number, got 0", new, sex, min_rows=0)
        refused("bins must be a positive whole number, got 0", new, sex, bins=0)
        refused("threshold must be a number, got 'high'", new, sex, threshold="high")
        refused("permutations must be at least 19, got 1", new, sex, n_permutations=1)
        refused("collect", pl.from_pandas(table[["income"]]).lazy(), sex)
        wrong = new.copy()
        wrong[4] = np.nan
        refused("`new` has 1 missing values, the first in row 4", wrong, sex)
        refused("`new` is inf in row 4", wrong.fillna(np.inf), sex)
        refused("`old` has 1 missing values", new, sex, before=wrong.rename("old"))
        refused("column `income` is inf in row 4", new, sex, features=pd.DataFrame({"income": wrong.fillna(np.inf)}))

    def test_missing_numbers_of_features_are_their_mean(self, table):
        features = table[["income", "town"]].copy()
        features.loc[4, "income"] = np.nan
        found = ob.audit(features, table["sex"], **FEW)
        filled = ob.audit(features.fillna({"income": features["income"].mean()}), table["sex"], **FEW)
        for a, b in zip(found.findings, filled.findings, strict=True):
            assert a["value"] == pytest.approx(b["value"], abs=1e-9)
        assert any("income" in note for note in found.to_dict()["notes"])

    @pytest.mark.parametrize("rows", [2, 3, 7, 12])
    def test_few_rows(self, rows):
        found = ob.audit(np.arange(rows, dtype=float), np.arange(rows) % 2, **FEW)
        assert "correlation-ratio" in measures(found)
        assert ("hsic" in measures(found)) == (rows >= 6)
        assert len(found.to_dict()["notes"]) > (rows < 10)
        assert all(np.isfinite([f["value"], f["lower"], f["upper"], f["expected"]]).all() for f in found.findings)

    @pytest.mark.parametrize("constant", ["scores", "S"])
    def test_constants(self, table, constant):
        scores = np.ones(200) if constant == "scores" else table["new"]
        found = ob.audit(scores, table["sex"] if constant == "scores" else np.ones(200), **FEW)
        for f in found.findings:
            assert not f["detectable"] and not f["large"]
            assert np.isfinite([f["value"], f["lower"], f["upper"], f["expected"], f["critical"]]).all()
        json.loads(found.to_json(), parse_constant=pytest.fail)


def command(*arguments, code=0):
    """Runs the command as a module and reads what it says."""
    arguments = [sys.executable, "-m", "oblivio", "audit", *map(str, arguments)]
    done = subprocess.run(arguments, capture_output=True, encoding="utf-8", timeout=900, check=False)
    assert done.returncode == code, done.stderr
    return done


def reported(capfd, *arguments, code=0):
    """The report of the same program within this process."""
    assert ob._oblivio.cli_main(["oblivio", "audit", *map(str, arguments), "--json"]) == code
    return json.loads(capfd.readouterr().out)


FEWER = ["--permutations", 19, "--resamples", 19]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "people.csv"
    people().to_csv(path, index=False)
    return path


CASES = {
    "scores": (
        ["--score", "new", "--before", "old", "--sensitive", "sex", "--drop", "age,income,town,hired,w"],
        lambda t: ob.audit(t["new"], t[["sex"]], before=t["old"], **FEW),
    ),
    "features and labels": (
        ["--sensitive", "sex,age", "--target", "hired", "--features", "income,town"],
        lambda t: ob.audit(t[["income", "town"]], t[["sex", "age"]], t["hired"], **FEW),
    ),
    "weights": (
        ["--score", "new", "--sensitive", "sex,age", "--weights", "w", "--target", "hired", "--features", "income"],
        lambda t: ob.audit(
            t["new"], t[["sex", "age"]], t["hired"], features=t[["income"]], sample_weight=t["w"], **FEW
        ),
    ),
    "continuous and categorical, all settings": (
        [
            *["--score", "new,hired", "--sensitive", "age,town,sex", "--drop", "income,old,w"],
            *["--cells", 3, "--binning", "uniform", "--sensitive-bounds", "age=10:80", "--bins", 6],
            *["--min-rows", 5, "--threshold", 0.25, "--positive", "no", "--confidence", 0.8, "--seed", 11],
        ],
        lambda t: ob.audit(
            {"new": t["new"], "hired": t["hired"]},
            t[["age", "town", "sex"]],
            cells=3,
            binning="uniform",
            sensitive_bounds={"age": (10, 80)},
            bins=6,
            min_rows=5,
            threshold=0.25,
            pos_label="no",
            confidence=0.8,
            random_state=11,
            **FEW,
        ),
    ),
}
GATE = ["--score", "new", "--before", "old", "--sensitive", "sex", "--features", "income", *FEWER]


class TestCommandLine:
    """Bit for bit: the command and the function are the same program."""

    @pytest.mark.parametrize("case", CASES)
    def test_the_same_report(self, file, case, capfd):
        arguments, audit = CASES[case]
        found = audit(people()).to_dict()
        report = reported(capfd, file, *arguments, *FEWER)
        same(report["findings"], found["findings"])
        for key in ("subjects", "against", "profiles", "features", "notes", "rows", "effective-rows", "resampling"):
            assert report[key] == found[key], key
        assert set(report) - set(found) == OF_THE_COMMAND
        assert (report["schema"], report["title"], report["limits"]) == (1, "people.csv", [])

    def test_missing_values(self, capfd, tmp_path):
        t = people()
        t.loc[[3, 50], "sex"] = None
        t.loc[[9], "age"] = np.nan
        path = tmp_path / "holes.csv"
        t.to_csv(path, index=False)
        arguments = ["--score", "new", "--sensitive", "sex,age", "--features", "income", "--handle-missing", "category"]
        report = reported(capfd, path, *arguments, *FEWER)
        features = t[["income"]]
        found = ob.audit(t["new"], t[["sex", "age"]], features=features, handle_missing="category", **FEW)
        same(report["findings"], found.findings)
        assert report["against"] == found.to_dict()["against"]

    @pytest.mark.filterwarnings("ignore::oblivio.OblivioWarning")
    @pytest.mark.parametrize("settings", [{}, {"mode": "m-oblivious"}, {"n_components": 20}], ids=str)
    def test_models(self, file, settings, capfd, tmp_path):
        t, new = people(150, seed=5), people()
        features, sensitive = ["income", "town"], ["sex", "age"]
        models = {}
        for name, given in [("model", settings), ("plain", {"mode": "plain"})]:
            models[name] = ob.ObliviousRidge(cells=4, handle_unknown="population", **({"standardize": False} | given))
            models[name].fit(t[features], t["old"], sensitive_features=t[sensitive])
            models[name].save(tmp_path / f"{name}.oblivio")
        scores = {
            name: pd.Series(model.predict(new[features], sensitive_features=new[sensitive]))
            for name, model in models.items()
        }
        arguments = [file, "--model", tmp_path / "model.oblivio", *FEWER]
        report = reported(capfd, *arguments, "--baseline", tmp_path / "plain.oblivio")
        found = ob.audit(
            scores["model"].rename("score"),
            new[sensitive],
            before=scores["plain"].rename("score_baseline"),
            features=new[features],
            **FEW,
        )
        same(report["findings"], found.findings)
        assert report["features"] == found.to_dict()["features"]
        assert report["against"] == found.to_dict()["against"]
        # Without a baseline the comparison is with the score before the model's own correction.
        report = reported(capfd, *arguments)
        after = [f for f in report["findings"] if f["subject"] == "score"]
        same(after, [f for f in found.findings if f["subject"] == "score"])
        assert report["subjects"] == [{"name": "score_before", "role": "before"}, {"name": "score", "role": "after"}]

    def test_written_files_are_those_of_python(self, file, tmp_path, capfd):
        arguments, audit = CASES["features and labels"]
        found = audit(people())
        written = [option for form in ("csv", "json") for option in ("-o", tmp_path / f"report.{form}")]
        reported(capfd, file, *arguments, *FEWER, *written)
        assert (tmp_path / "report.csv").read_bytes() == found.to_csv().encode()
        assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["findings"] == found.findings

    def test_limits_that_are_kept(self, file, capfd):
        limits = ["--at-most", "correlation-ratio=0.9,beta=0.5", "--at-least", "parity-ratio=0"]
        report = reported(capfd, file, *GATE, *limits)
        assert len(report["limits"]) == 3
        for limit in report["limits"]:
            side = "at-least" if limit["measure"] == "parity-ratio" else "at-most"
            assert set(limit) == {"measure", "subject", "against", "value", side, "kept"}
            assert (limit["subject"], limit["against"], limit["kept"]) == ("new", "sex", True)

    def test_limits_that_are_not(self, file, capfd, tmp_path):
        limits = ["--at-most", "correlation-ratio=0.9,beta=0.0001", "-o", tmp_path / "report.csv"]
        done = command(file, *GATE, *limits, code=3)
        assert re.search("limit: beta of `new` against sex is .*, more than 0.0001", done.stderr)
        assert "correlation-ratio" not in done.stderr
        assert (tmp_path / "report.csv").exists()
        report = reported(capfd, file, *GATE, *limits, code=3)
        assert [limit["kept"] for limit in report["limits"]] == [True, False]
        command(file, *GATE, "--at-least", "parity-ratio=1.5", code=3)

    @pytest.mark.parametrize("limit", ["beta", "beta=", "beta=x", "beta=nan", "gini=0.1", "=0.1"])
    def test_malformed_limits(self, file, limit, capfd):
        assert ob._oblivio.cli_main(["oblivio", "audit", str(file), "--sensitive", "sex", "--at-most", limit]) == 2
        assert "--at-most" in capfd.readouterr().err

    @pytest.mark.parametrize(
        ("limit", "sentence"),
        [
            ("equalized-odds=0.1", "there is no equalized-odds here to limit"),
            ("parity-ratio=0.1", "limit it with --at-least parity-ratio=0.1"),
        ],
    )
    def test_limits_of_nothing(self, file, limit, sentence):
        assert sentence in command(file, *GATE, "--at-most", limit, code=1).stderr


def read(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{name} is not in {DATA}: set OBLIVIO_DATA to the folder of the real tables")
    return pd.read_csv(path)


def finite(found):
    for f in found.findings:
        numbers = [f[name] for name in ("value", "expected", "critical", "p-value", "lower", "upper")]
        assert np.isfinite([*numbers, *f["further"].values()]).all(), f
    for feature in found.to_dict()["features"]:
        assert np.isfinite([v for v in feature["hsic"].values() if not isinstance(v, str)]).all(), feature
    json.loads(found.to_json(), parse_constant=pytest.fail)


class TestRealTables:
    def test_law_school(self):
        """Grades and admission tests depend on race; everybody in the field knows these numbers."""
        t = read("fairml_law_school_admissions.csv").drop(columns="bar").dropna()
        S, X = t[["race1", "gender"]], t[["age", "fam_inc", "lsat", "fulltime"]]
        found = ob.audit(t["ugpa"], S, features=X, **FEW)
        finite(found)
        assert one(found, "correlation-ratio", against="race1")["detectable"]
        assert one(found, "mean-gap", against="race1")["large"]
        assert one(found, "adversary", against="race1")["detectable"]
        features = [(f["feature"], f["against"]) for f in found.to_dict()["features"]]
        assert features.index(("lsat", "race1")) < features.index(("fulltime", "race1"))
        ratio = one(found, "correlation-ratio", against="race1")["value"]
        groups = t.groupby("race1")["ugpa"]
        between = (groups.size() * (groups.mean() - t["ugpa"].mean()) ** 2).sum()
        assert ratio == pytest.approx(between / ((t["ugpa"] - t["ugpa"].mean()) ** 2).sum(), rel=1e-9)

    def test_compas(self):
        t = read("fairml_compas.csv").dropna()
        S = t[["sex", "race", "age"]]
        found = ob.audit(t["decile_score"], S, t["two_year_recid"], features=t[["priors_count"]], threshold=5, **FEW)
        finite(found)
        for name in ("correlation-ratio", "beta", "parity-difference", "equalized-odds", "hsic", "adversary"):
            assert one(found, name, against="race")["detectable"], name
        assert one(found, "equalized-odds", against="race")["large"]
        assert "African-American" in one(found, "parity-difference", against="race")["detail"]
