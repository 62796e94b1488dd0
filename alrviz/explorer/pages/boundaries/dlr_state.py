"""What the tab DLR shows, as its parts see it: what is set, the moment that is drawn, what may be asked of the tab."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from alrviz.explorer.pages.boundaries.columns import ColumnMenus
from alrviz.explorer.pages.boundaries.controls import DlrControls
from alrviz.explorer.pages.boundaries.dlr_frames import DlrFrame
from alrviz.explorer.pages.boundaries.peers import PeerFit
from alrviz.explorer.pages.boundaries.pictures import Pictures
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.sketch import Sketch
from alrviz.explorer.widgets.fit_card import FitCard
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset


class DlrState(Protocol):
    """See the module's text; `DlrTab` is the one there is.

    Attributes:
        table: the two columns chosen; None until it is made, or while the data set is loaded.
        name: slug of the peer beside it.
        moment: what is drawn; None before the first.
        part, peer: the fit of the recipe, and that of the peer.
    """

    session: Session
    recipe: Recipe
    name: str
    table: "Dataset | None"
    moment: DlrFrame | None
    part: FitCard
    peer: PeerFit
    columns: ColumnMenus
    menus: DlrControls
    pictures: Pictures
    tasks: PageTasks

    @property
    def sketch(self) -> Sketch | None:
        """The points that are drawn by hand; None while nobody draws."""

    def show_controls(self) -> None:
        """Bring the menus up to date."""

    def ask(self, work: Callable[[StopToken], Iterable[DlrFrame]]) -> None:
        """Have moments made on the thread; what was asked before is given up."""

    def redraw(self) -> None:
        """Draw the moment that the player is at."""

    def hurry(self) -> None:
        """Look often for what the thread makes, while a hand moves something."""
