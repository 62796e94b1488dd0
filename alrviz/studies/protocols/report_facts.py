"""Facts of a report: a model fitted to some rows of a table, evaluated on the others, and its effects.

The sentences are made in `views.report`.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from alrviz.data.dataset import Dataset, require_dataset
from alrviz.data.splits import ROW_WORDS, Splits, split_table
from alrviz.data.stream.table import Stream
from alrviz.errors import AlrvizError, RecipeError, TableError, UnseenLevelWarning
from alrviz.estimators.auto import AutoClassifier
from alrviz.estimators.make import estimator_of
from alrviz.estimators.sklearn_models import BoostingClassifier
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.stop import NEVER, StopToken
from alrviz.studies.effects.interactions import Interactions, interactions
from alrviz.studies.effects.redundancy import ranking
from alrviz.studies.protocols.evaluate import evaluate, evaluate_split
from alrviz.studies.statistics.evaluation import Evaluation
from alrviz.studies.statistics.row_groups import MAX_LEVELS

DEFAULT_HOLDOUT_SHARE = 0.25  # default share of test rows
MAX_FEW_VALUED, MAX_MANY_VALUED = 16, 6  # columns compared by groups: of at most MAX_LEVELS values, of more
MIN_GROUP_ROWS = 30  # smaller groups are not discussed
MAX_REFERENCE_WORK = 3_000_000  # training rows x classes; boosting (100 trees a class) takes minutes beyond


@dataclass(frozen=True, eq=False)
class ReportFacts:
    """Facts of a report.

    Attributes:
        dataset: the table, both training and test rows.
        model: the fitted classifier. recipe: its recipe; None for a classifier of another package.
        evaluation: on the test rows. rows_trained: the number of training rows.
        effects: the model's pure effects; None if its score is not a sum over cells, then `no_effects` says why.
        chosen: how order and penalties were chosen, in words; "" if they were given.
        losses: a row for each order that was tried, a column for each number of folds (as losses of one fold and of
            several are on different rows): the lowest validation log loss, NaN where not tried.
        tried: number of settings tried for each order.
        whole_rows: number of rows of a table read in batches, of which `dataset` is a sample; else None.
        reference: evaluation of scikit-learn's gradient boosting at default settings, on the same rows: what a model
            that nobody can read reaches. None if it was not fitted, then `no_reference` says why.
        holdout, seed: the split.
        code: Python code that makes the same report of a data set called `dataset`.
    """

    dataset: Dataset
    model: Any
    recipe: Recipe | None
    evaluation: Evaluation
    rows_trained: int
    effects: Interactions | None
    no_effects: str
    chosen: str
    holdout: float
    seed: int
    code: str
    losses: pd.DataFrame = field(default_factory=pd.DataFrame)
    tried: "pd.Series[int]" = field(default_factory=lambda: pd.Series(dtype=int))
    whole_rows: int | None = None
    reference: Evaluation | None = None
    no_reference: str = ""

    @cached_property
    def columns(self) -> list[str]:
        """Columns of the test rows, the most important first, then columns without effects in their order."""
        columns = list(map(str, self.evaluation.X.columns))
        if self.effects is None:
            return columns
        single_columns = self.ranking.tuples[self.ranking.order == 1]
        ranked_columns = [name for members in single_columns for name in members if name in columns]
        return [*ranked_columns, *(name for name in columns if name not in ranked_columns)]

    @cached_property
    def groups(self) -> dict[str, pd.DataFrame]:
        """`Evaluation.groups` by column; columns whose groups differ most in their error come first.

        Compared are the 16 most important columns with at most twelve values, and the six most important others, of
        which redundant ones count once.
        """
        evaluation, n_values = self.evaluation, {}
        redundant_columns = {name for members in self.ranking.get("tuples", ()) for name in members[1:]}
        for name in self.columns:
            values = evaluation.X[name]
            n_values[name] = int(values.nunique()) + int(values.isna().any())
        few_valued = [name for name in self.columns if 1 < n_values[name] <= MAX_LEVELS][:MAX_FEW_VALUED]
        many_valued = [
            name
            for name in self.columns
            if n_values[name] > MAX_LEVELS
            and name not in redundant_columns
            and (
                pd.api.types.is_numeric_dtype(evaluation.X[name])
                or n_values[name] <= len(evaluation.y) / MIN_GROUP_ROWS
            )
        ][:MAX_MANY_VALUED]
        tables = {name: evaluation.groups(name) for name in [*few_valued, *many_valued]}
        spread_by_column = {
            name: float((table.rows * (table.error - evaluation.error) ** 2).sum()) for name, table in tables.items()
        }
        return {name: tables[name] for name in sorted(tables, key=lambda name: -spread_by_column[name])}

    @cached_property
    def not_compared(self) -> list[str]:
        """Columns with at most twelve values that are left out of `groups` because there are too many of them."""
        columns_with_few_values = [name for name in self.columns if 1 < self.evaluation.X[name].nunique() <= MAX_LEVELS]
        return [name for name in columns_with_few_values if name not in self.groups]

    @cached_property
    def ranking(self) -> pd.DataFrame:
        """Columns and tuples by the loss without them, redundant ones merged; empty without effects."""
        return self._ranked[0]

    @cached_property
    def dependence(self) -> pd.DataFrame:
        """How well each column is predicted by each other one (see `redundancy.dependence`)."""
        return self._ranked[1]

    @cached_property
    def _ranked(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        return (pd.DataFrame(), pd.DataFrame()) if self.effects is None else ranking(self.effects)


def report_facts(
    dataset: Dataset,
    model: Any = None,
    *,
    holdout: float = DEFAULT_HOLDOUT_SHARE,
    seed: int = 0,
    stop: StopToken = NEVER,
    tell: Callable[[str], None] = lambda _: None,
) -> ReportFacts:
    """Fit a classifier to a part of a table, evaluate it on the rest, and compute its effects.

    Args:
        dataset: the table.
        model: a classifier with its settings; it is cloned and fitted. None: `AutoClassifier()`.
        holdout: share of test rows. seed: seed of the split.
        stop: stops between the steps. tell: called with a sentence on the progress.

    Raises:
        TableError: without a data set, if holdout leaves either side empty, or if the model takes no row weights.
    """
    require_dataset(dataset)
    fitted_model = AutoClassifier() if model is None else clone(model)
    splits = split_table(dataset, holdout, seed) if 0 < holdout < 1 else None
    if splits is None or not len(splits.train) or not len(splits.test):
        raise TableError(
            f"holdout={holdout:g} of {dataset.n_rows:,} rows does not fit; expected training and test rows"
        )
    train, test = splits.train, splits.test
    tell(f"fitting {type(fitted_model).__name__} on {len(train):,} rows")
    if dataset.weights is not None and not has_fit_parameter(fitted_model, "sample_weight"):
        raise TableError(f"{type(fitted_model).__name__} takes no row weights, which this table has; expected another "
                         "classifier, or the kind 'ignore' for the column of weights")  # fmt: skip
    _fit(fitted_model, dataset, train)
    stop.check()
    tell(f"predicting {len(test):,} test rows")
    evaluation = replace(evaluate_split(fitted_model, dataset, splits), rows_text=ROW_WORDS["test"])
    recipe = fitted_model.to_recipe() if hasattr(fitted_model, "to_recipe") else None
    prefix = "alrviz." if type(fitted_model).__module__.startswith("alrviz") else ""
    call = f"{prefix}{' '.join(repr(fitted_model).split())}"
    code = f'alrviz.save_report(dataset, "report.html", {call}, holdout={holdout}, seed={seed})'
    stop.check()
    tell("computing effects")
    # In a split by time or groups test rows may have classes that no training row has.
    test_rows_of_known_class = test[np.isin(dataset.y[test], dataset.y[train])]
    heldout = _subset(dataset, test_rows_of_known_class) if len(test_rows_of_known_class) else None
    effects, no_effects = _effects_or_reason(
        lambda: interactions(fitted_model, _subset(dataset, train), heldout, stop=stop)
    )
    chosen = str(getattr(fitted_model, "chosen_", ""))
    tried_settings = getattr(fitted_model, "alphas_", None)
    losses, n_tried_by_order = pd.DataFrame(), pd.Series(dtype=int)
    if tried_settings is not None and "order" in tried_settings:
        n_tried_by_order = tried_settings.groupby("order").size()
        losses = tried_settings.pivot_table(index="order", columns="folds", values="log_loss", aggfunc="min")
    stop.check()
    reference, no_reference = _evaluate_reference(dataset, splits, tell)
    return ReportFacts(
        dataset, fitted_model, recipe, evaluation, len(train), effects, no_effects, chosen, holdout, seed, code, losses,
        tried=n_tried_by_order, reference=reference, no_reference=no_reference,
    )  # fmt: skip


def report_of_run(run: Run, stop: StopToken = NEVER, tell: Callable[[str], None] = lambda _: None) -> ReportFacts:
    """Return the facts of a fitted run, evaluated on its test rows.

    For a table read in batches, columns are described by its sample, and figures are measured on some of its rows.

    tell: called with a sentence before each part of the work.

    Raises:
        AlrvizError: if the run has no step yet, or its objective gives no probabilities.
    """
    tell("predicting the test rows")
    evaluation = replace(evaluate(run), rows_text=ROW_WORDS["test" if run.recipe.holdout else "train"])
    stop.check()
    tell("computing effects")
    effects, no_effects = _effects_or_reason(lambda: interactions(run, stop=stop))
    dataset, recipe, n_rows = run.dataset, run.recipe, None
    reference, no_reference = None, ""
    if isinstance(dataset, Stream):
        assert run.coded is not None
        n_rows, n_trained, dataset = dataset.n_rows, run.coded.cache.n_rows("train"), dataset.sample
    else:
        assert dataset is not None
        n_trained = dataset.n_rows - (len(evaluation.y) if recipe.holdout else 0)
        stop.check()
        if recipe.holdout:
            reference, no_reference = _evaluate_reference(
                dataset, split_table(dataset, recipe.holdout, recipe.seed), tell
            )
    code = (
        f"run = alrviz.Run(dataset, alrviz.Recipe.from_json({recipe.to_json()!r}))\nrun.start()\nrun.join()\n"
        'alrviz.save_report(run, "report.html")'
    )
    return ReportFacts(
        dataset, estimator_of(run), recipe, evaluation, n_trained, effects, no_effects, "", recipe.holdout, recipe.seed,
        code, whole_rows=n_rows, reference=reference, no_reference=no_reference,
    )  # fmt: skip


def _evaluate_reference(dataset: Dataset, splits: Splits, tell: Callable[[str], None]) -> tuple[Evaluation | None, str]:
    """Return the evaluation of gradient boosting on the test rows, or None and the reason; tell: called before the
    fit.
    """
    train = splits.train
    if len(train) * len(dataset.classes) > MAX_REFERENCE_WORK:
        return None, f"{len(train):,} rows of {len(dataset.classes):,} classes would take minutes to fit"
    tell("fitting gradient boosting for comparison")
    try:
        model = _fit(BoostingClassifier(random_state=0, n_jobs=1), dataset, train)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenLevelWarning)
            return replace(evaluate_split(model, dataset, splits), rows_text=ROW_WORDS["test"]), ""
    except (AlrvizError, MemoryError, ValueError) as error:
        return None, str(error)


def _fit(model: Any, dataset: Dataset, rows: NDArray[np.intp]) -> Any:
    """Fit a classifier to these rows of a data set, by their weights, and return it."""
    weights = {} if dataset.weights is None else {"sample_weight": dataset.weights[rows]}
    return model.fit(dataset.X.iloc[rows], dataset.y[rows], **weights)


def _effects_or_reason(compute: Callable[[], Interactions]) -> tuple[Interactions | None, str]:
    try:
        return compute(), ""
    except (RecipeError, MemoryError) as error:
        return None, str(error)


def _subset(dataset: Dataset, rows: Any) -> Dataset:
    """Return some rows of a data set."""
    frame, labels = dataset.frame.iloc[rows].reset_index(drop=True), dataset.labels.iloc[rows].reset_index(drop=True)
    return replace(dataset, frame=frame, labels=labels)
