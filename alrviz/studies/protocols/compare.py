"""Compare recipes on data sets by repeated cross-validation, with tests of the differences.

study = compare(datasets, recipes).run()
study.summary()                     a row for each data set and recipe: means over the folds, bias, variance, seconds
pairs(study, "log_loss")            win-draw-loss of each pair of recipes over the data sets, with the sign test
ranks(study, "log_loss")            mean ranks, and geometric mean ratios to the first recipe
to_latex(frame)                     for a paper; `export.study_csv(study)` for a spreadsheet
"""

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Unpack

import numpy as np

from alrviz.data.dataset import Dataset, require_dataset
from alrviz.data.splits import repeated_folds
from alrviz.errors import RecipeError, nearest
from alrviz.fitting.recipe import Recipe, recipe_list
from alrviz.studies.core.study import Study, StudyOptions
from alrviz.studies.core.study_task import Row, fold_tasks
from alrviz.studies.protocols.bias_variance import errors_of
from alrviz.studies.statistics.measures import MEASURES
from alrviz.studies.statistics.significance import geometric_mean_ratio, mean_ranks, win_draw_loss

if TYPE_CHECKING:
    import pandas as pd


SECONDS = ("train_seconds", "classify_seconds")
# Columns by which recipes can be compared; smaller is better.
COMPARED: tuple[str, ...] = (*MEASURES, "bias", "variance", *SECONDS)


def compare(
    datasets: "Dataset | Sequence[Dataset]",
    recipes: Sequence[Recipe] | Recipe,
    *,
    repeats: int = 5,
    folds: int = 2,
    seed: int = 0,
    **run_options: Unpack[StudyOptions],
) -> Study:
    """Return the study that fits every recipe on every data set with the same folds; it has not started.

    Args:
        datasets: one, or several with different names.
        recipes: recipes to fit; their own split and seed are ignored.
        repeats: shuffles of the rows.
        folds: stratified folds of each shuffle; columns are cut on the training folds alone.
        seed: seed of the shuffles and of random numbers in the fits.
        run_options: n_jobs, max_memory, scheduler, keep, owner (see `alrviz.studies.core.study.StudyOptions`).

    A row is one fit, as in `bias_variance`, with the data set's name in `data`. `summary()` has a row for each data
    set and recipe: fits (without failed ones), the mean of each measure and its standard deviation over the fits
    (`_sd`), bias and variance (Kohavi-Wolpert's plug-in form), mean seconds.

    Raises:
        RecipeError: without data sets or recipes, with two data sets of one name, fewer than 2 folds, or no repeats.

    >>> from alrviz import Recipe, load_demo
    >>> study = compare(load_demo("monks-1"), [Recipe("anje", order=n) for n in (1, 2)], repeats=2, n_jobs=1).run()
    >>> study.summary()[["data", "name", "fits", "error"]].round(3).values.tolist()
    [['monks-1', 'nb', 4, 0.25], ['monks-1', 'anje', 4, 0.052]]
    """
    tables = list(datasets) if isinstance(datasets, Sequence) else [datasets]
    for dataset in tables:
        require_dataset(dataset)
    names = [dataset.name for dataset in tables]
    if not tables or len(set(names)) < len(names) or len({dataset.hash for dataset in tables}) < len(tables):
        raise RecipeError(f"expected at least one data set, all with different names and contents, got {names}")
    recipes = recipe_list(recipes)
    repeats = 1 if any(dataset.splitting.times is not None for dataset in tables) else repeats
    splits = repeated_folds(repeats, folds, seed)
    tasks = [task for dataset in tables for task in fold_tasks(dataset.hash, recipes, splits, seed)]
    options = {"repeats": repeats, "folds": folds, "seed": seed}
    return Study("compare", tables, recipes, tasks, summary, options, **run_options)


def summary(study: Study) -> "pd.DataFrame":
    """Return a row for each data set and recipe."""
    import pandas as pd

    frame, summary_rows = study.frame(), []
    for key, dataset in study.datasets.items():
        results = [(task, result) for task, result in study.results() if task.data_hash == key]
        for racer in range(len(study.recipes)):
            fits = frame  # it has no columns before the first task
            if len(frame):
                fits = frame[(frame.data == dataset.name) & (frame.racer == racer) & (frame.outcome != "failed")]
            row: Row = {"data": dataset.name, "racer": racer, **study.about(racer), "fits": len(fits), **_means(fits)}
            figures = dict.fromkeys(("bias", "variance"), float("nan"))  # a split by time never tests the first rows
            if dataset.splitting.times is None:
                decomposed = errors_of(study, dataset).parts(racer, [(c, r) for c, r in results if c.racer == racer])
                figures = {name: decomposed[name] for name in figures}
            summary_rows.append(row | figures)
    return pd.DataFrame(summary_rows)


def _means(frame: "pd.DataFrame") -> Row:
    nan, means = float("nan"), {}
    for name in (*MEASURES, *SECONDS):
        fit_values = frame[name].to_numpy(float) if name in frame else np.empty(0)
        means[name] = float(fit_values.mean()) if len(fit_values) else nan
        if name in MEASURES:
            means[f"{name}_sd"] = float(fit_values.std(ddof=1)) if len(fit_values) > 1 else nan
    return means


def table(
    study: Study, measure: str, summary: "pd.DataFrame | None" = None, *, complete_only: bool = False
) -> "pd.DataFrame":
    """Return the means of a measure: a row for each data set, a column for each recipe (by its short name).

    summary: the study's, if it is already computed. complete_only: give NaN where a fit is missing or has failed, as
    such a mean is over other folds than its neighbours.

    Raises:
        RecipeError: if the measure is not one of `COMPARED`.
    """
    if measure not in COMPARED:
        names = ", ".join(COMPARED)
        raise RecipeError(f"measure {measure!r} is not known; expected one of {names}{nearest(measure, COMPARED)}")
    summary = study.summary() if summary is None else summary
    if complete_only:
        summary = summary.assign(**{measure: summary[measure].where(summary["fits"] == fits_each(study))})
    return summary.pivot(index="data", columns="name", values=measure).reindex(
        index=[dataset.name for dataset in study.datasets.values()], columns=list(study.names)
    )


def fits_each(study: Study) -> int:
    """Return the number of fits of one recipe on one data set."""
    return len(study.tasks) // (len(study.datasets) * len(study.recipes))


def pairs(
    study: Study, measure: str = "log_loss", digits: int | None = None, summary: "pd.DataFrame | None" = None
) -> "pd.DataFrame":
    """Return a row for each pair of recipes: wins, draws, losses of the first over the data sets, p of the sign test.

    measure: the measure compared, of `COMPARED`. digits: values equal after rounding are draws. `ratio` is the
    geometric mean of the first recipe's values over the second's (where both are positive). Only data sets with all
    fits of both count. `summary` as for `table`.
    """
    import pandas as pd

    means = table(study, measure, summary, complete_only=True)
    pair_rows = []
    for first_name, second_name in combinations(study.names, 2):
        outcome = win_draw_loss(means[first_name], means[second_name], digits)
        ratio = geometric_mean_ratio(means[first_name], means[second_name])
        pair_rows.append(
            {"a": first_name, "b": second_name, **outcome.__dict__, "win_draw_loss": str(outcome), "ratio": ratio}
        )
    return pd.DataFrame(pair_rows)


def ranks(study: Study, measure: str = "log_loss", summary: "pd.DataFrame | None" = None) -> "pd.DataFrame":
    """Return a row for each recipe: mean rank over the data sets (1 is best), geometric mean ratio to the first.

    measure: the measure ranked, of `COMPARED`. Only data sets with all fits count (NaN without any). `summary` as for
    `table`.
    """
    import pandas as pd

    means = table(study, measure, summary, complete_only=True)
    complete_means = means.dropna()  # else ratios in one line would be over different data sets
    ratios = [geometric_mean_ratio(complete_means[name], complete_means[study.names[0]]) for name in study.names]
    return pd.DataFrame({"name": study.names, "rank": mean_ranks(means), "ratio": ratios})


def to_latex(frame: "pd.DataFrame", digits: int = 4) -> str:
    """Format a frame as a LaTeX tabular with booktabs rules; text is escaped, numbers have this many digits."""
    return frame.to_latex(index=False, escape=True, na_rep="--", float_format=f"%.{digits}f")
