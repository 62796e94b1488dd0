"""The views of a DLR fit without a browser: what a scene, a path or a kernel shows, and what a reader's hand calls."""

import json

import numpy as np
import pytest
from bokeh.events import Tap

import alrviz
from alrviz.studies.density.density_frames import BandwidthPath, ColumnRatio, DensityFrame
from alrviz.studies.density.gram import gram
from alrviz.views.core.saving import SaveButton
from alrviz.views.density import gram_matrix, ratio_cell

X = np.linspace(-2.0, 2.0, 41)
HOSTILE = "<b>u</b>"


def scene(h=0.25, columns=(HOSTILE, "v"), scale=1.0, iteration=0):
    rug, codes = np.array([-1.0, 1.0]), np.array([0, 1])
    numeric = tuple(
        ColumnRatio(name, scale * (k + 1) * X, 1.5, X, (), h, 0.5, rug, codes) for k, name in enumerate(columns)
    )
    return DensityFrame(
        (*numeric, ColumnRatio("c", np.array([1.0, -1.0]), 1.0, levels=("a", "b"))), ("no", "yes"), iteration
    )


def path(steps=3):
    at = np.arange(steps)
    return BandwidthPath(at, ("u",), np.exp(-0.2 * at)[:, None], {"training": 0.7 - 0.1 * at}, at > 0)


# -- density ratios ----------------------------------------------------------------------------------------------------


def test_a_picture_a_column_with_its_weight_and_bandwidth():
    view = alrviz.DensityRatioView(scene())
    assert list(view.cells) == [HOSTILE, "v", "c"]
    words = view.cells[HOSTILE].words.object
    assert "&lt;b&gt;u&lt;/b&gt;" in words
    assert "weight 1.5" in words
    assert "bandwidth 0.25" in words
    assert "h =" not in view.cells["c"].words.object
    assert "speaks for yes" in view.sentence.object


def test_another_scene_replaces_data_and_not_the_figure():
    view = alrviz.DensityRatioView(scene())
    cell = view.cells["v"]
    figure = cell.picture.pane.object
    view.watch(scene(scale=3.0, iteration=1))
    assert view.cells["v"] is cell
    assert cell.picture.pane.object is figure
    np.testing.assert_allclose(cell.picture.plot["lines"].data["ys"][0], 1.5 * 6 * X)
    assert figure.y_range.end > 9.0
    view.watch(scene(columns=("w",)))
    assert list(view.cells) == ["w", "c"]


def test_a_switch_takes_the_weight_off():
    view = alrviz.DensityRatioView(scene())
    view._weighted.value = False
    np.testing.assert_array_equal(view.cells["v"].picture.plot["lines"].data["ys"][0], 2 * X)
    assert view.cells["v"].picture.plot["lines"].data["what"] == ["without its weight"]


def test_of_many_columns_those_that_matter_most_are_shown_until_others_are_chosen():
    many = scene(columns=tuple(f"c{k}" for k in range(9)))
    view = alrviz.DensityRatioView(many)
    assert list(view.cells) == ["c3", "c4", "c5", "c6", "c7", "c8"]
    assert view._columns.visible
    assert "6 of 10 columns shown" in view.sentence.object
    view._columns.value = ["c8", "c0"]
    assert (view.chosen_columns, list(view.cells)) == (["c0", "c8"], ["c0", "c8"])
    view.watch(scene(columns=("c8", "other")))
    assert view.chosen_columns == ["c8"]


def test_without_a_hand_there_are_no_sliders():
    view = alrviz.DensityRatioView(scene())
    assert not any(cell.slider.visible for cell in view.cells.values())
    assert "0.5 \N{MULTIPLICATION SIGN} Silverman's" in view.cells["v"].words.object
    assert "Silverman's" not in view.cells["c"].words.object


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def test_a_dragged_slider_calls_with_a_bandwidth_in_units_of_the_column(clock):
    calls = []
    view = alrviz.DensityRatioView(scene(), on_bandwidth=lambda *call: calls.append(call))
    slider = view.cells["v"].slider
    assert slider.visible
    assert not view.cells["c"].slider.visible
    assert slider.value == pytest.approx(0.5, rel=0.07)
    assert len(slider.options) == len(ratio_cell.RATIOS)
    slider.value = 2.0 if 2.0 in slider.options.values() else float(ratio_cell.RATIOS[36])
    assert calls == [("v", slider.value * 0.5)]


def test_a_slider_says_what_the_words_say_and_not_its_nearest_step(clock):
    view = alrviz.DensityRatioView(scene(h=0.222), on_bandwidth=lambda *call: None)
    cell = view.cells["v"]
    assert not cell.slider.show_value
    assert cell.slider.label == "v: 0.444 \N{MULTIPLICATION SIGN} Silverman's"
    assert cell.slider.value_label == "0.444"  # what is heard, too, is not the step next to it
    assert "bandwidth 0.222" in cell.words.object
    assert "Silverman's" not in cell.words.object
    clock[0] += 10
    cell.slider.value = float(ratio_cell.RATIOS[70])  # a hand that holds it
    view.watch(scene(h=0.3))
    assert (cell.slider.label, cell.slider.value_label) == ("v: 0.6 \N{MULTIPLICATION SIGN} Silverman's", "0.6")


def test_scenes_move_the_slider_only_while_the_reader_does_not(clock):
    calls = []
    view = alrviz.DensityRatioView(scene(), on_bandwidth=lambda *call: calls.append(call))
    slider = view.cells["v"].slider
    view.watch(scene(h=1.0))
    assert slider.value == pytest.approx(2.0, rel=0.07)
    assert calls == []
    clock[0] += 10
    slider.value = float(ratio_cell.RATIOS[40])
    assert len(calls) == 1
    view.watch(scene(h=0.25))  # comes in late
    assert slider.value == ratio_cell.RATIOS[40]
    clock[0] += 10
    view.watch(scene(h=0.25))
    assert slider.value == pytest.approx(0.5, rel=0.07)
    assert len(calls) == 1


def saved(view):
    """What stands above and below the pictures that a view saves, by the file's name."""
    jobs = {}
    view._numbers.open = True
    for button in view.layout.select(SaveButton):
        if button.label.startswith(("PNG", "SVG")):
            button.press()
            job = json.loads(button.job)
            jobs[job["file"]] = job["title"], job["made_from"]
    return jobs


def test_pictures_of_a_fit_are_saved_with_what_they_are_made_from():
    y = np.array([0, 1, 0, 1])
    of = {"provenance": lambda: "data led"}
    ratios = alrviz.DensityRatioView(scene(columns=("v",), iteration=7), **of)
    assert saved(ratios)["alrviz-density-ratio.svg"] == ("Density log-ratio of c", "data led · iteration 7 · w 1")
    assert ratios.cells["v"].origin().made_from == "data led · iteration 7 · w 1.5 · h 0.25"
    assert saved(alrviz.BandwidthView(path(), **of)) == {
        f"alrviz-bandwidths{end}.{kind}": (title, "data led")
        for end, title in (("", "Bandwidths of a fit, step by step"), ("-nll", "Losses of a fit, step by step"))
        for kind in ("png", "svg")
    }
    kernel = saved(alrviz.GramMatrixView(gram((2.0 * y - 1)[None, None], y, ["no", "yes"]), **of))
    line = "data led · k > 0 if and only if the class is the same in 100.0 % of pairs"
    assert kernel["alrviz-gram.png"] == ("Gram matrix of DLR's features", line)
    for view in (alrviz.DensityRatioView(scene()), alrviz.BandwidthView(), alrviz.GramMatrixView()):
        assert all(f"alrviz {alrviz.__version__}" in line for _, line in saved(view).values())


def test_no_scene_yet():
    view = alrviz.DensityRatioView()
    assert "No density ratios yet" in view.sentence.object
    view.watch(scene())
    assert len(view.cells) == 3
    view.watch(None)
    assert view.cells == {}


def test_the_numbers_of_a_scene():
    view = alrviz.DensityRatioView(scene())
    view._numbers.open = True
    assert "&lt;b&gt;u&lt;/b&gt;" in view._numbers.table.object
    lines = view._csv().splitlines()
    assert "# step: 0" in lines
    assert sum(not line.startswith("#") for line in lines) == 1 + 41 + 41 + 2


# -- bandwidths --------------------------------------------------------------------------------------------------------


def test_the_step_shown_is_marked_in_both_pictures_and_in_words():
    view = alrviz.BandwidthView(path(), head=1)
    assert [picture.plot.parts["cursor"].location for picture in (view.ratios, view.losses)] == [1.0, 1.0]
    assert "Iteration 1: loss per row training 0.6000 nats; bandwidths moved 1 time so far" in view.sentence.object
    view.head = 2
    assert [picture.plot.parts["cursor"].location for picture in (view.ratios, view.losses)] == [2.0, 2.0]
    assert "moved 2 times" in view.sentence.object


def test_a_path_that_grows_feeds_the_figures():
    view = alrviz.BandwidthView(path())
    figures = [pane.object for pane in (view.ratios.pane, view.losses.pane)]
    assert figures[0].x_range is figures[1].x_range, "steps stand below each other"
    view.watch(path(40))
    assert [pane.object for pane in (view.ratios.pane, view.losses.pane)] == figures
    assert len(view.ratios.plot["ratios"].data["xs"][0]) == 40
    assert figures[0].x_range.end > 39
    assert figures[1].y_range.start < path(40).losses["training"].min(), "the other heights follow too"


def test_a_press_scrubs_to_the_nearest_step():
    scrubbed = []
    view = alrviz.BandwidthView(path(), on_scrub=scrubbed.append)
    for pane in (view.ratios.pane, view.losses.pane):
        pane.object._trigger_event(Tap(pane.object, x=1.4, y=0.5, sx=0, sy=0))
    assert scrubbed == [1, 1]


def test_no_path_yet():
    view = alrviz.BandwidthView(head=3)
    assert "No bandwidths yet" in view.sentence.object
    view.watch(path(5))
    assert view.ratios.plot.parts["cursor"].location == 3.0


def test_the_numbers_of_a_path():
    view = alrviz.BandwidthView(path(100))
    view._numbers.open = True
    assert "40 of 100 iterations" in view._numbers.table.object
    assert sum(not line.startswith("#") for line in view._csv().splitlines()) == 101


# -- the kernel --------------------------------------------------------------------------------------------------------


def test_the_kernel_says_how_many_pairs_it_tells():
    y = np.array([0, 1, 0, 1])
    view = alrviz.GramMatrixView(gram((2.0 * y - 1)[None, None], y, ["<i>no</i>", "yes"]))
    assert "<b>100.0 %</b> of the pairs" in view.sentence.object
    assert "one answer for all pairs: 66.7 %" in view.sentence.object
    figure = view.picture.pane.object
    view.watch(gram((1.0 * y)[None, None], y, ["<i>no</i>", "yes"]))
    assert view.picture.pane.object is figure
    assert "100.0 %" not in view.sentence.object
    view._numbers.open = True
    assert "&lt;i&gt;no&lt;/i&gt;" in view._numbers.table.object
    assert sum(not line.startswith("#") for line in view._csv().splitlines()) == 1 + 10
    view.watch(gram(np.ones((1, 1, 3)), [0, 1, 1], ["a", "b"]))
    assert view.picture.pane.object is not figure


def test_the_numbers_of_a_kernel_leave_a_row_beside_itself_out():
    y = np.array([0, 0, 1])
    below = gram_matrix.numbers_html(gram(np.array([[[1.0, 3.0, -2.0]]]), y, ["no", "yes"]))
    assert below.count("3 (100 %)") == 1  # between the two rows of "no": 1 x 3, not 1 x 1 or 3 x 3
    assert below.count("-4 (0 %)") == 2  # between "no" and "yes": the mean of 1 x -2 and 3 x -2, both ways round
    assert below.count("&ndash;") == 1  # "yes" has one row


def test_no_kernel_yet():
    assert "No kernel yet" in alrviz.GramMatrixView().sentence.object


@pytest.mark.parametrize("make", [lambda: alrviz.DensityRatioView(scene()), lambda: alrviz.BandwidthView(path())])
def test_outdated_fades(make):
    view = make()
    part = view._picture_area if hasattr(view, "_picture_area") else view.places[0]
    view.outdated = True
    assert part.styles["opacity"] == "0.45"
    view.outdated = False
    assert part.styles["opacity"] == "1"
