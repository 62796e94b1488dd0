"""Drawing on the Boundaries page: points are followed, kept, put by and forgotten."""

import numpy as np

from alrviz.explorer.session.points import POINTS_KINDS, READ_OPTIONS
from tests.explorer.maps import open_page, said, settled, until


def test_drawn_points_are_followed_kept_and_found_again(page):
    tab, session = page.tab, page.session
    tab.drawing.begin()
    until(page, lambda: settled(page) and tab.frame.run is None)
    assert not tab.buttons.visible
    assert "on the drawn points" in said(page)
    assert tab.pictures.path.outdated  # drawn points have no path
    assert "points drawn 200" in tab.pictures.gram.origin().made_from
    assert tab.recipe.name in tab.pictures.ratios.cells["x1"].origin().made_from
    assert "data four-gaussians" in tab.pictures.path.origin("the losses").made_from
    assert len(session.sketch) == 200
    before = tab.pictures.map.surface
    for k in range(12):
        tab.drawing.add(
            0.0,
            0.5 * k - 3,
        )
    until(page, lambda: settled(page) and len(tab.frame.X) == 212)
    assert tab.pictures.map.surface.points.total == tab.pictures.peer_map.surface.points.total == 212
    assert np.abs(tab.pictures.map.surface.values - before.values).max() > 0.05
    tab.drawing.label.value = "new"
    tab.drawing.add(1.0, 1.0)
    tab.drawing.move(0, 2.0, 2.0)
    tab.drawing.remove(1)
    until(page, lambda: settled(page) and len(tab.frame.X) == 212 and len(tab.frame.model.classes_) == 3)
    sketch = tab.drawing.sketch
    tab.drawing.save()
    until(page, lambda: session.table.dataset.name == "drawn" and settled(page))
    assert session.sketch is None
    assert not tab.pictures.path.outdated
    assert np.allclose(session.table.dataset.X.to_numpy(), sketch.x)
    assert tab.buttons.visible
    again = open_page(session.link.query, registry=session.registry)
    until(again, lambda: settled(again))
    assert again.session.table.dataset.hash == session.table.dataset.hash
    assert again.tab.player.racer.run is tab.player.racer.run  # the run itself is found again
    again.close()


def test_drawn_points_are_not_fitted_from_what_a_hand_has_dragged(shared):
    tab = shared.tab
    tab.drawing.begin()
    until(shared, lambda: settled(shared) and tab.frame.run is None)
    log_h, nll = tab.frame.density.log_h, tab.frame.live.nll
    tab.drawing.discard()
    until(shared, lambda: settled(shared) and tab.frame.run is not None)
    limit = tab.frame.run.objective.features.bounds[1][0]
    tab.drag("x1", float(np.exp(limit)))
    until(shared, lambda: tab.frame.by_hand and settled(shared))
    assert tab.frame.density.log_h[0] > log_h[0] + 2
    tab.drawing.begin()
    until(shared, lambda: settled(shared) and tab.frame.run is None)
    assert np.array_equal(tab.frame.density.log_h, log_h)
    assert tab.frame.live.nll == nll


def test_a_drawn_class_may_have_any_name():
    page = open_page()
    rows = "".join(f"{k / 7:.2f},{k % 5 - 2},{('NA', '?', '-')[k % 3]}\n" for k in range(60))
    page.session.table.load_bytes("named.csv", "y,x2,species\n" + rows, READ_OPTIONS, POINTS_KINDS)
    until(
        page,
        lambda: page.session.table.dataset is not None and page.session.table.dataset.name == "named" and settled(page),
    )
    page.tab.drawing.begin()
    page.tab.drawing.save()
    until(page, lambda: page.session.table.dataset.name == "drawn" and settled(page))
    dataset = page.session.table.dataset
    assert (dataset.n_rows, dataset.target, sorted(dataset.classes)) == (60, "species", ["-", "?", "NA"])
    assert dataset.kinds == {"y": "numeric", "x2": "numeric"}
    again = open_page(page.session.link.query, registry=page.session.registry)
    until(again, lambda: settled(again))
    assert again.session.table.dataset.hash == dataset.hash
    again.close()
    page.close()


def test_points_that_are_left_are_forgotten(shared):
    tab = shared.tab
    fit, table = said(shared), tab.table
    tab.drawing.begin()
    tab.drawing._clear()
    until(shared, lambda: settled(shared) and tab.frame.X is not None and len(tab.frame.X) == 4)
    tab.drawing.discard()
    until(shared, lambda: settled(shared) and tab.frame.run is not None)
    assert said(shared) == fit
    assert tab.table is table
    assert tab.pictures.map.surface.points.total == tab.pictures.peer_map.surface.points.total == 200


def test_drawn_points_are_there_again_when_their_tab_comes_back(shared):
    tab, session = shared.tab, shared.session
    tab.drawing.begin()
    tab.drawing.add(0.0, 0.5)
    sketch = session.sketch
    until(shared, lambda: settled(shared) and tab.frame.X is not None and len(tab.frame.X) == 201)
    session.tab = "any"
    assert session.sketch is None
    until(shared, lambda: settled(shared))
    session.tab = ""
    assert session.sketch is sketch
    assert tab.drawing.panel.visible
    tab.drawing.add(0.0, 0.7)
    until(shared, lambda: settled(shared) and tab.frame.X is not None and len(tab.frame.X) == 202)
    assert tab.pictures.map.surface.points.total == 202
    tab.drawing.discard()
    assert not tab.drawing.is_drawing
    session.tab = "any"
    session.tab = ""
    assert not tab.drawing.is_drawing


def test_points_make_room_for_another_table_and_come_back_when_draw_is_pressed(page):
    tab, session = page.tab, page.session
    tab.drawing.begin()
    tab.drawing.add(0.0, 0.5)
    sketch = session.sketch
    session.table.load_demo("mixed-types", rows=200)
    until(page, lambda: session.table.dataset.name == "mixed-types" and tab.table is not None and settled(page))
    assert not tab.drawing.is_drawing
    assert tab.pictures.map.surface.points.total == 200
    assert tab.menus.draw.label == "Resume drawing: 201 points"
    for _ in range(2):  # another tab in between changes nothing of it
        session.tab = "" if session.tab else "any"
    assert not tab.drawing.is_drawing
    tab.columns.menus[0].value = "region"  # no column of numbers: there is still something to draw on
    until(page, lambda: settled(page) and "region" in tab.table.X.columns)
    assert tab.menus.draw.visible
    tab.menus.draw.clicks += 1
    assert session.sketch is sketch
    assert not any(menu.visible for menu in tab.columns.menus)  # the points have columns of their own
    until(page, lambda: settled(page) and tab.frame.X is not None)
    assert tab.pictures.map.surface.points.total == 201
    assert str(tab.pictures.map.surface.across.name) == "x1"
    tab.drawing.discard()
    until(page, lambda: settled(page) and tab.frame.run is not None)
    assert all(menu.visible for menu in tab.columns.menus)
    assert tab.menus.draw.label == "Draw"
    assert not tab.menus.draw.visible


def test_changes_are_taken_back_one_by_one(shared):
    tab = shared.tab
    tab.drawing.begin()
    drawing = tab.drawing
    assert drawing.undo_button.disabled
    first = tab.drawing.sketch
    tab.drawing.add(0.0, 0.5)
    second = tab.drawing.sketch
    tab.drawing._clear()
    maps = tab.pictures.map, tab.pictures.peer_map
    assert not any(len(view.picture.plot["points"].data["x"]) for view in maps), "old points go with the press"
    tab.drawing.move(0, 0.2, 0.2)
    assert not drawing.undo_button.disabled
    tab.drawing.undo()
    assert len(tab.drawing.sketch) == 4
    tab.drawing.undo()
    assert tab.drawing.sketch is second
    tab.drawing.undo()
    assert tab.drawing.sketch is first
    assert drawing.undo_button.disabled
    until(shared, lambda: settled(shared) and tab.frame.X is not None and len(tab.frame.X) == 200)
    tab.drawing.discard()


def test_points_that_come_back_have_the_fit_that_they_had(shared):
    """A fit goes on from the one before: after Undo it came from elsewhere, and ended elsewhere."""
    tab = shared.tab
    tab.drawing.begin()
    until(shared, lambda: settled(shared) and tab.frame.X is not None)
    fit, words, names = tab.frame.density, said(shared), set(tab.frame.X.index)
    for k in range(25):
        tab.drawing.add(0.2 * k - 2, 30.0)
    until(shared, lambda: settled(shared) and len(tab.frame.X) == 225)
    assert said(shared) != words
    for _ in range(25):
        tab.drawing.undo()
    until(shared, lambda: settled(shared) and len(tab.frame.X) == 200)
    assert set(tab.frame.X.index) == names
    assert np.array_equal(tab.frame.density.log_h, fit.log_h)
    assert np.array_equal(tab.frame.density.w, fit.w)
    assert said(shared) == words


def test_a_new_point_is_on_the_map_before_any_model_has_seen_it(shared):
    tab = shared.tab
    tab.drawing.begin()
    until(shared, lambda: settled(shared) and tab.frame.X is not None)
    sources = tab.pictures.map.picture.plot["points"]
    for k in range(10):
        tab.drawing.add(0.1 * k, 0.5)
        assert len(sources.data["x"]) == 201 + k  # nothing was waited for in between
    assert sources.data["truth"][-1] == tab.drawing.label.value
    until(shared, lambda: settled(shared) and len(tab.frame.X) == 210)
    assert len(sources.data["x"]) == 210
    tab.drawing.discard()
