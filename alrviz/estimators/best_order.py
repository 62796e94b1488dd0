"""order="auto" beside alpha="auto": the order whose fits, each at its own best penalties, lose least on rows held out.

Orders 1, 2, 3 are tried in turn, each with its own cuts (see `Recipe.most_levels`), and the alphas of each are found as
fitting/solvers/alpha_tuned.py says. An order is taken where its log loss is lower than that of the one before by more
than a standard error of the rows' differences, and ends the search where not. The folds are the same for every order.
Of order 2 as many tuples are kept as are not too much work; an order 3 that would be is not tried.
"""

from math import comb
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.data.encode import Encoder
from alrviz.data.splitting import AT_RANDOM, Splitting
from alrviz.errors import MemoryLimitError
from alrviz.fitting.families.alpha_folds import BEFORE, trials
from alrviz.fitting.families.family import FitRequest
from alrviz.fitting.families.selected import kept_words, most_kept
from alrviz.fitting.folds import FOLDS, MANY
from alrviz.fitting.prepare import Prepared
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers.alpha_tuned import AlphaTrial, is_above
from alrviz.models.cell_space import count_cells
from alrviz.stop import NEVER, StopToken

HIGHEST = 3
# Lookups of a pass over the folds, and of CELL a cell and class beside them, beyond which an order is not tried:
# ROW_WORK a row, but for about half a minute of one thread at least and five at most.
LEAST_WORK, ROW_WORK, MOST_WORK, CELL = 5e6, 1000, 5e7, 4


def best_order(
    recipe: Recipe,
    X: Any,
    y: NDArray[Any],
    weights: NDArray[np.float64],
    *,
    categorical_features: Any = "from_dtype",
    splitting: Splitting = AT_RANDOM,
    n_jobs: int | None = None,
    max_memory: int | None = None,
    stop: StopToken = NEVER,
) -> tuple[Recipe, pd.DataFrame, str]:
    """Return the recipe with its order and alphas, a line for each trial (order, alpha_1, ..., log_loss), and a
    sentence.

    Raises:
        MemoryLimitError: not even order 1 fits.
        Stopped: once `stop` is pulled.
    """
    lines: list[dict[str, float]] = []
    found: list[tuple[Recipe, AlphaTrial]] = []
    n_columns = X.shape[1]
    why = f"the table has {n_columns} column{'s' * (n_columns > 1)}" if n_columns < HIGHEST else "higher are not tried"
    for order in range(1, min(n_columns, HIGHEST) + 1):
        of = recipe.replace(order=order)
        encoder = Encoder(
            discretize=of.cuts, n_bins=of.most_levels, missing=of.missing, categorical_features=categorical_features
        ).fit(X, y, weights)
        prepared = Prepared(encoder.encode(X, y, weights), None, encoder, n_jobs, splitting=splitting)
        share = min(max(ROW_WORK * len(y), LEAST_WORK), MOST_WORK) / _work(prepared, order)
        if order > 1 and share < 1.0:
            keep = int(share * comb(n_columns, order))
            if order > 2 or keep < n_columns:
                why = f"order {order} is too much work to be chosen by itself (give order={order} to have it)"
                break
            of = of.replace(keep=min(keep, most_kept(of.params["keep"], comb(n_columns, order))))
        try:
            request = FitRequest(prepared, of, of.params, lambda what: None, stop, max_memory=max_memory)
            best = _best(request, order, lines)
        except MemoryLimitError:
            if order == 1:
                raise
            why = f"order {order} needs more memory than may be used"
            break
        if best is None:
            return of.replace(alpha=BEFORE), pd.DataFrame(lines), "too few rows to hold some out: order=1, alpha=1"
        if found and not is_above(_rows(found[-1][1]), _rows(best)):
            why = f"at {order}, {best.loss:.4f}, it is not lower by one standard error"
            break
        found.append((of, best))
    (of, best), losses = found[-1], ", ".join(f"{trial.loss:.4f} at {one.params['order']}" for one, trial in found)
    alphas = ", ".join(f"{alpha:.3g}" for alpha in best.alpha)
    kept = of.params["keep"]
    some = f" of single columns and the best {kept_words(kept)} of each higher order"
    some = some if kept != 1.0 and of.params["order"] > 1 else ""
    folds = "a third of the rows" if len(y) > MANY else f"{FOLDS} folds"
    sentence = (
        f"order={of.params['order']}{some} and alpha=({alphas}), one for each order, were chosen by held-out "
        f"log loss of {folds}: {losses}; {why}"
    )
    return of.replace(alpha=best.alpha), pd.DataFrame(lines), sentence


def _best(request: FitRequest, order: int, lines: list[dict[str, float]]) -> AlphaTrial | None:
    """The best alphas of an order; a line for each that was tried goes to `lines`."""
    search = trials(request, order)
    while True:
        try:
            trial = next(search)
        except StopIteration as end:
            best: AlphaTrial | None = end.value
            return best
        alphas = {f"alpha_{k}": alpha for k, alpha in enumerate(trial.alpha, 1)}
        lines.append({"order": order, **alphas, "log_loss": trial.loss})


def _work(prepared: Prepared, order: int) -> float:
    encoded = prepared.encoded
    tuples = comb(encoded.n_columns, order)
    cells = min(encoded.n_rows * tuples, count_cells(encoded.levels, order))
    return (1 if encoded.n_rows > MANY else FOLDS) * (encoded.n_rows * tuples + CELL * cells * encoded.n_classes)


def _rows(trial: AlphaTrial) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return trial.rows, trial.weights
