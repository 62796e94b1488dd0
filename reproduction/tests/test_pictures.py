"""Pictures of reproduced items as SVG: scatters, curves, maps; well-formed, small, and each mark where it belongs."""

from xml.etree import ElementTree

import pandas as pd
import pytest

from reproduction.items import ITEMS
from reproduction.panels import RAMP, SIDE, curves, maps, scatter
from reproduction.pictures import PICTURES, picture, save

SVG = "{http://www.w3.org/2000/svg}"


def parts(text, kind):
    return list(ElementTree.fromstring(text).iter(SVG + kind))


def test_a_scatter_has_a_panel_a_pair_and_a_dot_a_set():
    lines = [
        {"panel": p, "set": str(k), "x": x, "y": y, "x_name": "b", "y_name": "<a>", "log": p == "n_iter: 1"}
        for p in ("error: 2/0/1", "n_iter: 1")
        for k, (x, y) in enumerate(((1.0, 10.0), (10.0, 1.0), (5.0, 5.0)))
    ]
    text = scatter(pd.DataFrame(lines), "a & b")
    dots = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in parts(text, "circle")]
    assert len(dots) == 6
    (x0, y0), (x1, y1), (x2, y2) = dots[:3]
    assert x0 < x2 < x1
    assert y0 < y2 < y1, "up is more"
    assert x1 - x0 < SIDE
    assert "↑ <a>" in [element.text for element in parts(text, "text")]


def test_curves_have_a_panel_a_set_and_a_line_a_method():
    lines = [
        {"panel": p, "method": m, "x": x, "y": 1.0 / (x + 1)}
        for p in ("one", "two")
        for m in ("lr", "alr")
        for x in (0, 1, 10, 100)
    ]
    text = curves(pd.DataFrame(lines).assign(x_name="rows", y_name="loss"), "falling")
    words = [element.text for element in parts(text, "text")]
    assert (words.count("rows →"), words.count("↑ loss")) == (2, 2), "every axis has a name"
    assert len(parts(text, "polyline")) == 4
    spots = [spot.split(",") for spot in parts(text, "polyline")[0].get("points").split()]
    x_values = [float(x) for x, _ in spots]
    assert len(x_values) == 3, "a log axis has no place for 0"
    assert x_values[1] - x_values[0] == pytest.approx(x_values[2] - x_values[1], abs=1.0), "logarithmic"


def test_a_map_joins_cells_of_one_colour_and_shows_points_of_both_classes():
    rows = [
        {"method": "p", "map": [[0, 0, 9], [9, 9, 9]], "points": float("nan")},
        {"method": "points", "map": float("nan"), "points": [[0.0, 0.0, 1], [5.0, 5.0, 0], [99.0, 0.0, 1]]},
    ]
    text = maps(rows, "toy", 10.0)
    fills = [cell.get("fill") for cell in parts(text, "rect") if cell.get("fill")]
    assert fills == [RAMP[0], RAMP[9], RAMP[9]]
    assert [dot.get("fill") for dot in parts(text, "circle")] == [RAMP[9], RAMP[0]]


@pytest.mark.parametrize("name", list(ITEMS))
def test_an_item_without_figures_has_a_picture_all_the_same(name):
    item = ITEMS[name]
    assert item.picture in PICTURES
    figures = pd.DataFrame([{"set": "mine", "method": "nobody", "missing": "get it"}])
    if item.study.startswith("dlr-") and item.picture in ("dots", "log dots"):
        figures = figures.assign(paper_set="nobody's")
    assert parts(picture(item, figures, item.table(figures)), "text")


def test_files_that_are_saved(tmp_path):
    rows = [
        {"set": k, "group": "little", "method": name, "error": 0.1 * k, "log_loss": 1.0, "rmse": 0.1}
        for k in range(3)
        for name in ("elr nb", "elr nb to the end")
    ]
    rows.append({"set": "x", "method": "y", "map": [[1]], "limit": float("nan")})
    save("tuned", rows, [ITEMS["c16"]], tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["c16.csv", "c16.svg", "tuned.csv"]
    assert "map" not in pd.read_csv(tmp_path / "out" / "tuned.csv", comment="#")
