"""Buttons that save: what a press hands to the browser."""

import base64
import json

from alrviz.views.core.saving import Origin, csv_button, figure_buttons, file_button


def pressed(button):
    """The job that a press leaves for the browser, and how often the browser was told of one meanwhile."""
    told = []
    watcher = button.param.watch(told.append, "job")
    button.press()
    button.param.unwatch(watcher)
    return json.loads(button.job), len(told)


def test_a_file_is_handed_over_at_every_press_though_it_is_the_same():
    button = csv_button("numbers.csv", lambda: "a,b\n1,2\n", "numbers")
    for _ in range(3):
        job, told = pressed(button)
        assert told == 1, "the browser saves when it is told of another job"
        assert (job["kind"], job["file"], job["type"]) == ("file", "numbers.csv", "text/csv")
        assert base64.b64decode(job["data"]) == b"a,b\n1,2\n"


def test_a_file_is_named_as_it_is_called_when_it_is_saved():
    button = file_button("run.csv", lambda: b"\x00\xff", "a run", "CSV")
    button.filename = "other.csv"
    assert pressed(button)[0]["file"] == "other.csv"


def test_a_picture_is_saved_with_its_title_and_what_it_is_made_from():
    origins = [Origin("alr leads", "data led"), Origin("lr leads", "data iris")]
    png, svg = figure_buttons("alrviz-race-1", "alrviz-race", "the picture of the race", lambda: origins.pop(0))
    for button, kind, title, made_from in (
        (png, "png", "alr leads", "data led"),
        (svg, "svg", "lr leads", "data iris"),
    ):
        job, told = pressed(button)
        assert told == 1
        assert (job["kind"], job["file"]) == (kind, f"alrviz-race.{kind}")
        assert (job["figure"], job["title"], job["made_from"]) == ("alrviz-race-1", title, made_from)


def test_a_click_of_these_buttons_runs_nothing_in_the_browser_first():
    """A part that came after the page was opened could not send such a click."""
    from bokeh.document import Document

    for button in figure_buttons("a", "a", "a", lambda: Origin("a")):
        assert not button.get_root(Document()).js_event_callbacks
