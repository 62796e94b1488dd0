"""scikit-learn estimators: validate, encode, run, keep the model."""

from alrviz.estimators.density import DLRClassifier
from alrviz.estimators.discretizer import MDLDiscretizer
from alrviz.estimators.generative import AnJEClassifier, NaiveBayesClassifier
from alrviz.estimators.linear import ALRClassifier, LRClassifier, WANBIACClassifier
from alrviz.estimators.make import make_estimator

__all__ = [
    "ALRClassifier",
    "AnJEClassifier",
    "DLRClassifier",
    "LRClassifier",
    "MDLDiscretizer",
    "NaiveBayesClassifier",
    "WANBIACClassifier",
    "make_estimator",
]
