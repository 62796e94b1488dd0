"""A view that was saved as a page, opened from the disk by a browser that reaches nothing else."""

from pathlib import Path
from typing import Any

import pytest

import alrviz
from tests.conftest import wait_until

pytestmark = pytest.mark.browser


def test_a_saved_view_is_drawn_without_a_network(new_page: Any, tmp_path: Path) -> None:
    race = alrviz.race(
        alrviz.load_demo("led", rows=300), [alrviz.Recipe("lr", max_iter=9, alpha=0.3), alrviz.Recipe("alr", alpha=1.0)]
    )
    race.start()
    race.join()
    view = alrviz.RaceView(race)
    view.save(tmp_path / "race.html")
    page = new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.context.set_offline(True)
    page.goto((tmp_path / "race.html").as_uri())
    page.get_by_role("button", name="Run or pause (space)").wait_for(timeout=60_000)
    counted = """() => Bokeh.documents[0].get_model_by_type?.("Figure") ?? [...Bokeh.documents[0]._all_models.values()]
      .filter((model) => model.type === "Figure")
      .map((figure) => Math.max(...figure.renderers.map((one) => one.data_source.get_length() ?? 0)))"""
    longest = max(len(run.trace) for run in race.runs)
    wait_until(lambda: page.evaluate(counted) == [longest], 30, "the curves")
    assert page.get_by_text("Iteration").first.is_visible()
    # In a place as narrow as a notebook's cell what stands beside the picture comes below it, and is not cut.
    side, run = page.locator(".alrviz-side"), page.get_by_role("button", name="Run or pause (space)")
    for width, below in ((1280, False), (712, True)):
        page.set_viewport_size({"width": width, "height": 900})
        wait_until(lambda below=below: (side.bounding_box()["y"] > run.bounding_box()["y"]) == below, 10, "the layout")
        box = side.bounding_box()
        assert 0 <= box["x"] < box["x"] + box["width"] <= width
    assert not [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
