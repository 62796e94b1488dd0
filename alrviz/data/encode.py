"""Encoder: from a table to codes, learned from the training rows alone.

Categorical and ordinal columns: one level per value seen. Numeric columns: cut into intervals by MDL, quantiles or
equal widths; with `discretize=None` one level per distinct value; with "smooth" there are many levels, as many as one
likes, for weights of neighbours are to be pulled together (models/parameterisation.py), those of ordinal columns too;
with "mdl-smooth" only numeric columns that MDL does not cut have such levels;
with "keep" they stay numbers, and their codes only say whether the number is there. Missing is a level
where it occurs in training (`missing="level"`), or no level at all ("skip"). What training never saw gets the code "no
level".

A categorical value is matched by value (1.0 is the level 1), else by text ("1" is the level 1 too): the next file may
hold as text what the last one held as numbers.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from alrviz.data.column_encoder import ColumnEncoder, code_intervals, code_values
from alrviz.data.columns import as_numbers, choose_kinds, table_columns
from alrviz.data.cuts import quantile_cuts, smooth_cuts, uniform_cuts
from alrviz.data.encoded import MDL_WAYS, SMOOTH_WAYS, Encoded, code_dtype
from alrviz.data.mdl import mdl_cuts
from alrviz.errors import RecipeError, TableError, nearest
from alrviz.stop import NEVER, StopToken

_FORMAT = 1
_DISCRETIZE = ("mdl", "quantile", "uniform", "smooth", "mdl-smooth", "keep", None)
WEIGHTS = (1e-50, 1e100)  # what they may sum to: the square of a count is a number, and not 0
_MISSING = ("level", "skip")


class Encoder:
    """Turn tables into codes by the levels of the training rows.

    Parameters
    ----------
    discretize : "mdl", "quantile", "uniform", "smooth", "mdl-smooth", "keep" or None
        How numeric columns are cut; None: every distinct value is a level; "smooth": quantiles, merged where they
        differ least, and levels of numeric and ordinal columns are chains; "mdl-smooth": as "mdl", and as "smooth"
        those numeric columns that MDL does not cut; "keep": not at all.
    n_bins : int, at least 2
        Intervals of "quantile", "uniform" and "smooth"; fewer where values repeat.
    missing : "level" or "skip"
        Missing is a level of its own (the last) where training rows have it, or no level.
    categorical_features : "from_dtype", "all", None, or names, a mask or indices
        Which columns are categorical. "from_dtype": text, booleans and pandas categoricals (None: none).

    Attributes: `columns_` (a `ColumnEncoder` per column), `levels_` (a,) int64, `classes_` (C,) sorted labels, `lost_`
    (names of the numeric columns of several values that no cut divides: all of a column is one level).

    >>> encoder = Encoder().fit(pd.DataFrame({"colour": ["red", "blue", None, "red"]}), [0, 1, 1, 0])
    >>> encoder.columns_[0].labels
    ('blue', 'red', 'missing')
    >>> encoder.transform(pd.DataFrame({"colour": ["red", "green", None]}))
    array([[1, 3, 2]], dtype=uint8)
    """

    columns_: tuple[ColumnEncoder, ...]
    levels_: np.ndarray
    classes_: np.ndarray
    lost_: tuple[str, ...] = ()

    def __init__(
        self,
        *,
        discretize: str | None = "mdl",
        n_bins: int = 10,
        missing: str = "level",
        categorical_features: Any = "from_dtype",
    ):
        for name, value, choices in (("discretize", discretize, _DISCRETIZE), ("missing", missing, _MISSING)):
            if value not in choices:
                raise RecipeError(f"{name}={value!r}: expected one of {choices}{nearest(value, choices)}")
        if isinstance(n_bins, bool) or not isinstance(n_bins, (int, np.integer)) or n_bins < 2:
            raise RecipeError(f"n_bins={n_bins!r}: expected a whole number of at least 2")
        self.discretize = discretize
        self.n_bins = int(n_bins)
        self.missing = missing
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, stop: StopToken = NEVER) -> "Encoder":
        """Learn levels, cuts and classes from the rows of weight above 0; a weight of 2 is the row twice, exactly.

        Args:
            X: a table of N rows, as `table_columns` takes it.
            y: (N,) class labels.
            sample_weight: (N,) how often each row counts; None for once.
            stop: asked between columns.

        Raises:
            TableError: no rows, labels that are missing, or a column that cannot be of its kind.
            RecipeError: a setting that is not known, or columns named that are not there.
        """
        names, columns, named = table_columns(X)
        rows = len(columns[0]) if columns else 0
        if not rows:
            raise TableError(f"nothing to learn from: the table has {rows} rows and {len(columns)} columns")
        classes, codes = class_codes(y, rows)
        weights = row_weights(sample_weight, rows)
        if not (weights > 0).all():
            kept = weights > 0
            columns = [column[kept] for column in columns]
            classes, codes = class_codes(classes[codes[kept]], int(kept.sum()))
            weights = weights[kept]
        kinds = choose_kinds(columns, names, self.categorical_features)
        coded = []
        for name, kind, column in zip(names, kinds, columns, strict=True):
            stop.check()
            coded.append(self.code_column(column, name, kind, codes, classes, weights, stop))
        lost = [code.name for code, column in zip(coded, columns, strict=True) if self.loses(code, column)]
        return self.take(coded, classes, lost, named)

    def take(
        self, columns: Sequence[ColumnEncoder], classes: np.ndarray, lost: Sequence[str], named: bool = True
    ) -> "Encoder":
        """Be fitted: with these columns, sorted class labels (C,), and names of columns that no cut divides."""
        self.named_ = named
        self.classes_ = classes
        self.columns_ = tuple(columns)
        self.lost_ = tuple(lost)
        self.levels_ = np.array([column.n_levels for column in columns], dtype=np.int64)
        return self

    def loses(self, code: ColumnEncoder, column: pd.Series) -> bool:
        """Return whether a column has several numbers that all became one level."""
        if self.discretize == "keep" or code.cuts is None or len(code.cuts):
            return False
        present = column.dropna()
        return bool(len(present)) and bool(present.min() != present.max())

    def code_column(
        self,
        column: pd.Series,
        name: str,
        kind: str,
        y: np.ndarray,
        classes: np.ndarray,
        weights: np.ndarray,
        stop: StopToken,
    ) -> ColumnEncoder:
        """Learn the levels of one column of kind `kind` from rows of classes `y` (N,), indices into `classes`."""
        keep_missing = self.missing == "level"
        if kind != "numeric" or self.discretize is None:
            smooth = kind == "ordinal" and self.discretize == "smooth"
            return replace(code_values(column, name, kind, keep_missing), smooth=smooth)

        smooth = self.discretize == "smooth"

        def find_cuts(numbers: np.ndarray, present: np.ndarray) -> np.ndarray:
            nonlocal smooth
            if self.discretize in MDL_WAYS:
                cuts = mdl_cuts(numbers, y[present], len(classes), weights[present], stop=stop)
                smooth = self.discretize == "mdl-smooth" and not len(cuts)
                if not smooth:
                    return cuts
            if self.discretize == "quantile":
                return quantile_cuts(numbers, self.n_bins, weights[present])
            if smooth:
                return smooth_cuts(numbers, y[present], len(classes), self.n_bins, weights[present])
            if self.discretize == "keep":
                return np.empty(0)
            return uniform_cuts(numbers, self.n_bins)

        return replace(code_intervals(column, name, keep_missing, find_cuts), smooth=smooth)

    def transform(self, X: Any, *, stop: StopToken = NEVER) -> np.ndarray:
        """Return the codes (a, N), C order, smallest unsigned dtype; code == levels_[j] means "no level"."""
        if (row := self._codes_of_row(X)) is not None:
            return row
        columns = self._matching(X)
        codes = np.empty((len(columns), len(columns[0])), dtype=code_dtype(self.levels_))
        for j, (coded, column) in enumerate(zip(self.columns_, columns, strict=True)):
            stop.check()
            codes[j] = coded.transform(column)
        return codes

    def _codes_of_row(self, X: Any) -> np.ndarray | None:
        """The codes (a, 1) of a table of one row, value by value: a tenth of what columns take. None of other tables,
        where columns are not the training table's in its order, or some value does not say by itself what it is.
        """
        a = len(self.columns_)
        if not isinstance(X, pd.DataFrame | np.ndarray) or X.shape != (1, a):
            return None
        if isinstance(X, np.ndarray):
            values = X[0].tolist()
        elif self.named_ and X.columns.tolist() == [column.name for column in self.columns_]:
            values = [X.iat[0, j] for j in range(a)]
        else:
            return None
        codes = [column.code(value) for column, value in zip(self.columns_, values, strict=True)]
        return None if None in codes else np.array(codes, dtype=code_dtype(self.levels_))[:, None]

    def numbers(self, X: Any) -> np.ndarray | None:
        """Return the numeric columns (n, N), NaN where missing, as they are kept; None unless `discretize="keep"`."""
        if self.discretize != "keep":
            return None
        columns = self._matching(X)
        kept = np.empty((len(self.numeric_), len(columns[0])))
        for numbers, j in zip(kept, self.numeric_, strict=True):
            numbers[:] = as_numbers(columns[j], self.columns_[j].name)
        return kept

    @property
    def chains_(self) -> np.ndarray | None:
        """How many levels of each column (a,) are smooth: all but missing of numeric and ordinal ones with "smooth", of
        those that MDL does not cut with "mdl-smooth"; None of others.
        """
        if self.discretize not in SMOOTH_WAYS:
            return None
        own = [column.n_levels - (column.missing_code is not None) for column in self.columns_]
        return np.array(own, np.int64) * [column.smooth for column in self.columns_]

    @property
    def numeric_(self) -> np.ndarray:
        """The numeric columns (n,), in order."""
        return np.array([j for j, column in enumerate(self.columns_) if column.kind == "numeric"], dtype=np.int64)

    def encode(self, X: Any, y: Any, sample_weight: Any = None, *, stop: StopToken = NEVER) -> Encoded:
        """Return codes, class indices and weights of the rows; every row is kept, whatever its weight.

        Raises `TableError` for a class that training never saw.
        """
        codes = self.transform(X, stop=stop)
        numbers = self.numbers(X)
        labels, places = class_codes(y, codes.shape[1])
        known = {label: place for place, label in enumerate(self.classes_.tolist())}
        lookup = []
        for label in labels.tolist():
            if label not in known:
                raise TableError(f"class {label!r} is not among the training classes {_some(self.classes_)}")
            lookup.append(known[label])
        return Encoded(
            codes=codes,
            y=np.array(lookup, dtype=np.int32)[places],
            weights=row_weights(sample_weight, codes.shape[1]),
            levels=self.levels_,
            classes=self.classes_,
            names=tuple(column.name for column in self.columns_),
            numbers=numbers,
            numeric=np.empty(0, np.int64) if numbers is None else self.numeric_,
            chains=self.chains_,
        )

    def _matching(self, X: Any) -> list[pd.Series]:
        """Return X's columns in the training order: by name where both tables have names, else by place."""
        names, columns, named = table_columns(X)
        wanted = [column.name for column in self.columns_]
        if named and self.named_:
            by_name = dict(zip(names, columns, strict=True))
            lost = [name for name in wanted if name not in by_name]
            if lost:
                raise TableError(f"no column {lost[0]!r} in the table{nearest(lost[0], names)} ({len(lost)} not found)")
            return [by_name[name] for name in wanted]
        if len(columns) != len(wanted):
            raise TableError(f"the table has {len(columns)} columns, training had {len(wanted)}")
        return columns

    def __repr__(self) -> str:
        if not hasattr(self, "columns_"):
            return f"<Encoder, not fitted: discretize={self.discretize!r}>"
        cut = f"{len(self.columns_)} columns, {int(self.levels_.sum()):,} levels, {len(self.classes_)} classes"
        return f"<Encoder of {cut}: discretize={self.discretize!r}>"

    def to_dict(self) -> dict[str, Any]:
        """Return everything a fitted encoder knows, as JSON can hold it."""
        features = self.categorical_features
        if not (features is None or isinstance(features, str)):
            features = np.asarray(features).tolist()
        return {
            "format": _FORMAT,
            "discretize": self.discretize,
            "n_bins": self.n_bins,
            "missing": self.missing,
            "categorical_features": features,
            "named": self.named_,
            "classes": {"dtype": self.classes_.dtype.str, "labels": self.classes_.tolist()},
            "columns": [column.to_dict() for column in self.columns_],
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "Encoder":
        """Rebuild the fitted encoder whose state `to_dict` gave; `TableError` for a format of another version."""
        if state.get("format") != _FORMAT:
            raise TableError(f"encoder format {state.get('format')!r}: this version reads format {_FORMAT}")
        parameters = ("discretize", "n_bins", "missing", "categorical_features")
        encoder = cls(**{name: state[name] for name in parameters})
        encoder.named_ = state["named"]
        encoder.classes_ = np.array(state["classes"]["labels"], dtype=np.dtype(state["classes"]["dtype"]))
        encoder.columns_ = tuple(ColumnEncoder.from_dict(column) for column in state["columns"])
        encoder.levels_ = np.array([column.n_levels for column in encoder.columns_], dtype=np.int64)
        return encoder


def cuts_text(how: Any) -> str:
    """Return how numeric columns are cut, in words; `how` has `discretize` and `n_bins`: an encoder, a recipe.

    >>> cuts_text(Encoder(discretize="quantile", n_bins=20))
    '20 quantiles'
    """
    bins = how.n_bins
    named = {"mdl": "MDL", "quantile": f"{bins} quantiles", "uniform": f"{bins} equal widths", None: "every value"}
    smooth = {"smooth": "smooth levels", "mdl-smooth": "MDL, else smooth levels", "auto": "smooth levels or MDL"}
    return (named | smooth)[how.discretize]


def numbers_text(encoder: Encoder) -> str:
    """Return what a fitted encoder makes of numeric columns, as a clause; "" where it has none."""
    numeric = [encoder.columns_[j] for j in encoder.numeric_]
    if not numeric:
        return ""
    if encoder.discretize in ("keep", None):
        return "numbers are not cut, each is looked at as it is"
    if not any(column.cuts is not None and len(column.cuts) for column in numeric):
        return "no column of numbers could be cut into intervals that tell of the class: the model leaves them out"
    return "numbers are cut into intervals when the model is fitted"


LOST_ADVICE = 'discretize="quantile" keeps all of them'


def lost_text(encoder: Encoder, advice: str = LOST_ADVICE) -> str:
    """Return a sentence on the numeric columns that are one level, and what to do about them; "" without any."""
    if not encoder.lost_:
        return ""
    lost, numeric = len(encoder.lost_), len(encoder.numeric_)
    named = ", ".join(map(repr, encoder.lost_[:5])) + (f" and {lost - 5:,} more" if lost > 5 else "")
    how = cuts_text(encoder)
    why = " (it looks at one column at a time, and misses what shows only in several together)"
    return (
        f"{how}{why if encoder.discretize == 'mdl' else ''} finds no cut in {lost:,} of {numeric:,} numeric "
        f"column{'s' if numeric > 1 else ''}: {named}; no model sees them. {advice}"
    )


def class_codes(y: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes (C,) of labels y (N,), and each row's index (N,) among them; `TableError` where one of
    n_rows has none, or numbers and text are mixed.
    """
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise TableError(f"y must have one class per row, shape ({n_rows},), got {labels.shape}")
    places, found = pd.factorize(labels)
    if (places < 0).any():
        raise TableError(f"y has no class in row {int((places < 0).argmax())}; drop such rows")
    try:
        classes, order = np.unique(np.asarray(found), return_inverse=True)
    except TypeError as error:
        raise TableError(f"classes must be all numbers or all text, got {_some(found)}") from error
    return classes, order[places]


def row_weights(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Return the weights as float64 (N,) (ones for None); else `TableError`: they must be finite, not negative, and not
    all 0.
    """
    if sample_weight is None:
        return np.ones(n_rows)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise TableError(f"sample_weight must have shape ({n_rows},), got {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise TableError("sample_weight must be finite and not negative")
    if not (weights > 0).any():
        raise TableError("sample_weight is zero for every row: nothing is left")
    low, high = WEIGHTS
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not low <= total <= high:
        raise TableError(
            f"sample_weight sums to {total:.3g}; from {low:g} to {high:g} products of counts stay numbers: divide the "
            "weights by their mean"
        )
    return weights


def _some(labels: np.ndarray) -> str:
    shown = ", ".join(repr(label) for label in labels[:5].tolist())
    return shown + (f" ... ({len(labels)} in all)" if len(labels) > 5 else "")
