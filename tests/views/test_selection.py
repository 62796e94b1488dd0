"""SelectionView without a browser: the search follows the line, says what it misses, and its numbers are a table."""

import io
import threading

import pandas as pd
import pytest
from bokeh.events import Pan

import alrviz
from alrviz.pictures import selection as drawn
from alrviz.views.studies import selection as module
from tests.views.studied import until


@pytest.fixture
def view():
    data = alrviz.load_demo("twelve-bits")
    made = alrviz.SelectionView(alrviz.choose_tuples(data, keeps=(0.25, 1.0), folds=2, n_jobs=1), keep=25)
    made.wait()
    yield made
    made.cancel_search()


def test_until_something_is_found_it_says_what_it_does(monkeypatch):
    looked, search = threading.Event(), module.LiveSelection.search

    def waits(self, *given):
        looked.wait(30.0)
        yield from search(self, *given)

    monkeypatch.setattr(module.LiveSelection, "search", waits)
    made = alrviz.SelectionView(alrviz.choose_tuples(alrviz.load_demo("twelve-bits"), folds=2, n_jobs=1))
    assert "…" in made.search_text.object
    looked.set()
    made.wait()
    assert "are kept" in made.search_text.object
    made.cancel_search()


def test_it_says_what_is_kept_and_what_a_search_from_below_misses(view):
    assert "8 of 30 pairs are kept; the only one that beats its columns is lost" in view.search_text.object
    assert "bit_7 &amp; bit_11 was never scored" in view.search_text.object
    assert "not scored (36 of 66)" in view.search_text.object
    view.keep = 100
    view.wait()
    assert "66 of 66 pairs are kept; only bit_7 &amp; bit_11 beats its columns" in view.search_text.object


def test_the_line_is_dragged_in_the_picture_and_by_the_slider(view):
    figure = view.ranks.plot.figure
    figure._trigger_event(Pan(figure, x=0.5))
    assert (view.keep, view.slider.value) == (50, 50)
    assert view.ranks.plot.parts["t"].location == 0.5
    until(view, lambda: len(view.search.levels[0].kept_indices) == 6)
    assert view.ranks.plot.figure is figure, "fed, not made anew"
    view.slider.value = 25
    until(view, lambda: len(view.search.levels[0].kept_indices) == 3)
    figure._trigger_event(Pan(figure, x=-3.0))
    assert view.keep == 1


def test_of_very_many_tuples_the_gains_are_drawn_when_the_hand_rests(view, monkeypatch):
    monkeypatch.setattr(drawn, "MAX_MARKS", 20)
    source = view.gains.plot["kept"]
    before = len(source.data["x"])
    monkeypatch.setattr(module, "DRAG_PAUSE_SECONDS", 1e9)
    view.keep = 75
    until(view, lambda: len(view.search.levels[0].kept_indices) == 9)
    assert len(source.data["x"]) == before
    monkeypatch.setattr(module, "DRAG_PAUSE_SECONDS", 0.0)
    until(view, lambda: len(source.data["x"]) > before)


def test_the_study_runs_below_and_its_verdict_is_a_sentence(view):
    assert "8 fits" in view.sentence.object
    view.press_run()
    until(view, lambda: view.study.phase == "done" and "8 of 8 fits" in view.bar.progress.object)
    assert view.study.verdict().headline in view.text()
    assert len(view.shares["log_loss"].plot["lines"][0].data["x"]) == 2
    assert "in 0 of" not in view.search_text.object


def test_its_tuples_are_a_csv_and_a_table(view):
    frame = pd.read_csv(io.StringIO(view._csv_of_tuples()), comment="#")
    assert len(frame) == 12 + 30
    assert frame.kept.sum() == 3 + 8
    assert frame[frame["columns"] == 2].gain.notna().all()
    view._numbers.open = True
    assert "bit_1 &amp; bit_2" in view._numbers.table.object
