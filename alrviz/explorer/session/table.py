"""The table of a session: a demo set, a dropped file, the server's own table, or one of these with other kinds.

Loading runs on a thread (`LatestJob`) or arrives in pieces (`IncomingFile`); the session's pump takes over the
result, and `give_up` cancels it. The previous table stays until the next one is complete. If the class column cannot be
guessed, the table read is `pending` until the visitor chooses one or discards the table.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeVar

import param

from alrviz import __version__
from alrviz.data.stream.table import Stream
from alrviz.errors import TableError, nearest
from alrviz.explorer.server.limits import TABLES
from alrviz.explorer.server.run_registry import Registry
from alrviz.explorer.server.table_process import BIG, READERS
from alrviz.explorer.server.tables import FileLink, Upload, UploadClaim, link_of, safe_name
from alrviz.explorer.session.apply_kinds import TARGETS, derive, read_upload, with_split
from alrviz.explorer.session.incoming_file import IncomingFile
from alrviz.explorer.session.points import AS_WRITTEN, FILE, KINDS, unpack
from alrviz.explorer.session.row_filter import RowFilter, filters_words
from alrviz.explorer.session.source import NOTHING_CHOSEN, Change, Refusal, Source, choices_of
from alrviz.explorer.session.state import FIRST_DEMO, FIRST_ROWS, State, first_demo
from alrviz.job import LatestJob
from alrviz.stop import StopToken

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset, Table
    from alrviz.data.options import ReadOptions

T = TypeVar("T")
_NONE: Mapping[int, str] = MappingProxyType({})


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
    history: tuple[Change, ...] = param.Parameter(default=(), doc="Changes of this table that can be undone.")
    refused: "Refusal | None" = param.Parameter(default=None, doc="The latest file if no table could be read from it.")

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
        self.whole: Table | None = None  # the table as read; `dataset` may hold some of its rows
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
        self.source = choices_of(state)
        self.param.update(dataset=None, pending=None, requested_file=None, refused=None, history=())
        self.change_to(state)

    def change_to(self, state: State) -> None:
        """Begin to load the table that a link asks for; the one shown stays until then."""
        served, choices = self.served, choices_of(state)
        if state.points:
            upload = Upload.of(FILE, unpack(state.points)).replace(options=AS_WRITTEN, points=state.points)
            self.read(replace(choices, upload=upload, kinds=choices.kinds or KINDS))
        elif served is not None and (state.file.fits(served.hash) if state.file else not state.data):
            self._show_served(choices)
        elif self._served_file is not None and state.file is None and not state.data:
            self.read(Source(self._served_file, kinds=choices.kinds))
        elif state.file is not None:
            held = self._uploads.find(self._session.owner, state.file)
            if held is not None:
                self.read(replace(choices, upload=held))
            else:
                self.source, self.requested_file = choices, state.file
        else:
            self.load_demo(state.data or first_demo(state.page), state.rows, choices)
            self.chosen = bool(state.data or state.rows or choices != Source())

    # ---- demo sets and tables of the server ----------------------------------------------------------------------

    def load_demo(self, name: str, rows: int | None = None, choices: Source = NOTHING_CHOSEN) -> None:
        """Load a demo set on a thread; an unknown name is a problem that names the nearest.

        choices: kinds, split and rows are taken from it.
        """
        from alrviz.data.demos import demo_names, load_demo

        if name not in demo_names():
            self.refuse(TableError(f"there is no demo set {name!r}{nearest(name, demo_names())}"))
            return
        if name == FIRST_DEMO and rows is None:
            rows = FIRST_ROWS
        self.requested_demo = (name, rows)
        seed, source = self._session.seed, replace(choices, demo=(name, rows))

        def work(stop: StopToken) -> "tuple[Dataset, Table]":
            demo = load_demo(name, rows=rows, seed=seed)
            if not (source.kinds or source.rows):
                return with_split(demo, source.split), demo.table
            return derive(demo.table, source, stop, demo.given_kinds), demo.table

        history = self._history_for(source)
        self._load(work, f"making {name}", lambda result: self._arrived(result[0], source, result[1], history))

    def _show_served(self, choices: Source) -> None:
        """Show the table that the server was started with."""
        served = self.served
        assert served is not None
        file = FileLink(safe_name(served.name), served.n_rows, len(served.columns), served.hash[:16])
        source = replace(choices, file=file)
        history = self._history_for(source)
        if source == Source(file=file):
            self._arrived(served, source, served.table, history)
            return
        made = served.given_kinds
        self._load(
            lambda stop: derive(served.table, source, stop, made, served, served),
            "changing the kinds of columns",
            lambda result: self._arrived(result, source, served.table, history),
        )

    # ---- files -----------------------------------------------------------------------------------------------------

    def receive(self) -> IncomingFile:
        """Return what takes the pieces of a file that the browser begins to send."""
        self.cancel()
        self.chosen, self.refused = True, None
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
        choices = self.source if linked else Source(kinds=kinds)
        self.read(replace(choices, upload=upload), claim)

    def reread(self, options: "ReadOptions", words: str = "the file was read again") -> None:
        """Read the latest dropped file again with other options, which no link holds; `words` describe the change."""
        upload = self.refused.upload if self.refused is not None else self.source.upload
        if upload is not None:
            # Rows are not kept: positions of levels may be others in another reading.
            source = Source() if self.refused is not None else replace(self.source, rows=())
            words += "; all rows are shown again" if source.rows != self.source.rows else ""
            self.read(replace(source, upload=upload.replace(options=options, points="")), change=words)

    def read(self, source: Source, claim: UploadClaim | None = None, change: str = "") -> None:
        """Read the file of `source` on a thread.

        claim: room in the server's memory while the file is not held. change: words for what is read otherwise than
        before; "" for another file.
        """
        upload, limits = source.upload, self._session.registry.limits
        assert upload is not None
        history = self._history_for(source, change)

        def work(stop: StopToken) -> "tuple[Table, FileLink, Dataset | TableError]":
            table = read_upload(upload, limits, stop, self._session.owner, lambda waits: self._waits(stop, waits))
            link = link_of(upload, table)
            try:
                with TABLES:
                    return table, link, derive(table, source, stop)
            except TableError as error:  # the table is fine, but which column is the class has to be said
                return table, link, error

        title = f"reading {upload.name}"

        def failed(error: Exception) -> None:
            self.refuse(error)
            self.refused = Refusal(upload, error) if len(upload.data) <= BIG else None

        def done(result: "tuple[Table, FileLink, Dataset | TableError]") -> None:
            self._read(replace(source, file=result[1]), history, *result)

        self._load(work, title, done, claim, None, failed)
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
        source: Source,
        history: tuple[Change, ...],
        table: "Table",
        link: FileLink,
        dataset: "Dataset | TableError",
    ) -> None:
        self._release()
        requested, upload = self.requested_file, source.upload
        assert upload is not None
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
            self.param.update(pending=table, loading=None, requested_file=None, refused=None)
        else:
            self._arrived(dataset, source, table, history)
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

    # ---- kinds, rows and splits ------------------------------------------------------------------------------------

    def set_split(self, slug: str) -> None:
        """Split the rows of the table in another way, by its slug."""
        self._change(replace(self.source, split=slug), "splitting the rows", "rows are split in another way")

    def set_kinds(self, kinds: Mapping[str, str]) -> None:
        """Change kinds of columns by name: one may become "target", or "quartiles" (a numeric target cut in four)."""
        table = self.pending or self.whole
        if table is None:
            return
        position = {name: k for k, name in enumerate(table.names)}
        targets = [position[name] for name, kind in kinds.items() if kind in TARGETS and name in position]
        kept = {k: kind for k, kind in self.source.kinds.items() if not (targets and kind in TARGETS)}
        changed = {**kept, **{position[name]: kind for name, kind in kinds.items() if name in position}}
        words = "; ".join(f"{name}: {kind}" for name, kind in kinds.items())
        slug = self.source.split
        if slug != "once" and {"group", "time"} & {*kinds.values()}:
            slug = ""  # the kind replaces the rule that was chosen
        self._change(replace(self.source, kinds=changed, split=slug), "changing the kinds of columns", words)

    def keep_rows(self, filters: Sequence[RowFilter]) -> None:
        """Keep only the rows that pass these filters too."""
        if self.whole is not None:
            words = f"kept rows of {filters_words(self.whole, filters)}"
            self._change(replace(self.source, rows=(*self.source.rows, *filters)), "keeping rows", words)

    def _change(self, source: Source, title: str, words: str) -> None:
        """Derive a new data set from the table."""
        table, shown, before = self.pending or self.whole, self.dataset, self.source.kinds
        if table is None:
            return
        if self.pending is not None:
            shown = None
        changed_names = {table.names[k] for k in before if k < len(table.names)}
        by_maker = {} if shown is None else shown.given_kinds
        by_maker = {name: kind for name, kind in by_maker.items() if name not in changed_names}
        served = self.served if self.served is not None and self.served.table is table else None
        history = () if self.pending is not None else (*self.history, Change(words, self.source))
        self._load(
            lambda stop: derive(table, source, stop, by_maker, shown, served),
            title,
            lambda dataset: self._arrived(dataset, source, table, history),
        )

    def settle(self, question: str) -> None:
        """Keep the reading that this question is about: it is not asked again."""
        words, before = f"{question} No", self.source
        self.source = replace(before, settled=before.settled | {question})
        self.history = (*self.history, Change(words, before))

    def undo(self, change: Change | None = None) -> None:
        """Undo a change and what followed it; None: the latest."""
        if not self.history:
            return
        change = change or self.history[-1]
        before = change.before
        if replace(before, settled=self.source.settled) == self.source:  # only answers that keep the reading
            self.source = before
            self.history = self.history[: self.history.index(change)]
        elif before.demo is not None:
            self.load_demo(*before.demo, before)
        elif before.upload is not None and before.upload is self.source.upload and self.whole is not None:
            whole, history = self.whole, self._history_for(before)
            self._load(
                lambda stop: derive(whole, before, stop),
                "undoing a change",
                lambda dataset: self._arrived(dataset, before, whole, history),
            )
        elif before.upload is not None:
            self.read(before)
        else:
            self._show_served(before)

    def _history_for(self, source: Source, change: str = "") -> tuple[Change, ...]:
        """Return the changes that can be undone once a table of this source is shown; () for another table."""
        if change and self.dataset is not None and self.pending is None:
            return (*self.history, Change(change, self.source))
        places = [k for k, one in enumerate(self.history) if one.before == source]
        return self.history[: places[-1]] if places else ()

    # ---- work ------------------------------------------------------------------------------------------------------

    def _arrived(self, dataset: "Dataset", source: Source, whole: "Table", history: tuple[Change, ...]) -> None:
        self.source, self.whole = source, whole
        self.param.update(
            dataset=dataset, pending=None, loading=None, requested_file=None, refused=None, history=history
        )

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
        failed: Callable[[Exception], None] | None = None,
    ) -> None:
        self.cancel()
        self.chosen, self.refused = True, None
        self._session.clear_notice()
        self._claim = claim
        self.loading = task = LatestJob(title, places)
        task.run(work, done, failed or self.refuse, begin=False)
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
