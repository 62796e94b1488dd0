"""A value that comes back from the browser a moment after it was set is not the reader's."""

import pytest

from alrviz.views import echo


@pytest.fixture
def now(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(echo.time, "monotonic", lambda: now[0])
    return now


def test_a_value_is_an_echo_for_some_seconds(now):
    slider = echo.Echo()
    slider.place(3)
    now[0] += echo.ECHO / 2
    slider.place(4)
    assert slider.repeats(3)
    assert slider.repeats(4)
    now[0] += 1.1 * echo.ECHO
    assert not slider.repeats(4)
    slider.place(5)
    assert slider.repeats(5)
    assert not slider.repeats(4)


def test_the_first_values_of_a_film_may_come_back_after_its_last(now):
    """A browser that was busy sent step 4 of 12 when it had shown the twelfth: the film stood still at step 4."""
    slider = echo.Echo()
    for step in range(13):
        slider.place(step)
        now[0] += 0.8
    assert slider.repeats(4)


def test_what_was_set_before_the_reader_moved_the_slider_is_no_echo_any_more(now):
    slider = echo.Echo()
    for step in range(3):
        slider.place(step)
    assert not slider.repeats(9)  # the reader's
    assert not slider.repeats(1)
    slider.place(1)
    slider.moved()
    assert not slider.repeats(1)
