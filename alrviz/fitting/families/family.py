"""What a family of classifiers is: one object that knows its parameters and words, what a fit costs, how it is made.

A family is a module of this folder and a line of the registry (families/__init__.py). What it does not say itself is
as written here: no parameter excludes another, nothing is drawn, nothing is compiled.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from alrviz.data.encoded import SMOOTH_WAYS
from alrviz.fitting.families.param import Param
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.data.stream.table import CodedTable
    from alrviz.fitting.cost.estimate import Estimate
    from alrviz.fitting.cost.table_shape import TableShape
    from alrviz.fitting.families.build_fit import Fit
    from alrviz.fitting.families.observers import Observer
    from alrviz.fitting.fit_settings import FitSettings
    from alrviz.fitting.prepare import TrainingData
    from alrviz.models.cell_space import AllOrders
    from alrviz.models.linear import LinearModel
    from alrviz.models.tables import Tables
    from alrviz.models.tuple_selection import Level
    from alrviz.passes.rows import Rows
    from alrviz.passes.stream import Chunks

GREY = "#777777"
# Seconds of a fit beside what grows with the table; and of a network's row and pair of columns.
SECONDS, _COLUMN = 0.03, 1.5e-8


@dataclass(frozen=True, eq=False)
class FitProblem:
    """A fit and what goes with it.

    Attributes:
        fit: what is driven.
        heldout: rows to be watched; None without any.
        baseline: log losses per row to compare with, as in `Trace`.
        tables: counts of cells; None for dlr and elr.
        compiled: seconds that compiling took.
        watched: what is looked at besides training and held-out scores.
    """

    fit: "Fit"
    heldout: "Rows | None"
    baseline: dict[str, float]
    tables: "Tables | None"
    compiled: float
    watched: "tuple[Observer, ...]" = ()


@dataclass(frozen=True, eq=False)
class FitRequest:
    """A fit that is to be made.

    Attributes:
        prepared: the rows.
        recipe: what is fitted.
        params: the recipe's, with the solver that was chosen.
        tell: hears what is being done.
        stop: ends it.
        hear: hears of each level of tuples that were scored.
        max_memory: bytes that further fits may use; None for half of what is free.
    """

    prepared: "TrainingData"
    recipe: "FitSettings"
    params: Mapping[str, Any]
    tell: Callable[[str], None]
    stop: StopToken = NEVER
    hear: "Callable[[Level], None]" = lambda level: None
    max_memory: int | None = None


@dataclass(frozen=True, eq=False)
class StreamRequest:
    """A fit to a table that is read in batches.

    Attributes:
        coded: the table as codes.
        chunks: of a number of rows: its training rows without the first so many, passed over here or on a cluster.
        recipe: what is fitted.
        allowed: bytes that may be used.
        n_jobs: threads; None for all.
        tell: hears what is being done.
        stop: ends it.
        hear: hears of each level of tuples that were scored.
        choosing: whether it is a fit that chooses settings: D_CV is not learned from, and is held out instead.
        used: the chunks that were passed over so far, by fits that choose settings too.
        spent: passes that were made before, by the run that this one repeats.
        start: a model whose phi is where the fit starts; None for the recipe's start.
    """

    coded: "CodedTable"
    chunks: "Callable[[int], Chunks]"
    recipe: "FitSettings"
    allowed: int
    n_jobs: int | None
    tell: Callable[[str], None]
    stop: StopToken = NEVER
    hear: "Callable[[Level], None]" = lambda level: None
    choosing: bool = False
    used: "list[Chunks]" = field(default_factory=list)
    spent: int = 0
    start: "LinearModel | None" = None


class Family:
    """A family of classifiers. `params`, in every method, are a recipe's: complete and checked.

    Attributes:
        name: what a recipe calls it.
        words: what a menu calls it.
        params: its parameters by name, its own first: checks, docstrings, links and widgets are made of them.
        estimator: the dotted name of its classifier.
        colours: its colour (#rrggbb) on pictures, for each label that it gives out.
        aliases: other names of it, in small letters alone, and the recipe that each one means.
        has_steps: whether its fit is a run, a stream of steps; else it is fitted at one go, by its classifier.
        smooths: whether weights of smooth levels are found together; others take each of these levels by itself.
        takes_numbers: whether it takes numeric columns as they are, so that nothing is cut into levels.
        counts_cells: whether its fit begins with counts of cells.
        shows_weights: whether its model is a table of cells and weights.
        learns_rows: how it learns row by row: by its "counts", with "ones" or with "log theta" as a scale; "" if it
            cannot.
        streams: whether it is fitted to tables that are read in batches.
        rival: the family that pages put beside it first.
        paper: the parameters of the fit that its paper ran, empty where none is known; the values that a tuple lists
            are all the paper's.
    """

    name: ClassVar[str]
    words: ClassVar[str]
    params: ClassVar[Mapping[str, Param]]
    estimator: ClassVar[str]
    colours: ClassVar[Mapping[str, str]]
    aliases: ClassVar[Mapping[str, str]] = {}
    has_steps: ClassVar[bool] = False
    smooths: ClassVar[bool] = False
    takes_numbers: ClassVar[bool] = False
    counts_cells: ClassVar[bool] = True
    shows_weights: ClassVar[bool] = True
    learns_rows: ClassVar[str] = ""
    streams: ClassVar[bool] = False
    rival: ClassVar[str] = "lr"
    paper: ClassVar[Mapping[str, Any]] = {}

    # ---- what is said of a recipe --------------------------------------------------------------------------------

    def check_together(self, params: Mapping[str, Any]) -> None:
        """Raise `RecipeError`, naming what does go together, if no model has these parameters at once."""

    def check_smooth(self, params: Mapping[str, Any]) -> None:
        """Raise `RecipeError` where these parameters do not go with smooth levels."""

    def label(self, params: Mapping[str, Any]) -> str:
        """Return a short name for legends and colours."""
        return self.name

    def title(self, params: Mapping[str, Any]) -> str:
        """Return one line: what is fitted, from where, with which loss, penalty, bounds and solver."""
        return self.label(params)

    def learned_by(self, params: Mapping[str, Any]) -> str:
        """Return how its model is found, as a report says it: "logistic regression"; "" where nothing is to be said."""
        return ""

    def is_regularised(self, params: Mapping[str, Any]) -> bool:
        """Return whether a penalty acts on what is fitted."""
        return False

    def solver(self, params: Mapping[str, Any]) -> str:
        """Return the solver that will run, "auto" resolved; "none" where nothing is fitted."""
        return "none"

    def missing(self, params: Mapping[str, Any]) -> str:
        """Return what a missing value is: "level", one of its own, or "skip", none."""
        return str(params.get("missing", "level"))

    def draws(self, params: Mapping[str, Any]) -> bool:
        """Return whether the fit itself, beside the split, depends on the seed."""
        return False

    def paper_params(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters of the fit that the paper ran; what it ran in several ways stays if it is one."""
        listed = {name: value if isinstance(value, tuple) else (value,) for name, value in self.paper.items()}
        return {name: params[name] if params[name] in ran else ran[0] for name, ran in listed.items()}

    def cells_depend_on_alpha(self, params: Mapping[str, Any]) -> bool:
        """Return whether another alpha may have other cells, so that no fit starts from another's weights."""
        return False

    def objective_key(self, recipe: "FitSettings") -> Hashable:
        """Return what is equal for two recipes that minimise the same function over the same cells on the same rows."""
        return recipe.to_json()

    # ---- a fit ---------------------------------------------------------------------------------------------------

    def counted(self, params: Mapping[str, Any], n_columns: int) -> "Sequence[int | AllOrders]":
        """Return the tuples whose cells a fit counts, as far as they are known before rows are looked at."""
        return ()

    def estimate(self, recipe: "FitSettings", shape: "TableShape", max_memory: int | None = None) -> "Estimate":
        """Return what a fit of a recipe of this family costs; max_memory: bytes, None for half of what is free."""
        raise NotImplementedError

    def seconds(self, params: Mapping[str, Any], rows: int, columns: int, classes: int) -> float:
        """Return about how many seconds a fit takes that is done at one go."""
        return SECONDS + _COLUMN * rows * columns**2

    def warm(self, recipe: "FitSettings", n_classes: int, wide: bool = False) -> float:
        """Compile what a fit calls, for codes or keys of 32 bits or not; return the seconds (0.0 if it was)."""
        return 0.0

    def warm_for(self, recipe: "FitSettings", prepared: "TrainingData", stop: StopToken = NEVER) -> float:
        """Compile what a fit of these rows calls; return the seconds (0.0 if it was)."""
        return self.warm(recipe, prepared.encoded.n_classes, prepared.wide)

    def make(self, request: FitRequest) -> FitProblem:
        """Return what the recipe makes of the rows; asked of families with steps."""
        raise NotImplementedError

    def check_stream(self, params: Mapping[str, Any], n_columns: int) -> None:
        """Raise `RecipeError` for what a fit over batches of rows has not; asked before anything is read."""

    def make_stream(self, request: StreamRequest) -> tuple[FitProblem, "Estimate"]:
        """Return what the recipe makes of a table read in batches, and its estimate; asked of families that stream."""
        raise NotImplementedError


def rows_key(recipe: "FitSettings") -> tuple[Hashable, ...]:
    """Return what is equal for two recipes that learn from the same rows, cut and weighted in the same way."""
    weights = recipe.params.get("class_weight")
    weighting = tuple(sorted(weights.items(), key=str)) if isinstance(weights, Mapping) else weights
    missing = recipe.params.get("missing")
    n_bins = recipe.most_levels if recipe.cuts in ("quantile", "uniform", *SMOOTH_WAYS) else None
    return (recipe.cuts, n_bins, recipe.holdout, recipe.seed, missing, weighting)
