"""The real tables: which columns are features, sensitive and target, and how rows are split."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

RARE = 0.01
# Defaults were chosen on splits with other seeds, so that the benchmark does not judge what it chose.
FIRST_SEED = 1000


@dataclass(frozen=True)
class Table:
    """A table ready to be split.

    ``features`` holds numbers and strings without the sensitive columns; ``sensitive`` holds numbers where a column is
    continuous and strings where it is categorical.
    """

    name: str
    title: str
    features: pd.DataFrame
    sensitive: pd.DataFrame
    target: np.ndarray
    task: str
    train_rows: int
    test_rows: int

    @property
    def is_classification(self):
        return self.task == "classification"

    @property
    def note(self):
        """What the rows of a split are, in one line."""
        return f"{len(self.target)} rows; each split draws {self.train_rows} for training and {self.test_rows} held out"


@dataclass(frozen=True)
class Split:
    """One split: encoded features and raw sensitive columns, by role.

    Numbers are standardised by the training rows, strings become 0/1 columns. ``*_sensitive_numbers`` encodes the
    sensitive columns in the same way, for methods that take numbers only.
    """

    number: int
    train: np.ndarray
    test: np.ndarray
    train_sensitive: pd.DataFrame
    test_sensitive: pd.DataFrame
    train_sensitive_numbers: np.ndarray
    test_sensitive_numbers: np.ndarray
    train_target: np.ndarray
    test_target: np.ndarray


def communities(folder):
    frame = pd.read_csv(folder / "fairml_communities_and_crime.csv").drop(columns=["state", "county", "fold"]).dropna()
    return _table(
        "communities",
        "Communities & Crime: violent crimes per population",
        frame,
        ["racepctblack", "PctForeignBorn"],
        frame.pop("ViolentCrimesPerPop").to_numpy(float),
    )


def law_school_grades(folder):
    frame = pd.read_csv(folder / "fairml_law_school_admissions.csv").drop(columns=["bar"])
    return _table("law-grades", "Law school: grades", frame, ["age", "race1"], frame.pop("ugpa").to_numpy(float))


def law_school_bar(folder):
    frame = pd.read_csv(folder / "fairml_law_school_admissions.csv")
    return _table("law-bar", "Law school: bar examination", frame, ["age", "race1"], frame.pop("bar").astype(int))


def adult(folder):
    frame = pd.concat([pd.read_csv(folder / f"adult_{part}.csv") for part in ("train", "test")], ignore_index=True)
    income = frame.pop("income").str.contains(">50K").astype(int)
    # The weight of the census row is no feature, and education is also given as a number.
    frame = frame.drop(columns=["fnlwgt", "education"])
    return _table("adult", "Adult: income above 50 000", frame, ["sex", "race", "age"], income)


def compas(folder):
    frame = pd.read_csv(folder / "fairml_compas.csv")
    target = (frame.pop("two_year_recid") == "Yes").astype(int)
    # Dates of custody after the screening tell who came back; decile scores are another model's answer.
    leaks = ["c_jail_in", "c_jail_out", "c_offense_date", "screening_date", "in_custody", "out_custody"]
    frame = frame.drop(columns=[*leaks, "decile_score", "v_decile_score"])
    return _table("compas", "COMPAS: new offence within two years", frame, ["sex", "race", "age"], target)


def german(folder):
    frame = pd.read_csv(folder / "fairml_german_credit.csv")
    target = (frame.pop("Credit_risk") == "GOOD").astype(int)
    return _table("german", "German credit: good risk", frame, ["Age", "Gender"], target)


def acs(folder):
    frame = pd.read_csv(folder / "acs_sample.csv").drop(columns=["split", "ESP"])
    target = frame.pop("PINCP")  # 0 or 1: whether income is above a limit
    # Codes in hundreds are groups of occupations and of places of birth.
    frame["OCCP"], frame["POBP"] = frame["OCCP"] // 400, frame["POBP"] // 100
    numbers = {"AGEP", "WKHP", "SCHL"}
    frame = frame.astype({column: str for column in frame if column not in numbers})
    return _table("acs", "ACS sample: high income", frame, ["SEX", "RAC1P", "AGEP"], target)


TABLES = {
    "communities": communities,
    "law-grades": law_school_grades,
    "law-bar": law_school_bar,
    "adult": adult,
    "compas": compas,
    "german": german,
    "acs": acs,
}


def data_folder(path):
    """The folder of the tables, or None where it is not there."""
    folder = Path(path)
    return folder if (folder / "fairml_communities_and_crime.csv").exists() else None


def split_of(table, number):
    """Split ``number``; its seed goes by the number alone, so that every method sees the same rows."""
    order = np.random.default_rng(FIRST_SEED + number).permutation(len(table.target))
    train, test = order[: table.train_rows], order[table.train_rows : table.train_rows + table.test_rows]
    features, sensitive = _encoder(table.features, train), _encoder(table.sensitive, train)
    return Split(
        number,
        features(train),
        features(test),
        table.sensitive.iloc[train].reset_index(drop=True),
        table.sensitive.iloc[test].reset_index(drop=True),
        sensitive(train),
        sensitive(test),
        table.target[train],
        table.target[test],
    )


def _table(name, title, frame, sensitive, target):
    target = np.asarray(target)
    task = "regression" if target.dtype.kind == "f" else "classification"
    rows = len(target)
    # Large tables are subsampled, by the seed of the split.
    train_rows = min(round(0.7 * rows), 5000)
    test_rows = min(rows - train_rows, 5000)
    frame = frame.apply(_join_rare)
    return Table(
        name, title, frame.drop(columns=sensitive), frame[sensitive].copy(), target, task, train_rows, test_rows
    )


def _join_rare(column):
    if pd.api.types.is_numeric_dtype(column):
        return column.astype(float)
    shares = column.map(column.value_counts(normalize=True))
    return column.where(shares >= RARE, "other").astype(object)


def _encoder(frame, train):
    numeric = frame.select_dtypes("number")
    centre, scale = numeric.iloc[train].mean(), numeric.iloc[train].std(ddof=0).replace(0.0, 1.0)
    parts = [(numeric - centre) / scale]
    if numeric.shape[1] < frame.shape[1]:
        parts.append(pd.get_dummies(frame.drop(columns=numeric.columns), dtype=float))
    encoded = pd.concat(parts, axis=1).to_numpy(float)
    # A column that is constant on the training rows carries nothing and breaks methods that invert covariances.
    encoded = encoded[:, encoded[train].std(axis=0) > 0]
    return lambda rows: encoded[rows]
