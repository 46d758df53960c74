"""Classic Spark: a standalone master and two workers, which are also killed."""

import json
import os
import signal
import threading
import time

import psutil
import pytest
import simulated
from accidents import Runs, breaks, lingers
from cases import MIXED, Cases, quietly, ridge, table
from engines import JAVA, Memory, OnSpark, Standalone, cut, wait_until
from learners import spark_ml_learns_nothing_of_the_cells

pytestmark = pytest.mark.skipif(JAVA is None, reason="there is no Java, which classic Spark needs")

# A copy of a task is started once it takes three seconds, and three times as long as others.
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "3s",
    "spark.speculation.quantile": "0.5",
}


@pytest.fixture(scope="session")
def cluster(logs):
    cluster = Standalone(logs)
    yield cluster
    cluster.stop()


@pytest.fixture(scope="session")
def session(cluster):
    session = cluster.session(**SPECULATION)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def engine(session):
    return OnSpark(session)


class TestCases(Cases):
    pass


def test_spark_ml_learns_from_the_features(engine):
    spark_ml_learns_nothing_of_the_cells(engine)


# Exactly once.

PIECES = 4


@pytest.fixture(scope="session")
def undisturbed(engine):
    """The bytes of the model when nothing goes wrong."""
    return fitted(engine.dealt(cut(table(), PIECES)))


def fitted(data):
    return quietly(ridge().fit_spark, data, **MIXED).model_.to_bytes()


def test_tasks_that_break_after_some_work_count_once(engine, undisturbed, tmp_path):
    runs = Runs(tmp_path)
    assert fitted(engine.dealt(cut(table(), PIECES), before=breaks(runs))) == undisturbed
    broken = runs.marked("broke")
    assert {part for part, _, _ in broken} == set(range(PIECES))
    assert {run for _, run, _ in broken} >= {0, 2, 4}, "every pass has been broken"


def test_speculative_copies_count_once(cluster, engine, undisturbed, tmp_path):
    runs, seen = Runs(tmp_path), len(cluster.events())
    # The third run of a part is in the last pass, when the sums are gathered.
    assert fitted(engine.dealt(cut(table(), PIECES), before=lingers(runs, 3, 2, 60))) == undisturbed
    assert [(part, run) for part, run, _ in runs.marked("lingers")] == [(3, 2)]
    assert (3, 3) in [(part, run) for part, run, _ in runs.marked("run")]
    tasks = [json.loads(line) for line in cluster.events()[seen:] if "SparkListenerTaskStart" in line]
    assert any(task["Task Info"]["Speculative"] for task in tasks)


@pytest.mark.parametrize(("victim", "at"), [("Python", 1), ("executor", 2)])
def test_a_killed_worker_changes_nothing(engine, undisturbed, tmp_path, victim, at):
    runs = Runs(tmp_path)
    data = engine.dealt(cut(table(), PIECES), before=lingers(runs, 3, at, 20))
    found = []
    job = threading.Thread(target=lambda: found.append(fitted(data)))
    job.start()
    ((_, _, pid),) = wait_until(lambda: runs.marked("lingers"), "the part that takes long")
    process = psutil.Process(pid)
    if victim == "executor":
        process = next(p for p in process.parents() if "CoarseGrainedExecutorBackend" in " ".join(p.cmdline()))
    os.kill(process.pid, signal.SIGKILL)
    process.wait(10)
    job.join()
    assert not process.is_running()
    assert (3, at + 1) in [(part, run) for part, run, _ in runs.marked("run")], "the part was begun again"
    assert found == [undisturbed]


# Memory.


@pytest.mark.parametrize("rows", [2_000_000, pytest.param(20_000_000, marks=pytest.mark.large)])
def test_a_worker_needs_less_than_two_gigabytes(cluster, session, rows, capsys):
    data = simulated.on_spark(session, rows, max(4, rows // 500_000))
    start = time.monotonic()
    with Memory(cluster.workers()) as memory:
        model = quietly(simulated.model().fit_spark, data, **simulated.COLUMNS)
    with capsys.disabled():
        peaks = ", ".join(f"{peak / 1e9:.2f}" for peak in memory.peaks.values())
        print(f"\nclassic Spark: {rows} rows in {time.monotonic() - start:.0f} s; peak GB of the workers: {peaks}")
    assert sum(count for _, count in model.cells_) == rows
    assert max(memory.peaks.values()) < 2e9
