"""scikit-learn's random forest, boosting and SVM on tables with text and gaps, so that a recipe can describe them.

All are given a matrix: numeric columns as they are, NaN where missing, then the codes of the other columns' levels.

    hgb    uses the matrix as it is; columns of at most 254 levels are categorical
    rf     uses the matrix as it is: 100 trees, max_features = floor(log2 a) + 1                             [ALR] 6
    svm    numbers: gaps filled with the mean, standardised; levels: a column each

The SVM's scores become probabilities by a sigmoid, fitted to the scores of validation rows: five folds, or as many as
the smallest class has rows; to scores of training rows if a class has only one.
"""

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from alrviz.estimators.checks import threads
from alrviz.estimators.docstrings import documented
from alrviz.estimators.recipes import RecipeClassifier
from alrviz.fitting.prepare import TrainingData
from alrviz.fitting.recipe import Recipe
from alrviz.passes.rows import Floats
from alrviz.passes.threads import resolve_jobs
from alrviz.stop import StopToken

_FOLDS = 5
_MIN_SPLIT_ROWS = 20  # of the smallest class; boosting holds a tenth out only from here on
_MIN_NUMERIC_LEVELS = 255  # scikit-learn's boosting takes categorical columns with fewer levels only


@dataclass(kw_only=True, eq=False, repr=False)
class TableClassifier(RecipeClassifier):
    """Base of the classifiers fitted by scikit-learn (forest, boosting, SVM).

    It gets a matrix: the numeric columns as numbers, then every other column as the integer codes of its levels.
    """

    random_state: Any = None

    _attributes: ClassVar[Mapping[str, str]] = {
        "model_ : object": "scikit-learn's classifier: the forest, the trees or the machine, of numbers and codes."
    }

    def _learn_rows(self, prepared: TrainingData, recipe: Recipe, stop: StopToken) -> None:
        """Fit scikit-learn's model to the matrix of the training rows."""
        encoded = prepared.encoded
        self._numeric = encoded.numeric
        self._levels = np.delete(encoded.levels, encoded.numeric)
        self._labels = encoded.classes.tolist()
        X = self._matrix(encoded.codes, encoded.numbers)
        weights = None if (encoded.weights == 1.0).all() else encoded.weights  # no weights give the same forest
        self.model_ = self._fit_model(X, encoded.y, weights, recipe)

    @abstractmethod
    def _fit_model(self, X: Floats, y: Any, weights: Floats | None, recipe: Recipe) -> Any:
        """Fit and return scikit-learn's model of a matrix X (N, a), classes y and weights (N,), None if all are
        equal.
        """

    def _matrix(self, codes: Any, numbers: Any) -> Floats:
        """Return the matrix (N, a): numbers, then codes; an unseen level has the code after the last level."""
        return np.concatenate([numbers, np.delete(codes, self._numeric, axis=0)], dtype=np.float64).T

    def score_codes(self, codes: NDArray[np.unsignedinteger], table: Any) -> Floats:
        """Return the logarithms of the probabilities (N, C) of a checked table and its codes (a, N)."""
        p = self.model_.predict_proba(self._matrix(codes, self.encoder_.numbers(table)))
        with np.errstate(divide="ignore"):
            return np.log(p)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class ForestClassifier(TableClassifier):
    """scikit-learn's random forest: the mean of trees, each grown on rows drawn with replacement.

    Every split looks at floor(log2 a) + 1 of the a columns. Numbers stay as they are, gaps included; levels are codes,
    in the order of their labels.

    {parameters}
    """

    n_estimators: int = 100

    _family: ClassVar[str] = "rf"

    def _fit_model(self, X: Floats, y: Any, weights: Floats | None, recipe: Recipe) -> Any:
        model = RandomForestClassifier(
            n_estimators=recipe.params["n_estimators"],
            max_features=int(np.log2(X.shape[1])) + 1,
            n_jobs=threads(self.n_jobs),
            random_state=recipe.seed,
        )
        return model.fit(X, y, weights)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class BoostingClassifier(TableClassifier):
    """scikit-learn's HistGradientBoostingClassifier: small trees, each fitted to the errors of those before it.

    Numbers stay as they are, gaps included; levels are categories, but in a column of more than 254 levels their codes
    are numbers. From 10,000 rows on a tenth is held out and the fit stops early, as in scikit-learn.

    {parameters}
    """

    n_estimators: int = 100
    learning_rate: float = 0.1
    class_weight: Any = None

    _family: ClassVar[str] = "hgb"

    def _fit_model(self, X: Floats, y: Any, weights: Floats | None, recipe: Recipe) -> Any:
        n = len(self._numeric)
        categories = [n + j for j, n_levels in enumerate(self._levels) if n_levels < _MIN_NUMERIC_LEVELS]
        model = HistGradientBoostingClassifier(
            max_iter=recipe.params["n_estimators"],
            learning_rate=recipe.params["learning_rate"],
            class_weight=self._class_weights(recipe.params["class_weight"]),
            categorical_features=categories or None,
            # scikit-learn's split is stratified: a class of a few rows cannot be in both parts.
            early_stopping="auto" if np.bincount(y).min() >= _MIN_SPLIT_ROWS else False,
            random_state=recipe.seed,
        )
        with threadpool_limits(resolve_jobs(threads(self.n_jobs)), user_api="openmp"):
            return model.fit(X, y, weights)

    def _class_weights(self, class_weight: Any) -> Any:
        """Return class weights by the code of each class."""
        if not isinstance(class_weight, Mapping):
            return class_weight
        return {k: class_weight.get(label, 1.0) for k, label in enumerate(self._labels)}


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class SVMClassifier(TableClassifier):
    """scikit-learn's support vector machine: the widest margin, in the columns or in a kernel's space.

    Numbers are standardised, their gaps filled with the mean; every level is a column. Probabilities, which also
    predict the class, come from a sigmoid that is fitted to the scores of validation rows.

    {parameters}
    """

    C: float = 1.0
    kernel: str = "rbf"

    _family: ClassVar[str] = "svm"

    def _fit_model(self, X: Floats, y: Any, weights: Floats | None, recipe: Recipe) -> Any:
        columns = self._columns()
        Z, machine = columns.fit_transform(X), SVC(C=recipe.params["C"], kernel=recipe.params["kernel"])
        folds = min(_FOLDS, int(np.bincount(y).min()))
        if folds > 1:
            split = StratifiedKFold(folds, shuffle=True, random_state=recipe.seed)
            model = CalibratedClassifierCV(machine, cv=split, ensemble=False).fit(Z, y, weights)
        else:  # a class with a single row: no fold could learn it
            frozen, all_rows = FrozenEstimator(machine.fit(Z, y, weights)), [(np.arange(len(y)), np.arange(len(y)))]
            with warnings.catch_warnings():  # the weights are in the frozen SVM already
                warnings.filterwarnings("ignore", "Since FrozenEstimator does not appear to accept", UserWarning)
                model = CalibratedClassifierCV(frozen, cv=all_rows).fit(Z, y, weights)
        return Pipeline([("columns", columns), ("model", model)])

    def _columns(self) -> ColumnTransformer:
        """Return the transformer of the matrix: scaled numbers, then one column for each level."""
        n = len(self._numeric)
        numbers = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
        levels = OneHotEncoder(categories=[np.arange(float(top)) for top in self._levels], handle_unknown="ignore")
        parts = [("numbers", numbers, slice(0, n)), ("levels", levels, slice(n, n + len(self._levels)))]
        return ColumnTransformer([part for part in parts if part[2].stop > part[2].start], sparse_threshold=0.0)
