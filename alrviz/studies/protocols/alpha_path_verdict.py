"""Verdict on a path: where along alpha the test loss is lowest, in one of five sentences.

An end of the path is worse than the best point if it is more than two standard errors (of the paired difference)
above it. An intermediate alpha is best if both ends are worse; the generative or the weakest-penalty end is best if
only the other is worse. If neither is worse, alpha hardly matters if even two standard errors more would leave both
ends within 5 % of the best; otherwise the test rows are too few to tell. RMSE may have a minimum between the ends where
log loss has none; the sentence mentions it. ([WANBIA-C] V)
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
_CLEAR_STANDARD_ERRORS = 2.0  # standard errors from which a difference counts
_NEGLIGIBLE_SHARE = 0.05  # of the lowest loss; a difference that is clearly smaller hardly matters


@dataclass(frozen=True)
class AlphaPathVerdict:
    """Verdict on one path.

    Attributes:
        racer: index of the recipe in the study.
        alpha, value: the alpha of the lowest test value of the measure, and that value.
        first, last: the values at the strongest and at the weakest penalty.
        place: "between", "generative", "free", "flat" (both ends about as good as the best) or "unclear" (neither end
            clearly worse, nor clearly as good).
        error: two standard errors of the difference between the best and an end, the larger of the two.
    """

    racer: int
    alpha: float
    value: float
    first: float
    last: float
    place: str
    error: float = 0.0


def paths_of(study: "Study") -> list[Recipe]:
    """Return the recipes that are fitted along alpha; those after them in the study are its references."""
    n_paths = len({task.racer for task in study.tasks if task.kind == "path"})
    return list(study.recipes[:n_paths])


def path_names(study: "Study") -> list[str]:
    """Return a short name for each path of a study, with its center; the alpha of its recipe is ignored.

    >>> from alrviz import Recipe, alpha_path, load_demo
    >>> path_names(alpha_path(load_demo("led", 300), [Recipe("alr"), Recipe("lr", center="anje")]))
    ['alr to 0', 'lr to AnJE']
    """
    recipes = [recipe.replace(alpha=1.0) for recipe in paths_of(study)]
    centers = [f" to {center_name(recipe.params['center'])}" for recipe in recipes]
    names = zip(short_names(recipes), centers, strict=True)
    return [name if center in name else name + center for name, center in names]


def verdict_on(curve: "pd.DataFrame", measure: str) -> AlphaPathVerdict:
    """Return the verdict on one path by a measure (log_loss, rmse, error); curve: the rows of one racer in
    `summary()`.
    """
    rows = curve.sort_values("alpha", ascending=False)
    losses, errors = rows[measure].to_numpy(float), rows[f"{measure}_above_se"].to_numpy(float)
    best_index = int(losses.argmin())
    end_excess, end_errors = losses[[0, -1]] - losses[best_index], _CLEAR_STANDARD_ERRORS * errors[[0, -1]]
    is_end_worse = end_excess > end_errors
    is_level = bool((end_excess + end_errors <= _NEGLIGIBLE_SHARE * losses[best_index]).all())
    place = {(True, True): BETWEEN, (False, True): GENERATIVE, (True, False): FREE}.get(
        (bool(is_end_worse[0]), bool(is_end_worse[1])), FLAT if is_level else UNCLEAR
    )
    return AlphaPathVerdict(
        racer=int(rows.racer.iloc[0]), alpha=float(rows.alpha.iloc[best_index]), value=float(losses[best_index]),
        first=float(losses[0]), last=float(losses[-1]), place=place, error=float(end_errors.max()),
    )  # fmt: skip


def verdicts_on(study: "Study", measure: str, summary_rows: "pd.DataFrame | None" = None) -> list[AlphaPathVerdict]:
    """Return the verdict on each path that has results so far, by a measure (log_loss, rmse, error).

    summary_rows: the study's summary, if it is already computed.
    """
    summary_rows = study.summary() if summary_rows is None else summary_rows
    if f"{measure}_above_se" not in summary_rows:  # no path yet
        return []
    rows_by_path = [summary_rows[summary_rows.racer == racer] for racer in range(len(paths_of(study)))]
    return [verdict_on(path_rows, measure) for path_rows in rows_by_path if len(path_rows)]


def best_of(verdicts: Sequence[AlphaPathVerdict]) -> AlphaPathVerdict | None:
    """Return the verdict with the lowest test value; None without verdicts."""
    return min(verdicts, key=lambda verdict: verdict.value, default=None)


def sentence(study: "Study", measure: str = "log_loss") -> str:
    """Return the sentence on the best of a study's paths with results so far; "" without any.

    measure: log_loss, rmse or error, by which it is best.
    """
    summary_rows = study.summary()
    verdicts = verdicts_on(study, measure, summary_rows)
    best = best_of(verdicts)
    if best is None:
        return ""
    names = path_names(study)
    subject_text = f" of {len(verdicts)} paths ({names[best.racer]})" if len(verdicts) > 1 else ""
    text = _sentence(
        best, WORDS[measure], subject_text, _end_texts(study, summary_rows, best, measure), heldout_rows(study)
    )
    if measure != "rmse" and best.place != BETWEEN:
        rmse_verdict = verdict_on(summary_rows[summary_rows.racer == best.racer], "rmse")
        if rmse_verdict.place == BETWEEN:
            text += (f". RMSE however has a minimum in between: {loss_text(rmse_verdict.value)} at alpha "
                     f"{alpha_text(rmse_verdict.alpha)}, {loss_text(rmse_verdict.first)} and "
                     f"{loss_text(rmse_verdict.last)} at the ends")  # fmt: skip
    return text + "."


def heldout_rows(study: "Study") -> int:
    """Return the approximate number of test rows of a path of a study."""
    return round(study.dataset.n_rows * float(json.loads(study.spec)["holdout"]))


def _sentence(verdict: AlphaPathVerdict, measure: str, paths_text: str, end_texts: tuple[str, str], rows: int) -> str:
    """Return a verdict in words.

    measure: log_loss, rmse or error; paths_text: whose best it is; end_texts: the losses of the first and last fit;
    rows: number of test rows.
    """
    lowest_text = f"alpha {alpha_text(verdict.alpha)} has test {measure} {loss_text(verdict.value)}"
    first_text, last_text = end_texts
    if verdict.place == BETWEEN:
        subject = paths_text.replace(" of", ", in the best of", 1)
        return f"An intermediate alpha is best{subject}: {lowest_text}, below {first_text} and {last_text}"
    if verdict.place == UNCLEAR:
        minimum_text = "" if verdict.value in (verdict.first, verdict.last) else f"{lowest_text}, "
        return (
            f"Which alpha is best cannot be told{paths_text} from {rows:,} test rows: {minimum_text}"
            f"{'' if minimum_text else f'test {measure} '}{first_text} and {last_text}, differences that are uncertain "
            f"by ± {loss_text(verdict.error)}"
        )
    if verdict.place == FLAT and verdict.value in (verdict.first, verdict.last):
        return (
            f"alpha hardly matters{paths_text}: test {measure} {first_text} and {last_text}, within two standard errors"
        )
    if verdict.place == FLAT:
        ends_text = f"{first_text} and {last_text} within two standard errors of it"
        return f"alpha hardly matters{paths_text}: {lowest_text}, {ends_text}"
    end_name, good, bad = (
        ("generative", first_text, last_text)
        if verdict.place == GENERATIVE
        else ("weakest-penalty", last_text, first_text)
    )
    if verdict.value == (verdict.first if verdict.place == GENERATIVE else verdict.last):
        return f"The best{paths_text} lies at the {end_name} end: test {measure} {good}, against {bad}"
    return (
        f"The best{paths_text} is as good as the {end_name} end: {lowest_text}, within two standard errors of {good}; "
        f"{bad} is worse"
    )


def alpha_text(alpha: float) -> str:
    """Format an alpha without an exponent.

    >>> alpha_text(10000.0), alpha_text(0.000464)
    ('10,000', '0.000464')
    """
    return f"{alpha:,.0f}" if alpha >= 1000 else np.format_float_positional(float(f"{alpha:.3g}"), trim="-")


def _end_texts(study: "Study", lines: "pd.DataFrame", verdict: AlphaPathVerdict, measure: str) -> tuple[str, str]:
    """Describe both ends of a path: the strongest and the weakest penalty fitted, and the reference models beyond them.

    lines: the study's summary, a row for each recipe and alpha; measure: log_loss, rmse or error.
    """
    recipe = study.recipes[verdict.racer]
    path_rows = lines[lines.racer == verdict.racer]
    references = lines[(lines.racer >= len(paths_of(study))) & (lines.order == recipe.params["order"])]
    first_text = f"{loss_text(verdict.first)} at alpha {alpha_text(path_rows.alpha.max())}"
    last_text = f"{loss_text(verdict.last)} at alpha {alpha_text(path_rows.alpha.min())}"
    for row in references.to_dict("records"):
        reference, value = study.recipes[row["racer"]], loss_text(row[measure])
        if reference.solver == "none" and recipe.params["center"] == "anje":
            first_text += f" ({generative_name(reference)} itself {value})"
        elif reference.family == recipe.family:
            last_text += f" (unregularised {value})"
    return first_text, last_text


def generative_name(recipe: Recipe) -> str:
    """Return the name of the generative model of a recipe's order."""
    return "naive Bayes" if recipe.params["order"] == 1 else "AnJE"
