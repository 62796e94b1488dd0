"""Importance of tuples: shares of the score, and the rise of test log loss without them.

share_S       Cov(f_S, F) / Var(F) over the rows, F the score less its intercept; classes weighted by their shares. The
shares sum to 1; one is negative if a tuple offsets others
structural_S  Var(f_S) / Var(F): the share if effects were uncorrelated
nats_S        1/2 mean over the rows of Var over k ~ p(.|x) of f_S[x, k]: about the cost of leaving f_S out
loss_S        rise of test log loss without f_S, with its standard error

Muting a tuple removes its pure effect alone: without a pair the main effects of its columns stay.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from alrviz.data.encoded import Encoded
from alrviz.errors import RecipeError, nearest
from alrviz.estimators.frames import name_separator, tuple_names
from alrviz.kernels import effects as kernels
from alrviz.models.effects import Effects
from alrviz.models.linear import log_softmax
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import NEVER, StopToken
from alrviz.studies.statistics.measures import measures, row_losses

CURVE_POINTS = 200  # maximum points of a curve of losses with the best tuples alone
RANKINGS = ("nats", "share", "structural", "loss")


class NamedEffects:
    """Pure effects whose tuples have names, and their importance.

    Args:
        pure: the effects.
        columns: names of the columns.
        encoded: the rows that define pure effects and shares.
        heldout: the rows of the losses; None for `encoded`.
        n_jobs: threads; None for all.

    Attributes:
        pure, columns, encoded, heldout: see Args. has_heldout: whether the rows of the losses are others.
        names: name of each tuple, "odor & habitat"; joined by " && " if a column's name contains " & ".
    """

    def __init__(
        self, pure: Effects, columns: Sequence[str], encoded: Encoded, heldout: Encoded | None, n_jobs: int | None
    ):
        self.pure, self.columns, self.encoded = pure, list(columns), encoded
        self.heldout, self.has_heldout = heldout or encoded, heldout is not None
        self.names = tuple_names(pure.space.members, self.columns)
        self._n_jobs = n_jobs
        self._table: pd.DataFrame | None = None
        self._curves: dict[str, pd.DataFrame] = {}

    def number_of(self, columns: Any) -> int:
        """Return the index of a tuple: a column's name, names, or the tuple's name.

        Raises:
            RecipeError: if there is no such column, or no such tuple in the model.
        """
        if not isinstance(columns, str) and len(columns) == 1:
            columns = columns[0]
        if isinstance(columns, str):
            columns = [columns] if columns in self.columns else columns.split(name_separator(self.columns))
        key = tuple(sorted({column_number(self.columns, name) for name in columns}))
        if key not in self.pure.numbers:
            tuple_name = name_separator(self.columns).join(map(str, columns))
            raise RecipeError(
                f"the model has no tuple {tuple_name!r}; expected columns that are together in one "
                f"of its tuples, of at most {self.pure.sizes.max()} columns"
            )
        return self.pure.numbers[key]

    def importance(self, stop: StopToken = NEVER) -> pd.DataFrame:
        """Return a row per tuple, indexed by its name, the highest "nats" first; computed once.

        Columns: "order" (number of columns), "share", "structural", "nats", "loss" and "loss_error" (rise of test log
        loss without it, and its standard error), and "cells".
        """
        if self._table is None:
            pure = self.pure
            share, structural, nats = pure.importance(self.encoded, self._n_jobs, stop).T
            rises = self._loss_rises(stop)
            loss, error = mean_and_error(rises[:, 0], rises[:, 1], float(self.heldout.weights.sum()))
            importance_table = pd.DataFrame(
                {
                    "order": pure.sizes, "share": share, "structural": structural, "nats": nats, "loss": loss,
                    "loss_error": error, "cells": np.diff(pure.index.begin),
                },
                pd.Index(self.names, name="columns"),
            ).round(12)  # fmt: skip
            self._table = importance_table.iloc[np.argsort(-nats, kind="stable")]
        return self._table.copy()

    def orders(self) -> pd.DataFrame:
        """Return a row per order: number of "tuples", and their sums of "share", "structural", "nats"."""
        groups = self.importance().groupby("order")
        sums_by_order: pd.DataFrame = groups[["share", "structural", "nats"]].sum()
        sums_by_order.insert(0, "tuples", groups.size())
        return sums_by_order

    def _loss_rises(self, stop: StopToken) -> Floats:
        """Return the sums over test rows of the rise of -log p(y) without each tuple, and of its square: (T, 2)."""
        pure, heldout = self.pure, self.heldout
        sums_by_part = np.zeros((pure.parts(heldout.n_rows), pure.n_tuples, 2))

        def see(rows: slice, effects: Floats, part: int) -> None:
            scores = effects.sum(axis=1) + pure.intercept
            kernels.losses_without(effects, scores, heldout.y[rows], heldout.weights[rows], sums_by_part[part])

        pure.visit(heldout.codes, see, None, self._n_jobs, stop)
        sums: Floats = sums_by_part.sum(axis=0)
        return sums

    def mute(self, *tuples: Any) -> pd.DataFrame:
        """Return the measures of the test rows with all tuples ("all") and without these ("muted").

        Only the pure effect is removed: muting a pair leaves the main effects of its columns. Columns: `MEASURES`.
        """
        heldout, measures_by_name = self.heldout, {}
        for name, log_p in zip(("all", "muted"), self._with_and_without(tuples), strict=True):
            measures_by_name[name] = measures(log_p, heldout.y, heldout.weights).__dict__
        return pd.DataFrame.from_dict(measures_by_name, orient="index")

    def cost_without(self, *tuples: Any) -> tuple[float, float]:
        """Return "loss" and "loss_error" of `importance` for several tuples at once."""
        losses_of_all, losses_without = (row_losses(log_p, self.heldout.y) for log_p in self._with_and_without(tuples))
        rise, weights = losses_without - losses_of_all, self.heldout.weights
        mean, error = mean_and_error(weights @ rise, weights @ rise**2, float(weights.sum()))
        return float(mean), float(error)

    @cached_property
    def _scores(self) -> Floats:
        return self.pure.scores(self.heldout.codes, None, self._n_jobs)

    def _with_and_without(self, tuples: Iterable[Any]) -> tuple[Floats, Floats]:
        """Return the log probabilities (N, C) of the test rows with all tuples, and without these."""
        tuple_indices = sorted({self.number_of(columns) for columns in tuples})
        muted_scores = self.pure.scores(self.heldout.codes, tuple_indices, self._n_jobs) if tuple_indices else 0.0
        return log_softmax(self._scores), log_softmax(self._scores - muted_scores)

    def keep_best(self, by: str = "nats", stop: StopToken = NEVER) -> pd.DataFrame:
        """Return the losses on the test rows with the k best tuples alone, ranked by a column of `importance`.

        A row for k from 0 (the intercept) to all, at most 200 of them: "kept", "added" (the last tuple), "order",
        "log_loss" and "error". Cached for each `by`.
        """
        if by not in RANKINGS:
            raise RecipeError(f"by={by!r} ranks no tuples; expected one of {', '.join(map(repr, RANKINGS))}")
        if by not in self._curves:
            ranked = self.importance(stop).sort_values(by, ascending=False, kind="stable")
            self._curves[by] = self._losses_kept(ranked, stop)
        return self._curves[by].copy()

    def _losses_kept(self, ranked: pd.DataFrame, stop: StopToken) -> pd.DataFrame:
        """Compute the losses with the first k tuples of a ranking alone, for some k; ranked: `importance`, the best
        first.
        """
        heldout, pure, n_tuples = self.heldout, self.pure, len(ranked)
        tuple_index_by_name = {name: tuple_index for tuple_index, name in enumerate(self.names)}
        kept_counts = np.arange(1, n_tuples + 1)
        if n_tuples > CURVE_POINTS:
            kept_counts = np.unique(np.geomspace(1, n_tuples, CURVE_POINTS).round().astype(int))
        sums = np.zeros((pure.parts(heldout.n_rows), len(kept_counts) + 1, 2))

        def see(rows: slice, effects: Floats, part: int) -> None:
            y, weights = heldout.y[rows], heldout.weights[rows]
            kernels.losses_of_first_tuples(effects, pure.intercept, y, weights, kept_counts, sums[part])

        pure.visit(heldout.codes, see, [tuple_index_by_name[name] for name in ranked.index], self._n_jobs, stop)
        losses = sums.sum(axis=0) / heldout.weights.sum()
        added, orders = [None, *ranked.index[kept_counts - 1]], [0, *ranked["order"].to_numpy()[kept_counts - 1]]
        return pd.DataFrame(
            {
                "kept": [0, *kept_counts], "added": added, "order": orders, "log_loss": losses[:, 0],
                "error": losses[:, 1],
            }
        )  # fmt: skip


def mean_and_error(value_sums: Floats, square_sums: Floats, total_weight: float) -> tuple[Floats, Floats]:
    """Return mean and standard error from the sums of values and of squares over rows of total weight n."""
    mean = value_sums / total_weight
    return mean, np.sqrt(np.maximum(0.0, square_sums / total_weight - mean**2) / total_weight)


def column_number(columns: Sequence[str], name: Any) -> int:
    """Return the number of a column; raises `RecipeError` if there is none of this name."""
    if name not in columns:
        raise RecipeError(f"no column {name!r} in the model{nearest(str(name), columns)}")
    return columns.index(name)
