"""scikit-learn's checks of input, for tables whose columns may be text, categoricals or numbers with gaps.

Frames keep their dtypes (each column decides how it is encoded); anything else becomes a matrix. Names and number of
columns are compared with those of `fit`, as everywhere in scikit-learn.
"""

import numbers
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from joblib.parallel import get_active_backend
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_consistent_length, column_or_1d, validate_data

from alrviz.data.apply_spec import read_new_rows
from alrviz.data.encode import Encoder, row_weights
from alrviz.data.parse_spec import ParseSpec
from alrviz.data.parse_values import PLAIN_NUMBER, numbers_among
from alrviz.data.stream.table import Stream
from alrviz.errors import ReadingWarning, RecipeError, TableError, listed
from alrviz.fitting.families import ENCODING
from alrviz.fitting.recipe import Recipe
from alrviz.passes.rows import Floats


def check_table(estimator: Any, X: Any, reset: bool, is_read: bool = False) -> Any:
    """Return X as a DataFrame or a matrix.

    The estimator remembers its column names and width if `reset`; else they are compared with those of `fit`.

    If the model knows how its table was read (`spec_`), a frame of new rows is read in the same way, unless `is_read`;
    a value that cannot be read becomes missing, with a `ReadingWarning`. is_read: X was read already by the model's
    `spec_`.

    Raises:
        TableError: a `Stream`, no rows, no columns, or two columns of one name.
        ValueError, TypeError: what scikit-learn raises for something that is no table, and for other columns than in
            `fit`.
    """
    if isinstance(X, Stream):
        raise TableError(
            f"{X!r} is read in batches; expected rows in memory (a frame, an array, `stream.sample.X`), or the command "
            "`alrviz predict`, which reads files in batches"
        )
    if hasattr(X, "to_pandas"):  # polars, pyarrow
        X = X.to_pandas()
    if isinstance(X, pd.DataFrame):
        return _check_frame(estimator, X if reset or is_read else _read_like_training(estimator, X), reset)
    if isinstance(X, list | tuple):  # a plain matrix with one text would turn all its numbers into text
        X = np.array(X, dtype=object)
    return validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=False, accept_sparse="csr")


def _read_like_training(estimator: Any, X: pd.DataFrame) -> pd.DataFrame:
    """Return new rows read as the model's table was, if the model knows how; warn of what cannot be read."""
    spec = getattr(estimator, "spec_", None)
    if spec is None or not len(X) or _matches_reading(X, spec, estimator.encoder_):
        return X
    new_rows = read_new_rows(X, spec)
    for note in new_rows.notes:
        warnings.warn(note, ReadingWarning, stacklevel=5)
    return new_rows.X.set_axis(X.index)


def _check_frame(estimator: Any, X: pd.DataFrame, reset: bool) -> Any:
    """Return a frame after comparing it with that of `fit`, or (`reset`) remembering its names and width."""
    if 0 in X.shape:
        raise TableError(f"expected a table with rows and columns, got {X.shape[0]} rows and {X.shape[1]} columns")
    if not X.columns.is_unique:
        duplicate = X.columns[X.columns.duplicated()][0]
        raise TableError(f"two columns are called {duplicate!r}; expected different names")
    names = None if reset else getattr(estimator, "feature_names_in_", None)
    if names is not None and X.columns.tolist() == names.tolist():
        return X  # scikit-learn's checks would pass, and take 0.1 ms per row
    return validate_data(estimator, X, reset=reset, skip_check_array=True)


def _matches_reading(X: pd.DataFrame, spec: ParseSpec, encoder: Encoder) -> bool:
    """Return whether reading would not change a frame: it has the model's features, its categories are levels, and no
    number stands for a missing value.
    """
    if X.columns.tolist() != encoder.names_:
        return False
    for (_, column), coded, feature in zip(X.items(), encoder.columns_, spec.columns, strict=True):
        if coded.kind != "numeric":
            if not isinstance(column.array, pd.Categorical) or not coded.knows(column.array.categories):
                return False
            continue
        if not isinstance(column.dtype, np.dtype) or column.dtype.kind not in "if":
            return False
        gaps = numbers_among(feature.missing)
        if gaps and column.isin(gaps).any():
            return False
    return True


def check_classes(estimator: Any, X: Any, y: Any) -> NDArray[Any]:
    """Return y (N,), one class label for each row of X; raise ValueError if it is missing, incomplete or continuous.

    estimator: named in the messages.
    """
    if y is None:
        raise TableError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    labels = column_or_1d(y, warn=True)
    check_consistent_length(X, labels)
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return labels


def drop_weightless(X: Any, y: NDArray[Any], sample_weight: Any) -> tuple[Any, NDArray[Any], Floats]:
    """Return X, y and weights (N,) without the rows of weight 0; without weights all are 1.

    Raises:
        TableError: invalid weights, or fewer than two classes left.
    """
    weights = row_weights(sample_weight, len(y))
    if sample_weight is not None:
        has_weight = weights > 0
        if not has_weight.all():
            X, y, weights = X[has_weight], y[has_weight], weights[has_weight]
    labels = pd.unique(y).tolist()
    if len(labels) < 2:
        raise TableError(f"y has only one class, {labels[0]!r}; a classifier needs at least two")
    return X, y, weights


def seed_of(estimator: Any, recipe: Recipe) -> int:
    """Return the seed: `random_state` if it is a number, else one drawn from it; 0 if the recipe draws nothing.

    Raises:
        ValueError: from scikit-learn, for an invalid random state.
    """
    random_state = getattr(estimator, "random_state", None)
    if isinstance(random_state, numbers.Integral):
        return int(ENCODING["seed"].check("random_state", random_state))
    generator = check_random_state(random_state)
    return int(generator.randint(2**32, dtype=np.uint32)) if recipe.is_random else 0


def check_max_memory(max_memory: Any) -> None:
    """Raise `RecipeError` unless `max_memory` is None or a number of bytes."""
    is_number = isinstance(max_memory, int | float | np.number) and not isinstance(max_memory, bool)
    if max_memory is not None and not (is_number and max_memory > 0):
        raise RecipeError(f"max_memory={max_memory!r} does not fit; expected a number of bytes above 0, or None")


def check_time_limit(time_limit: Any) -> None:
    """Raise `RecipeError` unless `time_limit` is None or a number of seconds."""
    is_number = isinstance(time_limit, int | float) and not isinstance(time_limit, bool)
    if time_limit is not None and not (is_number and time_limit > 0):
        raise RecipeError(f"time_limit={time_limit!r} does not fit; expected a number of seconds above 0, or None")


def threads(n_jobs: int | None) -> int | None:
    """Return `n_jobs`; None becomes 1 inside a joblib worker, where the workers share the processors already."""
    return 1 if n_jobs is None and get_active_backend()[0].nesting_level else n_jobs


MIN_ID_CHECK_ROWS = 50  # in fewer rows even useful texts hardly repeat
# The most different numbers (whole, decimal) that may well be codes or grades.
MAX_WHOLE_CODES, MAX_DECIMAL_CODES = 20, 5
MIN_MEAN_WEIGHT = 0.05  # weights of a survey or of classes have a mean near 1


def table_doubts(estimator: Any, X: Any, encoder: Encoder, weights: Floats) -> list[str]:
    """Return sentences about what is possible but probably not intended in a table X with row weights (N,).

    Numbers stored as text; texts that differ in most rows; weights that count as almost no rows; `n_bins` of the
    estimator without effect. Columns that the user made categorical are intended.
    """
    n_rows = len(weights)
    is_category = isinstance(X, pd.DataFrame) and np.array(
        [isinstance(dtype, pd.CategoricalDtype) for dtype in X.dtypes]
    )
    is_explicit = np.broadcast_to(is_category, len(encoder.columns_)) | (estimator.categorical_features != "from_dtype")
    levels_by_name = {
        column.name: column.values
        for column, explicit in zip(encoder.columns_, is_explicit.tolist(), strict=True)
        if not explicit and column.values and all(isinstance(value, str) for value in column.values)
    }
    doubts = _text_doubts(levels_by_name, n_rows)
    if (weight_sum := float(weights.sum())) < MIN_MEAN_WEIGHT * n_rows:
        doubts.append(
            f"sample_weight sums to {weight_sum:.3g} over {n_rows:,} rows, and counts as so many rows: the model stays "
            "near the class shares; expected weights with a mean near 1 (weights / weights.mean())"
        )
    cuts = getattr(estimator, "discretize", "quantile")
    bins = getattr(estimator, "n_bins", None)
    if bins not in (None, ENCODING["n_bins"].default) and cuts not in ("quantile", "uniform"):
        doubts.append(
            f'n_bins={bins} has no effect with discretize={cuts!r}; expected discretize="quantile" or "uniform"'
        )
    return doubts


def _text_doubts(levels_by_name: Mapping[str, Sequence[Any]], n_rows: int) -> list[str]:
    """Return sentences about columns of text, given their levels: numbers as text, and texts that hardly repeat."""
    doubts = []
    number_names = [name for name, levels in levels_by_name.items() if _are_numbers(levels)]
    if number_names:
        doubts.append(
            f"{listed(number_names)} {'holds' if len(number_names) == 1 else 'hold'} numbers as text, so that each "
            "number is a separate level; expected numbers, which are cut into intervals: astype(float), or read_table"
        )
    if n_rows < MIN_ID_CHECK_ROWS:
        return doubts
    id_levels = {
        name: len(levels)
        for name, levels in levels_by_name.items()
        if len(levels) > n_rows / 2 and name not in number_names
    }
    if id_levels:
        levels_text = ", ".join(f"{name!r} ({n_levels:,})" for name, n_levels in list(id_levels.items())[:5])
        doubts.append(
            f"texts that differ in most of the {n_rows:,} rows say nothing about other rows: {levels_text}; expected "
            "columns with repeated values: leave ids out"
        )
    return doubts


def _are_numbers(texts: Sequence[Any]) -> bool:
    """Return whether all texts are numbers, and more than codes or grades would be."""
    if not all(PLAIN_NUMBER.fullmatch(text) for text in texts):
        return False
    are_whole = all(text.lstrip("-").isdigit() for text in texts)
    return len(texts) > (MAX_WHOLE_CODES if are_whole else MAX_DECIMAL_CODES)
