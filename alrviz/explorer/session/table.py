"""The table of a session: a demo set, a dropped file, the server's own table, or one of these with other kinds.

Loading runs on a thread (`LatestJob`) or arrives in pieces (`IncomingFile`); the session's pump takes over the
result, and `give_up` cancels it. The previous table stays until the next one is complete. If the class column cannot be
guessed, the table read is `pending` until the visitor chooses one or discards the table.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeVar

import param

from alrviz import __version__
from alrviz.data.stream.table import Stream
from alrviz.errors import TableError, nearest
from alrviz.explorer.server.limits import TABLES
from alrviz.explorer.server.run_registry import Registry
from alrviz.explorer.server.table_process import READERS
from alrviz.explorer.server.tables import FileLink, Upload, UploadClaim, link_of, safe_name
from alrviz.explorer.session.apply_kinds import TARGETS, read_upload, stated_kinds, with_kinds, with_split
from alrviz.explorer.session.incoming_file import IncomingFile
from alrviz.explorer.session.points import AS_WRITTEN, FILE, KINDS, unpack
from alrviz.explorer.session.state import FIRST_DEMO, FIRST_ROWS, State, first_demo
from alrviz.job import LatestJob
from alrviz.stop import StopToken

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset, Table
    from alrviz.data.options import ReadOptions

T = TypeVar("T")
_NONE: Mapping[int, str] = MappingProxyType({})


@dataclass(frozen=True)
class Source:
    """Where a session's table comes from, and what was changed in it.

    Attributes:
        upload: the dropped file, or None. file: its name, shape and hash, as a link holds them.
        demo: name and number of rows of a demo set, or None.
        kinds: changed kinds by column position.
        split: slug of what splits of the rows respect.
    """

    upload: Upload | None = None
    file: FileLink | None = None
    demo: tuple[str, int | None] | None = None
    kinds: Mapping[int, str] = field(default_factory=dict)
    split: str = ""

    @property
    def points(self) -> str:
        """The table as a link holds it if it is a few drawn points; "" for others."""
        return self.upload.points if self.upload is not None else ""


class Host(Protocol):
    """What a table uses of its session."""

    owner: str
    registry: Registry
    seed: int
    whole: str
    problem: "Exception | None"
    message: str

    def begin(self, work: LatestJob) -> None:
        """Begin work on its thread as soon as the page is drawn."""

    def wake(self) -> None:
        """Start the pump if it rests."""

    def clear_notice(self) -> None:
        """Show the last problem and message no more."""

    def go(self, page: str) -> None:
        """Show another page."""


class SessionTable(param.Parameterized):
    """The table that a session shows, and the loading of the next one.

    Args:
        session: whose table it is; errors and messages are shown there.
        served: what the server was started with: a table, a file whose class column is still to be chosen, or a table
            larger than memory, of which pages show a sample.
        served_from: path of the served file, if known.
    """

    dataset: "Dataset | None" = param.Parameter(default=None, doc="The table, or None while there is none.")
    pending: "Table | None" = param.Parameter(default=None, doc="A table that was read and still needs a target.")
    loading: "LatestJob | IncomingFile | None" = param.Parameter(default=None, doc="Work under way, or None.")
    requested_file: "FileLink | None" = param.Parameter(default=None, doc="The file that a link asks to be dropped.")

    def __init__(self, session: Host, served: "Dataset | Upload | Stream | None" = None, served_from: str = ""):
        super().__init__()
        self._session = session
        self._uploads = session.registry.tables
        self._served_stream = served if isinstance(served, Stream) else None
        self._served_file = served if isinstance(served, Upload) else None
        self.served = served.sample if isinstance(served, Stream) else None if isinstance(served, Upload) else served
        self.served_from = served_from
        self.source = Source()
        self._source_before = Source()  # of `dataset`, while another table is pending
        self._claim: UploadClaim | None = None
        self._file_task: LatestJob | IncomingFile | None = None  # the latest reading of a file, finished or not
        self.requested_demo: tuple[str, int | None] | None = None  # the latest demo set asked for, loaded or not
        self.chosen = True  # whether the visitor or a link chose the table; False for the page's default

    @property
    def stream(self) -> Stream | None:
        """The table larger than memory that `dataset` is a sample of, with its target and kinds; None for others."""
        stream, sample = self._served_stream, self.dataset
        if stream is None or sample is None or sample.table is not stream.sample.table:
            return None
        return stream if sample is stream.sample else replace(stream, sample=sample)

    @property
    def sample_note(self) -> str:
        """Why pages show a sample of the table that the server was started with; "" if it is in memory."""
        if self._served_stream is None:
            return ""
        return (
            f"Pages show a sample, {self._served_stream.sample.n_rows:,} of {self._served_stream.n_rows:,} rows, as "
            "they fit many models or draw rows; on Convergence and Selection the menu Rows has all of them fitted."
        )

    @property
    def race_data(self) -> "Dataset | Stream | None":
        """What races fit: the table, or all rows of what it is a sample of if the menu Rows says so."""
        return (self.stream if self._session.whole else None) or self.dataset

    def provenance(self) -> dict[str, object]:
        """Return version, name and hash of the table shown, and the seed, for saved numbers; {} without a table."""
        if self.dataset is None:
            return {}
        data = self.dataset
        return {"alrviz": __version__, "data": data.name, "data hash": data.hash, "seed": self._session.seed}

    def open(self, state: State) -> None:
        """Begin to open the table that a link asks for."""
        self.source = Source(kinds=dict(state.kinds), split=state.split)
        self.param.update(dataset=None, pending=None, requested_file=None)
        self.change_to(state)

    def change_to(self, state: State) -> None:
        """Begin to load the table that a link asks for; the one shown stays until then."""
        served, kinds, split = self.served, dict(state.kinds), state.split
        if state.points:
            upload = Upload.of(FILE, unpack(state.points)).replace(options=AS_WRITTEN, points=state.points)
            self.read(upload, kinds or KINDS, split=split)
        elif served is not None and (state.file.fits(served.hash) if state.file else not state.data):
            self._show_served(served, kinds, split)
        elif self._served_file is not None and state.file is None and not state.data:
            self.read(self._served_file, kinds)
        elif state.file is not None:
            held = self._uploads.find(self._session.owner, state.file)
            if held is not None:
                self.read(held, kinds, split=split)
            else:
                self.source, self.requested_file = Source(kinds=kinds, split=split), state.file
        else:
            self.load_demo(state.data or first_demo(state.page), state.rows, kinds, split)
            self.chosen = bool(state.data or state.rows or kinds or split)

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
        self.requested_demo = (name, rows)
        seed, changed = self._session.seed, dict(kinds or {})

        def work(stop: StopToken) -> "Dataset":
            dataset = load_demo(name, rows=rows, seed=seed)
            return with_split(
                with_kinds(dataset.table, changed, stop, stated_kinds(dataset)) if changed else dataset, split
            )

        source = Source(demo=(name, rows), kinds=changed, split=split)
        self._load(work, f"making {name}", lambda dataset: self._arrived(dataset, source))

    def _show_served(self, dataset: "Dataset", kinds: Mapping[int, str], split: str = "") -> None:
        """Show the table that the server was started with."""
        file = FileLink(safe_name(dataset.name), dataset.n_rows, len(dataset.columns), dataset.hash[:16])
        source = Source(file=file, kinds=dict(kinds), split=split)
        if not kinds and not split:
            self._arrived(dataset, source)
            return
        made = stated_kinds(dataset)
        self._load(
            lambda stop: with_split(with_kinds(dataset.table, kinds, stop, made, dataset), split, dataset),
            "changing the kinds of columns",
            lambda result: self._arrived(result, source),
        )

    # ---- files -----------------------------------------------------------------------------------------------------

    def receive(self) -> IncomingFile:
        """Return what takes the pieces of a file that the browser begins to send."""
        self.cancel()
        self.chosen = True
        READERS.warm()
        self._session.clear_notice()
        self.loading = IncomingFile(
            self._uploads.claim(self._session.owner), self._session.registry.limits.bytes, self.refuse
        )
        self._session.wake()
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
        claim = self._uploads.claim(self._session.owner)
        try:
            claim.resize(len(upload.data))
        except TableError as error:
            self.refuse(error)
            return
        linked = self.requested_file is not None
        self.read(upload, self.source.kinds if linked else kinds, claim, self.source.split if linked else "")

    def reread(self, options: "ReadOptions") -> None:
        """Read the dropped file again with other options, which no link holds."""
        if self.source.upload is not None:
            self.read(
                self.source.upload.replace(options=options, points=""), self.source.kinds, split=self.source.split
            )

    def read(self, upload: Upload, kinds: Mapping[int, str], claim: UploadClaim | None = None, split: str = "") -> None:
        """Read a file on a thread; `claim` is its room while it is not held, `split` how its rows are split."""
        limits, changed = self._session.registry.limits, dict(kinds)

        def work(stop: StopToken) -> "tuple[Table, FileLink, Dataset | TableError]":
            table = read_upload(upload, limits, stop, self._session.owner, lambda waits: self._waits(stop, waits))
            link = link_of(upload, table)
            try:
                with TABLES:
                    return table, link, with_split(with_kinds(table, changed, stop), split)
            except TableError as error:  # the table is fine, but which column is the class has to be said
                return table, link, error

        title = f"reading {upload.name}"
        self._load(work, title, lambda result: self._read(upload, changed, split, *result), claim, None)
        self._file_task = self.loading

    @property
    def reading(self) -> bool:
        """Whether a file is being read, or waits for it."""
        return self.loading is not None and self.loading is self._file_task

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
        requested = self.requested_file
        try:  # others may have come while this was read
            self._uploads.keep(self._session.owner, link.hash, upload)
        except TableError as error:
            self.refuse(error)
            if requested is not None:
                self._session.go("data")
            return
        if isinstance(dataset, TableError):
            if self.pending is None:
                self._source_before = self.source
            self.source = Source(upload, link)
            self.param.update(pending=table, loading=None, requested_file=None)
        else:
            self._arrived(dataset, Source(upload, link, kinds=kinds, split=split))
        if requested is None:
            return
        if requested.hash != link.hash:
            self._session.problem = TableError(
                f"this is another file than the link is about. The link was made with {requested}; "
                f"this is {link}. You can go on with it, or drop the other file"
            )
        if requested.hash != link.hash or self.pending is not None:  # the visitor has to decide something
            self._session.go("data")

    def discard_pending(self) -> None:
        """Go back from a table whose class was not chosen to what was there before."""
        if self.pending is not None:
            self.cancel()
            self.source = self._source_before
            self.pending = self._session.problem = None

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
        made = stated_kinds(self.dataset) if self.pending is None and self.dataset is not None else {}
        made = {name: kind for name, kind in made.items() if position[name] not in before}
        slug = self.source.split if split is None else split
        if slug != "once" and {"group", "time"} & {*kinds.values()}:
            slug = ""  # the kind replaces the rule that was chosen
        source = replace(self.source, kinds=changed, split=slug)

        shown = self.dataset if self.pending is None else None
        served = self.served if self.served is not None and self.served.table is table else None

        def work(stop: StopToken) -> "Dataset":
            return with_split(with_kinds(table, changed, stop, made, shown), slug, served)

        what = "changing the kinds of columns" if split is None else "splitting the rows"
        self._load(work, what, lambda dataset: self._arrived(dataset, source))

    # ---- work ------------------------------------------------------------------------------------------------------

    def _arrived(self, dataset: "Dataset", source: Source) -> None:
        self.source = source
        self.param.update(dataset=dataset, pending=None, loading=None, requested_file=None)

    def refuse(self, error: Exception) -> None:
        """Show what went wrong; the table shown before stays."""
        self._release()
        self._session.problem = error  # before `loading`: who watches that reads both
        self.loading = None

    def _load(
        self,
        work: Callable[[StopToken], T],
        title: str,
        done: Callable[[T], None],
        claim: UploadClaim | None = None,
        places: AbstractContextManager[object] | None = TABLES,
    ) -> None:
        self.cancel()
        self.chosen = True
        self._session.clear_notice()
        self._claim = claim
        self.loading = task = LatestJob(title, places)
        task.run(work, done, self.refuse, begin=False)
        self._session.begin(task)

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
        self._session.message = f"{title[:1].upper()}{title[1:]} was cancelled{still}."
