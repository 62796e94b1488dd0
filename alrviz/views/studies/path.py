"""PathView: from generative to discriminative models: losses and weights along alpha.

It shows a study of `alrviz.alpha_path` while it computes. A slider chooses an alpha, at which a model is fitted: at
once on small tables, at the press of a button on large ones.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param
from param.parameterized import Event

from alrviz.errors import plural
from alrviz.fitting.families.shared_params import center_name
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers.step import FAILED, STEP_LIMIT
from alrviz.pictures import path as pictures
from alrviz.pictures.formatting import LOSSES, seconds_text
from alrviz.pictures.palette import racer_colours
from alrviz.pictures.path import LABEL_WIDTH_SHARE, LEFT_GAP_SHARE, LEFT_MARGIN_PX, RIGHT_MARGIN_PX, Named
from alrviz.studies.protocols.alpha_path_verdict import (
    WORDS,
    AlphaPathVerdict,
    alpha_text,
    generative_name,
    path_names,
    path_verdict,
    paths_of,
    verdicts_on,
)
from alrviz.studies.statistics.verdict import Verdict
from alrviz.views.core.live_figure import LiveFigure, NumberAxes
from alrviz.views.core.notebook import ViewLayout
from alrviz.views.core.panes import Updating, as_high, choice, html, say, side_by_side, stack
from alrviz.views.core.saving import csv_button, file_button
from alrviz.views.core.style import ICONS, html_table, safe
from alrviz.views.core.transport import change, live_slider
from alrviz.views.race.texts import number
from alrviz.views.replay.export_html import replay
from alrviz.views.studies.path_follower import PathFollower
from alrviz.views.studies.study_view import StudyView

if TYPE_CHECKING:
    from alrviz.studies.core.study import Study

HEIGHTS = ("304px", "196px")  # of losses and weights
MAIN_WIDTH_PX = 440  # minimum width of the losses
SIDE_WIDTH_PX = 352  # width of the weights and the table of the fit
_THUMB_RADIUS_PX = 6  # the slider's thumb extends beyond its rail
MAX_WAIT_SECONDS = 0.03  # most fits of small tables are done by then, so that the picture follows without delay
_LEGEND = (
    "<span class='quiet'><b aria-hidden='true'>—</b> training &nbsp;<b aria-hidden='true'>- -</b> test "
    "&nbsp;<b aria-hidden='true'>○</b> lowest &nbsp;<b aria-hidden='true'>◇</b> at the slider</span>"
)


class PathView(StudyView):
    """Live view of paths along alpha.

    Args:
        study: result of `alrviz.alpha_path`, run or not.
        heights: CSS heights of the pictures of losses and weights.
        rerun, wake: see `StudyView`.

    >>> import alrviz
    >>> recipe = alrviz.Recipe("alr", order=1, center="anje")
    >>> view = alrviz.PathView(alrviz.alpha_path(alrviz.load_demo("led", 500), [recipe], n_jobs=1).run())
    >>> [one.place for one in view.readings]
    ['generative']
    """

    measure = param.Selector(default="log_loss", objects=list(LOSSES), doc="Loss of a test row.")
    alpha = param.Number(default=None, allow_None=True, doc="Alpha of the slider; None for the middle.")
    path = param.Integer(default=0, bounds=(0, None), doc="Number of the path whose weights and fits are shown.")

    SENTENCE = (52, 4)

    def __init__(self, study: "Study | None" = None, *, heights: tuple[str, str] = HEIGHTS, **params: Any):
        self.readings: list[AlphaPathVerdict] = []  # for the current measure
        self._offering = Updating()
        self._recipes: list[Recipe] = []  # of the paths
        self.follower = PathFollower()
        super().__init__(study, height=heights, **params)

    # -- building ------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.losses = LiveFigure("alrviz-path", on_resize=self.redraw)
        self.weights = LiveFigure("alrviz-path-weights")
        self.body = side_by_side(
            self._loss_column(), self._weight_column(), MAIN_WIDTH_PX, SIDE_WIDTH_PX, margin=(0, 0, 6, 0)
        )
        contents_text = "every fit of every path, with recipes, seed, data hash and version"
        buttons = [
            csv_button("alrviz-path.csv", self.csv_of_fits, contents_text),
            file_button("alrviz-path.html", self.replay_page, "one page that plays the paths", "Replay (HTML)"),
        ]
        self._numbers = self._fold_numbers(
            buttons, {"losses": self.losses, "weights": self.weights}, lambda study: numbers_html(study, self.lines)
        )
        self.layout = ViewLayout(self.sentence, self.body, self.bar.panel, self._numbers)
        self.param.watch(lambda _: self.redraw(), "measure")
        self.param.watch(lambda _: self._show_path(), "path")
        self.param.watch(lambda _: self._alpha_changed(), "alpha")

    def _loss_column(self) -> pn.Column:
        """Return the picture of losses with the measure above and the slider below, aligned with the x axis."""
        name_by_text = {text: name for name, text in WORDS.items()}
        self._measures = choice(self, "measure", name_by_text, "Measure", width=290, margin=(0, 16, 0, 0))
        legend = html(sizing_mode=None, align="center", margin=0)
        say(legend, _LEGEND)
        self.slider = AlphaSlider(lambda alpha: self.param.update(alpha=alpha))
        axis_width = f"(100% - {LEFT_MARGIN_PX + RIGHT_MARGIN_PX}px)"
        slider_styles = {
            "padding-left": f"calc({LEFT_MARGIN_PX - _THUMB_RADIUS_PX}px + {axis_width} * {LEFT_GAP_SHARE})",
            "width": f"calc({LEFT_MARGIN_PX + _THUMB_RADIUS_PX}px + {axis_width} * {1 - LABEL_WIDTH_SHARE})",
        }
        return stack(
            pn.FlexBox(self._measures, legend, margin=(0, 0, 2, 0)),
            as_high(self.losses.pane, self._height[0], 304),
            pn.Column(self.slider.panel, styles=slider_styles, margin=0),
        )

    def _weight_column(self) -> pn.Column:
        """Return the picture of weights with the menu of paths, and the table of the fit at the slider's alpha."""
        self._paths = pmui.Select(label="Weights of", options={}, size="small", width=180, margin=(0, 8, 0, 0))
        self._paths.link(self, value="path", bidirectional=True)
        self.fit_here = pmui.Button(
            label="Fit here", icon="my_location", variant="outlined", size="small", margin=0, align="center",
            description="Fit here: a model at the alpha of the slider", stylesheets=[ICONS],
        )  # fmt: skip
        self.fit_here.on_click(lambda _: self._press_fit())
        self.fit_text = html(margin=(4, 0, 0, 0))
        return pn.Column(
            pn.Row(self._paths, self.fit_here, margin=0), as_high(self.weights.pane, self._height[1], 196),
            self.fit_text, width=SIDE_WIDTH_PX, margin=0,
        )  # fmt: skip

    # -- the study -----------------------------------------------------------------------------------------------------

    def show_no_study(self) -> None:
        """Hide the pictures and forget the paths."""
        super().show_no_study()
        self.readings = []
        self.follower.forget()

    @property
    def axes(self) -> NumberAxes:
        """Columns on the axes of the picture of losses."""
        return NumberAxes(self.losses, "alpha", (self.measure,))

    def _draw(self, study: "Study") -> None:
        self.follower.set_study(study)
        self._recipes = paths_of(study)
        self._offer_paths(study)
        self.readings = verdicts_on(study, self.measure)
        alpha_by_racer = {verdict.racer: verdict.alpha for verdict in self.readings}
        paths, references = lines_of_study(study)
        self.losses.show(
            pictures.losses(self.lines, paths, references, alphas_of(study), self.measure, alpha_by_racer,
                dark=self.dark,
                         **({} if self.losses.size is None else {"width": self.losses.size[0]})),
            subject=study,
        )  # fmt: skip
        self.tell_verdict(verdict_so_far(study, path_verdict(study, self.measure)), failure_html(study))
        self._show_path()

    def _offer_paths(self, study: "Study") -> None:
        """Update the menu of paths and the slider of alphas to those of the study."""
        path_by_name = {name: k for k, name in enumerate(path_names(study))}
        with self._offering:
            if self.path >= len(path_by_name):
                self.path = 0
            if self._paths.options != path_by_name:
                self._paths.param.update(options=path_by_name, value=self.path, visible=len(path_by_name) > 1)
        self.slider.offer(alphas_of(study), self.current_alpha)

    @property
    def current_alpha(self) -> float:
        """Alpha of the slider."""
        alphas = alphas_of(self.study) if self.study is not None else [1.0]
        return alphas[len(alphas) // 2] if self.alpha is None else float(self.alpha)

    @property
    def _shown_path(self) -> int:
        """Number of the path shown, at most the last of the study."""
        return min(self.path, len(self._recipes) - 1)

    # -- the fit at one alpha ------------------------------------------------------------------------------------------

    def _alpha_changed(self) -> None:
        """Called when alpha changes: move the slider, and fit there if that is quick."""
        if self.study is None:
            return
        self.slider.place(self.current_alpha)
        if self.follower.is_quick_path(self._shown_path):
            self.follower.request(self._shown_path, self.current_alpha)
            self.follower.wait(MAX_WAIT_SECONDS)
        self._show_fit()
        self._wake()

    def _press_fit(self) -> None:
        """Start a fit at the slider's alpha, or cancel the one under way."""
        if self.study is None:
            return
        if self.follower.busy:
            self.follower.cancel()
        else:
            self.follower.request(self._shown_path, self.current_alpha)
        self._show_fit()
        self._wake()

    def press_stop(self) -> None:
        """Stop the study and the fit under way."""
        self.follower.cancel()
        super().press_stop()

    def pump(self) -> bool:
        """Show new results of the study and the fit; return whether there may be more."""
        moving = super().pump()
        if self.follower.poll():
            self._show_fit()
        return moving or self.follower.busy

    def settle(self) -> None:
        """Show everything computed so far, and wait for the fit at the slider's alpha."""
        super().settle()
        while self.follower.busy:
            self.follower.wait(1.0)
        self._show_fit()

    def _show_path(self) -> None:
        """Draw the weights of the chosen path."""
        if self.study is None or self.lines is None or self.losses.picture is None or self._offering:
            return
        key = self.losses.picture.key
        center = center_name(self.study.recipes[self._shown_path].params["center"])
        spread = pictures.spread(self.lines, self._shown_path, alphas_of(self.study), self._colour, key, center=center)
        self.weights.show(spread, self.study)
        if self.follower.is_quick_path(self._shown_path) and self.row() is None:
            self.follower.request(self._shown_path, self.current_alpha)
            self._wake()
        self._show_fit()

    @property
    def _colour(self) -> str:
        labels = [recipe.label for recipe in self._recipes]
        return racer_colours(labels, self.dark)[self._shown_path]

    def row(self) -> dict[str, Any] | None:
        """Return the results at the slider's alpha: of the fit there, else of the study, else None."""
        fit = self.follower.row(self._shown_path, self.current_alpha)
        summary_rows = self.lines
        if fit is None and summary_rows is not None and "alpha" in summary_rows and "away_50" in summary_rows:
            rows = summary_rows[(summary_rows.racer == self._shown_path) & (summary_rows.alpha == self.current_alpha)]
            fit = None if not len(rows) else rows.iloc[0].to_dict()
        return fit

    def _show_fit(self) -> None:
        """Show the results at the slider's alpha."""
        losses, weights = self.losses.plot, self.weights.plot
        if losses is None or weights is None or self.study is None:
            return
        row, follower = self.row(), self.follower
        with pn.io.hold():
            y_range = pictures.point_at(
                losses, self.current_alpha, row, follower.rows(self._shown_path), self.measure, self._colour
            )
            if y_range is not None:
                self.losses.fit(y_range)
            pictures.spread_at(weights, self.current_alpha, row)
            self.slider.set_label(self.current_alpha)
            say(self.fit_text, fitted_html(row, follower, self._shown_path, self.current_alpha))
            is_quick_fit = follower.is_quick_path(self._shown_path)
            label = "Give up" if follower.busy else "Fit here"
            description = f"{label}: {'the fit under way' if follower.busy else 'a model at the alpha of the slider'}"
            change(self.fit_here, visible=not is_quick_fit, label=label, description=description)

    def replay_page(self) -> bytes:
        """Return the replay of the paths; empty before the first verdict."""
        return replay(self.study).encode() if self.readings else b""


def lines_of_study(study: "Study") -> tuple[list[Named], list[Named]]:
    """Return the paths of a study and its reference models, as named lines of the pictures."""
    names = path_names(study)
    paths = [
        Named(
            name,
            study.recipes[recipe_index].label,
            recipe_index,
            name.partition(" toward ")[0] if len(names) == 1 else "",
        )
        for recipe_index, name in enumerate(names)
    ]
    orders = {recipe.params["order"] for recipe in study.recipes}
    references = []
    for recipe_index in range(len(names), len(study.recipes)):
        recipe = study.recipes[recipe_index]
        is_searched = recipe.solver != "none"
        model_text = f"{recipe.family}, no penalty" if is_searched else generative_name(recipe)
        order_text = f" n={recipe.params['order']}" if len(orders) > 1 else ""
        short_text = f"{recipe.family} \N{GREEK SMALL LETTER ALPHA}=0{order_text}" if is_searched else ""
        references.append(Named(model_text + order_text, recipe.label, recipe_index, short_text))
    return paths, references


def alphas_of(study: "Study") -> list[float]:
    """Return the alphas of a study in decreasing order."""
    return [float(alpha) for alpha in json.loads(study.spec)["alphas"]]


STEPS_PER_INTERVAL = 4  # steps of the slider from one alpha of a path to the next


class AlphaSlider:
    """Slider of alphas; `panel` is the widget.

    Args:
        on_move: called with the alpha that the reader chose.
    """

    def __init__(self, on_move: Callable[[float], None]):
        self._on_move, self._placing = on_move, Updating()
        self.panel = live_slider(pmui.DiscreteSlider, self._slider_moved, label="alpha", options={"1": 1.0}, value=1.0)

    def offer(self, alphas: Sequence[float], alpha: float) -> None:
        """Offer the alphas of a path and steps between them."""
        options = {alpha_text(step): step for step in finer(alphas)}
        with self._placing:
            if self.panel.options != options:
                # The browser stores the value as an index of the options, and an unchanged value would not be sent.
                self.panel.param.update(options=options, value=next(iter(options.values())))
        self.place(alpha)

    def place(self, alpha: float) -> None:
        """Move to the step nearest to an alpha."""
        with self._placing:
            change(self.panel, value=nearest(list(self.panel.options.values()), alpha))

    def set_label(self, alpha: float) -> None:
        """Show an alpha in the label."""
        change(self.panel, label=f"alpha = {alpha_text(alpha)}")

    def _slider_moved(self, event: Event) -> None:
        if not self._placing and event.new is not None:
            self._on_move(float(event.new))


def finer(alphas: Sequence[float]) -> list[float]:
    """Return the steps of a slider: the path's alphas and steps between them.

    >>> finer([100.0, 1.0])
    [100.0, 31.6, 10.0, 3.16, 1.0]
    """
    all_steps = [
        float(f"{higher_alpha * (lower_alpha / higher_alpha) ** (k / STEPS_PER_INTERVAL):.3g}")
        for higher_alpha, lower_alpha in pairwise(alphas)
        for k in range(STEPS_PER_INTERVAL)
    ]
    return list(dict.fromkeys([*all_steps, alphas[-1]]))


def nearest(steps: Sequence[float], alpha: float) -> float:
    """Return the step nearest to an alpha by ratio."""
    return min(steps, key=lambda step: max(step / alpha, alpha / step))


# ---- texts as HTML; all names are escaped ----------------------------------------------------------------------------


def verdict_so_far(study: "Study", verdict: Verdict | None) -> Verdict:
    """Return what Run will compute before the run; then the verdict, and how many paths it is based on."""
    paths, frame = paths_of(study), study.frame()
    if study.phase == "waiting" and not study.progress.n_done:
        centers = {center_name(recipe.params["center"]) for recipe in paths}
        center = centers.pop() if len(centers) == 1 else ""
        start_text = "naive Bayes (AnJE)" if center == "AnJE" else center
        left_text = "a generative model, which only counts" if center == "AnJE" else f"all weights are {center}"
        return Verdict(
            f"Press Run: fits from a strong to a weak pull{f' toward {start_text}' if center else ''}.",
            f"{f'Left end: {left_text}. ' if center else ''}Right end: logistic regression without a penalty. "
            f"All fits use the same split of {study.dataset.n_rows:,} rows.",
        )
    if verdict is None:
        return Verdict("No curve is complete yet.")
    n_complete = 0 if "away_50" not in frame else frame[frame.away_50.notna()].racer.nunique()
    if n_complete < len(paths):
        return replace(verdict, detail=f"After {n_complete} of {plural(len(paths), 'curve')}. {verdict.detail}")
    return verdict


def failure_html(study: "Study") -> str:
    """Return the first failure as HTML; "" without any."""
    frame = study.frame()
    if "sentence" not in frame or not study.progress.failed:
        return ""
    return f"<p class='bad'>Failed: {safe(frame[frame.outcome == FAILED].sentence.iloc[0], 200)}.</p>"


def fitted_html(row: dict[str, Any] | None, follower: PathFollower, path: int, alpha: float) -> str:
    """Return the table of losses at an alpha of a path, or why there is none yet.

    row: the figures of the fit; None without one.
    """
    title = f"<p><b>At alpha {alpha_text(alpha)}</b> {_origin_text(row, follower)}</p>"
    if row is None:
        if follower.error is not None:
            return f"{title}<p class='bad'>{safe(follower.error, 300)}</p>"
        if not follower.busy and not follower.is_quick_path(path):
            return f"{title}<p class='quiet'>Fitting this table takes a while: press Fit here.</p>"
    table_rows = []
    for name, title_text in WORDS.items():
        value_cells = [number(float("nan") if row is None else float(row[key])) for key in (f"train_{name}", name)]
        table_rows.append([title_text, *value_cells])
    return title + html_table(("measure", "training", "test"), table_rows)


def _origin_text(row: dict[str, Any] | None, follower: PathFollower) -> str:
    if row is None:
        return "<span class='quiet'>fitting …</span>" if follower.busy else ""
    if "racer" in row:
        return "<span class='quiet'>of the path</span>"
    iterations_text = plural(row["n_iter"], "iteration")
    return f"<span class='quiet'>fitted in {iterations_text}, {seconds_text(row['train_seconds'])}</span>"


_COLUMNS = {
    "log_loss": "log loss", "rmse": "RMSE", "error": "0-1 loss", "train_log_loss": "training log loss",
    "train_rmse": "RMSE", "train_error": "0-1 loss", "away_5": "5 % of weights", "away_50": "middle", "away_95": "95 %",
}  # fmt: skip


def numbers_html(study: "Study", lines: pd.DataFrame) -> str:
    """Return the table of all fits of the paths and of the reference models; lines: the study's summary."""
    if not len(lines) or "log_loss" not in lines:
        return "<p class='quiet'>Nothing is complete yet.</p>"
    paths, references = lines_of_study(study)
    name_by_racer = {model.racer: model.name for model in (*paths, *references)}
    outcome_by_racer = {row["racer"]: row["outcome"] for row in study.frame().to_dict("records")}
    body_rows = []
    for summary_row in lines.sort_values(["racer", "alpha"], ascending=[True, False]).to_dict("records"):
        racer, alpha, note = summary_row["racer"], f"{summary_row['alpha']:g}", ""
        if racer >= len(paths):
            alpha = "&ndash;" if study.recipes[racer].solver == "none" else "0"
            note = " (at its iteration limit)" if outcome_by_racer.get(racer) == STEP_LIMIT else ""
        value_cells = [number(float(summary_row.get(key, float("nan")))) for key in _COLUMNS]
        body_rows.append([safe(name_by_racer[racer] + note), alpha, *value_cells])
    note = (
        "<p class='quiet'>Test first, then training rows, each per row; then quantiles of weights minus the center. "
        "The CSV has every fit, with standard errors of how far it is above the best of its path.</p>"
    )
    return html_table(("model", "alpha", *_COLUMNS.values()), body_rows) + note
