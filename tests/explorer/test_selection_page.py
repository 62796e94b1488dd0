"""The page "Selection" without a browser: what is used, and when the line is in the link."""

import pytest

from alrviz.explorer.pages.convergence.page import ConvergencePage
from alrviz.explorer.pages.selection.page import SelectionPage, SelectionSpec
from alrviz.explorer.session.state import read_link
from alrviz.explorer.widgets import study_runner
from alrviz.fitting.recipe import Recipe
from tests.explorer.pages import opened, run_study
from tests.explorer.pages import until_study as until

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def page():
    made = opened(SelectionPage, "?page=selection&data=xor&of=hsalr&keep=50")
    view = made.study_view
    until(made, lambda: made.runner.costs is not None and view.search is not None and view.search.is_complete)
    yield made
    made.study_view.press_stop()
    made.close()


def test_the_line_is_used_until_there_is_a_verdict(page):
    assert page.recommendation().label == "n = 2, 50 % kept"
    page.study_view.keep = 75
    assert page.recommendation().label == "n = 2, 75 % kept"
    mine, beside = page.recommendation().racers()
    assert (mine.family, mine.params["order"], mine.params["keep"]) == ("hsalr", 2, 0.75)
    assert (beside.family, beside.params["order"]) == ("alr", 2)
    run_study(page)
    chosen = page.study_view.study.verdict().recipe
    assert page.recommendation().label == f"n = {chosen.params['order']}, {100 * chosen.params['keep']:g} % kept"
    race_page = ConvergencePage(page.session)
    race_page.view()
    page.open_recommendation()
    race_page.on_shown()
    assert page.session.page == "convergence"
    assert race_page.recipes[0] == chosen.replace(seed=page.session.seed)
    race_page.close()


def test_the_line_is_in_the_link_when_the_hand_rests(page, monkeypatch):
    page.study_view.keep = 40
    page.pump()
    assert read_link(page.session.link.query).keep == 50, "each link is one of the browser's history"
    monkeypatch.setattr(study_runner, "REST_SECONDS", 0)
    page.pump()
    assert read_link(page.session.link.query).keep == 40
    page.study_view.keep = 60
    page.pump()
    assert "keep" not in page.session.link.query, "the page's own"


def test_each_order_up_to_the_highest_is_priced(page):
    assert [one.name for one in page.runner.costs.fits] == ["n = 1", "n = 2"]
    page.menus["order"].value = 4
    until(page, lambda: page.runner.costs is not None)
    assert [one.name for one in page.runner.costs.fits] == ["n = 1", "n = 2", "n = 3", "n = 4"]


def test_single_cells_of_another_page_are_searched_as_tuples():
    (own,) = SelectionSpec.usable_recipes((Recipe("hsalr", order="auto", keep=0.3, unit="cell", alpha=1.0),))
    assert (own.params["unit"], own.params["order"]) == ("tuple", SelectionSpec.default_recipes[0].params["order"])
