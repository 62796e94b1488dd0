"""The specification of a study: its settings, and everything that a page derives from them.

The fields of a `StudySpec` are the settings, each with its default, what it may be and what a link calls it. Its
methods say what study of a table they make, what that costs and how a script makes it. `study_page` makes the page of
it: menus, link, cost, run, "copy as Python". Nothing here shows anything.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, ClassVar, Self

from alrviz.data.dataset import Dataset
from alrviz.explorer.recipes.questions import OWN
from alrviz.explorer.recipes.recipe_fields import has_effect, param_of
from alrviz.explorer.server.run_store import store_or_error
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import STUDY_PARAMS, State
from alrviz.explorer.shell.glossary import explain
from alrviz.explorer.widgets.scripts import dataset_code, recipe_code
from alrviz.explorer.widgets.study_estimate import PlannedStudy, estimate_recipes, processes, remarks_of
from alrviz.explorer.widgets.table_settings import cut_params, with_cuts
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.studies.core.cost import RecipeEstimate

# Repeats and folds of a cross-validation, by slug, and what a menu calls them.
FOLDS = {"5": (1, 5), "2x5": (2, 5), "10": (1, 10), "5x2": (5, 2), "10x10": (10, 10)}
FOLD_NAMES = {"5 folds": "5", "2 x 5 folds": "2x5", "10 folds": "10", "5 x 2 folds": "5x2", "10 x 10 folds": "10x10"}
_ANY_NUMBER = 10**6
SPECS: "dict[str, type[StudySpec]]" = {}  # of the pages that are there, by the kind of study
# What a link may hold of the settings of any study, as it is where nothing is set.
UNSET = {name: getattr(State(), name) for name in STUDY_PARAMS}


@dataclass(frozen=True)
class Menu:
    """A menu of a page. Its functions are given the spec; a menu of a setting needs none but `options`.

    Attributes:
        label, width: as it is seen; px.
        options: words and values.
        value: what is set; None: the setting of the menu's own name.
        choose: returns the spec with a value chosen; None: the setting of that name is replaced.
        shown: whether it has an effect.
        why: what it is about, told on hover.
        folded: whether it stands folded below the picture, as what is seldom set does.
    """

    label: str
    width: int
    options: Mapping[str, Any] | Callable[[Any], Mapping[str, Any]]
    value: Callable[[Any], Any] | None = None
    choose: Callable[[Any, Any], Any] | None = None
    shown: Callable[[Any], bool] = lambda spec: True
    why: str | Callable[[Any], str] | None = None
    folded: bool = False


def recipe_menu(name: str, width: int, options: Any = None, label: str = "") -> Menu:
    """Return the menu of a parameter of the recipe, of a page with one, as its `Param` has it.

    Args:
        name: the parameter.
        width: px.
        options: words and values, or a function of the spec; None: the choices of the recipe's family.
        label: shorter than the widget's, where the line has no room for that.
    """
    param = param_of(name)

    def choices(spec: Any) -> dict[str, Any]:
        return {words: value for value, words in spec.recipe.settings[name].choices.items()}

    return Menu(
        label or param.label, width, options or choices, lambda spec: spec.recipe.params[name],
        lambda spec, value: replace(spec, recipes=(spec.recipe.replace(**{name: value}),)),
        lambda spec: has_effect(spec.recipe, name), explain(param.term) if param.term else None,
    )  # fmt: skip


def choice(default: Any, choices: Collection[Any], link: str = "") -> Any:
    """Return a setting that is one of a few; `link`: what the state of a link calls it, "" for its own name."""
    return field(
        default=default,
        metadata={"read": lambda given: given if given in choices else default, "choices": choices, "link": link},
    )


def setting(default: Any, read: Callable[[Any], Any], link: str = "") -> Any:
    """Return a setting that may be anything of its kind; `read` makes a valid one of what a link holds."""
    return field(default=default, metadata={"read": read, "link": link})


@dataclass(frozen=True)
class RecipeGrid:
    """Recipes that are compared to see something: how the menu calls them, a line on what they show, the recipes."""

    words: str
    why: str
    recipes: tuple[Recipe, ...]


def grids_menu(grids: Mapping[str, RecipeGrid]) -> Menu:
    """Return the menu of grids by slug; a spec says in `grid` which it is, `OWN` for recipes that are none of them."""

    def options(spec: Any) -> dict[str, str]:
        return {of.words: slug for slug, of in grids.items()} | ({"my own": OWN} if spec.grid == OWN else {})

    def choose(spec: Any, slug: str) -> Any:
        return replace(spec, recipes=with_cuts(grids[slug].recipes, spec.cuts)) if slug in grids else spec

    def why(spec: Any) -> str:
        return grids[spec.grid].why if spec.grid in grids else "Recipes as you set them"

    return Menu("Recipes", 216, options, lambda spec: spec.grid, choose, why=why)


@dataclass(frozen=True)
class StudySpec:
    """A study as it is set. Recipes are distinct, and the page's own where there are none.

    A spec without a default below says it itself; `fresh` too, where the page's recipes can be chosen (`choosable`).

    Attributes:
        recipes: what is fitted.
        cuts: slug of how the page's own recipes cut numbers into levels.
    """

    noun: ClassVar[str]  # what the history calls it
    icon: ClassVar[str]
    make: ClassVar[Callable[..., Any]]  # the public function that makes the study, as a static method
    kind: ClassVar[str] = ""  # `Study.kind`, where it is not that function's name
    first: ClassVar[tuple[Recipe, ...]]  # the page's own recipes
    splits: ClassVar[Mapping[str, tuple[int, int]]] = FOLDS  # where it is a cross-validation, with a setting `folds`
    single: ClassVar[bool] = False  # whether that function takes one recipe
    menus: ClassVar[Mapping[str, Menu]] = {}
    imports: ClassVar[str] = ""  # of the script
    prints: ClassVar[str]  # the end of the script: what it says of `study`

    recipes: tuple[Recipe, ...] = field(default=(), metadata={"link": "study_recipes"})
    cuts: str = field(default="", compare=False)

    def __init_subclass__(cls) -> None:
        SPECS[cls.kind or cls.make.__name__] = cls

    def __post_init__(self) -> None:
        own = dict.fromkeys(self.recipes) or with_cuts(self.first, self.cuts)
        object.__setattr__(self, "recipes", tuple(own))

    # -- settings, menus and links -------------------------------------------------------------------------------------

    @classmethod
    def settings(cls) -> Iterable[tuple[str, Field[Any]]]:
        """Yield every setting with what the state of a link calls it."""
        return ((one.metadata["link"] or one.name, one) for one in fields(cls) if one.metadata)

    @classmethod
    def usable(cls, recipes: tuple[Recipe, ...]) -> tuple[Recipe, ...]:
        """Return of a link's recipes those that such a study can take, as it takes them."""
        return recipes

    @classmethod
    def read(cls, own: State, cuts: str) -> Self:
        """Parse the link; replace unsupported recipes and settings by the page's defaults."""
        given = {one.name: one.metadata.get("read", cls.usable)(getattr(own, link)) for link, one in cls.settings()}
        return cls(cuts=cuts, **given)

    def written(self) -> dict[str, Any]:
        """Return what is set as the state of a link has it; what is the page's own is left out."""
        own = type(self)(cuts=self.cuts)
        values = ((link, getattr(self, one.name), getattr(own, one.name)) for link, one in self.settings())
        return UNSET | {link: value for link, value, first in values if value != first}

    @property
    def plain(self) -> tuple[Recipe, ...]:
        """The recipes, whatever their cuts are."""
        return tuple(recipe.replace(**cut_params("")) for recipe in self.recipes)

    def cut(self, slug: str) -> Self:
        """Return it with numbers cut so in every recipe."""
        return replace(self, recipes=with_cuts(self.recipes, slug), cuts=slug)

    def chosen(self, name: str, value: Any) -> Self:
        """Return it after something was chosen from a menu; raises `RecipeError` where that excludes what is set."""
        choose = self.menus[name].choose
        return replace(self, **{name: value}) if choose is None else choose(self, value)

    def fresh(self, columns: int) -> Recipe:
        """Return the recipe that a press on "+" adds, for a table of so many columns."""
        raise NotImplementedError

    # -- the study and its cost ----------------------------------------------------------------------------------------

    @property
    def split(self) -> tuple[int, int]:
        """Repeats and folds, where it is a cross-validation."""
        return self.splits[vars(self)["folds"]]

    @property
    def holdout(self) -> float:
        """Share of the rows that a fit does not learn from: a fold."""
        return 1 / self.split[1]

    def arguments(self, fits: Sequence[RecipeEstimate]) -> dict[str, Any]:
        """Return what `make` is given beside table, recipes and seed, also in the script."""
        return dict(zip(("repeats", "folds"), self.split, strict=True))

    def cost(self, dataset: Dataset | None, fits: Sequence[RecipeEstimate]) -> Cost:
        """Return the cost of the study, one fit after the other; `fits` are those of recipes that can be run."""
        return math.prod(self.split) * sum((one.cost for one in fits), Cost())

    def estimate(self, dataset: Dataset, seed: int, stop: StopToken) -> tuple[RecipeEstimate, ...]:
        """Estimate a fit of every recipe."""
        return estimate_recipes(dataset, self.recipes, self.holdout, stop)

    def runnable(self, fits: Sequence[RecipeEstimate]) -> tuple[Recipe, ...]:
        """Return the recipes that can be run."""
        return tuple(recipe for recipe, one in zip(self.recipes, fits, strict=True) if not one.refused)

    def most_processes(self, recipes: tuple[Recipe, ...]) -> int:
        """Return for how many processes there is work."""
        return _ANY_NUMBER

    def learn(self, dataset: Dataset, session: Session) -> Callable[[StopToken, Callable[[str], None]], PlannedStudy]:
        """Return what learns on a thread what the study costs and what is kept of it; it tells what it is at."""
        seed, finish = session.seed, self.finish(session)

        def work(stop: StopToken, tell: Callable[[str], None]) -> PlannedStudy:
            tell("estimating the cost")
            fits = self.estimate(dataset, seed, stop)
            total = self.cost(dataset, [one for one in fits if not one.refused])
            remarks = remarks_of(dataset, [one.note for one in fits])
            planned = PlannedStudy(fits, total, recipes=self.runnable(fits), remarks=remarks)
            return finish(planned, dataset, stop, tell)

        return work

    def finish(self, session: Session) -> Callable[..., Any]:
        """Return what puts the study into its estimate, waiting, with the tasks that are kept."""
        seed, owner, most = session.seed, session.owner, session.registry.limits.threads or _ANY_NUMBER

        def work(planned: Any, table: Any, stop: StopToken, tell: Callable[[str], None]) -> Any:
            if not planned.recipes:
                return planned
            stop.check()
            tell("looking for stored results")
            n_jobs = min(processes(planned.cost.seconds, most), self.most_processes(planned.recipes))
            study = self.make(
                table, planned.recipes[0] if self.single else list(planned.recipes), **self.arguments(planned.fits),
                seed=seed, n_jobs=n_jobs, owner=owner, keep=store_or_error(),
            )  # fmt: skip
            if len(study.datasets) == 1:
                study.expect([one.cost.seconds for one in planned.fits if not one.refused])
            study.recall()
            study.summary()  # what is kept is taken apart here, not where it is shown
            return replace(planned, study=study, n_jobs=n_jobs)

        return work

    # -- the script ----------------------------------------------------------------------------------------------------

    def table_code(self, session: Session, planned: Any) -> tuple[str, str]:
        """Return Python that makes the table, and what that calls it."""
        return dataset_code(session), "dataset"

    def script(self, session: Session, planned: Any, version: str, prints: str) -> str:
        """Return the script of "copy as Python": its numbers are the screen's, but for seconds."""
        made, table = self.table_code(session, planned)
        lines = "".join(f"    {recipe_code(recipe)},\n" for recipe in planned.recipes)
        recipes = f"recipe = {lines.strip().removesuffix(',')}" if self.single else f"recipes = [\n{lines}]"
        how = "".join(f"{name}={value!r}, " for name, value in self.arguments(planned.fits).items())
        return f"""# alrviz {version}
import alrviz
{self.imports}
{made}
{recipes}
study = alrviz.{self.make.__name__}(
    {table}, {"recipe" if self.single else "recipes"},
    {how}seed={session.seed},
)  # n_jobs=1 computes in this process, keep=True keeps every fit as it finishes
{prints}"""
