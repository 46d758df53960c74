"""The comparisons with peers: one command, ratios in one run, the same threads and data on both sides.

Every figure is the least of several runs. The peer is scikit-learn, and for the paper's own experiment the algorithm of
its appendix written out in loops, as published. Run through `make bench`.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True, help="the oblivio-bench program")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--only", nargs="+", metavar="GROUP", help="measure these groups only and print raw figures")
    parser.add_argument("--markdown", help="file to write the table to, too")
    return parser.parse_args()


def least(runs, work):
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def literal_oblivious_matrix(x, cells, n):
    """The appendix's algorithm in loops: kernel sums over the reference rows (n and up), then nine terms per entry."""
    import numpy as np

    def k(a, b):
        return np.exp(-np.sum((a - b) ** 2))

    count = max(cells) + 1
    sizes = np.zeros(count)
    for u in range(n, 2 * n):
        sizes[cells[u]] += 1
    rho, xi = np.zeros(n), np.zeros((n, count))
    for i in range(n):
        for u in range(n, 2 * n):
            value = k(x[i], x[u])
            rho[i] += value / n
            xi[i, cells[u]] += value / sizes[cells[u]]
    tau, o, overall = np.zeros(count), np.zeros((count, count)), 0.0
    for u in range(n, 2 * n):
        for v in range(n, 2 * n):
            value = k(x[u], x[v])
            overall += value / n**2
            tau[cells[u]] += value / (n * sizes[cells[u]])
            o[cells[u], cells[v]] += value / (sizes[cells[u]] * sizes[cells[v]])
    matrix = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            a, b = cells[i], cells[j]
            matrix[i, j] = k(x[i], x[j]) - xi[i, b] - xi[j, a] + o[a, b] + rho[i] + rho[j] - tau[a] - tau[b] + overall
    return matrix


def census(folder):
    """Adult, one-hot and standardised, from the folder OBLIVIO_DATA; none if it is not there."""
    import numpy as np

    path = Path(os.environ.get("OBLIVIO_DATA", "../shared/data")) / "adult_train.csv"
    if not path.exists():
        print(f"no {path}: the machines are not compared; set OBLIVIO_DATA", file=sys.stderr)
        return None
    with path.open() as lines:
        header, *rows = [line.strip().split(",") for line in lines if line.strip()]
    columns = dict(zip(header, zip(*rows[:20_000], strict=True), strict=True))
    y = np.array([value.startswith(">50K") for value in columns.pop("income")], dtype=float)
    s = np.array([value == "Male" for value in columns.pop("sex")], dtype=float)
    features = []
    for values in columns.values():
        try:
            features.append(np.array(values, dtype=float))
        except ValueError:
            levels = sorted(set(values))
            features += [np.array([value == level for value in values], dtype=float) for level in levels]
    x = np.column_stack([(f - f.mean()) / f.std() for f in features if f.std() > 0])
    for name, values in {"census_x": x, "census_y": y, "census_s": s}.items():
        np.ascontiguousarray(values).tofile(folder / f"{name}.f64")
    return x, y


def machines(folder, program, threads):
    """scikit-learn's machine on the oblivious matrix that our side wrote, and end to end on plain features."""
    import numpy as np
    from sklearn.svm import SVC

    data = census(folder)
    if data is None:
        return {}
    x, y = data
    subprocess.run([program, str(threads), str(folder), "svm-matrix"], check=True)
    gram = np.fromfile(folder / "census_gram.f64").reshape(10_000, 10_000)
    found = {}
    for cost in (1, 100):
        machine = SVC(C=cost, kernel="precomputed", cache_size=2000)
        found[f"svm C={cost}"] = least(2, partial(machine.fit, gram, y[:10_000]))
        a, rows = machine.dual_coef_[0], machine.support_
        found[f"svm C={cost} objective"] = np.abs(a).sum() - 0.5 * a @ gram[np.ix_(rows, rows)] @ a
    found["svm end"] = least(1, lambda: SVC(C=1, gamma=0.01, cache_size=2000).fit(x, y))
    return found


def audits(folder, program):
    """HSIC by permutation in NumPy, distance correlation by its package, and a whole audit of Adult by our program."""
    import dcor
    import numpy as np

    random = np.random.default_rng(1)
    s = random.standard_normal(1_000_000)
    x = 0.1 * s**2 + random.standard_normal(1_000_000)
    for name, values in {"audit_x": x, "audit_s": s}.items():
        values.tofile(folder / f"{name}.f64")

    def permuted(rows=5000, permutations=200):
        def kernel(values):
            squared = (values[:, None] - values[None, :]) ** 2
            return np.exp(-squared / np.median(squared))

        a, b = kernel(x[:rows]), kernel(s[:rows])
        a -= a.mean(0)
        a -= a.mean(1)[:, None]
        found = [(a * b).sum()]
        for _ in range(permutations):
            order = random.permutation(rows)
            found.append((a * b[np.ix_(order, order)]).sum())
        return found

    correlation = partial(dcor.distance_correlation, x[:100_000], s[:100_000])
    correlation()  # compiles it
    found = {"hsic": least(1, permuted), "dcor": least(3, correlation)}
    path = Path(os.environ.get("OBLIVIO_DATA", "../shared/data"))
    files = [path / "adult_train.csv", path / "adult_test.csv"]
    if not all(file.exists() for file in files):
        print(f"no {files[0]}: no audit of Adult; set OBLIVIO_DATA", file=sys.stderr)
        return found
    command = [Path(program).with_name("oblivio"), "audit", *files, "--sensitive", "sex,race,age", "--target", "income"]
    found["audit of Adult"] = least(1, partial(subprocess.run, command, check=True, stdout=subprocess.DEVNULL))
    return found


def projections(folder, rows=500):
    """SciPy's L-BFGS-B on the objective of the projection: some of the 10 000 rows, each from the row itself."""
    import numpy as np
    from scipy.optimize import minimize

    random = np.random.default_rng(2)
    groups = random.integers(0, 4, 12_000)
    x = random.standard_normal((12_000, 5)) * (1 + 0.2 * groups[:, None]) + 0.3 * groups[:, None]
    reference, cells = x[:2000], groups[:2000]
    x, groups = x[2000:], groups[2000:]
    files = {"x": x, "cells": groups, "reference": reference, "reference_cells": cells}
    for name, values in files.items():
        np.ascontiguousarray(values, dtype=float).tofile(folder / f"projection_{name}.f64")
    gamma = 0.2
    bounds = list(zip(reference.min(0), reference.max(0), strict=True))
    shifts = [1 / len(cells) - (cells == c) / (cells == c).sum() for c in range(4)]

    def kernel(a, b):
        return np.exp(-gamma * ((a[:, None] - b[None]) ** 2).sum(2))

    gram = kernel(reference, reference)
    squares = [w @ gram @ w for w in shifts]

    def project(i):
        points = np.vstack([reference, x[i]])
        weights = np.append(shifts[groups[i]], 1.0)

        def value(w):
            difference = points - w
            a = weights * np.exp(-gamma * np.einsum("ij,ij->i", difference, difference))
            return 1 - 2 * a.sum(), -4 * gamma * (a @ difference)

        return minimize(value, x[i].clip(*np.array(bounds).T), jac=True, method="L-BFGS-B", bounds=bounds).fun

    start = time.perf_counter()
    values = [project(i) for i in range(rows)]
    seconds = (time.perf_counter() - start) * len(x) / rows
    inner = [kernel(x[i : i + 1], reference)[0] @ shifts[groups[i]] for i in range(rows)]
    norms = [1 + 2 * inner[i] + squares[groups[i]] for i in range(rows)]
    return {"projection": seconds, "projection objective": float(np.mean(np.add(values, norms)))}


def peers(folder):
    import numpy as np
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.metrics.pairwise import rbf_kernel

    random = np.random.default_rng(0)
    x = {d: random.random((10_000, d)) for d in (10, 100)}
    y = np.sin(x[10].sum(1)) + 0.1 * random.standard_normal(10_000)
    new = random.random((100_000, 10))
    s = random.uniform(-5, 5, 1000)
    ax = (0.5 * random.uniform(-5, 5, 1000) + 0.5 * s)[:, None]
    ay = ax[:, 0] ** 2 + 0.3 * random.standard_normal(1000)
    big = random.standard_normal((500_000, 10))
    group = random.integers(0, 10, 500_000)
    big[:, 0] += group / 10
    big_y = np.sin(big.sum(1)) + 0.1 * random.standard_normal(500_000)
    # A small group is spread out: that is where landmarks drawn alike fail.
    near = random.standard_normal((4000, 5))
    near[:80] *= 4
    near_s = np.repeat([0.0, 1.0], [80, 3920])
    near_y = np.sin(near.sum(1)) + near[:, 0] + 0.1 * random.standard_normal(4000)
    files = {
        "big_x": big,
        "big_s": group.astype(float),
        "big_y": big_y,
        "near_x": near,
        "near_s": near_s,
        "near_y": near_y,
    }
    files |= {"x10": x[10], "x100": x[100], "y": y, "new": new, "authors_x": ax, "authors_s": s, "authors_y": ay}
    for name, values in files.items():
        np.ascontiguousarray(values).tofile(folder / f"{name}.f64")

    def nystroem():
        from sklearn.kernel_approximation import Nystroem
        from sklearn.linear_model import Ridge
        from sklearn.pipeline import make_pipeline

        features = Nystroem(kernel="rbf", gamma=0.1, n_components=1000, random_state=0)
        return make_pipeline(features, Ridge(alpha=1.0))

    def authors():
        n = 500
        cells = np.minimum(np.floor((s + 5) / 10 * 8), 7).astype(int)
        matrix = literal_oblivious_matrix(ax, cells, n)
        np.linalg.solve(matrix + np.eye(n), ay[:n])

    small = rbf_kernel(x[10][:2000], gamma=0.1)
    fitted = KernelRidge(kernel="rbf", gamma=0.1, alpha=1.0).fit(x[10][:2000], y[:2000])
    return {
        "kernel10": lambda: least(3, lambda: rbf_kernel(x[10], gamma=0.1)),
        "kernel100": lambda: least(3, lambda: rbf_kernel(x[100], gamma=0.01)),
        "fit5000": lambda: least(3, lambda: KernelRidge(kernel="rbf", gamma=0.1).fit(x[10][:5000], y[:5000])),
        "fit10000": lambda: least(2, lambda: KernelRidge(kernel="rbf", gamma=0.1).fit(x[10], y)),
        "predict": lambda: least(3, lambda: fitted.predict(new)),
        "authors": lambda: least(1, authors),
        "path": lambda: 121 * least(3, lambda: KernelRidge(kernel="precomputed").fit(small, y[:2000])),
        "solvers": lambda: least(2, lambda: KernelRidge(kernel="rbf", gamma=0.1).fit(x[10], y)),
        "explicit": lambda: least(1, lambda: nystroem().fit(big, big_y)),
    }


# What is compared: the peer's measurement, ours, and the ratio hoped for.
ROWS = [
    ("kernel10", "kernel d=10 lower, reused", "kernel matrix, n = 10 000, d = 10, buffer reused", "rbf_kernel", 8.0),
    ("kernel10", "kernel d=10 full, reused", "the same, both triangles", "rbf_kernel", None),
    ("kernel10", "kernel d=10 full, fresh", "the same, fresh output", "rbf_kernel", 1.3),
    ("kernel100", "kernel d=100 lower, reused", "kernel matrix, n = 10 000, d = 100, buffer reused", "rbf_kernel", 2.5),
    ("kernel100", "kernel d=100 full, reused", "the same, both triangles", "rbf_kernel", None),
    ("kernel100", "kernel d=100 full, fresh", "the same, fresh output", "rbf_kernel", 1.3),
    ("fit5000", "fit n=5000 cholesky", "oblivious fit, n = 5000, double Cholesky", "KernelRidge.fit", 1.5),
    ("fit5000", "fit n=5000 mixed", "oblivious fit, n = 5000, mixed precision", "KernelRidge.fit", 2.8),
    ("fit10000", "fit n=10000 cholesky", "oblivious fit, n = 10 000, double Cholesky", "KernelRidge.fit", 1.5),
    ("fit10000", "fit n=10000 mixed", "oblivious fit, n = 10 000, mixed precision", "KernelRidge.fit", 2.8),
    ("predict", "predict 100000 x 2000", "prediction, 100 000 rows, 2000 points", "KernelRidge.predict", 4.0),
    (
        "explicit",
        "explicit n=500000 p=1000",
        "oblivious fit on 1000 landmarks, n = 500 000, d = 10",
        "Nystroem + Ridge",
        6.0,
    ),
    ("path", "path 11x11 n=2000", "path of 11 × 11, leave-one-out included, n = 2000", "121 × KernelRidge.fit", 40.0),
    ("solvers", "solver auto penalty 1", "oblivious fit, n = 10 000, λ = 1, auto (pcg)", "KernelRidge.fit", 8.0),
    ("svm C=1", "svm n=10000 C=1", "SVM on the oblivious matrix, Adult, n = 10 000, C = 1", "SVC(precomputed)", 1.5),
    ("svm C=100", "svm n=10000 C=100", "the same, C = 100", "SVC(precomputed)", 1.5),
    ("svm end", "svm n=20000 end to end", "oblivious SVM end to end, n = 20 000, C = 1", "SVC(rbf), plain", 3.0),
    ("hsic", "hsic n=5000", "HSIC, n = 5000, 200 permutations (and 199 resamples)", "NumPy", 10.0),
    ("dcor", "distance correlation n=100000", "distance correlation, n = 100 000 (and level, interval)", "dcor", 1.0),
    (
        "projection",
        "projection two starts",
        "projection, 10 000 rows, 2000 reference rows, d = 5, two starts",
        "L-BFGS-B (SciPy), one start",
        20.0,
    ),
    ("projection", "projection one start, one thread", "the same, one start, one thread", "L-BFGS-B (SciPy)", None),
    ("authors", "authors 2n=1000", "matrix and fit, 500 + 500 rows", "appendix in loops", 500.0),
]
OVER_PLAIN = [
    ("oblivious: cells known", "oblivious over plain matrix, cells known", 1.35),
    ("oblivious: cell sums included", "oblivious over plain matrix, cell sums included", 2.5),
]


def machine():
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{model}, {os.cpu_count()} cores"


def table(theirs, ours, threads):
    yield f"{machine()}, {threads} threads; seconds, least of several runs."
    yield ""
    yield "| work | peer | peer, s | oblivio, s | ratio | goal |"
    yield "|---|---|---:|---:|---:|---:|"
    for group, name, work, peer, goal in ROWS:
        if group not in theirs:
            continue
        a, b = theirs[group], ours[name]
        hoped = f"≥ {goal:g}×" if goal else ""
        yield f"| {work} | {peer} | {a:.3g} | {b:.3g} | {a / b:.3g}× | {hoped} |"
    plain = ours["oblivious: plain matrix"]
    for name, work, goal in OVER_PLAIN:
        yield f"| {work} | itself | {plain:.3g} | {ours[name]:.3g} | {ours[name] / plain:.3g}× | ≤ {goal:g}× |"
    for penalty in ("0.001", "0.000001"):
        a, b = ours[f"solver cholesky penalty {penalty}"], ours[f"solver auto penalty {penalty}"]
        work = f"oblivious fit, n = 10 000, λ = {penalty}, auto over Cholesky"
        yield f"| {work} | itself | {a:.3g} | {b:.3g} | {b / a:.3g}× | ≤ 1.25× |"
    for cost in (1, 100):
        if f"svm C={cost}" in theirs:
            a, b = theirs[f"svm C={cost} objective"], ours[f"svm n=10000 C={cost} objective"]
            gap = ours[f"svm n=10000 C={cost} gap"]
            yield f"| dual objective at C = {cost}, gap {gap:.1e} | SVC(precomputed) | {a:.9g} | {b:.9g} | | ≥ theirs |"


def audited(theirs, ours):
    """What an audit takes."""
    seconds = ours["hsic n=1000000"]
    yield f"HSIC on landmarks with its level and interval, n = 1 000 000: {seconds:.2f} s (goal < 3 s)."
    if "audit of Adult" in theirs:
        seconds = theirs["audit of Adult"]
        yield f"All measures of Adult (48 842 rows, 3 sensitive columns): {seconds:.1f} s (goal < 30 s)."


def projected(theirs, ours):
    """How fast rows are projected, and how well."""
    if "projection" not in theirs:
        return
    rate = 10_000 / ours["projection two starts"]
    here, there = ours["projection two starts objective"], theirs["projection objective"]
    yield f"Projection: {rate:,.0f} rows per second. Mean squared distance of the first 500 rows: "
    yield f"{here:.9g} here, {there:.9g} by L-BFGS-B; less is better."


def scale(ours):
    """Time against rows and landmarks, memory, and how near the exact path the landmarks come."""
    ratio = ours["explicit n=500000 p=1000"] / ours["explicit n=500000 p=1000 plain"]
    yield f"Oblivious over plain fit on landmarks: {ratio:.2f}× (goal ≤ 1.1×). Peak memory of the fit on 500 000 rows, "
    yield f"the rows included: {ours['explicit peak']:.0f} MB (goal < 1000 MB)."
    yield f"Rows per second on 1000 landmarks: predict {500_000 / ours['explicit predict 500000 rows']:,.0f}, "
    yield f"transform {100_000 / ours['explicit transform 100000 rows']:,.0f}."
    yield ""
    yield "| rows, 1000 landmarks | seconds | per million rows |"
    yield "|---:|---:|---:|"
    for rows in (100_000, 200_000, 500_000, 1_000_000, 5_000_000):
        seconds = ours[f"explicit n={rows}"]
        yield f"| {rows:,} | {seconds:.2f} | {seconds / rows * 1e6:.2f} |"
    yield ""
    yield "| landmarks, 200 000 rows | seconds | per squared thousand |"
    yield "|---:|---:|---:|"
    for count in (250, 500, 1000, 2000):
        seconds = ours[f"explicit p={count}"]
        yield f"| {count} | {seconds:.2f} | {seconds / count**2 * 1e6:.2f} |"
    yield ""
    yield "Relative error of predictions against the exact path, n = 4000 (goal at 800, pivoted Cholesky: ≤ 0.02)."
    yield ""
    yield "| landmarks | 100 | 200 | 400 | 800 |"
    yield "|---|---:|---:|---:|---:|"
    for name in ("cholesky", "k-means++", "uniform"):
        errors = (ours[f"error {name} {count}"] for count in (100, 200, 400, 800))
        yield f"| {name} | {' | '.join(f'{error:.3f}' for error in errors)} |"


def main():
    args = parse()
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(args.threads)
    theirs, ours = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        measurements = peers(Path(folder))
        for group in [*measurements, "svm", "audit", "projection", "oblivious", "rows", "landmarks", "accuracy"]:
            if args.only and group not in args.only:
                continue
            print(f"measuring {group} …", file=sys.stderr)
            if group in measurements:
                theirs[group] = measurements[group]()
            if group == "svm":
                theirs |= machines(Path(folder), args.program, args.threads)
            if group == "audit":
                theirs |= audits(Path(folder), args.program)
            if group == "projection":
                theirs |= projections(Path(folder))
            command = [args.program, str(args.threads), folder, group]
            for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
                found = json.loads(line)
                ours[found["name"]] = found["seconds"]
    parts = (
        [table(theirs, ours, args.threads)] if not args.only else [json.dumps([theirs, ours], indent=1).splitlines()]
    )
    if not args.only:
        parts += [[""], audited(theirs, ours), [""], projected(theirs, ours), [""], scale(ours)]
    lines = "\n".join(line for part in parts for line in part) + "\n"
    print(lines)
    if args.markdown:
        Path(args.markdown).write_text(lines)


if __name__ == "__main__":
    main()
