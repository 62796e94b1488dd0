"""alrviz: a laboratory for classifiers from naive Bayes to higher-order logistic regression.

Names are imported when they are first used (PEP 562), so that `import alrviz` costs a few milliseconds.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Dataset": "alrviz.data.dataset",
    "ReadOptions": "alrviz.data.read",
    "read_table": "alrviz.data.read",
    "demo_names": "alrviz.data.demos",
    "load_demo": "alrviz.data.demos",
    "LostColumnsWarning": "alrviz.errors",
    "Recipe": "alrviz.fitting.recipe",
    "paper_mode": "alrviz.fitting.recipe",
    "Run": "alrviz.fitting.run",
    "race": "alrviz.studies.race",
    "bias_variance": "alrviz.studies.bias_variance",
    "choose_order": "alrviz.studies.choose_order",
    "compare": "alrviz.studies.compare",
    "learning_curve": "alrviz.studies.learning_curve",
    "path": "alrviz.studies.path",
    "ALRClassifier": "alrviz.estimators",
    "AnDEClassifier": "alrviz.estimators",
    "AnJEClassifier": "alrviz.estimators",
    "DLRClassifier": "alrviz.estimators",
    "ELRClassifier": "alrviz.estimators",
    "KDBClassifier": "alrviz.estimators",
    "LRClassifier": "alrviz.estimators",
    "NaiveBayesClassifier": "alrviz.estimators",
    "TANClassifier": "alrviz.estimators",
    "WANBIACClassifier": "alrviz.estimators",
    "MDLDiscretizer": "alrviz.estimators",
    "make_estimator": "alrviz.estimators",
    "load_model": "alrviz.estimators.model_file",
    "save_model": "alrviz.estimators.model_file",
    "score": "alrviz.estimators.scoring",
    "BandwidthView": "alrviz.views",
    "BiasVarianceView": "alrviz.views",
    "CompareView": "alrviz.views",
    "DecisionMapView": "alrviz.views",
    "DensityFilmView": "alrviz.views",
    "DensityRatioView": "alrviz.views",
    "GramMatrixView": "alrviz.views",
    "LearningCurveView": "alrviz.views",
    "OrderStudyView": "alrviz.views",
    "PathView": "alrviz.views",
    "RaceView": "alrviz.views",
    "save_replay": "alrviz.views.replay",
}

__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604 (the names are strings, made from the table above)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'alrviz' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
