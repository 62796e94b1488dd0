"""Interactions of a fitted model: its pure effects, ranked, muted, and added up for a row.

score_k(x) = intercept_k + sum over tuples S of f_S[x_S, k]                                 models/effects.py

`Interactions` answers by name: `importance` ranks tuples, `missing_interactions` tests those that the model lacks,
`row_explanation` adds up a row, `texts` makes sentences.
"""

from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from alrviz.data.dataset import Dataset, require_dataset
from alrviz.data.encode import Encoder
from alrviz.data.encoded import Encoded
from alrviz.data.stream.table import EncodedTable
from alrviz.data.target import class_codes
from alrviz.errors import RecipeError, TableError, nearest
from alrviz.estimators.frames import tuple_names
from alrviz.estimators.make import estimator_of
from alrviz.estimators.recipes import RecipeClassifier
from alrviz.fitting import tuple_tests
from alrviz.fitting.runs.run import Run
from alrviz.models.density_model import DensityModel
from alrviz.models.effects import purify
from alrviz.models.linear import LinearModel, log_softmax
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import NEVER, StopToken
from alrviz.studies.core.names import tuples_text
from alrviz.studies.effects.columns import as_linear, binned, encoder_of_values, with_levels
from alrviz.studies.effects.edits import Edits
from alrviz.studies.effects.importance import NamedEffects
from alrviz.studies.effects.row_explanation import JOIN, NO_LEVEL, RowExplanation, row_codes
from alrviz.studies.effects.texts import absent_tuples_sentence, effects_verdict
from alrviz.studies.statistics.measures import row_losses
from alrviz.studies.statistics.verdict import Verdict

# Families whose score is a sum over cells.
VALID = "lr, alr, salr, hsalr, hlr, halr, anje (naive Bayes, WANBIA-C and AutoClassifier are among them), dlr"
MAX_ROWS = 200_000  # training rows, and test rows, of a table that is read in batches
MAX_TUPLES = 200_000  # tested together
MAX_UNASKED = 3_000  # tuples of the next order that are tested without being asked for


def interactions(
    model_or_run: Any,
    dataset: Dataset | None = None,
    heldout: Dataset | None = None,
    *,
    n_jobs: int | None = None,
    stop: StopToken = NEVER,
) -> "Interactions":
    """Decompose a fitted model into main effects, pairs, triples ..., each without what its subtuples explain.

    For dlr these are the effects of its columns, with a level for each number in the rows.

    Args:
        model_or_run: a fitted classifier whose score is a sum over cells, or a `Run` of one.
        dataset: the rows that define pure effects and importance: those learned from. None for a run: its training rows
            (a sample if the table is read in batches).
        heldout: rows for losses without a tuple; None: the run's test rows, else `dataset`.
        n_jobs: threads; None for all.
        stop: stops it from another thread.

    Raises:
        RecipeError: if the score is no sum over cells; the message names the families.
        TableError: without a data set, or if it lacks the model's columns or classes.

    >>> import alrviz
    >>> data = alrviz.load_demo("xor")
    >>> found = alrviz.interactions(alrviz.LRClassifier(order=2, alpha=0.3).fit(data.X, data.y), data)
    >>> found.importance()["share"].round(2).head(2).to_dict()
    {'bit_1 & bit_2': 0.98, 'bit_2': 0.02}
    """
    run = model_or_run if isinstance(model_or_run, Run) else None
    model = _require_cells(model_or_run if run is None else estimator_of(run))
    rows: Encoded | None = None
    test_rows: Encoded | None = None
    note = ""
    if run is not None and (dataset is None or dataset is run.dataset):
        rows, test_rows, note = (run.encoded, run.holdout, "") if run.coded is None else _sample_rows(run.coded)
    if rows is None:
        rows = _encode(model, dataset, stop)
    if heldout is not None:
        test_rows = _encode(model, heldout, stop)
    if isinstance(model.model_, DensityModel):
        return ColumnInteractions(model, rows, test_rows, n_jobs, stop)
    weights = getattr(model, "cell_weights_", None)
    return Interactions(model.model_, model.encoder_, rows, test_rows, n_jobs, stop, weights, note, model)


def _sample_rows(coded: EncodedTable) -> tuple[Encoded, Encoded | None, str]:
    """Return training and test rows of a table read in batches, sampled if there are many, and a note on the sample."""
    sample_sizes = [(sample_name, coded.cache.n_rows(sample_name)) for sample_name in ("train", "test")]
    samples = [coded.first_rows(sample_name, MAX_ROWS) if n_rows else None for sample_name, n_rows in sample_sizes]
    sample_texts = [
        f"{MAX_ROWS:,} of {n_rows:,} {sample_adjective} rows"
        for (_, n_rows), sample_adjective in zip(sample_sizes, ("training", "test"), strict=True)
        if n_rows > MAX_ROWS
    ]
    assert samples[0] is not None
    return samples[0], samples[1], f"Measured on {' and '.join(sample_texts)}, drawn at random." if sample_texts else ""


def _require_cells(model: Any) -> Any:
    if isinstance(model, RecipeClassifier):
        check_is_fitted(model)
        if isinstance(getattr(model, "model_", None), LinearModel | DensityModel):
            return model
    name = type(model).__name__
    raise RecipeError(f"the score of {name} is no sum over cells; expected one of {VALID}")


def _encode(model: Any, dataset: Dataset | None, stop: StopToken) -> Encoded:
    """Encode a data set by the model's encoder; raises `TableError` for another object, or a data set with other
    classes.
    """
    require_dataset(dataset)
    assert dataset is not None
    codes, _, unlearned = class_codes(dataset.y, model.classes_.tolist())
    if unlearned:
        classes = list(map(str, model.classes_))
        raise TableError(
            f"class {unlearned[0]!r} of {dataset.name} is not in the model{nearest(unlearned[0], classes)}; expected "
            f"some of {', '.join(map(repr, classes[:8]))}"
        )
    encoded: Encoded = model.encoder_.encode(dataset.X, model.classes_[codes], dataset.weights, stop=stop)
    return encoded


class Interactions(NamedEffects):
    """The pure effects of a fitted model, by tuples of columns; `interactions` makes it.

    Attributes:
        pure, columns, names, encoded, heldout, has_heldout: see `NamedEffects`.
        encoder: names of columns and levels. classes: the classes.
        note: sentence on the sample of rows; "" if all are used.
        is_editable: whether `edits` can change the model's cells.

    >>> import alrviz
    >>> data = alrviz.load_demo("xor")
    >>> found = alrviz.interactions(alrviz.LRClassifier(order=2, alpha=0.3).fit(data.X, data.y), data)
    >>> found.mute("bit_1 & bit_2")["error"].round(2).to_dict()
    {'all': 0.11, 'muted': 0.5}
    """

    is_editable = True

    def __init__(
        self, model: LinearModel, encoder: Encoder, encoded: Encoded, heldout: Encoded | None,
        n_jobs: int | None = None, stop: StopToken = NEVER, weights: Floats | None = None, note: str = "",
        classifier: Any = None,
    ):  # fmt: skip
        columns = encoder.names_
        super().__init__(purify(model, encoded, n_jobs, stop), columns, encoded, heldout, n_jobs)
        self.note, self.encoder, self.classes, self._model = note, encoder, encoder.classes_, model
        self._weights = weights  # (S, C) of the model's own cells
        self._classifier = classifier
        self._tested_rows = encoded  # in `absent_tuples` and `associations`
        self._next_order: pd.DataFrame | None = None

    def __repr__(self) -> str:
        return f"<Interactions of {len(self.columns)} columns: {len(self.names):,} tuples, {len(self.pure.f):,} cells>"

    @property
    def loss_rows(self) -> str:
        """Which rows the losses are measured on: "test", or "these rows'"."""
        return "test" if self.has_heldout else "these rows'"

    @property
    def nbytes(self) -> int:
        """Bytes of the cells and of the rows."""
        pure, rows = self.pure, {id(sample): sample for sample in (self.encoded, self.heldout)}.values()
        cell_bytes = pure.index.seen_cells.nbytes + pure.rows.nbytes + 2 * pure.f.nbytes
        return int(cell_bytes + sum(sample.codes.nbytes + sample.y.nbytes + sample.weights.nbytes for sample in rows))

    def edits(self) -> Edits:
        """Return an empty list of edits of the model, priced on the rows of the losses."""
        return Edits(self, self._model, self.encoder, self._classifier)

    def edited(self, edits: Edits) -> "Interactions":
        """Return the effects with edits, not purified again: the cells have the values that the edits gave them."""
        changed, pure = copy(self), self.pure
        f = edits.scores - edits.scores.mean(axis=1, keepdims=True)
        changed.pure = replace(pure, f=f, raw_effects=pure.raw_effects + f - pure.f)
        phi_changes = (edits.scores - pure.f)[pure.model_cells]
        changed._model = replace(self._model, phi=self._model.phi + phi_changes)
        changed._table, changed._curves, changed._next_order = None, {}, None
        for cached_name in ("_scores", "_losses"):
            changed.__dict__.pop(cached_name, None)
        return changed

    def members(self, name: str) -> list[str]:
        """Return the columns of the tuple of this name."""
        return [self.columns[j] for j in self.pure.space.members[self.names.index(name)]]

    def labels(self, column: int) -> list[str]:
        """Return the names of a column's levels, and last of "no level"."""
        return [*map(str, self.encoder.columns_[column].labels), NO_LEVEL]

    def level(self, column: int, row: int) -> str:
        """Return the name of a column's level in a row of the data."""
        labels = self.labels(column)
        return labels[min(int(self.encoded.codes[column, row]), len(labels) - 1)]

    def quantity(self, t: int, name: str, k: int, other_k: int) -> Floats:
        """Return a number for each cell of tuple t, (S_t,).

        name: "pure" and "phi": log-odds of class number k against class other_k; "rows": weight of the rows; "p":
        share of class k among them; "theta": log share of the class's rows that are in the cell (-inf without any);
        "w": the weight learned for cell and class (NaN without one).
        """
        cells = self.pure.cells_of(t)
        if name in ("pure", "phi"):
            log_odds = (self.pure.f if name == "pure" else self.pure.raw_effects)[cells]
            return log_odds[:, k] - log_odds[:, other_k]
        if name == "rows":
            return self.pure.rows[cells]
        if name == "w":
            weights = np.full(len(self.pure.f), np.nan)
            if self._weights is not None:
                weights[self.pure.model_cells] = self._weights[:, k]
            return weights[cells]
        members = self.pure.space.members[t]
        codes = self.pure.space.codes_of(self.pure.index.seen_cells[cells])[:, : len(members)]
        codes_of_rows = self.encoded.codes[members].astype(np.int64)
        levels = self.pure.space.levels[members]
        key = np.ravel_multi_index(tuple(codes.T), tuple(levels))
        cell_by_row = np.searchsorted(key, np.ravel_multi_index(tuple(codes_of_rows), tuple(levels)))
        counts = np.bincount(cell_by_row, self.encoded.weights * (self.encoded.y == k), len(key))
        total_rows = self.pure.rows[cells] if name == "p" else counts.sum()
        share: Floats = np.divide(counts, total_rows, out=np.full(len(key), np.nan), where=np.asarray(total_rows) > 0)
        with np.errstate(divide="ignore"):
            return share if name == "p" else np.log(share)

    @cached_property
    def _losses(self) -> Floats:
        """(N,) -log p of each row's class by the model."""
        return row_losses(log_softmax(self._model.scores(self.encoded.codes, self._n_jobs)), self.encoded.y)

    def worst(self, n: int = 10) -> list[int]:
        """Return the numbers of the n rows of the data whose class is least probable, the worst first."""
        return [int(row) for row in np.argsort(-self._losses, kind="stable")[:n]]

    def effects(self, *columns: Any) -> pd.DataFrame:
        """Return a row per cell and class of the tuple of these columns, or of all tuples.

        Columns: "columns" and "levels" (texts), "class", "rows" (weight of the rows in the cell), "phi" (the model's
        own value, less its mean over the classes) and "pure".
        """
        tuple_indices = [self.number_of(columns)] if columns else range(len(self.names))
        pure, frames = self.pure, []
        for tuple_index in tuple_indices:
            cells, members = pure.cells_of(tuple_index), pure.space.members[tuple_index]
            codes = pure.space.codes_of(pure.index.seen_cells[cells])
            labels = [np.array(self.labels(j), dtype=object)[codes[:, i]] for i, j in enumerate(members)]
            levels = [JOIN.join(texts) for texts in zip(*labels, strict=True)]
            n_classes = len(self.classes)
            frames.append(
                pd.DataFrame(
                    {
                        "columns": self.names[tuple_index],
                        "levels": np.repeat(np.array(levels, dtype=object), n_classes),
                        "class": np.tile(self.classes, len(levels)),
                        "rows": np.repeat(pure.rows[cells], n_classes),
                        "phi": pure.raw_effects[cells].ravel(),
                        "pure": pure.f[cells].ravel(),
                    }
                )
            )
        return pd.concat(frames, ignore_index=True)

    def absent_tuples(self, order: int | None = None, stop: StopToken = NEVER) -> pd.DataFrame:
        """Test the tuples of an order that the model lacks (a score test): a row each, the highest gain first.

        Columns: "gain" and "gain_error" (expected fall of test log loss, nats per row, and standard error), "chi2",
        "df" and "p". order None: the lowest order of which the model lacks tuples. Constant columns are in no tuple.

        Raises:
            RecipeError: if the columns have no tuples of this order, or none is lacking.
        """
        scores = self._model.scores(self.encoded.codes, self._n_jobs, stop)
        for tuple_size in range(1, len(self._varying) + 1) if order is None else [order]:
            if tuples := [columns for columns in self._tuples(tuple_size) if columns not in self.pure.numbers]:
                test_table = tuple_tests.score_tests(scores, self._tested_rows, tuples, self._n_jobs, stop)
                return self._with_names(test_table, tuples, "gain")
        raise RecipeError(f"the model has all tuples of its {len(self._varying)} columns; nothing is lacking")

    def associations(self, order: int = 2, stop: StopToken = NEVER) -> pd.DataFrame:
        """Return a row per tuple of `order` columns: how it is associated with the class, without any model.

        Columns: "mi" (mutual information, nats), "mi_mm" (with Miller and Madow's correction), "interaction" (nats
        beyond the subtuples, less the expectation by chance; sorted by it), "g2", "chi2" (Pearson's), "df", and "p" of
        chi2.
        """
        tuples = self._tuples(order)
        association_table = tuple_tests.associations(self._tested_rows, tuples, self._n_jobs, stop)
        return self._with_names(association_table, tuples, "interaction")

    @cached_property
    def _varying(self) -> list[int]:
        """The columns that are not constant; constant columns are in no tested tuple."""
        return [j for j, codes in enumerate(self._tested_rows.codes) if len(codes) and (codes != codes[0]).any()]

    def _tuples(self, order: int) -> list[tuple[int, ...]]:
        n_columns = len(self._varying)
        if not 1 <= order <= n_columns:
            raise RecipeError(f"order={order} does not fit; expected 1 to {n_columns}")
        if (n_tuples := comb(n_columns, order)) > MAX_TUPLES:
            count_text = f"{n_columns} columns have {n_tuples:,} {tuples_text(order)}"
            raise RecipeError(f"{count_text}; expected at most {MAX_TUPLES:,}")
        return list(combinations(self._varying, order))

    def _with_names(self, table: pd.DataFrame, tuples: list[tuple[int, ...]], sort_column: str) -> pd.DataFrame:
        table.index = pd.Index(tuple_names(tuples, self.columns), name="columns")
        return table.sort_values(sort_column, ascending=False, kind="stable")

    def next_order(self, stop: StopToken = NEVER) -> pd.DataFrame | None:
        """Return `absent_tuples` of one order above the model's; None without such tuples, or for more than 3,000."""
        order = int(self.pure.sizes.max(initial=0)) + 1
        if not 0 < comb(len(self._varying), order) <= MAX_UNASKED:
            return None
        if self._next_order is None:
            self._next_order = self.absent_tuples(order, stop)
        return self._next_order

    def row(
        self, x: Any, *, label: Any = None, other_label: Any = None, changes: Mapping[str, Any] | None = None
    ) -> RowExplanation:
        """Explain the prediction of a row: its log-odds of one class against another as a sum of pure effects.

        Args:
            x: a dict of values by column, a table of one row, or the number of a row of the data set.
            label: a class; None: the predicted one (before any changes).
            other_label: another class; None: the most probable other one.
            changes: values to put in place of some columns' own.

        Raises:
            RecipeError: if there is no such class. TableError: if there is no such row, or an unknown level.
        """
        labels = {name: self.labels(j) for j, name in enumerate(self.columns)}
        explain = partial(RowExplanation.from_codes, self.pure, labels, self.classes.tolist())
        if changes and (label is None or other_label is None):
            unchanged = explain(row_codes(x, None, self.encoder, self.encoded), label, other_label)
            label, other_label = unchanged.label, unchanged.other_label
        return explain(row_codes(x, changes, self.encoder, self.encoded), label, other_label)

    def verdict(self) -> Verdict:
        """Return which tuples matter, and which of the next order would help (if these are few enough to be tested)."""
        verdict, candidates = effects_verdict(self.orders(), self.importance(), self.loss_rows), self.next_order()
        next_order = int(self.pure.sizes.max()) + 1
        details = [
            verdict.detail,
            "" if candidates is None else absent_tuples_sentence(candidates, next_order),
            self.note,
        ]
        return replace(verdict, detail=" ".join(detail for detail in details if detail))


class ColumnInteractions(Interactions):
    """The effects of the columns of a dlr model; also explains rows with numbers that do not occur in its rows.

    `absent_tuples` and `associations` test numbers in eight intervals. The model has no cells that could be edited.

    more: (n, columns) numbers of further rows that are to be explained; None for those of the tables only.
    """

    is_editable = False

    def __init__(
        self, classifier: Any, encoded: Encoded, heldout: Encoded | None, n_jobs: int | None = None,
        stop: StopToken = NEVER, more: Floats | None = None,
    ):  # fmt: skip
        self._arguments = classifier, encoded, heldout, n_jobs
        numbers = [sample.numbers for sample in (encoded, heldout) if sample is not None and sample.numbers is not None]
        encoder = encoder_of_values(classifier.encoder_, [*numbers, *([] if more is None else [more])])
        sample_rows = [None if sample is None else with_levels(sample, encoder) for sample in (encoded, heldout)]
        assert sample_rows[0] is not None
        super().__init__(as_linear(classifier, encoder), encoder, sample_rows[0], sample_rows[1], n_jobs, stop)
        self._tested_rows = binned(encoded)

    def row(
        self, x: Any, *, label: Any = None, other_label: Any = None, changes: Mapping[str, Any] | None = None
    ) -> RowExplanation:
        """Explain the prediction of a row; the arguments are those of `Interactions.row`."""
        more = self._numbers_of(x, changes or {})
        if more.shape[1]:
            return ColumnInteractions(*self._arguments, more=more).row(
                x, label=label, other_label=other_label, changes=changes
            )
        return super().row(x, label=label, other_label=other_label, changes=changes)

    def _numbers_of(self, x: Any, changes: Mapping[str, Any]) -> Floats:
        """Return the numbers of a row x with `changes` that are no levels yet (n, 1), or (n, 0) if all are known.

        A level stands in place of each known number.
        """
        classifier = self._arguments[0]
        columns = [self.encoder.columns_[j] for j in self.encoder.numeric_]
        if isinstance(x, (int, np.integer)):
            numbers = np.full((len(columns), 1), np.nan)
        else:
            numbers = classifier.encoder_.numbers(x if isinstance(x, pd.DataFrame) else pd.DataFrame([dict(x)]))[:, :1]
        for number, column in zip(numbers, columns, strict=True):
            with suppress(TypeError, ValueError):
                number[0] = float(changes.get(column.name, number[0]))
            if np.isnan(number[0]) or number[0] in (column.values or ()):
                number[0] = np.nan
        is_new = ~np.isnan(numbers)
        placeholder = [column.values[0] if column.values else 0.0 for column in columns]
        return np.where(is_new, numbers, np.array(placeholder)[:, None]) if is_new.any() else numbers[:, :0]
