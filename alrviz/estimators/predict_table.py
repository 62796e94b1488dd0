"""Predict new rows: class, probabilities, and values that were not in the training rows.

New rows are read by the model's spec (`spec_`), if it has one: from `estimator_of`, or from `load_model` if
`save_model` had the data set. Otherwise they are read as any table.
"""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype
from sklearn.utils.validation import check_is_fitted

from alrviz.data.apply_spec import read_new_rows
from alrviz.data.dataset import Dataset
from alrviz.data.encode import Encoder
from alrviz.data.limits import NO_LIMITS, Limits
from alrviz.data.options import MISSING, ReadOptions
from alrviz.data.parse_spec import NO_SPEC, ParseSpec
from alrviz.data.raw import frame_of, is_in_memory, named_rows
from alrviz.data.stream.new_rows import open_large, read_batches_again
from alrviz.errors import AlrvizError, ReadingWarning, TableError, nearest
from alrviz.estimators.checks import check_table
from alrviz.estimators.model_file import load_model
from alrviz.estimators.recipes import spec_of
from alrviz.estimators.score_script import safe_cell, safe_names
from alrviz.models.linear import log_softmax
from alrviz.stop import NEVER, StopToken


def predict_table(
    model: Any,
    rows: Any,
    *,
    dataset: Dataset | None = None,
    options: ReadOptions | None = None,
    limits: Limits = NO_LIMITS,
    keep: str | Sequence[str] = (),
    stop: StopToken = NEVER,
) -> pd.DataFrame:
    """Predict new rows; return a table with a line for each.

    Its columns are `row` (counted from 1), the columns to keep, `prediction`, `p(class)` for each class, and `unseen`,
    which lists the values that are no level of the model ("colour=green; size=huge"); the model's parameter `unseen`
    says what these add. A model with a squared hinge has scores in place of probabilities.

    Parameters
    ----------
    model : a fitted classifier of this package, or the path of a zip that `save_model` wrote
    rows : anything `read_table` takes: a path, bytes, an open file, a table in memory; a dict of values is one row
        Columns are found by name; others are ignored. Rows without names (an array, lists of values) have the
        model's columns in their order. A model without a spec takes the values of a table in memory as they are.
    dataset : Dataset, optional
        The data set of the fit, if the model does not know how that was read: rows are read in the same way.
    options : ReadOptions, optional
        How these rows are read, if differently, or if it is not detected correctly.
    limits : Limits
        Limits on files.
    keep : "all", or names of columns
        Columns that are passed through, such as an id, whether the model uses them or not.
    stop : StopToken
        Ends the call from another thread.

    Raises
    ------
    TableError
        A ValueError: a missing column, or one of which nothing can be read. A text where the model expects a number,
        or a value that does not fit its spec, counts as missing, and is listed in `unseen` as "age=abc (not a number)".
    ModelFileError
        A ValueError: the path holds no model, or `dataset` lacks one of the model's columns.

    Warns
    -----
    ReadingWarning
        Values that could not be read as in the training table, by column; rows with another layout; for a file, that
        the model does not know how its table was read, so that the file may be read differently.

    Examples
    --------
    >>> import alrviz
    >>> data = alrviz.load_demo("tic-tac-toe")
    >>> model = alrviz.NaiveBayesClassifier().fit(data.X, data.y)
    >>> alrviz.predict_table(model, data.X.astype(str).replace("x", "q").head(2))["unseen"].tolist()[1][:30]
    'top_left=q; top_middle=q; top_'
    """
    predictions, notes = predict_with_notes(
        model, rows, dataset=dataset, options=options, limits=limits, keep=keep, stop=stop
    )
    for note in notes:
        warnings.warn(note, ReadingWarning, stacklevel=2)
    return predictions


def predict_with_notes(
    model: Any,
    rows: Any,
    *,
    dataset: Dataset | None = None,
    options: ReadOptions | None = None,
    limits: Limits = NO_LIMITS,
    keep: str | Sequence[str] = (),
    stop: StopToken = NEVER,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return the result of `predict_table`, and the texts of its warnings; the arguments are those of
    `predict_table`.
    """
    if isinstance(model, (str, os.PathLike)):
        model = load_model(model)
    check_is_fitted(model)
    encoder: Encoder = model.encoder_
    spec = spec_of(dataset, encoder) if dataset is not None else getattr(model, "spec_", None)
    if spec is None and not encoder.named_:  # fitted to an array without names: columns are matched by position
        frame = frame_of(named_rows(rows, encoder.names_))
        rows = rows if frame is None else frame.to_numpy(dtype=object)
    new_rows = read_new_rows(rows, spec or _spec_of_encoder(encoder), options=options, limits=limits, stop=stop)
    notes = new_rows.notes if spec is not None or is_in_memory(rows) else (NO_SPEC, *new_rows.notes)
    return _predictions(model, new_rows.X, new_rows.source_rows, new_rows.unread, keep), notes


def _spec_of_encoder(encoder: Encoder) -> ParseSpec:
    """Return the spec of a model that was fitted to a table in memory."""
    return ParseSpec.of_model(encoder.to_dict()["columns"], MISSING)


def predict_batches(
    model: Any,
    path: Path,
    *,
    options: ReadOptions | None = None,
    keep: str | Sequence[str] = (),
    notes: list[str],
    stop: StopToken = NEVER,
) -> Iterator[pd.DataFrame]:
    """Yield the predictions of a file, batch by batch if it is large, so that it need not fit into memory.

    model, options and keep as in `predict_table`. The texts of its warnings are added to `notes`, the last ones at the
    end.
    """
    check_is_fitted(model)
    model_spec, options_or_default = getattr(model, "spec_", None), options or ReadOptions()
    spec = model_spec or _spec_of_encoder(model.encoder_)
    if (source := open_large(path, spec, options_or_default, notes)) is None:
        predictions, further_notes = predict_with_notes(model, path, options=options, keep=keep, stop=stop)
        notes += further_notes
        yield predictions
        return
    notes += [] if model_spec else [NO_SPEC]
    first_row = 0
    for batch in read_batches_again(source, spec, options_or_default, notes, stop):
        yield _predictions(model, batch.X, batch.source_rows, batch.unread, keep, first_row)
        first_row += len(batch.X)


def _predictions(
    model: Any,
    X: pd.DataFrame,
    all_columns: pd.DataFrame,
    unread: Mapping[int, Sequence[str]],
    keep: str | Sequence[str],
    n_earlier: int = 0,
) -> pd.DataFrame:
    """Return the predictions of rows X, the model's columns.

    Args:
        model: a fitted classifier.
        all_columns: the rows with all columns that they came with.
        unread: by row, its values that could not be read, as texts.
        keep: columns of `all_columns` that are passed through.
        n_earlier: rows in earlier batches, by which rows are numbered.
    """
    encoder: Encoder = model.encoder_
    kept_columns = _kept_columns(all_columns, keep)
    if len(X) == 0:
        raise AlrvizError("there are no rows to predict; expected a line of names and at least one row")
    table = X if hasattr(model, "feature_names_in_") else X.to_numpy(dtype=object)
    probabilities = hasattr(model, "predict_proba")
    encoded_table = check_table(model, table, reset=False, is_read=True)
    codes = encoder.transform(encoded_table)
    scores = model.score_codes(codes, encoded_table)
    numbers = np.exp(log_softmax(scores)) if probabilities else scores
    columns = {
        "row": np.arange(n_earlier + 1, n_earlier + len(X) + 1),
        **kept_columns,
        "prediction": model.classes_[scores.argmax(axis=1)],
    }
    measure = "p" if probabilities else "score"
    columns |= {f"{measure}({label})": numbers[:, k] for k, label in enumerate(model.classes_.tolist())}
    return pd.DataFrame(columns | {"unseen": _unseen(encoder, X, codes, unread)})


def predictions_csv(predictions: pd.DataFrame, header: bool = True) -> str:
    """Return predictions as CSV.

    Text that a spreadsheet would take for a formula gets an apostrophe, also in names; names that become equal are
    numbered.
    """
    table = predictions.set_axis(safe_names(list(predictions.columns)), axis=1)
    for name in table.columns[[not is_numeric_dtype(table[name]) for name in table]]:
        table[name] = table[name].map(safe_cell)
    return str(table.to_csv(index=False, header=header, lineterminator="\n"))


def _kept_columns(rows: pd.DataFrame, keep: str | Sequence[str]) -> dict[str, Any]:
    """Return the columns to keep, renamed if a column of the predictions has their name."""
    names = list(rows.columns) if keep == "all" else [keep] if isinstance(keep, str) else list(keep)
    for name in names:
        if name not in rows.columns:
            raise TableError(
                f"no column is called {name!r} in the rows{nearest(name, rows.columns)}; it cannot be kept"
            )
    prediction_columns = ("row", "prediction", "unseen")
    return {f"{name} (given)" if name in prediction_columns else str(name): rows[name].to_numpy() for name in names}


def _unseen(
    encoder: Encoder, X: pd.DataFrame, codes: NDArray[np.unsignedinteger], unread: Mapping[int, Sequence[str]]
) -> list[str]:
    """Return a text for each row of X: its values that are no level of the model, and are not missing.

    codes: (a, N) of the rows; unread: by row, its values that could not be read, as texts.
    """
    texts: list[list[str]] = [list(unread.get(row, ())) for row in range(len(X))]
    for j, column in enumerate(encoder.columns_):
        values = X.iloc[:, j]
        is_unseen = (codes[j] == column.n_levels) & values.notna().to_numpy()
        for i in np.flatnonzero(is_unseen).tolist():
            if column.kind == "numeric" or not column.is_missing(values.iat[i]):
                texts[i].append(f"{column.name}={values.iat[i]}")
    return ["; ".join(row_texts) for row_texts in texts]
