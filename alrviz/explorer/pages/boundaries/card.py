"""The card of the DLR tab: the film's buttons, or those of drawing, the sentence, and the pictures."""

from collections.abc import Callable
from typing import Any

import panel as pn
import panel_material_ui as pmui

from alrviz.explorer.shell.theme import CARD, PANE_CSS
from alrviz.explorer.widgets.fit_card import FitCard
from alrviz.views.core.panes import say


class MapCard:
    """What lies on the card, from above.

    Args:
        part: whose buttons play the film. made: what stands beside them. drawing: the row that takes their place.
        pictures: what lies below.
        back: called when bandwidths set by hand are to be forgotten.
    """

    def __init__(self, part: FitCard, made: list[Any], drawing: Any, pictures: Any, back: Callable[[], None]):
        self.words = pn.pane.HTML("", stylesheets=[PANE_CSS], sizing_mode="stretch_width", margin=(0, 0, 4, 0))
        self.back = pmui.Button(
            label="Back to the fit", icon="undo", variant="outlined", size="small", visible=False, margin=0,
            description="Back to the fit: forget the bandwidths set by hand",
        )  # fmt: skip
        self.back.on_click(lambda _: back())
        self.bar = pmui.LinearProgress(variant="indeterminate", sizing_mode="stretch_width", margin=(0, 0, 6, 0))
        transport = (part.player.transport.panel, part.player.status, *made)
        self.buttons = pn.Row(*transport, sizing_mode="stretch_width", margin=(0, 0, 4, 0), css_classes=["alrviz-run"])
        room = {"min-height": "36px"}  # with and without a button: what lies below stays where it is
        said = pn.Row(self.words, self.back, sizing_mode="stretch_width", styles=room, margin=0)
        inside = (self.buttons, drawing, self.bar, said, pictures)
        self.panel = pn.Column(*inside, styles=CARD, sizing_mode="stretch_width", margin=0)

    def say(self, sentence: str) -> None:
        """Show a sentence, as HTML."""
        say(self.words, sentence)

    def wait(self, waiting: bool) -> None:
        """Show whether something is on its way."""
        self.bar.visible = bool(waiting)
