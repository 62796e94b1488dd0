"""Encode tables as codes, by levels learned from the training rows alone.

Categorical and ordinal columns have a level for each value seen. Numeric columns are cut as `discretize` says:

    "mdl"                     intervals at MDL cuts
    "quantile", "uniform"     `n_bins` quantiles or intervals of equal width
    "smooth"                  many levels; weights of neighbours are pulled together (models/parameterisation.py), those
                              of ordinal columns too
    "mdl-smooth"              MDL cuts; smooth levels if MDL finds none
    "keep"                    not cut: numbers stay numbers, and the code only says whether the number is missing
    None                      a level for each distinct value

Missing is a level if it occurs in training (`missing="level"`), or no level ("skip"). A value that is not among the
training rows gets the code "no level".

A categorical value is matched by value (1.0 is the level 1), else by text ("1" is the level 1 too), because the next
file may contain texts where the training file had numbers.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from alrviz.data.column_encoder import ColumnEncoder, code_intervals, code_values
from alrviz.data.columns import as_numbers, choose_kinds, table_columns
from alrviz.data.cuts import cut_beside_zero, quantile_cuts, smooth_cuts, uniform_cuts
from alrviz.data.encoded import MDL_WAYS, SMOOTH_WAYS, Encoded, code_dtype
from alrviz.data.mdl import mdl_cuts
from alrviz.data.sparse import SparseColumns
from alrviz.errors import RecipeError, TableError, nearest
from alrviz.stop import NEVER, StopToken

_FORMAT = 1
_DISCRETIZE = ("mdl", "quantile", "uniform", "smooth", "mdl-smooth", "keep", None)
WEIGHT_SUM_RANGE = (1e-50, 1e100)  # outside, squares of counts underflow to 0 or overflow
_MISSING = ("level", "skip")


class Encoder:
    """Turn tables into codes by the levels of the training rows.

    Parameters
    ----------
    discretize : "mdl", "quantile", "uniform", "smooth", "mdl-smooth", "keep" or None
        How numeric columns are cut, see above.
    n_bins : int, at least 2
        Intervals of "quantile", "uniform" and "smooth"; fewer if values repeat.
    missing : "level" or "skip"
        Whether missing is a level (the last one) if training rows have it, or no level.
    categorical_features : "from_dtype", "all", None, or names, a mask or indices
        Which columns are categorical. "from_dtype": text, booleans and pandas categoricals (None: none).

    Attributes: `columns_` (a `ColumnEncoder` per column), `levels_` (a,) int64 number of levels, `classes_` (C,) sorted
    labels, `lost_` (names of the numeric columns of several values that have no cut, and so one level).

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
            X: a table of N rows, of a type that `table_columns` accepts.
            y: (N,) class labels.
            sample_weight: (N,) how often each row counts; None for once.
            stop: checked between columns.

        Raises:
            TableError: no rows, missing labels, or a column that cannot be of its kind.
            RecipeError: an unknown setting or column.
        """
        names, columns, has_names = table_columns(X)
        if not columns:
            raise TableError("nothing to learn from: no column is a feature; at least one was expected")
        rows = _n_rows(columns)
        if not rows:
            raise TableError("nothing to learn from: the table has no rows; at least one was expected")
        classes, codes = class_codes(y, rows)
        weights = row_weights(sample_weight, rows)
        if not (weights > 0).all():
            keep = weights > 0
            columns = columns.take(keep) if isinstance(columns, SparseColumns) else [column[keep] for column in columns]
            classes, codes = class_codes(classes[codes[keep]], int(keep.sum()))
            weights = weights[keep]
        kinds = choose_kinds(columns, names, self.categorical_features)
        coded, undivided = list[ColumnEncoder](), list[str]()
        for j, (name, kind) in enumerate(zip(names, kinds, strict=True)):
            stop.check()
            values = columns.distinct_values(j) if isinstance(columns, SparseColumns) else None
            is_cut = kind == "numeric" and self.discretize not in (None, "keep")
            if values is not None and is_cut and len(values) <= 2:
                coded.append(code_intervals(values, name, self.missing == "level", cut_beside_zero(values)))
                continue
            column = columns[j]
            code = self.code_column(column, name, kind, codes, classes, weights, stop)
            if self.lacks_cuts(code, column):
                if values is None:
                    undivided.append(name)
                else:
                    code = code_intervals(values, name, self.missing == "level", cut_beside_zero(values))
            coded.append(code)
        return self.take(coded, classes, undivided, has_names)

    def take(
        self, columns: Sequence[ColumnEncoder], classes: np.ndarray, undivided: Sequence[str], has_names: bool = True
    ) -> "Encoder":
        """Set the fitted attributes: columns, sorted class labels (C,), names of columns without a cut.

        `has_names`: whether the training table had names, by which `transform` then finds columns.
        """
        self.named_ = has_names
        self.classes_ = classes
        self.columns_ = tuple(columns)
        self.lost_ = tuple(undivided)
        self.levels_ = np.array([column.n_levels for column in columns], dtype=np.int64)
        return self

    def lacks_cuts(self, code: ColumnEncoder, column: pd.Series) -> bool:
        """Return whether a numeric column has several values but one level."""
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
        keep_missing, smooth = self.missing == "level", self.discretize == "smooth"
        if kind != "numeric" or self.discretize is None:
            return replace(code_values(column, name, kind, keep_missing), smooth=smooth and kind == "ordinal")
        numbers, cuts = as_numbers(column, name), None
        if (present := ~np.isnan(numbers)).any():
            cuts, smooth = self._find_cuts(numbers[present], y[present], len(classes), weights[present], stop)
        return replace(code_intervals(numbers, name, keep_missing, cuts), smooth=smooth)

    def _find_cuts(
        self, numbers: np.ndarray, y: np.ndarray, n_classes: int, weights: np.ndarray, stop: StopToken
    ) -> tuple[np.ndarray, bool]:
        """Return the cuts of numbers with classes and weights, all (P,), and whether their levels are smooth."""
        if self.discretize in MDL_WAYS:
            cuts = mdl_cuts(numbers, y, n_classes, weights, stop=stop)
            if self.discretize == "mdl" or len(cuts):
                return cuts, False
        if self.discretize in SMOOTH_WAYS:
            return smooth_cuts(numbers, y, n_classes, self.n_bins, weights), True
        if self.discretize == "quantile":
            return quantile_cuts(numbers, self.n_bins, weights), False
        return np.empty(0) if self.discretize == "keep" else uniform_cuts(numbers, self.n_bins), False

    def transform(self, X: Any, *, stop: StopToken = NEVER) -> np.ndarray:
        """Return the codes (a, N), C order, smallest unsigned dtype; code == levels_[j] means "no level"."""
        if (row := self._codes_of_row(X)) is not None:
            return row
        columns = self._matching(X)
        codes = np.empty((len(columns), _n_rows(columns)), dtype=code_dtype(self.levels_))
        for j, coded in enumerate(self.columns_):
            stop.check()
            if isinstance(columns, SparseColumns) and coded.kind == "numeric":
                codes[j] = _codes_of_entries(columns, j, coded)
            else:
                codes[j] = coded.transform(columns[j])
        return codes

    def _codes_of_row(self, X: Any) -> np.ndarray | None:
        """Return the codes (a, 1) of a table of one row, value by value, in a tenth of the time that columns take.

        None for other tables, for columns in another order, and for a value whose code depends on its column's dtype.
        """
        n_columns = len(self.columns_)
        if not isinstance(X, pd.DataFrame | np.ndarray) or X.shape != (1, n_columns):
            return None
        if isinstance(X, np.ndarray):
            values = X[0].tolist()
        elif self.named_ and X.columns.tolist() == self.names_:
            values = [X.iat[0, j] for j in range(n_columns)]
        else:
            return None
        codes = [column.code(value) for column, value in zip(self.columns_, values, strict=True)]
        return None if None in codes else np.array(codes, dtype=code_dtype(self.levels_))[:, None]

    def numbers(self, X: Any) -> np.ndarray | None:
        """Return the numbers of numeric columns (n, N), NaN where missing; None unless `discretize="keep"`."""
        if self.discretize != "keep":
            return None
        columns = self._matching(X)
        result = np.empty((len(self.numeric_), len(columns[0])))
        for numbers, j in zip(result, self.numeric_, strict=True):
            numbers[:] = as_numbers(columns[j], self.columns_[j].name)
        return result

    @property
    def names_(self) -> list[str]:
        """Names of the encoded columns, in the order of `columns_`."""
        return [column.name for column in self.columns_]

    @property
    def chains_(self) -> np.ndarray | None:
        """Number of smooth levels of each column (a,), without missing; None if `discretize` makes none."""
        if self.discretize not in SMOOTH_WAYS:
            return None
        n_present_levels = [column.n_levels - (column.missing_code is not None) for column in self.columns_]
        return np.array(n_present_levels, np.int64) * [column.smooth for column in self.columns_]

    @property
    def numeric_(self) -> np.ndarray:
        """Indices of the numeric columns (n,)."""
        return np.array([j for j, column in enumerate(self.columns_) if column.kind == "numeric"], dtype=np.int64)

    def encode(self, X: Any, y: Any, sample_weight: Any = None, *, stop: StopToken = NEVER) -> Encoded:
        """Return codes, class indices and weights of all rows, including those of weight 0.

        Raises `TableError` for a class that is not among the training rows.
        """
        codes = self.transform(X, stop=stop)
        numbers = self.numbers(X)
        labels, label_indices = class_codes(y, codes.shape[1])
        code_by_label = {label: code for code, label in enumerate(self.classes_.tolist())}
        if unknown := [label for label in labels.tolist() if label not in code_by_label]:
            raise TableError(f"class {unknown[0]!r} is not among the training classes {_label_list(self.classes_)}")
        lookup = [code_by_label[label] for label in labels.tolist()]
        return Encoded(
            codes=codes,
            y=np.array(lookup, dtype=np.int32)[label_indices],
            weights=row_weights(sample_weight, codes.shape[1]),
            levels=self.levels_,
            classes=self.classes_,
            names=tuple(column.name for column in self.columns_),
            numbers=numbers,
            numeric=np.empty(0, np.int64) if numbers is None else self.numeric_,
            chains=self.chains_,
        )

    def _matching(self, X: Any) -> Sequence[pd.Series]:
        """Return X's columns in the training order: by name if both tables have names, else by position."""
        names, columns, has_names = table_columns(X)
        expected_names = self.names_
        if has_names and self.named_:
            column_by_name = dict(zip(names, columns, strict=True))
            if absent_names := [name for name in expected_names if name not in column_by_name]:
                name, n_absent = absent_names[0], len(absent_names)
                raise TableError(f"no column {name!r} in the table{nearest(name, names)} ({n_absent} not found)")
            return [column_by_name[name] for name in expected_names]
        if len(columns) != len(expected_names):
            raise TableError(f"the table has {len(columns)} columns, training had {len(expected_names)}")
        return columns

    def __repr__(self) -> str:
        if not hasattr(self, "columns_"):
            return f"<Encoder, not fitted: discretize={self.discretize!r}>"
        cut = f"{len(self.columns_)} columns, {int(self.levels_.sum()):,} levels, {len(self.classes_)} classes"
        return f"<Encoder of {cut}: discretize={self.discretize!r}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the settings and the fitted attributes as JSON values."""
        features = self.categorical_features
        if not (features is None or isinstance(features, str)):
            features = np.asarray(features).tolist()
        return {
            "format": _FORMAT,
            **{name: getattr(self, name) for name in ("discretize", "n_bins", "missing")},
            "categorical_features": features,
            "named": self.named_,
            "classes": {"dtype": self.classes_.dtype.str, "labels": self.classes_.tolist()},
            "columns": [column.to_dict() for column in self.columns_],
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "Encoder":
        """Rebuild a fitted encoder from `to_dict`'s state; `TableError` for another format."""
        if state.get("format") != _FORMAT:
            raise TableError(f"encoder format {state.get('format')!r}: this version reads format {_FORMAT}")
        parameters = ("discretize", "n_bins", "missing", "categorical_features")
        encoder = cls(**{name: state[name] for name in parameters})
        encoder.named_ = state["named"]
        encoder.classes_ = np.array(state["classes"]["labels"], dtype=np.dtype(state["classes"]["dtype"]))
        encoder.columns_ = tuple(ColumnEncoder.from_dict(column) for column in state["columns"])
        encoder.levels_ = np.array([column.n_levels for column in encoder.columns_], dtype=np.int64)
        return encoder


def _codes_of_entries(columns: SparseColumns, j: int, coded: ColumnEncoder) -> np.ndarray:
    """Return the codes (N,) of numeric column j of a sparse matrix, whose entries alone are looked up."""
    rows, values = columns.entries(j)
    entry_codes = coded.transform(pd.Series(np.append(values, 0.0)))
    codes = np.full(columns.n_rows, entry_codes[-1])
    codes[rows] = entry_codes[:-1]
    return codes


def _n_rows(columns: Sequence[pd.Series]) -> int:
    return columns.n_rows if isinstance(columns, SparseColumns) else len(columns[0])


def cuts_text(settings: Any) -> str:
    """Return how numeric columns are cut, in words, by `discretize` and `n_bins` of an encoder or a recipe.

    >>> cuts_text(Encoder(discretize="quantile", n_bins=20))
    '20 quantiles'
    """
    bins = settings.n_bins
    plain = {"mdl": "MDL", "quantile": f"{bins} quantiles", "uniform": f"{bins} equal widths", None: "every value"}
    smooth = {"smooth": "smooth levels", "mdl-smooth": "MDL, else smooth levels", "auto": "smooth levels or MDL"}
    return (plain | smooth)[settings.discretize]


def numbers_text(encoder: Encoder) -> str:
    """Return a clause on how a fitted encoder treats numeric columns; "" without any."""
    numeric = [encoder.columns_[j] for j in encoder.numeric_]
    if not numeric:
        return ""
    if encoder.discretize in ("keep", None):
        return "numbers are not cut, each value is used unchanged"
    if not any(column.cuts is not None and len(column.cuts) for column in numeric):
        return "no column of numbers could be cut into intervals that tell of the class: the model leaves them out"
    return "numbers are cut into intervals when the model is fitted"


LOST_ADVICE = 'discretize="quantile" keeps all of them'


def lost_text(encoder: Encoder, advice: str = LOST_ADVICE) -> str:
    """Return a sentence on the numeric columns without a cut, which no model sees, that ends in `advice`, or ""."""
    if not encoder.lost_:
        return ""
    n_undivided, numeric = len(encoder.lost_), len(encoder.numeric_)
    names = ", ".join(map(repr, encoder.lost_[:5])) + (f" and {n_undivided - 5:,} more" if n_undivided > 5 else "")
    cuts = cuts_text(encoder)
    remark = " (it considers one column at a time, and misses effects that need several columns together)"
    return (
        f"{cuts}{remark if encoder.discretize == 'mdl' else ''} finds no cut in {n_undivided:,} of {numeric:,} numeric "
        f"column{'s' if numeric > 1 else ''}: {names}; no model sees them. {advice}"
    )


def class_codes(y: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes (C,) of labels y (N,), and the class index of each row (N,).

    Raises `TableError` for another number of labels than n_rows, a missing label, or numbers mixed with text.
    """
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise TableError(f"y must have one class per row, shape ({n_rows},), got {labels.shape}")
    label_indices, distinct = pd.factorize(labels)
    if (label_indices < 0).any():
        raise TableError(f"y has no class in row {int((label_indices < 0).argmax())}; drop such rows")
    try:
        classes, class_of_label = np.unique(np.asarray(distinct), return_inverse=True)
    except TypeError as error:
        raise TableError(f"classes must be all numbers or all text, got {_label_list(distinct)}") from error
    return classes, class_of_label[label_indices]


def row_weights(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Return the weights as float64 (N,), ones for None; `TableError` unless they are finite, none < 0, not all 0."""
    if sample_weight is None:
        return np.ones(n_rows)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,):
        raise TableError(f"sample_weight must have shape ({n_rows},), got {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise TableError("sample_weight must be finite and not negative")
    if not (weights > 0).any():
        raise TableError("sample_weight is zero for every row: nothing is left")
    min_sum, max_sum = WEIGHT_SUM_RANGE
    with np.errstate(over="ignore"):
        weight_sum = weights.sum()
    if not min_sum <= weight_sum <= max_sum:
        raise TableError(
            f"sample_weight sums to {weight_sum:.3g}; from {min_sum:g} to {max_sum:g} products of counts stay numbers: "
            "divide the weights by their mean"
        )
    return weights


def _label_list(labels: np.ndarray) -> str:
    text = ", ".join(repr(label) for label in labels[:5].tolist())
    return text + (f" ... ({len(labels)} in all)" if len(labels) > 5 else "")
