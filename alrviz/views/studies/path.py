"""PathView: from generative to discriminative; losses along alpha, weights around the center, a fit that follows.

It shows a study of `alrviz.alpha_path`, and fills while that computes. Under the picture is a slider of alpha: on small
tables the model is fitted there as it moves, on large ones when a button is pressed.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import panel as pn
import panel_material_ui as pmui
import param

from alrviz.fitting.recipe import Recipe
from alrviz.pictures import path as drawn
from alrviz.pictures.palette import racer_colours
from alrviz.pictures.path import AIR, LABELS, LEFT, MEASURES, RIGHT, Named
from alrviz.studies.protocols.alpha_path_verdict import (
    WORDS,
    AlphaPathVerdict,
    alpha_text,
    generative_name,
    path_names,
    paths_of,
    readings,
    sentence,
)
from alrviz.views.core.collapsible import Numbers
from alrviz.views.core.live_figure import LiveFigure, NumberAxes
from alrviz.views.core.notebook import ViewLayout
from alrviz.views.core.panes import Updating, as_high, choice, html, say, side_by_side
from alrviz.views.core.saving import SaveButton, csv_button, file_button
from alrviz.views.core.style import ICONS
from alrviz.views.core.transport import SLIDER_FOCUS
from alrviz.views.replay.export_html import replay
from alrviz.views.studies.path_follower import PathFollower
from alrviz.views.studies.path_words import fitted_html, numbers_html, sentence_html
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

    measure = param.Selector(default="log_loss", objects=list(MEASURES), doc="What a test row costs.")
    alpha = param.Number(default=None, allow_None=True, doc="The alpha that is looked at; None for the middle.")
    path = param.Integer(default=0, bounds=(0, None), doc="The path whose weights are shown and whose fit follows.")

    def __init__(self, study: "Study | None" = None, *, heights: tuple[str, str] = HEIGHTS, **params: Any):
        self.readings: list[AlphaPathVerdict] = []  # of the measure that is drawn
        self._offering = Updating()
        self._recipes: list[Recipe] = []  # of the paths
        self.follower = PathFollower()
        super().__init__(study, height=heights, **params)

    # -- building ------------------------------------------------------------------------------------------------------

    def build(self) -> None:
        """Make the panes and the layout."""
        self.losses = LiveFigure("alrviz-path", resized=self.redraw)
        self.weights = LiveFigure("alrviz-path-weights")
        self.sentence = html(min_height=52, margin=(0, 0, 4, 0))
        self.body = side_by_side(self._losses(), self._weights(), MAIN, SIDE, margin=(0, 0, 6, 0))
        self._numbers = Numbers(self._saves(), self.of_study(lambda study: numbers_html(study, self.lines)))
        self.layout = ViewLayout(
            self.sentence, self.body, self.bar.panel, self._numbers, sizing_mode="stretch_width", margin=0
        )
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
        inside = f"(100% - {LEFT + RIGHT}px)"
        place = {"padding-left": f"calc({LEFT - _THUMB}px + {inside} * {AIR})",
                 "width": f"calc({LEFT + _THUMB}px + {inside} * {1 - LABELS})"}  # fmt: skip
        return pn.Column(
            pn.FlexBox(self._measures, legend, margin=(0, 0, 2, 0)), as_high(self.losses.pane, self._height[0], 304),
            pn.Column(self.slider.panel, styles=place, margin=0), sizing_mode="stretch_width", margin=0,
        )  # fmt: skip

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

    def _saves(self) -> list[SaveButton]:
        made = "with recipes, seed, data hash and version"
        saves = [
            csv_button("alrviz-path.csv", self.csv_of_fits, f"every fit of every path, {made}"),
            file_button("alrviz-path.html", self._film, "one page that plays the paths", "Replay (HTML)"),
        ]
        for what, picture in (("losses", self.losses), ("weights", self.weights)):
            saves += picture.buttons(what, partial(self.origin, what), named=True)
        return saves

    # -- the study -----------------------------------------------------------------------------------------------------

    def empty(self) -> None:
        """Show that there is no study."""
        super().empty()
        self.readings = []
        self.follower.forget()

    @property
    def axes(self) -> NumberAxes:
        """What stands along and up in the picture of losses."""
        return NumberAxes(self.losses, "alpha", (self.measure,))

    def draw(self, study: "Study") -> None:
        """Show what there is of a study."""
        self.follower.about(study)
        self._recipes = paths_of(study)
        self._offer(study)
        self.readings = readings(study, self.measure)
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
        found = self.follower.row(self._shown, self.at)
        lines = self.lines
        if found is None and lines is not None and "alpha" in lines and "away_50" in lines:
            mine = lines[(lines.racer == self._shown) & (lines.alpha == self.at)]
            found = None if not len(mine) else mine.iloc[0].to_dict()
        return found

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
            if (self.fit_here.visible, self.fit_here.label) != (not quick, words):
                told = f"{words}: {'the fit under way' if follower.busy else 'a model at the alpha of the slider'}"
                self.fit_here.param.update(visible=not quick, label=words, description=told)

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
        self.panel = pmui.DiscreteSlider(
            label="alpha", show_value=False, tooltips=False, options={"1": 1.0}, value=1.0, size="small",
            sizing_mode="stretch_width", margin=0, sx=SLIDER_FOCUS,
        )  # fmt: skip
        self.panel._debounce = 10  # ms; Panel's own 50 are felt by a hand that drags
        self.panel.param.watch(self._slid, "value")

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
        value = nearest(list(self.panel.options.values()), alpha)
        if self.panel.value != value:
            with self._placing:
                self.panel.value = value

    def say(self, alpha: float) -> None:
        """Name the alpha that is looked at."""
        label = f"alpha = {alpha_text(alpha)}"
        if self.panel.label != label:
            self.panel.label = label

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
