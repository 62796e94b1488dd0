"""The dialogs of the Convergence page: the script of "copy as Python", and the read-only link to a race."""

from collections.abc import Sequence

import panel as pn
import panel_material_ui as pmui
from param.parameterized import Event

from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.dialogs import LazyDialog, copy_button, dialog, script_dialog
from alrviz.explorer.shell.qr import local_hint, page_url, qr_html
from alrviz.explorer.shell.theme import button, html
from alrviz.explorer.widgets.scripts import script
from alrviz.fitting.recipe import Recipe
from alrviz.views.core.clipboard import copy_code

_ABSOLUTE = copy_code("new URL(source.data.value, window.location.href).href")
_SHARE = (
    "<p>Anyone with this link can watch the race (read-only). The link contains a secret code and no data. If you run "
    "another race in place of this one, the link shows that race. It works until you revoke it or the race is "
    "deleted.</p>"
)
_REVOKED = "<p>The link is revoked. Open Share again for another one.</p>"
_NO_RACE = "<p>Press Run first: only a race that was started here can be shared.</p>"


class RaceDialogs:
    """The page's dialogs; `panels` go into its layout."""

    def __init__(self, session: Session):
        self.session = session
        self._script = script_dialog()
        self._link = pmui.TextInput(label="Read-only link", sizing_mode="stretch_width", margin=(12, 0, 8, 0))
        self._keep = pmui.Switch(label="Let this race continue when I close the page", margin=(8, 0))
        self._keep.param.watch(self._on_keep, "value")
        self._text = html()
        self._code = html((0, 0, 8, 0))
        self._copy_link = copy_button("Copy the link", self._link, _ABSOLUTE)
        self._revoke_button = button(
            "Revoke link", self._revoke, icon="link_off", variant="outlined", margin=(8, 0, 8, 8)
        )
        buttons = pn.Row(self._copy_link, self._revoke_button, margin=0)
        dialog_parts = (self._text, self._link, buttons, self._keep, self._code)
        self._share = LazyDialog(lambda: dialog("Share this race", "sm", *dialog_parts))
        self.panels = (self._script.place, self._share.place)

    def show_script(self, recipes: Sequence[Recipe], version: str) -> None:
        """Show the script for the current settings."""
        self._script.show(script(self.session, recipes, version))

    def show_share(self) -> None:
        """Show the link to the current race; there is none before a race was started."""
        entry = self.session.runs.entry
        self._show_link(entry is not None)
        if entry is None:
            self._text.object = _NO_RACE
        else:
            self._text.object = _SHARE + local_hint()
            self._link.value = page_url(f"race/{self.session.registry.share_link(entry)}")
            self._code.object = qr_html(self._link.value, show_link=False)
            self._keep.value = entry.keep
        self._share.open()

    def _show_link(self, visible: bool) -> None:
        for widget in (self._link, self._code, self._copy_link, self._revoke_button, self._keep):
            widget.visible = visible

    def _revoke(self) -> None:
        if self.session.runs.entry is not None:
            self.session.registry.revoke_link(self.session.runs.entry)
        self._show_link(False)
        self._link.value, self._text.object = "", _REVOKED

    def _on_keep(self, event: Event) -> None:
        if self.session.runs.entry is not None:
            self.session.runs.entry.keep = bool(event.new)
