"""scikit-learn estimators: validate, encode, run, keep the model."""

from alrviz.estimators.auto import AutoClassifier, fit
from alrviz.estimators.cells import (
    ALRClassifier,
    AnJEClassifier,
    HALRClassifier,
    HierarchicalSelectiveALRClassifier,
    HLRClassifier,
    LRClassifier,
    SelectiveALRClassifier,
)
from alrviz.estimators.density import DLRClassifier
from alrviz.estimators.discretizer import MDLDiscretizer
from alrviz.estimators.linear import NaiveBayesClassifier, WANBIACClassifier
from alrviz.estimators.make import estimator_of, make_estimator
from alrviz.estimators.networks import AnDEClassifier, ELRClassifier, KDBClassifier, TANClassifier

__all__ = [
    "ALRClassifier",
    "AnDEClassifier",
    "AnJEClassifier",
    "AutoClassifier",
    "DLRClassifier",
    "ELRClassifier",
    "HALRClassifier",
    "HLRClassifier",
    "HierarchicalSelectiveALRClassifier",
    "KDBClassifier",
    "LRClassifier",
    "MDLDiscretizer",
    "NaiveBayesClassifier",
    "SelectiveALRClassifier",
    "TANClassifier",
    "WANBIACClassifier",
    "estimator_of",
    "fit",
    "make_estimator",
]
