"""The row of buttons under a live picture: run or pause, step back, step, stop, and the slider that scrubs.

Stop ends a race at what is on the screen, which only the browser knows: what was sent to it is on its way for a moment.
So it says at a click what it had been given by then, and, where somebody follows elsewhere, from time to time.

The buttons carry the CSS classes by which a page's keyboard finds them (space, left, right, s). What a press means is
the view's business; here is only which button may be pressed when.
"""

import uuid
from collections.abc import Callable
from typing import Any

import panel as pn
import panel_material_ui as pmui
import param

from alrviz.views.core.panes import Updating
from alrviz.views.core.style import ICONS

SPEEDS = (0.5, 1.0, 2.0, 4.0)  # times as fast as usual
SLIDER_FOCUS = {
    "& .MuiSlider-thumb.Mui-focusVisible": {
        "outline": "3px solid",
        "outlineColor": "primary.main",
        "outlineOffset": "2px",
    }
}

# Where the buttons leave the slider less than can be aimed at, as in a notebook's cell, it has a line of its own.
_ROOM = """
:host { flex-wrap: wrap; row-gap: 4px; }
:host > .alrviz-wide { flex: 1 1 96px !important; min-width: 96px; }
"""
_SNUG = {"minWidth": 0, "padding": "6px 4px", "textTransform": "none", "& .MuiButton-icon": {"margin": "0 2px 0 0"}}

# The click is heard before the button's own handler. The button is found by a class of its own: it may be redrawn.
_LOOK = """
const looks = (window.alrvizLooks ||= new Map());
if (!looks.size) document.addEventListener("click", (event) => {
  const path = event.composedPath();
  for (const [mark, data] of looks)
    if (path.some((part) => part.classList && part.classList.contains(mark)))
      data.pressed = [...data.drawn, (data.pressed[2] || 0) + 1];
}, true);
looks.set("%s", cb_obj);
if (cb_obj.tells && !cb_obj.alrvizDue) cb_obj.alrvizDue = setTimeout(() => {
  cb_obj.alrvizDue = null;
  if (String(cb_obj.seen) !== String(cb_obj.drawn)) cb_obj.seen = [...cb_obj.drawn];
}, 100);
"""


class StopButton(pmui.Button):
    """Stop, and what the browser says of what is on the screen: each a race's number and the last iteration of it."""

    drawn = param.List(default=[0, -1], doc="What the browser is given to draw.")
    pressed = param.List(default=[0, -1, 0], doc="What it showed when Stop was pressed, and the how manieth press.")
    seen = param.List(default=[0, -1], doc="What it has shown, said while `tells`.")
    tells = param.Boolean(default=False, doc="Whether it says what it has shown.")


class Transport:
    """Buttons and slider.

    Args:
        run, back, step, stop: called when pressed. scrub: called with an iteration when the reader moves the slider.
        rest: called when what was computed beyond Stop is to be shown. pressed_at: called after `stop` with what the
            screen had shown, a race's number and an iteration. seen: the same while `tell` is on. playback: the menu of
            speed and loop, where there is one.
    """

    def __init__(
        self,
        run: Callable[[], None],
        back: Callable[[], None],
        step: Callable[[], None],
        stop: Callable[[], None],
        scrub: Callable[[int], None],
        rest: Callable[[], None] = lambda: None,
        pressed_at: Callable[[int, int], None] = lambda number, seen: None,
        seen: Callable[[int, int], None] = lambda number, seen: None,
        playback: "Playback | None" = None,
    ):
        self._scrub = scrub
        self._moving = Updating()
        self.run = key_button("Run", "play_arrow", "space", "Run or pause (space)", run, variant="contained", width=112)
        self.back = key_button("Back", "undo", "left", "Back: one iteration less (left arrow)", back)
        self.step = key_button("Step", "redo", "right", "Step: one iteration more (right arrow)", step)
        self.stop = key_button("Stop", "stop", "s", "Stop: no later point appears (s)", stop, kind=StopButton)
        mark = f"alrviz-stop-{uuid.uuid4().hex[:12]}"
        self.stop.css_classes = [*self.stop.css_classes, mark]
        for name in ("drawn", "tells"):  # one at a time: of several in one call Panel keeps the last
            self.stop.jscallback(**{name: _LOOK % mark})
        self.stop.param.watch(lambda event: pressed_at(*event.new[:2]), "pressed")
        self.stop.param.watch(lambda event: seen(*event.new), "seen")
        self.rest = pmui.Button(label="", variant="text", size="small", visible=False, margin=0, align="center")
        self.rest.on_click(lambda _: rest())
        # Its own words of the value come a moment after it, and the first ones without it: the label says it.
        self.slider = pmui.IntSlider(
            label="Iteration: 0", show_value=False, start=0, end=1, value=0, step=1, sizing_mode="stretch_width",
            margin=(0, 16), size="small", sx={**SLIDER_FOCUS, "& .MuiFormLabel-root": {"whiteSpace": "nowrap"}},
            css_classes=["alrviz-wide"],
        )  # fmt: skip
        self.slider.param.watch(self._moved, ["value", "value_throttled"])
        menu = [] if playback is None else [playback.menu]
        self.panel = pn.Row(
            self.run, self.back, self.step, self.stop, *menu, self.slider, self.rest,
            sizing_mode="stretch_width", margin=0, css_classes=["alrviz-run"], stylesheets=[_ROOM],
        )  # fmt: skip

    def _moved(self, *events: Any) -> None:
        if not self._moving:
            self._scrub(int(events[-1].new))

    def show(
        self,
        *,
        running: bool,
        head: int,
        last: int,
        scrubs: bool,
        may_run: bool,
        may_step: bool,
        may_stop: bool,
        rest: int = 0,
        drawn: tuple[int, int] | None = None,
        counted: str = "iteration",
    ) -> None:
        """Bring the row up to date; only what differs reaches the browser.

        scrubs: whether the slider is moved too; while a race runs it need not follow every tick. rest: the last
        iteration that was computed beyond Stop, 0 for none. drawn: what is sent to be drawn, as `StopButton` has it.
        counted: what the slider counts.
        """
        if drawn is not None:
            change(self.stop, drawn=list(drawn))
        label = f"Show all {rest:,}" if rest else ""
        hint = f"{label}: what was computed beyond, up to {counted} {rest:,}" if rest else ""
        change(self.rest, visible=bool(rest), label=label, description=hint)
        change(self.run, label="Pause" if running else "Run", icon="pause" if running else "play_arrow")
        change(self.run, disabled=not (may_run or running))
        change(self.back, disabled=head <= 0)
        change(self.step, disabled=not may_step)
        change(self.stop, disabled=not may_stop)
        if scrubs:
            self._place(head, last, counted)

    def _place(self, head: int, last: int, counted: str) -> None:
        with self._moving:
            end = max(last, 1)
            if end > self.slider.end:
                change(self.slider, end=end)
            value = min(max(head, 0), end)
            change(self.slider, value=value, label=f"{counted.capitalize()}: {value:,}", disabled=last <= 0)
            change(self.slider, end=end)


class Playback:
    """The menu of a view that has parameters `speed` and `loop`: how fast it plays, and what comes after the end."""

    def __init__(self, view: Any):
        self._view = view
        self.menu = pmui.MenuButton(
            items=[], label="", icon_size="20px", variant="text", color="default", margin=0, align="center",
            stylesheets=[ICONS], sx=_SNUG,
        )  # fmt: skip
        self.menu.on_click(self._choose)
        view.param.watch(lambda _: self._show(), ["speed", "loop"])
        self._show()

    def _choose(self, item: Any) -> None:
        if item is not None:
            self._view.param.update(**item["sets"])

    def _show(self) -> None:
        speed, loop = self._view.speed, self._view.loop
        choices: list[tuple[str, dict[str, Any]]] = [(f"Speed {of:g}x", {"speed": of}) for of in SPEEDS]
        choices += [("Hold at the end", {"loop": False}), ("Loop: play again from the start", {"loop": True})]
        chosen = {"speed": speed, "loop": loop}.items()
        items: list[dict[str, Any]] = [
            {"label": words, "icon": f"radio_button_{'checked' if sets.items() <= chosen else 'unchecked'}",
             "sets": sets, "selectable": False}
            for words, sets in choices
        ]  # fmt: skip
        items.insert(len(SPEEDS), {"label": "---"})
        # What is heard begins with what is seen.
        hint = f"{speed:g}x: playback speed, loop or hold at the end"
        self.menu.param.update(items=items, label=f"{speed:g}x", description=hint, icon="repeat" if loop else "speed")


def change(widget: Any, **params: Any) -> None:
    """Set what differs: even what is set to what it is goes to the browser."""
    changed = {name: value for name, value in params.items() if getattr(widget, name) != value}
    if changed:
        widget.param.update(**changed)


def live_slider(kind: Any, moved: Callable[[Any], None], **params: Any) -> Any:
    """Return a slider, of class `kind`, that pictures follow while it is dragged; its label says its value.

    moved: called with the event of its value.
    """
    look = {"show_value": False, "tooltips": False, "size": "small", "sizing_mode": "stretch_width", "margin": 0}
    slider = kind(**{**look, "sx": SLIDER_FOCUS, **params})
    slider._debounce = 10  # ms; Panel's own 50 are felt by a hand that drags
    slider.param.watch(moved, "value")
    return slider


def key_button(
    label: str, icon: str, key: str, hint: str, pressed: Callable[[], None], kind: Any = pmui.Button, **params: Any
) -> Any:
    """Return a button, of class `kind`, that the page's keyboard finds by `key`: "space", "left", "right", a letter."""
    button = kind(
        label=label, icon=icon, icon_size="20px", description=hint, css_classes=[f"alrviz-key-{key}"],
        stylesheets=[ICONS], margin=(0, 8, 0, 0), **{"variant": "outlined", **params},
    )  # fmt: skip
    button.on_click(lambda _: pressed())
    return button
