"""Tables that several files use."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def table():
    """Sixty rows: three number features that depend on a sensitive group, the group, and a target."""
    rng = np.random.default_rng(7)
    group = rng.integers(0, 3, 60)
    features = pd.DataFrame(rng.normal(size=(60, 3)) + group[:, None] * [1.0, 0.0, 0.5], columns=["a", "b", "c"])
    target = pd.Series(features["a"] - features["b"] ** 2 + 0.1 * rng.normal(size=60), name="y")
    return features, pd.Series(group, name="group"), target
