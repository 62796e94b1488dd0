"""order="auto": the order whose fits lose least on rows held out, each at the penalties that it would be fitted with.

Orders 1, 2, ... are tried in turn on the same folds of the training rows (see data/splits.py), each with its own cuts
(`Recipe.most_levels`); with alpha="auto" each at its best alphas (fitting/solvers/choose_alpha.py). An order is taken
where its log loss is lower than that of the one before by more than a standard error of the rows' differences, and ends
the search where not. With discretize="auto" the first order is tried with smooth levels and with MDL's cuts, smooth
levels being left to columns that MDL does not cut; these are taken, for all orders, where they lose less by as much: a
threshold that MDL sees is sharper than a penalty on steps. MDL's cuts are learned in each fold anew
(`TrainingData.fold`): cuts that saw the classes of the validation rows would win.

What a pass over the folds would take is known from the estimate, in seconds of the reference machine: of all orders at
once (hlr, halr) as many tuples are kept as are not too much; otherwise a higher order is not tried. Of tables read in
batches, rows drawn from all of them choose.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import comb
from typing import Any

from alrviz.data.splits import n_validation_folds
from alrviz.errors import MemoryLimitError
from alrviz.fitting.cost.estimate import estimate, require_memory
from alrviz.fitting.cost.table_shape import PLANNED, TableShape
from alrviz.fitting.families.alpha_folds import AUTO, INITIAL_ALPHA, best_on_folds, by_rows
from alrviz.fitting.families.family import FitRequest
from alrviz.fitting.families.orders import HierarchicalFamily
from alrviz.fitting.families.selected import kept_words, most_kept
from alrviz.fitting.prepare import TrainingData
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers.choose_alpha import Candidate
from alrviz.models.cell_space import informative_columns, tuple_columns
from alrviz.stop import NEVER, StopToken

HIGHEST = 12
# Seconds of a pass over the folds, on one thread of the reference machine, beyond which an order is not tried: so many
# a row, of up to MANY a third of that, but for about half a minute of one thread at least and five at most.
LEAST_WORK, ROW_WORK, MOST_WORK = 7.5e-3, 1.5e-6, 7.5e-2
# Seconds of a tuple of a row, and of a tuple whatever the rows (its list, its block, its cells), where there are too
# many tuples to be estimated: of 60 rows the latter are ten times as much.
LOOKUP_SECONDS, LISTING_SECONDS = 1.5e-9, 1e-6
# Times as much where folds do not go over cells (see solvers/row_space.py), and only the last fit does. Above it only
# the best pairs are kept, and their folds do go over cells: 480 rows of 60 numbers took 420 s so, 5 s with all pairs.
BY_ROWS = 40


@dataclass(frozen=True, eq=False)
class BestOrder:
    """What was chosen.

    Attributes:
        recipe: with its order, its alphas where these were to be found, and what is kept of the higher orders.
        prepared: the rows, encoded as that recipe says.
        sentence: what was chosen and why.
    """

    recipe: Recipe
    prepared: TrainingData
    sentence: str


def best_order(
    recipe: Recipe,
    prepared: TrainingData,
    encoded_as: Callable[[Recipe], TrainingData],
    *,
    max_memory: int | None = None,
    stop: StopToken = NEVER,
    hear: Callable[[Mapping[str, float]], None] = lambda trial: None,
) -> BestOrder:
    """Choose what a recipe leaves open of its order and its alphas.

    Args:
        recipe: with order="auto", alpha="auto" or discretize="auto", or several.
        prepared: the training rows, encoded as `recipe` says.
        encoded_as: the same rows, encoded as a recipe of some order says.
        max_memory: bytes that a fit may take; None for half of what is free.
        stop: ends it.
        hear: hears of each trial as it ends: order, smooth where cuts are to be found (1 or 0), alpha_1, ... where
            alphas are, log_loss, and the folds that it is of.

    Raises:
        MemoryLimitError: not even order 1 fits.
        Stopped: once `stop` is pulled.
    """
    found: list[tuple[Recipe, TrainingData, Candidate]] = []
    cuts, encoding = "", recipe.encoding
    tunes, given, n_columns = recipe.params.get("alpha") == AUTO, recipe.params["order"], prepared.encoded.n_columns
    plural = "s" * (n_columns > 1)
    why = f"the table has {n_columns} column{plural}" if n_columns <= HIGHEST else f"{HIGHEST} is the highest order"
    orders = range(1, min(n_columns, HIGHEST) + 1) if given == AUTO else (given,)
    for order in orders:
        of = recipe.replace(order=order)
        try:
            rows = prepared if of.encoding == encoding else encoded_as(of)
            if (useful := len(informative_columns(rows.encoded.levels, of.missing == "skip"))) < order and order > 1:
                some = f"only {useful}" if useful else "no"
                why = f"{some} column{'s have' if useful > 1 else ' has'} more than one level"
                break
            of, share = affordable(of, rows, max_memory, stop) if given == AUTO else (of, 1.0)
            if order > 1 and share < 1.0:
                why = f"order {order} is too much work to be chosen by itself (give order={order} to have it)"
                break
            before = found[-1][-1] if found else None
            smooth = {"smooth": 1.0} if of.discretize == AUTO and rows.encoded.smooth_levels.any() else {}
            best = _tried(of, rows, {"order": order, **smooth}, before, max_memory, stop, hear)
            if smooth and best is not None:
                of, rows, best, cuts = _cut(of, rows, best, encoded_as, max_memory, stop, hear)
            if of.discretize == AUTO:
                of = of.replace(discretize="smooth")
            recipe = recipe.replace(discretize=of.discretize)
            prepared, encoding = rows, of.encoding
        except MemoryLimitError:
            if not found:
                raise
            why = f"order {order} needs more memory than may be used"
            break
        if best is None:
            fallback = of.replace(alpha=INITIAL_ALPHA) if tunes else of
            return BestOrder(fallback, rows, f"too few rows to hold some out: order={order}{', alpha=1' * tunes}")
        if before is not None and not best.is_below(before):
            alone = "" if best.folds == before.folds else (
                f" of the first fold alone, whose rows lose {_few(before.beside(best).loss)} at {order - 1}"
            )  # fmt: skip
            why = f"at {order}, {_few(best.loss)}{alone}, it is not lower by one standard error"
            break
        found.append((of.replace(alpha=best.alpha) if tunes else of, rows, best))
    of, rows, best = found[-1]
    kept = of.params.get("keep", 1.0) if recipe.params.get("keep") != of.params.get("keep") else 1.0
    some = f" of single columns and the best {kept_words(kept)} of each higher order" if kept != 1.0 else ""
    if given != AUTO:
        why = "the order is as given"
    alphas = f" and alpha=({', '.join(f'{alpha:.3g}' for alpha in best.values)}) were" if tunes else " was"
    folds = "a third of the rows" if (count := n_validation_folds(rows.encoded.class_rows)) == 1 else f"{count} folds"
    losses = ", ".join(f"{_few(trial.loss)} at {one.params['order']}" for one, _, trial in found)
    chosen = f"order={of.params['order']}{some}{alphas} chosen by validation log loss of {folds}"
    return BestOrder(of, rows, f"{chosen}: {losses}; {why}{cuts}")


def _tried(
    recipe: Recipe, rows: TrainingData, told: Mapping[str, float], before: Candidate | None, max_memory: int | None,
    stop: StopToken, hear: Callable[[Mapping[str, float]], None],
) -> Candidate | None:  # fmt: skip
    request = FitRequest(rows, judged := _judged(recipe), judged.params, _silent, stop, max_memory=max_memory)
    return best_on_folds(request, lambda trial: hear({**told, **trial}), before)


def _cut(
    smooth: Recipe, rows: TrainingData, best: Candidate, encoded_as: Callable[[Recipe], TrainingData],
    max_memory: int | None, stop: StopToken, hear: Callable[[Mapping[str, float]], None],
) -> tuple[Recipe, TrainingData, Candidate, str]:  # fmt: skip
    """Try MDL's cuts, and ordered levels that are not smoothed, beside smooth levels; return the recipe, rows and
    trial to go on with, and why.
    """
    recipe, order = smooth.replace(discretize="mdl-smooth"), smooth.params["order"]
    cut = encoded_as(recipe)
    assert cut.encoder is not None, "encoded by this recipe"
    uncut = cut.encoded.smooth_levels
    others = uncut != rows.encoded.smooth_levels
    if not others.any():
        return smooth, rows, best, ""  # these are the same levels
    trial = _tried(recipe, cut, {"order": order, "smooth": 0.0}, best, max_memory, stop, hear)
    if trial is not None and trial.is_below(best):
        kept = [name for name, levels in zip(cut.encoded.names, uncut, strict=True) if levels]
        named = f" (smooth: {', '.join(kept[:5])}{f' and {len(kept) - 5} more' * (len(kept) > 5)})" if kept else ""
        other, numeric = set(others.nonzero()[0]), set(cut.encoder.numeric_)
        said = [f"numbers are cut by MDL{named}"] * bool(other & numeric)
        said += ["ordered levels are not smoothed"] * bool(other - numeric)
        why = f"; {' and '.join(said)}, with smooth levels alone it was {_few(best.loss)} at {order}"
        return recipe, cut, trial, why
    return smooth, rows, best, ""


def _few(loss: float) -> str:
    """A loss in four decimals, a small one in the two digits that count."""
    return f"{loss:.4f}" if loss >= 0.001 else f"{loss:.2g}"


def _judged(recipe: Recipe) -> Recipe:
    """The recipe by whose log loss an order is judged: the hinge loss has none, and what to keep is chosen later."""
    others: list[tuple[str, str, Any]] = [("objective", "hinge", "nll"), ("keep", AUTO, 1.0)]
    return recipe.replace(**{name: other for name, own, other in others if recipe.params.get(name) == own})


def affordable(recipe: Recipe, rows: TrainingData, max_memory: int | None, stop: StopToken) -> tuple[Recipe, float]:
    """Return a recipe of some order, with a `keep` where all tuples are too much work, and the share of the work of the
    others that may be done: below 1 the order is not tried.
    """
    encoded, order = rows.encoded, recipe.params["order"]
    tuples = recipe.definition.counted(recipe.params, encoded.n_columns)[-1]
    n_columns = len(tuple_columns(encoded.levels, tuples))
    n_tuples, times = comb(n_columns, order), 1
    if n_tuples > PLANNED:  # no cover is planned of so many, nor are they listed for an estimate
        work = (LOOKUP_SECONDS * encoded.n_rows + LISTING_SECONDS) * n_tuples
    else:
        known = estimate(_judged(recipe), TableShape(encoded, stop=stop), max_memory)
        require_memory(known)
        work = known.cost.seconds
        times = BY_ROWS if recipe.params.get("alpha") == AUTO and by_rows(recipe, encoded) else 1
    budget = times * min(max(ROW_WORK * encoded.n_rows, LEAST_WORK), MOST_WORK)
    share = budget / (work * n_validation_folds(encoded.class_rows))
    keep = int(share * n_tuples)
    if order != 2 or share >= 1.0 or keep < n_columns or not isinstance(recipe.definition, HierarchicalFamily):
        return recipe, share
    return recipe.replace(keep=min(keep, most_kept(recipe.params["keep"], n_tuples))), 1.0


def _silent(what: str) -> None:
    """Say nothing of what a fold does."""
