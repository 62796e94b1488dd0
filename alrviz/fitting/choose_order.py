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
from functools import reduce
from itertools import combinations
from math import comb, inf, prod
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.data.encoded import Encoded
from alrviz.data.splits import n_validation_folds
from alrviz.errors import MemoryLimitError, RecipeError, Stopped, TimeOver
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
from alrviz.fitting.solvers.choose_alpha import Candidate, GridSearch, better_of, choose_alpha, row_losses
from alrviz.fitting.tuple_tests import MIN_EXPECTED, score_tests
from alrviz.models.cell_space import count_cells, informative_columns, tuple_columns
from alrviz.models.linear import LinearModel
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import NEVER, Deadline, StopToken

MAX_ORDER = 12
# An order is not tried if a pass over the folds takes more seconds on one thread of the reference machine than
# SECONDS_PER_ROW times the rows, within these bounds: about half a minute to five minutes for all passes.
# Half of that keeps half as many pairs: log loss on new rows letter-recognition .208 instead of .172, pendigits .063
# instead of .049.
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
# The score test after an order that did not lower the loss (`lacking_order`):
N_ORDERS_AHEAD = 2  # how many further orders are tested
LACKING_P = 1e-4  # an order is tried if its smallest p, times its number of tuples (Bonferroni), is below this
MAX_TESTED_ROWS, MAX_TESTED_TUPLES, MAX_TESTED_CELLS = 10_000, 3_000, 3_000_000
MAX_SMOOTH_CELLS = 256  # of a tuple of smooth columns, whose levels are merged to so few
KEEP_SHARES = GridSearch(
    (1.0, 0.8, 0.6, 0.4, 0.3, 0.2, 0.1, 0.05), patience=2, one_standard_error=True
)  # for keep="auto"
# Returns the fit of a recipe to the training rows without the validation rows, which are its held-out rows.
Build = Callable[[Recipe], FitProblem]


@dataclass(frozen=True, eq=False)
class OrderChoice:
    """A recipe whose order, alphas and cuts are chosen.

    Attributes:
        recipe: with its order, its alphas and the share of tuples to keep.
        prepared: the rows, encoded as that recipe says.
        sentence: the choices, and the losses that decided them.
        model: of the first fold at the chosen alphas, at which the fit may start; None if there is none.
    """

    recipe: Recipe
    prepared: TrainingData
    sentence: str
    model: LinearModel | None = None


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
    search = _OrderSearch(
        recipe, prepared, encoded_as, _TimeLimit(time_limit, stop), max_memory=max_memory, stop=stop, on_trial=on_trial
    )
    return search.run()


@dataclass(frozen=True, eq=False)
class _OrderTrial:
    """A recipe of one order, at its best alphas and cuts: the training rows in these cuts, the losses on folds, and
    models of folds.
    """

    recipe: Recipe
    data: TrainingData
    candidate: Candidate
    models: list[LinearModel]


class _OrderNotTried(Exception):
    """An order is not tried, which ends the search; the message is the reason."""


class _TimeLimit:
    """The seconds that a search may take, counted from its start, and an estimate of those of its next trial.

    Args:
        seconds: the limit, or None.
        stop: stops the `deadline` too.
    """

    def __init__(self, seconds: float | None, stop: StopToken) -> None:
        self.deadline = Deadline(stop, inf if seconds is None else seconds)
        self.text = "" if seconds is None else f"time_limit={seconds:g}"
        self._begin = self._trial_seconds = 0.0
        self._budget_ratio = 1.0  # of the latest trial, see `limit_work`

    def begin_trial(self, order: int, budget_ratio: float) -> None:
        """Measure the seconds of an order from now on; raise _OrderNotTried if they will be more than are left.

        The estimate is the time of the latest trial, times how much more work this one is (ratio of the budget ratios).
        Before the first trial nothing is known, and no order is refused.
        """
        estimated_seconds = self._trial_seconds
        if estimated_seconds:
            estimated_seconds *= max(1.0, self._budget_ratio / budget_ratio)
        if estimated_seconds > max(0.0, self.deadline.left):
            seconds_text = f"{estimated_seconds:,.{int(estimated_seconds < 1)}f} s"
            estimate_text = f"it takes over {seconds_text}, more than was left of {self.text}"
            raise _OrderNotTried(f"order {order} was not tried: {estimate_text}")
        self._begin, self._budget_ratio = monotonic(), budget_ratio

    def end_trial(self) -> None:
        """Keep the seconds since the trial began."""
        self._trial_seconds = monotonic() - self._begin

    @property
    def allows_another(self) -> bool:
        """Whether as many seconds are left as the latest trial took."""
        return self.deadline.left >= self._trial_seconds


@dataclass(eq=False)
class _OrderSearch:
    """The search for an order; see `choose_order` for its arguments.

    Attributes:
        recipe, prepared: those of the latest trial, in whose cuts higher orders are tried.
        time: the time limit.
        accepted: the accepted trials, from order 1 on; the last one is chosen.
        cuts_text, ahead_text: what the sentence of the choice says of MDL's cuts, and of the score test.
    """

    recipe: Recipe
    prepared: TrainingData
    encoded_as: Callable[[Recipe], TrainingData]
    time: _TimeLimit
    max_memory: int | None
    stop: StopToken
    on_trial: Callable[[Mapping[str, float]], None]
    accepted: list[_OrderTrial] = field(default_factory=list)
    cuts_text: str = ""
    ahead_text: str = ""

    def __post_init__(self) -> None:
        self._requested, self._encoding = self.recipe, self.recipe.encoding
        self._finds_order, self._finds_alpha = (self.recipe.params.get(name) == AUTO for name in ("order", "alpha"))

    def run(self) -> OrderChoice:
        """Try one order after the other until one is not accepted and the score test finds no tuple lacking."""
        n_columns, order = self.prepared.encoded.n_columns, self._requested.params["order"]
        reason = f"the table has {n_columns} column{'s' * (n_columns > 1)}"
        reason = reason if n_columns <= MAX_ORDER else f"{MAX_ORDER} is the highest order"
        untried = deque(range(1, min(n_columns, MAX_ORDER) + 1) if self._finds_order else (order,))
        while untried:
            order = untried.popleft()
            try:
                trial = self._try_order(order)
            except _OrderNotTried as end:
                reason = str(end)
                break
            if trial is None:
                fallback = self.recipe.replace(alpha=INITIAL_ALPHA) if self._finds_alpha else self.recipe
                text = f"too few rows to hold some out: order={order}{f', alpha={INITIAL_ALPHA:g}' * self._finds_alpha}"
                return OrderChoice(fallback, self.prepared, text)
            if not self.accepted or trial.candidate.is_below(self.accepted[-1].candidate):
                self.accepted.append(trial)
                continue
            reason = self._rejection_text(trial)
            next_order = self._lacking_order([*untried][:N_ORDERS_AHEAD])
            if next_order is None:
                break
            self.ahead_text = (
                f"; {order} did not lower it, but a score test found that tuples of {next_order} are lacking"
            )
            untried = deque(higher for higher in untried if higher >= next_order)
        return self._choice(reason)

    def _try_order(self, order: int) -> _OrderTrial | None:
        """Evaluate an order, with both kinds of cuts if they are to be chosen; None if too few rows can be held out.

        Raises:
            _OrderNotTried: the columns, the memory or the time do not suffice, though they did for a lower order.
        """
        previous = self.accepted[-1].candidate if self.accepted else None
        # Without an accepted order there is nothing to fall back on: then the time limit does not stop the trial.
        token = self.time.deadline if self.accepted else self.stop
        recipe = self.recipe.replace(order=order)
        try:
            data = self.prepared if recipe.encoding == self._encoding else self.encoded_as(recipe)
            recipe, budget_ratio = self._within_budget(recipe, data)
            self.time.begin_trial(order, budget_ratio)
            chooses_cuts = recipe.discretize == AUTO and bool(data.encoded.smooth_levels.any())
            settings = {"order": order, **({"smooth": 1.0} if chooses_cuts else {})}
            candidate, models = self._evaluate(recipe, data, settings, previous, token)
            self.time.end_trial()
            if chooses_cuts and not self.time.allows_another:
                self.cuts_text = f"; numbers cut by MDL were not tried, as {self.time.text} had no time left"
            elif chooses_cuts and candidate is not None:
                recipe, data, candidate, models = self._try_mdl_cuts(recipe, data, candidate, models)
        except Stopped:
            if self.stop.stopped or not self.accepted:
                raise
            raise _OrderNotTried(f"order {order} was given up when {self.time.text} was over") from None
        except MemoryLimitError:
            if not self.accepted:
                raise
            raise _OrderNotTried(f"order {order} needs more memory than may be used") from None
        if recipe.discretize == AUTO:
            recipe = recipe.replace(discretize="smooth")
        self.recipe = self.recipe.replace(order=order, discretize=recipe.discretize)
        self.prepared, self._encoding = data, recipe.encoding
        if candidate is None:
            return None
        return _OrderTrial(
            recipe.replace(alpha=candidate.alpha) if self._finds_alpha else recipe, data, candidate, models
        )

    def _within_budget(self, recipe: Recipe, data: TrainingData) -> tuple[Recipe, float]:
        """Return the recipe and ratio of `limit_work`; raise _OrderNotTried if the order has no tuples or too many."""
        order = recipe.params["order"]
        n_informative = len(informative_columns(data.encoded.levels, recipe.missing == "skip"))
        if n_informative < order and order > 1:
            number = f"only {n_informative}" if n_informative else "no"
            raise _OrderNotTried(f"{number} column{'s have' if n_informative > 1 else ' has'} more than one level")
        if not self._finds_order:
            return recipe, 1.0
        recipe, budget_ratio = limit_work(recipe, data, self.max_memory, self.stop)
        if order > 1 and budget_ratio < 1.0:
            raise _OrderNotTried(f"order {order} takes too long to be tried (order={order} fits it anyway)")
        return recipe, budget_ratio

    def _evaluate(
        self,
        recipe: Recipe,
        data: TrainingData,
        settings: Mapping[str, float],
        previous: Candidate | None,
        token: StopToken,
    ) -> tuple[Candidate | None, list[LinearModel]]:
        """Return a recipe's candidate, its losses on folds of the rows, and the models of `best_on_folds`; None if too
        few rows can be held out.

        Args:
            recipe, data: of the trial.
            settings: order and cuts of the trial, reported with each trial of alphas.
            previous: the candidate to be below; folds that cannot decide whether it is are left out.
            token: stops the trial.
        """
        comparable = _comparable_recipe(recipe)
        request = FitRequest(data, comparable, comparable.params, _report_nothing, token, max_memory=self.max_memory)
        start_models = self.accepted[-1].models if self.accepted else []
        return best_on_folds(request, lambda trial: self.on_trial({**settings, **trial}), previous, start_models)

    def _try_mdl_cuts(
        self, smooth: Recipe, rows: TrainingData, smooth_trial: Candidate, smooth_models: list[LinearModel]
    ) -> tuple[Recipe, TrainingData, Candidate, list[LinearModel]]:
        """Compare MDL's cuts, and ordered levels that are not smoothed, with a recipe of smooth levels, whose candidate
        and models are known. Return the recipe, rows, candidate and models to go on with.
        """
        recipe, order = smooth.replace(discretize="mdl-smooth"), smooth.params["order"]
        cut_rows = self.encoded_as(recipe)
        assert cut_rows.encoder is not None, "encoded by this recipe"
        mdl_smooth = cut_rows.encoded.smooth_levels
        differs = mdl_smooth != rows.encoded.smooth_levels
        if not differs.any():
            return smooth, rows, smooth_trial, smooth_models  # the same levels
        trial, models = self._evaluate(recipe, cut_rows, {"order": order, "smooth": 0.0}, smooth_trial, self.stop)
        if trial is None or not trial.is_below(smooth_trial):
            return smooth, rows, smooth_trial, smooth_models
        smooth_names = [name for name, levels in zip(cut_rows.encoded.names, mdl_smooth, strict=True) if levels]
        names = ", ".join(smooth_names[:5]) + f" and {len(smooth_names) - 5} more" * (len(smooth_names) > 5)
        smooth_text = f" (smooth: {names})" if names else ""
        changed_columns, numeric = set(differs.nonzero()[0]), set(cut_rows.encoder.numeric_)
        changes = [f"numbers are cut by MDL{smooth_text}"] * bool(changed_columns & numeric)
        changes += ["ordered levels are not smoothed"] * bool(changed_columns - numeric)
        self.cuts_text = (
            f"; {' and '.join(changes)}, with smooth levels alone it was {_loss_text(smooth_trial.loss)} at {order}"
        )
        return recipe, cut_rows, trial, models

    def _rejection_text(self, trial: _OrderTrial) -> str:
        """Return the reason why the last accepted trial is preferred to another."""
        accepted, candidate = self.accepted[-1], trial.candidate
        fold_note = ""
        if candidate.folds != accepted.candidate.folds:
            previous_loss = _loss_text(accepted.candidate.on_common_rows(candidate).loss)
            previous_order = accepted.recipe.params["order"]
            fold_note = f" on the first fold alone, where order {previous_order} has {previous_loss}"
        order, loss = trial.recipe.params["order"], _loss_text(candidate.loss)
        return f"that of order {order}, {loss}{fold_note}, is not lower by one standard error"

    def _lacking_order(self, orders: Sequence[int]) -> int | None:
        """Return the order of which the accepted model lacks tuples, as `lacking_order` does; None once such an order
        was tried, or if the time is over.
        """
        accepted = self.accepted[-1]
        if self.ahead_text or self.time.deadline.left < 0:
            return None
        return lacking_order(accepted.recipe, accepted.data, orders, self.max_memory, self.stop)

    def _choice(self, reason: str) -> OrderChoice:
        """Return the last accepted trial as the choice; reason: why the search ended."""
        chosen = self.accepted[-1]
        params, trial = chosen.recipe.params, chosen.candidate
        keep = params.get("keep", 1.0) if self._requested.params.get("keep") != params.get("keep") else 1.0
        qualifier = f" of single columns and the best {kept_text(keep)} of each higher order" if keep != 1.0 else ""
        verb = "was"
        if self._finds_alpha:
            alphas_text = ", ".join(f"{alpha:.3g}" for alpha in trial.values)
            verb = f"and alpha={alphas_text if len(trial.values) == 1 else f'({alphas_text})'} were"
        fewest_folds = min((earlier.candidate for earlier in self.accepted), key=lambda candidate: candidate.folds)
        folds_text = "a third of the rows" if fewest_folds.folds == 1 else f"{fewest_folds.folds} folds"
        losses_text = ", ".join(
            f"{_loss_text(earlier.candidate.on_common_rows(fewest_folds).loss)} of order "
            f"{earlier.recipe.params['order']}"
            for earlier in self.accepted
        )
        reason = reason if self._finds_order else "the order is as given"
        return OrderChoice(
            chosen.recipe,
            chosen.data,
            f"order={params['order']}{qualifier} {verb} chosen by validation log loss of {folds_text}: "
            f"{losses_text}{self.ahead_text}; {reason}{self.cuts_text}",
            chosen.models[0] if chosen.models else None,
        )


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
    MAX_TESTED_ROWS of the rows. Smooth levels are merged to few before the test, so that cells have rows. Tuples whose
    cells have too few (`_testable_tuples`), and an order with more than MAX_TESTED_TUPLES tuples or MAX_TESTED_CELLS
    cells, are not tested.
    """
    encoded, settings = data.encoded, _comparable_recipe(recipe)
    if encoded.n_rows > MAX_TESTED_ROWS:
        drawn = np.random.default_rng(recipe.seed).choice(encoded.n_rows, MAX_TESTED_ROWS, replace=False)
        encoded = encoded.take(np.sort(drawn))
    columns = informative_columns(encoded.levels, recipe.missing == "skip")
    scores: Floats | None = None
    for order in orders:
        if comb(len(columns), order) > MAX_TESTED_TUPLES:
            continue
        merged = encoded.with_merged_levels(max(2, int(MAX_SMOOTH_CELLS ** (1 / order))))
        tuples = _testable_tuples(merged, columns, order)
        n_cells = min(count_cells(merged.levels[columns], order), len(tuples) * encoded.n_rows)
        if not tuples or n_cells > MAX_TESTED_CELLS:
            continue
        if scores is None:  # of unmerged rows, in the order of `encoded`
            rows = TrainingData(encoded, None, None, data.n_jobs, merge=False)
            request = FitRequest(rows, settings, settings.params, _report_nothing, stop, max_memory=max_memory)
            problem = settings.definition.make(request)
            w = first_weights(problem.fit.objective, request, settings.params.get("alpha", 0.0))
            w = final_weights(problem, stop) if w is None else w
            scores = problem.fit.objective.scores(w)[:, : encoded.n_classes]
        max_p = LACKING_P / len(tuples)
        if score_tests(scores, merged, tuples, data.n_jobs, stop, max_p)["p"].min() < max_p:
            return order
    return None


def _testable_tuples(encoded: Encoded, columns: NDArray[np.signedinteger], order: int) -> list[tuple[int, ...]]:
    """Return the tuples of some columns in which a row's cell has, on average over the rows, at least MIN_EXPECTED
    expected rows of its class.

    The score test looks only at cells and classes with so many. (vowel, 693 rows of 11 classes: 3 s for 3,003 tuples of
    243 and 256 cells, of which hardly a cell was tested.)
    """

    def concentration(codes: NDArray[np.integer]) -> float:
        """Return the probability that two rows have the same code."""
        shares = np.bincount(codes, encoded.weights) / encoded.total
        return float(shares @ shares)

    same_level = {j: concentration(encoded.codes[j]) for j in columns.tolist()}
    expected_rows = encoded.total * concentration(encoded.y)
    return [
        members
        for members in combinations(columns.tolist(), order)
        if expected_rows * prod(same_level[j] for j in members) >= MIN_EXPECTED
    ]


def _report_nothing(status: str) -> None:
    """Progress callback that does nothing."""


def choose_n_tuples(recipe: Recipe, build: Build, stop: StopToken) -> tuple[Recipe, str]:
    """Return the recipe with the share of tuples that the validation rows chose, and a sentence.

    Args:
        recipe: a recipe with keep="auto".
        build: see `Build`.
        stop: ends the search between two steps; at a `Deadline` with the best share so far.

    Raises:
        MemoryLimitError: not even the smallest model fits.
        RecipeError: no fit ended well.
    """
    fold = ShareFold(recipe, build)
    candidates, time_text = list[Candidate](), ""
    try:
        best_candidate = choose_alpha([fold], KEEP_SHARES, stop, candidates.append)
    except TimeOver:
        if not candidates:
            keep = recipe.definition.params["keep"].default
            return recipe.replace(keep=keep), f"keep={keep:g}, the default: the time was over before a share was tried"
        best_candidate, time_text = reduce(better_of, candidates), "; further ones were not tried as the time was over"
    losses = {candidate.values[0]: candidate.loss for candidate in candidates}
    if best_candidate is None:
        raise fold.memory_error or RecipeError(
            'keep="auto" found no share of the tuples whose fit ends well; give a number'
        )
    (keep,), lowest_share = best_candidate.values, min(losses, key=lambda share: losses[share])
    comparison = f"within one standard error of the lowest, {losses[lowest_share]:.4f} at {lowest_share:g}"
    return recipe.replace(keep=keep), (
        f"keep={keep:g} was chosen by log loss on {round(float(best_candidate.weights.sum())):,} validation rows: "
        f"{best_candidate.loss:.4f}, {'the lowest' if keep == lowest_share else comparison}{time_text}"
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
