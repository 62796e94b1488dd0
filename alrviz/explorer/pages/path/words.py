"""The words of "Generative to discriminative": what one looks at, the script."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from alrviz.explorer.widgets.scripts import dataset_code, recipe_code
from alrviz.fitting.recipe import Recipe
from alrviz.studies.protocols.alpha_path_verdict import Reading

if TYPE_CHECKING:
    from alrviz.explorer.session.session import Session

ABOUT = r"""
How much should a model believe the counts, and how much the classes it is asked to tell apart? One number turns one
into the other. A path minimises

$$F = - \sum_i \log p(y_i \mid x_i) + \alpha \| w - w_0 \|^2$$

for one [[alpha]] after the other, each fit started at the one before. Where alpha is large nothing but the [[center]]
$w_0$ counts: with [[AnJE]] that is the *generative* model (naive Bayes at n = 1), whose [[theta]] is counted, not
fitted; with 0 it is a model that knows nothing. Where alpha is small nothing shrinks any more: the *discriminative*
model, which is free to fit every training row. 1 stands for all weights at one: at n = 1 that is naive Bayes too, above
it ALR counts every column many times and is too sure of itself.

*Full lines* are training rows: shrunk less, they never get worse in [[log loss]]. *Dashed lines* are [[held-out]] rows,
and a ring marks the lowest of them. Dotted lines are models that have no alpha; those far outside are named at the
edge, with an arrow. Numbers are per row; an end counts as worse than the best where it is more than two standard errors
above it, row by row. The best is chosen on the rows it is judged on, which flatters it a little: the page *Which
order?* chooses alpha inside the training rows.

The small picture shows how far the weights have left the center: the line is the middle one, the bands hold half, nine
tenths and all of them. The slider looks at one alpha. Small tables are fitted there while it moves; on larger ones
press *Fit here*."""


def script(session: "Session", recipes: Sequence[Recipe], found: Sequence[Reading], measure: str, version: str) -> str:
    """The script of "copy as Python": its numbers are the screen's, but for seconds; with the best alphas there are."""
    made = ",\n    ".join(recipe_code(recipe) for recipe in recipes)
    best = "".join(
        f"chosen = study.recipes[{one.racer}].replace(alpha={one.alpha!r}, seed={session.seed})\n"
        f"print(chosen.name, {one.value:.6f})  # the lowest held-out {measure} of this path\n"
        for one in found
    )
    return f"""# alrviz {version}
import alrviz
from alrviz.studies.protocols.alpha_path_verdict import sentence

{dataset_code(session)}
recipes = [
    {made},
]  # their alpha is not used
study = alrviz.path(
    dataset, recipes, seed={session.seed}
)  # n_jobs=1 computes in this process, keep=True keeps every path as it finishes
for row in study.rows():
    if row["outcome"] == "failed":
        print(row["label"], row["sentence"])
    else:
        print(row["racer"], row["alpha"], f"{{row['log_loss']:.6f}} {{row['rmse']:.6f}} {{row['error']:.6f}}")
print(sentence(study, {measure!r}))
{best}"""
