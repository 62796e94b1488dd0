"""AnJE and naive Bayes: counting is all there is to fitting them."""

from dataclasses import dataclass, field
from typing import ClassVar

from alrviz.estimators.base import CellClassifier
from alrviz.estimators.text import documented


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class AnJEClassifier(CellClassifier):
    """AnJE, averaged n-join estimators: the generative model of order n.

        log p(k|x) = log pi_k + gamma * sum over tuples t of  log theta(x_t | k)
                     - log of the sum over classes,          gamma = 1 / C(a - 1, n - 1)          [ALR] (12)

    With gamma every one of the a columns is counted once in all. n = 1 is naive Bayes. Nothing is fitted: `n_iter_` is
    0, and `trace_` has one step, which tells the log loss.

    {parameters}

    Examples
    --------
    >>> from alrviz import AnJEClassifier, load_demo
    >>> data = load_demo("tic-tac-toe")
    >>> [round(AnJEClassifier(order=n).fit(data.X, data.y).score(data.X, data.y), 3) for n in (1, 2, 3)]
    [0.698, 0.723, 0.895]
    """

    _family: ClassVar[str] = "anje"
    _has_weights: ClassVar[bool] = False


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class NaiveBayesClassifier(CellClassifier):
    """Naive Bayes on levels, numeric columns cut by MDL: AnJE at n = 1.

        log p(k|x) = log pi_k + sum over columns i of  log theta(x_i | k)  - log of the sum over classes

    {parameters}

    Examples
    --------
    >>> from alrviz import NaiveBayesClassifier
    >>> model = NaiveBayesClassifier().fit([["sun"], ["sun"], ["rain"]], ["out", "out", "in"])
    >>> model.predict_proba([["sun"]]).round(4)  # in 1.5/4 * 0.5/2, out 2.5/4 * 2.5/3, divided by their sum
    array([[0.1525, 0.8475]])
    """

    order: int = field(default=1, init=False)

    _family: ClassVar[str] = "anje"
    _has_weights: ClassVar[bool] = False
