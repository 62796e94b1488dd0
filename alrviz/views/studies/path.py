"""PathView: from generative to discriminative; losses along alpha, weights around the center, a fit that follows.

It shows a study of `alrviz.alpha_path`, and fills while that computes. Under the picture is a slider of alpha: on small
tables the model is fitted there as it moves, on large ones when a button is pressed.
"""

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param

from alrviz.errors import plural
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers.step import FAILED, STEP_LIMIT
from alrviz.pictures import path as drawn
from alrviz.pictures.formatting import LOSSES, seconds_text
from alrviz.pictures.palette import racer_colours
from alrviz.pictures.path import AIR, LABELS, LEFT_MARGIN, RIGHT_MARGIN, Named
from alrviz.studies.protocols.alpha_path_verdict import (
    WORDS,
    AlphaPathVerdict,
    alpha_text,
    generative_name,
    path_names,
    paths_of,
    sentence,
    verdicts_on,
)
from alrviz.views.core.live_figure import LiveFigure, NumberAxes
from alrviz.views.core.notebook import ViewLayout
from alrviz.views.core.panes import Updating, as_high, choice, html, say, side_by_side, stack
from alrviz.views.core.saving import csv_button, file_button
from alrviz.views.core.style import ICONS, html_table, safe
from alrviz.views.core.transport import change, live_slider
from alrviz.views.race.words import number
from alrviz.views.replay.export_html import replay
from alrviz.views.studies.path_follower import PathFollower
from alrviz.views.studies.study_view import StudyView

if TYPE_CHECKING:
    from alrviz.studies.core.study import Study

HEIGHTS = ("304px", "196px")  # of losses and weights
MAIN = 440  # px that the losses need
SIDE = 352  # px of the weights and of what the fit says
_THUMB = 6  # px beside the rail of a slider
AT_ONCE = 0.03  # seconds that a fit is waited for: most of small tables take no longer, and the picture follows at once
_LEGEND = (
    "<span class='quiet'><b aria-hidden='true'>—</b> training &nbsp;<b aria-hidden='true'>- -</b> test rows "
    "&nbsp;<b aria-hidden='true'>○</b> lowest test</span>"
)


class PathView(StudyView):
    """The live view of a study along alpha.

    Args:
        study: what `alrviz.alpha_path` returned, whether begun or not.
        heights: of the pictures of losses and of weights, as CSS has it.
        again, wake: as for `StudyView`.

    >>> import alrviz
    >>> recipe = alrviz.Recipe("alr", order=1, center="anje")
    >>> view = alrviz.PathView(alrviz.alpha_path(alrviz.load_demo("led", 500), [recipe], n_jobs=1).run())
    >>> [one.place for one in view.readings]
    ['generative']
    """

    measure = param.Selector(default="log_loss", objects=list(LOSSES), doc="What a test row costs.")
    alpha = param.Number(default=None, allow_None=True, doc="The alpha that is looked at; None for the middle.")
    path = param.Integer(default=0, bounds=(0, None), doc="The path whose weights are shown and whose fit follows.")

    SENTENCE = (52, 4)

    def __init__(self, study: "Study | None" = None, *, heights: tuple[str, str] = HEIGHTS, **params: Any):
        self.readings: list[AlphaPathVerdict] = []  # of the measure that is drawn
        self._offering = Updating()
        self._recipes: list[Recipe] = []  # of the paths
        self.follower = PathFollower()
        super().__init__(study, height=heights, **params)

    # -- building ------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.losses = LiveFigure("alrviz-path", resized=self.redraw)
        self.weights = LiveFigure("alrviz-path-weights")
        self.body = side_by_side(self._losses(), self._weights(), MAIN, SIDE, margin=(0, 0, 6, 0))
        fits = "every fit of every path, with recipes, seed, data hash and version"
        files = [
            csv_button("alrviz-path.csv", self.csv_of_fits, fits),
            file_button("alrviz-path.html", self._film, "one page that plays the paths", "Replay (HTML)"),
        ]
        self._numbers = self._fold_numbers(
            files, {"losses": self.losses, "weights": self.weights}, lambda study: numbers_html(study, self.lines)
        )
        self.layout = ViewLayout(self.sentence, self.body, self.bar.panel, self._numbers)
        self.param.watch(lambda _: self.redraw(), "measure")
        self.param.watch(lambda _: self._show_path(), "path")
        self.param.watch(lambda _: self._moved(), "alpha")

    def _losses(self) -> pn.Column:
        """The picture of losses: above it the measure, under it the slider, which keeps to its axis."""
        words = {words: name for name, words in WORDS.items()}
        self._measures = choice(self, "measure", words, "Measure", width=290, margin=(0, 16, 0, 0))
        legend = html(sizing_mode=None, align="center", margin=0)
        say(legend, _LEGEND)
        self.slider = AlphaSlider(lambda alpha: self.param.update(alpha=alpha))
        inside = f"(100% - {LEFT_MARGIN + RIGHT_MARGIN}px)"
        place = {"padding-left": f"calc({LEFT_MARGIN - _THUMB}px + {inside} * {AIR})",
                 "width": f"calc({LEFT_MARGIN + _THUMB}px + {inside} * {1 - LABELS})"}  # fmt: skip
        return stack(
            pn.FlexBox(self._measures, legend, margin=(0, 0, 2, 0)),
            as_high(self.losses.pane, self._height[0], 304),
            pn.Column(self.slider.panel, styles=place, margin=0),
        )

    def _weights(self) -> pn.Column:
        """The picture of weights, whose they are, and what the fit at one alpha says."""
        self._paths = pmui.Select(label="Weights of", options={}, size="small", width=180, margin=(0, 8, 0, 0))
        self._paths.link(self, value="path", bidirectional=True)
        self.fit_here = pmui.Button(
            label="Fit here", icon="my_location", variant="outlined", size="small", margin=0, align="center",
            description="Fit here: a model at the alpha of the slider", stylesheets=[ICONS],
        )  # fmt: skip
        self.fit_here.on_click(lambda _: self._press_fit())
        self._fitted = html(margin=(4, 0, 0, 0))
        return pn.Column(
            pn.Row(self._paths, self.fit_here, margin=0), as_high(self.weights.pane, self._height[1], 196),
            self._fitted, width=SIDE, margin=0,
        )  # fmt: skip

    # -- the study -----------------------------------------------------------------------------------------------------

    def _empty(self) -> None:
        super()._empty()
        self.readings = []
        self.follower.forget()

    @property
    def axes(self) -> NumberAxes:
        """What stands along and up in the picture of losses."""
        return NumberAxes(self.losses, "alpha", (self.measure,))

    def _draw(self, study: "Study") -> None:
        self.follower.about(study)
        self._recipes = paths_of(study)
        self._offer(study)
        self.readings = verdicts_on(study, self.measure)
        best = {one.racer: one.alpha for one in self.readings}
        paths, beside = named(study)
        self.losses.show(
            drawn.losses(self.lines, paths, beside, alphas_of(study), self.measure, best, dark=self.dark,
                         **({} if self.losses.size is None else {"width": self.losses.size[0]})),
            of=study,
        )  # fmt: skip
        self.tell(sentence_html(study, sentence(study, self.measure)))
        self._show_path()

    def _offer(self, study: "Study") -> None:
        """Bring the slider and the menu of paths up to what the study has."""
        names = {name: k for k, name in enumerate(path_names(study))}
        with self._offering:
            if self.path >= len(names):
                self.path = 0
            if self._paths.options != names:
                self._paths.param.update(options=names, value=self.path, visible=len(names) > 1)
        self.slider.offer(alphas_of(study), self.at)

    @property
    def at(self) -> float:
        """The alpha that is looked at."""
        alphas = alphas_of(self.study) if self.study is not None else [1.0]
        return alphas[len(alphas) // 2] if self.alpha is None else float(self.alpha)

    @property
    def _shown(self) -> int:
        """The path whose weights are shown: of a study that has fewer it is the last."""
        return min(self.path, len(self._recipes) - 1)

    # -- the fit at one alpha ------------------------------------------------------------------------------------------

    def _moved(self) -> None:
        """Another alpha is looked at."""
        if self.study is None:
            return
        self.slider.place(self.at)
        if self.follower.quick(self._shown):
            self.follower.want(self._shown, self.at)
            self.follower.wait(AT_ONCE)
        self._look()
        self._wake()

    def _press_fit(self) -> None:
        """Fit here, or give it up."""
        if self.study is None:
            return
        if self.follower.busy:
            self.follower.give_up()
        else:
            self.follower.want(self._shown, self.at)
        self._look()
        self._wake()

    def press_stop(self) -> None:
        """Stop the study, and the fit under way."""
        self.follower.give_up()
        super().press_stop()

    def pump(self) -> bool:
        """Show what has come of the study and of the fit; returns whether there may be more."""
        moving = super().pump()
        if self.follower.take():
            self._look()
        return moving or self.follower.busy

    def settle(self) -> None:
        """Show all of the study that has been computed by now, and the fit at the alpha that is looked at."""
        super().settle()
        while self.follower.busy:
            self.follower.wait(1.0)
        self._look()

    def _show_path(self) -> None:
        """Draw the weights of the path chosen."""
        if self.study is None or self.lines is None or self.losses.picture is None or self._offering:
            return
        key = self.losses.picture.key
        self.weights.show(drawn.spread(self.lines, self._shown, alphas_of(self.study), self._colour, key), self.study)
        if self.follower.quick(self._shown) and self.row() is None:
            self.follower.want(self._shown, self.at)
            self._wake()
        self._look()

    @property
    def _colour(self) -> str:
        labels = [recipe.label for recipe in self._recipes]
        return racer_colours(labels, self.dark)[self._shown]

    def row(self) -> dict[str, Any] | None:
        """What is known of the path chosen at the alpha that is looked at: the fit there, else the study's own."""
        fit = self.follower.row(self._shown, self.at)
        lines = self.lines
        if fit is None and lines is not None and "alpha" in lines and "away_50" in lines:
            rows = lines[(lines.racer == self._shown) & (lines.alpha == self.at)]
            fit = None if not len(rows) else rows.iloc[0].to_dict()
        return fit

    def _look(self) -> None:
        """Show the fit at the alpha that is looked at."""
        losses, weights = self.losses.plot, self.weights.plot
        if losses is None or weights is None or self.study is None:
            return
        row, follower = self.row(), self.follower
        with pn.io.hold():
            heights = drawn.point_at(losses, self.at, row, follower.rows(self._shown), self.measure, self._colour)
            if heights is not None:
                self.losses.fit(heights)
            drawn.spread_at(weights, self.at, row)
            self.slider.say(self.at)
            say(self._fitted, fitted_html(row, follower, self._shown, self.at))
            quick = follower.quick(self._shown)
            words = "Give up" if follower.busy else "Fit here"
            description = f"{words}: {'the fit under way' if follower.busy else 'a model at the alpha of the slider'}"
            change(self.fit_here, visible=not quick, label=words, description=description)

    def _film(self) -> bytes:
        return replay(self.study).encode() if self.readings else b""


def named(study: "Study") -> tuple[list[Named], list[Named]]:
    """The paths of a study, and the models beside them, as the pictures call them."""
    names = path_names(study)
    paths = [Named(name, study.recipes[k].label, k) for k, name in enumerate(names)]
    orders = {recipe.params["order"] for recipe in study.recipes}
    beside = []
    for k in range(len(names), len(study.recipes)):
        recipe = study.recipes[k]
        searched = recipe.solver != "none"
        text = f"{recipe.family}, unregularised" if searched else generative_name(recipe)
        order = f" n={recipe.params['order']}" if len(orders) > 1 else ""
        short = f"{recipe.family} \N{GREEK SMALL LETTER ALPHA}=0{order}" if searched else ""
        beside.append(Named(text + order, recipe.label, k, short))
    return paths, beside


def alphas_of(study: "Study") -> list[float]:
    """The alphas of a study of paths, from the largest down."""
    return [float(alpha) for alpha in json.loads(study.spec)["alphas"]]


FINER = 4  # steps from one alpha of a path to the next


class AlphaSlider:
    """The slider, `panel`.

    Args:
        moved: called with the alpha to which the reader moved it.
    """

    def __init__(self, moved: Callable[[float], None]):
        self._moved, self._placing = moved, Updating()
        self.panel = live_slider(pmui.DiscreteSlider, self._slid, label="alpha", options={"1": 1.0}, value=1.0)

    def offer(self, alphas: Sequence[float], at: float) -> None:
        """Offer the alphas of a path, and some between each two."""
        options = {alpha_text(step): step for step in finer(alphas)}
        with self._placing:
            if self.panel.options != options:
                # The browser knows the value by its place among the options; one that stays the same is not sent.
                self.panel.param.update(options=options, value=next(iter(options.values())))
        self.place(at)

    def place(self, alpha: float) -> None:
        """Put it at an alpha, or at the step next to it."""
        with self._placing:
            change(self.panel, value=nearest(list(self.panel.options.values()), alpha))

    def say(self, alpha: float) -> None:
        """Name the alpha that is looked at."""
        change(self.panel, label=f"alpha = {alpha_text(alpha)}")

    def _slid(self, event: Any) -> None:
        if not self._placing and event.new is not None:
            self._moved(float(event.new))


def finer(alphas: Sequence[float]) -> list[float]:
    """The steps of a slider: the path's alphas, and some between each two.

    >>> finer([100.0, 1.0])
    [100.0, 31.6, 10.0, 3.16, 1.0]
    """
    between = [
        float(f"{high * (low / high) ** (k / FINER):.3g}") for high, low in pairwise(alphas) for k in range(FINER)
    ]
    return list(dict.fromkeys([*between, alphas[-1]]))


def nearest(steps: Sequence[float], alpha: float) -> float:
    """The step that is nearest to an alpha, by their ratio."""
    return min(steps, key=lambda step: max(step / alpha, alpha / step))


# ---- what it says, as HTML; every name is escaped --------------------------------------------------------------------


def sentence_html(study: "Study", said: str) -> str:
    """The study's sentence, and how much of it is there while that is not all."""
    paths, failed = paths_of(study), ""
    frame = study.frame()
    if "sentence" in frame and study.progress.failed:
        failures = frame[frame.outcome == FAILED]
        failed = f" <span class='bad'>Failed: {safe(failures.sentence.iloc[0], 200)}.</span>"
    if study.phase == "waiting" and not study.progress.done:
        many = f"{len(paths)} paths" if len(paths) > 1 else "one path"
        return (
            f"<span class='quiet'>Press Run: {many} along alpha, with the generative and the unregularised model for "
            f"reference, on the same split of {study.dataset.n_rows:,} rows.</span>"
        )
    complete = 0 if "away_50" not in frame else frame[frame.away_50.notna()].racer.nunique()
    if not said:
        return f"<span class='quiet'>No path is complete yet: each comes whole.</span>{failed}"
    so_far = f"<span class='quiet'>After {complete} of {len(paths)} paths:</span> " if complete < len(paths) else ""
    return so_far + safe(said, 900) + failed


def fitted_html(row: dict[str, Any] | None, follower: PathFollower, path: int, alpha: float) -> str:
    """Losses of the fit at one alpha; what is under way, or why there is none."""
    title = f"<p><b>At alpha {alpha_text(alpha)}</b> {_about(row, follower)}</p>"
    if row is None:
        if follower.error is not None:
            return f"{title}<p class='bad'>{safe(follower.error, 300)}</p>"
        if not follower.busy and not follower.quick(path):
            return f"{title}<p class='quiet'>Fitting this table takes a while: press Fit here.</p>"
    cells = []
    for name, words in WORDS.items():
        values = [number(float("nan") if row is None else float(row[key])) for key in (f"train_{name}", name)]
        cells.append([words, *values])
    return title + html_table(("per row", "training", "test"), cells)


def _about(row: dict[str, Any] | None, follower: PathFollower) -> str:
    if row is None:
        return "<span class='quiet'>fitting …</span>" if follower.busy else ""
    if "racer" in row:
        return "<span class='quiet'>of the path</span>"
    return f"<span class='quiet'>fitted in {plural(row['n_iter'], 'step')}, {seconds_text(row['train_seconds'])}</span>"


_COLUMNS = {
    "log_loss": "log loss", "rmse": "RMSE", "error": "0-1 loss", "train_log_loss": "training log loss",
    "train_rmse": "RMSE", "train_error": "0-1 loss", "away_5": "5 % of w", "away_50": "middle", "away_95": "95 %",
}  # fmt: skip


def numbers_html(study: "Study", lines: pd.DataFrame) -> str:
    """The table below: a line for each fit of each path, and for what is beside them."""
    if not len(lines) or "log_loss" not in lines:
        return "<p class='quiet'>Nothing is complete yet.</p>"
    names, frame = path_names(study), study.frame()
    outcome = {row["racer"]: row["outcome"] for row in frame.to_dict("records")}
    body = []
    for line in lines.sort_values(["racer", "alpha"], ascending=[True, False]).to_dict("records"):
        racer, recipe = line["racer"], study.recipes[line["racer"]]
        if racer < len(names):
            name, alpha = names[racer], f"{line['alpha']:g}"
        elif recipe.solver == "none":
            name, alpha = generative_name(recipe), "&ndash;"
        else:
            stopped = " (at its step limit)" if outcome.get(racer) == STEP_LIMIT else ""
            name, alpha = f"{recipe.family}, unregularised{stopped}", "0"
        values = [number(float(line.get(key, float("nan")))) for key in _COLUMNS]
        body.append([safe(name), alpha, *values])
    note = (
        "<p class='quiet'>Test first, then training rows, each per row; then quantiles of w - center. "
        " The CSV has every fit, with standard errors of how far it is above the best of its path.</p>"
    )
    return html_table(("model", "alpha", *_COLUMNS.values()), body) + note
