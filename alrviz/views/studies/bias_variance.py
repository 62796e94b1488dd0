"""BiasVarianceView: bias, variance and error over a grid of family, order, alpha and training size.

It shows a study of `alrviz.bias_variance`, and fills while that computes. Above the lines against one setting of the
grid, below them the grid itself, each cell's error taken apart.
"""

from functools import partial
from typing import TYPE_CHECKING

import panel as pn
import param

from alrviz.pictures import bias_variance as pictures
from alrviz.pictures.bias_variance import AXES, KINDS, legend_rows, names, varying
from alrviz.views.core.collapsible import Numbers
from alrviz.views.core.live_figure import LiveFigure
from alrviz.views.core.notebook import ViewLayout
from alrviz.views.core.panes import as_high, choice, html, say
from alrviz.views.core.saving import csv_button
from alrviz.views.core.style import CSS
from alrviz.views.studies.bias_variance_words import GRID, filled, grid_html, numbers_html, sentence_html
from alrviz.views.studies.study_view import StudyView

if TYPE_CHECKING:
    from alrviz.studies.core.study import Study

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

    HEIGHT = "330px"

    def build(self) -> None:
        """Make the panes and the layout."""
        self.pictures = {part: LiveFigure(f"alrviz-bias-variance-{part}") for part in PARTS}
        self.sentence = html(min_height=28, margin=(0, 0, 8, 0))
        self._grid = html(margin=(8, 0, 8, 0))
        self._grid.stylesheets = [CSS, GRID]
        kinds = {of.name: kind for kind, of in KINDS.items()}
        told = "Definition of bias and variance"
        self._kinds = choice(self, "definition", kinds, told, width=640, margin=(0, 16, 4, 0))
        self._axes = choice(self, "axis", _along(list(AXES)), "Along", width=360, margin=(0, 0, 4, 0))
        self.param.watch(lambda _: self.redraw(), ["definition", "axis"])
        controls = pn.FlexBox(self._kinds, self._axes, margin=0)
        panes = [picture.pane for picture in self.pictures.values()]
        self._place = as_high(pn.Row(*panes, sizing_mode="stretch_both", margin=0), self._height, 330)
        self.body = pn.Column(controls, self._place, sizing_mode="stretch_width", margin=0)
        self.aside = pn.Column(sizing_mode="stretch_width", margin=0)
        made = "with recipes, seed, data hash and version"
        saves = [
            csv_button("alrviz-bias-variance.csv", self.csv_of_summary, f"the grid, {made}"),
            csv_button("alrviz-bias-variance-fits.csv", self.csv_of_fits, f"all fits, {made}", "CSV of fits"),
        ]
        for part, picture in self.pictures.items():
            saves += picture.buttons(part, partial(self.origin, part), named=True)
        self._numbers = Numbers(saves, self.of_study(lambda _: numbers_html(self.lines, self.definition)))
        # The bar stands above the grid: six recipes would push it out of a low window.
        self.layout = ViewLayout(
            self.sentence, self.body, self.bar.panel, self._grid, self.aside, self._numbers,
            sizing_mode="stretch_width", margin=0,
        )  # fmt: skip

    def fade(self) -> None:
        """Fade what belongs to settings that are no longer there, the grid too."""
        super().fade()
        self._grid.styles = self.body.styles

    def empty(self) -> None:
        """Show that there is no study."""
        super().empty()
        self._grid.visible = False

    def draw(self, study: "Study") -> None:
        """Show what there is of a study."""
        table = self.lines
        self._grid.visible = True
        self._offer(varying(table))
        drawn = pictures.bias_variance(table, self.axis, self.definition, dark=self.dark)
        # A long legend stands above the picture, not in its place.
        more = ROW * max(0, legend_rows(names(drawn["error"])) - 3)
        high = f"calc({self._height} + {more}px)"
        self._place.param.update(height=330 + more, styles={"height": high, "flex": f"0 0 {high}"})
        for part, picture in drawn.items():
            self.pictures[part].show(picture, of=study)
        say(self._grid, grid_html(table, filled(study), self.definition))
        self.tell(sentence_html(study, table, self.definition))

    def _offer(self, axes: list[str]) -> None:
        """Offer the settings that the grid has more than one value of."""
        offered = _along(axes or ["order"])
        if self._axes.options != offered:
            with param.parameterized.discard_events(self):
                self.axis = self.axis if self.axis in axes else next(iter(offered.values()))
            self._axes.param.update(options=offered, value=self.axis)
        self._axes.visible = len(axes) > 1


def _along(axes: list[str]) -> dict[str, str]:
    words = {"order": "order", "alpha": "alpha", "train_share": "training size"}
    return {words[axis]: axis for axis in axes}
