"""The classifier to begin with: it chooses by itself what others are told."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from alrviz.data.dataset import Dataset
from alrviz.errors import TableError, nearest
from alrviz.estimators.docstrings import documented
from alrviz.estimators.linear import LinearClassifier

if TYPE_CHECKING:
    import pandas as pd


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class AutoClassifier(LinearClassifier):
    """Logistic regression on columns and their interactions (hLR) that chooses order, penalties and levels by itself.

        log p(k|x) = b_k + sum over tuples t of 1 to n columns of  w[x_t, k]
                     - log of the sum over classes

    n and a penalty for each order are those of the lowest log loss on rows held out in turn; numbers are cut into many
    levels, whose weights are smooth as far as the penalty says. What cannot be told from the rows stays with the class
    shares. `chosen_` says in words what was chosen, `to_frame` and `explain` what the model says.

    {parameters}

    Examples
    --------
    >>> from alrviz import AutoClassifier, load_demo
    >>> data = load_demo("tic-tac-toe")
    >>> model = AutoClassifier().fit(data.X, data.y)
    >>> model.order_, round(model.score(data.X, data.y), 2)
    (3, 1.0)
    """

    order: int | str = "auto"
    alpha: float | str | tuple[float, ...] = "auto"
    center: int | str = "shares"
    discretize: str | None = "smooth"

    _family: ClassVar[str] = "hlr"

    @property
    def order_(self) -> int:
        """The order that was chosen."""
        return int(self.cells_.order)


def fit(table: "pd.DataFrame | Dataset", target: str | None = None, **params: Any) -> AutoClassifier:
    """Return an `AutoClassifier` fitted to a table: a frame, and which of its columns is the class; or a `Dataset`.

    Args:
        table: rows with their class.
        target: name of the class column; None for that of a data set.
        params: as `AutoClassifier` has them.

    Raises:
        TableError: no column of that name.

    >>> import alrviz
    >>> model = alrviz.fit(alrviz.load_demo("led", 500))
    >>> print(model.chosen_.split(" and ")[0])
    order=1
    """
    if isinstance(table, Dataset):
        X, y = table.X, table.y
    elif target not in table:
        listed = ", ".join(map(repr, list(table)[:8]))
        raise TableError(f"no column is called {target!r}; expected one of {listed}{nearest(target, table)}")
    else:
        X, y = table.drop(columns=target), table[target].to_numpy()
    return AutoClassifier(**params).fit(X, y)
