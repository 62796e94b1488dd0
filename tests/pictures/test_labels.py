import numpy as np
import pytest

from alrviz.pictures.convergence import min_max
from alrviz.pictures.labels import LETTER, LINE, Crossing, VisibleArea, box, log_ticks, place, round_up


def test_labels_at_one_place_are_moved_apart_and_the_first_stays():
    view = VisibleArea(0, 10, 0, 1)
    shifts = place(view, [5, 5, 5], [0.5, 0.5, 0.5], ["lr", "alr", "diagonal"], [False] * 3)
    assert shifts[0] == 0
    assert min(abs(a - b) for k, a in enumerate(shifts) for b in shifts[:k]) >= LINE


def test_labels_far_apart_stay():
    view = VisibleArea(0, 10, 0, 1)
    assert place(view, [1, 9], [0.5, 0.5], ["lr", "alr"], [False] * 2) == [0, 0]
    assert place(view, [5, 5], [0.2, 0.8], ["lr", "alr"], [False] * 2) == [0, 0]


def test_a_label_that_ends_at_its_point_reaches_to_the_left():
    view = VisibleArea(0, 10, 0, 1)
    near = 10 - 0.5 * LETTER * 12 / 76
    first, second = place(view, [10, near], [0.5, 0.5], ["class prior", "lr"], [True, False])
    assert abs(first - second) >= LINE
    assert place(view, [10, near], [0.5, 0.5], ["class prior", "lr"], [True, False], levels=1)[0] == 0


def test_names_stand_in_the_order_of_their_lines():
    """Of six lines that end close together each name is nearest to its own: none jumps over the others."""
    view = VisibleArea(0, 10, 0, 1)
    y = [0.50, 0.44, 0.47, 0.53, 0.49, 0.46]
    shifts = place(view, [7] * 6, y, ["alr gradient descent"] * 6, [False] * 6)
    at = [view.pixel(7, value)[1] - shift for value, shift in zip(y, shifts, strict=True)]
    assert sorted(range(6), key=lambda k: at[k]) == sorted(range(6), key=lambda k: y[k])
    assert min(np.diff(sorted(at))) >= LINE


def test_names_keep_off_lines_and_words_of_levels_move_by_a_line_at_most():
    view = VisibleArea(0, 10, 0, 1)
    across = np.linspace(0, 10, 200)
    runs_on = Crossing(across, np.full(200, 0.53))
    assert place(view, [3], [0.5], ["alr"], [False]) == [0]
    (moved,) = place(view, [3], [0.5], ["alr"], [False], [runs_on])
    top, bottom = view.pixel(3, 0.5)[1] - moved + LINE, view.pixel(3, 0.5)[1] - moved
    line = view.pixel(3, 0.53)[1]
    assert not bottom + 3 < line < top - 3
    assert abs(moved) <= LINE
    (level,) = place(view, [10], [0.5], ["1 % milestone"], [True], [runs_on], levels=1)
    assert level in (0, LINE), "on its line, or under it"
    everywhere = [Crossing(across, np.full(200, height)) for height in np.arange(0.05, 1, 0.07)]
    (level,) = place(view, [10], [0.5], ["1 % milestone"], [True], everywhere, levels=1)
    assert level == 0, "no better place is near"


@pytest.mark.parametrize(("x", "end"), [(1, 1), (11, 12), (115, 120), (0.034, 0.035), (9.5, 10), (0, 1), (np.nan, 1)])
def test_round_up(x, end):
    assert round_up(x) == pytest.approx(end)


def test_boxes_have_height_even_for_a_flat_line():
    flat = box([np.array([0.0])], [np.array([0.7])])
    assert flat.bottom < 0.7 < flat.top
    zero = box([np.array([0.0])], [np.array([0.0])], log=True)
    assert 0 < zero.bottom < zero.top


def test_thinning_keeps_ends_extremes_and_order():
    y = np.sin(np.linspace(0, 50, 9_999))
    y[5_000], y[7] = 4.0, np.nan
    kept = min_max(y, 100)
    assert len(kept) <= 100
    assert kept[0] == 0
    assert kept[-1] == 9_998
    assert 5_000 in kept
    assert np.all(np.diff(kept) > 0)
    assert 7 not in kept
    np.testing.assert_array_equal(min_max(y[:50], 100), np.arange(50))


def test_a_growing_line_keeps_what_was_thinned_before():
    y = np.random.default_rng(0).normal(size=5_000)
    changes = []
    for size in range(3_000, 5_000):
        before, after = min_max(y[:size], 500), min_max(y[: size + 1], 500)
        common = min(len(before), len(after))
        changes.append(len(before) - np.argmin(np.r_[before[:common] == after[:common], False]))
    assert len(min_max(y, 500)) <= 500
    assert sorted(changes)[-3] <= 3  # only where stretches become twice as long does everything change


@pytest.mark.parametrize("y", [(1.0, 0.99, 0.98), (0.0, 0.01, 0.02), (0.02, 0.05, 0.3), (0.5,), (), (0.4, 0.4)])
def test_labels_at_one_end_stand_apart_in_the_order_of_the_ends_and_inside(y):
    view = VisibleArea(0.0, 1.0, 0.0, 1.0)
    shifts = place(view, [1.0] * len(y), y, ["name"] * len(y), [False] * len(y))
    at = [view.pixel(1.0, value)[1] - shift for value, shift in zip(y, shifts, strict=True)]
    ordered = [at[k] for k in np.argsort(y, kind="stable")]
    assert (np.diff(ordered) >= LINE - 1e-9).all()
    assert all(-1e-9 <= place <= view.height for place in at)
    if len(y) == 1:
        assert at == [view.pixel(1.0, y[0])[1]]


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.375, 2.72, [0.5, 0.7, 1.0, 1.5, 2.0]),
        (0.2, 1.9, [0.2, 0.3, 0.5, 0.7, 1.0, 1.5]),
        (0.05, 3.0, [0.05, 0.1, 0.2, 0.5, 1.0, 2.0]),
        (0.01, 4.0, [0.01, 0.03, 0.1, 0.3, 1.0, 3.0]),
        (6e-4, 1.6e3, [1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3]),
        (1e-4, 1e4, [1e-4, 1e-2, 1.0, 1e2, 1e4]),
        (0.2, 0.24, [0.2, 0.21, 0.22, 0.23, 0.24]),
    ],
)
def test_ticks_of_a_log_axis_are_round_and_few(low, high, ticks):
    assert log_ticks(low, high) == pytest.approx(ticks)
