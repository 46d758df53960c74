"""Frontiers: error against dependence on held-out rows, over strengths, modes and alignments."""

from __future__ import annotations

import importlib
import json
from typing import Any

from sklearn.base import clone
from sklearn.utils.multiclass import type_of_target

from oblivio import _oblivio
from oblivio._base import ObliviousEstimator, count, number, seed_of
from oblivio._files import to_frame, write_whole
from oblivio._oblivio import InvalidInputError

_MEASURES = ("correlation-ratio", "parity-difference", "hsic", "distance-correlation")


class Frontier:
    """Error against dependence of everything that was tried, from :func:`frontier`.

    It prints as the answer in words, shows itself in notebooks, and writes itself as a page for people, a frame, CSV or
    JSON. It holds aggregates only, no row of the table.
    """

    def __init__(self, model: _oblivio.FrontierModel, title: str):
        self._model, self.title = model, title

    def to_dict(self) -> dict[str, Any]:
        """Everything that was found, by the schema of ``docs/frontier.md``."""
        found: dict[str, Any] = json.loads(self._model.to_json())
        return {"schema": 1, "oblivio": _oblivio.__version__, "title": self.title} | found

    def to_frame(self) -> Any:
        """One row for each candidate, error and measure of dependence, those against all sensitive features first.

        A pandas frame if pandas is installed, else a dictionary of columns.
        """
        found = self.to_dict()
        entries = [entry["name"] for entry in reversed(found["against"])]
        columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        for against in entries:
            for measure in found["measures"]:
                for at, _ in enumerate(found["errors"]):
                    for tried in found["candidates"]:
                        for own in tried["dependence"]:
                            if (own["against"], own["measure"]) == (against, measure):
                                _add(columns, tried, tried["errors"][at], own)
        return to_frame(columns)

    def to_csv(self, path: Any = None) -> str | None:
        """The rows of :meth:`to_frame` as CSV: written to a file, or returned."""
        return _written(self._model.to_csv(), path)

    def to_json(self, path: Any = None) -> str | None:
        """Everything that was found as JSON: written to a file, or returned."""
        return _written(json.dumps(self.to_dict(), ensure_ascii=False), path)

    def to_html(self, path: Any = None) -> str | None:
        """One page that needs no other file and no network: written to a file, or returned."""
        return _written(self._model.to_html(self.title, []), path)

    def plot(
        self, measure: str | None = None, *, against: str | None = None, error: str | None = None, ax: Any = None
    ) -> Any:
        """Draw error against one measure of dependence with matplotlib.

        Parameters
        ----------
        measure, against, error : str, optional
            The measure, the sensitive features (``"sex × age"``) and the error, by their names in :meth:`to_frame`.
            Default: the first of each, which is the dependence on all sensitive features together.
        ax : matplotlib Axes, optional
            Where to draw; new axes if absent.

        Returns
        -------
        matplotlib Axes
        """
        try:
            plt = importlib.import_module("matplotlib.pyplot")
        except ImportError:
            raise ImportError("plot needs matplotlib; install it, or write a page with to_html") from None
        found = self.to_dict()
        names = [entry["measure"] for entry in found["errors"]]
        at = _place(names, error, "error")
        taken = [
            (own["against"], own["measure"])
            for entry in reversed(found["against"])
            for own in found["candidates"][0]["dependence"]
            if own["against"] == entry["name"]
        ]
        taken = [pair for pair in taken if against in (None, pair[0])]
        if not taken:
            known = ", ".join(entry["name"] for entry in found["against"])
            raise InvalidInputError(f"against {against!r} was not looked at; choose one of: {known}")
        pair = taken[_place([name for _, name in taken], measure, "measure")]
        axes = plt.subplots()[1] if ax is None else ax
        _draw(axes, found, pair, at)
        axes.set_xlabel(f"{pair[1]}, {pair[0]}")
        axes.set_ylabel(names[at])
        return axes

    @property
    def answer(self) -> str:
        """What was found, in words."""
        headline, sentences = self._model.answer()
        return "\n".join([headline, *sentences])

    def __str__(self) -> str:
        return self.answer

    def __repr__(self) -> str:
        found = self.to_dict()
        return (
            f"<Frontier of {self.title}: {len(found['candidates'])} candidates, {found['held-out-rows']} held-out rows>"
        )

    def _repr_html_(self) -> str:
        return str(self._model.to_compact_html(self.title))


def frontier(
    X: Any,
    y: Any,
    *,
    sensitive_features: Any = None,
    estimator: Any = None,
    modes: Any = ("oblivious", "m-oblivious", "sensitive-free"),
    strengths: Any = (0.0, 0.25, 0.5, 0.75, 1.0),
    aligns: Any = None,
    align_strengths: Any = (1.0,),
    alpha: Any = None,
    held_out: float = 0.3,
    measures: Any = _MEASURES,
    measure_cells: int | str = 4,
    decide_at: float | None = None,
    sample_weight: Any = None,
    min_rows: int = 20,
    n_permutations: int = 199,
    n_resamples: int = 199,
    confidence: float = 0.95,
    title: str | None = None,
    random_state: Any = None,
) -> Frontier:
    """Compare error with dependence over modes, strengths and alignments, on held-out rows.

    Every combination is fitted on some rows and judged on the others. Nothing is chosen: how much to take out is a
    decision, not a parameter to be tuned, and the numbers of the combination you choose are too good. Measure it
    again on rows that had no part in the choice.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_features)
        The features, and the sensitive ones among them if the estimator's ``sensitive_feature_ids`` says so.
    y : array of shape (n_samples,)
        The target: numbers, or two classes.
    sensitive_features : array, Series, frame or list, default=None
        The sensitive features, if they are not columns of X.
    estimator : ObliviousRidge, ObliviousSVC or ObliviousLogistic, default=None
        Says all but mode, strength and alignment. Default: ``ObliviousLogistic()`` for two classes, else
        ``ObliviousRidge()``.
    modes, strengths : lists
        What is tried. The plain fit is always there.
    aligns, align_strengths : lists
        Alignments by name, and how much of them is done; ``"none"`` leaves scores as they are. Default: all there are.
    alpha : float or "auto", default=None
        The penalty of a ridge regression in place of the estimator's; ``"auto"`` finds one for every mode and
        strength by leave-one-out on the training rows.
    held_out : float, default=0.3
        The share of rows that judge and do not train.
    measures : list of str
        The measures of dependence, by their names in :func:`audit`.
    measure_cells : int or str, default=4
        Cells of each continuous sensitive feature where dependence is measured.
    decide_at : float, optional
        Scores from here on count as positive decisions. Default: 0 for classes, 0.5 for targets between 0 and 1, else
        the median of the training targets.
    sample_weight : array of shape (n_samples,), optional
        How often each row counts.
    min_rows : int, default=20
        Cells with fewer rows are left out of largest differences.
    n_permutations, n_resamples : int, default=199
        Shuffles for the level under independence, and samples for the intervals.
    confidence : float, default=0.95
        Of intervals.
    title : str, optional
        Of the page.
    random_state : int, RandomState or None, default=None
        The seed of the split, the shuffles and the fits in place of the estimator's; None is 0.

    Returns
    -------
    Frontier

    Examples
    --------
    >>> import oblivio as ob
    >>> table = ob.datasets.admissions(200, random_state=1)
    >>> found = ob.frontier(
    ...     table.features, table.targets["success"], sensitive_features=table.sensitive[["sex"]],
    ...     modes=["oblivious"], strengths=[1.0], aligns=["none"], measures=["correlation-ratio"],
    ... )
    >>> found.to_frame().name.tolist()
    ['plain', 'oblivious 1']
    """
    own = _estimator(estimator, y)
    seed = seed_of(random_state)
    own.set_params(random_state=seed)
    features, sensitive = own._read_fit(X, sensitive_features)
    if not sensitive:
        raise InvalidInputError("there is no sensitive feature to compare error with; give sensitive_features")
    target, settings = _target_and_settings(own, y, features, sensitive, alpha)
    grid = {
        "modes": _names("modes", modes),
        "strengths": _numbers("strengths", strengths),
        "aligns": _names("aligns", _oblivio.FrontierModel.ALIGNS if aligns is None else aligns),
        "align_strengths": _numbers("align_strengths", align_strengths),
        "held_out": number("held_out", held_out),
        "auto": isinstance(alpha, str),
        "measures": _names("measures", measures),
        "measure_cells": str(measure_cells),
        "decide_at": None if decide_at is None else number("decide_at", decide_at),
        "min_rows": count("min_rows", min_rows),
        "permutations": count("n_permutations", n_permutations),
        "resamples": count("n_resamples", n_resamples),
        "confidence": number("confidence", confidence),
        "seed": seed,
    }
    weights = own._weights(sample_weight, features.rows)
    model = _oblivio.FrontierModel.run(features.table(), sensitive, target, weights, settings, grid, own._progress())
    return Frontier(model, title or "Frontier")


def _estimator(estimator: Any, y: Any) -> Any:
    from oblivio._classifier import ObliviousLogistic, ObliviousSVC
    from oblivio._ridge import ObliviousRidge

    if estimator is None:
        classifies = y is not None and type_of_target(y) == "binary"
        return ObliviousLogistic() if classifies else ObliviousRidge()
    if not isinstance(estimator, (ObliviousRidge, ObliviousSVC, ObliviousLogistic)):
        raise InvalidInputError(
            "estimator must be an ObliviousRidge, an ObliviousSVC or an ObliviousLogistic, "
            f"got {type(estimator).__name__}"
        )
    return clone(estimator)


def _target_and_settings(
    own: ObliviousEstimator, y: Any, features: Any, sensitive: Any, alpha: Any
) -> tuple[Any, dict[str, Any]]:
    """The target as the engine takes it, and the estimator's settings."""
    from oblivio._classifier import names_of, read_classes
    from oblivio._ridge import ObliviousRidge, read_target

    if isinstance(alpha, str) and alpha != "auto":
        raise InvalidInputError(f'alpha must be a number or "auto", got {alpha!r}')
    if isinstance(own, ObliviousRidge):
        if alpha is not None and not isinstance(alpha, str):
            own.set_params(alpha=alpha)
        return (*read_target(y, features.rows, "frontier"), None), own._ridge_settings(features, sensitive)
    if alpha is not None:
        raise InvalidInputError("alpha is the penalty of ridge regression; give the estimator a C")
    name, own.classes_, codes = read_classes(y, features.rows, "frontier")
    numeric = own.classes_.dtype.kind in "biuf"
    target = (name, codes, (names_of(own.classes_), numeric))
    return target, own._classifier_settings(features, sensitive, None)


_OF_TRIED = ("name", "mode", "strength", "align", "align_strength", "penalty", "start")
_OF_ERROR = ("error_measure", "error", "error_lower", "error_upper", "cost", "cost_lower", "cost_upper")
_OF_DEPENDENCE = ("against", "measure", "dependence", "expected", "critical", "p_value", "lower", "upper", "rows")
_COLUMNS = (*_OF_TRIED, *_OF_ERROR, *_OF_DEPENDENCE, "detectable", "large", "on_frontier")
# Where the names of the frame differ from those of the schema.
_IN_SCHEMA = {
    "error_measure": "measure",
    "error": "value",
    "error_lower": "lower",
    "error_upper": "upper",
    "dependence": "value",
}


def _add(columns: dict[str, list[Any]], tried: Any, error: Any, own: Any) -> None:
    for names, found in ((_OF_TRIED, tried), (_OF_ERROR, error), ((*_OF_DEPENDENCE, "detectable", "large"), own)):
        for name in names:
            columns[name].append(found[_IN_SCHEMA.get(name, name.replace("_", "-"))])
    columns["align"][-1] = tried["align"] or "none"
    columns["on_frontier"].append(error["measure"] in own["on-frontier"])


def _draw(axes: Any, found: dict[str, Any], pair: tuple[str, str], at: int) -> None:
    """One mark for each candidate: colours are modes, shapes alignments, filled ones on the frontier."""
    modes = list(dict.fromkeys(tried["mode"] for tried in found["candidates"]))
    aligns = list(dict.fromkeys(tried["align"] for tried in found["candidates"]))
    level = None
    labelled = set()
    for tried in found["candidates"]:
        own = next((d for d in tried["dependence"] if (d["against"], d["measure"]) == pair), None)
        if own is None:
            continue
        level = own["expected"] if level is None or tried["start"] else level
        error, kind = tried["errors"][at], (tried["mode"], tried["align"])
        colour = f"C{modes.index(tried['mode'])}"
        axes.errorbar(
            own["value"],
            error["value"],
            xerr=[[max(own["value"] - own["lower"], 0.0)], [max(own["upper"] - own["value"], 0.0)]],
            yerr=[[max(error["value"] - error["lower"], 0.0)], [max(error["upper"] - error["value"], 0.0)]],
            marker="D" if tried["start"] else "os^v"[aligns.index(tried["align"]) % 4],
            color=colour,
            markerfacecolor=colour if error["measure"] in own["on-frontier"] else "none",
            elinewidth=0.7,
            alpha=0.9,
            linestyle="none",
            label=None if kind in labelled else " + ".join(part for part in kind if part),
        )
        labelled.add(kind)
    if level is not None:
        axes.axvline(level, color="grey", linestyle="--", linewidth=1, label="level under independence")
    axes.legend()


def _place(names: list[str], name: str | None, what: str) -> int:
    if name is None:
        return 0
    if name not in names:
        raise InvalidInputError(f"{what} {name!r} was not taken; choose one of: {', '.join(dict.fromkeys(names))}")
    return names.index(name)


def _names(what: str, given: Any) -> list[str]:
    names = [given] if isinstance(given, str) else list(given)
    if not all(isinstance(name, str) for name in names):
        raise InvalidInputError(f"{what} must be names, got {given!r}")
    return names


def _numbers(what: str, given: Any) -> list[float]:
    try:
        return [number(what, value) for value in given]
    except TypeError:
        raise InvalidInputError(f"{what} must be numbers, got {given!r}") from None


def _written(text: str, path: Any) -> str | None:
    if path is None:
        return text
    write_whole(path, text.encode())
    return None
