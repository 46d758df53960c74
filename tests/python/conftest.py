"""Fixtures that several files use, and the profiles of random tests."""

import os

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from oblivio import _classifier, _ridge

# Hypothesis draws constants from the source of the loaded modules. The examples of a test would then depend on which
# other tests are collected.
assert hasattr(providers, "is_local_module_file")
providers.is_local_module_file = lambda path: False

# The same examples in every run. Deadlines and checks of speed would depend on the machine.
settings.register_profile(
    "repeated",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
# Other examples for each `--hypothesis-seed`: `make explore`.
settings.register_profile(
    "explore",
    settings.get_profile("repeated"),
    derandomize=False,
    database=None,
    max_examples=int(os.environ.get("OBLIVIO_EXAMPLES", "100")),
)
settings.load_profile("repeated")

# Solvers are chosen by the free memory. Tests see the same on every machine: enough for all their matrices.
_ridge.free_memory = _classifier.free_memory = lambda: 8e9


@pytest.fixture
def table():
    """Sixty rows: three number features that depend on a sensitive group, the group, and a target."""
    rng = np.random.default_rng(7)
    group = rng.integers(0, 3, 60)
    features = pd.DataFrame(rng.normal(size=(60, 3)) + group[:, None] * [1.0, 0.0, 0.5], columns=["a", "b", "c"])
    target = pd.Series(features["a"] - features["b"] ** 2 + 0.1 * rng.normal(size=60), name="y")
    return features, pd.Series(group, name="group"), target
