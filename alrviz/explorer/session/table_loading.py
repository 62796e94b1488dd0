"""How a table comes to a session: a demo set, a file that was dropped, or the same table with other kinds.

Whatever takes time is done on a thread (`LatestJob`), or arrives in pieces (`IncomingFile`), and comes back
through the session's pump; `give_up` ends it from outside. Until a table is there the one before stays. Where nobody
can guess the class, the table read is `pending` until a column is chosen, or until it is put away.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import param

from alrviz.errors import TableError, nearest
from alrviz.explorer.server.limits import TABLES
from alrviz.explorer.server.run_registry import Registry, process_registry
from alrviz.explorer.server.table_process import READERS
from alrviz.explorer.server.tables import FileLink, Upload, UploadClaim, link_of, safe_name
from alrviz.explorer.server.visitor_ids import new_id
from alrviz.explorer.session.apply_kinds import TARGETS, chosen, read_upload, said, split_as
from alrviz.explorer.session.incoming_file import IncomingFile
from alrviz.explorer.session.state import FIRST_DEMO, FIRST_ROWS
from alrviz.job import LatestJob
from alrviz.stop import StopToken

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset, Table
    from alrviz.data.options import ReadOptions

T = TypeVar("T")
_NONE: Mapping[int, str] = MappingProxyType({})


@dataclass(frozen=True)
class Source:
    """Where a session's table comes from: a dropped file and what a link says of it, or a demo set; changed kinds;
    how its rows are split.
    """

    upload: Upload | None = None
    file: FileLink | None = None
    demo: tuple[str, int | None] | None = None
    kinds: Mapping[int, str] = field(default_factory=dict)
    split: str = ""  # slug of what splits of its rows keep to


class TableLoading(param.Parameterized):
    """The part of a session that tables come to."""

    dataset: "Dataset | None" = param.Parameter(default=None, doc="The table, or None while there is none.")
    seed = param.Integer(default=0, bounds=(0, 2**32 - 1), doc="Of demo set and split.")
    pending: "Table | None" = param.Parameter(default=None, doc="A table that was read and still needs a target.")
    loading: "LatestJob | IncomingFile | None" = param.Parameter(default=None, doc="Work under way, or None.")
    problem: "Exception | None" = param.Parameter(default=None, doc="What went wrong last, until it is put right.")
    told = param.String(default="", doc="What else there is to say, until it is dismissed or something begins.")
    wanted: "FileLink | None" = param.Parameter(default=None, doc="The file a link asks to be dropped.")

    def __init__(self, owner: str | None = None, registry: Registry | None = None, **params: object):
        super().__init__(**params)
        self.owner = owner or new_id()
        self.registry = registry or process_registry()
        self.tables = self.registry.tables
        self.source = Source()
        self._before = Source()  # of `dataset`, while another table is pending
        self._claim: UploadClaim | None = None
        self._of_a_file: LatestJob | IncomingFile | None = None  # the work that reads one, over or not
        self.on_wake: Callable[[], None] = lambda: None
        self._held: list[LatestJob] | None = None  # work that waits until the page is drawn; None once it is
        self.asked: tuple[str, int | None] | None = None  # the demo set that was asked for last, there or not
        self.own_choice = True  # whether visitor or link chose the table; otherwise it is the page's own

    @property
    def upload(self) -> Upload | None:
        """The file the table was read from, or None."""
        return self.source.upload

    @property
    def file(self) -> FileLink | None:
        """What a link says of that file."""
        return self.source.file

    @property
    def demo(self) -> tuple[str, int | None] | None:
        """The demo set's name and the rows asked for, or None."""
        return self.source.demo

    def wake(self) -> None:
        """Start the pump, if it rests: something has begun."""
        self.on_wake()

    def hold(self) -> None:
        """Keep all work back until `page_drawn`: beside it a page takes half as long again to come to the screen."""
        self._held = []

    @property
    def held(self) -> bool:
        """Whether work is kept back."""
        return self._held is not None

    def page_drawn(self) -> None:
        """Begin what was kept back; from now on work begins at once."""
        waiting, self._held = self._held or [], None
        for work in waiting:
            work.begin()

    def begin(self, work: LatestJob) -> None:
        """Begin work on its thread as soon as the page is drawn, and have the pump wait for it."""
        if self._held is None:
            work.begin()
        else:
            self._held.append(work)
        self.wake()

    # ---- demo sets and tables of the server ----------------------------------------------------------------------

    def load_demo(
        self, name: str, rows: int | None = None, kinds: Mapping[int, str] | None = None, split: str = ""
    ) -> None:
        """Load a demo set on a thread; an unknown name is a problem that names the nearest."""
        from alrviz.data.demos import demo_names, load_demo

        if name not in demo_names():
            self.refuse(TableError(f"there is no demo set {name!r}{nearest(name, demo_names())}"))
            return
        if name == FIRST_DEMO and rows is None:
            rows = FIRST_ROWS
        self.asked = (name, rows)
        seed, changed = self.seed, dict(kinds or {})

        def work(stop: StopToken) -> "Dataset":
            dataset = load_demo(name, rows=rows, seed=seed)
            return split_as(chosen(dataset.table, changed, stop, said(dataset)) if changed else dataset, split)

        source = Source(demo=(name, rows), kinds=changed, split=split)
        self._load(work, f"making {name}", lambda dataset: self._arrived(dataset, source))

    def open_served(self, dataset: "Dataset", kinds: Mapping[int, str], split: str = "") -> None:
        """Show the table that the server was started with."""
        file = FileLink(safe_name(dataset.name), dataset.n_rows, len(dataset.columns), dataset.hash[:16])
        source = Source(file=file, kinds=dict(kinds), split=split)
        if not kinds and not split:
            self._arrived(dataset, source)
            return
        made = said(dataset)
        self._load(
            lambda stop: split_as(chosen(dataset.table, kinds, stop, made, dataset), split, dataset),
            "changing the kinds of columns",
            lambda result: self._arrived(result, source),
        )

    # ---- files -----------------------------------------------------------------------------------------------------

    def receive(self) -> IncomingFile:
        """Return what takes the pieces of a file that the browser begins to send."""
        self.cancel()
        self.own_choice = True
        READERS.warm()
        self.param.update(problem=None, told="")
        self.loading = IncomingFile(self.tables.claim(self.owner), self.registry.limits.bytes, self.refuse)
        self.wake()
        return self.loading

    def load_bytes(
        self,
        filename: str,
        data: bytes | str,
        options: "ReadOptions | None" = None,
        kinds: Mapping[int, str] = _NONE,
        points: str = "",
    ) -> None:
        """Read a dropped file on a thread; `options` and `kinds` are what its maker says, `points` for links."""
        upload = Upload.of(filename, data).replace(options=options, points=points)
        self.cancel()
        claim = self.tables.claim(self.owner)
        try:
            claim.resize(len(upload.data))
        except TableError as error:
            self.refuse(error)
            return
        linked = self.wanted is not None
        self.read(upload, self.source.kinds if linked else kinds, claim, self.source.split if linked else "")

    def reread(self, options: "ReadOptions") -> None:
        """Read the dropped file again with other options, which no link holds."""
        if self.upload is not None:
            self.read(self.upload.replace(options=options, points=""), self.source.kinds, split=self.source.split)

    def read(self, upload: Upload, kinds: Mapping[int, str], claim: UploadClaim | None = None, split: str = "") -> None:
        """Read a file on a thread; `claim` is its room while it is not held, `split` how its rows are split."""
        limits, changed = self.registry.limits, dict(kinds)

        def work(stop: StopToken) -> "tuple[Table, FileLink, Dataset | TableError]":
            table = read_upload(upload, limits, stop, self.owner, lambda waits: self._waits(stop, waits))
            link = link_of(upload, table)
            try:
                with TABLES:
                    return table, link, split_as(chosen(table, changed, stop), split)
            except TableError as error:  # the table is fine, but which column is the class has to be said
                return table, link, error

        title = f"reading {upload.name}"
        self._load(work, title, lambda result: self._read(upload, changed, split, *result), claim, None)
        self._of_a_file = self.loading

    @property
    def reading(self) -> bool:
        """Whether a file is being read, or waits for it."""
        return self.loading is not None and self.loading is self._of_a_file

    def _waits(self, stop: StopToken, waits: bool) -> None:
        """A reading says whether it waits for its turn."""
        loading = self.loading
        if isinstance(loading, LatestJob) and loading.token is stop:
            loading.waiting = waits

    def _read(
        self,
        upload: Upload,
        kinds: dict[int, str],
        split: str,
        table: "Table",
        link: FileLink,
        dataset: "Dataset | TableError",
    ) -> None:
        self._release()
        try:  # others may have come while this was read
            self.tables.keep(self.owner, link.hash, upload)
        except TableError as error:
            self.refuse(error)
            return
        asked = self.wanted
        if isinstance(dataset, TableError):
            if self.pending is None:
                self._before = self.source
            self.source = Source(upload, link)
            self.param.update(pending=table, loading=None, wanted=None)
        else:
            self._arrived(dataset, Source(upload, link, kinds=kinds, split=split))
        if asked is not None and asked.hash != link.hash:
            self.problem = TableError(
                f"this is another file than the link is about. The link was made with {asked}; "
                f"this is {link}. You can go on with it, or drop the other file"
            )

    def put_away(self) -> None:
        """Go back from a table whose class was not chosen to what was there before."""
        if self.pending is not None:
            self.cancel()
            self.source = self._before
            self.param.update(pending=None, problem=None)

    # ---- kinds -----------------------------------------------------------------------------------------------------

    def set_split(self, slug: str) -> None:
        """Split the rows of the table in another way, by its slug."""
        self.set_kinds({}, slug)

    def set_kinds(self, kinds: Mapping[str, str], split: str | None = None) -> None:
        """Change kinds of columns by name: one may become "target", or "quartiles" (a numeric target cut in four).

        split: slug of how rows are split from now on; None: as before.
        """
        table = self.pending or (self.dataset.table if self.dataset is not None else None)
        if table is None:
            return
        position = {name: k for k, name in enumerate(table.names)}
        targets = [position[name] for name, kind in kinds.items() if kind in TARGETS and name in position]
        before = self.source.kinds
        kept = {k: kind for k, kind in before.items() if not (targets and kind in TARGETS)}
        changed = {**kept, **{position[name]: kind for name, kind in kinds.items() if name in position}}
        made = said(self.dataset) if self.pending is None and self.dataset is not None else {}
        made = {name: kind for name, kind in made.items() if position[name] not in before}
        slug = self.source.split if split is None else split
        source = Source(self.upload, self.file, self.demo, changed, slug)

        shown = self.dataset if self.pending is None else None
        served = self.served if self.served is not None and self.served.table is table else None

        def work(stop: StopToken) -> "Dataset":
            return split_as(chosen(table, changed, stop, made, shown), slug, served)

        what = "changing the kinds of columns" if split is None else "splitting the rows"
        self._load(work, what, lambda dataset: self._arrived(dataset, source))

    # ---- work ------------------------------------------------------------------------------------------------------

    def _arrived(self, dataset: "Dataset", source: Source) -> None:
        self.source = source
        before = self.dataset
        # Places of columns and rows in another table mean nothing here.
        same = before is None or before.table.names == dataset.table.names
        map_of = {} if same else {"axes": (), "others": "", "row": None}
        self.param.update(dataset=dataset, pending=None, loading=None, wanted=None, **map_of)

    def refuse(self, error: Exception) -> None:
        """Say what went wrong; what was shown before stays."""
        self._release()
        self.param.update(loading=None, problem=error)

    def _load(
        self,
        work: Callable[[StopToken], T],
        title: str,
        done: Callable[[T], None],
        claim: UploadClaim | None = None,
        places: AbstractContextManager[object] | None = TABLES,
    ) -> None:
        self.cancel()
        self.own_choice = True
        self.param.update(problem=None, told="")
        self._claim = claim
        self.loading = task = LatestJob(title, places)
        task.run(work, done, self.refuse, begin=False)
        self.begin(task)

    def _release(self) -> None:
        if self._claim is not None:
            self._claim.release()
            self._claim = None

    def cancel(self) -> None:
        """End the work under way; what was shown before stays."""
        if self.loading is not None:
            self.loading.cancel()
            self.loading = None
        self._release()

    def give_up(self) -> None:
        """End the work under way because the visitor asks for it, and say that it was ended."""
        if self.loading is None:
            return
        title = self.loading.title
        self.cancel()
        name = self.dataset.name if self.dataset is not None else ""
        still = f"; {name} is still here" if name and self.pending is None else ""
        self.told = f"{title[:1].upper()}{title[1:]} was cancelled{still}."
