"""Families of selected tuples: alr on the most informative ones, or on those grown level after level. [sALR]

salr    all tuples of n columns are scored from counts, and a share is kept
hsalr   columns are scored and a share is kept; tuples of two grow from these, are scored, a share is kept; and so on
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import ceil, comb
from typing import TYPE_CHECKING, Any, ClassVar

from alrviz.errors import RecipeError
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.cost.estimate import Estimate, known_order
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.families.cells import ALR
from alrviz.fitting.families.left_out import rows_for
from alrviz.fitting.families.param import Param
from alrviz.fitting.fit_settings import FitSettings, Params
from alrviz.models.cell_selection import CellLevel, as_selected_cells, cell_levels, join_sizes
from alrviz.models.cell_space import AllOrders
from alrviz.models.tuple_selection import SCORES, SelectionRows, levels
from alrviz.passes.cost_model import PassSize

if TYPE_CHECKING:
    from alrviz.models.cell_space import Tuples

KEEP = Param(
    0.8, link_default=0.6, low=0.001, high=1e6, keywords={"auto": "auto"},
    label="Fraction or number of tuples kept", key="P", step=0.05,
    help="Share of the scored tuples that are kept, those with the highest scores, or above 1 their number; of a "
    "hierarchy at each level.",
    meanings={
        "auto": "the smallest share whose log loss on a part of the training rows, after fits to the others, is within "
        "one standard error of the lowest",
    },
)  # fmt: skip
_SELECTION: Mapping[str, Param] = {
    "keep": KEEP,
    "selection": Param(
        "mi",
        {
            "mi": "mutual information", "mi-mm": "mutual information, corrected",
            "cv": "log loss without it", "gain": "predicted gain",
        },
        label="Tuples scored by", key="B", help="What tuples are scored by.",
        meanings={
            "mi": "the mutual information of their cells and the class",
            "mi-mm": "the same with Miller and Madow's correction, as plain MI favours tuples of many cells",
            "cv": "by how much the log loss of a part of the training rows rises where a model, fitted to others of "
            "that part, lacks the tuple",
            "gain": "by how much validation log loss should fall beside a model of their parts, from its residuals: "
            "it sees exclusive or, keeps none that should raise it, but for the best, and has their parts in the model "
            "as well",
        },
    ),
    "unit": Param(
        "tuple", {"tuple": "tuples", "cell": "single cells"}, label="What is chosen", key="U",
        help="What is scored, kept and grown: tuples with all their cells, or single cells, each as a feature that a "
        "row has or not: for columns of many levels, of which few tell.",
    ),
}  # fmt: skip
_GROW = Param(
    "weak", {"weak": "one column is kept", "strong": "all columns are kept"}, label="Score a pair if", key="G",
    help="Whether one column of a pair must have been kept, or both; of a triple one pair, or all.",
)  # fmt: skip
# The paper uses five passes of AdaGrad, without a penalty, with counts smoothed by 0.1.
_PAPER: Params = {**ALR.paper, "solver": "adagrad", "max_iter": 5}


class SelectiveALR(ALR):
    """ALR^n on the tuples with the highest scores."""

    name = words = "salr"
    menu_note = "selected, order n"
    rival = "alr"
    params: ClassVar[Mapping[str, Param]] = {**_SELECTION, **ALR.params}
    paper: ClassVar[Params] = _PAPER
    colours: ClassVar[Mapping[str, str]] = {"salr": "#994477"}
    aliases: ClassVar[Mapping[str, str]] = {"selectivealr": 'Recipe("salr")'}
    smooths = False  # tuples are chosen by their own cells
    _label_by_scale: ClassVar[Mapping[str, str]] = {}

    def title(self, params: Params) -> str:
        """Return alr's line, and the share that is kept."""
        return f"{super().title(params)}, {kept_text(params['keep'])} of {params['unit']}s by {params['selection']}"

    def check_together(self, params: Params) -> None:
        """Raise `RecipeError` as alr does, for a fraction of a tuple, and for two choices that would use the same
        validation rows.
        """
        super().check_together(params)
        keep = params["keep"]
        if params["unit"] == "cell" and params["selection"] == "cv":
            raise RecipeError(
                "selection='cv' with unit='cell' would fit a model without each cell; expected unit='tuple', or "
                "selection='mi', 'mi-mm' or 'gain'"
            )
        if params["unit"] == "cell" and params["unseen"] != "neutral":
            raise RecipeError(
                f"unseen={params['unseen']!r} with unit='cell' would treat cells that were not kept as ones that never "
                "occurred; expected unseen='neutral'"
            )
        if keep == "auto" and params["alpha"] == "cv":
            raise RecipeError(
                "keep='auto' with alpha='cv' would choose other tuples at each alpha; expected a number for one of them"
            )
        if keep == "auto" and params["selection"] == "cv":
            raise RecipeError(
                "keep='auto' with selection='cv' chooses twice on the same rows; expected a number for keep, or "
                "selection='mi', 'mi-mm' or 'gain'"
            )
        check_keep(keep)

    def tuples(self, rows: SelectionRows, params: Params, n_columns: int) -> "Tuples":
        """Return the tuples of n_columns columns with the highest scores on `rows`.

        If scores are gains over a model of their parts, these are returned too.
        """
        by_cell, hierarchy, order = params["unit"] == "cell", self._hierarchy(params), params["order"]
        settings = (rows, n_columns, order, params["selection"], params["keep"], hierarchy)
        chosen_tuples: list[Any] = []
        for level in cell_levels(*settings) if by_cell else levels(*settings):
            rows.on_level(level)
            chosen_tuples.append(level.cells if isinstance(level, CellLevel) else level.kept_tuples)
        adds_gains = params["selection"] == "gain" and order > 1
        if adds_gains and not hierarchy:
            tables = rows.tables(order - 1)
            base_tuples = (
                as_selected_cells(tables.space, tables.seen_cells)
                if by_cell
                else tuple(map(tuple, tables.space.members))
            )
            chosen_tuples.insert(0, base_tuples)
        counted_tuples = chosen_tuples if adds_gains else chosen_tuples[-1:]
        return (
            join_sizes(counted_tuples, rows.levels)
            if by_cell
            else tuple(columns for tuples_of_order in counted_tuples for columns in tuples_of_order)
        )

    def counted_tuples(self, params: Params, n_columns: int) -> "Sequence[int | AllOrders]":
        """Return alr's tuples of n_columns columns; those of lower orders too, if the parts of tuples are in the
        model.
        """
        tuples = super().counted_tuples(params, n_columns)
        all_orders = AllOrders(params["order"], self.missing(params) == "skip")
        return (all_orders,) if tuples and params["selection"] == "gain" else tuples

    def cells_depend_on_alpha(self, params: Params) -> bool:
        """Return whether scores of tuples come from fits with the same penalty, as those of "cv" and "gain" do."""
        return params["selection"] not in SCORES

    def estimate(self, recipe: FitSettings, shape: TableShape, max_memory: int | None = None) -> Estimate:
        """Estimate alr on the tuples counted at the largest level, plus keys of the rows for each kept tuple.

        If tuples are selected by gain, their parts are in the model too. max_memory: bytes that may be used; None for
        half of the free memory.
        """
        params, columns = recipe.params, shape.encoded.n_columns
        self._check_number(params, columns)
        n_candidates, max_kept_of = self._n_candidates(params, columns), partial(max_kept, params["keep"])
        estimate_order = partial(super().estimate, max_memory=max_memory)
        return estimate_chosen(recipe, shape, estimate_order, n_candidates, max_kept_of, params["selection"] == "gain")

    def check_stream(self, params: Params, n_columns: int) -> None:
        """Raise `RecipeError` as alr does, and for too many tuples of n_columns columns to fit a model without each."""
        super().check_stream(params, n_columns)
        self._check_number(params, n_columns)

    def _check_number(self, params: Params, n_columns: int) -> None:
        """Raise an error if selection="cv" would score more tuples of n_columns columns than it can."""
        if params["selection"] != "cv" or params["order"] == "auto":
            return
        for tuples in self._n_candidates(params, n_columns).values():
            rows_for(tuples)
            if max_kept(params["keep"], tuples) < tuples:  # the rows decide how many grow from a part of them
                break

    def _hierarchy(self, params: Params) -> str:
        return ""

    def _n_candidates(self, params: Params, n_columns: int) -> dict[int, int]:
        """Return the maximum number of tuples counted at each level, by their number of columns."""
        lowest = max(1, params["order"] - (params["selection"] == "gain"))
        return {level: comb(n_columns, level) for level in range(lowest, params["order"] + 1)}


def max_kept(keep: float | str, n_candidates: int) -> int:
    """Return the maximum number of n_candidates tuples that `keep` keeps: all if the number is still to be chosen."""
    return (
        n_candidates
        if keep == "auto"
        else ceil(float(keep) * n_candidates)
        if float(keep) <= 1
        else min(int(keep), n_candidates)
    )


def max_grown(keep: float | str, first: Mapping[int, int], n_columns: int, order: int) -> dict[int, int]:
    """Return, by order, the maximum number of tuples scored if each grows from those kept with one column less.

    keep: share or number kept of each order; first: the lowest order, and the number scored there; n_columns, order: a
    and the highest order.
    """
    n_candidates = dict(first)
    for level in range(max(n_candidates) + 1, order + 1):
        n_grown = max_kept(keep, n_candidates[level - 1]) * (n_columns - level + 1)
        n_candidates[level] = min(comb(n_columns, level), n_grown)
    return n_candidates


def kept_text(keep: float | str) -> str:
    """Return in words how many tuples `keep` keeps: "60%", "50", or "a share" for "auto"."""
    return "a share" if keep == "auto" else f"{float(keep):.0%}" if float(keep) <= 1 else f"{float(keep):,.0f}"


def check_keep(keep: float | str) -> None:
    """Raise `RecipeError` if `keep` is above 1 and no whole number: a fraction of a tuple."""
    if keep != "auto" and float(keep) > 1 and keep != int(keep):
        raise RecipeError(
            f"keep={keep} is neither a share nor a number of tuples; expected a share up to 1, a whole number "
            f"above 1, such as {float(keep):.0f}, or 'auto'"
        )


def estimate_chosen(
    recipe: FitSettings,
    shape: TableShape,
    estimate_order: "Callable[[FitSettings, TableShape], Estimate]",
    n_candidates: Mapping[int, int],
    max_kept_of: Callable[[int], int],
    together: bool,
) -> Estimate:
    """Return the estimate of a model of selected tuples.

    Args:
        recipe: the recipe of the fit.
        shape: the table.
        estimate_order: estimates all tuples of an order.
        n_candidates: by order, the maximum number of tuples counted.
        max_kept_of: returns the maximum number kept of so many.
        together: whether the model has the kept tuples of all these orders, not only of the last.
    """
    encoded, order = shape.encoded, known_order(recipe)
    columns, uncovered = encoded.n_columns, replace(shape, covers=False)
    full_estimate = estimate_order(recipe.replace(order=order), uncovered)
    needed_bytes, cells = dict[int, int](), dict[int, int]()
    for level, tuples in n_candidates.items():
        order_estimate = full_estimate if level == order else estimate_order(recipe.replace(order=level), uncovered)
        tuple_share = tuples / comb(columns, level)
        key_bytes = 2 * max_kept_of(tuples) * (encoded.n_rows + shape.n_heldout)
        needed_bytes[level], cells[level] = (
            ceil(order_estimate.cost.bytes * tuple_share) + key_bytes,
            ceil(order_estimate.cells_seen * tuple_share),
        )
    if together:
        needed_bytes[order], cells[order] = sum(needed_bytes.values()), sum(cells.values())
    largest, classes = max(needed_bytes, key=lambda level: needed_bytes[level]), encoded.n_classes
    # each kept tuple is a block
    blocks = sum(map(max_kept_of, n_candidates.values())) if together else max_kept_of(n_candidates[order])
    work_seconds = PassSize(
        encoded.n_rows, classes, cells[order], blocks, cells[order], cells[order]
    ).reference_seconds()
    cost = Cost(classes * (cells[order] + 1), needed_bytes[largest], work_seconds, 1)
    result = replace(full_estimate, cost=cost, cells_seen=cells[order])
    if full_estimate.refusal and n_candidates[order] == comb(columns, order):
        return result
    refusal = (
        f"{n_candidates[largest]:,} tuples of order {largest} need about {needed_bytes[largest] / 2**20:,.0f} MiB here "
        f"and {full_estimate.max_bytes / 2**20:,.0f} MiB may be used; keep fewer, or choose a lower order"
    )
    return replace(result, refusal=refusal if needed_bytes[largest] > full_estimate.max_bytes else "")


class HierarchicalSelectiveALR(SelectiveALR):
    """ALR^n on tuples grown level after level."""

    name = words = "hsalr"
    menu_note = "selected, 1 to n"
    rival = "salr"
    params: ClassVar[Mapping[str, Param]] = {
        **_SELECTION, "grow": _GROW, **SelectiveALR.params
    }  # fmt: skip
    colours: ClassVar[Mapping[str, str]] = {"hsalr": "#13BF77"}
    aliases: ClassVar[Mapping[str, str]] = {"hierarchicalselectivealr": 'Recipe("hsalr")'}

    def _hierarchy(self, params: Params) -> str:
        return str(params["grow"])

    def _n_candidates(self, params: Params, n_columns: int) -> dict[int, int]:
        return max_grown(params["keep"], {1: n_columns}, n_columns, params["order"])
