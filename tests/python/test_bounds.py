"""Bounds: the forms of a result, the same numbers as on the command line, and what is refused."""

import copy
import csv
import io
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import oblivio as ob

DOCS = Path(__file__).parents[2] / "docs" / "bounds.md"
SMALL = {"rows": 40, "confidence": 0.9}


def people(rows=160, seed=1):
    rng = np.random.default_rng(seed)
    sex, age = rng.choice(["F", "M"], rows), rng.uniform(18, 70, rows)
    skill = rng.normal(size=rows)
    return pd.DataFrame(
        {
            "sex": sex,
            "age": age,
            "income": skill + (sex == "F") + age / 40,
            "town": rng.choice(["north", "south"], rows),
            "score": skill + (sex == "F") + rng.normal(size=rows),
            "hired": np.where(skill + (sex == "M") > 0.5, "yes", "no"),
            "class": np.where(skill > 0.5, "a", np.where(skill > -0.5, "b", "c")),
        }
    )


@pytest.fixture(scope="module")
def table():
    return people()


@pytest.fixture(scope="module")
def model(table):
    model = ob.ObliviousRidge(standardize=True)
    return model.fit(table[["income", "town"]], table["score"], sensitive_features=table[["sex"]])


@pytest.fixture(scope="module")
def found(model):
    new = people(seed=2)
    return ob.bounds(model, new[["income", "town"]], new[["sex"]], title="people", **SMALL)


MODELS = {
    "ridge": (ob.ObliviousRidge(standardize=True), "score", ["sex"]),
    "half strength": (ob.ObliviousRidge(standardize=True, strength=0.5), "score", ["sex", "age"]),
    "smooth": (ob.ObliviousRidge(standardize=True, conditional_mean="smooth"), "score", ["age"]),
    "two classes": (ob.ObliviousLogistic(standardize=True), "hired", ["sex"]),
    "three classes": (ob.ObliviousSVC(standardize=True), "class", ["sex"]),
}


class TestTheCommandLine:
    """Bit for bit: the command and the function are the same program."""

    @pytest.mark.parametrize("case", MODELS)
    def test_same_numbers(self, case, table, tmp_path, capfd):
        estimator, target, sensitive = MODELS[case]
        estimator = estimator.fit(table[["income", "town"]], table[target], sensitive_features=table[sensitive])
        new = people(seed=2)
        new.to_csv(tmp_path / "new.csv", index=False)
        estimator.save(tmp_path / "model.oblivio")
        arguments = [tmp_path / "model.oblivio", tmp_path / "new.csv", "--rows", 40, "--confidence", 0.9, "--seed", 3]
        assert ob._oblivio.cli_main(["oblivio", "bounds", *map(str, arguments), "--json"]) == 0
        reported = json.loads(capfd.readouterr().out)
        del reported["facts"]
        own = ob.bounds(estimator, new[["income", "town"]], new[sensitive], random_state=3, **SMALL)
        assert own.to_dict() | {"title": "new.csv"} == reported


class TestForms:
    def test_a_frame_has_every_bound_and_says_vacuous(self, found):
        frame = found.to_frame()
        assert list(frame.columns) == ["bound", "of", "cell", "found", "lower", "value", "vacuous", "rows"]
        assert {"distance", "dependence", "change", "certificate", "certificate-beta"} <= set(frame.bound)
        assert frame.vacuous.any()
        bounded = frame[frame.bound.isin(["dependence", "change"])]
        assert (bounded.found <= bounded.value + 1e-9).all()

    def test_csv_is_the_frame(self, found):
        rows = list(csv.DictReader(io.StringIO(found.to_csv())))
        frame = found.to_frame()
        assert [row["bound"] for row in rows] == frame.bound.tolist()
        assert [float(row["value"]) for row in rows] == frame.value.tolist()
        assert [row["vacuous"] == "true" for row in rows] == frame.vacuous.tolist()

    def test_files(self, found, tmp_path):
        found.to_html(tmp_path / "bounds.html")
        found.to_json(tmp_path / "bounds.json")
        page = (tmp_path / "bounds.html").read_text(encoding="utf-8")
        assert page.startswith("<!DOCTYPE html>") and "vacuous" in page and "<script" not in page
        assert json.loads((tmp_path / "bounds.json").read_text(encoding="utf-8")) == found.to_dict()

    def test_words_and_notebooks(self, found):
        assert str(found).count("\n") >= 2
        assert repr(found) == "<Bounds of people: 80 rows, 40 projected>"
        assert "<script" not in found._repr_html_()

    @pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
    def test_copies_are_equal(self, found, again):
        assert again(found).to_dict() == found.to_dict()

    def test_the_schema_is_described(self, found):
        text = DOCS.read_text(encoding="utf-8")
        report = found.to_dict()
        parts = [report["distance"], report["dependence"][0], report["dependence"][0]["population"]]
        parts += [report["changes"][0], report["changes"][0]["by-cell"][0], report["certificates"][0]]
        parts += [report["feature-events"][0], report["moved"]]
        for part in [report, *parts]:
            assert all(f"`{key}`" in text for key in part)

    def test_json_that_is_none_is_refused(self):
        with pytest.raises(ob.InvalidInputError, match="no bounds"):
            ob._oblivio.BoundsModel.from_json("{}")


class TestSettings:
    def test_a_smaller_gap_and_a_translation(self, model, found):
        new = people(seed=2)

        def run(**settings):
            return ob.bounds(
                model, new[["income", "town"]], new[["sex"]], title="people", **SMALL, **settings
            ).to_dict()

        fine = run(gap=1e-4, boxes=2000)
        assert 0 <= fine["distance"]["mean-gap"] < found.to_dict()["distance"]["mean-gap"]
        moved = run(translation=0.5)
        assert moved["translation"] == 0.5
        assert moved["distance"]["mean"]["value"] != found.to_dict()["distance"]["mean"]["value"]
        for report in (fine, moved):
            assert all(event["actual"] <= event["value"] + 1e-9 for event in report["feature-events"])
            assert report["moved"]["largest-share"] <= 1 + 1e-6

    def test_the_settings_of_the_command_line(self, table, tmp_path, capfd):
        estimator = ob.ObliviousRidge(standardize=True)
        estimator.fit(table[["income"]], table["score"], sensitive_features=table[["sex"]])
        new = people(seed=2)
        new.to_csv(tmp_path / "new.csv", index=False)
        estimator.save(tmp_path / "model.oblivio")
        arguments = ["--rows", 40, "--confidence", 0.9, "--gap", 0.001, "--boxes", 300, "--translation", -0.5, "--json"]
        files = [tmp_path / "model.oblivio", tmp_path / "new.csv"]
        assert ob._oblivio.cli_main(["oblivio", "bounds", *map(str, files), *map(str, arguments)]) == 0
        reported = json.loads(capfd.readouterr().out)
        del reported["facts"]
        settings = SMALL | {"gap": 0.001, "boxes": 300, "translation": -0.5}
        own = ob.bounds(estimator, new[["income"]], new[["sex"]], **settings)
        assert own.to_dict() | {"title": "new.csv"} == reported


class TestRefused:
    def test_wrong_arguments(self, model):
        new = people(seed=2)
        X, s = new[["income", "town"]], new[["sex"]]
        for wrong, message in [
            ({"rows": 0}, "positive whole number"),
            ({"rows": 5}, "at least 10"),
            ({"confidence": 1.0}, "between 0 and 1"),
            ({"confidence": "high"}, "must be a number"),
            ({"gap": 0.0}, "a positive number"),
            ({"boxes": 0}, "positive whole number"),
            ({"translation": 2.0}, "from -1 to 1"),
        ]:
            with pytest.raises(ob.InvalidInputError, match=message):
                ob.bounds(model, X, s, **wrong)
        with pytest.raises(ob.InvalidInputError, match="sensitive"):
            ob.bounds(model, X)
        with pytest.raises(ob.InvalidInputError, match="at least 20"):
            ob.bounds(model, X[:12], s[:12])

    def test_wrong_models(self, table):
        with pytest.raises(ob.InvalidInputError, match="fitted ObliviousRidge"):
            ob.bounds("model", table[["income"]])
        plain = ob.ObliviousRidge(standardize=False).fit(table[["income"]], table["score"])
        with pytest.raises(ob.InvalidInputError, match="fit it again with some"):
            ob.bounds(plain, table[["income"]])

    def test_a_seed_decides(self, model, found):
        new = people(seed=2)
        again = ob.bounds(model, new[["income", "town"]], new[["sex"]], title="people", **SMALL)
        assert again.to_dict() == found.to_dict()
        other = ob.bounds(model, new[["income", "town"]], new[["sex"]], random_state=1, **SMALL)
        assert other.to_dict()["distance"] != found.to_dict()["distance"]
