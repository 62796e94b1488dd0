"""A value that comes back from the browser a moment after it was set is not the reader's."""

from alrviz.views import echo


def test_a_value_is_an_echo_for_some_seconds(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(echo.time, "monotonic", lambda: now[0])
    slider = echo.Echo()
    slider.place(3)
    now[0] += echo.ECHO / 2
    slider.place(4)
    assert slider.repeats(3)
    assert slider.repeats(4)
    assert not slider.repeats(5)
    now[0] += 0.6 * echo.ECHO
    assert not slider.repeats(3)
    assert slider.repeats(4)
    now[0] += echo.ECHO
    assert not slider.repeats(4)
