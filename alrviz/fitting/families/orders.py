"""The family of all orders at once: a row is scored by its cells of one column, of two, ... and of n. [sALR]

halr    phi = w log theta, as alr has it
"""

from collections.abc import Mapping
from typing import ClassVar

from alrviz.fitting.families.cells import ALR
from alrviz.fitting.families.param import Param
from alrviz.models.cell_space import AllOrders


class HALR(ALR):
    """hALR^n: weights of log theta over the cells of all orders up to n."""

    name = words = "halr"
    rival = "alr"
    about = """hALR^n, ALR over the cells of one column, of two, ... and of n, all at once.

        log p(k|x) = w_k log pi_k + sum over tuples t of 1 to n columns of  w[x_t, k] log theta(x_t | k)
                     - log of the sum over classes                                              [sALR]

    A cell that no training row has adds nothing, and its parts, which rows have, still do: where thousands of cells are
    seen once or never the score falls back to lower orders by itself. Each order has the same penalty. n = 1 is ALR^1.

    {parameters}

    Examples
    --------
    >>> from alrviz import HALRClassifier, load_demo
    >>> data = load_demo("led")
    >>> model = HALRClassifier(order=2).fit(data.X, data.y)
    >>> model.cells_.n_tuples, round(model.score(data.X, data.y), 2)
    (28, 0.75)
    """
    params: ClassVar[Mapping[str, Param]] = ALR.params
    colours: ClassVar[Mapping[str, str]] = {"halr": "#F279DE"}
    aliases: ClassVar[Mapping[str, str]] = dict.fromkeys(("hierarchicalalr", "allorders"), 'Recipe("halr")')
    _labels: ClassVar[Mapping[str, str]] = {}

    def all_tuples(self, order: int) -> int | AllOrders:
        """All of one to n columns."""
        return AllOrders(order)
