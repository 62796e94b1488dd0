"""The page "Compare": several recipes on several tables, cross-validated on the same folds.

The tab "Results" shows figures of a file in the same way; the tab "History" lists the visitor's runs of all pages.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from alrviz.data.dataset import Dataset
from alrviz.data.demos import demo_names
from alrviz.explorer.pages.compare.history_tab import HistoryTab
from alrviz.explorer.pages.compare.results_tab import ResultsTab
from alrviz.explorer.pages.compare.table_sets import NamedTable, OwnTables, TableSets, open_all, opener
from alrviz.explorer.recipes.recipe_fields import STUDY_CHOICES
from alrviz.explorer.server.tables import FileLink
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import MAX_SETS, State
from alrviz.explorer.shell.glossary import term_html
from alrviz.explorer.shell.theme import room
from alrviz.explorer.widgets.scripts import table_code
from alrviz.explorer.widgets.study_estimate import PlannedStudy, estimate_recipes, remarks_of
from alrviz.explorer.widgets.study_page import StudyMenus, StudyPage, StudyTabs
from alrviz.explorer.widgets.study_spec import FOLD_NAMES, FOLDS, Menu, StudySpec, choice
from alrviz.explorer.widgets.table_settings import with_cuts
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.formatting import bytes_text, count_text, seconds_text
from alrviz.stop import StopToken
from alrviz.studies.core.cost import RecipeEstimate
from alrviz.studies.core.names import short_names
from alrviz.studies.core.study import Study
from alrviz.studies.protocols.compare import COMPARED, compare
from alrviz.views.core.style import html_table, safe
from alrviz.views.studies.compare import CompareView

FIRST_SETS = TableSets(("monks-1", "monks-3", "tic-tac-toe", "balance-scale", "iris", "wine"))


NO_DATA_SETS = "<span class='quiet'>Choose at least one data set.</span>"


@dataclass(frozen=True)
class PlannedComparison(PlannedStudy):
    """The estimate of a comparison; `fits` has the estimates of all tables, one table after the other.

    Attributes:
        names: of the chosen recipes.
        tables: those that could be opened.
        unopened_tables: (name, reason) of the others.
    """

    names: tuple[str, ...] = ()
    tables: tuple[NamedTable, ...] = ()
    unopened_tables: tuple[tuple[str, str], ...] = ()

    @property
    def estimates_by_table(self) -> list[Sequence[RecipeEstimate]]:
        """The estimates, a list per table."""
        return split_by_table(self.fits, len(self.names))

    def inform(self, study: Study) -> None:
        """Tell a study of these recipes how long their fits are expected to take on each table."""
        for table, fits in zip(self.tables, self.estimates_by_table, strict=True):
            study.expect([fit.cost.seconds for fit in fits if fit.recipe in self.recipes], table.dataset.hash)

    @property
    def refusals(self) -> list[str]:
        """Tables that could not be opened, and recipes that every table refuses, with the first reason."""
        reasons = [f"{name}: {reason}" for name, reason in self.unopened_tables]
        refused_everywhere = [
            fits for fits in zip(*self.estimates_by_table, strict=True) if all(fit.refusal for fit in fits)
        ]
        return [*reasons, *(f"{fits[0].name}: {fits[0].refusal}" for fits in refused_everywhere)]


def split_by_table(fits: Sequence[RecipeEstimate], recipes: int) -> list[Sequence[RecipeEstimate]]:
    """Split the estimates by table, each of so many recipes."""
    return [fits[first_fit : first_fit + recipes] for first_fit in range(0, len(fits), recipes)]


@dataclass(frozen=True)
class CompareSpec(StudySpec):
    """Recipes on data sets. A recipe that every table refuses is left out; on a table that refuses it its fits fail."""

    noun, icon, study_function = "comparison", "compare_arrows", staticmethod(compare)
    # alpha by inner folds, as on "Which order?", so that the two pages agree.
    default_recipes = (
        Recipe("anje", order=1), Recipe("lr", order=1, alpha="cv"), Recipe("lr", order=2, alpha="cv"), Recipe("tan"),
        Recipe("hgb"),
    )  # fmt: skip
    menus: ClassVar[Mapping[str, Menu]] = {"folds": Menu("Cross-validation", 144, FOLD_NAMES)}
    imports = "from alrviz.studies.protocols.compare import pairs, ranks, table\n"
    print_code = """for row in study.rows():
    if row["outcome"] == "failed":
        print(row["data"], row["name"], row["repeat"], row["fold"], row["sentence"])
print(table(study, "log_loss"))
print(pairs(study, "log_loss"))
print(ranks(study, "log_loss"))
"""

    folds: str = choice("5x2", FOLDS)
    sets: TableSets = FIRST_SETS

    def link_values(self) -> dict[str, Any]:
        """Return the settings as attributes of the link's `State`; the default data sets are left out."""
        if self.sets == FIRST_SETS:
            return super().link_values()
        return super().link_values() | {"sets": self.sets.demos, "files": tuple(self.sets.links)}

    def runnable(self, fits: Sequence[RecipeEstimate]) -> tuple[Recipe, ...]:
        """Return the recipes that at least one table accepts."""
        tables = split_by_table(fits, len(self.recipes))
        return tuple(recipe for k, recipe in enumerate(self.recipes) if any(not fits[k].refusal for fits in tables))

    def new_recipe(self, columns: int) -> Recipe:
        """Return an order of alr that is not chosen yet, else AnDE."""
        candidates = with_cuts([Recipe("alr", order=order, alpha="cv") for order in (2, 1, 3)], self.cuts)
        return next((recipe for recipe in candidates if recipe not in self.recipes), Recipe("ande"))

    def estimate_job(
        self, dataset: Dataset | None, session: Session
    ) -> Callable[[StopToken, Callable[[str], None]], PlannedComparison]:
        """Return a job for a thread that opens the tables, estimates every recipe on each and looks up stored tasks."""
        seed, open_own, plan = session.seed, opener(session), self.planning_job(session)

        def work(stop: StopToken, tell: Callable[[str], None]) -> PlannedComparison:
            tables, unopened_tables = open_all(self.sets, seed, open_own, stop, tell)
            fits: list[RecipeEstimate] = []
            remarks: list[str] = []
            for table in tables:
                tell(f"estimating the cost on {table.dataset.name}")
                table_fits = estimate_recipes(table.dataset, self.recipes, self.holdout, stop)
                fits += table_fits
                table_remarks = () if table.source.demo else remarks_of(table.dataset, [fit.note for fit in table_fits])
                remarks += [f"{table.dataset.name}: {remark}" for remark in table_remarks]
            total_cost = self.cost(None, [fit for fit in fits if not fit.refusal])
            planned = PlannedComparison(
                tuple(fits), total_cost, recipes=self.runnable(fits), remarks=tuple(remarks),
                names=tuple(short_names(self.recipes)), tables=tables, unopened_tables=unopened_tables,
            )  # fmt: skip
            planned_study: PlannedComparison = plan(planned, [table.dataset for table in tables], stop, tell)
            return planned_study

        return work

    def table_code(self, session: Session, planned: PlannedComparison) -> tuple[str, str]:
        """Return code that loads the tables, and the name of its list."""
        return tables_code(planned.tables, session.seed, session.table.served_from), "tables"


class CompareMenus(StudyMenus):
    """The menus of a comparison: several data sets in place of the session's table.

    Args:
        own_tables: the visitor's tables.
        session, on_choice, on_cuts: as for `StudyMenus`.
    """

    def __init__(
        self,
        own_tables: OwnTables,
        session: Session,
        on_choice: Callable[[str, Any], None],
        on_cuts: Callable[[str], None],
    ):
        super().__init__(session, CompareSpec, on_choice, on_cuts)
        self._own_tables = own_tables
        self._menus["sets"] = pmui.MultiChoice(
            label="Data sets", options={}, max_items=MAX_SETS, margin=(0, 8, 0, 0),
            sizing_mode="stretch_width", solid=False, css_classes=["alrviz-line"],
            description="Data sets: demo sets, and tables that you have dropped",
        )  # fmt: skip
        self["sets"].param.watch(lambda event: self.report_choice("sets", event.new), "value")

    @property
    def parts(self) -> list[Viewable]:
        """The menus in their order."""
        return [self["sets"], self["folds"], self["cuts"]]

    def row(self, *trailing: Viewable) -> Viewable:
        """Return the page's first row."""
        return pn.Row(*self.parts, *trailing, margin=0)

    def show(self, spec: Any) -> None:
        """Show the current settings."""
        super().show(spec)
        self["cuts"].visible = True  # `super().show` hides it if the session's table has no numbers
        options: dict[str, str | FileLink] = {**self._own_tables.options(), **{name: name for name in demo_names()}}
        with self._setting:
            sets = spec.sets
            self["sets"].param.update(options=options, value=[*sets.demos, *sets.links])


def _cost_html(planned: PlannedComparison) -> str:
    """Return the table of costs: a row per data set, a column per recipe."""
    if not planned.tables:
        return NO_DATA_SETS
    rows = []
    for table, fits in zip(planned.tables, planned.estimates_by_table, strict=True):
        dataset = table.dataset
        shape_text = f"{dataset.n_rows:,} rows, {dataset.X.shape[1]} columns, {dataset.n_classes} classes"
        rows.append([f"<abbr title='{shape_text}'>{safe(dataset.name, 60)}</abbr>", *map(_cost_text, fits)])
    for name, reason in planned.unopened_tables:
        reason_html = f"<span class='bad'>left out</span>: {safe(reason, 400)}"
        rows.append(
            [safe(name, 60), f"<td colspan='{len(planned.names)}' style='white-space:normal'>{reason_html}</td>"]
        )
    corner_heading = f"parameters · memory · one fit, about {term_html('pass', 'passes')} included"
    return html_table([corner_heading, *(safe(name, 40) for name in planned.names)], rows)


def _cost_text(fit: RecipeEstimate) -> str:
    """Return the cell of a recipe's parameters, memory and time on one data set."""
    if fit.refusal:
        return f"<abbr class='bad' title='{safe(fit.refusal, 400)}'>refused</abbr>"
    count_html = count_text(fit.cost.parameters) if fit.cost.parameters else "&ndash;"
    return f"{count_html} · {bytes_text(fit.cost.bytes)} · {seconds_text(fit.cost.seconds)}"


class CompareTab(StudyPage):
    """The tab of the comparison."""

    slug, spec_class, view_class, choosable = "comparison", CompareSpec, CompareView, STUDY_CHOICES
    has_evaluation, cost_html = True, staticmethod(_cost_html)
    view_params: ClassVar[Mapping[str, Any]] = {"height": f"min(560px, {room(330, 290, 82)})"}
    linked_params, packed_params = ("measure",), ("across", "up")
    valid_values: ClassVar[Mapping[str, Collection[str]]] = {"measure": COMPARED}

    def read(self, state: State) -> StudySpec:
        """Parse the link."""
        self.own_tables = OwnTables(self.session, state.files)
        spec = CompareSpec.read(state, self.session.cuts)
        return (
            replace(spec, sets=TableSets(state.sets, self.own_tables.with_choices(state.files)))
            if state.sets or state.files
            else spec
        )

    def make_menus(self) -> StudyMenus:
        """Return the menus."""
        return CompareMenus(self.own_tables, self.session, self.choose, self.choose_cuts)

    def choose(self, name: str, value: Any) -> None:
        """Apply a choice from a menu."""
        if name == "sets":
            demos = tuple(table for table in value if isinstance(table, str))
            value = TableSets(
                demos, self.own_tables.with_choices([table for table in value if isinstance(table, FileLink)])
            )
            self.change(replace(self.spec, sets=value))
        else:
            super().choose(name, value)

    def request_estimate(self) -> None:
        """Add a newly dropped table to the data sets; then estimate the current settings."""
        if self.session.page != self._page:
            return  # the session's link is another page's
        new_link = self.own_tables.add_current()
        sets = self.spec.sets
        links = sets.links
        if new_link is not None or self.own_tables.with_choices(links) != sets.own_tables:
            # A dropped table replaces the default sets, which nobody chose.
            demos = () if new_link is not None and sets == FIRST_SETS else sets.demos
            own_tables = self.own_tables.with_choices(links if new_link is None else [*links, new_link])
            self.change(replace(self.spec, sets=TableSets(demos, own_tables)))
        else:
            super().request_estimate()

    def estimate(self, dataset: Dataset | None) -> None:
        """Estimate the study; the session's table matters only if it is one of the data sets."""
        session = self.session
        uses_session_table = session.table.source.file in self.spec.sets.links
        table_hash = dataset.hash if uses_session_table and dataset is not None else ""
        self.runner.estimate((self.spec, session.seed, table_hash), self.spec.estimate_job(None, session))


class ComparePage(StudyTabs):
    """The page with its three tabs."""

    title, icon, group, slug = "Compare", "compare_arrows", "Evaluate", "compare"
    tabs: ClassVar[Mapping[str, str]] = {
        "Comparison": CompareTab.slug, "Results": ResultsTab.slug, "History": HistoryTab.slug,
    }  # fmt: skip
    parts = (CompareTab, ResultsTab, HistoryTab)


def tables_code(tables: tuple[NamedTable, ...], seed: int, served_from: str) -> str:
    """Return code that loads a list of tables. served_from: path of the table the server was started with."""
    code = "tables = []\n"
    for table in tables:
        dataset, demo = table.dataset, table.source.demo
        table_lines = table_code(dataset, table.source, seed, served_from)
        if dataset.name != (demo[0] if demo else dataset.table.name):  # another table has the same name
            table_lines += f"\ndataset = dataclasses.replace(dataset, name={dataset.name!r})"
            code = code if code.startswith("import") else f"import dataclasses\n\n{code}"
        code += f"{table_lines}\ntables.append(dataset)\n"
    return code
