"""The folded part of the Convergence page that shows each family's scale beside the Hessian's diagonal."""

import math

import pandas as pd
import panel as pn

from alrviz.data.dataset import Dataset
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.glossary import about_html
from alrviz.explorer.shell.theme import html
from alrviz.fitting.prepare import prepare
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.studies.core.export import caption, to_csv
from alrviz.views.core.collapsible import Collapsible
from alrviz.views.core.live_figure import LiveFigure, picture_buttons
from alrviz.views.core.saving import Origin, csv_button
from alrviz.views.core.style import FADED_OPACITY, html_table, safe

# Measured: L-BFGS from zero, test share 0.3, seed 0, the demo sets in their own size.
EXAMPLE_HEADS = ("iterations to 0.1 %", "lr", "diagonal", "alr")
EXAMPLE_ROWS = (
    ("led, n = 2", "222", "124", "63"),
    ("waveform, n = 1", "38", "32", "13"),
    ("mixed-types, n = 2", "51", "14", "20"),
    ("poker-hand, n = 1", "159", "19", "83"),
    ("waveform, n = 1, alpha 0.1", "28", "25", "52"),
)


class PreconditionerChart:
    """Each family's scale and the curvature, for the cells of the first racer; drawn while the part is unfolded."""

    def __init__(self, session: Session, tasks: PageTasks):
        self._session, self._tasks = session, tasks
        self._drawn_key: str | None = None
        self._points: pd.DataFrame | None = None
        self.recipe: Recipe | None = None
        self.picture = LiveFigure("alrviz-why", sizing_mode=None)
        self.status = html((0, 0, 4, 0))
        text = html((0, 0, 0, 16), about_html("scales") + html_table(EXAMPLE_HEADS, EXAMPLE_ROWS))
        buttons = [
            *picture_buttons({"scales": self.picture}, lambda _: self.origin()),
            csv_button("alrviz-why.csv", self._csv, "its points"),
        ]
        self.part = Collapsible(
            "How the scale affects speed",
            self.status,
            pn.Row(self.picture.pane, text, sizing_mode="stretch_width", margin=0),
            pn.Row(*buttons, margin=(4, 0, 0, 0)),
        )
        self.part.param.watch(lambda _: self.show(), "open")

    def show(self, recipe: Recipe | None = None) -> None:
        """Draw the picture for a racer (by default the last one) if the part is unfolded and the picture outdated."""
        if recipe is not None and isinstance(recipe.params.get("order"), int):  # dlr has no cells
            self.recipe = recipe
        recipe, dataset = self.recipe, self._session.table.dataset
        if not self.part.open or dataset is None or recipe is None:
            return
        key = recipe.key(dataset.hash)
        if key == self._drawn_key:
            return
        self._drawn_key = key
        self.picture.pane.styles = {"opacity": FADED_OPACITY}  # outdated until the new points arrive
        self.status.object = "<p class='quiet'>counting &hellip;</p>"
        title = f"{safe(dataset.name, 60)}, all cells of order {recipe.params['order']}"
        self._tasks.start(
            "why", lambda stop: scale_points_of(dataset, recipe, stop), lambda points: self._draw(points, title)
        )

    def _draw(self, points: pd.DataFrame, title: str) -> None:
        from alrviz.pictures.scales import scales

        self.picture.show(scales(points, dark=self._session.dark))
        self._points = points
        self.picture.pane.styles = {"opacity": "1"}
        self.status.object = f"<p class='quiet'>{title}</p>"

    def _csv(self) -> str:
        if self._points is None or self.recipe is None:
            return ""
        return to_csv(self._points, self._session.table.provenance(), [self.recipe])

    def origin(self) -> Origin:
        """Return the title and the source of a saved picture."""
        order_text = "" if self.recipe is None else f"order {self.recipe.params['order']}"
        return Origin(
            "Each family's scale beside the Hessian's diagonal",
            f"{caption(self._session.table.provenance())} · {order_text}",
        )


def scale_points_of(dataset: Dataset, recipe: Recipe, stop: StopToken) -> pd.DataFrame:
    """Return the points of the picture, from counts that the race shares."""
    from alrviz.studies.race.preconditioner_scales import scale_points

    params = recipe.params
    tables = prepare(dataset, recipe, stop=stop).tables(params["order"], params["smoothing"], stop)
    alpha = params["alpha"]
    if isinstance(alpha, tuple):  # the alpha of the highest order that has cells
        alpha = next(value for value in reversed(alpha) if value != math.inf)
    on_phi = alpha if params.get("penalty") == "phi" and alpha != "auto" else 0.0
    return scale_points(tables, alpha_on_phi=on_phi)
