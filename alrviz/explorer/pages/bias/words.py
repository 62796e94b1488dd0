"""The words of "Bias and variance": what one looks at in either tab, and the scripts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from alrviz.explorer.pages.bias.curve_settings import Asked as CurveAsked
from alrviz.explorer.pages.bias.settings import Asked
from alrviz.explorer.widgets.scripts import dataset_code, recipe_code
from alrviz.explorer.widgets.study_costs import Costs
from alrviz.fitting.recipe import Recipe

if TYPE_CHECKING:
    from alrviz.explorer.session.session import Session

ABOUT_GRID = r"""
A model errs because it cannot say what is true ([[bias]]), and because other training rows would have made another
model of it ([[variance]]). The rows are shuffled and cut into folds, again and again; in each round every row is
[[held-out|held out]] once and predicted by a model that has not seen it. With $R$ rounds a row has $R$ predictions, and
their scatter is variance.

*Kohavi and Wolpert*: $p_k$ is the share of a row's predictions that say class $k$. Then
$\text{bias}^2 = \frac{1}{2} \sum_k (1[k = y] - p_k)^2$ and $\text{variance} = \frac{1}{2} (1 - \sum_k p_k^2)$, averaged
over rows. [[plug-in|Plug-in]] takes the shares as they are, as if $R$ predictions were all there could be; the
*unbiased* form moves $\text{variance} / (R - 1)$ from bias to variance. *Domingos*: a row's main prediction is the one
that most rounds give; bias is 1 where it is wrong, and net variance is what rounds that stray from it add to the error,
less what they take away. In each of the three bias + variance = error ([[0-1 loss]]), in every cell of the grid.

Error bars are one standard error by the jackknife over rounds; they shrink as rounds are added, and there are none
before the third. As in [WANBIA-C], with a higher [[order]] bias falls and variance rises; a stronger penalty
([[alpha]]) does the opposite, and more training rows take variance away."""

ABOUT_CURVE = r"""
[[prequential|Test, then train]]: a row is predicted with what was learned so far, and then learned from. A point is the
mean over the last rows, the *window*; the first points average the few rows there are. The rows come in several
shuffles, the same for every learner: the line is the mean, the band one standard error.

*lr* and *alr* take one step a row, by sgd (one step length for all weights) or adagrad (one for each weight, which
shrinks with use); the first step length is the one that does best on the first 2,000 rows. [[AnJE]] only counts. Low
[[order|orders]] have few numbers to learn and are ahead at first; a higher order needs more rows to show what it can
say. A ring marks the row from which it stays ahead of the order below. [[ALR|alr]] needs log [[theta]], which only rows
give: *two-pass* takes it from all rows beforehand, as [ALR] does, and is ahead by it from the start; *single-pass*
takes it from the rows so far."""


def grid_script(session: "Session", asked: Asked, known: Costs, version: str) -> str:
    """The script of the grid: its numbers are the screen's, but for seconds."""
    rounds, folds = asked.splits
    how = f"rounds={rounds}, folds={folds}, train_shares={asked.shares}, seed={session.seed},"
    return _script(session, "bias_variance", known.runnable, how, version)


def curve_script(session: "Session", asked: CurveAsked, known: Costs, version: str) -> str:
    """The script of the learning curves."""
    how = f"repeats={asked.repeats}, window={asked.window}, theta={asked.theta!r}, seed={session.seed},"
    return _script(session, "learning_curve", known.runnable, how, version)


def _script(session: "Session", kind: str, recipes: Sequence[Recipe], how: str, version: str) -> str:
    made = ",\n    ".join(recipe_code(recipe) for recipe in recipes)
    return f"""# alrviz {version}
import alrviz

{dataset_code(session)}
recipes = [
    {made},
]
study = alrviz.{kind}(
    dataset, recipes,
    {how}
)  # n_jobs=1 computes in this process, keep=True keeps every fit as it finishes
study.run()
print(study.summary().to_string())
"""
