"""What the page "Compare" asks for, and what is known of it before it runs: tables, prices, what is kept."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from alrviz.explorer.pages.order.settings import FOLDS
from alrviz.explorer.session.managed_studies import kept_where
from alrviz.explorer.widgets.study_costs import Priced, price_recipes, processes, remarks_of
from alrviz.explorer.widgets.table_sets import Sets, Table
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken

FIRST_SETS = ("monks-1", "monks-3", "tic-tac-toe", "balance-scale", "iris", "wine")
# alpha by nested CV, as the page "Which order?" has it: the two pages must not contradict each other.
FIRST = (
    Recipe("anje", order=1), Recipe("lr", order=1, alpha="cv"), Recipe("lr", order=2, alpha="cv"), Recipe("tan"),
    Recipe("hgb"),
)  # fmt: skip
FIRST_FOLDS = "5x2"


@dataclass(frozen=True)
class Asked:
    """Settings of a comparison."""

    sets: Sets
    recipes: tuple[Recipe, ...]
    folds: str

    @property
    def splits(self) -> tuple[int, int]:
        """Repeats and folds."""
        return FOLDS.get(self.folds, FOLDS[FIRST_FOLDS])


@dataclass(frozen=True)
class Known:
    """What is known before a comparison runs.

    Attributes:
        asked: the settings.
        tables: those that are there.
        absent: name of each that is not, and why.
        priced: of each table the price of every recipe.
        recipes: those that some table can take.
        study: of these recipes on these tables, with the cells that are kept; None where there is nothing to fit.
        seconds: about how long all fits take one after the other.
        n_jobs: processes; 1 is this one.
        remarks: what a reader should know of the visitor's own tables first.
    """

    asked: Asked
    tables: tuple[Table, ...]
    absent: tuple[tuple[str, str], ...]
    priced: tuple[tuple[Priced, ...], ...]
    recipes: tuple[Recipe, ...]
    study: Any
    seconds: float
    n_jobs: int
    remarks: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """What all workers take together."""
        tried = (one for line in self.priced for one in line if not one.refused)
        return self.n_jobs * max((one.price.bytes for one in tried if one.price), default=0)


def learn(
    asked: Asked,
    seed: int,
    owner: str,
    most_jobs: int,
    open_tables: Callable[[StopToken], tuple[tuple[Table, ...], tuple[tuple[str, str], ...]]],
    stop: StopToken,
    tell: Callable[[str], None],
) -> Known:
    """Open the tables, price every recipe on each, make the study, and take what is kept of it.

    A recipe that no table can take is left out; where only some refuse it, its fits there fail and say why.
    """
    from alrviz.studies.protocols.compare import compare

    tables, absent = open_tables(stop)
    repeats, folds = asked.splits
    priced = []
    for table in tables:
        tell(f"pricing {table.dataset.name}")
        priced.append(price_recipes(table.dataset, asked.recipes, 1 / folds, stop))
    recipes = tuple(recipe for k, recipe in enumerate(asked.recipes) if any(not line[k].refused for line in priced))
    seconds = sum(one.seconds for line in priced for one in line if not one.refused) * repeats * folds
    n_jobs = processes(seconds, most_jobs)
    study = None
    if recipes:
        stop.check()
        tell("looking for what is kept")
        study = compare(
            [table.dataset for table in tables], recipes, repeats=repeats, folds=folds, seed=seed, n_jobs=n_jobs,
            owner=owner, keep=kept_where(),
        )  # fmt: skip
        study.recall()
    remarks = tuple(
        f"{table.dataset.name}: {words}"
        for table, line in zip(tables, priced, strict=True)
        if not table.demo
        for words in remarks_of(table.dataset, [one.lost for one in line])
    )
    return Known(asked, tables, absent, tuple(priced), recipes, study, seconds, n_jobs, remarks)
