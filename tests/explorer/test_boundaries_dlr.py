"""The tab DLR of the Boundaries page: maps and sentence, the film, a hand on bandwidths, columns, script."""

import contextlib
import io
import re

import numpy as np
import pytest

from alrviz import load_model
from alrviz.explorer.pages.boundaries import frame_queue
from alrviz.explorer.pages.boundaries.texts import dlr_script, loss_words
from alrviz.explorer.server import process_tuning
from alrviz.studies.statistics.evaluation import wilson
from alrviz.views.density import density_ratio
from tests.explorer.maps import open_page, said, settled, until


def test_both_maps_and_the_sentence_are_there_without_a_press(shared):
    tab = shared.tab
    racer = tab.player.racer
    assert f"Iteration {racer.run.trace[-1].index}" in said(shared)
    error = racer.run.trace[-1].extra["heldout_error"]
    assert f"{100 * (1 - error):.1f} %" in said(shared)
    assert f"logistic regression {100 * (1 - tab.peer.reference.error):.1f} %" in said(shared)
    low, high = wilson(1 - error, tab.peer.reference.heldout_rows)
    assert f"{100 * low:.1f} to {100 * high:.1f}" in said(shared)
    assert said(shared).count("interval of") == 3, "of dlr, of the peer, of the true densities"
    assert "true densities" in said(shared)
    assert not tab.pictures.map.outdated
    assert not tab.pictures.peer_map.outdated
    assert tab.pictures.map.surface.classes == tab.pictures.peer_map.surface.classes == ("A", "B")
    assert "fit=" in shared.session.link.query


def test_the_sentence_says_whose_loss_it_is_and_warns_of_few_rows(shared):
    tab = shared.tab
    trace = tab.player.racer.run.trace
    assert "leave-one-out</abbr> loss" in said(shared)
    assert "per training row" in said(shared)
    assert f"of {200 - trace.rows:,.0f} test rows right" in said(shared)
    assert "Few" not in said(shared)
    tab.drawing.begin()
    tab.drawing._clear()
    until(shared, lambda: settled(shared) and tab.frame.X is not None and len(tab.frame.X) == 4)
    assert "without test rows" in said(shared)
    assert "Few points" in said(shared)
    assert "a class has 2 points" in said(shared)
    assert "self-included" in loss_words("silverman", 0.5)


def test_the_fitted_model_can_be_taken_along(shared):
    tab, part = shared.tab, shared.tab.model_part
    until(shared, lambda: part.part.visible)
    run, X = tab.drawn_run, tab.table.X
    again = load_model(io.BytesIO(part.zipped.make_bytes()))
    np.testing.assert_array_equal(again.bandwidths_, run.model.bandwidths)
    np.testing.assert_array_equal(again._scores(X), run.model.scores_of(run.encoder.encode(X, tab.table.y)))
    tab.drawing.begin()
    shared.pump()
    assert not part.part.visible, "drawn points are another table"


def test_the_film_moves_all_pictures_together(shared):
    tab = shared.tab
    last = tab.player.head
    assert last > 3
    tab.player.scrub(2)
    until(shared, lambda: settled(shared))
    run = tab.player.racer.run
    assert tab.frame.model.step == tab.pictures.path.head == tab.pictures.ratios.scene.iteration == 2
    widths = [ratio.bandwidth for ratio in tab.pictures.ratios.scene.columns]
    assert widths == pytest.approx([run.trace[2].extra["h_0"], run.trace[2].extra["h_1"]], rel=1e-5)
    assert f"loss {run.trace[2].nll / run.trace.rows:.4f}" in said(shared)
    early = tab.pictures.map.surface.values.copy()
    tab.player.scrub(last)
    until(shared, lambda: settled(shared))
    assert tab.pictures.path.head == last
    assert np.abs(tab.pictures.map.surface.values - early).max() > 0.1


def test_a_fit_that_ended_at_once_is_watched_from_its_first_step(page):
    tab, player = page.tab, page.tab.player
    seen = []
    player._draw = lambda draw=player._draw: (seen.append(player.head), draw())
    tab.menus._bandwidth.value = "validation"
    until(page, lambda: settled(page) and player.racer.recipe.params["bandwidth"] == "validation")
    last = player.racer.run.trace[-1].index
    moved = [head for k, head in enumerate(seen) if head != seen[k - 1]]
    assert moved[-last - 1 :] == list(range(last + 1))
    assert tab.frame.model.step == tab.pictures.path.head == last
    assert "ended" in player.status.object


def test_while_the_film_plays_slider_sentence_and_pictures_are_of_one_step(page):
    tab, player = page.tab, page.tab.player
    player.press_run()
    seen = []

    def one_step():
        if player.player.playing and player.player.next_reader is None and "DLR gets" in said(page):
            told = re.search(r"Iteration ([\d,]+):", said(page))
            places = {int(told[1]), player.transport.slider.value, tab.pictures.ratios.scene.iteration}
            seen.append(places)
        return player.player.race.ended and settled(page)

    until(page, one_step)
    assert len({frozenset(places) for places in seen}) > 2, "of several steps"
    assert all(len(places) == 1 for places in seen), seen


def test_a_film_waits_until_a_browser_has_built_its_sliders(page, monkeypatch):
    tab, player = page.tab, page.tab.player
    monkeypatch.setattr(density_ratio, "server_session", object)
    monkeypatch.setattr(density_ratio, "BUILD_SECONDS", 600.0)
    player.press_run()
    until(page, lambda: player.player.race.ended and player.player.next_reader is None)
    for _ in range(5):
        page.pump()
    assert player.head == 0
    assert player.player.playing
    monkeypatch.setattr(density_ratio, "BUILD_SECONDS", 0.0)
    until(page, lambda: settled(page))
    assert player.head == player.racer.run.trace[-1].index > 0
    assert tab.frame.model.step == player.head


def test_a_dragged_bandwidth_moves_everything_and_can_be_taken_back(shared):
    tab = shared.tab
    fit, scene, surface = said(shared), tab.pictures.ratios.scene, tab.pictures.map.surface
    tab.drag("x1", 9.0)
    until(shared, lambda: tab.frame.by_hand and settled(shared))
    by_hand = tab.pictures.ratios.scene
    assert by_hand.columns[0].bandwidth == pytest.approx(9.0)
    assert by_hand.columns[1].bandwidth == pytest.approx(scene.columns[1].bandwidth)
    assert np.abs(by_hand.columns[0].phi - scene.columns[0].phi).max() > 1
    assert np.array_equal(by_hand.columns[1].phi, scene.columns[1].phi)
    assert f"loss {tab.frame.live.nll:.4f}" in said(shared)
    assert "By hand" in by_hand.note
    assert tab.back_button.visible
    assert np.abs(tab.pictures.map.surface.values - surface.values).max() > 0.1
    tab.redraw()
    until(shared, lambda: not tab.frame.by_hand and settled(shared))
    assert said(shared) == fit
    assert not tab.back_button.visible


def test_what_is_changed_is_marked_until_it_is_fitted_again(page):
    tab = page.tab
    tab.player.player.rerun = lambda: None  # nothing starts
    tab.menus._bandwidth.value = "validation"
    assert tab.outdated
    tab.show_frame(tab.frame)
    assert tab.pictures.map.outdated
    assert tab.pictures.ratios.outdated
    assert "model=dlr" in page.session.link.query
    tab.drag("x1", 9.0)  # of settings that are gone
    assert not tab.frames.busy


def test_two_of_more_columns_are_chosen_and_come_back_from_the_link():
    page = open_page("?page=boundaries&data=mixed-types&rows=300&axes=2-0&peer=svm-rbf")
    until(page, lambda: settled(page))
    tab = page.tab
    assert list(tab.table.X.columns) == ["temperature", "region"]
    assert not tab.pictures.map.surface.across.numeric
    assert not tab.menus.draw.visible  # points are drawn between numbers
    assert "<b>region</b> is categorical: it has no bandwidth" in said(page)
    tab.columns.menus[1].value = "stage"
    until(page, lambda: settled(page) and list(tab.table.X.columns) == ["region", "stage"])
    assert "<b>region and stage</b> are categorical: they have no bandwidth" in said(page)
    assert page.session.axes == (2, 3)
    tab.columns.menus[0].value = "stage"  # the two change places
    assert tab.columns.pair == ("stage", "region")
    until(page, lambda: settled(page) and page.session.axes == (3, 2))
    page.close()


def test_a_table_of_one_column_says_what_is_missing():
    page = open_page()
    until(page, lambda: settled(page))
    assert "parameters" in page.tab.starter.pane.object
    page.session.table.load_bytes("one.csv", "a,class\n" + "".join(f"{k / 7:.2f},{'xy'[k % 2]}\n" for k in range(40)))
    until(page, lambda: page.session.table.dataset is not None and page.session.table.dataset.name == "one")
    until(page, lambda: "needs two columns" in said(page))
    assert page.tab.starter.pane.object == ""  # the price was of the table before
    assert page.tab.pictures.map.surface is None
    page.close()


def test_the_scripts_numbers_are_the_screens(shared):
    tab = shared.tab
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(dlr_script(tab).replace("dlr  # in", "# in"), {})
    last = tab.player.racer.run.trace[-1]
    assert f"NLL {last.nll / tab.player.racer.run.trace.rows:.6f}" in printed.getvalue()
    assert f"lr: {100 * (1 - tab.peer.reference.error):.2f} %" in printed.getvalue()


def test_the_kernel_is_drawn_when_it_is_unfolded(shared):
    tab = shared.tab
    assert tab.pictures.gram.gram is None
    tab.pictures.folded.open = True
    until(shared, lambda: tab.pictures.gram.gram is not None)
    assert tab.pictures.gram.gram.share > 0.6


def test_a_moving_hand_sees_its_curve_alone_and_the_rest_when_it_pauses(shared, monkeypatch):
    tab = shared.tab
    monkeypatch.setattr(frame_queue, "REST_SECONDS", 60.0)
    monkeypatch.setattr(frame_queue, "FIRST_CURVE_SECONDS", 5.0)
    monkeypatch.setattr(frame_queue, "MAX_REST_WAIT_SECONDS", 60.0)  # however busy the machine is
    words, surface, path = said(shared), tab.pictures.map.surface, tab.pictures.path.path
    other = tab.pictures.ratios.cells["x2"].ratio.phi
    for h in (9.0, 8.0, 7.0):
        tab.drag("x1", h)
        assert tab.pictures.ratios.cells["x1"].ratio.bandwidth == pytest.approx(h)
        shared.pump()
        assert tab.frame.is_passing
    assert said(shared) == words
    assert (tab.pictures.map.surface, tab.pictures.path.path) == (surface, path)
    assert tab.pictures.ratios.cells["x2"].ratio.phi is other
    monkeypatch.setattr(frame_queue, "MAX_REST_WAIT_SECONDS", 0.0)  # so long ago did all pictures follow
    tab.drag("x1", 6.0)
    until(shared, lambda: settled(shared) and not tab.frame.is_passing)
    assert "By hand" in tab.pictures.ratios.scene.note
    assert tab.pictures.map.surface is not surface
    assert tab.pictures.path.path is path


def test_a_film_waits_a_moment_for_anothers_hand(shared, monkeypatch):
    tab, player = shared.tab, shared.tab.player
    monkeypatch.setattr(process_tuning, "DRAG_SECONDS", 60.0)
    monkeypatch.setattr(player.player, "playing", True)
    process_tuning.note_drag()
    assert tab.hand.goes_first
    tab.hand.settled_at -= 1.1 * frame_queue.FILM_PAUSE_SECONDS  # but not for ever
    assert not tab.hand.goes_first
    monkeypatch.setattr(process_tuning, "DRAG_SECONDS", 0.0)
    tab.hand.settled_at += 1.1 * frame_queue.FILM_PAUSE_SECONDS
    assert not tab.hand.goes_first


def test_a_fit_that_starts_by_itself_asks_nobody_to_press_run(page):
    said = set()
    page.tab.player.status.param.watch(lambda event: said.add(event.new), "object")  # however short it is said
    page.session.table.load_demo("two-moons", rows=100)

    def followed():
        return page.session.table.dataset.name == "two-moons" and page.tab.table is not None and settled(page)

    until(page, followed)
    assert not any("press Run" in word for word in said), said
    assert any("starts by itself" in word for word in said), said


def test_a_press_of_run_while_a_fit_starts_by_itself_starts_it_once(page):
    tab = page.tab
    before = tab.player.racer.run
    tab._on_choice("alpha", 2.5)
    assert tab.player.player.starts_itself
    tab.player.press_run()
    until(page, lambda: settled(page) and tab.player.racer.run is not before)
    assert tab.player.player.race.ended
    assert tab.drawn_run.recipe.params["alpha"] == 2.5
