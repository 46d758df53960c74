"""Model files: the same bytes for saving, pickling and the command line."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from oblivio import _oblivio
from oblivio._base import text


class Saved:
    """Mixin: ``save`` writes the model file that :func:`load` and the command line read."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file, whole or not at all.

        On the exact path it holds the rows of the fit: keep it as safe as the data.
        """
        check_is_fitted(self)
        write_whole(path, self.model_.to_bytes())  # type: ignore[attr-defined]


class Exported:
    """Mixin: ``to_onnx`` writes the model for runtimes that know nothing of oblivio."""

    def to_onnx(
        self, path: str | os.PathLike[str] | None = None, *, form: str = "columns", dtype: str = "float64"
    ) -> bytes | None:
        """Write the model as an ONNX file, for runtimes without oblivio.

        The graph has the outputs ``score`` and, for classes, ``label`` and ``probabilities``; that of a transformer
        has ``features``. Rows that the model refuses (an infinite value, an unknown sensitive category where
        ``handle_unknown="error"``) have NaN there and an empty label (NaN where labels are numbers). Missing numbers
        are NaN, missing texts are empty.

        Parameters
        ----------
        path : path, optional
            The file, written whole or not at all.
        form : {"columns", "matrix"}
            One input of shape (rows, 1) for each column, by its name: float64, or string where categories are no
            numbers. Or one matrix of float64, whose columns the metadata names. Sensitive columns are inputs if
            the outputs depend on them.
        dtype : {"float64", "float32"}
            What the kernel is computed in; inputs and outputs are float64 either way. float32 is refused where scores
            could be off by more than 1e-5 of their spread, and for a transformer.

        Returns
        -------
        data : bytes or None
            The bytes, if there is no path. They hold rows of the fit, as the model file does: keep them as safe as the
            data.
        """
        check_is_fitted(self, "model_")
        data: bytes = self.model_.to_onnx(text("form", form), text("dtype", dtype))  # type: ignore[attr-defined]
        if path is None:
            return data
        write_whole(path, data)
        return None


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file whole or not at all; a pipe or a device is written to as it is."""
    # A link stays a link, and the file it points to is replaced.
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(target.parent))
    if target.exists() and not target.is_file() and not target.is_dir():
        target.write_bytes(data)
        return
    descriptor, temporary = tempfile.mkstemp(prefix=".oblivio-", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            # On the disk before it has its name: a machine that loses power has one of the two files, too.
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def to_frame(columns: dict[str, Any]) -> Any:
    """A pandas frame if pandas is installed, else the columns."""
    try:
        import pandas as pd
    except ImportError:
        return columns
    return pd.DataFrame(columns)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model file written by ``save`` or by the command line.

    Nothing in the file is run. The estimator that comes back finds its columns by name in a frame (the sensitive ones
    too, if they are there); an array must have the feature columns in the order of the fit.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    estimator : ObliviousRidge, ObliviousSVC, ObliviousLogistic, ObliviousTransformer, ObliviousKernel or \
ObliviousRelease
        Fitted. Kernel, number of landmarks, penalty, mode, strength, scaling and seed are those that the file records;
        other parameters have their defaults, which matters only to a new fit. It cannot go on with ``partial_fit``.
    """
    from oblivio._kernel import ObliviousKernel
    from oblivio._release import ObliviousRelease
    from oblivio._transformer import ObliviousTransformer

    data = Path(path).read_bytes()
    kind = _oblivio.kind_of(data)
    if kind == "ridge":
        return ridge_of(_oblivio.ScoreModel.from_bytes(data))
    if kind == "classifier":
        return _classifier_of(_oblivio.ScoreModel.from_bytes(data))
    if kind == "features":
        features = _oblivio.FeatureModel.from_bytes(data)
        # A file of features that nothing is taken off has no sensitive columns, whether or not there were some.
        strength = features.strength if features.sensitive_columns else 1.0
        estimator = ObliviousTransformer(
            kernel=features.kernel,
            n_components=features.components,
            strength=strength,
            standardize=features.standardize,
        )
        return fitted(estimator, features)
    if kind == "release":
        release = _oblivio.ReleaseModel.from_bytes(data)
        return fitted(ObliviousRelease(method=release.method, strength=release.strength), release)
    kernel = _oblivio.KernelModel.from_bytes(data)
    return fitted(ObliviousKernel(kernel=kernel.kernel, standardize=kernel.standardize), kernel)


def ridge_of(model: _oblivio.ScoreModel) -> Any:
    """The estimator of a model that has no fit in Python."""
    from oblivio._ridge import ObliviousRidge

    recorded, card = _recorded(model)
    estimator = ObliviousRidge(alpha=card["penalty"], fit_intercept=bool(model.intercepts[0]), **recorded)
    return fitted(estimator, model)


def _classifier_of(model: _oblivio.ScoreModel) -> Any:
    from oblivio._classifier import ObliviousLogistic, ObliviousSVC, classes_of

    recorded, card = _recorded(model)
    kind = ObliviousLogistic if card["learner"] == "logistic" else ObliviousSVC
    estimator = kind(C=1.0 / card["penalty"], **recorded)
    if model.classes is not None:
        names, numeric, _, _ = model.classes
        estimator.classes_ = classes_of(names, numeric=numeric)
    return fitted(estimator, model)


def _recorded(model: _oblivio.ScoreModel) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters that a file records, and its card."""
    card = json.loads(model.card())
    parameters = {
        "kernel": model.kernel,
        "n_components": model.components,
        "mode": card["mode"],
        "strength": model.strength if card["mode"] in ("oblivious", "m-oblivious") else 1.0,
        "reference": "half" if card["reference"] == "half" else "all",
        "standardize": model.standardize,
        "random_state": card["seed"],
    }
    return parameters, card


def fitted(estimator: Any, model: Any) -> Any:
    """The estimator with a model that it was not fitted to in Python: it finds its columns by name."""
    estimator.model_ = model
    estimator._file_columns = [name for name, _ in model.feature_columns]
    estimator.sensitive_feature_names_ = [name for name, _ in model.sensitive_columns]
    estimator.control_feature_names_ = list(model.control_columns)
    estimator.n_features_in_ = len(estimator._file_columns)
    return estimator
