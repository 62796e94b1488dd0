"""The convergence picture as data: what is drawn, not how many pixels it takes."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from bokeh.models import Text

from alrviz.pictures.convergence import BEST, MAX_MARKED_POINTS, RacerCurve, convergence
from alrviz.pictures.labels import LETTER, LINE, WIDTH, VisibleArea, legend_rows
from alrviz.pictures.measures import FIRST_ITERATIONS, MEASURES, axis_label
from alrviz.pictures.palette import FAMILY_COLOURS, GROUNDS, MARKERS, contrast, racer_colours

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


def box_of(what):
    logs = ["log" in what.axes[f"{side}_axis_type"] for side in "yx"]
    return VisibleArea(*what.x, *what.y, log=logs[0], log_x=logs[1])


def there(columns):
    """Marks without those that only fill up their number."""
    return {name: [v for v, x in zip(column, columns["x"], strict=True) if x == x] for name, column in columns.items()}


def test_training_and_held_out_are_per_row():
    what = convergence([LR, ALR], baseline=BASELINE)
    np.testing.assert_allclose(what["train"][0]["y"], [2.0, 1.5, 1.2, 1.0])
    np.testing.assert_allclose(what["heldout"][1]["y"], [2.1, 1.2, 1.05])
    assert there(what["words"])["words"] == ["class shares", "AnJE", "lr", "alr"]
    assert there(what["heads"])["x"] == [3.0, 2.0]
    assert what["grey"]["y"] == [2.0, 0.9]
    assert box_of(what).bottom < 0.9
    assert box_of(what).top > 2.1


@pytest.mark.parametrize(("axis", "last"), [("iterations", 3.0), ("passes", 3.5), ("seconds", 0.3)])
def test_axes(axis, last):
    what = convergence([LR], axis=axis)
    assert what["train"][0]["x"][-1] == pytest.approx(last)
    assert last * 1.1 < box_of(what).right < last * 1.5
    assert what["train"][0]["step"][-1] == 3


def test_gap_is_logarithmic_and_the_best_point_stands_on_a_line_of_its_own_below_all():
    racers = [curve("lr", [2, 1.5, 1.0], best=ROWS * 0.9), curve("alr", [2, 1.0, 0.9], best=ROWS * 0.9)]
    what = convergence(racers, measure="gap", baseline=BASELINE)
    np.testing.assert_allclose(what["train"][0]["y"], [1.1, 0.6, 0.1])
    np.testing.assert_allclose(what["train"][1]["y"], [1.1, 0.1, 0.1 / 3])
    place = there(what["words"])["words"].index(BEST.partition(":")[0])  # short: alr ends on that line
    assert there(what["words"])["y"][place] == pytest.approx(0.1 / 3)
    assert box_of(what).bottom < 0.1 / 3
    assert box_of(what).log
    assert what["grey"]["y"] == pytest.approx([0.1 / 3])
    assert not len(what["heldout"][0]["y"])


def test_at_rest_a_name_keeps_off_the_lines_of_racers_that_go_on():
    short, long = curve("alr gradient descent", [2.0, 1.5, 1.4]), curve("lr", [2.0, *[1.42] * 20])

    def crossed(rests):
        what = convergence([short, long], rests=rests)
        k = there(what["words"])["words"].index(short.name)
        _, end = box_of(what).pixel(there(what["words"])["x"][k], there(what["words"])["y"][k])
        low, (_, line) = end - there(what["words"])["dy"][k], box_of(what).pixel(5, 1.42)
        return low + 3 < line < low + LINE - 3

    assert crossed(rests=False), "in a picture that moves names stay at their lines"
    assert not crossed(rests=True)


def test_in_a_narrow_picture_the_words_of_a_level_are_short_and_cover_no_name():
    racers = [curve("lr", [2, 1.5, 1.0], best=ROWS * 0.9), curve("alr", [2, 1.0, 0.9], best=ROWS * 0.9)]
    what = convergence(racers, measure="gap", size=(220, 160))
    assert there(what["words"])["words"] == ["lowest found", "lr", "alr"]
    (level, _, name), (at, _, down) = there(what["words"])["x"], there(what["words"])["dy"]
    view = replace(box_of(what), width=220, height=160)
    ends = [view.pixel(x, there(what["words"])["y"][k])[1] for k, x in ((0, level), (2, name))]
    assert abs((ends[0] - at) - (ends[1] - down)) >= LINE
    what = convergence([curve("alr gradient descent", [2, 1.5, 1.0])], size=(220, 160))
    assert there(what["words"])["align"] == ["right"]
    assert there(what["words"])["x"] == [box_of(what).right], "a name that would be cut ends where the picture does"
    assert there(convergence([curve("alr gradient descent", [2, 1.5, 1.0])])["words"])["align"] == ["left"]
    assert legend_rows(["alr gradient descent"] * 3, 220) > legend_rows(["alr gradient descent"] * 3, WIDTH)


def test_the_tail_of_the_lowest_racer_is_no_cliff():
    """It ended at 1 + 0.95**200: what it had left to go was missing in its last gaps, which fell ever faster."""
    steps = np.arange(201)
    racer = curve("lr", 1 + 0.95**steps, best=ROWS * (1 + 0.95**200))
    y = convergence([racer], measure="gap")["train"][0]["y"]
    falls = np.diff(np.log10(y))
    assert falls.min() > 2.2 * np.log10(0.95)  # twice as steep where the gap meets what is left; a cliff fell by 1.3
    assert y[-1] == y[-2]
    assert y[-1] == pytest.approx(0.95**200, rel=0.2)


def test_nll_turns_logarithmic_when_it_falls_to_zero_and_the_label_says_so():
    what = convergence([curve("lr", [1, 0.1, 0.0])], to_zero=True)
    assert box_of(what).log
    assert len(what["train"][0]["y"]) == 2
    assert axis_label("nll", True).endswith(", log scale")
    assert not axis_label("nll").endswith("log scale")
    assert convergence([LR], to_zero=True).plot().figure.yaxis[0].axis_label == axis_label("nll", True)


def test_held_out_measure_draws_dashes_only_and_its_own_grey_lines():
    what = convergence([LR], measure="heldout", baseline=BASELINE)
    assert not len(what["train"][0]["y"])
    assert what["grey"]["y"] == [2.1, 1.0]
    assert there(what["heads"])["y"] == pytest.approx([1.1])


def test_far_grey_lines_do_not_squash_the_curves():
    what = convergence([curve("lr", [2.0, 1.0])], baseline={"class_shares": 2.0, "anje": 50.0})
    assert box_of(what).top < 3
    assert there(what["words"])["words"] == ["class shares", "lr"]


def test_scrubbing_keeps_the_rest_as_a_ghost():
    back = curve("lr", [2.0, 1.5, 1.2, 1.0], upto=1)
    what = convergence([back])
    assert what["train"][0]["step"].tolist() == [0, 1]
    assert what["beyond"][0]["step"].tolist() == [0, 1, 2, 3]
    assert there(what["heads"])["x"] == [1.0]
    assert convergence([LR])["beyond"][0]["step"].tolist() == []
    assert box_of(what) == box_of(convergence([LR]))


def test_nothing_yet_and_nothing_watched():
    empty = convergence([curve("lr", [])], baseline=BASELINE)
    assert there(empty["heads"])["x"] == []
    bare = RacerCurve(name="lr", label="lr", columns=frame([1.0, 0.5], heldout=False), rows=ROWS)
    assert not len(convergence([bare], measure="rmse")["train"][0]["y"])
    assert not len(convergence([bare])["heldout"][0]["y"])
    for measure in MEASURES:
        convergence([curve("lr", [])], measure=measure).plot()


def test_the_first_iterations_alone_have_the_whole_picture():
    long = curve("lr", [2.0, *np.linspace(1.5, 1.2, 199), 1.0])
    what = convergence([long, ALR], span="first")
    assert what["train"][0]["step"].tolist() == [*range(FIRST_ITERATIONS + 1)]
    assert what["train"][1]["step"].tolist() == [0, 1, 2]
    assert FIRST_ITERATIONS * 1.1 < box_of(what).right < FIRST_ITERATIONS * 1.5
    last = what["heldout"][1]["y"].min()
    assert last - 0.2 < box_of(what).bottom, "nothing below what is shown stretches it"
    assert convergence([long], span="first").plot().figure.xaxis[0].axis_label == "first 30 iterations"
    assert (
        convergence([long], span="first", axis="passes")
        .plot()
        .figure.xaxis[0]
        .axis_label.endswith(", first 30 iterations")
    )
    ten = convergence([curve("lr", np.linspace(2, 1, 200), upto=10)], span="first")
    assert there(ten["heads"])["x"] == [10.0]
    assert len(ten["beyond"][0]["x"]) == FIRST_ITERATIONS + 1


def test_iteration_0_has_a_place_left_of_1_on_a_logarithmic_axis_and_is_called_0():
    long = curve("lr", np.linspace(2, 1, 6_000))
    what = convergence([long, ALR], baseline=BASELINE, span="log")
    assert what["train"][1]["x"].tolist() == [0.5, 1.0, 2.0]
    assert what["train"][1]["step"].tolist() == [0, 1, 2]
    assert what["train"][0]["step"][:60].tolist() == [*range(60)], "thinning spares what has room"
    assert 0 < box_of(what).left < 0.5
    assert 6_000 < box_of(what).right < 60_000
    assert what["grey"]["x0"] == [box_of(what).left] * 2
    assert box_of(what).pixel(10, 1)[0] - box_of(what).pixel(1, 1)[0] == pytest.approx(
        box_of(what).pixel(100, 1)[0] - box_of(what).pixel(10, 1)[0]
    )
    axis = convergence([long], span="log").plot().figure.xaxis[0]
    assert axis.axis_label == "iterations, log scale"
    assert axis.ticker.ticks[:3] == [0.5, 1, 2]
    assert axis.major_label_overrides == {0.5: "0"}
    seconds = convergence([ALR], span="log", axis="seconds")
    assert seconds["train"][0]["x"] == pytest.approx([0.05, 0.1, 0.2])
    passes = convergence([ALR], span="log", axis="passes").plot().figure.xaxis[0]
    assert passes.major_label_overrides == {}, "no pass count is 0"
    for measure in MEASURES:
        convergence([curve("lr", [])], measure=measure, span="log").plot()


def test_not_a_number_is_not_drawn():
    assert convergence([curve("lr", [2.0, np.nan, np.inf])])["train"][0]["y"].tolist() == [2.0]


def test_figure_draws_full_and_dashed_in_the_familys_colour_and_says_so():
    picture = convergence([LR, ALR], baseline=BASELINE).plot()
    lines = [r.glyph for r in picture.figure.renderers if r.name == "lr"]
    assert [line.line_color for line in lines] == [FAMILY_COLOURS["lr"]] * 2
    assert [bool(line.line_dash) for line in lines] == [False, True]
    assert [item.label.value for item in picture.figure.legend[0].items] == [
        "lr",
        "alr",
        "training rows",
        "test rows",
    ]
    assert picture.figure.xaxis[0].axis_label == "iterations"
    assert picture["train"][1].data["y"].tolist() == [2.0, 1.1, 0.95]


def test_raw_points_are_shown_while_they_are_few():
    assert convergence([curve("lr", np.linspace(2, 1, MAX_MARKED_POINTS))]).plot().parts["dots"][0].visible
    assert not convergence([curve("lr", np.linspace(2, 1, MAX_MARKED_POINTS + 1))]).plot().parts["dots"][0].visible


def test_dense_lines_are_thinned_but_keep_their_spikes():
    values = np.ones(20_000)
    values[12_345], values[-1] = 9.0, 0.5
    what = convergence([curve("lr", values)])
    assert len(what["train"][0]["y"]) <= 2_000
    assert what["train"][0]["y"].max() == 9.0
    assert what["train"][0]["step"][-1] == 19_999


def test_lines_of_many_racers_carry_their_own_markers_and_those_of_two_none():
    names = [f"alr {k}" for k in range(4)]
    drawn = convergence([curve(name, np.linspace(2, 1, 100), label="alr") for name in names])
    places = [set(line["x"].tolist()) for line in drawn["markers"]]
    assert all(3 <= len(place) <= 12 for place in places)
    assert not set.intersection(*places), "where lines lie over each other their markers do not"
    kinds = [r.glyph.marker for r in drawn.plot().figure.renderers if getattr(r.glyph, "size", None) == 9]
    assert kinds == list(MARKERS[:4])
    assert not any(len(line["x"]) for line in convergence([curve(n, [2.0, 1.0]) for n in ("lr", "alr")])["markers"])


def test_words_stand_on_the_ground_in_front_of_lines():
    fig = convergence([curve("lr", [2.0, 1.0])], baseline=BASELINE, dark=True).plot().figure
    (words,) = [renderer for renderer in fig.renderers if isinstance(renderer.glyph, Text)]
    assert words.glyph.background_fill_color == GROUNDS[True]
    assert words.level == "overlay"


def test_colours_are_fixed_and_racers_of_one_family_get_others():
    assert racer_colours(["lr", "alr", "diagonal", "anje", "nb"])[:4] == ["#D55E00", "#0072B2", "#E69F00", "#777777"]
    shades = racer_colours(["alr"] * 6)
    assert shades[0] == "#0072B2"
    assert len(set(shades)) == 6


@pytest.mark.parametrize("dark", [False, True])
def test_words_in_every_colour_can_be_read_on_their_ground(dark):
    ground = "#1b1c22" if dark else "#ffffff"
    drawn = convergence([curve(f"alr {k}", [2.0, 1.0], label="alr") for k in range(6)], baseline=BASELINE, dark=dark)
    assert len(there(drawn["words"])["colour"]) == 8
    assert all(contrast(colour, ground) >= 4.5 for colour in there(drawn["words"])["colour"])
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)  # as WebAIM's checker has it
    lines = racer_colours(["alr"] * 6, dark)
    assert len(set(lines)) == 6
    assert not dark or min(contrast(line, ground) for line in lines) > 2.5


def test_the_legend_of_many_racers_takes_rows_and_the_labels_know():
    few, many = [f"alr to {k}" for k in range(2)], [f"alr from AnJE {k}" for k in range(6)]
    assert [legend_rows([*names, "training rows", "test rows"], WIDTH) for names in (few, many)] == [1, 3]
    curves = [curve(name, [2.0, 1.0], label="alr") for name in many]
    assert convergence(curves).plot().figure.legend[0].ncols == 3


def test_the_longest_name_has_room_beside_the_last_point():
    narrow, wide = (convergence([curve(name, np.linspace(2, 1, 100))]).x[1] for name in ("lr", "alr from AnJE n=2"))
    assert (wide - 99) / wide * WIDTH >= LETTER * len("alr from AnJE n=2")
    assert narrow < wide


def test_names_are_text_not_markup():
    picture = convergence([curve("<b>lr</b>", [1.0, 0.5], label="lr")]).plot()
    hover = next(tool for tool in picture.figure.tools if type(tool).__name__ == "HoverTool")
    assert "safe" not in str(hover.tooltips)
    assert isinstance(hover.tooltips, list)  # a string would be markup
