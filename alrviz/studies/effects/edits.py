"""Edits of a fitted score table: changes of single cells by hand, and columns made monotone, each with its price.

    value[cell, k] = f[cell, k] - mean of f[cell, o] over the classes o other than k        f: pure effect of the cell

An edit changes a value of one cell and class from `old` to `new`: rows in the cell get new - old more score for the
class, all other rows keep their scores. Of two classes a value is what the cell adds to the log-odds.
"""

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_number
from sklearn.isotonic import isotonic_regression
from sklearn.utils.validation import check_is_fitted

from alrviz.data.encode import Encoder
from alrviz.errors import RecipeError, nearest
from alrviz.estimators.base import CellClassifier
from alrviz.estimators.checks import check_table, threads
from alrviz.estimators.model_linear import EDIT_COLUMNS
from alrviz.models.effects import purify_by_counts
from alrviz.models.linear import LinearModel, log_softmax
from alrviz.passes.aligned_buffers import Floats
from alrviz.studies.effects.importance import NamedEffects, column_number, mean_and_error
from alrviz.studies.effects.row_explanation import JOIN, class_number, level_of
from alrviz.studies.statistics.measures import row_losses

DIRECTIONS = ("increasing", "decreasing")
_MIN_CHANGE = 1e-12  # smaller ones are rounding errors of isotonic regression
# Cells without training rows (of smooth levels) follow their neighbours; weights of exactly 0 would divide by 0.
_MIN_WEIGHT = 1e-6


@dataclass(frozen=True, eq=False)
class _Step:
    """A `set`, `monotone` or `flatten`.

    Attributes:
        action: what was done, for the log.
        columns: name of the tuple.
        scores: (S, C) of the cells before it.
        changes: positions (m,) of cells, the number of the class, and old and new values (m,).
    """

    action: str
    columns: str
    scores: Floats
    changes: list[tuple[NDArray[np.intp], int, Floats, Floats]] = field(default_factory=list)


def edit(model: CellClassifier, X: Any, y: Any, sample_weight: Any = None) -> "Edits":
    """Return an empty list of edits of a fitted classifier; each edit is priced on the rows X, y.

    Args:
        model: a fitted classifier whose score is a sum over cells (lr, alr, hlr, halr, salr, hsalr, anje, naive Bayes,
            WANBIA-C, `AutoClassifier`); it is not changed.
        X, y, sample_weight: rows that the model was not fitted to, with their classes and weights.

    Raises:
        RecipeError: if the model's score is no sum over cells, or has no probabilities.
        TableError: if y has a class that the model does not have.

    >>> import alrviz
    >>> data = alrviz.load_demo("age-curve")
    >>> model = alrviz.HLRClassifier(order=1, alpha=1).fit(data.X[:1400], data.y[:1400])
    >>> edits = alrviz.edit(model, data.X[1400:], data.y[1400:])
    >>> edits.monotone("age", "increasing", label="ill")
    >>> bool(edits.price.loc["log_loss", "change"] > 0)  # in truth the young and the old are ill
    True
    """
    if not isinstance(model, CellClassifier) or not hasattr(model, "predict_proba"):
        raise RecipeError(
            f"{type(model).__name__} cannot be edited; expected probabilities from sums over cells: lr, alr, hlr, "
            "halr, salr, hsalr, anje (naive Bayes, WANBIA-C and AutoClassifier are among them)"
        )
    check_is_fitted(model)
    encoded, tables = model.encoder_.encode(check_table(model, X, reset=False), y, sample_weight), model.tables_
    pure = purify_by_counts(model.model_, tables.counts, float(tables.class_counts.sum()), threads(model.n_jobs))
    effects = NamedEffects(pure, model.encoder_.names_, encoded, None, model.n_jobs)
    return Edits(effects, model.model_, model.encoder_, model)


class Edits:
    """Changes of a fitted score table, their log and their price; `edit` makes it.

    Attributes:
        scores: (S, C) the pure effects of the model's cells with all changes.

    >>> import alrviz
    >>> data = alrviz.load_demo("led", rows=600)
    >>> model = alrviz.HLRClassifier(order=1, alpha=1).fit(data.X[:400], data.y[:400])
    >>> edits = alrviz.edit(model, data.X[400:], data.y[400:])
    >>> edits.set({"top": "0"}, 0.5, label="7")
    >>> edits.log[["columns", "levels", "class", "new"]].to_dict("records")
    [{'columns': 'top', 'levels': '0', 'class': '7', 'new': 0.5}]
    >>> edits.undo()
    >>> len(edits.log)
    0
    """

    def __init__(
        self, effects: NamedEffects, table: LinearModel, encoder: Encoder, model: CellClassifier | None = None
    ):
        self._effects, self._table, self._encoder, self._model = effects, table, encoder, model
        self._is_editable = np.zeros(len(effects.pure.f), bool)
        self._is_editable[effects.pure.model_cells] = True
        self._members = effects.pure.space.members
        earlier_log = getattr(model, "edits_", pd.DataFrame())
        self._earlier = [] if earlier_log.empty else [earlier_log]
        self._first_step = 1 if earlier_log.empty else int(earlier_log["step"].max()) + 1
        self._cells = effects.pure.index.seen_cells
        self.scores, self._steps = effects.pure.f, list[_Step]()

    def __repr__(self) -> str:
        return f"<Edits: {'; '.join(self.steps) or 'none'}>"

    # -- changes -------------------------------------------------------------------------------------------------------

    def set(self, cell: Mapping[str, Any], value: float, label: Any = None) -> None:
        """Set the value of a cell for a class.

        Args:
            cell: a level (its name, or a value in it) for each column of one of the model's tuples.
            value: see the module; `values` has those of all cells of a tuple.
            label: the class; None for the second of two classes.

        Raises:
            RecipeError: if the model has no such tuple, cell or class, or the value is not finite. TableError: for an
                unknown level.
        """
        if not is_number(value) or not np.isfinite(value):
            raise RecipeError(f"value={value!r}; expected a finite number")
        t, k = self._effects.number_of(list(cell)), self._class(label)
        columns, name = self._encoder.columns_, self._effects.names[t]
        codes = [level_of(columns[j], cell[columns[j].name]) for j in self._members[t]]
        position = self._positions(t, np.array([codes]))[0]
        if position < 0 or not self._is_editable[position]:
            raise RecipeError(
                f"the model has no value for {dict(cell)!r}: no training row is in this cell, or the model's table has "
                f"no tuple {name!r} of its own; expected a cell of `values({name!r})`"
            )
        self._begin("set", t)
        self._change(np.array([position]), k, np.array([value], float))

    def monotone(self, column: str, direction: str = "increasing", label: Any = None, *, each_row: bool = True) -> None:
        """Make the probability of a class monotone in a numeric or ordered column.

        The log-odds of the class against each other class, by level of the column, are replaced by their weighted
        isotonic regression (weights: training rows of the level). A missing value keeps its effect.

        What this guarantees: in a model without larger tuples of the column the probability of the class never falls
        ("increasing") as the column rises, whatever the other columns. Larger tuples could break that, so with
        `each_row` their cells are changed too: each slice of cells that agree in the other columns is made monotone,
        after the effect of the column alone was divided among its tuples. Then the same holds for every row at the
        levels whose cells all occurred in training (a cell that did not has no value that could change). It holds
        until a later edit changes a tuple of this column; that may be `monotone` of another column. Without
        `each_row` only the column's own effect is changed: the effect of a level averaged over the training rows that
        have it is monotone, that on single rows need not be.

        Args:
            column: its name.
            direction: "increasing" or "decreasing".
            label: the class; None for the second of two classes.
            each_row: whether larger tuples are changed too, see above.

        Raises:
            RecipeError: if the column has no order or is in no tuple of the model, or for an unknown column, class or
                direction; without `each_row` if the model has no effect of the column alone.
        """
        if direction not in DIRECTIONS:
            raise RecipeError(f"direction={direction!r}; expected one of {DIRECTIONS}{nearest(direction, DIRECTIONS)}")
        t, k = self._effects.number_of([column]), self._class(label)
        (j,) = self._members[t]
        encoded_column = self._encoder.columns_[j]
        if not self.has_order(column):
            raise RecipeError(f"the levels of {column!r} have no order; expected a column of numbers or ordered levels")
        n_levels = encoded_column.n_levels - (encoded_column.missing_code is not None)
        has_own_effect = len(self._positions_of(t)) > 0
        if not (has_own_effect or each_row):
            raise RecipeError(
                f"the model has no effect of {column!r} alone; expected each_row=True, or a model with single columns "
                "(hlr, halr, AutoClassifier, or order 1)"
            )
        self._begin(f"monotone: {direction}", t)
        sign = 1.0 if direction == "increasing" else -1.0
        if has_own_effect:
            self._regress(t, j, n_levels, k, sign, {})
        if each_row:
            for larger, shares in self._shares(j).items():
                self._regress(larger, j, n_levels, k, sign, shares)

    def has_order(self, column: str) -> bool:
        """Return whether the levels of a column have an order, so that it can be made monotone."""
        return self._encoder.columns_[column_number(self._effects.columns, column)].kind in ("numeric", "ordinal")

    def flatten(self, columns: Any) -> None:
        """Set the values of all cells of a tuple of columns to 0, for all classes; smaller and larger tuples stay.

        Raises:
            RecipeError: if the model's table does not have the tuple.
        """
        t = self._effects.number_of(columns)
        positions = self._positions_of(t)
        if not len(positions):
            raise RecipeError(f"the model's table has no tuple {self._effects.names[t]!r} of its own to flatten")
        self._begin("flatten", t)
        n_classes, scores = self.scores.shape[1], self.scores[positions]
        for k in range(1, n_classes):  # the first class then agrees with the others
            values = _against_others(self.scores[positions])[:, k]
            self._change(positions, k, (values - scores[:, k] + scores[:, 0]).round(12) + 0.0)
        self.scores[positions] = 0.0  # equal for all classes, without rounding errors

    def undo(self) -> None:
        """Take back the latest step.

        Raises:
            RecipeError: if there is none.
        """
        if not self._steps:
            raise RecipeError("there is no edit to undo")
        self.scores = self._steps.pop().scores

    # -- results -------------------------------------------------------------------------------------------------------

    @property
    def log(self) -> pd.DataFrame:
        """A row per changed value: step, action, columns, levels, class, old and new, after those of earlier edits."""
        classes, parts = self._encoder.classes_.tolist(), self._earlier.copy()
        for number, step in enumerate(self._steps, self._first_step):
            for positions, k, old, new in step.changes:
                names = [self._effects.names[t] for t in self._effects.pure.space.tuple_of(self._cells[positions])]
                levels = map(JOIN.join, self._levels(positions))
                line = {"step": number, "action": step.action, "columns": names, "levels": list(levels)}
                parts.append(pd.DataFrame({**line, "class": classes[k], "old": old, "new": new}))
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(EDIT_COLUMNS))

    @property
    def steps(self) -> list[str]:
        """The steps that can be taken back, in words, the latest last."""
        return [f"{step.action}, {step.columns}" for step in self._steps]

    @property
    def price(self) -> pd.DataFrame:
        """Log loss and error of the validation rows "before" and "after", their "change" and its "standard_error".

        The standard error is that of the mean of the rows' differences.
        """
        rows, edited_table = self._effects.heldout, replace(self._table, phi=self._table.phi + self._phi_changes)
        log_p = [self._log_p, log_softmax(edited_table.scores(rows.codes))]
        losses = {
            "log_loss": [row_losses(p, rows.y) for p in log_p],
            "error": [(p.argmax(axis=1) != rows.y).astype(float) for p in log_p],
        }
        lines = {}
        for name, (before, after) in losses.items():
            difference, total = after - before, float(rows.weights.sum())
            change, error = mean_and_error(rows.weights @ difference, rows.weights @ difference**2, total)
            start = float(rows.weights @ before) / total
            lines[name] = {"before": start, "after": start + change, "change": change, "standard_error": error}
        return pd.DataFrame.from_dict(lines, orient="index")

    def values(self, columns: Any) -> pd.DataFrame:
        """Return the values of a tuple's cells: a row per cell, indexed by the levels of its columns; "rows" (training
        rows), and a column for each class. Cells that cannot be changed are left out.
        """
        pure, t = self._effects.pure, self._effects.number_of(columns)
        positions = self._positions_of(t)
        values = dict(zip(self._encoder.classes_.tolist(), _against_others(self.scores[positions]).T, strict=True))
        names = [self._effects.columns[j] for j in self._members[t]]
        levels = pd.MultiIndex.from_tuples(self._levels(positions), names=names)
        frame = pd.DataFrame({"rows": pure.rows[positions], **values}, levels)
        return frame if len(names) > 1 else frame.set_axis(levels.get_level_values(0))

    @property
    def model(self) -> CellClassifier:
        """The edited classifier, fitted like the original; `edits_` is the log, which model files keep."""
        if self._model is None:
            raise RecipeError("these effects are not those of a classifier; expected `edit(model, X, y)`")
        edited = copy(self._model)
        edited.model_ = replace(self._table, phi=self._table.phi + self._phi_changes)
        edited.phi_, edited.edits_ = edited.model_.phi, self.log
        return edited

    # -- arithmetic ----------------------------------------------------------------------------------------------------

    @cached_property
    def _log_p(self) -> Floats:
        """(N, C) log probabilities of the validation rows before the edits."""
        return log_softmax(self._table.scores(self._effects.heldout.codes))

    @property
    def _phi_changes(self) -> Floats:
        """(S, C) what was added to phi of the table's cells."""
        pure = self._effects.pure
        return (self.scores - pure.f)[pure.model_cells]

    def _class(self, label: Any) -> int:
        classes = self._encoder.classes_.tolist()
        if label is None and len(classes) == 2:
            return 1
        return class_number(label, classes)

    def _begin(self, action: str, t: int) -> None:
        self._steps.append(_Step(action, self._effects.names[t], self.scores))
        self.scores = self.scores.copy()

    def _change(self, positions: NDArray[np.intp], k: int, new: Floats) -> None:
        """Set the values of class k in the cells at some positions of the pure effects to `new` (m,), and log it."""
        old = _against_others(self.scores[positions])[:, k]
        self.scores[positions, k] += new - old
        self._steps[-1].changes.append((positions, k, old, new))

    def _levels(self, positions: NDArray[np.intp]) -> list[tuple[str, ...]]:
        """Return the names of the levels of the cells at some positions of the pure effects."""
        space, cells = self._effects.pure.space, self._cells[positions]
        labels = [tuple(map(str, column.labels)) for column in self._encoder.columns_]
        return [
            tuple(labels[j][code] for j, code in zip(self._members[t], codes, strict=False))
            for t, codes in zip(space.tuple_of(cells), space.codes_of(cells).tolist(), strict=True)
        ]

    def _positions_of(self, t: int) -> NDArray[np.intp]:
        """Return the positions of the cells of tuple t that can be changed, in the pure effects."""
        cells = self._effects.pure.cells_of(t)
        return cells.start + np.flatnonzero(self._is_editable[cells])

    def _positions(self, t: int, codes: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the places (m,) of tuple t's cells at levels `codes` (m, i) in the pure effects; -1 without one."""
        cells = self._effects.pure.space.cells_at(np.full(len(codes), t), codes)
        places = np.minimum(np.searchsorted(self._cells, cells), len(self._cells) - 1)
        return np.where(self._cells[places] == cells, places, -1)

    def _shares(self, j: int) -> dict[int, dict[int, float]]:
        """Return, for each larger tuple of the model with column j, its share of the effects of its subtuples with j.

        The column's own effect is divided among all larger tuples in proportion to the size of their effects, because
        a tuple with a larger share of a slope keeps more of its own effect when it is made monotone; so are effects of
        subtuples that the model's table does not have.
        """
        pure = self._effects.pure
        tuples = [t for t, members in enumerate(self._members) if j in members]
        shares: dict[int, dict[int, float]] = {
            t: {} for t in tuples if pure.sizes[t] > 1 and len(self._positions_of(t))
        }
        sizes = {t: float(np.sqrt(pure.rows[(c := pure.cells_of(t))] @ pure.f[c] ** 2).sum()) for t in shares}
        for part in tuples:
            if part in shares:
                continue
            members = set(self._members[part])
            larger = [t for t in shares if members < set(self._members[t])]
            total = sum(sizes[t] for t in larger)
            for t in larger:
                shares[t][part] = sizes[t] / total if total > 0 else 1 / len(larger)
        return shares

    def _regress(self, t: int, j: int, n_levels: int, k: int, sign: float, shares: Mapping[int, float]) -> None:
        """Make tuple t monotone along column j, whose first `n_levels` levels are ordered, for class k.

        sign: 1 for increasing, -1 for decreasing; shares: of the effects of subtuples, added before.
        """
        pure, members, positions = self._effects.pure, self._members[t], self._positions_of(t)
        codes = pure.space.codes_of(self._cells[positions])[:, : len(members)]
        along, others = codes[:, members.index(j)], np.delete(codes, members.index(j), axis=1)
        order = np.lexsort((along, *others.T))
        order = order[along[order] < n_levels]
        if not len(order):
            return
        positions, codes, others = positions[order], codes[order], others[order]
        scores = self.scores[positions]
        for part, share in shares.items():
            part_codes = codes[:, [members.index(i) for i in self._members[part]]]
            part_positions = self._positions(part, part_codes)
            scores += share * np.where(part_positions[:, None] >= 0, self.scores[part_positions], 0.0)
        weights = np.maximum(pure.rows[positions], _MIN_WEIGHT)
        slice_starts = np.flatnonzero(np.append(True, (np.diff(others, axis=0) != 0).any(axis=1)))
        slices = np.split(np.arange(len(positions)), slice_starts[1:])
        n_classes = scores.shape[1]
        for o in range(n_classes):
            if o == k:
                continue
            log_odds = sign * (scores[:, k] - scores[:, o])
            regressed = [isotonic_regression(log_odds[rows], sample_weight=weights[rows]) for rows in slices]
            changes = sign * (np.concatenate(regressed) - log_odds)
            is_changed = np.abs(changes) > _MIN_CHANGE
            changed_class, changes = (k, changes) if n_classes == 2 else (o, -changes)
            changed = positions[is_changed]
            old = _against_others(self.scores[changed])[:, changed_class]
            self._change(changed, changed_class, old + changes[is_changed])


def _against_others(scores: Floats) -> Floats:
    """Return the scores (..., C) of classes, each less the mean of the other classes."""
    n_classes = scores.shape[-1]
    return (n_classes * scores - scores.sum(axis=-1, keepdims=True)) / (n_classes - 1)
