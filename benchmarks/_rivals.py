"""Classifiers of other libraries, at their documented defaults, or with settings chosen on inner folds.

Two stand better than at their defaults: boosting stops early on small tables too (its default begins at 10,000 rows;
without it its log loss was up to half again as high on the sets tried), and the forest has 300 trees in place of 100.

A rival is made from the places of the columns that are categories, and settings of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.data.splits import FOLDS, split_folds
from alrviz.estimators.peers import make_peer

RIVAL = "boosting"  # what ratios are over


class Make(Protocol):
    """Makes a classifier, to be fitted."""

    def __call__(self, categorical: Sequence[int], /, **settings: Any) -> Any: ...


class OneHot:
    """A rival that takes numbers alone: gaps of numbers stay, or are filled with the median; levels are one-hot."""

    def __init__(self, model: Any, fill: bool = False):
        self.model, self._fill = model, fill

    def fit(self, X: pd.DataFrame, y: NDArray[Any]) -> "OneHot":
        """Learn."""
        from sklearn.compose import make_column_selector, make_column_transformer
        from sklearn.impute import SimpleImputer
        from sklearn.preprocessing import OneHotEncoder

        numbers: Any = SimpleImputer(strategy="median", keep_empty_features=True) if self._fill else "passthrough"
        self._columns = make_column_transformer(
            (numbers, make_column_selector(dtype_include="number")),
            (
                OneHotEncoder(handle_unknown="ignore", sparse_output=False),
                make_column_selector(dtype_exclude="number"),
            ),
        )
        self.model.fit(self._columns.fit_transform(X), y)
        return self

    def predict_proba(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """Probabilities (N, C)."""
        probabilities: NDArray[np.float64] = self.model.predict_proba(self._columns.transform(X))
        return probabilities


class TunedRival:
    """A rival with the settings of the lowest log loss on inner folds, those of `AutoClassifier`, fitted to all rows.

    Each of `grid` is settings that differ from the defaults; `quick` are settings that only the search has.
    """

    def __init__(self, make: Callable[..., Any], grid: Sequence[Mapping[str, Any]], quick: Mapping[str, Any]):
        self._make, self._grid, self._quick = make, grid, quick

    def fit(self, X: pd.DataFrame, y: NDArray[np.integer]) -> "TunedRival":
        """Search, then learn."""
        folds = split_folds(y, FOLDS, 0)
        losses = [sum(self._loss(settings, X, y, fold.train, fold.test) for fold in folds) for settings in self._grid]
        self.settings = self._grid[int(np.argmin(losses))]
        self.model = self._make(**self.settings).fit(X, y)
        return self

    def _loss(
        self, settings: Mapping[str, Any], X: pd.DataFrame, y: NDArray[Any], train: Any, validation_rows: Any
    ) -> float:
        model = self._make(**{**settings, **self._quick}).fit(X.iloc[train], y[train])
        log_p = log_probabilities(model.predict_proba(X.iloc[validation_rows]), np.unique(y[train]), int(y.max()) + 1)
        return -float(log_p[np.arange(len(validation_rows)), y[validation_rows]].sum())

    def predict_proba(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """Probabilities (N, C)."""
        probabilities: NDArray[np.float64] = self.model.predict_proba(X)
        return probabilities


def log_probabilities(
    p: NDArray[np.float64], classes: NDArray[np.integer] | None, n_classes: int
) -> NDArray[np.float64]:
    """Log probabilities of all classes; one that the training rows lack has next to nothing, for every method alike."""
    if classes is not None:
        whole = np.zeros((len(p), n_classes))
        whole[:, classes] = p
        p = whole
    p = np.clip(p, 1e-12, None)
    logs: NDArray[np.float64] = np.log(p / p.sum(axis=1, keepdims=True))
    return logs


def _boosting(categorical: Sequence[int], /, **settings: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    # More levels than its bins cannot be categories there: `as_taken` leaves the commonest.
    return HistGradientBoostingClassifier(
        early_stopping=True, categorical_features=categorical or None, random_state=0, **settings
    )


def _forest(_: Sequence[int], /, **settings: Any) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return OneHot(RandomForestClassifier(300, random_state=0, **settings), fill=True)


def _ebm(_: Sequence[int], /, **settings: Any) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(random_state=0, n_jobs=1, **settings)


def _catboost(categorical: Sequence[int], /, **settings: Any) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        cat_features=list(categorical), random_seed=0, thread_count=1, verbose=False, allow_writing_files=False,
        **settings,
    )  # fmt: skip


def _lightgbm(_: Sequence[int], /, **settings: Any) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=0, n_jobs=1, verbose=-1, **settings)


def _splines(_: Sequence[int], /, **settings: Any) -> Any:
    return make_peer("splines", **settings)


RIVALS: Mapping[str, Make] = {
    "splines": _splines,
    RIVAL: _boosting,
    "forest": _forest,
    "ebm": _ebm,
    "catboost": _catboost,
    "lightgbm": _lightgbm,
}
# The settings that their documentation says to tune first: size and number of trees, rows of a leaf, the learning rate;
# of EBM interactions, leaves and smoothing. The first of each are the defaults.
_GRIDS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    RIVAL: [
        {},
        *(
            {"learning_rate": rate, "max_leaf_nodes": leaves, "max_iter": 400}
            for rate in (0.03, 0.1)
            for leaves in (4, 12, 31)
        ),
    ],
    "forest": [{}, *({"min_samples_leaf": rows, "max_features": share} for rows in (2, 5) for share in ("sqrt", 0.5))],
    "ebm": [{}, {"interactions": 0}, {"max_leaves": 3}, {"smoothing_rounds": 500, "interaction_smoothing_rounds": 100}],
    "catboost": [
        {},
        *({"iterations": 300, "learning_rate": rate, "depth": depth} for rate in (0.03, 0.1) for depth in (4, 6)),
    ],
    "lightgbm": [
        {},
        *(
            {"learning_rate": 0.05, "num_leaves": leaves, "n_estimators": trees, "min_child_samples": rows}
            for leaves in (4, 15, 31)
            for trees in (60, 200)
            for rows in (5, 20)
        ),
    ],
}
_QUICK = {"ebm": {"outer_bags": 2}}  # of its 14, which are averaged


def tuned_maker(name: str) -> Callable[[Sequence[int]], TunedRival]:
    """Return what makes a rival that chooses its settings by inner folds."""

    def make(categorical: Sequence[int]) -> TunedRival:
        return TunedRival(partial(RIVALS[name], categorical), _GRIDS[name], _QUICK.get(name, {}))

    return make


TUNED_RIVALS = {f"{name} tuned": tuned_maker(name) for name in _GRIDS}


def as_taken(method: str, X: pd.DataFrame, train: NDArray[np.intp]) -> tuple[pd.DataFrame, list[int]]:
    """Return the table as a rival takes it, and which of its columns are categories."""
    if method == "splines":
        return X, []
    X, method = X.copy(), method.split()[0]
    categorical_columns = [k for k, name in enumerate(X) if not pd.api.types.is_numeric_dtype(X[name])]
    for k in categorical_columns:
        text = X.iloc[:, k].astype(object).where(X.iloc[:, k].notna(), "(missing)").astype(str)
        if method == RIVAL:  # 255 levels at most: the others are one
            common = text.iloc[train].value_counts().index[:254]
            text = text.where(text.isin(common), "(others)")
            codes = pd.Categorical(text, [*common, "(others)"]).codes
            X.isetitem(k, codes.astype(float))
        else:
            X.isetitem(k, text.astype("category") if method == "lightgbm" else text)
    return X, categorical_columns
