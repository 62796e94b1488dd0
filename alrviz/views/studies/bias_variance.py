"""BiasVarianceView: bias, variance and error over a grid of family, order, alpha and training size.

It shows a study of `alrviz.bias_variance` while it computes: lines against one setting of the grid, and below them the
grid, with each cell's error as the sum of bias and variance.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
import panel as pn
import param

from alrviz.errors import plural
from alrviz.pictures import bias_variance as pictures
from alrviz.pictures.bias_variance import AXES, KINDS, LEGEND_WIDTH_PX, share_text, varying
from alrviz.pictures.labels import legend_rows
from alrviz.studies.statistics.verdict import Verdict, first_headline
from alrviz.views.core.live_figure import LiveFigure
from alrviz.views.core.notebook import ViewLayout
from alrviz.views.core.panes import as_high, choice, fade, html, say, stack
from alrviz.views.core.saving import csv_button
from alrviz.views.core.style import CSS, html_table, safe
from alrviz.views.race.texts import number
from alrviz.views.studies.study_view import StudyView

if TYPE_CHECKING:
    from alrviz.studies.core.study import Study

LEGEND_ROW_PX = 26
PARTS = ("bias", "variance", "error")


class BiasVarianceView(StudyView):
    """Live view of bias and variance.

    Args:
        study: result of `alrviz.bias_variance`, run or not.
        height: CSS height of the pictures.
        rerun, wake: see `StudyView`.

    >>> import alrviz
    >>> recipes = [alrviz.Recipe("anje", order=n) for n in (1, 2)]
    >>> study = alrviz.bias_variance(alrviz.load_demo("monks-1"), recipes, rounds=2, n_jobs=1)
    >>> view = alrviz.BiasVarianceView(study.run())
    >>> "Lowest error: anje" in view.sentence.object
    True
    """

    definition = param.Selector(default="plug-in", objects=list(KINDS), doc="Definition of bias and variance.")
    axis = param.Selector(default="order", objects=list(AXES), doc="Setting on the x axis.")

    HEIGHT = "330px"

    def _build(self) -> None:
        self.pictures = {quantity: LiveFigure(f"alrviz-bias-variance-{quantity}") for quantity in PARTS}
        self._grid = html(margin=(8, 0, 8, 0))
        self._grid.stylesheets = [CSS, GRID]
        kind_by_name = {definition.name: kind for kind, definition in KINDS.items()}
        label = "Definition of bias and variance"
        self._kinds = choice(self, "definition", kind_by_name, label, width=640, margin=(0, 16, 4, 0))
        self._axes = choice(self, "axis", _axis_options(list(AXES)), "Along", width=360, margin=(0, 0, 4, 0))
        self.param.watch(lambda _: self.redraw(), ["definition", "axis"])
        controls = pn.FlexBox(self._kinds, self._axes, margin=0)
        picture_panes = [picture.pane for picture in self.pictures.values()]
        self._picture_box = as_high(pn.Row(*picture_panes, sizing_mode="stretch_both", margin=0), self._height, 330)
        self.body, self.aside = stack(controls, self._picture_box), stack()
        contents_text = "with recipes, seed, data hash and version"
        buttons = [
            csv_button("alrviz-bias-variance.csv", self.csv_of_summary, f"the grid, {contents_text}"),
            csv_button("alrviz-bias-variance-fits.csv", self.csv_of_fits, f"all fits, {contents_text}", "CSV of fits"),
        ]
        self._numbers = self._fold_numbers(buttons, self.pictures, lambda _: numbers_html(self.lines, self.definition))
        # The bar is above the grid, because a grid of six recipes would push it out of a low window.
        self.layout = ViewLayout(self.sentence, self.body, self.bar.panel, self._grid, self.aside, self._numbers)

    def refresh(self) -> None:
        """Update everything, including the grid."""
        super().refresh()
        fade(self.outdated, self._grid)

    def show_no_study(self) -> None:
        """Hide the pictures and the grid."""
        super().show_no_study()
        self._grid.visible = False

    def _draw(self, study: "Study") -> None:
        summary = self.lines
        self._grid.visible = True
        self._offer_axes(varying(summary))
        drawn_pictures = pictures.bias_variance(summary, self.axis, self.definition, dark=self.dark)
        # A long legend makes the pictures higher instead of covering them.
        extra_px = LEGEND_ROW_PX * max(0, legend_rows(drawn_pictures["error"].key[0], LEGEND_WIDTH_PX) - 3)
        height_css = f"calc({self._height} + {extra_px}px)"
        self._picture_box.param.update(
            height=330 + extra_px, styles={"height": height_css, "flex": f"0 0 {height_css}"}
        )
        for quantity, picture in drawn_pictures.items():
            self.pictures[quantity].show(picture, subject=study)
        looks = pictures.line_looks(study.recipes, self.dark)
        say(self._grid, grid_html(summary, cell_progress(study), self.definition, looks))
        self.tell_verdict(page_verdict(study, summary, self.definition))

    def _offer_axes(self, axes: list[str]) -> None:
        """Offer these axes: the settings with more than one value in the grid."""
        options = _axis_options(axes or ["order"])
        if self._axes.options != options:
            with param.parameterized.discard_events(self):
                self.axis = self.axis if self.axis in axes else next(iter(options.values()))
            self._axes.param.update(options=options, value=self.axis)
        self._axes.visible = len(axes) > 1


def _axis_options(axes: list[str]) -> dict[str, str]:
    text_by_axis = {"order": "order", "alpha": "alpha", "train_share": "training size"}
    return {text_by_axis[axis]: axis for axis in axes}


# ---- texts as HTML; all names are escaped ----------------------------------------------------------------------------

GRID = """
.grid td { width: 1%; padding-right: .8em; text-align: left; white-space: nowrap; }
.grid th { text-align: left; }
.sum { position: relative; height: 10px; min-width: 130px; margin: 3px 0; border-radius: 3px;
  background: var(--alrviz-line, rgba(128,128,128,.3)); overflow: hidden; }
.sum b { position: absolute; top: 0; height: 10px; background: var(--alrviz-quiet, #777); }
"""


@dataclass(frozen=True, slots=True)
class CellProgress:
    """Progress of a cell of the grid: fits done, in all (`total`) and failed, and the reason of the latest failure."""

    n_done: int
    total: int
    failed: int = 0
    reason: str = ""


def cell_progress(study: "Study") -> dict[tuple[int, float], CellProgress]:
    """Return the progress of each cell of the grid, by racer and share of the training rows."""
    n_fits_by_cell = Counter((task.racer, task.split.share) for task in study.tasks)
    progress_by_cell = {cell_key: CellProgress(0, n_fits) for cell_key, n_fits in n_fits_by_cell.items()}
    for task, result in study.results():
        cell_key = (task.racer, task.split.share)
        cell = progress_by_cell[cell_key]
        reason = str(result.rows[0]["sentence"]) if result.failed else cell.reason
        progress_by_cell[cell_key] = CellProgress(cell.n_done + 1, cell.total, cell.failed + result.failed, reason)
    return progress_by_cell


def grid_html(
    table: pd.DataFrame,
    cells: Mapping[tuple[int, float], CellProgress],
    kind: str,
    looks: Sequence[tuple[str, str]],
) -> str:
    """Return the grid: a row per model, a column per training size, in each cell bias + variance = error.

    table: the study's summary; cells: the progress by racer and training share; kind: of decomposition (KINDS); looks:
    colour and marker of each racer (`line_looks`).
    """
    definition = KINDS[kind]
    train_shares = sorted(table["train_share"].unique())
    max_value = float(table[["error", definition.bias]].max().max())
    body_rows = []
    rows_by_racer: dict[int, dict[float, Mapping[Any, Any]]] = {}
    for summary_row in table.to_dict("records"):  # only once, because drawing a large grid delays the Stop button
        rows_by_racer.setdefault(int(summary_row["racer"]), {})[summary_row["train_share"]] = summary_row
    for racer, row_by_share in sorted(rows_by_racer.items()):
        colour, sign = looks[racer]
        row_cells = [
            _grid_cell(row_by_share[size], cells[racer, size], kind, max_value, colour) for size in train_shares
        ]
        mark_html = f"<span style='color:{colour}' aria-hidden='true'>{sign}</span>"
        body_rows.append([f"{mark_html} {safe(row_by_share[train_shares[0]]['name'], 60)}", *row_cells])
    sum_text = f"{definition.bias_words} (solid) + {definition.variance_words} (light) = error"
    note = f"<p class='quiet'>Bars in the table: {sum_text}. Whiskers in the plots: ± one standard error.</p>"
    return note + html_table(["model", *map(share_text, train_shares)], body_rows, "scroll grid")


def _grid_cell(summary_row: Mapping[Any, Any], progress: CellProgress, kind: str, max_value: float, colour: str) -> str:
    """Return a cell of the grid as HTML: bias + variance = error, or the progress.

    summary_row: its figures; kind: of decomposition (KINDS); max_value: of a full bar; colour: of the bar.
    """
    definition = KINDS[kind]
    bias, variance, error = summary_row[definition.bias], summary_row[definition.variance], summary_row["error"]
    if pd.isna(error):
        figures_html, bar_html = (
            "",
            f"<div class='sum'><b style='width:{100 * progress.n_done / progress.total:.0f}%'></b></div>",
        )
    else:
        standard_error = summary_row["error_se"]
        error_text = "" if pd.isna(standard_error) else f" ± {standard_error:.3f}"
        plus_or_minus = "+" if variance >= 0 else "&minus;"
        figures_html = f"{bias:.3f} {plus_or_minus} {abs(variance):.3f} = <b>{error:.3f}</b>{error_text}"
        bar_html = _bar_html(bias, error, max_value, colour)
    n_missing = progress.total - progress.n_done
    progress_notes = [f"{progress.n_done} of {progress.total} fits"] if n_missing or pd.isna(error) else []
    if progress.failed:
        progress_notes.append(f"<abbr class='bad' title='{safe(progress.reason)}'>{progress.failed} failed</abbr>")
    return f"<td>{bar_html}{' · '.join([figures_html, *progress_notes] if figures_html else progress_notes)}</td>"


def _bar_html(bias: float, error: float, max_value: float, colour: str) -> str:
    """Return a bar: solid up to the smaller of bias and error, pale from there to the larger one.

    max_value: of a full bar; colour: of both parts.
    """
    percent_per_unit = 100 / (max_value or 1.0)
    start, upper_width = max(min(bias, error), 0.0) * percent_per_unit, max(bias, error, 0.0) * percent_per_unit
    solid_html = f"<b style='left:0; width:{start:.1f}%; background:{colour}'></b>"
    pale_html = f"<b style='left:{start:.1f}%; width:{upper_width - start:.1f}%; background:{colour}; opacity:.45'></b>"
    return f"<div class='sum' aria-hidden='true'>{solid_html}{pale_html}</div>"


def numbers_html(table: pd.DataFrame, kind: str) -> str:
    """Return the table of cells, with the rounding error of bias + variance = error in the last column.

    table: the study's summary; kind: of decomposition (KINDS).
    """
    definition = KINDS[kind]
    extra_columns = [("variance", "variance_domingos")] if kind == "Domingos" else []
    error_parts = [
        (definition.on_axis(definition.bias_words), definition.bias),
        (definition.on_axis(definition.variance_words), definition.variance),
    ]
    columns = [*error_parts, ("error", "error"), *extra_columns]
    column_titles = ["model", "training size", "rounds"]
    column_titles += [title for text, _ in columns for title in (text, "± <abbr title='standard error'>se</abbr>")]
    body_rows = []
    for summary_row in table.to_dict("records"):
        cells = [safe(summary_row["name"], 60), f"{100 * summary_row['train_share']:g} %", f"{summary_row['rounds']:,}"]
        for _, column in columns:
            cells += [number(summary_row[column], 5), number(summary_row[f"{column}_se"], 5)]
        miss = summary_row[definition.bias] + summary_row[definition.variance] - summary_row["error"]
        cells.append("&ndash;" if pd.isna(miss) else f"{miss:.0e}" if abs(miss) > 1e-15 else "0")
        body_rows.append(cells)
    note = (
        f"<p class='quiet'>{definition.definition}: {definition.bias_words} + {definition.variance_words} = error in "
        "every line, up to rounding of floating point; ± one standard error by the jackknife over the rounds, from "
        "three rounds on.</p>"
    )
    return html_table([*column_titles, "sum &minus; error"], body_rows) + note


def page_verdict(study: "Study", table: pd.DataFrame, kind: str) -> Verdict:
    """Return the model with the lowest error and how it splits, or before the run what Run will compute.

    table: the study's summary; kind: of decomposition (KINDS).
    """
    n_train_shares = table["train_share"].nunique()
    if study.phase == "waiting":
        n_fits, n_folds = len(study.tasks) // max(len(table), 1), max(task.split.folds for task in study.tasks)
        part_text = "half" if n_folds == 2 else f"{100 * (1 - 1 / n_folds):g} %"
        rows_text = f"{part_text} of {study.dataset.n_rows:,} rows"
        return Verdict(
            f"Press Run: {plural(len(study.recipes), 'model')}, {n_fits} fits each on {rows_text}.",
            f"At {n_train_shares} training sizes." if n_train_shares > 1 else "",
        )
    complete_rows = table[table["error"].notna()]
    if not len(complete_rows):
        return Verdict("No model has two complete rounds yet; variance needs two.")
    row, definition = complete_rows.loc[complete_rows["error"].idxmin()], KINDS[kind]
    bias_text = f"{definition.bias_words} {row[definition.bias]:.3f}"
    lowest_text = f"{row['error']:.3f} = {bias_text} + {definition.variance_words} {row[definition.variance]:.3f}"
    details = [f"{definition.definition}."]
    if study.phase != "done":
        details.append(f"So far, after {study.progress.n_done:,} of {len(study.tasks):,} fits.")
    if n_train_shares > 1:
        details.append(f"It is trained on {share_text(row['train_share'])}.")
    return Verdict(
        first_headline(
            f"Lowest error: {row['name']}, {lowest_text}.", f"Lowest error: {row['label']}, {lowest_text}.",
            f"Lowest error: {row['error']:.3f}.",
        ), " ".join(details)
    )  # fmt: skip
