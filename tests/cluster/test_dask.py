"""Dask: two worker processes, which are also killed."""

import os
import signal
import threading
import time

import dask
import numpy as np
import psutil
import pytest
import simulated
from accidents import Runs, breaks, lingers
from cases import MIXED, WORDS, Cases, quietly, ridge, table
from engines import Memory, OnDask, cut, dask_cluster, wait_until
from learners import spread_over_cells, transformer
from sklearn.linear_model import LogisticRegression


@pytest.fixture(scope="session")
def client(logs):
    client, cluster = dask_cluster(logs)
    with cluster, client:
        yield client


@pytest.fixture(scope="session")
def engine(client):
    return OnDask()


class TestCases(Cases):
    pass


def test_scikit_learn_learns_from_the_features_of_a_sample(engine):
    data = engine.frame(table(), 3)
    found = quietly(transformer().fit_dask, data, features=WORDS, sensitive="region")
    features = found.transform_dask(data, keep=["region", "admitted"])
    assert [name for name in features.columns if name.startswith("features_")]
    kept = features.compute()
    matrix = kept.filter(like="features_").to_numpy()
    sample = np.random.default_rng(0).choice(len(kept), 1000, replace=False)
    learner = LogisticRegression().fit(matrix[sample], kept["admitted"].to_numpy()[sample])
    region = kept["region"].to_numpy()
    assert spread_over_cells(learner.decision_function(matrix), region) < 1e-8
    assert spread_over_cells(table()["test"].to_numpy(), table()["region"].to_numpy()) > 0.1


# Exactly once.

PIECES = 4


@pytest.fixture(scope="session")
def undisturbed(engine):
    """The bytes of the model when nothing goes wrong."""
    return fitted(engine.dealt(cut(table(), PIECES)))


def fitted(data):
    return quietly(ridge().fit_dask, data, **MIXED).model_.to_bytes()


@pytest.mark.filterwarnings("ignore:Dask annotations")
def test_tasks_that_break_after_some_work_count_once(engine, undisturbed, tmp_path):
    runs = Runs(tmp_path)
    data = engine.dealt(cut(table(), PIECES), before=breaks(runs))
    with dask.annotate(retries=3):
        assert fitted(data) == undisturbed
    broken = runs.marked("broke")
    assert {part for part, _, _ in broken} == set(range(PIECES))
    assert {run for _, run, _ in broken} >= {0, 2, 4}, "every pass has been broken"


@pytest.mark.parametrize("at", [1, 2])
def test_a_killed_worker_changes_nothing(engine, client, undisturbed, tmp_path, at):
    runs = Runs(tmp_path)
    data = engine.dealt(cut(table(), PIECES), before=lingers(runs, 3, at, 20))
    found = []
    job = threading.Thread(target=lambda: found.append(fitted(data)))
    job.start()
    ((_, _, pid),) = wait_until(lambda: runs.marked("lingers"), "the part that takes long")
    process = psutil.Process(pid)
    os.kill(pid, signal.SIGKILL)
    job.join()
    assert not process.is_running()
    assert (3, at + 1) in [(part, run) for part, run, _ in runs.marked("run")], "the part was begun again"
    assert found == [undisturbed]


# Memory.


@pytest.mark.parametrize("rows", [2_000_000, pytest.param(20_000_000, marks=pytest.mark.large)])
def test_a_worker_needs_less_than_two_gigabytes(client, rows, capsys):
    client.wait_for_workers(2, timeout=60)
    workers = {address: psutil.Process(pid) for address, pid in client.run(os.getpid).items()}
    data = simulated.on_dask(rows, max(4, rows // 500_000))
    start = time.monotonic()
    with Memory(workers) as memory:
        model = quietly(simulated.model().fit_dask, data, **simulated.COLUMNS)
    with capsys.disabled():
        peaks = ", ".join(f"{peak / 1e9:.2f}" for peak in memory.peaks.values())
        print(f"\nDask: {rows} rows in {time.monotonic() - start:.0f} s; peak GB of the workers: {peaks}")
    assert sum(count for _, count in model.cells_) == rows
    assert max(memory.peaks.values()) < 2e9
