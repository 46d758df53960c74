"""Sums over rows that add up, and the regressions that follow from them."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np

from oblivio import _oblivio
from oblivio._base import ObliviousEstimator, check_rows, number, reader
from oblivio._files import ridge_of
from oblivio._input import Features, NamedColumn, sensitive_columns, warn
from oblivio._oblivio import InvalidInputError
from oblivio._ridge import ObliviousRidge, read_target
from oblivio._stream import in_batches


class Moments(ObliviousEstimator):
    """Sums over rows, from which oblivious ridge regression follows for every strength and penalty.

    Memory does not grow with the rows. Moments of parts of a table merge to those of the table, in any order, and a
    part can be taken out again. The first :meth:`update` settles a plan: the kernel's numbers, the landmarks, how each
    sensitive feature is read and where continuous ones are cut. Moments of one plan go together: make those of other
    parts with :meth:`empty`. With the linear kernel, moments that were made apart do so as well, if no sensitive
    feature is continuous.

    Examples
    --------
    >>> import numpy as np
    >>> import oblivio as ob
    >>> rng = np.random.default_rng(0)
    >>> s = rng.integers(0, 2, 200)
    >>> X = rng.normal(size=(200, 2)) + s[:, None]
    >>> one = ob.Moments().update(X[:100], s[:100], y=X[:100, 0])
    >>> other = ob.Moments().update(X[100:], s[100:], y=X[100:, 0])
    >>> both = one + other
    >>> both.n_rows
    200
    >>> scores = both.ridge(alpha=0.1).predict(X, sensitive_features=s)
    >>> bool(abs(scores[s == 0].mean() - scores[s == 1].mean()) < 1e-9)
    True

    Parameters
    ----------
    alpha : float, default=1.0
        Penalty of ridge regression; the program also knows auto. Larger is smoother. auto takes the penalty with the
        least leave-one-out error; in Python that is ObliviousRidgeCV.
    kernel : str or Kernel, default="linear"
        Kernel, or an expression such as 'rbf(gamma=2) + linear'. linear, poly, rbf, laplacian, matern12, matern32 or
        matern52, or sums and products of them.
    n_components : int, default=256
        Learn on this number of landmarks, for tables of any length. Memory does not grow with the rows. Without it a
        fit is exact, and its cost grows with the square of the rows. With it the kernel has Nyström features of at most
        this number of landmarks, and the cost grows with the rows.
    random_state : int, RandomState or None, default=None
        Seed of everything random. None is the seed 0.

    Other Parameters
    ----------------
    gamma : float, "scale" or "median", default="scale"
        Gamma of a single kernel: a number, scale or median. scale is 1/(d·Var X) over all entries of the training X,
        median one over the median (squared) distance.
    degree : int, default=3
        Degree of a single poly kernel.
    coef0 : float, default=1.0
        Constant of a single poly kernel.
    landmarks : {"cholesky", "k-means++", "uniform", "fourier"}, default="cholesky"
        Method that chooses landmarks among the distinct rows. cholesky draws each in proportion to the part of k(x, x)
        that the earlier ones leave, k-means++ in proportion to the squared distance from the nearest earlier one,
        uniform draws all alike. fourier takes random waves instead, which depend on the kernel and the seed alone; they
        need a single rbf, laplacian or Matérn kernel and come less near to it.
    tolerance : float, default=0.0
        Share of the kernel's trace that landmarks may leave out. No more landmarks are added from there on. For the
        method cholesky only: the others cannot tell.
    conditional_mean : {"auto", "cells", "smooth", "linear"}, default="auto"
        Estimator of the mean of the features given S. cells: the mean of each cell. smooth: ridge regression on kernel
        features of S, whose bandwidth and ridge have the least leave-one-out error. linear: least squares on S. auto
        takes cells if all sensitive columns are categorical or if cells or binning is set, else cells or smooth,
        whichever has the smaller leave-one-out error. The error of predictions never chooses it.
    shrinkage : bool, default=False
        Draw the means of cells towards the overall mean. Their scatter says by how much. Leaves some dependence.
    cells : int, "auto", "loo" or "paper", default="auto"
        Cells of each continuous sensitive column. A number, auto, loo (the number with the least leave-one-out error)
        or paper.
    binning : {"quantile", "uniform", "dyadic"}, default="quantile"
        Ends of the cells of a continuous sensitive column. quantile: the same number of reference rows in each.
        uniform: the same width. dyadic: the same width, and a power of two of them.
    min_rows : int or None, default=None
        Join cells with fewer reference rows with their neighbours. By default 5 (fewer in small tables) where the
        number of cells is auto, else none is joined.
    sensitive_bounds : pair or dict of pairs by column, default=None
        Bounds of continuous sensitive features, for uniform and dyadic cells.
    handle_unknown : {"error", "population", "zero"}, default="error"
        Sensitive categories without reference rows. error refuses them. population removes nothing from their rows.
        zero takes the mean 0, as the paper does.
    categorical_sensitive : "auto" or names or positions, default="auto"
        Sensitive features to read as categories; all others are then continuous. By default text, booleans, and whole
        numbers with at most 5 distinct values.
    """

    _fitter = "moments"

    # The plan is the same for every strength but zero.
    strength = 1.0
    # Absent until the first update.
    _gathered: _oblivio.Moments

    # settings: begin
    def __init__(
        self,
        *,
        alpha: float = 1.0,
        kernel: Any = "linear",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        n_components: int = 256,
        landmarks: str = "cholesky",
        tolerance: float = 0.0,
        conditional_mean: str = "auto",
        shrinkage: bool = False,
        cells: Any = "auto",
        binning: str = "quantile",
        min_rows: int | None = None,
        sensitive_bounds: Any = None,
        handle_unknown: str = "error",
        categorical_sensitive: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.landmarks = landmarks
        self.tolerance = tolerance
        self.conditional_mean = conditional_mean
        self.shrinkage = shrinkage
        self.cells = cells
        self.binning = binning
        self.min_rows = min_rows
        self.sensitive_bounds = sensitive_bounds
        self.handle_unknown = handle_unknown
        self.categorical_sensitive = categorical_sensitive
        self.random_state = random_state

    # settings: end

    def update(self, X: Any, S: Any = None, y: Any = None, *, sample_weight: Any = None) -> Moments:
        """Add rows, all or (if there is an error) none of them.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The features, numbers only. Columns of a frame are found by name.
        S : array, Series, frame or list, default=None
            The sensitive features.
        y : array of shape (n_samples,), default=None
            The target: in every update or in none.
        sample_weight : array of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        Moments
            These.
        """
        features = self._read_features(X)
        sensitive = self._read_sensitive(S, features.rows)
        name, target = (None, None) if y is None else read_target(y, features.rows, "Moments")
        weights = self._weights(sample_weight, features.rows)
        sums = self._sums
        if sums is None:
            settings = in_batches(self._plan(features, sensitive))
            sums, remarks = _oblivio.Moments.begin(features.table(), sensitive, target, weights, settings)
            self._settle(sums, settings["seed"], name, [name for name, _ in sensitive])
            warn(remarks)
        else:
            self._check_target(name)
            self._gathered, uses = sums.add(features.table(), sensitive, target, weights)
            warn([], uses)
        return self

    def empty(self) -> Moments:
        """Moments of no rows by the same plan, for another part of the table."""
        empty = copy.copy(self)
        empty._gathered = self._settled("to settle a plan").empty()
        return empty

    def merge(self, other: Moments) -> Moments:
        """Add the rows of others, in place."""
        theirs = _moments(other)._sums
        if self._sums is None and theirs is not None:
            self._settle(theirs, other._seed_settled, other._target_name, other._sensitive_names)
        elif self._sums is not None and theirs is not None:
            self._check_target(other._target_name)
            self._gathered = self._sums.merged(theirs)
        return self

    def subtract(self, other: Moments) -> Moments:
        """Take rows out that were added before, in place, as if they had never been."""
        theirs = _moments(other)._sums
        if theirs is not None:
            mine = self._settled("to take some out")
            self._check_target(other._target_name)
            self._gathered = mine.without(theirs)
        return self

    def __add__(self, other: Any) -> Moments:
        return copy.copy(self).merge(other) if isinstance(other, Moments) else NotImplemented

    def __sub__(self, other: Any) -> Moments:
        return copy.copy(self).subtract(other) if isinstance(other, Moments) else NotImplemented

    def to_bytes(self) -> bytes:
        """The moments as bytes, which :meth:`from_bytes` reads.

        Sums, landmarks, and the last rows that do not fill a block yet: keep them as safe as the data.
        """
        sums = self._settled("to keep")
        note = {
            "alpha": number("alpha", self.alpha),
            "seed": self._seed_settled,
            "target": self._target_name,
            "sensitive": self._sensitive_names,
        }
        return sums.to_bytes(json.dumps(note))

    @staticmethod
    def from_bytes(data: bytes) -> Moments:
        """Read what :meth:`to_bytes` wrote; nothing in it is run, and bytes that make no sense are refused.

        Parameters that only the making of a plan needs have their defaults.
        """
        sums = _oblivio.Moments.from_bytes(data)
        alpha, seed, target, sensitive = _read_note(_oblivio.Moments.note_of(data))
        moments = Moments(kernel=sums.kernel, n_components=sums.components, alpha=alpha, random_state=seed)
        moments._settle(sums, seed, target, sensitive)
        return moments

    @property
    def n_rows(self) -> int:
        """Rows added, those of weight zero left out."""
        return 0 if self._sums is None else self._sums.rows

    @property
    def weight(self) -> float:
        """The sum of their weights."""
        return 0.0 if self._sums is None else self._sums.weight

    def ridge(
        self,
        *,
        alpha: float = 1.0,
        strength: float = 1.0,
        mode: str = "oblivious",
        eta: float | None = None,
        fit_intercept: bool = False,
    ) -> ObliviousRidge:
        """The regression that these rows amount to, all of them training and estimating.

        Parameters
        ----------
        alpha, strength, eta, fit_intercept
            As in :class:`ObliviousRidge`.
        mode : {"oblivious", "plain", "sensitive-free"}, default="oblivious"
            Not ``"m-oblivious"``, whose offsets need each row once more.

        Returns
        -------
        ObliviousRidge
            Fitted. It finds its columns as one that comes from :func:`load` does.
        """
        sums, target = self._settled("to learn from"), self._learnable()
        settings = self._solve(fit_intercept) | {
            "alpha": number("alpha", alpha),
            "strength": number("strength", strength),
            "mode": mode,
            "eta": None if eta is None else number("eta", eta),
        }
        model, remarks, uses = sums.ridge(target, settings)
        warn(remarks, uses)
        fitted: ObliviousRidge = ridge_of(model)
        return fitted

    def grid(self, alphas: Any, strengths: Any = (1.0,), *, fit_intercept: bool = False) -> dict[str, Any]:
        """Error and dependence of oblivious regressions, for every strength and penalty.

        Error alone is no guide to a strength: leaking the sensitive features lowers it.

        Parameters
        ----------
        alphas, strengths : sequences of floats
            The penalties, and how much is taken out.
        fit_intercept : bool, default=False
            Learn a constant, without a penalty.

        Returns
        -------
        dict of ndarray
            Columns of a table with a row for each pair: ``strength``, ``alpha``, ``error`` (root mean square),
            ``gcv`` (generalised cross-validation), ``correlation_ratio`` (the share of the score's variance that the
            cells explain), ``expected`` (that share for a score independent of them) and ``gap`` (the largest
            difference between the mean scores of two cells).
        """
        sums = self._settled("to learn from")
        self._learnable()
        return sums.grid(_numbers("strengths", strengths), _numbers("alphas", alphas), self._solve(fit_intercept))

    @property
    def _sums(self) -> _oblivio.Moments | None:
        return getattr(self, "_gathered", None)

    def _settle(self, sums: _oblivio.Moments, seed: int, target: str | None, sensitive: list[str]) -> None:
        self._gathered = sums
        self._seed_settled, self._target_name, self._sensitive_names = seed, target, sensitive

    def _settled(self, purpose: str) -> _oblivio.Moments:
        if self._sums is None:
            raise InvalidInputError(f"these moments have had no rows yet {purpose}; update them first")
        return self._sums

    def _learnable(self) -> str:
        if self._target_name is None:
            raise InvalidInputError("these moments have no target to learn; give y to update")
        return self._target_name

    def _check_target(self, name: str | None) -> None:
        if (name is None) != (self._target_name is None):
            raise InvalidInputError("some of these rows have a target and others have none; give y for all or for none")

    def _read_features(self, X: Any) -> Features:
        features = Features.read(reader(), X, reset=True)
        if not isinstance(features.table(), tuple):
            raise InvalidInputError("Moments are sums of numbers, and X has other columns; encode them before")
        if self._sums is None:
            return features
        names = [name for name, _ in self._sums.feature_columns]
        if len(features.names) != len(names):
            raise InvalidInputError(f"X has {len(features.names)} columns but these moments have {len(names)}")
        if features.is_unnamed:
            features.names = names
        return features if features.names == names else features.take(features.positions(names, "the plan"))

    def _read_sensitive(self, S: Any, rows: int) -> list[NamedColumn]:
        names = None if self._sums is None else self._sensitive_names
        if S is None:
            if names:
                raise InvalidInputError(f"these moments have sensitive features ({', '.join(names)}); give S")
            return []
        if names == []:
            raise InvalidInputError("these moments have no sensitive features; leave S out")
        columns = sensitive_columns(S, names)
        check_rows(columns, rows)
        return columns

    def _plan(self, features: Features, sensitive: list[NamedColumn]) -> dict[str, Any]:
        settings = self._settings(features, sensitive)
        return settings | {"kernel": self._kernel_expression(), "alpha": number("alpha", self.alpha)}

    def _solve(self, fit_intercept: bool) -> dict[str, Any]:
        """The settings of a solution; those of the plan are there and have no effect any more."""
        sums = self._settled("to learn from")
        settled = Moments(kernel=sums.kernel, n_components=sums.components, random_state=self._seed_settled)
        return settled._plan(Features([], 0), []) | {"intercept": bool(fit_intercept)}


def _moments(other: Any) -> Moments:
    if not isinstance(other, Moments):
        raise InvalidInputError(f"only Moments go together with Moments, got {type(other).__name__}")
    return other


def _numbers(name: str, values: Any) -> list[float]:
    try:
        return [float(value) for value in np.ravel(values)]
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name} must be numbers, got {values!r}") from None


def _read_note(text: str) -> tuple[float, int, str | None, list[str]]:
    """What stands beside the sums, trusting nothing in it."""
    try:
        note = json.loads(text)
        alpha, seed = float(note["alpha"]), note["seed"]
        target, sensitive = note["target"], note["sensitive"]
        sound = isinstance(seed, int) and 0 <= seed < 2**64 and isinstance(target, str | None)
        sound = sound and isinstance(sensitive, list) and all(isinstance(name, str) for name in sensitive)
    except (ValueError, KeyError, TypeError):
        sound = False
    if not sound:
        raise InvalidInputError("this is not a readable model: its note makes no sense")
    return alpha, seed, target, sensitive
