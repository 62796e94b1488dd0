"""The row of buttons under a live picture: run or pause, step back, step, stop, and the slider that scrubs.

The buttons carry the CSS classes by which a page's keyboard finds them (space, left, right, s). What a press means is
the view's business; here is only which button may be pressed when.
"""

from collections.abc import Callable
from typing import Any

import panel as pn
import panel_material_ui as pmui

from alrviz.views.echo import Echo
from alrviz.views.style import ICONS

SLIDER_FOCUS = {
    "& .MuiSlider-thumb.Mui-focusVisible": {
        "outline": "3px solid",
        "outlineColor": "primary.main",
        "outlineOffset": "2px",
    }
}


class Transport:
    """Buttons and slider.

    Args:
        run, back, step, stop: called when pressed. scrub: called with an iteration when the reader moves the slider.
    """

    def __init__(
        self,
        run: Callable[[], None],
        back: Callable[[], None],
        step: Callable[[], None],
        stop: Callable[[], None],
        scrub: Callable[[int], None],
    ):
        self._scrub = scrub
        self._moving = False
        self._echo = Echo()
        self.run = key_button("Run", "play_arrow", "space", "Run or pause (space)", run, variant="contained", width=112)
        self.back = key_button("Back", "undo", "left", "Back: one iteration less (left arrow)", back)
        self.step = key_button("Step", "redo", "right", "Step: one iteration more (right arrow)", step)
        self.stop = key_button("Stop", "stop", "s", "Stop: no later point appears (s)", stop)
        self.slider = pmui.IntSlider(
            label="Iteration",
            start=0,
            end=1,
            value=0,
            step=1,
            sizing_mode="stretch_width",
            margin=(0, 16),
            size="small",
            sx=SLIDER_FOCUS,
        )
        self.slider.param.watch(self._moved, "value")
        self.slider.param.watch(self._moved, "value_throttled")  # the reader let go: never the browser's own
        self.panel = pn.Row(
            self.run, self.back, self.step, self.stop, self.slider, sizing_mode="stretch_width", margin=0
        )

    def _moved(self, event: Any) -> None:
        if self._moving or (event.name == "value" and self._echo.repeats(int(event.new))):
            return
        self._echo.moved()
        self._scrub(int(event.new))

    def show(
        self, *, running: bool, head: int, last: int, scrubs: bool, may_run: bool, may_step: bool, may_stop: bool
    ) -> None:
        """Bring the row up to date; only what differs reaches the browser.

        scrubs: whether the slider is moved too; while a race runs it need not follow every tick.
        """
        change(self.run, label="Pause" if running else "Run", icon="pause" if running else "play_arrow")
        change(self.run, disabled=not (may_run or running))
        change(self.back, disabled=head <= 0)
        change(self.step, disabled=not may_step)
        change(self.stop, disabled=not may_stop)
        if scrubs:
            self._place(head, last)

    def _place(self, head: int, last: int) -> None:
        self._moving = True
        try:
            end = max(last, 1)
            self._echo.place(min(max(head, 0), end))
            if end > self.slider.end:
                change(self.slider, end=end)
            change(self.slider, value=min(max(head, 0), end), disabled=last <= 0)
            change(self.slider, end=end)
        finally:
            self._moving = False


def change(widget: Any, **params: Any) -> None:
    """Set what differs: even what is set to what it is goes to the browser."""
    changed = {name: value for name, value in params.items() if getattr(widget, name) != value}
    if changed:
        widget.param.update(**changed)


def key_button(label: str, icon: str, key: str, hint: str, pressed: Callable[[], None], **params: Any) -> Any:
    """Return a button that the page's keyboard finds by `key`: "space", "left", "right" or a letter."""
    button = pmui.Button(
        label=label,
        icon=icon,
        icon_size="20px",
        description=hint,
        css_classes=[f"alrviz-key-{key}"],
        stylesheets=[ICONS],
        margin=(0, 8, 0, 0),
        **{"variant": "outlined", **params},
    )
    button.on_click(lambda _: pressed())
    return button
