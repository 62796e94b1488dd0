"""Choose the order by repeated cross-validation of test log loss for orders 0, 1, 2, 3.

Order 0 predicts the class shares. alpha is chosen and columns are cut inside the training rows of each fold. The
verdict is the smallest order whose mean log loss over the folds is within one standard error of the lowest (paired by
fold, with the Nadeau-Bengio correction).

A gain is called unclear if it is below two standard errors, or below 1 % of the loss for more than five times the
parameters. For reference, AutoClassifier (which chooses its orders inside each fold) and gradient boosting (which cuts
numbers as it needs) are scored on the same folds, and the verdict says how they compare.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from alrviz.data.dataset import Dataset, require_dataset
from alrviz.data.encode import cuts_text
from alrviz.data.splits import repeated_folds
from alrviz.errors import RecipeError, Sentence, join_words, plural
from alrviz.estimators.make import make_estimator
from alrviz.fitting.recipe import AUTOMATIC, Recipe
from alrviz.studies.core.names import tuples_text
from alrviz.studies.core.study import Study, StudyOptions
from alrviz.studies.core.study_task import PRIOR_RACER, RELIABILITY, Row, StudyTask, fold_tasks
from alrviz.studies.protocols.fold_losses import (
    NOT_ENOUGH_FOLDS,
    complete_losses,
    failures,
    fold_error,
    mean_figures,
    simplest_model,
    successful_fits,
)
from alrviz.studies.statistics.measures import loss_text, pooled_reliability
from alrviz.studies.statistics.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd


BOOSTING = Recipe("hgb")
# A gain is clear if it is at least this many standard errors, and either this share of the loss or cheap: at most so
# many times the parameters of the order below.
_MIN_GAIN_ERRORS, _MIN_GAIN_SHARE, _MAX_PARAMETER_RATIO = 2.0, 0.01, 5.0


@dataclass(frozen=True, kw_only=True)
class OrderVerdict(Verdict):
    """The chosen order and the reasons.

    Attributes:
        order: the smallest within one standard error of the best; None until two folds are complete.
        best: the order with the lowest mean log loss.
        clear: whether the gain over the order below is significant and worth its parameters.
        notes: sentences on what qualifies the verdict: leaks, the choice of alpha, cuts of numeric columns, boosting.
        automatic: AutoClassifier's model as most folds chose it, if its log loss is lower than every order's by more
            than one standard error; else None.
    """

    order: int | None
    best: int | None
    clear: bool = True
    notes: tuple[str, ...] = ()
    automatic: Recipe | None = None


class OrderStudy(Study):
    """The study that `choose_order` returns: a `Study` with a verdict."""

    def verdict(self) -> OrderVerdict:
        """Return the verdict on the folds that are complete for all orders."""
        losses = complete_losses(self, "order")
        failure_texts = [
            f"n = {order} could not be fitted: {error.rstrip('.')}." for order, error in self.failed_orders().items()
        ]
        if len(losses) < 2:
            return OrderVerdict(NOT_ENOUGH_FOLDS, " ".join(failure_texts), order=None, best=None)
        best_order, order = int(losses.mean().idxmin()), int(simplest_model(losses, self))
        by_order = self.summary().set_index("order")
        is_clear = _is_clear_gain(by_order, order)
        automatic_text, automatic_is_lower = _compare_automatic(self)
        dataset = self.dataset
        rows = f"split {dataset.splitting.words}" if dataset.splitting.times is not None else dataset.splitting.words
        notes = (
            dataset.leaks_note,
            _alpha_note(self, order),
            rows or dataset.repeats_note,
            cuts_note(self),
            _boosting_note(self, by_order.loc[best_order].log_loss, automatic_is_lower),
        )
        details = [automatic_text, *_detail_sentences(by_order, order, best_order), *failure_texts]
        return OrderVerdict(
            _headline(by_order, order, best_order, is_clear), " ".join(text for text in details if text),
            order=order, best=best_order, clear=is_clear, notes=tuple(note for note in notes if note),
            automatic=automatic_recipe(self.automatic_folds()) if automatic_is_lower else None,
        )  # fmt: skip

    def recipe(self) -> Recipe | None:
        """Return the recipe of the verdict's order; None for order 0, or before there is a verdict."""
        order = self.verdict().order or -1
        return next((recipe for recipe in self.recipes if recipe.params.get("order") == order), None)

    def about(self, racer: int) -> dict[str, Any]:
        """Return the columns of `Study.about` for a racer; order is None for a model that chooses its own."""
        columns = super().about(racer)
        return {**columns, "order": None} if columns["order"] == "auto" else columns

    def failed_orders(self) -> dict[int, str]:
        """Return the orders whose fits have all failed so far, each with its first error message."""
        return failures(self, "order")

    def boosting_folds(self) -> "pd.DataFrame":
        """Return the folds that both boosting and the best order have finished: repeat, fold, log_loss, gap.

        gap is the log loss of the best order less boosting's. Empty until there are any, and if boosting is not part of
        the study.
        """
        return self._paired_folds("hgb")

    @property
    def includes_automatic(self) -> bool:
        """Whether AutoClassifier's model is part of the study."""
        return any(recipe.params.get("order") == "auto" for recipe in self.recipes)

    def automatic_folds(self) -> "pd.DataFrame":
        """Return the columns of `boosting_folds` for AutoClassifier's model, with the choices of each fold.

        These are order_chosen, keep_chosen, discretize_chosen, alpha_1, ...
        """
        return self._paired_folds("hlr")

    def _paired_folds(self, family: str) -> "pd.DataFrame":
        """Return the folds that this family's fits and all orders have finished, with the gap to the best order."""
        losses, frame = complete_losses(self, "order"), successful_fits(self.frame())
        racers = [k for k, recipe in enumerate(self.recipes) if recipe.family == family]
        racer = next((k for k in racers if self.about(k)["order"] is None), None)
        if not len(losses) or not (frame.racer == racer).any():
            return frame.iloc[:0]
        fits_by_fold = frame[frame.racer == racer].set_index(["repeat", "fold"])
        best_losses = losses[losses.mean().idxmin()]
        common_fits = fits_by_fold.loc[fits_by_fold.index.intersection(losses.index)]
        return common_fits.assign(gap=best_losses.loc[common_fits.index] - common_fits.log_loss).reset_index()

    def reliability(self) -> "pd.DataFrame":
        """Return the calibration bins of each order (`measures.reliability`), pooled over the folds so far."""
        import pandas as pd

        bins_by_order: dict[int, list[dict[str, list[float]]]] = {}
        for task, result in self.results():
            for row in result.rows:
                if RELIABILITY in row and self.about(task.racer)["order"] is not None:
                    bins_by_order.setdefault(int(self.about(task.racer)["order"]), []).append(row[RELIABILITY])
        pooled_tables = [
            pooled_reliability(fold_bins).assign(order=order) for order, fold_bins in sorted(bins_by_order.items())
        ]
        return pd.concat(pooled_tables, ignore_index=True) if pooled_tables else pd.DataFrame({"order": []})


def choose_order(
    dataset: Dataset,
    recipe: Recipe | None = None,
    *,
    orders: Sequence[int] = (0, 1, 2, 3),
    repeats: int = 2,
    folds: int = 5,
    references: bool = False,
    seed: int = 0,
    **run_options: Unpack[StudyOptions],
) -> OrderStudy:
    """Return the study that compares orders on one table; it has not started.

    Args:
        dataset: the table.
        recipe: the model to vary, whatever its order; None: Recipe("lr", alpha="cv").
        orders: orders to compare; 0 predicts the class shares. Orders above the number of columns are skipped.
        repeats, folds: the cross-validation, the same for every order.
        references: whether AutoClassifier's model and scikit-learn's gradient boosting (Recipe("hgb")) are scored on
            the same folds.
        seed: seed of the shuffles.
        run_options: n_jobs, max_memory, scheduler, keep, owner (see `alrviz.studies.core.study.StudyOptions`).

    A row is one fit, as in `bias_variance`. `summary()` has a row for each order: order, folds, log_loss and its
    corrected standard error (`se`), parameters, train_seconds, and compared with the order below: gain (mean decrease
    of log loss), gain_se, wins (folds in which it is lower). `verdict()` names the order, `recipe()` returns its
    recipe.

    Raises:
        RecipeError: if the recipe has no order, no order fits the table's columns, or folds and repeats are invalid.

    >>> from alrviz import load_demo
    >>> study = choose_order(load_demo("xor", 300), orders=(1, 2), repeats=1, n_jobs=1).run()
    >>> study.verdict().order
    2
    """
    require_dataset(dataset)
    recipe = Recipe("lr", alpha="cv") if recipe is None else recipe
    if "order" not in recipe.params:
        raise RecipeError(f"{recipe.label} has no order to choose; expected a recipe of lr, alr or anje")
    if not orders or not all(isinstance(order, int | np.integer) and order >= 0 for order in orders):
        raise RecipeError(f"orders={list(orders)} does not fit; expected a list of 0, 1, 2, 3 ...")
    highest_order = dataset.X.shape[1]
    valid_orders = sorted({order for order in orders if order <= highest_order})
    if not valid_orders:
        raise RecipeError(
            f"orders={list(orders)} does not fit: the table has {plural(highest_order, 'column')}; "
            f"the highest order here is {highest_order}"
        )
    recipes = [recipe.replace(order=order) for order in valid_orders if order > 0]
    recipes += [AUTOMATIC, BOOSTING] if references else []
    repeats = 1 if dataset.splitting.times is not None else repeats
    splits = repeated_folds(repeats, folds, seed)
    tasks = fold_tasks(dataset.hash, recipes, splits, seed)
    if 0 in valid_orders:
        tasks = [StudyTask("shares", "", dataset.hash, split, racer=PRIOR_RACER) for split in splits] + tasks
    options = {"orders": valid_orders, "repeats": repeats, "folds": folds, "references": references, "seed": seed}
    return OrderStudy("choose_order", [dataset], recipes, tasks, summary, options, **run_options)


def summary(study: Study) -> "pd.DataFrame":
    """Return a row for each order, over the folds that all orders have finished."""
    import pandas as pd

    losses, frame, summary_rows = complete_losses(study, "order"), successful_fits(study.frame()), []
    for order_index, order in enumerate(losses):
        fits = frame[frame.order == order]
        row = {"order": int(order), **mean_figures(losses[order], fits)}
        if order_index:
            falls = losses[losses.columns[order_index - 1]] - losses[order]
            row |= {"gain": float(falls.mean()), "gain_se": fold_error(falls, fits), "wins": int((falls > 0).sum())}
        summary_rows.append(row)
    return pd.DataFrame(summary_rows)


def _is_clear_gain(by_order: "pd.DataFrame", order: int) -> bool:
    """Return whether an order's gain over the one below is significant, and worth its parameters; by_order: the
    summary.
    """
    order_index = list(by_order.index).index(order)
    if not order_index:
        return True
    row, row_below = by_order.loc[order], by_order.loc[by_order.index[order_index - 1]]
    is_small = row.gain < _MIN_GAIN_SHARE * row_below.log_loss
    is_costly = row.parameters > _MAX_PARAMETER_RATIO * row_below.parameters
    return bool(row.gain >= _MIN_GAIN_ERRORS * row.gain_se and not (is_small and is_costly))


def _alpha_note(study: Study, order: int) -> str:
    """Return a note that the alpha of an order was chosen inside the folds, and the call that chooses it in the same
    way.
    """
    recipe = next((recipe for recipe in study.recipes if recipe.params.get("order") == order), None)
    if recipe is None or recipe.params.get("alpha") not in ("cv", "auto"):
        return ""
    frame, ranges = successful_fits(study.frame()), list[str]()
    fits = frame[frame.order == order]
    for name in alpha_columns(fits):
        lowest, median, highest = (f"{fits[name].quantile(quantile):.3g}" for quantile in (0.0, 0.5, 1.0))
        ranges.append(lowest if lowest == highest else f"from {lowest} to {highest}, {median} in the middle")
        ranges[-1] = ranges[-1] if name == "alpha_chosen" else f"order {name.removeprefix('alpha_')}: {ranges[-1]}"
    ranges_text = f" ({'; '.join(ranges)})" if ranges else ""
    note = f"alpha was chosen by inner folds{ranges_text}; a fixed alpha can do worse"
    model = make_estimator(recipe)
    params, default = model.get_params(), type(model)().get_params()
    shown_params = {name: params[name] for name in ("order", "alpha")}
    shown_params |= {name: value for name, value in params.items() if value != default[name]}
    call = f"alrviz.{type(model).__name__}({', '.join(f'{name}={value!r}' for name, value in shown_params.items())})"
    return Sentence(f"{note}; {call} chooses it in the same way", note)


def alpha_columns(folds: "pd.DataFrame") -> list[str]:
    """Return the names of the columns with the alphas that these folds chose: one, or one for each order."""
    names = (name for name in folds.columns if re.fullmatch(r"alpha_(\d+|chosen)", name))
    return [name for name in names if folds[name].notna().any()]


def median_alpha(folds: "pd.DataFrame") -> Any:
    """Return the median of the alphas that these folds chose, a tuple if each order has its own; None without any."""
    alphas = tuple(float(f"{folds[name].median():.3g}") for name in alpha_columns(folds))
    return alphas[0] if len(alphas) == 1 else alphas or None


def cuts_note(study: Study) -> str:
    """Return how numeric columns were cut, and which of them get no cut in the median fold."""
    frame = study.frame()
    if "numeric_columns" not in frame or not frame.numeric_columns.max() > 0:
        return ""
    racer, recipe = next((k, recipe) for k, recipe in enumerate(study.recipes) if recipe.cuts != "keep")
    cuts_name = cuts_text(recipe)
    fits = frame[(frame.numeric_columns > 0) & (frame.racer == racer)]  # other recipes may cut differently
    if not len(fits):
        return ""
    median_fit = fits.sort_values("lost_columns").iloc[len(fits) // 2]
    n_lost, n_numeric = int(median_fit.lost_columns), int(median_fit.numeric_columns)
    if not n_lost:
        return f"cuts of numeric columns: {cuts_name}"
    names = median_fit.lost_names + (" ..." if n_lost > 3 else "")
    note = f"{cuts_name} finds no cut in {n_lost:,} of {n_numeric:,} numeric columns ({names}): no order uses them"
    return note + (", not even in combination; try quantiles" if recipe.discretize == "mdl" else "")


def automatic_summary(study: OrderStudy) -> Row:
    """Return AutoClassifier's `mean_figures` (log_loss, se, parameters, ...); {} before its first fold."""
    folds = study.automatic_folds()
    if not len(folds):
        return {}
    return mean_figures(folds.log_loss, folds)


def automatic_recipe(folds: "pd.DataFrame") -> Recipe:
    """Return AutoClassifier's model with the order and cuts that most folds chose, and the median alphas of those.

    folds: a line each, as `OrderStudy.automatic` has them.
    """
    order = int(folds.order_chosen.mode().iloc[0])
    fits = folds[folds.order_chosen == order]
    cuts = "smooth"  # stored studies from before cuts were chosen
    if "discretize_chosen" in fits:
        cuts = str(fits.discretize_chosen.mode().iloc[0])
        fits = fits[fits.discretize_chosen == cuts]
    ascending_keeps = fits.keep_chosen.sort_values(key=lambda keep: keep.where(keep > 1, np.inf))  # 1 keeps all tuples
    keep = float(ascending_keeps.iloc[(len(ascending_keeps) - 1) // 2])
    return AUTOMATIC.replace(order=order, alpha=median_alpha(fits), keep=keep, discretize=cuts)


def _compare_automatic(study: OrderStudy) -> tuple[str, bool]:
    """Compare AutoClassifier with the best order: the end of the sentence, and whether it is clearly lower."""
    folds = study.automatic_folds()
    if len(folds) < 2:
        return "", False
    gap, gap_error = folds.gap.mean(), fold_error(folds.gap, folds)
    order = int(folds.order_chosen.mode().iloc[0])
    n_times_chosen = int((folds.order_chosen == order).sum())
    choice_text = f"Auto chose {_orders_up_to(order)} in {n_times_chosen} of {len(folds)} folds"
    loss, margin_text = loss_text(folds.log_loss.mean()), f"by {loss_text(abs(gap))} ± {loss_text(gap_error)}"
    if abs(gap) <= gap_error:
        return f"{choice_text}: {loss}, within a standard error of the best single order.", False
    direction = "lower" if gap > 0 else "higher"
    return f"{choice_text}: {loss}, {direction} than the best single order {margin_text}.", bool(gap > 0)


def _orders_up_to(order: int) -> str:
    """Return which tuples AutoClassifier's model uses: unlike a single order, all sizes up to its order.

    >>> _orders_up_to(1), _orders_up_to(3)
    ('columns alone (n = 1)', 'columns, pairs and triples (n = 1 to 3)')
    """
    if order == 1:
        return "columns alone (n = 1)"
    names = [tuples_text(size) for size in range(1, order + 1)]
    return f"{join_words(names)} (n = 1 to {order})"


def _boosting_note(study: OrderStudy, best_loss: float, automatic_is_lower: bool) -> str:
    """Compare boosting with the best order, or with AutoClassifier if that is better, on the folds that both have."""
    folds, rival_text = study.boosting_folds(), "every order here"
    if automatic_is_lower:
        folds = folds.merge(study.automatic_folds(), on=["repeat", "fold"], suffixes=("", "_automatic"))
        folds["gap"] = folds.log_loss_automatic - folds.log_loss
        rival_text, best_loss = "Auto too", folds.log_loss_automatic.mean()
    if len(folds) < 2:
        return ""
    gap, mean = folds.gap.mean(), folds.log_loss.mean()
    error = fold_error(folds.gap, folds)
    if gap <= error:
        verdict = "better by less than one standard error" if gap > 0 else "not better"
        return f"gradient boosting (scikit-learn's, at its defaults) is {verdict}: log loss {loss_text(mean)}"
    n_wins = int((folds.gap > 0).sum())
    return (
        f"gradient boosting (scikit-learn's, at its defaults) is better than {rival_text}: "
        f"{loss_text(mean)} against {loss_text(best_loss)}, by {loss_text(gap)} ± {loss_text(error)}, in {n_wins} of "
        f"{len(folds)} folds"
    )


def _headline(by_order: "pd.DataFrame", order: int, best: int, is_clear: bool) -> str:
    """Return whether the verdict's order is best, enough or no clear gain, and its test log loss beside that of the
    order to compare with: the best one, or if it is best itself, the one below (above the lowest).
    """
    orders = list(by_order.index)
    order_index = orders.index(order)
    gains_little = order_index > 0 and by_order.loc[order].gain > 0 and not is_clear
    if best != order and not gains_little:
        rival = best
    else:
        rival = orders[order_index - 1] if order_index else orders[min(1, len(orders) - 1)]
    losses_text = loss_text(by_order.loc[order].log_loss)
    if rival != order:
        losses_text += f", {_order_noun(rival)} {loss_text(by_order.loc[rival].log_loss)}"
    if gains_little:
        return f"No clear gain from {tuples_text(order)} (n = {order}): test log loss {losses_text}."
    if order == 0:
        return f"No column helps: test log loss of class shares {losses_text}."
    subject_text = "Single columns" if order == 1 else tuples_text(order).capitalize()
    return f"{subject_text} (n = {order}) are {'best' if best == order else 'enough'}: test log loss {losses_text}."


def _order_noun(order: int) -> str:
    return "class shares" if order == 0 else "columns alone" if order == 1 else tuples_text(order)


def _detail_sentences(by_order: "pd.DataFrame", order: int, best: int) -> list[str]:
    """Return the gain over the order below with its standard error, folds and cost, and how higher orders do."""
    row, order_index = by_order.loc[order], list(by_order.index).index(order)
    sentences = []
    if order_index and row.gain > 0:
        order_below = by_order.index[order_index - 1]
        row_below = by_order.loc[order_below]
        texts = [
            f"n = {order} lowers it by {loss_text(row.gain)} ± {loss_text(row.gain_se)} (standard error)",
            f"in {int(row.wins)} of {int(row.folds)} folds",
        ]
        if accuracy := accuracy_change_text(row_below.error - row.error):
            texts.append(accuracy)
        ratio = row.parameters / row_below.parameters
        if np.isfinite(ratio):
            texts.append(f"with {ratio:.{0 if ratio >= 9.5 else 1}f} times the parameters")
        sentences.append(f"Against n = {order_below}, {', '.join(texts)}.")
    else:
        sentences.append(f"Its standard error is {loss_text(row.se)}.")
    for higher in by_order.index[order_index + 1 :]:
        if by_order.loc[higher].log_loss < row.log_loss:
            loss = loss_text(by_order.loc[higher].log_loss)
            sentences.append(f"n = {higher} is lower, {loss}, but not clearly.")
        else:
            sentences.append(f"n = {higher} is no better.")
    return sentences


def accuracy_change_text(fall: float) -> str:
    """Return a fall of the error rate (a share) as a change of accuracy in percentage points; "" if it is NaN.

    >>> accuracy_change_text(0.25), accuracy_change_text(0.012), accuracy_change_text(-0.004), accuracy_change_text(0.0)
    ('accuracy +25 points', 'accuracy +1.2 points', 'accuracy -0.4 points', 'accuracy unchanged')
    """
    if not np.isfinite(fall):
        return ""
    return f"accuracy {100 * fall:+.2g} points" if abs(fall) >= 1e-4 else "accuracy unchanged"
