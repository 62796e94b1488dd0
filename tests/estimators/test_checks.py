"""scikit-learn's own checks."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from alrviz.estimators import (
    ALRClassifier,
    AnJEClassifier,
    DLRClassifier,
    LRClassifier,
    MDLDiscretizer,
    NaiveBayesClassifier,
    WANBIACClassifier,
)

ESTIMATORS = [
    LRClassifier(),
    LRClassifier(order=1),
    LRClassifier(scale="diagonal"),
    LRClassifier(scale="diagonal-adaptive", solver="gd", order=1),
    ALRClassifier(penalty="w", alpha=1.0),
    ALRClassifier(penalty="w", alpha=0.1, center="anje", start="anje", order=1),
    ALRClassifier(scale="theta-gamma", start="random", order=1),
    WANBIACClassifier(penalty="w", alpha=1.0),
    WANBIACClassifier(share="tuple"),
    AnJEClassifier(),
    NaiveBayesClassifier(),
    DLRClassifier(),
    DLRClassifier(bandwidth="silverman", alpha=0.1, center=1, start="one"),
    DLRClassifier(bandwidth="validation", random_state=0),
    DLRClassifier(bandwidth="paper", random_state=0),
    MDLDiscretizer(),
]


# What is expected to fail, and why, by class: nothing.
EXPECTED_FAILURES: dict[type, dict[str, str]] = {}


@pytest.mark.filterwarnings("ignore:SCIPY_ARRAY_API is not set:sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda model: EXPECTED_FAILURES.get(type(model), {}))
def test_scikit_learn(estimator, check):
    check(estimator)
