"""Row of buttons under a live picture: run or pause, back, step, stop, and a slider.

Stop ends a race at the step on the screen, which only the browser knows, because messages take a moment to arrive. So
the browser reports what it has drawn at a click on Stop and, if spectators follow it, repeatedly.

CSS classes identify the buttons for keyboard shortcuts (space, left, right, s). Views decide what the buttons do.
"""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import panel as pn
import panel_material_ui as pmui
import param
from param.parameterized import Event

from alrviz.views.core.panes import Updating
from alrviz.views.core.style import ICONS

PLAYBACK_SPEEDS = (0.5, 1.0, 2.0, 4.0)  # factors of the usual speed
SLIDER_FOCUS = {
    "& .MuiSlider-thumb.Mui-focusVisible": {
        "outline": "3px solid",
        "outlineColor": "primary.main",
        "outlineOffset": "2px",
    }
}

# The slider moves to a second line where it would be too short to use, as in a notebook's cell.
_WRAP_STYLE = """
:host { flex-wrap: wrap; row-gap: 4px; }
:host > .alrviz-wide { flex: 1 1 96px !important; min-width: 96px; }
"""
_COMPACT_STYLE = {
    "minWidth": 0,
    "padding": "6px 4px",
    "textTransform": "none",
    "& .MuiButton-icon": {"margin": "0 2px 0 0"},
}

# The listener runs before the button's own handler. It finds the button by a unique class, because React may redraw it.
_REPORT_SCREEN = """
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
    """Stop button that reports what is on the screen, as [reader number, last iteration]."""

    drawn = param.List(default=[0, -1], doc="The latest picture sent to the browser.")
    pressed = param.List(
        default=[0, -1, 0], doc="The picture on the screen at a click on Stop, and the click's number."
    )
    seen = param.List(default=[0, -1], doc="The picture on the screen; updated while `tells`.")
    tells = param.Boolean(default=False, doc="Whether the browser updates `seen`.")


@dataclass(frozen=True, slots=True)
class ButtonState:
    """State of the buttons and the slider.

    Attributes:
        drawn: see `StopButton`.
        last_hidden: the last iteration computed beyond Stop; 0 if there is none.
        running: whether Run shows "Pause".
        head, last: the step shown and the last one.
        may_step, may_stop: whether these buttons are enabled.
        step_name: unit of the steps.
    """

    drawn: tuple[int, int]
    last_hidden: int = 0
    running: bool = False
    head: int = 0
    last: int = 0
    may_step: bool = True
    may_stop: bool = False
    step_name: str = "iteration"


class Transport:
    """Buttons and slider.

    Args:
        presses: the `PlayerButtons` whose methods the buttons and the slider call.
        playback: menu of speed and loop, if any.
    """

    def __init__(self, presses: Any, playback: "Playback | None" = None):
        self._presses, self._moving = presses, Updating()
        run_params: dict[str, Any] = {"variant": "contained", "width": 112}
        self.run = key_button("Run", "play_arrow", "space", "Run or pause (space)", presses.press_run, **run_params)
        self.back = key_button("Back", "undo", "left", "Back: one iteration less (left arrow)", presses.press_back)
        self.step = key_button("Step", "redo", "right", "Step: one iteration more (right arrow)", presses.press_step)
        stop_hint = "Stop: no later point appears (s)"
        self.stop = key_button("Stop", "stop", "s", stop_hint, presses.press_stop, kind=StopButton)
        css_class = f"alrviz-stop-{uuid.uuid4().hex[:12]}"
        self.stop.css_classes = [*self.stop.css_classes, css_class]
        for name in ("drawn", "tells"):  # one at a time: of several in one call Panel keeps the last
            self.stop.jscallback(**{name: _REPORT_SCREEN % css_class})
        self.stop.param.watch(lambda event: presses.end_at_screen(*event.new[:2]), "pressed")
        self.stop.param.watch(lambda event: presses.report_screen(*event.new), "seen")
        self.show_rest = pmui.Button(label="", variant="text", size="small", visible=False, margin=0, align="center")
        self.show_rest.on_click(lambda _: presses.show_hidden())
        # The label shows the value, because the slider's own text appears late and at first without the value.
        self.slider = pmui.IntSlider(
            label="Iteration: 0", show_value=False, start=0, end=1, value=0, step=1, sizing_mode="stretch_width",
            margin=(0, 16), size="small", sx={**SLIDER_FOCUS, "& .MuiFormLabel-root": {"whiteSpace": "nowrap"}},
            css_classes=["alrviz-wide"],
        )  # fmt: skip
        self.slider.param.watch(self._slider_moved, ["value", "value_throttled"])
        menu = [] if playback is None else [playback.menu]
        self.panel = pn.Row(
            self.run, self.back, self.step, self.stop, *menu, self.slider, self.show_rest,
            sizing_mode="stretch_width", margin=0, css_classes=["alrviz-run"], stylesheets=[_WRAP_STYLE],
        )  # fmt: skip

    def _slider_moved(self, *events: Event) -> None:
        if not self._moving:
            self._presses.scrub(int(events[-1].new))

    def show(self, state: ButtonState, *, move_slider: bool) -> None:
        """Update the row; only differences are sent to the browser.

        move_slider: whether to move the slider too; while a race runs it need not follow every tick.
        """
        last_hidden, step_name = state.last_hidden, state.step_name
        label = f"Show all {last_hidden:,}" if last_hidden else ""
        hint = f"{label}: steps computed after Stop, up to {step_name} {last_hidden:,}" if last_hidden else ""
        change(self.show_rest, visible=bool(last_hidden), label=label, description=hint)
        run_look = {"label": "Pause", "icon": "pause"} if state.running else {"label": "Run", "icon": "play_arrow"}
        change(self.run, **run_look)
        change(self.back, disabled=state.head <= 0)
        change(self.step, disabled=not state.may_step)
        change(self.stop, disabled=not state.may_stop, drawn=list(state.drawn))
        if move_slider:
            self._place(state.head, state.last, step_name)

    def _place(self, head: int, last_step: int, step_name: str) -> None:
        with self._moving:
            slider_end = max(last_step, 1)
            if slider_end > self.slider.end:
                change(self.slider, end=slider_end)
            value = min(max(head, 0), slider_end)
            change(self.slider, value=value, label=f"{step_name.capitalize()}: {value:,}", disabled=last_step <= 0)
            change(self.slider, end=slider_end)


class Playback:
    """Menu for a view's parameters `speed` and `loop`."""

    def __init__(self, view: Any):
        self._view = view
        self.menu = pmui.MenuButton(
            items=[], label="", icon_size="20px", variant="text", color="default", margin=0, align="center",
            stylesheets=[ICONS], sx=_COMPACT_STYLE,
        )  # fmt: skip
        self.menu.on_click(self._choose)
        view.param.watch(lambda _: self._show(), ["speed", "loop"])
        self._show()

    def _choose(self, item: Any) -> None:
        if item is not None:
            self._view.param.update(**item["sets"])

    def _show(self) -> None:
        speed, loop = self._view.speed, self._view.loop
        param_choices: list[tuple[str, dict[str, Any]]] = [
            (f"Speed {factor:g}x", {"speed": factor}) for factor in PLAYBACK_SPEEDS
        ]
        param_choices += [("Hold at the end", {"loop": False}), ("Loop: play again from the start", {"loop": True})]
        current = {"speed": speed, "loop": loop}.items()
        items: list[dict[str, Any]] = [
            {"label": item_label, "icon": f"radio_button_{'checked' if sets.items() <= current else 'unchecked'}",
             "sets": sets, "selectable": False}
            for item_label, sets in param_choices
        ]  # fmt: skip
        items.insert(len(PLAYBACK_SPEEDS), {"label": "---"})
        # Starts with the visible label, so that voice control finds the button.
        hint = f"{speed:g}x: playback speed, loop or hold at the end"
        self.menu.param.update(items=items, label=f"{speed:g}x", description=hint, icon="repeat" if loop else "speed")


def change(widget: Any, **params: Any) -> None:
    """Set those params of a widget that differ; Panel sends even unchanged values to the browser."""
    differences = {name: value for name, value in params.items() if getattr(widget, name) != value}
    if differences:
        widget.param.update(**differences)


def live_slider(kind: Any, on_move: Callable[[Any], None], **params: Any) -> Any:
    """Return a slider that reports every value while it is dragged, and whose label shows the value.

    Args:
        kind: class of the slider.
        on_move: called with param's event for each new value.
        params: parameters of the slider.
    """
    slider_params = {
        "show_value": False,
        "tooltips": False,
        "size": "small",
        "sizing_mode": "stretch_width",
        "margin": 0,
    }
    slider = kind(**{**slider_params, "sx": SLIDER_FOCUS, **params})
    slider._debounce = 10  # ms; Panel's default of 50 is noticeable while dragging
    slider.param.watch(on_move, "value")
    return slider


def key_button(
    label: str, icon: str, key: str, hint: str, on_press: Callable[[], None], kind: Any = pmui.Button, **params: Any
) -> Any:
    """Return a button that calls `on_press` when clicked or when its key is pressed.

    label, icon, hint: its text, the name of its icon, its tooltip; key: "space", "left", "right" or a letter; kind: the
    widget's class, made with `params`.
    """
    button = kind(
        label=label, icon=icon, icon_size="20px", description=hint, css_classes=[f"alrviz-key-{key}"],
        stylesheets=[ICONS], margin=(0, 8, 0, 0), **{"variant": "outlined", **params},
    )  # fmt: skip
    button.on_click(lambda _: on_press())
    return button
