"""Bayesian network classifiers on levels: TAN, KDB and AnDE, fitted by counting, and ELR, which fits its tables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from alrviz.errors import AlrvizError
from alrviz.estimators.checks import threads
from alrviz.estimators.docstrings import documented
from alrviz.estimators.frames import cell_frame, network_frame
from alrviz.estimators.recipes import RecipeClassifier, RunClassifier
from alrviz.fitting.families.networks import LearnedNetwork, learn
from alrviz.fitting.prepare import TrainingData
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.fitting.solvers.step import STEP_LIMIT
from alrviz.models.direct_counts import sum_by_cell
from alrviz.models.effects import purify_by_counts
from alrviz.models.index import CellIndex
from alrviz.models.networks import NetworkModel
from alrviz.passes.rows import Floats, as_kernel_codes
from alrviz.stop import StopToken

if TYPE_CHECKING:
    import pandas as pd


@dataclass(kw_only=True, eq=False, repr=False)
class CountedClassifier(RecipeClassifier):
    """Base of the classifiers of counted tables; missing values are levels."""

    smoothing: float = 1.0
    class_weight: Any = None
    discretize: str | None = "mdl"
    n_bins: int = 10

    def _learn_rows(self, prepared: TrainingData, recipe: Recipe, stop: StopToken) -> None:
        self._store_network(learn(prepared, recipe, stop), prepared.encoded.names)

    def _store_network(self, result: LearnedNetwork, names: Sequence[str]) -> None:
        self.model_ = result.model


class NetworkMixin(RecipeClassifier):
    """Attributes and frames of a classifier that is one network: a table for each column given its parents and the
    class.
    """

    _attributes: ClassVar[Mapping[str, str]] = {
        "structure_ : dict": "The parents of each column by name, columns in an order in which parents come first.",
        "cells_ : TupleSpace": (
            "A tuple for each column: its parents and itself. S of their cells were seen in training."
        ),
        "phi_ : ndarray (S, C)": "log p(level | parents' levels, class) of each seen cell.",
        "counts_ : ndarray (S, C)": "Sums of row weights of each of these cells.",
        "intercept_ : ndarray (C,)": "Logarithm of the smoothed class prior.",
    }

    def explain(self, X: Any) -> "pd.DataFrame":
        """Return what each column, given its parents, adds to each class score of each row.

        One line per row and tuple (the parents and the column, which comes last), first the "intercept"; a column per
        class. The lines of a row sum to its scores. Meant for some rows; too many raise a `MemoryLimitError`.
        """
        codes, table = self._check_and_encode(X)
        return network_frame(self.model_, codes, self.encoder_, getattr(table, "index", None), self.max_memory)

    def to_frame(self) -> "pd.DataFrame":
        """Return one line per cell seen in training, indexed by its columns (the child last) and their levels.

        The columns are pairs of a quantity ("count", "w" where it is fitted, "phi") and a class; phi is log p(level |
        parents' levels, class).
        """
        check_is_fitted(self)
        network = self.model_
        return cell_frame(network.space, network.seen_cells, self.encoder_, {**self.cell_values(), "phi": network.phi})

    def cell_values(self) -> dict[str, Floats]:
        """Return counts, and weights if there are any, of the cells: (S, C) by name."""
        return {"count": self.counts_}

    @property
    def feature_importances_(self) -> Floats:
        """(a,) each column's share of the variance of the network's pure effects over the training rows.

        Pure effects are those of score tables (`alrviz.interactions`): a table of a column and its parents is split
        into effects of each and of all. The variance of the effect of several columns is divided equally among them;
        the shares sum to 1.
        """
        check_is_fitted(self)
        return _shares_of_network(self.model_, self.counts_, self.n_jobs)

    def set_model(self, network: NetworkModel, names: Sequence[str]) -> None:
        """Store a fitted network of columns with these names."""
        self.model_ = network
        structure = network.structure
        self.structure_ = {names[j]: tuple(names[i] for i in structure.parents[j]) for j in structure.order}
        self.cells_ = network.space
        self.phi_, self.intercept_ = network.phi, network.bias


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkClassifier(NetworkMixin, CountedClassifier):
    """Base of the classifiers of one counted network."""

    def _store_network(self, result: LearnedNetwork, names: Sequence[str]) -> None:
        assert isinstance(result.model, NetworkModel)
        super()._store_network(result, names)
        self.set_model(result.model, names)
        self.counts_ = result.counts.counts


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class TANClassifier(NetworkClassifier):
    """Tree-augmented naive Bayes: each column but the root depends on one other column besides the class.

        log p(k, x) = log pi_k + sum over columns j of  log p(x_j | x_parent(j), k)
        tree        = the one of the largest sum of I(j; parent(j) | Y)                                      [TAN]

    The first column is the root. Where no training row of a class has the parent's level, it is
    p(x_j | k).

    {parameters}

    Examples
    --------
    >>> from alrviz import TANClassifier, load_demo
    >>> data = load_demo("tic-tac-toe")
    >>> model = TANClassifier().fit(data.X, data.y)
    >>> list(model.structure_.items())[:2], round(model.score(data.X, data.y), 3)
    ([('top_left', ()), ('middle_right', ('top_left',))], 0.794)
    """

    smoothing: float = 2.0

    _family: ClassVar[str] = "tan"


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class KDBClassifier(NetworkClassifier):
    """KDB, k-dependence Bayes: columns by mutual information with the class, each with k parents among earlier ones.

        log p(j's level) = log p(x_j | x_parents(j), k)        order: falling I(j; Y)
        parents of j     = the k earlier columns of the largest I(i; j | Y)                                  [KDB]

    By default the fit keeps the first columns of the order, and the number of parents up to k, whose leave-one-out
    error on the training rows (RMSE of the probabilities) is lowest [SKDB]. `selective=False` keeps all columns and k
    parents; with k = 0 that is naive Bayes.

    {parameters}

    Examples
    --------
    >>> from alrviz import KDBClassifier, load_demo
    >>> data = load_demo("tic-tac-toe")
    >>> [round(KDBClassifier(k=k, selective=False).fit(data.X, data.y).score(data.X, data.y), 3) for k in (0, 1, 2)]
    [0.698, 0.79, 0.836]
    """

    k: int = 1
    selective: bool = True

    _family: ClassVar[str] = "kdb"
    _attributes: ClassVar[Mapping[str, str]] = {
        "rmse_ : ndarray (k + 1, a + 1) or None": (
            "With `selective`: leave-one-out RMSE of the training rows by parents and columns."
        )
    }

    def _store_network(self, result: LearnedNetwork, names: Sequence[str]) -> None:
        super()._store_network(result, names)
        self.rmse_ = result.rmse


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class AnDEClassifier(CountedClassifier):
    """AnDE, averaged n-dependence estimators: the mean over networks in which n columns are the parents of all others.

        p(k, x) = mean over tuples t of n columns of  p(x_t, k) * product over other columns j of  p(x_j | x_t, k)

    over the tuples whose cell some training row has [AnDE]. n = 0 is naive Bayes, n = 1 AODE. A row that shares no cell
    with any training row is scored by tuples of n - 1 columns.

    {parameters}

    Examples
    --------
    >>> from alrviz import AnDEClassifier, load_demo
    >>> data = load_demo("tic-tac-toe")
    >>> [round(AnDEClassifier(n=n).fit(data.X, data.y).score(data.X, data.y), 3) for n in (0, 1, 2)]
    [0.698, 0.753, 0.933]
    """

    n: int = 1

    _family: ClassVar[str] = "ande"
    _attributes: ClassVar[Mapping[str, str]] = {
        "cells_ : CellSpace": "All tuples of n + 1 columns and their cells.",
        "tables_ : Tables": "The cells seen in training (`seen_cells`), and their counts per class.",
    }

    def explain(self, X: Any) -> "pd.DataFrame":
        """Return the scores of each network of the mean on each row: log p(class, row) with these n columns as parents.

        One line per row and tuple of parents, a column per class; -inf where no training row has the parents' cell. A
        row's scores are the log of the mean of the exponentials of its other lines (naive Bayes if it has none). n = 0
        is one network: its lines are what each column adds, first the "intercept". Meant for some rows; too many raise
        a `MemoryLimitError`.
        """
        codes, table = self._check_and_encode(X)
        return network_frame(self.model_, codes, self.encoder_, getattr(table, "index", None), self.max_memory)

    def to_frame(self) -> "pd.DataFrame":
        """Return one line per cell of n + 1 columns seen in training, indexed by its columns and their levels.

        The columns are pairs of the quantity "count" and a class.
        """
        check_is_fitted(self)
        tables = self.tables_
        return cell_frame(tables.space, tables.seen_cells, self.encoder_, {"count": tables.counts})

    @property
    def feature_importances_(self) -> Floats:
        """(a,) each column's share of the variance of pure effects (`alrviz.interactions`) over the training rows.

        They are the effects of the mean of the networks' logarithms, as the log of their mean is no sum of effects. The
        variance of the effect of several columns is divided equally among them; the shares sum to 1.
        """
        check_is_fitted(self)
        model, counts = self.model_, self.tables_.counts
        if isinstance(model, NetworkModel):  # n = 0
            return _shares_of_network(model, counts, self.n_jobs)
        total = float(self.tables_.class_counts.sum())
        return purify_by_counts(model.mean_of_logs(), counts, total, threads(self.n_jobs)).column_shares()

    def _store_network(self, result: LearnedNetwork, names: Sequence[str]) -> None:
        super()._store_network(result, names)
        assert result.tables is not None
        self.tables_ = result.tables
        self.cells_ = result.tables.space


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class ELRClassifier(NetworkMixin, RunClassifier):
    """ELR, extended logistic regression: a Bayesian network whose tables maximise the likelihood of the class.

        log p(k|x) = b_k + sum over columns j of  phi[x_j, x_parents(j), k]  - log of the sum over classes
        phi        = w - log of the sum over the child's levels of exp(w)                                     [ELR] (2)

    So tables stay distributions. w starts at the counted tables and follows conjugate gradients. The number of
    iterations is chosen on folds of the training rows, because the likelihood has local optima, and its best tables are
    often not those that predict best. On the structure of naive Bayes the optimum is that of logistic regression.
    Missing values are summed out along the structure, or are a level.

    {parameters}

    Examples
    --------
    >>> from alrviz import ELRClassifier, load_demo
    >>> data = load_demo("tic-tac-toe")
    >>> model = ELRClassifier(structure="tan", random_state=0).fit(data.X, data.y)
    >>> model.structure_["top_middle"], round(model.score(data.X, data.y), 2)
    (('bottom_left',), 1.0)
    """

    structure: Any = "nb"
    cross_tuning: bool = True
    sum_missing: bool | str = "auto"
    smoothing: float = 1.0
    discretize: str | None = "mdl"
    n_bins: int = 10
    class_weight: Any = None
    max_iter: int = 200
    tol: float = 1e-6
    random_state: Any = None
    time_limit: float | None = None

    _family: ClassVar[str] = "elr"
    _attributes: ClassVar[Mapping[str, str]] = {
        "phi_ : ndarray (S, C)": "log p(level | parents' levels, class), of all levels under seen parents.",
        "intercept_ : ndarray (C,)": "b, the log of the class node's table up to a constant.",
        "weights_ : ndarray (S + 1, C)": "The free parameters w, those of the intercepts last.",
    }
    _advice: ClassVar[dict[str, str]] = {STEP_LIMIT: "raise max_iter"}

    def _store_model(self, run: Run) -> None:
        model, state = run.model, run.state
        if not isinstance(model, NetworkModel) or state is None or run.encoded is None:
            raise AlrvizError(f"the fit has no result: {run.outcome}")
        self.set_model(model, run.encoded.names)
        self.weights_ = state.point.w
        index, codes = CellIndex.from_cells(model.space, model.seen_cells), as_kernel_codes(run.encoded.codes)
        self.counts_ = sum_by_cell(index, codes, [(run.encoded.y, run.encoded.weights)], model.n_classes)

    def cell_values(self) -> dict[str, Floats]:
        """Return counts and weights of the cells, (S, C) by name."""
        return {**super().cell_values(), "w": self.weights_[:-1]}


def _shares_of_network(network: NetworkModel, counts: Floats, n_jobs: int | None) -> Floats:
    """Return (a,) each column's share of the variance of pure effects; counts: (S, C) of the network's seen cells."""
    if not network.space.n_tuples:  # a selective network of no column
        return np.zeros(len(network.cards))
    model, order = network.as_linear()
    total = counts.sum() / network.space.n_tuples
    return purify_by_counts(model, counts[order], total, threads(n_jobs)).column_shares()
