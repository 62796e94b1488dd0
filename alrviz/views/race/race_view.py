"""RaceView: watch a race live, run, pause, step, scrub and stop it; in a notebook or on a page.

The panes are built once. Worker threads only append to traces. Every 100 ms the pump (the view's own, or a page's)
reads new steps and adds them to the picture in one batch. The view computes nothing: numbers come from the traces,
milestones and verdict from `studies`, and the step shown from a `Player`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import panel as pn
import panel_material_ui as pmui
import param
from param.parameterized import Event

from alrviz import __version__
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.trace import Trace
from alrviz.job import LatestJob
from alrviz.pictures.convergence import convergence
from alrviz.pictures.measures import AXES, MEASURES, SPANS
from alrviz.studies.core.export import race_provenance, to_csv
from alrviz.studies.race.race import Race
from alrviz.studies.race.recorded import as_race
from alrviz.studies.race.verdict import verdict
from alrviz.studies.statistics.verdict import Verdict
from alrviz.views.core.collapsible import Numbers
from alrviz.views.core.live_figure import LiveFigure, NumberAxes, picture_buttons
from alrviz.views.core.notebook import NotebookViewer, ViewLayout
from alrviz.views.core.panes import Updating, choice, fade, html, say, side_by_side, stack
from alrviz.views.core.saving import Origin, csv_button, file_button
from alrviz.views.core.style import CSS, verdict_html
from alrviz.views.core.trace_reader import RaceReader, score_heldout
from alrviz.views.core.transport import PLAYBACK_SPEEDS, Playback, Transport
from alrviz.views.race import texts
from alrviz.views.race.fit_player import PlayerButtons
from alrviz.views.race.player import Player
from alrviz.views.race.player_status import button_state, status_html

HEIGHT_PX = 424  # of picture and buttons: they fit on a screen of 1280x720
TICK_MS = 100
MAX_ITERATIONS_FED_EVERY_TICK = 500  # afterwards every third tick: a step is less than a pixel wide
TICKS_PER_TABLE = 5  # ticks between two updates of the texts and the table
_WAITING = Verdict("Getting ready: the race then starts by itself.", "Rows are encoded and the cost is estimated.")
_PREPARING = Verdict("Getting ready ...")
PICTURE_WIDTH_PX, SIDE_WIDTH_PX = 440, 336  # minimum widths of the picture and of the text beside it
# Reserves a line for the headline and one for the detail (two in narrower windows), so that Run below does not move.
_SENTENCE_STYLE = """
:host { min-height: 2.9rem; }
@media (max-width: 1599px) and (min-height: 650px) { :host { min-height: 4.2rem; } }
"""


class RaceView(PlayerButtons, NotebookViewer):
    """Live view of a race.

    Args:
        race: result of `alrviz.race`, a recorded race, or a fitted estimator, whose fit is shown.
        rerun: called when Run or Step is pressed after the race has ended or its settings are outdated; returns the
            race to run next, or None. By default the same recipes race again.
        wake: called when a race starts or resumes, by a page that then calls `pump` periodically; by default the view
            has its own periodic callback.
        on_seen: called with a race and its last iteration on the reader's screen, while `tells`.
        height: CSS height of picture and buttons.

    Raises:
        AlrvizError: if `race` is neither a race nor a fitted estimator (`TableError` for a data set).

    >>> import alrviz
    >>> recipes = [alrviz.Recipe("lr", alpha=0), alrviz.Recipe("alr", alpha=0)]
    >>> view = alrviz.RaceView(alrviz.race(alrviz.load_demo("led", rows=300), recipes))
    """

    measure = param.Selector(default="nll", objects=list(MEASURES), doc="Measure on the y axis: a key of `MEASURES`.")
    axis = param.Selector(default="iterations", objects=list(AXES), doc="Unit of the x axis: a key of `AXES`.")
    span = param.Selector(default="all", objects=list(SPANS), doc="Part of the x axis shown: a key of `SPANS`.")
    speed = param.Selector(default=1.0, objects=list(PLAYBACK_SPEEDS), doc="Factor of the usual playback speed.")
    loop = param.Boolean(default=False, doc="Whether to play again from the start after the end.")
    outdated = param.Boolean(default=False, doc="Whether settings have changed since the race was made.")
    tells = param.Boolean(default=False, doc="Whether the browser reports what is on its screen (`on_seen`).")

    def __init__(
        self,
        race: object = None,
        *,
        rerun: Callable[[], Race | None] | None = None,
        wake: Callable[[], None] | None = None,
        on_seen: Callable[[Race, int], None] | None = None,
        height: str = f"{HEIGHT_PX}px",
        **params: Any,
    ):
        super().__init__(**params)
        self.player = Player(rerun)
        self._wake = wake or self._make_pump(self.pump, TICK_MS)
        self._on_seen = on_seen
        self._ticks = 0
        self._drawn_reader: RaceReader | None = None
        self._placeholder_reader: RaceReader | None = None  # of the empty picture before the first step
        self._drawn_step = (0, -1)  # number of the reader that was drawn, and its last iteration
        self._scoring: LatestJob | None = None
        self._verdict = Verdict("")
        self._build(height)
        self.param.watch(lambda _: self._redraw(), "measure")
        self.param.watch(lambda _: self._after(), ["axis", "span", "dark"])
        self.param.watch(lambda _: self._apply_playback(), ["speed", "loop"])
        self.param.watch(lambda _: self._fade_outdated(), "outdated")
        self.param.watch(lambda event: setattr(self.transport.stop, "tells", event.new), "tells")
        self._apply_playback()
        if race is not None:
            self.watch(race)

    # -- parts --------------------------------------------------------------------------------------------------------

    def _build(self, height: str) -> None:
        self.picture = LiveFigure("alrviz-race", on_resize=self._resized, min_height=220)
        self.transport = Transport(self, Playback(self))
        self.sentence = html(stylesheets=[CSS, _SENTENCE_STYLE], styles={"opacity": "1"}, margin=(0, 0, 10, 0))
        # The status never wraps and reserves its maximum width where the window is wide. Otherwise the sentence beside
        # it might need another line, and Run would move.
        status_styles = {"white-space": "nowrap", "min-width": "min(145px, 12vw)", "text-align": "right"}
        self.status = pn.pane.HTML("", stylesheets=[CSS], margin=(0, 0, 0, 16), styles=status_styles)
        # Without a width of its own: Panel adds up those of parts side by side, as if their row did not wrap.
        self.side = html(css_classes=["alrviz-side"])
        contents_text = "all numbers, with recipes, seed, data hash and version"
        buttons = [
            *picture_buttons({"the race": self.picture}, lambda _: self.origin()),
            csv_button("alrviz-race.csv", self._csv, contents_text),
            file_button("alrviz-race.html", self.film, "one page that plays the race", "Replay (HTML)"),
        ]
        self._numbers = Numbers(buttons, self._numbers_html)
        self._measures = MeasureMenu(self)
        self._axes = choice(self, "axis", list(AXES), "x-axis", margin=(0, 12, 0, 0))
        self._spans = pmui.Select(
            label="Shown", options={words: span for span, (words, _) in SPANS.items()}, value=self.span, size="small",
            width=176, margin=(0, 12, 0, 0),
        )  # fmt: skip
        self._spans.link(self, value="span", bidirectional=True)
        self.head = pn.Row(
            self._measures.select, self._axes, self._spans, sizing_mode="stretch_width", styles={"flex-wrap": "wrap"},
            margin=(0, 0, 4, 0), css_classes=["alrviz-later"],
        )  # fmt: skip
        self.line = pn.Row(
            self.sentence, self.status, sizing_mode="stretch_width", margin=0, css_classes=["alrviz-told"]
        )
        picture_column = stack(self.head, self.picture.pane, self.transport.panel)
        # Fixed height, so that the buttons do not move when the text beside them grows. Panel needs the number.
        classes = ["alrviz-pictures", "alrviz-room"]
        picture_column.param.update(height=HEIGHT_PX, styles={"height": height}, css_classes=classes)
        self.body = side_by_side(picture_column, self.side, PICTURE_WIDTH_PX, SIDE_WIDTH_PX)
        self.layout = ViewLayout(self.line, self.body, self._numbers)

    # -- which race ---------------------------------------------------------------------------------------------------

    @property
    def race(self) -> Race | None:
        """The race that the buttons move."""
        return self.player.race

    def watch(self, race: object) -> None:
        """Show a race as far as it has computed, and follow it."""
        self.player.load_race(as_race(race))
        self._after()

    def clear(self) -> None:
        """Show no race: an empty picture, and no results of the race before."""
        self.cancel_scoring()
        self.player.unload_race()
        self._drawn_reader = self._scoring = None
        self._verdict, self.outdated, self._placeholder_reader = Verdict(""), False, None
        for pane in (self.sentence, self.side):
            say(pane, "")
        self._numbers.refresh()
        self._wake()

    def expect(self, recipes: Sequence[Recipe]) -> None:
        """Draw an empty picture for these recipes if no race is drawn.

        It saves a third of a second when the first points arrive.
        """
        if self.player.active_reader is None and self._placeholder_reader is None:
            runs: Any = [SimpleNamespace(recipe=recipe, trace=Trace(), outcome=None) for recipe in recipes]
            self._placeholder_reader = RaceReader(Race(None, runs))
            self._measures.offer_measures_of(self._placeholder_reader)
            self._draw(self._placeholder_reader)

    # -- buttons ------------------------------------------------------------------------------------------------------

    def report_screen(self, number: int, last_seen: int) -> None:
        """Call `on_seen` with the race and its last iteration on the screen, if the screen shows reader `number`."""
        reader = self.player.reader
        if reader is not None and reader.number == number and self._on_seen is not None:
            self._on_seen(reader.race, last_seen)

    def _apply_playback(self) -> None:
        self.player.speed = self.speed
        if self.loop != self.player.loop:
            self.player.set_loop(self.loop)
            self._after()

    def _after(self) -> None:
        self._draw_current()
        self._wake()

    def cancel_scoring(self) -> None:
        """Stop scoring test rows, because another race is shown or the page is left."""
        if self._scoring is not None:
            self._scoring.cancel()

    def _draw_current(self) -> None:
        """Draw the current step of the current race."""
        self.outdated = self.player.outdated
        reader = self.player.reader
        if reader is not None and reader is not self._drawn_reader:
            self.cancel_scoring()
            self._drawn_reader, self._scoring = reader, None
            self._measures.offer_measures_of(reader)
        self._redraw()

    # -- the pump -----------------------------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Read new steps and show them in one batch; return whether there may be more."""
        with pn.io.hold():
            self._advance()
            self.picture.describe(str(self._verdict))
        return self.player.alive or (self._scoring is not None and self._scoring.busy)

    def settle(self) -> None:
        """Show everything computed so far; for an ended race also test for ties."""
        with pn.io.hold():
            self.player.catch_up()
            self._draw_current()
            if self._scoring is not None and self._scoring.busy:
                self._scoring.finish()
                self._redraw()

    def _advance(self) -> None:
        self._ticks += 1
        player = self.player
        if player.switch_to_next():
            self._after()
        reader = player.reader
        if reader is None:
            self.say_status()
            return
        was_to_zero, playing = reader.to_zero, player.playing
        has_changed = player.tick()
        zero_changed = reader.to_zero != was_to_zero
        if zero_changed:
            self._measures.offer_measures_of(reader)
        came_to_rest = playing and not player.playing
        is_scored = self._scoring is not None and self._scoring.busy and not self._scoring.poll()
        is_draw_due = has_changed and (
            reader.head < MAX_ITERATIONS_FED_EVERY_TICK or not player.playing or self._ticks % 3 == 0
        )
        if is_draw_due or zero_changed or came_to_rest or is_scored or (playing and self._ticks % TICKS_PER_TABLE == 0):
            self._redraw()
        else:
            self.say_status()

    def _draw(self, reader: RaceReader) -> None:
        measure, span, to_zero = self.measure, self.span, reader.to_zero
        picture = convergence(
            reader.curves(), measure=measure, axis=self.axis, span=span, baseline=reader.levels(), to_zero=to_zero,
            dark=self.dark, rests=not self.player.playing, size=self.picture.size,
            note="recorded earlier" if reader.race.recorded else "",
        )  # fmt: skip
        self.picture.show(picture, subject=(reader, measure, span))
        self._drawn_step = reader.number, min(reader.last_shown, reader.last)

    @property
    def axes(self) -> NumberAxes:
        """Columns on the axes of the picture; none for a gap or a penalty, which are no columns of a trace."""
        measure = MEASURES[self.measure]
        column_names = () if self.measure in ("gap", "alpha") else (measure.train, measure.heldout)
        return NumberAxes(
            self.picture, "iteration" if self.axis == "iterations" else "", tuple(name for name in column_names if name)
        )

    def _resized(self) -> None:
        if not self.player.playing:
            with pn.io.hold():
                self._redraw()

    def _redraw(self) -> None:
        """Draw curves, text and slider for the same step: on a busy machine the next tick may take a second."""
        reader = self.player.reader or self._placeholder_reader
        if reader is not None:
            self._draw(reader)
        self._show_words()
        self.say_status(move_slider=True)

    # -- words --------------------------------------------------------------------------------------------------------

    def say_status(self, move_slider: bool = False) -> None:
        """Update the buttons and the status; with `move_slider` the slider too, even while playing."""
        player = self.player
        # The picture may lag behind: that of a long race is not fed at every tick.
        state = replace(button_state(player), drawn=self._drawn_step)
        self.transport.show(state, move_slider=move_slider or not player.playing)
        say(self.status, f"<span class='quiet'>{status_html(player)}</span>")
        if player.reader is None:
            is_preparing = player.is_waiting or (player.starts_itself and not player.is_stopped)
            say(self.sentence, verdict_html(_WAITING) if is_preparing else "")

    def _show_words(self) -> None:
        player, reader = self.player, self.player.reader
        if reader is None:
            return
        is_at_end = not player.playing or player.next_reader is not None or (self.loop and reader.head >= reader.last)
        has_ended = reader.is_finished and is_at_end
        upto = None if has_ended else reader.head
        summaries = [racer.summary(upto=upto, ended=has_ended) for racer in reader.racers]
        result = verdict(summaries, stopped_by=reader.race.control.stopped_by, unit=self.axis)
        self._verdict = _PREPARING if result.code == "waiting" and player.playing else result
        say(self.sentence, verdict_html(self._verdict))
        say(self.side, texts.values_html(reader, self.axis, self.dark) + texts.separation_html(reader, self.dark))
        if has_ended and not reader.cut and self._scoring is None:
            self._scoring = score_heldout(reader)
        self._numbers.refresh()

    def _numbers_html(self) -> str:
        reader, dark = self.player.reader, self.dark
        return "" if reader is None else texts.ends_html(reader, dark) + texts.numbers_html(reader, dark)

    def _fade_outdated(self) -> None:
        """Fade results of outdated settings."""
        self.player.outdated = self.outdated
        fade(self.outdated, self.picture.pane, self.side, self.sentence)
        self.say_status()

    def origin(self) -> Origin:
        """Return title and provenance of the saved picture."""
        return Origin("Convergence") if self.player.reader is None else Origin(self._verdict.headline, self.made_from())

    def _csv(self) -> str:
        reader = self.player.reader
        if reader is None:
            return ""
        frame, provenance = reader.race.frame(), race_provenance(reader.race, __version__)
        if reader.cut:
            n_steps = frame["racer"].map({k: len(racer) + racer.trial_fits for k, racer in enumerate(reader.racers)})
            frame = frame[frame.groupby("racer").cumcount() < n_steps]
            provenance |= {"stopped at": reader.limit, "computed to": reader.computed}
        return to_csv(frame, provenance, reader.race.recipes)


class MeasureMenu:
    """Menu for a view's parameter `measure`."""

    def __init__(self, view: RaceView):
        self._view, self._wanted_measure, self._falling_back = view, view.measure, Updating()
        widget_params: dict[str, Any] = {"size": "small", "width": 204, "margin": (0, 12, 0, 0)}
        self.select = pmui.Select(label="Measure", options=_options(MEASURES), value=view.measure, **widget_params)
        self.select.link(view, value="measure", bidirectional=True)
        view.param.watch(self._remember, "measure")

    def offer_measures_of(self, reader: RaceReader) -> None:
        """Offer the measures that a race has; select the one last chosen in the menu, or NLL if the race lacks it."""
        options = _options(reader.measures)
        with self._falling_back:
            self.select.options = options
            self._view.measure = self._wanted_measure if self._wanted_measure in options.values() else "nll"

    def _remember(self, event: Event) -> None:
        if not self._falling_back:
            self._wanted_measure = event.new


def _options(measures: Iterable[str]) -> dict[str, str]:
    return {MEASURES[key].words: key for key in measures}
