"""A widget's browser tells the server of what its reader did, and of nothing else.

Panel (1.9) keeps every value of a React component twice, in the model and in React's state, and writes the state back
to the model after it was drawn, whoever had set it. Of two values that the server gives quickly after each other the
first comes back when the second is there: a film stood still at a step it had shown, a menu took back a choice. No
clock can tell such an echo from a hand: a busy browser repeats what it was given many seconds ago. So what the server
gave is not written back; what the component itself sets, at a reader's press or key, is.

`STATE_SYNC` is the script; it must run before a page's components are made, and may run twice.
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
    """Let the page that is being made for a session load the script; a page that stands already is not changed."""
    document = pn.state.curdoc
    if document is not None and document.session_context is not None:
        pn.config.js_files["alrviz-state-sync"] = _URL
