"""All that a report says: a model fitted on some rows of a table, judged on the others, and taken apart.

Nothing here is words: `views.report` makes the page of it.
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

HOLDOUT = 0.25  # default share of test rows
COMPARED, CUT = 16, 6  # columns of few values, and others, whose groups are compared
GROUP = 30  # rows of a group that something is said of
BOOSTED = 3_000_000  # training rows x classes beyond which no reference is fitted: 100 trees a class take minutes


@dataclass(frozen=True, eq=False)
class ReportFacts:
    """What a report is made of.

    Attributes:
        dataset: the table; rows of it were trained on, the test rows judge.
        model: the fitted classifier. recipe: its recipe; None of a classifier of others.
        evaluation: on the test rows. rows_trained: the number of training rows.
        effects: the model taken apart; None where its score is no sum over cells, `no_effects` says why.
        chosen: how order and penalties were chosen, in words; "" where somebody set them.
        losses: a line for each order that was tried, a column for each number of folds (losses of one fold and of all
            are of other rows): the lowest log loss on validation rows; NaN where so many did not judge.
        tried: how many settings of each order were tried.
        whole_rows: of a table that is read in batches, whose sample `dataset` is; None where that is the table.
        reference: scikit-learn's gradient boosting, of its default settings, fitted to the same rows and judged on the
            same: what a model that nobody reads reaches. None where it was not fitted, `no_reference` says why.
        holdout, seed: of the split.
        code: Python that makes the same report, of what it calls dataset.
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
        """The columns of the rows that judge, the most important first; others in their order."""
        columns = list(map(str, self.evaluation.X.columns))
        if self.effects is None:
            return columns
        singles = self.ranking.tuples[self.ranking.order == 1]
        first = [name for own in singles for name in own if name in columns]
        return [*first, *(name for name in columns if name not in first)]

    @cached_property
    def groups(self) -> dict[str, pd.DataFrame]:
        """`Evaluation.groups` by each column of at most twelve values, of the 16 most important of these, and by the
        six most important other ones, of those that say the same by one; the columns in whose groups errors differ most
        come first.
        """
        found, many = self.evaluation, {}
        again = {name for own in self.ranking.get("tuples", ()) for name in own[1:]}  # says what another one says
        for name in self.columns:
            own = found.X[name]
            many[name] = int(own.nunique()) + int(own.isna().any())
        few = [name for name in self.columns if 1 < many[name] <= MAX_LEVELS][:COMPARED]
        cut = [
            name
            for name in self.columns
            if many[name] > MAX_LEVELS
            and name not in again
            and (pd.api.types.is_numeric_dtype(found.X[name]) or many[name] <= len(found.y) / GROUP)
        ][:CUT]
        tables = {name: found.groups(name) for name in [*few, *cut]}
        spread = {name: float((t.rows * (t.error - found.error) ** 2).sum()) for name, t in tables.items()}
        return {name: tables[name] for name in sorted(tables, key=lambda name: -spread[name])}

    @cached_property
    def not_compared(self) -> list[str]:
        """Columns of few values whose groups are not compared: there are too many such columns."""
        few = [name for name in self.columns if 1 < self.evaluation.X[name].nunique() <= MAX_LEVELS]
        return [name for name in few if name not in self.groups]

    @cached_property
    def ranking(self) -> pd.DataFrame:
        """Columns and tuples by what leaving them out costs, those that say the same as one; none without effects."""
        return self._ranked[0]

    @cached_property
    def dependence(self) -> pd.DataFrame:
        """How far each column is known from each other one (`redundancy.dependence`)."""
        return self._ranked[1]

    @cached_property
    def _ranked(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        return (pd.DataFrame(), pd.DataFrame()) if self.effects is None else ranking(self.effects)


def report_facts(
    dataset: Dataset,
    model: Any = None,
    *,
    holdout: float = HOLDOUT,
    seed: int = 0,
    stop: StopToken = NEVER,
    tell: Callable[[str], None] = lambda _: None,
) -> ReportFacts:
    """Fit a classifier on a part of a table, judge it on the rest, and take it apart.

    Args:
        dataset: the table.
        model: a classifier with its settings, fitted or not: it is fitted anew; None for `AutoClassifier()`.
        holdout: share of test rows. seed: of the split.
        stop: ends it between its parts. tell: called with what it is at.

    Raises:
        TableError: no data set, a share that leaves no rows on one side, or weights of rows that the model cannot take.
    """
    require_dataset(dataset)
    fitted = AutoClassifier() if model is None else clone(model)
    splits = split_table(dataset, holdout, seed) if 0 < holdout < 1 else None
    if splits is None or not len(splits.train) or not len(splits.test):
        raise TableError(f"holdout={holdout:g} of {dataset.n_rows:,} rows does not fit; expected rows on both sides")
    train, test = splits.train, splits.test
    tell(f"fitting {type(fitted).__name__} on {len(train):,} rows")
    if dataset.weights is not None and not has_fit_parameter(fitted, "sample_weight"):
        raise TableError(f"{type(fitted).__name__} takes no weights of rows, which this table has; expected another "
                         "classifier, or the kind 'ignore' for the column of weights")  # fmt: skip
    _fit(fitted, dataset, train)
    stop.check()
    tell(f"judging on {len(test):,} test rows")
    found = replace(evaluate_split(fitted, dataset, splits), what=ROW_WORDS["test"])
    recipe = fitted.to_recipe() if hasattr(fitted, "to_recipe") else None
    own = type(fitted).__module__.startswith("alrviz")
    made = f"{'alrviz.' if own else ''}{' '.join(repr(fitted).split())}"
    code = f'alrviz.save_report(dataset, "report.html", {made}, holdout={holdout}, seed={seed})'
    stop.check()
    tell("taking the model apart")
    known = test[np.isin(dataset.y[test], dataset.y[train])]  # later times, other groups may bring classes of their own
    heldout = _rows(dataset, known) if len(known) else None
    effects, why = _taken_apart(lambda: interactions(fitted, _rows(dataset, train), heldout, stop=stop))
    chosen = str(getattr(fitted, "chosen_", ""))
    tried = getattr(fitted, "alphas_", None)
    losses, counts = pd.DataFrame(), pd.Series(dtype=int)
    if tried is not None and "order" in tried:
        counts = tried.groupby("order").size()
        losses = tried.pivot_table(index="order", columns="folds", values="log_loss", aggfunc="min")
    stop.check()
    reference, without = _reference(dataset, splits, tell)
    return ReportFacts(
        dataset, fitted, recipe, found, len(train), effects, why, chosen, holdout, seed, code, losses,
        tried=counts, reference=reference, no_reference=without,
    )  # fmt: skip


def report_of_run(run: Run, stop: StopToken = NEVER, tell: Callable[[str], None] = lambda _: None) -> ReportFacts:
    """Return the facts of a run that was fitted, judged on its test rows.

    Of a table that is read in batches columns are told by its sample, and what is measured by some of its rows.

    Raises:
        AlrvizError: there is no step yet, or a loss without probabilities.
    """
    tell("judging")
    found = replace(evaluate(run), what=ROW_WORDS["test" if run.recipe.holdout else "train"])
    stop.check()
    tell("taking the model apart")
    effects, why = _taken_apart(lambda: interactions(run, stop=stop))
    dataset, recipe, whole = run.dataset, run.recipe, None
    reference, without = None, ""
    if isinstance(dataset, Stream):
        assert run.coded is not None
        whole, trained, dataset = dataset.n_rows, run.coded.cache.n_rows("train"), dataset.sample
    else:
        assert dataset is not None
        trained = dataset.n_rows - (len(found.y) if recipe.holdout else 0)
        stop.check()
        if recipe.holdout:
            reference, without = _reference(dataset, split_table(dataset, recipe.holdout, recipe.seed), tell)
    code = (
        f"run = alrviz.Run(dataset, alrviz.Recipe.from_json({recipe.to_json()!r}))\nrun.start()\nrun.join()\n"
        'alrviz.save_report(run, "report.html")'
    )
    return ReportFacts(
        dataset, estimator_of(run), recipe, found, trained, effects, why, "", recipe.holdout, recipe.seed, code,
        whole_rows=whole, reference=reference, no_reference=without,
    )  # fmt: skip


def _reference(dataset: Dataset, splits: Splits, tell: Callable[[str], None]) -> tuple[Evaluation | None, str]:
    """The evaluation of gradient boosting on the test rows, or why there is none."""
    train = splits.train
    if len(train) * len(dataset.classes) > BOOSTED:
        return None, f"{len(train):,} rows of {len(dataset.classes):,} classes are too many to be fitted here"
    tell("fitting gradient boosting beside it")
    try:
        model = _fit(BoostingClassifier(random_state=0, n_jobs=1), dataset, train)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenLevelWarning)
            return replace(evaluate_split(model, dataset, splits), what=ROW_WORDS["test"]), ""
    except (AlrvizError, MemoryError, ValueError) as error:
        return None, str(error)


def _fit(model: Any, dataset: Dataset, rows: NDArray[np.intp]) -> Any:
    """Fit a classifier to some rows of a data set, by their weights."""
    weights = {} if dataset.weights is None else {"sample_weight": dataset.weights[rows]}
    return model.fit(dataset.X.iloc[rows], dataset.y[rows], **weights)


def _taken_apart(made: Callable[[], Interactions]) -> tuple[Interactions | None, str]:
    try:
        return made(), ""
    except (RecipeError, MemoryError) as error:
        return None, str(error)


def _rows(dataset: Dataset, rows: Any) -> Dataset:
    """Some rows of a data set."""
    frame, labels = dataset.frame.iloc[rows].reset_index(drop=True), dataset.labels.iloc[rows].reset_index(drop=True)
    return replace(dataset, frame=frame, labels=labels)
