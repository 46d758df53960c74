"""Smoke test of the installed package: fit a small model, compare group means before and after, run the program."""

import shutil
import subprocess
import sysconfig

import numpy as np

import oblivio as ob


def gap(values: np.ndarray, s: np.ndarray) -> float:
    """Absolute difference between the means of the two groups."""
    return float(abs(values[s == 1].mean() - values[s == 0].mean()))


rng = np.random.default_rng(0)
s = rng.integers(0, 2, 200)
x = rng.normal(size=(200, 2)) + s[:, None]
y = x[:, 0] + 2 * s
scores = ob.ObliviousRidge(alpha=0.1).fit(x, y, sensitive_features=s).predict(x, sensitive_features=s)
before, after = gap(y, s), gap(scores, s)
assert after < 1e-9 and before > 2, (before, after)
print(f"difference between the group means: {before:.2f} in the target, {after:.0e} in the scores")

program = shutil.which("oblivio", path=sysconfig.get_path("scripts"))
assert program, "the program `oblivio` is not in the scripts folder of this Python"
subprocess.run([program, "--version"], check=True)
