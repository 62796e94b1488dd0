"""README's picture: its bars are as long as the figures say."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest

from benchmarks import _picture

SPACE = "{http://www.w3.org/2000/svg}"


def row(library: str, seconds: float) -> dict[str, str]:
    return {"part": "per iteration", "set": "a & b", "library": library, "seconds": str(seconds)}


def target(solver: str, seconds: float, spent_seconds: float) -> dict[str, str]:
    return {
        "part": "to target",
        "set": "c",
        "alpha": "1.0",
        "solver": solver,
        "seconds": str(seconds),
        "spent": str(spent_seconds),
    }


def bars(rows: list[dict[str, str]]) -> list[float]:
    root = ElementTree.fromstring(_picture.svg(_picture.panels_of(rows)))
    return [float(r.get("width", 0)) for r in root.iter(f"{SPACE}rect") if r.get("class") != "page"]


def test_ten_times_as_long_is_one_step_of_the_axis():
    names = ("alrviz", "scikit-learn", "scikit-learn, one BLAS thread", "numpy and SciPy")
    unit, ten, hundred, end = bars([row(name, t) for name, t in zip(names, (0.002, 0.02, 0.2, 1.0), strict=True)])
    assert hundred - ten == pytest.approx(ten - unit, abs=0.11)
    assert end == _picture.WIDTH - _picture.MARGIN - _picture.RIGHT


def test_the_best_of_each_is_drawn_and_what_was_given_up_says_so():
    rows = [target("auto", 0.4, 0.5), target("lr tron", 0.2, 0.3), target("scikit-learn lbfgs", float("inf"), 8.0),
            target("scikit-learn newton-cg", float("inf"), 9.0), target("numpy and SciPy", 5.0, 6.0)]  # fmt: skip
    (panel,) = _picture.panels_of(rows)
    (panel_bars,) = panel.groups.values()
    assert [(bar.name, bar.seconds, bar.is_lower_bound) for bar in panel_bars] == [
        ("alrviz, best solver", 0.2, False),
        ("alrviz, auto", 0.4, False),
        ("scikit-learn, best", 8.0, True),
        ("numpy and SciPy", 5.0, False),
    ]
    assert "→ over 8 s" in _picture.svg([panel])
    assert "NaN" not in _picture.svg([panel])


def test_ranks_stand_on_their_axis_and_the_band_is_as_wide_as_the_difference():
    root = ElementTree.fromstring(_picture.ranks_svg({"ours": 1.5, "b": 3.0, "a & b": 2.0}, 1.0, 7, ["ours"]))
    centers = [float(circle.get("cx", 0)) for circle in root.iter(f"{SPACE}circle")]
    rank_width = (_picture.WIDTH - 230) / 2
    assert [b - a for a, b in pairwise(centers)] == pytest.approx([rank_width / 2, rank_width], abs=0.11)
    band = next(r for r in root.iter(f"{SPACE}rect") if r.get("class") != "page")
    assert float(band.get("x", 0)) == centers[0]
    assert float(band.get("width", 0)) == pytest.approx(rank_width, abs=0.11)
