"""The page of a study, made of its specification: menus, cost, result, link, "copy as Python".

A page derives from `StudyPage` and says which study it is of (`spec_of`), how that is shown (`view_of`), and what its
answer is used for. `StudyRunner` has the state of the study, `StudyLayout` what is seen. Several such pages may be the
tabs of one page.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import panel as pn
from panel.viewable import Viewable

from alrviz import __version__
from alrviz.data.dataset import Dataset
from alrviz.errors import RecipeError
from alrviz.explorer.page import Page
from alrviz.explorer.recipes.recipe_fields import Choosable
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import State
from alrviz.explorer.shell.dialogs import script_dialog, text_button
from alrviz.explorer.shell.glossary import about_html
from alrviz.explorer.shell.theme import CARD, button, html
from alrviz.explorer.widgets.evaluation_part import EvaluationPart, judged_folds
from alrviz.explorer.widgets.menus import data_menu, rows_menu, select, show_data, show_rows
from alrviz.explorer.widgets.recipe_chooser import RecipeChooser
from alrviz.explorer.widgets.study_estimate import costs_html, costs_line
from alrviz.explorer.widgets.study_runner import WAITING, DraggedValue, StudyRunner, StudyState
from alrviz.explorer.widgets.study_spec import StudySpec
from alrviz.explorer.widgets.tabbed_page import TabbedPage
from alrviz.explorer.widgets.table_settings import cuts_menu, cuts_of, show_cuts, show_split, split_menu, with_cuts
from alrviz.fitting.recipe import Recipe
from alrviz.views.core.collapsible import Collapsible
from alrviz.views.core.live_figure import NumberAxes
from alrviz.views.core.panes import Updating, say
from alrviz.views.core.style import safe
from alrviz.views.studies.study_view import StudyView

PYTHON = "Python: copy this study as a script whose numbers are the screen's"


class StudyMenus:
    """The menus of a study, each found by its name; `parts` go into the page's first row, `folded` below the picture.

    They show what they are told and tell what was chosen.

    Args:
        session: whose tables are offered.
        spec: whose menus they are.
        chosen: called with a menu's name and what was chosen from it.
        cut: called with the slug of the cuts chosen.
        streams: whether all rows of a table larger than memory may be chosen, in place of its sample.
    """

    def __init__(
        self,
        session: Session,
        spec: type[StudySpec],
        chosen: Callable[[str, Any], None],
        cut: Callable[[str], None],
        streams: bool = False,
    ):
        self._session, self._of, self._chosen, self._setting = session, spec.menus, chosen, Updating()
        self._menus = {name: select(of.label, {}, of.width) for name, of in spec.menus.items()}
        for name, menu in self._menus.items():
            menu.param.watch(lambda event, name=name: self.tell(name, event.new), "value")
        self._menus |= {"data": data_menu(session), "cuts": cuts_menu(cut), "split": split_menu(session)}
        self._rows = rows_menu(session) if streams else None

    def __getitem__(self, name: str) -> Viewable:
        return self._menus[name]

    @property
    def parts(self) -> list[Viewable]:
        """The menus of the first row in their order."""
        rows = [] if self._rows is None else [self._rows]
        own = (self[name] for name, of in self._of.items() if not of.folded)
        return [self["data"], *rows, *own, self["cuts"], self["split"]]

    @property
    def folded(self) -> list[Viewable]:
        """The menus of what is seldom set."""
        return [self[name] for name, of in self._of.items() if of.folded]

    def row(self, *beside: Viewable) -> Viewable:
        """Return the page's first row."""
        # A label stands out above its menu.
        return pn.FlexBox(*self.parts, *beside, align_items="center", gap="10px 0", margin=0)

    def tell(self, name: str, value: Any) -> None:
        """Tell what was chosen, unless it is only being shown."""
        if not self._setting and value is not None:
            self._chosen(name, value)

    def show(self, spec: StudySpec) -> None:
        """Show what is set; what has no effect is hidden."""
        show_data(self["data"], self._session)
        if self._rows is not None:
            show_rows(self._rows, self._session)
        show_cuts(self["cuts"], self._session, cuts_of(spec.recipes))
        show_split(self["split"], self._session)
        with self._setting:
            for name, of in self._of.items():
                self[name].visible = of.shown(spec)
                if self[name].visible:
                    value = getattr(spec, name) if of.value is None else of.value(spec)
                    options = of.options(spec) if callable(of.options) else of.options
                    why = of.why(spec) if callable(of.why) else of.why
                    self[name].param.update(options=dict(options), value=value, description=why)


class StudyLayout:
    """What is seen of the page: the row of menus (`first`) and everything below it (`below`)."""

    def __init__(self, page: "StudyPage"):
        view = page.study_view
        self.time, self.note, self.cost_table = html(), html(), html((8, 0, 0, 0))
        self.time.param.update(sizing_mode=None, align="center", margin=(0, 4))
        self.note.visible = False
        self.dialog = script_dialog()
        python = text_button("Python", "code", PYTHON, lambda: self.dialog.show(page.script()))
        self.use = button(
            "Use it", page.use_answer, icon="show_chart", variant="contained", margin=(0, 8, 0, 0), visible=False
        )
        bar = view.bar.panel  # it has room for one of them
        bar.insert(2, self.use) if page.use_hint else bar.append(page.runner.keep)
        beside = pn.Row(self.time, python, margin=0, styles={"margin-left": "auto"})
        line: dict[str, object] = {"align_items": "center", "margin": (0, 0, 8, 0), "sizing_mode": "stretch_width"}
        above, folded = [], []
        if page.chooser is None:
            self.first = page.menus.row(beside)
        else:
            self.first = page.menus.row()
            above = [pn.FlexBox(page.chooser.panel, beside, gap="4px 8px", css_classes=["alrviz-part-racers"], **line)]
        self.card = pn.Column(view, styles=CARD | {"min-height": page.high}, sizing_mode="stretch_width", margin=0)
        if view.aside is not None:
            view.aside[:] = [self.cost_table]
        else:
            folded = [Collapsible("What it costs", self.cost_table)]
        if page.menus.folded:
            folded.append(Collapsible("More settings", pn.Row(*page.menus.folded, margin=(10, 0))))
        self.evaluation = EvaluationPart(page.session, page.tasks)
        self.below = pn.Column(
            *above, self.note, self.card, self.evaluation.part, *folded,
            Collapsible("What am I looking at?", html(text=about_html(page.slug))),
            self.dialog.place, sizing_mode="stretch_width", margin=0,
        )  # fmt: skip

    def show_costs(self, line: str, table: str, timed: bool) -> None:
        """Show what the study costs. timed: its bar says how long it takes, by the fits that are finished."""
        # The line keeps its room: a row that wraps differently moves the picture.
        say(self.time, f"<span style='visibility:hidden'>{line}</span>" if timed else line)
        say(self.cost_table, table)

    def show_remarks(self, remarks: list[str]) -> None:
        """Show what a reader should know of the table first, as HTML."""
        self.note.param.update(object=f"<p class='quiet'>{' '.join(remarks)}</p>", visible=bool(remarks))

    def offer_use(self, label: str, hint: str) -> None:
        """Offer to use the answer; "" for none."""
        text = f"Use {label or 'it'}"
        if (self.use.visible, self.use.label) != (bool(label), text):
            # An accessible description begins with the label that is seen.
            self.use.param.update(visible=bool(label), label=text, description=f"{text}: {hint}")


@dataclass(frozen=True)
class Answer:
    """What a study says, as far as it can be used.

    Attributes:
        label: what is used, for the button.
        racers: returns the recipes that are raced.
        best: name of the recipe whose evaluation is shown first; None for the first.
    """

    label: str
    racers: Callable[[], tuple[Recipe, ...]]
    best: str | None = None


class StudyPage(Page):
    """See the module's text; a deriving class says which study it is of, and how that is shown."""

    spec_of: ClassVar[type[StudySpec]]
    view_of: ClassVar[Callable[..., StudyView]]
    looks: ClassVar[Mapping[str, Any]] = {}  # parameters of the view
    high: ClassVar[str] = "0px"  # at least, of the card: what stands below must not jump when the cost is known
    keys: ClassVar[tuple[str, ...]] = ()  # the view's parameters that have a property of a link each
    viewed: ClassVar[tuple[str, ...]] = ()  # and those that share one
    dragged: ClassVar[str] = ""  # and one that a hand moves: it is put into the link when that rests
    closed: ClassVar[Mapping[str, Collection[str]]] = {}  # what a link may hold of the former
    choosable: ClassVar[Choosable | None] = None  # what may be chosen of recipes, where each has a chip
    streams: ClassVar[bool] = False  # whether it shows runs over all rows of a table larger than memory
    judges: ClassVar[bool] = False  # whether the recipes of its folds can be evaluated
    use_hint: ClassVar[str] = ""  # what the button does that uses the answer, where there is one
    cost_text: Callable[[Any], str] = staticmethod(costs_line)  # the costs in the first rows
    cost_html: Callable[[Any], str] = staticmethod(costs_html)  # the table of costs
    # Seconds: the study that a page opens on, where no link asks for another, begins if it is likely to take no longer.
    at_once: ClassVar[float] = 0.0

    study_view: Any

    def __init__(self, session: Session, tabs: "StudyTabs | None" = None):
        super().__init__(session)
        self._tabs = tabs
        self._page = self.slug if tabs is None else tabs.slug
        self._own = session.link.page_state(self._page) if tabs is None else tabs.own(self.slug)
        self.spec: Any = self.read(self._own)
        asked_for = bool(self._own.study_recipes or session.lesson)
        at_once = None if asked_for else self.at_once
        self.runner = StudyRunner(session, self.tasks, self.update, self.show_progress, at_once)

    @classmethod
    def choices(cls) -> dict[str, Collection[str]]:
        """Return what a link may hold of this page's own, where that is one of a few."""
        settings = cls.spec_of.settings()
        return {link: one.metadata["choices"] for link, one in settings if "choices" in one.metadata} | dict(cls.closed)

    def read(self, own: State) -> StudySpec:
        """Return what a link asks for."""
        return self.spec_of.read(own, self.session.cuts)

    # -- building ------------------------------------------------------------------------------------------------------

    def view(self) -> Viewable:
        """Build the page."""
        first, below = self.build()
        first.param.update(margin=(0, 0, 8, 0), sizing_mode="stretch_width", css_classes=["alrviz-part-controls"])
        self.follow()
        return pn.Column(first, below, sizing_mode="stretch_width", margin=0)

    def build(self) -> tuple[Viewable, Viewable]:
        """Make what is shown; return the row of menus and everything below it."""
        session, dragged = self.session, [self.dragged] if self.dragged else []
        given = {key: getattr(self._own, key) for key in (*self.keys, *dragged)}
        given = {key: value for key, value in given.items() if value != getattr(State(), key)}
        given = {key: value for key, value in given.items() if value in self.closed.get(key, (value,))}
        self.study_view = self.runner.view = view = type(self).view_of(
            again=self.runner.start, wake=session.wake, dark=session.dark, ready=False, **self.looks, **given
        )
        self._write_view = session.link.connect(self._page, view, self.viewed, self.keys, self._own)
        self.drag = DraggedValue(session, view, self.dragged) if self.dragged else None
        if self.drag is not None:
            view.param.watch(self.drag.move, self.dragged)
            view.param.watch(lambda *_: self.update(), [*self.keys, self.dragged])
        self.menus = self.make_menus()
        self.chooser: RecipeChooser | None = None

        def fresh() -> Recipe:
            columns = 1 if session.table.dataset is None else session.table.dataset.X.shape[1]
            return with_cuts((self.spec.fresh(columns),), session.cuts)[0]

        if self.choosable is not None:
            self.chooser = RecipeChooser(
                session, lambda: self.spec.recipes, lambda recipes: self.change(replace(self.spec, recipes=recipes)),
                fresh, self.choosable,
                place=(lambda panel: None) if self._tabs is None else self._tabs.place,
            )  # fmt: skip
        self.layout = StudyLayout(self)
        return self.layout.first, self.layout.below

    def make_menus(self) -> StudyMenus:
        """Return the menus."""
        return StudyMenus(self.session, self.spec_of, self.choose, self.choose_cuts, self.streams)

    def drawer(self) -> Viewable | None:
        """Return the settings of the recipe chosen; nothing where all there is to set is in the first row."""
        return None if self.chooser is None else self.chooser.settings.panel

    # -- what is set ---------------------------------------------------------------------------------------------------

    def choose(self, name: str, value: Any) -> None:
        """Take what was chosen from a menu, unless it excludes what else is set."""
        try:
            spec = self.spec.chosen(name, value)
        except RecipeError as error:
            self.tasks.show_error("study", error)
            self.menus.show(self.spec)
        else:
            self.change(spec)

    def choose_cuts(self, slug: str) -> None:
        """Cut numbers so here, and from now on on every page."""
        if self.session.cuts == slug:  # recipes that were cut each in its own way
            self.change(self.spec.cut(slug))
        else:
            self.session.cuts = slug

    def change(self, spec: StudySpec) -> None:
        """Take new settings, also into the link."""
        self.spec = spec
        self.write()
        self.ask()

    def write(self) -> None:
        """Put what is set, and what is seen of it, into the link."""
        # A measure is of the tab in front: another, which has none, leaves none in the link.
        self.session.param.update(self.spec.written() | ({} if "measure" in self.keys else {"measure": ""}))
        self._write_view()

    # -- what is asked -------------------------------------------------------------------------------------------------

    @property
    def front(self) -> bool:
        """Whether it is what the visitor sees."""
        return self.session.page == self._page and (self._tabs is None or self._tabs.front == self.slug)

    def follow(self) -> None:
        """Follow the session from now on: to be called once, when the view is there."""

        def turn_dark(_: object) -> None:
            self.study_view.dark = self.session.dark
            if self.chooser is not None:
                self.chooser.show()

        self.session.subscribe(turn_dark, "dark")
        self.session.subscribe(lambda *_: self.ask(), ["dataset", "loading", "cuts", "race_rows"])
        self.session.subscribe(lambda _: self.runner.show_again(), "asking")
        self.ask()

    def ask(self) -> None:
        """Estimate the study of the current settings, unless the page is not seen."""
        session = self.session
        seen = self.front and session.table.loading is None
        # Before anything is shown: a menu that goes back and forth while its press is handled stays wrong on the page.
        if seen and session.cuts != self.spec.cuts:  # set here or on another page
            self.change(self.spec.cut(session.cuts))
            return
        self.menus.show(self.spec)
        if self.chooser is not None:
            self.chooser.show()
        if seen:
            self.estimate(session.table.dataset)
        elif self.front:
            self.runner.wait_for_table()

    def estimate(self, dataset: Dataset | None) -> None:
        """Estimate the study of the current settings on the session's table."""
        if dataset is None:
            self.show_progress("")
            self.layout.show_remarks([])
            self.study_view.outdated = self.study_view.study is not None
            self.runner.reset(WAITING)
            self.update()
        else:
            settings = (dataset.hash, self.spec, self.session.seed)
            self.runner.estimate(settings, self.spec.learn(dataset, self.session))

    def show_progress(self, doing: str) -> None:
        """Show what the estimate is doing; "" if it has failed or there is no table: then no cost is shown."""
        say(self.layout.time, doing)
        if not doing:
            say(self.layout.cost_table, "")

    def update(self) -> None:
        """Show costs, remarks and the answer after a change of what is estimated or computed."""
        costs, layout, runner = self.runner.costs, self.layout, self.runner
        study = runner.current
        verdict = None if study is None else getattr(self.study_view, "verdict", None)
        if costs is not None:
            timed = study is not None and study.progress.seconds_left is not None
            layout.show_costs(self.cost_text(costs), self.cost_html(costs), timed)
            remarks = [f"{safe(words[:1].upper() + words[1:], 600)}." for words in costs.remarks]
            if self.session.table.stream is not None:
                remarks.insert(0, safe(self.session.table.sample_note, 600))
            # A verdict with notes says itself what it stands on.
            layout.show_remarks([] if verdict is not None and verdict.notes else remarks)
        answer = None if self.study_view.outdated else self.answer()
        layout.offer_use("" if answer is None else answer.label, self.use_hint)
        if self.judges:
            done = study is not None and runner.state in (StudyState.READY, StudyState.DONE)
            best = None if answer is None else answer.best
            layout.evaluation.offer((study, done), judged_folds(study) if done else {}, best)

    # -- the answer ----------------------------------------------------------------------------------------------------

    def answer(self) -> Answer | None:
        """Return what can be used of the study shown; None for nothing."""
        return None

    def result(self) -> Any:
        """Return the study of what is set, when it is done."""
        return self.runner.current if self.runner.state is StudyState.DONE else None

    def axes(self) -> NumberAxes | None:
        """Return the picture of the study, if its axes are numbers."""
        axes: NumberAxes | None = self.study_view.axes
        return axes

    def use_answer(self) -> None:
        """Race what the study chose on the page Convergence."""
        answer = self.answer()
        if answer is not None and (racers := answer.racers()):
            self.session.go("convergence", race=True, recipes=racers)

    def script(self) -> str:
        """Return the script of "copy as Python"; "" before the study is known."""
        costs = self.runner.costs
        return "" if costs is None else self.spec.script(self.session, costs, __version__, self.spec_of.prints)

    def pump(self) -> bool:
        """Take over what threads have finished; returns whether there may be more."""
        waiting = super().pump()
        dragging = self.front and self.drag is not None and self.drag.write()
        return self.runner.pump() or waiting or dragging

    def on_shown(self) -> None:
        """Turn to what came meanwhile."""
        self.ask()


class StudyTabs(TabbedPage):
    """A page whose tabs are studies, or other tabs with a method `build`.

    The link is of the tab in front; a tab that is no study leaves in it what the first has there.
    """

    parts: ClassVar[tuple[Any, ...]]  # their classes, in the order of `tabs`

    def __init__(self, session: Session):
        super().__init__(session)
        linked = issubclass(self._of(self.front), StudyPage)
        self._linked = self.front if linked else next(iter(self.tabs.values()))  # what the link is about
        self._own = session.link.page_state(self.slug)

    @classmethod
    def _of(cls, slug: str) -> Any:
        return next(of for of in cls.parts if of.slug == slug)

    @classmethod
    def choices(cls) -> dict[str, Collection[str]]:
        """Return what a link may hold of this page's own, where that is one of a few on every tab."""
        pages = [of for of in cls.parts if issubclass(of, StudyPage)]
        closed = {name: values for of in pages for name, values in of.choices().items()}
        open_on = {link for of in pages for link, _ in of.spec_of.settings() if link not in of.choices()}
        return {"tab": cls.tabs.values()} | {name: of for name, of in closed.items() if name not in open_on}

    def own(self, slug: str) -> State:
        """Return what the link says of a tab."""
        return self._own if slug == self._linked else State()

    def build_tab(self, slug: str) -> tuple[Any, Viewable, Viewable]:
        """Return a tab, what stands of it beside the menu of tabs, and what stands below."""
        of = self._of(slug)
        is_study = issubclass(of, StudyPage)
        tab = of(self.session, self) if is_study else of(self.session)
        first, below = tab.build()
        first.param.update(styles={"flex": "1 1 0"}, css_classes=["alrviz-line"])
        if is_study:
            tab.follow()
        return tab, first, below

    def turned(self) -> None:
        """Let the tab in front turn to what came meanwhile."""
        if isinstance(self.tab, StudyPage):
            self.tab.write()
        self.tab.on_shown()
        self.session.wake()  # what came while it was not seen
