"""All that a report says: a model fitted on some rows of a table, judged on the others, and taken apart.

Nothing here is words: `views.report` makes the page of it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from alrviz.data.dataset import Dataset, require_dataset
from alrviz.data.stream.table import Stream
from alrviz.errors import RecipeError, TableError
from alrviz.estimators.auto import AutoClassifier
from alrviz.fitting.prepare import split
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.stop import NEVER, StopToken
from alrviz.studies.effects.interactions import Interactions, interactions
from alrviz.studies.effects.redundancy import ranking
from alrviz.studies.protocols.evaluate import evaluate
from alrviz.studies.statistics.evaluation import Evaluation

HOLDOUT = 0.25  # of the rows, where nobody says otherwise


@dataclass(frozen=True, eq=False)
class ReportFacts:
    """What a report is made of.

    Attributes:
        dataset: the table; rows of it were trained on, the others judge.
        model: the fitted classifier. recipe: its recipe; None of a classifier of others.
        evaluation: on the rows that judge. rows_trained: the number of the others.
        effects: the model taken apart; None where its score is no sum over cells, `no_effects` says why.
        chosen: how order and penalties were chosen, in words; "" where somebody set them.
        losses: a line for each order that was tried, a column for each number of folds (losses of one fold and of all
            are of other rows): the lowest log loss on rows held out of training; NaN where so many did not judge.
        whole_rows: of a table that is read in batches, whose sample `dataset` is; None where that is the table.
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
    whole_rows: int | None = None

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
        holdout: share of the rows that judge. seed: of the split.
        stop: ends it between its parts. tell: called with what it is at.

    Raises:
        TableError: no data set, or a share that leaves no rows on one side.
    """
    require_dataset(dataset)
    fitted = AutoClassifier() if model is None else clone(model)
    train, test = split(dataset.y, holdout, seed, dataset.splitting) if 0 < holdout < 1 else ((), ())
    if not len(train) or not len(test):
        raise TableError(f"holdout={holdout:g} of {dataset.n_rows:,} rows does not fit; expected rows on both sides")
    tell(f"fitting {type(fitted).__name__} on {len(train):,} rows")
    fitted.fit(dataset.X.iloc[train], dataset.y[train])
    stop.check()
    tell(f"judging on {len(test):,} other rows")
    found = evaluate(fitted, dataset.X.iloc[test], dataset.y[test], what="held-out rows")
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
    losses = pd.DataFrame()
    if tried is not None and "order" in tried:
        losses = tried.pivot_table(index="order", columns="folds", values="log_loss", aggfunc="min")
    return ReportFacts(dataset, fitted, recipe, found, len(train), effects, why, chosen, holdout, seed, code, losses)


def report_of_run(run: Run, stop: StopToken = NEVER, tell: Callable[[str], None] = lambda _: None) -> ReportFacts:
    """Return the facts of a run that was fitted, judged on the rows that it held out.

    Of a table that is read in batches columns are told by its sample, and what is measured by some of its rows.

    Raises:
        AlrvizError: there is no step yet, or a loss without probabilities.
    """
    tell("judging")
    found = replace(evaluate(run), what="held-out rows" if run.recipe.holdout else "training rows")
    stop.check()
    tell("taking the model apart")
    effects, why = _taken_apart(lambda: interactions(run, stop=stop))
    dataset, recipe, whole = run.dataset, run.recipe, None
    if isinstance(dataset, Stream):
        assert run.coded is not None
        whole, trained, dataset = dataset.n_rows, run.coded.cache.n_rows("train"), dataset.sample
    else:
        assert dataset is not None
        trained = dataset.n_rows - (len(found.y) if recipe.holdout else 0)
    code = (
        f"run = alrviz.Run(dataset, alrviz.Recipe.from_json({recipe.to_json()!r}))\nrun.start()\nrun.join()\n"
        'alrviz.save_report(run, "report.html")'
    )
    return ReportFacts(
        dataset, run.estimator(), recipe, found, trained, effects, why, "", recipe.holdout, recipe.seed, code,
        whole_rows=whole,
    )  # fmt: skip


def _taken_apart(made: Callable[[], Interactions]) -> tuple[Interactions | None, str]:
    try:
        return made(), ""
    except (RecipeError, MemoryError) as error:
        return None, str(error)


def _rows(dataset: Dataset, rows: Any) -> Dataset:
    """Some rows of a data set."""
    frame, labels = dataset.frame.iloc[rows].reset_index(drop=True), dataset.labels.iloc[rows].reset_index(drop=True)
    return replace(dataset, frame=frame, labels=labels)
