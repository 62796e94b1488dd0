"""Buttons that save a picture as PNG or SVG, and its numbers as CSV."""

import io
from collections.abc import Callable, Sequence
from typing import Any

import panel_material_ui as pmui

# The figure is found by its name in whichever document holds it: a page may show several.
_SAVE = """
const {name, kind, file} = {name: %r, kind: %r, file: %r};
for (const doc of Bokeh.documents) {
  const model = doc.get_model_by_name(name);
  const view = model && Bokeh.index.find_one(model);
  if (!view) continue;
  view.export(kind).to_blob().then((blob) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = file + "." + kind;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
  break;
}
"""


def save_buttons(figure: str, file: str, what: str, numbers: Callable[[], str], told: str) -> list[Any]:
    """Return the buttons PNG, SVG and CSV.

    figure, file, what: as for `figure_buttons`. numbers: makes the text of the CSV when it is asked for. told: what it
    holds.
    """
    return [*figure_buttons(figure, file, what), csv_button(f"{file}.csv", numbers, told)]


def figure_buttons(figure: str, file: str, what: str) -> list[Any]:
    """Return the buttons PNG and SVG.

    figure: the name of the Bokeh figure. file: the name of what is saved, without its ending. what: the picture in
    words ("the picture of the race").
    """
    buttons = []
    for kind in ("png", "svg"):
        hint = f"{kind.upper()}: save {what}"
        button = pmui.Button(label=kind.upper(), variant="text", size="small", description=hint, margin=0)
        button.js_on_click(code=_SAVE % (figure, kind, file))
        buttons.append(button)
    return buttons


def buttons_of_parts(figure: str, file: str, parts: Sequence[tuple[str, str]]) -> list[Any]:
    """Return the buttons PNG and SVG of several pictures, each saying which it saves.

    figure, file: as for `figure_buttons`, without what is at their ends. parts: those ends, and what each shows.
    """
    buttons = []
    for end, what in parts:
        for button in figure_buttons(f"{figure}{end}", f"{file}{end}", what):
            label = f"{button.label} of {what}"
            button.param.update(label=label, description=f"{label}: save this picture")
            buttons.append(button)
    return buttons


def csv_button(filename: str, numbers: Callable[[], str], told: str, label: str = "CSV") -> Any:
    """Return the button that saves what `numbers` returns; `told` says what that is."""
    return file_button(filename, lambda: numbers().encode(), told, label)


def file_button(filename: str, made: Callable[[], bytes], told: str, label: str) -> Any:
    """Return the button that saves the bytes that `made` returns; `told` says what they are."""
    button = pmui.FileDownload(
        callback=lambda: io.BytesIO(made()),
        filename=filename,
        label=label,
        size="small",
        description=f"{label}: save {told}",
        margin=0,
    )
    button.variant = "text"  # given to the constructor it is taken for two styles at once, with a warning
    return button
