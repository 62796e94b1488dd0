"""Base classes of a page and of a tab."""

from panel.viewable import Viewable

from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.views.core.live_figure import NumberAxes


class Tab:
    """Base of a tab; methods that it does not override do nothing.

    Attributes:
        tasks: the tab's background tasks.
    """

    def __init__(self, session: Session):
        self.session, self.tasks = session, PageTasks(session)

    def result(self) -> object | None:
        """Return the run or study of the current settings once it has ended and was shown; lessons ask about it."""
        return None

    def axes(self) -> NumberAxes | None:
        """Return the picture shown if its axes are numbers of the result; a lesson draws answers on it."""
        return None

    def on_shown(self) -> None:
        """Update the tab after another page or tab was in front."""

    def on_hidden(self) -> None:
        """React to another page or tab in front; runs of a page continue."""

    def pump(self) -> bool:
        """Take over the results of tasks; called every 100 ms while it returns True."""
        return self.tasks.poll()

    def close(self) -> None:
        """Cancel the tasks, because the visitor has left; runs belong to the registry."""
        self.tasks.close()


class Page(Tab):
    """Base of a page; methods that it does not override do nothing.

    Attributes:
        title: shown in the rail, the header and the browser's tab.
        icon: name of a symbol of the Material Icons font.
        group: title of the part of the rail that it stands in, such as "Evaluate" (`GROUPS` of `shell/frame.py`).
        slug: its name in links (`?page=order`) and in `FIRST_DEMOS` of `session/state.py`.
    """

    title: str
    icon: str
    group: str
    slug: str

    def view(self) -> Viewable:
        """Build and return the content of the main area; called on the first visit."""
        raise NotImplementedError

    def drawer(self) -> Viewable | None:
        """Return the content of the drawer, or None; called when it is first opened."""
        return None
