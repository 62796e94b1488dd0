"""The classifier to begin with: it chooses by itself what others are told."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from alrviz.data.dataset import Dataset
from alrviz.data.encoded import SMOOTH_WAYS
from alrviz.data.read import read_table
from alrviz.data.stream.table import Stream
from alrviz.errors import DoubtfulTableWarning, TableError, nearest
from alrviz.estimators.docstrings import documented
from alrviz.estimators.linear import LinearClassifier
from alrviz.estimators.recipes import spec_of
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers.step import STEP_LIMIT
from alrviz.warn_once import warn_once

if TYPE_CHECKING:
    import pandas as pd

    from alrviz.estimators.recipes import FitProgress

PASSES = 5  # over a table read in batches, at most


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class AutoClassifier(LinearClassifier):
    """Logistic regression on columns and their interactions (hLR) that chooses order, penalties and levels by itself.

        log p(k|x) = b_k + sum over tuples t of 1 to n columns of  w[x_t, k]
                     - log of the sum over classes

    n and a penalty for each order are those of the lowest validation log loss, in folds; numbers are cut into many
    levels, whose weights are smooth as far as the penalty says, or by MDL where that loses less there (columns
    in which MDL finds no cut keep smooth levels). What cannot be told from the rows stays with the class shares.
    `chosen_` says in words what was chosen, `to_frame` and `explain` what the model says.

    Which rows judge which is drawn by `random_state` (None: as by 0) from the rows as they stand: of small tables in
    another order, by another seed, or with a row twice in place of its weight 2, other penalties and another order n
    may be chosen. Of a table read in batches (`open_table`) some of its rows choose, numbers are cut by MDL, and all
    rows are learned from in 5 passes at most.

    {parameters}

    Examples
    --------
    >>> from alrviz import AutoClassifier, load_demo
    >>> data = load_demo("tic-tac-toe")
    >>> model = AutoClassifier().fit(data.X, data.y)
    >>> model.order_, round(model.score(data.X, data.y), 2)
    (2, 1.0)
    """

    order: int | str = "auto"
    alpha: float | str | tuple[float, ...] = "auto"
    center: int | str = "shares"
    discretize: str | None = "auto"
    tol: float = 1e-4  # further on held-out losses do not change, to three digits, and passes double
    verbose: bool | None = None

    _family: ClassVar[str] = "hlr"

    def _learn_stream(self, stream: Stream, recipe: Recipe, progress: "FitProgress") -> None:
        passes = min(recipe.params["max_iter"], PASSES)
        levels = "mdl" if recipe.cuts in SMOOTH_WAYS else recipe.discretize
        super()._learn_stream(stream, recipe.replace(max_iter=passes, discretize=levels), progress)
        if levels != recipe.discretize:
            self.chosen_ += "; numbers are cut by MDL, for smooth levels are there for tables in memory alone"

    def _tell(self) -> None:
        """Warn of a fit that did not end well; that passes over a table read in batches are few is as documented."""
        if self.outcome_.code != STEP_LIMIT or self.recipe_.params["max_iter"] == self.max_iter:
            super()._tell()

    @property
    def order_(self) -> int:
        """The order that was chosen."""
        check_is_fitted(self)
        return int(self.cells_.order)


def fit(table: "pd.DataFrame | Dataset", target: str | None = None, **params: Any) -> AutoClassifier:
    """Return an `AutoClassifier` fitted to a table: a frame, and which of its columns is the class; or a `Dataset`.

    Args:
        table: rows with their class.
        target: name of the class column; None for that of a data set.
        params: as `AutoClassifier` has them; `sample_weight`, (N,), as its `fit` has it: None for the weights of a data
            set.

    A frame is read as `read_table(frame, target)` reads it: few whole numbers are codes, dates become year, month and
    weekday, what numbers the rows is left out. The model knows how it was read: `predict` and `predict_table` take
    frames like this one. Classes that are whole numbers or booleans stay so; others are text.

    Raises:
        TableError: no column of that name, rows without a class, or no table that `read_table` takes.

    >>> import alrviz
    >>> model = alrviz.fit(alrviz.load_demo("led", 500))
    >>> print(model.chosen_.split(" and ")[0])
    order=1
    """
    import pandas as pd

    sample_weight = params.pop("sample_weight", None)
    if isinstance(table, Dataset):
        if target not in (None, table.target):
            raise TableError(f"the class of this table is {table.target!r}; expected no other target than that")
        return _fit_read_table(table, table.y, table.weights if sample_weight is None else sample_weight, params)
    if not isinstance(table, pd.DataFrame):
        raise TableError(
            f"a table was expected, and the name of its class column, and there is a {type(table).__name__}; "
            "read_table reads files, and AutoClassifier().fit(X, y) takes columns and class apart"
        )
    if target is None or not isinstance(target, Hashable) or target not in table:
        listed = ", ".join(map(repr, list(table)[:8])) + " ..." * (table.shape[1] > 8)
        given = "the class column is not named" if target is None else f"no column is called {target!r}"
        near = nearest(target, table) if isinstance(target, str) else ""
        raise TableError(f"{given}{near or '.'} Expected one of {listed}; AutoClassifier().fit(X, y) takes both apart")
    y = table[target]
    if y.isna().any():
        raise TableError(f"{int(y.isna().sum()):,} rows have no class in {target!r}; expected a class in every row")
    if not table.columns.is_unique:
        twice = table.columns[table.columns.duplicated()][0]
        raise TableError(f"two columns are called {twice!r}; expected a name of its own for each")
    dataset = read_table(table, str(target))
    weights_like = [column.name for column in dataset.columns if column.offered_role == "weight"]
    if weights_like and sample_weight is None:
        warn_once(
            f"column {weights_like[0]!r} looks like weights of rows and is not used; expected sample_weight, or "
            f"alrviz.fit(read_table(frame, {target!r}, **{{{weights_like[0]!r}: 'weight'}}))",
            DoubtfulTableWarning, stacklevel=2,
        )  # fmt: skip
    kept = dataset.table.values[dataset.table.names.index(dataset.target)].series.notna().to_numpy()
    labels = y[kept].to_numpy()
    as_given = labels.dtype.kind in "biu" and len(np.unique(labels)) == len(dataset.classes)
    weights = None if sample_weight is None else np.asarray(sample_weight)
    if weights is not None and weights.shape == kept.shape:
        weights = weights[kept]
    return _fit_read_table(dataset, labels if as_given else dataset.y, weights, params)


def _fit_read_table(dataset: Dataset, y: Any, sample_weight: Any, params: dict[str, Any]) -> AutoClassifier:
    """Fit a model that knows how its table was read."""
    model = AutoClassifier(**params).fit(dataset.X, y, sample_weight)
    model.spec_ = spec_of(dataset, model.encoder_)
    return model
