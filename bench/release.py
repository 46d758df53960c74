"""Released tables: what an adversary finds in them on held-out rows, what they keep, and how long they take.

python bench/release.py [--tables law adult compas] [--splits 5] [--methods quantile joint]

Each split draws 70 of 100 rows to fit the release; all figures are of the others. Seeds are the splits' numbers. The
adversary of `trees` is scikit-learn's histogram gradient boosting, cross-validated on the released held-out rows; the
one of `ours` is `oblivio.metrics.adversary`. Both guess whether a row has the largest category of S, or the number.
"""

import argparse
import os
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor  # noqa: E402
from sklearn.metrics import r2_score, roc_auc_score  # noqa: E402
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict  # noqa: E402

import oblivio as ob  # noqa: E402

TABLES = {
    "law": ("fairml_law_school_admissions.csv", ["age", "race1"], "bar", []),
    "adult": ("adult_train.csv", ["age", "sex", "race"], "income", ["fnlwgt"]),
    "compas": (
        "fairml_compas.csv",
        ["age", "sex", "race"],
        "two_year_recid",
        ["c_jail_in", "c_jail_out", "c_offense_date", "screening_date", "in_custody", "out_custody"],
    ),
}
TREES = {"max_iter": 100, "learning_rate": 0.08, "max_leaf_nodes": 15, "early_stopping": False, "random_state": 0}
KEYS = ["table", "method", "measure"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("OBLIVIO_DATA", "../shared/data"), help="folder of the tables")
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--methods", nargs="+", default=["quantile", "joint"])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="number of the first split")
    parser.add_argument("--out", type=Path, help="a CSV file for all figures")
    return parser.parse_args()


def main():
    arguments = parse()
    found = []
    for name in arguments.tables:
        table = load(Path(arguments.data), name)
        for split in range(arguments.first, arguments.first + arguments.splits):
            for row in measure(name, table, split, arguments.methods):
                found.append(row)
                print(*row.values(), sep="\t", flush=True)
    found = pd.DataFrame(found)
    if arguments.out:
        found.to_csv(arguments.out, index=False)
    summary = found.groupby(KEYS, sort=False)["value"].agg(["mean", "min", "max"])
    print(summary.round(3).to_string())


def load(folder, name):
    file, sensitive, target, dropped = TABLES[name]
    frame = pd.read_csv(folder / file).drop(columns=dropped)
    y = frame.pop(target)
    return frame.drop(columns=sensitive), frame[sensitive], (y == y.max()).to_numpy()


def measure(name, table, split, methods):
    """The figures of each method on one split, the original table first."""
    features, sensitive, target = table
    order = np.random.default_rng(split).permutation(len(target))
    cut = round(0.7 * len(target))
    train, test = np.sort(order[:cut]), np.sort(order[cut:])
    held, s, y = features.iloc[test].reset_index(drop=True), sensitive.iloc[test].reset_index(drop=True), target[test]
    row = {"table": name, "split": split}
    for method in ["original", *methods]:
        released = held
        if method != "original":
            # A category that only held-out rows have is no mistake of theirs.
            release = ob.ObliviousRelease(method=method, handle_unknown="population", random_state=split)
            started = time.process_time()
            release.fit(features.iloc[train], sensitive_features=sensitive.iloc[train])
            released = release.transform(held, sensitive_features=s)
            yield {**row, "method": method, "measure": "processor seconds", "value": time.process_time() - started}
            for measured, value in kept(held, released):
                yield {**row, "method": method, "measure": measured, "value": value}
        for measured, value in dependence(released, s):
            yield {**row, "method": method, "measure": measured, "value": value}
        yield {**row, "method": method, "measure": "target by trees", "value": told(released, y)}
        yield {**row, "method": method, "measure": "target by ours", "value": ours(released, y)}


def dependence(released, sensitive):
    for column in sensitive:
        s = sensitive[column]
        if not pd.api.types.is_numeric_dtype(s):
            s = (s == s.value_counts().idxmax()).to_numpy()
        yield f"{column} by trees", told(released, np.asarray(s))
        yield f"{column} by ours", ours(released, np.asarray(s))


def told(features, target):
    """The AUC of a class, or the R² of a number, by boosted trees on rows held out in five folds."""
    codes = {c: pd.factorize(features[c], sort=True)[0] for c in features if features[c].dtype.kind not in "fiub"}
    points = features.assign(**codes).to_numpy(float)
    if target.dtype == bool:
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        model = HistGradientBoostingClassifier(**TREES)
        scores = cross_val_predict(model, points, target, cv=folds, method="predict_proba")[:, 1]
        return roc_auc_score(target, scores)
    folds = KFold(5, shuffle=True, random_state=0)
    return r2_score(target, cross_val_predict(HistGradientBoostingRegressor(**TREES), points, target, cv=folds))


def ours(features, target):
    named = pd.Series(target).map({True: "yes", False: "no"}) if target.dtype == bool else pd.Series(target)
    return float(ob.metrics.adversary(features, named, n_permutations=19, n_resamples=19, random_state=0))


def kept(original, released):
    """The correlation with the original column, or the share of categories that stay."""
    for column in original:
        before, after = original[column], released[column]
        if before.dtype.kind in "fiu":
            yield f"correlation of {column}", np.corrcoef(before, after.astype(float))[0, 1]
        else:
            yield f"unchanged in {column}", (before == after).mean()


if __name__ == "__main__":
    main()
