"""The Convergence page: a question chooses the racers, Run starts the race, one sentence states the result.

The first screen is alive: a recorded race is there at once, and a live one takes its place as soon as the table is
made. What computes (costs, the picture of scales) does so on threads and arrives with the pump; the race itself is
watched by a `RaceView`, which this page feeds with races and never looks into.
"""

from importlib.resources import files
from typing import Any

import panel as pn
from panel.viewable import Viewable

from alrviz import __version__
from alrviz.data.stream.table import Stream
from alrviz.errors import AlrvizError
from alrviz.explorer.page import Page
from alrviz.explorer.pages.convergence.controls import RaceMenus
from alrviz.explorer.pages.convergence.dialogs import RaceDialogs
from alrviz.explorer.pages.convergence.preconditioner import PreconditionerChart
from alrviz.explorer.pages.convergence.settings import RaceSettings
from alrviz.explorer.recipes.questions import (
    FIRST,
    MAX_RACERS,
    OWN,
    QUESTIONS,
    STEPS,
    Example,
    over_passes,
    over_passes_words,
)
from alrviz.explorer.server.run_queue import Entry
from alrviz.explorer.session.link_errors import Choices
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import FIRST_TABLE
from alrviz.explorer.shell.dialogs import text_button
from alrviz.explorer.shell.glossary import about_html
from alrviz.explorer.shell.theme import CARD, html, room
from alrviz.explorer.widgets.export_model import ExportModel
from alrviz.explorer.widgets.menus import FILE
from alrviz.explorer.widgets.race_starter import RaceStarter
from alrviz.explorer.widgets.recipe_chooser import RecipeChooser
from alrviz.explorer.widgets.run_history import reopened
from alrviz.explorer.widgets.table_settings import EACH, cut_params, cuts_of
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.measures import AXES, MEASURES
from alrviz.studies.race.race import Race
from alrviz.studies.race.recorded import read_recorded
from alrviz.views.core.collapsible import Collapsible
from alrviz.views.core.live_figure import NumberAxes
from alrviz.views.core.style import safe
from alrviz.views.race.race_view import RaceView

FIRST_MEASURE = "gap"
HEIGHT = room(322, 300, 26)  # of menus, picture and buttons
_PYTHON = "Python: copy this race as a script whose numbers are the screen's"
_SHARE = "Share: a link that shows this race and cannot touch it"


class ConvergencePage(Page):
    """See the module's text; the shell describes what a page is."""

    title, icon, group, slug = "Convergence", "show_chart", "Explore", "convergence"

    @staticmethod
    def choices() -> Choices:
        """Return what a link may hold of this page's own."""
        return {"question": (*QUESTIONS, OWN), "axis": AXES, "measure": MEASURES}

    def __init__(self, session: Session):
        super().__init__(session)
        race = session.runs.race
        recipes = session.recipes if race is None else tuple(race.recipes)
        self.choice = RaceSettings(session.question, recipes, session.seed, cut_params(session.cuts))
        self._cuts, self._whole = session.cuts, session.race_rows  # those that were taken notice of
        self._found = session.runs.entry is not None  # a race was there on arrival: its settings are shown
        self._attended: Entry | None = None  # the registry's entry of the race on this screen
        self._missed = False  # whether another table came while another page was shown

    # ---- building ----------------------------------------------------------------------------------------------

    def view(self) -> Viewable:
        """Build the page."""
        session = self.session
        self.race_view = RaceView(
            wake=session.wake, seen=self._seen, measure=FIRST_MEASURE, height=HEIGHT, dark=session.dark
        )
        if session.axis in self.race_view.param.axis.objects:
            self.race_view.axis = session.axis
        if session.link.page_state(self.slug).measure in self.race_view.param.measure.objects:
            self.race_view.measure = session.link.page_state(self.slug).measure
        session.link.connect(self.slug, self.race_view, ("span",))
        self.race_view.param.watch(lambda event: session.param.update(axis=event.new), "axis")
        self.race_view.param.watch(lambda event: self._measured(event.new), "measure")
        self.dialogs = RaceDialogs(session)
        self.controls = RaceMenus(session, self._chosen, self.show_example)
        self.chooser = RecipeChooser(
            session, lambda: self.recipes, self._own, self._fresh, solvers=lambda: self.starter.solvers
        )
        self.starter = RaceStarter(session, self.tasks, self.race_view, self._adopt, "race", self.chooser.tell)
        self.starter.autorun = not self._found and not session.stored_race and not session.runs.missing_race
        self.note = html((0, 0, 4, 0))  # what racers lose over a table larger than memory
        self.why = PreconditionerChart(session, self.tasks)
        self.model = ExportModel(session, self.tasks)
        self._show_controls()
        if session.runs.race is not None:
            self.race_view.watch(session.runs.race)
        elif session.stored_race or session.runs.missing_race:
            self._reopen(session.stored_race or session.runs.missing_race)
        elif self._is_first_screen:
            self.race_view.watch(read_recorded(recorded_text()))
        session.subscribe(lambda _: self._table_changed(), "dataset")
        session.subscribe(lambda _: self._ground_changed(), "dark")
        session.subscribe(lambda _: self._check_awaited(), "loading")
        session.subscribe(lambda _: self._recut(), "cuts")
        session.subscribe(lambda _: self._turn_rows(), "race_rows")
        session.subscribe(lambda _: self._revisit(), "revisited")
        if session.table.dataset is not None:
            self._table_changed()
        return self._layout()

    def _measured(self, measure: str) -> None:
        if self.session.page == self.slug:
            self.session.measure = "" if measure == FIRST_MEASURE else measure

    @property
    def _is_first_screen(self) -> bool:
        session, kinds = self.session, self.session.link.state.kinds
        is_first_table = session.table.requested_demo == FIRST_TABLE and session.seed == 0 and not kinds
        return is_first_table and not session.lesson and self.choice.is_first

    def _layout(self) -> Viewable:
        python = text_button("Python", "code", _PYTHON, lambda: self.dialogs.show_script(self.racers, __version__))
        share = text_button("Share", "share", _SHARE, self._share)
        told = pn.Row(self.starter.pane, python, share, margin=0, styles={"flex": "1 1 240px", "min-width": "0"})
        second = pn.FlexBox(
            self.chooser.panel, told, align_items="center", gap="4px 8px", margin=(0, 0, 8, 0),
            sizing_mode="stretch_width", css_classes=["alrviz-part-racers"],
        )  # fmt: skip
        card = pn.Column(
            self.race_view, styles=CARD, sizing_mode="stretch_width", margin=0, css_classes=["alrviz-first"]
        )
        about = Collapsible("What am I looking at?", html(text=about_html("convergence")))
        return pn.Column(
            self.controls.panel, second, self.note, card, self.why.part, self.model.evaluation.part, self.model.part,
            about, *self.dialogs.panels, sizing_mode="stretch_width", margin=0,
        )  # fmt: skip

    def result(self) -> Race | None:
        """Return the race of what is set, when it has ended and all of it was shown."""
        player = self.race_view.player
        shown = player.shown
        if shown is None or not shown.shown or player.playing or player.coming is not None:
            return None
        return None if self.race_view.outdated or shown.race.recorded else shown.race

    def axes(self) -> NumberAxes:
        """Return the picture of the race."""
        return self.race_view.axes

    def _share(self) -> None:
        self.dialogs.show_share()
        self._attend()

    def drawer(self) -> Viewable:
        """Return the settings of the racer chosen, and of all racers."""
        return self.chooser.settings.panel

    @property
    def recipes(self) -> tuple[Recipe, ...]:
        """The racers that are set."""
        return self.choice.recipes

    @property
    def racers(self) -> tuple[Recipe, ...]:
        """As they race: over all rows of a table larger than memory by passes."""
        return over_passes(self.recipes) if isinstance(self.session.table.race_data, Stream) else self.recipes

    # ---- showing -----------------------------------------------------------------------------------------------

    def _show_controls(self) -> None:
        choice = self.choice
        self.controls.show(choice, self.session)
        self.chooser.show()
        self.why.show(choice.recipes[0])
        lost = over_passes_words(self.recipes) if isinstance(self.session.table.race_data, Stream) else ""
        self.note.param.update(object=f"<p class='quiet'>{safe(lost, 600)}</p>", visible=bool(lost))
        self._check_outdated()
        self.starter.want(self.session.table.race_data, self.racers)

    def _ground_changed(self) -> None:
        self.race_view.dark = self.session.dark
        self.chooser.show()

    def _check_outdated(self) -> None:
        """Mark the picture when it is not the one of the settings."""
        race, dataset = self.race_view.race, self.session.table.race_data
        if race is None or dataset is None:
            return
        self.race_view.outdated = not race.matches(self.racers, dataset)

    def _set(self) -> None:
        """Show what was chosen, also in the address; the first screen's is the shortest."""
        choice = self.choice
        self.session.param.update(
            recipes=() if choice.is_first else choice.recipes,
            question="" if choice.question == FIRST else choice.question,
        )
        self._show_controls()

    def _ask(self) -> None:
        """Set the racers to those of the question."""
        dataset = self.session.table.dataset
        self.choice.ask(dataset.X.shape[1] if dataset is not None else MAX_RACERS, self.session.seed)
        self._set()

    # ---- controls ----------------------------------------------------------------------------------------------

    def _chosen(self, name: str, value: Any) -> None:
        if name == "data":
            if value and value != FILE:
                self.starter.arm(True)
                self.session.table.load_demo(value)
            return
        self.choice.choose(name, value)
        self._ask()
        self._race_if_cheap()

    def _race_if_cheap(self) -> None:
        """Race what was set, whichever control set it, as soon as its cost is known to be low; not what is shown."""
        race = self.race_view.race
        self.starter.arm(race is None or race.recorded or self.race_view.outdated)
        self.race_view.player.expected = self.starter.autorun
        self.race_view.say_status()
        self.starter.start_if_cheap()

    def show_example(self, example: Example) -> None:
        """Set everything to an example and race as soon as its table is there."""
        self.choice.question, self.choice.order, self.choice.alpha = example.question, example.order, 0.0
        self.starter.arm(True)
        table = self.session.table
        if table.source.demo is not None and table.source.demo[0] == example.data and table.dataset is not None:
            self._ask()
            self.starter.start_if_cheap()
        else:
            table.load_demo(example.data)

    def _revisit(self) -> None:
        """Show the question and the race that the reader has gone back to; what was not raced yet is raced if cheap."""
        session = self.session
        race, kept = session.runs.race, session.stored_race or session.runs.missing_race
        self.choice = RaceSettings(session.question, session.recipes, session.seed, cut_params(session.cuts))
        self._found = race is not None
        self.starter.arm(race is None and not kept)
        if race is not None:
            self.race_view.watch(race)
        elif kept:
            self._reopen(kept)
        self._set()
        self.starter.start_if_cheap()

    def _recut(self) -> None:
        """Cut numbers as is set on some page, unless it is not seen: then when it is."""
        session = self.session
        if session.page != self.slug:
            return
        self._cuts = session.cuts
        if session.cuts != cuts_of(self.recipes):
            self.choice.cut(cut_params(session.cuts))
            self._set()
            self._race_if_cheap()

    def _turn_rows(self) -> None:
        """Race the sample, or all rows, as is set on some page, unless it is not seen: then when it is."""
        if self.session.page == self.slug and self._whole != self.session.race_rows:
            self._whole = self.session.race_rows
            self._show_controls()
            self._race_if_cheap()

    def _own(self, recipes: tuple[Recipe, ...]) -> None:
        self.choice.own(*recipes)
        cuts = cuts_of(recipes)
        if cuts != EACH:
            self.choice.cuts = cut_params(cuts)
            self.session.cuts = cuts
        self._set()
        self._race_if_cheap()

    def _fresh(self) -> Recipe:
        common = {name: self.recipes[0].params[name] for name in ("order", "alpha") if name in self.recipes[0].params}
        return Recipe("lr", scale="diagonal", start="zero", max_iter=STEPS, seed=self.session.seed, **common)

    # ---- table, race ----------------------------------------------------------------------------------------------

    def _table_changed(self) -> None:
        dataset, self._missed = self.session.table.dataset, self.session.page != self.slug
        if dataset is None or self._missed:
            return
        self.choice.reseed(self.session.seed)
        if self._found or self.choice.question == OWN:
            self._found = False
            self._show_controls()
        else:
            self._ask()
        self.race_view.expect(self.recipes)

    def _attend(self) -> None:
        """Say of the race shown that it is on a screen, and whether it rests there; one with a link is followed."""
        shown = self.race_view.player.shown
        entry = getattr(None if shown is None else shown.race, "entry", None)
        if entry is not self._attended:
            if self._attended is not None:
                self._attended.screens.discard(id(self))
            self._attended = entry
        if entry is not None:
            entry.attended = True
            entry.screens.add(id(self))
            entry.resting = "paused" if self.race_view.player.still else ""
        self.race_view.tells = entry is not None and entry.shared

    def _seen(self, race: Race, iteration: int) -> None:
        entry = getattr(race, "entry", None)
        if entry is not None:
            entry.last_seen_iteration = max(entry.last_seen_iteration, iteration)

    def _check_awaited(self) -> None:
        if self.session.table.loading is None and self.session.table.dataset is None and self.race_view.player.waits:
            self.race_view.press_stop()  # the table that Run waits for does not come
        elif self._missed and self.session.table.loading is None:
            self._table_changed()  # the next table, which was awaited when the page came to the front, does not come

    def _adopt(self, race: Race, **cost: Any) -> Race:
        """Hand a race to the registry, shown on this screen."""
        self.session.runs.adopt(race, **cost)
        self.session.stored_race = ""
        race.entry.attended = True  # nobody is told of it before it is on this screen
        race.entry.screens.add(id(self))
        return race

    # ---- the run store -------------------------------------------------------------------------------------------

    def _reopen(self, id: str) -> None:
        """Show a race of the run store, its curves as they were."""
        owner = self.session.owner
        self.tasks.start("kept", lambda stop: reopened(owner, id), self._reopened)

    def _reopened(self, race: Race | None) -> None:
        session, lost = self.session, self.session.runs.missing_race
        session.runs.missing_race = ""
        if (
            race is None and lost and not session.stored_race
        ):  # never this visitor's: their own race of the same settings
            self.starter.autorun = True
            self.starter.start_if_cheap()
        elif race is None:
            session.stored_race = ""
            session.problem = AlrvizError("the race that this link opens is no longer stored; Run races it again")
        elif self.race_view.race is None or self.race_view.outdated:  # else another was begun meanwhile
            session.stored_race = session.stored_race or lost
            self.race_view.watch(race)
            self._check_outdated()

    # ---- the shell's calls -------------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Take over what threads have finished; returns whether there may be more."""
        waiting = super().pump()
        moving = self.race_view.pump()
        self._attend()
        self.starter.tell_passes(self.race_view.race)
        coming = self.model.pump(self.race_view.race)
        return moving or waiting or coming

    def on_shown(self) -> None:
        """Turn to a table that came meanwhile; race, where another page asked for it and it was not raced yet."""
        if self._missed and self.session.table.loading is None:
            self._table_changed()
        wanted, self.session.race_requested = self.session.race_requested, False
        offered, self.session.offered_recipes = self.session.offered_recipes, ()
        if offered:
            self._own(offered)
        elif self.session.cuts != self._cuts:
            self._recut()
        self._turn_rows()
        if wanted and (self.race_view.race is None or self.race_view.outdated):
            self.race_view.press_run()

    def on_hidden(self) -> None:
        """A race goes on while its page is behind another; those who follow its screen wait."""
        if self._attended is not None:
            self._attended.resting = "away"

    def close(self) -> None:
        """End the threads' work, and that the race is on this screen; the race is the registry's."""
        super().close()
        if "race_view" in vars(self):  # it is built on the first visit
            self.race_view.cancel_scoring()
        for entry in (self._attended, self.session.runs.entry):
            if entry is not None:
                entry.screens.discard(id(self))


def recorded_text() -> str:
    """Return the recorded race of the first screen."""
    return (files("alrviz.explorer") / "recorded" / "led.json").read_text(encoding="utf-8")
