"""From prepared rows and a recipe to a Bayesian network classifier.

    tan    the best tree by I(i; j | Y)          kdb    k parents by I(i; Y) and I(i; j | Y)
    elr    naive Bayes, TAN or given parents     ande   no network: every tuple of n columns in turn is the parent

Structure and counts are all there is to it; elr only starts so.
"""

from dataclasses import dataclass
from typing import Any

from alrviz.errors import RecipeError
from alrviz.fitting.prepare import Prepared
from alrviz.fitting.recipe import Recipe
from alrviz.models.averages import AverageModel
from alrviz.models.dependence import class_information, conditional_information
from alrviz.models.networks import NetworkCounts, NetworkModel, count_network
from alrviz.models.selective import select
from alrviz.models.structures import Structure, given, kdb, naive, tan
from alrviz.models.tables import Tables
from alrviz.passes.room import Floats
from alrviz.stop import NEVER, StopToken


@dataclass(frozen=True, eq=False)
class Learned:
    """What was counted.

    Attributes:
        counts: of the network; of ande naive Bayes'.
        model: what scores rows.
        tables: of ande, those of the highest order; else None.
        rmse: of selective kdb, (k + 1, a + 1) leave-one-out RMSE by parents and columns; else None.
    """

    counts: NetworkCounts
    model: NetworkModel | AverageModel
    tables: Tables | None = None
    rmse: Floats | None = None


def tables_order(recipe: Recipe, n_columns: int) -> int:
    """Return the highest order of tables that a recipe of a network, or of ande, counts.

    Raises:
        RecipeError: where ande's super-parents leave no column to be their child.
    """
    p = recipe.params
    if recipe.family == "ande":
        if p["n"] + 1 > n_columns > 0:
            raise RecipeError(
                f"n={p['n']} needs at least {p['n'] + 1} columns, and there {'is' if n_columns == 1 else 'are'} "
                f"{n_columns} feature(s); the highest n here is {n_columns - 1}"
            )
        return int(p["n"]) + 1
    pairs = p["k"] > 0 if recipe.family == "kdb" else recipe.family == "tan" or p["structure"] == "tan"
    return 2 if pairs and n_columns > 1 else 1


def structure_of(prepared: Prepared, recipe: Recipe, stop: StopToken = NEVER) -> Structure:
    """Return the structure of a recipe of tan, kdb or elr on its training rows.

    Raises:
        RecipeError: a given structure that names no columns of the table, or has a circle.
    """
    p, a = recipe.params, prepared.encoded.n_columns
    wanted: Any = "kdb" if recipe.family == "kdb" else p.get("structure", "tan")
    if not isinstance(wanted, str):
        return given(wanted, prepared.encoded.names)
    if wanted == "nb" or a == 1:
        return naive(a)
    if tables_order(recipe, a) == 1:
        of_class = class_information(prepared.tables(1, p["smoothing"], stop))
        return Structure(naive(a).parents, tuple((-of_class).argsort(kind="stable").tolist()))
    between = conditional_information(prepared.tables(2, p["smoothing"], stop))
    if wanted == "tan":
        return tan(between)
    return kdb(class_information(prepared.tables(1, p["smoothing"], stop)), between, p["k"])


def learn(prepared: Prepared, recipe: Recipe, stop: StopToken = NEVER) -> Learned:
    """Return the network of a recipe of tan, kdb or elr (as it starts), or ande's mean over them.

    Raises:
        MemoryLimitError: where a column has more possible cells with its parents than can be numbered.
    """
    encoded, p = prepared.encoded, recipe.params
    order = tables_order(recipe, encoded.n_columns)
    single = prepared.tables(1, p["smoothing"], stop)
    rows = (single, encoded.codes, encoded.y, encoded.weights, prepared.n_jobs, stop)
    if recipe.family == "ande":
        counts = count_network(naive(encoded.n_columns), *rows)
        if p["n"] == 0:
            return Learned(counts, counts.model(), single)
        parents, wider = (prepared.tables(n, p["smoothing"], stop) for n in (order - 1, order))
        return Learned(counts, AverageModel(parents, wider, counts.model()), wider)
    structure = structure_of(prepared, recipe, stop)
    if p.get("selective", False):
        chosen = select(structure, *rows)
        return Learned(chosen.counts, chosen.counts.model(), rmse=chosen.rmse)
    counts = count_network(structure, *rows)
    return Learned(counts, counts.model())
