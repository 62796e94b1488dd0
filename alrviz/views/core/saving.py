"""Buttons that save a picture as PNG or SVG, or a file made by the server: CSV, replay, model.

A click is handled by the server, which sends a job as JSON to the browser in a property of the button. This avoids two
bugs of Panel: its FileDownload sends nothing if the file equals the one sent before, and a JavaScript click handler
does not work in parts added after the page was opened.
"""

import base64
import json
import mimetypes
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import panel_material_ui as pmui
import param

from alrviz import __version__
from alrviz.studies.core.export import caption

MIN_PIXEL_RATIO = 2  # pixels of a PNG per CSS pixel: on a slide it is shown larger than on the page


class Origin(NamedTuple):
    """Text around a saved picture.

    Attributes:
        title: the line above.
        made_from: the line below: data, settings, version.
    """

    title: str
    made_from: str = ""


def by_version() -> str:
    """Return the provenance line of a picture of unknown data: alrviz's version."""
    return caption({"alrviz": __version__})


# A page may hold several figures of one name: all but one were replaced, and have no view or an invisible one.
# The saved picture has two layers: Bokeh's export, and title and provenance, wrapped to its width.
_SAVE = """
const job = JSON.parse(cb_obj.job);
function keep(blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = job.file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
function bytes(text) { return Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0)); }
function picture() {
  for (const doc of Bokeh.documents)
    for (const model of doc._all_models.values()) {
      const view = model.name === job.figure ? Bokeh.index.find_one(model) : null;
      if (view && view.export && view.el.getClientRects().length) return view;
    }
  return null;
}
const FONT = "Roboto, Helvetica, Arial, sans-serif", EDGE = 12;
const TITLE = {size: 18, step: 24, font: "600 18px " + FONT}, SMALL = {size: 12, step: 16, font: "400 12px " + FONT};
function broken(text, style, width) {
  const pen = document.createElement("canvas").getContext("2d"), lines = [];
  pen.font = style.font;
  for (const word of text.split(" ").filter(Boolean)) {
    const longer = lines.length ? lines[lines.length - 1] + " " + word : word;
    if (lines.length && pen.measureText(longer).width <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}
function ground(el) {
  for (let at = el; at; at = at.parentElement || (at.getRootNode() && at.getRootNode().host) || null) {
    const colour = getComputedStyle(at).backgroundColor;
    if (colour && !/^(transparent|rgba\\(.*, 0\\))$/.test(colour)) return colour;
  }
  return "#ffffff";
}
function save_picture() {
  const view = picture();
  if (!view) throw new Error("there is no picture " + job.figure + " on this page");
  const {width, height} = view.bbox, colour = ground(view.el), ink = getComputedStyle(view.el).color || "#000";
  const above = broken(job.title, TITLE, width - 2 * EDGE), below = broken(job.made_from, SMALL, width - 2 * EDGE);
  const top = above.length ? above.length * TITLE.step + EDGE : 0;
  const all = top + height + (below.length ? below.length * SMALL.step + EDGE : 0);
  const words = [...above.map((text, k) => [text, TITLE, EDGE / 2 + k * TITLE.step + TITLE.size]),
    ...below.map((text, k) => [text, SMALL, top + height + EDGE / 2 + k * SMALL.step + SMALL.size - 4])];
  if (job.kind === "svg") {
    const NS = "http://www.w3.org/2000/svg", outer = document.createElementNS(NS, "svg");
    const add = (name, attributes) => {
      const part = document.createElementNS(NS, name);
      for (const [key, value] of Object.entries(attributes)) part.setAttribute(key, value);
      outer.append(part);
      return part;
    };
    for (const [key, value] of Object.entries({width, height: all, viewBox: `0 0 ${width} ${all}`}))
      outer.setAttribute(key, value);
    add("rect", {width, height: all, fill: colour});
    const inner = new DOMParser().parseFromString(view.export("svg").ctx.get_serialized_svg(true), "image/svg+xml");
    const drawn = document.importNode(inner.documentElement, true);
    drawn.setAttribute("y", top);
    outer.append(drawn);
    for (const [text, style, y] of words)
      add("text", {x: EDGE, y, fill: ink, "font-family": FONT, "font-size": style.size,
        "font-weight": style === TITLE ? 600 : 400}).textContent = text;
    // Every text is as wide as here, whatever font it is shown in where there is no Roboto.
    outer.style.position = "absolute";
    document.body.append(outer);
    for (const text of outer.querySelectorAll("text")) {
      const length = text.getComputedTextLength();
      if (!length) continue;
      text.setAttribute("textLength", length.toFixed(1));
      text.setAttribute("lengthAdjust", "spacingAndGlyphs");
    }
    outer.remove();
    outer.removeAttribute("style");
    return keep(new Blob([new XMLSerializer().serializeToString(outer)], {type: "image/svg+xml"}));
  }
  // Bokeh takes the number of pixels from the window, and draws before export() returns.
  const ratio = Math.max(job.pixels, window.devicePixelRatio || 1);
  const own = Object.getOwnPropertyDescriptor(window, "devicePixelRatio");
  Object.defineProperty(window, "devicePixelRatio", {value: ratio, configurable: true});
  let layer;
  try { layer = view.export("png"); }
  finally {
    delete window.devicePixelRatio;
    if (own) Object.defineProperty(window, "devicePixelRatio", own);
  }
  const canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
  canvas.width = Math.round(width * ratio); canvas.height = Math.round(all * ratio);
  pen.fillStyle = colour; pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(layer.canvas, 0, Math.round(top * ratio));
  pen.scale(ratio, ratio); pen.fillStyle = ink;
  for (const [text, style, y] of words) { pen.font = style.font; pen.fillText(text, EDGE, y); }
  canvas.toBlob(keep, "image/png");
}
if (job.kind === "file") keep(new Blob([bytes(job.data)], {type: job.type}));
else if (job.kind) save_picture();
"""


class SaveButton(pmui.Button):
    """Button whose click makes a file or picture and lets the browser save it."""

    job = param.String(default="{}", doc="The job for the browser, as JSON; unique for each click.")
    filename = param.String(default="", doc="The name of the file.")

    _rename = {"filename": None}  # noqa: RUF012 - Panel's own convention

    def __init__(self, make: Callable[[], dict[str, Any] | None], **params: Any):
        super().__init__(**{"variant": "text", "size": "small", "margin": 0, **params})
        self._make, self._presses = make, 0
        self.jscallback(job=_SAVE)
        self.on_click(lambda _: self.press())

    def press(self) -> None:
        """Send a job to the browser, unless there is nothing to save."""
        browser_job = self._make()
        if browser_job is not None:
            self._presses += 1
            self.job = json.dumps({"press": self._presses, "file": self.filename, **browser_job})


def figure_buttons(
    figure: str, file: str, subject: str, origin: Callable[[], Origin], with_names: bool = False
) -> list[Any]:
    """Return the buttons PNG and SVG of a figure.

    Args:
        figure: name of the Bokeh figure.
        file: name of the saved file without its ending.
        subject: what the figure shows ("the picture of the race").
        origin: returns title and provenance of the saved picture.
        with_names: whether labels contain `subject`, needed where there are several pictures.
    """

    def job(kind: str) -> dict[str, Any]:
        return {"kind": kind, "figure": figure, "pixels": MIN_PIXEL_RATIO, **origin()._asdict()}

    buttons = []
    for kind in ("png", "svg"):
        label = f"{kind.upper()} of {subject}" if with_names else kind.upper()
        hint = f"{label}: save {'this picture' if with_names else subject}"
        buttons.append(SaveButton(partial(job, kind), label=label, filename=f"{file}.{kind}", description=hint))
    return buttons


def csv_button(filename: str, numbers: Callable[[], str], description: str, label: str = "CSV") -> Any:
    """Return a button, `label`, that saves the text returned by `numbers` as `filename`.

    description: completes "save ...".
    """
    return file_button(filename, lambda: numbers().encode(), description, label)


def file_button(filename: str, make_bytes: Callable[[], bytes], description: str, label: str, **params: Any) -> Any:
    """Return a button that saves the bytes returned by `make_bytes`.

    Args:
        filename: name of the file; its ending determines the media type.
        make_bytes: called at each click.
        description: completes "save ..." in the tooltip.
        label: words on the button.
        params: parameters of Panel's Button.
    """
    media_type = mimetypes.guess_type(filename)[0] or "application/octet-stream"

    def job() -> dict[str, Any]:
        return {"kind": "file", "type": media_type, "data": base64.b64encode(make_bytes()).decode("ascii")}

    hint = f"{label}: save {description}"
    button = SaveButton(job, label=label, filename=filename, description=hint, icon="download", **params)
    button.make_bytes = make_bytes
    return button
