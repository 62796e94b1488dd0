"""BiasVarianceView: bias, variance and error over a grid of family, order, alpha and training size.

It shows a study of `alrviz.bias_variance`, and fills while that computes. Above the lines against one setting of the
grid, below them the grid itself, each cell's error taken apart.
"""

import uuid
from functools import partial
from typing import Any

import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param

from alrviz.pictures.bias_variance import (
    AXES,
    KINDS,
    Picture,
    bias_variance_picture,
    contents,
    feed,
    legend_rows,
    varying,
)
from alrviz.studies.core.export import study_csv
from alrviz.views.core.collapsible import Numbers
from alrviz.views.core.notebook import ViewLayout
from alrviz.views.core.panes import as_high, html, say
from alrviz.views.core.saving import csv_button, figure_buttons
from alrviz.views.core.style import CSS, HEARD, WORDS_ON_BUTTONS
from alrviz.views.studies.bias_variance_words import GRID, filled, grid_html, numbers_html, sentence_html
from alrviz.views.studies.study_view import StudyView

ROW = 26  # px of a row of a legend
PARTS = ("bias", "variance", "error")


class BiasVarianceView(StudyView):
    """The live view of a study of bias and variance.

    Args:
        study: what `alrviz.bias_variance` returned, whether begun or not.
        height: of the pictures, as CSS has it.
        again, wake: as for `StudyView`.

    >>> import alrviz
    >>> recipes = [alrviz.Recipe("anje", order=n) for n in (1, 2)]
    >>> study = alrviz.bias_variance(alrviz.load_demo("monks-1"), recipes, rounds=2, n_jobs=1)
    >>> view = alrviz.BiasVarianceView(study.run())
    >>> "Lowest error: anje" in view.sentence.object
    True
    """

    definition = param.Selector(default="plug-in", objects=list(KINDS), doc="Of bias and variance.")
    axis = param.Selector(default="order", objects=list(AXES), doc="The setting that the lines go along.")

    def __init__(self, study: Any = None, *, height: str = "330px", **params: Any):
        self._height = height
        self._name = f"alrviz-bias-variance-{uuid.uuid4().hex[:12]}"
        self._made_of: Any = None
        self._picture: Picture | None = None
        self._table: pd.DataFrame | None = None
        super().__init__(study, **params)

    def build(self) -> None:
        """Make the panes and the layout."""
        self._panes = [pn.pane.Bokeh(sizing_mode="stretch_both", margin=0) for _ in PARTS]
        self.sentence = html(min_height=28, margin=(0, 0, 8, 0))
        self._grid = html(margin=(8, 0, 8, 0))
        self._grid.stylesheets = [CSS, GRID]
        look: dict[str, Any] = {"size": "small", "stylesheets": [HEARD], "sx": WORDS_ON_BUTTONS}
        self._kinds = pmui.RadioButtonGroup(
            label="Definition of bias and variance", options={of.name: kind for kind, of in KINDS.items()},
            value=self.definition, width=640, margin=(0, 16, 4, 0), **look,
        )  # fmt: skip
        self._axes = pmui.RadioButtonGroup(
            label="Along", options=_along(list(AXES)), value=self.axis, width=360, margin=(0, 0, 4, 0), **look
        )
        self._kinds.link(self, value="definition", bidirectional=True)
        self._axes.link(self, value="axis", bidirectional=True)
        self.param.watch(lambda _: self.redraw(), ["definition", "axis"])
        controls = pn.FlexBox(self._kinds, self._axes, margin=0)
        self._pictures = as_high(pn.Row(*self._panes, sizing_mode="stretch_both", margin=0), self._height, 330)
        self.body = pn.Column(controls, self._pictures, sizing_mode="stretch_width", margin=0)
        self.aside = pn.Column(sizing_mode="stretch_width", margin=0)
        self._numbers = Numbers(self._saves(), self._numbers_html)
        # The bar stands above the grid: six recipes would push it out of a low window.
        self.layout = ViewLayout(
            self.sentence, self.body, self.bar.panel, self._grid, self.aside, self._numbers,
            sizing_mode="stretch_width", margin=0,
        )  # fmt: skip

    def _saves(self) -> list[Any]:
        made = "with recipes, seed, data hash and version"
        saves = [
            csv_button("alrviz-bias-variance.csv", self._csv, f"the grid, {made}"),
            csv_button("alrviz-bias-variance-fits.csv", self._csv_of_fits, f"all fits, {made}", "CSV of fits"),
        ]
        for part in PARTS:
            file = f"alrviz-bias-variance-{part}"
            for button in figure_buttons(
                f"{self._name}-{part}", file, f"the picture of {part}", partial(self.origin, part)
            ):
                button.label = f"{button.label} of {part}"
                saves.append(button)
        return saves

    def fade(self) -> None:
        """Fade what belongs to settings that are no longer there, the grid too."""
        super().fade()
        self._grid.styles = self.body.styles

    def draw(self) -> None:
        """Show what there is of the study."""
        study = self.study
        self.body.visible = self._grid.visible = study is not None
        if study is None:
            self.tell_none()
            return
        self._table = table = study.summary()
        self._offer(varying(table))
        self._feed(contents(table, self.axis, self.definition))
        say(self._grid, grid_html(table, filled(study), self.definition))
        self.tell(sentence_html(study, table, self.definition))
        self._numbers.refresh()

    def _offer(self, axes: list[str]) -> None:
        """Offer the settings that the grid has more than one value of."""
        offered = _along(axes or ["order"])
        if self._axes.options != offered:
            with param.parameterized.discard_events(self):
                self.axis = self.axis if self.axis in axes else next(iter(offered.values()))
            self._axes.param.update(options=offered, value=self.axis)
        self._axes.visible = len(axes) > 1

    def _feed(self, what: Any) -> None:
        made_of = (what.names, what.labels, what.ticks, self.axis, self.definition, self.dark)
        if self._picture is not None and made_of == self._made_of:
            feed(self._picture, what)
            return
        self._made_of = made_of
        self._picture = bias_variance_picture(what, self.definition, self._name, dark=self.dark)
        # A long legend stands above the picture, not in its place.
        more = ROW * max(0, legend_rows(what.names) - 3)
        high = f"calc({self._height} + {more}px)"
        self._pictures.param.update(height=330 + more, styles={"height": high, "flex": f"0 0 {high}"})
        for pane, figure in zip(self._panes, self._picture.figures.values(), strict=True):
            pane.object = figure

    def _numbers_html(self) -> str:
        return "" if self._table is None or self.study is None else numbers_html(self._table, self.definition)

    def _csv(self) -> str:
        return "" if self.study is None else study_csv(self.study, self.study.summary())

    def _csv_of_fits(self) -> str:
        return "" if self.study is None else study_csv(self.study)


def _along(axes: list[str]) -> dict[str, str]:
    words = {"order": "order", "alpha": "alpha", "train_share": "training size"}
    return {words[axis]: axis for axis in axes}
