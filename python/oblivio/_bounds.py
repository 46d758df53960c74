"""Bounds: how far oblivious features and predictions were moved, and how much they can depend on S."""

from __future__ import annotations

import json
from typing import Any

from oblivio import _oblivio
from oblivio._base import count, number, seed_of
from oblivio._files import to_frame, write_whole
from oblivio._oblivio import InvalidInputError
from oblivio._scores import Scored

_COLUMNS = ("bound", "of", "cell", "found", "lower", "value", "vacuous", "rows")


class Bounds:
    """What is bounded, from :func:`bounds`.

    It prints as the answer in words, shows itself in notebooks, and writes itself as a page for people, a frame, CSV or
    JSON. It holds aggregates only, no row of the table. A bound that says no more than holds of anything is vacuous:
    words and page count such bounds in one line, the frame, CSV and JSON have them all.
    """

    def __init__(self, model: _oblivio.BoundsModel, title: str):
        self._model, self.title = model, title

    def to_dict(self) -> dict[str, Any]:
        """Everything that was found, by the schema of ``docs/bounds.md``."""
        found: dict[str, Any] = json.loads(self._model.to_json())
        return {"schema": 1, "oblivio": _oblivio.__version__, "title": self.title} | found

    def to_frame(self) -> Any:
        """One row for each bound: what the rows have (``found``), at most (``value``), and whether that is vacuous.

        A pandas frame if pandas is installed, else a dictionary of columns.
        """
        columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        for line in self._model.lines():
            for name, value in zip(_COLUMNS, line, strict=True):
                columns[name].append(value)
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

    @property
    def answer(self) -> str:
        """What was found, in words."""
        headline, sentences = self._model.answer()
        return "\n".join([headline, *sentences])

    def __str__(self) -> str:
        return self.answer

    def __repr__(self) -> str:
        found = self.to_dict()
        return f"<Bounds of {self.title}: {found['evaluation-rows']} rows, {found['projected-rows']} projected>"

    def _repr_html_(self) -> str:
        return str(self._model.to_compact_html(self.title))


def bounds(
    model: Any,
    X: Any,
    sensitive_features: Any = None,
    *,
    control_features: Any = None,
    rows: int = 1000,
    confidence: float = 0.95,
    gap: float = 0.01,
    boxes: int = 200,
    translation: float = 0.0,
    title: str | None = None,
    random_state: Any = 0,
) -> Bounds:
    """Bound how much a model's features and predictions can depend on S, and how far they were moved.

    Half of the rows estimate the conditional mean anew, the other half is what the bounds are of: the distance of
    oblivious features to the manifold, the bound on dependence that follows from it, the bound on the change of
    predictions, and what held-out rows say directly. Certificates hold for rows the model was not fitted on.

    Parameters
    ----------
    model : ObliviousRidge, ObliviousRidgeCV, ObliviousSVC or ObliviousLogistic
        A fitted model that knows sensitive features.
    X : array or frame of shape (n_samples, n_features)
        The features of rows it was best not fitted on.
    sensitive_features : array, Series, frame or list, default=None
        Their sensitive features, if they are not columns of X.
    control_features : array, Series, frame or list, default=None
        Their legitimate factors, for a model that was fitted with some which are not columns of X.
    rows : int, default=1000
        No more rows than this are projected onto the manifold.
    confidence : float, default=0.95
        Of intervals and certificates, each by itself.
    gap : float, default=0.01
        Nearest rows are certified until the gap is at most this share of the squared distance. A smaller share gives
        higher lower ends of intervals, and takes longer.
    boxes : int, default=200
        No more boxes than this are looked at to certify a row; a larger gap holds all the same.
    translation : float, default=0.0
        The paper's h* as a multiple of the mean feature of the reference rows, from -1 to 1: features are translated by
        it before their distance to the features of real rows is measured.
    title : str, optional
        Of the page.
    random_state : int, RandomState or None, default=0
        The seed of the split and the draws; None is 0.

    Returns
    -------
    Bounds

    Examples
    --------
    >>> import oblivio as ob
    >>> train, new = (ob.datasets.admissions(200, random_state=seed) for seed in (1, 2))
    >>> model = ob.ObliviousRidge(standardize=True)
    >>> model = model.fit(train.features, train.targets["success"], sensitive_features=train.sensitive[["sex"]])
    >>> found = ob.bounds(model, new.features, new.sensitive[["sex"]], rows=50)
    >>> sorted(set(found.to_frame().bound))[:2]
    ['certificate', 'certificate-beta']
    """
    if not isinstance(model, Scored):
        raise InvalidInputError(
            "model must be a fitted ObliviousRidge, ObliviousRidgeCV, ObliviousSVC or ObliviousLogistic, "
            f"got {type(model).__name__}"
        )
    fitted = model._fitted_model()
    features, sensitive = model._read_new(
        X,
        sensitive_features,
        "bound",
        needed=bool(model.sensitive_feature_names_),
        control_features=control_features,
    )
    found = _oblivio.BoundsModel.run(
        fitted,
        features.table(),
        sensitive or [],
        {
            "rows": count("rows", rows),
            "confidence": number("confidence", confidence),
            "seed": seed_of(random_state),
            "gap": number("gap", gap),
            "boxes": count("boxes", boxes),
            "translation": number("translation", translation),
        },
        model._progress(),
    )
    return Bounds(found, title or "Bounds")


def _written(text: str, path: Any) -> str | None:
    if path is None:
        return text
    write_whole(path, text.encode())
    return None
