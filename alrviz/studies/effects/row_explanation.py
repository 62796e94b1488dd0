"""Explanation of a prediction: a row's log-odds of one class against another by tuple, and what-if changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.data.column_encoder import ColumnEncoder
from alrviz.data.encode import Encoder
from alrviz.data.encoded import Encoded
from alrviz.errors import RecipeError, TableError, nearest
from alrviz.estimators.frames import tuple_names
from alrviz.models.effects import Effects
from alrviz.models.linear import log_softmax
from alrviz.studies.effects.importance import column_number

JOIN = " & "  # between the levels of a cell
NO_LEVEL = "(no level)"  # a missing value that is skipped, or one that training never saw


@dataclass(frozen=True, eq=False, repr=False)
class RowExplanation:
    """The prediction of one row as a sum of pure effects.

        log p(label | x) / p(other_label | x) = intercept + sum of `frame["log_odds"]`

    The effects are those of a classifier's `explain`, of one class less another.

    Attributes:
        label, other_label: the two classes.
        intercept: log-odds without any column.
        frame: a row per tuple, indexed by its name, the largest first: "order", "levels", "log_odds", "rows" (weight of
            the training rows in the cell, 0 without any) and "seen" (whether the model has the cell).
        probabilities: p(class | x), by class.
        codes: (a, 1) the row's levels.

    >>> import alrviz
    >>> data = alrviz.load_demo("xor")
    >>> found = alrviz.interactions(alrviz.LRClassifier(order=2, alpha=0.3).fit(data.X, data.y), data)
    >>> row = found.row(data.X.iloc[[0]])
    >>> row.frame["log_odds"].round(2).head(2).to_dict()
    {'bit_1 & bit_2': 1.96, 'bit_2': 0.28}
    >>> row.what_if("bit_1").round(2)["0"].to_dict()
    {'0': 0.17, '1': 0.92}
    """

    label: Any
    other_label: Any
    intercept: float
    frame: pd.DataFrame
    probabilities: pd.Series
    codes: NDArray[np.unsignedinteger]
    _pure: Effects
    _labels: dict[str, list[str]]

    def __repr__(self) -> str:
        return f"<RowExplanation: log-odds of {self.label} against {self.other_label} {self.log_odds:.3f}>"

    @property
    def log_odds(self) -> float:
        """The logarithm of p(label | x) / p(other_label | x)."""
        return self.intercept + float(self.frame["log_odds"].sum())

    def what_if(self, column: str) -> pd.DataFrame:
        """Return p(class | x), a column per class, with each level of `column` in place of the row's own."""
        if column not in self._labels:
            raise RecipeError(f"no column {column!r} in the model{nearest(column, self._labels)}")
        labels = self._labels[column][:-1]
        codes_by_level = np.repeat(self.codes, len(labels), axis=1)
        codes_by_level[list(self._labels).index(column)] = np.arange(len(labels))
        p = np.exp(log_softmax(self._pure.scores(codes_by_level)))
        return pd.DataFrame(p, pd.Index(labels, name=column), self.probabilities.index)

    @classmethod
    def from_codes(
        cls, pure: Effects, labels: dict[str, list[str]], classes: list[Any], codes: NDArray[np.unsignedinteger],
        label: Any = None, other_label: Any = None,
    ) -> "RowExplanation":  # fmt: skip
        """Return the explanation of a row of codes (a, 1) by pure effects.

        labels: by column, names of its levels, last "no level"; classes: the labels (C,). `label` None: the predicted
        class; `other_label` None: the most probable other class.
        """
        effects = pure.row_effects(codes)[0]
        scores = pure.intercept + effects.sum(axis=0)
        p = np.exp(log_softmax(scores[None])[0])
        by_probability = np.argsort(-p, kind="stable").tolist()
        class_index = by_probability[0] if label is None else class_number(label, classes)
        by_probability.remove(class_index)
        baseline_index = by_probability[0] if other_label is None else class_number(other_label, classes)
        cell_indices = pure.index.locate(codes.astype(np.uint32), 0, 1)[0].astype(np.int64) - 2 * pure.n_tuples
        level_texts = [
            labels_of[min(int(code), len(labels_of) - 1)]
            for labels_of, code in zip(labels.values(), codes[:, 0], strict=True)
        ]
        frame = pd.DataFrame(
            {
                "order": pure.sizes,
                "levels": [JOIN.join(level_texts[j] for j in members) for members in pure.space.members],
                "log_odds": effects[:, class_index] - effects[:, baseline_index],
                "rows": np.where(cell_indices >= 0, pure.rows[np.maximum(cell_indices, 0)], 0.0),
                "seen": cell_indices >= 0,
            },
            pd.Index(tuple_names(pure.space.members, list(labels)), name="columns"),
        )
        frame = frame.iloc[np.argsort(-frame["log_odds"].abs().to_numpy(), kind="stable")]
        intercept = float(pure.intercept[class_index] - pure.intercept[baseline_index])
        probabilities = pd.Series(p, pd.Index(classes, name="class"))
        return cls(classes[class_index], classes[baseline_index], intercept, frame, probabilities, codes, pure, labels)


def class_number(label: Any, classes: list[Any]) -> int:
    """Return the number of a class, compared by its text; raises `RecipeError` if there is none."""
    texts = list(map(str, classes))
    if str(label) not in texts:
        raise RecipeError(f"no class {label!r} in the model{nearest(str(label), texts)}; expected one of {classes[:8]}")
    return texts.index(str(label))


def row_codes(
    x: Any, changes: Mapping[str, Any] | None, encoder: Encoder, encoded: Encoded
) -> NDArray[np.unsignedinteger]:
    """Return the codes (a, 1) of a row x: a dict of values, a table of one row, or the number of an encoded row.

    `changes` replace the values of some columns, by name.
    """
    if isinstance(x, (int, np.integer)):
        if not 0 <= x < encoded.n_rows:
            raise TableError(f"there is no row {x}; expected 0 to {encoded.n_rows - 1}")
        codes: NDArray[np.unsignedinteger] = encoded.codes[:, [int(x)]].copy()
    else:
        frame = x if isinstance(x, pd.DataFrame) else pd.DataFrame([dict(x)])
        if len(frame) != 1:
            raise TableError(f"there are {len(frame)} rows; expected a table of one row to explain")
        codes = encoder.transform(frame)
    for name, value in (changes or {}).items():
        column_index = column_number(encoder.names_, name)
        codes[column_index, 0] = level_of(encoder.columns_[column_index], value)
    return codes


def level_of(column: ColumnEncoder, value: Any) -> int:
    """Return the code of a value, or of a level given by its name."""
    labels = [*map(str, column.labels), NO_LEVEL]
    if isinstance(value, str) and value in labels:
        return labels.index(value)
    code = int(column.transform(pd.Series([value], dtype=object))[0])
    if code >= len(labels) - 1 and not (pd.api.types.is_scalar(value) and pd.isna(value)):
        raise TableError(
            f"{column.name!r} has no level {value!r}; expected one of {', '.join(map(repr, labels[:-1][:8]))}"
            f"{' ...' if len(labels) > 9 else ''}{nearest(str(value), labels[:-1])}"
        )
    return code
