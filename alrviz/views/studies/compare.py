"""CompareView: recipes on data sets: means with standard deviations, win-draw-loss with sign tests, a scatter plot.

It shows a study of `alrviz.compare` while it computes.
"""

import re
from collections.abc import Sequence
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
from alrviz.views.core.live_figure import LiveFigure
from alrviz.views.core.notebook import ViewLayout
from alrviz.views.core.panes import Updating, as_high, html, say, side_by_side, stack
from alrviz.views.core.saving import csv_button
from alrviz.views.core.style import CSS, html_table, safe
from alrviz.views.race.texts import names_html, number
from alrviz.views.studies.study_view import StudyView

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
    >>> "Best mean rank in log loss: anje, 1.00" in view.sentence.object
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
        options = {words: name for name, words in WORDS.items()}
        self._measures = pmui.Select(label="Measure", options=options, value=self.measure, width=200, **small_params)
        self._x_menu = pmui.Select(label="x", options={}, width=192, **small_params)
        self._y_menu = pmui.Select(label="y", options={}, width=192, **small_params)
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
        files = [
            csv_button("alrviz-compare.csv", self.csv_of_summary, f"means and spread, {contents_text}"),
            csv_button(
                "alrviz-compare-pairs.csv", self.csv_of_pairs, f"win-draw-loss, {contents_text}", "CSV of pairs"
            ),
            csv_button("alrviz-compare-fits.csv", self.csv_of_fits, f"all fits, {contents_text}", "CSV of fits"),
            csv_button("alrviz-compare.tex", self.latex, "means, ranks and win-draw-loss as two tabulars", "LaTeX"),
        ]
        self._numbers = self._fold_numbers(
            files, {"one against another": self.picture}, lambda study: numbers_html(self.lines, fits_each(study))
        )
        self.layout = ViewLayout(self.sentence, self.bar.panel, self.body, self._numbers)

    def _draw(self, study: "Study") -> None:
        lines, measure, dark = self.lines, self.measure, self.dark
        self._offer(study.names)
        self.tell(sentence_html(study, lines, measure))
        say(self._means, means_html(study, lines, measure, dark))
        say(self._pairs, pairs_html(study, lines, measure, dark))
        if len(study.names) > 1:
            colours, pair = racer_colours(_labels(study), dark), (self.across, self.up)
            picture = pictures.compare(lines, study.frame(), pair, measure, colours, dark)
            self.picture.show(picture, subject=(study, pair, measure))

    def offer_measures(self, measures: Sequence[str]) -> None:
        """Offer only these measures: imported results may lack others."""
        with param.parameterized.discard_events(self):
            self.measure = self.measure if self.measure in measures else measures[0]
        options = {WORDS[name]: name for name in measures}
        self._measures.param.update(options=options, value=self.measure)

    def _offer(self, names: tuple[str, ...]) -> None:
        """Offer the recipes for the axes; hide the picture if there is only one."""
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
        lines = study.summary()
        texts = [to_latex(latex_frame(study, lines, self.measure))]
        if len(study.recipes) > 1:
            texts.append(to_latex(pairs(study, self.measure, summary=lines)[PAIR_COLUMNS]))
        return "\n".join(texts)


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
    """Format a mean of a measure."""
    if pd.isna(value):
        return "&ndash;"
    return seconds_text(value) if measure in SECONDS else loss_text(value)


def _labels(study: "Study") -> list[str]:
    return [recipe.label for recipe in study.recipes]


def means_html(study: "Study", lines: pd.DataFrame, measure: str, dark: bool = False) -> str:
    """Return the table of means and standard deviations by data set and recipe.

    The lowest mean of a row is bold; incomplete cells show their number of fits.
    """
    total, reasons = fits_each(study), _failure_reasons(study)
    body_rows = []
    for data, rows in lines.groupby("data", sort=False):
        results = rows.sort_values("racer").to_dict("records")
        complete_results = [line for line in results if line["fits"] == total and not pd.isna(line[measure])]
        lowest = min((line[measure] for line in complete_results), default=None)
        cells = [_mean(line, measure, total, lowest, reasons.get((str(data), int(line["racer"])))) for line in results]
        body_rows.append([safe(data, 60), *cells])
    # Rows longer than 58 characters do not fit beside the picture; standard deviations then move below the means.
    length = (
        sum(max(len(re.sub("<[^>]*>", "", line[k])) for line in body_rows) for k in range(1, len(body_rows[0])))
        if body_rows
        else 0
    )
    layout_classes = " many" if len(study.recipes) > 5 else " long" if length > 58 else ""
    title, spread_html = WORDS[measure], "± <abbr title='standard deviation'>sd</abbr>"
    if total > 1:
        title += f" <small>{spread_html} over {total:,} fits</small>"
    elif lines.get(f"{measure}_sd", pd.Series(dtype=float)).notna().any():  # imported from a file
        title += f" <small>{spread_html}</small>"
    foot = _rank_rows(study, lines, measure)
    return html_table(
        [title, *names_html(study.names, _labels(study), dark)], body_rows, f"scroll means{layout_classes}", foot
    )


def _mean(line: dict[Any, Any], measure: str, total: int, lowest: float | None, failed: Any) -> str:
    value, spread, fits = line[measure], line.get(f"{measure}_sd", float("nan")), int(line["fits"])
    words = value_text(value, measure)
    if fits == total and value == lowest:
        words = f"<b>{words}</b>"
    notes = [f"± {value_text(spread, measure)}"] if fits == total and not pd.isna(spread) else []
    if failed is not None:
        count, reason = failed
        notes.append(f"<abbr class='bad' title='{safe(reason)}'>{count} failed</abbr>")
    elif fits < total:
        notes.append(f"{fits} of {total}")
    return f"<td>{words if fits else ''} <small>{' · '.join(notes)}</small></td>"


def _failure_reasons(study: "Study") -> dict[tuple[str, int], tuple[int, str]]:
    """Return the number of failed fits and the latest reason, by data set and racer."""
    reasons: dict[tuple[str, int], tuple[int, str]] = {}
    for cell, result in study.results():
        if result.failed:
            key = (study.datasets[cell.data_hash].name, cell.racer)
            reasons[key] = (reasons.get(key, (0, ""))[0] + 1, str(result.rows[0].get("sentence", "")))
    return reasons


def _rank_rows(study: "Study", lines: pd.DataFrame, measure: str) -> str:
    """Return the table's last rows with mean ranks and geometric means, if there is more than one recipe."""
    if len(study.recipes) < 2:
        return ""
    table = ranks(study, measure, lines)
    first = safe(study.names[0], 40)
    rank_cells = "".join(f"<td>{number(value, 2)}</td>" for value in table["rank"])
    ratio_cells = "".join(f"<td>{number(value, 3)}</td>" for value in table["ratio"])
    rank_note = "1 is best; ties share ranks. Over the data sets on which every fit is there"
    ratio_note = f"Geometric mean over the data sets of the value over that of {first}: below 1 is better"
    return (
        f"<tr class='foot'><td><abbr title='{rank_note}'>mean rank</abbr></td>{rank_cells}</tr>"
        f"<tr class='foot'><td><abbr title='{ratio_note}'>geometric mean</abbr> ratio to {first}</td>{ratio_cells}</tr>"
    )


def pairs_html(study: "Study", lines: pd.DataFrame, measure: str, dark: bool = False) -> str:
    """Return the table of wins, draws and losses of row against column recipes, with p of the sign test."""
    if len(study.recipes) < 2:
        return ""
    by_names = {(line.a, line.b): line for line in pairs(study, measure, summary=lines).itertuples()}
    titles = names_html(study.names, _labels(study), dark)
    body_rows = []
    for a, title in zip(study.names[:-1], titles[:-1], strict=True):
        body_rows.append([title, *(_pair(by_names.get((a, b))) for b in study.names[1:])])
    explanation = (
        f"Data sets on which the line's recipe is lower in {WORDS[measure]}, equal, and higher than the column's; p of "
        "the exact two-tailed sign test, ties left out"
    )
    return html_table([f"<abbr title='{explanation}'>win / tie / loss</abbr>", *titles[1:]], body_rows, "scroll pairs")


def _pair(line: Any) -> str:
    if line is None:
        return "<td></td>"
    words = line.win_draw_loss
    if not line.wins + line.draws + line.losses:
        return "<td>&ndash;</td>"
    if line.p < SIGNIFICANCE_LEVEL:
        words = f"<b>{words}</b>"
    return f"<td>{words} <small>p&nbsp;{p_text(line.p)}</small></td>"


def p_text(p: float) -> str:
    """Format a p-value: "0.031", "1", "< 0.001" as HTML."""
    return "&lt; 0.001" if p < MIN_PRINTED_P else "1" if p == 1 else f"{p:.3f}"


def sentence_html(study: "Study", lines: pd.DataFrame, measure: str) -> str:
    """Return which recipe is best and whether that is significant, or before the run what Run will compute."""
    sets, total = len(study.datasets), fits_each(study)
    if study.phase == "waiting":
        work_text = f"{plural(len(study.recipes), 'recipe')} on {plural(sets, 'data set')}"
        return f"<span class='quiet'>Press Run: {work_text}, {total} fits each, all on the same folds.</span>"
    table = ranks(study, measure, lines)
    n_complete = int((lines["fits"] == total).groupby(lines["data"]).all().sum())
    if n_complete and table["rank"].isna().all():
        return f"<span class='quiet'>One repeat tells no {WORDS[measure]}: choose two or more.</span>"
    if not n_complete:
        has_failures = any(result.failed for _, result in study.results())
        sentence = "No data set has every fit of every recipe" + ("; some have failed." if has_failures else " yet.")
        return f"<span class='quiet'>{sentence}</span>"
    so_far_html = "" if n_complete == sets else f"<span class='quiet'>Over {n_complete} of {sets} data sets:</span> "
    leaks_html = "".join(
        f"<div class='quiet'>{safe(dataset.name, 60)}: {safe(dataset.leaks_note, 400)}</div>"
        for dataset in study.datasets.values() if dataset.leaks
    )  # fmt: skip
    return so_far_html + _best(study, lines, measure, table, n_complete) + leaks_html


def _best(study: "Study", lines: pd.DataFrame, measure: str, table: pd.DataFrame, n_complete: int) -> str:
    order = table.sort_values("rank", kind="stable")
    best, words = order.iloc[0], WORDS[measure]
    name = safe(best["name"], 60)
    if len(order) < 2:
        return f"{name} alone: with a second recipe there is something to compare."
    second = order.iloc[1]
    if n_complete == 1:
        only = lines[(lines["fits"] == fits_each(study)) & (lines["name"] == best["name"])].iloc[0]
        value = value_text(only[measure], measure)
        sentence = f"Lowest {words} on {safe(only['data'], 60)}: {name}, {value}"
        return f"{sentence}. Whether that is chance, only several data sets tell."
    compared = pairs(study, measure, summary=lines)
    pair = next(line for line in compared.itertuples() if {line.a, line.b} == {best["name"], second["name"]})
    wins, losses = (pair.wins, pair.losses) if pair.a == best["name"] else (pair.losses, pair.wins)
    draws_text = f", {pair.draws} equal" if pair.draws else ""
    significance_text = "more than chance" if pair.p < SIGNIFICANCE_LEVEL else "may be chance"
    equals_sign = "" if pair.p < MIN_PRINTED_P else "= "  # "< 0.001" needs no "="
    return (
        f"Best mean rank in {words}: {name}, {best['rank']:.2f}. Against {safe(second['name'], 60)} it is lower on "
        f"{plural(wins, 'data set')} and higher on {losses}{draws_text}: {significance_text} (p "
        f"{equals_sign}{p_text(pair.p)})."
    )


def numbers_html(lines: pd.DataFrame, total: int) -> str:
    """Return the table of all measures by data set and recipe; with the number of fits if `total` is above 1."""
    body_rows = []
    for line in lines.to_dict("records"):
        cells = [value_text(line[measure], measure) for measure in WORDS]
        fits = [f"{line['fits']:,}"] if total > 1 else []
        body_rows.append([safe(line["data"], 60), safe(line["name"], 60), *fits, *cells])
    note = (
        "<p class='quiet'>Means over the fits that did not fail; losses of test rows, log loss in nats. Bias and "
        "variance are Kohavi and Wolpert's plug-in estimates, from two repeats on.</p>"
    )
    return html_table(["data", "recipe", *(["fits"] if total > 1 else []), *WORDS.values()], body_rows) + note


def latex_frame(study: "Study", lines: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return a table of texts: means with standard deviations by data set, then mean ranks and geometric means."""
    cells = [
        {"data": line["data"], "name": line["name"], "text": _plain(line[measure], line.get(f"{measure}_sd"), measure)}
        for line in lines.to_dict("records")
    ]
    sets = list(dict.fromkeys(lines["data"]))
    frame = pd.DataFrame(cells).pivot(index="data", columns="name", values="text").reindex(sets)[list(study.names)]
    frame.index.name = WORDS[measure]
    if len(study.recipes) > 1:
        table = ranks(study, measure, lines)
        frame.loc["mean rank"] = [_plain(value, None, "rank") for value in table["rank"]]
        frame.loc[f"geometric mean over {study.names[0]}"] = [_plain(value, None, "rank") for value in table["ratio"]]
    return frame.reset_index()


def _plain(value: float, spread: float | None, measure: str) -> str:
    if pd.isna(value):
        return "--"
    digits = 2 if measure == "rank" else 4
    return f"{value:.{digits}f}" + ("" if spread is None or pd.isna(spread) else f" ({spread:.{digits}f})")
