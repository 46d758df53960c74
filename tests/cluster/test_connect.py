"""Spark Connect: a server of its own, and a client that has no Spark in it."""

import pytest
from accidents import Runs, breaks
from cases import MIXED, Cases, quietly, ridge, table
from engines import JAVA, OnSpark, cut
from learners import spark_ml_learns_nothing_of_the_cells

pytestmark = pytest.mark.skipif(JAVA is None, reason="there is no Java, which Spark's Connect server needs")


@pytest.fixture(scope="session")
def engine(logs):
    from pyspark.sql import SparkSession

    # Two threads, and a task may fail four times.
    builder = SparkSession.builder.remote("local[2,4]").config("spark.sql.shuffle.partitions", "2")
    session = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    yield OnSpark(session)
    session.stop()


class TestCases(Cases):
    pass


def test_spark_ml_learns_from_the_features(engine):
    spark_ml_learns_nothing_of_the_cells(engine)


def test_tasks_that_break_after_some_work_count_once(engine, tmp_path):
    runs, pieces = Runs(tmp_path), cut(table(), 3)
    disturbed, undisturbed = (
        quietly(ridge().fit_spark, engine.dealt(pieces, before), **MIXED).model_.to_bytes()
        for before in (breaks(runs), None)
    )
    assert disturbed == undisturbed
    assert {run for _, run, _ in runs.marked("broke")} >= {0, 2, 4}
