"""A fitted classifier as maps ask it: probabilities where it has them, scores where it has not.

Ours, scikit-learn's and Pipelines are asked alike. Of two classes a score is one number, the second class's, with the
boundary at 0; of more it is one a class. Classes are known by their text, in an order that several maps may share.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.errors import TableError
from alrviz.studies.maps.axes import Floats


class ClassifierAdapter:
    """A fitted classifier as a map asks it: a table gives values (n, C), or (n, 1) for one score of two classes.

    Args:
        model: has `classes_` and `predict_proba` or `decision_function`.
        matrix: whether it takes matrices instead of frames.
        classes: the order of classes, None for the model's own.

    Raises:
        TableError: if it cannot be asked, or knows other classes.
    """

    def __init__(self, model: Any, *, matrix: bool = False, classes: Sequence[Any] | None = None):
        self.model, self._matrix = model, matrix
        own = [str(label) for label in getattr(model, "classes_", [])]
        self.probability = hasattr(model, "predict_proba")
        if not own or not (self.probability or hasattr(model, "decision_function")):
            raise TableError(
                f"{type(model).__name__} cannot be mapped; expected a fitted classifier with classes_ and "
                "predict_proba or decision_function"
            )
        self.classes = tuple(own) if classes is None else tuple(str(label) for label in classes)
        unknown = [label for label in own if label not in self.classes]
        if unknown:
            raise TableError(f"the model knows the classes {unknown}, which are not among {list(self.classes)}")
        self._place = np.array([self.classes.index(label) for label in own])

    def __call__(self, table: pd.DataFrame) -> Floats:
        """Return the model's values for these rows."""
        given = self._given(table)
        values = self.model.predict_proba(given) if self.probability else self.model.decision_function(given)
        values = np.asarray(values, dtype=np.float64)
        if values.ndim == 1 and len(self._place) == 2:
            return self._one(values)
        if values.shape != (len(table), len(self._place)):
            raise TableError(
                f"{type(self.model).__name__} gives values of shape {values.shape} for {len(table):,} rows and "
                f"{len(self._place)} classes; expected one value per row and class (decision_function_shape='ovr')"
            )
        ordered = np.full((len(table), len(self.classes)), 0.0 if self.probability else -np.inf)
        ordered[:, self._place] = values
        return ordered

    def _one(self, score: Floats) -> Floats:
        if len(self.classes) == 2:
            return (score if self._place[1] == 1 else -score)[:, None]
        ordered = np.full((len(score), len(self.classes)), -np.inf)
        ordered[:, self._place] = np.stack([-score, score], axis=1)
        return ordered

    def predict(self, table: pd.DataFrame) -> NDArray[np.intp]:
        """Return the model's own predictions, as codes."""
        return self.codes(self.model.predict(self._given(table))) if len(table) else np.empty(0, np.intp)

    def _given(self, table: pd.DataFrame) -> Any:
        return table.to_numpy() if self._matrix else table

    def codes(self, labels: Any) -> NDArray[np.intp]:
        """Return labels as codes into `classes`, -1 for what is none of them."""
        place = {label: k for k, label in enumerate(self.classes)}
        return np.array([place.get(str(label), -1) for label in np.asarray(labels, dtype=object)], dtype=np.intp)
