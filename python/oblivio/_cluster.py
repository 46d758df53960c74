"""The methods of estimators for tables on clusters; what they do is in :mod:`oblivio.distributed`."""

from __future__ import annotations

from typing import Any

from oblivio._stream import NeedsComponents


def _spark(df: Any) -> Any:
    from oblivio.distributed import SparkEngine

    return SparkEngine(df)


def _dask(ddf: Any) -> Any:
    from oblivio.distributed import DaskEngine

    return DaskEngine(ddf)


class LearnsOnClusters:
    """Mixin: ``fit_spark`` and ``fit_dask`` of a regression."""

    @NeedsComponents
    def fit_spark(
        self,
        df: Any,
        *,
        label: str,
        sensitive: Any = None,
        features: Any = None,
        control: Any = None,
        sample_weight: str | None = None,
    ) -> Any:
        """Fit to a Spark DataFrame, classic or of Spark Connect; its rows stay where they are.

        The regression is that of :meth:`fit` on the same rows. The table is read three times: persist it if it is
        costly to compute or not the same each time. Executors need oblivio and pyarrow. Needs ``n_components``;
        ``mode="m-oblivious"`` and ``reference="half"`` are refused. Afterwards the estimator finds its columns by name,
        like one from :func:`load`.

        Parameters
        ----------
        df : pyspark.sql.DataFrame
            The table.
        label : str
            The column of the target.
        sensitive, control : str or list of str, default=None
            Sensitive columns, and legitimate factors. None is those of ``sensitive_feature_ids`` and
            ``control_feature_ids``, by name.
        features : str or list of str, default=None
            The features. None is every column but the label, the sensitive ones and the weight.
        sample_weight : str, default=None
            The column that says how often each row counts.
        """
        return _fit(self, _spark(df), label, sensitive, features, control, sample_weight)

    @NeedsComponents
    def fit_dask(
        self,
        ddf: Any,
        *,
        label: str,
        sensitive: Any = None,
        features: Any = None,
        control: Any = None,
        sample_weight: str | None = None,
    ) -> Any:
        """Fit to a Dask DataFrame; as :meth:`fit_spark`."""
        return _fit(self, _dask(ddf), label, sensitive, features, control, sample_weight)


class MapsOnClusters:
    """Mixin: ``fit_spark``, ``transform_spark`` and the same for Dask, of features."""

    def fit_spark(
        self, df: Any, *, sensitive: Any = None, features: Any = None, control: Any = None, sample_weight: Any = None
    ) -> Any:
        """Fit to a Spark DataFrame; as :meth:`ObliviousRidge.fit_spark`, without a label."""
        return _fit(self, _spark(df), None, sensitive, features, control, sample_weight)

    def fit_dask(
        self, ddf: Any, *, sensitive: Any = None, features: Any = None, control: Any = None, sample_weight: Any = None
    ) -> Any:
        """Fit to a Dask DataFrame; as :meth:`fit_spark`."""
        return _fit(self, _dask(ddf), None, sensitive, features, control, sample_weight)

    def transform_spark(self, df: Any, *, keep: Any = None, name: str = "features") -> Any:
        """The Spark DataFrame with the features in one more column, an array of numbers.

        ``pyspark.ml.functions.array_to_vector`` makes of it what the learners of Spark ML take.

        Parameters
        ----------
        df : pyspark.sql.DataFrame
            The table. The columns of the fit are found by name.
        keep : str or list of str, default=None
            The columns of the table that stay; None is all.
        name : str, default="features"
            The new column.
        """
        return _transform(self, _spark(df), keep=keep, name=name)

    def transform_dask(self, ddf: Any, *, keep: Any = None, name: str = "features") -> Any:
        """The Dask DataFrame with the features in columns ``name_0``, ``name_1``, …; as :meth:`transform_spark`."""
        return _transform(self, _dask(ddf), keep=keep, name=name)


class ReleasesOnClusters:
    """Mixin: ``transform_spark`` and ``transform_dask`` of a release."""

    def transform_spark(self, df: Any, *, keep: Any = None) -> Any:
        """The Spark DataFrame with the columns of the fit as they are released, of the types they had.

        Parameters
        ----------
        df : pyspark.sql.DataFrame
            The table. The columns of the fit are found by name, the sensitive ones too.
        keep : str or list of str, default=None
            The columns of the table that stay; None is all.
        """
        return _transform(self, _spark(df), keep=keep)

    def transform_dask(self, ddf: Any, *, keep: Any = None) -> Any:
        """The Dask DataFrame, released; as :meth:`transform_spark`."""
        return _transform(self, _dask(ddf), keep=keep)


class ScoresOnClusters:
    """Mixin: ``predict_spark``, ``audit_spark`` and the same for Dask."""

    def predict_spark(self, df: Any, *, keep: Any = None, method: str = "predict", name: str = "prediction") -> Any:
        """The Spark DataFrame with the predictions in one more column.

        Parameters
        ----------
        df : pyspark.sql.DataFrame
            The table. The columns of the fit are found by name, the sensitive ones too.
        keep : str or list of str, default=None
            The columns of the table that stay; None is all.
        method : {"predict", "decision_function", "predict_proba", "predict_log_proba"}, default="predict"
            The method that scores, if the estimator has it.
        name : str, default="prediction"
            The new column: a number, the class, or an array where a row has several numbers.
        """
        return _predict(self, _spark(df), keep, method, name)

    def predict_dask(self, ddf: Any, *, keep: Any = None, method: str = "predict", name: str = "prediction") -> Any:
        """The Dask DataFrame with the predictions; as :meth:`predict_spark`, several of a row in ``name_0``, …."""
        return _predict(self, _dask(ddf), keep, method, name)

    def audit_spark(self, df: Any, *, label: str | None = None, rows: int = 100_000, **options: Any) -> Any:
        """An :func:`audit` of this model's scores on a seeded sample of a Spark DataFrame.

        Parameters
        ----------
        df : pyspark.sql.DataFrame
            The table. Take rows that the model was not fitted on.
        label : str, default=None
            The column of true labels.
        rows : int, default=100_000
            The most rows to look at. Of them alone, score, sensitive features, label and weight leave the engine.
        **options
            Those of :func:`audit`. ``sensitive`` and ``sample_weight`` are names of columns (the sensitive features are
            by default those of the model), and ``method`` names what scores, by default ``decision_function`` for two
            classes and else ``predict``.

        Returns
        -------
        Audit
            Of all rows if there are no more; else its title says how many of how many.
        """
        return _audit(self, _spark(df), label, rows, options)

    def audit_dask(self, ddf: Any, *, label: str | None = None, rows: int = 100_000, **options: Any) -> Any:
        """An :func:`audit` of this model's scores on a seeded sample of a Dask DataFrame; as :meth:`audit_spark`."""
        return _audit(self, _dask(ddf), label, rows, options)


def _fit(estimator: Any, engine: Any, label: Any, sensitive: Any, features: Any, control: Any, weight: Any) -> Any:
    from oblivio.distributed import fit

    roles = {"sensitive": sensitive, "features": features, "control": control}
    return fit(engine, estimator, label=label, sample_weight=weight, **roles)


def _transform(estimator: Any, engine: Any, **options: Any) -> Any:
    from oblivio.distributed import transform

    return transform(engine, estimator, **options)


def _predict(estimator: Any, engine: Any, keep: Any, method: str, name: str) -> Any:
    from oblivio.distributed import predict

    return predict(engine, estimator, keep=keep, method=method, name=name)


def _audit(estimator: Any, engine: Any, label: Any, rows: int, options: dict[str, Any]) -> Any:
    from oblivio.distributed import audit

    return audit(engine, estimator, label=label, rows=rows, **options)
