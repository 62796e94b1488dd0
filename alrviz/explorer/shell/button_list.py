"""Buttons of the frame as one component of plain HTML.

A button of panel-material-ui is a React tree with a theme and a style cache of its own: 6 ms of the server's processor
and 10 of the browser's, each time a page is opened. The frame has a dozen buttons that only ever do one thing.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import param
from panel.custom import JSComponent

from alrviz.explorer.shell.theme import PANE_CSS
from alrviz.views.core.style import ICONS

_ESM = """
export function render({ model }) {
  const list = document.createElement("div");
  list.className = model.upright ? "rail" : "row";
  const made = new Map();
  let group = "";
  for (const { key, label, icon, title, code, mark } of model.buttons) {
    if (title && title !== group) {
      const head = Object.assign(document.createElement("h2"), { className: "quiet", textContent: group = title });
      list.append(head);
    }
    const button = Object.assign(document.createElement("button"), { type: "button", className: mark });
    const sign = Object.assign(document.createElement("span"), { className: "material-icons", textContent: icon });
    sign.setAttribute("aria-hidden", "true");
    button.append(sign);
    if (model.upright) button.append(label);
    else {
      button.setAttribute("aria-label", label);
      button.dataset.tip = label;
    }
    const act = code ? new Function(code) : () => model.send_msg(key);
    button.addEventListener("click", () => act());
    made.set(key, button);
    list.append(button);
  }
  const show = () => {
    for (const [key, button] of made) {
      const here = key === model.here;
      button.classList.toggle("alrviz-here", here);
      if (here) button.setAttribute("aria-current", "page");
      else button.removeAttribute("aria-current");
    }
  };
  model.on("here", show);
  show();
  return list;
}
"""

_CSS = """
button { display: flex; align-items: center; position: relative; border: 0; background: none; cursor: pointer;
  font: 500 1rem/1.3 Roboto, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif; color: var(--alrviz-text); }
button:focus-visible { outline: 3px solid var(--alrviz-accent); outline-offset: 1px; }
button:hover { background: color-mix(in srgb, var(--alrviz-accent) 8%, transparent); }
.material-icons { flex: none; overflow: hidden; user-select: none; }
.rail { display: flex; flex-direction: column; }
.rail h2 { margin: 18px 0 4px 18px; }
.rail button { margin: 2px 8px; padding: 8px 12px 8px 8px; border-radius: 6px; text-align: left; }
.rail .material-icons { width: 22px; font-size: 22px; margin-right: 8px; }
.rail .alrviz-here { color: var(--alrviz-accent); font-weight: 700;
  background: color-mix(in srgb, var(--alrviz-accent) 14%, transparent); }
.rail .alrviz-here:hover { background: color-mix(in srgb, var(--alrviz-accent) 20%, transparent); }
.row { display: flex; }
.row button { padding: 8px; border-radius: 50%; color: var(--alrviz-quiet); }
.row .material-icons { width: 24px; font-size: 24px; }
.row button::after { content: attr(data-tip); position: absolute; top: calc(100% + 8px); right: 0; z-index: 1500;
  width: max-content; max-width: 300px; padding: 4px 8px; border-radius: 4px; pointer-events: none; opacity: 0;
  font: 500 .9375rem/1.45 Roboto, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif; text-align: left;
  color: #fff; background: rgba(97, 97, 97, .96); transition: opacity .2s .1s; }
.row button[class~=alrviz-menu]::after { left: 0; right: auto; }
.row button:hover::after, .row button:focus-visible::after { opacity: 1; }
"""


@dataclass(frozen=True)
class Button:
    """A button: its key, its name, its icon (Material's), the title of its group, in a rail.

    code: a script that runs in the browser instead of telling the server. mark: its CSS class.
    """

    key: str
    label: str
    icon: str
    title: str = ""
    code: str = ""
    mark: str = ""


class ButtonList(JSComponent):
    """Buttons beside each other, or upright with their names, in groups, one of which may be where the reader is.

    Args:
        buttons: in their order.
        pressed: called with the key of a button that has no script of its own.
    """

    buttons = param.List(default=[], doc="The buttons, as dictionaries.")
    here = param.String(default="", doc="Key of the button that stands for the page shown.")
    upright = param.Boolean(default=False, doc="Whether they stand in a column, with their names.")

    _esm = _ESM

    def __init__(self, buttons: Sequence[Button], pressed: Callable[[str], None] = lambda key: None, **params: Any):
        self._pressed = pressed
        super().__init__(
            buttons=[asdict(button) for button in buttons], stylesheets=[PANE_CSS, ICONS, _CSS], margin=0, **params
        )

    def _handle_msg(self, msg: Any) -> None:
        if any(button["key"] == msg and not button["code"] for button in self.buttons):
            self._pressed(msg)
