"""Base classes of a page and of a tab."""

from panel.viewable import Viewable

from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.views.core.live_figure import NumberAxes


class Tab:
    """What a page of tabs asks of each; what a tab does not override does nothing.

    Attributes:
        tasks: its work on threads.
    """

    def __init__(self, session: Session):
        self.session, self.tasks = session, PageTasks(session)

    def result(self) -> object | None:
        """Return what ran with the current settings once it has ended and was shown: lessons ask questions about it."""
        return None

    def axes(self) -> NumberAxes | None:
        """Return the picture shown if its axes are numbers of what ran: a lesson draws answers on it."""
        return None

    def on_shown(self) -> None:
        """Show what came while another page or tab was in front."""

    def pump(self) -> bool:
        """Take over what threads have finished; called every 100 ms until nothing more may come (False)."""
        return self.tasks.poll()

    def close(self) -> None:
        """End the threads' work, because the visitor has gone; runs belong to the registry."""
        self.tasks.close()


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

    def view(self) -> Viewable:
        """Build and return what is shown in the main area; called on the first visit."""
        raise NotImplementedError

    def drawer(self) -> Viewable | None:
        """Return what is shown in the drawer, or None; called when it is first opened."""
        return None

    def on_hidden(self) -> None:
        """Leave the front; what the page started continues."""
