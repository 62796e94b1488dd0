"""RaceView: a race that can be watched, run, paused, stepped, scrubbed and stopped; alone in a notebook or in a page.

The panes are built once. Worker threads only append to traces; the view's pump (its own periodic callback, or a page's)
reads what is new every 100 ms and feeds it to the picture in one batch. The view computes nothing: numbers come from
the traces, milestones and the sentence from `studies`.
"""

import logging
import threading
import uuid
from collections.abc import Callable
from functools import wraps
from typing import Any

import panel as pn
import panel_material_ui as pmui
import param
from panel.io.notebook import push_notebook
from panel.viewable import Viewer

from alrviz import __version__
from alrviz.pictures.measures import AXES, MEASURES
from alrviz.studies.export import race_about, to_csv
from alrviz.studies.heldout import heldout_losses
from alrviz.studies.verdict import verdict
from alrviz.views import words
from alrviz.views.folded import Folded
from alrviz.views.live import LivePicture
from alrviz.views.ready import page_ready
from alrviz.views.style import CSS, HEARD, safe
from alrviz.views.transport import Transport
from alrviz.views.watched import Watched

_log = logging.getLogger(__name__)

TICK = 100  # ms
HEIGHT = 424  # px of picture and buttons: all of it is seen at 1280x720; more when many racers need words
_WORDS = {"& .MuiToggleButton-root": {"fontSize": "1rem", "textTransform": "none", "py": "4px"}}
SLOW = 5  # ticks between two looks at what changes slowly: milestones, the table of numbers
_SAVE = """
const {name, kind, file} = {name: %r, kind: %r, file: %r};
for (const doc of Bokeh.documents) {
  const model = doc.get_model_by_name(name);
  const view = model && Bokeh.index.find_one(model);
  if (!view) continue;
  view.export(kind).to_blob().then((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = file + "." + kind;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
  break;
}
"""


def _as_one_message(press: Callable[..., None]) -> Callable[..., None]:
    """Send what a press changes in one message: words that say "stopped" may not arrive before the last points."""

    @wraps(press)
    def pressed(*args: Any) -> None:
        with pn.io.hold():
            press(*args)

    return pressed


class RaceView(Viewer):
    """The live view of a race.

    Args:
        race: what `alrviz.race` returned (or a race that was recorded).
        again: called when Run or Step is pressed after the race has ended or its settings are outdated; returns the
            race to run next, or None. Without it the same recipes race once more.
        wake: called when something begins to move, by a page that calls `pump` itself from then on; without it the view
            has a periodic callback of its own.

    >>> import alrviz
    >>> recipes = [alrviz.Recipe("lr", alpha=0), alrviz.Recipe("alr", alpha=0)]
    >>> view = alrviz.RaceView(alrviz.race(alrviz.load_demo("led", rows=300), recipes))
    """

    measure = param.Selector(default="nll", objects=list(MEASURES), doc="What the picture shows: a key of `MEASURES`.")
    axis = param.Selector(default="iterations", objects=list(AXES), doc="What it counts along: a key of `AXES`.")
    outdated = param.Boolean(default=False, doc="Whether settings have changed since the race shown was made.")

    def __init__(
        self,
        race: Any = None,
        *,
        again: Callable[[], Any] | None = None,
        wake: Callable[[], None] | None = None,
        **params: Any,
    ):
        super().__init__(**params)
        self._again = again or self._same_again
        self._woken = wake
        self._callback: Any = None
        self._ticks = 0
        self._watched: Watched | None = None
        self._next: Watched | None = None
        self._playing = False
        self._judged: threading.Thread | None = None
        self._due = False  # whether the words still lack what that thread scores
        self._build()
        self._wished, self._falling_back = self.measure, False
        self.param.watch(lambda _: self._measure_chosen(), "measure")
        self.param.watch(lambda _: self._after(), "axis")
        self.param.watch(lambda _: self._mark(), "outdated")
        if race is not None:
            self.show(race)

    # -- parts --------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        name = f"alrviz-race-{uuid.uuid4().hex[:12]}"
        self.picture = LivePicture(name)
        self.transport = Transport(self.press_run, self.press_back, self.press_step, self.press_stop, self.scrub)
        self.sentence = _html(height=52, styles={"opacity": "1"})
        self.status = pn.pane.HTML("", stylesheets=[CSS], align="center", margin=(0, 0, 0, 8))
        self.side = _html(width=336, sizing_mode="stretch_height", margin=(0, 0, 0, 16))
        self._numbers = _html()
        self._folded = Folded("Numbers", pmui.Row(*self._downloads(name), margin=(0, 0, 8, 0)), self._numbers)
        self._folded.param.watch(lambda _: self._show_numbers(), "open")
        self._measures = pmui.Select(
            label="Measure", options=_measures(True), value=self.measure, size="small", width=220, margin=(0, 12, 0, 0)
        )
        self._measures.link(self, value="measure", bidirectional=True)
        self._axes = pmui.RadioButtonGroup(
            options=list(AXES),
            value=self.axis,
            size="small",
            margin=(0, 12, 0, 0),
            label="Counted along",  # for those who hear the page; the words on the buttons say it to the eye
            stylesheets=[HEARD],
            sx=_WORDS,
        )
        self._axes.link(self, value="axis", bidirectional=True)
        self.head = pmui.Row(
            self._measures,
            self._axes,
            pn.HSpacer(),
            self.status,
            sizing_mode="stretch_width",
            margin=(0, 0, 4, 0),
        )
        left = pn.Column(self.head, self.picture.pane, self.transport.panel, sizing_mode="stretch_both", margin=0)
        self.body = pn.Row(left, self.side, sizing_mode="stretch_width", height=HEIGHT, margin=0)
        self.layout = pn.Column(self.sentence, self.body, self._folded, sizing_mode="stretch_width", margin=0)

    def _downloads(self, name: str) -> list[Any]:
        buttons = []
        for kind in ("png", "svg"):
            button = pmui.Button(
                label=kind.upper(),
                variant="text",
                size="small",
                description=f"Save the picture as {kind.upper()}",
                margin=0,
            )
            button.js_on_click(code=_SAVE % (name, kind, "alrviz-race"))
            buttons.append(button)
        self._csv = pmui.FileDownload(
            callback=self._csv_file,
            filename="alrviz-race.csv",
            label="CSV",
            size="small",
            description="Save all numbers, with recipes, seed, data hash and version",
            margin=0,
        )
        self._csv.variant = "text"  # given to the constructor it is taken for two styles at once, with a warning
        return [*buttons, self._csv]

    def __panel__(self) -> Any:
        """Return the layout; the view comes alive with it."""
        self._wake()
        return self.layout

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        """Show the view in a notebook; Panel's scripts, where they are not loaded yet, come from this machine."""
        if not pn.extension._loaded:
            pn.extension(inline=True)
        return super()._repr_mimebundle_(include, exclude)

    # -- which race ---------------------------------------------------------------------------------------------------

    @property
    def race(self) -> Any:
        """The race that the buttons move."""
        watched = self._next or self._watched
        return None if watched is None else watched.race

    def show(self, race: Any, *, fresh: bool = False) -> None:
        """Take up a race: what it has computed is shown at once, and followed from there.

        fresh: it is about to start; what was shown stays until it has points.
        """
        watched = Watched(race)
        self._next = None
        self._judged, self._due = None, False
        self._stepping, self._halted = -1, False
        self.outdated = False
        if fresh and self._watched is not None:
            self._next, self._playing = watched, True
        else:
            watched.pull()
            watched.move(watched.last)
            self._playing = not race.ended and (race.phase in ("preparing", "running") or self._waits(race))
            self._take(watched)
        self._wake()

    def _take(self, watched: Watched) -> None:
        self._watched, self._next = watched, None
        lines = sum(2 if len(racer.name) > 10 else 1 for racer in watched.racers)
        self.body.height = max(HEIGHT, 220 + 30 * lines + 28 * len(watched.racers))
        self._offer_measures(watched)
        self._redraw()
        self._show_slow()

    def _offer_measures(self, watched: Watched) -> None:
        """Offer what can be measured; a gap needs one objective, and one whose lowest value is not known to be 0."""
        options = _measures(watched.same_objective and not watched.to_zero)
        wished = self._wished if self._wished in options.values() else "nll"
        self._falling_back = True
        try:
            self._measures.options = options
            self.measure = wished
        finally:
            self._falling_back = False

    def _measure_chosen(self) -> None:
        if not self._falling_back:
            self._wished = self.measure
            self._redraw()

    def _same_again(self) -> Any:
        from alrviz.studies.race import race

        old = self.race
        return None if old is None or getattr(old, "recorded", False) else race(old.dataset, old.recipes)

    # -- buttons ------------------------------------------------------------------------------------------------------

    @property
    def running(self) -> bool:
        """Whether the picture moves, or is about to."""
        return self.race is not None and self._playing

    @property
    def _read_only(self) -> bool:
        return bool(getattr(self.race, "read_only", False))

    @_as_one_message
    def press_run(self) -> None:
        """Run or pause; where there is no race to go on with, a fresh one is started."""
        self._halted = False
        race = self.race
        if self._playing:
            self._playing = False
            if not race.ended:
                race.pause()
        elif race is None or self.outdated or self._finished():
            if (fresh := self._again()) is not None:
                self.show(fresh, fresh=True)
                self._playing = True
                fresh.start()
        else:
            self._playing = True
            if not race.ended:
                race.start() if race.phase == "waiting" else race.resume()
        self._after()

    @_as_one_message
    def press_step(self) -> None:
        """Show one iteration more; if it does not exist yet, have it computed."""
        self._halted = False
        if (self.race is None or self.outdated) and (fresh := self._again()) is not None:
            self.show(fresh, fresh=True)
        watched = self._next or self._watched
        if watched is None:
            return
        if self._playing and not watched.race.ended:
            watched.race.pause()
        self._playing = False
        self._pull(watched)
        if watched.head < watched.last:
            watched.move(watched.head + 1)
        elif not watched.race.ended:
            self._stepping = watched.last + 1
            watched.race.step()
        self._after()

    _stepping = -1
    _halted = False  # whether Stop was pressed while a race that had ended was still being shown

    def press_back(self) -> None:
        """Show one iteration less."""
        if self._watched is not None:
            self.scrub(self._watched.head - 1)

    @_as_one_message
    def scrub(self, iteration: int) -> None:
        """Show the race as it was at an iteration; a race that runs is paused."""
        self._halted = False
        if self._watched is None:
            return
        if self._playing and self.race is not None and not self.race.ended:
            self.race.pause()
        self._playing = False
        self._watched.move(iteration)
        self._after()

    @_as_one_message
    def press_stop(self) -> None:
        """Stop: what was computed is shown, and no later point appears."""
        race = self.race
        if race is None:
            return
        self._halted = self._playing and race.ended
        self._playing = False
        race.stop()
        watched = self._next or self._watched
        assert watched is not None
        self._pull(watched)
        watched.move(watched.last)
        if self._next is not None:
            self._take(self._next)
        self._after()

    def _finished(self) -> bool:
        return (
            self._next is None
            and self._watched is not None
            and self._watched.shown
            and (self._watched.head >= self._watched.last)
        )

    def _after(self) -> None:
        self._redraw()
        self._show_slow()
        self._wake()

    # -- the pump -----------------------------------------------------------------------------------------------------

    def _wake(self) -> None:
        """Have the pump started, if it rests."""
        if self._woken is not None:
            self._woken()
            return
        if self._callback is None:
            self._callback = pn.state.add_periodic_callback(self._tick, period=TICK, start=False)
        if not self._callback.running:
            self._callback.start()

    def _tick(self) -> None:
        if not page_ready():
            return
        if not self.pump() and self._callback is not None and self._callback.running:
            self._callback.stop()
        push_notebook(self.picture.pane)

    def pump(self) -> bool:
        """Read what is new and show it in one batch; returns whether there may be more."""
        with pn.io.hold():
            return self._advance()

    def _advance(self) -> bool:
        self._ticks += 1
        if self._next is not None:
            self._next.pull()
            if (self._next.begun and self._next.last >= 0) or self._next.race.ended:
                self._take(self._next)
        watched = self._watched
        if watched is None:
            return False
        to_zero = watched.to_zero
        new = self._pull(watched)
        moved = False
        if new and self._read_only:  # its owner runs it
            self._playing = True
        if self._next is None:
            if self._playing:
                moved = watched.follow()
            elif 0 <= self._stepping <= watched.last:
                watched.move(self._stepping)
                moved, self._stepping = True, -1
            if self._playing and watched.shown:
                self._pull(watched)  # its outcome may have come after the look above, and nothing looks again
                self._playing = False
                moved = True
        turned = watched.to_zero != to_zero
        if moved or new or turned:
            self.picture.show(watched, self.measure, self.axis)
        judged = self._due and self._judged is not None and not self._judged.is_alive()
        if judged:
            self._due = False
        if (moved and not self._playing) or turned or judged or self._ticks % SLOW == 0:
            self._show_slow()
        self._show_status()
        return self._alive()

    def _pull(self, watched: Watched) -> int:
        """Read what is new; the measures on offer change when NLL turns out to fall to 0."""
        to_zero = watched.to_zero
        new = watched.pull()
        if watched is self._watched and watched.to_zero != to_zero:
            self._offer_measures(watched)
        return new

    def _alive(self) -> bool:
        race = self.race
        if race is None or self._next is not None or self._playing or self._stepping >= 0:
            return race is not None
        return race.phase in ("preparing", "running") or self._due

    def _redraw(self) -> None:
        if self._watched is not None:
            self.picture.show(self._watched, self.measure, self.axis)
            self._show_status()

    # -- words --------------------------------------------------------------------------------------------------------

    def _show_status(self) -> None:
        race, watched = self.race, self._next or self._watched
        if race is None or watched is None:
            return
        last = watched.last if self._playing or race.ended else max(watched.seen, watched.last)
        fixed = self._read_only
        self.transport.show(
            running=self._playing and not fixed,
            head=watched.head,
            last=last,
            scrubs=not self._playing or self._ticks % SLOW == 0,
            may_run=not fixed,
            may_step=not fixed and (not race.ended or watched.head < watched.last or self.outdated),
            may_stop=not fixed
            and (self._playing or (not race.ended and (race.phase != "waiting" or self._waits(race)))),
        )
        _say(self.status, f"<span class='quiet'>{self._phase_words()}</span>")

    @staticmethod
    def _waits(race: Any) -> bool:
        """Whether it stands in a queue."""
        return race.phase == "waiting" and str(race.activity).startswith("waiting")

    def _phase_words(self) -> str:
        race, watched = self.race, self._next or self._watched
        assert watched is not None
        if self._read_only:
            return "read-only link"
        if self.outdated:
            return "<b class='bad'>outdated: press Run</b>"
        if getattr(race, "recorded", False):
            return "<b>recorded earlier</b>"
        if race.ended and not self._playing:
            stopped = any(r.outcome is not None and r.outcome.code == "stopped" for r in race.runs)
            return "stopped" if stopped or self._halted else "ended"
        if race.phase in ("waiting", "preparing"):
            return safe(race.activity) + (" …" if race.activity else "")
        return "running" if self._playing else "paused"

    def _show_slow(self) -> None:
        watched = self._watched
        if watched is None:
            return
        ended = watched.shown and not self._playing
        lanes = [racer.lane(ended=ended) for racer in watched.racers]
        told = verdict(lanes, by=getattr(watched.race, "stopped_by", "you"))
        text = "Getting ready &hellip;" if told.code == "waiting" and self._playing else safe(told.sentence, 2000)
        _say(self.sentence, f"<p class='sentence'>{text}</p>")
        _say(self.side, words.values_html(watched, self.axis) + words.separation_html(watched))
        if ended:
            self._judge(watched)
        self._show_numbers()

    def _show_numbers(self) -> None:
        if self._folded.open and self._watched is not None:
            _say(self._numbers, words.numbers_html(self._watched))

    def _mark(self) -> None:
        """Fade what belongs to settings that are no longer there."""
        faded = {"opacity": "0.45" if self.outdated else "1"}
        for part in (self.picture.pane, self.side, self.sentence):
            part.styles = faded
        self._show_status()

    # -- held-out losses row by row, on a thread ----------------------------------------------------------------------

    def _judge(self, watched: Watched) -> None:
        """Have the rows' own losses scored once a race has ended, so that its sentence can tell a tie."""
        if self._judged is not None:
            return

        def score() -> None:
            try:
                for racer in watched.racers:
                    racer.heldout = heldout_losses(racer.run)
            except Exception:  # the race is shown all the same; only its sentence cannot tell a tie
                _log.exception("the held-out rows could not be scored")

        self._due = True
        self._judged = threading.Thread(target=score, name="alrviz-heldout", daemon=True)
        self._judged.start()

    def _csv_file(self) -> Any:
        import io

        race = self.race
        frame = race.frame() if hasattr(race, "frame") else None
        text = "" if frame is None else to_csv(frame, race_about(race, __version__), race.recipes)
        return io.BytesIO(text.encode())


def _measures(gap: bool) -> dict[str, str]:
    return {of.words: key for key, of in MEASURES.items() if gap or key != "gap"}


def _html(**params: Any) -> Any:
    return pn.pane.HTML("", stylesheets=[CSS], **{"sizing_mode": "stretch_width", "margin": 0, **params})


def _say(pane: Any, text: str) -> None:
    if pane.object != text:
        pane.object = text
