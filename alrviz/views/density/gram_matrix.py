"""GramMatrixView: kernel matrix of DLR's features between rows, and how well its sign separates classes."""

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

SIZE_PX = 480  # with axes


class GramMatrixView(NotebookViewer):
    """Gram matrix of DLR's features.

    Args:
        gram: result of `studies.density.gram.gram`, or None for an empty view.
        size: width and height of the picture in px, including axes.
        numbers: title of the folded table, different for each view on a page.
        provenance: returns the provenance line of saved pictures.

    >>> import alrviz, numpy as np
    >>> from alrviz.studies.density.gram import gram
    >>> view = alrviz.GramMatrixView(gram(np.array([[[-1.0, -2.0, 1.5]]]), [0, 0, 1], ["no", "yes"]))
    """

    outdated = param.Boolean(default=False, doc="Whether settings have changed since the fit was started.")

    def __init__(
        self,
        gram: Gram | None = None,
        *,
        size: int = SIZE_PX,
        numbers: str = "Numbers",
        provenance: Callable[[], str] = by_version,
        **params: Any,
    ):
        super().__init__(**params)
        self._provenance = provenance
        self.gram: Gram | None = None
        self.picture = LiveFigure("alrviz-gram", sizing_mode=None, width=size, height=size)
        self._size = size
        self.sentence = html()
        buttons = [
            *picture_buttons({"the Gram matrix": self.picture}, lambda _: self.origin()),
            csv_button("alrviz-gram.csv", self._csv, "the kernel of every pair of rows shown"),
        ]
        self._numbers = Numbers(buttons, lambda: "" if self.gram is None else numbers_html(self.gram), title=numbers)
        # The column around the figure fades, because a style set on a figure that is replaced at once would be lost.
        self._fading_part = pn.Column(self.picture.pane, margin=0)
        self.layout = ViewLayout(self.sentence, self._fading_part, self._numbers)
        self.param.watch(lambda _: self.watch(self.gram), "dark")
        self.param.watch(lambda _: fade(self.outdated, self._fading_part), "outdated")
        self.watch(gram)

    def origin(self) -> Origin:
        """Return title and provenance of the saved picture."""
        gram, provenance_parts = self.gram, [self._provenance()]
        if gram is not None and np.isfinite(gram.share):
            provenance_parts.append(f"k > 0 if and only if the class is the same in {100 * gram.share:.1f} % of pairs")
        return Origin("Gram matrix of DLR's features", " · ".join(provenance_parts))

    def watch(self, gram: Gram | None) -> None:
        """Show a Gram matrix; None empties the view."""
        self.gram = gram
        if gram is None:
            say(self.sentence, "<p class='quiet'>No kernel yet: it comes with the first step of a fit.</p>")
            return
        self.picture.show(gram_picture(gram, dark=self.dark, size=self._size))
        say(self.sentence, sentence_html(gram))
        self._numbers.refresh()

    def _csv(self) -> str:
        gram = self.gram
        if gram is None:
            return ""
        class_names = np.array(gram.classes, dtype=object)[gram.y]
        first_rows, second_rows = np.triu_indices(len(gram.y))
        frame = pd.DataFrame(
            {"row": gram.rows[first_rows], "class": class_names[first_rows], "other row": gram.rows[second_rows],
             "other class": class_names[second_rows], "k": gram.values[first_rows, second_rows]}
        )  # fmt: skip
        return to_csv(frame, {"alrviz": __version__, "share of pairs": gram.share})


def sentence_html(gram: Gram) -> str:
    """Return how often the kernel is positive exactly for pairs of the same class."""
    if not np.isfinite(gram.share):
        return "<p class='quiet'>One row has no pair.</p>"
    pairs_note = "" if gram.counted == gram.n_rows else f" of {gram.counted:,} rows, drawn from {gram.n_rows:,},"
    rows_note = "" if len(gram.y) == gram.n_rows else f" {len(gram.y):,} of {gram.n_rows:,} rows drawn."
    return (
        f"<p>k(x, x') = &Sigma; &phi;(x) &phi;(x') is above 0 if and only if the class is the same in "
        f"<b>{100 * gram.share:.1f} %</b> of the pairs{pairs_note} <span class='quiet'>(one answer for all pairs: "
        f"{100 * gram.chance:.1f} %).{rows_note}</span></p>"
    )


def numbers_html(gram: Gram) -> str:
    """Return the table of mean k and share of k > 0 between rows of each pair of classes."""
    classes_present = np.unique(gram.y)
    column_titles = ["class", *(safe(gram.classes[k], 40) for k in classes_present)]
    table_rows = []
    for class_index in classes_present:
        cells = [safe(gram.classes[class_index], 40)]
        for other_class_index in classes_present:
            block = gram.values[np.ix_(gram.y == class_index, gram.y == other_class_index)]
            values = block[~np.eye(len(block), dtype=bool)] if class_index == other_class_index else block.ravel()
            cells.append(f"{values.mean():.3g} ({100 * (values > 0).mean():.0f} %)" if len(values) else "&ndash;")
        table_rows.append(cells)
    note = "<p class='quiet'>Mean k between different rows shown, and the share with k &gt; 0.</p>"
    return html_table(column_titles, table_rows) + note
