"""The families of all orders at once: a row is scored by its cells of one column, of two, ... and of n. [sALR]

hlr     phi = w, as lr has it
halr    phi = w log theta, as alr has it
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from alrviz.errors import RecipeError
from alrviz.fitting.families.cells import ALR, LR, Fitted
from alrviz.fitting.families.param import Param
from alrviz.models.cell_space import AllOrders


class _Hierarchical(Fitted):
    """What hlr and halr share: the tuples of all orders, and a penalty for each."""

    learns_rows = ""
    _labels: ClassVar[Mapping[str, str]] = {}

    def all_tuples(self, order: int) -> int | AllOrders:
        """All of one to n columns."""
        return AllOrders(order)

    def check_together(self, params: Mapping[str, Any]) -> None:
        """Of several alphas there is one for each order: a `RecipeError` where not."""
        super().check_together(params)
        alpha, order = params["alpha"], params["order"]
        if not isinstance(alpha, tuple):
            return
        if order == "auto":
            raise RecipeError(f"alpha={alpha!r} is for orders up to {len(alpha)}, and order='auto' may choose another; "
                              f"expected order={len(alpha)}, or one number for alpha")  # fmt: skip
        if len(alpha) != order:
            raise RecipeError(f"alpha={alpha!r} has {len(alpha)} numbers, and there are {order} orders; expected one "
                              "for each, inf to leave an order out, or one number for all")  # fmt: skip
        if params["share"] == "all":
            raise RecipeError(f"share='all' has one weight for the cells of all orders, and alpha={alpha!r} one number "
                              "for each order; expected one number, or share='tuple'")  # fmt: skip


_SAYS_ALPHA = "`alpha` is one number, or one for each order (inf leaves that order out)"


class HLR(_Hierarchical, LR):
    """hLR^n: weights of the cells of all orders up to n."""

    name = words = "hlr"
    about = f"""hLR^n, LR over the cells of one column, of two, ... and of n, all at once.

        log p(k|x) = b_k + sum over tuples t of 1 to n columns of  w[x_t, k]
                     - log of the sum over classes                                              [sALR]

    Lower orders hold what columns say by themselves, higher ones what they say only together, so that each may have a
    penalty of its own: {_SAYS_ALPHA}. With alpha = (inf, ..., inf, a) it is LR^n. A cell that no training row has adds
    nothing, and its parts, which rows have, still do. n = 1 is LR^1.

    {{parameters}}

    Examples
    --------
    >>> from alrviz import HLRClassifier, load_demo
    >>> data = load_demo("led")
    >>> model = HLRClassifier(order=2, alpha=(0.1, 3)).fit(data.X, data.y)
    >>> model.cells_.n_tuples, round(model.score(data.X, data.y), 2)
    (28, 0.75)
    """
    params: ClassVar[Mapping[str, Param]] = {**LR.params, "alpha": replace(LR.params["alpha"], each=True)}
    colours: ClassVar[Mapping[str, str]] = {"hlr": "#CD977C"}
    aliases: ClassVar[Mapping[str, str]] = {"hierarchicallr": 'Recipe("hlr")'}


class HALR(_Hierarchical, ALR):
    """hALR^n: weights of log theta over the cells of all orders up to n."""

    name = words = "halr"
    rival = "alr"
    about = f"""hALR^n, ALR over the cells of one column, of two, ... and of n, all at once.

        log p(k|x) = w_k log pi_k + sum over tuples t of 1 to n columns of  w[x_t, k] log theta(x_t | k)
                     - log of the sum over classes                                              [sALR]

    A cell that no training row has adds nothing, and its parts, which rows have, still do: where thousands of cells are
    seen once or never the score falls back to lower orders by itself. {_SAYS_ALPHA}. n = 1 is ALR^1.

    {{parameters}}

    Examples
    --------
    >>> from alrviz import HALRClassifier, load_demo
    >>> data = load_demo("led")
    >>> model = HALRClassifier(order=2).fit(data.X, data.y)
    >>> model.cells_.n_tuples, round(model.score(data.X, data.y), 2)
    (28, 0.75)
    """
    params: ClassVar[Mapping[str, Param]] = {**ALR.params, "alpha": replace(ALR.params["alpha"], each=True)}
    colours: ClassVar[Mapping[str, str]] = {"halr": "#F279DE"}
    aliases: ClassVar[Mapping[str, str]] = dict.fromkeys(("hierarchicalalr", "allorders"), 'Recipe("halr")')
