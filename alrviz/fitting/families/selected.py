"""Families of chosen tuples: alr on those that tell most about the class, or on those grown level after level. [sALR]

salr    all tuples of n columns are scored by counts, and a share of them is kept
hsalr   the columns are scored, a share is kept; tuples of two grow from these, are scored, a share is kept; and so on
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
from alrviz.models.cell_selection import CellLevel, as_selected_cells, cell_levels, join_sizes
from alrviz.models.cell_space import AllOrders
from alrviz.models.tuple_selection import SCORES, SelectionRows, levels
from alrviz.passes.cost_model import PassSize

if TYPE_CHECKING:
    from alrviz.fitting.fit_settings import FitSettings
    from alrviz.models.cell_space import Tuples

KEEP = Param(
    0.6, low=0.001, high=1e6, keywords={"auto": "auto"}, label="Fraction or number of tuples kept", key="P", step=0.05,
    help="Share of the tuples looked at that are kept, those of the highest scores, or above 1 their number; of a "
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
            "mi": "mutual information", "mi-mm": "mutual information, Miller-Madow",
            "cv": "log loss without it (validation set)", "gain": "predicted gain",
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
    "weak", {"weak": "one part is kept", "strong": "all parts are kept"}, label="Look at tuples if", key="G",
    help="Whether a tuple needs one part that was kept, or all.",
)  # fmt: skip
# The paper learns in five passes of AdaGrad, without a penalty, from counts smoothed by 0.1.
_PAPER: Mapping[str, Any] = {**ALR.paper, "solver": "adagrad", "max_iter": 5}


class SelectiveALR(ALR):
    """ALR^n on the tuples of the highest scores."""

    name = words = "salr"
    rival = "alr"
    params: ClassVar[Mapping[str, Param]] = {
        **_SELECTION, **ALR.params, "alpha": replace(ALR.params["alpha"], keywords={"cv": "nested CV"}),
    }  # fmt: skip
    paper: ClassVar[Mapping[str, Any]] = _PAPER
    colours: ClassVar[Mapping[str, str]] = {"salr": "#994477"}
    aliases: ClassVar[Mapping[str, str]] = {"selectivealr": 'Recipe("salr")'}
    smooths = False  # tuples are chosen by cells of their own
    _labels: ClassVar[Mapping[str, str]] = {}

    def title(self, params: Mapping[str, Any]) -> str:
        """As of alr, with the share that is kept."""
        return f"{super().title(params)}, {kept_words(params['keep'])} of {params['unit']}s by {params['selection']}"

    def check_together(self, params: Mapping[str, Any]) -> None:
        """As of alr; `RecipeError` of a part of a tuple, and of choosing twice on the same rows."""
        super().check_together(params)
        keep = params["keep"]
        if params["unit"] == "cell" and params["selection"] == "cv":
            raise RecipeError(
                "selection='cv' with unit='cell' would fit a model without each cell; expected unit='tuple', or "
                "selection='mi', 'mi-mm' or 'gain'"
            )
        if params["unit"] == "cell" and params["unseen"] != "neutral":
            raise RecipeError(
                f"unseen={params['unseen']!r} with unit='cell' takes cells that were not kept for ones that never "
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

    def tuples(self, counted: SelectionRows, params: Mapping[str, Any], n_columns: int) -> "Tuples":
        """Those of the highest scores; and, where these are gains beside their parts, the parts too."""
        by_cell, hierarchy, order = params["unit"] == "cell", self._hierarchy(params), params["order"]
        asked = (counted, n_columns, order, params["selection"], params["keep"], hierarchy)
        found: list[Any] = []
        for level in cell_levels(*asked) if by_cell else levels(*asked):
            counted.hear(level)
            found.append(level.cells if isinstance(level, CellLevel) else level.chosen)
        gains = params["selection"] == "gain" and order > 1
        if gains and not hierarchy:
            of = counted.tables(order - 1)
            found.insert(0, as_selected_cells(of.space, of.seen) if by_cell else tuple(map(tuple, of.space.members)))
        own = found if gains else found[-1:]
        return join_sizes(own, counted.levels) if by_cell else tuple(columns for part in own for columns in part)

    def counted(self, params: Mapping[str, Any], n_columns: int) -> "Sequence[int | AllOrders]":
        """As of alr; of lower orders too, where the parts of tuples are in the model."""
        found = super().counted(params, n_columns)
        every = AllOrders(params["order"], self.missing(params) == "skip")
        return (every,) if found and params["selection"] == "gain" else found

    def cells_depend_on_alpha(self, params: Mapping[str, Any]) -> bool:
        """Scores by fits are of fits with the same penalty."""
        return params["selection"] not in SCORES

    def estimate(self, recipe: "FitSettings", shape: TableShape, max_memory: int | None = None) -> Estimate:
        """As of alr, of the tuples that are counted at the level that takes most; and keys of the rows for each tuple
        that may be kept. Chosen by their gain beside their parts, they have the parts in the model.
        """
        params, columns = recipe.params, shape.encoded.n_columns
        self._check_number(params, columns)
        looked, kept = self._looked(params, columns), partial(most_kept, params["keep"])
        of_order = partial(super().estimate, max_memory=max_memory)
        return estimate_chosen(recipe, shape, of_order, looked, kept, params["selection"] == "gain")

    def check_stream(self, params: Mapping[str, Any], n_columns: int) -> None:
        """As of alr; a model without each tuple is not fitted where these are too many."""
        super().check_stream(params, n_columns)
        self._check_number(params, n_columns)

    def _check_number(self, params: Mapping[str, Any], n_columns: int) -> None:
        if params["selection"] != "cv" or params["order"] == "auto":
            return
        for tuples in self._looked(params, n_columns).values():
            rows_for(tuples)
            if most_kept(params["keep"], tuples) < tuples:  # how many grow from some of them the rows tell
                break

    def _hierarchy(self, params: Mapping[str, Any]) -> str:
        return ""

    def _looked(self, params: Mapping[str, Any], n_columns: int) -> dict[int, int]:
        """By level, the most tuples that are counted there."""
        lowest = max(1, params["order"] - (params["selection"] == "gain"))
        return {level: comb(n_columns, level) for level in range(lowest, params["order"] + 1)}


def most_kept(keep: float | str, looked: int) -> int:
    """Return the most of so many tuples that rows are given keys for; of what is still to be chosen all."""
    return looked if keep == "auto" else ceil(float(keep) * looked) if float(keep) <= 1 else min(int(keep), looked)


def grown_at_most(keep: float | str, first: Mapping[int, int], n_columns: int, order: int) -> dict[int, int]:
    """Return, by order, the most tuples that are looked at where each grows from those kept of one column less; `first`
    is the lowest order and how many are looked at there.
    """
    looked = dict(first)
    for level in range(max(looked) + 1, order + 1):
        grown = most_kept(keep, looked[level - 1]) * (n_columns - level + 1)
        looked[level] = min(comb(n_columns, level), grown)
    return looked


def kept_words(keep: float | str) -> str:
    """Return words for how many tuples are kept."""
    return "a share" if keep == "auto" else f"{float(keep):.0%}" if float(keep) <= 1 else f"{float(keep):,.0f}"


def check_keep(keep: float | str) -> None:
    """Raise `RecipeError` of a part of a tuple."""
    if keep != "auto" and float(keep) > 1 and keep != int(keep):
        raise RecipeError(
            f"keep={keep} is neither a share nor a number of tuples; expected a share up to 1, a whole number "
            f"above 1, such as {float(keep):.0f}, or 'auto'"
        )


def estimate_chosen(
    recipe: "FitSettings",
    shape: TableShape,
    of_order: "Callable[[FitSettings, TableShape], Estimate]",
    looked: Mapping[int, int],
    kept: Callable[[int], int],
    together: bool,
) -> Estimate:
    """Return the estimate of a model of chosen tuples.

    Args:
        recipe: what is fitted.
        shape: the table.
        of_order: estimates all tuples of an order.
        looked: by order, the most tuples that are counted.
        kept: the most of so many that are kept.
        together: whether the model has those of all these orders, not of the last alone.
    """
    encoded, order = shape.encoded, known_order(recipe)
    columns, counted = encoded.n_columns, replace(shape, covers=False)
    whole = of_order(recipe.replace(order=order), counted)
    needed, cells = dict[int, int](), dict[int, int]()
    for level, tuples in looked.items():
        every = whole if level == order else of_order(recipe.replace(order=level), counted)
        part = tuples / comb(columns, level)
        keys = 2 * kept(tuples) * (encoded.n_rows + shape.n_heldout)
        needed[level], cells[level] = ceil(every.cost.bytes * part) + keys, ceil(every.cells_seen * part)
    if together:
        needed[order], cells[order] = sum(needed.values()), sum(cells.values())
    at, classes = max(needed, key=lambda level: needed[level]), encoded.n_classes
    blocks = sum(map(kept, looked.values())) if together else kept(looked[order])  # a tuple that is kept is a block
    work = PassSize(encoded.n_rows, classes, cells[order], blocks, cells[order], cells[order]).reference_seconds()
    cost = Cost(classes * (cells[order] + 1), needed[at], work, 1)
    result = replace(whole, cost=cost, cells_seen=cells[order])
    if whole.refused and looked[order] == comb(columns, order):
        return result
    words = (
        f"{looked[at]:,} tuples of order {at} need about {needed[at] / 2**20:,.0f} MiB here and "
        f"{whole.allowed / 2**20:,.0f} MiB may be used; keep fewer, or choose a lower order"
    )
    return replace(result, refused=words if needed[at] > whole.allowed else "")


class HierarchicalSelectiveALR(SelectiveALR):
    """ALR^n on tuples grown level after level."""

    name = words = "hsalr"
    rival = "salr"
    params: ClassVar[Mapping[str, Param]] = {
        **_SELECTION, "grow": _GROW, **SelectiveALR.params
    }  # fmt: skip
    colours: ClassVar[Mapping[str, str]] = {"hsalr": "#13BF77"}
    aliases: ClassVar[Mapping[str, str]] = {"hierarchicalselectivealr": 'Recipe("hsalr")'}

    def _hierarchy(self, params: Mapping[str, Any]) -> str:
        return str(params["grow"])

    def _looked(self, params: Mapping[str, Any], n_columns: int) -> dict[int, int]:
        return grown_at_most(params["keep"], {1: n_columns}, n_columns, params["order"])
