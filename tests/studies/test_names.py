"""What racers are called: as short as tells them apart, in words that mean something."""

import pytest

from alrviz.fitting.recipe import AUTOMATIC, Recipe
from alrviz.studies.core.names import short_names


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ([{}], ["lr"]),
        ([{"order": 1}, {"order": 2}], ["lr n=1", "lr n=2"]),
        ([{"alpha": 0}, {"alpha": 0.1}], ["lr alpha 0", "lr alpha 0.1"]),
        (
            [{"alpha": 0}, {"alpha": 1}, {"alpha": 1, "center": "anje"}],
            ["lr alpha 0", "lr alpha 1 to 0", "lr alpha 1 to AnJE"],
        ),
        ([{"alpha": 0, "center": 0}, {"alpha": 0, "center": "anje"}], ["lr #1", "lr #2"]),
        ([{"class_weight": {"a": 1}}, {"class_weight": {"a": 2}}], ["lr #1", "lr #2"]),
    ],
)
def test_names_contain_only_settings_that_differ(settings, names):
    assert short_names([Recipe("lr", **{"alpha": 0.3, **each}) for each in settings]) == names


def test_racers_of_elr_are_told_apart_by_their_tables_and_by_when_they_stop():
    tables = [Recipe("elr", structure=s, cross_tuning=t) for t in (False, True) for s in ("nb", {"b": "a"})]
    assert short_names(tables) == ["elr nb to the end", "elr given to the end", "elr nb tuned", "elr given tuned"]
    assert short_names([Recipe("elr", structure={"b": "a"}), Recipe("lr", alpha=0.3)]) == ["elr", "lr"]


def test_autoclassifier_is_named_among_models_of_its_family():
    recipes = [Recipe("hlr", order=2, alpha=0.3), AUTOMATIC.replace(seed=3, holdout=0.2), Recipe("hgb")]
    assert short_names(recipes) == ["hlr", "AutoClassifier", "boosting"]
