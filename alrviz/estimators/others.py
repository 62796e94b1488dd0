"""scikit-learn's random forest and SVM on a table as users bring it, so that a recipe describes them too.

Both are given a matrix: numeric columns as they are, NaN where missing, then the codes of the other columns' levels.

    rf     takes it as it is: 100 trees, max_features = floor(log2 a) + 1                                    [ALR] 6
    svm    numbers: gaps filled with the mean, standardised; levels: a column each

The SVM's scores become probabilities by a sigmoid fitted to scores of rows held out in turn: five folds, or as many as
the smallest class has rows; to its own scores where a class has one.
"""

import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from alrviz.data.encoded import Encoded
from alrviz.estimators.checks import check_table, threads
from alrviz.estimators.recipes import RecipeClassifier
from alrviz.estimators.text import documented
from alrviz.fitting.price import price_of, require_memory
from alrviz.fitting.recipe import Recipe
from alrviz.passes.rows import Floats

_FOLDS = 5


@dataclass(kw_only=True, eq=False, repr=False)
class TableClassifier(RecipeClassifier):
    """Base of the classifiers that scikit-learn fits to numbers and codes of levels."""

    random_state: Any = None

    def _learn(self, encoded: Encoded, recipe: Recipe) -> None:
        require_memory(price_of(encoded, recipe, max_memory=self.max_memory))
        self._numeric = encoded.numeric
        self._levels = np.delete(encoded.levels, encoded.numeric)
        X = self._matrix(encoded.codes, encoded.numbers)
        weights = None if (encoded.weights == 1.0).all() else encoded.weights  # the same forest as without any
        self.model_ = self._fitted(X, encoded.y, weights, recipe)

    @abstractmethod
    def _fitted(self, X: Floats, y: Any, weights: Floats | None, recipe: Recipe) -> Any:
        """Return scikit-learn's model, fitted."""

    def _matrix(self, codes: Any, numbers: Any) -> Floats:
        """(N, a) numbers first, then codes; a level never seen is the code behind the last."""
        return np.concatenate([numbers, np.delete(codes, self._numeric, axis=0)], dtype=np.float64).T

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        table = check_table(self, X, reset=False)
        p = self.model_.predict_proba(self._matrix(self.encoder_.transform(table), self.encoder_.numbers(table)))
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

    def _fitted(self, X: Floats, y: Any, weights: Floats | None, recipe: Recipe) -> Any:
        model = RandomForestClassifier(
            n_estimators=recipe.params["n_estimators"],
            max_features=int(np.log2(X.shape[1])) + 1,
            n_jobs=threads(self.n_jobs),
            random_state=recipe.seed,
        )
        return model.fit(X, y, weights)


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class SVMClassifier(TableClassifier):
    """scikit-learn's support vector machine: the widest margin, in the columns or in a kernel's space.

    Numbers are standardised, their gaps filled with the mean; every level is a column. Probabilities, by which classes
    are predicted too, come from a sigmoid that is fitted to scores of rows held out in turn.

    {parameters}
    """

    C: float = 1.0
    kernel: str = "rbf"

    _family: ClassVar[str] = "svm"

    def _fitted(self, X: Floats, y: Any, weights: Floats | None, recipe: Recipe) -> Any:
        columns = self._columns()
        Z, machine = columns.fit_transform(X), SVC(C=recipe.params["C"], kernel=recipe.params["kernel"])
        folds = min(_FOLDS, int(np.bincount(y).min()))
        if folds > 1:
            split = StratifiedKFold(folds, shuffle=True, random_state=recipe.seed)
            model = CalibratedClassifierCV(machine, cv=split, ensemble=False).fit(Z, y, weights)
        else:  # a class of one row: no fold can learn it
            frozen, all_rows = FrozenEstimator(machine.fit(Z, y, weights)), [(np.arange(len(y)), np.arange(len(y)))]
            with warnings.catch_warnings():  # the machine has had the weights already
                warnings.filterwarnings("ignore", "Since FrozenEstimator does not appear to accept", UserWarning)
                model = CalibratedClassifierCV(frozen, cv=all_rows).fit(Z, y, weights)
        return Pipeline([("columns", columns), ("model", model)])

    def _columns(self) -> ColumnTransformer:
        n = len(self._numeric)
        numbers = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
        levels = OneHotEncoder(categories=[np.arange(float(top)) for top in self._levels], handle_unknown="ignore")
        parts = [("numbers", numbers, slice(0, n)), ("levels", levels, slice(n, n + len(self._levels)))]
        return ColumnTransformer([part for part in parts if part[2].stop > part[2].start], sparse_threshold=0.0)
