"""The classifier to begin with: it chooses order, penalties and levels by validation."""

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

MAX_STREAM_PASSES = 5  # the maximum over a table read in batches


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class AutoClassifier(LinearClassifier):
    """Logistic regression on columns and their interactions (hLR) that chooses order, penalties and levels by itself.

        log p(k|x) = b_k + sum over tuples t of 1 to n columns of  w[x_t, k]
                     - log of the sum over classes

    n and a penalty for each order are those of the lowest validation log loss over folds. Numbers are cut into many
    levels, with weights that are smooth as far as the penalty demands, or by MDL where that has the lower loss (columns
    without an MDL cut keep smooth levels). Where the rows say nothing, predictions stay at the class shares. `chosen_`
    says in words what was chosen, `to_frame` and `explain` show the model.

    The folds are drawn by `random_state` (None: as 0) from the rows in their order: with the rows of a small table in
    another order, another seed, or a row twice in place of its weight 2, other penalties or another n may be chosen. Of
    a table read in batches (`open_table`) a sample of its rows chooses, numbers are cut by MDL, and all rows are
    learned from in at most 5 passes.

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
    tol: float = 1e-4  # a smaller one does not change validation losses to three digits, and doubles the passes
    verbose: bool | None = None

    _family: ClassVar[str] = "hlr"

    def _learn_stream(self, stream: Stream, recipe: Recipe, progress: "FitProgress") -> None:
        """Learn with at most MAX_STREAM_PASSES passes, and with cuts that a table in batches can have."""
        passes = min(recipe.params["max_iter"], MAX_STREAM_PASSES)
        levels = "mdl" if recipe.cuts in SMOOTH_WAYS else recipe.discretize
        super()._learn_stream(stream, recipe.replace(max_iter=passes, discretize=levels), progress)
        if levels != recipe.discretize:
            self.chosen_ += "; numbers are cut by MDL, as smooth levels need a table in memory"

    def _warn_outcome(self) -> None:
        """Warn of a fit that ended badly, except for the limit of passes over a table read in batches."""
        if self.outcome_.code != STEP_LIMIT or self.recipe_.params["max_iter"] == self.max_iter:
            super()._warn_outcome()

    @property
    def order_(self) -> int:
        """The order that was chosen."""
        check_is_fitted(self)
        return int(self.cells_.order)


def fit(table: "pd.DataFrame | Dataset", target: str | None = None, **params: Any) -> AutoClassifier:
    """Return an `AutoClassifier` fitted to a table: a frame and the name of its class column, or a `Dataset`.

    Args:
        table: rows with their class.
        target: name of the class column; None for that of a data set.
        params: as `AutoClassifier` has them; `sample_weight`, (N,), as its `fit` has it: None for the weights of a data
            set.

    A frame is read as by `read_table(frame, target)`: few whole numbers are codes, dates become year, month and
    weekday, row numbers are left out. The model knows how it was read: `predict` and `predict_table` take frames like
    this one. Classes that are whole numbers or booleans stay so; others become text.

    Raises:
        TableError: no such column, rows without a class, or a table that `read_table` refuses.

    >>> import alrviz
    >>> model = alrviz.fit(alrviz.load_demo("led", 500))
    >>> print(model.chosen_.split(" and ")[0])
    order=1
    """
    import pandas as pd

    sample_weight = params.pop("sample_weight", None)
    if isinstance(table, Dataset):
        if target not in (None, table.target):
            raise TableError(f"the class of this table is {table.target!r}; expected that target or none")
        return _fit_read_table(table, table.y, table.weights if sample_weight is None else sample_weight, params)
    if not isinstance(table, pd.DataFrame):
        raise TableError(
            f"expected a table and the name of its class column; got a {type(table).__name__}; read_table reads files, "
            "and AutoClassifier().fit(X, y) takes columns and class separately"
        )
    if target is None or not isinstance(target, Hashable) or target not in table:
        columns = ", ".join(map(repr, list(table)[:8])) + " ..." * (table.shape[1] > 8)
        problem = "the class column is not named" if target is None else f"no column is called {target!r}"
        suggestion = nearest(target, table) if isinstance(target, str) else ""
        raise TableError(
            f"{problem}{suggestion or '.'} Expected one of {columns}; AutoClassifier().fit(X, y) takes both separately"
        )
    y = table[target]
    if y.isna().any():
        raise TableError(f"{int(y.isna().sum()):,} rows have no class in {target!r}; expected a class in every row")
    if not table.columns.is_unique:
        duplicate = table.columns[table.columns.duplicated()][0]
        raise TableError(f"two columns are called {duplicate!r}; expected different names")
    dataset = read_table(table, str(target))
    weight_columns = [column.name for column in dataset.columns if column.offered_role == "weight"]
    if weight_columns and sample_weight is None:
        warn_once(
            f"column {weight_columns[0]!r} looks like weights of rows and is not used; expected sample_weight, or "
            f"alrviz.fit(read_table(frame, {target!r}, **{{{weight_columns[0]!r}: 'weight'}}))",
            DoubtfulTableWarning, stacklevel=2,
        )  # fmt: skip
    has_class = dataset.table.values[dataset.table.names.index(dataset.target)].series.notna().to_numpy()
    labels = y[has_class].to_numpy()
    keeps_labels = labels.dtype.kind in "biu" and len(np.unique(labels)) == len(dataset.classes)
    weights = None if sample_weight is None else np.asarray(sample_weight)
    if weights is not None and weights.shape == has_class.shape:
        weights = weights[has_class]
    return _fit_read_table(dataset, labels if keeps_labels else dataset.y, weights, params)


def _fit_read_table(dataset: Dataset, y: Any, sample_weight: Any, params: dict[str, Any]) -> AutoClassifier:
    """Return a model fitted to a data set that knows how the table was read."""
    model = AutoClassifier(**params).fit(dataset.X, y, sample_weight)
    model.spec_ = spec_of(dataset, model.encoder_)
    return model
