"""RaceView: a race that can be watched, run, paused, stepped, scrubbed and stopped; alone in a notebook or in a page.

The panes are built once. Worker threads only append to traces; the view's pump (its own periodic callback, or a page's)
reads what is new every 100 ms and feeds it to the picture in one batch. The view computes nothing: numbers come from
the traces, milestones and the sentence from `studies`, and where the reader is from a `Player`.
"""

from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import panel as pn
import panel_material_ui as pmui
import param

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
from alrviz.views.core.collapsible import Numbers
from alrviz.views.core.live_figure import LiveFigure, NumberAxes, picture_buttons
from alrviz.views.core.notebook import NotebookViewer, ViewLayout
from alrviz.views.core.panes import Updating, choice, fade, html, say, side_by_side, stack
from alrviz.views.core.saving import Origin, csv_button, file_button
from alrviz.views.core.style import CSS, safe
from alrviz.views.core.trace_reader import RaceReader, score_heldout
from alrviz.views.core.transport import SPEEDS, Playback
from alrviz.views.race import words
from alrviz.views.race.fit_player import PlayerButtons
from alrviz.views.race.player import Player

HEIGHT = 424  # px of picture and buttons: all of it is seen at 1280x720
TICK = 100  # ms
LONG = 500  # iterations; beyond them the picture is fed less often: a step is less than a pixel
SLOW = 5  # ticks between two looks at the table of numbers
_COMING = (
    "Getting ready: rows are encoded, kernels are compiled and the cost is estimated. Then the race starts by itself."
)
MAIN, SIDE = 440, 336  # px that the picture needs, and the words beside it
# The longest sentence has its lines from the start: Run below it would else move under the hand when that comes.
_ROOM = """
:host { min-height: 3.15rem; }
@media (max-width: 1599px) and (min-height: 650px) { :host { min-height: 4.725rem; } }
"""


class RaceView(PlayerButtons, NotebookViewer):
    """The live view of a race.

    Args:
        race: what `alrviz.race` returned (or a race that was recorded); or a fitted estimator, whose fit is shown.
        again: called when Run or Step is pressed after the race has ended or its settings are outdated; returns the
            race to run next, or None. Without it the same recipes race once more.
        wake: called when something begins to move, by a page that calls `pump` itself from then on; without it the view
            has a periodic callback of its own.
        seen: called with a race and the last iteration of it that is on the reader's screen, while `tells`.
        height: of picture and buttons, as CSS has it.

    Raises:
        AlrvizError: of what is no race and no fitted estimator (`TableError` of a data set).

    >>> import alrviz
    >>> recipes = [alrviz.Recipe("lr", alpha=0), alrviz.Recipe("alr", alpha=0)]
    >>> view = alrviz.RaceView(alrviz.race(alrviz.load_demo("led", rows=300), recipes))
    """

    measure = param.Selector(default="nll", objects=list(MEASURES), doc="What the picture shows: a key of `MEASURES`.")
    axis = param.Selector(default="iterations", objects=list(AXES), doc="What it counts along: a key of `AXES`.")
    span = param.Selector(default="all", objects=list(SPANS), doc="How much of that is shown: a key of `SPANS`.")
    speed = param.Selector(default=1.0, objects=list(SPEEDS), doc="How many times faster than usual it is shown.")
    loop = param.Boolean(default=False, doc="Whether it plays again from the start after its end.")
    outdated = param.Boolean(default=False, doc="Whether settings have changed since the race shown was made.")
    tells = param.Boolean(default=False, doc="Whether the browser says what of a race is on its screen (`seen`).")

    def __init__(
        self,
        race: object = None,
        *,
        again: Callable[[], Race | None] | None = None,
        wake: Callable[[], None] | None = None,
        seen: Callable[[Race, int], None] | None = None,
        height: str = f"{HEIGHT}px",
        **params: Any,
    ):
        super().__init__(**params)
        self.player = Player(again)
        self._wake = wake or self._pumped(self.pump, TICK)
        self._on_seen = seen
        self._ticks = 0
        self._drawn: RaceReader | None = None
        self._on_screen = (0, -1)  # which race, by its number, and the last iteration of it that was drawn
        self._scoring: LatestJob | None = None
        self._told = ""  # what the sentence says
        self._build(height)
        self.param.watch(lambda _: self._redraw(), "measure")
        self.param.watch(lambda _: self._after(), ["axis", "span", "dark"])
        self.param.watch(lambda _: self._play_so(), ["speed", "loop"])
        self.param.watch(lambda _: self._mark(), "outdated")
        self.param.watch(lambda event: setattr(self.transport.stop, "tells", event.new), "tells")
        self._play_so()
        if race is not None:
            self.watch(race)

    # -- parts --------------------------------------------------------------------------------------------------------

    def _build(self, height: str) -> None:
        self.picture = LiveFigure("alrviz-race", resized=self._resized, min_height=220)
        self.transport = self._transport(self._seen, Playback(self))
        self.sentence = html(stylesheets=[CSS, _ROOM], styles={"opacity": "1"}, margin=(0, 0, 10, 0))
        # It never wraps, and its longest words have room from the start where the window is wide: the sentence beside
        # it would else be a line longer when they come, and Run would move under the hand.
        room = {"white-space": "nowrap", "min-width": "min(145px, 12vw)", "text-align": "right"}
        self.status = pn.pane.HTML("", stylesheets=[CSS], margin=(0, 0, 0, 16), styles=room)
        self.side = html(width=SIDE, sizing_mode=None, css_classes=["alrviz-side"])
        numbers = "all numbers, with recipes, seed, data hash and version"
        buttons = [
            *picture_buttons({"the race": self.picture}, lambda _: self.origin()),
            csv_button("alrviz-race.csv", self._csv, numbers),
            file_button("alrviz-race.html", self.film, "one page that plays the race", "Replay (HTML)"),
        ]
        self._numbers = Numbers(buttons, self._numbers_html)
        self._measures = MeasureMenu(self)
        self._axes = choice(self, "axis", list(AXES), "x-axis", margin=(0, 12, 0, 0))
        self._spans = pmui.Select(
            label="Shown", options={words: span for span, (words, _) in SPANS.items()}, value=self.span, size="small",
            width=112, margin=(0, 12, 0, 0),
        )  # fmt: skip
        self._spans.link(self, value="span", bidirectional=True)
        self.head = pn.Row(
            self._measures.select, self._axes, self._spans, sizing_mode="stretch_width", styles={"flex-wrap": "wrap"},
            margin=(0, 0, 4, 0), css_classes=["alrviz-later"],
        )  # fmt: skip
        self.line = pn.Row(
            self.sentence, self.status, sizing_mode="stretch_width", margin=0, css_classes=["alrviz-told"]
        )
        left = stack(self.head, self.picture.pane, self.transport.panel)
        # Whatever is said beside it, the buttons stay where they are. The number is what Panel's layout goes by.
        left.param.update(height=HEIGHT, styles={"height": height}, css_classes=["alrviz-pictures", "alrviz-room"])
        self.body = side_by_side(left, self.side, MAIN, SIDE)
        self.layout = ViewLayout(self.line, self.body, self._numbers)

    # -- which race ---------------------------------------------------------------------------------------------------

    @property
    def race(self) -> Race | None:
        """The race that the buttons move."""
        return self.player.race

    def watch(self, race: object) -> None:
        """Take up a race: what it has computed is shown at once, and followed from there."""
        self.player.load_race(as_race(race))
        self._after()

    def expect(self, recipes: Sequence[Recipe]) -> None:
        """Draw an empty picture for racers that may come, where there is none yet: made only with their first points,
        a page's first figure would keep those waiting for a third of a second.
        """
        if self.player.watched is None and self.picture.pane.object is None:
            runs: Any = [SimpleNamespace(recipe=recipe, trace=Trace(), outcome=None) for recipe in recipes]
            coming = RaceReader(Race(None, runs))
            self._measures.offer(coming)
            self._draw(coming)

    # -- buttons ------------------------------------------------------------------------------------------------------

    def _seen(self, number: int, seen: int) -> None:
        shown = self.player.shown
        if shown is not None and shown.number == number and self._on_seen is not None:
            self._on_seen(shown.race, seen)

    def _play_so(self) -> None:
        self.player.speed = self.speed
        if self.loop != self.player.loop:
            self.player.repeat(self.loop)
            self._after()

    def _after(self) -> None:
        self._draw_anew()
        self._wake()

    def cancel_scoring(self) -> None:
        """Score no more test rows: another race is shown, or nobody looks."""
        if self._scoring is not None:
            self._scoring.cancel()

    def _draw_anew(self) -> None:
        """Draw the place shown, of the race that is shown now."""
        self.outdated = self.player.outdated
        shown = self.player.shown
        if shown is not None and shown is not self._drawn:
            self.cancel_scoring()
            self._drawn, self._scoring = shown, None
            self._measures.offer(shown)
        self._redraw()

    # -- the pump -----------------------------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Read what is new and show it in one batch; returns whether there may be more."""
        with pn.io.hold():
            self._advance()
            self.picture.describe(self._told)
        return self.player.alive or (self._scoring is not None and self._scoring.busy)

    def settle(self) -> None:
        """Show all of the race that has been computed by now, and whether its end is a tie."""
        with pn.io.hold():
            self.player.catch_up()
            self._draw_anew()
            if self._scoring is not None and self._scoring.busy:
                self._scoring.finish()
                self._redraw()

    def _advance(self) -> None:
        self._ticks += 1
        player = self.player
        if player.arrived():
            self._after()
        watched = player.shown
        if watched is None:
            self.say_status()
            return
        to_zero, playing = watched.to_zero, player.playing
        changed = player.advance()
        turned = watched.to_zero != to_zero
        if turned:
            self._measures.offer(watched)
        came_to_rest = playing and not player.playing
        scored = self._scoring is not None and self._scoring.busy and not self._scoring.poll()
        due = changed and (watched.head < LONG or not player.playing or self._ticks % 3 == 0)
        if due or turned or came_to_rest or scored or (playing and self._ticks % SLOW == 0):
            self._redraw()
        else:
            self.say_status()

    def _draw(self, watched: RaceReader) -> None:
        measure, span, to_zero = self.measure, self.span, watched.to_zero
        picture = convergence(
            watched.curves(), measure=measure, axis=self.axis, span=span, baseline=watched.levels(), to_zero=to_zero,
            dark=self.dark, rests=not self.player.playing, size=self.picture.size,
            note="recorded earlier" if watched.race.recorded else "",
        )  # fmt: skip
        self.picture.show(picture, of=(watched, measure, span))
        self._on_screen = watched.number, min(watched.seen, watched.last)

    @property
    def axes(self) -> NumberAxes:
        """What stands along and up in the picture: of a gap or a penalty no column of what ran."""
        shown = MEASURES[self.measure]
        up = () if self.measure in ("gap", "alpha") else (shown.train, shown.heldout)
        return NumberAxes(
            self.picture, "iteration" if self.axis == "iterations" else "", tuple(name for name in up if name)
        )

    def _resized(self) -> None:
        if not self.player.playing:
            with pn.io.hold():
                self._redraw()

    def _redraw(self) -> None:
        """Draw curves, words and slider of one iteration: on a busy machine a second may pass until the next ones."""
        if self.player.shown is not None:
            self._draw(self.player.shown)
        self._show_words()
        self.say_status(moves=True)

    # -- words --------------------------------------------------------------------------------------------------------

    def say_status(self, moves: bool = False) -> None:
        """Bring the buttons and the word beside them up to date; `moves`: the slider too, while it plays."""
        player = self.player
        drawn = {"drawn": self._on_screen}  # a long race's picture is not fed at every tick
        self.transport.show(scrubs=moves or not player.playing, **(player.buttons | drawn))
        say(self.status, f"<span class='quiet'>{player.word}</span>")
        if player.shown is None:  # nothing else fills the place of the sentence
            say(self.sentence, f"<p class='sentence'>{_COMING}</p>" if player.waits else "")

    def _show_words(self) -> None:
        player, watched = self.player, self.player.shown
        if watched is None:
            return
        at_end = not player.playing or player.coming is not None or (self.loop and watched.head >= watched.last)
        ended = watched.shown and at_end
        lanes = [racer.lane(upto=None if ended else watched.head, ended=ended) for racer in watched.racers]
        result = verdict(lanes, by=watched.race.control.stopped_by, unit=self.axis)
        self._told = result.sentence
        text = "Getting ready &hellip;" if result.code == "waiting" and player.playing else safe(result.sentence, 2000)
        say(self.sentence, f"<p class='sentence'>{text}</p>")
        say(self.side, words.values_html(watched, self.axis, self.dark) + words.separation_html(watched, self.dark))
        if ended and not watched.cut and self._scoring is None:
            self._scoring = score_heldout(watched)
        self._numbers.refresh()

    def _numbers_html(self) -> str:
        shown, dark = self.player.shown, self.dark
        return "" if shown is None else words.ends_html(shown, dark) + words.numbers_html(shown, dark)

    def _mark(self) -> None:
        """Fade what belongs to settings that are no longer there."""
        self.player.outdated = self.outdated
        fade(self.outdated, self.picture.pane, self.side, self.sentence)
        self.say_status()

    def origin(self) -> Origin:
        """Return what stands above and below the picture when it is saved."""
        return Origin("Convergence") if self.player.shown is None else Origin(self._told, self.made_from())

    def _csv(self) -> str:
        shown = self.player.shown
        if shown is None:
            return ""
        frame, about = shown.race.frame(), race_provenance(shown.race, __version__)
        if shown.cut:
            count = frame["racer"].map({k: len(racer) + racer.tried for k, racer in enumerate(shown.racers)})
            frame = frame[frame.groupby("racer").cumcount() < count]
            about |= {"stopped at": shown.limit, "computed to": shown.computed}
        return to_csv(frame, about, shown.race.recipes)


class MeasureMenu:
    """The menu of a view that has a parameter `measure`."""

    def __init__(self, view: RaceView):
        self._view, self._wished, self._falling_back = view, view.measure, Updating()
        look: dict[str, Any] = {"size": "small", "width": 220, "margin": (0, 12, 0, 0)}
        self.select = pmui.Select(label="Measure", options=_options(MEASURES), value=view.measure, **look)
        self.select.link(view, value="measure", bidirectional=True)
        view.param.watch(self._chosen, "measure")

    def offer(self, watched: RaceReader) -> None:
        """Offer what there is of a race."""
        options = _options(watched.measures)
        with self._falling_back:
            self.select.options = options
            self._view.measure = self._wished if self._wished in options.values() else "nll"

    def _chosen(self, event: Any) -> None:
        if not self._falling_back:
            self._wished = event.new


def _options(measures: Iterable[str]) -> dict[str, str]:
    return {MEASURES[key].words: key for key in measures}
