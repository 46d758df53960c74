"""The peers: what other packages and published methods make of the same split.

Each method takes a table and a split and returns an :class:`Answer` for the test rows.
"""

import contextlib
import logging
import os
from dataclasses import dataclass
from functools import partial

import learners
import numpy as np
import pandas as pd
from measures import cells_of

GROUP_ROWS = 50


@dataclass(frozen=True)
class Answer:
    """What a method says of the test rows: scores in any unit, or the probability of a yes where it only decides."""

    values: np.ndarray
    kind: str = "score"


def mean(table, split):
    return Answer(np.full(len(split.test), split.train_target.mean()))


def dropped(train, test, split):
    """No removal: the sensitive columns are not among the features, and that is all."""
    return train, test


def correlation_removed(train, test, split):
    from fairlearn.preprocessing import CorrelationRemover

    sensitive = _full_rank(split.train_sensitive_numbers)
    ids = list(range(len(sensitive)))
    remover = CorrelationRemover(sensitive_feature_ids=ids)
    with_train = np.c_[split.train_sensitive_numbers[:, sensitive], train]
    with_test = np.c_[split.test_sensitive_numbers[:, sensitive], test]
    return remover.fit_transform(with_train), remover.transform(with_test)


def erased(train, test, split):
    """LEACE (Belrose et al. 2023) in closed form: x - W⁺ P W (x - mean), P onto the span of W cov(x, s)."""
    sensitive = split.train_sensitive_numbers[:, _full_rank(split.train_sensitive_numbers)]
    centre = train.mean(axis=0)
    centred = train - centre
    cross = centred.T @ (sensitive - sensitive.mean(axis=0)) / len(train)
    values, vectors = np.linalg.eigh(centred.T @ centred / len(train))
    kept = values > 1e-8 * values.max()
    values, vectors = values[kept], vectors[:, kept]
    whiten, colour = (vectors / np.sqrt(values)) @ vectors.T, (vectors * np.sqrt(values)) @ vectors.T
    basis, size, _ = np.linalg.svd(whiten @ cross, full_matrices=False)
    basis = basis[:, size > 1e-8 * size.max()]
    erase = colour @ basis @ basis.T @ whiten
    # Where S has as many dimensions as X, nothing is left but rounding, and a kernel would read X back from that.
    left = centred - centred @ erase.T
    gone = left.std(axis=0) <= 1e-8 * centred.std(axis=0)
    test = test - (test - centre) @ erase.T
    return np.where(gone, centre, left + centre), np.where(gone, centre, test)


def quantile_repaired(train, test, split):
    """Feldman et al. 2015: within a group a value keeps its rank and takes the groups' mean quantile at that rank."""
    train_groups, test_groups = _groups(split)
    levels = np.linspace(0.005, 0.995, 199)
    shares = np.bincount(train_groups) / len(train)
    present = np.flatnonzero(shares)
    train, test = train.copy(), test.copy()
    for column in range(train.shape[1]):
        quantiles = {group: np.quantile(train[train_groups == group, column], levels) for group in present}
        common = sum(shares[group] * quantiles[group] for group in present)
        for groups, rows in ((test_groups, test), (train_groups, train)):
            for group in present:
                members = groups == group
                below = np.searchsorted(quantiles[group], rows[members, column], "left")
                upto = np.searchsorted(quantiles[group], rows[members, column], "right")
                # Values that are tied have the middle of their ranks.
                rows[members, column] = np.interp((below + upto) / 2.0 / len(levels), levels, common)
    return train, test


def disparate_impact_removed(train, test, split):
    """AIF360's repair of all rows at once: it has no separate step for new rows."""
    with _quiet():
        from aif360.algorithms.preprocessing import DisparateImpactRemover
        from aif360.datasets import BinaryLabelDataset

        groups = np.concatenate(_groups(split)).astype(float)
        frame = pd.DataFrame(np.r_[train, test]).rename(columns=str)
        frame["group"], frame["label"] = (
            groups,
            np.r_[split.train_target > np.median(split.train_target), split.test_target * 0],
        )
        dataset = BinaryLabelDataset(df=frame, label_names=["label"], protected_attribute_names=["group"])
        repaired = DisparateImpactRemover(sensitive_attribute="group").fit_transform(dataset)
        columns = [name != "group" for name in repaired.feature_names]
    return repaired.features[: len(train), columns], repaired.features[len(train) :, columns]


def learned(change, learner, table, split):
    """Change the features, then learn."""
    train, test = change(split.train, split.test, split)
    return Answer(learner(train, split.train_target, test, table.is_classification))


def fair_representation(table, split):
    """AIF360's LFR on the first 1000 training rows; its S is binary: the largest level of the first categorical one."""
    with _quiet():
        from aif360.algorithms.preprocessing import LFR
        from aif360.datasets import BinaryLabelDataset

        column = next(name for name in split.train_sensitive if split.train_sensitive[name].dtype == object)
        largest = split.train_sensitive[column].mode()[0]

        def dataset(rows, sensitive, label):
            frame = pd.DataFrame(rows).rename(columns=str)
            frame["group"], frame["label"] = (sensitive[column] == largest).to_numpy(float), label
            return BinaryLabelDataset(df=frame, label_names=["label"], protected_attribute_names=["group"])

        model = LFR([{"group": 0.0}], [{"group": 1.0}], k=5, Ax=0.1, Ay=1.0, Az=2.0, verbose=0, seed=0)
        model.fit(dataset(split.train[:1000], split.train_sensitive[:1000], split.train_target[:1000]))
        said = model.transform(dataset(split.test, split.test_sensitive, split.test_target * 0.0))
    return Answer(np.asarray(said.scores).ravel())


def exponentiated_gradient(bound, table, split):
    from fairlearn.reductions import DemographicParity, ErrorRate, ExponentiatedGradient

    train_groups, _ = _groups(split)
    share = split.train_target.mean()
    model = ExponentiatedGradient(
        learners.base_logistic(),
        DemographicParity(difference_bound=bound),
        # Costs that make the objective the balanced error, which is what is measured.
        objective=ErrorRate(costs={"fp": 0.5 / (1 - share), "fn": 0.5 / share}),
    )
    with _quiet():
        model.fit(split.train, split.train_target, sensitive_features=train_groups)
    return Answer(model._pmf_predict(split.test)[:, 1], "decision")


def threshold_optimizer(table, split):
    from fairlearn.postprocessing import ThresholdOptimizer

    train_groups, test_groups = _groups_with_both_labels(split)
    model = ThresholdOptimizer(
        estimator=learners.base_logistic(),
        constraints="demographic_parity",
        objective="balanced_accuracy_score",
        predict_method="decision_function",
    )
    with _quiet():
        model.fit(split.train, split.train_target, sensitive_features=train_groups)
        return Answer(model._pmf_predict(split.test, sensitive_features=test_groups)[:, 1], "decision")


CHANGES = {
    "drop S": dropped,
    "CorrelationRemover": correlation_removed,
    "LEACE": erased,
    "quantile repair": quantile_repaired,
    "DisparateImpactRemover": disparate_impact_removed,
}
LEARNERS = {"linear": learners.linear, "kernel": learners.kernel}


def peers_of(table):
    """The methods by name that can be run on a table."""
    methods = {"predict the mean": mean}
    for change, change_features in CHANGES.items():
        for name, learner in LEARNERS.items():
            methods[f"{change} + {name}"] = partial(learned, change_features, learner)
    if table.is_classification:
        for bound in (0.01, 0.1):
            methods[f"ExponentiatedGradient, bound {bound:g}"] = partial(exponentiated_gradient, bound)
        methods["ThresholdOptimizer"] = threshold_optimizer
        methods["LFR"] = fair_representation
    return methods


def _groups(split):
    """Groups for methods that need a categorical S: the cells, small ones joined."""
    reference = split.train_sensitive
    return cells_of(reference, reference, GROUP_ROWS), cells_of(reference, split.test_sensitive, GROUP_ROWS)


def _groups_with_both_labels(split):
    """Groups, where one with hardly a row of either label joins the largest: it cannot have a threshold of its own."""
    train_groups, test_groups = _groups(split)
    rows = np.bincount(train_groups, minlength=test_groups.max() + 1)
    yes = np.bincount(train_groups, split.train_target, minlength=len(rows))
    poor = np.flatnonzero(np.minimum(yes, rows - yes) < 5)
    largest = rows.argmax()
    return tuple(np.where(np.isin(groups, poor), largest, groups) for groups in (train_groups, test_groups))


def _full_rank(numbers):
    """Columns of S that are no combination of the ones before: one level of every categorical column goes."""
    kept = []
    for column in range(numbers.shape[1]):
        trial = numbers[:, [*kept, column]] - numbers[:, [*kept, column]].mean(axis=0)
        if np.linalg.matrix_rank(trial, tol=1e-6 * len(numbers) ** 0.5) == len(kept) + 1:
            kept.append(column)
    return kept


@contextlib.contextmanager
def _quiet():
    """Other packages print and log their progress and what is not installed."""
    import warnings

    logging.disable(logging.WARNING)
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            logging.disable(logging.NOTSET)
