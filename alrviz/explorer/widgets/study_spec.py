"""The specification of a study: its settings, and everything that a page derives from them.

The fields of a `StudySpec` are the settings, each with its default, valid values and link property. Its methods make
the study of a table, its cost and its script. `study_page` builds the page; there are no widgets here.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, ClassVar, Self

from alrviz.data.dataset import Dataset
from alrviz.explorer.recipes.questions import CUSTOM
from alrviz.explorer.recipes.recipe_fields import alpha_entries, family_entries, has_effect, param_of, with_family
from alrviz.explorer.server.run_store import store_or_error
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import STUDY_PARAMS, State
from alrviz.explorer.shell.glossary import explain
from alrviz.explorer.widgets.scripts import dataset_code, recipe_code
from alrviz.explorer.widgets.study_estimate import PlannedStudy, choose_n_jobs, estimate_recipes, remarks_of
from alrviz.explorer.widgets.table_settings import cut_params, with_cuts
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.studies.core.cost import RecipeEstimate

# Repeats and folds of a cross-validation by slug, and the menu's entries.
FOLDS = {"5": (1, 5), "2x5": (2, 5), "10": (1, 10), "5x2": (5, 2), "10x10": (10, 10)}
FOLD_NAMES = {
    "5 folds": "5", "2 rounds of 5": "2x5", "10 folds": "10", "5 rounds of 2": "5x2", "10 rounds of 10": "10x10",
}  # fmt: skip
FAMILY_MENU_WIDTH = 208  # px
_UNLIMITED = 10**6
SPECS: "dict[str, type[StudySpec]]" = {}  # of the pages imported so far, by the kind of study
# The link properties of all studies, with the values that leave them out of the link.
UNSET_PARAMS = {name: getattr(State(), name) for name in STUDY_PARAMS}


@dataclass(frozen=True)
class Menu:
    """A menu of a page; its functions take the spec. The menu of a setting needs `options` only.

    Attributes:
        label: above the menu.
        width: px.
        options: values by label.
        value: returns the current value; None for the setting of the menu's name.
        choose: returns the spec with the value chosen; None replaces the setting of the menu's name.
        is_visible: whether the menu has an effect.
        description: shown on hover.
        folded: whether the menu is folded below the picture.
    """

    label: str
    width: int
    options: Mapping[str, Any] | Callable[[Any], Mapping[str, Any]]
    value: Callable[[Any], Any] | None = None
    choose: Callable[[Any, Any], Any] | None = None
    is_visible: Callable[[Any], bool] = lambda spec: True
    description: str | Callable[[Any], str] | None = None
    folded: bool = False


def recipe_menu(name: str, width: int, options: Any = None, label: str = "") -> Menu:
    """Return the menu of a parameter, from its `Param`, for a page with one recipe.

    Args:
        name: the parameter.
        width: px.
        options: values by label, or a function of the spec; None for the choices of the recipe's family, and for alpha
            the usual strengths.
        label: in place of the label of the `Param`, which may be too long.
    """
    param = param_of(name)

    def choices(spec: Any) -> dict[str, Any]:
        if name == "alpha":
            return alpha_entries(spec.recipe.params[name])
        return {label: value for value, label in spec.recipe.settings[name].choices.items()}

    return Menu(
        label or param.label, width, options or choices, lambda spec: spec.recipe.params[name],
        lambda spec, value: replace(spec, recipes=(spec.recipe.replace(**{name: value}),)),
        lambda spec: has_effect(spec.recipe, name), explain(param.term) if param.term else None,
    )  # fmt: skip


def family_menu(families: Collection[str], *names: str) -> Menu:
    """Return the menu of these families for a page with one recipe. names: parameters that the new recipe keeps."""

    def choose(spec: Any, family: str) -> Any:
        return replace(spec, recipes=(with_family(spec.recipe, family, *names),))

    return Menu("Family", FAMILY_MENU_WIDTH, family_entries(families), lambda spec: spec.recipe.family, choose)


def choice(default: Any, choices: Collection[Any], link: str = "") -> Any:
    """Return a setting with a list of valid values. link: attribute of the link's `State`, "" for the same name."""
    return field(
        default=default,
        metadata={"read": lambda value: value if value in choices else default, "choices": choices, "link": link},
    )


def setting(default: Any, parse: Callable[[Any], Any], link: str = "") -> Any:
    """Return a setting without a list of values. parse: returns a valid value for any value of the link's `State`."""
    return field(default=default, metadata={"read": parse, "link": link})


@dataclass(frozen=True)
class RecipeGrid:
    """Recipes to be compared.

    Attributes:
        label: of the menu.
        description: a line on what the comparison shows.
    """

    label: str
    description: str
    recipes: tuple[Recipe, ...]


def grids_menu(grids: Mapping[str, RecipeGrid]) -> Menu:
    """Return the menu of grids by slug. The spec's `grid` is the current one, `CUSTOM` for other recipes."""

    def options(spec: Any) -> dict[str, str]:
        return {grid.label: slug for slug, grid in grids.items()} | ({"my own": CUSTOM} if spec.grid == CUSTOM else {})

    def choose(spec: Any, slug: str) -> Any:
        return replace(spec, recipes=with_cuts(grids[slug].recipes, spec.cuts)) if slug in grids else spec

    def describe(spec: Any) -> str:
        return grids[spec.grid].description if spec.grid in grids else "The models that you have set"

    return Menu("Models", 208, options, lambda spec: spec.grid, choose, description=describe)


@dataclass(frozen=True)
class StudySpec:
    """The settings of a study.

    Attributes:
        recipes: the distinct recipes to fit; `default_recipes` if () is given.
        cuts: slug of how the default recipes cut numbers into levels.
        noun, icon: of the study in the history.
        study_function: the public function that makes the study, as a static method.
        kind: `Study.kind`, if it is not that function's name.
        splits: repeats and folds of a cross-validation by slug, for specs with a setting `folds`.
        takes_one_recipe: whether `study_function` takes one recipe rather than a list.
        imports, print_code: the beginning and the end of the script; the latter prints results of `study`.
    """

    noun: ClassVar[str]
    icon: ClassVar[str]
    study_function: ClassVar[Callable[..., Any]]
    kind: ClassVar[str] = ""
    default_recipes: ClassVar[tuple[Recipe, ...]]
    splits: ClassVar[Mapping[str, tuple[int, int]]] = FOLDS
    takes_one_recipe: ClassVar[bool] = False
    menus: ClassVar[Mapping[str, Menu]] = {}
    imports: ClassVar[str] = ""
    print_code: ClassVar[str]

    recipes: tuple[Recipe, ...] = field(default=(), metadata={"link": "study_recipes"})
    cuts: str = field(default="", compare=False)

    def __init_subclass__(cls) -> None:
        SPECS[cls.kind or cls.study_function.__name__] = cls

    def __post_init__(self) -> None:
        recipes = dict.fromkeys(self.recipes) or with_cuts(self.default_recipes, self.cuts)
        object.__setattr__(self, "recipes", tuple(recipes))

    # -- settings, menus and links -------------------------------------------------------------------------------------

    @classmethod
    def settings(cls) -> Iterable[tuple[str, Field[Any]]]:
        """Yield (attribute of the link's `State`, field) of every setting."""
        return (
            (setting_field.metadata["link"] or setting_field.name, setting_field)
            for setting_field in fields(cls)
            if setting_field.metadata
        )

    @classmethod
    def usable_recipes(cls, recipes: tuple[Recipe, ...]) -> tuple[Recipe, ...]:
        """Return the recipes of a link that this study supports, adapted to it."""
        return recipes

    @classmethod
    def read(cls, state: State, cuts: str) -> Self:
        """Parse the link; replace unsupported recipes and settings by the page's defaults."""
        value_by_setting = {
            setting_field.name: setting_field.metadata.get("read", cls.usable_recipes)(getattr(state, link))
            for link, setting_field in cls.settings()
        }
        return cls(cuts=cuts, **value_by_setting)

    def link_values(self) -> dict[str, Any]:
        """Return the settings as attributes of the link's `State`; defaults are left out of the link."""
        defaults = type(self)(cuts=self.cuts)
        link_settings = (
            (link, getattr(self, setting_field.name), getattr(defaults, setting_field.name))
            for link, setting_field in self.settings()
        )
        return UNSET_PARAMS | {link: value for link, value, default in link_settings if value != default}

    @property
    def recipe(self) -> Recipe:
        """The first recipe; the only one of a study that takes one."""
        return self.recipes[0]

    @property
    def uncut_recipes(self) -> tuple[Recipe, ...]:
        """The recipes with the default cuts, for comparisons that ignore cuts."""
        return tuple(recipe.replace(**cut_params("")) for recipe in self.recipes)

    def recut(self, slug: str) -> Self:
        """Return the spec with these cuts in every recipe."""
        return replace(self, recipes=with_cuts(self.recipes, slug), cuts=slug)

    def with_choice(self, name: str, value: Any) -> Self:
        """Return the spec after a choice from a menu; `RecipeError` if it is incompatible with other settings."""
        choose = self.menus[name].choose
        return replace(self, **{name: value}) if choose is None else choose(self, value)

    def new_recipe(self, columns: int) -> Recipe:
        """Return the recipe that "+" adds, for a table of so many columns."""
        raise NotImplementedError

    # -- the study and its cost ----------------------------------------------------------------------------------------

    @property
    def split(self) -> tuple[int, int]:
        """Repeats and folds of a cross-validation."""
        return self.splits[vars(self)["folds"]]

    @property
    def holdout(self) -> float:
        """Fraction of the rows that a fit is not trained on: one fold."""
        return 1 / self.split[1]

    def arguments(self, fits: Sequence[RecipeEstimate]) -> dict[str, Any]:
        """Return the arguments of `study_function` other than table, recipes and seed."""
        return dict(zip(("repeats", "folds"), self.split, strict=True))

    def cost(self, dataset: Dataset | None, fits: Sequence[RecipeEstimate]) -> Cost:
        """Return the cost of the study in one process. fits: estimates of the recipes that can be run."""
        return math.prod(self.split) * sum((fit.cost for fit in fits), Cost())

    def estimate(self, dataset: Dataset, seed: int, stop: StopToken) -> tuple[RecipeEstimate, ...]:
        """Estimate a fit of every recipe."""
        return estimate_recipes(dataset, self.recipes, self.holdout, stop)

    def runnable(self, fits: Sequence[RecipeEstimate]) -> tuple[Recipe, ...]:
        """Return the recipes that can be run."""
        return tuple(recipe for recipe, fit in zip(self.recipes, fits, strict=True) if not fit.refusal)

    def max_processes(self, recipes: tuple[Recipe, ...]) -> int:
        """Return the number of processes that can work in parallel."""
        return _UNLIMITED

    def estimate_job(
        self, dataset: Dataset, session: Session
    ) -> Callable[[StopToken, Callable[[str], None]], PlannedStudy]:
        """Return a job for a thread that estimates the study and looks up its stored tasks; it reports its activity."""
        seed, plan = session.seed, self.planning_job(session)

        def work(stop: StopToken, tell: Callable[[str], None]) -> PlannedStudy:
            tell("estimating the cost")
            fits = self.estimate(dataset, seed, stop)
            total_cost = self.cost(dataset, [fit for fit in fits if not fit.refusal])
            remarks = remarks_of(dataset, [fit.note for fit in fits])
            planned = PlannedStudy(fits, total_cost, recipes=self.runnable(fits), remarks=remarks)
            return plan(planned, dataset, stop, tell)

        return work

    def planning_job(self, session: Session) -> Callable[..., Any]:
        """Return a function that adds the study, not started, with its stored tasks to the estimate."""
        seed, owner, max_jobs = session.seed, session.owner, session.registry.limits.threads or _UNLIMITED

        def work(planned: Any, table: Any, stop: StopToken, tell: Callable[[str], None]) -> Any:
            if not planned.recipes:
                return planned
            stop.check()
            tell("looking for stored results")
            n_jobs = min(choose_n_jobs(planned.cost.seconds, max_jobs), self.max_processes(planned.recipes))
            study = self.study_function(
                table, planned.recipes[0] if self.takes_one_recipe else list(planned.recipes), seed=seed, n_jobs=n_jobs,
                owner=owner, keep=store_or_error(), **self.arguments(planned.fits),
            )  # fmt: skip
            planned.inform(study)
            study.recall()
            study.summary()  # decodes the stored tasks on this thread, so that the page need not
            return replace(planned, study=study, n_jobs=n_jobs)

        return work

    # -- the script ----------------------------------------------------------------------------------------------------

    def table_code(self, session: Session, planned: Any) -> tuple[str, str]:
        """Return code that loads the table, and the name of its variable."""
        return dataset_code(session), "dataset"

    def script(self, session: Session, planned: Any, version: str, print_code: str) -> str:
        """Return the script of "copy as Python"; it computes the numbers on the screen, except for seconds."""
        table_lines, table = self.table_code(session, planned)
        recipe_lines = "".join(f"    {recipe_code(recipe)},\n" for recipe in planned.recipes)
        recipes_code = f"recipes = [\n{recipe_lines}]"
        if self.takes_one_recipe:
            recipes_code = f"recipe = {recipe_lines.strip().removesuffix(',')}"
        arguments_code = "".join(f"{name}={value!r}, " for name, value in self.arguments(planned.fits).items())
        return f"""# alrviz {version}
import alrviz
{self.imports}
{table_lines}
{recipes_code}
study = alrviz.{self.study_function.__name__}(
    {table}, {"recipe" if self.takes_one_recipe else "recipes"},
    {arguments_code}seed={session.seed},
)  # n_jobs=1 computes in this process, keep=True keeps every fit as it finishes
{print_code}"""
