"""What a release keeps and takes out, as people read it."""

from __future__ import annotations

import json
from typing import Any

from oblivio import _oblivio
from oblivio._files import to_frame, write_whole
from oblivio._oblivio import InvalidInputError

_MEASURED = ("value", "expected", "critical", "p-value", "lower", "upper", "rows")
_COLUMNS = ("name", "kind", "treatment", "low", "high", "changed", "distance", "correlation")
_PATH = ("factor", "kernel", "hsic", "expected", "distance", "chosen")


class ReleaseReport:
    """What a release does to rows that it was not fitted on, from :meth:`ObliviousRelease.report`.

    It prints as the answer in words, shows itself in notebooks, and writes itself as a page for people, frames, CSV or
    JSON. It holds aggregates only, no row of the table.
    """

    def __init__(self, model: _oblivio.ReleaseReportModel, title: str):
        self._model, self.title = model, title

    def to_dict(self) -> dict[str, Any]:
        """Everything that was found, by the schema of ``docs/release.md``."""
        found: dict[str, Any] = json.loads(self._model.to_json())
        return {"schema": 1, "oblivio": _oblivio.__version__, "title": self.title} | found

    def to_frame(self, what: str = "measures") -> Any:
        """A part of it as a pandas frame if pandas is installed, else as a dictionary of columns.

        Parameters
        ----------
        what : {"measures", "columns", "utility", "path"}, default="measures"
            How much all columns together depend on the sensitive features, ``when`` being before or after; what became
            of each column; what can still be learned; the bandwidths that a projection tried.
        """
        rows = {"measures": _measures, "columns": _columns, "utility": _utility, "path": _path}
        if what not in rows:
            raise InvalidInputError(f"what must be one of {', '.join(rows)}, got {what!r}")
        made = rows[what](self.to_dict())
        names = list(made[0]) if made else []
        return to_frame({name: [row[name] for row in made] for name in names})

    def to_csv(self, path: Any = None) -> str | None:
        """The measures before and after as CSV: written to a file, or returned."""
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
        return f"<ReleaseReport of {self.title}: {found['method']}, {found['held-out-rows']} held-out rows>"

    def _repr_html_(self) -> str:
        return str(self._model.to_compact_html(self.title))


def _measures(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"when": when, "against": own["against"], "measure": own["measure"]}
        | {name.replace("-", "_"): own[name] for name in _MEASURED}
        | {"detectable": own["detectable"], "large": own["large"]}
        for when in ("before", "after")
        for own in found[when]["findings"]
    ]


def _columns(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [{name: own[name] for name in _COLUMNS} for own in found["columns"]]


def _utility(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"target": own["target"], "given": own["given"], "score": own["score"]}
        | {when: own[when]["value"] for when in ("original", "released")}
        | {"lower": own["released"]["lower"], "upper": own["released"]["upper"]}
        | {"expected": own["released"]["expected"]}
        for own in found["utility"]
    ]


def _path(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [{name: own[name] for name in _PATH} for own in found["path"]]


def _written(content: str, path: Any) -> str | None:
    if path is None:
        return content
    write_whole(path, content.encode())
    return None
