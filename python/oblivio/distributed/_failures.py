"""What a worker could not do, as a value: it travels like a result and is raised where the user is."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from oblivio._oblivio import (
    EmptyCellError,
    InvalidInputError,
    NumericalError,
    TableChangedError,
    UnknownCategoryError,
)

_KINDS: dict[str, type[Exception]] = {
    kind.__name__: kind
    for kind in (
        TableChangedError,
        EmptyCellError,
        UnknownCategoryError,
        InvalidInputError,
        NumericalError,
        ValueError,
        TypeError,
    )
}
EXPECTED = tuple(_KINDS.values())


class Failure(NamedTuple):
    """The class and the sentence of an exception."""

    kind: str
    sentence: str

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """That of one of the expected exceptions."""
        kind = next(base.__name__ for base in type(error).__mro__ if base.__name__ in _KINDS)
        return cls(kind, str(error))

    def in_part(self, part: int, row: int) -> Failure:
        """The same, saying where: rows were counted from this one of the part."""
        counted = re.search(r"\brows? \d", self.sentence)
        where = f"rows counted from row {row} of part {part}" if counted else f"part {part}"
        return Failure(self.kind, f"{self.sentence} ({where})")

    def to_bytes(self) -> bytes:
        """For the way to the driver."""
        return json.dumps(list(self)).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Failure:
        """What :meth:`to_bytes` wrote."""
        return cls(*json.loads(data))

    def error(self) -> Exception:
        """The exception again."""
        return _KINDS[self.kind](self.sentence)


def located(error: Exception, part: int, row: int) -> Exception:
    """An expected exception again, with the part in its sentence."""
    return Failure.of(error).in_part(part, row).error()


def changed() -> TableChangedError:
    """The table is not the same in two passes."""
    return TableChangedError(
        "the table changed between two passes over it: a part has other rows than before; "
        "persist or checkpoint the table first"
    )
