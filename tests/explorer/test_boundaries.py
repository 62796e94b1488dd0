"""The Boundaries page: its tabs, the maps of any family, settings, links, and what nobody sees."""

import io
import threading

import numpy as np
import pytest

from alrviz import load_model
from alrviz.estimators.peers import known_peers
from alrviz.explorer.pages.boundaries.texts import accuracy_headline
from alrviz.explorer.shell.glossary import about_html
from tests.explorer.maps import SMALL, open_page, said, settled, until
from tests.headlines import check_headline

EXPORTABLE = {"anje", "tan", "kdb", "ande"}  # families that are fitted without iterations, but can be saved


def test_a_table_that_comes_behind_another_page_is_fitted_when_the_maps_are_seen(page):
    tab, table = page.tab, page.tab.table
    page.session.page = "data"
    page.session.table.load_demo("two-moons", rows=100)
    until(page, lambda: page.session.table.dataset.name == "two-moons")
    assert tab.table is table
    page.session.page = "boundaries"
    page.on_shown()
    until(page, lambda: tab.table is not None and tab.table.name == "two-moons" and settled(page))


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("&data=mixed-types&rows=300&model=alr_o1&axes=2-0&others=near", "alr n=1"),
        ("&data=mixed-types&rows=300&peer=truth", "true densities"),
        ("&data=iris&peer=svm-rbf&others=row&at=7", "SVM (RBF)"),
        ("&data=iris&peer=kdb", "KDB"),
        ("&data=four-gaussians&rows=200&model=dlr", "dlr silverman"),
    ],
)
def test_any_family_is_mapped_and_comes_back_from_its_link(link, words):
    page = open_page("?page=boundaries&tab=any" + link)
    until(page, lambda: settled(page))
    tab = page.tab
    assert words in said(page)
    shown = dict(part.split("=") for part in page.session.link.query.removeprefix("?").split("&"))
    asked = dict(part.split("=") for part in link.removeprefix("&").split("&"))
    assert {key: shown[key] for key in asked} == asked
    compile(tab.script(), "script", "exec")
    until(page, lambda: tab.model_part.part.visible == (not tab.name or tab.name in EXPORTABLE))
    if tab.name in EXPORTABLE:
        again = load_model(io.BytesIO(tab.model_part.zipped.make_bytes()))
        np.testing.assert_array_equal(again.phi_, tab.peer.reference.model.phi_)
        assert f"Fitted on {tab.peer.reference.rows} of " in tab.model_part.status.object
    page.close()


def test_a_table_of_levels_is_averaged_until_something_else_is_chosen():
    page = open_page("?page=boundaries&tab=any&data=led&rows=200&model=alr_o1")
    until(page, lambda: settled(page))
    view = page.tab.map
    assert (view.others, page.session.others) == ("mean", "")
    view.others = "typical"
    assert "others=typical" in page.session.link.query
    again = open_page(page.session.link.query)
    until(again, lambda: settled(again))
    assert again.tab.map.others == "typical"
    page.session.table.load_demo("iris")
    until(page, lambda: page.session.table.dataset.name == "iris" and settled(page))
    assert (view.others, page.session.others) == ("typical", "")
    again.close()
    page.close()


def test_a_tab_stops_what_the_other_ran(page):
    fit = page.session.runs.map_race
    page.session.tab = "any"
    until(page, lambda: settled(page))
    assert fit.ended
    assert page.tab.recipe.family == "alr"
    page.session.tab = ""
    until(page, lambda: settled(page))
    assert "DLR" in said(page)


def test_a_tab_that_comes_back_is_the_one_that_was_left(page):
    dlr = page.tab
    frame, figure, run = dlr.frame, dlr.pictures.map.picture.pane.object, dlr.player.racer.run
    for _ in range(2):
        page.session.tab = "any"
        assert [part.visible for part in (dlr.panel, page.tab.panel)] == [False, True]
        until(page, lambda: settled(page))
        mapped = page.tab.map.picture.pane.object
        page.session.tab = ""
        assert page.tab is dlr
        assert dlr.frame is frame  # at once, and the slider answers
        dlr.drag("x1", 9.0)
        until(page, lambda: dlr.frame.by_hand and settled(page))
        dlr.redraw()
        until(page, lambda: not dlr.frame.by_hand and settled(page))
        frame = dlr.frame
        assert dlr.pictures.map.picture.pane.object is figure
        assert dlr.player.racer.run is run
    page.session.tab = "any"
    assert page.tab.map.picture.pane.object is mapped


class Endless:
    """A classifier that is not asked in vain: it answers when it is let go."""

    classes_ = np.array(["A", "B"])

    def __init__(self):
        self.go = threading.Event()

    def predict_proba(self, X):
        self.go.wait(60)
        return np.full((len(X), 2), 0.5)


@pytest.mark.parametrize(("tab", "leave"), [("", "other tab"), ("&tab=any", "close")])
def test_maps_nobody_sees_are_not_worked_out(tab, leave):
    page = open_page(SMALL + tab)
    until(page, lambda: settled(page))
    maps = [page.tab.map] if tab else [page.tab.pictures.map, page.tab.pictures.peer_map]
    model = Endless()
    for view in maps:
        view.set_model(model)
    assert all(view.busy for view in maps)
    if leave == "close":
        page.close()
        assert not any(view.busy for view in maps)
        model.go.set()
        return
    page.session.tab = "" if tab else "any"
    assert not any(view.busy for view in maps)
    model.go.set()
    until(page, lambda: settled(page))
    page.session.tab = "any" if tab else ""
    until(page, lambda: settled(page))  # what is seen again is worked out again
    page.close()


@pytest.mark.parametrize("tab", ["", "&tab=any"])
def test_settings_are_shown_in_the_drawer_and_change_the_model(tab):
    page = open_page(SMALL + tab)
    until(page, lambda: settled(page))
    page.tab.show_settings()
    fields = page.tab.settings
    assert list(page.drawer().objects) == [fields.panel]
    assert fields._recipe == page.tab.recipe
    fields._fields["alpha"].value = 0.25
    fields._common["holdout"].value = 0.5
    assert (page.tab.recipe.params["alpha"], page.tab.recipe.holdout) == (0.25, 0.5)
    assert fields._recipe == page.tab.recipe
    assert "model=" in page.session.link.query
    page.close()


def test_a_stranger_does_not_find_the_run(shared):
    other = open_page(shared.session.link.query, owner="b" * 32, registry=shared.session.registry)
    assert other.session.runs.map_race is None
    other.close()


def test_what_one_looks_at_can_be_read():
    assert "<math" in about_html("boundaries")
    assert "$" not in about_html("boundaries")


@pytest.mark.parametrize("peer", [peer.label for peer in known_peers().values()])
@pytest.mark.parametrize("model", ["DLR", "hsalr", "averaged 2-dependence"])
def test_headlines_are_short_with_every_peer(model, peer):
    headline = accuracy_headline(model, 0.092, 36_000, peer, 0.553)
    check_headline(headline)
    assert all(part in headline.headline for part in ("90.8 %", "36,000", "44.7 %"))
