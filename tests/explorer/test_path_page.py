"""The page "Generative to discriminative" without a browser: prices, links, what is kept, the alpha that is used."""

import pytest

from alrviz.explorer.pages.path.page import MenuValues, PathPage, PathSpec, menu_values_of, racers_of
from alrviz.fitting.recipe import Recipe
from alrviz.studies.protocols import alpha_path as path_module
from alrviz.studies.protocols.alpha_path_verdict import AlphaPathVerdict
from tests.explorer.pages import opened
from tests.explorer.pages import run_study as run
from tests.explorer.pages import until_study as until

pytestmark = pytest.mark.usefixtures("home")

SMALL = "?page=path&data=monks-1&of=alr_o1_a1_canje"


def open_page(link=SMALL, registry=None):
    return opened(PathPage, link, registry=registry)


@pytest.fixture
def page():
    made = open_page()
    until(made, lambda: made.runner.costs is not None)
    yield made
    if made.study_view.study is not None:
        made.study_view.press_stop()
    made.close()


def test_a_fit_follows_before_anything_runs(page):
    menus = [menu for menu in page.menus.parts if menu.visible]
    assert len([*menus, page.study_view.bar.run, page.study_view.bar.stop, page.layout.open_button]) <= 8
    until(page, lambda: not page.study_view.follower.busy)
    assert page.study_view.row() is not None


def test_the_best_alpha_is_offered_and_raced(page):
    run(page)
    best = page.study_view.readings[0]
    assert f"replace(alpha={best.alpha!r}" in page.script()
    assert page.layout.open_button.visible
    assert page.layout.open_button.description.startswith(page.layout.open_button.label)
    page.open_recommendation()
    assert page.session.page == "convergence"
    assert [(r.family, r.params["alpha"], r.params["center"]) for r in page.session.offered_recipes] == [
        ("alr", best.alpha, "anje"),
        ("lr", best.alpha, "anje"),
    ]


def test_of_several_paths_each_brings_its_best_and_of_ones_there_is_no_lr():
    recipes = [Recipe("alr", center=1, alpha=1.0), Recipe("lr", alpha=0.3)]
    found = [AlphaPathVerdict(k, 10.0**k, 0.1, 0.2, 0.3, "between") for k in range(2)]
    assert [(r.family, r.params["alpha"], r.seed) for r in racers_of(recipes, found, 7)] == [
        ("alr", 1, 7),
        ("lr", 10, 7),
    ]
    assert [r.family for r in racers_of(recipes, found[:1], 7)] == ["alr"]


def test_all_that_is_set_and_looked_at_is_in_the_link(page):
    page.menus["family"].value = "both"
    page.menus["order"].value = 2
    page.menus["center"].value = "all"
    page.study_view.param.update(measure="rmse", alpha=31.6)
    assert "alpha" not in page.session.link.query, "while the hand moves: each link is one of the browser's history"
    until(page, lambda: page.runner.costs is not None)
    page.study_view.path = 1
    until(page, lambda: "alpha=31.6" in page.session.link.query)
    link = page.session.link.query
    again = open_page(link)
    assert again.spec.recipes == page.spec.recipes
    assert [r.params["center"] for r in again.spec.recipes] == [0, "anje", 0, 1, "anje"]
    until(again, lambda: again.runner.costs is not None)
    assert (again.study_view.measure, again.study_view.alpha, again.study_view.path) == ("rmse", 31.6, 1)
    assert again.session.link.query == link
    again.close()
    odd = open_page("?page=path&data=monks-1&alpha=-3&measure=brier&path=99")
    until(odd, lambda: odd.runner.costs is not None)
    assert (odd.study_view.measure, odd.study_view.alpha, odd.study_view.path) == ("log_loss", None, 0)
    assert odd.spec == PathSpec()
    odd.close()


def test_menus_say_what_they_can_and_links_bring_the_rest():
    assert menu_values_of(PathSpec.default_recipes) == MenuValues("alr", "anje", 2)
    assert menu_values_of(MenuValues("both", "all", 3).recipes(PathSpec.default_recipes[0])) == MenuValues(
        "both", "all", 3
    )
    own = PathSpec.usable_recipes(
        (Recipe("lr", alpha=0.3), Recipe("alr", center=1, objective="hinge", alpha=1.0), Recipe("tan"))
    )
    assert [(r.family, r.params["alpha"], r.params["objective"]) for r in own] == [("lr", 1, "nll"), ("alr", 1, "nll")]
    assert menu_values_of(own) is None
    assert PathSpec(PathSpec.usable_recipes((Recipe("tan"),))).recipes == PathSpec.default_recipes
    page = open_page("?page=path&data=monks-1&of=lr_o1~alr_o1_c1")
    assert (page.menus["family"].value, page.menus["center"].value) == ("", "")
    page.menus["family"].value = "lr"
    assert [(r.family, r.params["center"]) for r in page.spec.recipes] == [("lr", "anje")]
    assert "one" not in page.menus["center"].options
    page.close()


def test_what_cannot_be_run_is_said_in_its_place():
    page = open_page("?page=path&data=age-curve&of=alr_o3_a1")
    until(page, lambda: page.runner.costs is not None)
    assert "Nothing to run" in page.study_view.sentence.object
    assert page.study_view.bar.run.disabled
    page.menus["order"].value = 1
    until(page, lambda: page.runner.costs is not None)
    assert "Press Run" in page.study_view.sentence.object
    page.close()


def test_a_visitor_who_leaves_ends_the_fit(page, monkeypatch):
    monkeypatch.setattr(path_module, "MAX_LIVE_WORK", 0)
    page.study_view._press_fit()
    page.close()
    assert not page.study_view.follower.busy
