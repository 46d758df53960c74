"""Frontiers: what is tried, the forms of a result, and the same numbers as on the command line."""

import copy
import csv
import io
import json
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import oblivio as ob

DOCS = Path(__file__).parents[2] / "docs" / "frontier.md"
FEW = {"n_permutations": 19, "n_resamples": 19}
FEWER = ["--permutations", 19, "--resamples", 19]
SMALL = {"modes": ["oblivious"], "strengths": [0.5, 1.0], "aligns": ["none"]} | FEW
SMALLER = ["--modes", "oblivious", "--strengths", "0.5,1", "--aligns", "none", *FEWER]


def people(rows=150, seed=1):
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
            "hired": np.where(rng.uniform(size=rows) < 0.3 + 0.3 * (sex == "M"), "yes", "no"),
            "w": rng.uniform(0.5, 2.0, rows),
        }
    )


@pytest.fixture(scope="module")
def table():
    return people()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "people.csv"
    people().to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def found(table):
    return ob.frontier(
        table[["income", "town"]], table["score"], sensitive_features=table[["sex", "age"]], title="people", **SMALL
    )


CASES = {
    "numbers": (
        ["--target", "score", "--sensitive", "sex,age", "--features", "income,town", *SMALLER],
        lambda t: ob.frontier(
            t[["income", "town"]],
            t["score"],
            sensitive_features=t[["sex", "age"]],
            estimator=ob.ObliviousRidge(standardize=True),
            **SMALL,
        ),
    ),
    "classes, all modes, another seed": (
        [
            "--target",
            "hired",
            "--sensitive",
            "sex",
            "--features",
            "income",
            "--learner",
            "logistic",
            "--strengths",
            1,
            "--aligns",
            "none",
            "--seed",
            7,
            *FEWER,
        ],
        lambda t: ob.frontier(
            t[["income"]],
            t["hired"],
            sensitive_features=t[["sex"]],
            strengths=[1],
            aligns=["none"],
            random_state=7,
            **FEW,
        ),
    ),
    "weights and penalties that are found": (
        [
            "--target",
            "score",
            "--sensitive",
            "age",
            "--features",
            "income",
            "--weights",
            "w",
            "--alpha",
            "auto",
            "--held-out",
            0.4,
            "--measures",
            "correlation-ratio,beta",
            *SMALLER,
        ],
        lambda t: ob.frontier(
            t[["income"]],
            t["score"],
            sensitive_features=t[["age"]],
            sample_weight=t["w"],
            alpha="auto",
            held_out=0.4,
            measures=["correlation-ratio", "beta"],
            **SMALL,
        ),
    ),
}


class TestTheCommandLine:
    """Bit for bit: the command and the function are the same program."""

    @pytest.mark.parametrize("case", CASES)
    def test_same_numbers(self, case, table, file, capfd):
        arguments, run = CASES[case]
        assert ob._oblivio.cli_main(["oblivio", "frontier", str(file), *map(str, arguments), "--json"]) == 0
        reported = json.loads(capfd.readouterr().out)
        del reported["facts"]
        assert run(table).to_dict() | {"title": "people.csv"} == reported

    def test_an_audit_shows_its_files(self, table, file, tmp_path):
        found = CASES["numbers"][1](table)
        found.to_csv(tmp_path / "frontier.csv")
        arguments = [file, "--sensitive", "sex", "--score", "score", "--measures", "beta", *FEWER]
        arguments += ["--frontier", tmp_path / "frontier.csv", "-o", tmp_path / "page.html"]
        assert ob._oblivio.cli_main(["oblivio", "audit", *map(str, arguments)]) == 0
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        again = ob.audit(table["score"], table["sex"], measures="beta", frontier=found, **FEW).to_html()
        for text in (page, again):
            assert "oblivious 0.5" in text
            assert text.count('<th scope="row"><bdi class="name">plain</bdi></th>') == 1


class TestTheResult:
    def test_the_frame_is_the_csv(self, found):
        frame = found.to_frame()
        lines = list(csv.DictReader(io.StringIO(found.to_csv())))
        assert len(frame) == len(lines) == 3 * (3 * 3 + 1)
        for name in ("name", "error_measure", "against", "measure"):
            assert frame[name].tolist() == [line[name] for line in lines]
        for name in ("error", "dependence", "cost_lower", "p_value"):
            assert frame[name].tolist() == [float(line[name]) for line in lines]
        assert frame["on_frontier"].tolist() == [line["on_frontier"] == "true" for line in lines]

    def test_the_start_and_what_it_costs(self, found):
        frame = found.to_frame()
        start = frame[frame.start]
        assert set(start.name) == {"plain"}
        assert (start.cost == 0).all()
        assert not frame.error.isna().any()
        assert found.answer.count("\n") >= 2
        assert str(found) == found.answer
        assert "3 candidates" in repr(found)

    def test_the_error_is_that_of_the_estimator(self, table):
        """The rows are those of the frontier: a target moves its error if it is held out, else the fit."""
        X, y, S = table[["income"]], table["score"], table[["sex"]]
        kind = ob.ObliviousRidge(standardize=True)

        def run(target):
            only = {"modes": ["oblivious"], "strengths": [1.0], "aligns": ["none"], "measures": ["correlation-ratio"]}
            return ob.frontier(X, target, sensitive_features=S, estimator=kind, **only, **FEW).to_dict()["candidates"]

        before = run(y)
        out = []
        for row in range(len(y)):
            moved = y.copy()
            moved[row] += 1e3
            if run(moved)[1]["dependence"] == before[1]["dependence"]:
                out.append(row)
        assert len(out) == round(0.3 * len(y))
        train = np.setdiff1d(np.arange(len(y)), out)
        model = kind.fit(X.iloc[train], y.iloc[train], sensitive_features=S.iloc[train])
        residuals = y.iloc[out] - model.predict(X.iloc[out], sensitive_features=S.iloc[out])
        assert before[1]["errors"][0]["value"] == pytest.approx(np.sqrt(np.mean(residuals**2)), rel=1e-12)

    def test_forms(self, found, tmp_path):
        found.to_html(tmp_path / "f.html")
        assert (tmp_path / "f.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
        found.to_json(tmp_path / "f.json")
        assert json.loads((tmp_path / "f.json").read_text(encoding="utf-8")) == found.to_dict()
        assert "<script" not in found._repr_html_()
        for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
            assert again.to_dict() == found.to_dict()

    def test_plot(self, found):
        matplotlib = pytest.importorskip("matplotlib")
        matplotlib.use("Agg")
        axes = found.plot()
        assert "correlation-ratio" in axes.get_xlabel()
        assert "hsic" in found.plot("hsic", against="sex").get_xlabel()
        with pytest.raises(ob.InvalidInputError, match="beta"):
            found.plot("beta")

    def test_plot_without_matplotlib(self, found, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
        with pytest.raises(ImportError, match="plot needs matplotlib"):
            found.plot()


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            ({"held_out": 1.0}, "between 0 and 1"),
            ({"strengths": [2.0]}, "strength"),
            ({"modes": ["other"]}, "mode `other`"),
            ({"measures": ["gini"]}, "measure `gini`"),
            ({"aligns": ["twice"]}, "alignment `twice`"),
            ({"estimator": "ridge"}, "estimator must be"),
            ({"alpha": "best"}, "alpha must be"),
            ({"sensitive_features": None}, "sensitive_features"),
            ({"strengths": 1.0}, "strengths must be numbers"),
        ],
    )
    def test_a_sentence(self, table, change, sentence):
        given = {"sensitive_features": table[["sex"]]} | SMALL | change
        with pytest.raises(ob.InvalidInputError, match=sentence):
            ob.frontier(table[["income"]], table["score"], **given)

    def test_three_classes(self, table):
        target = np.arange(len(table)) % 3
        with pytest.raises(ob.InvalidInputError, match="two"):
            ob.frontier(
                table[["income"]],
                target,
                sensitive_features=table["sex"],
                estimator=ob.ObliviousSVC(standardize=False),
                **SMALL,
            )


class TestTheGuide:
    def test_its_python_runs(self, capsys):
        blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
        assert blocks
        for block in blocks:
            exec(block, {})
        assert "oblivious" in capsys.readouterr().out

    def test_it_names_every_key_and_column(self, found):
        text = DOCS.read_text(encoding="utf-8")
        keys = set(found.to_dict()) | set(found.to_dict()["candidates"][0])
        keys |= set(found.to_dict()["candidates"][0]["dependence"][0])
        for name in keys | set(found.to_csv().splitlines()[0].split(",")):
            assert f"`{name}`" in text, name
