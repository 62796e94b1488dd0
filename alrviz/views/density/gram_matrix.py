"""GramMatrixView: the kernel between rows that DLR's features make, and how far it tells classes apart."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import param

from alrviz import __version__
from alrviz.pictures.gram import gram_picture
from alrviz.studies.core.export import to_csv
from alrviz.studies.density.gram import Gram
from alrviz.views.core.collapsible import Numbers
from alrviz.views.core.live_figure import LiveFigure, picture_buttons
from alrviz.views.core.notebook import NotebookViewer, ViewLayout
from alrviz.views.core.panes import fade, html, say
from alrviz.views.core.saving import Origin, by_version, csv_button
from alrviz.views.core.style import html_table, safe

SIZE = 480  # px, with axes


class GramMatrixView(NotebookViewer):
    """The Gram matrix of DLR's features.

    Args:
        gram: what `studies.gram.gram` made, None for nothing yet.
        size: pixels of the picture's sides, axes included.
        numbers: title of the folded table; a page that shows several views gives each its own.
        made_from: says in a line what the features are of, for pictures that are saved.

    >>> import alrviz, numpy as np
    >>> from alrviz.studies.density.gram import gram
    >>> view = alrviz.GramMatrixView(gram(np.array([[[-1.0, -2.0, 1.5]]]), [0, 0, 1], ["no", "yes"]))
    """

    outdated = param.Boolean(default=False, doc="Whether settings have changed since the fit shown.")

    def __init__(
        self,
        gram: Gram | None = None,
        *,
        size: int = SIZE,
        numbers: str = "Numbers",
        made_from: Callable[[], str] = by_version,
        **params: Any,
    ):
        super().__init__(**params)
        self._made_from = made_from
        self.gram: Gram | None = None
        self.picture = LiveFigure("alrviz-gram", sizing_mode=None, width=size, height=size)
        self._size = size
        self.sentence = html()
        buttons = [
            *picture_buttons({"the Gram matrix": self.picture}, lambda _: self.origin()),
            csv_button("alrviz-gram.csv", self._csv, "the kernel of every pair of rows shown"),
        ]
        self._numbers = Numbers(buttons, self._numbers_html, title=numbers)
        # What fades is around the figure: of one that another replaces at once the browser never hears.
        self._place = pn.Column(self.picture.pane, margin=0)
        self.layout = ViewLayout(self.sentence, self._place, self._numbers)
        self.param.watch(lambda _: self.watch(self.gram), "dark")
        self.param.watch(lambda _: fade(self.outdated, self._place), "outdated")
        self.watch(gram)

    def origin(self) -> Origin:
        """Return what stands above and below the picture when it is saved."""
        gram, parts = self.gram, [self._made_from()]
        if gram is not None and np.isfinite(gram.share):
            parts.append(f"k > 0 if and only if the class is the same in {100 * gram.share:.1f} % of pairs")
        return Origin("Gram matrix of DLR's features", " · ".join(parts))

    def watch(self, gram: Gram | None) -> None:
        """Show a Gram matrix; None empties the view."""
        self.gram = gram
        if gram is None:
            say(self.sentence, "<p class='quiet'>No kernel yet: it comes with the first step of a fit.</p>")
            return
        self.picture.show(gram_picture(gram, dark=self.dark, size=self._size))
        say(self.sentence, sentence_html(gram))
        self._numbers.refresh()

    def _numbers_html(self) -> str:
        return "" if self.gram is None else numbers_html(self.gram)

    def _csv(self) -> str:
        gram = self.gram
        if gram is None:
            return ""
        names = np.array(gram.classes, dtype=object)[gram.y]
        one, other = np.triu_indices(len(gram.y))
        frame = pd.DataFrame(
            {"row": gram.rows[one], "class": names[one], "other row": gram.rows[other], "other class": names[other],
             "k": gram.values[one, other]}
        )  # fmt: skip
        return to_csv(frame, {"alrviz": __version__, "share of pairs": gram.share})


def sentence_html(gram: Gram) -> str:
    """Say how often the sign of the kernel tells whether two rows are of one class."""
    if not np.isfinite(gram.share):
        return "<p class='quiet'>One row has no pair.</p>"
    of = "" if gram.counted == gram.n_rows else f" of {gram.counted:,} rows, drawn from {gram.n_rows:,},"
    shown = "" if len(gram.y) == gram.n_rows else f" {len(gram.y):,} of {gram.n_rows:,} rows drawn."
    return (
        f"<p>k(x, x') = &Sigma; &phi;(x) &phi;(x') is above 0 if and only if the class is the same in "
        f"<b>{100 * gram.share:.1f} %</b> of the pairs{of} <span class='quiet'>(one answer for all pairs: "
        f"{100 * gram.chance:.1f} %).{shown}</span></p>"
    )


def numbers_html(gram: Gram) -> str:
    """The table below: mean k, and the share of k > 0, between the rows of every two classes."""
    present = np.unique(gram.y)
    heads = ["class", *(safe(gram.classes[k], 40) for k in present)]
    lines = []
    for i in present:
        cells = [safe(gram.classes[i], 40)]
        for j in present:
            block = gram.values[np.ix_(gram.y == i, gram.y == j)]
            values = block[~np.eye(len(block), dtype=bool)] if i == j else block.ravel()
            cells.append(f"{values.mean():.3g} ({100 * (values > 0).mean():.0f} %)" if len(values) else "&ndash;")
        lines.append(cells)
    note = "<p class='quiet'>Mean k between different rows shown, and the share with k &gt; 0.</p>"
    return html_table(heads, lines) + note
