"""Seconds against rows on real engines, with the peak memory of each worker, and straight lines through them.

Beside the seconds on the clock are those that the processors of the workers spent, which other work on the machine
hardly changes.

Two workers with a core each, on loopback; the rows are simulated in the engine, so that nothing but the fit takes
memory. Run through `make bench-cluster`.
"""

import argparse
import os
import sys
import time
import warnings
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/cluster"))

import cloudpickle  # noqa: E402
import engines  # noqa: E402
import numpy as np  # noqa: E402
import psutil  # noqa: E402
import simulated  # noqa: E402

# Rows of a part.
PART = 500_000


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="+", type=float, default=[2.5, 5.0, 10.0, 20.0], metavar="MILLIONS")
    parser.add_argument("--engines", nargs="+", choices=tuple(ENGINES), default=tuple(ENGINES))
    parser.add_argument("--components", type=int, default=64)
    return parser.parse_args()


@contextmanager
def on_dask(folder):
    """A function that fits a model to so many rows, and the processes of the workers."""
    client, cluster = engines.dask_cluster(folder)
    with cluster, client:
        workers = {address: psutil.Process(pid) for address, pid in client.run(os.getpid).items()}
        yield lambda model, rows, parts: model.fit_dask(simulated.on_dask(rows, parts), **simulated.COLUMNS), workers


@contextmanager
def on_classic(folder):
    """As on Dask."""
    cluster = engines.Standalone(folder)
    try:
        session = cluster.session()
        yield (
            lambda model, rows, parts: model.fit_spark(simulated.on_spark(session, rows, parts), **simulated.COLUMNS),
            cluster.workers(),
        )
        session.stop()
    finally:
        cluster.stop()


ENGINES = {"dask": on_dask, "classic": on_classic}


def measure(name, millions, components):
    """Seconds of every number of rows, as a table, and the line."""
    with ENGINES[name](ROOT / "out/cluster/bench" / name) as (fit, workers):
        # The first job starts what later ones find running.
        fit(simulated.model(components), 100_000, 2)
        print(f"\n{name}, {components} landmarks")
        print(f"{'million rows':>14}{'seconds':>10}{'of processors':>16}{'peak GB of each worker':>26}")
        seconds, spent = [], []
        for count in millions:
            rows = round(count * 1e6)
            with engines.Memory(workers) as memory:
                start, before = time.perf_counter(), sum(map(engines.worked, workers.values()))
                fit(simulated.model(components), rows, max(4, rows // PART))
                seconds.append(time.perf_counter() - start)
                spent.append(sum(map(engines.worked, workers.values())) - before)
            peaks = ", ".join(f"{peak / 1e9:.2f}" for peak in memory.peaks.values())
            print(f"{count:>14.2f}{seconds[-1]:>10.1f}{spent[-1]:>16.1f}{peaks:>26}", flush=True)
    if len(millions) > 2:
        for what, values in (("on the clock", seconds), ("of processors", spent)):
            slope, intercept = np.polyfit(millions, values, 1)
            left = np.var(np.array(values) - intercept - slope * np.array(millions))
            fitted = f"{intercept:.1f} s + {slope:.2f} s a million rows, R² = {1 - left / np.var(values):.4f}"
            print(f"  {what}: {fitted}")


def main():
    arguments = parse()
    warnings.simplefilter("ignore")
    cloudpickle.register_pickle_by_value(simulated)
    if engines.JAVA is None and "classic" in arguments.engines:
        print("There is no Java here, which classic Spark needs: it is left out.")
    for name in arguments.engines:
        if name != "classic" or engines.JAVA is not None:
            measure(name, arguments.rows, arguments.components)


if __name__ == "__main__":
    main()
