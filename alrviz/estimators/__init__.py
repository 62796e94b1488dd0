"""scikit-learn estimators: validate, encode, run, keep the model."""

from alrviz.estimators import cells
from alrviz.estimators.auto import AutoClassifier, fit
from alrviz.estimators.cells import *  # noqa: F403 (those that families make)
from alrviz.estimators.conditional import ELRClassifier
from alrviz.estimators.density import DLRClassifier
from alrviz.estimators.discretizer import MDLDiscretizer
from alrviz.estimators.linear import NaiveBayesClassifier, WANBIACClassifier
from alrviz.estimators.make import estimator_of, make_estimator
from alrviz.estimators.networks import AnDEClassifier, KDBClassifier, TANClassifier

__all__ = [
    "AnDEClassifier",
    "AutoClassifier",
    "DLRClassifier",
    "ELRClassifier",
    "KDBClassifier",
    "MDLDiscretizer",
    "NaiveBayesClassifier",
    "TANClassifier",
    "WANBIACClassifier",
    "estimator_of",
    "fit",
    "make_estimator",
]
__all__ += cells.__all__
