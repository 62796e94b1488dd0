"""One visitor's session: its table, its runs and its link, and what is set on the pages.

Pages and the shell watch parameters (`subscribe`) and call the part that they need: `session.table` loads tables,
`session.runs` starts and finds races and studies, `session.link` reads and writes the link. The session's own
parameters are what a link holds of all pages (`LINK_PARAMS`). Long work goes to a thread (`begin`) and comes back
through `pump`, which the shell calls every 100 ms while `busy`; a page that starts something calls `wake`.
"""

import time
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING

import param
from param.parameterized import Watcher

from alrviz.data.dataset import Dataset
from alrviz.data.stream.table import Stream
from alrviz.explorer.server.run_registry import Registry, process_registry
from alrviz.explorer.server.tables import Upload
from alrviz.explorer.server.visitor_ids import new_id
from alrviz.explorer.session.link import SessionLink
from alrviz.explorer.session.runs import SessionRuns
from alrviz.explorer.session.state import LINK_PARAMS, State
from alrviz.explorer.session.table import SessionTable
from alrviz.fitting.recipe import Recipe
from alrviz.job import LatestJob

if TYPE_CHECKING:
    from alrviz.explorer.session.sketch import Sketch

UNWATCHED_SECONDS = 15.0  # without a browser; then a file that is still being read is given up


class Session(param.Parameterized):
    """See the module's text.

    Args:
        owner: the visitor's id; a new one if None.
        registry: runs and uploads of all visitors; the process's if None.
        served, served_from: what the server was started with, as `SessionTable` takes them.

    Attributes:
        race_wanted: whether another page asked for a race to begin.
        offered: recipes that another page asks to be raced.
    """

    seed = param.Integer(default=0, bounds=(0, 2**32 - 1), doc="Of demo set and split.")
    dark = param.Boolean(default=False, doc="Whether the page is dark.")
    problem: Exception | None = param.Parameter(default=None, doc="What went wrong last, until it is put right.")
    message = param.String(default="", doc="What else there is to say, until it is dismissed or something begins.")
    drawn: "Sketch | None" = param.Parameter(default=None, doc="Points drawn in place of the map's rows, or none.")
    revisited = param.Event(doc="The reader has come back to another question or race, which are set.")

    def __init__(
        self,
        owner: str | None = None,
        registry: Registry | None = None,
        served: Dataset | Upload | Stream | None = None,
        served_from: str = "",
        **params: object,
    ):
        super().__init__(**params)
        self.owner = owner or new_id()
        self.registry = registry or process_registry()
        self.table = SessionTable(self, served, served_from)
        self.runs = SessionRuns(self.registry, self.owner, lambda: self.link.state)
        self.link = SessionLink(self, self.table, self.runs)
        self.race_wanted = False
        self.offered: tuple[Recipe, ...] = ()
        self.open_drawer: Callable[[bool], None] = lambda open: None
        self.on_wake: Callable[[], None] = lambda: None
        self._waiting: list[LatestJob] | None = None  # work held back until the page is drawn; None afterwards
        self._last_watched = time.monotonic()
        self._watchers: dict[str, list[Watcher]] = {}  # by page
        self.table.param.watch(lambda event: self._forget_places(event.old, event.new), "dataset")

    # ---- watching --------------------------------------------------------------------------------------------------

    def subscribe(self, call: Callable[..., object], names: str | list[str], page: str = "") -> None:
        """Call a function whenever a parameter of the session, its table or its runs changes, until the page is closed.

        page: slug; "" for the page shown.
        """
        self._watchers.setdefault(page or self.page, []).extend(self.watch(call, names))

    def watch(self, call: Callable[..., object], names: str | list[str]) -> list[Watcher]:
        """Call a function whenever a parameter of the session, its table or its runs changes."""
        names = [names] if isinstance(names, str) else names
        known = [(part, [name for name in names if name in part.param]) for part in (self, self.table, self.runs)]
        return [part.param.watch(call, mine) for part, mine in known if mine]

    def unsubscribe(self, page: str) -> None:
        """End the subscriptions of a page: it is closed."""
        for watcher in self._watchers.pop(page, []):
            watcher.inst.param.unwatch(watcher)

    def clear_notice(self) -> None:
        """Show the last problem and message no more."""
        self.param.update(problem=None, message="")

    def go(self, page: str, *, race: bool = False, recipes: tuple[Recipe, ...] = ()) -> None:
        """Show another page.

        race: a page that races begins at once, unless it shows this table's race already. recipes: what it races.
        """
        self.race_wanted, self.offered = race, recipes
        self.table.chosen |= race
        self.page = page

    def _forget_places(self, before: Dataset | None, dataset: Dataset | None) -> None:
        """Reset positions of columns and rows: in another table they mean something else."""
        if before is not None and dataset is not None and before.table.names != dataset.table.names:
            self.param.update(axes=(), others="", row=None)

    # ---- work ------------------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Start the pump if it rests: something has begun."""
        self.on_wake()

    def hold(self) -> None:
        """Hold all work back until `page_drawn`: beside it a page takes half as long again to come to the screen."""
        self._waiting = []

    @property
    def held(self) -> bool:
        """Whether work is held back."""
        return self._waiting is not None

    def page_drawn(self) -> None:
        """Begin what was held back; from now on work begins at once."""
        waiting, self._waiting = self._waiting or [], None
        for work in waiting:
            work.begin()

    def begin(self, work: LatestJob) -> None:
        """Begin work on its thread as soon as the page is drawn, and have the pump wait for it."""
        if self._waiting is None:
            work.begin()
        else:
            self._waiting.append(work)
        self.wake()

    @property
    def busy(self) -> bool:
        """Whether something is under way that the pump has to watch."""
        return self.table.loading is not None or self.runs.busy

    def pump(self, watched: bool = True) -> bool:
        """Take over finished work; returns whether to go on.

        watched: whether a browser shows the session. Others wait for the place of a file that is read for nobody.
        """
        now, table = time.monotonic(), self.table
        self._last_watched = now if watched else self._last_watched
        if table.reading and now - self._last_watched > UNWATCHED_SECONDS:
            table.give_up()
        loading = table.loading
        if loading is not None and not loading.poll() and table.loading is loading:  # it may have begun another
            table.loading = None
        if watched:
            self.registry.visit(self.owner)
            self.registry.tables.look(self.owner)
            for entry in self.runs.entries:
                self.registry.look(entry)
        return self.busy


for _field in fields(State):
    if _field.name in LINK_PARAMS and _field.name not in Session.param:
        _parameter = param.Parameter(default=_field.default, doc=_field.metadata["doc"])
        Session.param.add_parameter(_field.name, _parameter)
