"""What every estimator shares: where S comes from, and the settings the engine takes."""

from __future__ import annotations

import inspect
import numbers
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from oblivio._input import (
    ANYWHERE,
    Features,
    NamedColumn,
    OblivioWarning,
    aligned,
    columns_of,
    frame_of,
    keys,
    sensitive_columns,
    units_of,
    warn,
)
from oblivio._kernels import Kernel, spelled
from oblivio._objects import PRECOMPUTED, is_table, needs_formula, read_fit, read_new
from oblivio._oblivio import InvalidInputError
from oblivio._settings import count as count
from oblivio._settings import number as number
from oblivio._settings import text as text
from oblivio._settings import values_of

# Newer versions of scikit-learn refuse weights that are all zero unless told not to.
_ZEROS = "allow_all_zero_weights"
_MAY_BE_ZERO = {_ZEROS: True} if _ZEROS in inspect.signature(_check_sample_weight).parameters else {}


class ObliviousEstimator(BaseEstimator):  # type: ignore[misc]
    """Reads X and S in both ways (columns of X, or apart) and speaks to the engine."""

    #: The name of the estimator in the table of settings.
    _fitter: ClassVar[str]
    # What was said about new rows since the fit.
    _said: set[str]
    # Whether rows go out with the types that they came in with: then X is neither sparse nor has times.
    _keeps_types: ClassVar[bool] = False

    # Requested wherever metadata routing is on, so that no set_*_request is needed.
    __metadata_request__fit: ClassVar = {
        "sensitive_features": True,
        "control_features": True,
        "sample_weight": True,
    }
    __metadata_request__partial_fit: ClassVar = {
        "sensitive_features": True,
        "control_features": True,
        "sample_weight": True,
    }
    __metadata_request__predict: ClassVar = {"sensitive_features": True, "control_features": True}
    __metadata_request__decision_function: ClassVar = {"sensitive_features": True, "control_features": True}
    __metadata_request__transform: ClassVar = {"sensitive_features": True, "control_features": True}
    __metadata_request__fit_transform: ClassVar = {
        "sensitive_features": True,
        "control_features": True,
        "sample_weight": True,
    }
    __metadata_request__score: ClassVar = {
        "sensitive_features": True,
        "control_features": True,
        "sample_weight": True,
    }

    # Whether rows may be known by the values of a precomputed kernel or a callable.
    _takes_objects: ClassVar[bool] = False

    def _features(self, X: Any, *, reset: bool) -> Features:
        """X as columns, or as numbered rows with the values of a kernel."""
        if is_table(getattr(self, "kernel", None)):
            return read_fit(self, X) if reset else read_new(self, X)
        return Features.read(self, X, reset=reset, apart=self._may_miss())

    def _read_fit(
        self, X: Any, sensitive_features: Any, control_features: Any = None
    ) -> tuple[Features, list[NamedColumn]]:
        """X without its sensitive columns, and these or the ones given apart; legitimate factors come after them."""
        everything = self._features(X, reset=True)
        positions = everything.positions(self.sensitive_feature_ids, "sensitive_feature_ids")
        features, sensitive = everything.split(positions)
        self._check_gaps(sensitive)
        if features.rows < 2:
            raise InvalidInputError(f"n_samples={features.rows}: at least 2 rows are needed")
        if sensitive_features is not None:
            if sensitive:
                raise given_twice()
            sensitive = sensitive_columns(sensitive_features)
            check_rows(sensitive, features.rows)
        self.feature_units_ = {name: unit for name, unit in units_of(X).items() if name in features.names}
        if self._keeps_types and self.feature_units_:
            raise InvalidInputError(
                f"column {next(iter(self.feature_units_))!r} is a time; convert it to numbers or text, or leave it out"
            )
        self.sensitive_feature_names_ = [name for name, _ in sensitive]
        control = self._control(everything, positions, control_features)
        self.control_feature_names_ = [name for name, _ in control]
        features.categorical = self._categorical(everything, positions)
        self._warn_without(sensitive)
        self._said = set()
        return features, [*sensitive, *control]

    def _warn_uses(self, uses: dict[str, int], remarks: dict[str, str] | None = None) -> None:
        """Say how often new rows needed a policy, and what else there is to say: each kind once for each fit."""
        said: set[str] = self.__dict__.setdefault("_said", set())
        new = {case: times for case, times in uses.items() if times and case not in said}
        others = {case: remark for case, remark in (remarks or {}).items() if case not in said}
        said.update(new, others)
        warn(list(others.values()), new)

    def _warn_without(self, sensitive: list[Any]) -> None:
        """Say that a fit without sensitive features removes nothing, unless that is what its parameters ask for."""
        mode = getattr(self, "mode", None)
        if sensitive or mode == "plain" or getattr(self, "strength", 1.0) == 0:
            return
        plain = "" if mode is None else ", or set mode='plain'"
        warnings.warn(
            "no sensitive features were given, so nothing is removed; pass sensitive_features= to fit, or name columns "
            f"of X in sensitive_feature_ids{plain}",
            OblivioWarning,
            stacklevel=4,
        )

    def _may_miss(self) -> Any:
        """The columns of X that may miss values: all, or sensitive ones if something is to be done about it."""
        if getattr(self, "missing_features", "error") == "indicate":
            return ANYWHERE
        handled = getattr(self, "handle_missing", "error") != "error"
        return self.sensitive_feature_ids if handled else None

    def _control(
        self, everything: Features, sensitive: list[int], control_features: Any, names: list[str] | None = None
    ) -> list[NamedColumn]:
        """The legitimate factors: columns of X, which stay features, or given apart; ``names`` are those of the fit."""
        positions = everything.positions(getattr(self, "control_feature_ids", None), "control_feature_ids")
        for position in positions:
            if position in sensitive:
                raise InvalidInputError(
                    f"{everything.names[position]!r} is both sensitive and a legitimate factor; "
                    "name it in sensitive_feature_ids or in control_feature_ids"
                )
        if control_features is None:
            return everything.columns(positions)
        if positions:
            raise given_twice("control")
        control = columns_of(control_features, "control_feature")
        if names is not None and len(names) == len(control) and frame_of(control_features) is None:
            control = [(name, values) for name, (_, values) in zip(names, control, strict=True)]
        check_rows(control, everything.rows)
        return control

    def _categorical(self, everything: Features, sensitive: list[int]) -> list[str]:
        """The columns that categorical_features names; positions are those in X, sensitive columns counted."""
        chosen = getattr(self, "categorical_features", "auto")
        if _is_auto(chosen):
            return []
        found = everything.positions(chosen, "categorical_features")
        for position in found:
            if position in sensitive:
                raise InvalidInputError(
                    f"categorical_features names {everything.names[position]!r}, which is sensitive; "
                    "name it in categorical_sensitive"
                )
        return [everything.names[position] for position in found]

    def _read_new(
        self, X: Any, sensitive_features: Any, verb: str, *, needed: bool, control_features: Any = None
    ) -> tuple[Features, list[NamedColumn] | None]:
        """The same for new rows; S may be absent only if the model does not need it."""
        features, sensitive = self._read_rows(X, sensitive_features, verb, needed=needed)
        names: list[str] = getattr(self, "control_feature_names_", [])
        if not names or sensitive is None:
            return features, sensitive
        if control_features is not None and hasattr(self, "_file_columns"):
            control = columns_of(control_features, "control_feature")
            if len(names) == len(control) and frame_of(control_features) is None:
                control = [(name, values) for name, (_, values) in zip(names, control, strict=True)]
            check_rows(control, features.rows)
        elif hasattr(self, "_file_columns"):
            present = [name for name in names if name in features.names]
            control = features.columns(features.positions(present, "the model"))
        else:
            numbered = features.kernel_values is not None
            everything = features if numbered else Features.read(self, X, reset=False, apart=self._may_miss())
            sensitive_at = everything.positions(self.sensitive_feature_ids, "sensitive_feature_ids")
            control = self._control(everything, sensitive_at, control_features, names)
        if [name for name, _ in control] != names:
            raise InvalidInputError(
                f"{type(self).__name__} was fitted with legitimate factors ({', '.join(names)}) and needs them to "
                f"{verb}; pass control_features= to {verb}, or keep them as columns of X and name them in "
                "control_feature_ids"
            )
        return features, [*sensitive, *control]

    def _read_rows(
        self, X: Any, sensitive_features: Any, verb: str, *, needed: bool
    ) -> tuple[Features, list[NamedColumn] | None]:
        """X and S of new rows."""
        check_is_fitted(self)
        if hasattr(self, "_file_columns"):
            features, sensitive = self._read_by_name(X)
        else:
            everything = self._features(X, reset=False)
            positions = everything.positions(self.sensitive_feature_ids, "sensitive_feature_ids")
            features, sensitive = everything.split(positions)
            self._check_gaps(sensitive)
            if sensitive and sensitive_features is not None:
                raise given_twice()
        if sensitive and sensitive_features is None:
            return features, sensitive
        names = self.sensitive_feature_names_
        if sensitive_features is not None and not names:
            raise InvalidInputError(
                f"{type(self).__name__} was fitted without sensitive features and cannot use them to {verb}; "
                "fit it with them, or leave them out"
            )
        if sensitive_features is not None:
            given = sensitive_columns(sensitive_features, names)
            check_rows(given, features.rows)
            return features, given
        if needed:
            raise InvalidInputError(
                f"{type(self).__name__} was fitted with sensitive features ({', '.join(names)}) and needs them to "
                f"{verb}, to take their influence out. Either keep them as columns of X and name them in "
                f"sensitive_feature_ids, or pass sensitive_features= to {verb}, or, inside a Pipeline or a search, "
                "switch metadata routing on with sklearn.set_config(enable_metadata_routing=True) and pass "
                "sensitive_features= there."
            )
        return features, None

    def _read_by_name(self, X: Any) -> tuple[Features, list[NamedColumn]]:
        """X for a model read from a file, which knows its columns by name and not where S comes from."""
        everything = Features.read(reader(), X, reset=True, apart=ANYWHERE if self._may_miss() is ANYWHERE else None)
        names = self.sensitive_feature_names_
        if everything.is_unnamed and len(everything.names) == len(self._file_columns):
            everything.names = list(self._file_columns)
        features = everything.take(everything.positions(self._file_columns, "the model"))
        if names and all(name in everything.names for name in names):
            return features, everything.split(everything.positions(names, "the model"))[1]
        return features, []

    def _check_gaps(self, sensitive: list[NamedColumn]) -> None:
        """Refuse missing numbers in sensitive columns of X, where nothing is said about them."""
        if getattr(self, "handle_missing", "error") != "error":
            return
        cure = ', or set handle_missing="category"' if hasattr(self, "handle_missing") else " or drop those rows"
        for name, values in sensitive:
            numbers = values if isinstance(values, np.ndarray) else np.empty(0)
            gaps = np.flatnonzero(np.isnan(numbers))
            if len(gaps):
                raise InvalidInputError(
                    f"Input X contains NaN: sensitive column {name!r} misses {len(gaps)} values, the first in row "
                    f"{gaps[0]}; fill them in{cure}"
                )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        known = (
            getattr(self, "sensitive_feature_ids", None) is not None
            and getattr(self, "handle_missing", "error") == "error"
        )
        tags.input_tags.allow_nan = self._may_miss() is ANYWHERE and not known
        tags.input_tags.sparse = not self._keeps_types
        # Splits of a precomputed kernel are splits of its rows and its columns.
        kernel = getattr(self, "kernel", None)
        tags.input_tags.pairwise = isinstance(kernel, str) and kernel == PRECOMPUTED
        return tags

    def _weights(self, sample_weight: Any, rows: int) -> Any:
        return weights_of(sample_weight, rows)

    def _seed(self) -> int:
        return seed_of(self.random_state)

    def _kernel_setting(self, features: Features) -> Any:
        """The kernel as the engine takes it: in words, or as its values among the rows of the fit."""
        return self._kernel_expression() if features.kernel_values is None else features.kernel_values

    def _kernel_expression(self) -> str:
        if is_table(self.kernel):
            raise needs_formula(self)
        if isinstance(self.kernel, Kernel):
            return self.kernel.expression
        if not isinstance(self.kernel, str):
            raise InvalidInputError(
                f"kernel must be a name, an expression, a Kernel, 'precomputed' or a callable, got {self.kernel!r}"
            )
        gamma = self.gamma if isinstance(self.gamma, str) else number("gamma", self.gamma)
        return spelled(self.kernel, {"gamma": gamma, "degree": self.degree, "coef0": self.coef0})

    def _settings(self, features: Features, sensitive: list[NamedColumn], reference_rows: Any = None) -> dict[str, Any]:
        """The settings as the engine takes them: values by the names of its table, and facts of columns and rows."""
        control: list[str] = getattr(self, "control_feature_names_", [])
        own = [(name, values) for name, values in sensitive if name not in control]
        names = [name for name, _ in own]
        return {
            "missing_features": "error",
            **values_of(self, self._fitter),
            # Numbers of rows have no scale.
            "standardize": features.kernel_values is None and bool(getattr(self, "standardize", False)),
            "seed": self._seed(),
            "control": control,
            "bounds": bounds_of(self.sensitive_bounds, names),
            **kinds_of(self.categorical_sensitive, own),
            "reference_rows": _rows(reference_rows, features.rows),
            "categorical_features": features.categorical,
        }

    def _progress(self) -> Callable[[str, int, int], None] | None:
        return _bar() if getattr(self, "verbose", False) else None


class _Reader(BaseEstimator):  # type: ignore[misc]
    pass


def reader() -> BaseEstimator:
    """A stranger to read X with, where no fit says what it must look like."""
    return _Reader()


def weights_of(sample_weight: Any, rows: int) -> Any:
    """Checked weights, one for each row."""
    if sample_weight is None:
        return None
    weights = checked_weights(sample_weight, rows)
    if not weights.any():
        raise InvalidInputError("all sample weights are zero; give a positive one to some row")
    return weights


def checked_weights(sample_weight: Any, rows: int) -> np.ndarray[Any, Any]:
    """The weights of some of the rows, which may all be zero."""
    checked = _check_sample_weight(
        sample_weight, np.empty((rows, 1)), dtype=np.float64, ensure_non_negative=True, **_MAY_BE_ZERO
    )
    return aligned(checked)


def seed_of(random_state: Any) -> int:
    """None means the seed 0: results are repeatable unless a generator is passed."""
    if random_state is None:
        return 0
    if isinstance(random_state, numbers.Integral):
        seed = int(random_state)
        if not 0 <= seed < 2**64:
            raise InvalidInputError(f"random_state must be between 0 and 2**64 - 1, got {seed}")
        return seed
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def kinds_of(categorical_sensitive: Any, sensitive: list[NamedColumn]) -> dict[str, list[str]]:
    """The sensitive columns that are to be read as categorical, and as continuous."""
    names = [name for name, _ in sensitive]
    if _is_auto(categorical_sensitive):
        return {"categorical": [], "continuous": []}
    categorical = _named(categorical_sensitive, names)
    continuous = [name for name in names if name not in categorical]
    text = [name for name, values in sensitive if isinstance(values, tuple) and name in continuous]
    if text:
        raise InvalidInputError(
            f"sensitive feature {text[0]!r} is text, so it cannot be continuous; add it to categorical_sensitive"
        )
    return {"categorical": categorical, "continuous": continuous}


def given_twice(what: str = "sensitive") -> InvalidInputError:
    """Sensitive features, or legitimate factors, that are named in a parameter and given in a call."""
    whose = {"sensitive": "sensitive features", "control": "legitimate factors"}[what]
    return InvalidInputError(
        f"the {whose} are given twice: as columns of X ({what}_feature_ids) and apart ({what}_features); give them once"
    )


def check_rows(columns: list[NamedColumn], rows: int) -> None:
    """Refuse sensitive features of another number of rows than X."""
    for name, values in columns:
        found = len(values[1]) if isinstance(values, tuple) else len(values)
        if found != rows:
            raise InvalidInputError(
                f"X and the sensitive features must have same number of rows: X has {rows}, {name!r} has {found}"
            )


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _named(ids: Any, names: list[str]) -> list[str]:
    """Names or positions of sensitive columns, as names."""
    found = []
    for key in keys(ids, "categorical_sensitive"):
        name = key if isinstance(key, str) else (names[key] if -len(names) <= key < len(names) else None)
        if name not in names:
            raise InvalidInputError(
                f"categorical_sensitive names {key!r}, which is not a sensitive feature ({', '.join(names) or 'none'})"
            )
        found.append(str(name))
    return found


def bounds_of(bounds: Any, names: list[str], parameter: str = "sensitive_bounds") -> list[tuple[str, float, float]]:
    """A pair for all continuous columns, or a dictionary of pairs."""
    if bounds is None:
        return []
    pairs = bounds.items() if isinstance(bounds, dict) else [("", bounds)]
    found = []
    for key, pair in pairs:
        try:
            low, high = pair
            found.append((str(names[key]) if isinstance(key, int) else str(key), float(low), float(high)))
        except (TypeError, ValueError, IndexError):
            raise InvalidInputError(
                f"{parameter} must be a pair (low, high) or a dictionary of such pairs by column, got {bounds!r}"
            ) from None
    return found


def _rows(reference_rows: Any, rows: int) -> list[int] | None:
    """Reference rows as numbers, from a mask or from numbers."""
    if reference_rows is None:
        return None
    array = np.asarray(reference_rows)
    if array.dtype == bool and array.ndim == 1:
        if len(array) != rows:
            raise InvalidInputError(f"reference_rows is a mask of {len(array)} rows but X has {rows}")
        array = np.flatnonzero(array)
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array < 0).any():
        raise InvalidInputError("reference_rows must be a mask over the rows, or row numbers counted from 0")
    return [int(row) for row in array]


def _bar() -> Callable[[str, int, int], None] | None:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    bar = tqdm(total=1, leave=False)

    def show(stage: str, done: int, total: int) -> None:
        bar.set_description(stage)
        bar.total = max(total, 1)
        bar.n = done
        bar.refresh()

    return show
