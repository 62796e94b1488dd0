"""What a path says: where along alpha the lowest test loss lies, in one sentence of a fixed list.

An end counts as worse than the best where it is more than two standard errors of the paired difference above it. So
an intermediate alpha is best (both ends are worse), or the generative end (only the other is), or that of the
weakest penalty. Where no end is worse, alpha hardly matters if even two standard errors more would leave both ends
within 5 % of the best; else the test rows are too few to tell. RMSE may dip between where log loss does not: that
is said beside it. ([WANBIA-C] V)
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from alrviz.fitting.families.shared_params import center_name
from alrviz.fitting.recipe import Recipe
from alrviz.studies.core.names import short_names
from alrviz.studies.statistics.measures import loss_text

if TYPE_CHECKING:
    import pandas as pd

    from alrviz.studies.core.study import Study

BETWEEN, GENERATIVE, FREE, FLAT, UNCLEAR = "between", "generative", "free", "flat", "unclear"
WORDS: Mapping[str, str] = {"log_loss": "log loss", "rmse": "RMSE", "error": "0-1 loss"}
_ERRORS = 2.0  # standard errors from which a difference counts
_NEGLIGIBLE_SHARE = 0.05  # of the lowest loss: a difference that is surely smaller hardly matters


@dataclass(frozen=True)
class AlphaPathVerdict:
    """What one path says.

    Attributes:
        racer: of the study's recipes.
        alpha, value: the best test value of the measure, and where it is.
        first, last: the values at the strongest penalty and at the weakest.
        place: "between", "generative", "free", "flat" (both ends are surely about as good) or "unclear" (neither is
            surely worse, nor surely as good).
        error: two standard errors of the difference between the best and that end about which less is known.
    """

    racer: int
    alpha: float
    value: float
    first: float
    last: float
    place: str
    error: float = 0.0


def paths_of(study: "Study") -> list[Recipe]:
    """Return the recipes that have paths: the first of the study's; those after them are its references."""
    count = len({task.racer for task in study.tasks if task.kind == "path"})
    return list(study.recipes[:count])


def path_names(study: "Study") -> list[str]:
    """Return a short name for each path, its center in it; what alpha its recipe has means nothing.

    >>> from alrviz import Recipe, alpha_path, load_demo
    >>> path_names(alpha_path(load_demo("led", 300), [Recipe("alr"), Recipe("lr", center="anje")]))
    ['alr to 0', 'lr to AnJE']
    """
    recipes = [recipe.replace(alpha=1.0) for recipe in paths_of(study)]
    centers = [f" to {center_name(recipe.params['center'])}" for recipe in recipes]
    names = zip(short_names(recipes), centers, strict=True)
    return [name if center in name else name + center for name, center in names]


def reading(curve: "pd.DataFrame", measure: str) -> AlphaPathVerdict:
    """Return what the rows of one path say of a measure; curve: of `summary()`, one racer."""
    line = curve.sort_values("alpha", ascending=False)
    values, errors = line[measure].to_numpy(float), line[f"{measure}_above_se"].to_numpy(float)
    best = int(values.argmin())
    above, spread = values[[0, -1]] - values[best], _ERRORS * errors[[0, -1]]
    worse = above > spread
    surely_level = bool((above + spread <= _NEGLIGIBLE_SHARE * values[best]).all())
    place = {
        (True, True): BETWEEN, (False, True): GENERATIVE, (True, False): FREE,
        (False, False): FLAT if surely_level else UNCLEAR,
    }  # fmt: skip
    alpha, first, last = float(line.alpha.iloc[best]), float(values[0]), float(values[-1])
    return AlphaPathVerdict(
        int(line.racer.iloc[0]), alpha, float(values[best]), first, last, place[bool(worse[0]), bool(worse[1])],
        float(spread.max()),
    )  # fmt: skip


def readings(study: "Study", measure: str) -> list[AlphaPathVerdict]:
    """Return what each path that is there by now says of a measure (log_loss, rmse, error)."""
    return _readings(study, study.summary(), measure)


def _readings(study: "Study", lines: "pd.DataFrame", measure: str) -> list[AlphaPathVerdict]:
    if f"{measure}_above_se" not in lines:  # no path yet
        return []
    parts = [lines[lines.racer == racer] for racer in range(len(paths_of(study)))]
    return [reading(part, measure) for part in parts if len(part)]


def best_of(found: Sequence[AlphaPathVerdict]) -> AlphaPathVerdict | None:
    """Return the reading of the lowest test value; None where there is none."""
    return min(found, key=lambda one: one.value, default=None)


def sentence(study: "Study", measure: str = "log_loss") -> str:
    """Return what the best of the paths there are says; "" where there is none yet.

    >>> from alrviz import Recipe, alpha_path, load_demo
    >>> study = alpha_path(load_demo("balance-scale"), [Recipe("alr", center="anje")], n_jobs=1).run()
    >>> sentence(study).split(":")[0]
    'An intermediate alpha is best'
    """
    lines = study.summary()
    found = _readings(study, lines, measure)
    best = best_of(found)
    if best is None:
        return ""
    names = path_names(study)
    of = f" of {len(found)} paths ({names[best.racer]})" if len(found) > 1 else ""
    rows = heldout_rows(study)
    text = _sentence(best, WORDS[measure], of, _ends(study, lines, best, measure), rows)
    dips = measure != "rmse" and best.place != BETWEEN and reading(lines[lines.racer == best.racer], "rmse")
    if dips and dips.place == BETWEEN:
        text += (f". RMSE dips between all the same: {loss_text(dips.value)} at alpha {alpha_text(dips.alpha)}, "
                 f"{loss_text(dips.first)} and {loss_text(dips.last)} at the ends")  # fmt: skip
    return text + "."


def heldout_rows(study: "Study") -> int:
    """Return about how many rows a path is judged on."""
    return round(study.dataset.n_rows * float(json.loads(study.spec)["holdout"]))


def _sentence(of: AlphaPathVerdict, words: str, paths: str, ends: tuple[str, str], rows: int) -> str:
    lowest = f"alpha {alpha_text(of.alpha)} has test {words} {loss_text(of.value)}"
    first, last = ends
    if of.place == BETWEEN:
        on = paths.replace(" of", ", in the best of", 1)
        return f"An intermediate alpha is best{on}: {lowest}, below {first} and {last}"
    if of.place == UNCLEAR:
        between = "" if of.value in (of.first, of.last) else f"{lowest}, "
        return (
            f"Which alpha is best cannot be told{paths} from {rows:,} test rows: {between}"
            f"{'' if between else f'test {words} '}{first} and {last}, differences that are uncertain by "
            f"± {loss_text(of.error)}"
        )
    if of.place == FLAT and of.value in (of.first, of.last):
        return f"alpha hardly matters{paths}: test {words} {first} and {last}, within two standard errors"
    if of.place == FLAT:
        return f"alpha hardly matters{paths}: {lowest}, {first} and {last} within two standard errors of it"
    where, here, there = ("generative", first, last) if of.place == GENERATIVE else ("weakest-penalty", last, first)
    if of.value == (of.first if of.place == GENERATIVE else of.last):
        return f"The best{paths} lies at the {where} end: test {words} {here}, against {there}"
    near = f"within two standard errors of {here}; {there} is worse"
    return f"The best{paths} is as good as the {where} end: {lowest}, {near}"


def alpha_text(alpha: float) -> str:
    """An alpha as people write it.

    >>> alpha_text(10000.0), alpha_text(0.000464)
    ('10,000', '0.000464')
    """
    return f"{alpha:,.0f}" if alpha >= 1000 else np.format_float_positional(float(f"{alpha:.3g}"), trim="-")


def _ends(study: "Study", lines: "pd.DataFrame", of: AlphaPathVerdict, measure: str) -> tuple[str, str]:
    """Both ends in words: the strongest and the weakest penalty that were fitted, and what lies beyond them."""
    recipe = study.recipes[of.racer]
    mine = lines[lines.racer == of.racer]
    beyond = lines[(lines.racer >= len(paths_of(study))) & (lines.order == recipe.params["order"])]
    first = f"{loss_text(of.first)} at alpha {alpha_text(mine.alpha.max())}"
    last = f"{loss_text(of.last)} at alpha {alpha_text(mine.alpha.min())}"
    for row in beyond.to_dict("records"):
        other, value = study.recipes[row["racer"]], loss_text(row[measure])
        if other.solver == "none" and recipe.params["center"] == "anje":
            first += f" ({generative_name(other)} itself {value})"
        elif other.family == recipe.family:
            last += f" (unregularised {value})"
    return first, last


def generative_name(recipe: Recipe) -> str:
    """What the generative model of a recipe's order is called."""
    return "naive Bayes" if recipe.params["order"] == 1 else "AnJE"
