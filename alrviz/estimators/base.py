"""Base of the classifiers of cells: a row's score is a sum over the cells it lies in."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.utils.validation import check_is_fitted

from alrviz.errors import AlrvizError, DoubtfulTableWarning, RecipeError
from alrviz.estimators.checks import threads
from alrviz.estimators.frames import (
    cell_frame,
    effect_frame,
    require_contributions,
    tuple_names,
)
from alrviz.estimators.recipes import RunClassifier
from alrviz.fitting.families.shared_params import ORDER
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.models.effects import Effects, purify_by_counts
from alrviz.models.linear import LinearModel
from alrviz.models.parameterisation import weights_by_cell
from alrviz.passes.rows import Floats
from alrviz.warn_once import warn_once

if TYPE_CHECKING:
    import pandas as pd


@dataclass(kw_only=True, eq=False, repr=False)
class CellClassifier(RunClassifier):
    """Base of the classifiers that score a row by the cells it lies in; a subclass names the recipe's family."""

    order: int | str = 2
    smoothing: float = 1.0
    missing: str = "level"
    unseen: str = "neutral"
    discretize: str | None = "mdl"
    n_bins: int = 10

    _attributes: ClassVar[Mapping[str, str]] = {
        "cells_ : CellSpace": "All tuples and cells; S of the cells were seen in training.",
        "tables_ : Tables": "The cells seen in training (`seen_cells`), and their counts per class.",
        "phi_ : ndarray (S, C)": "What each seen cell adds to each class score.",
        "intercept_ : ndarray (C,)": "b, the intercepts: the part of the scores that is the same for every row.",
        "weights_ : ndarray (S + 1, C) or (n_free, 1)": (
            "The free parameters w: one row per seen cell, and last the intercepts; with `share` one per "
            "cell, per tuple or for all, and last the C intercepts. None where nothing is fitted."
        ),
        "log_theta_ : ndarray (S, C)": "Logarithm of the smoothed estimate of P(cell | class) of each seen cell.",
    }

    def explain(self, X: Any) -> "pd.DataFrame":
        """Return the pure effect of each tuple of columns on each class score of each row.

        One line per row and tuple, first the "intercept", then the strongest; a column per class. Effects do not
        overlap: each has a mean of 0 over the training rows that agree in all but one of its columns, as in
        `alrviz.interactions(...).row(x)`. The lines of a row sum to its scores less their mean over the classes; of two
        classes the second's less the first's is `decision_function`. It takes rows x tuples x classes numbers, so it is
        meant for some rows; too many raise a `MemoryLimitError`.
        """
        codes, table = self._check_and_encode(X)
        pure = self._pure_effects()
        require_contributions(codes.shape[1], 1 + pure.n_tuples, len(self.classes_), self.max_memory, copies=4)
        names = tuple_names(pure.space.members, self.encoder_.names_)
        effects = pure.row_effects(codes)
        return effect_frame(pure.intercept, effects, names, self.encoder_, getattr(table, "index", None))

    def _pure_effects(self) -> Effects:
        """Pure effects under the training rows, cached for the current model; not pickled."""
        cached: tuple[LinearModel, Effects] | None = self.__dict__.get("_pure")
        if cached is None or cached[0] is not self.model_:
            tables = self.tables_
            total = float(tables.class_counts.sum())
            cached = self.model_, purify_by_counts(self.model_, tables.counts, total, threads(self.n_jobs))
            self.__dict__["_pure"] = cached
        return cached[1]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_pure"}

    def to_frame(self) -> "pd.DataFrame":
        """Return one line per cell seen in training, indexed by its columns and their levels.

        The columns are pairs of a quantity ("count", "log_theta", "w" where there are weights, "phi") and a class:
        `frame["phi"]` is cells x classes: what a cell adds to the scores. Of smooth levels w is the step from the
        level below, the difference of their phi divided by the size of that step; in tuples of several columns a
        difference of differences. Their cells without rows (count 0) are listed too.
        """
        check_is_fitted(self)
        quantities = {"count": self.tables_.counts, "log_theta": self.log_theta_}
        if (w := self.cell_weights_) is not None:
            quantities["w"] = w
        return cell_frame(self.cells_, self.tables_.seen_cells, self.encoder_, {**quantities, "phi": self.phi_})

    @property
    def cell_weights_(self) -> Floats | None:
        """(S, C) the weight of each seen cell, shared ones repeated; None for a family without fitted weights."""
        return None if self.weights_ is None else weights_by_cell(self.tables_, share_of(self.recipe_), self.weights_)

    @property
    def feature_importances_(self) -> Floats:
        """(a,) each column's share of the variance of the pure effects (see `explain`) over the training rows.

        The variance of the effect of several columns is divided equally among them; the shares sum to 1.
        """
        check_is_fitted(self)
        return self._pure_effects().column_shares()

    @property
    def log_theta_(self) -> Floats:
        """(S, C) logarithm of each seen cell's smoothed share of its class."""
        return self.tables_.log_theta

    def _lower_order_for_one_column(self, recipe: Recipe) -> Recipe:
        """Return the recipe with order 1, with a warning, if X has one column and the order is the default, 2."""
        if self.n_features_in_ > 1 or recipe.params["order"] != ORDER.default:
            return recipe
        text = f"{type(self).__name__}: order={ORDER.default} needs two columns, and X has one; order=1 is fitted"
        warn_once(text, DoubtfulTableWarning, stacklevel=5)
        return recipe.replace(order=1)

    def _check(self, recipe: Recipe) -> None:
        """Raise `RecipeError` if the order is above the number of columns."""
        order, a = recipe.params["order"], self.n_features_in_
        if order != "auto" and order > a:
            raise RecipeError(
                f"order={order} needs at least {order} columns, and X has {a} feature(s); the highest order here is {a}"
            )

    def _store_model(self, run: Run) -> None:
        """Store the model of a finished run, its counts and its weights."""
        self.__dict__.pop("edits_", None)  # they belonged to an earlier model
        model, state, tables = run.model, run.state, run.tables
        if not isinstance(model, LinearModel) or state is None or tables is None:
            raise AlrvizError(f"the fit has no result: {run.outcome}")
        self.cells_ = tables.space
        self.tables_ = tables
        self.model_ = model
        self.phi_ = model.phi
        self.intercept_ = model.bias
        self.weights_: Floats | None = None if run.recipe.solver == "none" else state.point.w


def share_of(recipe: Recipe) -> str:
    """Return who shares a weight, a value of the parameter `share`; "cell-class" if each cell and class has its own."""
    return str(recipe.params.get("share", "cell-class"))
