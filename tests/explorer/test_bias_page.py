"""The page "Bias and variance" without a browser: both tabs, their prices, links, what is kept, the scripts."""

import pytest

from alrviz.explorer.pages.bias import curve as bias_curve
from alrviz.explorer.pages.bias.page import GRIDS, BiasPage, GridSpec, with_alpha
from alrviz.explorer.recipes.questions import CUSTOM
from alrviz.explorer.session.state import State, read_link
from alrviz.fitting.recipe import Recipe
from alrviz.studies.core import workers
from alrviz.studies.protocols.learning_curve import learning_curve
from tests.explorer.pages import OWNER
from tests.explorer.pages import opened as opened_at
from tests.explorer.pages import run_study as run
from tests.explorer.pages import until_study as until
from tests.views.studied import slowed

pytestmark = pytest.mark.usefixtures("home")

SMALL = "?page=bias&data=monks-1&of=anje_o1~anje_o2&folds=3x2"
CURVE = "?page=bias&data=monks-1&tab=learning-curve&of=anje_o1~lr_o1_a0_vsgd&folds=3-100"


def open_page(link=SMALL, registry=None):
    page = opened_at(BiasPage, link, registry=registry)
    until(page, lambda: page.tab.runner.costs is not None)
    return page


@pytest.fixture
def opened():
    pages = []

    def make(*args, **params):
        pages.append(open_page(*args, **params))
        return pages[-1]

    yield make
    for page in pages:
        for tab in page._built.values():
            if tab.study_view.study is not None:
                tab.study_view.study.stop()
        page.close()


def test_every_recipe_is_priced_before_anything_runs(opened):
    page = opened("?page=bias&data=monks-1&of=anje~lr_o3~tan~rf~svm~elr")
    assert [one.name for one in page.tab.runner.costs.fits] == ["anje", "lr", "tan", "rf", "svm", "elr"]
    assert all(one.cost.bytes > 0 and one.cost.seconds > 0 for one in page.tab.runner.costs.fits)
    assert page.tab.layout.cost_table.object.count("<tr>") == 7
    assert "at least" in page.tab.layout.time.object
    assert "Press Run: 6 models, 10 fits each" in page.tab.study_view.sentence.object
    assert page.session.registry.entries(OWNER) == []


def test_a_recipe_that_cannot_be_paid_for_is_left_out_and_says_why(opened, monkeypatch):
    monkeypatch.setattr("alrviz.studies.core.workers.fair_memory", lambda: 200_000)
    page = opened("?page=bias&data=monks-1&of=anje_o1~lr_o5")
    assert [bool(one.refusal) for one in page.tab.runner.costs.fits] == [False, True]
    assert "left out" in page.tab.layout.cost_table.object
    assert "1 left out" in page.tab.layout.time.object
    assert [recipe.label for recipe in page.tab.runner.costs.study.recipes] == ["nb"]
    alone = opened("?page=bias&data=monks-1&of=lr_o5")
    assert alone.tab.runner.costs.study is None
    assert alone.tab.study_view.bar.run.disabled
    assert "Nothing to run" in alone.tab.study_view.sentence.object


def test_the_grid_fills_and_a_control_that_changes_marks_it(opened, monkeypatch):
    slowed(monkeypatch, 0.05)
    monkeypatch.setattr("alrviz.views.studies.study_view.REST_PER_DRAW_SECOND", 0)
    page = opened(SMALL.replace("3x2", "10x2"))
    view = page.tab.study_view
    view.press_run()
    until(page, lambda: " of 20 fits" in view._grid.object and "Lowest error" in view.sentence.object)
    page.tab.menus["folds"].value = "5x2"
    assert view.outdated
    until(page, lambda: page.tab.runner.costs is not None)
    assert view.outdated, "what runs stays until Run"
    page.tab.menus["folds"].value = "10x2"
    until(page, lambda: page.tab.runner.costs is not None)
    assert not view.outdated
    until(page, lambda: view.study.phase == "done" and "Lowest error" in view.sentence.object)
    until(page, lambda: "of 20 fits" not in view._grid.object)


def test_more_rounds_take_what_is_kept_of_fewer_and_another_process_takes_all(opened, monkeypatch):
    page = opened()
    run(page)
    computed, original = [], workers.compute
    monkeypatch.setattr(workers, "compute", lambda *args: (computed.append(args), original(*args))[1])
    page.tab.menus["folds"].value = "5x2"
    until(page, lambda: page.tab.runner.costs is not None)
    run(page)
    assert len(computed) == 8, "of 20 cells 12 were kept"
    assert set(page.tab.study_view.study.summary().rounds) == {5}
    again = opened(page.session.link.query)
    assert again.tab.study_view.study.phase == "done"
    assert "Lowest error" in again.tab.study_view.sentence.object
    assert len(computed) == 8


def test_what_is_set_is_in_the_link_and_comes_from_it(opened):
    page = opened("?page=bias&data=monks-1")
    assert page.session.link.query == "?page=bias&data=monks-1", "the first settings are the shortest link"
    page.tab.menus["grid"].value = "generative"
    page.tab.menus["sizes"].value = "50-100"
    page.tab.menus["alpha"].value = 10.0
    assert "of=anje_o1~anje~anje_o3~lr_o1_a10~lr_a10~lr_o3_a10" in page.session.link.query
    assert "sizes=50-100" in page.session.link.query
    again = opened(page.session.link.query)
    assert again.tab.spec == page.tab.spec
    assert again.tab.menus["grid"].value == "generative"
    assert again.tab.spec.shares == (0.5, 1.0)
    page.choice.value = "learning-curve"
    assert "tab=learning-curve" in page.session.link.query
    assert "of=" not in page.session.link.query
    page.choice.value = "grid"
    assert page.session.link.query == again.session.link.query


@pytest.mark.parametrize("sizes", ["0-100", "100-100", "200", "x", "1" * 400, "5-10-20-30-40-50-60-70-100"])
def test_training_sizes_of_a_link_are_shares(sizes):
    shares = GridSpec.read(State(sizes=sizes), "").shares
    assert all(0 < share <= 1 for share in shares)
    assert 1 <= len(shares) <= 6
    assert len(set(shares)) == len(shares)


def test_equal_recipes_are_one():
    asked = GridSpec.read(State(study_recipes=(Recipe("lr", alpha=0.3), Recipe("lr", alpha=0.3), Recipe("tan"))), "")
    assert asked.recipes == (Recipe("lr", alpha=0.3), Recipe("tan"))
    assert asked.grid == CUSTOM


@pytest.mark.parametrize("slug", GRIDS)
def test_a_grid_is_known_again_under_one_alpha_for_all(slug):
    grid = GRIDS[slug].recipes
    assert GridSpec(grid).grid == slug
    assert len(set(grid)) <= 6
    if slug != "alphas":
        asked = GridSpec(with_alpha(grid, "cv"))
        assert (asked.grid, asked.shares_alpha) == (slug, True)


def test_recipes_are_chosen_by_chips_of_any_family(opened):
    page = opened()
    chooser = page.tab.chooser
    chooser.add()
    assert page.tab.spec.recipes[2] == Recipe("anje", order=3)
    chooser.settings._fields["family"].value = "rf"
    assert page.tab.spec.recipes[2] == Recipe("rf")
    assert "of=anje_o1~anje~rf" in page.session.link.query
    assert list(page.drawer().objects) == [chooser.settings.panel]
    assert page.tab.menus["grid"].value == CUSTOM


# -- the learning curve --------------------------------------------------------------------------------------------


def test_the_curve_runs_from_its_link(opened):
    page = opened(CURVE)
    assert (page.tab.spec.repeats, page.tab.spec.window) == (3, 100)
    assert not page.tab.menus["theta"].visible, "no learner has theta"
    run(page)
    assert "mean over the last 100 rows" in page.tab.study_view.caption.object


def test_whatever_a_link_asks_for_is_made_a_learner():
    given = (
        Recipe("rf"),
        Recipe("lr", alpha=3.0, start="anje"),
        Recipe("alr", scale="theta-gamma", solver="sgd", alpha=1.0),
    )
    asked = bias_curve.CurveSpec.read(State(study_recipes=given, folds="999999999-0", theta="x"), "")
    assert (asked.repeats, asked.window, asked.theta) == (100, 1, "single-pass")
    assert [recipe.family for recipe in asked.recipes] == ["lr", "alr"]
    assert asked.recipes[1].solver == "sgd"
    import alrviz

    learning_curve(alrviz.load_demo("monks-1"), asked.recipes)  # raises where one cannot learn row by row


@pytest.mark.parametrize("slug", bias_curve.GRIDS)
def test_the_grids_of_learners_can_learn_row_by_row(slug):
    recipes = bias_curve.GRIDS[slug].recipes
    assert tuple(map(bias_curve.to_learner, recipes)) == recipes
    assert len(recipes) <= 6


def test_a_tab_that_is_not_seen_is_not_priced(opened):
    page = opened()
    page.choice.value = "learning-curve"
    until(page, lambda: page.tab.runner.costs is not None)
    grid, curve = page._built["grid"], page.tab
    page.session.table.load_demo("xor", rows=200)
    until(page, lambda: page.session.table.dataset.name == "xor" and curve.runner.costs is not None)
    assert curve.runner.costs.study.dataset.name == "xor"
    assert grid.runner.costs.study.dataset.name == "monks-1"
    page.choice.value = "grid"
    until(page, lambda: grid.runner.costs is not None and grid.runner.costs.study.dataset.name == "xor")


def test_what_is_shown_of_a_picture_is_in_the_link_of_its_tab():
    page = open_page(SMALL + "&view=definition.Domingos~axis.nothing")
    view = page.tab.study_view
    assert (view.definition, view.axis) == ("Domingos", "order"), "what is no axis is left out"
    view.axis = "alpha"
    assert read_link(page.session.link.query).view == (("definition", "Domingos"), ("axis", "alpha"))
    page.choice.value = "learning-curve"
    assert read_link(page.session.link.query).view == ()
    page.tab.study_view.span = "first"
    assert "view=span.first" in page.session.link.query
    page.tab.study_view.measure = "log_loss"
    assert "measure=log_loss" in page.session.link.query
    page.choice.value = "grid"
    assert read_link(page.session.link.query).view == (("definition", "Domingos"), ("axis", "alpha"))
    assert "measure" not in page.session.link.query, "this tab has none"
    page.close()
