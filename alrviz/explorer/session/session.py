"""The session of one visitor: its table, its runs, its link and the settings of its pages.

Pages and the shell watch parameters (`subscribe`) and call the part that they need: `session.table` loads tables,
`session.runs` starts and finds races and studies, `session.link` reads and writes the link. The parameters of the
session are the settings that a link holds (`LINK_PARAMS`). Long tasks run on a thread (`begin`); the shell calls `pump`
every 100 ms while the session is `busy`, which takes over their results. A page that starts something calls `wake`.
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

UNWATCHED_SECONDS = 15.0  # without a connected browser, until reading a file is cancelled


class Session(param.Parameterized):
    """The session of one visitor.

    Args:
        owner: the visitor's id; a new one if None.
        registry: runs and uploads of all visitors; the process's registry if None.
        served, served_from: the table that the server was started with, and its path (`SessionTable`).

    Attributes:
        race_requested: whether another page asked for a race to start.
        offered_recipes: recipes that another page hands over to be raced.
        link: connects the session's state with the browser's address.
        open_drawer, on_wake: set by the shell; show or hide the drawer, and start the pump.
    """

    seed = param.Integer(default=0, bounds=(0, 2**32 - 1), doc="Seed of demo set and split.")
    dark = param.Boolean(default=False, doc="Whether the page is dark.")
    problem: Exception | None = param.Parameter(default=None, doc="The error shown, until its cause is gone.")
    message = param.String(default="", doc="The message shown, until it is dismissed or a task starts.")
    sketch: "Sketch | None" = param.Parameter(default=None, doc="Points drawn in place of the map's rows, or None.")
    revisited = param.Event(doc="Triggered after Back or Forward has set another question or race.")

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
        self.race_requested = False
        self.offered_recipes: tuple[Recipe, ...] = ()
        self.open_drawer: Callable[[bool], None] = lambda open: None
        self.on_wake: Callable[[], None] = lambda: None
        self._held_tasks: list[LatestJob] | None = None  # start once the page is drawn; None afterwards
        self._last_watched = time.monotonic()
        self._watchers: dict[str, list[Watcher]] = {}  # by page
        self.table.param.watch(lambda event: self._reset_positions(event.old, event.new), "dataset")

    # ---- watching --------------------------------------------------------------------------------------------------

    def subscribe(self, call: Callable[..., object], names: str | list[str], page: str = "") -> None:
        """Watch parameters like `watch`, until a page is closed.

        page: slug; "" for the page shown.
        """
        self._watchers.setdefault(page or self.page, []).extend(self.watch(call, names))

    def watch(self, call: Callable[..., object], names: str | list[str]) -> list[Watcher]:
        """Call a function whenever a parameter of the session, its table or its runs changes."""
        names = [names] if isinstance(names, str) else names
        owners = (self, self.table, self.runs)
        names_by_owner = [(owner, [name for name in names if name in owner.param]) for owner in owners]
        return [owner.param.watch(call, owned_names) for owner, owned_names in names_by_owner if owned_names]

    def unsubscribe(self, page: str) -> None:
        """End the subscriptions of a page that is closed."""
        for watcher in self._watchers.pop(page, []):
            watcher.inst.param.unwatch(watcher)

    def clear_notice(self) -> None:
        """Hide the last problem and message."""
        self.param.update(problem=None, message="")

    def go(self, page: str, *, race: bool = False, recipes: tuple[Recipe, ...] = ()) -> None:
        """Show another page.

        race: whether that page starts a race at once, unless it shows a race of this table.
        recipes: racers that replace those of the page.
        """
        self.race_requested, self.offered_recipes = race, recipes
        self.table.is_chosen |= race
        self.page = page

    def _reset_positions(self, previous: Dataset | None, dataset: Dataset | None) -> None:
        """Reset positions of columns and rows, which do not apply to a table with other columns."""
        if previous is not None and dataset is not None and previous.table.names != dataset.table.names:
            self.param.update(axes=(), others="", row=None)

    # ---- work ------------------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Start the pump if it is not running."""
        self.on_wake()

    def hold_tasks(self) -> None:
        """Hold tasks back until `release_tasks`: with tasks running a page takes 1.5 times as long to appear."""
        self._held_tasks = []

    @property
    def holds_tasks(self) -> bool:
        """Whether tasks are held back."""
        return self._held_tasks is not None

    def release_tasks(self) -> None:
        """Start the tasks that were held back; later tasks start at once."""
        tasks, self._held_tasks = self._held_tasks or [], None
        for task in tasks:
            task.begin()

    def begin(self, task: LatestJob) -> None:
        """Start a task on its thread, once the page is drawn, and wake the pump."""
        if self._held_tasks is None:
            task.begin()
        else:
            self._held_tasks.append(task)
        self.wake()

    @property
    def busy(self) -> bool:
        """Whether the pump has to go on: a table is loading or a run is active."""
        return self.table.loading is not None or self.runs.busy

    def pump(self, is_watched: bool = True) -> bool:
        """Take over the results of finished tasks; return whether to call again.

        is_watched: whether a browser shows the session. Without one for `UNWATCHED_SECONDS` reading a file is
        cancelled, because other visitors wait for its place.
        """
        current_time, table = time.monotonic(), self.table
        self._last_watched = current_time if is_watched else self._last_watched
        if table.reading and current_time - self._last_watched > UNWATCHED_SECONDS:
            table.give_up()
        loading = table.loading
        if (
            loading is not None and not loading.poll() and table.loading is loading
        ):  # its callback may have started another
            table.loading = None
        if is_watched:
            self.registry.note_visit(self.owner)
            self.registry.tables.note_look(self.owner)
            for entry in self.runs.entries:
                self.registry.note_look(entry)
        return self.busy


for _field in fields(State):
    if _field.name in LINK_PARAMS and _field.name not in Session.param:
        _parameter = param.Parameter(default=_field.default, doc=_field.metadata["doc"])
        Session.param.add_parameter(_field.name, _parameter)
