"""Bounds on rounding, from which tests derive their tolerances."""

import numpy as np


def rounding(terms):
    """A bound on the relative rounding of a few operations, each a sum of this number of terms."""
    return 16 * (terms + 1) * np.finfo(float).eps
