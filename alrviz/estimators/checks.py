"""What scikit-learn asks of input, for tables whose columns may be text, categoricals or numbers with gaps.

Frames keep their dtypes (a column decides for itself how it is encoded); anything else becomes a matrix. Names and
number of columns are compared with those of `fit` as everywhere in scikit-learn.
"""

import numbers
import warnings
from collections.abc import Sequence
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
    """Return X as a DataFrame or a matrix, its names and width remembered (`reset`) or compared.

    A frame of new rows is read as the table was that the model learned from, if the model knows how (`spec_`) and
    the frame is not read yet (`is_read`); what cannot be read is missing, with a `ReadingWarning`.

    Raises:
        TableError: no rows, no columns, or two of one name.
        ValueError, TypeError: what scikit-learn raises for no table, other columns than in `fit`, sparse matrices.
    """
    if isinstance(X, Stream):
        raise TableError(
            f"{X!r} is read in batches, and rows in memory were expected: a frame, an array, `stream.sample.X`; the "
            "command `alrviz predict` goes over files in batches"
        )
    if hasattr(X, "to_pandas"):  # polars, pyarrow
        X = X.to_pandas()
    spec = None if reset or is_read else getattr(estimator, "spec_", None)
    if (
        spec is not None
        and isinstance(X, pd.DataFrame)
        and len(X)
        and not _matches_reading(X, spec, estimator.encoder_)
    ):
        read = read_new_rows(X, spec)
        for note in read.notes:
            warnings.warn(note, ReadingWarning, stacklevel=4)
        X = read.X.set_axis(X.index)
    if isinstance(X, pd.DataFrame):
        if 0 in X.shape:
            raise TableError(f"expected a table with rows and columns, got {X.shape[0]} rows and {X.shape[1]} columns")
        if not X.columns.is_unique:
            twice = X.columns[X.columns.duplicated()][0]
            raise TableError(f"two columns are called {twice!r}; expected a name of its own for each")
        names = None if reset else getattr(estimator, "feature_names_in_", None)
        if names is not None and X.columns.tolist() == names.tolist():
            return X  # nothing that scikit-learn would say of it, in 0.1 ms a row
        return validate_data(estimator, X, reset=reset, skip_check_array=True)
    if isinstance(X, list | tuple):  # as a plain matrix one text would turn all its numbers into text
        X = np.array(X, dtype=object)
    return validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=False)


def _matches_reading(X: pd.DataFrame, spec: ParseSpec, encoder: Encoder) -> bool:
    """Whether reading would leave a frame as it is: its columns are the model's features, numbers without those that
    stand for a missing value, and categories that are levels.
    """
    if X.columns.tolist() != [column.name for column in encoder.columns_]:
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
    """Return y (N,), one class label a row; raises ValueError where it is missing, incomplete or continuous."""
    if y is None:
        raise TableError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    labels = column_or_1d(y, warn=True)
    check_consistent_length(X, labels)
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return labels


def drop_weightless(X: Any, y: NDArray[Any], sample_weight: Any) -> tuple[Any, NDArray[Any], Floats]:
    """Return X, y and weights (N,) without the rows of weight 0; ones for no weights.

    Raises:
        TableError: if the weights do not fit, or fewer than two classes are left.
    """
    weights = row_weights(sample_weight, len(y))
    if sample_weight is not None:
        kept = weights > 0
        if not kept.all():
            X, y, weights = X[kept], y[kept], weights[kept]
    labels = pd.unique(y).tolist()
    if len(labels) < 2:
        raise TableError(f"y has only one class, {labels[0]!r}; a classifier needs at least two")
    return X, y, weights


def seed_of(estimator: Any, recipe: Recipe) -> int:
    """Return the seed that `random_state` gives: itself if it is a number, else one drawn from it where one is used.

    Raises:
        ValueError: what scikit-learn raises for no random state.
    """
    random_state = getattr(estimator, "random_state", None)
    if isinstance(random_state, numbers.Integral):
        return int(ENCODING["seed"].check("random_state", random_state))
    generator = check_random_state(random_state)
    return int(generator.randint(2**32, dtype=np.uint32)) if recipe.draws else 0


def check_max_memory(max_memory: Any) -> None:
    """Raise `RecipeError` unless it is None or a number of bytes."""
    is_number = isinstance(max_memory, int | float | np.number) and not isinstance(max_memory, bool)
    if max_memory is not None and not (is_number and max_memory > 0):
        raise RecipeError(f"max_memory={max_memory!r} does not fit; expected a number of bytes above 0, or None")


def threads(n_jobs: int | None) -> int | None:
    """Return `n_jobs`, None being 1 inside a worker of joblib: there the workers share the processors already."""
    return 1 if n_jobs is None and get_active_backend()[0].nesting_level else n_jobs


MIN_ROWS_OF_IDS = 50  # fewer rows say little about which texts come again
# Different texts of numbers up to which they may well be codes or grades: of whole numbers, and of others.
WHOLE_CODES, DECIMAL_CODES = 20, 5
MIN_MEAN_WEIGHT = 0.05  # of a row; weights of a survey or of classes have a mean near 1


def table_doubts(estimator: Any, X: Any, encoder: Encoder, weights: Floats) -> list[str]:
    """Return sentences about what can be fitted, and was probably not meant, of a table of rows of weights (N,).

    Numbers that are text; a text that is another one in most rows; weights that count as next to no rows; `n_bins`
    where it has no effect. Columns that somebody made categorical are meant so.
    """
    rows, doubts = len(weights), list[str]()
    by_dtype = isinstance(X, pd.DataFrame) and np.array([isinstance(dtype, pd.CategoricalDtype) for dtype in X.dtypes])
    is_chosen = np.broadcast_to(by_dtype, len(encoder.columns_)) | (estimator.categorical_features != "from_dtype")
    texts = [
        column
        for column, chosen in zip(encoder.columns_, is_chosen.tolist(), strict=True)
        if not chosen and column.values and all(isinstance(value, str) for value in column.values)
    ]
    numbers = [column.name for column in texts if _are_numbers(column.values or ())]
    if numbers:
        doubts.append(
            f"{listed(numbers)} {'holds' if len(numbers) == 1 else 'hold'} numbers as text, each of which is a "
            "level of its own; expected numbers, which are cut into intervals: astype(float), or read_table"
        )
    ids = [c for c in texts if rows >= MIN_ROWS_OF_IDS and len(c.values or ()) > rows / 2 and c.name not in numbers]
    if ids:
        levels = ", ".join(f"{column.name!r} ({len(column.values or ()):,})" for column in ids[:5])
        doubts.append(
            f"texts that differ in most of the {rows:,} rows tell these apart and say nothing about others: {levels}; "
            "expected columns whose values come again: leave ids out"
        )
    if (total := float(weights.sum())) < MIN_MEAN_WEIGHT * rows:
        doubts.append(
            f"sample_weight sums to {total:.3g} over {rows:,} rows, which counts as so many rows: the model stays near "
            "the class shares; expected weights with a mean near 1 (weights / weights.mean())"
        )
    cuts = getattr(estimator, "discretize", "quantile")
    bins = getattr(estimator, "n_bins", None)
    if bins not in (None, ENCODING["n_bins"].default) and cuts not in ("quantile", "uniform"):
        doubts.append(
            f'n_bins={bins} has no effect with discretize={cuts!r}; expected discretize="quantile" or "uniform"'
        )
    return doubts


def _are_numbers(texts: Sequence[Any]) -> bool:
    """Whether all texts are numbers, and more different ones than codes are."""
    if not all(PLAIN_NUMBER.fullmatch(text) for text in texts):
        return False
    whole = all(text.lstrip("-").isdigit() for text in texts)
    return len(texts) > (WHOLE_CODES if whole else DECIMAL_CODES)
