"""Which interactions matter: the pure effects of a fitted model, ranked, muted, and added up for a row.

score_k(x) = intercept_k + sum over tuples S of f_S[x_S, k]                                 models/effects.py

share_S       Cov(f_S, F) / Var(F) over the rows, F the score less its intercept; classes by their shares. They sum
to 1, and one is below 0 where a tuple takes back what others say
structural_S  Var(f_S) / Var(F): the same if effects were uncorrelated
nats_S        1/2 mean over the rows of Var over k ~ p(.|x) of f_S[x, k]: about what leaving f_S out costs
loss_S        by how much the log loss of other rows rises without f_S, with its standard error
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from alrviz.data.dataset import Dataset, require_dataset
from alrviz.data.encode import Encoder
from alrviz.data.encoded import Encoded
from alrviz.data.stream.table import CodedTable
from alrviz.data.target import class_codes
from alrviz.errors import RecipeError, TableError, nearest
from alrviz.estimators.frames import join_of, tuple_names
from alrviz.estimators.make import estimator_of
from alrviz.estimators.recipes import RecipeClassifier
from alrviz.fitting.runs.run import Run
from alrviz.kernels import effects as kernels
from alrviz.models.density_model import DensityModel
from alrviz.models.effects import Effects, purify
from alrviz.models.linear import LinearModel, log_softmax
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import NEVER, StopToken
from alrviz.studies.core.names import tuples_text
from alrviz.studies.effects.columns import as_linear, binned, encoder_of_values, with_levels
from alrviz.studies.effects.lacking import MOST, associations, lacking
from alrviz.studies.effects.row_explanation import JOIN, RowExplanation
from alrviz.studies.effects.words import lacking_sentence, verdict
from alrviz.studies.statistics.measures import MEASURES, measures, row_losses

if TYPE_CHECKING:
    from alrviz.data.encode import ColumnEncoder

NO_LEVEL = "(no level)"  # a missing value that is skipped, or one that training never saw
# Families whose score is a sum over cells.
VALID = "lr, alr, salr, hsalr, hlr, halr, anje (naive Bayes, WANBIA-C and AutoClassifier are among them), dlr"
MOST_ROWS = 200_000  # of a table that is read in batches, training rows and test rows each
_CURVE = 200  # points of the curve of tuples kept, at most
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
    found: Encoded = model.encoder_.encode(dataset.X, model.classes_[codes], stop=stop)
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
        self.encoder, self.encoded, self.model_ = encoder, encoded, model
        self.heldout, self.has_heldout = heldout or encoded, heldout is not None
        self._tested = encoded  # what tuples are tested on that the model has not
        self._n_jobs, self._weights = n_jobs, weights  # (S, C) of the model's own cells
        self.pure: Effects = purify(model, encoded, n_jobs, stop)
        self.columns = [column.name for column in encoder.columns_]
        self.names = tuple_names(self.pure.space.members, self.columns)
        self.classes = encoder.classes_
        self._importance: pd.DataFrame | None = None
        self._scores: Floats | None = None
        self._own_log_p: Floats | None = None
        self._kept: dict[str, Any] = {}

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
            columns = [columns] if columns in self.columns else columns.split(join_of(self.columns))
        for name in columns:
            if name not in self.columns:
                raise RecipeError(f"no column {name!r} in the model{nearest(str(name), self.columns)}")
        key = tuple(sorted({self.columns.index(name) for name in columns}))
        if key not in self.pure.numbers:
            asked = join_of(self.columns).join(map(str, columns))
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
                found[self.pure.own] = self._weights[:, of]
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

    def worst(self, most: int = 10) -> list[int]:
        """Return the numbers of the rows of the data whose class is least probable, the worst first."""
        if self._own_log_p is None:
            log_p = log_softmax(self.model_.scores(self.encoded.codes, self._n_jobs))
            self._own_log_p = log_p[np.arange(self.encoded.n_rows), self.encoded.y]
        return [int(row) for row in np.argsort(self._own_log_p, kind="stable")[:most]]

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
        if self._importance is None:
            pure = self.pure
            share, structural, nats = pure.importance(self.encoded, self._n_jobs, stop).T
            rises = self._rises(stop)
            n = self.heldout.weights.sum()
            mean = rises[:, 0] / n
            error = np.sqrt(np.maximum(0.0, rises[:, 1] / n - mean**2) / n)
            found = pd.DataFrame(
                {
                    "order": pure.sizes, "share": share, "structural": structural, "nats": nats, "loss": mean,
                    "loss_error": error, "cells": np.diff(pure.index.begin),
                },
                pd.Index(self.names, name="columns"),
            ).round(12)  # fmt: skip
            self._importance = found.iloc[np.argsort(-nats, kind="stable")]
        return self._importance.copy()

    def _rises(self, stop: StopToken) -> Floats:
        """(T, 2) sums over test rows of the rise of -log p(y) without each tuple, and of its square."""
        pure, held = self.pure, self.heldout
        parts = np.zeros((pure.parts(held.n_rows), pure.n_tuples, 2))

        def see(rows: slice, effects: Floats, part: int) -> None:
            scores = effects.sum(axis=1) + pure.intercept
            kernels.losses_without(effects, scores, held.y[rows], held.weights[rows], parts[part])

        pure.visit(held.codes, see, None, self._n_jobs, stop)
        found: Floats = parts.sum(axis=0)
        return found

    def orders(self) -> pd.DataFrame:
        """Return a line per number of columns: how many "tuples", and their sums of "share", "structural", "nats"."""
        groups = self.importance().groupby("order")
        found: pd.DataFrame = groups[["share", "structural", "nats"]].sum()
        found.insert(0, "tuples", groups.size())
        return found

    def mute(self, *tuples: Any) -> pd.DataFrame:
        """Return the measures of the test rows with all tuples ("all") and with these left out ("muted").

        What is left out is the pure effect alone: muting a pair leaves the main effects of its columns. Columns are
        those of `measures`: log_loss, error, rmse, brier, ece, balanced_error, average_precision_loss.
        """
        lines = {}
        for name, log_p in zip(("all", "muted"), self._with_and_without(tuples), strict=True):
            found = measures(log_p, self.heldout.y, self.heldout.weights)
            lines[name] = {measure: getattr(found, measure) for measure in MEASURES}
        return pd.DataFrame.from_dict(lines, orient="index")

    def cost_without(self, *tuples: Any) -> tuple[float, float]:
        """Return by how much the log loss of the test rows rises where all these are left out, and its standard
        error: what "loss" and "loss_error" of `importance` are of one.
        """
        own, without = (row_losses(log_p, self.heldout.y) for log_p in self._with_and_without(tuples))
        n, weights = self.heldout.weights.sum(), self.heldout.weights
        mean = float(weights @ (without - own) / n)
        return mean, float(np.sqrt(max(0.0, weights @ (without - own) ** 2 / n - mean**2) / n))

    def _with_and_without(self, tuples: Iterable[Any]) -> tuple[Floats, Floats]:
        """(N, C) log probabilities of the test rows by all tuples, and without these."""
        chosen = sorted({self.number_of(columns) for columns in tuples})
        if self._scores is None:
            self._scores = self.pure.scores(self.heldout.codes, None, self._n_jobs)
        without = self._scores - self.pure.scores(self.heldout.codes, chosen, self._n_jobs) if chosen else self._scores
        return log_softmax(self._scores), log_softmax(without)

    def keep_best(self, by: str = "nats", stop: StopToken = NEVER) -> pd.DataFrame:
        """Return the curve of keeping the best k tuples alone, ranked by a column of `importance`.

        A line per k, from 0 (the intercept) to all, up to 200: "kept", "added" (the tuple that came last), "order",
        "log_loss" and "error" of the test rows.
        """
        ranking = self.importance(stop)
        if by not in ("share", "structural", "nats", "loss"):
            raise RecipeError(f"by={by!r} ranks no tuples; expected 'nats', 'share', 'structural' or 'loss'")
        ranking = ranking.sort_values(by, ascending=False, kind="stable")
        order = [self.number_of(name) for name in ranking.index]
        held, pure, total = self.heldout, self.pure, len(order)
        ends = (
            np.unique(np.geomspace(1, total, _CURVE).round().astype(int)) if total > _CURVE else np.arange(1, total + 1)
        )
        sums = np.zeros((pure.parts(held.n_rows), len(ends) + 1, 2))

        def see(rows: slice, effects: Floats, part: int) -> None:
            kernels.losses_kept(effects, pure.intercept, held.y[rows], held.weights[rows], ends, sums[part])

        pure.visit(held.codes, see, order, self._n_jobs, stop)
        losses = sums.sum(axis=0) / held.weights.sum()
        last = [None, *ranking.index[ends - 1]]
        sizes = [0, *ranking["order"].to_numpy()[ends - 1]]
        return pd.DataFrame(
            {"kept": [0, *ends], "added": last, "order": sizes, "log_loss": losses[:, 0], "error": losses[:, 1]}
        )

    def lacking(self, order: int | None = None, stop: StopToken = NEVER) -> pd.DataFrame:
        """Return a line per tuple of so many columns that the model has not, the highest gain first: a score test.

        columns: "gain" and "gain_error" (by how many nats a row held-out log loss should fall with it, and the standard
        error), "chi2", "df" and "p". `order` None: the lowest of which the model lacks some. A column that is the same
        on all rows says nothing, and is in none of them.

        Raises:
            RecipeError: an order that the columns have no tuples of, or of which none is lacking.
        """
        known, several = self.pure.numbers, set(self._several)
        for size in [self._size(order)] if order is not None else range(1, len(several) + 1):
            if comb(len(several), size) > sum(len(own) == size and several.issuperset(own) for own in known):
                break
        else:
            raise RecipeError(f"the model has all tuples of its {len(several)} columns; none is lacking")
        tuples = [columns for columns in self._tuples_of(size) if columns not in known]
        found = lacking(self.model_.scores(self.encoded.codes, self._n_jobs, stop), self._tested, tuples, self._n_jobs,
                        stop)  # fmt: skip
        return self._named(found, tuples, "gain")

    def associations(self, order: int = 2, stop: StopToken = NEVER) -> pd.DataFrame:
        """Return a line per tuple of so many columns, without any model: what the rows say of it and the class.

        columns: "mi" (mutual information, nats), "mi_mm" (with Miller and Madow's correction), "interaction" (nats
        beyond all parts of the tuple, less what chance gives; the first of all), "g2", "chi2" (Pearson's),
        "df", and its "p".
        """
        tuples = self._tuples_of(self._size(order))
        return self._named(associations(self._tested, tuples, self._n_jobs, stop), tuples, "interaction")

    @cached_property
    def _several(self) -> list[int]:
        """The columns that are not the same on all rows."""
        return [j for j, codes in enumerate(self._tested.codes) if len(codes) and (codes != codes[0]).any()]

    def _size(self, order: int) -> int:
        if not 1 <= order <= len(self._several):
            raise RecipeError(f"order={order} does not fit; expected 1 to {len(self._several)}")
        return order

    def _tuples_of(self, order: int) -> list[tuple[int, ...]]:
        a = len(self._several)
        if comb(a, order) > MOST:
            raise RecipeError(f"{a} columns have {comb(a, order):,} {tuples_text(order)}; expected at most {MOST:,}")
        return list(combinations(self._several, order))

    def next_order(self, stop: StopToken = NEVER) -> pd.DataFrame | None:
        """Return `lacking` of one order more than the model's; None where there is no such tuple, or over 3,000."""
        if "next order" not in self._kept:
            order = int(self.pure.sizes.max(initial=0)) + 1
            few = 0 < comb(len(self._several), order) <= LOOKED
            self._kept["next order"] = self.lacking(order, stop) if few else None
        return self._kept["next order"]

    def curve(self, stop: StopToken = NEVER) -> pd.DataFrame:
        """Return `keep_best()`, which is kept."""
        if "curve" not in self._kept:
            self._kept["curve"] = self.keep_best(stop=stop)
        return self._kept["curve"]

    def _named(self, found: pd.DataFrame, tuples: list[tuple[int, ...]], by: str) -> pd.DataFrame:
        found.index = pd.Index(tuple_names(tuples, self.columns), name="columns")
        return found.sort_values(by, ascending=False, kind="stable")

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
        codes = self._codes_of(x, changes)
        labels = {name: self.labels(j) for j, name in enumerate(self.columns)}
        if changes and (of is None or against is None):
            own = RowExplanation.of_codes(
                self.pure, labels, self.classes.tolist(), self._codes_of(x, None), of, against
            )
            of, against = own.of, own.against
        return RowExplanation.of_codes(self.pure, labels, self.classes.tolist(), codes, of, against)

    def _codes_of(self, x: Any, changes: Mapping[str, Any] | None) -> NDArray[np.unsignedinteger]:
        if isinstance(x, (int, np.integer)):
            if not 0 <= x < self.encoded.n_rows:
                raise TableError(f"there is no row {x}; expected 0 to {self.encoded.n_rows - 1}")
            codes: NDArray[np.unsignedinteger] = self.encoded.codes[:, [int(x)]].copy()
        else:
            frame = x if isinstance(x, pd.DataFrame) else pd.DataFrame([dict(x)])
            if len(frame) != 1:
                raise TableError(f"one row is taken apart, and there are {len(frame)}; expected a table of one row")
            codes = self.encoder.transform(frame)
        for name, value in (changes or {}).items():
            if name not in self.columns:
                raise RecipeError(f"no column {name!r} in the model{nearest(str(name), self.columns)}")
            column = self.columns.index(name)
            codes[column, 0] = self._code(column, value)
        return codes

    def _code(self, column: int, value: Any) -> int:
        """The level that a value of a column is: a value, or what its level is called."""
        labels = self.labels(column)
        if isinstance(value, str) and value in labels:
            return labels.index(value)
        coder: ColumnEncoder = self.encoder.columns_[column]
        code = int(coder.transform(pd.Series([value], dtype=object))[0])
        if code >= len(labels) - 1 and not (pd.api.types.is_scalar(value) and pd.isna(value)):
            known = labels[:-1]
            raise TableError(
                f"{self.columns[column]!r} has no level {value!r}; expected one of {', '.join(map(repr, known[:8]))}"
                f"{' ...' if len(known) > 8 else ''}{nearest(str(value), known)}"
            )
        return code

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
        self._tested = binned(encoded)

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
