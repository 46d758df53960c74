"""The two learners that follow every method that only changes the features: one linear, one with a Gaussian kernel."""

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, RidgeCV
from sklearn.model_selection import cross_val_predict

LANDMARKS = 500
MULTIPLES = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
PENALTIES = np.logspace(-4, 3, 15)


def linear(train, target, test, is_classification):
    """Ridge by leave-one-out, or logistic regression by cross-validation; scores of the test rows."""
    if is_classification:
        model = LogisticRegressionCV(
            Cs=np.logspace(-3, 1, 5),
            cv=3,
            scoring="roc_auc",
            max_iter=500,
            l1_ratios=(0.0,),
            use_legacy_attributes=False,
        )
        return model.fit(train, target).decision_function(test)
    return RidgeCV(np.logspace(-3, 4, 15)).fit(train, target).predict(test)


def kernel(train, target, test, is_classification):
    """Gaussian kernel ridge, on targets of plus and minus one for classes; bandwidth and penalty by leave-one-out.

    The kernel goes through ``LANDMARKS`` seeded rows; bandwidths are multiples of scikit-learn's ``scale``.
    """
    target = 2.0 * target - 1.0 if is_classification else target
    if np.ptp(train, axis=0).max() == 0:
        return np.full(len(test), target.mean())
    scale = 1.0 / (train.shape[1] * train.var())
    best, best_error = None, np.inf
    for multiple in MULTIPLES:
        features = Nystroem(gamma=multiple * scale, n_components=min(LANDMARKS, len(train)), random_state=0)
        error, model = _ridge_by_leave_one_out(features.fit_transform(train), target)
        if error < best_error:
            best, best_error = (features, model), error
    features, (centre, coefficients, level) = best
    return (features.transform(test) - centre) @ coefficients + level


def positive_share(train, target):
    """The share of yes at which a plain logistic regression, cross-validated, has the least balanced error.

    Every score is cut at this share, so that decisions of different methods can be compared.
    """
    score = cross_val_predict(LogisticRegression(max_iter=500), train, target, cv=5, method="decision_function")
    order = np.argsort(-score, kind="stable")
    yes = np.cumsum(target[order]) / target.sum()
    no = np.cumsum(1 - target[order]) / (1 - target).sum()
    return float((np.argmax(yes - no) + 1) / len(target))


def base_logistic():
    """The learner inside reductions and threshold optimisers."""
    return LogisticRegression(max_iter=500)


def _ridge_by_leave_one_out(features, target):
    """The best penalty's error and (centre, coefficients, level); all penalties share one eigendecomposition."""
    centre, level = features.mean(axis=0), target.mean()
    features, residual_target = features - centre, target - level
    values, vectors = np.linalg.eigh(features.T @ features)
    values = np.maximum(values, 0.0)
    rotated = features @ vectors
    moments = rotated.T @ residual_target
    best = (np.inf, None)
    for penalty in PENALTIES:
        inverse = 1.0 / (values + penalty)
        fitted = rotated @ (inverse * moments)
        leverage = (rotated**2) @ inverse + 1.0 / len(target)
        error = np.mean(((residual_target - fitted) / (1.0 - leverage)) ** 2)
        if error < best[0]:
            best = (error, (centre, vectors @ (inverse * moments), level))
    return best
