"""Guess the target, and derive the class of each row: texts, few numbers as codes, many numbers cut into quartiles.

The target is guessed by its name, else as the last column that may be one, else as a column of few values. Never
guessed are dates and their features, ids, weights, and columns that are missing in most rows; measured numbers only if
they are the last ones, to be cut into quartiles.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.data.kinds import as_levels, guess_kind
from alrviz.data.limits import Limits, check_classes
from alrviz.data.parse_values import number_text
from alrviz.data.values import Values
from alrviz.errors import MEASURED_TARGET, Sentence, TableError, listed, short

MAX_NUMERIC_CLASSES = 20  # a target with more distinct numbers is a measurement, unless `quartiles` is set
TARGET_NAMES = ("class", "target", "label", "y", "outcome")
# At the end of a name ("income class"), or anywhere in it ("customer churn flag").
NAME_ENDS = re.compile(r"(^|[\W_])(class|target|label|outcome|klasse|ziel|death|dead|died|deceased|diagnosis)$")
NAME_WORDS = re.compile(
    r"(^|[\W_]|is|has)(survived|churn|churned|attrition|fraud|readmitted|approved|exited|subscribed|converted|purchased|"
    r"defaulted|cancell?ed|survival|disease)($|[\W_])"
)
USUAL_NAMES = ("species", "response", "result", "status", "decision", "income", "quality", "category", "type", "group")
MAX_GUESSED_CLASSES = 20  # of a column that is guessed to be the target


def class_codes(labels: Any, classes: Any) -> tuple[NDArray[np.intp], NDArray[np.bool_], list[str]]:
    """Return the class index of each label (N,), -1 for others, the mask of present labels (N,), and unknown labels.

    Labels and classes (C,) are compared by their texts: the label 1.0 is the class 1, and "1". Unknown labels are
    distinct texts.

    Raises:
        TableError: two classes with the same text.

    >>> class_codes(["1", 0.0, None, "2"], [0.0, 1.0])
    (array([ 1,  0, -1, -1]), array([ True,  True, False,  True]), ['2'])
    """
    series, names = pd.Series(np.asarray(labels, dtype=object).ravel()), pd.Index(list(map(label_text, classes)))
    if not names.is_unique:
        raise TableError(f"two classes are called {names[names.duplicated()][0]!r}; expected classes of different text")
    is_present = series.notna().to_numpy()
    codes = names.get_indexer(series.map(label_text))
    codes[~is_present] = -1
    strange = list(dict.fromkeys(map(label_text, series[is_present & (codes < 0)])))
    return codes, is_present, strange


def label_text(label: Any) -> str:
    """Return a class as text, whole numbers without a decimal point."""
    return str(int(label)) if isinstance(label, float) and label == label // 1 else str(label)


class TargetReason(Enum):
    """The reason why a column may be the class, in the words of a sentence."""

    STATED = "as the file states"
    NAME = "by its name"
    LAST = "the last column"
    LAST_POSSIBLE = "the last column that may be one"
    FEW_VALUES = "{n_values} classes"


@dataclass(frozen=True)
class TargetChoice:
    """A column that may be the class, the reason, and its number of distinct values (0: not counted).

    `skipped` are the columns behind it that cannot be the class.
    """

    name: str
    reason: TargetReason
    n_values: int = 0
    skipped: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """The reason in words."""
        skipped_text = f", unlike {listed(self.skipped, 3)}" if self.skipped else ""
        return self.reason.value.format(n_values=self.n_values) + skipped_text


def target_choices(values: Sequence[Values]) -> list[TargetChoice]:
    """Return the columns that may be the class, the likeliest first, which is the guess.

    If none is named like a class and the last column is a measured number, that one is first, to be cut into quartiles.
    """
    sources = [column for column in values if not column.is_derived and not column.name.startswith("__index_level_")]
    undated = [column for column in sources if column.dtype_kind != "M"]
    usable = [column for column in undated if _may_be_class(column)]
    reasons: dict[str, TargetReason] = {}
    column_by_lower_name = {column.name.lower(): column for column in reversed(undated)}
    for name in TARGET_NAMES:
        if name in column_by_lower_name:
            reasons.setdefault(column_by_lower_name[name].name, TargetReason.NAME)
    for pattern in (NAME_ENDS, NAME_WORDS):
        for column in reversed(usable):
            if pattern.search(re.sub(r"([a-z])([A-Z])", r"\1_\2", column.name).lower()):
                reasons.setdefault(column.name, TargetReason.NAME)
    last_column, skipped = _last_possible(sources, usable)
    if last_column is not None and (last_column in usable or not reasons):
        reason = TargetReason.LAST_POSSIBLE if skipped else TargetReason.LAST
        reasons.setdefault(last_column.name, reason)
    for name in USUAL_NAMES:
        for column in usable:
            if column.name.lower() == name:
                reasons.setdefault(column.name, TargetReason.NAME)
    n_values_by_name = {column.name: int(column.series.nunique()) for column in usable}
    usable.sort(key=lambda column: (column is not sources[0], column.dtype_kind in "if", n_values_by_name[column.name]))
    for column in usable:
        reasons.setdefault(column.name, TargetReason.FEW_VALUES)
    if not reasons and sources:
        varying = [column for column in undated if column.series.nunique() > 1] or sources
        reasons[varying[-1].name] = TargetReason.LAST
    return [
        TargetChoice(
            name, reason, n_values_by_name.get(name, 0), skipped if reason is TargetReason.LAST_POSSIBLE else ()
        )
        for name, reason in reasons.items()
    ]


def _last_possible(sources: Sequence[Values], usable: Sequence[Values]) -> tuple[Values | None, tuple[str, ...]]:
    """Return the last column that may be the class, and the columns skipped behind it: dates, ids, weights, constants.

    A column of measured numbers may be the class, as it can be cut into quartiles.
    """
    skipped = list[str]()
    for column in reversed(sources):
        n_present, n_levels = int(column.series.notna().sum()), column.series.nunique()
        if n_levels > 1 and guess_kind(column, n_levels=n_levels, n_present=n_present).kind != "ignore":
            if column in usable:
                return column, tuple(reversed(skipped))
            if column.spec is None or column.spec.type != "time":
                return column if column.dtype_kind in "if" else None, tuple(reversed(skipped))
        skipped.append(column.name)
    return None, ()


def _may_be_class(column: Values) -> bool:
    """Return whether a column has few values, in most rows, and is no id of a small table."""
    present, distinct = int(column.series.notna().sum()), int(column.series.nunique())
    max_classes = MAX_GUESSED_CLASSES // 2 if column.dtype_kind == "f" else MAX_GUESSED_CLASSES
    return 2 <= distinct <= max_classes and 2 * distinct <= present and 2 * present >= len(column.series)


def class_labels(column: Values, quartiles: bool | None) -> tuple[pd.Series, list[str]]:
    """Return the target as a categorical of strings, and notes.

    Raises `TableError` for dates, quartiles of text, or a measured number with `quartiles` None.
    """
    series = column.series
    if column.dtype_kind == "M":
        raise TableError(f"column {column.name!r} holds dates and cannot be the class; choose another target")
    if column.dtype_kind == "O":
        if quartiles:
            raise TableError(f"column {column.name!r} holds text; only numbers can be cut into quartiles")
        return series, []
    distinct = series.nunique()
    if quartiles:
        return _quartiles(series)
    if distinct > MAX_NUMERIC_CLASSES and quartiles is None:
        text = (
            f"column {column.name!r} holds {distinct:,} different numbers, more than the {MAX_NUMERIC_CLASSES} that "
            "can be classes; "
        )
        raise TableError(
            Sentence(
                text + "pass quartiles=True to cut it into four classes (quartiles=False makes each number a class), "
                "or choose another target",
                text + "cut into quartiles it has four classes, or choose another column as the class",
            ),
            code=MEASURED_TARGET,
        )
    return as_levels(series, is_ordinal=False), []


def _quartiles(series: pd.Series) -> tuple[pd.Series, list[str]]:
    """Return numbers (N,) as classes Q1 .. Q4, and a note on the cuts."""
    numbers = series.to_numpy(dtype=np.float64)
    present = numbers[~np.isnan(numbers)]
    quarters = np.unique(np.quantile(present, (0.25, 0.5, 0.75), method="lower")) if len(present) else present
    cuts = [cut for cut in quarters if cut < present.max()]
    texts = [number_text(cut) for cut in cuts]
    inner_ranges = [f"above {low}, up to {high}" for low, high in pairwise(texts)]
    ranges = [f"up to {texts[0]}", *inner_ranges, f"above {texts[-1]}"] if texts else [" to "]
    labels = [f"Q{i}: {range_text}" for i, range_text in enumerate(ranges, 1)]
    codes = np.where(np.isnan(numbers), -1, np.searchsorted(cuts, numbers, side="left"))
    classes = pd.Series(pd.Categorical.from_codes(codes, categories=labels), name=series.name)
    return classes, [f"{series.name!r} was cut at {', '.join(texts) or 'no value'} into {len(labels)} classes"]


def check_labels(target: str, classes: pd.Series, limits: Limits) -> list[str]:
    """Raise `TableError` for labels that cannot be classes; return a note on classes of a single row."""
    counts = classes.value_counts(sort=False)
    if len(counts) == 0:
        raise TableError(f"column {target!r} has no values, so no row has a class; choose another target")
    if len(counts) == 1:
        raise TableError(
            f"column {target!r} is {short(counts.index[0])} on all {len(classes):,} rows; a class needs at least two "
            "values, choose another target"
        )
    check_classes(target, len(counts), limits)
    if len(counts) > max(MAX_NUMERIC_CLASSES, len(classes) / 2):
        raise TableError(
            f"column {target!r} has {len(counts):,} different values on {len(classes):,} rows and cannot be the class; "
            "choose another target"
        )
    rare_names = [str(name) for name, count in counts.items() if count == 1]
    if not rare_names:
        return []
    subject = f"class {listed(rare_names)} has" if len(rare_names) == 1 else f"classes {listed(rare_names)} have"
    return [f"{subject} a single row, so training or test rows will lack it"]
