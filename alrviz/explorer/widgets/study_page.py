"""The page of a study, built from its specification: menus, cost, result, link, "copy as Python".

A page derives from `StudyPage` and names its specification (`spec_class`) and its view (`view_class`). `StudyRunner`
has the state of the study, `StudyLayout` the widgets. Several such pages may be the tabs of one page (`StudyTabs`).
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import panel as pn
from panel.viewable import Viewable

from alrviz import __version__
from alrviz.data.dataset import Dataset
from alrviz.errors import RecipeError, capitalize
from alrviz.explorer.page import Page
from alrviz.explorer.recipes.recipe_fields import Choosable
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import State
from alrviz.explorer.shell.dialogs import script_dialog, text_button
from alrviz.explorer.shell.glossary import about_html
from alrviz.explorer.shell.theme import CARD, button, html
from alrviz.explorer.widgets.evaluation_part import EvaluationPart, fold_evaluations
from alrviz.explorer.widgets.menus import data_menu, sample_or_all_menu, select, show_data, show_rows
from alrviz.explorer.widgets.recipe_chooser import RecipeChooser, own_looks
from alrviz.explorer.widgets.study_estimate import costs_html, costs_line
from alrviz.explorer.widgets.study_runner import NO_TABLE, DraggedValue, StudyRunner, StudyState
from alrviz.explorer.widgets.study_spec import StudySpec
from alrviz.explorer.widgets.tabbed_page import TabbedPage
from alrviz.explorer.widgets.table_settings import cuts_menu, cuts_of, show_cuts, show_split, split_menu, with_cuts
from alrviz.fitting.recipe import Recipe
from alrviz.views.core.collapsible import Collapsible
from alrviz.views.core.live_figure import NumberAxes
from alrviz.views.core.panes import Updating, say
from alrviz.views.core.style import safe
from alrviz.views.studies.study_view import StudyView

PYTHON = "Python: copy a script that computes the numbers of this study"
OPEN_LABEL = "Open in Convergence"


class StudyMenus:
    """The menus of a study by name: `parts` are in the page's first row, `folded` below the picture.

    Args:
        session: its tables are offered.
        spec: the class of the study's settings.
        on_choice: called with a menu's name and the value chosen.
        on_cuts: called with the slug of the cuts chosen.
        fits_streams: whether all rows of a table larger than memory may be fitted, rather than its sample.
    """

    def __init__(
        self,
        session: Session,
        spec: type[StudySpec],
        on_choice: Callable[[str, Any], None],
        on_cuts: Callable[[str], None],
        fits_streams: bool = False,
    ):
        self._session, self._definitions, self._on_choice, self._setting = session, spec.menus, on_choice, Updating()
        self._menus = {name: select(definition.label, {}, definition.width) for name, definition in spec.menus.items()}
        for name, menu in self._menus.items():
            menu.param.watch(lambda event, name=name: self.report_choice(name, event.new), "value")
        self._menus |= {"data": data_menu(session), "cuts": cuts_menu(on_cuts), "split": split_menu(session)}
        self._rows = sample_or_all_menu(session) if fits_streams else None

    def __getitem__(self, name: str) -> Viewable:
        return self._menus[name]

    @property
    def parts(self) -> list[Viewable]:
        """The menus of the first row in their order."""
        rows = [] if self._rows is None else [self._rows]
        study_menus = (self[name] for name, definition in self._definitions.items() if not definition.folded)
        return [self["data"], *rows, *study_menus, self["cuts"], self["split"]]

    @property
    def folded(self) -> list[Viewable]:
        """The menus of rarely used settings."""
        return [self[name] for name, definition in self._definitions.items() if definition.folded]

    def row(self, *trailing: Viewable) -> Viewable:
        """Return the page's first row."""
        # Row gap: a menu's label sticks out above it.
        return pn.FlexBox(*self.parts, *trailing, align_items="center", gap="10px 0", margin=0)

    def report_choice(self, name: str, value: Any) -> None:
        """Call `on_choice`, unless the menu changed because it was updated."""
        if not self._setting and value is not None:
            self._on_choice(name, value)

    def show(self, spec: StudySpec) -> None:
        """Show the current settings; menus without an effect are hidden."""
        show_data(self["data"], self._session)
        if self._rows is not None:
            show_rows(self._rows, self._session)
        show_cuts(self["cuts"], self._session, cuts_of(spec.recipes))
        show_split(self["split"], self._session)
        with self._setting:
            for name, definition in self._definitions.items():
                self[name].visible = definition.is_visible(spec)
                if self[name].visible:
                    value, options, help_text = definition.value, definition.options, definition.description
                    self[name].param.update(
                        options=dict(options(spec) if callable(options) else options),
                        value=getattr(spec, name) if value is None else value(spec),
                        description=help_text(spec) if callable(help_text) else help_text,
                    )


class StudyLayout:
    """The page's widgets: the row of menus (`first`) and everything below it (`body`)."""

    def __init__(self, page: "StudyPage"):
        view = page.study_view
        self.time, self.note, self.cost_table = html(), html(), html((8, 0, 0, 0))
        self.time.param.update(sizing_mode=None, align="center", margin=(0, 0, 0, 8))
        self.note.visible = False
        self.dialog = script_dialog()
        python = text_button("Python", "code", PYTHON, lambda: self.dialog.show(page.script()))
        self.open_button = button(
            OPEN_LABEL, page.open_recommendation, icon="show_chart", variant="contained", margin=(0, 8, 0, 0),
            visible=False,
        )  # fmt: skip
        bar = view.bar.panel  # too narrow for both
        bar.insert(2, self.open_button) if page.offers_race else bar.append(page.runner.keep)
        # Beside Run, as the menus fill their row; a page with recipe chips has more room beside these.
        self._beside_run = page.chooser is None
        if self._beside_run:
            bar.append(self.time)
        trailing = pn.Row(*([] if self._beside_run else [self.time]), python, margin=0, styles={"margin-left": "auto"})
        row_params: dict[str, object] = {
            "align_items": "center", "margin": (0, 0, 8, 0), "sizing_mode": "stretch_width", "gap": "4px 8px",
        }  # fmt: skip
        chooser_rows, folded_parts = [], []
        if page.chooser is None:
            self.first = page.menus.row(trailing)
        else:
            self.first = page.menus.row()
            chooser_rows = [pn.FlexBox(page.chooser.panel, trailing, css_classes=["alrviz-part-racers"], **row_params)]
        styles = CARD | {"min-height": page.min_height}
        self.card = pn.Column(view, styles=styles, sizing_mode="stretch_width", margin=0)
        if view.aside is not None:
            view.aside[:] = [self.cost_table]
        else:
            folded_parts = [Collapsible("Estimated cost", self.cost_table)]
        if page.menus.folded:
            folded_parts.append(Collapsible("More settings", pn.Row(*page.menus.folded, margin=(10, 0))))
        self.evaluation = EvaluationPart(page.session, page.tasks)
        self.body = pn.Column(
            *chooser_rows, self.note, self.card, self.evaluation.part, *folded_parts,
            Collapsible("About this plot", html(text=about_html(page.slug))),
            self.dialog.place, sizing_mode="stretch_width", margin=0,
        )  # fmt: skip

    def show_costs(self, time_html: str, table_html: str, timed: bool) -> None:
        """Show the cost of the study. timed: whether the progress bar shows the remaining time."""
        # Above the picture a hidden line still takes its space: if the row wrapped differently, the picture would move.
        hidden_html = "" if self._beside_run else f"<span style='visibility:hidden'>{time_html}</span>"
        say(self.time, hidden_html if timed else time_html)
        say(self.cost_table, table_html)

    def show_remarks(self, remarks: list[str]) -> None:
        """Show remarks on the table above the picture; they are HTML."""
        self.note.param.update(object=f"<p class='quiet'>{' '.join(remarks)}</p>", visible=bool(remarks))

    def offer_recommendation(self, label: str) -> None:
        """Show the button that opens the recommended models in Convergence; hide it if `label` is ""."""
        # An accessible description begins with the visible label.
        self.open_button.param.update(visible=bool(label), description=f"{OPEN_LABEL}: race {label}")


@dataclass(frozen=True)
class Recommendation:
    """The models that a study recommends.

    Attributes:
        label: the recommendation in a few words, such as "n = 2"; "" if there is nothing to race.
        racers: returns the recipes to race.
        best: name of the recipe whose evaluation is shown first; None for the first.
    """

    label: str
    racers: Callable[[], tuple[Recipe, ...]]
    best: str | None = None


class StudyPage(Page):
    """Base class of pages and tabs that show a study.

    Attributes:
        view_params: parameters of the view.
        min_height: of the card, so that what is below it does not jump when the cost arrives.
        linked_params: the view's parameters that have a link property of their own.
        packed_params: the view's parameters that share the link property "view".
        dragged_param: a linked parameter that is dragged; it is written into the link when it rests.
        valid_values: values of the linked parameters that a link may contain.
        choosable: families and values of the recipe chips; None for a page without chips.
        chip_looks: colour and marker of each chip, as `RecipeChooser` takes it.
        fits_streams: whether the page can fit all rows of a table larger than memory.
        has_evaluation: whether the recipes can be evaluated on the rows that the folds leave out.
        offers_race: whether "Open in Convergence" races what the study recommends.
        cost_text, cost_html: functions of the planned study that return HTML: the line of its cost beside Run or the
            recipes, and the table of costs.
        autorun_seconds: a study that opens with the page's defaults starts if it is estimated to take no longer.
        spec: the current settings.
        runner: estimates and runs the study.
    """

    spec_class: ClassVar[type[StudySpec]]
    view_class: ClassVar[Callable[..., StudyView]]
    view_params: ClassVar[Mapping[str, Any]] = {}
    min_height: ClassVar[str] = "0px"
    linked_params: ClassVar[tuple[str, ...]] = ()
    packed_params: ClassVar[tuple[str, ...]] = ()
    dragged_param: ClassVar[str] = ""
    valid_values: ClassVar[Mapping[str, Collection[str]]] = {}
    choosable: ClassVar[Choosable | None] = None
    chip_looks = staticmethod(own_looks)
    fits_streams: ClassVar[bool] = False
    has_evaluation: ClassVar[bool] = False
    offers_race: ClassVar[bool] = False
    cost_text: Callable[[Any], str] = staticmethod(costs_line)
    cost_html: Callable[[Any], str] = staticmethod(costs_html)
    autorun_seconds: ClassVar[float] = 0.0

    study_view: Any

    def __init__(self, session: Session, tabs: "StudyTabs | None" = None):
        super().__init__(session)
        self._tabs = tabs
        self._page = self.slug if tabs is None else tabs.slug
        self._link_state = session.link.state_if_shown(self._page) if tabs is None else tabs.link_state(self.slug)
        self.spec: Any = self.read(self._link_state)
        is_requested = bool(self._link_state.study_recipes or session.lesson)
        autorun_seconds = None if is_requested else self.autorun_seconds
        self.runner = StudyRunner(session, self.tasks, self.update, self.show_progress, autorun_seconds)

    @classmethod
    def choices(cls) -> dict[str, Collection[str]]:
        """Return the valid values of this page's link properties, for those with a list of choices."""
        settings = {param: setting.metadata for param, setting in cls.spec_class.settings()}
        choices = {param: metadata["choices"] for param, metadata in settings.items() if "choices" in metadata}
        return choices | dict(cls.valid_values)

    def read(self, state: State) -> StudySpec:
        """Return the study's settings that a link's state asks for; unsupported ones become the page's defaults."""
        return self.spec_class.read(state, self.session.cuts)

    # -- building ------------------------------------------------------------------------------------------------------

    def view(self) -> Viewable:
        """Build the page."""
        menu_row, body = self.build()
        menu_row.param.update(margin=(0, 0, 8, 0), sizing_mode="stretch_width", css_classes=["alrviz-part-controls"])
        self.follow()
        return pn.Column(menu_row, body, sizing_mode="stretch_width", margin=0)

    def build(self) -> tuple[Viewable, Viewable]:
        """Build the widgets; return the row of menus and everything below it."""
        session, dragged_params = self.session, [self.dragged_param] if self.dragged_param else []
        values = {name: getattr(self._link_state, name) for name in (*self.linked_params, *dragged_params)}
        values = {name: value for name, value in values.items() if value != getattr(State(), name)}
        values = {name: value for name, value in values.items() if value in self.valid_values.get(name, (value,))}
        self.study_view = self.runner.view = view = type(self).view_class(
            rerun=self.runner.start, wake=session.wake, dark=session.dark, ready=False, **self.view_params, **values
        )
        self._write_view = session.link.connect(
            self._page, view, self.packed_params, self.linked_params, self._link_state
        )
        self.drag = DraggedValue(session, view, self.dragged_param) if self.dragged_param else None
        if self.drag is not None:
            view.param.watch(self.drag.move, self.dragged_param)
            view.param.watch(lambda *_: self.update(), [*self.linked_params, self.dragged_param])
        self.menus = self.make_menus()
        self.chooser: RecipeChooser | None = None

        def new_recipe() -> Recipe:
            columns = 1 if session.table.dataset is None else session.table.dataset.X.shape[1]
            return with_cuts((self.spec.new_recipe(columns),), session.cuts)[0]

        if self.choosable is not None:
            self.chooser = RecipeChooser(
                session, lambda: self.spec.recipes, lambda recipes: self.change(replace(self.spec, recipes=recipes)),
                new_recipe, self.choosable, looks=self.chip_looks,
                place=(lambda panel: None) if self._tabs is None else self._tabs.place,
            )  # fmt: skip
        self.layout = StudyLayout(self)
        return self.layout.first, self.layout.body

    def make_menus(self) -> StudyMenus:
        """Return the menus."""
        return StudyMenus(self.session, self.spec_class, self.choose, self.choose_cuts, self.fits_streams)

    def drawer(self) -> Viewable | None:
        """Return the settings of a recipe; None for a page without recipe chips."""
        return None if self.chooser is None else self.chooser.settings.panel

    # -- settings ------------------------------------------------------------------------------------------------------

    def choose(self, name: str, value: Any) -> None:
        """Apply a choice from a menu; report it if it is incompatible with the other settings."""
        try:
            spec = self.spec.with_choice(name, value)
        except RecipeError as error:
            self.tasks.show_error("study", error)
            self.menus.show(self.spec)
        else:
            self.change(spec)

    def choose_cuts(self, slug: str) -> None:
        """Set how numbers are cut, on every page."""
        if self.session.cuts == slug:  # the recipes had different cuts
            self.change(self.spec.recut(slug))
        else:
            self.session.cuts = slug

    def change(self, spec: StudySpec) -> None:
        """Apply new settings, and write them into the link."""
        self.spec = spec
        self.write()
        self.request_estimate()

    def write(self) -> None:
        """Write the settings and the view into the link."""
        # A tab without a measure clears the measure of the tab that was in front before.
        measure = {} if "measure" in self.linked_params else {"measure": ""}
        self.session.param.update(self.spec.link_values() | measure)
        self._write_view()

    # -- the estimate --------------------------------------------------------------------------------------------------

    @property
    def is_front(self) -> bool:
        """Whether the page, or its tab, is in front."""
        return self.session.page == self._page and (self._tabs is None or self._tabs.front_slug == self.slug)

    def follow(self) -> None:
        """Subscribe to the session; called once, after `build`."""

        def turn_dark(_: object) -> None:
            self.study_view.dark = self.session.dark
            if self.chooser is not None:
                self.chooser.show()

        self.session.subscribe(turn_dark, "dark")
        self.session.subscribe(lambda *_: self.request_estimate(), ["dataset", "loading", "cuts", "race_rows"])
        self.session.subscribe(lambda _: self.runner.show_again(), "asking")
        self.request_estimate()

    def request_estimate(self) -> None:
        """Estimate the study of the current settings if the page is in front."""
        session = self.session
        is_visible = self.is_front and session.table.loading is None
        # Before the menus are updated: a menu that changes twice while its event is handled stays wrong in the browser.
        if is_visible and session.cuts != self.spec.cuts:  # changed here or on another page
            self.change(self.spec.recut(session.cuts))
            return
        self.menus.show(self.spec)
        if self.chooser is not None:
            self.chooser.show()
        if is_visible:
            self.estimate(session.table.dataset)
        elif self.is_front:
            self.runner.wait_for_table()

    def estimate(self, dataset: Dataset | None) -> None:
        """Estimate the study of the current settings on the session's table."""
        if dataset is None:
            self.show_progress("")
            self.layout.show_remarks([])
            self.study_view.outdated = self.study_view.study is not None
            self.runner.reset(NO_TABLE)
            self.update()
        else:
            settings = (dataset.hash, self.spec, self.session.seed)
            self.runner.estimate(settings, self.spec.estimate_job(dataset, self.session))

    def show_progress(self, activity: str) -> None:
        """Show the activity of the estimate; "" (it failed, or there is no table) clears the costs."""
        say(self.layout.time, activity)
        if not activity:
            say(self.layout.cost_table, "")

    def update(self) -> None:
        """Show costs, remarks and the recommendation after the estimate or the study has changed."""
        costs, layout, runner = self.runner.costs, self.layout, self.runner
        study = runner.current
        verdict = None if study is None else getattr(self.study_view, "verdict", None)
        if costs is not None:
            timed = study is not None and study.progress.seconds_left is not None
            layout.show_costs(self.cost_text(costs), self.cost_html(costs), timed)
            remarks = [f"{safe(capitalize(remark), 600)}." for remark in costs.remarks]
            if self.session.table.stream is not None:
                remarks.insert(0, safe(self.session.table.sample_note, 600))
            # A verdict with notes already contains the remarks.
            layout.show_remarks([] if verdict is not None and verdict.notes else remarks)
        recommendation = None if self.study_view.outdated else self.recommendation()
        layout.offer_recommendation("" if recommendation is None else recommendation.label)
        if self.has_evaluation:
            is_complete = study is not None and runner.state in (StudyState.READY, StudyState.DONE)
            best_model = None if recommendation is None else recommendation.best
            layout.evaluation.offer((study, is_complete), fold_evaluations(study) if is_complete else {}, best_model)

    # -- the result ----------------------------------------------------------------------------------------------------

    def recommendation(self) -> Recommendation | None:
        """Return the models that the study shown recommends; None before it does."""
        return None

    def result(self) -> Any:
        """Return the study of the current settings when it is complete, else None."""
        return self.runner.current if self.runner.state is StudyState.DONE else None

    def axes(self) -> NumberAxes | None:
        """Return the picture of the study, if its axes are numbers."""
        axes: NumberAxes | None = self.study_view.axes
        return axes

    def open_recommendation(self) -> None:
        """Open the page Convergence and race the recommended models."""
        recommendation = self.recommendation()
        if recommendation is not None and (racers := recommendation.racers()):
            self.session.go("convergence", race=True, recipes=racers)

    def script(self) -> str:
        """Return the script of "copy as Python"; "" before the study is known."""
        costs = self.runner.costs
        return "" if costs is None else self.spec.script(self.session, costs, __version__, self.spec_class.print_code)

    def pump(self) -> bool:
        """Take over what threads have finished; return whether there may be more."""
        base_busy = super().pump()
        dragging = self.is_front and self.drag is not None and self.drag.write()
        return self.runner.pump() or base_busy or dragging

    def on_shown(self) -> None:
        """Catch up with changes made while another page was in front."""
        self.request_estimate()


class StudyTabs(TabbedPage):
    """A page whose tabs are studies, or other tabs with a method `build`.

    The link has the settings of the front tab. While a tab without a study is in front, it keeps those of the first.
    """

    parts: ClassVar[tuple[Any, ...]]  # the tabs' classes, in the order of `tabs`

    def __init__(self, session: Session):
        super().__init__(session)
        linked = issubclass(self._tab_class(self.front_slug), StudyPage)
        self._linked = self.front_slug if linked else next(iter(self.tabs.values()))  # the tab whose settings it has
        self._link_state = session.link.state_if_shown(self.slug)

    @classmethod
    def _tab_class(cls, slug: str) -> Any:
        return next(tab_class for tab_class in cls.parts if tab_class.slug == slug)

    @classmethod
    def choices(cls) -> dict[str, Collection[str]]:
        """Return the valid values of link properties, for those that every tab restricts to a list of choices."""
        pages = [page for page in cls.parts if issubclass(page, StudyPage)]
        values_by_param = {name: values for page in pages for name, values in page.choices().items()}
        page_params = ((page, param) for page in pages for param, _ in page.spec_class.settings())
        unrestricted_params = {param for page, param in page_params if param not in page.choices()}
        return {"tab": cls.tabs.values()} | {
            name: values for name, values in values_by_param.items() if name not in unrestricted_params
        }

    def link_state(self, slug: str) -> State:
        """Return the link's settings for a tab."""
        return self._link_state if slug == self._linked else State()

    def build_tab(self, slug: str) -> tuple[Any, Viewable, Viewable]:
        """Return a tab, its part beside the menu of tabs, and its part below."""
        tab_class = self._tab_class(slug)
        is_study = issubclass(tab_class, StudyPage)
        tab = tab_class(self.session, self) if is_study else tab_class(self.session)
        menu_row, body = tab.build()
        menu_row.param.update(styles={"flex": "1 1 0"}, css_classes=["alrviz-line"])
        if is_study:
            tab.follow()
        return tab, menu_row, body

    def on_tab_shown(self) -> None:
        """Write the front tab into the link, and let it catch up."""
        if isinstance(self.tab, StudyPage):
            self.tab.write()
        self.tab.on_shown()
        self.session.wake()  # results may have arrived while the tab was hidden
