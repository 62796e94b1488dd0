"""InteractionsView: which tuples matter to a model, how certain that is, and why a row gets its prediction.

It shows a study of `alrviz.effect_bands` while it computes (the model first, then bands as refits finish), or the
result of `alrviz.interactions` for a fitted model.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui
import param
from bokeh.events import Tap
from param.parameterized import Event

from alrviz.fitting.recipe import Recipe
from alrviz.pictures import interactions as pictures
from alrviz.pictures.tuple_effect import QUANTITIES, tuple_effect
from alrviz.studies.core.export import caption, study_provenance, to_csv
from alrviz.studies.effects.interactions import Interactions
from alrviz.studies.effects.row_explanation import RowExplanation
from alrviz.studies.protocols.effect_bands import EffectStudy
from alrviz.studies.statistics.measures import BINNING
from alrviz.studies.statistics.verdict import Verdict
from alrviz.views.core.collapsible import Numbers
from alrviz.views.core.live_figure import LiveFigure, picture_buttons
from alrviz.views.core.notebook import ViewLayout
from alrviz.views.core.panes import Updating, choice, html, say, stack
from alrviz.views.core.saving import Origin, csv_button, file_button
from alrviz.views.core.style import WORDS_IN_ONE_LINE, html_table, page_html, safe
from alrviz.views.core.transport import change
from alrviz.views.race.texts import number
from alrviz.views.studies.edit_part import EditPart
from alrviz.views.studies.row import RowPart, RowSettings, make_clickable, row_csv, side_by_side_pictures
from alrviz.views.studies.study_view import StudyView

HEIGHTS = ("430px", "320px")
LABELS = {"names": "names", "dots": "dots"}
_PRESS_RUN = Verdict(
    "Press Run: which columns and pairs matter, and how certain is that?",
    "The model is fitted, split into effects, and refitted to resampled rows for the whiskers.",
)
_FITTING = Verdict("The model is being fitted.", _PRESS_RUN.detail)
_ROW_PARAMS = ("of", "against", "row", "column", "changes")
TABLE_ROWS = 40
MAX_MENU_ITEMS = 400


class InteractionsView(StudyView, RowSettings):
    """Live view of a model's effects.

    Args:
        study: result of `alrviz.effect_bands`, run or not, or of `alrviz.interactions`.
        rerun, wake: see `StudyView`.
        heights: CSS heights of the upper and lower pictures.

    >>> import alrviz
    >>> recipe = alrviz.Recipe("lr", order=2, alpha=0.1)
    >>> study = alrviz.effect_bands(alrviz.load_demo("xor"), recipe, refits=0, n_jobs=1)
    >>> view = alrviz.InteractionsView(study.run(), muted=["bit_1 & bit_2"])
    >>> bool(view.losses.loc["muted", "error"] > 0.4)
    True
    """

    SENTENCE = (52, 8)
    study: Any
    subset = param.Integer(default=-1, doc="Number of the tuple whose cells are shown; -1 for the most important.")
    quantity = param.Selector(default="pure", objects=list(QUANTITIES.values()), doc="Quantity shown of its cells.")
    muted = param.List(default=[], item_type=(int, str), doc="Numbers or names of the tuples left out.")
    given_effects = param.ClassSelector(
        default=None, class_=Interactions, doc="Effects of a fitted model, shown in place of a study."
    )
    labels = param.Selector(default="names", objects=list(LABELS.values()), doc="Labels of the bars.")

    def __init__(
        self, study: EffectStudy | Interactions | None = None, *, heights: tuple[str, str] = HEIGHTS, **params: Any
    ):
        self.losses: pd.DataFrame | None = None  # on test rows, with all tuples and without the muted ones
        self.table = pd.DataFrame()  # importance of the tuples drawn
        self._setting = Updating()
        self._shown_effects: Interactions | None = None
        self._provenance: dict[str, Any] = {}  # of `given_effects`
        if isinstance(study, Interactions):
            study, params["given_effects"] = None, study
        super().__init__(study, height=heights, **params)

    # -- building ------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        upper_height, lower_height = self._height
        self.ranked = LiveFigure("alrviz-importance", on_new_figure=lambda plot: make_clickable(plot, self._choose_bar))
        self.matrix = LiveFigure(
            "alrviz-interactions", on_new_figure=lambda plot: make_clickable(plot, self._choose_cell)
        )
        self.cells = LiveFigure(
            "alrviz-effect", on_new_figure=lambda plot: plot.figure.on_event(Tap, self._press_cells)
        )
        self.curve = LiveFigure("alrviz-kept-tuples")
        self.editing = EditPart(lambda: self._update({"edits"}))
        self.one_row = RowPart(self, lower_height)
        self.key, self.muting = html(), html(margin=(8, 0, 4, 0))
        small_params: dict[str, Any] = {"size": "small", "margin": (0, 10, 0, 0)}
        self.tuples = pmui.Select(label="Tuple", options={}, width=260, **small_params)
        self.class_of = pmui.Select(label="Class", options={}, width=150, **small_params)
        self.class_against = pmui.Select(label="Against", options={}, width=150, **small_params)
        widget_params: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (6, 0, 0, 0)}
        self.mutes = pmui.MultiChoice(label="Leave out", options=[], **widget_params)
        widgets = {"subset": self.tuples, "of": self.class_of, "against": self.class_against, "muted": self.mutes}
        for name, widget in widgets.items():
            widget.param.watch(partial(self._widget_changed, name), "value")
        one_line_params: dict[str, Any] = {"sx": WORDS_IN_ONE_LINE, "margin": 0}
        quantity_choice = choice(self, "quantity", QUANTITIES, "What is shown of the cells", **one_line_params)
        label = "Tuples by their names, or a dot for each of their columns"
        label_choice = choice(self, "labels", LABELS, label, **one_line_params)
        self.body = stack(
            pn.FlexBox(label_choice, pn.Column(self.key, styles={"flex": "1 1 300px"}, margin=(0, 0, 0, 12)),
                       align_items="center", gap="4px 0", margin=(4, 0, 4, 0)),
            side_by_side_pictures(self.ranked, self.matrix, upper_height, 430),
            pn.FlexBox(self.tuples, self.class_of, self.class_against, quantity_choice,
                       align_items="center", gap="10px 0", margin=(4, 0, 4, 0)),
            side_by_side_pictures(self.cells, self.curve, lower_height, 320),
            self.editing.body, self.mutes, self.muting, self.one_row.body, margin=(0, 0, 6, 0),
        )  # fmt: skip
        cells_csv = partial(
            self._csv, lambda effects: self._edited(effects).effects(effects.names[self._tuple(effects)])
        )
        curve_csv = partial(self._csv, lambda effects: effects.keep_best())
        save_buttons = [
            csv_button("alrviz-importance.csv", self.csv_of_summary, "all tuples with their importance"),
            csv_button("alrviz-effect.csv", cells_csv, "the cells of this tuple", label="CSV of cells"),
            csv_button("alrviz-tuples-kept.csv", curve_csv, "the loss with the best tuples alone",
                       label="CSV of tuples kept"),
            csv_button("alrviz-row.csv", self._contributions_csv, "what each tuple adds to this row",
                       label="CSV of row"),
            file_button("alrviz-interactions.html", self.page, "all that is shown as one page that needs no server",
                        "Page (HTML)"),
        ]  # fmt: skip
        self._pictures = {
            "importance": self.ranked, "matrix": self.matrix, "effect": self.cells, "tuples kept": self.curve,
            **self.one_row.figures,
        }  # fmt: skip
        self._numbers = Numbers(
            [*save_buttons, *picture_buttons(self._pictures, self.origin)],
            lambda: numbers_html(self.table, self.effects),
        )
        self.layout = ViewLayout(self.sentence, self.bar.panel, self.body, self._numbers)
        watched_params = ["subset", "quantity", "muted", "labels", *_ROW_PARAMS]
        self.param.watch(lambda *events: self._update({event.name for event in events}), watched_params)

    # -- the study -----------------------------------------------------------------------------------------------------

    def show_model(self, effects: Interactions, about: Mapping[str, Any]) -> None:
        """Show the effects of a fitted model in place of a study; `about` is its provenance."""
        self.given_effects, self._provenance, self.study = effects, dict(about), None
        self.redraw()

    def watch(self, study: Any) -> None:
        """Show a study, or None, in place of the current one or of a fitted model."""
        self.given_effects = None
        super().watch(study)

    def press_run(self) -> None:
        """Run or resume the study."""
        if self.rerun is not None or self.study is not None:
            self.given_effects = None
        super().press_run()

    def show_no_study(self) -> None:
        """Show the given effects; hide the pictures if there are none."""
        if self.given_effects is None:
            super().show_no_study()
            self._shown_effects = self.losses = self.one_row.explanation = None
            self.table = pd.DataFrame()
        else:
            self.lines = self.given_effects.importance()
            self.body.visible = True
            self._show_effects(self.given_effects, "your model is not refitted, so there are no whiskers")
            self._numbers.refresh()

    @property
    def effects(self) -> Interactions | None:
        """The effects shown, of the given model or of the study."""
        return self.given_effects or getattr(self.study, "interactions", None)

    @property
    def explanation(self) -> RowExplanation | None:
        """Explanation of the row shown."""
        return self.one_row.explanation

    def _draw(self, study: EffectStudy) -> None:
        effects = self.effects
        self.body.visible = effects is not None
        if effects is None:
            fit_rows = study.frame()
            if len(fit_rows) and "sentence" in fit_rows:
                self.tell_verdict(Verdict("The model could not be fitted.", str(fit_rows["sentence"].iloc[0])))
            else:
                self.tell_verdict(_PRESS_RUN if study.phase == "waiting" else _FITTING)
            return
        n_refits, n_refits_in_all = study.progress.n_done - 1, study.progress.total - 1
        bands_text = "no whiskers yet" if n_refits_in_all else "no whiskers: nothing was refitted"
        self._show_effects(effects, f"whiskers: 90 % of {n_refits} resampled fits" if n_refits > 1 else bands_text)

    def _show_effects(self, effects: Interactions, bands: str) -> None:
        """Show a model's effects; bands: a note on the whiskers."""
        self.table = self.lines
        if effects is not self._shown_effects:
            self._shown_effects = effects
            self._fill(effects)
        self.tell_verdict(effects.verdict())
        legend_html = "".join(
            f"<span style='color:{colour}'>■</span> {order_text}&ensp;"
            for colour, order_text in pictures.legend(sorted(set(effects.pure.sizes.tolist())))
        )
        hint = f"» selected: press a bar or a cell to select another; {bands}"
        say(self.key, f"{legend_html}<span class='quiet'>{hint}</span>")
        self._update({"study"})

    def csv_of_summary(self) -> str:
        """Return all tuples with their importance as a CSV."""
        return self._csv(lambda _: self.table.reset_index())

    def _csv(self, table_of: Callable[[Interactions], pd.DataFrame]) -> str:
        return "" if self.effects is None else to_csv(table_of(self.effects), *self._source())

    def _source(self) -> tuple[dict[str, Any], Sequence[Recipe]]:
        """Return provenance, with corrections by hand, and recipes for saved numbers and pictures."""
        study, edits = self.study, self.editing.provenance
        return (self._provenance | edits, ()) if study is None else (study_provenance(study) | edits, study.recipes)

    def origin(self, subject: str) -> Origin:
        """Return title and provenance of a saved picture of `subject`."""
        if self.given_effects is None and self.study is None:
            return super().origin(subject)
        names = [self._provenance.get("model", "a model")] if self.study is None else self.study.names
        return Origin(f"{', '.join(names)}: {subject}", caption(*self._source()))

    def _fill(self, effects: Interactions) -> None:
        """Fill the menus with the model's tuples and classes."""
        names = [str(label) for label in effects.classes.tolist()][:MAX_MENU_ITEMS]
        with self._setting:
            self.tuples.options = {name: effects.number_of(name) for name in self.table.index[:MAX_MENU_ITEMS]}
            self.class_of.options = self.class_against.options = {name: k for k, name in enumerate(names)}
            self.mutes.options = list(self.table.index[:MAX_MENU_ITEMS])
        self.one_row.fill_menus(effects)
        self.editing.begin(effects)

    def _widget_changed(self, name: str, event: Event) -> None:
        value, effects = event.new, self.effects
        if name == "muted":  # by number, as in links
            value = [] if effects is None else [effects.names.index(tuple_name) for tuple_name in value or ()]
        if not self._setting and value is not None:
            self.param.update(**{name: value})

    def _choose_bar(self, event: Tap) -> None:
        bar_number = min(len(self.table), pictures.MAX_BARS) - 1 - int(np.floor(event.y))
        if self.effects is not None and 0 <= bar_number < min(len(self.table), pictures.MAX_BARS):
            self.subset = self.effects.number_of(self.table.index[bar_number])

    def _choose_cell(self, event: Tap) -> None:
        """Show the pair of columns whose cell of the matrix was clicked."""
        effects, picture = self.effects, self.matrix.picture
        if effects is None or picture is None:
            return
        names, n_columns = picture.key[0], len(picture.key[0])
        x, y = int(np.floor(event.x)), n_columns - 1 - int(np.floor(event.y))
        if 0 <= x < n_columns and 0 <= y < n_columns:
            columns = sorted({[str(name) for name in effects.columns].index(names[k]) for k in (x, y)})
            self.subset = effects.pure.numbers.get(tuple(columns), self.subset)

    def _press_cells(self, event: Tap) -> None:
        self.editing.choose(self.cells.picture, event.x, event.y)

    def _edited(self, effects: Interactions) -> Interactions:
        """Return the effects with the edits by hand."""
        return self.editing.effects or effects

    # -- updates -------------------------------------------------------------------------------------------------------

    def _tuple(self, effects: Interactions) -> int:
        is_valid = 0 <= self.subset < len(effects.names)
        return self.subset if is_valid else effects.number_of(self.table.index[0])

    def _mutes(self, effects: Interactions) -> list[str]:
        """Return the names of the muted tuples without repetitions."""
        names = [
            effects.names[tuple_key] if isinstance(tuple_key, int) and tuple_key < len(effects.names) else tuple_key
            for tuple_key in self.muted
        ]
        return [name for name in dict.fromkeys(names) if name in effects.names]

    def _update(self, changed_params: set[str]) -> None:
        """Update the pictures that depend on changed parameters."""
        effects = self.effects
        if effects is None or self.table.empty:
            return
        row, (of, against) = min(self.row, effects.encoded.n_rows - 1), self.classes(effects)
        muted, tuple_index = self._mutes(effects), self._tuple(effects)
        study = self.study or effects

        def has_changed(*names: str) -> bool:
            return not changed_params.isdisjoint(("study", *names))

        with pn.io.hold(), self._setting:
            change(self.tuples, value=tuple_index if tuple_index in self.tuples.options.values() else None)
            for widget, widget_value in ((self.class_of, of), (self.class_against, against), (self.mutes, muted)):
                change(widget, value=widget_value)
            if has_changed("subset", "muted", "labels"):
                members = {name: effects.members(name) for name in self.table.index[: pictures.MAX_BARS]}
                picture = pictures.ranked(
                    self.table, muted, effects.names[tuple_index], members=members if self.labels == "dots" else None,
                    rows_name=effects.loss_rows, dark=self.dark,
                )  # fmt: skip
                self.ranked.show(picture, subject=study)
            if has_changed():
                by_number = self.table.reindex(effects.names)
                picture = pictures.matrix(by_number, effects.columns, effects.pure.space.members, dark=self.dark)
                self.matrix.show(picture, subject=study)
            if has_changed("subset", "quantity", "of", "against", "row", "edits"):
                self._draw_cells(self._edited(effects), tuple_index, of, against, row)
            if has_changed("subset", "of", "against", "edits"):
                self.editing.show(effects.names[tuple_index], of, against)
            if has_changed("muted", "edits"):
                self._mute(effects, muted)
            if has_changed("subset", "edits", *_ROW_PARAMS):
                self.one_row.show(self._edited(effects), int(effects.pure.space.members[tuple_index][0]))
            self._numbers.refresh()

    def _mute(self, effects: Interactions, muted_names: list[str]) -> None:
        """Show the losses without the tuples of muted_names, and on the curve of tuples kept."""
        self.losses = self._edited(effects).mute(*muted_names)
        all_losses, losses = self.losses.loc["all"], self.losses.loc["muted"]
        rows_text = "Test rows" if effects.has_heldout else "These rows"
        measures = {"log_loss": "log loss", "error": "0-1 loss", "ece": f"calibration error ({BINNING})"}
        measure_texts = [
            f"{measure_text} {losses[name]:.4f}" + (f" ({losses[name] - all_losses[name]:+.4f})" if muted_names else "")
            for name, measure_text in measures.items()
        ]
        suffix = f" without {safe(', '.join(muted_names), 300)}" if muted_names else ""
        say(self.muting, f"{rows_text}{suffix}: {'; '.join(measure_texts)}")
        loss_now = float(losses["log_loss"]) if muted_names else None
        picture = pictures.tuple_count_curve(effects.keep_best(), loss_now, effects.loss_rows, dark=self.dark)
        self.curve.show(picture, subject=self.study or effects)

    def _draw_cells(self, effects: Interactions, tuple_index: int, of: int, against: int, row: int) -> None:
        """Show the cells of a tuple: log-odds of class `of` against the class `against`."""
        has_bands = self.quantity == "pure" and self.study is not None and effects.pure.sizes[tuple_index] == 1
        label, other_label = effects.classes[of], effects.classes[against]
        name = effects.names[tuple_index]
        bands = self.study.effects(name, label=label, other_label=other_label) if has_bands else None
        picture = tuple_effect(effects, tuple_index, self.quantity, of, against, row, bands, dark=self.dark)
        self.cells.show(picture, subject=(self.study or effects, tuple_index))

    # -- numbers -------------------------------------------------------------------------------------------------------

    def _contributions_csv(self) -> str:
        provenance, recipes = self._source()
        row = {"row": self.row, "changes": self.changes}
        return "" if self.explanation is None else row_csv(self.explanation, provenance | row, recipes)

    def page(self) -> bytes:
        """Return everything shown as a self-contained HTML page with SVG pictures."""
        from alrviz.pictures.still import still_svg  # imports matplotlib, for which no page need wait

        title, source = self.origin("what carries it, and why a row is predicted so")
        pictures_html = "".join(
            f"<figure>{still_svg(figure.picture.plot().figure, name, height=380)}"
            f"<figcaption>{safe(name)}: {safe(figure.picture.labels[0], 200)}</figcaption></figure>"
            for name, figure in self._pictures.items()
            if figure.picture is not None
        )
        texts_html = (
            f"<p>{self.muting.object}</p><p>{self.one_row.text.object}</p>{numbers_html(self.table, self.effects)}"
        )
        body = f"{self.sentence.object}<div class='pictures'>{pictures_html}</div>{texts_html}"
        return page_html(safe(title, 200), f"{body}<p class='quiet'>{safe(source, 900)}</p>").encode("utf-8", "replace")


def numbers_html(table: pd.DataFrame, effects: Interactions | None) -> str:
    """Return the table of the most important tuples."""
    rows_text = "" if effects is None else f"{effects.loss_rows} "
    column_titles = ["tuple", "nats", "90 % band", "share", "structural", f"{rows_text}loss without", "cells"]
    table_rows = [
        (
            safe(name, 80), number(row.nats), _band_text(row), f"{row.share:.1%}",
            f"{row.structural:.1%}", f"{row.loss:+.4f} ± {row.loss_error:.4f}", f"{int(row.cells):,}",
        )
        for name, row in table.head(TABLE_ROWS).iterrows()
    ]  # fmt: skip
    n_hidden = len(table) - TABLE_ROWS
    foot_html = f"<tr><td colspan='7'>{n_hidden:,} more in the CSV</td></tr>" if n_hidden > 0 else ""
    return html_table(column_titles, table_rows, foot=foot_html)


def _band_text(importance: "pd.Series[Any]") -> str:
    band_low, band_high = importance.get("nats_low", np.nan), importance.get("nats_high", np.nan)
    return "—" if np.isnan(band_low) else f"{band_low:.4f} to {band_high:.4f}"
