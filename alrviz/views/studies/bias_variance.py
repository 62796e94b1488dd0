"""BiasVarianceView: bias, variance and error over a grid of family, order, alpha and training size.

It shows a study of `alrviz.bias_variance` while it computes: lines against one setting of the grid, and below them the
grid, with each cell's error as the sum of bias and variance.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
import panel as pn
import param

from alrviz.pictures import bias_variance as pictures
from alrviz.pictures.bias_variance import AXES, KINDS, LEGEND_WIDTH_PX, share_text, varying
from alrviz.pictures.labels import legend_rows
from alrviz.pictures.palette import family_colour
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
        self.pictures = {part: LiveFigure(f"alrviz-bias-variance-{part}") for part in PARTS}
        self._grid = html(margin=(8, 0, 8, 0))
        self._grid.stylesheets = [CSS, GRID]
        kinds = {definition.name: kind for kind, definition in KINDS.items()}
        label = "Definition of bias and variance"
        self._kinds = choice(self, "definition", kinds, label, width=640, margin=(0, 16, 4, 0))
        self._axes = choice(self, "axis", _axis_options(list(AXES)), "Along", width=360, margin=(0, 0, 4, 0))
        self.param.watch(lambda _: self.redraw(), ["definition", "axis"])
        controls = pn.FlexBox(self._kinds, self._axes, margin=0)
        panes = [picture.pane for picture in self.pictures.values()]
        self._picture_box = as_high(pn.Row(*panes, sizing_mode="stretch_both", margin=0), self._height, 330)
        self.body, self.aside = stack(controls, self._picture_box), stack()
        contents_text = "with recipes, seed, data hash and version"
        files = [
            csv_button("alrviz-bias-variance.csv", self.csv_of_summary, f"the grid, {contents_text}"),
            csv_button("alrviz-bias-variance-fits.csv", self.csv_of_fits, f"all fits, {contents_text}", "CSV of fits"),
        ]
        self._numbers = self._fold_numbers(files, self.pictures, lambda _: numbers_html(self.lines, self.definition))
        # The bar is above the grid, because a grid of six recipes would push it out of a low window.
        self.layout = ViewLayout(self.sentence, self.body, self.bar.panel, self._grid, self.aside, self._numbers)

    def refresh(self) -> None:
        """Update everything, including the grid."""
        super().refresh()
        fade(self.outdated, self._grid)

    def _empty(self) -> None:
        super()._empty()
        self._grid.visible = False

    def _draw(self, study: "Study") -> None:
        table = self.lines
        self._grid.visible = True
        self._offer(varying(table))
        drawn_pictures = pictures.bias_variance(table, self.axis, self.definition, dark=self.dark)
        # A long legend makes the pictures higher instead of covering them.
        extra_px = LEGEND_ROW_PX * max(0, legend_rows(drawn_pictures["error"].key[0], LEGEND_WIDTH_PX) - 3)
        height_css = f"calc({self._height} + {extra_px}px)"
        self._picture_box.param.update(
            height=330 + extra_px, styles={"height": height_css, "flex": f"0 0 {height_css}"}
        )
        for part, picture in drawn_pictures.items():
            self.pictures[part].show(picture, subject=study)
        say(self._grid, grid_html(table, cell_progress(study), self.definition))
        self.tell(sentence_html(study, table, self.definition))

    def _offer(self, axes: list[str]) -> None:
        """Offer the settings with more than one value in the grid."""
        options = _axis_options(axes or ["order"])
        if self._axes.options != options:
            with param.parameterized.discard_events(self):
                self.axis = self.axis if self.axis in axes else next(iter(options.values()))
            self._axes.param.update(options=options, value=self.axis)
        self._axes.visible = len(axes) > 1


def _axis_options(axes: list[str]) -> dict[str, str]:
    words = {"order": "order", "alpha": "alpha", "train_share": "training size"}
    return {words[axis]: axis for axis in axes}


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
    """Progress of a cell of the grid: numbers of fits, and the reason of the latest failure."""

    done: int
    total: int
    failed: int = 0
    reason: str = ""


def cell_progress(study: "Study") -> dict[tuple[int, float], CellProgress]:
    """Return the progress of each cell of the grid, by racer and share of the training rows."""
    total = Counter((task.racer, task.split.share) for task in study.tasks)
    cells = {key: CellProgress(0, count) for key, count in total.items()}
    for task, result in study.results():
        key = (task.racer, task.split.share)
        previous = cells[key]
        reason = str(result.rows[0]["sentence"]) if result.failed else previous.reason
        cells[key] = CellProgress(previous.done + 1, previous.total, previous.failed + result.failed, reason)
    return cells


def grid_html(table: pd.DataFrame, cells: Mapping[tuple[int, float], CellProgress], kind: str) -> str:
    """Return the grid: a row per recipe, a column per training size, in each cell bias + variance = error."""
    definition = KINDS[kind]
    shares = sorted(table["train_share"].unique())
    max_value = float(table[["error", definition.bias]].max().max())
    body_rows = []
    lines_by_racer: dict[int, dict[float, Mapping[Any, Any]]] = {}
    for line in table.to_dict("records"):  # only once, because drawing a large grid delays the Stop button
        lines_by_racer.setdefault(int(line["racer"]), {})[line["train_share"]] = line
    for racer, by_share in sorted(lines_by_racer.items()):
        row_cells = [_cell(by_share[share], cells[racer, share], kind, max_value) for share in shares]
        first = by_share[shares[0]]
        dot_html = f"<span style='color:{family_colour(str(first['label']))}' aria-hidden='true'>●</span>"
        body_rows.append([f"{dot_html} {safe(first['name'], 60)}", *row_cells])
    note = f"<p class='quiet'>{definition.bias_words} (solid) + {definition.variance_words} (light) = error</p>"
    return note + html_table(["model", *map(share_text, shares)], body_rows, "scroll grid")


def _cell(line: Mapping[Any, Any], progress: CellProgress, kind: str, max_value: float) -> str:
    definition = KINDS[kind]
    bias, variance, error = line[definition.bias], line[definition.variance], line["error"]
    if pd.isna(error):
        words, bar_html = (
            "",
            f"<div class='sum'><b style='width:{100 * progress.done / progress.total:.0f}%'></b></div>",
        )
    else:
        spread = line["error_se"]
        error_text = "" if pd.isna(spread) else f" ± {spread:.3f}"
        sign = "+" if variance >= 0 else "&minus;"
        words = f"{bias:.3f} {sign} {abs(variance):.3f} = <b>{error:.3f}</b>{error_text}"
        bar_html = _bar(bias, error, max_value, family_colour(str(line["label"])))
    missing = progress.total - progress.done
    notes = [f"{progress.done} of {progress.total} fits"] if missing or pd.isna(error) else []
    if progress.failed:
        notes.append(f"<abbr class='bad' title='{safe(progress.reason)}'>{progress.failed} failed</abbr>")
    return f"<td>{bar_html}{' · '.join([words, *notes] if words else notes)}</td>"


def _bar(bias: float, error: float, max_value: float, colour: str) -> str:
    """Return a bar: solid up to the smaller of bias and error, pale from there to the larger one."""
    scale = 100 / (max_value or 1.0)
    low, high = max(min(bias, error), 0.0) * scale, max(bias, error, 0.0) * scale
    solid_html = f"<b style='left:0; width:{low:.1f}%; background:{colour}'></b>"
    pale_html = f"<b style='left:{low:.1f}%; width:{high - low:.1f}%; background:{colour}; opacity:.45'></b>"
    return f"<div class='sum' aria-hidden='true'>{solid_html}{pale_html}</div>"


def numbers_html(table: pd.DataFrame, kind: str) -> str:
    """Return the table of cells, with the rounding error of bias + variance = error in the last column."""
    definition = KINDS[kind]
    extra = [("variance", "variance_domingos")] if kind == "Domingos" else []
    parts = [
        (definition.on_axis(definition.bias_words), definition.bias),
        (definition.on_axis(definition.variance_words), definition.variance),
    ]
    columns = [*parts, ("error", "error"), *extra]
    heads = ["model", "training size", "rounds"]
    heads += [title for words, _ in columns for title in (words, "± <abbr title='standard error'>se</abbr>")]
    body_rows = []
    for line in table.to_dict("records"):
        cells = [safe(line["name"], 60), f"{100 * line['train_share']:g} %", f"{line['rounds']:,}"]
        for _, column in columns:
            cells += [number(line[column], 5), number(line[f"{column}_se"], 5)]
        miss = line[definition.bias] + line[definition.variance] - line["error"]
        cells.append("&ndash;" if pd.isna(miss) else f"{miss:.0e}" if abs(miss) > 1e-15 else "0")
        body_rows.append(cells)
    note = (
        f"<p class='quiet'>{definition.name}: {definition.bias_words} + {definition.variance_words} = error in every "
        "line, up to rounding of "
        "floating point; ± one standard error by the jackknife over the rounds, from three rounds on.</p>"
    )
    return html_table([*heads, "sum &minus; error"], body_rows) + note


def sentence_html(study: "Study", table: pd.DataFrame, kind: str) -> str:
    """Return the recipe with the lowest error, or before the run what Run will compute."""
    sizes = table["train_share"].nunique()
    if study.phase == "waiting":
        size_text = f" at {sizes} training sizes" if sizes > 1 else ""
        fits_text = f"{len(study.tasks) // max(len(table), 1)} fits each, on parts of {study.dataset.n_rows:,} rows"
        return f"<span class='quiet'>Press Run: {len(study.recipes)} recipes{size_text}, {fits_text}.</span>"
    complete = table[table["error"].notna()]
    if not len(complete):
        return "<span class='quiet'>No recipe has two complete rounds yet; variance needs two.</span>"
    best = complete.loc[complete["error"].idxmin()]
    definition = KINDS[kind]
    size_text = f" at {share_text(best['train_share'])}" if sizes > 1 else ""
    progress_text = f"So far, with {study.progress.done:,} of {len(study.tasks):,} fits:"
    so_far_html = "" if study.phase == "done" else f"<span class='quiet'>{progress_text}</span> "
    variance = f"{best[definition.variance]:.3f}".replace("-", "&minus;")
    parts = f"{definition.bias_words} {best[definition.bias]:.3f} + {definition.variance_words} {variance}"
    form_text = f" ({definition.form})" if definition.form else ""
    return f"{so_far_html}Lowest error: {safe(best['name'], 60)}{size_text}, {best['error']:.3f} = {parts}{form_text}."
