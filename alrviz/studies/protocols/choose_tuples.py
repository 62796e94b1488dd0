"""Choose the number of tuples: cross-validation of selective models over keep and the order. [sALR] figures 3-7

The verdict is the model with the fewest parameters whose mean test log loss is within one standard error of the lowest
(paired by fold, with the Nadeau-Bengio correction). Tuples are scored and selected, and columns cut, inside the
training rows of each fold. keep = 1 is alr.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

from alrviz.data.dataset import Dataset, require_dataset
from alrviz.data.splits import repeated_folds
from alrviz.errors import RecipeError, capitalize, plural
from alrviz.fitting.recipe import Recipe
from alrviz.studies.core.names import tuples_text
from alrviz.studies.core.study import Study, StudyOptions
from alrviz.studies.core.study_task import fold_tasks
from alrviz.studies.protocols.choose_order import cuts_note
from alrviz.studies.protocols.fold_losses import (
    NOT_ENOUGH_FOLDS,
    complete_losses,
    mean_figures,
    simplest_model,
    successful_fits,
)
from alrviz.studies.statistics.measures import loss_text
from alrviz.studies.statistics.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

DEFAULT_KEEPS = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True, kw_only=True)
class TupleVerdict(Verdict):
    """The chosen model and the reasons.

    Attributes:
        recipe: the one with the fewest parameters within a standard error of the best; None until two folds are
            complete.
        notes: sentences on what qualifies the verdict.
    """

    recipe: Recipe | None
    notes: tuple[str, ...] = ()


class TupleStudy(Study):
    """The study that `choose_tuples` returns: a `Study` with a verdict."""

    def verdict(self) -> TupleVerdict:
        """Return the verdict on the folds that are complete for all models."""
        losses, summary_rows = complete_losses(self, "racer"), self.summary()
        if len(losses) < 2:
            return TupleVerdict(NOT_ENOUGH_FOLDS, recipe=None)
        models = summary_rows.set_index("racer").sort_values("parameters", kind="stable")
        best_racer, racer = models.log_loss.idxmin(), simplest_model(losses[list(models.index)], self)
        model, best_model, recipe = models.loc[racer], models.loc[best_racer], self.recipes[racer]
        text = _share_text(model)
        subject_text = capitalize(text)
        full_model = models[(models.order == model.order) & (models.kept == 1.0)]
        loss, lowest_loss = loss_text(model.log_loss), loss_text(best_model.log_loss)
        if racer == best_racer:
            headline = f"{subject_text} have the lowest test log loss, {loss}."
        elif model.kept < 1.0 and len(full_model):  # within the standard error of the lowest, hence of all
            headline = f"With {text}, no clear loss against all."
        else:
            headline = f"{subject_text} are enough: test log loss {loss}, lowest {lowest_loss}."
        detail = f"n = {model.order:.0f}: test log loss {loss} ± {loss_text(model.se)} (standard error)"
        if racer != best_racer:
            order_text = f" at n = {best_model.order:.0f}" if best_model.order != model.order else ""
            detail += f", not clearly above the lowest, {lowest_loss} with {_share_text(best_model)}{order_text}"
        if len(full_model) and model.kept < 1.0 and full_model.parameters.iloc[0] > 0:
            share = model.parameters / full_model.parameters.iloc[0]
            detail += f"; {100 * share:.0f} % of the parameters of the full model"
        dataset = self.dataset
        notes = (dataset.leaks_note, dataset.splitting.words or dataset.repeats_note, cuts_note(self))
        kept_notes = tuple(note for note in notes if note)
        return TupleVerdict(headline, f"{detail}.", recipe=recipe, notes=kept_notes)

    def recipe(self) -> Recipe | None:
        """Return the verdict's recipe; None before there is a verdict."""
        return self.verdict().recipe


def choose_tuples(
    dataset: Dataset,
    recipe: Recipe | None = None,
    *,
    keeps: Sequence[float] = DEFAULT_KEEPS,
    orders: Sequence[int] = (1, 2),
    repeats: int = 1,
    folds: int = 5,
    seed: int = 0,
    **run_options: Unpack[StudyOptions],
) -> TupleStudy:
    """Return the study that compares shares of tuples and orders; it has not started.

    Args:
        dataset: the table.
        recipe: the salr or hsalr model to vary, whatever its order and keep; None: Recipe("hsalr", alpha=1.0).
        keeps: shares of the tuples of each level to keep.
        orders: orders to compare. Orders above the number of columns are skipped.
        repeats, folds: the cross-validation, the same for all models.
        seed: seed of the shuffles.
        run_options: n_jobs, max_memory, scheduler, keep, owner (see `alrviz.studies.core.study.StudyOptions`).

    A row is one fit, as in `bias_variance`. `summary()` has a row for each order and share: order, kept, folds,
    log_loss and its corrected standard error (`se`), error, parameters, train_seconds. `verdict()` names the model,
    `recipe()` returns it.

    Raises:
        RecipeError: if the recipe selects no tuples, no order fits the table's columns, or a share is out of range.

    >>> from alrviz import load_demo
    >>> study = choose_tuples(load_demo("xor", 400), keeps=(0.5, 1.0), folds=2, n_jobs=1).run()
    >>> study.verdict().recipe.params["order"]
    2
    """
    require_dataset(dataset)
    recipe = Recipe("hsalr", alpha=1.0) if recipe is None else recipe
    if "keep" not in recipe.params:
        raise RecipeError(f"{recipe.label} selects no tuples; expected a recipe of salr or hsalr")
    n_columns = dataset.X.shape[1]
    valid_orders = sorted({int(order) for order in orders if 1 <= order <= n_columns})
    if not valid_orders:
        size = plural(n_columns, "column")
        raise RecipeError(f"orders={list(orders)} does not fit: the table has {size}; expected a list of 1, 2, 3 ...")
    keep_param = replace(recipe.definition.params["keep"], high=1.0, keywords={})
    valid_keeps = sorted({float(keep_param.check("keeps", keep)) for keep in keeps})
    if not valid_keeps:
        raise RecipeError("keeps is empty; expected at least one share, from 0.001 to 1")
    recipes = [recipe.replace(order=n, keep=keep) for n in valid_orders for keep in valid_keeps]
    repeats = 1 if dataset.splitting.times is not None else repeats
    tasks = fold_tasks(dataset.hash, recipes, repeated_folds(repeats, folds, seed), seed)
    options = {"keeps": valid_keeps, "orders": valid_orders, "repeats": repeats, "folds": folds, "seed": seed}
    return TupleStudy("choose_tuples", [dataset], recipes, tasks, summary, options, **run_options)


def summary(study: Study) -> "pd.DataFrame":
    """Return a row for each order and share, over the folds that all models have finished."""
    import pandas as pd

    losses, frame, summary_rows = complete_losses(study, "racer"), successful_fits(study.frame()), []
    for racer in losses:
        params = study.recipes[racer].params
        figures = mean_figures(losses[racer], frame[frame.racer == racer])
        summary_rows.append({"racer": racer, "order": params["order"], "kept": params["keep"], **figures})
    return pd.DataFrame(summary_rows)


def _share_text(model: "pd.Series") -> str:
    tuples = tuples_text(int(model.order))
    return f"all {tuples}" if model.kept == 1.0 else f"{100 * model.kept:g} % of the {tuples}"
