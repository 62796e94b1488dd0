"""The pictures of the DLR tab: two maps, the density ratios, the path of the bandwidths, the kernel's Gram matrix.

They are built once and show a `DlrFrame` together. Nothing here asks for one.
"""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import panel as pn
from panel.viewable import Viewable

from alrviz.data.dataset import Dataset
from alrviz.explorer.pages.boundaries.dlr_frames import DlrFrame
from alrviz.explorer.shell.theme import CARD, room
from alrviz.views.core.collapsible import Collapsible
from alrviz.views.density.bandwidths import BandwidthView
from alrviz.views.density.density_ratio import DensityRatioView
from alrviz.views.density.gram_matrix import GramMatrixView
from alrviz.views.maps.decision_map import DecisionMapView

# What a window has for pictures beside header, menus, buttons, sentence and headings. At 1280x720 all are seen
# at once, and the maps are the largest: the two pictures of the path are below them, the ratios in a column beside.
_ROOM = room(390, 225, 39)
HEIGHT, _PATHS = f"calc(.69 * {_ROOM})", (f"calc(.31 * {_ROOM})",) * 2
_RATIO = f"calc(.5 * {_ROOM} - 84px)"  # two of them, each with its words and slider


class Pictures:
    """See the module's text.

    Args:
        wake: called when something is under way.
        hands: what a hand does on the left map, by the names that a `DecisionMapView` takes.
        drag: called with a column and its new bandwidth. scrub: called with a step. film: makes the page that plays it.
        unfolded: called when the Gram matrix is wanted.
        made_from, run_from: say in a line what is shown, and what run the path is of, for pictures that are saved.
    """

    def __init__(
        self,
        wake: Callable[[], None],
        hands: Mapping[str, Any],
        drag: Callable[[str, float], None],
        scrub: Callable[[int], None],
        film: Callable[[], bytes],
        unfolded: Callable[[], None],
        made_from: Callable[[], str],
        run_from: Callable[[], str],
    ):
        common: dict[str, Any] = {"wake": wake, "height": HEIGHT, "width": 350, "controls": False}
        self.map = DecisionMapView(title="dlr", numbers="Numbers of the map of dlr", **hands, **common)
        self.other = DecisionMapView(title="beside", numbers="Numbers of the map beside", **common)
        self.ratios = DensityRatioView(
            on_bandwidth=drag, per_row=1, height=_RATIO, numbers="Numbers of the density ratios", provenance=made_from
        )
        self.path = BandwidthView(
            on_scrub=scrub, heights=_PATHS, numbers="Numbers of the bandwidths", film=film, provenance=run_from
        )
        self.gram = GramMatrixView(numbers="Numbers of the Gram matrix", provenance=made_from)
        maps = _row((self.map.top, 1), (self.other.top, 1))
        path = _row(*((place, 1) for place in self.path.places))
        left = pn.Column(maps, path, sizing_mode="stretch_width", margin=0)
        self.seen = _row((left, 12), (self.ratios.top, 5))
        self.seen.css_classes = ["alrviz-room"]
        read = (_row((self.map.rest, 1), (self.other.rest, 1)), _row((self.ratios.rest, 1), (self.path.rest, 1)))
        self.read = pn.Column(*read, styles=CARD, sizing_mode="stretch_width", margin=(12, 0, 0, 0))
        self.folded = Collapsible("The kernel's Gram matrix", self.gram)
        self.folded.param.watch(lambda _: unfolded(), "open")

    def ground(self, dark: bool) -> None:
        """Show all of them on a light or a dark ground."""
        for view in (self.map, self.other, self.ratios, self.path, self.gram):
            view.dark = dark

    def outdate(self) -> None:
        """Mark everything: what is drawn belongs to other settings or another table."""
        for view in (self.map, self.other, self.ratios, self.path, self.gram):
            view.outdated = True

    def clear(self) -> None:
        """Show nothing: there is nothing to show."""
        for view in (self.map, self.other):
            view.watch(None, None)
        self.ratios.watch(None)
        self.path.watch(None)

    def take(self, table: Dataset, names: tuple[Hashable, Hashable]) -> None:
        """Turn to a table of two columns: no model of it is there yet."""
        common = {"classes": [str(label) for label in table.classes], "across": names[0], "up": names[1]}
        for view in (self.map, self.other):
            view.param.update(**common)
            view.watch(None, table.X, table.y)

    def wipe(self) -> None:
        """Take away at once what both maps show: other points are on their way."""
        for view in (self.map, self.other):
            view.empty()

    def follow(self, columns: tuple[str, str], classes: tuple[str, ...]) -> None:
        """Let both maps show these columns and classes: those that are drawn."""
        for view in (self.map, self.other):
            view.param.update(classes=list(classes), across=columns[0], up=columns[1])

    def show(self, moment: DlrFrame, outdated: bool) -> None:
        """Show a moment in all pictures together."""
        for view in (self.map, self.ratios, self.gram):
            view.outdated = outdated
        self.path.outdated = outdated or moment.X is not None  # drawn points have no path
        if moment.X is not None:
            self.map.watch(moment.model, moment.X, moment.y)
        else:
            self.map.set_model(moment.model)
        self.ratios.watch(moment.scene)
        if moment.path is not None and not moment.by_hand:
            self.path.head = moment.model.step
            self.path.watch(moment.path)

    def show_beside(self, label: str, model: Any) -> None:
        """Show the classifier beside; None where there is none."""
        self.other.param.update(outdated=False, title=label)
        self.other.set_model(model)

    def stop(self) -> None:
        """Give up what the maps' threads work out."""
        for view in (self.map, self.other):
            view.stop()

    def pump(self) -> bool:
        """Show what the maps' threads have found; returns whether there may be more."""
        busy = [view.pump() for view in (self.map, self.other)]  # both, whatever the first says
        return any(busy)


def _row(*parts: tuple[Viewable, int]) -> pn.Row:
    """A row of parts that each take their share of its width."""
    columns = [
        pn.Column(
            part, styles={"flex": f"{share} 1 0", "min-width": "0"}, sizing_mode="stretch_width",
            margin=(0, 0, 0, 12 if k else 0),
        )
        for k, (part, share) in enumerate(parts)
    ]  # fmt: skip
    return pn.Row(*columns, sizing_mode="stretch_width", margin=0)
