"""What a page is, and a tab of one."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from panel.viewable import Viewable

    from alrviz.views.core.live_figure import NumberAxes


class Tab:
    """What a page of tabs asks of each; what a tab does not override does nothing."""

    def result(self) -> object | None:
        """Return what ran with the current settings once it has ended and was shown: lessons ask questions about it."""
        return None

    def axes(self) -> "NumberAxes | None":
        """Return the picture shown if its axes are numbers of what ran: a lesson draws answers on it."""
        return None

    def pump(self) -> bool:
        """Take over what is new; returns whether there may be more."""
        return False

    def close(self) -> None:
        """End the threads' work: the visitor has gone."""


class Page(Tab):
    """What the shell asks of a page; what a page does not override does nothing.

    Attributes:
        title: what the rail, the header and the browser's tab call it.
        icon: name of a symbol of the Material Icons font.
        group: title of the part of the rail that it stands in, such as "Evaluate" (`GROUPS` of `shell/frame.py`).
        slug: what links call it (`?page=order`), and `FIRST_DEMOS` of `session/state.py`.
    """

    title: str
    icon: str
    group: str
    slug: str

    def view(self) -> "Viewable":
        """Return what is shown in the main area."""
        raise NotImplementedError

    def drawer(self) -> "Viewable | None":
        """Return what is shown in the drawer, or None."""
        return None

    def on_shown(self) -> None:
        """The page comes to the front."""

    def on_hidden(self) -> None:
        """The page leaves the front; what it started continues."""
