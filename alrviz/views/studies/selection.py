"""SelectionView: which tuples a selective model is made of, and how many it needs.

It shows a study of `alrviz.choose_tuples`. The search for tuples is live: it follows the line t as that is dragged. Of
a table read in batches it shows what a run has selected, level by level as they come.
"""

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param
from bokeh.events import Pan, Tap
from bokeh.models import BoxZoomTool, PanTool

from alrviz import __version__
from alrviz.job import LatestJob
from alrviz.models.tuple_selection import Level
from alrviz.pictures import selection as drawn
from alrviz.pictures.path import LEFT_MARGIN, RIGHT_MARGIN
from alrviz.pictures.picture import Plot
from alrviz.studies.core.export import caption, race_provenance, study_csv, to_csv
from alrviz.studies.core.names import tuples_text
from alrviz.studies.protocols.choose_tuples import TupleStudy, TupleVerdict
from alrviz.studies.protocols.live_selection import MIN_SECONDS_SHOWN, LiveSelection, Search
from alrviz.studies.statistics.measures import loss_text
from alrviz.views.core.live_figure import LiveFigure
from alrviz.views.core.notebook import ViewLayout
from alrviz.views.core.panes import Updating, as_high, html, say, side_by_side, stack
from alrviz.views.core.saving import Origin, csv_button
from alrviz.views.core.style import html_table, safe
from alrviz.views.core.transport import change, live_slider
from alrviz.views.race.words import number
from alrviz.views.studies.study_view import StudyView, folds_html, notes_html

if TYPE_CHECKING:
    from alrviz.data.stream.table import Stream
    from alrviz.fitting.recipe import Recipe
    from alrviz.studies.race.race import Race

HEIGHTS = ("300px", "250px")  # of the search, and of what follows from keeping more
MAIN = 400  # px that the levels need
SIDE = 430  # px of the scores by rank
LISTED = 40  # tuples in the table
REST = 0.3  # seconds after which a hand is taken to rest: until then a picture of very many tuples stays as it is
_THUMB = 6  # px beside the rail of a slider


class SelectionView(StudyView):
    """The live view of a search for tuples, and of a study of how many to keep.

    Args:
        study: what `alrviz.choose_tuples` returned, whether begun or not.
        again, wake: as for `StudyView`.
        heights: of the pictures of the search and of the study, as CSS has it.

    >>> import alrviz
    >>> study = alrviz.choose_tuples(alrviz.load_demo("xor", 400), keeps=(0.5, 1.0), folds=2, n_jobs=1)
    >>> view = alrviz.SelectionView(study, keep=50)
    >>> view.wait().levels[0].chosen  # two of four bits
    ((0,), (1,))
    """

    keep = param.Integer(default=60, bounds=(1, 100), doc="Tuples of each level that are kept, in %.")
    over_rows = param.Boolean(default=False, doc="Whether it shows a run (`follow`) in place of a search and a study.")

    SENTENCE = (30, 4)

    def __init__(self, study: TupleStudy | None = None, *, heights: tuple[str, str] = HEIGHTS, **params: Any):
        self.verdict: TupleVerdict | None = None  # of what is drawn
        self.search: Search | None = None
        self._task = LatestJob("searching for tuples")
        self._live: LiveSelection | None = None
        self._of: Any = None
        self._problem: Exception | None = None
        self._took = 0.0  # seconds that drawing the search took
        self._race: Race | None = None  # of the run that is shown
        self._touched = 0.0  # when the line was moved last
        self._owed = False  # whether what rests while a hand drags is to be drawn
        self._placing = Updating()
        super().__init__(study, height=heights, **params)

    # -- building ------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        high, low = self._height
        self.tuples = LiveFigure("alrviz-tuples", resized=self._draw_search)
        self.ranks = LiveFigure("alrviz-tuple-scores", made=self._made)
        self.gains = LiveFigure("alrviz-tuple-gains")
        self.shares = {name: LiveFigure(f"alrviz-tuples-{name.replace('_', '-')}") for name in drawn.SHARES}
        self.found = html(min_height=48, margin=(0, 0, 6, 0))
        self.slider = live_slider(pmui.IntSlider, self._slid, label="t", start=1, end=100, value=60)
        inside = {"padding-left": f"{LEFT_MARGIN - _THUMB}px", "padding-right": f"{RIGHT_MARGIN - _THUMB}px"}
        ranks = as_high(self.ranks.pane, f"calc({high} - 44px)", 256)
        scores = pn.Column(ranks, pn.Column(self.slider, styles=inside, margin=0), width=SIDE, margin=0)
        levels = stack(as_high(self.tuples.pane, high, 300))
        self._searched = levels, ranks
        above = side_by_side(levels, scores, MAIN, SIDE, margin=(0, 0, 6, 0))
        losses, *costs = (one.pane for one in self.shares.values())
        losses = stack(as_high(losses, low, 250))
        gains = pn.Column(as_high(self.gains.pane, low, 250), width=SIDE, margin=0)
        costs = as_high(pn.Row(*costs, sizing_mode="stretch_both", margin=0), f"calc(.8 * {low})", 200)
        self._studied = losses, costs
        self._below = stack(side_by_side(gains, losses, SIDE, MAIN, grow=(1, 9999)), costs, margin=(6, 0, 0, 0))
        self.body = stack(above)
        fits = "all fits, with recipes, seed, data hash and version"
        files = [
            csv_button("alrviz-tuples.csv", self._csv_of_tuples, "all tuples looked at, with their scores"),
            csv_button("alrviz-selection.csv", self.csv_of_fits, fits, label="CSV of fits"),
        ]
        named = {"tuples": self.tuples, "scores": self.ranks, "gains": self.gains}
        named |= dict(zip(("losses", "parameters", "seconds"), self.shares.values(), strict=True))
        self._numbers = self._fold_numbers(files, named, lambda _: self._numbers_html())
        self.layout = ViewLayout(self.found, self.body, self.sentence, self.bar.panel, self._below, self._numbers)
        self.param.watch(lambda _: self._moved(), "keep")
        self.param.watch(lambda _: self._turned(), "over_rows")

    def _made(self, plot: Plot) -> None:
        """Let the line be dragged, or put where the picture is pressed."""
        fig = plot.figure
        fig.min_border_left, fig.min_border_right = LEFT_MARGIN, RIGHT_MARGIN
        fig.toolbar.tools = [tool for tool in fig.toolbar.tools if not isinstance(tool, PanTool | BoxZoomTool)]
        for kind in (Pan, Tap):
            fig.on_event(kind, lambda event: self._put(event.x))

    # -- the study -----------------------------------------------------------------------------------------------------

    def _empty(self) -> None:
        if self.over_rows:
            return
        super()._empty()
        self._below.visible = False
        self.verdict = self._of = self._live = self.search = None
        self._task.cancel()
        say(self.found, "")

    def _draw(self, study: TupleStudy) -> None:
        if self.over_rows:
            return
        self._about(study)
        self.verdict = verdict = study.verdict()
        orders = sorted({recipe.params["order"] for recipe in study.recipes})
        best = None if verdict.recipe is None else (verdict.recipe.params["order"], verdict.recipe.params["keep"])
        self._below.visible = True
        begun = study.phase != "waiting"
        for part in self._studied:
            part.visible = begun
        if begun:
            pictures = drawn.shares(self.lines, orders, study.recipes[0].label, best, dark=self.dark)
            for name, picture in pictures.items():
                self.shares[name].show(picture, of=study)
        self.tell(sentence_html(study, verdict, self.lines))
        self._draw_search()

    # -- a run over all rows -------------------------------------------------------------------------------------------

    def _turned(self) -> None:
        """Show a run from now on, or the search again."""
        self._task.cancel()
        self._race = self.search = None
        self._below.visible, self.body.visible = False, self.over_rows  # whose slider is there before anything runs
        self.sentence.visible = self.bar.panel.visible = not self.over_rows
        self._show_pictures()
        say(self.found, "")
        self.redraw()
        self._seek()

    def expect(self, stream: "Stream", recipe: "Recipe") -> None:
        """Make the pictures of a run that may come: made with its first level they would hold up other visitors."""
        with pn.io.hold():
            self._draw_levels(_search_of(stream, recipe, ()), recipe, None)

    def follow(self, race: "Race | None", outdated: bool = False) -> None:
        """Show what the run of a race over a table read in batches has selected so far.

        outdated: whether settings have changed since.
        """
        self.outdated = outdated
        levels = () if race is None else getattr(race.runs[0], "levels", ())
        shown = () if self.search is None else self.search.levels
        if race is self._race and len(levels) == len(shown):
            return
        self._race, self.search, recipe = race, None, None if race is None else race.recipes[0]
        if race is not None and recipe is not None and levels:
            self.search = _search_of(race.dataset, recipe, levels)
        say(self.found, "")
        self._show_pictures()
        self._draw_search()

    def _show_pictures(self) -> None:
        """Hide what nothing was selected for yet."""
        shown = self.search is not None or not self.over_rows
        for part in (*self._searched, self.layout[-1]):
            part.visible = shown
        self._place()

    def origin(self, what: str) -> Origin:
        """Return what stands above and below a picture of `what` when it is saved."""
        race = self._race
        if race is None:
            return super().origin(what)
        return Origin(f"{race.recipes[0].name}: {what}", caption(race_provenance(race, __version__), race.recipes))

    # -- the search ----------------------------------------------------------------------------------------------------

    @property
    def recipe(self) -> "Recipe | None":
        """The recipe of the tuples that are shown."""
        study = self.study
        if self.over_rows:
            return None if self._race is None else self._race.recipes[0]
        if study is None:
            return None
        return study.recipes[-1].replace(keep=self.keep / 100, seed=json.loads(study.spec)["seed"])

    def _about(self, study: TupleStudy) -> None:
        """Search the table of this study from now on."""
        assert self.recipe is not None
        of = (study.dataset.hash, self.recipe.replace(keep=1.0))
        if of != self._of:
            self._of, self._live, self.search = of, LiveSelection(study.dataset), None
            self._seek()

    def _seek(self) -> None:
        live, recipe = self._live, self.recipe
        if live is None or recipe is None or self.over_rows:
            return
        self._problem = None
        if self.search is None:
            say(self.found, "<div class='sentence quiet'>The table is being prepared for the search …</div>")
        self._task.run(lambda stop: live.search(recipe, stop), self._found, self._failed)
        if self._took < MIN_SECONDS_SHOWN:  # slower pictures wait for the next tick
            self._task.wait(MIN_SECONDS_SHOWN)
            self._task.poll()
        self._wake()

    def _found(self, search: Search) -> None:
        self.search = search
        self._draw_search()

    def _failed(self, error: Exception) -> None:
        self._problem, self.search = error, None
        self._draw_search()

    def wait(self, seconds: float = 60.0) -> Search:
        """Wait until the search is done; returns it."""
        end = time.monotonic() + seconds
        while self._task.busy and time.monotonic() < end:
            self._task.wait(0.1)
            self._task.poll()
        assert self.search is not None
        return self.search

    def _put(self, x: float) -> None:
        self.keep = int(np.clip(round(100 * x), 1, 100))

    def _slid(self, event: Any) -> None:
        if not self._placing and event.new is not None:
            self.keep = int(event.new)

    def _moved(self) -> None:
        """Another share is kept."""
        self._touched = time.monotonic()
        with pn.io.hold():
            self._place()
            self._seek()

    def _place(self) -> None:
        with self._placing:
            change(self.slider, value=self.keep, label=f"Keep t = {self.keep}%")
        if self.ranks.plot is not None:
            self.ranks.plot.parts["t"].location = self.keep / 100

    def press_stop(self) -> None:
        """Stop the study, and the search."""
        self._task.cancel()
        super().press_stop()

    def pump(self) -> bool:
        """Show what has come of the study and of the search; returns whether there may be more."""
        moving = super().pump() | self._task.poll()
        if self._owed and time.monotonic() - self._touched >= REST:
            self._draw_search()
        return moving or self._owed

    def settle(self) -> None:
        """Show all of the study that has been computed by now, and the search at the share that is kept."""
        super().settle()
        self._task.finish()
        self._touched = 0.0  # no hand drags any more
        self._draw_search()

    def give_up(self) -> None:
        """Search no more: nothing comes after this returns."""
        self._task.cancel()

    def _draw_search(self) -> None:
        begun, search, recipe = time.monotonic(), self.search, self.recipe
        with pn.io.hold():
            self._place()
            if self._problem is not None:
                say(self.found, f"<div class='sentence bad'>{safe(self._problem, 600)}</div>")
            if search is None or recipe is None:
                return
            of = self._race or self._of
            self._draw_levels(search, recipe, of)
            self._owed = search.total(search.order) > drawn.MAX_MARKS and time.monotonic() - self._touched < REST
            if not self.over_rows and not self._owed:
                self.gains.show(drawn.gains(search, recipe.label, dark=self.dark), of)
            say(self.found, f"<div class='sentence'>{search_html(search)}</div>")
            self._numbers.refresh()
        self._took = time.monotonic() - begun

    def _draw_levels(self, search: Search, recipe: "Recipe", of: Any) -> None:
        label, levels = recipe.label, _levels_of(recipe)
        self.tuples.show(drawn.tuples(search, label, levels, self.tuples.size, dark=self.dark), of)
        self.ranks.show(drawn.ranks(search, label, levels, self.keep / 100, dark=self.dark), of)

    # -- numbers -------------------------------------------------------------------------------------------------------

    def _csv_of_tuples(self) -> str:
        race = self._race
        if self.search is None:
            return ""
        if race is not None:
            return to_csv(tuples_frame(self.search), race_provenance(race, __version__), race.recipes)
        return "" if self.study is None else study_csv(self.study, tuples_frame(self.search))

    def csv_of_fits(self) -> str:
        """Return every fit of the study as a CSV; of a run "", which has one of its own."""
        return "" if self.over_rows else super().csv_of_fits()

    def _numbers_html(self) -> str:
        studied = not self.over_rows and self.lines is not None and len(self.lines)
        parts = [numbers_html(self.lines)] if studied else []
        if self.search is not None and self.search.levels:
            frame = tuples_frame(self.search)
            last = frame[frame["columns"] == self.search.order].head(LISTED)
            heads = ["rank", tuples_text(self.search.order), "score", "predicted gain", "kept"]
            rows = [
                [f"{rank:,}", safe(one["tuple"]), number(one["score"]),
                 "&ndash;" if pd.isna(one["gain"]) else number(one["gain"]), "yes" if one["kept"] else ""]
                for rank, one in enumerate(last.to_dict("records"), 1)
            ]  # fmt: skip
            more = f"<p class='quiet'>The {LISTED} of the highest scores; the CSV has all.</p>"
            parts.append(html_table(heads, rows) + (more if len(last) == LISTED else ""))
        return "".join(parts)


def tuples_frame(search: Search) -> pd.DataFrame:
    """Return a line for each tuple looked at, levels upward, the highest score first: columns, tuple, score, kept, gain
    (of tuples of the order itself; nan where it is not known).
    """
    parts = []
    for level in search.levels:
        size = level.tuples.shape[1]
        is_kept = np.isin(np.arange(len(level.tuples)), level.kept)
        names = [search.name(of) for of in level.tuples]
        part = pd.DataFrame({"columns": size, "tuple": names, "score": level.scores, "kept": is_kept})
        gains = search.gains if size == search.order else None
        part["gain"] = np.nan if gains is None else gains[search.numbers(level.tuples)]
        parts.append(part.sort_values("score", ascending=False, kind="stable"))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _levels_of(recipe: "Recipe") -> int:
    """How many levels a selection has."""
    return int(recipe.params["order"]) if "grow" in recipe.params else 1


def _search_of(stream: "Stream", recipe: "Recipe", levels: tuple[Level, ...]) -> Search:
    """What a run has selected by now, as a search."""
    columns = tuple(column.name for column in stream.spec.features)
    order, score = int(recipe.params["order"]), str(recipe.params["selection"])
    return Search(columns, order, score, levels, done=len(levels) == _levels_of(recipe))


def search_html(search: Search) -> str:
    """What a search has found, and what it misses."""
    if not search.done:
        done = search.levels[-1].tuples.shape[1] if search.levels else search.order - 1
        size = min(search.order, done + 1) if search.coming is None else search.coming.tuples.shape[1]
        doing = "Scoring" if search.coming is not None else "Looking at"
        return f"<span class='quiet'>{doing} {search.total(size):,} {tuples_text(size)} …</span>"
    last, total = search.levels[-1], search.total(search.order)
    what = tuples_text(search.order)
    looked = "" if len(last.tuples) == total else f" ({len(last.tuples):,} were looked at)"
    words = f"Of {total:,} {what}{looked} {len(last.kept):,} {'is' if len(last.kept) == 1 else 'are'} kept."
    if search.tells is None or search.gains is None:
        return words
    telling = np.flatnonzero(search.tells)
    kept = set(search.numbers(last.tuples[last.kept]).tolist())
    parts = "classes alone" if search.order == 1 else "columns apart" if search.order == 2 else "parts"
    if not len(telling):
        return f"{words} None tells more about the class than its {parts}."
    gains = search.gains
    missed = sorted(set(telling.tolist()) - kept, key=lambda k: -gains[k])
    tells = "tells" if len(telling) == 1 else "tell"
    words += (
        f" <b>{len(telling):,}</b> {tells} more about the class than {'its' if len(telling) == 1 else 'their'} {parts}"
    )
    if not missed:
        return f"{words}; {'it is' if len(telling) == 1 else 'all of them are'} kept."
    best = missed[0]
    looked_at = set(search.numbers(last.tuples).tolist())
    why = "was discarded" if best in looked_at else "was never looked at, since no part of it was kept"
    name = safe(search.name(search.all_tuples()[best]), 80)
    lost = "it is lost" if len(telling) == 1 else f"{len(missed):,} of these {'is' if len(missed) == 1 else 'are'} lost"
    return f"{words}; {lost}: <b>{name}</b> {why}."


def sentence_html(study: TupleStudy, verdict: TupleVerdict, lines: pd.DataFrame) -> str:
    """The verdict, and how much of the study it rests on while that is not all."""
    if study.phase == "waiting":
        total = len({task.split for task in study.tasks})
        spec = json.loads(study.spec)
        of = f"{len(study.recipes)} models, each on {total} test folds of {study.dataset.n_rows:,} rows"
        shares = f"{min(spec['keeps']):.0%} to {max(spec['keeps']):.0%} of the tuples kept"
        return f"<span class='quiet'>Press Run: {of}, with {shares}.</span>"
    return folds_html(study, verdict.sentence, lines) + notes_html(verdict.notes)


_HEADS = ("n", "kept", "folds", "log loss", "± <abbr title='standard error'>se</abbr>", "error rate", "parameters",
          "seconds per fit")  # fmt: skip


def numbers_html(lines: pd.DataFrame) -> str:
    """The table of the study: a line an order and share."""
    rows: list[Sequence[str]] = [
        (f"{one.order}", f"{one.kept:.0%}", f"{one.folds}", loss_text(one.log_loss), loss_text(one.se),
         number(one.error), f"{one.parameters:,.0f}", number(one.train_seconds))
        for one in lines.itertuples()
    ]  # fmt: skip
    return html_table(_HEADS, rows)
