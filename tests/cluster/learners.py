"""The engine's own learners on our features."""

import numpy as np
from cases import WORDS, quietly, table

import oblivio as ob


def transformer():
    return ob.ObliviousTransformer(n_components=24, gamma=2.0, standardize=True, conditional_mean="cells")


def spread_over_cells(scores, cells):
    """The largest difference of the cells' mean scores, over the spread of the scores."""
    means = [scores[cells == cell].mean() for cell in np.unique(cells)]
    return (max(means) - min(means)) / scores.std()


def spark_ml_learns_nothing_of_the_cells(engine):
    """Any linear score of the features has one mean in all cells; of the columns themselves it has not."""
    from pyspark.ml.classification import LogisticRegression
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.functions import array_to_vector, vector_to_array
    from pyspark.sql.functions import col

    data = engine.frame(table(), 2).withColumn("label", (col("admitted") == "yes").cast("double"))
    columns = {"features": WORDS, "sensitive": "region"}
    found = quietly(transformer().fit_spark, data, **columns)
    ours = found.transform_spark(data, keep=["row", "region", "label"], name="ours")
    ours = ours.withColumn("vector", array_to_vector("ours"))
    numbers = ["income", "hours", "gpa", "test"]
    theirs = VectorAssembler(inputCols=numbers, outputCol="vector").transform(data.select("region", "label", *numbers))
    spreads = []
    for rows in (ours, theirs):
        learner = LogisticRegression(featuresCol="vector", labelCol="label", maxIter=10, regParam=0.01)
        scored = learner.fit(rows).transform(rows).withColumn("score", vector_to_array("rawPrediction")[1])
        kept = engine.collect(scored.select("region", "score"))
        spreads.append(spread_over_cells(kept["score"].to_numpy(), kept["region"].to_numpy()))
    after, before = spreads
    assert before > 0.1
    assert after < 1e-8
