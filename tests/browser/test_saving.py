"""What is saved from a page: each file at every press, pictures after any change, at twice the size, with words."""

import io
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.browser.steps import Explorer

pytestmark = pytest.mark.browser


def saved(explorer: Explorer, name: str) -> Path:
    """Press a button of the part "Numbers" and return what the browser got."""
    button = explorer.page.get_by_role("button", name=re.compile(f"^{re.escape(name)}")).first
    if not button.is_visible():
        explorer.unfold("Numbers")
    with explorer.page.expect_download() as download:
        button.click()
    return Path(download.value.path())


def shown_size(explorer: Explorer) -> tuple[float, float]:
    found: Any = explorer.js(
        "() => { const box = Bokeh.index.find_one(explorerPage.figure()).bbox; return [box.width, box.height]; }"
    )
    return found[0], found[1]


# Words of an SVG that do not end within it where they are shown in a wider font.
CUT_IN_ANOTHER_FONT = """(svg) => {
    const place = document.createElement("div");
    place.innerHTML = svg;
    document.body.append(place);
    const root = place.querySelector("svg"), words = [...root.querySelectorAll("text")];
    for (const one of words) one.style.fontFamily = "monospace";
    const edges = root.getBoundingClientRect();
    const cut = words.filter((one) => {
        const box = one.getBoundingClientRect();
        return box.right > edges.right + 1 || box.top < edges.top - 1;
    });
    place.remove();
    return cut.map((one) => one.textContent);
}"""


def test_every_press_saves_also_after_another_measure_and_twice_the_same(explorer: Explorer):
    explorer.open("?data=monks-1")
    explorer.race()
    explorer.wait_says("^ended$")
    sentence = explorer.page.locator(".sentence").inner_text()  # which the picture, a canvas, says too
    explorer.page.get_by_role("img", name=re.compile(re.escape(sentence))).wait_for(state="attached")
    texts = [
        saved(explorer, name).read_bytes() for name in ("CSV: save", "CSV: save", "Replay (HTML)", "Replay (HTML)")
    ]
    assert texts[0] == texts[1]
    assert texts[2] == texts[3]
    for measure in ("gradient norm", "loss per row", "0-1 loss"):
        explorer.choose("Measure", measure)
        explorer.wait(lambda: explorer.js("() => Boolean(explorerPage.figure())"), "the picture of the measure")
        width, height = shown_size(explorer)
        image = Image.open(io.BytesIO(saved(explorer, "PNG").read_bytes()))
        assert image.width == 2 * width
        assert image.height > 2 * height, "a title above and a line below"
        assert len(image.convert("RGB").getcolors(1 << 24)) > 20, "something is drawn"
        svg = saved(explorer, "SVG").read_text(encoding="utf-8")
        assert "monks-1" in svg
        assert explorer.page.locator(".sentence").inner_text().split()[0] in svg
        assert not explorer.js(CUT_IN_ANOTHER_FONT, svg), "words that a machine without the page's font cuts off"
