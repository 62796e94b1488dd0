"""New rows through a fitted classifier: its class, the probabilities, and which values training never saw.

A model that knows how its table was read (`spec_`: of `load_model` where `save_model` was given the data set, of
`estimator_of`) has new rows read in the same way; another takes them as they look by themselves.
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
from alrviz.data.other_sources import are_files, frame_of, is_taken, named_rows
from alrviz.data.parse_spec import NO_SPEC, ParseSpec
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
    """Predict new rows: a table with one row for each.

    Its columns are `row` (counted from 1), the columns that are kept, `prediction`, `p(class)` for each class, and
    `unseen`, which lists the values that the model has not seen in training ("colour=green; size=huge"); the model's
    parameter `unseen` says what these add. A model with a squared hinge has scores in place of probabilities.

    Parameters
    ----------
    model : a fitted classifier of this package, or the path of a zip that `save_model` wrote
    rows : whatever `read_table` takes, as a path, bytes, an open file or a table at hand; a dict of values is one row
        Columns are found by name; further ones are left out. Rows without names (an array, lists of values) have the
        model's columns in their order. A model without a spec takes the values of a table at hand as they are.
    dataset : Dataset, optional
        What the model was fitted on, if the model does not know how that was read: rows are read in the same way.
    options : ReadOptions, optional
        How these rows are read, if that is another way, or if it is not detected rightly.
    limits : Limits
        The most that a file may have.
    keep : "all", or names of columns
        Columns that are passed through, such as an id, whether the model uses them or not.
    stop : StopToken
        Ends it from another thread.

    Raises
    ------
    TableError
        A ValueError: a column that is missing, or of which nothing can be read. A text where the model wants a number,
        and what does not fit its spec, is missing, and listed in `unseen` as "age=abc (not a number)".
    ModelFileError
        A ValueError: the path is no model, or `dataset` has not the model's columns.

    Warns
    -----
    ReadingWarning
        Values that could not be read as the training table was, by column; rows that are laid out in another way; and
        of a file, that the model does not know how its table was read, so that the file may be read differently.

    Examples
    --------
    >>> import alrviz
    >>> data = alrviz.load_demo("tic-tac-toe")
    >>> model = alrviz.NaiveBayesClassifier().fit(data.X, data.y)
    >>> alrviz.predict_table(model, data.X.astype(str).replace("x", "q").head(2))["unseen"].tolist()[1][:30]
    'top_left=q; top_middle=q; top_'
    """
    found, notes = predict_and_tell(model, rows, dataset=dataset, options=options, limits=limits, keep=keep, stop=stop)
    for note in notes:
        warnings.warn(note, ReadingWarning, stacklevel=2)
    return found


def predict_and_tell(
    model: Any,
    rows: Any,
    *,
    dataset: Dataset | None = None,
    options: ReadOptions | None = None,
    limits: Limits = NO_LIMITS,
    keep: str | Sequence[str] = (),
    stop: StopToken = NEVER,
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Return what `predict_table` does, and as sentences what it warns of."""
    if isinstance(model, (str, os.PathLike)):
        model = load_model(model)
    check_is_fitted(model)
    encoder: Encoder = model.encoder_
    known = spec_of(dataset, encoder) if dataset is not None else getattr(model, "spec_", None)
    if known is None and not encoder.named_:  # fitted to an array: columns are found by their places
        frame = frame_of(named_rows(rows, [column.name for column in encoder.columns_]))
        rows = rows if frame is None else frame.to_numpy(dtype=object)
    read = read_new_rows(rows, known or _spec_of_encoder(encoder), options=options, limits=limits, stop=stop)
    notes = read.notes if known is not None or (is_taken(rows) and not are_files(rows)) else (NO_SPEC, *read.notes)
    return _predicted(model, read.X, read.given, read.unread, keep), notes


def _spec_of_encoder(encoder: Encoder) -> ParseSpec:
    """Return how rows are read for a model that was fitted to a table in memory."""
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
    """Yield what `predict_table` gives of a file, of a large one batch after batch, so that it need not fit into
    memory. What `predict_table` warns of is added to `notes`, the last of it at the end.
    """
    check_is_fitted(model)
    known, said = getattr(model, "spec_", None), options or ReadOptions()
    spec = known or _spec_of_encoder(model.encoder_)
    if (source := open_large(path, spec, said, notes)) is None:
        found, more = predict_and_tell(model, path, options=options, keep=keep, stop=stop)
        notes += more
        yield found
        return
    notes += [] if known else [NO_SPEC]
    rows = 0
    for read in read_batches_again(source, spec, said, notes, stop):
        yield _predicted(model, read.X, read.given, read.unread, keep, rows)
        rows += len(read.X)


def _predicted(
    model: Any,
    X: pd.DataFrame,
    whole: pd.DataFrame,
    unread: Mapping[int, Sequence[str]],
    keep: str | Sequence[str],
    before: int = 0,
) -> pd.DataFrame:
    """The predictions of rows that were read, behind so many others."""
    encoder: Encoder = model.encoder_
    kept = _kept(whole, keep)
    if len(X) == 0:
        raise AlrvizError("there are no rows to predict; a line of names and one row at least were expected")
    given = X if hasattr(model, "feature_names_in_") else X.to_numpy(dtype=object)
    probabilities = hasattr(model, "predict_proba")
    table = check_table(model, given, reset=False, is_read=True)
    codes = encoder.transform(table)
    scores = model.score_codes(codes, table)
    numbers = np.exp(log_softmax(scores)) if probabilities else scores
    found = {
        "row": np.arange(before + 1, before + len(X) + 1),
        **kept,
        "prediction": model.classes_[scores.argmax(axis=1)],
    }
    what = "p" if probabilities else "score"
    found |= {f"{what}({label})": numbers[:, k] for k, label in enumerate(model.classes_.tolist())}
    return pd.DataFrame(found | {"unseen": _unseen(encoder, X, codes, unread)})


def predictions_csv(predictions: pd.DataFrame, header: bool = True) -> str:
    """Return what `predict_table` gave as CSV; text that a spreadsheet takes for a formula gets an apostrophe, names of
    columns too. Names that this makes equal are numbered.
    """
    table = predictions.set_axis(safe_names(list(predictions.columns)), axis=1)
    for name in table.columns[[not is_numeric_dtype(table[name]) for name in table]]:
        table[name] = table[name].map(safe_cell)
    return str(table.to_csv(index=False, header=header, lineterminator="\n"))


def _kept(rows: pd.DataFrame, keep: str | Sequence[str]) -> dict[str, Any]:
    """The columns that are passed through, under names that no column of ours has."""
    names = list(rows.columns) if keep == "all" else [keep] if isinstance(keep, str) else list(keep)
    for name in names:
        if name not in rows.columns:
            raise TableError(
                f"no column is called {name!r} in the rows{nearest(name, rows.columns)}; it cannot be kept"
            )
    own = ("row", "prediction", "unseen")
    return {f"{name} (given)" if name in own else str(name): rows[name].to_numpy() for name in names}


def _unseen(
    encoder: Encoder, X: pd.DataFrame, codes: NDArray[np.unsignedinteger], unread: Mapping[int, Sequence[str]]
) -> list[str]:
    """Which values of each row are neither levels nor missing."""
    words: list[list[str]] = [list(unread.get(row, ())) for row in range(len(X))]
    for j, column in enumerate(encoder.columns_):
        values = X.iloc[:, j]
        strange = (codes[j] == column.n_levels) & values.notna().to_numpy()
        for i in np.flatnonzero(strange).tolist():
            if column.kind == "numeric" or not column.is_missing(values.iat[i]):
                words[i].append(f"{column.name}={values.iat[i]}")
    return ["; ".join(own) for own in words]
