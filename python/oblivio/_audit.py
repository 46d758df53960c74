"""Audits: how much scores, labels or features depend on sensitive features."""

from __future__ import annotations

import json
import numbers
from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from oblivio import _oblivio
from oblivio._base import bounds_of, count, kinds_of, number, seed_of, weights_of
from oblivio._files import to_frame, write_whole
from oblivio._frontier import Frontier
from oblivio._input import NamedColumn, columns_of, frame_of, sensitive_columns
from oblivio._oblivio import InvalidInputError


class Audit:
    """What an audit found, from :func:`audit`.

    It prints as the answer in words, shows itself in notebooks, and writes itself as a page for people, a frame, CSV or
    JSON. It holds aggregates only, no row of the table.
    """

    def __init__(self, model: _oblivio.AuditModel, title: str, frontier: list[tuple[str, float, float, bool]]):
        self._model, self.title, self._frontier = model, title, frontier

    def to_dict(self) -> dict[str, Any]:
        """Everything that was found, by the schema of ``docs/audit.md``."""
        found: dict[str, Any] = json.loads(self._model.to_json())
        return {"schema": 1, "oblivio": _oblivio.__version__, "title": self.title} | found

    def to_frame(self) -> Any:
        """The measures, one row for each: a pandas frame if pandas is installed, else a dictionary of columns."""
        names = "subject against measure value expected critical p-value lower upper rows detectable large detail"
        findings = self.findings
        return to_frame({name.replace("-", "_"): [f[name] for f in findings] for name in names.split()})

    def to_csv(self, path: Any = None) -> str | None:
        """The measures as CSV: written to a file, or returned."""
        return _written(self._model.to_csv(), path)

    def to_json(self, path: Any = None) -> str | None:
        """Everything that was found as JSON: written to a file, or returned."""
        return _written(json.dumps(self.to_dict(), ensure_ascii=False), path)

    def to_html(self, path: Any = None) -> str | None:
        """One page that needs no other file and no network: written to a file, or returned."""
        return _written(self._model.to_html(self.title, [], self._frontier), path)

    @property
    def answer(self) -> str:
        """What was found, in words."""
        headline, sentences = self._model.answer()
        return "\n".join([headline, *sentences])

    @property
    def findings(self) -> list[dict[str, Any]]:
        """The measures, a dictionary each."""
        found: list[dict[str, Any]] = self.to_dict()["findings"]
        return found

    def __str__(self) -> str:
        return self.answer

    def __repr__(self) -> str:
        return f"<Audit of {self.title}: {len(self.findings)} measures>"

    def _repr_html_(self) -> str:
        return str(self._model.to_compact_html(self.title))


def audit(
    data: Any,
    sensitive: Any,
    y: Any = None,
    *,
    before: Any = None,
    features: Any = None,
    control_features: Any = None,
    sample_weight: Any = None,
    threshold: float | None = None,
    pos_label: Any = None,
    measures: Any = None,
    cells: int | str = 4,
    binning: str = "quantile",
    sensitive_bounds: Any = None,
    categorical_sensitive: Any = "auto",
    handle_missing: str = "error",
    bins: int = 4,
    min_rows: int = 20,
    n_permutations: int = 199,
    n_resamples: int = 199,
    confidence: float = 0.95,
    frontier: Any = None,
    title: str | None = None,
    random_state: Any = None,
) -> Audit:
    """Measure how much scores, labels or features depend on sensitive features.

    Every measure comes with the level it would have under independence and an interval. *Detectable* (chance would
    hardly give such a value) and *large* are two things. Measure on rows that no model was fitted on.

    Parameters
    ----------
    data : array-like, frame or dict
        A list, Series or array of one dimension: scores, or labels. A frame or a matrix: features, audited together and
        one by one. A dictionary: several scores by name.
    sensitive : array-like, Series or frame
        The sensitive features: each is looked at by itself, and all together.
    y : array-like, optional
        True labels, or the target of a regression. With scores they give separation, equalised odds, calibration and
        errors by cell; with features they are audited themselves. With several classes, a score is for the class that
        its name ends with, as in ``"score_yes"``.
    before : array-like, optional
        The same scores before a correction, or of another model, to compare with.
    features : array-like or frame, optional
        With scores: the features, to see which of them carry dependence.
    control_features : array-like, Series or frame, optional
        Legitimate factors. Cells are compared within their levels (continuous ones in ``cells`` bins), and the results
        are averaged over the levels by their rows. ``"conditional-parity"`` is the share of the variance that the
        sensitive features explain beyond them. HSIC, adversaries and distance correlation are then left out.
    sample_weight : array-like, optional
        How much each row counts.
    threshold : float, optional
        Scores from here on count as positive decisions. Default: 0.5 for scores between 0 and 1, else the median.
    pos_label : optional
        The label that counts as positive. Default: the last of two.
    measures : list of str, optional
        The measures to take, by their names on the command line (``"beta"``, ``"hsic"``, …). Default: all that are
        defined.
    cells, binning, sensitive_bounds, categorical_sensitive
        How the sensitive features are cut into cells, as in :class:`ObliviousRidge`.
    handle_missing : {"error", "category"}, default="error"
        What becomes of missing sensitive values.
    bins : int, default=4
        Bins of a score for β.
    min_rows : int, default=20
        Cells with fewer rows are called small and left out of largest differences.
    n_permutations, n_resamples : int, default=199
        Shuffles for the level under independence, and samples for the intervals.
    confidence : float, default=0.95
        Of intervals and certificates.
    frontier : Frontier, frame or list of (name, error, dependence), optional
        Points to show on the page: what :func:`frontier` gives, ``path_`` of :class:`ObliviousRidgeCV`, or columns
        error and dependence.
    title : str, optional
        Of the page.
    random_state : int, RandomState or None, default=None
        The seed; None is 0.

    Returns
    -------
    Audit

    Examples
    --------
    >>> import oblivio as ob
    >>> table = ob.datasets.admissions(400, random_state=1)
    >>> found = ob.audit(table.targets["success"], table.sensitive[["sex"]], measures=["beta"])
    >>> found.to_frame().measure.tolist()
    ['beta']
    """
    given = _Given(data, sensitive, y, before, features, control_features)
    settings = {
        "cells": str(cells),
        "binning": binning,
        "bounds": bounds_of(sensitive_bounds, [name for name, _ in given.sensitive]),
        **kinds_of(categorical_sensitive, given.sensitive),
        "handle_missing": handle_missing,
        "threshold": None if threshold is None else number("threshold", threshold),
        "positive": None if pos_label is None else spelled(pos_label),
        "bins": count("bins", bins),
        "min_rows": count("min_rows", min_rows),
        "measures": _names(measures),
        "one_by_one": True,
        "permutations": count("n_permutations", n_permutations),
        "resamples": count("n_resamples", n_resamples),
        "confidence": number("confidence", confidence),
        "seed": seed_of(random_state),
    }
    return Audit(given.run(settings, sample_weight), title or "Audit", _points(frontier))


class _Given:
    """The columns of an audit, by role."""

    def __init__(self, data: Any, sensitive: Any, y: Any, before: Any, features: Any, control: Any):
        self.sensitive = sensitive_columns(sensitive)
        self.control = [] if control is None else columns_of(control, "control_feature")
        self.subjects: list[tuple[str, NamedColumn]] = []
        self.features: list[NamedColumn] = []
        labels = None if y is None else one_column(y, "y")
        if isinstance(data, Mapping):
            self.subjects = [("score", (str(name), one_column(values, str(name))[1])) for name, values in data.items()]
        elif _is_one(data):
            self.subjects = [("score", one_column(data, "score"))]
        else:
            self.features = columns_of(data, "x")
        self.whole_table = not self.subjects
        self.truth = None if self.whole_table else labels
        if before is not None:
            self._compare(one_column(before, "before"))
        if features is not None:
            if self.features:
                raise InvalidInputError("the features are given twice: as data and as features; give them once")
            self.features = columns_of(features, "x")
        if labels is not None and not self.subjects:
            self.subjects = [("target", labels)]
        self._check()

    def _compare(self, before: NamedColumn) -> None:
        if len(self.subjects) != 1:
            raise InvalidInputError("before goes with one column of scores; audit the others by themselves")
        after = self.subjects[0][1]
        name = before[0] if before[0] != after[0] else f"{before[0]}_before"
        self.subjects = [("before", (name, before[1])), ("after", after)]

    def _check(self) -> None:
        rows = _rows(self.sensitive[0])
        columns = [column for _, column in self.subjects] + self.features + self.control
        columns += [self.truth] if self.truth else []
        for column in columns:
            if _rows(column) != rows:
                raise InvalidInputError(
                    f"{column[0]!r} has {_rows(column)} rows and the sensitive features have {rows}; "
                    "give one value per row"
                )

    def run(self, settings: dict[str, Any], sample_weight: Any) -> Any:
        weights = weights_of(sample_weight, _rows(self.sensitive[0]))
        features = (self.features, self.whole_table)
        return _oblivio.AuditModel.run(
            self.subjects, features, self.sensitive, self.truth, self.control, weights, settings
        )


def one_column(data: Any, name: str) -> NamedColumn:
    """A single column: its own name if it has one."""
    columns = columns_of(data, name)
    if len(columns) != 1:
        raise InvalidInputError(f"{name} must be one column, got {len(columns)}")
    found, values = columns[0]
    if isinstance(values, tuple) and list(values[0]) == ["false", "true"]:
        values = values[1].astype(np.float64)
    return (name if found == f"{name}_0" else found), values


def measured(
    data: Any, sensitive: Any, y: Any, measure: str, sample_weight: Any, settings: dict[str, Any]
) -> dict[str, Any]:
    """One measure against all sensitive features together, for :mod:`oblivio.metrics`."""
    given = _Given(data, sensitive, y, None, None, settings.pop("control_features"))
    everything = _DEFAULTS | kinds_of(settings.pop("categorical_sensitive"), given.sensitive)
    bounds = bounds_of(settings.pop("sensitive_bounds"), [name for name, _ in given.sensitive])
    everything |= {"bounds": bounds, "measures": [measure]} | settings
    findings: list[dict[str, Any]] = json.loads(given.run(everything, sample_weight).to_json())["findings"]
    if not findings:
        raise InvalidInputError(f"{measure} is not defined for this input")
    return findings[-1]


_DEFAULTS: dict[str, Any] = {
    "handle_missing": "error",
    "threshold": None,
    "positive": None,
    "bins": 4,
    "min_rows": 1,
    "one_by_one": False,
}


def _is_one(data: Any) -> bool:
    return frame_of(data) is None and np.ndim(data) == 1


def _rows(column: NamedColumn) -> int:
    values = column[1]
    return len(values[1]) if isinstance(values, tuple) else len(values)


def spelled(label: Any) -> str:
    """A label as the engine spells it: 1.0 and True are both `1`."""
    if isinstance(label, (bool, np.bool_, numbers.Real)) and float(label).is_integer():
        return str(int(float(label)))
    return str(label)


def _names(measures: Any) -> list[str]:
    if measures is None:
        return []
    names = [measures] if isinstance(measures, str) else measures
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise InvalidInputError(f"measures must be names, got {measures!r}")
    return list(names)


def _points(frontier: Any) -> list[tuple[str, float, float, bool]]:
    if frontier is None:
        return []
    if isinstance(frontier, Frontier):
        frontier = frontier.to_frame()
    frame = frame_of(frontier)
    if frame is None:
        try:
            return [(str(name), float(error), float(dependence), False) for name, error, dependence in frontier]
        except (TypeError, ValueError):
            raise InvalidInputError("frontier must be a frame or a list of (name, error, dependence)") from None
    error = next((name for name in ("error", "loo_error", "gcv") if name in frame.columns), None)
    dependence = next((name for name in ("dependence", "correlation_ratio") if name in frame.columns), None)
    if error is None or dependence is None:
        raise InvalidInputError(
            f"frontier needs the columns error and dependence, got {', '.join(map(str, frame.columns))}"
        )
    # The frame of a frontier has many measures; the first of them comes first.
    for kind in ("error_measure", "against", "measure"):
        if kind in frame.columns and len(frame):
            frame = frame.filter(nw.col(kind) == frame[kind][0])
    label = next((name for name in ("name", "strength") if name in frame.columns), None)
    names = [f"{label} {value}" if label == "strength" else str(value) for value in frame[label]] if label else None
    pairs = zip(frame[error].to_list(), frame[dependence].to_list(), strict=True)
    return [(names[k] if names else str(k), float(e), float(d), False) for k, (e, d) in enumerate(pairs)]


def _written(text: str, path: Any) -> str | None:
    if path is None:
        return text
    write_whole(path, text.encode())
    return None
