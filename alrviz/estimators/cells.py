"""The classifiers of the families of cells, written out for editors and type checkers; a new family needs none here.

Their fields are their parameters; `documented` describes them from the family's `Param`s.
"""

from dataclasses import dataclass, field, fields, make_dataclass
from functools import cache
from inspect import getdoc
from typing import TYPE_CHECKING, Any, ClassVar

from alrviz.estimators.base import CellClassifier
from alrviz.estimators.docstrings import documented
from alrviz.estimators.linear import LinearClassifier
from alrviz.fitting.families import FAMILIES
from alrviz.fitting.families.family import Family


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class LRClassifier(LinearClassifier):
    """LR^n, logistic regression over all cells of n columns.

        log p(k|x) = b_k + sum over tuples t of  w[x_t, k]  - log of the sum over classes         [ALR] (18)

    A tuple is a set of n columns, x_t the cell (a level of each) that the row lies in. n = 1 is logistic regression on
    the one-hot table; there are no terms of lower order. `scale="diagonal"` measures the weights in units of the
    Hessian's diagonal, phi = w s: the same models, another path to the best one.

    {parameters}

    Examples
    --------
    >>> from alrviz import LRClassifier
    >>> X, y = [["no", "no"], ["no", "yes"], ["yes", "no"], ["yes", "yes"]], [0, 1, 1, 0]  # exclusive or
    >>> LRClassifier(order=1, alpha=0.1, center=0).fit(X, y).predict_proba(X)[:, 1].round(2)
    array([0.5, 0.5, 0.5, 0.5])
    >>> LRClassifier(order=2, alpha=0.1, center=0).fit(X, y).predict_proba(X)[:, 1].round(2)
    array([0.16, 0.84, 0.84, 0.16])
    """

    scale: str = "none"

    _family: ClassVar[str] = "lr"


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class ALRClassifier(LinearClassifier):
    """ALR^n, LR^n whose weights multiply what counting knows already.

        log p(k|x) = w_k log pi_k + sum over tuples t of  w[x_t, k] log theta(x_t | k)
                     - log of the sum over classes                                               [ALR] (14)

    The models are those of LR^n; in these units the optimum is often reached in fewer steps. w = gamma is AnJE, the
    generative model: `start="anje"` begins there, `center="anje"` shrinks toward it.

    {parameters}

    Examples
    --------
    >>> from alrviz import ALRClassifier, load_demo
    >>> data = load_demo("led")
    >>> model = ALRClassifier(order=2, alpha=1, penalty="w", center=0).fit(data.X, data.y)
    >>> model.cells_.n_parameters(10), round(model.score(data.X, data.y), 2)
    (850, 0.75)
    """

    alpha: float | str | tuple[float, ...] = "auto"
    penalty: str = "w"
    scale: str = "theta"

    _family: ClassVar[str] = "alr"


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class HLRClassifier(LinearClassifier):
    """hLR^n, LR over the cells of one column, of two, ... and of n, all at once.

        log p(k|x) = b_k + sum over tuples t of 1 to n columns of  w[x_t, k]
                     - log of the sum over classes                                              [sALR]

    Lower orders hold the effects of single columns, higher ones what columns say only together, so each order may have
    a
    penalty: `alpha` is one number, or one for each order (inf leaves that order out). With alpha = (inf, ..., inf, a)
    it is LR^n. A cell without training rows adds nothing; its parts, which have rows, still do. Constant columns are in
    no tuple, except with missing="skip", where it may matter whether the value is missing. n = 1 is LR^1.

    {parameters}

    Examples
    --------
    >>> from alrviz import HLRClassifier, load_demo
    >>> data = load_demo("led")
    >>> model = HLRClassifier(order=2, alpha=(0.1, 3)).fit(data.X, data.y)
    >>> model.cells_.n_tuples, round(model.score(data.X, data.y), 2)
    (28, 0.75)
    """

    scale: str = "none"
    keep: float = 1.0

    _family: ClassVar[str] = "hlr"


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class HALRClassifier(ALRClassifier):
    """hALR^n, ALR over the cells of one column, of two, ... and of n, all at once.

        log p(k|x) = w_k log pi_k + sum over tuples t of 1 to n columns of  w[x_t, k] log theta(x_t | k)
                     - log of the sum over classes                                              [sALR]

    A cell without training rows adds nothing; its parts, which have rows, still do: where thousands of cells are seen
    once or never the score falls back to lower orders. Constant columns are in no tuple, except with missing="skip",
    where it may matter whether the value is missing. `alpha` is one number, or one for each order (inf leaves that
    order out). n = 1 is ALR^1.

    {parameters}

    Examples
    --------
    >>> from alrviz import HALRClassifier, load_demo
    >>> data = load_demo("led")
    >>> model = HALRClassifier(order=2).fit(data.X, data.y)
    >>> model.cells_.n_tuples, round(model.score(data.X, data.y), 2)
    (28, 0.75)
    """

    keep: float = 1.0

    _family: ClassVar[str] = "halr"


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class SelectiveALRClassifier(ALRClassifier):
    """sALR^n, ALR^n on the tuples that tell most about the class.

        log p(k|x) = w_k log pi_k + sum over the kept tuples t of  w[x_t, k] log theta(x_t | k)
                     - log of the sum over classes                                              [sALR] 3

    Every tuple of n columns is scored by the mutual information of its cells and the class, and a share `keep` of them
    is kept, those of the highest scores. keep = 1 is ALR^n. With `unit="cell"` single cells are scored and kept.

    {parameters}

    Examples
    --------
    >>> from alrviz import SelectiveALRClassifier, load_demo
    >>> data = load_demo("led")
    >>> model = SelectiveALRClassifier(order=2, keep=0.25).fit(data.X, data.y)
    >>> len(model.cells_.tuples), round(model.score(data.X, data.y), 2)
    (6, 0.65)
    """

    keep: float | str = 0.8
    selection: str = "mi"
    unit: str = "tuple"

    _family: ClassVar[str] = "salr"


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class HierarchicalSelectiveALRClassifier(SelectiveALRClassifier):
    """hsALR^n, ALR^n on tuples that grow level after level.

        level 1: all columns; level i: kept tuples of level i - 1 and one column more             [sALR] 4
        at each level a share `keep` of the tuples goes on, those of the highest scores; the model has those of level n

    With `grow="weak"` a tuple is scored if one of its parts was kept, with "strong" if all were. So it never counts all
    tuples of n columns, of which there may be too many; but columns that tell the class only together, as in exclusive
    or, are missed.

    {parameters}

    Examples
    --------
    >>> from alrviz import HierarchicalSelectiveALRClassifier, load_demo
    >>> data = load_demo("led")
    >>> model = HierarchicalSelectiveALRClassifier(order=2, keep=0.5).fit(data.X, data.y)
    >>> len(model.cells_.tuples), round(model.score(data.X, data.y), 2)
    (9, 0.73)
    """

    grow: str = "weak"

    _family: ClassVar[str] = "hsalr"


@documented
@dataclass(kw_only=True, eq=False, repr=False)
class AnJEClassifier(CellClassifier):
    """AnJE, averaged n-join estimators: the generative model of order n.

        log p(k|x) = log pi_k + gamma * sum over tuples t of  log theta(x_t | k)
                     - log of the sum over classes,          gamma = 1 / C(a - 1, n - 1)          [ALR] (12)

    With gamma every one of the a columns is counted once in all. n = 1 is naive Bayes. Nothing is fitted: `n_iter_` is
    0, and `trace_` has one step, with the log loss.

    {parameters}

    Examples
    --------
    >>> from alrviz import AnJEClassifier, load_demo
    >>> data = load_demo("tic-tac-toe")
    >>> [round(AnJEClassifier(order=n).fit(data.X, data.y).score(data.X, data.y), 3) for n in (1, 2, 3)]
    [0.698, 0.723, 0.895]
    """

    class_weight: Any = None

    _family: ClassVar[str] = "anje"


def _classifier_of(family: Family, name: str) -> type[CellClassifier]:
    """Make the classifier of a family from its parameters."""
    base: type[CellClassifier] = LinearClassifier if "alpha" in family.params else CellClassifier
    inherited_defaults = {parameter.name: parameter.default for parameter in fields(base)}
    new_fields = [
        (param_name, Any, field(default=param.default))
        for param_name, param in family.params.items()
        if param_name not in inherited_defaults or inherited_defaults[param_name] != param.default
    ]
    namespace = {"__doc__": f"{getdoc(family)}\n\n{{parameters}}", "__module__": __name__, "_family": family.name}
    cls = make_dataclass(name, new_fields, bases=(base,), namespace=namespace, kw_only=True, eq=False, repr=False)
    cls.__module__ = __name__
    return documented(cls)


if not TYPE_CHECKING:  # hidden from type checkers, so that they report names that do not exist

    @cache
    def __getattr__(name: str) -> type[CellClassifier]:
        """Make the classifier of a family that is not written out above."""
        for family in FAMILIES.values():
            if family.estimator == f"{__name__}.{name}":
                return _classifier_of(family, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
