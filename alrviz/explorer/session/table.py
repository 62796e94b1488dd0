"""The table of a session: a demo set, a dropped file or the server's table, with the visitor's kinds, rows and splits.

A table is loaded on a thread (`LatestJob`) or arrives in pieces (`IncomingFile`); the session's pump takes over the
result, and `give_up` cancels it. The previous table stays until the next one is complete. If the class column cannot be
guessed, the new table is `pending` until the visitor chooses one or discards the table.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeVar

import param

from alrviz import __version__
from alrviz.data.stream.table import Stream
from alrviz.errors import TableError, capitalize, nearest
from alrviz.explorer.server.limits import TABLES
from alrviz.explorer.server.run_registry import Registry
from alrviz.explorer.server.table_process import LONG_READING_BYTES, READERS
from alrviz.explorer.server.tables import FileLink, MemoryReservation, Upload, link_of, safe_name
from alrviz.explorer.session.apply_kinds import TARGETS, derive_dataset, read_upload, with_split
from alrviz.explorer.session.incoming_file import IncomingFile
from alrviz.explorer.session.points import POINTS_FILE, POINTS_KINDS, READ_OPTIONS, unpack_points
from alrviz.explorer.session.row_filter import RowFilter, describe_filters
from alrviz.explorer.session.source import NO_CHOICES, Change, Refusal, Source, choices_of
from alrviz.explorer.session.state import FIRST_DEMO, FIRST_ROWS, State, first_demo
from alrviz.job import LatestJob
from alrviz.stop import StopToken

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.data.options import ReadOptions
    from alrviz.data.table import Table

T = TypeVar("T")


class Host(Protocol):
    """The part of a session that its table uses."""

    owner: str
    registry: Registry
    seed: int
    race_rows: str
    problem: "Exception | None"
    message: str

    def begin(self, task: LatestJob) -> None:
        """Start a task on its thread, once the page is drawn."""

    def wake(self) -> None:
        """Start the pump if it is not running."""

    def clear_notice(self) -> None:
        """Hide the last problem and message."""

    def go(self, page: str) -> None:
        """Show another page."""


class SessionTable(param.Parameterized):
    """The table that a session shows, and the loading of the next one.

    Args:
        session: shows errors and messages.
        served: the table that the server was started with: in memory, a file whose class column is to be chosen, or a
            table larger than memory, of which pages show a sample.
        served_from: path of that file, if known.

    Attributes:
        source: origin of the table, and the choices for it.
        changes: of the kinds, rows and split.
        full_table: all rows of the table; `dataset` has those that pass the filters.
        requested_demo: name and rows of the latest demo set, loaded or not; None before.
        is_chosen: whether the visitor or a link chose the table; False for the page's default.
    """

    dataset: "Dataset | None" = param.Parameter(default=None, doc="The table, or None before the first one is loaded.")
    pending: "Table | None" = param.Parameter(default=None, doc="A table that still needs a target.")
    loading: "LatestJob | IncomingFile | None" = param.Parameter(
        default=None, doc="The loading of the next table, or None."
    )
    requested_file: "FileLink | None" = param.Parameter(
        default=None, doc="The file of a link, which the visitor has to drop."
    )
    history: tuple[Change, ...] = param.Parameter(default=(), doc="Changes of this table that can be undone.")
    refusal: "Refusal | None" = param.Parameter(default=None, doc="The latest file if it could not be read as a table.")

    def __init__(self, session: Host, served: "Dataset | Upload | Stream | None" = None, served_from: str = ""):
        super().__init__()
        self._session = session
        self._uploads = session.registry.tables
        self._served_stream = served if isinstance(served, Stream) else None
        self._served_file = served if isinstance(served, Upload) else None
        self.served = served.sample if isinstance(served, Stream) else None if isinstance(served, Upload) else served
        self.served_from = served_from
        self.changes = TableChanges(self)
        self.source = Source()
        self._source_before = Source()  # the source of `dataset` while another table is pending
        self.full_table: Table | None = None
        self._reservation: MemoryReservation | None = None
        self._file_task: LatestJob | None = None  # the latest reading of a file, finished or not
        self.requested_demo: tuple[str, int | None] | None = None
        self.is_chosen = True

    @property
    def stream(self) -> Stream | None:
        """The table larger than memory of which `dataset` is a sample, with the same target and kinds; else None."""
        stream, sample = self._served_stream, self.dataset
        if stream is None or sample is None or sample.table is not stream.sample.table:
            return None
        return stream if sample is stream.sample else replace(stream, sample=sample)

    @property
    def sample_note(self) -> str:
        """The message that pages show a sample of a table larger than memory; "" for a table in memory."""
        if self._served_stream is None:
            return ""
        return (
            f"Pages show a sample, {self._served_stream.sample.n_rows:,} of {self._served_stream.n_rows:,} rows, as "
            "they fit many models or draw rows; on Convergence and Selection the menu Rows has all of them fitted."
        )

    @property
    def race_data(self) -> "Dataset | Stream | None":
        """The data of races: `stream` if the menu Rows says all rows, else `dataset`."""
        return (self.stream if self._session.race_rows else None) or self.dataset

    def provenance(self) -> dict[str, object]:
        """Return version, seed, and name and hash of the table, for the head of saved numbers; {} without a table."""
        if self.dataset is None:
            return {}
        dataset = self.dataset
        return {"alrviz": __version__, "data": dataset.name, "data hash": dataset.hash, "seed": self._session.seed}

    def open(self, state: State) -> None:
        """Start loading the table of a link's state; no table is shown until then."""
        self.source = choices_of(state)
        self.param.update(dataset=None, pending=None, requested_file=None, refusal=None, history=())
        self.change_to(state)

    def change_to(self, state: State) -> None:
        """Start loading the table of a link's state; the previous table is shown until then."""
        served, choices = self.served, choices_of(state)
        if state.points:
            upload = Upload.from_file(POINTS_FILE, unpack_points(state.points)).replace(
                options=READ_OPTIONS, points=state.points
            )
            self.read(replace(choices, upload=upload, kinds=choices.kinds or POINTS_KINDS))
        elif served is not None and (state.file.fits(served.hash) if state.file else not state.data):
            self.show_served(choices)
        elif self._served_file is not None and state.file is None and not state.data:
            self.read(Source(self._served_file, kinds=choices.kinds))
        elif state.file is not None:
            stored_upload = self._uploads.find(self._session.owner, state.file)
            if stored_upload is not None:
                self.read(replace(choices, upload=stored_upload))
            else:
                self.source, self.requested_file = choices, state.file
        else:
            self.load_demo(state.data or first_demo(state.page), state.rows, choices)
            self.is_chosen = bool(state.data or state.rows or choices != Source())

    # ---- demo sets and tables of the server ----------------------------------------------------------------------

    def load_demo(self, name: str, rows: int | None = None, choices: Source = NO_CHOICES) -> None:
        """Load a demo set on a thread; an unknown name is an error with the nearest name.

        choices: a source with kinds, split and rows.
        """
        from alrviz.data.demos import demo_names, load_demo

        if name not in demo_names():
            self.show_error(TableError(f"there is no demo set {name!r}{nearest(name, demo_names())}"))
            return
        if name == FIRST_DEMO and rows is None:
            rows = FIRST_ROWS
        self.requested_demo = (name, rows)
        seed, source = self._session.seed, replace(choices, demo=(name, rows))

        def work(stop: StopToken) -> "tuple[Dataset, Table]":
            demo = load_demo(name, rows=rows, seed=seed)
            if not (source.kinds or source.rows):
                return with_split(demo, source.split), demo.table
            return derive_dataset(demo.table, source, stop, demo.given_kinds), demo.table

        history = self.changes.history_for(source)
        self._load(work, f"making {name}", lambda result: self._show_table(*result, source, history))

    def show_served(self, choices: Source) -> None:
        """Show the table that the server was started with."""
        served = self.served
        assert served is not None
        file = FileLink(safe_name(served.name), served.n_rows, len(served.columns), served.hash[:16])
        source = replace(choices, file=file)
        if source == Source(file=file):
            self._show_table(served, served.table, source, self.changes.history_for(source))
        else:
            self.derive(served.table, source, "changing the kinds of columns", served.given_kinds, served, served)

    # ---- files -----------------------------------------------------------------------------------------------------

    def receive(self) -> IncomingFile:
        """Start receiving a file; return the object that takes its pieces."""
        self.cancel()
        self.is_chosen, self.refusal = True, None
        READERS.warm()
        self._session.clear_notice()
        self.loading = IncomingFile(
            MemoryReservation(self._uploads, self._session.owner), self._session.registry.limits.bytes, self.show_error
        )
        self._session.wake()
        return self.loading

    def load_bytes(
        self,
        filename: str,
        data: bytes | str,
        options: "ReadOptions | None" = None,
        kinds: Mapping[int, str] = MappingProxyType({}),
        points: str = "",
    ) -> None:
        """Read a dropped file on a thread.

        Args:
            options, kinds: how to read the file, if it is not to be guessed.
            points: its packed points for links, "" for other files.
        """
        upload = Upload.from_file(filename, data).replace(options=options, points=points)
        self.cancel()
        reservation = MemoryReservation(self._uploads, self._session.owner)
        try:
            reservation.resize(len(upload.data))
        except TableError as error:
            self.show_error(error)
            return
        is_requested = self.requested_file is not None
        choices = self.source if is_requested else Source(kinds=kinds)
        self.read(replace(choices, upload=upload), reservation)

    def reread(self, options: "ReadOptions", words: str = "the file was read again") -> None:
        """Read the latest dropped file again with other options; `words` describe the change in the history."""
        upload = self.refusal.upload if self.refusal is not None else self.source.upload
        if upload is not None:
            # Filters are dropped: another reading may change the positions of levels.
            source = Source() if self.refusal is not None else replace(self.source, rows=())
            if options.long_form != (upload.options and upload.options.long_form):
                source = replace(source, kinds={})  # of columns that are no longer there
            words += "; all rows are shown again" if source.rows != self.source.rows else ""
            self.read(replace(source, upload=upload.replace(options=options, points="")), change=words)

    def read(self, source: Source, reservation: MemoryReservation | None = None, change: str = "") -> None:
        """Read the file of `source` on a thread.

        Args:
            reservation: the server's memory reserved for the file until the server holds it.
            change: description of a change in how the same file is read; "" for another file.
        """
        upload, limits = source.upload, self._session.registry.limits
        assert upload is not None
        history = self.changes.history_for(source, change)

        def work(stop: StopToken) -> "tuple[Table, FileLink, Dataset | TableError]":
            table = read_upload(
                upload, limits, stop, self._session.owner, lambda is_waiting: self._show_waiting(stop, is_waiting)
            )
            link = link_of(upload, table)
            try:
                with TABLES:
                    return table, link, derive_dataset(table, source, stop)
            except TableError as error:  # the table is fine, but its class column must be chosen
                return table, link, error

        def on_failure(error: Exception) -> None:
            self.show_error(error)
            self.refusal = Refusal(upload, error) if len(upload.data) <= LONG_READING_BYTES else None

        def on_done(result: "tuple[Table, FileLink, Dataset | TableError]") -> None:
            self._finish_reading(replace(source, file=result[1]), history, *result)

        self._load(work, f"reading {upload.name}", on_done, reservation, None, on_failure, is_file=True)

    @property
    def reading(self) -> bool:
        """Whether a file is being read or waits for its turn."""
        return self.loading is not None and self.loading is self._file_task

    def _show_waiting(self, stop: StopToken, is_waiting: bool) -> None:
        """Note whether the reading with this token waits for its turn."""
        loading = self.loading
        if isinstance(loading, LatestJob) and loading.token is stop:
            loading.waiting = is_waiting

    def _finish_reading(
        self,
        source: Source,
        history: tuple[Change, ...],
        table: "Table",
        link: FileLink,
        dataset: "Dataset | TableError",
    ) -> None:
        """Show the table of a file, or ask for its class. dataset: an error if the class cannot be guessed."""
        self._release()
        requested, upload = self.requested_file, source.upload
        assert upload is not None
        try:  # other uploads may have filled the memory meanwhile
            self._uploads.keep(self._session.owner, link.hash, upload)
        except TableError as error:
            self.show_error(error)
            if requested is not None:
                self._session.go("data")
            return
        if isinstance(dataset, TableError):
            if self.pending is None:
                self._source_before = self.source
            self.source = Source(upload, link)
            self.param.update(pending=table, loading=None, requested_file=None, refusal=None)
        else:
            self._show_table(dataset, table, source, history)
        if requested is None:
            return
        if requested.hash != link.hash:
            self._session.problem = TableError(
                f"this is not the file of the link. The link was made with {requested}; "
                f"this is {link}. You can go on with it, or drop the other file"
            )
        if requested.hash != link.hash or self.pending is not None:  # the visitor has to decide something
            self._session.go("data")

    def discard_pending(self) -> None:
        """Discard the pending table and show the previous one."""
        if self.pending is not None:
            self.cancel()
            self.source = self._source_before
            self.pending = self._session.problem = None

    # ---- work ------------------------------------------------------------------------------------------------------

    def derive(
        self,
        table: "Table",
        source: Source,
        title: str,
        other_kinds: Mapping[str, str] = MappingProxyType({}),
        previous: "Dataset | None" = None,
        served: "Dataset | None" = None,
        change: str = "",
    ) -> None:
        """Make a data set of a table on a thread, and show it; see `derive_dataset`, `_history_for` and `LatestJob`."""
        history = self.changes.history_for(source, change)
        self._load(
            lambda stop: derive_dataset(table, source, stop, other_kinds, previous, served),
            title,
            lambda dataset: self._show_table(dataset, table, source, history),
        )

    def _show_table(self, dataset: "Dataset", full_table: "Table", source: Source, history: tuple[Change, ...]) -> None:
        """Show a data set. full_table: all its rows, before filters."""
        self.source, self.full_table = source, full_table
        self.param.update(
            dataset=dataset, pending=None, loading=None, requested_file=None, refusal=None, history=history
        )

    def show_error(self, error: Exception) -> None:
        """Show an error; the previous table stays."""
        self._release()
        self._session.problem = error  # before `loading`, whose watchers read both
        self.loading = None

    def _load(
        self,
        work: Callable[[StopToken], T],
        title: str,
        on_done: Callable[[T], None],
        reservation: MemoryReservation | None = None,
        semaphore: AbstractContextManager[object] | None = TABLES,
        on_failure: Callable[[Exception], None] | None = None,
        *,
        is_file: bool = False,
    ) -> None:
        """Load a table by `work` on a thread, in place of the loading under way; see `LatestJob`."""
        self.cancel()
        self.is_chosen, self.refusal = True, None
        self._session.clear_notice()
        self._reservation = reservation
        task = LatestJob(title, semaphore)
        if is_file:
            self._file_task = task  # before `loading`, whose watchers ask for `reading`
        self.loading = task
        task.run(work, on_done, on_failure or self.show_error, begin=False)
        self._session.begin(task)

    def _release(self) -> None:
        if self._reservation is not None:
            self._reservation.release()
            self._reservation = None

    def cancel(self) -> None:
        """Cancel loading; the previous table stays."""
        if self.loading is not None:
            self.loading.cancel()
            self.loading = None
        self._release()

    def give_up(self) -> None:
        """Cancel loading on the visitor's request, and confirm it by a message."""
        if self.loading is None:
            return
        title = self.loading.title
        self.cancel()
        name = self.dataset.name if self.dataset is not None else ""
        still_here_text = f"; {name} is still here" if name and self.pending is None else ""
        self._session.message = f"{capitalize(title)} was cancelled{still_here_text}."


class TableChanges:
    """The visitor's changes of a session's table: kinds of columns, filters of rows, the split. They can be undone."""

    def __init__(self, table: SessionTable):
        self._table = table

    def set_split(self, slug: str) -> None:
        """Split the rows by another rule, named by its slug."""
        self._start(replace(self._table.source, split=slug), "splitting the rows", "rows are split in another way")

    def set_kinds(self, kinds: Mapping[str, str]) -> None:
        """Change kinds of columns, by name; "target" or "quartiles" (a numeric target cut in four) sets the class."""
        table, source = self._table.pending or self._table.full_table, self._table.source
        if table is None:
            return
        changed_kinds = {k: kinds[name] for k, name in enumerate(table.names) if name in kinds}
        sets_target = any(kind in TARGETS for kind in changed_kinds.values())
        other_kinds = {k: kind for k, kind in source.kinds.items() if not (sets_target and kind in TARGETS)}
        # The kind of a group or time replaces the rule that was chosen.
        slug = "" if source.split != "once" and {"group", "time"} & {*kinds.values()} else source.split
        change_text = "; ".join(f"{name}: {kind}" for name, kind in kinds.items())
        new_source = replace(source, kinds=other_kinds | changed_kinds, split=slug)
        self._start(new_source, "changing the kinds of columns", change_text)

    def keep_rows(self, filters: Sequence[RowFilter]) -> None:
        """Filter the rows, in addition to the filters already set."""
        full_table, source = self._table.full_table, self._table.source
        if full_table is not None:
            change_text = f"kept rows of {describe_filters(full_table, filters)}"
            self._start(replace(source, rows=(*source.rows, *filters)), "keeping rows", change_text)

    def _start(self, source: Source, title: str, change_text: str) -> None:
        """Make a new data set of the table. title: of the loading; change_text: for the history."""
        current, table = self._table, self._table.pending or self._table.full_table
        if table is None:
            return
        previous_dataset = current.dataset if current.pending is None else None
        changed_names = {table.names[k] for k in current.source.kinds if k < len(table.names)}
        given_kinds = {} if previous_dataset is None else previous_dataset.given_kinds
        given_kinds = {name: kind for name, kind in given_kinds.items() if name not in changed_names}
        served = current.served if current.served is not None and current.served.table is table else None
        current.derive(table, source, title, given_kinds, previous_dataset, served, change_text)

    def confirm_reading(self, question: str) -> None:
        """Answer a question about the reading with "No": the table stays, and the question is not asked again."""
        source = self._table.source
        self._table.source = replace(source, confirmed_questions=source.confirmed_questions | {question})
        self._table.history = (*self._table.history, Change(f"{question} No", source))

    def undo(self, change: Change | None = None) -> None:
        """Undo a change and all later ones; None for the latest."""
        table, history = self._table, self._table.history
        if not history:
            return
        change = change or history[-1]
        source = change.source_before
        if replace(source, confirmed_questions=table.source.confirmed_questions) == table.source:  # the table stays
            table.source, table.history = source, history[: history.index(change)]
        elif source.demo is not None:
            table.load_demo(*source.demo, source)
        elif source.upload is not None and source.upload is table.source.upload and table.full_table is not None:
            table.derive(table.full_table, source, "undoing a change")
        elif source.upload is not None:
            table.read(source)
        else:
            table.show_served(source)

    def history_for(self, source: Source, change: str = "") -> tuple[Change, ...]:
        """Return the changes that can be undone after loading `source`; () for another table."""
        table = self._table
        if change and table.dataset is not None and table.pending is None:
            return (*table.history, Change(change, table.source))
        matching_positions = [k for k, past_change in enumerate(table.history) if past_change.source_before == source]
        return table.history[: matching_positions[-1]] if matching_positions else ()
