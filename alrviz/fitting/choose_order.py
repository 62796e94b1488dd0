"""Choose settings on validation rows before a fit: order="auto", then keep="auto".

order="auto": choose the order with the lowest validation log loss, each order at its own best penalties.

Orders 1, 2, ... are tried in turn on the same folds of the training rows (data/splits.py), each with its own cuts
(`Recipe.most_levels`) and, with alpha="auto", at its best alphas (solvers/choose_alpha.py). An order is accepted if its
log loss is lower than that of the previous one by more than a standard error of the rows' differences; otherwise the
search ends, unless a score test (`lacking_order`) finds that the accepted model lacks tuples of one of the next two
orders, as where the class is the parity of three columns: then that order is tried, once. With discretize="auto" order
1 is tried with smooth levels and with MDL's cuts (columns that MDL does not cut keep smooth levels). MDL's cuts are
accepted, for all orders, if they lower the loss by as much: they can be sharper than a penalty on steps allows. Each
fold learns its own MDL cuts (`TrainingData.fold`): cuts that saw the classes of the validation rows would always win.

The estimate gives the seconds of a pass over the folds on the reference machine. If a higher order would take too long,
families of all orders (hlr, halr) keep as many tuples as are affordable, and others do not try it. For a table read in
batches a sample of its rows chooses.

keep="auto": the smallest share of the tuples, of 1, .8, ... .05, whose log loss on the validation rows (D_CV) is within
one standard error of the lowest. Each candidate is fitted to the training rows without the validation rows; standard
errors are of the rows' differences. Test rows have no part in it.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb, inf
from time import monotonic
from typing import Any

import numpy as np

from alrviz.data.splits import n_validation_folds
from alrviz.errors import MemoryLimitError, RecipeError, Stopped
from alrviz.fitting.cost.estimate import estimate, require_memory
from alrviz.fitting.cost.table_shape import MAX_PLANNED_TUPLES, TableShape
from alrviz.fitting.families.alpha_folds import (
    AUTO,
    INITIAL_ALPHA,
    best_on_folds,
    final_weights,
    first_weights,
    uses_gram_matrix,
)
from alrviz.fitting.families.family import FitProblem, FitRequest
from alrviz.fitting.families.orders import HierarchicalFamily
from alrviz.fitting.families.selected import kept_text, max_kept
from alrviz.fitting.prepare import TrainingData
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers.choose_alpha import Candidate, GridSearch, choose_alpha, row_losses
from alrviz.fitting.tuple_tests import score_tests
from alrviz.models.cell_space import count_cells, informative_columns, tuple_columns
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import NEVER, Deadline, StopToken

MAX_ORDER = 12
# An order is not tried if a pass over the folds takes more seconds on one thread of the reference machine than
# SECONDS_PER_ROW times the rows, within these bounds: about half a minute to five minutes for all passes.
MIN_PASS_SECONDS, SECONDS_PER_ROW, MAX_PASS_SECONDS = 7.5e-3, 1.5e-6, 7.5e-2
# Seconds per tuple and row, and per tuple (its list, block and cells), for more tuples than are planned; with 60 rows
# the latter are ten times the former.
LOOKUP_SECONDS, LISTING_SECONDS = 1.5e-9, 1e-6
# Planning a cover takes half the time of a small table: it is skipped where an order is affordable and fits into memory
# even if tuples take so many times the lookups of each class, or the bytes.
PLANNED_FACTOR = 4
# Factor on that budget where folds use Gram matrices (solvers/row_space.py) and only the last fit goes over cells.
# Beyond it only the best pairs are kept, and their folds do go over cells: 480 rows of 60 numbers took 420 s with a
# larger factor, 5 s with all pairs in Gram matrices.
GRAM_BUDGET_FACTOR = 40
# The score test of the orders after one that did not lower the loss: how many, the largest probability (of the smallest
# of all tuples, times their number) that leads to a trial, the most rows, tuples and cells of all tuples, and
# the most cells of a tuple of columns with smooth levels.
N_ORDERS_AHEAD, LACKING_P = 2, 1e-4
MAX_TESTED_ROWS, MAX_TESTED_TUPLES, MAX_TESTED_CELLS = 10_000, 3_000, 3_000_000
MAX_SMOOTH_CELLS = 256
SHARES = GridSearch((1.0, 0.8, 0.6, 0.4, 0.3, 0.2, 0.1, 0.05), patience=2, one_standard_error=True)
# Returns the fit of a recipe to the training rows without the validation rows, which are its held-out rows.
Build = Callable[[Recipe], FitProblem]


@dataclass(frozen=True, eq=False)
class OrderChoice:
    """A recipe whose order, alphas and cuts are chosen.

    Attributes:
        recipe: with its order, its alphas and the share of tuples to keep.
        prepared: the rows, encoded as that recipe says.
        sentence: the choices, and the losses that decided them.
    """

    recipe: Recipe
    prepared: TrainingData
    sentence: str


def choose_order(
    recipe: Recipe,
    prepared: TrainingData,
    encoded_as: Callable[[Recipe], TrainingData],
    *,
    max_memory: int | None = None,
    time_limit: float | None = None,
    stop: StopToken = NEVER,
    on_trial: Callable[[Mapping[str, float]], None] = lambda earlier: None,
) -> OrderChoice:
    """Choose the order, alphas and cuts that a recipe leaves open.

    Args:
        recipe: a recipe with order="auto", alpha="auto" or discretize="auto", or several.
        prepared: the training rows, encoded as `recipe` says.
        encoded_as: returns the same rows encoded as another recipe says.
        max_memory: bytes that a fit may take; None for half of the free memory.
        time_limit: seconds of the search, or None. An order that is estimated to take longer than is left is not tried,
            one that takes longer is given up, and the sentence says so; order 1 is always tried.
        stop: ends the search.
        on_trial: called after each trial with order, smooth (1 or 0, if cuts are to be chosen), alpha_1, ... (if alphas
            are), log_loss, and the number of folds it is over.

    Raises:
        MemoryLimitError: even order 1 does not fit into memory.
        Stopped: once `stop` is called on the token.
    """
    accepted_trials: list[tuple[Recipe, TrainingData, Candidate]] = []
    deadline, trial_seconds, trial_ratio = Deadline(stop, inf if time_limit is None else time_limit), 0.0, 1.0
    cuts, ahead_text, encoding = "", "", recipe.encoding
    finds_alpha, requested_order = recipe.params.get("alpha") == AUTO, recipe.params["order"]
    n_columns = prepared.encoded.n_columns
    plural = "s" * (n_columns > 1)
    reason = f"the table has {n_columns} column{plural}"
    reason = reason if n_columns <= MAX_ORDER else f"{MAX_ORDER} is the highest order"
    untried = deque(range(1, min(n_columns, MAX_ORDER) + 1) if requested_order == AUTO else (requested_order,))
    while untried:
        order = untried.popleft()
        variant = recipe.replace(order=order)
        try:
            data = prepared if variant.encoding == encoding else encoded_as(variant)
            n_informative = len(informative_columns(data.encoded.levels, variant.missing == "skip"))
            if n_informative < order and order > 1:
                qualifier = f"only {n_informative}" if n_informative else "no"
                reason = f"{qualifier} column{'s have' if n_informative > 1 else ' has'} more than one level"
                break
            budget_ratio = 1.0
            if requested_order == AUTO:
                variant, budget_ratio = limit_work(variant, data, max_memory, stop)
            if order > 1 and budget_ratio < 1.0:
                reason = f"order {order} takes too long to be tried (order={order} fits it anyway)"
                break
            if accepted_trials:
                # The latest trial took some seconds on this machine; this one's passes cost so many times as much.
                estimated_seconds = trial_seconds * max(1.0, trial_ratio / budget_ratio)
                if estimated_seconds > deadline.left:
                    reason = f"order {order} was not tried: it takes over {estimated_seconds:.1g} s, more than was "
                    reason += f"left of time_limit={time_limit:g}"
                    break
            trial_begin, trial_ratio = monotonic(), budget_ratio
            token = deadline if accepted_trials else stop  # without any candidate there is nothing to fall back on
            previous = accepted_trials[-1][-1] if accepted_trials else None
            smooth = {"smooth": 1.0} if variant.discretize == AUTO and data.encoded.smooth_levels.any() else {}
            trial = _evaluate(variant, data, {"order": order, **smooth}, previous, max_memory, token, on_trial)
            trial_seconds = monotonic() - trial_begin
            if smooth and deadline.left < trial_seconds:  # a trial of MDL's cuts takes about as long
                cuts = f"; numbers cut by MDL were not tried, as time_limit={time_limit:g} had no time left"
            elif smooth and trial is not None:
                variant, data, trial, cuts = _try_mdl_cuts(variant, data, trial, encoded_as, max_memory, stop, on_trial)
            if variant.discretize == AUTO:
                variant = variant.replace(discretize="smooth")
            recipe = recipe.replace(discretize=variant.discretize)
            prepared, encoding = data, variant.encoding
        except Stopped:
            if stop.stopped or not accepted_trials:
                raise
            reason = f"order {order} was given up when time_limit={time_limit:g} was over"
            break
        except MemoryLimitError:
            if not accepted_trials:
                raise
            reason = f"order {order} needs more memory than may be used"
            break
        if trial is None:
            fallback = variant.replace(alpha=INITIAL_ALPHA) if finds_alpha else variant
            return OrderChoice(
                fallback, data, f"too few rows to hold some out: order={order}{', alpha=1' * finds_alpha}"
            )
        if previous is not None and not trial.is_below(previous):
            accepted, accepted_data, _ = accepted_trials[-1]
            fold_note = ""
            if trial.folds != previous.folds:
                previous_loss = _loss_text(previous.on_common_rows(trial).loss)
                fold_note = f" of the first fold alone, whose rows lose {previous_loss} at {accepted.params['order']}"
            reason = f"at {order}, {_loss_text(trial.loss)}{fold_note}, it is not lower by one standard error"
            next_orders = (
                [] if ahead_text or deadline.left < 0 else [*untried][:N_ORDERS_AHEAD]
            )  # a test leads to one further trial
            next_order = lacking_order(accepted, accepted_data, next_orders, max_memory, stop)
            if next_order is None:
                break
            ahead_text = f"; {order} did not lower it, but a score test found that tuples of {next_order} are lacking"
            untried = deque(higher for higher in untried if higher >= next_order)
            continue
        accepted_trials.append((variant.replace(alpha=trial.alpha) if finds_alpha else variant, data, trial))
    variant, data, trial = accepted_trials[-1]
    keep = variant.params.get("keep", 1.0) if recipe.params.get("keep") != variant.params.get("keep") else 1.0
    qualifier = f" of single columns and the best {kept_text(keep)} of each higher order" if keep != 1.0 else ""
    if requested_order != AUTO:
        reason = "the order is as given"
    alphas_text = f" and alpha=({', '.join(f'{alpha:.3g}' for alpha in trial.values)}) were" if finds_alpha else " was"
    folds_text = (
        "a third of the rows" if (count := n_validation_folds(data.encoded.class_rows)) == 1 else f"{count} folds"
    )
    losses_text = ", ".join(
        f"{_loss_text(earlier.loss)} at {step.params['order']}" for step, _, earlier in accepted_trials
    )
    choice_text = (
        f"order={variant.params['order']}{qualifier}{alphas_text} chosen by validation log loss of {folds_text}"
    )
    return OrderChoice(variant, data, f"{choice_text}: {losses_text}{ahead_text}; {reason}{cuts}")


def _evaluate(
    recipe: Recipe, rows: TrainingData, settings: Mapping[str, float], previous: Candidate | None,
    max_memory: int | None, stop: StopToken, on_trial: Callable[[Mapping[str, float]], None],
) -> Candidate | None:  # fmt: skip
    """Return a recipe's candidate, its losses on folds of `rows`; None if too few rows can be held out.

    Args:
        settings: order and cuts of the trial, reported to `on_trial` with each trial of alphas.
        previous: the candidate of the order before; once the first fold is not below it, the others may be skipped.
        max_memory: bytes that a fit may take; None for half of the free memory.
    """
    request = FitRequest(
        rows, comparable := _comparable_recipe(recipe), comparable.params, _report_nothing, stop, max_memory=max_memory
    )
    return best_on_folds(request, lambda trial: on_trial({**settings, **trial}), previous)


def _try_mdl_cuts(
    smooth: Recipe, rows: TrainingData, smooth_trial: Candidate, encoded_as: Callable[[Recipe], TrainingData],
    max_memory: int | None, stop: StopToken, on_trial: Callable[[Mapping[str, float]], None],
) -> tuple[Recipe, TrainingData, Candidate, str]:  # fmt: skip
    """Compare MDL's cuts, and ordered levels that are not smoothed, with a recipe of smooth levels, whose candidate is
    known.

    Returns the recipe, rows and candidate to go on with, and a text of the reason. The other arguments are those of
    `choose_order`.
    """
    recipe, order = smooth.replace(discretize="mdl-smooth"), smooth.params["order"]
    cut_rows = encoded_as(recipe)
    assert cut_rows.encoder is not None, "encoded by this recipe"
    mdl_smooth = cut_rows.encoded.smooth_levels
    differs = mdl_smooth != rows.encoded.smooth_levels
    if not differs.any():
        return smooth, rows, smooth_trial, ""  # the same levels
    trial = _evaluate(recipe, cut_rows, {"order": order, "smooth": 0.0}, smooth_trial, max_memory, stop, on_trial)
    if trial is not None and trial.is_below(smooth_trial):
        smooth_names = [name for name, levels in zip(cut_rows.encoded.names, mdl_smooth, strict=True) if levels]
        names = ", ".join(smooth_names[:5]) + f" and {len(smooth_names) - 5} more" * (len(smooth_names) > 5)
        smooth_text = f" (smooth: {names})" if names else ""
        changed_columns, numeric = set(differs.nonzero()[0]), set(cut_rows.encoder.numeric_)
        changes = [f"numbers are cut by MDL{smooth_text}"] * bool(changed_columns & numeric)
        changes += ["ordered levels are not smoothed"] * bool(changed_columns - numeric)
        reason = (
            f"; {' and '.join(changes)}, with smooth levels alone it was {_loss_text(smooth_trial.loss)} at {order}"
        )
        return recipe, cut_rows, trial, reason
    return smooth, rows, smooth_trial, ""


def _loss_text(loss: float) -> str:
    """Return a loss with four decimals, a small one with two significant digits."""
    return f"{loss:.4f}" if loss >= 0.001 else f"{loss:.2g}"


def _comparable_recipe(recipe: Recipe) -> Recipe:
    """Return the recipe whose log loss is compared: with NLL for the hinge loss, which has no log loss, and all tuples
    for keep="auto", which is chosen later.
    """
    replacements: list[tuple[str, str, Any]] = [("objective", "hinge", "nll"), ("keep", AUTO, 1.0)]
    return recipe.replace(
        **{name: replacement for name, replaced, replacement in replacements if recipe.params.get(name) == replaced}
    )


def limit_work(recipe: Recipe, rows: TrainingData, max_memory: int | None, stop: StopToken) -> tuple[Recipe, float]:
    """Return the recipe, with `keep` if all tuples would take too long, and the ratio of the budget to the work.

    The order is not tried if the ratio is below 1. rows: the training rows; max_memory: bytes, None for half of the
    free memory.
    """
    encoded, order = rows.encoded, recipe.params["order"]
    tuples = recipe.definition.counted_tuples(recipe.params, encoded.n_columns)[-1]
    n_columns = len(tuple_columns(encoded.levels, tuples))
    n_tuples, budget_factor = comb(n_columns, order), 1
    n_folds = n_validation_folds(encoded.class_rows)
    budget_seconds = min(max(SECONDS_PER_ROW * encoded.n_rows, MIN_PASS_SECONDS), MAX_PASS_SECONDS)
    if n_tuples > MAX_PLANNED_TUPLES:  # too many to plan a cover or to list them for an estimate
        work_seconds = (LOOKUP_SECONDS * encoded.n_rows + LISTING_SECONDS) * n_tuples
    else:
        comparable_recipe = _comparable_recipe(recipe)
        uses_rows = recipe.params.get("alpha") == AUTO and uses_gram_matrix(recipe, encoded)
        budget_factor = GRAM_BUDGET_FACTOR if uses_rows else 1
        lower_bound = estimate(comparable_recipe, TableShape(encoded, stop=stop, covers=False), max_memory)
        require_memory(lower_bound)
        work_seconds = (
            PLANNED_FACTOR * LOOKUP_SECONDS * encoded.n_rows * encoded.n_classes + LISTING_SECONDS
        ) * n_tuples
        is_surely_affordable = n_folds * work_seconds <= budget_factor * budget_seconds
        if not is_surely_affordable or lower_bound.cost.bytes > lower_bound.max_bytes / PLANNED_FACTOR:
            fit_estimate = estimate(comparable_recipe, TableShape(encoded, stop=stop), max_memory)
            require_memory(fit_estimate)
            work_seconds = fit_estimate.cost.seconds
    budget_ratio = budget_factor * budget_seconds / (work_seconds * n_folds)
    n_kept = int(budget_ratio * n_tuples)
    if order != 2 or budget_ratio >= 1.0 or n_kept < n_columns or not isinstance(recipe.definition, HierarchicalFamily):
        return recipe, budget_ratio
    return recipe.replace(keep=min(n_kept, max_kept(recipe.params["keep"], n_tuples))), 1.0


def lacking_order(
    recipe: Recipe, data: TrainingData, orders: Sequence[int], max_memory: int | None = None, stop: StopToken = NEVER
) -> int | None:
    """Return the lowest of some orders of which a fitted recipe lacks a tuple; None if it lacks none.

    A score test decides (fitting/tuple_tests.py). The recipe, with its alphas chosen, is fitted to at most
    MAX_TESTED_ROWS of the rows. Smooth levels are merged to few before the test, so that cells have rows. An order with
    more than MAX_TESTED_TUPLES tuples, or more than MAX_TESTED_CELLS cells, is not tested.
    """
    encoded, settings = data.encoded, _comparable_recipe(recipe)
    if encoded.n_rows > MAX_TESTED_ROWS:
        drawn = np.random.default_rng(recipe.seed).choice(encoded.n_rows, MAX_TESTED_ROWS, replace=False)
        encoded = encoded.take(np.sort(drawn))
    columns = informative_columns(encoded.levels, recipe.missing == "skip")
    scores: Floats | None = None
    for order in orders:
        n_tuples, merged = (
            comb(len(columns), order),
            encoded.with_merged_levels(max(2, int(MAX_SMOOTH_CELLS ** (1 / order)))),
        )
        n_cells = min(count_cells(merged.levels[columns], order), n_tuples * encoded.n_rows)
        if not 0 < n_tuples <= MAX_TESTED_TUPLES or n_cells > MAX_TESTED_CELLS:
            continue
        if scores is None:  # of unmerged rows, in the order of `encoded`
            rows = TrainingData(encoded, None, None, data.n_jobs, merge=False)
            request = FitRequest(rows, settings, settings.params, _report_nothing, stop, max_memory=max_memory)
            problem = settings.definition.make(request)
            w = first_weights(problem.fit.objective, request, settings.params.get("alpha", 0.0))
            w = final_weights(problem, stop) if w is None else w
            scores = problem.fit.objective.scores(w)[:, : encoded.n_classes]
        tuples, max_p = list(combinations(columns, order)), LACKING_P / n_tuples
        if score_tests(scores, merged, tuples, data.n_jobs, stop, max_p)["p"].min() < max_p:
            return order
    return None


def _report_nothing(status: str) -> None:
    """Progress callback that does nothing."""


def choose_n_tuples(recipe: Recipe, build: Build, stop: StopToken) -> tuple[Recipe, str]:
    """Return the recipe with the share of tuples that the validation rows chose, and a sentence.

    Args:
        recipe: a recipe with keep="auto".
        build: see `Build`.
        stop: ends the search between two steps.

    Raises:
        MemoryLimitError: not even the smallest model fits.
        RecipeError: no fit ended well.
    """
    fold, losses = ShareFold(recipe, build), dict[float, float]()
    best_candidate = choose_alpha(
        [fold], SHARES, stop, lambda candidate: losses.update({candidate.values[0]: candidate.loss})
    )
    if best_candidate is None:
        raise fold.memory_error or RecipeError(
            'keep="auto" found no share of the tuples whose fit ends well; give a number'
        )
    (keep,), lowest_share = best_candidate.values, min(losses, key=lambda share: losses[share])
    comparison = f"within one standard error of the lowest, {losses[lowest_share]:.4f} at {lowest_share:g}"
    return recipe.replace(keep=keep), (
        f"keep={keep:g} was chosen by log loss on {round(float(best_candidate.weights.sum())):,} validation rows: "
        f"{best_candidate.loss:.4f}, {'the lowest' if keep == lowest_share else comparison}"
    )


@dataclass
class ShareFold:
    """Fits of a recipe that keep a share of the tuples; `memory_error` is set if the last did not fit into memory."""

    recipe: Recipe
    build: Build
    weights: Floats = field(default_factory=lambda: np.ones(1))
    memory_error: MemoryLimitError | None = None

    def evaluate(self, value: Floats, stop: StopToken, close: bool = False) -> tuple[Floats, float]:
        """Fit with the share value[0] of the tuples; return -log p (m,) of the validation rows, and passes.

        A model that needs too much memory counts as failed; `close` is ignored. See `choose_alpha.Fold`.
        """
        try:
            losses, self.weights = self._losses(self.recipe.replace(keep=float(value[0])), stop)
        except MemoryLimitError as error:
            self.memory_error, self.weights = error, np.ones(1)
            losses = np.array([np.inf])
        return losses, 0.0

    def _losses(self, recipe: Recipe, stop: StopToken) -> tuple[Floats, Floats]:
        """Return the losses and the weights of the validation rows after a fit."""
        problem = self.build(recipe)
        rows = problem.heldout
        assert rows is not None
        return row_losses(problem.fit.objective, final_weights(problem, stop), rows), rows.weights
