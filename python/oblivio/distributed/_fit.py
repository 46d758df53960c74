"""The passes of a fit, whatever the engine."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from oblivio import _oblivio
from oblivio._files import fitted
from oblivio._input import Features, NamedColumn, columns_of, warn
from oblivio._oblivio import InvalidInputError, TableChangedError
from oblivio.distributed._engine import Engine, engine_of
from oblivio.distributed._failures import changed
from oblivio.distributed._parts import Counting, Gathering, Parts, Surveying
from oblivio.distributed._roles import Roles

# A cluster that grows or shrinks may read files in other pieces from one pass to the next.
_TRIES = 3


def fit(
    data: Any,
    estimator: Any,
    *,
    label: Any = None,
    sensitive: Any = None,
    features: Any = None,
    control: Any = None,
    sample_weight: Any = None,
) -> Any:
    """Fit an :class:`oblivio.ObliviousRidge` or an :class:`oblivio.ObliviousTransformer` where the rows are.

    Parameters
    ----------
    data : pyspark.sql.DataFrame, dask.dataframe.DataFrame or Engine
        The table. It is read three times: persist it if it is costly to compute or not the same each time.
    estimator : ObliviousRidge or ObliviousTransformer
        With ``n_components``.
    label : str
        The column of the target, for a regression.
    sensitive, control, features : str or list of str, default=None
        Columns by role. Without ``features`` every column is one but the label, the sensitive ones and the weight.
    sample_weight : str, default=None
        The column of weights.

    Returns
    -------
    The estimator, fitted like one that comes from :func:`oblivio.load`.
    """
    learns = _kind(estimator)
    engine = engine_of(data)
    estimator._check_streams("a fit on a cluster")
    if learns and label is None:
        raise InvalidInputError("label= must name the column of the target")
    roles = Roles.of(
        estimator,
        engine.names,
        label=label,
        sensitive=sensitive,
        features=features,
        control=control,
        sample_weight=sample_weight,
    )
    estimator._forget()
    estimator.__dict__.pop("feature_names_in_", None)
    settings = _settings(engine, estimator, roles)
    progress = estimator._progress()
    stream = _gathered(engine, roles, settings, progress)
    if learns:
        scores, remarks, uses = stream.scores(str(roles.label), progress)
        fitted(estimator, scores)
        estimator.solver_ = "cholesky"
        estimator.notes_ = warn(remarks, uses)
    else:
        maps, remarks = stream.features(progress)
        fitted(estimator, maps)
        estimator.notes_ = warn(remarks)
    return estimator


def _gathered(engine: Engine, roles: Roles, settings: dict[str, Any], progress: Any) -> _oblivio.StreamFit:
    """The sums of all rows: the three passes, begun anew if the table was cut into other parts meanwhile."""
    for _ in range(_TRIES - 1):
        with suppress(TableChangedError):
            return _passes(engine, roles, settings, progress)
    return _passes(engine, roles, settings, progress)


def _passes(engine: Engine, roles: Roles, settings: dict[str, Any], progress: Any) -> _oblivio.StreamFit:
    parts = _count(engine, roles)
    begun = _survey(engine, Surveying(roles, parts, settings["seed"]))
    learns = roles.label is not None
    stream = begun.begin_scores(settings, progress) if learns else begun.begin_features(settings, progress)
    share = engine.merged(Gathering(roles, parts, stream.plan()), roles.columns, parts.numbers)
    if share is None:
        raise changed()
    stream.absorb(Gathering.read(share))
    return stream


def counted(engine: Engine, weight: str | None, columns: Sequence[str]) -> dict[int, tuple[int, int]]:
    """The rows of every part, and those whose weight is not zero.

    ``columns`` are those that the other passes read: Spark deals rows out by what is in them, so a pass that reads
    other columns has other rows in a part.
    """
    return {part: Counting.read(state) for part, state in engine.states(Counting(weight), columns)}


def _kind(estimator: Any) -> bool:
    """Whether the estimator learns a target."""
    if not any(hasattr(estimator, name) for name in ("_ridge_settings", "_feature_settings")):
        raise InvalidInputError(
            f"{type(estimator).__name__} cannot be fitted on a cluster; ObliviousRidge and ObliviousTransformer can, "
            "and features of the latter feed the engine's own learners"
        )
    if estimator.n_components is None:
        raise InvalidInputError(
            "a fit on a cluster adds up features of landmarks, and n_components=None has none; set n_components"
        )
    return hasattr(estimator, "_ridge_settings")


def _settings(engine: Engine, estimator: Any, roles: Roles) -> dict[str, Any]:
    """The settings, from the types of the columns alone."""
    nothing = engine.schema(roles.columns).empty_table()
    features = Features(roles.features, 0, columns=columns_of(nothing.select(roles.features), "x"))
    features.categorical = roles.categorical
    sensitive: list[NamedColumn] = columns_of(nothing.select([*roles.sensitive, *roles.control]), "sensitive_feature")
    for name in (roles.label, roles.weight):
        if name is not None:
            columns_of(nothing.select([name]), name)
    estimator.sensitive_feature_names_, estimator.control_feature_names_ = roles.sensitive, roles.control
    estimator._warn_without(roles.sensitive)
    settled = estimator._ridge_settings if roles.label is not None else estimator._feature_settings
    settings: dict[str, Any] = settled(features, sensitive)
    return settings


def _count(engine: Engine, roles: Roles) -> Parts:
    found = counted(engine, roles.weight, roles.columns)
    rows = sum(all_rows for all_rows, _ in found.values())
    parts = Parts.of({part: weighted for part, (_, weighted) in found.items()})
    if not rows:
        raise InvalidInputError("the table has no rows")
    if not parts.total:
        raise InvalidInputError("all sample weights are zero; give a positive one to some row")
    if rows < 2:
        raise InvalidInputError(f"n_samples={rows}: at least 2 rows are needed")
    return parts


def _survey(engine: Engine, work: Surveying) -> _oblivio.Survey:
    state = engine.merged(work, work.roles.columns, work.parts.numbers)
    survey = None if state is None else _oblivio.Survey.from_bytes(state)
    if survey is None or survey.rows != work.parts.total:
        raise changed()
    return survey
