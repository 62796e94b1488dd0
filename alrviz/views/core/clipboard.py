"""Copy a text in the browser, also from a page without HTTPS.

`navigator.clipboard` exists only on HTTPS and on localhost; a classroom reaches the server at http://192.168..., where
the old command `copy` still works. It copies what is selected; a dialog may take the focus and with it the selection,
so the text is also handed over in the event that the command raises.
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


def copy_code(text: str, done: str = "") -> str:
    """Return the script, for `js_on_click`, that copies what the expression `text` gives, and then does `done`."""
    return _COPY % (text, done)
