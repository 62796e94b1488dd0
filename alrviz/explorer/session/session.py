"""One visitor's session: what is shown, and the only way a page changes it.

Pages watch its parameters and call its methods; the shell writes the link from it. Long work goes to a thread
(`BackgroundTask`) and comes back through `pump`, which the shell calls every 100 ms while `busy`. A page that starts
something calls `wake()`.

What a page uses: `owner`, `dataset`, `recipes`, `question`, `seed`, `axis`, `dark` (watched parameters), `load_demo`,
`load_bytes`, `set_kinds`, `reread`, `give_up`, `adopt(race)` -> the race to show, `race` (the one to show on
arrival, or None), `go(page)`, `wake()`. A page of maps has its own: `axes`, `model`, `peer`, `others`, `row`,
`adopt_fit`, `fitted`. What each page has for itself (`OF_PAGES`: its tab, the recipes and folds of its study) it reads
from `own(slug)` when it is made, and sets while it is shown; another page has its own in their place.
"""

import time
from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import param
from param.parameterized import Watcher

from alrviz import __version__
from alrviz.data.stream.table import Stream
from alrviz.errors import AlrvizError
from alrviz.explorer.server.jobs import Job, StudyJob
from alrviz.explorer.server.run_registry import Entry, Registry
from alrviz.explorer.server.run_store import open_run_store
from alrviz.explorer.server.tables import FileLink, Upload
from alrviz.explorer.session.managed_jobs import ManagedRace, ManagedStudy, find_study
from alrviz.explorer.session.points import AS_WRITTEN, FILE, KINDS, unpack
from alrviz.explorer.session.state import (
    FIRST_DEMO,
    FIRST_DEMOS,
    FIRST_ROWS,
    HELD,
    OF_MAPS,
    OF_PAGES,
    OF_SESSION,
    State,
    first_demo,
    write_link,
)
from alrviz.explorer.session.table_loading import Source, TableLoading
from alrviz.studies.core.study import Study
from alrviz.studies.race.race_like import RaceLike
from alrviz.studies.race.race_store import FIT, RaceKeeper

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.explorer.session.sketch import Sketch
    from alrviz.fitting.recipe import Recipe

LEFT = 15.0  # seconds without a browser after which nobody waits for a file that is read
OF_TABLES = ("data", "rows", "file", "points", "kinds", "split", "seed")  # what a link says of its table
SELECTION = "selection"
RACES = State().page  # the page that question, recipes and run of a link are about


class Session(TableLoading):
    """What one visitor sees and owns."""

    dark = param.Boolean(default=False, doc="Whether the page is dark.")
    entry: "Entry | None" = param.Parameter(default=None, doc="The run shown.")
    revisited = param.Event(doc="The reader has come back to another question or race, which are set.")
    drawn: "Sketch | None" = param.Parameter(default=None, doc="Points drawn in place of the map's rows, or none.")
    fit: "Entry | None" = param.Parameter(default=None, doc="The run of the map shown.")
    asking = param.Boolean(default=False, doc="Whether a lesson's question is open: nothing runs before its answer.")

    def __init__(
        self,
        owner: str | None = None,
        registry: Registry | None = None,
        served: "Dataset | Upload | Stream | None" = None,
        served_from: str = "",
        **params: object,
    ):
        super().__init__(owner, registry, **params)
        # What the server was started with, if it was: a table, or a file whose class is to be chosen. Of a table larger
        # than memory all pages show a sample.
        self._stream = served if isinstance(served, Stream) else None
        self.served = served.sample if isinstance(served, Stream) else None if isinstance(served, Upload) else served
        self._opened_with = served if isinstance(served, Upload) else None
        self.served_from = served_from  # the path of its file, if that is known
        self.lost = ""  # the race that a link asks for and that is none of this process; the store may have it
        self.race_wanted = False  # whether another page asked for a race to begin
        self.offered: tuple[Recipe, ...] = ()  # racers that another page asks to be set
        self.studies: dict[str, Entry] = {}  # by kind, those that pages show; and the run of a selection
        self.open_drawer: Callable[[bool], None] = lambda open: None
        self._watched = time.monotonic()
        self._left: dict[str, dict[str, object]] = {}  # what pages that were left had for themselves
        self._watchers: dict[str, list[Watcher]] = {}  # what pages and their parts follow, by page
        self.param.watch(lambda event: self._page_turned(event.old, event.new), "page")

    # ---- pages' subscriptions ------------------------------------------------------------------------------------

    def subscribe(self, call: Callable[..., object], names: str | list[str], page: str = "") -> None:
        """Call a function whenever one of these changes, until its page (by default the one shown) is closed."""
        self._watchers.setdefault(page or self.page, []).append(self.param.watch(call, names))

    def unsubscribe(self, page: str) -> None:
        """Tell a page nothing any more: it is closed."""
        for watcher in self._watchers.pop(page, []):
            self.param.unwatch(watcher)

    # ---- links -------------------------------------------------------------------------------------------------

    def apply(self, state: State, told: str = "") -> None:
        """Show what a link asks for; `told` is what is to be said of it.

        In a session that shows something already, a table that stays is not opened again. What runs there is stopped,
        unless it was to go on or another screen has it: nobody would look at it, and what is run next would wait.
        """
        before = self.entries
        shown, at_rest = self.state, self.dataset is not None and self.loading is None
        same = at_rest and all(getattr(state, name) == getattr(shown, name) for name in OF_TABLES)
        same = same and (self.own_choice or state.page == self.page)
        self._left[state.page] = {name: getattr(state, name) for name in OF_PAGES}
        self.param.update({name: getattr(state, name) for name in OF_SESSION})
        self.param.update({name: getattr(state, name) for name in (*OF_MAPS, *OF_PAGES)})
        self.fit = self.registry.find(state.fit, self.owner)
        self.studies.clear()
        self._find_race(state)
        for entry in before:
            if entry not in self.entries and not entry.screens:
                self._put_away(entry)
        if not same:
            self.source = Source(kinds=dict(state.kinds), split=state.split)
            self.param.update(dataset=None, drawn=None, pending=None, wanted=None)
            self._open_table(state)
        self.told = told or self.sample_note

    def _find_race(self, state: State) -> None:
        """Show the race of a link; of one that is none of this process the store may know."""
        self.entry = self.registry.find(state.run, self.owner) if state.run else None
        self.kept, self.lost = state.kept, state.run if self.entry is None else ""

    def _open_table(self, state: State) -> None:
        """Begin to open the table that a link says."""
        served, kinds, split = self.served, dict(state.kinds), state.split
        if state.points:
            upload = Upload.of(FILE, unpack(state.points)).replace(options=AS_WRITTEN, points=state.points)
            self.read(upload, kinds or KINDS, split=split)
        elif served is not None and (state.file.fits(served.hash) if state.file else not state.data):
            self.open_served(served, kinds, split)
        elif self._opened_with is not None and state.file is None and not state.data:
            self.read(self._opened_with, kinds)
        elif state.file is not None:
            self._open_file(state.file, kinds, split)
        else:
            self.load_demo(state.data or first_demo(state.page), state.rows, kinds, split)
            self.own_choice = bool(state.data or state.rows or kinds or split)

    def _read(self, upload: Upload, *found: Any) -> None:
        """Take over a file; one that a link asks for leaves its page shown, unless there is something to be settled."""
        awaited = self.wanted
        super()._read(upload, *found)
        if awaited is not None and (self.pending is not None or self.file is None or self.file.hash != awaited.hash):
            self.go("data")

    def _open_file(self, link: FileLink, kinds: dict[int, str], split: str) -> None:
        upload = self.tables.find(self.owner, link)
        if upload is not None:
            self.read(upload, kinds, split=split)
        else:
            self.source, self.wanted = Source(kinds=kinds, split=split), link

    @property
    def state(self) -> State:
        """The session as one value: what its link holds."""
        name, rows = self.demo or ("", None)
        if (name, rows) == (FIRST_DEMO, FIRST_ROWS):
            rows = None
        asked = self.file or self.wanted
        return State(
            data=name if not asked and self.own_choice else "",
            rows=None if asked else rows,
            file=None if self.points else asked,
            points=self.points,
            kinds=tuple(sorted(self.source.kinds.items())),
            split=self.source.split,
            **{name: getattr(self, name) for name in HELD},
            fit=self.fit.id if self.fit is not None else "",
            run=self.entry.id if self.entry is not None else "",
        )

    @property
    def points(self) -> str:
        """The table shown as a link holds it, where it is a few drawn points; "" for others."""
        return self.upload.points if self.upload is not None else ""

    @property
    def link(self) -> str:
        """The query of the link to what is shown."""
        return write_link(self.state)

    @property
    def stream(self) -> Stream | None:
        """The table larger than memory that `dataset` is a sample of, with its target and kinds; None for others."""
        stream, sample = self._stream, self.dataset
        if stream is None or sample is None or sample.table is not stream.sample.table:
            return None
        return stream if sample is stream.sample else replace(stream, sample=sample)

    @property
    def sample_note(self) -> str:
        """Why pages show a sample of the table that the server was started with; "" where that is in memory."""
        if self._stream is None:
            return ""
        return (
            f"Pages show a sample, {self._stream.sample.n_rows:,} of {self._stream.n_rows:,} rows, as they fit many "
            "models or draw rows; on Convergence and Selection the menu Rows has all of them fitted."
        )

    @property
    def raced(self) -> "Dataset | Stream | None":
        """What races are about: the table, or all rows of what it is a sample of."""
        return (self.stream if self.whole else None) or self.dataset

    def about(self) -> dict[str, object]:
        """Where the numbers of the table shown come from: version, data set, its hash, the seed; {} without one."""
        if self.dataset is None:
            return {}
        data = self.dataset
        return {"alrviz": __version__, "data": data.name, "data hash": data.hash, "seed": self.seed}

    # ---- runs --------------------------------------------------------------------------------------------------

    def adopt(self, race: RaceLike, *, bytes: int = 0, threads: int = 1) -> ManagedRace:
        """Give a race to the registry under this owner and return it as it is to be shown.

        The result has the race's interface; where a cap is reached, `start` queues. `bytes` is the estimate.
        Raises `CapReached`. The race shown before is stopped unless it was to go on.
        """
        before = self.entry
        self.entry = self._exchange(before, race, bytes, threads)
        if before is not None and not before.keep:
            self.registry.hand_on(before, self.entry)
        self.kept = ""
        return ManagedRace(self.registry, self.entry)

    def keep_race(self) -> None:
        """Keep the race that was adopted last in the run store while it runs, under the link to its settings."""
        if self.entry is not None and self.race is not None:
            race = self.race.race
            link = write_link(self.state.replace(recipes=race.recipes, fit="", run=""))
            self.entry.keeper = RaceKeeper(race, open_run_store, self.owner, link, id=self.entry.id)

    def adopt_fit(self, race: RaceLike, *, bytes: int = 0, threads: int = 1) -> ManagedRace:
        """The same for the run of a map, which takes the place of the one before and is kept in the run store."""
        self.fit = self._exchange(self.fit, race, bytes, threads)
        link = self._link_to_settings
        self.fit.keeper = RaceKeeper(race, open_run_store, self.owner, link, kind=FIT, id=self.fit.id)
        return ManagedRace(self.registry, self.fit)

    def adopt_selection(self, race: RaceLike, *, bytes: int = 0, threads: int = 1) -> ManagedRace:
        """The same for the run over a table larger than memory whose tuples are shown."""
        self.studies[SELECTION] = entry = self._exchange(self.studies.get(SELECTION), race, bytes, threads)
        entry.keeper = RaceKeeper(race, open_run_store, self.owner, self._link_to_settings, kind=FIT, id=entry.id)
        return ManagedRace(self.registry, entry)

    def find_selection(self, dataset: Stream, recipe: "Recipe") -> ManagedRace | None:
        """Return the run of this process that fits a recipe to all rows of a table; None without one."""
        for entry in reversed(self.registry.entries(self.owner)):
            recipes, of = getattr(entry.job, "recipes", ()), getattr(entry.job, "dataset", None)
            same = tuple(recipes) == (recipe,) and isinstance(of, Stream) and of.hash == dataset.hash
            if same and entry is not self.entry:  # Convergence's own race is not put away with a selection
                self.studies[SELECTION] = entry
                return ManagedRace(self.registry, entry)
        return None

    def find_study(self, study: Study) -> ManagedStudy | None:
        """Return the study of this process that is about the same; None without one.

        It is followed from now on, unless another of its kind that is followed is under way: that one goes on until
        Run puts the other in its place.
        """
        entry = find_study(self.registry, self.owner, study)
        if entry is None:
            return None
        before = self.studies.get(study.kind, entry)
        if before is entry or not (before.under_way or before.wanted):
            self.studies[study.kind] = entry
            self.wake()
        return ManagedStudy(self.registry, entry)

    def adopt_study(self, study: Study, *, bytes: int = 0, threads: int = 1) -> ManagedStudy:
        """Give a study to the registry under this owner, in place of the one of its kind that was shown before.

        Where the process has a study about the same, that one takes the place.
        """
        before, entry = self.studies.get(study.kind), find_study(self.registry, self.owner, study)
        if entry is None:
            study.link = self._link_to_settings
            entry = self._exchange(before, StudyJob(study), bytes, threads)
        elif before is not entry:
            self._put_away(before)
        self.studies[study.kind] = entry
        return ManagedStudy(self.registry, entry)

    @property
    def _link_to_settings(self) -> str:
        return write_link(self.state.replace(fit="", run="", kept=""))

    def _exchange(self, before: Entry | None, job: Job, bytes: int, threads: int) -> Entry:
        if self.asking:
            raise AlrvizError("the lesson's question is still open: answer it, then Run is free")
        entry = self.registry.add(job, self.owner, bytes=bytes, threads=threads)
        self._put_away(before)
        return entry

    def _put_away(self, before: Entry | None) -> None:
        if before is not None and not before.keep and not before.job.ended:
            before.job.stop()
            self.registry.release(before)

    @property
    def race(self) -> ManagedRace | None:
        """The run shown, as this visitor may use it; found again after a reload."""
        return None if self.entry is None else ManagedRace(self.registry, self.entry)

    @property
    def fitted(self) -> ManagedRace | None:
        """The run of the map shown, found again after a reload; None where there is none."""
        return None if self.fit is None else ManagedRace(self.registry, self.fit)

    # ---- the pump ----------------------------------------------------------------------------------------------

    def own(self, page: str) -> State:
        """What the link says of this page's own (`OF_PAGES`): nothing where it is about another."""
        return self.state if page == self.page else State()

    def _page_turned(self, left: str, page: str) -> None:
        """Put what a page has for itself into the link, and turn to its own demo set.

        That is where it has one, for as long as the table was nobody's choice.
        """
        self._left[left] = {name: getattr(self, name) for name in OF_PAGES}
        self.param.update(self._left.get(page) or {name: self.param[name].default for name in OF_PAGES})
        name = FIRST_DEMOS.get(page)
        if name is not None and self.asked is not None and self.asked[0] != name and not self.own_choice:
            self.load_demo(name)
            self.own_choice = False

    def go(self, page: str, *, race: bool = False, recipes: "tuple[Recipe, ...]" = ()) -> None:
        """Show another page; `race`: one that races begins at once, unless it shows this table's race; of `recipes`."""
        self.race_wanted, self.offered = race, recipes
        self.own_choice |= race
        self.page = page

    def visit(self, place: State) -> None:
        """Show a place where the reader has been: page, tab, table and race; what else is set is as it is by now."""
        if place.page != self.page:
            self.go(place.page)
        self.tab = place.tab
        shown = self.state
        moved = any(getattr(place, name) != getattr(shown, name) for name in OF_TABLES)
        raced = (place.question, place.recipes) != (shown.question, shown.recipes)
        if moved:
            self.seed = place.seed
            self._open_table(place)
        if place.page == RACES and (moved or raced):
            self.param.update(question=place.question, recipes=place.recipes)
            self._find_race(place)
            self.param.trigger("revisited")

    @property
    def entries(self) -> list[Entry]:
        """The runs that are shown."""
        return [entry for entry in (self.entry, self.fit, *self.studies.values()) if entry is not None]

    @property
    def busy(self) -> bool:
        """Whether something is under way that the pump has to watch."""
        return self.loading is not None or any(entry.under_way or entry.wanted for entry in self.entries)

    def pump(self, watched: bool = True) -> bool:
        """Take over finished work, say that the run is looked at; returns whether to go on.

        A table that is read for nobody is given up: others wait for its place.
        """
        self._watched = time.monotonic() if watched else self._watched
        if self.reading and time.monotonic() - self._watched > LEFT:
            self.give_up()
        loading = self.loading
        if loading is not None and not loading.poll() and self.loading is loading:  # it may have begun another
            self.loading = None
        if watched:
            self.registry.visit(self.owner)
            self.tables.look(self.owner)
            for entry in self.entries:
                self.registry.look(entry)
        return self.busy


for _one in fields(State):  # what a link holds of it
    if _one.name in HELD and _one.name not in Session.param:
        Session.param.add_parameter(_one.name, param.Parameter(default=_one.default, doc=_one.metadata["doc"]))
