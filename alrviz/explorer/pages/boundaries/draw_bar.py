"""The controls of drawing: what a press on the map means, and of which class a new point is."""

from collections.abc import Callable

import panel as pn
import panel_material_ui as pmui

from alrviz.explorer.session.sketch import Sketch
from alrviz.explorer.shell.theme import PANE_CSS, button
from alrviz.views.core.panes import say
from alrviz.views.core.style import HEARD, WORDS_ON_BUTTONS, safe

_ACTIONS = {"Add": "add", "Move": "move", "Remove": "remove"}
_HINTS = {
    "add": "Press on the left map to add a point",
    "move": "Drag a point of the left map",
    "remove": "Press a point of the left map to remove it",
}

_ONE_LINE = (
    ":host { height: 24px; } span { display: block; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }"
)


class DrawBar:
    """A row of controls, shown while a visitor draws.

    Args:
        acted: called when what a press means has changed.
        undone: called when the last change is to be taken back. cleared: called when all points are to go.
        done: called when the points are to be kept as a table. left: when they are to be forgotten.
    """

    def __init__(
        self,
        acted: Callable[[], None],
        undone: Callable[[], None],
        cleared: Callable[[], None],
        done: Callable[[], None],
        left: Callable[[], None],
    ):
        group: dict[str, object] = {"size": "small", "margin": (0, 12, 0, 0)}
        group |= {"stylesheets": [HEARD], "sx": WORDS_ON_BUTTONS}
        self.action = pmui.RadioButtonGroup(options=_ACTIONS, value="add", label="A press on the map", **group)
        self.label = pmui.RadioButtonGroup(options=["a"], value="a", label="Class of new points", **group)
        # One line in every state: where hints wrapped, the map moved under the pointer.
        self.words = pn.pane.HTML(
            "", stylesheets=[PANE_CSS, _ONE_LINE], sizing_mode="stretch_width", margin=(4, 0, 0, 0)
        )
        self.undo = _button("Undo", "undo", "Undo: take the last change back", undone)
        clear = _button("Clear", "delete_sweep", "Clear: start from two points of each of two classes", cleared)
        keep = _button(
            "Save as data set", "check", "Save as data set: make a table of these points", done, variant="contained"
        )
        leave = _button("Discard", "close", "Discard: forget these points", left)
        self.action.param.watch(lambda _: self._act(acted), "value")
        # The buttons have a place of their own: whatever a press changes beside them, none slides under the pointer.
        drawn = pn.FlexBox(
            self.action, self.label, align_items="center", gap="4px 0", margin=0,
            styles={"flex": "1 1 0", "min-width": "320px"}, css_classes=["alrviz-line"],
        )  # fmt: skip
        buttons = pn.Row(self.undo, clear, leave, keep, align="center", margin=0, styles={"flex": "0 0 auto"})
        controls = pn.FlexBox(drawn, buttons, align_items="center", gap="4px 0", sizing_mode="stretch_width", margin=0)
        self.panel = pn.Column(controls, self.words, sizing_mode="stretch_width", margin=(0, 0, 8, 0))

    def _act(self, acted: Callable[[], None]) -> None:
        self.label.visible = self.action.value == "add"
        acted()

    def show(self, sketch: Sketch, undoable: bool) -> None:
        """Show what may be drawn, and whether there is a change to take back."""
        self.undo.disabled = not undoable
        if list(self.label.options) != list(sketch.classes):
            self.label.param.update(options=list(sketch.classes), value=sketch.classes[0])
        hint = "No more points: the map could not follow" if sketch.full else _HINTS[self.action.value]
        say(self.words, f"<span class='quiet'>{len(sketch):,} points · {safe(hint)}</span>")


def _button(label: str, icon: str, hint: str, pressed: Callable[[], None], **params: object) -> pmui.Button:
    given = {"variant": "outlined", "size": "small", "margin": (0, 8, 0, 0), **params}
    return button(label, pressed, icon=icon, icon_size="20px", description=hint, **given)
