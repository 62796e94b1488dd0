"""Adapter of a fitted classifier for maps: probabilities if it has them, else scores.

Classifiers of this package, of scikit-learn and Pipelines are treated alike. Two classes have one score, the second
class's, with the boundary at 0; more classes have one each. Classes are identified by their text, in an order that
several maps may share.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.errors import TableError
from alrviz.studies.maps.axes import Floats


class ClassifierAdapter:
    """A function from tables to values (n, C), or (n, 1) for a score of two classes.

    Args:
        model: a fitted classifier with `classes_` and `predict_proba` or `decision_function`.
        matrix: whether it takes matrices instead of frames.
        classes: order of the classes; None for the model's own.

    Raises:
        TableError: if the model has neither method, or classes that are not in `classes`.
    """

    def __init__(self, model: Any, *, matrix: bool = False, classes: Sequence[Any] | None = None):
        self.model, self._matrix = model, matrix
        model_classes = [str(label) for label in getattr(model, "classes_", [])]
        self.probability = hasattr(model, "predict_proba")
        if not model_classes or not (self.probability or hasattr(model, "decision_function")):
            raise TableError(
                f"{type(model).__name__} cannot be mapped; expected a fitted classifier with classes_ and "
                "predict_proba or decision_function"
            )
        self.classes = tuple(model_classes) if classes is None else tuple(str(label) for label in classes)
        unknown_labels = [label for label in model_classes if label not in self.classes]
        if unknown_labels:
            raise TableError(f"the model knows the classes {unknown_labels}, which are not among {list(self.classes)}")
        self._place = np.array([self.classes.index(label) for label in model_classes])

    def __call__(self, table: pd.DataFrame) -> Floats:
        """Return the model's values for these rows."""
        predict = self.model.predict_proba if self.probability else self.model.decision_function
        values = np.asarray(predict(self._as_input(table)), dtype=np.float64)
        if values.ndim == 1 and len(self._place) == 2:
            if len(self.classes) == 2:
                return (values if self._place[1] == 1 else -values)[:, None]
            values = np.stack([-values, values], axis=1)
        if values.shape != (len(table), len(self._place)):
            raise TableError(
                f"{type(self.model).__name__} gives values of shape {values.shape} for {len(table):,} rows and "
                f"{len(self._place)} classes; expected one value per row and class (decision_function_shape='ovr')"
            )
        result = np.full((len(table), len(self.classes)), 0.0 if self.probability else -np.inf)
        result[:, self._place] = values
        return result

    def predict(self, table: pd.DataFrame) -> NDArray[np.intp]:
        """Return the model's own predictions, as codes into `classes`."""
        return self.codes(self.model.predict(self._as_input(table))) if len(table) else np.empty(0, np.intp)

    def _as_input(self, table: pd.DataFrame) -> Any:
        return table.to_numpy() if self._matrix else table

    def codes(self, labels: Any) -> NDArray[np.intp]:
        """Return the codes of labels in `classes`, -1 for other labels."""
        return pd.Index(self.classes).get_indexer([str(label) for label in np.asarray(labels, dtype=object)])
