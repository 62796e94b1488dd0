"""CompareView: models on data sets: means with standard deviations, win-draw-loss with sign tests, a scatter plot.

It shows a study of `alrviz.compare` while it computes.
"""

import re
from collections.abc import Sequence
from html import unescape
from typing import TYPE_CHECKING, Any

import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param

from alrviz.errors import plural
from alrviz.pictures import compare as pictures
from alrviz.pictures.compare import WORDS
from alrviz.pictures.formatting import seconds_text
from alrviz.pictures.palette import racer_colours
from alrviz.studies.core.export import study_csv
from alrviz.studies.protocols.compare import COMPARED, SECONDS, fits_each, pairs, ranks, to_latex
from alrviz.studies.statistics.measures import loss_text
from alrviz.studies.statistics.verdict import Verdict, first_headline
from alrviz.views.core.live_figure import LiveFigure
from alrviz.views.core.notebook import ViewLayout
from alrviz.views.core.panes import Updating, as_high, html, say, side_by_side, stack
from alrviz.views.core.saving import csv_button
from alrviz.views.core.style import CSS, html_table, safe
from alrviz.views.race.texts import names_html, number
from alrviz.views.studies.study_view import StudyView, notes_html

if TYPE_CHECKING:
    from alrviz.studies.core.study import Study

PAIR_COLUMNS = ["a", "b", "win_draw_loss", "p", "ratio"]  # of the LaTeX table
MAIN_WIDTH_PX = 400  # minimum width of the tables
SIDE_WIDTH_PX = 412  # width of the picture and the menus above it


class CompareView(StudyView):
    """Live view of a comparison.

    Args:
        study: result of `alrviz.compare`, run or not.
        height: CSS height of the picture.
        rerun, wake: see `StudyView`.

    >>> import alrviz
    >>> tables = [alrviz.load_demo("monks-1"), alrviz.load_demo("tic-tac-toe")]
    >>> recipes = [alrviz.Recipe("anje", order=n) for n in (1, 2)]
    >>> view = alrviz.CompareView(alrviz.compare(tables, recipes, repeats=2, n_jobs=1).run())
    >>> "anje has the best mean rank, 1.00" in view.sentence.object
    True
    """

    measure = param.Selector(default="log_loss", objects=list(COMPARED), doc="Measure by which recipes are compared.")
    across = param.Integer(default=0, bounds=(0, None), doc="Number of the recipe on the x axis.")
    up = param.Integer(default=1, bounds=(0, None), doc="Number of the recipe on the y axis.")

    HEIGHT = "372px"

    def _build(self) -> None:
        self.picture = LiveFigure("alrviz-compare")
        self._means, self._pairs = html(), html(margin=(16, 0, 0, 0))
        for pane in (self._means, self._pairs):
            pane.stylesheets = [CSS, GRID]
        small_params: dict[str, Any] = {"size": "small", "margin": (0, 8, 6, 0)}
        options = {measure_text: name for name, measure_text in WORDS.items()}
        self._measures = pmui.Select(label="Measure", options=options, value=self.measure, width=200, **small_params)
        self._x_menu = pmui.Select(label="Horizontal axis", options={}, width=192, **small_params)
        self._y_menu = pmui.Select(label="Vertical axis", options={}, width=192, **small_params)
        self._offering = Updating()
        self._measures.link(self, value="measure", bidirectional=True)
        for menu in (self._x_menu, self._y_menu):
            menu.param.watch(lambda _: self._menu_changed(), "value")
        self.param.watch(lambda *_: self.redraw(), ["measure", "across", "up"])
        tables = stack(self._measures, self._means, self._pairs)
        width_css = f"max({SIDE_WIDTH_PX}px, {self._height} + {SIDE_WIDTH_PX - 372}px)"  # it grows as a square
        self._picture_part = pn.Column(
            pn.Row(self._x_menu, self._y_menu, margin=0), as_high(self.picture.pane, self._height, 372),
            width=SIDE_WIDTH_PX, margin=0, styles={"width": width_css},
        )  # fmt: skip
        self.body = side_by_side(tables, self._picture_part, MAIN_WIDTH_PX, width_css, margin=(14, 0, 6, 0))
        contents_text = "with recipes, seed, data hashes and version"
        buttons = [
            csv_button("alrviz-compare.csv", self.csv_of_summary, f"means and spread, {contents_text}"),
            csv_button(
                "alrviz-compare-pairs.csv", self.csv_of_pairs, f"win-draw-loss, {contents_text}", "CSV of pairs"
            ),
            csv_button("alrviz-compare-fits.csv", self.csv_of_fits, f"all fits, {contents_text}", "CSV of fits"),
            csv_button("alrviz-compare.tex", self.latex, "means, ranks and win-draw-loss as two tabulars", "LaTeX"),
        ]
        self._numbers = self._fold_numbers(
            buttons, {"one against another": self.picture}, lambda study: numbers_html(self.lines, fits_each(study))
        )
        self.layout = ViewLayout(self.sentence, self.bar.panel, self.body, self._numbers)

    def _draw(self, study: "Study") -> None:
        summary_rows, measure, dark = self.lines, self.measure, self.dark
        self._offer_recipes(study.names)
        self.tell_verdict(page_verdict(study, summary_rows, measure), leaks_html(study))
        say(self._means, means_html(study, summary_rows, measure, dark))
        say(self._pairs, pairs_html(study, summary_rows, measure, dark))
        if len(study.names) > 1:
            colours, pair = racer_colours(_labels(study), dark), (self.across, self.up)
            picture = pictures.compare(summary_rows, study.frame(), pair, measure, colours, dark)
            self.picture.show(picture, subject=(study, pair, measure))

    def offer_measures(self, measures: Sequence[str]) -> None:
        """Offer only these measures: imported results may lack others."""
        with param.parameterized.discard_events(self):
            self.measure = self.measure if self.measure in measures else measures[0]
        options = {WORDS[name]: name for name in measures}
        self._measures.param.update(options=options, value=self.measure)

    def _offer_recipes(self, names: tuple[str, ...]) -> None:
        """Offer the recipes' names for the axes; hide the picture if there is only one."""
        self._picture_part.visible = len(names) > 1
        if len(names) < 2:
            return
        options = {name: k for k, name in enumerate(names)}
        across = self.across if self.across < len(names) else 0
        up = self.up if self.up < len(names) and self.up != across else int(across == 0)
        if (self._x_menu.options, self._x_menu.value, self._y_menu.value) == (options, across, up):
            return
        with self._offering:
            with param.parameterized.discard_events(self):
                self.across, self.up = across, up
            self._x_menu.param.update(options=options, value=across)
            self._y_menu.param.update(options=options, value=up)

    def _menu_changed(self) -> None:
        """Called when a menu of the axes changes: set the axes; choosing the other axis's recipe swaps the two."""
        if self._offering or self._x_menu.value is None or self._y_menu.value is None:
            return
        across, up = int(self._x_menu.value), int(self._y_menu.value)
        if across == up:
            across, up = (self.up, up) if across != self.up else (across, self.across)
        self.param.update(across=across, up=up)

    def csv_of_pairs(self) -> str:
        """Return wins, draws and losses of every pair of recipes as a CSV."""
        return "" if self.study is None else study_csv(self.study, pairs(self.study, self.measure))

    def latex(self) -> str:
        """Return means, ranks and wins as LaTeX tables."""
        study = self.study
        if study is None:
            return ""
        summary_rows = study.summary()
        latex_tables = [to_latex(latex_frame(study, summary_rows, self.measure))]
        if len(study.recipes) > 1:
            latex_tables.append(to_latex(pairs(study, self.measure, summary=summary_rows)[PAIR_COLUMNS]))
        return "\n".join(latex_tables)


# ---- texts as HTML; all names are escaped ----------------------------------------------------------------------------

SIGNIFICANCE_LEVEL = 0.05
MIN_PRINTED_P = 0.001  # smaller values are printed as "< 0.001"
GRID = """
.means td, .means th, .pairs td, .pairs th { white-space: nowrap; text-align: right; }
.means td:first-child, .pairs td:first-child { text-align: left; }
.means th { white-space: normal; overflow-wrap: anywhere; vertical-align: bottom; }
.means th:first-child, .pairs th:first-child { text-align: left; }
.means td:first-child { white-space: normal; min-width: 6.5em; overflow-wrap: anywhere; }
.means { container-type: inline-size; }
.means.many small { display: block; }
@container (max-width: 900px) { .means.long small { display: block; } }
.means tr.foot td { color: var(--alrviz-quiet, #777); }
.means small, .pairs small { color: var(--alrviz-quiet, #777); font-size: .875rem; }
.pairs b { font-weight: 600; }
"""


def value_text(value: float, measure: str) -> str:
    """Format a value, a mean of a measure."""
    if pd.isna(value):
        return "&ndash;"
    return seconds_text(value) if measure in SECONDS else loss_text(value)


def _labels(study: "Study") -> list[str]:
    return [recipe.label for recipe in study.recipes]


def means_html(study: "Study", summary_rows: pd.DataFrame, measure: str, dark: bool = False) -> str:
    """Return the table of means and standard deviations of a measure by data set and recipe.

    The lowest mean of a row is bold; incomplete cells show their number of fits. summary_rows: the study's summary;
    dark: whether the ground is dark.
    """
    n_fits, failures = fits_each(study), _failure_reasons(study)
    body_rows = []
    for name, data_rows in summary_rows.groupby("data", sort=False):
        results = data_rows.sort_values("racer").to_dict("records")
        has_failures = any((str(name), int(row["racer"])) in failures for row in results)
        complete_results = [row for row in results if row["fits"] == n_fits and not pd.isna(row[measure])]
        is_decided = has_failures or len(complete_results) == len(results)  # not while a lower mean may still come
        lowest = min((row[measure] for row in complete_results), default=None) if is_decided else None
        cells = [
            _mean_cell(row, measure, n_fits, lowest, failures.get((str(name), int(row["racer"])))) for row in results
        ]
        body_rows.append([safe(name, 60), *cells])
    # Rows longer than 58 characters do not fit beside the picture; standard deviations then move below the means.
    row_length = (
        sum(max(len(re.sub("<[^>]*>", "", row[column])) for row in body_rows) for column in range(1, len(body_rows[0])))
        if body_rows
        else 0
    )
    layout_classes = " many" if len(study.recipes) > 5 else " long" if row_length > 58 else ""
    title, spread_html = WORDS[measure], "± <abbr title='standard deviation'>sd</abbr>"
    if n_fits > 1:
        title += f" <small>{spread_html} over {n_fits:,} fits</small>"
    elif summary_rows.get(f"{measure}_sd", pd.Series(dtype=float)).notna().any():  # imported from a file
        title += f" <small>{spread_html}</small>"
    rank_rows = _rank_rows(study, summary_rows, measure)
    titles = [title, *names_html(study.names, _labels(study), dark)]
    legend = "Bold: lowest in its row. In the picture whiskers are ± one standard deviation, grey dots single fits."
    return html_table(titles, body_rows, f"scroll means{layout_classes}", rank_rows) + f"<p class='quiet'>{legend}</p>"


def _mean_cell(result_row: dict[Any, Any], measure: str, n_fits: int, lowest: float | None, failed: Any) -> str:
    """Return the mean of a measure as a table cell, in bold if it is the lowest.

    result_row: its figures; n_fits: of a complete cell; failed: number of failed fits and a reason, or None.
    """
    value, deviation, fits = result_row[measure], result_row.get(f"{measure}_sd", float("nan")), int(result_row["fits"])
    value_html = value_text(value, measure)
    if fits == n_fits and value == lowest:
        value_html = f"<b>{value_html}</b>"
    cell_notes = [f"± {value_text(deviation, measure)}"] if fits == n_fits and not pd.isna(deviation) else []
    if failed is not None:
        n_failed, reason = failed
        cell_notes.append(f"<abbr class='bad' title='{safe(reason)}'>{n_failed} failed</abbr>")
    elif fits < n_fits:
        cell_notes.append(f"{fits} of {n_fits}")
    return f"<td>{value_html if fits else ''} <small>{' · '.join(cell_notes)}</small></td>"


def _failure_reasons(study: "Study") -> dict[tuple[str, int], tuple[int, str]]:
    """Return the number of failed fits and the latest reason, by data set and racer."""
    reasons: dict[tuple[str, int], tuple[int, str]] = {}
    for task, result in study.results():
        if result.failed:
            cell_key = (study.datasets[task.data_hash].name, task.racer)
            reasons[cell_key] = (reasons.get(cell_key, (0, ""))[0] + 1, str(result.rows[0].get("sentence", "")))
    return reasons


def _rank_rows(study: "Study", summary_rows: pd.DataFrame, measure: str) -> str:
    """Return the table's last rows with mean ranks and geometric means by a measure, if there is more than one recipe.

    summary_rows: the study's summary.
    """
    if len(study.recipes) < 2:
        return ""
    rank_table = ranks(study, measure, summary_rows)
    name = safe(study.names[0], 40)
    rank_cells = "".join(f"<td>{number(value, 2)}</td>" for value in rank_table["rank"])
    ratio_cells = "".join(f"<td>{number(value, 3)}</td>" for value in rank_table["ratio"])
    rank_note = "1 is best; ties share ranks. Over the data sets on which every fit is there"
    ratio_note = f"Geometric mean over the data sets of the value over that of {name}: below 1 is better"
    return (
        f"<tr class='foot'><td><abbr title='{rank_note}'>mean rank</abbr></td>{rank_cells}</tr>"
        f"<tr class='foot'><td><abbr title='{ratio_note}'>geometric mean</abbr> ratio to {name}</td>{ratio_cells}</tr>"
    )


def pairs_html(study: "Study", lines: pd.DataFrame, measure: str, dark: bool = False) -> str:
    """Return the table of wins, draws and losses of row against column recipes, with p of the sign test.

    lines: the study's summary; measure: that is compared; dark: whether the ground is dark.
    """
    if len(study.recipes) < 2:
        return ""
    by_names = {(pair.a, pair.b): pair for pair in pairs(study, measure, summary=lines).itertuples()}
    titles = names_html(study.names, _labels(study), dark)
    body_rows = []
    for row_name, title in zip(study.names[:-1], titles[:-1], strict=True):
        body_rows.append(
            [title, *(_pair_cell(by_names.get((row_name, column_name))) for column_name in study.names[1:])]
        )
    explanation = (
        f"Data sets on which the model of the line is lower in {WORDS[measure]}, equal, and higher than the column's; "
        "p of the exact two-tailed sign test, ties left out"
    )
    return html_table([f"<abbr title='{explanation}'>win / tie / loss</abbr>", *titles[1:]], body_rows, "scroll pairs")


def _pair_cell(pair: Any) -> str:
    """Return wins, draws and losses of a pair with their p as a table cell; empty without a pair."""
    if pair is None:
        return "<td></td>"
    counts_html = pair.win_draw_loss
    if not pair.wins + pair.draws + pair.losses:
        return "<td>&ndash;</td>"
    if pair.p < SIGNIFICANCE_LEVEL:
        counts_html = f"<b>{counts_html}</b>"
    return f"<td>{counts_html} <small>p&nbsp;{p_text(pair.p)}</small></td>"


def p_text(p: float) -> str:
    """Format a p-value: "0.031", "1", "< 0.001" as HTML."""
    return "&lt; 0.001" if p < MIN_PRINTED_P else "1" if p == 1 else f"{p:.3f}"


def leaks_html(study: "Study") -> str:
    """Return the notes on columns that give the class away, by data set."""
    datasets = [dataset for dataset in study.datasets.values() if dataset.leaks and study.phase != "waiting"]
    return notes_html([f"{dataset.name}: {dataset.leaks_note}" for dataset in datasets])


def page_verdict(study: "Study", summary_rows: pd.DataFrame, measure: str) -> Verdict:
    """Return which model is best and whether that is significant, or before the run what Run will compute.

    summary_rows: the study's summary; measure: by which it is best.
    """
    sets, n_fits = len(study.datasets), fits_each(study)
    if study.phase == "waiting":
        work_text = f"{plural(len(study.recipes), 'model')} on {plural(sets, 'data set')}"
        return Verdict(f"Press Run: {work_text}, {n_fits} fits each, on the same folds.")
    rank_table = ranks(study, measure, summary_rows)
    is_complete = (summary_rows["fits"] == n_fits).groupby(summary_rows["data"], sort=False).all()
    complete_sets = list(is_complete.index[is_complete])
    n_complete = len(complete_sets)
    if n_complete and rank_table["rank"].isna().all():
        return Verdict(f"One round tells no {WORDS[measure]}: choose two or more.")
    if not n_complete:
        has_failures = any(result.failed for _, result in study.results())
        return Verdict(f"No data set is complete{'; some fits have failed.' if has_failures else ' yet.'}")
    verdict = _best_model(study, summary_rows, measure, rank_table, complete_sets)
    verb = "is" if n_complete == 1 else "are"
    progress_text = "" if n_complete == sets else f"{n_complete} of {plural(sets, 'data set')} {verb} complete. "
    return Verdict(verdict.headline, f"{progress_text}{verdict.detail}".strip())


def _best_model(
    study: "Study", lines: pd.DataFrame, measure: str, rank_table: pd.DataFrame, complete_sets: Sequence[str]
) -> Verdict:
    """Return which model has the best mean rank, and whether its lead over the second is significant.

    lines: the study's summary; measure: that is ranked; rank_table: the mean ranks; complete_sets: names of the data
    sets ranked.
    """
    ranked_models = rank_table.sort_values("rank", kind="stable")
    winner, words = ranked_models.iloc[0], WORDS[measure]
    name = winner["name"]
    if len(ranked_models) < 2:
        return Verdict("There is one model alone: add a second one to compare.")
    second = ranked_models.iloc[1]["name"]
    if len(complete_sets) == 1:
        only_row = lines[(lines["data"] == complete_sets[0]) & (lines["name"] == name)].iloc[0]
        value = unescape(value_text(only_row[measure], measure))
        return Verdict(
            first_headline(f"Lowest {words} on {only_row['data']}: {name}, {value}.", f"Lowest {words}: {value}."),
            "One data set alone cannot tell whether that is chance.",
        )
    compared = pairs(study, measure, summary=lines)
    pair = next(row for row in compared.itertuples() if {row.a, row.b} == {name, second})
    n_wins, n_losses = (pair.wins, pair.losses) if pair.a == name else (pair.losses, pair.wins)
    draws_text = f", equal on {pair.draws}" if pair.draws else ""
    is_significant = pair.p < SIGNIFICANCE_LEVEL
    meaning = "more than chance" if is_significant else "may be chance" if n_wins > n_losses else "no difference shown"
    ending = "and clearly beats" if is_significant else "but does not clearly beat"
    rank_text = f"{name} has the best mean rank, {winner['rank']:.2f}"
    p = unescape(p_text(pair.p))
    return Verdict(
        first_headline(f"{rank_text}, {ending} {second}.", f"{rank_text}.", f"Best mean rank: {winner['rank']:.2f}."),
        f"Against {second} it is lower in {words} on {plural(n_wins, 'data set')} and higher on {n_losses}"
        f"{draws_text}: {meaning} (sign test, p {p if p.startswith('<') else f'= {p}'}).",
    )


def numbers_html(lines: pd.DataFrame, total: int) -> str:
    """Return the table of all measures, a row for each of the summary's lines; with numbers of fits if total > 1."""
    body_rows = []
    for result_row in lines.to_dict("records"):
        cells = [value_text(result_row[measure], measure) for measure in WORDS]
        fits_cell = [f"{result_row['fits']:,}"] if total > 1 else []
        body_rows.append([safe(result_row["data"], 60), safe(result_row["name"], 60), *fits_cell, *cells])
    note = (
        "<p class='quiet'>Means over the fits that did not fail; losses of test rows, log loss in nats. Bias and "
        "variance are Kohavi and Wolpert's plug-in estimates, from two repeats on.</p>"
    )
    return html_table(["data", "model", *(["fits"] if total > 1 else []), *WORDS.values()], body_rows) + note


def latex_frame(study: "Study", lines: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return a table of texts: means with standard deviations by data set, then mean ranks and geometric means.

    lines: the study's summary; measure: of the means.
    """
    cells = [
        {"data": row["data"], "name": row["name"], "text": _plain_text(row[measure], row.get(f"{measure}_sd"), measure)}
        for row in lines.to_dict("records")
    ]
    names = list(dict.fromkeys(lines["data"]))
    frame = pd.DataFrame(cells).pivot(index="data", columns="name", values="text").reindex(names)[list(study.names)]
    frame.index.name = WORDS[measure]
    if len(study.recipes) > 1:
        table = ranks(study, measure, lines)
        frame.loc["mean rank"] = [_plain_text(value, None, "rank") for value in table["rank"]]
        frame.loc[f"geometric mean over {study.names[0]}"] = [
            _plain_text(value, None, "rank") for value in table["ratio"]
        ]
    return frame.reset_index()


def _plain_text(value: float, deviation: float | None, measure: str) -> str:
    """Return a value of a measure with its standard deviation, if there is one, for LaTeX."""
    if pd.isna(value):
        return "--"
    digits = 2 if measure == "rank" else 4
    return f"{value:.{digits}f}" + ("" if deviation is None or pd.isna(deviation) else f" ({deviation:.{digits}f})")
