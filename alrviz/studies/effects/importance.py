"""Importance of tuples: shares of the score, and the rise of test log loss without them.

share_S       Cov(f_S, F) / Var(F) over the rows, F the score less its intercept; classes weighted by their shares. The
shares sum to 1; one is negative if a tuple offsets others
structural_S  Var(f_S) / Var(F): the share if effects were uncorrelated
nats_S        1/2 mean over the rows of Var over k ~ p(.|x) of f_S[x, k]: about the cost of leaving f_S out
loss_S        rise of test log loss without f_S, with its standard error

Muting a tuple removes its pure effect alone: without a pair the main effects of its columns stay.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pandas as pd

from alrviz.data.encoded import Encoded
from alrviz.errors import RecipeError
from alrviz.kernels import effects as kernels
from alrviz.models.effects import Effects
from alrviz.models.linear import log_softmax
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import NEVER, StopToken
from alrviz.studies.statistics.measures import MEASURES, measures, row_losses

CURVE_POINTS = 200  # maximum points of a curve of losses with the best tuples alone
RANKINGS = ("nats", "share", "structural", "loss")


class Importance:
    """The importance of the tuples of some pure effects.

    Args:
        pure: the effects.
        names: names of the tuples.
        encoded: the rows of the shares.
        heldout: the rows of the losses.
        n_jobs: threads; None for all.
    """

    def __init__(
        self, pure: Effects, names: Sequence[str], encoded: Encoded, heldout: Encoded, n_jobs: int | None = None
    ):
        self._pure, self._names, self._encoded, self._heldout = pure, names, encoded, heldout
        self._n_jobs = n_jobs
        self._table: pd.DataFrame | None = None
        self._curves: dict[str, pd.DataFrame] = {}

    def table(self, stop: StopToken = NEVER) -> pd.DataFrame:
        """Return a row per tuple, the highest "nats" first; computed once."""
        if self._table is None:
            pure = self._pure
            share, structural, nats = pure.importance(self._encoded, self._n_jobs, stop).T
            rises = self._loss_rises(stop)
            loss, error = _mean_and_error(rises[:, 0], rises[:, 1], float(self._heldout.weights.sum()))
            table = pd.DataFrame(
                {
                    "order": pure.sizes, "share": share, "structural": structural, "nats": nats, "loss": loss,
                    "loss_error": error, "cells": np.diff(pure.index.begin),
                },
                pd.Index(self._names, name="columns"),
            ).round(12)  # fmt: skip
            self._table = table.iloc[np.argsort(-nats, kind="stable")]
        return self._table.copy()

    def _loss_rises(self, stop: StopToken) -> Floats:
        """Return the sums over test rows of the rise of -log p(y) without each tuple, and of its square: (T, 2)."""
        pure, heldout = self._pure, self._heldout
        parts = np.zeros((pure.parts(heldout.n_rows), pure.n_tuples, 2))

        def see(rows: slice, effects: Floats, part: int) -> None:
            scores = effects.sum(axis=1) + pure.intercept
            kernels.losses_without(effects, scores, heldout.y[rows], heldout.weights[rows], parts[part])

        pure.visit(heldout.codes, see, None, self._n_jobs, stop)
        sums: Floats = parts.sum(axis=0)
        return sums

    def mute(self, tuples: Sequence[int]) -> pd.DataFrame:
        """Return the measures of the test rows with all tuples ("all") and without these ("muted")."""
        heldout, lines = self._heldout, {}
        for name, log_p in zip(("all", "muted"), self._with_and_without(tuples), strict=True):
            measured = measures(log_p, heldout.y, heldout.weights)
            lines[name] = {measure: getattr(measured, measure) for measure in MEASURES}
        return pd.DataFrame.from_dict(lines, orient="index")

    def cost_without(self, tuples: Sequence[int]) -> tuple[float, float]:
        """Return the rise of test log loss without all of these tuples, and its standard error."""
        complete, reduced = (row_losses(log_p, self._heldout.y) for log_p in self._with_and_without(tuples))
        rise, weights = reduced - complete, self._heldout.weights
        mean, error = _mean_and_error(weights @ rise, weights @ rise**2, float(weights.sum()))
        return float(mean), float(error)

    @cached_property
    def _scores(self) -> Floats:
        return self._pure.scores(self._heldout.codes, None, self._n_jobs)

    def _with_and_without(self, tuples: Sequence[int]) -> tuple[Floats, Floats]:
        """Return the log probabilities (N, C) of the test rows with all tuples, and without these."""
        muted = self._pure.scores(self._heldout.codes, tuples, self._n_jobs) if len(tuples) else 0.0
        return log_softmax(self._scores), log_softmax(self._scores - muted)

    def keep_best(self, by: str = "nats", stop: StopToken = NEVER) -> pd.DataFrame:
        """Return the losses on the test rows with only the best tuples kept, a row for each number kept.

        The numbers are 0 to all; of more than 200 tuples, at most 200 numbers above 0. by: the column of `table()` that
        ranks the tuples. Columns: kept, added, order, log_loss, error. Cached for each `by`.
        """
        if by not in RANKINGS:
            raise RecipeError(f"by={by!r} ranks no tuples; expected one of {', '.join(map(repr, RANKINGS))}")
        if by not in self._curves:
            ranked = self.table(stop).sort_values(by, ascending=False, kind="stable")
            self._curves[by] = self._losses_kept(ranked, stop)
        return self._curves[by].copy()

    def _losses_kept(self, ranked: pd.DataFrame, stop: StopToken) -> pd.DataFrame:
        heldout, pure, total = self._heldout, self._pure, len(ranked)
        number_by_name = {name: t for t, name in enumerate(self._names)}
        kept_counts = np.arange(1, total + 1)
        if total > CURVE_POINTS:
            kept_counts = np.unique(np.geomspace(1, total, CURVE_POINTS).round().astype(int))
        sums = np.zeros((pure.parts(heldout.n_rows), len(kept_counts) + 1, 2))

        def see(rows: slice, effects: Floats, part: int) -> None:
            y, weights = heldout.y[rows], heldout.weights[rows]
            kernels.losses_of_first_tuples(effects, pure.intercept, y, weights, kept_counts, sums[part])

        pure.visit(heldout.codes, see, [number_by_name[name] for name in ranked.index], self._n_jobs, stop)
        losses = sums.sum(axis=0) / heldout.weights.sum()
        added, orders = [None, *ranked.index[kept_counts - 1]], [0, *ranked["order"].to_numpy()[kept_counts - 1]]
        return pd.DataFrame(
            {
                "kept": [0, *kept_counts], "added": added, "order": orders, "log_loss": losses[:, 0],
                "error": losses[:, 1],
            }
        )  # fmt: skip


def _mean_and_error(first: Floats, second: Floats, n: float) -> tuple[Floats, Floats]:
    """Return mean and standard error from the sums of values and of squares over rows of total weight n."""
    mean = first / n
    return mean, np.sqrt(np.maximum(0.0, second / n - mean**2) / n)
