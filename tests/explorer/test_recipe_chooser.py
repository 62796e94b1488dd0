"""Several recipes are chosen by chips and a drawer, on every page alike; what may be chosen is the page's."""

import pytest

from alrviz.explorer.recipes.recipe_fields import STUDY_CHOICES, Choosable
from alrviz.explorer.server.limits import ServerLimits
from alrviz.explorer.server.run_registry import Registry
from alrviz.explorer.session.session import Session
from alrviz.explorer.widgets.recipe_chooser import RecipeChooser
from alrviz.fitting.families import FAMILIES
from alrviz.fitting.recipe import Recipe


class Set:
    """A page's recipes."""

    def __init__(self, *recipes, choosable=STUDY_CHOICES):
        self.recipes = recipes
        session = Session(owner="a" * 32, registry=Registry(ServerLimits(), timer=False))
        self.opened = []
        session.open_drawer = self.opened.append
        self.chooser = RecipeChooser(session, lambda: self.recipes, self.take, lambda: Recipe("tan"), choosable)
        self.chooser.show()

    def take(self, recipes):
        self.recipes = recipes
        self.chooser.show()

    @property
    def chips(self):
        return [chip.label for chip in self.chooser.chips if chip.visible]


def test_a_chip_a_recipe_and_the_last_stays():
    page = Set(Recipe("lr", order=1, alpha=0.3), Recipe("lr", order=2, alpha=0.3), Recipe("rf"))
    assert page.chips == ["lr n=1", "lr n=2", "rf"]
    page.chooser.remove(0)
    page.chooser.remove(0)
    page.chooser.remove(0)
    assert page.chips == ["rf"]


def test_one_more_opens_its_settings_and_six_are_the_most():
    page = Set(Recipe("rf"))
    for _ in range(9):
        page.chooser.add()
    assert [recipe.family for recipe in page.recipes] == ["rf", *["tan"] * 5]
    assert page.opened == [True] * 5
    assert "Model: tan" in page.chooser.settings._title.object
    assert not page.chooser.add_button.visible


@pytest.mark.parametrize("family", FAMILIES)
def test_of_any_family_each_setting_that_has_an_effect_can_be_set(family):
    page = Set(Recipe("lr", alpha=0.3))
    page.chooser.open(0)
    page.chooser.settings._fields["family"].value = family
    assert page.recipes[0].family == family
    shown = {name for name, field in page.chooser.settings._fields.items() if field.visible} - {"family"}
    assert shown <= set(FAMILIES[family].params)
    assert {"order", "k", "n", "n_estimators", "C", "kernel", "smoothing"} & set(FAMILIES[family].params) <= shown
    assert not page.chooser.settings._common["holdout"].visible, "a study splits by itself"


def test_alpha_may_be_chosen_by_each_fold_where_the_family_can():
    page = Set(Recipe("lr", alpha=0.25), Recipe("dlr", alpha=10.0))
    page.chooser.open(0)
    alpha = page.chooser.settings._fields["alpha"]
    assert "0.25" in alpha.options
    alpha.value = alpha.options["by inner folds"]
    assert page.recipes[0].params["alpha"] == "cv"
    assert page.chooser.settings._fields["center"].visible
    page.chooser.look_at(1)
    assert "by inner folds" not in alpha.options


def test_what_a_page_would_mend_is_not_offered():
    def by_rows(recipe):
        return recipe.replace(solver="sgd") if recipe.solver not in ("sgd", "adagrad") else recipe

    choosable = Choosable(("lr", "alr"), "Learner", ("alpha",), mend=by_rows)
    page = Set(Recipe("lr", solver="sgd", alpha=0.3), choosable=choosable)
    page.chooser.open(0)
    fields = page.chooser.settings._fields
    assert set(fields["solver"].options.values()) == {"sgd", "adagrad"}
    assert not fields["alpha"].visible
    fields["family"].value = "alr"
    assert page.recipes[0].solver == "sgd"


def test_a_change_of_the_encoding_goes_to_all():
    page = Set(Recipe("lr", alpha=0.3), Recipe("tan"))
    page.chooser.open(1)
    page.chooser.settings._common["discretize"].value = "quantile"
    assert [recipe.discretize for recipe in page.recipes] == ["quantile", "quantile"]
