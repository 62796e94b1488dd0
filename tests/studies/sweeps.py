"""Small studies, and what they share."""

from alrviz.data.demos import load_demo
from alrviz.fitting.recipe import Recipe
from alrviz.studies.protocols.bias_variance import bias_variance
from alrviz.studies.protocols.effect_bands import effect_bands

RECIPES = (Recipe("anje", order=1), Recipe("lr", order=2, alpha=1.0), Recipe("alr", order=1, alpha=1.0, start="random"))


def small(recipes=RECIPES, rounds=2, rows=200, **where):
    """Return a study of few rows: 2 x 2-fold of three recipes."""
    return bias_variance(load_demo("tic-tac-toe", rows), recipes, rounds=rounds, **{"n_jobs": 1, **where})


def small_effects(**where):
    """Return a study of effects of few rows: a model and 12 refits."""
    recipe = Recipe("lr", order=1, alpha=1.0)
    return effect_bands(load_demo("tic-tac-toe", 200), recipe, refits=12, **{"n_jobs": 1, **where})


def numbers(study):
    """Return the frame of a study without its columns of seconds."""
    frame = study.frame()
    return frame[[name for name in frame if not name.endswith("seconds")]]
