"""The page of a study, made of its description: menus, what it costs, the study, its link, "copy as Python".

What is set is a study (`StudySpec`), whether it runs or not: its cost is estimated, the tasks of it that are kept are
shown, and Run goes on with the rest. While a study of other settings still runs it stays in the picture, marked as
outdated.
A page derives from `StudyPage` and adds its picture and what is peculiar to it; several may be the tabs of one page.
"""

import time
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from alrviz import __version__
from alrviz.errors import AlrvizError, RecipeError
from alrviz.explorer.recipes.recipe_fields import Choosable
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import State
from alrviz.explorer.session.view_settings import link_view
from alrviz.explorer.shell.glossary import rich
from alrviz.explorer.shell.theme import CARD, button, html
from alrviz.explorer.widgets.dialogs import ScriptDialog, text_button
from alrviz.explorer.widgets.evaluation_part import EvaluationPart, judged_folds
from alrviz.explorer.widgets.menus import data_menu, rows_menu, select, show_data, show_rows
from alrviz.explorer.widgets.recipe_chooser import RecipeChooser
from alrviz.explorer.widgets.study_estimate import costs_html, costs_line
from alrviz.explorer.widgets.study_spec import StudySpec
from alrviz.explorer.widgets.tabbed_page import TabbedPage
from alrviz.explorer.widgets.table_settings import cuts_menu, cuts_of, show_cuts, show_split, split_menu, with_cuts
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.views.core.collapsible import Collapsible
from alrviz.views.core.live_figure import NumberAxes
from alrviz.views.core.panes import Updating, say
from alrviz.views.core.style import safe
from alrviz.views.studies.study_view import StudyView

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.explorer.session.managed_jobs import ManagedStudy

REST = 0.5  # seconds after which what a hand moved is taken to rest
WAITING = "<span class='quiet'>No table yet.</span>"
READING = "<span class='quiet'>Reading the table …</span>"
KEEP = "Continue when I close the page"
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


class StudyPage:
    """See the module's text; a deriving class says which study it is of, and how that is shown.

    Args:
        session: the visitor's.
        tabs: the page that it is a tab of, if it is one.
    """

    title: str
    icon: str
    group: str
    slug: str
    spec_of: ClassVar[type[StudySpec]]
    view_of: ClassVar[Callable[..., StudyView]]
    looks: ClassVar[Mapping[str, Any]] = {}  # parameters of the view
    about: ClassVar[str]  # what one looks at
    high: ClassVar[str] = "0px"  # at least, of the card: what stands below must not jump when the cost is known
    keys: ClassVar[tuple[str, ...]] = ()  # the view's parameters that have a property of a link each
    viewed: ClassVar[tuple[str, ...]] = ()  # and those that share one
    dragged: ClassVar[str] = ""  # and one that a hand moves: it is put into the link when that rests
    closed: ClassVar[Mapping[str, Collection[str]]] = {}  # what a link may hold of the former
    choosable: ClassVar[Choosable | None] = None  # what may be chosen of recipes, where each has a chip
    streams: ClassVar[bool] = False  # whether it shows runs over all rows of a table larger than memory
    judges: ClassVar[bool] = False  # whether the recipes of its folds can be evaluated
    use_hint: ClassVar[str] = ""  # what the button does that uses the answer, where there is one
    # Seconds: the study that a page opens on, where no link asks for another, begins if it is likely to take no longer.
    at_once: ClassVar[float] = 0.0

    study_view: Any

    def __init__(self, session: Session, tabs: "StudyTabs | None" = None):
        self.session, self._tabs = session, tabs
        self._page = self.slug if tabs is None else tabs.slug
        self._own = session.own(self._page) if tabs is None else tabs.own(self.slug)
        self.spec: Any = self.read(self._own)
        self.tasks = PageTasks(session)
        self.known: Any = None
        self._sought: Hashable = None  # what `known` is, or will be, about
        self._doing = ""
        # Nothing has been learned yet, and neither a link nor a lesson asks for anything.
        self._opening = not (self._own.judged or session.lesson)
        self._touched = 0.0

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
        self.build()
        self.first.param.update(margin=(0, 0, 8, 0), sizing_mode="stretch_width", css_classes=["alrviz-part-controls"])
        self.follow()
        return pn.Column(self.first, self.below, sizing_mode="stretch_width", margin=0)

    def build(self) -> None:
        """Make what is shown: `first`, the row of menus, and `below`, the rest."""
        session = self.session
        self.time, self.note, self.cost_table = html(), html(), html((8, 0, 0, 0))
        self.time.param.update(sizing_mode=None, align="center", margin=(0, 4))
        self.note.visible = False
        python = text_button("Python", "code", PYTHON, self._show_script)
        self.dialog = ScriptDialog()
        self.keep = pmui.Checkbox(label=KEEP, align="center", margin=(0, 0, 0, 8))
        self.keep.param.watch(lambda event: self._kept(bool(event.new)), "value")
        self.study_view = view = type(self).view_of(
            again=self.begin, wake=session.wake, dark=session.dark, ready=False, **self.looks, **self.given()
        )
        self._write_view = link_view(session, self._page, view, self.viewed, self.keys, self._own)
        if self.dragged:
            view.param.watch(lambda *_: self._looked(), [*self.keys, self.dragged])
        self.use = button(
            "Use it", self.use_it, icon="show_chart", variant="contained", margin=(0, 8, 0, 0), visible=False
        )
        bar = view.bar.panel  # it has room for one of them
        bar.insert(2, self.use) if self.use_hint else bar.append(self.keep)
        self.menus = self.make_menus()
        told = pn.Row(self.time, python, margin=0, styles={"margin-left": "auto"})
        line: dict[str, object] = {"align_items": "center", "margin": (0, 0, 8, 0), "sizing_mode": "stretch_width"}
        self.chooser: RecipeChooser | None = None
        above, folded = [], []
        if self.choosable is not None:
            self.chooser = RecipeChooser(
                session, lambda: self.spec.recipes, self._choose, self._fresh, self.choosable,
                place=(lambda panel: None) if self._tabs is None else self._tabs.place,
            )  # fmt: skip
            above = [pn.FlexBox(self.chooser.panel, told, gap="4px 8px", css_classes=["alrviz-part-racers"], **line)]
        self.first = self.make_first(self.menus.parts if above else [*self.menus.parts, told])
        self.card = pn.Column(view, styles=CARD | {"min-height": self.high}, sizing_mode="stretch_width", margin=0)
        if hasattr(view, "aside"):
            view.aside[:] = [self.cost_table]
        else:
            folded = [Collapsible("What it costs", self.cost_table)]
        if self.menus.folded:
            folded.append(Collapsible("More settings", pn.Row(*self.menus.folded, margin=(10, 0))))
        self.evaluation = EvaluationPart(session, self.tasks)
        self.below = pn.Column(
            *above, self.note, self.card, self.evaluation.part, *folded,
            Collapsible("What am I looking at?", html(text=rich(self.about))),
            self.dialog.place, sizing_mode="stretch_width", margin=0,
        )  # fmt: skip

    def given(self) -> dict[str, Any]:
        """Return the view's parameters that have a property of the link, as it has them."""
        keys = [*self.keys, *([self.dragged] if self.dragged else ())]
        found = {key: getattr(self._own, key) for key in keys if getattr(self._own, key) != getattr(State(), key)}
        return {key: value for key, value in found.items() if value in self.closed.get(key, (value,))}

    def make_menus(self) -> StudyMenus:
        """Return the menus."""
        return StudyMenus(self.session, self.spec_of, self.choose, self.choose_cuts, self.streams)

    def make_first(self, parts: list[Viewable]) -> Viewable:
        """Return the row of menus."""
        return pn.FlexBox(*parts, align_items="center", gap="10px 0", margin=0)  # a label stands out above

    def drawer(self) -> Viewable | None:
        """Return the settings of the recipe chosen; nothing where all there is to set is in the first row."""
        return None if self.chooser is None else self.chooser.settings.panel

    # -- what is set ---------------------------------------------------------------------------------------------------

    def choose(self, name: str, value: Any) -> None:
        """Take what was chosen from a menu, unless it excludes what else is set."""
        try:
            spec = self.spec.chosen(name, value)
        except RecipeError as error:
            self.tasks.failed("study", error)
            self.menus.show(self.spec)
        else:
            self.change(spec)

    def _choose(self, recipes: tuple[Recipe, ...]) -> None:
        self.change(replace(self.spec, recipes=recipes))

    def _fresh(self) -> Recipe:
        dataset = self.session.dataset
        found: Recipe = self.spec.fresh(dataset.X.shape[1] if dataset is not None else 1)
        return with_cuts((found,), self.session.cuts)[0]

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

    # -- what is peculiar to a page ------------------------------------------------------------------------------------

    def learned(self) -> None:
        """What is known, or shown, has changed."""

    def offer(self) -> str:
        """Return what of the answer can be used, in words; "" for nothing."""
        return ""

    def racers(self) -> tuple[Recipe, ...]:
        """Return what is raced when the answer is used."""
        return ()

    def cost_line(self, known: Any) -> str:
        """Return about how long all takes, for the page's first rows."""
        return costs_line(known)

    def cost_html(self, known: Any) -> str:
        """Return the table of costs."""
        return costs_html(known)

    def prints(self, known: Any) -> str:
        """Return the end of the script."""
        return self.spec_of.prints

    # -- what is asked -------------------------------------------------------------------------------------------------

    @property
    def front(self) -> bool:
        """Whether it is what the visitor sees."""
        return self.session.page == self._page and (self._tabs is None or self._tabs.front == self.slug)

    def follow(self) -> None:
        """Follow the session from now on: to be called once, when the view is there."""
        self.session.subscribe(lambda _: self._ground_changed(), "dark")
        self.session.subscribe(lambda *_: self.ask(), ["dataset", "loading", "cuts", "whole"])
        self.session.subscribe(lambda _: self._answered(), "asking")
        self.ask()

    def _ground_changed(self) -> None:
        self.study_view.dark = self.session.dark
        if self.chooser is not None:
            self.chooser.show()

    def ask(self) -> None:
        """Learn what is known of what is set, unless that is known or on its way; not while it is not seen."""
        session, dataset = self.session, self.session.dataset
        seen = self.front and session.loading is None
        # Before anything is shown: a menu that goes back and forth while its press is handled stays wrong on the page.
        if seen and session.cuts != self.spec.cuts:  # set here or on another page
            self.change(self.spec.cut(session.cuts))
            return
        self.menus.show(self.spec)
        if self.chooser is not None:
            self.chooser.show()
        if seen:
            self.seek_on(dataset)
        elif self.front and self.study_view.study is None:
            self.study_view.coming = True
            self.study_view.tell(READING)

    def seek_on(self, dataset: "Dataset | None") -> None:
        """Learn what is known of what is set on the session's table."""
        if dataset is None:
            say(self.cost_table, WAITING)
            self._not_coming()
            self.study_view.tell(WAITING)
        else:
            self.seek((dataset.hash, self.spec, self.session.seed), self.spec.learn(dataset, self.session))

    def seek(self, sought: Hashable, work: Callable[[StopToken, Callable[[str], None]], Any]) -> None:
        """Learn on a thread what is known of what is sought, unless that is known or on its way."""
        if sought == self._sought:
            self.tasks.withdraw("study")
            return
        view = self.study_view
        if self._sought is not None:  # a press is of what was set then, or waits for its table
            view.forget_press()
        self._sought, self.known = sought, None
        view.param.update(ready=False, coming=True, outdated=view.study is not None)
        if view.study is None:
            view.tell("<span class='quiet'>Being priced …</span>")
        self._learn()
        self.tasks.start(
            "study", lambda stop: work(stop, self.tell), self.take_up, self._failed,
            lambda: say(self.time, f"<span class='quiet'>{safe(self._doing, 120)} …</span>"),
        )  # fmt: skip

    def _not_coming(self) -> None:
        """Nothing that Run may start is on its way."""
        self.study_view.forget_press()
        self.study_view.coming = False

    def tell(self, doing: str) -> None:
        """Say what the thread is at."""
        self._doing = doing

    def _failed(self, error: Exception) -> None:
        self._sought = None
        self._not_coming()
        say(self.time, "")
        if self.study_view.study is None:
            self.study_view.tell_none()
        self.tasks.failed("study", error)

    def take_up(self, known: Any) -> None:
        """Show the study that is set, that of this process or what is kept of it, unless another is under way."""
        self.known = known
        remarks = [f"{safe(words[:1].upper() + words[1:], 600)}." for words in known.remarks]
        if self.session.stream is not None:
            remarks.insert(0, safe(self.session.sample_note, 600))
        self.note.param.update(object=f"<p class='quiet'>{' '.join(remarks)}</p>", visible=bool(remarks))
        view = self.study_view
        shown = view.study
        busy = shown is not None and shown.phase in ("running", "queued")
        if known.study is None:
            self._not_coming()
            if not busy:
                view.watch(None)
                why = "; ".join(known.left_out) or "nothing is chosen"
                view.tell(f"<span class='bad'>Nothing to run:</span> {safe(why, 600)}")
        else:
            found = self.session.find_study(known.study)
            if self.session.asking and not busy and (found or known.study).phase != "waiting":
                view.watch(None)
                view.tell("<span class='quiet'>What was computed before is shown when the question is answered.</span>")
            elif not busy or (found is not None and found.spec == shown.spec and found.data_hash == shown.data_hash):
                view.outdated = False
                view.watch(found if found is not None else known.study)
                if found is not None:
                    self.keep.value = found.entry.keep
            view.param.update(ready=True, coming=False)
            if self.session.asking:  # Run is free when that is answered
                view.forget_press()
            elif view.waits:
                view.press_again()
            elif self._opening and view.study.phase == "waiting" and known.cost.seconds <= self.at_once:
                view.press_run()
        self._opening = False
        self._learn()

    def _answered(self) -> None:
        """Show what the question of a lesson has kept back."""
        if self.known is not None and self.study_view.study is None and not self.session.asking:
            self.take_up(self.known)

    def _looked(self) -> None:
        self._touched = time.monotonic()
        self._learn()

    def _note_dragged(self) -> bool:
        """Put what a hand moves into the link, or return that it is too early: each link is one of the browser's
        history.
        """
        if not self.dragged or not self.front:
            return False
        view = self.study_view
        value = getattr(view, self.dragged)
        value = getattr(State(), self.dragged) if value == view.param[self.dragged].default else value
        if value == getattr(self.session, self.dragged):
            return False
        if time.monotonic() - self._touched < REST:
            return True
        self.session.param.update({self.dragged: value})
        return False

    def _learn(self) -> None:
        """Update the costs and the offered answer after a change of what is known or shown."""
        self._say_costs()
        self.learned()
        offer = "" if self.study_view.outdated else self.offer()
        label = f"Use {offer or 'it'}"
        if (self.use.visible, self.use.label) != (bool(offer), label):
            # What a button is called begins with what is written on it.
            self.use.param.update(visible=bool(offer), label=label, description=f"{label}: {self.use_hint}")
        if self.judges:
            study = None if self.study_view.outdated else self.study_view.study
            done = study is not None and study.phase not in ("running", "queued")
            self.evaluation.offer((study, done), judged_folds(study) if study is not None and done else {}, self.best())

    def _say_costs(self) -> None:
        """Say what the study costs; how long it takes only until the bar says so by the fits that are back."""
        if (known := self.known) is None:
            return
        study = None if self.study_view.outdated else self.study_view.study
        timed = study is not None and study.progress.seconds_left is not None
        line = self.cost_line(known)  # it keeps its room: a row that wraps differently moves the picture
        say(self.time, f"<span style='visibility:hidden'>{line}</span>" if timed else line)
        say(self.cost_table, self.cost_html(known))

    def result(self) -> Any:
        """Return the study of what is set, when it is done."""
        view = self.study_view
        return view.study if view.study is not None and view.study.phase == "done" and not view.outdated else None

    def axes(self) -> NumberAxes | None:
        """Return the picture of the study, if its axes are numbers."""
        return getattr(self.study_view, "axes", None)

    def best(self) -> str | None:
        """Return the name of the racer whose evaluation is shown first; None for the first."""
        return None

    # -- running -------------------------------------------------------------------------------------------------------

    def begin(self) -> "ManagedStudy | None":
        """The study that Run starts or goes on with, given to the registry; None where there is none."""
        session, known = self.session, self.known
        if known is None or known.study is None:
            return None
        try:
            self.tasks.withdraw("study")
            study = session.adopt_study(known.study, bytes=known.spread.bytes, threads=known.n_jobs)
            study.entry.keep = self.keep.value
            return study
        except AlrvizError as error:
            self.tasks.failed("study", error)
            return None

    def _kept(self, keep: bool) -> None:
        """Let the study shown go on, or not, when nobody looks at it."""
        entry = getattr(self.study_view.study, "entry", None)  # none before it is begun
        if entry is not None:
            entry.keep = keep

    def use_it(self) -> None:
        """Race what the study chose on the page Convergence."""
        if racers := self.racers():
            self.session.go("convergence", race=True, recipes=racers)

    def script(self) -> str:
        """Return the script of "copy as Python"."""
        code: str = self.spec.script(self.session, self.known, __version__, self.prints(self.known))
        return code

    def _show_script(self) -> None:
        if self.known is not None:
            self.dialog.show(self.script())

    # -- the shell's calls ---------------------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Take over what threads have finished; returns whether there may be more."""
        waiting = self.tasks.poll() | self._note_dragged()
        seen = self.study_view.drawn
        moving = self.study_view.pump()
        if self.study_view.drawn != seen:
            self._learn()
        return moving or waiting

    def on_shown(self) -> None:
        """Turn to what came meanwhile."""
        self.ask()

    def on_hidden(self) -> None:
        """A study goes on while its page is behind another."""

    def close(self) -> None:
        """End the threads' work; the study is the registry's."""
        self.tasks.close()


class StudyTabs(TabbedPage):
    """A page whose tabs are studies, or parts of the same methods: build, follow, ask, write, pump, close.

    The link is of the tab in front; a tab that is no study leaves in it what the first has there.
    """

    parts: ClassVar[tuple[Any, ...]]  # their classes, in the order of `tabs`

    def __init__(self, session: Session):
        super().__init__(session)
        linked = issubclass(self._of(self.front), StudyPage)
        self._linked = self.front if linked else next(iter(self.tabs.values()))  # what the link is about
        self._own = session.own(self.slug)

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
        tab = self._of(slug)(self.session, self)
        tab.build()
        tab.first.param.update(styles={"flex": "1 1 0"}, css_classes=["alrviz-line"])
        tab.follow()
        return tab, tab.first, tab.below

    def turned(self) -> None:
        """Let the tab in front turn to what came meanwhile."""
        self.tab.write()
        self.tab.ask()
        self.session.wake()  # what came while it was not seen
