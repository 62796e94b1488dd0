"""One visitor's session: what is shown, and the only way a page changes it.

Pages watch its parameters and call its methods; the shell writes the link from it. Long work goes to a thread
(`Loading`) and comes back through `pump`, which the shell calls every 100 ms while `busy`. A page that starts something
calls `wake()`.

What a page uses: `owner`, `dataset`, `recipes`, `question`, `seed`, `axis`, `dark` (watched parameters), `load_demo`,
`load_bytes`, `set_kinds`, `reread`, `cancel`, `adopt(race)` -> the race to show, `race` (the one to show on
arrival, or None), `go(page)`, `wake()`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import param

from alrviz.errors import AlrvizError, TableError, nearest
from alrviz.explorer.loading import Loading
from alrviz.explorer.owners import new_id
from alrviz.explorer.registry import Entry, Governed, Registry, process_registry
from alrviz.explorer.state import FIRST_DEMO, FIRST_ROWS, FileLink, State, safe_name, write_link
from alrviz.explorer.tables import Upload, link_of
from alrviz.stop import StopToken

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset, Table
    from alrviz.data.options import ReadOptions

_TARGETS = ("target", "quartiles")


class Session(param.Parameterized):
    """What one visitor sees and owns."""

    dataset: "Dataset | None" = param.Parameter(default=None, doc="The table, or None while there is none.")
    recipes: tuple = param.Parameter(default=(), doc="The racers' recipes.")
    question = param.String(default="", doc="Slug of the question that chose them.")
    axis = param.String(default="", doc="Slug of the axis chosen.")
    seed = param.Integer(default=0, bounds=(0, 2**32 - 1), doc="Of demo set and split.")
    page = param.String(default="convergence", doc="Slug of the page shown.")
    dark = param.Boolean(default=False, doc="Whether the page is dark.")
    pending: "Table | None" = param.Parameter(default=None, doc="A table that was read and still needs a target.")
    loading: "Loading[Any] | None" = param.Parameter(default=None, doc="Work under way, or None.")
    problem: "Exception | None" = param.Parameter(default=None, doc="What went wrong last, until it is put right.")
    wanted: "FileLink | None" = param.Parameter(default=None, doc="The file a link asks to be dropped.")
    entry: "Entry | None" = param.Parameter(default=None, doc="The run shown.")

    def __init__(
        self,
        owner: str | None = None,
        registry: Registry | None = None,
        served: "Dataset | None" = None,
        **params: Any,
    ):
        super().__init__(**params)
        self.served = served  # the table the server was started with, if it was
        self.owner = owner or new_id()
        self.registry = registry or process_registry()
        self.tables = self.registry.tables
        self.read_only = False
        self.upload: Upload | None = None
        self.demo: tuple[str, int | None] | None = None
        self.file: FileLink | None = None
        self._kinds: dict[int, str] = {}
        self.on_wake: Callable[[], None] = lambda: None
        self.open_drawer: Callable[[bool], None] = lambda open: None

    # ---- links -------------------------------------------------------------------------------------------------

    def apply(self, state: State) -> None:
        """Show what a link asks for."""
        self.param.update(
            page=state.page, question=state.question, axis=state.axis, seed=state.seed, recipes=state.recipes
        )
        self._kinds = dict(state.kinds)
        if state.watch:
            self.entry = self.registry.by_token(state.watch)
            self.read_only = self.entry is not None and self.entry.owner != self.owner
        elif state.run:
            self.entry = self.registry.find(state.run, self.owner)
        served = self.served
        if served is not None and (state.file.fits(served.hash) if state.file else state.data == FIRST_DEMO):
            self._open_served(served)
        elif self.read_only:
            pass  # the race is there; its table is its owner's
        elif state.file is not None:
            self._open_file(state.file)
        else:
            self.load_demo(state.data or FIRST_DEMO, state.rows, dict(state.kinds))
        if state.watch and self.entry is None:
            self.problem = AlrvizError(
                "the run this link opens is no longer there: it ended with the server, or was deleted by its owner. "
                "Ask its owner for a new link, or start a race of your own"
            )

    def _open_served(self, dataset: "Dataset") -> None:
        kinds = dict(self._kinds)

        def done(result: "Dataset") -> None:
            self.file = FileLink(safe_name(dataset.name), dataset.n_rows, len(dataset.columns), dataset.hash[:16])
            self._arrived(result, kinds)

        if kinds:
            made = _said(dataset)
            self._load(lambda stop: _chosen(dataset.table, kinds, stop, made), "changing the kinds of columns", done)
        else:
            done(dataset)

    def _open_file(self, link: FileLink) -> None:
        upload = self.tables.find(self.owner, link)
        if upload is not None:
            self._read(upload, dict(self._kinds))
        else:
            self.wanted = link

    @property
    def state(self) -> State:
        """The session as one value: what its link holds."""
        name, rows = self.demo or ("", None)
        if (name, rows) == (FIRST_DEMO, FIRST_ROWS):
            rows = None
        asked = self.file or self.wanted
        return State(
            page=self.page,
            data="" if asked else name or FIRST_DEMO,
            rows=None if asked else rows,
            file=asked,
            kinds=tuple(sorted(self._kinds.items())),
            question=self.question,
            axis=self.axis,
            recipes=self.recipes,
            seed=self.seed,
            run=self.entry.id if self.entry is not None and not self.read_only else "",
            watch=self.entry.token if self.entry is not None and self.read_only else "",
        )

    @property
    def link(self) -> str:
        """The query of the link to what is shown."""
        return write_link(self.state)

    # ---- tables ------------------------------------------------------------------------------------------------

    def load_demo(self, name: str, rows: int | None = None, kinds: Mapping[int, str] | None = None) -> None:
        """Load a demo set on a thread; an unknown name is a problem that names the nearest."""
        from alrviz.data.demos import demo_names, load_demo

        if name not in demo_names():
            self._fail(TableError(f"there is no demo set {name!r}{nearest(name, demo_names())}"))
            return
        if name == FIRST_DEMO and rows is None:
            rows = FIRST_ROWS
        seed, kinds = self.seed, dict(kinds or {})

        def done(dataset: "Dataset") -> None:
            self.upload, self.file, self.demo = None, None, (name, rows)
            self._arrived(dataset, kinds)

        def work(stop: StopToken) -> "Dataset":
            dataset = load_demo(name, rows=rows, seed=seed)
            return _chosen(dataset.table, kinds, stop, _said(dataset)) if kinds else dataset

        self._load(work, f"making {name}", done)

    def load_bytes(self, filename: str, data: bytes | str) -> None:
        """Read a dropped file on a thread."""
        self._read(Upload.of(filename, data), dict(self._kinds) if self.wanted is not None else {})

    def reread(self, options: "ReadOptions") -> None:
        """Read the dropped file again with other options."""
        if self.upload is not None:
            self._read(self.upload.replace(options=options), self._kinds)

    def _read(self, upload: Upload, kinds: dict[int, str]) -> None:
        limits = self.registry.limits
        try:
            self.tables.check_room(self.owner, len(upload.data))
        except TableError as error:
            self._fail(error)
            return

        def work(stop: StopToken) -> "tuple[Table, FileLink, Dataset | TableError]":
            from alrviz.data.read import read_columns

            stem = upload.name.split(".")[0] or upload.name
            table = read_columns(upload.data, options=upload.options, limits=limits.table(), name=stem, stop=stop)
            link = link_of(upload, table)
            try:
                return table, link, _chosen(table, kinds, stop)
            except TableError as error:  # the table is fine, but which column is the class has to be said
                return table, link, error

        def done(result: "tuple[Table, FileLink, Dataset | TableError]") -> None:
            table, link, dataset = result
            try:  # others may have come while this was read
                self.tables.keep(self.owner, link.hash, upload)
            except TableError as error:
                self._fail(error)
                return
            asked, self.wanted = self.wanted, None
            self.upload, self.demo, self.file = upload, None, link
            if isinstance(dataset, TableError):
                self._kinds = {}
                self.param.update(pending=table, loading=None)
            else:
                self._arrived(dataset, kinds)
            if asked is not None and asked.hash != link.hash:
                self.problem = TableError(
                    f"this is another file than the link is about. The link was made with {asked}; "
                    f"this is {link}. You can go on with it, or drop the other file"
                )

        self._load(work, f"reading {upload.name}", done)

    def set_kinds(self, kinds: Mapping[str, str]) -> None:
        """Change kinds of columns by name: one may become "target", or "quartiles" (a numeric target cut in four)."""
        table = self.pending or (self.dataset.table if self.dataset is not None else None)
        if table is None:
            return
        position = {name: k for k, name in enumerate(table.names)}
        targets = [position[name] for name, kind in kinds.items() if kind in _TARGETS and name in position]
        kept = {k: kind for k, kind in self._kinds.items() if not (targets and kind in _TARGETS)}
        changed = {**kept, **{position[name]: kind for name, kind in kinds.items() if name in position}}
        made = _said(self.dataset) if self.pending is None and self.dataset is not None else {}
        made = {name: kind for name, kind in made.items() if position[name] not in self._kinds}

        def work(stop: StopToken) -> "Dataset":
            return _chosen(table, changed, stop, made)

        self._load(work, "changing the kinds of columns", lambda dataset: self._arrived(dataset, changed))

    def _arrived(self, dataset: "Dataset", kinds: dict[int, str]) -> None:
        self._kinds = dict(kinds)
        self.param.update(dataset=dataset, pending=None, loading=None, wanted=None)

    def _fail(self, error: Exception) -> None:
        self.param.update(loading=None, problem=error)

    def _load(self, work: Callable[[StopToken], Any], title: str, done: Callable[[Any], None]) -> None:
        self.cancel()
        self.problem = None
        self.loading = Loading(work, title, done, self._fail)
        self.wake()

    def cancel(self) -> None:
        """End the work under way; what was shown before stays."""
        if self.loading is not None:
            self.loading.cancel()
            self.loading = None

    # ---- runs --------------------------------------------------------------------------------------------------

    def adopt(self, race: Any, *, bytes: int = 0, threads: int = 1) -> Governed:
        """Give a race to the registry under this owner and return it as it is to be shown.

        The result has the race's interface; where a cap is reached, `start` queues. `bytes` is what it is priced at.
        Raises `CapReached`. The race shown before is stopped unless it was to go on.
        """
        before = self.entry
        entry = self.registry.add(race, self.owner, bytes=bytes, threads=threads)
        if before is not None and not self.read_only and not before.keep and not before.race.ended:
            before.race.stop()
            self.registry.release(before)
        self.read_only = False
        self.entry = entry
        return Governed(self.registry, entry)

    @property
    def race(self) -> Governed | None:
        """The run shown, as this visitor may use it: found again after a reload, or opened by a read-only link."""
        return None if self.entry is None else Governed(self.registry, self.entry, self.read_only)

    # ---- the pump ----------------------------------------------------------------------------------------------

    def go(self, page: str) -> None:
        """Show another page."""
        self.page = page

    def wake(self) -> None:
        """Start the pump, if it rests: something has begun."""
        self.on_wake()

    @property
    def busy(self) -> bool:
        """Whether something is under way that the pump has to watch."""
        entry = self.entry
        return self.loading is not None or (entry is not None and (entry.under_way or entry.wanted))

    def pump(self, watched: bool = True) -> bool:
        """Take over finished work, say that the run is looked at; returns whether to go on.

        Who only reads goes on while the race may: its owner may resume it, and nothing here would be told.
        """
        if self.loading is not None and not self.loading.poll() and self.loading is not None and self.loading.over:
            self.loading = None
        if watched:
            self.tables.look(self.owner)
        if watched and self.entry is not None:
            self.registry.look(self.entry)
            if self.read_only and not self.entry.race.ended:
                return True
        return self.busy


def _said(dataset: "Dataset") -> dict[str, str]:
    """Return the kinds that were said, not guessed: a demo set's maker says them."""
    return {c.name: c.kind for c in dataset.columns if not c.guessed and c.kind != "target"}


def _chosen(
    table: "Table", kinds: Mapping[int, str], stop: StopToken, made: Mapping[str, str] = MappingProxyType({})
) -> "Dataset":
    """Return the table with these changes of kinds, by column position; positions it does not have are left out.

    `made` are the kinds that its maker said: they hold where nothing else is said.
    """
    named = {table.names[k]: kind for k, kind in kinds.items() if k < len(table.names)}
    target = next((name for name, kind in named.items() if kind in _TARGETS), None)
    quartiles = True if target is not None and named[target] == "quartiles" else None
    others = {**made, **{name: kind for name, kind in named.items() if kind not in _TARGETS}}
    others.pop(target if target is not None else table.default_target()[0], None)
    return table.dataset(target, kinds=others, quartiles=quartiles, stop=stop)
