"""The class of each row: text as it is, few numbers as codes, many numbers only when cut into quartiles."""

from itertools import pairwise

import numpy as np
import pandas as pd

from alrviz.data.frames import number_text
from alrviz.data.interpret import Values
from alrviz.data.kinds import as_levels
from alrviz.data.limits import Limits, check_classes
from alrviz.data.numbers import listed, short
from alrviz.errors import TableError

MOST_NUMERIC_CLASSES = 20  # a target of more different numbers is a measurement until its reader says otherwise


def class_labels(column: Values, quartiles: bool | None) -> tuple[pd.Series, list[str]]:
    """Return the target as a categorical of strings, and notes; `quartiles` None refuses a measured number."""
    series = column.series
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        raise TableError(f"column {column.name!r} holds dates and cannot be the class; choose another target")
    if isinstance(series.dtype, pd.CategoricalDtype):
        if quartiles:
            raise TableError(f"column {column.name!r} holds text; quartiles are cut of numbers only")
        return series, []
    distinct = series.nunique()
    if quartiles:
        return _quartiles(series)
    if distinct > MOST_NUMERIC_CLASSES and quartiles is None:
        raise TableError(
            f"column {column.name!r} holds {distinct:,} different numbers, more than the {MOST_NUMERIC_CLASSES} that "
            "can be classes; pass quartiles=True to cut it into four classes (quartiles=False makes each number a "
            "class), or choose another target"
        )
    return as_levels(series, ordered=False), []


def _quartiles(series: pd.Series) -> tuple[pd.Series, list[str]]:
    numbers = series.to_numpy(dtype=np.float64)
    present = numbers[~np.isnan(numbers)]
    quarters = np.unique(np.quantile(present, (0.25, 0.5, 0.75), method="lower")) if len(present) else present
    cuts = [cut for cut in quarters if cut < present.max()]
    texts = [number_text(cut) for cut in cuts]
    labels = [
        f"Q{i + 1}: {low} to {high}" for i, (low, high) in enumerate(zip(["", *texts], [*texts, ""], strict=True))
    ]
    if texts:
        labels[0], labels[-1] = f"Q1: up to {texts[0]}", f"Q{len(labels)}: above {texts[-1]}"
        labels[1:-1] = [f"Q{i}: above {low}, up to {high}" for i, (low, high) in enumerate(pairwise(texts), 2)]
    codes = np.where(np.isnan(numbers), -1, np.searchsorted(cuts, numbers, side="left"))
    classes = pd.Series(pd.Categorical.from_codes(codes, categories=labels), name=series.name)
    return classes, [f"{series.name!r} was cut at {', '.join(texts) or 'no value'} into {len(labels)} classes"]


def check_labels(target: str, classes: pd.Series, limits: Limits) -> list[str]:
    """Raise `TableError` where the labels cannot be classes; return a note about classes of one row."""
    counts = classes.value_counts(sort=False)
    if len(counts) == 0:
        raise TableError(f"column {target!r} has no values, so no row has a class; choose another target")
    if len(counts) == 1:
        raise TableError(
            f"column {target!r} is {short(counts.index[0])} on all {len(classes):,} rows; a class needs at least two "
            "values, choose another target"
        )
    check_classes(target, len(counts), limits)
    if len(counts) > max(MOST_NUMERIC_CLASSES, len(classes) / 2):
        raise TableError(
            f"column {target!r} has {len(counts):,} different values on {len(classes):,} rows and cannot be the class; "
            "choose another target"
        )
    rare = [str(name) for name, count in counts.items() if count == 1]
    if not rare:
        return []
    which = f"class {listed(rare)} has" if len(rare) == 1 else f"classes {listed(rare)} have"
    return [f"{which} a single row, so training or held-out rows will lack it"]
