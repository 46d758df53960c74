"""Spark Connect: a server of its own, and a client that has no Spark in it."""

import pytest
from cases import Cases
from engines import JAVA, OnSpark
from learners import spark_ml_learns_nothing_of_the_cells

pytestmark = pytest.mark.skipif(JAVA is None, reason="there is no Java, which Spark's Connect server needs")


@pytest.fixture(scope="session")
def engine(logs):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2")
    session = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    yield OnSpark(session)
    session.stop()


class TestCases(Cases):
    pass


def test_spark_ml_learns_from_the_features(engine):
    spark_ml_learns_nothing_of_the_cells(engine)
