"""The pictures of the DLR tab: two maps, the density ratios, the path of the bandwidths, the kernel's Gram matrix.

They are built once and show a `DlrFrame` together.
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

# The height left by header, menus, buttons, sentence and headings. At 1280x720 all pictures are visible: the maps are
# the largest, the path is below them, and the density ratios are in a column beside them.
_ROOM = room(390, 225, 39)
MAP_HEIGHT, _PATH_HEIGHTS = f"calc(.69 * {_ROOM})", (f"calc(.31 * {_ROOM})",) * 2
_RATIO_HEIGHT = f"calc(.5 * {_ROOM} - 84px)"  # of one of two, without its text and slider


class Pictures:
    """The pictures of the tab.

    Args:
        wake: called when a thread starts working.
        map_events: callbacks of the left map, by the parameters of `DecisionMapView`.
        drag: called with a column and its new bandwidth.
        scrub: called with a step.
        film: returns the HTML page that replays the fit.
        on_unfold: called when the Gram matrix is unfolded.
        made_from, run_from: return the source of the frame, and of the run, for saved pictures.
    """

    def __init__(
        self,
        wake: Callable[[], None],
        map_events: Mapping[str, Any],
        drag: Callable[[str, float], None],
        scrub: Callable[[int], None],
        film: Callable[[], bytes],
        on_unfold: Callable[[], None],
        made_from: Callable[[], str],
        run_from: Callable[[], str],
    ):
        common_params: dict[str, Any] = {"wake": wake, "height": MAP_HEIGHT, "width": 350, "controls": False}
        self.map = DecisionMapView(title="DLR", numbers="Numbers of the map of DLR", **map_events, **common_params)
        self.peer_map = DecisionMapView(title="other classifier", numbers="Numbers of the second map", **common_params)
        self.ratios = DensityRatioView(
            on_bandwidth=drag,
            per_row=1,
            height=_RATIO_HEIGHT,
            numbers="Numbers of the density ratios",
            provenance=made_from,
        )
        self.path = BandwidthView(
            on_scrub=scrub, heights=_PATH_HEIGHTS, numbers="Numbers of the bandwidths", film=film, provenance=run_from
        )
        self.gram = GramMatrixView(numbers="Numbers of the Gram matrix", provenance=made_from)
        maps = _row_of_pictures((self.map.top, 1), (self.peer_map.top, 1))
        path = _row_of_pictures(*((place, 1) for place in self.path.places))
        maps_and_path = pn.Column(maps, path, sizing_mode="stretch_width", margin=0)
        self.pictures_row = _row_of_pictures((maps_and_path, 12), (self.ratios.top, 5))
        self.pictures_row.css_classes = ["alrviz-room"]
        text_rows = (
            _row_of_pictures((self.map.rest, 1), (self.peer_map.rest, 1)),
            _row_of_pictures((self.ratios.rest, 1), (self.path.rest, 1)),
        )
        self.numbers = pn.Column(*text_rows, styles=CARD, sizing_mode="stretch_width", margin=(12, 0, 0, 0))
        self.folded = Collapsible("The kernel's Gram matrix", self.gram)
        self.folded.param.watch(lambda _: on_unfold(), "open")

    def ground(self, dark: bool) -> None:
        """Set a light or dark background for all pictures."""
        for view in (self.map, self.peer_map, self.ratios, self.path, self.gram):
            view.dark = dark

    def outdate(self) -> None:
        """Mark all pictures as outdated."""
        for view in (self.map, self.peer_map, self.ratios, self.path, self.gram):
            view.outdated = True

    def clear(self) -> None:
        """Empty the pictures."""
        for view in (self.map, self.peer_map):
            view.watch(None, None)
        self.ratios.watch(None)
        self.path.watch(None)

    def take(self, table: Dataset, names: tuple[Hashable, Hashable]) -> None:
        """Show the rows of a table of two columns, without a model."""
        common_params = {"classes": [str(label) for label in table.classes], "across": names[0], "up": names[1]}
        for view in (self.map, self.peer_map):
            view.param.update(**common_params)
            view.watch(None, table.X, table.y)

    def wipe(self) -> None:
        """Clear both maps at once, before other points arrive."""
        for view in (self.map, self.peer_map):
            view.empty()

    def follow(self, columns: tuple[str, str], classes: tuple[str, ...]) -> None:
        """Set the columns and classes of both maps to those of the drawn points."""
        for view in (self.map, self.peer_map):
            view.param.update(classes=list(classes), across=columns[0], up=columns[1])

    def show(self, frame: DlrFrame, outdated: bool) -> None:
        """Show a frame in all pictures."""
        for view in (self.map, self.ratios, self.gram):
            view.outdated = outdated
        self.path.outdated = outdated or frame.X is not None  # drawn points have no path
        if frame.X is not None:
            self.map.watch(frame.model, frame.X, frame.y)
        else:
            self.map.set_model(frame.model)
        self.ratios.watch(frame.scene)
        if frame.path is not None and not frame.by_hand:
            self.path.head = frame.model.step
            self.path.watch(frame.path)

    def show_beside(self, label: str, model: Any) -> None:
        """Show the peer's map; model=None clears it."""
        self.peer_map.param.update(outdated=False, title=label)
        self.peer_map.set_model(model)

    def stop(self) -> None:
        """Cancel the maps' threads."""
        for view in (self.map, self.peer_map):
            view.stop()

    def pump(self) -> bool:
        """Show what the maps' threads have finished; return whether there may be more."""
        busy_maps = [view.pump() for view in (self.map, self.peer_map)]  # a list: `any` would skip the second
        return any(busy_maps)


def _row_of_pictures(*pictures: tuple[Viewable, int]) -> pn.Row:
    """Return a row of (part, relative width)."""
    columns = [
        pn.Column(
            picture, styles={"flex": f"{relative_width} 1 0", "min-width": "0"}, sizing_mode="stretch_width",
            margin=(0, 0, 0, 12 if k else 0),
        )
        for k, (picture, relative_width) in enumerate(pictures)
    ]  # fmt: skip
    return pn.Row(*columns, sizing_mode="stretch_width", margin=0)
