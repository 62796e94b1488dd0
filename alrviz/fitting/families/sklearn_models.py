"""scikit-learn's models, for comparison: random forests, gradient boosting and support vector machines."""

from collections.abc import Mapping
from math import log2, sqrt
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.cost.estimate import Estimate, estimate_by_formula
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.families.family import BASE_SECONDS, Family
from alrviz.fitting.families.param import Param
from alrviz.fitting.families.shared_params import CLASS_WEIGHT
from alrviz.fitting.fit_settings import FitSettings, Params
from alrviz.fitting.solvers.choice import SolverChoice

if TYPE_CHECKING:
    from alrviz.data.encoded import Encoded

# Seconds: of a forest per row, tried column and level; of a boosted tree, and per row and column of it; of an SVM per
# pair of rows.
_FOREST_SECONDS, _BOOSTED_TREE_SECONDS, _BOOSTED_VALUE_SECONDS, _SVM_PAIR_SECONDS = 4.7e-8, 1.5e-3, 8e-9, 1.1e-7
# scikit-learn's cache of kernel rows.
_KERNEL_CACHE_BYTES = 200 * 2**20
_CHOICE = SolverChoice("none", 0, "scikit-learn fits it, by no solver of this package", 0)
_TREES = Param(
    100, low=1, high=10_000, integer=True, label="Trees", key="T", step=50, highest=1000, help="Number of trees."
)


class SklearnFamily(Family):
    """Base of the families that scikit-learn fits: numbers are not cut, fits are random and have no steps or cell
    weights.
    """

    takes_numbers = True
    counts_cells = shows_weights = False

    def is_random(self, params: Params) -> bool:
        """Return True: trees and the folds of the calibration are random."""
        return True

    def estimate(self, recipe: FitSettings, shape: TableShape, max_memory: int | None = None) -> Estimate:
        """Return the seconds and peak bytes of a fit of `recipe`: the table as numbers, plus the trees or the kernel
        cache.

        max_memory: bytes that may be used, above which it is refused; None for half of the free memory.
        """
        encoded, params = shape.encoded, recipe.params
        seconds = self.seconds(params, encoded.n_rows, encoded.n_columns, encoded.n_classes)
        cost = Cost(bytes=self.bytes(encoded, params), seconds=seconds)
        return estimate_by_formula(cost, _CHOICE, "numbers", shape, max_memory)

    def bytes(self, encoded: "Encoded", params: Params) -> int:
        """Return the bytes at the peak of a fit to encoded rows."""
        raise NotImplementedError


class Forest(SklearnFamily):
    """Random forest."""

    name = "rf"
    words = "random forest"
    estimator = "alrviz.estimators.sklearn_models.ForestClassifier"
    params: ClassVar[Mapping[str, Param]] = {"n_estimators": _TREES}
    colours: ClassVar[Mapping[str, str]] = {"rf": "#BB0099"}

    def title(self, params: Params) -> str:
        """Return the number of trees."""
        return f"rf {params['n_estimators']} trees"

    def bytes(self, encoded: "Encoded", params: Params) -> int:
        """Return the bytes of trees, which grow with the encoded rows."""
        n = encoded.n_rows
        trees: int = params["n_estimators"] * n * (64 + 8 * encoded.n_classes)
        return 12 * n * encoded.n_columns + trees

    def seconds(self, params: Params, rows: int, columns: int, classes: int) -> float:
        """Return about the seconds of a fit: a tree sorts its rows level by level, whatever the number of columns and
        classes.
        """
        return float(params["n_estimators"]) * (1e-3 + _FOREST_SECONDS * rows * sqrt(columns) * log2(max(rows, 2)))


class Boosting(SklearnFamily):
    """Gradient boosting of trees on histograms."""

    name = "hgb"
    words = "boosting"
    estimator = "alrviz.estimators.sklearn_models.BoostingClassifier"
    params: ClassVar[Mapping[str, Param]] = {
        "n_estimators": _TREES,
        "learning_rate": Param(
            0.1, low=0.0, high=1.0, open_low=True, label="Learning rate", key="L", step=0.05,
            help="Factor of what each tree adds.",
        ),
        "class_weight": CLASS_WEIGHT,
    }  # fmt: skip
    colours: ClassVar[Mapping[str, str]] = {"boosting": "#3322FF"}
    aliases: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("boosting", "gradientboosting", "histgradientboosting"), 'Recipe("hgb")'
    )

    def label(self, params: Params) -> str:
        """Return its name in words: "hgb" is not a name for a legend."""
        return self.words

    def title(self, params: Params) -> str:
        """Return the number of trees."""
        return f"boosting {params['n_estimators']} trees"

    def bytes(self, encoded: "Encoded", params: Params) -> int:
        """Return the bytes of encoded rows as numbers and as bytes, gradients of every class, and a few score
        vectors.
        """
        return encoded.n_rows * (9 * encoded.n_columns + 40 * encoded.n_classes)

    def seconds(self, params: Params, rows: int, columns: int, classes: int) -> float:
        """Return about the seconds of a fit to so many rows and columns; with more than two classes there is a tree for
        each.
        """
        trees = params["n_estimators"] * (1 if classes == 2 else classes)
        return float(trees) * (_BOOSTED_TREE_SECONDS + _BOOSTED_VALUE_SECONDS * rows * columns)


class SVM(SklearnFamily):
    """Support vector machine; a sigmoid fitted to validation rows turns its scores into probabilities."""

    name = "svm"
    words = "SVM"
    estimator = "alrviz.estimators.sklearn_models.SVMClassifier"
    params: ClassVar[Mapping[str, Param]] = {
        "C": Param(
            1.0, low=0.0, high=1e12, open_low=True, label="C: smaller is stronger regularisation", key="C", highest=1e6,
            help="Weight of the rows' losses against the width of the margin.",
        ),
        "kernel": Param(
            "rbf", {"rbf": "Gaussian (RBF)", "linear": "linear", "poly": "polynomial"}, label="Kernel", key="F",
            help="By nearness, none, or products of up to three columns.",
        ),
    }  # fmt: skip
    colours: ClassVar[Mapping[str, str]] = {"svm": "#BB77FF"}

    def title(self, params: Params) -> str:
        """Return kernel and C."""
        return f"svm {params['kernel']}, C {params['C']:g}"

    def bytes(self, encoded: "Encoded", params: Params) -> int:
        """Return the bytes of one column per level of encoded rows, and of the kernel cache."""
        width = len(encoded.numeric) + int(np.delete(encoded.levels, encoded.numeric).sum())
        return 24 * encoded.n_rows * width + _KERNEL_CACHE_BYTES

    def seconds(self, params: Params, rows: int, columns: int, classes: int) -> float:
        """Return about the seconds of a fit, which are those of all pairs of rows, whatever the number of columns and
        classes.
        """
        return BASE_SECONDS + _SVM_PAIR_SECONDS * rows**2
