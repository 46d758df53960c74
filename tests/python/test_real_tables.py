"""Held-out dependence on real tables, before and after, beside the value expected under independence.

The tables are not part of the project: they are read from the folder named by OBLIVIO_DATA.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import oblivio as ob

pytestmark = pytest.mark.slow

DATA = Path(os.environ.get("OBLIVIO_DATA", Path(__file__).parents[3] / "shared" / "data"))


def read(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{name} is not in {DATA}: set OBLIVIO_DATA to the folder of the real tables")
    return pd.read_csv(path)


def correlation_ratio(scores, groups):
    """The share of the variance that the groups explain, and its mean if they explain nothing."""
    frame = pd.DataFrame({"score": np.asarray(scores), "group": np.asarray(groups)})
    means = frame.groupby("group")["score"].transform("mean")
    share = ((means - frame["score"].mean()) ** 2).sum() / ((frame["score"] - frame["score"].mean()) ** 2).sum()
    return share, (frame["group"].nunique() - 1) / (len(frame) - 1)


def scores_before_and_after(table, sensitive, target, **settings):
    """Scores of new rows, plain and oblivious, with the same settings otherwise."""
    train, new = table.iloc[::2], table.iloc[1::2]
    X, X_new = (part.drop(columns=[*sensitive, target]) for part in (train, new))
    S, S_new = (part[sensitive] for part in (train, new))
    for mode in ("plain", "oblivious"):
        model = ob.ObliviousRidge(standardize=True, mode=mode, **settings)
        model.fit(X, train[target], sensitive_features=S)
        yield model.predict(X_new, sensitive_features=S_new), S_new


@pytest.mark.filterwarnings("ignore::oblivio.OblivioWarning")
def test_law_school_by_race_and_gender():
    table = read("fairml_law_school_admissions.csv").sample(4000, random_state=0)
    table = table.drop(columns="bar").dropna()
    (plain, S), (oblivious, _) = scores_before_and_after(table, ["race1", "gender"], "ugpa")
    groups = S["race1"].astype(str) + S["gender"].astype(str)
    before, expected = correlation_ratio(plain, groups)
    after, _ = correlation_ratio(oblivious, groups)
    assert before > 10 * expected
    assert after < 4 * expected


@pytest.mark.filterwarnings("ignore::oblivio.OblivioWarning")
def test_communities_by_a_continuous_share():
    table = read("fairml_communities_and_crime.csv").drop(columns=["state", "county", "fold"]).dropna()
    (plain, S), (oblivious, _) = scores_before_and_after(table, ["racepctblack"], "ViolentCrimesPerPop", cells=8)
    groups = pd.qcut(S["racepctblack"], 8, duplicates="drop").astype(str)
    before, expected = correlation_ratio(plain, groups)
    after, _ = correlation_ratio(oblivious, groups)
    assert before > 0.3
    assert after < 6 * expected


@pytest.mark.filterwarnings("ignore::oblivio.OblivioWarning")
def test_adult_on_landmarks_by_sex_and_race():
    table = read("adult_train.csv")
    table["income"] = (table["income"].str.strip(" .") == ">50K").astype(float)
    settings = {"n_components": 150, "handle_unknown": "population"}
    (plain, S), (oblivious, _) = scores_before_and_after(table, ["sex", "race"], "income", **settings)
    groups = S["sex"].astype(str) + S["race"].astype(str)
    before, expected = correlation_ratio(plain, groups)
    after, _ = correlation_ratio(oblivious, groups)
    assert before > 50 * expected
    assert after < 4 * expected
