"""Which interactions matter: the pure effects of a fitted model, ranked, muted, and added up for a row.

score_k(x) = intercept_k + sum over tuples S of f_S[x_S, k]                                 models/effects.py

`Interactions` holds the effects and answers by name: `importance` ranks tuples, `missing_interactions` tests those
that the model has not, `row_explanation` adds up a row, `words` makes sentences of it.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from alrviz.data.dataset import Dataset, require_dataset
from alrviz.data.encode import Encoder
from alrviz.data.encoded import Encoded
from alrviz.data.stream.table import CodedTable
from alrviz.data.target import class_codes
from alrviz.errors import RecipeError, TableError, nearest
from alrviz.estimators.frames import name_separator, tuple_names
from alrviz.estimators.make import estimator_of
from alrviz.estimators.recipes import RecipeClassifier
from alrviz.fitting.runs.run import Run
from alrviz.models.density_model import DensityModel
from alrviz.models.effects import Effects, purify
from alrviz.models.linear import LinearModel, log_softmax
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import NEVER, StopToken
from alrviz.studies.effects.columns import as_linear, binned, encoder_of_values, with_levels
from alrviz.studies.effects.importance import Importance
from alrviz.studies.effects.missing_interactions import TupleTests
from alrviz.studies.effects.row_explanation import JOIN, NO_LEVEL, RowExplanation, column_number, row_codes
from alrviz.studies.effects.words import lacking_sentence, verdict
from alrviz.studies.statistics.measures import row_losses

# Families whose score is a sum over cells.
VALID = "lr, alr, salr, hsalr, hlr, halr, anje (naive Bayes, WANBIA-C and AutoClassifier are among them), dlr"
MOST_ROWS = 200_000  # of a table that is read in batches, training rows and test rows each
LOOKED = 3_000  # tuples of the next order that are looked at without being asked for, at most


def interactions(
    model_or_run: Any,
    dataset: Dataset | None = None,
    heldout: Dataset | None = None,
    *,
    n_jobs: int | None = None,
    stop: StopToken = NEVER,
) -> "Interactions":
    """Take a fitted model apart into main effects, pairs, triples ..., each freed of what its parts say alone.

    dlr is taken apart into its columns, each number of the rows being a level.

    Args:
        model_or_run: a fitted classifier whose score is a sum over cells, or a `Run` of one.
        dataset: the rows under which effects are pure and importance is measured: those that were learned from. None
            for a run: its training rows, of a table that is read in batches some of them.
        heldout: rows that losses without a tuple are measured on; None: the run's test rows, else `dataset`.
        n_jobs: threads; None for all.
        stop: ends it from another thread.

    Raises:
        RecipeError: a model whose score is no sum over cells, naming those whose is.
        TableError: no data set, or one without the model's columns or classes.

    >>> import alrviz
    >>> data = alrviz.load_demo("xor")
    >>> found = alrviz.interactions(alrviz.LRClassifier(order=2).fit(data.X, data.y), data)
    >>> found.importance()["share"].round(2).head(2).to_dict()
    {'bit_1 & bit_2': 0.98, 'bit_2': 0.02}
    """
    rows: Encoded | None = None
    others: Encoded | None = None
    note = ""
    if isinstance(model_or_run, Run):
        run = model_or_run
        model = _checked(estimator_of(run))
        own = dataset is None or dataset is run.dataset
        if own and run.coded is not None:
            rows, others, note = _of_batches(run.coded)
        else:
            rows = run.encoded if own else None
            others = run.holdout if own and heldout is None else None
    else:
        model = _checked(model_or_run)
    if rows is None:
        require_dataset(dataset)
        assert dataset is not None
        rows = _encoded(model, dataset, stop)
    if heldout is not None:
        require_dataset(heldout)
        others = _encoded(model, heldout, stop)
    if isinstance(model.model_, DensityModel):
        return ColumnInteractions(model, rows, others, n_jobs, stop)
    weights = getattr(model, "cell_weights_", None)
    return Interactions(model.model_, model.encoder_, rows, others, n_jobs, stop, weights, note)


def _of_batches(coded: CodedTable) -> tuple[Encoded, Encoded | None, str]:
    """Some training rows of a table that is read in batches, some of its test rows, and words about them."""
    parts = [(part, coded.cache.n_rows(part)) for part in ("train", "test")]
    some = [coded.some_rows(part, MOST_ROWS) if rows else None for part, rows in parts]
    told = [
        f"{MOST_ROWS:,} of {rows:,} {words} rows"
        for (_, rows), words in zip(parts, ("training", "test"), strict=True)
        if rows > MOST_ROWS
    ]
    assert some[0] is not None
    return some[0], some[1], f"Measured on {' and '.join(told)}, drawn at random." if told else ""


def _checked(model: Any) -> Any:
    if isinstance(model, RecipeClassifier):
        check_is_fitted(model)
        if isinstance(getattr(model, "model_", None), LinearModel | DensityModel):
            return model
    name = type(model).__name__
    raise RecipeError(f"{name} has no score that is a sum over cells, to be taken apart; expected one of {VALID}")


def _encoded(model: Any, dataset: Dataset, stop: StopToken) -> Encoded:
    """Rows of a data set, whose classes are texts, as the model's encoder has them."""
    codes, _, strange = class_codes(dataset.y, model.classes_.tolist())
    if strange:
        known = list(map(str, model.classes_))
        raise TableError(
            f"class {strange[0]!r} of {dataset.name} is none of the model's{nearest(strange[0], known)}; expected some "
            f"of {', '.join(map(repr, known[:8]))}"
        )
    found: Encoded = model.encoder_.encode(dataset.X, model.classes_[codes], dataset.weights, stop=stop)
    return found


class Interactions:
    """The pure effects of a fitted model, by tuples of columns; `interactions` makes it.

    Attributes:
        pure: effects by cell, as arrays.
        encoder: what columns and levels are called.
        encoded, heldout: the rows under which effects are pure, and those that losses are measured on.
        has_heldout: whether these are others.
        note: of which part of the rows these are; "" of all.
        names: what each tuple is called, "odor & habitat"; " && " stands between where a column is called "R & D".

    >>> import alrviz
    >>> data = alrviz.load_demo("xor")
    >>> found = alrviz.interactions(alrviz.LRClassifier(order=2).fit(data.X, data.y), data)
    >>> found.orders()["share"].round(2).to_dict()
    {1: 0.02, 2: 0.98}
    >>> found.mute("bit_1 & bit_2")["error"].round(2).to_dict()
    {'all': 0.11, 'muted': 0.5}
    """

    def __init__(
        self, model: LinearModel, encoder: Encoder, encoded: Encoded, heldout: Encoded | None,
        n_jobs: int | None = None, stop: StopToken = NEVER, weights: Floats | None = None, note: str = "",
    ):  # fmt: skip
        self.note = note
        self.encoder, self.encoded, self._model = encoder, encoded, model
        self.heldout, self.has_heldout = heldout or encoded, heldout is not None
        self._n_jobs, self._weights = n_jobs, weights  # (S, C) of the model's own cells
        self.pure: Effects = purify(model, encoded, n_jobs, stop)
        self.columns = [column.name for column in encoder.columns_]
        self.names = tuple_names(self.pure.space.members, self.columns)
        self.classes = encoder.classes_
        self._importance = Importance(self.pure, self.names, self.encoded, self.heldout, n_jobs)
        self._tests = TupleTests(encoded, self.columns, n_jobs)
        self._next_order: pd.DataFrame | None = None

    def __repr__(self) -> str:
        return f"<Interactions of {len(self.columns)} columns: {len(self.names):,} tuples, {len(self.pure.f):,} cells>"

    @property
    def judged_on(self) -> str:
        """Whose losses are measured: "test", or "these rows'"."""
        return "test" if self.has_heldout else "these rows'"

    @property
    def nbytes(self) -> int:
        """Bytes of its cells and of its rows."""
        pure, rows = self.pure, {id(own): own for own in (self.encoded, self.heldout)}.values()
        cells = pure.index.seen.nbytes + pure.rows.nbytes + 2 * pure.f.nbytes
        return int(cells + sum(own.codes.nbytes + own.y.nbytes + own.weights.nbytes for own in rows))

    def number_of(self, columns: Any) -> int:
        """Return the number of a tuple: a column's name, names, or the tuple's own name.

        Raises:
            RecipeError: no such column, or no such tuple in the model.
        """
        if not isinstance(columns, str) and len(columns) == 1:
            columns = columns[0]
        if isinstance(columns, str):
            columns = [columns] if columns in self.columns else columns.split(name_separator(self.columns))
        key = tuple(sorted({column_number(self.encoder, name) for name in columns}))
        if key not in self.pure.numbers:
            asked = name_separator(self.columns).join(map(str, columns))
            raise RecipeError(
                f"the model has no tuple {asked!r}; expected columns that are together in one "
                f"of its tuples, of at most {self.pure.sizes.max()} columns"
            )
        return self.pure.numbers[key]

    def members(self, name: str) -> list[str]:
        """Return the columns of the tuple of this name."""
        return [self.columns[j] for j in self.pure.space.members[self.names.index(name)]]

    def labels(self, column: int) -> list[str]:
        """Return what the levels of a column are called, and last what none of them is."""
        return [*map(str, self.encoder.columns_[column].labels), NO_LEVEL]

    def level(self, column: int, row: int) -> str:
        """Return what the level of a column in a row of the data is called."""
        labels = self.labels(column)
        return labels[min(int(self.encoded.codes[column, row]), len(labels) - 1)]

    def quantity(self, t: int, name: str, of: int, against: int) -> Floats:
        """Return a number for each cell of tuple t, (S_t,): "pure" and "phi" are log-odds of class `of` against
        another, "rows" the weight of its rows, "p" the share of the class among them, "theta" the logarithm of the
        share of the class's rows that lie there (-inf where none does), "w" the weight that the model learned for the
        cell and the class (NaN where it has none).
        """
        cells = self.pure.cells_of(t)
        if name in ("pure", "phi"):
            values = (self.pure.f if name == "pure" else self.pure.raw)[cells]
            return values[:, of] - values[:, against]
        if name == "rows":
            return self.pure.rows[cells]
        if name == "w":
            found = np.full(len(self.pure.f), np.nan)
            if self._weights is not None:
                found[self.pure.model_cells] = self._weights[:, of]
            return found[cells]
        members = self.pure.space.members[t]
        codes = self.pure.space.codes_of(self.pure.index.seen[cells])[:, : len(members)]
        own = self.encoded.codes[members].astype(np.int64)
        levels = self.pure.space.levels[members]
        key = np.ravel_multi_index(tuple(codes.T), tuple(levels))
        place = np.searchsorted(key, np.ravel_multi_index(tuple(own), tuple(levels)))
        counts = np.bincount(place, self.encoded.weights * (self.encoded.y == of), len(key))
        whole = self.pure.rows[cells] if name == "p" else counts.sum()
        share: Floats = np.divide(counts, whole, out=np.full(len(key), np.nan), where=np.asarray(whole) > 0)
        with np.errstate(divide="ignore"):
            return share if name == "p" else np.log(share)

    @cached_property
    def _losses(self) -> Floats:
        """(N,) -log p of each row's class by the model itself."""
        return row_losses(log_softmax(self._model.scores(self.encoded.codes, self._n_jobs)), self.encoded.y)

    def worst(self, most: int = 10) -> list[int]:
        """Return the numbers of the rows of the data whose class is least probable, the worst first."""
        return [int(row) for row in np.argsort(-self._losses, kind="stable")[:most]]

    def effects(self, *columns: Any) -> pd.DataFrame:
        """Return a line per cell and class of the tuple of these columns, or of all tuples.

        columns: "columns" and "levels" (texts), "class", "rows" (weight of the rows in the cell), "phi" (what the model
        itself adds there, less its mean over the classes) and "pure".
        """
        chosen = [self.number_of(columns)] if columns else range(len(self.names))
        pure, parts = self.pure, []
        for t in chosen:
            cells, members = pure.cells_of(t), pure.space.members[t]
            codes = pure.space.codes_of(pure.index.seen[cells])
            labels = [np.array(self.labels(j), dtype=object)[codes[:, i]] for i, j in enumerate(members)]
            levels = [JOIN.join(texts) for texts in zip(*labels, strict=True)]
            many = len(self.classes)
            parts.append(
                pd.DataFrame(
                    {
                        "columns": self.names[t],
                        "levels": np.repeat(np.array(levels, dtype=object), many),
                        "class": np.tile(self.classes, len(levels)),
                        "rows": np.repeat(pure.rows[cells], many),
                        "phi": pure.raw[cells].ravel(),
                        "pure": pure.f[cells].ravel(),
                    }
                )
            )
        return pd.concat(parts, ignore_index=True)

    def importance(self, stop: StopToken = NEVER) -> pd.DataFrame:
        """Return a line per tuple, indexed by its name, the highest "nats" first.

        columns: "order" (its number of columns), "share", "structural", "nats", "loss" and "loss_error" (by how much
        the log loss of the test rows rises without it, and the standard error), and "cells".
        """
        return self._importance.table(stop)

    def orders(self) -> pd.DataFrame:
        """Return a line per number of columns: how many "tuples", and their sums of "share", "structural", "nats"."""
        groups = self.importance().groupby("order")
        table: pd.DataFrame = groups[["share", "structural", "nats"]].sum()
        table.insert(0, "tuples", groups.size())
        return table

    def mute(self, *tuples: Any) -> pd.DataFrame:
        """Return the measures of the test rows with all tuples ("all") and with these left out ("muted").

        What is left out is the pure effect alone: muting a pair leaves the main effects of its columns. Columns are
        those of `measures`: log_loss, error, rmse, brier, ece, balanced_error, average_precision_loss.
        """
        return self._importance.mute(self._numbers(tuples))

    def cost_without(self, *tuples: Any) -> tuple[float, float]:
        """Return by how much the log loss of the test rows rises where all these are left out, and its standard
        error: what "loss" and "loss_error" of `importance` are of one.
        """
        return self._importance.cost_without(self._numbers(tuples))

    def _numbers(self, tuples: Iterable[Any]) -> list[int]:
        return sorted({self.number_of(columns) for columns in tuples})

    def keep_best(self, by: str = "nats", stop: StopToken = NEVER) -> pd.DataFrame:
        """Return the curve of keeping the best k tuples alone, ranked by a column of `importance`.

        A line per k, from 0 (the intercept) to all, up to 200: "kept", "added" (the tuple that came last), "order",
        "log_loss" and "error" of the test rows.
        """
        return self._importance.keep_best(by, stop)

    def lacking(self, order: int | None = None, stop: StopToken = NEVER) -> pd.DataFrame:
        """Return a line per tuple of so many columns that the model has not, the highest gain first: a score test.

        columns: "gain" and "gain_error" (by how many nats a row test log loss should fall with it, and the standard
        error), "chi2", "df" and "p". `order` None: the lowest of which the model lacks some. A column that is the same
        on all rows says nothing, and is in none of them.

        Raises:
            RecipeError: an order that the columns have no tuples of, or of which none is lacking.
        """
        scores = self._model.scores(self.encoded.codes, self._n_jobs, stop)
        return self._tests.lacking(scores, self.pure.numbers, order, stop)

    def associations(self, order: int = 2, stop: StopToken = NEVER) -> pd.DataFrame:
        """Return a line per tuple of so many columns, without any model: what the rows say of it and the class.

        columns: "mi" (mutual information, nats), "mi_mm" (with Miller and Madow's correction), "interaction" (nats
        beyond all parts of the tuple, less what chance gives; the first of all), "g2", "chi2" (Pearson's),
        "df", and its "p".
        """
        return self._tests.associations(order, stop)

    def next_order(self, stop: StopToken = NEVER) -> pd.DataFrame | None:
        """Return `lacking` of one order more than the model's; None where there is no such tuple, or over 3,000."""
        order = int(self.pure.sizes.max(initial=0)) + 1
        if not 0 < self._tests.count(order) <= LOOKED:
            return None
        if self._next_order is None:
            self._next_order = self.lacking(order, stop)
        return self._next_order

    def row(
        self, x: Any, *, of: Any = None, against: Any = None, changes: Mapping[str, Any] | None = None
    ) -> RowExplanation:
        """Take the prediction of a row apart: its log-odds of one class against another as a sum of pure effects.

        Args:
            x: a dict of values by column, a line or a table of one row, or the number of a row of the data set.
            of: a class; None for the one predicted, of the row as it is.
            against: another; None for the most probable of the others.
            changes: values that some columns have instead.

        Raises:
            RecipeError: no such class. TableError: no such row, or a change to a level that no training row has.
        """
        labels = {name: self.labels(j) for j, name in enumerate(self.columns)}
        explain = partial(RowExplanation.of_codes, self.pure, labels, self.classes.tolist())
        if changes and (of is None or against is None):
            as_it_is = explain(row_codes(x, None, self.encoder, self.encoded), of, against)
            of, against = as_it_is.of, as_it_is.against
        return explain(row_codes(x, changes, self.encoder, self.encoded), of, against)

    def sentence(self) -> str:
        """Return in words what carries the score, which tuple of the highest order is worth most, and which of one
        order more would help, where these are few enough to be looked at.
        """
        said, more = verdict(self.orders(), self.importance(), self.judged_on), self.next_order()
        parts = [said, "" if more is None else lacking_sentence(more, int(self.pure.sizes.max()) + 1), self.note]
        return " ".join(part for part in parts if part)


class ColumnInteractions(Interactions):
    """The effects of the columns of a dlr model; a row with numbers that none of these rows has is taken apart too.

    `lacking` and `associations` look at numbers in eight intervals.
    """

    def __init__(
        self, classifier: Any, encoded: Encoded, heldout: Encoded | None, n_jobs: int | None = None,
        stop: StopToken = NEVER, more: Floats | None = None,
    ):  # fmt: skip
        self._made_of = classifier, encoded, heldout, n_jobs
        numbers = [one.numbers for one in (encoded, heldout) if one is not None and one.numbers is not None]
        encoder = encoder_of_values(classifier.encoder_, [*numbers, *([] if more is None else [more])])
        rows = [None if one is None else with_levels(one, encoder) for one in (encoded, heldout)]
        assert rows[0] is not None
        super().__init__(as_linear(classifier, encoder), encoder, rows[0], rows[1], n_jobs, stop)
        self._tests = TupleTests(binned(encoded), self.columns, n_jobs)

    def row(
        self, x: Any, *, of: Any = None, against: Any = None, changes: Mapping[str, Any] | None = None
    ) -> RowExplanation:
        """Take the prediction of a row apart, as `Interactions.row` does."""
        more = self._numbers_of(x, changes or {})
        if more.shape[1]:
            return ColumnInteractions(*self._made_of, more=more).row(x, of=of, against=against, changes=changes)
        return super().row(x, of=of, against=against, changes=changes)

    def _numbers_of(self, x: Any, changes: Mapping[str, Any]) -> Floats:
        """(n, M) numeric columns with the numbers that are no levels yet; elsewhere those that are."""
        classifier = self._made_of[0]
        columns = [self.encoder.columns_[j] for j in self.encoder.numeric_]
        if isinstance(x, (int, np.integer)):
            found = np.full((len(columns), 1), np.nan)
        else:
            found = classifier.encoder_.numbers(x if isinstance(x, pd.DataFrame) else pd.DataFrame([dict(x)]))[:, :1]
        for own, column in zip(found, columns, strict=True):
            with suppress(TypeError, ValueError):
                own[0] = float(changes.get(column.name, own[0]))
            if np.isnan(own[0]) or own[0] in (column.values or ()):
                own[0] = np.nan
        fresh = ~np.isnan(found)
        first = [column.values[0] if column.values else 0.0 for column in columns]
        return np.where(fresh, found, np.array(first)[:, None]) if fresh.any() else found[:, :0]
