"""The convergence picture as data: what is drawn, not how many pixels it takes."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from alrviz.pictures.convergence import BEST, FEW, RacerCurve, contents, convergence, legend_rows
from alrviz.pictures.labels import LETTER, LINE, WIDTH
from alrviz.pictures.measures import FIRST, MEASURES, axis_label
from alrviz.pictures.palette import FAMILY_COLOURS, contrast, racer_colours

ROWS = 10.0
BASELINE = {"class_shares": 2.0, "anje": 0.9, "heldout_class_shares": 2.1, "heldout_anje": 1.0}


def frame(values, heldout=True):
    values = np.asarray(values, float)
    index = np.arange(len(values))
    columns = {"index": index, "passes": index + 0.5, "seconds": index / 10, "objective": ROWS * values}
    columns |= {"nll": ROWS * values, "grad_norm": values}
    if heldout:
        columns |= {"heldout_log_loss": values + 0.1, "train_error": values / 9, "heldout_error": values / 8}
    return pd.DataFrame(columns)


def curve(name, values, **more):
    return RacerCurve(name=name, label=more.pop("label", name), columns=frame(values), rows=ROWS, **more)


LR, ALR = curve("lr", [2.0, 1.5, 1.2, 1.0]), curve("alr", [2.0, 1.1, 0.95])


def test_training_and_held_out_are_per_row():
    what = contents([LR, ALR], baseline=BASELINE)
    np.testing.assert_allclose(what.train[0]["y"], [2.0, 1.5, 1.2, 1.0])
    np.testing.assert_allclose(what.heldout[1]["y"], [2.1, 1.2, 1.05])
    assert what.words["words"] == ["class prior", "AnJE", "lr", "alr"]
    assert what.heads["x"] == [3.0, 2.0]
    assert what.grey["y"] == [2.0, 0.9]
    assert what.box.bottom < 0.9
    assert what.box.top > 2.1


@pytest.mark.parametrize(("axis", "last"), [("iterations", 3.0), ("passes", 3.5), ("seconds", 0.3)])
def test_axes(axis, last):
    what = contents([LR], axis=axis)
    assert what.train[0]["x"][-1] == pytest.approx(last)
    assert last * 1.1 < what.box.right < last * 1.5
    assert what.train[0]["step"][-1] == 3


def test_gap_is_logarithmic_and_the_best_point_stands_on_a_line_of_its_own_below_all():
    racers = [curve("lr", [2, 1.5, 1.0], best=ROWS * 0.9), curve("alr", [2, 1.0, 0.9], best=ROWS * 0.9)]
    what = contents(racers, measure="gap", baseline=BASELINE)
    np.testing.assert_allclose(what.train[0]["y"], [1.1, 0.6, 0.1])
    np.testing.assert_allclose(what.train[1]["y"], [1.1, 0.1, 0.1 / 3])
    place = what.words["words"].index(BEST)
    assert what.words["y"][place] == pytest.approx(0.1 / 3)
    assert what.box.bottom < 0.1 / 3
    assert what.box.log
    assert what.grey["y"] == pytest.approx([0.1 / 3])
    assert not len(what.heldout[0]["y"])


def test_at_rest_a_name_keeps_off_the_lines_of_racers_that_go_on():
    short, long = curve("alr gradient descent", [2.0, 1.5, 1.4]), curve("lr", [2.0, *[1.42] * 20])

    def crossed(rests):
        what = contents([short, long], rests=rests)
        k = what.words["words"].index(short.name)
        _, end = what.box.pixel(what.words["x"][k], what.words["y"][k])
        low, (_, line) = end - what.words["dy"][k], what.box.pixel(5, 1.42)
        return low + 3 < line < low + LINE - 3

    assert crossed(rests=False), "in a picture that moves names stay at their lines"
    assert not crossed(rests=True)


def test_in_a_narrow_picture_the_words_of_a_level_are_short_and_cover_no_name():
    racers = [curve("lr", [2, 1.5, 1.0], best=ROWS * 0.9), curve("alr", [2, 1.0, 0.9], best=ROWS * 0.9)]
    what = contents(racers, measure="gap", size=(220, 160))
    assert what.words["words"] == ["best known F", "lr", "alr"]
    (level, _, name), (at, _, down) = what.words["x"], what.words["dy"]
    view = replace(what.box, width=220, height=160)
    ends = [view.pixel(x, what.words["y"][k])[1] for k, x in ((0, level), (2, name))]
    assert abs((ends[0] - at) - (ends[1] - down)) >= LINE
    what = contents([curve("alr gradient descent", [2, 1.5, 1.0])], size=(220, 160))
    assert what.words["align"] == ["right"]
    assert what.words["x"] == [what.box.right], "a name that would be cut ends where the picture does"
    assert contents([curve("alr gradient descent", [2, 1.5, 1.0])]).words["align"] == ["left"]
    assert legend_rows(["alr gradient descent"] * 3, "nll", 220) > legend_rows(["alr gradient descent"] * 3, "nll")


def test_the_tail_of_the_lowest_racer_is_no_cliff():
    """It ended at 1 + 0.95**200: what it had left to go was missing in its last gaps, which fell ever faster."""
    steps = np.arange(201)
    racer = curve("lr", 1 + 0.95**steps, best=ROWS * (1 + 0.95**200))
    y = contents([racer], measure="gap").train[0]["y"]
    falls = np.diff(np.log10(y))
    assert falls.min() > 2.2 * np.log10(0.95)  # twice as steep where the gap meets what is left; a cliff fell by 1.3
    assert y[-1] == y[-2]
    assert y[-1] == pytest.approx(0.95**200, rel=0.2)


def test_nll_turns_logarithmic_when_it_falls_to_zero_and_the_label_says_so():
    what = contents([curve("lr", [1, 0.1, 0.0])], to_zero=True)
    assert what.box.log
    assert len(what.train[0]["y"]) == 2
    assert axis_label("nll", True).endswith(", log scale")
    assert not axis_label("nll").endswith("log scale")
    assert convergence([LR], to_zero=True).figure.yaxis[0].axis_label == axis_label("nll", True)


def test_held_out_measure_draws_dashes_only_and_its_own_grey_lines():
    what = contents([LR], measure="heldout", baseline=BASELINE)
    assert not len(what.train[0]["y"])
    assert what.grey["y"] == [2.1, 1.0]
    assert what.heads["y"] == pytest.approx([1.1])


def test_far_grey_lines_do_not_squash_the_curves():
    what = contents([curve("lr", [2.0, 1.0])], baseline={"class_shares": 2.0, "anje": 50.0})
    assert what.box.top < 3
    assert what.words["words"] == ["class prior", "lr"]


def test_scrubbing_keeps_the_rest_as_a_ghost():
    back = curve("lr", [2.0, 1.5, 1.2, 1.0], upto=1)
    what = contents([back])
    assert what.train[0]["step"].tolist() == [0, 1]
    assert what.beyond[0]["step"].tolist() == [0, 1, 2, 3]
    assert what.heads["x"] == [1.0]
    assert contents([LR]).beyond[0]["step"].tolist() == []
    assert what.box == contents([LR]).box


def test_nothing_yet_and_nothing_watched():
    empty = contents([curve("lr", [])], baseline=BASELINE)
    assert empty.heads["x"] == []
    bare = RacerCurve(name="lr", label="lr", columns=frame([1.0, 0.5], heldout=False), rows=ROWS)
    assert not len(contents([bare], measure="rmse").train[0]["y"])
    assert not len(contents([bare]).heldout[0]["y"])
    for measure in MEASURES:
        convergence([curve("lr", [])], measure=measure)


def test_the_first_iterations_alone_have_the_whole_picture():
    long = curve("lr", [2.0, *np.linspace(1.5, 1.2, 199), 1.0])
    what = contents([long, ALR], span="first")
    assert what.train[0]["step"].tolist() == [*range(FIRST + 1)]
    assert what.train[1]["step"].tolist() == [0, 1, 2]
    assert FIRST * 1.1 < what.box.right < FIRST * 1.5
    last = what.heldout[1]["y"].min()
    assert last - 0.2 < what.box.bottom, "nothing below what is shown stretches it"
    assert convergence([long], span="first").figure.xaxis[0].axis_label == "first 30 iterations"
    assert convergence([long], span="first", axis="passes").figure.xaxis[0].axis_label.endswith(", first 30 iterations")
    ten = contents([curve("lr", np.linspace(2, 1, 200), upto=10)], span="first")
    assert ten.heads["x"] == [10.0]
    assert len(ten.beyond[0]["x"]) == FIRST + 1


def test_iteration_0_has_a_place_left_of_1_on_a_logarithmic_axis_and_is_called_0():
    long = curve("lr", np.linspace(2, 1, 6_000))
    what = contents([long, ALR], baseline=BASELINE, span="log")
    assert what.train[1]["x"].tolist() == [0.5, 1.0, 2.0]
    assert what.train[1]["step"].tolist() == [0, 1, 2]
    assert what.train[0]["step"][:60].tolist() == [*range(60)], "thinning spares what has room"
    assert 0 < what.box.left < 0.5
    assert 6_000 < what.box.right < 60_000
    assert what.grey["x0"] == [what.box.left] * 2
    assert what.box.pixel(10, 1)[0] - what.box.pixel(1, 1)[0] == pytest.approx(
        what.box.pixel(100, 1)[0] - what.box.pixel(10, 1)[0]
    )
    axis = convergence([long], span="log").figure.xaxis[0]
    assert axis.axis_label == "iterations, log scale"
    assert axis.ticker.ticks[:3] == [0.5, 1, 2]
    assert axis.major_label_overrides == {0.5: "0"}
    seconds = contents([ALR], span="log", axis="seconds")
    assert seconds.train[0]["x"] == pytest.approx([0.05, 0.1, 0.2])
    passes = convergence([ALR], span="log", axis="passes").figure.xaxis[0]
    assert passes.major_label_overrides == {}, "no pass count is 0"
    for measure in MEASURES:
        convergence([curve("lr", [])], measure=measure, span="log")


def test_not_a_number_is_not_drawn():
    assert contents([curve("lr", [2.0, np.nan, np.inf])]).train[0]["y"].tolist() == [2.0]


def test_figure_draws_full_and_dashed_in_the_familys_colour_and_says_so():
    picture = convergence([LR, ALR], baseline=BASELINE)
    lines = [r.glyph for r in picture.figure.renderers if r.name == "lr"]
    assert [line.line_color for line in lines] == [FAMILY_COLOURS["lr"]] * 2
    assert [bool(line.line_dash) for line in lines] == [False, True]
    assert [item.label.value for item in picture.figure.legend[0].items] == [
        "lr",
        "alr",
        "training rows",
        "held-out rows",
    ]
    assert picture.figure.xaxis[0].axis_label == "iterations"
    assert picture.train[1].data["y"].tolist() == [2.0, 1.1, 0.95]


def test_raw_points_are_shown_while_they_are_few():
    assert convergence([curve("lr", np.linspace(2, 1, FEW))]).dots[0].visible
    assert not convergence([curve("lr", np.linspace(2, 1, FEW + 1))]).dots[0].visible


def test_dense_lines_are_thinned_but_keep_their_spikes():
    values = np.ones(20_000)
    values[12_345], values[-1] = 9.0, 0.5
    what = contents([curve("lr", values)])
    assert len(what.train[0]["y"]) <= 2_000
    assert what.train[0]["y"].max() == 9.0
    assert what.train[0]["step"][-1] == 19_999


def test_colours_are_fixed_and_racers_of_one_family_get_shades():
    assert racer_colours(["lr", "alr", "diagonal", "anje", "nb"])[:4] == ["#D55E00", "#0072B2", "#E69F00", "#777777"]
    shades = racer_colours(["alr"] * 6)
    assert shades[0] == "#0072B2"
    assert len(set(shades)) == 6


@pytest.mark.parametrize("dark", [False, True])
def test_words_in_every_colour_can_be_read_on_their_ground(dark):
    ground = "#1b1c22" if dark else "#ffffff"
    drawn = contents([curve(f"alr {k}", [2.0, 1.0], label="alr") for k in range(6)], baseline=BASELINE, dark=dark)
    assert len(drawn.words["colour"]) == 8
    assert all(contrast(colour, ground) >= 4.5 for colour in drawn.words["colour"])
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)  # as WebAIM's checker has it
    lines = racer_colours(["alr"] * 6, dark)
    assert len(set(lines)) == 6
    assert not dark or min(contrast(line, ground) for line in lines) > 2.5


def test_the_legend_of_many_racers_takes_rows_and_the_labels_know():
    few, many = [f"alr to {k}" for k in range(2)], [f"alr from AnJE {k}" for k in range(6)]
    assert legend_rows(few, "nll") == 1
    assert legend_rows(many, "nll") == 3
    curves = [curve(name, [2.0, 1.0], label="alr") for name in many]
    assert convergence(curves).figure.legend[0].ncols == 3
    assert contents(curves).box.height < contents(curves[:1]).box.height


def test_the_longest_name_has_room_beside_the_last_point():
    narrow, wide = (contents([curve(name, np.linspace(2, 1, 100))]).box.right for name in ("lr", "alr from AnJE n=2"))
    assert (wide - 99) / wide * WIDTH >= LETTER * len("alr from AnJE n=2")
    assert narrow < wide


def test_names_are_text_not_markup():
    picture = convergence([curve("<b>lr</b>", [1.0, 0.5], label="lr")])
    hover = next(tool for tool in picture.figure.tools if type(tool).__name__ == "HoverTool")
    assert "safe" not in str(hover.tooltips)
    assert isinstance(hover.tooltips, list)  # a string would be markup
