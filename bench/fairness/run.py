"""Error against dependence: our settings and the peers' on real tables, one command, seeds fixed.

Results of every method and split are kept as they come, so a run that was interrupted goes on where it stopped. Run
through `make bench-fairness`.
"""

import argparse
import hashlib
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

# One thread: runs on other machines and beside other work give the same numbers.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import figures  # noqa: E402
import learners  # noqa: E402
import measures  # noqa: E402
import numpy as np  # noqa: E402
import ours  # noqa: E402
import pandas as pd  # noqa: E402
import peers  # noqa: E402
import report  # noqa: E402
import tables  # noqa: E402


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default=os.environ.get("OBLIVIO_DATA", "../shared/data"), help="folder of the tables")
    parser.add_argument("--out", type=Path, default=Path("out/fairness"))
    parser.add_argument("--tables", nargs="+", choices=tables.TABLES, default=list(tables.TABLES))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--sides", nargs="+", choices=("peer", "ours"), default=("peer", "ours"), help="who is run")
    parser.add_argument(
        "--quick", action="store_true", help="two splits of at most 800 rows: to see that all of it runs"
    )
    return parser.parse_args()


def main():
    arguments = parse()
    folder = tables.data_folder(arguments.data)
    if folder is None:
        print(f"The tables are not at {arguments.data}: set OBLIVIO_DATA to their folder; nothing was measured.")
        return
    measures.check()
    out, splits = arguments.out, arguments.splits
    if arguments.quick:
        out, splits = out / "quick", min(splits, 2)
    out.mkdir(parents=True, exist_ok=True)
    rows = 800 if arguments.quick else None
    builds = builds_of(arguments.sides)
    for name in arguments.tables:
        run_table(load(name, folder, rows), splits, builds, Cache(out / "cache" / f"{name}.csv", builds))
    write(out, folder, splits, rows)


def load(name, folder, rows):
    """A table, with at most ``rows`` rows on each side of a split."""
    table = tables.TABLES[name](folder)
    if rows is None:
        return table
    return replace(table, train_rows=min(table.train_rows, rows), test_rows=min(table.test_rows, rows))


def builds_of(sides):
    """What the results of each side depend on, as a short hash: the peers' versions, and our compiled engine."""
    files = {"peer": Path(__file__).with_name("requirements.txt")}
    if "ours" in sides:
        from oblivio import _oblivio

        files["ours"] = Path(_oblivio.__file__)
    return {side: hashlib.sha256(files[side].read_bytes()).hexdigest()[:12] for side in files if side in sides}


class Cache:
    """The results of one table, a file that grows: what it holds is not measured again.

    What another build of ours or other versions of the peers gave is dropped. A change to a method in this folder is
    not noticed: remove the file then.
    """

    def __init__(self, path, builds):
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.done = set()
        if path.exists():
            held = pd.read_csv(path)
            # A side that is not run now keeps its results.
            kept = held[held["build"] == held["by"].map(builds).fillna(held["build"])]
            kept.to_csv(path, index=False)
            self.done = set(zip(kept["method"], kept["split"], strict=True))

    def add(self, rows):
        pd.DataFrame(rows).to_csv(self.path, mode="a", header=not self.path.exists(), index=False)
        self.done.add((rows[0]["method"], rows[0]["split"]))


def run_table(table, splits, builds, cache):
    """Measure every method on every split that the cache does not hold."""
    methods = []
    if "peer" in builds:
        methods += [("peer", "peer", name, method) for name, method in peers.peers_of(table).items()]
    if "ours" in builds:
        # A peer's method that our engine runs is a peer's point that depends on our build.
        methods += [("peer", "ours", name, method) for name, method in ours.peers_by_us(table).items()]
        methods += [("ours", "ours", name, method) for name, method in ours.settings_of(table).items()]
    start = time.perf_counter()
    for number in range(splits):
        missing = [method for method in methods if (method[2], number) not in cache.done]
        if not missing:
            continue
        split = tables.split_of(table, number)
        judge = Judge(table, split)
        if number == 0 and "ours" in builds and not table.is_classification:
            linear = {s.family: s for s in ours.settings_of(table).values() if s.is_linear}
            for setting in linear.values():
                setting.check(table, split)
        for side, by, name, method in missing:
            began = time.perf_counter()
            answer = method(table, split)
            seconds = time.perf_counter() - began
            family = getattr(method, "family", name)
            about = {"table": table.name, "split": number, "side": side, "family": family, "method": name}
            about |= {"by": by, "build": builds[by], "seconds": seconds}
            cache.add([about | view for view in judge.views(answer)])
        print(f"{table.name}: split {number + 1} of {splits}, {time.perf_counter() - start:.0f} s", flush=True)


class Judge:
    """Measures answers to one split, all by the same share of decisions."""

    def __init__(self, table, split):
        self.table, self.split = table, split
        cells = measures.cells_of(split.train_sensitive, split.test_sensitive)
        self.sensitive = measures.Sensitive(cells, split.test_sensitive_numbers)
        self.share = learners.positive_share(split.train, split.train_target) if table.is_classification else 0.5

    def views(self, answer):
        """The answer as scores, if it has them, and as decisions, if the task is to decide."""
        target = self.split.test_target
        decision = answer.values if answer.kind == "decision" else measures.decide(answer.values, self.share)
        if not self.table.is_classification:
            error = measures.root_mean_square(answer.values, target)
            return [self._view("score", "RMSE", error, answer.values, decision)]
        views = []
        if answer.kind == "score":
            error = measures.one_minus_auc(answer.values, target)
            views.append(self._view("score", "1 - AUC", error, answer.values, decision))
        error = measures.balanced_error(decision, target)
        views.append(self._view("decision", "balanced error", error, decision, decision))
        return views

    def _view(self, view, error_name, error, values, decision):
        rng = np.random.default_rng(self.split.number)
        dependence = measures.dependence(values, decision, self.sensitive, rng)
        return {"view": view, "error_name": error_name, "error": error} | dependence


def write(out, folder, splits, rows):
    """Everything the caches hold: results.csv, table.md and the figures."""
    held = {path.stem: pd.read_csv(path) for path in sorted((out / "cache").glob("*.csv"))}
    names = [name for name in tables.TABLES if name in held]
    results = pd.concat([held[name] for name in names], ignore_index=True)
    results = results[results["split"] < splits]
    results.to_csv(out / "results.csv", index=False)
    shown = [load(name, folder, rows) for name in names]
    report.write(out / "table.md", shown, results)
    errors = results.groupby(["table", "view", "method"])["error"]
    results["error_se"] = (errors.transform("std") / np.sqrt(errors.transform("count"))).fillna(0.0)
    for table in shown:
        figures.draw(out, table, results[results["table"] == table.name])
    print(f"Table and figures are in {out}.")


if __name__ == "__main__":
    sys.exit(main())
