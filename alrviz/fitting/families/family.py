"""A family of classifiers: one object that knows its parameters and texts, the cost of a fit, and how to make one.

A family is a module of this folder and a line of the registry (families/__init__.py). The defaults here: no parameter
excludes another, nothing is random, nothing is compiled.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

from alrviz.data.encoded import SMOOTH_WAYS
from alrviz.fitting.families.param import Param
from alrviz.fitting.fit_settings import FitSettings, Params
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.data.stream.table import EncodedTable
    from alrviz.fitting.cost.estimate import Estimate
    from alrviz.fitting.cost.table_shape import TableShape
    from alrviz.fitting.families.build_fit import Fit
    from alrviz.fitting.families.observers import Observer
    from alrviz.fitting.prepare import TrainingData
    from alrviz.models.cell_space import AllOrders
    from alrviz.models.linear import LinearModel
    from alrviz.models.tables import Tables
    from alrviz.models.tuple_selection import Level
    from alrviz.passes.rows import Rows
    from alrviz.passes.stream import Chunks

GREY = "#777777"
# Fixed seconds of a fit, and seconds per row and pair of columns of a network.
BASE_SECONDS, _SECONDS_PER_COLUMN_PAIR = 0.03, 1.5e-8


@dataclass(frozen=True, eq=False)
class FitProblem:
    """A fit with the rows, counts and observers that its run needs.

    Attributes:
        fit: objective, solver and start.
        heldout: held-out rows; None without any.
        baseline: log losses per row to compare with, as in `Trace`.
        tables: counts of cells; None for dlr and elr.
        compile_seconds: seconds that compiling took.
        observers: observers besides those of training and held-out scores.
    """

    fit: "Fit"
    heldout: "Rows | None"
    baseline: dict[str, float]
    tables: "Tables | None"
    compile_seconds: float
    observers: "tuple[Observer, ...]" = ()


@dataclass(frozen=True, eq=False)
class FitRequest:
    """A request for a fit.

    Attributes:
        prepared: the rows.
        recipe: the recipe of the fit.
        params: the recipe's, with the solver that was chosen.
        report: called with a text of what is being done.
        stop: ends it.
        on_level: called with each level of tuples that was scored.
        max_memory: bytes that further fits may use; None for half of the free memory.
        search_seconds: that a search for alphas or iterations may take.
    """

    prepared: "TrainingData"
    recipe: FitSettings
    params: Params
    report: Callable[[str], None]
    stop: StopToken = NEVER
    on_level: "Callable[[Level], None]" = lambda level: None
    max_memory: int | None = None
    search_seconds: float = inf


@dataclass(frozen=True, eq=False)
class StreamRequest:
    """A request for a fit to a table read in batches.

    Attributes:
        coded: the table as codes.
        chunks: chunks(n) are the training rows without the first n, read here or on a cluster.
        recipe: the recipe of the fit.
        max_bytes: bytes that may be used.
        n_jobs: threads; None for all.
        report: called with a text of what is being done.
        stop: ends it.
        on_level: called with each level of tuples that was scored.
        chooses_settings: whether the fit chooses settings: then D_CV is its held-out rows.
        chunks_read: the chunks read so far, also by fits that choose settings.
        passes_before: passes of the run that this one repeats.
        start: a model at whose phi the fit starts; None for the recipe's start.
    """

    coded: "EncodedTable"
    chunks: "Callable[[int], Chunks]"
    recipe: FitSettings
    max_bytes: int
    n_jobs: int | None
    report: Callable[[str], None]
    stop: StopToken = NEVER
    on_level: "Callable[[Level], None]" = lambda level: None
    chooses_settings: bool = False
    chunks_read: "list[Chunks]" = field(default_factory=list)
    passes_before: int = 0
    start: "LinearModel | None" = None


class Family:
    """A family of classifiers. `params`, in every method, are a recipe's: complete and checked.

    Attributes:
        name: its name in recipes.
        words: its name in menus.
        menu_note: what sets it apart from other families, beside its name in menus; "" for nothing.
        params: its parameters by name, its own first; checks, docstrings, links and widgets are made from them.
        estimator: the dotted name of its classifier.
        colours: its colour (#rrggbb) in pictures, for each label that it gives.
        aliases: other names, in lower-case letters only, and the recipe that each one means.
        has_steps: whether its fit is a run of steps; otherwise its classifier fits it.
        smooths: whether the weights of smooth levels are penalised together; other families treat levels separately.
        takes_numbers: whether it takes numeric columns as they are, so that nothing is cut into levels.
        counts_cells: whether its fit begins with counts of cells.
        sums_cells: whether its scores are sums over cells, all of a model in one table.
        fits_by_gram: whether a fit to few rows can use the inner products of their features (row_space.py).
        shows_weights: whether its model is a table of cells and weights.
        learns_rows: how it learns row by row: from "counts", or with "ones" or "log theta" as the scale; "" if it
            cannot.
        streams: whether it can be fitted to tables read in batches.
        rival: the family that pages compare it with first.
        paper: the parameters of its paper's fit, empty if unknown; a tuple lists alternatives, all of them the
            paper's.
    """

    name: ClassVar[str]
    words: ClassVar[str]
    menu_note: ClassVar[str] = ""
    params: ClassVar[Mapping[str, Param]]
    estimator: ClassVar[str]
    colours: ClassVar[Mapping[str, str]]
    aliases: ClassVar[Mapping[str, str]] = {}
    has_steps: ClassVar[bool] = False
    smooths: ClassVar[bool] = False
    takes_numbers: ClassVar[bool] = False
    counts_cells: ClassVar[bool] = True
    sums_cells: ClassVar[bool] = False
    fits_by_gram: ClassVar[bool] = False
    shows_weights: ClassVar[bool] = True
    learns_rows: ClassVar[str] = ""
    streams: ClassVar[bool] = False
    rival: ClassVar[str] = "lr"
    paper: ClassVar[Params] = {}

    # ---- texts and properties of a recipe ---------------------------------------------------------------------

    def check_together(self, params: Params) -> None:
        """Raise `RecipeError` if these parameters exclude each other; the message names values that do not."""

    def check_smooth(self, params: Params) -> None:
        """Raise `RecipeError` if these parameters do not support smooth levels."""

    def label(self, params: Params) -> str:
        """Return a short name for legends and colours."""
        return self.name

    def title(self, params: Params) -> str:
        """Return one line: what is fitted, the start, loss, penalty, bounds and solver."""
        return self.label(params)

    def training_method(self, params: Params) -> str:
        """Return how the model is trained, in a report's words: "logistic regression"; "" to say nothing."""
        return ""

    def is_regularised(self, params: Params) -> bool:
        """Return whether the weights of a fit with these parameters have a penalty."""
        return False

    def solver(self, params: Params) -> str:
        """Return the solver that will run, "auto" resolved; "none" if nothing is fitted."""
        return "none"

    def missing(self, params: Params) -> str:
        """Return how missing values are treated: "level", as one more level, or "skip", as no level."""
        return str(params.get("missing", "level"))

    def is_random(self, params: Params) -> bool:
        """Return whether the fit itself depends on the seed, apart from the split."""
        return False

    def paper_params(self, params: Params) -> dict[str, Any]:
        """Return the parameters of the paper's fit; where it ran alternatives, one of them stays as it is."""
        alternatives = {name: value if isinstance(value, tuple) else (value,) for name, value in self.paper.items()}
        return {name: params[name] if params[name] in values else values[0] for name, values in alternatives.items()}

    def cells_depend_on_alpha(self, params: Params) -> bool:
        """Return whether the cells depend on alpha, so that a fit cannot start from the weights of another alpha."""
        return False

    def objective_key(self, recipe: FitSettings) -> Hashable:
        """Return a key that is equal for recipes that minimise the same function of the same cells and rows."""
        return recipe.to_json()

    # ---- a fit ---------------------------------------------------------------------------------------------------

    def counted_tuples(self, params: Params, n_columns: int) -> "Sequence[int | AllOrders]":
        """Return the tuples of n_columns columns whose cells a fit counts, as far as they are known without the
        rows.
        """
        return ()

    def estimate(self, recipe: FitSettings, shape: "TableShape", max_memory: int | None = None) -> "Estimate":
        """Return the estimate of fitting `recipe` to a table of this shape.

        max_memory: bytes that may be used; None for half of the free memory.
        """
        raise NotImplementedError

    def seconds(self, params: Params, rows: int, columns: int, classes: int) -> float:
        """Return about how many seconds a fit without steps takes to so many rows, columns and classes."""
        return BASE_SECONDS + _SECONDS_PER_COLUMN_PAIR * rows * columns**2

    def warm(self, recipe: FitSettings, n_classes: int, wide: bool = False) -> float:
        """Compile the kernels of a fit of `recipe` to n_classes classes; return the seconds, 0.0 if they were compiled.

        wide: whether codes and keys have 32 bits; else they have 16.
        """
        return 0.0

    def warm_for(self, recipe: FitSettings, prepared: "TrainingData", stop: StopToken = NEVER) -> float:
        """Compile the kernels of a fit of `recipe` to prepared rows; return the seconds (0.0 if they were compiled)."""
        return self.warm(recipe, prepared.encoded.n_classes, prepared.has_wide_codes)

    def make(self, request: FitRequest) -> FitProblem:
        """Return the fit of the recipe to the rows; only for families with steps."""
        raise NotImplementedError

    def check_stream(self, params: Params, n_columns: int) -> None:
        """Raise `RecipeError` for parameters that a fit to batches of rows of n_columns columns does not support.

        It is called before anything is read.
        """

    def make_stream(self, request: StreamRequest) -> tuple[FitProblem, "Estimate"]:
        """Return the fit of the recipe to a table read in batches, and its estimate; only for families that stream."""
        raise NotImplementedError


def rows_key(recipe: FitSettings) -> tuple[Hashable, ...]:
    """Return a key that is equal for recipes that use the same rows, cut and weighted in the same way."""
    weights = recipe.params.get("class_weight")
    weighting = tuple(sorted(weights.items(), key=str)) if isinstance(weights, Mapping) else weights
    missing = recipe.params.get("missing")
    n_bins = recipe.most_levels if recipe.cuts in ("quantile", "uniform", *SMOOTH_WAYS) else None
    return (recipe.cuts, n_bins, recipe.holdout, recipe.seed, missing, weighting)
