"""How many tuples? Cross-validation of selective models over the share of tuples kept and the order. [sALR] figures 3-7

The verdict is the model of fewest parameters whose mean test log loss is within one standard error of the lowest:
d_j is its log loss less the best model's on fold j, and its mean may be up to the Nadeau-Bengio corrected error of that
mean. Tuples are scored and chosen, and columns cut, inside the training rows of each fold. keep = 1 is alr.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

from alrviz.data.dataset import Dataset, require_dataset
from alrviz.data.splits import repeated_folds
from alrviz.errors import RecipeError, plural
from alrviz.fitting.recipe import Recipe
from alrviz.studies.core.names import tuples_text
from alrviz.studies.core.study import Study
from alrviz.studies.core.study_options import StudyOptions
from alrviz.studies.core.study_task import fold_tasks
from alrviz.studies.protocols.choose_order import cuts_note
from alrviz.studies.statistics.measures import loss_text
from alrviz.studies.statistics.significance import corrected_error, simplest_within_error

if TYPE_CHECKING:
    import pandas as pd

KEEPS = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True)
class TupleVerdict:
    """How many tuples, and why.

    Attributes:
        recipe: of the fewest parameters within a standard error of the best; None while no two folds are complete.
        sentence: for the reader.
        notes: sentences on what it stands on.
    """

    recipe: Recipe | None
    sentence: str
    notes: tuple[str, ...] = ()


class TupleStudy(Study):
    """The study that `choose_tuples` returns: a `Study` with a verdict."""

    def verdict(self) -> TupleVerdict:
        """Return the verdict of the folds that all models have by now."""
        return _verdict(self)

    def recipe(self) -> Recipe | None:
        """Return the verdict's recipe; None while there is none."""
        return self.verdict().recipe


def choose_tuples(
    dataset: Dataset,
    recipe: Recipe | None = None,
    *,
    keeps: Sequence[float] = KEEPS,
    orders: Sequence[int] = (1, 2),
    repeats: int = 1,
    folds: int = 5,
    seed: int = 0,
    **run_options: Unpack[StudyOptions],
) -> TupleStudy:
    """Return the study of how many tuples to keep, for each order; nothing is begun.

    Args:
        dataset: the table.
        recipe: of salr or hsalr, whatever its order and share; None: Recipe("hsalr").
        keeps: shares of the tuples of each level that are kept.
        orders: to compare. Those above the number of columns are left out.
        repeats, folds: the cross-validation, the same for all.
        seed: of the shuffles.
        run_options: n_jobs, max_memory, scheduler, keep, owner (see `alrviz.studies.core.study_options.StudyOptions`).

    A row is one fit, as in `bias_variance`. `summary()` has a line for each order and share: order, kept, folds,
    log_loss and its corrected standard error (`se`), error, parameters, train_seconds. `verdict()` says which will do,
    `recipe()` gives its recipe.

    Raises:
        RecipeError: a recipe that selects no tuples, no orders that the table has columns for, shares that are none.

    >>> from alrviz import load_demo
    >>> study = choose_tuples(load_demo("xor", 400), keeps=(0.5, 1.0), folds=2, n_jobs=1).run()
    >>> study.verdict().recipe.params["order"]
    2
    """
    require_dataset(dataset)
    recipe = Recipe("hsalr") if recipe is None else recipe
    if "keep" not in recipe.params:
        raise RecipeError(f"{recipe.label} selects no tuples; expected a recipe of salr or hsalr")
    columns = dataset.X.shape[1]
    chosen = sorted({int(order) for order in orders if 1 <= order <= columns})
    if not chosen:
        size = plural(columns, "column")
        raise RecipeError(f"orders={list(orders)} does not fit: the table has {size}; expected some of 1, 2, 3 ...")
    share = replace(recipe.definition.params["keep"], high=1.0, keywords={})
    shares = sorted({float(share.check("keeps", keep)) for keep in keeps})
    if not shares:
        raise RecipeError("keeps names no share; expected one at least, from 0.001 to 1")
    recipes = [recipe.replace(order=n, keep=keep) for n in chosen for keep in shares]
    repeats = 1 if dataset.splitting.when is not None else repeats
    tasks = fold_tasks(dataset.hash, recipes, repeated_folds(repeats, folds, seed), seed)
    options = {"keeps": shares, "orders": chosen, "repeats": repeats, "folds": folds, "seed": seed}
    return TupleStudy("choose_tuples", [dataset], recipes, tasks, summary, options, **run_options)


def _losses(study: Study) -> "pd.DataFrame":
    """Log loss of each complete fold (a line) by racer (a column); a racer that always failed is left out."""
    import pandas as pd

    frame = study.frame()
    if not len(frame) or "log_loss" not in frame:
        return pd.DataFrame()
    failed = frame.outcome == "failed"
    lost = set(frame[failed].racer) - set(frame[~failed].racer)
    wanted = [k for k in range(len(study.recipes)) if k not in lost]
    table = frame[~failed].pivot(index=["repeat", "fold"], columns="racer", values="log_loss")
    table = table.reindex(columns=wanted).dropna()
    return table if len(table) else pd.DataFrame()


def summary(study: Study) -> "pd.DataFrame":
    """Return a line for each order and share with folds that all have."""
    import pandas as pd

    losses, frame, lines = _losses(study), study.frame(), []
    for racer in losses.columns if len(losses) else ():
        mine = frame[(frame.racer == racer) & (frame.outcome != "failed")]
        params = study.recipes[racer].params
        lines.append({
            "racer": racer, "order": params["order"], "kept": params["keep"], "folds": len(losses),
            "log_loss": float(losses[racer].mean()),
            "se": corrected_error(losses[racer], mine.test_rows.mean(), mine.train_rows.mean()),
            "error": float(mine.error.mean()), "parameters": float(mine.parameters.mean()),
            "train_seconds": float(mine.train_seconds.mean()),
        })  # fmt: skip
    return pd.DataFrame(lines)


def _verdict(study: Study) -> TupleVerdict:
    losses, lines = _losses(study), study.summary()
    if len(losses) < 2:
        return TupleVerdict(None, "not enough folds yet to say")
    by = lines.set_index("racer").sort_values("parameters", kind="stable")
    best, rows = by.log_loss.idxmin(), study.frame()[["test_rows", "train_rows"]].mean()
    racer = simplest_within_error(losses[list(by.index)], rows.test_rows, rows.train_rows)
    here, lowest, recipe = by.loc[racer], by.loc[best], study.recipes[racer]
    sentence = (
        f"n = {here.order:.0f} with {_share(here)} has the test log loss {loss_text(here.log_loss)} ± "
        f"{loss_text(here.se)}"
    )
    if racer == best:
        sentence += ", the lowest"
    else:
        where = f" at n = {lowest.order:.0f}" if lowest.order != here.order else ""
        sentence += (
            f", within a standard error of the lowest ({loss_text(lowest.log_loss)} with {_share(lowest)}{where})"
        )
    whole = by[(by.order == here.order) & (by.kept == 1.0)]
    if len(whole) and here.kept < 1.0 and whole.parameters.iloc[0] > 0:
        sentence += f", for {here.parameters / whole.parameters.iloc[0]:.0%} of the parameters of all"
    dataset = study.dataset
    notes = (dataset.leaks_note, dataset.splitting.words or dataset.repeats_note, cuts_note(study))
    return TupleVerdict(recipe, sentence, tuple(note for note in notes if note))


def _share(line: "pd.Series") -> str:
    what = tuples_text(int(line.order))
    return f"all {what}" if line.kept == 1.0 else f"{line.kept:.0%} of the {what}"
