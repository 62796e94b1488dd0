"""Controls of InteractionsView that correct the shown effect by hand, with the price on held-out rows in view."""

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from alrviz.errors import AlrvizError, capitalize, plural
from alrviz.estimators.model_file import save_model
from alrviz.pictures.interactions import MAX_LEVELS_WITH_BARS
from alrviz.pictures.picture import Picture
from alrviz.studies.effects.edits import Edits
from alrviz.studies.effects.interactions import Interactions
from alrviz.studies.effects.row_explanation import JOIN
from alrviz.studies.statistics.measures import loss_text
from alrviz.views.core.collapsible import Collapsible
from alrviz.views.core.panes import Updating, html, say
from alrviz.views.core.saving import file_button
from alrviz.views.core.style import safe
from alrviz.views.core.transport import change

MAX_MENU_ITEMS = 400


class EditPart:
    """Menu of the shown tuple's cells, the value to set, and buttons that make the tuple's column monotone or flat.

    Attributes:
        body: the layout.
        edits: the edits of the effects shown; None without any.
        effects: the effects with the edits.
    """

    def __init__(self, on_edit: Callable[[], None]):
        self._on_edit, self._setting = on_edit, Updating()
        self.edits: Edits | None = None
        self.effects: Interactions | None = None
        self._original: Interactions | None = None
        self._name, self._of, self._against = "", 1, 0
        self._cells: list[tuple[str, ...]] = []  # levels of all cells of the tuple that can be changed
        small: dict[str, Any] = {"size": "small", "margin": (0, 10, 0, 0)}
        self.cell = pmui.Select(label="Cell", options={}, width=230, **small)
        self.value = pmui.FloatInput(label="Log-odds", value=0.0, step=0.1, width=130, **small)
        self.set, self.rising, self.falling, self.flat, self.undo = (
            pmui.Button(label=label, variant="outlined", **small)
            for label in ("Set", "Make rising", "Make falling", "Flatten", "Undo")
        )
        self.keep = file_button(
            "alrviz-edited.zip", self._file, "the edited model, with the log of edits", "Save (.zip)"
        )
        self.text = html(margin=(8, 0, 0, 0))
        self.cell.param.watch(lambda _: self._show_value(), "value")
        self.set.on_click(lambda _: self._edit(self._set))
        self.rising.on_click(lambda _: self._edit(lambda edits: self._make_monotone(edits, "increasing")))
        self.falling.on_click(lambda _: self._edit(lambda edits: self._make_monotone(edits, "decreasing")))
        self.flat.on_click(lambda _: self._edit(lambda edits: edits.flatten(self._name)))
        self.undo.on_click(lambda _: self._edit(Edits.undo))
        controls = (self.cell, self.value, self.set, self.rising, self.falling, self.flat, self.undo, self.keep)
        controls_box = pn.FlexBox(*controls, align_items="center", gap="10px 0", margin=(4, 0, 0, 0))
        self.body = Collapsible("Correct this effect by hand", controls_box, self.text)

    @property
    def provenance(self) -> dict[str, str]:
        """The edits in words, for saved numbers and pictures; {} without any."""
        return {"edits by hand": "; ".join(self.edits.steps)} if self.edits is not None and self.edits.steps else {}

    def begin(self, effects: Interactions) -> None:
        """Start an empty list of edits of a model."""
        self._original = self.effects = effects
        self.edits = effects.edits() if effects.is_editable else None
        self.undo.visible = self.keep.visible = False

    def show(self, name: str, of: int, against: int) -> None:
        """Offer the cells of the tuple `name` for the log-odds of class number `of` against class `against`."""
        self._name, self._of, self._against = name, of, against
        if self.edits is None or self.effects is None:
            self._offer([], False)
            say(self.text, "<span class='quiet'>This model has no table whose cells could be changed.</span>")
            return
        cells, members = self.edits.values(name).index, self.effects.members(name)
        has_order = len(members) == 1 and self.edits.has_order(members[0])
        self._offer(list(cells if len(members) > 1 else zip(cells, strict=True)), has_order)
        self._show_value()
        self._show_price()

    def choose(self, picture: Picture | None, x: float, y: float) -> None:
        """Choose the cell at a point of the picture of the tuple, if it can be changed."""
        if picture is None or self.effects is None:
            return
        levels = levels_at(picture, x, y, self.effects.members(self._name))
        if levels in self._cells:
            self.body.open = True
            if levels not in self.cell.options.values():
                self.cell.options = {**self.cell.options, JOIN.join(levels): levels}
            self.cell.value = levels

    def _offer(self, cells: list[tuple[str, ...]], has_order: bool) -> None:
        """Fill the menu with cells, of many the first and the chosen one; offer what can be done with the tuple."""
        self._cells, chosen = cells, self.cell.value
        offered = cells[:MAX_MENU_ITEMS]
        offered += [chosen] if chosen in cells and chosen not in offered else []
        options = {JOIN.join(levels): levels for levels in offered}
        with self._setting:
            if self.cell.options != options:
                self.cell.options = options
            change(self.cell, value=chosen if chosen in cells else next(iter(cells), None))
        self.rising.visible = self.falling.visible = has_order
        for widget in (self.set, self.value, self.cell, self.flat):
            widget.disabled = not cells

    def _log_odds(self, edits: Edits) -> float:
        """Return the log-odds of the two classes that the chosen cell adds."""
        values = edits.values(self._name).drop(columns="rows").to_numpy()
        of, against = values[self._cells.index(self.cell.value)][[self._of, self._against]]
        return float((of - against) * (1 - 1 / values.shape[1]))  # a value is less the mean of the other classes

    def _show_value(self) -> None:
        if not self._setting and self.edits is not None and self.cell.value is not None:
            change(self.value, value=round(self._log_odds(self.edits), 3))

    def _set(self, edits: Edits) -> None:
        effects, classes = self.effects, self._classes
        if effects is None or self.cell.value is None or self.value.value is None:
            return
        label = classes[self._of]
        value = float(edits.values(self._name)[label].iloc[self._cells.index(self.cell.value)])
        cell = dict(zip(effects.members(self._name), self.cell.value, strict=True))
        edits.set(cell, value + self.value.value - self._log_odds(edits), label)

    def _make_monotone(self, edits: Edits, direction: str) -> None:
        assert self.effects is not None
        edits.monotone(self.effects.members(self._name)[0], direction, self._classes[self._of])

    @property
    def _classes(self) -> list[Any]:
        assert self.effects is not None
        classes: list[Any] = self.effects.classes.tolist()
        return classes

    def _edit(self, work: Callable[[Edits], None]) -> None:
        """Do or undo an edit, and show the effects with it; an error is shown in place of the price."""
        if self.edits is None or self._original is None:
            return
        try:
            work(self.edits)
        except AlrvizError as error:
            say(self.text, f"<span class='bad'>{safe(str(error), 400)}</span>")
            return
        self.effects = self._original.edited(self.edits)
        self._on_edit()

    def _show_price(self) -> None:
        edits, effects = self.edits, self.effects
        assert edits is not None
        assert effects is not None
        self.undo.visible = self.keep.visible = bool(edits.steps)
        of, against = (safe(str(self._classes[k]), 40) for k in (self._of, self._against))
        if not edits.steps:
            hints = [f"let P({of}) only rise or only fall along the column"] if self.rising.visible else []
            if self._cells:
                cell_hint = "choose a cell, here or by a press on the picture, and set what it adds to the log-odds of"
                hints.insert(0, f"{cell_hint} {of} against {against}")
            hint = (
                "; or ".join(hints) or "the model's table has this effect only in larger tuples, whose cells can be set"
            )
            say(self.text, f"<span class='quiet'>{capitalize(hint)}.</span>")
            return
        price = edits.price
        texts = [
            f"{words} {loss_text(price.loc[name, 'before'])} → <b>{loss_text(price.loc[name, 'after'])}</b> "
            f"({price.loc[name, 'change']:+.4f} ± {price.loc[name, 'standard_error']:.4f})"
            for name, words in (("log_loss", "log loss"), ("error", "error"))
        ]
        rows_text = "Test rows" if effects.has_heldout else "These rows"
        steps_text = f"{plural(len(edits.steps), 'edit')}, latest first: {safe('; '.join(edits.steps[:-4:-1]), 300)}"
        say(
            self.text,
            f"{rows_text}: {', '.join(texts)}. <span class='quiet'>{steps_text}. "
            "Ranking, whiskers and the curve are those of the fitted model.</span>",
        )

    def _file(self) -> bytes:
        """Return the edited model as a file."""
        assert self.edits is not None
        file = io.BytesIO()
        save_model(self.edits.model, file)
        return file.getvalue()


def levels_at(picture: Picture, x: float, y: float, members: Sequence[str]) -> tuple[str, ...] | None:
    """Return the levels of the bar, step or cell at a point of the picture of a tuple; None if there is none.

    members: names of its columns. The panel of a third column is titled "name = level".
    """
    if "bars" in picture.data:
        names = list(picture["bars"]["name"])
        i = int(np.floor(x)) if len(names) > MAX_LEVELS_WITH_BARS else len(names) - 1 - int(np.floor(y))
        return (names[i],) if 0 <= i < len(names) else None
    cells = picture["cells"]
    (inside,) = np.nonzero((cells["left"] <= x) & (x <= cells["right"]) & (cells["bottom"] <= y) & (y <= cells["top"]))
    if not len(inside):
        return None
    i = int(inside[0])
    panel = cells["panel"][i]
    return cells["up"][i], cells["across"][i], *([panel.removeprefix(f"{members[2]} = ")] if panel else [])
