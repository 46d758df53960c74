"""Sail: a server that speaks Spark Connect and has no Java in it."""

import pytest
from cases import Cases
from engines import OnSpark, Sail


@pytest.fixture(scope="session")
def engine(logs):
    from pyspark.sql import SparkSession

    server = Sail(logs)
    session = SparkSession.builder.remote(server.address).getOrCreate()
    yield OnSpark(session)
    session.stop()
    server.stop()


class TestCases(Cases):
    pass
