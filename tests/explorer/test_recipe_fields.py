"""What the drawer offers is what the registry has, less what it would refuse."""

import pytest

from alrviz.errors import RecipeError
from alrviz.explorer.recipes.recipe_fields import change_family, has_effect, setting_names, valid_choices, with_family
from alrviz.explorer.widgets.recipe_settings import RecipeSettings
from alrviz.fitting.families import ENCODING, FAMILIES, RUNS
from alrviz.fitting.recipe import Recipe, paper_mode
from alrviz.fitting.solvers.solver_support import IN_BATCHES


def opened(recipe, changed=lambda *_: None):
    settings = RecipeSettings(changed, lambda *_: None, lambda *_: None)
    settings.show(0, recipe, "racer", is_only=True)
    return settings


def test_every_parameter_of_the_registry_has_a_widget():
    names = setting_names(FAMILIES)
    assert set(names) == {name for family in FAMILIES.values() for name in family.params}
    assert len(names) == len(set(names))
    settings = opened(Recipe("lr", alpha=0.3))
    assert set(settings._fields) - {"family"} == set(setting_names(RUNS))
    assert set(settings._common) == set(ENCODING) - {"seed"}


def test_widgets_stand_in_the_order_of_their_family():
    names = setting_names(FAMILIES)
    for name, family in FAMILIES.items():
        if not {"lr", "dlr"} & {name}:  # dlr has some of lr's in another order
            places = [names.index(param) for param in family.params]
            assert places == sorted(places), name


def test_an_alpha_for_each_order_is_typed_in_a_line():
    heard = []
    settings = opened(Recipe("hlr", alpha=(0.1, 3.0)), lambda _, recipe: heard.append(recipe))
    assert (settings._alphas.visible, settings._fields["alpha"].visible, settings._alphas.value) == (
        True,
        False,
        "0.1, 3",
    )
    for text in ("0.2, inf", "0.5", "1, 2, 3", "x"):
        settings._alphas.value = text
    assert heard == [Recipe("hlr", alpha=(0.2, float("inf"))), Recipe("hlr", alpha=0.5)]
    assert "alpha cannot be read" in settings._problem.object
    settings._alphas.value = "auto"
    assert heard[-1] == Recipe("hlr", alpha="auto")
    settings.show(0, Recipe("lr", alpha="auto"), "racer", is_only=True)
    assert (settings._alphas.visible, settings._alphas.value) == (True, "auto")
    settings.show(0, Recipe("lr", alpha=0.3), "racer", is_only=True)
    assert (settings._alphas.visible, settings._fields["alpha"].visible) == (False, True)
    assert FAMILIES["hlr"].params["alpha"].text((0.1, 3.0)) == "0.1, 3"


@pytest.mark.parametrize("family", ["lr", "alr"])
def test_nothing_is_offered_that_a_recipe_refuses(family):
    for start in (
        Recipe(family),
        *(Recipe(family, alpha=1.0, **more) for more in ({"bounds": (0, 1)}, {"objective": "hinge"})),
    ):
        for name, param in FAMILIES[family].params.items():
            for value in valid_choices(start, name):
                assert start.replace(**{name: value}).params[name] == value
            for value in set(param.choices) - {*valid_choices(start, name), *IN_BATCHES}:
                with pytest.raises(RecipeError):
                    start.replace(**{name: value})


def test_changed_family_has_a_fixed_alpha_unless_it_keeps_one():
    assert change_family(Recipe("anje"), "lr").params["alpha"] == 0.3
    assert change_family(Recipe("hlr", order=2, alpha=(1.0, 2.0)), "alr").params["alpha"] == 1.0
    assert change_family(Recipe("lr", alpha=2.0), "alr").params["alpha"] == 2.0
    assert change_family(Recipe("lr"), "hlr").params["alpha"] == "auto"
    assert with_family(Recipe("anje", order=3), "hlr", "order", "alpha") == Recipe("hlr", order=3, alpha=0.3)


def test_a_bounded_racer_is_offered_the_solver_that_keeps_bounds():
    bounded = Recipe("alr", bounds=(0, 1), alpha=1.0)
    assert valid_choices(bounded, "solver") == ["auto", "lbfgsb"]
    assert "auto: lbfgsb, which keeps the bounds" in opened(bounded)._fields["solver"].options
    assert "auto: tron" in opened(Recipe("alr", alpha=1.0))._fields["solver"].options
    assert "auto: lbfgs" in opened(Recipe("alr", alpha=0))._fields["solver"].options


def test_who_shares_a_weight_is_said():
    words = FAMILIES["lr"].params["share"].choices
    assert list(words.values()) == ["each cell and class", "each cell", "each tuple", "all cells together"]


def test_what_has_no_effect_is_not_shown():
    free, pulled = Recipe("alr", alpha=0), Recipe("alr", alpha=1, solver="gd")
    assert not has_effect(free, "center")
    assert has_effect(pulled, "center")
    assert has_effect(free, "memory")
    assert has_effect(Recipe("alr", alpha=1), "memory")
    assert Recipe("alr", alpha=1).solver == "tron"
    assert not has_effect(pulled, "memory")
    assert not has_effect(Recipe("anje"), "solver")
    assert has_effect(Recipe("anje"), "smoothing")
    assert not has_effect(free, "n_bins")
    assert has_effect(Recipe("alr", discretize="uniform", alpha=1.0), "n_bins")
    numbers = Recipe("dlr", discretize="uniform", alpha=10.0)
    assert [has_effect(numbers, name) for name in ("discretize", "n_bins", "holdout")] == [False, False, True]
    assert has_effect(free, "discretize")
    assert not opened(numbers)._common["discretize"].visible


def test_a_value_that_is_none_or_a_pair_goes_there_and_back():
    found = []
    settings = opened(Recipe("alr", alpha=0), lambda number, recipe: found.append(recipe))
    settings._fields["bounds"].value = (0, 1)
    settings.show(0, found[-1], "racer", is_only=True)
    assert settings._fields["bounds"].value == (0, 1)
    settings._fields["bounds"].value = "none"
    assert [recipe.params["bounds"] for recipe in found] == [(0, 1), None]
    assert ENCODING["discretize"].text(None) == "every value"


def test_paper_mode_is_one_press_and_says_so():
    found = []
    settings = opened(Recipe("alr", alpha=2, order=2), lambda number, recipe: found.append(recipe))
    assert settings._badge.object == ""
    settings._change_recipe(paper_mode)
    assert found == [paper_mode(Recipe("alr", alpha=2, order=2))]
    settings.show(0, found[0], "racer", is_only=True)
    assert "paper mode" in settings._badge.object
    assert not settings._paper.visible
    adaptive = opened(Recipe("lr", scale="diagonal-adaptive", alpha=0.3))
    adaptive._change_recipe(paper_mode)
    assert "diagonal-adaptive" in adaptive._problem.object


def test_no_menu_shows_a_value_as_it_is_spelled_in_python():
    schemas = [param for params in (ENCODING, *(of.params for of in FAMILIES.values())) for param in params.values()]
    alike = {value for param in schemas for value, words in param.choices.items() if words == value}
    assert alike <= {"auto", "balanced", "diagonal", "linear", "none", "one", "phi", "random", "w", "zero"}
