"""The private extension. Tables are a matrix with its columns' names, or columns one by one."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "EmptyCellError",
    "FeatureModel",
    "InvalidInputError",
    "KernelModel",
    "Moments",
    "NumericalError",
    "OffsetModel",
    "ScoreModel",
    "UnknownCategoryError",
    "__version__",
    "cli_main",
    "kind_of",
    "simulate",
]

__version__: str

_Numbers = npt.NDArray[np.float64]
_Values = _Numbers | tuple[Sequence[str], npt.NDArray[np.uint32]]
_Column = tuple[str, Any]
_Table = Any
_Progress = Callable[[str, int, int], None] | None

class InvalidInputError(ValueError): ...
class UnknownCategoryError(InvalidInputError): ...
class EmptyCellError(InvalidInputError): ...
class NumericalError(ArithmeticError): ...

def cli_main(arguments: Sequence[str]) -> int: ...
def kind_of(data: bytes) -> str: ...
def simulate(name: str, rows: int, seed: int, **parameters: float) -> dict[str, list[_Column]]: ...

@final
class ScoreModel:
    @staticmethod
    def fit(
        table: _Table,
        sensitive_columns: Sequence[_Column],
        target: tuple[str, _Numbers],
        weights: _Numbers | None,
        settings: Mapping[str, Any],
        classes: tuple[Sequence[str], bool] | None = None,
        progress: _Progress = None,
    ) -> tuple[ScoreModel, list[str], dict[str, int], list[tuple[str, int, float | None, bool]]]: ...
    @staticmethod
    def path(
        table: _Table,
        sensitive_columns: Sequence[_Column],
        target: _Numbers,
        weights: _Numbers | None,
        settings: Mapping[str, Any],
        grid: tuple[str, Sequence[float], Sequence[float], Sequence[float]],
        progress: _Progress = None,
    ) -> tuple[dict[str, _Numbers], int, str]: ...
    def predict(
        self, table: _Table, sensitive_columns: Sequence[_Column] | None = None, progress: _Progress = None
    ) -> tuple[list[_Numbers], list[_Numbers], dict[str, int]]: ...
    def refresh(
        self,
        table: _Table,
        sensitive_columns: Sequence[_Column],
        weights: _Numbers | None,
        least: int,
        progress: _Progress = None,
    ) -> tuple[
        ScoreModel, list[list[tuple[str, int, float, float, float | None, float, float, bool]]], dict[str, int]
    ]: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> ScoreModel: ...
    def card(self) -> str: ...
    def __reduce__(self) -> tuple[Callable[[bytes], ScoreModel], tuple[bytes]]: ...
    @property
    def kernel(self) -> str: ...
    @property
    def strength(self) -> float: ...
    @property
    def intercepts(self) -> _Numbers: ...
    @property
    def classes(self) -> tuple[list[str], bool, bool, list[float]] | None: ...
    @property
    def needs_sensitive(self) -> bool: ...
    @property
    def coefficients(self) -> list[_Numbers]: ...
    @property
    def points(self) -> _Numbers: ...
    @property
    def components(self) -> int | None: ...
    @property
    def offsets(self) -> list[_Numbers]: ...
    @property
    def cells(self) -> list[tuple[str, int]]: ...
    @property
    def sensitive_columns(self) -> list[tuple[str, str]]: ...
    @property
    def feature_columns(self) -> list[tuple[str, list[str] | None]]: ...

@final
class FeatureModel:
    @staticmethod
    def fit(
        table: _Table,
        sensitive_columns: Sequence[_Column],
        weights: _Numbers | None,
        settings: Mapping[str, Any],
        progress: _Progress = None,
    ) -> tuple[FeatureModel, list[str]]: ...
    @staticmethod
    def partial_fit(
        state: bytes | None,
        table: _Table,
        sensitive_columns: Sequence[_Column],
        weights: _Numbers | None,
        settings: Mapping[str, Any],
        progress: _Progress = None,
    ) -> tuple[FeatureModel, bytes, list[str], dict[str, int]]: ...
    def transform(
        self, table: _Table, sensitive_columns: Sequence[_Column] | None = None, progress: _Progress = None
    ) -> tuple[_Numbers, dict[str, int]]: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> FeatureModel: ...
    def __reduce__(self) -> tuple[Callable[[bytes], FeatureModel], tuple[bytes]]: ...
    @property
    def components(self) -> int: ...
    @property
    def landmarks(self) -> _Numbers: ...
    @property
    def kernel(self) -> str: ...
    @property
    def sensitive_columns(self) -> list[tuple[str, str]]: ...
    @property
    def feature_columns(self) -> list[tuple[str, list[str] | None]]: ...

@final
class Moments:
    @staticmethod
    def begin(
        table: _Table,
        sensitive_columns: Sequence[_Column],
        target: _Numbers | None,
        weights: _Numbers | None,
        settings: Mapping[str, Any],
        progress: _Progress = None,
    ) -> tuple[Moments, list[str]]: ...
    def add(
        self,
        table: _Table,
        sensitive_columns: Sequence[_Column],
        target: _Numbers | None,
        weights: _Numbers | None,
        progress: _Progress = None,
    ) -> tuple[Moments, dict[str, int]]: ...
    def empty(self) -> Moments: ...
    def merged(self, other: Moments) -> Moments: ...
    def without(self, other: Moments) -> Moments: ...
    def ridge(
        self, target: str, settings: Mapping[str, Any], progress: _Progress = None
    ) -> tuple[ScoreModel, list[str], dict[str, int]]: ...
    def grid(
        self, strengths: Sequence[float], penalties: Sequence[float], settings: Mapping[str, Any]
    ) -> dict[str, _Numbers]: ...
    def to_bytes(self, note: str) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> Moments: ...
    @staticmethod
    def note_of(data: bytes) -> str: ...
    def __reduce__(self) -> tuple[Callable[[bytes], Moments], tuple[bytes]]: ...
    @property
    def rows(self) -> int: ...
    @property
    def weight(self) -> float: ...
    @property
    def components(self) -> int: ...
    @property
    def kernel(self) -> str: ...
    @property
    def feature_columns(self) -> list[tuple[str, list[str] | None]]: ...

@final
class KernelModel:
    @staticmethod
    def fit(
        table: _Table,
        sensitive_columns: Sequence[_Column],
        weights: _Numbers | None,
        settings: Mapping[str, Any],
        progress: _Progress = None,
    ) -> tuple[KernelModel, list[str]]: ...
    def matrix(
        self,
        rows: tuple[_Table, Sequence[_Column] | None],
        others: tuple[_Table, Sequence[_Column] | None] | None = None,
        progress: _Progress = None,
    ) -> tuple[_Numbers, dict[str, int]]: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(data: bytes) -> KernelModel: ...
    def __reduce__(self) -> tuple[Callable[[bytes], KernelModel], tuple[bytes]]: ...
    @property
    def kernel(self) -> str: ...
    @property
    def sensitive_columns(self) -> list[tuple[str, str]]: ...
    @property
    def feature_columns(self) -> list[tuple[str, list[str] | None]]: ...

@final
class OffsetModel:
    @staticmethod
    def fit(
        scores: _Numbers, sensitive_columns: Sequence[_Column], weights: _Numbers, settings: Mapping[str, Any]
    ) -> tuple[OffsetModel, list[str]]: ...
    def apply(self, scores: _Numbers, sensitive_columns: Sequence[_Column]) -> tuple[_Numbers, dict[str, int]]: ...
    def to_json(self) -> str: ...
    @staticmethod
    def from_json(text: str) -> OffsetModel: ...
    def __reduce__(self) -> tuple[Callable[[str], OffsetModel], tuple[str]]: ...
    @property
    def offsets(self) -> _Numbers: ...
    @property
    def sensitive_columns(self) -> list[tuple[str, str]]: ...
