"""The Boundaries page without a browser: both tabs, the film, a hand on bandwidths and points, links, scripts."""

import contextlib
import io
import threading
import time

import numpy as np
import pytest

from alrviz.explorer import boundaries_hand, process
from alrviz.explorer.boundaries import BoundariesPage
from alrviz.explorer.boundaries_words import ABOUT, dlr_script, loss_words
from alrviz.explorer.convergence_words import rich
from alrviz.explorer.limits import ServerLimits
from alrviz.explorer.registry import Registry
from alrviz.explorer.session import Session
from alrviz.explorer.sketch import AS_WRITTEN, KINDS
from alrviz.explorer.state import read_link

SMALL = "?page=boundaries&data=four-gaussians&rows=200"


def open_page(link=SMALL, owner="a" * 32, registry=None):
    session = Session(owner=owner, registry=registry or Registry(ServerLimits(), timer=False))
    session.apply(read_link(link))
    page = BoundariesPage(session)
    page.view()
    page.drawer()
    return page


def until(page, condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, (page.session.problem, page.tab.words.object)
        page.session.pump()
        page.pump()
        time.sleep(0.005)


def settled(page):
    """Whether all that was asked for is drawn."""
    tab = page.tab
    if page.session.tab == "any":
        done = tab.peer.found is not None if tab.name else tab.part.player.ended
        return done and tab.map.surface is not None and not tab.map.busy and not tab._stale
    maps = (tab.pictures.map, tab.pictures.other)
    drawn = all(view.surface is not None and not view.busy for view in maps)
    followed = tab.moment is not None and not tab.asking.busy and not tab._stale
    return drawn and followed and not tab.peer.waiting and (tab.drawing.on or tab.part.player.ended)


@pytest.fixture
def page():
    made = open_page()
    until(made, lambda: settled(made))
    yield made
    made.close()


def test_both_maps_and_the_sentence_are_there_without_a_press(page):
    tab = page.tab
    racer = tab.part.player.racer
    assert f"iteration {racer.run.trace[-1].index}" in tab.words.object
    error = racer.run.trace[-1].extra["heldout_error"]
    assert f"{100 * (1 - error):.1f} %" in tab.words.object
    assert f"logistic regression <b>{100 * (1 - tab.peer.found.error):.1f} %" in tab.words.object
    assert "the truth" in tab.words.object
    assert not tab.pictures.map.outdated
    assert not tab.pictures.other.outdated
    assert tab.pictures.map.surface.classes == tab.pictures.other.surface.classes == ("A", "B")
    assert "fit=" in page.session.link


def test_a_table_that_comes_behind_another_page_is_fitted_when_the_maps_are_seen(page):
    tab, table = page.tab, page.tab.table
    page.session.page = "data"
    page.session.load_demo("two-moons", rows=100)
    until(page, lambda: page.session.dataset.name == "two-moons")
    assert tab.table is table
    page.session.page = "boundaries"
    page.on_shown()
    until(page, lambda: tab.table is not None and tab.table.name == "two-moons" and settled(page))


def test_the_sentence_says_whose_loss_it_is_and_warns_of_few_rows(page):
    tab = page.tab
    trace = tab.part.player.racer.run.trace
    assert "leave-one-out</abbr> NLL" in tab.words.object
    assert f"per training row ({trace.rows:,.0f})" in tab.words.object
    assert f"of {200 - trace.rows:,.0f} held-out rows right" in tab.words.object
    assert "Few" not in tab.words.object
    tab.drawing.begin()
    tab.drawing._cleared()
    until(page, lambda: settled(page) and tab.moment.X is not None and len(tab.moment.X) == 4)
    assert "none held out" in tab.words.object
    assert "<b>Few points</b>: a class has 2 points" in tab.words.object
    assert "self-included" in loss_words("silverman", 0.5)


def test_the_film_moves_all_pictures_together(page):
    tab = page.tab
    last = tab.part.player.head
    assert last > 3
    tab.part.player.scrub(2)
    until(page, lambda: settled(page))
    run = tab.part.player.racer.run
    assert tab.moment.model.step == tab.pictures.path.head == tab.pictures.ratios.scene.iteration == 2
    widths = [ratio.bandwidth for ratio in tab.pictures.ratios.scene.columns]
    assert widths == pytest.approx([run.trace[2].extra["h_0"], run.trace[2].extra["h_1"]], rel=1e-5)
    assert f"NLL {run.trace[2].nll / run.trace.rows:.4f}" in tab.words.object
    early = tab.pictures.map.surface.values.copy()
    tab.part.player.scrub(last)
    until(page, lambda: settled(page))
    assert tab.pictures.path.head == last
    assert np.abs(tab.pictures.map.surface.values - early).max() > 0.1


def test_a_dragged_bandwidth_moves_everything_and_can_be_taken_back(page):
    tab = page.tab
    fit, scene, surface = tab.words.object, tab.pictures.ratios.scene, tab.pictures.map.surface
    tab.hand.drag("x1", 9.0)
    until(page, lambda: tab.moment.by_hand and settled(page))
    by_hand = tab.pictures.ratios.scene
    assert by_hand.columns[0].bandwidth == pytest.approx(9.0)
    assert by_hand.columns[1].bandwidth == pytest.approx(scene.columns[1].bandwidth)
    assert np.abs(by_hand.columns[0].phi - scene.columns[0].phi).max() > 1
    assert np.array_equal(by_hand.columns[1].phi, scene.columns[1].phi)
    assert f"NLL {tab.moment.live.nll:.4f}" in tab.words.object
    assert "By hand" in by_hand.note
    assert tab.back.visible
    assert np.abs(tab.pictures.map.surface.values - surface.values).max() > 0.1
    tab.redraw()
    until(page, lambda: not tab.moment.by_hand and settled(page))
    assert tab.words.object == fit
    assert not tab.back.visible


def test_what_is_changed_is_marked_until_it_is_fitted_again(page):
    tab = page.tab
    tab.part.pricing.begin = lambda *_: None  # nothing starts
    tab.menus._bandwidth.value = "validation"
    assert tab.part.outdated
    tab._show_moment(tab.moment)
    assert tab.pictures.map.outdated
    assert tab.pictures.ratios.outdated
    assert "model=dlr" in page.session.link
    tab.hand.drag("x1", 9.0)  # of settings that are gone
    assert not tab.asking.busy


def test_drawn_points_are_followed_kept_and_found_again(page):
    tab, session = page.tab, page.session
    tab.drawing.begin()
    until(page, lambda: settled(page) and tab.moment.run is None)
    assert not tab.buttons.visible
    assert "on what is drawn" in tab.words.object
    assert tab.pictures.path.outdated  # drawn points have no path
    assert session.drawn == 200
    before = tab.pictures.map.surface
    for k in range(12):
        tab.drawing.add(
            0.0,
            0.5 * k - 3,
        )
    until(page, lambda: settled(page) and len(tab.moment.X) == 212)
    assert tab.pictures.map.surface.points.total == tab.pictures.other.surface.points.total == 212
    assert np.abs(tab.pictures.map.surface.values - before.values).max() > 0.05
    tab.drawing.bar.label.value = "new"
    tab.drawing.add(1.0, 1.0)
    tab.drawing.move(0, 2.0, 2.0)
    tab.drawing.remove(1)
    until(page, lambda: settled(page) and len(tab.moment.X) == 212 and len(tab.moment.model.classes_) == 3)
    sketch = tab.drawing.sketch
    tab.drawing.keep()
    until(page, lambda: session.dataset.name == "drawn" and settled(page))
    assert session.drawn == 0
    assert not tab.pictures.path.outdated
    assert np.allclose(session.dataset.X.to_numpy(), sketch.x)
    assert tab.buttons.visible
    again = open_page(session.link, registry=session.registry)
    until(again, lambda: settled(again))
    assert again.session.dataset.hash == session.dataset.hash
    assert again.tab.part.player.racer.run is tab.part.player.racer.run  # the run itself is found again
    again.close()


def test_a_drawn_class_may_have_any_name():
    page = open_page()
    rows = "".join(f"{k / 7:.2f},{k % 5 - 2},{('NA', '?', '-')[k % 3]}\n" for k in range(60))
    page.session.load_bytes("named.csv", "y,x2,species\n" + rows, AS_WRITTEN, KINDS)
    until(page, lambda: page.session.dataset is not None and page.session.dataset.name == "named" and settled(page))
    page.tab.drawing.begin()
    page.tab.drawing.keep()
    until(page, lambda: page.session.dataset.name == "drawn" and settled(page))
    dataset = page.session.dataset
    assert (dataset.n_rows, dataset.target, sorted(dataset.classes)) == (60, "species", ["-", "?", "NA"])
    assert dataset.kinds == {"y": "numeric", "x2": "numeric"}
    again = open_page(page.session.link, registry=page.session.registry)
    until(again, lambda: settled(again))
    assert again.session.dataset.hash == dataset.hash
    again.close()
    page.close()


def test_points_that_are_left_are_forgotten(page):
    tab = page.tab
    fit, table = tab.words.object, tab.table
    tab.drawing.begin()
    tab.drawing._cleared()
    until(page, lambda: settled(page) and tab.moment.X is not None and len(tab.moment.X) == 4)
    tab.drawing.leave()
    until(page, lambda: settled(page) and tab.moment.run is not None)
    assert tab.words.object == fit
    assert tab.table is table
    assert tab.pictures.map.surface.points.total == tab.pictures.other.surface.points.total == 200


def test_two_of_more_columns_are_chosen_and_come_back_from_the_link():
    page = open_page("?page=boundaries&data=mixed-types&rows=300&axes=2-0&peer=svm-rbf")
    until(page, lambda: settled(page))
    tab = page.tab
    assert list(tab.table.X.columns) == ["temperature", "region"]
    assert not tab.pictures.map.surface.across.numeric
    assert not tab.menus.draw.visible  # points are drawn between numbers
    tab.columns.menus[1].value = "stage"
    until(page, lambda: settled(page) and list(tab.table.X.columns) == ["region", "stage"])
    assert page.session.axes == (2, 3)
    tab.columns.menus[0].value = "stage"  # the two change places
    assert tab.columns.chosen == ("stage", "region")
    until(page, lambda: settled(page) and page.session.axes == (3, 2))
    page.close()


def test_a_table_of_one_column_says_what_is_missing():
    page = open_page()
    page.session.load_bytes("one.csv", "a,class\n" + "".join(f"{k / 7:.2f},{'xy'[k % 2]}\n" for k in range(40)))
    until(page, lambda: page.session.dataset is not None and page.session.dataset.name == "one")
    until(page, lambda: "needs two columns" in page.tab.words.object)
    assert page.tab.pictures.map.surface is None
    page.close()


def test_the_scripts_numbers_are_the_screens(page):
    tab = page.tab
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(dlr_script(tab).replace("dlr  # in", "# in"), {})
    last = tab.part.player.racer.run.trace[-1]
    assert f"NLL {last.nll / tab.part.player.racer.run.trace.rows:.6f}" in printed.getvalue()
    assert f"lr: {100 * (1 - tab.peer.found.error):.2f} %" in printed.getvalue()


def test_the_kernel_is_drawn_when_it_is_unfolded(page):
    tab = page.tab
    assert tab.pictures.gram.gram is None
    tab.pictures.folded.open = True
    until(page, lambda: tab.pictures.gram.gram is not None)
    assert tab.pictures.gram.gram.share > 0.6


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ("&data=mixed-types&rows=300&model=alr_o1&axes=2-0&others=near", "alr n=1"),
        ("&data=mixed-types&rows=300&peer=truth", "the truth"),
        ("&data=iris&peer=svm-rbf&others=row&at=7", "SVM (RBF)"),
        ("&data=four-gaussians&rows=200&model=dlr", "dlr silverman"),
    ],
)
def test_any_family_is_mapped_and_comes_back_from_its_link(link, words):
    page = open_page("?page=boundaries&tab=any" + link)
    until(page, lambda: settled(page))
    tab = page.tab
    assert words in tab.words.object
    shown = dict(part.split("=") for part in page.session.link.removeprefix("?").split("&"))
    asked = dict(part.split("=") for part in link.removeprefix("&").split("&"))
    assert {key: shown[key] for key in asked} == asked
    compile(tab.script(), "script", "exec")
    page.close()


def test_a_table_of_levels_is_averaged_until_something_else_is_chosen():
    page = open_page("?page=boundaries&tab=any&data=led&rows=200&model=alr_o1")
    until(page, lambda: settled(page))
    view = page.tab.map
    assert (view.others, page.session.others) == ("mean", "")
    view.others = "typical"
    assert "others=typical" in page.session.link
    again = open_page(page.session.link)
    until(again, lambda: settled(again))
    assert again.tab.map.others == "typical"
    page.session.load_demo("iris")
    until(page, lambda: page.session.dataset.name == "iris" and settled(page))
    assert (view.others, page.session.others) == ("typical", "")
    again.close()
    page.close()


def test_a_tab_stops_what_the_other_ran(page):
    fit = page.session.fitted
    page.session.tab = "any"
    until(page, lambda: settled(page))
    assert fit.ended
    assert page.tab.recipe.family == "alr"
    page.session.tab = ""
    until(page, lambda: settled(page))
    assert "dlr" in page.tab.words.object


def test_a_tab_that_comes_back_is_the_one_that_was_left(page):
    dlr = page.tab
    moment, figure, run = dlr.moment, dlr.pictures.map.picture.pane.object, dlr.part.player.racer.run
    for _ in range(2):
        page.session.tab = "any"
        assert [part.visible for part in (dlr.panel, page.tab.panel)] == [False, True]
        until(page, lambda: settled(page))
        mapped = page.tab.map.picture.pane.object
        page.session.tab = ""
        assert page.tab is dlr
        assert dlr.moment is moment  # at once, and the slider answers
        dlr.hand.drag("x1", 9.0)
        until(page, lambda: dlr.moment.by_hand and settled(page))
        dlr.redraw()
        until(page, lambda: not dlr.moment.by_hand and settled(page))
        moment = dlr.moment
        assert dlr.pictures.map.picture.pane.object is figure
        assert dlr.part.player.racer.run is run
    page.session.tab = "any"
    assert page.tab.map.picture.pane.object is mapped


def test_a_moving_hand_sees_its_curve_alone_and_the_rest_when_it_pauses(page, monkeypatch):
    tab = page.tab
    monkeypatch.setattr(boundaries_hand, "REST", 60.0)
    monkeypatch.setattr(boundaries_hand, "SOON", 5.0)
    words, surface, path = tab.words.object, tab.pictures.map.surface, tab.pictures.path.path
    other = tab.pictures.ratios.cells["x2"].ratio.phi
    for h in (9.0, 8.0, 7.0):
        tab.hand.drag("x1", h)
        assert tab.pictures.ratios.cells["x1"].ratio.bandwidth == pytest.approx(h)
        page.pump()
        assert tab.moment.passing
    assert tab.words.object == words
    assert (tab.pictures.map.surface, tab.pictures.path.path) == (surface, path)
    assert tab.pictures.ratios.cells["x2"].ratio.phi is other
    monkeypatch.setattr(boundaries_hand, "PATIENT", 0.0)  # so long ago did all pictures follow
    tab.hand.drag("x1", 6.0)
    until(page, lambda: settled(page) and not tab.moment.passing)
    assert "By hand" in tab.pictures.ratios.scene.note
    assert tab.pictures.map.surface is not surface
    assert tab.pictures.path.path is path


def test_a_film_waits_a_moment_for_anothers_hand(page, monkeypatch):
    tab, player = page.tab, page.tab.part.player
    monkeypatch.setattr(process, "HAND", 60.0)
    monkeypatch.setattr(player.player, "playing", True)
    process.hand_moved()
    assert tab.hand.goes_first
    tab.hand.settled -= 2.0  # but not for ever
    assert not tab.hand.goes_first
    monkeypatch.setattr(process, "HAND", 0.0)
    tab.hand.settled += 2.0
    assert not tab.hand.goes_first


class Endless:
    """A classifier that is not asked in vain: it answers when it is let go."""

    classes_ = np.array(["A", "B"])

    def __init__(self):
        self.go = threading.Event()

    def predict_proba(self, X):
        self.go.wait(60)
        return np.full((len(X), 2), 0.5)


@pytest.mark.parametrize("leave", ["other tab", "close"])
@pytest.mark.parametrize("tab", ["", "&tab=any"])
def test_maps_nobody_sees_are_not_worked_out(tab, leave):
    page = open_page(SMALL + tab)
    until(page, lambda: settled(page))
    maps = [page.tab.map] if tab else [page.tab.pictures.map, page.tab.pictures.other]
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
    page.tab._drawer.show()
    fields = page.tab._drawer.settings
    assert list(page.drawer().objects) == [fields.panel]
    assert fields._recipe == page.tab.recipe
    fields._fields["alpha"].value = 0.25
    fields._common["holdout"].value = 0.5
    assert (page.tab.recipe.params["alpha"], page.tab.recipe.holdout) == (0.25, 0.5)
    assert fields._recipe == page.tab.recipe
    assert "model=" in page.session.link
    page.close()


def test_a_stranger_does_not_find_the_run(page):
    other = open_page(page.session.link, owner="b" * 32, registry=page.session.registry)
    assert other.session.fitted is None
    other.close()


def test_what_one_looks_at_can_be_read():
    assert "<math" in rich(ABOUT)
    assert "$" not in rich(ABOUT)
