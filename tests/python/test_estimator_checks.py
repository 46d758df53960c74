"""scikit-learn's own checks, all of them, for every estimator."""

import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils.estimator_checks import estimator_checks_generator

import oblivio as ob

ESTIMATORS = {
    "ridge": ob.ObliviousRidge(standardize=False),
    "ridge-column": ob.ObliviousRidge(standardize=False, sensitive_feature_ids=[0]),
    "ridge-explicit": ob.ObliviousRidge(standardize=False, n_components=20),
    "ridge-explicit-column": ob.ObliviousRidge(standardize=False, n_components=20, sensitive_feature_ids=[0]),
    "ridge-explicit-k-means": ob.ObliviousRidge(
        standardize=False, n_components=300, landmarks="k-means++", fit_intercept=True
    ),
    "ridge-free": ob.ObliviousRidge(standardize=False, mode="sensitive-free", sensitive_feature_ids=[0]),
    "ridge-cv": ob.ObliviousRidgeCV(standardize=False),
    "ridge-cv-column": ob.ObliviousRidgeCV(standardize=False, sensitive_feature_ids=[0], strengths=(0.0, 1.0)),
    "ridge-cv-explicit": ob.ObliviousRidgeCV(standardize=False, n_components=20),
    "svc": ob.ObliviousSVC(standardize=False),
    "svc-column": ob.ObliviousSVC(standardize=False, sensitive_feature_ids=[0]),
    "svc-free-column": ob.ObliviousSVC(standardize=False, sensitive_feature_ids=[0], mode="sensitive-free"),
    "svc-explicit": ob.ObliviousSVC(standardize=False, n_components=20, class_weight="balanced"),
    "svc-explicit-column": ob.ObliviousSVC(standardize=False, n_components=20, sensitive_feature_ids=[0]),
    "logistic": ob.ObliviousLogistic(standardize=False),
    "logistic-column": ob.ObliviousLogistic(standardize=False, sensitive_feature_ids=[0]),
    "logistic-explicit": ob.ObliviousLogistic(standardize=False, n_components=20),
    "transformer": ob.ObliviousTransformer(standardize=False),
    "transformer-column": ob.ObliviousTransformer(standardize=False, sensitive_feature_ids=[0]),
    "transformer-k-means": ob.ObliviousTransformer(standardize=False, n_components=10, landmarks="k-means++"),
    "transformer-uniform": ob.ObliviousTransformer(
        standardize=False, n_components=10, landmarks="uniform", sensitive_feature_ids=[0]
    ),
    "transformer-tolerance": ob.ObliviousTransformer(standardize=False, tolerance=0.05),
    "release": ob.ObliviousRelease(),
    "release-column": ob.ObliviousRelease(sensitive_feature_ids=[0]),
    "release-residual-column": ob.ObliviousRelease(method="residual", sensitive_feature_ids=[0]),
    "kernel": ob.ObliviousKernel(standardize=False),
    "kernel-column": ob.ObliviousKernel(standardize=False, sensitive_feature_ids=[0]),
    "offset-regressor": ob.Offset(Ridge()),
    "offset-regressor-column": ob.Offset(Ridge(), sensitive_feature_ids=[0]),
    "offset-classifier": ob.Offset(LogisticRegression()),
    "offset-classifier-column": ob.Offset(LogisticRegression(), sensitive_feature_ids=[0]),
}

# The data of the checks have few rows, repeated rows and constant columns: we say so, and that is no failure here.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::oblivio.OblivioWarning", "ignore::sklearn.exceptions.SkipTestWarning"),
]


def _name(check):
    keywords = ",".join(f"{key}={value}" for key, value in check.keywords.items())
    return f"{check.func.__name__}({keywords})" if keywords else check.func.__name__


CASES = [
    pytest.param(estimator, check, id=f"{name}-{_name(check)}")
    for name, instance in ESTIMATORS.items()
    for estimator, check in estimator_checks_generator(instance, legacy=True, mark="skip")
]


@pytest.mark.parametrize(("estimator", "check"), CASES)
def test_check(estimator, check):
    check(estimator)


def test_every_estimator_has_a_share_of_the_checks():
    for name in ESTIMATORS:
        assert sum(case.id.startswith(f"{name}-check") for case in CASES) > 30
