"""scikit-learn estimators: validate, encode, run, keep the model."""

from alrviz.estimators.conditional import ELRClassifier
from alrviz.estimators.density import DLRClassifier
from alrviz.estimators.discretizer import MDLDiscretizer
from alrviz.estimators.generative import AnJEClassifier, NaiveBayesClassifier
from alrviz.estimators.linear import ALRClassifier, LRClassifier, WANBIACClassifier
from alrviz.estimators.make import make_estimator
from alrviz.estimators.networks import AnDEClassifier, KDBClassifier, TANClassifier

__all__ = [
    "ALRClassifier",
    "AnDEClassifier",
    "AnJEClassifier",
    "DLRClassifier",
    "ELRClassifier",
    "KDBClassifier",
    "LRClassifier",
    "MDLDiscretizer",
    "NaiveBayesClassifier",
    "TANClassifier",
    "WANBIACClassifier",
    "make_estimator",
]
