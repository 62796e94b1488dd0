"""Patch Panel's React components so that browsers report only changes made by the reader.

Panel (1.9) keeps every value of a React component twice, in the model and in React's state, and writes the state back
to the model after rendering, no matter who set it. If the server sets two values in quick succession, the echo of the
first overwrites the second: a film froze at a step already shown, a menu reverted a choice. Timing cannot tell an echo
from a click, because a busy browser may echo many seconds late. With the patch, values set by the server are not
written back, only those set by the component itself after a click or key.

`STATE_SYNC` is the script. It must run before a page's components are created, and may run twice.
"""

import base64

import panel as pn

STATE_SYNC = r"""
(() => {
  const changes = [
    ["let initialized = React.useRef(false)", `$&
          const own = React.useRef({}).current
          own.set ??= (next) => setValue((old) => {
            const value = typeof next === "function" ? next(old) : next
            if (!Object.is(old, value)) own.unsent = { value }
            return value
          })`],
    ["targetModel.setv({ [resolvedProp]: value })", `if (own.unsent && Object.is(own.unsent.value, value)) {
                own.unsent = null
                targetModel.setv({ [resolvedProp]: value })
              }`],
    ["return [value, setValue]", "return [value, own.set]"],
  ];
  const mend = () => {
    const { prototype } = Bokeh.Models.get("panel.models.esm.ReactComponent");
    const render = prototype._render_code;
    if (render.mended) return;
    prototype._render_code = function () {
      let code = render.call(this);
      for (const [old, now] of changes) {
        if (!code.includes(old)) console.error(`alrviz: this Panel's components have no "${old}"`);
        code = code.replace(old, now);
      }
      return code;
    };
    prototype._render_code.mended = true;
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", mend);
  else mend();
})();
"""
_URL = "data:text/javascript;base64," + base64.b64encode(STATE_SYNC.encode()).decode("ascii")


def add_to_page() -> None:
    """Make the page of the current session load the script; a page that is already open is not changed."""
    document = pn.state.curdoc
    if document is not None and document.session_context is not None:
        pn.config.js_files["alrviz-state-sync"] = _URL
