"""The families of all orders together: a row is scored by its cells of one column, of two, ... and of n. [sALR]

hlr     phi = w, as in lr
halr    phi = w log theta, as in alr

`keep` keeps all single columns and the best tuples of higher orders, by the gain that residuals predict.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import comb
from typing import ClassVar

import numpy as np

from alrviz.errors import RecipeError
from alrviz.fitting.cost.estimate import Estimate, known_order
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.families.cells import ALR, LR, WeightedFamily
from alrviz.fitting.families.param import Param
from alrviz.fitting.families.selected import KEEP, check_keep, estimate_chosen, kept_text, max_grown, max_kept
from alrviz.fitting.fit_settings import FitSettings, Params
from alrviz.models.cell_space import AllOrders, Tuples, tuple_columns, tuple_sizes
from alrviz.models.tuple_selection import Level, SelectionRows, next_tuples, top_scores

_KEEP = replace(
    KEEP, default=1.0, link_default=None, keywords={},
    help="Share of the tuples of each order from 2 on that are kept, or above 1 their "
    "number: those that, by the residuals of a model of the orders below, should lower validation log loss most; "
    "tuples of three or more grow from those that were kept. Single columns all stay.",
)  # fmt: skip


class HierarchicalFamily(WeightedFamily):
    """Base of hlr and halr: the tuples of all orders, or single columns and the best of higher ones, and a penalty per
    order.
    """

    learns_rows = ""
    _label_by_scale: ClassVar[Mapping[str, str]] = {}

    def all_tuples(self, params: Params) -> AllOrders:
        """Return all tuples of one to n columns."""
        return AllOrders(params["order"], self.missing(params) == "skip")

    def chooses_tuples(self, params: Params) -> bool:
        """Return whether `keep` selects some."""
        return bool(params["keep"] != 1.0)

    def cells_depend_on_alpha(self, params: Params) -> bool:
        """Return whether tuples are selected: that takes fits with a penalty."""
        return self.chooses_tuples(params)

    def tuples(self, rows: SelectionRows, params: Params, n_columns: int) -> Tuples:
        """Return all tuples of 1 to n columns; or single columns, and of each higher order the best tuples.

        These have the highest predicted gain over the model of those kept so far.
        """
        all_tuples = self.all_tuples(params)
        if not self.chooses_tuples(params):
            return all_tuples
        columns = tuple_columns(rows.levels, all_tuples)
        chosen_tuples: tuple[tuple[int, ...], ...] = tuple((j,) for j in columns.tolist())
        candidates: Tuples = 2
        for order in (orders := tuple_sizes(all_tuples, len(columns))[1:]):
            tuples, scores = rows.scored(candidates, chosen_tuples, "gain")
            is_allowed = np.isin(tuples, columns).all(axis=1)
            tuples, scores = tuples[is_allowed], scores[is_allowed]
            rows.on_level(level := Level(tuples, scores, top_scores(scores, params["keep"])))
            chosen_tuples = (*chosen_tuples, *level.kept_tuples)
            if (
                order != orders[-1]
            ):  # hundreds of columns grow millions of tuples: do not list those that no order needs
                candidates = next_tuples(level.kept_tuples, n_columns, False)
        return chosen_tuples

    def estimate(self, recipe: FitSettings, shape: TableShape, max_memory: int | None = None) -> Estimate:
        """Estimate a fit of `recipe` from cells; with `keep` at the order that takes most.

        max_memory: bytes that may be used; None for half of the free memory.
        """
        keep, order, columns = recipe.params["keep"], known_order(recipe), shape.encoded.n_columns
        if keep == 1.0 or order == 1:
            return super().estimate(recipe, shape, max_memory)
        n_candidates = max_grown(keep, {2: comb(columns, 2)}, columns, order)
        estimate_order = partial(super().estimate, max_memory=max_memory)
        return estimate_chosen(recipe, shape, estimate_order, n_candidates, partial(max_kept, keep), together=True)

    def title(self, params: Params) -> str:
        """Return the line of lr or alr, and how many tuples are kept."""
        keep = params["keep"]
        return super().title(params) + (f", {kept_text(keep)} of the tuples of an order" if keep != 1.0 else "")

    def check_together(self, params: Params) -> None:
        """Raise `RecipeError` if settings do not fit together.

        Invalid are: tuples to keep that cannot be parsed; several alphas whose number is not `order`; `share="all"`
        with several alphas or with alpha "auto".
        """
        super().check_together(params)
        check_keep(params["keep"])
        alpha, order = params["alpha"], params["order"]
        if params["share"] == "all" and alpha == "auto":
            raise RecipeError("share='all' has one weight for the cells of all orders, but alpha='auto' finds a number "
                              "for each order; expected a number for alpha, or share='tuple'")  # fmt: skip
        if not isinstance(alpha, tuple):
            return
        if order == "auto":
            raise RecipeError(f"alpha={alpha!r} is for orders up to {len(alpha)}, but order='auto' may choose another; "
                              f"expected order={len(alpha)}, or one number for alpha")  # fmt: skip
        if len(alpha) != order:
            raise RecipeError(f"alpha={alpha!r} has {len(alpha)} numbers, but there are {order} orders; expected one "
                              "for each, inf to leave an order out, or one number for all")  # fmt: skip
        if params["share"] == "all":
            raise RecipeError(f"share='all' has one weight for the cells of all orders, but alpha={alpha!r} one number "
                              "for each order; expected one number, or share='tuple'")  # fmt: skip


class HLR(HierarchicalFamily, LR):
    """hLR^n: weights of the cells of all orders up to n."""

    name = words = "hlr"
    menu_note = "lr, orders 1 to n"
    fits_by_gram = True
    rival = "lr"
    params: ClassVar[Mapping[str, Param]] = {
        "keep": _KEEP, **LR.params, "alpha": replace(LR.params["alpha"], per_order=True)
    }  # fmt: skip
    colours: ClassVar[Mapping[str, str]] = {"hlr": "#CD977C"}
    aliases: ClassVar[Mapping[str, str]] = {"hierarchicallr": 'Recipe("hlr")'}


class HALR(HierarchicalFamily, ALR):
    """hALR^n: weights of log theta over the cells of all orders up to n."""

    name = words = "halr"
    menu_note = "alr, orders 1 to n"
    rival = "alr"
    params: ClassVar[Mapping[str, Param]] = {
        "keep": _KEEP, **ALR.params, "alpha": replace(ALR.params["alpha"], per_order=True)
    }  # fmt: skip
    colours: ClassVar[Mapping[str, str]] = {"halr": "#F279DE"}
    aliases: ClassVar[Mapping[str, str]] = dict.fromkeys(("hierarchicalalr", "allorders"), 'Recipe("halr")')
