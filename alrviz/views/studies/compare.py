"""CompareView: recipes on data sets. Means with their spread, win-draw-loss with the sign test, one against another.

It shows a study of `alrviz.compare`, and fills while that computes.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import panel as pn
import panel_material_ui as pmui
import param

from alrviz.pictures import compare as pictures
from alrviz.pictures.compare import WORDS
from alrviz.pictures.palette import racer_colours
from alrviz.studies.core.export import study_csv
from alrviz.studies.protocols.compare import COMPARED, fits_each, pairs, to_latex
from alrviz.views.core.collapsible import Numbers
from alrviz.views.core.live_figure import LiveFigure
from alrviz.views.core.notebook import ViewLayout
from alrviz.views.core.panes import Updating, as_high, html, say, side_by_side
from alrviz.views.core.saving import SaveButton, csv_button
from alrviz.views.core.style import CSS
from alrviz.views.studies.compare_words import GRID, latex_frame, means_html, numbers_html, pairs_html, sentence_html
from alrviz.views.studies.study_view import StudyView

if TYPE_CHECKING:
    from alrviz.studies.core.study import Study

PAIRED = ["a", "b", "win_draw_loss", "p", "ratio"]  # columns of a paper's table
MAIN = 400  # px that the tables need
SIDE = 412  # px of the picture and the menus above it


class CompareView(StudyView):
    """The live view of a comparison.

    Args:
        study: what `alrviz.compare` returned, whether begun or not.
        height: of the picture, as CSS has it.
        again, wake: as for `StudyView`.

    >>> import alrviz
    >>> tables = [alrviz.load_demo("monks-1"), alrviz.load_demo("tic-tac-toe")]
    >>> recipes = [alrviz.Recipe("anje", order=n) for n in (1, 2)]
    >>> view = alrviz.CompareView(alrviz.compare(tables, recipes, repeats=2, n_jobs=1).run())
    >>> "Best mean rank in log loss: anje, 1.00" in view.sentence.object
    True
    """

    measure = param.Selector(default="log_loss", objects=list(COMPARED), doc="What recipes are compared by.")
    across = param.Integer(default=0, bounds=(0, None), doc="The racer whose values go across in the picture.")
    up = param.Integer(default=1, bounds=(0, None), doc="The racer whose values go up.")

    HEIGHT = "372px"

    def build(self) -> None:
        """Make the panes and the layout."""
        self.picture = LiveFigure("alrviz-compare")
        self.sentence = html(min_height=28, margin=(0, 0, 8, 0))
        self._means, self._pairs = html(), html(margin=(16, 0, 0, 0))
        for pane in (self._means, self._pairs):
            pane.stylesheets = [CSS, GRID]
        small: dict[str, Any] = {"size": "small", "margin": (0, 8, 6, 0)}
        self._measures = pmui.Select(
            label="Measure",
            options={words: name for name, words in WORDS.items()},
            value=self.measure,
            width=200,
            **small,
        )
        self._across = pmui.Select(label="x", options={}, width=192, **small)
        self._up = pmui.Select(label="y", options={}, width=192, **small)
        self._offering = Updating()
        self._measures.link(self, value="measure", bidirectional=True)
        for menu in (self._across, self._up):
            menu.param.watch(lambda _: self._chosen(), "value")
        self.param.watch(lambda *_: self.redraw(), ["measure", "across", "up"])
        left = pn.Column(self._measures, self._means, self._pairs, sizing_mode="stretch_width", margin=0)
        wide = f"max({SIDE}px, {self._height} + {SIDE - 372}px)"  # it grows as a square
        self._beside = pn.Column(
            pn.Row(self._across, self._up, margin=0), as_high(self.picture.pane, self._height, 372),
            width=SIDE, margin=0, styles={"width": wide},
        )  # fmt: skip
        self.body = side_by_side(left, self._beside, MAIN, wide, margin=(14, 0, 6, 0))
        self._numbers = Numbers(self._saves(), self.of_study(lambda study: numbers_html(self.lines, fits_each(study))))
        self.layout = ViewLayout(
            self.sentence, self.bar.panel, self.body, self._numbers, sizing_mode="stretch_width", margin=0
        )

    def _saves(self) -> list[SaveButton]:
        made = "with recipes, seed, data hashes and version"
        return [
            csv_button("alrviz-compare.csv", self.csv_of_summary, f"means and spread, {made}"),
            csv_button("alrviz-compare-pairs.csv", self.csv_of_pairs, f"win-draw-loss, {made}", "CSV of pairs"),
            csv_button("alrviz-compare-fits.csv", self.csv_of_fits, f"all fits, {made}", "CSV of fits"),
            csv_button(
                "alrviz-compare.tex", self.latex, "means, ranks and win-draw-loss as two tabulars",
                "LaTeX",
            ),
            *self.picture.buttons(
                "the picture of one against another", lambda: self.origin("one against another")
            ),
        ]  # fmt: skip

    def draw(self, study: "Study") -> None:
        """Show what there is of a study."""
        lines, measure, dark = self.lines, self.measure, self.dark
        self._offer(study.names)
        self.tell(sentence_html(study, lines, measure))
        say(self._means, means_html(study, lines, measure, dark))
        say(self._pairs, pairs_html(study, lines, measure, dark))
        if len(study.names) > 1:
            colours = racer_colours([recipe.label for recipe in study.recipes], dark)
            pair = self.across, self.up
            self.picture.show(
                pictures.compare(lines, study.frame(), pair, measure, colours, dark), of=(study, pair, measure)
            )

    def offer_measures(self, measures: Sequence[str]) -> None:
        """Offer these measures alone: of results from elsewhere not all are known."""
        with param.parameterized.discard_events(self):
            self.measure = self.measure if self.measure in measures else measures[0]
        options = {WORDS[name]: name for name in measures}
        self._measures.param.update(options=options, value=self.measure)

    def _offer(self, names: tuple[str, ...]) -> None:
        """Offer the recipes; a picture needs two."""
        self._beside.visible = len(names) > 1
        if len(names) < 2:
            return
        offered = {name: k for k, name in enumerate(names)}
        across = self.across if self.across < len(names) else 0
        up = self.up if self.up < len(names) and self.up != across else int(across == 0)
        if (self._across.options, self._across.value, self._up.value) == (offered, across, up):
            return
        with self._offering:
            with param.parameterized.discard_events(self):
                self.across, self.up = across, up
            self._across.param.update(options=offered, value=across)
            self._up.param.update(options=offered, value=up)

    def _chosen(self) -> None:
        """Take what the menus say; a recipe against itself exchanges the two."""
        if self._offering or self._across.value is None or self._up.value is None:
            return
        across, up = int(self._across.value), int(self._up.value)
        if across == up:
            across, up = (self.up, up) if across != self.up else (across, self.across)
        self.param.update(across=across, up=up)

    def csv_of_pairs(self) -> str:
        """Return wins, draws and losses of every two recipes as a CSV."""
        return "" if self.study is None else study_csv(self.study, pairs(self.study, self.measure))

    def latex(self) -> str:
        """Return means, ranks and wins as the tables of a paper."""
        study = self.study
        if study is None:
            return ""
        lines = study.summary()
        texts = [to_latex(latex_frame(study, lines, self.measure))]
        if len(study.recipes) > 1:
            texts.append(to_latex(pairs(study, self.measure, lines=lines)[PAIRED]))
        return "\n".join(texts)
