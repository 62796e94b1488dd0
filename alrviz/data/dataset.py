"""A table with its meaning: which column is the class, what kind each other one is, and a hash of both.

A `Dataset` is a `Table` for one target: rows without a class are dropped, kinds are guessed or stated, `X` carries the
kinds as dtypes and `y` the classes as text. It is immutable; `with_target` and `with_kinds` return new ones, which keep
the kinds that the user, the file or a demo stated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.data.digest import combine, digest_series
from alrviz.data.doubts import Doubt, Note, NoteCode, doubts_among
from alrviz.data.interpret import decide_number, missing_among_numbers
from alrviz.data.kinds import KINDS, OFFERED_ROLES, ROLES, KindCode, as_levels, guess_kind
from alrviz.data.leaks import find_leaks, leaks_note
from alrviz.data.level_order import sort_levels
from alrviz.data.limits import check_levels
from alrviz.data.numbers import check_numbers
from alrviz.data.options import ReadOptions
from alrviz.data.parse_spec import FEATURE_KINDS, ColumnSpec, Layout, ParseSpec
from alrviz.data.quantities import counts_column
from alrviz.data.splitting import (
    AT_RANDOM,
    Splitting,
    repeat_by_nature,
    repeated_rows,
    split_again,
    split_by,
    split_by_role,
)
from alrviz.data.table import Table, read_columns
from alrviz.data.target import TargetReason, check_labels, class_labels
from alrviz.data.values import Values, read_values, spec_of_typed, text_of
from alrviz.errors import Sentence, TableError, for_page, listed, nearest, plural
from alrviz.stop import NEVER, StopToken

_NOTED_REPEATS = 0.01  # share of the rows from which repeats are noted
MAX_DROPPED_SHARE = 0.5  # of the rows; a guessed target that is missing on more of them must be confirmed


@dataclass(frozen=True)
class Column:
    """The description of one column: kind, whether and why it was guessed, number of distinct values and missing rows.

    A column of a kind in `ROLES` is no feature: "weight" says how often a row counts; for "group" and "time" see
    `Dataset.split_by`.
    """

    name: str
    kind: str  # one of `KINDS`
    guessed: bool
    why: str  # the reason for the kind, as a clause
    levels: int  # number of distinct values
    missing: int  # number of rows without a value
    code: KindCode = KindCode.OTHER

    @property
    def offered_role(self) -> str:
        """The role of `ROLES` that its name and values suggest; "" for none."""
        return OFFERED_ROLES.get(self.code, "")


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A table for one target; made by `read_table`, never changed.

    Attributes:
        frame: all columns as parsed (numbers as int64 or float64, text as categories, dates), without the rows that
            have no class.
        columns: what each column is used as, and why.
        notes: decisions and changes made while reading, as sentences.
        hash: SHA-256 of content, target and kinds; the same for every format of the file.
        spec: how the table was read; `predict_table` reads new rows by it, `read_table(spec=...)` similar tables.

    >>> import alrviz
    >>> data = alrviz.load_demo("xor", 400)
    >>> data.n_rows, data.n_classes
    (400, 2)
    """

    name: str
    frame: pd.DataFrame
    target: str
    columns: tuple[Column, ...]
    hash: str
    notes: tuple[str, ...]
    options: ReadOptions  # in force while reading, detected ones included
    quartiles: bool  # whether a numeric target was cut into quartiles
    table: Table = field(compare=False)
    labels: pd.Series = field(compare=False)  # the class of each row, as a categorical of strings
    # features that alone almost determine the class, and the share of the rows whose class each determines
    leaks: Mapping[str, float] = field(default_factory=dict)
    splitting: Splitting = field(default=AT_RANDOM, compare=False)  # constraints of all splits of the rows
    spec: ParseSpec = field(kw_only=True, compare=False)
    weight_unit: float = field(default=1.0, compare=False)  # divisor of the column of weights

    @classmethod
    def from_arrays(
        cls, X: Any, y: Any, *, target: str = "class", name: str = "table", quartiles: bool | None = None, **kinds: str
    ) -> "Dataset":
        """Return a data set of features and classes in the form that scikit-learn accepts.

        Args:
            X: (N, p) an array, a data frame, a dict of columns or a list of rows.
            y: (N,) the class of each row; numbers with more than 20 distinct values need `quartiles`.
            target: the name for the column of classes.
            kinds: as in `read_table`.

        Raises:
            TableError: X and y have different numbers of rows, or a column of X has the target's name.

        >>> Dataset.from_arrays([[1.5, 2], [2.5, 1], [0.5, 2]], ["no", "yes", "no"])
        <Dataset 'table': 3 rows, 2 columns, 2 classes of 'class'>
        """
        features = read_columns(X, name=name, allow_one_column=True)
        classes = read_columns({target: np.asarray(y)}, allow_one_column=True)
        if features.n_rows != classes.n_rows:
            raise TableError(
                f"X has {features.n_rows:,} rows and y {classes.n_rows:,}; a class for each row was expected"
            )
        if target in features.names:
            raise TableError(f"X has a column {target!r}, as the target is called; pass another name as target")
        table = replace(features, values=(*features.values, *classes.values))
        return dataset_of(table, target, kinds=kinds, quartiles=quartiles)

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Doubtful decisions of the reader, each with the options for the alternative."""
        return doubts_among(self.notes)

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of every column but the target."""
        return {column.name: column.kind for column in self.columns if column.kind != "target"}

    @property
    def given_kinds(self) -> dict[str, str]:
        """The kinds that were stated by the user, the file or a demo, rather than guessed."""
        return {column.name: column.kind for column in self.columns if not column.guessed and column.kind != "target"}

    @property
    def n_rows(self) -> int:
        """Number of rows; all of them have a class."""
        return len(self.labels)

    @property
    def n_classes(self) -> int:
        """Number of classes that occur."""
        return len(self.labels.cat.categories)

    @property
    def classes(self) -> np.ndarray:
        """The classes as text, sorted."""
        return np.sort(self.labels.cat.categories.to_numpy(dtype=object))

    @cached_property
    def X(self) -> pd.DataFrame:  # noqa: N802 (scikit-learn's name)
        """The used features: numeric as float64, categorical and ordinal (ordered) as categories of strings."""
        columns = {
            name: self.frame[name].astype(np.float64)
            if kind == "numeric"
            else as_levels(self.frame[name], is_ordinal=kind == "ordinal")
            for name, kind in self.kinds.items()
            if kind in FEATURE_KINDS
        }
        return pd.DataFrame(columns, index=self.frame.index)

    @cached_property
    def y(self) -> np.ndarray:
        """The class of each row, an object array of strings."""
        values = self.labels.cat.categories.to_numpy(dtype=object)[self.labels.cat.codes.to_numpy()]
        values.flags.writeable = False
        return values

    @cached_property
    def weights(self) -> NDArray[np.float64] | None:
        """The weight of each row, (N,) above 0, from the column of kind "weight"; None if all are 1.

        Whole numbers are used unchanged: a row of weight 2 equals the row twice, exactly. Other weights, such as those
        of surveys, are divided by their mean, so that their unit does not matter and N rows count as N. As in
        scikit-learn, a penalty is relative to the sum of the weights: ten times the weights make it a tenth as strong.
        """
        name = next((name for name, kind in self.kinds.items() if kind == "weight"), None)
        if name is None:
            return None
        weights = self.frame[name].to_numpy(np.float64) / self.weight_unit
        weights.flags.writeable = False
        return None if np.abs(weights - 1.0).max() < 1e-12 else weights

    def with_target(self, name: str, /, *, quartiles: bool | None = None) -> "Dataset":
        """Return the same table, with the same rules of `split_by`, for another target.

        `quartiles=True` cuts a numeric target into four classes.
        """
        kinds = {column: kind for column, kind in self.given_kinds.items() if column != name}
        return split_again(dataset_of(self.table, name, kinds=kinds, quartiles=quartiles), self.splitting)

    def with_kinds(self, /, **kinds: str) -> "Dataset":
        """Return the same table, with the same rules of `split_by`, with the kinds of these columns changed.

        Raises `TableError` for no such column, or no kind of that name.
        """
        targets = [name for name, kind in kinds.items() if kind == "target" and name != self.target]
        if len(targets) > 1:
            raise TableError(f"{listed(targets)} cannot all be the target; one column is")
        target = targets[0] if targets else self.target
        kinds = self.given_kinds | {name: kind for name, kind in kinds.items() if name not in targets}
        if targets:
            kinds.pop(target, None)
        quartiles = None if targets else self.quartiles or None
        return split_again(dataset_of(self.table, target, kinds=kinds, quartiles=quartiles), self.splitting)

    @cached_property
    def repeated(self) -> np.ndarray:
        """Mask (N,) of the rows that equal an earlier one in class and all features."""
        return repeated_rows(self.X, self.y)

    @property
    def leaks_note(self) -> str:
        """The note on columns that alone almost determine the class; "" if no column does."""
        return leaks_note(self.leaks)

    @cached_property
    def repeats_note(self) -> str:
        """A sentence on duplicate rows, which a split may put on both sides.

        "" if there are few, if splits are constrained already (groups, time), or if the columns have so few values that
        rows must repeat.
        """
        n_repeats = int(self.repeated.sum())
        if self.splitting.words or n_repeats < _NOTED_REPEATS * self.n_rows or repeat_by_nature(self.X):
            return ""
        return (
            f"{n_repeats:,} of {self.n_rows:,} rows are duplicates of earlier ones and may be both in training and "
            "in test rows (leakage, which favours high orders): drop them, or keep them together"
        )

    def split_by(self, *, repeats: str = "separate", groups: Any = None, time: Any = None) -> "Dataset":
        """Return the same rows with constraints on all splits of them: folds of studies, test rows of runs.

        Args:
            repeats: how duplicate rows are split: "separate" (like any other rows), "once" (all but the first row with
                equal features and equal class are dropped), "together" (rows with equal features, whatever their
                class, are never on both sides of a split).
            groups: the name of any column, or an array (N,): rows of one group are never on both sides, as in
                scikit-learn's StratifiedGroupKFold; a row without a group is a group of one.
            time: the name of a column, or an array (N,): models are tested on later rows than they were trained on, as
                in scikit-learn's TimeSeriesSplit; a holdout is the last rows. As there is one such order, a study with
                `repeats` has one.

        The result has another hash, because other splits make another study. A second call adds its constraint.

        Raises:
            TableError: an unknown column, missing times, or two constraints that cannot be combined.

        >>> from alrviz import load_demo
        >>> load_demo("monks-1").split_by(repeats="together").splitting.words
        'duplicate rows are kept together'
        """
        return split_by(self, repeats, groups, time)

    def __repr__(self) -> str:
        n_features, n_ignored = len(self.X.columns), list(self.kinds.values()).count("ignore")
        ignored = f" ({n_ignored} ignored)" if n_ignored else ""
        size_text = f"{self.n_rows:,} rows, {n_features} columns{ignored}, {self.n_classes} classes"
        return f"<Dataset {self.name!r}: {size_text} of {self.target!r}>"


def require_dataset(value: object) -> None:
    """Raise `TableError` for a value that is no `Dataset`, such as a data frame, which does not name its target."""
    if not isinstance(value, Dataset):
        raise TableError(
            f"a {type(value).__name__} is no data set; expected what read_table(path_or_frame, target=...) or "
            "load_demo(name) returns"
        )


def dataset_of(
    table: Table,
    target: str | None = None,
    *,
    kinds: Mapping[str, str] | None = None,
    quartiles: bool | None = None,
    stop: StopToken = NEVER,
) -> Dataset:
    """Return the table as a data set; a target of None, and kinds of columns not in `kinds`, are guessed.

    Raises `TableError` for no such column, no kind of that name, or a target that cannot be a class or be guessed.
    """
    notes, is_guessed = list(table.notes), target is None
    if target is None:
        choice = table.default_target
        target, reason = choice.name, choice.why
        alternatives = "" if choice.reason in (TargetReason.NAME, TargetReason.STATED) else table.other_targets(target)
        text = f"the target is {target!r} ({reason})" + (f"; it may also be {alternatives}" if alternatives else "")
        notes.append(Note.with_code(NoteCode.TARGET, text))
    position = table.position(target)
    try:
        classes, class_notes = class_labels(table.values[position], quartiles)
    except TableError as error:
        alternatives = table.other_targets(target) if is_guessed else ""
        if not alternatives:
            raise
        advice = f"; such as {alternatives}"
        raise TableError(Sentence(f"{error}{advice}", for_page(error) + advice), code=error.code) from error
    is_kept = classes.notna().to_numpy()
    n_dropped = int(len(is_kept) - is_kept.sum())
    kinds = dict(kinds or {})
    _check_kinds(kinds, target, table)
    has_weight, weight_unit = _positive_weights(table, {**table.stated_kinds, **kinds}, is_kept, notes)
    if is_guessed and MAX_DROPPED_SHARE * len(is_kept) < n_dropped < len(is_kept):
        alternatives = table.other_targets(target)
        n_rows_text = f"{n_dropped:,} of {len(is_kept):,} rows"
        text = f"column {target!r} ({reason}) has no value on {n_rows_text}, which would be left "
        advice = f", such as {alternatives}" if alternatives else ""
        raise TableError(
            Sentence(
                f"{text}out; pass target={target!r} if that is meant, or another column{advice}",
                f"{text}out; choose it as the class if that is meant, or another column{advice}",
            )
        )
    if n_dropped:
        remainder = f", {len(is_kept) - n_dropped:,} are left" if n_dropped > MAX_DROPPED_SHARE * len(is_kept) else ""
        rows_text = plural(n_dropped, "row without a class was", "rows without a class were")
        notes.append(f"{rows_text} dropped{remainder}")
    notes += class_notes
    is_kept = is_kept & has_weight
    classes = classes[is_kept].reset_index(drop=True).cat.remove_unused_categories()
    notes += check_labels(target, classes, table.limits)
    kept_columns = table.values if is_kept.all() else tuple(column.select_rows(is_kept) for column in table.values)
    return _build(table, target, classes, kept_columns, kinds, bool(quartiles), notes, stop, is_guessed, weight_unit)


def _positive_weights(
    table: Table, kinds: Mapping[str, str], has_class: NDArray[np.bool_], notes: list[str]
) -> tuple[NDArray[np.bool_], float]:
    """Return a mask (N,) of the rows with a weight above 0, and the divisor of the weights (see `Dataset.weights`)."""
    name = next((name for name, kind in kinds.items() if kind == "weight"), None)
    if name is None:
        return np.ones_like(has_class), 1.0
    series = _column_of_kind(table.values[table.position(name)], "weight", "", table)[1]
    weights = series.to_numpy(np.float64, na_value=np.nan)
    if (weights < 0).any():
        row = int((weights < 0).argmax())
        raise TableError(
            f"column {name!r} has the weight {weights[row]:g} in row {row + 1:,}; expected none below 0, "
            f"or another kind, such as {name}='numeric'"
        )
    positive_weights = weights[has_class & (weights > 0)]
    if not len(positive_weights):
        raise TableError(f"column {name!r} has no weight above 0 in a row with a class; one at least was expected")
    if n_dropped := int(has_class.sum()) - len(positive_weights):
        notes.append(f"{plural(n_dropped, 'row')} of weight 0, or without a weight, dropped")
    if (positive_weights == np.floor(positive_weights)).all():
        notes.append(
            f"rows count as often as {name!r} says: {positive_weights.sum():,.0f} in all, of "
            f"{len(positive_weights):,} rows"
        )
        return weights > 0, 1.0
    mean = float(positive_weights.mean())
    notes.append(
        f"rows are weighed by {name!r}, divided by its mean of {mean:.4g}: they count as {len(positive_weights):,} rows"
    )
    return weights > 0, mean


def _build(
    table: Table,
    target: str,
    classes: pd.Series,
    values: Sequence[Values],
    kinds: dict[str, str],
    quartiles: bool,
    notes: list[str],
    stop: StopToken,
    is_guessed: bool,
    weight_unit: float,
) -> Dataset:
    """Return the data set of rows that all have a class; `kinds` are those given, `is_guessed` is about the target."""
    columns, series_by_name = [], {}
    specs: list[ColumnSpec] = []
    counts_name = counts_column([column.series for column in values if not column.is_derived])
    for column in values:
        stop.check()
        if column.name == target:
            description = Column(target, "target", is_guessed, "the class to predict", len(classes.cat.categories), 0)
            parsed_series, spec = column.series, column.spec or spec_of_typed(column)
        else:
            description, parsed_series, spec = _feature_column(column, kinds.get(column.name), table, notes)
            if description.guessed and column.name == counts_name:
                reason = "counts of cases? no combination of the other columns occurs twice"
                description = replace(description, kind="ignore", why=reason, code=KindCode.COUNT)
        specs.append(replace(spec, kind=description.kind, order=_unnatural_order(parsed_series, description.kind)))
        columns.append(description)
        series_by_name[column.name] = parsed_series
    features = {column.name: series_by_name[column.name] for column in columns if column.kind in FEATURE_KINDS}
    n_repeats = int(repeated_rows(pd.DataFrame(features), classes.cat.codes.to_numpy()).sum()) if features else 0
    if n_repeats and not repeat_by_nature(pd.DataFrame(features)):
        repeated = "are duplicates of earlier ones" if n_repeats > 1 else "is a duplicate of an earlier one"
        repeat_text = f"{n_repeats:,} of {len(classes):,} rows {repeated} in all columns used; "
        repeat_text += "a random split may have such rows on both sides "
        notes.append(
            Sentence(
                f"{repeat_text}(split_by(repeats='once') drops them)", f'{repeat_text}("Split rows" can drop them)'
            )
        )
    digests = []
    for description in columns:
        stop.check()
        digests.append(
            digest_series(classes if description.kind == "target" else series_by_name[description.name], stop)
        )
    suspects = find_leaks(features, classes, stop)
    notes += filter(None, [leaks_note(suspects)])
    notes += column_notes(columns)
    names = [column.name for column in table.values if not column.is_derived]
    if not features:
        notes.append("no column is left to predict from; change a kind from 'ignore'")
    dataset = Dataset(
        name=table.name,
        frame=pd.DataFrame(series_by_name),
        target=target,
        columns=tuple(columns),
        hash=combine([(column.name, column.kind) for column in columns], digests),
        notes=tuple(notes),
        options=table.options,
        quartiles=quartiles,
        table=table,
        labels=classes,
        leaks=suspects,
        spec=ParseSpec(
            Layout.from_options(names, table.head, table.options, table.given_options), tuple(specs), quartiles
        ),
        weight_unit=weight_unit,
    )
    return split_by_role(dataset)


def _unnatural_order(series: pd.Series, kind: str) -> tuple[str, ...]:
    """Return the ordered levels of an ordinal column; () if `sort_levels` finds the order or it is alphabetical."""
    if kind != "ordinal" or not isinstance(series.dtype, pd.CategoricalDtype):
        return ()
    levels = series.cat.categories.tolist()
    return () if levels == sorted(levels) or sort_levels(levels) is not None else tuple(levels)


def _feature_column(
    column: Values, given_kind: str | None, table: Table, notes: list[str]
) -> tuple[Column, pd.Series, ColumnSpec]:
    """Return a feature's description, series and spec; its kind is `given_kind`, else the file's, else guessed.

    A note is added if the file states a kind that the column cannot have.
    """
    stated_kind = table.stated_kinds.get(column.name)
    if given_kind is not None:
        return _column_of_kind(column, given_kind, "as you said", table)
    if stated_kind not in (None, "target"):
        try:
            return _column_of_kind(column, stated_kind, "as the file states", table)
        except TableError as error:
            notes.append(f"the kind that the file states was not used: {error}")
    n_levels, n_missing = column.series.nunique(), int(column.series.isna().sum())
    guess = guess_kind(column, n_levels=n_levels, n_present=len(column.series) - n_missing, limits=table.limits)
    description = Column(column.name, guess.kind, True, guess.why, n_levels, n_missing, guess.code)
    return description, column.series, column.spec or spec_of_typed(column)


def described_columns(table: Table) -> list[Column]:
    """Return the columns of a table without a class, each with its kind and the reason for it."""
    return [_feature_column(column, None, table, [])[0] for column in table.values]


def _column_of_kind(column: Values, kind: str, reason: str, table: Table) -> tuple[Column, pd.Series, ColumnSpec]:
    """Return the description, series and spec of a column for a kind; `TableError` if it cannot be of that kind.

    Text is read as numbers if the kind needs numbers.
    """
    series, spec = column.series, column.spec or spec_of_typed(column)
    if kind in (*FEATURE_KINDS, "weight") and column.dtype_kind == "M":
        raise TableError(
            f"column {column.name!r} holds dates and cannot be {kind}; its year, month and weekday are columns"
        )
    if kind in ("numeric", "weight") and column.dtype_kind == "O":
        text = text_of(series)
        missing_texts = missing_among_numbers(spec.missing, table.given_options)
        spec = decide_number(text, table.options, missing_texts, fill_down=spec.fill_down)
        series, is_unreadable = read_values(text, spec)
        check_numbers(text, is_unreadable, spec.decimal)
    if kind == "categorical" and column.texts is not None:  # codes: 1.10 is not 1.1, 1E5 not 100000
        spec = ColumnSpec(column.name, column.name, missing=spec.missing, fill_down=spec.fill_down)
        series, _ = read_values(column.texts, spec)
    n_levels, n_missing = series.nunique(), int(series.isna().sum())
    if kind in ("categorical", "ordinal"):
        check_levels(column.name, n_levels, table.limits)
    return Column(column.name, kind, False, reason, n_levels, n_missing), series, spec


def _check_kinds(kinds: Mapping[str, str], target: str, table: Table) -> None:
    """Raise `TableError` for an unknown column or kind, a second target, or a role of several columns."""
    for name, kind in kinds.items():
        table.position(name)
        if kind not in KINDS:
            raise TableError(f"kind {kind!r} of column {name!r} is none of {', '.join(KINDS)}{nearest(kind, KINDS)}")
        if (kind == "target") != (name == target):
            raise TableError(
                f"column {name!r} is the target and cannot be {kind}; choose another target first"
                if name == target
                else f"{name!r} cannot be the target too: {target!r} is"
            )
    for role in ROLES:
        names = [name for name, kind in {**table.stated_kinds, **kinds}.items() if kind == role]
        if len(names) > 1:
            raise TableError(f"{listed(names)} cannot all be of kind {role!r}; expected one column, the others ignored")


# Notes on columns with the same guess, by the reasons for it.
_GUESS_NOTES: dict[tuple[KindCode, ...], str] = {
    (KindCode.ID, KindCode.TEXT_ID): "guessed to be ids and ignored",
    (KindCode.WEIGHT,): "named like weights of rows and ignored (kind 'weight': rows count by it)",
    (KindCode.COUNT,): "of counts of cases and ignored (kind 'weight': each row counts so often)",
    (KindCode.GROUP,): "guessed to be ids of several rows each and ignored (kind 'group': such rows stay together in "
    "every split)",
    (KindCode.MAYBE_ID,): "of different numbers of as many digits, as ids are",
    (KindCode.EMPTY,): "without a value and ignored",
    (KindCode.MANY_LEVELS,): "ignored for too many levels",
    (KindCode.LISTS,): "of lists and ignored",
    (KindCode.PAIR,): "of two numbers and split into these",
}


def column_notes(columns: Sequence[Column]) -> list[str]:
    """Return a sentence for each group of columns with the same noteworthy guess, such as ignored ids."""
    guessed, all_names = [column for column in columns if column.guessed], {column.name for column in columns}
    names_by_text = {
        text: [column.name for column in guessed if column.code in codes] for codes, text in _GUESS_NOTES.items()
    }
    dates = [column.name for column in guessed if column.code == KindCode.DATES]
    for name in dates:
        part_names = [part for part in ("year", "month", "weekday", "hour") if f"{name} {part}" in all_names]
        noun = "dates" if "weekday" in part_names else "months"
        names_by_text.setdefault(f"of {noun} and split into {', '.join(part_names)}", []).append(name)
    names_by_text["of dates that may order the rows (kind 'time': models of earlier rows judge later ones)"] = dates
    names_by_text["with one value only"] = [
        column.name for column in columns if column.levels == 1 and not column.missing and column.kind in FEATURE_KINDS
    ]
    return [
        f"{plural(len(members), 'column is', 'columns are')} {text}: {listed(members)}"
        for text, members in names_by_text.items()
        if members
    ]
