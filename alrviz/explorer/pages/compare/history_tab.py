"""The tab "History" of Compare: the owner's saved runs, to be opened, raced again, compared, exported, deleted.

A list, the latest first, with the details of the selected run beside it. The store is read on a thread.
"""

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from alrviz.errors import AlrvizError, for_page, plural
from alrviz.explorer.page import Tab
from alrviz.explorer.server.run_store import open_run_store, store_problem
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.theme import CARD, button, html
from alrviz.explorer.widgets.run_history import (
    HistoryItem,
    export_csv,
    load_history,
    noun_and_icon,
    summary_line,
)
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.formatting import bytes_text
from alrviz.studies.core.names import short_names
from alrviz.views.core.panes import Updating, say
from alrviz.views.core.saving import csv_button
from alrviz.views.core.style import safe

RUNS_PER_PAGE = 40  # runs listed before "More" is pressed
EMPTY = (
    "<p><b>No runs yet.</b></p><p class='quiet'>The races, maps and studies that you run are saved here, also after a "
    "restart of the server. Press Run on any page.</p>"
)
# {} is the reason, a clause.
NOT_SAVED = (
    "<p class='bad'><b>Runs are not saved:</b> {}.</p><p class='quiet'>Races and studies work as usual, but they are "
    "lost when the server stops. Whoever runs the server finds more in its log.</p>"
)
LOADING = "<p class='quiet'>Loading your runs …</p>"
# In a narrow window the details are below the list: scroll to them.
SCROLL_JS = "setTimeout(() => window.alrvizFirst('.alrviz-detail')?.scrollIntoView({block: 'nearest'}), 300);"
DELETE, CONFIRM_DELETE = "Delete", "Delete: press again"


class HistoryTab(Tab):
    """The list of runs and the details of one."""

    slug = "history"

    def __init__(self, session: Session):
        super().__init__(session)
        self.items: list[HistoryItem] = []
        self._n_listed = RUNS_PER_PAGE
        self._deletion_id = ""  # the run whose Delete was pressed once
        self._listing = Updating()
        self._n_pruned = 0  # runs of this owner that were deleted to free space
        self._has_loaded = False
        self._problem = ""  # why runs are not saved

    def build(self) -> tuple[Viewable, Viewable]:
        """Build the widgets; return the row of menus, which is empty, and everything below it."""
        self.list = pmui.MenuList(items=[], active=0, dense=True, label="Runs", sizing_mode="stretch_width", margin=0)
        self.list.param.watch(lambda _: self._turn(), "active")
        self.more_button = button("More", self._show_more, variant="text", size="small", visible=False, margin=(4, 0))
        self.description, self.status = html(), html()  # of the run that is chosen, and of the list
        self.open = _link("Open", "open_in_browser", "Open: go to its page, with its table and settings", "contained")
        self.race_again = _link("Race again", "replay", "Race again: fit the same models again")
        self.compare = _link("Compare", "compare_arrows", "Compare: cross-validate its models on its data sets")
        self.csv = csv_button("alrviz-run.csv", self._csv, "all its numbers")
        self.csv.param.update(variant="outlined", margin=(0, 8, 8, 0))
        self.delete = button(
            DELETE, self._delete, icon="delete", description=f"{DELETE}: remove it from your saved runs",
            variant="outlined", color="error", size="small", margin=(0, 8, 8, 0),
        )  # fmt: skip
        self.buttons = pn.FlexBox(self.open, self.race_again, self.compare, self.csv, self.delete, margin=(12, 0, 0, 0))
        list_card = pn.Column(
            self.status, self.list, self.more_button, sizing_mode="stretch_width", margin=0, styles=CARD
        )
        self.detail = pn.Column(
            self.description, self.buttons, width=476, margin=(0, 0, 0, 16), styles=CARD, css_classes=["alrviz-detail"]
        )
        self.list.jscallback(active=SCROLL_JS)
        self._show_item()
        return pn.Row(margin=0), pn.Row(list_card, self.detail, sizing_mode="stretch_width", margin=0)

    # ---- the list --------------------------------------------------------------------------------------------------

    def on_shown(self) -> None:
        """Read the saved runs on a thread."""
        owner = self.session.owner
        self.tasks.start("history", lambda stop: (load_history(owner), store_problem()), self._take_items)

    def _take_items(self, loaded: tuple[tuple[list[HistoryItem], int], str]) -> None:
        """Show the history. loaded: (items, number of deleted runs), and why runs are not saved ("" if they are)."""
        selected = self.item
        (self.items, self._n_pruned), self._problem = loaded
        self._has_loaded = True
        ids = [item.run.id for item in self.items]
        self._list_runs(ids.index(selected.run.id) if selected is not None and selected.run.id in ids else 0)

    def _list_runs(self, selected_position: int = 0) -> None:
        listed_items = self.items[: self._n_listed]
        with self._listing:
            self.list.items = [
                {
                    "label": item.title, "secondary": f"{item.names} · {summary_line(item)}",
                    "icon": noun_and_icon(item.run.kind)[1],
                }
                for item in listed_items
            ]  # fmt: skip
            self.list.active = min(selected_position, len(listed_items) - 1) if listed_items else None
        self.more_button.visible = len(self.items) > len(listed_items)
        self._show_item()

    def _show_more(self) -> None:
        self._n_listed += RUNS_PER_PAGE
        self._list_runs(self._active)

    @property
    def _active(self) -> int:
        active = self.list.active
        return int(active[0] if isinstance(active, tuple | list) else active or 0)

    @property
    def item(self) -> HistoryItem | None:
        """The selected run."""
        return self.items[self._active] if self._active < len(self.items) else None

    # ---- the selected run ------------------------------------------------------------------------------------------

    def _turn(self) -> None:
        if not self._listing:
            self._show_item()

    def _show_item(self) -> None:
        """Show the selected run, or why there is none."""
        item = self.item
        self._deletion_id = ""
        self.list.visible = self.detail.visible = item is not None
        problem_html = NOT_SAVED.format(safe(self._problem)) if self._problem else ""
        empty_html = EMPTY + pruned_html(self._n_pruned) if self._has_loaded else LOADING
        say(self.status, problem_html or ("" if item is not None else empty_html))
        self.status.visible = bool(problem_html) or item is None
        if item is None:
            return
        stored_bytes = sum(run.size for run in self.items)
        say(self.description, item_html(item, stored_bytes, len(self.items)) + pruned_html(self._n_pruned))
        for link_button, link in (
            (self.open, item.link),
            (self.race_again, item.race_again),
            (self.compare, item.compare),
        ):
            link_button.param.update(href=link or None, visible=bool(link))
        self.csv.filename = f"alrviz-{item.run.kind.replace('_', '-')}-{item.run.id[:8]}.csv"
        self.delete.label = DELETE

    def _csv(self) -> str:
        try:
            return "" if self.item is None else export_csv(self.item.run)
        except AlrvizError as error:  # damaged on the disk
            self.session.problem = error
            return f"# {for_page(error)}\n"

    def _delete(self) -> None:
        """Delete the selected run at the second press."""
        item = self.item
        if item is None:
            return
        if self._deletion_id != item.run.id:
            self._deletion_id, self.delete.label = item.run.id, CONFIRM_DELETE
            return
        owner, id = self.session.owner, item.run.id
        self.items = [run for run in self.items if run.run.id != id]
        self._list_runs(self._active)
        # One task per run: a second deletion under the same name would cancel the first.
        self.tasks.start(f"delete {id}", lambda stop: open_run_store().delete(owner, id), lambda _: self.on_shown())


def _link(label: str, icon: str, hint: str, variant: str = "outlined") -> pmui.Button:
    return pmui.Button(
        label=label, icon=icon, description=hint, variant=variant, size="small", target="_self", margin=(0, 8, 8, 0)
    )


def item_html(item: HistoryItem, stored_bytes: int, n_runs: int) -> str:
    """Return the details of a run: recipes, table, state, version; and the size of all saved runs."""
    run = item.run
    recipes_html = "".join(
        f"<li>{safe(name, 80)} <span class='quiet'>{safe(_settings_text(recipe), 300)}</span></li>"
        for name, recipe in zip(short_names(item.recipes), item.recipes, strict=True)
    )
    origin_html = "" if run.link else "<p class='quiet'>Run outside the explorer: only its numbers can be exported.</p>"
    return (
        f"<h2>{safe(noun_and_icon(run.kind)[0].capitalize())} on {safe(run.data_name, 120)}</h2>"
        f"<p>{safe(summary_line(item))}<br><span "
        f"class='quiet'>{safe(run.sentence, 300)}</span></p><ul>{recipes_html}</ul>"
        f"<p class='quiet'>table {safe(run.data_hash[:16])} · alrviz {safe(run.version, 40)}</p>{origin_html}"
        f"<p class='quiet'>{plural(n_runs, 'run')} saved, {bytes_text(stored_bytes)} in all.</p>"
    )


def pruned_html(n_deleted: int) -> str:
    """Return a line on the runs that were deleted to free space; "" if none were."""
    if not n_deleted:
        return ""
    runs = plural(n_deleted, "older run was", "older runs were")
    return f"<p class='quiet'>{runs} deleted to make room: the run store was full.</p>"


def _settings_text(recipe: Recipe) -> str:
    """Return the order and the settings that are not defaults, in words."""
    params = recipe.definition.params
    settings = {
        name: value for name, value in recipe.params.items() if name == "order" or value != params[name].default
    }
    prefix_by_name = {"order": "n ="}
    return ", ".join(
        f"{prefix_by_name.get(name, name.replace('_', ' '))} {f'{value:g}' if isinstance(value, float) else value}"
        for name, value in settings.items()
    )
