"""Copy a text in the browser, also from a page without HTTPS.

`navigator.clipboard` exists only on HTTPS and on localhost. A classroom reaches the server at http://192.168..., where
the old command `copy` still works. That command copies the selection, which a dialog may clear by taking the focus, so
the handler of its `copy` event sets the text as well.
"""

_COPY = """
const text = %s
const byCommand = () => {
  const area = document.createElement("textarea")
  area.value = text
  area.style.cssText = "position: fixed; opacity: 0"
  document.body.appendChild(area)
  const handOver = (event) => {
    event.clipboardData.setData("text/plain", text)
    event.preventDefault()
    event.stopImmediatePropagation()
  }
  document.addEventListener("copy", handOver, {capture: true})
  area.select()
  document.execCommand("copy")
  document.removeEventListener("copy", handOver, {capture: true})
  area.remove()
}
const done = () => { %s }
if (navigator.clipboard) navigator.clipboard.writeText(text).catch(byCommand).then(done)
else { byCommand(); done() }
"""


def copy_code(text: str, on_copied: str = "") -> str:
    """Return a script for `js_on_click`.

    Args:
        text: JavaScript expression; its value is copied.
        on_copied: JavaScript statements that run afterwards.
    """
    return _COPY % (text, on_copied)
