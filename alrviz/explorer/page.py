"""What a page is."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from panel.viewable import Viewable

    from alrviz.views.core.live_figure import NumberAxes


class Page(Protocol):
    """What the shell asks of a page."""

    title: str
    icon: str
    group: str
    slug: str

    def view(self) -> "Viewable":
        """Return what is shown in the main area."""

    def drawer(self) -> "Viewable | None":
        """Return what is shown in the drawer, or None."""

    def on_shown(self) -> None:
        """The page comes to the front."""

    def on_hidden(self) -> None:
        """The page leaves the front."""

    def result(self) -> object | None:
        """Return what has run of what is set, when it has ended and was shown: what lessons' answers are of."""

    def axes(self) -> "NumberAxes | None":
        """Return the picture shown, if its axes are numbers of what ran: a lesson draws what was said on it."""

    def pump(self) -> bool | None:
        """Take over what is new; returns whether there may be more."""

    def close(self) -> None:
        """The visitor has gone: end what works for nobody."""
