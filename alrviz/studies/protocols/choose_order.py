"""Which order? Repeated cross-validation of test log loss for orders 0, 1, 2, 3, and the verdict in a sentence.

The verdict is the smallest order whose mean over the folds is within one standard error of the lowest: d_j is its log
loss less the best order's on fold j, and its mean may be up to the Nadeau-Bengio corrected error of that mean. Order 0
is the class prior. alpha is chosen and columns are cut inside the training rows of each fold.

What is gained is weighed against its error and its cost: a gain below two of its errors, or below a hundredth of the
loss for many times the parameters, is said to be hardly one. AutoClassifier's model, which has all orders at once and
chooses how many inside the training rows of each fold, and boosting, which cuts numbers as it needs, are judged on the
same folds: the verdict says where they are.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from alrviz.data.dataset import Dataset, require_dataset
from alrviz.data.encode import cuts_text
from alrviz.data.splits import repeated_folds
from alrviz.errors import RecipeError, Sentence, plural
from alrviz.estimators.make import make_estimator
from alrviz.fitting.recipe import AUTOMATIC, Recipe
from alrviz.studies.core.study import Study
from alrviz.studies.core.study_options import StudyOptions
from alrviz.studies.core.study_task import PRIOR, RELIABILITY, StudyTask, fold_tasks
from alrviz.studies.statistics.measures import loss_text, pooled_reliability
from alrviz.studies.statistics.significance import corrected_error, simplest_within_error

if TYPE_CHECKING:
    import pandas as pd


BOOSTING = Recipe("hgb")
# A gain below so many of its errors is not sure; one below this share of the loss is small, and not worth so many times
# the parameters.
_SURE, _SMALL, _MANY = 2.0, 0.01, 5.0


@dataclass(frozen=True)
class OrderVerdict:
    """Which order, and why.

    Attributes:
        order: the smallest that is within a standard error of the best; None while no fold is complete.
        best: the order of the lowest mean.
        sentence: for the reader.
        clear: whether what the order gains over the one below is sure and worth its parameters.
        notes: sentences on what it stands on: the cuts of numeric columns, boosting beside it.
        automatic: AutoClassifier's model as most folds chose it, where it loses less than every order by more than an
            error; else None.
    """

    order: int | None
    best: int | None
    sentence: str
    clear: bool = True
    notes: tuple[str, ...] = ()
    automatic: Recipe | None = None


class OrderStudy(Study):
    """The study that `choose_order` returns: a `Study` with a verdict."""

    def verdict(self) -> OrderVerdict:
        """Return the verdict of the folds that all orders have by now."""
        return _verdict(self)

    def recipe(self) -> Recipe | None:
        """Return the recipe of the verdict's order; None for the class prior, or while there is none."""
        order = self.verdict().order or -1
        return next((recipe for recipe in self.recipes if recipe.params.get("order") == order), None)

    def about(self, racer: int) -> dict[str, Any]:
        """Return the same as of any study; a model that chooses its order has none."""
        about = super().about(racer)
        return {**about, "order": None} if about["order"] == "auto" else about

    def refused(self) -> dict[int, str]:
        """Return the orders of which every fit so far has failed, each with what the first of them said."""
        return _refused(self.frame())

    def boosting(self) -> "pd.DataFrame":
        """Return boosting's folds that the best order has too: repeat, fold, log_loss, gap (the best order's less it).

        Empty where there are none yet, or it was not asked for.
        """
        return self._beside("hgb")

    @property
    def judges_automatic(self) -> bool:
        """Whether AutoClassifier's model is judged too."""
        return any(recipe.params.get("order") == "auto" for recipe in self.recipes)

    def automatic(self) -> "pd.DataFrame":
        """Return the same of AutoClassifier's model; order_chosen, keep_chosen, discretize_chosen, alpha_1, ... are
        each fold's choice.
        """
        return self._beside("hlr")

    def _beside(self, family: str) -> "pd.DataFrame":
        losses, frame = _losses(self), self.frame()
        racer = next(
            (k for k, of in enumerate(self.recipes) if of.family == family and self.about(k)["order"] is None), None
        )
        mine = frame[(frame.racer == racer) & (frame.outcome != "failed")] if len(frame) else frame
        if not len(losses) or not len(mine):
            return frame.iloc[:0]
        mine = mine.set_index(["repeat", "fold"])
        best = losses[losses.mean().idxmin()]
        both = mine.loc[mine.index.intersection(losses.index)]
        return both.assign(gap=best.loc[both.index] - both.log_loss).reset_index()

    def reliability(self) -> "pd.DataFrame":
        """Return the bins of `measures.reliability` by order, each over the test rows of all folds so far."""
        import pandas as pd

        tables: dict[int, list[dict[str, list[float]]]] = {}
        for task, result in self.results():
            for row in result.rows:
                if RELIABILITY in row and self.about(task.racer)["order"] is not None:
                    tables.setdefault(int(self.about(task.racer)["order"]), []).append(row[RELIABILITY])
        pooled = [pooled_reliability(parts).assign(order=order) for order, parts in sorted(tables.items())]
        return pd.concat(pooled, ignore_index=True) if pooled else pd.DataFrame({"order": []})


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
    """Return the study of orders on a table; nothing is begun.

    Args:
        dataset: the table.
        recipe: of the models, whatever its order; None: Recipe("lr", alpha="cv").
        orders: to compare; 0 is the class prior. Orders above the number of columns are left out.
        repeats, folds: the cross-validation, the same for every order.
        references: whether AutoClassifier's model and boosting (Recipe("hgb"), scikit-learn's) are judged on the same
            folds; they have no order of their own.
        seed: of the shuffles.
        run_options: n_jobs, max_memory, scheduler, keep, owner (see `alrviz.studies.core.study_options.StudyOptions`).

    A row is one fit, as in `bias_variance`. `summary()` has a line for each order: order, folds, log_loss and its
    corrected standard error (`se`), parameters, train_seconds, and beside the order below: gain (mean fall of log
    loss), gain_se, wins (folds in which it is lower). `verdict()` says which order, `recipe()` gives its recipe.

    Raises:
        RecipeError: a recipe without an order, no orders that the table has columns for, or no cross-validation.

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
        raise RecipeError(f"orders={list(orders)} does not fit; expected some of 0, 1, 2, 3 ...")
    highest = dataset.X.shape[1]
    chosen = sorted({order for order in orders if order <= highest})
    if not chosen:
        raise RecipeError(
            f"orders={list(orders)} does not fit: the table has {plural(highest, 'column')}; "
            f"the highest order here is {highest}"
        )
    recipes = [recipe.replace(order=order) for order in chosen if order > 0]
    recipes += [AUTOMATIC, BOOSTING] if references else []
    repeats = 1 if dataset.splitting.when is not None else repeats
    splits = repeated_folds(repeats, folds, seed)
    tasks = fold_tasks(dataset.hash, recipes, splits, seed)
    if 0 in chosen:
        tasks = [StudyTask("shares", "", dataset.hash, split, racer=PRIOR) for split in splits] + tasks
    options = {"orders": chosen, "repeats": repeats, "folds": folds, "references": references, "seed": seed}
    return OrderStudy("choose_order", [dataset], recipes, tasks, summary, options, **run_options)


def _losses(study: Study) -> "pd.DataFrame":
    """Log loss of each complete fold (a line) and order (a column); an order that always failed is left out."""
    import pandas as pd

    frame = study.frame()
    if not len(frame) or "log_loss" not in frame:
        return pd.DataFrame()
    fine = frame[(frame.outcome != "failed") & frame.order.notna()]
    asked = {study.about(task.racer)["order"] for task in study.tasks} - {None}
    wanted = sorted(asked - _refused(frame).keys())  # what has not begun is waited for
    table = fine.pivot(index=["repeat", "fold"], columns="order", values="log_loss").reindex(columns=wanted).dropna()
    return table if len(table) else pd.DataFrame()


def summary(study: Study) -> "pd.DataFrame":
    """Return a line for each order with folds that all orders have."""
    import pandas as pd

    losses, frame, lines = _losses(study), study.frame(), []
    for place, order in enumerate(losses.columns if len(losses) else ()):
        mine = frame[(frame.order == order) & (frame.outcome != "failed")]
        tested, trained = float(mine.test_rows.mean()), float(mine.train_rows.mean())
        line = {
            "order": int(order),
            "folds": len(losses),
            "log_loss": float(losses[order].mean()),
            "error": float(mine.error.mean()) if "error" in mine else float("nan"),
            "se": corrected_error(losses[order], tested, trained),
            "parameters": float(mine.parameters.mean()),
            "train_seconds": float(mine.train_seconds.mean()),
        }
        if place:
            fall = losses[losses.columns[place - 1]] - losses[order]
            line |= {
                "gain": float(fall.mean()),
                "gain_se": corrected_error(fall, tested, trained),
                "wins": int((fall > 0).sum()),
            }
        lines.append(line)
    return pd.DataFrame(lines)


def _verdict(study: OrderStudy) -> OrderVerdict:
    losses, lines = _losses(study), study.summary()
    refused = _refused(study.frame()).items()
    lost = "".join(f"; n = {order} could not be fitted: {why}" for order, why in refused)
    if len(losses) < 2:
        return OrderVerdict(None, None, f"not enough folds yet to say{lost}")
    means = losses.mean()
    best = means.idxmin()
    ratio = study.frame()[["test_rows", "train_rows"]].mean()
    order = simplest_within_error(losses, ratio.test_rows, ratio.train_rows)
    by_order = lines.set_index("order")
    clear = _clear(by_order, int(order))
    automatic, ahead = _automatic_words(study)
    sentence = _sentence(by_order, int(order), int(best), clear) + automatic + lost
    dataset = study.dataset
    rows = f"split {dataset.splitting.words}" if dataset.splitting.when is not None else dataset.splitting.words
    notes = (
        dataset.leaks_note,
        _alpha_note(study, int(order)),
        rows or dataset.repeats_note,
        cuts_note(study),
        _boosting_note(study, by_order.loc[best].log_loss, ahead),
    )
    own = automatic_recipe(study.automatic()) if ahead else None
    return OrderVerdict(int(order), int(best), sentence, clear, tuple(note for note in notes if note), own)


def _clear(lines: "pd.DataFrame", order: int) -> bool:
    """Whether what an order gains over the one below is sure, and worth its parameters."""
    place = list(lines.index).index(order)
    if not place:
        return True
    here, before = lines.loc[order], lines.loc[lines.index[place - 1]]
    small = here.gain < _SMALL * before.log_loss and here.parameters > _MANY * before.parameters
    return bool(here.gain >= _SURE * here.gain_se and not small)


def _alpha_note(study: Study, order: int) -> str:
    """That the order's figures are those of an alpha that folds chose, and how a model is fitted that does so too."""
    recipe = next((recipe for recipe in study.recipes if recipe.params.get("order") == order), None)
    if recipe is None or recipe.params.get("alpha") not in ("cv", "auto"):
        return ""
    frame, parts = study.frame(), list[str]()
    mine = frame[(frame.order == order) & (frame.outcome != "failed")]
    for name in alpha_columns(mine):
        low, middle, high = (f"{mine[name].quantile(share):.3g}" for share in (0.0, 0.5, 1.0))
        parts.append(low if low == high else f"from {low} to {high}, {middle} in the middle")
        parts[-1] = parts[-1] if name == "alpha_chosen" else f"order {name.removeprefix('alpha_')}: {parts[-1]}"
    which = f" ({'; '.join(parts)})" if parts else ""
    note = f"alpha was chosen inside each fold{which}: at another alpha n = {order} may be worse than the class prior"
    model = make_estimator(recipe)
    given, default = model.get_params(), type(model)().get_params()
    said = {name: given[name] for name in ("order", "alpha")}
    said |= {name: value for name, value in given.items() if value != default[name]}
    call = f"alrviz.{type(model).__name__}({', '.join(f'{name}={value!r}' for name, value in said.items())})"
    return Sentence(f"{note}; {call} chooses it in the same way, the default is alpha={default['alpha']!r}", note)


def alpha_columns(folds: "pd.DataFrame") -> list[str]:
    """Return the columns that say what alphas these folds chose: one, or one for each order."""
    names = (name for name in folds.columns if re.fullmatch(r"alpha_(\d+|chosen)", name))
    return [name for name in names if folds[name].notna().any()]


def middle_alpha(folds: "pd.DataFrame") -> Any:
    """Return the middle one of the alphas that these folds chose, or of those of each order; None where none did."""
    alphas = tuple(float(f"{folds[name].median():.3g}") for name in alpha_columns(folds))
    return alphas[0] if len(alphas) == 1 else alphas or None


def cuts_note(study: Study) -> str:
    """How numeric columns were cut, and which of them no cut divides in most folds."""
    frame = study.frame()
    if "numeric_columns" not in frame or not frame.numeric_columns.max() > 0:
        return ""
    racer, cut = next((k, recipe) for k, recipe in enumerate(study.recipes) if recipe.cuts != "keep")
    how = cuts_text(cut)
    lines = frame[(frame.numeric_columns > 0) & (frame.racer == racer)]  # others may have cuts of their own
    if not len(lines):
        return ""
    typical = lines.sort_values("lost_columns").iloc[len(lines) // 2]
    lost, numeric = int(typical.lost_columns), int(typical.numeric_columns)
    if not lost:
        return f"cuts of numeric columns: {how}"
    named = typical.lost_names + (" ..." if lost > 3 else "")
    note = f"{how} finds no cut in {lost:,} of {numeric:,} numeric columns ({named}): no order sees them"
    return note + (", also where they tell something together; try quantiles" if cut.discretize == "mdl" else "")


def automatic_line(study: OrderStudy) -> dict[str, float]:
    """Return the line of AutoClassifier's model as `summary` has those of orders: log_loss, se, parameters,
    train_seconds; {} while it has no fold.
    """
    folds = study.automatic()
    if not len(folds):
        return {}
    error = corrected_error(folds.log_loss.to_numpy(), folds.test_rows.mean(), folds.train_rows.mean())
    names = ("log_loss", "parameters", "train_seconds")
    return {"se": error, **{name: float(folds[name].mean()) for name in names}}


def automatic_recipe(folds: "pd.DataFrame") -> Recipe:
    """Return AutoClassifier's model with the order and the cuts that most folds chose, and the middle ones of its
    alphas there.

    folds: a line each, as `OrderStudy.automatic` has them.
    """
    order = int(folds.order_chosen.mode().iloc[0])
    mine = folds[folds.order_chosen == order]
    cuts = "smooth"  # in studies that were kept before there was a choice
    if "discretize_chosen" in mine:
        cuts = str(mine.discretize_chosen.mode().iloc[0])
        mine = mine[mine.discretize_chosen == cuts]
    kept = mine.keep_chosen.sort_values(key=lambda keep: keep.where(keep > 1, np.inf))  # 1 is all of them
    keep = float(kept.iloc[(len(kept) - 1) // 2])
    return AUTOMATIC.replace(order=order, alpha=middle_alpha(mine), keep=keep, discretize=cuts)


def _automatic_words(study: OrderStudy) -> tuple[str, bool]:
    """Where AutoClassifier's model is beside the best order, as the end of a sentence; whether it is clearly lower."""
    folds = study.automatic()
    if len(folds) < 2:
        return "", False
    gap, order = folds.gap.mean(), int(folds.order_chosen.mode().iloc[0])
    error = corrected_error(folds.gap.to_numpy(), folds.test_rows.mean(), folds.train_rows.mean())
    times = int((folds.order_chosen == order).sum())
    name = "single columns" if order == 1 else f"all orders up to n = {order}"
    what = f"AutoClassifier takes {name} (in {times} of {len(folds)} folds)"
    loss, by = loss_text(folds.log_loss.mean()), f"by {loss_text(abs(gap))} ± {loss_text(error)}"
    if abs(gap) <= error:
        return f"; {what}: {loss}, within a standard error of the best of them", False
    return f"; {what}: {loss}, {'lower' if gap > 0 else 'higher'} than the best of them {by}", bool(gap > 0)


def _boosting_note(study: OrderStudy, best: float, ahead: bool) -> str:
    """Whether boosting is ahead of the best order, or of AutoClassifier where that is, on the folds that both have."""
    folds, rival = study.boosting(), "every order here"
    if ahead:
        folds = folds.merge(study.automatic(), on=["repeat", "fold"], suffixes=("", "_automatic"))
        folds["gap"] = folds.log_loss_automatic - folds.log_loss
        rival, best = "AutoClassifier too", folds.log_loss_automatic.mean()
    if len(folds) < 2:
        return ""
    gap, mean = folds.gap.mean(), folds.log_loss.mean()
    error = corrected_error(folds.gap.to_numpy(), folds.test_rows.mean(), folds.train_rows.mean())
    if gap <= error:
        what = "better by less than one standard error" if gap > 0 else "not better"
        return f"gradient boosting (scikit-learn's, at its defaults) is {what}: log loss {loss_text(mean)}"
    wins = int((folds.gap > 0).sum())
    return (
        f"gradient boosting (scikit-learn's, at its defaults) is better than {rival}: "
        f"{loss_text(mean)} against {loss_text(best)}, by {loss_text(gap)} ± {loss_text(error)}, in {wins} of "
        f"{len(folds)} folds"
    )


def _sentence(lines: "pd.DataFrame", order: int, best: int, clear: bool) -> str:
    """What the verdict's order gains over the one below, and that those above do not."""
    here, place = lines.loc[order], list(lines.index).index(order)
    above = [n for n in lines.index if n > order]
    if place and here.gain > 0:
        before = lines.loc[lines.index[place - 1]]
        what = (
            f"n = {order} lowers test log loss from {loss_text(before.log_loss)} to "
            f"{loss_text(here.log_loss)}, by {loss_text(here.gain)} ± {loss_text(here.gain_se)}, in {int(here.wins)} "
            f"of {int(here.folds)} folds"
        )
        right = right_text(before.error - here.error)
        what += f" ({right})" if right else ""
        times = here.parameters / before.parameters
        what += f", for {_times(times)} the parameters" if np.isfinite(times) else ""
        what += "" if clear else f": not a clear gain, {_name(lines.index[place - 1])} will do"
        return what + (f"; {_orders(above, 'does', 'do')} not{_more(best > order)}" if above else "")
    has = f"n = {order} has" if order else "the class prior (order 0) has"
    what = f"{has} the test log loss {loss_text(here.log_loss)} ± {loss_text(here.se)}"
    if place:  # the order below is lower in the mean, but not as sure
        return f"{what}, within a standard error of the lowest, {loss_text(lines.loc[best].log_loss)} at n = {best}"
    return what + (f"; {_orders(above, 'is', 'are')} not lower{_more(best > order)}" if above else "")


def right_text(fall: float) -> str:
    """Return a fall of the error rate as a change of accuracy, in percentage points; "" where it is not known.

    >>> right_text(0.25), right_text(0.012), right_text(-0.004), right_text(0.0)
    ('accuracy +25 points', 'accuracy +1.2 points', 'accuracy -0.4 points', 'accuracy unchanged')
    """
    if not np.isfinite(fall):
        return ""
    return f"accuracy {100 * fall:+.2g} points" if abs(fall) >= 1e-4 else "accuracy unchanged"


def _more(lower: bool) -> str:
    """What to add to "not lower" where a higher order is lower in the mean."""
    return " by more than one standard error" if lower else ""


def _name(order: int) -> str:
    return f"n = {order}" if order else "the class prior"


def _orders(above: Sequence[int], one: str, many: str) -> str:
    listed = " and ".join(f"n = {n}" for n in above)
    return f"{listed} {one if len(above) == 1 else many}"


def _refused(frame: "pd.DataFrame") -> dict[int, str]:
    if not len(frame):
        return {}
    parts = frame.groupby("order")
    return {int(order): part.sentence.iloc[0] for order, part in parts if (part.outcome == "failed").all()}


def _times(factor: float) -> str:
    return f"{factor:.0f} times" if factor >= 9.5 else f"{factor:.1f} times"
