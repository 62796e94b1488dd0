"""The Convergence page: a question chooses the racers, Run starts the race, one sentence states the result.

The first screen shows a recorded race at once; a live one replaces it as soon as the table is made. Costs and the
picture of scales are computed on threads and arrive with the pump. The race is shown by a `RaceView`.
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
    CUSTOM,
    FIRST_QUESTION,
    MAX_ITERATIONS,
    MAX_RACERS,
    QUESTIONS,
    Example,
    for_streaming,
    streaming_note,
)
from alrviz.explorer.server.run_queue import Entry
from alrviz.explorer.session.link_errors import Choices
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import FIRST_TABLE
from alrviz.explorer.shell.dialogs import text_button
from alrviz.explorer.shell.glossary import about_html
from alrviz.explorer.shell.theme import CARD, html, room
from alrviz.explorer.widgets.export_model import ExportModel
from alrviz.explorer.widgets.race_starter import RaceStarter
from alrviz.explorer.widgets.recipe_chooser import RecipeChooser
from alrviz.explorer.widgets.run_history import reopen
from alrviz.explorer.widgets.table_settings import MIXED_CUTS, cut_params, cuts_of
from alrviz.fitting.families import FAMILIES
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.measures import AXES, MEASURES
from alrviz.studies.race.race import Race
from alrviz.studies.race.recorded import read_recorded
from alrviz.views.core.collapsible import Collapsible
from alrviz.views.core.live_figure import NumberAxes
from alrviz.views.core.style import safe
from alrviz.views.race.race_view import RaceView

FIRST_MEASURE = "gap"
HEIGHT = room(322, 300, 26)  # of the picture
_PYTHON = "Python: copy a script that computes the numbers of this race"
_SHARE = "Share: a read-only link to this race"


class ConvergencePage(Page):
    """The page "Convergence"."""

    title, icon, group, slug = "Convergence", "show_chart", "Explore", "convergence"

    @staticmethod
    def choices() -> Choices:
        """Return the valid values of this page's link properties."""
        return {"question": (*QUESTIONS, CUSTOM), "axis": AXES, "measure": MEASURES}

    def __init__(self, session: Session):
        super().__init__(session)
        race = session.runs.race
        recipes = session.recipes if race is None else tuple(race.recipes)
        self.settings = RaceSettings(session.question, recipes, session.seed, cut_params(session.cuts))
        self._shown_cuts, self._shown_rows = session.cuts, session.race_rows
        self._had_race = session.runs.entry is not None  # whether the page opens with a running or finished race
        self._attended: Entry | None = None  # the registry's entry of the race on this screen
        self._table_pending = False  # whether the table changed while another page was in front

    # ---- building ----------------------------------------------------------------------------------------------

    def view(self) -> Viewable:
        """Build the page."""
        session = self.session
        self.race_view = RaceView(
            wake=session.wake,
            on_seen=self._note_seen_iteration,
            measure=FIRST_MEASURE,
            height=HEIGHT,
            dark=session.dark,
        )
        if session.axis in self.race_view.param.axis.objects:
            self.race_view.axis = session.axis
        if session.link.state_if_shown(self.slug).measure in self.race_view.param.measure.objects:
            self.race_view.measure = session.link.state_if_shown(self.slug).measure
        session.link.connect(self.slug, self.race_view, ("span",))
        self.race_view.param.watch(lambda event: session.param.update(axis=event.new), "axis")
        self.race_view.param.watch(lambda event: self._on_measure(event.new), "measure")
        self.dialogs = RaceDialogs(session)
        self.controls = RaceMenus(session, self._on_choice, lambda: self.starter.set_autorun(True), self.show_example)
        self.chooser = RecipeChooser(
            session, lambda: self.recipes, self._set_custom, self._new_recipe, solvers=lambda: self.starter.solvers
        )
        self.starter = RaceStarter(session, self.tasks, self.race_view, self._adopt, "race", self.chooser.show_solvers)
        self.starter.autorun = not self._had_race and not session.stored_race and not session.runs.missing_race
        self.note = html((0, 0, 4, 0))  # settings that change for a table larger than memory
        self.scales = PreconditionerChart(session, self.tasks)
        self.model = ExportModel(session, self.tasks)
        self._show_controls()
        if session.runs.race is not None:
            self.race_view.watch(session.runs.race)
        elif session.stored_race or session.runs.missing_race:
            self._reopen(session.stored_race or session.runs.missing_race)
        elif self._is_first_screen:
            self.race_view.watch(read_recorded(recorded_text()))
        session.subscribe(lambda _: self._race_new_dataset(), "dataset")
        session.subscribe(lambda _: self._on_dark(), "dark")
        session.subscribe(lambda _: self._check_awaited(), "loading")
        session.subscribe(lambda _: self._recut(), "cuts")
        session.subscribe(lambda _: self._apply_rows(), "race_rows")
        session.subscribe(lambda _: self._revisit(), "revisited")
        if session.table.dataset is not None:
            self._race_new_dataset()
        return self._layout()

    def _on_measure(self, measure: str) -> None:
        if self.session.page == self.slug:
            self.session.measure = "" if measure == FIRST_MEASURE else measure

    @property
    def _is_first_screen(self) -> bool:
        session, kinds = self.session, self.session.link.state.kinds
        is_first_table = session.table.requested_demo == FIRST_TABLE and session.seed == 0 and not kinds
        return is_first_table and not session.lesson and self.settings.is_first

    def _layout(self) -> Viewable:
        python_button = text_button(
            "Python", "code", _PYTHON, lambda: self.dialogs.show_script(self.racers, __version__)
        )
        share_button = text_button("Share", "share", _SHARE, self._share)
        buttons = pn.Row(
            self.starter.pane, python_button, share_button, margin=0, styles={"flex": "1 1 240px", "min-width": "0"}
        )
        racers_row = pn.FlexBox(
            self.chooser.panel, buttons, align_items="center", gap="4px 8px", margin=(0, 0, 8, 0),
            sizing_mode="stretch_width", css_classes=["alrviz-part-racers"],
        )  # fmt: skip
        race_card = pn.Column(
            self.race_view, styles=CARD, sizing_mode="stretch_width", margin=0, css_classes=["alrviz-first"]
        )
        about_part = Collapsible("About this plot", html(text=about_html("convergence")))
        return pn.Column(
            self.controls.panel, racers_row, self.note, race_card, self.scales.part, self.model.evaluation.part,
            self.model.part, about_part, *self.dialogs.panels, sizing_mode="stretch_width", margin=0,
        )  # fmt: skip

    def result(self) -> Race | None:
        """Return the race of the current settings once it has ended and was shown to its end, else None."""
        player = self.race_view.player
        player_race = player.reader
        if player_race is None or not player_race.is_finished or player.playing or player.next_reader is not None:
            return None
        return None if self.race_view.outdated or player_race.race.recorded else player_race.race

    def axes(self) -> NumberAxes:
        """Return the picture of the race."""
        return self.race_view.axes

    def _share(self) -> None:
        self.dialogs.show_share()
        self._report_shown_race()

    def drawer(self) -> Viewable:
        """Return the settings of the racer chosen, and of all racers."""
        return self.chooser.settings.panel

    @property
    def recipes(self) -> tuple[Recipe, ...]:
        """The racers as set."""
        return self.settings.recipes

    @property
    def racers(self) -> tuple[Recipe, ...]:
        """The racers as they run: with the settings for passes over files if all rows are fitted."""
        return for_streaming(self.recipes) if isinstance(self.session.table.race_data, Stream) else self.recipes

    # ---- showing -----------------------------------------------------------------------------------------------

    def _show_controls(self) -> None:
        settings = self.settings
        self.controls.show(settings, self.session)
        self.chooser.show()
        self.scales.show(settings.recipes[0])
        note_text = streaming_note(self.recipes) if isinstance(self.session.table.race_data, Stream) else ""
        self.note.param.update(object=f"<p class='quiet'>{safe(note_text, 600)}</p>", visible=bool(note_text))
        self._check_outdated()
        self.starter.set_race(self.session.table.race_data, self.racers)

    def _on_dark(self) -> None:
        self.race_view.dark = self.session.dark
        self.chooser.show()

    def _check_outdated(self) -> None:
        """Mark the picture as outdated if it shows a race of other settings."""
        race, dataset = self.race_view.race, self.session.table.race_data
        if race is None or dataset is None:
            return
        self.race_view.outdated = not race.matches(self.racers, dataset)

    def _apply_settings(self) -> None:
        """Show the settings and write them into the link; the defaults are left out of it."""
        settings = self.settings
        self.session.param.update(
            recipes=() if settings.is_first else settings.recipes,
            question="" if settings.question == FIRST_QUESTION else settings.question,
        )
        self._show_controls()

    def _set_question_racers(self) -> None:
        """Set the racers to those of the question."""
        dataset = self.session.table.dataset
        self.settings.ask(dataset.X.shape[1] if dataset is not None else MAX_RACERS, self.session.seed)
        self._apply_settings()

    # ---- controls ----------------------------------------------------------------------------------------------

    def _on_choice(self, name: str, value: Any) -> None:
        self.settings.choose(name, value)
        self._set_question_racers()
        self._race_if_cheap()

    def _race_if_cheap(self) -> None:
        """Start the race of new settings as soon as its estimate shows that it is cheap."""
        race = self.race_view.race
        self.starter.set_autorun(race is None or race.recorded or self.race_view.outdated)
        self.race_view.player.starts_itself = self.starter.autorun
        self.race_view.say_status()
        self.starter.start_if_cheap()

    def show_example(self, example: Example) -> None:
        """Apply an example, and race as soon as its table is loaded."""
        self.settings.question, self.settings.order, self.settings.alpha = example.question, example.order, 0.0
        self.starter.set_autorun(True)
        table = self.session.table
        if table.source.demo is not None and table.source.demo[0] == example.data and table.dataset is not None:
            self._set_question_racers()
            self.starter.start_if_cheap()
        else:
            table.load_demo(example.data)

    def _revisit(self) -> None:
        """Show the question and the race after Back or Forward in the browser; race it now if that is cheap."""
        session = self.session
        race, run_id = session.runs.race, session.stored_race or session.runs.missing_race
        self.settings = RaceSettings(session.question, session.recipes, session.seed, cut_params(session.cuts))
        self._had_race = race is not None
        self.starter.set_autorun(race is None and not run_id)
        if race is not None:
            self.race_view.watch(race)
        elif run_id:
            self._reopen(run_id)
        self._apply_settings()
        self.starter.start_if_cheap()

    def _recut(self) -> None:
        """Apply the session's cuts if this page is in front; `on_shown` does it otherwise."""
        session = self.session
        if session.page != self.slug:
            return
        self._shown_cuts = session.cuts
        if session.cuts != cuts_of(self.recipes):
            self.settings.recut(cut_params(session.cuts))
            self._apply_settings()
            self._race_if_cheap()

    def _apply_rows(self) -> None:
        """Apply the session's choice of rows if this page is in front; `on_shown` does it otherwise."""
        if self.session.page == self.slug and self._shown_rows != self.session.race_rows:
            self._shown_rows = self.session.race_rows
            self._show_controls()
            self._race_if_cheap()

    def _set_custom(self, recipes: tuple[Recipe, ...]) -> None:
        self.settings.set_custom(*recipes)
        cuts = cuts_of(recipes)
        if cuts != MIXED_CUTS:
            self.settings.cuts = cut_params(cuts)
            self.session.cuts = cuts
        self._apply_settings()
        self._race_if_cheap()

    def _new_recipe(self) -> Recipe:
        first_params, lr_alpha = self.recipes[0].params, FAMILIES["lr"].params["alpha"].default_in_links
        order, alpha = first_params.get("order"), first_params.get("alpha")
        return Recipe(
            "lr", scale="diagonal", start="zero", max_iter=MAX_ITERATIONS, seed=self.session.seed,
            order=order if isinstance(order, int) else 2, alpha=alpha if isinstance(alpha, float) else lr_alpha,
        )  # fmt: skip

    # ---- table, race ----------------------------------------------------------------------------------------------

    def _race_new_dataset(self) -> None:
        """Race the models on the session's new table, if this page is in front."""
        dataset, self._table_pending = self.session.table.dataset, self.session.page != self.slug
        if dataset is None or self._table_pending:
            return
        self.settings.reseed(self.session.seed)
        race = self.race_view.race
        if race is not None and race.dataset is not None and race.dataset.hash != dataset.hash:
            self.race_view.clear()  # the old race would play on under the new table's name until the new one begins
            self.starter.set_autorun(True)
            self.race_view.player.starts_itself = not self.session.runs.asking
        if self._had_race or self.settings.question == CUSTOM:
            self._had_race = False
            self._show_controls()
        else:
            self._set_question_racers()
        self.race_view.expect(self.recipes)

    def _report_shown_race(self) -> None:
        """Tell the registry which race is on this screen, and whether it is paused; report steps of a shared race."""
        racer = self.race_view.player.reader
        entry = getattr(None if racer is None else racer.race, "entry", None)
        if entry is not self._attended:
            if self._attended is not None:
                self._attended.screens.discard(id(self))
            self._attended = entry
        if entry is not None:
            entry.was_on_screen = True
            entry.screens.add(id(self))
            entry.rest_reason = "paused" if self.race_view.player.is_held else ""
        self.race_view.tells = entry is not None and entry.is_shared

    def _note_seen_iteration(self, race: Race, iteration: int) -> None:
        entry = getattr(race, "entry", None)
        if entry is not None:
            entry.last_seen_iteration = max(entry.last_seen_iteration, iteration)

    def _check_awaited(self) -> None:
        """Give up a press of Run that waited for a table which could not be loaded."""
        table = self.session.table
        if table.loading is None and table.dataset is None and self.race_view.player.is_waiting:
            self.race_view.press_stop()  # the table that Run waits for could not be loaded
        elif self._table_pending and self.session.table.loading is None:
            self._race_new_dataset()  # a table was being loaded when the page came to the front, and failed

    def _adopt(self, race: Race, **cost: Any) -> Race:
        """Hand a race to the registry, shown on this screen."""
        self.session.runs.adopt(race, **cost)
        self.session.stored_race = ""
        race.entry.was_on_screen = True  # viewers of a shared race see no step before this screen does
        race.entry.screens.add(id(self))
        return race

    # ---- the run store -------------------------------------------------------------------------------------------

    def _reopen(self, id: str) -> None:
        """Show a race of the run store."""
        owner = self.session.owner
        self.tasks.start("kept", lambda stop: reopen(owner, id), self._reopened)

    def _reopened(self, race: Race | None) -> None:
        session, lost_id = self.session, self.session.runs.missing_race
        session.runs.missing_race = ""
        if race is None and lost_id and not session.stored_race:  # another visitor's race: run the same settings
            self.starter.autorun = True
            self.starter.start_if_cheap()
        elif race is None:
            session.stored_race = ""
            session.problem = AlrvizError("the race that this link opens is no longer stored; press Run to repeat it")
        elif self.race_view.race is None or self.race_view.outdated:  # else another race was started meanwhile
            session.stored_race = session.stored_race or lost_id
            self.race_view.watch(race)
            self._check_outdated()

    # ---- the shell's calls -------------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Take over what threads have finished; return whether there may be more."""
        base_busy = super().pump()
        moving = self.race_view.pump()
        self._report_shown_race()
        self.starter.show_passes(self.race_view.race)
        receiving = self.model.pump(self.race_view.race)
        return moving or base_busy or receiving

    def on_shown(self) -> None:
        """Catch up with changes made while another page was in front; start the race that another page requested."""
        if self._table_pending and self.session.table.loading is None:
            self._race_new_dataset()
        run_requested, self.session.race_requested = self.session.race_requested, False
        offered_recipes, self.session.offered_recipes = self.session.offered_recipes, ()
        if offered_recipes:
            self._set_custom(offered_recipes)
        elif self.session.cuts != self._shown_cuts:
            self._recut()
        self._apply_rows()
        if run_requested and (self.race_view.race is None or self.race_view.outdated):
            self.race_view.press_run()

    def on_hidden(self) -> None:
        """Pause the viewers of a shared race; the race itself continues."""
        if self._attended is not None:
            self._attended.rest_reason = "away"

    def close(self) -> None:
        """Cancel the page's tasks and leave the race, which belongs to the registry."""
        super().close()
        if "race_view" in vars(self):  # it is built on the first visit
            self.race_view.cancel_scoring()
        for entry in (self._attended, self.session.runs.entry):
            if entry is not None:
                entry.screens.discard(id(self))


def recorded_text() -> str:
    """Return the recorded race of the first screen."""
    return (files("alrviz.explorer") / "recorded" / "led.json").read_text(encoding="utf-8")
