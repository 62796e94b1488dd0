"""SelectionView: which tuples a selective model uses, and how many it needs.

It shows a study of `alrviz.choose_tuples`. The search for tuples is repeated live while the line t is dragged. For a
table read in batches it shows the tuples that a run has selected, level by level.
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
from numpy.typing import NDArray
from param.parameterized import Event

from alrviz import __version__
from alrviz.errors import join_words, plural
from alrviz.job import LatestJob
from alrviz.models.tuple_selection import Level
from alrviz.pictures import selection as pictures
from alrviz.pictures.path import LEFT_MARGIN_PX, RIGHT_MARGIN_PX
from alrviz.pictures.picture import Plot
from alrviz.studies.core.export import caption, race_provenance, study_csv, to_csv
from alrviz.studies.core.names import tuples_text
from alrviz.studies.protocols.choose_tuples import TupleStudy, TupleVerdict
from alrviz.studies.protocols.live_selection import MIN_SECONDS_SHOWN, LiveSelection, Search
from alrviz.studies.statistics.measures import loss_text
from alrviz.studies.statistics.verdict import Verdict, first_headline
from alrviz.views.core.live_figure import LiveFigure
from alrviz.views.core.notebook import ViewLayout
from alrviz.views.core.panes import Updating, as_high, html, say, side_by_side, stack
from alrviz.views.core.saving import Origin, csv_button
from alrviz.views.core.style import html_table, safe, verdict_html
from alrviz.views.core.transport import change, live_slider
from alrviz.views.race.texts import number
from alrviz.views.studies.study_view import StudyView, folds_verdict, notes_html

if TYPE_CHECKING:
    from alrviz.data.stream.table import Stream
    from alrviz.fitting.recipe import Recipe
    from alrviz.studies.race.race import Race

HEIGHTS = ("300px", "250px")  # of the search and of the study
MAIN_WIDTH_PX = 400  # minimum width of the levels
SIDE_WIDTH_PX = 430  # width of the scores by rank
TABLE_ROWS = 40
DRAG_PAUSE_SECONDS = 0.3  # pictures of very many tuples are redrawn only after this pause
_THUMB_RADIUS_PX = 6  # the slider's thumb extends beyond its rail


class SelectionView(StudyView):
    """Live view of a search for tuples and of a study of how many to keep.

    Args:
        study: result of `alrviz.choose_tuples`, run or not.
        rerun, wake: see `StudyView`.
        heights: CSS heights of the pictures of the search and of the study.

    >>> import alrviz
    >>> study = alrviz.choose_tuples(alrviz.load_demo("xor", 400), keeps=(0.5, 1.0), folds=2, n_jobs=1)
    >>> view = alrviz.SelectionView(study, keep=50)
    >>> view.wait().levels[0].kept_tuples  # two of four bits
    ((0,), (1,))
    """

    keep = param.Integer(default=60, bounds=(1, 100), doc="Share of the tuples of each level that is kept, in %.")
    over_rows = param.Boolean(default=False, doc="Whether to show a run (`follow`) in place of a search and a study.")

    SENTENCE = (30, 4)

    def __init__(self, study: TupleStudy | None = None, *, heights: tuple[str, str] = HEIGHTS, **params: Any):
        self.verdict: TupleVerdict | None = None
        self.search: Search | None = None
        self._task = LatestJob("searching for tuples")
        self._live: LiveSelection | None = None
        self._key: Any = None
        self._problem: Exception | None = None
        self._draw_seconds = 0.0  # duration of the latest drawing of the search
        self._race: Race | None = None  # race of the run shown
        self._moved_at = 0.0  # time of the latest move of the line
        self._draw_pending = False  # whether drawing was postponed while the line moved
        self._placing = Updating()
        super().__init__(study, height=heights, **params)

    # -- building ------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        upper_height, lower_height = self._height
        self.tuples = LiveFigure("alrviz-tuples", on_resize=self._draw_search)
        self.ranks = LiveFigure("alrviz-tuple-scores", on_new_figure=self._make_draggable)
        self.gains = LiveFigure("alrviz-tuple-gains")
        self.shares = {name: LiveFigure(f"alrviz-tuples-{name.replace('_', '-')}") for name in pictures.SHARES}
        self.search_text = html(min_height=48, margin=(0, 0, 6, 0))
        self.slider = live_slider(pmui.IntSlider, self._slider_moved, label="Share kept", start=1, end=100, value=60)
        slider_padding = {
            "padding-left": f"{LEFT_MARGIN_PX - _THUMB_RADIUS_PX}px",
            "padding-right": f"{RIGHT_MARGIN_PX - _THUMB_RADIUS_PX}px",
        }
        ranks = as_high(self.ranks.pane, f"calc({upper_height} - 44px)", 256)
        scores = pn.Column(
            ranks, pn.Column(self.slider, styles=slider_padding, margin=0), width=SIDE_WIDTH_PX, margin=0
        )
        levels = stack(as_high(self.tuples.pane, upper_height, 300))
        self._search_parts = levels, ranks
        search_row = side_by_side(levels, scores, MAIN_WIDTH_PX, SIDE_WIDTH_PX, margin=(0, 0, 6, 0))
        losses, *costs = (figure.pane for figure in self.shares.values())
        losses = stack(as_high(losses, lower_height, 250))
        gains = pn.Column(as_high(self.gains.pane, lower_height, 250), width=SIDE_WIDTH_PX, margin=0)
        costs = as_high(pn.Row(*costs, sizing_mode="stretch_both", margin=0), f"calc(.8 * {lower_height})", 200)
        self._study_parts = losses, costs
        self._study_part = stack(
            side_by_side(gains, losses, SIDE_WIDTH_PX, MAIN_WIDTH_PX, grow=(1, 9999)), costs, margin=(6, 0, 0, 0)
        )
        self.body = stack(search_row)
        contents_text = "all fits, with recipes, seed, data hash and version"
        csv_buttons = [
            csv_button("alrviz-tuples.csv", self._csv_of_tuples, "all tuples looked at, with their scores"),
            csv_button("alrviz-selection.csv", self.csv_of_fits, contents_text, label="CSV of fits"),
        ]
        pictures_by_name = {"tuples": self.tuples, "scores": self.ranks, "gains": self.gains}
        pictures_by_name |= dict(zip(("losses", "parameters", "seconds"), self.shares.values(), strict=True))
        self._numbers = self._fold_numbers(csv_buttons, pictures_by_name, lambda _: self._numbers_html())
        self.layout = ViewLayout(
            self.search_text, self.body, self.sentence, self.bar.panel, self._study_part, self._numbers
        )
        self.param.watch(lambda _: self._keep_changed(), "keep")
        self.param.watch(lambda _: self._mode_changed(), "over_rows")

    def _make_draggable(self, plot: Plot) -> None:
        """Let the reader drag the line, or click where it should go."""
        fig = plot.figure
        fig.min_border_left, fig.min_border_right = LEFT_MARGIN_PX, RIGHT_MARGIN_PX
        fig.toolbar.tools = [tool for tool in fig.toolbar.tools if not isinstance(tool, PanTool | BoxZoomTool)]
        for kind in (Pan, Tap):
            fig.on_event(kind, lambda event: self.param.update(keep=int(np.clip(round(100 * event.x), 1, 100))))

    # -- the study -----------------------------------------------------------------------------------------------------

    def show_no_study(self) -> None:
        """Hide the pictures and cancel the search, unless the rows of a stream are searched."""
        if self.over_rows:
            return
        super().show_no_study()
        self._study_part.visible = False
        self.verdict = self._key = self._live = self.search = None
        self._task.cancel()
        say(self.search_text, "")

    def _draw(self, study: TupleStudy) -> None:
        if self.over_rows:
            return
        self._set_study(study)
        self.verdict = verdict = study.verdict()
        orders = sorted({recipe.params["order"] for recipe in study.recipes})
        best = None if verdict.recipe is None else (verdict.recipe.params["order"], verdict.recipe.params["keep"])
        self._study_part.visible = True
        has_started = study.phase != "waiting"
        for study_part in self._study_parts:
            study_part.visible = has_started
        if has_started:
            drawn_shares = pictures.shares(self.lines, orders, study.recipes[0].label, best, dark=self.dark)
            for name, picture in drawn_shares.items():
                self.shares[name].show(picture, subject=study)
        self.tell_verdict(page_verdict(study, verdict, self.lines), notes_html(verdict.notes))
        self._draw_search()

    # -- a run over all rows -------------------------------------------------------------------------------------------

    def _mode_changed(self) -> None:
        """Called when the mode changes: switch between a run and the search."""
        self._task.cancel()
        self._race = self.search = None
        self._study_part.visible, self.body.visible = False, self.over_rows  # the slider is needed before a run
        self.sentence.visible = self.bar.panel.visible = not self.over_rows
        self._show_pictures()
        say(self.search_text, "")
        self.redraw()
        self._seek()

    def expect(self, stream: "Stream", recipe: "Recipe") -> None:
        """Create the pictures of a recipe's run in advance: at its first level they would delay other visitors.

        stream: of the run's steps.
        """
        with pn.io.hold():
            self._draw_levels(_search_of(stream, recipe, ()), recipe, None)

    def follow(self, race: "Race | None", outdated: bool = False) -> None:
        """Show the tuples that a race's run over a table read in batches has selected so far.

        Args:
            race: the race, or None.
            outdated: whether settings have changed since it was made.
        """
        self.outdated = outdated
        levels = () if race is None else getattr(race.runs[0], "levels", ())
        shown_levels = () if self.search is None else self.search.levels
        if race is self._race and len(levels) == len(shown_levels):
            return
        self._race, self.search, recipe = race, None, None if race is None else race.recipes[0]
        if race is not None and recipe is not None and levels:
            self.search = _search_of(race.dataset, recipe, levels)
        say(self.search_text, "")
        self._show_pictures()
        self._draw_search()

    def _show_pictures(self) -> None:
        """Hide pictures without a selection."""
        has_search = self.search is not None or not self.over_rows
        for picture_part in (*self._search_parts, self.layout[-1]):
            picture_part.visible = has_search
        self._place()

    def origin(self, subject: str) -> Origin:
        """Return title and provenance of a saved picture of `subject`."""
        race = self._race
        if race is None:
            return super().origin(subject)
        return Origin(f"{race.recipes[0].name}: {subject}", caption(race_provenance(race, __version__), race.recipes))

    # -- the search ----------------------------------------------------------------------------------------------------

    @property
    def recipe(self) -> "Recipe | None":
        """Recipe of the tuples shown."""
        study = self.study
        if self.over_rows:
            return None if self._race is None else self._race.recipes[0]
        if study is None:
            return None
        return study.recipes[-1].replace(keep=self.keep / 100, seed=json.loads(study.spec)["seed"])

    def _set_study(self, study: TupleStudy) -> None:
        """Search the table of this study."""
        assert self.recipe is not None
        key = (study.dataset.hash, self.recipe.replace(keep=1.0))
        if key != self._key:
            self._key, self._live, self.search = key, LiveSelection(study.dataset), None
            self._seek()

    def _seek(self) -> None:
        live_selection, recipe = self._live, self.recipe
        if live_selection is None or recipe is None or self.over_rows:
            return
        self._problem = None
        if self.search is None:
            say(self.search_text, "<p class='sentence quiet'>Preparing the table for the search …</p>")
        self._task.run(lambda stop: live_selection.search(recipe, stop), self._store_search, self._store_error)
        if self._draw_seconds < MIN_SECONDS_SHOWN:  # slower drawings wait for the next tick, or would lag behind
            self._task.wait(MIN_SECONDS_SHOWN)
            self._task.poll()
        self._wake()

    def _store_search(self, search: Search) -> None:
        self.search = search
        self._draw_search()

    def _store_error(self, error: Exception) -> None:
        self._problem, self.search = error, None
        self._draw_search()

    def wait(self, seconds: float = 60.0) -> Search:
        """Wait for the search, at most so many seconds, and return it."""
        deadline = time.monotonic() + seconds
        while self._task.busy and time.monotonic() < deadline:
            self._task.wait(0.1)
            self._task.poll()
        assert self.search is not None
        return self.search

    def _slider_moved(self, event: Event) -> None:
        if not self._placing and event.new is not None:
            self.keep = int(event.new)

    def _keep_changed(self) -> None:
        """Called when the share of tuples to keep changes: move the line and search again."""
        self._moved_at = time.monotonic()
        with pn.io.hold():
            self._place()
            self._seek()

    def _place(self) -> None:
        with self._placing:
            change(self.slider, value=self.keep, label=f"Share kept: {self.keep} %")
        if self.ranks.plot is not None:
            self.ranks.plot.parts["t"].location = self.keep / 100

    def press_stop(self) -> None:
        """Stop the study and the search."""
        self._task.cancel()
        super().press_stop()

    def pump(self) -> bool:
        """Show new results of the study and the search; return whether there may be more."""
        moving = super().pump() | self._task.poll()
        if self._draw_pending and time.monotonic() - self._moved_at >= DRAG_PAUSE_SECONDS:
            self._draw_search()
        return moving or self._draw_pending

    def settle(self) -> None:
        """Show everything computed so far, and wait for the search."""
        super().settle()
        self._task.finish()
        self._moved_at = 0.0  # draw without waiting for a pause
        self._draw_search()

    def cancel_search(self) -> None:
        """Cancel the search; no result arrives after this returns."""
        self._task.cancel()

    def _draw_search(self) -> None:
        start_time, search, recipe = time.monotonic(), self.search, self.recipe
        with pn.io.hold():
            self._place()
            if self._problem is not None:
                say(self.search_text, f"<div class='sentence bad'>{safe(self._problem, 600)}</div>")
            if search is None or recipe is None:
                return
            key = self._race or self._key
            self._draw_levels(search, recipe, key)
            self._draw_pending = (
                search.total(search.order) > pictures.MAX_MARKS
                and time.monotonic() - self._moved_at < DRAG_PAUSE_SECONDS
            )
            if not self.over_rows and not self._draw_pending:
                self.gains.show(pictures.gains(search, recipe.label, dark=self.dark), key)
            say(self.search_text, verdict_html(search_verdict(search)))
            self._numbers.refresh()
        self._draw_seconds = time.monotonic() - start_time

    def _draw_levels(self, search: Search, recipe: "Recipe", key: Any) -> None:
        label, levels = recipe.label, _levels_of(recipe)
        self.tuples.show(pictures.tuples(search, label, levels, self.tuples.size, dark=self.dark), key)
        self.ranks.show(pictures.ranks(search, label, levels, self.keep / 100, dark=self.dark), key)

    # -- numbers -------------------------------------------------------------------------------------------------------

    def _csv_of_tuples(self) -> str:
        race = self._race
        if self.search is None:
            return ""
        if race is not None:
            return to_csv(tuples_frame(self.search), race_provenance(race, __version__), race.recipes)
        return "" if self.study is None else study_csv(self.study, tuples_frame(self.search))

    def csv_of_fits(self) -> str:
        """Return every fit of the study as a CSV; "" for a run, whose race has its own CSV."""
        return "" if self.over_rows else super().csv_of_fits()

    def _numbers_html(self) -> str:
        has_study = not self.over_rows and self.lines is not None and len(self.lines)
        tables_html = [numbers_html(self.lines)] if has_study else []
        if self.search is not None and self.search.levels:
            tables_html.append(tuples_html(self.search))
        return "".join(tables_html)


def tuples_frame(search: Search) -> pd.DataFrame:
    """Return a row for each scored tuple: smaller tuples first, within a size the highest score first.

    Columns: columns (how many the tuple has), tuple (its name), score, kept (whether the search kept it), gain (tuples
    of the final order only; else NaN).
    """
    level_frames = []
    for level in search.levels:
        n_columns = level.tuples.shape[1]
        is_kept = np.isin(np.arange(len(level.tuples)), level.kept_indices)
        names = [search.name(columns) for columns in level.tuples]
        level_frame = pd.DataFrame({"columns": n_columns, "tuple": names, "score": level.scores, "kept": is_kept})
        gains = search.gains if n_columns == search.order else None
        level_frame["gain"] = np.nan if gains is None else gains[search.numbers(level.tuples)]
        level_frames.append(level_frame.sort_values("score", ascending=False, kind="stable"))
    return pd.concat(level_frames, ignore_index=True) if level_frames else pd.DataFrame()


def tuples_html(search: Search) -> str:
    """Return the table of the tuples of the final order with the highest scores."""
    frame = tuples_frame(search)
    highest_tuples = frame[frame["columns"] == search.order].head(TABLE_ROWS)
    column_titles = ["rank", tuples_text(search.order), "score", "predicted gain", "kept"]
    rows = [
        [f"{rank:,}", safe(row["tuple"]), number(row["score"]),
         "&ndash;" if pd.isna(row["gain"]) else number(row["gain"]), "yes" if row["kept"] else ""]
        for rank, row in enumerate(highest_tuples.to_dict("records"), 1)
    ]  # fmt: skip
    note = f"<p class='quiet'>The {TABLE_ROWS} of the highest scores; the CSV has all.</p>"
    return html_table(column_titles, rows) + (note if len(highest_tuples) == TABLE_ROWS else "")


def _levels_of(recipe: "Recipe") -> int:
    """Return the number of levels of a recipe's selection."""
    return int(recipe.params["order"]) if "grow" in recipe.params else 1


def _search_of(stream: "Stream", recipe: "Recipe", levels: tuple[Level, ...]) -> Search:
    """Return a run's selection so far, its levels, as a search."""
    columns = tuple(column.name for column in stream.spec.features)
    order, score = int(recipe.params["order"]), str(recipe.params["selection"])
    return Search(columns, order, score, levels, is_complete=len(levels) == _levels_of(recipe))


def search_verdict(search: Search) -> Verdict:
    """Return how many tuples a search keeps, and whether it misses one that tells more than its columns apart."""
    if not search.is_complete:
        return _progress_verdict(search)
    noun, n_all, last_level = tuples_text(search.order), search.total(search.order), search.levels[-1]
    n_kept, n_scored = len(last_level.kept_indices), len(last_level.tuples)
    kept_nouns = [noun] if n_scored == n_all else [f"scored {noun}", noun]  # the second for a headline without room
    kept_texts = [f"{n_kept:,} of {n_scored:,} {text} {'is' if n_kept == 1 else 'are'} kept" for text in kept_nouns]
    detail = "Full dots are kept, rings discarded"
    detail += "." if n_scored == n_all else f", crosses not scored ({n_all - n_scored:,} of {n_all:,})."
    if search.is_significant is None or search.gains is None:
        return Verdict(f"{kept_texts[0]}.", detail)
    informative = np.flatnonzero(search.is_significant)
    missed = np.setdiff1d(informative, search.numbers(last_level.tuples[last_level.kept_indices]))
    if len(missed):
        best_missed = missed[np.argmax(search.gains[missed])]
        was_scored = best_missed in search.numbers(last_level.tuples)
        reason = "was discarded" if was_scored else "was never scored, since none of its parts was kept"
        detail = f"{search.name(search.all_tuples()[best_missed])} {reason}. {detail}"
    meaning = _INFORMATIVE[min(search.order, 3)][2]
    endings = _informative_endings(search, informative, len(missed))
    headline = first_headline(*(f"{kept_text}{ending}." for ending in endings for kept_text in kept_texts))
    return Verdict(headline, f"{meaning} {detail}")


def _progress_verdict(search: Search) -> Verdict:
    """Return what a search does, which is not complete."""
    level = search.current_level
    if level is not None:
        n_columns = level.tuples.shape[1]
    else:
        n_columns = min(search.order, 1 + (search.levels[-1].tuples.shape[1] if search.levels else search.order - 1))
    activity_text = "Looking at" if level is None else "Scoring"
    return Verdict(f"{activity_text} {search.total(n_columns):,} {tuples_text(n_columns)} …")


def _informative_endings(search: Search, informative: NDArray[np.intp], n_missed: int) -> list[str]:
    """Return endings of the headline, on how many of the informative tuples (their numbers) are kept or missed."""
    verb_one, verb_many, _ = _INFORMATIVE[min(search.order, 3)]
    n_informative = len(informative)
    if not n_informative:
        return [f"; none {verb_one}"]
    if n_missed and n_informative == 1:
        return [f"; the only one that {verb_one} is lost"]
    if n_missed:
        lost_verb = "is" if n_missed == 1 else "are"
        return [f"; {n_missed:,} of {n_informative:,} that {verb_many} {lost_verb} lost"]
    if n_informative > 1:
        return [f", with all {n_informative:,} that {verb_many}"]
    name = search.name(search.all_tuples()[informative[0]])
    return [f"; only {name} {verb_one}", f", with the only one that {verb_one}"]


# What an informative tuple of 1, 2 or more columns does: "it ...", "they ...", and what that means.
_INFORMATIVE = {
    1: ("is informative", "are informative", "A column is informative if it tells about the class beyond chance."),
    2: ("beats its columns", "beat their columns",
        "A pair beats its columns if it tells more about the class than both do apart."),
    3: ("beats its parts", "beat their parts",
        "A tuple beats its parts if it tells more about the class than they do apart."),
}  # fmt: skip


def page_verdict(study: TupleStudy, verdict: TupleVerdict, lines: pd.DataFrame) -> Verdict:
    """Return the verdict, or before the run what Run will compute; lines: the study's summary."""
    if study.phase != "waiting":
        return folds_verdict(study, verdict, lines)
    n_folds, spec = len({task.split for task in study.tasks}), json.loads(study.spec)
    keeps, orders = spec["keeps"], spec["orders"]
    nouns = join_words([tuples_text(order) for order in orders])
    return Verdict(
        f"Press Run: what share of the {nouns} is enough on test rows?",
        f"{plural(len(keeps), 'share')} from {100 * min(keeps):g} to {100 * max(keeps):g} %, each with "
        f"{plural(n_folds, 'fold')} of {study.dataset.n_rows:,} rows: {len(study.tasks):,} fits.",
    )


_HEADS = ("n", "kept", "folds", "log loss", "± <abbr title='standard error'>se</abbr>", "error rate", "parameters",
          "seconds per fit")  # fmt: skip


def numbers_html(lines: pd.DataFrame) -> str:
    """Return the table of the study's summary, lines: a row for each order and share."""
    table_rows: list[Sequence[str]] = [
        (f"{row.order}", f"{100 * row.kept:g} %", f"{row.folds}", loss_text(row.log_loss), loss_text(row.se),
         number(row.error), f"{row.parameters:,.0f}", number(row.train_seconds))
        for row in lines.itertuples()
    ]  # fmt: skip
    return html_table(_HEADS, table_rows)
