"""A table of any number of rows that the engine makes as it goes: nothing is stored, and parts can be made again."""

import numpy as np
import pandas as pd

import oblivio as ob

FEATURES = [f"x{k}" for k in range(4)]
COLUMNS = {"label": "y", "features": FEATURES, "sensitive": ["group", "age"]}
SHAPES = "0.8 * {u} + 0.2 * {age}", "0.5 * {u} + 0.1 * {group}", "{u}", "{u} * {u}"


def model(components=64):
    """What is fitted to it."""
    return ob.ObliviousRidge(
        standardize=False,
        n_components=components,
        gamma=4.0,
        conditional_mean="cells",
        cells=8,
        fit_intercept=True,
        random_state=0,
    )


def on_spark(session, rows, parts):
    """In SQL, from hashes of the row's number."""

    def uniform(seed):
        return f"(hash(id, {seed}) & 1048575) / 1048576D"

    age, group = uniform(101), "(hash(id, 102) & 3)"
    features = [shape.format(u=uniform(k), age=age, group=group) for k, shape in enumerate(SHAPES)]
    named = [f"{feature} AS x{k}" for k, feature in enumerate(features)]
    label = f"{features[0]} + sin(6 * {features[1]}) + 0.3 * {age} + 0.1 * {uniform(103)} AS y"
    return session.range(0, rows, 1, parts).selectExpr(
        *named, f"concat('group ', {group}) AS group", f"20 + 50 * {age} AS age", label
    )


def on_dask(rows, parts):
    """In NumPy, from a seed for each part."""
    import dask.dataframe as dd

    def part(k):
        size = (k + 1) * rows // parts - k * rows // parts
        rng = np.random.default_rng([7, k])
        age, group = rng.random(size), rng.integers(0, 4, size)
        x = [eval(shape.format(u="u", age="age", group="group"), {"u": rng.random(size), "age": age, "group": group})
             for shape in SHAPES]  # fmt: skip
        y = x[0] + np.sin(6 * x[1]) + 0.3 * age + 0.1 * rng.random(size)
        names = np.array([f"group {level}" for level in range(4)], dtype=object)[group]
        features = {f"x{column}": values for column, values in enumerate(x)}
        return pd.DataFrame(features | {"group": pd.array(names, dtype="str"), "age": 20 + 50 * age, "y": y})

    return dd.from_map(part, list(range(parts)), meta=part(0).iloc[:0])
